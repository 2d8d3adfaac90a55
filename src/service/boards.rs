//! Whiteboards and presentations on the wire: a request out of a [`BoardEffect`], a reply out of an answer's `data`.
//! As in `entry`, what is evidence is read strictly: elements come all or not at all.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::entry::{garbled, hides_a_number, kind, list, object, text};
use crate::model::{
    BadId, BoardEffect, BoardId, BoardReply, CanvasId, Deck, DeckId, ElementId, Rest, ServiceError, Slide,
    SlideId, Whiteboard, WorkspaceId,
};

/// Method, path, query and body of a request.
pub(super) fn request(effect: &BoardEffect) -> (&'static str, String, String, Option<Value>) {
    let plain = |method, path| (method, path, String::new(), None);
    let with = |method, path, body| (method, path, String::new(), Some(body));
    match effect {
        BoardEffect::ListBoards(workspace) => {
            ("GET", "/whiteboards".to_owned(), format!("workspace_id={workspace}"), None)
        }
        BoardEffect::ListDecks => plain("GET", "/presentations".to_owned()),
        BoardEffect::ListSlides(deck) => plain("GET", slides(deck)),
        BoardEffect::ListElements(canvas) => plain("GET", elements(canvas)),
        BoardEffect::CreateBoard { workspace, name } => with(
            "POST",
            "/whiteboards".to_owned(),
            json!({ "workspace_id": workspace.as_str(), "name": name }),
        ),
        BoardEffect::CreateDeck { name } => {
            with("POST", "/presentations".to_owned(), json!({ "name": name }))
        }
        BoardEffect::AddSlide(deck) => plain("POST", slides(deck)),
        BoardEffect::CreateElement { canvas, fields } => {
            with("POST", elements(canvas), Value::Object(fields.clone()))
        }
        BoardEffect::UpdateElement { canvas, element, fields } => {
            with("PATCH", format!("{}/{element}", elements(canvas)), Value::Object(fields.clone()))
        }
        BoardEffect::DeleteElement { canvas, element } => {
            plain("DELETE", format!("{}/{element}", elements(canvas)))
        }
        BoardEffect::DeleteSlide { deck, slide } => plain("DELETE", format!("{}/{slide}", slides(deck))),
        BoardEffect::TrashBoard(board) => plain("DELETE", format!("/whiteboards/{board}")),
        BoardEffect::TrashDeck(deck) => plain("DELETE", format!("/presentations/{deck}")),
    }
}

fn slides(deck: &DeckId) -> String {
    format!("/presentations/{deck}/slides")
}

fn elements(canvas: &CanvasId) -> String {
    match canvas {
        CanvasId::Board(board) => format!("/whiteboards/{board}/elements"),
        CanvasId::Slide(deck, slide) => format!("{}/{slide}/elements", slides(deck)),
    }
}

/// Whether the answer is a list of many things.
pub(super) fn is_long(effect: &BoardEffect) -> bool {
    matches!(effect, BoardEffect::ListBoards(_) | BoardEffect::ListDecks | BoardEffect::ListElements(_))
}

/// What an answer's `data` says.
pub(super) fn reply(effect: &BoardEffect, data: &[u8]) -> Result<BoardReply, ServiceError> {
    match effect {
        BoardEffect::ListBoards(workspace) => {
            let (boards, skipped) = entries(data, "whiteboard", |map| {
                let board = board(map)?;
                if board.workspace == *workspace {
                    Ok((board.id.to_string(), board))
                } else {
                    Err(format!("says that it is in another workspace ({})", board.workspace))
                }
            })?;
            Ok(BoardReply::Boards { boards, skipped })
        }
        BoardEffect::ListDecks => {
            let (decks, skipped) =
                entries(data, "presentation", |map| deck(map).map(|deck| (deck.id.to_string(), deck)))?;
            Ok(BoardReply::Decks { decks, skipped })
        }
        BoardEffect::ListSlides(deck) => {
            let read = |map: &Map<String, Value>| slide(map, deck).map(|slide| (slide.id.to_string(), slide));
            let (slides, skipped) = entries(data, "slide", read)?;
            // Their order is all there is to know of them: a list with a hole would misnumber the rest.
            match skipped.into_iter().next() {
                Some(why) => Err(garbled(why)),
                None => Ok(BoardReply::Slides(slides)),
            }
        }
        BoardEffect::ListElements(_) => {
            check_numbers(data)?;
            let (elements, skipped) = entries(data, "element", element)?;
            match skipped.into_iter().next() {
                Some(why) => Err(garbled(why)),
                None => Ok(BoardReply::Elements(elements)),
            }
        }
        BoardEffect::CreateBoard { .. } => {
            one(data, "the new whiteboard", |map| board(map).map(BoardReply::Board))
        }
        BoardEffect::CreateDeck { .. } => {
            one(data, "the new presentation", |map| deck(map).map(BoardReply::Deck))
        }
        BoardEffect::AddSlide(deck) => {
            one(data, "the new slide", |map| slide(map, deck).map(BoardReply::Slide))
        }
        BoardEffect::CreateElement { .. } => {
            check_numbers(data)?;
            one(data, "the new element", |map| element(map).map(|(_, element)| BoardReply::Element(element)))
        }
        BoardEffect::UpdateElement { element: asked, .. } => {
            check_numbers(data)?;
            one(data, "the changed element", |map| {
                let (id, element) = element(map)?;
                if id == asked.as_str() {
                    Ok(BoardReply::Element(element))
                } else {
                    Err(format!("was {asked}, but {id} came"))
                }
            })
        }
        BoardEffect::DeleteElement { element, .. } => deleted(data, element.as_str()),
        BoardEffect::DeleteSlide { slide, .. } => deleted(data, slide.as_str()),
        BoardEffect::TrashBoard(board) => deleted(data, board.as_str()),
        BoardEffect::TrashDeck(deck) => deleted(data, deck.as_str()),
    }
}

/// The entries of a list that can be read, each with its id, and a sentence for each that cannot.
fn entries<T>(
    data: &[u8],
    what: &str,
    read: impl Fn(&Map<String, Value>) -> Result<(String, T), String>,
) -> Result<(Vec<T>, Vec<String>), ServiceError> {
    let (mut found, mut skipped, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (index, part) in list(data)?.into_iter().enumerate() {
        let entry = object(part).and_then(|map| read(&map)).and_then(|(id, entry)| {
            if seen.insert(id.clone()) {
                Ok(entry)
            } else {
                Err(format!("has the id of an entry before it ({id})"))
            }
        });
        match entry {
            Ok(entry) => found.push(entry),
            Err(why) => skipped.push(format!("{what} {} of the list {why}", index + 1)),
        }
    }
    Ok((found, skipped))
}

fn one(
    data: &[u8],
    what: &str,
    read: impl FnOnce(&Map<String, Value>) -> Result<BoardReply, String>,
) -> Result<BoardReply, ServiceError> {
    object(data).and_then(|map| read(&map)).map_err(|why| garbled(format!("{what} {why}")))
}

fn deleted(data: &[u8], id: &str) -> Result<BoardReply, ServiceError> {
    one(data, "the result of deleting", |map| match map.get("id") {
        Some(Value::String(told)) if told == id => Ok(BoardReply::Deleted),
        _ => Err(format!("{id} is not about it")),
    })
}

fn check_numbers(data: &[u8]) -> Result<(), ServiceError> {
    if hides_a_number(data) {
        let what = "an element has a key that espejo cannot keep as it is ($serde_json::private::Number)";
        return Err(garbled(what.to_owned()));
    }
    Ok(())
}

fn unusable(bad: BadId) -> String {
    format!("has an id that cannot be used: {:?}", bad.0)
}

fn name(map: &Map<String, Value>) -> Result<String, String> {
    match map.get("name") {
        Some(Value::Null) => Ok(String::new()),
        _ => Ok(text(map, "name")?.to_owned()),
    }
}

fn board(map: &Map<String, Value>) -> Result<Whiteboard, String> {
    Ok(Whiteboard {
        id: BoardId::new(text(map, "id")?).map_err(unusable)?,
        workspace: WorkspaceId::new(text(map, "workspace_id")?).map_err(unusable)?,
        name: name(map)?,
        rest: Rest::of(map, &["id", "workspace_id", "name"]),
    })
}

fn deck(map: &Map<String, Value>) -> Result<Deck, String> {
    let size = |key, usual: f64| match map.get(key) {
        None | Some(Value::Null) => Ok(usual),
        Some(value) => value
            .as_f64()
            .filter(|size| size.is_finite() && *size > 0.0)
            .ok_or_else(|| format!("has {} as its {key}", kind(value))),
    };
    Ok(Deck {
        id: DeckId::new(text(map, "id")?).map_err(unusable)?,
        name: name(map)?,
        width: size("canvas_width", 960.0)?,
        height: size("canvas_height", 540.0)?,
        rest: Rest::of(map, &["id", "name", "canvas_width", "canvas_height"]),
    })
}

fn slide(map: &Map<String, Value>, deck: &DeckId) -> Result<Slide, String> {
    if text(map, "presentation_id")? != deck.as_str() {
        return Err("says that it is in another presentation".to_owned());
    }
    Ok(Slide {
        id: SlideId::new(text(map, "id")?).map_err(unusable)?,
        deck: deck.clone(),
        background: map.get("background").cloned().unwrap_or(Value::Null),
    })
}

fn element(map: &Map<String, Value>) -> Result<(String, Value), String> {
    let id = ElementId::new(text(map, "id")?).map_err(unusable)?;
    text(map, "type").map_err(|why| format!("(id {id}) {why}"))?;
    Ok((id.to_string(), Value::Object(map.clone())))
}
