//! Reading one file whole, between two equal looks; and the plain byte pushing.

use std::fs::File;
use std::io::Read;

use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;

use super::root::{Place, Root};
use super::sys::{self, Look};
use super::{calls, errors, is_reserved, lease};
use crate::model::{ContentHash, DiskError, EntryKind, FileRead, MirrorPath, Stamp, Timestamp};

/// No page is larger (contract section 2; the service refuses 60 MB bodies).
pub(super) const SIZE_MAX: u64 = 64 * 1024 * 1024;

/// `Effect::ReadFile`.
pub(super) fn read(root: &Root, path: &MirrorPath, clock: Timestamp) -> Result<FileRead, DiskError> {
    if path.is_root() || is_reserved(path) {
        return Err(DiskError::NotOrdinary(path.clone()));
    }
    let file = sys::open_file_beneath(&root.dir, path.as_str());
    let (bytes, look, file) = whole(file, path)?;
    // After the read: a program that has ended by now has written nothing since.
    let is_open = lease::has_writer(&file);
    Ok(FileRead { path: path.clone(), stamp: look.stamp, bytes, clock, is_open })
}

/// What a file in the mirror at `root` holds, for a reader beside the running mirror; the marker is not checked.
///
/// # Errors
/// As [`Effect::ReadFile`](crate::model::Effect::ReadFile).
pub fn peek(root: &std::path::Path, path: &MirrorPath) -> Result<Vec<u8>, DiskError> {
    whole(open_beneath(root, path)?, path).map(|(bytes, ..)| bytes)
}

/// The metadata of files in the mirror at `root`, for a process that only looks. A file costs one look if the files are asked
/// for in the order of their paths.
pub struct Stamps {
    dir: Option<OwnedFd>,
    /// The folder of the last file and those above it, each with its path, outermost first.
    open: Vec<(MirrorPath, OwnedFd)>,
}

impl Stamps {
    /// Opens the root once; without a root no file has a stamp.
    #[must_use]
    pub fn open(root: &std::path::Path) -> Self {
        Self { dir: Place::new(root).open_dir().ok(), open: Vec::new() }
    }

    /// The stamp of an ordinary file; `None` where there is none, or it cannot be looked at. Whether the file can be read is
    /// not tried.
    #[must_use]
    pub fn of(&mut self, path: &MirrorPath) -> Option<Stamp> {
        if path.is_root() || is_reserved(path) {
            return None;
        }
        let root = self.dir.as_ref()?;
        let folder = path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
        while self.open.last().is_some_and(|(open, _)| !is_at_or_in(folder, open.as_str())) {
            self.open.pop();
        }
        let is_open = folder.is_empty() || self.open.last().is_some_and(|(open, _)| open.as_str() == folder);
        if !is_open {
            let folder = path.parent()?;
            let dir = sys::open_folder_beneath(root, folder.as_str()).ok()?;
            self.open.push((folder, dir));
        }
        let dir = self.open.last().map_or(root, |(_, dir)| dir);
        let look = sys::look_at(dir, path.name()).ok()?;
        (look.kind == EntryKind::File).then_some(look.stamp)
    }
}

/// Whether the folder `inner` is `outer`, or lies in it.
fn is_at_or_in(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Opens a file of the mirror at `root`, for a caller beside its engine.
fn open_beneath(root: &std::path::Path, path: &MirrorPath) -> Result<Result<OwnedFd, Errno>, DiskError> {
    if path.is_root() || is_reserved(path) {
        return Err(DiskError::NotOrdinary(path.clone()));
    }
    let place = Place::new(root);
    let dir = place.open_dir().map_err(|state| place.not_ready(&state))?;
    Ok(sys::open_file_beneath(&dir, path.as_str()))
}

/// Copies one file, however large, out of the mirror at `root`. The outer error is the writer's.
///
/// # Errors
/// [`DiskError`] as for [`peek`]; `Changed` when the file was written to meanwhile, and what was copied is worth nothing.
pub fn copy_out(
    root: &std::path::Path,
    path: &MirrorPath,
    to: &mut dyn std::io::Write,
) -> std::io::Result<Result<(), DiskError>> {
    let (mut file, before) = match open_beneath(root, path).and_then(|file| ordinary(file, path)) {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error)),
    };
    let mut buffer = vec![0; 1 << 16];
    let mut size = 0;
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Ok(Err(DiskError::Io(path.clone(), error.to_string()))),
        };
        to.write_all(&buffer[..count])?;
        size += count as u64;
    }
    Ok(match sys::look_of(&file) {
        Ok(after) if after.stamp == before.stamp && size == after.stamp.size => Ok(()),
        Ok(_) => Err(DiskError::Changed(path.clone())),
        Err(error) => Err(errors::failed(path, error)),
    })
}

/// An opened file, which has to be an ordinary one, and its first look.
fn ordinary(file: Result<OwnedFd, Errno>, path: &MirrorPath) -> Result<(File, Look), DiskError> {
    let file = File::from(file.map_err(|error| errors::failed(path, error))?);
    let look = sys::look_of(&file).map_err(|error| errors::failed(path, error))?;
    if look.kind != EntryKind::File {
        return Err(DiskError::NotOrdinary(path.clone()));
    }
    Ok((file, look))
}

/// Everything an opened file holds. `Changed` when it was written to meanwhile.
pub(super) fn whole(
    file: Result<OwnedFd, Errno>,
    path: &MirrorPath,
) -> Result<(Vec<u8>, Look, File), DiskError> {
    let (mut file, before) = ordinary(file, path)?;
    if before.stamp.size > SIZE_MAX {
        return Err(DiskError::TooLarge(path.clone(), before.stamp.size));
    }
    // The size is only a guess while a program writes: read one byte more than it, and never more than the limit.
    let mut bytes = Vec::with_capacity(usize::try_from(before.stamp.size).unwrap_or(0) + 1);
    file.by_ref()
        .take(SIZE_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| DiskError::Io(path.clone(), error.to_string()))?;
    let after = sys::look_of(&file).map_err(|error| errors::failed(path, error))?;
    if before.stamp != after.stamp || bytes.len() as u64 != after.stamp.size {
        return Err(DiskError::Changed(path.clone()));
    }
    Ok((bytes, after, file))
}

/// What stands somewhere, to tell whether it is what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thing {
    /// Device and inode.
    pub(super) identity: (u64, u64),
    /// The content of an ordinary file; `None` for anything else, and for a file that is being written to, is too large
    /// or cannot be read: none of these equals an expected content.
    pub(super) content: Option<ContentHash>,
}

/// What stands at `name`; `Ok(None)` when nothing does.
pub(super) fn thing(dir: impl AsFd, name: &str, path: &MirrorPath) -> Result<Option<Thing>, DiskError> {
    let look = match sys::look_at(&dir, name) {
        Ok(look) => look,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(errors::failed(path, error)),
    };
    let found = match look.kind {
        EntryKind::File => whole(sys::open_file(&dir, name), path).ok(),
        _ => None,
    };
    Ok(Some(match found {
        Some((bytes, look, _)) => Thing { identity: look.identity(), content: Some(ContentHash::of(&bytes)) },
        None => Thing { identity: look.identity(), content: None },
    }))
}

/// Writes everything, however small the steps.
pub(super) fn write_all(file: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(&file, bytes) {
            Ok(0) => return Err(Errno::NOSPC),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    calls::wrote(&file);
    Ok(())
}
