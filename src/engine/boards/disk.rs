//! Canvas files as scans and reads show them, and which of them is which canvas's. A file is known by the object that
//! it is (device, inode, birth) wherever it goes, and by its place where a program has put a new object there.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Engine, PAGES, disk, storage};
use super::place::Spot;
use super::{Held, Purpose, place};
use crate::canvas::{self, Aliases, Origins};
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::flight::Flight;
use crate::engine::retry::{self, Fails};
use crate::model::{
    CanvasFile, CanvasId, CanvasNode, ContentHash, DeckNode, DiskError, DiskReply, Effect, Entry, EntryKind,
    FileLook, MirrorPath, Presence, Problem, Scan, Stamp, Surface, Timestamp, Unreadable, id_of,
};
use crate::plan::barrier::Absent;
use crate::store::StoreError;

impl Engine {
    /// Takes in what a scan found in our areas.
    pub(in super::super) fn boards_scanned(&mut self, scan: &Scan) -> Result<(), StoreError> {
        if !self.cx.boards_are_on() {
            return Ok(());
        }
        let mut seen: BTreeMap<MirrorPath, Stamp> = BTreeMap::new();
        let was_there = std::mem::take(&mut self.boards.there);
        let decks_root = Self::decks_root();
        let mut new_folders = BTreeMap::new();
        for entry in &scan.entries {
            let is_folder = entry.kind == EntryKind::Folder;
            if is_near(entry) || Some(&entry.path) == decks_root.as_ref() {
                self.boards.there.insert(entry.path.clone(), (is_folder, entry.stamp));
            }
            match self.pages.trees.spot_of(&entry.path, is_folder, &self.cx.settings) {
                Some(Spot::DeckFolder) if self.boards.deck_at(&entry.path).is_none() => {
                    let since = self.boards.new_folders.get(&entry.path).copied().unwrap_or(self.cx.now);
                    new_folders.insert(entry.path.clone(), since);
                }
                Some(Spot::Board(_) | Spot::InDeck(_)) if entry.kind == EntryKind::File => {
                    seen.insert(entry.path.clone(), entry.stamp);
                }
                _ => {}
            }
        }
        self.boards.new_folders = new_folders;
        let there = &self.boards.there;
        self.boards.unmade.retain(|path, _| there.contains_key(path));
        let hidden = |path: &MirrorPath| scan.covers(path);
        self.note_moved_folders(&was_there, &seen);
        self.find_strays(scan, &mut seen);
        self.follow_objects(&was_there, &seen)?;
        let missed = self.missed_canvases();
        for (path, stamp) in &seen {
            self.take_in_stamp(&missed, path, *stamp, scan.clock)?;
        }
        let gone: Vec<MirrorPath> = self
            .boards
            .files
            .keys()
            .filter(|path| !seen.contains_key(*path) && !hidden(path))
            .cloned()
            .collect();
        for path in gone {
            let Some(file) = self.boards.files.get(&path).cloned() else { continue };
            self.boards.forget_canvas_file(&path, &mut self.cx)?;
            if let Some(canvas) = file.canvas {
                self.boards.missed_objects.insert(file.stamp.object(), (canvas.clone(), file.stamp));
                self.boards.miss(&canvas, &path, &mut self.cx)?;
            }
        }
        self.bind_missed_slides()?;
        let is_missing = |canvas: &CanvasId| {
            self.boards.canvases.get(canvas).is_some_and(|node| node.missing_since.is_some())
        };
        self.boards.missed_objects.retain(|_, (canvas, _)| is_missing(canvas));
        self.boards.note_untracked(self.cx.now);
        self.boards.note_elsewhere(scan, &mut self.cx)?;
        self.keep_folders()?;
        self.note_missing_decks(&hidden)?;
        self.boards.check_drawn_stamps();
        self.boards.scanned = true;
        self.boards.wake_missing();
        // Each grace time ends with a scan, whatever else has been missing for longer.
        let canvases = self.boards.canvases.values().filter_map(|node| node.missing_since);
        let missing = canvases.chain(self.boards.decks.values().filter_map(|deck| deck.missing_since));
        let grace_ms = self.cx.settings.pages.delete_grace_ms;
        let ends = missing.map(|since| self.folder.root.barrier.grace_end(since, grace_ms));
        if let Some(end) = ends.filter(|end| *end > self.folder.watch.scanned).min() {
            self.folder.watch.scan_by(end);
        }
        Ok(())
    }

    /// What may hide the missing file of a canvas, unless a person said that it is gone.
    pub(super) fn hides_canvas(&self, node: &CanvasNode) -> Option<&Unreadable> {
        let since = node.missing_since.filter(|_| !node.approved)?;
        let last = node.missing_from.as_ref()?;
        let known = self.boards.missed_objects.iter();
        let object = known.filter(|(_, (canvas, _))| *canvas == node.id).map(|(object, _)| *object).next();
        self.folder.root.barrier.hides(Absent { last: Some(last), object, since })
    }

    /// Whether the folder of a presentation may be where espejo cannot look, with a slide of it.
    pub(super) fn hides_deck(&self, deck: &DeckNode) -> bool {
        !deck.approved && self.boards.slides_of(&deck.seen.id).any(|slide| self.hides_canvas(slide).is_some())
    }

    /// Where the files were that may be hidden, and what hides each.
    pub(in super::super) fn hidden_canvases(&self) -> impl Iterator<Item = (&MirrorPath, &Unreadable)> {
        let nodes = self.boards.canvases.values().filter(|node| node.presence == Presence::Listed);
        nodes.filter_map(|node| Some((node.missing_from.as_ref()?, self.hides_canvas(node)?)))
    }

    fn take_in_stamp(
        &mut self,
        missed: &BTreeMap<MirrorPath, CanvasId>,
        path: &MirrorPath,
        stamp: Stamp,
        looked_at: Timestamp,
    ) -> Result<(), StoreError> {
        let known = self.boards.files.get(path).cloned();
        if known.is_some() && self.pages.trees.ignoring.ignores_file(path) {
            // Shown as it is known.
            self.boards.unread.remove(path);
            return Ok(());
        }
        if let Some(file) = &known
            && file.stamp == stamp
            // What could not be read has none, and is tried again.
            && file.hash.is_some()
            && (!file.racy || disk::is_racy(&stamp, looked_at))
        {
            return Ok(());
        }
        // A canvas whose file had gone gets it back when its old place is filled again.
        let is_missing =
            |id: &&CanvasId| self.boards.canvases.get(*id).is_some_and(|node| node.missing_since.is_some());
        let by_object = self.boards.missed_as(&stamp);
        let returned = by_object.into_iter().chain(missed.get(path)).find(is_missing).cloned();
        let quiet = self.cx.settings.pages.settle_ms;
        let rested = stamp.rested_ms(looked_at) >= quiet;
        let due = if rested { self.cx.now } else { self.cx.now.plus_ms(quiet) };
        self.boards.unread.insert(path.clone(), due);
        match known {
            Some(mut file) => {
                file.stamp = stamp;
                file.hash = None;
                self.boards.save_canvas_file(file, &mut self.cx)
            }
            None => self.boards.bind_file(
                CanvasFile {
                    path: path.clone(),
                    canvas: returned,
                    stamp,
                    hash: None,
                    problem: None,
                    racy: true,
                },
                &mut self.cx,
            ),
        }
    }

    pub(super) fn canvas_read(
        &mut self,
        path: &MirrorPath,
        result: Result<FileLook, DiskError>,
    ) -> Result<(), StoreError> {
        self.boards.unread.remove(path);
        match result {
            Ok(look) => self.take_in_canvas(&look),
            Err(DiskError::Missing(_)) => {
                self.folder.watch.scan_by(self.cx.now);
                Ok(())
            }
            Err(DiskError::Changed(_)) => {
                let later = self.cx.now.plus_ms(self.cx.settings.pages.settle_ms);
                self.boards.unread.insert(path.clone(), later);
                Ok(())
            }
            Err(error @ DiskError::RootNotReady(_)) => {
                self.disk_failed(path, &error);
                Ok(())
            }
            Err(error) => {
                let Some(mut file) = self.boards.files.get(path).cloned() else { return Ok(()) };
                // Whatever was read of it before: it is read again when it can be.
                file.hash = None;
                file.problem = Some(Problem::Unread(error.to_string()));
                self.boards.save_canvas_file(file, &mut self.cx)
            }
        }
    }

    /// Records what a canvas file holds. Its text is kept while it says something that is not settled.
    fn take_in_canvas(&mut self, look: &FileLook) -> Result<(), StoreError> {
        let Some(mut file) = self.boards.files.get(&look.path).cloned() else { return Ok(()) };
        let hash = ContentHash::of(&look.bytes);
        file.stamp = look.stamp;
        file.hash = Some(hash);
        file.racy = disk::is_racy(&look.stamp, look.clock);
        file.problem = None;
        let text = match std::str::from_utf8(&look.bytes) {
            Ok(text) => text,
            Err(_) => {
                file.problem = Some(Problem::NotText);
                return self.boards.save_canvas_file(file, &mut self.cx);
            }
        };
        let is_found = file.canvas.is_none();
        if is_found {
            file.canvas = self.missing_owner(&look.path, text, hash)?;
        }
        match file.canvas.clone() {
            Some(canvas) => {
                let agreed = self.boards.canvases.get(&canvas).and_then(|node| node.base.as_ref()?.text);
                let kept = self.boards.moment_of(&canvas).text.as_ref();
                let is_read_again = kept.is_some_and(|(of, _)| *of == hash);
                if agreed.is_some_and(|agreed| agreed != hash) && !is_read_again {
                    // The person who saves it has seen what became of it.
                    self.cx.store.drop_notices_at(look.path.as_str())?;
                }
                file.problem = self.boards.canvas_problem(&canvas, text, hash, &mut self.cx)?;
                if file.problem.is_none() {
                    let moment = self.boards.moment_of(&canvas);
                    moment.text = Some((hash, text.to_owned()));
                    if !is_read_again {
                        moment.writes.has_news();
                    }
                }
                self.boards.active.insert(canvas);
            }
            None => {
                let surface = match self.pages.trees.spot_of(&look.path, false, &self.cx.settings) {
                    Some(Spot::InDeck(_)) => Surface::Slide,
                    _ => Surface::Board,
                };
                let read = canvas::read(text, surface, &[], &Aliases::new(), &Origins::new());
                file.problem = read.err().map(Problem::Canvas);
                self.boards.wake_missing();
            }
        }
        if is_found {
            self.boards.bind_file(file, &mut self.cx)
        } else {
            self.boards.save_canvas_file(file, &mut self.cx)
        }
    }

    /// Takes in the answer to one of our disk effects.
    pub(in super::super) fn board_disk_done(
        &mut self,
        _flight: &Flight,
        purpose: Purpose,
        result: Result<DiskReply, DiskError>,
    ) -> Result<(), StoreError> {
        let tick = self.cx.tick;
        if let Some(canvas) = purpose.canvas().cloned() {
            self.boards.active.insert(canvas.clone());
            let ok = result.is_ok();
            let moment = self.boards.moment_of(&canvas);
            moment.acted = moment.acted.max(if matches!(purpose, Purpose::Write { .. }) { 0 } else { tick });
            if ok {
                moment.failing.count = 0;
                moment.held = None;
            }
        }
        match (purpose, result) {
            (Purpose::Read { path }, Ok(DiskReply::File(look))) => self.canvas_read(&path, Ok(look)),
            (Purpose::Read { path }, Err(error)) => self.canvas_read(&path, Err(error)),
            (Purpose::Write { canvas, path, writing, what }, Ok(DiskReply::Written(stamp))) => {
                self.boards.canvas_written(&canvas, &path, writing, what, stamp, &mut self.cx)
            }
            (Purpose::Copy { canvas, copy, text, summary }, Ok(DiskReply::Written(_))) => {
                self.boards.moment_of(&canvas).copied = Some(text);
                let beside = self.boards.canvases.get(&canvas).and_then(|node| node.file.clone());
                match beside {
                    Some(beside) => {
                        self.pages.trees.record_conflict(&copy, &beside, text, summary, &mut self.cx)
                    }
                    None => Ok(()),
                }
            }
            (Purpose::Rename { canvas, from, to, puts_back }, Ok(_)) => {
                self.canvas_renamed(&canvas, &from, &to, puts_back)
            }
            (Purpose::SetAside { canvas, from, to }, Ok(_)) => self.canvas_set_aside(&canvas, &from, &to),
            (Purpose::RenameFolder { deck, from, to, puts_back }, Ok(_)) => {
                self.deck_folder_renamed(&deck, &from, &to, puts_back)
            }
            (Purpose::TrashFile { canvas, path }, Ok(_)) => {
                self.boards.canvas_file_trashed(&canvas, &path, &mut self.cx)
            }
            (Purpose::RemoveFolder, _) => Ok(()),
            (Purpose::Draw { path, source, hash }, result) => self.drawn(&path, source, hash, result),
            (Purpose::CheckDrawn { path }, result) => self.drawing_checked(&path, result),
            (Purpose::TrashDrawn { path }, result) => self.drawing_trashed(&path, &result),
            (purpose, Err(error)) => {
                self.board_act_failed(&purpose, &error);
                Ok(())
            }
            (_, Ok(reply)) => {
                self.folder.watch.disk_reply_is_wrong(&reply, self.cx.now);
                Ok(())
            }
        }
    }

    fn board_act_failed(&mut self, purpose: &Purpose, error: &DiskError) {
        let path = MirrorPath::root();
        if let DiskError::Exists(taken) = error {
            self.boards.there.insert(taken.clone(), (false, Stamp::default()));
            self.folder.watch.scan_by(self.cx.now);
        } else {
            self.disk_failed(&path, error);
        }
        if let Purpose::RenameFolder { deck, .. } = purpose {
            return self.boards.deck_failed(deck, Fails::Disk(error.clone()), &mut self.cx);
        }
        let Some(canvas) = purpose.canvas().cloned() else {
            self.boards.draw_retry = self.cx.now.plus_ms(2_000);
            return;
        };
        let now = self.cx.now;
        let moment = self.boards.moment_of(&canvas);
        moment.failing.count += 1;
        moment.failing.until = now.plus_ms(retry::after_disk(error).wait_ms(moment.failing.count));
        if !retry::met_another_state(error) {
            moment.held = Some(Held::Disk(error.to_string()));
        }
    }

    /// Whether nothing in the folder is still to be looked at.
    pub(super) fn boards_are_quiet(&self) -> bool {
        self.folder.watch.is_quiet(self.cx.now) && self.boards.unread.is_empty()
    }
}

impl Boards {
    /// The files that are canvases', and those that are to be.
    pub(in super::super) fn canvas_files(&self) -> impl Iterator<Item = &CanvasFile> {
        self.files.values()
    }

    /// Notes which missing files are still seen, with the folders that they went with. One that is no longer seen has been
    /// missing from now on.
    fn note_elsewhere(&mut self, scan: &Scan, cx: &mut Context) -> Result<(), StoreError> {
        let is_any = !self.missed_objects.is_empty();
        let seen = scan.entries.iter().filter(|entry| is_any && is_stray(entry));
        let seen = seen.filter_map(|entry| Some((self.missed_as(&entry.stamp)?, &entry.path)));
        let now_there = seen.map(|(canvas, path)| (canvas.clone(), path.clone())).collect();
        let before = std::mem::replace(&mut self.elsewhere, now_there);
        let now = cx.now;
        for canvas in before.into_keys().filter(|id| !self.elsewhere.contains_key(id)).collect::<Vec<_>>() {
            self.edit_canvas(&canvas, |node| node.missing_since = node.missing_since.map(|_| now), cx)?;
            if let Some(deck) = canvas.deck() {
                self.edit_deck(deck, |node| node.missing_since = node.missing_since.map(|_| now), cx)?;
            }
        }
        Ok(())
    }

    /// A canvas whose file is no longer at `path`.
    pub(super) fn miss(
        &mut self,
        canvas: &CanvasId,
        path: &MirrorPath,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let now = cx.now;
        // A new file may be this one under another name.
        let new = self.files.values().filter(|file| file.canvas.is_none());
        let new: Vec<MirrorPath> = new.map(|file| file.path.clone()).collect();
        for path in new {
            self.unread.entry(path).or_insert(now);
        }
        self.edit_canvas(
            canvas,
            |node| {
                if node.file.as_ref() == Some(path) {
                    node.missing_from = node.file.take();
                    node.missing_since.get_or_insert(now);
                }
            },
            cx,
        )
    }

    /// Records a file, and its path at its canvas.
    pub(super) fn bind_file(&mut self, file: CanvasFile, cx: &mut Context) -> Result<(), StoreError> {
        if let Some(canvas) = file.canvas.clone() {
            let path = file.path.clone();
            self.edit_canvas(
                &canvas,
                |node| {
                    node.file = Some(path);
                    node.missing_since = None;
                    node.missing_from = None;
                },
                cx,
            )?;
        }
        self.save_canvas_file(file, cx)
    }

    /// Why a canvas's file must not be sent, if so.
    fn canvas_problem(
        &mut self,
        canvas: &CanvasId,
        text: &str,
        hash: ContentHash,
        cx: &mut Context,
    ) -> Result<Option<Problem>, StoreError> {
        let Some(node) = self.canvases.get(canvas).cloned() else { return Ok(None) };
        if let Some(writing) = self.writing.get(canvas).copied()
            && writing.text == hash
        {
            // A write of ours whose end was not seen.
            self.canvas_says(canvas, writing, cx)?;
            return Ok(None);
        }
        let base = cx.elements_at(node.base.as_ref().map(|base| base.elements))?;
        let names = self.names.get(canvas).cloned().unwrap_or_default();
        let local = match canvas::read(text, canvas.surface(), &base, &names, &Origins::new()) {
            Ok(local) => local,
            Err(why) => return Ok(Some(Problem::Canvas(why))),
        };
        if local.order.is_empty() && !base.is_empty() && !local.new.is_empty() {
            let ids: BTreeSet<&str> = local.new.iter().map(|(id, _)| id.as_str()).collect();
            let from = self.copied_from(canvas, cx)?;
            for other in self.canvases.values().filter(|other| !from.contains(&other.id)) {
                let theirs = cx.elements_at(other.base.as_ref().map(|base| base.elements))?;
                if theirs.iter().any(|element| ids.contains(id_of(element))) {
                    return Ok(Some(Problem::OthersNodes(other.file.clone())));
                }
            }
        }
        Ok(None)
    }

    pub(super) fn is_settling(&self, path: &MirrorPath) -> bool {
        self.unread.contains_key(path)
    }
}

pub(super) fn read_canvas_file(path: &MirrorPath) -> super::Choice {
    let path = path.clone();
    Some(super::on_disk(Effect::ReadFile(path.clone()), Purpose::Read { path }))
}

/// Whether a canvas's file may be seen in it although none belongs there.
pub(super) fn is_stray(entry: &Entry) -> bool {
    entry.kind == EntryKind::File
        && place::is_canvas_name(entry.path.name())
        && entry.path.components().next() != Some(storage::FOLDER)
}

/// Whether it can stand in the way of a canvas or of what is drawn, as all can but pages, what is stored, and their
/// folders, which are most of a mirror.
fn is_near(entry: &Entry) -> bool {
    let mut parts = entry.path.components();
    match (parts.next(), parts.next()) {
        (Some(storage::FOLDER), _) | (_, None) => false,
        (_, Some(PAGES)) => entry.kind != EntryKind::Folder && entry.path.page_stem().is_none(),
        _ => true,
    }
}
