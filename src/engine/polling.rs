//! The limiter and the poll schedule alone, for callers that run them in virtual time (`benches/polling`) or ask what
//! comes next. No state of its own.

pub use crate::engine::schedule::pace::{Class, Pace, SLOWED_MS};
pub use crate::engine::schedule::poll::{
    changed, forecast, fresh, neighbours, next, rests, score, stirred, unchanged,
};
pub use crate::engine::schedule::watch::belief::Belief;
pub use crate::engine::schedule::watch::common::Common;
pub use crate::engine::schedule::watch::noticed::{Noticed, noticed};
pub use crate::engine::schedule::watch::{Mark, Turn, Watch};
pub use crate::engine::state::watched::{BELIEF, DELAYS};

use crate::model::Timestamp;

/// The age of a fetch from which its target is late, in milliseconds: with this limit and nothing else to do, the
/// schedule fetches each of `targets` more often.
#[must_use]
pub fn late_after_ms(targets: i64, requests_per_minute: u32) -> i64 {
    let pace = Pace::new(requests_per_minute, Vec::new(), Timestamp::default());
    crate::engine::schedule::poll::longest_ms(targets, pace.background_every_ms())
}
