//! The texts that are indexed: of blocks, of elements, of files that hold what was not sent yet.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::Value;

use crate::markdown::{self, Allowed, front_matter};
use crate::mirror;
use crate::model::{ContentHash, MirrorPath, read_json};
use crate::search::{Source, Text};
use crate::store::{ReadOnly, Wording};

/// The mark of a text that the state knows: a letter, and a hash.
pub(super) fn mark(wording: &Wording) -> Vec<u8> {
    let (letter, hash): (u8, &[u8]) = match wording {
        Wording::None => (b'-', &[]),
        Wording::Blocks(hash) => (b'b', hash),
        Wording::Elements(hash) => (b'e', hash),
        Wording::File(hash) => (b'f', hash),
    };
    let mut mark = vec![letter];
    mark.extend_from_slice(hash);
    mark
}

/// The mark of a text that is in a file as it is now, with its size and time of change.
pub(super) fn on_disk((size, modified): (u64, i64)) -> Vec<u8> {
    let mut mark = vec![b'd'];
    mark.extend_from_slice(&size.to_be_bytes());
    mark.extend_from_slice(&modified.to_be_bytes());
    mark
}

/// Size and time of change, as the state keeps them.
pub(super) fn stamp_of(file: &std::fs::Metadata) -> (u64, i64) {
    (file.size(), file.mtime().saturating_mul(1_000_000_000).saturating_add(file.mtime_nsec()))
}

/// A file's name without the ending that espejo gives it.
pub(super) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".md").or_else(|| name.strip_suffix(".canvas")).unwrap_or(name)
}

/// Reads texts from the state and the folder.
pub(super) struct Reader<'a> {
    pub(super) state: &'a ReadOnly,
    pub(super) root: &'a Path,
}

impl Reader<'_> {
    /// The text by its mark; `None` when it cannot be read just now.
    pub(super) fn text_of(&self, source: &Source) -> Text {
        let (letter, hash) = source.text.split_first()?;
        let kept = |wording: Wording| {
            let json = self.state.wording(&wording).ok()??;
            read_json::<Value>(json.as_bytes()).ok()
        };
        match letter {
            b'b' => Some(of_blocks(kept(Wording::Blocks(hash.to_vec()))?.as_array()?)),
            b'e' => Some(of_elements(kept(Wording::Elements(hash.to_vec()))?.as_array()?)),
            b'f' => self.of_file(source).or_else(|| self.of_version(source, hash)),
            b'd' => self.of_file(source),
            _ => Some(String::new()),
        }
    }

    fn of_file(&self, source: &Source) -> Text {
        let path = MirrorPath::new(source.path.as_deref()?).ok()?;
        of_bytes(source, mirror::peek(self.root, &path).ok()?)
    }

    /// The file is not there just now (an editor replaces it, the disk is away): as it was read last.
    fn of_version(&self, source: &Source, hash: &[u8]) -> Text {
        of_bytes(source, self.state.store().content(ContentHash::from_slice(hash)?).ok()??)
    }
}

fn of_bytes(source: &Source, bytes: Vec<u8>) -> Text {
    let text = String::from_utf8(bytes).ok()?;
    if source.kind == "page" {
        let body = front_matter::split(&text).map_or(text.as_str(), |split| split.body);
        return Some(of_blocks(&markdown::parse(body, &[], &Allowed::all(), &mut String::new)));
    }
    let canvas: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    let nodes = canvas["nodes"].as_array().into_iter().flatten();
    Some(lines(nodes.filter_map(|node| node["text"].as_str())))
}

/// The text of blocks, a line each.
fn of_blocks(blocks: &[Value]) -> String {
    fn block(value: &Value, out: &mut Vec<String>) {
        let mut line = String::new();
        inline(&value["content"], &mut line);
        out.push(line);
        value["children"].as_array().into_iter().flatten().for_each(|child| block(child, out));
    }
    let mut all = Vec::new();
    blocks.iter().for_each(|one| block(one, &mut all));
    lines(all.iter().map(String::as_str))
}

/// Runs, links around runs, cells of tables.
fn inline(value: &Value, line: &mut String) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| inline(item, line)),
        Value::Object(map) => {
            line.push_str(map.get("text").and_then(Value::as_str).unwrap_or_default());
            map.get("content").into_iter().for_each(|content| inline(content, line));
            for cells in map.get("rows").and_then(Value::as_array).into_iter().flatten() {
                for cell in cells["cells"].as_array().into_iter().flatten() {
                    inline(cell, line);
                    line.push(' ');
                }
            }
        }
        Value::String(text) => line.push_str(text),
        _ => {}
    }
}

/// The text of elements, a line each.
fn of_elements(elements: &[Value]) -> String {
    lines(elements.iter().filter_map(|element| element["content"].as_str()))
}

fn lines<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    parts.map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_what_is_read_and_nothing_else() {
        let run = |text: &str| json!({ "type": "text", "text": text, "styles": { "bold": true } });
        let blocks = json!([
            { "id": "secret", "type": "heading", "props": { "textColor": "red" }, "content": [run("Uno "), run("dos")],
              "children": [{ "type": "paragraph", "content": [{ "type": "link", "href": "https://x", "content": [run("tres")] }] }] },
            { "type": "table", "content": { "type": "tableContent", "rows": [{ "cells": [[run("a")], { "content": [run("b")] }] }] } },
            { "type": "image", "props": { "url": "https://y" } },
            { "type": "odd", "content": "cuatro" },
            7
        ]);
        assert_eq!(of_blocks(blocks.as_array().unwrap()), "Uno dos\ntres\na b\ncuatro");
        let elements =
            json!([{ "content": " nota " }, { "content": {} }, { "type": "x" }, { "content": "dos" }]);
        assert_eq!(of_elements(elements.as_array().unwrap()), "nota\ndos");
    }
}
