//! Finding and making the folder that an effect's path lies in, never through a link and never outside the root.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::Mode;
use rustix::io::Errno;

use super::{Hands, errors, sys};
use crate::model::{DiskError, MirrorPath};

/// Opens the folder `path` beneath `root`.
pub(super) fn open(root: BorrowedFd<'_>, path: &MirrorPath) -> Result<OwnedFd, DiskError> {
    let opened = if path.is_root() {
        sys::open_folder(root, ".")
    } else {
        sys::open_folder_beneath(root, path.as_str())
    };
    opened.map_err(|error| errors::failed(path, error))
}

/// Opens the folder that `path` lies in; when that is missing, so is `path`.
pub(super) fn open_for(root: BorrowedFd<'_>, path: &MirrorPath) -> Result<OwnedFd, DiskError> {
    open(root, &path.parent().unwrap_or_else(MirrorPath::root)).map_err(|error| match error {
        DiskError::Missing(_) => DiskError::Missing(path.clone()),
        error => error,
    })
}

/// A folder, and which of the folders on the way to it had to be made.
#[derive(Debug)]
pub(super) struct Made {
    /// The folder.
    pub(super) dir: OwnedFd,
    /// The folders that were made, outermost first: the folder each is in, and its name.
    new: Vec<(OwnedFd, String)>,
}

impl Made {
    /// Takes back what was made for an act that then failed. Folders that are in use by now stay.
    pub(super) fn undo(self) {
        for (parent, name) in self.new.iter().rev() {
            if sys::remove_folder(parent, name.as_str()).is_err() {
                return;
            }
        }
    }
}

/// Opens the folder `path` beneath `root`, making what is missing of it, durably.
///
/// A file in the way is [`DiskError::Exists`] with the file's own path; a link is [`DiskError::NotOrdinary`]. `hands` are told
/// of new folders that are watched.
pub(super) fn make(
    root: BorrowedFd<'_>,
    path: &MirrorPath,
    hands: Option<&Hands>,
) -> Result<Made, DiskError> {
    match open(root, path) {
        Ok(dir) => return Ok(Made { dir, new: Vec::new() }),
        Err(DiskError::Missing(_)) => {}
        Err(error) => return Err(error),
    }
    let mut new = Vec::new();
    match make_each(root, path, hands, &mut new) {
        Ok(dir) => Ok(Made { dir, new }),
        Err(error) => {
            if let Ok(dir) = sys::open_folder(root, ".") {
                Made { dir, new }.undo();
            }
            Err(error)
        }
    }
}

fn make_each(
    root: BorrowedFd<'_>,
    path: &MirrorPath,
    hands: Option<&Hands>,
    new: &mut Vec<(OwnedFd, String)>,
) -> Result<OwnedFd, DiskError> {
    let mut at = sys::open_folder(root, ".").map_err(|error| errors::failed(path, error))?;
    let mut here = MirrorPath::root();
    for name in path.components() {
        here = here.join(name).map_err(|_| DiskError::NotOrdinary(path.clone()))?;
        let next = match sys::open_folder(&at, name) {
            Ok(next) => next,
            Err(Errno::NOENT) => match make_one(&at, name, hands.map(|hands| (hands, &here))) {
                Ok((next, made)) => {
                    new.extend(made.map(|parent| (parent, name.to_owned())));
                    next
                }
                Err(error) => return Err(in_the_way(&here, error)),
            },
            Err(error) => return Err(in_the_way(&here, error)),
        };
        at = next;
    }
    Ok(at)
}

/// Makes and opens a folder; the second value is its parent when it was really this call that made it.
fn make_one(
    at: &OwnedFd,
    name: &str,
    told: Option<(&Hands, &MirrorPath)>,
) -> Result<(OwnedFd, Option<OwnedFd>), Errno> {
    let make = || sys::make_folder(at, name, Mode::from_raw_mode(0o755));
    let made = match told {
        Some((hands, path)) => {
            let look = |made: &Result<(), Errno>| made.and_then(|()| sys::look_at(at, name));
            hands.put(path, make, |made| look(made).ok().map(|look| look.stamp))
        }
        None => make(),
    };
    let ours = match made {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(error) => return Err(error),
    };
    sys::sync_folder(at)?;
    let next = sys::open_folder(at, name)?;
    let parent = if ours { Some(sys::open_folder(at.as_fd(), ".")?) } else { None };
    Ok((next, parent))
}

fn in_the_way(path: &MirrorPath, error: Errno) -> DiskError {
    match error {
        Errno::NOTDIR => DiskError::Exists(path.clone()),
        error => errors::failed(path, error),
    }
}
