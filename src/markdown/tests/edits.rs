//! Every kind of edit that a person makes to a page's file: what comes of it loads, keeps what was not touched, and is
//! silent afterwards. `ESPEJO_DUMP_EDITS` names a file for the results, so that an editor can be asked to load them.

use std::collections::BTreeSet;
use std::io::Write as _;

use serde_json::{Value, json};

use super::super::check_loadable;
use super::corpus::documents;
use super::formatted::Dice;
use super::ids;
use super::scale::bytes;
use crate::markdown::{Allowed, parse, render};

const KINDS: usize = 19;

/// The text after one edit of one line; `None` where that kind has nothing to do there.
fn edited(lines: &[&str], at: usize, kind: usize, dice: &mut Dice) -> Option<String> {
    let line = *lines.get(at)?;
    let mut out: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let cut = line.char_indices().nth(dice.below(line.chars().count() + 1)).map_or(line.len(), |(at, _)| at);
    let (head, tail) = line.split_at(cut);
    let words: Vec<&str> = line.split(' ').collect();
    let marker = line.len() - line.trim_start_matches([' ', '-', '+', '#', '>']).len();
    let around = |open: &str, close: &str| {
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let at = words.len() / 2;
        words[at] = format!("{open}{}{close}", words[at]);
        words.join(" ")
    };
    out[at] = match kind {
        0 => format!("{head}typed {tail}"),
        1 => format!("{head}\n\n{tail}"),
        2 => format!("{head}\n{tail}"),
        3 => String::new(),
        4 => format!("{line}\n\n{line}"),
        5 => words.iter().rev().copied().collect::<Vec<_>>().join(" "),
        6 => around("**", "**"),
        7 => around("[", "](https://a.example/b)"),
        8 => around("`", "`"),
        9 => around("<u>", "</u>"),
        10 => format!("## {}", &line[marker..]),
        11 => format!("> {}", &line[marker..]),
        12 => format!("  {line}"),
        13 => line.trim_start().to_owned(),
        14 => format!("{}- {}", &line[..line.len() - line.trim_start().len()], &line[marker..]),
        15 => format!("7. {}", &line[marker..]),
        16 => format!(
            "{line}\n\n```rust\nlet a = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | [c](d) |\n\n![e](f.png)\n\n---"
        ),
        17 if at + 1 < lines.len() => {
            out.swap(at, at + 1);
            return Some(out.join("\n") + "\n");
        }
        _ => format!("{head}*{tail}"),
    };
    Some(out.join("\n") + "\n")
}

fn wrong(text: &str, base: &[Value], allowed: &Allowed, back: &[Value]) -> Option<String> {
    match check_loadable(back, base, allowed) {
        // If the comments that hold columns together are removed, that is told, and nothing is sent.
        Err(why) if why.starts_with("a column is outside") => return None,
        Err(why) => return Some(why),
        Ok(()) => {}
    }
    let mut seen = BTreeSet::new();
    let mut todo: Vec<&Value> = back.iter().collect();
    let known = json!(base).to_string();
    while let Some(block) = todo.pop() {
        if let Some(id) = block["id"].as_str()
            && !seen.insert(id.to_owned())
            && known.matches(&json!({"id": id}).to_string()[1..]).count() < 2
        {
            return Some(format!("the id {id} twice"));
        }
        todo.extend(block["children"].as_array().into_iter().flatten());
    }
    let again = parse(text, back, allowed, &mut ids());
    if bytes(&again) != bytes(back) {
        return Some(format!("not silent\n{}\n{}", bytes(back), bytes(&again)));
    }
    None
}

#[test]
fn every_kind_of_edit_loads_and_is_silent_afterwards() {
    let mut dumped = std::env::var_os("ESPEJO_DUMP_EDITS").map(|path| std::fs::File::create(path).unwrap());
    let mut dump = |name: String, blocks: &[Value]| {
        if let Some(file) = &mut dumped {
            writeln!(file, "{}", json!({"name": name, "blocks": blocks})).unwrap();
        }
    };
    let mut failures = Vec::new();
    for (name, base) in documents().into_iter().filter(|(_, blocks)| blocks.len() < 100) {
        dump(format!("base {name}"), &base);
        let text = render(&base).text;
        let lines: Vec<&str> = text.lines().collect();
        for kind in 0..KINDS {
            let mut dice = Dice(kind as u64 * 31 + lines.len() as u64);
            for turn in 0..2 {
                let Some(edited) = edited(&lines, dice.below(lines.len()), kind, &mut dice) else { continue };
                let allowed = [Allowed::documented(), Allowed::all()][turn].clone();
                let back = parse(&edited, &base, &allowed, &mut ids());
                dump(format!("edit {name} {kind} {turn}"), &back);
                if let Some(why) = wrong(&edited, &base, &allowed, &back) {
                    failures.push(format!("{name} {kind} {turn}: {why}\n{edited}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n====\n"));
}

#[test]
fn what_is_made_has_the_keys_seen_here_and_nothing_of_another_blocks_looks() {
    let seen = json!([{"id": "a", "type": "image", "children": [], "props": {"backgroundColor": "red",
        "textAlignment": "center", "name": "old", "url": "old.png", "caption": "old", "showPreview": true, "previewWidth": 90}}]);
    let mut allowed = Allowed::documented();
    allowed.learn(seen.as_array().unwrap());
    let made = parse("![new](https://a.example/new.png)\n", &[], &allowed, &mut ids());
    let want = json!([{"id": "00000000-0000-4000-8000-000000000001", "type": "image", "props": {"backgroundColor": "default",
        "textAlignment": "left", "name": "new", "url": "https://a.example/new.png", "caption": "", "showPreview": true}, "children": []}]);
    assert_eq!(json!(made), want);
}

#[test]
fn a_summary_stands_for_all_that_was_learned() {
    let run = |kind: &str| json!({"type": kind, "text": "word", "styles": {"glow": true, "bold": true}});
    let shown = [
        json!({"id": "a", "type": "quote", "props": {}, "content": [run("text")], "children": [
            json!({"id": "b", "type": "codeBlock", "props": {"language": "text"}, "content": []})]}),
        json!({"id": "c", "type": "divider", "props": {"n": 1.50}, "children": []}),
        json!({"id": "d", "type": "numberedListItem", "props": {"start": 3}, "content": [run("mention")]}),
    ];
    let mut learned = Allowed::documented();
    assert!(learned.learn(&shown), "it was new");
    assert!(!learned.learn(&shown), "it was known");
    let mut again = Allowed::documented();
    again.take_up(&learned.summary()).unwrap();
    assert_eq!(again.summary(), learned.summary());
    assert!(!again.learn(&shown), "a summary lacks nothing");
    let text = "4. four\n\n---\n\n> said\n\n```text\ncode\n```\n";
    let read = |allowed: &Allowed| parse(text, &[], allowed, &mut ids());
    assert_eq!(read(&again), read(&learned));
    assert_ne!(read(&again), read(&Allowed::documented()), "nothing of it is of use");
    // It says the same however much taught it.
    let mut more = learned.clone();
    let many: Vec<Value> =
        (0..500).map(|n| json!({"id": n.to_string(), "type": "divider", "props": {"n": n}})).collect();
    assert!(!more.learn(&many));
    assert_eq!(more.summary(), learned.summary());
    assert!(again.take_up("[]").is_err());
}
