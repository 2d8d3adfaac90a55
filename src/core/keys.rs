//! The numbers by which items and acts are known.

use serde::{Deserialize, Serialize};

use crate::model::ContentHash;

/// An item, by a number of this state. A new file has one before it has an id at the service, and a stored file keeps one
/// through new ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ItemKey(pub u32);

/// A number of a persisted count, which orders acts and reads. Clocks only say how long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Seq(pub u64);

/// A content, by its hash.
pub type Digest = ContentHash;
