//! An effect in a few words, for the record of a run.

use espejo::model::{Effect, PageId};

use crate::blocks;
use crate::canvas;
use crate::run::{Run, listed};
use crate::words::words_in;

impl Run {
    /// An effect in a few words.
    pub(crate) fn brief(&self, effect: &Effect) -> String {
        let page = |id: &PageId| {
            let title = self.service.world.page(id).map_or("?", |page| page.title.as_str());
            format!("{title:?} {}", id.as_str().get(..4).unwrap_or(""))
        };
        match effect {
            Effect::FetchPage(id) => format!("get {}", page(id)),
            Effect::ListPages { .. } => "list pages".to_owned(),
            Effect::CreatePage { parent, title, .. } => {
                format!("POST {title:?} under {}", parent.as_ref().map_or("the top".to_owned(), page))
            }
            Effect::UpdatePage { id, title, content } => {
                let words =
                    content.as_ref().map(|content| listed(&blocks::all_words(&blocks::sent(content))));
                format!("PATCH {} title {title:?} content {words:?}", page(id))
            }
            Effect::TrashPage(id) => format!("DELETE {}", page(id)),
            Effect::Board(effect) => canvas::brief(effect),
            Effect::Search(search) => format!("{search:?}"),
            Effect::WriteFile { path, bytes, expect } => {
                format!("write {path} [{}] over {expect:?}", listed(&words_in(bytes)))
            }
            Effect::Scan => "scan".to_owned(),
            Effect::ReadFile(path) => format!("read {path}"),
            Effect::Rename { from, to } => format!("rename {from} to {to}"),
            Effect::TrashFile { path, expect } => format!("trash {path} if {expect:?}"),
            Effect::RemoveFolder(path) => format!("remove folder {path}"),
            Effect::ListWorkspaces => "list workspaces".to_owned(),
            Effect::Storage(effect) => crate::stored::fetch::brief_effect(effect),
            Effect::Work(_) => "work".to_owned(),
        }
    }
}
