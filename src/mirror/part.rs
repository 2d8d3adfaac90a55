//! Temporary files of downloads, in `.espejo/downloads`: written as the bytes come, hashed on the way, taken up again after
//! a break. What a finished one becomes is `storage`'s.
//!
//! Everything below a whole number of steps (`STEP`) is synced before anything is written beyond it. So after a kill or a power
//! cut all but the last step of a file can be trusted, whatever the file system did with the rest; and within one run
//! everything can.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use ring::digest::{Context, SHA256};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::root::{Root, own_path};
use super::{Mirror, calls, errors, sys};
use crate::model::{ContentHash, DiskError, EntryKind, MirrorPath, Part, planted};

/// The folder in `.espejo`.
pub(super) const FOLDER: &str = "downloads";

/// How often a growing file is synced, in bytes.
const STEP: u64 = 4 << 20;

const BUFFER: usize = 256 << 10;

/// A temporary file, open.
pub struct PartFile {
    file: File,
    part: Part,
    at: u64,
    hash: Context,
}

/// How long each temporary file was when this run last wrote to it.
pub(super) type Lengths = BTreeMap<Part, u64>;

pub(super) fn name_of(part: &Part) -> String {
    format!("{}.part", part.as_str())
}

pub(super) fn folder(root: &Root) -> Result<OwnedFd, DiskError> {
    root.own_folder(FOLDER)
}

impl Mirror {
    /// Opens the temporary file of a download, making it where there is none. What it holds already, as far as it can be
    /// trusted, counts.
    ///
    /// # Errors
    /// [`DiskError`] when the root is not ready or the file cannot be opened.
    pub fn open_part(&self, part: &Part, size: u64) -> Result<PartFile, DiskError> {
        let root = self.place.open(&self.id).map_err(|state| self.place.not_ready(&state))?;
        let fail = |error| errors::failed(&own_path(FOLDER), error);
        let opened = sys::open_or_create_file(folder(&root)?, &name_of(part), 0o644).map_err(fail)?;
        let look = sys::look_of(&opened).map_err(fail)?;
        if look.kind != EntryKind::File {
            return Err(DiskError::NotOrdinary(own_path(FOLDER)));
        }
        let there = look.stamp.size;
        let ours = self.lengths().get(part) == Some(&there) || planted("download-end-trusted");
        let trusted = if ours { there } else { there.saturating_sub(1) / STEP * STEP };
        let mut open =
            PartFile { file: File::from(opened), part: part.clone(), at: 0, hash: Context::new(&SHA256) };
        open.cut(if there > size { 0 } else { trusted })?;
        Ok(open)
    }

    /// Writes to a temporary file.
    ///
    /// # Errors
    /// [`DiskError::Full`] and its kin; what was written before stays.
    pub fn write_part(&self, open: &mut PartFile, bytes: &[u8]) -> Result<(), DiskError> {
        let written = open.write(bytes);
        self.lengths().insert(open.part.clone(), open.at);
        written
    }

    /// Begins a temporary file anew.
    ///
    /// # Errors
    /// [`DiskError`] when it cannot be emptied.
    pub fn restart_part(&self, open: &mut PartFile) -> Result<(), DiskError> {
        open.cut(0)?;
        self.lengths().insert(open.part.clone(), 0);
        Ok(())
    }

    pub(super) fn lengths(&self) -> std::sync::MutexGuard<'_, Lengths> {
        // A panic while it was held leaves a map that is right or too careful.
        self.lengths.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl PartFile {
    /// How many bytes are there.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.at
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at == 0
    }

    /// Makes everything durable and says what it is.
    ///
    /// # Errors
    /// [`DiskError`] when the disk does not take it.
    pub fn finish(self) -> Result<ContentHash, DiskError> {
        sys::sync_file(&self.file).map_err(failed)?;
        let mut hash = [0; 32];
        hash.copy_from_slice(self.hash.finish().as_ref());
        Ok(ContentHash(hash))
    }

    /// Keeps the first `length` bytes and no more.
    fn cut(&mut self, length: u64) -> Result<(), DiskError> {
        self.file.set_len(length).map_err(|error| of_io(&error))?;
        calls::wrote(&self.file);
        self.file.seek(SeekFrom::Start(0)).map_err(|error| of_io(&error))?;
        self.hash = Context::new(&SHA256);
        self.at = 0;
        let mut buffer = vec![0; BUFFER];
        while self.at < length {
            let count = self.file.read(&mut buffer).map_err(|error| of_io(&error))?;
            if count == 0 {
                break;
            }
            self.hash.update(&buffer[..count]);
            self.at += count as u64;
        }
        Ok(())
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<(), DiskError> {
        while !bytes.is_empty() {
            let room = STEP - self.at % STEP;
            let take = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
            let (now, later) = bytes.split_at(take);
            self.file.write_all(now).map_err(|error| of_io(&error))?;
            calls::wrote(&self.file);
            self.hash.update(now);
            self.at += take as u64;
            if self.at.is_multiple_of(STEP) {
                sys::sync_file(&self.file).map_err(failed)?;
            }
            bytes = later;
        }
        Ok(())
    }
}

fn failed(error: Errno) -> DiskError {
    errors::failed(&own_path(FOLDER), error)
}

fn of_io(error: &std::io::Error) -> DiskError {
    match Errno::from_io_error(error) {
        Some(errno) => failed(errno),
        None => DiskError::Io(own_path(FOLDER), error.to_string()),
    }
}

/// The hash of an open file, read in small pieces.
pub(super) fn hash_of(file: &mut File, path: &MirrorPath) -> Result<ContentHash, DiskError> {
    let mut hash = Context::new(&SHA256);
    let mut buffer = vec![0; BUFFER];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(DiskError::Io(path.clone(), error.to_string())),
        }
    }
    let mut out = [0; 32];
    out.copy_from_slice(hash.finish().as_ref());
    Ok(ContentHash(out))
}
