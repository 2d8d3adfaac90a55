//! The limiter and the poll schedule by themselves, for whoever plays them in virtual time (`benches/polling`) or asks them
//! what comes next. No state of its own.

pub use super::pace::{Class, Pace, SLOWED_MS};
pub use super::poll::{changed, forecast, fresh, neighbours, next, rests, score, stirred, unchanged};
pub use super::watch::{Belief, Common, Mark, Noticed, Turn, Watch, noticed};
pub use super::watched::{BELIEF, DELAYS};
