//! What a person puts away: notes of what happened, and lines of a file that were taken for formatting.

use super::Engine;
use crate::model::{Attention, Blocks, Body, Code, ContentHash, FileLook, MirrorPath, PageId};
use crate::store::StoreError;

impl Engine {
    /// Puts away what is told of events at these places and beneath them, or everywhere when there is none.
    pub(super) fn dismiss(&mut self, places: &[MirrorPath]) -> Result<(), StoreError> {
        let is_named = |path: &str| {
            places.is_empty()
                || MirrorPath::new(path).is_ok_and(|path| places.iter().any(|place| path.is_within(place)))
        };
        let notices = self.store.notices()?;
        let gone: Vec<Attention> =
            notices.into_iter().filter(|item| item.code.is_event() && is_named(&item.path)).collect();
        for notice in &gone {
            self.store.drop_notice(notice)?;
        }
        self.untell(&|item| gone.contains(item))
    }

    /// Takes items out of the stored list at once: it is read before it is worked out anew.
    fn untell(&mut self, is_over: &dyn Fn(&Attention) -> bool) -> Result<(), StoreError> {
        let before = self.store.attention()?;
        let list: Vec<Attention> = before.iter().filter(|item| !is_over(item)).cloned().collect();
        if list != before {
            self.store.set_attention(&list, self.now)?;
            self.attention.forget(is_over);
        }
        Ok(())
    }

    /// What was told of a file as it was is over: of what it says now it is told when that is read, the same bytes included.
    pub(super) fn end_differences(&mut self, path: &MirrorPath) -> Result<(), StoreError> {
        let is_one = |item: &Attention| item.code == Code::Difference && item.path == path.as_str();
        if !self.store.notices()?.iter().any(is_one) {
            return Ok(());
        }
        self.store.drop_lasting_notices(path.as_str(), self.now)?;
        self.untell(&is_one)?;
        let page = self.trees.files.get(path).and_then(|file| file.page.clone());
        page.map_or(Ok(()), |page| self.read_anew(&page))
    }

    /// Whatever a page's file holds is read as if its bytes had never been agreed on.
    fn read_anew(&mut self, page: &PageId) -> Result<(), StoreError> {
        self.edit_page(page, |node| {
            if let Some(base) = &mut node.base {
                base.text = None;
            }
        })?;
        self.moment(page).reading = None;
        self.wake(page);
        Ok(())
    }

    /// A person says what a file that stays as it is stands for.
    pub(super) fn take_at_its_word(&mut self, look: &FileLook, blocks: &Blocks) -> Result<(), StoreError> {
        let hash = ContentHash::of(&look.bytes);
        self.store.keep_meaning(hash, Body::json(blocks).as_bytes(), self.now)?;
        self.end_differences(&look.path)?;
        self.take_in_file(look)?;
        let Some(page) = self.trees.files.get(&look.path).and_then(|file| file.page.clone()) else {
            return Ok(());
        };
        // What was agreed on is not what these bytes say.
        self.read_anew(&page)?;
        self.interpret(&page, look)
    }
}
