//! Answers to acts on disk.

use crate::core::act::transfer;
use crate::core::content::{bytes, history, naming, picture, stale};
use crate::core::items::{Act, ActState, Deed, Fact, Local, Part, Wait};
use crate::core::keys::{ItemKey, Seq};
use crate::core::observe::moved::{self, note_conflict, renamed, succeeded};
use crate::core::observe::scan;
use crate::core::plan::policy::Kind;
use crate::core::state::{Brings, Core, Purpose, Way};
use crate::model::{
    ContentHash, DiskError, DiskReply, MirrorPath, Schedule, Stamp, StoredReply, Unconfirmed,
};
use crate::store::StoreError;

/// Waits after an act that met another state than it expected.
const CHANGED: Schedule = Schedule::new(100, 12_800);
/// Waits after a failure of the disk.
const DISK: Schedule = Schedule::new(4_000, 30_000);

/// How the log calls a canvas that the app changed.
pub const FROM_APP: &str = "changed in the app";
/// How the log calls a stored file that was replaced, and one that was removed.
const NEW_VERSION: &str = "new version";
const TAKEN_AWAY: &str = "left the service: moved to the mirror's trash";

/// Whether these words of an activity say that a stored file went to the mirror's trash.
#[must_use]
pub fn takes_away(what: &str) -> bool {
    [NEW_VERSION, TAKEN_AWAY].contains(&what)
}

/// Takes in the answer to an act on disk.
///
/// # Errors
/// [`StoreError`] when what is known of a file cannot be read.
pub fn apply(
    core: &mut Core<'_>,
    purpose: Purpose,
    result: Result<DiskReply, DiskError>,
) -> Result<(), StoreError> {
    match (purpose, result) {
        (Purpose::Read(path), Ok(DiskReply::File(read))) => scan::apply_read(core, &path, Ok(read))?,
        (Purpose::Read(path), Err(error)) => {
            if let Some(key) = core.state.items.at(&path).map(|item| item.key) {
                failed(core, key, &error);
            }
            scan::apply_read(core, &path, Err(error))?;
        }
        (Purpose::Hash(path), Ok(DiskReply::Storage(StoredReply::Hashed(stamp, hash)))) => {
            scan::apply_hash(core, &path, Ok((stamp, hash)))?;
        }
        (Purpose::Hash(path), Err(error)) => scan::apply_hash(core, &path, Err(error))?,
        (Purpose::MakeFolder(item, path), Ok(_)) => made_folder(core, item, &path),
        (Purpose::MakeFolder(Some(item), _), Err(error)) => failed(core, item, &error),
        (Purpose::MakeFolder(None, _), Err(error)) => transfer::note_disk(core, &error),
        (Purpose::Sweep, _) => {}
        (Purpose::Write { act, path, brings }, result) => written(core, act, &path, brings, result)?,
        (Purpose::Copy { item, copy, text, summary }, Ok(DiskReply::Written(stamp))) => {
            core.state.snapshot.entries.insert(copy.clone(), (false, stamp));
            let path = core.state.items.get(item).and_then(|item| item.file()).map(|fact| fact.path.clone());
            note_conflict(core, copy, path.unwrap_or_else(MirrorPath::root), text, summary);
            core.state.items.dirty.insert(item);
        }
        (Purpose::Rename { item, from, to, why }, result) => {
            let is_row = |act: &Act| act.item == item && act.part == Part::File;
            core.state.journal.retain(|act| !is_row(act) || act.state != ActState::Sent);
            match result {
                Ok(_) => renamed(core, item, &from, &to, why),
                Err(error) => failed(core, item, &error),
            }
        }
        (Purpose::TrashFile { item, path }, Ok(_)) => {
            core.state.snapshot.entries.remove(&path);
            let is_damaged = std::mem::take(&mut core.state.runtime(item).bytes.is_damaged);
            let is_file = core.state.items.get(item).is_some_and(|item| item.kind == Kind::File);
            if is_file && !is_damaged {
                note_removal(core, item);
            }
            core.state.items.release(item);
            core.state.items.dirty.insert(item);
            if is_file && !is_damaged {
                core.tell(Way::Down, &path, TAKEN_AWAY);
            } else if core.state.items.get(item).is_some_and(|item| !item.kind.is_stored()) {
                core.tell(Way::Down, &path, "removed in the app; its file is in .espejo/trash");
            }
        }
        (Purpose::Picture { item, path, drawn }, result) => picture::apply(core, item, &path, drawn, result),
        (Purpose::Copy { item, .. } | Purpose::TrashFile { item, .. }, Err(error)) => {
            failed(core, item, &error);
        }
        _ => core.state.scan_by(core.now),
    }
    Ok(())
}

/// A stored file that left the service was removed: for a while it counts with those that are about to go.
fn note_removal(core: &mut Core<'_>, item: ItemKey) {
    let (sent, at) = (core.next_seq(), core.now);
    let state = ActState::Done { at, shown: true };
    let deed = Deed::Remove { before: serde_json::Value::Null };
    core.state.journal.put(Act { sent, item, part: Part::File, deed, state, failing: Default::default() });
}

/// The folder of an item is there, and what lies in it has a place.
fn made_folder(core: &mut Core<'_>, item: Option<ItemKey>, path: &MirrorPath) {
    core.state.snapshot.entries.insert(path.clone(), (true, Stamp::default()));
    let Some(key) = item else { return };
    succeeded(core, key);
    moved::adopt_folder(core, key, path);
}

fn failed(core: &mut Core<'_>, key: ItemKey, error: &DiskError) {
    if matches!(error, DiskError::Full(..)) {
        transfer::note_disk(core, error);
    }
    let met_another_state =
        matches!(error, DiskError::Changed(_) | DiskError::Exists(_) | DiskError::Missing(_));
    let now = core.now;
    if met_another_state {
        core.state.scan_by(now);
    }
    let runtime = core.state.runtime(key);
    runtime.disk_failures.0 += 1;
    let schedule = if met_another_state { CHANGED } else { DISK };
    runtime.disk_failures.1 = now.plus_ms(schedule.wait_ms(runtime.disk_failures.0));
    runtime.disk = (!met_another_state).then(|| error.to_string());
    let (until, disk) = (runtime.disk_failures.1, runtime.disk.clone().map(Wait::Disk));
    core.state.items.edit(key, |item| item.wait = Wait::first(item.wait.take(), disk));
    core.state.items.dirty.insert(key);
    core.state.wake(key, until);
}

fn written(
    core: &mut Core<'_>,
    sent: Seq,
    path: &MirrorPath,
    brings: Brings,
    result: Result<DiskReply, DiskError>,
) -> Result<(), StoreError> {
    let Some(act) = core.state.journal.get(sent).cloned() else { return Ok(()) };
    let (Deed::Write { text, is_whole, .. }, Some(item)) =
        (act.deed, core.state.items.get(act.item).cloned())
    else {
        return Ok(());
    };
    let rows = core.state.acts_of(item.key).filter(|act| act.part == Part::File);
    let rows: Vec<Act> = rows.cloned().collect();
    match result {
        Ok(DiskReply::Written(stamp) | DiskReply::Storage(StoredReply::Placed(stamp))) => {
            stale::note_write(core, act.item, text, &rows);
            let before = item.file().and_then(|fact| fact.hash);
            history::wrote(core, &item, path, (before, text), (brings, is_whole))?;
            for row in rows {
                core.state.journal.remove(row.sent);
                if let Deed::Write { content, .. } = row.deed {
                    core.state.items.agree(row.item, content, is_whole.then_some(text), path);
                }
            }
            let is_stored = item.kind.is_stored();
            let since = item.file().map_or(core.now, |fact| fact.since);
            core.state.items.edit(act.item, |item| {
                let fact = fact_of(path, since, stamp, Some(text));
                let racy = if item.kind.is_stored() { stamp.is_coarse() } else { fact.racy };
                item.local = Local::Here(Fact { racy, ..fact });
                item.approved &= !is_whole;
            });
            bytes::forget_arrived(core.state, act.item);
            if is_stored && stamp.is_coarse() {
                core.state.scan_by(core.now.plus_ms(Stamp::RACY_MS));
            }
            core.state.snapshot.entries.insert(path.clone(), (false, stamp));
            succeeded(core, act.item);
            core.state.runtime(act.item).text = None;
            let (way, what) = match brings {
                Brings::New if is_stored => (Way::Down, "downloaded".to_owned()),
                Brings::Changes if is_stored => (Way::Down, NEW_VERSION.to_owned()),
                Brings::New => (Way::Down, naming::new(item.kind)),
                Brings::Changes => (Way::Down, FROM_APP.to_owned()),
                Brings::Ids => (Way::Aside, "the new nodes got their ids".to_owned()),
                Brings::PutBack => (Way::Aside, "put back".to_owned()),
            };
            if is_stored && brings == Brings::New {
                core.tell_only(way, path, what);
            } else {
                core.tell_change(way, path, what, (before, Some(text)));
            }
        }
        Ok(_) => core.state.scan_by(core.now),
        Err(error) => {
            let doubt = Unconfirmed { since: core.now, looks: 0 };
            match &error {
                DiskError::Exists(taken) => {
                    core.state.snapshot.entries.insert(taken.clone(), (false, Stamp::default()));
                }
                // What was downloaded is gone, or the file whose place it takes.
                DiskError::Missing(_) => bytes::forget_arrived(core.state, act.item),
                _ => {}
            }
            for row in rows {
                // A later read of the file must not take a text for its basis that was not written.
                match error.changed_nothing() {
                    true => drop(core.state.journal.remove(row.sent)),
                    false => {
                        core.state.journal.edit(row.sent, |act| act.state = ActState::Unconfirmed(doubt))
                    }
                }
            }
            failed(core, act.item, &error);
        }
    }
    Ok(())
}

fn fact_of(
    path: &MirrorPath,
    since: crate::model::Timestamp,
    stamp: Stamp,
    hash: Option<ContentHash>,
) -> Fact {
    Fact { path: path.clone(), since, stamp, hash, says: None, problem: None, racy: true, is_blank: false }
}
