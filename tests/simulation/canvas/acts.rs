//! What people's hands do to canvas files, and what that takes away.

use std::collections::BTreeSet;

use espejo::model::{EntryKind, MirrorPath};

use super::nodes::{Nodes, has_nodes, nodes_of, parsed};
use super::people::{self, Deed, is_canvas_file};
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
            | Deed::Unlink(path) => (path.clone(), None),
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
        // What went with a slide that may not be removed comes back.
        let after = match &deed {
            Deed::Write(path, bytes) | Deed::WriteBack(path, bytes) | Deed::Replace(path, bytes) => {
                Some((path, bytes.clone()))
            }
            Deed::Rename(from, to) if from.name().ends_with(".tmp") => {
                self.folder.file(from).map(|file| (to, file.bytes.clone()))
            }
            _ => None,
        };
        let kept = after
            .filter(|_| self.scene.permanent == 0)
            .map(|(path, bytes)| self.checks.canvas.words_of_lost_slides(path, &bytes, &self.service.homes));
        let kept = kept.unwrap_or_default();
        let was_there = self.folder.file(&from).is_some();
        let lands_on = to.as_ref().unwrap_or(&from);
        let is_landed_on = self.folder.file(lands_on).is_some();
        // What is saved by its name lands in a place that is empty where the file has been moved meanwhile.
        let lands_anew = match &deed {
            // One that was cut off there may be another file by now.
            Deed::WriteBack(path, _) => !self.folder.file(path).is_some_and(has_nodes),
            Deed::Replace(..) => !was_there,
            Deed::Rename(from, to) => from.name().ends_with(".tmp") && self.folder.file(to).is_none(),
            _ => false,
        };
        if lands_anew {
            // Now there are two, also if every text was changed before it was saved.
            let saved: Vec<Word> = held.iter().chain(&before).copied().collect();
            let ids = match &deed {
                Deed::WriteBack(_, bytes) | Deed::Replace(_, bytes) => nodes_of(bytes).unwrap_or_default(),
                _ => Nodes::new(),
            };
            let is_other = |thing: &Thing| {
                thing.words.iter().any(|word| saved.contains(word))
                    || nodes_of(&thing.bytes).is_some_and(|nodes| nodes.keys().any(|id| ids.contains_key(id)))
            };
            let others = self.folder.things.iter().filter(|(path, _)| path.name().ends_with(".canvas"));
            let twice: Vec<Word> = others
                .filter(|(_, thing)| is_other(thing))
                .flat_map(|(_, thing)| thing.words.clone())
                .collect();
            // What the saved one lacks of the other was removed from it.
            let lacks = twice.iter().filter(|word| !saved.contains(word));
            self.checks.canvas.removed.extend(lacks.map(Word::to_string));
            // What was removed from the other one may be put back there, and the name under which it was saved was the other's.
            let named = words_in(lands_on.name().as_bytes());
            let saved = saved.into_iter().chain(named).filter(|_| !twice.is_empty());
            let both: Vec<Word> = twice.iter().copied().chain(saved).collect();
            both.into_iter().for_each(|word| self.ledger.copy(word));
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
            Deed::Rename(from, to) => (folder.rename(from, to), format!("renames {from} to {to}")),
            Deed::Mend(..) | Deed::WriteOn(..) => return,
        };
        self.note(format_args!("@ {line} [{}]{}", listed(&held), if done { "" } else { ": refused" }));
        if done {
            self.ledger.typed(&held);
            self.note_deed(&deed, is_landed_on);
            // What both sides changed stays. Each of two machines moves a node by itself.
            let checks = &mut self.checks.canvas;
            let parted = std::mem::take(&mut checks.parted).into_iter();
            let moved = checks.dragged.iter().filter(|_| self.other.is_some()).copied();
            parted.chain(moved).for_each(|word| self.ledger.copy(word));
            let is = self.words_of_canvas_files();
            let told = self.scene.hints_lost == 0 && self.engine.is_some();
            let handled = held.iter().chain(&before).copied();
            self.checks.canvas.hands.did(handled, (&was, &is), told, self.now_ms);
        }
        let left = self.canvas_words_left();
        for word in before {
            let is_copy = !held.contains(&word) && self.ledger.may_be_twice(word);
            // What an accident took from a file is still owed by the service, if it has got there.
            let is_owed = is_accident || kept.contains(&word);
            let is_safe = is_owed && self.service.words().any(|other| other == word);
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

    /// Remembers what a person did to which nodes.
    fn note_deed(&mut self, deed: &Deed, was_there: bool) {
        let (checks, homes) = (&mut self.checks.canvas, &self.service.homes);
        let permanent = self.scene.permanent == 1;
        checks.unanswered = self.evidence.unanswered();
        match deed {
            Deed::Write(path, bytes) | Deed::WriteBack(path, bytes) | Deed::Replace(path, bytes) => {
                checks.person_wrote((path, was_there), bytes, homes, permanent);
            }
            Deed::Rename(from, to) => {
                for path in self.folder.within(to) {
                    let (Some(old), Some(thing)) = (path.rebase(to, from), self.folder.file(&path)) else {
                        continue;
                    };
                    // One that is being written has what it said before.
                    if !from.name().ends_with(".tmp") {
                        checks.person_moved(&old, &path);
                    } else {
                        checks.person_wrote((&path, was_there), &thing.bytes, homes, permanent);
                    }
                }
            }
            Deed::Unlink(path) => {
                let on_their_way = checks.person_removed(path, &self.folder);
                on_their_way.into_iter().for_each(|word| self.ledger.doubt(word));
            }
            _ => {}
        }
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
