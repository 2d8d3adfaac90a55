//! A whole presentation as one canvas file: each slide is a group with the slide's id, of the presentation's size, and its
//! elements stand in it. Pure, and slide by slide: [`read()`] tells what a person changed on each slide, [`merge()`] compares
//! one slide with the service, and [`write()`] carries what came of the slides into the file.
//!
//! - **Places.** An element's place is its node's minus that of its slide's group in the same file. So a group that was
//!   moved together with its nodes has changed nothing.
//! - **Ids.** The id of a slide is unique in its presentation, that of an element only on its slide. A node has its element's
//!   id as long as no other node of the file has it; otherwise its id is `SLIDE/ELEMENT`, which no id of the service can be.
//! - **Order.** The slides stand in their order, each group before its elements, and the elements back to front. A file with
//!   another order has changed nothing, and is put in order when it is written for another reason.
//! - **Layout.** One slide lies below the other. A group that is not where espejo put it is where its user wants it. That
//!   shows in the file alone: espejo puts the slide with the number `n` at one known height, and nothing else is stored.
//!
//! [`merge()`]: super::merge()

mod area;
mod extras;
mod html;
mod names;
mod place;
mod read;
mod survey;
#[cfg(test)]
mod tests;
mod write;
mod written;

use serde_json::Value;

use super::read::{Aliases, Local, Origins};
use crate::model::{Elements, SlideId};

pub use html::{SlidePicture, html};
pub use read::read;
pub use survey::strange_ids;
pub use write::{aligned, revive, write};

/// The size of a presentation's slides, in pixels of its canvas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

impl Size {
    /// The size of a group in a file, which has whole pixels only.
    fn whole(self) -> [f64; 2] {
        [self.width, self.height]
            .map(|side| if side.is_nan() { 1.0 } else { side.round().clamp(1.0, 100_000.0) })
    }
}

/// What espejo knows of a presentation when it looks at its file.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The size of its slides.
    pub size: Size,
    /// The slides that the file has or may have, in their order, with those that left the service since the file was
    /// written.
    pub slides: &'a [KnownSlide<'a>],
    /// The file as espejo last wrote it. Without it, the file itself stands for it: then less is known of groups that are
    /// gone or have another size.
    pub written: Option<&'a str>,
    /// The slides that were made of new groups, by the group's id, until the file has the slide's own id.
    pub groups: &'a Aliases,
    /// Elements of other canvases and presentations, by id: what nodes with their ids are copies of. [`strange_ids`] tells
    /// which ids may be needed.
    pub origins: &'a Origins,
}

/// A slide as espejo knows it.
#[derive(Debug, Clone, Copy)]
pub struct KnownSlide<'a> {
    /// Its id.
    pub id: &'a SlideId,
    /// The elements that the file stood for when both sides last agreed on this slide; `None` if they never did, because
    /// the file was not written with this slide yet.
    pub base: Option<&'a [Value]>,
    /// Elements that the file may have although the base lacks them: those of the last fetch and of a write whose end was
    /// not noted.
    pub shown: &'a [Value],
    /// The elements that were made of new nodes of this slide, by the node's id, until the file has the element's own id.
    pub aliases: &'a Aliases,
    /// Whether the service still has it. A node that a person moves into one that left stays its own slide's.
    pub is_there: bool,
}

/// What a file says that the presentation does not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PresentationFile {
    /// One for each of [`Known::slides`], in the same order.
    pub slides: Vec<SlideFile>,
    /// Groups that are to be slides at the end, in the order in which they are to be made. Their nodes are new nodes of the
    /// slide once [`Known::groups`] names it.
    pub new_slides: Vec<NewSlide>,
    /// Nodes that moved into another slide and can be made there.
    pub moves: Vec<Move>,
    /// What stays in the file because the API cannot make it.
    pub only_here: Vec<OnlyHere>,
    /// Changes to groups that the API cannot make, each a sentence; [`write()`] takes them back.
    pub put_back: Vec<String>,
    /// Whether groups have ids that wait to be replaced by their slides' own.
    pub aliased: bool,
}

impl PresentationFile {
    /// Whether the file says nothing that is to be sent or taken back.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let is_clean = |slide: &SlideFile| match &slide.state {
            SlideState::Here(local) => local.is_clean(),
            SlideState::Unwritten => true,
            SlideState::Removed | SlideState::Faulty(_) => false,
        };
        self.slides.iter().all(is_clean)
            && self.new_slides.is_empty()
            && self.moves.is_empty()
            && self.put_back.is_empty()
    }
}

/// What a file says of one slide.
#[derive(Debug, Clone, PartialEq)]
pub struct SlideFile {
    /// Which.
    pub id: SlideId,
    /// What it says.
    pub state: SlideState,
    /// The base for a merge of this slide: the known one, with the shown elements that the file has.
    pub base: Elements,
    /// What stands in the slide and only in the file, as elements for its picture.
    pub extras: Elements,
}

/// What became of a slide in the file.
#[derive(Debug, Clone, PartialEq)]
pub enum SlideState {
    /// It is there, with these edits.
    Here(Local),
    /// Nothing of it can be sent; why, as a sentence.
    Faulty(String),
    /// Its group and all its nodes are gone.
    Removed,
    /// It never was in the file.
    Unwritten,
}

/// A group that is to be a new slide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSlide {
    /// The id that the file has for it.
    pub node: String,
    /// How many text nodes lie in it.
    pub nodes: usize,
}

/// An element whose node moved into another slide. It is a new node there; of its own slide it is no deletion until
/// the new slide's aliases name what was made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// The id that the file has for it.
    pub node: String,
    /// The element.
    pub element: String,
    /// Its slide.
    pub from: SlideId,
    /// The slide that its node is in now, or the group that is to be one.
    pub to: Destination,
}

/// Where a node was moved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Another slide.
    Slide(SlideId),
    /// A group that is to be a new slide, by the id that the file has for it. Nothing is sent of the node before.
    NewSlide(String),
}

/// A node or edge that stays in the file only.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OnlyHere {
    /// Its id; an edge may have none.
    pub node: String,
    /// Why it stays.
    pub what: LocalOnly,
}

/// Why a node or edge stays in the file only.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LocalOnly {
    /// A group that touches a slide's group, or lies under another new group.
    Group,
    /// A line between nodes.
    Edge,
    /// A link.
    Link,
    /// A file.
    File,
    /// A node of a type that JSON Canvas does not have.
    Other,
    /// A text node outside of every slide.
    Outside,
    /// A copy of an element of this type, which the API cannot create.
    Copy(String),
}

/// A slide for [`write()`].
#[derive(Debug, Clone, Copy)]
pub struct SlideTarget<'a> {
    /// Which.
    pub id: &'a SlideId,
    /// What the file is to say of it: the target of its merge. With `None` what the file says of it stays as it is; its
    /// nodes only go along with its group.
    pub elements: Option<&'a [Value]>,
}
