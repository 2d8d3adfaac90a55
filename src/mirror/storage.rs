//! The disk's part of personal storage: hashing files of any size, putting finished downloads in their places, and taking
//! files away into the trash. Files here can be larger than memory, so what is expected of one is told by its stamp, and
//! nothing is ever removed: what a download replaces goes to the trash whole, whatever it turns out to be.

use std::fs::File;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::act::{Act, Spot, Stopped, at};
use super::aside::{Aside, Note};
use super::root::{Root, own_path};
use super::sys::{self, Look};
use super::{Mirror, beneath, calls, errors, is_reserved, part, trash, write};
use crate::model::{
    ContentHash, DiskError, DiskReply, EntryKind, MirrorPath, Part, Stamp, StorageEffect, StoredReply,
};

impl Mirror {
    pub(super) fn perform_storage(
        &self,
        act: &mut Act<'_>,
        effect: &StorageEffect,
    ) -> Result<DiskReply, DiskError> {
        match effect {
            StorageEffect::MakeFolder(path) => {
                Act::place(path)?;
                act.make(path).map(|_| DiskReply::Finished)
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

/// A finished download.
struct Download {
    dir: OwnedFd,
    name: String,
    look: Look,
}

impl Download {
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
    let (downloads, part_name) = (part::folder(act.root)?, part::name_of(part));
    let look = sys::look_at(&downloads, part_name.as_str()).map_err(fail)?;
    let download = Download { dir: downloads, name: part_name, look };
    let dir = match instead_of {
        None => act.make(&folder)?.dir,
        Some(_) => beneath::open_for(act.root.dir.as_fd(), to)?,
    };
    let there = match sys::look_at(&dir, name) {
        Err(Errno::NOENT) => None,
        other => Some(other.map_err(fail)?),
    };
    // The same content in its place already: an answer that was lost, or a state that was.
    if let Some(there) = there.filter(|there| Some(there.stamp) != instead_of) {
        if there.kind == EntryKind::File && there.stamp.size == download.look.stamp.size {
            let mut file = File::from(sys::open_file(&dir, name).map_err(fail)?);
            if part::hash_of(&mut file, to)? == hash
                && sys::look_of(&file).map_err(fail)?.stamp == there.stamp
            {
                remove(download.at()).map_err(fail)?;
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
    let spot = Spot { dir: &dir, name, path: to };
    act.steps.reach("looked")?;
    let placed = act.try_both(spot, |act, aside| match instead_of {
        None => put(act, aside, spot, &download),
        Some(expect) => replace(act, aside, spot, &download, expect),
    })?;
    spot.sync()?;
    // If anything but the change time moved, a program has written to it already: the stamp from before is answered, so that
    // the next scan sees the difference.
    Ok(in_place(spot, &placed).unwrap_or(placed.stamp))
}

/// The stamp of a download in its place, if it is there unchanged.
fn in_place(spot: Spot<'_>, placed: &Look) -> Option<Stamp> {
    let now = sys::look_at(spot.dir, spot.name).ok()?;
    is_same(&now, placed.stamp).then_some(now.stamp)
}

/// Puts a download where nothing is.
fn put(act: &mut Act<'_>, aside: &Aside, spot: Spot<'_>, download: &Download) -> Result<Look, Stopped> {
    if !aside.is_beside() {
        let put = || sys::rename_new(download.at(), spot.at(), act.can);
        let put = act.hands.put(spot.path, put, |_| in_place(spot, &download.look));
        put.map_err(|error| Stopped::at(spot, error))?;
        return Ok(download.look);
    }
    aside.note(&Note::Part { path: spot.path.clone() })?;
    let put = copy_beside(aside, spot, download).and_then(|look| {
        sys::rename_new(at(&aside.dir(), &aside.part()), spot.at(), act.can)
            .map(|()| look)
            .map_err(|error| spot.failed(error))
    });
    if put.is_err() {
        aside.drop_part()?;
    }
    aside.forget()?;
    let look = put?;
    remove(download.at()).map_err(|error| spot.failed(error))?;
    Ok(look)
}

/// Puts a download in the place of a file, which goes to the trash. As in [`write`]: what stands aside is noted before it
/// does, and what comes out is looked at before it is let go of.
fn replace(
    act: &mut Act<'_>,
    aside: &Aside,
    spot: Spot<'_>,
    download: &Download,
    expect: Stamp,
) -> Result<Look, Stopped> {
    aside.note(&Note::Trash { path: spot.path.clone() })?;
    let ours = match stage(aside, spot, download) {
        Ok(ours) => ours,
        Err(error) => {
            aside.drop_part()?;
            aside.forget()?;
            return Err(error);
        }
    };
    let swap = Swap { aside, spot, download, ours };
    act.steps.reach("noted")?;
    let exchange = || sys::exchange(swap.held_at(&aside.held()), spot.at(), act.can);
    match act.hands.put(spot.path, exchange, |_| in_place(spot, &ours)) {
        Some(Ok(())) => {}
        None => return swap.take_and_put(act, expect),
        Some(Err(error)) => {
            swap.unstage(&aside.held())?;
            aside.forget()?;
            return Err(Stopped::at(spot, error));
        }
    }
    let settled = swap.settle(act, expect);
    if settled.is_err() {
        act.left_over();
    }
    settled?.map_err(Stopped::Failed)?;
    if aside.is_beside() {
        remove(download.at()).map_err(|error| spot.failed(error))?;
    }
    Ok(ours)
}

/// The download as `held`, with the permissions of the file whose place it takes.
fn stage(aside: &Aside, spot: Spot<'_>, download: &Download) -> Result<Look, Stopped> {
    let stopped = |error| Stopped::at(spot, error);
    let (dir, held) = (aside.dir(), aside.held());
    if aside.is_beside() {
        copy_beside(aside, spot, download)?;
        sys::rename((dir, &aside.part()), (dir, held.as_str())).map_err(stopped)?;
    } else {
        sys::rename(download.at(), (dir, held.as_str())).map_err(stopped)?;
    }
    let carried = || {
        let new = sys::open_file(dir, held.as_str())?;
        match sys::open_file(spot.dir, spot.name) {
            Ok(old) => sys::carry_over(&old, &new, &sys::look_of(&old)?)?,
            // Its owner may not read it either.
            Err(_) => sys::set_mode(&new, sys::look_of(&new)?.mode, 0o600)?,
        }
        sys::look_of(&new)
    };
    carried().map_err(|error| {
        // Nothing was swapped yet: what stands aside is the download.
        match unstage(aside, spot, download, &held) {
            Ok(()) => stopped(error),
            Err(error) => error.into(),
        }
    })
}

/// Makes a download of what stands aside under `name` again.
fn unstage(aside: &Aside, spot: Spot<'_>, download: &Download, name: &str) -> Result<(), DiskError> {
    let dir = aside.dir();
    if aside.is_beside() {
        return remove((dir, name)).map_err(|error| spot.failed(error));
    }
    let back = || {
        sys::rename((dir, name), download.at())?;
        // It may have to be written to once more.
        let mode = sys::look_at(&download.dir, download.name.as_str())?.mode;
        if mode & 0o600 == 0o600 {
            return Ok(());
        }
        let mode = Mode::from_raw_mode((mode | 0o600) as _);
        rustix::fs::chmodat(&download.dir, download.name.as_str(), mode, AtFlags::empty())
    };
    back().map_err(|error| spot.failed(error))
}

/// A download that changes places with a file.
struct Swap<'a> {
    aside: &'a Aside,
    spot: Spot<'a>,
    download: &'a Download,
    /// What the download looked like before.
    ours: Look,
}

impl Swap<'_> {
    fn held_at<'a>(&'a self, held: &'a str) -> (BorrowedFd<'a>, &'a str) {
        (self.aside.dir(), held)
    }

    fn look(&self) -> Result<Look, DiskError> {
        sys::look_at(self.aside.dir(), self.aside.held()).map_err(|error| self.spot.failed(error))
    }

    fn unstage(&self, name: &str) -> Result<(), DiskError> {
        unstage(self.aside, self.spot, self.download, name)
    }

    /// After the swap: whether the download may stay. The inner error: everything is as before, or as a person has made it.
    fn settle(&self, act: &Act<'_>, expect: Stamp) -> Result<Result<(), DiskError>, DiskError> {
        act.steps.reach("swapped")?;
        let out = self.look()?;
        let refused = if is_same(&out, expect) {
            match trash::keep(act, self.aside.dir(), &self.aside.held(), self.spot.path) {
                Ok(()) => return self.aside.forget().map(Ok),
                Err(error) => error,
            }
        } else {
            // A person saved in the moment between the look and the swap.
            self.spot.changed()
        };
        Ok(Err(if self.swap_back(act, out)? { refused } else { DiskError::Missing(self.spot.path.clone()) }))
    }

    /// Swaps until what comes out is what went in, so that the newest save is in its place, and the
    /// rest is in the trash. `false` when the download was overwritten: it has to be fetched again.
    fn swap_back(&self, act: &Act<'_>, mut out: Look) -> Result<bool, DiskError> {
        let held = self.aside.held();
        let mut placed = self.ours;
        for _ in 0..write::SWAPS_MAX {
            act.steps.reach("swapping back")?;
            match sys::exchange(self.held_at(&held), self.spot.at(), act.can) {
                Some(Ok(())) => {}
                // The download was renamed or removed meanwhile: the name is free for what was there.
                Some(Err(Errno::NOENT)) => {
                    return write::give_back(act, self.aside, self.spot).map(|()| false);
                }
                Some(Err(error)) => return Err(self.spot.failed(error)),
                None => return Err(self.spot.failed(Errno::NOTSUP)),
            }
            act.steps.reach("swapped back")?;
            let came = self.look()?;
            let settled = is_same(&came, placed.stamp);
            (placed, out) = (out, came);
            if settled {
                break;
            }
        }
        self.spot.sync()?;
        let ours = is_same(&out, self.ours.stamp);
        if ours {
            self.unstage(&held)?;
        } else {
            trash::keep(act, self.aside.dir(), &held, self.spot.path)?;
        }
        self.aside.forget()?;
        Ok(ours)
    }

    /// The way without a swap: the name is free for a moment, and a kill in it costs a download.
    fn take_and_put(&self, act: &mut Act<'_>, expect: Stamp) -> Result<Look, Stopped> {
        let (aside, spot) = (self.aside, self.spot);
        let (dir, part) = (aside.dir(), aside.part());
        sys::rename((dir, &aside.held()), (dir, &part)).map_err(|error| spot.failed(error))?;
        let taken = take(act, aside, spot, expect);
        if !matches!(taken, Ok(true)) {
            self.unstage(&part)?;
            return Err(taken.err().unwrap_or_else(|| spot.changed().into()));
        }
        if let Err(error) = sys::rename_new((dir, &part), spot.at(), act.can) {
            give_back(act, aside, spot)?;
            self.unstage(&part)?;
            return Err(match error {
                // A person made a new file in the moment when the name was free.
                Errno::EXIST => spot.changed().into(),
                error => spot.failed(error).into(),
            });
        }
        act.steps.reach("put")?;
        // What cannot be kept now stays aside, and is kept later.
        trash::keep(act, dir, &aside.held(), spot.path).inspect_err(|_| act.left_over())?;
        aside.forget()?;
        if aside.is_beside() {
            remove(self.download.at()).map_err(|error| spot.failed(error))?;
        }
        Ok(self.ours)
    }
}

/// Whether this is the file of that stamp after a rename, which moves the change time.
fn is_same(look: &Look, stamp: Stamp) -> bool {
    look.identity() == (stamp.device, stamp.inode)
        && (look.stamp.size, look.stamp.modified_ns) == (stamp.size, stamp.modified_ns)
}

/// A copy of a download on the target's own disk, as `part`.
fn copy_beside(aside: &Aside, spot: Spot<'_>, download: &Download) -> Result<Look, DiskError> {
    let fail = |error| spot.failed(error);
    let mut source = File::from(sys::open_file(&download.dir, download.name.as_str()).map_err(fail)?);
    let mut copy = File::from(sys::create_file(aside.dir(), &aside.part(), 0o644).map_err(fail)?);
    std::io::copy(&mut source, &mut copy).map_err(|error| match Errno::from_io_error(&error) {
        Some(errno) => fail(errno),
        None => DiskError::Io(spot.path.clone(), error.to_string()),
    })?;
    calls::wrote(&copy);
    sys::sync_file(&copy).map_err(fail)?;
    sys::look_of(&copy).map_err(fail)
}

/// Moves a file to the trash, if it is the one of that stamp. It is taken away first and looked at then, so that a save in
/// between is noticed.
fn discard(act: &mut Act<'_>, path: &MirrorPath, expect: Stamp) -> Result<(), DiskError> {
    let (_, name) = Act::place(path)?;
    let dir = beneath::open_for(act.root.dir.as_fd(), path)?;
    let spot = Spot { dir: &dir, name, path };
    let look = sys::look_at(&dir, name).map_err(|error| spot.failed(error))?;
    if look.kind != EntryKind::File || look.stamp != expect {
        return Err(spot.changed());
    }
    act.steps.reach("looked")?;
    act.try_both(spot, |act, aside| {
        aside.note(&Note::Trash { path: path.clone() })?;
        act.steps.reach("noted")?;
        if !take(act, aside, spot, expect)? {
            return Err(spot.changed().into());
        }
        if let Err(error) = trash::keep(act, aside.dir(), &aside.held(), path) {
            give_back(act, aside, spot)?;
            return Err(error.into());
        }
        act.steps.reach("kept")?;
        spot.sync()?;
        Ok(aside.forget()?)
    })
}

/// Takes what stands in a place away into `held`. `true` when it is the file of that stamp; otherwise it is back in its place,
/// or in the trash when something newer stands there. The note is the caller's.
fn take(act: &mut Act<'_>, aside: &Aside, spot: Spot<'_>, expect: Stamp) -> Result<bool, Stopped> {
    if let Err(error) = sys::rename(spot.at(), (aside.dir(), &aside.held())) {
        aside.forget()?;
        return Err(Stopped::at(spot, error));
    }
    act.steps.reach("taken away")?;
    match sys::look_at(aside.dir(), aside.held()) {
        Ok(look) if is_same(&look, expect) => Ok(true),
        Ok(_) => give_back(act, aside, spot).map(|()| false),
        Err(error) => {
            act.left_over();
            Err(spot.failed(error).into())
        }
    }
}

fn give_back(act: &mut Act<'_>, aside: &Aside, spot: Spot<'_>) -> Result<(), Stopped> {
    let given = write::give_back(act, aside, spot);
    if given.is_err() {
        act.left_over();
    }
    Ok(given?)
}

/// Temporary files that nothing will be made of any more go.
fn sweep(act: &mut Act<'_>, keep: &[Part]) -> Result<(), DiskError> {
    let dir = part::folder(act.root)?;
    let fail = |error| errors::failed(&own_path(part::FOLDER), error);
    let mut names = Vec::new();
    sys::names(dir.as_fd(), |name| names.extend(name.to_str().map(str::to_owned))).map_err(fail)?;
    names.sort();
    for name in names {
        if name.ends_with(".part") && !keep.iter().any(|part| part::name_of(part) == name) {
            remove(at(&dir, &name)).map_err(fail)?;
        }
    }
    Ok(())
}

fn remove(what: (BorrowedFd<'_>, &str)) -> Result<(), Errno> {
    sys::remove_if_there(what.0, what.1)
}
