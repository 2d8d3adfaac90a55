//! Block JSON, kept exactly as the service sent it.
//!
//! Blocks are JSON values and not structs on purpose: unknown keys, absent keys, key order and the written form of
//! numbers must all come back as they were (contract section 2, law 1). The features `preserve_order` and
//! `arbitrary_precision` of `serde_json` do that.

use serde_json::Value;

/// A page's content, or the children of a block: an array of blocks (API document, "Block").
pub type Blocks = Vec<Value>;

/// Whether two contents mean the same to the editor: key order aside, everything else alike.
///
/// `serde_json`'s own equality of objects already ignores key order, also with `preserve_order`; numbers compare by
/// their written form, so `1.0` and `1` differ, which errs on the side of seeing a change.
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

/// Every block, at any level, whose type the API document does not describe, with its id.
#[must_use]
pub fn undescribed(blocks: &[Value]) -> Vec<(&str, &Value)> {
    let mut found = Vec::new();
    let mut left: Vec<&Value> = blocks.iter().rev().collect();
    while let Some(block) = left.pop() {
        let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
        if let (false, Some(id)) = (DOCUMENTED.contains(&kind), block.get("id").and_then(Value::as_str)) {
            found.push((id, block));
        }
        left.extend(block.get("children").and_then(Value::as_array).into_iter().flatten().rev());
    }
    found
}
