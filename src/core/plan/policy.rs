//! What can be done to an item of each kind. Each difference between the kinds is a value of this table; [`crate::core::plan::decide`]
//! asks for no kind.

use serde::{Deserialize, Serialize};

use crate::model::{Deletes, Moves};

/// The kinds of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Kind {
    /// A page, a Markdown file.
    Page,
    /// A whiteboard, a canvas file.
    #[default]
    Whiteboard,
    /// A presentation with its slides, one canvas file.
    Presentation,
    /// A slide of a presentation, a part of its file.
    Slide,
    /// A folder of stored files.
    Folder,
    /// A stored file.
    File,
}

impl Kind {
    /// The kind of the items that lie in an item of this kind. The list of them is its content, its file states theirs too, and
    /// they have no file of their own.
    #[must_use]
    pub fn inner(self) -> Option<Self> {
        (self == Self::Presentation).then_some(Self::Slide)
    }

    /// Whether an item of this kind is a part of the file of the item that it lies in.
    #[must_use]
    pub fn is_part(self) -> bool {
        self == Self::Slide
    }

    /// Whether it is a stored file or a folder of such: its list says which bytes it has, and nothing of it is merged.
    #[must_use]
    pub fn is_stored(self) -> bool {
        matches!(self, Self::Folder | Self::File)
    }
}

/// What a changed name or parent of a file means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The change is sent.
    Sends,
    /// The service cannot change it: the file goes back.
    PutBack,
    /// The service cannot change it: the item is made anew, and the old one goes to the trash.
    Recreates,
}

/// How a changed content of a file reaches the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// The whole content in one request, merged with the service's.
    Whole,
    /// One request for each element, merged with the service's.
    Elements,
    /// A new item, after which the old one goes to the trash. Two versions cannot be merged.
    NewThenTrash,
    /// Never: the service's content wins.
    Never,
}

impl Update {
    /// Whether changes of both sides become one content.
    #[must_use]
    pub fn merges(self) -> bool {
        matches!(self, Self::Whole | Self::Elements)
    }
}

/// What an edited file becomes when its item left the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orphan {
    /// A conflict copy, which is never sent.
    ConflictCopy,
    /// A new file at its path.
    NewFile,
}

/// What can be done to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// A changed name.
    pub rename: Change,
    /// A file in the folder of another parent.
    pub reparent: Change,
    /// A changed content.
    pub update: Update,
    /// Whether a removed file takes its item to the service's trash. If not, the file comes back.
    pub trashes: bool,
    /// An edited file without its item.
    pub orphan: Orphan,
}

/// What the user chose in the config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choices {
    /// What a removed file means.
    pub deletes: Deletes,
    /// What a moved page file means.
    pub moves: Moves,
    /// Whether changes of stored files are sent. If not, stored files are a backup.
    pub storage_is_two_way: bool,
}

/// The policy for items of a kind. It follows the API document: a page's title can be changed; the name of another item and
/// the parent of an item cannot; a folder can be neither changed nor removed.
#[must_use]
pub fn policy(kind: Kind, choices: Choices) -> Policy {
    let trashes = choices.deletes == Deletes::Trash;
    let (rename, reparent, orphan) = (Change::PutBack, Change::PutBack, Orphan::ConflictCopy);
    let canvas = Policy { rename, reparent, update: Update::Elements, trashes, orphan };
    let backup = Policy { update: Update::Never, trashes: false, orphan: Orphan::NewFile, ..canvas };
    match kind {
        Kind::Page => {
            let reparent = match choices.moves {
                Moves::PutBack => Change::PutBack,
                Moves::Recreate => Change::Recreates,
            };
            Policy { rename: Change::Sends, reparent, update: Update::Whole, ..canvas }
        }
        Kind::Whiteboard | Kind::Presentation | Kind::Slide => canvas,
        Kind::File if choices.storage_is_two_way => {
            let (rename, reparent) = (Change::Recreates, Change::Recreates);
            Policy { rename, reparent, update: Update::NewThenTrash, trashes, ..backup }
        }
        Kind::Folder | Kind::File => backup,
    }
}
