//! What waits to be made, and what was made lately.

use crate::engine::state::context::Context;
use crate::engine::state::removals::Removals;
use crate::model::Timestamp;
use crate::store::{Store, StoreError};

/// Creations this recent count together with those that wait.
pub(crate) const RECENT_MS: i64 = 600_000;
/// Key in the state: `yes` while the user's approval holds, which is until nothing waits.
pub(crate) const APPROVED: &str = "creations_approved";

/// What waits to be made, and what was made lately.
#[derive(Debug)]
pub(crate) struct CreationGuard {
    pub(crate) recent: Removals,
    pub(crate) approved: bool,
    /// Of the last count: what waits while the guard holds.
    pub(crate) held: Option<usize>,
    /// What was counted: the time of the scan, and the numbers of files without an item.
    pub(crate) counted: Option<(Timestamp, usize, usize)>,
}

impl CreationGuard {
    pub(crate) fn open(store: &mut Store, now: Timestamp) -> Result<Self, StoreError> {
        let recent = Removals::open(store, "creations", RECENT_MS, |_| false, now)?;
        let approved = store.meta(APPROVED)?.as_deref() == Some("yes");
        Ok(Self { recent, approved, held: None, counted: None })
    }

    /// Whether nothing is made now.
    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Notes an item that is about to be made, by its path.
    pub(crate) fn note(&mut self, path: &str, cx: &mut Context) {
        self.recent.note(&mut cx.store, [path], true, cx.now);
        self.counted = None;
    }

    /// The user approves what is held; before the first count of a run, what that would hold.
    pub(crate) fn approve(&mut self, store: &mut Store) {
        if self.is_held() || self.counted.is_none() {
            self.approve_all(store);
        }
    }

    /// The user approves whatever waits now.
    pub(crate) fn approve_all(&mut self, store: &mut Store) {
        self.held = None;
        self.set_approved(true, store);
    }

    pub(crate) fn set_approved(&mut self, approved: bool, store: &mut Store) {
        if self.approved != approved {
            self.approved = approved;
            self.counted = None;
            store.set_meta(APPROVED, if approved { "yes" } else { "no" });
        }
    }
}
