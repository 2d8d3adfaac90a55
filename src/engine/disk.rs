//! The local tree: scans, reads, and which file is which page. Hints only ask for a scan; a scan is the evidence.

use std::collections::{BTreeMap, BTreeSet};

use super::flight::{Flight, Purpose};
use super::unsendable::Body;
use super::{Engine, barrier};
use crate::markdown::front_matter::{self, BadFrontMatter};
use crate::model::{
    ContentHash, DiskError, DiskReply, Effect, Entry, EntryKind, FileLook, Hides, LocalFile, MirrorPath,
    PageId, Problem, RootState, Scan, Stamp, Timestamp, Unreadable,
};
use crate::plan::barrier::Barrier;
use crate::plan::identity::KnownFile;
use crate::store::{LastSight, Store, StoreError};

/// A whole look even when nothing hinted at a change.
const SCAN_EVERY_MS: i64 = 300_000;
/// After a root that could not be used.
const ROOT_RETRY_MS: i64 = 10_000;
/// Hints that never stop must not put a scan off for ever.
pub(super) const SCAN_AT_LATEST_MS: i64 = 2_000;
/// A file that never rests is read all the same after this long; the read itself refuses a file in motion.
pub(super) const UNSETTLED_MAX_MS: i64 = 60_000;
/// File systems with two-second clocks exist (FAT); a younger change may hide behind an equal stamp.
pub(super) const RACY_MS: i64 = 2_000;
/// A clock that differs by more has been set.
const CLOCK_STEP_MS: i64 = 1_000;
/// A new file may still be empty because its editor has only just made it.
const NEW_EMPTY_MS: i64 = 2_000;

/// What is known of the mirror's root.
#[derive(Debug)]
pub(super) struct Root {
    /// `None` until the first scan; an error means that nothing may be written on either side.
    pub(super) state: Option<Result<(), String>>,
    identity: Option<(u64, u64)>,
    /// The root is another folder than it was: what is missing in it may never have been there.
    pub(super) changed: bool,
    /// Until everything has been compared once, files without an id are matched to pages by their place.
    pub(super) adopting: bool,
    /// Files that name pages the service does not list may become new pages.
    pub(super) strays_approved: bool,
    /// What could not be looked at in the last scan.
    pub(super) barrier: Barrier,
}

impl Root {
    pub(super) fn new(store: &Store, now: Timestamp, adopting: bool) -> Result<Self, StoreError> {
        let identity = store.meta("root_identity")?;
        let identity = identity.as_deref().and_then(|text| text.split_once(' '));
        Ok(Self {
            state: None,
            identity: identity.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?))),
            changed: false,
            adopting,
            strays_approved: false,
            barrier: barrier::remembered(store, now)?,
        })
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(self.state, Some(Ok(())))
    }
}

/// When to look at what.
#[derive(Debug)]
pub(super) struct Watching {
    scan_due: Timestamp,
    hinted_since: Option<Timestamp>,
    /// When the last complete scan began.
    pub(super) scanned: Timestamp,
    /// When a scan was last asked for: one that left before says nothing of what happened since.
    pub(super) asked: Timestamp,
    /// When something last stirred in storage, which waits for no hint: a scan that left before says nothing of it.
    pub(super) stirred: Timestamp,
    /// The last hint or noticed change of each path that is not settled.
    pub(super) touched: BTreeMap<MirrorPath, (Timestamp, Timestamp)>,
    /// Files to read, and from when.
    pub(super) unread: BTreeMap<MirrorPath, Timestamp>,
    /// Those of them that were hinted at since the last scan: they are read without another.
    peeks: BTreeSet<MirrorPath>,
    pub(super) identities_due: bool,
    /// A page's file was gone again from where the last scan saw it: where to shows at the next, and told before that it
    /// would be missing, and what it was known by forgotten.
    pub(super) outdated: bool,
    /// How far the clock that dates files was ahead of the engine's time at the last scan, in milliseconds.
    clock_ahead_ms: i64,
    /// New names of files that were seen under their old ones as well by the last scan.
    seen_twice: BTreeSet<MirrorPath>,
    /// Files that are another object, or name another page, than what was known at their path: kept apart until
    /// identities are told, which compares what is with what was.
    pub(super) arrivals: BTreeMap<MirrorPath, LocalFile>,
    /// What the missing files of pages were known by: a file that comes to light later, out of a folder that could not
    /// be read or from outside the mirror, is told by it.
    pub(super) missing: BTreeMap<PageId, KnownFile>,
}

impl Watching {
    pub(super) fn new(now: Timestamp, missing: BTreeMap<PageId, (MirrorPath, LastSight)>) -> Self {
        let known = |(page, (path, last)): (PageId, (MirrorPath, LastSight))| {
            let known = KnownFile { path, page: Some(page.clone()), stamp: last.stamp, hash: last.hash };
            (page, known)
        };
        Self {
            scan_due: now,
            hinted_since: None,
            scanned: Timestamp::default(),
            asked: Timestamp::default(),
            stirred: Timestamp::default(),
            touched: BTreeMap::new(),
            unread: BTreeMap::new(),
            peeks: BTreeSet::new(),
            identities_due: false,
            outdated: false,
            clock_ahead_ms: 0,
            seen_twice: BTreeSet::new(),
            arrivals: BTreeMap::new(),
            missing: missing.into_iter().map(known).collect(),
        }
    }

    fn touch(&mut self, path: MirrorPath, now: Timestamp) {
        self.touched.entry(path).and_modify(|(_, last)| *last = now).or_insert((now, now));
    }

    pub(super) fn hint(&mut self, path: MirrorPath, now: Timestamp, settle_ms: i64) {
        self.touch(path, now);
        self.asked = now;
        let since = *self.hinted_since.get_or_insert(now);
        let due = now.plus_ms(settle_ms).min(since.plus_ms(settle_ms.max(SCAN_AT_LATEST_MS)));
        if self.scan_due > due || since == now {
            self.scan_due = self.scan_due.min(due);
        } else if self.scan_due < due && since < now {
            // Still being written: the scan waits with it, within bounds.
            self.scan_due = due;
        }
    }

    /// A file is read once it has settled.
    pub(super) fn peek(&mut self, path: &MirrorPath, now: Timestamp, settle_ms: i64) {
        self.touch(path.clone(), now);
        let due = self.settled_at(path, settle_ms).unwrap_or(now);
        self.unread.insert(path.clone(), due);
        self.peeks.insert(path.clone());
        self.asked = now;
    }

    /// A hint came while the file was being read: it says nothing of what was read, and the file is read once more.
    fn peek_again(&mut self, path: &MirrorPath, asked_at: Timestamp, settle_ms: i64) -> bool {
        let is_later = self.touched.get(path).is_some_and(|(_, last)| *last >= asked_at);
        let due = self.settled_at(path, settle_ms).filter(|_| is_later && self.peeks.contains(path));
        due.map(|due| self.unread.insert(path.clone(), due)).is_some()
    }

    pub(super) fn scan_by(&mut self, at: Timestamp) {
        self.scan_due = self.scan_due.min(at);
    }

    /// When the next scan is due, and when the next file is to be read: some time that is over, if one of them is.
    pub(super) fn next_due(&self, now: Timestamp) -> (Timestamp, Option<Timestamp>) {
        let reads = self.unread.values().copied();
        // Of thousands that are to be read most are due.
        let is_due = reads.clone().find(|due| *due <= now);
        (self.scan_due, is_due.or_else(|| reads.min()))
    }

    /// What the clock says that dates files.
    pub(super) fn file_clock(&self, now: Timestamp) -> Timestamp {
        now.plus_ms(self.clock_ahead_ms)
    }

    pub(super) fn forget(&mut self, path: &MirrorPath) {
        self.unread.remove(path);
        self.touched.remove(path);
        self.arrivals.remove(path);
        if self.peeks.remove(path) {
            // The hint may have meant what came to the place afterwards.
            self.scan_by(self.asked);
        }
    }

    pub(super) fn read_by(&mut self, path: &MirrorPath, at: Timestamp) {
        self.unread.entry(path.clone()).and_modify(|due| *due = (*due).min(at)).or_insert(at);
    }

    pub(super) fn is_unread(&self, path: &MirrorPath) -> bool {
        self.unread.contains_key(path) || self.arrivals.contains_key(path)
    }

    pub(super) fn is_quiet(&self, now: Timestamp) -> bool {
        self.scan_due > now && self.hinted_since.is_none() && self.unread.is_empty() && !self.identities_due
    }

    /// Whether every file that the last scan saw has been told to be a page's or not.
    pub(super) fn is_told(&self) -> bool {
        !self.identities_due
    }

    fn settled_at(&self, path: &MirrorPath, settle_ms: i64) -> Option<Timestamp> {
        let (first, last) = self.touched.get(path)?;
        Some(last.plus_ms(settle_ms).min(first.plus_ms(UNSETTLED_MAX_MS)))
    }
}

impl Engine {
    /// A scan or a read, if one is due.
    pub(super) fn next_look_at_disk(&mut self) -> Option<(Effect, Purpose)> {
        if self.watch.scan_due <= self.now {
            return Some((Effect::Scan, Purpose::Scan));
        }
        if !self.root.is_ready() {
            return None;
        }
        let due =
            self.watch.unread.iter().find(|(_, due)| **due <= self.now).map(|(path, _)| path.clone())?;
        Some((Effect::ReadFile(due.clone()), Purpose::Read { path: due }))
    }

    pub(super) fn scan_done(&mut self, flight: &Flight, scan: Scan) -> Result<(), StoreError> {
        self.watch.scan_due = self.now.plus_ms(SCAN_EVERY_MS);
        // In the same millisecond too: the hint may have come after the scan had left.
        let is_outdated = self.watch.asked >= flight.sent_at;
        self.watch.hinted_since = is_outdated.then_some(self.watch.asked);
        if is_outdated {
            self.watch.scan_due = self.now.plus_ms(self.settings.pages.settle_ms);
        } else if self.watch.stirred >= flight.sent_at {
            self.watch.scan_due = self.now.plus_ms(SCAN_AT_LATEST_MS);
        }
        if scan.root != RootState::Ready {
            self.root.state = Some(Err(root_problem(&scan.root)));
            self.watch.scan_due = self.now.plus_ms(ROOT_RETRY_MS);
            return Ok(());
        }
        if self.root.state.as_ref().is_none_or(Result::is_err) {
            self.wake_all();
        }
        self.root.state = Some(Ok(()));
        self.watch.scanned = flight.sent_at;
        if self.root.identity != Some(scan.root_identity) {
            self.root.changed |= self.root.identity.is_some();
            self.root.identity = Some(scan.root_identity);
            if !self.root.changed {
                self.accept_root()?;
            }
        }
        let scan = self.under_rules(scan)?;
        self.take_in_unreadable(&scan, flight.sent_at)?;
        let page_files = self.take_in_names(&scan);
        // Less is how long the scan waited for its turn.
        let ahead_ms = scan.clock.since_ms(flight.sent_at);
        self.watch.clock_ahead_ms = if ahead_ms.abs() < CLOCK_STEP_MS { 0 } else { ahead_ms };
        self.take_in_signs_of_life()?;
        let new = self.take_in_stamps(&page_files, scan.clock);
        self.watch.identities_due = true;
        self.watch.outdated = self.doubt_renames(new);
        self.identify_if_ready()?;
        self.after_telling(scan, flight.sent_at)
    }

    /// Takes in what a scan says of everything but pages, once its page files have been told.
    pub(super) fn scan_told(&mut self, scan: &Scan, sent_at: Timestamp) -> Result<(), StoreError> {
        self.wake_settling();
        self.watch.scan_by(self.next_grace_end());
        self.boards_scanned(scan)?;
        self.storage.take_scan(&mut super::desk!(self), scan, sent_at)?;
        let grace_ms = self.settings.pages.delete_grace_ms;
        if let Some(end) = self.storage.next_grace_end(grace_ms, &self.root.barrier) {
            self.watch.scan_by(end.max(self.now));
        }
        self.conflicts_scanned(scan)
    }

    /// The root is the one it should be: what is missing in it from now on was deleted.
    pub(super) fn accept_root(&mut self) -> Result<(), StoreError> {
        self.root.changed = false;
        self.wake_boards();
        match self.root.identity {
            Some((device, inode)) => self.store.set_meta("root_identity", &format!("{device} {inode}")),
            None => Ok(()),
        }
    }

    /// Another root in which nothing is missing is as good as the one before; otherwise it stays in doubt, also in the
    /// next run.
    pub(super) fn settle_root(&mut self) -> Result<(), StoreError> {
        let may_settle = self.root.changed && self.watch.is_quiet(self.now);
        let is_whole = || !self.is_page_missing() && !self.is_board_missing();
        if may_settle && is_whole() {
            self.accept_root()?;
        }
        Ok(())
    }

    /// Takes in what is there, by its name alone. Returns the page files.
    fn take_in_names<'a>(&mut self, scan: &'a Scan) -> Vec<&'a Entry> {
        let (mut folders, mut occupied, mut page_files) = (Vec::new(), Vec::new(), Vec::new());
        for entry in &scan.entries {
            match entry.kind {
                EntryKind::Folder => folders.push(entry.path.clone()),
                EntryKind::File if self.trees.layout().is_page_file(&entry.path) => {
                    page_files.push(entry);
                    continue;
                }
                EntryKind::File | EntryKind::Other => {}
            }
            if entry.path.page_stem().is_some() {
                occupied.push(entry.path.clone());
            }
        }
        self.trees.folders = folders.into_iter().collect();
        self.trees.set_occupied(occupied);
        page_files
    }

    /// Files whose stamp is new are to be read once they have settled; what no entry names is missing.
    fn take_in_stamps(&mut self, page_files: &[&Entry], looked_at: Timestamp) -> BTreeSet<MirrorPath> {
        let settle_ms = self.settings.pages.settle_ms;
        let mut new = BTreeSet::new();
        let mut seen = Vec::with_capacity(page_files.len());
        // Both come in the order of their paths: one walk over both finds what is known of each.
        let mut files = self.trees.files.values().peekable();
        for entry in page_files {
            while files.next_if(|file| file.path < entry.path).is_some() {}
            let known = files.next_if(|file| file.path == entry.path);
            // The same path once in memory, however often it is scanned.
            let path = known.map_or(&entry.path, |file| &file.path);
            seen.push((path.clone(), entry.stamp));
            if known.is_none_or(|file| file.stamp.object() != entry.stamp.object()) {
                new.insert(path.clone());
            }
            if known.is_some() && self.trees.ignoring.ignores_file(path) {
                // Shown as it is known, and read once it is not ignored any more.
                continue;
            }
            let verify = known.is_some_and(|file| file.racy && !is_racy(&file.stamp, looked_at));
            if known.is_some_and(|file| file.stamp == entry.stamp && file.hash.is_some()) && !verify {
                self.watch.touched.remove(&entry.path);
                continue;
            }
            let quiet = if known.is_none() && entry.stamp.size == 0 {
                settle_ms.max(NEW_EMPTY_MS)
            } else {
                settle_ms
            };
            self.watch.touched.entry(entry.path.clone()).or_insert((self.now, self.now));
            // A new name for something that has rested already: moved, unpacked, or there before espejo was.
            let rested = known.is_none() && entry.stamp.rested_ms(looked_at) >= quiet;
            let due = if verify || rested {
                self.now
            } else {
                self.watch.settled_at(&entry.path, quiet).unwrap_or(self.now)
            };
            self.watch.unread.insert(entry.path.clone(), due);
        }
        let seen: BTreeMap<MirrorPath, Stamp> = seen.into_iter().collect();
        // What is still to be read, a scan has seen now.
        self.watch.peeks.clear();
        let ignoring = &self.trees.ignoring;
        self.watch.unread.retain(|path, _| seen.contains_key(path) && !ignoring.ignores_file(path));
        self.watch.touched.retain(|path, _| seen.contains_key(path));
        self.lists.last_seen = seen;
        new
    }

    /// Whether the scan saw a file at two places, a `new` one (a path without a file until now, or with another) and one
    /// that it was known at: it was renamed while the scan was under way, or is linked twice, and the next scan tells.
    /// What was seen twice in a row is a link.
    fn doubt_renames(&mut self, new: BTreeSet<MirrorPath>) -> bool {
        let seen = &self.lists.last_seen;
        let mut twice = BTreeSet::new();
        if !new.is_empty() {
            let known = seen.iter().filter(|(path, _)| !new.contains(*path));
            let known: BTreeSet<_> = known.map(|(_, stamp)| stamp.object()).collect();
            let is_known = |path: &MirrorPath| seen.get(path).is_some_and(|s| known.contains(&s.object()));
            twice.extend(new.into_iter().filter(is_known));
        }
        let is_doubtful = !twice.is_subset(&self.watch.seen_twice);
        self.watch.seen_twice = twice;
        if is_doubtful {
            self.watch.scan_by(self.now);
        }
        is_doubtful
    }

    pub(super) fn read_done(
        &mut self,
        path: &MirrorPath,
        result: Result<FileLook, DiskError>,
        asked_at: Timestamp,
    ) -> Result<(), StoreError> {
        let is_peek = self.watch.peeks.contains(path);
        if is_peek && self.tells_too_little(&result) {
            self.watch.peeks.remove(path);
            self.watch.scan_by(self.now);
            return Ok(());
        }
        match result {
            Ok(look) => {
                if !self.watch.peek_again(path, asked_at, self.settings.pages.settle_ms) {
                    self.watch.unread.remove(path);
                    self.watch.peeks.remove(path);
                    self.watch.touched.remove(path);
                }
                if is_peek {
                    self.take_in_peek(&look)?;
                } else {
                    self.take_in_file(&look)?;
                }
            }
            Err(DiskError::Missing(_)) => {
                self.watch.forget(path);
                self.watch.scan_by(self.now);
                self.watch.outdated |= self.was_passing(path);
            }
            Err(DiskError::Changed(_)) => {
                let now = self.now;
                // A peek stays one: nothing has been seen of it.
                self.watch.touch(path.clone(), now);
                self.watch.unread.insert(path.clone(), self.now.plus_ms(self.settings.pages.settle_ms));
            }
            // The file stays to be read: nothing was learned about it.
            Err(error @ DiskError::RootNotReady(_)) => self.disk_failed(path, &error),
            Err(error) => {
                self.watch.forget(path);
                self.take_in_problem(path, Problem::Unread(error.to_string()))?;
            }
        }
        self.identify_if_ready()
    }

    /// Whether a page's file had come to this path when it was scanned, by its object.
    fn was_passing(&self, path: &MirrorPath) -> bool {
        self.lists.last_seen.get(path).is_some_and(|seen| self.is_from_elsewhere(path, seen))
    }

    /// Whether what is at `path` is the file object of a page whose file is known elsewhere.
    fn is_from_elsewhere(&self, path: &MirrorPath, stamp: &Stamp) -> bool {
        let mut others = self.trees.files.values().filter(|file| file.page.is_some() && file.path != *path);
        others.any(|file| file.stamp.object() == stamp.object())
    }

    /// A file that was read at a hint alone, and is where and what it was but for its content.
    fn take_in_peek(&mut self, look: &FileLook) -> Result<(), StoreError> {
        let known = self.trees.files.get(&look.path);
        if known
            .is_some_and(|file| file.stamp == look.stamp && file.hash == Some(ContentHash::of(&look.bytes)))
        {
            // What espejo itself has written, mostly; or what was read a moment ago, and its page waits for this look.
            known.and_then(|file| file.page.clone()).iter().for_each(|page| self.wake(page));
            return Ok(());
        }
        if let Some(seen) = self.lists.last_seen.get_mut(&look.path) {
            *seen = look.stamp;
        }
        self.take_in(look, true)
    }

    /// Records what a file holds.
    pub(super) fn take_in_file(&mut self, look: &FileLook) -> Result<(), StoreError> {
        self.take_in(look, false)
    }

    /// Records what a file holds. `is_at_home`: it is known to be its page's.
    fn take_in(&mut self, look: &FileLook, is_at_home: bool) -> Result<(), StoreError> {
        if !self.watch.peeks.contains(&look.path) {
            self.watch.unread.remove(&look.path);
        }
        let hash = ContentHash::of(&look.bytes);
        let old = self.trees.files.get(&look.path).cloned();
        let mut file = LocalFile {
            path: look.path.clone(),
            page: old.as_ref().and_then(|file| file.page.clone()),
            stamp: look.stamp,
            hash: Some(hash),
            claims: None,
            disowned: old.as_ref().and_then(|file| file.disowned.clone()),
            front_title: None,
            problem: None,
            racy: is_racy(&look.stamp, look.clock),
        };
        let mut icon = None;
        match std::str::from_utf8(&look.bytes) {
            Err(_) => file.problem = Some(Problem::NotText),
            Ok(text) => match front_matter::split(text) {
                Err(BadFrontMatter { line, why }) => file.problem = Some(Problem::FrontMatter { line, why }),
                Ok(split) => {
                    let body = split.body.trim_start_matches('\u{feff}');
                    let above = split.lines_above(text);
                    let body = Body { text: body, hash, above, alone: split.front.is_none() };
                    if let Some(front) = split.front {
                        file.claims = front.id.as_deref().and_then(|id| PageId::new(id).ok());
                        file.front_title = front.title.filter(|title| !title.is_empty());
                        icon = front.icon.filter(|icon| !icon.is_empty());
                    }
                    file.problem = self.unsendable(file.page.as_ref(), &body)?;
                }
            },
        }
        file.keep_parted(old.as_ref());
        if old.as_ref().is_some_and(|old| old.hash.is_some_and(|was| was != hash)) {
            // Whoever saves it has seen what became of it.
            self.store.drop_notices_at(look.path.as_str())?;
        }
        let page = file.page.clone();
        let readable = file.problem.is_none();
        let new = old.is_none();
        // The same file that claims no other page than it did, or something else in its place?
        let is_another =
            |old: &LocalFile| old.stamp.object() != file.stamp.object() || old.claims != file.claims;
        // A file that a page was asked for is on its way to be a page's.
        let is_asked_for = self.creations.contains(&file.path);
        let old = old.filter(|old| !is_at_home && (old.page.is_some() || is_asked_for) && is_another(old));
        if let Some(old) = old {
            self.saw_file(&file, &look.bytes, false)?;
            let is_late = self.lists.last_seen.get(&file.path) != Some(&file.stamp);
            if is_late && (old.claims != file.claims || self.is_from_elsewhere(&file.path, &file.stamp)) {
                // It came after the last scan, and what was here may be where that did not see it.
                self.watch.outdated = true;
                self.watch.scan_by(self.now);
            }
            self.watch.arrivals.insert(file.path.clone(), file);
            self.watch.identities_due = true;
            return Ok(());
        }
        self.watch.arrivals.remove(&look.path);
        self.saw_file(&file, &look.bytes, true)?;
        self.tell_of_icon(&file, icon)?;
        self.save_file(file)?;
        if new {
            self.watch.identities_due = true;
        }
        if let (Some(page), true) = (page, readable) {
            self.interpret(&page, look)?;
            self.hold_what_went_back(&page)?;
            self.wake(&page);
        }
        Ok(())
    }

    /// A file that could not be read. Every scan tries again: permissions can change without a trace in its stamp.
    pub(super) fn take_in_problem(&mut self, path: &MirrorPath, problem: Problem) -> Result<(), StoreError> {
        let Some(mut file) = self.trees.files.get(path).cloned() else {
            let object = self.lists.last_seen.get(path).map(Stamp::object);
            let hides = object.map_or(Hides::Anything, Hides::File);
            self.root.barrier.add(Unreadable { path: path.clone(), why: problem.sentence("page"), hides });
            return Ok(());
        };
        file.hash = None;
        file.problem = Some(problem);
        self.save_file(file)
    }

    /// What a file stands for, by its last reading.
    pub(super) fn meaning(&self, page: &PageId, file: &LocalFile) -> Option<&super::Reading> {
        let reading = self.moments.get(page)?.reading.as_ref()?;
        (Some(reading.text) == file.hash).then_some(&**reading)
    }

    pub(super) fn disk_failed(&mut self, path: &MirrorPath, error: &DiskError) {
        match error {
            DiskError::RootNotReady(why) => {
                self.root.state = Some(Err(why.clone()));
                self.watch.scan_by(self.now.plus_ms(ROOT_RETRY_MS));
            }
            DiskError::Exists(taken) => {
                self.trees.occupy(taken.clone());
                self.watch.scan_by(self.now);
            }
            DiskError::Changed(_) | DiskError::Missing(_) => self.watch.scan_by(self.now),
            _ => {}
        }
        tracing::debug!(path = %path, %error, "disk act refused");
    }

    pub(super) fn disk_reply_is_wrong(&mut self, reply: &DiskReply) {
        tracing::error!(?reply, "an answer that fits no question");
        self.watch.scan_by(self.now);
    }
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

/// Whether a change that came right after the look would show in no time: an edit that puts the old time back leaves
/// the time of the last change alone, and a file system may count both in seconds. A time far ahead of the clock, which
/// may have been set back, is none that a change would get now.
pub(super) fn is_racy(stamp: &Stamp, looked_at: Timestamp) -> bool {
    [stamp.rested_ms(looked_at), stamp.unchanged_ms(looked_at)].iter().any(|ms| ms.abs() < RACY_MS)
}
