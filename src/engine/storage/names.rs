//! The paths of stored files and folders on disk: names are chosen once and kept.

use std::collections::{BTreeMap, BTreeSet};

use super::local::Sight;
use super::{FOLDER, Storage, Turn};
use crate::engine::retry::Failing;
use crate::model::{DiskError, FileId, FileNode, FolderId, FolderNode, MirrorPath, Seen};
use crate::plan::adoption::{Adoption, STORED, STORED_FOLDERS};
use crate::plan::filenames;
use crate::plan::naming::fold;

/// The key in `meta` that is `no` once each item has a name.
pub(super) const ADOPTING: &str = "stored_adopting";
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
    /// Until each item has a name after the state was lost, items take up local files and folders of nobody.
    pub(super) adopting: bool,
}

/// An item that needs a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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

/// Has the bases hold the texts of the paths that a scan brings with each of its answers, so that they are in memory once.
pub(super) fn share_paths(sight: &Sight, files: &mut BTreeMap<FileId, FileNode>) {
    for base in files.values_mut().filter_map(|node| node.base.as_mut()) {
        if let Some((path, _)) = sight.files.get_key_value(&base.path) {
            base.path = path.clone();
        }
    }
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
        let place = self.tree.place_of(folder);
        if self.tree.adopting && place.is_none() {
            // What is in it is not known before the folder is.
            return;
        }
        if let Some(place) = &place {
            let there = self.occupied.iter().filter(|path| path.parent().as_ref() == Some(place));
            taken.extend(there.map(|path| fold(path.name())));
        }
        nameless.sort_by(|(a, at, _), (b, other, _)| {
            let by_kind = a.is_folder().cmp(&b.is_folder());
            by_kind.then_with(|| at.total_cmp(other)).then_with(|| a.cmp(b))
        });
        let adopted =
            place.filter(|_| self.tree.adopting).map(|place| adopted(self, &place, &taken, &nameless));
        let mut adopted = adopted.unwrap_or_default();
        taken.extend(adopted.values().map(|name| fold(name)));
        // Items of one name: each continues the count of the previous one.
        let mut counts: BTreeMap<(bool, String), u64> = BTreeMap::new();
        for (item, _, name) in nameless {
            let stem = adopted.remove(&item).unwrap_or_else(|| {
                let count = counts.entry((item.is_folder(), fold(&name))).or_insert(1);
                let (stem, at) =
                    filenames::choose_from(&name, item.is_folder(), *count, &|key| taken.contains(key));
                *count = at;
                stem
            });
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

/// The names of the local files and folders of nobody that these items of a folder take up. A file of another size
/// is another version, and is kept beside the item's.
fn adopted(
    storage: &Storage,
    place: &MirrorPath,
    taken: &BTreeSet<String>,
    nameless: &[(Item, f64, String)],
) -> BTreeMap<Item, String> {
    let within = |path: &MirrorPath| path.as_str().starts_with(place.as_str());
    let is_near = |path: &&MirrorPath| {
        path.parent().as_ref() == Some(place)
            && !taken.contains(&fold(path.name()))
            && !filenames::is_leftover(path.name())
    };
    let files = storage.sight.files.range(place.clone()..).map(|(path, _)| path);
    let mut files: Vec<&MirrorPath> = files.take_while(|path| within(path)).filter(is_near).collect();
    let folders = storage.sight.folders.range(place.clone()..);
    let mut folders: Vec<&MirrorPath> = folders.take_while(|path| within(path)).filter(is_near).collect();
    if files.is_empty() && folders.is_empty() {
        return BTreeMap::new();
    }
    let ours = storage.files.values().filter_map(|node| Some(&node.base.as_ref()?.path));
    let ours: BTreeSet<&MirrorPath> =
        ours.chain(storage.tree.folders.values().filter_map(|node| node.at.as_ref())).collect();
    let adoption = |is_folder: bool, paths: &mut Vec<&MirrorPath>| {
        paths.retain(|path| !ours.contains(path));
        let items = nameless.iter().filter(|(item, ..)| item.is_folder() == is_folder);
        Adoption {
            items: items.map(|(item, _, name)| (item.clone(), name.clone())).collect(),
            files: paths.iter().map(|path| ((*path).clone(), path.name().to_owned())).collect(),
            shown: Vec::new(),
        }
    };
    let (files, folders) = (adoption(false, &mut files), adoption(true, &mut folders));
    let may = |item: &Item, path: &MirrorPath| match item {
        Item::File(id) => {
            let size = storage.files.get(id).map(|node| node.remote.size);
            storage.sight.files.get(path).map(|stamp| stamp.size) == size
        }
        Item::Folder(_) => true,
    };
    let pairs = files.pairs(STORED, &may).into_iter().chain(folders.pairs(STORED_FOLDERS, &may));
    pairs.map(|(item, path)| (item, path.name().to_owned())).collect()
}
