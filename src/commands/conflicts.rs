//! `espejo conflicts`: what collided, where both versions are, and what each copy still has that its page has not.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::list::rfc3339;
use super::output;
use super::past::{Past, words_of};
use super::word_diff::{self, Place};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon;
use crate::markdown::{self, Allowed, front_matter};
use crate::model::MirrorPath;
use crate::store::Conflict;

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
            Some(places) if places.is_empty() && is_canvas(&conflict.path) => {
                writeln!(out, "  both have the same words; nodes, places, sizes or colours may differ")?;
            }
            Some(places) => word_diff::show(&places, out)?,
            None => {}
        }
        writeln!(out, "  your version: {}", crate::logging::escape(&copy.display().to_string()))?;
    }
    writeln!(
        out,
        "Settle each with espejo resolve PATH and --mine, --theirs, --both or --edit; or edit the page and remove the copy."
    )?;
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
            "page": place.old.join(" "),
            "copy": place.new.join(" "),
            "after": place.after.join(" "),
        })).collect::<Vec<_>>(),
    })
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
