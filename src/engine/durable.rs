//! When what was taken in is written down, and when a power cut may not take it back any more.

use super::Engine;
use crate::model::Timestamp;
use crate::store::StoreError;

/// How many looks are committed together at most: a checkout that rewrote thousands is no fsync for each, and a first mirror no
/// commit for each page that came.
const LOOKS_A_COMMIT: u32 = 200;
/// For so long at most a look is not committed while others are under way: commands read what is.
const HELD_MS: i64 = 1_000;

/// What was taken in since the last commit.
#[derive(Debug, Default)]
pub(super) struct Uncommitted {
    /// Answered looks at files.
    pub(super) observations_held: u32,
    pub(super) held_since: Option<Timestamp>,
    /// Whether there is anything else.
    pub(super) more_held: bool,
}

impl Engine {
    /// Makes what was taken in durable. [`Engine::next_effect`] does so by itself; this is for a driver that stops.
    ///
    /// # Errors
    /// [`StoreError`] as [`Engine::handle`].
    pub fn commit(&mut self) -> Result<(), StoreError> {
        self.commit_as(true)?;
        self.cx.store.write_times()?;
        self.cx.store.commit()
    }

    /// Makes what was taken in outlive a kill, and where it `lasts` a power cut, too: before an effect that changes something
    /// leaves, and at rest. Before a look, and while an answer is waited for, it need not.
    pub(super) fn commit_as(&mut self, lasts: bool) -> Result<(), StoreError> {
        self.uncommitted.observations_held = 0;
        self.uncommitted.held_since = None;
        self.uncommitted.more_held = false;
        self.apply_all_batches()?;
        self.pages.trees.write_all_rows(&mut self.cx)?;
        self.cx.conflicts_follow_files()?;
        if lasts { self.cx.store.commit() } else { self.cx.store.commit_for_a_look() }
    }
}

impl Uncommitted {
    /// Whether nothing but looks is to be committed, and few of them: they are made durable together. A kill loses what was
    /// seen, which is seen again; no effect has left that rests on it.
    pub(super) fn may_wait(&self, now: Timestamp) -> bool {
        !self.more_held
            && self.observations_held < LOOKS_A_COMMIT
            && self.held_until().is_none_or(|until| now < until)
    }

    /// A look has been answered.
    pub(super) fn hold_observation(&mut self, now: Timestamp) {
        self.observations_held += 1;
        self.held_since = self.held_since.or(Some(now));
    }

    /// When the looks that are held are committed at the latest.
    pub(super) fn held_until(&self) -> Option<Timestamp> {
        self.held_since.map(|since| since.plus_ms(HELD_MS))
    }
}
