//! Errors at the edges, sorted by who acts next.

use super::MirrorPath;

/// Who acts next after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// espejo tries the same again later, after a back-off.
    TryLater,
    /// The request was based on an old state: fetch, then plan again.
    LookAgain,
    /// This item waits and needs the user; everything else continues.
    Park,
    /// All writing (or everything) stops and needs the user.
    Stop,
}

/// A request to the service that failed (API document, "Errors"). Texts never hold a token or a signed link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// Nothing reached the service: no network, no name, connection refused.
    #[error("the service cannot be reached: {0}")]
    Unreachable(String),
    /// The request may have been carried out, but its answer was lost: time-out, reset, connection closed.
    #[error("the service cannot be reached (no answer): {0}")]
    Lost(String),
    /// 429.
    #[error("the service refuses further requests for now")]
    RateLimited {
        /// From a `Retry-After` header, in milliseconds, if there was one.
        retry_after_ms: Option<i64>,
    },
    /// 5xx. For a write, it is unknown whether it was carried out.
    #[error("the service failed with status {status}: {message}")]
    Server {
        /// The HTTP status.
        status: u16,
        /// The service's message.
        message: String,
    },
    /// 401: the token is bad.
    #[error("the service refuses the token: {0}")]
    Unauthorized(String),
    /// 403: plan, scope or role.
    #[error("the service forbids it: {0}")]
    Forbidden(String),
    /// 404: it does not exist, is in the trash, or the caller may not see or change it.
    #[error("the service does not show it: {0}")]
    NotFound(String),
    /// 400, 413 and every other 4xx, and redirects, which are not followed.
    #[error("the service rejects it (status {status}): {message}")]
    Rejected {
        /// The HTTP status.
        status: u16,
        /// The service's message.
        message: String,
    },
    /// 400 with the code `content_not_editable`: the element has no text that may be changed.
    #[error("the service rejects its text (status 400): {0}")]
    NotEditable(String),
    /// A successful status with a body that cannot be parsed: a proxy's page, a wrong type, too big, too deep.
    #[error("the answer is invalid: {0}")]
    Garbled(String),
}

/// How the reason begins where something in between answers instead of the service.
pub const ASKS_FOR_LOGIN: &str = "this network asks for a login";

impl ServiceError {
    /// Who acts next.
    #[must_use]
    pub fn next(&self) -> Next {
        match self {
            Self::Unreachable(_) | Self::RateLimited { .. } | Self::Server { .. } => Next::TryLater,
            Self::Lost(_) | Self::NotFound(_) => Next::LookAgain,
            Self::Forbidden(_) | Self::Rejected { .. } | Self::NotEditable(_) | Self::Garbled(_) => {
                Next::Park
            }
            Self::Unauthorized(_) => Next::Stop,
        }
    }

    /// What mends it, if an answer like this shows that the address may not be the API's.
    #[must_use]
    pub fn mend_of_address(&self) -> Option<&'static str> {
        match self {
            Self::Server { status: 404, .. } | Self::NotFound(_) | Self::Rejected { .. } => {
                Some("correct base_url; it usually ends with /api/v1")
            }
            Self::Lost(why) | Self::Unreachable(why) if why.starts_with(ASKS_FOR_LOGIN) => {
                Some("then run the command again")
            }
            Self::Garbled(_) => Some(
                "sign in to this network if it asks for a login; check that base_url is the API's address, and that no proxy changes the answers",
            ),
            _ => None,
        }
    }

    /// Whether a write that ended like this may have been carried out.
    #[must_use]
    pub fn may_have_happened(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Server { .. } | Self::Garbled(_))
    }
}

/// A read or an act in the folder that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// The entry is not what the act expected; nothing was changed.
    #[error("{0} has changed")]
    Changed(MirrorPath),
    /// The entry does not exist.
    #[error("{0} does not exist")]
    Missing(MirrorPath),
    /// Another entry is at the place to write to; nothing was changed.
    #[error("{0} exists already")]
    Exists(MirrorPath),
    /// The path leads through a symbolic link or out of the root, or ends at an entry that is no ordinary file.
    #[error("{0} is not an ordinary file inside the mirror")]
    NotOrdinary(MirrorPath),
    /// No permission, or a read-only folder.
    #[error("no permission for {0}: {1}")]
    Denied(MirrorPath, String),
    /// No space (or quota) left.
    #[error("no space left for {0}: {1}")]
    Full(MirrorPath, String),
    /// Over 64 MiB: no page is that large.
    #[error("{0} is too large for a page ({1} bytes)")]
    TooLarge(MirrorPath, u64),
    /// The root is missing, has no marker, or has another mirror's marker: nothing may be written.
    #[error("the mirror's root is not ready: {0}")]
    RootNotReady(String),
    /// Anything else.
    #[error("{0}: {1}")]
    Io(MirrorPath, String),
}

impl DiskError {
    /// Whether nothing was written. After another failure of a write, the new text may be in its place.
    #[must_use]
    pub fn changed_nothing(&self) -> bool {
        matches!(
            self,
            Self::Changed(_) | Self::Missing(_) | Self::Exists(_) | Self::Denied(..) | Self::Full(..)
        )
    }
}
