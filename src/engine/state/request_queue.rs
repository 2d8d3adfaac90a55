//! The requests that pages need, by their last decision. This module decides nothing.
//!
//! In a first mirror every page has a first fetch in here, which the poll schedule makes in its own order. First
//! fetches are kept apart, so that the choice of the next request walks over the few others only.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::items::Verb;
use crate::model::{PageId, Timestamp};
use crate::plan::Decision;

#[derive(Debug, Default)]
pub(crate) struct RequestQueue {
    pressing: BTreeMap<PageId, Decision>,
    trashes: BTreeSet<PageId>,
    first_looks: BTreeSet<PageId>,
    /// While a guard holds every deletion, another check before this time gains nothing, unless a deletion is new.
    trashes_rest_until: Timestamp,
}

impl RequestQueue {
    /// Replaces the former entry of the page.
    pub(crate) fn insert(&mut self, page: PageId, decision: Decision, is_first_fetch: bool) {
        self.remove(&page);
        if is_first_fetch {
            self.first_looks.insert(page);
        } else if decision == Decision::TrashPage {
            self.trashes.insert(page);
            self.trashes_rest_until = Timestamp::default();
        } else {
            self.pressing.insert(page, decision);
        }
    }

    pub(crate) fn remove(&mut self, page: &PageId) {
        self.pressing.remove(page);
        self.trashes.remove(page);
        self.first_looks.remove(page);
    }

    /// All pages that need a request.
    pub(crate) fn pages(&self) -> impl Iterator<Item = &PageId> {
        self.pressing.keys().chain(&self.trashes).chain(&self.first_looks)
    }

    /// Pages that are to be written to, or trashed.
    pub(crate) fn writes(&self, verb: Verb) -> impl Iterator<Item = &PageId> {
        let edits = self.pressing.iter().filter(|(_, decision)| matches!(decision, Decision::Push { .. }));
        let (edits, trashes) = (edits.map(|(page, _)| page), &self.trashes);
        let is_edit = verb == Verb::Write;
        edits.filter(move |_| is_edit).chain(trashes.iter().filter(move |_| !is_edit))
    }

    /// All but first fetches and deletions.
    pub(crate) fn pressing(&self) -> &BTreeMap<PageId, Decision> {
        &self.pressing
    }

    /// Pages that are to be trashed, unless deletions rest.
    pub(crate) fn trashes(&self, now: Timestamp) -> Option<&BTreeSet<PageId>> {
        Some(&self.trashes).filter(|pages| !pages.is_empty() && self.trashes_rest_until <= now)
    }

    /// Makes deletions rest because all of them are held.
    pub(crate) fn rest_trashes(&mut self, until: Timestamp) {
        self.trashes_rest_until = until;
    }

    /// When a request may be possible; `None` if none is needed, or each waits for a time of its own. A deletion waits
    /// for fetches of all pages that go with it: `trash_waits`.
    pub(crate) fn due(
        &self,
        waits: impl Fn(&PageId) -> bool,
        trash_waits: impl Fn(&PageId) -> bool,
    ) -> Option<Timestamp> {
        if self.pressing.keys().chain(&self.first_looks).any(|page| !waits(page)) {
            return Some(Timestamp::default());
        }
        self.trashes.iter().any(|page| !trash_waits(page)).then_some(self.trashes_rest_until)
    }
}
