//! The guard of deletions in the folder, one for items of all kinds, and recent removals, which it counts: an accident that
//! arrives in parts is one accident, also if espejo is restarted between them.

use std::collections::BTreeMap;

use crate::core::guard::Missing;
use crate::model::{PageId, ServiceError, ServiceReply, Timestamp};
use crate::plan::guard::{self, Guard, Kind};
use crate::store::{Store, StoreError};

/// Deletions in the folder this recent count together with those that are about to happen.
const RECENT_MS: i64 = 60_000;

/// Recent removals, by the item's id.
#[derive(Debug)]
pub(crate) struct Removals {
    /// Key in the state: a time and an id a line, and [`HELD`].
    row: &'static str,
    recent_ms: i64,
    at: BTreeMap<String, Timestamp>,
    /// A guard holds deletions now. What it counted as recent stays recent meanwhile: a hold ends by approval or by a
    /// change in the folder, never by time.
    is_held: bool,
}

/// The line that means [`Removals::is_held`].
const HELD: &str = "held";

impl Removals {
    /// Loads the removals of an earlier run. If an item is still known, the answer to its removal was lost: it may have
    /// gone just now. A time in the future, from a clock that was set back, becomes now for good.
    pub(crate) fn open(
        store: &mut Store,
        row: &'static str,
        recent_ms: i64,
        is_known: impl Fn(&str) -> bool,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let text = store.meta(row)?.unwrap_or_default();
        let noted = text.lines().filter_map(|line| {
            let (at, id) = line.split_once(' ')?;
            Some((id.to_owned(), Timestamp(at.parse().ok()?).min(now)))
        });
        let is_held = text.lines().any(|line| line == HELD);
        let mut removals = Self { row, recent_ms, at: noted.collect(), is_held };
        removals.forget_old(now);
        if !text.is_empty() {
            removals.save(store);
        }
        removals.at.iter_mut().filter(|(id, _)| is_known(id)).for_each(|(_, at)| *at = now);
        Ok(removals)
    }

    /// Forgets old removals.
    fn forget_old(&mut self, now: Timestamp) {
        let since = self.since(now);
        self.at.retain(|_, at| *at > since);
    }

    /// Removals after this time count.
    fn since(&self, now: Timestamp) -> Timestamp {
        if self.is_held { Timestamp(i64::MIN) } else { now.plus_ms(-self.recent_ms) }
    }

    /// Notes whether a guard holds deletions now.
    pub(crate) fn hold(&mut self, store: &mut Store, is_held: bool, now: Timestamp) {
        if is_held == self.is_held || self.at.is_empty() {
            return;
        }
        self.is_held = false;
        self.forget_old(now);
        self.is_held = is_held && !self.at.is_empty();
        self.save(store);
    }

    /// Whether any removal counts as recent. Otherwise nothing depends on whether a guard holds.
    pub(crate) fn is_any(&self, now: Timestamp) -> bool {
        let since = self.since(now);
        self.at.values().any(|at| *at > since)
    }

    /// Notes that these may be gone from now on, or that they are certainly not. If the process ends before the answer,
    /// the note stays.
    pub(crate) fn note<'a>(
        &mut self,
        store: &mut Store,
        ids: impl IntoIterator<Item = &'a str>,
        may_be_gone: bool,
        now: Timestamp,
    ) {
        self.forget_old(now);
        for id in ids {
            if may_be_gone {
                self.at.insert(id.to_owned(), now);
            } else {
                self.at.remove(id);
            }
        }
        self.save(store);
    }

    /// Number of items that may have gone, without those that still count as about to go.
    pub(crate) fn count(&self, now: Timestamp, still_counts: impl Fn(&str) -> bool) -> usize {
        let since = self.since(now);
        self.at.iter().filter(|(id, at)| **at > since && !still_counts(id)).count()
    }

    fn save(&self, store: &mut Store) {
        let held = self.is_held.then(|| HELD.to_owned());
        let lines: Vec<String> =
            held.into_iter().chain(self.at.iter().map(|(id, at)| format!("{} {id}", at.0))).collect();
        store.set_meta(self.row, &lines.join("\n"));
    }
}

/// Deletions in the folder, and the guard that holds them.
#[derive(Debug)]
pub(crate) struct Deletions {
    recent: Removals,
    held: Option<Guard>,
}

impl Deletions {
    /// Loads the removals of an earlier run. `is_known` tells whether a page is still known.
    pub(crate) fn open(
        store: &mut Store,
        is_known: impl Fn(&str) -> bool,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let recent = Removals::open(store, "removals", RECENT_MS, is_known, now)?;
        Ok(Self { recent, held: None })
    }

    /// Why items whose files are gone stay at the service; `None` if they may go to its trash.
    pub(crate) fn held(&self) -> Option<&Guard> {
        self.held.as_ref()
    }

    /// Notes that these may be gone from the service from now on, or that they certainly are not.
    pub(crate) fn note<'a>(
        &mut self,
        store: &mut Store,
        ids: impl IntoIterator<Item = &'a str>,
        may_be_gone: bool,
        now: Timestamp,
    ) {
        self.recent.note(store, ids, may_be_gone, now);
    }

    /// When a page was removed, if that was a moment ago.
    pub(crate) fn removed_at(&self, page: &PageId) -> Option<Timestamp> {
        self.recent.at.get(page.as_str()).copied()
    }

    /// Number of pages that were removed, without those that still count as about to go.
    pub(crate) fn recent(&self, still_counts: impl Fn(&str) -> bool, now: Timestamp) -> usize {
        self.recent.count(now, still_counts)
    }

    /// Takes in what is gone of each kind. The guard holds if too many items are gone together, or too large a part of one
    /// kind. `most` is the config's.
    pub(crate) fn count(&mut self, missing: &[(Kind, Missing)], most: usize) {
        let alone = missing
            .iter()
            .find_map(|(kind, it)| guard::mass_deletion(*kind, it.gone, it.recent, it.all, most));
        let sum = |part: fn(&Missing) -> usize| missing.iter().map(|(_, it)| part(it)).sum::<usize>();
        let (gone, recent, all) = (sum(|it| it.gone), sum(|it| it.recent), sum(|it| it.all));
        let together = guard::mass_deletion(Kind::Item, gone, recent, all, most);
        self.held = alone.or(together.filter(|_| gone + recent > most));
    }

    /// Stores whether the guard holds, with the removals that it counts as recent: a hold does not end by time.
    pub(crate) fn note_hold(&mut self, store: &mut Store, now: Timestamp) {
        if self.recent.is_any(now) {
            self.recent.hold(store, self.held.is_some(), now);
        }
    }
}

/// Whether an item that was to be removed may be gone after this answer.
pub(crate) fn may_be_gone(result: &Result<ServiceReply, ServiceError>) -> bool {
    match result {
        Ok(_) | Err(ServiceError::NotFound(_)) => true,
        Err(error) => error.may_have_happened(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_gone_counts_for_its_minute_also_after_a_restart() {
        let mut store = Store::in_memory().unwrap();
        let at = |ms| Timestamp(1_000_000 + ms);
        let open = |store: &mut Store, known: &'static str, now| {
            Removals::open(store, "row", RECENT_MS, move |id| id == known, now).unwrap()
        };
        let mut removals = open(&mut store, "", at(0));
        removals.note(&mut store, ["a", "b c"], true, at(0));
        removals.note(&mut store, ["d"], true, at(1));
        removals.note(&mut store, ["d"], false, at(2));
        assert_eq!(removals.count(at(3), |_| false), 2, "one is certainly there");
        assert_eq!(removals.count(at(3), |id| id == "a"), 1, "one counts as about to go still");
        assert_eq!(removals.count(at(RECENT_MS), |_| false), 0);
        assert!(
            removals.is_any(at(RECENT_MS - 1)) && !removals.is_any(at(RECENT_MS)),
            "long ago, though noted"
        );
        // The answer about a known item was lost: it may have gone just now.
        let again = open(&mut store, "a", at(RECENT_MS - 1));
        assert_eq!(again.count(at(RECENT_MS - 1), |_| false), 2);
        assert_eq!(again.count(at(RECENT_MS), |_| false), 1);
        // A guard that holds keeps them, over a restart too, until it holds no more.
        let mut held = open(&mut store, "a", at(0));
        held.note(&mut store, ["e"], true, at(0));
        held.hold(&mut store, true, at(RECENT_MS - 1));
        assert_eq!(held.count(at(9 * RECENT_MS), |_| false), 3);
        assert!(held.is_any(at(9 * RECENT_MS)), "held, whenever they went");
        let mut held = open(&mut store, "", at(9 * RECENT_MS));
        assert_eq!(held.count(at(99 * RECENT_MS), |_| false), 3);
        held.hold(&mut store, false, at(99 * RECENT_MS));
        assert_eq!(held.count(at(99 * RECENT_MS), |_| false), 0);
        held.hold(&mut store, true, at(99 * RECENT_MS));
        assert!(!held.is_any(at(99 * RECENT_MS)), "what is forgotten does not come back");
        assert_eq!(store.meta("row").unwrap().as_deref(), Some(""));
        held.note(&mut store, ["a", "b c"], true, at(0));
        assert_eq!(open(&mut store, "a", at(-9)).count(at(-8), |_| false), 2, "a clock that was set back");
        assert_eq!(open(&mut store, "", at(2 * RECENT_MS)).count(at(2 * RECENT_MS), |_| false), 0);
    }
}
