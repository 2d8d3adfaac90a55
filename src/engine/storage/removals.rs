//! Recent removals of stored files on each side, for the guards.

use std::collections::BTreeMap;

use super::super::removals::Removals as Recent;
use crate::engine::context::Context;
use crate::model::{FileId, FileNode, Seen, Timestamp};
use crate::store::{Store, StoreError};

/// Removals this recent, in milliseconds, count together with those about to happen. Storage folders are listed one
/// after the other, so removals at the service are noticed in batches that are minutes apart.
const RECENT_MS: i64 = 600_000;

/// The side on which a file was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// Removed from the folder, because it had left the service.
    Here,
    /// Removed from the service, because it had left the folder; or the removal is unconfirmed.
    There,
}

/// The recent removals.
#[derive(Debug)]
pub(super) struct Removals {
    here: Recent,
    there: Recent,
}

impl Removals {
    /// The removals that an earlier run recorded.
    pub(super) fn open(
        store: &mut Store,
        files: &BTreeMap<FileId, FileNode>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let is_known = |id: &str| FileId::new(id).is_ok_and(|id| files.contains_key(&id));
        Ok(Self {
            here: Recent::open(store, "stored_removals_here", RECENT_MS, is_known, now)?,
            there: Recent::open(store, "stored_removals", RECENT_MS, is_known, now)?,
        })
    }

    /// Records that a file is gone, or may be gone from now on.
    pub(super) fn note(&mut self, file: &FileId, gone: Gone, cx: &mut Context) {
        self.of(gone).note(&mut cx.store, [file.as_str()], true, cx.now)
    }

    /// Removes the record, because the file certainly still exists.
    pub(super) fn withdraw(&mut self, file: &FileId, cx: &mut Context) {
        self.there.note(&mut cx.store, [file.as_str()], false, cx.now)
    }

    /// Records whether a guard holds the files that left one side.
    pub(super) fn hold(&mut self, gone: Gone, is_held: bool, cx: &mut Context) {
        self.of(gone).hold(&mut cx.store, is_held, cx.now)
    }

    /// The number of files that are gone from one side, without those that are still listed and count as about to go.
    pub(super) fn count(&self, gone: Gone, files: &BTreeMap<FileId, FileNode>, now: Timestamp) -> usize {
        let side = if gone == Gone::Here { &self.here } else { &self.there };
        side.count(now, |id| {
            let node = FileId::new(id).ok().and_then(|id| files.get(&id));
            node.is_some_and(|node| node.seen == Seen::Listed && !node.approved)
        })
    }

    fn of(&mut self, gone: Gone) -> &mut Recent {
        if gone == Gone::Here { &mut self.here } else { &mut self.there }
    }
}
