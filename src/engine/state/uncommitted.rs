//! What was received since the last commit.

use crate::model::Timestamp;

/// The most observations in one commit. A checkout that rewrote thousands of files costs no fsync for each of them, and
/// a first mirror costs no commit for each page.
pub(crate) const LOOKS_A_COMMIT: u32 = 200;
/// The longest time that an observation is not committed while others are under way: commands read the committed state.
pub(crate) const HELD_MS: i64 = 1_000;

/// What was received since the last commit.
#[derive(Debug, Default)]
pub(crate) struct Uncommitted {
    /// Answers to effects that only observe.
    pub(crate) observations_held: u32,
    pub(crate) held_since: Option<Timestamp>,
    /// Whether other answers came.
    pub(crate) more_held: bool,
}

impl Uncommitted {
    /// Whether only few observations are to be committed: they are made durable together. A kill loses observations,
    /// which are made again; no effect that rests on them has left.
    pub(crate) fn may_wait(&self, now: Timestamp) -> bool {
        !self.more_held
            && self.observations_held < LOOKS_A_COMMIT
            && self.held_until().is_none_or(|until| now < until)
    }

    /// Counts an answered observation.
    pub(crate) fn hold_observation(&mut self, now: Timestamp) {
        self.observations_held += 1;
        self.held_since = self.held_since.or(Some(now));
    }

    /// The latest time at which the held observations are committed.
    pub(crate) fn held_until(&self) -> Option<Timestamp> {
        self.held_since.map(|since| since.plus_ms(HELD_MS))
    }
}
