//! How the service's full-text search takes a query and a text, by the API document ("Search", rule 2) and, where that is
//! silent, as the text search of PostgreSQL does with its Spanish rules: stems, words too common to count, `OR` in
//! any case, a phrase that is not closed goes to the end, and what a match is worth by number and nearness.

use frostem::{Algorithm, Stemmer};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

/// Words that say nothing by themselves.
const COMMON: &str = " a al algo ante aquel aquella aquello así aun aunque cada como con contra cual cuando cuyo de del \
    desde donde durante e el él ella ellas ello ellos en entre era eran es esa esas ese eso esos esta está están estas este \
    esto estos fue fueron ha había han has hasta hay he la las le les lo los mas más me mi mis mucho muy nada ni no nos \
    nosotros nuestra nuestro o os otra otro para pero poco por porque pues que qué quien se sea según ser si sí sido sin \
    sobre son su sus también tanto te tiene tienen todo todos tu tú tus u un una unas uno unos y ya yo ";

/// What one occurrence is worth.
const WEIGHT: f64 = 0.1;

/// What is searched for: one of several groups, each of terms that must all be there or must not be.
pub(super) struct Query(Vec<Vec<Term>>);

/// Stems that stand one after the other, each with its distance from the first.
struct Term {
    stems: Vec<(usize, String)>,
    excluded: bool,
}

/// A text as stems with their places.
pub(super) struct Text(Vec<Option<String>>);

impl Text {
    pub(super) fn new(text: &str) -> Self {
        Self(stems(text))
    }

    /// Where a term begins.
    fn places(&self, term: &Term) -> Vec<usize> {
        let fits = |at: &usize| {
            term.stems.iter().all(|(away, stem)| {
                self.0.get(at + away).and_then(Option::as_ref).is_some_and(|found| found == stem)
            })
        };
        (0..self.0.len()).filter(fits).collect()
    }
}

impl Query {
    pub(super) fn new(asked: &str) -> Self {
        let mut groups = vec![Vec::new()];
        let mut rest = asked;
        loop {
            rest = rest.trim_start();
            let excluded = rest.starts_with('-') && rest.len() > 1;
            let body = if excluded { &rest[1..] } else { rest };
            let Some(first) = body.chars().next() else { break };
            let (words, after) = if first == '"' {
                body[1..].split_once('"').unwrap_or((&body[1..], ""))
            } else {
                let end = body.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(body.len());
                body.split_at(end)
            };
            rest = after;
            if first != '"' && !excluded && words.eq_ignore_ascii_case("or") {
                groups.push(Vec::new());
                continue;
            }
            let all = stems(words);
            let start = all.iter().position(Option::is_some).unwrap_or(0);
            let stems: Vec<(usize, String)> = all
                .into_iter()
                .enumerate()
                .filter_map(|(at, stem)| stem.map(|stem| (at - start, stem)))
                .collect();
            if let (false, Some(group)) = (stems.is_empty(), groups.last_mut()) {
                group.push(Term { stems, excluded });
            }
        }
        groups.retain(|group| !group.is_empty());
        Self(groups)
    }

    /// What the text is worth; `None` when it does not match. `by_length`: a longer text is worth less.
    pub(super) fn relevance(&self, text: &Text, by_length: bool) -> Option<f64> {
        let worth = self.0.iter().filter_map(|group| group_worth(group, text)).reduce(f64::max)?;
        Some(if by_length { worth / (1.0 + (text.0.len() as f64).ln_1p()) } else { worth })
    }
}

fn group_worth(group: &[Term], text: &Text) -> Option<f64> {
    let mut found = Vec::new();
    for term in group {
        let places = text.places(term);
        if places.is_empty() != term.excluded {
            return None;
        }
        if !term.excluded {
            found.push(places);
        }
    }
    Some(match found.as_slice() {
        [] => 0.0,
        // Each further occurrence adds less: the sum of 1/n² has this bound.
        [one] => {
            (1..=one.len()).map(|n| WEIGHT / (n * n) as f64).sum::<f64>() * 6.0 / std::f64::consts::PI.powi(2)
        }
        several => {
            let mut left = 1.0;
            for (at, first) in several.iter().enumerate() {
                for second in &several[at + 1..] {
                    for (a, b) in first.iter().flat_map(|a| second.iter().map(move |b| (a, b))) {
                        left *= 1.0 - WEIGHT * nearness(a.abs_diff(*b));
                    }
                }
            }
            1.0 - left
        }
    })
}

/// Close to 1 for neighbours, and nothing worth speaking of from a hundred words on.
fn nearness(words: usize) -> f64 {
    if words > 100 { 1e-30 } else { 1.0 / (1.005 + 0.05 * (words as f64 / 1.5 - 2.0).exp()) }
}

/// The stem of each word, `None` where it is too common.
fn stems(text: &str) -> Vec<Option<String>> {
    let stemmer = Stemmer::new(Algorithm::Spanish);
    let text: String = text.nfc().collect::<String>().to_lowercase();
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| (!COMMON.contains(&format!(" {word} "))).then(|| stemmer.stem(word).into_owned()))
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
