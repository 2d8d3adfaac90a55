//! What the service refused of stored files, and when that is tried again.

use super::local::Local;
use super::send::{Candidate, Uploads};
use super::{Runtime, Storage};
use crate::engine::retry::Failing;
use crate::model::{Refusal, Timestamp};

/// What the service made another file of: to send that once more makes one more.
fn is_final(refusal: &Refusal) -> bool {
    refusal.retry_at == Refusal::NEVER
}

fn refusal_of(candidate: &Candidate) -> Option<&Refusal> {
    candidate.by_service.as_ref().filter(|refusal| !is_final(refusal))
}

impl Runtime {
    /// Whether it may be in the list of what needs a person.
    pub(super) fn is_told_of(&self) -> bool {
        self.trouble.is_some() || self.hidden || self.local == Local::Odd
    }

    /// The service shows it again: what failed while it did not is over.
    pub(super) fn is_back(&mut self) {
        self.failing = Failing::default();
        self.trouble = None;
    }

    /// Whether the service refused to move it to its trash, and is not asked again yet.
    pub(super) fn rests_refused(&self, now: Timestamp) -> bool {
        self.refused.as_ref().is_some_and(|refusal| refusal.rests(now))
    }
}

impl Storage {
    /// Whether anything waits because the service refused it, and is asked again by itself.
    pub(in crate::engine) fn is_refused(&self) -> bool {
        self.rests.sending.is_some()
            || self.rests.trashing.is_some()
            || self.uploads.candidates.values().any(|candidate| refusal_of(candidate).is_some())
    }

    /// What was refused is tried again; deletions by a full pass alone.
    pub(in crate::engine) fn try_refused_again(&mut self, now: Timestamp, is_pass: bool) {
        (self.rests.sending, self.rests.trashing) = (None, None);
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
    /// When something that was refused is tried again next.
    pub(super) fn next_refused(&self) -> impl Iterator<Item = Timestamp> {
        self.candidates.values().filter_map(refusal_of).map(|refusal| refusal.retry_at)
    }
}
