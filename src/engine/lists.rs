//! Lists of workspaces and pages, and the full pass of `sync`. A list that lacks a page is a reason to look, no more.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use super::flight::{Flight, Purpose};
use super::pace::Class;
use super::trees::Trees;
use super::{Engine, poll};
use crate::model::{
    ContentHash, Effect, Node, PageId, PageMeta, Presence, RemotePage, ServiceError, ServiceReply, Timestamp,
    Workspace, WorkspaceId, WorkspaceNode, planted,
};
use crate::plan::naming;
use crate::store::StoreError;

const LIST_EVERY_MS: i64 = 20_000;
const WORKSPACES_EVERY_MS: i64 = 3_600_000;
/// Lists of several workspaces share this many requests a minute; twice as many where there are so few pages that the looks
/// at them leave them over.
const LISTS_A_MINUTE: i64 = 6;
const FEW_PAGES: usize = 30;
/// Lists of all kinds together take at most one in so many of the requests that they may use: on a small limit, or with
/// many workspaces, nothing would be left for what they name.
const PART_OF_LISTS: i64 = 3;
const RETRY_MS: i64 = 15_000;
const POSITIONS_AT_ONCE: usize = 300;

/// Whose turn it is to be asked for.
#[derive(Debug, Default)]
pub(super) struct Polling {
    pub(super) lists: Lists,
    pub(super) full_pass: Option<FullPass>,
    pub(super) poll_slot: u64,
    /// Whose turn a look of the background is: pages', canvases' or storage's.
    pub(super) background_turn: u8,
}

/// When lists are due and when they were last taken in.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) workspaces_due: Timestamp,
    /// How often the list of workspaces was asked for since something was refused that may hang on it.
    pub(super) workspaces_asked: u32,
    pub(super) workspaces_looked: u64,
    /// Workspaces in the service's order.
    pub(super) order: Vec<WorkspaceId>,
    pages_due: BTreeMap<WorkspaceId, Timestamp>,
    pages_looked: BTreeMap<WorkspaceId, u64>,
    /// The last list of each workspace that left nothing to do: what it is known by, and [`super::trees::Trees::told`] then.
    taken_in: BTreeMap<WorkspaceId, (ContentHash, u64)>,
    /// Workspaces whose last list said things that were not believed, for they may be older than what espejo did since.
    in_doubt: BTreeSet<WorkspaceId>,
    /// Before then a list that failed is not asked for again, however much hangs on it.
    rests_until: BTreeMap<WorkspaceId, Timestamp>,
    workspaces_rest_until: Timestamp,
    /// Why entries of a list could not be taken in, by the name of the list.
    pub(super) trouble: BTreeMap<String, String>,
    /// Lists that could not be had, by name, until one is answered, also with the word that nothing has changed.
    pub(super) failed: BTreeMap<String, String>,
    /// Pages whose new position among their siblings has not been written down yet.
    positions: BTreeSet<PageId>,
}

/// How often lists are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListPace {
    /// Between two page lists of a workspace.
    pages_ms: i64,
    /// What lists of other kinds would take in a minute, and what they may, in thousandths.
    others: i64,
    room: i64,
}

impl ListPace {
    /// With `most` requests a minute that lists could use and so many other lists a minute. Page lists go first: they
    /// may have half of the part, and what the others leave of theirs.
    fn of(most: u32, workspaces: usize, pages: usize, others: i64) -> Self {
        let part = i64::from(most.max(1)) * 1_000 / PART_OF_LISTS;
        let (spaces, others) = (i64::try_from(workspaces).unwrap_or(1).max(1), others * 1_000);
        let lists = if pages <= FEW_PAGES { 2 * LISTS_A_MINUTE } else { LISTS_A_MINUTE };
        let wanted = (60_000 * spaces / LIST_EVERY_MS).min(lists) * 1_000;
        let pages = wanted.min((part / 2).max(part - others));
        let pages_ms = LIST_EVERY_MS.max(60_000 * spaces / lists).max(60_000_000 * spaces / pages.max(1));
        Self { pages_ms, others, room: (part - pages).max(1) }
    }

    /// Between two lists of another kind that would be asked for each `every_ms`.
    pub(super) fn other_ms(self, every_ms: i64) -> i64 {
        every_ms * self.others.max(self.room) / self.room
    }
}

/// Whether a list's entry says of a page what is known of it: taking it in would change nothing.
fn is_known(node: &Node, meta: &PageMeta) -> bool {
    node.remote.position == meta.position && is_known_but_for_position(node, meta)
}

fn is_known_but_for_position(node: &Node, meta: &PageMeta) -> bool {
    let remote = &node.remote;
    remote.presence == Presence::Listed
        && remote.parent == meta.parent
        && remote.title == meta.title
        && remote.icon == meta.icon
        && node.workspace == meta.workspace
}

/// A pass over everything, begun at a moment.
#[derive(Debug)]
pub(super) struct FullPass {
    since: u64,
}

impl Engine {
    pub(super) fn begin_full_pass(&mut self, deep: bool) -> Result<(), StoreError> {
        self.storage.begin_pass(deep, self.cx.tick, self.cx.now);
        self.polling.full_pass = Some(FullPass { since: self.cx.tick });
        self.polling.lists.workspaces_due = self.cx.now;
        for due in self.polling.lists.pages_due.values_mut() {
            *due = self.cx.now;
        }
        self.boards.begin_board_pass(&self.cx);
        self.folder.watch.scan_by(self.cx.now);
        self.try_forbidden_again(true)?;
        self.pages.try_refused_again(None, &mut self.cx)
    }

    /// Whether the list of workspaces may be asked for now, and has not been since the tick `since`.
    pub(super) fn workspaces_are_wanted(&self, since: u64) -> bool {
        self.polling.lists.workspaces_looked <= since
            && self.polling.lists.workspaces_rest_until <= self.cx.now
            && !self.cx.in_flight.is_under_way(&Purpose::ListWorkspaces)
    }

    /// When each page list of a workspace that is there may be asked for next.
    fn pages_due(&self) -> impl Iterator<Item = (&WorkspaceId, Timestamp)> {
        let rest = |id| self.polling.lists.rests_until.get(id).copied().unwrap_or_default();
        let is_present =
            |id: &WorkspaceId| self.pages.trees.workspaces.get(id).is_some_and(|node| node.present);
        let all = self.polling.lists.pages_due.iter().filter(move |(id, _)| is_present(id));
        all.map(move |(id, due)| (id, (*due).max(rest(id))))
    }

    /// How often lists are asked for, with what there is to list.
    pub(super) fn list_pace(&self) -> ListPace {
        let (spaces, pages) = (self.pages.trees.workspaces.len(), self.pages.trees.pages.len());
        ListPace::of(self.cx.pace.most_lists(), spaces, pages, self.board_lists_a_minute())
    }

    pub(super) fn next_list(&mut self) -> Option<(Effect, Purpose)> {
        let asked = self.polling.full_pass.is_some()
            || self.pages.trees.workspaces.values().any(|node| node.listed_at.0 == 0);
        let class = if asked || self.pages.trees.workspaces.is_empty() { Class::Asked } else { Class::List };
        if !self.cx.pace.allows(class, 1, false, self.cx.now) {
            return None;
        }
        if self.polling.lists.workspaces_due() <= self.cx.now
            && !self.cx.in_flight.is_under_way(&Purpose::ListWorkspaces)
        {
            return Some((Effect::ListWorkspaces, Purpose::ListWorkspaces));
        }
        let due = self.pages_due().filter(|(id, due)| {
            *due <= self.cx.now && !self.cx.in_flight.is_under_way(&Purpose::ListPages((*id).clone()))
        });
        let (id, _) = due.min_by_key(|(_, due)| *due)?;
        Some(self.list_pages(id))
    }

    fn list_pages(&self, workspace: &WorkspaceId) -> (Effect, Purpose) {
        let taken_in = self.polling.lists.taken_in.get(workspace);
        let known = taken_in.filter(|(_, told)| *told == self.pages.trees.told).map(|(hash, _)| *hash);
        (Effect::ListPages { workspace: workspace.clone(), known }, Purpose::ListPages(workspace.clone()))
    }

    /// Whether the last list of a workspace was answered at most `ms` ago, and believed in all that it said.
    pub(super) fn is_listed_within(&self, workspace: &WorkspaceId, ms: i64) -> bool {
        let listed_at = self.pages.trees.workspaces.get(workspace).map(|space| space.listed_at);
        !self.polling.lists.in_doubt.contains(workspace)
            && listed_at.is_some_and(|at| self.cx.now.since_ms(at) <= ms)
    }

    /// A list that a person's edit hangs on; `None` while one is under way, and soon after one that failed.
    pub(super) fn list_for_edit(&self, workspace: &WorkspaceId) -> Option<(Effect, Purpose)> {
        let under_way = self.cx.in_flight.is_under_way(&Purpose::ListPages(workspace.clone()));
        let rests = self.polling.lists.rests_until.get(workspace).is_some_and(|until| *until > self.cx.now);
        (!under_way && !rests).then(|| self.list_pages(workspace))
    }

    pub(super) fn next_list_due(&self, now: Timestamp) -> Timestamp {
        let idle = |wanted: &Purpose| !self.cx.in_flight.is_under_way(wanted);
        let pages =
            self.pages_due().filter(|(id, _)| idle(&Purpose::ListPages((*id).clone()))).map(|(_, due)| due);
        let workspaces = Some(self.polling.lists.workspaces_due()).filter(|_| idle(&Purpose::ListWorkspaces));
        let due = workspaces.into_iter().chain(pages).fold(now.plus_ms(WORKSPACES_EVERY_MS), Timestamp::min);
        due.max(self.cx.pace.earliest(Class::List, 1, false, now))
    }

    pub(super) fn workspaces_listed(
        &mut self,
        flight: &Flight,
        result: Result<ServiceReply, ServiceError>,
    ) -> Result<(), StoreError> {
        let list = match result {
            Ok(ServiceReply::Workspaces(list)) => list,
            other => {
                self.polling.lists.workspaces_due = self.cx.now.plus_ms(RETRY_MS);
                self.polling.lists.workspaces_rest_until = self.cx.now.plus_ms(self.cx.backoff(1));
                self.polling.lists.note_list_trouble("workspaces", other.err());
                return Ok(());
            }
        };
        self.polling.lists.failed.remove("workspaces");
        // A pass that was asked for meanwhile is not served by a look that was under way already.
        let too_early = self.polling.precedes_pass(flight.tick);
        self.polling.lists.workspaces_due =
            if too_early { self.cx.now } else { self.cx.now.plus_ms(WORKSPACES_EVERY_MS) };
        self.polling.lists.workspaces_looked = flight.tick;
        self.polling.lists.order = list.iter().map(|workspace| workspace.id.clone()).collect();
        let chosen = &self.cx.settings.workspaces;
        let list: Vec<Workspace> = list
            .into_iter()
            .filter(|w| {
                chosen.is_empty()
                    || chosen.iter().any(|c| *c == w.slug || *c == w.name || *c == w.id.as_str())
            })
            .collect();
        for (id, mut node) in self.pages.trees.workspaces.clone() {
            let seen = list.iter().find(|w| w.id == id);
            if node.present != seen.is_some() {
                self.pages.wake_all();
            }
            node.present = seen.is_some();
            if let Some(seen) = seen {
                if node.seen.frozen != seen.frozen || node.seen.role != seen.role {
                    node.read_only = None;
                    self.pages.try_refused_again(Some(&id), &mut self.cx)?;
                    self.boards.try_boards_again(&self.cx);
                    self.storage.try_refused_again(self.cx.now, false);
                    self.pages.wake_all();
                }
                node.seen = seen.clone();
            } else {
                // Asked again soon: access may come back.
                self.polling.lists.workspaces_due = self.cx.now.plus_ms(WORKSPACES_EVERY_MS / 12);
            }
            self.save_workspace(node)?;
        }
        for seen in list {
            let id = seen.id.clone();
            if !self.pages.trees.workspaces.contains_key(&id) {
                let folder = self.pages.trees.folder_for_workspace(&seen.name);
                self.save_workspace(WorkspaceNode {
                    seen,
                    folder,
                    present: true,
                    listed_at: Timestamp::default(),
                    empty_list: false,
                    read_only: None,
                })?;
                // Files in its folder, if there are any, can be told apart only now.
                self.folder.watch.scan_by(self.cx.now);
            }
            let now = self.cx.now;
            let fresh = !self.polling.lists.pages_due.contains_key(&id) || self.polling.full_pass.is_some();
            self.polling.lists.list_by(&id, if fresh { now } else { now.plus_ms(LIST_EVERY_MS) });
        }
        if let Some(wait) = self.workspaces_wait_ms() {
            self.polling.lists.workspaces_due =
                self.polling.lists.workspaces_due.min(self.cx.now.plus_ms(wait));
        }
        Ok(())
    }

    pub(super) fn pages_listed(
        &mut self,
        flight: &Flight,
        id: &WorkspaceId,
        result: Result<ServiceReply, ServiceError>,
    ) -> Result<(), StoreError> {
        let Some(mut workspace) = self.pages.trees.workspaces.get(id).cloned() else { return Ok(()) };
        let name = workspace.seen.name.clone();
        let news = match result {
            Ok(ServiceReply::Pages { pages, skipped, hash }) => Some((pages, skipped, hash)),
            Ok(ServiceReply::PagesAsKnown) => None,
            other => {
                let at = self.cx.now.plus_ms(RETRY_MS);
                self.polling.lists.pages_due.insert(id.clone(), at);
                let rests = self.cx.backoff(1);
                self.polling.lists.rests_until.insert(id.clone(), self.cx.now.plus_ms(rests));
                self.polling.lists.note_list_trouble(&name, other.err());
                return Ok(());
            }
        };
        let every = self.list_pace().pages_ms;
        let too_early = self.polling.precedes_pass(flight.tick);
        let due = if too_early { self.cx.now } else { self.cx.now.plus_ms(every) };
        self.polling.lists.pages_due.insert(id.clone(), due);
        self.polling.lists.pages_looked.insert(id.clone(), flight.tick);
        self.polling.lists.rests_until.remove(id);
        self.polling.lists.in_doubt.remove(id);
        self.polling.lists.failed.remove(&name);
        if let Some((pages, skipped, hash)) = news {
            self.polling.lists.taken_in.remove(id);
            match skipped.first() {
                Some(why) => {
                    let why = format!("{} entries of its page list: {why}", skipped.len());
                    self.polling.lists.trouble.insert(name, why)
                }
                None => self.polling.lists.trouble.remove(&name),
            };
            let listed: BTreeSet<PageId> = pages.iter().map(|page| page.id.clone()).collect();
            let mut is_taken_in = skipped.is_empty() && !listed.is_empty();
            for page in pages.into_iter().filter(|page| page.workspace == *id) {
                is_taken_in &= self.page_listed(flight, page)?;
            }
            if skipped.is_empty() {
                self.take_in_absences(flight, &mut workspace, &listed)?;
            }
            // The same list once more says nothing new, unless something else does meanwhile.
            if is_taken_in && self.pages.trees.is_exactly(id, &listed) {
                self.polling.lists.taken_in.insert(id.clone(), (hash, self.pages.trees.told));
            }
        }
        if workspace.listed_at.0 == 0 {
            self.pages.wake_all();
            self.folder.watch.scan_by(self.cx.now);
        }
        workspace.listed_at = flight.as_of(self.cx.now);
        self.save_workspace(workspace)?;
        self.pages.choose_stems(id, &mut self.cx)?;
        self.confirm_pages(id, flight.sent_at)
    }

    /// Takes in one entry; whether it said what was known already.
    fn page_listed(&mut self, flight: &Flight, meta: PageMeta) -> Result<bool, StoreError> {
        // Most entries of most lists do, and nothing is copied for them.
        if self.pages.trees.pages.get(&meta.id).is_some_and(|node| is_known(node, &meta)) {
            return Ok(true);
        }
        self.page_differs(flight, meta)?;
        Ok(false)
    }

    fn page_differs(&mut self, flight: &Flight, meta: PageMeta) -> Result<(), StoreError> {
        let now = self.cx.now;
        let Some(mut node) = self.pages.trees.pages.get(&meta.id).cloned() else {
            let mut seen = poll::fresh(now);
            // New in a list that was complete before: somebody is making it now.
            if self.pages.trees.workspaces.get(&meta.workspace).is_some_and(|space| space.listed_at.0 > 0) {
                poll::changed(&mut seen, now);
            }
            let last_push = self.cx.store.left_push(&meta.id)?.map(Box::new);
            let remote = RemotePage {
                parent: meta.parent,
                title: meta.title,
                icon: meta.icon,
                position: meta.position,
                presence: Presence::Listed,
                body: None,
            };
            let node = Node::new(meta.id, meta.workspace, remote, now, seen);
            return self.pages.save_page(Node { last_push, ..node }, &mut self.cx);
        };
        if !self.is_newer(&meta.id, flight) {
            self.polling.lists.in_doubt.insert(meta.workspace);
            return Ok(());
        }
        if is_known_but_for_position(&node, &meta) {
            // One page that is moved can shift all: no sign that somebody works in them, and nothing hangs on it here.
            self.pages.trees.set_position(&meta.id, meta.position);
            self.polling.lists.positions.insert(meta.id);
            return Ok(());
        }
        let before = (node.remote.clone(), node.workspace.clone());
        node.workspace = meta.workspace;
        node.remote.parent = meta.parent;
        node.remote.title = meta.title;
        node.remote.icon = meta.icon;
        node.remote.position = meta.position;
        if node.remote.presence != Presence::Listed {
            node.remote.presence = Presence::Listed;
            node.approved = false;
        }
        let places_differ = before.0.parent != node.remote.parent || before.0.title != node.remote.title;
        if (before.0, &before.1) != (node.remote.clone(), &node.workspace) {
            // Whoever renames or moves a page is probably at work in it.
            poll::changed(&mut node.poll, now);
            self.pages.save_page(node, &mut self.cx)?;
        }
        if places_differ {
            self.pages.wake_all();
        }
        Ok(())
    }

    /// Writes down some positions, when there is nothing else to do: ten thousand at once would keep everything waiting. A
    /// kill before loses no more than a list, which comes again.
    pub(super) fn save_positions(&mut self) -> Result<(), StoreError> {
        for _ in 0..POSITIONS_AT_ONCE {
            let Some(page) = self.polling.lists.positions.pop_first() else { break };
            if let Some(node) = self.pages.trees.pages.get(&page) {
                self.cx.store.save_page(node)?;
            }
        }
        Ok(())
    }

    fn take_in_absences(
        &mut self,
        flight: &Flight,
        workspace: &mut WorkspaceNode,
        listed: &BTreeSet<PageId>,
    ) -> Result<(), StoreError> {
        let id = workspace.seen.id.clone();
        let missing: Vec<PageId> = self
            .pages
            .trees
            .pages
            .values()
            .filter(|node| node.workspace == id && node.remote.presence == Presence::Listed)
            .filter(|node| !listed.contains(&node.id) && self.is_newer(&node.id, flight))
            .map(|node| node.id.clone())
            .collect();
        let mirrored =
            self.pages.trees.pages.values().any(|node| node.workspace == id && node.base.is_some());
        workspace.empty_list = listed.is_empty() && mirrored;
        if !missing.is_empty() {
            // Lost access looks just like this: ask whether the workspace is still ours.
            self.polling.lists.workspaces_due = self.polling.lists.workspaces_due.min(self.cx.now);
            self.pages.wake_all();
        }
        for page in missing {
            let absent = if planted("absence-believed") { Presence::Gone } else { Presence::Unlisted };
            self.pages.edit_page(&page, |node| node.remote.presence = absent, &mut self.cx)?;
        }
        Ok(())
    }

    /// Whether what `flight` saw of a page is newer than our last act on it.
    pub(super) fn is_newer(&self, page: &PageId, flight: &Flight) -> bool {
        let acted = self.pages.moments.get(page).map_or(0, |moment| moment.acted);
        let writing = self.cx.in_flight.flights.values().any(|other| {
            matches!(&other.purpose, Purpose::Update { page: p } | Purpose::TrashPage { page: p } if p == page)
        });
        flight.tick > acted && !writing || planted("old-look-believed")
    }

    /// Whether a full pass is under way and this page has not had its turn.
    pub(super) fn pass_wants(&self, page: &PageId) -> bool {
        self.polling.precedes_pass(self.pages.moments.get(page).map_or(0, |moment| moment.looked))
    }

    /// Whether a full pass was asked for and everything has been looked at since.
    pub(super) fn pass_is_over(&self) -> bool {
        let Some(pass) = &self.polling.full_pass else { return true };
        self.polling.lists.workspaces_looked > pass.since
            && self
                .pages
                .trees
                .workspaces
                .values()
                .filter(|node| node.present)
                .all(|node| self.polling.lists.list_looked(&node.seen.id) > pass.since)
            && self
                .pages
                .trees
                .pages
                .values()
                .filter(|node| self.pages.trees.is_polled(node))
                .all(|node| !self.pass_wants(&node.id))
            && self.board_pass_is_over()
    }
}

impl Lists {
    pub(super) fn list_by(&mut self, workspace: &WorkspaceId, at: Timestamp) {
        self.pages_due.entry(workspace.clone()).and_modify(|due| *due = (*due).min(at)).or_insert(at);
    }

    /// Until when the list of workspaces is not asked for again since it failed.
    pub(super) fn workspaces_rest_until(&self) -> Timestamp {
        self.workspaces_rest_until
    }

    /// When the last list of workspaces was asked for, as a tick.
    pub(super) fn workspaces_looked(&self) -> u64 {
        self.workspaces_looked
    }

    /// When the list of workspaces may be asked for next.
    fn workspaces_due(&self) -> Timestamp {
        self.workspaces_due.max(self.workspaces_rest_until)
    }

    /// When the last list of a workspace was asked for, as a tick.
    pub(super) fn list_looked(&self, workspace: &WorkspaceId) -> u64 {
        self.pages_looked.get(workspace).copied().unwrap_or(0)
    }

    /// Whether all positions are written down.
    pub(super) fn positions_are_saved(&self) -> bool {
        self.positions.is_empty()
    }

    fn note_list_trouble(&mut self, what: &str, error: Option<ServiceError>) {
        if let Some(error) = error.filter(|e| e.next() == crate::model::Next::Park) {
            self.failed.insert(what.to_owned(), error.to_string());
        }
    }
}

impl Context {
    pub(super) fn is_chosen(&self, workspace: &Workspace) -> bool {
        let chosen = &self.settings.workspaces;
        let names = [workspace.slug.as_str(), workspace.name.as_str(), workspace.id.as_str()];
        chosen.is_empty() || chosen.iter().any(|name| names.contains(&name.as_str()))
    }
}

impl Trees {
    /// Workspaces that the config no longer names rest from the start; their files stay as they are.
    pub(super) fn drop_unchosen(&mut self, cx: &Context) {
        let unchosen: Vec<WorkspaceId> = self
            .workspaces
            .values()
            .filter(|node| !cx.is_chosen(&node.seen))
            .map(|node| node.seen.id.clone())
            .collect();
        for id in unchosen {
            if let Some(node) = self.workspaces.get_mut(&id) {
                node.present = false;
            }
        }
    }

    fn folder_for_workspace(&self, name: &str) -> String {
        let taken: BTreeSet<String> =
            self.workspaces.values().map(|node| naming::fold(&node.folder)).collect();
        naming::folder_name(name, &|key| taken.contains(key), 200).stem
    }

    /// Whether the pages that are known to be listed are these and no others.
    fn is_exactly(&self, workspace: &WorkspaceId, listed: &BTreeSet<PageId>) -> bool {
        let mine = self.pages.values().filter(|node| node.workspace == *workspace);
        let known = mine.filter(|node| node.remote.presence == Presence::Listed).map(|node| &node.id);
        // Both in the order of their ids.
        known.eq(listed)
    }
}

impl Polling {
    /// Whether a full pass has been asked for since a look that was issued at `tick`.
    pub(super) fn precedes_pass(&self, tick: u64) -> bool {
        self.full_pass.as_ref().is_some_and(|pass| tick <= pass.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_leave_two_thirds_for_what_they_name() {
        for (most, spaces, decks) in (1..=600).flat_map(|most| {
            [1, 2, 3, 7, 40, 300].into_iter().flat_map(move |spaces| [0, 2, 4].map(|n| (most, spaces, n)))
        }) {
            let count = i64::try_from(spaces).unwrap();
            for others in [0, count + 1 + decks] {
                let pace = ListPace::of(most, spaces, 31, others);
                let a_minute = 60_000.0 * count as f64 / pace.pages_ms as f64
                    + 60_000.0 * others as f64 / pace.other_ms(60_000) as f64;
                let part = f64::from(most) / 3.0;
                assert!(a_minute <= part + 0.01, "{most} {spaces} {others}: {a_minute} of {part}");
            }
        }
    }

    #[test]
    fn few_workspaces_are_listed_as_often_as_ever_where_the_limit_is_the_usual_one() {
        for spaces in 1..=6 {
            let count = i64::try_from(spaces).unwrap();
            let pace = ListPace::of(52, spaces, 31, count + 1 + 4);
            assert_eq!(pace.pages_ms, (10_000 * count).max(20_000));
            assert_eq!(pace.other_ms(60_000), 60_000);
        }
        // Few pages leave room for more of them.
        assert_eq!([1, 2, 4].map(|spaces| ListPace::of(52, spaces, 30, 0).pages_ms), [20_000; 3]);
        // With pages alone, and a third of that limit.
        assert_eq!(ListPace::of(18, 1, 31, 0).pages_ms, 20_000);
    }
}
