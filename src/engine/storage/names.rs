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
        let mut nameless_files: Vec<(f64, FileId, String)> = Vec::new();
        let mut nameless_folders: Vec<(f64, FolderId, String)> = Vec::new();
        for node in self.files.values().filter(|node| node.remote.folder.as_ref() == folder) {
            match &node.stem {
                _ if node.replaced_by.is_some() => {}
                Some(stem) if node.seen == Seen::Listed || self.is_held_back(node) => {
                    taken.insert(fold(stem));
                }
                Some(stem) => {
                    leaving.insert(fold(stem));
                }
                None if node.seen == Seen::Listed => {
                    let remote = &node.remote;
                    nameless_files.push((remote.position, remote.id.clone(), remote.filename.clone()));
                }
                None => {}
            }
        }
        for node in self.tree.folders.values().filter(|node| node.remote.parent.as_ref() == folder) {
            match &node.stem {
                Some(stem) => {
                    taken.insert(fold(stem));
                }
                None if node.listed => {
                    let remote = &node.remote;
                    nameless_folders.push((remote.position, remote.id.clone(), remote.name.clone()));
                }
                None => {}
            }
        }
        if let Some(place) = self.tree.place_of(folder) {
            let there = self.occupied.iter().filter(|path| path.parent().as_ref() == Some(&place));
            taken.extend(there.map(|path| fold(path.name())));
        }
        nameless_folders.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        nameless_files.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        // Items of one name: each continues the count of the previous one.
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (_, id, name) in nameless_files {
            let count = counts.entry(fold(&name)).or_insert(1);
            let (stem, at) = filenames::choose_from(&name, false, *count, &|key| taken.contains(key));
            *count = at;
            if leaving.contains(&fold(&stem)) {
                continue;
            }
            taken.insert(fold(&stem));
            self.edit_file(cx, &id, |node| node.stem = Some(stem));
        }
        for (_, id, name) in nameless_folders {
            let stem = filenames::choose(&name, true, &|key| taken.contains(key));
            taken.insert(fold(&stem));
            self.edit_folder(cx, &id, |node| node.stem = Some(stem));
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
