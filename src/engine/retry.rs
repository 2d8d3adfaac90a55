//! Acts that fail each time: spaced further and further, and told of after the third.

use super::context::Context;
use super::ids::Ids;
use crate::model::{DiskError, Schedule, ServiceError, Timestamp};

/// What a person is told of an act that fails each time.
pub(super) const FAILS: &str = "the service fails each time espejo sends it; espejo retries";
/// What is to be done about it.
pub(super) const FAILS_MEND: &str = "nothing to do: espejo retries";
/// So many failures in a row are told.
pub(super) const TOLD_AFTER: u32 = 3;
/// After a request failed.
const SERVICE: Schedule = Schedule::new(1_000, 300_000);
/// After an act on disk met another state than it expected.
const CHANGED: Schedule = Schedule::new(100, 12_800);
/// After the disk failed. Nothing says when there is room again: after that a user waits no longer than this.
const DISK: Schedule = Schedule::new(4_000, 30_000);

/// Whether an act on disk only met another state than it expected.
pub(super) fn met_another_state(error: &DiskError) -> bool {
    matches!(error, DiskError::Changed(_) | DiskError::Exists(_) | DiskError::Missing(_))
}

/// How long is waited after an act on disk failed so.
pub(super) fn after_disk(error: &DiskError) -> Schedule {
    if met_another_state(error) { CHANGED } else { DISK }
}

/// The wait after so many failures of a request, in milliseconds, with up to a quarter of jitter.
pub(super) fn jittered(failures: u32, ids: &mut Ids) -> i64 {
    let wait = SERVICE.wait_ms(failures);
    wait + i64::try_from(ids.below(wait.unsigned_abs() / 4 + 1)).unwrap_or(0)
}

/// Why an act fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fails {
    #[error("{0}")]
    Service(ServiceError),
    #[error("{0}")]
    Disk(DiskError),
    /// Without an error to show for it.
    #[error("{FAILS}")]
    EachTime,
}

/// Failures in a row of one act, or of all writes to one item. Looks that succeed in between end nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Failing {
    pub(super) count: u32,
    /// It is not tried before.
    pub(super) until: Timestamp,
}

impl Failing {
    /// Whether a person is told.
    pub(super) fn is_told(&self) -> bool {
        self.count >= TOLD_AFTER
    }

    /// Whether it is not tried yet.
    pub(super) fn waits(&self, now: Timestamp) -> bool {
        self.until > now
    }
}

impl Context {
    /// One failure more, and the pause after it.
    pub(super) fn failed_again(&mut self, before: Failing) -> Failing {
        let count = before.count + 1;
        Failing { count, until: self.now.plus_ms(self.backoff(count)) }
    }
}
