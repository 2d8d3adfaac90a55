//! The raw JSON of an export: each item as the API gave it, out of the state. Blocks and elements are taken over as the text
//! that is kept, without being read.

use anyhow::Result;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::Gaps;
use super::bundle::Bundle;
use crate::cli::when::rfc3339;
use crate::core::items::Item;
use crate::core::items::Items;
use crate::core::items::Listing;
use crate::core::items::Remote;
use crate::core::items::rows;
use crate::core::plan::policy::Kind;
use crate::core::report::view;
use crate::model::{MirrorPath, Node, Presence, Rest, Timestamp, WorkspaceNode, id_of};
use crate::store::{ReadOnly, Wording};

/// Writes every item; how many of each kind.
pub(super) fn write(
    state: &mut ReadOnly,
    bundle: &mut Bundle,
    gaps: &mut Gaps,
    bar: &ProgressBar,
) -> Result<Value> {
    let loaded = state.load()?;
    let magnets = state.store().dashboards()?;
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
        let magnets = magnets.get(&node.id).map(Value::to_string);
        bundle.put_item(
            &format!("api/pages/{}.json", node.id),
            page(node, content.as_deref(), magnets.as_deref()).as_bytes(),
            about,
        )?;
        bar.inc(1);
    }
    count("pages", pages.len());
    let items = rows::items(state.store())?;
    for (kind, name) in [(Kind::Whiteboard, "whiteboard"), (Kind::Presentation, "presentation")] {
        let mut all = 0;
        for item in items.all().filter(|item| item.kind == kind && is_present(item)) {
            let Some(remote) = &item.remote else { continue };
            let text = match kind {
                Kind::Presentation => presentation(state, &items, item, remote, gaps)?,
                _ => whiteboard(state, item, remote, gaps)?,
            };
            let file = item.file().map(|file| &file.path);
            let mut about = about(name, &remote.id, &remote.name, remote.poll.last, file);
            if kind == Kind::Whiteboard {
                about["workspace_id"] = json!(item.area.as_str());
            }
            bundle.put_item(&format!("api/{name}s/{}.json", remote.id), text.as_bytes(), about)?;
            all += 1;
        }
        count(&format!("{name}s"), all);
    }
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

fn is_present(item: &Item) -> bool {
    item.presence().is_some_and(|presence| presence != Listing::Gone)
}

fn whiteboard(state: &ReadOnly, item: &Item, remote: &Remote, gaps: &mut Gaps) -> Result<String> {
    let own = json!({ "id": remote.id, "workspace_id": item.area.as_str(), "name": remote.name });
    let own = Rest::stored(remote.rest.as_deref()).behind(own);
    let elements = elements(state, "whiteboard", remote, gaps)?;
    Ok(format!("{{\"whiteboard\":{own},\"elements\":{}}}\n", elements.as_deref().unwrap_or("null")))
}

fn presentation(
    state: &ReadOnly,
    items: &Items,
    item: &Item,
    remote: &Remote,
    gaps: &mut Gaps,
) -> Result<String> {
    let [width, height] = remote.size.unwrap_or_default().map(number);
    let own = json!({ "id": remote.id, "name": remote.name, "canvas_width": width, "canvas_height": height });
    let own = Rest::stored(remote.rest.as_deref()).behind(own);
    let slides = remote.content.map(|content| state.store().elements(content)).transpose()?;
    let (mut listed, mut all) = (Vec::new(), Vec::new());
    for (position, slide) in slides.into_iter().flatten().enumerate() {
        let (id, background) = (id_of(&slide), &slide["background"]);
        listed.push(json!({
            "id": id, "presentation_id": remote.id, "position": position, "background": background,
        }));
        let known = items.of_id(Kind::Slide, Some(item.key), id).and_then(|slide| slide.remote.as_ref());
        if let Some(known) = known
            && let Some(elements) = elements(state, "slide", known, gaps)?
        {
            all.push(format!("{}:{elements}", json!(id)));
        }
    }
    Ok(format!(
        "{{\"presentation\":{own},\"slides\":{},\"elements\":{{{}}}}}\n",
        Value::Array(listed),
        all.join(",")
    ))
}

/// The elements as they are kept; `None` where they have not been read yet.
fn elements(state: &ReadOnly, kind: &str, remote: &Remote, gaps: &mut Gaps) -> Result<Option<String>> {
    let kept = match remote.content {
        Some(hash) => state.wording(&Wording::Elements(hash.0.to_vec()))?,
        None => None,
    };
    if kept.is_none() {
        gaps.unread.push(json!({ "kind": kind, "id": remote.id, "title": remote.name }));
    }
    Ok(kept)
}

fn storage(state: &mut ReadOnly, bundle: &mut Bundle) -> Result<(usize, usize)> {
    let (mut folders, mut files) = (0, 0);
    for item in view::stored(state)? {
        let (Some(id), false) = (&item.id, item.presence == Some(Listing::Gone)) else { continue };
        let position = number(item.position.unwrap_or(0.0));
        let checked_at = item.checked_at.unwrap_or_default();
        if item.is_folder {
            folders += 1;
            let value = json!({
                "id": id, "parent_folder_id": item.folder, "name": item.name, "position": position,
            });
            let about =
                about("folder", id, &item.name, checked_at, item.path.as_ref().filter(|_| item.was_here));
            bundle.put_item(
                &format!("api/storage/folders/{id}.json"),
                format!("{value}\n").as_bytes(),
                about,
            )?;
            continue;
        }
        files += 1;
        let value = json!({
            "id": id, "folder_id": item.folder, "attachment_id": item.attachment, "position": position,
            "filename": item.name, "size_bytes": item.size,
        });
        let about = about("file", id, &item.name, checked_at, item.path.as_ref().filter(|_| item.was_here));
        let value = Rest::stored(item.rest.as_deref()).behind(value);
        bundle.put_item(&format!("api/storage/files/{id}.json"), format!("{value}\n").as_bytes(), about)?;
    }
    Ok((folders, files))
}

/// A number in its shortest form: `3` and not `3.0`.
fn number(value: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only whole numbers that fit are written as integers"
    )]
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}
