//! Changes of one file that the user requests from espejo: write a text into it, restore its name, or remove it.

use super::{Blocks, ContentHash, MirrorPath};

/// A change of one file that the user requested. espejo makes it as if the user had made it, and then syncs it like
/// any edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// Write this text as the whole content.
    Text {
        /// The path.
        path: MirrorPath,
        /// The content that the file must have before; `None` if there must be no file.
        expect: Option<ContentHash>,
        /// The new content.
        text: String,
        /// The exact body that the text stands for, including what Markdown cannot express, if it is known.
        body: Option<Blocks>,
        /// The command that the user gave, for the log; `None` for a version that is restored.
        why: Option<String>,
    },
    /// Rename the file; an existing entry is never replaced.
    Name {
        /// The old path.
        from: MirrorPath,
        /// The new path.
        to: MirrorPath,
    },
    /// Move a resolved conflict copy, or the file of a page that the user takes back, to the mirror's trash. The page goes to
    /// the service's trash.
    Away {
        /// The file.
        path: MirrorPath,
        /// The content that the file must have.
        expect: ContentHash,
    },
}

impl Put {
    /// The file that changes.
    #[must_use]
    pub fn path(&self) -> &MirrorPath {
        match self {
            Self::Text { path, .. } | Self::Away { path, .. } => path,
            Self::Name { from, .. } => from,
        }
    }
}
