//! The things inside an answer's `data`: workspaces, pages, the result of a deletion.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::text::words;
use crate::model::{
    ContentHash, LONG_BODY, NESTED_MAX, Page, PageId, PageMeta, Rest, ServiceError, ServiceReply, Workspace,
    WorkspaceId, levels, parts, read_json,
};

/// Why a thing cannot be used, as the end of a sentence that begins with the thing.
pub(super) type Why = String;

/// To `GET /workspaces`. A workspace that cannot be read spoils the whole answer: it must not look as if it were gone.
pub(super) fn workspaces(data: &[u8]) -> Result<ServiceReply, ServiceError> {
    let mut workspaces: Vec<Workspace> = Vec::new();
    for (index, part) in list(data)?.into_iter().enumerate() {
        let workspace = object(part).and_then(|map| workspace(&map));
        let workspace =
            workspace.map_err(|why| garbled(format!("workspace {} of the list {why}", index + 1)))?;
        if workspaces.iter().any(|known| known.id == workspace.id) {
            return Err(garbled(format!("workspace {} is listed twice", workspace.id)));
        }
        workspaces.push(workspace);
    }
    Ok(ServiceReply::Workspaces(workspaces))
}

/// To `GET /pages`: what can be read, and a sentence for each entry that cannot.
/// A list that is `known` is not read: most lists of most days say what the one before said.
pub(super) fn pages(
    data: &[u8],
    workspace: &WorkspaceId,
    known: Option<ContentHash>,
) -> Result<ServiceReply, ServiceError> {
    let hash = ContentHash::of(data);
    if known == Some(hash) {
        return Ok(ServiceReply::PagesAsKnown);
    }
    let parts = list(data)?;
    let mut pages: Vec<PageMeta> = Vec::with_capacity(parts.len());
    let mut seen = BTreeSet::new();
    let mut skipped = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        let meta = object(part).and_then(|map| {
            let meta = meta(&map)?;
            if meta.workspace != *workspace {
                return Err(format!("says that it is in another workspace ({})", meta.workspace));
            }
            if !seen.insert(meta.id.clone()) {
                return Err(format!("has the id of an entry before it ({})", meta.id));
            }
            // The same words once in memory: there may be ten thousand entries.
            let parent = meta.parent.map(|id| seen.get(&id).cloned().unwrap_or(id));
            Ok(PageMeta { workspace: workspace.clone(), parent, ..meta })
        });
        match meta {
            Ok(meta) => pages.push(meta),
            Err(why) => skipped.push(format!("entry {} of the page list {why}", index + 1)),
        }
    }
    Ok(ServiceReply::Pages { pages, skipped, hash })
}

/// To `GET /pages/:id`.
pub(super) fn page(data: &[u8], id: &PageId) -> Result<Page, ServiceError> {
    let complain = |why| garbled(format!("page {id} {why}"));
    if hides_a_number(data) {
        return Err(complain(
            "has a key that espejo cannot keep as it is ($serde_json::private::Number)".to_owned(),
        ));
    }
    if let Some(page) = long_page(data, id) {
        return page.map_err(complain);
    }
    let mut map = object(data).map_err(complain)?;
    let mut is_null = false;
    let content = match map.shift_remove("content") {
        Some(Value::Array(blocks)) => blocks,
        Some(Value::Null) => {
            is_null = true;
            Vec::new()
        }
        Some(other) => {
            return Err(complain(format!("has {} as its content instead of an array", kind(&other))));
        }
        None => return Err(complain("has no content".to_owned())),
    };
    let (meta, nevera) = about(map, id).map_err(complain)?;
    Ok(Page { is_null, ..Page::new(meta, content, nevera) })
}

/// A page whose content is long; `None` when it is read like any other.
fn long_page(data: &[u8], id: &PageId) -> Option<Result<Page, Why>> {
    let (map, content) = long_object(data)?;
    let content = content?;
    match about(map, id) {
        Ok((meta, nevera)) => Page::of_long(meta, content, nevera).map(Ok),
        Err(why) => Some(Err(why)),
    }
}

/// An object, and the bytes of its content, if it has one.
type Contained<'a> = (Map<String, Value>, Option<&'a [u8]>);

/// The members of a long answer, and its content, which is not read.
fn long_object(data: &[u8]) -> Option<Contained<'_>> {
    if data.len() < LONG_BODY {
        return None;
    }
    let mut content = None;
    let mut map = Map::new();
    for (key, part) in parts::members(data)?.ok()? {
        if key == "content" {
            if content.replace(part).is_some() {
                // Which of the two counts is the usual reader's business.
                return None;
            }
        } else {
            map.insert(key, read_json(part).ok()?);
        }
    }
    Some((map, content))
}

/// What a page has besides its content.
fn about(mut map: Map<String, Value>, id: &PageId) -> Result<(PageMeta, Option<Value>), Why> {
    let nevera = map.shift_remove("nevera").filter(|nevera| !nevera.is_null());
    let meta = meta(&map).and_then(|meta| same(meta, id))?;
    Ok((meta, nevera))
}

/// To `PATCH /pages/:id`.
pub(super) fn updated(data: &[u8], id: &PageId) -> Result<PageMeta, ServiceError> {
    long_object(data)
        .map_or_else(|| object(data), |(map, _)| Ok(map))
        .and_then(|map| meta(&map))
        .and_then(|meta| same(meta, id))
        .map_err(|why| garbled(format!("the updated page {id} {why}")))
}

/// To `POST /pages`.
pub(super) fn created(data: &[u8], workspace: &WorkspaceId) -> Result<PageMeta, ServiceError> {
    let meta =
        object(data).and_then(|map| meta(&map)).map_err(|why| garbled(format!("the new page {why}")))?;
    if meta.workspace == *workspace {
        Ok(meta)
    } else {
        Err(garbled(format!(
            "the new page {} says that it is in another workspace ({})",
            meta.id, meta.workspace
        )))
    }
}

/// To `DELETE /pages/:id`.
pub(super) fn trashed(data: &[u8], id: &PageId) -> Result<(), ServiceError> {
    let map = object(data).map_err(|why| garbled(format!("the result of trashing {id} {why}")))?;
    match map.get("id") {
        Some(Value::String(told)) if told == id.as_str() => Ok(()),
        _ => Err(garbled(format!("the result of trashing {id} is not about that page"))),
    }
}

fn workspace(map: &Map<String, Value>) -> Result<Workspace, Why> {
    let id = WorkspaceId::new(text(map, "id")?)
        .map_err(|bad| format!("has an id that cannot be used: {bad:?}"))?;
    Ok(Workspace {
        id,
        name: text(map, "name")?.to_owned(),
        slug: optional(map, "slug")?.unwrap_or("").to_owned(),
        role: optional(map, "role")?.unwrap_or("").to_owned(),
        frozen: match map.get("frozen") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(frozen)) => *frozen,
            Some(other) => return Err(format!("has {} as its frozen", kind(other))),
        },
        rest: Rest::of(map, &["id", "name", "slug", "role", "frozen"]),
    })
}

fn meta(map: &Map<String, Value>) -> Result<PageMeta, Why> {
    let unusable = |bad: crate::model::BadId| format!("has an id that cannot be used: {:?}", bad.0);
    let id = PageId::new(text(map, "id")?).map_err(unusable)?;
    let named = |why| format!("(id {id}) {why}");
    let workspace =
        WorkspaceId::new(text(map, "workspace_id").map_err(named)?).map_err(unusable).map_err(named)?;
    let parent = optional(map, "parent_page_id").map_err(named)?;
    let parent = parent.map(PageId::new).transpose().map_err(unusable).map_err(named)?;
    let title = match map.get("title") {
        // The document has no page without a title; null is the one way to say so that cannot mean anything else.
        Some(Value::Null) => String::new(),
        _ => text(map, "title").map_err(named)?.to_owned(),
    };
    let position = match map.get("position") {
        None | Some(Value::Null) => 0.0,
        Some(Value::Number(number)) => number.as_f64().unwrap_or(0.0),
        Some(other) => return Err(named(format!("has {} as its position", kind(other)))),
    };
    // Nothing hangs on an icon: one that is no text is as good as none.
    let icon = map.get("icon").and_then(Value::as_str).filter(|icon| !icon.is_empty()).map(str::to_owned);
    Ok(PageMeta { id, workspace, parent, title, icon, position })
}

fn same(meta: PageMeta, id: &PageId) -> Result<PageMeta, Why> {
    if meta.id == *id { Ok(meta) } else { Err(format!("was requested, but page {} came", meta.id)) }
}

pub(super) fn list(data: &[u8]) -> Result<Vec<&[u8]>, ServiceError> {
    match parts::elements(data) {
        Some(Ok(elements)) => Ok(elements),
        Some(Err(error)) => {
            Err(garbled(format!("its list is not valid JSON: {}", words(&error.to_string()))))
        }
        None => Err(garbled("its “data” is not a list".to_owned())),
    }
}

pub(super) fn object(part: &[u8]) -> Result<Map<String, Value>, Why> {
    if levels(part) > NESTED_MAX {
        return Err(format!("is nested more than {NESTED_MAX} levels deep"));
    }
    match read_json(part) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(other) => Err(format!("is {} instead of an object", kind(&other))),
        Err(error) => Err(format!("cannot be read: {}", words(&error.to_string()))),
    }
}

pub(super) fn text<'a>(map: &'a Map<String, Value>, key: &str) -> Result<&'a str, Why> {
    match map.get(key) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(format!("has {} as its {key}", kind(other))),
        None => Err(format!("has no {key}")),
    }
}

pub(super) fn optional<'a>(map: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, Why> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => text(map, key).map(Some),
    }
}

pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

pub(super) fn garbled(what: String) -> ServiceError {
    ServiceError::Garbled(what)
}

/// Whether an object has the one key that `serde_json` (with `arbitrary_precision`) takes for its own sign of a
/// number: that object would silently become a number.
pub(super) fn hides_a_number(json: &[u8]) -> bool {
    let Ok(json) = std::str::from_utf8(json) else { return false };
    // In a text the quote after the name would be `\"`, so only a key can match.
    json.match_indices("serde_json::private::Number\"").any(|(at, name)| {
        let rest = json[at + name.len()..].trim_start_matches([' ', '\t', '\r', '\n']);
        rest.starts_with(':')
    })
}
