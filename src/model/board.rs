//! Whiteboards, presentations, slides and their elements (API document, "Resources and their fields"), the requests
//! about them, and the state kept of them.
//!
//! In code a presentation is a *deck*. A *canvas* is a whiteboard or a slide: it holds elements. Elements stay JSON,
//! exactly as sent, for the same reason as blocks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    BoardId, ContentHash, DeckId, ElementId, MirrorPath, PollState, Presence, Problem, Rest, SlideId, Stamp,
};
use super::{Timestamp, WorkspaceId};

/// The elements of one canvas, back to front, each an object with a usable `id` and a `type`.
pub type Elements = Vec<Value>;

/// Fields of an element as they are sent: `x`, `y`, `width`, `height`, `content`, `style`, and `type` for a new one.
pub type Fields = Map<String, Value>;

/// The id of a canvas.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CanvasId {
    /// A whiteboard.
    Board(BoardId),
    /// A slide of a presentation.
    Slide(DeckId, SlideId),
}

impl CanvasId {
    /// The presentation of a slide; `None` for a whiteboard.
    #[must_use]
    pub fn deck(&self) -> Option<&DeckId> {
        match self {
            Self::Board(_) => None,
            Self::Slide(deck, _) => Some(deck),
        }
    }

    /// Its id at the service.
    #[must_use]
    pub fn own_id(&self) -> &str {
        match self {
            Self::Board(id) => id.as_str(),
            Self::Slide(_, id) => id.as_str(),
        }
    }

    /// The kind of canvas, which decides which element a new node becomes and which types may be created.
    #[must_use]
    pub fn surface(&self) -> Surface {
        match self {
            Self::Board(_) => Surface::Board,
            Self::Slide(..) => Surface::Slide,
        }
    }
}

/// A kind of canvas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// A whiteboard.
    Board,
    /// A slide.
    Slide,
}

/// Whether the API can create an element of this type (API document, "Whiteboard element", "Slide element").
#[must_use]
pub fn is_creatable(surface: Surface, kind: &str) -> bool {
    matches!(kind, "text" | "rectangle" | "ellipse") || (surface == Surface::Board && kind == "sticky")
}

/// The id of an element.
#[must_use]
pub fn id_of(element: &Value) -> &str {
    element.get("id").and_then(Value::as_str).unwrap_or_default()
}

/// The compact JSON of elements, which is hashed and stored.
#[must_use]
pub fn elements_json(elements: &[Value]) -> String {
    // An array of values always prints, because keys are strings.
    serde_json::to_string(elements).unwrap_or_default()
}

/// The hash that identifies these elements.
#[must_use]
pub fn elements_hash(elements: &[Value]) -> ContentHash {
    ContentHash::of(elements_json(elements).as_bytes())
}

/// A whiteboard, as `GET /whiteboards` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whiteboard {
    /// Its id.
    pub id: BoardId,
    /// The workspace it is in.
    pub workspace: WorkspaceId,
    /// Its name.
    pub name: String,
    /// Its other fields.
    pub rest: Rest,
}

/// A presentation, as `GET /presentations` lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct Deck {
    /// Its id.
    pub id: DeckId,
    /// Its name.
    pub name: String,
    /// The width of its slides in pixels.
    pub width: f64,
    /// The height of its slides in pixels.
    pub height: f64,
    /// Its other fields.
    pub rest: Rest,
}

/// A slide, as `GET /presentations/:id/slides` lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct Slide {
    /// Its id.
    pub id: SlideId,
    /// Its presentation.
    pub deck: DeckId,
    /// Its background, as sent.
    pub background: Value,
}

/// A request about whiteboards or presentations.
#[derive(Debug, Clone, PartialEq)]
pub enum BoardEffect {
    /// `GET /whiteboards` of one workspace.
    ListBoards(WorkspaceId),
    /// `GET /presentations`.
    ListDecks,
    /// `GET /presentations/:id/slides`.
    ListSlides(DeckId),
    /// `GET …/elements` of a whiteboard or a slide.
    ListElements(CanvasId),
    /// `POST /whiteboards`.
    CreateBoard {
        /// The workspace.
        workspace: WorkspaceId,
        /// Its name.
        name: String,
    },
    /// `POST /presentations`. The new presentation has one blank slide.
    CreateDeck {
        /// Its name.
        name: String,
    },
    /// `POST /presentations/:id/slides`: a blank slide at the end.
    AddSlide(DeckId),
    /// `POST …/elements`.
    CreateElement {
        /// The canvas.
        canvas: CanvasId,
        /// All fields of the element but its id.
        fields: Fields,
    },
    /// `PATCH …/elements/:elementId`: only these fields change, and only these keys of `style`.
    UpdateElement {
        /// The canvas.
        canvas: CanvasId,
        /// The element.
        element: ElementId,
        /// The changed fields; at least one.
        fields: Fields,
    },
    /// `DELETE …/elements/:elementId`: permanent.
    DeleteElement {
        /// The canvas.
        canvas: CanvasId,
        /// The element.
        element: ElementId,
    },
    /// `DELETE /presentations/:id/slides/:slideId`: permanent, with its elements.
    DeleteSlide {
        /// The presentation.
        deck: DeckId,
        /// The slide.
        slide: SlideId,
    },
    /// `DELETE /whiteboards/:id`: to the service's trash.
    TrashBoard(BoardId),
    /// `DELETE /presentations/:id`: to the service's trash.
    TrashDeck(DeckId),
}

impl BoardEffect {
    /// Whether this certainly changes nothing.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        matches!(self, Self::ListBoards(_) | Self::ListDecks | Self::ListSlides(_) | Self::ListElements(_))
    }

    /// Whether it requests a change.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !self.only_looks()
    }
}

/// The service's answer to a [`BoardEffect`].
#[derive(Debug, Clone, PartialEq)]
pub enum BoardReply {
    /// To [`BoardEffect::ListBoards`], oldest first.
    Boards {
        /// Each whiteboard that could be parsed.
        boards: Vec<Whiteboard>,
        /// One sentence for each entry that could not be parsed; such a list is no evidence of absence.
        skipped: Vec<String>,
    },
    /// To [`BoardEffect::ListDecks`], oldest first.
    Decks {
        /// Each presentation that could be parsed.
        decks: Vec<Deck>,
        /// As above.
        skipped: Vec<String>,
    },
    /// To [`BoardEffect::ListSlides`], in order.
    Slides(Vec<Slide>),
    /// To [`BoardEffect::ListElements`], back to front.
    Elements(Elements),
    /// To [`BoardEffect::CreateBoard`].
    Board(Whiteboard),
    /// To [`BoardEffect::CreateDeck`].
    Deck(Deck),
    /// To [`BoardEffect::AddSlide`].
    Slide(Slide),
    /// To [`BoardEffect::CreateElement`] and [`BoardEffect::UpdateElement`]: the element after the change.
    Element(Value),
    /// To each deletion.
    Deleted,
}

/// A presentation in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct DeckNode {
    /// The service's fields of it.
    pub seen: Deck,
    /// Its presence at the service.
    pub presence: Presence,
    /// The name of its folder, once the folder exists.
    pub folder: Option<String>,
    /// The presentation's name that the folder's name was made for.
    pub named: Option<String>,
    /// The last time at which its list of slides was taken in; 0 for never.
    pub listed_at: Timestamp,
    /// Start of the absence of its folder.
    pub missing_since: Option<Timestamp>,
    /// Whether it was created from a folder, and its first blank slide is reserved for that folder's first file.
    pub blank: bool,
    /// Whether the user approved what a guard held for it.
    pub approved: bool,
}

/// A whiteboard or slide in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct CanvasNode {
    /// Its id.
    pub id: CanvasId,
    /// A whiteboard's workspace; `None` for a slide.
    pub workspace: Option<WorkspaceId>,
    /// A whiteboard's name; empty for a slide.
    pub name: String,
    /// A whiteboard's other fields.
    pub rest: Rest,
    /// A slide's index among its siblings, from 0.
    pub order: usize,
    /// A slide's background, as sent.
    pub background: Value,
    /// Its presence at the service.
    pub presence: Presence,
    /// Hash of its elements at the last fetch; `None` until fetched.
    pub remote: Option<ContentHash>,
    /// The base; `None` until both sides have agreed once.
    pub base: Option<CanvasAgreed>,
    /// The path of its file.
    pub file: Option<MirrorPath>,
    /// Start of the absence of its file.
    pub missing_since: Option<Timestamp>,
    /// The last path of its file, if the file is missing; the path of its first file while that is being written.
    pub missing_from: Option<MirrorPath>,
    /// Whether the user approved what a guard held for it.
    pub approved: bool,
    /// Its state in the poll schedule.
    pub poll: PollState,
}

impl CanvasNode {
    /// A canvas that just became known: no name yet, no elements, no file.
    #[must_use]
    pub fn new(id: CanvasId, poll: PollState) -> Self {
        Self {
            id,
            workspace: None,
            name: String::new(),
            rest: Rest::default(),
            order: 0,
            background: Value::Null,
            presence: Presence::Listed,
            remote: None,
            base: None,
            file: None,
            missing_since: None,
            missing_from: None,
            approved: false,
            poll,
        }
    }
}

/// The base of a canvas.
#[derive(Debug, Clone, PartialEq)]
pub struct CanvasAgreed {
    /// The elements that the file stood for. Updated with each single element that is sent or written.
    pub elements: ContentHash,
    /// Hash of the file's bytes if they state exactly these elements; `None` while they state more, or were not
    /// written yet.
    pub text: Option<ContentHash>,
    /// The whiteboard's name that the file's name was made for.
    pub name: String,
}

/// A canvas file on disk, as last seen.
#[derive(Debug, Clone, PartialEq)]
pub struct CanvasFile {
    /// Its path.
    pub path: MirrorPath,
    /// Its canvas, once identified.
    pub canvas: Option<CanvasId>,
    /// Its metadata at the last scan or read.
    pub stamp: Stamp,
    /// Hash of its content at the last read; `None` while it has an unread change.
    pub hash: Option<ContentHash>,
    /// Why it cannot be sent, if so.
    pub problem: Option<Problem>,
    /// Whether it was modified so shortly before the read that an equal stamp proves nothing.
    pub racy: bool,
}
