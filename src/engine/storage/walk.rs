//! Lists of the service's folders: the choice of the next one, and the result of a list. No item counts as gone
//! because one list lacks it.

use std::collections::BTreeMap;

use super::super::poll;
use super::names::FolderTree;
use super::reasons::NotListed;
use super::{Direction, LOOKS_AT_ONCE, Pass, Storage, Task, Turn};
use crate::engine::context::Context;
use crate::engine::retry::Failing;
use crate::model::{
    FileId, FileNode, FolderId, FolderNode, PollState, Seen, ServiceError, ServiceReply, StorageFile,
    StorageFolder, StorageListing, StorageReply, Timestamp, planted,
};

/// Maximum age of a list that an upload may be based on, in milliseconds.
const FRESH_MS: i64 = 5_000;

/// The lists of folders that were and are to be asked for.
#[derive(Debug, Default)]
pub(in crate::engine) struct Lists {
    pub(super) walks: BTreeMap<Option<FolderId>, Walk>,
    pub(super) pass: Option<Pass>,
    pub(super) swept: bool,
}

/// State of a folder's lists in this run.
#[derive(Debug, Clone, Default)]
pub(super) struct Walk {
    /// The earliest time of its next list.
    pub(super) due: Timestamp,
    /// Tick at which the last answered list was issued; 0 for none.
    pub(super) looked: u64,
    /// Its state in the schedule that all targets share.
    pub(super) poll: PollState,
    /// After a failure the next list waits, even if an item needs it.
    failing: Failing,
    /// Time at which the last list ended, with success or failure.
    ended: Timestamp,
    /// An item needs a list that is issued after this tick, even if the folder was already listed in this pass.
    pub(super) wanted: Option<u64>,
    /// Why it, or entries of it, cannot be listed.
    pub(super) trouble: Option<NotListed>,
}

impl Walk {
    /// The earliest time of its next list; an item that needs it does not shorten the wait after a failure.
    fn may_be(&self) -> Timestamp {
        self.due.max(self.failing.until)
    }

    /// Ends the wait after a failure, because of a request of the user.
    pub(super) fn hurry(&mut self) {
        self.failing.until = Timestamp::default();
    }
}

/// Whether a folder's list fails again and again: the user gets a message, and no command waits for it.
pub(super) fn needs_user(walk: &Walk) -> bool {
    walk.failing.is_told() && walk.trouble.is_some()
}

impl Storage {
    /// Adds all folders to the schedule in their stored state; the root is listed at once.
    pub(super) fn plan_walks(&mut self, now: Timestamp) {
        self.lists.walks.insert(None, Walk { due: now, poll: poll::fresh(now), ..Walk::default() });
        for (id, node) in &self.tree.folders {
            // The clock may have been set back since.
            let poll = PollState { last: node.poll.last.min(now), ..node.poll };
            self.lists.walks.insert(Some(id.clone()), Walk { due: now, poll, ..Walk::default() });
        }
    }

    /// Folders that may be listed now.
    fn listable<'a>(&'a self, cx: &'a Context) -> impl Iterator<Item = (&'a Option<FolderId>, &'a Walk)> {
        let is_under_way = |folder: &Option<FolderId>| {
            cx.in_flight.stored().any(|task| matches!(task, Task::Walk(other) if other == folder))
        };
        self.lists.walks.iter().filter(move |(folder, walk)| {
            walk.may_be() <= cx.now && self.tree.is_listed(folder.as_ref()) && !is_under_way(folder)
        })
    }

    /// The next needed list: the root first, then the folder that has been due for longest.
    pub(super) fn next_folder(&self, cx: &Context) -> Option<Option<FolderId>> {
        self.listable(cx)
            .filter(|(_, walk)| self.lists.is_needed(walk))
            .min_by_key(|(folder, walk)| (folder.is_some(), walk.due))
            .map(|(folder, _)| folder.clone())
    }

    /// The folders that are listed for news only, for the schedule that all targets share.
    pub(in crate::engine) fn polls<'a>(
        &'a self,
        cx: &'a Context,
    ) -> impl Iterator<Item = (Option<&'a FolderId>, &'a PollState)> {
        let may = self.is_on()
            && cx.in_flight.stored_looks() < LOOKS_AT_ONCE
            && self.rests.is_over(Direction::Reading, cx.now);
        self.listable(cx)
            .filter(move |(_, walk)| may && !self.lists.is_needed(walk))
            .map(|(folder, walk)| (folder.as_ref(), &walk.poll))
    }

    /// Requests all lists now, without the waits after failures, and GETs of the files that no list shows.
    pub(super) fn walk_all_now(&mut self, now: Timestamp) {
        for walk in self.lists.walks.values_mut() {
            (walk.due, walk.failing.until) = (now, Timestamp::default());
        }
        for runtime in self.runtimes.values_mut().filter(|runtime| runtime.hidden) {
            runtime.failing.until = now;
        }
    }

    pub(super) fn walked(
        &mut self,
        cx: &mut Turn<'_>,
        folder: Option<FolderId>,
        (tick, asked_at): (u64, Timestamp),
        result: Result<ServiceReply, ServiceError>,
    ) {
        self.lists.walks.entry(folder.clone()).or_default().ended = cx.now;
        let listing = match result {
            Ok(ServiceReply::Storage(StorageReply::Listing(listing))) => listing,
            other => {
                let walk = self.lists.walks.entry(folder).or_default();
                cx.fails(&mut walk.failing, 3);
                walk.due = walk.failing.until;
                let is_told = walk.failing.is_told();
                let told = other.err().filter(|error| is_told || error.next() == crate::model::Next::Park);
                if let Some(error) = told {
                    walk.trouble = Some(NotListed::Failing(error));
                }
                return;
            }
        };
        if !self.tree.is_listed(folder.as_ref()) {
            // Its parent's list lacked the folder meanwhile: each of its files is fetched by id before any act.
            return;
        }
        let changed = self.take_in(cx, folder.as_ref(), tick, &listing);
        let passed_over = self.lists.pass.is_some_and(|pass| tick <= pass.since);
        let walk = self.lists.walks.entry(folder.clone()).or_default();
        walk.failing = Failing::default();
        let too_old = walk.wanted.is_some_and(|since| tick <= since);
        if !too_old {
            walk.wanted = None;
        }
        walk.looked = tick;
        let first = listing.skipped.first();
        walk.trouble = first.map(|why| NotListed::Entries(listing.skipped.len(), why.clone()));
        if passed_over || !too_old {
            walk.due = cx.now;
        }
        // The first list of a folder is no activity.
        if changed && walk.poll.last.0 > 0 {
            poll::changed(&mut walk.poll, cx.now);
        } else {
            poll::unchanged(&mut walk.poll);
        }
        walk.poll.last = cx.now;
        let poll = walk.poll;
        if let Some(id) = &folder {
            self.edit_folder(cx, id, |node| node.poll = poll);
        }
        self.tree.folders_active = true;
        // A replaced or renamed file waits for a list that shows it anew, in any folder.
        let replaced = self.files.values().filter(|node| node.replaced_by.is_some());
        self.queue.dirty.extend(replaced.map(|node| node.remote.id.clone()));
        self.mark_missing_dirty();
        self.confirm_uploads(cx, folder.as_ref(), asked_at)
    }

    /// Takes in a list; returns whether it had news.
    fn take_in(
        &mut self,
        cx: &mut Turn<'_>,
        folder: Option<&FolderId>,
        tick: u64,
        listing: &StorageListing,
    ) -> bool {
        let mut changed = false;
        for inner in &listing.folders {
            changed |= self.folder_listed(cx, inner);
        }
        let mut too_old = false;
        for file in &listing.files {
            if self.is_from_before(&file.id, tick) {
                let known = self.files.get(&file.id);
                too_old |= known.is_none_or(|node| node.remote != *file || node.seen != Seen::Listed);
            } else {
                changed |= self.file_listed(cx, file);
            }
        }
        if listing.skipped.is_empty() {
            too_old |= self.lacks(folder, listing).any(|id| self.is_from_before(id, tick));
            changed |= self.take_in_absences(cx, folder, tick, listing);
        }
        if too_old {
            // If a part of the list is not believed, another list is requested, because that part may be news.
            self.lists.walk_by(folder, cx.now, cx.tick);
        }
        changed
    }

    /// Whether an answer to a request issued at `tick` may show a file as it was before our change at the service.
    /// Disk acts do not outdate an answer.
    fn is_from_before(&self, file: &FileId, tick: u64) -> bool {
        self.of(file).acted.max(self.guarding.trashed.get(file).copied().unwrap_or(0)) >= tick
    }

    /// Files that were listed in a folder and are not in this list of it.
    fn lacks<'a>(
        &'a self,
        folder: Option<&'a FolderId>,
        listing: &'a StorageListing,
    ) -> impl Iterator<Item = &'a FileId> {
        self.files
            .values()
            .filter(move |node| node.remote.folder.as_ref() == folder && node.seen == Seen::Listed)
            .map(|node| &node.remote.id)
            .filter(|id| !listing.files.iter().any(|file| file.id == **id))
    }

    fn folder_listed(&mut self, cx: &mut Turn<'_>, seen: &StorageFolder) -> bool {
        let Some(node) = self.tree.folders.get(&seen.id) else {
            let node = FolderNode {
                remote: seen.clone(),
                listed: true,
                stem: None,
                at: None,
                poll: poll::fresh(cx.now),
                approved: false,
            };
            cx.store.save_storage_folder(&node);
            self.tree.folders.insert(seen.id.clone(), node);
            let walk = Walk { due: cx.now, poll: poll::fresh(cx.now), ..Walk::default() };
            self.lists.walks.insert(Some(seen.id.clone()), walk);
            return true;
        };
        let back = !node.listed;
        let moved = node.remote.parent != seen.parent || node.remote.name != seen.name;
        if back {
            self.lists.walk_by(Some(&seen.id), cx.now, cx.tick);
        }
        self.edit_folder(cx, &seen.id, |node| {
            if node.remote.name != seen.name || node.remote.parent != seen.parent {
                node.stem = None;
            }
            node.remote = seen.clone();
            node.listed = true;
            node.approved = false;
        });
        if moved {
            self.mark_all_dirty();
        }
        back || moved
    }

    fn file_listed(&mut self, cx: &mut Turn<'_>, seen: &StorageFile) -> bool {
        let now = cx.now;
        let Some(node) = self.files.get(&seen.id) else {
            let node = FileNode::listed(seen.clone(), now);
            cx.store.save_storage_file(&node);
            self.files.insert(seen.id.clone(), node);
            self.queue.dirty.insert(seen.id.clone());
            self.runtime(&seen.id).met_at = now;
            return true;
        };
        let changed = node.remote != *seen || node.seen != Seen::Listed;
        let back = node.seen != Seen::Listed;
        let left = node.remote.folder.clone();
        if let Some(runtime) = self.runtimes.get_mut(&seen.id)
            && (std::mem::take(&mut runtime.hidden) || back)
        {
            runtime.is_back();
        }
        if left != seen.folder {
            self.mark_dirty_in(left.as_ref());
        }
        self.take_in_file(cx, seen);
        self.edit_file(cx, &seen.id, |node| {
            // An approval of the file's removal at the service ends here. An approval of its removal in the folder
            // lasts until it is back there.
            node.approved &= node.seen == Seen::Listed;
            node.seen = Seen::Listed;
            node.seen_at = now;
        });
        if changed {
            // An item that was in the way of another file may be gone now.
            self.mark_dirty_in(seen.folder.as_ref());
        }
        changed
    }

    /// Takes in the service's fields of a file, from a list or a GET.
    pub(super) fn take_in_file(&mut self, cx: &mut Turn<'_>, seen: &StorageFile) {
        let runtime = self.runtimes.get_mut(&seen.id);
        let old = self.files.get(&seen.id).map(|node| (node.remote.attachment.clone(), node.remote.size));
        if let Some(runtime) = runtime.filter(|_| old != Some((seen.attachment.clone(), seen.size))) {
            runtime.link = None;
            runtime.fetched = None;
            runtime.got = 0;
            runtime.failing.count = 0;
            runtime.failing.until = Timestamp::default();
            runtime.trouble = None;
        }
        self.edit_file(cx, &seen.id, |node| {
            if node.remote.filename != seen.filename || node.remote.folder != seen.folder {
                node.stem = None;
            }
            if node.replaced_by.is_some() && node.remote.attachment != seen.attachment {
                // Another client gave the replaced file new content: it is an ordinary file again.
                (node.replaced_by, node.stem) = (None, None);
            }
            node.remote = seen.clone();
        })
    }

    fn take_in_absences(
        &mut self,
        cx: &mut Turn<'_>,
        folder: Option<&FolderId>,
        tick: u64,
        listing: &StorageListing,
    ) -> bool {
        let files: Vec<FileId> =
            self.lacks(folder, listing).filter(|id| !self.is_from_before(id, tick)).cloned().collect();
        let is_lacked = |node: &FolderNode| !listing.folders.iter().any(|inner| inner.id == node.remote.id);
        let folders = self.tree.listed_in(folder, is_lacked);
        if files.len() > 1 || !folders.is_empty() {
            // They may have moved to another folder, which then shows them.
            self.lists.walk_everything_by(cx.now, cx.tick);
        }
        let is_news = !files.is_empty() || !folders.is_empty();
        self.lose_sight_of(cx, tick, files, folders);
        is_news
    }

    /// Marks items that are no longer listed, and the content of the folders among them: each file is fetched by id
    /// before any act.
    fn lose_sight_of(&mut self, cx: &mut Turn<'_>, tick: u64, files: Vec<FileId>, folders: Vec<FolderId>) {
        let unlisted = if planted("stored-absence-believed") { Seen::Gone } else { Seen::Unlisted };
        for id in files {
            self.edit_file(cx, &id, |node| node.seen = unlisted);
            self.runtime(&id).missed_at = cx.now;
        }
        for id in folders {
            self.edit_folder(cx, &id, |node| node.listed = false);
            self.tree.folders_missed.insert(id.clone(), tick);
            let inside = self.lacks(Some(&id), &StorageListing::default()).cloned().collect();
            self.lose_sight_of(cx, tick, inside, self.tree.listed_in(Some(&id), |_| true));
        }
    }
}

impl Lists {
    /// The number of folders not yet listed since the pass began (or at all, without a pass).
    pub(super) fn unwalked(&self, tree: &FolderTree) -> usize {
        let since = self.pass.map_or(0, |pass| pass.since);
        self.walks
            .iter()
            .filter(|(folder, walk)| {
                let known = self.pass.is_none() && folder.is_some() && walk.poll.last.0 > 0;
                tree.is_listed(folder.as_ref())
                    && !needs_user(walk)
                    && (walk.wanted.is_some() || walk.looked <= since && !known)
            })
            .count()
    }

    /// Whether each folder has been listed by a list that was issued after `tick`.
    pub(super) fn all_walked_since(&self, tick: u64, tree: &FolderTree) -> bool {
        self.walks
            .iter()
            .filter(|(folder, _)| tree.is_listed(folder.as_ref()))
            .all(|(_, walk)| walk.looked > tick)
    }

    /// The listed folders without a successful list since a time, except those whose lists fail again and again.
    pub(super) fn unseen_since(&self, since: Timestamp, tree: &FolderTree) -> Vec<Option<FolderId>> {
        let unseen = |folder: &Option<FolderId>, walk: &Walk| {
            tree.is_listed(folder.as_ref()) && walk.poll.last < since && !needs_user(walk)
        };
        let all = self.walks.iter().filter(|(folder, walk)| unseen(folder, walk));
        all.map(|(folder, _)| folder.clone()).collect()
    }

    /// Whether this folder's list is needed: the first one, that of a pass, or one that an item needs.
    fn is_needed(&self, walk: &Walk) -> bool {
        let in_pass = self.pass.is_some_and(|pass| walk.looked <= pass.since);
        walk.wanted.is_some() || walk.poll.last.0 == 0 || in_pass
    }

    /// The number of needed lists that may be issued by `now`.
    pub(super) fn walks_due(&self, now: Timestamp) -> usize {
        self.walks.values().filter(|walk| walk.may_be() <= now && self.is_needed(walk)).count()
    }

    /// The earliest times of the needed lists.
    pub(super) fn walk_times(&self) -> impl Iterator<Item = Timestamp> {
        self.walks.values().filter(|walk| self.is_needed(walk)).map(|walk| walk.may_be())
    }

    /// Whether a folder has been listed in this run; if not, a list is requested.
    pub(super) fn is_walked(&mut self, cx: &Turn<'_>, folder: Option<&FolderId>) -> bool {
        let is_walked = self.walks.get(&folder.cloned()).is_some_and(|walk| walk.looked > 0);
        if !is_walked {
            self.ask_for_list(folder, cx.now, cx.tick);
        }
        is_walked
    }

    /// Whether a list of this folder is recent enough for an upload, or failed just now.
    pub(super) fn was_just_listed(&self, folder: Option<&FolderId>, now: Timestamp) -> bool {
        let walk = self.walks.get(&folder.cloned());
        walk.is_none_or(|walk| walk.ended.0 > 0 && now.since_ms(walk.ended) <= FRESH_MS)
    }

    /// Whether a successful list of this folder is recent enough to trash a file of it.
    pub(super) fn was_seen_lately(&self, folder: Option<&FolderId>, now: Timestamp) -> bool {
        let walk = self.walks.get(&folder.cloned());
        walk.is_none_or(|walk| walk.poll.last.0 > 0 && now.since_ms(walk.poll.last) <= FRESH_MS)
    }

    /// Requests a list of a folder, unless one is already needed.
    pub(super) fn ask_for_list(&mut self, folder: Option<&FolderId>, now: Timestamp, tick: u64) {
        if self.walks.get(&folder.cloned()).is_some_and(|walk| walk.wanted.is_none()) {
            self.walk_by(folder, now, tick);
        }
    }

    /// Requests a list of a folder at a time, issued after `tick`, because a running one may be too old.
    pub(super) fn walk_by(&mut self, folder: Option<&FolderId>, at: Timestamp, tick: u64) {
        if let Some(walk) = self.walks.get_mut(&folder.cloned()) {
            // This may also delay a list that polling had due earlier.
            walk.due = if walk.wanted.is_some() { walk.due.min(at) } else { at };
            walk.wanted = walk.wanted.max(Some(tick));
        }
    }

    pub(super) fn walk_everything_by(&mut self, at: Timestamp, tick: u64) {
        for walk in self.walks.values_mut() {
            walk.due = walk.due.min(at);
            walk.wanted = walk.wanted.max(Some(tick));
        }
    }
}

impl FolderTree {
    /// The listed folders in a folder that are meant.
    fn listed_in(&self, folder: Option<&FolderId>, is_meant: impl Fn(&FolderNode) -> bool) -> Vec<FolderId> {
        let inside =
            self.folders.values().filter(|node| node.remote.parent.as_ref() == folder && node.listed);
        inside.filter(|node| is_meant(node)).map(|node| node.remote.id.clone()).collect()
    }

    /// Whether the service shows a folder.
    pub(super) fn is_listed(&self, folder: Option<&FolderId>) -> bool {
        folder.is_none_or(|id| self.folders.get(id).is_some_and(|node| node.listed))
    }
}
