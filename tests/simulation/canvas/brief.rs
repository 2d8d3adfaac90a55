//! Requests about canvases and their answers in a few words.

use espejo::model::{BoardEffect, BoardReply, id_of};

use super::app::{canvas_name, words_of};
use crate::run::listed;
use crate::words::words_in;

fn short(id: &str) -> &str {
    id.get(..4).unwrap_or(id)
}

/// A request in a few words.
pub(crate) fn brief(effect: &BoardEffect) -> String {
    match effect {
        BoardEffect::ListBoards(_) => "list whiteboards".to_owned(),
        BoardEffect::ListDecks => "list presentations".to_owned(),
        BoardEffect::ListSlides(deck) => format!("list slides of {}", short(deck.as_str())),
        BoardEffect::ListElements(canvas) => format!("get {}", canvas_name(canvas)),
        BoardEffect::CreateBoard { name, .. } => format!("POST whiteboard {name:?}"),
        BoardEffect::CreateDeck { name } => format!("POST presentation {name:?}"),
        BoardEffect::AddSlide(deck) => format!("POST slide of {}", short(deck.as_str())),
        BoardEffect::CreateElement { canvas, fields } => {
            let text = fields.get("content").and_then(|text| text.as_str()).unwrap_or_default();
            let kind = fields.get("type").and_then(|kind| kind.as_str()).unwrap_or("?");
            format!("POST {kind} [{}] on {}", listed(&words_in(text.as_bytes())), canvas_name(canvas))
        }
        BoardEffect::UpdateElement { canvas, element, fields } => {
            let fields = serde_json::to_string(fields).unwrap_or_default();
            format!("PATCH {} of {} {fields}", short(element.as_str()), canvas_name(canvas))
        }
        BoardEffect::DeleteElement { canvas, element } => {
            format!("DELETE {} of {}", short(element.as_str()), canvas_name(canvas))
        }
        BoardEffect::DeleteSlide { slide, .. } => format!("DELETE slide {}", short(slide.as_str())),
        BoardEffect::TrashBoard(board) => format!("DELETE board {}", short(board.as_str())),
        BoardEffect::TrashDeck(deck) => format!("DELETE presentation {}", short(deck.as_str())),
    }
}

/// An answer in a few words.
pub(crate) fn brief_reply(reply: &BoardReply) -> String {
    match reply {
        BoardReply::Boards { boards, .. } => format!("lists {} whiteboards", boards.len()),
        BoardReply::Decks { decks, .. } => format!("lists {} presentations", decks.len()),
        BoardReply::Slides(slides) => {
            let ids: Vec<&str> = slides.iter().map(|slide| short(slide.id.as_str())).collect();
            format!("lists the slides {}", ids.join(" "))
        }
        BoardReply::Elements(elements) => {
            let each = elements
                .iter()
                .map(|element| format!("{} [{}]", short(id_of(element)), listed(&words_of(element))));
            format!("shows elements {}", each.collect::<Vec<_>>().join(" "))
        }
        BoardReply::Board(board) => {
            format!("is the whiteboard {:?} {}", board.name, short(board.id.as_str()))
        }
        BoardReply::Deck(deck) => format!("is the presentation {:?} {}", deck.name, short(deck.id.as_str())),
        BoardReply::Slide(slide) => format!("is the slide {}", short(slide.id.as_str())),
        BoardReply::Element(element) => {
            format!("is the element {} [{}]", short(id_of(element)), listed(&words_of(element)))
        }
        BoardReply::Deleted => "deleted".to_owned(),
    }
}
