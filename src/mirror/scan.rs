//! `Effect::Scan`: a walk over the whole mirror that says what is there and decides nothing.
//!
//! Invariants: links are never followed; what could not be looked at is in `unreadable`, never silently absent; a walk
//! during which folders changed is repeated, because an entry that moves from a folder not yet walked to one already
//! walked is seen in neither. When the folders do not come to rest, the root itself is named in `unreadable`: everything
//! listed is there, but nothing unlisted may be taken for gone. A folder whose name is no path of the mirror is not entered.

use std::cmp::Ordering;
use std::ffi::CStr;
use std::sync::Arc;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::act::Steps;
use super::names::{Met, Names};
use super::root::{Place, Root};
use super::{aside, errors, marker, read, sys};
use crate::model::{
    DiskError, Entry, EntryKind, Hides, IGNORE_FILE, IGNORE_FILE_MOST, IgnoreFile, MirrorPath, RootState,
    Scan, Stamp, Timestamp, Unreadable, is_tool_folder,
};

/// Walks at most this often until nothing changed during one walk.
const WALKS_MAX: usize = 4;

/// How coarse modification times can be (FAT: two seconds). A folder that was changed longer ago than this shows every
/// later change in its modification time.
const COARSE_NS: i64 = 2_000_000_000;

/// A folder in so few others keeps its descriptor until the folders in it are open. There are no more such descriptors at a
/// time than folders above one.
const HELD_BELOW: usize = 32;

/// Looks at everything.
pub(super) fn scan(
    place: &Place,
    root: &Root,
    mirror_id: &str,
    now: Timestamp,
    steps: &Steps,
    names: &mut Names,
) -> Scan {
    let young_ns = now.0.saturating_mul(1_000_000).saturating_sub(COARSE_NS);
    let mut walks = 0;
    let mut walk = loop {
        let mut walk = Walk::new(young_ns, names);
        walks += 1;
        if let Err(error) = walk.folder(root, Ahead::root()) {
            return empty(RootState::Unreadable(errors::words(error)));
        }
        if let Err(error) = walk.all_ahead(root, steps) {
            return empty(RootState::Unreadable(error.to_string()));
        }
        walk.torn = !walk.is_calm(root);
        if !walk.torn || walks == WALKS_MAX {
            break walk;
        }
    };
    // The root may have been removed, unmounted or swapped during the walk; then what was seen is worth nothing.
    match place.open(mirror_id) {
        Ok(now) if now.identity == root.identity => {}
        Ok(_) => return empty(RootState::Unreadable("it was replaced during the scan".to_owned())),
        Err(state) => return empty(state),
    }
    if walk.torn {
        walk.unreadable(MirrorPath::root(), "folders kept changing during the scan".to_owned());
    }
    walk.unreadable.sort_by(|a, b| (&a.path, &a.why).cmp(&(&b.path, &b.why)));
    walk.unreadable.dedup();
    let Walk { changed, entries, unreadable, listed, .. } = walk;
    names.walked(changed, listed.iter().map(|listed| &listed.place));
    debug_assert!(entries.is_sorted_by(|a, b| a.path < b.path), "entries come in the order of their paths");
    Scan {
        root: RootState::Ready,
        entries,
        unreadable,
        root_identity: root.identity,
        clock: now,
        ignore_file: ignore_file(root),
    }
}

/// The file of patterns, read whole between two equal looks.
fn ignore_file(root: &Root) -> IgnoreFile {
    let Ok(path) = MirrorPath::new(IGNORE_FILE) else { return IgnoreFile::Absent };
    for _ in 0..WALKS_MAX {
        return match read::whole(sys::open_file_beneath(&root.dir, IGNORE_FILE), &path) {
            Ok((bytes, ..)) if bytes.len() > IGNORE_FILE_MOST => {
                IgnoreFile::Unreadable("it is larger than 1 MB".to_owned())
            }
            Ok((bytes, look, _)) => match String::from_utf8(bytes) {
                Ok(text) => IgnoreFile::Text(text, look.stamp),
                Err(_) => IgnoreFile::Unreadable("it is not UTF-8 text".to_owned()),
            },
            Err(DiskError::Missing(_)) => IgnoreFile::Absent,
            Err(DiskError::Changed(_)) => continue,
            Err(DiskError::NotOrdinary(_)) => IgnoreFile::Unreadable("it is not an ordinary file".to_owned()),
            Err(error) => IgnoreFile::Unreadable(error.to_string()),
        };
    }
    IgnoreFile::Unreadable("it kept changing while espejo read it".to_owned())
}

/// The answer when the root is not to be trusted.
pub(super) fn empty(root: RootState) -> Scan {
    Scan { root, ..Scan::default() }
}

struct Walk<'a> {
    /// The paths of the last walk.
    known: &'a Names,
    /// The names of the folder that is being listed.
    met: Met<'a>,
    /// The names in each folder in which they are not the same as in the last walk.
    changed: Vec<(MirrorPath, Box<[MirrorPath]>)>,
    /// In the order of their paths.
    entries: Vec<Entry>,
    /// What is in the folder that is being listed.
    inside: Vec<Step>,
    unreadable: Vec<Unreadable>,
    /// What is still to be taken in, the next one last.
    ahead: Vec<Step>,
    listed: Vec<Listed>,
    /// Modification times from here on are young.
    young_ns: i64,
    torn: bool,
    room: Vec<u8>,
    text: String,
}

/// One step of a walk.
enum Step {
    /// To take in an entry. A folder's stamp comes with its listing.
    See(Entry),
    /// To list a folder.
    List(Ahead),
}

impl Step {
    /// The order in which the paths of all entries come in order: what is in a folder comes where its path with a `/` does,
    /// which may be after other names that begin alike. Both are in one folder, whose path has `from` bytes.
    fn cmp(&self, other: &Self, from: usize) -> Ordering {
        let ((a, a_end), (b, b_end)) = (self.key(), other.key());
        let (a, b) = (&a[from..], &b[from..]);
        let shared = a.len().min(b.len());
        a[..shared]
            .cmp(&b[..shared])
            .then_with(|| a[shared..].iter().chain(a_end).cmp(b[shared..].iter().chain(b_end)))
    }

    fn key(&self) -> (&[u8], &[u8]) {
        match self {
            Self::See(entry) => (entry.path.as_str().as_bytes(), b""),
            Self::List(ahead) => (ahead.place.as_str().as_bytes(), b"/"),
        }
    }
}

/// A folder to be listed.
struct Ahead {
    place: MirrorPath,
    /// The folder that it is in, open. To find it by its path from the root takes longer.
    above: Option<Arc<OwnedFd>>,
}

impl Ahead {
    fn root() -> Self {
        Self { place: MirrorPath::root(), above: None }
    }

    fn open(&self, root: &Root) -> Result<OwnedFd, Errno> {
        match &self.above {
            Some(above) => sys::open_folder(above, self.place.name()),
            None => open(root, &self.place),
        }
    }
}

/// Opens a folder anew, the root as well: a descriptor remembers how far it has been listed.
fn open(root: &Root, place: &MirrorPath) -> Result<OwnedFd, Errno> {
    if place.is_root() {
        return sys::open_folder(&root.dir, ".");
    }
    sys::open_folder_beneath(&root.dir, place.as_str().as_bytes())
}

/// A folder that was listed.
struct Listed {
    place: MirrorPath,
    /// From before the listing.
    identity: (u64, u64),
    /// From before the listing.
    modified_ns: i64,
    /// What the listing said, for a folder whose modification time is so young that a change may leave it as it is.
    names: Option<Vec<u8>>,
}

impl<'a> Walk<'a> {
    fn new(young_ns: i64, known: &'a Names) -> Self {
        Self {
            known,
            met: Met::default(),
            changed: Vec::new(),
            // All at once: a list that grows is copied again and again.
            entries: Vec::with_capacity(known.count()),
            inside: Vec::new(),
            unreadable: Vec::new(),
            ahead: Vec::new(),
            listed: Vec::new(),
            young_ns,
            torn: false,
            room: Vec::new(),
            text: String::new(),
        }
    }

    /// Takes in whatever is ahead, and what that brings.
    fn all_ahead(&mut self, root: &Root, steps: &Steps) -> Result<(), DiskError> {
        while let Some(step) = self.ahead.pop() {
            let ahead = match step {
                Step::See(entry) => {
                    self.entries.push(entry);
                    continue;
                }
                Step::List(ahead) => ahead,
            };
            steps.reach("next folder")?;
            let place = ahead.place.clone();
            if let Err(error) = self.folder(root, ahead)
                && error != Errno::NOENT
            {
                self.unreadable(place, errors::words(error));
            }
        }
        Ok(())
    }

    /// What could not be looked at, and may hold anything.
    fn unreadable(&mut self, path: MirrorPath, why: String) {
        let at = self.entries.binary_search_by(|entry| entry.path.cmp(&path));
        let object = at.ok().map(|at| self.entries[at].stamp.object());
        self.unreadable.push(Unreadable { path, why, hides: Hides::Anything, object });
    }

    /// Lists one folder.
    fn folder(&mut self, root: &Root, ahead: Ahead) -> Result<(), Errno> {
        let opened = ahead.open(root).and_then(|opened| Ok((sys::look_of(&opened)?, opened)));
        // A folder that cannot be listed is there all the same.
        let look = opened
            .as_ref()
            .map(|(look, _)| *look)
            .or_else(|_| sys::look_at(&root.dir, ahead.place.as_str().as_bytes()));
        self.saw_folder(&ahead.place, look.ok());
        let (before, opened) = opened?;
        let place = ahead.place;
        drop(ahead.above);
        let opened = Arc::new(opened);
        let mut names = (before.stamp.modified_ns >= self.young_ns).then(Vec::new);
        self.met = self.known.of(&place);
        let mut room = std::mem::take(&mut self.room);
        let listing = sys::names_once(opened.as_fd(), &mut room, |name, kind| {
            if let Some(names) = &mut names {
                names.extend_from_slice(name.to_bytes_with_nul());
            }
            self.name(&opened, &place, name, kind);
        });
        self.room = room;
        let from = place.as_str().len();
        self.inside.sort_unstable_by(|a, b| b.cmp(a, from));
        self.ahead.append(&mut self.inside);
        self.changed.extend(std::mem::take(&mut self.met).changed().map(|names| (place.clone(), names)));
        if listing.is_ok() {
            let (identity, modified_ns) = (before.identity(), before.stamp.modified_ns);
            self.listed.push(Listed { place, identity, modified_ns, names });
        }
        listing
    }

    /// Looks at a name in a folder. `kind`: what the listing said of it. A folder is looked at when it is opened.
    fn name(&mut self, dir: &Arc<OwnedFd>, folder: &MirrorPath, name: &CStr, kind: FileType) {
        let Some(path) = self.met.next(folder, name, &mut self.text) else {
            return self.nameless(dir, folder, name);
        };
        if path.name().starts_with(aside::TEMP_PREFIX)
            || folder.is_root() && path.name().eq_ignore_ascii_case(marker::FOLDER)
        {
            return;
        }
        let is_entered = || !name.to_str().is_ok_and(is_tool_folder);
        if kind == FileType::Directory && is_entered() {
            return self.enter(path, dir);
        }
        match sys::look_at(dir, name) {
            // Not every file system says in a listing what is a folder.
            Ok(look) if look.kind == EntryKind::Folder && is_entered() => self.enter(path, dir),
            Ok(look) => self.inside.push(Step::See(Entry { path, kind: look.kind, stamp: look.stamp })),
            Err(Errno::NOENT) => {}
            Err(error) => self.unreadable(path, errors::words(error)),
        }
    }

    /// A name that is no path of the mirror: what it bears is not looked into.
    fn nameless(&mut self, dir: &Arc<OwnedFd>, folder: &MirrorPath, name: &CStr) {
        let look = sys::look_at(dir, name);
        if look.is_err_and(|error| error == Errno::NOENT) {
            return;
        }
        let why = format!("a name in it is not UTF-8: {}", name.to_bytes().escape_ascii());
        let object = look.ok().map(|look| look.stamp.object());
        self.unreadable.push(Unreadable { path: folder.clone(), why, hides: Hides::Name, object });
    }

    fn enter(&mut self, path: MirrorPath, above: &Arc<OwnedFd>) {
        let depth = path.as_str().bytes().filter(|byte| *byte == b'/').count();
        let above = (depth < HELD_BELOW).then(|| Arc::clone(above));
        let stamp = Stamp::default();
        self.inside.push(Step::See(Entry { path: path.clone(), kind: EntryKind::Folder, stamp }));
        self.inside.push(Step::List(Ahead { place: path, above }));
    }

    /// Completes the entry of a folder. `None`: it is gone.
    fn saw_folder(&mut self, path: &MirrorPath, look: Option<sys::Look>) {
        let Ok(at) = self.entries.binary_search_by(|entry| entry.path.cmp(path)) else { return };
        match look {
            Some(look) => (self.entries[at].kind, self.entries[at].stamp) = (look.kind, look.stamp),
            None => drop(self.entries.remove(at)),
        }
    }

    /// Whether every listed folder is still what it was before it was listed.
    fn is_calm(&self, root: &Root) -> bool {
        self.listed.iter().all(|listed| {
            let now = match listed.place.as_str().as_bytes() {
                b"" => sys::look_of(&root.dir),
                bytes => sys::look_at(&root.dir, bytes),
            };
            now.is_ok_and(|now| {
                now.identity() == listed.identity
                    && now.stamp.modified_ns == listed.modified_ns
                    && listed
                        .names
                        .as_ref()
                        .is_none_or(|names| relist(root, &listed.place).is_ok_and(|now| now == *names))
            })
        })
    }
}

fn relist(root: &Root, place: &MirrorPath) -> Result<Vec<u8>, Errno> {
    let dir = open(root, place)?;
    let mut names = Vec::new();
    sys::names(dir.as_fd(), |name| names.extend_from_slice(name.to_bytes_with_nul()))?;
    Ok(names)
}
