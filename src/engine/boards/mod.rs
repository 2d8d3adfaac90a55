//! Whiteboards and presentations: the part of the engine that syncs canvas files, with its own state and its own acts
//! beside the pages'. It shares the limiter, the folder's scans and the list of messages with them.
//!
//! It works as the pages do: observations are recorded, the next act of each canvas is derived from them
//! ([`settle`]), and each write expects the state that it is based on. The difference is that elements are written
//! one by one: the base changes with each element that the service has accepted, so that a stop in the middle of an
//! edit leaves exactly the rest.

mod adopt;
mod candidates;
mod create;
mod decks;
mod disk;
mod draw;
mod follow;
mod looks;
mod needs;
mod origins;
mod place;
mod pulled;
mod purpose;
mod push;
mod refused;
mod remove;
mod settle;
mod targets;
mod writes;

use crate::engine::context::Context;
use crate::engine::flight::InFlight;
use crate::engine::folder::Folder;
use crate::engine::pages::Pages;
use crate::engine::trees::Trees;
use crate::model::Settings;
use std::collections::{BTreeMap, BTreeSet};

use super::creations::Creations;
use super::faults::INTERNAL_MEND;
use super::retry::Failing;
use super::{Engine, Way};
use crate::canvas::{Aliases, Origins};
use crate::model::{
    BoardEffect, CanvasDraft, CanvasFile, CanvasId, CanvasNode, Code, ContentHash, DeckId, DeckNode, Effect,
    Elements, MirrorPath, Presence, Problem, ServiceError, ServiceReply, Side, Timestamp, WorkspaceId,
};
use crate::plan::guard::Guard;
use crate::store::{PendingCanvasWrite, Polled, Store, StoreError};

pub(super) use create::{files_without_canvas, waiting_creations};
use looks::Emptied;
pub use place::WHITEBOARDS;
pub(super) use place::{PRESENTATIONS, is_canvas_name};
pub(super) use purpose::{Purpose, Wrote};
pub(super) use targets::canvas_fetch;
use writes::Writes;

pub(super) type Choice = Option<(Effect, super::Purpose)>;

/// The stored state, and the state of this run.
#[derive(Debug, Default)]
pub(super) struct Boards {
    pub(super) decks: BTreeMap<DeckId, DeckNode>,
    pub(super) canvases: BTreeMap<CanvasId, CanvasNode>,
    files: BTreeMap<MirrorPath, CanvasFile>,
    names: BTreeMap<CanvasId, Aliases>,
    pending_writes: BTreeMap<CanvasId, PendingCanvasWrite>,
    creations: Creations<CanvasDraft>,
    lists: targets::Lists,
    dirty: BTreeSet<CanvasId>,
    request_queue: BTreeMap<CanvasId, Want>,
    runtimes: BTreeMap<CanvasId, Runtime>,
    /// Until everything has been compared once, files are matched to canvases by their nodes and names.
    pub(super) bootstrap: bool,
    pub(super) drawings: draw::Drawings,
    deck_folders: decks::DeckFolders,
    scan: disk::CanvasScan,
    pub(super) rejected: refused::Rejected,
}

/// The unit that the service grants or refuses write access to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Area {
    Whiteboards(WorkspaceId),
    Presentations,
}

impl Area {
    fn of(node: &CanvasNode) -> Self {
        match &node.workspace {
            Some(workspace) => Self::Whiteboards(workspace.clone()),
            None => Self::Presentations,
        }
    }
}

/// The request that a canvas needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Want {
    /// Its file has changes.
    Push,
    /// Its file was deleted.
    Remove,
    /// It must be fetched before a decision.
    Fetch,
}

/// State of a canvas that is not stored.
#[derive(Debug, Clone, Default)]
struct Runtime {
    /// Tick at which its last act ended.
    acted: u64,
    /// Tick at which its last fetch was issued, with any result.
    looked: u64,
    /// Tick at which the last successful fetch was issued, and the time of its answer.
    seen: u64,
    seen_at: Timestamp,
    /// Tick since which it needs a request; 0 if it needs none.
    wanted: u64,
    /// The file's text, while it has unsettled content.
    text: Option<(ContentHash, String)>,
    /// For the file with this content, the elements that its nodes are copies of.
    origins: Option<(ContentHash, Origins)>,
    /// Failures in a row of its acts, and the end of the wait.
    failing: Failing,
    /// Writes that fail, even if fetches succeed in between.
    writes: Writes,
    /// Where its file stood until espejo renamed it.
    stood: Option<MirrorPath>,
    /// Hash of the file content whose notes have been shown.
    told: Option<ContentHash>,
    /// Why it waits although there is work.
    held: Option<Held>,
    /// Why it cannot be fetched.
    unreadable: Option<ServiceError>,
}

impl Runtime {
    /// Records a successful request. A fetch says nothing about writes that fail.
    fn succeeded(&mut self, written: Option<&str>) {
        self.failing.count = 0;
        if let Some(about) = written {
            self.writes.succeeded(about);
        }
    }
}

/// Why a canvas waits although there is work.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Held {
    /// A guard holds its removal.
    Removal(Guard),
    /// A guard holds the edit of its file.
    Edit(Guard),
    /// Its area must not be written to; the area has the message.
    AreaClosed,
    /// Its file went to another path with its folder.
    Elsewhere(MirrorPath),
    /// The disk refuses the write; the system's message.
    Disk(String),
    /// Another entry has its path.
    Taken(MirrorPath),
    /// Its text could not be made, by a fault of espejo.
    Internal,
}

impl Held {
    /// The message for the user: kind, cause, and remedy.
    fn told(&self) -> Option<(Code, String, &'static str)> {
        let approve = "restore the missing files, or run espejo approve";
        Some(match self {
            Self::AreaClosed => return None,
            Self::Removal(guard @ (Guard::OtherFolder(_) | Guard::OlderFolder)) => {
                (Code::DeletionsHeld, format!("{guard}: what is missing in it is not removed"), approve)
            }
            Self::Edit(guard @ (Guard::OtherFolder(_) | Guard::OlderFolder)) => {
                (Code::DeletionsHeld, format!("{guard}: nothing of it is sent"), approve)
            }
            Self::Removal(guard) | Self::Edit(guard) => (Code::DeletionsHeld, guard.to_string(), approve),
            Self::Elsewhere(at) => (
                Code::DeletionsHeld,
                format!("its folder was moved to {at}: nothing is removed"),
                "move the folder back, or run espejo approve to remove it in the app",
            ),
            Self::Disk(why) => (Code::NotWritten, why.clone(), "espejo retries"),
            Self::Internal => (Code::Internal, Side::Service.sentence().to_owned(), INTERNAL_MEND),
            Self::Taken(place) => (
                Code::InTheWay,
                format!("something else is at {place}"),
                "move it away; espejo then continues",
            ),
        })
    }
}

impl Boards {
    pub(super) fn open(store: &mut Store, bootstrap: bool, now: Timestamp) -> Result<Self, StoreError> {
        let loaded = store.load_boards()?;
        let (kept_folders, there) = follow::remembered_folders(store)?;
        let mut boards = Self {
            dirty: loaded.canvases.keys().cloned().collect(),
            decks: loaded.decks,
            canvases: loaded.canvases,
            files: loaded.files,
            names: loaded.names,
            pending_writes: loaded.writing,
            creations: Creations::open(store, now)?,
            bootstrap,
            drawings: draw::Drawings {
                drawn: loaded.drawn,
                dashboards: loaded.dashboards,
                draw_due: true,
                ..draw::Drawings::default()
            },
            deck_folders: decks::DeckFolders { kept_folders, ..decks::DeckFolders::default() },
            scan: disk::CanvasScan { there, ..disk::CanvasScan::default() },
            ..Self::default()
        };
        // Files of a canvas that was removed while its file came back, if the run ended before the change was stored.
        let is_of_none = |file: &&mut CanvasFile| {
            file.canvas.as_ref().is_some_and(|canvas| !boards.canvases.contains_key(canvas))
        };
        boards.files.values_mut().filter(is_of_none).for_each(|file| file.canvas = None);
        for file in boards.files.values_mut().filter(|file| file.problem == Some(Problem::Internal)) {
            (file.hash, file.problem) = (None, None);
        }
        if bootstrap {
            // Files without a canvas are read again, because the ids in them are not stored.
            let nobodys = boards.files.values_mut().filter(|file| file.canvas.is_none());
            nobodys.for_each(|file| file.hash = None);
        }
        for node in boards.canvases.values_mut() {
            node.poll.last = node.poll.last.min(now);
            node.poll.life = node.poll.life.min(now);
            node.missing_since = node.missing_since.min(Some(now));
        }
        boards.decks.values_mut().for_each(|deck| deck.missing_since = deck.missing_since.min(Some(now)));
        Ok(boards)
    }
}

fn board(effect: BoardEffect, purpose: Purpose) -> (Effect, super::Purpose) {
    (Effect::Board(effect), super::Purpose::Board(Box::new(purpose)))
}

fn on_disk(effect: Effect, purpose: Purpose) -> (Effect, super::Purpose) {
    (effect, super::Purpose::Board(Box::new(purpose)))
}

impl Engine {
    /// Takes in the answer to a canvas request.
    pub(super) fn board_request_done(
        &mut self,
        flight: &super::Flight,
        purpose: Purpose,
        result: Result<ServiceReply, ServiceError>,
    ) -> Result<(), StoreError> {
        let tick = self.cx.tick;
        self.boards.note_answer(&purpose, &result, &self.cx);
        if let Some(canvas) = purpose.canvas().cloned() {
            self.boards.dirty.insert(canvas.clone());
            let written = match &purpose {
                Purpose::Fetch { .. } => None,
                Purpose::Push { op, .. } => Some(op.about().to_owned()),
                _ => Some(String::new()),
            };
            if written.is_some() {
                self.boards.runtime_of(&canvas).acted = tick;
            }
            match &result {
                Ok(_) => self.boards.runtime_of(&canvas).succeeded(written.as_deref()),
                Err(error) => self.boards.canvas_failed(&canvas, written, error, &mut self.cx),
            }
        }
        match purpose {
            Purpose::List(effect) => self.boards_listed(flight, &effect, result)?,
            Purpose::Fetch { canvas, .. } => {
                self.boards.canvas_fetched(flight, &canvas, result, &self.service, &mut self.cx)?;
            }
            Purpose::Push { canvas, op, .. } => {
                self.boards.pushed(&canvas, op, result, &mut self.cx)?;
            }
            Purpose::Create { name } => {
                self.boards.board_created(&name, result, &mut self.cx);
            }
            Purpose::TrashBoard { canvas } | Purpose::DeleteSlide { canvas } => {
                self.boards.canvas_removed(&canvas, result, &self.pages.trees, &mut self.cx)?;
            }
            Purpose::TrashDeck { deck } => {
                self.boards.deck_trashed(&deck, result, &self.pages.trees, &mut self.cx)?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Boards {
    /// Whether a canvas's part of the service is mirrored and has been listed.
    fn is_canvas_live(&self, node: &CanvasNode, trees: &Trees, settings: &Settings) -> bool {
        match (&node.id, &node.workspace) {
            _ if trees.ignoring.canvases.contains(&node.id) => false,
            (CanvasId::Board(_), Some(workspace)) => {
                settings.boards.whiteboards
                    && trees.is_live(workspace)
                    && self.lists.boards_at.contains_key(workspace)
            }
            (CanvasId::Slide(deck, _), _) => {
                settings.boards.presentations && self.lists.decks_at > 0 && self.decks.contains_key(deck)
            }
            _ => false,
        }
    }

    /// The next disk act for canvases.
    pub(super) fn next_board_disk_effect(
        &mut self,
        pages: &mut Pages,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        if !cx.boards_are_on() || !self.scan.scanned {
            return Ok(None);
        }
        let due = self.scan.unread.iter().find(|(_, due)| **due <= cx.now).map(|(path, _)| path.clone());
        if let Some(path) = due {
            return Ok(Some(on_disk(Effect::ReadFile(path.clone()), Purpose::Read { path })));
        }
        self.choose_deck_folders(&pages.trees, cx)?;
        if let Some(choice) = self.settle_deck_folders(&pages.trees, folder, cx) {
            return Ok(Some(choice));
        }
        for canvas in self.dirty.clone() {
            if cx.in_flight.is_canvas_busy(&canvas) || self.waits_for_time(&canvas, cx.now) {
                continue;
            }
            if let Some(choice) = self.settle_canvas(&canvas, pages, folder, cx)? {
                return Ok(Some(choice));
            }
        }
        self.next_drawing(&pages.trees, &folder.watch, cx)
    }
}

impl Boards {
    fn save_canvas(&mut self, node: CanvasNode, cx: &mut Context) {
        let known = self.canvases.get(&node.id);
        if known == Some(&node) {
            return;
        }
        let is_polled = known.is_some_and(|known| {
            known.poll != node.poll && CanvasNode { poll: node.poll, ..known.clone() } == node
        });
        if let Some(was) = known.and_then(|known| known.file.as_ref().or(known.missing_from.as_ref()))
            && let Some(is) = node.file.as_ref().filter(|is| *is != was)
        {
            cx.conflicts.file_moved(node.id.own_id(), was, is);
        }
        if is_polled {
            cx.store.save_poll(Polled::Canvas(&node.id), &node.poll);
        } else {
            cx.store.save_canvas(&node);
        }
        self.dirty.insert(node.id.clone());
        self.drawings.draw_due = true;
        self.canvases.insert(node.id.clone(), node);
    }

    fn edit_canvas(&mut self, id: &CanvasId, change: impl FnOnce(&mut CanvasNode), cx: &mut Context) {
        let Some(mut node) = self.canvases.get(id).cloned() else { return };
        change(&mut node);
        self.save_canvas(node, cx);
    }

    fn save_deck(&mut self, node: DeckNode, cx: &mut Context) {
        if self.decks.get(&node.seen.id) == Some(&node) {
            return;
        }
        cx.store.save_deck(&node);
        self.drawings.draw_due = true;
        let id = node.seen.id.clone();
        self.decks.insert(id.clone(), node);
        self.mark_deck_dirty(&id);
    }

    pub(super) fn edit_deck(&mut self, id: &DeckId, change: impl FnOnce(&mut DeckNode), cx: &mut Context) {
        let Some(mut node) = self.decks.get(id).cloned() else { return };
        change(&mut node);
        self.save_deck(node, cx);
    }

    fn save_canvas_file(&mut self, file: CanvasFile, cx: &mut Context) {
        if self.files.get(&file.path) == Some(&file) {
            return;
        }
        cx.store.save_canvas_file(&file);
        if let Some(canvas) = &file.canvas {
            self.dirty.insert(canvas.clone());
        }
        self.files.insert(file.path.clone(), file);
    }

    fn forget_canvas_file(&mut self, path: &MirrorPath, cx: &mut Context) {
        self.scan.unread.remove(path);
        if self.files.remove(path).is_some() {
            cx.store.delete_canvas_file(path);
        }
    }

    fn forget_canvas(&mut self, id: &CanvasId, cx: &mut Context) -> Result<(), StoreError> {
        if let Some(node) = self.canvases.remove(id) {
            for element in cx.elements_at(node.remote)? {
                cx.store.bury(id, None, &element, cx.now);
            }
        }
        self.names.remove(id);
        self.pending_writes.remove(id);
        self.runtimes.remove(id);
        self.dirty.remove(id);
        self.request_queue.remove(id);
        self.rejected.refused.retain(|(canvas, _), _| canvas != id);
        self.lists.emptied.remove(&Emptied::Canvas(id.clone()));
        self.drawings.draw_due = true;
        self.end_element_creations(id, cx);
        cx.store.delete_canvas(id);
        Ok(())
    }

    fn runtime_of(&mut self, canvas: &CanvasId) -> &mut Runtime {
        self.runtimes.entry(canvas.clone()).or_default()
    }

    fn mark_deck_dirty(&mut self, deck: &DeckId) {
        let slides = self.canvases.keys().filter(|id| id.deck() == Some(deck)).cloned();
        self.dirty.extend(slides.collect::<Vec<_>>());
    }

    /// Marks all canvases dirty, because places depend on each other, and rights change.
    pub(super) fn mark_all_canvases_dirty(&mut self) {
        self.dirty.extend(self.canvases.keys().cloned());
    }

    fn waits_for_time(&self, canvas: &CanvasId, now: Timestamp) -> bool {
        self.runtimes.get(canvas).is_some_and(|runtime| runtime.failing.waits(now))
    }

    fn presence_of(&self, canvas: &CanvasId) -> Option<Presence> {
        self.canvases.get(canvas).map(|node| node.presence)
    }

    fn log_canvas_activity(&self, way: Way, canvas: &CanvasId, what: impl Into<String>, cx: &mut Context) {
        if let Some(path) = self.canvases.get(canvas).and_then(|node| node.file.clone()) {
            cx.log_activity(way, &path, what);
        }
    }
}

impl Context {
    fn elements_at(&self, hash: Option<ContentHash>) -> Result<Elements, StoreError> {
        hash.map_or_else(|| Ok(Elements::new()), |hash| self.store.elements(hash))
    }

    pub(super) fn boards_are_on(&self) -> bool {
        let on = self.settings.boards;
        on.whiteboards || on.presentations || on.dashboards
    }
}

impl InFlight {
    fn is_canvas_busy(&self, canvas: &CanvasId) -> bool {
        self.flights.values().any(|flight| {
            matches!(&flight.purpose, super::Purpose::Board(purpose) if purpose.canvas() == Some(canvas))
        })
    }
}
