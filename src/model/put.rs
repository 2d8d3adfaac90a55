//! What a person has espejo do to one file: put a text into it, give it a name back, or put a settled conflict copy away.

use super::{Blocks, ContentHash, MirrorPath};

/// A change of one file that a person asked for. It is made as if they had made it themselves, and then travels like
/// any edit of theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// This text, whole.
    Text {
        /// Where.
        path: MirrorPath,
        /// What the file must hold for it; `None` where there must be no file.
        expect: Option<ContentHash>,
        /// What it shall hold.
        text: String,
        /// The body that the text stands for exactly, with what Markdown cannot say, where that is known.
        body: Option<Blocks>,
    },
    /// This name; whatever is there already stays.
    Name {
        /// From here.
        from: MirrorPath,
        /// To here.
        to: MirrorPath,
    },
    /// Out of the way: a conflict copy that is settled goes to the mirror's trash.
    Away {
        /// The copy.
        path: MirrorPath,
        /// What it must hold.
        expect: ContentHash,
    },
}

impl Put {
    /// The file that it is about.
    #[must_use]
    pub fn path(&self) -> &MirrorPath {
        match self {
            Self::Text { path, .. } | Self::Away { path, .. } => path,
            Self::Name { from, .. } => from,
        }
    }
}
