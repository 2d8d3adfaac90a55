//! Answers to lists and to fetches of canvases. A list that lacks an item is a reason for another list. The item
//! counts as gone only if a second list lacks it too, and never because of one empty list.

use std::collections::BTreeSet;

use super::super::{Engine, poll};
use super::Want;
use super::targets::{List, RETRY_MS};
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::flight::Flight;
use crate::engine::folder::Folder;
use crate::engine::retry::TOLD_AFTER;
use crate::engine::service::Health;
use crate::model::{
    BoardEffect, BoardReply, CanvasFile, CanvasId, CanvasItem, CanvasNode, Deck, DeckId, DeckNode, Elements,
    Next, Presence, Problem, ServiceError, ServiceReply, Slide, Timestamp, Unconfirmed, Whiteboard,
    WorkspaceId, planted,
};
use crate::plan::confirm;
use crate::plan::guard::{self, Guard, Kind};
use crate::store::StoreError;

/// Wait before a list that was answered with 403, or a refused creation, is tried again, in milliseconds.
pub(super) const FORBIDDEN_RETRY_MS: i64 = 600_000;
/// Wait before the second list after an item was missing, in milliseconds.
const SECOND_LOOK_MS: i64 = 2_000;

/// An item whose content came empty although it was not empty before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Emptied {
    /// A canvas without elements.
    Canvas(CanvasId),
    /// A presentation without slides.
    Slides(DeckId),
}

/// The answers that an item is empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct EmptyAnswer {
    /// Tick of the first one.
    tick: u64,
    /// Tick of a later list that showed the item.
    shown: Option<u64>,
    /// The answers that count so far, as for a creation that no list shows.
    doubt: Unconfirmed,
}

impl Engine {
    pub(super) fn boards_listed(
        &mut self,
        flight: &Flight,
        effect: &BoardEffect,
        result: Result<ServiceReply, ServiceError>,
    ) -> Result<(), StoreError> {
        let too_early = self.polling.precedes_pass(flight.tick);
        self.boards.lists.resting.remove(&list_of(effect));
        match (effect, result) {
            (
                BoardEffect::ListBoards(space),
                Ok(ServiceReply::Board(BoardReply::Boards { boards, skipped })),
            ) => {
                let due = if too_early {
                    self.cx.now
                } else {
                    self.boards.list_due_next(&self.pages.trees, &self.cx)
                };
                self.boards.lists.boards_due.insert(space.clone(), due);
                self.boards.note_skipped(&list_of(effect), &skipped);
                self.boards.take_in_boards(
                    flight,
                    space,
                    boards,
                    skipped.is_empty(),
                    &mut self.folder,
                    &mut self.cx,
                );
            }
            (BoardEffect::ListDecks, Ok(ServiceReply::Board(BoardReply::Decks { decks, skipped }))) => {
                self.boards.lists.decks_due = if too_early {
                    self.cx.now
                } else {
                    self.boards.list_due_next(&self.pages.trees, &self.cx)
                };
                self.boards.note_skipped(&list_of(effect), &skipped);
                self.boards.take_in_decks(flight, decks, skipped.is_empty(), &mut self.folder, &mut self.cx);
            }
            (BoardEffect::ListSlides(deck), Ok(ServiceReply::Board(BoardReply::Slides(slides)))) => {
                let due = if too_early {
                    self.cx.now
                } else {
                    self.boards.slides_due_next(&self.pages.trees, &self.cx)
                };
                self.boards.lists.slides_due.insert(deck.clone(), due);
                self.boards.lists.trouble.remove(&list_of(effect));
                self.boards.take_in_slides(flight, deck, slides, &self.folder, &mut self.cx);
            }
            (_, result) => {
                let error = result.err();
                let forbidden = matches!(error, Some(ServiceError::Forbidden(_)));
                let at = self.cx.now.plus_ms(if forbidden { FORBIDDEN_RETRY_MS } else { RETRY_MS });
                let lists = &mut self.boards.lists;
                lists.resting.insert(list_of(effect), at);
                if let Some(error) = error.filter(|error| error.next() == Next::Park) {
                    lists.trouble.insert(list_of(effect), error.to_string());
                    // An unreadable list is not waited for.
                    self.boards.note_list_taken(effect, flight.tick);
                }
            }
        }
        Ok(())
    }
}

impl Boards {
    fn take_in_boards(
        &mut self,
        flight: &Flight,
        space: &WorkspaceId,
        boards: Vec<Whiteboard>,
        complete: bool,
        folder: &mut Folder,
        cx: &mut Context,
    ) {
        self.confirm_made(|item| matches!(item, CanvasItem::Board(of, ..) if of == space), None, cx);
        let listed: BTreeSet<CanvasId> = boards.iter().map(|seen| CanvasId::Board(seen.id.clone())).collect();
        self.note_shown(listed.iter().cloned().map(Emptied::Canvas), flight, cx.now);
        for seen in boards {
            let id = CanvasId::Board(seen.id.clone());
            let known = self.canvases.get(&id).cloned();
            let stirred = known.as_ref().is_some_and(|node| node.name != seen.name);
            let mut node = known.unwrap_or_else(|| cx.new_canvas(id));
            node.workspace = Some(seen.workspace);
            node.name = seen.name;
            node.rest = seen.rest;
            if !self.acted_since(&node.id, flight, cx) {
                cx.take_in_presence(&mut node, stirred);
            }
            self.save_canvas(node, cx);
        }
        let first = self.lists.boards_at.insert(space.clone(), flight.tick).is_none();
        if complete {
            let ours = |node: &&CanvasNode| node.workspace.as_ref() == Some(space);
            let known: Vec<CanvasNode> = self.canvases.values().filter(ours).cloned().collect();
            if let Some(at) =
                self.take_in_missing(flight, &List::Boards(space.clone()), &known, &listed, folder, cx)
            {
                self.lists.boards_due.insert(space.clone(), at);
            }
        }
        if first {
            // Files that were read before this list may have waited for it.
            self.mark_all_canvases_dirty();
            folder.watch.scan_by(cx.now);
        }
        self.confirm_made(|item| matches!(item, CanvasItem::Board(of, ..) if of == space), Some(flight), cx);
    }

    fn take_in_decks(
        &mut self,
        flight: &Flight,
        decks: Vec<Deck>,
        complete: bool,
        folder: &mut Folder,
        cx: &mut Context,
    ) {
        self.confirm_made(|item| matches!(item, CanvasItem::Deck(..)), None, cx);
        let listed: BTreeSet<DeckId> = decks.iter().map(|seen| seen.id.clone()).collect();
        self.note_shown(listed.iter().cloned().map(Emptied::Slides), flight, cx.now);
        for seen in decks {
            let known = self.decks.get(&seen.id).cloned();
            let mut node = known.unwrap_or_else(|| new_deck(seen.clone()));
            node.seen = seen;
            node.presence = Presence::Listed;
            self.save_deck(node, cx);
        }
        let first = self.lists.decks_at == 0;
        self.lists.decks_at = flight.tick;
        if complete {
            let known: Vec<DeckNode> = self.decks.values().cloned().collect();
            let missing: Vec<&DeckNode> = known
                .iter()
                .filter(|deck| !listed.contains(&deck.seen.id) && deck.presence != Presence::Gone)
                .collect();
            let list = List::Decks;
            // A presentation whose folder was deleted has nothing left to remove.
            let is_over = |deck: &&DeckNode| folder.is_absence_over(deck.missing_since, &cx.settings);
            let over: BTreeSet<DeckId> =
                missing.iter().filter(|deck| is_over(deck)).map(|deck| deck.seen.id.clone()).collect();
            let approved = missing.iter().all(|deck| deck.approved);
            let held = guard::list_shrank(
                Kind::Presentation,
                known.len() - over.len(),
                missing.len() - over.len(),
                cx.settings.pages.max_deletes,
            )
            .filter(|_| !approved && (known.len() > 1 || listed.is_empty()));
            self.note_held(&list, held.filter(|_| missing.len() > over.len()));
            for deck in missing {
                self.lists.emptied.remove(&Emptied::Slides(deck.seen.id.clone()));
                let mut deck = deck.clone();
                let second = deck.presence == Presence::Unlisted;
                deck.presence = Presence::Unlisted;
                let is_held = self.lists.held.contains_key(&list) && !over.contains(&deck.seen.id);
                if second && !is_held {
                    deck.presence = Presence::Gone;
                    self.slides_gone_with(&deck.seen.id, cx);
                } else if !second {
                    self.lists.decks_due = cx.now.plus_ms(SECOND_LOOK_MS);
                }
                self.save_deck(deck, cx);
            }
        }
        if first {
            // Files that were read before this list may have waited for it.
            self.mark_all_canvases_dirty();
            folder.watch.scan_by(cx.now);
        }
        self.confirm_made(|item| matches!(item, CanvasItem::Deck(..)), Some(flight), cx);
    }

    fn take_in_slides(
        &mut self,
        flight: &Flight,
        deck: &DeckId,
        slides: Vec<Slide>,
        folder: &Folder,
        cx: &mut Context,
    ) {
        let known: Vec<CanvasNode> = self.slides_of(deck).cloned().collect();
        let held_some = known.iter().any(|node| node.base.is_some());
        if !self.believes(Emptied::Slides(deck.clone()), slides.is_empty() && held_some, flight, cx.now) {
            return;
        }
        let listed: BTreeSet<CanvasId> =
            slides.iter().map(|seen| CanvasId::Slide(deck.clone(), seen.id.clone())).collect();
        self.note_shown(listed.iter().cloned().map(Emptied::Canvas), flight, cx.now);
        for (order, seen) in slides.into_iter().enumerate() {
            let id = CanvasId::Slide(deck.clone(), seen.id);
            let known = self.canvases.get(&id).cloned();
            let stirred = known.as_ref().is_some_and(|node| node.background != seen.background);
            let mut node = known.unwrap_or_else(|| cx.new_canvas(id));
            node.order = order;
            node.background = seen.background;
            if !self.acted_since(&node.id, flight, cx) {
                cx.take_in_presence(&mut node, stirred);
            }
            self.save_canvas(node, cx);
        }
        self.lists.slides_at.insert(deck.clone(), flight.tick);
        let list = List::Slides(deck.clone());
        if let Some(at) = self.take_in_missing(flight, &list, &known, &listed, folder, cx) {
            self.lists.slides_due.insert(deck.clone(), at);
        }
        let now = cx.now;
        self.edit_deck(deck, |node| node.listed_at = now, cx);
        self.mark_deck_dirty(deck);
        self.confirm_made(|item| matches!(item, CanvasItem::Slide(of, _) if of == deck), Some(flight), cx);
        self.use_blank_slide(deck, cx);
    }

    /// Marks items that a complete list lacks; returns the time of a second list, if one is needed.
    fn take_in_missing(
        &mut self,
        flight: &Flight,
        list: &List,
        known: &[CanvasNode],
        listed: &BTreeSet<CanvasId>,
        folder: &Folder,
        cx: &mut Context,
    ) -> Option<Timestamp> {
        let missing: Vec<&CanvasNode> = known
            .iter()
            .filter(|node| !listed.contains(&node.id) && node.presence != Presence::Gone)
            .filter(|node| !self.acted_since(&node.id, flight, cx))
            .collect();
        // A canvas whose file was deleted has nothing left to remove.
        let over: BTreeSet<CanvasId> = missing
            .iter()
            .filter(|node| node.base.is_some() && node.file.is_none())
            .filter(|node| folder.is_absence_over(node.missing_since, &cx.settings))
            .map(|node| node.id.clone())
            .collect();
        let mirrored = known.iter().filter(|node| node.base.is_some()).count() - over.len();
        let lost = missing.iter().filter(|node| node.base.is_some() && !over.contains(&node.id)).count();
        let approved = missing.iter().all(|node| node.approved);
        let is_slides = known.first().is_some_and(|node| node.id.deck().is_some());
        let kind = if is_slides { Kind::Slide } else { Kind::Whiteboard };
        let held = guard::list_shrank(kind, mirrored, lost, cx.settings.pages.max_deletes)
            // A few slides of one presentation may well have been trashed, if the list shows others.
            .filter(|_| {
                !approved && (!is_slides || listed.is_empty() || lost > cx.settings.pages.max_deletes)
            });
        let is_held = held.is_some();
        self.note_held(list, held);
        let mut again = None;
        for node in missing {
            self.lists.emptied.remove(&Emptied::Canvas(node.id.clone()));
            let second = node.presence == Presence::Unlisted || planted("board-absence-believed");
            if second && is_held && !over.contains(&node.id) {
                continue;
            }
            if second {
                self.has_gone(&node.id, cx);
            } else {
                self.edit_canvas(&node.id, |node| node.presence = Presence::Unlisted, cx);
                again = Some(cx.now.plus_ms(SECOND_LOOK_MS));
            }
        }
        again
    }

    /// Whether an act on a canvas happened after a fetch of it was issued.
    pub(super) fn acted_since(&self, canvas: &CanvasId, flight: &Flight, cx: &Context) -> bool {
        let acted = self.runtimes.get(canvas).map_or(0, |runtime| runtime.acted);
        let writing = cx.in_flight.flights.values().any(|other| {
            matches!(&other.purpose, crate::engine::Purpose::Board(purpose)
                if purpose.canvas() == Some(canvas) && purpose.is_request() && !matches!(**purpose, super::Purpose::Fetch { .. }))
        });
        flight.tick <= acted || writing
    }

    /// Takes in the elements of a canvas.
    pub(super) fn canvas_fetched(
        &mut self,
        flight: &Flight,
        canvas: &CanvasId,
        result: Result<ServiceReply, ServiceError>,
        service: &Health,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        if self.acted_since(canvas, flight, cx) {
            return Ok(());
        }
        let now = cx.now;
        match result {
            Ok(ServiceReply::Board(BoardReply::Elements(elements))) => {
                self.runtime_of(canvas).looked = flight.tick;
                let node = self.canvases.get(canvas);
                let before = node.and_then(|node| node.remote);
                let looked_at = node.map_or_else(Timestamp::default, |node| node.poll.last);
                let lacks = elements.is_empty() && !cx.elements_at(before)?.is_empty();
                if !self.believes(Emptied::Canvas(canvas.clone()), lacks, flight, cx.now) {
                    // It has not been seen, so commands that wait for a fetch continue to wait.
                    self.runtime_of(canvas).looked = 0;
                    return Ok(());
                }
                let runtime = self.runtime_of(canvas);
                runtime.seen = flight.tick;
                runtime.seen_at = flight.as_of(now);
                runtime.unreadable = None;
                self.take_in_elements(canvas, &elements, cx);
                self.confirm_elements(canvas, &elements, flight, looked_at, cx)?;
            }
            Err(ServiceError::NotFound(_)) if !was_unfound(self, canvas) => {
                self.runtime_of(canvas).looked = flight.tick;
                // Only the elements of a slide are answered so: the list of slides shows more.
                if let Some(deck) = canvas.deck().cloned() {
                    self.lists.slides_due.insert(deck, now);
                }
                let runtime = self.runtime_of(canvas);
                runtime.failing.until = runtime.failing.until.max(now.plus_ms(30_000));
                self.edit_canvas(canvas, |node| node.poll.last = now, cx);
            }
            Err(error) if error.next() == Next::Park || matches!(error, ServiceError::NotFound(_)) => {
                let failures = self.runtime_of(canvas).failing.count;
                let wait = cx.backoff(failures + TOLD_AFTER);
                let runtime = self.runtime_of(canvas);
                runtime.looked = flight.tick;
                runtime.failing.until = now.plus_ms(wait);
                runtime.unreadable = Some(error);
                self.edit_canvas(canvas, |node| node.poll.last = now, cx);
            }
            Err(error) if self.runtime_of(canvas).failing.is_told() && service.down.is_none() => {
                // The fetch counts as done: it failed too often for a command to wait for another one.
                self.runtime_of(canvas).looked = flight.tick;
                self.runtime_of(canvas).unreadable = Some(error);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether the last fetch of a canvas did not show it.
fn was_unfound(boards: &Boards, canvas: &CanvasId) -> bool {
    boards.runtimes.get(canvas).is_some_and(|runtime| runtime.looked > runtime.seen)
}

impl Boards {
    fn note_list_taken(&mut self, effect: &BoardEffect, tick: u64) {
        let lists = &mut self.lists;
        match effect {
            BoardEffect::ListBoards(space) => drop(lists.boards_at.insert(space.clone(), tick)),
            BoardEffect::ListSlides(deck) => drop(lists.slides_at.insert(deck.clone(), tick)),
            _ => lists.decks_at = tick,
        }
        self.mark_all_canvases_dirty();
    }

    fn note_skipped(&mut self, list: &List, skipped: &[String]) {
        match skipped.first() {
            Some(why) => drop(
                self.lists
                    .trouble
                    .insert(list.clone(), format!("{} entries of its list: {why}", skipped.len())),
            ),
            None => drop(self.lists.trouble.remove(list)),
        }
    }

    fn slides_gone_with(&mut self, deck: &DeckId, cx: &mut Context) {
        let slides: Vec<CanvasId> = self.slides_of(deck).map(|node| node.id.clone()).collect();
        for slide in slides {
            self.has_gone(&slide, cx);
        }
    }

    /// A canvas has left the service. Its requests that failed delay nothing any more.
    fn has_gone(&mut self, canvas: &CanvasId, cx: &mut Context) {
        self.edit_canvas(canvas, |node| node.presence = Presence::Gone, cx);
        self.runtime_of(canvas).failing = crate::engine::retry::Failing::default();
    }

    /// Whether an answer about elements or slides is believed. An answer is also empty if the caller may not see the
    /// item, or if the service is in trouble for a while. So if an item comes `empty` that was not, the list that names it
    /// must show it after that answer, and later answers must be empty too, with the spacing of [`confirm`]. No fetch happens
    /// before that list, because it could prove nothing. If the list lacks the item, that settles it.
    fn believes(&mut self, what: Emptied, empty: bool, flight: &Flight, now: Timestamp) -> bool {
        let doubt = Unconfirmed { since: now, looks: 0 };
        let first = EmptyAnswer { tick: flight.tick, shown: None, doubt };
        let before = self.lists.emptied.get(&what).copied();
        let is_shown = before.and_then(|before| before.shown).is_some_and(|shown| flight.tick > shown);
        let left = match before {
            Some(before) if is_shown => {
                confirm::not_shown(before.doubt, flight.sent_at).map(|doubt| EmptyAnswer { doubt, ..before })
            }
            before => Some(before.unwrap_or(first)),
        };
        let Some(left) = left.filter(|_| empty && !planted("empty-canvas-believed")) else {
            self.lists.emptied.remove(&what);
            return true;
        };
        match &what {
            // The next answer that can count.
            Emptied::Canvas(canvas) if is_shown => {
                self.runtime_of(canvas).failing.until = confirm::next_look(&left.doubt);
                self.request_queue.insert(canvas.clone(), Want::Fetch);
            }
            Emptied::Slides(deck) if is_shown => {
                let due = confirm::next_look(&left.doubt);
                self.lists.slides_due.insert(deck.clone(), due);
                self.lists.resting.insert(List::Slides(deck.clone()), due);
            }
            Emptied::Canvas(canvas) => self.list_that_names(canvas, now),
            Emptied::Slides(_) => self.lists.decks_due = now,
        }
        self.lists.emptied.insert(what, left);
        false
    }

    /// Whether the last fetch of a canvas was empty, and the list that names it has not been taken in since.
    pub(super) fn waits_for_list(&self, canvas: &CanvasId) -> bool {
        let emptied = &self.lists.emptied;
        !emptied.is_empty()
            && emptied.get(&Emptied::Canvas(canvas.clone())).is_some_and(|answer| answer.shown.is_none())
    }

    /// Records that a list shows these items: those that came empty are fetched again.
    fn note_shown(&mut self, listed: impl Iterator<Item = Emptied>, flight: &Flight, now: Timestamp) {
        let emptied = &mut self.lists.emptied;
        if emptied.is_empty() {
            return;
        }
        for what in listed {
            if let Some(answer) = emptied.get_mut(&what)
                && answer.shown.is_none()
                && flight.tick > answer.tick
            {
                answer.shown = Some(flight.tick);
                match what {
                    Emptied::Canvas(canvas) => drop(self.request_queue.insert(canvas, Want::Fetch)),
                    Emptied::Slides(deck) => drop(self.lists.slides_due.insert(deck, now)),
                }
            }
        }
    }

    /// Makes the list that names a canvas due.
    pub(super) fn list_that_names(&mut self, canvas: &CanvasId, now: Timestamp) {
        let space = self.canvases.get(canvas).and_then(|node| node.workspace.clone());
        match (canvas.deck(), space) {
            (Some(deck), _) => drop(self.lists.slides_due.insert(deck.clone(), now)),
            (None, Some(space)) => drop(self.lists.boards_due.insert(space, now)),
            (None, None) => {}
        }
    }

    fn note_held(&mut self, list: &List, guard: Option<Guard>) {
        match guard {
            Some(guard) => drop(self.lists.held.insert(list.clone(), guard)),
            None => drop(self.lists.held.remove(list)),
        }
    }

    fn take_in_elements(&mut self, canvas: &CanvasId, elements: &Elements, cx: &mut Context) {
        let hash = cx.store.keep_elements(elements);
        let now = cx.now;
        if self.canvases.get(canvas).is_some_and(|node| node.remote != Some(hash)) {
            self.runtime_of(canvas).writes.has_news();
            let file =
                self.canvases.get(canvas).and_then(|node| self.files.get(node.file.as_ref()?)).cloned();
            if let Some(file) = file.filter(|file| file.problem == Some(Problem::Internal)) {
                // What failed with the former elements may succeed with these.
                self.save_canvas_file(CanvasFile { hash: None, problem: None, ..file }, cx);
            }
        }
        self.edit_canvas(
            canvas,
            |node| {
                let changed = node.remote.is_some_and(|before| before != hash);
                node.poll.last = now;
                if changed {
                    poll::changed(&mut node.poll, now);
                } else {
                    poll::unchanged(&mut node.poll);
                }
                node.remote = Some(hash);
            },
            cx,
        );
    }
}

impl Context {
    fn take_in_presence(&self, node: &mut CanvasNode, stirred: bool) {
        if node.presence != Presence::Listed {
            node.presence = Presence::Listed;
            node.approved = false;
        }
        if stirred {
            poll::changed(&mut node.poll, self.now);
        }
    }

    fn new_canvas(&self, id: CanvasId) -> CanvasNode {
        CanvasNode::new(id, poll::fresh(self.now))
    }

    pub(super) fn canvas_made(&self, id: CanvasId) -> CanvasNode {
        let mut node = self.new_canvas(id);
        poll::changed(&mut node.poll, self.now);
        node
    }
}

fn new_deck(seen: Deck) -> DeckNode {
    DeckNode {
        seen,
        presence: Presence::Listed,
        folder: None,
        named: None,
        listed_at: Timestamp::default(),
        missing_since: None,
        blank: false,
        approved: false,
    }
}

/// The list that an effect requests.
pub(super) fn list_of(effect: &BoardEffect) -> List {
    match effect {
        BoardEffect::ListBoards(space) => List::Boards(space.clone()),
        BoardEffect::ListSlides(deck) => List::Slides(deck.clone()),
        _ => List::Decks,
    }
}
