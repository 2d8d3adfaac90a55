//! A full pass that somebody waits for: how far it is, and whether it has ended. It only counts and compares.

use crate::engine::{Happening, Summary, Way};
use crate::model::Timestamp;
use crate::store::Attention;

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
    patience_ms: i64,
    moved_at: Timestamp,
}

impl Pass {
    /// A pass asked for at `now`. `grace_ms` is how long deleted files are waited for: nothing moves meanwhile.
    #[must_use]
    pub fn new(grace_ms: i64, now: Timestamp) -> Self {
        Self {
            summary: Summary::default(),
            sent: 0,
            received: 0,
            patience_ms: PATIENCE_MS.saturating_add(grace_ms),
            moved_at: now,
        }
    }

    /// Takes in what happened and where everything stands now.
    pub fn take_in(&mut self, summary: Summary, happened: &[Happening], now: Timestamp) -> PassState {
        let went = |way| happened.iter().filter(|happening| happening.way == way).count() as u64;
        self.sent += went(Way::Up);
        self.received += went(Way::Down);
        // Tries that fail are no progress: else a service that is away would be waited for without end.
        let requests = |s: &Summary| if s.away { 0 } else { s.requests_last_minute };
        let mark = |s: &Summary| {
            (s.looked, s.mirrored, s.pending, requests(s), s.listed, s.canvases_looked, s.storage)
        };
        if mark(&summary) != mark(&self.summary) || !happened.is_empty() {
            self.moved_at = now;
        }
        self.summary = summary;
        if self.summary.pass_is_over {
            PassState::Over
        } else if now.since_ms(self.moved_at) >= self.patience_ms {
            PassState::Stuck
        } else if self.summary.paused.is_some() || stopped(&self.summary).is_some() {
            PassState::Stopped
        } else {
            PassState::UnderWay
        }
    }
}

/// Why a pass will not end by itself, if so: the folder or the token needs the user first.
#[must_use]
pub fn stopped(summary: &Summary) -> Option<&Attention> {
    summary.attention.iter().find(|item| {
        item.path.is_empty()
            && ["nothing is sent", "nothing is written on either side"]
                .iter()
                .any(|start| item.reason.starts_with(start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn tries_to_reach_a_service_that_is_away_are_no_progress() {
        let tried = |requests_last_minute, away| Summary { requests_last_minute, away, ..at(1, false) };
        for (away, state) in [(true, PassState::Stuck), (false, PassState::UnderWay)] {
            let mut pass = Pass::new(0, Timestamp(0));
            pass.take_in(tried(1, away), &[], Timestamp(1));
            pass.take_in(tried(2, away), &[], Timestamp(50_000));
            assert_eq!(pass.take_in(tried(3, away), &[], Timestamp(61_000)), state);
        }
    }

    #[test]
    fn what_happens_is_counted_by_its_way_and_counts_as_moving() {
        let happening = |way| Happening { way, path: String::new(), what: String::new() };
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
        let summary = |reason: &str| Summary {
            attention: vec![Attention {
                path: String::new(),
                reason: reason.into(),
                action: "mend it".into(),
            }],
            ..at(1, false)
        };
        for (reason, state) in [
            ("nothing is sent: the service refuses the token: no", PassState::Stopped),
            ("nothing is written on either side: the folder is missing", PassState::Stopped),
            ("the service cannot be reached: no route", PassState::UnderWay),
        ] {
            assert_eq!(
                Pass::new(0, Timestamp(0)).take_in(summary(reason), &[], Timestamp(1)),
                state,
                "{reason}"
            );
        }
    }
}
