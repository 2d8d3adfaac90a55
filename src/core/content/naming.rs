//! Where the files of items belong, and what a path of the mirror means.

use std::collections::BTreeSet;

use crate::core::items::{Item, Local};
use crate::core::plan::policy::Kind;
use crate::core::state::{Area, Core, State};
use crate::model::{MirrorPath, WorkspaceId};
use crate::plan::ignore;
use crate::plan::naming::{self, WallTime};

/// The folder of a workspace that holds its whiteboards.
pub const WHITEBOARDS: &str = "Whiteboards";
/// The folder at the root that holds the user's presentations.
pub const PRESENTATIONS: &str = "Presentations";
/// The folder at the root that holds stored files.
const STORAGE: &str = "Storage";
/// The ending of canvas files.
const ENDING: &str = ".canvas";
/// The endings of the pictures beside them.
const PICTURES: [&str; 2] = [".svg", ".html"];
/// The most bytes of a file name before its ending, so that the mark of a conflict copy has room too.
const ROOM: usize = 200;

/// What an item of this kind is called.
#[must_use]
pub fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Page => "page",
        Kind::Whiteboard => "whiteboard",
        Kind::Presentation => "presentation",
        Kind::Slide => "slide",
        Kind::Folder => "folder",
        Kind::File => "stored file",
    }
}

/// What the elements of an item of this kind are called.
#[must_use]
pub fn noun_of_elements(kind: Kind) -> &'static str {
    kind.inner().map_or("node", noun)
}

/// The name of a file without its ending.
#[must_use]
pub fn stem(path: &MirrorPath) -> &str {
    path.name().strip_suffix(ENDING).unwrap_or(path.name())
}

/// Whether a file of this name may be an item's: no conflict copy, and no leftover of a program.
fn is_items_name(name: &str) -> bool {
    name.strip_suffix(ENDING).is_some_and(|stem| !stem.is_empty())
        && !ignore::is_ignored(name)
        && !naming::is_conflict_copy(name)
        && !ignore::is_foreign_conflict(name)
}

/// Whether a file at this path may be an item's, wherever it is.
#[must_use]
pub fn may_be_items(path: &MirrorPath) -> bool {
    is_items_name(path.name()) && path.components().next() != Some(STORAGE)
}

/// The kind and the workspace of an item whose file is at this path.
#[must_use]
pub fn spot(state: &State, path: &MirrorPath) -> Option<(Kind, WorkspaceId)> {
    let place = path.parent().filter(|_| is_items_name(path.name()))?;
    let is_its = |area: &Area| area.is_live && folder(area).as_ref() == Some(&place);
    let (id, area) = state.areas.iter().find(|(_, area)| is_its(area))?;
    Some((area.kind, id.clone()))
}

/// Whether a path lies in the area of a workspace, or is that.
#[must_use]
pub fn is_in(path: &MirrorPath, area: &Area) -> bool {
    folder(area).is_some_and(|folder| path.is_within(&folder))
}

/// The folder of an area.
#[must_use]
pub fn folder(area: &Area) -> Option<MirrorPath> {
    match area.kind {
        Kind::Presentation => MirrorPath::root().join(PRESENTATIONS).ok(),
        _ => MirrorPath::root().join(&area.folder).ok()?.join(WHITEBOARDS).ok(),
    }
}

/// The name that a file states.
#[must_use]
pub fn said(path: &MirrorPath) -> String {
    naming::title_of(stem(path))
}

/// Whether a file's name says this name.
#[must_use]
pub fn says(path: &MirrorPath, name: &str) -> bool {
    naming::still_says(stem(path), name)
}

/// The path of an item's file according to the service; `None` while it is unknown.
#[must_use]
pub fn home(state: &State, item: &Item) -> Option<MirrorPath> {
    let folder = folder(state.areas.get(&item.area).filter(|_| item.parent.is_none())?)?;
    let name = &item.remote.as_ref()?.name;
    let own = item.file().map(|fact| &fact.path);
    if let Some(path) = own.filter(|path| path.parent().as_ref() == Some(&folder) && says(path, name)) {
        return Some(path.clone());
    }
    let taken = taken_in(state, item, &folder);
    let stem = naming::choose(name, &|key| taken.contains(key), ROOM).stem;
    folder.join(&format!("{stem}{ENDING}")).ok()
}

/// Folded stems in a folder that a file of `item` cannot have: those of other files, and of missing ones, which may come back.
fn taken_in(state: &State, item: &Item, folder: &MirrorPath) -> BTreeSet<String> {
    let own = item.file().map(|fact| &fact.path);
    // A file that does not say its item's name any more is about to move.
    let is_moving =
        |other: &Item| other.is_listed() && other.file().is_some_and(|fact| !says(&fact.path, other.name()));
    let leaves = |path: &MirrorPath| state.items.at(path).is_some_and(is_moving);
    let entries = state.snapshot.entries.keys().filter(|path| Some(*path) != own && !leaves(path));
    let items = state.items.all().filter(|other| other.key != item.key && !is_moving(other));
    let missing = items.filter_map(|other| match &other.local {
        Local::Gone { last, .. } => Some(&last.path),
        Local::Here(fact) => Some(&fact.path),
        Local::Never => None,
    });
    let inside = entries.chain(missing).filter(|path| path.parent().as_ref() == Some(folder));
    inside.filter_map(|path| path.name().strip_suffix(ENDING)).map(naming::fold).collect()
}

/// The path of the picture beside the file of an item of this kind: a page that shows the slides, or a drawing.
#[must_use]
pub fn picture(kind: Kind, file: &MirrorPath) -> Option<MirrorPath> {
    let [drawing, page] = PICTURES;
    let ending = if kind.inner().is_some() { page } else { drawing };
    file.parent()?.join(&format!("{}{ending}", stem(file))).ok()
}

/// A free path beside `file`, for the time in which two files change places.
#[must_use]
pub fn aside(state: &State, file: &MirrorPath) -> Option<MirrorPath> {
    let to = file.parent()?.join(&format!("{} (moving){ENDING}", stem(file))).ok()?;
    (!state.snapshot.entries.contains_key(&to)).then_some(to)
}

/// The path of a conflict copy beside a file.
#[must_use]
pub fn conflict_copy(core: &Core<'_>, beside: &MirrorPath) -> Option<MirrorPath> {
    let folder = beside.parent()?;
    let known = core.store.conflicts().unwrap_or_default();
    let known = known.iter().map(|conflict| &conflict.path);
    let all = known.chain(core.state.snapshot.entries.keys());
    let taken: BTreeSet<String> = all
        .filter(|path| path.parent().as_ref() == Some(&folder))
        .map(|path| naming::fold(stem(path)))
        .collect();
    let when = WallTime::at(core.now, core.settings.utc_offset_seconds);
    let name = naming::conflict_copy(stem(beside), when, &|key| taken.contains(key), ROOM + 40);
    folder.join(&format!("{}{ENDING}", name.strip_suffix(".md").unwrap_or(&name))).ok()
}
