//! The effects under way, and the purpose of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::offload::Question;
use super::old_paths::OldPathSave;
use super::pace::Class;
use crate::model::{
    ANSWER_MAX_MS, BodyJson, ContentHash, Effect, EffectId, MirrorPath, PageId, Timestamp, WorkspaceId,
};

/// An effect and its context, if there is one to issue.
pub(super) type Choice = Option<(Effect, Purpose)>;

/// The effects under way.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    pub(super) flights: BTreeMap<EffectId, Flight>,
    pub(super) last_effect: u64,
    /// A write whose bytes were just made from a fresh read. It is issued next.
    pub(super) ready: Option<(Effect, Purpose)>,
}

/// An effect under way.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) purpose: Purpose,
    pub(super) tick: u64,
    pub(super) sent_at: Timestamp,
    /// Whether its answer may be lost in a kill: it changes nothing on either side, or it is the first write of a
    /// page's file, which the next scan finds.
    pub(super) is_repeatable: bool,
}

impl Flight {
    /// The time of the state that its answer shows, as nearly as is known. This is now, unless the machine slept
    /// meanwhile: the answer may have been given hours ago, so the time of sending counts.
    pub(super) fn as_of(&self, now: Timestamp) -> Timestamp {
        if now.since_ms(self.sent_at) > ANSWER_MAX_MS { self.sent_at } else { now }
    }
}

impl InFlight {
    /// Whether an effect in the queue of disk effects is under way.
    pub(super) fn is_at_the_disk(&self) -> bool {
        self.flights.values().any(|flight| flight.purpose.is_disk())
    }

    /// Whether an effect with exactly this purpose is under way.
    pub(super) fn is_under_way(&self, purpose: &Purpose) -> bool {
        self.flights.values().any(|flight| flight.purpose == *purpose)
    }

    pub(super) fn requests_under_way(&self) -> usize {
        self.flights.values().filter(|flight| flight.purpose.is_request()).count()
    }

    pub(super) fn is_busy(&self, page: &PageId) -> bool {
        self.flights.values().any(|flight| flight.purpose.page() == Some(page))
            || self.ready.as_ref().is_some_and(|(_, purpose)| purpose.page() == Some(page))
    }
}

/// Why an effect was issued, with the data that its answer needs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Purpose {
    ListWorkspaces,
    ListPages(WorkspaceId),
    Fetch {
        page: PageId,
        class: Class,
        reserve: u32,
    },
    Create {
        path: MirrorPath,
    },
    Update {
        page: PageId,
    },
    TrashPage {
        page: PageId,
    },

    Scan,
    Read {
        path: MirrorPath,
    },
    /// Anything about a generated file of a dashboard page.
    Dashboard(MirrorPath, super::dashboards::Act),
    /// A read whose bytes are then changed by [`super::act`] and written back.
    ReadToSplice {
        page: PageId,
        path: MirrorPath,
    },
    /// A read whose bytes go into a conflict copy.
    ReadToCopy {
        page: PageId,
        path: MirrorPath,
        summary: String,
    },
    Write {
        page: PageId,
        path: MirrorPath,
        written: Written,
    },
    WriteCopy {
        page: PageId,
        copy: MirrorPath,
        beside: MirrorPath,
        text: ContentHash,
        summary: String,
    },
    /// The file itself becomes the conflict copy.
    SetAside {
        page: PageId,
        from: MirrorPath,
        to: MirrorPath,
        then_gone: bool,
    },
    Relocate {
        page: PageId,
        from: MirrorPath,
        to: MirrorPath,
        reverts_move: bool,
    },
    MoveFolder {
        page: PageId,
        from: MirrorPath,
        to: MirrorPath,
    },
    TrashFile {
        page: PageId,
        path: MirrorPath,
    },
    RemoveFolder {
        path: MirrorPath,
    },
    /// The write of what was saved at an old path, and then the removal of what is there.
    OldPathSave(OldPathSave),
    /// A read before a change that the user requested. `Asked` is that change.
    ReadAsked,
    Asked,
    /// A search that the user requested.
    Search,
    /// A search that shows which of a group of pages changed.
    Watch {
        group: usize,
    },

    /// Anything of an item of the core.
    Core(super::on_core::OfCore),

    /// Long work for a page, on a worker thread.
    Work {
        page: PageId,
        question: Question,
    },
}

/// The content of a page's file after a write.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    pub(super) text: ContentHash,
    pub(super) body: ContentHash,
    pub(super) icon: Option<Arc<str>>,
    pub(super) front_title: Option<Arc<str>>,
    pub(super) claims: Option<PageId>,
    /// Whether the file is new.
    pub(super) new: bool,
    /// The content of the file, if it has edits beyond `body` that may not be sent.
    pub(super) own: Option<BodyJson>,
}

impl Purpose {
    pub(super) fn is_request(&self) -> bool {
        if let Self::Core(of) = self {
            return of.is_request;
        }
        matches!(
            self,
            Self::ListWorkspaces
                | Self::ListPages(_)
                | Self::Fetch { .. }
                | Self::Create { .. }
                | Self::Update { .. }
                | Self::TrashPage { .. }
                | Self::Search
                | Self::Watch { .. }
        )
    }

    /// Whether it runs in the queue of disk effects.
    pub(super) fn is_disk(&self) -> bool {
        !self.is_request() && !matches!(self, Self::Core(of) if of.is_beside)
    }

    /// Changes the path of a creation whose file or folder was moved.
    pub(super) fn follow_creations(&mut self, moved: &BTreeMap<MirrorPath, MirrorPath>) {
        if let Self::Create { path } = self
            && let Some(to) = moved.get(path)
        {
            path.clone_from(to);
        }
    }

    /// The page that no other effect may touch meanwhile.
    pub(super) fn page(&self) -> Option<&PageId> {
        match self {
            Self::Fetch { page, .. }
            | Self::Update { page }
            | Self::TrashPage { page }
            | Self::ReadToSplice { page, .. }
            | Self::ReadToCopy { page, .. }
            | Self::Write { page, .. }
            | Self::WriteCopy { page, .. }
            | Self::SetAside { page, .. }
            | Self::Relocate { page, .. }
            | Self::MoveFolder { page, .. }
            | Self::TrashFile { page, .. }
            | Self::OldPathSave(OldPathSave { page, .. })
            | Self::Work { page, .. } => Some(page),
            _ => None,
        }
    }

    pub(super) fn class(&self) -> Class {
        match self {
            Self::ListWorkspaces | Self::ListPages(_) => Class::List,
            Self::Fetch { class, .. } => *class,
            Self::Search => Class::Asked,
            Self::Watch { .. } => Class::Background,
            Self::Core(of) => of.class,
            _ => Class::Edit,
        }
    }

    pub(super) fn reserve(&self) -> u32 {
        match self {
            Self::Fetch { reserve, .. } => *reserve,
            _ => 0,
        }
    }
}

/// A name for traces; no content.
pub(super) fn name_of(effect: &Effect) -> &'static str {
    match effect {
        Effect::ListWorkspaces => "list workspaces",
        Effect::ListPages { .. } => "list pages",
        Effect::FetchPage(_) => "get page",
        Effect::CreatePage { .. } => "create page",
        Effect::UpdatePage { .. } => "update page",
        Effect::TrashPage(_) => "trash page",
        Effect::Board(_) => "whiteboards or presentations",
        Effect::Search(_) => "search",
        Effect::Scan => "scan",
        Effect::ReadFile(_) => "read file",
        Effect::WriteFile { .. } => "write file",
        Effect::Rename { .. } => "rename",
        Effect::TrashFile { .. } => "trash file",
        Effect::RemoveFolder(_) => "remove folder",
        Effect::Storage(effect) => effect.name(),
        Effect::Work(_) => "work",
    }
}
