//! Requests: what items need of the service, one at a time for each item. A write follows directly on a fetch of its item.

use crate::canvas::Op;
use crate::core::act::begin::{self, Ready, begin, fetch};
use crate::core::act::upload;
use crate::core::act::view::{self, look};
use crate::core::content::canvas::{self, ElementChange};
use crate::core::content::{compared, naming, service};
use crate::core::guard;
use crate::core::items::{Deed, Item, Listing, Local, Part, Verb};
use crate::core::keys::ItemKey;
use crate::core::observe::{entries, fetch};
use crate::core::plan::decide::{Step, decide};
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, Purpose, State};
use crate::core::wants::Want;
use crate::model::{Effect, Fields, planted};
use crate::store::StoreError;

/// The longest age of a fetch that a write may rest on, in milliseconds.
const FRESH_MS: i64 = 5_000;

/// What is said of an item, after its kind, when it is in the service's trash.
pub const TRASHED: &str = " trashed";

/// The longest age of the fetches of all that lies in an item that is trashed, in milliseconds, and [`FRESH_MS`] more for each.
const SEEN_MS: i64 = 60_000;

/// A new file is made into an item once it has content, has rested for the grace time, and is certainly no item's.
pub fn want_creation(core: &mut Core<'_>, item: &Item) {
    if may_create(core, item) {
        core.state.wanted.insert(item.key, Want::Create);
    }
}

/// Whether a new file waits to be made into an item, as far as that depends on the file.
#[must_use]
pub fn is_new(state: &State, item: &Item) -> bool {
    let Local::Here(fact) = &item.local else { return false };
    item.remote.is_none() && fact.problem.is_none() && fact.hash.is_some() && !state.first_match
}

fn may_create(core: &mut Core<'_>, item: &Item) -> bool {
    if item.kind.is_stored() {
        return view::may_upload(core, item);
    }
    let Local::Here(fact) = &item.local else { return false };
    let text = core.state.runtimes.get(&item.key).and_then(|runtime| runtime.text.as_ref());
    let act = core.state.journal.of_part(item.key, &Part::Item);
    if act.is_some_and(|act| act.is_in_doubt() || act.rests(core.now)) || !is_new(core.state, item) {
        return false;
    }
    let has_content = match text {
        Some((_, text)) => compared::has_content(item.kind, text),
        None => {
            // A restart has lost the text: the next scan reads the file again.
            core.state.items.edit_file(item.key, |fact| fact.hash = None);
            core.state.scan_by(core.now);
            return false;
        }
    };
    let grace_ms = core.settings.pages.delete_grace_ms;
    let (key, rested) = (item.key, fact.since.plus_ms(grace_ms));
    if rested > core.now {
        core.state.wake(key, rested);
    }
    has_content
        && core.now.since_ms(fact.since) >= grace_ms
        && core.state.is_quiet(core.now)
        && !core.state.creations_held
        && core.state.doubt.is_none()
        && guard::may(core.state, &item.area, Verb::Write, core.now)
}

/// The request that an item wants, if it is ready.
///
/// # Errors
/// [`StoreError`] when its content cannot be read.
pub fn next(core: &mut Core<'_>, key: ItemKey, want: Want) -> Result<Option<Ready>, StoreError> {
    let Some(item) = core.state.items.get(key).cloned() else {
        core.state.wanted.remove(key);
        return Ok(None);
    };
    let until = core.state.runtimes.get(&key).map(|runtime| runtime.failures.1);
    let owner = item.owner();
    let is_any = |is_it: &dyn Fn(ItemKey) -> bool| is_it(key) || is_it(owner);
    let is_dirty = want != Want::Fetch && is_any(&|key| core.state.items.dirty.contains(&key));
    if is_any(&|key| core.state.is_busy(key))
        || item.awaits_list()
        || is_dirty
        || until.is_some_and(|until| until > core.now)
    {
        return Ok(None);
    }
    let is_gone = |item: &Item| item.presence() == Some(Listing::Gone);
    match want {
        // No fetch shows what is gone, or lies in what is gone.
        Want::Fetch if is_gone(&item) || core.state.items.get(owner).is_some_and(is_gone) => {
            core.state.wanted.remove(key);
            Ok(None)
        }
        Want::Fetch => Ok(fetch(core, &item)),
        _ if item.kind == Kind::File => upload::request(core, &item, want),
        Want::Download => Ok(None),
        Want::Create => Ok(create(core, &item)),
        Want::Send | Want::Trash if !is_fresh(core, key) => Ok(fetch(core, &item)),
        Want::Send => send(core, &item),
        Want::Trash => trash(core, &item),
    }
}

/// Whether the last fetch of an item is recent enough for a write.
fn is_fresh(core: &Core<'_>, key: ItemKey) -> bool {
    core.state.runtimes.get(&key).is_some_and(|runtime| {
        let is_fresh = |(sent, at)| {
            sent > runtime.needs && core.now.since_ms(at) <= FRESH_MS || planted("element-stale-plan")
        };
        runtime.fetched.is_some_and(is_fresh)
    })
}

fn create(core: &mut Core<'_>, item: &Item) -> Option<Ready> {
    if !may_create(core, item) {
        core.state.wanted.remove(item.key);
        return None;
    }
    core.state.wanted.remove(item.key);
    let name = naming::said(item.kind, &item.file()?.path);
    let listed = core.state.items.all().filter(|other| other.kind == item.kind);
    let known = listed.filter_map(|other| other.remote.as_ref().map(|remote| remote.id.clone())).collect();
    let fields = Fields::from_iter([("name".to_owned(), name.clone().into())]);
    let deed = Deed::Create { fields, known, instead_of: None, made: None };
    let sent = begin(core, item.key, Part::Item, deed);
    let effect = Effect::Board(service::create(item, name));
    Some(Ready { effect, purpose: Purpose::Act(sent) })
}

fn send(core: &mut Core<'_>, item: &Item) -> Result<Option<Ready>, StoreError> {
    let Some(owner) = core.state.items.get(item.owner()).cloned() else { return Ok(None) };
    let look = look(core, &owner)?;
    let is_sent = decide(&look.view) == Step::Send;
    let merged = look.compared.as_ref().and_then(|compared| compared.of(item.key));
    let (Some(merged), Some(fact), true) = (merged, owner.file(), is_sent) else {
        core.state.items.dirty.insert(owner.key);
        return Ok(None);
    };
    let mut sendable = look.sendable.iter().filter(|(key, _)| *key == item.key);
    let Some((_, op)) = sendable.next() else {
        core.state.wanted.remove(item.key);
        return Ok(None);
    };
    let removed = removed_inner(core, item, op);
    if let Some(inner) = removed.as_ref().filter(|inner| !is_fresh(core, inner.key)) {
        // It cannot be restored, and the app may have changed it since.
        return fetch_before(core, item.key, inner.key);
    }
    let act = canvas::act_of(item, op, &merged.remote);
    if let Deed::Remove { before } = &act.deed {
        let (of, elements) = match &removed {
            Some(inner) => (inner, core.elements(inner.content())?),
            None => (item, vec![before.clone()]),
        };
        if let Some(canvas) = service::canvas_id(&core.state.items, of) {
            elements.iter().for_each(|gone| core.store.bury(&canvas, Some(&fact.path), gone, core.now));
        }
    }
    let Some(effect) = service::change(&core.state.items, item, op.clone()) else { return Ok(None) };
    if let (Op::Update { id, fields }, true) = (op, planted("element-base-before-answer")) {
        let (id, fields) = (id.as_str().to_owned(), fields.clone());
        fetch::move_base(core, item.key, &ElementChange::Changed { id, fields })?;
    }
    let sent = begin(core, item.key, act.part, act.deed);
    Ok(Some(Ready { effect: Effect::Board(effect), purpose: Purpose::Act(sent) }))
}

/// Fetches what lies in an item before a request about the item. If that has to wait, the request is derived again then.
fn fetch_before(core: &mut Core<'_>, key: ItemKey, inner: ItemKey) -> Result<Option<Ready>, StoreError> {
    let ready = next(core, inner, Want::Fetch)?;
    let until = core.state.runtime(inner).failures.1;
    if ready.is_none() && until > core.now {
        core.state.wanted.remove(key);
        core.state.wake(key, until);
    }
    Ok(ready)
}

/// The item that lies in an item and that an operation removes, with its elements.
fn removed_inner(core: &Core<'_>, item: &Item, op: &Op) -> Option<Item> {
    let Op::Delete { id } = op else { return None };
    core.state.items.of_id(item.kind.inner()?, Some(item.key), id.as_str()).cloned()
}

fn trash(core: &mut Core<'_>, item: &Item) -> Result<Option<Ready>, StoreError> {
    let since = core.state.runtime(item.key).needs;
    let inner = core.state.items.inner(item.key).count();
    let most_ms = SEEN_MS + FRESH_MS * i64::try_from(inner).unwrap_or(0);
    let is_seen = |inner: &Item| {
        let fetched = core.state.runtimes.get(&inner.key).and_then(|runtime| runtime.fetched);
        fetched.is_some_and(|(sent, at)| sent > since && core.now.since_ms(at) <= most_ms)
    };
    // The app may have changed what lies in it. Many fetches take longer than one is fresh.
    let unseen = core.state.items.inner(item.key).find(|inner| inner.is_listed() && !is_seen(inner));
    if let Some(unseen) = unseen.map(|inner| inner.key) {
        return fetch_before(core, item.key, unseen);
    }
    let look = look(core, item)?;
    let is_quiet = core.state.is_quiet(core.now);
    let (Some(effect), true) =
        (service::trash(&core.state.items, item), decide(&look.view) == Step::TrashRemote && is_quiet)
    else {
        core.state.items.dirty.insert(item.key);
        return Ok(None);
    };
    core.state.wanted.remove(item.key);
    let sent = begin(core, item.key, Part::Item, Deed::Remove { before: serde_json::Value::Null });
    Ok(Some(Ready { effect, purpose: Purpose::Act(sent) }))
}

/// An item was trashed at the service: a file that came back meanwhile is a new one.
pub fn apply_trashed(core: &mut Core<'_>, key: ItemKey) {
    let Some(item) = core.state.items.get(key).cloned() else { return };
    let path = item.last_file().map(|fact| fact.path.clone());
    entries::set_remote(core, key, |remote| remote.presence = Listing::Gone);
    begin::release(core, key);
    core.state.wanted.remove(key);
    core.state.wake(key, core.now.plus_ms(guard::RECENT_MS));
    if let Some(path) = path {
        let what = format!("{}{TRASHED}", naming::noun(item.kind));
        core.tell(crate::core::state::Way::Up, &path, what);
    }
}
