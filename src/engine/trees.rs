//! The three trees in memory with their indexes, written through to the store. Bodies stay in the store.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::context::Context;
use super::folder::Watching;
use super::ignoring::Ignoring;
use super::named::FormerPages;
use super::page_counts::PageCounts;
use super::pages::Pages;
use super::stale::OVERWRITE_MS;
use super::{Engine, poll};
use crate::core::act::forbidden::Forbidden;
use crate::model::{
    Agreed, LocalFile, MirrorPath, Node, PageId, Presence, Settings, Timestamp, WorkspaceId, WorkspaceNode,
};
use crate::plan::names::Names;
use crate::plan::place::{AgreedFolders, Layout};
use crate::store::{Loaded, Polled};

#[derive(Debug, Default)]
pub(super) struct Trees {
    pub(super) workspaces: BTreeMap<WorkspaceId, WorkspaceNode>,
    pub(super) pages: BTreeMap<PageId, Node>,
    pub(super) files: BTreeMap<MirrorPath, LocalFile>,
    /// Page files that belong to no page.
    pub(super) untracked_files: BTreeSet<MirrorPath>,
    /// Folders on disk as of the last scan, updated with our own acts.
    pub(super) folders: BTreeSet<MirrorPath>,
    /// Names on disk that are not page files, at paths that a page file could need.
    occupied: BTreeSet<MirrorPath>,
    /// The names of files and of occupied paths, and the names reserved for pages.
    pub(super) names: Names,
    /// Pages whose bodies have never been fetched, in the order of their first fetches; `None` if the order must be
    /// computed again. In a first mirror the list has all pages, and each fetch needs the next one.
    pub(super) unseen: Option<VecDeque<PageId>>,
    /// Changes whose rows are not written yet.
    pub(super) unsaved: Unsaved,
    /// Facts about all pages and files, updated with each change.
    pub(super) page_counts: PageCounts,
    /// No page is due for the schedule before this time while at least `due_among` items are polled, except eager ones.
    pub(super) due: Timestamp,
    pub(super) due_among: i64,
    /// Counts changes of what a page list shows. After such a change, an unchanged list may contradict the trees.
    pub(super) listing_generation: u64,
    /// Counts changes of pages: dashboards may differ after a change.
    pub(super) changes: u64,
    /// Whether every file was found to be the file of its page, and neither has changed since.
    pub(super) are_homes_checked: bool,
    /// The service's tree: children by parent.
    children: BTreeMap<(WorkspaceId, Option<PageId>), BTreeSet<PageId>>,
    /// The ignored items of the mirror.
    pub(super) ignoring: Box<Ignoring>,
    agreed_folders: AgreedFolders,
    /// Ids in files that are pages', although no page of them is known now.
    pub(super) former: FormerPages,
    /// What the service forbids in each workspace.
    pub(super) forbidden: Forbidden,
}

/// Pages and files whose rows in the store are out of date. One event may change thousands. The rows are written in
/// batches, all of them before the commit that an effect rests on, and each once however often it changed.
#[derive(Debug, Default)]
pub(super) struct Unsaved {
    /// Pages of which only the polling data changed.
    polled: BTreeSet<PageId>,
    pub(super) pages: BTreeSet<PageId>,
    files: BTreeSet<MirrorPath>,
}

impl Unsaved {
    fn rows(&self) -> usize {
        self.polled.len() + self.pages.len() + self.files.len()
    }
}

/// Rows written in one turn of the loop, which takes about twenty milliseconds. Few in debug builds, so that tests of
/// small folders have several batches.
const ROWS_AT_ONCE: usize = if cfg!(debug_assertions) { 20 } else { 300 };

/// A change of a page's base, if it has one.
pub(super) fn in_base(change: impl FnOnce(&mut Agreed)) -> impl FnOnce(&mut Node) {
    |node| {
        node.base.as_mut().map(change);
    }
}

impl Trees {
    pub(super) fn new(loaded: Loaded, former: FormerPages) -> Self {
        let mut trees =
            Self { workspaces: loaded.workspaces, files: loaded.files, former, ..Self::default() };
        for node in loaded.pages.values() {
            trees.index(node);
        }
        for file in trees.files.values() {
            trees.page_counts.add_file(file);
            trees.names.add(&file.path);
        }
        trees.pages = loaded.pages;
        trees.untracked_files =
            trees.files.values().filter(|file| file.page.is_none()).map(|file| file.path.clone()).collect();
        trees
    }

    pub(super) fn put(&mut self, node: Node) {
        self.follow_unseen(&node);
        let before = self.pages.get(&node.id);
        let is_alike =
            |in_this: fn(&Node, &Node) -> bool| before.is_some_and(|before| in_this(before, &node));
        let (is_listed, is_known, is_at_home) =
            (is_alike(is_listed_alike), is_alike(is_known_alike), is_alike(is_at_home_alike));
        if !is_listed {
            self.listing_generation += 1;
        }
        if !is_known {
            self.page_counts.arrivals += 1;
        }
        self.changes += 1;
        self.are_homes_checked &= is_at_home;
        self.unindex(&node.id.clone());
        self.index(&node);
        self.pages.insert(node.id.clone(), node);
    }

    fn follow_due(&mut self, node: &Node) {
        if node.remote.presence.is_shown() && !self.ignoring.pages.contains(&node.id) {
            self.due = self.due.min(poll::due(&node.poll, self.due_among));
        }
    }

    /// Notes whether a page is ignored. Ignored pages are not fetched.
    pub(super) fn note_ignored(&mut self, id: &PageId, is_ignored: bool) {
        let is_new = match is_ignored {
            true => self.ignoring.pages.insert(id.clone()),
            false => self.ignoring.pages.remove(id),
        };
        if is_new {
            self.unseen = None;
            self.find_due(self.due_among);
        }
    }

    /// Changes the position of a page among its siblings. No index here depends on it.
    pub(super) fn set_position(&mut self, id: &PageId, position: f64) {
        let Some(node) = self.pages.get_mut(id) else { return };
        node.remote.position = position;
        self.listing_generation += 1;
        if node.remote.body.is_none() {
            self.unseen = None;
        }
    }

    /// The data that places are computed from.
    pub(super) fn layout(&self) -> Layout<'_> {
        Layout {
            workspaces: &self.workspaces,
            pages: &self.pages,
            files: &self.files,
            folders: &self.folders,
            occupied: &self.occupied,
            names: &self.names,
            agreed: &self.agreed_folders,
        }
    }

    pub(super) fn occupied(&self) -> &BTreeSet<MirrorPath> {
        &self.occupied
    }

    pub(super) fn occupy(&mut self, path: MirrorPath) {
        if !self.occupied.contains(&path) {
            self.names.add(&path);
            self.occupied.insert(path);
        }
    }

    /// Replaces the set of occupied paths.
    pub(super) fn set_occupied(&mut self, paths: impl IntoIterator<Item = MirrorPath>) {
        let paths: BTreeSet<MirrorPath> = paths.into_iter().collect();
        for path in self.occupied.difference(&paths) {
            self.names.remove(path);
        }
        for path in paths.difference(&self.occupied) {
            self.names.add(path);
        }
        self.occupied = paths;
    }

    fn index(&mut self, node: &Node) {
        self.names.promise(node);
        let key = (node.workspace.clone(), node.remote.parent.clone());
        self.children.entry(key).or_default().insert(node.id.clone());
        self.page_counts.add(node);
        self.follow_due(node);
        self.agreed_folders.add(node);
    }

    pub(super) fn take(&mut self, id: &PageId) -> Option<Node> {
        self.unindex(id);
        self.unseen = None;
        self.listing_generation += 1;
        self.changes += 1;
        self.are_homes_checked = false;
        self.pages.remove(id)
    }

    /// Keeps the order of first fetches if only a body was fetched. Other changes that matter to it discard it.
    fn follow_unseen(&mut self, node: &Node) {
        let Some(before) = self.pages.get(&node.id) else {
            self.unseen = None;
            return;
        };
        let (old, new) = (&before.remote, &node.remote);
        let is_at_home = old.parent == new.parent && before.workspace == node.workspace;
        let is_ranked_alike = old.presence == new.presence && old.position.total_cmp(&new.position).is_eq();
        match (old.body.is_some(), new.body.is_some()) {
            (true, true) if is_at_home => {}
            (false, false) if is_at_home && is_ranked_alike => {}
            (false, true) if is_at_home && is_ranked_alike => {
                if let Some(unseen) = &mut self.unseen
                    && let Some(at) = unseen.iter().position(|id| *id == node.id)
                {
                    unseen.remove(at);
                }
            }
            _ => self.unseen = None,
        }
    }

    fn unindex(&mut self, id: &PageId) {
        let Some(node) = self.pages.get(id) else { return };
        self.page_counts.remove(node);
        self.names.withdraw(node);
        let key = (node.workspace.clone(), node.remote.parent.clone());
        if let Some(siblings) = self.children.get_mut(&key) {
            siblings.remove(id);
            if siblings.is_empty() {
                self.children.remove(&key);
            }
        }
        self.agreed_folders.remove(node);
    }

    pub(super) fn children(
        &self,
        workspace: &WorkspaceId,
        parent: Option<&PageId>,
    ) -> impl Iterator<Item = &PageId> {
        self.children.get(&(workspace.clone(), parent.cloned())).into_iter().flatten()
    }

    pub(super) fn child_nodes(
        &self,
        workspace: &WorkspaceId,
        parent: Option<&PageId>,
    ) -> impl Iterator<Item = &Node> {
        self.children(workspace, parent).filter_map(|id| self.pages.get(id))
    }

    /// Every page beneath `page` at the service, `page` first. A cycle of parents is walked once.
    pub(super) fn subtree(&self, page: &PageId) -> Vec<PageId> {
        let mut all = vec![page.clone()];
        let mut seen: BTreeSet<PageId> = all.iter().cloned().collect();
        let mut at = 0;
        while at < all.len() {
            if let Some(node) = self.pages.get(&all[at]) {
                let more: Vec<PageId> = self.children(&node.workspace, Some(&node.id)).cloned().collect();
                all.extend(more.into_iter().filter(|id| seen.insert(id.clone())));
            }
            at += 1;
        }
        all
    }

    /// The pages that need the user.
    pub(super) fn needs_user(&self) -> impl Iterator<Item = &Node> {
        self.page_counts.needs_user.iter().filter_map(|id| self.pages.get(id))
    }

    pub(super) fn file_of(&self, node: &Node) -> Option<&LocalFile> {
        node.file.as_ref().and_then(|path| self.files.get(path))
    }

    /// Applies a folder's move to the folders and occupied paths in it. Returns the files in it with their new paths.
    pub(super) fn rebase(&mut self, from: &MirrorPath, to: &MirrorPath) -> Vec<(MirrorPath, MirrorPath)> {
        let moved: Vec<(MirrorPath, MirrorPath)> = self
            .files
            .range(from.clone()..)
            .take_while(|(path, _)| path.as_str().starts_with(from.as_str()))
            .filter_map(|(path, _)| Some((path.clone(), path.rebase(from, to)?)))
            .collect();
        self.folders =
            self.folders.iter().map(|path| path.rebase(from, to).unwrap_or_else(|| path.clone())).collect();
        let occupied: Vec<MirrorPath> =
            self.occupied.iter().map(|path| path.rebase(from, to).unwrap_or_else(|| path.clone())).collect();
        self.set_occupied(occupied);
        moved
    }
}

impl Engine {
    /// Replaces times in the future by now. They occur if the clock was set back between two runs.
    pub(super) fn clamp_times(&mut self, now: Timestamp) {
        for node in self.pages.trees.pages.values_mut() {
            node.first_seen = node.first_seen.min(now);
            node.poll.last = node.poll.last.min(now);
            node.poll.life = node.poll.life.min(now);
            node.poll.changes_at = node.poll.changes_at.min(now);
            node.missing_since = node.missing_since.map(|at| at.min(now));
        }
    }
}

impl Trees {
    pub(super) fn save_workspace(&mut self, node: WorkspaceNode, cx: &mut Context) {
        let known = self.workspaces.get(&node.seen.id);
        if known != Some(&node) {
            let id = node.seen.id.clone();
            match known.filter(|known| known.listed_at.0 > 0) {
                Some(known) if (WorkspaceNode { listed_at: node.listed_at, ..known.clone() }) == node => {
                    cx.store.save_listed_at(&id, node.listed_at);
                }
                _ => cx.store.save_workspace(&node),
            }
            self.unseen = None;
            let was_live = self.is_live(&id);
            self.workspaces.insert(id.clone(), node);
            if self.is_live(&id) && !was_live {
                self.page_counts.arrivals += 1;
            }
        }
    }

    pub(super) fn forget_file(
        &mut self,
        path: &MirrorPath,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> Option<LocalFile> {
        watch.forget(path);
        watch.last_seen.remove(path);
        self.untracked_files.remove(path);
        self.page_counts.problems.remove(path);
        let file = self.files.remove(path);
        self.are_homes_checked = false;
        self.unsaved.files.remove(path);
        if file.is_some() {
            self.names.remove(path);
            cx.store.delete_file(path);
        }
        file
    }
}

impl Pages {
    pub(super) fn forget_page(&mut self, id: &PageId, cx: &mut Context) {
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
    pub(super) fn rename_file(
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

impl Trees {
    /// Whether more rows are out of date than are written with a commit.
    pub(super) fn is_far_behind(&self) -> bool {
        self.unsaved.rows() > ROWS_AT_ONCE
    }

    /// Writes one batch of the rows that are out of date.
    pub(super) fn write_rows(&mut self, cx: &mut Context) {
        for _ in 0..ROWS_AT_ONCE {
            if let Some(id) = self.unsaved.polled.pop_first() {
                if let Some(node) = self.pages.get(&id) {
                    cx.store.save_poll(Polled::Page(&id), &node.poll);
                }
            } else if let Some(id) = self.unsaved.pages.pop_first() {
                if let Some(node) = self.pages.get(&id) {
                    cx.store.save_page(node);
                }
            } else if let Some(path) = self.unsaved.files.pop_first() {
                if let Some(file) = self.files.get(&path) {
                    cx.store.save_file(file);
                }
            } else {
                break;
            }
        }
    }

    /// Writes all rows that are out of date, before a commit.
    pub(super) fn write_all_rows(&mut self, cx: &mut Context) {
        while self.unsaved.rows() > 0 {
            self.write_rows(cx);
        }
    }

    /// Whether a workspace is present and its page list has been seen.
    pub(super) fn is_live(&self, workspace: &WorkspaceId) -> bool {
        self.workspaces.get(workspace).is_some_and(|node| node.present && node.listed_at.0 > 0)
    }

    /// Whether a mirrored workspace is absent now, or not chosen any more.
    pub(super) fn is_away(&self, workspace: &WorkspaceId) -> bool {
        self.workspaces.get(workspace).is_some_and(|node| !node.present)
    }

    /// The live workspaces, for callers that check all pages: there are few.
    pub(super) fn live_workspaces(&self) -> Vec<&WorkspaceId> {
        self.workspaces.keys().filter(|workspace| self.is_live(workspace)).collect()
    }

    /// Why nothing may be written to the service's side of a workspace; `None` if writes are possible.
    pub(super) fn read_only(&self, workspace: &WorkspaceId, settings: &Settings) -> Option<ReadOnly<'_>> {
        let node = self.workspaces.get(workspace)?;
        if self.is_down(workspace, settings) {
            return Some(ReadOnly::Down(&node.seen.name));
        }
        node.seen.frozen.then_some(ReadOnly::Frozen(&node.seen.name))
    }

    pub(super) fn is_there(&self, page: &PageId) -> bool {
        self.pages.get(page).is_some_and(|node| node.remote.presence.is_shown())
    }
}

impl Pages {
    pub(super) fn save_page(&mut self, node: Node, cx: &mut Context) {
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
    pub(super) fn edit_page(&mut self, id: &PageId, change: impl FnOnce(&mut Node), cx: &mut Context) {
        let Some(mut node) = self.trees.pages.get(id).cloned() else { return };
        change(&mut node);
        self.save_page(node, cx);
    }

    pub(super) fn save_file(&mut self, mut file: LocalFile) {
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

/// Why nothing may be written to the service's side of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReadOnly<'a> {
    #[error("{0} is mirrored down only")]
    Down(&'a str),
    #[error("the workspace {0} is frozen")]
    Frozen(&'a str),
}

/// Whether a page is listed and its text is known.
pub(super) fn is_known(node: &Node) -> bool {
    node.remote.body.is_some() && node.remote.presence == Presence::Listed
}

/// Whether both nodes are known or neither is, in the same workspace.
fn is_known_alike(one: &Node, other: &Node) -> bool {
    one.workspace == other.workspace && is_known(one) == is_known(other)
}

/// Whether both nodes have the same file, or miss it alike.
fn is_at_home_alike(one: &Node, other: &Node) -> bool {
    one.file == other.file && one.missing_since.is_some() == other.missing_since.is_some()
}

/// Whether a page list shows the same of both nodes.
fn is_listed_alike(one: &Node, other: &Node) -> bool {
    let (old, new) = (&one.remote, &other.remote);
    one.workspace == other.workspace
        && old.presence == new.presence
        && old.position.total_cmp(&new.position).is_eq()
        && old.parent == new.parent
        && old.title == new.title
        && old.icon == new.icon
}
