//! `Effect::Rename`, `Effect::TrashFile` and `Effect::RemoveFolder`.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

use super::act::{Act, Spot, Stopped, at};
use super::aside::Note;
use super::read::whole;
use super::{beneath, errors, sys, trash, write};
use crate::model::{ContentHash, DiskError, EntryKind, MirrorPath};

/// Renames a file or folder, never over anything.
pub(super) fn rename(act: &mut Act<'_>, from: &MirrorPath, to: &MirrorPath) -> Result<(), DiskError> {
    let (_, from_name) = Act::place(from)?;
    let (to_folder, to_name) = Act::place(to)?;
    let root = act.root.dir.as_fd();
    let from_dir = beneath::open_for(root, from)?;
    let look = sys::look_at(&from_dir, from_name).map_err(|error| errors::failed(from, error))?;
    if look.kind == EntryKind::Other {
        return Err(DiskError::NotOrdinary(from.clone()));
    }
    if from == to {
        return Ok(());
    }
    if to.is_within(from) {
        return Err(DiskError::Io(from.clone(), format!("it cannot be moved into itself ({to})")));
    }
    let made = act.make(&to_folder)?;
    let (there, here) = (at(&from_dir, from_name), at(&made.dir, to_name));
    let linked = || sys::link_new(there, here).filter(|_| look.kind == EntryKind::File);
    let renamed = match sys::rename_at_once(there, here, act.can) {
        Some(done) => done.map(|()| false),
        None => match linked() {
            Some(done) => done.map(|()| true),
            None => sys::rename_after_look(there, here).map(|()| false),
        },
    };
    match renamed {
        Ok(false) => {}
        Ok(true) => drop_name(act, Spot { dir: &from_dir, name: from_name, path: from }, to, here)?,
        Err(Errno::EXIST) if is_same_name(&look, &made.dir, to_name, from, to) => {
            by_way_of_aside(act, from, &from_dir, to, &made.dir)?;
        }
        Err(error) => {
            made.undo();
            return Err(match error {
                Errno::EXIST => DiskError::Exists(to.clone()),
                Errno::XDEV => DiskError::Io(
                    from.clone(),
                    format!("{to} is on another disk, so a rename is not possible"),
                ),
                Errno::NOENT => DiskError::Missing(from.clone()),
                Errno::NAMETOOLONG => errors::failed(to, error),
                error => errors::failed(from, error),
            });
        }
    }
    sys::sync_folder(&made.dir).map_err(|error| errors::failed(to, error))?;
    sys::sync_folder(&from_dir).map_err(|error| errors::failed(from, error))
}

/// Takes away the old name of a file that has its new one. A program that saves by renaming may have put another file there
/// meanwhile: it is taken aside, and looked at then.
fn drop_name(
    act: &mut Act<'_>,
    from: Spot<'_>,
    to: &MirrorPath,
    to_at: (BorrowedFd<'_>, &str),
) -> Result<(), DiskError> {
    act.steps.reach("linked")?;
    act.try_both(from, |act, aside| {
        aside.note(&Note::Move { from: from.path.clone(), to: to.clone() })?;
        let held = aside.held();
        match sys::rename(from.at(), (aside.dir(), held.as_str())) {
            Ok(()) => {}
            // It was removed or moved elsewhere.
            Err(Errno::NOENT) => return Ok(aside.forget()?),
            Err(error) => {
                aside.forget()?;
                return Err(Stopped::at(from, error));
            }
        }
        act.steps.reach("taken away")?;
        let identity =
            |(dir, name): (BorrowedFd<'_>, &str)| sys::look_at(dir, name).map(|look| look.identity());
        let settled = if identity((aside.dir(), &held)) == identity(to_at) {
            aside.drop_held().and_then(|()| aside.forget())
        } else {
            write::give_back(act, aside, from)
        };
        if settled.is_err() {
            act.left_over();
        }
        Ok(settled?)
    })
}

/// Whether the taken name is the thing itself, on a file system where names differ in more than they seem to
/// (case, Unicode form). Two hard links of one file on an ordinary file system are two names, not one.
fn is_same_name(look: &sys::Look, dir: &OwnedFd, name: &str, from: &MirrorPath, to: &MirrorPath) -> bool {
    let folds_together = || {
        use unicode_normalization::UnicodeNormalization;
        let folded = |path: &MirrorPath| path.as_str().nfc().flat_map(char::to_lowercase).collect::<String>();
        folded(from) == folded(to)
    };
    let single = look.kind == EntryKind::Folder || look.links == 1;
    single
        && folds_together()
        && sys::look_at(dir, name).is_ok_and(|there| there.identity() == look.identity())
}

/// `name` to `Name` in two steps, for file systems that take both for one name.
pub(super) fn by_way_of_aside(
    act: &mut Act<'_>,
    from: &MirrorPath,
    from_dir: &OwnedFd,
    to: &MirrorPath,
    to_dir: &OwnedFd,
) -> Result<(), DiskError> {
    let aside = act.aside(from_dir, false)?;
    aside.note(&Note::Move { from: from.clone(), to: to.clone() })?;
    let held = aside.held();
    if let Err(error) = sys::rename(at(from_dir, from.name()), (aside.dir(), held.as_str())) {
        aside.forget()?;
        return Err(errors::failed(from, error));
    }
    act.steps.reach("taken away")?;
    if let Err(error) = sys::rename_new(at(&aside.dir(), &held), at(to_dir, to.name()), act.can) {
        let given = write::give_back(act, &aside, Spot { dir: from_dir, name: from.name(), path: from });
        if given.is_err() {
            act.left_over();
        }
        given?;
        return Err(errors::failed(to, error));
    }
    act.steps.reach("put")?;
    aside.forget()
}

/// Moves a file to the trash, if it holds `expect`.
///
/// The file is taken away first and looked at then, so that a save in between is noticed; what is not expected goes back
/// to its place. A kill in between puts it back at the next start.
pub(super) fn trash_file(act: &mut Act<'_>, path: &MirrorPath, expect: ContentHash) -> Result<(), DiskError> {
    let (_, name) = Act::place(path)?;
    let dir = beneath::open_for(act.root.dir.as_fd(), path)?;
    let spot = Spot { dir: &dir, name, path };
    let (bytes, _, _) = whole(sys::open_file(&dir, name), path).map_err(|error| match error {
        DiskError::TooLarge(..) => spot.changed(),
        error => error,
    })?;
    if ContentHash::of(&bytes) != expect {
        return Err(spot.changed());
    }
    act.steps.reach("looked")?;
    act.try_both(spot, |act, aside| {
        aside.note(&Note::Trash { path: path.clone() })?;
        if !write::take(act, aside, spot, expect)? {
            return Err(spot.changed().into());
        }
        if let Err(error) = trash::keep(act, aside.dir(), &aside.held(), path) {
            let given = write::give_back(act, aside, spot);
            if given.is_err() {
                act.left_over();
            }
            given?;
            return Err(error.into());
        }
        act.steps.reach("kept")?;
        spot.sync()?;
        Ok(aside.forget()?)
    })
}

/// Removes a folder if nothing is in it.
pub(super) fn remove_folder(act: &mut Act<'_>, path: &MirrorPath) -> Result<(), DiskError> {
    let (folder, name) = Act::place(path)?;
    let dir = match beneath::open(act.root.dir.as_fd(), &folder) {
        Err(DiskError::Missing(_)) => return Ok(()),
        other => other?,
    };
    match sys::remove_folder(&dir, name) {
        // Durable too: after a power cut it must not look as if a person had made it.
        Ok(()) => sys::sync_folder(&dir).map_err(|error| errors::failed(path, error)),
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT) => Ok(()),
        Err(Errno::NOTDIR) => Err(DiskError::NotOrdinary(path.clone())),
        Err(error) => Err(errors::failed(path, error)),
    }
}
