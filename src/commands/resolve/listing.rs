//! What collided, where both versions are, and what each copy still has that its page has not; and the lines that were taken for
//! formatting.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::past::{Past, words_of};
use crate::cli::when::rfc3339;
use crate::cli::word_diff::Place;
use crate::cli::{Exit, output, session, word_diff};
use crate::config::Config;
use crate::daemon;
use crate::markdown::{self, Allowed, front_matter};
use crate::model::{Attention, Code, MirrorPath};
use crate::store::{Conflict, ReadOnly};

/// Lists what is at `path` and beneath it, or everything.
///
/// # Errors
/// One sentence, when the path is not in the mirror or the state cannot be read.
pub(super) fn run(config: &Config, path: Option<&Path>, as_json: bool, out: &mut dyn Write) -> Result<Exit> {
    let place = path.map(|path| session::place(config, path)).transpose()?;
    let is_meant = |path: &MirrorPath| place.as_ref().is_none_or(|place| path.is_within(place));
    let (mut conflicts, mut differing) = (Vec::new(), Vec::new());
    if let Some(state) = ReadOnly::open(&config.state_dir)? {
        conflicts = state.conflicts()?;
        conflicts.retain(|conflict| is_meant(&conflict.page_path) || is_meant(&conflict.path));
        differing = state.attention()?;
        differing.retain(|need| {
            need.code == Code::Difference && MirrorPath::new(&need.path).is_ok_and(|path| is_meant(&path))
        });
    }
    let exit = if conflicts.is_empty() { Exit::Done } else { Exit::NeedsUser };
    if as_json {
        let conflicts = conflicts.iter().map(|conflict| conflict_json(config, conflict));
        let all: Vec<_> = conflicts.chain(differing.iter().map(difference_json)).collect();
        output::json(out, &all)?;
        return Ok(exit);
    }
    if conflicts.is_empty() && differing.is_empty() {
        writeln!(out, "nothing collided, and nothing differs")?;
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
            Some(places) if places.is_empty() && is_canvas(&conflict.path) => {
                writeln!(out, "  both have the same words; nodes, places, sizes or colours may differ")?;
            }
            Some(places) => word_diff::show(&places, out)?,
            None => {}
        }
        writeln!(out, "  your version: {}", crate::logging::escape(&copy.display().to_string()))?;
    }
    for need in &differing {
        output::need(out, need.level(), &need.path, &need.reason, &need.action)?;
    }
    if !conflicts.is_empty() {
        let how = "Settle each with espejo resolve PATH and --mine, --theirs, --both or --edit; or edit the page and remove the copy.";
        output::say(out, how)?;
    }
    Ok(exit)
}

fn conflict_json(config: &Config, conflict: &Conflict) -> serde_json::Value {
    let places = places(config, conflict).unwrap_or_default();
    json!({
        "kind": "conflict",
        "path": conflict.page_path.as_str(),
        "copy": conflict.path.as_str(),
        "made_at": rfc3339(conflict.made_at),
        "summary": conflict.summary,
        "differences": places.iter().map(|place| json!({
            "before": place.before.join(" "),
            "page": place.old.join(" "),
            "copy": place.new.join(" "),
            "after": place.after.join(" "),
        })).collect::<Vec<_>>(),
    })
}

/// A line that was taken for formatting.
fn difference_json(need: &Attention) -> Value {
    json!({ "kind": "difference", "path": need.path, "reason": need.reason, "action": need.action })
}

fn is_canvas(path: &MirrorPath) -> bool {
    path.name().ends_with(".canvas")
}

/// The words of the nodes of a canvas, in the order of the nodes' ids; `None` if it is no canvas.
fn words_of_canvas(text: &str) -> Option<Vec<String>> {
    let canvas: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    let mut nodes: Vec<(&str, &str)> = canvas["nodes"]
        .as_array()?
        .iter()
        .filter_map(|node| node["id"].as_str().zip(node["text"].as_str()))
        .collect();
    nodes.sort_unstable();
    Some(nodes.iter().flat_map(|(_, text)| text.split_whitespace()).map(str::to_owned).collect())
}

/// Where the copy, as it is now, has words that the page has not; `None` when it cannot be read.
fn places(config: &Config, conflict: &Conflict) -> Option<Vec<Place>> {
    let words = |path: &MirrorPath| {
        let text = String::from_utf8(crate::mirror::peek(&config.root, path).ok()?).ok()?;
        if is_canvas(path) {
            return words_of_canvas(&text);
        }
        let body = front_matter::split(&text).map_or(text.as_str(), |split| split.body);
        Some(words_of(&markdown::parse(body, &[], &Allowed::all(), &mut String::new)))
    };
    let copy = words(&conflict.path)?;
    Some(word_diff::additions(&words(&conflict.page_path).unwrap_or_default(), &copy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_canvas_the_words_are_those_of_its_nodes() {
        let text = r#"{"nodes":[{"id":"b","text":"two  words","x":0},{"id":"c","file":"a.png"},{"id":"a","text":"one"}]}"#;
        assert_eq!(words_of_canvas(text), Some(vec!["one".to_owned(), "two".to_owned(), "words".to_owned()]));
        assert_eq!(words_of_canvas("{"), None);
    }
}
