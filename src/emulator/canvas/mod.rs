//! Whiteboards, presentations, slides and their elements: every endpoint of the API document under `/whiteboards` and
//! `/presentations`, with its rules. What an element is stands in `elements`; what happens in the app in `app`.
//!
//! Where the document is silent: what is not shown (trashed, hidden, of another user) is refused as if it did not
//! exist; a caller who may look and not write gets 400 where something is made and 404 elsewhere, as with pages; style
//! values that are no string, number or boolean, or are too long, are left out like unknown keys; positions of slides
//! are counted anew when one goes; bounds and sizes hold for new elements too.

mod app;
mod elements;
mod presentations;
#[cfg(test)]
mod tests;
mod whiteboards;

pub use presentations::{PresentationRecord, SlideRecord};
pub use whiteboards::WhiteboardRecord;

use super::http::{Answered, HttpRequest, Refusal, refuse};
use super::world::World;

impl World {
    /// Answers what lies under `/whiteboards` and `/presentations`; `None` for another path.
    pub(super) fn route_canvas(&mut self, request: &HttpRequest, segments: &[&str]) -> Option<Answered> {
        let body = &request.body;
        Some(match (request.method.as_str(), segments) {
            ("GET", ["whiteboards"]) => self.list_whiteboards(&request.query),
            ("POST", ["whiteboards"]) => self.create_whiteboard(body),
            ("DELETE", ["whiteboards", id]) => self.trash_whiteboard(id),
            ("GET", ["whiteboards", id, "elements"]) => self.list_board_elements(id),
            ("POST", ["whiteboards", id, "elements"]) => self.create_board_element(id, body),
            ("PATCH", ["whiteboards", id, "elements", element]) => {
                self.update_board_element(id, element, body)
            }
            ("DELETE", ["whiteboards", id, "elements", element]) => self.delete_board_element(id, element),
            ("GET", ["presentations"]) => self.list_presentations(),
            ("POST", ["presentations"]) => self.create_presentation(body),
            ("DELETE", ["presentations", id]) => self.trash_presentation(id),
            ("GET", ["presentations", id, "slides"]) => self.list_slides(id),
            ("POST", ["presentations", id, "slides"]) => self.add_slide(id),
            ("DELETE", ["presentations", id, "slides", slide]) => self.delete_slide(id, slide),
            ("GET", ["presentations", id, "slides", slide, "elements"]) => {
                self.list_slide_elements(id, slide)
            }
            ("POST", ["presentations", id, "slides", slide, "elements"]) => {
                self.create_slide_element(id, slide, body)
            }
            ("PATCH", ["presentations", id, "slides", slide, "elements", element]) => {
                self.update_slide_element(id, slide, element, body)
            }
            ("DELETE", ["presentations", id, "slides", slide, "elements", element]) => {
                self.delete_slide_element(id, slide, element)
            }
            _ => return None,
        })
    }
}

/// Refuses an id that is no UUID, where the document says that such an id is 400.
fn check_ids(ids: &[&str]) -> Result<(), Refusal> {
    if ids.iter().all(|id| id.len() == 36 && uuid::Uuid::try_parse(id).is_ok()) {
        Ok(())
    } else {
        refuse(400, "An id is not valid")
    }
}
