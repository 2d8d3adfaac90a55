//! A full pass that a client waits for: how far it is, and whether it has ended. It only counts and compares.

use crate::engine::{Activity, Summary, Way};
use crate::model::{Attention, Code, Timestamp};

/// A pass that cannot go on (no network, say) is given up after this long without progress.
const PATIENCE_MS: i64 = 60_000;

/// How a pass stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassState {
    /// It goes on.
    UnderWay,
    /// Everything was looked at, and what differed is settled.
    Over,
    /// It will not end by itself: the folder or the token needs the user first.
    Stopped,
    /// Nothing has moved for too long.
    Stuck,
}

/// A full pass, from the moment it was asked for.
#[derive(Debug, Clone)]
pub struct Pass {
    /// Where everything stood at the last look.
    pub summary: Summary,
    /// Changes carried to the service since.
    pub sent: u64,
    /// Changes carried to the folder since.
    pub received: u64,
    /// When it is given up, unless something moves before.
    pub ends_at: Timestamp,
    patience_ms: i64,
    /// The furthest that each part of it has been.
    furthest: Furthest,
}

/// How far a pass has ever been, part by part: each number only grows. What is tried again and fails leaves them as they are,
/// and what goes back and forth moves them once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Furthest {
    seen: usize,
    settled: usize,
    fetched: u64,
    fewest_left: Option<(usize, usize, usize)>,
}

impl Furthest {
    fn reach(&mut self, summary: &Summary) -> bool {
        let before = *self;
        let Summary { storage, .. } = summary;
        let seen = summary.listed
            + summary.looked
            + summary.canvases_listed
            + summary.canvases_looked
            + storage.listed;
        self.seen = self.seen.max(seen);
        self.settled =
            self.settled.max(summary.mirrored + summary.canvases + storage.files + storage.checked);
        self.fetched = self.fetched.max(storage.bytes + storage.arriving);
        let left = (summary.pending, storage.folders_left, storage.sending);
        let (a, b, c) = self.fewest_left.unwrap_or(left);
        self.fewest_left = Some((a.min(left.0), b.min(left.1), c.min(left.2)));
        *self != before
    }
}

impl Pass {
    /// A pass asked for at `now`. `grace_ms` is how long deleted files are waited for: nothing moves meanwhile.
    #[must_use]
    pub fn new(grace_ms: i64, now: Timestamp) -> Self {
        let patience_ms = PATIENCE_MS.saturating_add(grace_ms);
        Self {
            summary: Summary::default(),
            sent: 0,
            received: 0,
            ends_at: now.plus_ms(patience_ms),
            patience_ms,
            furthest: Furthest::default(),
        }
    }

    /// Takes in what happened and where everything stands now.
    pub fn take_in(&mut self, summary: Summary, happened: &[Activity], now: Timestamp) -> PassState {
        let went = |way| happened.iter().filter(|happening| happening.way == way).count() as u64;
        self.sent += went(Way::Up);
        self.received += went(Way::Down);
        // A try that fails is no progress: else what always fails would be waited for without end.
        if self.furthest.reach(&summary) || !happened.is_empty() {
            self.ends_at = now.plus_ms(self.patience_ms);
        }
        self.summary = summary;
        if self.summary.pass_is_over {
            PassState::Over
        } else if now >= self.ends_at {
            PassState::Stuck
        } else if self.summary.paused.is_some() || stopped(&self.summary).is_some() {
            PassState::Stopped
        } else {
            PassState::UnderWay
        }
    }
}

/// Why a pass will not end by itself, if so: the folder, the token or the address needs the user first.
#[must_use]
pub fn stopped(summary: &Summary) -> Option<&Attention> {
    let is_wrong_address = |code| summary.misdirected && code == Code::Outage;
    summary.attention.iter().find(|item| item.code.stops_all() || is_wrong_address(item.code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::StorageSummary;

    fn at(looked: usize, over: bool) -> Summary {
        Summary { looked, listed: 9, pass_is_over: over, ..Summary::default() }
    }

    #[test]
    fn a_pass_waits_while_something_moves_and_no_longer() {
        let mut pass = Pass::new(10_000, Timestamp(0));
        assert_eq!(pass.take_in(at(1, false), &[], Timestamp(1)), PassState::UnderWay);
        assert_eq!(pass.take_in(at(1, false), &[], Timestamp(70_000)), PassState::UnderWay);
        assert_eq!(pass.take_in(at(2, false), &[], Timestamp(70_001)), PassState::UnderWay);
        assert_eq!(pass.take_in(at(2, false), &[], Timestamp(140_000)), PassState::UnderWay);
        assert_eq!(pass.take_in(at(2, false), &[], Timestamp(140_001)), PassState::Stuck);
        assert_eq!(pass.take_in(at(2, true), &[], Timestamp(140_002)), PassState::Over);
    }

    #[test]
    fn a_try_that_settles_nothing_is_no_progress() {
        let mut pass = Pass::new(10_000, Timestamp(0));
        // What waits is asked for again and again: it leaves what is pending, and comes back.
        for second in 1..70 {
            let tried = Summary { requests_last_minute: second, pending: second % 2, ..at(1, false) };
            let state = pass.take_in(tried, &[], Timestamp(second as i64 * 1_000));
            assert_eq!(state, PassState::UnderWay, "after {second} s");
        }
        let tried = Summary { requests_last_minute: 60, ..at(1, false) };
        assert_eq!(pass.take_in(tried.clone(), &[], Timestamp(72_000)), PassState::Stuck);
        // What is settled at last counts.
        let settled = Summary { mirrored: 1, ..tried };
        assert_eq!(pass.take_in(settled, &[], Timestamp(72_001)), PassState::UnderWay);
    }

    #[test]
    fn every_part_of_a_pass_that_gets_further_is_progress() {
        let storage = |storage| Summary { storage, ..Summary::default() };
        let parts = [
            at(2, false),
            Summary { mirrored: 1, ..Summary::default() },
            Summary { canvases_looked: 1, ..Summary::default() },
            storage(StorageSummary { arriving: 1, ..StorageSummary::default() }),
            storage(StorageSummary { checked: 1, ..StorageSummary::default() }),
        ];
        for part in parts {
            let mut pass = Pass::new(0, Timestamp(0));
            pass.take_in(Summary::default(), &[], Timestamp(1));
            assert_eq!(pass.take_in(part.clone(), &[], Timestamp(61_000)), PassState::UnderWay, "{part:?}");
        }
    }

    #[test]
    fn what_happens_is_counted_by_its_way_and_counts_as_moving() {
        let happening = |way| Activity { way, path: String::new(), what: String::new() };
        let mut pass = Pass::new(0, Timestamp(0));
        pass.take_in(at(1, false), &[happening(Way::Up), happening(Way::Down)], Timestamp(1));
        let state =
            pass.take_in(at(1, false), &[happening(Way::Up), happening(Way::Aside)], Timestamp(60_000));
        assert_eq!((pass.sent, pass.received, state), (2, 1, PassState::UnderWay));
        assert_eq!(pass.take_in(at(1, false), &[], Timestamp(119_999)), PassState::UnderWay);
        assert_eq!(pass.take_in(at(1, false), &[], Timestamp(120_000)), PassState::Stuck);
    }

    #[test]
    fn what_needs_the_user_first_ends_a_pass() {
        let summary = |code: Code| Summary {
            attention: vec![Attention::new(code, "", "a reason", "mend it")],
            ..at(1, false)
        };
        for (reason, state) in [
            (Code::TokenRefused, PassState::Stopped),
            (Code::FolderUnusable, PassState::Stopped),
            (Code::Outage, PassState::UnderWay),
        ] {
            assert_eq!(
                Pass::new(0, Timestamp(0)).take_in(summary(reason), &[], Timestamp(1)),
                state,
                "{reason:?}"
            );
        }
    }
}
