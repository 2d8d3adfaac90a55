//! The requests about items of each kind, and what their answers say.

use serde_json::{Value, json};

use crate::canvas::Op;
use crate::core::items::{Item, Items};
use crate::core::observe::list::Listed;
use crate::core::plan::policy::Kind;
use crate::model::{
    BoardEffect, BoardId, BoardReply, CanvasId, Deck, DeckId, Elements, Slide, SlideId, WorkspaceId,
};

/// An answer, whatever kind of item it is about.
#[derive(Debug)]
pub enum Reply {
    /// To a list: its entries, and why others could not be read.
    Listed(Vec<Listed>, Vec<String>),
    /// To a fetch.
    Content(Elements),
    /// To a creation.
    Made(Listed),
    /// To an act on an element: the element after it.
    Element(Value),
    /// To a removal.
    Removed,
}

/// What an answer says. `size`: that of the slides, if it is about slides.
#[must_use]
pub fn reply(reply: BoardReply, size: Option<[f64; 2]>) -> Reply {
    match reply {
        BoardReply::Boards { boards, skipped } => {
            Reply::Listed(boards.into_iter().map(Into::into).collect(), skipped)
        }
        BoardReply::Decks { decks, skipped } => {
            Reply::Listed(decks.into_iter().map(Into::into).collect(), skipped)
        }
        BoardReply::Slides(slides) => {
            Reply::Content(slides.iter().map(|slide| element_of(slide, size)).collect())
        }
        BoardReply::Elements(elements) => Reply::Content(elements),
        BoardReply::Board(made) => Reply::Made(made.into()),
        BoardReply::Deck(made) => Reply::Made(made.into()),
        BoardReply::Slide(slide) => Reply::Element(element_of(&slide, size)),
        BoardReply::Element(element) => Reply::Element(element),
        BoardReply::Deleted => Reply::Removed,
    }
}

/// A slide as an element of its presentation: all that its group and its picture show of it, but for its own elements.
fn element_of(slide: &Slide, size: Option<[f64; 2]>) -> Value {
    json!({ "id": slide.id.as_str(), "background": slide.background, "size": size })
}

impl From<Deck> for Listed {
    fn from(seen: Deck) -> Self {
        let rest = seen.rest.text().map(str::to_owned);
        let size = Some([seen.width, seen.height]);
        Self { id: seen.id.as_str().to_owned(), name: seen.name, rest, size }
    }
}

/// The id of an item that holds elements.
#[must_use]
pub fn canvas_id(items: &Items, item: &Item) -> Option<CanvasId> {
    let id = &item.remote.as_ref()?.id;
    match item.kind {
        Kind::Whiteboard => BoardId::new(id).ok().map(CanvasId::Board),
        Kind::Slide => {
            let deck = presentation_id(items.get(item.parent?)?)?;
            Some(CanvasId::Slide(deck, SlideId::new(id).ok()?))
        }
        _ => None,
    }
}

fn presentation_id(item: &Item) -> Option<DeckId> {
    let id = item.remote.as_ref().filter(|_| item.kind == Kind::Presentation).map(|remote| &remote.id);
    DeckId::new(id?).ok()
}

/// The list of an area.
#[must_use]
pub fn list(kind: Kind, area: &WorkspaceId) -> BoardEffect {
    match kind {
        Kind::Presentation => BoardEffect::ListDecks,
        _ => BoardEffect::ListBoards(area.clone()),
    }
}

/// The fetch of an item's content.
#[must_use]
pub fn fetch(items: &Items, item: &Item) -> Option<BoardEffect> {
    let slides = presentation_id(item).map(BoardEffect::ListSlides);
    slides.or_else(|| canvas_id(items, item).map(BoardEffect::ListElements))
}

/// The creation of an item.
#[must_use]
pub fn create(item: &Item, name: String) -> BoardEffect {
    match item.kind {
        Kind::Presentation => BoardEffect::CreateDeck { name },
        _ => BoardEffect::CreateBoard { workspace: item.area.clone(), name },
    }
}

/// The removal of an item, to the service's trash.
#[must_use]
pub fn trash(items: &Items, item: &Item) -> Option<BoardEffect> {
    match canvas_id(items, item) {
        Some(CanvasId::Board(id)) => Some(BoardEffect::TrashBoard(id)),
        _ => presentation_id(item).map(BoardEffect::TrashDeck),
    }
}

/// An operation on an element of an item.
#[must_use]
pub fn change(items: &Items, item: &Item, op: Op) -> Option<BoardEffect> {
    if let Some(deck) = presentation_id(item) {
        return match op {
            Op::Create { .. } => Some(BoardEffect::AddSlide(deck)),
            Op::Delete { id } => {
                SlideId::new(id.as_str()).ok().map(|slide| BoardEffect::DeleteSlide { deck, slide })
            }
            // Nothing of a slide but its elements can be changed.
            Op::Update { .. } => None,
        };
    }
    let canvas = canvas_id(items, item)?;
    Some(match op {
        Op::Update { id, fields } => BoardEffect::UpdateElement { canvas, element: id, fields },
        Op::Delete { id } => BoardEffect::DeleteElement { canvas, element: id },
        Op::Create { fields, .. } => BoardEffect::CreateElement { canvas, fields },
    })
}
