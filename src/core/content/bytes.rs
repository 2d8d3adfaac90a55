//! The bytes of stored files: whether they have come, and what an upload of them was.

use serde_json::Value;

use crate::core::content::listed::ListOf;
use crate::core::content::{naming, service};
use crate::core::items::{Act, ActState, Bytes, Deed, Fact, Item, Items, Local, Part, Version};
use crate::core::keys::ItemKey;
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, State};
use crate::model::{
    AttachmentId, ContentHash, Fields, MirrorPath, Part as PartFile, Schedule, Timestamp, Unsent,
};
use crate::plan::filenames;

/// The next try of what is not tried again.
pub const NEVER: Timestamp = Timestamp(i64::MAX);
/// Uploads of one file in a row that need no wait, because users may save twice.
pub(crate) const UPLOADS_AT_ONCE: u32 = 2;
/// The waits between further uploads of a file that is written all the time.
pub(crate) const UPLOADED_AGAIN: Schedule = Schedule::new(30_000, 300_000);

/// The temporary file for the bytes of an item.
pub(crate) fn part_of(item: &Item, bytes: &Bytes) -> Option<PartFile> {
    let attachment = AttachmentId::new(&bytes.attachment).ok()?;
    Some(PartFile::of(&service::file_id(item)?, &attachment, bytes.size))
}

/// The bytes that the service has of an item.
#[must_use]
pub fn bytes_of(item: &Item) -> Option<&Bytes> {
    item.remote.as_ref()?.bytes.as_ref()
}

/// The hash of the service's bytes of an item, if they have been downloaded.
#[must_use]
pub fn arrived(state: &State, item: &Item) -> Option<ContentHash> {
    let (content, hash) = state.runtimes.get(&item.key)?.bytes.arrived?;
    (item.content() == Some(content)).then_some(hash)
}

/// Forgets that the bytes of an item were downloaded.
pub fn forget_arrived(state: &mut State, key: ItemKey) {
    state.runtime(key).bytes.arrived = None;
    state.stored.arrived.remove(&key);
}

/// Whether a listed file may be the result of an upload with these fields.
pub(crate) fn is_candidate(item: &Item, fields: &Fields, known: &std::collections::BTreeSet<String>) -> bool {
    let size = bytes_of(item).map(|bytes| Value::from(bytes.size));
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

pub(crate) fn unconfirmed(core: &Core<'_>) -> Vec<Act> {
    core.state.journal.all().filter(|act| is_unconfirmed(core.state, act)).cloned().collect()
}

/// Whether a listed file may be the result of an upload whose outcome is unknown.
#[must_use]
pub fn may_be_made(core: &Core<'_>, item: &Item) -> Option<ItemKey> {
    let made = core.state.journal.all().find(|act| {
        let Deed::Create { fields, known, .. } = &act.deed else { return false };
        let is_its = act.part == Part::Item && act.is_in_doubt() && is_candidate(item, fields, known);
        let hash = arrived(core.state, item).map(|hash| Value::from(hash.to_hex()));
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

/// Whether an upload was of this file as it is.
pub(crate) fn is_of(act: &Act, fact: &Fact) -> bool {
    let path = |fields: &Fields| fields.get("path").and_then(Value::as_str) == Some(fact.path.as_str());
    has_bytes(act, fact.hash) && matches!(&act.deed, Deed::Create { fields, .. } if path(fields))
}

/// Whether an upload was of these bytes.
pub(crate) fn has_bytes(act: &Act, hash: Option<ContentHash>) -> bool {
    let Deed::Create { fields, .. } = &act.deed else { return false };
    fields.get("hash").and_then(Value::as_str) == hash.map(ContentHash::to_hex).as_deref()
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

/// The time from which on a file may be uploaded again: what is written all the time is sent ever more seldom.
#[must_use]
pub fn upload_due(state: &State, key: ItemKey) -> Timestamp {
    let (row, at) = state.runtimes.get(&key).map(|runtime| runtime.bytes.uploads).unwrap_or_default();
    at.plus_ms(row.checked_sub(UPLOADS_AT_ONCE).map_or(0, |more| UPLOADED_AGAIN.wait_ms(more + 1)))
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
