//! The plain tree to text.

mod bare;
mod block;
mod escape;
mod inline;
mod solid;
mod table;

pub(super) use block::{
    Line, Mode, Written, empty_line, fits_in_quote, holds_in_quote, is_text_of, joins_quote, line, separator,
    shares_line, write, write_for,
};
pub(super) use inline::{Escapes, Place, write_inline};
pub(super) use table::{cell, wide};
