//! What users say about lines of a file that were read as formatting.

use crate::engine::content::faults::or_hold;
use crate::engine::state::trees::in_base;
use crate::engine::state::{AttentionList, Context, Engine, Pages};
use crate::model::{Attention, Blocks, Body, Code, ContentHash, FileRead, MirrorPath, PageId, Side};
use crate::store::StoreError;

impl Engine {
    /// Ends the messages about a file as it was. New ones come when the file is read, even if its bytes are the same.
    pub(crate) fn end_differences(&mut self, path: &MirrorPath) -> Result<(), StoreError> {
        let is_one = |item: &Attention| item.code == Code::Difference && item.path == path.as_str();
        if !self.cx.store.notices()?.iter().any(is_one) {
            return Ok(());
        }
        self.cx.store.drop_lasting_notices(path.as_str(), self.cx.now);
        self.attention.untell(&is_one, &mut self.cx)?;
        let page = self.pages.trees.files.get(path).and_then(|file| file.page.clone());
        if let Some(page) = page {
            self.pages.read_anew(&page, &mut self.cx);
        }
        Ok(())
    }

    /// Records which blocks a file stands for, as the user says. The file stays as it is.
    pub(crate) fn take_at_its_word(&mut self, look: &FileRead, blocks: &Blocks) -> Result<(), StoreError> {
        let hash = ContentHash::of(&look.bytes);
        self.cx.store.keep_meaning(hash, Body::json(blocks).as_bytes(), self.cx.now);
        self.end_differences(&look.path)?;
        self.pages.take_in_file(look, &mut self.folder, &mut self.cx)?;
        let Some(page) = self.pages.trees.files.get(&look.path).and_then(|file| file.page.clone()) else {
            return Ok(());
        };
        // The base is not what these bytes say.
        self.pages.read_anew(&page, &mut self.cx);
        let read = self.pages.interpret(&page, look, &mut self.cx);
        or_hold(&mut self.pages, &page, Side::File, read, &mut self.cx)
    }
}

impl AttentionList {
    /// Takes items out of the stored list at once, because it is read before it is made again.
    fn untell(&mut self, is_over: &dyn Fn(&Attention) -> bool, cx: &mut Context) -> Result<(), StoreError> {
        let before = cx.store.attention()?;
        let list: Vec<Attention> = before.iter().filter(|item| !is_over(item)).cloned().collect();
        if list != before {
            cx.store.set_attention(&list, cx.now)?;
            self.forget(is_over);
        }
        Ok(())
    }
}

impl Pages {
    /// Has the file of a page read as if its bytes had never been the base.
    fn read_anew(&mut self, page: &PageId, cx: &mut Context) {
        self.edit_page(page, in_base(|base| base.text = None), cx);
        self.runtime(page).parsed = None;
        self.mark_dirty(page);
    }
}
