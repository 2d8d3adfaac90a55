//! What the system says, in the words of [`DiskError`].

use rustix::io::Errno;

use crate::model::{DiskError, MirrorPath};

/// The failure of one call that was about `path`.
pub(super) fn failed(path: &MirrorPath, errno: Errno) -> DiskError {
    let path = path.clone();
    match errno {
        Errno::NOENT => DiskError::Missing(path),
        // A file stands where the path wants a folder: beneath a file there is nothing. (Of a link where a folder
        // should be, `sys` says ELOOP.)
        Errno::NOTDIR => DiskError::Missing(path),
        Errno::EXIST => DiskError::Exists(path),
        // A link in the way (ELOOP), a way out of the root (EXDEV), a socket or a device without driver (ENXIO, ENODEV).
        Errno::LOOP | Errno::XDEV | Errno::NXIO | Errno::NODEV => DiskError::NotOrdinary(path),
        Errno::ACCESS | Errno::PERM | Errno::ROFS => DiskError::Denied(path, words(errno)),
        Errno::NOSPC | Errno::DQUOT => DiskError::Full(path, words(errno)),
        _ => DiskError::Io(path, words(errno)),
    }
}

/// The system's words for an error, with a better one where they mislead.
pub(super) fn words(errno: Errno) -> String {
    match errno {
        Errno::NAMETOOLONG => "a name in it is longer than this file system allows".to_owned(),
        Errno::NOSPC => "the disk is full".to_owned(),
        Errno::DQUOT => "the disk quota is exceeded".to_owned(),
        Errno::ROFS => "the disk is mounted read-only".to_owned(),
        Errno::MFILE | Errno::NFILE => "too many open files".to_owned(),
        other => std::io::Error::from(other).to_string(),
    }
}
