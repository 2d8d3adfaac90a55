//! When what was taken in is written down, and when a power cut may not take it back any more.

use super::Engine;
use crate::store::StoreError;

/// How many looks at files are committed together at most: a checkout that rewrote thousands is no fsync for each.
const LOOKS_A_COMMIT: u32 = 200;

impl Engine {
    /// Makes what was taken in durable. [`Engine::next_effect`] does so by itself; this is for a driver that stops.
    ///
    /// # Errors
    /// [`StoreError`] as [`Engine::handle`].
    pub fn commit(&mut self) -> Result<(), StoreError> {
        self.commit_as(true)
    }

    /// Makes what was taken in outlive a kill, and where it `lasts` a power cut, too: before an effect that changes something
    /// leaves, and at rest. Before a look, and while an answer is waited for, it need not.
    pub(super) fn commit_as(&mut self, lasts: bool) -> Result<(), StoreError> {
        self.looks_held = 0;
        self.more_held = false;
        self.tell_all()?;
        self.write_all_rows()?;
        self.conflicts_follow_files()?;
        if lasts { self.store.commit() } else { self.store.commit_for_a_look() }
    }

    /// Whether nothing but looks at files is to be committed, and few of them: they are made durable together. A kill
    /// loses what was seen, which is seen again; no effect has left that rests on it.
    pub(super) fn may_wait(&self) -> bool {
        !self.more_held && self.looks_held < LOOKS_A_COMMIT
    }
}
