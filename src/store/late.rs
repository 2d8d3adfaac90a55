//! Times of fetches and requests, written in batches: each poll without news changes three or four of them, and no
//! content depends on them.
//!
//! If a kill takes some of them back, a fetch is repeated, or a slot of the limit becomes free later than possible. A
//! kill never lets espejo exceed the limit: requests that are not recorded one by one are recorded in advance.

use std::collections::BTreeMap;

use rusqlite::params;

use super::rows::number;
use super::{LogEntry, Polled, Store, StoreError};
use crate::model::{Lent, PollState, Timestamp, WorkspaceId};

/// The effect number of request records made in advance; real effects count from 1.
const AHEAD: i64 = 0;
/// The longest delay of a write of times, in milliseconds; the write happens with the next request.
pub const TIMES_LATE_MS: i64 = 60_000;

/// The values to be written.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// The number of requests that are recorded in advance.
    size: u32,
    /// The number of these records that stand for no request yet.
    left: u32,
    /// Whether the state holds the records.
    is_noted: bool,
    /// The time of the last write.
    written_at: Timestamp,
    polls: BTreeMap<Key, PollState>,
    listed: BTreeMap<WorkspaceId, Timestamp>,
    values: BTreeMap<&'static str, String>,
    requests: Vec<LogEntry>,
    answers: Vec<(u64, Timestamp)>,
    forgotten_before: Option<Timestamp>,
}

/// A target: the number of its table, and its id.
type Key = (u8, String);

impl Late {
    fn is_empty(&self) -> bool {
        self.polls.is_empty()
            && self.listed.is_empty()
            && self.values.is_empty()
            && self.requests.is_empty()
            && self.answers.is_empty()
    }

    /// Uses one of the advance records for this request, unless none is left or a write is due.
    fn takes(&mut self, request: LogEntry) -> bool {
        let is_due = request.sent.since_ms(self.written_at) >= TIMES_LATE_MS;
        if self.left == 0 || is_due {
            return false;
        }
        self.left -= 1;
        self.requests.push(request);
        true
    }
}

impl Store {
    /// Sets the number of requests that are recorded in advance. Each of them counts as made until it is known which
    /// ones were.
    pub fn note_requests_ahead(&mut self, requests: u32) {
        self.late.size = requests;
    }

    /// Sets the poll state of a known target, and no other value of it. It is written with other times. If a kill
    /// takes it back, the target is fetched again.
    pub fn save_poll(&mut self, of: Polled<'_>, poll: &PollState) {
        self.late.polls.insert(of.place(), *poll);
    }

    /// Drops the pending poll state, because the row of this target is written as a whole.
    pub(super) fn save_no_poll(&mut self, of: Polled<'_>) {
        if !self.late.polls.is_empty() {
            self.late.polls.remove(&of.place());
        }
    }

    /// Sets the time at which a workspace's pages were listed, and no other value of it, as [`Store::save_poll`].
    pub fn save_listed_at(&mut self, workspace: &WorkspaceId, at: Timestamp) {
        self.late.listed.insert(workspace.clone(), at);
    }

    /// As [`Store::save_no_poll`].
    pub(super) fn save_no_listed_at(&mut self, workspace: &WorkspaceId) {
        self.late.listed.remove(workspace);
    }

    /// As [`Store::set_meta`], for values that may be lost as times may.
    pub fn set_meta_late(&mut self, key: &'static str, value: String) {
        self.late.values.insert(key, value);
    }

    /// Records a request before it is sent. Returns whether an advance record covers it, so that it may be sent
    /// without a commit. A power cut may take the record back, but a machine needs about the minute that the record
    /// counts for to start again.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn note_request(&mut self, effect: u64, sent: Timestamp) -> Result<bool, StoreError> {
        let request = LogEntry { effect, sent, answered: None };
        if self.late.takes(request) {
            return Ok(true);
        }
        self.write_times()?;
        let (size, is_noted) = (self.late.size, self.late.is_noted);
        let db = self.turn_for_times()?;
        insert(db, request)?;
        if !is_noted {
            let mut note = db.prepare_cached("INSERT INTO requests VALUES (?1, 0, NULL)")?;
            for _ in 0..size {
                note.execute([AHEAD])?;
            }
        }
        (self.late.left, self.late.is_noted, self.late.written_at) = (size, true, sent);
        Ok(false)
    }

    /// Records the answer to a request, and drops records that no longer count.
    pub fn note_answer(&mut self, effect: u64, at: Timestamp, forget_before: Timestamp) {
        match self.late.requests.iter_mut().find(|request| request.effect == effect) {
            Some(request) => request.answered = Some(at),
            None => self.late.answers.push((effect, at)),
        }
        self.late.forgotten_before = Some(forget_before);
    }

    /// Takes back requests that were lent, of which the first `made` were made and are answered by `now`.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn give_back(&mut self, lent: &Lent, made: u32, now: Timestamp) -> Result<(), StoreError> {
        self.write_times()?;
        let all = lent.numbers();
        let (first, end) = (number(all.start), number(all.end));
        let kept = first + i64::from(made.min(lent.slots));
        let db = self.turn_for_times()?;
        db.execute("DELETE FROM requests WHERE effect >= ?1 AND effect < ?2", [kept, end])?;
        let answered = "UPDATE requests SET freed = MIN(freed, ?3) WHERE effect >= ?1 AND effect < ?2";
        db.execute(answered, [first, kept, now.0])?;
        Ok(())
    }

    /// Writes all of these times, to be committed with the rest.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn write_times(&mut self) -> Result<(), StoreError> {
        if self.late.is_empty() {
            return Ok(());
        }
        self.turn_for_times()?;
        // Written values are not pending any more; if SQLite refuses, this turn ends the run.
        let late = std::mem::take(&mut self.late);
        let Late { size, left, is_noted, written_at, .. } = late;
        self.late = Late { size, left, is_noted, written_at, ..Late::default() };
        let db = &self.db;
        for ((kind, id), poll) in &late.polls {
            let PollState { last, life, changes, changes_at, gap_ms } = poll;
            db.prepare_cached(Polled::update(*kind))?.execute(params![
                last.0,
                life.0,
                changes,
                changes_at.0,
                gap_ms,
                id
            ])?;
        }
        let mut list = db.prepare_cached("UPDATE workspaces SET listed_at = ?1 WHERE id = ?2")?;
        for (workspace, at) in &late.listed {
            list.execute(params![at.0, workspace.as_str()])?;
        }
        drop(list);
        let mut set = db.prepare_cached("INSERT OR REPLACE INTO meta VALUES (?1, ?2)")?;
        for (key, value) in &late.values {
            set.execute([key, value.as_str()])?;
        }
        drop(set);
        let mut answer =
            db.prepare_cached("UPDATE requests SET freed = ?2 WHERE effect = ?1 AND freed IS NULL")?;
        for (effect, at) in &late.answers {
            answer.execute(params![number(*effect), at.0])?;
        }
        drop(answer);
        for request in &late.requests {
            insert(db, *request)?;
        }
        if let Some(before) = late.forgotten_before {
            db.prepare_cached("DELETE FROM requests WHERE freed < ?1")?.execute([before.0])?;
        }
        // The advance records that these requests used are free again.
        self.late.left = if is_noted { size } else { 0 };
        Ok(())
    }

    /// Drops the pending times, as a kill does.
    pub(super) fn lose_times(&mut self) {
        self.late = Late { size: self.late.size, ..Late::default() };
    }

    /// At the end of a run without pending times, the advance records stand for no request.
    pub(super) fn end_notes(&mut self) -> Result<(), StoreError> {
        if self.late.is_noted && self.late.is_empty() {
            self.turn_for_times()?
                .execute("DELETE FROM requests WHERE effect = ?1 AND freed IS NULL", [AHEAD])?;
            (self.late.left, self.late.is_noted) = (0, false);
        }
        Ok(())
    }
}

fn insert(db: &rusqlite::Connection, request: LogEntry) -> Result<(), StoreError> {
    let LogEntry { effect, sent, answered } = request;
    db.prepare_cached("INSERT INTO requests VALUES (?1, ?2, ?3)")?.execute(params![
        number(effect),
        sent.0,
        answered.map(|at| at.0)
    ])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ReadOnly;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn numbers(store: &Store) -> Vec<u64> {
        store.request_log().unwrap().iter().map(|entry| entry.effect).collect()
    }

    #[test]
    fn a_kill_never_makes_requests_fewer_than_they_were() {
        for made in 0..12 {
            let mut store = Store::in_memory().unwrap();
            store.note_requests_ahead(3);
            for effect in 1..=made {
                let is_noted = store.note_request(effect, NOW).unwrap();
                // One request is recorded by itself, with the advance records, and the next three use these.
                assert_eq!(is_noted, effect % 4 != 1, "{effect}");
                // As the engine does before the request is sent.
                if !is_noted {
                    store.commit().unwrap();
                }
                store.note_answer(effect, NOW, Timestamp(0));
            }
            store.roll_back();
            let counted = numbers(&store).len() as u64;
            assert!((made..=made + 3).contains(&counted), "{made}: {counted}");
            // Each of them counts as running until the next run has begun.
            let none_is_free = |entry: &LogEntry| entry.effect != 0 || entry.answered.is_none();
            assert!(store.request_log().unwrap().iter().all(none_is_free));
        }
    }

    #[test]
    fn times_wait_for_requests_and_not_for_long() {
        let mut store = Store::in_memory().unwrap();
        store.note_requests_ahead(3);
        assert!(!store.note_request(1, NOW).unwrap());
        store.commit().unwrap();
        assert!(store.note_request(2, NOW.plus_ms(TIMES_LATE_MS - 1)).unwrap());
        store.note_answer(1, NOW.plus_ms(50), Timestamp(0));
        store.note_answer(2, NOW.plus_ms(TIMES_LATE_MS), Timestamp(0));
        store.commit().unwrap();
        assert_eq!(numbers(&store), [0, 0, 0, 1]);
        assert!(!store.note_request(3, NOW.plus_ms(TIMES_LATE_MS)).unwrap());
        store.commit().unwrap();
        assert_eq!(numbers(&store), [0, 0, 0, 1, 2, 3]);
        let answered = |entry: &LogEntry| entry.answered.is_some();
        let answered: Vec<bool> = store.request_log().unwrap().iter().map(answered).collect();
        assert_eq!(answered, [false, false, false, true, true, false]);
    }

    #[test]
    fn a_run_that_ends_well_leaves_only_what_it_made() {
        let folder = tempfile::tempdir().unwrap();
        for tells in [false, true] {
            let mut store = Store::open(folder.path()).unwrap().store;
            // As the engine does with the records of an earlier run.
            store.close_request_log(NOW);
            store.note_requests_ahead(3);
            store.note_request(1, NOW).unwrap();
            store.commit().unwrap();
            store.note_request(2, NOW).unwrap();
            if tells {
                store.write_times().unwrap();
                store.commit().unwrap();
            }
            drop(store);
            let left = ReadOnly::open(folder.path()).unwrap().unwrap().request_log().unwrap();
            let left: Vec<u64> = left.iter().map(|entry| entry.effect).collect();
            // An unrecorded request may be any of the advance records.
            let expected: &[u64] = if tells { &[0, 0, 0, 1, 1, 2] } else { &[0, 0, 0, 1] };
            assert_eq!(left, expected);
        }
    }
}
