//! The schedule of lists and passes.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ContentHash, PageId, Timestamp, WorkspaceId};

/// The schedule of lists, passes and background fetches.
#[derive(Debug, Default)]
pub(crate) struct Polling {
    pub(crate) lists: Lists,
    pub(crate) full_pass: Option<FullPass>,
    pub(crate) poll_slot: u64,
    /// Whose turn a background fetch is: pages', canvases' or storage's.
    pub(crate) background_turn: u8,
}

/// When lists are due and when they were last applied.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    pub(crate) workspaces_due: Timestamp,
    /// How often the list of workspaces was requested since a refusal that may depend on it.
    pub(crate) workspaces_asked: u32,
    pub(crate) workspaces_looked: u64,
    /// Workspaces in the service's order.
    pub(crate) order: Vec<WorkspaceId>,
    pub(crate) pages_due: BTreeMap<WorkspaceId, Timestamp>,
    pub(crate) pages_looked: BTreeMap<WorkspaceId, u64>,
    /// The last list of each workspace that left nothing to do: its hash, and
    /// [`crate::engine::state::trees::Trees::listing_generation`] then.
    pub(crate) taken_in: BTreeMap<WorkspaceId, (ContentHash, u64)>,
    /// Workspaces whose last list was not believed in part, because it may be older than an act of espejo since.
    pub(crate) in_doubt: BTreeSet<WorkspaceId>,
    /// A list that failed is not requested again before this time, however much depends on it.
    pub(crate) rests_until: BTreeMap<WorkspaceId, Timestamp>,
    pub(crate) workspaces_rest_until: Timestamp,
    /// Why entries of a list could not be applied, by the name of the list.
    pub(crate) trouble: BTreeMap<String, String>,
    /// Lists that failed, by name, until one is answered. The answer that nothing has changed counts.
    pub(crate) failed: BTreeMap<String, String>,
    /// Pages that another workspace's list shows than the one they are in.
    pub(crate) claimed: BTreeMap<PageId, WorkspaceId>,
    /// Pages whose new position among their siblings is not stored yet.
    pub(crate) positions: BTreeSet<PageId>,
}

/// A pass over everything, begun at the tick `since`.
#[derive(Debug)]
pub(crate) struct FullPass {
    pub(crate) since: u64,
}
