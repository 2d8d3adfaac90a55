//! Whiteboards on the core: what the engine hands to [`crate::core`] and takes from it. Only tests switch it on; then the
//! engine's own machine for whiteboards sees none.

use std::collections::BTreeMap;

use super::Engine;
use super::activity::Way;
use super::attention::Needs;
use super::context::Context;
use super::flight::{Flight, Purpose};
use super::pace::Class;
use crate::core::act::requests::Urgency;
use crate::core::guard::{self, Missing};
use crate::core::items::{Item, Local};
use crate::core::observe::scan;
use crate::core::report::{self, Progress};
use crate::core::request::Fetched;
use crate::core::state::{self, Area, Core, Line, State};
use crate::core::{ItemKey, Seq, request, schedule};
use crate::model::{
    BoardEffect, DiskError, DiskReply, Effect, MirrorPath, Scan, ServiceError, ServiceReply, Settings, Stamp,
    Timestamp, Unreadable, WorkspaceId,
};
use crate::plan::guard::Guard;
use crate::store::{Store, StoreError};

/// The time between two lists of whiteboards, unless there are many workspaces.
const LIST_EVERY_MS: i64 = 60_000;

/// The core beside the engine.
#[derive(Debug)]
pub(super) struct OnCore {
    state: State,
    settings: Settings,
    /// The number at which the last full pass began.
    pass: Seq,
}

/// An effect of the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OfCore {
    /// Its number there; `None` until it is issued.
    sent: Option<Seq>,
    item: Option<ItemKey>,
    pub(super) is_request: bool,
    pub(super) class: Class,
}

impl OnCore {
    /// Opens the core if whiteboards are to be on it, and hides them from the engine.
    pub(super) fn open(
        store: &mut Store,
        settings: &mut Settings,
        now: Timestamp,
    ) -> Result<Option<Self>, StoreError> {
        if !settings.boards.on_core {
            return Ok(None);
        }
        let state = State::open(store, now)?;
        let own = settings.clone();
        settings.boards.whiteboards = false;
        Ok(Some(Self { state, settings: own, pass: Seq::default() }))
    }

    fn class_of(urgency: Urgency) -> Class {
        match urgency {
            Urgency::Edit => Class::Edit,
            Urgency::Asked => Class::Asked,
            Urgency::List => Class::List,
            Urgency::Background => Class::Background,
        }
    }

    fn is_item_missing(&self) -> bool {
        let is_open =
            |id: &WorkspaceId| self.state.areas.get(id).is_some_and(|area| area.is_open && area.is_live);
        let mut items = self.state.items.all();
        items.any(|item| {
            matches!(item.local, Local::Gone { .. })
                && item.base.is_some()
                && item.is_listed()
                && is_open(&item.area)
        })
    }
}

/// Lets the core act, with what it borrows, and takes what it reports.
fn core_turn<T>(
    engine: &mut Engine,
    act: impl FnOnce(&mut Core<'_>, &super::pace::Pace) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    if engine.core.is_none() {
        return Ok(None);
    }
    let areas = core_areas(engine);
    let is_quiet = engine.folder.watch.is_quiet(engine.cx.now);
    let doubt = core_doubt(engine);
    let list_every_ms = engine.boards.list_pace(&engine.pages.trees, &engine.cx).other_ms(LIST_EVERY_MS);
    let Some(on_core) = &mut engine.core else { return Ok(None) };
    let state = &mut on_core.state;
    if std::mem::replace(&mut state.snapshot.is_stirred, !is_quiet) && is_quiet {
        state.items.mark_all();
    }
    let are_held = engine.folder.root.creating.is_held();
    let Context { store, pace, now, deletions, .. } = &mut engine.cx;
    if (&state.doubt, state.deletions_held.as_ref()) != (&doubt, deletions.held()) {
        (state.doubt, state.deletions_held) = (doubt, deletions.held().cloned());
        state.items.mark_all();
    }
    state.list_every_ms = list_every_ms;
    let barrier = &mut engine.folder.root.barrier;
    let mut core = Core { state, store, settings: &on_core.settings, barrier, now: *now };
    request::set_areas(&mut core, areas);
    let ignoring = &engine.pages.trees.ignoring;
    request::note_ignored(&mut core, &|path| ignoring.ignores_file(path));
    request::hold_creations(&mut core, are_held);
    let out = act(&mut core, pace)?;
    core.save();
    let lines = std::mem::take(&mut state.lines);
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
    Ok(Some(out))
}

fn core_areas(engine: &Engine) -> BTreeMap<WorkspaceId, Area> {
    let Some(on_core) = &engine.core else { return BTreeMap::new() };
    let trees = &engine.pages.trees;
    let area = |id: &WorkspaceId, folder: &str, name: &str| Area {
        folder: folder.to_owned(),
        name: name.to_owned(),
        is_live: on_core.settings.boards.whiteboards && trees.is_live(id),
        is_open: trees.read_only(id, &on_core.settings).is_none(),
        ..Area::default()
    };
    let spaces = trees.workspaces.values();
    spaces.map(|node| (node.seen.id.clone(), area(&node.seen.id, &node.folder, &node.seen.name))).collect()
}

fn core_doubt(engine: &Engine) -> Option<Guard> {
    if engine.pages.retention.folder_is_old.is_some() {
        return Some(Guard::OlderFolder);
    }
    let lacks = || is_core_item_missing(engine) || engine.pages.trees.is_page_missing(&engine.cx.settings);
    (engine.folder.root.changed && lacks()).then_some(Guard::OtherFolder(None))
}

/// Whether the file of an item of the core is missing.
pub(super) fn is_core_item_missing(engine: &Engine) -> bool {
    engine.core.as_ref().is_some_and(OnCore::is_item_missing)
}

/// Whether the core keeps whiteboards in step.
pub(super) fn core_has_whiteboards(engine: &Engine) -> bool {
    engine.core.as_ref().is_some_and(|on_core| on_core.settings.boards.whiteboards)
}

/// Hands a scan to the core.
pub(super) fn core_scanned(engine: &mut Engine, scan: &Scan, sent_at: Timestamp) -> Result<(), StoreError> {
    if let Some(on_core) = &mut engine.core {
        on_core.state.replaced = on_core.state.items.all().map(|item| item.key).collect();
    }
    let done = core_turn(engine, |core, _| {
        let sent = core.next_seq();
        scan::apply(core, scan, sent, sent_at)
    });
    done.map(drop)
}

/// The next effect of the core on disk.
pub(super) fn next_core_disk_effect(engine: &mut Engine) -> Result<super::flight::Choice, StoreError> {
    let next = core_turn(engine, |core, _| schedule::next_disk(core))?.flatten();
    let of = |sent| OfCore { sent: Some(sent), item: None, is_request: false, class: Class::Edit };
    Ok(next.map(|(sent, effect)| (effect, Purpose::Core(of(sent)))))
}

/// The next request of the core for which a user or an edit waits.
pub(super) fn next_core_request(engine: &mut Engine) -> Result<super::flight::Choice, StoreError> {
    next_core_choice(engine, &|core, allows| schedule::next_request(core, allows))
}

/// The next request of the core for which neither a user nor an edit waits.
pub(super) fn next_core_background(engine: &mut Engine) -> Result<super::flight::Choice, StoreError> {
    next_core_choice(engine, &|core, allows| Ok(schedule::next_background(core, allows)))
}

/// Chooses a request of the core, within the limit.
type Chooses<'a> =
    &'a dyn Fn(&mut Core<'_>, &dyn Fn(Urgency, u32) -> bool) -> Result<Option<(Seq, Effect)>, StoreError>;

fn next_core_choice(engine: &mut Engine, choose: Chooses<'_>) -> Result<super::flight::Choice, StoreError> {
    let class = std::cell::Cell::new(Class::Edit);
    let next = core_turn(engine, |core, pace| {
        let now = core.now;
        choose(core, &|urgency, slots| {
            class.set(OnCore::class_of(urgency));
            pace.allows(class.get(), slots, false, now)
        })
    })?;
    if let Some(Some((_, Effect::Board(BoardEffect::CreateBoard { name, .. })))) = &next {
        engine.folder.root.creating.note(name, &mut engine.cx);
    }
    let of = |sent| OfCore { sent: Some(sent), item: None, is_request: true, class: class.get() };
    Ok(next.flatten().map(|(sent, effect)| (effect, Purpose::Core(of(sent)))))
}

/// Applies the answer to an effect of the core on disk.
pub(super) fn core_disk_done(
    engine: &mut Engine,
    of: OfCore,
    result: Result<DiskReply, DiskError>,
) -> Result<(), StoreError> {
    if let Err(error) = &result {
        engine.folder.disk_failed(&MirrorPath::root(), error, &mut engine.pages.trees, engine.cx.now);
    }
    let Some(sent) = of.sent else { return Ok(()) };
    core_turn(engine, |core, _| schedule::disk_done(core, sent, result)).map(drop)
}

/// Applies the answer to a request of the core.
pub(super) fn core_request_done(
    engine: &mut Engine,
    flight: &Flight,
    of: OfCore,
    result: Result<ServiceReply, ServiceError>,
) -> Result<(), StoreError> {
    let Some(sent) = of.sent else { return Ok(()) };
    let times = (flight.sent_at, flight.as_of(engine.cx.now));
    core_turn(engine, |core, _| schedule::request_done(core, sent, result, times)).map(drop)
}

/// When the core may have something to do.
pub(super) fn next_core_due(engine: &Engine) -> Option<Timestamp> {
    let on_core = engine.core.as_ref()?;
    schedule::next_due(&on_core.state, engine.cx.now)
}

/// Whether an edit of an item of the core waits for a request.
pub(super) fn core_edits_wait(engine: &Engine) -> bool {
    engine.core.as_ref().is_some_and(|on_core| on_core.state.edits_wait)
}

/// The items of the core that are polled.
pub(super) fn core_targets(engine: &Engine) -> impl Iterator<Item = (ItemKey, &crate::model::PollState)> {
    let state = engine.core.as_ref().map(|on_core| &on_core.state);
    state.into_iter().flat_map(schedule::poll_targets)
}

/// A fetch of an item, if it is ready. It is issued once it is chosen.
pub(super) fn core_fetch(key: ItemKey, class: Class) -> (Effect, Purpose) {
    let of = OfCore { sent: None, item: Some(key), is_request: true, class };
    (Effect::ListWorkspaces, Purpose::Core(of))
}

/// Issues the fetch that was chosen, if it is of the core.
pub(super) fn issue_core_fetch(
    engine: &mut Engine,
    choice: (Effect, Purpose),
) -> Result<super::flight::Choice, StoreError> {
    let Purpose::Core(of @ OfCore { sent: None, item: Some(key), .. }) = choice.1 else {
        return Ok(Some(choice));
    };
    let issued = core_turn(engine, |core, _| Ok(schedule::poll(core, key)))?.flatten();
    Ok(issued.map(|(sent, effect)| (effect, Purpose::Core(OfCore { sent: Some(sent), ..of }))))
}

/// Begins a full pass.
pub(super) fn begin_core_pass(engine: &mut Engine) -> Result<(), StoreError> {
    let since = core_turn(engine, |core, _| {
        schedule::begin_pass(core);
        Ok(core.next_seq())
    })?;
    if let (Some(on_core), Some(since)) = (&mut engine.core, since) {
        on_core.pass = since;
    }
    Ok(())
}

/// Whether a pass has taken in each list and each item of the core.
pub(super) fn core_pass_is_over(engine: &Engine) -> bool {
    engine.core.as_ref().is_none_or(|on_core| {
        let mut areas = on_core.state.areas.values().filter(|area| area.is_live);
        areas.all(|area| area.list.taken.is_some_and(|taken| taken > on_core.pass))
            && schedule::left_since(&on_core.state, on_core.pass).next().is_none()
    })
}

/// The next fetch that a pass needs.
pub(super) fn next_core_pass_fetch(engine: &mut Engine) -> Result<super::flight::Choice, StoreError> {
    let Some(on_core) = engine.core.as_ref().filter(|_| engine.polling.full_pass.is_some()) else {
        return Ok(None);
    };
    if !engine.cx.pace.allows(Class::Asked, 1, false, engine.cx.now) {
        return Ok(None);
    }
    let left = schedule::left_since(&on_core.state, on_core.pass)
        .find(|key| schedule::is_ready(&on_core.state, *key, engine.cx.now));
    match left {
        Some(key) => issue_core_fetch(engine, core_fetch(key, Class::Asked)),
        None => Ok(None),
    }
}

/// How far the items of the core are.
pub(super) fn core_progress(engine: &Engine) -> Progress {
    match &engine.core {
        Some(on_core) => report::progress(&on_core.state, &engine.folder.root.barrier, engine.cx.now),
        None => Progress { is_settled: true, ..Progress::default() },
    }
}

/// The messages about the items of the core.
pub(super) fn core_needs(engine: &Engine, needs: &mut Needs) {
    let Some(on_core) = &engine.core else { return };
    for need in report::needs(&on_core.state) {
        needs.tell(need.code, &need.path, &need.reason, &need.action);
    }
}

/// Every file of an item of the core.
pub(super) fn core_files(engine: &Engine) -> impl Iterator<Item = (MirrorPath, Stamp, ItemKey)> {
    let items = engine.core.iter().flat_map(|on_core| on_core.state.items.all());
    items.filter_map(|item: &Item| item.file().map(|fact| (fact.path.clone(), fact.stamp, item.key)))
}

/// Releases an item of the core whose file disappeared from where nothing was looked at.
pub(super) fn let_go_core_item(engine: &mut Engine, key: ItemKey) {
    let done = core_turn(engine, |core, _| {
        request::let_go(core, key);
        Ok(())
    });
    let _ = engine.cx.store.keep_error(done);
}

/// Approves what guards hold.
pub(super) fn approve_core(engine: &mut Engine, paths: &[MirrorPath]) -> Result<(), StoreError> {
    core_turn(engine, |core, _| {
        request::approve(core, paths);
        Ok(())
    })
    .map(drop)
}

/// Fetches the items of the core at and beneath a path now. Returns when that was asked for, if there are any.
pub(super) fn core_fetches_now(engine: &mut Engine, place: &MirrorPath) -> Option<Seq> {
    let done = core_turn(engine, |core, _| {
        let since = core.next_seq();
        Ok(request::fetch_now(core, place).then_some(since))
    });
    engine.cx.store.keep_error(done).flatten().flatten()
}

/// How far these fetches are.
pub(super) fn core_fetched(engine: &Engine, asked: &[(MirrorPath, Seq)]) -> Fetched {
    let nothing = Fetched { is_in_step: true, ..Fetched::default() };
    engine.core.as_ref().map_or(nothing, |on_core| request::fetched(&on_core.state, asked))
}

/// Whether files without an item are not known to be new yet.
pub(super) fn core_is_first(engine: &Engine) -> bool {
    engine.core.as_ref().is_some_and(|on_core| on_core.state.first_match)
}

/// The number of files that wait to become items of the core.
pub(super) fn core_creations_wait(engine: &Engine) -> usize {
    let on_core = engine.core.as_ref();
    on_core.map_or(0, |on_core| report::waiting_creations(&on_core.state, engine.cx.now))
}

/// What is gone of the core's items, for the guard of all kinds.
pub(super) fn core_missing(engine: &Engine) -> Missing {
    let state = engine.core.as_ref().map(|on_core| &on_core.state);
    state.map(guard::missing).unwrap_or_default()
}

/// The paths at which items of the core have their files, or were last seen.
pub(super) fn core_paths(engine: &Engine) -> impl Iterator<Item = &MirrorPath> {
    let items = engine.core.iter().flat_map(|on_core| on_core.state.items.all());
    items.filter_map(|item| item.last_file().map(|fact| &fact.path))
}

/// The missing files of items of the core that a place may hide, each with that place.
pub(super) fn core_hidden(engine: &Engine) -> impl Iterator<Item = (&MirrorPath, &Unreadable)> {
    let states = engine.core.iter().map(|on_core| &on_core.state);
    states.flat_map(|state| report::hidden(state, &engine.folder.root.barrier))
}

/// Releases the missing items of the core whose files were where nothing was looked at.
pub(super) fn let_go_core_items(engine: &mut Engine, returns: &dyn Fn(&MirrorPath) -> bool) {
    let items = engine.core.iter().flat_map(|on_core| on_core.state.items.all());
    let gone = items.filter(|item| matches!(&item.local, Local::Gone { last, .. } if returns(&last.path)));
    let gone: Vec<ItemKey> = gone.map(|item| item.key).collect();
    gone.into_iter().for_each(|key| let_go_core_item(engine, key));
}

/// The item of the core whose file is at a path, and the time of its last fetch.
pub(super) fn core_item_at(engine: &Engine, path: &MirrorPath) -> Option<(ItemKey, Timestamp)> {
    let item = engine.core.as_ref()?.state.items.at(path)?;
    Some((item.key, item.remote.as_ref()?.poll.last))
}
