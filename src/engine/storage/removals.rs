//! What was taken away from each side a short while ago, for the guards.

use std::collections::BTreeMap;

use super::super::removals::Removals as Recent;
use crate::model::{FileId, FileNode, Seen, Timestamp};
use crate::store::{Store, StoreError};

/// Removals this recent count together with what is about to go: folders of the storage are listed one after the other,
/// and what left the service is heard of in portions that are minutes apart.
const RECENT_MS: i64 = 600_000;

/// Where a file was taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// From the folder, as it had left the service.
    Here,
    /// From the service, as it had left the folder; or it may have been, and nobody has heard yet.
    There,
}

/// The recent removals.
#[derive(Debug)]
pub(super) struct Removals {
    here: Recent,
    there: Recent,
}

impl Removals {
    /// Those that an earlier run has noted.
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

    /// Notes that a file is gone, or may be from now on.
    pub(super) fn note(
        &mut self,
        store: &mut Store,
        file: &FileId,
        gone: Gone,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.of(gone).note(store, [file.as_str()], true, now)
    }

    /// It is certainly there still.
    pub(super) fn withdraw(
        &mut self,
        store: &mut Store,
        file: &FileId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.there.note(store, [file.as_str()], false, now)
    }

    /// Takes in whether a guard holds what has left one side now.
    pub(super) fn hold(
        &mut self,
        store: &mut Store,
        gone: Gone,
        is_held: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.of(gone).hold(store, is_held, now)
    }

    /// How many have gone from one side, without those that are listed still and count as about to.
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
