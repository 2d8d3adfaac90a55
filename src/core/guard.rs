//! Whether an absence is believed, and whether what is missing may be removed at the service. One count over all kinds.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::content::bytes;
use crate::core::items::{Act, ActState, Deed, Fact, Item, Local, Part, Verb};
use crate::core::keys::{ItemKey, Seq};
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, Snapshot, State};
use crate::model::{MirrorPath, Timestamp, Unreadable, WorkspaceId, planted};
use crate::plan::barrier::{Absent, Barrier};
use crate::plan::filenames;
use crate::plan::guard::{self, Guard, Kind as Counted};

/// Removals this recent count together with those that are about to happen.
pub const RECENT_MS: i64 = 60_000;
/// The same for stored files that left the service: their folders are listed minutes apart.
const RECENT_HERE_MS: i64 = 600_000;

/// Whether an item's file counts as deleted: a scan after the grace time lacks it, and nothing unreadable may hide it.
#[must_use]
pub fn is_absent(core: &Core<'_>, item: &Item) -> bool {
    let Local::Gone { since, at, .. } = &item.local else { return false };
    let snapshot = &core.state.snapshot;
    let grace_ms = core.settings.pages.delete_grace_ms;
    let is_planted = planted(if item.kind.is_stored() { "stored-no-grace" } else { "canvas-no-grace" });
    let is_over = core.barrier.grace_end(*at, grace_ms) <= snapshot.scanned || is_planted;
    let is_hidden = || hidden_by(core.barrier, item).is_some() || disk_away(core.state, item).is_some();
    // A file that is not hashed yet may be this one under another name.
    let is_new = |path: &MirrorPath| core.state.items.at(path).is_none_or(|item| item.remote.is_none());
    let is_sought = || item.kind.is_stored() && snapshot.unhashed.keys().any(is_new);
    snapshot.scan > *since && is_over && !is_sought() && (item.approved || !is_hidden())
}

/// The folder above a missing file that is on another disk than the file was: that disk is not mounted.
#[must_use]
pub fn disk_away(state: &State, item: &Item) -> Option<MirrorPath> {
    let Local::Gone { last, .. } = &item.local else { return None };
    let Snapshot { entries, device, renumbered, scan, .. } = &state.snapshot;
    if *scan == Seq(0) {
        return None;
    }
    let mut above = std::iter::successors(last.path.parent(), MirrorPath::parent);
    let found = above.find_map(|folder| {
        let (is_folder, stamp) = entries.get(&folder)?;
        is_folder.then_some((folder, stamp.device))
    });
    let (folder, is) = found.unwrap_or_else(|| (MirrorPath::root(), *device));
    let was = last.stamp.device;
    (was != 0 && is != was && !renumbered.contains(&was)).then_some(folder)
}

/// The place that may hide an item's missing file.
#[must_use]
pub fn hidden_by<'a>(barrier: &'a Barrier, item: &Item) -> Option<&'a Unreadable> {
    let Local::Gone { last, .. } = &item.local else { return None };
    hides(barrier, last)
}

/// The place that may hide a file that was seen there last.
#[must_use]
pub fn hides<'a>(barrier: &'a Barrier, last: &Fact) -> Option<&'a Unreadable> {
    barrier.hides(Absent { last: Some(&last.path), object: Some(last.stamp.object()) })
}

/// The kind in messages.
#[must_use]
pub fn kind_in_messages(kind: Kind) -> Counted {
    match kind {
        Kind::Page => Counted::Page,
        Kind::Whiteboard => Counted::Whiteboard,
        Kind::Presentation => Counted::Presentation,
        Kind::Slide => Counted::Slide,
        Kind::Folder | Kind::File => Counted::StoredFile,
    }
}

/// Why nothing that is missing in the folder is removed at the service. The driver counts what is gone, of all kinds.
#[must_use]
pub fn deletions(core: &Core<'_>) -> Option<Guard> {
    let state = &core.state;
    state.doubt.as_ref().or(state.deletions_held.as_ref()).cloned()
}

/// What is gone from the folder of an area whose changes are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missing {
    /// The number of items that are missing and not approved.
    pub gone: usize,
    /// The number of items removed shortly before.
    pub recent: usize,
    /// The number of mirrored items, those that are gone included.
    pub all: usize,
}

/// What leaves the service, of stored files, and is not believed.
#[derive(Debug, Default)]
pub struct Leaving {
    /// Why none of it is removed.
    pub held: Option<Guard>,
    /// The folders that suddenly list nothing; the root is none.
    pub emptied: BTreeMap<Option<ItemKey>, Guard>,
}

/// Counts what leaves the service: the folders are listed one after the other, so all of them count together.
#[must_use]
pub fn leaving(core: &Core<'_>) -> Leaving {
    let most = core.settings.pages.max_deletes;
    let files = || core.state.items.all().filter(|item| item.kind == Kind::File && item.remote.is_some());
    // In the place of one that left, another machine may have put its new version.
    let named = |item: &Item| (item.parent, item.name().to_owned());
    let shown: BTreeSet<_> = files().filter(|item| item.is_listed()).map(named).collect();
    let is_leaving = |item: &&Item| {
        let is_open = item.base.is_some() && !item.is_listed() && !item.approved;
        is_open && !is_absent(core, item) && !shown.contains(&named(item))
    };
    let is_recent = |act: &&Act| act.part == Part::File && matches!(act.deed, Deed::Remove { .. });
    let gone = core.state.journal.all().filter(is_recent).count();
    let mirrored = files().filter(|item| item.base.is_some()).count() + gone;
    let count = files().filter(is_leaving).count();
    let held =
        if count == 0 { None } else { guard::list_shrank(Counted::StoredFile, mirrored, count + gone, most) };
    let mut folders: BTreeMap<Option<ItemKey>, usize> = BTreeMap::new();
    files().filter(is_leaving).for_each(|item| *folders.entry(item.parent).or_default() += 1);
    let mut emptied = BTreeMap::new();
    for (folder, left) in folders {
        let is_shown = |item: &Item| item.kind.is_stored() && item.parent == folder && item.is_listed();
        let is_there = folder.is_none_or(|key| core.state.items.get(key).is_some_and(Item::is_listed));
        // A single file may have been the last one of a folder. For the root not even that is believed.
        let is_many = left >= if folder.is_some() { 2 } else { 1 };
        if is_there && is_many && !core.state.items.all().any(is_shown) {
            let guard = guard::list_shrank(Counted::StoredFile, left, left, most);
            emptied.extend(guard.map(|guard| (folder, guard)));
        }
    }
    Leaving { held, emptied }
}

/// Why a stored file that left the service stays in the folder.
#[must_use]
pub fn stays(state: &State, item: &Item) -> Option<Guard> {
    if item.is_listed() || item.approved || item.base.is_none() {
        return None;
    }
    let area = state.areas.get(&item.area)?;
    let of_folder =
        item.parent.and_then(|key| state.runtimes.get(&key)).and_then(|runtime| runtime.held.as_ref());
    area.list.held.as_ref().or(of_folder).cloned()
}

/// Whether the removal of an item of this kind can be asked for.
fn can_go(kind: Kind) -> bool {
    !kind.is_part() && kind != Kind::Folder
}

/// Counts what is gone from the folder, of the items of these kinds.
#[must_use]
pub fn missing(state: &State, is_meant: impl Fn(Kind) -> bool) -> Missing {
    let is_open = |area: &WorkspaceId| state.areas.get(area).is_some_and(|area| area.is_open);
    let recent = state.journal.all().filter(|act| {
        is_removal_of_item(&act.part, &act.deed)
            && act.state != ActState::Failed
            && state.items.get(act.item).is_none_or(|item| is_meant(item.kind) && !is_counted(item))
    });
    let gone = state.items.gone().filter(|item| is_meant(item.kind) && is_open(&item.area));
    let all = state.items.mirrored().filter(|(area, kind, _)| is_meant(*kind) && is_open(area));
    let all = all.filter(|(_, kind, _)| can_go(*kind)).map(|(.., number)| number).sum();
    Missing { gone: gone.filter(|item| is_counted(item)).count(), recent: recent.count(), all }
}

fn is_counted(item: &Item) -> bool {
    let is_gone = matches!(item.local, Local::Gone { .. });
    is_gone && can_go(item.kind) && !item.approved && item.base.is_some() && item.is_listed()
}

fn is_removal_of_item(part: &Part, deed: &Deed) -> bool {
    *part == Part::Item && matches!(deed, Deed::Remove { .. })
}

/// Whether something may be sent to an area: it is synced both ways, not frozen, and the last such request was not forbidden.
#[must_use]
pub fn may(state: &State, area: &WorkspaceId, verb: Verb, now: Timestamp) -> bool {
    let is_open = state.areas.get(area).is_some_and(|area| area.is_open);
    is_open && state.forbidden.may(area, verb, false, now)
}

/// Removes the rows of the journal that say nothing any more. A removal counts for the guard for a while, and while the guard
/// holds.
pub fn drop_old_rows(core: &mut Core<'_>) {
    let now = core.now;
    let is_any = core.state.journal.all().any(|act| is_removal_of_item(&act.part, &act.deed));
    let is_held = is_any && deletions(core).is_some();
    let is_here = |act: &Act| act.part == Part::File && matches!(act.deed, Deed::Remove { .. });
    let is_over = |act: &&Act| match act.state {
        ActState::Done { at, .. } if is_here(act) => now.since_ms(at) >= RECENT_HERE_MS,
        ActState::Done { at, .. } if is_removal_of_item(&act.part, &act.deed) => {
            !is_held && now.since_ms(at) >= RECENT_MS
        }
        ActState::Done { .. } => act.state.is_over(now),
        _ => false,
    };
    let over = core.state.journal.all().filter(is_over).map(|act| (act.sent, act.item));
    for (sent, item) in over.collect::<Vec<_>>() {
        let act = core.state.journal.remove(sent);
        if let Some(Part::Version(id)) = act.map(|act| act.part) {
            core.state.items.edit(item, |item| item.superseded.retain(|version| version.id != id));
        }
        core.state.items.dirty.insert(item);
    }
}

/// Why an edit of a file must wait for the user: many nodes are gone from it, and elements have no trash; or the folder is in
/// doubt.
#[must_use]
pub fn edit(core: &Core<'_>, item: &Item, deletes: bool, (gone, all): (usize, usize)) -> Option<Guard> {
    if item.approved {
        return None;
    }
    let many = gone > core.settings.pages.max_deletes || gone == all && all > 2 || gone > 5 && gone > all / 2;
    core.state.doubt.clone().or_else(|| (deletes && many).then_some(Guard::Nodes(gone, all)))
}

/// Whether an item may be the result of a creation whose outcome is unknown.
#[must_use]
pub fn may_be_made(core: &Core<'_>, item: &Item) -> Option<ItemKey> {
    if item.base.is_some() || item.local != Local::Never {
        return None;
    }
    if item.kind == Kind::File {
        return bytes::may_be_made(core, item);
    }
    let made = core.state.journal.all().find(|act| {
        let Deed::Create { fields, .. } = &act.deed else { return false };
        let draft = core.state.items.get(act.item);
        act.part == Part::Item
            && act.is_in_doubt()
            && draft.is_some_and(|draft| draft.area == item.area && draft.kind == item.kind)
            && filenames::is_same_name(
                fields.get("name").and_then(serde_json::Value::as_str).unwrap_or_default(),
                item.name(),
            )
    });
    made.map(|act| act.item)
}
