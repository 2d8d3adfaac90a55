//! A folder in memory with what makes real ones hard: inode numbers that come back at once, clocks that stand still for
//! a while, names that vanish during a look, permissions, a full disk, a root that is not there.
//!
//! This half is what people (and the kernel) do to it; `disk.rs` is what the engine's effects do.

use std::collections::{BTreeMap, BTreeSet};

use espejo::model::{EntryKind, IGNORE_FILE, IgnoreFile, MirrorPath, RootState, Stamp, Timestamp};

use crate::owner::is_odd;
use crate::stored::{self, disk::Parts};
use crate::words::{Word, words_in};

/// A file, folder or link.
#[derive(Debug, Clone)]
pub(crate) struct Thing {
    /// What it is.
    pub(crate) kind: EntryKind,
    /// What it holds; empty for anything but a file.
    pub(crate) bytes: Vec<u8>,
    /// The followed words in it.
    pub(crate) words: Vec<Word>,
    /// Its metadata.
    pub(crate) stamp: Stamp,
}

/// What kind of file system it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Traits {
    /// Steps of the clock that stamps files, in nanoseconds.
    pub(crate) grain_ns: i64,
    /// Whether birth times are kept.
    pub(crate) births: bool,
    /// Whether a freed inode number goes to the next new file.
    pub(crate) reuse_inodes: bool,
}

/// The folder.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Everything beneath the root, `.espejo` aside.
    pub(crate) things: BTreeMap<MirrorPath, Thing>,
    /// What effects moved to `.espejo/trash/`.
    pub(crate) trash: Vec<(MirrorPath, Thing)>,
    /// Downloads that are not whole yet, in `.espejo/downloads/`.
    pub(crate) parts: Parts,
    /// Whether the root can be seen; while it cannot, what is beneath it is still there, unseen.
    pub(crate) root: RootState,
    /// No space is left.
    pub(crate) full: bool,
    /// Nothing may be written.
    pub(crate) read_only: bool,
    /// What must not be opened: files, and folders with all beneath them, by inode: they stay so wherever they go.
    pub(crate) sealed: BTreeSet<u64>,
    /// Inodes that somebody has open, who will write on: none of them is given to a new file.
    open: Vec<u64>,
    /// Paths that changed since the watcher last looked.
    pub(crate) touched: Vec<MirrorPath>,
    /// When the root's own list of names last changed.
    pub(crate) root_modified_ns: i64,
    traits: Traits,
    clock_ns: i64,
    next_inode: u64,
    freed_inodes: Vec<u64>,
}

impl Folder {
    /// An empty folder with its marker.
    pub(crate) fn new(traits: Traits) -> Self {
        Self {
            things: BTreeMap::new(),
            trash: Vec::new(),
            parts: Parts::new(),
            root: RootState::Ready,
            full: false,
            read_only: false,
            sealed: BTreeSet::new(),
            open: Vec::new(),
            touched: Vec::new(),
            root_modified_ns: 0,
            traits,
            clock_ns: 0,
            next_inode: 100,
            freed_inodes: Vec::new(),
        }
    }

    /// What the clock says that stamps files.
    pub(crate) fn clock(&self) -> Timestamp {
        Timestamp(self.clock_ns / 1_000_000)
    }

    /// Sets the clock that stamps files.
    pub(crate) fn set_clock(&mut self, now_ms: i64) {
        self.clock_ns = self.clock_ns.max(now_ms * 1_000_000);
    }

    /// Somebody sets the clock that stamps files, back as well.
    pub(crate) fn step_clock(&mut self, now_ms: i64) {
        self.clock_ns = now_ms * 1_000_000;
    }

    /// The file of patterns, as a scan finds it.
    pub(crate) fn ignore_file(&self) -> IgnoreFile {
        let path = MirrorPath::new(IGNORE_FILE).ok();
        let file = path.and_then(|path| self.file(&path));
        file.map_or(IgnoreFile::Absent, |thing| {
            IgnoreFile::Text(String::from_utf8_lossy(&thing.bytes).into_owned(), thing.stamp)
        })
    }

    /// The file at `path`.
    pub(crate) fn file(&self, path: &MirrorPath) -> Option<&Thing> {
        self.things.get(path).filter(|thing| thing.kind == EntryKind::File)
    }

    /// Whether `path` is a folder (the root is one).
    pub(crate) fn is_folder(&self, path: &MirrorPath) -> bool {
        path.is_root() || self.things.get(path).is_some_and(|thing| thing.kind == EntryKind::Folder)
    }

    /// Writes in place: the same file, new bytes; makes it and the folders above it when they are missing.
    pub(crate) fn write(&mut self, path: &MirrorPath, bytes: &[u8]) -> bool {
        if !self.may_be_made(path) || !self.make_parents(path) {
            return false;
        }
        match self.things.get(path).map(|thing| thing.kind) {
            None => {
                let thing = self.new_file(path, bytes);
                self.things.insert(path.clone(), thing);
                self.stamp_parent(path);
            }
            Some(EntryKind::File) => {
                let (modified_ns, words) = (self.tick(), words_at(path, bytes));
                if let Some(thing) = self.things.get_mut(path) {
                    thing.bytes = bytes.to_vec();
                    thing.words = words;
                    thing.stamp.size = bytes.len() as u64;
                    thing.stamp.modified_ns = modified_ns;
                    thing.stamp.changed_ns = modified_ns;
                }
            }
            Some(EntryKind::Folder | EntryKind::Other) => return false,
        }
        self.touched.push(path.clone());
        true
    }

    /// Writes another file and renames it over `path`: a new inode.
    pub(crate) fn replace(&mut self, path: &MirrorPath, bytes: &[u8]) -> bool {
        if !self.may_be_made(path) || !self.make_parents(path) || self.is_folder(path) {
            return false;
        }
        let thing = self.new_file(path, bytes);
        if let Some(old) = self.things.insert(path.clone(), thing) {
            let inode = old.stamp.inode;
            self.free(inode);
        }
        self.stamp_parent(path);
        self.touched.push(path.clone());
        true
    }

    /// Renames another file of this size over `path`, or to it. Returns what was there.
    pub(crate) fn put(&mut self, path: &MirrorPath, bytes: &[u8], size: u64) -> Option<Thing> {
        if !self.make_parents(path) {
            return None;
        }
        let mut thing = self.new_thing(EntryKind::File, bytes, words_in(bytes));
        thing.stamp.size = size;
        let old = self.things.insert(path.clone(), thing);
        self.stamp_parent(path);
        self.touched.push(path.clone());
        old
    }

    /// A file is as large as this from now on, whatever is kept of it.
    pub(crate) fn resize(&mut self, path: &MirrorPath, size: u64) -> bool {
        self.things.get_mut(path).map(|thing| thing.stamp.size = size).is_some()
    }

    /// Renames as `rename(2)` does: replaces a file, never a folder that holds something.
    pub(crate) fn rename(&mut self, from: &MirrorPath, to: &MirrorPath) -> bool {
        if from == to || !self.things.contains_key(from) || to.is_within(from) || !self.make_parents(to) {
            return false;
        }
        if let Some(there) = self.things.get(to) {
            let both_files = there.kind != EntryKind::Folder && !self.is_folder(from);
            if !both_files {
                return false;
            }
            let inode = there.stamp.inode;
            self.free(inode);
        }
        let changed_ns = self.tick();
        for path in self.within(from) {
            if let (Some(mut thing), Some(new)) = (self.things.remove(&path), path.rebase(from, to)) {
                if path == *from {
                    thing.stamp.changed_ns = changed_ns;
                }
                self.things.insert(new, thing);
            }
        }
        self.stamp_parent(from);
        self.stamp_parent(to);
        self.touched.extend([from.clone(), to.clone()]);
        true
    }

    /// Removes a file or link.
    pub(crate) fn unlink(&mut self, path: &MirrorPath) -> bool {
        if self.is_folder(path) {
            return false;
        }
        let Some(thing) = self.things.remove(path) else { return false };
        let inode = thing.stamp.inode;
        self.free(inode);
        self.stamp_parent(path);
        self.touched.push(path.clone());
        true
    }

    fn free(&mut self, inode: u64) {
        self.sealed.remove(&inode);
        self.freed_inodes.push(inode);
    }

    /// Removes `path` and everything beneath it.
    pub(crate) fn remove_tree(&mut self, path: &MirrorPath) -> bool {
        let paths = self.within(path);
        for path in &paths {
            if let Some(thing) = self.things.remove(path) {
                let inode = thing.stamp.inode;
                self.free(inode);
            }
        }
        self.stamp_parent(path);
        self.touched.push(path.clone());
        !paths.is_empty()
    }

    /// Makes a folder and those above it; fails when something else is in the way.
    pub(crate) fn make_folder(&mut self, path: &MirrorPath) -> bool {
        if self.is_folder(path) {
            return true;
        }
        if self.things.contains_key(path) || !self.may_be_made(path) || !self.make_parents(path) {
            return false;
        }
        let thing = self.new_thing(EntryKind::Folder, b"", Vec::new());
        self.things.insert(path.clone(), thing);
        self.stamp_parent(path);
        self.touched.push(path.clone());
        true
    }

    /// Makes a symbolic link (to nowhere that matters).
    pub(crate) fn link(&mut self, path: &MirrorPath) -> bool {
        if self.things.contains_key(path) || !self.make_parents(path) {
            return false;
        }
        let thing = self.new_thing(EntryKind::Other, b"", Vec::new());
        self.things.insert(path.clone(), thing);
        self.touched.push(path.clone());
        true
    }

    /// Sets a file's modification time back to what it was, as `touch -r` and `cp -p` do.
    pub(crate) fn set_modified(&mut self, path: &MirrorPath, modified_ns: i64) {
        if let Some(thing) = self.things.get_mut(path) {
            thing.stamp.modified_ns = modified_ns;
        }
    }

    /// `path` and everything beneath it, in path order.
    pub(crate) fn within(&self, path: &MirrorPath) -> Vec<MirrorPath> {
        self.named_from(path).filter(|key| key.is_within(path)).cloned().collect()
    }

    /// Everything whose path begins with the letters of `path`: what is beneath it is among them.
    fn named_from<'a>(&'a self, path: &'a MirrorPath) -> impl Iterator<Item = &'a MirrorPath> {
        let begins = move |(key, _): &(&MirrorPath, &Thing)| key.as_str().starts_with(path.as_str());
        self.things.range::<MirrorPath, _>(path..).take_while(begins).map(|(key, _)| key)
    }

    /// The storage folder and everything beneath it, in path order.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (&MirrorPath, &Thing)> {
        let root = stored::people::root();
        let named =
            self.things.range(root.clone()..).take_while(|(path, _)| path.as_str().starts_with("Storage"));
        named.filter(move |(path, _)| path.is_within(&root))
    }

    /// The names directly in `path`.
    pub(crate) fn children(&self, path: &MirrorPath) -> Vec<MirrorPath> {
        let depth = path.components().count() + 1;
        let is_child = |key: &&MirrorPath| key.is_within(path) && key.components().count() == depth;
        self.named_from(path).filter(is_child).cloned().collect()
    }

    /// Every followed word beneath the root and in the trash.
    pub(crate) fn words(&self) -> impl Iterator<Item = Word> {
        let trashed = self.trash.iter().map(|(_, thing)| thing);
        self.things.values().chain(trashed).flat_map(|thing| thing.words.iter().copied())
    }

    /// Whether the folder that would hold `path` is there.
    pub(crate) fn has_parent(&self, path: &MirrorPath) -> bool {
        path.parent().is_some_and(|up| {
            up.is_root() || self.things.get(&up).is_some_and(|thing| thing.kind == EntryKind::Folder)
        })
    }

    /// Whether at most two folders are missing above `path`.
    pub(crate) fn has_way(&self, path: &MirrorPath) -> bool {
        let up = |path: &MirrorPath| path.parent();
        self.has_parent(path)
            || up(path)
                .is_some_and(|one| self.has_parent(&one) || up(&one).is_some_and(|two| self.has_parent(&two)))
    }

    /// A name that cannot be read is given, and never made anew: what had it has another one by now.
    fn may_be_made(&self, path: &MirrorPath) -> bool {
        !is_odd(path) || self.things.contains_key(path)
    }

    fn make_parents(&mut self, path: &MirrorPath) -> bool {
        path.parent().is_some_and(|parent| self.make_folder(&parent))
    }

    fn new_file(&mut self, path: &MirrorPath, bytes: &[u8]) -> Thing {
        self.new_thing(EntryKind::File, bytes, words_at(path, bytes))
    }

    /// A thing with a number and times of its own.
    fn new_thing(&mut self, kind: EntryKind, bytes: &[u8], words: Vec<Word>) -> Thing {
        let now_ns = self.tick();
        let free = self.freed_inodes.iter().rposition(|inode| !self.open.contains(inode));
        let reused = free.filter(|_| self.traits.reuse_inodes).map(|at| self.freed_inodes.remove(at));
        let inode = reused.unwrap_or_else(|| {
            self.next_inode += 1;
            self.next_inode
        });
        let stamp = Stamp {
            device: 1,
            inode,
            size: bytes.len() as u64,
            modified_ns: now_ns,
            changed_ns: now_ns,
            born_ns: if self.traits.births { now_ns } else { 0 },
        };
        Thing { kind, bytes: bytes.to_vec(), words, stamp }
    }

    /// Somebody has the file with this inode open, or has it no more.
    pub(crate) fn set_open(&mut self, inode: u64, is_open: bool) {
        if is_open {
            self.open.push(inode);
        } else if let Some(at) = self.open.iter().position(|open| *open == inode) {
            self.open.swap_remove(at);
        }
    }

    /// Whether somebody has the file with this inode open.
    pub(crate) fn is_open(&self, inode: u64) -> bool {
        self.open.contains(&inode)
    }

    /// Gives a number back, for the next new file.
    pub(crate) fn free_inode(&mut self, inode: u64) {
        self.freed_inodes.push(inode);
    }

    /// The time as the file system writes it down.
    fn tick(&mut self) -> i64 {
        self.clock_ns += 1_000;
        self.clock_ns - self.clock_ns % self.traits.grain_ns
    }

    /// Notes in the folder above `path` that its list of names changed.
    pub(crate) fn stamp_parent(&mut self, path: &MirrorPath) {
        let now_ns = self.tick();
        match path.parent() {
            Some(parent) if parent.is_root() => self.root_modified_ns = now_ns,
            Some(parent) => {
                if let Some(parent) = self.things.get_mut(&parent) {
                    parent.stamp.modified_ns = now_ns;
                    parent.stamp.changed_ns = now_ns;
                }
            }
            None => {}
        }
    }

    /// Number and modification time of a folder; `None` when it is not there.
    pub(crate) fn folder_look(&self, path: &MirrorPath) -> Option<(u64, i64)> {
        if path.is_root() {
            return Some((2, self.root_modified_ns));
        }
        self.things.get(path).map(|thing| (thing.stamp.inode, thing.stamp.modified_ns))
    }
}

/// The followed words of a file. What is only drawn from elsewhere keeps none.
fn words_at(path: &MirrorPath, bytes: &[u8]) -> Vec<Word> {
    let is_drawn = path.name().ends_with(".svg") || path.name().ends_with(".html");
    if is_drawn { Vec::new() } else { words_in(bytes) }
}
