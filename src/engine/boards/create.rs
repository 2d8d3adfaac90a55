//! Creates whiteboards and slides from new files, and presentations from new folders, each exactly once. As with
//! pages, a creation is stored before the POST, and after a lost answer its result is searched for in the lists.

use super::super::pace::Class;
use super::looks::FORBIDDEN_RETRY_MS;
use super::place;
use super::place::Spot;
use super::refused::Rejected;
use super::{Area, Choice, Purpose, board};
use crate::engine::Way;
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::creations::Creations;
use crate::engine::flight::Flight;
use crate::engine::folder::Folder;
use crate::engine::retry::{Failing, Fails};
use crate::engine::trees::Trees;
use crate::model::{
    BoardEffect, BoardReply, CanvasAgreed, CanvasDraft, CanvasFile, CanvasId, CanvasItem, CanvasNode,
    Creation, DeckId, DeckNode, Draft, MirrorPath, Presence, ServiceError, ServiceReply, Timestamp,
    Unconfirmed, WorkspaceId, planted,
};
use crate::plan::naming;

/// A new file or folder from which no item could be created.
#[derive(Debug)]
pub(super) struct Unmade {
    pub(super) why: Fails,
    pub(super) failing: Failing,
    /// Whether the service refused it.
    pub(super) is_refused: bool,
}

impl Unmade {
    /// Whether the user gets a message.
    pub(super) fn is_told(&self) -> bool {
        self.is_refused || self.failing.is_told()
    }
}

fn deck_of(folder: &MirrorPath) -> CanvasItem {
    CanvasItem::Deck(folder.clone(), naming::title_of(folder.name()))
}

/// Whether a presentation may be the result of this POST.
fn may_have_made(draft: &CanvasDraft, deck: &DeckNode) -> bool {
    matches!(&draft.item, CanvasItem::Deck(_, name) if *name == deck.seen.name)
        && !draft.before.iter().any(|id| id == deck.seen.id.as_str())
}

/// The number of canvas files and folders without an item.
pub(in super::super) fn files_without_canvas(boards: &Boards) -> usize {
    let files = boards.files.values().filter(|file| file.canvas.is_none()).count();
    files + boards.deck_folders.new_folders.len()
}

/// The number of whiteboards and presentations that wait to be made.
pub(in super::super) fn waiting_creations(boards: &Boards, trees: &Trees, cx: &Context) -> usize {
    if boards.bootstrap {
        return 0;
    }
    let is_board = |file: &&CanvasFile| match trees.spot_of(&file.path, false, &cx.settings) {
        Some(Spot::Board(space)) => {
            file.canvas.is_none()
                && file.problem.is_none()
                && boards.scan.may_be_new(&file.path)
                && trees.is_live(&space)
                && !boards.rejected.is_closed(&Area::Whiteboards(space.clone()), trees, cx)
        }
        _ => false,
    };
    boards.files.values().filter(is_board).count() + boards.deck_folders.new_folders.len()
}

impl Boards {
    /// Renames pending creations together with their files and folders. All at once, because two files may have
    /// swapped names.
    pub(super) fn follow_board_creations(&mut self, moves: &[(MirrorPath, MirrorPath)], cx: &mut Context) {
        let moved = |draft: &CanvasDraft| {
            let mut draft = draft.clone();
            match &mut draft.item {
                CanvasItem::Board(_, path, _) | CanvasItem::Deck(path, _) | CanvasItem::Slide(_, path) => {
                    let (_, to) = moves.iter().find(|(from, _)| from == path)?;
                    path.clone_from(to);
                }
                CanvasItem::Element(..) | CanvasItem::Change(..) => return None,
            }
            Some(draft)
        };
        let moved = self.creations.follow(&mut cx.store, moved);
        cx.in_flight.flights.values_mut().for_each(|flight| flight.purpose.follow_board_creations(&moved));
    }

    /// The next POST of a whiteboard, presentation or slide, if a new file or folder is ready for one.
    pub(super) fn next_board_creation(
        &mut self,
        trees: &Trees,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Choice {
        let item = self.creatable(trees, folder, cx)?;
        let is_again = item.source().is_some_and(|path| self.rejected.unmade.contains_key(path));
        let class = if is_again { Class::Asked } else { Class::Edit };
        if !cx.pace.allows(class, 2, false, cx.now) {
            return None;
        }
        let (effect, before) = match &item {
            CanvasItem::Board(workspace, _, name) => {
                let known = self.canvases.keys().filter(|id| id.deck().is_none());
                let before = known.map(|id| id.own_id().to_owned()).collect();
                (BoardEffect::CreateBoard { workspace: workspace.clone(), name: name.clone() }, before)
            }
            CanvasItem::Deck(_, name) => {
                let before = self.decks.keys().map(ToString::to_string).collect();
                (BoardEffect::CreateDeck { name: name.clone() }, before)
            }
            CanvasItem::Slide(deck, _) => {
                let known = self.canvases.keys().filter(|id| id.deck() == Some(deck));
                let before = known.map(|id| id.own_id().to_owned()).collect();
                (BoardEffect::AddSlide(deck.clone()), before)
            }
            CanvasItem::Element(..) | CanvasItem::Change(..) => return None,
        };
        let name = item.key();
        if let Some(path) = item.source().filter(|_| !matches!(item, CanvasItem::Slide(..))) {
            folder.root.creating.note(path.as_str(), cx);
        }
        self.creations.begin(&mut cx.store, CanvasDraft { item, before }, cx.now);
        Some(board(effect, Purpose::Create { name }))
    }

    pub(super) fn board_creations_wait(&self, trees: &Trees, folder: &Folder, cx: &Context) -> bool {
        self.creatable(trees, folder, cx).is_some()
    }

    /// The first item to create from a new file or folder.
    fn creatable(&self, trees: &Trees, folder: &Folder, cx: &Context) -> Option<CanvasItem> {
        let watch = &folder.watch;
        if folder.root.creating.is_held()
            || self.bootstrap
            || !self.scan.boards_are_quiet(watch, cx.now)
            || !self.board_lists_done(trees, cx)
        {
            return None;
        }
        let new = self.files.values().filter(|file| {
            file.canvas.is_none()
                && file.hash.is_some()
                && file.problem.is_none()
                && !self.rejected.is_refused_canvas(&file.path, cx.now)
                && self.scan.may_be_new(&file.path)
        });
        for file in new {
            let item = match trees.spot_of(&file.path, false, &cx.settings) {
                Some(Spot::Board(space)) => {
                    let open = trees.is_live(&space)
                        && !self.rejected.is_closed(&Area::Whiteboards(space.clone()), trees, cx);
                    open.then(|| CanvasItem::Board(space, file.path.clone(), place::stem_said(&file.path)))
                }
                Some(Spot::InDeck(folder)) => self.slide_for(&folder, &file.path, trees, cx),
                _ => None,
            };
            if let Some(item) = item.filter(|item| !self.creations.contains(&item.key())) {
                return Some(item);
            }
        }
        let grace = cx.settings.pages.delete_grace_ms;
        let empty = self.deck_folders.new_folders.iter().find(|(folder, since)| {
            // After a user creates a folder, the next steps are a new name and files in it.
            cx.now.since_ms(**since) >= grace
                && !self.scan.there.keys().any(|path| path != *folder && path.is_within(folder))
                && self.may_make_deck(folder, trees, cx)
        });
        empty.map(|(folder, _)| deck_of(folder))
    }

    fn slide_for(
        &self,
        folder: &MirrorPath,
        path: &MirrorPath,
        trees: &Trees,
        cx: &Context,
    ) -> Option<CanvasItem> {
        match self.deck_at(folder) {
            Some(deck) => {
                let ready = deck.presence == Presence::Listed && deck.listed_at.0 > 0 && !deck.blank;
                let open = !self.rejected.is_closed(&Area::Presentations, trees, cx);
                (ready && open).then(|| CanvasItem::Slide(deck.seen.id.clone(), path.clone()))
            }
            None => self.may_make_deck(folder, trees, cx).then(|| deck_of(folder)),
        }
    }

    fn may_make_deck(&self, folder: &MirrorPath, trees: &Trees, cx: &Context) -> bool {
        // The renamed folder of a presentation gets its name back.
        let known = self.canvases.values().filter_map(|node| node.file.as_ref());
        // So may a folder whose creation as a presentation is pending under a former path.
        let is_asked_for = |draft: &CanvasDraft| match &draft.item {
            CanvasItem::Deck(of, _) => of == folder || !self.scan.there.contains_key(of),
            _ => false,
        };
        !self.rejected.is_closed(&Area::Presentations, trees, cx)
            && !self.creations.drafts().any(is_asked_for)
            && !self.rejected.is_refused_canvas(folder, cx.now)
            && !known.into_iter().any(|path| path.is_within(folder))
            && !self.deck_folders.moved_folders.values().any(|moved| moved == folder)
            // The files of a missing folder will show which folder it has become.
            && self.decks.values().all(|deck| deck.missing_since.is_none() || deck.presence != Presence::Listed)
    }

    pub(super) fn board_created(
        &mut self,
        name: &String,
        result: Result<ServiceReply, ServiceError>,
        cx: &mut Context,
    ) {
        let Some(Creation { draft, .. }) = self.creations.get(name).cloned() else { return };
        match (&draft.item, result) {
            (CanvasItem::Board(space, path, _), Ok(ServiceReply::Board(BoardReply::Board(made)))) => {
                self.creations.end(&mut cx.store, name);
                let id = CanvasId::Board(made.id);
                self.board_made(id.clone(), Some(space.clone()), made.name, path, cx);
                self.was_made_empty(&id, cx);
            }
            (CanvasItem::Deck(folder, _), Ok(ServiceReply::Board(BoardReply::Deck(made)))) => {
                self.creations.end(&mut cx.store, name);
                self.deck_made(made, folder, cx);
            }
            (CanvasItem::Slide(deck, path), Ok(ServiceReply::Board(BoardReply::Slide(made)))) => {
                self.creations.end(&mut cx.store, name);
                let order = self.slides_of(deck).map(|node| node.order + 1).max().unwrap_or(0);
                let id = CanvasId::Slide(deck.clone(), made.id);
                self.board_made(id.clone(), None, String::new(), path, cx);
                self.was_made_empty(&id, cx);
                self.edit_canvas(
                    &id,
                    |node| {
                        node.order = order;
                        node.background = made.background;
                    },
                    cx,
                );
            }
            (_, Err(error)) if !error.may_have_happened() || planted("board-post-forgotten") => {
                self.creations.end(&mut cx.store, name);
                self.board_refused(&draft.item, &error, cx);
            }
            (_, result) => {
                let why = result.map_or_else(Fails::Service, |_| Fails::EachTime);
                // A list that was read meanwhile may have shown it, under a name that the app changes before the next one.
                let is_named = !matches!(draft.item, CanvasItem::Slide(..));
                if is_named && self.find_made(&draft, cx) {
                    return;
                }
                if let Some(path) = draft.item.source() {
                    self.rejected.not_made(path, why, cx);
                }
                let at = self.creations.lose(&mut cx.store, name, cx.now);
                self.list_for(&draft.item, at);
            }
        }
    }

    fn board_refused(&mut self, item: &CanvasItem, error: &ServiceError, cx: &mut Context) {
        let path = match item {
            CanvasItem::Board(_, path, _) | CanvasItem::Deck(path, _) | CanvasItem::Slide(_, path) => {
                path.clone()
            }
            CanvasItem::Element(..) | CanvasItem::Change(..) => return,
        };
        match error {
            // The whole area waits for its next try.
            ServiceError::Forbidden(_) => {}
            ServiceError::Rejected { .. } | ServiceError::NotFound(_) => {
                let failing = Failing { count: 1, until: cx.now.plus_ms(FORBIDDEN_RETRY_MS) };
                let unmade = Unmade { why: Fails::Service(error.clone()), failing, is_refused: true };
                self.rejected.unmade.insert(path, unmade);
            }
            _ => self.rejected.not_made(&path, Fails::Service(error.clone()), cx),
        }
    }
}

impl Creations<CanvasDraft> {
    /// The state of an unconfirmed creation of an element on this canvas.
    pub(super) fn element_in_doubt(&self, canvas: &CanvasId) -> Option<Unconfirmed> {
        let is_its = |draft: &CanvasDraft| matches!(&draft.item, CanvasItem::Element(of, ..) if of == canvas);
        self.all().find_map(|creation| creation.unconfirmed.filter(|_| is_its(&creation.draft)))
    }
}

impl Boards {
    /// Ends the creations and changes of elements of a canvas that is gone.
    pub(super) fn end_element_creations(&mut self, canvas: &CanvasId, cx: &mut Context) {
        let drafts = self.creations.drafts();
        let names: Vec<String> =
            drafts.filter(|draft| is_element_of(draft, canvas)).map(Draft::key).collect();
        names.iter().for_each(|name| self.creations.end(&mut cx.store, name));
    }

    /// The ids in its file of a canvas's nodes whose creations are pending.
    pub(super) fn nodes_being_made<'a>(&'a self, canvas: &'a CanvasId) -> impl Iterator<Item = &'a str> {
        self.creations.drafts().filter_map(move |draft| match &draft.item {
            CanvasItem::Element(of, node, _) if of == canvas => Some(node.as_str()),
            _ => None,
        })
    }

    /// Makes the list that would show an unconfirmed item due at `at`.
    fn list_for(&mut self, item: &CanvasItem, at: Timestamp) {
        let lists = &mut self.lists;
        match item {
            CanvasItem::Board(space, ..) => drop(lists.boards_due.insert(space.clone(), at)),
            CanvasItem::Slide(deck, _) => drop(lists.slides_due.insert(deck.clone(), at)),
            _ => lists.decks_due = at,
        }
    }

    /// Binds the canvas that the service created to its file.
    fn board_made(
        &mut self,
        id: CanvasId,
        workspace: Option<WorkspaceId>,
        name: String,
        path: &MirrorPath,
        cx: &mut Context,
    ) {
        self.rejected.unmade.remove(path);
        let nothing = cx.store.keep_elements(&[]);
        let known = self.canvases.get(&id).cloned();
        let mut node = known.unwrap_or_else(|| cx.canvas_made(id.clone()));
        node.workspace = workspace;
        // The place of a slide in its base is the one that it gets, because the API only appends.
        let agreed = if id.deck().is_some() { String::new() } else { name.clone() };
        node.name = name;
        node.presence = Presence::Listed;
        node.base = Some(CanvasAgreed { elements: nothing, text: None, name: agreed });
        let (tick, asked) = (cx.tick, cx.now);
        self.save_canvas(node, cx);
        let file = self.files.get(path).filter(|file| file.canvas.is_none()).cloned();
        match file {
            Some(file) => {
                self.bind_file(CanvasFile { canvas: Some(id.clone()), ..file }, cx);
                self.scan.unread.insert(path.clone(), cx.now);
            }
            None => self.edit_canvas(
                &id,
                |node| {
                    node.missing_since = Some(asked);
                    node.missing_from = Some(path.clone());
                },
                cx,
            ),
        }
        self.runtime_of(&id).acted = tick.saturating_sub(1);
        let what = if id.deck().is_some() { "new slide" } else { "new whiteboard" };
        cx.log_activity(Way::Up, path, what);
    }

    /// Records the answer to a POST as a fetch: the created canvas is empty. If only a list shows it, the app may
    /// have filled it since.
    fn was_made_empty(&mut self, id: &CanvasId, cx: &mut Context) {
        let nothing = cx.store.keep_elements(&[]);
        let (tick, now) = (cx.tick, cx.now);
        self.edit_canvas(
            id,
            |node| {
                if node.remote.is_none() {
                    node.remote = Some(nothing);
                    node.poll.last = now;
                }
            },
            cx,
        );
        let runtime = self.runtime_of(id);
        (runtime.looked, runtime.seen, runtime.seen_at) = (tick, tick, now);
    }

    fn deck_made(&mut self, made: crate::model::Deck, folder: &MirrorPath, cx: &mut Context) {
        let id = made.id.clone();
        cx.log_activity(Way::Up, folder, "new presentation");
        self.rejected.unmade.remove(folder);
        self.deck_folders.new_folders.remove(folder);
        self.save_deck(
            DeckNode {
                named: Some(naming::title_of(folder.name())),
                seen: made,
                presence: Presence::Listed,
                folder: Some(folder.name().to_owned()),
                listed_at: Timestamp::default(),
                missing_since: None,
                blank: true,
                approved: false,
            },
            cx,
        );
        self.lists.slides_due.insert(id, cx.now);
    }

    /// Whether a presentation may be the result of an unconfirmed creation. Its folder is known once that is settled.
    pub(super) fn awaits_deck_creation(&self, deck: &DeckNode) -> bool {
        deck.folder.is_none() && self.creations.drafts().any(|draft| may_have_made(draft, deck))
    }

    /// Binds the blank slide of a new presentation to the first file of its folder.
    pub(super) fn use_blank_slide(&mut self, deck: &DeckId, cx: &mut Context) {
        let Some(node) = self.decks.get(deck).filter(|node| node.blank).cloned() else {
            return;
        };
        let Some(folder) = self.deck_folder(deck) else { return };
        let first = self.slides_of(deck).filter(|node| node.base.is_none()).min_by_key(|node| node.order);
        let slide = first.map(|node| node.id.clone());
        let inside = |path: &&MirrorPath| path.parent().as_ref() == Some(&folder);
        let new = || self.files.values().filter(|file| file.canvas.is_none() && inside(&&file.path));
        let file = new().find(|file| self.scan.may_be_new(&file.path)).or_else(|| new().next()).cloned();
        if file.is_none() && self.folder_moved_to(deck).is_some() {
            // Its files are in the renamed folder, which gets its name back.
            self.lists.slides_due.insert(deck.clone(), cx.now.plus_ms(1_000));
            return;
        }
        if let (Some(slide), Some(file)) = (&slide, file) {
            if file.hash.is_none() || file.problem.is_some() || !self.scan.may_be_new(&file.path) {
                // It is being saved, has a problem that the user must solve, or may belong to another slide.
                self.lists.slides_due.insert(deck.clone(), cx.now.plus_ms(1_000));
                return;
            }
            let nothing = cx.store.keep_elements(&[]);
            self.edit_canvas(
                slide,
                |node| {
                    node.base = Some(CanvasAgreed { elements: nothing, text: None, name: String::new() });
                },
                cx,
            );
            self.bind_file(CanvasFile { canvas: Some(slide.clone()), ..file.clone() }, cx);
            self.scan.unread.insert(file.path, cx.now);
        }
        if self.slides_of(deck).next().is_some() {
            self.save_deck(DeckNode { blank: false, ..node }, cx);
        }
    }

    /// Settles the unconfirmed creations that the list of this flight would show; without one, those that an earlier
    /// list showed: the app may rename them before the next.
    pub(super) fn confirm_made(
        &mut self,
        wanted: impl Fn(&CanvasItem) -> bool,
        flight: Option<&Flight>,
        cx: &mut Context,
    ) {
        for Creation { draft, .. } in self.creations.unconfirmed(|draft| wanted(&draft.item)) {
            if !self.find_made(&draft, cx)
                && let Some(flight) = flight
            {
                self.board_not_shown(&draft, flight, cx);
            }
        }
    }

    /// Ends a creation without an answer if a list has shown its result. Returns whether one has.
    fn find_made(&mut self, draft: &CanvasDraft, cx: &mut Context) -> bool {
        let is_new =
            |node: &&CanvasNode| node.base.is_none() && !draft.before.iter().any(|id| id == node.id.own_id());
        match &draft.item {
            CanvasItem::Board(space, path, name) => {
                let is_its = |node: &&CanvasNode| {
                    node.workspace.as_ref() == Some(space) && node.name == *name && is_new(node)
                };
                let found = self.canvases.values().find(is_its).map(|node| node.id.clone());
                let Some(id) = found else { return false };
                self.creations.end(&mut cx.store, &draft.key());
                self.board_made(id, Some(space.clone()), name.clone(), path, cx);
            }
            CanvasItem::Deck(folder, _) => {
                let may_be = |deck: &&DeckNode| deck.folder.is_none() && may_have_made(draft, deck);
                let found = self.decks.values().find(may_be).map(|deck| deck.seen.clone());
                let Some(made) = found else { return false };
                self.creations.end(&mut cx.store, &draft.key());
                self.deck_made(made, folder, cx);
            }
            CanvasItem::Slide(deck, path) => {
                let new = self.slides_of(deck).filter(is_new);
                let found = new.max_by_key(|node| node.order).map(|node| node.id.clone());
                let Some(id) = found else { return false };
                self.creations.end(&mut cx.store, &draft.key());
                self.board_made(id, None, String::new(), path, cx);
            }
            CanvasItem::Element(..) | CanvasItem::Change(..) => return false,
        }
        true
    }

    /// Handles a list that lacks the item of an unconfirmed creation: it is listed again, or the creation was not
    /// carried out.
    fn board_not_shown(&mut self, draft: &CanvasDraft, flight: &Flight, cx: &mut Context) {
        let at = self.creations.not_shown(&mut cx.store, &draft.key(), flight.sent_at);
        if let Some(at) = at {
            self.list_for(&draft.item, at);
        }
    }
}

impl Rejected {
    fn is_refused_canvas(&self, path: &MirrorPath, now: Timestamp) -> bool {
        self.unmade.get(path).is_some_and(|unmade| unmade.failing.waits(now))
    }

    /// Records the failure of a creation from a file or folder: the next try waits.
    fn not_made(&mut self, path: &MirrorPath, why: Fails, cx: &mut Context) {
        let before = self.unmade.get(path).map(|unmade| unmade.failing).unwrap_or_default();
        let failing = cx.failed_again(before);
        self.unmade.insert(path.clone(), Unmade { why, failing, is_refused: false });
    }
}

/// Whether this creates or changes an element of a canvas.
pub(super) fn is_element_of(draft: &CanvasDraft, canvas: &CanvasId) -> bool {
    matches!(&draft.item, CanvasItem::Element(of, ..) | CanvasItem::Change(of, ..) if of == canvas)
}
