//! The plain tree to text.

mod block;
mod escape;
mod inline;
mod solid;
mod table;
mod typed;

pub(super) use block::{Line, Mode, Written, is_text_of, line, separator, write, write_for};
pub(super) use table::{cell, wide};
