//! Stored files as the service shows them. A folder is listed by itself; its list says which bytes a file has. A list that lacks
//! a file is a reason to look for it by its id, and that tells whether it is gone; a folder is gone once two lists of the one
//! above it lack it and every other folder was listed in between.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::content::bytes;
use crate::core::content::listed::{ListOf, Listed};
use crate::core::guard;
use crate::core::items::{Act, Item, Listing, Local, Part};
use crate::core::keys::{Digest, ItemKey, Seq};
use crate::core::observe::moved::match_folders;
use crate::core::observe::{entries, uploads};
use crate::core::plan::confirm::Shows;
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, State};
use crate::core::wants::Want;
use crate::model::{ContentHash, Link, Schedule, ServiceError, Timestamp, WorkspaceId, planted};
use crate::plan::adoption::{Adoption, STORED};

/// A link that expires within this time is not used for a new download, in milliseconds.
const LINK_MARGIN_MS: i64 = 15_000;
/// The time before a file is looked for again that a fetch by its id shows and no list does, in milliseconds.
const HIDDEN_MS: i64 = 600_000;
/// The time before the second list after a folder was missing, in milliseconds.
const SECOND_MS: i64 = 2_000;
/// The waits between further lists, while other folders are still to be listed: they must not wait for these.
const FURTHER: Schedule = Schedule::new(SECOND_MS, 60_000);

/// Takes in the list of a folder.
pub fn apply_folder(
    core: &mut Core<'_>,
    key: ItemKey,
    listed: Vec<Listed>,
    skipped: &[String],
    (sent, asked_at): (Seq, Timestamp),
) {
    let of = ListOf::Inner(key);
    let digest = digest_of(&listed);
    let ids = entries::apply_entries(core, &of, listed, asked_at);
    let now = core.now;
    entries::set_remote(core, key, |remote| remote.note_content(digest, now));
    let runtime = core.state.runtime(key);
    (runtime.unreadable, runtime.not_found, runtime.failures) = (None, None, Default::default());
    (runtime.fetched, runtime.answered) = (Some((sent, asked_at)), sent);
    runtime.trouble = skipped.first().map(|why| format!("{} entries of its list: {why}", skipped.len()));
    apply_list(core, &of, &ids, skipped.is_empty(), (sent, asked_at));
}

/// Stands for what a folder's list shows.
fn digest_of(listed: &[Listed]) -> Digest {
    let lines = listed.iter().map(|entry| {
        let bytes = entry.bytes.as_ref().map(|bytes| bytes.digest());
        format!("{:?} {} {} {bytes:?}\n", entry.kind, entry.id, entry.name)
    });
    ContentHash::of(lines.collect::<String>().as_bytes())
}

/// What follows from a list besides its entries. `is_whole`: each entry could be read.
pub fn apply_list(
    core: &mut Core<'_>,
    of: &ListOf,
    ids: &BTreeSet<String>,
    is_whole: bool,
    (sent, asked_at): (Seq, Timestamp),
) {
    let ours = entries::items_of(core, of);
    if is_whole {
        let missing: Vec<Item> =
            entries::lacked(core, &ours, ids, (sent, asked_at)).into_iter().cloned().collect();
        apply_absences(core, missing, (sent, asked_at));
        unlist_orphans(core, (sent, asked_at));
    }
    uploads::confirm_uploads(core, of, is_whole, (sent, asked_at));
    match_new(core, Some(of));
    // The next list is due earlier while no list shows an act. An upload without an answer may wait for bytes instead.
    let waits = |act: &&Act| act.part == Part::Item && !bytes::is_unconfirmed(core.state, act);
    let acts: Vec<Seq> = core.state.journal.all().filter(waits).map(|act| act.sent).collect();
    acts.into_iter().for_each(|sent| entries::list_for(core, sent));
    // What waits for a list, as older versions do, may go on.
    for item in ours.iter().filter(|item| !item.superseded.is_empty() || item.local == Local::Never) {
        core.state.items.dirty.insert(item.key);
    }
}

fn apply_absences(core: &mut Core<'_>, missing: Vec<Item>, (sent, asked_at): (Seq, Timestamp)) {
    let is_new = |item: &&Item| item.presence() == Some(Listing::Listed);
    let new: Vec<&Item> = missing.iter().filter(is_new).collect();
    if new.len() > 1 || new.iter().any(|item| item.kind == Kind::Folder) {
        // They may have moved to another folder, whose list shows them then.
        list_everything(core, &missing[0].area);
    }
    if missing.is_empty() {
        return;
    }
    for item in &missing {
        let is_second = item.presence() == Some(Listing::Unlisted);
        match item.kind {
            Kind::Folder if is_second => {
                let not_found = &mut core.state.runtime(item.key).not_found;
                let is_first_here = not_found.is_none();
                let since = *not_found.get_or_insert(sent);
                if is_first_here {
                    // An earlier run missed it.
                    list_everything(core, &item.area);
                }
                if lists_since(core.state, &item.area, since) {
                    gone(core, item.key, asked_at);
                } else {
                    let failures = &mut core.state.runtime(item.key).failures.0;
                    *failures += 1;
                    let wait = FURTHER.wait_ms(*failures);
                    entries::list_by(core, &ListOf::of(item), core.now.plus_ms(wait));
                }
            }
            _ => unlisted(core, item.key, sent, asked_at),
        }
    }
    note_leaving(core);
}

/// What a folder that is gone showed last, after the list above lacked the folder already, is in no list any more.
fn unlist_orphans(core: &mut Core<'_>, at: (Seq, Timestamp)) {
    let items = &core.state.items;
    let gone = items.all().filter(|item| item.kind == Kind::Folder && item.presence() == Some(Listing::Gone));
    // No list of the folder shows any more that a folder in it is gone, and no fetch: all lists together do.
    let is_folder = |item: &Item| item.kind == Kind::Folder && item.presence() == Some(Listing::Unlisted);
    let within = gone.flat_map(|folder| items.within(folder.key));
    let orphans: Vec<Item> = within.filter(|item| item.is_listed() || is_folder(item)).cloned().collect();
    apply_absences(core, orphans, at);
}

/// Computes the guards of what leaves the service: they concern all stored files together, and each folder.
pub fn note_leaving(core: &mut Core<'_>) {
    let space = WorkspaceId::of_storage();
    let leaving = guard::leaving(core);
    let before = core.state.areas.get(&space).and_then(|area| area.list.held.clone());
    if let Some(area) = core.state.areas.get_mut(&space) {
        area.list.held.clone_from(&leaving.held);
    }
    let folders = core.state.items.all().filter(|item| item.kind == Kind::Folder);
    for key in folders.map(|folder| folder.key).collect::<Vec<_>>() {
        let held = leaving.emptied.get(&Some(key)).cloned();
        if held.is_some() || core.state.runtimes.get(&key).is_some_and(|runtime| runtime.held.is_some()) {
            core.state.runtime(key).held = held;
        }
    }
    if before != leaving.held {
        core.state.items.mark_all();
    }
    let is_leaving = |item: &&Item| item.kind.is_stored() && item.remote.is_some() && !item.is_listed();
    let keys: Vec<ItemKey> = core.state.items.all().filter(is_leaving).map(|item| item.key).collect();
    core.state.items.dirty.extend(keys);
}

/// A list lacks an item, and so it lacks what lies in it.
fn unlisted(core: &mut Core<'_>, key: ItemKey, sent: Seq, asked_at: Timestamp) {
    let Some(item) = core.state.items.get(key).cloned() else { return };
    core.state.runtime(key).not_found.get_or_insert(sent);
    if item.is_listed() {
        entries::set_remote(core, key, |remote| remote.presence = Listing::Unlisted);
        if item.kind == Kind::Folder {
            entries::list_by(core, &ListOf::of(&item), core.now.plus_ms(SECOND_MS));
        }
    }
    if planted("stored-absence-believed") {
        gone(core, key, asked_at);
    }
    let within: Vec<ItemKey> = core.state.items.within(key).map(|item| item.key).collect();
    within.into_iter().for_each(|key| unlisted(core, key, sent, asked_at));
}

/// An item is gone at the service.
fn gone(core: &mut Core<'_>, key: ItemKey, asked_at: Timestamp) {
    entries::set_remote(core, key, |remote| remote.presence = Listing::Gone);
    let runtime = core.state.runtime(key);
    (runtime.failures, runtime.bytes.is_hidden) = (Default::default(), false);
    core.state.wanted.remove(key);
    entries::trash_is_shown(core, key, Shows::After, asked_at);
    core.state.items.dirty.insert(key);
    note_leaving(core);
}

/// Every folder is listed anew.
pub fn list_everything(core: &mut Core<'_>, area: &WorkspaceId) {
    entries::list_by(core, &ListOf::Area(area.clone()), core.now);
    let folders = core.state.items.all().filter(|item| item.kind == Kind::Folder && item.is_listed());
    let folders: Vec<ItemKey> = folders.map(|item| item.key).collect();
    for key in folders {
        core.state.runtime(key).needs = core.next_seq();
        core.state.wanted.insert_new(key, Want::Fetch);
    }
}

/// Whether each folder that the service shows was listed after a request, as far as it can be listed.
#[must_use]
pub fn lists_since(state: &State, area: &WorkspaceId, since: Seq) -> bool {
    let root = state.areas.get(area).and_then(|area| area.list.taken);
    let mut folders = state.items.all().filter(|item| item.kind == Kind::Folder && item.is_listed());
    root.is_some_and(|taken| taken > since)
        && folders.all(|folder| {
            let runtime = state.runtimes.get(&folder.key);
            runtime.is_some_and(|runtime| runtime.answered > since || runtime.unreadable.is_some())
        })
}

/// Whether a file that no list shows may be looked for by its id: if its folder left too, each folder is listed first.
#[must_use]
pub fn may_be_sought(state: &State, item: &Item) -> bool {
    let folder = item.parent.and_then(|parent| state.items.get(parent));
    let since = folder
        .filter(|folder| !folder.is_listed())
        .and_then(|folder| state.runtimes.get(&folder.key).and_then(|runtime| runtime.not_found));
    item.is_listed() || since.is_none_or(|since| lists_since(state, &item.area, since))
}

/// Takes in what a fetch of a file by its id shows. `folder`: the id of the folder in which the service has it.
pub fn apply_link(
    core: &mut Core<'_>,
    key: ItemKey,
    mut shown: Listed,
    folder: Option<String>,
    (link, good_for_ms): (Link, i64),
    (sent, asked_at): (Seq, Timestamp),
) {
    let Some(item) = core.state.items.get(key).cloned() else { return };
    let Some(remote) = item.remote.as_ref().filter(|remote| remote.id == shown.id) else { return };
    // The fields that espejo does not use come with the list.
    (shown.rest, shown.position) = (remote.rest.clone(), None);
    let now = core.now;
    let runtime = core.state.runtime(key);
    (runtime.failures.1, runtime.answered) = (Timestamp::default(), sent);
    let until = now.plus_ms((good_for_ms - LINK_MARGIN_MS).max(1_000));
    runtime.bytes.link = shown.bytes.as_ref().map(|bytes| (bytes.digest(), link, until));
    core.state.stored.linked.insert(key);
    let home = match &folder {
        None => Some(None),
        Some(id) => {
            let home = core.state.items.of_id(Kind::Folder, None, id).filter(|home| home.is_listed());
            home.map(|home| Some(home.key))
        }
    };
    match home {
        Some(home) if item.is_listed() || home != item.parent => {
            core.state.runtime(key).bytes.is_hidden = false;
            let of = ListOf::inside(home, &item.area);
            entries::apply_entry(core, &of, shown, asked_at);
            if !item.is_listed() {
                entries::list_by(core, &of, now);
            }
        }
        // The list of its folder contradicts, or no list shows its folder, which may be new.
        _ => {
            let runtime = core.state.runtime(key);
            let is_hidden = std::mem::replace(&mut runtime.bytes.is_hidden, true);
            if home.is_none() && !is_hidden {
                list_everything(core, &item.area);
            }
            core.state.runtime(key).failures.1 = now.plus_ms(HIDDEN_MS);
        }
    }
    core.state.items.dirty.insert(key);
}

/// A file could not be fetched by its id. Returns whether that tells that it is gone.
pub fn apply_no_link(core: &mut Core<'_>, key: ItemKey, error: &ServiceError, asked_at: Timestamp) -> bool {
    let item = core.state.items.get(key).filter(|item| item.kind == Kind::File);
    let is_unlisted = item.is_some_and(|item| item.presence() == Some(Listing::Unlisted));
    let is_gone = is_unlisted && matches!(error, ServiceError::NotFound(_));
    if is_gone {
        gone(core, key, asked_at);
    }
    is_gone
}

/// A new file in the folder is the listed item without a file that has its name and size: the bytes tell whether both are equal.
/// `of`: only those of one folder.
pub fn match_new(core: &mut Core<'_>, of: Option<&ListOf>) {
    match_folders(core);
    let items = &core.state.items;
    let is_draft = |item: &&Item| item.kind == Kind::File && item.remote.is_none();
    let mut drafts: BTreeMap<ListOf, Vec<(ItemKey, String)>> = BTreeMap::new();
    for draft in items.all().filter(is_draft).filter(|item| core.state.journal.of(item.key).next().is_none())
    {
        let Some(fact) = draft.file() else { continue };
        let Some(folder) = bytes::folder_at(items, &fact.path) else { continue };
        let list = ListOf::inside(folder, &draft.area);
        if of.is_none_or(|of| *of == list) {
            drafts.entry(list).or_default().push((draft.key, fact.path.name().to_owned()));
        }
    }
    for (list, files) in drafts {
        let items = entries::items_of(core, &list).into_iter();
        let is_new =
            |item: &Item| item.kind == Kind::File && item.local == Local::Never && item.base.is_none();
        let items = items.filter(|item| is_new(item) && item.is_listed());
        let items = items.map(|item| (item.key, item.name().to_owned())).collect();
        let size = |item: &ItemKey| Some(core.state.items.get(*item)?.remote.as_ref()?.bytes.as_ref()?.size);
        let size_here = |draft: &ItemKey| Some(core.state.items.get(*draft)?.file()?.stamp.size);
        let may = |item: &ItemKey, draft: &ItemKey| size(item).is_some() && size(item) == size_here(draft);
        let pairs = Adoption { items, files, shown: Vec::new() }.pairs(STORED, &may);
        for (key, draft) in pairs {
            let Some(local) = core.state.items.get(draft).map(|draft| draft.local.clone()) else { continue };
            core.state.forget(draft);
            core.state.items.edit(key, |item| item.local = local);
        }
    }
}

/// What a fetch shows and no list does is gone if the user approves that; the guards count anew.
pub fn apply_approval(core: &mut Core<'_>) {
    let now = core.now;
    let is_hidden = |item: &&Item| {
        let runtime = core.state.runtimes.get(&item.key);
        item.approved && item.kind == Kind::File && runtime.is_some_and(|runtime| runtime.bytes.is_hidden)
    };
    let hidden: Vec<ItemKey> = core.state.items.all().filter(is_hidden).map(|item| item.key).collect();
    hidden.into_iter().for_each(|key| gone(core, key, now));
    note_leaving(core);
}
