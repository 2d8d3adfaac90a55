//! Identifies files whose path, or whose file object, is not the known one of their canvas: files and folders that
//! were moved or saved under other names.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::adopt::home_of;
use super::candidates::Candidate;
use super::disk::{CanvasScan, is_stray};
use super::place::{Spot, stem_of};
use crate::canvas::{self, Aliases};
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::folder::Root;
use crate::engine::trees::Trees;
use crate::model::{
    CanvasFile, CanvasId, CanvasItem, CanvasNode, ContentHash, Entry, Expect, FileObject, MirrorPath,
    Presence, Scan, Settings, Stamp, Timestamp, id_of,
};
use crate::plan::naming::still_says;
use crate::store::{Store, StoreError};

/// A file that belongs to no canvas yet.
#[derive(Debug, Clone)]
pub(super) struct Untracked {
    /// Time of the scan that first showed it here.
    since: Timestamp,
    /// Whether a scan after the grace time showed it too.
    is_there_still: bool,
    /// Whether it has nodes of a canvas, or was not read here: it may be that canvas's file under another name, or a
    /// copy of it.
    is_like_another: bool,
    /// The missing canvas whose nodes it has.
    pub(super) candidate: Option<Candidate>,
    /// The ids of its nodes and edges, during the first comparison.
    pub(super) ids: BTreeSet<String>,
}

impl Boards {
    /// Adds canvas files that were moved out of the canvas areas to the seen ones, so that they are moved back.
    /// Excluded are paths in the storage folder, and files without a canvas name, because programs move a file out of
    /// the way before they save over it.
    pub(super) fn find_strays(&self, scan: &Scan, seen: &mut BTreeMap<MirrorPath, Stamp>, trees: &Trees) {
        // A renamed folder may get its name back as a whole: its files count as missing, and are not moved back one
        // by one.
        let has_home = |canvas: &CanvasId| {
            let home = self.canvases.get(canvas).and_then(|node| home_of(self, node, trees));
            home.is_some_and(|home| self.scan.there.contains_key(&home))
        };
        let gone = self.files.values().filter(|file| !seen.contains_key(&file.path));
        let gone = gone.filter_map(|file| Some((file.stamp, file.canvas.as_ref()?)));
        let missed = self.scan.missed_objects.values().map(|(canvas, stamp)| (*stamp, canvas));
        let gone = gone.chain(missed).filter(|(_, canvas)| has_home(canvas));
        let gone: BTreeMap<_, _> = gone.map(|(stamp, _)| (stamp.object(), stamp)).collect();
        if gone.is_empty() {
            return;
        }
        let was = |entry: &Entry| gone.get(&entry.stamp.object());
        let is_one =
            |entry: &&Entry| was(entry).is_some_and(|was| was.is_same_file(&entry.stamp)) && is_stray(entry);
        let strays = scan.entries.iter().filter(is_one);
        seen.extend(strays.map(|entry| (entry.path.clone(), entry.stamp)));
    }

    /// Records the folders of presentations with other names than at the last scan. A folder's own time shows when
    /// its entries changed, and is not changed by a rename.
    pub(super) fn note_moved_folders(
        &mut self,
        was_there: &BTreeMap<MirrorPath, (bool, Stamp)>,
        seen: &BTreeMap<MirrorPath, Stamp>,
        trees: &Trees,
        settings: &Settings,
    ) {
        let before = std::mem::take(&mut self.deck_folders.moved_folders);
        let mut last_seen = std::mem::take(&mut self.deck_folders.last_seen);
        last_seen.retain(|deck, _| self.decks.contains_key(deck));
        // Rarely needed, and expensive: it reads all files.
        let moves = LazyCell::new(|| moves(&self.files, seen));
        let there = &self.scan.there;
        let is_free = |path: &MirrorPath| {
            there.get(path).is_some_and(|(is_folder, _)| *is_folder)
                && trees.spot_of(path, true, settings) == Some(Spot::DeckFolder)
                && self.deck_at(path).is_none()
        };
        let mut moved = BTreeMap::new();
        for deck in self.decks.keys() {
            let Some(folder) = self.deck_folder(deck) else { continue };
            if let Some((_, stamp)) = there.get(&folder) {
                last_seen.insert(deck.clone(), *stamp);
                continue;
            }
            let was =
                was_there.get(&folder).map(|(_, stamp)| *stamp).or_else(|| last_seen.get(deck).copied());
            let is_it = |(_, stamp): &(bool, Stamp)| was.is_some_and(|was| was.is_same_file(stamp));
            let by_object = there.iter().find(|(path, entry)| is_it(entry) && is_free(path));
            // Its generated files moved with it. They identify it even if no scan has shown the folder itself.
            let drawn: Vec<Stamp> = self
                .drawings
                .drawn
                .iter()
                .filter(|(path, _)| path.is_within(&folder))
                .map(|(_, drawn)| drawn.stamp)
                .collect();
            let is_drawn = |stamp: &Stamp| drawn.iter().any(|was| was.is_same_file(stamp));
            let by_picture = || {
                let pictures = there.iter().filter(|(_, (is_folder, stamp))| !is_folder && is_drawn(stamp));
                pictures.filter_map(|(path, _)| path.parent()).find(|path| is_free(path))
            };
            // A file in it that is no slide yet moved with it too.
            let by_file = || {
                let moved = moves.iter().filter(|(from, _)| from.is_within(&folder));
                moved.filter_map(|(_, to)| to.parent()).find(|path| is_free(path))
            };
            let now = by_object.map(|(path, _)| path.clone()).or_else(by_picture).or_else(by_file);
            let now = now.or_else(|| before.get(deck).filter(|path| is_free(path)).cloned());
            let is = now.as_ref().and_then(|path| there.get(path)).map(|(_, stamp)| *stamp);
            last_seen.extend(is.or(was).map(|stamp| (deck.clone(), stamp)));
            moved.extend(now.map(|path| (deck.clone(), path)));
        }
        (self.deck_folders.moved_folders, self.deck_folders.last_seen) = (moved, last_seen);
    }

    /// Stores the file objects of the folders of presentations, so that a folder renamed while espejo is not running
    /// is identified.
    pub(super) fn keep_folders(&mut self, trees: &Trees, cx: &mut Context) {
        let folders = self.scan.there.iter().filter(|(path, (is_folder, _))| {
            *is_folder && trees.spot_of(path, true, &cx.settings) == Some(Spot::DeckFolder)
        });
        let mut folders: BTreeMap<String, FileObject> =
            folders.map(|(path, (_, stamp))| (path.to_string(), stamp.object())).collect();
        for (deck, stamp) in &self.deck_folders.last_seen {
            let own = self.deck_folder(deck).map(|folder| folder.to_string());
            own.into_iter().for_each(|own| _ = folders.entry(own).or_insert(stamp.object()));
        }
        let text = serde_json::json!(folders).to_string();
        if self.deck_folders.kept_folders != text {
            cx.store.set_meta(FOLDERS, &text);
            self.deck_folders.kept_folders = text;
        }
    }

    /// Folders with a pending creation of a presentation that have another name than at the last scan: found by the
    /// folder's object, or by the new paths of its files.
    fn moved_deck_folders(
        &self,
        was_there: &BTreeMap<MirrorPath, (bool, Stamp)>,
        files: &[(MirrorPath, MirrorPath)],
        trees: &Trees,
        settings: &Settings,
    ) -> Vec<(MirrorPath, MirrorPath)> {
        let is_folder = |path: &MirrorPath| {
            trees.spot_of(path, true, settings) == Some(Spot::DeckFolder)
                && self.scan.there.contains_key(path)
        };
        let asked = self.creations.drafts().filter_map(|draft| match &draft.item {
            CanvasItem::Deck(folder, _) => {
                Some(folder).filter(|folder| !self.scan.there.contains_key(*folder))
            }
            _ => None,
        });
        let now = asked.filter_map(|from| {
            let object = was_there.get(from).map(|(_, stamp)| stamp.object());
            let same = self
                .scan
                .there
                .iter()
                .filter(|(path, (_, stamp))| object == Some(stamp.object()) && is_folder(path));
            let of_files = files.iter().filter(|(old, _)| old.parent().as_ref() == Some(from));
            let mut of_files = of_files.filter_map(|(_, new)| new.parent()).filter(|path| is_folder(path));
            let to = same.map(|(path, _)| path.clone()).next().or_else(|| of_files.next())?;
            Some((from.clone(), to))
        });
        now.collect()
    }

    /// Moves canvases with their files, also if two files have swapped places.
    pub(super) fn follow_objects(
        &mut self,
        was_there: &BTreeMap<MirrorPath, (bool, Stamp)>,
        seen: &BTreeMap<MirrorPath, Stamp>,
        trees: &Trees,
        cx: &mut Context,
    ) {
        let moves = moves(&self.files, seen);
        let mut moved = Vec::new();
        for (from, to) in &moves {
            if let Some(file) = self.files.get(from).cloned() {
                self.files.remove(from);
                cx.store.delete_canvas_file(from);
                moved.push(CanvasFile { path: to.clone(), ..file });
            }
        }
        self.scan.untracked_moved(&moves);
        let folders = self.moved_deck_folders(was_there, &moves, trees, &cx.settings);
        self.follow_board_creations(&[&moves[..], &folders].concat(), cx);
        let landed: BTreeSet<MirrorPath> = moves.iter().map(|(_, to)| to.clone()).collect();
        for mut file in moved {
            let overwritten = self.files.get(&file.path).and_then(|old| old.canvas.clone());
            match overwritten {
                Some(canvas) if file.canvas.is_some() => self.miss(&canvas, &file.path, cx),
                // A file was moved over it, as programs do that save to a temporary name first.
                Some(canvas) => {
                    (file.canvas, file.hash, file.problem) = (Some(canvas), None, None);
                }
                None => {}
            }
            self.bind_file(file, cx);
        }
        for (from, _) in &moves {
            if let Some((canvas, _)) = self
                .canvases
                .iter()
                .find(|(_, node)| node.file.as_ref() == Some(from))
                .map(|(id, node)| (id.clone(), node.clone()))
                && !landed.contains(from)
            {
                self.miss(&canvas, from, cx);
            }
        }
    }

    /// Canvases with missing files, by the paths at which a file would be theirs, or theirs again.
    pub(super) fn missed_canvases(&self, trees: &Trees) -> BTreeMap<MirrorPath, CanvasId> {
        let missed = self.canvases.values().filter(|node| node.missing_since.is_some());
        let place = |node: &CanvasNode| match node.id {
            CanvasId::Board(_) => node.missing_from.clone(),
            // The number of a slide identifies it, whatever was at that path before. If another slide has got this
            // number since, only the content identifies it.
            CanvasId::Slide(ref deck, _) => node.missing_from.clone().filter(|from| {
                let mut others = self.slides_of(deck).filter(|other| other.id != node.id);
                let is_free = others.all(|other| self.canvas_place(other, trees).as_ref() != Some(from));
                is_free && self.deck_folder(deck) == from.parent()
            }),
        };
        let missed = missed.filter_map(|node| Some((place(node)?, node.id.clone())));
        // The first scan after a kill stands for the answers to the first writes of files.
        let in_writing = self.pending_writes.keys().filter(|_| !self.scan.scanned);
        let in_writing = in_writing.filter_map(|id| self.canvases.get(id));
        let in_writing = in_writing.filter(|node| node.base.is_none() && node.file.is_none());
        missed
            .chain(in_writing.filter_map(|node| Some((node.missing_from.clone()?, node.id.clone()))))
            .collect()
    }

    /// Binds files without a canvas at the paths of missing slides to those slides.
    pub(super) fn bind_missed_slides(&mut self, trees: &Trees, cx: &mut Context) {
        let missed = self.missed_canvases(trees).into_iter();
        for (path, canvas) in missed.filter(|(_, canvas)| canvas.deck().is_some()) {
            if self.is_canvas_asked_for(&path) {
                continue;
            }
            if let Some(file) = self.files.get(&path).filter(|file| file.canvas.is_none()).cloned() {
                self.bind_file(CanvasFile { canvas: Some(canvas), hash: None, ..file }, cx);
                self.scan.unread.insert(path, cx.now);
            }
        }
    }

    /// Whether the missing file of a canvas may still exist: in an unreadable place, or as a new file that could not
    /// be read yet.
    pub(super) fn may_be_somewhere(&self, node: &CanvasNode, root: &Root) -> bool {
        !node.approved && (self.scan.hides_canvas(node, root).is_some() || self.may_be_unread())
    }

    /// The canvas that waits for its first file, if this file is its: a kill came between the write of the file and
    /// the record of it, or the former file is back before the write.
    fn awaited_by(
        &self,
        path: &MirrorPath,
        text: &str,
        hash: ContentHash,
        trees: &Trees,
        cx: &Context,
    ) -> Result<Option<CanvasId>, StoreError> {
        let none = Aliases::new();
        let spot = trees.spot_of(path, false, &cx.settings);
        let mut found = Vec::new();
        for node in self.canvases.values().filter(|node| node.base.is_none() && node.file.is_none()) {
            let is_place = match (&spot, &node.id) {
                (Some(Spot::Board(space)), CanvasId::Board(_)) => node.workspace.as_ref() == Some(space),
                (Some(Spot::InDeck(_)), CanvasId::Slide(..)) => true,
                _ => false,
            };
            if !is_place {
                continue;
            }
            let writing = self.pending_writes.get(&node.id);
            let is_ours = writing.is_some_and(|writing| writing.text == hash);
            let elements = cx.elements_at(node.remote)?;
            let is_named = match node.id.deck() {
                Some(deck) => self.deck_folder(deck) == path.parent(),
                None => still_says(stem_of(path), &node.name),
            };
            let names = self.names.get(&node.id).unwrap_or(&none);
            let here = canvas::named_in(text, &elements, names);
            let is_share = here >= elements.len().div_ceil(2).max(1) && !self.is_copy(hash);
            // What espejo wrote has the name that the whiteboard or presentation had then: it may have been renamed since.
            // All files without nodes are alike.
            if (is_ours || is_share) && (is_named || writing.is_some() && here > 0) {
                found.push(node.id.clone());
            }
        }
        Ok(found.pop().filter(|_| found.is_empty()))
    }

    /// Whether the file of a canvas has the same content. A copy keeps nodes that the API cannot create, even if it
    /// has nodes of other canvases.
    fn is_copy(&self, hash: ContentHash) -> bool {
        self.files.values().any(|file| file.canvas.is_some() && file.hash == Some(hash))
    }

    /// The canvas whose missing file is this one: saved under another name, the old file removed. The file has the
    /// content of the missing one, or half of its nodes. Slides have no names, so for a slide in its own folder one
    /// node is enough, and for a slide without nodes none is needed.
    pub(super) fn missing_owner(
        &self,
        path: &MirrorPath,
        text: &str,
        hash: ContentHash,
        (trees, root): (&Trees, &Root),
        cx: &Context,
    ) -> Result<Option<Candidate>, StoreError> {
        if let Some(canvas) = self.awaited_by(path, text, hash, trees, cx)? {
            return Ok(Some(Candidate { canvas, nodes: None }));
        }
        let is_in_deck = path.parent().is_some_and(|folder| self.deck_at(&folder).is_some());
        let missing: Vec<&CanvasNode> = self
            .canvases
            .values()
            .filter(|node| node.missing_since.is_some() && node.file.is_none())
            // An item that a list lacks may still exist.
            .filter(|node| node.presence != Presence::Gone && node.base.is_some())
            // The slides of a removed folder do not come back because another presentation has a copy of one.
            .filter(|node| !is_in_deck || node.id.deck().is_none_or(|deck| !self.is_deck_missing(deck)))
            .collect();
        // A file with a pending creation belongs to that creation.
        if missing.is_empty() || self.is_canvas_asked_for(path) {
            return Ok(None);
        }
        // A file that existed beside the canvas's own file is another file, however similar: nodes that it lacks were
        // not removed. If it lacks none, and did not exist for the grace time, a program saved the canvas under this
        // name.
        let since = self.scan.untracked.get(path).map(|file| file.since);
        let beside_until = since.map(|since| since.plus_ms(cx.settings.pages.delete_grace_ms));
        let is_before = |time: Option<Timestamp>, node: &CanvasNode| {
            time.is_some_and(|time| Some(time) < node.missing_since)
        };
        let is_copy = self.is_copy(hash);
        let has_nodes = !canvas::ids_in(text).is_empty();
        let none = Aliases::new();
        let mut found = Vec::new();
        for node in missing {
            let Some(base) = &node.base else { continue };
            // A file that is perhaps out of sight has not been saved as one that existed beside it.
            if is_before(since, node) && self.scan.hides_canvas(node, root).is_some() {
                continue;
            }
            // The nodes whose creations are pending are in its file and not in the base yet.
            let mut elements = cx.store.elements(base.elements)?;
            elements.extend(self.nodes_being_made(&node.id).map(|id| json!({ "id": id })));
            let names = self.names.get(&node.id).unwrap_or(&none);
            let here = canvas::named_in(text, &elements, names);
            let unsent = self.runtimes.get(&node.id).and_then(|runtime| runtime.text.as_ref());
            let was_here = node.missing_from.as_ref().map(MirrorPath::parent) == Some(path.parent());
            let is_blank = elements.is_empty() && unsent.is_none();
            // All files without nodes are alike: in another folder, or beside the canvas's own file, such a file is
            // another one.
            let is_same = (has_nodes || was_here && !is_before(since, node))
                && (base.text == Some(hash) || unsent.is_some_and(|(of, _)| *of == hash));
            let enough = match node.id.deck() {
                _ if is_before(since, node) => elements.len().max(1),
                Some(_) if was_here => usize::from(!is_blank),
                _ => elements.len().div_ceil(2).max(1),
            };
            if is_same || here >= enough && !is_copy && !is_before(beside_until, node) {
                // A copy of another missing canvas has aliases for that one's nodes, and is the weaker match. A copy's
                // file keeps some nodes of the original, and has all of its own.
                let by_ids = canvas::named_in(text, &elements, &none) > 0;
                // If the original of such nodes has its file, this one is another copy of it.
                if !is_same && !by_ids && self.original_is_here(&node.id, cx)? {
                    continue;
                }
                let share = here * 1_000 / elements.len().max(1);
                let nodes = (!is_same).then_some(here);
                found.push(((is_same, by_ids, share), Candidate { canvas: node.id.clone(), nodes }));
            }
        }
        let best = found.iter().map(|(rank, _)| *rank).max();
        found.retain(|(rank, _)| Some(*rank) == best);
        Ok(if found.len() == 1 { found.pop().map(|(_, found)| found) } else { None })
    }
}

impl Boards {
    /// Whether a creation from a file is pending.
    pub(super) fn is_canvas_asked_for(&self, path: &MirrorPath) -> bool {
        self.creations.drafts().any(|draft| draft.item.source() == Some(path))
    }

    /// Records whether a file without a canvas has nodes of one, and which.
    pub(super) fn note_likeness(
        &mut self,
        path: &MirrorPath,
        text: &str,
        cx: &Context,
    ) -> Result<(), StoreError> {
        let is_like_another = self.is_like_another(path, text, cx)?;
        if let Some(untracked) = self.scan.untracked.get_mut(path) {
            untracked.ids = if self.bootstrap { canvas::ids_in(text) } else { BTreeSet::new() };
            untracked.is_like_another = is_like_another;
        }
        Ok(())
    }

    fn is_like_another(&self, path: &MirrorPath, text: &str, cx: &Context) -> Result<bool, StoreError> {
        let none = Aliases::new();
        let ids = canvas::strange_ids(text, &[], &none);
        if ids.is_empty() {
            // A program that writes a renamed file in place empties it first.
            let missed = self.canvases.values().filter(|node| node.missing_since.is_some());
            let mut left = missed.filter_map(|node| node.missing_from.as_ref());
            return Ok(left.any(|from| from.parent() == path.parent()));
        }
        for node in self.canvases.values() {
            let agreed = cx.elements_at(node.base.as_ref().map(|base| base.elements))?;
            let named = self.names.get(&node.id).unwrap_or(&none);
            let unsent = self.runtimes.get(&node.id).and_then(|runtime| runtime.text.as_ref());
            let unsent = unsent.map(|(_, text)| canvas::strange_ids(text, &[], &none)).unwrap_or_default();
            let mut names = agreed.iter().map(id_of).chain(named.keys().chain(&unsent).map(String::as_str));
            if names.any(|id| ids.contains(id)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Marks canvases with missing files dirty.
    pub(super) fn mark_missing_dirty(&mut self) {
        let missing = self.canvases.values().filter(|node| node.missing_since.is_some());
        self.dirty.extend(missing.map(|node| node.id.clone()).collect::<Vec<_>>());
    }

    /// Whether a new file could not be read yet, or holds no valid canvas, for example because of merge marks: it may
    /// be a missing file.
    pub(super) fn may_be_unread(&self) -> bool {
        let says_nothing = |file: &CanvasFile| file.hash.is_none() || file.problem.is_some();
        self.files.values().any(|file| file.canvas.is_none() && says_nothing(file))
    }
}

impl CanvasScan {
    /// Records when the files without a canvas were first seen. Returns the ends of the grace times of those with
    /// nodes of canvases.
    pub(super) fn note_untracked(
        &mut self,
        files: &BTreeMap<MirrorPath, CanvasFile>,
        now: Timestamp,
        scanned: Timestamp,
        grace_ms: i64,
    ) -> Vec<Timestamp> {
        let mut before = std::mem::take(&mut self.untracked);
        let first = || Untracked {
            since: now,
            is_there_still: false,
            is_like_another: true,
            candidate: None,
            ids: BTreeSet::new(),
        };
        let mut ends = Vec::new();
        for file in files.values().filter(|file| file.canvas.is_none()) {
            let mut untracked = before.remove(&file.path).unwrap_or_else(first);
            let end = untracked.since.plus_ms(grace_ms);
            untracked.is_there_still = scanned >= end;
            ends.extend(Some(end).filter(|_| untracked.is_like_another));
            self.untracked.insert(file.path.clone(), untracked);
        }
        ends
    }

    /// Keeps what is known of files without a canvas when they get other paths.
    pub(super) fn untracked_moved(&mut self, moves: &[(MirrorPath, MirrorPath)]) {
        let moved = moves.iter().filter_map(|(from, to)| Some((to.clone(), self.untracked.remove(from)?)));
        let moved: Vec<_> = moved.collect();
        self.untracked.extend(moved);
    }

    /// Records a file that espejo put into its place, and its folder, before a scan shows them.
    pub(super) fn now_there(&mut self, path: &MirrorPath, stamp: Stamp) {
        self.there.insert(path.clone(), (false, stamp));
        if let Some(folder) = path.parent() {
            self.there.entry(folder).or_insert((true, Stamp::default()));
        }
    }

    /// The expectation of a first write to `path`: a folder that was seen is not created again, because it may have
    /// been renamed since.
    pub(super) fn nothing_at(&self, path: &MirrorPath) -> Expect {
        let stands = path.parent().is_some_and(|folder| self.there.contains_key(&folder));
        if stands { Expect::AbsentHere } else { Expect::Absent }
    }

    /// The canvas whose missing file this may be.
    pub(super) fn missed_as(&self, stamp: &Stamp) -> Option<&CanvasId> {
        let (canvas, was) = self.missed_objects.get(&stamp.object())?;
        was.is_same_file(stamp).then_some(canvas)
    }

    /// Whether a canvas may be created from a file without one. A program that saves a canvas under another name
    /// removes the old file later: a file with nodes of a canvas is a copy if it still exists at the end of the grace
    /// time, and no canvas's file may have gone out of sight.
    pub(super) fn may_be_new(&self, path: &MirrorPath) -> bool {
        let is_copy = |file: &Untracked| file.is_there_still && !self.is_any_hidden;
        self.untracked.get(path).is_none_or(|file| !file.is_like_another || is_copy(file))
    }
}

/// The files that moved, identified by their objects: old and new path.
fn moves(
    files: &BTreeMap<MirrorPath, CanvasFile>,
    seen: &BTreeMap<MirrorPath, Stamp>,
) -> Vec<(MirrorPath, MirrorPath)> {
    let mut by_object: BTreeMap<FileObject, Vec<(MirrorPath, Stamp)>> = BTreeMap::new();
    for file in files.values() {
        by_object.entry(file.stamp.object()).or_default().push((file.path.clone(), file.stamp));
    }
    let mut moves: Vec<(MirrorPath, MirrorPath)> = Vec::new();
    for (path, stamp) in seen {
        if files.get(path).is_some_and(|file| file.stamp.object() == stamp.object()) {
            continue;
        }
        let [(from, was)] = by_object.get(&stamp.object()).map_or(&[][..], Vec::as_slice) else {
            continue;
        };
        if !was.is_same_file(stamp) {
            continue;
        }
        // It is also at its old path: a second hard link to one file, and no move.
        let stays = seen.get(from).is_some_and(|there| there.object() == stamp.object());
        if !stays && !moves.iter().any(|(_, to)| to == path) {
            moves.push((from.clone(), path.clone()));
        }
    }
    moves
}

/// The key in `meta` of the file objects of presentations' folders, as JSON.
const FOLDERS: &str = "deck_folders";

/// The entries by path, and whether each is a folder.
type Seen = BTreeMap<MirrorPath, (bool, Stamp)>;

/// The folders of presentations that an earlier run saw.
pub(super) fn remembered_folders(store: &Store) -> Result<(String, Seen), StoreError> {
    let text = store.meta(FOLDERS)?.unwrap_or_default();
    let folders: BTreeMap<String, FileObject> = serde_json::from_str(&text).unwrap_or_default();
    let folders = folders.into_iter().filter_map(|(path, (device, inode, born_ns))| {
        let stamp = Stamp { device, inode, born_ns, ..Stamp::default() };
        Some((MirrorPath::new(&path).ok()?, (true, stamp)))
    });
    Ok((text, folders.collect()))
}

#[cfg(test)]
mod tests;
