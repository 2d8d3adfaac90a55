//! What the engine's effects do in the folder: the semantics that `model::effect` promises and the real mirror has.
//!
//! A look is not one moment: a scan lists folder after folder while people go on, and a file may change under a read.

use std::collections::BTreeMap;

use espejo::model::{
    ContentHash, DiskError, DiskReply, Effect, Entry, EntryKind, Expect, FileLook, MirrorPath, RootState,
    Scan, Stamp, Unreadable,
};

use crate::folder::Folder;

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
                    Ok((after, _)) if after == *stamp => Ok(DiskReply::File(FileLook {
                        path: path.clone(),
                        stamp: after,
                        bytes: std::mem::take(bytes),
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
            let why = "folders kept changing while they were looked at".to_owned();
            self.unreadable.push(Unreadable { path: MirrorPath::root(), why });
        }
        Some(Scan {
            root: RootState::Ready,
            entries: std::mem::take(&mut self.entries).into_values().collect(),
            unreadable: std::mem::take(&mut self.unreadable),
            root_identity: (1, 2),
        })
    }

    fn list(&mut self, folder: &Folder, place: &MirrorPath) {
        let before = folder.folder_look(place);
        if before.is_none() {
            return;
        }
        self.listed.push((place.clone(), before));
        if is_sealed(folder, place) {
            self.unreadable.push(Unreadable { path: place.clone(), why: "permission denied".to_owned() });
            return;
        }
        for path in folder.children(place) {
            if let Some(thing) = folder.things.get(&path) {
                if thing.kind == EntryKind::Folder && path.name() != ".git" {
                    self.left.push(path.clone());
                }
                self.entries.insert(path.clone(), Entry { path, kind: thing.kind, stamp: thing.stamp });
            }
        }
    }
}

fn look(folder: &Folder, path: &MirrorPath) -> Result<(Stamp, Vec<u8>), DiskError> {
    ready(folder)?;
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
        other => Err(DiskError::Io(MirrorPath::root(), format!("not an act on the disk: {other:?}"))),
    }
}

fn write_file(
    folder: &mut Folder,
    path: &MirrorPath,
    bytes: &[u8],
    expect: Expect,
) -> Result<DiskReply, DiskError> {
    may_write(folder, path)?;
    match (folder.things.get(path), expect) {
        (None, Expect::Absent) => {}
        (None, Expect::Content(_)) => return Err(DiskError::Missing(path.clone())),
        (Some(_), Expect::Absent) => return Err(DiskError::Exists(path.clone())),
        (Some(thing), Expect::Content(hash)) => {
            if thing.kind != EntryKind::File {
                return Err(DiskError::NotOrdinary(path.clone()));
            }
            if ContentHash::of(&thing.bytes) != hash {
                return Err(DiskError::Changed(path.clone()));
            }
            if thing.bytes == bytes {
                return Ok(DiskReply::Written(thing.stamp));
            }
        }
    }
    if folder.full {
        return Err(DiskError::Full(path.clone(), "no space left on device".to_owned()));
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
    may_write(folder, from)?;
    may_write(folder, to)?;
    if !folder.things.contains_key(from) {
        return Err(DiskError::Missing(from.clone()));
    }
    if folder.things.contains_key(to) {
        return Err(DiskError::Exists(to.clone()));
    }
    if folder.rename(from, to) {
        Ok(DiskReply::Finished)
    } else {
        Err(DiskError::Io(from.clone(), "invalid argument".to_owned()))
    }
}

fn trash_file(folder: &mut Folder, path: &MirrorPath, expect: ContentHash) -> Result<DiskReply, DiskError> {
    may_write(folder, path)?;
    let thing = folder.things.get(path).ok_or_else(|| DiskError::Missing(path.clone()))?;
    if thing.kind != EntryKind::File {
        return Err(DiskError::NotOrdinary(path.clone()));
    }
    if ContentHash::of(&thing.bytes) != expect {
        return Err(DiskError::Changed(path.clone()));
    }
    if let Some(thing) = folder.things.remove(path) {
        folder.trash.push((path.clone(), thing));
        folder.stamp_parent(path);
        folder.touched.push(path.clone());
    }
    Ok(DiskReply::Finished)
}

fn remove_folder(folder: &mut Folder, path: &MirrorPath) -> Result<DiskReply, DiskError> {
    may_write(folder, path)?;
    if folder.is_folder(path) && folder.children(path).is_empty() {
        if let Some(thing) = folder.things.remove(path) {
            folder.free_inode(thing.stamp.inode);
        }
        folder.stamp_parent(path);
        folder.touched.push(path.clone());
    }
    Ok(DiskReply::Finished)
}

fn ready(folder: &Folder) -> Result<(), DiskError> {
    match folder.root {
        RootState::Ready => Ok(()),
        ref other => Err(DiskError::RootNotReady(format!("{other:?}"))),
    }
}

fn may_write(folder: &Folder, path: &MirrorPath) -> Result<(), DiskError> {
    let mut above = path.parent();
    while let Some(place) = above {
        if folder.things.get(&place).is_some_and(|thing| thing.kind != EntryKind::Folder) {
            return Err(DiskError::NotOrdinary(path.clone()));
        }
        above = place.parent();
    }
    if folder.read_only || is_sealed(folder, path) {
        return Err(DiskError::Denied(path.clone(), "permission denied".to_owned()));
    }
    Ok(())
}

fn is_sealed(folder: &Folder, path: &MirrorPath) -> bool {
    folder.sealed.iter().any(|sealed| path.is_within(sealed))
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

    /// Performs one effect on the folder above and names what came of it.
    fn check(effect: Effect, expected: &str, after: &str) {
        let mut folder = folder();
        let mut job = Job::begin(effect.clone());
        let outcome = std::iter::repeat_with(|| job.step(&mut folder)).flatten().next().unwrap();
        let words = match outcome {
            Ok(DiskReply::Scan(scan)) => format!("scan of {}", scan.entries.len()),
            Ok(DiskReply::File(look)) => String::from_utf8(look.bytes).unwrap(),
            Ok(DiskReply::Written(_)) => "written".to_owned(),
            Ok(DiskReply::Finished) => "finished".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(words, expected, "{effect:?}");
        let left: Vec<String> = folder.things.keys().map(MirrorPath::to_string).collect();
        assert_eq!(left.join(" "), after, "{effect:?}");
    }

    const ALL: &str = "a.md f f/b.md f/g f/g/c.md link";

    #[test]
    fn effects_do_what_the_seam_says_and_nothing_else() {
        let content = |text: &str| Expect::Content(ContentHash::of(text.as_bytes()));
        let write =
            |name: &str, expect| Effect::WriteFile { path: path(name), bytes: b"new".to_vec(), expect };
        let rename = |from: &str, to: &str| Effect::Rename { from: path(from), to: path(to) };
        let trash = |name: &str, text: &str| Effect::TrashFile {
            path: path(name),
            expect: ContentHash::of(text.as_bytes()),
        };
        check(Effect::Scan, "scan of 6", ALL);
        check(Effect::ReadFile(path("a.md")), "one", ALL);
        check(Effect::ReadFile(path("x.md")), "x.md is not there", ALL);
        check(Effect::ReadFile(path("f")), "f is not an ordinary file inside the mirror", ALL);
        check(Effect::ReadFile(path("link")), "link is not an ordinary file inside the mirror", ALL);
        check(write("a.md", content("one")), "written", ALL);
        check(write("a.md", content("two")), "a.md is not what it was", ALL);
        check(write("a.md", Expect::Absent), "a.md exists already", ALL);
        check(write("x.md", content("one")), "x.md is not there", ALL);
        check(write("h/x.md", Expect::Absent), "written", "a.md f f/b.md f/g f/g/c.md h h/x.md link");
        check(write("link/x.md", Expect::Absent), "link/x.md is not an ordinary file inside the mirror", ALL);
        check(write("a.md/x.md", Expect::Absent), "a.md/x.md is not an ordinary file inside the mirror", ALL);
        check(rename("a.md", "h/a.md"), "finished", "f f/b.md f/g f/g/c.md h h/a.md link");
        check(rename("f", "h"), "finished", "a.md h h/b.md h/g h/g/c.md link");
        check(rename("f", "link"), "link exists already", ALL);
        check(rename("a.md", "f/b.md"), "f/b.md exists already", ALL);
        check(rename("x", "y"), "x is not there", ALL);
        check(rename("f", "f/g/h"), "f: invalid argument", ALL);
        check(trash("a.md", "one"), "finished", "f f/b.md f/g f/g/c.md link");
        check(trash("a.md", "two"), "a.md is not what it was", ALL);
        check(trash("f", "two"), "f is not an ordinary file inside the mirror", ALL);
        check(Effect::RemoveFolder(path("f")), "finished", ALL);
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
        check(|folder| folder.full = true, "no space left for x.md: no space left on device");
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
