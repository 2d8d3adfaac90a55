//! What the planner is asked with: where files belong, what their places and names say.

use std::collections::BTreeSet;

use super::known::Mirror;
use super::world::TOP;
use crate::model::{ContentHash, LocalFile, MirrorPath, Node, PageId, Presence, folder_of};
use crate::plan::{self, Decision, Place, View, decide, naming};

impl Mirror {
    pub(super) fn decide(&self, node: &Node) -> Decision {
        let file = node.file.as_ref().and_then(|path| self.files.get(path));
        let there = matches!(node.remote.presence, Presence::Listed | Presence::Hidden);
        if there && self.sent.contains_key(&node.id) {
            return Decision::Look;
        }
        let local_parent = file.map_or(Place::Elsewhere, |file| self.place_of(&file.path));
        let local_title = file.map(|file| title_said(node, file)).unwrap_or_default();
        let belongs = if node.base.is_some() && file.is_some() { self.belongs(node) } else { None };
        let front_is_stale = match (file, &belongs) {
            (Some(file), Some(path)) => {
                file.claims.as_ref().is_some_and(|claims| *claims != node.id)
                    || file.front_title != wanted_front_title(file, path, &node.remote.title)
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

    pub(super) fn place_of(&self, file: &MirrorPath) -> Place {
        file.parent().map_or(Place::Elsewhere, |folder| self.folder_stands_for(&folder))
    }

    pub(super) fn folder_stands_for(&self, folder: &MirrorPath) -> Place {
        if folder.as_str() == TOP {
            return Place::Under(None);
        }
        let Some(up) = folder.parent().filter(|up| !up.is_root()) else { return Place::Elsewhere };
        let beside = up.join(&format!("{}.md", folder.name())).unwrap();
        if let Some(file) = self.files.get(&beside) {
            return file.page.clone().map_or(Place::Elsewhere, |page| Place::Under(Some(page)));
        }
        let agreed = self.pages.values().find(|node| {
            node.base.as_ref().is_some_and(|base| {
                base.folder_at.as_ref() == Some(folder) || folder_of(&base.path).as_ref() == Some(folder)
            })
        });
        if let Some(node) = agreed {
            return Place::Under(Some(node.id.clone()));
        }
        let Place::Under(parent) = self.folder_stands_for(&up) else { return Place::Elsewhere };
        let waiting = self.pages.values().find(|node| {
            node.remote.parent == parent
                && node.file.is_none()
                && node.base.is_none()
                && node.stem.as_deref() == Some(folder.name())
        });
        waiting.map_or(Place::Elsewhere, |node| Place::Under(Some(node.id.clone())))
    }

    pub(super) fn folder_for_children(&self, parent: Option<&PageId>) -> Option<MirrorPath> {
        let top = MirrorPath::new(TOP).unwrap();
        let Some(node) = parent.and_then(|id| self.pages.get(id)) else { return Some(top) };
        match (&node.base, &node.file) {
            (Some(base), _) if base.folder_at.is_some() => None,
            (Some(base), Some(file)) if base.path != *file => None,
            (_, Some(file)) => folder_of(file),
            (Some(base), None) => folder_of(&base.path)
                .filter(|folder| self.folders.contains(folder) && !self.is_anothers(folder, &node.id)),
            (None, None) if !matches!(node.remote.presence, Presence::Listed | Presence::Hidden) => Some(top),
            (None, None) => {
                let up = self.folder_for_children(node.remote.parent.as_ref())?;
                up.join(node.stem.as_deref()?).ok()
            }
        }
    }

    pub(super) fn is_anothers(&self, folder: &MirrorPath, page: &PageId) -> bool {
        let beside = folder.parent().and_then(|up| up.join(&format!("{}.md", folder.name())).ok());
        beside.and_then(|path| self.files.get(&path)).is_some_and(|file| file.page.as_ref() != Some(page))
    }

    pub(super) fn belongs(&self, node: &Node) -> Option<MirrorPath> {
        let folder = self.folder_for_children(node.remote.parent.as_ref())?;
        let title = &node.remote.title;
        if let Some(file) = node.file.as_ref().and_then(|path| self.files.get(path))
            && file.path.parent().as_ref() == Some(&folder)
            && plan::name_goes_with_title(node, file)
        {
            return Some(file.path.clone());
        }
        let taken = self.names_taken(&folder, node);
        if let Some(stem) = &node.stem
            && naming::still_says(stem, title)
            && !taken.contains(&naming::fold(stem))
        {
            return folder.join(&format!("{stem}.md")).ok();
        }
        let name = naming::choose(title, &|key| taken.contains(key), 252);
        folder.join(&format!("{}.md", name.stem)).ok()
    }

    fn names_taken(&self, folder: &MirrorPath, node: &Node) -> BTreeSet<String> {
        let entries = self.files.keys().chain(&self.occupied);
        let inside = entries.filter(|path| path.parent().as_ref() == Some(folder));
        let mut taken: BTreeSet<String> = inside
            .filter(|path| Some(*path) != node.file.as_ref())
            .filter_map(|path| path.page_stem().map(naming::fold))
            .collect();
        for sibling in self.pages.values().filter(|other| other.remote.parent == node.remote.parent) {
            if sibling.id != node.id && sibling.file.is_none() {
                let agreed = sibling.base.as_ref().and_then(|base| base.path.page_stem());
                taken.extend(agreed.into_iter().chain(sibling.stem.as_deref()).map(naming::fold));
            }
        }
        taken
    }

    pub(super) fn choose_stems(&mut self) {
        for _ in 0..self.pages.len() {
            let nameless = self.pages.values().find_map(|node| {
                let has_name =
                    node.stem.as_deref().is_some_and(|stem| naming::still_says(stem, &node.remote.title));
                if node.file.is_some() || node.base.is_some() || has_name {
                    return None;
                }
                let folder = self.folder_for_children(node.remote.parent.as_ref())?;
                let bare = Node { stem: None, ..node.clone() };
                let taken = self.names_taken(&folder, &bare);
                let name = naming::choose(&node.remote.title, &|key| taken.contains(key), 252);
                Some((node.id.clone(), name.stem))
            });
            let Some((id, stem)) = nameless else { return };
            self.pages.get_mut(&id).unwrap().stem = Some(stem);
        }
    }
}

fn title_said(node: &Node, file: &LocalFile) -> String {
    let stem = file.path.page_stem().unwrap_or_default();
    let Some(base) = &node.base else {
        return file.front_title.clone().unwrap_or_else(|| naming::title_of(stem));
    };
    if let Some(title) = file.front_title.as_ref().filter(|_| file.front_title != base.front_title) {
        return title.clone();
    }
    if Some(stem) == base.path.page_stem() || naming::still_says(stem, &base.title) {
        return base.title.clone();
    }
    naming::retitled(stem, &base.title)
}

pub(super) fn front_title_for(path: &MirrorPath, title: &str) -> Option<String> {
    let says = path.page_stem().is_some_and(|stem| naming::title_of(stem) == title);
    (!says).then(|| title.to_owned())
}

pub(super) fn wanted_front_title(file: &LocalFile, path: &MirrorPath, title: &str) -> Option<String> {
    front_title_for(path, title).or_else(|| file.front_title.clone().filter(|written| written == title))
}
