//! Requests that create something, from before they leave until their outcome is known: to send one twice makes a second item.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::board::Fields;
use super::{
    CanvasId, ContentHash, DeckId, FileId, FolderId, MirrorPath, PageId, Stamp, Timestamp, WorkspaceId,
};

/// What a request is to create. The state keeps it as JSON.
pub trait Draft: Clone + PartialEq + Serialize + DeserializeOwned {
    /// Names it among the drafts of its kind.
    type Key: Ord + Clone + Display;
    /// The kind, as the state names it.
    const KIND: &'static str;

    /// Its name.
    fn key(&self) -> Self::Key;
}

/// A request that creates something.
#[derive(Debug, Clone, PartialEq)]
pub struct Creation<D> {
    /// What it creates.
    pub draft: D,
    /// When it was sent.
    pub asked_at: Timestamp,
    /// Set once its answer is lost, and for every creation of an earlier run.
    pub unconfirmed: Option<Unconfirmed>,
}

/// A creation that may have been carried out although no answer says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unconfirmed {
    /// When the answer was lost, or when the last list that counts was asked for.
    pub since: Timestamp,
    /// How many lists that count lacked the item.
    pub looks: u32,
}

/// A page made of a file or a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageDraft {
    /// The file, or the folder (without `.md`).
    pub path: MirrorPath,
    /// Where.
    pub workspace: WorkspaceId,
    /// Under which page; `None` at the top of the workspace.
    pub parent: Option<PageId>,
    /// The title asked for.
    pub title: String,
    /// The file's stamp then: the file may have been renamed since. `None` for a folder.
    pub stamp: Option<Stamp>,
}

impl Draft for PageDraft {
    type Key = MirrorPath;
    const KIND: &'static str = "page";

    fn key(&self) -> MirrorPath {
        self.path.clone()
    }
}

/// A whiteboard, presentation, slide or element.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CanvasDraft {
    /// What it is.
    pub item: CanvasItem,
    /// The ids of its kind that the service showed before: only another one can be it.
    pub before: Vec<String>,
}

/// An item that a [`CanvasDraft`] creates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CanvasItem {
    /// A whiteboard from a file, with the name that was asked for: the file may be renamed before the answer comes.
    Board(WorkspaceId, MirrorPath, String),
    /// A presentation from a folder, with the name that was asked for, as with a whiteboard.
    Deck(MirrorPath, String),
    /// A slide from a file. One at a time for each presentation, so that files are appended in their order.
    Slide(DeckId, MirrorPath),
    /// An element from a node, by the id that the file has for it.
    Element(CanvasId, String, Fields),
}

impl CanvasItem {
    /// The file or folder that it is made of; `None` for an element.
    #[must_use]
    pub fn source(&self) -> Option<&MirrorPath> {
        match self {
            Self::Board(_, path, _) | Self::Deck(path, _) | Self::Slide(_, path) => Some(path),
            Self::Element(..) => None,
        }
    }

    /// The name of its draft.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Board(_, path, _) => format!("board {path}"),
            Self::Deck(path, _) => format!("deck {path}"),
            Self::Slide(deck, _) => Self::slide_key(deck),
            Self::Element(canvas, node, _) => Self::element_key(canvas, node),
        }
    }

    /// The name of the draft of a slide.
    #[must_use]
    pub fn slide_key(deck: &DeckId) -> String {
        format!("slide {deck}")
    }

    /// The name of the draft of an element.
    #[must_use]
    pub fn element_key(canvas: &CanvasId, node: &str) -> String {
        format!("element {} {} {node}", canvas.deck().map_or("", DeckId::as_str), canvas.own_id())
    }
}

impl Draft for CanvasDraft {
    type Key = String;
    const KIND: &'static str = "canvas";

    fn key(&self) -> String {
        self.item.key()
    }
}

/// A stored file made of a local file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// The local file.
    pub path: MirrorPath,
    /// Where to; `None` for the root.
    pub folder: Option<FolderId>,
    /// Under which name.
    pub filename: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its hash.
    pub hash: ContentHash,
    /// The local file as it was read.
    pub stamp: Stamp,
    /// The file whose newer content it is.
    pub replaces: Option<FileId>,
}

impl Draft for Upload {
    type Key = MirrorPath;
    const KIND: &'static str = "file";

    fn key(&self) -> MirrorPath {
        self.path.clone()
    }
}
