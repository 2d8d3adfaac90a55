//! Files and folders of items under another path, and which folder of the storage is which.

use std::collections::BTreeMap;

use crate::core::content::{bytes, naming};
use crate::core::items::{Act, ActState, Deed, Fact, Item, Listing, Local, Part};
use crate::core::keys::{ItemKey, Seq};
use crate::core::observe::moved;
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, RenameReason, Way};
use crate::model::{Code, ContentHash, MirrorPath};
use crate::plan::adoption::{Adoption, STORED_FOLDERS};
use crate::store::Conflict;

/// A file or a folder of an item was renamed.
pub fn renamed(core: &mut Core<'_>, key: ItemKey, from: &MirrorPath, to: &MirrorPath, why: RenameReason) {
    let Some(item) = core.state.items.get(key).cloned() else { return };
    let entry = core.state.snapshot.entries.remove(from);
    if let Some(entry) = entry {
        core.state.snapshot.entries.insert(to.clone(), entry);
    }
    succeeded(core, key);
    core.state.items.mark_all();
    if why == RenameReason::Conflict {
        return set_aside(core, &item, from, to);
    }
    let (now, name) = (core.now, item.name().to_owned());
    if item.kind == Kind::Folder {
        moved::follow_folder(core, key, from, to);
    }
    core.state.items.edit(key, |item| {
        if let Local::Here(fact) = &mut item.local {
            (fact.path, fact.since) = (to.clone(), now);
        }
        if let Some(base) = item.base.as_mut().filter(|_| why != RenameReason::Aside) {
            (base.name, base.path) = (name, to.clone());
        }
    });
    match why {
        RenameReason::Follows if item.kind.is_stored() => {
            core.tell(Way::Down, to, format!("moved from {from}"))
        }
        RenameReason::Follows => core.tell(Way::Down, to, format!("renamed from {}", from.name())),
        RenameReason::PutBack => {
            let noun = naming::noun(item.kind);
            let what = format!("a {noun} cannot be renamed or moved through the API; its file is moved back");
            core.tell(Way::Aside, to, what.clone());
            core.notice(Code::PutBack, to, what, "rename it in the app");
        }
        RenameReason::Aside | RenameReason::Conflict => {}
    }
}

/// An item's file has become a conflict copy.
pub(crate) fn set_aside(core: &mut Core<'_>, item: &Item, from: &MirrorPath, to: &MirrorPath) {
    let is_gone = item.presence() == Some(Listing::Gone);
    let summary = if is_gone { Conflict::CANVAS_GONE } else { Conflict::CANVAS_DIFFERED };
    let hash = item.file().and_then(|fact| fact.hash).unwrap_or_else(|| ContentHash::of(b""));
    if item.kind.is_stored() {
        core.tell(Way::Aside, from, format!("your version is kept as {}", to.name()));
    } else {
        note_conflict(core, to.clone(), from.clone(), hash, summary.to_owned());
    }
    core.state.runtime(item.key).text = None;
    core.state.items.release(item.key);
}

pub(crate) fn succeeded(core: &mut Core<'_>, key: ItemKey) {
    let runtime = core.state.runtime(key);
    (runtime.disk_failures, runtime.disk) = Default::default();
    core.state.items.dirty.insert(key);
}

pub(crate) fn note_conflict(
    core: &mut Core<'_>,
    copy: MirrorPath,
    beside: MirrorPath,
    text: ContentHash,
    summary: String,
) {
    let what = format!("conflict: your version is kept in {}", copy.name());
    let (path, page_path, made_at) = (copy, beside.clone(), core.now);
    core.store.save_conflict(&Conflict { path, page_path, made_at, summary, text });
    core.tell(Way::Aside, &beside, what);
}

/// Which folders of the service are in the folder, by their paths.
pub fn identify_folders(core: &mut Core<'_>) {
    confirm_renames(core);
    let is_folder = |item: &&Item| item.kind == Kind::Folder && item.last_file().is_some();
    let folders: Vec<Item> = core.state.items.all().filter(is_folder).cloned().collect();
    for item in folders {
        let Some(fact) = item.last_file() else { continue };
        let there = core.state.snapshot.entries.get(&fact.path).filter(|(is_folder, _)| *is_folder);
        let is_there = there.is_some() || core.barrier.covers(&fact.path);
        match (is_there, item.file().is_some()) {
            (true, false) => {
                let fact = fact.clone();
                core.state.items.edit(item.key, |item| item.local = Local::Here(fact));
            }
            (false, true) => {
                let (since, at, last) = (core.state.snapshot.scan, core.now, fact.clone());
                core.state.items.edit(item.key, |item| item.local = Local::Gone { since, at, last });
            }
            _ => continue,
        }
        mark_within(core, item.key);
    }
}

pub(crate) fn mark_within(core: &mut Core<'_>, key: ItemKey) {
    let items = &core.state.items;
    let place = items.get(key).and_then(Item::last_file).map(|fact| &fact.path);
    // New files in it, too, which may be uploaded from now on.
    let there = place.into_iter().flat_map(|place| items.beneath(place));
    let within: Vec<ItemKey> = items.within(key).chain(there).map(|item| item.key).collect();
    // The places where they belong are known, or others, from now on.
    core.state.replaced.extend(within.iter().copied());
    core.state.items.dirty.extend(within);
}

/// A folder of the service has its place here.
pub fn adopt_folder(core: &mut Core<'_>, key: ItemKey, path: &MirrorPath) {
    let Some(content) = core.state.items.get(key).and_then(Item::content) else { return };
    let stamp = core.state.snapshot.entries.get(path).map(|(_, stamp)| *stamp).unwrap_or_default();
    // Folders have no bytes that could differ.
    let hash = Some(ContentHash::of(b""));
    let fact = Fact {
        path: path.clone(),
        since: core.now,
        stamp,
        hash,
        says: None,
        problem: None,
        racy: false,
        is_blank: false,
    };
    core.state.items.edit(key, |item| item.local = Local::Here(fact));
    core.state.items.agree(key, content, hash, path);
    mark_within(core, key);
}

/// Folders of the service without a place here take those of the folder that have their names; then what lies in them.
pub(crate) fn match_folders(core: &mut Core<'_>) {
    loop {
        let items = &core.state.items;
        let is_new = |item: &&Item| {
            let is_missing = item.kind == Kind::Folder && item.file().is_none();
            is_missing && item.is_listed() && item.content().is_some()
        };
        let mut new: BTreeMap<MirrorPath, Vec<(ItemKey, String)>> = BTreeMap::new();
        for item in items.all().filter(is_new) {
            if let Some(place) = naming::place(core.state, item) {
                new.entry(place).or_default().push((item.key, item.name().to_owned()));
            }
        }
        let is_free = |path: &MirrorPath| items.at(path).is_none_or(|other| other.file().is_none());
        let pairs = new.into_iter().flat_map(|(place, items)| {
            let entries = naming::inside(&core.state.snapshot.entries, &place);
            let free = entries.filter(|(path, (is_folder, _))| *is_folder && is_free(path));
            let files = free.map(|(path, _)| (path.clone(), path.name().to_owned())).collect();
            Adoption { items, files, shown: Vec::new() }.pairs(STORED_FOLDERS, &|_, _| true)
        });
        let pairs: Vec<(ItemKey, MirrorPath)> = pairs.collect();
        if pairs.is_empty() {
            return;
        }
        pairs.into_iter().for_each(|(key, path)| adopt_folder(core, key, &path));
    }
}

/// What lies in a folder that was renamed has moved along with it. A missing file has not.
pub fn follow_folder(core: &mut Core<'_>, key: ItemKey, from: &MirrorPath, to: &MirrorPath) {
    let moved = |path: &MirrorPath| path.rebase(from, to);
    let is_in = |item: &&Item| item.key != key && item.file().is_some_and(|fact| fact.path.is_within(from));
    let keys: Vec<ItemKey> = core.state.items.all().filter(is_in).map(|item| item.key).collect();
    for key in keys {
        core.state.items.edit(key, |item| {
            if let Local::Here(fact) = &mut item.local {
                fact.path = moved(&fact.path).unwrap_or_else(|| fact.path.clone());
            }
            if let Some(base) = &mut item.base {
                base.path = moved(&base.path).unwrap_or_else(|| base.path.clone());
            }
        });
        let rows: Vec<Seq> = core.state.journal.of(key).map(|act| act.sent).collect();
        for sent in rows {
            core.state.journal.edit(sent, |act| bytes::follow(&mut act.deed, &moved));
        }
    }
    let snapshot = &mut core.state.snapshot;
    let entries = std::mem::take(&mut snapshot.entries).into_iter();
    snapshot.entries = entries.map(|(path, entry)| (moved(&path).unwrap_or(path), entry)).collect();
    let files = std::mem::take(&mut snapshot.files).into_iter();
    snapshot.files = files.map(|(path, file)| (moved(&path).unwrap_or(path), file)).collect();
    let unhashed = std::mem::take(&mut snapshot.unhashed).into_iter();
    snapshot.unhashed = unhashed.map(|(path, due)| (moved(&path).unwrap_or(path), due)).collect();
    core.state.scan_by(core.now);
}

/// A run that was killed may have renamed folders without recording that.
pub(crate) fn confirm_renames(core: &mut Core<'_>) {
    let is_doubted = |act: &&Act| act.part == Part::File && matches!(act.state, ActState::Unconfirmed(_));
    for act in core.state.journal.all().filter(is_doubted).cloned().collect::<Vec<_>>() {
        let item = core.state.items.get(act.item).filter(|item| item.kind == Kind::Folder);
        let (Some(item), Deed::Write { path, .. }) = (item, &act.deed) else { continue };
        let is_there = |path: &MirrorPath| core.state.snapshot.entries.contains_key(path);
        let from = item.file().map(|fact| fact.path.clone());
        let from = from.filter(|from| !is_there(from) && is_there(path));
        core.state.journal.remove(act.sent);
        if let Some(from) = from {
            moved::renamed(core, act.item, &from, path, RenameReason::Follows);
        }
    }
}
