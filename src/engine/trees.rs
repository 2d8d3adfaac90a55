//! The three trees in memory with their indexes, written through to the store. Bodies stay in the store.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::boards::Boards;
use super::context::Context;
use super::folder::Watching;
use super::ignoring::Ignoring;
use super::looks::OVERWRITE_MS;
use super::page_counts::PageCounts;
use super::pages::Pages;
use super::{Engine, poll};
use crate::model::{
    LocalFile, MirrorPath, Node, PageId, Presence, Settings, Timestamp, WorkspaceId, WorkspaceNode,
};
use crate::plan::names::Names;
use crate::plan::place::{Layout, agreed_folders};
use crate::store::{Loaded, Polled, StoreError};

#[derive(Debug, Default)]
pub(super) struct Trees {
    pub(super) workspaces: BTreeMap<WorkspaceId, WorkspaceNode>,
    pub(super) pages: BTreeMap<PageId, Node>,
    pub(super) files: BTreeMap<MirrorPath, LocalFile>,
    /// Page files that are no page's.
    pub(super) untracked_files: BTreeSet<MirrorPath>,
    /// Folders on disk at the last scan, kept up with our own acts.
    pub(super) folders: BTreeSet<MirrorPath>,
    /// Names on disk that are no page files but stand where one could be wanted.
    occupied: BTreeSet<MirrorPath>,
    /// The names of files, of what is occupied, and those promised to pages.
    pub(super) names: Names,
    /// The pages whose bodies have never been seen, in the order in which they are looked at; `None` when it must be worked
    /// out anew. In a first mirror that is all of them, and each look asks for the next.
    pub(super) unseen: Option<VecDeque<PageId>>,
    /// What changed since it was last written down.
    unsaved: Unsaved,
    /// What is asked of all pages and files.
    pub(super) page_counts: PageCounts,
    /// Before this moment no page is worth a look of the schedule, unless it is eager.
    pub(super) due: Timestamp,
    /// Counts what a list of pages could gainsay: whatever was changed of a page that such a list tells.
    pub(super) listing_generation: u64,
    /// Counts changes of pages: what is drawn from them may be another.
    pub(super) changes: u64,
    /// The service's tree: children by parent.
    children: BTreeMap<(WorkspaceId, Option<PageId>), BTreeSet<PageId>>,
    /// What the user keeps out of the mirror.
    pub(super) ignoring: Box<Ignoring>,
    /// Whose subpages are agreed to be in a folder.
    agreed_folders: BTreeMap<MirrorPath, PageId>,
}

/// Pages and files whose rows are behind. Thousands may change at one event; they are written down in portions, all of
/// them before the commit that an effect rests on, and each once however often it changed.
#[derive(Debug, Default)]
struct Unsaved {
    /// Of which nothing changed but how they are polled.
    polled: BTreeSet<PageId>,
    pages: BTreeSet<PageId>,
    files: BTreeSet<MirrorPath>,
}

impl Unsaved {
    fn rows(&self) -> usize {
        self.polled.len() + self.pages.len() + self.files.len()
    }
}

/// So many rows are written in one turn of the loop, which takes some twenty milliseconds. Few in debug builds, so that
/// tests of small folders see portions.
const ROWS_AT_ONCE: usize = if cfg!(debug_assertions) { 20 } else { 300 };

impl Trees {
    pub(super) fn new(loaded: Loaded) -> Self {
        let mut trees = Self { workspaces: loaded.workspaces, files: loaded.files, ..Self::default() };
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
        if !self.pages.get(&node.id).is_some_and(|before| is_listed_alike(before, &node)) {
            self.listing_generation += 1;
        }
        if !self.pages.get(&node.id).is_some_and(|before| is_known_alike(before, &node)) {
            self.page_counts.arrivals += 1;
        }
        self.changes += 1;
        self.unindex(&node.id.clone());
        self.index(&node);
        self.pages.insert(node.id.clone(), node);
    }

    fn follow_due(&mut self, node: &Node) {
        if node.remote.presence.is_shown() && !self.ignoring.pages.contains(&node.id) {
            self.due = self.due.min(poll::due(&node.poll));
        }
    }

    /// Finds anew when a page may next be worth a look: those whose time it was have had one, or may not have one now.
    pub(super) fn find_due(&mut self) {
        let shown = self.pages.values().filter(|node| node.remote.presence.is_shown());
        let shown = shown.filter(|node| !self.ignoring.pages.contains(&node.id));
        self.due = shown.map(|node| poll::due(&node.poll)).min().unwrap_or(Timestamp(i64::MAX));
    }

    /// Notes whether a page rests because it is ignored: such a one is not looked at.
    pub(super) fn note_ignored(&mut self, id: &PageId, is_ignored: bool) {
        let is_new = match is_ignored {
            true => self.ignoring.pages.insert(id.clone()),
            false => self.ignoring.pages.remove(id),
        };
        if is_new {
            self.unseen = None;
            self.find_due();
        }
    }

    /// Changes the place of a page among its siblings, which no index here knows of.
    pub(super) fn set_position(&mut self, id: &PageId, position: f64) {
        let Some(node) = self.pages.get_mut(id) else { return };
        node.remote.position = position;
        self.listing_generation += 1;
        if node.remote.body.is_none() {
            self.unseen = None;
        }
    }

    /// What places are worked out from.
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

    /// Only these are occupied from now on.
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
        for folder in agreed_folders(node) {
            self.agreed_folders.insert(folder, node.id.clone());
        }
    }

    pub(super) fn take(&mut self, id: &PageId) -> Option<Node> {
        self.unindex(id);
        self.unseen = None;
        self.listing_generation += 1;
        self.changes += 1;
        self.pages.remove(id)
    }

    /// Keeps the order of first looks while only a body was seen; anything else that it depends on ends it.
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
        for folder in agreed_folders(node) {
            if self.agreed_folders.get(&folder) == Some(id) {
                self.agreed_folders.remove(&folder);
            }
        }
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

    /// Every page beneath `page` at the service, itself first. A parent's loop is walked once.
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

    /// The pages that a person is listing_generation of.
    pub(super) fn needs_user(&self) -> impl Iterator<Item = &Node> {
        self.page_counts.needs_user.iter().filter_map(|id| self.pages.get(id))
    }

    pub(super) fn file_of(&self, node: &Node) -> Option<&LocalFile> {
        node.file.as_ref().and_then(|path| self.files.get(path))
    }

    /// Everything at or beneath a folder moved with it.
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
    /// Times from the future (the clock was set back between two runs) are taken for now.
    pub(super) fn clamp_times(&mut self, now: Timestamp) -> Result<(), StoreError> {
        for node in self.pages.trees.pages.values_mut() {
            node.poll.last = node.poll.last.min(now);
            node.poll.life = node.poll.life.min(now);
            node.poll.changes_at = node.poll.changes_at.min(now);
            node.missing_since = node.missing_since.map(|at| at.min(now));
        }
        self.pages.squeeze_questions(now, &mut self.cx)
    }
}

impl Boards {
    pub(super) fn save_workspace(
        &mut self,
        node: WorkspaceNode,
        trees: &mut Trees,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let known = trees.workspaces.get(&node.seen.id);
        if known != Some(&node) {
            let id = node.seen.id.clone();
            match known.filter(|known| known.listed_at.0 > 0) {
                Some(known) if (WorkspaceNode { listed_at: node.listed_at, ..known.clone() }) == node => {
                    cx.store.save_listed_at(&id, node.listed_at);
                }
                _ => cx.store.save_workspace(&node)?,
            }
            trees.unseen = None;
            let was_live = trees.is_live(&id);
            trees.workspaces.insert(id.clone(), node);
            if trees.is_live(&id) && !was_live {
                trees.page_counts.arrivals += 1;
                // What came to rest because its workspace was away has its turn again; lists wake the pages.
                self.mark_all_canvases_dirty();
            }
        }
        Ok(())
    }
}

impl Trees {
    pub(super) fn forget_file(
        &mut self,
        path: &MirrorPath,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> Result<Option<LocalFile>, StoreError> {
        watch.forget(path);
        watch.last_seen.remove(path);
        self.untracked_files.remove(path);
        self.page_counts.problems.remove(path);
        let file = self.files.remove(path);
        self.unsaved.files.remove(path);
        if file.is_some() {
            self.names.remove(path);
            cx.store.delete_file(path)?;
        }
        Ok(file)
    }
}

impl Pages {
    pub(super) fn forget_page(&mut self, id: &PageId, cx: &mut Context) -> Result<(), StoreError> {
        // It may come back while an editor is still open that never saw what was pushed.
        let since = cx.now.plus_ms(-OVERWRITE_MS);
        if let Some(push) = self.trees.pages.get(id).and_then(|node| node.last_push.as_deref())
            && push.at >= since
        {
            cx.store.keep_left_push(id, push, since)?;
        }
        self.trees.take(id);
        self.trees.ignoring.pages.remove(id);
        self.trees.unsaved.pages.remove(id);
        self.request_queue.remove(id);
        cx.store.delete_page(id)?;
        if self.pending_updates.remove(id).is_some() {
            cx.store.delete_sent(id)?;
        }
        self.end_writing(id, cx)?;
        self.held.remove(id);
        if self.runtimes.remove(id).is_some_and(|runtime| runtime.reserved) {
            cx.pace.release();
        }
        self.dirty.remove(id);
        self.waiting.remove(id);
        Ok(())
    }

    /// A file has another path now; its page follows.
    pub(super) fn rename_file(
        &mut self,
        from: &MirrorPath,
        to: &MirrorPath,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let Some(mut file) = self.trees.forget_file(from, watch, cx)? else { return Ok(()) };
        file.path = to.clone();
        watch.last_seen.insert(to.clone(), file.stamp);
        if let Some(page) = file.page.clone() {
            self.edit_page(&page, |node| node.file = Some(to.clone()), cx)?;
        }
        self.save_file(file)
    }
}

impl Trees {
    /// Whether more rows are behind than go with a commit.
    pub(super) fn is_far_behind(&self) -> bool {
        self.unsaved.rows() > ROWS_AT_ONCE
    }

    /// Writes some of the rows that are behind.
    pub(super) fn write_rows(&mut self, cx: &mut Context) -> Result<(), StoreError> {
        for _ in 0..ROWS_AT_ONCE {
            // A row goes from the list when it is written: if SQLite refuses, it is still behind.
            if let Some(id) = self.unsaved.polled.first() {
                if let Some(node) = self.pages.get(id) {
                    cx.store.save_poll(Polled::Page(id), &node.poll);
                }
                self.unsaved.polled.pop_first();
            } else if let Some(id) = self.unsaved.pages.first() {
                if let Some(node) = self.pages.get(id) {
                    cx.store.save_page(node)?;
                }
                self.unsaved.pages.pop_first();
            } else if let Some(path) = self.unsaved.files.first() {
                if let Some(file) = self.files.get(path) {
                    cx.store.save_file(file)?;
                }
                self.unsaved.files.pop_first();
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Writes all of them, before a commit.
    pub(super) fn write_all_rows(&mut self, cx: &mut Context) -> Result<(), StoreError> {
        while self.unsaved.rows() > 0 {
            self.write_rows(cx)?;
        }
        Ok(())
    }

    /// Whether the workspace of a page is there and its list has been seen.
    pub(super) fn is_live(&self, workspace: &WorkspaceId) -> bool {
        self.workspaces.get(workspace).is_some_and(|node| node.present && node.listed_at.0 > 0)
    }

    /// Whether a workspace that was mirrored is not there any more, or not chosen.
    pub(super) fn is_away(&self, workspace: &WorkspaceId) -> bool {
        self.workspaces.get(workspace).is_some_and(|node| !node.present)
    }

    /// The workspaces that are live, for who asks of all pages: there are few.
    pub(super) fn live_workspaces(&self) -> Vec<&WorkspaceId> {
        self.workspaces.keys().filter(|workspace| self.is_live(workspace)).collect()
    }

    /// Why nothing may be written to the service's side of a workspace, if so.
    pub(super) fn read_only(&self, workspace: &WorkspaceId, settings: &Settings) -> Option<ReadOnly<'_>> {
        let node = self.workspaces.get(workspace)?;
        if self.is_down(workspace, settings) {
            return Some(ReadOnly::Down(&node.seen.name));
        }
        self.forbidden(workspace)
    }

    /// Why the service lets nothing be written to a workspace, if so.
    pub(super) fn forbidden(&self, workspace: &WorkspaceId) -> Option<ReadOnly<'_>> {
        let node = self.workspaces.get(workspace)?;
        if node.seen.frozen {
            return Some(ReadOnly::Frozen(&node.seen.name));
        }
        node.read_only.as_deref().map(ReadOnly::Refused)
    }

    pub(super) fn is_there(&self, page: &PageId) -> bool {
        self.pages.get(page).is_some_and(|node| node.remote.presence.is_shown())
    }
}

impl Pages {
    pub(super) fn save_page(&mut self, node: Node, cx: &mut Context) -> Result<(), StoreError> {
        let known = self.trees.pages.get(&node.id);
        if known == Some(&node) {
            return Ok(());
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
        Ok(())
    }

    /// Changes one page, if it is known.
    pub(super) fn edit_page(
        &mut self,
        id: &PageId,
        change: impl FnOnce(&mut Node),
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let Some(mut node) = self.trees.pages.get(id).cloned() else { return Ok(()) };
        change(&mut node);
        self.save_page(node, cx)
    }

    pub(super) fn save_file(&mut self, file: LocalFile) -> Result<(), StoreError> {
        if self.trees.files.get(&file.path) == Some(&file) {
            return Ok(());
        }
        self.trees.unsaved.files.insert(file.path.clone());
        if let Some(page) = &file.page {
            self.dirty.insert(page.clone());
            self.trees.untracked_files.remove(&file.path);
        } else {
            self.trees.untracked_files.insert(file.path.clone());
        }
        self.trees.page_counts.add_file(&file);
        if !self.trees.files.contains_key(&file.path) {
            self.trees.names.add(&file.path);
        }
        self.trees.files.insert(file.path.clone(), file);
        Ok(())
    }

    /// Which page answers a POST in doubt hangs on what came first, so the order of such times outlives the clock's
    /// step: those from the future become the last milliseconds before now. They are kept as that: what is seen in this
    /// run has times of its clock, and came after them also for the next run.
    fn squeeze_questions(&mut self, now: Timestamp, cx: &mut Context) -> Result<(), StoreError> {
        let is_unbound = |node: &Node| node.base.is_none() && node.file.is_none();
        let nodes = self.trees.pages.values();
        let ahead = nodes.filter(|node| is_unbound(node) && node.first_seen > now);
        let pages: Vec<PageId> = ahead.map(|node| node.id.clone()).collect();
        let times: Vec<&mut Timestamp> = self
            .trees
            .pages
            .values_mut()
            .filter(|node| is_unbound(node))
            .map(|node| &mut node.first_seen)
            .chain(self.creations.times())
            .filter(|at| **at > now)
            .collect();
        let order: BTreeSet<Timestamp> = times.iter().map(|at| **at).collect();
        let squeezed: BTreeMap<Timestamp, Timestamp> =
            order.into_iter().rev().zip(0..).map(|(at, age)| (at, now.plus_ms(-age))).collect();
        for time in times {
            *time = squeezed.get(time).copied().unwrap_or(*time);
        }
        if squeezed.is_empty() {
            return Ok(());
        }
        for node in pages.iter().filter_map(|id| self.trees.pages.get(id)) {
            cx.store.save_page(node)?;
        }
        self.creations.save(&mut cx.store)?;
        cx.store.commit()
    }
}

/// Why nothing may be written to the service's side of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReadOnly<'a> {
    #[error("{0} is mirrored down only")]
    Down(&'a str),
    #[error("the workspace {0} is frozen")]
    Frozen(&'a str),
    /// The service forbids it, and said this.
    #[error("{0}")]
    Refused(&'a str),
}

/// Whether a page is listed and its text is known.
pub(super) fn is_known(node: &Node) -> bool {
    node.remote.body.is_some() && node.remote.presence == Presence::Listed
}

/// Whether both are known, or neither.
fn is_known_alike(one: &Node, other: &Node) -> bool {
    one.workspace == other.workspace && is_known(one) == is_known(other)
}

/// Whether a list of pages says the same of both.
fn is_listed_alike(one: &Node, other: &Node) -> bool {
    let (old, new) = (&one.remote, &other.remote);
    one.workspace == other.workspace
        && old.presence == new.presence
        && old.position.total_cmp(&new.position).is_eq()
        && old.parent == new.parent
        && old.title == new.title
        && old.icon == new.icon
}
