//! What stands in a text for blocks and inline items that have no Markdown, as databases and mentions. The state has each of
//! them, so that it is itself in any page of its workspace.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::engine::state::Context;
use crate::markdown;
use crate::model::{Blocks, WorkspaceId, undescribed};
use crate::store::{Store, StoreError};

impl Context {
    /// Stores the blocks behind the stand-ins of `blocks`, except those of `known`, which are stored already.
    pub(crate) fn keep_stand_ins(&mut self, workspace: &WorkspaceId, blocks: &[Value], known: &[Value]) {
        let known: BTreeSet<&str> = undescribed(known).into_iter().map(|(id, _)| id).collect();
        for (id, block) in undescribed(blocks).into_iter().filter(|(id, _)| !known.contains(id)) {
            self.store.keep_stand_in(workspace, id, block);
        }
        keep_items(self, workspace, blocks);
    }
}

/// The blocks behind stand-ins that are in a text and not in its base: they come from another page, or were cut and are put
/// back.
///
/// # Errors
/// [`StoreError`] when the state cannot be read.
pub fn blocks_in(
    store: &Store,
    workspace: &WorkspaceId,
    text: &str,
    base: &[Value],
) -> Result<Blocks, StoreError> {
    let mut found = Vec::new();
    let own: BTreeSet<&str> = undescribed(base).into_iter().map(|(id, _)| id).collect();
    for id in markdown::stand_in_ids(text) {
        if !own.contains(id)
            && !found.iter().any(|block: &Value| block["id"] == id)
            && let Some(block) = store.stand_in(workspace, id)?
        {
            found.push(block);
        }
    }
    Ok(found)
}

/// Stores the inline items of blocks. Each stands in a paragraph, as what is stored beside it are blocks.
fn keep_items(cx: &mut Context, workspace: &WorkspaceId, blocks: &[Value]) {
    for (label, item) in markdown::inline_items(blocks) {
        let block = json!({ "type": "paragraph", "content": [item] });
        cx.store.keep_stand_in(workspace, &key(workspace, &label), &block);
    }
}

/// The inline items that a text names and its workspace has had, by their labels.
///
/// # Errors
/// [`StoreError`] when the state cannot be read.
pub fn items_in(
    store: &Store,
    workspace: &WorkspaceId,
    text: &str,
) -> Result<BTreeMap<String, Value>, StoreError> {
    let mut items = BTreeMap::new();
    for label in markdown::item_labels(text) {
        if !items.contains_key(label)
            && let Some(mut block) = store.stand_in(workspace, &key(workspace, label))?
        {
            items.insert(label.to_owned(), block["content"][0].take());
        }
    }
    Ok(items)
}

/// One item may be in two workspaces, and a label tells nothing of either.
pub(crate) fn key(workspace: &WorkspaceId, label: &str) -> String {
    format!("{workspace} {label}")
}
