//! `espejo history`: every version of a page that was seen, from either side.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;

use super::list::rfc3339;
use super::output;
use super::past::{Past, may_have_versions, name_of};
use super::when;
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon;
use crate::model::edits;
use crate::store::{Side, Version};

/// Lists the versions of a page, newest first.
///
/// # Errors
/// One sentence, when there are none or the state cannot be read.
pub fn run(config: &Config, path: &Path, as_json: bool, out: &mut dyn Write) -> Result<Exit> {
    let past = Past::open(config)?;
    let place = past.one_place(path)?;
    let versions = past.versions(&place)?;
    if versions.is_empty() && !may_have_versions(&place) {
        bail!(
            "only pages have versions, and {place} is none; what was replaced or removed here is in .espejo/trash"
        );
    }
    if versions.is_empty() {
        bail!("the history has no version of {place}; espejo list shows what is mirrored");
    }
    let mut rows = Vec::with_capacity(versions.len());
    let mut before = Vec::new();
    for version in &versions {
        let words = past.words(version)?;
        rows.push((version, changed_words(&before, &words)));
        before = words;
    }
    rows.reverse();
    if as_json {
        let all: Vec<_> = rows.iter().map(|(version, words)| version_json(version, *words)).collect();
        output::json(out, &all)?;
        return Ok(Exit::Done);
    }
    let now = daemon::wall_now();
    let width = versions.last().map_or(1, |version| version.number.to_string().len());
    for (version, (added, removed)) in rows {
        let number = format!("{:>1$}", format!("#{}", version.number), width + 1);
        let hash = &name_of(version).to_hex()[..8];
        let mut words = String::new();
        if added > 0 {
            words.push_str(&output::paint(output::GOOD, &format!("+{}", output::grouped(added as u64))));
        }
        if removed > 0 {
            let gap = if words.is_empty() { "" } else { " " };
            words.push_str(gap);
            words.push_str(&output::paint(output::BAD, &format!("-{}", output::grouped(removed as u64))));
        }
        if words.is_empty() {
            words = output::paint(output::DIM, "same words");
        }
        let moved = version.path.as_ref().filter(|was| **was != place);
        let moved = moved
            .map_or_else(String::new, |was| format!("  (then {})", crate::logging::escape(was.as_str())));
        writeln!(
            out,
            "{}  {}  {}  {}  {:<13} {words}{moved}",
            output::paint(output::NAME, &number),
            when::local(version.at),
            output::paint(output::DIM, &format!("{:>12}", output::ago(now.since_ms(version.at)))),
            output::paint(output::DIM, hash),
            side_name(version),
        )?;
    }
    Ok(Exit::Done)
}

/// Where a version was seen, in a word or two.
#[must_use]
pub fn side_name(version: &Version) -> &'static str {
    match (version.side, version.sent) {
        (Side::Service, _) => "service",
        (Side::File, false) => "file",
        (Side::File, true) => "file, sent",
        (Side::Merged, _) => "merged, sent",
        (Side::Copy, _) => "conflict copy",
        (Side::TrashHere | Side::TrashThere, _) => "trashed",
    }
}

fn version_json(version: &Version, (added, removed): (usize, usize)) -> serde_json::Value {
    json!({
        "number": version.number,
        "at": rfc3339(version.at),
        "side": match version.side {
            Side::Service => "service",
            Side::File => "file",
            Side::Merged => "merged",
            Side::Copy => "conflict-copy",
            Side::TrashHere => "trash-here",
            Side::TrashThere => "trash-there",
        },
        "sent": version.sent || version.side == Side::Merged,
        "words_added": added,
        "words_removed": removed,
        "hash": name_of(version).to_hex(),
        "path": version.path.as_ref().map(ToString::to_string),
        "title": version.title,
        "page": version.page.as_ref().map(ToString::to_string),
    })
}

/// How many words came and went.
#[must_use]
pub fn changed_words(old: &[String], new: &[String]) -> (usize, usize) {
    let ops = edits(old, new);
    let (mut added, mut removed) = (0, 0);
    for op in ops.iter().filter(|op| op.tag() != similar::DiffTag::Equal) {
        added += op.new_range().len();
        removed += op.old_range().len();
    }
    (added, removed)
}
