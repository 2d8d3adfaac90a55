//! What the owner of a mirror has espejo do while it runs (approve, pause, put an older text back, let another process ask
//! the service), and names and folders of any kind that cannot be read for a while.
//!
//! All of it is drawn from luck of its own, so that what else happens in a seed is drawn as ever.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::str::FromStr;

use espejo::emulator::HttpRequest;
use espejo::model::{
    BoardEffect, CanvasId, ContentHash, Effect, EntryKind, Event, MirrorPath, PageId, Put, Request,
    RootState, StorageEffect, Timestamp,
};

use crate::checks::{Failure, broken};
use crate::draws::{some_of, weighted};
use crate::luck::Luck;
use crate::run::{Due, Heal, Run, stopped};
use crate::script::{Act, Script, verbs};
use crate::stored::StoredFault;
use crate::stored::people::bodies_at;
use crate::users::is_page_file;
use crate::words::{Word, words_in};

verbs! {
    /// The owner of the mirror.
    Owner {
        /// Whatever is held may go.
        Approve = "approve", 1;
        /// Nothing is asked or sent for a while.
        Pause = "pause", 3;
        /// An older text of a page's file is put back by espejo, as `restore` and `undo` do it.
        Restore = "restore", 5;
        /// Another process asks for a few requests, and makes them.
        Lend = "lend", 4;
        /// A file or folder of any kind has a name that is not UTF-8 for a while.
        OddName = "odd-name", 6;
        /// A folder of any kind cannot be read for a while.
        Sealed = "sealed", 4;
    }
}

impl Owner {
    /// Those that are bad luck.
    pub(crate) const FAULTS: [Self; 2] = [Self::OddName, Self::Sealed];
}

/// As many older texts are kept.
const VERSIONS: usize = 12;

/// What is known of the owner's doings.
#[derive(Debug, Default)]
pub(crate) struct OwnerWorld {
    /// Texts that files of pages had.
    versions: VecDeque<(MirrorPath, Vec<u8>)>,
    is_paused: bool,
}

/// Puts the owner into a part of the scripts.
pub(crate) fn draw(script: &mut Script) {
    let mut luck = Luck::new(script.scene.seed, 26);
    let share = *luck.pick(&[0, 5, 10]);
    let mut verbs = some_of(Owner::ALL, &mut luck);
    // An approval ends what guards promise for the rest of a run.
    if !luck.chance(25) {
        verbs.retain(|(verb, _)| *verb != Owner::Approve);
    }
    let has_copies = script.scene.stored > 0 && luck.chance(15);
    for step in &mut script.steps {
        if !luck.chance(share) {
            continue;
        }
        if has_copies && luck.chance(20) {
            step.act = Act::StoredFault(StoredFault::OldFolder);
        } else if !verbs.is_empty() {
            step.act = Act::Owner(weighted(&verbs, &mut luck));
        }
    }
}

/// How a name begins that stands for one that is not UTF-8.
const ODD: char = '\u{fffd}';

/// Whether the last name of a path is not UTF-8.
pub(crate) fn is_odd(path: &MirrorPath) -> bool {
    path.name().starts_with(ODD)
}

/// A path as a hint can name it: what lies under a name that is no path is named by the folder above.
pub(crate) fn in_sight(path: MirrorPath) -> MirrorPath {
    let way: Vec<MirrorPath> = std::iter::successors(Some(path.clone()), MirrorPath::parent).collect();
    way.iter().rfind(|at| is_odd(at)).and_then(MirrorPath::parent).unwrap_or(path)
}

impl Run {
    /// The owner does something.
    pub(crate) fn owner_does(&mut self, owner: Owner, (a, b): (u32, u32)) -> Result<(), Failure> {
        let while_ms = [800, 5_000, 20_000, 90_000, 400_000][usize::try_from(b % 5).unwrap_or(0)];
        match owner {
            Owner::Approve => self.approve(),
            Owner::Pause if self.engine.is_some() => {
                self.owner.is_paused = true;
                self.later(while_ms, Due::Heal(Heal::Pause));
                self.tell(Event::Asked(Request::Pause))
            }
            Owner::Restore => self.restore_text(a),
            Owner::Lend => self.lend(1 + a % 3, b),
            Owner::OddName => {
                let all: Vec<MirrorPath> =
                    self.folder.things.keys().filter(|path| has_kind(path)).cloned().collect();
                if let Some(path) = all.get(a as usize % all.len().max(1)) {
                    self.name_oddly(path, while_ms);
                }
                Ok(())
            }
            Owner::Sealed => {
                let folders = self.folder.things.values().filter(|thing| thing.kind == EntryKind::Folder);
                let inodes: Vec<u64> = folders.map(|thing| thing.stamp.inode).collect();
                if let Some(inode) = inodes.get(a as usize % inodes.len().max(1)) {
                    self.folder.sealed.insert(*inode);
                    self.later(while_ms, Due::Heal(Heal::Unseal(*inode)));
                }
                Ok(())
            }
            Owner::Pause => Ok(()),
        }
    }

    /// A person ends the pause; without a process, the next one hears of it.
    pub(crate) fn end_pause(&mut self) -> Result<(), Failure> {
        if !self.owner.is_paused {
            return Ok(());
        }
        if self.engine.is_none() {
            self.later(1_000, Due::Heal(Heal::Pause));
            return Ok(());
        }
        self.owner.is_paused = false;
        self.tell(Event::Asked(Request::Resume))?;
        self.pump()
    }

    /// In a pause no request leaves.
    pub(crate) fn nothing_asked_in_a_pause(&self, effect: &Effect) -> Result<(), Failure> {
        if self.owner.is_paused && effect.is_request() {
            return broken("calm", format!("asked in a pause: {}", self.brief(effect)));
        }
        Ok(())
    }

    /// Another process wants requests, and makes those that it is lent.
    fn lend(&mut self, slots: u32, number: u32) -> Result<(), Failure> {
        let now = self.engine_now();
        let Some(engine) = &mut self.engine else { return Ok(()) };
        let lent = engine.lend(slots, now).map_err(|error| stopped("lend", &error))?;
        self.note(format_args!("  {slots} requests are lent: {}", lent.is_ok()));
        if lent.is_ok() {
            for slot in 0..slots {
                self.later(i64::from((number * 31 + slot * 7_001) % 25_000), Due::Borrowed);
            }
        }
        Ok(())
    }

    /// A request that was lent is made, and counts.
    pub(crate) fn makes_borrowed_request(&mut self) -> Result<(), Failure> {
        let request = HttpRequest {
            method: "GET".to_owned(),
            path: "/workspaces".to_owned(),
            query: String::new(),
            authorization: Some(format!("Bearer {}", self.service.world.token())),
            body: Vec::new(),
        };
        let response = self.service.world.answer(&request, Timestamp(self.now_ms));
        self.note(format_args!("  a request that was lent: {}", response.status));
        if response.status == 429 && !self.clock_jumped {
            return broken("budget", "a request that was lent is one too many");
        }
        Ok(())
    }

    /// Keeps a text of some page's file now and then.
    pub(crate) fn keep_version(&mut self) {
        let files: Vec<&MirrorPath> = self.folder.things.keys().filter(|path| is_page_file(path)).collect();
        let Some(path) = files.get(self.steps % files.len().max(1)) else { return };
        let Some(file) = self.folder.file(path) else { return };
        let version = ((*path).clone(), file.bytes.clone());
        if self.owner.versions.len() == VERSIONS {
            self.owner.versions.pop_front();
        }
        self.owner.versions.push_back(version);
    }

    /// espejo is asked to put an older text of a file back.
    fn restore_text(&mut self, number: u32) -> Result<(), Failure> {
        if self.folder.root != RootState::Ready || self.engine.is_none() {
            return Ok(());
        }
        let id = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').nth(1).map(<[u8]>::to_vec);
        let differs = |(path, bytes): &&(MirrorPath, Vec<u8>)| {
            let there = self.folder.file(path);
            // A person may put back an ignored file too, and what espejo touches by itself could not be told from that.
            self.scene.ignores == 0
                && there.is_some_and(|file| file.bytes != *bytes && id(&file.bytes) == id(bytes))
        };
        let fitting: Vec<&(MirrorPath, Vec<u8>)> = self.owner.versions.iter().filter(differs).collect();
        let Some((path, bytes)) = fitting.get(number as usize % fitting.len().max(1)).map(|it| (*it).clone())
        else {
            return Ok(());
        };
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        let Some(now) = self.folder.file(&path).map(|file| file.bytes.clone()) else { return Ok(()) };
        let stand_ins = self.service.stand_ins();
        let (before, after) = (stand_ins.words_of(&now), stand_ins.words_of(text.as_bytes()));
        // What the older text lacks, a person took away; what it brings back may be elsewhere by now.
        before.difference(&after).for_each(|word| self.ledger.forget(*word));
        after.difference(&before).for_each(|word| self.ledger.copy(*word));
        let held = words_in(text.as_bytes());
        let pages = self.words_of_pages();
        self.checks.fates.filed(&held);
        self.checks.hands.did(before.iter().chain(&after).copied(), (&pages, &pages), false, self.now_ms);
        // The texts may differ in no word.
        if let Some((_, id)) = text.lines().nth(1).and_then(|line| line.split_once(": "))
            && let Ok(id) = PageId::new(id)
        {
            self.checks.hands.put_back(&id);
        }
        let expect = Some(ContentHash::of(&now));
        let put = Put::Text { path, expect, text, body: None, why: None };
        self.tell(Event::Asked(Request::Put(Box::new(put))))
    }

    /// Something gets a name that is not UTF-8, and its right one back later.
    fn name_oddly(&mut self, path: &MirrorPath, while_ms: i64) {
        let Some(inode) = self.folder.things.get(path).map(|thing| thing.stamp.inode) else { return };
        let Some(odd) = path.parent().and_then(|up| up.join(&format!("{ODD}{inode}")).ok()) else { return };
        if self.folder.root == RootState::Ready && self.renamed_at_hand(path, &odd) {
            self.note(format_args!("@ {path} has a name that cannot be read"));
            self.later(while_ms, Due::Heal(Heal::Name(inode, path.clone())));
        }
    }

    /// What has this number gets its name back, where it lies now.
    pub(crate) fn name_back(&mut self, inode: u64, was: &MirrorPath) {
        if self.folder.root != RootState::Ready {
            self.later(1_000, Due::Heal(Heal::Name(inode, was.clone())));
            return;
        }
        // Copies of it have the name too.
        let odd = format!("{ODD}{inode}");
        while let Some(at) = self.folder.things.keys().find(|path| path.name() == odd).cloned() {
            let names = [was.name().to_owned(), format!("t{inode}{}", was.name())];
            let mut places = names.iter().filter_map(|name| at.parent()?.join(name).ok());
            let free = places.find(|place| !self.folder.things.contains_key(place));
            let Some(to) = free.filter(|to| self.renamed_at_hand(&at, to)) else { break };
            self.note(format_args!("@ {to} has a name again"));
            // What disappeared while it was ignored was let go, and what a person approved to be gone is gone: it is new.
            let is_let_go = self.scene.ignores == 1 || self.checks.fates.is_approved();
            self.stored.checks.came_back.extend(bodies_at(&self.folder, &self.stored.bodies, &to));
            if to.name() != was.name() || at.parent() != was.parent() || is_let_go {
                self.is_elsewhere(&to);
            }
        }
    }

    /// What comes to light elsewhere than it was has been moved there by a person.
    fn is_elsewhere(&mut self, place: &MirrorPath) {
        for path in self.folder.within(place) {
            let words = self.folder.file(&path).map(|file| file.words.clone()).unwrap_or_default();
            words.into_iter().for_each(|word| self.ledger.copy(word));
            if let Some(number) = bodies_at(&self.folder, &self.stored.bodies, &path) {
                self.stored.copies.handled(number);
                self.stored.checks.taken(number, true, None, self.now_ms);
                self.stored.bodies.put(number);
                self.stored.bodies.copy(number);
                self.stored.checks.placed(number, false, self.now_ms);
            }
        }
    }

    fn renamed_at_hand(&mut self, from: &MirrorPath, to: &MirrorPath) -> bool {
        let files = self.folder.within(from).into_iter().filter_map(|path| self.folder.file(&path));
        let handled: Vec<Word> = files.flat_map(|file| file.words.iter().copied()).collect();
        let was = self.words_of_pages();
        if !self.folder.rename(from, to) {
            return false;
        }
        if self.checks.fates.is_approved() {
            // It may have been let go meanwhile.
            handled.iter().for_each(|word| self.ledger.copy(*word));
        }
        let is = self.words_of_pages();
        let told = self.scene.hints_lost == 0 && self.engine.is_some();
        self.checks.hands.did(handled, (&was, &is), told, self.now_ms);
        self.mark_changed();
        self.stored.changed = true;
        self.spread_hints();
        true
    }

    /// What has a name, or lies in a folder, that cannot be read is not gone: nothing of it is deleted at the service.
    pub(crate) fn deletes_nothing_out_of_sight(&self, effect: &Effect) -> Result<(), Failure> {
        // What disappears while it is ignored is let go and mirrored anew: what is out of sight is a copy then.
        if self.checks.fates.is_approved() || self.scene.ignores == 1 {
            return Ok(());
        }
        let words: BTreeSet<Word> = match effect {
            Effect::TrashPage(id) => self.service.words_of(id).iter().copied().collect(),
            Effect::Board(BoardEffect::TrashBoard(board)) => {
                self.service.words_of_canvas(&CanvasId::Board(board.clone())).iter().copied().collect()
            }
            Effect::Board(BoardEffect::TrashDeck(deck)) => {
                let slides = self.service.canvases_of(deck);
                slides.iter().flat_map(|slide| self.service.words_of_canvas(slide)).copied().collect()
            }
            Effect::Storage(StorageEffect::Trash(id)) => {
                let record =
                    self.service.world.storage_file(id).filter(|_| self.service.world.storage_shows(id));
                let number = record.and_then(|file| self.stored.bodies.known(&file.bytes()));
                // What is there once more is not deleted: it has another name.
                let is_other = |number: u32| {
                    let mut others = self.files_with(number).filter(|file| file.id != *id);
                    others.any(|file| self.service.world.storage_shows(&file.id))
                };
                let is_own = |number: &u32| !self.stored.bodies.may_be_twice(*number) && !is_other(*number);
                let Some(number) = number.filter(is_own) else { return Ok(()) };
                let holds =
                    |path: &MirrorPath| bodies_at(&self.folder, &self.stored.bodies, path) == Some(number);
                return self.out_of_sight(holds, id);
            }
            _ => return Ok(()),
        };
        // What a folder that was renamed held is there once more, under its new parent.
        let others = self.service.active();
        let others = others.iter().filter(|page| !matches!(effect, Effect::TrashPage(id) if *id == page.id));
        let there: BTreeSet<Word> =
            others.flat_map(|page| self.service.words_of(&page.id)).copied().collect();
        let own = |word: &&Word| {
            matches!(word, Word::Text(_))
                && !there.contains(*word)
                && !self.ledger.may_be_twice(**word)
                && !self.ledger.may_vanish(**word)
        };
        let own: Vec<Word> = words.iter().filter(own).copied().collect();
        let holds = |path: &MirrorPath| {
            let there = self.folder.file(path);
            there.is_some_and(|file| own.iter().any(|word| file.words.contains(word)))
        };
        self.out_of_sight(holds, &self.brief(effect))
    }

    fn out_of_sight(
        &self,
        holds: impl Fn(&MirrorPath) -> bool,
        what: &dyn fmt::Display,
    ) -> Result<(), Failure> {
        let is_sealed = |at: &MirrorPath| {
            let there = self.folder.things.get(at);
            there.is_some_and(|thing| {
                thing.kind == EntryKind::Folder && self.folder.sealed.contains(&thing.stamp.inode)
            })
        };
        let is_hidden = |path: &&MirrorPath| {
            let mut way = std::iter::successors(Some((*path).clone()), MirrorPath::parent);
            way.any(|at| is_odd(&at) || is_sealed(&at))
        };
        let mut hidden = self.folder.things.keys().filter(is_hidden);
        match hidden.find(|path| holds(path)) {
            Some(path) => broken("guard", format!("{what} is deleted, and {path} cannot be looked at")),
            None => Ok(()),
        }
    }
}

/// Whether a path is an item's of some kind, or lies among them.
fn has_kind(path: &MirrorPath) -> bool {
    let parts: Vec<&str> = path.components().collect();
    matches!(parts.as_slice(), ["Storage" | "Presentations", _, ..] | [_, "Pages" | "Whiteboards", _, ..])
}
