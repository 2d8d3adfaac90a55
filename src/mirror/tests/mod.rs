//! The mirror on a real disk: one folder per test, nothing shared.

mod effects;
mod hostile;
#[cfg(feature = "planted")]
mod planted;
mod power;
mod races;
mod roots;
mod saves;
mod scans;
mod stored;
mod watching;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::Mirror;
use crate::model::{
    ContentHash, DiskError, DiskReply, Effect, Expect, FileRead, MirrorPath, Scan, Stamp, Timestamp,
};

/// 2026-03-01T00:00:00Z.
const MARCH: i64 = 1_772_323_200_000;

/// A mirror in a temporary folder, and a place outside it that nothing may touch.
struct Bed {
    dir: tempfile::TempDir,
    mirror: Mirror,
    clock: Arc<AtomicI64>,
}

fn bed() -> Bed {
    bed_in(tempfile::tempdir().unwrap())
}

/// For tests of thousands of small rounds: where syncing costs nothing. `TMPDIR` has them on another file system.
fn quick_bed() -> Bed {
    let memory = Path::new("/dev/shm");
    let in_memory = std::env::var_os("TMPDIR").is_none().then(|| tempfile::tempdir_in(memory).ok()).flatten();
    bed_in(in_memory.unwrap_or_else(|| tempfile::tempdir().unwrap()))
}

fn bed_in(dir: tempfile::TempDir) -> Bed {
    let clock = Arc::new(AtomicI64::new(MARCH));
    let mirror = open(&dir.path().join("root"), &clock, true);
    fs::create_dir(dir.path().join("outside")).unwrap();
    Bed { dir, mirror, clock }
}

fn open(root: &Path, clock: &Arc<AtomicI64>, create: bool) -> Mirror {
    let clock = clock.clone();
    Mirror::with_clock(root, "m1", create, move || Timestamp(clock.load(Ordering::Relaxed))).unwrap()
}

fn at(text: &str) -> MirrorPath {
    MirrorPath::new(text).unwrap()
}

fn hash(text: &str) -> ContentHash {
    ContentHash::of(text.as_bytes())
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

impl Bed {
    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    fn real(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    fn put(&self, path: &str, text: &str) {
        put(&self.real(path), text);
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.real(path)).ok()
    }

    fn write(&self, path: &str, text: &str, expect: Expect) -> Result<Stamp, DiskError> {
        let effect = Effect::WriteFile { path: at(path), bytes: text.as_bytes().to_vec(), expect };
        match self.mirror.perform(&effect)? {
            DiskReply::Written(stamp) => Ok(stamp),
            other => panic!("{other:?}"),
        }
    }

    fn replace(&self, path: &str, old: &str, new: &str) -> Result<Stamp, DiskError> {
        self.write(path, new, Expect::Content(hash(old)))
    }

    fn read(&self, path: &str) -> Result<FileRead, DiskError> {
        match self.mirror.perform(&Effect::ReadFile(at(path)))? {
            DiskReply::File(look) => Ok(look),
            other => panic!("{other:?}"),
        }
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        self.finish(&Effect::Rename { from: at(from), to: at(to) })
    }

    fn trash(&self, path: &str, expect: &str) -> Result<(), DiskError> {
        self.finish(&Effect::TrashFile { path: at(path), expect: hash(expect) })
    }

    fn remove(&self, path: &str) -> Result<(), DiskError> {
        self.finish(&Effect::RemoveFolder(at(path)))
    }

    fn finish(&self, effect: &Effect) -> Result<(), DiskError> {
        assert_eq!(self.mirror.perform(effect)?, DiskReply::Finished);
        Ok(())
    }

    fn scan(&self) -> Scan {
        match self.mirror.perform(&Effect::Scan) {
            Ok(DiskReply::Scan(scan)) => scan,
            other => panic!("{other:?}"),
        }
    }

    /// What a scan lists, folders with a slash at the end, links and the like with a question mark.
    fn listed(&self) -> Vec<String> {
        use crate::model::EntryKind::{File, Folder, Other};
        let name = |entry: crate::model::Entry| match entry.kind {
            File => entry.path.to_string(),
            Folder => format!("{}/", entry.path),
            Other => format!("{}?", entry.path),
        };
        self.scan().entries.into_iter().map(name).collect()
    }

    /// Every file's text, `.espejo` included, by path from the root.
    fn everything(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut ahead = vec![self.root()];
        while let Some(dir) = ahead.pop() {
            for entry in fs::read_dir(dir).unwrap() {
                let entry = entry.unwrap();
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    ahead.push(entry.path());
                } else if kind.is_file() {
                    let text = String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned();
                    let path = entry.path().strip_prefix(self.root()).unwrap().to_str().unwrap().to_owned();
                    found.insert(path, text);
                }
            }
        }
        found
    }

    /// What stands in `.espejo/tmp`.
    fn aside(&self) -> Vec<String> {
        let Ok(list) = fs::read_dir(self.real(".espejo/tmp")) else { return Vec::new() };
        let mut names: Vec<String> =
            list.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A new run on the same folder, as after a kill.
    fn restart(&mut self) {
        self.mirror = open(&self.root(), &self.clock, false);
    }

    fn later(&self, minutes: i64) {
        // The clock of the file system is the real one, the mirror's is far behind it: it goes to today first.
        let now = super::system_clock().0;
        self.clock.store(now + minutes * 60_000, Ordering::Relaxed);
    }
}
