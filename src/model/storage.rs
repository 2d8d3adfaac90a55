//! Personal storage: its items at the service, the state kept of them, and the effects and events about them.
//!
//! A signed link is a secret while it is valid: only the edge that downloads from it can read a [`Link`].

use std::fmt;

use super::{
    AttachmentId, ContentHash, DiskError, EffectId, FileId, FolderId, MirrorPath, Rest, Stamp, WorkspaceId,
};

/// A folder of the user's storage, as the service sends it (API document, "Storage folder").
#[derive(Debug, Clone, PartialEq)]
pub struct StorageFolder {
    /// Its id.
    pub id: FolderId,
    /// The folder above it; `None` at the root.
    pub parent: Option<FolderId>,
    /// Its name.
    pub name: String,
    /// Its order among its siblings.
    pub position: f64,
}

/// A file of the user's storage, as the service sends it (API document, "Storage file").
#[derive(Debug, Clone, PartialEq)]
pub struct StorageFile {
    /// Its id, used by `DELETE` and `GET`.
    pub id: FileId,
    /// Its folder; `None` at the root.
    pub folder: Option<FolderId>,
    /// The id of its content: another id is another content.
    pub attachment: AttachmentId,
    /// Its name.
    pub filename: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its order among its siblings.
    pub position: f64,
    /// Its other fields.
    pub rest: Rest,
}

/// The content of a folder of the user's storage.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StorageListing {
    /// The folders directly in it.
    pub folders: Vec<StorageFolder>,
    /// The files directly in it.
    pub files: Vec<StorageFile>,
    /// One sentence for each entry that could not be parsed; such a list is no evidence of absence.
    pub skipped: Vec<String>,
}

/// A signed download address. Everybody who has it can read the file, so no log and no error shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Link(String);

impl Link {
    /// Wraps an address.
    #[must_use]
    pub fn new(address: String) -> Self {
        Self(address)
    }

    /// The address, for the edge that downloads from it.
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

/// The name of a download's temporary file: letters and digits, one name for each content of each file.
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

/// An act on storage that the engine requests.
#[derive(Debug, Clone, PartialEq)]
pub enum StorageEffect {
    /// `GET /storage`; `None` for the root.
    List(Option<FolderId>),
    /// `GET /storage/:id`: a signed link, and whether the file exists.
    AskLink(FileId),
    /// `POST /storage`.
    Upload {
        /// The workspace that it counts for.
        workspace: WorkspaceId,
        /// The folder; `None` for the root.
        folder: Option<FolderId>,
        /// Its name.
        filename: String,
        /// Its content.
        bytes: Vec<u8>,
    },
    /// `DELETE /storage/:id`: to the service's trash.
    Trash(FileId),

    /// Download from a signed link into a temporary file, and resume after the bytes that it has. Costs no permit.
    Download {
        /// The source.
        link: Link,
        /// The temporary file.
        part: Part,
        /// The expected size in bytes.
        size: u64,
    },

    /// Hash a file of any size.
    Hash(MirrorPath),
    /// Create a folder, and those above it; no error if it exists.
    MakeFolder(MirrorPath),
    /// Move a finished download to its place.
    Place {
        /// The temporary file.
        part: Part,
        /// Hash of its content.
        hash: ContentHash,
        /// The path.
        to: MirrorPath,
        /// What must be there: nothing, or a file with this stamp, which goes to the mirror's trash.
        instead_of: Option<Stamp>,
    },
    /// Move a file to the mirror's trash if it has this stamp.
    Discard {
        /// The file.
        path: MirrorPath,
        /// The stamp that it must have.
        expect: Stamp,
    },
    /// Remove all temporary files except these.
    Sweep(Vec<Part>),
}

impl StorageEffect {
    /// Whether this certainly changes nothing on either side.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        matches!(self, Self::List(_) | Self::AskLink(_) | Self::Download { .. } | Self::Hash(_))
    }

    /// Whether this costs a permit.
    #[must_use]
    pub fn is_request(&self) -> bool {
        matches!(self, Self::List(_) | Self::AskLink(_) | Self::Upload { .. } | Self::Trash(_))
    }

    /// A name for traces, without content and without link.
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

/// The service's answer about storage.
#[derive(Debug, Clone, PartialEq)]
pub enum StorageReply {
    /// To [`StorageEffect::List`].
    Listing(StorageListing),
    /// To [`StorageEffect::AskLink`]. This answer lacks the file's position, which is 0 here.
    Link {
        /// The file's present state.
        file: StorageFile,
        /// The download link of its content.
        link: Link,
        /// Validity of the link, in milliseconds.
        good_for_ms: i64,
    },
    /// To [`StorageEffect::Upload`].
    Uploaded(StorageFile),
    /// To [`StorageEffect::Trash`].
    Trashed,
}

/// The folder's answer about storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredReply {
    /// To [`StorageEffect::Hash`]: equal stamps before and after.
    Hashed(Stamp, ContentHash),
    /// To [`StorageEffect::Place`]: the stamp of the placed file.
    Placed(Stamp),
}

/// A download that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Downloaded {
    /// Hash of the temporary file's content.
    pub hash: ContentHash,
}

/// A download that failed. Texts never hold a link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DownloadError {
    /// The server does not accept the link (any more): a new one must be requested.
    #[error("the link has expired (status {0})")]
    Refused(u16),
    /// The link leads to a place that espejo does not connect to.
    #[error("the link cannot be followed: {0}")]
    BadLink(String),
    /// No connection, a failure of the server, or an answer that broke off: the received bytes are kept.
    #[error("{why}")]
    Broken {
        /// Why.
        why: String,
        /// The number of bytes of the file that are on disk.
        got: u64,
    },
    /// The size differs from the service's: the received bytes are discarded.
    #[error("{got} bytes arrived instead of {size}")]
    WrongSize {
        /// The received or announced number of bytes.
        got: u64,
        /// The service's number of bytes.
        size: u64,
    },
    /// The temporary file could not be written.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// An event of storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageEvent {
    /// Progress of a download.
    Progress {
        /// The effect.
        id: EffectId,
        /// The number of bytes so far.
        got: u64,
    },
}
