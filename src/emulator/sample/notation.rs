//! Reads the sample's own notation into pages and blocks: so that the sample can be written and read as text.
//!
//! It is not Markdown, though it looks alike on purpose: it has no escapes, no paragraphs of several lines and no
//! surprises, since its only texts are the two beside this file. A page begins with `=`, as many as it lies deep; two
//! blanks of indentation make a child.

use serde_json::{Map, Value, json};

use super::super::rng::Rng;
use crate::model::Blocks;

/// A page of the sample.
pub(super) struct Sheet {
    /// 1 at the top.
    pub(super) depth: usize,
    /// Its emoji.
    pub(super) icon: Option<String>,
    /// Its title.
    pub(super) title: String,
    /// Its blocks.
    pub(super) content: Blocks,
}

/// Reads a whole text; ids come from `ids`.
pub(super) fn sheets(text: &str, ids: &mut Rng) -> Vec<Sheet> {
    let mut sheets: Vec<Sheet> = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    // From the last line up, so that a page's lines are there when its head comes.
    for line in text.lines().rev() {
        let head = line.trim_start_matches('=');
        if head.len() == line.len() {
            lines.push(line);
            continue;
        }
        lines.reverse();
        let (icon, title) = split_icon(head.trim());
        let content = blocks(&mut lines.as_slice(), 0, ids);
        sheets.push(Sheet { depth: line.len() - head.len(), icon, title, content });
        lines.clear();
    }
    sheets.reverse();
    sheets
}

/// A leading emoji and the title after it.
fn split_icon(head: &str) -> (Option<String>, String) {
    match head.split_once(' ') {
        Some((first, rest)) if !first.chars().any(char::is_alphanumeric) => {
            (Some(first.to_owned()), rest.to_owned())
        }
        _ => (None, head.to_owned()),
    }
}

/// The blocks at this indentation, with their children.
fn blocks(lines: &mut &[&str], indent: usize, ids: &mut Rng) -> Blocks {
    let mut blocks = Blocks::new();
    while let [line, rest @ ..] = *lines {
        if line.is_empty() {
            *lines = rest;
            continue;
        }
        if line.len() - line.trim_start().len() < indent {
            break;
        }
        let line = line.trim_start();
        let mut block = if line.starts_with("| ") {
            table(lines, ids)
        } else if let Some(language) = line.strip_prefix("```") {
            *lines = rest;
            code(lines, language, ids)
        } else {
            *lines = rest;
            single(line, ids)
        };
        block["children"] = Value::Array(blocks_below(lines, indent, ids));
        blocks.push(block);
    }
    blocks
}

fn blocks_below(lines: &mut &[&str], indent: usize, ids: &mut Rng) -> Blocks {
    match lines.first() {
        Some(line) if line.len() - line.trim_start().len() > indent => blocks(lines, indent + 2, ids),
        _ => Blocks::new(),
    }
}

/// A block of one line.
fn single(line: &str, ids: &mut Rng) -> Value {
    const STARTS: [(&str, &str); 4] = [
        ("- ", "bulletListItem"),
        ("+ ", "toggleListItem"),
        ("[ ] ", "checkListItem"),
        ("[x] ", "checkListItem"),
    ];
    let own = |key: &str, value: Value| Map::from_iter([(key.to_owned(), value)]);
    if line == "." {
        return text_block("paragraph", Map::new(), "", ids);
    }
    if line == "---" {
        return json!({ "id": ids.uuid(), "type": "divider", "props": {} });
    }
    if let Some(name) = line.strip_prefix("@database ") {
        let props = json!({ "databaseId": ids.uuid(), "title": name, "view": "table" });
        return json!({ "id": ids.uuid(), "type": "database", "props": props });
    }
    for (start, kind) in STARTS {
        if let Some(text) = line.strip_prefix(start) {
            let props =
                if kind == "checkListItem" { own("checked", json!(start == "[x] ")) } else { Map::new() };
            return text_block(kind, props, text, ids);
        }
    }
    if let Some(text) = line.strip_prefix("> ") {
        // The editor's quotes have no alignment.
        let props = json!({ "backgroundColor": "default", "textColor": "default" });
        return json!({ "id": ids.uuid(), "type": "quote", "props": props, "content": runs(text) });
    }
    let level = line.len() - line.trim_start_matches('#').len();
    if level > 0 {
        return text_block("heading", own("level", json!(level)), &line[level + 1..], ids);
    }
    match line.split_once(". ") {
        Some((number, text)) if number.parse::<u32>().is_ok() => {
            text_block("numberedListItem", Map::new(), text, ids)
        }
        _ => text_block("paragraph", Map::new(), line, ids),
    }
}

fn text_block(kind: &str, own: Map<String, Value>, text: &str, ids: &mut Rng) -> Value {
    let mut props = json!({ "backgroundColor": "default", "textColor": "default", "textAlignment": "left" });
    if let Value::Object(props) = &mut props {
        props.extend(own);
    }
    json!({ "id": ids.uuid(), "type": kind, "props": props, "content": runs(text) })
}

/// Lines of `| a | b |`; the first is the header.
fn table(lines: &mut &[&str], ids: &mut Rng) -> Value {
    let mut rows = Vec::new();
    let mut columns = 0;
    while let [line, rest @ ..] = *lines {
        let Some(cells) = line.trim().strip_prefix('|').and_then(|line| line.strip_suffix('|')) else {
            break;
        };
        let cells: Vec<Value> = cells.split('|').map(|cell| table_cell(cell.trim())).collect();
        columns = columns.max(cells.len());
        rows.push(json!({ "cells": cells }));
        *lines = rest;
    }
    let widths = vec![Value::Null; columns];
    let content = json!({ "type": "tableContent", "columnWidths": widths, "headerRows": 1, "rows": rows });
    json!({ "id": ids.uuid(), "type": "table", "props": { "textColor": "default" }, "content": content })
}

fn table_cell(text: &str) -> Value {
    let props = json!({
        "colspan": 1, "rowspan": 1, "backgroundColor": "default", "textColor": "default", "textAlignment": "left",
    });
    json!({ "type": "tableCell", "content": runs(text), "props": props })
}

/// Everything up to the closing fence.
fn code(lines: &mut &[&str], language: &str, ids: &mut Rng) -> Value {
    let end = lines.iter().position(|line| line.trim() == "```").unwrap_or(lines.len());
    let text = lines[..end].join("\n");
    *lines = lines.get(end + 1..).unwrap_or(&[]);
    let run = json!({ "type": "text", "text": text, "styles": {} });
    json!({ "id": ids.uuid(), "type": "codeBlock", "props": { "language": language }, "content": [run] })
}

/// The marks that open and close a style.
const MARKS: [(&str, &str); 5] =
    [("**", "bold"), ("__", "underline"), ("~~", "strike"), ("*", "italic"), ("`", "code")];

/// Text with styles: the marks above, `{red:…}` for a text colour, `{~yellow:…}` for one behind it. Styles do not nest.
fn runs(text: &str) -> Value {
    let mut runs = Vec::new();
    let mut push = |text: &str, styles: Value| {
        if !text.is_empty() {
            runs.push(json!({ "type": "text", "text": text, "styles": styles }));
        }
    };
    let mut plain = 0;
    let mut at = 0;
    while at < text.len() {
        match styled(&text[at..]) {
            Some((length, inner, styles)) => {
                push(&text[plain..at], json!({}));
                push(inner, styles);
                at += length;
                plain = at;
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    push(&text[plain..], json!({}));
    Value::Array(runs)
}

/// A styled piece at the start of `text`: its length with the marks, its words, its styles.
fn styled(text: &str) -> Option<(usize, &str, Value)> {
    for (mark, style) in MARKS {
        if let Some(rest) = text.strip_prefix(mark) {
            let inner = &rest[..rest.find(mark).filter(|length| *length > 0)?];
            return Some((inner.len() + 2 * mark.len(), inner, json!({ style: true })));
        }
    }
    let rest = text.strip_prefix('{')?;
    let (colour, rest) = rest.split_once(':')?;
    let inner = &rest[..rest.find('}')?];
    let length = colour.len() + inner.len() + 3;
    Some(match colour.strip_prefix('~') {
        Some(behind) => (length, inner, json!({ "backgroundColor": behind })),
        None => (length, inner, json!({ "textColor": colour })),
    })
}
