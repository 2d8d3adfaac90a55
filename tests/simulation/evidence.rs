//! What evidence there was. A file is known by what it says, by its object, by its path and by equal bytes; a request without an
//! answer by what the service shows of exactly what was sent. Where none of these survived, nobody can tell what a file is, or
//! whether a request was carried out: what it holds may stand twice, come back or wait (the axiom *doubt keeps*).
//!
//! This is the only notion by which the checks let something be there twice that no person copied.

use std::collections::{BTreeMap, BTreeSet};

use espejo::emulator::World;
use espejo::model::{
    BoardEffect, BoardId, BoardReply, CanvasId, ContentHash, DeckId, DiskReply, Effect, FileId, MirrorPath,
    Outcome, PageId, RootState, Scan, ServiceReply, SlideId, Stamp, StorageEffect, StorageReply, id_of,
};

use crate::agreement::named_id;
use crate::canvas::ids_of;
use crate::disk::is_sealed;
use crate::folder::{Folder, Thing};
use crate::life::UNRECORDED_MS;
use crate::run::Run;
use crate::service::Service;
use crate::stored::bodies::Bodies;
use crate::stored::people::root;
use crate::text::split_front;
use crate::words::{Word, words_in};

/// Smaller files of different names may have equal bytes by chance.
const TRIVIAL_BYTES: u64 = 32;

/// What can be followed: a word of a text or a title, or the body of a stored file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Word(Word),
    Body(u32),
}

/// What a file was known by, and what it held.
#[derive(Debug)]
struct Trail {
    path: MirrorPath,
    stamp: Stamp,
    hash: ContentHash,
    /// The id in its front matter.
    says: Option<String>,
    /// The ids of its nodes and groups.
    nodes: BTreeSet<String>,
    /// How many elements and slides the canvas has that it names.
    whole: usize,
    marks: BTreeSet<Mark>,
    /// When it was there no more as it is here.
    until_ms: Option<i64>,
}

impl Trail {
    fn of(path: &MirrorPath, thing: &Thing, (world, bodies): (&World, &Bodies)) -> Self {
        let text = String::from_utf8_lossy(&thing.bytes);
        let is_canvas = path.name().ends_with(".canvas");
        let body = bodies.known(&thing.bytes).filter(|_| path.is_within(&root()));
        let named = words_in(path.as_str().as_bytes());
        let words = thing.words.iter().copied().chain(named).map(Mark::Word);
        let nodes = if is_canvas { ids_of(&thing.bytes).collect() } else { BTreeSet::new() };
        let canvases = if is_canvas { names_of_canvases(world) } else { Vec::new() };
        let named = canvases.iter().filter(|names| !names.is_disjoint(&nodes));
        Self {
            path: path.clone(),
            stamp: thing.stamp,
            hash: ContentHash::of(&thing.bytes),
            says: if is_canvas { None } else { named_id(split_front(&text).0) },
            whole: named.map(BTreeSet::len).max().unwrap_or_default(),
            nodes,
            marks: words.chain(body.map(Mark::Body)).collect(),
            until_ms: None,
        }
    }

    /// Whether it is this file as it is.
    fn is(&self, path: &MirrorPath, thing: &Thing) -> bool {
        self.until_ms.is_none() && self.path == *path && self.stamp == thing.stamp
    }

    /// Whether anything connects two files.
    fn leads_to(&self, other: &Self) -> bool {
        // A canvas is known by half of its elements, those included whose nodes are gone and that are still to be removed.
        let is_half = || 2 * self.nodes.intersection(&other.nodes).count() >= self.whole;
        self.leads_by_file_to(other) || self.says_so_too(other) && is_half()
    }

    /// Whether anything but what they say connects two files.
    fn leads_by_file_to(&self, other: &Self) -> bool {
        self.path == other.path
            || self.stamp.is_same_file(&other.stamp)
            || self.stamp.size >= TRIVIAL_BYTES && self.hash == other.hash
            || self.stamp.size > 0 && self.hash == other.hash && self.path.name() == other.path.name()
    }

    /// Whether two files name one item.
    fn says_so_too(&self, other: &Self) -> bool {
        let shared = self.nodes.intersection(&other.nodes).count();
        self.says.is_some() && self.says == other.says || shared > 0 && 2 * shared >= self.nodes.len()
    }
}

/// The ids of each canvas's elements, and of a presentation's slides.
fn names_of_canvases(world: &World) -> Vec<BTreeSet<String>> {
    let of = |canvas: CanvasId| world.elements_of(&canvas).iter().map(|element| id_of(element).to_owned());
    let boards = world.whiteboards().map(|board| of(CanvasId::Board(board.id.clone())).collect());
    let decks = world.presentations().map(|deck| {
        let slides = deck.slides.iter().map(|slide| slide.id.clone());
        let slide = |id: SlideId| {
            let own = id.as_str().to_owned();
            of(CanvasId::Slide(deck.id.clone(), id)).chain([own])
        };
        slides.flat_map(slide).collect()
    });
    boards.chain(decks).collect()
}

/// Something that a request made, before an answer or a read has shown it.
#[derive(Debug)]
struct Made {
    what: Item,
    /// What was sent, as it shows at the service.
    record: String,
    marks: BTreeSet<Mark>,
    /// When it was shown; a process that dies then has not recorded it.
    shown_ms: Option<i64>,
}

#[derive(Debug)]
enum Item {
    Page(PageId),
    Board(BoardId),
    Deck(DeckId),
    Slide(DeckId, SlideId),
    Element(CanvasId, String),
    Stored(FileId),
}

impl Item {
    fn id(&self) -> &str {
        match self {
            Self::Page(id) => id.as_str(),
            Self::Board(id) => id.as_str(),
            Self::Deck(id) => id.as_str(),
            Self::Slide(_, id) => id.as_str(),
            Self::Element(_, id) => id,
            Self::Stored(id) => id.as_str(),
        }
    }

    /// What shows of that which was sent to make it.
    fn record(&self, world: &World) -> Option<String> {
        Some(match self {
            Self::Page(id) => {
                let page = world.page(id)?;
                format!("{} {:?} {:?} {}", page.title, page.parent, page.trashed, page.hidden)
            }
            Self::Board(id) => {
                let board = world.whiteboard(id)?;
                format!("{} {} {}", board.name, board.trashed, board.hidden)
            }
            Self::Deck(id) => {
                let deck = world.presentation(id)?;
                format!("{} {} {}", deck.name, deck.trashed, deck.hidden)
            }
            Self::Slide(deck, id) => {
                world.presentation(deck)?.slides.iter().any(|slide| slide.id == *id).then(String::new)?
            }
            Self::Element(canvas, id) => {
                world.elements_of(canvas).iter().find(|element| id_of(element) == id)?.to_string()
            }
            Self::Stored(id) => {
                let file = world.storage_file(id)?;
                format!("{} {:?} {} {}", file.filename, file.folder, file.attachment, world.storage_shows(id))
            }
        })
    }

    /// What a request has just made.
    fn made_by(effect: &Effect, service: &Service) -> Option<Self> {
        let world = &service.world;
        Some(match effect {
            Effect::CreatePage { .. } => Self::Page(service.newest()?),
            Effect::Board(BoardEffect::CreateBoard { .. }) => {
                Self::Board(world.whiteboards().max_by_key(|board| board.serial)?.id.clone())
            }
            Effect::Board(BoardEffect::CreateDeck { .. }) => {
                Self::Deck(world.presentations().max_by_key(|deck| deck.serial)?.id.clone())
            }
            Effect::Board(BoardEffect::AddSlide(deck)) => {
                Self::Slide(deck.clone(), world.presentation(deck)?.slides.last()?.id.clone())
            }
            Effect::Board(BoardEffect::CreateElement { canvas, .. }) => {
                Self::Element(canvas.clone(), id_of(world.elements_of(canvas).last()?).to_owned())
            }
            Effect::Storage(StorageEffect::Upload { .. }) => {
                Self::Stored(world.storage_files().max_by_key(|file| file.uploaded)?.id.clone())
            }
            _ => return None,
        })
    }
}

/// What is known of files and requests.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// Every file as it was at any time since the last whole scan that reached the engine began.
    trails: Vec<Trail>,
    made: Vec<Made>,
    /// When the scan began that is under way, the last that came, and the one before.
    scans_ms: [i64; 3],
    died: bool,
}

impl Evidence {
    /// Somebody changed the folder. What stands in a file that nothing connects with one in which it stood is returned, and the
    /// names of files that came where others were that are elsewhere now: who saves under a name that is free has made a second.
    /// Where places are ignored for a while (`ignores`), what is elsewhere since may have been let go.
    fn files_changed(
        &mut self,
        (folder, world, bodies): (&Folder, &World, &Bodies),
        ignores: bool,
        now_ms: i64,
    ) -> (BTreeSet<Mark>, Vec<Word>) {
        let is_there =
            |trail: &Trail| folder.file(&trail.path).is_some_and(|file| trail.is(&trail.path, file));
        for trail in self.trails.iter_mut().filter(|trail| trail.until_ms.is_none()) {
            trail.until_ms = (!is_there(trail)).then_some(now_ms);
        }
        let is_item = |path: &&MirrorPath| {
            let is_ours = path.page_stem().is_some() || path.name().ends_with(".canvas");
            let is_stored = path.is_within(&root());
            (is_ours || is_stored) && !path.name().contains(".conflict-")
        };
        let files = folder.things.keys().filter(is_item);
        let files = files.filter_map(|path| Some((path, folder.file(path)?)));
        let is_known =
            |path: &MirrorPath, thing: &Thing| self.trails.iter().any(|trail| trail.is(path, thing));
        let new: Vec<Trail> = files
            .filter(|(path, thing)| !is_known(path, thing))
            .map(|(path, thing)| Trail::of(path, thing, (world, bodies)))
            .collect();
        let (mut doubt, mut second) = (BTreeSet::new(), Vec::new());
        let is_elsewhere = |was: &Trail| {
            let mut there = self.trails.iter().chain(&new).filter(|trail| trail.until_ms.is_none());
            there.any(|trail| trail.path != was.path && was.stamp.is_same_file(&trail.stamp))
        };
        let unshown: BTreeSet<&Mark> = self.unshown().collect();
        for file in &new {
            let mut were =
                self.trails.iter().filter(|trail| trail.until_ms.is_some() && trail.path == file.path);
            if were.any(|was| !was.stamp.is_same_file(&file.stamp) && is_elsewhere(was)) {
                second.extend(words_in(file.path.name().as_bytes()));
            }
            // What lay in a folder that cannot be listed counts as there: a file elsewhere is another one.
            let is_hidden = |trail: &Trail| is_sealed(folder, &trail.path) && !is_sealed(folder, &file.path);
            let is_lost = |trail: &&Trail| {
                let is_elsewhere = (ignores || is_hidden(trail)) && trail.path != file.path;
                trail.until_ms.is_some() && (is_elsewhere || !trail.leads_to(file))
            };
            let lost = self.trails.iter().filter(is_lost);
            doubt.extend(lost.flat_map(|trail| trail.marks.intersection(&file.marks).copied()));
            // Without an answer nothing says which element stands for a node.
            let said = self.trails.iter().filter(|trail| {
                trail.until_ms.is_some() && trail.leads_to(file) && !trail.leads_by_file_to(file)
            });
            let unanswered = said.flat_map(|trail| trail.marks.intersection(&file.marks));
            doubt.extend(unanswered.filter(|mark| unshown.contains(mark)).copied());
        }
        self.trails.extend(new);
        (doubt, second)
    }

    /// What stands in elements that nothing has shown since they were made.
    fn unshown(&self) -> impl Iterator<Item = &Mark> {
        let unshown = self.made.iter().filter(|made| made.shown_ms.is_none());
        unshown.filter(|made| matches!(made.what, Item::Element(..))).flat_map(|made| &made.marks)
    }

    /// The words in them.
    pub(crate) fn unanswered(&self) -> BTreeSet<Word> {
        let word = |mark: &Mark| if let Mark::Word(word) = mark { Some(*word) } else { None };
        self.unshown().filter_map(word).collect()
    }

    /// The engine looks at the whole folder.
    pub(crate) fn scan_begins(&mut self, now_ms: i64) {
        self.scans_ms[0] = now_ms;
    }

    /// What two files hold that a scan showed beside each other and that name one item: one of them is a copy, whatever became
    /// of the other since.
    fn seen_twice(&self, scan: &Scan) -> Vec<Word> {
        let stamps: BTreeMap<&MirrorPath, &Stamp> =
            scan.entries.iter().map(|entry| (&entry.path, &entry.stamp)).collect();
        let is_seen = |trail: &&Trail| stamps.get(&trail.path) == Some(&&trail.stamp);
        let seen: Vec<&Trail> = self.trails.iter().filter(is_seen).collect();
        let copies = seen.iter().flat_map(|file| {
            let is_copy = |other: &&&Trail| {
                other.path != file.path && !other.stamp.is_same_file(&file.stamp) && file.says_so_too(other)
            };
            seen.iter().filter(is_copy).flat_map(|other| file.marks.intersection(&other.marks))
        });
        copies.filter_map(|mark| if let Mark::Word(word) = mark { Some(*word) } else { None }).collect()
    }

    /// A whole scan reached the engine. What was before it counts no more, but for what cannot be looked at, and where a
    /// process has died that may not have recorded an earlier one.
    fn scanned(&mut self, is_hidden: impl Fn(&MirrorPath) -> bool) {
        let [begun, last, before] = self.scans_ms;
        let from_ms = if std::mem::take(&mut self.died) { before } else { begun };
        self.trails
            .retain(|trail| trail.until_ms.is_none_or(|until| until >= from_ms) || is_hidden(&trail.path));
        self.scans_ms = [begun, begun, last];
    }

    /// The process died.
    pub(crate) fn died(&mut self, now_ms: i64) {
        self.died = true;
        for made in &mut self.made {
            made.shown_ms = made.shown_ms.filter(|at| now_ms - at > UNRECORDED_MS);
        }
    }

    /// An answer reached the engine.
    pub(crate) fn answered(&mut self, reply: &ServiceReply, now_ms: i64) {
        let ids = shown(reply);
        for made in self.made.iter_mut().filter(|made| ids.iter().any(|id| id == made.what.id())) {
            made.shown_ms.get_or_insert(now_ms);
        }
    }

    /// Somebody did something at the service: what changed of that which nothing has shown, shows no more what was sent.
    fn results_changed(&mut self, world: &World, now_ms: i64) -> Vec<Made> {
        self.made.retain(|made| made.shown_ms.is_none_or(|at| now_ms - at <= UNRECORDED_MS));
        let changed = |made: &mut Made| made.what.record(world).as_ref() != Some(&made.record);
        self.made.extract_if(.., changed).collect()
    }
}

impl Run {
    /// A request that makes something was carried out.
    pub(crate) fn note_made(&mut self, effect: &Effect) {
        let Some(what) = Item::made_by(effect, &self.service) else { return };
        let Some(record) = what.record(&self.service.world) else { return };
        let mut words: BTreeSet<Word> = words_in(record.as_bytes()).into_iter().collect();
        // What is made of a file gets what the file holds.
        let named =
            |path: &MirrorPath| words_in(path.as_str().as_bytes()).iter().any(|it| words.contains(it));
        let files = self.folder.things.iter().filter(|(path, _)| named(path));
        let held: Vec<Word> = files.flat_map(|(_, thing)| thing.words.iter().copied()).collect();
        words.extend(held);
        let mut marks: BTreeSet<Mark> = words.into_iter().map(Mark::Word).collect();
        if let Item::Stored(id) = &what {
            let body =
                self.service.world.storage_file(id).and_then(|file| self.stored.bodies.known(&file.bytes()));
            marks.extend(body.map(Mark::Body));
        }
        self.evidence.made.push(Made { what, record, marks, shown_ms: None });
    }

    /// A list leaves out what it should show: it refutes whatever nothing else has shown.
    pub(crate) fn list_was_false(&mut self) {
        self.checks.canvas.slides_were_refuted();
        let refuted = self.evidence.made.extract_if(.., |made| made.shown_ms.is_none());
        let marks = refuted.flat_map(|made| made.marks).collect();
        self.doubt(marks);
    }

    /// An outcome reached the engine: a whole scan, or what the service shows.
    pub(crate) fn note_outcome(&mut self, outcome: &Outcome) {
        if let Outcome::Service(Ok(reply)) = outcome {
            self.evidence.answered(reply, self.now_ms);
        }
        let Outcome::Disk(Ok(DiskReply::Scan(scan))) = outcome else { return };
        if scan.root != RootState::Ready {
            return;
        }
        let mut evidence = std::mem::take(&mut self.evidence);
        evidence.seen_twice(scan).into_iter().for_each(|word| self.ledger.copy(word));
        let is_hidden = |path: &MirrorPath| {
            self.is_ignored(path) || scan.unreadable.iter().any(|place| path.is_within(&place.path))
        };
        evidence.scanned(is_hidden);
        self.evidence = evidence;
    }

    /// Something changed on either side: what lost its evidence by that may be kept twice.
    pub(crate) fn note_evidence(&mut self) {
        let world = (&self.folder, &self.service.world, &self.stored.bodies);
        let (mut marks, second) = self.evidence.files_changed(world, self.scene.ignores == 1, self.now_ms);
        second.into_iter().for_each(|word| self.ledger.copy(word));
        let results = self.evidence.results_changed(&self.service.world, self.now_ms);
        if !results.is_empty() {
            self.checks.canvas.slides_were_refuted();
        }
        marks.extend(results.into_iter().flat_map(|made| made.marks));
        self.doubt(marks);
    }

    fn doubt(&mut self, marks: BTreeSet<Mark>) {
        for mark in marks {
            match mark {
                Mark::Word(word) => self.ledger.doubt(word),
                Mark::Body(number) => self.stored.bodies.doubt(number),
            }
        }
    }
}

/// The ids of what an answer shows as it is. A list of pages does not show whether a page is what was sent.
fn shown(reply: &ServiceReply) -> Vec<String> {
    match reply {
        ServiceReply::Page(page) => vec![page.meta.id.to_string()],
        ServiceReply::Meta(meta) => vec![meta.id.to_string()],
        ServiceReply::Board(BoardReply::Boards { boards, .. }) => {
            boards.iter().map(|board| board.id.to_string()).collect()
        }
        ServiceReply::Board(BoardReply::Board(board)) => vec![board.id.to_string()],
        ServiceReply::Board(BoardReply::Decks { decks, .. }) => {
            decks.iter().map(|deck| deck.id.to_string()).collect()
        }
        ServiceReply::Board(BoardReply::Deck(deck)) => vec![deck.id.to_string()],
        ServiceReply::Board(BoardReply::Slides(slides)) => {
            slides.iter().map(|slide| slide.id.to_string()).collect()
        }
        ServiceReply::Board(BoardReply::Slide(slide)) => vec![slide.id.to_string()],
        ServiceReply::Board(BoardReply::Elements(elements)) => {
            elements.iter().map(|element| id_of(element).to_owned()).collect()
        }
        ServiceReply::Board(BoardReply::Element(element)) => vec![id_of(element).to_owned()],
        ServiceReply::Storage(StorageReply::Listing(listing)) => {
            listing.files.iter().map(|file| file.id.to_string()).collect()
        }
        ServiceReply::Storage(StorageReply::Uploaded(file)) => vec![file.id.to_string()],
        _ => Vec::new(),
    }
}
