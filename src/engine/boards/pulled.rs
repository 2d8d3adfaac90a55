//! The whiteboards and presentations that the user wants fetched now, and the progress of that.

use std::collections::BTreeSet;

use super::looks::{Emptied, list_of};
use super::place;
use super::{Choice, Purpose, Want, board};
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::trees::Trees;
use crate::model::{BoardEffect, CanvasId, MirrorPath, Presence};

impl Boards {
    /// The lists of whiteboards and of presentations.
    pub(in super::super) fn board_lists_but_slides(&self, trees: &Trees, cx: &Context) -> Vec<BoardEffect> {
        self.lists_where(|effect| !matches!(effect, BoardEffect::ListSlides(_)), trees, cx)
    }

    /// The canvases at and beneath a place, and the lists of other items that may be there.
    pub(in super::super) fn canvases_beneath(
        &self,
        place: &MirrorPath,
        trees: &Trees,
        cx: &Context,
    ) -> (BTreeSet<CanvasId>, Vec<BoardEffect>) {
        if !cx.boards_are_on() {
            return (BTreeSet::new(), Vec::new());
        }
        let here = self.polled_canvases(trees, cx).filter(|node| {
            node.file.as_ref().or(node.missing_from.as_ref()).is_some_and(|path| path.is_within(place))
        });
        let is_here = |folder: Option<MirrorPath>| folder.is_some_and(|folder| folder.is_within(place));
        let lists = self.lists_where(
            |effect| match effect {
                BoardEffect::ListBoards(space) => is_here(trees.boards_root(space)),
                BoardEffect::ListDecks => is_here(place::decks_root()),
                BoardEffect::ListSlides(deck) => is_here(self.deck_folder(deck)),
                _ => false,
            },
            trees,
            cx,
        );
        (here.map(|node| node.id.clone()).collect(), lists)
    }

    /// The canvases in these lists that were never fetched, and the lists of slides that were never taken in.
    pub(in super::super) fn new_canvases_of(
        &self,
        lists: &[BoardEffect],
        trees: &Trees,
        cx: &Context,
    ) -> (BTreeSet<CanvasId>, Vec<BoardEffect>) {
        let has = |wanted: BoardEffect| lists.contains(&wanted);
        let is_new = self.polled_canvases(trees, cx).filter(|node| {
            node.remote.is_none()
                && match (node.id.deck(), &node.workspace) {
                    (Some(deck), _) => has(BoardEffect::ListSlides(deck.clone())),
                    (None, Some(space)) => has(BoardEffect::ListBoards(space.clone())),
                    (None, None) => false,
                }
        });
        let canvases = is_new.map(|node| node.id.clone()).collect();
        let decks = self.decks.values().filter(|deck| {
            deck.presence == Presence::Listed && deck.listed_at.0 == 0 && has(BoardEffect::ListDecks)
        });
        let slides = decks.map(|deck| BoardEffect::ListSlides(deck.seen.id.clone()));
        (canvases, slides.filter(|list| !lists.contains(list)).collect())
    }

    /// The next of these lists that has not been issued since the tick `since`.
    pub(in super::super) fn next_board_list_of(
        &self,
        lists: &[BoardEffect],
        since: u64,
        trees: &Trees,
        cx: &Context,
    ) -> Choice {
        let next = lists.iter().find(|effect| {
            let rests = self.lists.resting.get(&list_of(effect)).is_some_and(|until| *until > cx.now);
            self.list_is_wanted(effect, since, trees, cx) && !cx.in_flight.is_list_under_way(effect) && !rests
        })?;
        Some(board(next.clone(), Purpose::List(next.clone())))
    }

    /// The number of these lists that have not been taken in since.
    pub(in super::super) fn board_lists_left(
        &self,
        lists: &[BoardEffect],
        since: u64,
        trees: &Trees,
        cx: &Context,
    ) -> usize {
        lists.iter().filter(|effect| self.list_is_wanted(effect, since, trees, cx)).count()
    }

    /// Whether a canvas still needs a fetch that is issued after the tick `since`.
    pub(in super::super) fn canvas_is_wanted(
        &self,
        canvas: &CanvasId,
        since: u64,
        trees: &Trees,
        cx: &Context,
    ) -> bool {
        let node = self.canvases.get(canvas);
        node.is_some_and(|node| self.is_polled_canvas(node, trees, cx))
            && self.runtimes.get(canvas).is_none_or(|runtime| runtime.looked <= since)
    }

    /// Whether that fetch may be sent now.
    pub(in super::super) fn canvas_may_be_pulled(
        &self,
        canvas: &CanvasId,
        since: u64,
        trees: &Trees,
        cx: &Context,
    ) -> bool {
        self.canvas_is_wanted(canvas, since, trees, cx)
            && !cx.in_flight.is_canvas_busy(canvas)
            && !self.waits_for_time(canvas, cx.now)
            && !self.waits_for_list(canvas)
    }

    /// Whether the folder has the last fetched state of a canvas, or cannot have it.
    pub(in super::super) fn canvas_follows(&self, canvas: &CanvasId, cx: &Context) -> bool {
        let boards = self;
        let Some(node) = boards.canvases.get(canvas) else { return true };
        let runtime = boards.runtimes.get(canvas);
        let is_held = runtime.is_some_and(|runtime| runtime.held.is_some() || runtime.writes.is_told());
        let list = match (canvas.deck(), &node.workspace) {
            (Some(deck), _) => Some(BoardEffect::ListSlides(deck.clone())),
            (None, space) => space.clone().map(BoardEffect::ListBoards),
        };
        // One list lacked it: the next one, or the user, decides.
        let in_doubt = node.presence == Presence::Unlisted
            && list.is_some_and(|list| !boards.lists.held.contains_key(&list_of(&list)));
        let is_emptied = boards.lists.emptied.contains_key(&Emptied::Canvas(canvas.clone()));
        let is_wanted =
            boards.dirty.contains(canvas) || boards.request_queue.get(canvas) == Some(&Want::Fetch);
        !cx.in_flight.is_canvas_busy(canvas) && (is_held || !is_wanted && !in_doubt && !is_emptied)
    }

    fn list_is_wanted(&self, effect: &BoardEffect, since: u64, trees: &Trees, cx: &Context) -> bool {
        let lists = &self.lists;
        let looked = match effect {
            BoardEffect::ListBoards(space) => lists.boards_at.get(space).copied(),
            BoardEffect::ListSlides(deck) => lists.slides_at.get(deck).copied(),
            _ => Some(lists.decks_at),
        };
        looked.unwrap_or(0) <= since && self.lists_where(|other| other == effect, trees, cx).len() == 1
    }

    fn lists_where(
        &self,
        is_meant: impl Fn(&BoardEffect) -> bool,
        trees: &Trees,
        cx: &Context,
    ) -> Vec<BoardEffect> {
        if !cx.boards_are_on() {
            return Vec::new();
        }
        self.all_lists(trees, &cx.settings)
            .into_iter()
            .map(|(_, effect)| effect)
            .filter(|effect| is_meant(effect))
            .collect()
    }
}
