//! One line of a file that espejo wrote is changed by a person: exactly that arrives, or it is told. `ESPEJO_CASES` sets how many,
//! `ESPEJO_FROM` which.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::parse::says_as_read;
use super::super::{Allowed, parse, render, told};
use super::corpus::documents;
use super::formatted::Dice;
use super::{grow, ids};
use crate::model::tests::{cases, first};

const KINDS: usize = 22;

/// The text after a person's edit of one line; `None` where that kind has nothing to do there.
fn edited(lines: &[&str], at: usize, kind: usize, dice: &mut Dice) -> Option<String> {
    let line = *lines.get(at)?;
    let mut out: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let rest = line.trim_start_matches([' ', '>']);
    let lead = &line[..line.len() - rest.len()];
    let marker = ["- [ ] ", "- [x] ", "- ", "+ ", "1. ", "2. ", "# ", "## ", "### "]
        .into_iter()
        .find(|sign| rest.starts_with(sign));
    let marker = marker.unwrap_or("");
    let text = &rest[marker.len()..];
    let words: Vec<&str> = text.split(' ').collect();
    let word = dice.below(words.len());
    let replaced = |new: String| {
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        words[word] = new;
        format!("{lead}{marker}{}", words.join(" "))
    };
    if line.contains("<!--") {
        return None;
    }
    let is = |sign: &str| (marker == sign).then_some(());
    out[at] = match kind {
        0 if !text.is_empty() => replaced(format!("typed {}", words[word])),
        1 if words.len() > 1 => {
            let left = [&words[..word], &words[word + 1..]].concat();
            format!("{lead}{marker}{}", left.join(" "))
        }
        2 if !text.is_empty() => format!("{line} typed"),
        3 if !text.is_empty() => format!("{lead}{marker}Typed {text}"),
        4 if !words[word].is_empty() => replaced(format!("**{}**", words[word])),
        5 if !words[word].is_empty() => replaced(format!("*{}*", words[word])),
        6 if !words[word].is_empty() => replaced(format!("~~{}~~", words[word])),
        7 if !words[word].is_empty() => replaced(format!("`{}`", words[word])),
        8 => {
            is("- ")?;
            format!("{lead}+ {text}")
        }
        9 => {
            is("+ ")?;
            format!("{lead}- {text}")
        }
        10 => {
            is("- ")?;
            format!("{lead}- [ ] {text}")
        }
        11 => {
            is("- [ ] ")?;
            format!("{lead}- [x] {text}")
        }
        12 => {
            is("- [x] ")?;
            format!("{lead}- [ ] {text}")
        }
        13 => {
            is("- [ ] ")?;
            format!("{lead}- {text}")
        }
        14 => {
            is("# ")?;
            format!("{lead}## {text}")
        }
        15 => {
            is("## ")?;
            format!("{lead}{text}")
        }
        16 if marker.is_empty() && !text.is_empty() => format!("{lead}## {text}"),
        17 => {
            out.remove(at);
            return Some(out.join("\n") + "\n");
        }
        18 if line.is_empty() => {
            out.insert(at, String::new());
            return Some(out.join("\n") + "\n");
        }
        19 if text.contains("  ") => format!("{lead}{marker}{}", text.replacen("  ", " ", 1)),
        20 if !text.is_empty() => replaced(format!("{} ", words[word])),
        21 if !text.is_empty() => {
            out.insert(at + 1, String::new());
            out.insert(at + 2, format!("{lead}A new line"));
            return Some(out.join("\n") + "\n");
        }
        _ => return None,
    };
    (out[at] != line).then(|| out.join("\n") + "\n")
}

/// What became of an edit.
#[derive(Debug, PartialEq)]
enum Fate {
    Arrived,
    Told,
    Silent,
}

fn fate(text: &str, base: &[Value]) -> (Fate, Vec<Value>) {
    let after = parse(text, base, &Allowed::documented(), &mut ids());
    if says_as_read(text, &after) {
        return (Fate::Arrived, after);
    }
    let is_told = told(text, &after).iter().any(|told| told.what.lasts());
    (if is_told { Fate::Told } else { Fate::Silent }, after)
}

/// Whether the next line with text stands for a column or ends what is beneath one.
fn is_column(lines: &[&str], at: usize) -> bool {
    let next = lines[at..].iter().find(|line| !line.is_empty());
    next.is_some_and(|line| line.contains("<!-- block: column") || line.contains("<!-- /children -->"))
}

#[test]
fn each_edit_of_one_line_arrives_or_is_told() {
    let wanted = cases(2_000) as usize;
    let corpus: Vec<Vec<Value>> =
        documents().into_iter().map(|(_, blocks)| blocks).filter(|blocks| blocks.len() < 60).collect();
    let (mut done, mut told, mut spaces, mut silent) = (0, 0, 0, Vec::new());
    let mut seed = first();
    while done < wanted {
        let mut dice = Dice(seed * 7919 + 3);
        seed += 1;
        let blocks = if dice.below(2) == 0 {
            corpus[dice.below(corpus.len())].clone()
        } else {
            grow::page(&mut dice, false)
        };
        let text = render(&blocks).text;
        let lines: Vec<&str> = text.lines().collect();
        let (at, kind) = (dice.below(lines.len()), dice.below(KINDS));
        let Some(edited) = edited(&lines, at, kind, &mut dice) else { continue };
        done += 1;
        let (fate, after) = fate(&edited, &blocks);
        match fate {
            Fate::Arrived => {}
            // A page's lone toggle, or its lone empty paragraph.
            Fate::Told if matches!(kind, 9 | 17) || lines[at].trim() == "+" => told += 1,
            // Code with another style is refused by the editor.
            Fate::Told if kind == 7 || lines[at].contains('`') || lines[at].contains("&#") => {}
            // White space that stands alone between two tags is joined by formatters.
            Fate::Told if lines[at].contains(">  <") => {}
            Fate::Told if kind == 19 => spaces += 1,
            // A blank line beside a column is an empty paragraph of the column before it.
            Fate::Silent if kind == 18 && after != blocks && is_column(&lines, at) => {}
            _ => silent
                .push(format!("{kind} {fate:?}\n{text}\n----\n{edited}\n----\n{}", serde_json::json!(after))),
        }
        // The other blocks are what they were.
        let mut known: BTreeSet<String> = BTreeSet::new();
        each(&blocks, &mut |block| known.extend([own(block)]));
        let (mut fresh, mut all) = (0, 0);
        each(&after, &mut |block| {
            all += 1;
            fresh += usize::from(!known.contains(&own(block)));
        });
        // A fence that is broken takes in what follows.
        let is_fence = lines[at].contains("```");
        assert!(
            is_fence || fresh <= 4 || fresh * 3 < all,
            "{fresh} of {all} changed\n{text}\n----\n{edited}"
        );
    }
    assert!(
        silent.is_empty(),
        "{} of {done}:\n{}",
        silent.len(),
        silent[..silent.len().min(40)].join("\n========\n")
    );
    assert!(told * 100 <= done, "{told} of {done}");
    assert!(spaces * 10_000 <= done, "{spaces} joined spaces of {done} edits");
}

fn own(block: &Value) -> String {
    let mut block = block.clone();
    block["children"] = Value::Null;
    block.to_string()
}

fn each(blocks: &[Value], act: &mut dyn FnMut(&Value)) {
    for block in blocks {
        act(block);
        each(block["children"].as_array().map_or(&[], |list| list), act);
    }
}
