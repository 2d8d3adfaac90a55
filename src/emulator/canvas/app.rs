//! What a user does with whiteboards and presentations in the app: nothing here costs a request or is logged. Each
//! act says whether it could be done.

use serde_json::{Value, json};

use super::elements;
use crate::emulator::world::World;
use crate::model::{BoardId, CanvasId, DeckId, SlideId, WorkspaceId};

impl World {
    /// A user makes a whiteboard.
    pub fn app_create_board(&mut self, workspace: &WorkspaceId, name: &str) -> BoardId {
        self.insert_whiteboard(workspace, name)
    }

    /// A user makes a document in Studio of this size, with one blank slide.
    pub fn app_create_deck(&mut self, name: &str, width: f64, height: f64) -> DeckId {
        self.insert_presentation(name, width, height)
    }

    /// The slides of a presentation, in order.
    #[must_use]
    pub fn slides_of(&self, deck: &DeckId) -> Vec<SlideId> {
        self.presentations
            .get(deck)
            .map_or_else(Vec::new, |deck| deck.slides.iter().map(|slide| slide.id.clone()).collect())
    }

    /// A user inserts a blank slide; at the end when `at` is beyond it.
    pub fn app_insert_slide(&mut self, deck: &DeckId, at: usize) -> Option<SlideId> {
        let slide = self.blank_slide();
        let id = slide.id.clone();
        let deck = self.presentations.get_mut(deck)?;
        deck.slides.insert(at.min(deck.slides.len()), slide);
        Some(id)
    }

    /// A user moves a slide to another place.
    pub fn app_move_slide(&mut self, deck: &DeckId, from: usize, to: usize) -> bool {
        let Some(deck) = self.presentations.get_mut(deck).filter(|deck| from.max(to) < deck.slides.len())
        else {
            return false;
        };
        let slide = deck.slides.remove(from);
        deck.slides.insert(to, slide);
        true
    }

    /// A user removes a slide.
    pub fn app_remove_slide(&mut self, deck: &DeckId, slide: &SlideId) -> bool {
        let Some(deck) = self.presentations.get_mut(deck) else { return false };
        let before = deck.slides.len();
        deck.slides.retain(|held| held.id != *slide);
        deck.slides.len() < before
    }

    /// A user gives a slide a background.
    pub fn app_set_background(&mut self, deck: &DeckId, slide: &SlideId, background: Value) -> bool {
        let deck = self.presentations.get_mut(deck);
        let slide = deck.and_then(|deck| deck.slides.iter_mut().find(|held| held.id == *slide));
        slide.map(|slide| slide.background = background).is_some()
    }

    /// The elements of a canvas as the service has them, by age.
    #[must_use]
    pub fn elements_of(&self, canvas: &CanvasId) -> &[Value] {
        match canvas {
            CanvasId::Board(id) => self.whiteboards.get(id).map_or(&[], |board| &board.elements),
            CanvasId::Slide(deck, slide) => self
                .presentations
                .get(deck)
                .and_then(|deck| deck.slides.iter().find(|held| held.id == *slide))
                .map_or(&[], |slide| &slide.elements),
        }
    }

    fn elements_mut(&mut self, canvas: &CanvasId) -> Option<&mut Vec<Value>> {
        match canvas {
            CanvasId::Board(id) => self.whiteboards.get_mut(id).map(|board| &mut board.elements),
            CanvasId::Slide(deck, slide) => self
                .presentations
                .get_mut(deck)
                .and_then(|deck| deck.slides.iter_mut().find(|held| held.id == *slide))
                .map(|slide| &mut slide.elements),
        }
    }

    /// A user puts an element of any type on a canvas, in front of all others; what `fields` lacks has the app's
    /// usual value. Its id.
    pub fn app_put_element(&mut self, canvas: &CanvasId, fields: Value) -> Option<String> {
        let id = self.ids.uuid();
        let all = self.elements_mut(canvas)?;
        #[expect(clippy::cast_possible_truncation, reason = "a stacking order is small")]
        let front = all.iter().map(elements::z_index).fold(-1.0, f64::max) as i64 + 1;
        let mut element = json!({
            "id": id, "type": "text", "x": 0, "y": 0, "width": 200, "height": 200, "content": "", "style": {},
            "z_index": front,
        });
        for (key, value) in fields.as_object().into_iter().flatten() {
            element[key.as_str()] = value.clone();
        }
        let id = element["id"].as_str().unwrap_or_default().to_owned();
        all.push(element);
        Some(id)
    }

    /// A user changes an element: these keys, and these keys of its style.
    pub fn app_edit_element(&mut self, canvas: &CanvasId, id: &str, fields: Value) -> bool {
        let all = self.elements_mut(canvas);
        let Some(element) = all.and_then(|all| all.iter_mut().find(|held| held["id"] == id)) else {
            return false;
        };
        for (key, value) in fields.as_object().into_iter().flatten() {
            match value {
                Value::Object(style) if key == "style" => {
                    for (key, value) in style {
                        element["style"][key.as_str()] = value.clone();
                    }
                }
                _ => element[key.as_str()] = value.clone(),
            }
        }
        true
    }

    /// A user removes an element.
    pub fn app_remove_element(&mut self, canvas: &CanvasId, id: &str) -> bool {
        let Some(all) = self.elements_mut(canvas) else { return false };
        let before = all.len();
        all.retain(|held| held["id"] != id);
        all.len() < before
    }

    /// A user renames a whiteboard.
    pub fn app_rename_board(&mut self, board: &BoardId, name: &str) -> bool {
        self.whiteboards.get_mut(board).map(|board| name.clone_into(&mut board.name)).is_some()
    }

    /// A user renames a presentation.
    pub fn app_rename_deck(&mut self, deck: &DeckId, name: &str) -> bool {
        self.presentations.get_mut(deck).map(|deck| name.clone_into(&mut deck.name)).is_some()
    }

    /// A user moves a whiteboard to the trash, or takes it out again.
    pub fn app_trash_board(&mut self, board: &BoardId, trashed: bool) -> bool {
        self.whiteboards.get_mut(board).map(|board| board.trashed = trashed).is_some()
    }

    /// A user moves a presentation to the trash, or takes it out again.
    pub fn app_trash_deck(&mut self, deck: &DeckId, trashed: bool) -> bool {
        self.presentations.get_mut(deck).map(|deck| deck.trashed = trashed).is_some()
    }

    /// A user takes a whiteboard from the caller's sight, or gives it back.
    pub fn app_hide_board(&mut self, board: &BoardId, hidden: bool) -> bool {
        self.whiteboards.get_mut(board).map(|board| board.hidden = hidden).is_some()
    }

    /// A user takes a presentation from the caller's sight, or gives it back.
    pub fn app_hide_deck(&mut self, deck: &DeckId, hidden: bool) -> bool {
        self.presentations.get_mut(deck).map(|deck| deck.hidden = hidden).is_some()
    }

    /// A user lets the caller only look at a presentation, or edit it again.
    pub fn app_share_deck(&mut self, deck: &DeckId, read_only: bool) -> bool {
        self.presentations.get_mut(deck).map(|deck| deck.read_only = read_only).is_some()
    }
}
