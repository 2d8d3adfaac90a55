//! Block JSON, kept exactly as the service sent it.
//!
//! Blocks are JSON values and not structs on purpose: unknown keys, absent keys, key order and the written form of
//! numbers must all come back as they were (contract section 2, law 1). The features `preserve_order` and
//! `arbitrary_precision` of `serde_json` do that.

use std::sync::Arc;

use serde_json::Value;

use super::{Body, ContentHash};

/// A page's content, or the children of a block: an array of blocks (API document, "Block").
pub type Blocks = Vec<Value>;

/// A page's content as its compact JSON, which is kept, compared and sent without being read: a tenth of what the blocks
/// take as values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyJson {
    hash: ContentHash,
    json: Arc<str>,
}

impl BodyJson {
    /// The content of these blocks.
    #[must_use]
    pub fn of(blocks: &[Value]) -> Self {
        let json = Body::json(blocks);
        Self { hash: ContentHash::of(json.as_bytes()), json: json.into() }
    }

    /// The content that is known by `hash` and was printed before.
    #[must_use]
    pub fn known(hash: ContentHash, json: String) -> Self {
        Self { hash, json: json.into() }
    }

    /// What it is known by: the hash of its JSON.
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
    /// What is wrong with the JSON, if it was not printed by [`BodyJson::of`] or [`Body::json`].
    pub fn blocks(&self) -> serde_json::Result<Blocks> {
        serde_json::from_str(&self.json)
    }
}

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
