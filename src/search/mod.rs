//! Search without the service: words and their Spanish stems, what a person's query means, and an index of everything
//! mirrored in a database file of its own.
//!
//! The rules are the service's (API document, "Search"): whole words by their stems, quoted phrases, `OR` between terms, a
//! leading minus, and a title that contains the query. Below what they find comes what only begins with the words. The index is derived: it is never a source of truth, is made
//! anew where it is missing or damaged, and no change of a page waits for it. Not here: where the texts come
//! from (`commands::search`), and the service's own search (`service`).

mod find;
mod index;
mod query;
mod rank;
mod snippet;
mod words;

pub use index::{Found, Index, IndexError, Match, Source, Text};
pub use query::{Odd, Query};
pub use snippet::{Piece, snippet};
