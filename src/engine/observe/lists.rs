//! Lists of workspaces and pages, and the full pass of `sync`. A page's absence from a list is only a reason to fetch
//! it.

use std::collections::BTreeSet;

use crate::engine::observe::fetches::{put_off_unfound, title_after};
use crate::engine::observe::workspaces::{keep_names, named_by_id};
use crate::engine::on_core;
use crate::engine::schedule::pace::Class;
use crate::engine::schedule::poll;
use crate::engine::state::answered::LAGS_MS;
use crate::engine::state::list_pace::{LIST_EVERY_MS, list_pace};
use crate::engine::state::{Context, Engine, Flight, FullPass, Lists, Pages, Polling, Purpose, Trees};
use crate::model::{
    Effect, Hold, Node, PageId, PageMeta, Parked, Presence, RemotePage, ServiceError, ServiceReply,
    Timestamp, Workspace, WorkspaceId, WorkspaceNode, planted,
};
use crate::plan::naming;
use crate::store::StoreError;

const WORKSPACES_EVERY_MS: i64 = 3_600_000;
const RETRY_MS: i64 = 15_000;
const POSITIONS_AT_ONCE: usize = 300;

/// Whether a list's entry equals what is known of a page, so that applying it changes nothing.
fn is_known(node: &Node, meta: &PageMeta) -> bool {
    node.remote.position == meta.position && is_known_but_for_position(node, meta)
}

fn is_known_but_for_position(node: &Node, meta: &PageMeta) -> bool {
    let remote = &node.remote;
    remote.presence == Presence::Listed
        && remote.parent == meta.parent
        && *remote.title == *meta.title
        && remote.icon.as_deref() == meta.icon.as_deref()
        && node.workspace == meta.workspace
}

impl Engine {
    pub(crate) fn begin_full_pass(&mut self, deep: bool) {
        self.polling.full_pass = Some(FullPass { since: self.cx.tick });
        self.polling.lists.workspaces_due = self.cx.now;
        for due in self.polling.lists.pages_due.values_mut() {
            *due = self.cx.now;
        }
        let begun = on_core::begin_core_pass(self, deep);
        let _ = self.cx.store.keep_error(begun);
        self.folder.watch.scan_by(self.cx.now);
        self.pages.trees.forbidden.try_again(self.cx.now);
        self.pages.try_refused_again(None, &mut self.cx);
    }

    pub(crate) fn workspaces_listed(&mut self, flight: &Flight, result: Result<ServiceReply, ServiceError>) {
        let by_id = named_by_id(&self.cx.settings, &self.pages.trees);
        let list = match result {
            Ok(ServiceReply::Workspaces(list)) => list,
            Err(ServiceError::Forbidden(_)) if !by_id.is_empty() => by_id,
            other => {
                self.polling.lists.workspaces_due = self.cx.now.plus_ms(RETRY_MS);
                self.polling.lists.workspaces_rest_until = self.cx.now.plus_ms(self.cx.backoff(1));
                self.polling.lists.note_list_trouble("workspaces", other.err());
                return;
            }
        };
        self.polling.lists.failed.remove("workspaces");
        // A list that was under way before the pass was requested does not serve the pass.
        let too_early = self.polling.precedes_pass(flight.tick);
        self.polling.lists.workspaces_due =
            if too_early { self.cx.now } else { self.cx.now.plus_ms(WORKSPACES_EVERY_MS) };
        self.polling.lists.workspaces_looked = flight.tick;
        self.polling.lists.order = list.iter().map(|workspace| workspace.id.clone()).collect();
        keep_names(self, &list);
        let list: Vec<Workspace> = list
            .into_iter()
            .filter(|seen| {
                let known = self.pages.trees.workspaces.get(&seen.id);
                let is_known_as = |name: &str| known.is_some_and(|node| node.is_called(name));
                self.cx.settings.chooses(|name| seen.is_called(name) || is_known_as(name))
            })
            .collect();
        for (id, mut node) in self.pages.trees.workspaces.clone() {
            let seen = list.iter().find(|w| w.id == id);
            if node.present != seen.is_some() {
                self.pages.mark_all_dirty();
                // What left the folder meanwhile was not deleted, which the next scan finds out.
                self.folder.root.barrier.begin_again(self.cx.now);
                self.folder.watch.scan_by(self.cx.now);
            }
            node.present = seen.is_some();
            if let Some(seen) = seen {
                if node.seen.frozen != seen.frozen || node.seen.role != seen.role {
                    self.pages.trees.forbidden.retain(|area, _| *area != id);
                    self.pages.try_refused_again(Some(&id), &mut self.cx);
                    on_core::try_core_again(self);
                    self.pages.mark_all_dirty();
                }
                node.seen = seen.clone();
            } else {
                // Requested again soon: access may come back.
                self.polling.lists.workspaces_due = self.cx.now.plus_ms(WORKSPACES_EVERY_MS / 12);
            }
            self.pages.trees.save_workspace(node, &mut self.cx);
        }
        for seen in list {
            let id = seen.id.clone();
            if !self.pages.trees.workspaces.contains_key(&id) {
                let folder = self.pages.trees.folder_for_workspace(&seen.name);
                let node = WorkspaceNode {
                    seen,
                    folder,
                    present: true,
                    listed_at: Timestamp::default(),
                    empty_list: false,
                    known_as: Vec::new(),
                };
                self.pages.trees.save_workspace(node, &mut self.cx);
                // Files in its folder, if there are any, can be identified only now.
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
    }

    pub(crate) fn pages_listed(
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
        let every = list_pace(self).pages_ms;
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
                    self.polling.lists.trouble.insert(name.clone(), why)
                }
                None => self.polling.lists.trouble.remove(&name),
            };
            let listed: BTreeSet<PageId> = pages.iter().map(|page| page.id.clone()).collect();
            let mut is_taken_in = skipped.is_empty() && !listed.is_empty();
            for page in pages.into_iter().filter(|page| page.workspace == *id) {
                is_taken_in &= self.pages.page_listed(flight, page, &mut self.polling.lists, &mut self.cx)?;
            }
            if skipped.is_empty() {
                self.pages.take_in_absences(
                    flight,
                    &mut workspace,
                    &listed,
                    &mut self.polling.lists,
                    &mut self.cx,
                );
            }
            // The same list again says nothing new, unless the trees change meanwhile.
            if is_taken_in && self.pages.trees.is_exactly(id, &listed) {
                self.polling.lists.taken_in.insert(id.clone(), (hash, self.pages.trees.listing_generation));
            }
        }
        if workspace.listed_at.0 == 0 {
            self.pages.mark_all_dirty();
            self.folder.watch.scan_by(self.cx.now);
        }
        workspace.listed_at = flight.as_of(self.cx.now);
        self.pages.trees.save_workspace(workspace, &mut self.cx);
        self.pages.choose_stems(id, &mut self.cx);
        let is_whole = !self.polling.lists.trouble.contains_key(&name);
        self.confirm_pages(id, is_whole, flight.sent_at);
        put_off_unfound(&mut self.pages, flight, id, &mut self.cx);
        Ok(())
    }

    /// Whether everything has been fetched since the full pass was requested. `true` without a full pass.
    pub(crate) fn pass_is_over(&self) -> bool {
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
                .all(|node| !self.pages.pass_wants(&node.id, &self.polling))
            && on_core::core_pass_is_over(self)
    }
}

impl Lists {
    /// When each page list of a present workspace may be requested next.
    fn pages_due(&self, trees: &Trees) -> impl Iterator<Item = (&WorkspaceId, Timestamp)> {
        let rest = |id| self.rests_until.get(id).copied().unwrap_or_default();
        let is_present = |id: &WorkspaceId| trees.workspaces.get(id).is_some_and(|node| node.present);
        let all = self.pages_due.iter().filter(move |(id, _)| is_present(id));
        all.map(move |(id, due)| (id, (*due).max(rest(id))))
    }

    fn list_pages(&self, workspace: &WorkspaceId, trees: &Trees) -> (Effect, Purpose) {
        let taken_in = self.taken_in.get(workspace);
        let known = taken_in.filter(|(_, told)| *told == trees.listing_generation).map(|(hash, _)| *hash);
        (Effect::ListPages { workspace: workspace.clone(), known }, Purpose::ListPages(workspace.clone()))
    }

    /// Whether the last list of a workspace was answered at most `ms` ago, and believed entirely.
    pub(crate) fn is_listed_within(
        &self,
        workspace: &WorkspaceId,
        ms: i64,
        trees: &Trees,
        now: Timestamp,
    ) -> bool {
        let listed_at = trees.workspaces.get(workspace).map(|space| space.listed_at);
        !self.in_doubt.contains(workspace) && listed_at.is_some_and(|at| now.since_ms(at) <= ms)
    }

    /// A list that a user's edit depends on; `None` while one is under way, and soon after one that failed.
    pub(crate) fn list_for_edit(
        &self,
        workspace: &WorkspaceId,
        trees: &Trees,
        cx: &Context,
    ) -> Option<(Effect, Purpose)> {
        let under_way = cx.in_flight.is_under_way(&Purpose::ListPages(workspace.clone()));
        let rests = self.rests_until.get(workspace).is_some_and(|until| *until > cx.now);
        (!under_way && !rests).then(|| self.list_pages(workspace, trees))
    }

    pub(crate) fn next_list_due(&self, now: Timestamp, trees: &Trees, cx: &Context) -> Timestamp {
        let idle = |wanted: &Purpose| !cx.in_flight.is_under_way(wanted);
        let pages = self
            .pages_due(trees)
            .filter(|(id, _)| idle(&Purpose::ListPages((*id).clone())))
            .map(|(_, due)| due);
        let workspaces = Some(self.workspaces_due()).filter(|_| idle(&Purpose::ListWorkspaces));
        let due = workspaces.into_iter().chain(pages).fold(now.plus_ms(WORKSPACES_EVERY_MS), Timestamp::min);
        due.max(cx.pace.earliest(Class::List, 1, false, now))
    }

    /// Stores some positions when there is nothing else to do: storing ten thousand at once would delay everything. A
    /// kill before loses no more than a list, which is fetched again.
    pub(crate) fn save_positions(&mut self, trees: &Trees, cx: &mut Context) {
        for _ in 0..POSITIONS_AT_ONCE {
            let Some(page) = self.positions.pop_first() else { break };
            if let Some(node) = trees.pages.get(&page) {
                cx.store.save_page(node);
            }
        }
    }
}

impl Polling {
    pub(crate) fn next_list(&self, trees: &Trees, cx: &Context) -> Option<(Effect, Purpose)> {
        let asked = self.full_pass.is_some() || trees.workspaces.values().any(|node| node.listed_at.0 == 0);
        let class = if asked || trees.workspaces.is_empty() { Class::Asked } else { Class::List };
        if !cx.pace.allows(class, 1, false, cx.now) {
            return None;
        }
        if self.lists.workspaces_due() <= cx.now && !cx.in_flight.is_under_way(&Purpose::ListWorkspaces) {
            return Some((Effect::ListWorkspaces, Purpose::ListWorkspaces));
        }
        let due = self.lists.pages_due(trees).filter(|(id, due)| {
            *due <= cx.now && !cx.in_flight.is_under_way(&Purpose::ListPages((*id).clone()))
        });
        let (id, _) = due.min_by_key(|(_, due)| *due)?;
        Some(self.lists.list_pages(id, trees))
    }
}

impl Pages {
    /// Applies one entry. Returns whether it said what was already known.
    fn page_listed(
        &mut self,
        flight: &Flight,
        meta: PageMeta,
        lists: &mut Lists,
        cx: &mut Context,
    ) -> Result<bool, StoreError> {
        // Most entries of most lists are known, and nothing is copied for them.
        if self.trees.pages.get(&meta.id).is_some_and(|node| is_known(node, &meta)) {
            return Ok(true);
        }
        self.page_differs(flight, meta, lists, cx)?;
        Ok(false)
    }

    fn page_differs(
        &mut self,
        flight: &Flight,
        meta: PageMeta,
        lists: &mut Lists,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let now = cx.now;
        let Some(mut node) = self.trees.pages.get(&meta.id).cloned() else {
            if cx.deletions.removed_at(&meta.id).is_some_and(|at| now.since_ms(at) <= LAGS_MS[0]) {
                // Just moved to the trash by espejo: the list lags.
                return Ok(());
            }
            let mut seen = poll::fresh(now);
            // The page is new in a list that was complete before: a user is making it now.
            if self.trees.workspaces.get(&meta.workspace).is_some_and(|space| space.listed_at.0 > 0) {
                poll::changed(&mut seen, now);
            }
            let last_push = cx.store.left_push(&meta.id)?.map(Box::new);
            let (id, workspace) = (meta.id.clone(), meta.workspace.clone());
            let node = Node::new(id, workspace, RemotePage::listed(meta), now, seen);
            self.save_page(Node { last_push, ..node }, cx);
            return Ok(());
        };
        if !self.is_newer(&meta.id, flight, cx) {
            lists.in_doubt.insert(meta.workspace);
            return Ok(());
        }
        if node.workspace != meta.workspace && node.remote.presence == Presence::Listed {
            // It stays where it is while both lists show it: the list of its workspace decides.
            lists.list_by(&node.workspace, now);
            lists.claimed.insert(meta.id, meta.workspace);
            return Ok(());
        }
        if is_known_but_for_position(&node, &meta) {
            // One moved page can shift all positions. This is no sign of work in the pages, and nothing depends on it
            // here.
            self.trees.set_position(&meta.id, meta.position);
            lists.positions.insert(meta.id);
            return Ok(());
        }
        let before = (node.remote.clone(), node.workspace.clone());
        node.workspace = meta.workspace;
        node.remote.parent = meta.parent;
        let title = title_after(self, &node, meta.title, now);
        node.remote.set_texts(&title, meta.icon.as_deref());
        node.remote.position = meta.position;
        if node.remote.presence != Presence::Listed {
            node.remote.presence = Presence::Listed;
            node.approved = false;
        }
        let places_differ = before.0.parent != node.remote.parent || before.0.title != node.remote.title;
        if (before.0, &before.1) != (node.remote.clone(), &node.workspace) {
            // A user who renames or moves a page is probably at work in it.
            poll::changed(&mut node.poll, now);
            self.save_page(node, cx);
        }
        if places_differ {
            self.mark_all_dirty();
        }
        Ok(())
    }

    fn take_in_absences(
        &mut self,
        flight: &Flight,
        workspace: &mut WorkspaceNode,
        listed: &BTreeSet<PageId>,
        lists: &mut Lists,
        cx: &mut Context,
    ) {
        let id = workspace.seen.id.clone();
        let missing: Vec<PageId> = self
            .trees
            .pages
            .values()
            .filter(|node| node.workspace == id && node.remote.presence == Presence::Listed)
            .filter(|node| !listed.contains(&node.id) && self.is_newer(&node.id, flight, cx))
            // A list may be older than a page that espejo made just now.
            .filter(|node| !self.answered.was_made(&node.id, cx.now))
            .map(|node| node.id.clone())
            .collect();
        let mirrored = self.trees.pages.values().any(|node| node.workspace == id && node.base.is_some());
        workspace.empty_list = listed.is_empty() && mirrored;
        if !missing.is_empty() {
            // Lost access looks the same, so the list of workspaces is requested.
            lists.workspaces_due = lists.workspaces_due.min(cx.now);
            self.mark_all_dirty();
        }
        for page in missing {
            if let Some(workspace) = lists.claimed.remove(&page) {
                lists.list_by(&workspace, cx.now);
            }
            let absent = if planted("absence-believed") { Presence::Gone } else { Presence::Unlisted };
            // What could not be fetched because it was going is looked at at once.
            let is_hold = |parked: &mut Box<Parked>| matches!(parked.hold, Hold::Fetch(_));
            if self.trees.pages.get(&page).is_some_and(|node| matches!(node.hold(), Some(Hold::Fetch(_)))) {
                self.runtime(&page).failing.until = cx.now;
            }
            self.edit_page(
                &page,
                |node| {
                    node.remote.presence = absent;
                    node.parked.take_if(is_hold);
                },
                cx,
            );
        }
    }

    /// Whether what `flight` saw of a page is newer than our last act on it.
    pub(crate) fn is_newer(&self, page: &PageId, flight: &Flight, cx: &Context) -> bool {
        let acted = self.runtimes.get(page).map_or(0, |runtime| runtime.acted);
        let writing = cx.in_flight.flights.values().any(|other| {
            matches!(&other.purpose, Purpose::Update { page: p } | Purpose::TrashPage { page: p } if p == page)
        });
        flight.tick > acted && !writing || planted("old-look-believed")
    }

    /// Whether a full pass is under way and has not fetched this page yet.
    pub(crate) fn pass_wants(&self, page: &PageId, polling: &Polling) -> bool {
        polling.precedes_pass(self.runtimes.get(page).map_or(0, |runtime| runtime.looked))
            || polling.full_pass.is_some() && self.is_unfound(page)
    }
}

impl Lists {
    pub(crate) fn list_by(&mut self, workspace: &WorkspaceId, at: Timestamp) {
        self.pages_due.entry(workspace.clone()).and_modify(|due| *due = (*due).min(at)).or_insert(at);
    }

    /// The time before which the list of workspaces is not requested again after a failure.
    pub(crate) fn workspaces_rest_until(&self) -> Timestamp {
        self.workspaces_rest_until
    }

    /// The workspaces in the service's order; `None` before the first list of this run.
    pub(crate) fn workspace_order(&self) -> Option<&[WorkspaceId]> {
        (self.workspaces_looked > 0).then_some(&self.order)
    }

    /// When the list of workspaces may be requested next.
    fn workspaces_due(&self) -> Timestamp {
        self.workspaces_due.max(self.workspaces_rest_until)
    }

    /// Tick at which the last list of a workspace was requested.
    pub(crate) fn list_looked(&self, workspace: &WorkspaceId) -> u64 {
        self.pages_looked.get(workspace).copied().unwrap_or(0)
    }

    /// Whether all positions are stored.
    pub(crate) fn positions_are_saved(&self) -> bool {
        self.positions.is_empty()
    }

    fn note_list_trouble(&mut self, what: &str, error: Option<ServiceError>) {
        if let Some(error) = error.filter(|e| e.next() == crate::model::Next::Park) {
            self.failed.insert(what.to_owned(), error.to_string());
        }
    }
}

impl Trees {
    fn folder_for_workspace(&self, name: &str) -> String {
        let taken: BTreeSet<String> =
            self.workspaces.values().map(|node| naming::fold(&node.folder)).collect();
        naming::folder_name(name, &|key| taken.contains(key), 200).stem
    }

    /// Whether the pages known to be listed are exactly these.
    fn is_exactly(&self, workspace: &WorkspaceId, listed: &BTreeSet<PageId>) -> bool {
        let mine = self.pages.values().filter(|node| node.workspace == *workspace);
        let known = mine.filter(|node| node.remote.presence == Presence::Listed).map(|node| &node.id);
        // Both are in the order of their ids.
        known.eq(listed)
    }
}

impl Polling {
    /// Whether a full pass was requested since the fetch that was issued at `tick`.
    pub(crate) fn precedes_pass(&self, tick: u64) -> bool {
        self.full_pass.as_ref().is_some_and(|pass| tick <= pass.since)
    }
}
