//! Files that can be read but are not sent as they are, because an apparent slip in them would undo their pages.

use serde_json::Value;

use crate::engine::content::stand_ins::items_in;
use crate::engine::state::{Context, Pages};
use crate::markdown::{self, Unclosed};
use crate::model::{ContentHash, LocalFile, Node, PageId, Problem, block_ids, every_block, planted};
use crate::store::StoreError;

/// The body of a file.
pub(crate) struct Body<'a> {
    pub(crate) text: &'a str,
    /// Hash of the whole file.
    pub(crate) hash: ContentHash,
    /// Number of lines of the file above it.
    pub(crate) above: usize,
    /// Whether these bytes had no problem when they were read last: what was found or approved of a new file holds when
    /// its page is made.
    pub(crate) is_cleared: bool,
}

impl Pages {
    /// Why the file of a page is not sent; `None` for a page that the user has approved.
    pub(crate) fn unsendable(
        &self,
        file: &LocalFile,
        body: &Body<'_>,
        cx: &Context,
    ) -> Result<Option<Problem>, StoreError> {
        let page = file.page.as_ref();
        let node = page.and_then(|id| self.trees.pages.get(id));
        if node.is_some_and(|node| node.approved) {
            return Ok(None);
        }
        if body.text.trim().is_empty() && !planted("empty-file-sent") && self.had_text(page, cx)? {
            return Ok(Some(Problem::Emptied));
        }
        if let Some(marks) = merge_marks(self, page, body, cx)? {
            return Ok(Some(marks));
        }
        if !node.is_some_and(|node| is_agreed(node, body))
            && let Some(item) = unknown_item(self, file, body, cx)?
        {
            return Ok(Some(item));
        }
        let Some(open) =
            node.filter(|node| !is_agreed(node, body)).and_then(|_| markdown::unclosed(body.text))
        else {
            return Ok(None);
        };
        let problem = || Problem::Unclosed { what: open.what.to_owned(), line: body.above + open.line };
        Ok(self.swallows(page, body.text, &open, cx)?.then(problem))
    }

    /// Whether the page of a file without a text now had one.
    fn had_text(&self, page: Option<&PageId>, cx: &Context) -> Result<bool, StoreError> {
        let node = page.and_then(|id| self.trees.pages.get(id));
        let agreed = node.and_then(|node| node.base.as_ref()).map(|base| base.body);
        // A pending update will be the base in a moment.
        let sent = page.and_then(|id| self.pending_updates.get(id)).map(|sent| sent.local);
        for body in [agreed, sent].into_iter().flatten() {
            if !markdown::render(&cx.store.named_body(body)?).text.trim().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a block of the page is in its file only within the unclosed part. It would be removed from the page, and
    /// another one be made of its words when the end is typed.
    fn swallows(
        &self,
        page: Option<&PageId>,
        text: &str,
        open: &Unclosed<'_>,
        cx: &Context,
    ) -> Result<bool, StoreError> {
        let Some(node) = page.and_then(|id| self.trees.pages.get(id)) else { return Ok(false) };
        let Some(agreed) = node.base.as_ref().map(|base| base.body) else { return Ok(false) };
        let base = cx.store.named_body(agreed)?;
        let allowed = self.allowed_in(&node.workspace, cx)?;
        let mut new = 0_u32;
        let mut new_id = || {
            new += 1;
            format!("new {new}")
        };
        let blocks = markdown::parse(text, &base, &allowed, &mut new_id);
        let left = block_ids(&blocks);
        let is_inside = |block: &Value| {
            let id = block["id"].as_str().unwrap_or_default();
            let mut words = Vec::new();
            collect_words(&block["content"], &mut words);
            let stands_in = !id.is_empty() && open.rest.contains(&format!(" {id} -->"));
            let has_words = !words.is_empty() && words.iter().all(|word| open.rest.contains(*word));
            !left.contains(id) && (stands_in || has_words)
        };
        Ok(every_block(&base).any(is_inside))
    }
}

/// The marks of a merge in a file, unless its page has as many of them, or the user has approved them.
fn merge_marks(
    pages: &Pages,
    page: Option<&PageId>,
    body: &Body<'_>,
    cx: &Context,
) -> Result<Option<Problem>, StoreError> {
    let Some(marks) = markdown::merge_marks(body.text).filter(|_| !body.is_cleared) else { return Ok(None) };
    let problem = Problem::MergeMarks { line: body.above + marks.line };
    let Some(node) = page.and_then(|id| pages.trees.pages.get(id)) else { return Ok(Some(problem)) };
    if node.approved || is_agreed(node, body) {
        return Ok(None);
    }
    // Without a base, the page as the service shows it. A pending update will be the base in a moment.
    let agreed = node.base.as_ref().map(|base| base.body).or(node.remote.body);
    let sent = pages.pending_updates.get(&node.id).map(|sent| sent.local);
    for known in [agreed, sent].into_iter().flatten() {
        let page =
            markdown::render_for(&cx.store.named_body(known)?, &pages.allowed_in(&node.workspace, cx)?);
        if markdown::marks_of_page(&page.text) >= marks.places {
            return Ok(None);
        }
    }
    Ok(Some(problem))
}

/// Whether a file has the text of the base, which has been checked already.
fn is_agreed(node: &Node, body: &Body<'_>) -> bool {
    node.base.as_ref().is_some_and(|base| base.text == Some(body.hash))
}

/// The words of a content, whatever its shape.
fn collect_words<'a>(content: &'a Value, words: &mut Vec<&'a str>) {
    match content {
        Value::Array(items) => items.iter().for_each(|item| collect_words(item, words)),
        Value::Object(item) => {
            let text = item.get("text").and_then(Value::as_str).unwrap_or_default();
            words.extend(text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()));
            for key in ["content", "rows", "cells"] {
                item.get(key).into_iter().for_each(|inner| collect_words(inner, words));
            }
        }
        _ => {}
    }
}

/// An item of a form that the workspace has, while no page of it was ever seen with that item: sent, the link would be its
/// own source in the page.
pub(crate) fn unknown_item(
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
