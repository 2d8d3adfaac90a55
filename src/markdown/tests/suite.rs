//! Documents of the kinds that people have, written for this test: each is read, sent, written for a second machine, changed by one
//! word in each block, and read back.
//!
//! `tests/fixtures/markdown/others/suite` holds them: notes of Obsidian, Logseq and Dendron, pages of Docusaurus, Hugo and `MyST`,
//! lecture notes with formulas, Spanish prose with prices, READMEs. The Markdown in cargo's registry is read as well, where there is any.

use std::path::{Path, PathBuf};

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use serde_json::{Value, json};

use super::super::{Allowed, front_matter, parse, patch_for, render_for, told};
use super::{ids, norm};

pub(super) fn documents() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/markdown/others/suite");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap();
        let body = front_matter::split(&text).map_or(text.as_str(), |split| split.body).to_owned();
        (name, body)
    };
    paths.iter().map(read).collect()
}

fn read(text: &str, base: &[Value]) -> Vec<Value> {
    parse(text, base, &Allowed::all(), &mut ids())
}

/// How many blocks with text there are, and the same blocks with a word more in the one at `at`.
fn with_a_word(blocks: &[Value], at: usize, seen: &mut usize) -> Vec<Value> {
    let mut out = blocks.to_vec();
    for block in &mut out {
        let is_text = !matches!(block["type"].as_str().unwrap(), "codeBlock" | "image" | "divider" | "table");
        if is_text && block["content"].as_array().is_some_and(|runs| !runs.is_empty()) {
            if *seen == at {
                let runs = block["content"].as_array_mut().unwrap();
                let text = runs[0]["text"].as_str().unwrap_or_default().to_owned();
                if text.contains("\n\n") {
                    // Empty lines are part of formulas and notes alone, which end where they end.
                    let (before, after) = text.rsplit_once("\n\n").unwrap();
                    runs[0]["text"] = json!(format!("{before} palabra\n\n{after}"));
                } else {
                    runs.push(json!({"type": "text", "text": " palabra", "styles": {}}));
                }
            }
            *seen += 1;
        }
        if let Some(children) = block["children"].as_array() {
            block["children"] = Value::Array(with_a_word(&children.clone(), at, seen));
        }
    }
    out
}

/// The lines of `old` that are not in `new`, between the lines that both begin and end with.
fn changed<'t>(old: &'t str, new: &str) -> Vec<&'t str> {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    a[head..a.len() - tail].to_vec()
}

fn backslashes(text: &str) -> usize {
    text.matches('\\').count()
}

/// What is wrong with how a document fares.
fn complaints(name: &str, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let blocks = read(text, &[]);
    if read(text, &blocks) != blocks {
        wrong.push(format!("{name}: read again, it is another page"));
    }
    let second = render_for(&blocks, &Allowed::all()).text;
    if read(&second, &blocks) != blocks {
        wrong.push(format!("{name}: the second machine sends something\n{second}"));
    }
    if norm(&read(&second, &[])) != norm(&blocks) {
        wrong.push(format!("{name}: the second machine's file alone is another page\n{second}"));
    }
    let mut count = 0;
    with_a_word(&blocks, usize::MAX, &mut count);
    for at in 0..count {
        let new = with_a_word(&blocks, at, &mut 0);
        let spliced = patch_for(text, &blocks, &new, &Allowed::all());
        let lines = changed(text, &spliced);
        if read(&spliced, &new) != new {
            wrong.push(format!("{name} {at}: the splice says something else\n{spliced}"));
        } else if lines.iter().any(|line| line.trim_matches(['>', ' ', '\t']).is_empty()) {
            wrong.push(format!("{name} {at}: more than one block is rewritten\n{lines:#?}\n{spliced}"));
        } else if backslashes(&spliced) > backslashes(text) {
            wrong.push(format!("{name} {at}: a backslash is added\n{spliced}"));
        } else if spliced.matches(" palabra").count() != 1 {
            wrong.push(format!("{name} {at}: the word is not there once\n{spliced}"));
        }
    }
    // What is told is told of a line that there is.
    let lines = text.lines().count();
    wrong.extend(
        told(text, &blocks).iter().filter(|told| told.line > lines).map(|told| format!("{name}: {told}")),
    );
    wrong
}

#[test]
fn a_word_from_the_app_rewrites_only_its_block() {
    let documents = documents();
    assert_eq!(documents.len(), 60);
    let wrong: Vec<String> = documents.iter().flat_map(|(name, text)| complaints(name, text)).collect();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n========\n"));
}

/// What a reader of Markdown shows: each leaf with what it stands in.
pub(super) fn leaves(text: &str) -> Vec<String> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    let arena = Arena::new();
    let root = parse_document(&arena, text, &options);
    let mut out = Vec::new();
    walk(root, "", &mut out, &mut false);
    out
}

fn walk<'a>(node: &'a AstNode<'a>, above: &str, out: &mut Vec<String>, goes_on: &mut bool) {
    let value = node.data.borrow().value.clone();
    let went_on = std::mem::replace(goes_on, matches!(value, NodeValue::Text(_) | NodeValue::SoftBreak));
    let own = match &value {
        NodeValue::Document | NodeValue::List(_) | NodeValue::TableRow(_) => String::new(),
        NodeValue::Item(list) => format!("{:?}/", list.list_type),
        NodeValue::TaskItem(sign) => format!("task {}/", sign.is_some()),
        NodeValue::Heading(heading) => format!("h{}/", heading.level),
        NodeValue::Paragraph => "p/".to_owned(),
        NodeValue::BlockQuote => "quote/".to_owned(),
        NodeValue::Link(link) => format!("link {} {}/", link.url, link.title),
        NodeValue::Image(link) => format!("image {} {}/", link.url, link.title),
        NodeValue::CodeBlock(code) => return out.push(format!("{above}code {} {}", code.info, code.literal)),
        NodeValue::HtmlBlock(html) if html.literal.trim_start().starts_with("<!--") => return,
        NodeValue::HtmlBlock(html) => return out.push(format!("{above}html {}", html.literal.trim_end())),
        NodeValue::Text(text) => return words(above, text, out, went_on),
        NodeValue::SoftBreak => return words(above, " ", out, went_on),
        NodeValue::LineBreak => return out.push(format!("{above}break")),
        NodeValue::HtmlInline(html) if html.starts_with("<!--") => return,
        NodeValue::HtmlInline(html) => return out.push(format!("{above}html {html}")),
        NodeValue::Code(code) => return out.push(format!("{above}code {}", code.literal)),
        NodeValue::ThematicBreak => return out.push(format!("{above}rule")),
        other => format!("{other:?}/").chars().take_while(|c| c.is_alphabetic()).chain(['/']).collect(),
    };
    let path = format!("{above}{own}");
    for child in node.children() {
        walk(child, &path, out, goes_on);
    }
}

/// Adds words, joined with the words before them.
fn words(above: &str, text: &str, out: &mut Vec<String>, goes_on: bool) {
    let begins = format!("{above}text ");
    match out.last_mut().filter(|last| goes_on && last.starts_with(&begins)) {
        Some(last) => last.push_str(text),
        None => out.push(begins + text),
    }
    if let Some(last) = out.last_mut() {
        *last = last.replace("  ", " ");
    }
}

#[test]
fn another_reader_sees_the_same_on_a_second_machine() {
    let (mut all, mut same) = (0, 0);
    let mut differences = Vec::new();
    for (name, text) in documents() {
        let second = render_for(&read(&text, &[]), &Allowed::all()).text;
        let (was, is) = (leaves(&text), leaves(&second));
        let trimmed =
            |leaves: Vec<String>| leaves.iter().map(|leaf| leaf.trim_end().to_owned()).collect::<Vec<_>>();
        let (was, is) = (trimmed(was), trimmed(is));
        let ops = similar::capture_diff_slices(similar::Algorithm::Myers, &was, &is);
        let equal: usize = ops
            .iter()
            .filter(|op| matches!(op, similar::DiffOp::Equal { .. }))
            .map(|op| op.old_range().len())
            .sum();
        all += was.len().max(is.len());
        same += equal;
        let lost: Vec<&String> = was.iter().filter(|leaf| !is.contains(leaf)).collect();
        if !lost.is_empty() {
            differences.push(format!("{name}: {lost:#?}"));
        }
    }
    assert!(
        same * 100 >= all * 98,
        "{same} of {all}, {:.1} %:\n{}",
        same as f64 * 100.0 / all as f64,
        differences.join("\n")
    );
}

/// The Markdown that cargo's registry has on this machine, as an extra.
#[test]
fn the_markdown_in_cargos_registry_fares_as_the_documents_do() {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let mut files = Vec::new();
    let registry = home.map(|home| home.join("registry/src")).unwrap_or_default();
    for index in std::fs::read_dir(&registry).into_iter().flatten().flatten() {
        for package in std::fs::read_dir(index.path()).into_iter().flatten().flatten() {
            let inside = std::fs::read_dir(package.path()).into_iter().flatten().flatten();
            files.extend(
                inside
                    .map(|entry| entry.path())
                    .filter(|path| path.extension().is_some_and(|end| end == "md")),
            );
        }
    }
    files.sort();
    let limit = std::env::var("ESPEJO_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    let mut stderr = std::io::stderr();
    if files.is_empty() {
        use std::io::Write as _;
        writeln!(stderr, "cargo's registry has no Markdown here: {}", registry.display()).unwrap();
    }
    let step = (files.len() / limit).max(1);
    let mut wrong = Vec::new();
    for path in files.iter().step_by(step) {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        if text.len() > 20_000 {
            continue;
        }
        let Ok(split) = front_matter::split(&text) else { continue };
        let blocks = read(split.body, &[]);
        if read(split.body, &blocks) != blocks {
            wrong.push(format!("{}: read again, it is another page", path.display()));
        }
        let second = render_for(&blocks, &Allowed::all()).text;
        if read(&second, &blocks) != blocks {
            wrong.push(format!("{}: the second machine sends something", path.display()));
        }
        let mut count = 0;
        with_a_word(&blocks, usize::MAX, &mut count);
        for at in (0..count).step_by((count / 4).max(1)) {
            let new = with_a_word(&blocks, at, &mut 0);
            let spliced = patch_for(split.body, &blocks, &new, &Allowed::all());
            if read(&spliced, &new) != new {
                wrong.push(format!("{} {at}: the splice says something else", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}
