//! The magnets of pages, and the files that show them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::model::{ContentHash, MirrorPath, PageId, Stamp, Timestamp};
use crate::store::Drawn;

/// The magnets of pages, and the generated files.
#[derive(Debug, Default)]
pub(crate) struct Dashboards {
    pub(crate) magnets: BTreeMap<PageId, Value>,
    pub(crate) drawn: BTreeMap<MirrorPath, Drawn>,
    /// Whether files may have to be drawn.
    pub(crate) is_due: bool,
    /// The count of page changes at the last check.
    pub(crate) at_change: u64,
    /// Generated files that may differ from the written ones.
    pub(crate) suspects: BTreeSet<MirrorPath>,
    /// Generated files that were changed; they are trashed before they are drawn again.
    pub(crate) replaced: BTreeSet<MirrorPath>,
    /// Files of the user at the paths of generated ones.
    pub(crate) not_ours: BTreeMap<MirrorPath, Stamp>,
    pub(crate) again_at: Timestamp,
    /// Files that could not be drawn by a fault of espejo, each with the source that it failed for.
    pub(crate) faulty: BTreeMap<MirrorPath, ContentHash>,
}

/// An act on a generated file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Act {
    /// It is read, because it may have been changed.
    Check,
    /// It goes to the mirror's trash.
    Trash,
    /// It is written from this source, with this hash.
    Draw(ContentHash, ContentHash),
}
