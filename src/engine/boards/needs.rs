//! Messages to the user about whiteboards and presentations, approvals, and the progress.

use std::collections::BTreeSet;

use super::super::Engine;
use super::super::attention::Needs;
use super::super::faults::INTERNAL_MEND;
use super::super::refused::code_of;
use super::super::retry::{FAILS, FAILS_MEND};
use super::place;
use super::place::Spot;
use super::remove::undecided_absences;
use super::targets::List;
use super::{Area, Held, Runtime, Want};
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::folder::Root;
use crate::engine::trees::Trees;
use crate::model::{CanvasFile, CanvasNode, Code, MirrorPath, Presence, Settings, WorkspaceId};

/// The progress of canvases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) struct Progress {
    pub(in super::super) listed: usize,
    pub(in super::super) looked: usize,
    pub(in super::super) mirrored: usize,
    pub(in super::super) pending: usize,
    pub(in super::super) settled: bool,
}

impl Engine {
    pub(in super::super) fn board_progress(&self) -> Progress {
        if !self.cx.boards_are_on() {
            return Progress { settled: true, ..Progress::default() };
        }
        let live = || {
            let nodes = self.boards.canvases.values();
            nodes.filter(|node| {
                node.presence == Presence::Listed
                    && self.boards.is_canvas_live(node, &self.pages.trees, &self.cx.settings)
            })
        };
        let is_apart = |node: &CanvasNode| self.pages.trees.ignoring.canvases.contains(&node.id);
        let listed = live().count();
        let left = self.canvases_left();
        let is_held = |id| {
            let runtime = self.boards.runtimes.get(id);
            runtime.is_some_and(|runtime| {
                // One that the service has long failed to show waits for its retry, or for the list that it is in.
                let fails = runtime.failing.is_told() && runtime.failing.waits(self.cx.now);
                runtime.held.is_some() || runtime.writes.is_told() || fails
            })
        };
        let request_queue = self
            .boards
            .request_queue
            .iter()
            .filter(|(id, want)| **want != Want::Fetch && !is_held(id))
            .count();
        let pending = request_queue + self.boards.creations.len() + self.boards.scan.unread.len();
        let dirty = self.boards.dirty.iter().filter(|id| !is_held(id)).count();
        // As for pages: a sync waits for the end of their grace time.
        let dirty = dirty + undecided_absences(&self.boards, &self.pages.trees, &self.folder, &self.cx);
        let unseen = live().filter(|node| node.remote.is_none() && !is_unreadable(self, node)).count();
        let looks = self.boards.request_queue.values().filter(|want| **want == Want::Fetch).count();
        let looks = looks + self.boards.lists.emptied.len();
        Progress {
            listed,
            looked: listed - left.min(listed),
            mirrored: self
                .boards
                .canvases
                .values()
                .filter(|node| node.base.is_some() && !is_apart(node))
                .count(),
            pending: pending + dirty,
            settled: pending + dirty + unseen + looks == 0
                // A failed drawing is tried again later.
                && (!self.boards.drawings.draw_due || self.boards.drawings.draw_retry > self.cx.now)
                && self.boards.scan.scanned
                && self.boards.board_lists_done(&self.pages.trees, &self.cx)
                && !self.boards.board_creations_wait(&self.pages.trees, &self.folder, &self.cx),
        }
    }
}

impl Boards {
    pub(in super::super) fn board_needs(&self, needs: &mut Needs, trees: &Trees, cx: &Context) {
        if !cx.boards_are_on() {
            return;
        }
        for (list, why) in &self.lists.trouble {
            let what = &self.place_of_list(list, trees);
            needs.tell(
                Code::Unclear,
                what,
                why,
                "nothing is lost; tell the service's operator if this continues",
            );
        }
        for (list, why) in &self.lists.held {
            let what = &self.place_of_list(list, trees);
            let reason = format!("nothing is removed: {why}");
            needs.tell(
                Code::RemovalsHeld,
                what,
                &reason,
                "check the app; espejo approve removes the files; if you get access again, they stay",
            );
        }
        if let Some(why) = &self.lists.decks_held {
            let reason = format!("nothing is deleted at the service: {why}");
            needs.tell(
                Code::DeletionsHeld,
                "Presentations",
                &reason,
                "restore the folders, or run espejo approve",
            );
        }
        let rest = self.rejected.forbidden.iter().filter(|(_, refusal)| refusal.rests(cx.now));
        for (area, refusal) in rest {
            let (path, whose) = match area {
                Area::Whiteboards(space) => {
                    let name = trees.workspaces.get(space).map_or("", |node| node.seen.name.as_str());
                    (trees.boards_root(space), format!("the whiteboards of {name}"))
                }
                Area::Presentations => (place::decks_root(), "presentations".to_owned()),
            };
            let path = path.map_or_else(String::new, |path| path.to_string());
            let reason = format!("read-only: the service forbids writing to {whose}: {}", refusal.said);
            needs.tell(
                Code::ReadOnly,
                &path,
                &reason,
                &format!("edits are pending; {}", cx.next_try(refusal)),
            );
        }
        let ignoring = &trees.ignoring;
        for file in self.files.values().filter(|file| !ignoring.ignores_file(&file.path)) {
            if let Some(problem) = &file.problem {
                needs.tell_unsent(&file.path, problem, "canvas");
            }
        }
        for path in self.drawings.faulty.keys() {
            needs.tell(Code::Internal, path.as_str(), "a fault of espejo while it drew this", INTERNAL_MEND);
        }
        for (path, unmade) in &self.rejected.unmade {
            if unmade.is_told() && self.scan.there.contains_key(path) {
                let reason = format!("it was not created: {}", unmade.why);
                needs.tell(Code::Failing, path.as_str(), &reason, FAILS_MEND);
            }
        }
        for (deck, (failing, why)) in &self.rejected.deck_trouble {
            if let Some(folder) = self.deck_folder(deck).filter(|_| failing.is_told()) {
                needs.tell(Code::Failing, folder.as_str(), &why.to_string(), FAILS_MEND);
            }
        }
        for ((canvas, about), (_, refusal)) in &self.rejected.refused {
            let node = self.canvases.get(canvas);
            // A refusal in a closed area has no message of its own; the area has one.
            let node = node.filter(|node| !self.rejected.is_closed(&Area::of(node), trees, cx));
            if let Some(path) = node.and_then(|node| node.file.as_ref()) {
                let reason = format!("the change of its node {about} is refused: {}", refusal.said);
                let mend = format!("change the node again, or undo the change; {}", cx.next_try(refusal));
                needs.tell(code_of(refusal.class), path.as_str(), &reason, &mend);
            }
        }
        tell_held_removals(self, needs, trees);
        for (canvas, runtime) in &self.runtimes {
            // Most canvases have no message, and the computation of a place is expensive.
            if runtime.unreadable.is_none() && runtime.held.is_none() && !runtime.writes.is_told() {
                continue;
            }
            let Some(node) = self.canvases.get(canvas) else { continue };
            let place = node.file.clone().or_else(|| self.canvas_place(node, trees));
            let path = place.map_or_else(|| node.name.clone(), |path| path.to_string());
            if let Some(why) = &runtime.unreadable {
                needs.tell(
                    Code::Unclear,
                    &path,
                    &format!("it cannot be read: {why}"),
                    "nothing to do: espejo retries",
                );
            }
            if runtime.writes.is_told() {
                needs.tell(Code::Failing, &path, FAILS, FAILS_MEND);
            }
            let held = runtime.held.as_ref().filter(|held| !matches!(held, Held::Removal(_)));
            if let Some((code, why, mend)) = held.and_then(Held::told) {
                needs.tell(code, &path, &why, mend);
            }
        }
        for (path, stamp) in &self.drawings.not_ours {
            if self.scan.there.get(path).is_some_and(|(_, now)| now == stamp) {
                let why = "no picture is drawn: a file that does not belong to espejo is in its place";
                needs.tell(Code::NoPicture, path.as_str(), why, "rename the file");
            }
        }
    }

    /// Whether whiteboards of a read-only workspace have local changes.
    pub(in super::super) fn canvases_stay_here(
        &self,
        workspace: &WorkspaceId,
        trees: &Trees,
        settings: &Settings,
    ) -> bool {
        let is_its = |node: &CanvasNode| node.workspace.as_ref() == Some(workspace);
        let is_held = |runtime: &Runtime| runtime.held == Some(Held::AreaClosed);
        let mut held = self.runtimes.iter().filter(|(_, runtime)| is_held(runtime));
        let is_new = |file: &CanvasFile| {
            file.canvas.is_none()
                && trees.spot_of(&file.path, false, settings) == Some(Spot::Board(workspace.clone()))
        };
        held.any(|(id, _)| self.canvases.get(id).is_some_and(is_its)) || self.files.values().any(is_new)
    }

    /// The path in the mirror of a list's items.
    fn place_of_list(&self, list: &List, trees: &Trees) -> String {
        let place = match list {
            List::Boards(space) => trees.boards_root(space),
            List::Slides(deck) => self.deck_folder(deck),
            List::Decks => place::decks_root(),
        };
        place.map_or_else(String::new, |path| path.to_string())
    }

    /// Once everything has been compared, files without a canvas are new ones.
    pub(in super::super) fn end_board_bootstrap(&mut self, trees: &Trees, root: &Root, cx: &mut Context) {
        let done = self.bootstrap
            && cx.boards_are_on()
            && self.scan.scanned
            && root.is_ready()
            && !trees.workspaces.is_empty()
            && trees.workspaces.values().all(|node| !node.present || node.listed_at.0 > 0)
            && self.board_lists_done(trees, cx)
            && self.decks.values().all(|deck| {
                deck.folder.is_some() || deck.presence != Presence::Listed || self.awaits_deck_creation(deck)
            })
            && self.canvases.values().all(|node| {
                node.base.is_some()
                    || node.presence != Presence::Listed
                    || trees.ignoring.canvases.contains(&node.id)
                    || self.runtimes.get(&node.id).is_some_and(|runtime| runtime.unreadable.is_some())
            });
        if done {
            self.bootstrap = false;
            cx.store.set_meta("board_adopting", "no");
            self.mark_all_canvases_dirty();
        }
    }

    /// Releases what a guard held, after the user's approval.
    pub(in super::super) fn approve_boards(
        &mut self,
        paths: &[MirrorPath],
        trees: &Trees,
        root: &Root,
        cx: &mut Context,
    ) {
        let meant = |path: Option<&MirrorPath>| {
            paths.is_empty() || path.is_some_and(|path| paths.iter().any(|wanted| path.is_within(wanted)))
        };
        let canvases: Vec<_> = self
            .canvases
            .values()
            .filter(|node| meant(node.file.clone().or_else(|| self.canvas_place(node, trees)).as_ref()))
            .filter(|node| !paths.is_empty() || self.scan.hides_canvas(node, root).is_none())
            .map(|node| node.id.clone())
            .collect();
        for id in canvases {
            let Some(node) = self.canvases.get(&id).cloned() else { continue };
            let file = node.file.as_ref().and_then(|path| self.files.get(path)).cloned();
            let held = self.runtimes.get(&id).is_some_and(|runtime| runtime.held.is_some());
            let problem = file.as_ref().is_some_and(|file| file.problem.is_some());
            if !(held || problem || node.file.is_none() || node.presence != Presence::Listed) {
                continue;
            }
            self.edit_canvas(&id, |node| node.approved = true, cx);
            if let Some(mut file) = file.filter(|_| problem) {
                self.scan.unread.insert(file.path.clone(), cx.now);
                file.hash = None;
                file.problem = None;
                self.save_canvas_file(file, cx);
            }
        }
        let decks = self.decks.values().filter(|deck| meant(self.deck_folder(&deck.seen.id).as_ref()));
        let decks: Vec<_> = decks
            .filter(|deck| !paths.is_empty() || !self.hides_deck(deck, root))
            .map(|deck| deck.seen.id.clone())
            .collect();
        for id in decks {
            self.edit_deck(
                &id,
                |deck| {
                    deck.approved = deck.missing_since.is_some() || deck.presence != Presence::Listed;
                },
                cx,
            );
        }
        let now = cx.now;
        let lists = &mut self.lists;
        lists.decks_due = now;
        lists.boards_due.clear();
        lists.slides_due.clear();
        self.mark_all_canvases_dirty();
    }
}

impl Boards {
    pub(in super::super) fn has_canvas_file(&self, path: &MirrorPath) -> bool {
        self.files.contains_key(path)
    }
}

/// One message for all canvases that a guard holds for one reason: at the canvas if it is the only one.
fn tell_held_removals(boards: &Boards, needs: &mut Needs, trees: &Trees) {
    let mut held: Vec<(&Held, Vec<&CanvasNode>)> = Vec::new();
    for (canvas, runtime) in &boards.runtimes {
        let Some(hold @ Held::Removal(_)) = &runtime.held else { continue };
        let Some(node) = boards.canvases.get(canvas) else { continue };
        match held.iter_mut().find(|(other, _)| *other == hold) {
            Some((_, nodes)) => nodes.push(node),
            None => held.push((hold, vec![node])),
        }
    }
    for (hold, nodes) in held {
        let Some((code, why, mend)) = hold.told() else { continue };
        let place = match nodes.as_slice() {
            [only] => {
                boards.canvas_place(only, trees).map_or_else(|| only.name.clone(), |path| path.to_string())
            }
            _ => {
                let areas: BTreeSet<Area> = nodes.iter().map(|node| Area::of(node)).collect();
                let root = |area: &Area| match area {
                    Area::Whiteboards(space) => trees.boards_root(space),
                    Area::Presentations => place::decks_root(),
                };
                let root = areas.first().filter(|_| areas.len() == 1).and_then(root);
                root.map_or_else(String::new, |path| path.to_string())
            }
        };
        needs.tell(code, &place, &why, mend);
    }
}

fn is_unreadable(engine: &Engine, node: &crate::model::CanvasNode) -> bool {
    engine.boards.runtimes.get(&node.id).is_some_and(|runtime| runtime.unreadable.is_some())
}
