//! What people's hands do to canvas files, and what that takes away.

use std::collections::BTreeSet;

use espejo::model::{CanvasId, EntryKind, MirrorPath, id_of};
use espejo::plan::naming;

use super::app::words_of;
use super::nodes::{Nodes, has_nodes, nodes_of, parsed};
use super::people::{self, Deed, is_canvas_file, is_slide_file};
use super::verbs::Canvas;
use crate::folder::Thing;
use crate::owner::is_odd;
use crate::run::{Run, listed};
use crate::users::Plan;
use crate::words::{Word, words_in};

impl Run {
    /// What a person at the folder does in a step.
    pub(crate) fn plan_canvas(&mut self, act: Canvas, picks: (u32, u32)) -> Option<Plan> {
        let kinds = (self.scene.boards > 0, self.scene.decks > 0);
        people::plan(act, picks, kinds, self.scene.grace_ms, &self.folder, &mut self.ledger)
    }

    /// A person does one thing to canvas files.
    pub(crate) fn on_canvas_files(&mut self, deed: Deed) {
        let held = words_in(deed.held());
        let was = self.words_of_canvas_files();
        let is_mended = matches!(deed, Deed::Mend(..));
        let deed = match deed {
            Deed::Mend(stamp, bytes) => {
                let object = stamp.object();
                self.folder.set_open(stamp.inode, false);
                let is_it = |(path, thing): &(&MirrorPath, &Thing)| {
                    let is_spoilt = parsed(&thing.bytes).is_none();
                    let is_canvas = path.name().ends_with(".canvas") || is_odd(path);
                    thing.stamp.object() == object && is_spoilt && is_canvas
                };
                match self.folder.things.iter().find(is_it).map(|(path, _)| path.clone()) {
                    Some(path) => Deed::Write(path, bytes),
                    // It was saved over, or is gone: what is in hand is thrown away.
                    None => Deed::Unlink(MirrorPath::root()),
                }
            }
            Deed::WriteOn(stamp, path, bytes) => {
                self.folder.set_open(stamp.inode, false);
                // Without births its number may be another file's by now.
                let is_certain = |at: &MirrorPath, thing: &Thing| {
                    stamp.born_ns != 0 || *at == path || thing.words.iter().any(|word| held.contains(word))
                };
                let is_it = |(at, thing): &(&MirrorPath, &Thing)| {
                    let is_object = thing.kind == EntryKind::File && thing.stamp.object() == stamp.object();
                    is_object && at.name().ends_with(".canvas") && is_certain(at, thing)
                };
                let is_cut = |thing: &Thing| thing.kind == EntryKind::File && thing.bytes.is_empty();
                // What was cut off under its name is what is written on, though that is another file by then.
                let at = match self.folder.things.get(&path).filter(|thing| is_cut(thing)) {
                    Some(_) => None,
                    None => self.folder.things.iter().find(is_it).map(|(at, _)| at.clone()),
                };
                Deed::WriteBack(at.unwrap_or(path), bytes)
            }
            deed => deed,
        };
        let is_accident = matches!(deed, Deed::Spoil(..));
        let (from, to) = match &deed {
            Deed::Rename(from, to) => (from.clone(), Some(to.clone())),
            Deed::Write(path, _)
            | Deed::WriteBack(path, _)
            | Deed::Replace(path, _)
            | Deed::Spoil(_, path, _)
            | Deed::Unlink(path)
            | Deed::RemoveTree(path)
            | Deed::MakeFolder(path) => (path.clone(), None),
            Deed::Mend(..) | Deed::WriteOn(..) => return,
        };
        let touched: Vec<MirrorPath> = std::iter::once(&from)
            .chain(&to)
            .filter(|path| !path.is_root())
            .flat_map(|path| self.folder.within(path))
            .collect();
        let before: Vec<Word> = touched
            .iter()
            .filter_map(|path| self.folder.file(path))
            .flat_map(|thing| thing.words.iter().copied())
            .collect();
        let (decks, was_there) = (people::deck_folders(&self.folder), self.folder.file(&from).is_some());
        // What is saved by its name lands in a place that is empty where the file has been moved meanwhile.
        let lands_anew = match &deed {
            // One that was cut off there may be another file by now.
            Deed::WriteBack(path, _) => !self.folder.file(path).is_some_and(has_nodes),
            Deed::Replace(..) => !was_there,
            Deed::Rename(from, to) => from.name().ends_with(".tmp") && self.folder.file(to).is_none(),
            _ => false,
        };
        if lands_anew {
            self.saved_unseen(&held);
            // Now there are two, also if every text was changed before it was saved.
            let saved: Vec<Word> = held.iter().chain(&before).copied().collect();
            let ids = match &deed {
                Deed::WriteBack(_, bytes) | Deed::Replace(_, bytes) => nodes_of(bytes).unwrap_or_default(),
                _ => Nodes::new(),
            };
            // What was emptied and saved over while the other was put down shows by nothing which one it is.
            let unscanned = &self.checks.canvas.unscanned;
            let may_be = |path: &MirrorPath| saved.is_empty() && ids.is_empty() && unscanned.contains(path);
            let is_other = |path: &MirrorPath, thing: &Thing| {
                may_be(path)
                    || thing.words.iter().any(|word| saved.contains(word))
                    || nodes_of(&thing.bytes).is_some_and(|nodes| nodes.keys().any(|id| ids.contains_key(id)))
            };
            let others = self.folder.things.iter().filter(|(path, _)| path.name().ends_with(".canvas"));
            let twice: Vec<Word> = others
                .filter(|(path, thing)| is_other(path, thing))
                .flat_map(|(_, thing)| thing.words.clone())
                .collect();
            // What the saved one lacks of the other was removed from it.
            let lacks = twice.iter().filter(|word| !saved.contains(word));
            self.checks.canvas.removed.extend(lacks.map(Word::to_string));
            // What was removed from the other one may be put back there.
            let saved = saved.iter().filter(|_| !twice.is_empty()).copied();
            twice.iter().copied().chain(saved).for_each(|word| self.ledger.copy(word));
        }
        let folder = &mut self.folder;
        // A program that saves what was there makes no folder anew that has been renamed meanwhile.
        let saves = |path: &MirrorPath, bytes: &[u8]| bytes.is_empty() || path.name().ends_with(".tmp");
        let (done, line) = match &deed {
            Deed::Write(path, bytes)
                if !folder.has_way(path) || saves(path, bytes) && !folder.has_parent(path) =>
            {
                (false, format!("writes {path}"))
            }
            Deed::Write(path, bytes) => (folder.write(path, bytes), format!("writes {path}")),
            Deed::WriteBack(path, bytes) => {
                // A person sees that another file has come into the place since.
                let is_anothers = |thing: &Thing| {
                    !thing.words.is_empty() && !thing.words.iter().any(|word| held.contains(word))
                };
                let is_free = !folder.file(path).is_some_and(is_anothers);
                let done = is_free && folder.has_parent(path) && folder.write(path, bytes);
                (done, format!("writes {path} again"))
            }
            Deed::Replace(path, bytes) => (folder.replace(path, bytes), format!("replaces {path}")),
            Deed::Spoil(stamp, path, bytes) => {
                // One that was saved over since is not the one that is mended later.
                let is_it = folder.file(path).is_some_and(|thing| thing.stamp.object() == stamp.object());
                let done = is_it && folder.write(path, bytes);
                if done {
                    folder.set_open(stamp.inode, true);
                }
                (done, format!("spoils {path}"))
            }
            Deed::Unlink(path) => (folder.unlink(path), format!("removes {path}")),
            Deed::RemoveTree(path) => (folder.remove_tree(path), format!("removes {path} and all in it")),
            Deed::Rename(from, to) => (folder.rename(from, to), format!("renames {from} to {to}")),
            Deed::MakeFolder(path) => (folder.make_folder(path), format!("makes {path}")),
            Deed::Mend(..) | Deed::WriteOn(..) => return,
        };
        self.note(format_args!("@ {line} [{}]{}", listed(&held), if done { "" } else { ": refused" }));
        if done {
            self.ledger.typed(&held);
            // Text that comes back into a file that was renamed without it, or under the name that it had: there may be
            // another canvas of it by now.
            let object = |path| self.folder.file(path).map(|file| file.stamp.object());
            if let Deed::WriteBack(path, _) | Deed::Write(path, _) = &deed
                && (self.checks.canvas.renamed_blank.remove(path)
                    || object(path).is_some_and(|it| self.checks.canvas.emptied_unseen.remove(&it)))
            {
                held.iter().for_each(|word| self.ledger.copy(*word));
            }
            self.note_deed(&deed, was_there, lands_anew, decks.len());
            let is = self.words_of_canvas_files();
            let told = self.scene.hints_lost == 0 && self.engine.is_some();
            let handled = held.iter().chain(&before).copied();
            self.checks.canvas.hands.did(handled, (&was, &is), told, self.now_ms);
        }
        let left = self.canvas_words_left();
        for word in before {
            let is_copy = !held.contains(&word) && self.ledger.may_be_twice(word);
            // What an accident took from a file is still owed by the service, if it has got there.
            let is_safe = is_accident && self.service.words().any(|other| other == word);
            if !is_safe && (!left.contains(&word) || is_copy) {
                self.ledger.forget(word);
            }
        }
        if !done && matches!(deed, Deed::Unlink(_)) || done && is_mended {
            // Saved under a new name, and the old file had gone elsewhere: there are two. Or its old place was filled
            // again while it was broken.
            let mut seen = BTreeSet::new();
            let files = self.folder.things.iter().filter(|(path, _)| path.name().ends_with(".canvas"));
            let words = files.flat_map(|(_, thing)| thing.words.iter().copied().collect::<BTreeSet<_>>());
            let twice: Vec<Word> = words.filter(|word| !seen.insert(*word)).collect();
            twice.into_iter().for_each(|word| self.ledger.copy(word));
        }
        // Thrown away by a person whose file was saved over meanwhile.
        for word in held.iter().filter(|word| !done && !left.contains(word)) {
            self.ledger.forget(*word);
        }
    }

    /// Remembers what a person did to which nodes and places.
    fn note_deed(&mut self, deed: &Deed, was_there: bool, lands_anew: bool, decks_before: usize) {
        let is_new = |path: &MirrorPath| !was_there && is_canvas_file(path);
        let checks = &mut self.checks.canvas;
        checks.decks_placed += people::deck_folders(&self.folder).len().saturating_sub(decks_before);
        match deed {
            Deed::Write(path, bytes) | Deed::WriteBack(path, bytes) | Deed::Replace(path, bytes) => {
                if is_new(path) {
                    // Its only file went before, and this is another one.
                    if path.parent().is_some_and(|folder| checks.renamed_with_one.remove(&folder)) {
                        checks.allow_deck("emptied and renamed, and known by nothing");
                    }
                    checks.board_placed(path);
                    checks.unscanned.insert(path.clone());
                    let placed = if is_slide_file(path) {
                        &mut checks.slides_placed
                    } else {
                        &mut checks.boards_placed
                    };
                    *placed += 1;
                    // In the folder of a presentation that is gone it begins another.
                    if is_slide_file(path) && checks.was_gone.iter().any(|canvas| canvas.deck().is_some()) {
                        checks.decks_placed += 1;
                    }
                }
                if let Some(nodes) = nodes_of(bytes) {
                    checks.person_wrote(path, nodes, self.now_ms);
                }
            }
            Deed::Rename(from, to) => {
                checks.board_placed(to);
                let is_tmp = from.name().ends_with(".tmp");
                if is_canvas_file(to) && !is_canvas_file(from) && (!is_tmp || lands_anew) {
                    checks.boards_placed += 1;
                    checks.slides_placed += 1;
                }
                if self.checks.canvas.renamed.remove(from) || is_canvas_file(from) {
                    self.checks.canvas.renamed.insert(to.clone());
                }
                let checks = &mut self.checks.canvas;
                // One without nodes that was saved anew a moment ago has nothing that it could be known by.
                if is_canvas_file(to) && !self.folder.file(to).is_some_and(has_nodes) {
                    checks.renamed_blank.extend([from.clone(), to.clone()]);
                    checks.boards_placed += 1;
                    checks.slides_placed += 1;
                }
                let moved = self.folder.within(to);
                let was_seen = |path: &&MirrorPath| {
                    path.rebase(to, from).is_some_and(|old| !checks.unscanned.contains(&old))
                };
                // One that was saved anew a moment ago may not have been seen as what it is now.
                let is_anew = |path: &MirrorPath| {
                    self.folder.file(path).is_some_and(|file| checks.anew.contains(&file.stamp.object()))
                };
                // In a renamed folder neither does its place tell which slide it is.
                let is_blank = |path: &&MirrorPath| {
                    *path != to && is_anew(path) && !self.folder.file(path).is_some_and(has_nodes)
                };
                checks.slides_placed += moved.iter().filter(is_blank).count();
                // The pictures and the index that espejo writes are not what a folder is known by.
                let inside =
                    moved.iter().filter(|path| is_canvas_file(path) && *path != to && !is_anew(path));
                let known = inside.filter(was_seen).count();
                if self.folder.is_folder(to) && known == 0 && !self.scene.has_births() {
                    checks.allow_deck("emptied and renamed, and known by nothing");
                } else if self.folder.is_folder(to) && known == 1 && !self.scene.has_births() {
                    checks.renamed_with_one.insert(to.clone());
                }
                // So is one whose only file is another one since.
                let folder = to.parent().filter(|_| is_tmp);
                if folder.is_some_and(|folder| checks.renamed_with_one.remove(&folder)) {
                    checks.allow_deck("emptied and renamed, and known by nothing");
                }
                for path in moved {
                    let (Some(old), Some(thing)) = (path.rebase(to, from), self.folder.file(&path)) else {
                        continue;
                    };
                    // One that is being written has what it said before.
                    if !from.name().ends_with(".tmp") {
                        checks.moved(&old, &path);
                    } else if let Some(nodes) = nodes_of(&thing.bytes) {
                        checks.person_wrote(&path, nodes, self.now_ms);
                    }
                }
            }
            Deed::Unlink(path) => checks.person_removed(path, &self.folder),
            _ => {}
        }
        let (Deed::Rename(_, path)
        | Deed::Write(path, _)
        | Deed::WriteBack(path, _)
        | Deed::Replace(path, _)
        | Deed::Spoil(_, path, _)) = deed
        else {
            return;
        };
        let is_anew = match deed {
            Deed::Replace(..) => true,
            Deed::Rename(from, _) => from.name().ends_with(".tmp"),
            _ => false,
        };
        if let Some(file) = self.folder.file(path).filter(|_| is_anew) {
            self.checks.canvas.anew.insert(file.stamp.object());
        }
        let words: Vec<Word> = self.folder.file(path).map_or_else(Vec::new, |file| file.words.clone());
        if is_anew && self.is_ignored(path) {
            // What went while it was ignored comes back, and what has come is new.
            words.iter().for_each(|word| self.ledger.copy(*word));
            let name = naming::title_of(path.name().trim_end_matches(".canvas"));
            self.checks.canvas.allow_board("saved anew while it was ignored", name);
            self.checks.canvas.slides_placed += 1;
        }
        let is_unknown = self.checks.canvas.renamed.contains(path) && !self.is_known_canvas(path);
        if is_unknown {
            self.checks.canvas.renamed.remove(path);
            // The canvas that it was comes back if the app has changed it.
            words.iter().for_each(|word| self.ledger.copy(*word));
            let name = naming::title_of(path.name().trim_end_matches(".canvas"));
            self.checks.canvas.allow_board("changed and renamed, and known by nothing", name);
            self.checks.canvas.slides_placed += 1;
        }
        // So is one that was saved anew under a new name and emptied before anything looked at it.
        if let Deed::Spoil(stamp, _, bytes) = deed
            && bytes.is_empty()
            && (is_unknown || self.checks.canvas.unscanned.contains(path))
        {
            self.checks.canvas.emptied_unseen.insert(stamp.object());
        }
    }

    /// A program saves nodes into a place where they were not any more. The element of one of them may have been made
    /// without an answer: it came into the file there, and the saved node is another one.
    fn saved_unseen(&mut self, words: &[Word]) {
        let checks = &mut self.checks.canvas;
        for canvas in self.service.canvases() {
            for element in self.service.world.elements_of(&canvas) {
                let its = words_of(element).into_iter().filter(|word| words.contains(word));
                for word in its.filter(|_| checks.unseen.contains(id_of(element))) {
                    checks.twice_if_made.insert(word, "saved again before it was seen");
                    self.ledger.copy(word);
                }
            }
        }
    }

    /// Whether a file is known wherever it is: by its birth, if it is not a new file, or as half of some canvas's nodes are
    /// in it and in no other file.
    fn is_known_canvas(&self, path: &MirrorPath) -> bool {
        let Some(file) = self.folder.file(path) else { return true };
        if file.stamp.has_birth() && !self.checks.canvas.anew.contains(&file.stamp.object()) {
            return true;
        }
        let is_in = |canvas: &CanvasId, file: &Thing| {
            let nodes = nodes_of(&file.bytes).unwrap_or_default();
            let elements = self.service.world.elements_of(canvas);
            let ids = elements.iter().filter_map(|element| element["id"].as_str());
            let here = ids.filter(|id| nodes.contains_key(*id)).count();
            here > 0 && here * 2 >= elements.len()
        };
        // A copy has the nodes of a canvas that has a file of its own.
        let others =
            || self.folder.things.iter().filter(|(other, _)| *other != path && is_canvas_file(other));
        let canvases = self.service.canvases();
        let mut its = canvases.iter().filter(|canvas| is_in(canvas, file));
        its.any(|canvas| !others().any(|(_, other)| is_in(canvas, other)))
    }

    /// The words in all canvas files that are kept in step.
    pub(crate) fn words_of_canvas_files(&self) -> BTreeSet<Word> {
        let files = self.folder.things.iter().filter(|(path, _)| is_canvas_file(path));
        files.flat_map(|(_, thing)| thing.words.iter().copied()).collect()
    }

    /// Words that stand in some file, or in what somebody holds in hand. Pictures hold none.
    fn canvas_words_left(&self) -> BTreeSet<Word> {
        let things = self.folder.things.values().filter(|thing| thing.kind == EntryKind::File);
        let files = things.flat_map(|thing| thing.words.iter().copied());
        files.chain(self.in_hand_texts().flat_map(words_in)).collect()
    }
}
