//! What storage's effects do in the folder, as `mirror::storage` does it on a real disk: what is expected is told by a stamp,
//! and what a download replaces goes to the trash whole.

use std::collections::BTreeMap;

use espejo::model::{
    ContentHash, DiskError, DiskReply, EntryKind, MirrorPath, Part, Stamp, StorageEffect, StoredReply,
};

use crate::disk::{may_make, may_open, may_write, ready};
use crate::folder::{Folder, Thing};

/// A temporary file of a download.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartFile {
    /// What the whole has.
    pub(crate) bytes: Vec<u8>,
    /// How much of it is here, by the size that is told.
    pub(crate) got: u64,
    /// Whether the process that runs has written all of it: after a kill the last piece is not trusted.
    pub(crate) is_ours: bool,
}

/// Temporary files.
pub(crate) type Parts = BTreeMap<Part, PartFile>;

/// Carries out an effect of storage.
pub(crate) fn act(folder: &mut Folder, effect: &StorageEffect) -> Result<DiskReply, DiskError> {
    ready(folder)?;
    match effect {
        StorageEffect::MakeFolder(path) => make_folder(folder, path),
        StorageEffect::Place { part, hash, to, instead_of } => {
            place(folder, part, *hash, to, *instead_of).map(placed)
        }
        StorageEffect::Discard { path, expect } => discard(folder, path, *expect),
        StorageEffect::Sweep(keep) => {
            folder.parts.retain(|part, _| keep.contains(part));
            Ok(DiskReply::Finished)
        }
        other => Err(DiskError::Io(MirrorPath::root(), format!("not an act on the disk: {}", other.name()))),
    }
}

fn placed(stamp: Stamp) -> DiskReply {
    DiskReply::Storage(StoredReply::Placed(stamp))
}

fn make_folder(folder: &mut Folder, path: &MirrorPath) -> Result<DiskReply, DiskError> {
    may_make(folder, path)?;
    if folder.is_folder(path) {
        return Ok(DiskReply::Finished);
    }
    if folder.things.contains_key(path) {
        return Err(DiskError::Exists(path.clone()));
    }
    may_write(folder, path)?;
    if folder.full {
        return Err(DiskError::Full(path.clone(), "the disk is full".to_owned()));
    }
    folder.make_folder(path);
    Ok(DiskReply::Finished)
}

fn place(
    folder: &mut Folder,
    part: &Part,
    hash: ContentHash,
    to: &MirrorPath,
    instead_of: Option<Stamp>,
) -> Result<Stamp, DiskError> {
    let download = folder.parts.get(part).cloned().ok_or_else(|| DiskError::Missing(to.clone()))?;
    if instead_of.is_some() {
        may_open(folder, to)?;
    } else {
        may_make(folder, to)?;
    }
    let there = folder.things.get(to);
    if let Some(there) = there.filter(|there| Some(there.stamp) != instead_of) {
        // The same content in its place already: an answer that was lost, or a state that was.
        if there.kind == EntryKind::File
            && there.stamp.size == download.got
            && ContentHash::of(&there.bytes) == hash
        {
            let stamp = there.stamp;
            folder.parts.remove(part);
            return Ok(stamp);
        }
        return Err(if instead_of.is_some() {
            DiskError::Changed(to.clone())
        } else {
            DiskError::Exists(to.clone())
        });
    }
    if instead_of.is_some() && there.is_none() {
        return Err(DiskError::Missing(to.clone()));
    }
    may_write(folder, to)?;
    folder.parts.remove(part);
    let old = folder.put(to, &download.bytes, download.got);
    if let Some(old) = old {
        folder.trash.push((to.clone(), old));
    }
    folder.file(to).map(|thing| thing.stamp).ok_or_else(|| DiskError::Missing(to.clone()))
}

fn discard(folder: &mut Folder, path: &MirrorPath, expect: Stamp) -> Result<DiskReply, DiskError> {
    may_open(folder, path)?;
    let is_it = |thing: &Thing| thing.kind == EntryKind::File && thing.stamp == expect;
    let thing = folder.things.get(path).ok_or_else(|| DiskError::Missing(path.clone()))?;
    if !is_it(thing) {
        return Err(DiskError::Changed(path.clone()));
    }
    may_write(folder, path)?;
    if let Some(thing) = folder.things.remove(path) {
        folder.trash.push((path.clone(), thing));
        folder.stamp_parent(path);
        folder.touched.push(path.clone());
    }
    Ok(DiskReply::Finished)
}
