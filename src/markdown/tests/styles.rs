//! Styles side by side: many pairs, threes and fours of runs whose edges like to hide a delimiter.

use super::super::lower::lower;
use super::super::plain::same_trees;
use super::super::render;
use super::formatted::Dice;
use crate::markdown::read;
use serde_json::{Value, json};

const TEXTS: [&str; 14] =
    ["a", " -->  ", "\na", "a\n", "\n", " ", "*", "a*", "_a", ".", "a.", "(a", "<u>", "中"];

fn run(text: &str, style: usize) -> Value {
    let mut styles = json!({});
    for (at, key) in ["bold", "italic", "underline", "strike"].iter().enumerate() {
        if style & (1 << at) != 0 {
            styles[*key] = json!(true);
        }
    }
    json!({"type": "text", "text": text, "styles": styles})
}

/// Why the runs do not read back as they are.
fn wrong(runs: Vec<Value>, kind: &str) -> Option<String> {
    let block = json!({"id": "a", "type": kind, "props": {}, "content": runs, "children": []});
    let blocks = vec![block];
    let text = render(&blocks).text;
    let want = lower(&blocks).nodes;
    let have = read::read(&text, &std::collections::BTreeSet::new());
    (!same_trees(&want, &have) && !want[0].is_void()).then(|| format!("{text:?} {}", blocks[0]["content"]))
}

#[test]
fn styles_side_by_side_read_back() {
    let mut failures = Vec::new();
    let all: Vec<(usize, usize)> =
        (0..TEXTS.len()).flat_map(|text| (0..16).map(move |style| (text, style))).collect();
    let mut dice = Dice(7);
    for &(a, x) in &all {
        for &(b, y) in all.iter().skip(dice.below(5)).step_by(5) {
            failures.extend(wrong(vec![run(TEXTS[a], x), run(TEXTS[b], y)], "paragraph"));
        }
    }
    for at in 0..crate::model::tests::cases(12_000) as usize {
        let runs = (0..3 + at % 2).map(|_| {
            let (text, style) = all[dice.below(all.len())];
            run(TEXTS[text], style)
        });
        failures.extend(wrong(runs.collect(), ["paragraph", "heading", "quote"][at % 3]));
    }
    assert!(failures.is_empty(), "{}: {}", failures.len(), failures[..failures.len().min(40)].join("\n"));
}
