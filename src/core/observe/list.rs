//! Lists of items: those of an area, and those of what lies in an item, as the slides of a presentation. A list that lacks an
//! item is a reason for another list; the item counts as gone only if the second one lacks it too, and no guard holds what is
//! missing.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::core::content::listed::{ListOf, Listed};
use crate::core::items::{Item, Listing, Part};
use crate::core::keys::{ItemKey, Seq};
use crate::core::observe::entries::{
    apply_entries, apply_entry, confirm_creations, items_of, lacked, list_by, list_for, note_held,
    set_remote, trash_is_shown,
};
use crate::core::observe::storage;
use crate::core::plan::confirm::Shows;
use crate::core::state::Core;
use crate::model::{Elements, ServiceError, Timestamp, WorkspaceId, id_of, planted};
use crate::plan::guard;
use crate::store::StoreError;

/// The time before the second list after an item was missing.
const SECOND_MS: i64 = 2_000;
/// The time before a list that failed is requested again.
const RETRY_MS: i64 = 15_000;

/// Takes in the list of an area, which was requested at `asked_at`. `skipped`: why entries could not be read; such a list is no
/// evidence of absence.
pub fn apply(
    core: &mut Core<'_>,
    space: &WorkspaceId,
    listed: Vec<Listed>,
    skipped: &[String],
    (sent, asked_at): (Seq, Timestamp),
) {
    let Some(area) = core.state.areas.get_mut(space) else { return };
    let kind = area.kind;
    (area.list.failures, area.list.rests) = Default::default();
    area.list.trouble = skipped.first().map(|why| format!("{} entries of its list: {why}", skipped.len()));
    (area.list.taken_at, area.list.is_forbidden) = (asked_at, false);
    if area.list.taken.replace(sent).is_none() {
        core.state.items.mark_all();
    }
    let of = ListOf::Area(space.clone());
    let ids = apply_entries(core, &of, listed, asked_at);
    if kind.is_stored() {
        return storage::apply_list(core, &of, &ids, skipped.is_empty(), (sent, asked_at));
    }
    confirm_creations(core, space, kind, &ids, (skipped.is_empty(), asked_at));
    if skipped.is_empty() {
        apply_absences(core, &of, &ids, (sent, asked_at));
    }
    // The next list is due earlier while no list shows an act.
    let acts = core.state.journal.all().filter(|act| act.part == Part::Item);
    let acts: Vec<Seq> = acts.map(|act| act.sent).collect();
    acts.into_iter().for_each(|sent| list_for(core, sent));
}

/// Takes in the content of an item that others lie in: the list of those. What one list lacks stays in the content until the
/// second one.
///
/// # Errors
/// [`StoreError`] when the item's former content cannot be read.
pub fn apply_inner(
    core: &mut Core<'_>,
    item: &Item,
    read: &mut Elements,
    (sent, asked_at): (Seq, Timestamp),
) -> Result<(), StoreError> {
    let Some(kind) = item.kind.inner() else { return Ok(()) };
    let of = ListOf::Inner(item.key);
    let entries = read.iter().map(|entry| Listed::new(kind, id_of(entry), String::new())).collect();
    let ids = apply_entries(core, &of, entries, asked_at);
    apply_absences(core, &of, &ids, (sent, asked_at));
    for (at, before) in core.elements(item.content())?.into_iter().enumerate() {
        let inner = core.state.items.of_id(kind, Some(item.key), id_of(&before));
        let is_gone = inner.is_none_or(|inner| inner.presence() == Some(Listing::Gone));
        if !is_gone && !ids.contains(id_of(&before)) {
            read.insert(at.min(read.len()), before);
        }
    }
    Ok(())
}

/// Takes in what an act made of an item that others lie in. What was made is empty.
pub fn apply_inner_act(core: &mut Core<'_>, item: &Item, elements: &[Value]) {
    let Some(kind) = item.kind.inner() else { return };
    let (of, now) = (ListOf::Inner(item.key), core.now);
    for element in elements {
        let id = id_of(element).to_owned();
        if core.state.items.of_id(kind, Some(item.key), &id).is_none() {
            let nothing = core.store.keep_elements(&[]);
            apply_entry(core, &of, Listed::new(kind, &id, String::new()), now);
            if let Some(key) = core.state.items.of_id(kind, Some(item.key), &id).map(|inner| inner.key) {
                set_remote(core, key, |remote| remote.content = Some(nothing));
            }
        }
    }
    let is_gone = |inner: &&Item| {
        let id = inner.remote.as_ref().map(|remote| remote.id.as_str());
        elements.iter().all(|element| Some(id_of(element)) != id)
    };
    let gone: Vec<ItemKey> =
        core.state.items.inner(item.key).filter(is_gone).map(|inner| inner.key).collect();
    gone.into_iter().for_each(|key| set_remote(core, key, |remote| remote.presence = Listing::Gone));
}

/// A list of an area leaves. A request for one from now on is not met by this one, and makes the next due.
pub fn leaves(core: &mut Core<'_>, space: &WorkspaceId) {
    let due = core.now.plus_ms(core.state.list_every_ms);
    if let Some(area) = core.state.areas.get_mut(space) {
        area.list.due = due;
    }
}

/// Takes in a list that could not be had.
pub fn apply_failure(core: &mut Core<'_>, space: &WorkspaceId, error: &ServiceError, sent: Seq) {
    let now = core.now;
    let Some(area) = core.state.areas.get_mut(space) else { return };
    area.list.due = now.plus_ms(RETRY_MS);
    area.list.rests = area.list.due;
    area.list.failures += 1;
    area.list.is_forbidden = matches!(error, ServiceError::Forbidden(_));
    if error.next() == crate::model::Next::Park || matches!(error, ServiceError::NotFound(_)) {
        area.list.trouble = Some(error.to_string());
        // A list that cannot be read is not waited for.
        area.list.taken = Some(sent);
        core.state.items.mark_all();
    }
}

/// Items that a complete list lacks.
fn apply_absences(
    core: &mut Core<'_>,
    of: &ListOf,
    ids: &BTreeSet<String>,
    (sent, asked_at): (Seq, Timestamp),
) {
    let ours = items_of(core, of);
    let missing = lacked(core, &ours, ids, (sent, asked_at));
    let Some(kind) = ours.first().map(|item| item.kind) else { return note_held(core, of, None) };
    // What was deleted here too has nothing left to remove.
    let is_over = |item: &Item| crate::core::guard::is_absent(core, item);
    let mirrored = ours.iter().filter(|item| item.base.is_some() && !is_over(item)).count();
    let lost: Vec<&&Item> = missing.iter().filter(|item| item.base.is_some() && !is_over(item)).collect();
    let max = core.settings.pages.max_deletes;
    let is_approved = lost.iter().all(|item| item.approved);
    let guard_kind = crate::core::guard::kind_in_messages(kind);
    let held = guard::list_shrank(guard_kind, mirrored, lost.len(), max).filter(|_| !is_approved);
    let is_held = held.is_some();
    let over: BTreeSet<ItemKey> = missing.iter().filter(|item| is_over(item)).map(|item| item.key).collect();
    note_held(core, of, held);
    for item in missing {
        let is_second = item.presence() == Some(Listing::Unlisted) || planted("board-absence-believed");
        let presence = match is_second {
            true if is_held && item.base.is_some() && !over.contains(&item.key) => continue,
            true => Listing::Gone,
            false => Listing::Unlisted,
        };
        set_remote(core, item.key, |remote| (remote.presence, remote.emptied) = (presence, None));
        if presence == Listing::Gone {
            core.state.runtime(item.key).failures = Default::default();
            trash_is_shown(core, item.key, Shows::After, asked_at);
        } else {
            list_by(core, of, core.now.plus_ms(SECOND_MS));
        }
    }
}
