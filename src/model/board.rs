//! Whiteboards, presentations, slides and their elements (API document, "Resources and their fields"), and the
//! requests about them.
//!
//! In code a presentation is a *deck*. A *canvas* is a whiteboard or a slide: it holds elements. Elements stay JSON,
//! exactly as sent, for the same reason as blocks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{BoardId, ContentHash, DeckId, ElementId, Rest, SlideId, WorkspaceId};

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
