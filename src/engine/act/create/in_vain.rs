//! Folders for which a page was made and that have no page all the same. Nothing more is made for them.

use std::collections::BTreeMap;

use crate::engine::state::{Needs, Trees};
use crate::model::{Agreed, Body, Code, MirrorPath, Node, PageId, WorkspaceId};
use crate::plan::{Place, filenames, naming};

/// An empty page that was made for the folder `place`, as its title shows, and whose file is not beside a folder. Another
/// page would be no better: a folder makes at most one.
pub(super) fn page_made_for<'t>(
    trees: &'t Trees,
    place: &MirrorPath,
    workspace: &WorkspaceId,
    parent: Option<&PageId>,
) -> Option<&'t Node> {
    let (title, empty) = (naming::title_of(place.name()), Body::of(Vec::new()).hash);
    trees.child_nodes(workspace, parent).find(|node| {
        let is_without_folder = |base: &Agreed| {
            base.folder_at.is_none()
                && node.file.as_ref().is_some_and(|file| !trees.is_beside_its_folder(file))
        };
        filenames::is_same_name(&title, &node.remote.title)
            && node.remote.body == Some(empty)
            && trees.is_there(&node.id)
            && node.base.as_ref().is_some_and(is_without_folder)
    })
}

/// Tells the user of such folders, each once for the new files in it.
pub(crate) fn tell_folders_without_page(trees: &Trees, needs: &mut Needs) {
    let above = |path: &MirrorPath| path.as_str().rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let files: BTreeMap<_, _> = trees.untracked_files.iter().map(|path| (above(path), path)).collect();
    for (folder, file) in files.into_values().filter_map(|path| folder_without_page(trees, path)) {
        let why = "not sent: the page that was made for this folder has its file at";
        needs.tell(
            Code::NotSent,
            folder.as_str(),
            &format!("{why} {file}, so the folder has no page"),
            "give the folder the name of that file, or another one",
        );
    }
}

/// The folder above a new file that has no page although one was made for it, with that page's file.
fn folder_without_page(trees: &Trees, path: &MirrorPath) -> Option<(MirrorPath, MirrorPath)> {
    let workspace = trees.layout().workspace_at(path)?;
    let mut place = None;
    for above in std::iter::successors(path.parent(), MirrorPath::parent).take(200) {
        let Place::Under(parent) = trees.layout().folder_stands_for(&above) else {
            place = Some(above);
            continue;
        };
        let place = place?;
        let file = page_made_for(trees, &place, &workspace, parent.as_ref())?.file.clone()?;
        return Some((place, file));
    }
    None
}
