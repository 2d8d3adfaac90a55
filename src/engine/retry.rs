//! Acts that fail each time: the waits grow, and the user is told after the third failure.

use super::context::Context;
use super::ids::Ids;
use crate::model::{DiskError, Schedule, Timestamp};

/// The message to the user about an act that fails each time.
pub(super) const FAILS: &str = "the service fails each time espejo sends it; espejo retries";
/// Number of consecutive failures after which the user is told.
pub(super) const TOLD_AFTER: u32 = 3;
/// Waits after a failed request.
const SERVICE: Schedule = Schedule::new(1_000, 300_000);
/// Waits after an act on disk that met another state than it expected.
const CHANGED: Schedule = Schedule::new(100, 12_800);
/// Waits after a failure of the disk. Nothing says when there is room again: then a user waits no longer than this.
const DISK: Schedule = Schedule::new(4_000, 30_000);

/// Whether an act on disk only met another state than it expected.
pub(super) fn met_another_state(error: &DiskError) -> bool {
    matches!(error, DiskError::Changed(_) | DiskError::Exists(_) | DiskError::Missing(_))
}

/// The waits after an act on disk failed with this error.
pub(super) fn after_disk(error: &DiskError) -> Schedule {
    if met_another_state(error) { CHANGED } else { DISK }
}

/// The wait after so many failures of a request, in milliseconds, with up to a quarter of jitter.
pub(super) fn jittered(failures: u32, ids: &mut Ids) -> i64 {
    let wait = SERVICE.wait_ms(failures);
    wait + i64::try_from(ids.below(wait.unsigned_abs() / 4 + 1)).unwrap_or(0)
}

/// Consecutive failures of one act, or of all writes to one item. Fetches that succeed in between do not end them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Failing {
    pub(super) count: u32,
    /// The act is not tried before this time.
    pub(super) until: Timestamp,
}

impl Failing {
    /// Whether the user is told.
    pub(super) fn is_told(&self) -> bool {
        self.count >= TOLD_AFTER
    }

    /// Whether the act is not tried yet.
    pub(super) fn waits(&self, now: Timestamp) -> bool {
        self.until > now
    }
}

impl Context {
    /// Counts one more failure, with the pause after it.
    pub(super) fn failed_again(&mut self, before: Failing) -> Failing {
        let count = before.count + 1;
        Failing { count, until: self.now.plus_ms(self.backoff(count)) }
    }
}
