//! The raw JSON of an export: each item as the API gave it, out of the state. Blocks, elements and magnets are taken over
//! as the text that is kept, without being read.

use std::collections::BTreeMap;

use anyhow::Result;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::Gaps;
use super::bundle::Bundle;
use crate::commands::list::rfc3339;
use crate::model::{
    CanvasId, CanvasNode, DeckId, DeckNode, MirrorPath, Node, Presence, Seen, Timestamp, WorkspaceNode,
};
use crate::store::{ReadOnly, Wording};

/// Writes every item; how many of each kind.
pub(super) fn write(
    state: &mut ReadOnly,
    bundle: &mut Bundle,
    gaps: &mut Gaps,
    bar: &ProgressBar,
) -> Result<Value> {
    let loaded = state.load()?;
    let magnets = state.dashboards()?;
    let present = |presence| matches!(presence, Presence::Listed | Presence::Unlisted | Presence::Hidden);
    let mut counts = json!({});
    let mut count = |kind: &str, number: usize| counts[kind] = json!(number);
    for node in loaded.workspaces.values() {
        let about = about("workspace", node.seen.id.as_str(), &node.seen.name, node.listed_at, None);
        bundle.put_item(
            &format!("api/workspaces/{}.json", node.seen.id),
            workspace(node).as_bytes(),
            about,
        )?;
    }
    count("workspaces", loaded.workspaces.len());
    let pages: Vec<&Node> = loaded.pages.values().filter(|node| present(node.remote.presence)).collect();
    bar.set_length(pages.len() as u64);
    bar.set_message("pages");
    for node in &pages {
        let content = match node.remote.body {
            Some(body) => state.wording(&Wording::Blocks(body.0.to_vec()))?,
            None => None,
        };
        if content.is_none() {
            gaps.unread.push(json!({ "kind": "page", "id": node.id.as_str(), "title": &*node.remote.title }));
        }
        let mut about =
            about("page", node.id.as_str(), &node.remote.title, node.poll.last, node.file.as_ref());
        about["workspace_id"] = json!(node.workspace.as_str());
        let magnets = magnets.get(node.id.as_str());
        bundle.put_item(
            &format!("api/pages/{}.json", node.id),
            page(node, content.as_deref(), magnets.map(String::as_str)).as_bytes(),
            about,
        )?;
        bar.inc(1);
    }
    count("pages", pages.len());
    let boards = state.boards()?;
    let canvases = || boards.canvases.values().filter(|node| present(node.presence));
    let mut whiteboards = 0;
    for node in canvases() {
        let (CanvasId::Board(id), Some(workspace)) = (&node.id, &node.workspace) else { continue };
        let elements = elements(state, node, gaps)?;
        let text = format!(
            "{{\"whiteboard\":{},\"elements\":{}}}\n",
            node.rest
                .behind(json!({ "id": id.as_str(), "workspace_id": workspace.as_str(), "name": node.name })),
            elements.as_deref().unwrap_or("null")
        );
        let mut about = about("whiteboard", id.as_str(), &node.name, node.poll.last, node.file.as_ref());
        about["workspace_id"] = json!(workspace.as_str());
        bundle.put_item(&format!("api/whiteboards/{id}.json"), text.as_bytes(), about)?;
        whiteboards += 1;
    }
    count("whiteboards", whiteboards);
    let mut slides: BTreeMap<&DeckId, Vec<&CanvasNode>> = BTreeMap::new();
    for node in canvases() {
        if let Some(deck) = node.id.deck() {
            slides.entry(deck).or_default().push(node);
        }
    }
    let decks: Vec<&DeckNode> = boards.decks.values().filter(|node| present(node.presence)).collect();
    for deck in &decks {
        let id = &deck.seen.id;
        let mut own = slides.remove(id).unwrap_or_default();
        own.sort_by_key(|slide| slide.order);
        let text = presentation(state, deck, &own, gaps)?;
        let folder =
            deck.folder.as_ref().and_then(|folder| MirrorPath::new(&format!("Presentations/{folder}")).ok());
        let about = about("presentation", id.as_str(), &deck.seen.name, deck.listed_at, folder.as_ref());
        bundle.put_item(&format!("api/presentations/{id}.json"), text.as_bytes(), about)?;
    }
    count("presentations", decks.len());
    let (folders, files) = storage(state, bundle)?;
    count("storage_folders", folders);
    count("storage_files", files);
    Ok(counts)
}

/// What the manifest says of an item.
fn about(kind: &str, id: &str, title: &str, seen: Timestamp, file: Option<&MirrorPath>) -> Value {
    json!({
        "kind": kind,
        "id": id,
        "title": title,
        "last_seen": Some(seen).filter(|at| at.0 > 0).map(rfc3339),
        "file": file.map(|path| format!("files/{path}")),
    })
}

fn workspace(node: &WorkspaceNode) -> String {
    let seen = &node.seen;
    let value = json!({
        "id": seen.id.as_str(), "name": seen.name, "slug": seen.slug, "role": seen.role, "frozen": seen.frozen,
    });
    format!("{}\n", seen.rest.behind(value))
}

fn page(node: &Node, content: Option<&str>, magnets: Option<&str>) -> String {
    let meta = json!({
        "id": node.id.as_str(),
        "workspace_id": node.workspace.as_str(),
        "parent_page_id": node.remote.parent.as_ref().map(|id| id.as_str()),
        "title": &*node.remote.title,
        "icon": node.remote.icon.as_deref(),
        "position": number(node.remote.position),
    });
    let meta = meta.to_string();
    match content {
        None => format!("{meta}\n"),
        Some(content) => {
            let open = meta.trim_end_matches('}');
            format!("{open},\"content\":{content},\"nevera\":{}}}\n", magnets.unwrap_or("null"))
        }
    }
}

fn presentation(
    state: &ReadOnly,
    deck: &DeckNode,
    slides: &[&CanvasNode],
    gaps: &mut Gaps,
) -> Result<String> {
    let id = deck.seen.id.as_str();
    let own = json!({
        "id": id,
        "name": deck.seen.name,
        "canvas_width": number(deck.seen.width),
        "canvas_height": number(deck.seen.height),
    });
    let own = deck.seen.rest.behind(own);
    let mut listed = Vec::new();
    let mut all = Vec::new();
    for slide in slides {
        let own_id = json!(slide.id.own_id());
        listed.push(json!({
            "id": own_id, "presentation_id": id, "position": slide.order, "background": slide.background,
        }));
        if let Some(elements) = elements(state, slide, gaps)? {
            all.push(format!("{own_id}:{elements}"));
        }
    }
    Ok(format!(
        "{{\"presentation\":{own},\"slides\":{},\"elements\":{{{}}}}}\n",
        Value::Array(listed),
        all.join(",")
    ))
}

/// The elements as they are kept; `None` where they have not been read yet.
fn elements(state: &ReadOnly, node: &CanvasNode, gaps: &mut Gaps) -> Result<Option<String>> {
    let kept = match node.remote {
        Some(hash) => state.wording(&Wording::Elements(hash.0.to_vec()))?,
        None => None,
    };
    if kept.is_none() {
        let kind = if node.id.deck().is_some() { "slide" } else { "whiteboard" };
        gaps.unread.push(json!({ "kind": kind, "id": node.id.own_id(), "title": node.name }));
    }
    Ok(kept)
}

fn storage(state: &mut ReadOnly, bundle: &mut Bundle) -> Result<(usize, usize)> {
    let stored = state.storage()?;
    let folders: Vec<_> = stored.folders.values().filter(|node| node.listed).collect();
    for node in &folders {
        let seen = &node.remote;
        let value = json!({
            "id": seen.id.as_str(),
            "parent_folder_id": seen.parent.as_ref().map(|id| id.as_str()),
            "name": seen.name,
            "position": number(seen.position),
        });
        let about = about("folder", seen.id.as_str(), &seen.name, node.poll.last, node.at.as_ref());
        bundle.put_item(
            &format!("api/storage/folders/{}.json", seen.id),
            format!("{value}\n").as_bytes(),
            about,
        )?;
    }
    let files: Vec<_> = stored.files.values().filter(|node| node.seen != Seen::Gone).collect();
    for node in &files {
        let seen = &node.remote;
        let value = json!({
            "id": seen.id.as_str(),
            "folder_id": seen.folder.as_ref().map(|id| id.as_str()),
            "attachment_id": seen.attachment.as_str(),
            "position": number(seen.position),
            "filename": seen.filename,
            "size_bytes": seen.size,
        });
        let path = node.base.as_ref().map(|base| &base.path);
        let about = about("file", seen.id.as_str(), &seen.filename, node.seen_at, path);
        bundle.put_item(
            &format!("api/storage/files/{}.json", seen.id),
            format!("{}\n", seen.rest.behind(value)).as_bytes(),
            about,
        )?;
    }
    Ok((folders.len(), files.len()))
}

/// A number in its shortest form: `3` and not `3.0`.
fn number(value: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only whole numbers that fit are written as integers"
    )]
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}
