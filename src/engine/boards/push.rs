//! Sends edits of canvases: a fetch of the elements, then directly one request for each changed element. Each
//! accepted change is recorded by itself, so that a stop at any point leaves exactly the rest.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::pace::Class;
use super::create::is_element_of;
use super::{Choice, Purpose, Want, board};
use crate::canvas::{self, Op};
use crate::engine::Way;
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::flight::Flight;
use crate::engine::folder::Folder;
use crate::engine::pages::Pages;
use crate::model::{
    BoardEffect, BoardReply, CanvasDraft, CanvasId, CanvasItem, CanvasNode, Creation, Draft, Elements,
    RefusalClass, ServiceError, ServiceReply, Timestamp, id_of, planted,
};
use crate::plan::confirm;
use crate::store::StoreError;

/// Maximum age of a fetch that a write may be based on, in milliseconds.
pub(super) const FRESH_MS: i64 = 5_000;

impl Boards {
    /// The next request that sends an edit, or that an edit depends on.
    pub(in super::super) fn next_board_edit(
        &mut self,
        pages: &Pages,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        if !cx.boards_are_on() || !self.scan.scanned {
            return Ok(None);
        }
        let mut request_queue: Vec<(Want, CanvasId)> =
            self.request_queue.iter().map(|(canvas, want)| (*want, canvas.clone())).collect();
        request_queue.sort();
        for (want, canvas) in request_queue {
            if cx.in_flight.is_canvas_busy(&canvas)
                || self.waits_for_time(&canvas, cx.now)
                || self.waits_for_list(&canvas)
                || self.dirty.contains(&canvas)
            {
                continue;
            }
            let approved = self.canvases.get(&canvas).is_some_and(|node| node.approved);
            let held = match want {
                Want::Fetch => None,
                Want::Push => self.folder_doubt(pages, &folder.root, cx),
                Want::Remove => self.removal_held(pages, &folder.root, cx),
            };
            if held.is_some() && !approved {
                // This was decided before more files went missing, or before the folder was doubted: it is decided
                // again.
                self.request_queue.remove(&canvas);
                self.dirty.insert(canvas);
                continue;
            }
            let choice = match want {
                Want::Push => self.push_canvas(&canvas, cx)?,
                Want::Remove => self.remove_canvas(&canvas, &pages.trees, folder, cx)?,
                Want::Fetch => self.look_at_canvas(&canvas, Class::Asked, cx),
            };
            if choice.is_some() {
                return Ok(choice);
            }
        }
        if let Some(choice) = self.next_deck_removal(pages, folder, cx) {
            return Ok(Some(choice));
        }
        Ok(self.next_board_creation(&pages.trees, folder, cx))
    }

    /// Whether an edit of a canvas could be sent if a slot were free.
    pub(in super::super) fn board_edits_wait(&self, cx: &Context) -> bool {
        self.request_queue.iter().any(|(canvas, want)| {
            *want == Want::Push
                && !cx.in_flight.is_canvas_busy(canvas)
                && !self.waits_for_time(canvas, cx.now)
                && !self.waits_for_list(canvas)
                && self.write_class(canvas) == Class::Edit
        })
    }

    pub(super) fn look_at_canvas(&mut self, canvas: &CanvasId, class: Class, cx: &Context) -> Choice {
        let slots = if class == Class::Edit { 2 } else { 1 };
        if !cx.pace.allows(class, slots, false, cx.now) {
            return None;
        }
        self.request_queue.retain(|other, want| other != canvas || *want != Want::Fetch);
        Some(board(
            BoardEffect::ListElements(canvas.clone()),
            Purpose::Fetch { canvas: canvas.clone(), class },
        ))
    }

    fn push_canvas(&mut self, canvas: &CanvasId, cx: &mut Context) -> Result<Choice, StoreError> {
        let Some(node) = self.canvases.get(canvas).cloned() else { return Ok(None) };
        let file = node.file.as_ref().and_then(|path| self.files.get(path)).cloned();
        let Some((file, hash)) = file.and_then(|file| file.hash.map(|hash| (file, hash))) else {
            return Ok(None);
        };
        let class = self.write_class(canvas);
        if let Some(doubt) = self.creations.element_in_doubt(canvas) {
            // The outcome of a POST must be known before a decision uses the list.
            let due = confirm::next_look(&doubt);
            if cx.now < due {
                self.runtime_of(canvas).failing.until = due;
                return Ok(None);
            }
            return Ok(self.look_at_canvas(canvas, class, cx));
        }
        if self.writes_rest(canvas, cx.now) {
            return Ok(None);
        }
        if !self.is_canvas_fresh(canvas, cx.now) {
            return Ok(self.look_at_canvas(canvas, class, cx));
        }
        let Some(compared) = self.compare(&node, &file, hash, cx)? else {
            self.dirty.insert(canvas.clone());
            return Ok(None);
        };
        if compared.sendable.is_empty() {
            self.dirty.insert(canvas.clone());
            return Ok(None);
        }
        // An element whose write fails each time does not delay other elements.
        let now = cx.now;
        let writes = &mut self.runtime_of(canvas).writes;
        writes.retain(|about| compared.merged.ops.iter().any(|op| op.about() == about));
        let Some(op) = compared.sendable.iter().find(|op| writes.until(op.about()) <= now).cloned() else {
            writes.rest(compared.sendable.iter().map(Op::about));
            return Ok(None);
        };
        if !cx.pace.allows(class, 1, false, cx.now) {
            return Ok(None);
        }
        let effect = match &op {
            Op::Update { id, fields } => {
                let item = CanvasItem::Change(canvas.clone(), id.to_string(), fields.clone());
                self.creations.begin(&mut cx.store, CanvasDraft { item, before: Vec::new() }, cx.now);
                BoardEffect::UpdateElement {
                    canvas: canvas.clone(),
                    element: id.clone(),
                    fields: fields.clone(),
                }
            }
            Op::Delete { id } => {
                let element = compared.remote.iter().find(|element| id_of(element) == id.as_str());
                if let Some(element) = element {
                    cx.store.bury(canvas, Some(&file.path), element, cx.now);
                }
                BoardEffect::DeleteElement { canvas: canvas.clone(), element: id.clone() }
            }
            Op::Create { node, fields, .. } => {
                let draft = CanvasDraft {
                    item: CanvasItem::Element(canvas.clone(), node.clone(), fields.clone()),
                    before: compared.remote.iter().map(|element| id_of(element).to_owned()).collect(),
                };
                self.creations.begin(&mut cx.store, draft, cx.now);
                BoardEffect::CreateElement { canvas: canvas.clone(), fields: fields.clone() }
            }
        };
        if let (Op::Update { id, fields }, true) = (&op, planted("element-base-before-answer")) {
            self.change_elements(
                canvas,
                |base, _| {
                    for element in base.iter_mut().filter(|element| id_of(element) == id.as_str()) {
                        *element = canvas::changed(element, fields);
                    }
                },
                cx,
            )?;
        }
        Ok(Some(board(effect, Purpose::Push { canvas: canvas.clone(), op, class })))
    }

    pub(super) fn pushed(
        &mut self,
        canvas: &CanvasId,
        op: Op,
        result: Result<ServiceReply, ServiceError>,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        match (op, result) {
            (Op::Update { id, fields }, Ok(ServiceReply::Board(BoardReply::Element(now_is)))) => {
                self.creations.end(&mut cx.store, &CanvasItem::change_key(canvas, id.as_str()));
                self.change_elements(
                    canvas,
                    |base, remote| {
                        for element in base.iter_mut().filter(|element| id_of(element) == id.as_str()) {
                            *element = canvas::changed(element, &fields);
                        }
                        for element in remote.iter_mut().filter(|element| id_of(element) == id.as_str()) {
                            *element = now_is.clone();
                        }
                    },
                    cx,
                )?;
                self.log_canvas_activity(Way::Up, canvas, "node changed", cx);
            }
            (Op::Create { node, fields, instead_of }, Ok(ServiceReply::Board(BoardReply::Element(made)))) => {
                let mut said = fields;
                said.shift_remove("type");
                let agreed = canvas::changed(&made, &said);
                self.element_made(canvas, &node, agreed, instead_of.as_deref(), made, cx)?;
            }
            (Op::Delete { id }, Ok(_)) => {
                self.change_elements(
                    canvas,
                    |base, remote| {
                        base.retain(|element| id_of(element) != id.as_str());
                        remote.retain(|element| id_of(element) != id.as_str());
                    },
                    cx,
                )?;
                self.log_canvas_activity(Way::Up, canvas, "node removed", cx);
            }
            (op, Ok(_)) => {
                self.push_failed(canvas, op, &ServiceError::Garbled("it fits no edit".to_owned()), cx);
            }
            (op, Err(error)) => self.push_failed(canvas, op, &error, cx),
        }
        Ok(())
    }

    fn push_failed(&mut self, canvas: &CanvasId, op: Op, error: &ServiceError, cx: &mut Context) {
        let draft = match &op {
            Op::Create { node, .. } => Some(CanvasItem::element_key(canvas, node)),
            Op::Update { id, .. } => Some(CanvasItem::change_key(canvas, id.as_str())),
            Op::Delete { .. } => None,
        };
        let is_doubtful = error.may_have_happened();
        if let Some(key) = draft.as_ref().filter(|_| !is_doubtful || planted("element-post-forgotten")) {
            self.creations.end(&mut cx.store, key);
        } else if let Some(key) = &draft {
            self.creations.lose(&mut cx.store, key, cx.now);
            if matches!(op, Op::Create { .. }) {
                return;
            }
        }
        let tick = cx.tick;
        // With any error, the next attempt fetches first.
        self.runtime_of(canvas).wanted = tick;
        match error {
            ServiceError::NotFound(_) if !matches!(op, Op::Create { .. }) => {
                let key = (canvas.clone(), op.about().to_owned());
                let again = self.rejected.not_found.get(&key) == Some(&op);
                if again {
                    let why = "the service shows it, but does not let you change it".to_owned();
                    self.rejected.not_found.remove(&key);
                    self.rejected.refuse_op(key, op, RefusalClass::Place, why, cx.now);
                } else {
                    self.rejected.not_found.insert(key, op);
                }
            }
            ServiceError::NotFound(_) | ServiceError::Rejected { .. } | ServiceError::Garbled(_) => {
                let key = (canvas.clone(), op.about().to_owned());
                self.rejected.refuse_op(key, op, RefusalClass::of(error), error.to_string(), cx.now);
                if let CanvasId::Slide(deck, _) = canvas {
                    self.lists.slides_due.insert(deck.clone(), cx.now);
                }
            }
            _ => {}
        }
    }
}

impl Boards {
    /// Whether the last fetch of a canvas is recent enough for a write.
    pub(super) fn is_canvas_fresh(&self, canvas: &CanvasId, now: Timestamp) -> bool {
        self.runtimes.get(canvas).is_some_and(|runtime| {
            runtime.seen > runtime.wanted && now.since_ms(runtime.seen_at) <= FRESH_MS
                || planted("element-stale-plan") && runtime.seen > 0
        })
    }

    /// Changes the base and the remote side together.
    fn change_elements(
        &mut self,
        canvas: &CanvasId,
        change: impl FnOnce(&mut Elements, &mut Elements),
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let Some(node) = self.canvases.get(canvas).cloned() else { return Ok(()) };
        let mut base = cx.elements_at(node.base.as_ref().map(|base| base.elements))?;
        let mut remote = cx.elements_at(node.remote)?;
        change(&mut base, &mut remote);
        let (base, remote) = (cx.store.keep_elements(&base), cx.store.keep_elements(&remote));
        let now = cx.now;
        self.edit_canvas(
            canvas,
            |node| {
                if let Some(agreed) = &mut node.base {
                    agreed.elements = base;
                    // The file states this now, and perhaps more.
                    agreed.text = None;
                }
                node.remote = Some(remote);
                crate::engine::poll::changed(&mut node.poll, now);
                node.poll.last = now;
            },
            cx,
        );
        Ok(())
    }

    fn element_made(
        &mut self,
        canvas: &CanvasId,
        node: &str,
        agreed: Value,
        instead_of: Option<&str>,
        made: Value,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        self.creations.end(&mut cx.store, &CanvasItem::element_key(canvas, node));
        self.runtime_of(canvas).writes.succeeded(node);
        let id = id_of(&made).to_owned();
        cx.store.save_name(canvas, node, &id);
        self.names.entry(canvas.clone()).or_default().insert(node.to_owned(), id.clone());
        self.change_elements(
            canvas,
            |base, remote| {
                base.retain(|element| Some(id_of(element)) != instead_of && id_of(element) != id);
                base.push(agreed);
                if remote.iter().all(|element| id_of(element) != id) {
                    // Back to front; among equal ones the newest is in front.
                    let z = |element: &Value| element.get("z_index").and_then(Value::as_f64).unwrap_or(0.0);
                    let at = remote.iter().rposition(|element| z(element) <= z(&made)).map_or(0, |at| at + 1);
                    remote.insert(at, made);
                }
            },
            cx,
        )?;
        self.log_canvas_activity(Way::Up, canvas, "new node", cx);
        Ok(())
    }

    /// After a fetch, settles the unconfirmed creations and deletions of elements. `looked_at`: the time of the fetch
    /// before it.
    pub(super) fn confirm_elements(
        &mut self,
        canvas: &CanvasId,
        elements: &[Value],
        flight: &Flight,
        looked_at: Timestamp,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let node = self.canvases.get(canvas);
        let base = node.and_then(|node| node.base.as_ref().filter(|base| Some(base.elements) != node.remote));
        let mut deleted = BTreeSet::new();
        for agreed in cx.elements_at(base.map(|base| base.elements))? {
            let id = id_of(&agreed);
            // It is gone because its deletion was carried out, and not in the app: if its node is back, it is a new one.
            if elements.iter().all(|element| id_of(element) != id)
                && cx.store.buried(id)?.is_some_and(|(at, _)| at >= looked_at)
            {
                deleted.insert(id.to_owned());
            }
        }
        if !deleted.is_empty() {
            self.change_elements(canvas, |base, _| base.retain(|of| !deleted.contains(id_of(of))), cx)?;
        }
        for Creation { draft, .. } in self.creations.unconfirmed(|draft| is_element_of(draft, canvas)) {
            if let CanvasItem::Change(_, id, fields) = &draft.item {
                self.creations.end(&mut cx.store, &draft.key());
                let is_it = |element: &&Value| id_of(element) == id;
                let arrived = elements.iter().find(is_it).map(|seen| canvas::arrived(seen, fields));
                let agree = |base: &mut Elements, _: &mut Elements| {
                    for (element, arrived) in base.iter_mut().filter(|of| id_of(of) == id).zip(&arrived) {
                        *element = canvas::changed(element, arrived);
                    }
                };
                // What is as it was sent is agreed on. If the node has its earlier text again, that is an edit, and no
                // change in the app.
                self.change_elements(canvas, agree, cx)?;
                continue;
            }
            let CanvasItem::Element(_, node, fields) = &draft.item else { continue };
            let meant: Vec<&String> =
                self.names.get(canvas).into_iter().flat_map(|names| names.values()).collect();
            let is_new = |element: &&Value| {
                let id = id_of(element);
                draft.before.iter().all(|known| known != id) && !meant.iter().any(|known| *known == id)
            };
            // The app may have moved or restyled the element since: then the only new one with its text counts.
            let mut alike =
                elements.iter().filter(is_new).filter(|element| canvas::may_be_made_of(element, fields));
            let only = alike.next().filter(|_| alike.next().is_none());
            let exact = elements.iter().filter(is_new).find(|element| canvas::was_made_of(element, fields));
            let found = exact.or(only);
            if let Some(found) = found {
                // The node of an element that was edited here and removed in the app has that element's id, or an
                // alias of it. An element that is still there has a node of its own: this one bears its earlier id by chance.
                let names = self.names.get(canvas);
                let before = names.and_then(|names| names.get(node)).unwrap_or(node).clone();
                let is_gone = elements.iter().all(|element| id_of(element) != before);
                let agreed = canvas::as_asked(found, fields);
                let instead_of = Some(before.as_str()).filter(|_| is_gone);
                self.element_made(canvas, node, agreed, instead_of, found.clone(), cx)?;
                continue;
            }
            self.creations.not_shown(&mut cx.store, &draft.key(), flight.sent_at);
            self.dirty.insert(canvas.clone());
        }
        Ok(())
    }

    pub(super) fn canvas_node(&self, canvas: &CanvasId) -> Option<CanvasNode> {
        self.canvases.get(canvas).cloned()
    }
}
