//! Personal storage: what the service shows of it, what is remembered of it, and the effects and events that are about it.
//!
//! A signed link is a secret for as long as it lives: only the edge that fetches it can read a [`Link`].

use std::fmt;

use super::{
    AttachmentId, ContentHash, DiskError, EffectId, FileId, FolderId, MirrorPath, PollState, Rest, Stamp,
    Timestamp, Unsent, WorkspaceId,
};

/// A folder of the user's storage, as the service shows it (API document, "Storage folder").
#[derive(Debug, Clone, PartialEq)]
pub struct StorageFolder {
    /// Its id.
    pub id: FolderId,
    /// The folder it is in; `None` at the root.
    pub parent: Option<FolderId>,
    /// Its name.
    pub name: String,
    /// Its order among its siblings.
    pub position: f64,
}

/// A file of the user's storage, as the service shows it (API document, "Storage file").
#[derive(Debug, Clone, PartialEq)]
pub struct StorageFile {
    /// Its id; `DELETE` and `GET` take this one.
    pub id: FileId,
    /// The folder it is in; `None` at the root.
    pub folder: Option<FolderId>,
    /// What it holds, by id: another id is another content.
    pub attachment: AttachmentId,
    /// Its name.
    pub filename: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its order among its siblings.
    pub position: f64,
    /// What else the service says of it.
    pub rest: Rest,
}

/// What a folder of the user's storage holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StorageListing {
    /// The folders directly in it.
    pub folders: Vec<StorageFolder>,
    /// The files directly in it.
    pub files: Vec<StorageFile>,
    /// One sentence for each entry that could not be understood; such a list is no evidence of absence.
    pub skipped: Vec<String>,
}

/// A signed download address. Anyone who has it can read the file, so it shows itself in no log and no error.
#[derive(Clone, PartialEq, Eq)]
pub struct Link(String);

impl Link {
    /// Wraps an address.
    #[must_use]
    pub fn new(address: String) -> Self {
        Self(address)
    }

    /// The address, for the edge that fetches it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Link([signed])")
    }
}

/// The name of a download's temporary file: letters and digits, one for each content of each file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part(String);

impl Part {
    /// The temporary file for this content of this file.
    #[must_use]
    pub fn of(file: &FileId, attachment: &AttachmentId, size: u64) -> Self {
        let hash = ContentHash::of(format!("{file}/{attachment}/{size}").as_bytes());
        Self(hash.0[..16].iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What the engine wants done for storage.
#[derive(Debug, Clone, PartialEq)]
pub enum StorageEffect {
    /// `GET /storage`; `None` for the root.
    List(Option<FolderId>),
    /// `GET /storage/:id`: a signed link, and whether the file is there.
    AskLink(FileId),
    /// `POST /storage`.
    Upload {
        /// The workspace it counts for.
        workspace: WorkspaceId,
        /// Where; `None` for the root.
        folder: Option<FolderId>,
        /// Its name.
        filename: String,
        /// What it holds.
        bytes: Vec<u8>,
    },
    /// `DELETE /storage/:id`: to the service's trash.
    Trash(FileId),

    /// Fetch a signed link into a temporary file, going on from what is there already. Costs no permit.
    Download {
        /// Where from.
        link: Link,
        /// Into which temporary file.
        part: Part,
        /// How many bytes it shall have.
        size: u64,
    },

    /// Hash a file, however large.
    Hash(MirrorPath),
    /// Make a folder, and those above it; not an error when it is there.
    MakeFolder(MirrorPath),
    /// Put a finished download in its place.
    Place {
        /// Which.
        part: Part,
        /// What it holds.
        hash: ContentHash,
        /// Where to.
        to: MirrorPath,
        /// What must be there: nothing, or a file with this stamp, which goes to the mirror's trash.
        instead_of: Option<Stamp>,
    },
    /// Move a file to the mirror's trash if it has this stamp.
    Discard {
        /// Which.
        path: MirrorPath,
        /// As it must be.
        expect: Stamp,
    },
    /// Remove every temporary file but these.
    Sweep(Vec<Part>),
}

impl StorageEffect {
    /// Whether this surely changes nothing on either side.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        matches!(self, Self::List(_) | Self::AskLink(_) | Self::Download { .. } | Self::Hash(_))
    }

    /// Whether this costs a permit.
    #[must_use]
    pub fn is_request(&self) -> bool {
        matches!(self, Self::List(_) | Self::AskLink(_) | Self::Upload { .. } | Self::Trash(_))
    }

    /// A name for traces; no content, no link.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::List(_) => "list storage",
            Self::AskLink(_) => "ask for a link",
            Self::Upload { .. } => "upload",
            Self::Trash(_) => "trash stored file",
            Self::Download { .. } => "download",
            Self::Hash(_) => "hash",
            Self::MakeFolder(_) => "make folder",
            Self::Place { .. } => "place download",
            Self::Discard { .. } => "discard",
            Self::Sweep(_) => "sweep",
        }
    }
}

/// What the service answered about storage.
#[derive(Debug, Clone, PartialEq)]
pub enum StorageReply {
    /// To [`StorageEffect::List`].
    Listing(StorageListing),
    /// To [`StorageEffect::AskLink`]. The file's position is not in this answer and is 0 here.
    Link {
        /// The file as it is now.
        file: StorageFile,
        /// Where its content can be fetched.
        link: Link,
        /// For how long, in milliseconds.
        good_for_ms: i64,
    },
    /// To [`StorageEffect::Upload`].
    Uploaded(StorageFile),
    /// To [`StorageEffect::Trash`].
    Trashed,
}

/// What the folder answered about storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredReply {
    /// To [`StorageEffect::Hash`]: equal stamps before and after.
    Hashed(Stamp, ContentHash),
    /// To [`StorageEffect::Place`]: the stamp of what is there now.
    Placed(Stamp),
}

/// A download that ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Downloaded {
    /// What the temporary file holds.
    pub hash: ContentHash,
}

/// A download that did not end well. Texts never hold a link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DownloadError {
    /// The link is not taken (any more): another one is to be asked for.
    #[error("the link has expired (status {0})")]
    Refused(u16),
    /// The link leads where espejo does not go.
    #[error("the link cannot be followed: {0}")]
    BadLink(String),
    /// No connection, a failure of the server, or an answer that broke off: what came is kept.
    #[error("{why}")]
    Broken {
        /// Why.
        why: String,
        /// How many bytes of the file are here.
        got: u64,
    },
    /// Another size than the service told; what came is thrown away.
    #[error("{got} bytes arrived instead of {size}")]
    WrongSize {
        /// How many came, or were announced.
        got: u64,
        /// How many the service told.
        size: u64,
    },
    /// The temporary file could not be written.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// Something that happened to storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageEvent {
    /// A download goes on: so many bytes are there.
    Progress {
        /// Which.
        id: EffectId,
        /// How many.
        got: u64,
    },
}

/// What is remembered of a folder.
#[derive(Debug, Clone, PartialEq)]
pub struct FolderNode {
    /// As the service last showed it.
    pub remote: StorageFolder,
    /// Whether the last list of the folder above it had it.
    pub listed: bool,
    /// Its name on disk, once chosen.
    pub stem: Option<String>,
    /// Where it is on disk, once it is.
    pub at: Option<MirrorPath>,
    /// How its list stands in the schedule: when it was last listed, and how lively it is.
    pub poll: PollState,
    /// A person let go of what a guard held.
    pub approved: bool,
}

/// What is remembered of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileNode {
    /// As the service last showed it.
    pub remote: StorageFile,
    /// Whether it is there.
    pub seen: Seen,
    /// When it was last seen there (or asked for in vain).
    pub seen_at: Timestamp,
    /// Its name on disk, once chosen.
    pub stem: Option<String>,
    /// What both sides agreed on.
    pub base: Option<StoredFile>,
    /// An upload of ours holds what this one should: it goes to the trash when that one is seen.
    pub replaced_by: Option<FileId>,
    /// A person let go of what a guard held.
    pub approved: bool,
}

/// Whether a file is at the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// In the last list of its folder.
    Listed,
    /// No longer in the last list of its folder.
    Unlisted,
    /// Asked for by itself, and not there.
    Gone,
}

/// A file on disk that is what the service had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// The content, by the service's id.
    pub attachment: AttachmentId,
    /// Its size in bytes.
    pub size: u64,
    /// Its hash, made while it was downloaded or uploaded.
    pub hash: ContentHash,
    /// Where it is.
    pub path: MirrorPath,
    /// As the file system showed it; [`Stamp::default`] while the file was not seen in the present folder.
    pub stamp: Stamp,
}

impl StoredFile {
    /// Whether the file was seen in the present folder. Until then its absence is no deletion, and other bytes in its place
    /// are no edit.
    #[must_use]
    pub fn is_seen(&self) -> bool {
        self.stamp != Stamp::default()
    }
}

/// A file in the storage folder that the service does not have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalOnly {
    /// Where.
    pub path: MirrorPath,
    /// Its size in bytes.
    pub size: u64,
    /// Why it is not sent; `None` for one that is on its way or that a backup leaves alone.
    pub why: Option<Unsent>,
}
