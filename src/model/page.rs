//! What the service says of workspaces and pages (API document, "Resources and their fields").

use serde_json::Value;

use super::block::{Skimmed, skim};
use super::{Blocks, BodyJson, PageId, Rest, WorkspaceId};

/// A workspace as `GET /workspaces` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// Its name, which names its folder.
    pub name: String,
    /// Its slug, which the config may name it by.
    pub slug: String,
    /// The caller's role, as sent; the values are not documented.
    pub role: String,
    /// Whether the service refuses writes to it.
    pub frozen: bool,
    /// What else the service says of it.
    pub rest: Rest,
}

/// A page without its content, as lists and writes answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct PageMeta {
    /// Its id.
    pub id: PageId,
    /// The workspace it is in.
    pub workspace: WorkspaceId,
    /// The page it is under; `None` at the top.
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
    /// Everything but the content.
    pub meta: PageMeta,
    /// Its content, exactly as sent, printed: the reader of the blocks prints them too, so that the engine need not.
    pub json: BodyJson,
    /// The blocks that anything can be learnt from: all of them, or of a long content those that the API document does
    /// not describe and the first of each shape.
    pub telling: Blocks,
    /// What it says, a line for each block, where `telling` is not all of it.
    pub lines: Option<String>,
    /// A dashboard's magnets, as sent; `None` on a regular page.
    pub nevera: Option<Value>,
    /// Whether its content came as `null`, which may stand for an empty one.
    pub is_null: bool,
}

impl Page {
    /// A page of these blocks.
    #[must_use]
    pub fn new(meta: PageMeta, content: Blocks, nevera: Option<Value>) -> Self {
        Self { meta, json: BodyJson::of(&content), telling: content, lines: None, nevera, is_null: false }
    }

    /// A page of a long content, of which no more than a block is held at a time; `None` when it is short, or unusual in
    /// any way.
    #[must_use]
    pub fn of_long(meta: PageMeta, content: &[u8], nevera: Option<Value>) -> Option<Self> {
        let Skimmed { json, telling, lines } = skim(content)?;
        Some(Self { meta, json, telling, lines: Some(lines), nevera, is_null: false })
    }
}
