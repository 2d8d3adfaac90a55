//! What espejo did, as people say it: what `log` and `undo` share.

use anyhow::Result;

use super::history::changed_words;
use super::past::{Past, words_of};
use crate::markdown::{self, Allowed, front_matter};
use crate::model::{ContentHash, MirrorPath};
use crate::store::{Act, ActKind};

/// Who did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The user, in the folder.
    You,
    /// Anybody in the app.
    App,
    /// espejo itself.
    Espejo,
}

impl Who {
    /// As the subject of a sentence.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::You => "you",
            Self::App => "the app",
            Self::Espejo => "espejo",
        }
    }

    /// As a value in JSON.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::You => "you",
            Self::App => "app",
            Self::Espejo => "espejo",
        }
    }
}

/// An act as a sentence: who, what (a verb, before the file), and what else is to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Who.
    pub who: Who,
    /// What.
    pub verb: &'static str,
    /// What else.
    pub detail: Option<String>,
}

/// Tells an act.
#[must_use]
pub fn told(act: &Act) -> Told {
    let other = act.other.as_deref().unwrap_or_default();
    let name = || other.rsplit('/').next().unwrap_or_default();
    let (who, verb, detail) = match act.kind {
        ActKind::Sent => (Who::You, "edited", None),
        ActKind::Retitled => (Who::You, "renamed", Some(format!("was {other}"))),
        ActKind::Made => (Who::You, "added", None),
        ActKind::TrashedThere => (Who::You, "deleted", None),
        ActKind::Written => (Who::App, "added", None),
        ActKind::Updated => (Who::App, "edited", None),
        ActKind::Renamed => (Who::App, "renamed", Some(format!("was {}", name()))),
        ActKind::PutBack => (Who::Espejo, "put back", Some(format!("from {other}"))),
        ActKind::TrashedHere => (Who::App, "deleted", Some("the file is in .espejo/trash".to_owned())),
        ActKind::Copied => (Who::Espejo, "kept your version of", Some(format!("in {}", name()))),
        ActKind::Restored => (Who::You, "restored an earlier text of", None),
        ActKind::NamedBack => (Who::You, "gave the former name back to", Some(format!("was {}", name()))),
        ActKind::Elsewhere => (Who::You, "changed", Some(other.to_owned())),
        ActKind::Came => (Who::App, "changed", Some(other.to_owned())),
    };
    Told { who, verb, detail }
}

impl Told {
    /// One sentence about the file at `path`, without an end.
    #[must_use]
    pub fn sentence(&self, path: &MirrorPath) -> String {
        let detail = self.detail.as_ref().map_or_else(String::new, |detail| format!(" ({detail})"));
        format!("{} {} {path}{detail}", self.who.name(), self.verb)
    }
}

/// How many words an act added and removed; `None` where that is not known.
///
/// # Errors
/// When the state cannot be read.
pub fn word_counts(past: &Past<'_>, act: &Act) -> Result<Option<(usize, usize)>> {
    if let (ActKind::Sent | ActKind::Updated, Some(before), Some(after)) =
        (act.kind, act.body_before, act.body_after)
    {
        return Ok(Some(changed_words(&words_of(&past.body(before)?), &words_of(&past.body(after)?))));
    }
    if let (ActKind::Restored, Some(before), Some(after)) = (act.kind, act.text_before, act.text_after) {
        let (before, after) = (text_words(past, before)?, text_words(past, after)?);
        return Ok(before.zip(after).map(|(before, after)| changed_words(&before, &after)));
    }
    Ok(None)
}

fn text_words(past: &Past<'_>, hash: ContentHash) -> Result<Option<Vec<String>>> {
    let text = past.store().content(hash)?.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(text.map(|text| words_in(&text)))
}

/// The words of a page's file, without its front matter.
#[must_use]
pub fn words_in(text: &str) -> Vec<String> {
    let body = front_matter::split(text).map_or(text, |split| split.body);
    words_of(&markdown::parse(body, &[], &Allowed::all(), &mut String::new))
}
