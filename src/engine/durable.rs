//! When observations are committed, and when they are synced against a power cut.

use super::Engine;
use super::flight::Purpose;
use super::pages::Pages;
use crate::model::Timestamp;
use crate::store::{ENDED_WELL, RUNS, RUNS_MEANT, StoreError};

/// The most observations in one commit. A checkout that rewrote thousands of files costs no fsync for each of them, and
/// a first mirror costs no commit for each page.
const LOOKS_A_COMMIT: u32 = 200;
/// The longest time that an observation is not committed while others are under way: commands read the committed state.
const HELD_MS: i64 = 1_000;

/// What was received since the last commit.
#[derive(Debug, Default)]
pub(super) struct Uncommitted {
    /// Answers to effects that only observe.
    pub(super) observations_held: u32,
    pub(super) held_since: Option<Timestamp>,
    /// Whether other answers came.
    pub(super) more_held: bool,
}

impl Engine {
    /// Makes everything that was received durable, for a driver that stops: the run has ended well.
    ///
    /// # Errors
    /// [`StoreError`] as [`Engine::handle`].
    pub fn end(&mut self) -> Result<(), StoreError> {
        self.cx.store.set_meta(ENDED_WELL, "yes");
        self.commit()
    }

    /// Records durably that the folder will have this count next, or that it has it.
    ///
    /// # Errors
    /// [`StoreError`] as [`Engine::handle`].
    pub fn note_count(&mut self, count: u64, is_noted: bool) -> Result<(), StoreError> {
        self.cx.store.set_meta(if is_noted { RUNS } else { RUNS_MEANT }, &count.to_string());
        // What a scan found is committed whole: the last batch of it commits the count, too.
        if is_noted && self.identity_batches.is_under_way() { Ok(()) } else { self.commit() }
    }

    /// Makes everything that was received durable. [`Engine::next_effect`] does so by itself.
    pub(super) fn commit(&mut self) -> Result<(), StoreError> {
        let done = self.commit_as(true).and_then(|()| self.cx.store.write_times());
        done.map_err(|error| self.cx.store.first_error(error))?;
        self.cx.store.commit()
    }

    /// Commits what was received, so that it survives a kill, and with `lasts` also a power cut. The latter is needed
    /// before an effect that changes something leaves, and at rest, but not before one that only observes, or while an
    /// answer is awaited.
    pub(super) fn commit_as(&mut self, lasts: bool) -> Result<(), StoreError> {
        let lasts = lasts || awaits_commit(&self.pages);
        self.uncommitted.observations_held = 0;
        self.uncommitted.held_since = None;
        self.uncommitted.more_held = false;
        self.apply_all_batches()?;
        self.pages.trees.write_all_rows(&mut self.cx);
        self.cx.conflicts_follow_files()?;
        if !lasts {
            return self.cx.store.commit_for_a_look();
        }
        self.cx.store.commit()?;
        if !self.pages.fresh.is_empty() {
            self.pages.dirty.append(&mut self.pages.fresh);
            self.pages.batch.stir();
        }
        Ok(())
    }
}

/// Whether first writes wait until what they rest on is committed, that of many together.
pub(super) fn awaits_commit(pages: &Pages) -> bool {
    !pages.fresh.is_empty()
}

/// Whether an effect is the first write of a page's file. What it holds was committed before, and the file names its page: after a
/// kill, the next scan finds it and the engine adopts it. So it needs no commit before it, and a first mirror has no commit for
/// each page.
pub(super) fn is_first_write(purpose: &Purpose, pages: &Pages) -> bool {
    let Purpose::Write { page, written, .. } = purpose else { return false };
    written.new
        && !pages.fresh.contains(page)
        && pages.trees.pages.get(page).is_some_and(|node| node.base.is_none())
}

impl Uncommitted {
    /// Whether only few observations are to be committed: they are made durable together. A kill loses observations,
    /// which are made again; no effect that rests on them has left.
    pub(super) fn may_wait(&self, now: Timestamp) -> bool {
        !self.more_held
            && self.observations_held < LOOKS_A_COMMIT
            && self.held_until().is_none_or(|until| now < until)
    }

    /// Counts an answered observation.
    pub(super) fn hold_observation(&mut self, now: Timestamp) {
        self.observations_held += 1;
        self.held_since = self.held_since.or(Some(now));
    }

    /// The latest time at which the held observations are committed.
    pub(super) fn held_until(&self) -> Option<Timestamp> {
        self.held_since.map(|since| since.plus_ms(HELD_MS))
    }
}
