//! Why a stored file, or the list of a folder, does not get on. Values: a sentence is made where it is shown.

use crate::model::{DiskError, DownloadError, ServiceError};
use crate::plan::filenames::Unsendable;

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

/// Why a local file is not uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unsent {
    /// It came back with an older copy of the folder.
    Returned,
    /// Its folder is not at the service.
    NoFolder,
    /// The service takes no such file.
    Unsendable(Unsendable),
    /// The service refused it, and said this.
    Refused(String),
    /// The service made a file of so many bytes of so many others.
    Cut { made: u64, sent: u64 },
}

impl Unsent {
    /// What is wrong, as the end of a sentence.
    pub(super) fn why(&self) -> String {
        match self {
            Self::Returned => {
                "it comes from an older copy of the folder, and may have been deleted since".to_owned()
            }
            Self::NoFolder => {
                "its folder does not exist at the service, and the API cannot create folders".to_owned()
            }
            Self::Unsendable(why) => why.to_string(),
            Self::Refused(said) => format!("the service refuses it: {said}"),
            Self::Cut { made, sent } => format!("the service stored {made} bytes instead of {sent}"),
        }
    }

    /// What the user can do.
    pub(super) fn mend(&self) -> &'static str {
        match self {
            Self::Returned => "delete it, or run espejo approve to send it",
            Self::NoFolder => "create the folder in the app; the file is then sent",
            Self::Unsendable(why) => why.mend(),
            Self::Refused(_) => "fix that, or change the file",
            Self::Cut { .. } => {
                "check that file in the app; this file is sent again when it changes or is approved"
            }
        }
    }
}
