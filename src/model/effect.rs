//! The seam between the engine and the world: effects out, events in.
//!
//! An effect is a plain value. Its driver (the daemon, or the simulation) answers with exactly one
//! [`Event::Done`] that carries the same [`EffectId`]. Every write names what it expects and is refused when that
//! no longer holds.

use std::collections::BTreeSet;

use super::{
    BoardEffect, BoardReply, BodyJson, ContentHash, DiskError, DownloadError, Downloaded, FileObject, Found,
    IgnoreFile, Job, MirrorPath, Page, PageId, PageMeta, Put, Search, ServiceError, Stamp, StorageEffect,
    StorageEvent, StorageReply, StoredReply, Timestamp, Worked, Workspace, WorkspaceId,
};

/// Names one effect from its issue to its answer; never reused within a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(pub u64);

/// No answer of the service is waited for longer, in milliseconds; uploads and downloads apart. What comes later than
/// this was on its way while the machine slept.
pub const ANSWER_MAX_MS: i64 = 60_000;

/// Something the engine wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// `GET /workspaces`.
    ListWorkspaces,
    /// `GET /pages` of one workspace.
    ListPages {
        /// Which.
        workspace: WorkspaceId,
        /// The list that has nothing new to say, by the hash of its bytes.
        known: Option<ContentHash>,
    },
    /// `GET /pages/:id`.
    FetchPage(PageId),
    /// `POST /pages`.
    CreatePage {
        /// Where.
        workspace: WorkspaceId,
        /// Under which page; `None` at the top.
        parent: Option<PageId>,
        /// Its title; empty gives the service's default.
        title: String,
    },
    /// `PATCH /pages/:id`; at least one of the two is there.
    UpdatePage {
        /// Which.
        id: PageId,
        /// The new title.
        title: Option<String>,
        /// The whole new body.
        content: Option<BodyJson>,
    },
    /// `DELETE /pages/:id`: to the service's trash, with all its subpages.
    TrashPage(PageId),
    /// A request about whiteboards or presentations.
    Board(BoardEffect),
    /// `GET /search`.
    Search(Box<Search>),

    /// Look at the whole mirror: the root's state and every entry beneath it.
    Scan,
    /// Read one file whole.
    ReadFile(MirrorPath),
    /// Write one file atomically, making the folders above it.
    WriteFile {
        /// Where.
        path: MirrorPath,
        /// Everything it shall hold.
        bytes: Vec<u8>,
        /// What must be there for the write to happen.
        expect: Expect,
    },
    /// Rename a file or folder, making the folders above the new place; never replaces anything.
    Rename {
        /// From here.
        from: MirrorPath,
        /// To here.
        to: MirrorPath,
    },
    /// Move a file to `.espejo/trash/`.
    TrashFile {
        /// Which.
        path: MirrorPath,
        /// Only if it holds exactly this.
        expect: ContentHash,
    },
    /// Remove a folder that is empty; not an error when it is not.
    RemoveFolder(MirrorPath),

    /// Anything about personal storage.
    Storage(StorageEffect),

    /// Work something out; asked for only where [`crate::model::Job`]s are carried out.
    Work(Job),
}

impl Effect {
    /// Whether this is a request to the service, which costs one permit.
    #[must_use]
    pub fn is_request(&self) -> bool {
        matches!(
            self,
            Self::ListWorkspaces
                | Self::ListPages { .. }
                | Self::FetchPage(_)
                | Self::CreatePage { .. }
                | Self::UpdatePage { .. }
                | Self::TrashPage(_)
                | Self::Board(_)
                | Self::Search(_)
        ) || matches!(self, Self::Storage(effect) if effect.is_request())
    }

    /// Whether this surely changes nothing on either side. A download is no part of the folder before it is put in its place.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        match self {
            Self::Board(effect) => effect.only_looks(),
            Self::Storage(effect) => effect.only_looks(),
            _ => self.looks_at_pages(),
        }
    }

    fn looks_at_pages(&self) -> bool {
        matches!(
            self,
            Self::ListWorkspaces
                | Self::ListPages { .. }
                | Self::FetchPage(_)
                | Self::Search(_)
                | Self::Scan
                | Self::ReadFile(_)
                | Self::Work(_)
        )
    }
}

/// What a file write expects to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Nothing; folders on the way are made.
    Absent,
    /// Nothing, in a folder that is there. A folder that has just been renamed away does not come back.
    AbsentHere,
    /// A file with exactly this content.
    Content(ContentHash),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The watcher named a path: a hint that a scan may find something.
    Hint(MirrorPath),
    /// A program opened a file or a folder: a hint that a user reads it.
    Opened(MirrorPath),
    /// The watcher lost events, or a folder moved: scan everything.
    HintAll,
    /// An effect ended.
    Done {
        /// Which.
        id: EffectId,
        /// How.
        outcome: Outcome,
    },
    /// A person asked for something.
    Asked(Request),
    /// Something about personal storage.
    Storage(StorageEvent),
}

/// What a person asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Look at everything once, both sides, and settle what differs.
    FullPass,
    /// Go on with what a guard held: these paths, or everything when empty.
    Approve(Vec<MirrorPath>),
    /// Put away what is told of events at these places and beneath them, or everywhere when empty.
    Dismiss(Vec<MirrorPath>),
    /// Look at what is at these places now, or at the lists and at all that is late when empty; how far it is comes with
    /// `Engine::pulled`.
    Pull(Vec<MirrorPath>),
    /// Change one file; the answer comes with `Engine::take_told`.
    Put(Box<Put>),
    /// Ask and send nothing until [`Request::Resume`].
    Pause,
    /// The end of a pause.
    Resume,
    /// Lend this many requests to another process; answered by the driver, for the engine's events know no answers.
    Lend(u32),
    /// Search at the service; the answer comes with `Engine::take_found`.
    Search(Box<Search>),
    /// As a full pass, and compare what is on disk with what was downloaded; `deep` reads every file.
    Verify {
        /// Whether contents are read and not only sizes compared.
        deep: bool,
    },
}

/// How an effect ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A request to the service.
    Service(Result<ServiceReply, ServiceError>),
    /// A look or act in the folder.
    Disk(Result<DiskReply, DiskError>),
    /// A download.
    Download(Result<Downloaded, DownloadError>),
    /// A job.
    Work(Option<Worked>),
}

/// What the service answered.
#[derive(Debug, Clone, PartialEq)]
pub enum ServiceReply {
    /// To [`Effect::ListWorkspaces`].
    Workspaces(Vec<Workspace>),
    /// To [`Effect::ListPages`].
    Pages {
        /// Every page that could be understood.
        pages: Vec<PageMeta>,
        /// One sentence for each entry that could not; such a list is no evidence of absence.
        skipped: Vec<String>,
        /// What the list is known by.
        hash: ContentHash,
    },
    /// To [`Effect::ListPages`]: the list is the one that is known.
    PagesAsKnown,
    /// To [`Effect::FetchPage`].
    Page(Box<Page>),
    /// To [`Effect::CreatePage`] and [`Effect::UpdatePage`].
    Meta(PageMeta),
    /// To [`Effect::TrashPage`].
    Trashed,
    /// To [`Effect::Board`].
    Board(BoardReply),
    /// To [`Effect::Search`].
    Found(Found),
    /// To a request about storage.
    Storage(StorageReply),
}

/// What the folder answered.
#[derive(Debug, Clone, PartialEq)]
pub enum DiskReply {
    /// To [`Effect::Scan`].
    Scan(Scan),
    /// To [`Effect::ReadFile`].
    File(FileRead),
    /// To [`Effect::WriteFile`]: the stamp of what is there now.
    Written(Stamp),
    /// To [`Effect::Rename`], [`Effect::TrashFile`] and [`Effect::RemoveFolder`].
    Finished,
    /// To an act about storage that has an answer of its own.
    Storage(StoredReply),
}

/// A look at the whole mirror.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scan {
    /// Whether the root can be trusted.
    pub root: RootState,
    /// Every file and folder beneath the root, `.espejo` aside, in path order.
    pub entries: Vec<Entry>,
    /// What could not be looked at; what may be there may not be taken for gone.
    pub unreadable: Vec<Unreadable>,
    /// Device and inode of the root.
    pub root_identity: (u64, u64),
    /// What the clock said that dates files when the look began. It can be set while the engine's own time goes on.
    pub clock: Timestamp,
    /// The file of patterns, read after everything else was looked at: it is no older than what it is about.
    pub ignore_file: IgnoreFile,
}

/// Whether the root is there and is this mirror's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RootState {
    /// There, with this mirror's marker.
    Ready,
    /// Not there.
    #[default]
    Missing,
    /// There, without a marker.
    NoMarker,
    /// There, with the marker of another mirror.
    OtherMirror,
    /// There, but it cannot be read.
    Unreadable(String),
}

/// One file or folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Where.
    pub path: MirrorPath,
    /// What.
    pub kind: EntryKind,
    /// Its metadata.
    pub stamp: Stamp,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// An ordinary file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, a socket, a device: never followed, never written through.
    Other,
}

/// Something a scan could not look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where; of a name that is no path of the mirror, the folder that it is in.
    pub path: MirrorPath,
    /// Why.
    pub why: String,
    /// What may be there.
    pub hides: Hides,
}

/// What may be where a scan could not look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hides {
    /// Anything: it is a folder that could not be listed, or may be one.
    Anything,
    /// These file objects: what bears a name that is no path of the mirror, and all that lies beneath it.
    Named(BTreeSet<FileObject>),
    /// This file object, of which only the content cannot be read.
    File(FileObject),
}

impl Unreadable {
    /// Whether `path` lies where anything may be.
    #[must_use]
    pub fn covers(&self, path: &MirrorPath) -> bool {
        self.hides == Hides::Anything && path.is_within(&self.path)
    }
}

impl Scan {
    /// Whether `path` lies where the scan could not look.
    #[must_use]
    pub fn covers(&self, path: &MirrorPath) -> bool {
        self.unreadable.iter().any(|item| item.covers(path))
    }
}

/// One file, read whole between two equal stamps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// Where.
    pub path: MirrorPath,
    /// Its metadata, before and after.
    pub stamp: Stamp,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// What the clock said that dates files, before the file was opened.
    pub clock: Timestamp,
}
