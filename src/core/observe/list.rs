//! Lists of items: those of an area, and those of what lies in an item, as the slides of a presentation. A list that lacks an
//! item is a reason for another list; the item counts as gone only if the second one lacks it too, and no guard holds what is
//! missing.

use std::collections::BTreeSet;

use serde_json::Value;

use super::storage;
use crate::core::act::{history, upload};
use crate::core::content::naming;
use crate::core::items::{Act, ActState, Base, Bytes, Deed, Emptied, Item, Listing, Local, Part, Remote};
use crate::core::plan::confirm::{Shows, Verdict};
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, Way};
use crate::core::wants::Want;
use crate::core::{Digest, ItemKey, Seq};
use crate::model::{
    Elements, MirrorPath, PollState, ServiceError, Timestamp, Whiteboard, WorkspaceId, elements_hash, id_of,
    planted,
};
use crate::plan::filenames;
use crate::plan::guard::{self, Guard};
use crate::store::StoreError;

/// The time before the second list after an item was missing.
const SECOND_MS: i64 = 2_000;
/// The time before a list that failed is requested again.
const RETRY_MS: i64 = 15_000;

/// What a list is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListOf {
    /// The items of an area.
    Area(WorkspaceId),
    /// What lies in an item. The list of it is the item's content.
    Inner(ItemKey),
}

impl ListOf {
    /// The list that shows an item.
    #[must_use]
    pub fn of(item: &Item) -> Self {
        Self::inside(item.parent, &item.area)
    }

    /// The list of what lies in an item, or in an area itself.
    #[must_use]
    pub fn inside(parent: Option<ItemKey>, area: &WorkspaceId) -> Self {
        parent.map_or_else(|| Self::Area(area.clone()), Self::Inner)
    }
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The kind.
    pub kind: Kind,
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The fields that espejo does not use, as JSON.
    pub rest: Option<String>,
    /// The width and the height of the items in it, in pixels.
    pub size: Option<[f64; 2]>,
    /// Its order among its siblings.
    pub position: Option<f64>,
    /// The bytes of a stored file.
    pub bytes: Option<Bytes>,
}

impl Listed {
    /// An entry with nothing but a name.
    #[must_use]
    pub fn new(kind: Kind, id: &str, name: String) -> Self {
        Self { kind, id: id.to_owned(), name, rest: None, size: None, position: None, bytes: None }
    }
}

impl From<Whiteboard> for Listed {
    fn from(seen: Whiteboard) -> Self {
        let rest = seen.rest.text().map(str::to_owned);
        Self { rest, ..Self::new(Kind::Whiteboard, seen.id.as_str(), seen.name) }
    }
}

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

/// Changes what is known of an item at the service.
pub fn set_remote(core: &mut Core<'_>, key: ItemKey, change: impl FnOnce(&mut Remote)) {
    core.state.items.edit(key, |item| item.remote.as_mut().map(change));
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

/// Takes in the entries of a list. Returns their ids.
pub fn apply_entries(
    core: &mut Core<'_>,
    of: &ListOf,
    listed: Vec<Listed>,
    asked_at: Timestamp,
) -> BTreeSet<String> {
    let ids = listed.iter().map(|entry| entry.id.clone()).collect();
    listed.into_iter().for_each(|entry| apply_entry(core, of, entry, asked_at));
    ids
}

/// Takes in an entry of a list.
pub fn apply_entry(core: &mut Core<'_>, of: &ListOf, entry: Listed, asked_at: Timestamp) {
    let kind = entry.kind;
    let (parent, area) = match of {
        ListOf::Area(area) => (None, Some(area.clone())),
        ListOf::Inner(parent) => {
            (Some(*parent), core.state.items.get(*parent).map(|parent| parent.area.clone()))
        }
    };
    let Some(area) = area else { return };
    let mut known = core.state.items.of_id(kind, parent, &entry.id).cloned();
    if let Some(item) = &known
        && let Some(version) = item.superseded.iter().find(|version| version.id == entry.id)
    {
        let act = core.state.journal.of_part(item.key, &Part::Version(entry.id.clone()));
        let is_sent = act.is_some_and(|act| act.state != ActState::Failed);
        if is_sent || version.content == entry.bytes.as_ref().map(Bytes::digest) {
            return;
        }
        // The app gave the older version other bytes: it is a file of its own.
        act.map(|act| act.sent).into_iter().for_each(|sent| drop(core.state.journal.remove(sent)));
        core.state.items.edit(item.key, |item| item.superseded.retain(|version| version.id != entry.id));
        known = None;
    }
    // What was trashed here may still be listed by a replica.
    if let Some(item) = &known
        && trash_is_shown(core, item.key, Shows::Before, asked_at) == Some(Verdict::Lags)
    {
        return;
    }
    if let Some(item) = &known {
        creation_is_shown(core, item.key, asked_at);
    }
    let now = core.now;
    let key = known
        .as_ref()
        .map_or_else(|| core.state.items.add(kind, area.clone(), parent, Local::Never), |item| item.key);
    if known.as_ref().is_none_or(|item| item.name() != entry.name || item.parent != parent) {
        core.state.replaced.insert(key);
    }
    let known_is_back = known.as_ref().is_some_and(|item| item.kind.is_stored() && !item.is_listed());
    let is_resized = known.and_then(|item| item.remote).is_some_and(|remote| remote.size != entry.size);
    core.state.items.edit(key, |item| {
        let before = item.remote.take();
        let mut remote = before.clone().unwrap_or_else(|| Remote::new(entry.id.clone(), now));
        if remote.name != entry.name && before.is_some() {
            remote.poll.changed(now);
        }
        (remote.name, remote.rest, remote.size) = (entry.name.clone(), entry.rest.clone(), entry.size);
        remote.position = entry.position.or(remote.position);
        if let Some(bytes) = entry.bytes.clone() {
            remote.content = Some(bytes.digest());
            remote.bytes = Some(bytes);
        }
        if remote.presence != Listing::Listed {
            remote.presence = Listing::Listed;
            item.approved = false;
        }
        if let Some(emptied) = &mut remote.emptied {
            emptied.is_listed = true;
        }
        item.remote = Some(remote);
        (item.area, item.parent) = (area, parent);
    });
    if known_is_back {
        // What failed while no list showed it is over.
        let runtime = core.state.runtime(key);
        (runtime.unreadable, runtime.failures, runtime.not_found) = Default::default();
        runtime.bytes.is_hidden = false;
    }
    let is_emptied = core.state.items.get(key).and_then(|item| item.remote.as_ref()?.emptied).is_some();
    // The content of what was resized states the size.
    if is_emptied || is_resized {
        core.state.wanted.insert_new(key, Want::Fetch);
    }
}

/// A list shows an item that an act made.
fn creation_is_shown(core: &mut Core<'_>, key: ItemKey, asked_at: Timestamp) {
    let act = core.state.journal.of_part(key, &Part::Item);
    let is_made = |act: &&Act| matches!((&act.deed, act.state), (Deed::Create { .. }, ActState::Done { .. }));
    if let Some(sent) = act.filter(is_made).map(|act| act.sent) {
        core.state.journal.edit(sent, |act| {
            act.confirm(Shows::After, asked_at);
        });
    }
}

/// What a list says of the removal of an item, if there was one.
pub fn trash_is_shown(
    core: &mut Core<'_>,
    key: ItemKey,
    shows: Shows,
    asked_at: Timestamp,
) -> Option<Verdict> {
    let act = core.state.journal.of_part(key, &Part::Item)?;
    let sent = matches!(act.deed, Deed::Remove { .. }).then_some(act.sent)?;
    let mut verdict = None;
    core.state.journal.edit(sent, |act| verdict = Some(act.confirm(shows, asked_at)));
    match verdict {
        Some(Verdict::Refuted) => wake_again(core, sent),
        Some(Verdict::Foreign) if shows == Shows::Before => drop(core.state.journal.remove(sent)),
        _ => {}
    }
    verdict
}

/// Settles the creations without an answer that the list would show.
fn confirm_creations(
    core: &mut Core<'_>,
    space: &WorkspaceId,
    kind: Kind,
    ids: &BTreeSet<String>,
    (is_whole, asked_at): (bool, Timestamp),
) {
    let drafts = core.state.items.all().filter(|item| item.kind == kind && item.area == *space);
    let drafts: Vec<ItemKey> = drafts.filter(|item| item.remote.is_none()).map(|item| item.key).collect();
    for key in drafts {
        let Some(act) = core.state.journal.of_part(key, &Part::Item).cloned() else { continue };
        let (Deed::Create { fields, known, .. }, ActState::Unconfirmed(_)) = (&act.deed, act.state) else {
            continue;
        };
        let name = fields.get("name").and_then(serde_json::Value::as_str).unwrap_or_default();
        let is_it = |item: &Item| {
            filenames::is_same_name(name, item.name()) && item.base.is_none() && item.local == Local::Never
        };
        let new = ids.iter().filter(|id| !known.contains(*id));
        let listed = new.filter_map(|id| Some((id, core.state.items.of_id(kind, None, id)?)));
        let made =
            listed.filter(|(_, item)| is_it(item)).map(|(id, item)| (id.clone(), item.name().to_owned()));
        match made.into_iter().next() {
            Some((id, name)) => apply_made(core, act.sent, Listed::new(kind, &id, name), None),
            None => creation_is_lacked(core, act.sent, is_whole, asked_at),
        }
    }
}

/// A list that would show it lacks the result of a creation without an answer. If that was not carried out, it is sent again.
/// `is_whole`: each entry could be read.
pub fn creation_is_lacked(core: &mut Core<'_>, sent: Seq, is_whole: bool, asked_at: Timestamp) {
    let mut verdict = None;
    core.state.journal.edit(sent, |act| {
        let is_evidence =
            matches!(act.state, ActState::Unconfirmed(doubt) if doubt.heeds(is_whole, asked_at));
        verdict = is_evidence.then(|| act.confirm(Shows::Before, asked_at));
    });
    match verdict {
        Some(Verdict::Refuted) => wake_again(core, sent),
        _ => list_for(core, sent),
    }
}

/// Wakes the item of an act that was not carried out for its next try. The row stays, with the number of its failures.
pub fn wake_again(core: &mut Core<'_>, sent: Seq) {
    let Some(act) = core.state.journal.get(sent) else { return };
    let (key, at) = (act.item, act.failing.until);
    core.state.wake(key, at);
    core.state.items.dirty.insert(key);
}

/// Makes the list due that tells what became of an act on an item.
pub fn list_for(core: &mut Core<'_>, sent: Seq) {
    let Some(act) = core.state.journal.get(sent) else { return };
    let Some(wait) = act.state.read_again_in(core.now) else { return };
    let Some(of) = upload::list_of(core.state, act) else { return };
    list_by(core, &of, core.now.plus_ms(wait));
}

/// Makes a list due at a time, unless it is due before.
pub fn list_by(core: &mut Core<'_>, of: &ListOf, at: Timestamp) {
    match of {
        ListOf::Area(space) => {
            if let Some(area) = core.state.areas.get_mut(space) {
                area.list.due = area.list.due.min(at).max(area.list.rests);
            }
        }
        ListOf::Inner(key) => {
            let needs = core.next_seq();
            let runtime = core.state.runtime(*key);
            (runtime.needs, runtime.failures.1) = (needs, runtime.failures.1.max(at));
            core.state.wanted.insert_new(*key, Want::Fetch);
        }
    }
}

/// The item of a creation is known. `answered`: the number of the answer, which counts as a fetch of an empty item; without one
/// a list showed it, and the app may have filled it since.
pub fn apply_made(core: &mut Core<'_>, sent: Seq, made: Listed, answered: Option<Seq>) {
    let Some(act) = core.state.journal.get(sent).cloned() else { return };
    let Some(draft) = core.state.items.get(act.item).cloned() else { return };
    // A list may have shown it before.
    let listed = core.state.items.of_id(draft.kind, None, &made.id).cloned();
    if let Some(listed) = &listed {
        core.state.forget(listed.key);
    }
    let holds_items = draft.kind.inner().is_some();
    let nothing = core.store.keep_elements(&[]);
    debug_assert_eq!(nothing, elements_hash(&[]));
    let now = core.now;
    let path = draft.last_file().map_or_else(MirrorPath::root, |fact| fact.path.clone());
    // A file that was moved meanwhile has left the place where the service made its item.
    let made_in = core.state.areas.get(&draft.area).and_then(naming::folder);
    let place = made_in.and_then(|folder| folder.join(path.name()).ok()).unwrap_or_else(|| path.clone());
    core.state.items.edit(act.item, |item| {
        let mut remote = listed.and_then(|listed| listed.remote).unwrap_or_else(|| Remote::new(made.id, now));
        remote.name = made.name.clone();
        remote.size = made.size.or(remote.size);
        remote.poll.changed(now);
        if holds_items {
            // The first of them is made along with it.
            remote.content = None;
        } else if answered.is_some() && remote.content.is_none() {
            remote.content = Some(nothing);
            remote.poll.last = now;
        }
        item.remote = Some(remote);
        item.base = Some(Base { name: made.name, content: nothing, text: None, path: place });
    });
    if holds_items {
        core.state.wanted.insert(act.item, Want::Fetch);
    } else if let Some(answered) = answered {
        core.state.runtime(act.item).fetched = Some((answered, now));
        core.state.runtime(act.item).answered = answered;
    }
    let shown = answered.is_none();
    core.state.journal.edit(sent, |act| {
        act.state = ActState::Done { at: now, shown };
        act.failing = Default::default();
    });
    let item = core.state.items.get(act.item);
    if let Some(name) = item.and_then(history::name) {
        core.store.claim_versions(&path, &name);
    }
    let text = draft.last_file().and_then(|fact| fact.hash);
    core.tell_change(Way::Up, &path, naming::new(draft.kind), (None, text));
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

/// The items that a list shows if they are there.
#[must_use]
pub fn items_of(core: &Core<'_>, of: &ListOf) -> Vec<Item> {
    match of {
        ListOf::Area(_) => {
            let ours = core.state.items.all().filter(|item| item.remote.is_some() && ListOf::of(item) == *of);
            ours.cloned().collect()
        }
        ListOf::Inner(key) => {
            core.state.items.within(*key).filter(|item| item.remote.is_some()).cloned().collect()
        }
    }
}

/// Those of its items that a list lacks, and that are not known to be gone.
pub fn lacked<'a>(
    core: &mut Core<'_>,
    ours: &'a [Item],
    ids: &BTreeSet<String>,
    (sent, asked_at): (Seq, Timestamp),
) -> Vec<&'a Item> {
    let is_shown = |item: &Item| item.remote.as_ref().is_some_and(|remote| ids.contains(&remote.id));
    let ours = ours.iter().filter(|item| item.presence() != Some(Listing::Gone) && !is_shown(item));
    ours.filter(|item| !lags(core, item, sent, asked_at)).collect()
}

/// Whether a list that lacks an item may be older than its creation.
fn lags(core: &mut Core<'_>, item: &Item, sent: Seq, asked_at: Timestamp) -> bool {
    let act = core.state.journal.of_part(item.key, &Part::Item);
    let Some(act) = act.filter(|act| matches!(act.deed, Deed::Create { .. })).cloned() else { return false };
    let mut verdict = None;
    core.state.journal.edit(act.sent, |act| verdict = Some(act.confirm(Shows::Before, asked_at)));
    let at = core.state.runtimes.get(&item.key).map(|runtime| runtime.answered).unwrap_or_default();
    verdict == Some(Verdict::Lags) || sent < at && act.state != ActState::Failed
}

fn note_held(core: &mut Core<'_>, of: &ListOf, held: Option<Guard>) {
    match of {
        ListOf::Area(space) => {
            if let Some(area) = core.state.areas.get_mut(space) {
                area.list.held = held;
            }
        }
        ListOf::Inner(key) => core.state.runtime(*key).held = held,
    }
}

/// An item came empty although it was not: whether that is believed. A list that shows it, and another empty answer some seconds
/// later, must confirm it.
pub fn believes_empty(core: &mut Core<'_>, item: &Item, is_empty: bool, asked_at: Timestamp) -> bool {
    let emptied = item.remote.as_ref().and_then(|remote| remote.emptied);
    let now = core.now;
    let next = match emptied {
        _ if !is_empty || planted("empty-canvas-believed") => None,
        None => Some(Emptied { since: now, is_listed: false }),
        Some(emptied) if !emptied.is_listed => Some(emptied),
        Some(emptied) => {
            let is_late = asked_at.since_ms(emptied.since) >= EMPTY_MS;
            (!is_late).then_some(emptied)
        }
    };
    set_remote(core, item.key, |remote| remote.emptied = next);
    if let Some(next) = next {
        let at = next.since.plus_ms(EMPTY_MS);
        core.state.runtime(item.key).failures.1 = at;
        if next.is_listed {
            core.state.wanted.insert(item.key, Want::Fetch);
        } else {
            // No fetch can tell more than the list.
            list_by(core, &ListOf::of(item), now);
        }
    }
    next.is_none()
}

/// The time between two empty answers that are believed.
const EMPTY_MS: i64 = 15_000;

impl Remote {
    /// What a list shows of an item for the first time.
    #[must_use]
    pub fn new(id: String, now: Timestamp) -> Self {
        Self {
            id,
            name: String::new(),
            rest: None,
            size: None,
            position: None,
            bytes: None,
            presence: Listing::Listed,
            content: None,
            poll: PollState::fresh(now),
            emptied: None,
        }
    }

    /// A read shows this content.
    pub(super) fn note_content(&mut self, content: Digest, now: Timestamp) {
        self.poll.last = now;
        if self.content.is_some_and(|before| before != content) {
            self.poll.changed(now);
        } else {
            self.poll.unchanged();
        }
        self.content = Some(content);
    }
}
