//! The bytes of stored files on their way here: links, downloads, and the places of what arrived.

use crate::core::act::begin::{self, Choice, is_ready};
use crate::core::content::bytes::{arrived, bytes_of, part_of};
use crate::core::content::listed::ListOf;
use crate::core::content::naming;
use crate::core::items::journal::TOLD_AFTER;
use crate::core::items::{Bytes, Item};
use crate::core::keys::{ItemKey, Seq};
use crate::core::observe::{entries, storage, uploads};
use crate::core::plan::policy::Kind;
use crate::core::state::{Brings, Core, Purpose, State, Transfer};
use crate::core::wants::Want;
use crate::model::{
    Code, DiskError, DownloadError, Downloaded, Effect, MirrorPath, Part as PartFile, Schedule, Stamp,
    StorageEffect, Timestamp, planted,
};

/// The most downloads at once, requests of links included.
const AT_ONCE: usize = 4;
/// Unusable links in a row before the user is told.
const BAD_LINKS: u32 = 2;
/// Waits after a download that failed.
const FAILED: Schedule = Schedule::new(1_000, 300_000);

/// The next effect that runs beside all others: the hash of a file, or a download.
pub fn next_beside(core: &mut Core<'_>) -> Choice {
    next_hash(core).or_else(|| next_download(core))
}

fn next_hash(core: &Core<'_>) -> Choice {
    let is_hash = |(_, purpose): &(Seq, Purpose)| matches!(purpose, Purpose::Hash(_));
    if core.state.under_way.iter().any(is_hash) {
        return None;
    }
    let (path, _) = core.state.snapshot.unhashed.iter().find(|(_, due)| **due <= core.now)?;
    Some((Effect::Storage(StorageEffect::Hash(path.clone())), Purpose::Hash(path.clone())))
}

fn next_download(core: &Core<'_>) -> Choice {
    let is_download = |(_, purpose): &&(Seq, Purpose)| matches!(purpose, Purpose::Download(..));
    if core.state.under_way.iter().filter(is_download).count() >= AT_ONCE
        || is_disk_at_rest(core.state, core.now)
    {
        return None;
    }
    let key = linked(core.state, core.now).find(|key| is_ready(core.state, *key, core.now))?;
    let item = core.state.items.get(key).filter(|_| to_place(core.state) < AT_ONCE)?;
    let Transfer { link, odd_size, .. } = core.state.runtimes.get(&item.key)?.bytes.clone();
    let (bytes, (_, link, _)) = (bytes_of(item)?.clone(), link?);
    let (part, size) = (part_of(item, &bytes)?, odd_size.unwrap_or(bytes.size));
    Some((Effect::Storage(StorageEffect::Download { link, part, size }), Purpose::Download(item.key, bytes)))
}

/// The items whose bytes are to be downloaded, or that are to be looked for.
fn downloads(state: &State) -> impl Iterator<Item = ItemKey> {
    state.wanted.of(Want::Download)
}

fn is_linked(state: &State, key: ItemKey, now: Timestamp) -> bool {
    let link = state.runtimes.get(&key).and_then(|runtime| runtime.bytes.link.as_ref());
    let content = state.items.get(key).and_then(Item::content);
    link.is_some_and(|(of, _, until)| content == Some(*of) && *until > now)
}

/// The downloads that may begin.
fn linked(state: &State, now: Timestamp) -> impl Iterator<Item = ItemKey> {
    let linked = state.stored.linked.iter().copied();
    linked.filter(move |key| state.wanted.get(*key) == Some(Want::Download) && is_linked(state, *key, now))
}

/// The number of downloads that are about to be put in their places. A kill forgets that they arrived: they stay few.
fn to_place(state: &State) -> usize {
    state.stored.arrived.iter().filter(|key| state.items.dirty.contains(key)).count()
}

fn is_disk_at_rest(state: &State, now: Timestamp) -> bool {
    state.stored.disk.as_ref().is_some_and(|(_, until)| *until > now)
}

/// The items that are to be fetched by their ids, each with the time from which on that is possible. While as many downloads are
/// under way as may be, there are none.
pub fn links_wanted(state: &State, now: Timestamp) -> impl Iterator<Item = (ItemKey, Timestamp)> {
    let of_file = |key: &ItemKey| state.items.get(*key).is_some_and(|item| item.kind == Kind::File);
    let is_taken = |(_, purpose): &&(Seq, Purpose)| match purpose {
        Purpose::Download(..) => true,
        Purpose::Fetch(key) => of_file(key),
        _ => false,
    };
    let taken = state.under_way.iter().filter(is_taken).count() + to_place(state);
    // Thousands may wait, and this is asked after each event.
    let linked = || linked(state, now).filter(|key| !state.is_busy(*key)).take(AT_ONCE).count();
    let is_free = taken < AT_ONCE && !is_disk_at_rest(state, now) && taken + linked() < AT_ONCE;
    let wanted = is_free.then(|| downloads(state)).into_iter().flatten();
    let wanted = wanted.filter(move |key| !is_linked(state, *key, now) && !state.is_busy(*key));
    wanted.filter_map(move |key| {
        let item = state.items.get(key)?;
        let ready = state.runtimes.get(&key).map_or(Timestamp::default(), |runtime| runtime.failures.1);
        storage::may_be_sought(state, item).then_some((key, ready))
    })
}

/// Takes in the end of a download of these bytes.
pub fn apply_download(
    core: &mut Core<'_>,
    key: ItemKey,
    bytes: &Bytes,
    result: Result<Downloaded, DownloadError>,
) {
    use DownloadError::{BadLink, Broken, Disk, Refused, WrongSize};
    let Some(item) = core.state.items.get(key).cloned() else { return };
    core.state.items.dirty.insert(key);
    if bytes_of(&item) != Some(bytes) {
        return;
    }
    let now = core.now;
    let runtime = core.state.runtime(key);
    let error = match result {
        Ok(Downloaded { hash }) => {
            let arrived = Some((bytes.digest(), hash));
            let odd_size = runtime.bytes.odd_size.filter(|got| *got != bytes.size);
            runtime.bytes = Transfer { arrived, uploads: runtime.bytes.uploads, ..Default::default() };
            (runtime.failures, runtime.unreadable) = Default::default();
            core.state.wanted.remove(key);
            core.state.stored.linked.remove(&key);
            core.state.stored.arrived.insert(key);
            if let (Some(got), Some(path)) = (odd_size, naming::home(core.state, &item)) {
                let what = format!("it has {got} bytes, and the service's list says {}", bytes.size);
                core.notice(
                    Code::OddSize,
                    &path,
                    what,
                    "nothing, unless the file is incomplete in the app too",
                );
            }
            return uploads::settle_candidate(core, &item, hash);
        }
        Err(error) => error,
    };
    // The link is used again only if it was not at fault.
    runtime.bytes.link.take_if(|_| !matches!(error, Broken { .. } | Disk(_)));
    let mut is_told = false;
    // After so many further failures it would wait as long.
    let more = match &error {
        Refused(_) => {
            runtime.bytes.refused_links += 1;
            if runtime.bytes.refused_links > TOLD_AFTER { Some(3) } else { None }
        }
        WrongSize { got, .. } => {
            // The list may be wrong: what the next transfer brings is kept if its own length is this one.
            (runtime.bytes.got, runtime.bytes.odd_size) = (0, Some(*got).filter(|got| *got != bytes.size));
            Some(2)
        }
        BadLink(_) => {
            is_told = runtime.failures.0 + 1 >= BAD_LINKS;
            Some(3)
        }
        Broken { got, .. } => {
            // What arrived is kept: while more of it arrives, the download goes on soon.
            if *got > runtime.bytes.got {
                runtime.failures.0 = 0;
            }
            runtime.bytes.got = *got;
            Some(0)
        }
        Disk(_) => Some(0),
    };
    if planted("download-retried-at-once") && matches!(error, Broken { .. }) {
        return;
    }
    if let Some(more) = more {
        runtime.failures.0 += 1;
        runtime.failures.1 = now.plus_ms(FAILED.wait_ms(runtime.failures.0 + more));
        if is_told || runtime.failures.0 >= TOLD_AFTER {
            runtime.unreadable = Some(format!("it cannot be downloaded: {error}"));
        }
    }
    if let Disk(error @ DiskError::Full(..)) = &error {
        note_disk(core, error);
    }
    if matches!(error, WrongSize { .. }) {
        entries::list_by(core, &ListOf::of(&item), now);
    }
}

/// Downloads wait while the disk is full, and while the folder of stored files cannot be made.
pub fn note_disk(core: &mut Core<'_>, error: &DiskError) {
    core.state.stored.disk = Some((error.clone(), core.now.plus_ms(30_000)));
}

/// Puts downloaded bytes in their place: where nothing is, or instead of the item's file.
pub fn place(core: &mut Core<'_>, item: &Item, to: MirrorPath, instead_of: Option<Stamp>) -> Choice {
    let bytes = bytes_of(item)?.clone();
    let hash = arrived(core.state, item)?;
    let part = part_of(item, &bytes)?;
    let brings = if instead_of.is_some() { Brings::Changes } else { Brings::New };
    let act = begin::record_write(core, item.key, (to.clone(), hash), vec![(item.key, bytes.digest())], true);
    let effect = StorageEffect::Place { part, hash, to: to.clone(), instead_of };
    Some((Effect::Storage(effect), Purpose::Write { act, path: to, brings }))
}

/// The temporary files that are still needed.
#[must_use]
pub fn parts(state: &State) -> Vec<PartFile> {
    // Here the file may be another one, though the service's is the one that was agreed on.
    let is_wanted = |key| state.wanted.get(key) == Some(Want::Download) || state.is_busy(key);
    let is_needed = |item: &&Item| {
        item.agreed() != item.content() || arrived(state, item).is_some() || is_wanted(item.key)
    };
    let needed = state.items.all().filter(|item| item.kind == Kind::File).filter(is_needed);
    needed.filter_map(|item| part_of(item, bytes_of(item)?)).collect()
}
