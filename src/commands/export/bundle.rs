//! The folder that an export becomes: files with their hashes, written beside its place under a name that says
//! `unfinished`, and renamed there when every byte is on the disk.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ring::digest;
use serde_json::{Value, json};

use crate::daemon;

/// A folder in the making; removed when it is dropped before its end.
pub(super) struct Bundle {
    target: PathBuf,
    folder: PathBuf,
    /// Path, hash in hex and size of every file, and what else the manifest says of it.
    entries: Vec<(String, String, u64, Value)>,
    is_finished: bool,
}

impl Drop for Bundle {
    fn drop(&mut self) {
        if !self.is_finished {
            // What stays says by its name what it is.
            drop(std::fs::remove_dir_all(&self.folder));
        }
    }
}

impl Bundle {
    pub(super) fn begin(target: PathBuf) -> Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let tag = daemon::fresh_tag(4);
        let parent = target.parent().unwrap_or(Path::new("/"));
        // A name may be as long as the file system takes, and this one is longer.
        let short: String = name.chars().take(40).collect();
        let folder = parent.join(format!(".{short}.unfinished-{tag}"));
        make_folder(&folder).with_context(|| format!("no folder can be created in {}", parent.display()))?;
        Ok(Self { target, folder, entries: Vec::new(), is_finished: false })
    }

    /// Writes a file.
    pub(super) fn put(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        self.put_item(path, bytes, json!({}))
    }

    /// Writes a file of which the manifest says more.
    pub(super) fn put_item(&mut self, path: &str, bytes: &[u8], about: Value) -> Result<()> {
        let copied =
            self.write(path, about, |to| Ok(to.write_all(bytes).map_err(|error| io_words(&error))))?;
        copied.map_err(|why: String| anyhow::anyhow!("{path} cannot be written: {why}"))
    }

    /// Writes a file by a copy that may fail at its source; then there is none.
    pub(super) fn copy<E>(
        &mut self,
        path: &str,
        copy: impl FnOnce(&mut dyn Write) -> Result<Result<(), E>, io::Error>,
    ) -> Result<Result<(), E>> {
        self.write(path, json!({}), copy)
    }

    fn write<E>(
        &mut self,
        path: &str,
        about: Value,
        fill: impl FnOnce(&mut dyn Write) -> Result<Result<(), E>, io::Error>,
    ) -> Result<Result<(), E>> {
        let place = self.folder.join(path);
        let full = || format!("{} cannot be written", place.display());
        if let Some(parent) = place.parent() {
            make_folder(parent).with_context(full)?;
        }
        let mut open = OpenOptions::new();
        open.write(true).create(true).truncate(true).mode(0o600);
        let file = open.open(&place).with_context(full)?;
        let mut hashed =
            Hashed { file: BufWriter::new(file), hash: digest::Context::new(&digest::SHA256), size: 0 };
        let filled = fill(&mut hashed).with_context(full)?;
        if let Err(error) = filled {
            drop(hashed);
            std::fs::remove_file(&place).with_context(full)?;
            return Ok(Err(error));
        }
        hashed.file.flush().with_context(full)?;
        let hex = hashed.hash.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        self.entries.push((path.to_owned(), hex, hashed.size, about));
        Ok(Ok(()))
    }

    /// How many bytes there are.
    pub(super) fn bytes(&self) -> u64 {
        self.entries.iter().map(|(_, _, size, _)| size).sum()
    }

    /// Writes manifest and sums, waits for the disk, and gives the folder its name. Where it is.
    pub(super) fn finish(mut self, summary: &Value) -> Result<PathBuf> {
        self.entries.sort_by(|a, b| a.0.cmp(&b.0));
        let mut manifest = summary.clone();
        let described = self.entries.iter().map(|(path, hash, size, about)| {
            let mut entry = json!({ "path": path, "size": size, "sha256": hash });
            if let (Some(entry), Some(about)) = (entry.as_object_mut(), about.as_object()) {
                entry.extend(about.clone());
            }
            entry
        });
        manifest["contents"] = described.collect();
        self.put("manifest.json", format!("{}\n", serde_json::to_string_pretty(&manifest)?).as_bytes())?;
        let sums: String = self.entries.iter().map(|(path, hash, ..)| sum_line(path, hash)).collect();
        self.put("SHA256SUMS", sums.as_bytes())?;
        let folder = File::open(&self.folder)?;
        sync(&folder).with_context(|| format!("{} cannot be written", self.folder.display()))?;
        // An empty folder of this name gives way; one that was filled meanwhile does not.
        std::fs::rename(&self.folder, &self.target).map_err(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::NotADirectory => {
                anyhow::anyhow!("{} exists now; name a new folder", self.target.display())
            }
            _ => anyhow::anyhow!("{} cannot be created: {error}; name a new folder", self.target.display()),
        })?;
        self.is_finished = true;
        if let Some(parent) = self.target.parent() {
            // The name is only as sure as the folder that holds it; the bytes are.
            drop(File::open(parent).and_then(|parent| parent.sync_all()));
        }
        Ok(self.target.clone())
    }
}

/// One line as `sha256sum` writes and reads it.
fn sum_line(path: &str, hash: &str) -> String {
    let escaped = path.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r");
    let mark = if escaped == path { "" } else { "\\" };
    format!("{mark}{hash}  {escaped}\n")
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// One call for thousands of files.
fn sync(folder: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(folder)?)
}

fn io_words(error: &io::Error) -> String {
    error.to_string()
}

/// Hashes and counts what goes through it.
struct Hashed {
    file: BufWriter<File>,
    hash: digest::Context,
    size: u64,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_read_by_sha256sum_whatever_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let mut bundle = Bundle::begin(target.clone()).unwrap();
        for name in ["plain", "two words", "a\\b", "a\nb", "-x", "ñ/🚲", "*"] {
            bundle.put(name, name.as_bytes()).unwrap();
        }
        let failed: Result<(), &str> = bundle.copy("gone", |_| Ok(Err("no"))).unwrap();
        assert_eq!(failed, Err("no"));
        assert!(!target.exists());
        assert_eq!(bundle.finish(&json!({ "x": 1 })).unwrap(), target);
        let told = std::process::Command::new("sha256sum")
            .args(["--strict", "-c", "SHA256SUMS"])
            .current_dir(&target)
            .output()
            .unwrap();
        assert!(told.status.success(), "{told:?}");
        let manifest: Value =
            serde_json::from_slice(&std::fs::read(target.join("manifest.json")).unwrap()).unwrap();
        assert_eq!(manifest["contents"].as_array().unwrap().len(), 7);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_not_finished_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let mut bundle = Bundle::begin(target.clone()).unwrap();
        bundle.put("a/b", b"x").unwrap();
        drop(bundle);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        // Another program puts a file there meanwhile: that file stays.
        let bundle = Bundle::begin(target.clone()).unwrap();
        std::fs::create_dir(&target).unwrap();
        drop(File::create(target.join("theirs")).unwrap());
        assert!(bundle.finish(&json!({})).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(target.join("theirs").exists());
    }
}
