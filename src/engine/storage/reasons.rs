//! Why a stored file, or the list of a folder, makes no progress. These are values; the sentence is made where it is
//! shown.

use crate::model::{DiskError, DownloadError, ServiceError};

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
    /// Whether it is over once the file needs no download.
    pub(super) fn is_of_download(&self) -> bool {
        matches!(self, Self::NoContent | Self::NoLink(_) | Self::NotDownloaded(_))
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
