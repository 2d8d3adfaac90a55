//! What every part of the engine uses: the settings, the store, the time, the effects under way, and the activity
//! report.

use crate::engine::schedule::pace::Pace;
use crate::engine::state::activity::{Activity, Way};
use crate::engine::state::conflicts::Conflicts;
use crate::engine::state::flight::InFlight;
use crate::engine::state::ids::Ids;
use crate::engine::state::removals::Deletions;
use crate::model::{MirrorPath, Settings, Timestamp};
use crate::store::Store;

/// Passed to the methods of the parts. The parts own their state, but nothing of this.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) settings: Settings,
    pub(crate) store: Store,
    pub(crate) ids: Ids,
    /// The time of the current event. It never goes back.
    pub(crate) now: Timestamp,
    /// Counts effects issued and ended: orders observations and operations that milliseconds cannot order.
    pub(crate) tick: u64,
    /// The service's request limit, and the permits left.
    pub(crate) pace: Pace,
    pub(crate) in_flight: InFlight,
    /// Activity since the last call of [`crate::engine::state::Engine::take_activities`].
    pub(crate) activities: Vec<Activity>,
    pub(crate) conflicts: Conflicts,
    /// What is gone from the folder, and the guard that holds it.
    pub(crate) deletions: Deletions,
}

impl Context {
    pub(crate) fn log_activity(&mut self, way: Way, path: &MirrorPath, what: impl Into<String>) {
        let what = what.into();
        tracing::info!(path = %path, to = way.goal(), "{what}");
        self.activities.push(Activity { way, path: path.to_string(), what });
    }
}
