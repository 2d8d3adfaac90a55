//! Which request leaves next, and what a failed one means for all the others.

use crate::engine::act::creation_guard;
use crate::engine::observe::workspaces::named_by_id;
use crate::engine::on_core;
use crate::engine::schedule::pace::Class;
use crate::engine::state::{Context, Engine, Flight, Health, Needs, Pages, Purpose, retry};
use crate::model::{Code, Effect, Next, PageId, ServiceError, ServiceReply, Timestamp, planted};
use crate::plan::Decision;
use crate::store::StoreError;

/// How many requests may be under way at once.
pub(crate) const REQUESTS_AT_ONCE: usize = 6;

/// With a refused token, only one probe is sent, this often.
const PROBE_EVERY_MS: i64 = 300_000;
/// For so long after the list of workspaces has ended a doubt, a 404 is about its own request, in milliseconds.
const VOUCHES_MS: i64 = 60_000;
/// While a guard holds all deletions, they are checked again after this time.
const HELD_REST_MS: i64 = 5_000;

impl Engine {
    /// The next request, if one may leave now.
    pub(crate) fn next_request(&mut self) -> Result<Option<(Effect, Purpose)>, StoreError> {
        if let Some(choice) = self.next_search() {
            return Ok(Some(choice));
        }
        if self.service.paused.is_some()
            || self.commands.asked.is_all()
            || !self.service.may_ask_more(&self.cx)
            || self.cx.now < self.service.quiet_until
        {
            return Ok(None);
        }
        if self.service.is_in_doubt && self.cx.pace.allows(Class::Asked, 1, false, self.cx.now) {
            return Ok(probe(self));
        }
        if self.service.stopped.is_some() {
            if !self.cx.pace.allows(Class::List, 1, false, self.cx.now) {
                return Ok(None);
            }
            self.service.quiet_until = self.cx.now.plus_ms(PROBE_EVERY_MS);
            return Ok(probe(self));
        }
        if self.folder.root.is_ready() {
            if let Some(choice) = self.next_wanted()? {
                return Ok(Some(choice));
            }
            creation_guard::count(self);
            if let Some(choice) = self.pages.next_creation(&mut self.folder, &mut self.cx) {
                return Ok(Some(choice));
            }
            if let Some(choice) = on_core::next_core_request(self)? {
                return Ok(Some(choice));
            }
        }
        if self.pages.edits_wait(&self.cx) || on_core::core_edits_wait(self) {
            // The few slots that are left belong to a user's edit.
            return Ok(None);
        }
        if let Some(choice) = self.next_pulled() {
            return Ok(Some(choice));
        }
        if let Some(list) = self.polling.next_list(&self.pages.trees, &self.cx) {
            return Ok(Some(list));
        }
        if let Some(choice) = on_core::next_core_list(self)? {
            return Ok(Some(choice));
        }
        let next = self.next_opened_fetch().or_else(|| self.next_background_fetch());
        next.map_or(Ok(None), |choice| on_core::issue_core_fetch(self, choice))
    }

    /// The next background fetch. Items that have not been fetched yet, or not in this pass, come first: two pages for
    /// each other item. A kind with nothing to fetch leaves its turn to the others.
    /// Then come those that could not be fetched. After that the schedule chooses among all items.
    fn next_background_fetch(&mut self) -> Option<(Effect, Purpose)> {
        self.polling.background_turn = (self.polling.background_turn + 1) % 4;
        let first = match self.polling.background_turn {
            0 | 2 => on_core::next_core_fetch(self),
            _ => None,
        };
        first
            .or_else(|| self.next_page_fetch())
            .or_else(|| on_core::next_core_fetch(self))
            .or_else(|| self.pages.next_refused_fetch(&self.cx))
            .or_else(|| self.next_poll())
    }

    /// The next request of the queue: pushes first, then confirmations and deletions.
    fn next_wanted(&mut self) -> Result<Option<(Effect, Purpose)>, StoreError> {
        // There may be thousands, and this runs after each event.
        if self.cx.pace.is_spent(1, self.cx.now) {
            return Ok(None);
        }
        // A push is a fetch and a PATCH.
        let may_push = !self.cx.pace.is_spent(2, self.cx.now);
        let (mut pushes, mut others) = (Vec::new(), Vec::new());
        for (page, decision) in self.pages.request_queue.pressing() {
            match decision {
                Decision::Push { title } if may_push => {
                    let was_refused = self.pages.trees.page_counts.needs_user.contains(page);
                    pushes.push((was_refused, page.clone(), title.clone()));
                }
                Decision::Push { .. } => {}
                _ => others.push(page.clone()),
            }
        }
        // What failed comes after what was not tried yet.
        pushes.sort_by_key(|(was_refused, ..)| *was_refused);
        for (_, page, title) in pushes {
            if !self.pages.is_at_its_word(&page, &self.cx) {
                continue;
            }
            let choice = self.pages.push_request(&page, title, &mut self.cx)?;
            if choice.is_some() || self.cx.in_flight.ready.is_some() {
                return Ok(choice);
            }
        }
        // What was hinted at or seen since the decision may be the missing file.
        let is_quiet = self.folder.watch.is_quiet(self.cx.now);
        if let Some(pages) = self.pages.request_queue.trashes(self.cx.now).filter(|_| is_quiet).cloned() {
            // The guard concerns all pages together, and is checked once for all of them.
            let held = self.pages.removal_held(&self.folder.root, &self.cx);
            let to_be_made = self.pages.trees.to_be_made();
            for page in pages {
                if !self.pages.is_at_its_word(&page, &self.cx) {
                    continue;
                }
                let choice = self.trash_request(&page, held.is_some(), &to_be_made);
                if choice.is_some() || self.cx.in_flight.ready.is_some() {
                    return Ok(choice);
                }
            }
            if held.is_some() {
                self.pages.request_queue.rest_trashes(self.cx.now.plus_ms(HELD_REST_MS));
            }
        }
        for page in others {
            let choice = if self.pages.is_at_its_word(&page, &self.cx) {
                self.pages.fetch_request(&page, &self.cx)
            } else {
                None
            };
            if choice.is_some() {
                return Ok(choice);
            }
        }
        Ok(None)
    }

    /// When a request may become possible that is not possible now.
    pub(crate) fn next_request_due(&self, now: Timestamp) -> Timestamp {
        let far = now.plus_ms(3_600_000);
        let forbidden = self.pages.trees.forbidden.next_end().unwrap_or(far);
        let at = if self.service.paused.is_some() {
            return far;
        } else if self.service.stopped.is_some() {
            far
        } else if self.pages.edits_wait(&self.cx) {
            self.cx.pace.earliest(Class::Edit, 2, false, now)
        } else {
            let waits = |page: &PageId| self.pages.is_put_off(page, self.cx.now);
            let trash_waits = |page: &PageId| {
                self.pages.retries_until > self.cx.now
                    && self.pages.trees.subtree(page).iter().any(|id| self.pages.is_put_off(id, self.cx.now))
            };
            let wanted = self.pages.request_queue.due(waits, trash_waits);
            let are_made =
                self.folder.watch.is_quiet(now) && self.pages.is_making(&|_| true, &self.folder, &self.cx);
            let wanted = wanted.or(are_made.then_some(now));
            let wanted = wanted
                .map(|due| self.cx.pace.earliest(Class::Asked, 1, false, now).max(now.plus_ms(100)).max(due));
            let looks = self
                .polling
                .lists
                .next_list_due(now, &self.pages.trees, &self.cx)
                .min(self.next_poll_due(now));
            // A request that is due now and could not leave waits with the others.
            wanted.map_or(looks, |wanted| wanted.min(looks.max(now.plus_ms(100))))
        };
        let pulled =
            self.commands.pulling.is_any().then(|| self.cx.pace.earliest(Class::Asked, 1, false, now));
        let at = at
            .min(on_core::next_core_request_due(self, now))
            .min(pulled.map_or(far, |at| at.max(now.plus_ms(100))));
        at.max(self.service.quiet_until.min(far)).max(self.cx.pace.blocked_until()).min(forbidden)
    }

    /// Applies the answer to a request.
    pub(crate) fn service_done(
        &mut self,
        flight: Flight,
        result: Result<ServiceReply, ServiceError>,
    ) -> Result<(), StoreError> {
        if let Some(page) = flight.purpose.page().cloned() {
            self.pages.mark_dirty(&page);
        }
        let is_probe = flight.purpose == Purpose::ListWorkspaces;
        let was_in_doubt = is_probe && std::mem::take(&mut self.service.is_in_doubt);
        let was_lost = was_in_doubt && self.service.down.is_some();
        // A request that names no item that may be gone: a 404 to it says something of the service.
        let asks_anew = match &flight.purpose {
            Purpose::ListPages(_) | Purpose::Create { .. } => true,
            Purpose::Core(of) => on_core::asks_anew(self, of),
            _ => false,
        };
        let result = result.map_err(|error| self.service.weigh(&flight, asks_anew, error));
        match &result {
            Ok(_) => {
                self.service_answers();
                if was_in_doubt {
                    self.service.vouched_at = self.cx.now;
                }
                if was_lost {
                    self.service.quiet_until = self.cx.now;
                    try_all_again(self);
                }
                self.pages.carried_out(&flight.purpose, &mut self.cx);
            }
            Err(error) => self.service_fails(&flight, error),
        }
        match flight.purpose.clone() {
            Purpose::Core(of) => {
                let were_refused = on_core::core_is_refused(self);
                on_core::core_request_done(self, &flight, of, result)?;
                if !were_refused && on_core::core_is_refused(self) {
                    self.polling.lists.ask_for_workspaces_soon(self.cx.now, true);
                }
            }
            Purpose::ListWorkspaces => self.workspaces_listed(&flight, result),
            Purpose::ListPages(workspace) => self.pages_listed(&flight, &workspace, result)?,
            Purpose::Fetch { page, class, reserve } => {
                if reserve > 0 && result.is_err() {
                    self.pages.drop_reservation(&page, &mut self.cx);
                }
                self.fetched(&flight, &page, class, result)?;
            }
            Purpose::Create { path } => self.created(&path, result),
            Purpose::Update { page } => self.updated(&page, result)?,
            Purpose::TrashPage { page } => self.trashed(&page, result)?,
            Purpose::Search => {
                self.commands.searching.searched(result);
            }
            Purpose::Watch { group } => {
                self.watched.watch_answered(&flight, group, result, &self.service, self.cx.now);
            }
            _ => {}
        }
        Ok(())
    }

    /// Records that a request succeeded. After a refused token, all that was refused meanwhile is tried again.
    pub(crate) fn service_answers(&mut self) {
        self.cx.pace.accepted();
        let health = &mut self.service;
        health.failures = 0;
        (health.answered, health.misdirected) = (true, None);
        health.refused = (false, false);
        health.down = None;
        if health.stopped.take().is_some() {
            health.quiet_until = self.cx.now;
            try_all_again(self);
        }
    }

    pub(crate) fn service_fails(&mut self, flight: &Flight, error: &ServiceError) {
        if !matches!(flight.purpose, Purpose::Watch { .. } | Purpose::Search) {
            tracing::debug!(%error, purpose = ?flight.purpose.page(), "request failed");
        }
        let elsewhere = error.mend_of_address().filter(|_| !self.service.answered);
        match error {
            _ if flight.purpose == Purpose::ListWorkspaces && error.mend_of_address().is_some() => {
                self.service.misdirected = elsewhere;
                self.service.failures += 1;
                rest(self, error);
                // Nothing else is asked for until it is answered.
                self.service.is_in_doubt = self.service.answered;
            }
            ServiceError::Unreachable(_) if self.service.is_in_doubt => {}
            ServiceError::RateLimited { retry_after_ms } => {
                self.cx.pace.refused(*retry_after_ms, flight.sent_at, self.cx.now);
                self.cx.store.set_meta("refused", &self.cx.now.0.to_string());
            }
            ServiceError::Unauthorized(_) if flight.purpose != Purpose::ListWorkspaces => {
                self.service.is_in_doubt = true;
            }
            ServiceError::Unauthorized(_) => {
                self.service.stopped = Some(error.clone());
                self.service.quiet_until = self.cx.now.plus_ms(PROBE_EVERY_MS);
            }
            ServiceError::Forbidden(_) => {
                self.cx.pace.accepted();
                note_forbidden(self, &flight.purpose, error);
            }
            // A failed search says nothing about the rest of the service.
            ServiceError::Lost(_) | ServiceError::Server { .. }
                if matches!(flight.purpose, Purpose::Watch { .. }) => {}
            // Requests that left together fail together: the rest since the first of them is for all.
            ServiceError::Unreachable(_) | ServiceError::Lost(_) | ServiceError::Server { .. }
                if flight.sent_at <= self.service.rests_since => {}
            ServiceError::Unreachable(_) | ServiceError::Lost(_) | ServiceError::Server { .. } => {
                self.service.failures += 1;
                // One page that always fails must not stop the others: the whole service rests only after several
                // failures.
                if self.service.failures >= 3 || matches!(error, ServiceError::Unreachable(_)) {
                    rest(self, error);
                }
            }
            _ => self.cx.pace.accepted(),
        }
        if let Some(page) = flight.purpose.page().cloned() {
            let failures = {
                let runtime = self.pages.runtime(&page);
                runtime.failing.count += 1;
                runtime.failing.count
            };
            if matches!(error.next(), Next::TryLater | Next::LookAgain) {
                let wait = self.cx.backoff(failures);
                self.pages.put_off(&page, self.cx.now.plus_ms(wait));
            }
        }
    }
}

impl Health {
    /// A 401 is the token's only if the list of workspaces gets it too. Until then, and otherwise, it is as a 403. A 404 to a
    /// request that `asks_anew` is no refusal before the list of workspaces was answered.
    fn weigh(&mut self, flight: &Flight, asks_anew: bool, error: ServiceError) -> ServiceError {
        match error {
            ServiceError::Unauthorized(why)
                if !matches!(flight.purpose, Purpose::ListWorkspaces | Purpose::Search) =>
            {
                self.is_in_doubt = true;
                ServiceError::Forbidden(why)
            }
            ServiceError::NotFound(why)
                if asks_anew && flight.sent_at.since_ms(self.vouched_at) > VOUCHES_MS =>
            {
                self.is_in_doubt = true;
                ServiceError::Unreachable(why)
            }
            error => error,
        }
    }

    /// Whether another request may leave. After a failure, one request at a time shows whether the service is back.
    pub(crate) fn may_ask_more(&self, cx: &Context) -> bool {
        let at_once = if self.failures > 0 { 1 } else { REQUESTS_AT_ONCE };
        cx.in_flight.requests_under_way() < at_once
    }
}

impl Pages {
    /// Whether the queued request of a page is still what was decided. A page that has been marked dirty since may need
    /// another one by now.
    fn is_at_its_word(&self, page: &PageId, cx: &Context) -> bool {
        let waits = self.runtimes.get(page).is_some_and(|runtime| runtime.failing.until > cx.now);
        !waits && !cx.in_flight.is_busy(page) && !self.dirty.contains(page)
    }

    /// A fetch that something depends on. First fetches of listed pages belong to the poll schedule.
    fn fetch_request(&mut self, page: &PageId, cx: &Context) -> Option<(Effect, Purpose)> {
        let node = self.trees.pages.get(page)?;
        let is_unlisted = matches!(node.remote.presence, crate::model::Presence::Unlisted);
        let is_wanted = is_unlisted || node.file.is_some() || self.pending_updates.contains_key(page);
        if is_wanted { self.ask_for(page, Class::Asked, 0, cx) } else { None }
    }

    pub(crate) fn ask_for(
        &mut self,
        page: &PageId,
        class: Class,
        reserve: u32,
        cx: &Context,
    ) -> Option<(Effect, Purpose)> {
        if !cx.pace.allows(class, 1 + reserve, false, cx.now) {
            return None;
        }
        if reserve > 0 {
            self.runtime(page).reserved = true;
        }
        Some((Effect::FetchPage(page.clone()), Purpose::Fetch { page: page.clone(), class, reserve }))
    }

    pub(crate) fn drop_reservation(&mut self, page: &PageId, cx: &mut Context) {
        if let Some(runtime) = self.runtimes.get_mut(page) {
            runtime.wanted = 0;
            if std::mem::take(&mut runtime.reserved) {
                cx.pace.release();
            }
        }
    }

    /// Whether an edit could leave if a slot were free.
    fn edits_wait(&self, cx: &Context) -> bool {
        self.request_queue.pressing().iter().any(|(page, decision)| {
            matches!(decision, Decision::Push { .. })
                && !cx.in_flight.is_busy(page)
                && !self.held.contains_key(page)
                && self.runtimes.get(page).is_none_or(|m| !m.failing.waits(cx.now))
        })
    }
}

/// Adds the messages about what stops everything, and about lists.
pub(crate) fn tell(engine: &Engine, needs: &mut Needs) {
    if let Some(Err(why)) = &engine.folder.root.state {
        let mend = if engine.folder.root.lacks_marker {
            "mount its disk, or restore the folder; if only the marker is gone (git clean -fdx takes it), run espejo init: it compares the files and uses the folder again"
        } else {
            "restore the folder; to start again, move the state folder away (espejo status names it)"
        };
        needs.tell(Code::FolderUnusable, "", &format!("nothing is written on either side: {why}"), mend);
    }
    if let Some(stopped) = &engine.service.stopped {
        let mend = match stopped {
            ServiceError::Forbidden(_) => {
                "change the plan (personal tokens need the Pro plan), or run espejo init with another token: a running espejo asks again within 5 minutes"
            }
            _ => {
                "create a new access token in the app's settings and run espejo init: a running espejo uses the token within 5 minutes"
            }
        };
        needs.tell(Code::TokenRefused, "", &format!("nothing is sent: {stopped}"), mend);
    } else if let Some(why) = &engine.service.down {
        let mend = engine.service.misdirected;
        let mend = mend.unwrap_or("nothing to do: espejo retries, and edits are pending");
        needs.tell(Code::Outage, "", why, mend);
    }
    for (what, why) in engine.polling.lists.trouble.iter().chain(&engine.polling.lists.failed) {
        needs.tell(
            Code::Unclear,
            what,
            why,
            "nothing is lost; tell the service's operator if this continues",
        );
    }
}

/// The list of workspaces, which shows whether the token is refused, once it has rested.
fn probe(engine: &mut Engine) -> Option<(Effect, Purpose)> {
    let rests = engine.polling.lists.workspaces_rest_until();
    if rests > engine.cx.now {
        engine.service.quiet_until = rests;
        return None;
    }
    // A list that has not been answered yet, because the machine slept meanwhile, is the probe.
    let is_asked = engine.cx.in_flight.is_under_way(&Purpose::ListWorkspaces);
    (!is_asked).then_some((Effect::ListWorkspaces, Purpose::ListWorkspaces))
}

/// Nothing is asked for a while: the service is out.
fn rest(engine: &mut Engine, error: &ServiceError) {
    let wait = engine.cx.backoff(engine.service.failures);
    engine.service.rests_since = engine.cx.now;
    engine.service.quiet_until = engine.cx.now.plus_ms(wait);
    engine.service.down = Some(error.to_string());
    engine.commands.pulling.fail(&error.to_string());
}

/// Tries again all that was refused.
fn try_all_again(engine: &mut Engine) {
    engine.pages.trees.forbidden.try_again(engine.cx.now);
    engine.pages.try_refused_again(None, &mut engine.cx);
    engine.pages.mark_all_dirty();
    on_core::try_core_again(engine);
}

/// Takes a 403 for the whole account's if the list of workspaces is forbidden, which needs no scope, and so is something else, or
/// nothing is known yet.
fn note_forbidden(engine: &mut Engine, purpose: &Purpose, error: &ServiceError) {
    let health = &mut engine.service;
    let nothing_is_known = engine.pages.trees.workspaces.is_empty()
        && named_by_id(&engine.cx.settings, &engine.pages.trees).is_empty();
    match purpose {
        Purpose::ListWorkspaces => health.refused.0 = true,
        Purpose::ListPages(_) if !health.refused.1 => {
            health.refused.1 = true;
            engine.polling.lists.ask_for_workspaces_soon(engine.cx.now, true);
        }
        // A page or a write may be forbidden by itself.
        _ => {}
    }
    if health.refused.0 && (health.refused.1 || nothing_is_known) {
        health.stopped = Some(error.clone());
        health.quiet_until = engine.cx.now.plus_ms(PROBE_EVERY_MS);
    }
}

impl Context {
    /// 1 s, 2 s, 4 s … up to five minutes, with up to a quarter of jitter.
    pub(crate) fn backoff(&mut self, failures: u32) -> i64 {
        if planted("no-back-off") {
            return 0;
        }
        retry::jittered(failures, &mut self.ids)
    }
}
