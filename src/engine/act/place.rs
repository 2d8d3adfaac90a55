//! The names of pages that have no file yet, and of conflict copies. [`crate::plan::place`] says where files belong.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::state::{Context, Engine, Pages, Trees};
use crate::model::{MirrorPath, Node, PageId, Timestamp, WorkspaceId};
use crate::plan::naming;
use crate::plan::place::room;

impl Pages {
    /// Gives every listed page without a file its name, so that children can be placed before parents are written.
    pub(crate) fn choose_stems(&mut self, workspace: &WorkspaceId, cx: &mut Context) {
        let mut nameless: Vec<(f64, PageId)> = self
            .trees
            .pages
            .values()
            .filter(|node| node.workspace == *workspace && node.file.is_none() && node.base.is_none())
            .filter(|node| {
                node.stem.as_deref().is_none_or(|stem| !naming::still_says(stem, &node.remote.title))
            })
            // A folder whose page has another title at the service stays that page's: it follows the page's file.
            .filter(|node| !self.trees.layout().has_waiting_folder(node))
            .map(|node| (node.remote.position, node.id.clone()))
            .collect();
        nameless.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        // Parents first: the room for a child's name depends on the length of its folder's path.
        let mut waiting: Vec<PageId> = nameless.into_iter().map(|(_, id)| id).collect();
        let mut given: BTreeMap<MirrorPath, BTreeSet<String>> = BTreeMap::new();
        loop {
            let before = waiting.len();
            let mut left = Vec::new();
            for id in waiting {
                let Some(node) = self.trees.pages.get(&id).cloned() else { continue };
                let Some(folder) =
                    self.trees.layout().folder_for_children(workspace, self.trees.layout().parent_of(&node))
                else {
                    left.push(id);
                    continue;
                };
                let given = given.entry(folder.clone()).or_default();
                let nowhere = Node { file: None, ..node };
                let stem = self.trees.layout().stem_for(&nowhere, &folder, given);
                given.insert(naming::fold(&stem));
                self.edit_page(&id, |node| node.stem = Some(stem.into()), cx);
            }
            if left.is_empty() || left.len() == before {
                return;
            }
            waiting = left;
        }
    }
}

impl Trees {
    /// The path of a conflict copy beside a page's file.
    pub(crate) fn conflict_path(&self, beside: &MirrorPath, cx: &Context) -> Option<MirrorPath> {
        let folder = beside.parent()?;
        let names: BTreeSet<String> = cx
            .store
            .conflicts()
            .unwrap_or_default()
            .iter()
            .map(|conflict| conflict.path.clone())
            .chain(self.occupied().iter().cloned())
            .filter(|path| path.parent().as_ref() == Some(&folder))
            .filter_map(|path| path.page_stem().map(naming::fold))
            .collect();
        let when = wall_time(cx.now, cx.settings.utc_offset_seconds);
        let name =
            naming::conflict_copy(beside.page_stem()?, when, &|key| names.contains(key), room(&folder));
        folder.join(&name).ok()
    }
}

impl Engine {
    /// Sets the offset of local time from UTC, in seconds, for the names of conflict copies.
    pub fn set_utc_offset(&mut self, seconds: i32) {
        self.cx.settings.utc_offset_seconds = seconds;
    }
}

pub(crate) fn wall_time(at: Timestamp, offset_seconds: i32) -> naming::WallTime {
    naming::WallTime::at(at, offset_seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Settings;
    use crate::store::Store;

    #[test]
    fn conflict_copies_are_named_by_the_clock_on_the_wall() {
        let store = Store::in_memory().unwrap();
        let mut engine = Engine::open(store, Settings::default(), [7; 32], Timestamp(0)).unwrap();
        let beside = MirrorPath::new("Equipo/Pages/Plan.md").unwrap();
        let name = |engine: &Engine| {
            engine.pages.trees.conflict_path(&beside, &engine.cx).unwrap().name().to_owned()
        };
        assert_eq!(name(&engine), "Plan.conflict-19700101-000000.md");
        engine.set_utc_offset(7_200);
        assert_eq!(name(&engine), "Plan.conflict-19700101-020000.md");
    }
}
