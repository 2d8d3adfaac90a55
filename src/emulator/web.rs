//! The app of the demo: one page in the browser that shows the workspace as an app does and can change it. It exists only
//! where [`World::open_app`] was called, and only under the key that was given there: no other web page can guess it.
//!
//! It is part of the emulator, not of the API: nothing here costs a request or is logged. The files beside this one are the whole
//! page, without external scripts, fonts or pictures; it gets the state as JSON, changes as server-sent events, and sends acts.

mod runs;
mod state;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::http::{Answered, HttpResponse, object, refuse};
use super::world::World;
use crate::model::{PageId, WorkspaceId};

/// The path that the app lies beneath, before its key.
pub(super) const PREFIX: &str = "/app/";

const PAGE: &str = concat!(
    include_str!("web/head.html"),
    "<style>\n",
    include_str!("web/app.css"),
    "</style>\n",
    include_str!("web/body.html"),
    "<script>\n",
    include_str!("web/app.js"),
    "</script>\n</body>\n</html>\n",
);

/// What the page may do: its own inline script and style, and requests to where it came from.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What a browser asks of the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask<'a> {
    /// The page itself.
    Page,
    /// Everything it shows.
    State,
    /// A line for each change, for as long as the browser listens.
    Events,
    /// Something that a person did.
    Act(&'a [u8]),
}

impl World {
    /// Lets browsers see and change this workspace beneath `/app/` and `key`.
    pub fn open_app(&mut self, key: &str) {
        self.app_key = Some(key.to_owned());
    }

    /// What a request beneath `/app/` asks for; `None` where there is no such place, or another key. `host` is the `Host`
    /// header: a name that only leads to this machine could be another page's.
    pub(super) fn app_ask<'a>(
        &self,
        method: &str,
        path: &str,
        host: Option<&str>,
        body: &'a [u8],
    ) -> Option<Ask<'a>> {
        let is_local =
            host.is_some_and(|host| host.starts_with("127.0.0.1:") || host.starts_with("localhost:"));
        let (key, place) = path.strip_prefix(PREFIX)?.split_once('/')?;
        if !is_local || self.app_key.as_deref() != Some(key) {
            return None;
        }
        match (method, place) {
            ("GET", "") => Some(Ask::Page),
            ("GET", "state") => Some(Ask::State),
            ("GET", "events") => Some(Ask::Events),
            ("POST", "act") => Some(Ask::Act(body)),
            _ => None,
        }
    }

    /// The page, with the headers that fence it in.
    pub(super) fn app_page() -> HttpResponse {
        let mut page = HttpResponse::bytes(200, "text/html; charset=utf-8", PAGE.into());
        for (name, value) in [
            ("content-security-policy", POLICY),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
        ] {
            page.headers.push((name.to_owned(), value.to_owned()));
        }
        page
    }

    /// Carries out what a person did in the page. The answer holds the id of what was made, if anything was.
    ///
    /// `act` is one of `title` (`page`, `title`), `text` (`page`, `block`, `text`), `tick` (`page`, `block`, `checked`),
    /// `block` (`page`, `after`, `type`), `remove` (`page`, `block`), `page` (`workspace`, `parent`, `title`), `trash`
    /// (`page`) and `restore` (`page`).
    pub(super) fn app_act(&mut self, body: &[u8]) -> Answered {
        let asked = object(body)?;
        let word = |key: &str| asked.get(key).and_then(Value::as_str);
        let page = word("page").and_then(|id| PageId::new(id).ok());
        let done = match (word("act"), page) {
            (Some("title"), Some(page)) => self.app_rename(&page, word("title").unwrap_or_default().trim()),
            (Some("trash"), Some(page)) => self.app_trash(&page),
            (Some("restore"), Some(page)) => self.app_restore(&page),
            (Some("page"), _) => {
                let workspace = word("workspace").and_then(|id| WorkspaceId::new(id).ok());
                let Some(workspace) = workspace else { return refuse(400, "workspace is missing") };
                let parent = word("parent").and_then(|id| PageId::new(id).ok());
                let title = word("title").unwrap_or_default();
                let made = self.app_create(&workspace, parent.as_ref(), title, Vec::new());
                return Ok(HttpResponse::json(200, &json!({ "id": made.as_str() })));
            }
            (Some("block"), Some(page)) => {
                let made = self.ids.uuid();
                let block = new_block(&made, word("type").unwrap_or("paragraph"));
                if !self.app_insert_block(&page, word("after"), block) {
                    return refuse(404, "The page does not exist");
                }
                return Ok(HttpResponse::json(200, &json!({ "id": made })));
            }
            (Some(act), Some(page)) => {
                self.app_change_block(&page, word("block").unwrap_or_default(), act, &asked)
            }
            _ => return refuse(400, "act or page is missing"),
        };
        if done { Ok(HttpResponse::json(200, &json!({}))) } else { refuse(404, "It does not exist any more") }
    }

    fn app_insert_block(&mut self, page: &PageId, after: Option<&str>, block: Value) -> bool {
        let Some(mut content) = self.page(page).map(|page| page.content.clone()) else { return false };
        match after {
            None => content.insert(0, block),
            Some(after) => {
                if let Err(block) = insert_after(&mut content, after, block) {
                    content.push(block);
                }
            }
        }
        self.app_edit(page, content)
    }

    fn app_change_block(
        &mut self,
        page: &PageId,
        block: &str,
        act: &str,
        asked: &Map<String, Value>,
    ) -> bool {
        let Some(mut content) = self.page(page).map(|page| page.content.clone()) else { return false };
        let found = if act == "remove" {
            remove(&mut content, block)
        } else {
            change(&mut content, block, &mut |block| match act {
                "tick" => {
                    block["props"]["checked"] = asked.get("checked").cloned().unwrap_or(Value::Bool(true))
                }
                "text" => {
                    let text = asked.get("text").and_then(Value::as_str).unwrap_or_default();
                    if let Some(before) = block.get("content").and_then(Value::as_array) {
                        block["content"] = Value::Array(runs::retyped(before, text));
                    }
                }
                _ => {}
            })
        };
        found && self.app_edit(page, content)
    }
}

/// A block with the five fields that every block has (API document, "Block").
fn new_block(id: &str, kind: &str) -> Value {
    let mut props = json!({ "textColor": "default", "backgroundColor": "default", "textAlignment": "left" });
    if kind == "checkListItem" {
        props["checked"] = Value::Bool(false);
    }
    json!({ "id": id, "type": kind, "props": props, "content": [], "children": [] })
}

fn children(block: &mut Value) -> Option<&mut Vec<Value>> {
    block.get_mut("children").and_then(Value::as_array_mut)
}

/// Changes the block of this id, wherever it is nested. Whether there is one.
fn change(blocks: &mut [Value], id: &str, act: &mut dyn FnMut(&mut Value)) -> bool {
    blocks.iter_mut().any(|block| {
        if block["id"] == id {
            act(block);
            return true;
        }
        children(block).is_some_and(|inside| change(inside, id, act))
    })
}

/// Removes the block of this id with what is nested in it. Whether there was one.
fn remove(blocks: &mut Vec<Value>, id: &str) -> bool {
    let before = blocks.len();
    blocks.retain(|block| block["id"] != id);
    blocks.len() < before
        || blocks.iter_mut().any(|block| children(block).is_some_and(|inside| remove(inside, id)))
}

/// Puts `new` behind the block of this id, as its sibling; gives it back where there is none.
fn insert_after(blocks: &mut Vec<Value>, id: &str, mut new: Value) -> Result<(), Value> {
    if let Some(at) = blocks.iter().position(|block| block["id"] == id) {
        blocks.insert(at + 1, new);
        return Ok(());
    }
    for block in blocks {
        if let Some(inside) = children(block) {
            match insert_after(inside, id, new) {
                Ok(()) => return Ok(()),
                Err(back) => new = back,
            }
        }
    }
    Err(new)
}
