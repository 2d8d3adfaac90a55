//! What a kill left in `.espejo/tmp`: finished, taken back, or kept in the trash. Nothing in there that could be a
//! person's text is ever deleted.
//!
//! [`recover`] runs before the first effect on a root, [`sweep`] with each scan.

use std::collections::BTreeSet;

use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;

use super::act::{Act, Spot, at};
use super::aside::{self, Aside, Note};
use super::read::Thing;
use super::root::own_path;
use super::{beneath, errors, read, sys, trash, write};
use crate::model::{ContentHash, DiskError, MirrorPath};

/// How long a replaced file stays for programs that still have it open, in nanoseconds.
const LINGER_NS: i64 = 10 * 60 * 1_000_000_000;

/// Deals with everything that a killed run left behind, and sets the numbering past it.
pub(super) fn recover(act: &mut Act<'_>) -> Result<(), DiskError> {
    let Some((tmp, names)) = list(act)? else { return Ok(()) };
    let mut numbers = BTreeSet::new();
    for name in &names {
        match name.split_once('.').and_then(|(number, role)| Some((number.parse::<u64>().ok()?, role))) {
            Some((number, _)) => {
                numbers.insert(number);
            }
            None if name.ends_with(".part") => remove(&tmp, name)?,
            // Not a name of ours: it is left alone.
            None => {}
        }
    }
    act.bench.next = act.bench.next.max(numbers.last().copied().unwrap_or(0));
    for number in numbers {
        let aside = Aside::new(act.root, number, None)?;
        if let Err(error) = finish(act, &aside, &names) {
            // It stays where it is, whole, and is tried again at the next start; other files are not to wait for it.
            tracing::warn!("what an interrupted run left in .espejo/{}: {error}", aside::FOLDER);
        }
    }
    Ok(())
}

/// The folder and its names; nothing is made, so that a mirror on a read-only disk can be looked at.
fn list(act: &Act<'_>) -> Result<Option<(OwnedFd, BTreeSet<String>)>, DiskError> {
    let fail = |error| errors::failed(&own_path(aside::FOLDER), error);
    let tmp = match sys::open_folder(&act.root.own, aside::FOLDER) {
        Err(Errno::NOENT) => return Ok(None),
        other => other.map_err(fail)?,
    };
    let mut names = BTreeSet::new();
    sys::names(tmp.as_fd(), |name| names.extend(name.to_str().map(str::to_owned))).map_err(fail)?;
    Ok(Some((tmp, names)))
}

fn remove(tmp: &OwnedFd, name: &str) -> Result<(), DiskError> {
    sys::remove_if_there(tmp, name).map_err(|error| errors::failed(&own_path(aside::FOLDER), error))
}

/// Finishes one act.
fn finish(act: &mut Act<'_>, aside: &Aside, names: &BTreeSet<String>) -> Result<(), DiskError> {
    if names.contains(&aside.done()) {
        return Ok(());
    }
    aside.drop_part()?;
    let note = aside.read_note();
    if names.contains(&aside.held()) {
        return held(act, aside, note);
    }
    // Nothing here: the act's files may stand beside its target.
    if let Some(note) = note
        && let Ok(folder) = beneath::open_for(act.root.dir.as_fd(), note.path())
    {
        let beside = Aside::new(act.root, aside.number(), Some(folder))?;
        beside.drop_part()?;
        if read::thing(beside.dir(), &beside.held(), note.path())?.is_some() {
            return held(act, &beside, Some(note));
        }
    }
    aside.forget()
}

/// Settles a `held`.
fn held(act: &mut Act<'_>, aside: &Aside, note: Option<Note>) -> Result<(), DiskError> {
    let Some(note) = note else {
        let path = own_name("recovered");
        tracing::warn!("a text from an interrupted run is kept in .espejo/{}", trash::FOLDER);
        return trash::keep(act, aside.dir(), &aside.held(), &path);
    };
    let path = note.path().clone();
    let dir = match beneath::open_for(act.root.dir.as_fd(), &path) {
        Ok(dir) => dir,
        // Its folder is gone too, or something else stands there now.
        Err(DiskError::Missing(_) | DiskError::NotOrdinary(_)) => return to_trash(act, aside, &path),
        Err(error) => return Err(error),
    };
    let spot = Spot { dir: &dir, name: path.name(), path: &path };
    let look = || read::thing(aside.dir(), &aside.held(), &path);
    let Some(found) = look()? else { return aside.forget() };
    match note {
        Note::Swap { expect, new, .. } => {
            let known = |thing: &Thing| thing.content == Some(expect) || thing.content == Some(new);
            // Swapped and not yet retired, or not yet swapped, or swapped back.
            if known(&found) {
                return aside.retire();
            }
            // Swapped, and what came out was not looked at any more: a person's text, whose place ours has taken.
            let there = read::thing(&dir, spot.name, &path)?;
            if there.is_none() {
                return write::give_back(act, aside, spot);
            }
            if there.is_some_and(|there| there.content == Some(new)) {
                write::keep_copy(act, aside, spot);
            }
            if there.is_some_and(|there| there.content == Some(new))
                && let Some(Ok(())) = sys::exchange(at(&aside.dir(), &aside.held()), spot.at(), act.can)
            {
                spot.sync()?;
                if look()?.is_some_and(|out| known(&out)) {
                    return aside.retire();
                }
            }
            to_trash(act, aside, &path)
        }
        Note::Take { expect, .. } => {
            if found.content == Some(expect) && read::thing(&dir, spot.name, &path)?.is_some() {
                return aside.retire();
            }
            write::give_back(act, aside, spot)
        }
        // Back to its place, or, where something newer stands, to where it was going.
        Note::Trash { .. } => write::give_back(act, aside, spot),
        Note::Move { to, .. } => {
            if let Ok(there) = beneath::open_for(act.root.dir.as_fd(), &to) {
                if sys::look_at(&there, to.name()).is_ok_and(|look| look.identity() == found.identity) {
                    aside.drop_held()?;
                    return aside.forget();
                }
                if sys::rename_new(at(&aside.dir(), &aside.held()), at(&there, to.name()), act.can).is_ok() {
                    sys::sync_folder(&there).map_err(|error| errors::failed(&to, error))?;
                    return aside.forget();
                }
            }
            write::give_back(act, aside, spot)
        }
        Note::Part { .. } => to_trash(act, aside, &path),
    }
}

fn to_trash(act: &Act<'_>, aside: &Aside, path: &MirrorPath) -> Result<(), DiskError> {
    tracing::warn!("a text of {path} from an interrupted run is kept in .espejo/{}", trash::FOLDER);
    trash::keep(act, aside.dir(), &aside.held(), path)?;
    aside.forget()
}

fn own_name(name: &str) -> MirrorPath {
    MirrorPath::new(name).unwrap_or_else(|_| MirrorPath::root())
}

/// Removes replaced files without a write for a while. One with a write after it was replaced holds a
/// text that is nowhere else: it goes to the trash.
pub(super) fn sweep(act: &mut Act<'_>) -> Result<(), DiskError> {
    let Some((tmp, names)) = list(act)? else { return Ok(()) };
    let now_ns = act.now().0.saturating_mul(1_000_000);
    for name in names.iter().filter(|name| name.ends_with(".done")) {
        let Some(number) = name.strip_suffix(".done").and_then(|number| number.parse::<u64>().ok()) else {
            continue;
        };
        let look = sys::look_at(&tmp, name.as_str())
            .map_err(|error| errors::failed(&own_path(aside::FOLDER), error))?;
        if now_ns.saturating_sub(look.stamp.changed_ns) < LINGER_NS {
            continue;
        }
        let aside = Aside::new(act.root, number, None)?;
        let note = aside.read_note();
        let path = note.as_ref().map_or_else(|| own_name("recovered"), |note| note.path().clone());
        let known: Vec<ContentHash> = match note {
            Some(Note::Swap { expect, new, .. }) => vec![expect, new],
            Some(Note::Take { expect, .. }) => vec![expect],
            _ => Vec::new(),
        };
        match read::thing(&tmp, name, &path)? {
            Some(found) if found.content.is_some_and(|content| known.contains(&content)) => {
                remove(&tmp, name)?;
            }
            Some(_) => {
                tracing::warn!(
                    "a program wrote to {path} after espejo had replaced the file; that text is kept in .espejo/{}",
                    trash::FOLDER
                );
                trash::keep(act, tmp.as_fd(), name, &path)?;
            }
            None => {}
        }
        aside.forget()?;
    }
    Ok(())
}
