//! What users ask for, and what they chose: approvals, items to be fetched now, and which areas are mirrored.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::act::upload;
use crate::core::content::listed::ListOf;
use crate::core::content::naming;
use crate::core::guard;
use crate::core::items::{Item, Local};
use crate::core::observe::{entries, identity, storage};
use crate::core::plan::policy::Kind;
use crate::core::state::{Area, Core, State};
use crate::core::wants::Want;
use crate::model::{MirrorPath, WorkspaceId};

/// The workspaces as they are now.
pub fn set_areas(core: &mut Core<'_>, areas: BTreeMap<WorkspaceId, Area>) {
    let is_same = |(id, area): (&WorkspaceId, &Area)| {
        let known = core.state.areas.get(id);
        known.is_some_and(|known| Area { list: known.list.clone(), ..area.clone() } == *known)
    };
    if areas.len() == core.state.areas.len() && areas.iter().all(is_same) {
        return;
    }
    let mut old = std::mem::take(&mut core.state.areas);
    for (id, mut area) in areas {
        if let Some(known) = old.remove(&id) {
            area.list = known.list;
        }
        core.state.areas.insert(id, area);
    }
    core.state.items.mark_all();
    // The first scan looks at the areas that are known by then.
    if core.state.snapshot.scan > crate::core::keys::Seq(0) {
        core.state.scan_by(core.now);
    }
}

/// The workspaces that uploads may count for. The one that took the last upload comes first.
pub fn set_uploads(core: &mut Core<'_>, spaces: Vec<WorkspaceId>) {
    let is_known = spaces.len() == core.state.stored.upload_to.len()
        && spaces.iter().all(|space| core.state.stored.upload_to.contains(space));
    if is_known {
        return;
    }
    let last = core.store.meta(upload::UPLOADS_TO).ok().flatten();
    core.state.stored.upload_to = spaces;
    core.state.stored.upload_to.sort_by_key(|space| Some(space.as_str()) != last.as_deref());
    core.state.items.mark_all();
}

/// Whether the guard of creations holds.
pub fn hold_creations(core: &mut Core<'_>, are_held: bool) {
    if core.state.creations_held != are_held {
        core.state.creations_held = are_held;
        core.state.items.mark_all();
    }
}

/// The folder may lack files without an act of the user: stored files that are missing come back.
pub fn bring_stored_back(core: &mut Core<'_>) {
    let gone = core.state.items.gone().filter(|item| item.kind == Kind::File && !item.approved);
    let gone: Vec<crate::core::keys::ItemKey> = gone.map(|item| item.key).collect();
    gone.into_iter().for_each(|key| let_go(core, key));
}

/// An item whose file disappeared while nothing was looked at there was not deleted: it gets a new one.
pub fn let_go(core: &mut Core<'_>, key: crate::core::keys::ItemKey) {
    identity::let_come_back(core, key);
}

/// Releases what a guard held, and files with problems that the user means: at and beneath these paths, or everywhere. The barrier
/// has the approval already; without a path, what a place may hide is not meant.
pub fn approve(core: &mut Core<'_>, paths: &[MirrorPath]) {
    let is_meant = |path: &MirrorPath| paths.iter().any(|wanted| path.is_within(wanted));
    let now = core.now;
    let items: Vec<Item> = core.state.items.all().cloned().collect();
    for item in items {
        let Some(owner) = core.state.items.get(item.owner()) else { continue };
        let place =
            owner.last_file().map(|fact| fact.path.clone()).or_else(|| naming::home(core.state, owner));
        if !paths.is_empty() && !place.as_ref().is_some_and(is_meant) {
            continue;
        }
        let is_gone = matches!(item.local, Local::Gone { .. });
        let is_hidden = || {
            guard::hidden_by(core.barrier, &item).is_some() || guard::disk_away(core.state, &item).is_some()
        };
        if paths.is_empty() && is_hidden() {
            continue;
        }
        if item.wait.is_none() && !is_gone && item.is_listed() {
            continue;
        }
        if item.kind.is_part() {
            entries::list_by(core, &ListOf::of(&item), now);
        }
        core.state.items.edit(item.key, |item| item.approved = true);
        // A problem that may be meant is one no more.
        core.state.items.edit_file(item.key, |fact| {
            if fact.problem.as_ref().is_some_and(crate::model::Problem::may_be_meant) {
                fact.problem = None;
            }
        });
    }
    let spaces: Vec<WorkspaceId> = core.state.areas.keys().cloned().collect();
    for space in spaces {
        entries::list_by(core, &ListOf::Area(space), now);
    }
    storage::apply_approval(core);
    core.state.items.mark_all();
    core.state.scan_by(now);
}

/// Fetches that a user waits for: the items at and beneath a path, and those that lists bring there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Answers count that left after this number.
    since: crate::core::keys::Seq,
    place: MirrorPath,
}

/// How far the fetches are that a user waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fetched {
    /// The items that they are about.
    pub items: usize,
    /// Those of them that were not fetched since.
    pub items_left: usize,
    /// The folders of stored files that they are about.
    pub folders: usize,
    /// Those of them that were not listed since.
    pub folders_left: usize,
    /// The other lists that they are about.
    pub lists: usize,
    /// Those of them that were not taken in since.
    pub lists_left: usize,
    /// Whether the folder has what they brought, or cannot have it.
    pub is_in_step: bool,
}

/// Fetches the items at and beneath a path now, and the list of their area, and tries again what was refused about them. Returns
/// what is asked for, if there are any.
pub fn fetch_now(core: &mut Core<'_>, place: &MirrorPath) -> Option<Asked> {
    let now = core.now;
    let keys: Vec<crate::core::keys::ItemKey> = beneath(core.state, place).map(|item| item.key).collect();
    for key in &keys {
        let runtime = core.state.runtime(*key);
        (runtime.failures.1, runtime.disk_failures.1) = (now, now);
        let rows: Vec<crate::core::keys::Seq> = core.state.journal.of(*key).map(|act| act.sent).collect();
        for sent in rows {
            core.state.journal.edit(sent, |act| act.failing.until = act.failing.until.min(now));
        }
        want(core, *key);
    }
    let areas = lists_at(core.state, place).map(|(space, _)| ListOf::Area(space.clone()));
    let is_list = |key: &crate::core::keys::ItemKey| {
        core.state.items.get(*key).is_some_and(|item| item.kind.inner().is_some())
    };
    let inner = keys.iter().copied().filter(is_list).map(ListOf::Inner);
    let lists: Vec<ListOf> = areas.chain(inner).chain(folders_at(core.state, place)).collect();
    lists.iter().for_each(|list| entries::list_by(core, list, now));
    let is_any = !keys.is_empty() || !lists.is_empty();
    is_any.then(|| Asked { since: core.next_seq(), place: place.clone() })
}

fn want(core: &mut Core<'_>, key: crate::core::keys::ItemKey) {
    if core.state.items.get(key).is_some_and(|item| item.is_listed() && item.kind != Kind::File) {
        core.state.wanted.insert_new(key, Want::Fetch);
    }
    core.state.items.dirty.insert(key);
}

/// How far these fetches are.
#[must_use]
pub fn fetched(state: &State, asked: &[Asked]) -> Fetched {
    let mut all = Fetched { is_in_step: true, ..Fetched::default() };
    for Asked { since, place } in asked {
        let answered = |key| state.runtimes.get(&key).is_some_and(|runtime| runtime.answered > *since);
        for item in beneath(state, place).filter(|item| item.is_listed()) {
            if !item.kind.is_stored() {
                (all.items, all.items_left) =
                    (all.items + 1, all.items_left + usize::from(!answered(item.key)));
            }
            let is_at_work = state.items.dirty.contains(&item.key) || state.wanted.get(item.key).is_some();
            all.is_in_step &= !state.is_busy(item.key) && (item.wait.is_some() || !is_at_work);
        }
        let is_taken = |area: &Area| area.list.taken.is_some_and(|taken| taken > *since);
        for (_, area) in lists_at(state, place) {
            (all.lists, all.lists_left) = (all.lists + 1, all.lists_left + usize::from(!is_taken(area)));
        }
        for of in folders_at(state, place) {
            let is_answered = match of {
                ListOf::Inner(key) => answered(key),
                ListOf::Area(space) => state.areas.get(&space).is_some_and(is_taken),
            };
            (all.folders, all.folders_left) = (all.folders + 1, all.folders_left + usize::from(!is_answered));
        }
    }
    all
}

/// Whether there are items at a path or beneath it, or lists that show what is there.
#[must_use]
pub fn knows(state: &State, place: &MirrorPath) -> bool {
    beneath(state, place).next().is_some()
        || lists_at(state, place).next().is_some()
        || !folders_at(state, place).is_empty()
}

/// Whether a file at one of these paths is being read, or is about to become an item: it is not one yet, and nothing holds it.
#[must_use]
pub fn is_making(state: &State, is_here: &dyn Fn(&MirrorPath) -> bool) -> bool {
    let snapshot = &state.snapshot;
    let unread = snapshot.unread.keys().chain(snapshot.unhashed.keys());
    if unread.chain(snapshot.files.keys().filter(|_| snapshot.is_open)).any(is_here) {
        return true;
    }
    let is_new = |item: &&Item| !item.is_listed() && item.wait.is_none() && !item.is_ignored;
    state.items.all().filter(is_new).any(|item| item.file().is_some_and(|fact| is_here(&fact.path)))
}

fn stored_area(state: &State) -> Option<(&WorkspaceId, &Area)> {
    state.areas.iter().find(|(_, area)| area.is_live && area.kind.is_stored())
}

/// The lists of stored files that show what is at a path and beneath it.
fn folders_at(state: &State, place: &MirrorPath) -> BTreeSet<ListOf> {
    let Some((space, area)) = stored_area(state) else { return BTreeSet::new() };
    let root = naming::folder(area);
    let its = beneath(state, place).filter(|item| item.kind.is_stored() && item.is_listed());
    let mut all: BTreeSet<ListOf> = its
        .map(|item| if item.kind == Kind::Folder { ListOf::Inner(item.key) } else { ListOf::of(item) })
        .collect();
    let is_root_meant = root.as_ref().is_some_and(|root| root.is_within(place));
    if is_root_meant || all.is_empty() && root.is_some_and(|root| place.is_within(&root)) {
        // What is at a path that nothing is known of is shown by the nearest folder above it.
        let mut above = std::iter::successors(place.parent(), MirrorPath::parent);
        let near = above.find_map(|path| state.items.at(&path)).filter(|_| !is_root_meant);
        all.insert(near.map_or_else(|| ListOf::Area(space.clone()), |folder| ListOf::Inner(folder.key)));
    }
    all
}

/// The items whose file is at a path or beneath it, or belongs there.
fn beneath<'a>(state: &'a State, place: &'a MirrorPath) -> impl Iterator<Item = &'a Item> {
    let is_live = |item: &&Item| state.areas.get(&item.area).is_some_and(|area| area.is_live);
    state.items.all().filter(is_live).filter(|item| {
        let owner = state.items.get(item.owner()).unwrap_or(item);
        match owner.last_file() {
            Some(fact) => fact.path.is_within(place),
            None => naming::home(state, owner).is_some_and(|home| home.is_within(place)),
        }
    })
}

/// The areas of other items in which new ones may be at a path or beneath it.
fn lists_at<'a>(
    state: &'a State,
    place: &'a MirrorPath,
) -> impl Iterator<Item = (&'a WorkspaceId, &'a Area)> {
    let live = state.areas.iter().filter(|(_, area)| area.is_live && !area.kind.is_stored());
    live.filter(|(_, area)| {
        naming::folder(area).is_some_and(|folder| folder.is_within(place) || place.is_within(&folder))
    })
}

/// Notes which of the items with a new place are ignored: those whose file, or the place where it belongs, is.
pub fn note_ignored(core: &mut Core<'_>, ignores: &dyn Fn(&MirrorPath, bool) -> bool) {
    for key in std::mem::take(&mut core.state.replaced) {
        let Some(item) = core.state.items.get(key).cloned() else { continue };
        let Some(owner) = core.state.items.get(item.owner()) else { continue };
        let home = naming::home(core.state, owner);
        let places = || owner.last_file().map(|fact| &fact.path).into_iter().chain(&home);
        let is_ignored = places().any(|path| ignores(path, item.kind == Kind::Folder));
        let picture = places().next().and_then(|path| naming::picture(owner.kind, path));
        core.state.runtime(item.key).is_picture_ignored = picture.is_some_and(|path| ignores(&path, false));
        if is_ignored != item.is_ignored {
            core.state.items.edit(item.key, |item| item.is_ignored = is_ignored);
        }
    }
}
