//! What stands in a text for blocks and inline items that have no Markdown, as databases and mentions. The state has each of
//! them, so that it is itself in any page of its workspace.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::context::Context;
use super::pages::Pages;
use super::unsendable::Body;
use crate::markdown;
use crate::model::{Blocks, LocalFile, Problem, WorkspaceId, undescribed};
use crate::store::{Store, StoreError};

impl Context {
    /// Stores the blocks behind the stand-ins of `blocks`, except those of `known`, which are stored already.
    pub(super) fn keep_stand_ins(&mut self, workspace: &WorkspaceId, blocks: &[Value], known: &[Value]) {
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

/// An item of a form that the workspace has, while no page of it was ever seen with that item: sent, the link would be its
/// own source in the page.
pub(super) fn unknown_item(
    pages: &Pages,
    file: &LocalFile,
    body: &Body<'_>,
    cx: &Context,
) -> Result<Option<Problem>, StoreError> {
    if body.is_cleared || markdown::item_labels(body.text).next().is_none() {
        return Ok(None);
    }
    let node = file.page.as_ref().and_then(|id| pages.trees.pages.get(id));
    let workspace = match node {
        Some(node) => Some(node.workspace.clone()),
        None => pages.trees.layout().workspace_at(&file.path),
    };
    let Some(workspace) = workspace else { return Ok(None) };
    let allowed = pages.allowed_in(&workspace, cx)?;
    let mut known = items_in(&cx.store, &workspace, body.text)?;
    if let Some(base) = node.and_then(|node| node.base.as_ref()) {
        known.extend(markdown::inline_items(&cx.store.named_body(base.body)?));
    }
    for label in markdown::item_labels(body.text) {
        if allowed.is_form_of_item(label)
            && !known.contains_key(label)
            && let Some(line) = markdown::line_of_label(body.text, label)
        {
            return Ok(Some(Problem::UnknownItem { label: label.to_owned(), line: body.above + line }));
        }
    }
    Ok(None)
}

/// One item may be in two workspaces, and a label tells nothing of either.
fn key(workspace: &WorkspaceId, label: &str) -> String {
    format!("{workspace} {label}")
}
