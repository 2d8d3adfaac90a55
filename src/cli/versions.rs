//! Which version of a page is meant: the changes of the log and the versions of the history have one numbering, that of the
//! changes.

use anyhow::{Context, Result, bail};

use super::acts;
use super::canvases::is_canvas;
use super::past::{Past, name_of};
use super::when;
use crate::model::{MirrorPath, Timestamp};
use crate::store::{Act, ActKind, Side, Version};

/// The version that a person means: the one after a change of the log, by its hash, or as it was at a time.
///
/// # Errors
/// One sentence, when there is none, or more than one.
pub fn find<'v>(
    past: &Past<'_>,
    versions: &'v [Version],
    at: &str,
    place: &MirrorPath,
    now: Timestamp,
) -> Result<&'v Version> {
    let Some(oldest) = versions.first() else {
        bail!("the history has no version of {place}");
    };
    let typed = at.trim();
    let number = typed.strip_prefix('#').unwrap_or(typed).parse::<i64>().ok();
    if let Some(act) = number.map(|number| past.store().act(number)).transpose()?.flatten() {
        let is_its = |version: &Version| {
            version.page.is_some() && version.page == act.page
                || is_canvas(place) && version.path.as_ref() == Some(&act.path)
        };
        if !versions.iter().any(is_its) && act.path != *place {
            let told = acts::told(&act).sentence(&act.path);
            bail!("#{} is not about {place}: {told}; espejo log PATH lists its changes", act.number);
        }
        return after(&act, versions)
            .with_context(|| format!("the text after #{} is no longer kept", act.number));
    }
    let hex = typed.to_ascii_lowercase();
    if hex.len() >= 4 && hex.chars().all(|c| c.is_ascii_hexdigit()) {
        let named = |version: &&Version| name_of(version).to_hex().starts_with(&hex);
        let mut found = versions.iter().rev().filter(named);
        if let Some(first) = found.next() {
            if found.any(|other| name_of(other) != name_of(first)) {
                bail!("{typed} matches several versions of {place}; type more digits");
            }
            return Ok(first);
        }
    }
    let Some(moment) = when::parse(typed, now) else {
        bail!(
            "{typed:?} is neither a change nor a version of {place}, nor a time; espejo log PATH lists them, and a time is like {}",
            when::EXAMPLES
        );
    };
    match versions.iter().rev().find(|version| version.at <= moment) {
        Some(found) => Ok(found),
        None => bail!("the oldest version of {place} is from {}", when::local(oldest.at)),
    }
}

/// What a page said after a change: what the change brought; after one that brings no text, what was there at its time.
#[must_use]
pub fn after<'v>(act: &Act, versions: &'v [Version]) -> Option<&'v Version> {
    let its = || versions.iter().rev().filter(|version| is_of(act, version));
    let before = |version: &&Version| version.at <= act.at;
    if act.text_after.is_none() && act.body_after.is_none() {
        return its().find(before);
    }
    let has = |version: &&Version| brought(act, version);
    // The same text may have been there more than once.
    let found = its().find(|version| has(version) && before(version)).or_else(|| its().rfind(has));
    // A text of a canvas that differed only in places has become the next one.
    let next = || its().rfind(|version| version.at >= act.at).filter(|_| is_canvas(&act.path));
    found.or_else(next)
}

/// Whether an act brought what a version says. What a page said when it was deleted is told by the deletion.
#[must_use]
pub fn brought(act: &Act, version: &Version) -> bool {
    let is_body = version.body.is_some() && version.body == act.body_after;
    let is_text = version.text.is_some() && version.text == act.text_after;
    let is_last = match version.side {
        Side::TrashHere => act.kind == ActKind::TrashedHere,
        Side::TrashThere => act.kind == ActKind::TrashedThere,
        Side::Copy => act.kind == ActKind::Copied && act.at == version.at,
        _ => false,
    };
    is_of(act, version) && (is_body || is_text || is_last)
}

/// Whether an act was on what a version is of, where both are of one place. Acts on canvases name no item.
fn is_of(act: &Act, version: &Version) -> bool {
    act.page == version.page || act.page.is_none() && is_canvas(&act.path)
}
