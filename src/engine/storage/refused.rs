//! What the service refused of stored files, and when that is tried again.

use super::Storage;
use crate::model::{Refusal, Timestamp};

impl Storage {
    /// Whether anything waits because the service refused it.
    pub(in crate::engine) fn is_refused(&self) -> bool {
        self.rests.sending.is_some()
            || self.rests.trashing.is_some()
            || self.candidates.values().any(|candidate| candidate.by_service)
    }

    /// What was refused is tried again, but for what the service made another file of: to send that once more makes one more.
    pub(in crate::engine) fn try_refused_again(&mut self, now: Timestamp) {
        (self.rests.sending, self.rests.trashing) = (None, None);
        let refused = self.candidates.values_mut().filter(|candidate| candidate.by_service);
        for candidate in refused.filter(|candidate| candidate.retry_at != Refusal::NEVER) {
            candidate.retry_at = candidate.retry_at.min(now);
        }
    }
}
