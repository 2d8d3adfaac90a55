//! What stored files receive for one turn.

use std::ops::{Deref, DerefMut};

use super::local::NEW_EMPTY_MS;
use crate::engine::context::Context;
use crate::engine::folder::Folder;
use crate::engine::trees::Trees;
use crate::model::{Stamp, Timestamp, WorkspaceId, WorkspaceNode};

/// The context, and the parts of the engine that stored files only read.
pub(in crate::engine) struct Turn<'a> {
    pub(in crate::engine) cx: &'a mut Context,
    pub(in crate::engine) trees: &'a Trees,
    pub(in crate::engine) folder: &'a Folder,
    /// The workspaces in the service's order; `None` before the first list of this run.
    pub(in crate::engine) order: Option<&'a [WorkspaceId]>,
}

impl Turn<'_> {
    /// Time without a change of a file, in milliseconds: by its own time stamp, or since the scan that first showed
    /// this stamp, because the clock that dates files may have been set back.
    pub(super) fn rested_ms(&self, stamp: &Stamp, found_at: Timestamp) -> i64 {
        let file_clock = self.folder.watch.file_clock(self.now);
        file_clock.since_ms(stamp.written_at(file_clock)).max(self.now.since_ms(found_at))
    }

    /// Minimum rest time of a new local file before its upload, in milliseconds.
    pub(super) fn quiet_ms(&self, stamp: &Stamp) -> i64 {
        let settle = self.settings.pages.settle_ms;
        if stamp.size == 0 { settle.max(NEW_EMPTY_MS) } else { settle }
    }

    /// The workspace that uploads count for.
    pub(super) fn upload_workspace(&self) -> Option<WorkspaceId> {
        let chosen = self.settings.storage.workspace.as_deref();
        let place = |node: &&WorkspaceNode| {
            let mut order = self.order.unwrap_or_default().iter();
            order.position(|id| *id == node.seen.id).unwrap_or(usize::MAX)
        };
        let may = self.trees.workspaces.values().filter(|node| node.present && !node.seen.frozen);
        let mut all: Vec<&WorkspaceNode> = may.collect();
        all.sort_by_key(place);
        let mut all = all.into_iter();
        let found = match chosen {
            Some(name) => all.find(|node| node.is_called(name)),
            None => all.next(),
        };
        found.map(|node| node.seen.id.clone())
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
