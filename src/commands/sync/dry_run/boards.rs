//! The same for whiteboards and presentations: what a request would do, in one line, and an answer as if it had been
//! done.

use serde_json::{Value, json};

use crate::model::{
    BadId, BoardEffect, BoardId, BoardReply, CanvasId, Deck, DeckId, Fields, Rest, ServiceError, Slide,
    SlideId, Whiteboard,
};

pub(super) fn line_of(effect: &BoardEffect) -> String {
    let keys = |fields: &Fields| fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    match effect {
        BoardEffect::CreateBoard { name, .. } => format!("up    create whiteboard {name}"),
        BoardEffect::CreateDeck { name } => format!("up    create presentation {name}"),
        BoardEffect::AddSlide(deck) => format!("up    append a slide to {deck}"),
        BoardEffect::CreateElement { canvas, .. } => format!("up    create a node on {}", of(canvas)),
        BoardEffect::UpdateElement { canvas, fields, .. } => {
            format!("up    change {} of a node on {}", keys(fields), of(canvas))
        }
        BoardEffect::DeleteElement { canvas, .. } => {
            format!("up    delete a node on {} for good", of(canvas))
        }
        BoardEffect::DeleteSlide { deck, .. } => format!("up    delete a slide of {deck} for good"),
        BoardEffect::TrashBoard(board) => format!("up    trash {board}"),
        BoardEffect::TrashDeck(deck) => format!("up    trash {deck}"),
        BoardEffect::ListBoards(_)
        | BoardEffect::ListDecks
        | BoardEffect::ListSlides(_)
        | BoardEffect::ListElements(_) => "      look".to_owned(),
    }
}

fn of(canvas: &CanvasId) -> String {
    match canvas {
        CanvasId::Board(id) => id.to_string(),
        CanvasId::Slide(deck, _) => format!("a slide of {deck}"),
    }
}

pub(super) fn pretend(effect: &BoardEffect, number: u64) -> Result<BoardReply, ServiceError> {
    let bad = |error: BadId| ServiceError::Garbled(error.to_string());
    let name = format!("dry-run-{number}");
    Ok(match effect {
        BoardEffect::CreateBoard { workspace, name: title } => BoardReply::Board(Whiteboard {
            id: BoardId::new(&name).map_err(bad)?,
            workspace: workspace.clone(),
            name: title.clone(),
            rest: Rest::default(),
        }),
        BoardEffect::CreateDeck { name: title } => BoardReply::Deck(Deck {
            id: DeckId::new(&name).map_err(bad)?,
            name: title.clone(),
            width: 960.0,
            height: 540.0,
            rest: Rest::default(),
        }),
        BoardEffect::AddSlide(deck) => BoardReply::Slide(Slide {
            id: SlideId::new(&name).map_err(bad)?,
            deck: deck.clone(),
            background: Value::Null,
        }),
        BoardEffect::CreateElement { fields, .. } => element(&name, fields),
        BoardEffect::UpdateElement { element: id, fields, .. } => element(id.as_str(), fields),
        BoardEffect::DeleteElement { .. }
        | BoardEffect::DeleteSlide { .. }
        | BoardEffect::TrashBoard(_)
        | BoardEffect::TrashDeck(_) => BoardReply::Deleted,
        BoardEffect::ListBoards(_)
        | BoardEffect::ListDecks
        | BoardEffect::ListSlides(_)
        | BoardEffect::ListElements(_) => {
            return Err(ServiceError::Rejected { status: 0, message: "looks are real".to_owned() });
        }
    })
}

fn element(id: &str, fields: &Fields) -> BoardReply {
    let mut element = json!({ "id": id, "type": "text" });
    for (key, value) in fields {
        element[key.as_str()] = value.clone();
    }
    BoardReply::Element(element)
}
