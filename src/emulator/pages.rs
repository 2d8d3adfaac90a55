//! Pages: the five endpoints under `/pages`, with every rule that the API document has for them.
//!
//! Where the document is silent: a title that is not a string, a content that is not an array, and `null` for either
//! are refused with 400; an empty title in PATCH becomes the default title, as in POST; a title of spaces stays as it
//! is; a caller who may look but not write gets 404 from PATCH and DELETE ("the caller cannot edit it") and 400 from
//! POST; an id that is no UUID is 400 for DELETE alone, which the document says so of, and 404 elsewhere.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::http::{Answered, Refusal, created, object, ok, parameter, refuse};
use super::workspaces::WorkspaceRecord;
use super::world::World;
use crate::model::{Blocks, PageId, WorkspaceId};

/// The title of a page that was made without one.
pub const DEFAULT_TITLE: &str = "Sin título";

/// A page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageRecord {
    /// Its id.
    pub id: PageId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// The page it is under.
    pub parent: Option<PageId>,
    /// Its title.
    pub title: String,
    /// Its emoji.
    pub icon: Option<String>,
    /// Its order among its siblings.
    pub position: f64,
    /// Its blocks, as they were sent.
    pub content: Blocks,
    /// A dashboard's magnets.
    pub nevera: Option<Value>,
    /// Whether it is in the trash; the number tells which pages went there together.
    pub trashed: Option<u64>,
    /// Whether the caller may not see it, although they belong to the workspace.
    pub hidden: bool,
    /// How many pages were made before it.
    pub serial: u64,
    /// Another workspace whose list shows it, too, as its own.
    #[serde(default)]
    pub also_in: Option<WorkspaceId>,
}

impl PageRecord {
    fn to_json(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "workspace_id": self.workspace.as_str(),
            "parent_page_id": self.parent.as_ref().map(PageId::as_str),
            "title": self.title,
            "icon": self.icon,
            "position": number(self.position),
        })
    }

    fn to_json_with_content(&self) -> Value {
        let mut page = self.to_json();
        page["content"] = Value::Array(self.content.clone());
        page["nevera"] = self.nevera.clone().unwrap_or(Value::Null);
        page
    }
}

impl World {
    /// A page, in the trash or not, visible or not.
    #[must_use]
    pub fn page(&self, id: &PageId) -> Option<&PageRecord> {
        self.pages.get(id)
    }

    /// Every page there is, by id, in the trash or not, visible or not.
    pub fn pages(&self) -> impl Iterator<Item = &PageRecord> {
        self.pages.values()
    }

    /// The pages that `GET /pages` lists for this workspace, in its order.
    #[must_use]
    pub fn visible_pages(&self, workspace: &WorkspaceId) -> Vec<&PageRecord> {
        if self.membership(workspace.as_str()).is_none() {
            return Vec::new();
        }
        let mut pages: Vec<&PageRecord> = self
            .pages
            .values()
            .filter(|page| page.workspace == *workspace && page.trashed.is_none() && !page.hidden)
            .collect();
        pages.sort_by(|a, b| a.position.total_cmp(&b.position).then(a.serial.cmp(&b.serial)));
        pages
    }

    /// The page itself and everything under it, that is in the same state (active, or the same act of trashing).
    pub(super) fn subtree(&self, id: &PageId) -> Vec<PageId> {
        let Some(top) = self.pages.get(id) else { return Vec::new() };
        let mut found = vec![id.clone()];
        let mut next = 0;
        while next < found.len() {
            let parent = found[next].clone();
            found.extend(
                self.pages
                    .values()
                    .filter(|page| page.parent.as_ref() == Some(&parent) && page.trashed == top.trashed)
                    .map(|page| page.id.clone()),
            );
            next += 1;
        }
        found
    }

    /// Puts a new page last among its siblings.
    pub(super) fn insert_page(
        &mut self,
        workspace: &WorkspaceId,
        parent: Option<PageId>,
        title: &str,
        content: Blocks,
    ) -> PageId {
        let id = PageId::new(&self.ids.uuid()).expect("a UUID is a usable id");
        let position = self
            .pages
            .values()
            .filter(|page| page.workspace == *workspace && page.parent == parent && page.trashed.is_none())
            .map(|page| page.position + 1.0)
            .fold(0.0, f64::max);
        let title = if title.is_empty() { DEFAULT_TITLE } else { title };
        let serial = self.pages_made;
        self.pages_made += 1;
        self.pages.insert(
            id.clone(),
            PageRecord {
                id: id.clone(),
                workspace: workspace.clone(),
                parent,
                title: title.to_owned(),
                icon: None,
                position,
                content,
                nevera: None,
                trashed: None,
                hidden: false,
                serial,
                also_in: None,
            },
        );
        id
    }

    /// Moves a page and everything active under it to the trash.
    pub(super) fn put_in_trash(&mut self, id: &PageId) {
        let batch = self.pages.values().filter_map(|page| page.trashed).max().map_or(0, |last| last + 1);
        for id in self.subtree(id) {
            if let Some(page) = self.pages.get_mut(&id) {
                page.trashed = Some(batch);
            }
        }
    }

    /// `GET /pages`.
    pub(super) fn list_pages(&self, query: &str) -> Answered {
        let Some(workspace) = parameter(query, "workspace_id") else {
            return refuse(400, "workspace_id is required");
        };
        let Ok(workspace) = WorkspaceId::new(&workspace) else { return ok(json!([])) };
        let own = self.visible_pages(&workspace).into_iter().map(PageRecord::to_json);
        let others = self.pages.values().filter(|page| page.also_in.as_ref() == Some(&workspace));
        let as_own = |page: &PageRecord| {
            let mut json = page.to_json();
            json["workspace_id"] = json!(workspace.as_str());
            json
        };
        ok(own.chain(others.filter(|page| page.trashed.is_none()).map(as_own)).collect())
    }

    /// `POST /pages`.
    pub(super) fn create_page(&mut self, body: &[u8]) -> Answered {
        let body = object(body)?;
        let workspace = match body.get("workspace_id") {
            Some(Value::String(id)) if !id.is_empty() => id,
            _ => return refuse(400, "workspace_id is required"),
        };
        let title = text(body.get("title"), "title")?.unwrap_or("");
        let parent = match body.get("parent_page_id") {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) => Some(id),
            Some(_) => return refuse(400, "parent_page_id must be a string"),
        };
        let Some(workspace) = self.membership(workspace).filter(|workspace| workspace.role_writes()) else {
            return refuse(400, "The page could not be created there");
        };
        self.refuse_if_frozen(workspace)?;
        let workspace = workspace.id.clone();
        let parent = match parent {
            None => None,
            Some(id) => match self.shown(id).filter(|(page, _)| page.workspace == workspace) {
                Some((page, _)) => Some(page.id.clone()),
                None => return refuse(400, "The page could not be created there"),
            },
        };
        let id = self.insert_page(&workspace, parent, title, Blocks::new());
        created(self.pages[&id].to_json())
    }

    /// `GET /pages/:id`.
    pub(super) fn get_page(&self, id: &str) -> Answered {
        if let Some((page, _)) = self.shown(id) {
            return ok(page.to_json_with_content());
        }
        let trashed = self.known(id).filter(|(page, _)| page.trashed.is_some());
        match trashed {
            Some((page, _)) if self.choices.trashed_page_is_shown => ok(page.to_json_with_content()),
            _ => refuse(404, "Page not found"),
        }
    }

    /// `PATCH /pages/:id`.
    pub(super) fn update_page(&mut self, id: &str, body: &[u8]) -> Answered {
        let id = self.writable(id)?;
        let mut body = object(body)?;
        let title = text(body.get("title"), "title")?.map(str::to_owned);
        let content = match body.remove("content") {
            None => None,
            Some(Value::Array(blocks)) => Some(blocks),
            Some(_) => return refuse(400, "content must be an array"),
        };
        if title.is_none() && content.is_none() {
            return refuse(400, "Nothing to update: send title or content");
        }
        let page = self.pages.get_mut(&id).expect("it was found above");
        if let Some(title) = title {
            page.title = if title.is_empty() { DEFAULT_TITLE.to_owned() } else { title };
        }
        if let Some(content) = content {
            page.content = content;
        }
        ok(page.to_json())
    }

    /// `DELETE /pages/:id`.
    pub(super) fn trash_page(&mut self, id: &str) -> Answered {
        if id.len() != 36 || uuid::Uuid::try_parse(id).is_err() {
            return refuse(400, "The page id is not valid");
        }
        let id = self.writable(id)?;
        self.put_in_trash(&id);
        ok(json!({ "id": id.as_str(), "papelera": true }))
    }

    /// A page that the caller may know of, in the trash or not.
    fn known(&self, id: &str) -> Option<(&PageRecord, &WorkspaceRecord)> {
        let page = self.pages.get(&PageId::new(id).ok()?).filter(|page| !page.hidden)?;
        Some((page, self.membership(page.workspace.as_str())?))
    }

    /// A page that the caller sees.
    fn shown(&self, id: &str) -> Option<(&PageRecord, &WorkspaceRecord)> {
        self.known(id).filter(|(page, _)| page.trashed.is_none())
    }

    /// The id of a page that the caller may write.
    fn writable(&self, id: &str) -> Result<PageId, Refusal> {
        let Some((page, workspace)) = self.shown(id).filter(|(_, workspace)| workspace.role_writes()) else {
            return refuse(404, "Page not found");
        };
        self.refuse_if_frozen(workspace)?;
        Ok(page.id.clone())
    }
}

/// A text that may be left out.
fn text<'a>(value: Option<&'a Value>, name: &str) -> Result<Option<&'a str>, Refusal> {
    match value {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => refuse(400, format!("{name} must be a string")),
    }
}

/// A number in its shortest form: `3` and not `3.0`.
fn number(value: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only whole numbers that fit are written as integers"
    )]
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}
