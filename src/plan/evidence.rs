//! Evidence that a write was carried out although its answer was lost.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::every_block;

/// Whether `seen` shows that the write which changed `before` to `sent` arrived, and somebody has worked on since.
/// Blocks are compared by id, each with its own content and not its children's.
///
/// A block that the write made is proof: nobody else knows its id. Without one, every single change has to be there:
/// others delete the same line and correct the same slip, and what is taken for written is not written again. The
/// other mistake is harmless, since a merge does not do twice what both sides did.
#[must_use]
pub fn shows_changes(before: &[Value], sent: &[Value], seen: &[Value]) -> bool {
    let (before, sent, seen) = (by_id(before), by_id(sent), by_id(seen));
    if sent.keys().any(|id| !before.contains_key(id) && seen.contains_key(id)) {
        return true;
    }
    let mut changed = sent.iter().filter(|(id, block)| before.get(*id) != Some(*block)).peekable();
    let mut removed = before.keys().filter(|id| !sent.contains_key(*id)).peekable();
    (changed.peek().is_some() || removed.peek().is_some())
        && changed.all(|(id, block)| seen.get(id) == Some(block))
        && removed.all(|id| !seen.contains_key(id))
}

/// Every block at every level, without its children.
fn by_id(blocks: &[Value]) -> BTreeMap<&str, Vec<(&String, &Value)>> {
    let described = every_block(blocks).filter_map(|block| {
        let object = block.as_object()?;
        let id = object.get("id")?.as_str()?;
        Some((id, object.iter().filter(|(key, _)| *key != "children").collect()))
    });
    described.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(texts: &[(&str, &str)]) -> Vec<Value> {
        texts
            .iter()
            .map(|(id, text)| json!({"id": id, "content": [{"text": text}], "children": []}))
            .collect()
    }

    #[test]
    fn a_new_block_is_proof_and_otherwise_every_change_has_to_be_there() {
        let before = page(&[("a", "1"), ("b", "2")]);
        let check = |sent: &[(&str, &str)], seen: &[(&str, &str)], expected| {
            assert_eq!(shows_changes(&before, &page(sent), &page(seen)), expected, "{sent:?} {seen:?}");
        };
        check(&[("a", "1"), ("b", "2"), ("c", "3")], &[("a", "1!"), ("b", "2"), ("c", "3")], true);
        check(&[("a", "1"), ("b", "2!")], &[("a", "1!"), ("b", "2!")], true);
        check(&[("a", "1")], &[("a", "1!")], true);
        check(&[("a", "1"), ("b", "2!")], &[("a", "1!"), ("b", "2")], false);
        check(&[("a", "1"), ("b", "2"), ("c", "3")], &[("a", "1!"), ("b", "2")], false);
        // Somebody else removed the same block, and our other change is not there.
        check(&[("a", "1!")], &[("a", "1")], false);
        check(&[("a", "1!"), ("c", "3")], &[("a", "1")], false);
        check(&[("a", "1!")], &[("a", "1!?")], false);
        // A block of ours is there, whatever became of the rest.
        check(&[("a", "1!"), ("c", "3")], &[("c", "3?")], true);
        check(&[("a", "1"), ("b", "2")], &[("a", "1!"), ("b", "2")], false);
    }
}
