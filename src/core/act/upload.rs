//! Stored files on their way to the service. The API can neither rename nor change a file: a changed, renamed or moved file is
//! uploaded, and the older version goes to the service's trash once a list shows the new one.

use serde_json::Value;

use super::forbidden::Verb;
use super::requests::{self, Ready};
use super::step::Choice;
use super::transfer;
use super::view::look;
use crate::core::content::{naming, service};
use crate::core::guard;
use crate::core::items::{
    Act, ActState, Base, Deed, Fact, Failing, Item, Items, Listing, Local, Part, Remote, Version, Wait,
};
use crate::core::observe::list::{self, ListOf, Listed};
use crate::core::observe::storage;
use crate::core::plan::decide::{Step, decide};
use crate::core::plan::policy::{Kind, Update};
use crate::core::schedule::is_ready;
use crate::core::state::{Core, Purpose, State, Way};
use crate::core::wants::Want;
use crate::core::{ItemKey, Seq};
use crate::model::{
    ContentHash, Effect, Fields, FileId, MirrorPath, Schedule, StorageEffect, StorageMode, Timestamp, Unsent,
    WorkspaceId, planted,
};
use crate::plan::filenames;
use crate::store::StoreError;

/// The longest age of a list that an upload or a removal may rest on, in milliseconds.
const FRESH_MS: i64 = 5_000;
/// The time for which an empty new file rests: it may have just been created, in milliseconds.
const NEW_EMPTY_MS: i64 = 2_000;
/// Uploads of one file in a row that need no wait, because users may save twice.
const UPLOADS_AT_ONCE: u32 = 2;
/// The waits between further uploads of a file that is written all the time.
const UPLOADED_AGAIN: Schedule = Schedule::new(30_000, 300_000);
/// The next try of what is not tried again.
pub const NEVER: Timestamp = Timestamp(i64::MAX);

/// The bytes of a file that may be the result of an upload without an answer have come: they tell whether it is.
pub(super) fn settle_candidate(core: &mut Core<'_>, item: &Item, hash: ContentHash) {
    let sent = unconfirmed(core).into_iter().find(|act| {
        let Deed::Create { fields, known, .. } = &act.deed else { return false };
        is_candidate(item, fields, known) && fields.get("hash") == Some(&Value::from(hash.to_hex()))
    });
    if let (Some(act), Some(remote)) = (sent, &item.remote) {
        let made = Listed {
            rest: remote.rest.clone(),
            bytes: remote.bytes.clone(),
            ..Listed::new(Kind::File, &remote.id, remote.name.clone())
        };
        apply_uploaded(core, &act, made, item.parent, None);
    }
}

/// Whether a listed file may be the result of an upload with these fields.
fn is_candidate(item: &Item, fields: &Fields, known: &std::collections::BTreeSet<String>) -> bool {
    let size = transfer::bytes_of(item).map(|bytes| Value::from(bytes.size));
    let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
    let is_empty = size == Some(Value::from(0));
    item.kind == Kind::File
        && item.base.is_none()
        && item.remote.as_ref().is_some_and(|remote| !known.contains(&remote.id))
        && size.as_ref() == fields.get("size")
        // Bytes tell more than a name, which the app may have changed since.
        && (!is_empty || filenames::is_same_name(name, item.name()))
}

/// Whether an act is an upload whose outcome is unknown.
#[must_use]
pub fn is_unconfirmed(state: &State, act: &Act) -> bool {
    act.makes_item()
        && matches!(act.state, ActState::Unconfirmed(_))
        && state.items.get(act.item).is_some_and(|item| item.kind == Kind::File)
}

fn unconfirmed(core: &Core<'_>) -> Vec<Act> {
    core.state.journal.all().filter(|act| is_unconfirmed(core.state, act)).cloned().collect()
}

/// Whether a listed file may be the result of an upload whose outcome is unknown.
#[must_use]
pub fn may_be_made(core: &Core<'_>, item: &Item) -> Option<ItemKey> {
    let made = core.state.journal.all().find(|act| {
        let Deed::Create { fields, known, .. } = &act.deed else { return false };
        let is_its = act.part == Part::Item && act.is_in_doubt() && is_candidate(item, fields, known);
        let hash = transfer::arrived(core.state, item).map(|hash| Value::from(hash.to_hex()));
        is_its && item.local == Local::Never && hash.is_none_or(|hash| fields.get("hash") == Some(&hash))
    });
    made.map(|act| act.item)
}

/// The list that shows what an upload makes.
#[must_use]
pub fn list_of(state: &State, act: &Act) -> Option<ListOf> {
    let item = state.items.get(act.item)?;
    let Deed::Create { fields, .. } = &act.deed else { return Some(ListOf::of(item)) };
    Some(match fields.get("folder").and_then(Value::as_str) {
        Some(id) => ListOf::Inner(state.items.of_id(Kind::Folder, None, id)?.key),
        None => ListOf::Area(item.area.clone()),
    })
}

/// Takes in what the list of a folder says of uploads into it that got no answer. A file that may be the result is downloaded, and
/// its bytes tell; a list without one speaks against the upload.
pub fn confirm_uploads(core: &mut Core<'_>, of: &ListOf, is_whole: bool, (_, asked_at): (Seq, Timestamp)) {
    for act in unconfirmed(core) {
        let Deed::Create { fields, known, .. } = &act.deed else { continue };
        if list_of(core.state, &act).as_ref() != Some(of) {
            continue;
        }
        let hash = fields.get("hash");
        let is_open = |item: &&Item| {
            let other = transfer::arrived(core.state, item)
                .is_some_and(|own| hash != Some(&Value::from(own.to_hex())));
            is_candidate(item, fields, known) && item.local == Local::Never && !other
        };
        let items = list::items_of(core, of);
        match items.iter().filter(|item| item.is_listed()).find(is_open) {
            Some(candidate) => match transfer::arrived(core.state, candidate) {
                Some(hash) => settle_candidate(core, candidate, hash),
                None => {
                    core.state.wanted.insert(candidate.key, Want::Download);
                }
            },
            None => list::creation_is_lacked(core, act.sent, is_whole, asked_at),
        }
    }
}

/// The service's folder at the folder of a path: an item, or the root, which is none. The outer `None`: the service has no folder
/// there.
#[must_use]
pub fn folder_at(items: &Items, path: &MirrorPath) -> Option<Option<ItemKey>> {
    let place = path.parent()?;
    if place.as_str() == naming::STORAGE {
        return Some(None);
    }
    let folder = items.at(&place).filter(|item| item.kind == Kind::Folder && item.is_listed());
    folder.filter(|folder| folder.file().is_some()).map(|folder| Some(folder.key))
}

/// Why a local file cannot be uploaded as it is.
#[must_use]
pub fn refusal(items: &Items, fact: &Fact) -> Option<Unsent> {
    match folder_at(items, &fact.path) {
        None => Some(Unsent::NoFolder),
        Some(_) => filenames::refusal(fact.path.name(), fact.stamp.size).map(Unsent::Unsendable),
    }
}

/// Whether the file of an item may be uploaded now: as a new item, or as the new version of one.
#[must_use]
pub fn may_upload(core: &Core<'_>, item: &Item) -> bool {
    let Some(fact) = item.file() else { return false };
    let act = core.state.journal.of_part(item.key, &Part::Item);
    let is_held = act.is_some_and(|act| act.is_in_doubt() || act.rests(core.now) && is_of(act, fact));
    core.policy(item.kind).update == Update::NewThenTrash
        && !is_held
        && fact.problem.is_none()
        && fact.hash.is_some()
        && fact.stamp.rested_ms(core.now).max(core.now.since_ms(fact.since)) >= rest_ms(core, fact)
        && upload_due(core.state, item.key) <= core.now
        && refusal(&core.state.items, fact).is_none()
        && core.state.is_quiet(core.now)
        && core.state.doubt.is_none()
        && !core.state.stored.upload_to.is_empty()
        && guard::may(core.state, &item.area, Verb::Write, core.now)
}

/// How long a file rests before it is uploaded, in milliseconds.
fn rest_ms(core: &Core<'_>, fact: &Fact) -> i64 {
    let least = if fact.stamp.size == 0 { NEW_EMPTY_MS } else { 0 };
    core.settings.pages.settle_ms.max(least)
}

/// Whether an upload was of this file as it is.
fn is_of(act: &Act, fact: &Fact) -> bool {
    let Deed::Create { fields, .. } = &act.deed else { return false };
    let is = |key: &str, value: Option<String>| fields.get(key).and_then(Value::as_str) == value.as_deref();
    is("hash", fact.hash.map(ContentHash::to_hex)) && is("path", Some(fact.path.to_string()))
}

/// The last upload of an item's file as it is.
#[must_use]
pub fn last_upload<'a>(state: &'a State, item: &Item) -> Option<&'a Act> {
    let act = state.journal.of_part(item.key, &Part::Item)?;
    is_of(act, item.file()?).then_some(act)
}

/// The upload of an item's file that failed, and is not tried again yet.
#[must_use]
pub fn refused<'a>(state: &'a State, item: &Item, now: Timestamp) -> Option<&'a Act> {
    last_upload(state, item).filter(|act| act.rests(now))
}

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

/// The time from which on a file may be uploaded again: what is written all the time is sent ever more seldom.
#[must_use]
pub fn upload_due(state: &State, key: ItemKey) -> Timestamp {
    let (row, at) = state.runtimes.get(&key).map(|runtime| runtime.bytes.uploads).unwrap_or_default();
    at.plus_ms(row.checked_sub(UPLOADS_AT_ONCE).map_or(0, |more| UPLOADED_AGAIN.wait_ms(more + 1)))
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
            is_ready(core.state, *key, core.now).then(|| requests::fetch(core, &folder)).flatten()
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
    let there = list::items_of(core, &of);
    let known =
        there.iter().filter_map(|item| item.remote.as_ref().map(|remote| remote.id.clone())).collect();
    let deed = Deed::Create { fields, known, instead_of: None, made: None };
    let sent = requests::begin(core, item.key, Part::Item, deed);
    if planted("upload-not-noted") {
        core.state.journal.remove(sent);
    }
    let upload = StorageEffect::Upload { workspace, folder: folder_id, filename, bytes };
    Ok(Some(Ready { effect: Effect::Storage(upload), purpose: Purpose::Act(sent) }))
}

/// An upload was carried out. `answered`: the number of its answer; without one a list and the bytes show it.
pub fn apply_uploaded(
    core: &mut Core<'_>,
    act: &Act,
    made: Listed,
    folder: Option<ItemKey>,
    answered: Option<Seq>,
) {
    let Some(item) = core.state.items.get(act.item).cloned() else { return };
    let Deed::Create { fields, .. } = &act.deed else { return };
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let (Ok(path), Some(bytes)) = (MirrorPath::new(text("path")), made.bytes.clone()) else { return };
    let sent_size = fields.get("size").and_then(Value::as_u64).unwrap_or_default();
    if bytes.size != sent_size {
        return was_cut(core, act, bytes.size, sent_size);
    }
    if let Some(twin) = core.state.items.of_id(Kind::File, None, &made.id).filter(|twin| twin.key != item.key)
    {
        let twin = twin.key;
        core.state.forget(twin);
    }
    let now = core.now;
    let hash = ContentHash::from_hex(text("hash"));
    let is_new = item.remote.is_none();
    let mut other = None;
    core.state.items.edit(item.key, |item| {
        let content = bytes.digest();
        if let Some(old) = item.remote.take() {
            match item.base.as_ref().map(|base| base.content) == old.content {
                true => {
                    let (id, content) = (old.id, old.content);
                    item.superseded.push(Version { id, parent: item.parent, content });
                }
                // Another client gave the older version other bytes meanwhile: it is a file of its own.
                false => other = Some((old, item.parent)),
            }
        }
        let mut remote = Remote::new(made.id.clone(), now);
        (remote.name, remote.rest) = (made.name.clone(), made.rest.clone());
        (remote.content, remote.bytes) = (Some(content), Some(bytes.clone()));
        (item.remote, item.parent) = (Some(remote), folder);
        // The app, or the service, may have named it otherwise since.
        item.base = Some(Base { name: text("name").to_owned(), content, text: hash, path: path.clone() });
    });
    if let Some((old, parent)) = other {
        let key = core.state.items.add(Kind::File, item.area.clone(), parent, Local::Never);
        core.state.items.edit(key, |item| item.remote = Some(old));
    }
    transfer::forget_arrived(core.state, item.key);
    let runtime = core.state.runtime(item.key);
    let (row, at) = runtime.bytes.uploads;
    let rests = now.since_ms(at) >= 2 * UPLOADED_AGAIN.wait_ms(row.max(1));
    runtime.bytes.uploads = (if rests { 1 } else { row + 1 }, now);
    let shown = answered.is_none();
    core.state.journal.edit(act.sent, |act| {
        (act.state, act.failing) = (ActState::Done { at: now, shown }, Default::default());
    });
    if let Some(of) = list_of(core.state, act) {
        list::list_by(core, &of, now);
    }
    core.state.items.dirty.insert(item.key);
    core.tell(Way::Up, &path, if is_new { "uploaded" } else { "new version uploaded" });
}

/// The service stored a part of an upload. What it made is handled as any new file; another try would make one more.
fn was_cut(core: &mut Core<'_>, act: &Act, made: u64, sent: u64) {
    let said = Unsent::Cut { made, sent }.to_string();
    core.state.journal.edit(act.sent, |act| {
        act.state = ActState::Failed;
        act.failing = Failing { count: 1, until: NEVER, said, is_refused: true };
    });
    if let Some(of) = list_of(core.state, act) {
        list::list_by(core, &of, core.now);
    }
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
    let sent = requests::begin(core, item.key, part, Deed::Remove { before: Value::Null });
    let effect = Effect::Storage(StorageEffect::Trash(id));
    Ok(Some(Ready { effect, purpose: Purpose::Act(sent) }))
}

/// The older version of a file that goes to the service's trash next.
#[must_use]
pub fn next_version<'a>(state: &State, item: &'a Item, now: Timestamp) -> Option<&'a Version> {
    let is_open = |version: &&Version| {
        let act = state.journal.of_part(item.key, &Part::Version(version.id.clone()));
        act.is_none_or(|act| act.state == ActState::Failed && !act.rests(now))
    };
    item.superseded.iter().find(is_open)
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

/// The paths in what an act does, after a folder was renamed.
pub fn follow(deed: &mut Deed, moved: &dyn Fn(&MirrorPath) -> Option<MirrorPath>) {
    match deed {
        Deed::Write { path, .. } => *path = moved(path).unwrap_or_else(|| path.clone()),
        Deed::Create { fields, .. } => {
            let path = fields.get("path").and_then(Value::as_str).and_then(|path| MirrorPath::new(path).ok());
            if let Some(path) = path.as_ref().and_then(moved) {
                fields.insert("path".to_owned(), path.as_str().into());
            }
        }
        Deed::Change { .. } | Deed::Remove { .. } => {}
    }
}
