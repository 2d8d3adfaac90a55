//! Presentations, their slides and the slides' elements: the ten endpoints under `/presentations`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::check_ids;
use super::elements::{self, Sent};
use super::whiteboards::not_editable;
use crate::emulator::http::{Answered, Refusal, created, object, ok, refuse};
use crate::emulator::world::World;
use crate::model::{DeckId, SlideId};

/// A presentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PresentationRecord {
    /// Its id.
    pub id: DeckId,
    /// Its name.
    pub name: String,
    /// The width of its slides in pixels.
    pub width: f64,
    /// The height of its slides in pixels.
    pub height: f64,
    /// Its slides, in order.
    pub slides: Vec<SlideRecord>,
    /// Whether it is in the trash.
    pub trashed: bool,
    /// Whether the caller may not see it.
    pub hidden: bool,
    /// Whether the caller may only look: it is shared with them.
    pub read_only: bool,
    /// How many presentations were made before it.
    pub serial: u64,
}

/// A slide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlideRecord {
    /// Its id.
    pub id: SlideId,
    /// Its background.
    pub background: Value,
    /// Its elements by age, each as the document describes it but for `slide_id`.
    pub elements: Vec<Value>,
}

impl PresentationRecord {
    fn to_json(&self, caller: &str) -> Value {
        json!({
            "id": self.id.as_str(),
            "owner_id": caller,
            "folder_id": null,
            "name": self.name,
            "created_by": caller,
            "canvas_width": number(self.width),
            "canvas_height": number(self.height),
        })
    }

    fn slide_json(&self, position: usize) -> Value {
        let slide = &self.slides[position];
        json!({
            "id": slide.id.as_str(),
            "presentation_id": self.id.as_str(),
            "position": position,
            "background": slide.background,
        })
    }
}

impl World {
    /// Every presentation there is, in the trash or not, by id.
    pub fn presentations(&self) -> impl Iterator<Item = &PresentationRecord> {
        self.presentations.values()
    }

    /// A presentation, in the trash or not.
    #[must_use]
    pub fn presentation(&self, id: &DeckId) -> Option<&PresentationRecord> {
        self.presentations.get(id)
    }

    pub(super) fn insert_presentation(&mut self, name: &str, width: f64, height: f64) -> DeckId {
        let id = DeckId::new(&self.ids.uuid()).expect("a UUID is a usable id");
        let slide = self.blank_slide();
        let record = PresentationRecord {
            id: id.clone(),
            name: if name.is_empty() { "Presentación".to_owned() } else { name.to_owned() },
            width,
            height,
            slides: vec![slide],
            trashed: false,
            hidden: false,
            read_only: false,
            serial: self.canvases_made,
        };
        self.canvases_made += 1;
        self.presentations.insert(id.clone(), record);
        id
    }

    pub(super) fn blank_slide(&mut self) -> SlideRecord {
        let id = SlideId::new(&self.ids.uuid()).expect("a UUID is a usable id");
        SlideRecord { id, background: json!({ "color": "#ffffff" }), elements: Vec::new() }
    }

    /// `GET /presentations`.
    pub(super) fn list_presentations(&self) -> Answered {
        let mut all: Vec<&PresentationRecord> =
            self.presentations.values().filter(|deck| !deck.trashed && !deck.hidden).collect();
        all.sort_by_key(|deck| deck.serial);
        ok(all.into_iter().map(|deck| deck.to_json(&self.caller)).collect())
    }

    /// `POST /presentations`.
    pub(super) fn create_presentation(&mut self, body: &[u8]) -> Answered {
        let body = object(body)?;
        let name = match body.get("name") {
            None | Some(Value::Null) => "",
            Some(Value::String(name)) => name,
            Some(_) => return refuse(400, "name must be a string"),
        };
        if body.get("folder_id").is_some_and(|folder| !folder.is_null()) {
            return refuse(400, "The folder does not exist");
        }
        let id = self.insert_presentation(name, 960.0, 540.0);
        created(self.presentations[&id].to_json(&self.caller))
    }

    /// `DELETE /presentations/:id`.
    pub(super) fn trash_presentation(&mut self, id: &str) -> Answered {
        check_ids(&[id])?;
        let deck = self.writable_deck(id, 404, "Presentation not found")?;
        deck.trashed = true;
        ok(json!({ "id": id, "papelera": true }))
    }

    /// `GET /presentations/:id/slides`.
    pub(super) fn list_slides(&self, id: &str) -> Answered {
        let Some(deck) = self.shown_deck(id) else { return ok(json!([])) };
        ok((0..deck.slides.len()).map(|at| deck.slide_json(at)).collect())
    }

    /// `POST /presentations/:id/slides`.
    pub(super) fn add_slide(&mut self, id: &str) -> Answered {
        let slide = self.blank_slide();
        let deck = self.writable_deck(id, 400, "The slide could not be added")?;
        deck.slides.push(slide);
        created(deck.slide_json(deck.slides.len() - 1))
    }

    /// `DELETE /presentations/:id/slides/:slideId`.
    pub(super) fn delete_slide(&mut self, id: &str, slide: &str) -> Answered {
        check_ids(&[id, slide])?;
        let deck = self.writable_deck(id, 404, "Slide not found")?;
        let Some(at) = deck.slides.iter().position(|held| held.id.as_str() == slide) else {
            return refuse(404, "Slide not found");
        };
        deck.slides.remove(at);
        ok(json!({ "id": slide, "papelera": false }))
    }

    /// `GET /presentations/:id/slides/:slideId/elements`.
    pub(super) fn list_slide_elements(&self, id: &str, slide: &str) -> Answered {
        check_ids(&[id, slide])?;
        let found = self.shown_deck(id).and_then(|d| d.slides.iter().find(|s| s.id.as_str() == slide));
        let Some(found) = found else { return refuse(404, "Slide not found") };
        let shown = |element| elements::shown(element, "slide_id", slide);
        ok(elements::in_order(&found.elements).into_iter().map(shown).collect())
    }

    /// `POST /presentations/:id/slides/:slideId/elements`.
    pub(super) fn create_slide_element(&mut self, id: &str, slide: &str, body: &[u8]) -> Answered {
        check_ids(&[id, slide])?;
        let body = object(body)?;
        let kind = match body.get("type") {
            None => "text",
            Some(Value::String(kind)) if matches!(kind.as_str(), "text" | "rectangle" | "ellipse") => kind,
            Some(_) => return refuse(400, "type must be text, rectangle or ellipse"),
        };
        let mut sent = Sent::read(&body)?;
        let defaults = if kind == "text" { [80, 80, 600, 80] } else { [80, 80, 300, 200] };
        if kind == "text" {
            let style = sent.style.get_or_insert_default();
            if !style.contains_key("fontSize") {
                style.insert("fontSize".to_owned(), json!(32));
            }
        }
        let own_id = self.ids.uuid();
        let deck = self.shown_deck(id);
        if deck.is_none_or(|deck| deck.slides.iter().all(|held| held.id.as_str() != slide)) {
            return refuse(404, "Slide not found");
        }
        let deck = self.writable_deck(id, 400, "The element could not be added")?;
        let Some(found) = deck.slides.iter_mut().find(|held| held.id.as_str() == slide) else {
            return refuse(404, "Slide not found");
        };
        let front = found.elements.iter().map(elements::z_index).fold(-1.0, f64::max);
        #[expect(clippy::cast_possible_truncation, reason = "a stacking order is small")]
        let element = sent.into_element(&own_id, kind, defaults, front as i64 + 1);
        let answer = elements::shown(&element, "slide_id", slide);
        found.elements.push(element);
        created(answer)
    }

    /// `PATCH /presentations/:id/slides/:slideId/elements/:elementId`.
    pub(super) fn update_slide_element(
        &mut self,
        id: &str,
        slide: &str,
        element: &str,
        body: &[u8],
    ) -> Answered {
        check_ids(&[id, slide, element])?;
        let sent = elements::read_update(&object(body)?)?;
        let found = self.slide_element(id, slide, element)?;
        if sent.content.is_some() && !elements::has_text(found) {
            return Ok(not_editable());
        }
        elements::update(found, sent);
        ok(elements::shown(found, "slide_id", slide))
    }

    /// `DELETE /presentations/:id/slides/:slideId/elements/:elementId`.
    pub(super) fn delete_slide_element(&mut self, id: &str, slide: &str, element: &str) -> Answered {
        check_ids(&[id, slide, element])?;
        self.slide_element(id, slide, element)?;
        let deck = self.writable_deck(id, 404, "Element not found")?;
        for held in deck.slides.iter_mut().filter(|held| held.id.as_str() == slide) {
            held.elements.retain(|held| held["id"] != element);
        }
        ok(json!({ "id": element, "papelera": false }))
    }

    fn slide_element(&mut self, id: &str, slide: &str, element: &str) -> Result<&mut Value, Refusal> {
        let deck = self.writable_deck(id, 404, "Element not found")?;
        let slide = deck.slides.iter_mut().find(|held| held.id.as_str() == slide);
        let found = slide.and_then(|held| held.elements.iter_mut().find(|held| held["id"] == element));
        found.ok_or_else(|| Refusal(404, "Element not found".to_owned()))
    }

    fn shown_deck(&self, id: &str) -> Option<&PresentationRecord> {
        self.presentations.get(&DeckId::new(id).ok()?).filter(|deck| !deck.trashed && !deck.hidden)
    }

    /// A presentation that the caller may change, or the refusal.
    fn writable_deck(
        &mut self,
        id: &str,
        status: u16,
        words: &str,
    ) -> Result<&mut PresentationRecord, Refusal> {
        let id = self.shown_deck(id).filter(|deck| !deck.read_only).map(|deck| deck.id.clone());
        match id.and_then(|id| self.presentations.get_mut(&id)) {
            Some(deck) => Ok(deck),
            None => refuse(status, words),
        }
    }
}

/// A number in its shortest form.
fn number(value: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "only whole numbers are written as integers")]
    if value.fract() == 0.0 { json!(value as i64) } else { json!(value) }
}
