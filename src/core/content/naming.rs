//! Where the files of items belong, and what a path of the mirror means.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::items::{Fact, Item, Wait};
use crate::core::plan::policy::Kind;
use crate::core::state::{Area, Core, State};
use crate::model::{MirrorPath, WorkspaceId};
use crate::plan::naming::{self, WallTime};
use crate::plan::{filenames, ignore};

/// The folder of a workspace that holds its whiteboards.
pub const WHITEBOARDS: &str = "Whiteboards";
/// The folder at the root that holds the user's presentations.
pub const PRESENTATIONS: &str = "Presentations";
/// The folder at the root that holds stored files.
pub const STORAGE: &str = "Storage";
/// The ending of canvas files.
const ENDING: &str = ".canvas";
/// The endings of the pictures beside them.
const PICTURES: [&str; 2] = [".svg", ".html"];
/// The most bytes of a file name before its ending, so that the mark of a conflict copy has room too.
const ROOM: usize = 200;
/// The most bytes of a folder's path that each system accepts with a name added to it.
const PATH_MOST: usize = 3_500;

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

/// How the log calls an item that was made.
#[must_use]
pub fn new(kind: Kind) -> String {
    format!("new {}", noun(kind))
}

/// Whether these words of the log begin with a canvas that was made.
#[must_use]
pub fn says_new(what: &str) -> bool {
    [Kind::Whiteboard, Kind::Presentation].map(new).iter().any(|new| what.starts_with(new))
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
    if is_stored(path) { !filenames::is_leftover(path.name()) } else { is_items_name(path.name()) }
}

/// Whether a path is below the folder of stored files.
#[must_use]
pub fn is_stored(path: &MirrorPath) -> bool {
    let mut names = path.components();
    names.next() == Some(STORAGE) && names.next().is_some()
}

/// The kind and the area of an item whose file is at this path.
#[must_use]
pub fn spot(state: &State, path: &MirrorPath) -> Option<(Kind, WorkspaceId)> {
    let place = path.parent().filter(|_| may_be_items(path))?;
    let is_its = |area: &Area| {
        area.is_live
            && folder(area).is_some_and(|folder| folder == place || area.kind.is_stored() && is_stored(path))
    };
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
        Kind::Folder | Kind::File => MirrorPath::root().join(STORAGE).ok(),
        _ => MirrorPath::root().join(&area.folder).ok()?.join(WHITEBOARDS).ok(),
    }
}

/// The name that the file of a new item states.
#[must_use]
pub fn said(kind: Kind, path: &MirrorPath) -> String {
    if kind.is_stored() { path.name().to_owned() } else { naming::title_of(stem(path)) }
}

/// Whether the name of an item's file says this name.
#[must_use]
pub fn says(kind: Kind, path: &MirrorPath, name: &str) -> bool {
    match kind {
        Kind::Folder | Kind::File => {
            // A name that a user gave may be one that espejo would not choose.
            filenames::is_same_name(path.name(), name)
                || filenames::still_says(path.name(), name, kind == Kind::Folder)
        }
        _ => naming::still_says(stem(path), name),
    }
}

/// The path of an item's file according to the service; `None` while it is unknown.
#[must_use]
pub fn home(state: &State, item: &Item) -> Option<MirrorPath> {
    let folder = place(state, item)?;
    let name = &item.remote.as_ref()?.name;
    let own = item.file().map(|fact| &fact.path);
    let is_home = |path: &&MirrorPath| path.parent().as_ref() == Some(&folder) && says(item.kind, path, name);
    if let Some(path) = own.filter(is_home) {
        return Some(path.clone());
    }
    let taken = taken_in(state, item, &folder);
    if item.kind.is_stored() {
        let is_folder = item.kind == Kind::Folder;
        let first = 1 + before(state, item);
        // Files have their names before folders.
        let names = if is_folder { names_of_files(state, item) } else { BTreeSet::new() };
        let is_taken = |key: &str| taken.contains(key) || names.contains(key);
        return folder.join(&filenames::choose_from(name, is_folder, first, &is_taken).0).ok();
    }
    let taken: BTreeSet<&str> = taken.iter().filter_map(|name| name.strip_suffix(ENDING)).collect();
    let stem = naming::choose(name, &|key| taken.contains(key), ROOM).stem;
    folder.join(&format!("{stem}{ENDING}")).ok()
}

/// The number of the items of the same name that come before an item without a file: the service's order counts, not the order
/// in which files arrive.
fn before(state: &State, item: &Item) -> u64 {
    let plain =
        |item: &Item| naming::fold(&filenames::choose(item.name(), item.kind == Kind::Folder, &|_| false));
    let own = plain(item);
    let is_before = |other: &&Item| {
        let is_earlier = other.key < item.key && other.is_listed();
        let (name, others) = (item.name(), other.name());
        let are_plain = name.is_ascii() && others.is_ascii();
        is_earlier && if are_plain { name.eq_ignore_ascii_case(others) } else { plain(other) == own }
    };
    siblings(state, item, item.kind).filter(is_before).count() as u64
}

/// The items of a kind in the place at the service in which an item lies.
fn siblings<'a>(state: &'a State, item: &Item, kind: Kind) -> impl Iterator<Item = &'a Item> {
    let at_the_top = || state.items.all().filter(|other| other.parent.is_none());
    let within = item.parent.into_iter().flat_map(|parent| state.items.within(parent));
    let all = within.chain(item.parent.is_none().then(at_the_top).into_iter().flatten());
    all.filter(move |other| other.kind == kind)
}

/// The names that the files beside a folder will have.
fn names_of_files(state: &State, folder: &Item) -> BTreeSet<String> {
    let coming =
        siblings(state, folder, Kind::File).filter(|other| other.is_listed() && other.file().is_none());
    coming.map(|other| naming::fold(&filenames::choose(other.name(), false, &|_| false))).collect()
}

/// The folder in which an item's file belongs; `None` while it is not there, or unknown.
pub fn place(state: &State, item: &Item) -> Option<MirrorPath> {
    match item.parent {
        None => folder(state.areas.get(&item.area)?),
        Some(_) if item.kind.is_part() => None,
        Some(parent) => {
            let parent = state.items.get(parent)?;
            parent.file().map(|fact| fact.path.clone()).filter(|path| path.as_str().len() <= PATH_MOST)
        }
    }
}

/// Folded names in a folder that a file of `item` cannot have: those of other files, and of missing ones, which may come back.
fn taken_in(state: &State, item: &Item, folder: &MirrorPath) -> BTreeSet<String> {
    let own = item.file().map(|fact| &fact.path);
    // A file that does not say its item's name any more is about to move, unless a user named it so and it cannot be sent.
    let is_moving = |other: &Item| {
        let is_elsewhere = |fact: &Fact| !says(other.kind, &fact.path, other.name());
        let stays = matches!(other.wait, Some(Wait::Unsent(_)));
        other.is_listed() && other.file().is_some_and(is_elsewhere) && !stays
    };
    let leaves = |path: &MirrorPath| state.items.at(path).is_some_and(is_moving);
    let entries = inside(&state.snapshot.entries, folder).map(|(path, _)| path);
    let entries = entries.filter(|path| Some(*path) != own && !leaves(path));
    let items = state.items.beneath(folder).filter(|other| other.key != item.key && !is_moving(other));
    // A new file that is gone, and that may have been uploaded, has no name here any more.
    let is_kept = |other: &&Item| !other.kind.is_stored() || other.remote.is_some() || other.file().is_some();
    let missing = items.filter(is_kept).filter_map(|other| other.last_file().map(|fact| &fact.path));
    let inside = entries.chain(missing).filter(|path| path.parent().as_ref() == Some(folder));
    inside.map(|path| naming::fold(path.name())).collect()
}

/// The entries of a map by paths that are directly in a folder.
pub fn inside<'a, T>(
    all: &'a BTreeMap<MirrorPath, T>,
    folder: &'a MirrorPath,
) -> impl Iterator<Item = (&'a MirrorPath, &'a T)> {
    let beneath =
        all.range(folder.clone()..).take_while(move |(path, _)| path.as_str().starts_with(folder.as_str()));
    beneath.filter(move |(path, _)| path.parent().as_ref() == Some(folder))
}

/// The path of the picture beside the file of an item of this kind: a page that shows the slides, or a drawing.
#[must_use]
pub fn picture(kind: Kind, file: &MirrorPath) -> Option<MirrorPath> {
    if kind.is_stored() {
        return None;
    }
    let [drawing, page] = PICTURES;
    let ending = if kind.inner().is_some() { page } else { drawing };
    file.parent()?.join(&format!("{}{ending}", stem(file))).ok()
}

/// A free path beside `file`, for the time in which two files change places.
#[must_use]
pub fn aside(state: &State, file: &MirrorPath) -> Option<MirrorPath> {
    let ending = if is_stored(file) { "" } else { ENDING };
    let to = file.parent()?.join(&format!("{} (moving){ending}", stem(file))).ok()?;
    (!state.snapshot.entries.contains_key(&to)).then_some(to)
}

/// The path of a conflict copy beside a file.
#[must_use]
pub fn conflict_copy(core: &Core<'_>, beside: &MirrorPath) -> Option<MirrorPath> {
    let folder = beside.parent()?;
    let known = core.store.conflicts().unwrap_or_default();
    let known = known.iter().map(|conflict| &conflict.path);
    let there = inside(&core.state.snapshot.entries, &folder).map(|(path, _)| path);
    let all: Vec<&MirrorPath> =
        known.chain(there).filter(|path| path.parent().as_ref() == Some(&folder)).collect();
    let when = WallTime::at(core.now, core.settings.utc_offset_seconds);
    if is_stored(beside) {
        let taken: BTreeSet<String> = all.iter().map(|path| naming::fold(path.name())).collect();
        return folder.join(&filenames::conflict_copy(beside.name(), when, &|key| taken.contains(key))).ok();
    }
    let taken: BTreeSet<String> = all.iter().map(|path| naming::fold(stem(path))).collect();
    let name = naming::conflict_copy(stem(beside), when, &|key| taken.contains(key), ROOM + 40);
    folder.join(&format!("{}{ENDING}", name.strip_suffix(".md").unwrap_or(&name))).ok()
}
