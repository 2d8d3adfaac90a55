//! What users asked for with commands.

use std::collections::{BTreeSet, VecDeque};

use crate::core::ItemKey;
use crate::core::content::naming;
use crate::engine::state::activity::{Activity, Way};
use crate::model::{ContentHash, Found, MirrorPath, PageId, Put, Search, Timestamp, WorkspaceId};

/// What users requested with commands.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    pub(crate) asked: Puts,
    pub(crate) opened: Opened,
    pub(crate) searching: Searching,
    pub(crate) pulling: Pulling,
}

/// The requested changes that are not done yet, in order, and the results of the others.
#[derive(Debug, Default)]
pub(crate) struct Puts {
    pub(crate) waiting: VecDeque<Put>,
    /// The former content of the file that is being replaced.
    pub(crate) before: Option<ContentHash>,
    pub(crate) told: Vec<Result<(), String>>,
    pub(crate) only: bool,
}

impl Puts {
    /// Whether nothing else is to be done in this run.
    pub(crate) fn is_all(&self) -> bool {
        self.only
    }
}

/// What was opened recently.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    pub(crate) heard: VecDeque<Timestamp>,
    pub(crate) looks: VecDeque<Timestamp>,
    pub(crate) pages: BTreeSet<PageId>,
    pub(crate) items: BTreeSet<ItemKey>,
    /// The folder that was listed last.
    pub(crate) folder: Option<MirrorPath>,
    /// When the pages that were never fetched were put in order for it.
    pub(crate) ordered: Option<Timestamp>,
}

impl Opened {
    pub(crate) fn has_folder(&self) -> bool {
        self.folder.is_some()
    }
}

/// The searches that are not answered yet, and the results of the others.
#[derive(Debug, Default)]
pub(crate) struct Searching {
    pub(crate) waiting: VecDeque<Search>,
    pub(crate) under_way: bool,
    pub(crate) told: Vec<Result<Found, String>>,
}

/// All pulls under way.
#[derive(Debug, Default)]
pub(crate) struct Pulling {
    pub(crate) all: Vec<Pull>,
    pub(crate) last: u64,
}

/// What one pull names, until its user has got the result.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pull {
    pub(crate) number: u64,
    /// A fetch counts if it was issued after this tick.
    pub(crate) since: u64,
    /// When it was asked for: the folder is scanned once from then on.
    pub(crate) asked_at: Timestamp,
    pub(crate) places: Vec<MirrorPath>,
    /// The places at which nothing was known when it was asked for.
    pub(crate) unmet: Vec<MirrorPath>,
    pub(crate) pages: BTreeSet<PageId>,
    pub(crate) page_lists: BTreeSet<WorkspaceId>,
    /// Workspaces of which every new page is fetched too. In the others, those beneath `pages` are.
    pub(crate) whole: BTreeSet<WorkspaceId>,
    pub(crate) on_core: Vec<crate::core::request::Asked>,
    /// Stored files that came meanwhile, and the result for each.
    pub(crate) stored: Vec<(String, String)>,
    pub(crate) failed: Option<String>,
}

impl Pulling {
    pub(crate) fn is_any(&self) -> bool {
        !self.all.is_empty()
    }

    pub(crate) fn hear(&mut self, happened: &[Activity]) {
        for pull in &mut self.all {
            let stored = happened.iter().filter(|one| one.way == Way::Down && is_stored(&one.path));
            pull.stored.extend(stored.map(|one| (one.path.clone(), one.what.clone())));
        }
    }

    /// Ends the pulls because the service cannot be reached.
    pub(crate) fn fail(&mut self, why: &str) {
        for pull in &mut self.all {
            pull.failed.get_or_insert_with(|| why.to_owned());
        }
    }
}

/// Whether a path is that of a stored file.
pub(crate) fn is_stored(path: &str) -> bool {
    MirrorPath::new(path).is_ok_and(|path| naming::is_stored(&path))
}
