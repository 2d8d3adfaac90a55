//! The root as it is at this moment: found, checked and opened for one effect, then let go.
//!
//! No descriptor is kept between effects. So a disk that is unmounted (nothing of ours keeps it busy) and mounted again
//! is simply found again, and a root that was replaced by an empty folder has no marker and is never written to.

use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{errors, marker, runs, sys};
use crate::model::{DiskError, EntryKind, MirrorPath, RootState};

/// Where the root is. A root that is a symbolic link is the user's choice: it is resolved once, when it is first seen.
#[derive(Debug)]
pub(super) struct Place {
    given: PathBuf,
    resolved: OnceLock<PathBuf>,
}

/// The root and its `.espejo`, open and checked.
#[derive(Debug)]
pub(super) struct Root {
    /// The root folder.
    pub(super) dir: OwnedFd,
    /// `.espejo` in it.
    pub(super) own: OwnedFd,
    /// Device and inode of the root.
    pub(super) identity: (u64, u64),
}

impl Place {
    pub(super) fn new(given: &Path) -> Self {
        Self { given: given.to_owned(), resolved: OnceLock::new() }
    }

    /// The root's path without links, as far as it is known yet.
    pub(super) fn path(&self) -> &Path {
        if let Some(path) = self.resolved.get() {
            return path;
        }
        match self.given.canonicalize() {
            Ok(path) => self.resolved.get_or_init(|| path),
            Err(_) => &self.given,
        }
    }

    /// Opens the root and checks its marker. On failure the state is never [`RootState::Ready`].
    pub(super) fn open(&self, mirror_id: &str) -> Result<Root, RootState> {
        let dir = self.open_dir()?;
        let identity = sys::look_of(&dir).map_err(unreadable)?.identity();
        let own = match sys::open_folder(&dir, marker::FOLDER) {
            Ok(own) => own,
            Err(Errno::NOENT) => return Err(RootState::NoMarker),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                return Err(RootState::Unreadable(format!("{} in it is not a folder", marker::FOLDER)));
            }
            Err(error) => return Err(unreadable(error)),
        };
        let root = Root { dir, own, identity };
        root.check_marker(mirror_id)?;
        Ok(root)
    }

    pub(super) fn open_dir(&self) -> Result<OwnedFd, RootState> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::open(self.path(), flags, Mode::empty()).map_err(|error| match error {
            Errno::NOENT | Errno::NOTDIR => RootState::Missing,
            error => unreadable(error),
        })
    }

    /// Makes the root and its marker where they are missing; touches nothing that is there.
    pub(super) fn create(&self, mirror_id: &str) -> Result<(), DiskError> {
        let path = self.path();
        if mirror_id.is_empty() || mirror_id.contains('\n') {
            return Err(DiskError::RootNotReady(format!("{mirror_id:?} is no mirror id")));
        }
        make_private(path).map_err(|error| self.cannot_make(&error.to_string()))?;
        match self.open(mirror_id) {
            Err(RootState::NoMarker) => {}
            Err(state) => return Err(self.not_ready(&state)),
            Ok(_) => return Ok(()),
        }
        let dir = self.open_dir().map_err(|state| self.not_ready(&state))?;
        write_marker(&dir, mirror_id).map_err(|error| self.cannot_make(&errors::words(error)))
    }

    /// Puts the marker back into a folder that lost it. `is_older`: the folder is then counted as an older copy of the mirror.
    pub(super) fn put_marker_back(&self, mirror_id: &str, is_older: bool) -> Result<(), DiskError> {
        match self.open(mirror_id) {
            Ok(_) => return Ok(()),
            Err(RootState::NoMarker) => {}
            Err(state) => return Err(self.not_ready(&state)),
        }
        let dir = self.open_dir().map_err(|state| self.not_ready(&state))?;
        let put = || {
            // Before the marker: a running espejo takes the folder up as soon as the marker is there.
            if is_older {
                let own = own_of(&dir)?;
                let identity = sys::look_of(&dir)?.identity();
                let dir =
                    dir.try_clone().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
                runs::note_oldest(&Root { dir, own, identity })?;
            }
            write_marker(&dir, mirror_id)
        };
        put().map_err(|error| {
            DiskError::RootNotReady(format!(
                "{} gets no marker: {}",
                self.path().display(),
                errors::words(error)
            ))
        })
    }

    fn cannot_make(&self, why: &str) -> DiskError {
        DiskError::RootNotReady(format!("{} cannot be created: {why}", self.path().display()))
    }

    /// The refusal for a root in this state.
    pub(super) fn not_ready(&self, state: &RootState) -> DiskError {
        let path = self.path().display();
        DiskError::RootNotReady(match state {
            RootState::Ready => format!("{path} has just changed"),
            RootState::Missing => format!("{path} does not exist"),
            RootState::NoMarker => format!("{path} has no {}/{}", marker::FOLDER, marker::FILE),
            RootState::OtherMirror => format!("{path} belongs to another mirror"),
            RootState::Unreadable(why) => format!("{path} cannot be used: {why}"),
        })
    }
}

impl Root {
    /// Whether the marker is there and names `mirror_id`.
    pub(super) fn check_marker(&self, mirror_id: &str) -> Result<(), RootState> {
        let file = match sys::open_file(&self.own, marker::FILE) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Err(RootState::NoMarker),
            Err(error) => return Err(unreadable(error)),
        };
        let bad = || RootState::Unreadable("its marker is invalid".to_owned());
        if sys::look_of(&file).map_err(unreadable)?.kind != EntryKind::File {
            return Err(bad());
        }
        let mut bytes = Vec::new();
        std::fs::File::from(file)
            .take(4096)
            .read_to_end(&mut bytes)
            .map_err(|error| RootState::Unreadable(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| bad())?;
        match marker::id(&text) {
            Some(id) if id == mirror_id => Ok(()),
            Some(_) => Err(RootState::OtherMirror),
            None => Err(bad()),
        }
    }

    /// Opens (making it where it is missing) a folder of our own in `.espejo`.
    pub(super) fn own_folder(&self, name: &str) -> Result<OwnedFd, DiskError> {
        own_folder(&self.own, name).map_err(|error| errors::failed(&own_path(name), error))
    }
}

fn own_folder(own: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    match sys::open_folder(own, name) {
        Err(Errno::NOENT) => {}
        other => return other,
    }
    match sys::make_folder(own, name, Mode::RWXU) {
        Ok(()) => sys::sync_folder(own)?,
        Err(Errno::EXIST) => {}
        Err(error) => return Err(error),
    }
    sys::open_folder(own, name)
}

/// Makes the root where there is none, for its owner alone: what a workspace holds is not for every user of the machine. A root
/// that is there keeps its permissions, because it may be shared on purpose.
fn make_private(path: &Path) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    }
}

/// The path of something in `.espejo`, for messages.
pub(super) fn own_path(name: &str) -> MirrorPath {
    MirrorPath::new(&format!("{}/{name}", marker::FOLDER)).unwrap_or_else(|_| MirrorPath::root())
}

/// Opens `.espejo` in a root, making it where it is missing.
fn own_of(dir: &OwnedFd) -> Result<OwnedFd, Errno> {
    match sys::make_folder(dir, marker::FOLDER, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error),
    }
    sys::open_folder(dir, marker::FOLDER)
}

/// The marker appears whole or not at all: a torn one would stop the mirror for good.
fn write_marker(dir: &OwnedFd, mirror_id: &str) -> Result<(), Errno> {
    let own = own_of(dir)?;
    let temporary = "marker.new";
    sys::remove_if_there(&own, temporary)?;
    let file = sys::create_file(&own, temporary, 0o644)?;
    super::read::write_all(&file, marker::text(mirror_id).as_bytes())?;
    sys::sync_file(&file)?;
    sys::rename((own.as_fd(), temporary), (own.as_fd(), marker::FILE))?;
    sys::sync_folder(&own)?;
    sys::sync_folder(dir)
}

fn unreadable(error: Errno) -> RootState {
    RootState::Unreadable(errors::words(error))
}
