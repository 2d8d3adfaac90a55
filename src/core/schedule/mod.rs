//! What is done next: reads and acts on disk, then requests by their urgency. Nothing that failed comes before what was not
//! tried yet.

use std::collections::BTreeSet;

use crate::core::act::begin::{self, Choice, Ready, Urgency, is_ready};
use crate::core::act::{answers, disk, requests, step, transfer};
use crate::core::content::listed::ListOf;
use crate::core::content::{naming, service};
use crate::core::guard;
use crate::core::items::{Act, Item, Local, Verb, Wait};
use crate::core::keys::{ItemKey, Seq};
use crate::core::observe::{entries, list, storage};
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, Purpose, State};
use crate::core::wants::Want;
use crate::model::{
    DiskError, DiskReply, DownloadError, Downloaded, Effect, PollState, ServiceError, ServiceReply,
    StorageEffect, Timestamp, WorkspaceId,
};
use crate::store::StoreError;

/// An agreement or a forgotten item changes what the next decision sees: so many decisions follow on each other in one turn.
const ROUNDS: usize = 4;

/// The next effect on disk.
///
/// # Errors
/// [`StoreError`] when an item's content cannot be read.
pub fn next_disk(core: &mut Core<'_>) -> Result<Option<(Seq, Effect)>, StoreError> {
    tend(core);
    if core.state.snapshot.scan == Seq(0) {
        return Ok(None);
    }
    if let Some(choice) = next_folder_of_area(core) {
        return Ok(Some(issue(core, choice)));
    }
    let due = core.state.snapshot.unread.iter().find(|(_, due)| **due <= core.now);
    if let Some(path) = due.map(|(path, _)| path.clone()) {
        return Ok(Some(issue(core, (Effect::ReadFile(path.clone()), Purpose::Read(path)))));
    }
    for _ in 0..ROUNDS {
        // What lies in an item is decided about with it.
        let owner = |key: &ItemKey| core.state.items.get(*key).map_or(*key, Item::owner);
        let dirty: BTreeSet<ItemKey> = core.state.items.dirty.iter().map(owner).collect();
        core.state.items.dirty.clone_from(&dirty);
        for key in &dirty {
            let until = core.state.runtimes.get(key).map(|runtime| runtime.disk_failures.1);
            if core.state.is_busy(*key) || until.is_some_and(|until| until > core.now) {
                continue;
            }
            let choice: Choice = step::next(core, *key)?;
            if let Some(choice) = choice {
                core.state.items.dirty.insert(*key);
                return Ok(Some(issue(core, choice)));
            }
        }
        if core.state.items.dirty.is_subset(&dirty) {
            break;
        }
    }
    end_first_match(core);
    end_vain_rests(core);
    Ok(None)
}

/// The folder of stored files is made before there is anything in it, and what earlier downloads left is removed once all is listed.
fn next_folder_of_area(core: &mut Core<'_>) -> Option<(Effect, Purpose)> {
    let (_, area) = core.state.areas.iter().find(|(_, area)| area.is_live && area.kind.is_stored())?;
    let path = naming::folder(area)?;
    let under_way = |wanted: &Purpose| core.state.under_way.iter().any(|(_, purpose)| purpose == wanted);
    if area.list.taken.is_some()
        && !core.state.snapshot.entries.contains_key(&path)
        && !core.barrier.covers(&path)
        && core.state.stored.disk.is_none()
    {
        let purpose = Purpose::MakeFolder(None, path.clone());
        return (!under_way(&purpose)).then_some((Effect::Storage(StorageEffect::MakeFolder(path)), purpose));
    }
    let is_swept =
        core.state.stored.is_swept || !storage::lists_since(core.state, &WorkspaceId::of_storage(), Seq(0));
    if is_swept {
        return None;
    }
    core.state.stored.is_swept = true;
    Some((Effect::Storage(StorageEffect::Sweep(transfer::parts(core.state))), Purpose::Sweep))
}

/// The next effect that runs beside all others, on a thread of its own.
pub fn next_beside(core: &mut Core<'_>) -> Option<(Seq, Effect)> {
    if core.state.snapshot.scan == Seq(0) {
        return None;
    }
    let choice = transfer::next_beside(core)?;
    Some(issue(core, choice))
}

/// Takes in the end of a download.
pub fn download_done(core: &mut Core<'_>, sent: Seq, result: Result<Downloaded, DownloadError>) {
    if let Some(Purpose::Download(key, bytes)) = take(core, sent) {
        transfer::apply_download(core, key, &bytes, result);
    }
}

/// Takes in how far a download is, in bytes.
pub fn download_goes_on(state: &mut State, sent: Seq, got: u64) {
    let key = state.under_way.iter().find_map(|(other, purpose)| match purpose {
        Purpose::Download(key, _) if *other == sent => Some(*key),
        _ => None,
    });
    if let Some(key) = key {
        state.runtime(key).bytes.got = got;
    }
}

/// Once all is decided, nothing rests for which nothing waits.
fn end_vain_rests(core: &mut Core<'_>) {
    let is_fetched = core.state.wanted.of(Want::Fetch).next().is_none();
    let is_decided = core.state.items.dirty.is_empty() && core.state.under_way.is_empty() && is_fetched;
    if !core.state.forbidden.is_any() || !is_decided {
        return;
    }
    let mut forbidden = std::mem::take(&mut core.state.forbidden);
    let state = &*core.state;
    let waits = |item: &Item, verb| {
        let is_wanted = || state.wanted.get(item.key).is_some_and(|want| want != Want::Fetch);
        let is_gone = matches!(item.local, Local::Gone { .. });
        let is_new = || verb == Verb::Write && requests::is_new(state, item);
        // A canvas that is here may have nodes to be deleted.
        (verb == Verb::Delete || !is_gone) && (item.wait == Some(Wait::Frozen) || is_wanted() || is_new())
    };
    forbidden.retain(|area, verb| {
        let mut its = state.items.all().filter(|item| item.area == *area);
        its.any(|item| waits(item, verb))
    });
    core.state.forbidden = forbidden;
}

/// The next request that an item needs, or that tells what became of an act. `allows`: whether so many requests of an urgency may
/// leave now, back to back.
///
/// # Errors
/// [`StoreError`] when an item's content cannot be read.
pub fn next_request(
    core: &mut Core<'_>,
    allows: &dyn Fn(Urgency, u32) -> bool,
) -> Result<Option<(Seq, Effect)>, StoreError> {
    core.state.edits_wait = false;
    if core.state.snapshot.scan == Seq(0) {
        return Ok(None);
    }
    let wanted: Vec<(Want, ItemKey)> = core.state.wanted.requests().collect();
    for (want, key) in wanted {
        let urgency = Urgency::of(want);
        if !allows(urgency, urgency.slots()) {
            core.state.edits_wait |= want != Want::Fetch && is_ready(core.state, key, core.now);
        } else if let Some(ready) = requests::next(core, key, want)? {
            return Ok(Some(issue_request(core, ready)));
        }
    }
    let ready = if allows(Urgency::Asked, 1) { next_reread(core) } else { None };
    Ok(ready.map(|ready| issue_request(core, ready)))
}

/// The next list that is due.
pub fn next_list(core: &mut Core<'_>) -> Option<(Seq, Effect)> {
    let is_begun = core.state.snapshot.scan > Seq(0);
    let (_, space) = due_list(core.state).filter(|(at, _)| *at <= core.now && is_begun)?;
    let kind = core.state.areas.get(&space).map(|area| area.kind).unwrap_or_default();
    let effect = service::list(kind, &space);
    Some(issue(core, (effect, Purpose::List(space))))
}

fn issue_request(core: &mut Core<'_>, ready: Ready) -> (Seq, Effect) {
    issue(core, (ready.effect, ready.purpose))
}

/// Numbers an effect that leaves now.
fn issue(core: &mut Core<'_>, (effect, purpose): (Effect, Purpose)) -> (Seq, Effect) {
    let sent = core.next_seq();
    if let Purpose::List(space) = &purpose {
        list::leaves(core, space);
    }
    core.state.under_way.push((sent, purpose));
    (sent, effect)
}

/// Takes in the answer to an effect on disk.
///
/// # Errors
/// [`StoreError`] when an item's content cannot be read.
pub fn disk_done(
    core: &mut Core<'_>,
    sent: Seq,
    result: Result<DiskReply, DiskError>,
) -> Result<(), StoreError> {
    match take(core, sent) {
        Some(purpose) => disk::apply(core, purpose, result),
        None => Ok(()),
    }
}

/// Takes in the answer to a request that left at `asked_at` and shows the state of `as_of`.
///
/// # Errors
/// [`StoreError`] when an item's content cannot be read.
pub fn request_done(
    core: &mut Core<'_>,
    sent: Seq,
    result: Result<ServiceReply, ServiceError>,
    (asked_at, as_of): (Timestamp, Timestamp),
) -> Result<(), StoreError> {
    match take(core, sent) {
        Some(purpose) => answers::apply(core, purpose, result, (sent, asked_at, as_of)),
        None => Ok(()),
    }
}

fn take(core: &mut Core<'_>, sent: Seq) -> Option<Purpose> {
    let at = core.state.under_way.iter().position(|(other, _)| *other == sent)?;
    Some(core.state.under_way.remove(at).1)
}

/// Wakes the items whose time has come.
fn tend(core: &mut Core<'_>) {
    guard::drop_old_rows(core);
    while let Some((at, key)) = core.state.wakes.first().copied().filter(|(at, _)| *at <= core.now) {
        core.state.wakes.remove(&(at, key));
        core.state.items.dirty.insert(key);
    }
    core.state.stored.disk.take_if(|(_, until)| *until <= core.now);
    if core.state.forbidden.has_ended(core.now) {
        core.state.items.mark_all();
    }
}

/// Once everything has been compared, a file without an item is new.
fn end_first_match(core: &mut Core<'_>) {
    let areas = || core.state.areas.values().filter(|area| area.is_live);
    let is_awaited = core.state.areas.values().any(|area| area.is_awaited);
    let is_listed = !is_awaited && areas().next().is_some() && areas().all(|area| area.list.taken.is_some());
    if !core.state.first_match || !is_listed || !core.state.is_quiet(core.now) {
        return;
    }
    let is_compared = core.state.items.all().all(|item| {
        let runtime = core.state.runtimes.get(&item.key);
        // A stored file is compared with what lies where it belongs, whenever its folder is listed.
        !core.state.is_reachable(item)
            || item.kind.is_stored()
            || item.base.is_some()
            || item.is_ignored
            || runtime.is_some_and(|runtime| runtime.unreadable.is_some())
    });
    if is_compared {
        core.end_first_match();
    }
}

/// The list that has been due for longest and is not under way.
fn due_list(state: &State) -> Option<(Timestamp, WorkspaceId)> {
    let is_under_way = |space: &WorkspaceId| {
        state.under_way.iter().any(|(_, purpose)| *purpose == Purpose::List(space.clone()))
    };
    let areas = state.areas.iter().filter(|(space, area)| area.is_live && !is_under_way(space));
    areas.map(|(space, area)| (area.list.due, space.clone())).min()
}

/// A fetch that tells what became of an act.
fn next_reread(core: &mut Core<'_>) -> Option<Ready> {
    let due =
        core.state.rereads.iter().find(|(key, at)| **at <= core.now && is_ready(core.state, **key, core.now));
    let key = *due?.0;
    core.state.rereads.remove(&key);
    let is_due = |item: &&Item| core.state.is_reachable(item) && !item.awaits_list();
    let item = core.state.items.get(key).filter(is_due)?.clone();
    begin::fetch(core, &item)
}

/// The items that were never fetched.
pub fn never_fetched(state: &State) -> impl Iterator<Item = ItemKey> {
    let is_begun = state.snapshot.scan > Seq(0);
    let items = state.items.unknown().filter(move |item| is_begun && state.is_reachable(item));
    items.map(|item| item.key)
}

/// The items that are polled for news, with their states in the schedule. The list of its folder shows the news of a stored file.
pub fn poll_targets(core: &State) -> impl Iterator<Item = (ItemKey, &PollState)> {
    let items = core.items.all().filter(|item| {
        let may = item.kind != Kind::File && !item.is_ignored && !item.awaits_list();
        may && item.content().is_some() && core.is_reachable(item)
    });
    items.filter_map(|item| Some((item.key, &item.remote.as_ref()?.poll)))
}

/// Fetches an item because its turn in the schedule has come, or because it was opened.
pub fn poll(core: &mut Core<'_>, key: ItemKey) -> Option<(Seq, Effect)> {
    let is_sought = core.state.wanted.get(key) == Some(Want::Download);
    let may = |item: &&Item| item.is_listed() && !item.awaits_list() || is_sought;
    let item = core.state.items.get(key).filter(may)?.clone();
    if !is_ready(core.state, key, core.now) {
        return None;
    }
    let ready = begin::fetch(core, &item)?;
    Some(issue_request(core, ready))
}

/// When something but a request may become possible that is not possible now.
#[must_use]
pub fn next_due(state: &State) -> Option<Timestamp> {
    let reads = state.snapshot.unread.values().copied();
    let wakes = state.wakes.first().map(|(at, _)| *at);
    let hashes = state.snapshot.unhashed.values().copied();
    let full = state.stored.disk.as_ref().map(|(_, until)| *until);
    let due = reads.chain(hashes).chain(full).chain(wakes).chain(state.forbidden.next_end());
    due.chain(state.snapshot.scan_at).min()
}

/// When requests may become possible, as far as the items are concerned; `left`: those that are to be fetched in the background.
pub fn next_request_due(
    state: &State,
    left: impl Iterator<Item = ItemKey>,
    now: Timestamp,
) -> impl Iterator<Item = (Urgency, Timestamp)> {
    let ready =
        |key: ItemKey| state.runtimes.get(&key).map_or(Timestamp::default(), |runtime| runtime.failures.1);
    let wanted = state.wanted.requests().map(move |(want, key)| (Urgency::of(want), ready(key)));
    let rereads = state.rereads.iter().map(move |(key, at)| (Urgency::Asked, ready(*key).max(*at)));
    let list = due_list(state).map(|(at, _)| (Urgency::List, at));
    // Thousands may be left: once one is ready, the others change nothing.
    let mut first = None;
    for at in left.map(ready) {
        first = Some(first.map_or(at, |first: Timestamp| first.min(at)));
        if at <= now {
            break;
        }
    }
    let left = first.map(|at| (Urgency::Background, at));
    wanted.chain(rereads).chain(list).chain(left)
}

/// Begins a full pass: each list is due, and all that failed or was refused is tried again.
pub fn begin_pass(core: &mut Core<'_>) {
    let (now, spaces) = (core.now, core.state.areas.keys().cloned().collect::<Vec<_>>());
    core.state.areas.values_mut().for_each(|area| area.list.rests = now);
    for space in spaces {
        if core.state.areas.get(&space).is_some_and(|area| area.kind.is_stored()) {
            storage::list_everything(core, &space);
        }
        entries::list_by(core, &ListOf::Area(space), now);
    }
    try_again(core);
}

/// Tries again at once what failed or was refused.
pub fn try_again(core: &mut Core<'_>) {
    let now = core.now;
    core.state.forbidden.try_again(now);
    for runtime in core.state.runtimes.values_mut() {
        (runtime.failures.1, runtime.disk_failures.1) = (now, now);
    }
    // What is in doubt is sent again as soon as it is known that it was not carried out.
    let waits = |act: &&Act| act.failing.until > now && !act.is_refused_upload();
    let waiting: Vec<Seq> = core.state.journal.all().filter(waits).map(|act| act.sent).collect();
    for sent in waiting {
        core.state.journal.edit(sent, |act| act.failing.until = now);
    }
    core.state.items.mark_all();
}

/// Fetches of items that a pass still needs: those whose last answer left before `since`.
pub fn left_since(core: &State, since: Seq) -> impl Iterator<Item = ItemKey> {
    poll_targets(core)
        .map(|(key, _)| key)
        .filter(move |key| core.runtimes.get(key).is_none_or(|runtime| runtime.answered < since))
}
