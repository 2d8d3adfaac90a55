//! The core: one machine for items of every kind. It keeps a table of items and a journal of acts, takes in what the folder and
//! the service show, and derives the next step of each item.
//!
//! It keeps whiteboards, presentations and stored files in step; pages have their own machine in [`crate::engine`], and share
//! [`plan`] and the guards. Events come in and effects go out; it reads no clock and opens no file.
//!
//! Data runs one way: `observe` takes in what was seen, [`plan`] decides, `act` makes the effect. What all folders share is in
//! [`Core`]; steps across folders are free functions over it.

pub mod act;
pub mod content;
pub mod guard;
pub mod items;
pub mod keys;
pub mod observe;
pub mod plan;
pub mod report;
pub mod request;
pub mod schedule;
pub mod state;
pub mod wants;

pub use keys::{Digest, ItemKey, Seq};
pub use state::{Core, State};

#[cfg(test)]
mod tests;
