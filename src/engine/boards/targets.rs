//! Chooses the next request: lists of whiteboards, presentations and slides, and the elements of canvases that were
//! not fetched yet. `engine::targets` polls for news.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Engine;
use super::super::pace::Class;
use super::looks::{Emptied, EmptyAnswer, list_of};
use super::{Choice, Purpose, Want, board};
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::flight::InFlight;
use crate::engine::lists::Polling;
use crate::engine::trees::Trees;
use crate::model::{
    BoardEffect, CanvasId, CanvasNode, DeckId, Effect, MirrorPath, PollState, Presence, Settings, Timestamp,
    WorkspaceId,
};

const LIST_EVERY_MS: i64 = 60_000;
use crate::plan::guard::Guard;

/// Lists of slides per minute, for all presentations together.
const SLIDE_LISTS_A_MINUTE: i64 = 4;
pub(super) const RETRY_MS: i64 = 15_000;

/// A list of the service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum List {
    Boards(WorkspaceId),
    Slides(DeckId),
    Decks,
}

/// The due times of lists, and the ticks at which they were last taken in.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) boards_due: BTreeMap<WorkspaceId, Timestamp>,
    pub(super) boards_at: BTreeMap<WorkspaceId, u64>,
    pub(super) decks_due: Timestamp,
    pub(super) decks_at: u64,
    pub(super) slides_due: BTreeMap<DeckId, Timestamp>,
    pub(super) slides_at: BTreeMap<DeckId, u64>,
    /// Lists that failed, with the end of their wait, which nothing shortens.
    pub(super) resting: BTreeMap<List, Timestamp>,
    /// Items that came empty although they were not.
    pub(super) emptied: BTreeMap<Emptied, EmptyAnswer>,
    /// Why a list could not be taken in.
    pub(super) trouble: BTreeMap<List, String>,
    /// For each presentation, the tick at which its folder was first found missing, or at which the hold of its
    /// removal ended: a removal uses only later observations.
    pub(super) missed: BTreeMap<DeckId, u64>,
    /// Presentations that the service did not find when they were to be trashed.
    pub(super) not_trashed: BTreeSet<DeckId>,
    /// Why presentations whose folders are gone are not removed.
    pub(super) decks_held: Option<Guard>,
    /// Lists whose absences need the user, and why.
    pub(super) held: BTreeMap<List, Guard>,
}

impl Engine {
    /// The next list of whiteboards, presentations or slides that is due.
    pub(in super::super) fn next_board_list(&self) -> Choice {
        if !self.cx.boards_are_on() {
            return None;
        }
        let first = self.boards.lists.decks_at == 0 || self.polling.full_pass.is_some();
        let class = if first { Class::Asked } else { Class::List };
        if !self.cx.pace.allows(class, 1, false, self.cx.now) {
            return None;
        }
        let effect = self.boards.due_list(&self.pages.trees, &self.cx)?;
        Some(board(effect.clone(), Purpose::List(effect)))
    }

    /// The next fetch of a canvas that was not fetched yet, or not in this pass.
    pub(in super::super) fn next_canvas_fetch(&mut self) -> Choice {
        if !self.cx.boards_are_on() {
            return None;
        }
        let left = u32::try_from(self.canvases_left()).unwrap_or(u32::MAX);
        let burst = left > 0 && left <= self.cx.pace.background_room(self.cx.now);
        let class = if self.polling.full_pass.is_some() { Class::Asked } else { Class::Background };
        if !self.cx.pace.allows(class, 1, burst, self.cx.now) {
            return None;
        }
        let is_left = |node: &CanvasNode| is_left(node, &self.boards, &self.polling);
        let canvas = self.boards.ready_canvases(&self.pages.trees, &self.cx, is_left).next()?.id.clone();
        self.cx.pace.rest(false);
        Some(canvas_fetch(&canvas, class))
    }

    /// The number of fetches that remain: first ones, and those of a pass.
    pub(super) fn canvases_left(&self) -> usize {
        self.boards
            .canvases
            .values()
            .filter(|node| is_left(node, &self.boards, &self.polling))
            .filter(|node| self.boards.is_polled_canvas(node, &self.pages.trees, &self.cx))
            .count()
    }

    /// Whether a pass has taken in each list and each canvas.
    pub(in super::super) fn board_pass_is_over(&self) -> bool {
        let lists = &self.boards.lists;
        let seen = |tick: Option<&u64>| !self.polling.precedes_pass(tick.copied().unwrap_or(0));
        self.boards.all_lists(&self.pages.trees, &self.cx.settings).iter().all(|(_, effect)| match effect {
            BoardEffect::ListBoards(space) => seen(lists.boards_at.get(space)),
            BoardEffect::ListDecks => seen(Some(&lists.decks_at)),
            BoardEffect::ListSlides(deck) => seen(lists.slides_at.get(deck)),
            _ => true,
        }) && self
            .boards
            .polled_canvases(&self.pages.trees, &self.cx)
            .all(|node| !self.boards.pass_wants_canvas(&node.id, &self.polling))
    }

    /// The earliest time of the next act for canvases.
    pub(in super::super) fn next_board_due(&self, now: Timestamp) -> Timestamp {
        let far = now.plus_ms(3_600_000);
        if !self.cx.boards_are_on() {
            return far;
        }
        let lists = self
            .boards
            .all_lists(&self.pages.trees, &self.cx.settings)
            .into_iter()
            .filter(|(_, effect)| !self.cx.in_flight.is_list_under_way(effect));
        let list = lists
            .map(|(due, _)| due)
            .min()
            .map_or(far, |due| due.max(self.cx.pace.earliest(Class::List, 1, false, now)));
        // Fetches for news have their turn in the schedule of all targets.
        let class = if self.polling.full_pass.is_some() { Class::Asked } else { Class::Background };
        let is_left = |node: &CanvasNode| is_left(node, &self.boards, &self.polling);
        let mut left = self.boards.ready_canvases(&self.pages.trees, &self.cx, is_left);
        let look = if left.next().is_some() { self.cx.pace.earliest(class, 1, false, now) } else { far };
        let wanted =
            self.boards.request_queue.iter().filter(|(canvas, _)| !self.boards.waits_for_list(canvas));
        let wanted = wanted.map(|(canvas, want)| self.boards.want_due(canvas, *want));
        let asked = (!self.boards.creations.is_empty()).then_some(now);
        let edit = wanted.chain(asked).min().map_or(far, |due| {
            self.cx.pace.earliest(Class::Edit, 2, false, now).max(now.plus_ms(100)).max(due)
        });
        list.min(look).min(edit)
    }
}

impl Boards {
    /// The list that has been due for longest and is not running.
    fn due_list(&self, trees: &Trees, cx: &Context) -> Option<BoardEffect> {
        let all = self
            .all_lists(trees, &cx.settings)
            .into_iter()
            .filter(|(due, effect)| *due <= cx.now && !cx.in_flight.is_list_under_way(effect));
        all.min_by_key(|(due, _)| *due).map(|(_, effect)| effect)
    }

    pub(super) fn all_lists(&self, trees: &Trees, settings: &Settings) -> Vec<(Timestamp, BoardEffect)> {
        let (on, lists) = (settings.boards, &self.lists);
        let mut all = Vec::new();
        if on.whiteboards {
            let spaces = trees.workspaces.values().filter(|node| trees.is_live(&node.seen.id));
            all.extend(spaces.map(|node| {
                let due = lists.boards_due.get(&node.seen.id).copied().unwrap_or_default();
                (due, BoardEffect::ListBoards(node.seen.id.clone()))
            }));
        }
        if on.presentations && !trees.workspaces.is_empty() {
            all.push((lists.decks_due, BoardEffect::ListDecks));
            let decks = self.decks.values().filter(|deck| deck.presence == Presence::Listed);
            all.extend(decks.map(|deck| {
                let due = lists.slides_due.get(&deck.seen.id).copied().unwrap_or_default();
                (due, BoardEffect::ListSlides(deck.seen.id.clone()))
            }));
        }
        if !lists.resting.is_empty() {
            for (due, effect) in &mut all {
                *due = lists.resting.get(&list_of(effect)).map_or(*due, |rests| (*due).max(*rests));
            }
        }
        all
    }

    /// Whether each list that the end of a run depends on has been taken in at least once.
    pub(super) fn board_lists_done(&self, trees: &Trees, cx: &Context) -> bool {
        let lists = &self.lists;
        self.all_lists(trees, &cx.settings).iter().all(|(_, effect)| match effect {
            BoardEffect::ListBoards(space) => lists.boards_at.contains_key(space),
            BoardEffect::ListDecks => lists.decks_at > 0,
            BoardEffect::ListSlides(deck) => lists.slides_at.contains_key(deck),
            _ => true,
        })
    }

    /// The due time of the next list of slides of one presentation.
    pub(super) fn slides_due_next(&self, trees: &Trees, cx: &Context) -> Timestamp {
        let decks = i64::try_from(self.decks.len()).unwrap_or(1).max(1);
        let every_ms = (60_000 * decks / SLIDE_LISTS_A_MINUTE).max(LIST_EVERY_MS);
        cx.now.plus_ms(self.list_pace(trees, cx).other_ms(every_ms))
    }

    pub(super) fn list_due_next(&self, trees: &Trees, cx: &Context) -> Timestamp {
        cx.now.plus_ms(self.list_pace(trees, cx).other_ms(LIST_EVERY_MS))
    }

    /// The number of canvas lists per minute without the need to save requests.
    pub(in super::super) fn board_lists_a_minute(&self, trees: &Trees, settings: &Settings) -> i64 {
        let on = settings.boards;
        let count = |all: usize| i64::try_from(all).unwrap_or(i64::from(u32::MAX));
        let boards = if on.whiteboards || on.on_core { count(trees.workspaces.len()) } else { 0 };
        let slides = count(self.decks.len()).min(SLIDE_LISTS_A_MINUTE);
        boards + if on.presentations { 1 + slides } else { 0 }
    }

    /// The canvases that are polled for news.
    pub(in super::super) fn canvas_targets(
        &self,
        trees: &Trees,
        cx: &Context,
    ) -> impl Iterator<Item = (&CanvasId, &PollState)> {
        let on = cx.boards_are_on();
        self.ready_canvases(trees, cx, move |_| on).map(|node| (&node.id, &node.poll))
    }

    /// The canvases among those `wanted` that may be fetched now. After each event few are wanted, so that is asked first.
    fn ready_canvases(
        &self,
        trees: &Trees,
        cx: &Context,
        wanted: impl Fn(&CanvasNode) -> bool,
    ) -> impl Iterator<Item = &CanvasNode> {
        self.canvases.values().filter(move |node| {
            wanted(node)
                && self.is_polled_canvas(node, trees, cx)
                && !cx.in_flight.is_canvas_busy(&node.id)
                && !self.waits_for_time(&node.id, cx.now)
                && !self.waits_for_list(&node.id)
        })
    }

    pub(super) fn polled_canvases(&self, trees: &Trees, cx: &Context) -> impl Iterator<Item = &CanvasNode> {
        self.canvases.values().filter(|node| self.is_polled_canvas(node, trees, cx))
    }

    pub(super) fn is_polled_canvas(&self, node: &CanvasNode, trees: &Trees, cx: &Context) -> bool {
        node.presence == Presence::Listed && self.is_canvas_live(node, trees, &cx.settings)
    }

    fn pass_wants_canvas(&self, canvas: &CanvasId, polling: &Polling) -> bool {
        // Called for each canvas after each event, mostly without a pass.
        polling.full_pass.is_some()
            && polling.precedes_pass(self.runtimes.get(canvas).map_or(0, |runtime| runtime.looked))
    }
}

/// Whether a fetch of a canvas remains: the first one, or that of a pass.
fn is_left(node: &CanvasNode, boards: &Boards, polling: &Polling) -> bool {
    node.remote.is_none() || boards.pass_wants_canvas(&node.id, polling)
}

impl InFlight {
    pub(super) fn is_list_under_way(&self, effect: &BoardEffect) -> bool {
        self.flights.values().any(|flight| {
            matches!(&flight.purpose, super::super::Purpose::Board(purpose) if **purpose == Purpose::List(effect.clone()))
        })
    }
}

impl Boards {
    /// The canvas whose file is at `path`, and the time of its last fetch.
    pub(in super::super) fn canvas_at(&self, path: &MirrorPath) -> Option<(CanvasId, Timestamp)> {
        let canvas = self.files.get(path)?.canvas.as_ref()?;
        self.canvases.get(canvas).map(|node| (canvas.clone(), node.poll.last))
    }

    /// Begins a full pass: each list is due.
    pub(in super::super) fn begin_board_pass(&mut self, cx: &Context) {
        let lists = &mut self.lists;
        lists.resting.clear();
        lists.boards_due.clear();
        lists.slides_due.clear();
        lists.decks_due = Timestamp::default();
        self.try_boards_again(cx);
    }

    /// The earliest time of the request that a canvas needs.
    fn want_due(&self, canvas: &CanvasId, want: Want) -> Timestamp {
        let Some(runtime) = self.runtimes.get(canvas) else { return Timestamp::default() };
        let writes = match want {
            Want::Fetch => Timestamp::default(),
            Want::Push => runtime.writes.all_until(),
            Want::Remove => runtime.writes.until(""),
        };
        runtime.failing.until.max(writes)
    }

    /// The earliest time of the next disk act.
    pub(in super::super) fn next_board_disk_due(&self, cx: &Context) -> Option<Timestamp> {
        let waiting = self.runtimes.values().map(|runtime| runtime.failing.until).filter(|at| *at > cx.now);
        let folders =
            self.deck_folders.new_folders.values().map(|at| at.plus_ms(cx.settings.pages.delete_grace_ms));
        let unmade = self.rejected.unmade.values().map(|unmade| unmade.failing.until);
        let failing = self.rejected.deck_trouble.values().map(|(failing, _)| failing.until).chain(unmade);
        let drawing = self.drawings.draw_due.then_some(self.drawings.draw_retry).filter(|at| *at > cx.now);
        self.scan
            .unread
            .values()
            .copied()
            .chain(waiting)
            .chain(folders.filter(|at| *at > cx.now))
            .chain(drawing)
            .chain(failing.filter(|at| *at > cx.now))
            .min()
    }
}

/// A fetch of the elements of a canvas.
pub(in super::super) fn canvas_fetch(canvas: &CanvasId, class: Class) -> (Effect, super::super::Purpose) {
    let canvas = canvas.clone();
    board(BoardEffect::ListElements(canvas.clone()), Purpose::Fetch { canvas, class })
}
