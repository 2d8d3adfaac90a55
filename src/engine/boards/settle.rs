//! Derives the next act of one canvas from the last states of its file, its elements and their base: the pages'
//! three-way comparison, element by element.

use std::collections::BTreeMap;

use super::super::Way;
use super::adopt::hold_canvas;
use super::disk::read_canvas_file;
use super::place::stem_of;
use super::{Area, Choice, Held, Purpose, Want, Writes, Wrote, on_disk};
use crate::canvas::{self, Aliases, Local, Merged, Op};
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::folder::{Folder, Watching};
use crate::engine::pages::Pages;
use crate::engine::trees::Trees;
use crate::model::{
    CanvasAgreed, CanvasFile, CanvasId, CanvasItem, CanvasNode, Code, ContentHash, Effect, Elements, Expect,
    MirrorPath, Presence, Problem, Stamp, guarded, planted,
};
use crate::plan::guard::Guard;
use crate::store::{PendingCanvasWrite, StoreError};

/// The comparison of a canvas's file with the service.
pub(super) struct Compared {
    pub(super) text: String,
    pub(super) hash: ContentHash,
    pub(super) base: Elements,
    pub(super) remote: Elements,
    pub(super) names: Aliases,
    pub(super) local: Local,
    pub(super) merged: Merged,
    /// The changes that may be sent now: those of `merged.ops` that were not refused.
    pub(super) sendable: Vec<Op>,
}

impl Boards {
    /// Decides about one canvas: a disk act, a queued request, or rest.
    pub(super) fn settle_canvas(
        &mut self,
        canvas: &CanvasId,
        pages: &mut Pages,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        self.dirty.remove(canvas);
        let Some(node) = self.canvases.get(canvas).cloned() else { return Ok(None) };
        if self.request_queue.get(canvas) != Some(&Want::Fetch) {
            self.request_queue.remove(canvas);
        }
        if self.is_canvas_ignored(&node, &mut pages.trees) {
            self.request_queue.remove(canvas);
            self.runtime_of(canvas).held = None;
            if node.file.is_none() && node.base.is_some() {
                // It comes back when it is no longer ignored.
                self.canvas_returns(canvas, None, &pages.trees, cx);
                self.dirty.remove(canvas);
            }
            return Ok(None);
        }
        if !self.is_canvas_live(&node, &pages.trees, &cx.settings) {
            return Ok(None);
        }
        match node.presence {
            Presence::Gone => return self.canvas_gone(&node, &pages.trees, cx),
            Presence::Listed => {}
            Presence::Unlisted | Presence::Hidden => {
                // The lists will show what became of it.
                self.request_queue.remove(canvas);
                return Ok(None);
            }
        }
        if node.remote.is_none() || node.file.as_ref().is_some_and(|path| self.scan.is_settling(path)) {
            return Ok(None);
        }
        match (&node.file, &node.base) {
            (None, None) => self.materialise_canvas(&node, &pages.trees, &folder.watch, cx),
            (None, Some(_)) => Ok(self.canvas_missing(&node, pages, folder, cx)),
            (Some(path), _) => match self.files.get(path).cloned() {
                Some(file) => self.settle_canvas_file(&node, &file, pages, folder, cx),
                None => Ok(None),
            },
        }
    }

    fn materialise_canvas(
        &mut self,
        node: &CanvasNode,
        trees: &Trees,
        watch: &Watching,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        let Some(remote) = node.remote else { return Ok(None) };
        let is_away = |deck| self.is_deck_missing(deck) || self.folder_moved_to(deck).is_some();
        if node.id.deck().is_some_and(is_away) {
            // Its folder comes back or gets its name back as a whole, or is removed as a whole.
            return Ok(None);
        }
        if !self.scan.boards_are_quiet(watch, cx.now) || self.awaits_board_creation(node) {
            self.dirty.insert(node.id.clone());
            return Ok(None);
        }
        if self.bootstrap && self.takes_up(node, trees, cx)? {
            return Ok(None);
        }
        let Some(place) = self.canvas_place(node, trees) else { return Ok(None) };
        if self.files.contains_key(&place) {
            // The other file at this path moves away first, and then marks its siblings dirty.
            return Ok(None);
        }
        let elements = cx.store.elements(remote)?;
        let Ok(text) = guarded(|| canvas::render(&elements)) else {
            self.runtime_of(&node.id).held = Some(Held::Internal);
            return Ok(None);
        };
        let writing =
            PendingCanvasWrite { text: ContentHash::of(text.as_bytes()), elements: remote, whole: true };
        self.note_canvas_writing(&node.id, Some(writing), cx);
        self.edit_canvas(&node.id, |node| node.missing_from = Some(place.clone()), cx);
        let (canvas, path) = (node.id.clone(), place.clone());
        let purpose = Purpose::Write { canvas, path, writing, what: Wrote::New };
        let expect = self.scan.nothing_at(&place);
        let effect = Effect::WriteFile { path: place, bytes: text.into_bytes(), expect };
        Ok(Some(on_disk(effect, purpose)))
    }

    fn settle_canvas_file(
        &mut self,
        node: &CanvasNode,
        file: &CanvasFile,
        pages: &Pages,
        folder: &Folder,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        let Some(hash) = file.hash else {
            return Ok(if file.problem.is_none() { read_canvas_file(&file.path) } else { None });
        };
        if file.problem.is_some() {
            return Ok(None);
        }
        let place = self.canvas_place(node, &pages.trees).filter(|place| *place != file.path);
        // A file without a canvas leaves the place when it becomes one, and none does before all canvases are compared.
        let is_blocked = |place: &MirrorPath| self.files.get(place).is_some_and(|file| file.canvas.is_none());
        if let Some(place) = place.filter(|place| node.base.is_some() || !is_blocked(place)) {
            return Ok(self.relocate_canvas(node, &file.path, &place, &pages.trees, &folder.watch, cx));
        }
        let Some(base) = &node.base else { return self.adopt_canvas(node, file, hash, cx) };
        // The outcome of a POST is looked for, also if its node left the file since.
        let is_in_doubt = self.creations.element_in_doubt(&node.id).is_some();
        if base.text == Some(hash) && node.remote == Some(base.elements) && !is_in_doubt {
            self.canvas_rests(&node.id);
            return Ok(None);
        }
        let Some(compared) = self.compare(node, file, hash, cx)? else {
            let problem = self.files.get(&file.path).is_some_and(|file| file.problem.is_some());
            return Ok(if problem { None } else { read_canvas_file(&file.path) });
        };
        let doubt = self
            .folder_doubt(pages, &folder.root, cx)
            .filter(|_| !node.approved && !compared.sendable.is_empty());
        if let Some(doubt) = doubt {
            self.runtime_of(&node.id).held = Some(Held::Edit(doubt));
            return Ok(None);
        }
        if let Some(first) = compared.merged.collisions.first()
            && !planted("element-collision-without-copy")
            && !cx.store.conflicts()?.iter().any(|conflict| conflict.text == hash)
        {
            let summary = first.clone();
            return Ok(self.copy_canvas(node, file, &compared, summary, cx));
        }
        if !compared.sendable.is_empty() || is_in_doubt {
            let accident = cx.node_deletions_held(node, &compared);
            if accident.is_some() {
                // The file is left alone too: if elements came back into it, the rest would not look like an
                // accident.
                self.runtime_of(&node.id).held = accident.map(Held::Edit);
                return Ok(None);
            }
            let waits = self.rejected.is_closed(&Area::of(node), &pages.trees, cx);
            let tick = cx.tick;
            let runtime = self.runtime_of(&node.id);
            runtime.held = waits.then_some(Held::AreaClosed);
            if !waits {
                if runtime.wanted == 0 {
                    runtime.wanted = tick;
                }
                self.request_queue.insert(node.id.clone(), Want::Push);
                return Ok(None);
            }
        }
        Ok(self.bring_down(node, file, &compared, cx))
    }

    /// Moves a file that is at a wrong path: after a change in the app, or because the user moved it.
    fn relocate_canvas(
        &mut self,
        node: &CanvasNode,
        path: &MirrorPath,
        place: &MirrorPath,
        trees: &Trees,
        watch: &Watching,
        cx: &Context,
    ) -> Choice {
        // The renamed folder of a presentation is renamed back as a whole, with its new files.
        if node.id.deck().is_some_and(|deck| self.folder_moved_to(deck).is_some()) {
            return None;
        }
        let agreed = node.base.as_ref().map(|base| base.name.as_str());
        let reverts_move = match &node.id {
            CanvasId::Board(_) => agreed == Some(node.name.as_str()),
            CanvasId::Slide(..) => agreed == Some(stem_of(place)),
        };
        if reverts_move && !self.scan.boards_are_quiet(watch, cx.now) {
            self.dirty.insert(node.id.clone());
            return None;
        }
        let to = match self.files.get(place).map(|file| file.canvas.clone()) {
            None if self.scan.there.contains_key(place) => {
                self.runtime_of(&node.id).held = Some(Held::Taken(place.clone()));
                return None;
            }
            None => place.clone(),
            Some(_) if self.moves_in_a_circle(node, trees) => {
                let aside = format!("{} (moving){}", stem_of(path), super::place::ENDING);
                path.parent()?.join(&aside).ok().filter(|to| !self.scan.there.contains_key(to))?
            }
            // The other file moves on by itself, and then marks its siblings dirty.
            Some(_) => return None,
        };
        let purpose =
            Purpose::Rename { canvas: node.id.clone(), from: path.clone(), to: to.clone(), reverts_move };
        Some(on_disk(Effect::Rename { from: path.clone(), to }, purpose))
    }

    /// Whether files wait for each other's places in a circle.
    fn moves_in_a_circle(&self, node: &CanvasNode, trees: &Trees) -> bool {
        let mut at = node.clone();
        for _ in 0..self.canvases.len() {
            let Some(place) = self.canvas_place(&at, trees) else { return false };
            let Some(next) = self.files.get(&place).and_then(|file| file.canvas.clone()) else {
                return false;
            };
            if next == node.id {
                return at.id != node.id;
            }
            match self.canvases.get(&next) {
                Some(next) if next.presence == Presence::Listed && next.id != at.id => at = next.clone(),
                _ => return false,
            }
        }
        false
    }

    pub(super) fn canvas_renamed(
        &mut self,
        canvas: &CanvasId,
        from: &MirrorPath,
        to: &MirrorPath,
        reverts_move: bool,
        trees: &Trees,
        cx: &mut Context,
    ) {
        let Some(file) = self.files.get(from).cloned() else { return };
        self.forget_canvas_file(from, cx);
        if let Some((_, stamp)) = self.scan.there.remove(from) {
            self.scan.now_there(to, stamp);
        }
        self.bind_file(CanvasFile { path: to.clone(), ..file }, cx);
        self.runtime_of(canvas).stood = Some(from.clone());
        let at_last =
            self.canvases.get(canvas).and_then(|node| self.canvas_place(node, trees)).as_ref() == Some(to);
        self.edit_canvas(
            canvas,
            |node| {
                let name = match &node.id {
                    CanvasId::Board(_) => node.name.clone(),
                    CanvasId::Slide(..) => stem_of(to).to_owned(),
                };
                if let Some(base) = node.base.as_mut().filter(|_| at_last) {
                    base.name = name;
                }
            },
            cx,
        );
        if let Some(deck) = canvas.deck().cloned() {
            self.mark_deck_dirty(&deck);
        }
        self.mark_unplaced_dirty();
        if !at_last {
            // The file is at a temporary path until its place is free; the activity is logged then.
            return;
        }
        if !reverts_move {
            cx.log_activity(Way::Down, to, format!("renamed from {}", from.name()));
            return;
        }
        let (what, mend) = match canvas {
            CanvasId::Board(_) => (
                "a whiteboard cannot be renamed or moved through the API; its file is moved back",
                "rename it in the app",
            ),
            CanvasId::Slide(..) => (
                "slides cannot be reordered or moved through the API; the file is moved back",
                "reorder them in the app",
            ),
        };
        cx.log_activity(Way::Aside, to, what);
        cx.notice(Code::PutBack, to.as_str(), what.to_owned(), mend);
    }
}

impl Boards {
    fn awaits_board_creation(&self, node: &CanvasNode) -> bool {
        self.creations.drafts().any(|draft| match (&draft.item, &node.id) {
            (CanvasItem::Board(space, _, name), CanvasId::Board(_)) => {
                node.workspace.as_ref() == Some(space) && *name == node.name
            }
            (CanvasItem::Slide(deck, _), CanvasId::Slide(own, _)) => deck == own,
            _ => false,
        }) || node.id.deck().is_some_and(|deck| self.decks.get(deck).is_some_and(|deck| deck.blank))
    }

    fn canvas_rests(&mut self, canvas: &CanvasId) {
        self.rejected.refused.retain(|(other, _), _| other != canvas);
        if let Some(runtime) = self.runtimes.get_mut(canvas) {
            runtime.text = None;
            runtime.origins = None;
            runtime.wanted = 0;
            runtime.held = None;
            runtime.writes = Writes::default();
        }
    }

    /// Compares a file with its base and the service; `None` if its text must be read first, or has a problem.
    pub(super) fn compare(
        &mut self,
        node: &CanvasNode,
        file: &CanvasFile,
        hash: ContentHash,
        cx: &mut Context,
    ) -> Result<Option<Compared>, StoreError> {
        let kept = self.runtimes.get(&node.id).and_then(|runtime| runtime.text.clone());
        let Some((_, text)) = kept.filter(|(of, _)| *of == hash) else { return Ok(None) };
        let remote = cx.elements_at(node.remote)?;
        let base = cx.elements_at(node.base.as_ref().map(|base| base.elements))?;
        let has_nodes = || !base.is_empty() || self.nodes_being_made(&node.id).next().is_some();
        if canvas::is_blank(&text) && !node.approved && has_nodes() {
            // Checked here and not at the read of the file, because elements that were pending then are in the base
            // now.
            return hold_canvas(self, file, Problem::Emptied, cx);
        }
        // Of what the last write brought, whose end is not known, the app may show another version by now.
        let written = cx.elements_at(self.pending_writes.get(&node.id).map(|writing| writing.elements))?;
        let names = self.names.get(&node.id).cloned().unwrap_or_default();
        let surface = node.id.surface();
        let permanent = cx.settings.boards.permanent_deletes;
        let compared = guarded(|| {
            let base = canvas::known(&text, &base, &names, written.iter().chain(&remote));
            let origins = self.origins_of(&node.id, &text, hash, &base, &names, cx)?;
            Ok::<_, StoreError>(canvas::read(&text, surface, &base, &names, &origins).map(|local| {
                let merged = canvas::merge(surface, &base, &remote, &local, permanent);
                (base, local, merged)
            }))
        });
        let compared = compared
            .map_or(Ok(Err(Problem::Internal)), |read| read.map(|read| read.map_err(Problem::Canvas)));
        let (base, local, merged) = match compared? {
            Ok(compared) => compared,
            Err(problem) => {
                return hold_canvas(self, file, problem, cx);
            }
        };
        let sendable = merged
            .ops
            .iter()
            .filter(|op| {
                let refused = self.rejected.refused.get(&(node.id.clone(), op.about().to_owned()));
                refused.is_none_or(|(refused, refusal)| refused != *op || !refusal.rests(cx.now))
            })
            .cloned()
            .collect();
        Ok(Some(Compared { text, hash, base, remote, names, local, merged, sendable }))
    }

    /// Writes the service's side into the file, as far as the file has no edits that are still to be sent.
    fn bring_down(
        &mut self,
        node: &CanvasNode,
        file: &CanvasFile,
        compared: &Compared,
        cx: &mut Context,
    ) -> Choice {
        let Compared { text, hash, base, merged, names, local, .. } = compared;
        let patched = guarded(|| canvas::patch(text, base, &merged.target, names));
        let out = match patched.map_or(Err(Problem::Internal), |out| out.map_err(Problem::Canvas)) {
            Ok(out) => out,
            Err(problem) => {
                self.save_canvas_file(CanvasFile { problem: Some(problem), ..file.clone() }, cx);
                return None;
            }
        };
        self.tell_notes(node, file, *hash, merged, local, cx);
        let whole = merged.ops.is_empty();
        let elements = cx.store.keep_elements(&merged.base);
        let writing = PendingCanvasWrite { text: ContentHash::of(out.as_bytes()), elements, whole };
        if writing.text == *hash {
            self.canvas_says(&node.id, writing, cx);
            if whole {
                self.canvas_rests(&node.id);
            }
            // A state that was just recorded needs no new decision, unless it changed the remaining work.
            self.dirty.remove(&node.id);
            return None;
        }
        self.note_canvas_writing(&node.id, Some(writing), cx);
        let news = |element| !compared.base.contains(element);
        let fewer = compared.remote.len() < compared.base.len();
        let what = if fewer || compared.remote.iter().any(news) {
            Wrote::Changes
        } else if local.aliased {
            Wrote::Ids
        } else {
            Wrote::PutBack
        };
        let purpose = Purpose::Write { canvas: node.id.clone(), path: file.path.clone(), writing, what };
        let expect = Expect::Content(*hash);
        let effect = Effect::WriteFile { path: file.path.clone(), bytes: out.into_bytes(), expect };
        Some(on_disk(effect, purpose))
    }

    /// Reports once which parts of a file are reverted, or stay only in it.
    fn tell_notes(
        &mut self,
        node: &CanvasNode,
        file: &CanvasFile,
        hash: ContentHash,
        merged: &Merged,
        local: &Local,
        cx: &mut Context,
    ) {
        if self.runtime_of(&node.id).told == Some(hash) {
            return;
        }
        self.runtime_of(&node.id).told = Some(hash);
        for note in &merged.notes {
            cx.notice(
                Code::OnlyHere,
                file.path.as_str(),
                note.clone(),
                "nothing to do; change it in the app",
            );
            cx.log_activity(Way::Aside, &file.path, note.clone());
        }
        let mut copies: BTreeMap<&str, usize> = BTreeMap::new();
        local.copies.iter().for_each(|kind| *copies.entry(kind).or_default() += 1);
        if !copies.is_empty() {
            let copies: Vec<String> =
                copies.iter().map(|(kind, count)| format!("{count} of the type {kind}")).collect();
            let what = format!(
                "copies of elements that the API cannot create stay in this file only: {}",
                copies.join(", ")
            );
            let mend = "nothing to do; a node with an id of its own becomes a note";
            cx.notice(Code::OnlyHere, file.path.as_str(), what, mend);
        }
        if local.strays > 0 && merged.ops.is_empty() && !local.is_clean() {
            let what =
                format!("{} of its groups, links, files or edges stay in this file only", local.strays);
            cx.notice(Code::OnlyHere, file.path.as_str(), what, "nothing to do; the API cannot make them");
        }
    }

    /// Records that a file states its elements (and, unless `whole`, more that is still to be sent).
    pub(super) fn canvas_says(&mut self, canvas: &CanvasId, writing: PendingCanvasWrite, cx: &mut Context) {
        let place = self.canvases.get(canvas).and_then(|node| node.file.clone());
        self.edit_canvas(
            canvas,
            |node| {
                let name = match &node.id {
                    CanvasId::Board(_) => node.name.clone(),
                    CanvasId::Slide(..) => place.as_ref().map(stem_of).unwrap_or_default().to_owned(),
                };
                let name =
                    node.base.take().map(|base| base.name).filter(|name| !name.is_empty()).unwrap_or(name);
                let text = writing.whole.then_some(writing.text);
                node.base = Some(CanvasAgreed { elements: writing.elements, text, name });
                if writing.whole {
                    node.approved = false;
                }
            },
            cx,
        );
        self.note_canvas_writing(canvas, None, cx);
    }

    pub(super) fn note_canvas_writing(
        &mut self,
        canvas: &CanvasId,
        writing: Option<PendingCanvasWrite>,
        cx: &mut Context,
    ) {
        match writing {
            Some(writing) => drop(self.pending_writes.insert(canvas.clone(), writing)),
            None if self.pending_writes.remove(canvas).is_none() => return,
            None => {}
        }
        cx.store.save_canvas_writing(canvas, writing);
    }

    pub(super) fn canvas_written(
        &mut self,
        canvas: &CanvasId,
        path: &MirrorPath,
        writing: PendingCanvasWrite,
        wrote: Wrote,
        stamp: Stamp,
        cx: &mut Context,
    ) {
        self.scan.now_there(path, stamp);
        self.bind_file(
            CanvasFile {
                path: path.clone(),
                canvas: Some(canvas.clone()),
                stamp,
                hash: Some(writing.text),
                problem: None,
                racy: true,
            },
            cx,
        );
        self.canvas_says(canvas, writing, cx);
        if writing.whole {
            self.runtime_of(canvas).text = None;
        }
        let (way, what) = match (wrote, canvas) {
            (Wrote::New, CanvasId::Board(_)) => (Way::Down, "new whiteboard"),
            (Wrote::New, CanvasId::Slide(..)) => (Way::Down, "new slide"),
            (Wrote::Changes, _) => (Way::Down, "changed in the app"),
            (Wrote::Ids, _) => (Way::Aside, "the new nodes got their ids"),
            (Wrote::PutBack, _) => (Way::Aside, "put back"),
        };
        cx.log_activity(way, path, what);
    }

    fn copy_canvas(
        &self,
        node: &CanvasNode,
        file: &CanvasFile,
        compared: &Compared,
        summary: String,
        cx: &Context,
    ) -> Choice {
        let copy = self.scan.canvas_conflict_path(&file.path, cx)?;
        let bytes = compared.text.clone().into_bytes();
        let purpose =
            Purpose::Copy { canvas: node.id.clone(), copy: copy.clone(), text: compared.hash, summary };
        Some(on_disk(Effect::WriteFile { path: copy, bytes, expect: Expect::Absent }, purpose))
    }

    /// Marks canvases without a file dirty, because they may have waited for a place.
    fn mark_unplaced_dirty(&mut self) {
        let waiting = self.canvases.values().filter(|node| node.file.is_none());
        self.dirty.extend(waiting.map(|node| node.id.clone()).collect::<Vec<_>>());
    }
}

impl Context {
    /// Holds many deleted nodes at once, because they look like an accident, and elements have no trash.
    fn node_deletions_held(&self, node: &CanvasNode, compared: &Compared) -> Option<Guard> {
        let deletes = compared.sendable.iter().any(|op| matches!(op, Op::Delete { .. }));
        let (gone, all) = (compared.local.gone.len(), compared.base.len());
        let many = gone > self.settings.pages.max_deletes
            || (gone == all && all > 2)
            || (gone > 5 && gone > all / 2);
        (deletes && many && !node.approved).then_some(Guard::Nodes(gone, all))
    }
}
