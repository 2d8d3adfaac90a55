//! The pages: their trees, the work under way for each, and the pages to be decided.

use std::collections::{BTreeMap, BTreeSet};

use super::creations::Creations;
use super::trees::Trees;
use super::{act, answered, create, history, offload, push, refused, request_queue, retry};
use crate::markdown::Allowed;
use crate::model::{
    BodyJson, ContentHash, MirrorPath, PageDraft, PageId, PendingUpdate, Timestamp, WorkspaceId, folder_of,
};
use crate::plan::saves::Saves;
use crate::store::PendingWrite;

/// The trees of the pages, and the work under way for them.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) trees: Trees,
    /// Pages to be decided: something may have to be done for them.
    pub(super) dirty: BTreeSet<PageId>,
    /// Pages that only time and the next scans can change, unless something else marks them dirty.
    pub(super) waiting: BTreeSet<PageId>,
    /// Pages whose first body was fetched since the last commit that lasts. Their files are written after the next one.
    pub(super) fresh: BTreeSet<PageId>,
    /// Idle state of the folder as of the last check.
    pub(super) was_quiet: bool,
    /// All pages are to be added to `dirty` before the next decision.
    pub(super) all_dirty: bool,
    pub(super) batch: act::Batch,
    /// State of pages in this run only.
    pub(super) runtimes: BTreeMap<PageId, Runtime>,
    /// Why pages wait although they have work to do. Few entries, read often.
    pub(super) held: BTreeMap<PageId, refused::Held>,
    /// No page waits until a later time. Usually no page waits, and then none is examined.
    pub(super) retries_until: Timestamp,
    /// The requests that pages need.
    pub(super) request_queue: request_queue::RequestQueue,
    pub(super) pending_updates: BTreeMap<PageId, PendingUpdate>,
    /// File writes that may have been made although no answer confirms them.
    pub(super) pending_writes: BTreeMap<PageId, PendingWrite>,
    /// New files and folders for which pages were requested.
    pub(super) creations: Creations<PageDraft>,
    /// New files and folders of which the service refused to make pages.
    pub(super) refusals: BTreeMap<MirrorPath, create::RefusedFile>,
    pub(super) allowed: BTreeMap<WorkspaceId, Allowed>,
    /// What a read may not show yet.
    pub(super) answered: answered::Answered,
    pub(super) retention: history::Retention,
    pub(super) offload: offload::Offload,
}

/// State of one page in this run only.
#[derive(Debug, Clone, Default)]
pub(super) struct Runtime {
    /// Tick at which its last act was issued or ended.
    pub(super) acted: u64,
    /// Tick at which its last fetch was issued, whatever the result.
    pub(super) looked: u64,
    /// Tick at which the last fetch that showed it was issued, and the time of the answer.
    pub(super) seen: u64,
    pub(super) seen_at: Timestamp,
    /// Tick at which its file was first found missing.
    pub(super) missed: u64,
    /// When its file was first seen in another folder than the base says.
    pub(super) moved_at: Option<Timestamp>,
    /// Tick since which it needs a request; 0 if it needs none.
    pub(super) wanted: u64,
    /// Number of times that the service refused to delete it.
    pub(super) undeletable: u32,
    /// The parsed content of its file. `None` for most files, because they equal the base.
    pub(super) parsed: Option<Box<Parsed>>,
    /// Consecutive failures, and the time until which it waits.
    pub(super) failing: retry::Failing,
    /// Writes with an unknown outcome, or known not to have been carried out.
    pub(super) writes: retry::Failing,
    /// A slot is reserved for its PATCH.
    pub(super) reserved: bool,
    /// Hash of the file content whose conflict copy has been made.
    pub(super) copied: Option<Box<ContentHash>>,
    /// What programs did with its file.
    pub(super) saves: Saves,
    /// The old path at which a program has its file open.
    pub(super) open_at: Option<MirrorPath>,
    /// A read has shown what was sent last.
    pub(super) has_shown: bool,
    /// An unconfirmed update that the last read did not show.
    pub(super) refuted: Option<Box<push::Refuted>>,
    /// The body of the last update that a read did not show: it may still come, after later ones.
    pub(super) late: Option<ContentHash>,
}

/// The parsed content of a file whose text had the hash `text`.
#[derive(Debug, Clone)]
pub(super) struct Parsed {
    pub(super) text: ContentHash,
    /// JSON text instead of values, because thousands of edits can wait at once.
    pub(super) content: BodyJson,
}

impl Pages {
    pub(super) fn runtime(&mut self, page: &PageId) -> &mut Runtime {
        self.runtimes.entry(page.clone()).or_default()
    }

    /// Defers all work for this page until `until`.
    pub(super) fn put_off(&mut self, page: &PageId, until: Timestamp) {
        self.retries_until = self.retries_until.max(until);
        self.runtime(page).failing.until = until;
    }

    pub(super) fn mark_dirty(&mut self, page: &PageId) {
        self.dirty.insert(page.clone());
    }

    /// Marks all pages dirty, because places depend on each other. The pages are marked before the next decision, so
    /// ten thousand moved files cost one pass.
    pub(super) fn mark_all_dirty(&mut self) {
        self.all_dirty = true;
    }

    /// Adds all pages to `dirty` if they were marked. Returns whether they were.
    pub(super) fn mark_all_if_due(&mut self) -> bool {
        let all = std::mem::take(&mut self.all_dirty);
        if all {
            self.dirty.extend(self.trees.pages.keys().cloned());
        }
        all
    }

    /// Marks the pages dirty that waited for a scan.
    pub(super) fn mark_waiting_dirty(&mut self) {
        self.dirty.append(&mut self.waiting);
    }

    /// Marks the pages beneath this one dirty, on either side: they depend on its file being in its place.
    pub(super) fn mark_dirty_beneath(&mut self, page: &PageId, file: &MirrorPath) {
        self.dirty.extend(self.trees.subtree(page));
        if let Some(folder) = folder_of(file) {
            let inside = self.trees.files.range(folder.clone()..).map(|(_, file)| file);
            let inside = inside.take_while(|file| file.path.as_str().starts_with(folder.as_str()));
            self.dirty.extend(inside.filter_map(|file| file.page.clone()));
        }
    }
}
