//! Scans of the folder and reads of its files. Hints only ask for a scan; a scan is the evidence, and it counts once all
//! files that it found new or changed are read ([`super::identity`]).

use std::collections::BTreeMap;

use super::identity;
use crate::core::Seq;
use crate::core::content::naming;
use crate::core::items::Item;
use crate::core::state::{Core, Unidentified};
use crate::model::{
    ContentHash, DiskError, Entry, EntryKind, FileRead, Hides, MirrorPath, Problem, RootState, Scan,
    Timestamp, Unreadable,
};
use crate::store::StoreError;

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
    note_files(core, scan);
    core.state.snapshot.is_open = true;
    identity::apply_if_read(core)
}

/// Notes the files that are not as they were known, and which of them are to be read.
fn note_files(core: &mut Core<'_>, scan: &Scan) {
    let files = scan
        .entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::File && naming::may_be_items(&entry.path));
    let is_as_known = |entry: &Entry| {
        let known =
            core.state.items.at(&entry.path).and_then(Item::file).filter(|fact| fact.path == entry.path);
        known.is_some_and(|fact| {
            let is_verified = !fact.racy || entry.stamp.is_racy(scan.clock);
            fact.stamp == entry.stamp && fact.hash.is_some() && is_verified
        })
    };
    let (as_known, others): (Vec<&Entry>, Vec<&Entry>) = files.partition(|entry| is_as_known(entry));
    let is_missing = |item: &Item| match item.file() {
        Some(fact) => !as_known.iter().any(|entry| entry.path == fact.path),
        None => item.last_file().is_some() || core.state.first_match,
    };
    // A file elsewhere is of interest only if it may be an item's.
    let is_any_missing = core.state.items.all().any(is_missing);
    let mut before = std::mem::take(&mut core.state.snapshot.files);
    let settle_ms = core.settings.pages.settle_ms;
    let (mut found, mut unread) = (BTreeMap::new(), BTreeMap::new());
    for entry in others {
        let is_at_a_spot = naming::spot(core.state, &entry.path).is_some();
        if !is_at_a_spot && !is_any_missing && core.state.items.at(&entry.path).is_none() {
            continue;
        }
        let known = before.remove(&entry.path);
        let known = known.filter(|file| file.stamp == entry.stamp && file.hash.is_some());
        let known = known.filter(|file| !file.racy || entry.stamp.is_racy(scan.clock));
        if known.is_none() {
            let has_rested = entry.stamp.rested_ms(scan.clock) >= settle_ms;
            let due = if has_rested { core.now } else { core.now.plus_ms(settle_ms) };
            unread.insert(entry.path.clone(), due);
        }
        let new = Unidentified { stamp: entry.stamp, hash: None, text: None, racy: true, problem: None };
        found.insert(entry.path.clone(), known.unwrap_or(new));
    }
    core.state.snapshot.files = found;
    core.state.snapshot.unread = unread;
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
    if let Some(file) = core.state.snapshot.files.get_mut(path) {
        let problem = text.is_none().then_some(Problem::NotText);
        *file = Unidentified { stamp: read.stamp, hash: Some(hash), text, racy, problem };
        core.barrier.lift(|lifted| lifted == path, core.now);
        return;
    }
    // A text that was read before, and is needed again.
    let Some(item) = core.state.items.at(path) else { return };
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
