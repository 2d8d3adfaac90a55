//! What the planner is asked with: where files belong, what their places and names say.

use std::collections::BTreeSet;

use super::known::Mirror;
use crate::model::{ContentHash, LocalFile, MirrorPath, Node, PageId, Presence};
use crate::plan::names::Names;
use crate::plan::place::{self, Layout, agreed_folders};
use crate::plan::{Decision, Place, View, decide, naming};

impl Mirror {
    pub(super) fn decide(&self, node: &Node) -> Decision {
        let file = node.file.as_ref().and_then(|path| self.files.get(path));
        let there = matches!(node.remote.presence, Presence::Listed | Presence::Hidden);
        if there && self.sent.contains_key(&node.id) {
            return Decision::Look;
        }
        let local_parent =
            file.map_or(Place::Elsewhere, |file| self.placed(|layout| layout.place_of(&file.path)));
        let local_title = file.map(|file| place::title_said(node, file)).unwrap_or_default();
        let belongs = if node.base.is_some() && file.is_some() { self.belongs(node) } else { None };
        let front_is_stale = match (file, &belongs) {
            (Some(file), Some(path)) => {
                file.claims.as_ref().is_some_and(|claims| *claims != node.id)
                    || file.front_title != place::wanted_front_title(file, path, &node.remote.title)
            }
            _ => false,
        };
        let moment = self.moments.get(&node.id);
        let is_over = |since: i64| self.scanned >= since + self.grace;
        decide(&View {
            node,
            file,
            local_parent: &local_parent,
            local_title: &local_title,
            meaning: file.and_then(|file| self.meaning(node, file)),
            belongs: belongs.as_ref(),
            front_is_stale,
            rests: moment.and_then(|moment| moment.moved_at).is_some_and(is_over),
            grace_is_over: self.grace_is_over(node),
            sends: true,
            deletes: self.deletes,
            moves: self.moves,
        })
    }

    pub(super) fn grace_is_over(&self, node: &Node) -> bool {
        node.missing_since.is_some_and(|since| self.scanned >= since.0 + self.grace)
    }

    pub(super) fn meaning(&self, node: &Node, file: &LocalFile) -> Option<ContentHash> {
        if let Some(base) = node.base.as_ref().filter(|base| base.text.is_some() && base.text == file.hash) {
            return Some(base.body);
        }
        let (text, body) = self.moments.get(&node.id)?.reading?;
        (Some(text) == file.hash).then_some(body)
    }

    /// The product's own placing, asked with what is known.
    pub(super) fn placed<T>(&self, ask: impl FnOnce(Layout<'_>) -> T) -> T {
        let names = Names::anew(self.pages.values(), self.files.keys().chain(&self.occupied));
        let agreed =
            self.pages.values().flat_map(|node| agreed_folders(node).map(|at| (at, node.id.clone())));
        ask(Layout {
            workspaces: &self.workspaces,
            pages: &self.pages,
            files: &self.files,
            folders: &self.folders,
            occupied: &self.occupied,
            names: &names,
            agreed: &agreed.collect(),
        })
    }

    pub(super) fn belongs(&self, node: &Node) -> Option<MirrorPath> {
        self.placed(|layout| layout.belongs(node))
    }

    pub(super) fn is_anothers(&self, folder: &MirrorPath, page: &PageId) -> bool {
        self.placed(|layout| layout.is_anothers(folder, page))
    }

    pub(super) fn choose_stems(&mut self) {
        for _ in 0..self.pages.len() {
            let nameless = self.pages.values().find_map(|node| {
                let has_name =
                    node.stem.as_deref().is_some_and(|stem| naming::still_says(stem, &node.remote.title));
                if node.file.is_some() || node.base.is_some() || has_name {
                    return None;
                }
                let bare = Node { stem: None, ..node.clone() };
                let stem = self.placed(|layout| {
                    let folder = layout.folder_for_children(&node.workspace, layout.parent_of(node))?;
                    Some(layout.stem_for(&bare, &folder, &BTreeSet::new()))
                })?;
                Some((node.id.clone(), stem))
            });
            let Some((id, stem)) = nameless else { return };
            self.pages.get_mut(&id).unwrap().stem = Some(stem);
        }
    }
}
