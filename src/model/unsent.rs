//! Why a local file is not uploaded. The state keeps it as JSON.

use serde::{Deserialize, Serialize};

/// Why the service accepts no such file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
pub enum Unsendable {
    /// It has more bytes than the API accepts.
    #[error("it is {:.1} MB; the service accepts files up to 3 MB", *.0 as f64 / 1_000_000.0)]
    TooLarge(u64),
    /// Its name has more characters than the API accepts.
    #[error("its name has more than 255 characters")]
    LongName,
    /// It is of a kind that the service refuses, according to this extension.
    #[error("the service refuses files that end with .{0}")]
    Ending(String),
}

impl Unsendable {
    /// What the user can do.
    #[must_use]
    pub fn mend(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "upload it in the app; this file stays as it is",
            Self::LongName => "give it a shorter name",
            Self::Ending(_) => "put it into a .zip file, or keep it here only",
        }
    }
}

/// Why a local file is not uploaded; shown as the end of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
pub enum Unsent {
    /// It came back with an older copy of the folder.
    #[error("it comes from an older copy of the folder, and may have been deleted since")]
    Returned,
    /// Its folder does not exist at the service.
    #[error("its folder does not exist at the service, and the API cannot create folders")]
    NoFolder,
    /// The service accepts no such file.
    #[error("{0}")]
    Unsendable(Unsendable),
    /// The service refused it, with this message.
    #[error("the service refuses it: {0}")]
    Refused(String),
    /// The service created a file of another size.
    #[error("the service stored {made} bytes instead of {sent}")]
    Cut {
        /// The bytes of the created file.
        made: u64,
        /// The sent bytes.
        sent: u64,
    },
}

impl Unsent {
    /// What the user can do.
    #[must_use]
    pub fn mend(&self) -> &'static str {
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
