//! Where files belong and what their places say: parents from folders, titles from names, and back.

use std::collections::{BTreeMap, BTreeSet};

use super::Engine;
use crate::model::{LocalFile, MirrorPath, Node, PageId, Timestamp, WorkspaceId, folder_of};
use crate::plan::{self, Place, ignore, naming};
use crate::store::StoreError;

/// The folder of a workspace that holds its pages.
pub const PAGES: &str = "Pages";
/// Deeper trees than this are not followed: the service has gone mad.
const DEPTH_MAX: usize = 120;
/// Linux refuses paths over 4,096 bytes; the root's own path and temporary names need some of that.
const PATH_BYTES_MAX: usize = 3_500;

impl Engine {
    /// `<workspace>/Pages`.
    pub(super) fn pages_root(&self, workspace: &WorkspaceId) -> Option<MirrorPath> {
        let folder = &self.trees.workspaces.get(workspace)?.folder;
        MirrorPath::root().join(folder).ok()?.join(PAGES).ok()
    }

    /// The workspace whose pages are in this path's part of the mirror.
    pub(super) fn workspace_at(&self, path: &MirrorPath) -> Option<WorkspaceId> {
        let mut parts = path.components();
        let (top, area) = (parts.next()?, parts.next()?);
        if area != PAGES {
            return None;
        }
        self.trees.workspaces.values().find(|node| node.folder == top).map(|node| node.seen.id.clone())
    }

    /// What follows the folder of a workspace's pages in this path, if it is in one.
    pub(super) fn below_pages<'a>(&self, path: &'a MirrorPath) -> Option<&'a str> {
        let (top, rest) = path.as_str().split_once('/')?;
        let below = rest.strip_prefix(PAGES)?.strip_prefix('/')?;
        self.trees.workspaces.values().any(|node| node.folder == top).then_some(below)
    }

    /// Whether a path is, by its place and name, a page's file.
    pub(super) fn is_page_file(&self, path: &MirrorPath) -> bool {
        // Asked of every file in each scan: nothing is made for the answer.
        let Some((folders, name)) =
            self.below_pages(path).map(|rest| rest.rsplit_once('/').unwrap_or(("", rest)))
        else {
            return false;
        };
        ignore::is_page_file(name) && !folders.split('/').any(ignore::is_ignored_folder)
    }

    /// Which parent the folder of a file stands for.
    pub(super) fn place_of(&self, file: &MirrorPath) -> Place {
        file.parent().map_or(Place::Elsewhere, |folder| self.folder_stands_for(&folder))
    }

    pub(super) fn folder_stands_for(&self, folder: &MirrorPath) -> Place {
        let Some(workspace) = self.workspace_at(folder) else { return Place::Elsewhere };
        if self.pages_root(&workspace).as_ref() == Some(folder) {
            return Place::Under(None);
        }
        let beside = folder.parent().and_then(|up| up.join(&format!("{}.md", folder.name())).ok());
        if let Some(file) = beside.and_then(|path| self.trees.files.get(&path)) {
            return file.page.clone().map_or(Place::Elsewhere, |page| Place::Under(Some(page)));
        }
        if let Some(page) = self.trees.agreed_folder(folder) {
            return Place::Under(Some(page.clone()));
        }
        self.page_waiting_for(&workspace, folder).map_or(Place::Elsewhere, |page| Place::Under(Some(page)))
    }

    /// A page whose file stands elsewhere or not yet, and whose subpages have no other folder than this one, which has
    /// its name.
    fn page_waiting_for(&self, workspace: &WorkspaceId, folder: &MirrorPath) -> Option<PageId> {
        let Place::Under(parent) = self.folder_stands_for(&folder.parent()?) else { return None };
        let name = folder.name();
        let waits =
            |node: &Node| node.file.is_none() && node.base.is_none() && node.stem.as_deref() == Some(name);
        let mut promised = self.trees.names.promised_to(workspace, parent.as_ref(), &naming::fold(name));
        promised.find(|id| self.trees.pages.get(*id).is_some_and(waits)).cloned()
    }

    /// The folder that has waited for this page under its name, when its file at `path` got another one: `notes` beside
    /// `Notes.md`. It follows the file, or it would ask for a page of its own for ever.
    pub(super) fn waited_folder(&self, node: &Node, path: &MirrorPath) -> Option<MirrorPath> {
        let folder = path.parent()?.join(node.stem.as_deref()?).ok()?;
        let waited = node.base.is_none()
            && folder_of(path).as_ref() != Some(&folder)
            && self.trees.folders.contains(&folder)
            && self.trees.agreed_folder(&folder).is_none()
            && !self.is_anothers(&folder, &node.id);
        waited.then_some(folder)
    }

    /// The title that a file says, given what was last agreed.
    pub(super) fn title_said(&self, node: &Node, file: &LocalFile) -> String {
        let stem = file.path.page_stem().unwrap_or_default();
        let Some(base) = &node.base else {
            return file.front_title.clone().unwrap_or_else(|| naming::title_of(stem));
        };
        if let Some(title) = &file.front_title
            && file.front_title != base.front_title
        {
            return title.clone();
        }
        let agreed = base.path.page_stem().unwrap_or_default();
        if stem == agreed || naming::still_says(stem, &base.title) {
            return base.title.clone();
        }
        naming::retitled(stem, &base.title)
    }

    /// The title for a file that is no page yet: what its front matter says, unless that came with a copy.
    pub(super) fn title_of_new(file: &LocalFile) -> String {
        let stem = file.path.page_stem().unwrap_or_default();
        // With the id of a page its title came too, maybe an older one.
        let is_copied = file.claims.is_some() || file.disowned.is_some();
        let said = file.front_title.clone();
        said.filter(|title| naming::still_says(stem, title) || !is_copied)
            .unwrap_or_else(|| naming::title_of(stem))
    }

    /// The folder for the subpages of `parent`; `None` while its place is being settled.
    pub(super) fn folder_for_children(
        &self,
        workspace: &WorkspaceId,
        parent: Option<&PageId>,
    ) -> Option<MirrorPath> {
        self.folder_at_depth(workspace, parent, 0)
    }

    fn folder_at_depth(
        &self,
        workspace: &WorkspaceId,
        parent: Option<&PageId>,
        depth: usize,
    ) -> Option<MirrorPath> {
        // A parent that is not visible leaves its children at the top: they are listed, so they are shown.
        let shown =
            parent.and_then(|id| self.trees.pages.get(id)).filter(|node| node.workspace == *workspace);
        let Some(node) = shown.filter(|_| depth < DEPTH_MAX) else { return self.pages_root(workspace) };
        match (&node.base, &node.file) {
            (Some(base), _) if base.folder_at.is_some() => None,
            (Some(base), Some(file)) if base.path != *file => None,
            (_, Some(file)) => folder_of(file),
            // Since its file went missing its folder may have gone with it, or become another page's: then what has
            // become of the file must be known first.
            (Some(base), None) => folder_of(&base.path)
                .filter(|folder| self.trees.folders.contains(folder) && !self.is_anothers(folder, &node.id)),
            (None, None) if !node.remote.presence.is_shown() => self.pages_root(workspace),
            (None, None) => {
                let up = self.folder_at_depth(workspace, self.parent_of(node), depth + 1)?;
                up.join(node.stem.as_deref()?).ok()
            }
        }
    }

    /// The service's parent of a page, unless it is also beneath it: a child and its parent that changed places, one
    /// look at each side of it, or a list that is wrong.
    fn parent_of<'a>(&'a self, node: &'a Node) -> Option<&'a PageId> {
        let mut seen = BTreeSet::from([&node.id]);
        let mut above = node.remote.parent.as_ref();
        while let Some(id) = above {
            if *id == node.id {
                return None;
            }
            let up = self.trees.pages.get(id).filter(|_| seen.insert(id));
            above = up.and_then(|up| up.remote.parent.as_ref());
        }
        node.remote.parent.as_ref()
    }

    /// Where a page's file belongs by the service's title and parent; `None` while that cannot be said.
    pub(super) fn belongs(&self, node: &Node) -> Option<MirrorPath> {
        let parent = self.parent_of(node);
        if parent.is_none() && node.remote.parent.is_some() && node.file.is_some() {
            // Two folders cannot be in each other: it stays until the next list says which one is.
            return None;
        }
        let folder = self.folder_for_children(&node.workspace, parent)?;
        let title = &node.remote.title;
        if let Some(file) = self.trees.file_of(node)
            && file.path.parent().as_ref() == Some(&folder)
            && plan::name_goes_with_title(node, file)
        {
            return Some(file.path.clone());
        }
        let is_taken = |folded: &str| self.trees.is_taken(&folder, folded, node);
        if let Some(stem) = &node.stem
            && naming::still_says(stem, title)
            && !is_taken(&naming::fold(stem))
        {
            return page_path(&folder, stem);
        }
        let name = naming::choose(title, &is_taken, room(&folder));
        page_path(&folder, &name.stem)
    }

    /// Whether `page` has no file, and `path` is where it would be written, were nothing there. A program that died with
    /// the file written and not noted leaves it so.
    pub(super) fn is_awaited(&self, path: &MirrorPath, page: &PageId) -> bool {
        let Some(node) = self.trees.pages.get(page).filter(|node| node.file.is_none()) else { return false };
        let is_its =
            |stem: &str| node.stem.as_deref() == Some(stem) || naming::title_of(stem) == node.remote.title;
        path.page_stem().is_some_and(is_its)
            && self.folder_for_children(&node.workspace, self.parent_of(node)) == path.parent()
    }

    /// The title that must stand in the front matter of a page at `path`, if its name cannot say it.
    pub(super) fn front_title_for(path: &MirrorPath, title: &str) -> Option<String> {
        let says = path.page_stem().is_some_and(|stem| naming::title_of(stem) == title);
        (!says).then(|| title.to_owned())
    }

    /// Gives every listed page without a file its name, so that children can be placed before parents are written.
    pub(super) fn choose_stems(&mut self, workspace: &WorkspaceId) -> Result<(), StoreError> {
        let mut nameless: Vec<(f64, PageId)> = self
            .trees
            .pages
            .values()
            .filter(|node| node.workspace == *workspace && node.file.is_none() && node.base.is_none())
            .filter(|node| {
                node.stem.as_deref().is_none_or(|stem| !naming::still_says(stem, &node.remote.title))
            })
            .map(|node| (node.remote.position, node.id.clone()))
            .collect();
        nameless.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        // Parents first: a child's room depends on how long its folder's path is.
        let mut waiting: Vec<PageId> = nameless.into_iter().map(|(_, id)| id).collect();
        let mut given: BTreeMap<MirrorPath, BTreeSet<String>> = BTreeMap::new();
        loop {
            let before = waiting.len();
            let mut left = Vec::new();
            for id in waiting {
                let Some(node) = self.trees.pages.get(&id).cloned() else { continue };
                let Some(folder) = self.folder_for_children(workspace, self.parent_of(&node)) else {
                    left.push(id);
                    continue;
                };
                let given = given.entry(folder.clone()).or_default();
                let nowhere = Node { file: None, ..node };
                let is_taken =
                    |folded: &str| given.contains(folded) || self.trees.is_taken(&folder, folded, &nowhere);
                let name = naming::choose(&nowhere.remote.title, &is_taken, room(&folder));
                given.insert(naming::fold(&name.stem));
                self.edit_page(&id, |node| node.stem = Some(name.stem))?;
            }
            if left.is_empty() || left.len() == before {
                return Ok(());
            }
            waiting = left;
        }
    }

    /// The path of a conflict copy beside a page's file.
    pub(super) fn conflict_path(&self, beside: &MirrorPath) -> Option<MirrorPath> {
        let folder = beside.parent()?;
        let names: BTreeSet<String> = self
            .store
            .conflicts()
            .unwrap_or_default()
            .iter()
            .map(|conflict| conflict.path.clone())
            .chain(self.trees.occupied().iter().cloned())
            .filter(|path| path.parent().as_ref() == Some(&folder))
            .filter_map(|path| path.page_stem().map(naming::fold))
            .collect();
        let when = wall_time(self.now, self.settings.utc_offset_seconds);
        let name =
            naming::conflict_copy(beside.page_stem()?, when, &|key| names.contains(key), room(&folder));
        folder.join(&name).ok()
    }
}

impl Engine {
    /// What the place's time is ahead of UTC from now on, for the names of conflict copies.
    pub fn set_utc_offset(&mut self, seconds: i32) {
        self.settings.utc_offset_seconds = seconds;
    }
}

fn page_path(folder: &MirrorPath, stem: &str) -> Option<MirrorPath> {
    folder.join(&format!("{stem}.md")).ok()
}

/// The most bytes a stem may have in this folder.
fn room(folder: &MirrorPath) -> usize {
    PATH_BYTES_MAX.saturating_sub(folder.as_str().len()).clamp(16, 252)
}

pub(super) fn wall_time(at: Timestamp, offset_seconds: i32) -> naming::WallTime {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let offset = jiff::tz::Offset::from_seconds(offset_seconds).unwrap_or(jiff::tz::Offset::UTC);
    let civil = offset.to_datetime(moment);
    naming::WallTime {
        year: civil.year().unsigned_abs(),
        month: civil.month().unsigned_abs(),
        day: civil.day().unsigned_abs(),
        hour: civil.hour().unsigned_abs(),
        minute: civil.minute().unsigned_abs(),
        second: civil.second().unsigned_abs(),
    }
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
        let name = |engine: &Engine| engine.conflict_path(&beside).unwrap().name().to_owned();
        assert_eq!(name(&engine), "Plan.conflict-19700101-000000.md");
        engine.set_utc_offset(7_200);
        assert_eq!(name(&engine), "Plan.conflict-19700101-020000.md");
    }
}
