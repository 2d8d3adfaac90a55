//! How often this mirror was taken up and changed, noted in `.espejo/runs` beside the state's own count. Where the two differ,
//! one of them is an older copy: a backup that was put back.

use std::fs::File;
use std::io::Read;

use rustix::fd::AsFd;
use rustix::io::Errno;

use super::root::{Root, own_path};
use super::{errors, read, sys};
use crate::model::DiskError;

const FILE: &str = "runs";
const PART: &str = "runs.new";
/// What keeps a repository of the user's around the mirror from restoring an earlier number with a checkout.
const IGNORED_BY_GIT: &str = ".gitignore";

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
    let write = || {
        sys::remove_if_there(&root.own, PART)?;
        let file = sys::create_file(&root.own, PART, 0o600)?;
        read::write_all(&file, format!("{number}\n").as_bytes())?;
        sys::sync_file(&file)?;
        sys::rename((root.own.as_fd(), PART), (root.own.as_fd(), FILE))?;
        sys::sync_folder(&root.own)
    };
    hide_from_git(root).and_then(|()| write()).map_err(|error| errors::failed(&own_path(FILE), error))
}

/// Lets git pass over espejo's own folder, unless the user has said otherwise there.
fn hide_from_git(root: &Root) -> Result<(), Errno> {
    match sys::create_file(&root.own, IGNORED_BY_GIT, 0o600) {
        Ok(file) => read::write_all(&file, b"*\n"),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}
