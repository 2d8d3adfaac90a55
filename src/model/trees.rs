//! The three trees: the last state of the service, the last state of the disk, and the last state that both sides had
//! in common.
//!
//! Nodes are keyed by page id, never by path. The trees store observations; the work is always derived from them
//! again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Blocks, ContentHash, MirrorPath, PageId, PageMeta, Problem, Refusal, Side, Stamp, Timestamp, WorkspaceId,
};

/// One page in all three trees.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its id.
    pub id: PageId,
    /// The workspace it is in.
    pub workspace: WorkspaceId,
    /// The remote tree's entry.
    pub remote: RemotePage,
    /// The base tree's entry; `None` until both sides have agreed once. An empty base never authorises a deletion.
    pub base: Option<Agreed>,
    /// The local tree's entry: the path of its file. The file itself is in [`LocalFile`].
    pub file: Option<MirrorPath>,
    /// Start of the absence of its file; `None` while the file exists or never existed.
    pub missing_since: Option<Timestamp>,
    /// The last path of its file, if the file is missing.
    pub missing_from: Option<MirrorPath>,
    /// The stem of its file name once chosen. It is kept while it fits the title; `None` while a new one is due.
    pub stem: Option<Arc<str>>,
    /// Whether the user approved what a guard held for it.
    pub approved: bool,
    /// The time at which the page became known.
    pub first_seen: Timestamp,
    /// Its state in the poll schedule.
    pub poll: PollState,
    /// Why it waits, if it does.
    pub parked: Option<Box<Parked>>,
    /// The body before the last push and the time of the push, because an open editor may write the old body again.
    pub last_push: Option<Box<LastPush>>,
}

impl Node {
    /// A page that just became known: no file, no base.
    #[must_use]
    pub fn new(
        id: PageId,
        workspace: WorkspaceId,
        remote: RemotePage,
        first_seen: Timestamp,
        poll: PollState,
    ) -> Self {
        Self {
            id,
            workspace,
            remote,
            base: None,
            file: None,
            missing_since: None,
            missing_from: None,
            stem: None,
            approved: false,
            first_seen,
            poll,
            parked: None,
            last_push: None,
        }
    }

    /// The reason for its wait, if it waits.
    #[must_use]
    pub fn hold(&self) -> Option<&Hold> {
        self.parked.as_deref().map(|parked| &parked.hold)
    }
}

/// A page as last fetched or listed.
#[derive(Debug, Clone, PartialEq)]
pub struct RemotePage {
    /// Its parent.
    pub parent: Option<PageId>,
    /// Its title.
    pub title: Arc<str>,
    /// Its icon.
    pub icon: Option<Arc<str>>,
    /// Its order among its siblings.
    pub position: f64,
    /// Its presence at the service.
    pub presence: Presence,
    /// Hash of its body at the last fetch; `None` until fetched.
    pub body: Option<ContentHash>,
}

impl RemotePage {
    /// A page as a list or the answer to its creation shows it: without its body.
    #[must_use]
    pub fn listed(meta: PageMeta) -> Self {
        let PageMeta { parent, title, icon, position, .. } = meta;
        Self {
            parent,
            title: title.into(),
            icon: icon.map(Into::into),
            position,
            presence: Presence::Listed,
            body: None,
        }
    }

    /// Sets the title and the icon. Equal ones stay shared with the base.
    pub fn set_texts(&mut self, title: &str, icon: Option<&str>) {
        if *self.title != *title {
            self.title = title.into();
        }
        if self.icon.as_deref() != icon {
            self.icon = icon.map(Into::into);
        }
    }
}

/// The presence of a page at the service. Absence from a list is only a reason to fetch the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// In the last complete list.
    Listed,
    /// Not in the last complete list, and not fetched by id since.
    Unlisted,
    /// Not in the list, but a GET still returns it.
    Hidden,
    /// Not in the list, and a GET returned 404.
    Gone,
}

impl Presence {
    /// Whether the service shows it, in a list or in a GET.
    #[must_use]
    pub fn is_shown(self) -> bool {
        matches!(self, Self::Listed | Self::Hidden)
    }
}

/// The base of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreed {
    /// The parent.
    pub parent: Option<PageId>,
    /// The title.
    pub title: Arc<str>,
    /// The icon written to the front matter.
    pub icon: Option<Arc<str>>,
    /// Hash of the blocks that the file stood for.
    pub body: ContentHash,
    /// Hash of the file's bytes that stood for `body`; `None` if the file has not been read since.
    pub text: Option<ContentHash>,
    /// The `title` in the file's front matter at that time.
    pub front_title: Option<Arc<str>>,
    /// The path of the file.
    pub path: MirrorPath,
    /// The present path of the folder of its subpages, while it is not `path` without `.md`.
    pub folder_at: Option<MirrorPath>,
}

/// The folder of the subpages of the page in `file`: the path without `.md`.
#[must_use]
pub fn folder_of(file: &MirrorPath) -> Option<MirrorPath> {
    file.parent()?.join(file.page_stem()?).ok()
}

/// A page file on disk, as last seen.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalFile {
    /// Its path.
    pub path: MirrorPath,
    /// Its page, once identified.
    pub page: Option<PageId>,
    /// Its metadata at the last scan or read.
    pub stamp: Stamp,
    /// Hash of its content at the last read; `None` while it has an unread change.
    pub hash: Option<ContentHash>,
    /// The id in its front matter.
    pub claims: Option<PageId>,
    /// The page that it is a copy of, or whose file it was before it was to become a page of its own.
    pub copied_from_page: Option<PageId>,
    /// The title in its front matter.
    pub front_title: Option<Arc<str>>,
    /// Why it cannot be pushed, if so.
    pub problem: Option<Problem>,
    /// Whether it was modified so shortly before the read that an equal stamp proves nothing.
    pub racy: bool,
}

impl LocalFile {
    /// The page that its front matter claims; `None` if it is a copy of that page's file, or is to become a page of
    /// its own.
    #[must_use]
    pub fn claim(&self) -> Option<&PageId> {
        let is_parted =
            self.page.is_none() && self.copied_from_page.is_some() || self.claims == self.copied_from_page;
        self.claims.as_ref().filter(|_| !is_parted)
    }

    /// Updates the mark of a copy after a new read. A copy stays a copy while it names the same page. A file that is
    /// to become a page of its own keeps the mark with any name.
    pub fn keep_parted(&mut self, was: Option<&LocalFile>) {
        let stays = self.page.is_none() && was.is_some_and(|was| was.claims == self.claims);
        if self.copied_from_page != self.claims && !stays {
            self.copied_from_page = None;
        }
    }
}

/// The state of a target in the poll schedule (see `engine::poll`).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PollState {
    /// The time of the last fetch of its body; 0 for never.
    pub last: Timestamp,
    /// The time of the last activity.
    pub life: Timestamp,
    /// The number of its changes, with a half-life of 30 days.
    pub changes: f64,
    /// The time at which `changes` was last updated.
    pub changes_at: Timestamp,
    /// Milliseconds between fetches while it is hot; 0 if it is not.
    pub gap_ms: i64,
}

const HALF_LIFE_MS: f64 = 30.0 * 86_400_000.0;
const SESSION_MS: i64 = 3_600_000;

impl PollState {
    /// The first time between fetches of a target that is being edited, in milliseconds.
    pub const HOT_GAP_MS: i64 = 10_000;
    /// The longest one.
    pub const HOT_GAP_MAX_MS: i64 = 600_000;

    /// The state of a new target: a long silence is assumed.
    #[must_use]
    pub fn fresh(now: Timestamp) -> Self {
        Self { life: now.plus_ms(-30 * 86_400_000), ..Self::default() }
    }

    /// Records that a fetch found a change (or the user edited the item): the target is alive.
    pub fn changed(&mut self, now: Timestamp) {
        if now.since_ms(self.life) > SESSION_MS || self.changes_at.0 == 0 {
            let faded = (-(now.since_ms(self.changes_at).max(0) as f64) / HALF_LIFE_MS).exp2();
            self.changes = if self.changes_at.0 == 0 { 1.0 } else { self.changes * faded + 1.0 };
            self.changes_at = now;
        }
        self.life = now;
        self.gap_ms = Self::HOT_GAP_MS;
    }

    /// Records that a fetch found nothing new.
    pub fn unchanged(&mut self) {
        if self.gap_ms > 0 {
            self.gap_ms = self.gap_ms * 13 / 10;
            if self.gap_ms > Self::HOT_GAP_MAX_MS {
                self.gap_ms = 0;
            }
        }
    }
}

/// Why a page waits, and for which state of both sides: any change of either side lets it try again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// The reason.
    pub hold: Hold,
    /// The file's content at that time.
    pub local: Option<ContentHash>,
    /// The service's body at that time.
    pub remote: Option<ContentHash>,
}

/// Why a page waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// Its file's content would not load in the app; the reason. A change ends it.
    Unloadable(String),
    /// The page's content cannot be written into its file; the reason. A change ends it.
    Unwritable(String),
    /// A step about it failed by a fault of espejo. A change of either side ends it, and so does a start.
    Internal(Side),
    /// The service refused its edit.
    Edit(Refusal),
    /// The service refused to delete it; a full pass tries again.
    Deletion(Refusal),
    /// The fetch was refused.
    Fetch(Refusal),
}

impl Hold {
    /// The refusal, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Edit(refusal) | Self::Deletion(refusal) | Self::Fetch(refusal) => Some(refusal),
            Self::Unloadable(_) | Self::Unwritable(_) | Self::Internal(_) => None,
        }
    }

    /// The refusal, if it is one.
    pub fn refusal_mut(&mut self) -> Option<&mut Refusal> {
        match self {
            Self::Edit(refusal) | Self::Deletion(refusal) | Self::Fetch(refusal) => Some(refusal),
            Self::Unloadable(_) | Self::Unwritable(_) | Self::Internal(_) => None,
        }
    }

    /// Whether the page still waits.
    #[must_use]
    pub fn rests(&self, now: Timestamp) -> bool {
        self.refusal().is_none_or(|refusal| refusal.rests(now))
    }

    /// The message for the user.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Unloadable(why) => format!("it would not load in the app: {why}"),
            Self::Unwritable(why) => why.clone(),
            Self::Internal(side) => side.sentence().to_owned(),
            Self::Edit(refusal) | Self::Deletion(refusal) => refusal.said.clone(),
            Self::Fetch(refusal) => format!("it cannot be read: {}", refusal.said),
        }
    }
}

/// A push that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastPush {
    /// The service's body before it.
    pub before: ContentHash,
    /// The sent body.
    pub after: ContentHash,
    /// The time.
    pub at: Timestamp,
    /// Whether it was the second attempt.
    pub again: bool,
}

/// A PATCH whose outcome is not known, stored from before it is sent until it is settled.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingUpdate {
    /// The page.
    pub page: PageId,
    /// Hash of the file's content that it was made from.
    pub text: ContentHash,
    /// Hash of the blocks that this file stood for, with the ids that were generated for new ones.
    pub local: ContentHash,
    /// Hash of the service's body that it is based on.
    pub before: ContentHash,
    /// Hash of the sent body.
    pub body: ContentHash,
    /// The sent title, if any.
    pub title: Option<String>,
}

/// A workspace in the mirror.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkspaceNode {
    /// The service's fields of it.
    pub seen: super::Workspace,
    /// The name of its folder.
    pub folder: String,
    /// Whether the last list of workspaces had it.
    pub present: bool,
    /// The time at which its page list was last taken in; 0 for never.
    pub listed_at: Timestamp,
    /// Whether that list was empty although pages are mirrored: such a list is held, not believed.
    pub empty_list: bool,
    /// What the config calls it, where that was its name or slug once.
    pub known_as: Vec<String>,
}

impl WorkspaceNode {
    /// Whether the config may mean it by this name.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.seen.is_called(name) || self.known_as.iter().any(|known| known == name)
    }
}

/// Blocks with their hash.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// Hash of the compact JSON.
    pub hash: ContentHash,
    /// The blocks.
    pub blocks: Blocks,
}

impl Body {
    /// The body of these blocks.
    #[must_use]
    pub fn of(blocks: Blocks) -> Self {
        Self { hash: ContentHash::of(Self::json(&blocks).as_bytes()), blocks }
    }

    /// The compact JSON that is hashed and stored.
    #[must_use]
    pub fn json(blocks: &[serde_json::Value]) -> String {
        // An array of values always prints, because keys are strings.
        serde_json::to_string(blocks).unwrap_or_default()
    }
}
