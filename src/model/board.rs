//! Whiteboards, presentations, slides and their elements (API document, "Resources and their fields"), what is asked of
//! the service about them, and what is remembered of them.
//!
//! In code a presentation is a *deck*, and what holds elements, a whiteboard or a slide, is a *canvas*. Elements stay
//! JSON, exactly as sent, for the reason that blocks do.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    BoardId, ContentHash, DeckId, ElementId, MirrorPath, PollState, Presence, Problem, Rest, SlideId, Stamp,
};
use super::{Timestamp, WorkspaceId};

/// The elements of one canvas, back to front, each an object with a usable `id` and a `type`.
pub type Elements = Vec<Value>;

/// Fields of an element on their way to the service: `x`, `y`, `width`, `height`, `content`, `style`, and `type` for a
/// new one.
pub type Fields = Map<String, Value>;

/// What holds elements.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CanvasId {
    /// A whiteboard.
    Board(BoardId),
    /// A slide of a presentation.
    Slide(DeckId, SlideId),
}

impl CanvasId {
    /// The presentation that it is a slide of.
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

    /// The kind of canvas, which decides what a new node becomes and what may be created.
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

/// Whether the API can make an element of this type (API document, "Whiteboard element", "Slide element").
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
    // An array of values cannot fail to print: keys are strings already.
    serde_json::to_string(elements).unwrap_or_default()
}

/// A name for these elements.
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
    /// What else the service says of it.
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
    /// What else the service says of it.
    pub rest: Rest,
}

/// A slide, as `GET /presentations/:id/slides` lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct Slide {
    /// Its id.
    pub id: SlideId,
    /// The presentation it is of.
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
        /// Where.
        workspace: WorkspaceId,
        /// Its name.
        name: String,
    },
    /// `POST /presentations`, which comes with one blank slide.
    CreateDeck {
        /// Its name.
        name: String,
    },
    /// `POST /presentations/:id/slides`: a blank slide at the end.
    AddSlide(DeckId),
    /// `POST …/elements`.
    CreateElement {
        /// On which canvas.
        canvas: CanvasId,
        /// Everything about it but its id.
        fields: Fields,
    },
    /// `PATCH …/elements/:elementId`: only these fields change, and only these keys of `style`.
    UpdateElement {
        /// On which canvas.
        canvas: CanvasId,
        /// Which.
        element: ElementId,
        /// The fields that change; never none.
        fields: Fields,
    },
    /// `DELETE …/elements/:elementId`: for good.
    DeleteElement {
        /// On which canvas.
        canvas: CanvasId,
        /// Which.
        element: ElementId,
    },
    /// `DELETE /presentations/:id/slides/:slideId`: for good, with its elements.
    DeleteSlide {
        /// Of which presentation.
        deck: DeckId,
        /// Which.
        slide: SlideId,
    },
    /// `DELETE /whiteboards/:id`: to the service's trash.
    TrashBoard(BoardId),
    /// `DELETE /presentations/:id`: to the service's trash.
    TrashDeck(DeckId),
}

impl BoardEffect {
    /// Whether this surely changes nothing.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        matches!(self, Self::ListBoards(_) | Self::ListDecks | Self::ListSlides(_) | Self::ListElements(_))
    }

    /// Whether it asks for a change.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !self.only_looks()
    }
}

/// What the service answered to a [`BoardEffect`].
#[derive(Debug, Clone, PartialEq)]
pub enum BoardReply {
    /// To [`BoardEffect::ListBoards`], oldest first.
    Boards {
        /// Every whiteboard that could be understood.
        boards: Vec<Whiteboard>,
        /// One sentence for each entry that could not; such a list is no evidence of absence.
        skipped: Vec<String>,
    },
    /// To [`BoardEffect::ListDecks`], oldest first.
    Decks {
        /// Every presentation that could be understood.
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
    /// To [`BoardEffect::CreateElement`] and [`BoardEffect::UpdateElement`]: the element as it now is.
    Element(Value),
    /// To every deletion.
    Deleted,
}

/// A presentation in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct DeckNode {
    /// What the service says of it.
    pub seen: Deck,
    /// Whether it is there.
    pub presence: Presence,
    /// Its folder's name, once there is one.
    pub folder: Option<String>,
    /// The name that its folder was made for.
    pub named: Option<String>,
    /// When its list of slides was last taken in; 0 for never.
    pub listed_at: Timestamp,
    /// Since when its folder is missing.
    pub missing_since: Option<Timestamp>,
    /// Whether it was made from a folder, and its first blank slide waits for that folder's first file.
    pub blank: bool,
    /// Whether a person has approved what a guard held for it.
    pub approved: bool,
}

/// A whiteboard or slide in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct CanvasNode {
    /// Which.
    pub id: CanvasId,
    /// A whiteboard's workspace.
    pub workspace: Option<WorkspaceId>,
    /// A whiteboard's name; empty for a slide.
    pub name: String,
    /// What else the service says of a whiteboard.
    pub rest: Rest,
    /// A slide's place among its siblings, from 0.
    pub order: usize,
    /// A slide's background, as sent.
    pub background: Value,
    /// Whether it is there.
    pub presence: Presence,
    /// Its elements as last seen; `None` until fetched.
    pub remote: Option<ContentHash>,
    /// What both sides last agreed on; `None` until they have once.
    pub base: Option<CanvasAgreed>,
    /// Where its file is.
    pub file: Option<MirrorPath>,
    /// Since when its file is missing.
    pub missing_since: Option<Timestamp>,
    /// Where its file was when it was last seen, if it is missing.
    pub missing_from: Option<MirrorPath>,
    /// Whether a person has approved what a guard held for it.
    pub approved: bool,
    /// What the poll schedule knows.
    pub poll: PollState,
}

impl CanvasNode {
    /// A canvas that was just heard of: no name yet, no elements, no file.
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

/// What both sides last agreed on.
#[derive(Debug, Clone, PartialEq)]
pub struct CanvasAgreed {
    /// The elements that the file stood for. Moves along with every single element that is carried over.
    pub elements: ContentHash,
    /// The bytes of the file that say exactly this; `None` while they say more, or were not written yet.
    pub text: Option<ContentHash>,
    /// The whiteboard's name that the file's name was made for.
    pub name: String,
}

/// A canvas file on disk, as last seen.
#[derive(Debug, Clone, PartialEq)]
pub struct CanvasFile {
    /// Where.
    pub path: MirrorPath,
    /// Whose, once known.
    pub canvas: Option<CanvasId>,
    /// Its metadata when last looked at.
    pub stamp: Stamp,
    /// Its content when last read; `None` while it has a change that was not read yet.
    pub hash: Option<ContentHash>,
    /// Why it cannot be sent, if it cannot.
    pub problem: Option<Problem>,
    /// Whether it was modified so shortly before it was read that an equal stamp proves nothing.
    pub racy: bool,
}
