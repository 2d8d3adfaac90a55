//! One instance per state directory: an advisory lock on a file that says who holds it.
//!
//! The kernel drops the lock when its holder dies, however it dies, so there is no stale lock to clean up; the file
//! itself stays. (`flock` does not reach other machines that mount the same network disk.)

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The lock, held until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// [`Lock::is_held`] has the lock for a moment; so long is waited for it, this often.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS_MAX: usize = 20;

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another espejo runs with this state directory.
    #[error("espejo runs already with {}{}", path.display(), process(*pid))]
    Held {
        /// The lock file.
        path: PathBuf,
        /// Whose it is, as far as the file says.
        pid: Option<u32>,
    },
    /// The state directory or the lock file cannot be used.
    #[error("cannot lock {}: {source}", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

impl Lock {
    /// Whether a process holds the lock of `state_dir`. Makes and writes nothing.
    #[must_use]
    pub fn is_held(state_dir: &Path) -> bool {
        // Shared, so that several who look do not take each other for the holder.
        let file = File::open(state_dir.join("lock"));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Takes the lock of `state_dir`, making the directory (mode 0700) where it is missing. Waits no longer than somebody
    /// needs who only looks whether it is held.
    ///
    /// # Errors
    /// [`LockError::Held`] when another process has it; [`LockError::Io`] when the file cannot be made or locked.
    pub fn acquire(state_dir: &Path) -> Result<Self, LockError> {
        let path = state_dir.join("lock");
        let io = |source| LockError::Io { path: path.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(state_dir).map_err(io)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io)?;
        let mut tried = file.try_lock();
        for _ in 0..LOOKS_MAX {
            if !matches!(tried, Err(TryLockError::WouldBlock)) {
                break;
            }
            std::thread::sleep(LOOK);
            tried = file.try_lock();
        }
        match tried {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                return Err(LockError::Held { path, pid });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        file.set_len(0).map_err(io)?;
        file.rewind().map_err(io)?;
        writeln!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Self { _file: file })
    }
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
    fn a_state_directory_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        File::create(dir.path().join("file")).unwrap();
        let words = Lock::acquire(&dir.path().join("file/state")).unwrap_err().to_string();
        assert!(words.contains("file/state/lock"), "{words}");
    }
}
