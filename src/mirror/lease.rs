//! Whether a program has a file open for writing, asked of the kernel by a read lease that is taken and given back at once.
//! `docs/decisions/0007-open-writers.md` has the reasons.

use std::fs::File;

/// Linux's number of the command that names the signal of a lease; the library has none.
const F_SETSIG: libc::c_int = 10;

/// Whether a program has this file, opened for reading, open for writing, or mapped so. `false` where the kernel gives no
/// lease: on a file of another user, and on file systems of other machines.
#[expect(unsafe_code, reason = "rustix has no leases")]
pub(super) fn has_writer(file: &File) -> bool {
    use std::os::fd::AsRawFd;

    let lease = |command: libc::c_int, value: libc::c_int| {
        // SAFETY: these commands take an integer, and the descriptor is open while `file` lives.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), command, value) };
        if done == -1 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // A program that opens the file in the microseconds of the lease waits for its end, and we are sent a signal, by default
    // one that ends the process. This one is ignored by default.
    if lease(F_SETSIG, libc::SIGURG).is_err() {
        return false;
    }
    match lease(libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => {
            if let Err(error) = lease(libc::F_SETLEASE, libc::F_UNLCK) {
                // It ends with the descriptor, which is closed in a moment.
                tracing::debug!(%error, "a lease is not given back");
            }
            false
        }
        Err(error) => error.raw_os_error() == Some(libc::EAGAIN),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes as any program does")]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn only_a_writer_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.md");
        std::fs::write(&path, "words").unwrap();
        let ask = || has_writer(&File::open(&path).unwrap());
        assert!(!ask());
        let reader = File::open(&path).unwrap();
        assert!(!ask(), "a reader");
        for options in [OpenOptions::new().append(true), OpenOptions::new().read(true).write(true)] {
            let writer = options.open(&path).unwrap();
            assert!(ask(), "{options:?}");
            drop(writer);
            assert!(!ask(), "{options:?}");
        }
        // Another file in its place is another file.
        let writer = OpenOptions::new().append(true).open(&path).unwrap();
        std::fs::write(dir.path().join("b.md"), "other words").unwrap();
        std::fs::rename(dir.path().join("b.md"), &path).unwrap();
        assert!(!ask());
        drop((reader, writer));
    }

    #[test]
    fn who_opens_the_file_meanwhile_waits_and_ends_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.md");
        std::fs::write(&path, "words").unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    has_writer(&File::open(&path).unwrap());
                }
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                drop(OpenOptions::new().append(true).open(&path).unwrap());
            }
        });
    }
}
