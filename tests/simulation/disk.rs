//! What the engine's effects do in the folder: the semantics that `model::effect` promises and the real mirror has.
//!
//! A look is not one moment: a scan lists folder after folder while people go on, and a file may change under a read.

use std::collections::BTreeMap;

use espejo::model::{
    ContentHash, DiskError, DiskReply, Effect, Entry, EntryKind, Expect, FileRead, Hides, MirrorPath,
    RootState, Scan, Stamp, Timestamp, Unreadable,
};

use crate::folder::Folder;
use crate::owner::is_odd;
use crate::stored;

/// An effect on the disk, between its beginning and its end.
#[derive(Debug)]
pub(crate) enum Job {
    /// A scan that has folders left to list.
    Scan(Walk),
    /// A read that has begun, with the stamp and bytes of its beginning.
    Read(MirrorPath, Option<(Stamp, Vec<u8>)>),
    /// An act, which happens at its end, all at once.
    Act(Effect),
}

/// A walk through the tree, one folder at a time.
#[derive(Debug)]
pub(crate) struct Walk {
    walks: u32,
    begun: Option<Timestamp>,
    left: Vec<MirrorPath>,
    /// Each listed folder as it looked before it was listed.
    listed: Vec<(MirrorPath, Option<(u64, i64)>)>,
    entries: BTreeMap<MirrorPath, Entry>,
    unreadable: Vec<Unreadable>,
}

/// A walk during which folders changed is repeated; after this many the scan says that it proves no absence.
const WALKS_MAX: u32 = 4;

impl Job {
    /// Begins `effect`.
    pub(crate) fn begin(effect: Effect) -> Self {
        match effect {
            Effect::Scan => Self::Scan(Walk::new(1)),
            Effect::ReadFile(path) => Self::Read(path, None),
            other => Self::Act(other),
        }
    }

    /// Does the next bit of it; the answer when that was the last.
    pub(crate) fn step(&mut self, folder: &mut Folder) -> Option<Result<DiskReply, DiskError>> {
        match self {
            Self::Scan(walk) => walk.step(folder).map(|scan| Ok(DiskReply::Scan(scan))),
            Self::Read(path, begun) => match begun {
                None => match look(folder, path) {
                    Ok(found) => {
                        *begun = Some(found);
                        None
                    }
                    Err(error) => Some(Err(error)),
                },
                Some((stamp, bytes)) => Some(match look(folder, path) {
                    Ok((after, _)) if after == *stamp => Ok(DiskReply::File(FileRead {
                        path: path.clone(),
                        stamp: after,
                        bytes: std::mem::take(bytes),
                        clock: folder.clock(),
                        is_open: folder.is_open(after.inode),
                    })),
                    Ok(_) => Err(DiskError::Changed(path.clone())),
                    Err(error) => Err(error),
                }),
            },
            Self::Act(effect) => Some(act(folder, effect)),
        }
    }
}

impl Walk {
    fn new(walks: u32) -> Self {
        Self {
            walks,
            begun: None,
            left: vec![MirrorPath::root()],
            listed: Vec::new(),
            entries: BTreeMap::new(),
            unreadable: Vec::new(),
        }
    }

    fn step(&mut self, folder: &Folder) -> Option<Scan> {
        if folder.root != RootState::Ready {
            return Some(Scan { root: folder.root.clone(), ..Scan::default() });
        }
        let clock = *self.begun.get_or_insert_with(|| folder.clock());
        if let Some(next) = self.left.pop() {
            self.list(folder, &next);
            return None;
        }
        // As coarse as the folder's clock: what changes twice within one of its steps is not seen here.
        let calm = self.listed.iter().all(|(path, before)| folder.folder_look(path) == *before);
        if !calm && self.walks < WALKS_MAX {
            *self = Self::new(self.walks + 1);
            return None;
        }
        if !calm {
            let why = "folders kept changing during the scan".to_owned();
            let path = MirrorPath::root();
            self.unreadable.push(Unreadable { path, why, hides: Hides::Anything, object: None });
        }
        Some(Scan {
            root: RootState::Ready,
            entries: std::mem::take(&mut self.entries).into_values().collect(),
            unreadable: std::mem::take(&mut self.unreadable),
            root_identity: (1, 2),
            clock,
            ignore_file: folder.ignore_file(),
        })
    }

    fn list(&mut self, folder: &Folder, place: &MirrorPath) {
        let before = folder.folder_look(place);
        if before.is_none() {
            return;
        }
        self.listed.push((place.clone(), before));
        if is_sealed(folder, place) {
            let why = "permission denied".to_owned();
            let object = folder.things.get(place).map(|thing| thing.stamp.object());
            self.unreadable.push(Unreadable { path: place.clone(), why, hides: Hides::Anything, object });
            return;
        }
        for path in folder.children(place) {
            if is_odd(&path) {
                let object = folder.things.get(&path).map(|thing| thing.stamp.object());
                let why = format!("a name in it is not UTF-8: {}", path.name());
                self.unreadable.push(Unreadable { path: place.clone(), why, hides: Hides::Name, object });
                continue;
            }
            if let Some(thing) = folder.things.get(&path) {
                if thing.kind == EntryKind::Folder && path.name() != ".git" {
                    self.left.push(path.clone());
                }
                self.entries.insert(path.clone(), Entry { path, kind: thing.kind, stamp: thing.stamp });
            }
        }
    }
}

pub(crate) fn look(folder: &Folder, path: &MirrorPath) -> Result<(Stamp, Vec<u8>), DiskError> {
    ready(folder)?;
    if matches!(in_the_way(folder, path), Some((_, EntryKind::Other))) {
        return Err(DiskError::NotOrdinary(path.clone()));
    }
    let thing = folder.things.get(path).ok_or_else(|| DiskError::Missing(path.clone()))?;
    if thing.kind != EntryKind::File {
        return Err(DiskError::NotOrdinary(path.clone()));
    }
    if is_sealed(folder, path) {
        return Err(DiskError::Denied(path.clone(), "permission denied".to_owned()));
    }
    Ok((thing.stamp, thing.bytes.clone()))
}

fn act(folder: &mut Folder, effect: &Effect) -> Result<DiskReply, DiskError> {
    ready(folder)?;
    match effect {
        Effect::WriteFile { path, bytes, expect } => write_file(folder, path, bytes, *expect),
        Effect::Rename { from, to } => rename(folder, from, to),
        Effect::TrashFile { path, expect } => trash_file(folder, path, *expect),
        Effect::RemoveFolder(path) => remove_folder(folder, path),
        Effect::Storage(effect) => stored::disk::act(folder, effect),
        other => Err(DiskError::Io(MirrorPath::root(), format!("not an act on the disk: {other:?}"))),
    }
}

fn write_file(
    folder: &mut Folder,
    path: &MirrorPath,
    bytes: &[u8],
    expect: Expect,
) -> Result<DiskReply, DiskError> {
    if expect == Expect::Absent {
        may_make(folder, path)?
    } else {
        may_open(folder, path)?
    }
    if let Some(thing) = folder.things.get(path) {
        // The same write, whose answer was lost, or the same text from elsewhere.
        if thing.kind == EntryKind::File && thing.bytes == bytes {
            return Ok(DiskReply::Written(thing.stamp));
        }
    }
    match (folder.things.get(path), expect) {
        (None, Expect::AbsentHere) if !folder.has_parent(path) => {
            return Err(DiskError::Missing(path.clone()));
        }
        (None, Expect::Absent | Expect::AbsentHere) => {}
        (None, Expect::Content(_)) => return Err(DiskError::Missing(path.clone())),
        (Some(_), Expect::Absent | Expect::AbsentHere) => return Err(DiskError::Exists(path.clone())),
        (Some(thing), Expect::Content(hash)) => {
            if thing.kind != EntryKind::File {
                return Err(DiskError::NotOrdinary(path.clone()));
            }
            if ContentHash::of(&thing.bytes) != hash {
                return Err(DiskError::Changed(path.clone()));
            }
        }
    }
    may_write(folder, path)?;
    if folder.full {
        return Err(DiskError::Full(path.clone(), "the disk is full".to_owned()));
    }
    if !folder.replace(path, bytes) {
        return Err(DiskError::NotOrdinary(path.clone()));
    }
    folder
        .file(path)
        .map(|thing| DiskReply::Written(thing.stamp))
        .ok_or_else(|| DiskError::Missing(path.clone()))
}

fn rename(folder: &mut Folder, from: &MirrorPath, to: &MirrorPath) -> Result<DiskReply, DiskError> {
    may_open(folder, from)?;
    match folder.things.get(from).map(|thing| thing.kind) {
        None => return Err(DiskError::Missing(from.clone())),
        Some(EntryKind::Other) => return Err(DiskError::NotOrdinary(from.clone())),
        Some(EntryKind::File | EntryKind::Folder) => {}
    }
    if from == to {
        return Ok(DiskReply::Finished);
    }
    if to.is_within(from) {
        return Err(DiskError::Io(from.clone(), format!("it cannot be moved into itself ({to})")));
    }
    may_make(folder, to)?;
    if folder.things.contains_key(to) {
        return Err(DiskError::Exists(to.clone()));
    }
    may_write(folder, from)?;
    may_write(folder, to)?;
    if folder.rename(from, to) {
        Ok(DiskReply::Finished)
    } else {
        Err(DiskError::Io(from.clone(), "the folder refuses".to_owned()))
    }
}

fn trash_file(folder: &mut Folder, path: &MirrorPath, expect: ContentHash) -> Result<DiskReply, DiskError> {
    may_open(folder, path)?;
    let thing = folder.things.get(path).ok_or_else(|| DiskError::Missing(path.clone()))?;
    if thing.kind != EntryKind::File {
        return Err(DiskError::NotOrdinary(path.clone()));
    }
    if ContentHash::of(&thing.bytes) != expect {
        return Err(DiskError::Changed(path.clone()));
    }
    may_write(folder, path)?;
    if let Some(thing) = folder.things.remove(path) {
        folder.trash.push((path.clone(), thing));
        folder.stamp_parent(path);
        folder.touched.push(path.clone());
    }
    Ok(DiskReply::Finished)
}

fn remove_folder(folder: &mut Folder, path: &MirrorPath) -> Result<DiskReply, DiskError> {
    match may_open(folder, path) {
        Err(DiskError::Missing(_)) => return Ok(DiskReply::Finished),
        other => other?,
    }
    match folder.things.get(path).map(|thing| thing.kind) {
        None => return Ok(DiskReply::Finished),
        Some(EntryKind::File | EntryKind::Other) => return Err(DiskError::NotOrdinary(path.clone())),
        Some(EntryKind::Folder) => {}
    }
    may_write(folder, path)?;
    if folder.children(path).is_empty() {
        if let Some(thing) = folder.things.remove(path) {
            folder.free_inode(thing.stamp.inode);
        }
        folder.stamp_parent(path);
        folder.touched.push(path.clone());
    }
    Ok(DiskReply::Finished)
}

pub(crate) fn ready(folder: &Folder) -> Result<(), DiskError> {
    match folder.root {
        RootState::Ready => Ok(()),
        ref other => Err(DiskError::RootNotReady(format!("{other:?}"))),
    }
}

/// The first thing on the way to `path` that is no folder.
fn in_the_way(folder: &Folder, path: &MirrorPath) -> Option<(MirrorPath, EntryKind)> {
    let mut here = MirrorPath::root();
    for name in path.parent()?.components() {
        here = here.join(name).ok()?;
        match folder.things.get(&here).map(|thing| thing.kind) {
            Some(EntryKind::Folder) => {}
            Some(kind) => return Some((here, kind)),
            None => return None,
        }
    }
    None
}

/// Whether the folder that `path` lies in can be opened.
pub(crate) fn may_open(folder: &Folder, path: &MirrorPath) -> Result<(), DiskError> {
    let up = path.parent().ok_or_else(|| DiskError::NotOrdinary(path.clone()))?;
    match in_the_way(folder, path) {
        Some((_, EntryKind::Other)) => Err(DiskError::NotOrdinary(up)),
        Some(_) => Err(DiskError::Missing(path.clone())),
        None if folder.is_folder(&up) => Ok(()),
        None => Err(DiskError::Missing(path.clone())),
    }
}

/// Whether the folder that `path` lies in is there or can be made.
pub(crate) fn may_make(folder: &Folder, path: &MirrorPath) -> Result<(), DiskError> {
    let up = path.parent().ok_or_else(|| DiskError::NotOrdinary(path.clone()))?;
    match in_the_way(folder, path) {
        Some((_, EntryKind::Other)) => Err(DiskError::NotOrdinary(up)),
        Some((file, _)) => Err(DiskError::Exists(file)),
        None => Ok(()),
    }
}

pub(crate) fn may_write(folder: &Folder, path: &MirrorPath) -> Result<(), DiskError> {
    if folder.read_only || is_sealed(folder, path) {
        return Err(DiskError::Denied(path.clone(), "permission denied".to_owned()));
    }
    Ok(())
}

/// Whether a path lies in a folder that cannot be listed, or is that.
pub(crate) fn is_sealed(folder: &Folder, path: &MirrorPath) -> bool {
    let is_sealed = |at: &MirrorPath| {
        folder.things.get(at).is_some_and(|thing| folder.sealed.contains(&thing.stamp.inode))
    };
    let up = std::iter::successors(Some(path.clone()), MirrorPath::parent);
    !folder.sealed.is_empty() && up.into_iter().any(|at| is_sealed(&at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Traits;

    fn path(text: &str) -> MirrorPath {
        MirrorPath::new(text).unwrap()
    }

    fn folder() -> Folder {
        let mut folder = Folder::new(Traits { grain_ns: 1, births: true, reuse_inodes: true });
        for (name, text) in [("a.md", "one"), ("f/b.md", "two"), ("f/g/c.md", "three")] {
            folder.write(&path(name), text.as_bytes());
        }
        folder.link(&path("link"));
        folder
    }

    #[test]
    fn a_full_or_closed_folder_changes_nothing() {
        let write = Effect::WriteFile { path: path("x.md"), bytes: b"new".to_vec(), expect: Expect::Absent };
        let check = |spoil: fn(&mut Folder), expected: &str| {
            let mut folder = folder();
            spoil(&mut folder);
            let outcome = Job::begin(write.clone()).step(&mut folder).unwrap();
            assert_eq!(outcome.unwrap_err().to_string(), expected);
            assert!(!folder.things.contains_key(&path("x.md")));
        };
        check(|folder| folder.full = true, "no space left for x.md: the disk is full");
        check(|folder| folder.read_only = true, "no permission for x.md: permission denied");
        check(|folder| folder.root = RootState::NoMarker, "the mirror's root is not ready: NoMarker");
    }

    #[test]
    fn a_look_takes_time_and_sees_what_moves_meanwhile() {
        let mut folder = folder();
        let mut read = Job::begin(Effect::ReadFile(path("a.md")));
        assert!(read.step(&mut folder).is_none());
        folder.write(&path("a.md"), b"ONE");
        assert_eq!(read.step(&mut folder), Some(Err(DiskError::Changed(path("a.md")))));

        // A file goes from a folder that was not listed yet to one that was.
        let check = |grain_ns: i64, expected: &str| {
            let mut folder = Folder::new(Traits { grain_ns, births: true, reuse_inodes: true });
            folder.set_clock(5_000);
            folder.write(&path("f/b.md"), b"two");
            let mut scan = Job::begin(Effect::Scan);
            assert!(scan.step(&mut folder).is_none());
            folder.rename(&path("f/b.md"), &path("b.md"));
            let seen = std::iter::repeat_with(|| scan.step(&mut folder)).flatten().next().unwrap();
            let Ok(DiskReply::Scan(seen)) = seen else { panic!("{seen:?}") };
            let names: Vec<&str> = seen.entries.iter().map(|entry| entry.path.as_str()).collect();
            assert_eq!(names.join(" "), expected, "{grain_ns}");
        };
        check(1, "b.md f");
        check(2_000_000_000, "f");
    }

    #[test]
    fn coarse_clocks_hide_a_change_of_equal_length() {
        let mut folder = Folder::new(Traits { grain_ns: 2_000_000_000, births: false, reuse_inodes: true });
        folder.set_clock(10_000);
        folder.write(&path("a"), b"one");
        let before = folder.file(&path("a")).unwrap().stamp;
        folder.set_clock(11_000);
        folder.write(&path("a"), b"two");
        assert_eq!(folder.file(&path("a")).unwrap().stamp, before);
        folder.unlink(&path("a"));
        folder.write(&path("b"), b"new");
        assert_eq!(folder.file(&path("b")).unwrap().stamp.inode, before.inode, "numbers come back at once");
    }
}
