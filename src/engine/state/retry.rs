//! Acts that fail each time: the waits grow, and the user is told after the third failure.

use crate::core::items::Verb;
use crate::engine::state::context::Context;
use crate::engine::state::ids::Ids;
use crate::model::{DiskError, Hold, Node, Refusal, RefusalClass, Schedule, Timestamp};

/// The message to the user about an act that fails each time.
pub(crate) const FAILS: &str = "the service fails each time espejo sends it; espejo retries";
/// Number of consecutive failures after which the user is told.
pub(crate) const TOLD_AFTER: u32 = 3;
/// Waits after a failed request.
const SERVICE: Schedule = Schedule::new(1_000, 300_000);
/// Waits after an act on disk that met another state than it expected.
const CHANGED: Schedule = Schedule::new(100, 12_800);
/// Waits after a failure of the disk. Nothing says when there is room again: then a user waits no longer than this.
const DISK: Schedule = Schedule::new(4_000, 30_000);

/// Whether an act on disk only met another state than it expected.
pub(crate) fn met_another_state(error: &DiskError) -> bool {
    matches!(error, DiskError::Changed(_) | DiskError::Exists(_) | DiskError::Missing(_))
}

/// The waits after an act on disk failed with this error.
pub(crate) fn after_disk(error: &DiskError) -> Schedule {
    if met_another_state(error) { CHANGED } else { DISK }
}

/// The wait after so many failures of a request, in milliseconds, with up to a quarter of jitter.
pub(crate) fn jittered(failures: u32, ids: &mut Ids) -> i64 {
    let wait = SERVICE.wait_ms(failures);
    wait + i64::try_from(ids.below(wait.unsigned_abs() / 4 + 1)).unwrap_or(0)
}

/// Consecutive failures of one act, or of all writes to one item. Fetches that succeed in between do not end them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Failing {
    pub(crate) count: u32,
    /// The act is not tried before this time.
    pub(crate) until: Timestamp,
}

impl Failing {
    /// Whether the user is told.
    pub(crate) fn is_told(&self) -> bool {
        self.count >= TOLD_AFTER
    }

    /// Whether the act is not tried yet.
    pub(crate) fn waits(&self, now: Timestamp) -> bool {
        self.until > now
    }
}

impl Context {
    /// Counts one more failure, with the pause after it.
    pub(crate) fn failed_again(&mut self, before: Failing) -> Failing {
        let count = before.count + 1;
        Failing { count, until: self.now.plus_ms(self.backoff(count)) }
    }
}

/// Whether the last such act on a page was answered with 403.
pub(crate) fn was_forbidden(node: &Node, verb: Verb) -> bool {
    let refused = node.hold().and_then(write_of).filter(|(of, _)| *of == verb);
    refused.is_some_and(|(_, refusal)| refusal.class == RefusalClass::Place && refusal.tries > 0)
}

/// The write that a hold is about, with its refusal.
pub(crate) fn write_of(hold: &Hold) -> Option<(Verb, &Refusal)> {
    match hold {
        Hold::Edit(refusal) => Some((Verb::Write, refusal)),
        Hold::Deletion(refusal) => Some((Verb::Delete, refusal)),
        _ => None,
    }
}
