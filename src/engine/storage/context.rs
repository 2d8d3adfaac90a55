//! The parts of the engine that storage borrows for one turn: the store, the time, and the log of activity.

use crate::engine::retry::{self, Failing};
use std::collections::BTreeMap;

use crate::engine::ids::Ids;
use crate::engine::ignoring::Ignoring;
use crate::engine::{Activity, Way};
use crate::model::{Attention, Code, MirrorPath, Settings, Stamp, Timestamp, WorkspaceId, WorkspaceNode};
use crate::plan::barrier::Barrier;
use crate::store::{ActKind, Store, StoreError};

/// The parts of the engine that storage borrows for one turn.
pub(in crate::engine) struct StorageContext<'a> {
    pub(in crate::engine) store: &'a mut Store,
    pub(in crate::engine) settings: &'a Settings,
    pub(in crate::engine) workspaces: &'a BTreeMap<WorkspaceId, WorkspaceNode>,
    /// Their ids in the service's order, after the first list.
    pub(in crate::engine) order: &'a [WorkspaceId],
    /// The parts of the folder that could not be read.
    pub(in crate::engine) barrier: &'a Barrier,
    /// The user's ignore patterns.
    pub(in crate::engine) ignoring: &'a Ignoring,
    pub(in crate::engine) happened: &'a mut Vec<Activity>,
    pub(in crate::engine) ids: &'a mut Ids,
    pub(in crate::engine) now: Timestamp,
    /// The time of the clock that dates files.
    pub(in crate::engine) file_clock: Timestamp,
    pub(in crate::engine) tick: u64,
}

impl StorageContext<'_> {
    pub(super) fn log_activity(&mut self, way: Way, path: &MirrorPath, what: impl Into<String>) {
        let what = what.into();
        tracing::info!(path = %path, to = way.goal(), "{what}");
        if way == Way::Up {
            self.store.note_elsewhere(ActKind::Elsewhere, path, &what, self.now);
        }
        self.happened.push(Activity { way, path: path.to_string(), what });
    }

    pub(super) fn notice(
        &mut self,
        code: Code,
        path: &MirrorPath,
        reason: String,
        action: &str,
    ) -> Result<(), StoreError> {
        self.store.add_notice(&Attention::new(code, path.as_str(), reason, action), self.now)
    }

    /// Time without a change of a file, in milliseconds: by its own time stamp, or since the scan that first showed
    /// this stamp, because the clock that dates files may have been set back.
    pub(super) fn rested_ms(&self, stamp: &Stamp, found_at: Timestamp) -> i64 {
        let by_its_time = self.file_clock.since_ms(stamp.written_at(self.file_clock));
        by_its_time.max(self.now.since_ms(found_at))
    }

    /// Counts one more failure in a row; the wait is that after `more` further failures.
    pub(super) fn fails(&mut self, failing: &mut Failing, more: u32) {
        failing.count += 1;
        failing.until = self.later(failing.count + more);
    }

    /// The end of the wait: 1 s, 2 s, 4 s … up to five minutes, with up to a quarter of jitter.
    pub(super) fn later(&mut self, failures: u32) -> Timestamp {
        self.now.plus_ms(retry::jittered(failures, self.ids))
    }
}
