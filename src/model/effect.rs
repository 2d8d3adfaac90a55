//! The interface between the engine and the world: effects out, events in.
//!
//! An effect is a plain value. Its driver (the daemon, or the simulation) answers with exactly one [`Event::Done`]
//! that carries the same [`EffectId`]. Each write states what it expects to find, and is refused if that no longer
//! holds.

use super::{
    BoardEffect, BoardReply, BodyJson, ContentHash, DiskError, DownloadError, Downloaded, Fault, FileObject,
    Found, IgnoreFile, Job, MirrorPath, Page, PageId, PageMeta, Put, Search, ServiceError, Stamp,
    StorageEffect, StorageEvent, StorageReply, StoredReply, Timestamp, Worked, Workspace, WorkspaceId,
};

/// Identifies one effect from its issue to its answer; never reused within a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(pub u64);

/// The longest wait for an answer of the service, in milliseconds, except for uploads and downloads. A later answer
/// was on its way while the machine slept.
pub const ANSWER_MAX_MS: i64 = 60_000;

/// An act that the engine requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// `GET /workspaces`.
    ListWorkspaces,
    /// `GET /pages` of one workspace.
    ListPages {
        /// The workspace.
        workspace: WorkspaceId,
        /// Hash of the bytes of the known list. A list with this hash has no news.
        known: Option<ContentHash>,
    },
    /// `GET /pages/:id`.
    FetchPage(PageId),
    /// `POST /pages`.
    CreatePage {
        /// The workspace.
        workspace: WorkspaceId,
        /// The parent page; `None` at the top.
        parent: Option<PageId>,
        /// Its title; empty gives the service's default.
        title: String,
    },
    /// `PATCH /pages/:id`; at least one of title and content is set.
    UpdatePage {
        /// The page.
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

    /// Scan the whole mirror: the root's state and each entry beneath it.
    Scan,
    /// Read one file whole.
    ReadFile(MirrorPath),
    /// Write one file atomically, and create the folders above it.
    WriteFile {
        /// The path.
        path: MirrorPath,
        /// The whole content.
        bytes: Vec<u8>,
        /// What must be at the path for the write to happen.
        expect: Expect,
    },
    /// Rename a file or folder, and create the folders above the new place; never replaces an entry.
    Rename {
        /// The old path.
        from: MirrorPath,
        /// The new path.
        to: MirrorPath,
    },
    /// Move a file to `.espejo/trash/`.
    TrashFile {
        /// The file.
        path: MirrorPath,
        /// The content that the file must have.
        expect: ContentHash,
    },
    /// Remove an empty folder; no error if it is not empty.
    RemoveFolder(MirrorPath),

    /// An effect about personal storage.
    Storage(StorageEffect),

    /// A computation on a worker thread; requested only if the driver carries out [`crate::model::Job`]s.
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

    /// Whether this certainly changes nothing on either side. A download is not part of the folder until it is
    /// placed.
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
    /// No entry; missing folders above are created.
    Absent,
    /// No entry, in a folder that exists. A folder that was just renamed away is not created again.
    AbsentHere,
    /// A file with exactly this content.
    Content(ContentHash),
}

/// Input of the engine.
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
        /// The effect.
        id: EffectId,
        /// Its result.
        outcome: Outcome,
    },
    /// A request of the user.
    Asked(Request),
    /// An event of personal storage.
    Storage(StorageEvent),
}

/// Requests that another process may make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lent {
    /// The number of the first of them in the limiter's log.
    pub first: u64,
    /// How many they are.
    pub slots: u32,
}

impl Lent {
    /// The numbers of all of them.
    #[must_use]
    pub fn numbers(&self) -> std::ops::Range<u64> {
        self.first..self.first.saturating_add(u64::from(self.slots))
    }
}

/// A request of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Fetch and scan everything once, and settle all differences.
    FullPass,
    /// Release what a guard held: these paths, or everything if empty.
    Approve(Vec<MirrorPath>),
    /// Fetch what is at these paths now, and sync it; `Engine::pulled` gives the progress.
    Pull(Vec<MirrorPath>),
    /// Change one file; the answer comes with `Engine::take_told`.
    Put(Box<Put>),
    /// Send no request to the service until [`Request::Resume`].
    Pause,
    /// The end of a pause.
    Resume,
    /// Lend this many requests to another process. The driver answers, because the engine's events have no answers.
    Lend(u32),
    /// Take back requests that were lent: the process has made this many of them, and makes no more.
    GiveBack(Lent, u32),
    /// Search at the service; `Engine::take_found` gives the answer.
    Search(Box<Search>),
    /// As a full pass, and read each stored file to compare it with what was downloaded.
    DeepPass,
}

/// How an effect ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A request to the service.
    Service(Result<ServiceReply, ServiceError>),
    /// A read or an act in the folder.
    Disk(Result<DiskReply, DiskError>),
    /// A download.
    Download(Result<Downloaded, DownloadError>),
    /// A job; [`Fault`] if it panicked.
    Work(Result<Option<Worked>, Fault>),
}

impl Outcome {
    /// Whether it is that of a scan that could read the folder.
    #[must_use]
    pub fn shows_folder(&self) -> bool {
        matches!(self, Self::Disk(Ok(DiskReply::Scan(scan))) if scan.root == RootState::Ready)
    }
}

/// What the service answered.
#[derive(Debug, Clone, PartialEq)]
pub enum ServiceReply {
    /// To [`Effect::ListWorkspaces`].
    Workspaces(Vec<Workspace>),
    /// To [`Effect::ListPages`].
    Pages {
        /// Each page that could be parsed.
        pages: Vec<PageMeta>,
        /// One sentence for each entry that could not be parsed; such a list is no evidence of absence.
        skipped: Vec<String>,
        /// Hash that identifies the list.
        hash: ContentHash,
    },
    /// To [`Effect::ListPages`]: the list is the known one.
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
    /// To an effect of storage that has an answer of its own.
    Storage(StoredReply),
}

/// The result of a scan of the whole mirror.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scan {
    /// Whether the root can be trusted.
    pub root: RootState,
    /// All files and folders beneath the root, except `.espejo`, in path order.
    pub entries: Vec<Entry>,
    /// What could not be read. Items that may be there must not count as gone.
    pub unreadable: Vec<Unreadable>,
    /// Device and inode of the root.
    pub root_identity: (u64, u64),
    /// The time of the clock that dates files, at the start of the scan. Users can set this clock, while the engine's
    /// own time continues.
    pub clock: Timestamp,
    /// The file of ignore patterns. It is read after all entries, so that it is no older than they are.
    pub ignore_file: IgnoreFile,
}

/// Whether the root exists and is this mirror's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RootState {
    /// It exists, with this mirror's marker.
    Ready,
    /// It does not exist.
    #[default]
    Missing,
    /// It exists, without a marker.
    NoMarker,
    /// It exists, with the marker of another mirror.
    OtherMirror,
    /// It exists, but it cannot be read.
    Unreadable(String),
}

/// One file or folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its path.
    pub path: MirrorPath,
    /// Its kind.
    pub kind: EntryKind,
    /// Its metadata.
    pub stamp: Stamp,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// An ordinary file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, a socket, a device: espejo never follows it and never writes through it.
    Other,
}

/// An entry that a scan could not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its path; for a name that is no path of the mirror, the folder that it is in.
    pub path: MirrorPath,
    /// Why.
    pub why: String,
    /// What may be there.
    pub hides: Hides,
    /// The file object that is there, where the system says it.
    pub object: Option<FileObject>,
}

/// What may be at a place that a scan could not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hides {
    /// Anything: it is a folder that could not be listed.
    Anything,
    /// Anything: its name is no path of the mirror. What can be read beside it is there.
    Name,
    /// What was last seen at its path and beneath it: something that is no file or folder stands there.
    Beneath,
    /// The item with its file object; only its content cannot be read.
    Its,
}

impl Unreadable {
    /// Whether `path` lies in a place that could not be read.
    #[must_use]
    pub fn covers(&self, path: &MirrorPath) -> bool {
        matches!(self.hides, Hides::Anything | Hides::Beneath) && path.is_within(&self.path)
    }
}

impl Scan {
    /// Whether `path` lies in a place that the scan could not read.
    #[must_use]
    pub fn covers(&self, path: &MirrorPath) -> bool {
        self.unreadable.iter().any(|item| item.covers(path))
    }
}

/// One file, read completely between two equal stamps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRead {
    /// Its path.
    pub path: MirrorPath,
    /// Its metadata, equal before and after the read.
    pub stamp: Stamp,
    /// Its content.
    pub bytes: Vec<u8>,
    /// The time of the clock that dates files, before the file was opened.
    pub clock: Timestamp,
    /// Whether a program had it open for writing after the read; `false` where the system does not say.
    pub is_open: bool,
}
