//! New files become whiteboards and slides, new folders presentations, each exactly once: as with pages, an intent is
//! stored before a POST, and after a lost answer the lists are searched for what it may have made.

use std::collections::BTreeMap;

use super::super::Engine;
use super::super::pace::Class;
use super::looks::FORBIDDEN_RETRY_MS;
use super::place::Spot;
use super::push::LOOK_AFTER_MS;
use super::{Area, Choice, Purpose, board};
use crate::engine::Way;
use crate::engine::flight::Flight;
use crate::engine::retry::{Failing, Fails};
use crate::model::{
    BoardEffect, BoardReply, CanvasAgreed, CanvasFile, CanvasId, CanvasIntent, DeckId, DeckNode, IntentKind,
    MirrorPath, Presence, ServiceError, ServiceReply, Timestamp, WorkspaceId, planted,
};
use crate::plan::naming;
use crate::store::StoreError;

/// The one name of what an intent shall make.
pub(super) fn intent_name(kind: &IntentKind) -> String {
    match kind {
        IntentKind::Board(_, path, _) => format!("board {path}"),
        IntentKind::Deck(path, _) => format!("deck {path}"),
        IntentKind::Slide(deck, _) => slide_intent_name(deck),
        IntentKind::Element(canvas, node, _) => {
            format!("element {} {} {node}", canvas.deck().map_or("", DeckId::as_str), canvas.own_id())
        }
    }
}

/// As [`intent_name`]: one at a time for each presentation, so that files are appended in their order.
pub(super) fn slide_intent_name(deck: &DeckId) -> String {
    format!("slide {deck}")
}

/// Of which nothing could be made: a new file or folder.
#[derive(Debug)]
pub(super) struct Unmade {
    pub(super) why: Fails,
    pub(super) failing: Failing,
    /// The service does not want it, and says so.
    pub(super) is_refused: bool,
}

impl Unmade {
    /// Whether a person is told.
    pub(super) fn is_told(&self) -> bool {
        self.is_refused || self.failing.is_told()
    }
}

/// The file or folder that an intent is for.
pub(super) fn file_of(kind: &IntentKind) -> Option<&MirrorPath> {
    match kind {
        IntentKind::Board(_, path, _) | IntentKind::Deck(path, _) | IntentKind::Slide(_, path) => Some(path),
        IntentKind::Element(..) => None,
    }
}

fn deck_of(folder: &MirrorPath) -> IntentKind {
    IntentKind::Deck(folder.clone(), naming::title_of(folder.name()))
}

/// Whether a presentation is one that this POST may have made.
fn may_have_made(intent: &CanvasIntent, deck: &DeckNode) -> bool {
    matches!(&intent.kind, IntentKind::Deck(_, name) if *name == deck.seen.name)
        && !intent.before.iter().any(|id| id == deck.seen.id.as_str())
}

impl Engine {
    pub(super) fn save_board_intent(&mut self, intent: CanvasIntent) -> Result<(), StoreError> {
        let name = intent_name(&intent.kind);
        self.store.save_canvas_intent(&name, &intent)?;
        self.boards.intents.insert(name, intent);
        Ok(())
    }

    pub(super) fn end_board_intent(&mut self, name: &str) -> Result<(), StoreError> {
        if self.boards.intents.remove(name).is_some() {
            self.store.delete_canvas_intent(name)?;
        }
        Ok(())
    }

    /// Ends the requests for elements of a canvas that is gone.
    pub(super) fn end_element_intents(&mut self, canvas: &CanvasId) -> Result<(), StoreError> {
        for name in self.element_intents(canvas).cloned().collect::<Vec<_>>() {
            self.end_board_intent(&name)?;
        }
        Ok(())
    }

    /// The names of the intents to make elements of a canvas.
    pub(super) fn element_intents<'a>(&'a self, canvas: &'a CanvasId) -> impl Iterator<Item = &'a String> {
        let of_it = move |kind: &IntentKind| matches!(kind, IntentKind::Element(of, ..) if of == canvas);
        self.boards.intents.iter().filter(move |(_, intent)| of_it(&intent.kind)).map(|(name, _)| name)
    }

    /// Files and folders that shall become something have other names: so has what was asked for them. All at once, for
    /// two may have changed names with each other.
    pub(super) fn follow_board_intents(
        &mut self,
        moves: &[(MirrorPath, MirrorPath)],
    ) -> Result<(), StoreError> {
        let to = |path: &MirrorPath| moves.iter().find(|(from, _)| from == path).map(|(_, to)| to);
        let mut moved: Vec<(String, CanvasIntent)> = Vec::new();
        for (old, intent) in &self.boards.intents {
            let mut intent = intent.clone();
            match &mut intent.kind {
                IntentKind::Board(_, path, _) | IntentKind::Deck(path, _) | IntentKind::Slide(_, path) => {
                    let Some(to) = to(path) else { continue };
                    path.clone_from(to);
                }
                IntentKind::Element(..) => continue,
            }
            moved.push((old.clone(), intent));
        }
        for (old, _) in &moved {
            self.end_board_intent(old)?;
        }
        let names: BTreeMap<String, String> =
            moved.iter().map(|(old, intent)| (old.clone(), intent_name(&intent.kind))).collect();
        for (_, intent) in moved {
            self.save_board_intent(intent)?;
        }
        self.flights.values_mut().for_each(|flight| flight.purpose.follow_board_creation(&names));
        Ok(())
    }

    /// The next POST of a whiteboard, presentation or slide, if a new file or folder is ready for one.
    pub(super) fn next_board_creation(&mut self) -> Result<Choice, StoreError> {
        let Some(kind) = self.creatable() else { return Ok(None) };
        let is_again = file_of(&kind).is_some_and(|path| self.boards.unmade.contains_key(path));
        let class = if is_again { Class::Asked } else { Class::Edit };
        if !self.pace.allows(class, 2, false, self.now) {
            return Ok(None);
        }
        let (effect, before) = match &kind {
            IntentKind::Board(workspace, _, name) => {
                let known = self.boards.canvases.keys().filter(|id| id.deck().is_none());
                let before = known.map(|id| id.own_id().to_owned()).collect();
                (BoardEffect::CreateBoard { workspace: workspace.clone(), name: name.clone() }, before)
            }
            IntentKind::Deck(_, name) => {
                let before = self.boards.decks.keys().map(ToString::to_string).collect();
                (BoardEffect::CreateDeck { name: name.clone() }, before)
            }
            IntentKind::Slide(deck, _) => {
                let known = self.boards.canvases.keys().filter(|id| id.deck() == Some(deck));
                let before = known.map(|id| id.own_id().to_owned()).collect();
                (BoardEffect::AddSlide(deck.clone()), before)
            }
            IntentKind::Element(..) => return Ok(None),
        };
        let name = intent_name(&kind);
        self.save_board_intent(CanvasIntent { kind, before, asked_at: self.now, lost: None })?;
        Ok(Some(board(effect, Purpose::Create { name })))
    }

    pub(super) fn board_creations_wait(&self) -> bool {
        self.creatable().is_some()
    }

    /// What a new file or folder shall become, the first of them.
    fn creatable(&self) -> Option<IntentKind> {
        if self.boards.adopting || !self.boards_are_quiet() || !self.board_lists_done() {
            return None;
        }
        let new = self.boards.files.values().filter(|file| {
            file.canvas.is_none()
                && file.hash.is_some()
                && file.problem.is_none()
                && !self.is_refused_canvas(&file.path)
        });
        for file in new {
            let kind = match self.spot_of(&file.path, false) {
                Some(Spot::Board(space)) => {
                    let open = self.is_live(&space) && !self.is_closed(&Area::Whiteboards(space.clone()));
                    open.then(|| IntentKind::Board(space, file.path.clone(), Self::stem_said(&file.path)))
                }
                Some(Spot::InDeck(folder)) => self.slide_for(&folder, &file.path),
                _ => None,
            };
            if let Some(kind) = kind.filter(|kind| !self.boards.intents.contains_key(&intent_name(kind))) {
                return Some(kind);
            }
        }
        let grace = self.settings.pages.delete_grace_ms;
        let empty = self.boards.new_folders.iter().find(|(folder, since)| {
            // Whoever makes a folder renames it next, and fills it.
            self.now.since_ms(**since) >= grace
                && !self.boards.there.keys().any(|path| path != *folder && path.is_within(folder))
                && self.may_make_deck(folder)
        });
        empty.map(|(folder, _)| deck_of(folder))
    }

    fn slide_for(&self, folder: &MirrorPath, path: &MirrorPath) -> Option<IntentKind> {
        match self.deck_at(folder) {
            Some(deck) => {
                let ready = deck.presence == Presence::Listed && deck.listed_at.0 > 0 && !deck.blank;
                let open = !self.is_closed(&Area::Presentations);
                (ready && open).then(|| IntentKind::Slide(deck.seen.id.clone(), path.clone()))
            }
            None => self.may_make_deck(folder).then(|| deck_of(folder)),
        }
    }

    fn may_make_deck(&self, folder: &MirrorPath) -> bool {
        // A presentation's folder that was renamed goes back to its name.
        let known = self.boards.canvases.values().filter_map(|node| node.file.as_ref());
        // So may one that is no longer where a presentation was asked for it.
        let is_asked_for = |intent: &CanvasIntent| match &intent.kind {
            IntentKind::Deck(of, _) => of == folder || !self.boards.there.contains_key(of),
            _ => false,
        };
        !self.is_closed(&Area::Presentations)
            && !self.boards.intents.values().any(is_asked_for)
            && !self.is_refused_canvas(folder)
            && !known.into_iter().any(|path| path.is_within(folder))
            && !self.boards.moved_folders.values().any(|moved| moved == folder)
            // Its own files will tell which folder a missing one has become.
            && self.boards.decks.values().all(|deck| deck.missing_since.is_none() || deck.presence != Presence::Listed)
    }

    fn is_refused_canvas(&self, path: &MirrorPath) -> bool {
        self.boards.unmade.get(path).is_some_and(|unmade| unmade.failing.waits(self.now))
    }

    pub(super) fn board_created(
        &mut self,
        name: &str,
        result: Result<ServiceReply, ServiceError>,
    ) -> Result<(), StoreError> {
        let Some(mut intent) = self.boards.intents.get(name).cloned() else { return Ok(()) };
        match (&intent.kind, result) {
            (IntentKind::Board(space, path, _), Ok(ServiceReply::Board(BoardReply::Board(made)))) => {
                self.end_board_intent(name)?;
                let id = CanvasId::Board(made.id);
                self.board_made(id.clone(), Some(space.clone()), made.name, path)?;
                self.was_made_empty(&id)
            }
            (IntentKind::Deck(folder, _), Ok(ServiceReply::Board(BoardReply::Deck(made)))) => {
                self.end_board_intent(name)?;
                self.deck_made(made, folder)
            }
            (IntentKind::Slide(deck, path), Ok(ServiceReply::Board(BoardReply::Slide(made)))) => {
                self.end_board_intent(name)?;
                let order = self.slides_of(deck).map(|node| node.order + 1).max().unwrap_or(0);
                let id = CanvasId::Slide(deck.clone(), made.id);
                self.board_made(id.clone(), None, String::new(), path)?;
                self.was_made_empty(&id)?;
                self.edit_canvas(&id, |node| {
                    node.order = order;
                    node.background = made.background;
                })
            }
            (_, Err(error)) if !error.may_have_happened() || planted("board-post-forgotten") => {
                self.end_board_intent(name)?;
                self.board_refused(&intent.kind, &error);
                Ok(())
            }
            (_, result) => {
                let why = result.map_or_else(Fails::Service, |_| Fails::EachTime);
                if let Some(path) = file_of(&intent.kind) {
                    self.not_made(path, why);
                }
                intent.lost = Some(0);
                intent.asked_at = self.now;
                self.list_for(&intent.kind, self.now.plus_ms(LOOK_AFTER_MS[0]));
                self.save_board_intent(intent)
            }
        }
    }

    /// The list that would show what an intent may have made is due at `at`.
    fn list_for(&mut self, kind: &IntentKind, at: Timestamp) {
        let lists = &mut self.boards.lists;
        match kind {
            IntentKind::Board(space, ..) => drop(lists.boards_due.insert(space.clone(), at)),
            IntentKind::Slide(deck, _) => drop(lists.slides_due.insert(deck.clone(), at)),
            _ => lists.decks_due = at,
        }
    }

    fn board_refused(&mut self, kind: &IntentKind, error: &ServiceError) {
        let (area, path) = match kind {
            IntentKind::Board(space, path, _) => (Area::Whiteboards(space.clone()), path.clone()),
            IntentKind::Deck(path, _) | IntentKind::Slide(_, path) => (Area::Presentations, path.clone()),
            IntentKind::Element(..) => return,
        };
        match error {
            ServiceError::Forbidden(why) => self.forbid_area(area, why),
            ServiceError::Rejected { .. } | ServiceError::NotFound(_) => {
                let failing = Failing { count: 1, until: self.now.plus_ms(FORBIDDEN_RETRY_MS) };
                let unmade = Unmade { why: Fails::Service(error.clone()), failing, is_refused: true };
                self.boards.unmade.insert(path, unmade);
            }
            _ => self.not_made(&path, Fails::Service(error.clone())),
        }
    }

    /// A request to make something of a file or a folder failed: the next one waits.
    fn not_made(&mut self, path: &MirrorPath, why: Fails) {
        let before = self.boards.unmade.get(path).map(|unmade| unmade.failing).unwrap_or_default();
        let failing = self.failed_again(before);
        self.boards.unmade.insert(path.clone(), Unmade { why, failing, is_refused: false });
    }

    /// The service has made a canvas for a file: they belong together from now on.
    fn board_made(
        &mut self,
        id: CanvasId,
        workspace: Option<WorkspaceId>,
        name: String,
        path: &MirrorPath,
    ) -> Result<(), StoreError> {
        self.boards.unmade.remove(path);
        let nothing = self.store.keep_elements(&[])?;
        let known = self.boards.canvases.get(&id).cloned();
        let mut node = known.unwrap_or_else(|| self.canvas_made(id.clone()));
        node.workspace = workspace;
        // A slide's agreed place is the one that it gets: the API only appends.
        let agreed = if id.deck().is_some() { String::new() } else { name.clone() };
        node.name = name;
        node.presence = Presence::Listed;
        node.base = Some(CanvasAgreed { elements: nothing, text: None, name: agreed });
        let (tick, asked) = (self.tick, self.now);
        self.save_canvas(node)?;
        let file = self.boards.files.get(path).filter(|file| file.canvas.is_none()).cloned();
        match file {
            Some(file) => {
                self.bind_file(CanvasFile { canvas: Some(id.clone()), ..file })?;
                self.boards.unread.insert(path.clone(), self.now);
            }
            None => self.edit_canvas(&id, |node| {
                node.missing_since = Some(asked);
                node.missing_from = Some(path.clone());
            })?,
        }
        self.moment_of(&id).acted = tick.saturating_sub(1);
        let what = if id.deck().is_some() { "new slide" } else { "new whiteboard" };
        self.say(Way::Up, path, what);
        Ok(())
    }

    /// The answer to a POST is a look: what was made is empty. Where a list alone shows it, the app may have filled it since.
    fn was_made_empty(&mut self, id: &CanvasId) -> Result<(), StoreError> {
        let nothing = self.store.keep_elements(&[])?;
        let (tick, now) = (self.tick, self.now);
        self.edit_canvas(id, |node| {
            if node.remote.is_none() {
                node.remote = Some(nothing);
                node.poll.last = now;
            }
        })?;
        let moment = self.moment_of(id);
        (moment.looked, moment.seen, moment.seen_at) = (tick, tick, now);
        Ok(())
    }

    fn deck_made(&mut self, made: crate::model::Deck, folder: &MirrorPath) -> Result<(), StoreError> {
        let id = made.id.clone();
        self.say(Way::Up, folder, "new presentation");
        self.boards.unmade.remove(folder);
        self.boards.new_folders.remove(folder);
        self.save_deck(DeckNode {
            named: Some(naming::title_of(folder.name())),
            seen: made,
            presence: Presence::Listed,
            folder: Some(folder.name().to_owned()),
            listed_at: Timestamp::default(),
            missing_since: None,
            blank: true,
            approved: false,
        })?;
        self.boards.lists.slides_due.insert(id, self.now);
        Ok(())
    }

    /// Whether a presentation may be what was asked for and is not known to be there yet: its folder is told then.
    pub(super) fn awaits_deck_intent(&self, deck: &DeckNode) -> bool {
        deck.folder.is_none() && self.boards.intents.values().any(|intent| may_have_made(intent, deck))
    }

    /// The blank slide that a new presentation comes with is its folder's first file.
    pub(super) fn use_blank_slide(&mut self, deck: &DeckId) -> Result<(), StoreError> {
        let Some(node) = self.boards.decks.get(deck).filter(|node| node.blank).cloned() else {
            return Ok(());
        };
        let Some(folder) = self.deck_folder(deck) else { return Ok(()) };
        let first = self.slides_of(deck).filter(|node| node.base.is_none()).min_by_key(|node| node.order);
        let slide = first.map(|node| node.id.clone());
        let inside = |path: &&MirrorPath| path.parent().as_ref() == Some(&folder);
        let file =
            self.boards.files.values().find(|file| file.canvas.is_none() && inside(&&file.path)).cloned();
        if file.is_none() && self.folder_moved_to(deck).is_some() {
            // Its files are in the folder that goes back to its name.
            self.boards.lists.slides_due.insert(deck.clone(), self.now.plus_ms(1_000));
            return Ok(());
        }
        if let (Some(slide), Some(file)) = (&slide, file) {
            if file.hash.is_none() || file.problem.is_some() {
                // It is being saved, or must be mended first.
                self.boards.lists.slides_due.insert(deck.clone(), self.now.plus_ms(1_000));
                return Ok(());
            }
            let nothing = self.store.keep_elements(&[])?;
            self.edit_canvas(slide, |node| {
                node.base = Some(CanvasAgreed { elements: nothing, text: None, name: String::new() });
            })?;
            self.bind_file(CanvasFile { canvas: Some(slide.clone()), ..file.clone() })?;
            self.boards.unread.insert(file.path, self.now);
        }
        if self.slides_of(deck).next().is_some() {
            self.save_deck(DeckNode { blank: false, ..node })?;
        }
        Ok(())
    }

    fn lost_of(&self, flight: &Flight, wanted: impl Fn(&IntentKind) -> bool) -> Vec<CanvasIntent> {
        let lost = |intent: &&CanvasIntent| intent.lost.is_some() && intent.asked_at <= flight.sent_at;
        self.boards.intents.values().filter(lost).filter(|intent| wanted(&intent.kind)).cloned().collect()
    }

    /// After a list of whiteboards: did a POST in doubt make one?
    pub(super) fn resolve_lost_boards(
        &mut self,
        space: &WorkspaceId,
        flight: &Flight,
    ) -> Result<(), StoreError> {
        for intent in self.lost_of(flight, |kind| matches!(kind, IntentKind::Board(of, ..) if of == space)) {
            let IntentKind::Board(_, path, name) = &intent.kind else { continue };
            let found = self.boards.canvases.values().find(|node| {
                node.workspace.as_ref() == Some(space)
                    && node.name == *name
                    && node.base.is_none()
                    && !intent.before.iter().any(|id| id == node.id.own_id())
            });
            match found.map(|node| node.id.clone()) {
                Some(id) => {
                    self.end_board_intent(&intent_name(&intent.kind))?;
                    self.board_made(id.clone(), Some(space.clone()), name.clone(), path)?;
                }
                None => self.looked_in_vain(intent)?,
            }
        }
        Ok(())
    }

    /// After a list of presentations: did a POST in doubt make one?
    pub(super) fn resolve_lost_decks(&mut self, flight: &Flight) -> Result<(), StoreError> {
        for intent in self.lost_of(flight, |kind| matches!(kind, IntentKind::Deck(..))) {
            let IntentKind::Deck(folder, _) = &intent.kind else { continue };
            let may_be = |deck: &&DeckNode| deck.folder.is_none() && may_have_made(&intent, deck);
            let found = self.boards.decks.values().find(may_be);
            match found.map(|deck| deck.seen.clone()) {
                Some(made) => {
                    self.end_board_intent(&intent_name(&intent.kind))?;
                    self.deck_made(made, folder)?;
                }
                None => self.looked_in_vain(intent)?,
            }
        }
        Ok(())
    }

    /// After a list of slides: did a POST in doubt append one?
    pub(super) fn resolve_lost_slides(&mut self, deck: &DeckId, flight: &Flight) -> Result<(), StoreError> {
        for intent in self.lost_of(flight, |kind| matches!(kind, IntentKind::Slide(of, _) if of == deck)) {
            let IntentKind::Slide(_, path) = &intent.kind else { continue };
            let new = self
                .slides_of(deck)
                .filter(|node| node.base.is_none() && !intent.before.iter().any(|id| id == node.id.own_id()));
            match new.max_by_key(|node| node.order).map(|node| node.id.clone()) {
                Some(id) => {
                    self.end_board_intent(&intent_name(&intent.kind))?;
                    self.board_made(id, None, String::new(), path)?;
                }
                None => self.looked_in_vain(intent)?,
            }
        }
        Ok(())
    }

    /// Nothing was found: once more a little later, then it is asked for anew.
    fn looked_in_vain(&mut self, mut intent: CanvasIntent) -> Result<(), StoreError> {
        let looks = intent.lost.unwrap_or(0) + 1;
        if looks >= 2 {
            return self.end_board_intent(&intent_name(&intent.kind));
        }
        intent.lost = Some(looks);
        self.list_for(&intent.kind, self.now.plus_ms(LOOK_AFTER_MS[1]));
        self.save_board_intent(intent)
    }
}
