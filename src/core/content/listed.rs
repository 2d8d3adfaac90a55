//! What a list of the service shows, and which list shows an item.

use crate::core::items::{Bytes, Item};
use crate::core::keys::ItemKey;
use crate::core::plan::policy::Kind;
use crate::model::{Whiteboard, WorkspaceId};

/// What a list is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListOf {
    /// The items of an area.
    Area(WorkspaceId),
    /// What lies in an item. The list of it is the item's content.
    Inner(ItemKey),
}

impl ListOf {
    /// The list that shows an item.
    #[must_use]
    pub fn of(item: &Item) -> Self {
        Self::inside(item.parent, &item.area)
    }

    /// The list of what lies in an item, or in an area itself.
    #[must_use]
    pub fn inside(parent: Option<ItemKey>, area: &WorkspaceId) -> Self {
        parent.map_or_else(|| Self::Area(area.clone()), Self::Inner)
    }
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The kind.
    pub kind: Kind,
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The fields that espejo does not use, as JSON.
    pub rest: Option<String>,
    /// The width and the height of the items in it, in pixels.
    pub size: Option<[f64; 2]>,
    /// Its order among its siblings.
    pub position: Option<f64>,
    /// The bytes of a stored file.
    pub bytes: Option<Bytes>,
}

impl Listed {
    /// An entry with nothing but a name.
    #[must_use]
    pub fn new(kind: Kind, id: &str, name: String) -> Self {
        Self { kind, id: id.to_owned(), name, rest: None, size: None, position: None, bytes: None }
    }
}

impl From<Whiteboard> for Listed {
    fn from(seen: Whiteboard) -> Self {
        let rest = seen.rest.text().map(str::to_owned);
        Self { rest, ..Self::new(Kind::Whiteboard, seen.id.as_str(), seen.name) }
    }
}
