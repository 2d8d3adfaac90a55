//! One instance per state directory: an advisory lock on a file that says who holds it. And one per folder: a lock on the
//! marker, for two with a state each would take each other's files for new ones without end.
//!
//! The kernel drops the lock when its holder dies, however it dies, so there is no stale lock to clean up; the file
//! itself stays. (`flock` does not reach other machines that mount the same network disk.)

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::marker;

/// A process that asks whether the lock is held has it for less than this, and not often.
const ASKING: Duration = Duration::from_millis(10);
const ASKERS_MAX: usize = 30;
/// So many digits say whose it is.
const PID_MOST: u64 = 20;

/// The lock, held until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    marker: Option<File>,
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another espejo runs with this state directory.
    #[error("espejo is already running with {}{}", path.display(), process(*pid))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// Whose it is, as far as the file says.
        pid: Option<u32>,
    },
    /// Another espejo keeps this folder in step, with another state directory.
    #[error(
        "another espejo already syncs {}, with another state_dir; stop that one, or choose another root",
        .0.display()
    )]
    Root(PathBuf),
    /// The state directory or the lock file cannot be used.
    #[error("the state folder {} cannot be used: {cause}; fix it, or choose another with state_dir", folder.display())]
    Io {
        /// The state directory.
        folder: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

impl Lock {
    /// Whether a process has the lock of `state_dir`. Others that ask at the same time are not taken for one.
    #[must_use]
    pub fn is_held(state_dir: &Path) -> bool {
        let Ok(file) = File::open(state_dir.join("lock")) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// The process that has the lock of `state_dir`, or had it last, as far as its file says.
    #[must_use]
    pub fn holder(state_dir: &Path) -> Option<u32> {
        std::fs::read_to_string(state_dir.join("lock")).ok()?.trim().parse().ok()
    }

    /// Takes the lock of `state_dir`, making the directory (mode 0700) where it is missing. Waits only as long as a process
    /// takes who asks [`Lock::is_held`].
    ///
    /// # Errors
    /// [`LockError::Held`] when another process has it; [`LockError::Io`] when the file cannot be made or locked.
    pub fn acquire(state_dir: &Path) -> Result<Self, LockError> {
        let path = state_dir.join("lock");
        let io = |cause| LockError::Io { folder: state_dir.to_owned(), cause };
        DirBuilder::new().recursive(true).mode(0o700).create(state_dir).map_err(io)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io)?;
        let mut locked = file.try_lock();
        for _ in 0..ASKERS_MAX {
            if !matches!(locked, Err(TryLockError::WouldBlock)) {
                break;
            }
            std::thread::sleep(ASKING);
            locked = file.try_lock();
        }
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let read = file.take(PID_MOST).read_to_string(&mut text);
                let pid = read.ok().and_then(|_| text.trim().parse().ok());
                return Err(LockError::Held { path, pid });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        // On a full disk it is held without a name.
        if let Err(error) = sign(&mut file) {
            tracing::debug!(%error, "the lock does not name its owner");
        }
        Ok(Self { _file: file, marker: None })
    }

    /// Takes the folder, too, as long as this is held. One that is not there, or whose file system knows no locks, is not
    /// taken.
    ///
    /// # Errors
    /// [`LockError::Root`] when another process has it.
    pub fn take_root(&mut self, root: &Path) -> Result<(), LockError> {
        let Ok(marker) = File::open(root.join(marker::FOLDER).join(marker::FILE)) else { return Ok(()) };
        match marker.try_lock() {
            Err(TryLockError::WouldBlock) => Err(LockError::Root(root.to_owned())),
            Ok(()) => {
                self.marker = Some(marker);
                Ok(())
            }
            Err(TryLockError::Error(error)) => {
                tracing::debug!(%error, "the folder cannot be locked");
                Ok(())
            }
        }
    }
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_and_told_by_whom_until_the_first_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("a/state");
        let first = Lock::acquire(&state).unwrap();
        match Lock::acquire(&state) {
            Err(LockError::Held { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        let words = Lock::acquire(&state).unwrap_err().to_string();
        assert!(words.contains(&format!("process {}", std::process::id())), "{words}");
        drop(first);
        Lock::acquire(&state).unwrap();
    }

    #[test]
    fn a_lock_that_nothing_can_be_written_into_is_held_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", dir.path().join("lock")).unwrap();
        let _held = Lock::acquire(dir.path()).unwrap();
        assert!(matches!(Lock::acquire(dir.path()), Err(LockError::Held { .. })));
    }

    #[test]
    fn a_folder_has_one_espejo_whatever_state_it_has() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        let mut first = Lock::acquire(&dir.path().join("a")).unwrap();
        let mut second = Lock::acquire(&dir.path().join("b")).unwrap();
        // There is no folder yet.
        first.take_root(&root).unwrap();
        DirBuilder::new().recursive(true).create(root.join(marker::FOLDER)).unwrap();
        File::create(root.join(marker::FOLDER).join(marker::FILE)).unwrap();
        first.take_root(&root).unwrap();
        let words = second.take_root(&root).unwrap_err().to_string();
        assert!(
            words.contains("another espejo already syncs") && words.ends_with("choose another root"),
            "{words}"
        );
        drop(first);
        second.take_root(&root).unwrap();
    }

    #[test]
    fn whoever_asks_keeps_nobody_out() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!Lock::is_held(dir.path()));
        drop(Lock::acquire(dir.path()).unwrap());
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| (0..20_000).filter(|_| Lock::is_held(dir.path())).count());
            for _ in 0..200 {
                drop(Lock::acquire(dir.path()).unwrap());
            }
            asking.join().unwrap();
        });
        let _held = Lock::acquire(dir.path()).unwrap();
        assert!(Lock::is_held(dir.path()));
    }

    #[test]
    fn a_state_directory_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        File::create(dir.path().join("file")).unwrap();
        let words = Lock::acquire(&dir.path().join("file/state")).unwrap_err().to_string();
        assert!(
            words.contains("file/state cannot be used: ") && words.ends_with("with state_dir"),
            "{words}"
        );
    }
}
