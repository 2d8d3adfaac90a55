//! One file per command, a few lines each over what is below. They return or write to what they are given; only
//! `main` prints and exits.

pub mod completions;
pub mod man;
pub mod output;
