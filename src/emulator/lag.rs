//! Reads that lag: what a replica or a cache shows is older than the last write. The API document promises no more.

use std::collections::{BTreeMap, VecDeque};

use super::canvas::{PresentationRecord, WhiteboardRecord};
use super::pages::PageRecord;
use super::storage::Storage;
use super::world::World;
use crate::model::{BoardId, DeckId, PageId, Timestamp};

/// How far reads are behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lag {
    /// Milliseconds by which a read is older than it would be.
    pub ms: i64,
    /// Whether two replicas take turns: every second read is fresh.
    pub takes_turns: bool,
    /// Whether only reads of pages lag, and those of whiteboards, presentations and stored files do not.
    pub only_pages: bool,
}

/// What a read shows.
type State = (
    BTreeMap<PageId, PageRecord>,
    BTreeMap<BoardId, WhiteboardRecord>,
    BTreeMap<DeckId, PresentationRecord>,
    Storage,
);

/// The lag, and the states that reads may still show, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Past {
    lag: Option<Lag>,
    states: VecDeque<(Timestamp, State)>,
    reads: u64,
}

impl World {
    /// From now on reads lag, or do not.
    pub fn set_read_lag(&mut self, lag: Option<Lag>) {
        self.past = Past { lag, ..Past::default() };
    }

    /// Keeps the present state for reads that come later. Each request does so; what changed in the app between two
    /// requests counts from the second one on, unless this is called after the change.
    pub fn keep_state(&mut self, now: Timestamp) {
        let Some(lag) = self.past.lag else { return };
        let is_kept =
            self.past.states.back().is_some_and(|(_, (pages, whiteboards, presentations, storage))| {
                *pages == self.pages
                    && *whiteboards == self.whiteboards
                    && *presentations == self.presentations
                    && *storage == self.storage
            });
        if !is_kept {
            let state = (
                self.pages.clone(),
                self.whiteboards.clone(),
                self.presentations.clone(),
                self.storage.clone(),
            );
            self.past.states.push_back((now, state));
        }
        // The newest of those that are old enough is what a read shows.
        while self.past.states.get(1).is_some_and(|(at, _)| now.since_ms(*at) >= lag.ms) {
            self.past.states.pop_front();
        }
    }

    /// Answers a read with what there was a while ago, if reads of that lag.
    pub(super) fn behind<T>(&mut self, path: &str, answer: impl FnOnce(&mut Self) -> T) -> T {
        let area = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        let lags = |lag: &Lag| !lag.only_pages || matches!(area, "pages" | "search");
        let Some(lag) = self.past.lag.filter(lags) else { return answer(self) };
        self.past.reads += 1;
        if lag.takes_turns && !self.past.reads.is_multiple_of(2) {
            return answer(self);
        }
        let Some((at, mut state)) = self.past.states.pop_front() else { return answer(self) };
        self.exchange(&mut state);
        let answered = answer(self);
        self.exchange(&mut state);
        self.past.states.push_front((at, state));
        answered
    }

    fn exchange(&mut self, (pages, whiteboards, presentations, storage): &mut State) {
        std::mem::swap(&mut self.pages, pages);
        std::mem::swap(&mut self.whiteboards, whiteboards);
        std::mem::swap(&mut self.presentations, presentations);
        std::mem::swap(&mut self.storage, storage);
    }
}
