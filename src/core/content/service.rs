//! The requests about items of each kind, and what their answers say.

use serde_json::{Value, json};

use crate::canvas::Op;
use crate::core::content::listed::Listed;
use crate::core::items::{Bytes, Item, Items};
use crate::core::plan::policy::Kind;
use crate::model::{
    BoardEffect, BoardId, BoardReply, CanvasId, Deck, DeckId, Effect, Elements, FileId, FolderId, Link,
    ServiceReply, Slide, SlideId, StorageEffect, StorageFile, StorageFolder, StorageReply, WorkspaceId,
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
    /// To a fetch of a stored file by its id: the file, the id of its folder, where its bytes are, and for how many milliseconds.
    Linked(Listed, Option<String>, Link, i64),
}

/// What an answer says; `None` if it is about no item. `size`: that of the slides, if it is about slides.
#[must_use]
pub fn reply(reply: ServiceReply, size: Option<[f64; 2]>) -> Option<Reply> {
    Some(match reply {
        ServiceReply::Board(reply) => reply_about_canvas(reply, size),
        ServiceReply::Storage(reply) => reply_about_storage(reply),
        _ => return None,
    })
}

fn reply_about_storage(reply: StorageReply) -> Reply {
    match reply {
        StorageReply::Listing(listing) => {
            let folders = listing.folders.into_iter().map(Into::into);
            Reply::Listed(folders.chain(listing.files.into_iter().map(Into::into)).collect(), listing.skipped)
        }
        StorageReply::Link { file, link, good_for_ms } => {
            let folder = file.folder.as_ref().map(|id| id.as_str().to_owned());
            Reply::Linked(file.into(), folder, link, good_for_ms)
        }
        StorageReply::Uploaded(file) => Reply::Made(file.into()),
        StorageReply::Trashed => Reply::Removed,
    }
}

fn reply_about_canvas(reply: BoardReply, size: Option<[f64; 2]>) -> Reply {
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
        Self { rest, size, ..Self::new(Kind::Presentation, seen.id.as_str(), seen.name) }
    }
}

impl From<StorageFolder> for Listed {
    fn from(seen: StorageFolder) -> Self {
        Self { position: Some(seen.position), ..Self::new(Kind::Folder, seen.id.as_str(), seen.name) }
    }
}

impl From<StorageFile> for Listed {
    fn from(seen: StorageFile) -> Self {
        let bytes = Some(Bytes { attachment: seen.attachment.as_str().to_owned(), size: seen.size });
        let rest = seen.rest.text().map(str::to_owned);
        let position = Some(seen.position);
        Self { rest, position, bytes, ..Self::new(Kind::File, seen.id.as_str(), seen.filename) }
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
pub fn list(kind: Kind, area: &WorkspaceId) -> Effect {
    match kind {
        Kind::Presentation => Effect::Board(BoardEffect::ListDecks),
        Kind::Folder | Kind::File => Effect::Storage(StorageEffect::List(None)),
        _ => Effect::Board(BoardEffect::ListBoards(area.clone())),
    }
}

/// The fetch of an item's content, or of where it is.
#[must_use]
pub fn fetch(items: &Items, item: &Item) -> Option<Effect> {
    match item.kind {
        Kind::Folder => folder_id(item).map(|id| Effect::Storage(StorageEffect::List(Some(id)))),
        Kind::File => file_id(item).map(|id| Effect::Storage(StorageEffect::AskLink(id))),
        _ => {
            let slides = presentation_id(item).map(BoardEffect::ListSlides);
            slides.or_else(|| canvas_id(items, item).map(BoardEffect::ListElements)).map(Effect::Board)
        }
    }
}

/// The id of a folder of stored files.
#[must_use]
pub fn folder_id(item: &Item) -> Option<FolderId> {
    FolderId::new(&item.remote.as_ref()?.id).ok()
}

/// The id of a stored file.
#[must_use]
pub fn file_id(item: &Item) -> Option<FileId> {
    FileId::new(&item.remote.as_ref()?.id).ok()
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
pub fn trash(items: &Items, item: &Item) -> Option<Effect> {
    match item.kind {
        Kind::Folder => None,
        Kind::File => file_id(item).map(|id| Effect::Storage(StorageEffect::Trash(id))),
        _ => match canvas_id(items, item) {
            Some(CanvasId::Board(id)) => Some(Effect::Board(BoardEffect::TrashBoard(id))),
            _ => presentation_id(item).map(BoardEffect::TrashDeck).map(Effect::Board),
        },
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
