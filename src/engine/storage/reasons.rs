//! Why a stored file, or the list of a folder, does not get on. Values: a sentence is made where it is shown.

use crate::model::{DiskError, DownloadError, ServiceError};

/// Why a stored file does not get on, once that has been so for a while.
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

/// Why not all of a folder can be listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotListed {
    #[error("{0}")]
    Failing(ServiceError),
    /// So many entries cannot be read, and what is wrong with the first of them.
    #[error("{0} entries: {1}")]
    Entries(usize, String),
}
