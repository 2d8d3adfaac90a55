//! `espejo conflicts`: what collided, where both versions are, and what each copy still has that its page has not.

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use super::list::rfc3339;
use super::output;
use super::past::{Past, words_of};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon;
use crate::markdown::{self, Allowed, front_matter};
use crate::model::MirrorPath;
use crate::store::Conflict;

/// Words that are shown around a difference.
const AROUND: usize = 3;
/// Words of one side of a difference that are shown.
const SHOWN: usize = 12;
/// Differences of one copy that are shown.
const PLACES: usize = 5;

/// One place where a copy says something else than its page.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    before: Vec<String>,
    page: Vec<String>,
    copy: Vec<String>,
    after: Vec<String>,
}

/// Lists the conflict copies.
///
/// # Errors
/// One sentence, when the state cannot be read.
pub fn run(config: &Config, as_json: bool, out: &mut dyn Write) -> Result<Exit> {
    let conflicts = match crate::store::ReadOnly::open(&config.state_dir)? {
        Some(state) => state.conflicts()?,
        None => Vec::new(),
    };
    let exit = if conflicts.is_empty() { Exit::Done } else { Exit::NeedsUser };
    if as_json {
        let all: Vec<_> = conflicts.iter().map(|conflict| conflict_json(config, conflict)).collect();
        output::json(out, &all)?;
        return Ok(exit);
    }
    if conflicts.is_empty() {
        writeln!(out, "no conflicts")?;
        return Ok(exit);
    }
    let past = Past::open(config)?;
    let now = daemon::wall_now();
    for conflict in &conflicts {
        let page = config.root.join(conflict.page_path.as_str());
        let copy = config.root.join(conflict.path.as_str());
        let ago = output::ago(now.since_ms(conflict.made_at));
        writeln!(
            out,
            "{}  {}",
            output::paint(output::NAME, &page.display().to_string()),
            output::paint(output::DIM, &ago)
        )?;
        if !conflict.summary.is_empty() {
            writeln!(out, "  {}", crate::logging::escape(&conflict.summary))?;
        }
        match places(config, conflict) {
            Some(places) if places.is_empty() && past.page_at(&conflict.page_path).is_some() => {
                writeln!(out, "  the page has all that the copy has: remove the copy")?;
            }
            Some(places) => show(&places, out)?,
            None => {}
        }
        writeln!(out, "  your version: {}", crate::logging::escape(&copy.display().to_string()))?;
    }
    writeln!(out, "Take over what you want to keep, then remove the copy: that settles it.")?;
    Ok(exit)
}

fn conflict_json(config: &Config, conflict: &Conflict) -> serde_json::Value {
    let places = places(config, conflict).unwrap_or_default();
    json!({
        "path": conflict.page_path.as_str(),
        "copy": conflict.path.as_str(),
        "made_at": rfc3339(conflict.made_at),
        "summary": conflict.summary,
        "differences": places.iter().map(|place| json!({
            "before": place.before.join(" "),
            "page": place.page.join(" "),
            "copy": place.copy.join(" "),
            "after": place.after.join(" "),
        })).collect::<Vec<_>>(),
    })
}

fn show(places: &[Place], out: &mut dyn Write) -> Result<()> {
    for place in places.iter().take(PLACES) {
        let mut line = Vec::new();
        if !place.before.is_empty() {
            line.push(output::paint(output::DIM, &place.before.join(" ")));
        }
        if !place.page.is_empty() {
            line.push(output::paint(output::BAD, &format!("[-{}-]", shortened(&place.page))));
        }
        if !place.copy.is_empty() {
            line.push(output::paint(output::GOOD, &format!("{{+{}+}}", shortened(&place.copy))));
        }
        if !place.after.is_empty() {
            line.push(output::paint(output::DIM, &place.after.join(" ")));
        }
        writeln!(out, "    {}", line.join(" "))?;
    }
    if places.len() > PLACES {
        let more = output::count((places.len() - PLACES) as u64, "more place", "more places");
        writeln!(out, "    … and {more}")?;
    }
    Ok(())
}

fn shortened(words: &[String]) -> String {
    let shown = words.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(" ");
    if words.len() > SHOWN { format!("{shown} …") } else { shown }
}

/// Where the copy, as it is now, has words that the page has not; `None` when it cannot be read.
fn places(config: &Config, conflict: &Conflict) -> Option<Vec<Place>> {
    let words = |path: &MirrorPath| {
        let text = String::from_utf8(crate::mirror::peek(&config.root, path).ok()?).ok()?;
        let body = front_matter::split(&text).map_or(text.as_str(), |split| split.body);
        Some(words_of(&markdown::parse(body, &[], &Allowed::all(), &mut String::new)))
    };
    let copy = words(&conflict.path)?;
    Some(differences(&words(&conflict.page_path).unwrap_or_default(), &copy))
}

fn differences(page: &[String], copy: &[String]) -> Vec<Place> {
    let ops = similar::capture_diff_slices(similar::Algorithm::Myers, page, copy);
    let differs = |op: &&similar::DiffOp| op.tag() != similar::DiffTag::Equal && !op.new_range().is_empty();
    ops.iter()
        .filter(differs)
        .map(|op| {
            let (old, new) = (op.old_range(), op.new_range());
            Place {
                before: copy[new.start.saturating_sub(AROUND)..new.start].to_vec(),
                page: page[old].to_vec(),
                copy: copy[new.clone()].to_vec(),
                after: copy[new.end..(new.end + AROUND).min(copy.len())].to_vec(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_copy_has_and_the_page_has_not_is_shown() {
        for (page, copy, expected) in [
            ("the plan is closed today", "the plan is open today", "the plan is [-closed-] {+open+} today\n"),
            ("one two three four five", "one two three four five", ""),
            ("a word of theirs", "a word", ""),
            ("one", "one two", "one {+two+}\n"),
            ("", "all of it is mine", "{+all of it is mine+}\n"),
            ("a b c d e f g h", "X b c d e f g Y", "[-a-] {+X+} b c d\ne f g [-h-] {+Y+}\n"),
        ] {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let mut out = anstream::StripStream::new(Vec::new());
            show(&differences(&words(page), &words(copy)), &mut out).unwrap();
            let shown = String::from_utf8(out.into_inner()).unwrap().replace("    ", "");
            assert_eq!(shown, expected, "{page} | {copy}");
        }
    }
}
