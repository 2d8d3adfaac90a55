//! The purposes of effects on whiteboards and presentations.

use crate::canvas::Op;
use crate::engine::pace::Class;
use crate::model::{BoardEffect, CanvasId, ContentHash, DeckId, MirrorPath};
use crate::store::PendingCanvasWrite;

/// The reason for a write of a canvas file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Wrote {
    New,
    Changes,
    Ids,
    PutBack,
}

/// The purpose of an effect.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::engine) enum Purpose {
    /// A list of whiteboards, presentations or slides.
    List(BoardEffect),
    Fetch {
        canvas: CanvasId,
        class: Class,
    },
    Push {
        canvas: CanvasId,
        op: Op,
        class: Class,
    },
    Create {
        name: String,
    },
    TrashBoard {
        canvas: CanvasId,
    },
    DeleteSlide {
        canvas: CanvasId,
    },
    TrashDeck {
        deck: DeckId,
    },

    Read {
        path: MirrorPath,
    },
    Write {
        canvas: CanvasId,
        path: MirrorPath,
        writing: PendingCanvasWrite,
        what: Wrote,
    },
    Copy {
        canvas: CanvasId,
        copy: MirrorPath,
        text: ContentHash,
        summary: String,
    },
    Rename {
        canvas: CanvasId,
        from: MirrorPath,
        to: MirrorPath,
        reverts_move: bool,
    },
    SetAside {
        canvas: CanvasId,
        from: MirrorPath,
        to: MirrorPath,
    },
    RenameFolder {
        deck: DeckId,
        from: MirrorPath,
        to: MirrorPath,
        reverts_move: bool,
    },
    TrashFile {
        canvas: CanvasId,
        path: MirrorPath,
    },
    RemoveFolder,
    Draw {
        path: MirrorPath,
        source: ContentHash,
        hash: ContentHash,
    },
    CheckDrawn {
        path: MirrorPath,
    },
    TrashDrawn {
        path: MirrorPath,
    },
}

impl Purpose {
    pub(in crate::engine) fn is_request(&self) -> bool {
        matches!(
            self,
            Self::List(_)
                | Self::Fetch { .. }
                | Self::Push { .. }
                | Self::Create { .. }
                | Self::TrashBoard { .. }
                | Self::DeleteSlide { .. }
                | Self::TrashDeck { .. }
        )
    }

    pub(in crate::engine) fn class(&self) -> Class {
        match self {
            Self::List(_) => Class::List,
            Self::Fetch { class, .. } | Self::Push { class, .. } => *class,
            _ => Class::Edit,
        }
    }

    pub(super) fn canvas(&self) -> Option<&CanvasId> {
        match self {
            Self::Fetch { canvas, .. }
            | Self::Push { canvas, .. }
            | Self::TrashBoard { canvas }
            | Self::DeleteSlide { canvas }
            | Self::Write { canvas, .. }
            | Self::Copy { canvas, .. }
            | Self::Rename { canvas, .. }
            | Self::SetAside { canvas, .. }
            | Self::TrashFile { canvas, .. } => Some(canvas),
            _ => None,
        }
    }
}
