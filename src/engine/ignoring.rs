//! The items that the user keeps out of the mirror: which rules are in force, and how they show the folder to each part
//! of the engine. [`crate::model::IgnoreRules`] defines the patterns.
//!
//! A mirrored file that is ignored now is shown as it was known, whatever is at its path. A new one is shown as an item
//! that is not ours, and blocks its name. So no ignored item is read, sent, or missed. New rules are in force at once.
//! Removed ones stay in force until the file of patterns has been unchanged for the grace time, because an editor
//! empties a file, or renames it away, in the middle of a save.

use std::collections::{BTreeMap, BTreeSet};

use super::attention::Needs;
use super::trees::Trees;
use super::{Engine, on_core};
use crate::core::ItemKey;
use crate::model::{
    Code, Entry, EntryKind, FileObject, IGNORE_FILE, IgnoreFile, IgnoreRules, LocalFile, MirrorPath, Node,
    PageId, Scan, Stamp, Timestamp,
};
use crate::store::{APART, DOWN, IGNORED, Store, StoreError, TOO_LARGE};

/// Key in the state of the rules in force, as JSON.
const KEY: &str = "ignoring";

/// The rules in force.
#[derive(Debug, Default)]
pub(super) struct Ignoring {
    /// From the present file.
    rules: IgnoreRules,
    /// From former versions of the file, with the time of their replacement. They stay in force for the grace time, and
    /// while the file has a line that is no pattern.
    former: Vec<(IgnoreRules, Timestamp)>,
    /// Why the file, or a line of it, has no effect, and the remedy.
    trouble: Option<(String, &'static str)>,
    /// A scan of this run has been applied.
    is_begun: bool,
    /// The stored list of items that rest because of the rules.
    written: String,
    /// The stored list of workspaces that are mirrored down only.
    down: String,
    /// Pages that rest because of the rules, by their last decision.
    pub(super) pages: BTreeSet<PageId>,
}

/// The item that is mirrored at a path.
pub(super) enum Mirrored {
    Page(PageId),
    Item(ItemKey),
}

impl Ignoring {
    /// Whether the item at `path` is ignored.
    pub(super) fn ignores(&self, path: &MirrorPath, is_folder: bool) -> bool {
        self.all().any(|rules| rules.ignores(path, is_folder))
    }

    /// Whether a file at `path` is ignored.
    pub(super) fn ignores_file(&self, path: &MirrorPath) -> bool {
        self.ignores(path, false)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all().all(IgnoreRules::is_empty)
    }

    /// Whether the rules are about to change by time alone.
    pub(super) fn is_changing(&self) -> bool {
        !self.former.is_empty() && self.trouble.is_none()
    }

    /// All rules in force.
    fn all(&self) -> impl Iterator<Item = &IgnoreRules> {
        [&self.rules].into_iter().chain(self.former.iter().map(|(rules, _)| rules))
    }

    /// Loads the rules that were in force in an earlier run. Returns whether there was one.
    fn open(&mut self, store: &Store, now: Timestamp) -> Result<bool, StoreError> {
        let text = store.meta(KEY)?.unwrap_or_default();
        let known: Option<(Vec<String>, Vec<String>)> = serde_json::from_str(&text).unwrap_or_default();
        let Some((config, texts)) = known else { return Ok(false) };
        let mut rules = texts.iter().map(|text| IgnoreRules::new(&config, text));
        self.rules = rules.next().unwrap_or_default();
        self.former = rules.map(|rules| (rules, now)).collect();
        Ok(true)
    }

    /// Applies the file of patterns as it was found at `now`. Returns when the rules may change by time alone.
    /// `is_first`: no run has seen the file before.
    fn take(
        &mut self,
        config: &[String],
        file: &IgnoreFile,
        (clock, now, grace_ms): (Timestamp, Timestamp, i64),
        is_first: bool,
    ) -> Option<Timestamp> {
        self.trouble = None;
        let was = self.rules.sources().1.to_owned();
        let (text, stamp) = match file {
            IgnoreFile::Absent => ("", None),
            IgnoreFile::Text(text, stamp) => (text.as_str(), Some(stamp)),
            IgnoreFile::Unreadable(why) => {
                let reason = format!("it cannot be read: {why}; the earlier rules stay in force");
                self.trouble = Some((reason, "make it a readable text file"));
                (was.as_str(), None)
            }
        };
        for (rules, _) in self.former.iter_mut().filter(|(rules, _)| rules.sources().0 != config) {
            *rules = IgnoreRules::new(config, rules.sources().1);
        }
        if self.rules.sources() != (config, text) {
            if was != text && !is_first {
                self.former.push((IgnoreRules::new(config, &was), now));
            }
            self.rules = IgnoreRules::new(config, text);
        }
        self.former.retain(|(rules, _)| rules.sources().1 != text);
        if let Some(bad) = self.rules.bad().first().filter(|_| self.trouble.is_none()) {
            let others = match self.rules.bad().len() - 1 {
                0 => String::new(),
                1 => ", and one other line is not a pattern either".to_owned(),
                more => format!(", and {more} other lines are not patterns either"),
            };
            let reason = format!(
                "line {} is not a pattern: {}{others}; the other lines count, and the earlier rules stay in force",
                bad.line, bad.why
            );
            self.trouble = Some((reason, "fix the line"));
        }
        // A change long before this run is not the middle of a save.
        let has_rested = stamp.is_some_and(|stamp| !self.is_begun && stamp.rested_ms(clock) >= grace_ms);
        self.is_begun = true;
        let is_good = self.trouble.is_none();
        if is_good {
            self.former.retain(|(_, gone)| !has_rested && now.since_ms(*gone) < grace_ms);
        } else {
            self.former.iter_mut().for_each(|(_, gone)| *gone = now);
        }
        let ends = self.former.iter().map(|(_, gone)| gone.plus_ms(grace_ms));
        ends.min().filter(|_| is_good)
    }

    /// The rules as the next run needs them.
    fn as_json(&self) -> String {
        let texts: Vec<&str> = self.all().map(|rules| rules.sources().1).collect();
        serde_json::json!((self.rules.sources().0, texts)).to_string()
    }
}

impl Engine {
    /// Applies the rules of a scan. Returns the scan as it is shown under them.
    pub(super) fn under_rules(&mut self, scan: Scan) -> Result<Scan, StoreError> {
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
    pub(super) fn note_apart(&mut self) {
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
    pub(super) fn let_go_unseen(&mut self, scan: &Scan, returns: &dyn Fn(&MirrorPath) -> bool) {
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
    pub(super) fn mirrored(&self) -> impl Iterator<Item = (MirrorPath, Stamp, Mirrored)> {
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
    pub(super) fn is_page_ignored(&mut self, node: &Node) -> bool {
        let ignoring = &self.ignoring;
        let here = || node.file.as_ref().or(node.base.as_ref().map(|base| &base.path));
        let is_ignored = !ignoring.is_empty()
            && (here().is_some_and(|path| ignoring.ignores_file(path))
                || self.layout().belongs(node).is_some_and(|path| ignoring.ignores_file(&path)));
        self.note_ignored(&node.id, is_ignored);
        is_ignored
    }

    /// Reports what is wrong with the file of patterns.
    pub(super) fn needs_of_ignoring(&self, needs: &mut Needs) {
        if let Some((reason, mend)) = &self.ignoring.trouble {
            needs.tell(Code::BadPattern, IGNORE_FILE, reason, mend);
        }
    }
}
