//! The user's folder: its root, and when what in it is scanned and read.

use std::collections::{BTreeMap, BTreeSet};

use super::barrier;
use super::flight::Purpose;
use crate::model::{DiskReply, Effect, LocalFile, MirrorPath, PageId, Stamp, Timestamp};
use crate::plan::barrier::Barrier;
use crate::plan::identity::KnownFile;
use crate::store::{LastSight, Store, StoreError};

/// Hints that never stop must not put a scan off for ever.
pub(super) const SCAN_AT_LATEST_MS: i64 = 2_000;
/// A file that never rests is read all the same after this long; the read itself refuses a file in motion.
pub(super) const UNSETTLED_MAX_MS: i64 = 60_000;

/// The user's folder: the root, and what of it is to be scanned and read.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) root: Root,
    pub(super) watch: Watching,
}

/// What is known of the mirror's root.
#[derive(Debug)]
pub(super) struct Root {
    /// `None` until the first scan; an error means that nothing may be written on either side.
    pub(super) state: Option<Result<(), String>>,
    pub(super) identity: Option<(u64, u64)>,
    /// The root is another folder than it was: what is missing in it may never have been there.
    pub(super) changed: bool,
    /// Until everything has been compared once, files without an id are matched to pages by their place.
    pub(super) bootstrap: bool,
    /// Files that name pages the service does not list may become new pages.
    pub(super) orphans_approved: bool,
    /// What could not be looked at in the last scan.
    pub(super) barrier: Barrier,
}

impl Root {
    pub(super) fn new(store: &Store, now: Timestamp, bootstrap: bool) -> Result<Self, StoreError> {
        let identity = store.meta("root_identity")?;
        let identity = identity.as_deref().and_then(|text| text.split_once(' '));
        Ok(Self {
            state: None,
            identity: identity.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?))),
            changed: false,
            bootstrap,
            orphans_approved: false,
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
    pub(super) scan_due: Timestamp,
    pub(super) hinted_since: Option<Timestamp>,
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
    pub(super) targeted_reads: BTreeSet<MirrorPath>,
    /// Page files at the last scan, and what espejo itself has done to them since.
    pub(super) last_seen: BTreeMap<MirrorPath, Stamp>,
    pub(super) identities_due: bool,
    /// A page's file was gone again from where the last scan saw it: where to shows at the next, and told before that it
    /// would be missing, and what it was known by forgotten.
    pub(super) scan_stale: bool,
    /// How far the clock that dates files was ahead of the engine's time at the last scan, in milliseconds.
    pub(super) clock_ahead_ms: i64,
    /// New names of files that were seen under their old ones as well by the last scan.
    pub(super) duplicate_inodes: BTreeSet<MirrorPath>,
    /// Files that are another object, or name another page, than what was known at their path: kept apart until
    /// identities are told, which compares what is with what was.
    pub(super) candidates: BTreeMap<MirrorPath, LocalFile>,
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
            targeted_reads: BTreeSet::new(),
            last_seen: BTreeMap::new(),
            identities_due: false,
            scan_stale: false,
            clock_ahead_ms: 0,
            duplicate_inodes: BTreeSet::new(),
            candidates: BTreeMap::new(),
            missing: missing.into_iter().map(known).collect(),
        }
    }

    pub(super) fn touch(&mut self, path: MirrorPath, now: Timestamp) {
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
    pub(super) fn read_targeted(&mut self, path: &MirrorPath, now: Timestamp, settle_ms: i64) {
        self.touch(path.clone(), now);
        let due = self.settled_at(path, settle_ms).unwrap_or(now);
        self.unread.insert(path.clone(), due);
        self.targeted_reads.insert(path.clone());
        self.asked = now;
    }

    /// A hint came while the file was being read: it says nothing of what was read, and the file is read once more.
    pub(super) fn read_targeted_again(
        &mut self,
        path: &MirrorPath,
        asked_at: Timestamp,
        settle_ms: i64,
    ) -> bool {
        let is_later = self.touched.get(path).is_some_and(|(_, last)| *last >= asked_at);
        let due = self.settled_at(path, settle_ms).filter(|_| is_later && self.targeted_reads.contains(path));
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
        self.candidates.remove(path);
        if self.targeted_reads.remove(path) {
            // The hint may have meant what came to the place afterwards.
            self.scan_by(self.asked);
        }
    }

    pub(super) fn read_by(&mut self, path: &MirrorPath, at: Timestamp) {
        self.unread.entry(path.clone()).and_modify(|due| *due = (*due).min(at)).or_insert(at);
    }

    pub(super) fn is_unread(&self, path: &MirrorPath) -> bool {
        self.unread.contains_key(path) || self.candidates.contains_key(path)
    }

    pub(super) fn is_quiet(&self, now: Timestamp) -> bool {
        self.scan_due > now && self.hinted_since.is_none() && self.unread.is_empty() && !self.identities_due
    }

    /// Whether every file that the last scan saw has been told to be a page's or not.
    pub(super) fn is_told(&self) -> bool {
        !self.identities_due
    }

    pub(super) fn settled_at(&self, path: &MirrorPath, settle_ms: i64) -> Option<Timestamp> {
        let (first, last) = self.touched.get(path)?;
        Some(last.plus_ms(settle_ms).min(first.plus_ms(UNSETTLED_MAX_MS)))
    }
}

impl Folder {
    /// A scan or a read, if one is due.
    pub(super) fn next_scan_or_read(&mut self, now: Timestamp) -> Option<(Effect, Purpose)> {
        if self.watch.scan_due <= now {
            return Some((Effect::Scan, Purpose::Scan));
        }
        if !self.root.is_ready() {
            return None;
        }
        let due = self.watch.unread.iter().find(|(_, due)| **due <= now).map(|(path, _)| path.clone())?;
        Some((Effect::ReadFile(due.clone()), Purpose::Read { path: due }))
    }
}

impl Watching {
    pub(super) fn disk_reply_is_wrong(&mut self, reply: &DiskReply, now: Timestamp) {
        tracing::error!(?reply, "an answer that fits no question");
        self.scan_by(now);
    }
}
