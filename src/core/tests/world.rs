//! A small world for the core: a folder, a service and a clock in memory. Answers can be lost, reads can lag, and the core can be
//! killed: then it begins again from its rows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::decks::Deck;
use crate::core::act::begin::{self, Urgency};
use crate::core::keys::{ItemKey, Seq};
use crate::core::observe::scan;
use crate::core::report::{self, Progress};
use crate::core::state::{Area, Core, Line, State};
use crate::core::{guard, request, schedule};
use crate::model::{
    BoardEffect, BoardId, BoardReply, CanvasId, ContentHash, DiskError, DiskReply, Effect, Elements, Entry,
    EntryKind, Expect, FileRead, Hides, MirrorPath, Rest, RootState, Scan, ServiceError, ServiceReply,
    Settings, Stamp, Timestamp, Unreadable, Whiteboard, WorkspaceId, id_of,
};
use crate::plan::barrier::Barrier;
use crate::plan::guard::{Kind as Counted, many_creations, mass_deletion};
use crate::store::Store;

/// A whiteboard at the service.
#[derive(Debug, Clone)]
pub(super) struct Board {
    pub(super) name: String,
    pub(super) elements: Elements,
    pub(super) is_trashed: bool,
}

/// How the service answers the next request of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is carried out, and the answer is lost.
    Lost,
    /// It never arrives, and that is not known.
    Dropped,
    /// It is refused with this status.
    Status(u16),
}

pub(super) struct World {
    pub(super) now: i64,
    pub(super) settings: Settings,
    pub(super) files: BTreeMap<String, (Vec<u8>, Stamp)>,
    pub(super) trash: Vec<String>,
    pub(super) boards: BTreeMap<String, Board>,
    pub(super) decks: BTreeMap<String, Deck>,
    /// Whether presentations are mirrored.
    pub(super) has_decks: bool,
    pub(super) unreadable: Vec<Unreadable>,
    pub(super) area: Area,
    /// Answers to the next requests whose name begins so.
    pub(super) answers: Vec<(&'static str, Answer)>,
    /// The names of the requests that were made.
    pub(super) requests: Vec<String>,
    /// The lines that were reported.
    pub(super) lines: Vec<String>,
    /// What reads show instead of the truth, until then.
    pub(super) stale: Option<(BTreeMap<String, Board>, i64)>,
    pub(super) stale_decks: Option<(BTreeMap<String, Deck>, i64)>,
    /// Whether the limit leaves nothing but the requests of edits.
    pub(super) only_edits: bool,
    pub(super) store: Store,
    pub(super) state: State,
    barrier: Barrier,
    ids: u64,
    inodes: u64,
}

pub(super) const FOLDER: &str = "Acme/Whiteboards";

fn space() -> WorkspaceId {
    WorkspaceId::new("w1").unwrap()
}

pub(super) fn path(text: &str) -> MirrorPath {
    MirrorPath::new(text).unwrap()
}

/// A sticky note.
pub(super) fn note(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "sticky", "x": 0, "y": 0, "width": 200, "height": 100, "content": text, "style": {},
           "z_index": 0})
}

/// A node of a file.
pub(super) fn node(id: &str, text: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"type\":\"text\",\"text\":\"{text}\",\"x\":0,\"y\":0,\"width\":200,\"height\":100}}"
    )
}

/// A canvas file with these nodes.
pub(super) fn canvas(nodes: &[String]) -> String {
    format!("{{\"nodes\":[{}],\"edges\":[]}}\n", nodes.join(","))
}

impl World {
    /// A world in which everything has been compared, with these whiteboards.
    pub(super) fn new(boards: &[(&str, &str, &[Value])]) -> Self {
        Self::with_store(Store::in_memory().unwrap(), boards)
    }

    /// The same with this state.
    pub(super) fn with_store(mut store: Store, boards: &[(&str, &str, &[Value])]) -> Self {
        let now = 1_000_000_000;
        let state = State::open(&mut store, Timestamp(now)).unwrap();
        let area = Area {
            folder: "Acme".into(),
            name: "Acme".into(),
            is_live: true,
            is_open: true,
            ..Area::default()
        };
        let mut world = Self {
            now,
            settings: Settings::default(),
            files: BTreeMap::new(),
            trash: Vec::new(),
            boards: BTreeMap::new(),
            decks: BTreeMap::new(),
            has_decks: false,
            unreadable: Vec::new(),
            area,
            answers: Vec::new(),
            requests: Vec::new(),
            lines: Vec::new(),
            stale: None,
            stale_decks: None,
            only_edits: false,
            store,
            state,
            barrier: Barrier::default(),
            ids: 0,
            inodes: 0,
        };
        for (id, name, elements) in boards {
            world.put_board(id, name, elements);
        }
        world
    }

    /// As [`World::new`], in step.
    pub(super) fn in_step(boards: &[(&str, &str, &[Value])]) -> Self {
        let mut world = Self::new(boards);
        world.pass_ms(30_000);
        world.requests.clear();
        world
    }

    pub(super) fn put_board(&mut self, id: &str, name: &str, elements: &[Value]) {
        let board = Board { name: name.to_owned(), elements: elements.to_vec(), is_trashed: false };
        self.boards.insert(id.to_owned(), board);
    }

    pub(super) fn board(&mut self, id: &str) -> &mut Board {
        self.boards.get_mut(id).unwrap()
    }

    /// The texts of a board's elements.
    pub(super) fn texts(&self, id: &str) -> Vec<String> {
        let elements = &self.boards[id].elements;
        elements.iter().map(|element| element["content"].as_str().unwrap().to_owned()).collect()
    }

    pub(super) fn write(&mut self, name: &str, text: &str) {
        let old = self.files.get(name).map(|(_, stamp)| *stamp);
        self.inodes += 1;
        let fresh =
            Stamp { device: 1, inode: self.inodes, born_ns: self.now * 1_000_000 + 1, ..Stamp::default() };
        let ns = self.now * 1_000_000;
        let stamp =
            Stamp { size: text.len() as u64, modified_ns: ns, changed_ns: ns, ..old.unwrap_or(fresh) };
        self.files.insert(name.to_owned(), (text.as_bytes().to_vec(), stamp));
        self.scan_soon();
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.files.remove(name).unwrap();
        self.scan_soon();
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let file = self.files.remove(from).unwrap();
        self.files.insert(to.to_owned(), file);
        self.scan_soon();
    }

    pub(super) fn text(&self, name: &str) -> String {
        String::from_utf8(
            self.files.get(name).unwrap_or_else(|| panic!("no {name}: {:?}", self.names())).0.clone(),
        )
        .unwrap()
    }

    /// The canvas files.
    pub(super) fn names(&self) -> Vec<&str> {
        self.files.keys().map(String::as_str).filter(|name| name.ends_with(".canvas")).collect()
    }

    /// The boards that are not in the trash, by name.
    pub(super) fn listed(&self) -> Vec<&str> {
        self.boards.values().filter(|board| !board.is_trashed).map(|board| board.name.as_str()).collect()
    }

    pub(super) fn scan_soon(&mut self) {
        self.state.scan_by(Timestamp(self.now));
    }

    /// Begins again from the rows of the last commit.
    pub(super) fn kill(&mut self) {
        self.store.roll_back();
        self.state = State::open(&mut self.store, Timestamp(self.now)).unwrap();
    }

    pub(super) fn core<T>(&mut self, act: impl FnOnce(&mut Core<'_>) -> T) -> T {
        let mut core = Core {
            state: &mut self.state,
            store: &mut self.store,
            settings: &self.settings,
            barrier: &mut self.barrier,
            now: Timestamp(self.now),
        };
        let out = act(&mut core);
        core.save();
        self.store.commit().unwrap();
        for line in std::mem::take(&mut self.state.lines) {
            self.lines.push(match line {
                Line::Changed { path, what, .. } => format!("{path}: {what}"),
                Line::Notice { path, reason, code, .. } => format!("{} {path}: {reason}", code.name()),
            });
        }
        out
    }

    pub(super) fn approve(&mut self, paths: &[&str]) {
        let paths: Vec<MirrorPath> = paths.iter().map(|text| path(text)).collect();
        self.core(|core| {
            let is_meant = |place: &MirrorPath| paths.iter().any(|path| place.is_within(path));
            core.barrier.approve(&paths, is_meant, core.now);
            request::approve(core, &paths);
        });
    }

    pub(super) fn progress(&mut self) -> Progress {
        self.core(|core| report::progress(core.state, core.settings, core.barrier, core.now))
    }

    /// The codes and paths of the messages to the user.
    pub(super) fn needs(&mut self) -> Vec<String> {
        let needs = self.core(|core| report::needs(core.state, core.settings, &|_| String::new()));
        needs.iter().map(|need| format!("{} {}", need.code.name(), need.path)).collect()
    }

    /// Lets time pass.
    pub(super) fn pass_ms(&mut self, ms: i64) {
        let end = self.now + ms;
        for _ in 0..20_000 {
            let mut turns = 0;
            while self.turn() {
                turns += 1;
                let last: Vec<_> = self.requests.iter().rev().take(12).collect();
                assert!(turns < 500, "it never rests: {last:?} {:?} {:?}", self.names(), self.lines.last());
            }
            let due = self.core(|core| {
                let left = schedule::never_fetched(core.state);
                let requests = schedule::next_request_due(core.state, left, core.now).map(|(_, at)| at);
                requests.chain(schedule::next_due(core.state)).min()
            });
            let due = due.map_or(end, |at| at.0);
            if self.now >= end {
                return;
            }
            self.now = due.clamp(self.now + 100, end.max(self.now + 100));
        }
        panic!("it never rests: {:?}", self.requests.iter().rev().take(20).collect::<Vec<_>>());
    }

    /// Performs one effect.
    pub(super) fn turn(&mut self) -> bool {
        let now = Timestamp(self.now);
        let mut areas = BTreeMap::from([(space(), self.area.clone())]);
        areas.extend(self.has_decks.then(Self::own_area));
        self.core(|core| request::set_areas(core, areas));
        let guard::Missing { gone, recent, all } = guard::missing(&self.state, |_| true);
        let held = mass_deletion(Counted::Canvas, gone, recent, all, self.settings.pages.max_deletes);
        if self.state.deletions_held != held {
            self.state.deletions_held = held;
            self.state.items.mark_all();
        }
        let (waiting, max) = (
            self.core(|core| report::waiting_creations(core.state, core.now)),
            self.settings.pages.max_creates,
        );
        self.core(|core| request::hold_creations(core, many_creations(waiting, 0, max)));
        if self.state.snapshot.scan == Seq(0) || self.state.snapshot.scan_at.is_some_and(|at| at <= now) {
            let (scan, now) = (self.scan(), Timestamp(self.now));
            self.core(|core| {
                let sent = core.next_seq();
                core.barrier.take_in(&scan, now);
                scan::apply(core, &scan, sent, now).unwrap();
            });
            return true;
        }
        if let Some((sent, effect)) = self.core(schedule::next_disk).unwrap() {
            let result = self.disk(&effect);
            self.core(|core| schedule::disk_done(core, sent, result)).unwrap();
            return true;
        }
        let only_edits = self.only_edits;
        let allows = |urgency: Urgency, _: u32| !only_edits || urgency == Urgency::Edit;
        let next = self.core(|core| match schedule::next_request(core, &allows).unwrap() {
            Some(next) => Some(next),
            None if only_edits => None,
            None => schedule::next_list(core).or_else(|| {
                let ready = |key: &ItemKey| begin::is_ready(core.state, *key, core.now);
                let first = schedule::never_fetched(core.state).find(ready)?;
                schedule::poll(core, first)
            }),
        });
        if let Some((sent, effect)) = next {
            let asked_at = Timestamp(self.now);
            let result = self.service(&effect);
            self.now += 50;
            let as_of = Timestamp(self.now);
            self.core(|core| schedule::request_done(core, sent, result, (asked_at, as_of))).unwrap();
            return true;
        }
        false
    }

    pub(super) fn scan(&self) -> Scan {
        let mut folders: BTreeSet<String> = BTreeSet::new();
        for name in self.files.keys() {
            let mut at = name.as_str();
            while let Some((up, _)) = at.rsplit_once('/') {
                folders.insert(up.to_owned());
                at = up;
            }
        }
        let is_hidden = |name: &str| self.unreadable.iter().any(|item| item.covers(&path(name)));
        let files = self.files.iter().filter(|(name, _)| !is_hidden(name)).map(|(name, (_, stamp))| Entry {
            path: path(name),
            kind: EntryKind::File,
            stamp: *stamp,
        });
        let folders = folders.iter().map(|name| Entry {
            path: path(name),
            kind: EntryKind::Folder,
            stamp: Stamp { device: 1, ..Stamp::default() },
        });
        let mut entries: Vec<Entry> = files.chain(folders).collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let unreadable = self.unreadable.clone();
        let (root, clock) = (RootState::Ready, Timestamp(self.now));
        Scan { root, root_identity: (1, 1), entries, unreadable, clock, ..Scan::default() }
    }

    fn disk(&mut self, effect: &Effect) -> Result<DiskReply, DiskError> {
        let hash = |world: &Self, path: &MirrorPath| {
            world.files.get(path.as_str()).map(|(bytes, _)| ContentHash::of(bytes))
        };
        match effect {
            Effect::ReadFile(path) => {
                let Some((bytes, stamp)) = self.files.get(path.as_str()) else {
                    return Err(DiskError::Missing(path.clone()));
                };
                let (bytes, stamp, clock) = (bytes.clone(), *stamp, Timestamp(self.now));
                Ok(DiskReply::File(FileRead { path: path.clone(), stamp, bytes, clock, is_open: false }))
            }
            Effect::WriteFile { path, bytes, expect } => {
                match (expect, hash(self, path)) {
                    (Expect::Absent | Expect::AbsentHere, None) => {}
                    (Expect::Content(wanted), Some(is)) if *wanted == is => {}
                    (Expect::Content(_), None) => return Err(DiskError::Missing(path.clone())),
                    (Expect::Content(_), Some(_)) => return Err(DiskError::Changed(path.clone())),
                    (Expect::Absent | Expect::AbsentHere, Some(_)) => {
                        return Err(DiskError::Exists(path.clone()));
                    }
                }
                self.inodes += 1;
                let ns = self.now * 1_000_000;
                let stamp = Stamp {
                    device: 1,
                    inode: self.inodes,
                    size: bytes.len() as u64,
                    modified_ns: ns,
                    changed_ns: ns,
                    born_ns: ns + 1,
                };
                self.files.insert(path.to_string(), (bytes.clone(), stamp));
                Ok(DiskReply::Written(stamp))
            }
            Effect::Rename { from, to } if self.files.contains_key(to.as_str()) => {
                let _ = from;
                Err(DiskError::Exists(to.clone()))
            }
            Effect::Rename { from, to } => match self.files.remove(from.as_str()) {
                Some(file) => {
                    self.files.insert(to.to_string(), file);
                    Ok(DiskReply::Finished)
                }
                None => Err(DiskError::Missing(from.clone())),
            },
            Effect::TrashFile { path, expect } => match hash(self, path) {
                Some(is) if is == *expect => {
                    self.files.remove(path.as_str());
                    self.trash.push(path.to_string());
                    Ok(DiskReply::Finished)
                }
                Some(_) => Err(DiskError::Changed(path.clone())),
                None => Err(DiskError::Missing(path.clone())),
            },
            other => panic!("no effect of the core: {other:?}"),
        }
    }

    pub(super) fn service(&mut self, effect: &Effect) -> Result<ServiceReply, ServiceError> {
        let Effect::Board(effect) = effect else { panic!("no effect of the core: {effect:?}") };
        let name = match effect {
            BoardEffect::ListBoards(_) => "list".to_owned(),
            BoardEffect::ListElements(id) => format!("get {}", id.own_id()),
            BoardEffect::CreateBoard { name, .. } => format!("create {name}"),
            BoardEffect::CreateElement { fields, .. } => {
                format!("add {}", fields["content"].as_str().unwrap())
            }
            BoardEffect::UpdateElement { element, .. } => format!("change {element}"),
            BoardEffect::DeleteElement { element, .. } => format!("delete {element}"),
            BoardEffect::TrashBoard(id) => format!("trash {id}"),
            BoardEffect::ListDecks => "list".to_owned(),
            BoardEffect::ListSlides(id) => format!("slides {id}"),
            BoardEffect::CreateDeck { name } => format!("create {name}"),
            BoardEffect::AddSlide(id) => format!("slide {id}"),
            BoardEffect::DeleteSlide { slide, .. } => format!("delete {slide}"),
            BoardEffect::TrashDeck(id) => format!("trash {id}"),
        };
        self.requests.push(name.clone());
        let at = self.answers.iter().position(|(begin, _)| name.starts_with(begin));
        let answer = at.map(|at| self.answers.remove(at).1);
        let lost = || ServiceError::Lost("gone".into());
        match answer {
            None => self.carry_out(effect),
            Some(Answer::Lost) => {
                drop(self.carry_out(effect));
                Err(lost())
            }
            Some(Answer::Dropped) => Err(lost()),
            Some(Answer::Status(403)) => Err(ServiceError::Forbidden("no".into())),
            Some(Answer::Status(404)) => Err(ServiceError::NotFound("no".into())),
            Some(Answer::Status(status @ 400..=499)) => {
                Err(ServiceError::Rejected { status, message: "no".into() })
            }
            Some(Answer::Status(status)) => Err(ServiceError::Server { status, message: "no".into() }),
        }
    }

    fn carry_out(&mut self, effect: &BoardEffect) -> Result<ServiceReply, ServiceError> {
        let stale = self.stale.as_ref().filter(|(_, until)| *until > self.now).map(|(boards, _)| boards);
        let shown = stale.unwrap_or(&self.boards);
        let whiteboard = |id: &str, board: &Board| Whiteboard {
            id: BoardId::new(id).unwrap(),
            workspace: space(),
            name: board.name.clone(),
            rest: Rest::default(),
        };
        self.ids += 1;
        let fresh = self.ids;
        Ok(ServiceReply::Board(match effect {
            BoardEffect::ListBoards(_) => {
                let live = shown.iter().filter(|(_, board)| !board.is_trashed);
                BoardReply::Boards {
                    boards: live.map(|(id, board)| whiteboard(id, board)).collect(),
                    skipped: vec![],
                }
            }
            BoardEffect::ListElements(id) => {
                if let Some(deck) = id.deck() {
                    return self.list_on_slide(deck.as_str(), id.own_id());
                }
                let board = shown.get(id.own_id()).filter(|board| !board.is_trashed);
                BoardReply::Elements(board.map(|board| board.elements.clone()).unwrap_or_default())
            }
            BoardEffect::CreateBoard { name, .. } => {
                let id = format!("made-{fresh}");
                self.put_board(&id, name, &[]);
                BoardReply::Board(whiteboard(&id, &self.boards[&id]))
            }
            BoardEffect::CreateElement { canvas, fields } => {
                let elements = self.elements_of(canvas)?;
                let mut element = json!({"id": format!("e-{fresh}"), "z_index": 0});
                for (key, value) in fields {
                    element[key] = value.clone();
                }
                elements.push(element.clone());
                BoardReply::Element(element)
            }
            BoardEffect::UpdateElement { canvas, element, fields } => {
                let elements = self.elements_of(canvas)?;
                let found = elements.iter_mut().find(|other| id_of(other) == element.as_str());
                let found = found.ok_or_else(missing)?;
                *found = crate::canvas::changed(found, fields);
                BoardReply::Element(found.clone())
            }
            BoardEffect::DeleteElement { canvas, element } => {
                self.elements_of(canvas)?.retain(|other| id_of(other) != element.as_str());
                BoardReply::Deleted
            }
            BoardEffect::TrashBoard(id) => {
                let board = self.boards.get_mut(id.as_str()).filter(|board| !board.is_trashed);
                board.ok_or_else(missing)?.is_trashed = true;
                BoardReply::Deleted
            }
            of_a_deck => return self.carry_out_on_deck(of_a_deck, fresh),
        }))
    }

    fn elements_of(&mut self, canvas: &CanvasId) -> Result<&mut Elements, ServiceError> {
        match canvas {
            CanvasId::Board(id) => {
                let board = self.boards.get_mut(id.as_str()).filter(|board| !board.is_trashed);
                board.map(|board| &mut board.elements).ok_or_else(missing)
            }
            CanvasId::Slide(deck, slide) => {
                let deck = self.decks.get_mut(deck.as_str()).filter(|deck| !deck.is_trashed);
                let slides = deck.map(|deck| &mut deck.slides).ok_or_else(missing)?;
                let slide = slides.iter_mut().find(|(id, _)| id == slide.as_str());
                slide.map(|(_, elements)| elements).ok_or_else(missing)
            }
        }
    }
}

pub(super) fn missing() -> ServiceError {
    ServiceError::NotFound("no such item".into())
}

/// A place that cannot be read.
pub(super) fn unreadable(at: &str, hides: Hides) -> Unreadable {
    Unreadable { path: path(at), why: "no permission".into(), hides, object: None }
}
