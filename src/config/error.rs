//! Why a config is refused. Each is one sentence for a person; none holds a value that could be a token.

use std::io;

/// A config that cannot be used. The user acts next (exit code 2).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No config file was named and none is at the usual places.
    #[error("there is no config at {looked}; run espejo init, or name another file with --config")]
    Missing {
        /// The places looked at, in order, joined by "or".
        looked: String,
    },
    /// The file is named but cannot be read.
    #[error("the config {file} cannot be read: {cause}; {mend}")]
    Unreadable {
        /// Which.
        file: String,
        /// Why, in the operating system's words where there are no better ones.
        cause: String,
        /// What to do.
        mend: &'static str,
    },
    /// A line is not as it must be.
    #[error("{file} line {line}: {what}")]
    Line {
        /// Which file.
        file: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong and how to mend it.
        what: String,
    },
    /// Something is missing from the file, or from the environment it is read in.
    #[error("{file}: {what}")]
    Whole {
        /// Which file.
        file: String,
        /// What is missing and how to mend it.
        what: String,
    },
}

impl ConfigError {
    pub(super) fn unreadable(file: &str, error: &io::Error) -> Self {
        let (cause, mend) = match error.kind() {
            io::ErrorKind::NotFound => {
                ("there is no such file".to_owned(), "name the right one with --config")
            }
            io::ErrorKind::IsADirectory => ("it is a folder".to_owned(), "name the file in it with --config"),
            io::ErrorKind::PermissionDenied => ("permission denied".to_owned(), "make it readable for you"),
            _ => (error.to_string(), "name another with --config"),
        };
        Self::Unreadable { file: file.to_owned(), cause, mend }
    }

    /// Whether there is no config yet.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }

    /// Whether it is about the value of one of these keys, or that it is missing.
    #[must_use]
    pub fn is_about(&self, keys: &[&str]) -> bool {
        let (Self::Line { what, .. } | Self::Whole { what, .. }) = self else { return false };
        keys.iter().any(|key| what.strip_prefix(key).is_some_and(|rest| rest.starts_with(' ')))
    }

    pub(super) fn at(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self::Line { file: file.to_owned(), line, what: what.into() }
    }

    pub(super) fn whole(file: &str, what: impl Into<String>) -> Self {
        Self::Whole { file: file.to_owned(), what: what.into() }
    }
}
