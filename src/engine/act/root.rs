//! When another folder, or an older copy of it, is accepted as the one that was mirrored.

use crate::core::items::Verb;
use crate::engine::act::create;
use crate::engine::on_core;
use crate::engine::state::Engine;
use crate::model::Attention;
use crate::store::StoreError;

impl Engine {
    /// Accepts another root if nothing is missing in it. Otherwise it stays in doubt, also in the next run.
    pub(crate) fn settle_root(&mut self) -> Result<(), StoreError> {
        let may_settle = self.folder.root.changed && self.folder.watch.is_quiet(self.cx.now);
        let lacks =
            || self.pages.trees.is_page_missing(&self.cx.settings) || on_core::is_core_item_missing(self);
        if may_settle && !lacks() {
            self.folder.root.accept(&mut self.cx);
        }
        self.end_older_folder()
    }

    /// Ends the hold of an older copy of the folder once nothing older is in it: the user has restored what was newer.
    pub(crate) fn end_older_folder(&mut self) -> Result<(), StoreError> {
        let Some(since) = self.pages.retention.folder_is_old else { return Ok(()) };
        let is_decided = self.pages.dirty.is_empty() && !self.pages.all_dirty && self.pages.batch.is_over();
        if !is_decided
            || !self.folder.root.is_ready()
            || !self.folder.watch.is_quiet(self.cx.now)
            || self.pages.trees.is_page_missing(&self.cx.settings)
            || on_core::is_core_item_missing(self)
            || create::waiting(&self.pages, &self.folder, &self.cx) > 0
            || on_core::core_is_in_doubt(self)
        {
            return Ok(());
        }
        for page in self.pages.request_queue.writes(Verb::Write) {
            let text = self.pages.trees.pages.get(page).and_then(|node| self.pages.trees.file_of(node)?.hash);
            if let Some(text) = text
                && self.cx.store.has_held(page, text, since)?
            {
                return Ok(());
            }
        }
        self.pages.retention.take_folder_as_it_is(&mut self.cx);
        self.cx.store.drop_notice(&Attention::older_folder());
        self.pages.mark_all_dirty();
        Ok(())
    }
}
