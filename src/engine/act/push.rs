//! An edit on its way to the service: GET, merge, PATCH, the two requests back to back; and what follows an unconfirmed
//! PATCH.

use crate::core::items::Verb;
use crate::engine::content::faults::or_hold;
use crate::engine::content::offload::{self, Merging};
use crate::engine::schedule::pace::Class;
use crate::engine::state::answered::LAGS_MS;
use crate::engine::state::retry::was_forbidden;
use crate::engine::state::{Context, Engine, Failing, Held, Pages, Purpose, Refuted, Trees, Way};
use crate::markdown;
use crate::model::{
    Agreed, Blocks, BodyJson, ContentHash, Effect, Hold, LastPush, LocalFile, Node, PageId, PendingUpdate,
    Refusal, RefusalClass, ServiceError, ServiceReply, Side, Worked, guarded, planted, semantically_equal,
};
use crate::plan::apart::Apart;
use crate::plan::{self, evidence};
use crate::store::{StoreError, blocks_of};

/// A fetch older than this is too old to write on.
const FRESH_MS: i64 = 5_000;

/// The plan for a file's changes.
enum Planned {
    /// Something else must be done or known first.
    Waits,
    /// A job is asked first.
    Asks(Box<(Effect, Purpose)>),
    /// The service has everything already.
    Nothing,
    /// They are sent.
    Edit(Edit),
}

/// A new content for a page.
struct Edit {
    /// Its blocks, and those of the page. Blocks that both have may be left out of both.
    after: Blocks,
    before: Blocks,
    /// The whole content.
    printed: BodyJson,
}

impl Engine {
    pub(crate) fn updated(
        &mut self,
        page: &PageId,
        result: Result<ServiceReply, ServiceError>,
    ) -> Result<(), StoreError> {
        let tick = self.cx.tick;
        let runtime = self.pages.runtime(page);
        (runtime.acted, runtime.has_shown) = (tick, false);
        let Some(sent) = self.pages.pending_updates.get(page).cloned() else { return Ok(()) };
        match result {
            Ok(ServiceReply::Meta(meta)) => {
                let (now, again) = (self.cx.now, self.pages.trees.again(page, &sent));
                let before = self.pages.trees.pages.get(page).map(|node| node.remote.title.to_string());
                if let Some(before) = before.filter(|_| sent.title.is_some()) {
                    self.pages.answered.note_title(page, before, &mut self.cx.store, now);
                }
                self.pages.edit_page(
                    page,
                    |node| {
                        node.remote.body = Some(sent.body);
                        if sent.title.is_some() {
                            node.remote.title = meta.title.into();
                        }
                        node.parked = None;
                        if sent.body != sent.before {
                            node.last_push = Some(Box::new(LastPush {
                                before: sent.before,
                                after: sent.body,
                                at: now,
                                again,
                            }));
                        }
                        crate::engine::schedule::poll::changed(&mut node.poll, now);
                        node.poll.last = now;
                    },
                    &mut self.cx,
                );
                self.watched.watch_pushed(page, self.cx.now);
                self.pages.runtime(page).failing.count = 0;
                self.pages.is_taken(page);
                self.pages.held.remove(page);
                self.pages.sent_is_in(page, &sent, &mut self.cx)?;
            }
            Ok(_) => self.pages.lose_sent(page, "an answer that fits no update", &mut self.cx),
            Err(error) if error.may_have_happened() => {
                self.pages.lose_sent(page, &error.to_string(), &mut self.cx);
            }
            Err(error) => {
                self.pages.pending_updates.remove(page);
                self.cx.store.delete_sent(page);
                self.update_refused(page, &error);
            }
        }
        Ok(())
    }

    fn update_refused(&mut self, page: &PageId, error: &ServiceError) {
        match error {
            ServiceError::NotFound(why) => {
                // Either the page is gone or we may not edit it: a GET decides.
                let listed = self.pages.trees.is_there(page);
                self.pages.edit_page(
                    page,
                    |node| node.remote.presence = crate::model::Presence::Unlisted,
                    &mut self.cx,
                );
                if listed {
                    let failures = self.pages.runtime(page).undeletable + 1;
                    self.pages.runtime(page).undeletable = failures;
                    if failures > 2 {
                        // Reads show it: it is not missing, the service only forbids the change.
                        self.pages.refuse(
                            page,
                            RefusalClass::Place,
                            &ServiceError::Forbidden(why.clone()),
                            Hold::Edit,
                            &mut self.polling.lists,
                            &mut self.cx,
                        );
                    }
                }
            }
            ServiceError::Forbidden(_) | ServiceError::Rejected { .. } => {
                self.write_refused(page, error, Verb::Write, Hold::Edit);
            }
            _ => {}
        }
    }

    /// Records that the service refused a write of a page: the page waits for its next try, and after a 403 its
    /// workspace rests for that verb.
    pub(crate) fn write_refused(
        &mut self,
        page: &PageId,
        error: &ServiceError,
        verb: Verb,
        kind: fn(Refusal) -> Hold,
    ) {
        if let ServiceError::Forbidden(why) = error
            && let Some(node) = self.pages.trees.pages.get(page)
        {
            let again = was_forbidden(node, verb);
            self.pages.trees.forbidden.refuse(&node.workspace, verb, why, again, self.cx.now);
        }
        let class = RefusalClass::of(error);
        self.pages.refuse(page, class, error, kind, &mut self.polling.lists, &mut self.cx);
    }
}

impl Pages {
    /// The next request for a page whose file has changes: a fresh fetch, then the write planned on it.
    pub(crate) fn push_request(
        &mut self,
        page: &PageId,
        title: Option<String>,
        cx: &mut Context,
    ) -> Result<Option<(Effect, Purpose)>, StoreError> {
        let Some(node) = self.trees.pages.get(page).cloned() else { return Ok(None) };
        if self.may_not_write(&node, cx) {
            return Ok(None);
        }
        // Not a clone of the runtime: it holds the file's content, and thousands may wait here.
        let runtime = self.runtime(page);
        let (seen, seen_at) = (runtime.seen, runtime.seen_at);
        let fresh = seen > runtime.wanted && seen > runtime.acted || planted("stale-plan");
        if !fresh || cx.now.since_ms(seen_at) > FRESH_MS && !planted("stale-plan") {
            self.drop_reservation_only(page, cx);
            let wanted = self.runtime(page);
            if wanted.wanted == 0 {
                wanted.wanted = seen.max(1);
            }
            return Ok(self.ask_for(page, Class::Edit, 1, cx));
        }
        let prepared = self.prepare(&node, title, cx);
        or_hold(self, page, Side::File, prepared, cx)
    }

    fn drop_reservation_only(&mut self, page: &PageId, cx: &mut Context) {
        if std::mem::take(&mut self.runtime(page).reserved) {
            cx.pace.release();
        }
    }

    /// Merges the fetched body with the file's content, and sends what the service does not have yet.
    fn prepare(
        &mut self,
        node: &Node,
        title: Option<String>,
        cx: &mut Context,
    ) -> Result<Option<(Effect, Purpose)>, StoreError> {
        let page = &node.id;
        let (Some(base), Some(file)) = (node.base.clone(), self.trees.file_of(node).cloned()) else {
            return Ok(None);
        };
        let Some(remote_hash) = node.remote.body else { return Ok(None) };
        let says = match self.parsed(page, &file) {
            Some(parsed) => parsed.content.clone(),
            // Only the title differs: the content of the file is the base.
            None if base.text == file.hash => cx.store.named_json(base.body)?,
            None => {
                self.mark_dirty(page);
                return Ok(None);
            }
        };
        let local = says.hash();
        let text = file.hash.unwrap_or(local);
        let plain = match remote_hash == base.body {
            true => guarded(|| self.plain_edit(node, &base, &says, cx))??,
            false => None,
        };
        let planned = match plain {
            Some(planned) => planned,
            None => self.merged_edit(node, &base, &file, &says, cx)?,
        };
        let edit = match planned {
            Planned::Waits => return Ok(None),
            Planned::Asks(asked) => {
                // It is decided again when the answer is there.
                self.request_queue.remove(page);
                return Ok(Some(*asked));
            }
            Planned::Nothing => None,
            Planned::Edit(edit) => Some(edit),
        };
        if local != base.body {
            cx.store.keep_body_json(&says);
        }
        if edit.is_none() && title.is_none() {
            // The service has everything: the file's changes go into the base, and the rest comes down.
            self.agree_on_local(page, local, text, None, cx);
            return Ok(None);
        }
        self.drop_reservation_only(page, cx);
        if !cx.pace.allows(Class::Edit, 1, false, cx.now) {
            return Ok(None);
        }
        let (body, content) = match edit {
            Some(edit) => {
                // A stand-in that came with a copy has an id of its own now, which no fetch will show as new.
                cx.keep_stand_ins(&node.workspace, &edit.after, &edit.before);
                let content = edit.printed;
                if content.hash() != local {
                    cx.store.keep_body_json(&content);
                }
                (content.hash(), Some(content))
            }
            None => (remote_hash, None),
        };
        let sent = PendingUpdate {
            page: page.clone(),
            text,
            local,
            before: remote_hash,
            body,
            title: title.clone(),
        };
        if !planted("write-not-noted") {
            cx.store.save_sent(&sent);
        }
        self.pending_updates.insert(page.clone(), sent);
        self.request_queue.remove(page);
        if planted("base-before-answer") {
            self.agree_on_local(page, local, text, title.clone(), cx);
        }
        Ok(Some((
            Effect::UpdatePage { id: page.clone(), title, content },
            Purpose::Update { page: page.clone() },
        )))
    }

    /// Merges the content of the file with that of the service.
    fn merged_edit(
        &mut self,
        node: &Node,
        base: &Agreed,
        file: &LocalFile,
        says: &BodyJson,
        cx: &mut Context,
    ) -> Result<Planned, StoreError> {
        let page = &node.id;
        let Some(remote_hash) = node.remote.body else { return Ok(Planned::Waits) };
        let (base, remote) = (cx.store.named_json(base.body)?, cx.store.named_json(remote_hash)?);
        let merging = Merging { base, remote, local: says.clone() };
        let merged = if self.offload.is_long(merging.size()) {
            match self.offload.worked_out(page, &merging.question()) {
                Some(Some(Worked::Merge(merged))) => *merged,
                Some(_) => return Err(StoreError::Row("body")),
                None => {
                    let asked = offload::ask(page, merging.question(), merging);
                    return Ok(Planned::Asks(Box::new(asked)));
                }
            }
        } else {
            guarded(|| merging.merged())?.map_err(|_| StoreError::Row("body"))?
        };
        if let Some(summary) = merged.collision
            && !planted("collision-without-copy")
            && self.runtime(page).copied.as_deref() != file.hash.as_ref()
            && !cx.store.conflicts()?.iter().any(|conflict| Some(conflict.text) == file.hash)
        {
            let read = Effect::ReadFile(file.path.clone());
            cx.in_flight.ready =
                Some((read, Purpose::ReadToCopy { page: page.clone(), path: file.path.clone(), summary }));
            return Ok(Planned::Waits);
        }
        let Some(content) = merged.content else { return Ok(Planned::Nothing) };
        let allowed = self.allowed_in(&node.workspace, cx)?;
        let known = [merged.remote.as_slice(), &merged.base].concat();
        let loads = match markdown::check_loadable(&merged.blocks, &known, &allowed) {
            // What is refused here may be known from the rest of the page.
            Err(_) if merged.is_partial => {
                let known = [blocks_of(&merging.remote)?, blocks_of(&merging.base)?].concat();
                markdown::check_loadable(&blocks_of(&content)?, &known, &allowed)
            }
            loads => loads,
        };
        if let Err(why) = loads {
            self.park(page, Hold::Unloadable(why), cx);
            return Ok(Planned::Waits);
        }
        Ok(Planned::Edit(Edit { after: merged.blocks, before: merged.remote, printed: content }))
    }

    /// Makes the file's content the new base, because all of it has reached the service (or was there already). What
    /// the service has beyond it comes down as a change.
    fn agree_on_local(
        &mut self,
        page: &PageId,
        local: ContentHash,
        text: ContentHash,
        title: Option<String>,
        cx: &mut Context,
    ) {
        let file = self.trees.pages.get(page).and_then(|node| self.trees.file_of(node)).cloned();
        self.edit_page(
            page,
            |node| {
                node.approved = false;
                if let Some(base) = &mut node.base {
                    base.body = local;
                    base.text = Some(text);
                }
                if let Some(title) = title {
                    plan::agree_on_title(node, file.as_ref(), &title);
                }
            },
            cx,
        );
        // The content of the text is the base now.
        if let Some(runtime) = self.runtimes.get_mut(page) {
            runtime.parsed = runtime.parsed.take().filter(|parsed| parsed.text != text);
        }
        self.drop_reservation(page, cx);
        self.mark_dirty(page);
    }

    /// Records that the sent body is at the service: the file's content at the time of sending is the base.
    fn sent_is_in(
        &mut self,
        page: &PageId,
        sent: &PendingUpdate,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        if let Some(node) = self.trees.pages.get(page).cloned() {
            cx.sent_was(&node, sent)?;
        }
        self.pending_updates.remove(page);
        cx.store.delete_sent(page);
        if let Some(path) = self.trees.pages.get(page).and_then(|node| node.file.clone()) {
            let what = match (&sent.title, sent.body == sent.before) {
                (Some(title), true) => format!("renamed to {title}"),
                (Some(title), false) => format!("edit sent, renamed to {title}"),
                (None, _) => "edit sent".to_owned(),
            };
            cx.log_activity(Way::Up, &path, what);
        }
        let title = sent.title.clone();
        self.agree_on_local(page, sent.local, sent.text, title, cx);
        if sent.title.is_some() {
            self.mark_all_dirty();
        }
        Ok(())
    }
}

impl Pages {
    /// Whether this page's changes must wait for the user or for the service. Notes why.
    fn may_not_write(&mut self, node: &Node, cx: &Context) -> bool {
        let why = match () {
            () if !self.trees.may(node, Verb::Write, cx) => Some(Held::ReadOnly),
            () if self.retention.folder_is_old.is_some() && !node.approved => Some(Held::Guarded),
            () => self.trees.is_edit_held(node, cx.now).then_some(Held::Refused),
        };
        let waits = why.is_some();
        // A write that fails each time is told until one succeeds.
        if waits || self.held.get(&node.id) != Some(&Held::Failing) {
            self.hold(&node.id, why);
        }
        waits
    }

    /// The edit to send if the page was not changed at the service: the file's content, read only where it differs from
    /// the base. `None` if it must be read as a whole.
    fn plain_edit(
        &self,
        node: &Node,
        base: &Agreed,
        says: &BodyJson,
        cx: &Context,
    ) -> Result<Option<Planned>, StoreError> {
        if says.hash() == base.body {
            return Ok(Some(Planned::Nothing));
        }
        let agreed = cx.store.named_json(base.body)?;
        let Some(apart) = Apart::of(agreed.as_str(), says.as_str()) else { return Ok(None) };
        if apart.is_equal() {
            return Ok(Some(Planned::Nothing));
        }
        // Content that is refused here may be known from the rest of the page.
        let loads =
            markdown::check_loadable(&apart.after, &apart.before, &self.allowed_in(&node.workspace, cx)?)
                .is_ok();
        Ok((loads && !apart.may_double_an_id())
            .then(|| Planned::Edit(Edit { after: apart.after, before: apart.before, printed: says.clone() })))
    }

    /// Records that the outcome of a write is unknown: the next fetch decides.
    fn lose_sent(&mut self, page: &PageId, why: &str, cx: &mut Context) {
        tracing::debug!(page = %page, why, "the outcome of a write is unknown");
        self.note_lost(page, cx);
        self.mark_dirty(page);
    }

    /// Records an unconfirmed write. The first one is repeated as soon as a fetch decides. Writes that fail each time
    /// are spaced, although fetches succeed in between.
    pub(crate) fn note_lost(&mut self, page: &PageId, cx: &mut Context) {
        let before = self.runtime(page).writes;
        let writes = match before.count {
            0 => Failing { count: 1, ..before },
            _ => cx.failed_again(before),
        };
        self.runtime(page).writes = writes;
        if before.count > 0 {
            self.put_off(page, writes.until);
        }
        if writes.is_told() {
            self.hold(page, Some(Held::Failing));
        }
    }

    /// Records that a write was carried out.
    fn is_taken(&mut self, page: &PageId) {
        self.runtime(page).writes = Failing::default();
    }

    /// After a fetch: decides whether an unconfirmed update was carried out. The service's own body is the evidence. A read
    /// may be older than the update: one that does not show it refutes it only until a later one does.
    pub(crate) fn settle_sent(&mut self, node: &mut Node, cx: &mut Context) -> Result<(), StoreError> {
        let agreed = node.base.as_ref().map(|base| base.body);
        let refuted = self.runtime(&node.id).refuted.take();
        let refuted = refuted
            .filter(|refuted| refuted.agreed == agreed && cx.now.since_ms(refuted.since) <= LAGS_MS[0]);
        let pending = self.pending_updates.get(&node.id).cloned();
        let since = refuted.as_ref().filter(|_| pending.is_none()).map_or(cx.now, |refuted| refuted.since);
        let Some(sent) = pending.or(refuted.map(|refuted| refuted.sent)) else { return Ok(()) };
        let Some(seen_hash) = node.remote.body else { return Ok(()) };
        let seen = cx.store.named_body(seen_hash)?;
        let body = cx.store.named_body(sent.body)?;
        let before = cx.store.named_body(sent.before)?;
        let retitled = sent.title.as_ref().is_some_and(|title| *node.remote.title == **title);
        let is_in = if semantically_equal(&seen, &body) {
            sent.body != sent.before || retitled
        } else {
            !semantically_equal(&seen, &before) && guarded(|| evidence::shows_changes(&before, &body, &seen))?
        };
        self.pending_updates.remove(&node.id);
        cx.store.delete_sent(&node.id);
        if !is_in {
            let runtime = self.runtime(&node.id);
            runtime.late = (sent.body != sent.before).then_some(sent.body).or(runtime.late);
            runtime.refuted = Some(Box::new(Refuted { sent, agreed, since }));
            return Ok(());
        }
        self.is_taken(&node.id);
        cx.sent_was(node, &sent)?;
        if let Some(base) = &mut node.base {
            // A later read of the file is compared with the ids that were sent.
            base.body = sent.local;
            base.text = Some(sent.text);
        }
        if let Some(title) = sent.title.as_deref().filter(|_| retitled) {
            if let Some(base) = &node.base {
                let before = base.title.to_string();
                self.answered.note_title(&node.id, before, &mut cx.store, cx.now);
            }
            let file = node.file.as_ref().and_then(|path| self.trees.files.get(path));
            plan::agree_on_title(node, file, title);
        }
        if let Some(path) = node.file.clone() {
            cx.log_activity(Way::Up, &path, "edit sent (confirmed now; the first answer was lost)");
        }
        if sent.body != sent.before {
            let again = self.trees.again(&node.id, &sent);
            node.last_push =
                Some(Box::new(LastPush { before: sent.before, after: seen_hash, at: cx.now, again }));
        }
        self.runtime(&node.id).parsed = None;
        Ok(())
    }
}

impl Trees {
    fn again(&self, page: &PageId, sent: &PendingUpdate) -> bool {
        let last = self.pages.get(page).and_then(|node| node.last_push.as_ref());
        last.is_some_and(|push| push.again && push.before == sent.before)
    }
}
