//! Where files stand aside in the middle of an act: `.espejo/tmp`, and the notes that let the next start finish or
//! take back what a kill cut off.
//!
//! One act has one number and up to four names made of it:
//!
//! - `N.part`: our text while it is being written, worth nothing;
//! - `N.held`: something that may be a person's text, not yet known to be what the act expected;
//! - `N.done`: what an act has replaced, after the check. It stays for a while because a program that opened the file
//!   before the act may still write to it;
//! - `N.note`: what the act is doing, made before `N.held` appears and gone after it. A note is a symbolic link whose
//!   *target is the text*: one call makes it whole or not at all, and the file system keeps it in order with the renames
//!   that follow. Where links cannot be made it is a file.
//!
//! When the target lies on another file system than `.espejo` (a disk mounted inside the mirror), `part` and `held`
//! stand beside the target under [`TEMP_PREFIX`], which scans and the watcher pass over.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

use super::root::{Root, own_path};
use super::{errors, read, sys};
use crate::model::{ContentHash, DiskError, MirrorPath, planted};

/// Names that begin so are espejo's own, anywhere in the mirror.
pub(super) const TEMP_PREFIX: &str = ".espejo-tmp-";

/// The folder in `.espejo`.
pub(super) const FOLDER: &str = "tmp";

/// What an act was doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Note {
    /// `held` is swapped with `path`, where `expect` should be; `new` is our text.
    Swap { path: MirrorPath, expect: ContentHash, new: ContentHash },
    /// `path` is taken away into `held`, to be replaced; it should be `expect`.
    Take { path: MirrorPath, expect: ContentHash },
    /// `path` is taken away into `held`, to go to the trash.
    Trash { path: MirrorPath },
    /// `from` goes by way of `held` to `to`, or has that name already.
    Move { from: MirrorPath, to: MirrorPath },
    /// Our text for `path` is written beside it.
    Part { path: MirrorPath },
}

impl Note {
    /// The path that the act is about.
    pub(super) fn path(&self) -> &MirrorPath {
        match self {
            Self::Swap { path, .. }
            | Self::Take { path, .. }
            | Self::Trash { path }
            | Self::Part { path } => path,
            Self::Move { from, .. } => from,
        }
    }

    /// Fields are separated by `//`, which no path holds.
    fn to_text(&self) -> String {
        match self {
            Self::Swap { path, expect, new } => format!("swap//{}//{}//{path}", hex(*expect), hex(*new)),
            Self::Take { path, expect } => format!("take//{}//{path}", hex(*expect)),
            Self::Trash { path } => format!("trash//{path}"),
            Self::Move { from, to } => format!("move//{from}//{to}"),
            Self::Part { path } => format!("part//{path}"),
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        let path = |text: &str| MirrorPath::new(text).ok();
        let fields: Vec<&str> = text.split("//").collect();
        Some(match *fields.as_slice() {
            ["swap", expect, new, at] => {
                Self::Swap { path: path(at)?, expect: unhex(expect)?, new: unhex(new)? }
            }
            ["take", expect, at] => Self::Take { path: path(at)?, expect: unhex(expect)? },
            ["trash", at] => Self::Trash { path: path(at)? },
            ["move", from, to] => Self::Move { from: path(from)?, to: path(to)? },
            ["part", at] => Self::Part { path: path(at)? },
            _ => return None,
        })
    }
}

fn hex(hash: ContentHash) -> String {
    hash.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<ContentHash> {
    let bytes: Option<Vec<u8>> =
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect();
    ContentHash::from_slice(&bytes?)
}

/// One act's names.
#[derive(Debug)]
pub(super) struct Aside {
    tmp: OwnedFd,
    number: u64,
    /// The target's folder, when the names stand there.
    beside: Option<OwnedFd>,
}

impl Aside {
    pub(super) fn new(root: &Root, number: u64, beside: Option<OwnedFd>) -> Result<Self, DiskError> {
        Ok(Self { tmp: root.own_folder(FOLDER)?, number, beside })
    }

    pub(super) fn is_beside(&self) -> bool {
        self.beside.is_some()
    }

    pub(super) fn dir(&self) -> BorrowedFd<'_> {
        self.beside.as_ref().unwrap_or(&self.tmp).as_fd()
    }

    /// `.espejo/tmp` itself.
    pub(super) fn tmp(&self) -> BorrowedFd<'_> {
        self.tmp.as_fd()
    }

    pub(super) fn part(&self) -> String {
        self.name("part")
    }

    pub(super) fn held(&self) -> String {
        self.name("held")
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn done(&self) -> String {
        self.name("done")
    }

    fn name(&self, role: &str) -> String {
        let prefix = if self.is_beside() { TEMP_PREFIX } else { "" };
        format!("{prefix}{}.{role}", self.number)
    }

    fn note_name(&self) -> String {
        format!("{}.note", self.number)
    }

    /// Writes down what is about to happen.
    pub(super) fn note(&self, note: &Note) -> Result<(), DiskError> {
        if planted("act-not-noted") {
            return Ok(());
        }
        let (name, text) = (self.note_name(), note.to_text());
        let written = match sys::make_link(&text, &self.tmp, &name) {
            // No links here (FAT, some network disks), or a text longer than a link can be.
            Err(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL | Errno::NAMETOOLONG) => {
                sys::create_file(&self.tmp, &name, 0o600)
                    .and_then(|file| read::write_all(file, text.as_bytes()))
            }
            other => other,
        };
        written.map_err(|error| errors::failed(note.path(), error))
    }

    /// What was written down; `None` when nothing was, or nothing that can be understood.
    pub(super) fn read_note(&self) -> Option<Note> {
        let name = self.note_name();
        let text = match rustix::fs::readlinkat(&self.tmp, name.as_str(), Vec::new()) {
            Ok(text) => text.into_string().ok()?,
            Err(_) => {
                let (bytes, _, _) = read::whole(sys::open_file(&self.tmp, &name), &own_path(FOLDER)).ok()?;
                String::from_utf8(bytes).ok()?
            }
        };
        Note::from_text(&text)
    }

    /// The act is over: nothing is left to finish.
    pub(super) fn forget(&self) -> Result<(), DiskError> {
        self.remove_in(self.tmp(), &self.note_name())
    }

    /// Removes our unused text.
    pub(super) fn drop_part(&self) -> Result<(), DiskError> {
        self.remove_in(self.dir(), &self.part())
    }

    /// Removes a `held` that has another name.
    pub(super) fn drop_held(&self) -> Result<(), DiskError> {
        self.remove_in(self.dir(), &self.held())
    }

    /// Lets go of a `held` that is known text. It stays as `done` for a while (see the head of this file), except
    /// beside its target, where nothing would find it again after the folder was renamed.
    pub(super) fn retire(&self) -> Result<(), DiskError> {
        if self.is_beside() {
            self.remove_in(self.dir(), &self.held())?;
            return self.forget();
        }
        sys::rename((self.tmp(), &self.held()), (self.tmp(), &self.done()))
            .map_err(|error| errors::failed(&own_path(FOLDER), error))
    }

    fn remove_in(&self, dir: BorrowedFd<'_>, name: &str) -> Result<(), DiskError> {
        sys::remove_if_there(dir, name).map_err(|error| errors::failed(&own_path(FOLDER), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_reads_back_as_it_was_written() {
        let path = |text| MirrorPath::new(text).unwrap();
        let (one, two) = (ContentHash::of(b"1"), ContentHash::of(b"2"));
        for note in [
            Note::Swap { path: path("a/b c\n/ñ.md"), expect: one, new: two },
            Note::Take { path: path("x"), expect: one },
            Note::Trash { path: path("y/ /x") },
            Note::Move { from: path("a"), to: path("A/b") },
            Note::Part { path: path("a/b") },
        ] {
            assert_eq!(Note::from_text(&note.to_text()), Some(note));
        }
        for text in ["", "swap", "take//xyz//a", "take//00//a", "swap////", "move//../a//b", "take//é//a"] {
            assert_eq!(Note::from_text(text), None, "{text:?}");
        }
    }
}
