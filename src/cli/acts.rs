//! What espejo did, as people say it: what `log` and `undo` share.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;

use super::canvases::is_canvas;
use super::past::is_of;
use super::word_diff::changed_words;
use super::{WrongUsage, here, output, when};
use crate::cli::past::{Past, words_in, words_of};
use crate::core::act::disk::FROM_APP;
use crate::daemon;
use crate::model::{ContentHash, MirrorPath, PageId, Timestamp};
use crate::store::{Act, ActKind, Version};

/// What a person is told when an old text of a canvas is put back.
pub const ANEW: &str = "elements that are gone at the service are made anew, with new ids";

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
        ActKind::Restored => match other.split_once(' ') {
            Some(("undid", number)) => (Who::You, "undid a change in", Some(number.to_owned())),
            Some(("resolved", how)) => (Who::You, "resolved", Some(how.to_owned())),
            _ => (Who::You, "restored", None),
        },
        ActKind::NamedBack => (Who::You, "gave the former name back to", Some(format!("was {}", name()))),
        ActKind::Elsewhere => (Who::You, "changed", Some(in_words(other))),
        ActKind::Came => (Who::App, "changed", (other != FROM_APP).then(|| in_words(other))),
    };
    Told { who, verb, detail }
}

/// `new node ×2, node removed` as `2 new nodes, node removed`.
fn in_words(other: &str) -> String {
    let in_words = |part: &str| match part.split_once(" ×") {
        Some((what, number)) => {
            let plural = |noun: &str| what.contains(noun).then(|| what.replace(noun, &format!("{noun}s")));
            format!(
                "{number} {}",
                plural("node").or_else(|| plural("slide")).unwrap_or_else(|| what.to_owned())
            )
        }
        None => part.to_owned(),
    };
    other.split(", ").map(in_words).collect::<Vec<_>>().join(", ")
}

impl Told {
    /// One sentence about the file at `path`, without an end.
    #[must_use]
    pub fn sentence(&self, path: &MirrorPath) -> String {
        let detail = self.detail.as_ref().map_or_else(String::new, |detail| format!(" ({detail})"));
        format!("{} {} {}{detail}", self.who.name(), self.verb, here::shown(path.as_str()))
    }
}

/// Which acts are meant.
pub struct Filter {
    place: Option<(MirrorPath, Option<PageId>)>,
    since: Option<Timestamp>,
}

impl Filter {
    /// What a person typed: a place, and a time.
    ///
    /// # Errors
    /// [`WrongUsage`] for a time that is none; one sentence for a place outside the mirror.
    pub fn new(past: &Past<'_>, path: Option<&Path>, since: Option<&str>) -> Result<Self> {
        let since = since.map(moment).transpose()?;
        let place = path.map(|path| place(past, path)).transpose()?;
        Ok(Self { place, since })
    }

    /// Whether an act is meant.
    #[must_use]
    pub fn takes(&self, act: &Act) -> bool {
        let is_here = self
            .place
            .as_ref()
            .is_none_or(|(place, page)| is_of(place, &act.path) || (page.is_some() && *page == act.page));
        is_here && self.is_since(act.at)
    }

    /// Whether a moment is not before the time that was typed.
    #[must_use]
    pub fn is_since(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| at >= since)
    }

    /// The place, where it is a page's or a canvas's and not all of the mirror.
    #[must_use]
    pub fn page(&self) -> Option<&MirrorPath> {
        let (place, _) = self.place.as_ref()?;
        (place.page_stem().is_some() || is_canvas(place)).then_some(place)
    }
}

/// The moment that `--since` means.
fn moment(typed: &str) -> Result<Timestamp> {
    when::parse_since(typed, daemon::wall_now()).ok_or_else(|| {
        WrongUsage(format!("--since cannot be {typed:?}; a time is like {}", when::EXAMPLES)).into()
    })
}

/// The place that was typed, with the page that has, or had, its file there.
///
/// # Errors
/// One sentence, when it is not in the mirror.
pub fn place(past: &Past<'_>, typed: &Path) -> Result<(MirrorPath, Option<PageId>)> {
    let place = past.place(typed)?;
    past.known(&place)?;
    let page = past.page_at(&place).map(|node| node.id.clone());
    Ok((place, page))
}

/// The acts that are meant, newest first.
///
/// # Errors
/// One sentence, when the state cannot be read.
pub fn filtered(past: &Past<'_>, filter: &Filter) -> Result<Vec<Act>> {
    let mut all = past.store().acts_after(0)?;
    all.retain(|act| filter.takes(act));
    Ok(all)
}

/// The act of a number that was typed, with or without `#`.
///
/// # Errors
/// One sentence, when there is none.
pub fn numbered(past: &Past<'_>, number: i64) -> Result<Act> {
    match past.store().act(number)? {
        Some(act) => Ok(act),
        None => bail!("the log has no entry #{number}; espejo log lists the entries"),
    }
}

/// Whether a page's change was sent because of the act before it: a page was made for the file, or what is sent is what a command
/// wrote into it. The log shows both as one, and `undo` takes both back.
///
/// # Errors
/// When the state cannot be read.
pub fn is_sent_for(past: &Past<'_>, sent: &Act, first: &Act) -> Result<bool> {
    let Some(page) = sent.page.as_ref().filter(|_| first.kind == ActKind::Restored) else {
        return Ok(first.kind == ActKind::Made);
    };
    let is_it = |version: &Version| version.text == first.text_after && version.body == sent.body_after;
    Ok(past.store().versions_of(page)?.iter().any(is_it))
}

/// The act that a person means by this one: what it was sent for.
///
/// # Errors
/// When the state cannot be read.
pub fn origin(past: &Past<'_>, act: Act) -> Result<Act> {
    if act.kind != ActKind::Sent || act.page.is_none() {
        return Ok(act);
    }
    let is_before = |other: &Act| other.number < act.number && other.page == act.page;
    match past.store().acts_after(0)?.into_iter().find(is_before) {
        Some(first) if is_sent_for(past, &act, &first)? => Ok(first),
        _ => Ok(act),
    }
}

/// Words that came and went, as `+2 -1`.
#[must_use]
pub fn counts(added: usize, removed: usize) -> String {
    let some = |number: usize, sign: char, style| {
        (number > 0).then(|| output::paint(style, &format!("{sign}{}", output::grouped(number as u64))))
    };
    let both = [some(added, '+', output::GOOD), some(removed, '-', output::BAD)];
    let both: Vec<String> = both.into_iter().flatten().collect();
    if both.is_empty() { output::paint(output::DIM, "same words") } else { both.join(" ") }
}

/// An act for programs.
#[must_use]
pub fn as_json(act: &Act, words: Option<(usize, usize)>) -> serde_json::Value {
    let Told { who, verb, detail } = told(act);
    json!({
        "number": act.number,
        "at": when::rfc3339(act.at),
        "who": who.key(),
        "what": verb,
        "detail": detail,
        "path": act.path.as_str(),
        "page": act.page.as_ref().map(PageId::as_str),
        "words_added": words.map(|(added, _)| added),
        "words_removed": words.map(|(_, removed)| removed),
    })
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
    let has_texts = matches!(act.kind, ActKind::Restored | ActKind::Elsewhere | ActKind::Came);
    if let (true, Some(before), Some(after)) = (has_texts, act.text_before, act.text_after) {
        let (before, after) = (text_words(past, &act.path, before)?, text_words(past, &act.path, after)?);
        return Ok(before.zip(after).map(|(before, after)| changed_words(&before, &after)));
    }
    Ok(None)
}

fn text_words(past: &Past<'_>, path: &MirrorPath, hash: ContentHash) -> Result<Option<Vec<String>>> {
    Ok(past.kept_text(hash)?.map(|text| words_in(path, &text)))
}
