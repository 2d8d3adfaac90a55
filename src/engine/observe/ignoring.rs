//! The items that the user keeps out of the mirror: which rules are in force, and how they show the folder to each part
//! of the engine. [`crate::model::IgnoreRules`] defines the patterns.
//!
//! A mirrored file that is ignored now is shown as it was known, whatever is at its path. A new one is shown as an item
//! that is not ours, and blocks its name. So no ignored item is read, sent, or missed. New rules are in force at once.
//! Removed ones stay in force until the file of patterns has been unchanged for the grace time, because an editor
//! empties a file, or renames it away, in the middle of a save.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::ItemKey;
use crate::engine::on_core;
use crate::engine::state::ignoring::KEY;
use crate::engine::state::{Engine, Needs, Trees};
use crate::model::{
    Code, Entry, EntryKind, FileObject, IGNORE_FILE, IgnoreRules, LocalFile, MirrorPath, Node, PageId, Scan,
    Stamp,
};
use crate::store::{APART, DOWN, IGNORED, StoreError, TOO_LARGE};

/// The item that is mirrored at a path.
pub(crate) enum Mirrored {
    Page(PageId),
    Item(ItemKey),
}

impl Engine {
    /// Applies the rules of a scan. Returns the scan as it is shown under them.
    pub(crate) fn under_rules(&mut self, scan: Scan) -> Result<Scan, StoreError> {
        let ignoring = &mut self.pages.trees.ignoring;
        let is_first = !ignoring.is_begun && !ignoring.open(&self.cx.store, self.cx.now)?;
        let (known, before) = (ignoring.as_json(), ignoring.all().cloned().collect::<Vec<_>>());
        let times = (scan.clock, self.cx.now, self.cx.settings.pages.delete_grace_ms);
        if let Some(end) = ignoring.take(&self.cx.settings.ignore, &scan.ignore_file, times, is_first) {
            self.folder.watch.scan_by(end);
        }
        let text = ignoring.as_json();
        if text != known || is_first {
            self.cx.store.set_meta(KEY, &text);
            if !is_first {
                tracing::info!("what is ignored has changed");
            }
            let ignoring = &self.pages.trees.ignoring;
            let now: Vec<IgnoreRules> = ignoring.all().cloned().collect();
            let ignores = |rules: &[IgnoreRules], path: &MirrorPath| {
                rules.iter().any(|rules| rules.ignores(path, false))
            };
            self.let_go_unseen(&scan, &|path| ignores(&before, path) && !ignores(&now, path));
            self.pages.mark_all_dirty();
            self.dashboards.mark_due();
        }
        Ok(self.veiled(scan))
    }

    /// Stores which items rest by the user's wish, for processes that only read the state.
    pub(crate) fn note_apart(&mut self) {
        let ignoring = &self.pages.trees.ignoring;
        let pages = ignoring.pages.iter().map(PageId::as_str);
        let canvases = on_core::core_ignored(self);
        let all = pages.chain(canvases).map(|id| (id, IGNORED));
        let large = on_core::core_too_large(self).map(|id| (id, TOO_LARGE));
        let all: BTreeMap<&str, &str> = all.chain(large).collect();
        let text = serde_json::json!(all).to_string();
        if ignoring.written != text {
            self.cx.store.set_meta(APART, &text);
            self.pages.trees.ignoring.written = text;
        }
        let down = self
            .pages
            .trees
            .workspaces
            .iter()
            .filter(|(id, _)| self.pages.trees.is_down(id, &self.cx.settings));
        let (ids, folders): (Vec<&str>, Vec<&str>) =
            down.map(|(id, node)| (id.as_str(), node.folder.as_str())).unzip();
        let text = serde_json::json!({ "ids": ids, "folders": folders }).to_string();
        if self.pages.trees.ignoring.down != text {
            self.cx.store.set_meta(DOWN, &text);
            self.pages.trees.ignoring.down = text;
        }
    }

    /// Releases items that disappeared from where nothing was looked at, and is again: they were not deleted, and come back.
    pub(crate) fn let_go_unseen(&mut self, scan: &Scan, returns: &dyn Fn(&MirrorPath) -> bool) {
        let is_there = |path: &MirrorPath| {
            scan.entries.binary_search_by(|entry| entry.path.cmp(path)).is_ok() || scan.covers(path)
        };
        let gone = self.mirrored().filter(|(path, ..)| returns(path) && !is_there(path));
        let gone: Vec<(MirrorPath, Stamp, Mirrored)> = gone.collect();
        if gone.is_empty() {
            return;
        }
        // A file with another name now is still the same file.
        let objects: BTreeSet<FileObject> = scan.entries.iter().map(|entry| entry.stamp.object()).collect();
        for (path, _, item) in gone.into_iter().filter(|(_, stamp, _)| !objects.contains(&stamp.object())) {
            match item {
                Mirrored::Page(page) => {
                    self.pages.trees.forget_file(&path, &mut self.folder.watch, &mut self.cx);
                    self.pages.edit_page(&page, |node| node.file = None, &mut self.cx);
                    self.pages.bring_back(&page, &mut self.cx);
                }
                Mirrored::Item(key) => on_core::let_go_core_item(self, key),
            }
        }
    }

    /// Every mirrored file: its known path, its known stamp and its item.
    pub(crate) fn mirrored(&self) -> impl Iterator<Item = (MirrorPath, Stamp, Mirrored)> {
        let pages = self.pages.trees.files.values();
        let pages = pages.filter_map(|file: &LocalFile| {
            Some((file.path.clone(), file.stamp, Mirrored::Page(file.page.clone()?)))
        });
        let items = on_core::core_files(self).map(|(path, stamp, key)| (path, stamp, Mirrored::Item(key)));
        pages.chain(items)
    }

    /// The scan as it is shown to each part of the engine.
    fn veiled(&self, mut scan: Scan) -> Scan {
        let ignoring = &self.pages.trees.ignoring;
        if ignoring.is_empty() {
            return scan;
        }
        let known = self.mirrored().map(|(path, stamp, _)| (path, stamp));
        let asked =
            self.pages.creations.drafts().filter_map(|draft| Some((draft.path.clone(), draft.stamp?)));
        let known: BTreeMap<MirrorPath, Stamp> =
            known.chain(asked).filter(|(path, _)| ignoring.ignores_file(path)).collect();
        let is_ignored = |entry: &Entry| ignoring.ignores(&entry.path, entry.kind == EntryKind::Folder);
        let (ignored, mut entries): (Vec<Entry>, Vec<Entry>) = scan.entries.into_iter().partition(is_ignored);
        let there: BTreeSet<&MirrorPath> = ignored.iter().map(|entry| &entry.path).collect();
        let outside: BTreeSet<FileObject> = entries.iter().map(|entry| entry.stamp.object()).collect();
        // A file that was moved out of an ignored place is seen where it is now.
        let moved_out =
            |path: &MirrorPath, stamp: &Stamp| !there.contains(path) && outside.contains(&stamp.object());
        let stay = known.iter().filter(|(path, stamp)| !moved_out(path, stamp));
        let stay =
            stay.map(|(path, stamp)| Entry { path: path.clone(), kind: EntryKind::File, stamp: *stamp });
        let stay: Vec<Entry> = stay.collect();
        for entry in ignored.into_iter().filter(|entry| !known.contains_key(&entry.path)) {
            let kind = if entry.kind == EntryKind::Folder { EntryKind::Folder } else { EntryKind::Other };
            entries.push(Entry { kind, ..entry });
        }
        entries.extend(stay);
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        scan.entries = entries;
        scan.unreadable.retain(|item| !ignoring.ignores(&item.path, true));
        scan
    }
}

impl Trees {
    /// Whether a page rests because its file, or the place where the file belongs, is ignored. Notes it.
    pub(crate) fn is_page_ignored(&mut self, node: &Node) -> bool {
        let ignoring = &self.ignoring;
        let here = || node.file.as_ref().or(node.base.as_ref().map(|base| &base.path));
        let is_ignored = !ignoring.is_empty()
            && (here().is_some_and(|path| ignoring.ignores_file(path))
                || self.layout().belongs(node).is_some_and(|path| ignoring.ignores_file(&path)));
        self.note_ignored(&node.id, is_ignored);
        is_ignored
    }

    /// Reports what is wrong with the file of patterns.
    pub(crate) fn needs_of_ignoring(&self, needs: &mut Needs) {
        if let Some((reason, mend)) = &self.ignoring.trouble {
            needs.tell(Code::BadPattern, IGNORE_FILE, reason, mend);
        }
    }
}
