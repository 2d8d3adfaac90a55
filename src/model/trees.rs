//! The three trees: what was last seen at the service, what was last seen on disk, and what both last agreed on.
//!
//! Nodes are keyed by page id, never by path. What is stored is what was *seen*; the work is always derived again.

use super::{Blocks, ContentHash, MirrorPath, PageId, Problem, Refusal, Stamp, Timestamp, WorkspaceId};

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
    /// The local tree's entry: where its file is. The file itself is in [`LocalFile`].
    pub file: Option<MirrorPath>,
    /// Since when its file is missing; `None` while it is there or was never there.
    pub missing_since: Option<Timestamp>,
    /// Where its file was when it was last seen, if it is missing.
    pub missing_from: Option<MirrorPath>,
    /// The stem of its file name once one was chosen; kept while it goes with the title, `None` while another is due.
    pub stem: Option<String>,
    /// Whether a person has approved what a guard held for it.
    pub approved: bool,
    /// When the page was first heard of.
    pub first_seen: Timestamp,
    /// What the poll schedule knows.
    pub poll: PollState,
    /// Why it waits for a person, if it does.
    pub parked: Option<Box<Parked>>,
    /// What was there before the last push and when it was pushed: an open editor may put it back.
    pub last_push: Option<Box<LastPush>>,
}

impl Node {
    /// A page that was just heard of: no file, no base.
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

    /// What it waits for, if it does.
    #[must_use]
    pub fn hold(&self) -> Option<&Hold> {
        self.parked.as_deref().map(|parked| &parked.hold)
    }
}

/// A page as last seen at the service.
#[derive(Debug, Clone, PartialEq)]
pub struct RemotePage {
    /// Its parent.
    pub parent: Option<PageId>,
    /// Its title.
    pub title: String,
    /// Its icon.
    pub icon: Option<String>,
    /// Its order among its siblings.
    pub position: f64,
    /// Whether it is there.
    pub presence: Presence,
    /// Its body as last seen; `None` until fetched.
    pub body: Option<ContentHash>,
}

/// Whether a page is at the service. Absence from a list is only a reason to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// In the last complete list.
    Listed,
    /// Not in the last complete list, and not asked for by id since.
    Unlisted,
    /// Not in the list, but a GET still shows it.
    Hidden,
    /// Not in the list, and a GET answered 404.
    Gone,
}

impl Presence {
    /// Whether the service shows it, in a list or when asked for it.
    #[must_use]
    pub fn is_shown(self) -> bool {
        matches!(self, Self::Listed | Self::Hidden)
    }
}

/// What both sides last agreed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreed {
    /// The parent.
    pub parent: Option<PageId>,
    /// The title.
    pub title: String,
    /// The icon written to the front matter.
    pub icon: Option<String>,
    /// The blocks that the file stood for.
    pub body: ContentHash,
    /// The bytes of the file that stood for `body`; `None` when the file has not been read since.
    pub text: Option<ContentHash>,
    /// The `title` in the file's front matter then.
    pub front_title: Option<String>,
    /// Where the file was.
    pub path: MirrorPath,
    /// Where the folder of its subpages still is, while that is not `path` without `.md`.
    pub folder_at: Option<MirrorPath>,
}

/// The folder that holds the subpages of the page in `file`: the path without `.md`.
#[must_use]
pub fn folder_of(file: &MirrorPath) -> Option<MirrorPath> {
    file.parent()?.join(file.page_stem()?).ok()
}

/// A page file on disk, as last seen.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalFile {
    /// Where.
    pub path: MirrorPath,
    /// Whose, once known.
    pub page: Option<PageId>,
    /// Its metadata when last looked at.
    pub stamp: Stamp,
    /// Its content when last read; `None` while it has a change that was not read yet.
    pub hash: Option<ContentHash>,
    /// The id in its front matter.
    pub claims: Option<PageId>,
    /// The page that it is a copy of, or whose file it was before it was to become a page of its own.
    pub copied_from_page: Option<PageId>,
    /// The title in its front matter.
    pub front_title: Option<String>,
    /// Why it cannot be pushed, if it cannot.
    pub problem: Option<Problem>,
    /// Whether it was modified so shortly before it was read that an equal stamp proves nothing.
    pub racy: bool,
}

impl LocalFile {
    /// The page that its front matter speaks for: none, once it is known to be a copy of that page's file, or on the way
    /// to become a page of its own.
    #[must_use]
    pub fn claim(&self) -> Option<&PageId> {
        let is_parted =
            self.page.is_none() && self.copied_from_page.is_some() || self.claims == self.copied_from_page;
        self.claims.as_ref().filter(|_| !is_parted)
    }

    /// The file was read anew: a copy is one as long as it names the same page, and so is what is on the way to become a
    /// page of its own, whatever it names.
    pub fn keep_parted(&mut self, was: Option<&LocalFile>) {
        let stays = self.page.is_none() && was.is_some_and(|was| was.claims == self.claims);
        if self.copied_from_page != self.claims && !stays {
            self.copied_from_page = None;
        }
    }
}

/// What the poll schedule keeps of a page (see `engine::poll`).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PollState {
    /// When its body was last looked at; 0 for never.
    pub last: Timestamp,
    /// The last sign of life.
    pub life: Timestamp,
    /// How often it changed, with a half-life of 30 days.
    pub changes: f64,
    /// When `changes` was last brought up to date.
    pub changes_at: Timestamp,
    /// Milliseconds between looks while it is hot; 0 when it is not.
    pub gap_ms: i64,
}

/// Why a page waits, and for which state of things: any change to either side lets it try again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// Why.
    pub hold: Hold,
    /// The file's content then.
    pub local: Option<ContentHash>,
    /// The service's body then.
    pub remote: Option<ContentHash>,
}

/// Why a page waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// Its file went back to an earlier version, with an older copy of the folder. An approval or a change ends it.
    WentBack,
    /// What its file says would not load in the app, and why. A change ends it.
    Unloadable(String),
    /// What the page says cannot be written into its file, and why. A change ends it.
    Unwritable(String),
    /// The service refused its edit.
    Edit(Refusal),
    /// The service refused to delete it; a full pass asks again.
    Deletion(Refusal),
    /// It could not be read.
    Look(Refusal),
}

impl Hold {
    /// The refusal, where it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Edit(refusal) | Self::Deletion(refusal) | Self::Look(refusal) => Some(refusal),
            Self::WentBack | Self::Unloadable(_) | Self::Unwritable(_) => None,
        }
    }

    /// The refusal, where it is one.
    pub fn refusal_mut(&mut self) -> Option<&mut Refusal> {
        match self {
            Self::Edit(refusal) | Self::Deletion(refusal) | Self::Look(refusal) => Some(refusal),
            Self::WentBack | Self::Unloadable(_) | Self::Unwritable(_) => None,
        }
    }

    /// Whether nothing is done about it yet.
    #[must_use]
    pub fn rests(&self, now: Timestamp) -> bool {
        self.refusal().is_none_or(|refusal| refusal.rests(now))
    }

    /// As a person is told of it.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::WentBack => "its file has an earlier version, from an older copy of the folder".to_owned(),
            Self::Unloadable(why) => format!("it would not load in the app: {why}"),
            Self::Unwritable(why) => why.clone(),
            Self::Edit(refusal) | Self::Deletion(refusal) => refusal.said.clone(),
            Self::Look(refusal) => format!("it cannot be read: {}", refusal.said),
        }
    }
}

/// A push that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastPush {
    /// The service's body before it.
    pub before: ContentHash,
    /// The body that was sent.
    pub after: ContentHash,
    /// When.
    pub at: Timestamp,
    /// Whether it already is the second attempt.
    pub again: bool,
}

/// A PATCH whose outcome is not known yet: kept from before it is sent until it is settled.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingUpdate {
    /// Which page.
    pub page: PageId,
    /// The file's content that it came from.
    pub text: ContentHash,
    /// The blocks that this file stood for, with the ids minted for new ones.
    pub local: ContentHash,
    /// The service's body it was planned on.
    pub before: ContentHash,
    /// The body sent.
    pub body: ContentHash,
    /// The title sent, if any.
    pub title: Option<String>,
}

/// A workspace in the mirror.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkspaceNode {
    /// What the service says of it.
    pub seen: super::Workspace,
    /// Its folder's name.
    pub folder: String,
    /// Whether the last list of workspaces had it.
    pub present: bool,
    /// When its page list was last taken in; 0 for never.
    pub listed_at: Timestamp,
    /// Whether that list was empty although pages are mirrored: held, not believed.
    pub empty_list: bool,
    /// Why nothing is written to it, if so.
    pub read_only: Option<String>,
}

/// Blocks beside their hash.
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
        // An array of values cannot fail to print: keys are strings already.
        serde_json::to_string(blocks).unwrap_or_default()
    }
}
