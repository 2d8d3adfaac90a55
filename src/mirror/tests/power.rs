//! The power goes in the middle of an act. What the act asked of the file system is recorded, and after each of these
//! calls every disk is built that a power cut may leave there; the mirror starts on each, and no text is lost or torn.
//!
//! The model is the one of journalling file systems: names change in the order of the calls, and a sync makes all names up
//! to it durable; bytes are durable only once their own file was synced, and until then they may be gone or zero.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{MetadataExt, symlink};

use super::races::{ABILITIES, NOTE};
use super::*;
use crate::mirror::calls::{self, Call, Name};
use crate::mirror::sys::Abilities;

#[derive(Debug, Clone)]
enum Child {
    Folder(u64),
    File(u64),
    Link(String),
}

/// A file's bytes: what is durable, and what programs read.
#[derive(Debug, Clone, Default)]
struct Bytes {
    durable: Vec<u8>,
    now: Vec<u8>,
}

/// A file system: names on one side, bytes on the other.
#[derive(Debug, Clone, Default)]
struct Disk {
    root: u64,
    names: BTreeMap<Name, Child>,
    files: BTreeMap<u64, Bytes>,
}

/// A file or link of a disk that was left.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    Folder,
    File(Vec<u8>),
    Link(String),
}

type Tree = BTreeMap<String, Left>;

/// What a power cut does to bytes that no sync has reached.
#[derive(Debug, Clone, Copy)]
enum Unsynced {
    Gone,
    Zero,
    Kept,
}

impl Disk {
    /// Everything beneath `root`, all of it durable.
    fn of(root: &Path) -> Self {
        let mut disk = Self { root: fs::metadata(root).unwrap().ino(), ..Self::default() };
        let mut ahead = vec![root.to_owned()];
        while let Some(dir) = ahead.pop() {
            let folder = fs::metadata(&dir).unwrap().ino();
            for entry in fs::read_dir(&dir).unwrap() {
                let entry = entry.unwrap();
                let (kind, path) = (entry.file_type().unwrap(), entry.path());
                let inode = entry.metadata().unwrap().ino();
                let child = if kind.is_dir() {
                    ahead.push(path);
                    Child::Folder(inode)
                } else if kind.is_symlink() {
                    Child::Link(fs::read_link(path).unwrap().to_str().unwrap().to_owned())
                } else {
                    let bytes = fs::read(path).unwrap();
                    disk.files.insert(inode, Bytes { durable: bytes.clone(), now: bytes });
                    Child::File(inode)
                };
                disk.names.insert((folder, entry.file_name().into_string().unwrap()), child);
            }
        }
        disk
    }

    fn rename(&mut self, call: &Call) {
        match call {
            Call::Created(at, file) => drop(self.names.insert(at.clone(), Child::File(*file))),
            Call::MadeFolder(at, folder) => drop(self.names.insert(at.clone(), Child::Folder(*folder))),
            Call::LinkedToText(at, text) => drop(self.names.insert(at.clone(), Child::Link(text.clone()))),
            Call::Renamed(from, to) => {
                let moved = self.names.remove(from).unwrap();
                self.names.insert(to.clone(), moved);
            }
            Call::Exchanged(one, other) => {
                let (first, second) = (self.names.remove(one).unwrap(), self.names.remove(other).unwrap());
                self.names.insert(one.clone(), second);
                self.names.insert(other.clone(), first);
            }
            Call::Linked(from, to) => {
                let same = self.names[from].clone();
                self.names.insert(to.clone(), same);
            }
            Call::Removed(at) => drop(self.names.remove(at).unwrap()),
            Call::Wrote(..) | Call::Synced(_) => {}
        }
    }

    fn fill(&mut self, call: &Call) {
        match call {
            Call::Wrote(file, bytes) => self.files.entry(*file).or_default().now.clone_from(bytes),
            Call::Synced(what) => {
                if let Some(bytes) = self.files.get_mut(what) {
                    bytes.durable.clone_from(&bytes.now);
                }
            }
            _ => {}
        }
    }

    /// The tree as it is after a power cut.
    fn left(&self, unsynced: Unsynced) -> Tree {
        let mut left = Tree::new();
        let mut ahead = vec![(self.root, String::new())];
        while let Some((folder, path)) = ahead.pop() {
            for ((_, name), child) in self.names.range((folder, String::new())..(folder + 1, String::new())) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
                left.insert(
                    path.clone(),
                    match child {
                        Child::Folder(inode) => {
                            ahead.push((*inode, path));
                            Left::Folder
                        }
                        Child::Link(text) => Left::Link(text.clone()),
                        Child::File(inode) => {
                            let bytes = self.files.get(inode).cloned().unwrap_or_default();
                            Left::File(bytes.left(unsynced))
                        }
                    },
                );
            }
        }
        left
    }
}

impl Bytes {
    fn left(self, unsynced: Unsynced) -> Vec<u8> {
        match unsynced {
            Unsynced::Kept => self.now,
            Unsynced::Gone => self.durable,
            Unsynced::Zero if self.now == self.durable => self.now,
            Unsynced::Zero => {
                let mut bytes = self.durable;
                bytes.resize(self.now.len(), 0);
                bytes
            }
        }
    }
}

/// Every tree that a power cut may leave after `done` of the calls.
fn cuts(before: &Disk, calls: &[Call], done: usize) -> BTreeSet<Tree> {
    let calls = &calls[..done];
    let synced = calls.iter().rposition(|call| matches!(call, Call::Synced(_))).map_or(0, |at| at + 1);
    let mut disk = before.clone();
    calls.iter().for_each(|call| disk.fill(call));
    calls[..synced].iter().for_each(|call| disk.rename(call));
    let mut trees = BTreeSet::new();
    for next in synced..=done {
        trees.extend([Unsynced::Gone, Unsynced::Zero, Unsynced::Kept].map(|unsynced| disk.left(unsynced)));
        if let Some(call) = calls.get(next) {
            disk.rename(call);
        }
    }
    trees
}

/// A mirror that starts on what a power cut left.
fn restarted(tree: &Tree) -> Bed {
    let bed = quick_bed();
    fs::remove_dir_all(bed.root()).unwrap();
    fs::create_dir(bed.root()).unwrap();
    for (path, left) in tree {
        let path = bed.real(path);
        match left {
            Left::Folder => fs::create_dir(path).unwrap(),
            Left::File(bytes) => File::create(path).unwrap().write_all(bytes).unwrap(),
            Left::Link(text) => symlink(text, path).unwrap(),
        }
    }
    let mut bed = bed;
    bed.restart();
    bed
}

/// What must hold of an act, whenever the power goes.
struct Promise {
    /// What may stand in each place before the act has been answered, and what stands there after; "" for nothing.
    places: &'static [(&'static str, &'static [&'static str], &'static str)],
    /// Texts that are somewhere, whatever happens.
    kept: &'static [&'static str],
}

/// Texts of people and ours; nothing else may come to light.
const KNOWN: [&str; 2] = ["old", "new"];

fn check(can: Abilities, prepare: fn(&Bed), act: fn(&Bed) -> Result<(), DiskError>, promise: &Promise) {
    let mut bed = quick_bed();
    bed.mirror.can = can;
    bed.put(NOTE, "old");
    prepare(&bed);
    let before = Disk::of(&bed.root());
    let (result, calls) = calls::record(|| act(&bed));
    assert_eq!(result, Ok(()), "{can:?}");
    for done in 0..=calls.len() {
        for tree in cuts(&before, &calls, done) {
            let mut after = restarted(&tree);
            after.mirror.can = can;
            assert_eq!(after.scan().unreadable, []);
            let what = || format!("{can:?}, the power went after {done} of {calls:#?}\nwhich left {tree:#?}");
            hold(&after, promise, done == calls.len(), &what);
            after.later(60);
            after.scan();
            hold(&after, promise, done == calls.len(), &what);
        }
    }
}

fn hold(bed: &Bed, promise: &Promise, is_answered: bool, what: &dyn Fn() -> String) {
    let everything = bed.everything();
    for (place, before, after) in promise.places {
        let there = everything.get(*place).map_or("", String::as_str);
        let fits = if is_answered { there == *after } else { there == *after || before.contains(&there) };
        assert!(fits, "{place} holds {there:?}\n{}", what());
    }
    for text in promise.kept {
        assert!(everything.values().any(|there| there == text), "{text:?} is lost\n{}", what());
    }
    // What espejo keeps for itself begins with `.espejo`, but the trash is for people.
    let shown =
        everything.iter().filter(|(path, _)| !path.starts_with(".espejo") || path.contains("/trash/"));
    for (path, text) in shown {
        assert!(KNOWN.contains(&text.as_str()), "{path} holds {text:?}\n{}", what());
    }
}

fn nothing(_bed: &Bed) {}

/// On the way without a swap a name may be free until the next start has finished the act; then it is not.
#[test]
pub(super) fn a_power_cut_at_any_call_of_a_write_leaves_the_old_text_or_the_new_one() {
    for can in ABILITIES {
        check(
            can,
            nothing,
            |bed| bed.replace(NOTE, "old", "new").map(drop),
            &Promise { places: &[(NOTE, &["old"], "new")], kept: &[] },
        );
        check(
            can,
            nothing,
            |bed| bed.write("b/c/New.md", "new", Expect::Absent).map(drop),
            &Promise { places: &[("b/c/New.md", &[""], "new"), (NOTE, &[], "old")], kept: &[] },
        );
    }
}

#[test]
pub(super) fn a_power_cut_at_any_call_of_a_rename_or_a_trashing_loses_nothing() {
    for can in ABILITIES {
        check(
            can,
            nothing,
            |bed| bed.rename(NOTE, "b/Other.md"),
            &Promise { places: &[(NOTE, &["old"], ""), ("b/Other.md", &["", "old"], "old")], kept: &["old"] },
        );
        check(
            can,
            |bed| {
                bed.put(NOTE, "new");
                bed.trash(NOTE, "new").unwrap();
                bed.put(NOTE, "old");
            },
            |bed| bed.trash(NOTE, "old"),
            &Promise { places: &[(NOTE, &["old"], "")], kept: &["old", "new"] },
        );
    }
}

#[test]
pub(super) fn a_power_cut_at_any_call_for_a_stored_file_loses_nothing() {
    for can in ABILITIES {
        check(
            can,
            nothing,
            super::stored::replaced,
            &Promise { places: &[(NOTE, &["old"], "new")], kept: &["old"] },
        );
        check(
            can,
            nothing,
            super::stored::discarded,
            &Promise { places: &[(NOTE, &["old"], "")], kept: &["old"] },
        );
    }
}

/// How often the mirror was taken up is known after a power cut as well: it tells an older copy of the folder.
#[test]
pub(super) fn a_power_cut_leaves_the_number_of_runs_readable() {
    let bed = quick_bed();
    bed.mirror.note_runs(7).unwrap();
    let before = Disk::of(&bed.root());
    let (result, calls) = calls::record(|| bed.mirror.note_runs(8));
    assert_eq!(result, Ok(()));
    for done in 0..=calls.len() {
        for tree in cuts(&before, &calls, done) {
            let runs = restarted(&tree).mirror.runs();
            let is_answered = done == calls.len();
            assert!(
                runs == Some(8) || runs == Some(7) && !is_answered,
                "{runs:?} after {done} of {calls:#?}"
            );
        }
    }
}

/// A download goes on from what is there, and ends with the right bytes whatever the power cut made of the last ones.
#[test]
pub(super) fn a_download_that_a_power_cut_broke_off_ends_with_the_right_bytes() {
    let whole: Vec<u8> = (0_u32..(9 << 20)).map(|n| u8::try_from(n % 251).unwrap()).collect();
    let size = whole.len() as u64;
    let part = crate::model::Part::of(
        &crate::model::FileId::new("f").unwrap(),
        &crate::model::AttachmentId::new("a").unwrap(),
        size,
    );
    let bed = quick_bed();
    let before = Disk::of(&bed.root());
    let ((), calls) = calls::record(|| {
        let mut open = bed.mirror.open_part(&part, size).unwrap();
        whole[..7 << 20].chunks(1 << 20).for_each(|piece| bed.mirror.write_part(&mut open, piece).unwrap());
    });
    for done in 0..=calls.len() {
        for tree in cuts(&before, &calls, done) {
            let after = restarted(&tree);
            let mut open = after.mirror.open_part(&part, size).unwrap();
            let from = usize::try_from(open.len()).unwrap();
            after.mirror.write_part(&mut open, &whole[from..]).unwrap();
            let ended = open.finish().unwrap() == ContentHash::of(&whole);
            assert!(ended, "other bytes than the service's, from byte {from} on, after {done} calls");
        }
    }
}
