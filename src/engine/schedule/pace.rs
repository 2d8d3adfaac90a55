//! The one limiter: at most N requests in any 60 s as the service counts them. Arithmetic on timestamps handed in.
//!
//! A request takes a slot when it is sent and gives it back 60 s after its *answer* came. The service saw the old
//! request before it answered and sees the new one after it was sent, so two requests that share a slot are at least
//! 60 s apart on the service's own clock, whatever the network does. A bucket of 60 that refills one a second would
//! let 120 through in a minute.

use std::collections::VecDeque;

use crate::model::{Lent, Timestamp, planted};
use crate::store::LogEntry;

/// A borrowed request is sent and answered within this time.
pub const LENT_MS: i64 = 30_000;

/// How long an answered request keeps its slot. The 50 ms allow for slewed clocks.
pub(crate) const WINDOW_MS: i64 = 60_050;

/// A request of a killed run may still arrive this much after the next run began.
pub(crate) const STRAY_MS: i64 = 2_000;

/// The time in which the background's share grows back after a refusal: 30 % at 2 % a minute.
pub const SLOWED_MS: i64 = 15 * 60_000;

/// Hours are quiet when nothing has shown any sign of life for so long.
pub(crate) const QUIET_AFTER_MS: i64 = 3_600_000;
/// In quiet hours lists and background together take one in so many of the requests: the user's other programs have the rest.
const QUIET_PART: u32 = 3;

/// How long nothing leaves after consecutive refusals, if the service does not say. The first waits are short, because
/// a user's edit may be waiting; the background rests a whole window anyway.
const REFUSED_WAITS_MS: [i64; 7] = [4_000, 5_000, 5_000, 10_000, 20_000, 40_000, 60_000];

/// Number of requests that are noted before they are made, in one commit. After a kill each of them counts as made.
pub(crate) fn noted_ahead(limit: u32) -> u32 {
    (limit / 15).min(64)
}

/// The class of a request; earlier ones go first and may use more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A user's edit on its way to the service.
    Edit,
    /// A request that a user waits for.
    Asked,
    /// Lists of pages and workspaces.
    List,
    /// Background fetches: the first mirror and polling.
    Background,
}

/// The limiter: when a request may leave.
#[derive(Debug)]
pub struct Pace {
    limit: u32,
    log: VecDeque<LogEntry>,
    /// Slots reserved for the PATCH that follows a GET.
    reserved: u32,
    blocked_until: Timestamp,
    refusals: u32,
    /// When the last refusal came: requests sent before it say nothing new.
    refused_at: Timestamp,
    /// The part of the background's share in use. Refusals by the service reduce it, and it grows back.
    share: f64,
    share_at: Timestamp,
    next_background: Timestamp,
    /// In quiet hours the background leaves most requests to others.
    rests: bool,
    /// Since when this log is kept in this run.
    began: Timestamp,
    /// When the requests of users' edits left, in the last minute.
    edits: VecDeque<Timestamp>,
    /// When lists were requested, in the last minute.
    lists: VecDeque<Timestamp>,
}

impl Pace {
    /// Loads the log of an earlier run. Requests that were under way then count as answered in a moment. A time in the
    /// future is that of a loan which still runs, or the clock went back: it is limited to the length of a loan.
    #[must_use]
    pub fn new(limit: u32, log: Vec<LogEntry>, now: Timestamp) -> Self {
        let log = log
            .into_iter()
            .map(|mut entry| {
                let answered = entry.answered.unwrap_or(now.plus_ms(STRAY_MS));
                entry.answered = Some(answered.min(now.plus_ms(STRAY_MS.max(LENT_MS))));
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
            rests: false,
            began: now,
            edits: VecDeque::new(),
            lists: VecDeque::new(),
        }
    }

    /// Whether `slots` requests of this class may be sent now, back to back. `burst`: the background may run unpaced.
    #[must_use]
    pub fn allows(&self, class: Class, slots: u32, burst: bool, now: Timestamp) -> bool {
        now >= self.earliest(class, slots, burst, now)
    }

    /// Whether one of the `left` requests of this class may be sent now. A few fit into the slots that edits do not need; many are
    /// spread over the minute.
    pub(crate) fn allows_one_of(&self, class: Class, left: impl FnOnce() -> usize, now: Timestamp) -> bool {
        self.allows(class, 1, false, now)
            || self.allows(class, 1, true, now) && {
                let left = u32::try_from(left()).unwrap_or(u32::MAX);
                left > 0 && left <= self.background_room(now)
            }
    }

    /// Whether no request of any class that takes so many slots may leave now, and no slot is reserved.
    #[must_use]
    pub fn is_spent(&self, slots: u32, now: Timestamp) -> bool {
        self.reserved == 0 && !self.allows(Class::Edit, slots, false, now)
    }

    /// When `slots` requests of this class may be sent, as of now; never earlier than `now`.
    #[must_use]
    pub fn earliest(&self, class: Class, slots: u32, burst: bool, now: Timestamp) -> Timestamp {
        let mut at = now.max(self.blocked_until);
        if class == Class::Background && !burst {
            at = at.max(self.next_background);
        }
        let room = i64::from(planted("limiter-one-over")) + i64::from(self.cap(class, now))
            - i64::from(self.reserved)
            - i64::from(slots);
        if i64::try_from(self.log.len()).is_ok_and(|all| all <= room) {
            return at;
        }
        let taken = || self.log.iter().map(|entry| free_at(*entry, now)).filter(|t| *t > now);
        // Counted first: this runs several times for each event, and mostly there is room.
        let over = i64::try_from(taken().count()).unwrap_or(i64::MAX) - room;
        if over > 0 {
            let mut frees: Vec<Timestamp> = taken().collect();
            if let Some(last) = frees.len().checked_sub(1) {
                let index = usize::try_from(over - 1).unwrap_or(0).min(last);
                at = at.max(*frees.select_nth_unstable(index).1);
            }
            // If nothing is taken either, more is requested than this class may ever have.
            if room < 0 {
                at = at.max(now.plus_ms(1_000));
            }
        }
        at
    }

    /// The most requests that may ever leave back to back for a user who waits for them.
    #[must_use]
    pub fn most_asked(&self) -> u32 {
        self.cap(Class::Asked, self.share_at)
    }

    /// The most requests a minute that lists may use.
    pub(crate) fn most_lists(&self) -> u32 {
        self.cap(Class::List, self.share_at)
    }

    /// Records a request that leaves now. `reserve` slots are kept for what must follow it.
    pub fn sent(&mut self, effect: u64, class: Class, reserve: u32, now: Timestamp) {
        self.log.push_back(LogEntry { effect, sent: now, answered: None });
        self.reserved += reserve;
        match class {
            Class::Edit => note(&mut self.edits, now),
            Class::List => note(&mut self.lists, now),
            Class::Background => {
                // In its first hour a run does not know what changed before.
                let is_quiet = self.rests && now.since_ms(self.began) >= QUIET_AFTER_MS;
                let gap = if is_quiet { self.quiet_gap_ms(now) } else { 0 };
                self.next_background = now.plus_ms(gap.max(self.background_gap_ms()));
            }
            Class::Asked => {}
        }
    }

    /// Sets whether the background and the lists together take no more than a third of the requests from the next request on.
    pub fn rest(&mut self, rests: bool) {
        self.rests = rests;
    }

    /// Gives a reserved slot back, used or not.
    pub fn release(&mut self) {
        self.reserved = self.reserved.saturating_sub(1);
    }

    /// Records an answer, or the certainty that none will come.
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

    /// Takes back requests that were lent: the first `made` of them were made and are answered by now.
    pub(crate) fn give_back(&mut self, lent: &Lent, made: u32, now: Timestamp) {
        let all = lent.numbers();
        let is_made = |number: u64| number - all.start < u64::from(made);
        self.log.retain(|entry| !all.contains(&entry.effect) || is_made(entry.effect));
        for entry in self.log.iter_mut().filter(|entry| all.contains(&entry.effect)) {
            entry.answered = entry.answered.map(|at| at.min(now));
        }
    }

    /// A number above `least` that no request in the log has, nor any after it.
    pub(crate) fn number_after(&self, least: u64) -> u64 {
        self.log.iter().map(|entry| entry.effect).max().unwrap_or(0).max(least) + 1
    }

    /// Records that the service refused with 429 a request that was sent at `sent`: another client uses this token, or
    /// the window is of another kind. Requests that were under way together are refused together, and count as one.
    pub fn refused(&mut self, retry_after_ms: Option<i64>, sent: Timestamp, now: Timestamp) {
        if self.refusals > 0 && sent <= self.refused_at {
            return;
        }
        self.refused_at = now;
        let own = REFUSED_WAITS_MS[self.refusals.min(6) as usize];
        self.blocked_until =
            self.blocked_until.max(now.plus_ms(retry_after_ms.unwrap_or(own).clamp(1_000, 3_600_000)));
        if self.refusals == 0 {
            self.share = (self.share_now(now) * 0.7).max(0.1);
            self.share_at = now;
        }
        self.refusals += 1;
        // After a minute, any kind of window has lost our own background requests.
        self.next_background = self.next_background.max(now.plus_ms(WINDOW_MS));
    }

    /// Records that the service accepted a request.
    pub fn accepted(&mut self) {
        self.refusals = 0;
    }

    /// Number of requests sent after `since`.
    pub(crate) fn sent_since(&self, since: Timestamp) -> usize {
        self.log.iter().filter(|entry| entry.sent > since).count()
    }

    /// The time until which no request leaves because the service refused one.
    pub(crate) fn blocked_until(&self) -> Timestamp {
        self.blocked_until
    }

    /// Number of background requests that could leave at once now.
    pub(crate) fn background_room(&self, now: Timestamp) -> u32 {
        let used = self.log.iter().filter(|entry| free_at(**entry, now) > now).count();
        self.cap(Class::Background, now)
            .saturating_sub(u32::try_from(used).unwrap_or(u32::MAX))
            .saturating_sub(self.reserved)
    }

    /// The interval of the background's requests, as of now; at least a millisecond, because callers divide by it.
    #[must_use]
    pub fn background_every_ms(&self) -> i64 {
        self.background_gap_ms().max(1)
    }

    /// Slots kept free of background reading, so that a burst of edits leaves at once.
    fn reserve(&self) -> u32 {
        (self.limit / 7).clamp(1, 10)
    }

    fn cap(&self, class: Class, now: Timestamp) -> u32 {
        match class {
            Class::Edit => self.limit,
            Class::Asked => self.limit - (self.reserve() / 4).max(1).min(self.limit - 1),
            Class::List => self.limit - self.reserve(),
            Class::Background => (self.limit - self.reserve()).saturating_sub(self.edits_to_come(now)),
        }
    }

    /// How many more requests a minute edits may soon need than they had in the last one. A user who begins to write
    /// goes on for a while, and a slot that the background takes now is missing for a whole minute. If edits have had
    /// this pace for a minute, the window contains them already.
    fn edits_to_come(&self, now: Timestamp) -> u32 {
        let since = |ms: i64| self.edits.iter().filter(|at| now.since_ms(**at) < ms).count();
        let more = (since(WINDOW_MS / 4) * 4).saturating_sub(since(WINDOW_MS));
        u32::try_from(more).unwrap_or(self.limit).min(self.limit / 2)
    }

    fn background_gap_ms(&self) -> i64 {
        let a_minute = f64::from(self.limit - self.reserve()) * self.share_now(self.share_at);
        (60_000.0 / a_minute.max(1.0)) as i64
    }

    /// The interval of the background's requests in quiet hours: they and the lists of a minute are a third of the limit.
    fn quiet_gap_ms(&self, now: Timestamp) -> i64 {
        let lists = self.lists.iter().filter(|at| now.since_ms(**at) < WINDOW_MS).count();
        // A minute that begins with a request holds one more.
        let left = i64::from(self.limit / QUIET_PART) - i64::try_from(lists).unwrap_or(i64::MAX) - 1;
        WINDOW_MS / left.max(1)
    }

    /// The share grows back by 2 % of the whole each minute without a refusal.
    fn share_now(&self, now: Timestamp) -> f64 {
        let minutes = now.since_ms(self.share_at).max(0) as f64 / 60_000.0;
        (self.share + 0.02 * minutes).min(1.0)
    }
}

/// Notes a request that leaves now, and forgets those that left a minute ago.
fn note(times: &mut VecDeque<Timestamp>, now: Timestamp) {
    times.push_back(now);
    while times.front().is_some_and(|at| now.since_ms(*at) >= WINDOW_MS) {
        times.pop_front();
    }
}

fn free_at(entry: LogEntry, now: Timestamp) -> Timestamp {
    // A request under way holds its slot; asking again in a second is soon enough.
    entry.answered.map_or(now.plus_ms(1_000), |at| at.plus_ms(WINDOW_MS))
}

#[cfg(test)]
mod tests;
