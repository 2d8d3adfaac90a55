//! The presentations of the small world.

use serde_json::{Value, json};

use super::world::{World, missing};
use crate::core::state::Area;
use crate::model::{
    BoardEffect, BoardReply, DeckId, Elements, Rest, ServiceError, ServiceReply, Slide, SlideId, WorkspaceId,
};

/// A presentation at the service.
#[derive(Debug, Clone)]
pub(super) struct Deck {
    pub(super) name: String,
    pub(super) size: [f64; 2],
    pub(super) slides: Vec<(String, Elements)>,
    pub(super) is_trashed: bool,
}

/// A text on a slide.
pub(super) fn words(id: &str, text: &str) -> Value {
    json!({"id": id, "slide_id": "s", "type": "text", "x": 40, "y": 40, "width": 200, "height": 100, "content": text,
           "style": {}, "z_index": 0})
}

/// A group of the size of a slide, the `nth` one from above.
pub(super) fn group(id: &str, nth: i64) -> String {
    let y = nth * 675;
    format!("{{\"id\":\"{id}\",\"type\":\"group\",\"x\":0,\"y\":{y},\"width\":960,\"height\":540}}")
}

/// A text node on the `nth` slide from above.
pub(super) fn text(id: &str, nth: i64, text: &str) -> String {
    let y = nth * 675 + 40;
    format!(
        "{{\"id\":\"{id}\",\"type\":\"text\",\"text\":\"{text}\",\"x\":40,\"y\":{y},\"width\":200,\"height\":100}}"
    )
}

impl World {
    /// A world with one presentation of these slides, each with one text, in step.
    pub(super) fn with_deck(slides: &[(&str, &str)]) -> Self {
        let mut world = Self::new(&[]);
        world.has_decks = true;
        world.put_deck("d1", "Pitch", slides);
        world.pass_ms(30_000);
        world.requests.clear();
        world
    }

    pub(super) fn put_deck(&mut self, id: &str, name: &str, slides: &[(&str, &str)]) {
        let slide = |(id, text): &(&str, &str)| ((*id).to_owned(), vec![words(&format!("{id}-e"), text)]);
        let slides = slides.iter().map(slide).collect();
        let deck = Deck { name: name.to_owned(), size: [960.0, 540.0], slides, is_trashed: false };
        self.decks.insert(id.to_owned(), deck);
    }

    pub(super) fn deck(&mut self, id: &str) -> &mut Deck {
        self.decks.get_mut(id).unwrap()
    }

    /// The ids of a presentation's slides.
    pub(super) fn slides(&self, id: &str) -> Vec<&str> {
        self.decks[id].slides.iter().map(|(id, _)| id.as_str()).collect()
    }

    /// The texts of each slide of a presentation.
    pub(super) fn slide_texts(&self, id: &str) -> Vec<Vec<&str>> {
        let slides = self.decks[id].slides.iter();
        slides
            .map(|(_, elements)| elements.iter().map(|e| e["content"].as_str().unwrap()).collect())
            .collect()
    }

    /// The user's area.
    pub(super) fn own_area() -> (WorkspaceId, Area) {
        let kind = crate::core::plan::policy::Kind::Presentation;
        let name = "the user".to_owned();
        (WorkspaceId::of_user(), Area { kind, name, is_live: true, is_open: true, ..Area::default() })
    }

    fn shown_decks(&self) -> &std::collections::BTreeMap<String, Deck> {
        let stale = self.stale_decks.as_ref().filter(|(_, until)| *until > self.now);
        stale.map_or(&self.decks, |(decks, _)| decks)
    }

    pub(super) fn list_on_slide(&self, deck: &str, slide: &str) -> Result<ServiceReply, ServiceError> {
        let deck = self.shown_decks().get(deck).filter(|deck| !deck.is_trashed).ok_or_else(missing)?;
        let slide = deck.slides.iter().find(|(id, _)| id == slide).ok_or_else(missing)?;
        Ok(ServiceReply::Board(BoardReply::Elements(slide.1.clone())))
    }

    pub(super) fn carry_out_on_deck(
        &mut self,
        effect: &BoardEffect,
        fresh: u64,
    ) -> Result<ServiceReply, ServiceError> {
        let entry = |id: &str, deck: &Deck| crate::model::Deck {
            id: DeckId::new(id).unwrap(),
            name: deck.name.clone(),
            width: deck.size[0],
            height: deck.size[1],
            rest: Rest::default(),
        };
        let slide = |deck: &DeckId, id: &str| Slide {
            id: SlideId::new(id).unwrap(),
            deck: deck.clone(),
            background: Value::Null,
        };
        let new = format!("slide-{fresh}");
        Ok(ServiceReply::Board(match effect {
            BoardEffect::ListDecks => {
                let live = self.shown_decks().iter().filter(|(_, deck)| !deck.is_trashed);
                BoardReply::Decks { decks: live.map(|(id, deck)| entry(id, deck)).collect(), skipped: vec![] }
            }
            BoardEffect::ListSlides(id) => {
                let deck = self.shown_decks().get(id.as_str()).filter(|deck| !deck.is_trashed);
                let slides = deck.map(|deck| deck.slides.as_slice()).unwrap_or_default();
                BoardReply::Slides(slides.iter().map(|(own, _)| slide(id, own)).collect())
            }
            BoardEffect::CreateDeck { name } => {
                let id = format!("deck-{fresh}");
                self.put_deck(&id, name, &[]);
                self.deck(&id).slides.push((new, Elements::new()));
                BoardReply::Deck(entry(&id, &self.decks[&id]))
            }
            BoardEffect::AddSlide(id) => {
                let deck = self.decks.get_mut(id.as_str()).filter(|deck| !deck.is_trashed);
                deck.ok_or_else(missing)?.slides.push((new.clone(), Elements::new()));
                BoardReply::Slide(slide(id, &new))
            }
            BoardEffect::DeleteSlide { deck, slide } => {
                let deck = self.decks.get_mut(deck.as_str()).ok_or_else(missing)?;
                deck.slides.retain(|(id, _)| id != slide.as_str());
                BoardReply::Deleted
            }
            BoardEffect::TrashDeck(id) => {
                self.decks.get_mut(id.as_str()).ok_or_else(missing)?.is_trashed = true;
                BoardReply::Deleted
            }
            other => panic!("no effect of the core: {other:?}"),
        }))
    }
}
