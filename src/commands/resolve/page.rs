//! Two versions of a page in one text.

use anyhow::Result;
use serde_json::Value;

use super::Sides;
use crate::cli::past::{Past, new_id};
use crate::markdown::{self, front_matter};
use crate::model::{Blocks, Node, edits};
use crate::plan::merge;
use crate::store::{Side, Version};

/// The file with the copy's words where both changed the same (`mine`), or with both versions of each block that differs;
/// and the body that this text stands for.
///
/// # Errors
/// When the state or a file cannot be read.
pub(super) fn joined(past: &Past<'_>, sides: &Sides, mine: bool) -> Result<(String, Option<Blocks>)> {
    let path = &sides.conflict.page_path;
    let node = past.page_at(path);
    let Some(present) = past.present(path)? else {
        // The page is gone at the service: the copy's text is a new page.
        let title = front_matter::split(&sides.copy)?.front.and_then(|front| front.title);
        let is_ours = past.owns_id_in(&sides.copy)?;
        return Ok((
            front_matter::set_beside(&sides.copy, None, title.as_deref(), None, &|_| is_ours)?,
            None,
        ));
    };
    let base = agreed_before(past, node, sides)?;
    let copy = past.parsed(node, &sides.copy, base.clone().unwrap_or_default())?;
    let blocks = match (mine, base) {
        (true, Some(base)) => merge::merge(&base, &copy, &present.blocks).blocks,
        (true, None) => past.parsed(node, &sides.copy, present.blocks.clone())?,
        (false, _) => both(&present.blocks, &copy),
    };
    let text = present.front().to_owned() + &markdown::patch(present.body(), &present.blocks, &blocks);
    Ok((text, Some(blocks)))
}

/// What the page said when both sides agreed last before the conflict: the last body that was at the service before the one
/// that collided. `None` where the history does not have it.
fn agreed_before(past: &Past<'_>, node: Option<&Node>, sides: &Sides) -> Result<Option<Blocks>> {
    let Some(node) = node else { return Ok(None) };
    let versions = past.store().versions_of(&node.id)?;
    let is_copy = |version: &Version| version.side == Side::Copy && version.text == Some(sides.conflict.text);
    let Some(copied) = versions.iter().rposition(is_copy) else { return Ok(None) };
    let was_there =
        |version: &&Version| version.side == Side::Service || version.side == Side::Merged || version.sent;
    // The list of versions names a body once for each time that it came.
    let mut there = versions[..copied].iter().rev().filter(was_there).filter_map(|version| version.body);
    let Some(collided) = there.next() else { return Ok(None) };
    there.find(|body| *body != collided).map(|body| past.body(body)).transpose()
}

/// Every block of `page`, and after each that differs the copy's.
fn both(page: &[Value], copy: &[Value]) -> Blocks {
    let (old, new): (Vec<String>, Vec<String>) =
        (page.iter().map(own_text).collect(), copy.iter().map(own_text).collect());
    let mut blocks = Blocks::new();
    for op in edits(&old, &new) {
        let (ours, theirs) = (op.old_range(), op.new_range());
        if op.tag() != similar::DiffTag::Equal {
            blocks.extend(page[ours].iter().cloned());
            blocks.extend(markdown::with_new_ids(&copy[theirs], &mut new_id));
            continue;
        }
        for (block, other) in page[ours].iter().zip(&copy[theirs]) {
            let mut block = block.clone();
            if let (Some(children), Some(others)) =
                (block["children"].as_array(), other["children"].as_array())
            {
                block["children"] = Value::Array(both(children, others));
            }
            blocks.push(block);
        }
    }
    blocks
}

/// What a block says without its children.
fn own_text(block: &Value) -> String {
    let mut own = block.clone();
    if let Some(map) = own.as_object_mut() {
        map.insert("children".to_owned(), Value::Array(Vec::new()));
    }
    markdown::render(std::slice::from_ref(&own)).text
}

/// Why an edited text cannot be a page's, if so.
pub(super) fn fault(text: &str) -> Option<String> {
    match front_matter::split(text) {
        Err(error) => Some(error.to_string()),
        Ok(split) if split.body.trim().is_empty() => Some("it is empty".to_owned()),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn block(text: &str, children: &[Value]) -> Value {
        json!({ "id": text, "type": "paragraph", "props": {}, "content": [{ "type": "text", "text": text, "styles": {} }],
            "children": children })
    }

    #[test]
    fn both_keeps_each_block_of_either_side_once() {
        let page =
            [block("a", &[]), block("theirs", &[]), block("c", &[block("below", &[])]), block("d", &[])];
        let copy =
            [block("a", &[]), block("mine", &[]), block("c", &[block("beneath", &[])]), block("new", &[])];
        let text = markdown::render(&both(&page, &copy)).text;
        let words: Vec<&str> =
            text.lines().filter(|line| !line.is_empty() && !line.starts_with("<!--")).collect();
        assert_eq!(words, ["a", "theirs", "mine", "c", "below", "beneath", "d", "new"], "{text}");
        assert_eq!(both(&page, &page), page);
    }
}
