//! The effects under way, and the purpose of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::schedule::pace::Class;
use crate::engine::state::offload::Question;
use crate::model::{
    ANSWER_MAX_MS, BodyJson, ContentHash, Effect, EffectId, MirrorPath, PageId, Timestamp, WorkspaceId,
};

/// An effect and its context, if there is one to issue.
pub(crate) type Choice = Option<(Effect, Purpose)>;

/// The effects under way.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    pub(crate) flights: BTreeMap<EffectId, Flight>,
    pub(crate) last_effect: u64,
    /// A write whose bytes were just made from a fresh read. It is issued next.
    pub(crate) ready: Option<(Effect, Purpose)>,
}

/// An effect under way.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) purpose: Purpose,
    pub(crate) tick: u64,
    pub(crate) sent_at: Timestamp,
    /// Whether its answer may be lost in a kill: it changes nothing on either side, or it is the first write of a
    /// page's file, which the next scan finds.
    pub(crate) is_repeatable: bool,
}

impl Flight {
    /// The time of the state that its answer shows, as nearly as is known. This is now, unless the machine slept
    /// meanwhile: the answer may have been given hours ago, so the time of sending counts.
    pub(crate) fn as_of(&self, now: Timestamp) -> Timestamp {
        if now.since_ms(self.sent_at) > ANSWER_MAX_MS { self.sent_at } else { now }
    }
}

impl InFlight {
    /// Whether an effect in the queue of disk effects is under way.
    pub(crate) fn is_at_the_disk(&self) -> bool {
        self.flights.values().any(|flight| flight.purpose.is_disk())
    }

    /// Whether an effect with exactly this purpose is under way.
    pub(crate) fn is_under_way(&self, purpose: &Purpose) -> bool {
        self.flights.values().any(|flight| flight.purpose == *purpose)
    }

    pub(crate) fn requests_under_way(&self) -> usize {
        self.flights.values().filter(|flight| flight.purpose.is_request()).count()
    }

    pub(crate) fn is_busy(&self, page: &PageId) -> bool {
        self.flights.values().any(|flight| flight.purpose.page() == Some(page))
            || self.ready.as_ref().is_some_and(|(_, purpose)| purpose.page() == Some(page))
    }
}

/// Why an effect was issued, with the data that its answer needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Purpose {
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
    Dashboard(MirrorPath, crate::engine::state::dashboards::Act),
    /// A read whose bytes are then changed by [`crate::engine::act::step`] and written back.
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
    Core(crate::engine::state::on_core::OfCore),

    /// Long work for a page, on a worker thread.
    Work {
        page: PageId,
        question: Question,
    },
}

/// The content of a page's file after a write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Written {
    pub(crate) text: ContentHash,
    pub(crate) body: ContentHash,
    pub(crate) icon: Option<Arc<str>>,
    pub(crate) front_title: Option<Arc<str>>,
    pub(crate) claims: Option<PageId>,
    /// Whether the file is new.
    pub(crate) new: bool,
    /// The content of the file, if it has edits beyond `body` that may not be sent.
    pub(crate) own: Option<BodyJson>,
}

impl Purpose {
    pub(crate) fn is_request(&self) -> bool {
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
    pub(crate) fn is_disk(&self) -> bool {
        !self.is_request() && !matches!(self, Self::Core(of) if of.is_beside)
    }

    /// Changes the path of a creation whose file or folder was moved.
    pub(crate) fn follow_creations(&mut self, moved: &BTreeMap<MirrorPath, MirrorPath>) {
        if let Self::Create { path } = self
            && let Some(to) = moved.get(path)
        {
            path.clone_from(to);
        }
    }

    /// The page that no other effect may touch meanwhile.
    pub(crate) fn page(&self) -> Option<&PageId> {
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

    pub(crate) fn class(&self) -> Class {
        match self {
            Self::ListWorkspaces | Self::ListPages(_) => Class::List,
            Self::Fetch { class, .. } => *class,
            Self::Search => Class::Asked,
            Self::Watch { .. } => Class::Background,
            Self::Core(of) => of.class,
            _ => Class::Edit,
        }
    }

    pub(crate) fn reserve(&self) -> u32 {
        match self {
            Self::Fetch { reserve, .. } => *reserve,
            _ => 0,
        }
    }
}

/// A name for traces; no content.
pub(crate) fn name_of(effect: &Effect) -> &'static str {
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

/// What a program saved at the old path of a page's file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OldPathSave {
    pub(crate) page: PageId,
    pub(crate) old: MirrorPath,
    pub(crate) text: ContentHash,
    /// What is written into the page's file.
    pub(crate) written: ContentHash,
}
