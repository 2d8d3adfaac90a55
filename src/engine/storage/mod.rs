//! Personal storage: a state machine of its own beside the pages', with its own rows and its own effects. It shares
//! the context, the scan of the folder and the effects under way with them, and its requests always come after
//! theirs.
//!
//! For each file it keeps the service's last state (`remote`), the state that both sides last had in common (`base`),
//! and the last scan's state of its path. [`decide`](crate::plan::stored::decide) compares the three; a difference
//! becomes one act at a time for each file. Folders are listed one at a time; a list that lacks an item is a reason
//! to fetch the item, nothing more.
//!
//! Deliberately absent: links in the store, downloads that count against the limit, and any deletion on either side
//! without a complete scan or list and a base.

mod again;
mod apart;
mod context;
mod disk;
mod doubt;
mod fetch;
mod folder;
pub(super) mod guards;
mod local;
mod names;
mod pulled;
mod reasons;
mod refused;
mod report;
mod request_queue;
mod send;
mod task;
#[cfg(test)]
mod tests;
mod walk;

use super::retry::Failing;
use names::FolderTree;
use reasons::Trouble;
use request_queue::Queue;
use std::collections::{BTreeMap, BTreeSet};
use walk::Lists;

pub(super) use context::Turn;
pub(super) use pulled::is_in;
pub use report::StorageSummary;
pub(super) use task::Task;
use task::{Fetched, effect};

use super::context::Context;
use super::creations::Creations;
use super::disk::RACY_MS;
use super::pace::Class;
use crate::model::{
    AttachmentId, DiskError, DiskReply, Effect, FileId, FileNode, FolderId, FolderNode, Link, MirrorPath,
    Outcome, Refusal, RefusalClass, Seen, ServiceError, ServiceReply, Settings, Stamp, StorageEvent,
    StorageMode, StoredFile, Timestamp,
};
use crate::store::{Polled, Store, StoreError, StoredRow};

/// The name of its folder in the mirror.
pub(super) const FOLDER: &str = "Storage";
/// The most lists and link requests at once, so that a user's edit finds a free slot.
const LOOKS_AT_ONCE: usize = 3;

/// The state machine.
#[derive(Debug)]
pub(super) struct Storage {
    mode: StorageMode,
    files: BTreeMap<FileId, FileNode>,
    folder: folder::Known,
    runtimes: BTreeMap<FileId, Runtime>,
    /// The runtime state of a file without one.
    nothing: Runtime,
    /// Files that the user excludes from the sync, as of their last decision.
    apart: BTreeMap<FileId, apart::Apart>,
    sight: local::Sight,
    /// Paths that turned out to be taken by entries that are not espejo's.
    occupied: BTreeSet<MirrorPath>,
    rests: Rests,
    pub(super) scan_due: ScanDue,
    no_workspace: bool,
    pub(super) tree: FolderTree,
    uploads: send::Uploads,
    pub(super) queue: Queue,
    pub(super) lists: Lists,
    guarding: guards::Guarding,
}

/// State of one file that is not stored.
#[derive(Debug, Clone, Default)]
struct Runtime {
    local: local::Local,
    /// Time of the scan that first showed this local state.
    found_at: Timestamp,
    /// Tick at which our last change of it at the service ended; answers to requests issued before are ignored.
    acted: u64,
    /// Time of the list that first showed it in this run.
    met_at: Timestamp,
    /// Time of the list that first lacked it.
    missed_at: Timestamp,
    failing: Failing,
    /// The cause of repeated failures, once they persist.
    trouble: Option<Box<Trouble>>,
    /// Boxed, as the fields below, because few files have one at a time.
    link: Option<Box<(Link, Timestamp)>>,
    /// Refused links in a row. After a refusal, the next link is not requested at once.
    refused_links: u32,
    /// The service's refusal to move it to the trash.
    refused: Option<Box<Refusal>>,
    /// Size of the partial download in bytes.
    got: u64,
    got_before: u64,
    /// Whether a GET by id shows it, and no list does.
    hidden: bool,
    fetched: Option<Box<Fetched>>,
    /// The last path at which the file was seen after it left its place, and its stamp there.
    went_to: Option<Box<(MirrorPath, Stamp)>>,
    /// Time of the last conflict copy of this file.
    set_aside_at: Option<Timestamp>,
    /// Whether its bytes differ from the download without any sign of an edit.
    damaged: bool,
    /// The content at the service that was found to differ from the file at its path.
    compared: Option<AttachmentId>,
    checked: u64,
}

/// What a refusal pauses as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    Reading,
    Sending,
    Trashing,
    /// Nothing more can be written to the disk.
    Disk,
}

/// The directions that pause, each with its reason and next try.
#[derive(Debug, Default)]
struct Rests(BTreeMap<Direction, Refusal>);

impl Rests {
    fn is_over(&self, direction: Direction, now: Timestamp) -> bool {
        self.0.get(&direction).is_none_or(|refusal| !refusal.rests(now))
    }

    fn refuse(&mut self, direction: Direction, class: RefusalClass, why: String, now: Timestamp) {
        let refusal = Refusal::new(class, why, self.0.get(&direction), now);
        self.0.insert(direction, refusal);
    }

    /// Pauses downloads if the disk is full.
    fn disk_fails(&mut self, error: &DiskError, now: Timestamp) {
        if matches!(error, DiskError::Full(..)) {
            self.refuse(Direction::Disk, RefusalClass::Transient, error.to_string(), now);
        }
    }
}

/// The time of the next scan that an act needs: it failed in a way that a scan may explain, or only a scan shows whether
/// its file is still untouched.
#[derive(Debug, Default)]
pub(super) struct ScanDue(Option<Timestamp>);

impl ScanDue {
    fn by(&mut self, at: Timestamp) {
        self.0 = Some(self.0.map_or(at, |due| due.min(at)));
    }

    /// Requests the scan after which the stamp of a racy file can hide no change any more.
    fn by_if_racy(&mut self, racy: bool, now: Timestamp) {
        if racy {
            self.by(now.plus_ms(RACY_MS));
        }
    }

    /// Returns the time, and resets it.
    pub(super) fn take(&mut self) -> Option<Timestamp> {
        self.0.take()
    }
}

/// A full pass: each folder is listed once after its beginning.
#[derive(Debug, Clone, Copy)]
struct Pass {
    since: u64,
    /// Whether each file on disk is read and compared.
    deep: bool,
}

impl Storage {
    pub(super) fn open(store: &mut Store, settings: &Settings, now: Timestamp) -> Result<Self, StoreError> {
        let loaded = store.load_storage()?;
        let mode = settings.storage.mode;
        let adopting = store.meta(names::ADOPTING)?.as_deref() != Some("no");
        let mut storage = Self {
            mode,
            guarding: guards::Guarding::open(store, &loaded.files, now)?,
            files: loaded.files,
            folder: folder::Known::open(store)?,
            runtimes: BTreeMap::new(),
            nothing: Runtime::default(),
            apart: BTreeMap::new(),
            sight: local::Sight::default(),
            occupied: BTreeSet::new(),
            rests: Rests::default(),
            scan_due: ScanDue::default(),
            no_workspace: false,
            tree: FolderTree {
                folders: loaded.folders,
                folders_active: true,
                adopting,
                ..FolderTree::default()
            },
            uploads: send::Uploads {
                creations: Creations::open(store, now)?,
                local_only: loaded.local_only,
                returned: loaded.returned,
                ..send::Uploads::default()
            },
            queue: Queue::default(),
            lists: Lists::default(),
        };
        // A file whose replacement is gone is an ordinary file again.
        let known: BTreeSet<FileId> = storage.files.keys().cloned().collect();
        for node in storage.files.values_mut() {
            if node.replaced_by.as_ref().is_some_and(|new| !known.contains(new)) {
                (node.replaced_by, node.stem) = (None, None);
                store.save_storage_file(node);
            }
        }
        storage.queue.dirty = known;
        storage.plan_walks(now);
        // The outcome of unconfirmed uploads is checked at once; until then their files are left alone.
        let folders: BTreeSet<_> =
            storage.uploads.creations.drafts().map(|upload| upload.folder.clone()).collect();
        folders.iter().for_each(|folder| storage.lists.walk_by(folder.as_ref(), now, 0));
        Ok(storage)
    }

    pub(super) fn is_on(&self) -> bool {
        self.mode != StorageMode::Off
    }

    pub(super) fn begin_pass(&mut self, deep: bool, tick: u64, now: Timestamp) {
        self.lists.pass = Some(Pass { since: tick, deep });
        self.walk_all_now(now);
        self.rests = Rests::default();
        self.tree.folders_failing.until = now;
        self.try_refused_again(now, true);
        self.mark_all_dirty();
    }

    /// The next act that runs on a worker thread: a download, or the hash of a file.
    pub(super) fn next_beside(&mut self, cx: &Turn<'_>) -> Option<(Effect, Task)> {
        if !self.is_on() {
            return None;
        }
        self.let_rest(cx.now);
        self.next_hash(cx).or_else(|| self.next_download(cx))
    }

    /// The next disk act, for the queue that it shares with the pages.
    pub(super) fn next_disk(&mut self, cx: &mut Turn<'_>) -> Option<(Effect, Task)> {
        if !self.is_on() {
            return None;
        }
        self.refresh_guards(cx);
        // Before the first list, a workspace may be there that is not known yet.
        self.no_workspace =
            self.mode == StorageMode::TwoWay && cx.order.is_some() && cx.upload_workspace().is_none();
        if let Some((_, placement)) = self.queue.placements.pop_first() {
            return Some(placement);
        }
        // A folder does not move while files are to be placed in it.
        let on_folders = if self.queue.awaits_commit() { None } else { self.next_act_on_folders(cx) };
        on_folders.or_else(|| self.next_act_on_files(cx)).or_else(|| {
            if std::mem::take(&mut self.uploads.strays_are_old) {
                self.take_in_strays(cx);
            }
            self.next_read(cx)
        })
    }

    /// The next request for a change of the user: an upload, or a move to the service's trash.
    pub(super) fn next_change(&mut self, cx: &mut Turn<'_>) -> Option<(Effect, Task)> {
        if self.mode != StorageMode::TwoWay || !cx.pace.allows(Class::Edit, 1, false, cx.now) {
            return None;
        }
        self.next_upload(cx).or_else(|| self.next_trash(cx))
    }

    /// The next request that only reads from the service.
    pub(super) fn next_look(&mut self, cx: &Turn<'_>) -> Option<(Effect, Task)> {
        if !self.is_on()
            || cx.in_flight.stored_looks() >= LOOKS_AT_ONCE
            || !self.rests.is_over(Direction::Reading, cx.now)
        {
            return None;
        }
        let burst = self.looks_left(cx.now) <= cx.pace.background_room(cx.now) as usize;
        if !cx.pace.allows(self.lists.look_class(), 1, burst, cx.now) {
            return None;
        }
        self.next_confirmation(cx).or_else(|| self.next_walk_or_link(cx))
    }

    /// Takes in the result of an effect.
    pub(super) fn done(
        &mut self,
        cx: &mut Turn<'_>,
        task: Task,
        (tick, sent_at): (u64, Timestamp),
        outcome: Outcome,
    ) {
        self.guarding.guards_are_old |= self.guarding.guards.hold_something();
        if let Some(file) = task.file().cloned() {
            // The request was decided before this result was known.
            self.queue.requests.remove(&file);
            self.queue.dirty.insert(file);
        }
        match (task, outcome) {
            (Task::Download { file, attachment, size }, Outcome::Download(result)) => {
                self.downloaded(cx, &file, &attachment, size, result)
            }
            (task, Outcome::Disk(result)) => self.disk_done(cx, task, sent_at, result),
            (task, Outcome::Service(result)) => self.service_done(cx, task, (tick, sent_at), result),
            (task, _) => {
                tracing::error!(?task, "an answer that fits no question");
            }
        }
    }

    fn service_done(
        &mut self,
        cx: &mut Turn<'_>,
        task: Task,
        asked: (u64, Timestamp),
        result: Result<ServiceReply, ServiceError>,
    ) {
        let direction = match task {
            Task::Upload(_) => Direction::Sending,
            Task::Trash(_) => Direction::Trashing,
            _ => Direction::Reading,
        };
        match &result {
            Err(error @ ServiceError::Forbidden(why)) => {
                self.rests.refuse(direction, RefusalClass::of(error), why.clone(), cx.now);
            }
            Ok(_) => drop(self.rests.0.remove(&direction)),
            Err(_) => {}
        }
        match task {
            Task::Walk(folder) => self.walked(cx, folder, asked, result),
            Task::Link(file) => self.link_answered(cx, &file, result),
            Task::Upload(path) => self.uploaded(cx, &path, result),
            Task::Trash(file) => self.trashed(cx, &file, result),
            _ => {}
        }
    }

    fn disk_done(
        &mut self,
        cx: &mut Turn<'_>,
        task: Task,
        sent_at: Timestamp,
        result: Result<DiskReply, DiskError>,
    ) {
        if let Err(error) = &result {
            self.rests.disk_fails(error, cx.now);
        }
        match (task, result) {
            (Task::Hash { file, path }, result) => self.hashed(cx, &file, &path, sent_at, result),
            (Task::Read(path), result) => self.read_to_send(cx, &path, result),
            (task, Ok(reply)) => self.act_done(cx, task, reply),
            (task, Err(error)) => self.act_failed(cx, &task, &error),
        }
    }

    /// Takes in an event that is not the result of an effect.
    pub(super) fn happened(&mut self, file: Option<&Task>, event: &StorageEvent) {
        let StorageEvent::Progress { got, .. } = event;
        if let Some(Task::Download { file, .. }) = file {
            let file = file.clone();
            self.runtime(&file).got = *got;
        }
    }

    /// Releases what guards hold.
    pub(super) fn approve(&mut self, cx: &mut Turn<'_>, paths: &[MirrorPath]) {
        let named = |path: &MirrorPath| paths.is_empty() || paths.iter().any(|asked| path.is_within(asked));
        let is_hidden = |node: &FileNode| match self.of(&node.remote.id).local {
            local::Local::Missing(_) => guards::hides(&cx.folder.root.barrier, node).is_some(),
            _ => false,
        };
        let ids: Vec<FileId> = self
            .files
            .values()
            .filter(|node| node.base.as_ref().is_some_and(|base| named(&base.path)))
            // Before the first scan it is unknown which files are missing: all are approved, and the scan withdraws
            // that for those that exist.
            .filter(|node| {
                // An unmounted disk is no sign that the user wants to lose its files, unless the user approves this
                // folder.
                let away = || self.of(&node.remote.id).local == local::Local::Away;
                self.is_leaving(node)
                    || self.sight.at.0 == 0
                    || self.is_doubted(node)
                    || self.of(&node.remote.id).local.is_missing()
                    || !paths.is_empty() && away()
            })
            .filter(|node| !paths.is_empty() || !is_hidden(node) && self.renamed_to(node).is_none())
            .map(|node| node.remote.id.clone())
            .collect();
        for id in ids {
            let hidden = self.of(&id).hidden;
            self.edit_file(cx, &id, |node| {
                node.approved = true;
                if hidden && node.seen == Seen::Unlisted {
                    node.seen = Seen::Gone;
                }
            });
        }
        self.sight.approved_unseen |= self.sight.at.0 == 0 && paths.is_empty();
        self.forget_returned(cx, named);
        self.uploads.strays_are_old = true;
        let folders: Vec<FolderId> = self
            .tree
            .folders
            .values()
            .filter(|node| !node.listed && node.at.as_ref().is_none_or(named))
            .map(|node| node.remote.id.clone())
            .collect();
        for id in folders {
            self.edit_folder(cx, &id, |node| node.approved = true);
        }
        self.rests = Rests::default();
        for candidate in self.uploads.candidates.values_mut() {
            candidate.refused = None;
            candidate.failing.until = cx.now;
        }
        for runtime in self.runtimes.values_mut() {
            runtime.failing.until = cx.now;
            runtime.hidden = false;
        }
        self.queue.act_at.clear();
        self.guarding.guards_are_old = true;
        self.mark_all_dirty();
    }

    /// Whether a request about a file may be sent now.
    fn is_ready(&self, cx: &Context, id: &FileId) -> bool {
        !self.of(id).failing.waits(cx.now) && !self.queue.is_unsettled(id, &cx.in_flight)
    }

    /// Counts a failure of a file. The pause is the one after `more` further failures. The user is told after the third
    /// failure, or at once.
    fn file_fails(&mut self, cx: &mut Turn<'_>, id: &FileId, more: u32, at_once: bool, why: Trouble) {
        let runtime = self.runtime(id);
        cx.fails(&mut runtime.failing, more);
        if at_once || runtime.failing.is_told() {
            runtime.trouble = Some(Box::new(why));
        }
    }

    /// The runtime state of a file.
    fn of(&self, file: &FileId) -> &Runtime {
        self.runtimes.get(file).unwrap_or(&self.nothing)
    }

    fn runtime(&mut self, file: &FileId) -> &mut Runtime {
        self.queue.stirring.insert(file.clone());
        self.runtimes.entry(file.clone()).or_default()
    }

    /// Removes files whose runtime has nothing pending.
    fn let_rest(&mut self, now: Timestamp) {
        let Self { queue, runtimes, .. } = self;
        queue.stirring.retain(|id| runtimes.get(id).is_some_and(|runtime| runtime.stirs(now)));
        queue.act_at.retain(|_, at| *at > now);
    }

    /// The runtimes with something pending, and possibly others.
    fn stirring(&self) -> impl Iterator<Item = (&FileId, &Runtime)> {
        self.queue.stirring.iter().filter_map(|id| Some((id, self.runtimes.get(id)?)))
    }

    /// Marks all files of a folder dirty after a change in it, because names depend on each other.
    fn mark_dirty_in(&mut self, folder: Option<&FolderId>) {
        let inside = self.files.values().filter(|node| node.remote.folder.as_ref() == folder);
        self.queue.dirty.extend(inside.map(|node| node.remote.id.clone()));
        self.tree.folders_active = true;
    }

    pub(super) fn mark_all_dirty(&mut self) {
        self.queue.dirty.extend(self.files.keys().cloned());
        self.tree.folders_active = true;
    }

    fn edit_file(&mut self, cx: &mut Turn<'_>, id: &FileId, edit: impl FnOnce(&mut FileNode)) {
        let Some(node) = self.files.get_mut(id) else { return };
        let before = node.clone();
        edit(node);
        if *node == before {
            return;
        }
        // Guards count files that leave. Other changes matter only to guards that hold something.
        let is_there = |node: &FileNode| node.seen == Seen::Listed;
        self.guarding.guards_are_old |=
            !is_there(node) || !is_there(&before) || node.approved != before.approved;
        self.queue.dirty.insert(id.clone());
        // The row of its folder has the time of the list: a list without news does not write fifty files.
        let is_only_seen =
            node.remote.folder.is_some() && (FileNode { seen_at: node.seen_at, ..before }) == *node;
        if !is_only_seen {
            cx.store.save_storage_file(node);
        }
    }

    fn edit_base(&mut self, cx: &mut Turn<'_>, id: &FileId, edit: impl FnOnce(&mut StoredFile)) {
        self.edit_file(cx, id, |node| {
            if let Some(base) = &mut node.base {
                edit(base);
            }
        });
    }

    /// Edits the files that are meant.
    fn edit_files(
        &mut self,
        cx: &mut Turn<'_>,
        is_meant: impl Fn(&FileNode) -> bool,
        edit: impl Fn(&mut FileNode),
    ) {
        let meant = self.files.values().filter(|node| is_meant(node));
        for id in meant.map(|node| node.remote.id.clone()).collect::<Vec<_>>() {
            self.edit_file(cx, &id, &edit);
        }
    }

    fn edit_folder(&mut self, cx: &mut Turn<'_>, id: &FolderId, edit: impl FnOnce(&mut FolderNode)) {
        let Some(node) = self.tree.folders.get_mut(id) else { return };
        let before = node.clone();
        edit(node);
        self.tree.folders_active = true;
        self.guarding.guards_are_old = true;
        match &*node {
            node if *node == before => {}
            node if (FolderNode { poll: node.poll, ..before }) == *node => {
                cx.store.save_poll(Polled::Folder(id), &node.poll);
            }
            node => cx.store.save_storage_folder(node),
        }
    }

    fn forget_file(&mut self, cx: &mut Turn<'_>, id: &FileId) {
        self.files.remove(id);
        self.runtimes.remove(id);
        self.queue.stirring.remove(id);
        self.queue.act_at.remove(id);
        self.queue.rests(id);
        self.apart.remove(id);
        self.guarding.guards_are_old = true;
        if !self.guarding.trashed.contains_key(id) {
            // Its replacement disappeared without an act of ours: the replaced file is an ordinary file again.
            let is_older = |node: &FileNode| node.replaced_by.as_ref() == Some(id);
            self.edit_files(cx, is_older, |node| (node.replaced_by, node.stem) = (None, None));
        }
        cx.store.delete_stored(StoredRow::File(id));
    }
}

impl Lists {
    pub(super) fn end_pass(&mut self) {
        self.pass = None;
    }

    pub(super) fn look_class(&self) -> Class {
        if self.pass.is_some() { Class::Asked } else { Class::Background }
    }
}
