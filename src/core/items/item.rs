//! What is known of one item.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::core::items::wait::Wait;
use crate::core::keys::{Digest, ItemKey, Seq};
use crate::core::plan::policy::Kind;
use crate::model::{ContentHash, MirrorPath, PollState, Problem, Stamp, Timestamp, WorkspaceId};

/// An item of any kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Its number in this state.
    pub key: ItemKey,
    /// Its kind.
    pub kind: Kind,
    /// The area that it belongs to.
    pub area: WorkspaceId,
    /// The item that it lies in at the service: the presentation of a slide, the folder of a stored file.
    #[serde(default)]
    pub parent: Option<ItemKey>,
    /// The service's side; `None` until it is made there.
    pub remote: Option<Remote>,
    /// The folder's side.
    pub local: Local,
    /// The last agreement of both sides.
    pub base: Option<Base>,
    /// For names that the file has for elements, the elements' ids.
    pub aliases: BTreeMap<String, String>,
    /// What espejo wrote into the file since another program saved it, the oldest first.
    #[serde(default)]
    pub written: Vec<Written>,
    /// Its generated picture.
    pub picture: Option<Picture>,
    /// Its older versions, which go to the service's trash once a list shows the present one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<Version>,
    /// Whether the user approved what holds it.
    pub approved: bool,
    /// Whether its file, or the place where it belongs, is ignored.
    #[serde(skip)]
    pub is_ignored: bool,
    /// Why it waits although there is work; derived again in each run.
    #[serde(skip)]
    pub wait: Option<Wait>,
}

/// The service's side of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Remote {
    /// Its id at the service.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The fields that espejo does not use, as JSON.
    pub rest: Option<String>,
    /// The width and the height of the items in it, in pixels.
    #[serde(default)]
    pub size: Option<[f64; 2]>,
    /// Its order among its siblings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<f64>,
    /// Its bytes, if it is a stored file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Whether the lists show it.
    pub presence: Listing,
    /// Its content at the last fetch.
    pub content: Option<Digest>,
    /// Its state in the poll schedule.
    pub poll: PollState,
    /// The empty answers about it since it had content.
    pub emptied: Option<Emptied>,
}

/// An older version of a stored file: the API cannot change one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Its id.
    pub id: String,
    /// The folder that it lies in; `None` at the root.
    pub parent: Option<ItemKey>,
    /// Stands for its bytes.
    pub content: Option<Digest>,
}

/// Which bytes a stored file has at the service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// The id of its content: another id is another content.
    pub attachment: String,
    /// Its size in bytes.
    pub size: u64,
}

impl Bytes {
    /// Stands for these bytes in the table.
    #[must_use]
    pub fn digest(&self) -> Digest {
        ContentHash::of(format!("{}/{}", self.attachment, self.size).as_bytes())
    }
}

/// What the lists show of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Listing {
    /// The last list shows it.
    Listed,
    /// One list lacks it. Another one decides.
    Unlisted,
    /// It is gone.
    Gone,
}

/// Answers that an item is empty, which are believed after a list that shows it, and another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emptied {
    /// The time of the first of them.
    pub since: Timestamp,
    /// Whether a list has shown the item since the first of them.
    pub is_listed: bool,
}

/// The folder's side of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Local {
    /// It has had no file yet, or is to get a new one.
    Never,
    /// Its file.
    Here(Fact),
    /// Its file is missing.
    Gone {
        /// The scan that missed it.
        since: Seq,
        /// The time of that scan.
        at: Timestamp,
        /// The file as it was last seen.
        last: Fact,
    },
}

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Its path.
    pub path: MirrorPath,
    /// Since when it is at that path.
    pub since: Timestamp,
    /// Its metadata.
    pub stamp: Stamp,
    /// Hash of its bytes; `None` while they are to be read.
    pub hash: Option<ContentHash>,
    /// The item that its text names.
    pub says: Option<ItemKey>,
    /// Why it cannot be used.
    pub problem: Option<Problem>,
    /// Whether it was written so shortly before the read that an equal stamp proves nothing.
    pub racy: bool,
    /// Whether it is new, and has nothing yet that an item can be made of.
    #[serde(default)]
    pub is_blank: bool,
}

/// What both sides agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The item's name.
    pub name: String,
    /// Its content.
    pub content: Digest,
    /// Hash of the file's bytes if they state exactly this content.
    pub text: Option<ContentHash>,
    /// Where its file belonged.
    pub path: MirrorPath,
}

/// A write of a file that brought something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Its time.
    pub at: Timestamp,
    /// Hash of the file's text since.
    pub text: ContentHash,
    /// The items whose content it changed, with what the file stated before; `None` if it did not state the item.
    pub before: Vec<(ItemKey, Option<Digest>)>,
}

/// A picture that was generated beside an item's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// Its path.
    pub path: MirrorPath,
    /// What it was drawn from.
    pub source: ContentHash,
    /// Hash of its bytes.
    pub hash: ContentHash,
    /// Its metadata after the write.
    pub stamp: Stamp,
}

impl Item {
    /// The item whose file states its content: itself, or the item that it lies in.
    #[must_use]
    pub fn owner(&self) -> ItemKey {
        self.parent.filter(|_| self.kind.is_part()).unwrap_or(self.key)
    }

    /// The file, if it is there.
    #[must_use]
    pub fn file(&self) -> Option<&Fact> {
        match &self.local {
            Local::Here(fact) => Some(fact),
            Local::Never | Local::Gone { .. } => None,
        }
    }

    /// The file as it is, or as it was last seen.
    #[must_use]
    pub fn last_file(&self) -> Option<&Fact> {
        match &self.local {
            Local::Here(fact) | Local::Gone { last: fact, .. } => Some(fact),
            Local::Never => None,
        }
    }

    /// What the lists show of it; `None` if it was not made yet.
    #[must_use]
    pub fn presence(&self) -> Option<Listing> {
        self.remote.as_ref().map(|remote| remote.presence)
    }

    /// Whether a list shows it.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.presence() == Some(Listing::Listed)
    }

    /// Whether it came empty, and no list has shown it since.
    #[must_use]
    pub fn awaits_list(&self) -> bool {
        self.remote.as_ref().and_then(|remote| remote.emptied).is_some_and(|emptied| !emptied.is_listed)
    }

    /// Its name at the service.
    #[must_use]
    pub fn name(&self) -> &str {
        self.remote.as_ref().map_or("", |remote| &remote.name)
    }

    /// Its content at the last fetch.
    #[must_use]
    pub fn content(&self) -> Option<Digest> {
        self.remote.as_ref()?.content
    }

    /// The agreed content.
    #[must_use]
    pub fn agreed(&self) -> Option<Digest> {
        Some(self.base.as_ref()?.content)
    }
}
