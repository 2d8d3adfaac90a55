//! Small files that espejo writes for the user outside the mirror: config, token, unit. All or nothing, and never readable
//! by others for a moment if they shall not be.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::daemon;

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone, whatever was there before.
    Owner,
    /// As before; a new file as the user's umask has it.
    AsBefore,
}

/// Writes a whole file: what was there before stays until the new one is complete. A link is followed, so that configs
/// which live elsewhere stay there.
///
/// # Errors
/// One sentence that names the file.
pub fn write(path: &Path, text: &str, readers: Readers) -> Result<()> {
    let told = || format!("{} cannot be written", path.display());
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().with_context(told)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(told)?;
    let before = fs::metadata(&target).ok().map(|meta| meta.permissions().mode() & 0o777);
    let temporary = Temporary::new(&target);
    let mode = if readers == Readers::Owner { 0o600 } else { 0o666 };
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary.0).with_context(told)?;
    let made = file.metadata().with_context(told)?.permissions().mode() & 0o777;
    if let (Readers::AsBefore, Some(before)) = (readers, before)
        && before != made
    {
        file.set_permissions(fs::Permissions::from_mode(before)).with_context(told)?;
    }
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(told)?;
    fs::rename(&temporary.0, &target).with_context(told)?;
    File::open(folder).and_then(|folder| folder.sync_all()).with_context(told)
}

/// A file that is gone again unless it was renamed.
struct Temporary(PathBuf);

impl Temporary {
    fn new(target: &Path) -> Self {
        let tail = daemon::fresh_tag(6);
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        Self(target.with_file_name(format!(".{name}.{tail}")))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Renamed already, as a rule.
        drop(fs::remove_file(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_who_may_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/config.toml");
        write(&path, "one", Readers::AsBefore).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write(&path, "two", Readers::AsBefore).unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("two", 0o640));
        write(&path, "three", Readers::Owner).unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("three", 0o600));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }

    #[test]
    fn a_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (link, real) = (dir.path().join("config.toml"), dir.path().join("dotfiles.toml"));
        write(&real, "one", Readers::AsBefore).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write(&link, "two", Readers::AsBefore).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "two");
    }

    #[test]
    fn what_cannot_be_written_leaves_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        File::create(dir.path().join("file")).unwrap();
        let told = write(&dir.path().join("file/config.toml"), "x", Readers::Owner).unwrap_err();
        assert!(format!("{told:#}").contains("file/config.toml cannot be written: "), "{told:#}");
    }
}
