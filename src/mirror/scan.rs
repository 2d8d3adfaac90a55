//! `Effect::Scan`: a walk over the whole mirror that says what is there and decides nothing.
//!
//! Invariants: links are never followed; what could not be looked at is in `unreadable`, never silently absent; a walk
//! during which folders changed is repeated, because an entry that moves from a folder not yet walked to one already
//! walked is seen in neither. When the folders do not come to rest, the root itself is named in `unreadable`: everything
//! listed is there, but nothing unlisted may be taken for gone. What bears a name that is no path of the mirror is walked
//! for its file objects alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::{str, thread};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::act::Steps;
use super::order::{Listing, in_order};
use super::root::{Place, Root};
use super::{aside, errors, marker, read, sys};
use crate::model::{
    DiskError, Entry, EntryKind, FileObject, Hides, IGNORE_FILE, IGNORE_FILE_MOST, IgnoreFile, MirrorPath,
    RootState, Scan, Timestamp, Unreadable, is_tool_folder,
};

/// Walks at most this often until nothing changed during one walk.
const WALKS_MAX: usize = 4;

/// How coarse modification times can be (FAT: two seconds). A folder that was changed longer ago than this shows every
/// later change in its modification time.
const COARSE_NS: i64 = 2_000_000_000;

/// So many folders are listed by one hand; where there are more, others help.
const ALONE: usize = 100;
/// More hands wait for each other, and for the disk.
const HANDS_MAX: usize = 4;
/// A folder in so few others keeps its descriptor until the folders in it are open. Of these there are as many at a time as
/// folders above one, for each hand.
const HELD_BELOW: usize = 32;

/// Looks at everything.
pub(super) fn scan(place: &Place, root: &Root, mirror_id: &str, now: Timestamp, steps: &Steps) -> Scan {
    let young_ns = now.0.saturating_mul(1_000_000).saturating_sub(COARSE_NS);
    let mut walk = Walk::default();
    for _ in 0..WALKS_MAX {
        walk = Walk::new(young_ns);
        if let Err(error) = walk.folder(root, Ahead::root()) {
            return empty(RootState::Unreadable(errors::words(error)));
        }
        if let Err(error) = walk.all_ahead(root, steps) {
            return empty(RootState::Unreadable(error.to_string()));
        }
        if walk.is_calm(root) {
            break;
        }
        walk.torn = true;
    }
    // The root may have been removed, unmounted or swapped during the walk; then what was seen is worth nothing.
    match place.open(mirror_id) {
        Ok(now) if now.identity == root.identity => {}
        Ok(_) => return empty(RootState::Unreadable("it was replaced during the scan".to_owned())),
        Err(state) => return empty(state),
    }
    if walk.torn {
        walk.unreadable(MirrorPath::root(), "folders kept changing during the scan".to_owned());
    }
    for ((path, name), objects) in std::mem::take(&mut walk.nameless) {
        let why = format!("a name in it is not UTF-8: {name}");
        walk.unreadable.push(Unreadable { path, why, hides: Hides::Named(objects) });
    }
    walk.unreadable.sort_by(|a, b| (&a.path, &a.why).cmp(&(&b.path, &b.why)));
    walk.unreadable.dedup();
    Scan {
        root: RootState::Ready,
        entries: in_order(walk.folders, walk.listings),
        unreadable: walk.unreadable,
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

#[derive(Default)]
struct Walk {
    folders: Vec<Entry>,
    listings: Vec<Listing>,
    /// What is in the folder that is being listed.
    inside: Vec<Entry>,
    unreadable: Vec<Unreadable>,
    /// The file objects at and beneath each name that is no path of the mirror, by its folder and its escaped bytes.
    nameless: BTreeMap<(MirrorPath, String), BTreeSet<FileObject>>,
    /// Folders still to be listed.
    ahead: Vec<Ahead>,
    listed: Vec<Listed>,
    /// Modification times from here on are young.
    young_ns: i64,
    torn: bool,
    room: Vec<u8>,
    text: String,
}

/// A folder to be listed.
struct Ahead {
    place: Folder,
    /// The folder that it is in, open. To find it by its path from the root takes longer.
    above: Option<Arc<OwnedFd>>,
}

impl Ahead {
    fn root() -> Self {
        Self { place: Folder::root(), above: None }
    }

    fn open(&self, root: &Root) -> Result<OwnedFd, Errno> {
        match &self.above {
            Some(above) => sys::open_folder(above, self.place.name()),
            None => self.place.open(root),
        }
    }
}

/// A folder, by its path beneath the root.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Folder {
    Named(MirrorPath),
    /// At or beneath a name that is no path of the mirror: its bytes, the folder that has that name, and the name.
    Nameless(Vec<u8>, (MirrorPath, String)),
}

impl Folder {
    fn root() -> Self {
        Self::Named(MirrorPath::root())
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Named(path) => path.as_str().as_bytes(),
            Self::Nameless(bytes, _) => bytes,
        }
    }

    /// Opens it anew, the root as well: a descriptor remembers how far it has been listed.
    fn open(&self, root: &Root) -> Result<OwnedFd, Errno> {
        match self.bytes() {
            b"" => sys::open_folder(&root.dir, "."),
            bytes => sys::open_folder_beneath(&root.dir, bytes),
        }
    }

    fn name(&self) -> &[u8] {
        self.bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }

    /// How many folders it is in, beneath the root.
    fn depth(&self) -> usize {
        self.bytes().iter().filter(|byte| **byte == b'/').count()
    }

    /// A name in it.
    fn join(&self, name: &CStr, room: &mut String) -> Self {
        let bytes = name.to_bytes();
        let (folder, its) = match self {
            Self::Named(folder) => {
                let text = str::from_utf8(bytes).ok();
                if let Some(path) = text.and_then(|text| folder.join_in(text, room).ok()) {
                    return Self::Named(path);
                }
                (folder.as_str().as_bytes(), (folder.clone(), bytes.escape_ascii().to_string()))
            }
            Self::Nameless(folder, its) => (folder.as_slice(), its.clone()),
        };
        let slash: &[u8] = if folder.is_empty() { b"" } else { b"/" };
        Self::Nameless([folder, slash, bytes].concat(), its)
    }
}

/// The folders that several hands have before them.
#[derive(Default)]
struct Shared {
    heap: Mutex<Heap>,
    more: Condvar,
}

#[derive(Default)]
struct Heap {
    ahead: Vec<Ahead>,
    /// How many hands list a folder now, which may bring more.
    busy: usize,
    /// How many hands have no folder to list.
    waiting: usize,
    stopped: bool,
}

impl Shared {
    fn heap(&self) -> MutexGuard<'_, Heap> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A folder to list; `None` when there is none and no thread can bring more.
    fn take(&self) -> Option<Ahead> {
        let mut heap = self.heap();
        loop {
            if heap.stopped {
                return None;
            }
            if let Some(folder) = heap.ahead.pop() {
                heap.busy += 1;
                return Some(folder);
            }
            if heap.busy == 0 {
                return None;
            }
            heap.waiting += 1;
            heap = self.more.wait(heap).unwrap_or_else(PoisonError::into_inner);
            heap.waiting -= 1;
        }
    }
}

/// One folder in one hand. However it ends, the others must not wait for it.
struct Turn<'a> {
    shared: &'a Shared,
    found: Vec<Ahead>,
    failed: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // One of them this hand takes itself: to wake another for each folder costs more than to list it.
        let has_for_others = self.found.len() > 1;
        let mut heap = self.shared.heap();
        heap.ahead.append(&mut self.found);
        heap.busy -= 1;
        heap.stopped |= self.failed || thread::panicking();
        // `notify_all` calls the system even if no hand waits.
        if heap.waiting > 0 && (has_for_others || heap.busy == 0 || heap.stopped) {
            self.shared.more.notify_all();
        }
    }
}

/// A folder that was listed.
struct Listed {
    place: Folder,
    /// From before the listing.
    identity: (u64, u64),
    /// From before the listing.
    modified_ns: i64,
    /// What the listing said, for a folder whose modification time is so young that a change may leave it as it is.
    names: Option<Vec<u8>>,
}

impl Walk {
    fn new(young_ns: i64) -> Self {
        Self { young_ns, ..Self::default() }
    }

    /// Lists whatever is ahead, and what that brings. In which order folders are listed does not matter: each is looked at
    /// before it is listed, and once more when all have been.
    fn all_ahead(&mut self, root: &Root, steps: &Steps) -> Result<(), DiskError> {
        for _ in 0..ALONE {
            let Some(folder) = self.ahead.pop() else { return Ok(()) };
            self.next(root, steps, folder)?;
        }
        let hands = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(HANDS_MAX);
        let shared = Shared::default();
        shared.heap().ahead.append(&mut self.ahead);
        let young_ns = self.young_ns;
        let help = || {
            let mut walk = Self::new(young_ns);
            walk.share(root, steps, &shared).map(|()| walk)
        };
        thread::scope(|scope| {
            // Who cannot be had does not help; the first hand lists all by itself.
            let others: Vec<_> =
                (1..hands).filter_map(|_| thread::Builder::new().spawn_scoped(scope, help).ok()).collect();
            let mut ended = self.share(root, steps, &shared);
            for other in others {
                match other.join() {
                    Ok(Ok(walk)) => {
                        self.folders.extend(walk.folders);
                        self.listings.extend(walk.listings);
                        self.unreadable.extend(walk.unreadable);
                        for (name, objects) in walk.nameless {
                            self.nameless.entry(name).or_default().extend(objects);
                        }
                        self.listed.extend(walk.listed);
                    }
                    Ok(Err(error)) => ended = Err(error),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            ended
        })
    }

    /// Takes folder after folder from the heap until it is empty and no thread can bring more.
    fn share(&mut self, root: &Root, steps: &Steps, shared: &Shared) -> Result<(), DiskError> {
        while let Some(folder) = shared.take() {
            let mut turn = Turn { shared, found: Vec::new(), failed: false };
            let done = self.next(root, steps, folder);
            turn.found.append(&mut self.ahead);
            turn.failed = done.is_err();
            drop(turn);
            done?;
        }
        Ok(())
    }

    fn next(&mut self, root: &Root, steps: &Steps, ahead: Ahead) -> Result<(), DiskError> {
        steps.reach("next folder")?;
        let place = ahead.place.clone();
        if let Err(error) = self.folder(root, ahead)
            && error != Errno::NOENT
        {
            self.unknown(&place, error);
        }
        Ok(())
    }

    /// What could not be looked at, and may hold anything.
    fn unknown(&mut self, place: &Folder, error: Errno) {
        match place {
            Folder::Named(path) => self.unreadable(path.clone(), errors::words(error)),
            Folder::Nameless(_, (folder, name)) => {
                self.unreadable(folder.clone(), format!("what lies in {name}: {}", errors::words(error)));
            }
        }
    }

    fn unreadable(&mut self, path: MirrorPath, why: String) {
        self.unreadable.push(Unreadable { path, why, hides: Hides::Anything });
    }

    /// Lists one folder.
    fn folder(&mut self, root: &Root, ahead: Ahead) -> Result<(), Errno> {
        let opened = ahead.open(root).inspect_err(|_| {
            // A folder that cannot be listed is there all the same.
            if let Ok(look) = sys::look_at(&root.dir, ahead.place.bytes()) {
                self.saw_folder(ahead.place.clone(), look);
            }
        })?;
        let place = ahead.place;
        drop(ahead.above);
        let opened = Arc::new(opened);
        let before = sys::look_of(&opened)?;
        self.saw_folder(place.clone(), before);
        let mut names = (before.stamp.modified_ns >= self.young_ns).then(Vec::new);
        let mut room = std::mem::take(&mut self.room);
        let listing = sys::names_once(opened.as_fd(), &mut room, |name, kind| {
            if let Some(names) = &mut names {
                names.extend_from_slice(name.to_bytes_with_nul());
            }
            self.name(&opened, &place, name, kind);
        });
        self.room = room;
        let mut entries = std::mem::take(&mut self.inside);
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        if let Folder::Named(folder) = &place {
            self.listings.push(Listing { folder: folder.clone(), entries });
        }
        if listing.is_ok() {
            let (identity, modified_ns) = (before.identity(), before.stamp.modified_ns);
            self.listed.push(Listed { place, identity, modified_ns, names });
        }
        listing
    }

    /// Looks at a name in a folder. `kind`: what the listing said of it. A folder is looked at when it is opened.
    fn name(&mut self, dir: &Arc<OwnedFd>, folder: &Folder, name: &CStr, kind: FileType) {
        let place = folder.join(name, &mut self.text);
        if let Folder::Named(path) = &place
            && (path.name().starts_with(aside::TEMP_PREFIX)
                || folder.bytes().is_empty() && path.name().eq_ignore_ascii_case(marker::FOLDER))
        {
            return;
        }
        let is_entered = || !name.to_str().is_ok_and(is_tool_folder);
        if kind == FileType::Directory && is_entered() {
            return self.enter(place, dir);
        }
        match sys::look_at(dir, name) {
            // Not every file system says in a listing what is a folder.
            Ok(look) if look.kind == EntryKind::Folder && is_entered() => self.enter(place, dir),
            Ok(look) => match place {
                Folder::Named(path) => self.inside.push(Entry { path, kind: look.kind, stamp: look.stamp }),
                Folder::Nameless(_, its) => self.saw_nameless(its, look),
            },
            Err(Errno::NOENT) => {}
            Err(error) => self.unknown(&place, error),
        }
    }

    fn enter(&mut self, place: Folder, above: &Arc<OwnedFd>) {
        let above = (place.depth() < HELD_BELOW).then(|| Arc::clone(above));
        self.ahead.push(Ahead { place, above });
    }

    fn saw_folder(&mut self, place: Folder, look: sys::Look) {
        match place {
            Folder::Named(path) if path.is_root() => {}
            Folder::Named(path) => self.folders.push(Entry { path, kind: look.kind, stamp: look.stamp }),
            Folder::Nameless(_, its) => self.saw_nameless(its, look),
        }
    }

    fn saw_nameless(&mut self, its: (MirrorPath, String), look: sys::Look) {
        self.nameless.entry(its).or_default().insert(look.stamp.object());
    }

    /// Whether every listed folder is still what it was before it was listed.
    fn is_calm(&self, root: &Root) -> bool {
        self.listed.iter().all(|listed| {
            let now = match listed.place.bytes() {
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

fn relist(root: &Root, place: &Folder) -> Result<Vec<u8>, Errno> {
    let dir = place.open(root)?;
    let mut names = Vec::new();
    sys::names(dir.as_fd(), |name| names.extend_from_slice(name.to_bytes_with_nul()))?;
    Ok(names)
}
