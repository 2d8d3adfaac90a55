//! Ids that the service assigns. They are opaque: no meaning is read out of them.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// An id that cannot be used: empty, over 128 bytes, or with a character that has a meaning in a URL or a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the service sent an id that cannot be used: {0:?}")]
pub struct BadId(pub String);

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl TryFrom<String> for $name {
            type Error = BadId;

            fn try_from(text: String) -> Result<Self, BadId> {
                Self::new(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().to_owned()
            }
        }

        impl $name {
            /// Takes an id as the service sent it (API document: a UUID string).
            ///
            /// # Errors
            /// [`BadId`] unless it is 1 to 128 bytes of ASCII letters, digits, `-` and `_`.
            pub fn new(text: &str) -> Result<Self, BadId> {
                let fits = !text.is_empty()
                    && text.len() <= 128
                    && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
                if fits { Ok(Self(text.into())) } else { Err(BadId(text.chars().take(64).collect())) }
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

id!(
    /// A page's id.
    PageId
);
id!(
    /// A workspace's id.
    WorkspaceId
);
impl WorkspaceId {
    /// Stands for the user, to whom presentations belong. The ids of workspaces are UUIDs, so none of them has this one.
    #[must_use]
    pub fn of_user() -> Self {
        Self("user".into())
    }

    /// Stands for the user's personal storage, in the same way.
    #[must_use]
    pub fn of_storage() -> Self {
        Self("storage".into())
    }
}

id!(
    /// A whiteboard's id.
    BoardId
);
id!(
    /// A presentation's id. In code a presentation is a deck.
    DeckId
);
id!(
    /// A slide's id.
    SlideId
);
id!(
    /// The id of an element of a whiteboard or a slide.
    ElementId
);
id!(
    /// A storage folder's id.
    FolderId
);
id!(
    /// A storage file's id. Its content has an id of its own: [`AttachmentId`].
    FileId
);
id!(
    /// The id of a storage file's content.
    AttachmentId
);
