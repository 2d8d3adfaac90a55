//! Facts about all pages and files that guards, counters and lists need often. They are updated with each change, so
//! that no step walks over everything to learn that nothing is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Add, Sub};

use crate::model::{LocalFile, MirrorPath, Node, PageId, Presence, WorkspaceId};

#[derive(Debug, Default, PartialEq)]
pub(crate) struct PageCounts {
    /// Pages that need the user: parked, or hidden while their file is here.
    pub(crate) needs_user: BTreeSet<PageId>,
    /// Pages with a base that are out of step, by the page's own data alone.
    pub(crate) out_of_step: BTreeSet<PageId>,
    /// Page files that cannot be sent as they are.
    pub(crate) problems: BTreeSet<MirrorPath>,
    workspaces: BTreeMap<WorkspaceId, Share>,
    /// Counts changes that may make a page one that is listed and whose text is known.
    pub(crate) arrivals: u64,
}

/// The counts of a workspace.
#[derive(Debug, Default, PartialEq, Clone, Copy)]
pub(crate) struct Share {
    /// Pages with a base.
    pub(crate) mirrored: usize,
    /// Pages whose file is gone from the disk, which no user has approved.
    pub(crate) gone: usize,
    /// Of those with a base, pages that left the service's list, whose removal no user has approved.
    pub(crate) left: usize,
    /// Pages that the service shows.
    pub(crate) shown: usize,
    /// Of these, pages whose body has been fetched.
    pub(crate) looked: usize,
    /// Of those shown, pages whose body has not been fetched and is not known to be unreadable.
    pub(crate) unseen: usize,
}

impl PageCounts {
    /// Counts everything again, except the arrivals.
    pub(crate) fn anew<'a>(
        pages: impl Iterator<Item = &'a Node>,
        files: impl Iterator<Item = &'a LocalFile>,
        arrivals: u64,
    ) -> Self {
        let mut page_counts = Self { arrivals, ..Self::default() };
        pages.for_each(|node| page_counts.add(node));
        files.for_each(|file| page_counts.add_file(file));
        page_counts
    }

    pub(crate) fn add(&mut self, node: &Node) {
        if is_told_of(node) {
            self.needs_user.insert(node.id.clone());
        }
        if is_out_of_step(node) {
            self.out_of_step.insert(node.id.clone());
        }
        let all = self.workspaces.entry(node.workspace.clone()).or_default();
        *all = all.with(Share::of(node), usize::add);
    }

    /// Undoes [`PageCounts::add`] of the same node.
    pub(crate) fn remove(&mut self, node: &Node) {
        self.needs_user.remove(&node.id);
        self.out_of_step.remove(&node.id);
        let Some(all) = self.workspaces.get_mut(&node.workspace) else { return };
        *all = all.with(Share::of(node), usize::sub);
        if *all == Share::default() {
            self.workspaces.remove(&node.workspace);
        }
    }

    pub(crate) fn add_file(&mut self, file: &LocalFile) {
        if file.problem.is_some() {
            self.problems.insert(file.path.clone());
        } else {
            self.problems.remove(&file.path);
        }
    }

    pub(crate) fn of(&self, workspace: &WorkspaceId) -> Share {
        self.workspaces.get(workspace).copied().unwrap_or_default()
    }

    /// Number of pages with a base, in all workspaces.
    pub(crate) fn mirrored(&self) -> usize {
        self.workspaces.values().map(|share| share.mirrored).sum()
    }
}

impl Share {
    fn with(self, other: Self, change: fn(usize, usize) -> usize) -> Self {
        Self {
            mirrored: change(self.mirrored, other.mirrored),
            gone: change(self.gone, other.gone),
            left: change(self.left, other.left),
            shown: change(self.shown, other.shown),
            looked: change(self.looked, other.looked),
            unseen: change(self.unseen, other.unseen),
        }
    }

    fn of(node: &Node) -> Self {
        let is_mirrored = node.base.is_some();
        let is_shown = node.remote.presence.is_shown();
        let is_seen = node.remote.body.is_some();
        Self {
            mirrored: usize::from(is_mirrored),
            gone: usize::from(is_gone_here(node)),
            left: usize::from(is_mirrored && !is_shown && !node.approved),
            shown: usize::from(is_shown),
            looked: usize::from(is_shown && is_seen),
            unseen: usize::from(is_shown && !is_seen && node.parked.is_none()),
        }
    }
}

pub(crate) fn is_gone_here(node: &Node) -> bool {
    node.base.is_some() && node.file.is_none() && node.missing_since.is_some() && !node.approved
}

fn is_told_of(node: &Node) -> bool {
    node.parked.is_some() || node.remote.presence == Presence::Hidden && node.base.is_some()
}

fn is_out_of_step(node: &Node) -> bool {
    node.base.is_some()
        && (node.parked.is_some() || node.remote.presence != Presence::Listed || node.file.is_none())
}
