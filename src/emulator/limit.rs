//! The service's rate limit. The API document says how many, and not over which window, so all plausible windows
//! can be chosen here.

use std::collections::VecDeque;

use crate::model::Timestamp;

/// How the service counts a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Window {
    /// At most N in any 60 seconds.
    #[default]
    SlidingLog,
    /// At most N in each minute of the clock.
    FixedMinute,
    /// At most N in the 60 seconds from a first request on; then the next request is a first one.
    FromFirst,
}

/// The limiter's state.
#[derive(Debug, Clone)]
pub(super) struct Limit {
    /// Requests a minute; `None` for no limit.
    per_minute: Option<usize>,
    /// Over which window.
    window: Window,
    /// Whether a refused request counts as well.
    pub(super) counts_refused: bool,
    counted: VecDeque<Timestamp>,
}

const MINUTE_MS: i64 = 60_000;

impl Limit {
    /// A limit; the requests that it refuses do not count.
    pub(super) fn new(per_minute: Option<usize>, window: Window) -> Self {
        Self { per_minute, window, counts_refused: false, counted: VecDeque::new() }
    }

    /// Whether a request that arrives now is served.
    pub(super) fn admits(&mut self, now: Timestamp) -> bool {
        let Some(most) = self.per_minute else { return true };
        match self.window {
            Window::SlidingLog => {
                while self.counted.front().is_some_and(|first| now.since_ms(*first) >= MINUTE_MS) {
                    self.counted.pop_front();
                }
            }
            Window::FixedMinute => {
                let minute = now.0.div_euclid(MINUTE_MS);
                self.counted.retain(|at| at.0.div_euclid(MINUTE_MS) == minute);
            }
            Window::FromFirst => {
                if self.counted.front().is_some_and(|first| now.since_ms(*first) >= MINUTE_MS) {
                    self.counted.clear();
                }
            }
        }
        let admitted = self.counted.len() < most;
        if admitted || self.counts_refused {
            self.counted.push_back(now);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrivals in seconds; which of them are served.
    #[track_caller]
    fn check(window: Window, counts_refused: bool, arrivals: &[i64], expected: &[bool]) {
        let mut limit = Limit { counts_refused, ..Limit::new(Some(2), window) };
        let served: Vec<bool> =
            arrivals.iter().map(|second| limit.admits(Timestamp(second * 1000))).collect();
        assert_eq!(served, expected, "{window:?} {counts_refused} {arrivals:?}");
    }

    #[test]
    fn each_window_counts_its_own_way() {
        use Window::{FixedMinute, FromFirst, SlidingLog};
        check(SlidingLog, false, &[0, 50, 59, 60, 61, 110], &[true, true, false, true, false, true]);
        check(
            SlidingLog,
            true,
            &[0, 50, 59, 60, 61, 119, 120],
            &[true, true, false, false, false, false, false],
        );
        check(FixedMinute, false, &[58, 59, 60, 61, 62], &[true, true, true, true, false]);
        check(FromFirst, false, &[30, 80, 89, 90, 91, 92], &[true, true, false, true, true, false]);
    }

    #[test]
    fn without_a_limit_everything_is_served() {
        let mut limit = Limit::new(None, Window::SlidingLog);
        assert!((0..1000).all(|_| limit.admits(Timestamp(0))));
    }
}
