//! The pages: their trees, the work under way for each, and the pages to be decided.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::state::answered::{Answered, OVERWRITE_MS};
use crate::engine::state::context::Context;
use crate::engine::state::creations::Creations;
use crate::engine::state::folder::Watching;
use crate::engine::state::history::Retention;
use crate::engine::state::offload::Offload;
use crate::engine::state::request_queue::RequestQueue;
use crate::engine::state::retry::Failing;
use crate::engine::state::trees::Trees;
use crate::markdown::Allowed;
use crate::model::{
    BodyJson, ContentHash, LocalFile, MirrorPath, Node, PageDraft, PageId, PendingUpdate, Presence, Refusal,
    ServiceError, Timestamp, WorkspaceId, folder_of,
};
use crate::plan::Decision;
use crate::plan::saves::Saves;
use crate::store::PendingWrite;

/// The trees of the pages, and the work under way for them.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) trees: Trees,
    /// Pages to be decided: something may have to be done for them.
    pub(crate) dirty: BTreeSet<PageId>,
    /// Pages that only time and the next scans can change, unless something else marks them dirty.
    pub(crate) waiting: BTreeSet<PageId>,
    /// Pages whose first body was fetched since the last commit that lasts. Their files are written after the next one.
    pub(crate) fresh: BTreeSet<PageId>,
    /// Idle state of the folder as of the last check.
    pub(crate) was_quiet: bool,
    /// All pages are to be added to `dirty` before the next decision.
    pub(crate) all_dirty: bool,
    pub(crate) batch: Batch,
    /// State of pages in this run only.
    pub(crate) runtimes: BTreeMap<PageId, Runtime>,
    /// Why pages wait although they have work to do. Few entries, read often.
    pub(crate) held: BTreeMap<PageId, Held>,
    /// No page waits until a later time. Usually no page waits, and then none is examined.
    pub(crate) retries_until: Timestamp,
    /// The requests that pages need.
    pub(crate) request_queue: RequestQueue,
    pub(crate) pending_updates: BTreeMap<PageId, PendingUpdate>,
    /// File writes that may have been made although no answer confirms them.
    pub(crate) pending_writes: BTreeMap<PageId, PendingWrite>,
    /// New files and folders for which pages were requested.
    pub(crate) creations: Creations<PageDraft>,
    /// New files and folders of which the service refused to make pages.
    pub(crate) refusals: BTreeMap<MirrorPath, RefusedFile>,
    pub(crate) allowed: BTreeMap<WorkspaceId, Allowed>,
    /// What a read may not show yet.
    pub(crate) answered: Answered,
    pub(crate) retention: Retention,
    pub(crate) offload: Offload,
}

/// State of one page in this run only.
#[derive(Debug, Clone, Default)]
pub(crate) struct Runtime {
    /// Tick at which its last act was issued or ended.
    pub(crate) acted: u64,
    /// Tick at which its last fetch was issued, whatever the result.
    pub(crate) looked: u64,
    /// Tick at which the last fetch that showed it was issued, and the time of the answer.
    pub(crate) seen: u64,
    pub(crate) seen_at: Timestamp,
    /// Tick at which its file was first found missing.
    pub(crate) missed: u64,
    /// When its file was first seen in another folder than the base says.
    pub(crate) moved_at: Option<Timestamp>,
    /// Tick since which it needs a request; 0 if it needs none.
    pub(crate) wanted: u64,
    /// Number of times that the service refused to delete it.
    pub(crate) undeletable: u32,
    /// The parsed content of its file. `None` for most files, because they equal the base.
    pub(crate) parsed: Option<Box<Parsed>>,
    /// Consecutive failures, and the time until which it waits.
    pub(crate) failing: Failing,
    /// Writes with an unknown outcome, or known not to have been carried out.
    pub(crate) writes: Failing,
    /// A slot is reserved for its PATCH.
    pub(crate) reserved: bool,
    /// Hash of the file content whose conflict copy has been made.
    pub(crate) copied: Option<Box<ContentHash>>,
    /// What programs did with its file.
    pub(crate) saves: Saves,
    /// The old path at which a program has its file open.
    pub(crate) open_at: Option<MirrorPath>,
    /// A read has shown what was sent last.
    pub(crate) has_shown: bool,
    /// An unconfirmed update that the last read did not show.
    pub(crate) refuted: Option<Box<Refuted>>,
    /// The body of the last update that a read did not show: it may still come, after later ones.
    pub(crate) late: Option<ContentHash>,
}

/// The parsed content of a file whose text had the hash `text`.
#[derive(Debug, Clone)]
pub(crate) struct Parsed {
    pub(crate) text: ContentHash,
    /// JSON text instead of values, because thousands of edits can wait at once.
    pub(crate) content: BodyJson,
}

impl Pages {
    pub(crate) fn runtime(&mut self, page: &PageId) -> &mut Runtime {
        self.runtimes.entry(page.clone()).or_default()
    }

    /// Defers all work for this page until `until`.
    pub(crate) fn put_off(&mut self, page: &PageId, until: Timestamp) {
        self.retries_until = self.retries_until.max(until);
        self.runtime(page).failing.until = until;
    }

    pub(crate) fn mark_dirty(&mut self, page: &PageId) {
        self.dirty.insert(page.clone());
    }

    /// Marks all pages dirty, because places depend on each other. The pages are marked before the next decision, so
    /// ten thousand moved files cost one pass.
    pub(crate) fn mark_all_dirty(&mut self) {
        self.all_dirty = true;
    }

    /// Adds all pages to `dirty` if they were marked. Returns whether they were.
    pub(crate) fn mark_all_if_due(&mut self) -> bool {
        let all = std::mem::take(&mut self.all_dirty);
        if all {
            self.dirty.extend(self.trees.pages.keys().cloned());
        }
        all
    }

    /// Marks the pages dirty that waited for a scan.
    pub(crate) fn mark_waiting_dirty(&mut self) {
        self.dirty.append(&mut self.waiting);
    }

    /// Marks the pages beneath this one dirty, on either side: they depend on its file being in its place.
    pub(crate) fn mark_dirty_beneath(&mut self, page: &PageId, file: &MirrorPath) {
        self.dirty.extend(self.trees.subtree(page));
        if let Some(folder) = folder_of(file) {
            let inside = self.trees.files.range(folder.clone()..).map(|(_, file)| file);
            let inside = inside.take_while(|file| file.path.as_str().starts_with(folder.as_str()));
            self.dirty.extend(inside.filter_map(|file| file.page.clone()));
        }
    }
}

/// A walk over the dirty pages, in batches.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The last page of the previous batch; `None` when the walk is over.
    pub(crate) left_at: Option<PageId>,
    /// An event came since the walk began.
    pub(crate) again: bool,
}

impl Batch {
    /// Notes an event that may have marked a page dirty.
    pub(crate) fn stir(&mut self) {
        self.again = self.left_at.is_some();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.left_at.is_none()
    }
}

/// A creation that the service rejected, or that failed.
#[derive(Debug)]
pub(crate) struct RefusedFile {
    pub(crate) workspace: WorkspaceId,
    pub(crate) parent: Option<PageId>,
    pub(crate) refusal: Refusal,
    pub(crate) error: ServiceError,
    pub(crate) tried_at: Timestamp,
}

/// An update that a read did not show.
#[derive(Debug, Clone)]
pub(crate) struct Refuted {
    pub(crate) sent: PendingUpdate,
    /// The base when it was refuted: once it has another one, the page went on without it.
    pub(crate) agreed: Option<ContentHash>,
    pub(crate) since: Timestamp,
}

/// Why a page waits although it has work to do. Most reasons are reported with their cause, not with the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Held {
    /// Its workspace takes no such changes now.
    ReadOnly,
    /// The service refused it.
    Refused,
    /// A guard holds it.
    Guarded,
    /// A file that has no page yet is a copy of its file.
    Copied,
    /// Its missing file may be in an unreadable place.
    Hidden,
    /// Its writes fail each time.
    Failing,
    /// The disk refuses it; with the system's message.
    Disk(String),
}

impl Pages {
    /// Whether a fetch of this page is its first one, and nothing depends on it. A change that affects this answer
    /// marks the page dirty, and it is decided again.
    pub(crate) fn is_first_fetch(&self, node: &Node, decision: &Decision) -> bool {
        *decision == Decision::Fetch
            && node.remote.presence != Presence::Unlisted
            && node.file.is_none()
            && !self.pending_updates.contains_key(&node.id)
    }
}

impl Pages {
    pub(crate) fn forget_page(&mut self, id: &PageId, cx: &mut Context) {
        // The page may come back while an editor is still open that never saw the push.
        let since = cx.now.plus_ms(-OVERWRITE_MS);
        if let Some(push) = self.trees.pages.get(id).and_then(|node| node.last_push.as_deref())
            && push.at >= since
        {
            cx.store.keep_left_push(id, push, since);
        }
        self.trees.take(id);
        // A file may name it still: the id was no other program's.
        self.trees.former.add(id);
        self.trees.ignoring.pages.remove(id);
        self.trees.unsaved.pages.remove(id);
        self.request_queue.remove(id);
        cx.store.delete_page(id);
        if self.pending_updates.remove(id).is_some() {
            cx.store.delete_sent(id);
        }
        self.end_writing(id, cx);
        self.held.remove(id);
        if self.runtimes.remove(id).is_some_and(|runtime| runtime.reserved) {
            cx.pace.release();
        }
        self.dirty.remove(id);
        self.waiting.remove(id);
    }

    /// Changes the path of a file, also in its page.
    pub(crate) fn rename_file(
        &mut self,
        from: &MirrorPath,
        to: &MirrorPath,
        watch: &mut Watching,
        cx: &mut Context,
    ) {
        let Some(mut file) = self.trees.forget_file(from, watch, cx) else { return };
        file.path = to.clone();
        watch.last_seen.insert(to.clone(), file.stamp);
        if let Some(page) = file.page.clone() {
            self.edit_page(&page, |node| node.file = Some(to.clone()), cx);
        }
        self.save_file(file);
    }
}

impl Pages {
    pub(crate) fn save_page(&mut self, node: Node, cx: &mut Context) {
        let known = self.trees.pages.get(&node.id);
        if known == Some(&node) {
            return;
        }
        let is_polled = known.is_some_and(|known| {
            known.poll != node.poll && Node { poll: node.poll, ..known.clone() } == node
        });
        if let Some(was) = known.and_then(|known| known.file.as_ref().or(known.missing_from.as_ref()))
            && let Some(is) = node.file.as_ref().filter(|is| *is != was)
        {
            cx.conflicts.file_moved(node.id.as_str(), was, is);
        }
        let unsaved = &mut self.trees.unsaved;
        let rows = if is_polled { &mut unsaved.polled } else { &mut unsaved.pages };
        rows.insert(node.id.clone());
        self.dirty.insert(node.id.clone());
        self.trees.put(node);
    }

    /// Changes one page, if it is known.
    pub(crate) fn edit_page(&mut self, id: &PageId, change: impl FnOnce(&mut Node), cx: &mut Context) {
        let Some(mut node) = self.trees.pages.get(id).cloned() else { return };
        change(&mut node);
        self.save_page(node, cx);
    }

    pub(crate) fn save_file(&mut self, mut file: LocalFile) {
        match self.trees.files.get_key_value(&file.path) {
            Some((_, known)) if *known == file => return,
            // In memory once.
            Some((path, _)) => file.path = path.clone(),
            None => self.trees.names.add(&file.path),
        }
        self.trees.unsaved.files.insert(file.path.clone());
        if let Some(page) = &file.page {
            self.dirty.insert(page.clone());
            self.trees.untracked_files.remove(&file.path);
        } else {
            self.trees.untracked_files.insert(file.path.clone());
        }
        self.trees.page_counts.add_file(&file);
        self.trees.are_homes_checked = false;
        self.trees.files.insert(file.path.clone(), file);
    }
}
