//! Text to the plain tree, through pulldown-cmark's events.
//!
//! Reads what is there, whatever may be created from it: a construct that has no documented block also carries its
//! literal reading, and the choice is made later, beside the base.

mod block;
mod formula;
mod hiding;
mod inline;
mod leaf;
mod level;
mod mask;
mod source;
mod tables;
mod trace;

pub(super) use block::{OPTIONS, folded, read, read_traced};
pub(super) use hiding::{comments, opens_comment};
pub(super) use level::end;
pub(super) use mask::{is_verbatim, keeps_lines, sign};
pub(super) use source::{columns, strip};
pub(super) use trace::{Step, Traced, definitions, labels};
