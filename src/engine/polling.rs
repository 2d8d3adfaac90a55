//! The limiter and the poll schedule alone, for callers that run them in virtual time (`benches/polling`) or ask what
//! comes next. No state of its own.

pub use crate::engine::schedule::pace::Class;
pub use crate::engine::schedule::pace::Pace;
pub use crate::engine::schedule::pace::SLOWED_MS;
pub use crate::engine::schedule::poll::changed;
pub use crate::engine::schedule::poll::forecast;
pub use crate::engine::schedule::poll::fresh;
pub use crate::engine::schedule::poll::neighbours;
pub use crate::engine::schedule::poll::next;
pub use crate::engine::schedule::poll::rests;
pub use crate::engine::schedule::poll::score;
pub use crate::engine::schedule::poll::stirred;
pub use crate::engine::schedule::poll::unchanged;
pub use crate::engine::schedule::watch::Mark;
pub use crate::engine::schedule::watch::Turn;
pub use crate::engine::schedule::watch::Watch;
pub use crate::engine::schedule::watch::belief::Belief;
pub use crate::engine::schedule::watch::common::Common;
pub use crate::engine::schedule::watch::noticed::Noticed;
pub use crate::engine::schedule::watch::noticed::noticed;
pub use crate::engine::state::watched::BELIEF;
pub use crate::engine::state::watched::DELAYS;

use crate::model::Timestamp;

/// The age of a fetch from which its target is late, in milliseconds: with this limit and nothing else to do, the
/// schedule fetches each of `targets` more often.
#[must_use]
pub fn late_after_ms(targets: i64, requests_per_minute: u32) -> i64 {
    let pace = Pace::new(requests_per_minute, Vec::new(), Timestamp::default());
    crate::engine::schedule::poll::longest_ms(targets, pace.background_every_ms())
}
