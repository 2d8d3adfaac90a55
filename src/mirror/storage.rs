//! The disk's part of personal storage: hashing files of any size, putting finished downloads in their places, and taking
//! files away into the trash. Files here can be larger than memory, so what is expected of one is told by its stamp, and
//! nothing is ever removed: what a download replaces goes to the trash whole, whatever it turns out to be.

use std::fs::File;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::act::{Act, at};
use super::aside::TEMP_PREFIX;
use super::root::{Root, own_path};
use super::sys::{self, Look};
use super::{Mirror, beneath, errors, is_reserved, part, trash};
use crate::model::{
    ContentHash, DiskError, DiskReply, EntryKind, MirrorPath, Part, Stamp, StorageEffect, StoredReply,
};

/// What a swap leaves for a moment in the folder of downloads.
const SWAPPED: &str = ".swap";

impl Mirror {
    pub(super) fn perform_storage(
        &self,
        act: &mut Act<'_>,
        effect: &StorageEffect,
    ) -> Result<DiskReply, DiskError> {
        match effect {
            StorageEffect::MakeFolder(path) => {
                Act::place(path)?;
                beneath::make(act.root.dir.as_fd(), path).map(|_| DiskReply::Finished)
            }
            StorageEffect::Place { part, hash, to, instead_of } => {
                let placed = place(act, part, *hash, to, *instead_of);
                if placed.is_ok() {
                    self.lengths().remove(part);
                }
                placed.map(|stamp| DiskReply::Storage(StoredReply::Placed(stamp)))
            }
            StorageEffect::Discard { path, expect } => {
                discard(act, path, *expect).map(|()| DiskReply::Finished)
            }
            StorageEffect::Sweep(keep) => sweep(act, keep).map(|()| DiskReply::Finished),
            _ => Err(DiskError::Io(MirrorPath::root(), "this effect is not one for the disk".to_owned())),
        }
    }
}

/// Hashes a file between two equal stamps.
pub(super) fn hash(root: &Root, path: &MirrorPath) -> Result<DiskReply, DiskError> {
    if path.is_root() || is_reserved(path) {
        return Err(DiskError::NotOrdinary(path.clone()));
    }
    let fail = |error| errors::failed(path, error);
    let mut file = File::from(sys::open_file_beneath(&root.dir, path.as_str()).map_err(fail)?);
    let before = sys::look_of(&file).map_err(fail)?;
    if before.kind != EntryKind::File {
        return Err(DiskError::NotOrdinary(path.clone()));
    }
    let hash = part::hash_of(&mut file, path)?;
    let after = sys::look_of(&file).map_err(fail)?;
    if before.stamp != after.stamp {
        return Err(DiskError::Changed(path.clone()));
    }
    Ok(DiskReply::Storage(StoredReply::Hashed(after.stamp, hash)))
}

/// A finished download, wherever it has to be for a rename.
struct Staged {
    dir: OwnedFd,
    name: String,
    look: Look,
}

impl Staged {
    fn at(&self) -> (BorrowedFd<'_>, &str) {
        at(&self.dir, &self.name)
    }
}

fn place(
    act: &mut Act<'_>,
    part: &Part,
    hash: ContentHash,
    to: &MirrorPath,
    instead_of: Option<Stamp>,
) -> Result<Stamp, DiskError> {
    let (folder, name) = Act::place(to)?;
    let fail = |error| errors::failed(to, error);
    let downloads = part::folder(act.root)?;
    let staged_name = part::name_of(part);
    let look = sys::look_at(&downloads, staged_name.as_str()).map_err(fail)?;
    let mut staged = Staged { dir: downloads, name: staged_name, look };
    let dir = match instead_of {
        None => beneath::make(act.root.dir.as_fd(), &folder)?.dir,
        Some(_) => beneath::open_for(act.root.dir.as_fd(), to)?,
    };
    let there = match sys::look_at(&dir, name) {
        Err(Errno::NOENT) => None,
        other => Some(other.map_err(fail)?),
    };
    // The same content in its place already: an answer that was lost, or a state that was.
    if let Some(there) = there.filter(|there| Some(there.stamp) != instead_of) {
        if there.kind == EntryKind::File && there.stamp.size == staged.look.stamp.size {
            let mut file = File::from(sys::open_file(&dir, name).map_err(fail)?);
            if part::hash_of(&mut file, to)? == hash
                && sys::look_of(&file).map_err(fail)?.stamp == there.stamp
            {
                remove(staged.at()).map_err(fail)?;
                return Ok(there.stamp);
            }
        }
        return Err(if instead_of.is_some() {
            DiskError::Changed(to.clone())
        } else {
            DiskError::Exists(to.clone())
        });
    }
    if instead_of.is_some() && there.is_none() {
        return Err(DiskError::Missing(to.clone()));
    }
    match put(act, &staged, &dir, to, instead_of) {
        Err(Stop::OtherDisk) => {
            staged = copy_beside(&staged, &dir, part, to)?;
            let put = put(act, &staged, &dir, to, instead_of);
            if put.is_err() {
                remove(staged.at()).map_err(fail)?;
            }
            put.map_err(|stop| stop.into_error(to))?;
            remove(at(&part::folder(act.root)?, &part::name_of(part))).map_err(fail)?;
        }
        other => other.map_err(|stop| stop.into_error(to))?,
    }
    sys::sync_folder(&dir).map_err(fail)?;
    // If anything but the change time moved, somebody has written to it already: the stamp from before is answered, so that
    // the next scan sees the difference.
    let now = sys::look_at(&dir, name).map_err(fail)?;
    let before = staged.look.stamp;
    let ours = now.identity() == staged.look.identity()
        && (now.stamp.size, now.stamp.modified_ns) == (before.size, before.modified_ns);
    Ok(if ours { now.stamp } else { before })
}

enum Stop {
    OtherDisk,
    Failed(DiskError),
}

impl Stop {
    fn of(to: &MirrorPath, error: Errno) -> Self {
        if error == Errno::XDEV { Self::OtherDisk } else { Self::Failed(errors::failed(to, error)) }
    }

    fn into_error(self, to: &MirrorPath) -> DiskError {
        match self {
            Self::OtherDisk => DiskError::Io(to.clone(), errors::words(Errno::XDEV)),
            Self::Failed(error) => error,
        }
    }
}

fn put(
    act: &mut Act<'_>,
    staged: &Staged,
    dir: &OwnedFd,
    to: &MirrorPath,
    instead_of: Option<Stamp>,
) -> Result<(), Stop> {
    let target = at(dir, to.name());
    let Some(expect) = instead_of else {
        return sys::rename_new(staged.at(), target, act.can).map_err(|error| Stop::of(to, error));
    };
    // From here on what stands under this name is not a beginning of the download.
    let swap = format!("{}{SWAPPED}", staged.name);
    rustix::fs::renameat(&staged.dir, staged.name.as_str(), &staged.dir, swap.as_str())
        .map_err(|error| Stop::of(to, error))?;
    let back = || {
        rustix::fs::renameat(&staged.dir, swap.as_str(), &staged.dir, staged.name.as_str())
            .map_err(|error| Stop::of(to, error))
    };
    let aside = at(&staged.dir, swap.as_str());
    match sys::exchange(aside, target, act.can) {
        Some(Ok(())) => {}
        Some(Err(error)) => {
            back()?;
            return Err(Stop::of(to, error));
        }
        None => {
            // No swap here: the name is free for a moment, and a kill in it costs a download.
            trash::keep(act, dir.as_fd(), to.name(), to).map_err(Stop::Failed)?;
            return sys::rename_new(aside, target, act.can).map_err(|error| Stop::of(to, error));
        }
    }
    act.steps.reach("storage swapped").map_err(Stop::Failed)?;
    let out = sys::look_at(&staged.dir, swap.as_str()).map_err(|error| Stop::of(to, error))?;
    if !is_same(&out, expect) {
        // A person saved in the moment between the look and the swap.
        match sys::exchange(aside, target, act.can) {
            Some(Ok(())) => back()?,
            _ => trash::keep(act, staged.dir.as_fd(), &swap, to).map_err(Stop::Failed)?,
        }
        return Err(Stop::Failed(DiskError::Changed(to.clone())));
    }
    trash::keep(act, staged.dir.as_fd(), &swap, to).map_err(Stop::Failed)
}

/// Whether this is the file of that stamp after a rename, which moves the change time.
fn is_same(look: &Look, stamp: Stamp) -> bool {
    look.identity() == (stamp.device, stamp.inode)
        && (look.stamp.size, look.stamp.modified_ns) == (stamp.size, stamp.modified_ns)
}

/// A copy on the target's own disk, under a name that scans pass over.
fn copy_beside(staged: &Staged, dir: &OwnedFd, part: &Part, to: &MirrorPath) -> Result<Staged, DiskError> {
    let fail = |error| errors::failed(to, error);
    let name = format!("{TEMP_PREFIX}{}", part.as_str());
    remove(at(dir, &name)).map_err(fail)?;
    let mut source = File::from(sys::open_file(&staged.dir, staged.name.as_str()).map_err(fail)?);
    let mut copy = File::from(sys::create_file(dir, &name, 0o644).map_err(fail)?);
    let copied = std::io::copy(&mut source, &mut copy)
        .map_err(|error| match Errno::from_io_error(&error) {
            Some(errno) => fail(errno),
            None => DiskError::Io(to.clone(), error.to_string()),
        })
        .and_then(|_| sys::sync_file(&copy).map_err(fail))
        .and_then(|()| sys::look_of(&copy).map_err(fail));
    match copied {
        Ok(look) => {
            let dir = sys::open_folder(dir, ".").map_err(fail)?;
            Ok(Staged { dir, name, look })
        }
        Err(error) => {
            remove(at(dir, &name)).map_err(fail)?;
            Err(error)
        }
    }
}

fn discard(act: &mut Act<'_>, path: &MirrorPath, expect: Stamp) -> Result<(), DiskError> {
    let (_, name) = Act::place(path)?;
    let dir = beneath::open_for(act.root.dir.as_fd(), path)?;
    let look = sys::look_at(&dir, name).map_err(|error| errors::failed(path, error))?;
    if look.kind != EntryKind::File || look.stamp != expect {
        return Err(DiskError::Changed(path.clone()));
    }
    trash::keep(act, dir.as_fd(), name, path)?;
    sys::sync_folder(&dir).map_err(|error| errors::failed(path, error))
}

/// Temporary files that nothing will be made of any more go; what a kill left in the middle of a swap may be a person's
/// file, and is kept.
fn sweep(act: &mut Act<'_>, keep: &[Part]) -> Result<(), DiskError> {
    let dir = part::folder(act.root)?;
    let fail = |error| errors::failed(&own_path(part::FOLDER), error);
    let mut names = Vec::new();
    sys::names(dir.as_fd(), |name| names.extend(name.to_str().map(str::to_owned))).map_err(fail)?;
    names.sort();
    for name in names {
        if name.ends_with(SWAPPED) {
            let path = MirrorPath::new(&format!("Storage/recovered-{name}"));
            trash::keep(act, dir.as_fd(), &name, &path.unwrap_or_else(|_| MirrorPath::root()))?;
        } else if name.ends_with(".part") && !keep.iter().any(|part| part::name_of(part) == name) {
            remove(at(&dir, &name)).map_err(fail)?;
        }
    }
    Ok(())
}

fn remove(what: (BorrowedFd<'_>, &str)) -> Result<(), Errno> {
    match rustix::fs::unlinkat(what.0, what.1, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}
