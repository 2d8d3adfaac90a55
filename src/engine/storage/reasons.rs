//! Why a stored file, or the list of a folder, makes no progress. These are values; the sentence is made where it is
//! shown.

use crate::model::{DiskError, DownloadError, ServiceError};
use crate::plan::stored::Decision;

/// Why a stored file makes no progress, once that persists.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    #[error("the service lists it, but has no content for it")]
    NoContent,
    #[error("no link for it: {0}")]
    NoLink(ServiceError),
    #[error("it cannot be downloaded: {0}")]
    NotDownloaded(DownloadError),
    #[error("it cannot be read: {0}")]
    NotRead(DiskError),
    #[error("{0}")]
    NotPlaced(DiskError),
    #[error("it cannot be moved to the service's trash: {0}")]
    NotTrashed(ServiceError),
}

impl Trouble {
    /// Whether it is over, as `decision` does not try again what failed.
    pub(super) fn is_over(&self, decision: Decision) -> bool {
        let on_disk = [Decision::Place, Decision::Move, Decision::SetAside, Decision::Discard];
        match self {
            Self::NoContent | Self::NoLink(_) | Self::NotDownloaded(_) => decision != Decision::Fetch,
            Self::NotPlaced(_) => !on_disk.contains(&decision),
            Self::NotRead(_) | Self::NotTrashed(_) => decision == Decision::Rest,
        }
    }
}

/// Why a folder cannot be listed completely.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotListed {
    #[error("{0}")]
    Failing(ServiceError),
    /// The number of unreadable entries, and the problem of the first one.
    #[error("{0} entries: {1}")]
    Entries(usize, String),
}
