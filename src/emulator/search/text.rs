//! A text as the service's full-text search takes it: the stem of each word with its places, as PostgreSQL's
//! `to_tsvector` with its Spanish rules. What that cuts otherwise than between letters and digits (addresses,
//! numbers with a point, words with a hyphen) is cut there all the same.

use std::collections::BTreeMap;

use frostem::{Algorithm, Stemmer};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use super::common::is_common;
use super::rank::Weight;

/// A word's places end here, and what comes later stands there.
const LAST: u16 = 16_383;
/// So many places of one word are kept.
const PLACES: usize = 255;

/// Where a word stands, counted from 1, and what it is worth there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) at: u16,
    pub(super) weight: Weight,
}

/// A text as stems with their places.
#[derive(Debug, Default)]
pub struct Text {
    places: BTreeMap<String, Vec<Place>>,
    /// Where the next part begins.
    end: usize,
}

impl Text {
    /// One part, each of whose words is worth as much.
    #[must_use]
    pub fn new(text: &str, weight: Weight) -> Self {
        let mut all = Self::default();
        all.add(text, weight);
        all
    }

    /// One more part, whose words come after those of the others.
    pub(super) fn add(&mut self, text: &str, weight: Weight) {
        let (stems, mut last) = (stems(text), self.end);
        for (at, stem) in stems.into_iter().enumerate() {
            let Some(stem) = stem else { continue };
            last = self.end + at + 1;
            let at = u16::try_from(last).unwrap_or(LAST).min(LAST);
            let places = self.places.entry(stem).or_default();
            if places.len() < PLACES && places.last().is_none_or(|place| place.at != at) {
                places.push(Place { at, weight });
            }
        }
        self.end = last;
    }

    pub(super) fn places(&self, stem: &str) -> Option<&[Place]> {
        self.places.get(stem).map(Vec::as_slice)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many places of words it has.
    pub(super) fn len(&self) -> usize {
        self.places.values().map(Vec::len).sum()
    }

    /// How many different words it has.
    pub(super) fn different(&self) -> usize {
        self.places.len()
    }
}

/// The stem of each word, `None` where it is too common.
pub(super) fn stems(text: &str) -> Vec<Option<String>> {
    let stemmer = Stemmer::new(Algorithm::Spanish);
    let text: String = text.nfc().collect::<String>().to_lowercase();
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| (!is_common(word)).then(|| stemmer.stem(word).into_owned()))
        .collect()
}

/// The text of blocks, a line each.
pub(super) fn of_blocks(blocks: &[Value]) -> String {
    let mut lines = Vec::new();
    blocks.iter().for_each(|block| block_lines(block, &mut lines));
    lines.join("\n")
}

fn block_lines(block: &Value, lines: &mut Vec<String>) {
    let mut line = String::new();
    inline(&block["content"], &mut line);
    if !line.trim().is_empty() {
        lines.push(line);
    }
    block["children"].as_array().into_iter().flatten().for_each(|child| block_lines(child, lines));
}

/// Runs, links around runs, the cells of a table.
fn inline(value: &Value, line: &mut String) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| inline(item, line)),
        Value::Object(map) => {
            if let Some(text) = map.get("text").and_then(Value::as_str) {
                line.push_str(text);
            }
            map.get("content").into_iter().for_each(|inner| inline(inner, line));
            for row in map.get("rows").and_then(Value::as_array).into_iter().flatten() {
                for cell in row["cells"].as_array().into_iter().flatten() {
                    inline(cell, line);
                    line.push(' ');
                }
            }
        }
        _ => {}
    }
}
