//! Fetches of single pages: which one is next, and what an answer says. The polling for changes is in `targets`.

use std::collections::VecDeque;

use crate::engine::content::faults::or_hold;
use crate::engine::content::stale::{Shows, asked_again_in};
use crate::engine::schedule::pace::Class;
use crate::engine::schedule::poll;
use crate::engine::state::answered::LAGS_MS;
use crate::engine::state::{Context, Engine, Flight, Lists, Opened, Pages, Polling, Purpose, Trees};
use crate::model::{
    Blocks, Body, Code, ContentHash, Effect, Hold, Node, Page, PageId, Presence, RefusalClass, ServiceError,
    ServiceReply, Side, Timestamp, WorkspaceId, planted,
};
use crate::store::StoreError;

/// If a fetch shows an overwritten push while the page's file is being written, the page is fetched again after this
/// time.
const PUT_BACK_WAITS_MS: i64 = 5_000;
/// When the list is made that decides about a listed page which a fetch did not find, and when the page is fetched again: one
/// that was never seen, and one that was.
const UNSEEN_WAITS_MS: [i64; 2] = [LAGS_MS[1], 15_000];
const SEEN_WAITS_MS: [i64; 2] = [0, 30_000];
/// How often the pages that were never fetched are put in order while a folder is open.
const ORDERED_EVERY_MS: i64 = 1_000;
/// Why a page waits that a list shows and a fetch does not find.
const UNFOUND: &str = "the service lists it and answers that it does not exist";
/// The cause that the conflict copy of a text names that the app did not keep.
const OVERWRITTEN_TWICE: &str = "an editor that was open in the app wrote its old text over it twice";

impl Engine {
    /// The next fetch of a page that has not been fetched yet, or not in this pass.
    pub(crate) fn next_page_fetch(&mut self) -> Option<(Effect, Purpose)> {
        self.commands.opened.order_unseen(&mut self.pages.trees, self.cx.now);
        let left = || {
            let unseen = self.pages.trees.unseen.as_ref().map_or(0, VecDeque::len);
            unseen + self.polling.full_pass.as_ref().map_or(0, |_| self.pages.pass_left(&self.polling))
        };
        let class = if self.polling.full_pass.is_some() { Class::Asked } else { Class::Background };
        if !self.cx.pace.allows_one_of(class, left, self.cx.now) {
            return None;
        }
        let ready = |page: &PageId| self.pages.may_be_fetched(page, &self.cx);
        // What a fetch did not find comes after what was not asked for yet.
        let is_new = |page: &PageId| self.pages.runtimes.get(page).is_none_or(|runtime| runtime.looked == 0);
        let unseen = || self.pages.trees.unseen.iter().flatten().filter(|page| ready(page));
        let next = unseen().find(|page| is_new(page)).or_else(|| unseen().next()).cloned().or_else(|| {
            // Without a pass no page needs a second fetch, so none is examined.
            self.polling.full_pass.as_ref()?;
            let mut pages = self
                .pages
                .trees
                .polled()
                .map(|node| &node.id)
                .filter(|page| self.pages.pass_wants(page, &self.polling));
            pages.find(|page| ready(page)).cloned()
        })?;
        self.cx.pace.rest(false);
        let purpose = Purpose::Fetch { page: next.clone(), class, reserve: 0 };
        Some((Effect::FetchPage(next), purpose))
    }

    pub(crate) fn fetched(
        &mut self,
        flight: &Flight,
        page: &PageId,
        class: Class,
        result: Result<ServiceReply, ServiceError>,
    ) -> Result<(), StoreError> {
        if !self.pages.is_newer(page, flight, &self.cx) {
            return Ok(());
        }
        let Some(node) = self.pages.trees.pages.get(page).cloned() else { return Ok(()) };
        match result {
            Ok(ServiceReply::Page(seen))
                if seen.meta.id == *page && (!seen.is_null || may_be_empty(&node)) =>
            {
                let runtime = self.pages.runtime(page);
                let has_shown = runtime.has_shown;
                let is_late = runtime.late == Some(seen.json.hash());
                // What an unconfirmed update sent was put there by no old editor.
                let sent = self.pages.pending_updates.get(page);
                let is_own = sent.is_some_and(|sent| sent.body == seen.json.hash());
                let shows = match is_own || planted("echo-check-lost") {
                    true => Ok(Shows::Present),
                    false => self.cx.weigh(&node, (has_shown, is_late), &seen.json),
                };
                let stale =
                    match or_hold(&mut self.pages, page, Side::Service, shows.map(Some), &mut self.cx)? {
                        None => return Ok(()),
                        Some(Shows::Earlier) => {
                            read_lags(self, flight, page);
                            return Ok(());
                        }
                        Some(Shows::Present) => None,
                        Some(Shows::Stale(ancestor)) => Some(ancestor),
                    };
                if stale.is_some() && self.pages.pending_writes.contains_key(page) {
                    // The outcome of the pending write is not known. The page is fetched again once it is.
                    self.pages.put_off(page, self.cx.now.plus_ms(PUT_BACK_WAITS_MS));
                    return Ok(());
                }
                if stale.is_some() && !is_late && keeps_beside(self, &node) {
                    return Ok(());
                }
                // Overwritten twice, it is kept beside the page and not sent again.
                let stale =
                    stale.filter(|_| is_late || !node.last_push.as_ref().is_some_and(|push| push.again));
                self.pages.note_fetch(flight, page);
                let seen_at = flight.as_of(self.cx.now);
                let runtime = self.pages.runtime(page);
                runtime.seen = flight.tick;
                runtime.seen_at = seen_at;
                let taken = self.take_in_page(node, *seen, stale, flight.sent_at);
                if matches!(taken, Err(StoreError::Fault(_))) {
                    // What it showed was not taken in: nothing may be planned on it.
                    self.pages.runtime(page).seen = 0;
                }
                or_hold(&mut self.pages, page, Side::Service, taken, &mut self.cx)?;
            }
            Ok(ServiceReply::Page(seen)) if seen.meta.id == *page => {
                self.pages.note_fetch(flight, page);
                let said = "the service shows it without any content".to_owned();
                self.pages.refuse_fetch(page, RefusalClass::Transient, said, &mut self.cx);
            }
            Ok(_) => {
                let said = "the service answered with another page".to_owned();
                self.pages.refuse_fetch(page, RefusalClass::Transient, said, &mut self.cx);
            }
            Err(ServiceError::NotFound(_)) => {
                self.pages.note_fetch(flight, page);
                self.pages.take_in_gone(&node, &mut self.polling.lists, &mut self.cx);
            }
            Err(error) if error.next() == crate::model::Next::Park => {
                self.pages.note_fetch(flight, page);
                tracing::debug!(page = %page, ?class, %error, "a page cannot be read");
                self.pages.refuse_fetch(page, class_of_look(&error), error.to_string(), &mut self.cx);
            }
            Err(error) if self.pages.runtime(page).failing.is_told() && self.service.down.is_none() => {
                // The fetch counts as done: it failed too often for a command to wait for another.
                self.pages.note_fetch(flight, page);
                self.pages.refuse_fetch(page, class_of_look(&error), error.to_string(), &mut self.cx);
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn take_in_page(
        &mut self,
        mut node: Node,
        mut seen: Page,
        stale: Option<ContentHash>,
        sent: Timestamp,
    ) -> Result<(), StoreError> {
        let now = self.cx.now;
        {
            let runtime = self.pages.runtime(&node.id);
            runtime.failing.count = 0;
            // A fetch that succeeds says nothing about writes that fail.
            runtime.failing.until = runtime.writes.until;
        }
        self.dashboards.page_fetched(&node.id, seen.nevera.take(), &mut self.cx);
        let hash = seen.json.hash();
        let before = node.remote.clone();
        let is_new = before.body != Some(hash);
        if is_new {
            // A known body is stored already, because a row names it.
            self.cx.store.keep_body_json(&seen.json);
        }
        self.pages.learn(&node, hash, &seen.telling, &mut self.cx)?;
        let title = title_after(&self.pages, &node, std::mem::take(&mut seen.meta.title), now);
        node.remote.set_texts(&title, seen.meta.icon.as_deref());
        node.remote.parent.clone_from(&seen.meta.parent);
        node.remote.position = seen.meta.position;
        node.remote.body = Some(hash);
        if node.remote.presence == Presence::Unlisted {
            node.remote.presence = Presence::Hidden;
        }
        let places_differ = before.parent != node.remote.parent || before.title != node.remote.title;
        let last = std::mem::replace(&mut node.poll.last, now);
        let changed = before.body.is_some() && before != node.remote;
        if changed {
            poll::changed(&mut node.poll, now);
        } else {
            poll::unchanged(&mut node.poll);
        }
        if before.body.is_some() {
            self.watched.watch_fetched(
                &node.id,
                is_new.then_some(&seen),
                last,
                sent,
                &self.pages.trees,
                self.cx.now,
            );
        }
        // A page that could not be fetched has been fetched now. A page that could not be written is tried again if it
        // changed.
        if node
            .parked
            .as_ref()
            .is_some_and(|parked| matches!(parked.hold, Hold::Fetch(_)) || parked.remote != node.remote.body)
        {
            node.parked = None;
        }
        if is_new {
            self.cx.saw_body(&node, &seen.json)?;
            self.pages.read_beside(&node);
            if node.base.is_none() {
                self.pages.fresh.insert(node.id.clone());
            }
        }
        self.pages.settle_sent(&mut node, &mut self.cx)?;
        let mut overwritten = false;
        if let Some(ancestor) = stale {
            let runtime = self.pages.runtime(&node.id);
            // The ids that the push gave to new blocks are used again.
            runtime.parsed = None;
            // A request comes once: the next text like it is an editor's.
            overwritten = runtime.late.take_if(|late| *late == hash).is_none();
            self.cx.go_back(&mut node, before.body, ancestor, &seen.json, overwritten)?;
        } else if node.last_push.as_ref().is_some_and(|push| push.after == hash) {
            self.pages.runtime(&node.id).has_shown = true;
        }
        let (id, parent, workspace) = (node.id.clone(), node.remote.parent.clone(), node.workspace.clone());
        self.pages.save_page(node, &mut self.cx);
        if overwritten {
            self.pages.tell_of_overwriting(&id, &mut self.cx);
        }
        if changed {
            let children = self.pages.trees.children(&workspace, Some(&id));
            let siblings = self.pages.trees.children(&workspace, parent.as_ref());
            let near: Vec<PageId> =
                poll::neighbours(&id, parent.as_ref(), children, siblings).into_iter().cloned().collect();
            for page in near {
                self.pages.edit_page(&page, |node| poll::stirred(&mut node.poll, now), &mut self.cx);
            }
        }
        if places_differ {
            self.pages.choose_stems(&workspace, &mut self.cx);
            self.pages.mark_all_dirty();
        }
        Ok(())
    }
}

impl Opened {
    /// The folder of a page depends on files as well, so with an opened folder the order is computed now and then.
    fn order_unseen(&mut self, trees: &mut Trees, now: Timestamp) {
        let is_old = || self.ordered.is_none_or(|at| now.since_ms(at) >= ORDERED_EVERY_MS);
        if trees.unseen.is_none() || self.has_folder() && is_old() {
            trees.unseen = Some(self.unseen(trees).into());
            self.ordered = Some(now);
        }
    }

    /// Pages whose bodies have never been fetched: first those in a folder that the user listed, then shallow ones.
    fn unseen(&self, trees: &Trees) -> Vec<PageId> {
        // Called after each event while the user browses a folder, mostly when all are fetched.
        let mut shares = trees.live_workspaces().into_iter().map(|workspace| trees.page_counts.of(workspace));
        if shares.all(|share| share.shown == share.looked) {
            return Vec::new();
        }
        let mut pages: Vec<((bool, usize), &Node)> = trees
            .polled()
            .filter(|node| node.remote.body.is_none())
            .map(|node| ((!self.is_in_opened_folder(node, trees), trees.depth(node)), node))
            .collect();
        pages.sort_by(|(a, x), (b, y)| {
            a.cmp(b).then(x.remote.position.total_cmp(&y.remote.position)).then_with(|| x.id.cmp(&y.id))
        });
        pages.into_iter().map(|(_, node)| node.id.clone()).collect()
    }
}

/// Has the pages wait that no fetch has found although a list shows them that was made so long after the first.
pub(crate) fn put_off_unfound(pages: &mut Pages, list: &Flight, workspace: &WorkspaceId, cx: &mut Context) {
    let is_late = |node: &Node| list.sent_at.since_ms(node.poll.last) >= LAGS_MS[1];
    let is_meant = |page: &PageId| {
        let node = pages.trees.pages.get(page).filter(|node| node.workspace == *workspace);
        node.is_some_and(is_late) && pages.is_unfound(page)
    };
    let unfound: Vec<PageId> = pages.runtimes.keys().filter(|page| is_meant(page)).cloned().collect();
    for page in unfound {
        pages.refuse_fetch(&page, RefusalClass::Content, UNFOUND.to_owned(), cx);
    }
}

impl Pages {
    pub(crate) fn pass_left(&self, polling: &Polling) -> usize {
        self.trees.polled().filter(|node| self.pass_wants(&node.id, polling)).count()
    }

    fn take_in_gone(&mut self, node: &Node, lists: &mut Lists, cx: &mut Context) {
        match node.remote.presence {
            Presence::Unlisted | Presence::Hidden | Presence::Gone => {
                self.edit_page(&node.id, |page| page.remote.presence = Presence::Gone, cx);
            }
            Presence::Listed => {
                if matches!(node.hold(), Some(Hold::Fetch(_))) {
                    self.refuse_fetch(&node.id, RefusalClass::Content, UNFOUND.to_owned(), cx);
                    return;
                }
                // List and page disagree. A page that was seen before has most likely gone: the next list decides. About
                // those that were never seen, one list decides that is made when reads lag no more.
                let waits = if node.remote.body.is_none() { UNSEEN_WAITS_MS } else { SEEN_WAITS_MS };
                lists.list_by(&node.workspace, cx.now.plus_ms(waits[0]));
                self.put_off(&node.id, cx.now.plus_ms(waits[1]));
                let now = cx.now;
                // For a page that was never seen, the first of these times counts.
                let is_first =
                    self.runtime(&node.id).failing.count < 2 || node.poll.last == Timestamp::default();
                if is_first || node.remote.body.is_some() {
                    self.edit_page(&node.id, |page| page.poll.last = now, cx);
                }
            }
        }
    }
}

impl Pages {
    /// Whether no fetch has found a page that is listed, and no later list has decided about it.
    pub(crate) fn is_unfound(&self, page: &PageId) -> bool {
        let is_open = |node: &Node| {
            node.remote.presence == Presence::Listed && node.remote.body.is_none() && node.hold().is_none()
        };
        self.runtimes.get(page).is_some_and(|runtime| runtime.looked > runtime.seen)
            && self.trees.pages.get(page).is_some_and(is_open)
    }

    /// Whether any page has never been fetched and is not deferred after a failed fetch.
    pub(crate) fn any_unseen(&self, now: Timestamp) -> bool {
        match &self.trees.unseen {
            Some(unseen) => unseen.iter().any(|page| !self.is_put_off(page, now)),
            None => {
                self.trees.polled().any(|node| node.remote.body.is_none() && !self.is_put_off(&node.id, now))
            }
        }
    }

    fn note_fetch(&mut self, flight: &Flight, page: &PageId) {
        self.runtime(page).looked = flight.tick;
    }

    fn tell_of_overwriting(&mut self, page: &PageId, cx: &mut Context) {
        let Some(path) = self.trees.pages.get(page).and_then(|node| node.file.clone()) else { return };
        cx.notice(
            Code::Overwritten,
            path.as_str(),
            "an editor that was open in the app overwrote your edit with old text; your edit is sent again"
                .to_owned(),
            "reload the page in the app",
        );
    }

    /// Learns which contents may be created in the page's workspace, and stores the blocks that files show as
    /// stand-ins.
    fn learn(
        &mut self,
        node: &Node,
        hash: ContentHash,
        telling: &Blocks,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        if !self.allowed.contains_key(&node.workspace) {
            let allowed = self.allowed_in(&node.workspace, cx)?;
            if cx.store.learned(&node.workspace)?.is_none() {
                cx.store.keep_learned(&node.workspace, &allowed.summary());
            }
            self.allowed.insert(node.workspace.clone(), allowed);
        }
        if let Some(allowed) = self.allowed.get_mut(&node.workspace)
            && allowed.learn(telling)
        {
            cx.store.keep_learned(&node.workspace, &allowed.summary());
        }
        if node.remote.body != Some(hash) {
            cx.keep_stand_ins(&node.workspace, telling, &[]);
        }
        Ok(())
    }
}

impl Trees {
    fn depth(&self, node: &Node) -> usize {
        let mut depth = 0;
        let mut at = node.remote.parent.as_ref();
        while let Some(parent) = at.and_then(|id| self.pages.get(id)).filter(|_| depth < 100) {
            depth += 1;
            at = parent.remote.parent.as_ref();
        }
        depth
    }

    pub(crate) fn polled(&self) -> impl Iterator<Item = &Node> {
        let live = self.live_workspaces();
        // Usually all workspaces are live, and then no page is compared: each event may walk over all pages.
        let all_live = live.len() == self.workspaces.len();
        let in_one = move |node: &&Node| all_live || live.contains(&&node.workspace);
        let shown = self.pages.values().filter(|node| node.remote.presence.is_shown());
        shown.filter(in_one).filter(|node| !self.ignoring.pages.contains(&node.id))
    }

    /// Computes `due` again, for at least `targets` items: the pages that were due have been fetched, or may not be fetched
    /// now.
    pub(crate) fn find_due(&mut self, targets: i64) {
        self.due_among = targets;
        let shown = self.pages.values().filter(|node| node.remote.presence.is_shown());
        let shown = shown.filter(|node| !self.ignoring.pages.contains(&node.id));
        self.due = shown.map(|node| poll::due(&node.poll, targets)).min().unwrap_or(Timestamp(i64::MAX));
    }

    /// Whether a page is fetched from time to time.
    pub(crate) fn is_polled(&self, node: &Node) -> bool {
        node.remote.presence.is_shown()
            && self.is_live(&node.workspace)
            && !self.ignoring.pages.contains(&node.id)
    }
}

/// A read showed a state from before espejo's last request: that request counts until a read shows it.
fn read_lags(engine: &mut Engine, flight: &Flight, page: &PageId) {
    let now = engine.cx.now;
    engine.pages.note_fetch(flight, page);
    let runtime = engine.pages.runtime(page);
    (runtime.seen, runtime.seen_at) = (flight.tick, flight.as_of(now));
    runtime.failing.count = 0;
    runtime.failing.until = runtime.writes.until;
    let again = |node: &mut Node| {
        node.poll.last = now;
        if let Some(wait) = node.last_push.as_ref().and_then(|push| asked_again_in(push.at, now)) {
            node.poll.gap_ms = wait;
        }
    };
    engine.pages.edit_page(page, again, &mut engine.cx);
    engine.pages.mark_dirty(page);
}

/// Keeps the text of a page's file beside the page when an editor in the app has overwritten it twice. Returns whether
/// that is still to be done: until then the fetch does not count.
fn keeps_beside(engine: &mut Engine, node: &Node) -> bool {
    let Some(file) = engine.pages.trees.file_of(node).filter(|file| file.problem.is_none()) else {
        return false;
    };
    let is_second = node.last_push.as_deref().is_some_and(|push| push.again);
    if !is_second
        || engine.pages.runtimes.get(&node.id).and_then(|runtime| runtime.copied.as_deref())
            == file.hash.as_ref()
    {
        return false;
    }
    let (path, summary) = (file.path.clone(), OVERWRITTEN_TWICE.to_owned());
    engine.pages.put_off(&node.id, engine.cx.now.plus_ms(PUT_BACK_WAITS_MS));
    if engine.cx.in_flight.ready.is_none() {
        let purpose = Purpose::ReadToCopy { page: node.id.clone(), path: path.clone(), summary };
        engine.cx.in_flight.ready = Some((Effect::ReadFile(path), purpose));
    }
    true
}

/// Whether a content of `null` may mean an empty page: only if no other content was ever seen or is in the base.
fn may_be_empty(node: &Node) -> bool {
    let empty = Body::of(Vec::new()).hash;
    let agreed = node.base.as_ref().map(|base| base.body);
    [agreed, node.remote.body].into_iter().flatten().all(|body| body == empty)
}

/// The class of a failed fetch. The content of the page cannot be the cause.
fn class_of_look(error: &ServiceError) -> RefusalClass {
    match RefusalClass::of(error) {
        RefusalClass::Place => RefusalClass::Place,
        RefusalClass::Transient | RefusalClass::Content => RefusalClass::Transient,
    }
}

/// The title that counts: one that espejo sent a moment ago, if what was read is still one from before.
pub(crate) fn title_after(pages: &Pages, node: &Node, read: String, now: Timestamp) -> String {
    if pages.answered.had_title(&node.id, &read, now) { node.remote.title.to_string() } else { read }
}
