//! The paths of stored files and folders on disk: names are chosen once and kept.

use std::collections::{BTreeMap, BTreeSet};

use super::{FOLDER, Storage, Turn};
use crate::engine::retry::Failing;
use crate::model::{DiskError, FileId, FileNode, FolderId, FolderNode, MirrorPath, Seen};
use crate::plan::filenames;
use crate::plan::naming::fold;

/// The most bytes of a path that each system accepts with a name added to it.
const PATH_MOST: usize = 3_500;

/// The folders of the storage, and what their own acts came to.
#[derive(Debug, Default)]
pub(in crate::engine) struct FolderTree {
    pub(super) folders: BTreeMap<FolderId, FolderNode>,
    pub(super) root_made: bool,
    /// Whether a folder may be at a wrong path.
    pub(super) folders_active: bool,
    /// Folders created or moved since the last scan.
    pub(super) made: BTreeSet<MirrorPath>,
    /// For each folder that a list lacks, the tick of the first such list.
    pub(super) folders_missed: BTreeMap<FolderId, u64>,
    pub(super) folders_failing: Failing,
    pub(super) folders_trouble: Option<DiskError>,
}

/// An item that needs a name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    File(FileId),
    Folder(FolderId),
}

impl Item {
    fn is_folder(&self) -> bool {
        matches!(self, Self::Folder(_))
    }
}

pub(super) fn storage_root() -> MirrorPath {
    MirrorPath::new(FOLDER).unwrap_or_else(|_| MirrorPath::root())
}

impl Storage {
    pub(super) fn wanted_file(&self, node: &FileNode) -> Option<MirrorPath> {
        self.tree.place_of(node.remote.folder.as_ref())?.join(node.stem.as_deref()?).ok()
    }

    pub(super) fn wanted_folder(&self, node: &FolderNode) -> Option<MirrorPath> {
        let place = self.tree.place_of(node.remote.parent.as_ref())?;
        // A folder within itself has no path.
        if node.at.as_ref().is_some_and(|at| place.is_within(at)) || place.as_str().len() > PATH_MOST {
            return None;
        }
        place.join(node.stem.as_deref()?).ok()
    }

    /// Chooses names for items of `folder` without one, in the service's order. A name that a leaving item still has
    /// is not used; the item waits for it.
    pub(super) fn choose_names(&mut self, cx: &mut Turn<'_>, folder: Option<&FolderId>) {
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut leaving: BTreeSet<String> = BTreeSet::new();
        let mut nameless: Vec<(Item, f64, String)> = Vec::new();
        let inside = self.files.values().filter(|node| node.remote.folder.as_ref() == folder);
        for node in inside.filter(|node| node.replaced_by.is_none()) {
            let (remote, is_listed) = (&node.remote, node.seen == Seen::Listed);
            match &node.stem {
                Some(stem) if is_listed || self.is_held_back(node) => drop(taken.insert(fold(stem))),
                Some(stem) => drop(leaving.insert(fold(stem))),
                None if is_listed => {
                    nameless.push((Item::File(remote.id.clone()), remote.position, remote.filename.clone()));
                }
                None => {}
            }
        }
        for node in self.tree.folders.values().filter(|node| node.remote.parent.as_ref() == folder) {
            let remote = &node.remote;
            match &node.stem {
                Some(stem) => drop(taken.insert(fold(stem))),
                None if node.listed => {
                    nameless.push((Item::Folder(remote.id.clone()), remote.position, remote.name.clone()));
                }
                None => {}
            }
        }
        if let Some(place) = self.tree.place_of(folder) {
            let there = self.occupied.iter().filter(|path| path.parent().as_ref() == Some(&place));
            taken.extend(there.map(|path| fold(path.name())));
        }
        nameless.sort_by(|(a, at, _), (b, other, _)| {
            let by_kind = a.is_folder().cmp(&b.is_folder());
            by_kind.then_with(|| at.total_cmp(other)).then_with(|| a.cmp(b))
        });
        // Items of one name: each continues the count of the previous one.
        let mut counts: BTreeMap<(bool, String), u64> = BTreeMap::new();
        for (item, _, name) in nameless {
            let count = counts.entry((item.is_folder(), fold(&name))).or_insert(1);
            let (stem, at) =
                filenames::choose_from(&name, item.is_folder(), *count, &|key| taken.contains(key));
            *count = at;
            if !item.is_folder() && leaving.contains(&fold(&stem)) {
                continue;
            }
            taken.insert(fold(&stem));
            match item {
                Item::File(id) => self.edit_file(cx, &id, |node| node.stem = Some(stem)),
                Item::Folder(id) => self.edit_folder(cx, &id, |node| node.stem = Some(stem)),
            }
        }
    }
}

impl FolderTree {
    /// The present path of a folder; `None` while the folder does not exist.
    pub(super) fn place_of(&self, folder: Option<&FolderId>) -> Option<MirrorPath> {
        match folder {
            None => self.root_made.then(storage_root),
            Some(id) => self.folders.get(id).and_then(|node| node.at.clone()),
        }
    }

    /// The folder at a path; the outer `None` if it is not one of the service's.
    pub(super) fn folder_at(&self, place: &MirrorPath) -> Option<Option<FolderId>> {
        if *place == storage_root() {
            return Some(None);
        }
        self.folders
            .values()
            .find(|node| node.listed && node.at.as_ref() == Some(place))
            .map(|node| Some(node.remote.id.clone()))
    }
}
