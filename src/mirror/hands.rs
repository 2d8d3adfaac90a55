//! Whether espejo itself was just at work in the mirror: what is opened then says nothing about a person. And what it put
//! into which place: a hint about that says nothing new while it is unchanged.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::sys::Look;
use crate::model::{EntryKind, MirrorPath, Stamp};

/// The kernel's word of what we opened comes this much after it at the most; later ones would only be hints too many.
const ECHO_MS: u64 = 500;
/// The number of places that are kept. Hints come soon after their act; a later one is only a hint too many.
const PLACES: usize = 64;

/// When espejo's own hands were last in the mirror. Shared by the mirror and its watcher.
#[derive(Debug)]
pub struct Hands {
    since: Instant,
    at_work: AtomicUsize,
    /// When they last rested, in milliseconds after `since`.
    rested: AtomicU64,
    /// What the last acts put into which places, the oldest first.
    put: Mutex<VecDeque<(MirrorPath, Stamp)>>,
    /// The files that espejo opened, and when: each is heard of once.
    opened: Mutex<VecDeque<(MirrorPath, u64)>>,
}

impl Default for Hands {
    #[expect(clippy::disallowed_methods, reason = "how long ago an act ended is the edge's own to know")]
    fn default() -> Self {
        Self {
            since: Instant::now(),
            at_work: AtomicUsize::new(0),
            rested: AtomicU64::new(0),
            put: Mutex::default(),
            opened: Mutex::default(),
        }
    }
}

impl Hands {
    /// Runs `act`, a look or an act in the mirror.
    pub(super) fn at<T>(&self, act: impl FnOnce() -> T) -> T {
        self.at_work.fetch_add(1, Ordering::SeqCst);
        let done = act();
        self.rested.store(self.now_ms(), Ordering::SeqCst);
        self.at_work.fetch_sub(1, Ordering::SeqCst);
        done
    }

    /// Whether an act of ours is under way.
    pub(super) fn are_at_work(&self) -> bool {
        self.at_work.load(Ordering::SeqCst) > 0
    }

    /// Whether what is heard now may be the echo of an act of ours.
    pub(super) fn are_heard(&self) -> bool {
        self.are_at_work() || self.now_ms() < self.rested.load(Ordering::SeqCst).saturating_add(ECHO_MS)
    }

    /// Runs `act`, which puts something of ours into a place, and keeps the stamp that `stamp` makes of its result. The
    /// kernel's word of it may come before `act` returns: [`Hands::have_put`] waits until the stamp is kept.
    pub(super) fn put<T>(
        &self,
        path: &MirrorPath,
        act: impl FnOnce() -> T,
        stamp: impl FnOnce(&T) -> Option<Stamp>,
    ) -> T {
        let mut put = self.lock();
        let done = act();
        put.extend(stamp(&done).map(|stamp| (path.clone(), stamp)));
        if put.len() > PLACES {
            put.pop_front();
        }
        done
    }

    /// Whether what is found in a place is what we put there: a file without any change since, a folder whatever is in it.
    pub(super) fn have_put(&self, path: &MirrorPath, found: &Look) -> bool {
        let is_it = |stamp: &Stamp| match found.kind {
            EntryKind::Folder => stamp.is_same_file(&found.stamp),
            _ => *stamp == found.stamp,
        };
        self.lock().iter().any(|(place, stamp)| place == path && is_it(stamp))
    }

    /// Notes that espejo is about to open a file.
    pub(super) fn open(&self, path: &MirrorPath) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.push_back((path.clone(), self.now_ms()));
        if opened.len() > PLACES {
            opened.pop_front();
        }
    }

    /// Whether an opening that the kernel tells of is another program's. What espejo wrote lately is read again by the
    /// programs that show it just then, so openings of that are told apart one by one; of all else, what comes while espejo
    /// is at work counts as its own.
    pub(super) fn is_anothers(&self, path: &MirrorPath) -> bool {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = self.now_ms().saturating_sub(ECHO_MS);
        let own = opened.iter().position(|(own, at)| own == path && *at >= oldest);
        if let Some(own) = own {
            opened.remove(own);
            return false;
        }
        !self.are_heard() || self.lock().iter().any(|(place, _)| place == path)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(MirrorPath, Stamp)>> {
        self.put.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds of a clock that never goes back.
    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_is_heard_while_it_lasts_and_for_a_moment_after() {
        let hands = Hands::default();
        hands.rested.store(0, Ordering::SeqCst);
        assert!(hands.at(|| hands.are_heard()));
        assert!(hands.are_heard());
        let long_ago = Hands {
            since: hands.since.checked_sub(std::time::Duration::from_secs(9)).unwrap_or(hands.since),
            ..Hands::default()
        };
        assert!(!long_ago.are_heard());
    }
}
