//! Where an export may go: a folder that is not there or is empty, and lies neither in the mirror nor in the state.

use std::path::{Path, PathBuf};

use crate::config::Config;

/// A place that cannot take the export: wrong usage, and nothing was touched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadPlace {
    /// Something is in it.
    #[error("{} is not empty; name a new folder", .0.display())]
    NotEmpty(PathBuf),
    /// A disk is mounted there, and nothing can be renamed to that name.
    #[error("{} is a mount point, which cannot be replaced by the finished export; name a new folder in it, such as {}", .0.display(), .0.join("espejo-export").display())]
    MountPoint(PathBuf),
    /// It is no folder.
    #[error("{} is not a folder; name a new folder", .0.display())]
    NotFolder(PathBuf),
    /// It would be mirrored, or lie in the state.
    #[error("{} is in {what} {}; name a folder outside it", .dir.display(), .folder.display())]
    Inside {
        /// What was named.
        dir: PathBuf,
        /// The mirror, or the state folder.
        what: &'static str,
        /// Where that is.
        folder: PathBuf,
    },
    /// The folder above it is not there, or cannot be used.
    #[error("{} cannot be created: {why}", .dir.display())]
    NoParent {
        /// What was named.
        dir: PathBuf,
        /// Why.
        why: String,
    },
}

/// The place, absolute and without links in what there is of it.
pub(super) fn check(dir: &Path, config: &Config) -> Result<PathBuf, BadPlace> {
    let no_parent = |why: std::io::Error| BadPlace::NoParent { dir: dir.to_owned(), why: why.to_string() };
    let absolute = std::path::absolute(dir).map_err(no_parent)?;
    let target = match std::fs::symlink_metadata(&absolute) {
        Ok(_) => absolute.canonicalize().map_err(no_parent)?,
        Err(_) => {
            let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
                return Err(BadPlace::NotFolder(dir.to_owned()));
            };
            parent.canonicalize().map_err(no_parent)?.join(name)
        }
    };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for (what, folder) in [("the mirror", &config.root), ("the state folder", &config.state_dir)] {
        if target.starts_with(real(folder)) {
            return Err(BadPlace::Inside { dir: dir.to_owned(), what, folder: folder.clone() });
        }
    }
    match std::fs::read_dir(&target).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(BadPlace::NotEmpty(dir.to_owned())),
        Ok(false) if is_mount_point(&target) => Err(BadPlace::MountPoint(dir.to_owned())),
        Ok(false) => Ok(target),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(target),
        Err(_) if !target.is_dir() => Err(BadPlace::NotFolder(dir.to_owned())),
        Err(error) => Err(no_parent(error)),
    }
}

/// Whether something is mounted at a folder: a disk, or another folder.
fn is_mount_point(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| path.metadata().ok().map(|meta| meta.dev());
    let differs = folder.parent().is_none_or(|parent| device(parent) != device(folder));
    differs || is_root_of_a_mount(folder)
}

/// Tells also of a folder of the same disk that is mounted there; older kernels do not know.
fn is_root_of_a_mount(folder: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    statx(CWD, folder, AtFlags::empty(), StatxFlags::BASIC_STATS).is_ok_and(|found| {
        let known = StatxAttributes::from_bits_retain(found.stx_attributes_mask.bits());
        known.contains(StatxAttributes::MOUNT_ROOT)
            && found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
    })
}
