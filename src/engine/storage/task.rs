//! The purpose of each storage effect, with the values that its answer needs. It decides nothing.

use crate::engine::pace::Class;
use crate::model::{AttachmentId, ContentHash, Effect, FileId, FolderId, MirrorPath, StorageEffect};

/// The purpose of a storage effect.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::engine) enum Task {
    Walk(Option<FolderId>),
    /// Requests a link, or confirms that the file is gone.
    Link(FileId),
    Upload(MirrorPath),
    Trash(FileId),

    Download {
        file: FileId,
        attachment: AttachmentId,
        size: u64,
    },
    Hash {
        file: FileId,
        path: MirrorPath,
    },

    MakeFolder {
        folder: Option<FolderId>,
        path: MirrorPath,
    },
    RemoveFolder {
        folder: FolderId,
        path: MirrorPath,
    },
    RenameFolder {
        folder: FolderId,
        from: MirrorPath,
        to: MirrorPath,
    },
    Rename {
        file: FileId,
        from: MirrorPath,
        to: MirrorPath,
    },
    SetAside {
        file: FileId,
        from: MirrorPath,
        to: MirrorPath,
    },
    Place {
        file: FileId,
        to: MirrorPath,
        content: Fetched,
        replaces: bool,
    },
    Discard {
        file: FileId,
        path: MirrorPath,
    },
    Read(MirrorPath),
    Sweep,
}

/// The content of a finished download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) struct Fetched {
    pub(super) attachment: AttachmentId,
    pub(super) size: u64,
    pub(super) hash: ContentHash,
}

impl Task {
    /// The list of a folder.
    pub(in crate::engine) fn list(folder: Option<FolderId>) -> (Effect, Self) {
        (effect(StorageEffect::List(folder.clone())), Self::Walk(folder))
    }

    pub(in crate::engine) fn is_request(&self) -> bool {
        matches!(self, Self::Walk(_) | Self::Link(_) | Self::Upload(_) | Self::Trash(_))
    }

    /// Whether it neither costs a permit nor changes what a scan sees, so that it runs on a worker thread.
    pub(in crate::engine) fn is_beside(&self) -> bool {
        matches!(self, Self::Download { .. } | Self::Hash { .. })
    }

    /// Whether it places a file that is new in the folder. Its record was committed before.
    pub(in crate::engine) fn is_first_write(&self) -> bool {
        matches!(self, Self::Place { replaces: false, .. })
    }

    pub(in crate::engine) fn class(&self) -> Class {
        match self {
            Self::Upload(_) | Self::Trash(_) => Class::Edit,
            _ => Class::Background,
        }
    }

    pub(in crate::engine) fn file(&self) -> Option<&FileId> {
        match self {
            Self::Link(file)
            | Self::Trash(file)
            | Self::Download { file, .. }
            | Self::Hash { file, .. }
            | Self::Rename { file, .. }
            | Self::SetAside { file, .. }
            | Self::Place { file, .. }
            | Self::Discard { file, .. } => Some(file),
            _ => None,
        }
    }
}

/// Wraps a storage effect.
pub(super) fn effect(effect: StorageEffect) -> Effect {
    Effect::Storage(effect)
}
