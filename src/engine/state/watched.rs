//! The searches that show which pages changed, and the words that they use.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::schedule::watch::Watch;
use crate::engine::schedule::watch::belief::{self, Belief};
use crate::engine::schedule::watch::common::Common;
use crate::engine::schedule::watch::noticed::Delays;
use crate::engine::schedule::watch::words::Counts;
use crate::model::{PageId, Timestamp};
use crate::store::{Store, StoreError};

/// Key in the store of what has been learned of the service's search.
pub const BELIEF: &str = "search_watch";
/// Key in the store of how late changes were noticed.
pub const DELAYS: &str = "noticed_after";

/// The watch, and the words that it uses.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) watch: Watch<PageId>,
    pub(crate) counts: Counts,
    /// The common words of each workspace.
    pub(crate) common: BTreeMap<String, Common>,
    pub(crate) delays: Delays,
    pub(crate) counted: BTreeSet<PageId>,
    /// Pages that have been given a word, or have none to give.
    pub(crate) tried: BTreeSet<PageId>,
    /// Pages with a word that was rare before all pages had been counted. They are watched by it once it has been checked.
    pub(crate) unchecked: BTreeMap<PageId, Box<str>>,
    /// The last page whose words were read. The search for the next ones starts there, and ends with a search among
    /// all.
    pub(crate) read_to: Option<PageId>,
    /// The number of arrivals at which all pages had been counted.
    pub(crate) counted_all: Option<u64>,
    /// The number of pages that had been counted when the words of all were checked.
    pub(crate) checked_at: usize,
    /// The number of arrivals at which all words had been checked.
    pub(crate) read_all: Option<u64>,
    pub(crate) read_at: Timestamp,
    pub(crate) kept: Belief,
    /// Whether a change was noticed since the delays were stored.
    pub(crate) noticed: bool,
    pub(crate) keep_at: Timestamp,
}

impl Watched {
    /// Opens the watch with what an earlier run has learned, and how late it noticed changes.
    pub(crate) fn open(store: &Store) -> Result<Self, StoreError> {
        let (kept, delays) = (store.meta(BELIEF)?, store.meta(DELAYS)?);
        let (kept, delays) = (kept.as_deref(), delays.as_deref());
        let kept = kept.map(belief::read).unwrap_or_default();
        Ok(Self {
            watch: Watch::new(kept),
            counts: Counts::default(),
            common: BTreeMap::new(),
            delays: delays.map(Delays::read).unwrap_or_default(),
            counted: BTreeSet::new(),
            tried: BTreeSet::new(),
            unchecked: BTreeMap::new(),
            read_to: None,
            counted_all: None,
            checked_at: 0,
            read_all: None,
            read_at: Timestamp::default(),
            kept,
            noticed: false,
            keep_at: Timestamp::default(),
        })
    }
}
