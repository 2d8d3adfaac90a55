//! Refusals of stored files by the service, and the times of the next tries.

use super::local::Local;
use super::send::{Candidate, Uploads};
use super::{Direction, Runtime, Storage};
use crate::engine::retry::Failing;
use crate::model::{Refusal, RefusalClass, Timestamp};

/// Whether the service created another file from the upload: another try would create one more.
fn is_final(refusal: &Refusal) -> bool {
    refusal.retry_at == Refusal::NEVER
}

/// Whether another state of the workspace may end a refusal.
fn is_about_place(refusal: &Refusal) -> bool {
    refusal.class != RefusalClass::Transient
}

fn refusal_of(candidate: &Candidate) -> Option<&Refusal> {
    candidate.by_service.as_ref().filter(|refusal| !is_final(refusal))
}

impl Runtime {
    /// Whether it may be in the list of messages to the user.
    pub(super) fn is_told_of(&self) -> bool {
        self.trouble.is_some() || self.hidden || self.local == Local::Odd
    }

    /// Clears the failures, because the service shows the file again.
    pub(super) fn is_back(&mut self) {
        self.failing = Failing::default();
        self.trouble = None;
    }

    /// Whether the service refused to move it to the trash, and the next try is not due.
    pub(super) fn rests_refused(&self, now: Timestamp) -> bool {
        self.refused.as_ref().is_some_and(|refusal| refusal.rests(now))
    }
}

impl Storage {
    /// Whether anything waits because of a refusal, and is tried again without the user.
    pub(in crate::engine) fn is_refused(&self) -> bool {
        [Direction::Sending, Direction::Trashing].iter().any(|rest| self.rests.0.contains_key(rest))
            || self.uploads.candidates.values().filter_map(refusal_of).any(is_about_place)
    }

    /// Tries refused requests again; deletions only in a full pass.
    pub(in crate::engine) fn try_refused_again(&mut self, now: Timestamp, is_pass: bool) {
        self.rests.0.retain(|rest, _| !matches!(rest, Direction::Sending | Direction::Trashing));
        if is_pass {
            self.uploads.again.forget();
        }
        let refused =
            self.uploads.candidates.values_mut().filter_map(|candidate| candidate.by_service.as_mut());
        refused.filter(|refusal| !is_final(refusal)).for_each(|refusal| refusal.try_at(now));
        let refused = self.runtimes.iter_mut().filter(|(_, runtime)| is_pass && runtime.refused.is_some());
        for (file, runtime) in refused {
            runtime.refused = None;
            runtime.failing.until = runtime.failing.until.min(now);
            self.queue.dirty.insert(file.clone());
        }
    }
}

impl Uploads {
    /// The times of the next tries.
    pub(super) fn next_refused(&self) -> impl Iterator<Item = Timestamp> {
        self.candidates.values().filter_map(refusal_of).map(|refusal| refusal.retry_at)
    }
}
