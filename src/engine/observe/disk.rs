//! The local tree: scans, reads, and which file is which page. Hints only request a scan; a scan is the evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use crate::engine::content::faults::or_hold;
use crate::engine::content::unsendable::Body;
use crate::engine::content::writers;
use crate::engine::observe::barrier::find_in_the_way;
use crate::engine::observe::{off, workspaces};
use crate::engine::on_core;
use crate::engine::state::folder::SCAN_AT_LATEST_MS;
use crate::engine::state::zip_sorted::zip_sorted;
use crate::engine::state::{Context, Engine, Flight, Folder, Pages, Root, Trees, Watching, named};
use crate::markdown::front_matter::{self, BadFrontMatter, FrontMatter};
use crate::model::{
    ContentHash, DiskError, Entry, EntryKind, Fault, FileRead, Hides, LocalFile, MirrorPath, Node, PageId,
    Problem, RootState, Scan, Side, Stamp, Timestamp, Unreadable, guarded,
};
use crate::store::StoreError;

/// A complete scan even without a hint.
const SCAN_EVERY_MS: i64 = 300_000;
/// The wait after a root that could not be used.
const ROOT_RETRY_MS: i64 = 10_000;
/// A clock that differs by more has been set.
const CLOCK_STEP_MS: i64 = 1_000;
/// A new file may still be empty because its editor has only just made it.
const NEW_EMPTY_MS: i64 = 2_000;

impl Engine {
    pub(crate) fn scan_done(&mut self, flight: &Flight, scan: Scan) -> Result<(), StoreError> {
        self.folder.watch.scan_due = self.cx.now.plus_ms(SCAN_EVERY_MS);
        // Also in the same millisecond: the hint may have come after the scan left.
        let is_outdated = self.folder.watch.asked >= flight.sent_at;
        self.folder.watch.hinted_since = is_outdated.then_some(self.folder.watch.asked);
        if is_outdated {
            self.folder.watch.scan_due = self.cx.now.plus_ms(self.cx.settings.pages.settle_ms);
        } else if self.folder.watch.stirred >= flight.sent_at {
            self.folder.watch.scan_due = self.cx.now.plus_ms(SCAN_AT_LATEST_MS);
        }
        self.folder.root.lacks_marker = scan.root == RootState::NoMarker;
        if scan.root != RootState::Ready {
            self.folder.root.state = Some(Err(root_problem(&scan.root)));
            self.folder.watch.scan_due = self.cx.now.plus_ms(ROOT_RETRY_MS);
            return Ok(());
        }
        let is_first = self.folder.root.state.as_ref().is_none_or(Result::is_err);
        if is_first {
            self.pages.mark_all_dirty();
        }
        self.folder.root.state = Some(Ok(()));
        self.folder.watch.scanned = flight.sent_at;
        if self.folder.root.identity != Some(scan.root_identity) {
            self.folder.root.changed |= self.folder.root.identity.is_some();
            self.folder.root.identity = Some(scan.root_identity);
            if !self.folder.root.changed {
                self.folder.root.accept(&mut self.cx);
            }
        }
        if is_first {
            self.finish_rename(&scan)?;
        }
        workspaces::follow(self, &scan);
        let mut scan = scan;
        find_in_the_way(self, &mut scan);
        let scan = self.under_rules(scan)?;
        off::take_scan(self, &scan)?;
        self.folder.root.take_in_unreadable(&scan, flight.sent_at, &mut self.cx);
        let page_files = self.pages.trees.take_in_names(&scan);
        // A smaller difference is the time that the scan waited for its turn.
        let ahead_ms = scan.clock.since_ms(flight.sent_at);
        self.folder.watch.clock_ahead_ms = if ahead_ms.abs() < CLOCK_STEP_MS { 0 } else { ahead_ms };
        self.pages.take_in_signs_of_life(&self.folder.watch);
        let new = self.pages.trees.take_in_stamps(&page_files, scan.clock, &mut self.folder.watch, &self.cx);
        self.folder.watch.identities_due = true;
        self.folder.watch.scan_stale = self.folder.watch.doubt_renames(new, self.cx.now);
        self.identify_if_ready()?;
        self.batches_applied(scan, flight.sent_at)
    }

    /// Applies a scan to everything but pages, after its page files have been identified.
    pub(crate) fn scan_resolved(&mut self, scan: &Scan, sent_at: Timestamp) -> Result<(), StoreError> {
        self.pages.mark_waiting_dirty();
        self.folder.watch.scan_by(self.pages.next_grace_end(&self.folder, &self.cx));
        self.dashboards.scanned(scan, &mut self.cx);
        on_core::core_scanned(self, scan, sent_at)?;
        self.pages.conflicts_scanned(scan, &mut self.cx)
    }

    pub(crate) fn read_done(
        &mut self,
        path: &MirrorPath,
        result: Result<FileRead, DiskError>,
        asked_at: Timestamp,
    ) -> Result<(), StoreError> {
        if let Ok(look) = &result
            && writers::waits(look, &self.pages.trees, &mut self.folder.watch, &self.cx)?
        {
            return Ok(());
        }
        let is_targeted = self.folder.watch.targeted_reads.contains(path);
        if is_targeted && self.folder.tells_too_little(&result, &self.pages.trees) {
            self.folder.watch.targeted_reads.remove(path);
            self.folder.watch.scan_by(self.cx.now);
            return Ok(());
        }
        match result {
            Ok(look) => {
                if !self.folder.watch.read_targeted_again(path, asked_at, self.cx.settings.pages.settle_ms) {
                    self.folder.watch.unread.remove(path);
                    self.folder.watch.targeted_reads.remove(path);
                    self.folder.watch.touched.remove(path);
                }
                if is_targeted {
                    self.pages.take_in_targeted_read(&look, &mut self.folder, &mut self.cx)?;
                } else {
                    self.pages.take_in_file(&look, &mut self.folder, &mut self.cx)?;
                }
            }
            Err(DiskError::Missing(_)) => {
                self.folder.watch.forget(path);
                self.folder.watch.scan_by(self.cx.now);
                self.folder.watch.scan_stale |= self.pages.trees.was_passing(path, &self.folder.watch);
            }
            Err(DiskError::Changed(_)) => {
                let now = self.cx.now;
                // A targeted read stays one: nothing was seen of the file.
                self.folder.watch.touch(path.clone(), now);
                self.folder
                    .watch
                    .unread
                    .insert(path.clone(), self.cx.now.plus_ms(self.cx.settings.pages.settle_ms));
            }
            // The file stays in `unread`: nothing was learned about it.
            Err(error @ DiskError::RootNotReady(_)) => {
                self.folder.disk_failed(path, &error, &mut self.pages.trees, self.cx.now)
            }
            Err(error) => {
                self.folder.watch.forget(path);
                self.pages.take_in_problem(path, Problem::Unread(error.to_string()), &mut self.folder);
            }
        }
        self.identify_if_ready()
    }
}

impl Root {
    /// Accepts the root as the right one: items that are missing in it from now on were deleted.
    pub(crate) fn accept(&mut self, cx: &mut Context) {
        self.changed = false;
        if let Some((device, inode)) = self.identity {
            cx.store.set_meta("root_identity", &format!("{device} {inode}"));
        }
    }
}

impl Trees {
    /// Schedules reads of files with new stamps for when they have settled. Known files without an entry are missing.
    fn take_in_stamps(
        &mut self,
        page_files: &[&Entry],
        looked_at: Timestamp,
        watch: &mut Watching,
        cx: &Context,
    ) -> BTreeSet<MirrorPath> {
        let settle_ms = cx.settings.pages.settle_ms;
        let mut new = BTreeSet::new();
        let (mut seen, mut copies) = (Vec::with_capacity(page_files.len()), Vec::new());
        let by_path = |file: &&LocalFile, entry: &&&Entry| file.path.cmp(&entry.path);
        for (entry, known) in zip_sorted(page_files, self.files.values(), by_path) {
            let path = &entry.path;
            if known.is_some_and(|file| !file.path.is_same_text(path)) {
                copies.push(path.clone());
            }
            seen.push((path, entry.stamp));
            if known.is_none_or(|file| file.stamp.object() != entry.stamp.object()) {
                new.insert(path.clone());
            }
            if known.is_some() && self.ignoring.ignores_file(path) {
                // Shown as it is known, and read once it is not ignored any more.
                continue;
            }
            let verify = known.is_some_and(|file| file.racy && !is_racy(&file.stamp, looked_at));
            if known.is_some_and(|file| file.stamp == entry.stamp && file.hash.is_some()) && !verify {
                watch.touched.remove(&entry.path);
                continue;
            }
            let quiet = if known.is_none() && entry.stamp.size == 0 {
                settle_ms.max(NEW_EMPTY_MS)
            } else {
                settle_ms
            };
            watch.touched.entry(entry.path.clone()).or_insert((cx.now, cx.now));
            // A new path of a file that has settled already: moved, unpacked, or older than espejo.
            let rested = known.is_none() && entry.stamp.rested_ms(looked_at) >= quiet;
            let due = if verify || rested {
                cx.now
            } else {
                watch.settled_at(&entry.path, quiet).unwrap_or(cx.now)
            };
            watch.unread.insert(entry.path.clone(), due);
        }
        take_in_seen(&mut watch.last_seen, seen);
        let seen = &watch.last_seen;
        // A scan has now seen the files that are still to be read.
        watch.targeted_reads.clear();
        let ignoring = &self.ignoring;
        watch.unread.retain(|path, _| seen.contains_key(path) && !ignoring.ignores_file(path));
        watch.touched.retain(|path, _| seen.contains_key(path));
        share(copies, &mut self.files, &mut self.pages);
        new
    }

    /// Whether the last scan saw at this path the file object of a page whose file is known elsewhere.
    fn was_passing(&self, path: &MirrorPath, watch: &Watching) -> bool {
        watch.last_seen.get(path).is_some_and(|seen| self.is_from_elsewhere(path, seen))
    }
}

impl Watching {
    /// Whether the scan saw a file at two paths: a `new` one (a path without a file until now, or with another) and one
    /// at which it was known. The file was renamed during the scan, or is linked twice, and the next scan decides. A
    /// file seen twice by two successive scans is a link.
    fn doubt_renames(&mut self, new: BTreeSet<MirrorPath>, now: Timestamp) -> bool {
        let seen = &self.last_seen;
        let mut twice = BTreeSet::new();
        if !new.is_empty() {
            let known = seen.iter().filter(|(path, _)| !new.contains(*path));
            let known: BTreeSet<_> = known.map(|(_, stamp)| stamp.object()).collect();
            let is_known = |path: &MirrorPath| seen.get(path).is_some_and(|s| known.contains(&s.object()));
            twice.extend(new.into_iter().filter(is_known));
        }
        let is_doubtful = !twice.is_subset(&self.duplicate_inodes);
        self.duplicate_inodes = twice;
        if is_doubtful {
            self.scan_by(now);
        }
        is_doubtful
    }
}

impl Pages {
    /// Records a file that was read because of a hint alone. Only its content differs.
    fn take_in_targeted_read(
        &mut self,
        look: &FileRead,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let known = self.trees.files.get(&look.path);
        if known
            .is_some_and(|file| file.stamp == look.stamp && file.hash == Some(ContentHash::of(&look.bytes)))
        {
            // Mostly espejo's own write. Otherwise the same bytes were read a moment ago, and the page waits for this
            // read.
            known.and_then(|file| file.page.clone()).iter().for_each(|page| self.mark_dirty(page));
            return Ok(());
        }
        if let Some(seen) = folder.watch.last_seen.get_mut(&look.path) {
            *seen = look.stamp;
        }
        self.take_in(look, true, folder, cx)
    }

    /// Records the content of a file.
    pub(crate) fn take_in_file(
        &mut self,
        look: &FileRead,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        self.take_in(look, false, folder, cx)
    }

    /// Records the content of a file. `is_at_home`: the file is known to be its page's.
    fn take_in(
        &mut self,
        look: &FileRead,
        is_at_home: bool,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        if !folder.watch.targeted_reads.contains(&look.path) {
            folder.watch.unread.remove(&look.path);
        }
        let hash = ContentHash::of(&look.bytes);
        let old = self.trees.files.get(&look.path).cloned();
        let mut file = LocalFile {
            path: look.path.clone(),
            page: old.as_ref().and_then(|file| file.page.clone()),
            stamp: look.stamp,
            hash: Some(hash),
            claims: None,
            copied_from_page: old.as_ref().and_then(|file| file.copied_from_page.clone()),
            front_title: None,
            problem: None,
            racy: is_racy(&look.stamp, look.clock),
        };
        let mut front = FrontMatter::default();
        let is_cleared = old.as_ref().is_some_and(|old| old.hash == Some(hash) && old.problem.is_none());
        match guarded(|| read_head(self, &mut file, &mut front, &look.bytes, is_cleared, cx)) {
            Ok(read) => read?,
            Err(Fault) => file.problem = Some(Problem::Internal),
        }
        file.claims = named::read(&front, &mut self.trees, &cx.store)?;
        file.front_title = front.title.filter(|title| !title.is_empty()).map(Into::into);
        let icon = front.icon.filter(|icon| !icon.is_empty());
        file.keep_parted(old.as_ref());
        if old.as_ref().is_some_and(|old| old.hash.is_some_and(|was| was != hash)) {
            // A user who saves the file has seen the notices about it.
            cx.store.drop_notices_at(look.path.as_str());
        }
        let page = file.page.clone();
        let readable = file.problem.is_none();
        let new = old.is_none();
        // The same file that names no other page than before, or another one in its place?
        let is_another =
            |old: &LocalFile| old.stamp.object() != file.stamp.object() || old.claims != file.claims;
        // A file for which a page was requested will be a page's file.
        let is_asked_for = self.creations.contains(&file.path);
        let old = old.filter(|old| !is_at_home && (old.page.is_some() || is_asked_for) && is_another(old));
        if let Some(old) = old {
            self.saw_file(&file, &look.bytes, false, cx)?;
            let is_late = folder.watch.last_seen.get(&file.path) != Some(&file.stamp);
            if is_late && (old.claims != file.claims || self.trees.is_from_elsewhere(&file.path, &file.stamp))
            {
                // It came after the last scan. The former file may be at a path where that scan did not see it.
                folder.watch.scan_stale = true;
                folder.watch.scan_by(cx.now);
            }
            folder.watch.candidates.insert(file.path.clone(), file);
            folder.watch.identities_due = true;
            return Ok(());
        }
        folder.watch.candidates.remove(&look.path);
        self.saw_file(&file, &look.bytes, true, cx)?;
        self.trees.tell_of_icon(&file, icon, &folder.root, cx);
        self.save_file(file);
        if new {
            folder.watch.identities_due = true;
        }
        if let (Some(page), true) = (page, readable) {
            let read = self.interpret(&page, look, cx);
            or_hold(self, &page, Side::File, read, cx)?;
            self.mark_dirty(&page);
        }
        Ok(())
    }

    /// Records a file that could not be read. Every scan tries again: permissions can change without a trace in the
    /// stamp.
    pub(crate) fn take_in_problem(&mut self, path: &MirrorPath, problem: Problem, folder: &mut Folder) {
        let Some(mut file) = self.trees.files.get(path).cloned() else {
            let object = folder.watch.last_seen.get(path).map(Stamp::object);
            let hides = if object.is_some() { Hides::Its } else { Hides::Anything };
            let why = problem.sentence("page");
            folder.root.barrier.add(Unreadable { path: path.clone(), why, hides, object });
            return;
        };
        file.hash = None;
        file.problem = Some(problem);
        self.save_file(file);
    }
}

impl Folder {
    pub(crate) fn disk_failed(
        &mut self,
        path: &MirrorPath,
        error: &DiskError,
        trees: &mut Trees,
        now: Timestamp,
    ) {
        match error {
            DiskError::RootNotReady(why) => {
                self.root.state = Some(Err(why.clone()));
                self.watch.scan_by(now.plus_ms(ROOT_RETRY_MS));
            }
            DiskError::Exists(taken) => {
                trees.occupy(taken.clone());
                self.watch.scan_by(now);
            }
            DiskError::Changed(_) | DiskError::Missing(_) => self.watch.scan_by(now),
            _ => {}
        }
        tracing::debug!(path = %path, %error, "disk act refused");
    }
}

impl Trees {
    /// Applies the names of the entries. Returns the page files.
    fn take_in_names<'a>(&mut self, scan: &'a Scan) -> Vec<&'a Entry> {
        let (mut folders, mut occupied, mut page_files) = (Vec::new(), Vec::new(), Vec::new());
        let (layout, mut last) = (self.layout(), ("", false));
        for entry in &scan.entries {
            match entry.kind {
                EntryKind::Folder => folders.push(entry.path.clone()),
                EntryKind::File if layout.is_page_file(&entry.path, &mut last) => {
                    page_files.push(entry);
                    continue;
                }
                EntryKind::File | EntryKind::Other => {}
            }
            if entry.path.page_stem().is_some() {
                occupied.push(entry.path.clone());
            }
        }
        self.folders = folders.into_iter().collect();
        self.set_occupied(occupied);
        page_files
    }

    /// Whether the file at `path` is the file object of a page whose file is known elsewhere.
    fn is_from_elsewhere(&self, path: &MirrorPath, stamp: &Stamp) -> bool {
        let mut others = self.files.values().filter(|file| file.page.is_some() && file.path != *path);
        others.any(|file| file.stamp.object() == stamp.object())
    }
}

impl Pages {
    /// The content of a file as last parsed, if the file still has that text.
    pub(crate) fn parsed(
        &self,
        page: &PageId,
        file: &LocalFile,
    ) -> Option<&crate::engine::state::pages::Parsed> {
        let parsed = self.runtimes.get(page)?.parsed.as_ref()?;
        (Some(parsed.text) == file.hash).then_some(&**parsed)
    }
}

/// Replaces what a scan before saw by what was `seen` now, in the order of the paths. Mostly there are the same paths.
pub(crate) fn take_in_seen(before: &mut BTreeMap<MirrorPath, Stamp>, seen: Vec<(&MirrorPath, Stamp)>) {
    let are_same = |(before, (now, _)): (&MirrorPath, &(&MirrorPath, Stamp))| before.is_same_text(now);
    if before.len() == seen.len() && before.keys().zip(&seen).all(are_same) {
        before.values_mut().zip(seen).for_each(|(stamp, (_, now))| *stamp = now);
    } else {
        // A map that is made at once of what is in order compares each with its neighbour only.
        *before = seen.into_iter().map(|(path, stamp)| (path.clone(), stamp)).collect();
    }
}

/// Has page files and their pages hold the texts of `paths` that a scan brings with each of its answers, so that they are in
/// memory once and are compared by their addresses.
fn share(
    paths: Vec<MirrorPath>,
    files: &mut BTreeMap<MirrorPath, LocalFile>,
    pages: &mut BTreeMap<PageId, Node>,
) {
    if paths.is_empty() {
        return;
    }
    // The map is made anew, because keys cannot be replaced in it.
    let all = zip_sorted(mem::take(files), paths, |path, (own, _)| path.cmp(own));
    let shared = all.map(|((own, mut file), path)| {
        let Some(path) = path else { return (own, file) };
        let page = file.page.as_ref().and_then(|page| pages.get_mut(page));
        if let Some(home) = page.and_then(|page| page.file.as_mut()).filter(|home| **home == path) {
            *home = path.clone();
        }
        file.path = path.clone();
        (path, file)
    });
    *files = shared.collect();
}

/// Reads what the front matter of a file says, and why its text cannot be sent, if so.
fn read_head(
    pages: &Pages,
    file: &mut LocalFile,
    front: &mut FrontMatter,
    bytes: &[u8],
    is_cleared: bool,
    cx: &Context,
) -> Result<(), StoreError> {
    let (Ok(text), Some(hash)) = (std::str::from_utf8(bytes), file.hash) else {
        file.problem = Some(Problem::NotText);
        return Ok(());
    };
    if text.contains('\0') {
        file.problem = Some(Problem::Nul);
        return Ok(());
    }
    let split = match front_matter::split(text) {
        Ok(split) => split,
        Err(BadFrontMatter { line, why }) => {
            file.problem = Some(Problem::FrontMatter { line, why });
            return Ok(());
        }
    };
    let above = split.lines_above(text);
    let body = Body { text: split.body.trim_start_matches('\u{feff}'), hash, above, is_cleared };
    *front = split.front.unwrap_or_default();
    file.problem = pages.unsendable(file, &body, cx)?;
    Ok(())
}

fn root_problem(state: &RootState) -> String {
    match state {
        RootState::Ready => "ready".to_owned(),
        RootState::Missing => "the folder is missing".to_owned(),
        RootState::NoMarker => {
            "the folder has no .espejo/marker: it may be an unmounted or emptied folder".to_owned()
        }
        RootState::OtherMirror => "the folder belongs to another mirror".to_owned(),
        RootState::Unreadable(why) => format!("the folder cannot be read: {why}"),
    }
}

/// Whether another change right after `looked_at` might leave both times of the stamp as they are. An edit that
/// restores the old time of the content shows only in the time of the last change, and a file system may count both in
/// seconds. A time far ahead of the clock, which may have been set back, is not one that a change would get now.
pub(crate) fn is_racy(stamp: &Stamp, looked_at: Timestamp) -> bool {
    stamp.is_racy(looked_at)
}
