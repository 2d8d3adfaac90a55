//! Why a file cannot be sent as it is, and the form of this reason in the state.

use serde::{Deserialize, Serialize};

use super::{Attention, Code, MirrorPath, Side};

/// The remedy that a message about a fault of espejo names.
pub const INTERNAL_MEND: &str = "report the line of the log that names the place in the source; espejo retries when the file or the page changes";

/// Why a file cannot be sent as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Problem {
    /// It is empty, or has front matter only, and the item that it belongs to has content.
    Emptied,
    /// It begins a construct and never closes it, and the construct would swallow blocks of its page.
    Unclosed {
        /// The unclosed construct.
        what: String,
        /// The line of the file in which it begins.
        line: usize,
    },
    /// A merge of git left its marks in it, and its page has none there.
    MergeMarks {
        /// The line of the file with the first mark.
        line: usize,
    },
    /// It names an inline item, as a mention, of a kind that its workspace has, and no page there ever had this one.
    UnknownItem {
        /// The address by which it names the item.
        label: String,
        /// The line of the file.
        line: usize,
    },
    /// It is not UTF-8.
    NotText,
    /// It holds NUL characters. A file system leaves them where bytes were not on the disk yet when the machine stopped.
    Nul,
    /// Its front matter is broken.
    FrontMatter {
        /// The line of the file.
        line: usize,
        /// The front matter parser's message.
        why: String,
    },
    /// It names the page of another file, which cannot be read.
    HiddenClaim(MirrorPath),
    /// Its text is no canvas, or a canvas that cannot be created; the canvas parser's message.
    Canvas(String),
    /// The system could not read it; the system's message.
    Unread(String),
    /// A step that reads it failed by a fault of espejo.
    Internal,
}

impl Problem {
    /// Whether the user may intend it, and approve it.
    #[must_use]
    pub fn may_be_meant(&self) -> bool {
        matches!(
            self,
            Self::Emptied | Self::Unclosed { .. } | Self::MergeMarks { .. } | Self::UnknownItem { .. }
        )
    }

    /// Whether only what the present page holds shows whether it is one; of a new file it is none.
    #[must_use]
    pub fn is_measured_by_its_page(&self) -> bool {
        self.may_be_meant() && !matches!(self, Self::MergeMarks { .. } | Self::UnknownItem { .. })
    }

    /// Its name in the state, and the value that goes with it.
    #[must_use]
    pub fn to_row(&self) -> (&'static str, String) {
        match self {
            Self::Emptied => ("emptied", String::new()),
            Self::Unclosed { what, line } => ("unclosed", format!("{line} {what}")),
            Self::MergeMarks { line } => ("merge-marks", line.to_string()),
            Self::UnknownItem { label, line } => ("unknown-item", format!("{line} {label}")),
            Self::NotText => ("not-text", String::new()),
            Self::Nul => ("nul", String::new()),
            Self::FrontMatter { line, why } => ("front-matter", format!("{line} {why}")),
            Self::HiddenClaim(path) => ("hidden-claim", path.to_string()),
            Self::Canvas(why) => ("canvas", why.clone()),
            Self::Unread(why) => ("unread", why.clone()),
            Self::Internal => ("internal", String::new()),
        }
    }

    /// The inverse of [`Problem::to_row`]; `None` if no version of this program wrote the row.
    #[must_use]
    pub fn from_row(name: &str, with: String) -> Option<Self> {
        let numbered = |with: &str| {
            let (line, text) = with.split_once(' ')?;
            Some((line.parse::<usize>().ok()?, text.to_owned()))
        };
        Some(match name {
            "emptied" => Self::Emptied,
            "unclosed" => numbered(&with).map(|(line, what)| Self::Unclosed { what, line })?,
            "merge-marks" => Self::MergeMarks { line: with.parse().ok()? },
            "unknown-item" => numbered(&with).map(|(line, label)| Self::UnknownItem { label, line })?,
            "not-text" => Self::NotText,
            "nul" => Self::Nul,
            "front-matter" => numbered(&with).map(|(line, why)| Self::FrontMatter { line, why })?,
            "hidden-claim" => Self::HiddenClaim(MirrorPath::new(&with).ok()?),
            "canvas" => Self::Canvas(with),
            "unread" => Self::Unread(with),
            "internal" => Self::Internal,
            _ => return None,
        })
    }

    /// One of each kind.
    #[cfg(test)]
    pub(crate) fn each() -> Vec<Self> {
        let path = MirrorPath::new("S/Pages/A in line 3.md").unwrap();
        vec![
            Self::Emptied,
            Self::Unclosed { what: "comment".to_owned(), line: 12 },
            Self::MergeMarks { line: 7 },
            Self::UnknownItem { label: "#mention-1a2b3c4d".to_owned(), line: 4 },
            Self::NotText,
            Self::Nul,
            Self::FrontMatter { line: 3, why: "two: colons".to_owned() },
            Self::HiddenClaim(path.clone()),
            Self::Canvas("the node a has no x".to_owned()),
            Self::Unread("no permission".to_owned()),
            Self::Internal,
        ]
    }

    /// The message for the user. `of` names the kind of the file: a page or a canvas.
    #[must_use]
    pub fn sentence(&self, of: &str) -> String {
        match self {
            Self::Emptied => format!("it is empty, but its {of} is not"),
            Self::Unclosed { what, line } => {
                format!("the {what} in line {line} is never closed, so it contains the rest of the file")
            }
            Self::MergeMarks { line } => format!("git left merge marks in it, from line {line} on"),
            Self::UnknownItem { label, line } => {
                format!("{label} in line {line} stands for nothing that this workspace has")
            }
            Self::NotText => "it is not UTF-8 text".to_owned(),
            Self::Nul => "it holds NUL characters, which no text has".to_owned(),
            Self::FrontMatter { line, why } => format!("the front matter is broken in line {line}: {why}"),
            Self::HiddenClaim(path) => format!("it names the page of {path}, which cannot be read"),
            Self::Internal => Side::File.sentence().to_owned(),
            Self::Canvas(why) | Self::Unread(why) => why.clone(),
        }
    }

    /// The message to the user about a file at `path` that is not sent; `of`: what it states.
    #[must_use]
    pub fn attention(&self, path: &str, of: &str) -> Attention {
        let mend = match self {
            Self::Internal => return Attention::new(Code::Internal, path, self.sentence(of), INTERNAL_MEND),
            Self::MergeMarks { .. } => "resolve the merge, or run espejo approve PATH, if you intend this",
            Self::UnknownItem { .. } => {
                "remove the link, or copy it from a page of this workspace; or run espejo approve PATH, and it is sent as text"
            }
            meant if meant.may_be_meant() => {
                "repair the file (or run espejo approve, if you intend this); the service's version is safe"
            }
            _ => "repair the file; the service's version is safe",
        };
        Attention::new(Code::NotSent, path, format!("not sent: {}", self.sentence(of)), mend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_comes_back_from_its_row() {
        for problem in Problem::each() {
            let (name, with) = problem.to_row();
            assert_eq!(Problem::from_row(name, with), Some(problem));
        }
        assert_eq!(Problem::from_row("unclosed", "no number".to_owned()), None);
        assert_eq!(Problem::from_row("it is empty now", String::new()), None);
    }
}
