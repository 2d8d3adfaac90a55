//! The core: one machine for items of every kind. It keeps a table of items and a journal of acts, takes in what the folder and
//! the service show, and derives the next step of each item.
//!
//! It is to replace the machines of [`crate::engine`], one kind after the other. So far it keeps whiteboards, presentations and
//! stored files in step. Events come in and effects go out; it reads no clock and opens no file.
//!
//! Data runs one way: `observe` takes in what was seen, [`plan`] decides, `act` makes the effect. What all folders share is in
//! [`Core`]; steps across folders are free functions over it.

pub mod act;
pub mod content;
pub mod guard;
pub mod items;
pub mod observe;
pub mod plan;
pub mod report;
pub mod request;
pub mod schedule;
pub mod state;
pub mod wants;

use serde::{Deserialize, Serialize};

use crate::model::ContentHash;

pub use state::{Core, State};

/// An item, by a number of this state. A new file has one before it has an id at the service, and a stored file keeps one
/// through new ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ItemKey(pub u32);

/// A number of a persisted count, which orders acts and reads. Clocks only say how long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Seq(pub u64);

/// A content, by its hash.
pub type Digest = ContentHash;

#[cfg(test)]
mod tests;
