//! What a person typed is what arrives: each case is a page as espejo wrote it, the file as a person left it, what is sent, and
//! what another machine's file looks like.

use serde_json::Value;

use super::super::{Allowed, parse, patch, render};
use super::corpus::documents;
use super::{ids, read};

/// A case: what the page was, and what became of it.
pub(super) struct Case {
    /// The page's file as espejo wrote it; nothing for a new file.
    pub page: &'static str,
    /// The file as a person left it.
    pub file: &'static str,
    /// What is sent, a line for each block: its type, and its text in quotes; nested blocks are indented.
    pub sent: &'static str,
    /// The file of another machine.
    pub other: &'static str,
}

/// The blocks in short.
pub(super) fn outline(blocks: &[Value]) -> String {
    fn level(blocks: &[Value], indent: usize, out: &mut Vec<String>) {
        for block in blocks {
            let runs = block["content"].as_array().into_iter().flatten();
            let text: String = runs.map(|run| run["text"].as_str().unwrap_or("<>")).collect();
            let kind = block["type"].as_str().unwrap().replace("ListItem", "");
            let checked = if block["props"]["checked"] == true { "x" } else { "" };
            let start = block["props"]["start"].as_u64().map(|start| start.to_string()).unwrap_or_default();
            out.push(format!("{:indent$}{kind}{checked}{start} {text:?}", ""));
            level(block["children"].as_array().map_or(&[], |list| list), indent + 1, out);
        }
    }
    let mut out = Vec::new();
    level(blocks, 0, &mut out);
    out.join("\n")
}

/// Checks a case; the blocks that are sent.
#[track_caller]
pub(super) fn check(case: &Case) -> Vec<Value> {
    let base = parse(case.page, &[], &Allowed::documented(), &mut ids());
    assert_eq!(render(&base).text, case.page, "espejo's own bytes");
    let mut next = 0;
    let mut new_id = || {
        next += 1;
        format!("new {next}")
    };
    let sent = parse(case.file, &base, &Allowed::documented(), &mut new_id);
    assert_eq!(outline(&sent), case.sent, "what is sent for {:?}", case.file);
    assert_eq!(read(case.file, &sent), sent, "silent afterwards: {:?}", case.file);
    assert_eq!(patch(case.file, &sent, &sent), case.file, "the file stays");
    let other = patch(case.page, &base, &sent);
    assert_eq!(other, case.other, "the other machine's file for {:?}", case.file);
    assert_eq!(read(&other, &sent), sent, "silent there as well: {other:?}");
    sent
}

#[test]
fn a_list_that_is_indented_with_tabs_keeps_its_kinds() {
    for (file, sent, other) in [
        ("- a\n\t1. b\n", "bullet \"a\"\n numbered \"b\"", "- a\n  1. b\n"),
        ("+ a\n\t+ b\n", "toggle \"a\"\n toggle \"b\"", "+ a\n  + b\n"),
        ("* a\n\t1. b\n", "bullet \"a\"\n numbered \"b\"", "- a\n  1. b\n"),
        ("- [ ] a\n\t1. b\n", "check \"a\"\n numbered \"b\"", "- [ ] a\n  1. b\n"),
        ("- [x] a\n\t- [x] b\n\t\t+ c\n", "checkx \"a\"\n checkx \"b\"\n  toggle \"c\"", "- [x] a\n  - [x] b\n    + c\n"),
        ("1. a\n\t+ b\n\t\t1. c\n\t\t\t- d\n", "numbered \"a\"\n toggle \"b\"\n  numbered \"c\"\n   bullet \"d\"",
            "1. a\n   + b\n     1. c\n        - d\n"),
        ("- a\r\n\t1. b\r\n\t2. c\r\n", "bullet \"a\"\n numbered \"b\"\n numbered \"c\"", "- a\n  1. b\n  2. c\n"),
        ("> - a\n>\t1. b\n", "quote \"\"\n bullet \"a\"\n  numbered \"b\"",
            ">\n\n<!-- children -->\n\n- a\n  1. b\n\n<!-- /children -->\n"),
        (">\t+ a\n", "quote \"\"\n toggle \"a\"", ">\n\n<!-- children -->\n\n+ a\n\n<!-- /children -->\n"),
        ("- ñ\n\t+ ñ\n\n\t\ttext\n", "bullet \"ñ\"\n toggle \"ñ\"\n  paragraph \"text\"", "- ñ\n  + ñ\n\n    text\n"),
    ] {
        check(&Case { page: "", file, sent, other });
    }
}

/// The text as Obsidian indents it: a tab for each level, however wide the marker above is.
fn with_tabs(text: &str) -> String {
    let mut out = String::new();
    // Where what is beneath each open item begins: here, and with tabs.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let rest = line.trim_start_matches(' ');
        let spaces = line.len() - rest.len();
        if rest.is_empty() {
            out.push('\n');
            continue;
        }
        if fence.is_none() {
            open.retain(|(inner, _)| *inner <= spaces);
        }
        let (inner, tabs) = open.last().copied().unwrap_or((0, 0));
        let kept = spaces.saturating_sub(inner);
        out.push_str(&"\t".repeat(tabs));
        out.push_str(&" ".repeat(kept));
        out.push_str(rest);
        out.push('\n');
        let ticks: String = rest.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(end) => {
                if *end == rest {
                    fence = None;
                }
                continue;
            }
            None if ticks.len() > 2 => {
                fence = Some(ticks);
                continue;
            }
            None => {}
        }
        let (mut at, mut column) = (spaces, 4 * tabs + kept);
        let mut rest = rest;
        loop {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let sign = match rest.as_bytes().get(digits) {
                Some(b'-' | b'+') if digits == 0 => 1,
                Some(b'.') if digits > 0 => digits + 1,
                _ => break,
            };
            if rest.len() > sign && !rest[sign..].starts_with(' ') {
                break;
            }
            let width = sign + 1;
            at += width;
            column += width;
            open.push((at, column.div_ceil(4)));
            rest = rest.get(width..).unwrap_or("");
        }
    }
    out
}

#[test]
fn the_tabs_of_obsidian_are_no_edit_of_any_document() {
    let mut changed = 0;
    for (name, blocks) in documents() {
        let text = render(&blocks).text;
        let tabs = with_tabs(&text);
        changed += usize::from(tabs != text);
        assert_eq!(read(&tabs, &blocks), blocks, "{name}\n{tabs}");
    }
    assert!(changed > 10, "{changed}");
}
