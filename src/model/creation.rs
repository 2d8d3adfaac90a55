//! Requests that create an item, kept from before they are sent until their outcome is known, because a request sent
//! twice creates a second item.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::board::Fields;
use super::{
    CanvasId, ContentHash, DeckId, FileId, FolderId, MirrorPath, PageId, Stamp, Timestamp, WorkspaceId,
};

/// The item that a request creates. The state keeps it as JSON.
pub trait Draft: Clone + PartialEq + Serialize + DeserializeOwned {
    /// Identifies it among the drafts of its kind.
    type Key: Ord + Clone + Display;
    /// The name of the kind in the state.
    const KIND: &'static str;

    /// Its key.
    fn key(&self) -> Self::Key;
}

/// A request that creates an item.
#[derive(Debug, Clone, PartialEq)]
pub struct Creation<D> {
    /// What it creates.
    pub draft: D,
    /// When it was sent.
    pub asked_at: Timestamp,
    /// Set once its answer is lost, and for each creation of an earlier run.
    pub unconfirmed: Option<Unconfirmed>,
}

/// A creation without an answer, which may have been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unconfirmed {
    /// The time at which the answer was lost, or at which the last list that counts was requested.
    pub since: Timestamp,
    /// The number of counted lists that lacked the item.
    pub looks: u32,
}

impl<D> Creation<D> {
    /// When the last list that counts and lacks the item was requested; `None` without such a list.
    #[must_use]
    pub fn last_counted(&self) -> Option<Timestamp> {
        self.unconfirmed.filter(|doubt| doubt.looks > 0).map(|doubt| doubt.since)
    }
}

/// A page created from a file or a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageDraft {
    /// The file, or the folder (without `.md`).
    pub path: MirrorPath,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The parent page; `None` at the top of the workspace.
    pub parent: Option<PageId>,
    /// The requested title.
    pub title: String,
    /// The file's stamp at that time, because the file may have been renamed since. `None` for a folder.
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
    /// The item.
    pub item: CanvasItem,
    /// The ids of its kind that the service showed before: the created item has another one.
    pub before: Vec<String>,
}

/// An item that a [`CanvasDraft`] creates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CanvasItem {
    /// A whiteboard from a file, with the requested name, because the file may be renamed before the answer comes.
    Board(WorkspaceId, MirrorPath, String),
    /// A presentation from a folder, with the requested name, as for a whiteboard.
    Deck(MirrorPath, String),
    /// A slide from a file. One at a time for each presentation, so that slides are appended in the order of their
    /// files.
    Slide(DeckId, MirrorPath),
    /// An element from a node, with the node's id in the file.
    Element(CanvasId, String, Fields),
    /// Nothing new: these fields of an existing element, by its id.
    Change(CanvasId, String, Fields),
}

impl CanvasItem {
    /// The file or folder that it is created from; `None` for an element and its fields.
    #[must_use]
    pub fn source(&self) -> Option<&MirrorPath> {
        match self {
            Self::Board(_, path, _) | Self::Deck(path, _) | Self::Slide(_, path) => Some(path),
            Self::Element(..) | Self::Change(..) => None,
        }
    }

    /// The key of its draft.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Board(_, path, _) => format!("board {path}"),
            Self::Deck(path, _) => format!("deck {path}"),
            Self::Slide(deck, _) => Self::slide_key(deck),
            Self::Element(canvas, node, _) => Self::element_key(canvas, node),
            Self::Change(canvas, element, _) => Self::change_key(canvas, element),
        }
    }

    /// The key of the draft of a slide.
    #[must_use]
    pub fn slide_key(deck: &DeckId) -> String {
        format!("slide {deck}")
    }

    /// The key of the draft of changed fields.
    #[must_use]
    pub fn change_key(canvas: &CanvasId, element: &str) -> String {
        format!("change {}", Self::key_in(canvas, element))
    }

    /// The key of the draft of an element.
    #[must_use]
    pub fn element_key(canvas: &CanvasId, node: &str) -> String {
        format!("element {}", Self::key_in(canvas, node))
    }

    fn key_in(canvas: &CanvasId, id: &str) -> String {
        format!("{} {} {id}", canvas.deck().map_or("", DeckId::as_str), canvas.own_id())
    }
}

impl Draft for CanvasDraft {
    type Key = String;
    const KIND: &'static str = "canvas";

    fn key(&self) -> String {
        self.item.key()
    }
}

/// A stored file created from a local file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// The local file.
    pub path: MirrorPath,
    /// The target folder; `None` for the root.
    pub folder: Option<FolderId>,
    /// The name at the service.
    pub filename: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its hash.
    pub hash: ContentHash,
    /// The local file's stamp at the read.
    pub stamp: Stamp,
    /// The stored file that this upload replaces with newer content.
    pub replaces: Option<FileId>,
}

impl Draft for Upload {
    type Key = MirrorPath;
    const KIND: &'static str = "file";

    fn key(&self) -> MirrorPath {
        self.path.clone()
    }
}
