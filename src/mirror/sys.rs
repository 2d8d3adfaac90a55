//! The few system calls of the disk edge, and everything that differs between kernels. No policy in here.
//!
//! Every call takes a folder's descriptor and one name (or a path that is resolved beneath the descriptor without
//! following any symbolic link), so a link that is swapped in between two calls leads nowhere.

use std::ffi::CStr;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use super::calls;
use crate::model::{EntryKind, Stamp, planted};

/// What the file system says of one name or one open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) stamp: Stamp,
    pub(super) kind: EntryKind,
    /// Permission bits only.
    pub(super) mode: u32,
    pub(super) links: u64,
    pub(super) owner: (u32, u32),
}

impl Look {
    /// Device and inode: the same thing as long as it is held open.
    pub(super) fn identity(&self) -> (u64, u64) {
        (self.stamp.device, self.stamp.inode)
    }
}

/// Opens a folder by one name, refusing links.
pub(super) fn open_folder(dir: impl AsFd, name: impl Arg + Copy) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(&dir, name, flags, Mode::empty()) {
        // Linux says ENOTDIR of a link here, and callers must tell a link from a file.
        Err(Errno::NOTDIR) if is_link(&dir, name) => Err(Errno::LOOP),
        other => other,
    }
}

/// Opens a file by one name for reading, refusing links and never waiting for the other end of a pipe.
pub(super) fn open_file(dir: impl AsFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, name, READ, Mode::empty())
}

/// Creates a file that must not exist yet.
pub(super) fn create_file(dir: impl AsFd, name: &str, mode: u32) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&dir, name, flags, Mode::from_raw_mode(mode as _))?;
    calls::created(&dir, name, &file);
    Ok(file)
}

/// Opens a file for reading and writing, making it where there is none.
pub(super) fn open_or_create_file(dir: impl AsFd, name: &str, mode: u32) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&dir, name, flags, Mode::from_raw_mode(mode as _))?;
    calls::created(&dir, name, &file);
    Ok(file)
}

/// Makes a folder.
pub(super) fn make_folder(dir: impl AsFd, name: &str, mode: Mode) -> Result<(), Errno> {
    rustix::fs::mkdirat(&dir, name, mode)?;
    calls::made_folder(&dir, name);
    Ok(())
}

/// Makes a symbolic link whose target is `text`.
pub(super) fn make_link(text: &str, dir: impl AsFd, name: &str) -> Result<(), Errno> {
    rustix::fs::symlinkat(text, &dir, name)?;
    calls::linked_to_text(&dir, name, text);
    Ok(())
}

/// Renames as `rename(2)` does: what stands at the new name is replaced. For names of espejo's own only.
pub(super) fn rename(from: (BorrowedFd<'_>, &str), to: (BorrowedFd<'_>, &str)) -> Result<(), Errno> {
    rustix::fs::renameat(from.0, from.1, to.0, to.1)?;
    calls::renamed(from, to);
    Ok(())
}

/// Removes a file or a link.
pub(super) fn remove_file(dir: impl AsFd, name: impl Arg + Copy) -> Result<(), Errno> {
    rustix::fs::unlinkat(&dir, name, AtFlags::empty())?;
    calls::removed(&dir, name);
    Ok(())
}

/// As [`remove_file`]; a name that is free already is no error.
pub(super) fn remove_if_there(dir: impl AsFd, name: impl Arg + Copy) -> Result<(), Errno> {
    match remove_file(dir, name) {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// Removes an empty folder.
pub(super) fn remove_folder(dir: impl AsFd, name: impl Arg + Copy) -> Result<(), Errno> {
    rustix::fs::unlinkat(&dir, name, AtFlags::REMOVEDIR)?;
    calls::removed(&dir, name);
    Ok(())
}

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens the folder at `path` beneath `root`; no component may be a link. `path` is not empty.
pub(super) fn open_folder_beneath(
    root: impl AsFd,
    path: &(impl AsRef<[u8]> + ?Sized),
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if planted("link-followed") {
        return rustix::fs::openat(root, path.as_ref(), flags, Mode::empty());
    }
    match beneath(&root, path.as_ref(), flags) {
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => step_by_step(root, path),
        other => other,
    }
}

/// Opens the file at `path` beneath `root` for reading; no component may be a link. `path` is not empty.
pub(super) fn open_file_beneath(root: impl AsFd, path: &str) -> Result<OwnedFd, Errno> {
    match beneath(&root, path.as_bytes(), READ) {
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => match path.rsplit_once('/') {
            Some((parent, name)) => open_file(step_by_step(root, parent)?, name),
            None => open_file(root, path),
        },
        other => other,
    }
}

/// `openat2` may be missing (before Linux 5.6), forbidden by a sandbox (EPERM), or give up when something is renamed
/// meanwhile (EAGAIN); then the path is walked component by component, which refuses the same things.
fn beneath(root: impl AsFd, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)
}

/// The folder at `path` beneath `root`, opened one component at a time.
pub(super) fn step_by_step(root: impl AsFd, path: &(impl AsRef<[u8]> + ?Sized)) -> Result<OwnedFd, Errno> {
    let mut at: Option<OwnedFd> = None;
    for name in path.as_ref().split(|byte| *byte == b'/') {
        let here = at.as_ref().map_or(root.as_fd(), AsFd::as_fd);
        at = Some(open_folder(here, name)?);
    }
    at.ok_or(Errno::INVAL)
}

fn is_link(dir: impl AsFd, name: impl Arg) -> bool {
    look_at(dir, name).is_ok_and(|look| look.kind == EntryKind::Other)
}

/// Metadata of a name, not following a link.
pub(super) fn look_at(dir: impl AsFd, name: impl Arg) -> Result<Look, Errno> {
    statx(dir, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT)
}

/// Metadata of an open file or folder.
pub(super) fn look_of(file: impl AsFd) -> Result<Look, Errno> {
    statx(file, c"", AtFlags::EMPTY_PATH)
}

fn statx(dir: impl AsFd, name: impl Arg, flags: AtFlags) -> Result<Look, Errno> {
    use rustix::fs::{StatxFlags, StatxTimestamp};
    let want = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let found = rustix::fs::statx(dir, name, flags, want)?;
    let ns = |time: StatxTimestamp| nanoseconds(time.tv_sec, i64::from(time.tv_nsec));
    let born = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
    Ok(Look {
        stamp: Stamp {
            device: rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            size: found.stx_size,
            modified_ns: ns(found.stx_mtime),
            changed_ns: ns(found.stx_ctime),
            born_ns: if born { ns(found.stx_btime) } else { 0 },
        },
        kind: kind(FileType::from_raw_mode(found.stx_mode.into())),
        mode: u32::from(found.stx_mode) & 0o777,
        links: found.stx_nlink.into(),
        owner: (found.stx_uid, found.stx_gid),
    })
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

fn kind(of: FileType) -> EntryKind {
    match of {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        _ => EntryKind::Other,
    }
}

/// The names in an open folder, without `.` and `..`, in the order the file system gives them.
pub(super) fn names(dir: BorrowedFd<'_>, mut each: impl FnMut(&CStr)) -> Result<(), Errno> {
    let mut list = rustix::fs::Dir::read_from(dir)?;
    while let Some(entry) = list.read() {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            each(name);
        }
    }
    Ok(())
}

/// As [`names`], with what each is, as far as the file system says, of a folder that was opened for this alone: it is
/// read on from where its descriptor stands. `room` is where the system puts the names, [`NAMES_ROOM`] bytes of it, used
/// again and again.
pub(super) fn names_once(
    dir: BorrowedFd<'_>,
    room: &mut Vec<u8>,
    mut each: impl FnMut(&CStr, FileType),
) -> Result<(), Errno> {
    room.clear();
    room.reserve(NAMES_ROOM);
    let mut list = rustix::fs::RawDir::new(dir, room.spare_capacity_mut());
    while let Some(entry) = list.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            each(name, entry.file_type());
        }
    }
    Ok(())
}

/// A hundred names of the longest kind: most folders are listed with one call.
const NAMES_ROOM: usize = 32 << 10;

/// What may be used of a file system; tests switch it off to walk the weaker ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Abilities {
    /// Renames between `.espejo` and the target.
    pub(super) one_disk: bool,
    /// `RENAME_EXCHANGE`.
    pub(super) exchange: bool,
    /// `RENAME_NOREPLACE`.
    pub(super) no_replace: bool,
}

/// Renames onto a name that must be free. `from` is one that no other program saves to.
pub(super) fn rename_new(
    from: (BorrowedFd<'_>, &str),
    to: (BorrowedFd<'_>, &str),
    can: Abilities,
) -> Result<(), Errno> {
    if let Some(done) = rename_at_once(from, to, can) {
        return done;
    }
    // Killed between the two calls, both names stay: a copy too many, which is better than an overwritten file.
    if look_at(from.0, from.1)?.kind == EntryKind::File
        && let Some(linked) = link_new(from, to)
    {
        return linked.and_then(|()| remove_file(from.0, from.1));
    }
    rename_after_look(from, to)
}

/// Renames onto a name that must be free, in one step; `None` where the file system cannot.
pub(super) fn rename_at_once(
    from: (BorrowedFd<'_>, &str),
    to: (BorrowedFd<'_>, &str),
    can: Abilities,
) -> Option<Result<(), Errno>> {
    if can.no_replace { rename_with(from, to, RenameFlags::NOREPLACE) } else { None }
}

fn rename_with(
    from: (BorrowedFd<'_>, &str),
    to: (BorrowedFd<'_>, &str),
    how: RenameFlags,
) -> Option<Result<(), Errno>> {
    match rustix::fs::renameat_with(from.0, from.1, to.0, to.1, how) {
        Err(error) if is_unsupported(error) => None,
        Ok(()) => {
            if how == RenameFlags::EXCHANGE {
                calls::exchanged(from, to)
            } else {
                calls::renamed(from, to)
            }
            Some(Ok(()))
        }
        other => Some(other),
    }
}

/// Gives a file a second name, which must be free: refused as surely as by a rename. `None` where the file system cannot.
pub(super) fn link_new(
    from: (BorrowedFd<'_>, &str),
    to: (BorrowedFd<'_>, &str),
) -> Option<Result<(), Errno>> {
    match rustix::fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty()) {
        Err(Errno::PERM | Errno::MLINK) => None,
        Err(error) if is_unsupported(error) => None,
        Ok(()) => {
            calls::linked(from, to);
            Some(Ok(()))
        }
        other => Some(other),
    }
}

/// Where there are no links either (FAT, some network disks), and for folders: a look, then a rename. Something that appears
/// between the two is replaced; nothing better exists there.
pub(super) fn rename_after_look(
    from: (BorrowedFd<'_>, &str),
    to: (BorrowedFd<'_>, &str),
) -> Result<(), Errno> {
    match look_at(to.0, to.1) {
        Err(Errno::NOENT) => rename(from, to),
        Ok(_) => Err(Errno::EXIST),
        Err(error) => Err(error),
    }
}

/// Swaps two names; `None` where the file system cannot.
pub(super) fn exchange(
    one: (BorrowedFd<'_>, &str),
    other: (BorrowedFd<'_>, &str),
    can: Abilities,
) -> Option<Result<(), Errno>> {
    if can.exchange { rename_with(one, other, RenameFlags::EXCHANGE) } else { None }
}

fn is_unsupported(error: Errno) -> bool {
    // Two names for one number on Linux, two numbers elsewhere.
    error == Errno::OPNOTSUPP || matches!(error, Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
}

/// Makes a folder's entries durable. File systems that cannot sync a folder keep them in order by themselves.
pub(super) fn sync_folder(dir: impl AsFd) -> Result<(), Errno> {
    match rustix::fs::fsync(&dir) {
        Err(error) if is_unsupported(error) => Ok(()),
        other => other.inspect(|()| calls::synced(&dir)),
    }
}

/// Makes a file's content durable.
pub(super) fn sync_file(file: impl AsFd) -> Result<(), Errno> {
    #[cfg(target_vendor = "apple")]
    rustix::fs::fsync(&file)?;
    #[cfg(not(target_vendor = "apple"))]
    rustix::fs::fdatasync(&file)?;
    calls::synced(&file);
    Ok(())
}

/// Gives `new` the owner, permissions, access list and tags of `old`, as far as this user may: what cannot be carried
/// over does not stop the write, as with any editor that saves by renaming.
pub(super) fn carry_over(old: impl AsFd, new: impl AsFd, look: &Look) -> Result<(), Errno> {
    use rustix::fs::{Gid, Uid, XattrFlags};
    let mine = look_of(&new)?;
    if mine.owner != look.owner {
        let (user, group) = (Uid::from_raw(look.owner.0), Gid::from_raw(look.owner.1));
        if rustix::fs::fchown(&new, Some(user), Some(group)).is_err() && mine.owner.1 != look.owner.1 {
            // Another user's file in a shared folder: the group alone may be allowed; if not, it is this user's now.
            rustix::fs::fchown(&new, None, Some(group)).ok();
        }
    }
    set_mode(&new, mine.mode, look.mode)?;
    let mut list = vec![0; 64 * 1024];
    let Ok(length) = rustix::fs::flistxattr(&old, list.as_mut_slice()) else { return Ok(()) };
    for name in list[..length].split(|byte| *byte == 0).filter(|name| is_the_users(name)) {
        let mut value = vec![0; 64 * 1024];
        if let Ok(size) = rustix::fs::fgetxattr(&old, name, value.as_mut_slice()) {
            rustix::fs::fsetxattr(&new, name, &value[..size], XattrFlags::empty()).ok();
        }
    }
    Ok(())
}

/// Gives an open file of ours, which has the permissions `now`, other ones. Disks whose permissions are made up (FUSE, SMB, FAT,
/// Android) refuse every `fchmod`, also one that would change nothing. A refusal counts only where the file would stay
/// open to users whom `mode` keeps out.
pub(super) fn set_mode(file: impl AsFd, now: u32, mode: u32) -> Result<(), Errno> {
    if now == mode {
        return Ok(());
    }
    match rustix::fs::fchmod(file, Mode::from_raw_mode(mode as _)) {
        Err(error) if now & !mode & 0o077 == 0 => {
            tracing::debug!("a file keeps the permissions {now:o}: {}", super::errors::words(error));
            Ok(())
        }
        other => other,
    }
}

fn is_the_users(attribute: &[u8]) -> bool {
    attribute.starts_with(b"user.") || attribute == b"system.posix_acl_access"
}
