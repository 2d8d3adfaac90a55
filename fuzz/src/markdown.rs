//! Mutates Markdown without end and holds what comes of it against the laws of the converter.
//!
//! `cargo run --release --manifest-path fuzz/Cargo.toml --bin markdown -- [SECONDS] [SEED] [FOLDER]`: texts are grown from the files of
//! FOLDER (by default the project's fixtures), spliced, cut and peppered. A failure is shrunk and printed with its seed.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a command that is timed and prints")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use espejo::markdown::{Allowed, check_loadable, parse, parse_taking, patch, render};
use serde_json::{Value, json};

const BITS: [&str; 75] = [
    "*",
    "**",
    "***",
    "_",
    "__",
    "~~",
    "~",
    "`",
    "``",
    "```",
    "~~~",
    "[",
    "]",
    "](",
    ")",
    "(",
    "![",
    "<",
    ">",
    "<u>",
    "</u>",
    "<br>",
    "<b>",
    "<div>",
    "</div>",
    "<!--",
    "-->",
    "<!-- -->",
    "<!-- empty -->",
    "<!-- children -->",
    "<!-- /children -->",
    "<!-- block: a b -->",
    "<!-- file -->",
    "[a](b \"c\")",
    "![d](e)",
    "&",
    "&amp;",
    "&#10;",
    "&#13;",
    "&#9;",
    "\\",
    "\\\n",
    "#",
    "# ",
    "###### ",
    "- ",
    "* ",
    "+ ",
    "1. ",
    "7) ",
    "- [ ] ",
    "- [x]",
    "> ",
    ">",
    "    ",
    "\t",
    " ",
    "  \n",
    "\n",
    "\n\n",
    "\n\n\n",
    "\r\n",
    "\r",
    "---\n",
    "===\n",
    "| a | b |\n|---|:-:|\n",
    "|",
    "[a]: /b\n",
    "\u{feff}",
    "\u{a0}",
    "\u{200b}",
    "\0",
    "中文",
    "🙂",
    "e\u{301}",
];

struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 16) as usize) % limit.max(1)
    }
}

fn ids() -> impl FnMut() -> String {
    let mut next = 0;
    move || {
        next += 1;
        format!("new-{next}")
    }
}

/// The nearest place at or below `at` between two characters.
fn border(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn slice<'t>(text: &'t str, dice: &mut Dice) -> &'t str {
    let from = border(text, dice.below(text.len() + 1));
    let to = border(text, from + dice.below(60));
    &text[from.min(to)..to.max(from)]
}

fn mutated(seeds: &[String], dice: &mut Dice) -> String {
    let mut text = slice(&seeds[dice.below(seeds.len())], dice).to_owned();
    for _ in 0..1 + dice.below(9) {
        let at = border(&text, dice.below(text.len() + 1));
        match dice.below(6) {
            0..3 => text.insert_str(at, BITS[dice.below(BITS.len())]),
            3 => {
                let other = slice(&seeds[dice.below(seeds.len())], dice).to_owned();
                text.insert_str(at, &other);
            }
            4 => {
                let to = border(&text, at + dice.below(8));
                text.replace_range(at.min(to)..to.max(at), "");
            }
            _ => {
                let again = slice(&text, dice).to_owned();
                text.insert_str(at, &again);
            }
        }
    }
    text
}

fn bytes(blocks: &[Value]) -> String {
    json!(blocks).to_string()
}

fn without_ids(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(without_ids).collect(),
        Value::Object(object) => object
            .iter()
            .filter(|(key, _)| *key != "id")
            .map(|(key, value)| (key.clone(), without_ids(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// What is wrong with reading `text`, then `other`, if anything is.
fn wrong(text: &str, other: &str) -> Option<String> {
    for allowed in [Allowed::documented(), Allowed::all()] {
        let blocks = parse(text, &[], &allowed, &mut ids());
        if let Err(why) = check_loadable(&blocks, &[], &allowed) {
            return Some(why);
        }
        if bytes(&parse(text, &blocks, &allowed, &mut ids())) != bytes(&blocks) {
            return Some("an untouched text is an edit".to_owned());
        }
        let written = render(&blocks).text;
        if written.contains("<!-- block: ") && !text.contains("block:") {
            return Some(format!("a line that stands for a block: {written:?}"));
        }
        if bytes(&parse(&written, &blocks, &allowed, &mut ids())) != bytes(&blocks) {
            return Some(format!("a written page is an edit: {written:?}"));
        }
        let again = parse(&written, &[], &allowed, &mut ids());
        if without_ids(&json!(again)) != without_ids(&json!(blocks)) {
            return Some(format!("not stable: {written:?}\n{}\n{}", bytes(&blocks), bytes(&again)));
        }
        // One text becomes the other by an edit, and by a change that comes down.
        let mut next = 0;
        let mut id = || {
            next += 1;
            format!("other-{next}")
        };
        let edited = parse(other, &blocks, &allowed, &mut id);
        if let Err(why) = check_loadable(&edited, &blocks, &allowed) {
            return Some(format!("after an edit to {other:?}: {why}"));
        }
        if bytes(&parse(other, &edited, &allowed, &mut ids())) != bytes(&edited) {
            return Some(format!("not silent after an edit to {other:?}"));
        }
        next = 0;
        let mut id = || {
            next += 1;
            format!("other-{next}")
        };
        if bytes(&parse_taking(other, blocks.clone(), &allowed, &mut id)) != bytes(&edited) {
            return Some(format!("the base given away differs, {other:?}"));
        }
        let patched = patch(text, &blocks, &edited);
        if bytes(&parse(&patched, &edited, &allowed, &mut ids())) != bytes(&edited) {
            return Some(format!("a patch towards {other:?} says something else: {patched:?}"));
        }
    }
    None
}

fn caught(text: &str, other: &str) -> Option<String> {
    catch_unwind(AssertUnwindSafe(|| wrong(text, other))).unwrap_or_else(|_| Some("a panic".to_owned()))
}

/// The shortest pair that is still wrong, as far as leaving characters out finds one.
fn shrunk(mut pair: [String; 2]) -> [String; 2] {
    loop {
        let smaller = (0..2).find_map(|which| {
            let text = pair[which].clone();
            [32, 8, 1].iter().find_map(|&width| {
                text.char_indices().find_map(|(at, _)| {
                    let to = text[at..].char_indices().nth(width).map_or(text.len(), |(more, _)| at + more);
                    let mut other = pair.clone();
                    other[which].replace_range(at..to, "");
                    caught(&other[0], &other[1]).is_some().then_some(other)
                })
            })
        });
        match smaller {
            Some(smaller) => pair = smaller,
            None => return pair,
        }
    }
}

fn seeds(folder: &Path, out: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            seeds(&path, out);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("md" | "txt") => out.push(text),
                Some("json") => {
                    let document: Value = serde_json::from_str(&text).unwrap_or_default();
                    if let Some(blocks) = document["blocks"].as_array().filter(|blocks| blocks.len() < 300) {
                        out.push(render(blocks).text);
                    }
                }
                _ => {}
            }
        }
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| args.get(at).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/markdown");
    let folder = args.get(2).map_or(own, PathBuf::from);
    let mut texts = vec![BITS.join(" a "), BITS.join("")];
    seeds(&folder, &mut texts);
    let (seconds, seed) = (number(0, 60), number(1, 1));
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let start = Instant::now();
    let mut count = 0u64;
    let mut failures = 0;
    std::panic::set_hook(Box::new(|_| {}));
    while start.elapsed() < Duration::from_secs(seconds) && failures < 10 {
        count += 1;
        let text = mutated(&texts, &mut dice);
        let other = if dice.below(2) == 0 {
            mutated(std::slice::from_ref(&text), &mut dice)
        } else {
            mutated(&texts, &mut dice)
        };
        if caught(&text, &other).is_some() {
            failures += 1;
            let [text, other] = shrunk([text, other]);
            let why = caught(&text, &other).unwrap_or_default();
            println!("{text:?}\nthen {other:?}\n{why}\n");
        }
    }
    println!("{count} texts, {failures} failures, seed {seed}, {} s", start.elapsed().as_secs());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
