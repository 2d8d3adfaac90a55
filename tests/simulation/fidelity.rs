//! The folder of the simulation beside a real one: the same deeds and effects must come to the same.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use espejo::mirror::Mirror;
use espejo::model::{
    ContentHash, DiskError, DiskReply, Effect, Entry, EntryKind, Expect, MirrorPath, Timestamp,
};

use crate::disk::Job;
use crate::folder::{Folder, Traits};
use crate::luck::Luck;

const TRAITS: Traits = Traits { grain_ns: 1, births: true, reuse_inodes: false };

/// A folder of each kind.
struct Both {
    fake: Folder,
    real: Mirror,
    place: tempfile::TempDir,
}

impl Both {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let real = Mirror::with_clock(place.path(), "fidelity", true, || Timestamp(0)).unwrap();
        Self { fake: Folder::new(TRAITS), real, place }
    }

    fn at(&self, path: &MirrorPath) -> std::path::PathBuf {
        self.place.path().join(path.as_str())
    }

    /// Somebody does the same in both; what fails must fail in both.
    fn deed(&mut self, luck: &mut Luck) -> String {
        let (path, other) = (some_path(luck), some_path(luck));
        let (name, done, did) = match luck.below(7) {
            0 | 1 => {
                let text = some_text(luck);
                let real = write(
                    &self.at(&path),
                    text,
                    fs::OpenOptions::new().write(true).create(true).truncate(true),
                );
                (format!("write {path} {text}"), real, self.fake.write(&path, text.as_bytes()))
            }
            2 => {
                let _ = fs::create_dir_all(self.at(&path).parent().unwrap());
                let free = fs::symlink_metadata(self.at(&path)).is_err();
                let real = free && std::os::unix::fs::symlink("/nowhere", self.at(&path)).is_ok();
                (format!("link {path}"), real, self.fake.link(&path))
            }
            3 => {
                let is_folder = fs::symlink_metadata(self.at(&path)).is_ok_and(|found| found.is_dir());
                (
                    format!("unlink {path}"),
                    !is_folder && fs::remove_file(self.at(&path)).is_ok(),
                    self.fake.unlink(&path),
                )
            }
            4 => (
                format!("mkdir {path}"),
                fs::create_dir_all(self.at(&path)).is_ok(),
                self.fake.make_folder(&path),
            ),
            5 => {
                let real = fs::symlink_metadata(self.at(&path)).is_ok_and(|found| found.is_dir())
                    && fs::remove_dir_all(self.at(&path)).is_ok();
                let fake = self.fake.is_folder(&path) && self.fake.remove_tree(&path);
                (format!("rm -r {path}"), real, fake)
            }
            _ => {
                // An empty folder gives way to a folder in rename(2); no person does that on purpose.
                let taken = self.fake.is_folder(&other);
                let there = fs::symlink_metadata(self.at(&path)).is_ok();
                let real = path != other && !taken && there && !other.is_within(&path) && {
                    let _ = fs::create_dir_all(self.at(&other).parent().unwrap());
                    fs::rename(self.at(&path), self.at(&other)).is_ok()
                };
                (format!("mv {path} {other}"), real, !taken && self.fake.rename(&path, &other))
            }
        };
        assert_eq!(done, did, "{name}: real, fake");
        name
    }

    /// The engine wants the same in both.
    fn effect(&mut self, luck: &mut Luck) -> String {
        let (path, other) = (some_path(luck), some_path(luck));
        let expected = ContentHash::of(some_text(luck).as_bytes());
        let effect = match luck.below(8) {
            0 => Effect::ReadFile(path),
            1 => Effect::WriteFile { path, bytes: some_text(luck).into(), expect: Expect::Absent },
            2 | 3 => {
                Effect::WriteFile { path, bytes: some_text(luck).into(), expect: Expect::Content(expected) }
            }
            4 | 5 => Effect::Rename { from: path, to: other },
            6 => Effect::TrashFile { path, expect: expected },
            _ => Effect::RemoveFolder(path),
        };
        let real = self.real.perform(&effect);
        let mut job = Job::begin(effect.clone());
        let fake = std::iter::repeat_with(|| job.step(&mut self.fake)).flatten().next().unwrap();
        assert_eq!(answer(&real), answer(&fake), "{effect:?}: real, fake");
        format!("{effect:?}")
    }

    fn compare(&mut self, after: &[String]) {
        let DiskReply::Scan(real) = self.real.perform(&Effect::Scan).unwrap() else { panic!("no scan") };
        let mut job = Job::begin(Effect::Scan);
        let fake = std::iter::repeat_with(|| job.step(&mut self.fake)).flatten().next().unwrap();
        let Ok(DiskReply::Scan(fake)) = fake else { panic!("no scan") };
        assert_eq!(shape(&real.entries), shape(&fake.entries), "{after:#?}: real, fake");
        assert_eq!((real.root, real.unreadable), (fake.root, fake.unreadable));
        for (path, thing) in &self.fake.things {
            if thing.kind == EntryKind::File {
                assert_eq!(fs::read(self.at(path)).unwrap(), thing.bytes, "{path} after {after:#?}");
            }
        }
    }
}

fn some_path(luck: &mut Luck) -> MirrorPath {
    let depth = luck.between(1, 3);
    let parts: Vec<&str> = (0..depth).map(|_| *luck.pick(&["a", "b", "c.md"])).collect();
    MirrorPath::new(&parts.join("/")).unwrap()
}

fn some_text(luck: &mut Luck) -> &'static str {
    ["one", "two", "three", ""][usize::try_from(luck.below(4)).unwrap()]
}

fn write(path: &Path, text: &str, options: &fs::OpenOptions) -> bool {
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    let _ = fs::create_dir_all(path.parent().unwrap());
    !is_link && options.open(path).and_then(|mut file| file.write_all(text.as_bytes())).is_ok()
}

/// Paths, kinds and sizes: times and numbers are the file system's own.
fn shape(entries: &[Entry]) -> BTreeMap<String, (EntryKind, u64)> {
    let size = |entry: &Entry| if entry.kind == EntryKind::File { entry.stamp.size } else { 0 };
    entries.iter().map(|entry| (entry.path.to_string(), (entry.kind, size(entry)))).collect()
}

/// An answer without the words that are the system's own, and without times and numbers.
fn answer(result: &Result<DiskReply, DiskError>) -> String {
    match result {
        Ok(DiskReply::File(look)) => {
            format!("{} holds {:?}", look.path, String::from_utf8_lossy(&look.bytes))
        }
        Ok(DiskReply::Written(stamp)) => format!("written, {} bytes", stamp.size),
        Ok(other) => format!("{other:?}"),
        Err(DiskError::Io(path, _)) => format!("io at {path}"),
        Err(other) => format!("{other:?}"),
    }
}

#[test]
fn the_fake_folder_does_what_the_real_one_does() {
    for seed in 0..60 {
        let mut luck = Luck::new(seed, 9);
        let mut both = Both::new();
        let mut said = vec![format!("seed {seed}")];
        for _ in 0..40 {
            said.push(if luck.chance(50) { both.deed(&mut luck) } else { both.effect(&mut luck) });
            both.compare(&said);
        }
    }
}
