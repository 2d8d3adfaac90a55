//! The changes that the mirror asked of the file system, in order, for tests that cut the power after each of them
//! (`tests/power.rs`). Outside tests nothing is recorded and nothing is left of this file.

#[cfg(not(test))]
pub(super) use off::*;
#[cfg(test)]
pub(super) use on::*;

#[cfg(not(test))]
mod off {
    use rustix::fd::{AsFd, BorrowedFd};
    use rustix::path::Arg;

    type At<'a> = (BorrowedFd<'a>, &'a str);

    pub(in super::super) fn created(_dir: impl AsFd, _name: &str, _file: impl AsFd) {}
    pub(in super::super) fn made_folder(_dir: impl AsFd, _name: &str) {}
    pub(in super::super) fn linked_to_text(_dir: impl AsFd, _name: &str, _text: &str) {}
    pub(in super::super) fn renamed(_from: At<'_>, _to: At<'_>) {}
    pub(in super::super) fn exchanged(_one: At<'_>, _other: At<'_>) {}
    pub(in super::super) fn linked(_from: At<'_>, _to: At<'_>) {}
    pub(in super::super) fn removed(_dir: impl AsFd, _name: impl Arg) {}
    pub(in super::super) fn wrote(_file: impl AsFd) {}
    pub(in super::super) fn synced(_what: impl AsFd) {}
}

#[cfg(test)]
mod on {
    use std::cell::RefCell;
    use std::os::fd::AsRawFd;

    use rustix::fd::{AsFd, BorrowedFd};
    use rustix::path::Arg;

    use super::super::sys::{look_at, look_of};

    type At<'a> = (BorrowedFd<'a>, &'a str);

    /// A name in a folder, which is known by its inode.
    pub(in super::super) type Name = (u64, String);

    /// A change that was carried out. Numbers are inodes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(in super::super) enum Call {
        Created(Name, u64),
        MadeFolder(Name, u64),
        LinkedToText(Name, String),
        Renamed(Name, Name),
        Exchanged(Name, Name),
        Linked(Name, Name),
        Removed(Name),
        /// A file holds these bytes now.
        Wrote(u64, Vec<u8>),
        /// `fsync` or `fdatasync` of a file or folder.
        Synced(u64),
    }

    thread_local! {
        static RECORD: RefCell<Option<Vec<Call>>> = const { RefCell::new(None) };
    }

    /// Everything that `act` asks of the file system on this thread.
    pub(in super::super) fn record<T>(act: impl FnOnce() -> T) -> (T, Vec<Call>) {
        RECORD.set(Some(Vec::new()));
        let done = act();
        (done, RECORD.take().unwrap_or_default())
    }

    fn note(call: impl FnOnce() -> Call) {
        let is_on = RECORD.with_borrow(Option::is_some);
        if is_on {
            let call = call();
            RECORD.with_borrow_mut(|record| record.get_or_insert_default().push(call));
        }
    }

    fn inode(of: impl AsFd) -> u64 {
        look_of(of).unwrap().stamp.inode
    }

    fn name(at: At<'_>) -> Name {
        (inode(at.0), at.1.to_owned())
    }

    pub(in super::super) fn created(dir: impl AsFd, name: &str, file: impl AsFd) {
        note(|| Call::Created((inode(dir), name.to_owned()), inode(file)));
    }

    pub(in super::super) fn made_folder(dir: impl AsFd, name: &str) {
        note(|| {
            let made = look_at(&dir, name).unwrap().stamp.inode;
            Call::MadeFolder((inode(dir), name.to_owned()), made)
        });
    }

    pub(in super::super) fn linked_to_text(dir: impl AsFd, name: &str, text: &str) {
        note(|| Call::LinkedToText((inode(dir), name.to_owned()), text.to_owned()));
    }

    pub(in super::super) fn renamed(from: At<'_>, to: At<'_>) {
        note(|| Call::Renamed(name(from), name(to)));
    }

    pub(in super::super) fn exchanged(one: At<'_>, other: At<'_>) {
        note(|| Call::Exchanged(name(one), name(other)));
    }

    pub(in super::super) fn linked(from: At<'_>, to: At<'_>) {
        note(|| Call::Linked(name(from), name(to)));
    }

    pub(in super::super) fn removed(dir: impl AsFd, name: impl Arg) {
        note(|| Call::Removed((inode(dir), name.to_string_lossy().into_owned())));
    }

    pub(in super::super) fn wrote(file: impl AsFd) {
        note(|| {
            let fd = file.as_fd().as_raw_fd();
            // Most of these files are open for writing only.
            Call::Wrote(inode(&file), std::fs::read(format!("/proc/self/fd/{fd}")).unwrap())
        });
    }

    pub(in super::super) fn synced(what: impl AsFd) {
        note(|| Call::Synced(inode(what)));
    }
}
