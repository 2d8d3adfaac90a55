//! What every part of the engine works with: the settings, the store, the time, and where it reports what it did.

use super::activity::Activity;
use super::conflicts::Conflicts;
use super::flight::InFlight;
use super::ids::Ids;
use super::pace::Pace;
use crate::model::{Settings, Timestamp};
use crate::store::Store;

/// Passed to the methods of the parts, which own their state but none of this.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) settings: Settings,
    pub(super) store: Store,
    pub(super) ids: Ids,
    /// The time of the event that is handled. It never goes back.
    pub(super) now: Timestamp,
    /// Counts effects issued and ended: orders observations and operations where milliseconds cannot.
    pub(super) tick: u64,
    /// The service's limit, and what of it is left.
    pub(super) pace: Pace,
    pub(super) in_flight: InFlight,
    /// What happened since the last call of [`super::Engine::take_activities`].
    pub(super) activities: Vec<Activity>,
    pub(super) conflicts: Conflicts,
}
