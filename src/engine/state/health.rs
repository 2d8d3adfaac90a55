//! Whether the service answers, refuses all, or is paused.

use crate::model::{ServiceError, Timestamp};

/// The state of the service.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The token is refused: nothing but a probe is sent.
    pub(crate) stopped: Option<ServiceError>,
    /// A request was answered as if the token were refused, or the service were not at its address: the list of workspaces, which
    /// is asked for at once, shows whether it is so.
    pub(crate) is_in_doubt: bool,
    /// When the list of workspaces last ended a doubt.
    pub(crate) vouched_at: Timestamp,
    /// Since when the user has paused espejo.
    pub(crate) paused: Option<Timestamp>,
    /// The service cannot be reached, or fails everything.
    pub(crate) down: Option<String>,
    /// Consecutive failures of anything but the watch's searches.
    pub(crate) failures: u32,
    pub(crate) quiet_until: Timestamp,
    /// When the last rest after failures began.
    pub(crate) rests_since: Timestamp,
    /// Whether a request has succeeded since this process began.
    pub(crate) answered: bool,
    /// What mends it, while no request has succeeded and the list of workspaces was not answered as an API answers.
    pub(crate) misdirected: Option<&'static str>,
    /// What was answered with 403 since the last success: the list of workspaces, and a list of pages.
    pub(crate) refused: (bool, bool),
}
