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
