//! Whiteboards, presentations and stored files: what the engine hands to [`crate::core`] and takes from it.

use std::collections::BTreeMap;

use crate::core::act::begin::{self, Urgency};
use crate::core::act::transfer;
use crate::core::content::stale;
use crate::core::guard::{self, Missing};
use crate::core::items::{Act, Item, Local, Wait};
use crate::core::observe::scan;
use crate::core::plan::policy::Kind;
use crate::core::report::storage::StorageSummary;
use crate::core::report::{self, Progress};
use crate::core::request::{self, Asked, Fetched};
use crate::core::state::{self, Area, Core, Line, State};
use crate::core::{ItemKey, Seq, schedule};
use crate::engine::schedule::pace::Class;
use crate::engine::state::list_pace::list_pace;
use crate::engine::state::{Choice, Context, Engine, Flight, Needs, OfCore, OnCore, Purpose, Way};
use crate::model::{
    BoardEffect, DiskError, DiskReply, DownloadError, Downloaded, Effect, MirrorPath, Scan, ServiceError,
    ServiceReply, Stamp, StorageEvent, StorageMode, Timestamp, Unreadable, WorkspaceId, WorkspaceNode,
};
use crate::plan::guard::Guard;
use crate::plan::saves::Saves;
use crate::store::StoreError;

/// The time between two lists of an area, unless there are many workspaces.
const LIST_EVERY_MS: i64 = 60_000;

/// Lets the core act, with what it borrows, and takes what it reports.
fn core_turn<T>(
    engine: &mut Engine,
    act: impl FnOnce(&mut Core<'_>, &crate::engine::schedule::pace::Pace) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let (areas, uploads) = (core_areas(engine), upload_workspaces(engine));
    let is_quiet = engine.folder.watch.is_quiet(engine.cx.now);
    let doubt = core_doubt(engine);
    let list_every_ms = list_pace(engine).other_ms(LIST_EVERY_MS);
    let state = &mut engine.core.state;
    if std::mem::replace(&mut state.snapshot.is_stirred, !is_quiet) && is_quiet {
        state.items.mark_all();
    }
    let are_held = engine.folder.root.creation_guard.is_held();
    let mut is_doubted = false;
    let Context { store, pace, now, deletions, settings, .. } = &mut engine.cx;
    if (&state.doubt, state.deletions_held.as_ref()) != (&doubt, deletions.held()) {
        let begins = state.doubt.is_none() && doubt.is_some();
        (state.doubt, state.deletions_held) = (doubt, deletions.held().cloned());
        state.items.mark_all();
        is_doubted = begins;
    }
    state.list_every_ms = list_every_ms;
    let barrier = &mut engine.folder.root.barrier;
    let mut core = Core { state, store, settings, barrier, now: *now };
    request::set_areas(&mut core, areas);
    request::set_uploads(&mut core, uploads);
    if is_doubted {
        request::bring_stored_back(&mut core);
    }
    let ignoring = &engine.pages.trees.ignoring;
    request::note_ignored(&mut core, &|path, is_folder| {
        if is_folder { ignoring.ignores(path, true) } else { ignoring.ignores_file(path) }
    });
    request::hold_creations(&mut core, are_held);
    let out = act(&mut core, pace)?;
    core.save();
    let lines = std::mem::take(&mut state.lines);
    for (key, from, to) in std::mem::take(&mut state.items.moved) {
        engine.cx.conflicts.file_moved(&format!("{key:?}"), &from, &to);
    }
    let scan_at = state.snapshot.scan_at;
    for line in lines {
        match line {
            Line::Changed { way, path, what } => {
                let way = match way {
                    state::Way::Up => Way::Up,
                    state::Way::Down => Way::Down,
                    state::Way::Aside => Way::Aside,
                };
                engine.cx.log_activity(way, &path, what);
            }
            Line::Notice { code, path, reason, action } => {
                engine.cx.notice(code, path.as_str(), reason, action);
            }
        }
    }
    if let Some(at) = scan_at {
        engine.folder.watch.scan_by(at);
    }
    Ok(out)
}

fn core_areas(engine: &Engine) -> BTreeMap<WorkspaceId, Area> {
    let (trees, settings) = (&engine.pages.trees, &engine.cx.settings);
    // A workspace whose pages the service refuses to list holds nothing up.
    let awaits = |node: &WorkspaceNode| {
        node.present && node.listed_at.0 == 0 && !engine.polling.lists.failed.contains_key(&node.seen.name)
    };
    let spaces = trees.workspaces.values().map(|node| {
        let id = &node.seen.id;
        let area = Area {
            folder: node.folder.clone(),
            name: node.seen.name.clone(),
            is_live: settings.boards.whiteboards && trees.is_live(id),
            is_awaited: settings.boards.whiteboards && awaits(node),
            is_open: trees.read_only(id, settings).is_none(),
            ..Area::default()
        };
        (id.clone(), area)
    });
    // The first match ends once all areas are compared, so none may be there before the workspaces are known.
    let are_known = !trees.workspaces.is_empty() || engine.polling.lists.workspaces_looked > 0;
    let presentations = Area {
        kind: Kind::Presentation,
        name: "the user".to_owned(),
        is_live: settings.boards.presentations && are_known,
        is_open: true,
        ..Area::default()
    };
    let mode = settings.storage.mode;
    let storage = Area {
        kind: Kind::File,
        name: "the user".to_owned(),
        is_live: mode != StorageMode::Off && are_known,
        is_open: mode == StorageMode::TwoWay,
        ..Area::default()
    };
    spaces.chain([(WorkspaceId::of_user(), presentations), (WorkspaceId::of_storage(), storage)]).collect()
}

/// The workspaces that uploads may count for, in the service's order.
fn upload_workspaces(engine: &Engine) -> Vec<WorkspaceId> {
    let order = engine.polling.lists.workspace_order().unwrap_or_default();
    let chosen = engine.cx.settings.storage.workspace.as_deref();
    let is_meant = |node: &&WorkspaceNode| {
        node.present && !node.seen.frozen && chosen.is_none_or(|name| node.is_called(name))
    };
    let mut all: Vec<&WorkspaceNode> = engine.pages.trees.workspaces.values().filter(is_meant).collect();
    all.sort_by_key(|node| order.iter().position(|id| *id == node.seen.id).unwrap_or(usize::MAX));
    all.iter().map(|node| node.seen.id.clone()).collect()
}

fn core_doubt(engine: &Engine) -> Option<Guard> {
    if engine.pages.retention.folder_is_old.is_some() {
        return Some(Guard::OlderFolder);
    }
    let lacks = || is_core_item_missing(engine) || engine.pages.trees.is_page_missing(&engine.cx.settings);
    (engine.folder.root.changed && lacks()).then_some(Guard::OtherFolder(None))
}

/// Whether an item of the core may differ from what was mirrored last, and waits for the user.
pub(crate) fn core_is_in_doubt(engine: &Engine) -> bool {
    let state = &engine.core.state;
    let is_decided =
        state.items.dirty.is_empty() && state.snapshot.unread.is_empty() && state.is_quiet(engine.cx.now);
    let mut items = state.items.all();
    !is_decided || items.any(|item| matches!(item.wait, Some(Wait::Guard(_))) || item.remote.is_none())
}

/// Whether the file of an item of the core is missing.
pub(crate) fn is_core_item_missing(engine: &Engine) -> bool {
    engine.core.is_item_missing()
}

/// What was refused may be allowed now.
pub(crate) fn try_core_again(engine: &mut Engine) {
    let done = core_turn(engine, |core, _| {
        schedule::try_again(core);
        Ok(())
    });
    let _ = engine.cx.store.keep_error(done);
}

/// Whether a request of the core names no item that may be gone.
pub(crate) fn asks_anew(engine: &Engine, of: &OfCore) -> bool {
    let state = &engine.core.state;
    match state.under_way.iter().find(|(sent, _)| Some(*sent) == of.sent) {
        Some((_, state::Purpose::List(_))) => true,
        Some((_, state::Purpose::Act(sent))) => state.journal.get(*sent).is_some_and(Act::makes_item),
        _ => false,
    }
}

/// Whether the service refuses something of the core.
pub(crate) fn core_is_refused(engine: &Engine) -> bool {
    report::is_refused(&engine.core.state)
}

/// Hands a scan to the core.
pub(crate) fn core_scanned(engine: &mut Engine, scan: &Scan, sent_at: Timestamp) -> Result<(), StoreError> {
    let state = &mut engine.core.state;
    state.replaced = state.items.all().map(|item| item.key).collect();
    core_turn(engine, |core, _| {
        let sent = core.next_seq();
        scan::apply(core, scan, sent, sent_at)
    })
}

/// The next effect of the core on disk.
pub(crate) fn next_core_disk_effect(engine: &mut Engine) -> Result<Choice, StoreError> {
    let next = core_turn(engine, |core, _| schedule::next_disk(core))?;
    Ok(next.map(|(sent, effect)| (effect, Purpose::Core(OfCore::at_the_disk(sent)))))
}

/// The next effect of the core that runs beside all others.
pub(crate) fn next_core_beside(engine: &mut Engine) -> Result<Choice, StoreError> {
    if !engine.folder.root.is_ready() || engine.commands.asked.is_all() || engine.service.paused.is_some() {
        return Ok(None);
    }
    let next = core_turn(engine, |core, _| Ok(schedule::next_beside(core)))?;
    let of = |sent| OfCore { is_beside: true, ..OfCore::at_the_disk(sent) };
    Ok(next.map(|(sent, effect)| (effect, Purpose::Core(of(sent)))))
}

/// Applies the end of a download.
pub(crate) fn core_download_done(
    engine: &mut Engine,
    flight: &Flight,
    result: Result<Downloaded, DownloadError>,
) -> Result<(), StoreError> {
    let Purpose::Core(OfCore { sent: Some(sent), .. }) = flight.purpose else { return Ok(()) };
    core_turn(engine, |core, _| {
        schedule::download_done(core, sent, result);
        Ok(())
    })
}

/// Notes how far a download is.
pub(crate) fn core_download_goes_on(engine: &mut Engine, event: &StorageEvent) {
    let StorageEvent::Progress { id, got } = event;
    let flight = engine.cx.in_flight.flights.get(id);
    if let Some(Purpose::Core(OfCore { sent: Some(sent), .. })) = flight.map(|flight| &flight.purpose) {
        schedule::download_goes_on(&mut engine.core.state, *sent, *got);
    }
}

/// The next request of the core for which a user or an edit waits.
pub(crate) fn next_core_request(engine: &mut Engine) -> Result<Choice, StoreError> {
    let class = std::cell::Cell::new(Class::Edit);
    let next = core_turn(engine, |core, pace| {
        let now = core.now;
        schedule::next_request(core, &|urgency, slots| {
            class.set(OnCore::class_of(urgency));
            pace.allows(class.get(), slots, false, now)
        })
    })?;
    if let Some((
        _,
        Effect::Board(BoardEffect::CreateBoard { name, .. } | BoardEffect::CreateDeck { name }),
    )) = &next
    {
        engine.folder.root.creation_guard.note(name, &mut engine.cx);
    }
    Ok(next.map(|issued| request(issued, class.get())))
}

/// The next list of the core. Lists of a pass, and the first ones, go first.
pub(crate) fn next_core_list(engine: &mut Engine) -> Result<Choice, StoreError> {
    let class = if engine.polling.full_pass.is_some() { Class::Asked } else { Class::List };
    if !engine.cx.pace.allows(class, 1, false, engine.cx.now) {
        return Ok(None);
    }
    let next = core_turn(engine, |core, _| Ok(schedule::next_list(core)))?;
    Ok(next.map(|issued| request(issued, class)))
}

fn request((sent, effect): (Seq, Effect), class: Class) -> (Effect, Purpose) {
    (effect, Purpose::Core(OfCore { is_request: true, class, ..OfCore::at_the_disk(sent) }))
}

/// The next fetch of an item of the core that was not fetched yet, or not in this pass.
pub(crate) fn next_core_fetch(engine: &mut Engine) -> Choice {
    let (state, now) = (&engine.core.state, engine.cx.now);
    let in_pass = engine.polling.full_pass.is_some();
    let left = || core_fetches_left(state, (engine.core.pass, in_pass), now);
    let class = if in_pass { Class::Asked } else { Class::Background };
    if !engine.cx.pace.allows_one_of(class, || left().count(), now) {
        return None;
    }
    // What failed before waits for what was never tried: a few items that are refused hold nothing up.
    let ready = || left().filter(|key| begin::is_ready(state, *key, now));
    let failures = |key: &ItemKey| state.runtimes.get(key).map_or(0, |runtime| runtime.failures.0);
    let key = ready().find(|key| failures(key) == 0).or_else(|| ready().min_by_key(failures))?;
    engine.cx.pace.rest(false);
    Some(core_fetch(key, class))
}

fn core_fetches_left(
    state: &State,
    (pass, in_pass): (Seq, bool),
    now: Timestamp,
) -> impl Iterator<Item = ItemKey> {
    let of_pass = in_pass.then(|| schedule::left_since(state, pass)).into_iter().flatten();
    let links = transfer::links_wanted(state, now).map(|(key, _)| key);
    schedule::never_fetched(state).chain(of_pass).chain(links)
}

/// Applies the answer to an effect of the core on disk.
pub(crate) fn core_disk_done(
    engine: &mut Engine,
    of: OfCore,
    result: Result<DiskReply, DiskError>,
) -> Result<(), StoreError> {
    if let Err(error) = &result {
        engine.folder.disk_failed(&MirrorPath::root(), error, &mut engine.pages.trees, engine.cx.now);
    }
    let Some(sent) = of.sent else { return Ok(()) };
    core_turn(engine, |core, _| schedule::disk_done(core, sent, result))
}

/// Applies the answer to a request of the core.
pub(crate) fn core_request_done(
    engine: &mut Engine,
    flight: &Flight,
    of: OfCore,
    result: Result<ServiceReply, ServiceError>,
) -> Result<(), StoreError> {
    let Some(sent) = of.sent else { return Ok(()) };
    let times = (flight.sent_at, flight.as_of(engine.cx.now));
    core_turn(engine, |core, _| schedule::request_done(core, sent, result, times))
}

/// When the core may have something to do but for requests.
pub(crate) fn next_core_due(engine: &Engine) -> Option<Timestamp> {
    schedule::next_due(&engine.core.state)
}

/// When a request of the core may become possible.
pub(crate) fn next_core_request_due(engine: &Engine, now: Timestamp) -> Timestamp {
    let in_pass = engine.polling.full_pass.is_some();
    let earliest = |urgency: Urgency| {
        let class = match urgency {
            Urgency::List | Urgency::Background if in_pass => Class::Asked,
            other => OnCore::class_of(other),
        };
        engine.cx.pace.earliest(class, urgency.slots(), false, now)
    };
    let state = &engine.core.state;
    let left = core_fetches_left(state, (engine.core.pass, in_pass), now);
    let due = schedule::next_request_due(state, left, now);
    let due = due.map(|(urgency, at)| earliest(urgency).max(at).max(now.plus_ms(100)));
    due.min().unwrap_or_else(|| now.plus_ms(3_600_000))
}

/// Whether an edit of an item of the core waits for a request.
pub(crate) fn core_edits_wait(engine: &Engine) -> bool {
    engine.core.state.edits_wait
}

/// The items of the core that are polled.
pub(crate) fn core_targets(engine: &Engine) -> impl Iterator<Item = (ItemKey, &crate::model::PollState)> {
    schedule::poll_targets(&engine.core.state)
}

/// A fetch of an item, if it is ready. It is issued once it is chosen.
pub(crate) fn core_fetch(key: ItemKey, class: Class) -> (Effect, Purpose) {
    let of = OfCore { sent: None, item: Some(key), is_request: true, is_beside: false, class };
    (Effect::ListWorkspaces, Purpose::Core(of))
}

/// Issues the fetch that was chosen, if it is of the core.
pub(crate) fn issue_core_fetch(engine: &mut Engine, choice: (Effect, Purpose)) -> Result<Choice, StoreError> {
    let Purpose::Core(of @ OfCore { sent: None, item: Some(key), .. }) = choice.1 else {
        return Ok(Some(choice));
    };
    let issued = core_turn(engine, |core, _| Ok(schedule::poll(core, key)))?;
    Ok(issued.map(|(sent, effect)| (effect, Purpose::Core(OfCore { sent: Some(sent), ..of }))))
}

/// Begins a full pass.
pub(crate) fn begin_core_pass(engine: &mut Engine, deep: bool) -> Result<(), StoreError> {
    engine.core.pass = core_turn(engine, |core, _| {
        schedule::begin_pass(core);
        if deep {
            report::storage::begin_deep(core);
        }
        Ok(core.next_seq())
    })?;
    Ok(())
}

/// Whether a pass has taken in each list and each item of the core.
pub(crate) fn core_pass_is_over(engine: &Engine) -> bool {
    let OnCore { state, pass } = &engine.core;
    let mut areas = state.areas.values().filter(|area| area.is_live);
    areas.all(|area| area.list.taken.is_some_and(|taken| taken > *pass))
        && schedule::left_since(state, *pass).next().is_none()
}

/// How far the items of the core are.
pub(crate) fn core_progress(engine: &Engine) -> Progress {
    report::progress(&engine.core.state, &engine.cx.settings, &engine.folder.root.barrier, engine.cx.now)
}

/// How far stored files are.
pub(crate) fn core_storage(engine: &Engine) -> StorageSummary {
    report::storage::summary(&engine.core.state, &engine.cx.settings)
}

/// The ids of the stored files that are larger than the config's limit for downloads.
pub(crate) fn core_too_large(engine: &Engine) -> impl Iterator<Item = &str> {
    let items = engine.core.state.items.all().filter(|item| matches!(item.wait, Some(Wait::TooLarge(_))));
    items.filter_map(|item| Some(item.remote.as_ref()?.id.as_str()))
}

/// The messages about the items of the core.
pub(crate) fn core_needs(engine: &Engine, needs: &mut Needs) {
    for need in report::needs(&engine.core.state, &engine.cx.settings, &|at| engine.cx.next_try_at(at)) {
        needs.tell(need.code, &need.path, &need.reason, &need.action);
    }
}

/// Whether changes of the whiteboards of a workspace stay here.
pub(crate) fn core_stays_here(engine: &Engine, workspace: &WorkspaceId) -> bool {
    report::stays_here(&engine.core.state, workspace)
}

/// Every file of an item of the core.
pub(crate) fn core_files(engine: &Engine) -> impl Iterator<Item = (MirrorPath, Stamp, ItemKey)> {
    let items = engine.core.state.items.all().filter(|item| item.kind != Kind::Folder);
    items.filter_map(|item: &Item| item.file().map(|fact| (fact.path.clone(), fact.stamp, item.key)))
}

/// The ids of the items of the core that rest because of the rules.
pub(crate) fn core_ignored(engine: &Engine) -> impl Iterator<Item = &str> {
    let items = engine.core.state.items.all().filter(|item| item.is_ignored);
    items.filter_map(|item| Some(item.remote.as_ref()?.id.as_str()))
}

/// Releases an item of the core whose file disappeared from where nothing was looked at.
pub(crate) fn let_go_core_item(engine: &mut Engine, key: ItemKey) {
    let done = core_turn(engine, |core, _| {
        request::let_go(core, key);
        Ok(())
    });
    let _ = engine.cx.store.keep_error(done);
}

/// Approves what guards hold.
pub(crate) fn approve_core(engine: &mut Engine, paths: &[MirrorPath]) -> Result<(), StoreError> {
    core_turn(engine, |core, _| {
        request::approve(core, paths);
        Ok(())
    })
}

/// Fetches the items of the core at and beneath a path now. Returns what to wait for, if there are any.
pub(crate) fn core_fetches_now(engine: &mut Engine, place: &MirrorPath) -> Option<Asked> {
    let done = core_turn(engine, |core, _| Ok(request::fetch_now(core, place)));
    engine.cx.store.keep_error(done).flatten()
}

/// A command of the user wrote a file of the core.
pub(crate) fn core_command_wrote(engine: &mut Engine, path: &MirrorPath) -> Result<(), StoreError> {
    core_turn(engine, |core, _| {
        stale::saw_all(core, path);
        Ok(())
    })
}

/// Whether the core has items at or beneath a path, or lists that show what is there.
pub(crate) fn core_knows(engine: &Engine, place: &MirrorPath) -> bool {
    request::knows(&engine.core.state, place)
}

/// Whether a file at one of these paths is about to become an item of the core.
pub(crate) fn core_is_making(engine: &Engine, is_here: &dyn Fn(&MirrorPath) -> bool) -> bool {
    request::is_making(&engine.core.state, is_here)
}

/// How far these fetches are.
pub(crate) fn core_fetched(engine: &Engine, asked: &[Asked]) -> Fetched {
    request::fetched(&engine.core.state, asked)
}

/// Whether files without an item are not known to be new yet.
pub(crate) fn core_is_first(engine: &Engine) -> bool {
    let on = engine.cx.settings.boards;
    (on.whiteboards || on.presentations) && engine.core.state.first_match
}

/// The number of files that wait to become items of the core.
pub(crate) fn core_creations_wait(engine: &Engine) -> usize {
    report::waiting_creations(&engine.core.state, engine.cx.now)
}

/// What is gone of the core's items, for the guard of all kinds: of stored files, or of the others.
pub(crate) fn core_missing(engine: &Engine, stored: bool) -> Missing {
    guard::missing(&engine.core.state, |kind| kind.is_stored() == stored)
}

/// The paths at which items of the core have their files, or were last seen.
pub(crate) fn core_paths(engine: &Engine) -> impl Iterator<Item = &MirrorPath> {
    let items = engine.core.state.items.all().filter(|item| item.kind != Kind::Folder);
    items.filter_map(|item| item.last_file().map(|fact| &fact.path))
}

/// The missing files of items of the core that a place may hide, each with that place.
pub(crate) fn core_hidden(engine: &Engine) -> impl Iterator<Item = (&MirrorPath, &Unreadable)> {
    report::hidden(&engine.core.state, &engine.folder.root.barrier)
}

/// Releases the missing items of the core whose files were where nothing was looked at.
pub(crate) fn let_go_core_items(engine: &mut Engine, returns: &dyn Fn(&MirrorPath) -> bool) {
    let items = engine.core.state.items.all();
    let gone = items.filter(|item| matches!(&item.local, Local::Gone { last, .. } if returns(&last.path)));
    let gone: Vec<ItemKey> = gone.map(|item| item.key).collect();
    gone.into_iter().for_each(|key| let_go_core_item(engine, key));
}

/// The item of the core whose file is at a path, and the time of its last fetch.
pub(crate) fn core_item_at(engine: &Engine, path: &MirrorPath) -> Option<(ItemKey, Timestamp)> {
    let item = engine.core.state.items.at(path)?;
    Some((item.key, item.remote.as_ref()?.poll.last))
}

/// Whether the file of an item of the core is at a path.
pub(crate) fn core_has_file(engine: &Engine, path: &MirrorPath) -> bool {
    engine.core.state.items.at(path).is_some()
}

/// Changes what is known of the saves of the file of an item of the core, if there is one at a path.
pub(crate) fn with_saves_of_core(engine: &mut Engine, path: &MirrorPath, change: impl FnOnce(&mut Saves)) {
    let state = &mut engine.core.state;
    let Some(key) = state.items.at(path).map(|item| item.key) else { return };
    let saves = &mut state.runtime(key).saves;
    let rested = saves.rests;
    change(saves);
    if saves.rests != rested {
        state.items.dirty.insert(key);
    }
}
