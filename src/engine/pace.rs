//! The one limiter: at most N requests in any 60 s as the service counts them. Arithmetic on timestamps handed in.
//!
//! A request takes a slot when it is sent and gives it back 60 s after its *answer* came. The service saw the old
//! request before it answered and sees the new one after it was sent, so two requests that share a slot are at least
//! 60 s apart on the service's own clock, whatever the network does. A bucket of 60 that refills one a second would
//! let 120 through in a minute.

use std::collections::VecDeque;

use crate::model::{Timestamp, planted};
use crate::store::LogEntry;

/// How long an answered request keeps its slot. The 50 ms are for clocks that are slewed.
pub(crate) const WINDOW_MS: i64 = 60_050;

/// Who asks; earlier ones go first and may use more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A person's edit on its way to the service.
    Edit,
    /// Something a person waits for.
    Asked,
    /// Lists of pages and workspaces.
    List,
    /// Background reading: the first mirror and polling.
    Background,
}

/// The limiter: when a request may leave.
#[derive(Debug)]
pub struct Pace {
    limit: u32,
    log: VecDeque<LogEntry>,
    /// Slots promised to the PATCH that follows a GET.
    reserved: u32,
    blocked_until: Timestamp,
    refusals: u32,
    /// When the last of them was heard: what had been sent before says nothing new.
    refused_at: Timestamp,
    /// The part of the background's share in use, halved by refusals of the service and growing back.
    share: f64,
    share_at: Timestamp,
    next_background: Timestamp,
}

impl Pace {
    /// Takes up the log of an earlier run. What was under way then is taken for answered now, and times in the
    /// future (the clock went back) for now.
    #[must_use]
    pub fn new(limit: u32, log: Vec<LogEntry>, now: Timestamp) -> Self {
        let log = log
            .into_iter()
            .map(|mut entry| {
                entry.answered = Some(entry.answered.unwrap_or(now).min(now));
                entry.sent = entry.sent.min(now);
                entry
            })
            .collect();
        Self {
            limit: limit.max(2),
            log,
            reserved: 0,
            blocked_until: Timestamp::default(),
            refusals: 0,
            refused_at: Timestamp::default(),
            share: 1.0,
            share_at: now,
            next_background: Timestamp::default(),
        }
    }

    /// Whether `slots` requests of this class may be sent now, back to back. `burst`: the background may run unpaced.
    #[must_use]
    pub fn allows(&self, class: Class, slots: u32, burst: bool, now: Timestamp) -> bool {
        now >= self.earliest(class, slots, burst, now)
    }

    /// When `slots` requests of this class may be sent, as things stand; never earlier than `now`.
    #[must_use]
    pub fn earliest(&self, class: Class, slots: u32, burst: bool, now: Timestamp) -> Timestamp {
        let mut at = now.max(self.blocked_until);
        if class == Class::Background && !burst {
            at = at.max(self.next_background);
        }
        let room = i64::from(planted("limiter-one-over")) + i64::from(self.cap(class))
            - i64::from(self.reserved)
            - i64::from(slots);
        let mut frees: Vec<Timestamp> =
            self.log.iter().map(|entry| free_at(*entry, now)).filter(|t| *t > now).collect();
        let over = frees.len() as i64 - room;
        if over > 0 {
            frees.sort_unstable();
            let index = usize::try_from(over - 1).unwrap_or(0).min(frees.len() - 1);
            at = at.max(frees[index]);
            if room < 0 {
                at = at.max(now.plus_ms(1_000));
            }
        }
        at
    }

    /// A request leaves now. `reserve` slots are kept for what must follow it.
    pub fn sent(&mut self, effect: u64, class: Class, reserve: u32, now: Timestamp) {
        self.log.push_back(LogEntry { effect, sent: now, answered: None });
        self.reserved += reserve;
        if class == Class::Background {
            self.next_background = now.plus_ms(self.background_gap_ms());
        }
    }

    /// Gives a kept slot back, used or not.
    pub fn release(&mut self) {
        self.reserved = self.reserved.saturating_sub(1);
    }

    /// An answer (or the certainty that none will come) arrived.
    pub fn answered(&mut self, effect: u64, now: Timestamp) {
        for entry in &mut self.log {
            if entry.effect == effect && entry.answered.is_none() {
                entry.answered = Some(now);
            }
        }
        let forget = now.plus_ms(-2 * WINDOW_MS);
        while self.log.front().is_some_and(|e| e.answered.is_some_and(|at| at < forget)) {
            self.log.pop_front();
        }
    }

    /// The service refused with 429 what was sent at `sent`: somebody else spends on this token, or the window is of
    /// another kind. Requests that were under way together are refused together, and count as one.
    pub fn refused(&mut self, retry_after_ms: Option<i64>, sent: Timestamp, now: Timestamp) {
        if self.refusals > 0 && sent <= self.refused_at {
            return;
        }
        self.refused_at = now;
        let own = [5_000, 10_000, 20_000, 40_000, 60_000][self.refusals.min(4) as usize];
        self.blocked_until =
            self.blocked_until.max(now.plus_ms(retry_after_ms.unwrap_or(own).clamp(1_000, 3_600_000)));
        if self.refusals == 0 {
            self.share = (self.share_now(now) * 0.7).max(0.1);
            self.share_at = now;
        }
        self.refusals += 1;
        // Emptying every kind of window of our own background requests takes a minute.
        self.next_background = self.next_background.max(now.plus_ms(WINDOW_MS));
    }

    /// The service accepted a request.
    pub fn accepted(&mut self) {
        self.refusals = 0;
    }

    /// How many requests were sent after `since`.
    pub(crate) fn sent_since(&self, since: Timestamp) -> usize {
        self.log.iter().filter(|entry| entry.sent > since).count()
    }

    /// Until when no request leaves because the service refused one.
    pub(crate) fn blocked_until(&self) -> Timestamp {
        self.blocked_until
    }

    /// How many background requests could leave at once now.
    pub(crate) fn background_room(&self, now: Timestamp) -> u32 {
        let used = self.log.iter().filter(|entry| free_at(**entry, now) > now).count();
        self.cap(Class::Background)
            .saturating_sub(u32::try_from(used).unwrap_or(u32::MAX))
            .saturating_sub(self.reserved)
    }

    /// Slots kept free of background reading, so that a burst of edits leaves at once.
    fn reserve(&self) -> u32 {
        (self.limit / 6).clamp(1, 10)
    }

    fn cap(&self, class: Class) -> u32 {
        match class {
            Class::Edit => self.limit,
            Class::Asked => self.limit - (self.reserve() / 4).max(1).min(self.limit - 1),
            Class::List | Class::Background => self.limit - self.reserve(),
        }
    }

    fn background_gap_ms(&self) -> i64 {
        let a_minute = f64::from(self.limit - self.reserve()) * self.share_now(self.share_at);
        (60_000.0 / a_minute.max(1.0)) as i64
    }

    /// The share grows back by 2 % of the whole each minute without a refusal.
    fn share_now(&self, now: Timestamp) -> f64 {
        let minutes = now.since_ms(self.share_at).max(0) as f64 / 60_000.0;
        (self.share + 0.02 * minutes).min(1.0)
    }
}

fn free_at(entry: LogEntry, now: Timestamp) -> Timestamp {
    // A request under way holds its slot; asking again in a second is soon enough.
    entry.answered.map_or(now.plus_ms(1_000), |at| at.plus_ms(WINDOW_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs every class greedily with late answers and restarts; the service must never count more than the limit.
    fn run(limit: u32, seed: u64, restart_every: usize) -> (usize, usize) {
        let mut state = seed;
        let mut draw = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let mut pace = Pace::new(limit, Vec::new(), Timestamp(1));
        let (mut now, mut arrivals, mut under_way) =
            (Timestamp(1_000_000), Vec::new(), Vec::<(u64, i64)>::new());
        for step in 0..4_000_u64 {
            now = now.plus_ms(draw(400) as i64);
            under_way.retain(|(effect, due)| {
                let done = *due <= now.0;
                if done {
                    pace.answered(*effect, now);
                }
                !done
            });
            let class = [Class::Edit, Class::Asked, Class::List, Class::Background][draw(4) as usize];
            if pace.allows(class, 1, draw(2) == 0, now) {
                pace.sent(step, class, 0, now);
                let up = draw(1_500) as i64;
                arrivals.push(now.0 + up);
                under_way.push((step, now.0 + up + draw(1_500) as i64));
            }
            if restart_every > 0 && (step as usize).is_multiple_of(restart_every) {
                pace = Pace::new(limit, pace.log.into_iter().collect(), now);
                // A restart loses what was under way: the answers never come.
                under_way.clear();
            }
        }
        arrivals.sort_unstable();
        let worst = (0..arrivals.len())
            .map(|i| arrivals[i..].iter().take_while(|t| **t < arrivals[i] + 60_000).count())
            .max()
            .unwrap_or(0);
        (worst, arrivals.len())
    }

    #[test]
    fn never_more_than_the_limit_in_any_minute_as_the_service_counts() {
        for seed in 0..40 {
            for limit in [5, 20, 60] {
                let (worst, all) = run(limit, seed, 0);
                assert!(worst <= limit as usize, "limit {limit} seed {seed}: {worst}");
                assert!(all > 20, "the test must use the budget");
            }
        }
    }

    #[test]
    fn the_log_carries_the_limit_across_restarts() {
        for seed in 0..40 {
            // A request under way at a restart may still arrive later than the restart, by the up-time of 1.5 s;
            // the 60 s count from the restart, so it is the same request that is counted once.
            let (worst, _) = run(20, seed, 200);
            assert!(worst <= 20 + 2, "seed {seed}: {worst}");
        }
    }

    #[test]
    fn background_leaves_room_for_edits_and_is_paced() {
        let mut pace = Pace::new(60, Vec::new(), Timestamp(0));
        let mut now = Timestamp(0);
        let mut sent = 0;
        for step in 0..120_000_u64 {
            now = Timestamp(step as i64);
            if pace.allows(Class::Background, 1, false, now) {
                pace.sent(step, Class::Background, 0, now);
                pace.answered(step, now);
                sent += 1;
            }
            assert!(pace.allows(Class::Edit, 2, false, now), "an edit must always find room at {now}");
        }
        assert!((95..=102).contains(&sent), "{sent} in two minutes");
        for _ in 0..6 {
            pace.refused(None, now, now);
        }
        assert!(!pace.allows(Class::Edit, 1, false, now.plus_ms(4_999)));
        assert!(pace.allows(Class::Edit, 1, false, now.plus_ms(5_001)));
        assert!(!pace.allows(Class::Background, 1, false, now.plus_ms(59_000)));
    }
}
