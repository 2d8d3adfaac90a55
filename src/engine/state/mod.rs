//! What the parts of the engine share: the state of each part, and [`Engine`], which holds all of them. Each step over
//! them is in one of the folders above.

pub(super) mod activity;
pub(super) mod answered;
pub(super) mod commands;
pub(super) mod conflicts;
pub(super) mod context;
pub(super) mod creation_guard;
pub(super) mod creations;
pub(super) mod dashboards;
pub(super) mod flight;
pub(super) mod folder;
pub(super) mod former;
pub(super) mod health;
pub(super) mod history;
pub(super) mod identity_batches;
pub(super) mod ids;
pub(super) mod ignoring;
pub(super) mod list_pace;
pub(super) mod messages;
pub(super) mod named;
pub(super) mod offload;
pub(super) mod on_core;
pub(super) mod page_counts;
pub(super) mod pages;
pub(super) mod polling;
pub(super) mod removals;
pub(super) mod request_queue;
pub(super) mod retry;
pub(super) mod trees;
pub(super) mod uncommitted;
pub(super) mod watched;
pub(super) mod zip_sorted;

pub(crate) use activity::Way;
use commands::Commands;
pub(crate) use commands::{Opened, Pull, Searching};
pub(crate) use context::Context;
pub(crate) use creation_guard::CreationGuard;
pub(crate) use dashboards::Dashboards;
pub(crate) use flight::{Choice, Flight, InFlight, OldPathSave, Purpose, Written};
pub(crate) use folder::{Folder, Root, Watching};
pub(crate) use health::Health;
pub(crate) use history::Retention;
pub(crate) use identity_batches::{Absent, IdentityBatch, IdentityBatches};
pub(crate) use messages::{AttentionList, Needs};
pub(crate) use offload::{Offload, Question};
pub(crate) use on_core::{OfCore, OnCore};
pub(crate) use pages::{Held, Pages, Parsed, RefusedFile, Refuted};
pub(crate) use polling::{FullPass, Lists, Polling};
pub(crate) use retry::Failing;
pub(crate) use trees::Trees;
use uncommitted::Uncommitted;
pub(crate) use watched::Watched;

/// The state machine. Its parts own their state; it hands an event from one to the next.
#[derive(Debug)]
pub struct Engine {
    pub(crate) cx: Context,
    pub(crate) pages: Pages,
    pub(crate) folder: Folder,
    pub(crate) uncommitted: Uncommitted,
    pub(crate) identity_batches: IdentityBatches,

    // The service.
    pub(crate) service: Health,
    pub(crate) polling: Polling,
    pub(crate) watched: Watched,

    /// Whiteboards, presentations and stored files.
    pub(crate) core: OnCore,
    pub(crate) dashboards: Dashboards,
    pub(crate) attention: AttentionList,
    pub(crate) commands: Commands,
}
