//! The core for items of every kind: pages, whiteboards, presentations, folders and stored files.
//!
//! It is to replace the three machines of [`crate::engine`], one kind after the other. So far it holds decisions only, and
//! nothing carries them out. Tests compare them with those of [`crate::plan`] in every state.

pub mod plan;

/// An item, by a number of this state. A new file has one before it has an id at the service, and a stored file keeps one
/// through new ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ItemKey(pub u32);
