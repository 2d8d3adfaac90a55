//! The list of conflicts follows the files. A conflict stays the same if its copy was moved, with its folder or alone,
//! or if its page, whiteboard or slide has another path.

use std::collections::BTreeMap;

use crate::engine::state::{Choice, Context, Pages, Purpose, Trees, Way};
use crate::model::{ContentHash, Effect, Entry, EntryKind, Expect, FileRead, MirrorPath, PageId, Scan};
use crate::plan::naming;
use crate::store::{Conflict, StoreError};

impl Trees {
    pub(crate) fn record_conflict(
        &mut self,
        copy: &MirrorPath,
        beside: &MirrorPath,
        text: ContentHash,
        summary: String,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        cx.conflicts_follow_files()?;
        self.occupy(copy.clone());
        let conflict = Conflict {
            path: copy.clone(),
            page_path: beside.clone(),
            made_at: cx.now,
            summary: summary.clone(),
            text,
        };
        cx.store.save_conflict(&conflict);
        cx.log_activity(Way::Aside, beside, format!("conflict: your version is kept in {}", copy.name()));
        Ok(())
    }
}

impl Context {
    /// Changes the paths of pages and canvases in the list of conflicts to the present ones.
    pub(crate) fn conflicts_follow_files(&mut self) -> Result<(), StoreError> {
        let moved = std::mem::take(&mut self.conflicts.moved);
        let moved: BTreeMap<MirrorPath, MirrorPath> = moved.into_values().collect();
        if moved.is_empty() {
            return Ok(());
        }
        for conflict in self.store.conflicts()? {
            if let Some(to) = moved.get(&conflict.page_path) {
                self.store.save_conflict(&Conflict { page_path: to.clone(), ..conflict });
            }
        }
        Ok(())
    }

    fn copy_moved(&mut self, conflict: Conflict, to: MirrorPath) {
        self.store.delete_conflict(&conflict.path);
        self.store.save_conflict(&Conflict { path: to, ..conflict });
    }
}

impl Pages {
    /// Follows copies that a scan shows elsewhere by their names, which contain the second of their creation. Drops conflicts
    /// whose copies the user removed.
    pub(crate) fn conflicts_scanned(&mut self, scan: &Scan, cx: &mut Context) -> Result<(), StoreError> {
        cx.conflicts_follow_files()?;
        let all = cx.store.conflicts()?;
        // Entries are in the order of their paths.
        let entry_at = |path: &MirrorPath| {
            let at = scan.entries.binary_search_by(|entry| entry.path.cmp(path)).ok()?;
            scan.entries.get(at)
        };
        let (there, gone): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|conflict| entry_at(&conflict.path).is_some());
        let is_copy = |entry: &&Entry| {
            entry.kind == EntryKind::File
                && naming::is_conflict_copy(entry.path.name())
                && there.iter().all(|conflict| conflict.path != entry.path)
        };
        let mut strays: Vec<&Entry> = match gone.is_empty() {
            true => Vec::new(),
            false => scan.entries.iter().filter(is_copy).collect(),
        };
        for conflict in gone {
            let at = strays.iter().position(|entry| entry.path.name() == conflict.path.name());
            if let Some(entry) = at.map(|at| strays.remove(at)) {
                cx.copy_moved(conflict, entry.path.clone());
                continue;
            }
            // The page's file still has the text of the copy, and the page does not: the copy is needed once more (`splice`).
            let file = self.trees.files.get(&conflict.page_path);
            let agreed = file.and_then(|file| self.trees.pages.get(file.page.as_ref()?)?.base.as_ref()?.text);
            let text = file.and_then(|file| file.hash).filter(|hash| agreed != Some(*hash));
            if !scan.covers(&conflict.path) && text != Some(conflict.text) {
                self.drop_conflict(&conflict, cx);
            }
        }
        Ok(())
    }

    /// Drops a conflict whose copy went to the mirror's trash because the conflict is settled.
    pub(crate) fn copy_put_away(&mut self, copy: &MirrorPath, cx: &mut Context) -> Result<(), StoreError> {
        cx.conflicts_follow_files()?;
        let settled = cx.store.conflicts()?.into_iter().find(|conflict| conflict.path == *copy);
        if let Some(conflict) = settled {
            self.drop_conflict(&conflict, cx);
        }
        Ok(())
    }

    fn drop_conflict(&mut self, conflict: &Conflict, cx: &mut Context) {
        cx.store.delete_conflict(&conflict.path);
        cx.conflicts.settled_in.extend(conflict.path.parent());
        // If a user saves the same text again over other words, it is copied again.
        for runtime in
            self.runtimes.values_mut().filter(|runtime| runtime.copied.as_deref() == Some(&conflict.text))
        {
            runtime.copied = None;
        }
        cx.log_activity(Way::Aside, &conflict.page_path, "conflict settled: its copy was removed");
    }
}

impl Trees {
    /// Makes a conflict copy of exactly this text again, if the user removed it while the page's file still had the
    /// text: the file is about to lose it.
    pub(crate) fn lost_copy_of(
        &self,
        look: &FileRead,
        hash: ContentHash,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        let made = cx.store.conflicts()?.into_iter().find(|conflict| {
            conflict.text == hash
                && conflict.page_path == look.path
                && !self.occupied().contains(&conflict.path)
        });
        let page = self.files.get(&look.path).and_then(|file| file.page.clone());
        let (Some(conflict), Some(page)) = (made, page) else { return Ok(None) };
        cx.store.delete_conflict(&conflict.path);
        Ok(self.copy_of(&page, &look.path, look, conflict.summary, cx))
    }

    pub(crate) fn copy_of(
        &self,
        page: &PageId,
        path: &MirrorPath,
        look: &FileRead,
        summary: String,
        cx: &Context,
    ) -> Choice {
        let copy = self.conflict_path(path, cx)?;
        let text = ContentHash::of(&look.bytes);
        let effect =
            Effect::WriteFile { path: copy.clone(), bytes: look.bytes.clone(), expect: Expect::Absent };
        Some((effect, Purpose::WriteCopy { page: page.clone(), copy, beside: path.clone(), text, summary }))
    }
}
