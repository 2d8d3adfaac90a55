//! Removals: canvas files that were deleted, and canvases that are gone at the service. In doubt nothing is removed,
//! and items that cannot be restored are removed only if the config allows it.

use std::collections::BTreeSet;

use super::decks::{is_removal_pending, missing_decks};
use super::disk::read_canvas_file;
use super::{Area, Choice, Held, Purpose, Want, Writes, board, on_disk};
use crate::core::guard::Missing;
use crate::engine::Way;
use crate::engine::activity::BOARD_TRASHED;
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::folder::{Folder, Root, SCAN_AT_LATEST_MS};
use crate::engine::pages::Pages;
use crate::engine::removals::{self, may_be_gone};
use crate::engine::trees::Trees;
use crate::model::{
    BoardEffect, CanvasFile, CanvasId, CanvasNode, Code, Deletes, Effect, MirrorPath, Presence, ServiceError,
    ServiceReply, Settings, Timestamp, planted,
};
use crate::plan::existence::{Case, Existence, Here, There, existence};
use crate::plan::guard::{Guard, Kind};
use crate::store::{Conflict, StoreError};

impl Boards {
    /// Decides about a canvas whose file is gone and which the service still has.
    pub(super) fn canvas_missing(
        &mut self,
        node: &CanvasNode,
        pages: &Pages,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Choice {
        let Some(since) = node.missing_since else {
            let now = cx.now;
            self.edit_canvas(&node.id, |node| node.missing_since = Some(now), cx);
            folder.watch.scan_by(now.plus_ms(cx.settings.pages.delete_grace_ms));
            return None;
        };
        if self.may_be_somewhere(node, &folder.root) {
            return None;
        }
        if !folder.is_absence_over(Some(since), &cx.settings) && !planted("canvas-no-grace") {
            // The scan at the end of the grace time decides again.
            let end = folder.root.barrier.grace_end(since, cx.settings.pages.delete_grace_ms);
            folder.watch.scan_by(end);
            return None;
        }
        if !self.scan.boards_are_quiet(&folder.watch, cx.now) {
            // A scan that is due already would keep the folder from being quiet for ever.
            folder.watch.scan_by(cx.now.plus_ms(SCAN_AT_LATEST_MS));
            return None;
        }
        // The service's state is fetched before the removal.
        if cx.missing_here(There::Same) == Existence::ComesBack {
            self.canvas_returns(&node.id, None, &pages.trees, cx);
            return None;
        }
        if let Some(at) = self.scan.elsewhere.get(&node.id).filter(|_| !node.approved) {
            let at = at.clone();
            self.runtime_of(&node.id).held = Some(Held::Elsewhere(at));
            return None;
        }
        if let CanvasId::Slide(deck, _) = &node.id {
            // In a folder that is yet to get its name back, a replaced file is known again by its place.
            if self.is_deck_missing(deck) || self.folder_moved_to(deck).is_some() {
                return None;
            }
            if !cx.settings.boards.permanent_deletes {
                let why = "a removed slide cannot be restored, so its file comes back; allow_permanent_deletes in the config allows removing it";
                self.canvas_returns(&node.id, Some(why), &pages.trees, cx);
                return None;
            }
        }
        let guard = self.removal_held(pages, &folder.root, cx).filter(|_| !node.approved);
        let is_closed = || self.rejected.is_closed(&Area::of(node), &pages.trees, cx);
        let held = guard.map(Held::Removal).or_else(|| is_closed().then_some(Held::AreaClosed));
        if held.is_some() {
            self.runtime_of(&node.id).held = held;
            return None;
        }
        let tick = cx.tick;
        let runtime = self.runtime_of(&node.id);
        runtime.held = None;
        if runtime.wanted == 0 {
            runtime.wanted = tick;
        }
        self.request_queue.insert(node.id.clone(), Want::Remove);
        None
    }

    /// Why the folder may lack files, or hold older ones, without an act of the user.
    pub(super) fn folder_doubt(&self, pages: &Pages, root: &Root, cx: &Context) -> Option<Guard> {
        if pages.retention.folder_is_old.is_some() {
            return Some(Guard::OlderFolder);
        }
        let lacks = || self.is_board_missing(&pages.trees, cx) || pages.trees.is_page_missing(&cx.settings);
        (root.changed && lacks()).then_some(Guard::OtherFolder(None))
    }

    /// Whether the file of a mirrored canvas, or the folder of a mirrored presentation, is missing.
    pub(in super::super) fn is_board_missing(&self, trees: &Trees, cx: &Context) -> bool {
        let mut nodes = self.canvases.values();
        cx.boards_are_on()
            && nodes.any(|node| {
                let was_there = node.base.is_some() && node.file.is_none();
                was_there
                    && trees.goes_up(node, &cx.settings)
                    && node.presence == Presence::Listed
                    && self.is_canvas_live(node, trees, &cx.settings)
            })
    }

    /// Why canvases and presentations whose files are gone are not removed at the service.
    pub(super) fn removal_held(&self, pages: &Pages, root: &Root, cx: &Context) -> Option<Guard> {
        let held = || self.folder_doubt(pages, root, cx).or_else(|| cx.deletions.held().cloned());
        if planted("canvas-guard-off") { None } else { held() }
    }

    /// The canvases whose files are gone, and the presentations whose folders are, for the guard.
    pub(in super::super) fn missing(&self, pages: &Pages, cx: &Context) -> [(Kind, Missing); 2] {
        [(Kind::Canvas, missing_canvases(self, pages, cx)), (Kind::Presentation, missing_decks(self, cx))]
    }

    /// Whether there is a canvas or a presentation with this id of its own.
    pub(in super::super) fn knows(&self, id: &str) -> bool {
        self.canvases.keys().any(|canvas| canvas.own_id() == id)
            || self.decks.keys().any(|deck| deck.as_str() == id)
    }

    /// Requests a new file for a canvas.
    pub(in super::super) fn canvas_returns(
        &mut self,
        canvas: &CanvasId,
        why: Option<&str>,
        trees: &Trees,
        cx: &mut Context,
    ) {
        let place = self.canvases.get(canvas).and_then(|node| self.canvas_place(node, trees));
        if let (Some(why), Some(place)) = (why, place) {
            cx.notice(Code::CameBack, place.as_str(), why.to_owned(), "remove it in the app");
            cx.log_activity(Way::Aside, &place, "its file comes back");
        }
        self.note_canvas_writing(canvas, None, cx);
        // The new file shows the created elements.
        self.end_element_creations(canvas, cx);
        let runtime = self.runtime_of(canvas);
        runtime.wanted = 0;
        runtime.text = None;
        runtime.writes = Writes::default();
        self.edit_canvas(
            canvas,
            |node| {
                node.base = None;
                node.missing_since = None;
                node.missing_from = None;
                node.approved = false;
            },
            cx,
        );
    }

    /// Requests a new file for a canvas whose file disappeared while it was ignored.
    pub(in super::super) fn canvas_file_let_go(
        &mut self,
        canvas: &CanvasId,
        path: &MirrorPath,
        trees: &Trees,
        cx: &mut Context,
    ) {
        self.forget_canvas_file(path, cx);
        self.edit_canvas(canvas, |node| node.file = None, cx);
        self.canvas_returns(canvas, None, trees, cx);
    }

    /// The next request for a canvas whose file was deleted: a fetch, then the removal.
    pub(super) fn remove_canvas(
        &mut self,
        canvas: &CanvasId,
        trees: &Trees,
        folder: &Folder,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        let class = self.write_class(canvas);
        if self.runtimes.get(canvas).is_some_and(|runtime| runtime.writes.until("") > cx.now) {
            return Ok(None);
        }
        if !self.is_canvas_fresh(canvas, cx.now) {
            return Ok(self.look_at_canvas(canvas, class, cx));
        }
        let Some(node) = self.canvas_node(canvas) else { return Ok(None) };
        if node.file.is_some() || self.may_be_somewhere(&node, &folder.root) {
            return Ok(None);
        }
        if cx.missing_here(canvas_there(&node)) == Existence::ComesBack {
            self.canvas_returns(
                canvas,
                Some("it was deleted here and changed in the app; its file comes back"),
                trees,
                cx,
            );
            return Ok(None);
        }
        // A hint or a file since the decision may be the missing file.
        if !self.scan.boards_are_quiet(&folder.watch, cx.now) || !cx.pace.allows(class, 1, false, cx.now) {
            return Ok(None);
        }
        // Recorded before it is sent: with or without an answer, the canvas may be gone.
        cx.deletions.note(&mut cx.store, (Kind::Canvas, [canvas.own_id()]), true, cx.now);
        match canvas {
            CanvasId::Board(id) => Ok(Some(board(
                BoardEffect::TrashBoard(id.clone()),
                Purpose::TrashBoard { canvas: canvas.clone() },
            ))),
            CanvasId::Slide(deck, slide) => {
                if let Some(place) = self.canvas_place(&node, trees) {
                    for element in cx.elements_at(node.remote)? {
                        cx.store.bury(canvas, Some(&place), &element, cx.now);
                    }
                }
                let effect = BoardEffect::DeleteSlide { deck: deck.clone(), slide: slide.clone() };
                Ok(Some(board(effect, Purpose::DeleteSlide { canvas: canvas.clone() })))
            }
        }
    }

    pub(super) fn canvas_removed(
        &mut self,
        canvas: &CanvasId,
        result: Result<ServiceReply, ServiceError>,
        trees: &Trees,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let tick = cx.tick;
        self.runtime_of(canvas).wanted = tick;
        let may_be_gone = may_be_gone(&result);
        cx.deletions.note(&mut cx.store, (Kind::Canvas, [canvas.own_id()]), may_be_gone, cx.now);
        match result {
            Ok(_) => {
                // Its file may have had another name than the one for its title.
                let place = self
                    .canvases
                    .get(canvas)
                    .and_then(|node| node.missing_from.clone().or_else(|| self.canvas_place(node, trees)));
                if let Some(place) = place {
                    let what = if canvas.deck().is_some() { "slide removed" } else { BOARD_TRASHED };
                    cx.log_activity(Way::Up, &place, what);
                }
                if let Some(deck) = canvas.deck() {
                    self.lists.slides_due.insert(deck.clone(), cx.now);
                    let deck = deck.clone();
                    self.mark_deck_dirty(&deck);
                }
                self.release_files(canvas, cx);
                self.forget_canvas(canvas, cx)?;
            }
            Err(ServiceError::NotFound(_)) => {
                self.list_that_names(canvas, cx.now);
                if self.runtime_of(canvas).writes.is_told() {
                    let why = "the service shows it, but does not let you delete it; its file is restored";
                    self.canvas_returns(canvas, Some(why), trees, cx);
                }
            }
            Err(error @ (ServiceError::Forbidden(_) | ServiceError::Rejected { .. })) => {
                self.canvas_returns(canvas, Some(&format!("{error}; its file comes back")), trees, cx);
            }
            Err(_) => {}
        }
        Ok(())
    }

    /// Handles a canvas that is gone at the service: its file goes to the trash, unless it has an edit.
    pub(super) fn canvas_gone(
        &mut self,
        node: &CanvasNode,
        trees: &Trees,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        let Some(path) = node.file.clone() else {
            self.forget_canvas(&node.id, cx)?;
            return Ok(None);
        };
        let Some(file) = self.files.get(&path).cloned() else {
            self.forget_canvas(&node.id, cx)?;
            return Ok(None);
        };
        if trees.spot_of(&path, false, &cx.settings).is_none() {
            // The user moved it out of the canvas areas before it could be moved back: it is the user's there.
            self.forget_canvas_file(&path, cx);
            cx.log_activity(
                Way::Aside,
                &path,
                "its canvas was removed in the app; the file stays where it was moved",
            );
            self.forget_canvas(&node.id, cx)?;
            return Ok(None);
        }
        let is_agreed = |hash| node.base.as_ref().is_some_and(|base| base.text == Some(hash));
        let here = match file.hash {
            None if file.problem.is_none() => Here::Unclear,
            Some(hash) if is_agreed(hash) => Here::Same,
            _ => Here::Changed,
        };
        Ok(match (existence(&Case::agreed(here, There::Gone, true)), file.hash) {
            (Existence::Wait, _) => read_canvas_file(&path),
            (Existence::LeavesHere, Some(expect)) => {
                let purpose = Purpose::TrashFile { canvas: node.id.clone(), path: path.clone() };
                Some(on_disk(Effect::TrashFile { path, expect }, purpose))
            }
            _ => self.set_canvas_aside(node, &path, cx),
        })
    }

    pub(super) fn canvas_set_aside(
        &mut self,
        canvas: &CanvasId,
        from: &MirrorPath,
        to: &MirrorPath,
        trees: &mut Trees,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let hash = self.files.get(from).and_then(|file| file.hash);
        self.forget_canvas_file(from, cx);
        self.scan.there.remove(from);
        let gone = self.presence_of(canvas) == Some(Presence::Gone);
        let summary = if gone { Conflict::CANVAS_GONE } else { Conflict::CANVAS_DIFFERED }.to_owned();
        trees.record_conflict(
            to,
            from,
            hash.unwrap_or_else(|| crate::model::ContentHash::of(b"")),
            summary,
            cx,
        )?;
        self.edit_canvas(canvas, |node| node.file = None, cx);
        if gone {
            self.forget_canvas(canvas, cx)?;
        }
        Ok(())
    }
}

impl Trees {
    /// Whether local changes of a canvas are sent, which is not so in a workspace that is mirrored down only.
    fn goes_up(&self, node: &CanvasNode, settings: &Settings) -> bool {
        node.workspace.as_ref().is_none_or(|space| !self.is_down(space, settings))
    }
}

impl Folder {
    /// Whether an item that is missing since then counts as deleted.
    pub(super) fn is_absence_over(&self, since: Option<Timestamp>, settings: &Settings) -> bool {
        let grace_ms = settings.pages.delete_grace_ms;
        since.is_some_and(|since| self.root.barrier.grace_end(since, grace_ms) <= self.watch.scanned)
    }
}

impl Context {
    /// The decision about a canvas or presentation that was deleted here.
    pub(super) fn missing_here(&self, there: There) -> Existence {
        existence(&Case::agreed(Here::Missing, there, self.settings.pages.deletes == Deletes::Trash))
    }
}

impl Boards {
    /// Unbinds files that came back while their canvas was removed: they count as new files.
    pub(super) fn release_files(&mut self, canvas: &CanvasId, cx: &mut Context) {
        let files = self.files.values().filter(|file| file.canvas.as_ref() == Some(canvas));
        for file in files.cloned().collect::<Vec<_>>() {
            self.bind_file(CanvasFile { canvas: None, ..file }, cx);
        }
    }

    fn set_canvas_aside(&self, node: &CanvasNode, path: &MirrorPath, cx: &Context) -> Choice {
        let to = self.scan.canvas_conflict_path(path, cx)?;
        let purpose = Purpose::SetAside { canvas: node.id.clone(), from: path.clone(), to: to.clone() };
        Some(on_disk(Effect::Rename { from: path.clone(), to }, purpose))
    }

    pub(super) fn canvas_file_trashed(
        &mut self,
        canvas: &CanvasId,
        path: &MirrorPath,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        self.forget_canvas_file(path, cx);
        self.scan.there.remove(path);
        cx.log_activity(Way::Down, path, "removed in the app; its file is in .espejo/trash");
        if let Some(deck) = canvas.deck().cloned() {
            self.mark_deck_dirty(&deck);
        }
        self.forget_canvas(canvas, cx)
    }
}

/// The canvases whose files are gone, for the guard. Slides that are gone with their presentation's folder are not
/// among them: the presentation is.
fn missing_canvases(boards: &Boards, pages: &Pages, cx: &Context) -> Missing {
    let live = boards.canvases.values().filter(|node| {
        node.base.is_some()
            && node.presence == Presence::Listed
            && pages.trees.goes_up(node, &cx.settings)
            && node.id.deck().is_none_or(|deck| !boards.is_deck_missing(deck))
    });
    let is_gone = |node: &CanvasNode| {
        node.file.is_none() && !node.approved && !boards.scan.elsewhere.contains_key(&node.id)
    };
    let all = live.clone().count();
    let gone: BTreeSet<&str> = live.filter(|node| is_gone(node)).map(|node| node.id.own_id()).collect();
    removals::missing((Kind::Canvas, gone), all, &cx.deletions, cx.now)
}

/// The number of missing canvases whose grace time has not ended, and of missing presentations that are neither held nor
/// removed yet. After its grace time a canvas is dirty, requested or held, and is counted as that. A presentation is
/// in no queue, so it is counted until its removal ends.
pub(super) fn undecided_absences(boards: &Boards, trees: &Trees, folder: &Folder, cx: &Context) -> usize {
    let is_in_grace =
        |since: Option<Timestamp>| since.is_some() && !folder.is_absence_over(since, &cx.settings);
    let canvases = boards.canvases.values().filter(|node| {
        node.base.is_some()
            && node.file.is_none()
            && node.presence == Presence::Listed
            && is_in_grace(node.missing_since)
            && boards.is_canvas_live(node, trees, &cx.settings)
    });
    let decks = boards.decks.values().filter(|deck| {
        deck.missing_since.is_some()
            && deck.presence == Presence::Listed
            && boards.slides_of(&deck.seen.id).any(|node| boards.is_canvas_live(node, trees, &cx.settings))
            && (is_in_grace(deck.missing_since) || is_removal_pending(boards, deck, trees, folder, cx))
    });
    canvases.count() + decks.count()
}

/// The service's state of a listed canvas.
pub(super) fn canvas_there(node: &CanvasNode) -> There {
    let is_same = node.base.as_ref().map(|base| base.elements) == node.remote;
    if is_same || planted("canvas-delete-beats-edit") { There::Same } else { There::Changed }
}
