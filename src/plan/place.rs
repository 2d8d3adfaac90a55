//! Computes where the files of pages belong and what their places mean: parents from folders, titles from names, and
//! back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::names::Names;
use super::{Place, ignore, name_goes_with_title, naming};
use crate::model::{LocalFile, MirrorPath, Node, PageId, WorkspaceId, WorkspaceNode, folder_of};

/// The folder of a workspace that holds its pages.
pub const PAGES: &str = "Pages";
/// Deeper trees than this are not followed, because no sane service has them.
const DEPTH_MAX: usize = 120;
/// Linux refuses paths over 4,096 bytes; the root's own path and temporary names need some of that.
const PATH_BYTES_MAX: usize = 3_500;

/// The input for the computation of places.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'t> {
    /// The workspaces with their folders.
    pub workspaces: &'t BTreeMap<WorkspaceId, WorkspaceNode>,
    /// All pages.
    pub pages: &'t BTreeMap<PageId, Node>,
    /// All page files.
    pub files: &'t BTreeMap<MirrorPath, LocalFile>,
    /// The folders on disk.
    pub folders: &'t BTreeSet<MirrorPath>,
    /// Other entries on disk where a page's file may belong.
    pub occupied: &'t BTreeSet<MirrorPath>,
    /// The names of all these, and those promised to pages.
    pub names: &'t Names,
    /// For each folder of subpages, its page according to the base.
    pub agreed: &'t AgreedFolders,
}

impl Layout<'_> {
    /// `<workspace>/Pages`.
    pub fn pages_root(&self, workspace: &WorkspaceId) -> Option<MirrorPath> {
        let folder = &self.workspaces.get(workspace)?.folder;
        MirrorPath::root().join(folder).ok()?.join(PAGES).ok()
    }

    /// The workspace whose pages are in the mirror's part that this path lies in.
    pub fn workspace_at(&self, path: &MirrorPath) -> Option<WorkspaceId> {
        let mut parts = path.components();
        let (top, area) = (parts.next()?, parts.next()?);
        if area != PAGES {
            return None;
        }
        self.workspaces.values().find(|node| node.folder == top).map(|node| node.seen.id.clone())
    }

    /// The path relative to the folder of a workspace's pages, if it lies in one.
    pub fn below_pages<'a>(&self, path: &'a MirrorPath) -> Option<&'a str> {
        let (top, rest) = path.as_str().split_once('/')?;
        let below = rest.strip_prefix(PAGES)?.strip_prefix('/')?;
        self.workspaces.values().any(|node| node.folder == top).then_some(below)
    }

    /// Whether a path is, by its place and name, a page's file. `last`: the folder of the last path that was asked for,
    /// and whether its files can be pages.
    pub fn is_page_file<'a>(&self, path: &'a MirrorPath, last: &mut (&'a str, bool)) -> bool {
        // Called for each file in each scan, so it does not allocate.
        let Some((folder, name)) = path.as_str().rsplit_once('/') else { return false };
        if folder != last.0 {
            let below = self.below_pages(path).map(|rest| &rest[..rest.len() - name.len()]);
            let holds_pages = |below: &str| !below.split('/').any(ignore::is_ignored_folder);
            *last = (folder, below.is_some_and(holds_pages));
        }
        last.1 && ignore::is_page_file(name)
    }

    /// The parent that the folder of a file stands for.
    pub fn place_of(&self, file: &MirrorPath) -> Place {
        file.parent().map_or(Place::Elsewhere, |folder| self.folder_stands_for(&folder))
    }

    /// The parent that a folder stands for.
    pub fn folder_stands_for(&self, folder: &MirrorPath) -> Place {
        let Some(workspace) = self.workspace_at(folder) else { return Place::Elsewhere };
        if self.pages_root(&workspace).as_ref() == Some(folder) {
            return Place::Under(None);
        }
        let beside = folder.parent().and_then(|up| up.join(&format!("{}.md", folder.name())).ok());
        if let Some(file) = beside.and_then(|path| self.files.get(&path)) {
            return file.page.clone().map_or(Place::Elsewhere, |page| Place::Under(Some(page)));
        }
        if let Some(page) = self.agreed.page_of(folder) {
            return Place::Under(Some(page.clone()));
        }
        self.page_waiting_for(&workspace, folder).map_or(Place::Elsewhere, |page| Place::Under(Some(page)))
    }

    /// A page that has this folder's name, whose file is elsewhere or does not exist yet, and whose subpages have no
    /// other folder.
    fn page_waiting_for(&self, workspace: &WorkspaceId, folder: &MirrorPath) -> Option<PageId> {
        let Place::Under(parent) = self.folder_stands_for(&folder.parent()?) else { return None };
        let name = folder.name();
        let waits =
            |node: &Node| node.file.is_none() && node.base.is_none() && node.stem.as_deref() == Some(name);
        let mut promised = self.names.promised_to(workspace, parent.as_ref(), &naming::fold(name));
        promised.find(|id| self.pages.get(*id).is_some_and(waits)).cloned()
    }

    /// The folder that waited for this page under its stem, such as `notes`, when its file at `path` got another
    /// name, such as `Notes.md`. The folder follows the file; otherwise it would require a page of its own for ever.
    pub fn waited_folder(&self, node: &Node, path: &MirrorPath) -> Option<MirrorPath> {
        let folder = self.awaited_in(node, &path.parent()?)?;
        let waited = folder_of(path).as_ref() != Some(&folder)
            && self.agreed.page_of(&folder).is_none()
            && !self.is_anothers(&folder, &node.id);
        waited.then_some(folder)
    }

    /// The folder for the subpages of `parent`; `None` while its place is unknown.
    pub fn folder_for_children(
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
        // Children of a parent that is not visible are placed at the top: they are listed, so they are shown.
        let shown = parent.and_then(|id| self.pages.get(id)).filter(|node| node.workspace == *workspace);
        let Some(node) = shown.filter(|_| depth < DEPTH_MAX) else { return self.pages_root(workspace) };
        match (&node.base, &node.file) {
            (Some(base), _) if base.folder_at.is_some() => None,
            (Some(base), Some(file)) if base.path != *file => None,
            (_, Some(file)) => folder_of(file),
            // While the file is missing, its folder may have moved with it, or become another page's. So the outcome
            // of the missing file must be known first.
            (Some(base), None) => folder_of(&base.path)
                .filter(|folder| self.folders.contains(folder) && !self.is_anothers(folder, &node.id)),
            (None, None) if !node.remote.presence.is_shown() => self.pages_root(workspace),
            (None, None) => {
                let up = self.folder_at_depth(workspace, self.parent_of(node), depth + 1)?;
                up.join(node.stem.as_deref()?).ok()
            }
        }
    }

    /// The service's parent of a page, unless that parent is also beneath the page. This happens if a child and its
    /// parent changed places between two fetches, or if a list is wrong.
    pub fn parent_of<'a>(&'a self, node: &'a Node) -> Option<&'a PageId> {
        let mut seen = BTreeSet::from([&node.id]);
        let mut above = node.remote.parent.as_ref();
        while let Some(id) = above {
            if *id == node.id {
                return None;
            }
            let up = self.pages.get(id).filter(|_| seen.insert(id));
            above = up.and_then(|up| up.remote.parent.as_ref());
        }
        node.remote.parent.as_ref()
    }

    /// Where a page's file belongs according to the service's title and parent; `None` while this is unknown.
    pub fn belongs(&self, node: &Node) -> Option<MirrorPath> {
        let parent = self.parent_of(node);
        if parent.is_none() && node.remote.parent.is_some() && node.file.is_some() {
            // Two folders cannot be in each other: the file stays until the next list shows the real parent.
            return None;
        }
        let folder = self.folder_for_children(&node.workspace, parent)?;
        let title = &node.remote.title;
        if let Some(file) = node.file.as_ref().and_then(|path| self.files.get(path))
            && file.path.parent().as_ref() == Some(&folder)
            && name_goes_with_title(node, file)
        {
            return Some(file.path.clone());
        }
        let is_taken = |folded: &str| self.is_taken(&folder, folded, node);
        if let Some(stem) = &node.stem
            && naming::still_says(stem, title)
            && naming::can_be(stem, room(&folder))
            && !is_taken(&naming::fold(stem))
        {
            return page_path(&folder, stem);
        }
        // A folder that waits for the page takes its name, which must not be that of another folder.
        let waits = self.awaited_in(node, &folder).is_some();
        let is_taken = |folded: &str| is_taken(folded) || waits && self.has_folder(&folder, folded);
        let name = naming::choose(title, &is_taken, room(&folder));
        page_path(&folder, &name.stem)
    }

    /// The folder in `folder` that exists and was promised to a page that was never compared with a file.
    pub fn awaited_in(&self, node: &Node, folder: &MirrorPath) -> Option<MirrorPath> {
        let awaited = folder.join(node.stem.as_deref().filter(|_| node.base.is_none())?).ok()?;
        self.folders.contains(&awaited).then_some(awaited)
    }

    /// Whether a folder waits for the page.
    pub fn has_waiting_folder(&self, node: &Node) -> bool {
        let home = || self.folder_for_children(&node.workspace, node.remote.parent.as_ref());
        node.stem.is_some() && home().is_some_and(|home| self.awaited_in(node, &home).is_some())
    }

    /// Whether a folder of this folded name is in `folder`.
    fn has_folder(&self, folder: &MirrorPath, folded: &str) -> bool {
        let below = self.folders.range(folder.clone()..);
        let below = below.take_while(|path| path.as_str().starts_with(folder.as_str()));
        let mut inside = below.filter(|path| path.parent().as_ref() == Some(folder));
        inside.any(|path| naming::fold(path.name()) == folded)
    }

    /// Whether `page` has no file, and `path` is where its file would be written if the place were free. A program
    /// that died after it wrote the file and before it recorded it leaves this state.
    pub fn is_awaited(&self, path: &MirrorPath, page: &PageId) -> bool {
        let Some(node) = self.pages.get(page).filter(|node| node.file.is_none()) else { return false };
        let is_its =
            |stem: &str| node.stem.as_deref() == Some(stem) || naming::title_of(stem) == *node.remote.title;
        path.page_stem().is_some_and(is_its)
            && self.folder_for_children(&node.workspace, self.parent_of(node)) == path.parent()
    }

    /// Whether a file beside this folder shows that the folder is not `page`'s.
    pub fn is_anothers(&self, folder: &MirrorPath, page: &PageId) -> bool {
        let beside = folder.parent().and_then(|up| up.join(&format!("{}.md", folder.name())).ok());
        beside.and_then(|path| self.files.get(&path)).is_some_and(|file| file.page.as_ref() != Some(page))
    }

    /// Whether a folded name exists in a folder, or is promised there to a page other than `node`.
    pub fn is_taken(&self, folder: &MirrorPath, folded: &str, node: &Node) -> bool {
        let times = |path: &MirrorPath| {
            u32::from(self.files.contains_key(path)) + u32::from(self.occupied.contains(path))
        };
        self.names.is_taken(folder, folded, node, node.file.as_ref().map_or(0, times))
    }

    /// A name for a page that has none. No entry of `folder` has it, and it is not one of the names `given` there.
    pub fn stem_for(&self, node: &Node, folder: &MirrorPath, given: &BTreeSet<String>) -> String {
        let is_taken = |folded: &str| given.contains(folded) || self.is_taken(folder, folded, node);
        naming::choose(&node.remote.title, &is_taken, room(folder)).stem
    }
}

/// For each folder of subpages, its page according to the base.
#[derive(Debug, Default)]
pub struct AgreedFolders {
    /// By the file that the folder is beside. Its path is in memory already, and most pages have no subpages.
    beside: BTreeMap<MirrorPath, PageId>,
    /// By the folder, while it is elsewhere.
    elsewhere: BTreeMap<MirrorPath, PageId>,
}

impl AgreedFolders {
    /// The page whose subpages are in this folder.
    #[must_use]
    pub fn page_of(&self, folder: &MirrorPath) -> Option<&PageId> {
        let beside = || self.beside.get([folder.as_str(), ".md"].concat().as_str());
        self.elsewhere.get(folder).or_else(beside)
    }

    /// Adds the folders of a page.
    pub fn add(&mut self, node: &Node) {
        let Some(base) = &node.base else { return };
        self.beside.insert(base.path.clone(), node.id.clone());
        if let Some(folder) = &base.folder_at {
            self.elsewhere.insert(folder.clone(), node.id.clone());
        }
    }

    /// Removes the folders of a page.
    pub fn remove(&mut self, node: &Node) {
        let Some(base) = &node.base else { return };
        let remove = |from: &mut BTreeMap<MirrorPath, PageId>, path| {
            if from.get(path) == Some(&node.id) {
                from.remove(path);
            }
        };
        remove(&mut self.beside, &base.path);
        if let Some(folder) = &base.folder_at {
            remove(&mut self.elsewhere, folder);
        }
    }
}

/// The title that a file states, relative to the base.
pub fn title_said(node: &Node, file: &LocalFile) -> String {
    let stem = file.path.page_stem().unwrap_or_default();
    let Some(base) = &node.base else {
        return file.front_title.as_deref().map_or_else(|| naming::title_of(stem), str::to_owned);
    };
    if let Some(title) = &file.front_title
        && file.front_title != base.front_title
    {
        return title.to_string();
    }
    let agreed = base.path.page_stem().unwrap_or_default();
    if stem == agreed || naming::still_says(stem, &base.title) {
        return base.title.to_string();
    }
    naming::retitled(stem, &base.title)
}

/// The title for a file that has no page yet: the one in its front matter, unless it came with a copy.
pub fn title_of_new(file: &LocalFile, is_copied: bool) -> String {
    let stem = file.path.page_stem().unwrap_or_default();
    let said = file.front_title.as_deref();
    said.filter(|title| naming::still_says(stem, title) || !is_copied)
        .map_or_else(|| naming::title_of(stem), str::to_owned)
}

/// The title that must be in the front matter of a page at `path`, if its name cannot state it.
pub fn front_title_for(path: &MirrorPath, title: &Arc<str>) -> Option<Arc<str>> {
    let says = path.page_stem().is_some_and(|stem| naming::title_of(stem) == **title);
    (!says).then(|| title.clone())
}

/// The title that a file's front matter shall have; a correct title may stay even if the name states it too.
pub fn wanted_front_title(file: &LocalFile, path: &MirrorPath, title: &Arc<str>) -> Option<Arc<str>> {
    front_title_for(path, title).or_else(|| file.front_title.clone().filter(|written| written == title))
}

fn page_path(folder: &MirrorPath, stem: &str) -> Option<MirrorPath> {
    folder.join(&format!("{stem}.md")).ok()
}

/// The most bytes of a stem in this folder.
pub fn room(folder: &MirrorPath) -> usize {
    PATH_BYTES_MAX.saturating_sub(folder.as_str().len()).clamp(16, 252)
}
