//! The pages: their trees, what is under way for each, and which of them are to be decided.

use std::collections::{BTreeMap, BTreeSet};

use super::creations::Creations;
use super::trees::Trees;
use super::{act, create, history, offload, refused, removals, request_queue, retry};
use crate::markdown::Allowed;
use crate::model::{
    BodyJson, ContentHash, MirrorPath, PageDraft, PageId, PendingUpdate, Timestamp, WorkspaceId, folder_of,
};
use crate::store::PendingWrite;

/// What is known of pages, and what is under way for them.
#[derive(Debug)]
pub(super) struct Pages {
    pub(super) trees: Trees,
    /// Pages whose next act is not known to be nothing.
    pub(super) dirty: BTreeSet<PageId>,
    /// Pages for which only time and the next scans can change what is to be done, so far as nothing wakes them.
    pub(super) waiting: BTreeSet<PageId>,
    /// Whether nothing in the folder was left to be looked at when that was last asked.
    pub(super) was_quiet: bool,
    /// All pages are to be among them, and are put there before anything is decided.
    pub(super) all_dirty: bool,
    pub(super) batch: act::Batch,
    /// What is known of pages in this run only.
    pub(super) runtimes: BTreeMap<PageId, Runtime>,
    /// Why pages wait although there is something to do: few, and asked for again and again.
    pub(super) held: BTreeMap<PageId, refused::Held>,
    /// No page waits for a time after this one: most of the time none waits, and none is looked through.
    pub(super) retries_until: Timestamp,
    /// What pages want of the service.
    pub(super) request_queue: request_queue::RequestQueue,
    pub(super) pending_updates: BTreeMap<PageId, PendingUpdate>,
    /// Writes to files that may have been made although nothing says so.
    pub(super) pending_writes: BTreeMap<PageId, PendingWrite>,
    /// New files and folders that pages were asked for.
    pub(super) creations: Creations<PageDraft>,
    /// New files (and folders) that the service would not make pages of.
    pub(super) refusals: BTreeMap<MirrorPath, create::RefusedFile>,
    pub(super) allowed: BTreeMap<WorkspaceId, Allowed>,
    /// Pages that the service was asked to remove a short while ago.
    pub(super) removals: removals::Removals,
    pub(super) retention: history::Retention,
    pub(super) offload: offload::Offload,
}

/// What is known of one page in this run only.
#[derive(Debug, Clone, Default)]
pub(super) struct Runtime {
    /// When its last act was issued or ended.
    pub(super) acted: u64,
    /// When its last look was issued, whatever came of it.
    pub(super) looked: u64,
    /// When the last look that showed it was issued, and when it was answered.
    pub(super) seen: u64,
    pub(super) seen_at: Timestamp,
    /// When its file was first found missing.
    pub(super) missed: u64,
    /// When its file was first seen in another folder than agreed.
    pub(super) moved_at: Option<Timestamp>,
    /// Since when it wants a request; 0 when it does not.
    pub(super) wanted: u64,
    /// How often the service has refused to delete it.
    pub(super) undeletable: u32,
    /// What its file stands for; of most files that is what was agreed on, and nothing is held here.
    pub(super) parsed: Option<Box<Parsed>>,
    /// Failures in a row, and until when it waits.
    pub(super) failing: retry::Failing,
    /// Writes whose outcome is not known, or that are known not to have been carried out.
    pub(super) writes: retry::Failing,
    /// A slot is reserved for its PATCH.
    pub(super) reserved: bool,
    /// The file content whose conflict copy has been made.
    pub(super) copied: Option<ContentHash>,
}

/// What a file stood for when it held `text`.
#[derive(Debug, Clone)]
pub(super) struct Parsed {
    pub(super) text: ContentHash,
    /// Not as values: thousands of edits can wait at once.
    pub(super) content: BodyJson,
}

impl Pages {
    pub(super) fn runtime(&mut self, page: &PageId) -> &mut Runtime {
        self.runtimes.entry(page.clone()).or_default()
    }

    /// Nothing is done for this page before `until`.
    pub(super) fn put_off(&mut self, page: &PageId, until: Timestamp) {
        self.retries_until = self.retries_until.max(until);
        self.runtime(page).failing.until = until;
    }

    pub(super) fn mark_dirty(&mut self, page: &PageId) {
        self.dirty.insert(page.clone());
    }

    /// Places depend on each other: after one changed, every page is asked again. Only noted: ten thousand files that were
    /// moved at once say so ten thousand times.
    pub(super) fn mark_all_dirty(&mut self) {
        self.all_dirty = true;
    }

    /// Whether all pages had to be woken; now they are.
    pub(super) fn spread_dirt(&mut self) -> bool {
        let all = std::mem::take(&mut self.all_dirty);
        if all {
            self.dirty.extend(self.trees.pages.keys().cloned());
        }
        all
    }

    /// The folder was looked at: who waited for that is asked again.
    pub(super) fn mark_waiting_dirty(&mut self) {
        self.dirty.append(&mut self.waiting);
    }

    /// What depends on this page having its file in its place: the pages beneath it on either side.
    pub(super) fn mark_dirty_beneath(&mut self, page: &PageId, file: &MirrorPath) {
        self.dirty.extend(self.trees.subtree(page));
        if let Some(folder) = folder_of(file) {
            let inside = self.trees.files.range(folder.clone()..).map(|(_, file)| file);
            let inside = inside.take_while(|file| file.path.as_str().starts_with(folder.as_str()));
            self.dirty.extend(inside.filter_map(|file| file.page.clone()));
        }
    }
}
