//! Whiteboards, presentations, slides and their elements in a run: people at their files and in the app, bad luck of
//! their own, and the promises about them.
//!
//! Every text of a node holds a followed word, as every text of a page does. A scene without `boards` and `decks` has
//! none of all this, and draws nothing for it.

mod acts;
mod agreement;
mod app;
mod bad;
mod brief;
mod checks;
mod nodes;
mod people;
mod regressions;
mod requests;
mod slides;
mod verbs;

pub(crate) use agreement::{agree, nothing_doubled};
pub(crate) use bad::Misfortune;
pub(crate) use brief::{brief, brief_reply};
pub(crate) use checks::{Allowed, CanvasChecks, may_touch};
pub(crate) use nodes::ids_of;
pub(crate) use people::{Deed, is_canvas_file};
pub(crate) use slides::Homes;
pub(crate) use verbs::{AppCanvas, Canvas, CanvasFault, draw};
