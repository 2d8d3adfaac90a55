//! Stored files on their way to the service. The API can neither rename nor change a file: a changed, renamed or moved file is
//! uploaded, and the older version goes to the service's trash once a list shows the new one.

use serde_json::Value;

use crate::core::act::begin::{self, Choice, Ready, is_ready};
use crate::core::act::view::{look, may_upload, rest_ms};
use crate::core::content::bytes::{folder_at, next_version, refusal, upload_due};
use crate::core::content::listed::ListOf;
use crate::core::content::{naming, service};
use crate::core::items::{Act, ActState, Deed, Failing, Item, Listing, Part, Wait};
use crate::core::keys::{ItemKey, Seq};
use crate::core::observe::{entries, storage};
use crate::core::plan::decide::{Step, decide};
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, Purpose, Way};
use crate::core::wants::Want;
use crate::model::{Effect, Fields, FileId, StorageEffect, StorageMode, WorkspaceId, planted};
use crate::store::StoreError;

/// The longest age of a list that an upload or a removal may rest on, in milliseconds.
const FRESH_MS: i64 = 5_000;
/// A file that has not rested yet, or was uploaded a moment ago, is decided about again in time.
pub fn wake(core: &mut Core<'_>, item: &Item) {
    let Some(fact) = item.file() else { return };
    let rested = fact.since.plus_ms(rest_ms(core, fact));
    for at in [rested, upload_due(core.state, item.key)] {
        if at > core.now {
            core.state.wake(item.key, at);
        }
    }
}

/// Reads the file of an item that is to be uploaded. One file at a time is in memory.
pub fn read_outgoing(core: &mut Core<'_>, key: ItemKey) -> Choice {
    let is_wanted = |key: &ItemKey| matches!(core.state.wanted.get(*key), Some(Want::Create | Want::Send));
    if let Some((other, hash, _)) = &core.state.stored.outgoing {
        let file = core.state.items.get(*other).and_then(Item::file);
        if is_wanted(other) && file.is_some_and(|fact| fact.hash == Some(*hash)) {
            return None;
        }
        core.state.stored.outgoing = None;
    }
    let is_reading =
        |(_, purpose): &(Seq, Purpose)| matches!(purpose, Purpose::Read(path) if naming::is_stored(path));
    let item = core.state.items.get(key).filter(|item| item.kind == Kind::File && is_wanted(&key))?;
    let fact = item.file()?;
    if core.state.under_way.iter().any(is_reading) {
        return None;
    }
    Some((Effect::ReadFile(fact.path.clone()), Purpose::Read(fact.path.clone())))
}

/// The request about a stored file that is wanted, if it is ready.
///
/// # Errors
/// [`StoreError`] when what is known of it cannot be read.
pub fn request(core: &mut Core<'_>, item: &Item, want: Want) -> Result<Option<Ready>, StoreError> {
    match want {
        Want::Create | Want::Send => upload(core, item),
        Want::Trash => trash(core, item),
        Want::Fetch | Want::Download => Ok(None),
    }
}

/// A list that a request rests on, unless the last one is fresh.
fn list_first(core: &mut Core<'_>, of: &ListOf, since: Seq) -> Option<Option<Ready>> {
    let last = match of {
        ListOf::Area(space) => {
            core.state.areas.get(space).and_then(|area| Some((area.list.taken?, area.list.taken_at)))
        }
        ListOf::Inner(key) => core.state.runtimes.get(key).and_then(|runtime| runtime.fetched),
    };
    if last.is_some_and(|(sent, at)| sent > since && core.now.since_ms(at) <= FRESH_MS) {
        return None;
    }
    Some(match of {
        ListOf::Area(space) => {
            let purpose = Purpose::List(space.clone());
            let is_under_way = core.state.under_way.iter().any(|(_, other)| *other == purpose);
            // A list that failed rests until it is due.
            let rests = core
                .state
                .areas
                .get(space)
                .is_none_or(|area| area.list.failures > 0 && area.list.due > core.now);
            (!is_under_way && !rests).then(|| Ready { effect: service::list(Kind::File, space), purpose })
        }
        ListOf::Inner(key) => {
            let folder = core.state.items.get(*key).cloned()?;
            is_ready(core.state, *key, core.now).then(|| begin::fetch(core, &folder)).flatten()
        }
    })
}

fn upload(core: &mut Core<'_>, item: &Item) -> Result<Option<Ready>, StoreError> {
    let is_its = core.state.stored.outgoing.as_ref().is_some_and(|(key, hash, _)| {
        *key == item.key && item.file().and_then(|fact| fact.hash) == Some(*hash)
    });
    if !is_its && core.state.stored.outgoing.is_some() {
        return Ok(None);
    }
    let is_meant = match item.remote {
        None => true,
        Some(_) => matches!(decide(&look(core, item)?.view), Step::Send | Step::Recreate),
    };
    let (Some(fact), true, true) = (item.file(), is_its && may_upload(core, item), is_meant) else {
        core.state.items.dirty.insert(item.key);
        if is_its {
            (core.state.stored.outgoing, _) = (None, core.state.wanted.remove(item.key));
        }
        return Ok(None);
    };
    let Some(folder) = folder_at(&core.state.items, &fact.path) else { return Ok(None) };
    let of = ListOf::inside(folder, &item.area);
    let needs = core.state.runtime(item.key).needs;
    if let Some(list) = list_first(core, &of, needs) {
        return Ok(list);
    }
    // Of two files of one name and size the bytes are compared first.
    storage::match_new(core, Some(&of));
    if core.state.items.get(item.key).is_none() {
        return Ok(None);
    }
    let Some((_, hash, bytes)) = core.state.stored.outgoing.take() else { return Ok(None) };
    core.state.wanted.remove(item.key);
    let refused_by = core.state.runtimes.get(&item.key).map(|runtime| &runtime.bytes.refused_by);
    let sent = hash.to_hex();
    let refuses = |space: &WorkspaceId| refused_by.is_some_and(|by| by.get(space.as_str()) == Some(&sent));
    let spaces = &core.state.stored.upload_to;
    let next = spaces.iter().find(|space| !refuses(space)).or(spaces.last());
    let Some(workspace) = next.cloned() else { return Ok(None) };
    // A local name that only stands for one that the disk cannot have is not sent.
    let known = item.remote.as_ref().filter(|remote| naming::says(Kind::File, &fact.path, &remote.name));
    let filename = known.map_or_else(|| fact.path.name().to_owned(), |remote| remote.name.clone());
    let folder_id = folder.and_then(|key| service::folder_id(core.state.items.get(key)?));
    let mut fields = Fields::from_iter([
        ("name".to_owned(), filename.clone().into()),
        ("size".to_owned(), bytes.len().into()),
        ("hash".to_owned(), hash.to_hex().into()),
        ("path".to_owned(), fact.path.as_str().into()),
        ("workspace".to_owned(), workspace.as_str().into()),
    ]);
    fields.extend(folder_id.as_ref().map(|id| ("folder".to_owned(), id.as_str().into())));
    let there = entries::items_of(core, &of);
    let known =
        there.iter().filter_map(|item| item.remote.as_ref().map(|remote| remote.id.clone())).collect();
    let deed = Deed::Create { fields, known, instead_of: None, made: None };
    let sent = begin::begin(core, item.key, Part::Item, deed);
    if planted("upload-not-noted") {
        core.state.journal.remove(sent);
    }
    let upload = StorageEffect::Upload { workspace, folder: folder_id, filename, bytes };
    Ok(Some(Ready { effect: Effect::Storage(upload), purpose: Purpose::Act(sent) }))
}

fn trash(core: &mut Core<'_>, item: &Item) -> Result<Option<Ready>, StoreError> {
    let since = core.state.runtime(item.key).needs;
    let step = decide(&look(core, item)?.view);
    let version = next_version(core.state, item, core.now).filter(|_| step == Step::TrashSuperseded);
    let parent = version.map_or(item.parent, |version| version.parent);
    let of = ListOf::inside(parent, &item.area);
    if let Some(list) = list_first(core, &of, since) {
        return Ok(list);
    }
    let id = match step {
        Step::TrashSuperseded => version.map(|version| version.id.clone()),
        Step::TrashRemote if core.state.is_quiet(core.now) => {
            item.remote.as_ref().map(|remote| remote.id.clone())
        }
        _ => None,
    };
    core.state.wanted.remove(item.key);
    let Some(id) = id.and_then(|id| FileId::new(&id).ok()) else {
        core.state.items.dirty.insert(item.key);
        return Ok(None);
    };
    let part = match step {
        Step::TrashSuperseded => Part::Version(id.as_str().to_owned()),
        _ => Part::Item,
    };
    let sent = begin::begin(core, item.key, part, Deed::Remove { before: Value::Null });
    let effect = Effect::Storage(StorageEffect::Trash(id));
    Ok(Some(Ready { effect, purpose: Purpose::Act(sent) }))
}

/// An older version is in the service's trash.
pub fn apply_trashed_version(core: &mut Core<'_>, act: &Act) {
    let now = core.now;
    // A list that is older may still show it: its id is known until then.
    core.state.journal.edit(act.sent, |act| {
        (act.state, act.failing) = (ActState::Done { at: now, shown: false }, Failing::default());
    });
    core.state.items.dirty.insert(act.item);
    let path = core.state.items.get(act.item).and_then(|item| item.last_file().map(|fact| fact.path.clone()));
    if let Some(path) = path {
        core.tell(Way::Up, &path, "the older version is in the service's trash");
    }
}

/// Why a stored file waits, besides what holds items of every kind.
#[must_use]
pub fn wait(core: &Core<'_>, item: &Item, step: Step) -> Option<Wait> {
    let is_meant = item.kind == Kind::File && matches!(step, Step::Wait | Step::Recreate);
    let fact = item.file().filter(|_| is_meant && is_to_be_sent(core, item))?;
    refusal(&core.state.items, fact).map(Wait::Unsent)
}

/// Whether the file of an item differs from the service's, and is to be sent.
fn is_to_be_sent(core: &Core<'_>, item: &Item) -> bool {
    let (Some(fact), Some(base)) = (item.file(), &item.base) else { return false };
    core.settings.storage.mode == StorageMode::TwoWay
        && item.presence() == Some(Listing::Listed)
        && (fact.path != base.path || fact.hash != base.text)
}

/// The workspace that takes uploads comes first from now on; if an upload was refused, the next one is tried.
pub fn note_workspace(core: &mut Core<'_>, act: &Act, is_taken: bool) -> bool {
    let Deed::Create { fields, .. } = &act.deed else { return false };
    let text = |key| fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (workspace, hash) = (text("workspace"), text("hash"));
    if !is_taken {
        let spaces = core.state.stored.upload_to.clone();
        let refused_by = &mut core.state.runtime(act.item).bytes.refused_by;
        refused_by.insert(workspace, hash.clone());
        return spaces.iter().any(|space| refused_by.get(space.as_str()) != Some(&hash));
    }
    let spaces = &mut core.state.stored.upload_to;
    if let Some(at) = spaces.iter().position(|space| space.as_str() == workspace).filter(|at| *at > 0) {
        core.store.set_meta(UPLOADS_TO, &workspace);
        spaces[..=at].rotate_right(1);
    }
    true
}

/// Key in the state: the workspace that took the last upload.
pub const UPLOADS_TO: &str = "uploads_to";
