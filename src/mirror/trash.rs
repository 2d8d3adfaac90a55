//! `.espejo/trash/<date>/<path>`: where files go instead of being deleted, and how they leave it.
//!
//! Dates are UTC. A name that is taken gets ` (2)`, ` (3)`, …; nothing in the trash is ever replaced.

use std::fs::File;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

use super::act::{Act, at};
use super::root::{Place, Root, own_path};
use super::{aside, beneath, calls, errors, read, sys};
use crate::model::{DiskError, EntryKind, MirrorPath, Timestamp, planted};

/// The folder in `.espejo`.
pub const FOLDER: &str = "trash";

/// File systems take names of up to this many bytes.
const NAME_MAX: usize = 255;

/// More files of one name in one day than anybody makes.
const SAME_NAME_MAX: u32 = 100_000;

/// Moves what stands at `name` in `dir` to the trash, under `path`, durably. `name` is one that no other program saves to: a copy
/// may take long.
///
/// `Changed` when a program that had it open wrote to it while it was copied; then it stands where it did.
pub(super) fn keep(
    act: &Act<'_>,
    dir: BorrowedFd<'_>,
    name: &str,
    path: &MirrorPath,
) -> Result<(), DiskError> {
    let place = today(act, path)?;
    let entered = if act.can.one_disk { enter(act, (dir, name), &place, path) } else { Err(Errno::XDEV) };
    match entered {
        Err(Errno::XDEV) => {
            // From another file system: copied, and only then removed.
            copy(act, dir, name, &place, path, true)?;
            sys::remove_file(dir, name)
        }
        other => other,
    }
    .and_then(|()| sys::sync_folder(&place))
    .map_err(|error| errors::failed(path, error))
}

/// Puts a copy of the file at `name` in `dir` into the trash, under `path`. For a person's text that stood aside for a
/// moment and goes back to its place: a program that read the place in that moment may save over it what it read.
pub(super) fn keep_copy(
    act: &Act<'_>,
    dir: BorrowedFd<'_>,
    name: &str,
    path: &MirrorPath,
) -> Result<(), DiskError> {
    let place = today(act, path)?;
    copy(act, dir, name, &place, path, false)
}

/// Puts `bytes` into the trash of the mirror at `root`, under `path`, durably: for a caller beside its engine that is about
/// to have replaced what they read there. A kill in between leaves what was read in its place, and perhaps a part of it here.
///
/// # Errors
/// [`DiskError::RootNotReady`], or what stopped the write.
pub fn keep_bytes(
    root: &Path,
    mirror_id: &str,
    path: &MirrorPath,
    bytes: &[u8],
    now: Timestamp,
) -> Result<(), DiskError> {
    let mirror = Place::new(root);
    let root = mirror.open(mirror_id).map_err(|state| mirror.not_ready(&state))?;
    let fail = |error| errors::failed(path, error);
    let folder = place(&root.own_folder(FOLDER)?, &date(now), path)?;
    for count in 1..SAME_NAME_MAX {
        // Never by way of `.espejo/tmp`, which is the engine's.
        match sys::create_file(&folder, &numbered(path.name(), count), 0o600) {
            Err(Errno::EXIST) => {}
            made => {
                let file = made.map_err(fail)?;
                let kept = read::write_all(&file, bytes).and_then(|()| sys::sync_file(&file));
                return kept.and_then(|()| sys::sync_folder(&folder)).map_err(fail);
            }
        }
    }
    Err(fail(Errno::EXIST))
}

/// The files in the trash of the mirror at `root` that were at `path`.
#[must_use]
pub fn copies(root: &Path, path: &MirrorPath) -> Vec<std::path::PathBuf> {
    let days = std::fs::read_dir(root.join(own_path(FOLDER).as_str())).into_iter().flatten().flatten();
    let beneath = path.parent().map(|parent| parent.to_string()).unwrap_or_default();
    let mut found = Vec::new();
    for day in days {
        let folder = day.path().join(&beneath);
        let names = (1..SAME_NAME_MAX).map(|count| folder.join(numbered(path.name(), count)));
        found.extend(names.take_while(|copy| copy.symlink_metadata().is_ok_and(|meta| meta.is_file())));
    }
    found
}

fn today(act: &Act<'_>, path: &MirrorPath) -> Result<OwnedFd, DiskError> {
    place(&act.root.own_folder(FOLDER)?, &date(act.trashed_at()), path)
}

/// Renames something into the trash, under the first name that is free.
fn enter(
    act: &Act<'_>,
    from: (BorrowedFd<'_>, &str),
    place: &OwnedFd,
    path: &MirrorPath,
) -> Result<(), Errno> {
    for count in 1..SAME_NAME_MAX {
        let entered = if planted("trash-overwrites") {
            sys::rename(from, at(place, path.name()))
        } else {
            sys::rename_new(from, at(place, &numbered(path.name(), count)), act.can)
        };
        match entered {
            Err(Errno::EXIST) => {}
            other => return other,
        }
    }
    Err(Errno::EXIST)
}

/// Copies the file at `name` in `dir` to `place`; `still`: only if no program writes to it meanwhile.
fn copy(
    act: &Act<'_>,
    dir: BorrowedFd<'_>,
    name: &str,
    place: &OwnedFd,
    path: &MirrorPath,
    still: bool,
) -> Result<(), DiskError> {
    let fail = |error| errors::failed(path, error);
    let mut source = File::from(sys::open_file(dir, name).map_err(fail)?);
    let before = sys::look_of(&source).map_err(fail)?;
    if before.kind != EntryKind::File {
        return Err(DiskError::NotOrdinary(path.clone()));
    }
    let tmp = act.root.own_folder(aside::FOLDER)?;
    let part = "trash.part";
    let clear = || sys::remove_if_there(&tmp, part).map_err(fail);
    clear()?;
    let mut target = File::from(sys::create_file(&tmp, part, 0o600).map_err(fail)?);
    let copied = std::io::copy(&mut source, &mut target)
        .map_err(|error| match Errno::from_io_error(&error) {
            Some(errno) => fail(errno),
            None => DiskError::Io(path.clone(), error.to_string()),
        })
        .and_then(|_| {
            calls::wrote(&target);
            sys::sync_file(&target).map_err(fail)
        })
        .and_then(|()| act.steps.reach("copied"))
        .and_then(|()| match sys::look_at(dir, name) {
            _ if !still => Ok(()),
            Ok(after) if after.stamp == before.stamp => Ok(()),
            Ok(_) => Err(DiskError::Changed(path.clone())),
            Err(error) => Err(fail(error)),
        })
        .and_then(|()| enter(act, at(&tmp, part), place, path).map_err(fail));
    if copied.is_err() {
        clear()?;
    }
    copied
}

/// The folder for `path` in the trash of that day, made as needed. Where an earlier file stands in the way of a folder,
/// a second tree of the same day is begun.
fn place(trash: &OwnedFd, date: &str, path: &MirrorPath) -> Result<OwnedFd, DiskError> {
    let parent = path.parent().unwrap_or_else(MirrorPath::root);
    for count in 1..100 {
        let day = if count == 1 { date.to_owned() } else { format!("{date}.{count}") };
        let day = MirrorPath::new(&day).map_err(|_| DiskError::NotOrdinary(path.clone()))?;
        let place = parent.rebase(&MirrorPath::root(), &day).unwrap_or(day);
        match beneath::make(trash.as_fd(), &place, None) {
            Ok(made) => return Ok(made.dir),
            Err(DiskError::Exists(_) | DiskError::NotOrdinary(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Err(DiskError::Exists(path.clone()))
}

/// `Plan.md`, `Plan (2).md`, `Plan (3).md`, … within the length that file systems take.
fn numbered(name: &str, count: u32) -> String {
    if count == 1 {
        return name.to_owned();
    }
    let (stem, ending) = match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= 16 => name.split_at(dot),
        _ => (name, ""),
    };
    let suffix = format!(" ({count}){ending}");
    let room = NAME_MAX.saturating_sub(suffix.len());
    let mut cut = stem.len().min(room);
    while !stem.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}{suffix}", &stem[..cut])
}

fn date(now: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(now.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

/// What an emptying of the trash did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Emptied {
    /// How many days left it.
    pub days: usize,
    /// What could not be removed, and why.
    pub stuck: Vec<(String, String)>,
}

/// Removes the days of the trash that ended before `before`. What cannot be removed stays, and the rest goes all the same.
pub(super) fn purge(root: &Root, before: Timestamp) -> Result<Emptied, DiskError> {
    let trash = root.own_folder(FOLDER)?;
    let fail = |error| errors::failed(&own_path(FOLDER), error);
    let first_kept = date(before);
    let mut old = Vec::new();
    sys::names(trash.as_fd(), |name| {
        // What is not named by a date was not put there by us.
        if let Ok(name) = name.to_str()
            && let Some(day) = name.get(..10)
            && day.parse::<jiff::civil::Date>().is_ok_and(|parsed| parsed.to_string() == day)
            && day < first_kept.as_str()
        {
            old.push(name.to_owned());
        }
    })
    .map_err(fail)?;
    old.sort();
    let mut emptied = Emptied::default();
    for name in &old {
        let stuck = emptied.stuck.len();
        remove_tree(trash.as_fd(), name.as_bytes(), name, &mut emptied.stuck);
        emptied.days += usize::from(emptied.stuck.len() == stuck);
    }
    Ok(emptied)
}

/// Removes a name and everything beneath it, following no link. `shown` is its path in the trash.
fn remove_tree(dir: BorrowedFd<'_>, name: &[u8], shown: &str, stuck: &mut Vec<(String, String)>) {
    let mut tell = |error| stuck.push((shown.to_owned(), errors::words(error)));
    let refused = match sys::remove_if_there(dir, name) {
        Ok(()) => return,
        Err(error) => error,
    };
    // Linux says EISDIR of a folder, POSIX EPERM; some disks say that of a file, too, which is not to be removed.
    if !matches!(refused, Errno::ISDIR | Errno::PERM) {
        return tell(refused);
    }
    let folder = match sys::open_folder(dir, name) {
        Ok(folder) => folder,
        Err(Errno::NOTDIR | Errno::LOOP) => return tell(refused),
        Err(error) => return tell(error),
    };
    let mut inside = Vec::new();
    if let Err(error) = sys::names(folder.as_fd(), |name| inside.push(name.to_bytes().to_vec())) {
        return tell(error);
    }
    let before = stuck.len();
    for name in inside {
        let shown = format!("{shown}/{}", String::from_utf8_lossy(&name));
        remove_tree(folder.as_fd(), &name, &shown, stuck);
    }
    drop(folder);
    // With something in it, it stays for that reason.
    if stuck.len() == before
        && let Err(error) = sys::remove_folder(dir, name)
    {
        stuck.push((shown.to_owned(), errors::words(error)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_name_is_numbered_before_its_ending_and_fits() {
        for (name, count, expected) in [
            ("Plan.md", 1, "Plan.md"),
            ("Plan.md", 2, "Plan (2).md"),
            ("Plan", 3, "Plan (3)"),
            (".profile", 2, ".profile (2)"),
            ("v1. a long ending that is none", 2, "v1. a long ending that is none (2)"),
        ] {
            assert_eq!(numbered(name, count), expected);
        }
        let long = format!("{}.md", "ñ".repeat(126));
        assert_eq!(long.len(), 255);
        let second = numbered(&long, 2);
        assert!(second.len() <= NAME_MAX && second.ends_with("ñ (2).md"), "{second}");
    }

    #[test]
    fn dates_are_utc_and_compare_as_text() {
        assert_eq!(date(Timestamp(0)), "1970-01-01");
        assert_eq!(date(Timestamp(1_772_323_199_999)), "2026-02-28");
        assert_eq!(date(Timestamp(1_772_323_200_000)), "2026-03-01");
    }
}
