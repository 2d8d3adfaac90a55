//! Files as people and formatters leave them: what changes no meaning is no edit (law 2), and a change that comes
//! down touches the lines of its own block only (law 4).

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::allowed::Known;
use super::super::lower::lower;
use super::super::parse::matched;
use super::super::plain::{Node, same_trees};
use super::super::{patch, read as reader, render};
use super::corpus::documents;
use super::generate::page;
use super::{ids, read};
use crate::markdown::{Allowed, with_new_ids};

/// Numbers that look random and are the same on every run.
pub(super) struct Dice(pub u64);

impl Dice {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

/// Indentation and quote signs, and the list markers after them.
fn lead(line: &str) -> (&str, &str) {
    let rest = line.trim_start_matches([' ', '>']);
    let lead = &line[..line.len() - rest.len()];
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let marker = match rest.as_bytes() {
        [b'-' | b'*' | b'+', b' ', ..] => 2,
        [b'#', ..] => 0,
        bytes if digits > 0 && bytes.get(digits) == Some(&b'.') && bytes.get(digits + 1) == Some(&b' ') => {
            digits + 2
        }
        _ => 0,
    };
    (lead, &rest[..marker])
}

const WAYS: usize = 18;

/// One way of writing the same thing otherwise; `None` where this line has no such way.
fn rewritten(line: &str, way: usize, next: Option<&str>, dice: &mut Dice) -> Option<String> {
    let (lead, marker) = lead(line);
    let rest = &line[lead.len() + marker.len()..];
    let heading = rest.starts_with('#');
    match way {
        0 if marker == "- " => Some(format!("{lead}* {rest}")),
        1 if rest.len() > 2 && rest.starts_with("# ") => {
            Some(format!("{lead}{marker}{}\n{lead}===", &rest[2..]))
        }
        2 if rest.len() > 3 && rest.starts_with("## ") => {
            Some(format!("{lead}{marker}{}\n{lead}---", &rest[3..]))
        }
        3 if heading => Some(format!("{line} ##")),
        4 => Some(line.replace("**", "__")),
        5 => Some(line.replace('*', "_").replace("__", "**")),
        6 if !line.ends_with('\\') && !line.is_empty() => Some(format!("{line} ")),
        7 if heading => Some(line.replacen("# ", "#   ", 1)),
        8 if !line.is_empty() => {
            next.filter(|next| !super::formatted::lead(next).1.is_empty()).map(|_| format!("{line}\n"))
        }
        9 if marker.ends_with(". ") => Some(format!("{lead}1. {rest}")),
        10 if marker.ends_with(". ") => Some(format!("{lead}{}) {rest}", &marker[..marker.len() - 2])),
        11 | 12 if !heading && !rest.starts_with('<') => {
            // A to-do's box keeps its text beside it: readers do not agree on one without.
            let beside = |at: &usize| !rest[..*at].ends_with(']');
            let spaces: Vec<usize> = rest.match_indices(' ').map(|(at, _)| at).filter(beside).collect();
            let at = *spaces.get(dice.below(spaces.len()))?;
            let indent =
                if way == 11 { format!("{lead}{:width$}", "", width = marker.len()) } else { String::new() };
            Some(format!("{lead}{marker}{}\n{indent}{}", &rest[..at], &rest[at + 1..]))
        }
        13 if line.ends_with('\\') => Some(format!("{}   ", &line[..line.len() - 1])),
        14 => line.contains("[x]").then(|| line.replacen("[x]", "[X]", 1)),
        15 if lead.ends_with("> ") => Some(format!("{}{marker}{rest}", lead.trim_end())),
        16 if !line.is_empty() && !rest.starts_with('<') && marker.is_empty() && lead.is_empty() => {
            Some(format!("  {line}"))
        }
        17 if rest.contains("<br>") => Some(line.replace("<br>", "<br />")),
        _ => None,
    }
}

/// The same text with ways chosen by the dice, as far as they mean the same to a Markdown reader.
fn formatted(text: &str, items: &BTreeSet<String>, dice: &mut Dice) -> String {
    let meaning = reader::read(text, items);
    let mut text = text.to_owned();
    for _ in 0..1 + dice.below(4) {
        let way = dice.below(WAYS);
        let share = 1 + dice.below(3);
        let lines: Vec<&str> = text.lines().collect();
        let mut out = String::new();
        for (at, line) in lines.iter().enumerate() {
            let other =
                rewritten(line, way, lines.get(at + 1).copied(), dice).filter(|_| dice.below(share) == 0);
            out.push_str(other.as_deref().unwrap_or(line));
            out.push('\n');
        }
        if same_trees(&reader::read(&out, items), &meaning) {
            text = out;
        }
    }
    for way in 0..5 {
        let other = match (way, dice.below(4)) {
            (0, 0) => text.replace('\n', "\r\n"),
            (1, 0) => format!("\u{feff}{text}"),
            (2, 0) => format!("\n\n{text}"),
            (3, 0) => format!("{text}\n\n"),
            (4, 0) => text.trim_end_matches(['\r', '\n']).to_owned(),
            _ => continue,
        };
        if same_trees(&reader::read(&other, items), &meaning) {
            text = other;
        }
    }
    text
}

fn count(blocks: &[Value]) -> usize {
    blocks.iter().map(|block| 1 + block["children"].as_array().map_or(0, |list| count(list))).sum()
}

/// Does something to the list and place of the chosen block, counted in preorder.
fn at_block(
    blocks: &mut Vec<Value>,
    chosen: &mut usize,
    act: &mut dyn FnMut(&mut Vec<Value>, usize),
) -> bool {
    for at in 0..blocks.len() {
        if *chosen == 0 {
            act(blocks, at);
            return true;
        }
        *chosen -= 1;
        if let Some(Value::Array(children)) = blocks[at].get_mut("children")
            && at_block(children, chosen, act)
        {
            return true;
        }
    }
    false
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Text,
    Kind,
    Colour,
    Delete,
    Insert,
}

fn changed(blocks: &[Value], chosen: usize, change: Change) -> Vec<Value> {
    let mut new = blocks.to_vec();
    at_block(&mut new, &mut { chosen }, &mut |list, at| {
        let block = &mut list[at];
        match change {
            Change::Text => block["content"] = json!([{"type": "text", "text": "said anew", "styles": {}}]),
            Change::Kind => {
                let other = if block["type"] == "quote" { "paragraph" } else { "quote" };
                block["type"] = json!(other);
            }
            Change::Colour => block["props"]["textColor"] = json!("red"),
            Change::Delete => drop(list.remove(at)),
            Change::Insert => list.insert(
                at,
                json!({
                "id": "inserted", "type": "paragraph",
                "props": {"textColor": "default", "backgroundColor": "default", "textAlignment": "left"},
                "content": [{"type": "text", "text": "put between", "styles": {}}], "children": []}),
            ),
        }
    });
    new
}

fn all_say_something(blocks: &[Value]) -> bool {
    blocks.iter().all(|block| {
        let texts = block["content"].as_array().into_iter().flatten().filter_map(|run| run["text"].as_str());
        texts.collect::<String>().contains(char::is_alphanumeric)
            && all_say_something(block["children"].as_array().map_or(&[], |list| list))
    })
}

fn is_only_child(blocks: &[Value], chosen: usize) -> bool {
    let mut alone = false;
    at_block(&mut blocks.to_vec(), &mut { chosen }, &mut |list, _| alone = list.len() == 1);
    alone
}

/// Whether the number of what follows may have to change with it.
fn before_number(blocks: &[Value], chosen: usize) -> bool {
    let mut found = false;
    at_block(&mut blocks.to_vec(), &mut { chosen }, &mut |list, at| {
        found = list[at..].iter().take(2).any(|block| block["type"] == "numberedListItem");
    });
    found
}

fn flat<'a>(nodes: &'a [Node], out: &mut Vec<&'a Node>) {
    for node in nodes {
        out.push(node);
        flat(&node.children, out);
    }
}

/// What is around the lines of the chosen block; `whole` takes what lies beneath it as well. Nothing for a blank line.
fn around<'t>(text: &'t str, blocks: &[Value], chosen: usize, whole: bool) -> (&'t str, &'t str) {
    let (nodes, _) = matched(text, lower(blocks), &Known::new(&Allowed::documented(), &[]));
    let mut all = Vec::new();
    flat(&nodes, &mut all);
    let Some(node) = all.iter().find(|node| node.base == Some(chosen) && !node.blank) else {
        return ("", "");
    };
    let from = text[..node.at.start].rfind('\n').map_or(0, |at| at + 1);
    let end = if whole { node.end.max(node.at.end) } else { node.at.end };
    let to = text[end..].find('\n').map_or(text.len(), |at| end + at);
    (&text[..from], &text[to..])
}

/// Checks both laws for a text that stands for `blocks`.
fn check(text: &str, blocks: &[Value], dice: &mut Dice) -> Result<(), String> {
    let back = read(text, blocks);
    if back != blocks {
        return Err(format!("silence: {text}\n{}\n{}", json!(back), json!(blocks)));
    }
    let total = count(blocks);
    for change in [Change::Text, Change::Kind, Change::Colour, Change::Delete, Change::Insert] {
        if total == 0 {
            continue;
        }
        let chosen = dice.below(total);
        // Without its only child a block is written without the two comments around it.
        if change == Change::Delete && is_only_child(blocks, chosen) {
            continue;
        }
        if matches!(change, Change::Delete | Change::Insert | Change::Kind) && before_number(blocks, chosen) {
            continue;
        }
        let new = changed(blocks, chosen, change);
        let patched = patch(text, blocks, &new);
        let back = read(&patched, &new);
        if back != new {
            return Err(format!(
                "{change:?} {chosen}:\n{text}\n----\n{patched}\n{}\n{}",
                json!(back),
                json!(new)
            ));
        }
        let whole = matches!(change, Change::Delete | Change::Insert | Change::Kind);
        let (before, after) = around(text, blocks, chosen, whole);
        let fits = match change {
            Change::Colour => patched == text,
            _ if before.len() + after.len() < text.len() => {
                patched.starts_with(before.trim_end_matches(['\n', '\r']))
                    && patched.ends_with(after.trim_start_matches(['\n', '\r']))
            }
            // A blank line.
            _ => patched.starts_with(before.trim_end()) && patched.ends_with(after.trim_start()),
        };
        if !fits {
            return Err(format!(
                "{change:?} {chosen}, too much:\n{text}\n----\n{patched}\n{text:?}\n{patched:?}"
            ));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::model::tests::config())]

    #[test]
    fn a_formatted_page_is_no_edit_and_is_patched_in_place(blocks in page(), seed in any::<u64>()) {
        let blocks = with_new_ids(&blocks, &mut ids());
        let mut dice = Dice(seed);
        let text = formatted(&render(&blocks).text, &BTreeSet::new(), &mut dice);
        // What a block's neighbours mean can hang on it: text that it lacks, indentation, a wrapped line beside a blank
        // one. In place means edits of text here, and every change in the documents.
        let strict = all_say_something(&blocks);
        let counts = |why: &String| !why.contains("too much") || strict && why.starts_with("Text");
        if let Some(why) = check(&text, &blocks, &mut dice).err().filter(counts) {
            prop_assert!(false, "{}", why);
        }
    }
}

#[test]
fn a_formatted_document_is_no_edit_and_is_patched_in_place() {
    let mut wrong = Vec::new();
    for (name, blocks) in documents().into_iter().filter(|(_, blocks)| blocks.len() < 40) {
        let items: BTreeSet<String> = lower(&blocks).items.keys().cloned().collect();
        for seed in 0..2 {
            let mut dice = Dice(seed * 7919 + 1);
            let text = formatted(&render(&blocks).text, &items, &mut dice);
            if let Err(why) = check(&text, &blocks, &mut dice) {
                wrong.push(format!("{name} {seed}: {why}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n========\n"));
}

/// What a formatter made of the documents, from a folder of `NAME.md` or `NAME.VARIANT.md`.
fn by_a_formatter(folder: &Path) -> (usize, Vec<String>) {
    let documents = documents();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut wrong = Vec::new();
    for file in &files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let (_, blocks) =
            documents.iter().find(|(document, _)| Some(document.as_str()) == name.split('.').next()).unwrap();
        // Beside a paragraph that begins with two dollar signs prettier writes two more.
        if blocks.len() > 100 || name.starts_with("o044") {
            continue;
        }
        let text = std::fs::read_to_string(file).unwrap();
        if let Err(why) = check(&text, blocks, &mut Dice(name.len() as u64)) {
            wrong.push(format!("{name}: {why}"));
        }
    }
    (files.len(), wrong)
}

/// The fixtures are prettier 3.10.1's output (prose wrapped at 60 columns) for the documents as rendered; another
/// folder of such files can be named by `ESPEJO_FORMATTED`.
#[test]
fn what_prettier_makes_of_a_document_is_no_edit() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/markdown/prettier");
    let folder = std::env::var_os("ESPEJO_FORMATTED").map_or(own, std::path::PathBuf::from);
    let (count, wrong) = by_a_formatter(&folder);
    assert!(count >= 60, "{count}");
    assert!(wrong.is_empty(), "{}: {}", wrong.len(), wrong.join("\n========\n"));
}
