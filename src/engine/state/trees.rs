//! The three trees in memory with their indexes, written through to the store. Bodies stay in the store.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::core::items::forbidden::Forbidden;
use crate::engine::schedule::poll;
use crate::engine::state::context::Context;
use crate::engine::state::folder::Watching;
use crate::engine::state::former::FormerPages;
use crate::engine::state::ignoring::Ignoring;
use crate::engine::state::page_counts::PageCounts;
use crate::model::{
    Agreed, LocalFile, MirrorPath, Node, PageId, Presence, Settings, Timestamp, WorkspaceId, WorkspaceNode,
};
use crate::plan::names::Names;
use crate::plan::place::{AgreedFolders, Layout};
use crate::store::{Loaded, Polled};

#[derive(Debug, Default)]
pub(crate) struct Trees {
    pub(crate) workspaces: BTreeMap<WorkspaceId, WorkspaceNode>,
    pub(crate) pages: BTreeMap<PageId, Node>,
    pub(crate) files: BTreeMap<MirrorPath, LocalFile>,
    /// Page files that belong to no page.
    pub(crate) untracked_files: BTreeSet<MirrorPath>,
    /// Folders on disk as of the last scan, updated with our own acts.
    pub(crate) folders: BTreeSet<MirrorPath>,
    /// Names on disk that are not page files, at paths that a page file could need.
    occupied: BTreeSet<MirrorPath>,
    /// The names of files and of occupied paths, and the names reserved for pages.
    pub(crate) names: Names,
    /// Pages whose bodies have never been fetched, in the order of their first fetches; `None` if the order must be
    /// computed again. In a first mirror the list has all pages, and each fetch needs the next one.
    pub(crate) unseen: Option<VecDeque<PageId>>,
    /// Changes whose rows are not written yet.
    pub(crate) unsaved: Unsaved,
    /// Facts about all pages and files, updated with each change.
    pub(crate) page_counts: PageCounts,
    /// No page is due for the schedule before this time while at least `due_among` items are polled, except eager ones.
    pub(crate) due: Timestamp,
    pub(crate) due_among: i64,
    /// Counts changes of what a page list shows. After such a change, an unchanged list may contradict the trees.
    pub(crate) listing_generation: u64,
    /// Counts changes of pages: dashboards may differ after a change.
    pub(crate) changes: u64,
    /// Whether every file was found to be the file of its page, and neither has changed since.
    pub(crate) are_homes_checked: bool,
    /// The service's tree: children by parent.
    children: BTreeMap<(WorkspaceId, Option<PageId>), BTreeSet<PageId>>,
    /// The ignored items of the mirror.
    pub(crate) ignoring: Box<Ignoring>,
    agreed_folders: AgreedFolders,
    /// Ids in files that are pages', although no page of them is known now.
    pub(crate) former: FormerPages,
    /// What the service forbids in each workspace.
    pub(crate) forbidden: Forbidden,
}

/// Pages and files whose rows in the store are out of date. One event may change thousands. The rows are written in
/// batches, all of them before the commit that an effect rests on, and each once however often it changed.
#[derive(Debug, Default)]
pub(crate) struct Unsaved {
    /// Pages of which only the polling data changed.
    pub(crate) polled: BTreeSet<PageId>,
    pub(crate) pages: BTreeSet<PageId>,
    pub(crate) files: BTreeSet<MirrorPath>,
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
pub(crate) fn in_base(change: impl FnOnce(&mut Agreed)) -> impl FnOnce(&mut Node) {
    |node| {
        node.base.as_mut().map(change);
    }
}

impl Trees {
    pub(crate) fn new(loaded: Loaded, former: FormerPages) -> Self {
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

    pub(crate) fn put(&mut self, node: Node) {
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
    pub(crate) fn note_ignored(&mut self, id: &PageId, is_ignored: bool) {
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
    pub(crate) fn set_position(&mut self, id: &PageId, position: f64) {
        let Some(node) = self.pages.get_mut(id) else { return };
        node.remote.position = position;
        self.listing_generation += 1;
        if node.remote.body.is_none() {
            self.unseen = None;
        }
    }

    /// The data that places are computed from.
    pub(crate) fn layout(&self) -> Layout<'_> {
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

    pub(crate) fn occupied(&self) -> &BTreeSet<MirrorPath> {
        &self.occupied
    }

    pub(crate) fn occupy(&mut self, path: MirrorPath) {
        if !self.occupied.contains(&path) {
            self.names.add(&path);
            self.occupied.insert(path);
        }
    }

    /// Replaces the set of occupied paths.
    pub(crate) fn set_occupied(&mut self, paths: impl IntoIterator<Item = MirrorPath>) {
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

    pub(crate) fn take(&mut self, id: &PageId) -> Option<Node> {
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

    pub(crate) fn children(
        &self,
        workspace: &WorkspaceId,
        parent: Option<&PageId>,
    ) -> impl Iterator<Item = &PageId> {
        self.children.get(&(workspace.clone(), parent.cloned())).into_iter().flatten()
    }

    pub(crate) fn child_nodes(
        &self,
        workspace: &WorkspaceId,
        parent: Option<&PageId>,
    ) -> impl Iterator<Item = &Node> {
        self.children(workspace, parent).filter_map(|id| self.pages.get(id))
    }

    /// Every page beneath `page` at the service, `page` first. A cycle of parents is walked once.
    pub(crate) fn subtree(&self, page: &PageId) -> Vec<PageId> {
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
    pub(crate) fn needs_user(&self) -> impl Iterator<Item = &Node> {
        self.page_counts.needs_user.iter().filter_map(|id| self.pages.get(id))
    }

    pub(crate) fn file_of(&self, node: &Node) -> Option<&LocalFile> {
        node.file.as_ref().and_then(|path| self.files.get(path))
    }

    /// Applies a folder's move to the folders and occupied paths in it. Returns the files in it with their new paths.
    pub(crate) fn rebase(&mut self, from: &MirrorPath, to: &MirrorPath) -> Vec<(MirrorPath, MirrorPath)> {
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

impl Trees {
    pub(crate) fn save_workspace(&mut self, node: WorkspaceNode, cx: &mut Context) {
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

    pub(crate) fn forget_file(
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

impl Trees {
    /// Whether more rows are out of date than are written with a commit.
    pub(crate) fn is_far_behind(&self) -> bool {
        self.unsaved.rows() > ROWS_AT_ONCE
    }

    /// Writes one batch of the rows that are out of date.
    pub(crate) fn write_rows(&mut self, cx: &mut Context) {
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
    pub(crate) fn write_all_rows(&mut self, cx: &mut Context) {
        while self.unsaved.rows() > 0 {
            self.write_rows(cx);
        }
    }

    /// Whether a workspace is present and its page list has been seen.
    pub(crate) fn is_live(&self, workspace: &WorkspaceId) -> bool {
        self.workspaces.get(workspace).is_some_and(|node| node.present && node.listed_at.0 > 0)
    }

    /// Whether a mirrored workspace is absent now, or not chosen any more.
    pub(crate) fn is_away(&self, workspace: &WorkspaceId) -> bool {
        self.workspaces.get(workspace).is_some_and(|node| !node.present)
    }

    /// The live workspaces, for callers that check all pages: there are few.
    pub(crate) fn live_workspaces(&self) -> Vec<&WorkspaceId> {
        self.workspaces.keys().filter(|workspace| self.is_live(workspace)).collect()
    }

    /// Why nothing may be written to the service's side of a workspace; `None` if writes are possible.
    pub(crate) fn read_only(&self, workspace: &WorkspaceId, settings: &Settings) -> Option<ReadOnly<'_>> {
        let node = self.workspaces.get(workspace)?;
        if self.is_down(workspace, settings) {
            return Some(ReadOnly::Down(&node.seen.name));
        }
        node.seen.frozen.then_some(ReadOnly::Frozen(&node.seen.name))
    }

    pub(crate) fn is_there(&self, page: &PageId) -> bool {
        self.pages.get(page).is_some_and(|node| node.remote.presence.is_shown())
    }
}

/// Why nothing may be written to the service's side of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReadOnly<'a> {
    #[error("{0} is mirrored down only")]
    Down(&'a str),
    #[error("the workspace {0} is frozen")]
    Frozen(&'a str),
}

/// Whether a page is listed and its text is known.
pub(crate) fn is_known(node: &Node) -> bool {
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
