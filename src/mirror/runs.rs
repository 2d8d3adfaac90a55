//! How often this mirror was taken up and changed, noted in `.espejo/runs` beside the state's own count. Where the two differ,
//! one of them is an older copy: a backup that was put back.

use std::fs::File;
use std::io::Read;

use rustix::fd::AsFd;
use rustix::io::Errno;

use super::root::{Root, own_path};
use super::{errors, read, sys};
use crate::model::{DiskError, EntryKind};

const FILE: &str = "runs";
const PART: &str = "runs.new";
/// What keeps a repository of the user's around the mirror from restoring an earlier number with a checkout.
const IGNORED_BY_GIT: &str = ".gitignore";
const IGNORED_BY_GIT_PART: &str = "gitignore.new";

/// The number that is noted; `None` where there is none that could be understood.
pub(super) fn noted(root: &Root) -> Option<u64> {
    let mut text = String::new();
    let file = sys::open_file(&root.own, FILE).ok()?;
    File::from(file).take(64).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Whether the folder has a lower number, or none.
pub(super) fn is_behind(root: &Root, number: u64) -> bool {
    noted(root).is_none_or(|found| found < number)
}

/// Notes a number, whole or not at all.
pub(super) fn note(root: &Root, number: u64) -> Result<(), DiskError> {
    hide_from_git(root)
        .and_then(|()| put(root, (PART, FILE), format!("{number}\n").as_bytes()))
        .map_err(|error| errors::failed(&own_path(FILE), error))
}

/// Notes a number that is below every other: the folder then passes for an older copy.
pub(super) fn note_oldest(root: &Root) -> Result<(), Errno> {
    put(root, (PART, FILE), b"0\n")
}

/// Writes a file of ours by way of another name.
fn put(root: &Root, (part, name): (&str, &str), bytes: &[u8]) -> Result<(), Errno> {
    sys::remove_if_there(&root.own, part)?;
    let file = sys::create_file(&root.own, part, 0o600)?;
    read::write_all(&file, bytes)?;
    sys::sync_file(&file)?;
    sys::rename((root.own.as_fd(), part), (root.own.as_fd(), name))?;
    sys::sync_folder(&root.own)
}

/// Lets git pass over espejo's own folder, unless the user has said otherwise there. An empty file says nothing: a kill or a power
/// cut left it.
fn hide_from_git(root: &Root) -> Result<(), Errno> {
    match sys::look_at(&root.own, IGNORED_BY_GIT) {
        Ok(look) if look.kind != EntryKind::File || look.stamp.size > 0 => Ok(()),
        Ok(_) | Err(Errno::NOENT) => put(root, (IGNORED_BY_GIT_PART, IGNORED_BY_GIT), b"*\n"),
        Err(error) => Err(error),
    }
}
