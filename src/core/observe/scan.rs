//! Scans of the folder and reads of its files. Hints only ask for a scan; a scan is the evidence, and it counts once all
//! files that it found new or changed are read ([`crate::core::observe::identity`]).

use std::collections::{BTreeMap, BTreeSet};

use crate::core::content::naming;
use crate::core::items::Item;
use crate::core::keys::Seq;
use crate::core::observe::{identity, moved};
use crate::core::state::{Core, Unidentified};
use crate::model::{
    ContentHash, DiskError, Entry, EntryKind, FileRead, Hides, MirrorPath, Problem, RootState, Scan, Stamp,
    Timestamp, Unreadable,
};
use crate::store::StoreError;

/// The wait after a file changed while it was hashed.
const HASHED_AGAIN_MS: i64 = 1_000;
/// The wait after a root that could not be used.
const ROOT_RETRY_MS: i64 = 10_000;

/// Takes in a scan that was requested at `sent_at`, whose unreadable places are in the barrier already.
///
/// # Errors
/// [`StoreError`] when what is known of the files cannot be read.
pub fn apply(core: &mut Core<'_>, scan: &Scan, sent: Seq, sent_at: Timestamp) -> Result<(), StoreError> {
    if scan.root != RootState::Ready {
        core.state.scan_by(core.now.plus_ms(ROOT_RETRY_MS));
        return Ok(());
    }
    let snapshot = &mut core.state.snapshot;
    snapshot.scan = sent;
    snapshot.scanned = sent_at;
    snapshot.scan_at = snapshot.scan_at.filter(|at| *at > sent_at);
    let is_near = |entry: &&Entry| {
        core.state.areas.values().any(|area| area.is_live && naming::is_in(&entry.path, area))
            || core.state.items.at(&entry.path).is_some()
    };
    let near = scan.entries.iter().filter(is_near);
    let near = near.map(|entry| (entry.path.clone(), (entry.kind == EntryKind::Folder, entry.stamp)));
    core.state.snapshot.entries = near.collect();
    core.state.snapshot.device = scan.root_identity.0;
    moved::identify_folders(core);
    note_files(core, scan);
    core.state.snapshot.is_open = true;
    identity::apply_if_read(core)
}

/// Notes the files that are not as they were known, and which of them are to be read.
fn note_files(core: &mut Core<'_>, scan: &Scan) {
    follow_devices(core, scan);
    let is_file = |entry: &&Entry| {
        let may_be = || naming::may_be_items(&entry.path) || core.state.items.at(&entry.path).is_some();
        entry.kind == EntryKind::File && may_be()
    };
    let files = scan.entries.iter().filter(is_file);
    let is_as_known = |entry: &Entry| {
        let known =
            core.state.items.at(&entry.path).and_then(Item::file).filter(|fact| fact.path == entry.path);
        known.is_some_and(|fact| {
            let is_verified = !fact.racy || entry.stamp.is_racy(scan.clock);
            fact.stamp == entry.stamp && fact.hash.is_some() && is_verified
        })
    };
    let (as_known, others): (Vec<&Entry>, Vec<&Entry>) = files.partition(|entry| is_as_known(entry));
    let as_known: BTreeSet<&MirrorPath> = as_known.iter().map(|entry| &entry.path).collect();
    let is_missing = |item: &Item| match item.file() {
        _ if item.kind.is_stored() => false,
        Some(fact) => !as_known.contains(&fact.path),
        None => item.last_file().is_some() || core.state.first_match,
    };
    // A file elsewhere is of interest only if it may be an item's.
    let is_any_missing = core.state.items.all().any(is_missing);
    let mut before = std::mem::take(&mut core.state.snapshot.files);
    let settle_ms = core.settings.pages.settle_ms;
    let (mut found, mut unread, mut unhashed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for entry in others {
        let is_stored = naming::is_stored(&entry.path);
        let is_at_a_spot = naming::spot(core.state, &entry.path).is_some();
        if !is_at_a_spot && (is_stored || !is_any_missing) && core.state.items.at(&entry.path).is_none() {
            continue;
        }
        let known = before.remove(&entry.path);
        let known = known.filter(|file| file.stamp == entry.stamp && file.hash.is_some());
        let known = known.filter(|file| !file.racy || entry.stamp.is_racy(scan.clock));
        if known.is_none() {
            let has_rested = entry.stamp.rested_ms(scan.clock) >= settle_ms;
            let due = if has_rested { core.now } else { core.now.plus_ms(settle_ms) };
            // Which stored file it is does not wait for its bytes.
            let queue = if is_stored { &mut unhashed } else { &mut unread };
            queue.insert(entry.path.clone(), due);
        }
        let new = Unidentified { stamp: entry.stamp, hash: None, text: None, racy: true, problem: None };
        found.insert(entry.path.clone(), known.unwrap_or(new));
    }
    core.state.snapshot.files = found;
    core.state.snapshot.unread = unread;
    if let Some(left) = &mut core.state.stored.deep {
        left.retain(|path| core.state.snapshot.entries.contains_key(path));
        for path in left.iter() {
            unhashed.entry(path.clone()).or_insert(core.now);
        }
    }
    core.state.snapshot.unhashed = unhashed;
}

/// The number of a device may change with a restart of the machine: a file that is as it was but for that is the same one.
fn follow_devices(core: &mut Core<'_>, scan: &Scan) {
    let looks = |stamp: &Stamp| Stamp { device: 0, ..*stamp };
    let mut moved = Vec::new();
    for entry in scan.entries.iter().filter(|entry| entry.kind == EntryKind::File) {
        let item = core.state.items.at(&entry.path).filter(|item| item.kind.is_stored());
        if let Some((key, was)) = item.and_then(|item| Some((item.key, item.file()?.stamp)))
            && was.device != entry.stamp.device
            && looks(&was) == looks(&entry.stamp)
        {
            moved.push((key, was.device, entry.stamp));
        }
    }
    for (key, was, stamp) in moved {
        core.state.snapshot.renumbered.insert(was);
        core.state.items.edit_file(key, |fact| fact.stamp = stamp);
    }
}

/// Takes in the hash of a stored file, with the stamp that it had before and after.
///
/// # Errors
/// [`StoreError`] when what is known of the files cannot be read.
pub fn apply_hash(
    core: &mut Core<'_>,
    path: &MirrorPath,
    result: Result<(Stamp, ContentHash), DiskError>,
) -> Result<(), StoreError> {
    let later = core.now.plus_ms(core.settings.pages.settle_ms.max(HASHED_AGAIN_MS));
    core.state.snapshot.unhashed.remove(path);
    let there = core.state.snapshot.entries.get(path).map(|(_, stamp)| *stamp);
    let (stamp, hash, problem) = match result {
        Ok((stamp, hash)) if there.is_some_and(|there| there == stamp) => (stamp, Some(hash), None),
        Ok(_) | Err(DiskError::Missing(_)) => {
            core.state.scan_by(core.now);
            return Ok(());
        }
        Err(DiskError::Changed(_)) => {
            core.state.snapshot.unhashed.insert(path.clone(), later);
            return Ok(());
        }
        Err(DiskError::RootNotReady(_)) => {
            core.state.scan_by(core.now.plus_ms(ROOT_RETRY_MS));
            return Ok(());
        }
        Err(error) => (there.unwrap_or_default(), None, Some(Problem::Unread(error.to_string()))),
    };
    if let Some(left) = &mut core.state.stored.deep {
        left.remove(path);
    }
    let racy = stamp.is_coarse() && stamp.is_racy(core.now);
    if racy {
        core.state.scan_by(core.now.plus_ms(Stamp::RACY_MS));
    }
    let file = Unidentified { stamp, hash, text: None, racy, problem };
    identity::apply_hash(core, path, file)
}

/// Takes in a read of a file.
///
/// # Errors
/// [`StoreError`] when what is known of the files cannot be read.
pub fn apply_read(
    core: &mut Core<'_>,
    path: &MirrorPath,
    result: Result<FileRead, DiskError>,
) -> Result<(), StoreError> {
    let settle_ms = core.settings.pages.settle_ms;
    core.state.snapshot.unread.remove(path);
    match result {
        Ok(read) => apply_bytes(core, path, &read),
        Err(DiskError::Missing(_)) => {
            core.state.snapshot.files.remove(path);
            core.state.scan_by(core.now);
        }
        Err(DiskError::Changed(_)) => {
            core.state.snapshot.unread.insert(path.clone(), core.now.plus_ms(settle_ms));
        }
        Err(DiskError::RootNotReady(_)) => core.state.scan_by(core.now.plus_ms(ROOT_RETRY_MS)),
        Err(error) => {
            if let Some(file) = core.state.snapshot.files.get_mut(path) {
                file.problem = Some(Problem::Unread(error.to_string()));
                let (path, why, object) = (path.clone(), error.to_string(), Some(file.stamp.object()));
                core.barrier.add(Unreadable { path, why, hides: Hides::Its, object });
            } else if let Some(key) = core.state.items.at(path).map(|item| item.key) {
                core.state.items.edit_file(key, |fact| {
                    (fact.hash, fact.problem) = (None, Some(Problem::Unread(error.to_string())));
                });
            }
        }
    }
    identity::apply_if_read(core)
}

fn apply_bytes(core: &mut Core<'_>, path: &MirrorPath, read: &FileRead) {
    let hash = ContentHash::of(&read.bytes);
    let text = String::from_utf8(read.bytes.clone()).ok();
    let racy = read.stamp.is_racy(read.clock);
    // What a stored file is does not depend on what it says.
    let file = core.state.snapshot.files.get_mut(path).filter(|_| !naming::is_stored(path));
    if let Some(file) = file {
        let problem = text.is_none().then_some(Problem::NotText);
        *file = Unidentified { stamp: read.stamp, hash: Some(hash), text, racy, problem };
        core.barrier.lift(|lifted| lifted == path, core.now);
        return;
    }
    // A text that was read before, and is needed again.
    let Some(item) = core.state.items.at(path) else { return };
    if item.kind.is_stored() {
        // It is to be uploaded.
        let key = item.key;
        core.state.stored.outgoing = Some((key, hash, read.bytes.clone()));
        if item.file().is_none_or(|fact| fact.hash != Some(hash)) {
            core.state.scan_by(core.now);
        }
        core.state.items.dirty.insert(key);
        return;
    }
    let (key, is_known) = (item.key, item.file().is_some_and(|fact| fact.hash == Some(hash)));
    core.state.items.dirty.insert(key);
    match text.filter(|_| is_known) {
        Some(text) => core.state.runtime(key).text = Some((hash, text)),
        None => {
            core.state.items.edit_file(key, |fact| fact.hash = None);
            core.state.scan_by(core.now);
        }
    }
}
