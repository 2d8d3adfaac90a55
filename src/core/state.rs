//! What the folders of the core share: the state of the machine, and what it borrows for one turn.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::items::forbidden::Forbidden;
use crate::core::items::{Act, Bytes, Item, Items, Journal, Part, rows};
use crate::core::keys::{Digest, ItemKey, Seq};
use crate::core::plan::policy::{Choices, Kind, Policy, policy};
use crate::core::wants::Wants;
use crate::model::{
    ContentHash, DiskError, Elements, Link, MirrorPath, Problem, Settings, Stamp, StorageMode, Timestamp,
    WorkspaceId,
};
use crate::plan::barrier::Barrier;
use crate::plan::guard::Guard;
use crate::plan::saves::Saves;
use crate::store::{Store, StoreError};

/// Key in the state: `no` once everything has been compared.
const FIRST_MATCH: &str = "core_first_match";
/// Key in the state: the end of the block of numbers that a run may use.
const COUNT: &str = "core_count";
/// Numbers are taken from the store in blocks: a run that is killed leaves the rest of its block unused.
const BLOCK: u64 = 1_000;

/// The state for one turn, with what it borrows.
#[derive(Debug)]
pub struct Core<'a> {
    /// The state of the machine.
    pub state: &'a mut State,
    /// The database.
    pub store: &'a mut Store,
    /// The user's settings.
    pub settings: &'a Settings,
    /// What could not be read.
    pub barrier: &'a mut Barrier,
    /// The time of the turn.
    pub now: Timestamp,
}

/// The state of the machine.
#[derive(Debug)]
pub struct State {
    /// The table of items.
    pub items: Items,
    /// The acts that are not known to be done.
    pub journal: Journal,
    /// The folder as the last scan showed it.
    pub snapshot: Snapshot,
    /// The areas: the workspaces, and the user's presentations.
    pub areas: BTreeMap<WorkspaceId, Area>,
    /// What is known of items for this run only.
    pub runtimes: BTreeMap<ItemKey, Runtime>,
    /// The effects under way.
    pub under_way: Vec<(Seq, Purpose)>,
    /// The requests that items need.
    pub wanted: Wants,
    /// What concerns all stored files.
    pub stored: Stored,
    /// Whether a request of an edit was ready at the last turn, and the limit did not allow it.
    pub edits_wait: bool,
    /// When items are to be decided about again, because time passed.
    pub wakes: BTreeSet<(Timestamp, ItemKey)>,
    /// When items are to be fetched because of an act that no read has shown.
    pub rereads: BTreeMap<ItemKey, Timestamp>,
    /// The areas in which a verb is forbidden.
    pub forbidden: Forbidden,
    /// What happened since the driver took it.
    pub lines: Vec<Line>,
    /// The items whose place may be another one: whether it is ignored is to be found.
    pub replaced: BTreeSet<ItemKey>,
    /// Until everything has been compared once, files are matched to items by what they say and by their paths.
    pub first_match: bool,
    /// Why the folder may lack files, or hold older ones, without an act of the user.
    pub doubt: Option<Guard>,
    /// Whether the guard of creations holds.
    pub creations_held: bool,
    /// Why too many items of all kinds together are gone from the folder.
    pub deletions_held: Option<Guard>,
    /// The time between two lists of an area, in milliseconds.
    pub list_every_ms: i64,
    numbers: Numbers,
}

/// The numbers of acts and reads.
#[derive(Debug, Default)]
struct Numbers {
    /// The last one that was given.
    last: u64,
    /// The end of the block that this run may use.
    block_end: u64,
}

/// What concerns all stored files, for this run only.
#[derive(Debug, Default)]
pub struct Stored {
    /// The file that was read to be uploaded next: its item, its hash and its bytes.
    pub outgoing: Option<(ItemKey, ContentHash, Vec<u8>)>,
    /// The workspaces that uploads may count for, the best one first.
    pub upload_to: Vec<WorkspaceId>,
    /// Whether what earlier downloads left was removed in this run.
    pub is_swept: bool,
    /// The files that a deep check has not compared yet.
    pub deep: Option<BTreeSet<MirrorPath>>,
    /// The files with a link to their bytes. It may have ended.
    pub linked: BTreeSet<ItemKey>,
    /// The files whose bytes were downloaded and are not in their places yet.
    pub arrived: BTreeSet<ItemKey>,
    /// Why the disk takes nothing, and until when nothing is downloaded.
    pub disk: Option<(DiskError, Timestamp)>,
}

/// The folder as the last complete scan showed it.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The number of the last scan that was taken in; 0 before the first.
    pub scan: Seq,
    /// When the last complete scan began.
    pub scanned: Timestamp,
    /// All entries of the areas at the last scan, updated with own acts; whether each is a folder.
    pub entries: BTreeMap<MirrorPath, (bool, Stamp)>,
    /// The files that were not identified yet.
    pub files: BTreeMap<MirrorPath, Unidentified>,
    /// Files to read, with the earliest time of each read.
    pub unread: BTreeMap<MirrorPath, Timestamp>,
    /// Stored files to hash, with the earliest time of each. They may be large: nothing but the files themselves waits for them.
    pub unhashed: BTreeMap<MirrorPath, Timestamp>,
    /// The device of the root.
    pub device: u64,
    /// Former numbers of devices whose files are all there: numbers change with a restart of the machine.
    pub renumbered: BTreeSet<u64>,
    /// Whether the files of the last scan are still to be identified.
    pub is_open: bool,
    /// When a scan is needed.
    pub scan_at: Option<Timestamp>,
    /// Whether the driver knows of changes in the folder that no scan has shown.
    pub is_stirred: bool,
}

/// A file of the last scan that is no item's as it was known.
#[derive(Debug, Clone, PartialEq)]
pub struct Unidentified {
    /// Its metadata.
    pub stamp: Stamp,
    /// Hash of its bytes, once read.
    pub hash: Option<ContentHash>,
    /// What its text says, once read.
    pub text: Option<String>,
    /// Whether it was written just before the read.
    pub racy: bool,
    /// Why it cannot be used.
    pub problem: Option<Problem>,
}

/// What one list shows: the whiteboards of a workspace, or the presentations of the user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Area {
    /// The kind of its items.
    pub kind: Kind,
    /// The workspace's folder in the mirror; empty for the user's.
    pub folder: String,
    /// Its name.
    pub name: String,
    /// Whether it is mirrored, and the service shows it.
    pub is_live: bool,
    /// Whether it is about to be: after a lost state, its files were there before.
    pub is_awaited: bool,
    /// Whether changes of the folder are sent.
    pub is_open: bool,
    /// Its list.
    pub list: List,
}

/// The state of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct List {
    /// When it is due.
    pub due: Timestamp,
    /// The number of the last one that was taken in.
    pub taken: Option<Seq>,
    /// The time of its request.
    pub taken_at: Timestamp,
    /// Why the last one could not be taken in, or some of its entries.
    pub trouble: Option<String>,
    /// Whether the service forbids it.
    pub is_forbidden: bool,
    /// Why what it lacks is not believed to be gone.
    pub held: Option<Guard>,
    /// The number of its failures in a row.
    pub failures: u32,
    /// Until when it rests after the last of them, whatever makes it due.
    pub rests: Timestamp,
}

/// What is known of an item for this run only.
#[derive(Debug, Clone, Default)]
pub struct Runtime {
    /// Its file's text, while it has changes.
    pub text: Option<(ContentHash, String)>,
    /// What is known of its bytes, if it is a stored file.
    pub bytes: Transfer,
    /// The number of the last fetch that was taken in, and its time.
    pub fetched: Option<(Seq, Timestamp)>,
    /// The number of the last fetch that was answered, in whatever way.
    pub answered: Seq,
    /// The number that the next fetch must have before a request rests on it.
    pub needs: Seq,
    /// Failures of fetches in a row, and the time of the next.
    pub failures: (u32, Timestamp),
    /// The same of acts on disk.
    pub disk_failures: (u32, Timestamp),
    /// Why it cannot be fetched.
    pub unreadable: Option<String>,
    /// Why entries of its list cannot be read.
    pub trouble: Option<String>,
    /// The first fetch in a row that did not find it.
    pub not_found: Option<Seq>,
    /// Why what left it is not believed to be gone.
    pub held: Option<Guard>,
    /// The disk's refusal.
    pub disk: Option<String>,
    /// Hash of the text whose notes were reported.
    pub reported: Option<ContentHash>,
    /// What programs did with its file.
    pub saves: Saves,
    /// The file at the place of its picture that is not espejo's.
    pub foreign_picture: Option<Stamp>,
    /// Whether the place of its picture is ignored.
    pub is_picture_ignored: bool,
}

/// The way of a stored file's bytes, for this run only.
#[derive(Debug, Clone, Default)]
pub struct Transfer {
    /// Where they can be downloaded, and until when. An item may have other bytes by then.
    pub link: Option<(Digest, Link, Timestamp)>,
    /// The content that was downloaded and is not in its place yet, and the hash of it.
    pub arrived: Option<(Digest, ContentHash)>,
    /// The number of bytes that arrived so far.
    pub got: u64,
    /// Its size by the last transfer, if the service's list says another one.
    pub odd_size: Option<u64>,
    /// Links in a row that the server refused.
    pub refused_links: u32,
    /// Uploads in a row, and the time of the last one.
    pub uploads: (u32, Timestamp),
    /// The workspaces that refused its upload, with the hash of what was sent.
    pub refused_by: BTreeMap<String, String>,
    /// Whether a fetch by its id shows it, and no list does.
    pub is_hidden: bool,
    /// Whether its bytes changed on the disk without a write.
    pub is_damaged: bool,
}

/// Why an effect was issued.
#[derive(Debug, Clone, PartialEq)]
pub enum Purpose {
    /// The list of an area.
    List(WorkspaceId),
    /// A fetch of an item.
    Fetch(ItemKey),
    /// The request of a row of the journal.
    Act(Seq),
    /// A read of a file.
    Read(MirrorPath),
    /// The hash of a stored file.
    Hash(MirrorPath),
    /// A download of these bytes of an item.
    Download(ItemKey, Bytes),
    /// The folder of an item is made; without an item that of an area.
    MakeFolder(Option<ItemKey>, MirrorPath),
    /// Temporary files that no item needs are removed.
    Sweep,
    /// The write of a row of the journal, and what it brings.
    Write {
        /// The row.
        act: Seq,
        /// The path.
        path: MirrorPath,
        /// What it brings, for the report.
        brings: Brings,
    },
    /// A conflict copy of an item's file.
    Copy {
        /// The item.
        item: ItemKey,
        /// The copy.
        copy: MirrorPath,
        /// Hash of its text.
        text: ContentHash,
        /// One line about the conflict.
        summary: String,
    },
    /// A rename of an item's file.
    Rename {
        /// The item.
        item: ItemKey,
        /// The old path.
        from: MirrorPath,
        /// The new path.
        to: MirrorPath,
        /// The reason.
        why: RenameReason,
    },
    /// An item's file goes to the mirror's trash.
    TrashFile {
        /// The item.
        item: ItemKey,
        /// The file.
        path: MirrorPath,
    },
    /// An act on the generated picture of an item.
    Picture {
        /// The item.
        item: ItemKey,
        /// The picture.
        path: MirrorPath,
        /// What it is drawn from, and the hash of its bytes; `None` when it is read or trashed.
        drawn: Option<(ContentHash, ContentHash)>,
    },
}

/// What a write of a file brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brings {
    /// The item's first file.
    New,
    /// Changes of the app.
    Changes,
    /// The ids of new elements.
    Ids,
    /// What the user changed and the service cannot take.
    PutBack,
}

/// Why a file is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenameReason {
    /// The item's name or place changed at the service.
    Follows,
    /// The user moved it, and the service cannot.
    PutBack,
    /// It makes room for another file.
    Aside,
    /// It becomes a conflict copy.
    Conflict,
}

/// What happened, for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// One line about a change.
    Changed {
        /// Which way the change went.
        way: Way,
        /// The file.
        path: MirrorPath,
        /// What happened.
        what: String,
    },
    /// A message that stays until the user has seen it.
    Notice {
        /// Its kind.
        code: crate::model::Code,
        /// The file.
        path: MirrorPath,
        /// The fact and its cause.
        reason: String,
        /// What the user can do.
        action: &'static str,
    },
}

/// Which way a change went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the folder to the service.
    Up,
    /// From the service to the folder.
    Down,
    /// Neither: something was put back, or a conflict copy was made.
    Aside,
}

impl State {
    /// Loads the state.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn open(store: &mut Store, now: Timestamp) -> Result<Self, StoreError> {
        let (mut items, journal) = rows::load(store, now)?;
        // What a new file says is not stored: it is read again.
        let is_draft = |item: &&Item| item.remote.is_none() && !item.kind.is_stored();
        let drafts: Vec<ItemKey> = items.all().filter(is_draft).map(|item| item.key).collect();
        drafts.into_iter().for_each(|key| items.edit_file(key, |fact| fact.hash = None));
        let in_doubt =
            journal.all().filter(|act| matches!(act.part, Part::Element(_)) && !act.state.is_shown());
        let rereads = in_doubt.map(|act| (act.item, now)).collect();
        let resting = journal.all().filter(|act| act.rests(now));
        let wakes = resting.map(|act| (act.failing.until, act.item)).collect();
        let first_match = store.meta(FIRST_MATCH)?.as_deref() != Some("no");
        let last = store.meta(COUNT)?.and_then(|text| text.parse().ok()).unwrap_or(0);
        Ok(Self {
            items,
            journal,
            snapshot: Snapshot::default(),
            areas: BTreeMap::new(),
            runtimes: BTreeMap::new(),
            under_way: Vec::new(),
            wanted: Wants::default(),
            stored: Stored::default(),
            edits_wait: false,
            wakes,
            rereads,
            forbidden: Forbidden::default(),
            lines: Vec::new(),
            replaced: BTreeSet::new(),
            first_match,
            doubt: None,
            creations_held: false,
            deletions_held: None,
            list_every_ms: 60_000,
            numbers: Numbers { last, block_end: last },
        })
    }

    /// Whether an effect about an item is under way.
    #[must_use]
    pub fn is_busy(&self, key: ItemKey) -> bool {
        self.under_way.iter().any(|(_, purpose)| match purpose {
            Purpose::Fetch(item)
            | Purpose::Copy { item, .. }
            | Purpose::Rename { item, .. }
            | Purpose::TrashFile { item, .. }
            | Purpose::Download(item, _)
            | Purpose::MakeFolder(Some(item), _)
            | Purpose::Picture { item, .. } => *item == key,
            Purpose::Act(act) | Purpose::Write { act, .. } => {
                self.journal.get(*act).is_some_and(|act| act.item == key)
            }
            Purpose::List(_)
            | Purpose::Read(_)
            | Purpose::Hash(_)
            | Purpose::MakeFolder(None, _)
            | Purpose::Sweep => false,
        })
    }

    /// What is known of an item for this run only.
    pub fn runtime(&mut self, key: ItemKey) -> &mut Runtime {
        self.runtimes.entry(key).or_default()
    }

    /// The rows of the journal of an item and of what lies in it.
    pub fn acts_of(&self, key: ItemKey) -> impl Iterator<Item = &Act> {
        self.items.family(key).flat_map(|item| self.journal.of(item.key))
    }

    /// Whether an item and all that lies in it were fetched, as far as that is possible.
    #[must_use]
    pub fn is_fetched(&self, key: ItemKey) -> bool {
        self.items.family(key).filter(|item| item.is_listed()).all(|item| {
            let runtime = self.runtimes.get(&item.key);
            item.content().is_some() || runtime.is_some_and(|runtime| runtime.unreadable.is_some())
        })
    }

    /// Whether the service shows an item, in an area that is mirrored.
    #[must_use]
    pub fn is_reachable(&self, item: &Item) -> bool {
        let is_live = self.areas.get(&item.area).is_some_and(|area| area.is_live);
        let owner = self.items.get(item.owner());
        is_live && item.is_listed() && owner.is_some_and(|owner| owner.is_listed() && !owner.is_ignored)
    }

    /// Forgets an item, and all that lies in it.
    pub fn forget(&mut self, key: ItemKey) {
        let family = self.items.family_keys(key);
        for key in family {
            self.journal.retain(|act| act.item != key);
            self.items.forget(key);
            self.runtimes.remove(&key);
            self.wanted.remove(key);
            self.rereads.remove(&key);
        }
    }

    /// Whether every file of the folder is identified, and no change is known that no scan has shown.
    #[must_use]
    pub fn is_quiet(&self, now: Timestamp) -> bool {
        let snapshot = &self.snapshot;
        !snapshot.is_open
            && !snapshot.is_stirred
            && snapshot.scan > Seq(0)
            && snapshot.scan_at.is_none_or(|at| at > now)
    }

    /// An item is to be decided about at this time.
    pub fn wake(&mut self, key: ItemKey, at: Timestamp) {
        self.wakes.insert((at, key));
    }

    /// A scan is needed at this time.
    pub fn scan_by(&mut self, at: Timestamp) {
        let known = self.snapshot.scan_at;
        self.snapshot.scan_at = Some(known.map_or(at, |known| known.min(at)));
    }
}

impl Core<'_> {
    /// The next number.
    pub fn next_seq(&mut self) -> Seq {
        let numbers = &mut self.state.numbers;
        numbers.last += 1;
        if numbers.last > numbers.block_end {
            numbers.block_end = numbers.last + BLOCK;
            self.store.set_meta(COUNT, &numbers.block_end.to_string());
        }
        Seq(numbers.last)
    }

    /// What can be done to items of a kind.
    #[must_use]
    pub fn policy(&self, kind: Kind) -> Policy {
        let pages = &self.settings.pages;
        let storage_is_two_way = self.settings.storage.mode == StorageMode::TwoWay;
        policy(kind, Choices { deletes: pages.deletes, moves: pages.moves, storage_is_two_way })
    }

    /// The elements of a content; none without one.
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be read.
    pub fn elements(&self, content: Option<ContentHash>) -> Result<Elements, StoreError> {
        content.map_or_else(|| Ok(Elements::new()), |content| self.store.elements(content))
    }

    /// A text of a file that the history has; `None` if it has none, or it is no text.
    ///
    /// # Errors
    /// [`StoreError`] when the history cannot be read.
    pub fn text(&self, hash: ContentHash) -> Result<Option<String>, StoreError> {
        Ok(self.store.content(hash)?.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// Writes the rows that changed. The caller commits.
    pub fn save(&mut self) {
        rows::save(&mut self.state.items, &mut self.state.journal, self.store);
    }

    /// Ends the first match: from now on a file without an item is new.
    pub fn end_first_match(&mut self) {
        self.state.first_match = false;
        self.store.set_meta(FIRST_MATCH, "no");
        self.state.items.mark_all();
    }
}
