//! Block JSON, kept exactly as the service sent it.
//!
//! Blocks are JSON values and not structs on purpose: unknown keys, absent keys, key order and the written form of
//! numbers must all be preserved (contract section 2, law 1). The features `preserve_order` and `arbitrary_precision`
//! of `serde_json` do that.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde_json::Value;

use super::{Body, ContentHash, compact, parts, read_json};

/// A page's content, or the children of a block: an array of blocks (API document, "Block").
pub type Blocks = Vec<Value>;

/// A page's content as its compact JSON. It is kept, compared and sent without being parsed, and takes a tenth of the
/// memory of the parsed blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyJson {
    hash: ContentHash,
    // Not an `Arc<str>`, because the conversion would copy megabytes.
    json: Arc<String>,
}

impl BodyJson {
    /// The content of these blocks.
    #[must_use]
    pub fn of(blocks: &[Value]) -> Self {
        let mut json = Body::json(blocks);
        json.shrink_to_fit();
        Self { hash: ContentHash::of(json.as_bytes()), json: json.into() }
    }

    /// The content with this `hash`, which was printed before.
    #[must_use]
    pub fn known(hash: ContentHash, json: String) -> Self {
        Self { hash, json: json.into() }
    }

    /// A long content, printed without its values; `None` if it is short or unusual in any way, or if an entry is not a
    /// block.
    #[must_use]
    pub fn of_long(json: &[u8]) -> Option<Self> {
        if json.len() < LONG_BODY {
            return None;
        }
        let mut printed = compact::blocks(json)?;
        printed.shrink_to_fit();
        Some(Self { hash: ContentHash::of(printed.as_bytes()), json: printed.into() })
    }

    /// The JSON itself; copied if another owner shares it.
    #[must_use]
    pub fn into_string(self) -> String {
        Arc::unwrap_or_clone(self.json)
    }

    /// The hash of its JSON, which identifies it.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// The JSON.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.json
    }

    /// The blocks.
    ///
    /// # Errors
    /// The parser's error, if the JSON was not printed by [`BodyJson::of`] or [`Body::json`].
    pub fn blocks(&self) -> serde_json::Result<Blocks> {
        match read_closely(self.json.as_bytes()) {
            Some(blocks) => Ok(blocks),
            None => read_json(self.json.as_bytes()),
        }
    }
}

/// From this many bytes of JSON on, a content is processed one block at a time: parsing takes some ten milliseconds,
/// and as many megabytes.
pub const LONG_BODY: usize = 1 << 19;

/// The blocks of a long content without the spare capacity of maps and lists, which is a third of their memory. Each
/// block is packed before the next is parsed, so the spare memory is never used, not even for a moment. `None` if the
/// content is short, or unusual in any way.
fn read_closely(json: &[u8]) -> Option<Blocks> {
    one_by_one(json)?.map(|block| Some(pack(block?))).collect()
}

/// The blocks of a long content, parsed one after the other, because together they take twenty times the memory of
/// their text. `None` if it is short, or not an array; an item is `None` if the block cannot be parsed, or is nested
/// too deep.
#[must_use]
pub fn one_by_one(json: &[u8]) -> Option<impl Iterator<Item = Option<Value>>> {
    if json.len() < LONG_BODY {
        return None;
    }
    let parts = parts::elements(json)?.ok()?;
    Some(parts.into_iter().map(|part| read_json(part).ok()))
}

/// A long content that was parsed one block at a time.
pub(super) struct Skimmed {
    pub(super) json: BodyJson,
    /// Each block that the API document does not describe or that has an inline item, and the first block of each shape.
    pub(super) telling: Blocks,
    /// See [`lines`].
    pub(super) lines: String,
}

/// Parses a long content; `None` if it is short, or unusual in any way.
pub(super) fn skim(json: &[u8]) -> Option<Skimmed> {
    let mut printed = String::with_capacity(json.len());
    let (mut telling, mut lines, mut shapes) = (Vec::new(), String::new(), BTreeSet::new());
    for block in one_by_one(json)? {
        let block = block?;
        printed.push(if printed.is_empty() { '[' } else { ',' });
        printed.push_str(&block.to_string());
        add_lines(&block, &mut lines);
        let is_new = shapes.insert(shape(&block));
        let one = std::slice::from_ref(&block);
        if is_new || !undescribed(one).is_empty() || has_inline_item(one) {
            telling.push(pack(block));
        }
    }
    printed.push_str(if printed.is_empty() { "[]" } else { "]" });
    printed.shrink_to_fit();
    Some(Skimmed { json: BodyJson::known(ContentHash::of(printed.as_bytes()), printed), telling, lines })
}

/// Hash of the keys, types and kinds of entries of a value. Values with one shape differ in their words and numbers
/// only.
fn shape(value: &Value) -> u64 {
    let mut shape = DefaultHasher::new();
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                key.hash(&mut shape);
                match value {
                    Value::String(kind) if key == "type" => kind.hash(&mut shape),
                    other => shape.write_u64(self::shape(other)),
                }
            }
        }
        Value::Array(items) => items.iter().map(self::shape).collect::<BTreeSet<_>>().hash(&mut shape),
        other => std::mem::discriminant(other).hash(&mut shape),
    }
    shape.finish()
}

/// The same value without spare capacity.
fn pack(value: Value) -> Value {
    match value {
        // The capacity is known in advance.
        Value::Array(items) => {
            let mut packed = Vec::with_capacity(items.len());
            for item in items {
                packed.push(pack(item));
            }
            Value::Array(packed)
        }
        Value::Object(map) => {
            let mut packed = serde_json::Map::with_capacity(map.len());
            for (key, value) in map {
                packed.insert(key, pack(value));
            }
            Value::Object(packed)
        }
        other => other,
    }
}

/// Whether two contents mean the same to the editor: they are equal apart from key order.
///
/// `serde_json`'s own equality of objects ignores key order, also with `preserve_order`. Numbers compare by their
/// written form, so `1.0` and `1` differ; this errs on the side of seeing a change.
#[must_use]
pub fn semantically_equal(a: &[Value], b: &[Value]) -> bool {
    a == b
}

/// The block types that the API document describes ("Pages", content).
pub const DOCUMENTED: [&str; 7] = [
    "paragraph",
    "heading",
    "bulletListItem",
    "numberedListItem",
    "checkListItem",
    "toggleListItem",
    "quote",
];

/// Each block at any level whose type the API document does not describe, with its id.
#[must_use]
pub fn undescribed(blocks: &[Value]) -> Vec<(&str, &Value)> {
    let with_id = |block| Some((id_of(block)?, block));
    let is_documented =
        |block: &Value| DOCUMENTED.contains(&block.get("type").and_then(Value::as_str).unwrap_or_default());
    every_block(blocks).filter(|block| !is_documented(block)).filter_map(with_id).collect()
}

/// The blocks and the blocks inside them, in reading order.
pub fn every_block(blocks: &[Value]) -> impl Iterator<Item = &Value> {
    every_place(blocks).map(|(_, block)| block)
}

/// The same, each with its parent block.
pub fn every_place(blocks: &[Value]) -> impl Iterator<Item = (Option<&Value>, &Value)> {
    let mut left: Vec<(Option<&Value>, &Value)> = blocks.iter().rev().map(|block| (None, block)).collect();
    std::iter::from_fn(move || {
        let (above, block) = left.pop()?;
        let children = block.get("children").and_then(Value::as_array).into_iter().flatten();
        left.extend(children.rev().map(|child| (Some(block), child)));
        Some((above, block))
    })
}

/// Whether a block, at any level, has an inline item that is neither text nor a link (API document, "Block").
#[must_use]
pub fn has_inline_item(blocks: &[Value]) -> bool {
    every_block(blocks).filter_map(|block| block.get("content")).any(holds_item)
}

/// The same of a content: runs, or rows of cells that hold runs.
fn holds_item(content: &Value) -> bool {
    match content {
        Value::Array(entries) => entries.iter().any(holds_item),
        Value::Object(entry) => {
            let kind = entry.get("type").and_then(Value::as_str);
            let is_plain = kind.is_none_or(|kind| PLAIN.contains(&kind));
            !is_plain || ["content", "rows", "cells"].iter().filter_map(|key| entry.get(*key)).any(holds_item)
        }
        _ => false,
    }
}

/// The types of what stands in a content and is no inline item.
const PLAIN: [&str; 4] = ["text", "link", "tableContent", "tableCell"];

/// The ids of blocks, at every level.
#[must_use]
pub fn block_ids(blocks: &[Value]) -> BTreeSet<&str> {
    every_block(blocks).filter_map(id_of).collect()
}

/// The text of blocks, one line for each block.
#[must_use]
pub fn lines(blocks: &[Value]) -> String {
    let mut lines = String::new();
    blocks.iter().for_each(|block| add_lines(block, &mut lines));
    lines
}

/// Appends one line for each block; styled runs of one word stay together.
fn add_lines(value: &Value, lines: &mut String) {
    match value {
        Value::Array(all) => {
            for one in all {
                match &one["text"] {
                    Value::String(text) => lines.push_str(text),
                    _ => add_lines(one, lines),
                }
                // A table cell.
                if one.is_array() {
                    lines.push('\n');
                }
            }
        }
        Value::Object(map) => {
            let is_link = map.get("type").is_some_and(|kind| kind == "link");
            for key in ["content", "rows", "cells", "children"] {
                if let Some(inner) = map.get(key) {
                    add_lines(inner, lines);
                }
                if !is_link {
                    lines.push('\n');
                }
            }
        }
        _ => {}
    }
}

fn id_of(block: &Value) -> Option<&str> {
    block.get("id").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NESTED_MAX;

    #[test]
    fn cells_of_either_form_are_lines_of_their_own() {
        let run = |text: &str| serde_json::json!({ "type": "text", "text": text, "styles": {} });
        let cell = serde_json::json!({ "type": "tableCell", "content": [run("the"), run("third")] });
        let cells = serde_json::json!([[run("the "), run("first")], [run("second")], cell]);
        let table = serde_json::json!({ "type": "tableContent", "rows": [{ "cells": cells }] });
        let said =
            lines(&[serde_json::json!({ "id": "t", "type": "table", "content": table, "children": [] })]);
        let said: Vec<&str> = said.split('\n').filter(|line| !line.is_empty()).collect();
        assert_eq!(said, ["the first", "second", "thethird"]);
    }

    #[test]
    fn inline_items_are_found_in_every_kind_of_content() {
        let run =
            |kind: &str| serde_json::json!({ "type": kind, "text": "a", "content": [{ "type": "text" }] });
        let of = |content: Value| {
            let inner = serde_json::json!({ "type": "paragraph", "content": content });
            [serde_json::json!({ "type": "quote", "content": "none", "children": [inner] })]
        };
        let table =
            |cell: Value| serde_json::json!({ "type": "tableContent", "rows": [{ "cells": [cell] }] });
        let cell = |run: Value| serde_json::json!({ "type": "tableCell", "content": [run] });
        for (kind, is_item) in [("text", false), ("link", false), ("mention", true)] {
            let all = [
                serde_json::json!([run("text"), run(kind)]),
                table(serde_json::json!([run(kind)])),
                table(cell(run(kind))),
                serde_json::json!([{ "type": "link", "content": [run(kind)] }]),
            ];
            for content in all {
                assert_eq!(has_inline_item(&of(content.clone())), is_item, "{content}");
            }
        }
    }

    #[test]
    fn a_long_content_reads_as_any_other() {
        let block = r#"{"z":1.0,"id":"b\u00e9","n":-0.00e5,"props":{"b":[],"a":null},"content":[{"text":"ñ]","styles":{}}],"children":[{"id":"c"}]}"#;
        let json = format!("[{}]", vec![block; LONG_BODY / block.len() + 1].join(","));
        let blocks: Blocks = serde_json::from_str(&json).unwrap();
        let closely = read_closely(json.as_bytes()).unwrap();
        assert_eq!(Body::json(&closely), Body::json(&blocks));
        assert_eq!(BodyJson::of(&blocks).blocks().unwrap(), blocks);
    }

    #[test]
    fn what_is_short_deep_or_broken_is_left_to_the_usual_reader() {
        let long = |item: &str| format!("[{item},\"{}\"]", "a".repeat(LONG_BODY));
        assert!(read_closely(long("1").as_bytes()).is_some());
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read_closely(long(&nested(NESTED_MAX)).as_bytes()).is_some());
        for json in [
            "[]".to_owned(),
            long(&nested(NESTED_MAX + 1)),
            long("tru"),
            long("{}") + "]",
            format!("{{\"a\":{}}}", long("1")),
        ] {
            assert_eq!(read_closely(json.as_bytes()), None);
        }
    }
}
