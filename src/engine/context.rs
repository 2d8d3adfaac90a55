//! What every part of the engine uses: the settings, the store, the time, the effects under way, and the activity
//! report.

use super::activity::Activity;
use super::conflicts::Conflicts;
use super::flight::InFlight;
use super::ids::Ids;
use super::pace::Pace;
use super::removals::Deletions;
use crate::model::{Settings, Timestamp};
use crate::store::Store;

/// Passed to the methods of the parts. The parts own their state, but nothing of this.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) settings: Settings,
    pub(super) store: Store,
    pub(super) ids: Ids,
    /// The time of the current event. It never goes back.
    pub(super) now: Timestamp,
    /// Counts effects issued and ended: orders observations and operations that milliseconds cannot order.
    pub(super) tick: u64,
    /// The service's request limit, and the permits left.
    pub(super) pace: Pace,
    pub(super) in_flight: InFlight,
    /// Activity since the last call of [`super::Engine::take_activities`].
    pub(super) activities: Vec<Activity>,
    pub(super) conflicts: Conflicts,
    /// What is gone from the folder, and the guard that holds it.
    pub(super) deletions: Deletions,
}
