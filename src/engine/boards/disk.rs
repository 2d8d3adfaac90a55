//! Takes in scans and reads of canvas files, and assigns the files to canvases. A file is identified by its file
//! object (device, inode, birth) at any path, and by its path if a program has put a new object there.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{PAGES, disk, storage};
use super::place::Spot;
use super::{Held, Purpose, place};
use crate::canvas::{self, Aliases, Origins};
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::flight::Flight;
use crate::engine::folder::{Folder, Root, Watching};
use crate::engine::retry::{self, Fails};
use crate::engine::trees::Trees;
use crate::model::{
    CanvasFile, CanvasId, CanvasNode, ContentHash, DeckNode, DiskError, DiskReply, Effect, Entry, EntryKind,
    Fault, FileObject, FileRead, MirrorPath, Presence, Problem, Scan, Stamp, Surface, Timestamp, Unreadable,
    guarded, id_of,
};
use crate::plan::barrier::Absent;
use crate::store::{Drawn, StoreError};

/// The canvas state of the last scans and reads.
#[derive(Debug, Default)]
pub(super) struct CanvasScan {
    /// Files to read, with the earliest time of each read.
    pub(super) unread: BTreeMap<MirrorPath, Timestamp>,
    /// All entries of the canvas areas at the last scan, and whether each is a folder.
    pub(super) there: BTreeMap<MirrorPath, (bool, Stamp)>,
    pub(super) scanned: bool,
    /// The canvases with missing files, by the file objects of those files: a file identified elsewhere is moved
    /// back.
    pub(super) missed_objects: BTreeMap<FileObject, (CanvasId, Stamp)>,
    /// Files that belong to no canvas yet.
    pub(super) untracked: BTreeMap<MirrorPath, super::follow::Untracked>,
    /// For missing files that the last scan saw outside the canvas areas, that path: they moved with their folders.
    pub(super) elsewhere: BTreeMap<CanvasId, MirrorPath>,
    /// Whether an unreadable item may hide the missing file of a canvas.
    pub(super) is_any_hidden: bool,
    /// The folders whose files without a canvas were compared with the canvases since the last scan.
    pub(super) taken_up: BTreeSet<MirrorPath>,
}

impl Boards {
    /// Takes in the canvas part of a scan.
    pub(in super::super) fn boards_scanned(
        &mut self,
        scan: &Scan,
        trees: &Trees,
        folder: &mut Folder,
        cx: &mut Context,
    ) {
        if !cx.boards_are_on() {
            return;
        }
        let mut seen: BTreeMap<MirrorPath, Stamp> = BTreeMap::new();
        let was_there = std::mem::take(&mut self.scan.there);
        self.scan.taken_up.clear();
        let decks_root = place::decks_root();
        let mut new_folders = BTreeMap::new();
        for entry in &scan.entries {
            let is_folder = entry.kind == EntryKind::Folder;
            if is_near(entry) || Some(&entry.path) == decks_root.as_ref() {
                self.scan.there.insert(entry.path.clone(), (is_folder, entry.stamp));
            }
            match trees.spot_of(&entry.path, is_folder, &cx.settings) {
                Some(Spot::DeckFolder) if self.deck_at(&entry.path).is_none() => {
                    let since = self.deck_folders.new_folders.get(&entry.path).copied().unwrap_or(cx.now);
                    new_folders.insert(entry.path.clone(), since);
                }
                Some(Spot::Board(_) | Spot::InDeck(_)) if entry.kind == EntryKind::File => {
                    seen.insert(entry.path.clone(), entry.stamp);
                }
                _ => {}
            }
        }
        self.deck_folders.new_folders = new_folders;
        let there = &self.scan.there;
        self.rejected.unmade.retain(|path, _| there.contains_key(path));
        let hidden = |path: &MirrorPath| scan.covers(path);
        self.note_moved_folders(&was_there, &seen, trees, &cx.settings);
        self.find_strays(scan, &mut seen, trees);
        self.follow_objects(&was_there, &seen, trees, cx);
        let missed = self.missed_canvases(trees);
        for (path, stamp) in &seen {
            self.take_in_stamp(&missed, path, *stamp, scan.clock, trees, cx);
        }
        // An earlier run may have read a file of a missing canvas and ended before it waited for the others.
        if !self.scan.scanned && self.canvases.values().any(|node| node.missing_since.is_some()) {
            self.scan
                .read_new_files(self.files.values().filter(|file| seen.contains_key(&file.path)), cx.now);
        }
        let gone: Vec<MirrorPath> =
            self.files.keys().filter(|path| !seen.contains_key(*path) && !hidden(path)).cloned().collect();
        for path in gone {
            let Some(file) = self.files.get(&path).cloned() else { continue };
            self.forget_canvas_file(&path, cx);
            if let Some(canvas) = file.canvas {
                self.scan.missed_objects.insert(file.stamp.object(), (canvas.clone(), file.stamp));
                self.miss(&canvas, &path, cx);
            }
        }
        self.bind_missed_slides(trees, cx);
        let is_missing =
            |canvas: &CanvasId| self.canvases.get(canvas).is_some_and(|node| node.missing_since.is_some());
        self.scan.missed_objects.retain(|_, (canvas, _)| is_missing(canvas));
        let is_any_hidden = self.hidden_canvases(&folder.root).next().is_some();
        if std::mem::replace(&mut self.scan.is_any_hidden, is_any_hidden) && !is_any_hidden {
            // A new file may be one that certainly went.
            self.scan.read_new_files(self.files.values(), cx.now);
        }
        let grace_ms = cx.settings.pages.delete_grace_ms;
        let copies_end = self.scan.note_untracked(&self.files, cx.now, folder.watch.scanned, grace_ms);
        self.note_elsewhere(scan, cx);
        self.keep_folders(trees, cx);
        self.note_missing_decks(&hidden, trees, &mut folder.watch, cx);
        self.check_drawn_stamps();
        self.scan.scanned = true;
        self.mark_missing_dirty();
        // Each grace time ends with a scan, even if another file has been missing for longer.
        let canvases = self.canvases.values().filter_map(|node| node.missing_since);
        let missing = canvases.chain(self.decks.values().filter_map(|deck| deck.missing_since));
        let ends = missing.map(|since| folder.root.barrier.grace_end(since, grace_ms)).chain(copies_end);
        if let Some(end) = ends.filter(|end| *end > folder.watch.scanned).min() {
            folder.watch.scan_by(end);
        }
    }

    /// Whether the folder of a presentation may be in an unreadable place, with a slide of it.
    pub(super) fn hides_deck(&self, deck: &DeckNode, root: &Root) -> bool {
        !deck.approved
            && self.slides_of(&deck.seen.id).any(|slide| self.scan.hides_canvas(slide, root).is_some())
    }

    /// The former paths of missing files that an unreadable item may hide, each with that item.
    pub(in super::super) fn hidden_canvases<'a>(
        &'a self,
        root: &'a Root,
    ) -> impl Iterator<Item = (&'a MirrorPath, &'a Unreadable)> {
        let nodes = self.canvases.values().filter(|node| node.presence == Presence::Listed);
        nodes.filter_map(|node| Some((node.missing_from.as_ref()?, self.scan.hides_canvas(node, root)?)))
    }

    fn take_in_stamp(
        &mut self,
        missed: &BTreeMap<MirrorPath, CanvasId>,
        path: &MirrorPath,
        stamp: Stamp,
        looked_at: Timestamp,
        trees: &Trees,
        cx: &mut Context,
    ) {
        let known = self.files.get(path).cloned();
        if known.is_some() && trees.ignoring.ignores_file(path) {
            // Unchanged since the last read.
            self.scan.unread.remove(path);
            return;
        }
        // A file that could not be read has no hash, and is tried again.
        let is_same = known.as_ref().is_some_and(|file| file.stamp == stamp && file.hash.is_some());
        if is_same && known.as_ref().is_some_and(|file| !file.racy || disk::is_racy(&stamp, looked_at)) {
            return;
        }
        // A canvas whose file was missing gets it back when a file is at its old path again.
        let is_missing = |id: &&CanvasId| self.canvases.get(*id).is_some_and(|node| node.file.is_none());
        let by_object = self.scan.missed_as(&stamp);
        let returned = by_object.into_iter().chain(missed.get(path)).find(is_missing).cloned();
        let quiet = cx.settings.pages.settle_ms;
        let rested = stamp.rested_ms(looked_at) >= quiet;
        let due = if rested { cx.now } else { cx.now.plus_ms(quiet) };
        self.scan.unread.insert(path.clone(), due);
        match known {
            // It is only verified.
            Some(_) if is_same => {}
            Some(mut file) => {
                file.stamp = stamp;
                file.hash = None;
                self.save_canvas_file(file, cx);
            }
            None => self.bind_file(
                CanvasFile {
                    path: path.clone(),
                    canvas: returned,
                    stamp,
                    hash: None,
                    problem: None,
                    racy: true,
                },
                cx,
            ),
        }
    }

    pub(super) fn canvas_read(
        &mut self,
        path: &MirrorPath,
        result: Result<FileRead, DiskError>,
        trees: &mut Trees,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        self.scan.unread.remove(path);
        match result {
            Ok(look) => self.take_in_canvas(&look, trees, &folder.root, cx)?,
            Err(DiskError::Missing(_)) => {
                folder.watch.scan_by(cx.now);
            }
            Err(DiskError::Changed(_)) => {
                let later = cx.now.plus_ms(cx.settings.pages.settle_ms);
                self.scan.unread.insert(path.clone(), later);
            }
            Err(error @ DiskError::RootNotReady(_)) => {
                folder.disk_failed(path, &error, trees, cx.now);
            }
            Err(error) => {
                let Some(mut file) = self.files.get(path).cloned() else { return Ok(()) };
                // An earlier read no longer counts: the file is read again when that is possible.
                file.hash = None;
                file.problem = Some(Problem::Unread(error.to_string()));
                self.save_canvas_file(file, cx);
            }
        }
        Ok(())
    }

    /// Records the content of a canvas file. Its text is kept while it has unsettled content.
    fn take_in_canvas(
        &mut self,
        look: &FileRead,
        trees: &Trees,
        root: &Root,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let Some(mut file) = self.files.get(&look.path).cloned() else { return Ok(()) };
        let hash = ContentHash::of(&look.bytes);
        file.stamp = look.stamp;
        file.hash = Some(hash);
        file.racy = disk::is_racy(&look.stamp, look.clock);
        file.problem = None;
        let text = match std::str::from_utf8(&look.bytes) {
            Ok(text) => text,
            Err(_) => {
                file.problem = Some(Problem::NotText);
                self.save_canvas_file(file, cx);
                return Ok(());
            }
        };
        let is_found = file.canvas.is_none();
        if is_found {
            let Ok(found) = guarded(|| self.missing_owner(&look.path, text, hash, (trees, root), cx)) else {
                file.problem = Some(Problem::Internal);
                self.save_canvas_file(file, cx);
                return Ok(());
            };
            let found = found?;
            file.canvas = self.owner_of(&look.path, found, cx.now);
        }
        match file.canvas.clone() {
            Some(canvas) => {
                let agreed = self.canvases.get(&canvas).and_then(|node| node.base.as_ref()?.text);
                let kept = self.runtime_of(&canvas).text.as_ref();
                let is_read_again = kept.is_some_and(|(of, _)| *of == hash);
                if agreed.is_some_and(|agreed| agreed != hash) && !is_read_again {
                    // The user who saves the file has seen the result of the event.
                    cx.store.drop_notices_at(look.path.as_str());
                }
                file.problem = self.canvas_problem(&canvas, text, hash, cx)?;
                if file.problem.is_none() {
                    let runtime = self.runtime_of(&canvas);
                    runtime.text = Some((hash, text.to_owned()));
                    if !is_read_again {
                        runtime.writes.has_news();
                    }
                }
                self.dirty.insert(canvas);
            }
            None => {
                let surface = match trees.spot_of(&look.path, false, &cx.settings) {
                    Some(Spot::InDeck(_)) => Surface::Slide,
                    _ => Surface::Board,
                };
                file.problem =
                    match guarded(|| canvas::read(text, surface, &[], &Aliases::new(), &Origins::new())) {
                        Ok(read) => read.err().map(Problem::Canvas),
                        Err(Fault) => Some(Problem::Internal),
                    };
                if file.problem != Some(Problem::Internal) {
                    self.note_likeness(&look.path, text, cx)?;
                }
                self.mark_missing_dirty();
            }
        }
        if is_found {
            self.bind_file(file, cx);
        } else {
            self.save_canvas_file(file, cx);
        }
        Ok(())
    }

    /// Takes in the answer to a canvas disk act.
    pub(in super::super) fn board_disk_done(
        &mut self,
        _flight: &Flight,
        purpose: Purpose,
        result: Result<DiskReply, DiskError>,
        trees: &mut Trees,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let tick = cx.tick;
        if let Some(canvas) = purpose.canvas().cloned() {
            self.dirty.insert(canvas.clone());
            let ok = result.is_ok();
            let runtime = self.runtime_of(&canvas);
            runtime.acted =
                runtime.acted.max(if matches!(purpose, Purpose::Write { .. }) { 0 } else { tick });
            if ok {
                runtime.failing.count = 0;
                runtime.held = None;
            }
        }
        match (purpose, result) {
            (Purpose::Read { path }, Ok(DiskReply::File(look))) => {
                self.canvas_read(&path, Ok(look), trees, folder, cx)?;
            }
            (Purpose::Read { path }, Err(error)) => self.canvas_read(&path, Err(error), trees, folder, cx)?,
            (Purpose::Write { canvas, path, writing, what }, Ok(DiskReply::Written(stamp))) => {
                self.canvas_written(&canvas, &path, writing, what, stamp, cx);
            }
            (Purpose::Copy { canvas, copy, text, summary }, Ok(DiskReply::Written(_))) => {
                let node = self.canvases.get(&canvas);
                let beside = node.and_then(|node| node.file.clone().or_else(|| node.missing_from.clone()));
                if let Some(beside) = beside {
                    trees.record_conflict(&copy, &beside, text, summary, cx)?;
                }
            }
            (Purpose::Rename { canvas, from, to, reverts_move }, Ok(_)) => {
                self.canvas_renamed(&canvas, &from, &to, reverts_move, trees, cx);
            }
            (Purpose::SetAside { canvas, from, to }, Ok(_)) => {
                self.canvas_set_aside(&canvas, &from, &to, trees, cx)?;
            }
            (Purpose::RenameFolder { deck, from, to, reverts_move }, Ok(_)) => {
                self.deck_folder_renamed(&deck, (&from, &to), reverts_move, trees, &mut folder.watch, cx)?;
            }
            (Purpose::TrashFile { canvas, path }, Ok(_)) => self.canvas_file_trashed(&canvas, &path, cx)?,
            (Purpose::RemoveFolder, _) => {}
            (Purpose::Draw { path, source, hash }, result) => {
                self.drawn(&path, |stamp| Drawn { source, hash, stamp }, result, trees, folder, cx);
            }
            (Purpose::CheckDrawn { path }, result) => {
                self.drawings.drawing_checked(&path, result, trees, folder, cx);
            }
            (Purpose::TrashDrawn { path }, result) => self.drawing_trashed(&path, &result, trees, folder, cx),
            (purpose, Err(error)) => {
                self.board_act_failed(&purpose, &error, trees, folder, cx);
            }
            (_, Ok(reply)) => {
                folder.watch.disk_reply_is_wrong(&reply, cx.now);
            }
        }
        Ok(())
    }

    fn board_act_failed(
        &mut self,
        purpose: &Purpose,
        error: &DiskError,
        trees: &mut Trees,
        folder: &mut Folder,
        cx: &mut Context,
    ) {
        let path = MirrorPath::root();
        if let DiskError::Exists(taken) = error {
            self.scan.there.insert(taken.clone(), (false, Stamp::default()));
            folder.watch.scan_by(cx.now);
        } else {
            folder.disk_failed(&path, error, trees, cx.now);
        }
        if let Purpose::RenameFolder { deck, .. } = purpose {
            return self.rejected.deck_failed(deck, Fails::Disk(error.clone()), cx);
        }
        let Some(canvas) = purpose.canvas().cloned() else {
            self.drawings.draw_retry = cx.now.plus_ms(2_000);
            return;
        };
        let now = cx.now;
        let runtime = self.runtime_of(&canvas);
        runtime.failing.count += 1;
        runtime.failing.until = now.plus_ms(retry::after_disk(error).wait_ms(runtime.failing.count));
        if !retry::met_another_state(error) {
            runtime.held = Some(Held::Disk(error.to_string()));
        }
    }
}

impl CanvasScan {
    /// The unreadable item that may hide the missing file of a canvas, unless the user approved that the file is
    /// gone.
    pub(super) fn hides_canvas<'a>(&self, node: &CanvasNode, root: &'a Root) -> Option<&'a Unreadable> {
        node.missing_since.filter(|_| !node.approved)?;
        let last = node.missing_from.as_ref()?;
        let known = self.missed_objects.iter();
        let object = known.filter(|(_, (canvas, _))| *canvas == node.id).map(|(object, _)| *object).next();
        root.barrier.hides(Absent { last: Some(last), object })
    }

    /// Whether no part of the folder is still to be scanned or read.
    pub(super) fn boards_are_quiet(&self, watch: &Watching, now: Timestamp) -> bool {
        watch.is_quiet(now) && self.unread.is_empty()
    }
}

impl Boards {
    /// The files that belong to canvases, and those from which canvases will be created.
    pub(in super::super) fn canvas_files(&self) -> impl Iterator<Item = &CanvasFile> {
        self.files.values()
    }

    /// Records which missing files are still seen, at the paths that they went to with their folders. A file that is
    /// no longer seen counts as missing from now on.
    fn note_elsewhere(&mut self, scan: &Scan, cx: &mut Context) {
        let is_any = !self.scan.missed_objects.is_empty();
        let seen = scan.entries.iter().filter(|entry| is_any && is_stray(entry));
        let seen = seen.filter_map(|entry| Some((self.scan.missed_as(&entry.stamp)?, &entry.path)));
        let now_there = seen.map(|(canvas, path)| (canvas.clone(), path.clone())).collect();
        let before = std::mem::replace(&mut self.scan.elsewhere, now_there);
        let now = cx.now;
        for canvas in
            before.into_keys().filter(|id| !self.scan.elsewhere.contains_key(id)).collect::<Vec<_>>()
        {
            self.edit_canvas(&canvas, |node| node.missing_since = node.missing_since.map(|_| now), cx);
            if let Some(deck) = canvas.deck() {
                self.edit_deck(deck, |node| node.missing_since = node.missing_since.map(|_| now), cx);
            }
        }
    }

    /// Records that a canvas's file is no longer at `path`.
    pub(super) fn miss(&mut self, canvas: &CanvasId, path: &MirrorPath, cx: &mut Context) {
        let now = cx.now;
        // A new file may be this one under another name.
        self.scan.read_new_files(self.files.values(), now);
        self.edit_canvas(
            canvas,
            |node| {
                if node.file.as_ref() == Some(path) {
                    node.missing_from = node.file.take();
                    node.missing_since.get_or_insert(now);
                }
            },
            cx,
        );
    }

    /// Stores a file, and its path at its canvas.
    pub(super) fn bind_file(&mut self, file: CanvasFile, cx: &mut Context) {
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
            );
        }
        self.save_canvas_file(file, cx);
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
        if let Some(writing) = self.pending_writes.get(canvas).copied()
            && writing.text == hash
        {
            // A write of ours whose end was not recorded.
            self.canvas_says(canvas, writing, cx);
            return Ok(None);
        }
        let base = cx.elements_at(node.base.as_ref().map(|base| base.elements))?;
        let names = self.names.get(canvas).cloned().unwrap_or_default();
        let local = match guarded(|| canvas::read(text, canvas.surface(), &base, &names, &Origins::new())) {
            Ok(Ok(local)) => local,
            Ok(Err(why)) => return Ok(Some(Problem::Canvas(why))),
            Err(Fault) => return Ok(Some(Problem::Internal)),
        };
        if !node.approved && local.order.is_empty() && !local.new.is_empty() {
            let ids: BTreeSet<&str> = local.new.iter().map(|(id, _)| id.as_str()).collect();
            let from = self.copied_from(canvas, cx)?;
            for other in self.canvases.values().filter(|other| !from.contains(&other.id)) {
                // An open editor saves to the place that the other's file had. Of an empty canvas all else may be a copy.
                let stood = self.runtimes.get(&other.id).and_then(|runtime| runtime.stood.as_ref());
                if base.is_empty() && (stood.is_none() || stood != node.file.as_ref()) {
                    continue;
                }
                let theirs = cx.elements_at(other.base.as_ref().map(|base| base.elements))?;
                if theirs.iter().any(|element| ids.contains(id_of(element))) {
                    return Ok(Some(Problem::OthersNodes(other.file.clone())));
                }
            }
        }
        Ok(None)
    }
}

impl CanvasScan {
    /// Requests a read of those files that belong to no canvas.
    fn read_new_files<'a>(&mut self, files: impl Iterator<Item = &'a CanvasFile>, now: Timestamp) {
        for file in files.filter(|file| file.canvas.is_none()) {
            self.unread.entry(file.path.clone()).or_insert(now);
        }
    }

    pub(super) fn is_settling(&self, path: &MirrorPath) -> bool {
        self.unread.contains_key(path)
    }
}

pub(super) fn read_canvas_file(path: &MirrorPath) -> super::Choice {
    let path = path.clone();
    Some(super::on_disk(Effect::ReadFile(path.clone()), Purpose::Read { path }))
}

/// Whether an entry may be a canvas's file outside the canvas areas.
pub(super) fn is_stray(entry: &Entry) -> bool {
    entry.kind == EntryKind::File
        && place::is_canvas_name(entry.path.name())
        && entry.path.components().next() != Some(storage::FOLDER)
}

/// Whether an entry can be in the way of a canvas or of a generated file. Pages, stored files and their folders
/// cannot, and they are most of a mirror.
fn is_near(entry: &Entry) -> bool {
    let mut parts = entry.path.components();
    match (parts.next(), parts.next()) {
        (Some(storage::FOLDER), _) | (_, None) => false,
        (_, Some(PAGES)) => entry.kind != EntryKind::Folder && entry.path.page_stem().is_none(),
        _ => true,
    }
}
