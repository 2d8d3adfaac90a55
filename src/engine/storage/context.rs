//! What stored files receive for one turn.

use std::ops::{Deref, DerefMut};

use crate::engine::context::Context;
use crate::engine::folder::Folder;
use crate::engine::trees::Trees;
use crate::model::{Stamp, Timestamp, WorkspaceId};

/// The context, and the parts of the engine that stored files only read.
pub(in crate::engine) struct Turn<'a> {
    pub(in crate::engine) cx: &'a mut Context,
    pub(in crate::engine) trees: &'a Trees,
    pub(in crate::engine) folder: &'a Folder,
    /// The workspaces in the service's order, after the first list.
    pub(in crate::engine) order: &'a [WorkspaceId],
}

impl Turn<'_> {
    /// Time without a change of a file, in milliseconds: by its own time stamp, or since the scan that first showed
    /// this stamp, because the clock that dates files may have been set back.
    pub(super) fn rested_ms(&self, stamp: &Stamp, found_at: Timestamp) -> i64 {
        let file_clock = self.folder.watch.file_clock(self.now);
        file_clock.since_ms(stamp.written_at(file_clock)).max(self.now.since_ms(found_at))
    }
}

impl Deref for Turn<'_> {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.cx
    }
}

impl DerefMut for Turn<'_> {
    fn deref_mut(&mut self) -> &mut Context {
        self.cx
    }
}
