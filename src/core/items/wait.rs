//! Why an item waits although there is work: the only "why not now" of the core.

use crate::model::{MirrorPath, Problem, Timestamp, Unsent};
use crate::plan::guard::Guard;

/// Why an item waits. Of several reasons the first in this order counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// Its file cannot be sent or written as it is.
    Problem(Problem),
    /// Something else stands at the place of its file.
    InTheWay(MirrorPath),
    /// Its file cannot be sent as it is.
    Unsent(Unsent),
    /// It is larger than the config's limit for downloads, which is the value in bytes.
    TooLarge(u64),
    /// It belongs on another disk, which is not mounted: below this folder.
    DiskAway(MirrorPath),
    /// The disk refuses an act; the system's message.
    Disk(String),
    /// The service shows it in a list and not by itself; the service's message.
    Unreadable(String),
    /// A guard holds its removal, or the edit of its file.
    Guard(Guard),
    /// The service refused a change; its message, and the next try.
    Refusal {
        /// The service's message.
        said: String,
        /// Whether the change itself is at fault, and not the service.
        is_its_own: bool,
        /// The time of the next try.
        retry_at: Timestamp,
    },
    /// A program saves its old text over what came from the app, again and again.
    StaleEditor,
    /// Nothing may be written to its area, which has the message.
    Frozen,
}

impl Wait {
    fn rank(&self) -> u8 {
        match self {
            Self::Problem(_) => 0,
            Self::InTheWay(_) => 1,
            Self::Unsent(_) | Self::TooLarge(_) => 2,
            Self::DiskAway(_) | Self::Disk(_) => 3,
            Self::Unreadable(_) => 4,
            Self::Guard(_) => 5,
            Self::Refusal { .. } => 6,
            Self::StaleEditor => 7,
            Self::Frozen => 8,
        }
    }

    /// Of two reasons, the one that counts.
    #[must_use]
    pub fn first(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        [one, other].into_iter().flatten().min_by_key(Self::rank)
    }
}
