//! Requests that create an item, kept from before they are sent until their outcome is known, because a request sent
//! twice creates a second item.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{MirrorPath, PageId, Stamp, Timestamp, WorkspaceId};

/// The item that a request creates. The state keeps it as JSON.
pub trait Draft: Clone + PartialEq + Serialize + DeserializeOwned {
    /// Identifies it among the drafts of its kind.
    type Key: Ord + Clone + Display;
    /// The name of the kind in the state.
    const KIND: &'static str;

    /// Its key.
    fn key(&self) -> Self::Key;
}

/// A request that creates an item.
#[derive(Debug, Clone, PartialEq)]
pub struct Creation<D> {
    /// What it creates.
    pub draft: D,
    /// When it was sent.
    pub asked_at: Timestamp,
    /// Set once its answer is lost, and for each creation of an earlier run.
    pub unconfirmed: Option<Unconfirmed>,
}

/// A creation without an answer, which may have been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unconfirmed {
    /// The time at which the answer was lost, or at which the last list that counts was requested.
    pub since: Timestamp,
    /// The number of counted lists that lacked the item.
    pub looks: u32,
}

/// For so long an entry of a list that cannot be read may be the result of a creation, in milliseconds.
const UNREAD_MS: i64 = 3_600_000;

impl Unconfirmed {
    /// Whether a list that lacks the item and was requested at `asked_at` is evidence. `is_whole`: each entry could be read.
    #[must_use]
    pub fn heeds(&self, is_whole: bool, asked_at: Timestamp) -> bool {
        is_whole || asked_at.since_ms(self.since) > UNREAD_MS
    }
}

/// A page created from a file or a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageDraft {
    /// The file, or the folder (without `.md`).
    pub path: MirrorPath,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The parent page; `None` at the top of the workspace.
    pub parent: Option<PageId>,
    /// The requested title.
    pub title: String,
    /// The file's stamp at that time, because the file may have been renamed since. `None` for a folder.
    pub stamp: Option<Stamp>,
}

impl Draft for PageDraft {
    type Key = MirrorPath;
    const KIND: &'static str = "page";

    fn key(&self) -> MirrorPath {
        self.path.clone()
    }
}
