//! Refusals of pages by the service. Each is noted with its class and the time of the next try. It is tried again then,
//! by a full pass, in a new run, and when the place may be written to again. The rule itself is [`Refusal`]'s.

use std::collections::BTreeMap;

use crate::core::items::Verb;
use crate::engine::act::place::wall_time;
use crate::engine::observe::targets;
use crate::engine::on_core;
use crate::engine::schedule::pace::Class;
use crate::engine::state::retry::{TOLD_AFTER, was_forbidden, write_of};
use crate::engine::state::{Context, Engine, Held, Lists, Needs, Pages, Purpose, RefusedFile, Trees};
use crate::model::{
    Code, ContentHash, Effect, Hold, INTERNAL_MEND, MirrorPath, Node, PageId, Parked, Presence, Refusal,
    RefusalClass, Schedule, ServiceError, Settings, Timestamp, WorkspaceId,
};

/// The list of workspaces shows frozen ones and roles. After a refusal it is requested after this time, and while
/// refusals continue, by this schedule.
const WORKSPACES_AFTER_MS: i64 = 1_000;
const WORKSPACES: Schedule = Schedule::new(10_000, 300_000);

impl Engine {
    /// How long the list of workspaces waits while something depends on what it says about a place; `None` if nothing
    /// does.
    pub(crate) fn workspaces_wait_ms(&mut self) -> Option<i64> {
        let is_refused = |node: &Node| node.hold().is_some_and(rests_on_place);
        let trees = &self.pages.trees;
        let waits = trees.workspaces.values().any(|node| node.seen.frozen)
            || trees.forbidden.is_any()
            || self.pages.refusals.values().any(|it| it.refusal.class != RefusalClass::Transient)
            || on_core::core_is_refused(self)
            || trees.needs_user().any(is_refused);
        if !waits {
            self.polling.lists.workspaces_asked = 0;
            return None;
        }
        self.polling.lists.workspaces_asked += 1;
        Some(WORKSPACES.wait_ms(self.polling.lists.workspaces_asked))
    }
}

/// The code of the message about a refusal of this class.
pub(crate) fn code_of(class: RefusalClass) -> Code {
    match class {
        RefusalClass::Transient => Code::Failing,
        RefusalClass::Place | RefusalClass::Content => Code::Refused,
    }
}

/// The code of the message about a page that waits.
pub(crate) fn code_of_hold(hold: &Hold) -> Code {
    match hold {
        Hold::Fetch(refusal) if refusal.class == RefusalClass::Content => Code::Failing,
        Hold::Edit(refusal) | Hold::Deletion(refusal) | Hold::Fetch(refusal) => code_of(refusal.class),
        Hold::Internal(_) => Code::Internal,
        Hold::Unloadable(_) | Hold::Unwritable(_) => Code::Unwritable,
    }
}

/// Whether the user is told of a refusal: of trouble of the service after some failures, of anything else at once.
pub(crate) fn is_told(refusal: &Refusal) -> bool {
    refusal.class != RefusalClass::Transient || refusal.tries >= TOLD_AFTER
}

/// Whether something waits in a workspace until the service allows the verb.
pub(crate) fn waits_for(pages: &Pages, workspace: &WorkspaceId, verb: Verb) -> bool {
    let trees = &pages.trees;
    let is_its = |id: &PageId| trees.pages.get(id).is_some_and(|node| node.workspace == *workspace);
    let is_refused = |node: &Node| node.workspace == *workspace && was_forbidden(node, verb);
    let is_new = |(path, refused): (&MirrorPath, &RefusedFile)| {
        refused.workspace == *workspace
            && refused.refusal.class == RefusalClass::Place
            && trees.untracked_files.iter().any(|file| file.is_within(path))
    };
    pages.request_queue.writes(verb).any(is_its)
        || trees.needs_user().any(is_refused)
        || verb == Verb::Write && pages.refusals.iter().any(is_new)
}

/// Decides again about all pages when a wait after a 403 has ended. Once all is decided, nothing rests for which nothing waits.
pub(crate) fn tend_forbidden(pages: &mut Pages, cx: &Context) {
    let mut forbidden = std::mem::take(&mut pages.trees.forbidden);
    if forbidden.has_ended(cx.now) {
        pages.mark_all_dirty();
    }
    if pages.dirty.is_empty() && !pages.all_dirty && cx.in_flight.requests_under_way() == 0 {
        forbidden.retain(|workspace, verb| waits_for(pages, workspace, verb));
    }
    pages.trees.forbidden = forbidden;
}

/// Whether a write was refused that may be allowed when its workspace is in another state.
pub(crate) fn rests_on_place(hold: &Hold) -> bool {
    match hold {
        Hold::Edit(_) => true,
        Hold::Deletion(refusal) => refusal.class == RefusalClass::Place,
        _ => false,
    }
}

impl Pages {
    /// Notes that a request was carried out: its verb is allowed in its workspace.
    pub(crate) fn carried_out(&mut self, purpose: &Purpose, cx: &mut Context) {
        let workspace = |page| self.trees.pages.get(page).map(|node| node.workspace.clone());
        let (workspace, verb) = match purpose {
            Purpose::Update { page } => (workspace(page), Verb::Write),
            Purpose::TrashPage { page } => (workspace(page), Verb::Delete),
            Purpose::Create { path } => {
                (self.creations.get(path).map(|creation| creation.draft.workspace.clone()), Verb::Write)
            }
            _ => return,
        };
        if let Some(workspace) = workspace.filter(|workspace| self.trees.forbidden.allow(workspace, verb)) {
            self.try_refused_again(Some(&workspace), cx);
            self.mark_all_dirty();
        }
    }

    /// Records that the service refused a request for a page. The page waits for its next try while the basis is
    /// unchanged.
    pub(crate) fn refuse(
        &mut self,
        page: &PageId,
        class: RefusalClass,
        error: &ServiceError,
        kind: fn(Refusal) -> Hold,
        lists: &mut Lists,
        cx: &mut Context,
    ) {
        let Some(node) = self.trees.pages.get(page) else { return };
        let (local, remote) = self.trees.both_contents(node);
        let before = node.parked.as_deref().filter(|parked| (parked.local, parked.remote) == (local, remote));
        let before = before.and_then(|parked| parked.hold.refusal());
        let refusal = Refusal::new(class, error.to_string(), before, cx.now);
        if refusal.tries == 1 {
            lists.ask_for_workspaces_soon(cx.now, true);
        }
        self.park(page, kind(refusal), cx);
    }

    /// Records that a page cannot be fetched.
    pub(crate) fn refuse_fetch(
        &mut self,
        page: &PageId,
        class: RefusalClass,
        said: String,
        cx: &mut Context,
    ) {
        let now = cx.now;
        self.drop_reservation(page, cx);
        self.edit_page(
            page,
            |node| {
                let before = node.parked.as_deref().filter(|parked| matches!(parked.hold, Hold::Fetch(_)));
                let before = before.and_then(|parked| parked.hold.refusal());
                let mut refusal = Refusal::new(class, said, before, now);
                if let Some(before) = before.filter(|before| before.rests(now)) {
                    // Another request came in between: it is not the next try.
                    (refusal.tries, refusal.retry_at) = (before.tries, before.retry_at);
                }
                node.parked =
                    Some(Box::new(Parked { hold: Hold::Fetch(refusal), local: None, remote: None }));
                node.poll.last = now;
            },
            cx,
        );
        if let Some(refusal) = self.trees.pages.get(page).and_then(|node| node.hold()?.refusal()) {
            self.put_off(page, refusal.retry_at);
        }
    }

    /// Makes a page wait until either side changes.
    pub(crate) fn park(&mut self, page: &PageId, hold: Hold, cx: &mut Context) {
        let Some(node) = self.trees.pages.get(page) else { return };
        let (local, remote) = self.trees.both_contents(node);
        let now = cx.now;
        self.drop_reservation(page, cx);
        self.request_queue.remove(page);
        self.edit_page(
            page,
            |node| {
                node.parked = Some(Box::new(Parked { hold, local, remote }));
                node.poll.last = now;
            },
            cx,
        );
    }

    /// The next fetch of a page that could not be fetched.
    pub(crate) fn next_refused_fetch(&self, cx: &Context) -> Option<(Effect, Purpose)> {
        if !cx.pace.allows(Class::Background, 1, false, cx.now) {
            return None;
        }
        let mut due = self.trees.needs_user().filter(|node| {
            node.hold().is_some_and(|hold| matches!(hold, Hold::Fetch(_)) && !hold.rests(cx.now))
                && self.trees.is_polled(node)
                && self.may_be_fetched(&node.id, cx)
        });
        due.next().map(|node| targets::poll_of(&node.id))
    }
}

/// The times at which refused pages and new files are tried again.
pub(crate) fn next_refused(pages: &Pages) -> impl Iterator<Item = Timestamp> {
    let held = pages.trees.needs_user().filter_map(|node| Some(node.hold()?.refusal()?.retry_at));
    held.chain(pages.refusals.values().map(|refused| refused.refusal.retry_at))
}

impl Trees {
    /// Whether a refusal of a write is told with its workspace: nothing may be written there, or not with this verb.
    pub(crate) fn is_told_with_workspace(
        &self,
        workspace: &WorkspaceId,
        (verb, refusal): (Verb, &Refusal),
        settings: &Settings,
    ) -> bool {
        let is_forbidden = || refusal.class == RefusalClass::Place && self.forbidden.rests(workspace, verb);
        self.read_only(workspace, settings).is_some() || is_forbidden()
    }

    /// Whether a page's refused write is told with its workspace.
    pub(crate) fn is_hold_told_with_workspace(&self, node: &Node, settings: &Settings) -> bool {
        let refused = node.hold().and_then(write_of);
        refused.is_some_and(|refused| self.is_told_with_workspace(&node.workspace, refused, settings))
    }

    /// The contents that a refusal of a page's edit or deletion rests on.
    pub(crate) fn both_contents(&self, node: &Node) -> (Option<ContentHash>, Option<ContentHash>) {
        (self.file_of(node).and_then(|file| file.hash), node.remote.body)
    }

    /// Whether something keeps a page's file from being sent, given the present file and page.
    pub(crate) fn is_edit_held(&self, node: &Node, now: Timestamp) -> bool {
        node.parked.as_deref().is_some_and(|parked| {
            !matches!(parked.hold, Hold::Fetch(_) | Hold::Deletion(_))
                && (parked.local, parked.remote) == self.both_contents(node)
                && parked.hold.rests(now)
        })
    }

    /// Whether a page could not be fetched, and is not due for another fetch.
    pub(crate) fn is_unreadable(&self, page: &PageId, now: Timestamp) -> bool {
        let hold = self.pages.get(page).and_then(Node::hold);
        hold.is_some_and(|hold| matches!(hold, Hold::Fetch(_)) && hold.rests(now))
    }
}

impl Context {
    /// Whether something keeps a page from being deleted. An approval is about guards; the service may refuse again.
    pub(crate) fn is_deletion_held(&self, node: &Node) -> bool {
        node.parked.as_deref().is_some_and(|parked| {
            matches!(parked.hold, Hold::Deletion(_))
                && parked.remote == node.remote.body
                && parked.hold.rests(self.now)
        })
    }

    /// What ends a refusal, for the message to the user.
    pub(crate) fn next_try(&self, refusal: &Refusal) -> String {
        if refusal.retry_at == Refusal::NEVER {
            return "espejo sync retries".to_owned();
        }
        self.next_try_at(refusal.retry_at)
    }

    /// When something is tried again, for the message to the user.
    pub(crate) fn next_try_at(&self, at: Timestamp) -> String {
        let at = wall_time(at.max(self.now), self.settings.utc_offset_seconds);
        format!("espejo retries at {:02}:{:02}:{:02}", at.hour, at.minute, at.second)
    }

    /// The remedy for a page that waits.
    pub(crate) fn mend_of(&self, hold: &Hold) -> String {
        match hold {
            Hold::Unloadable(_) | Hold::Unwritable(_) => {
                "edit the file or the page; espejo then retries".to_owned()
            }
            Hold::Internal(_) => INTERNAL_MEND.to_owned(),
            Hold::Edit(refusal) | Hold::Deletion(refusal) | Hold::Fetch(refusal) => {
                let next = self.next_try(refusal);
                match (hold, refusal.class) {
                    (_, RefusalClass::Transient) => format!("nothing to do: {next}"),
                    (Hold::Fetch(_), RefusalClass::Content) => format!("nothing to do: {next}"),
                    (_, RefusalClass::Place) => format!("check your role in the app; {next}"),
                    (Hold::Deletion(_), _) => format!("restore the file; {next}"),
                    _ => format!("edit the file or the page; {next}"),
                }
            }
        }
    }
}

impl Pages {
    /// Ends the refusals of a page that is in step: nothing that was refused is needed any more.
    pub(crate) fn end_refusal(&mut self, node: &Node, cx: &mut Context) {
        let is_over = |hold: &Hold| {
            matches!(
                hold,
                Hold::Edit(_)
                    | Hold::Deletion(_)
                    | Hold::Unloadable(_)
                    | Hold::Unwritable(_)
                    | Hold::Internal(_)
            )
        };
        if node.hold().is_some_and(is_over) {
            self.edit_page(&node.id, |node| node.parked = None, cx);
        }
    }

    /// Has refused acts tried again: all of them for a full pass; in a workspace that may be written to again, all but
    /// deletions that the service refused for themselves.
    pub(crate) fn try_refused_again(&mut self, within: Option<&WorkspaceId>, cx: &mut Context) {
        let now = cx.now;
        let is_meant = |node: &Node| {
            let is_here = within.is_none_or(|workspace| node.workspace == *workspace);
            let is_meant = |hold: &Hold| {
                let is_deletion = matches!(hold, Hold::Deletion(_));
                hold.refusal().is_some() && (within.is_none() || !is_deletion || rests_on_place(hold))
            };
            is_here && node.hold().is_some_and(is_meant)
        };
        let meant = self.trees.needs_user().filter(|node| is_meant(node));
        let pages: Vec<PageId> = meant.map(|node| node.id.clone()).collect();
        for page in pages {
            let runtime = self.runtime(&page);
            (runtime.undeletable, runtime.failing.until) = (0, runtime.failing.until.min(now));
            self.edit_page(
                &page,
                |node| {
                    if let Some(refusal) = node.parked.as_mut().and_then(|parked| parked.hold.refusal_mut()) {
                        refusal.try_at(now);
                    }
                },
                cx,
            );
            self.mark_dirty(&page);
        }
        // Writes that failed each time, with an unknown outcome.
        let failing: Vec<PageId> = self.held.keys().filter(|_| within.is_none()).cloned().collect();
        for page in failing {
            let runtime = self.runtime(&page);
            if runtime.writes.count > 0 {
                runtime.writes.until = runtime.writes.until.min(now);
                runtime.failing.until = runtime.failing.until.min(now);
                self.hold(&page, None);
                self.mark_dirty(&page);
            }
        }
        for refused in self.refusals.values_mut() {
            if within.is_none_or(|workspace| refused.workspace == *workspace) {
                refused.refusal.try_at(now);
            }
        }
    }

    /// Notes why a page waits, or that it does not.
    pub(crate) fn hold(&mut self, page: &PageId, held: Option<Held>) {
        match held {
            Some(held) => drop(self.held.insert(page.clone(), held)),
            None => drop(self.held.remove(page)),
        }
    }

    /// Whether work for this page is deferred: a wake-up for it comes by itself.
    pub(crate) fn is_put_off(&self, page: &PageId, now: Timestamp) -> bool {
        self.retries_until > now && self.runtimes.get(page).is_some_and(|runtime| runtime.failing.until > now)
    }
}

impl Lists {
    /// Requests the list of workspaces soon: it shows whether one is frozen, and when that is over. After the `first`
    /// refusal, the waits between further requests begin anew.
    pub(crate) fn ask_for_workspaces_soon(&mut self, now: Timestamp, first: bool) {
        if first {
            self.workspaces_asked = 0;
        }
        let soon = now.plus_ms(WORKSPACES_AFTER_MS);
        self.workspaces_due = self.workspaces_due.min(soon);
    }
}

/// Adds one message for the pages of each workspace that have no file yet, because the disk refuses one.
pub(crate) fn tell_unwritten(pages: &Pages, needs: &mut Needs) {
    // The disk's words name one of them.
    let mut refused: BTreeMap<&WorkspaceId, (u64, &str)> = BTreeMap::new();
    for (id, held) in &pages.held {
        if let (Held::Disk(why), Some(node)) = (held, pages.trees.pages.get(id))
            && node.file.is_none()
            && node.parked.is_none()
            && node.remote.presence == Presence::Listed
        {
            refused.entry(&node.workspace).or_insert((0, why)).0 += 1;
        }
    }
    for (workspace, (count, why)) in refused {
        let place = pages.trees.layout().pages_root(workspace);
        let some = if count == 1 { "1 page is".to_owned() } else { format!("{count} pages are") };
        needs.tell(
            Code::NotWritten,
            place.as_ref().map_or("", MirrorPath::as_str),
            &format!("{some} not here yet: {why}"),
            "espejo retries",
        );
    }
}
