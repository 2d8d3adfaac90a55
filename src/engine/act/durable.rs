//! When observations are committed, and when they are synced against a power cut.

use crate::engine::state::{Engine, Pages, Purpose};
use crate::store::{ENDED_WELL, RUNS, RUNS_MEANT, StoreError};

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
    pub(crate) fn commit(&mut self) -> Result<(), StoreError> {
        let done = self.commit_as(true).and_then(|()| self.cx.store.write_times());
        done.map_err(|error| self.cx.store.first_error(error))?;
        self.cx.store.commit()
    }

    /// Commits what was received, so that it survives a kill, and with `lasts` also a power cut. The latter is needed
    /// before an effect that changes something leaves, and at rest, but not before one that only observes, or while an
    /// answer is awaited.
    pub(crate) fn commit_as(&mut self, lasts: bool) -> Result<(), StoreError> {
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
pub(crate) fn awaits_commit(pages: &Pages) -> bool {
    !pages.fresh.is_empty()
}

/// Whether an effect is the first write of a page's file. What it holds was committed before, and the file names its page: after a
/// kill, the next scan finds it and the engine adopts it. So it needs no commit before it, and a first mirror has no commit for
/// each page.
pub(crate) fn is_first_write(purpose: &Purpose, pages: &Pages) -> bool {
    let Purpose::Write { page, written, .. } = purpose else { return false };
    written.new
        && !pages.fresh.contains(page)
        && pages.trees.pages.get(page).is_some_and(|node| node.base.is_none())
}
