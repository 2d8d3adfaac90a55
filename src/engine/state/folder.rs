//! The user's folder: its root, and the schedule of its scans and reads.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::plan::page_files::KnownFile;
use crate::engine::state::creation_guard::CreationGuard;
use crate::engine::state::flight::Purpose;
use crate::model::{DiskReply, Effect, FileObject, LocalFile, MirrorPath, PageId, Stamp, Timestamp};
use crate::plan::barrier::Barrier;
use crate::store::{LastSight, Store, StoreError};

/// Key in the state: the approved places, as paths, inodes and births in JSON.
pub(crate) const APPROVED: &str = "approved_places";

/// A continuous stream of hints must not defer a scan for ever.
pub(crate) const SCAN_AT_LATEST_MS: i64 = 2_000;
/// A file that never settles is read after this time. The read itself refuses a file that changes meanwhile.
pub(crate) const UNSETTLED_MAX_MS: i64 = 60_000;

/// The user's folder: the root, and the scans and reads that are to be done.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) root: Root,
    pub(crate) watch: Watching,
}

/// The state of the mirror's root.
#[derive(Debug)]
pub(crate) struct Root {
    /// `None` before the first scan. An error means that nothing may be written on either side.
    pub(crate) state: Option<Result<(), String>>,
    /// The last scan found the folder without the marker.
    pub(crate) lacks_marker: bool,
    pub(crate) identity: Option<(u64, u64)>,
    /// The root is another folder than before: an item that is missing in it may never have been there.
    pub(crate) changed: bool,
    /// Until everything has been compared once, files without an id are matched to pages by their place.
    pub(crate) bootstrap: bool,
    /// A page that has not been compared, as of the last question.
    pub(crate) uncompared: Option<PageId>,
    /// Files that name pages the service does not list may become new pages.
    pub(crate) orphans_approved: bool,
    /// What the last scan could not read.
    pub(crate) barrier: Barrier,
    /// The guard of creations.
    pub(crate) creation_guard: CreationGuard,
    /// What was off at the last scan of this run.
    pub(crate) off: Option<Off>,
}

/// The parts of the mirror that are off: names of areas, and folders of workspaces.
pub(crate) type Off = BTreeSet<String>;

impl Root {
    pub(crate) fn new(store: &mut Store, now: Timestamp, bootstrap: bool) -> Result<Self, StoreError> {
        let identity = store.meta("root_identity")?;
        let identity = identity.as_deref().and_then(|text| text.split_once(' '));
        Ok(Self {
            state: None,
            lacks_marker: false,
            identity: identity.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?))),
            changed: false,
            bootstrap,
            uncompared: None,
            orphans_approved: false,
            barrier: remembered(store)?,
            creation_guard: CreationGuard::open(store, now)?,
            off: None,
        })
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.state, Some(Ok(())))
    }
}

/// The schedule of scans and reads.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(crate) scan_due: Timestamp,
    pub(crate) hinted_since: Option<Timestamp>,
    /// When the last complete scan began.
    pub(crate) scanned: Timestamp,
    /// When a scan was last requested. A scan that left before proves nothing about later changes.
    pub(crate) asked: Timestamp,
    /// When a path in storage last had a hint. Nothing in storage waits for it, but a scan that left before proves
    /// nothing about that change.
    pub(crate) stirred: Timestamp,
    /// The first and the last hint or noticed change of each path that has not settled.
    pub(crate) touched: BTreeMap<MirrorPath, (Timestamp, Timestamp)>,
    /// Files to read, with the earliest time of the read.
    pub(crate) unread: BTreeMap<MirrorPath, Timestamp>,
    /// Those of them with a hint since the last scan: they are read without another scan.
    pub(crate) targeted_reads: BTreeSet<MirrorPath>,
    /// Page files as of the last scan, updated with espejo's own changes.
    pub(crate) last_seen: BTreeMap<MirrorPath, Stamp>,
    pub(crate) identities_due: bool,
    /// A page's file was absent at the path where the last scan saw it. The next scan shows its new path.
    /// Identification before that scan would make the file missing and forget what it was known by.
    pub(crate) scan_stale: bool,
    /// How far the clock that dates files was ahead of the engine's time at the last scan, in milliseconds.
    pub(crate) clock_ahead_ms: i64,
    /// New paths of files that the last scan also saw at their old paths.
    pub(crate) duplicate_inodes: BTreeSet<MirrorPath>,
    /// Files that are another object than the known file at their path, or name another page. They are kept apart until
    /// identification, which compares the seen files with the known ones.
    pub(crate) candidates: BTreeMap<MirrorPath, LocalFile>,
    /// The known path, stamp and hash of the missing files of pages. They identify a file that reappears later, from a
    /// folder that could not be read or from outside the mirror.
    pub(crate) missing: BTreeMap<PageId, KnownFile>,
}

impl Watching {
    pub(crate) fn new(now: Timestamp, missing: BTreeMap<PageId, (MirrorPath, LastSight)>) -> Self {
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

    pub(crate) fn touch(&mut self, path: MirrorPath, now: Timestamp) {
        self.touched.entry(path).and_modify(|(_, last)| *last = now).or_insert((now, now));
    }

    pub(crate) fn hint(&mut self, path: MirrorPath, now: Timestamp, settle_ms: i64) {
        self.touch(path, now);
        self.asked = now;
        let since = *self.hinted_since.get_or_insert(now);
        let due = now.plus_ms(settle_ms).min(since.plus_ms(settle_ms.max(SCAN_AT_LATEST_MS)));
        if self.scan_due > due || since == now {
            self.scan_due = self.scan_due.min(due);
        } else if self.scan_due < due && since < now {
            // The file is still being written: the scan waits too, within bounds.
            self.scan_due = due;
        }
    }

    /// Schedules a read of a file for when it has settled.
    pub(crate) fn read_targeted(&mut self, path: &MirrorPath, now: Timestamp, settle_ms: i64) {
        self.touch(path.clone(), now);
        let due = self.settled_at(path, settle_ms).unwrap_or(now);
        self.unread.insert(path.clone(), due);
        self.targeted_reads.insert(path.clone());
        self.asked = now;
    }

    /// Schedules another read if a hint came during the read, because the bytes may be older than the hint. Returns
    /// whether it did.
    pub(crate) fn read_targeted_again(
        &mut self,
        path: &MirrorPath,
        asked_at: Timestamp,
        settle_ms: i64,
    ) -> bool {
        let is_later = self.touched.get(path).is_some_and(|(_, last)| *last >= asked_at);
        let due = self.settled_at(path, settle_ms).filter(|_| is_later && self.targeted_reads.contains(path));
        due.map(|due| self.unread.insert(path.clone(), due)).is_some()
    }

    pub(crate) fn scan_by(&mut self, at: Timestamp) {
        self.scan_due = self.scan_due.min(at);
    }

    /// The due times of the next scan and of the next read. If a read is due now, its time is any past one.
    pub(crate) fn next_due(&self, now: Timestamp) -> (Timestamp, Option<Timestamp>) {
        let reads = self.unread.values().copied();
        // If thousands of files are to be read, most of them are due.
        let is_due = reads.clone().find(|due| *due <= now);
        (self.scan_due, is_due.or_else(|| reads.min()))
    }

    pub(crate) fn forget(&mut self, path: &MirrorPath) {
        self.unread.remove(path);
        self.touched.remove(path);
        self.candidates.remove(path);
        if self.targeted_reads.remove(path) {
            // The hint may have meant the file that came to the path afterwards.
            self.scan_by(self.asked);
        }
    }

    pub(crate) fn read_by(&mut self, path: &MirrorPath, at: Timestamp) {
        self.unread.entry(path.clone()).and_modify(|due| *due = (*due).min(at)).or_insert(at);
    }

    pub(crate) fn is_unread(&self, path: &MirrorPath) -> bool {
        self.unread.contains_key(path) || self.candidates.contains_key(path)
    }

    pub(crate) fn is_quiet(&self, now: Timestamp) -> bool {
        self.scan_due > now && self.hinted_since.is_none() && self.unread.is_empty() && !self.identities_due
    }

    /// Whether every file of the last scan has been identified.
    pub(crate) fn is_told(&self) -> bool {
        !self.identities_due
    }

    pub(crate) fn settled_at(&self, path: &MirrorPath, settle_ms: i64) -> Option<Timestamp> {
        let (first, last) = self.touched.get(path)?;
        Some(last.plus_ms(settle_ms).min(first.plus_ms(UNSETTLED_MAX_MS)))
    }
}

impl Folder {
    /// A scan or a read, if one is due.
    pub(crate) fn next_scan_or_read(&self, now: Timestamp) -> Option<(Effect, Purpose)> {
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
    pub(crate) fn disk_reply_is_wrong(&mut self, reply: &DiskReply, now: Timestamp) {
        tracing::error!(?reply, "an answer that fits no question");
        self.scan_by(now);
    }
}

/// The barrier of an earlier run: what was approved.
pub(crate) fn remembered(store: &Store) -> Result<Barrier, StoreError> {
    let text = store.meta(APPROVED)?.unwrap_or_default();
    let approved: Vec<(String, Option<FileObject>)> = serde_json::from_str(&text).unwrap_or_default();
    let approved =
        approved.into_iter().filter_map(|(path, object)| Some((MirrorPath::new(&path).ok()?, object)));
    Ok(Barrier::remembered(approved.collect()))
}
