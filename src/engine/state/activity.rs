//! The activity report: one line for the user for each change on one side that the other side caused.

use crate::core::act::requests::TRASHED;

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
    pub(crate) fn goal(self) -> Option<&'static str> {
        match self {
            Self::Up => Some("service"),
            Self::Down => Some("folder"),
            Self::Aside => None,
        }
    }
}
