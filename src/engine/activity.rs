//! The activity report: one line for the user for each change on one side that the other side caused.

use super::Engine;
use super::context::Context;
use crate::core::act::requests::TRASHED;
use crate::model::MirrorPath;

/// One line for the user: something changed on one side because of the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// Which way.
    pub way: Way,
    /// The file.
    pub path: String,
    /// What, in a few words.
    pub what: String,
}

/// Whether these words of an activity say that the item is in the service's trash.
#[must_use]
pub fn says_trashed(what: &str) -> bool {
    what.ends_with(TRASHED)
}

/// Which way a change went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the folder to the service.
    Up,
    /// From the service to the folder.
    Down,
    /// Neither: something was put back, or a conflict copy was made.
    Aside,
}

impl Way {
    /// The side that changed, for the log; `None` for what was put back or copied.
    pub(super) fn goal(self) -> Option<&'static str> {
        match self {
            Self::Up => Some("service"),
            Self::Down => Some("folder"),
            Self::Aside => None,
        }
    }
}

impl Engine {
    /// Activity since the last call, for the user.
    pub fn take_activities(&mut self) -> Vec<Activity> {
        let happened = std::mem::take(&mut self.cx.activities);
        self.commands.pulling.hear(&happened);
        happened
    }
}

impl Context {
    pub(super) fn log_activity(&mut self, way: Way, path: &MirrorPath, what: impl Into<String>) {
        let what = what.into();
        tracing::info!(path = %path, to = way.goal(), "{what}");
        self.activities.push(Activity { way, path: path.to_string(), what });
    }
}
