//! Workspaces and pages as the service sends them (API document, "Resources and their fields").

use serde_json::Value;

use super::block::{Skimmed, skim};
use super::{Blocks, BodyJson, PageId, Rest, WorkspaceId};

/// A workspace as `GET /workspaces` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// Its name, which its folder is named after.
    pub name: String,
    /// Its slug, which the config may use as its name.
    pub slug: String,
    /// The caller's role, as sent; the values are not documented.
    pub role: String,
    /// Whether the service refuses writes to it.
    pub frozen: bool,
    /// Its other fields.
    pub rest: Rest,
}

impl Workspace {
    /// A workspace of which only the id is known.
    #[must_use]
    pub fn unnamed(id: WorkspaceId) -> Self {
        let (name, slug, role) = (id.to_string(), String::new(), String::new());
        Self { id, name, slug, role, frozen: false, rest: Rest::default() }
    }

    /// Whether the config may mean it by this name.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.slug == name || self.name == name || self.id.as_str() == name
    }
}

/// A page without its content, as lists and writes answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct PageMeta {
    /// Its id.
    pub id: PageId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// Its parent page; `None` at the top.
    pub parent: Option<PageId>,
    /// Its title, exactly.
    pub title: String,
    /// Its emoji, if it has one.
    pub icon: Option<String>,
    /// Its order among its siblings.
    pub position: f64,
}

/// A page with its content, as `GET /pages/:id` answers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// All fields but the content.
    pub meta: PageMeta,
    /// Its content, exactly as sent, printed. The parser of the blocks prints them too, so that the engine need not.
    pub json: BodyJson,
    /// The blocks that show new facts: all of them. For a long content only those that the API document does not
    /// describe or that have an inline item, and the first of each shape.
    pub telling: Blocks,
    /// The text of the content, one line for each block, if `telling` does not hold all blocks.
    pub lines: Option<String>,
    /// A dashboard's magnets, as sent; `None` on a regular page.
    pub nevera: Option<Value>,
    /// Whether its content was `null`, which may stand for an empty one.
    pub is_null: bool,
}

impl Page {
    /// A page with these blocks.
    #[must_use]
    pub fn new(meta: PageMeta, content: Blocks, nevera: Option<Value>) -> Self {
        Self { meta, json: BodyJson::of(&content), telling: content, lines: None, nevera, is_null: false }
    }

    /// A page with a long content, of which at most one block at a time is in memory; `None` if it is short, or
    /// unusual in any way.
    #[must_use]
    pub fn of_long(meta: PageMeta, content: &[u8], nevera: Option<Value>) -> Option<Self> {
        let Skimmed { json, telling, lines } = skim(content)?;
        Some(Self { meta, json, telling, lines: Some(lines), nevera, is_null: false })
    }
}
