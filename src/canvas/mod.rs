//! Canvas files: elements to JSON Canvas 1.0 and back, what a person changed in one, what both sides changed together,
//! and what a canvas looks like. Pure.
//!
//! The file says what JSON Canvas can say; what it cannot (an element's type, its style but for the colour, fractions)
//! is found again through the id, in the elements that the file was written from. So a program that rounds numbers,
//! orders keys its own way or drops keys that it does not know has changed nothing.

mod check;
mod claim;
mod colour;
mod dashboard;
mod json;
mod layout;
mod merge;
mod node;
mod patch;
mod picture;
pub mod presentation;
mod read;
mod resolve;
mod revive;
#[cfg(test)]
mod tests;
mod undo;

pub use claim::{claim, with_claim};
pub use dashboard::magnets;
pub use merge::{Merged, Op, arrived, as_asked, changed, creation, merge, was_made_of};
pub use node::{place_of, render, type_of};
pub use patch::patch;
pub use picture::board;
pub use read::{Aliases, Change, Local, Origins, ids_in, is_blank, known, read, strange_ids};
pub use resolve::{Keep, resolve};
pub use revive::revive;
pub use undo::{TakenBack, is_only_moved, lines, take_back, words};

/// A number as SVG has it: two places at most, no exponent.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() || text == "-0" { "0".to_owned() } else { text.to_owned() }
}
