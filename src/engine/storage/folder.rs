//! Whether the folder is the one that stored files were last seen in. Of another one (a copy, a backup that was put back, a
//! state that is older than the folder) it is not known what a person did in it: what is missing there was not deleted, and in
//! an older copy what differs is no edit. The first scan notes this file by file, so that what is done afterwards counts as
//! always.

use std::collections::BTreeSet;

use super::{Storage, StorageContext, local::Local};
use crate::model::{FileId, FileNode, MirrorPath, Scan, Stamp, StorageMode};
use crate::store::{FolderDoubt, Store, StoreError};

/// Where the identity of the folder is noted: its device and inode.
const KEY: &str = "stored_folder";

/// The folder that was seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    identity: Option<(u64, u64)>,
    doubt: Option<FolderDoubt>,
}

impl Known {
    pub(super) fn open(store: &Store) -> Result<Self, StoreError> {
        let text = store.meta(KEY)?.unwrap_or_default();
        let identity = text
            .split_once(' ')
            .and_then(|(device, inode)| Some((device.parse().ok()?, inode.parse().ok()?)));
        Ok(Self { identity, doubt: store.folder_doubt()? })
    }
}

impl Storage {
    /// Compares the folder of a scan with the one before it, and doubts what the scan does not show as it was agreed.
    pub(super) fn meet_folder(
        &mut self,
        cx: &mut StorageContext<'_>,
        scan: &Scan,
        approved_unseen: bool,
    ) -> Result<(), StoreError> {
        let (device, inode) = scan.root_identity;
        let present = Known { identity: Some((device, inode)), doubt: None };
        let before = std::mem::replace(&mut self.folder, present);
        if before == present {
            return Ok(());
        }
        cx.store.set_meta(KEY, &format!("{device} {inode}"))?;
        cx.store.end_folder_doubt()?;
        // Disks may have other numbers after each start of the machine.
        let is_same =
            before.identity.is_none_or(|(was, same)| same == inode && self.renumbered().contains(&was));
        if before.doubt.is_none() && is_same || approved_unseen {
            return Ok(());
        }
        // What is known of the files in this run was seen in another folder.
        for runtime in self.runtimes.values_mut() {
            runtime.local = Local::Unknown;
            runtime.went_to = None;
        }
        let is_older = before.doubt == Some(FolderDoubt::Older);
        for id in self.unlike_agreed(is_older, before.identity.map(|(device, _)| device)) {
            self.edit_file(cx, &id, |node| {
                if let Some(base) = &mut node.base {
                    base.stamp = Stamp::default();
                }
            })?;
        }
        if is_older {
            self.note_returned(cx)?;
        }
        Ok(())
    }

    /// Files that are not in their places, and with `changed` those that are not as they were agreed either. What may be on a
    /// disk that is not mounted is not among them; the disk of the root is.
    fn unlike_agreed(&self, changed: bool, root_was: Option<u64>) -> Vec<FileId> {
        let renumbered = self.renumbered();
        let unlike = self.files.values().filter(|node| {
            node.base.as_ref().is_some_and(|base| match self.sight.files.get(&base.path) {
                Some(stamp) => changed && *stamp != base.stamp,
                None => {
                    let device = base.stamp.device;
                    Some(device) == root_was
                        || renumbered.contains(&device)
                        || !self.sight.is_elsewhere(&base.path, device)
                }
            })
        });
        unlike.map(|node| node.remote.id.clone()).collect()
    }

    /// What belongs to no stored file in an older copy may have been removed or renamed since the copy was made.
    fn note_returned(&mut self, cx: &mut StorageContext<'_>) -> Result<(), StoreError> {
        let ours: BTreeSet<&MirrorPath> =
            self.files.values().filter_map(|node| Some(&node.base.as_ref()?.path)).collect();
        for (path, stamp) in self.sight.files.iter().filter(|(path, _)| !ours.contains(path)) {
            cx.store.save_returned(path, stamp.changed_ns)?;
            self.uploads.returned.insert(path.clone(), stamp.changed_ns);
        }
        Ok(())
    }

    /// Forgets that local files came back with an older copy: those that are not as they were then, and those that
    /// `approved` names.
    pub(super) fn forget_returned(
        &mut self,
        cx: &mut StorageContext<'_>,
        approved: impl Fn(&MirrorPath) -> bool,
    ) -> Result<(), StoreError> {
        let (sight, barrier) = (&self.sight, cx.barrier);
        let is_over = |(path, changed): (&MirrorPath, &i64)| {
            let is_as_then = match sight.files.get(path) {
                Some(stamp) => stamp.changed_ns == *changed,
                None => sight.at.0 == 0 || barrier.covers(path),
            };
            (!is_as_then || approved(path)).then(|| path.clone())
        };
        for path in self.uploads.returned.iter().filter_map(is_over).collect::<Vec<_>>() {
            self.uploads.returned.remove(&path);
            cx.store.delete_returned(&path)?;
        }
        Ok(())
    }

    /// Whether a file was not seen in the present folder yet, and its absence or its bytes say nothing of a person's wish.
    pub(super) fn is_doubted(&self, node: &FileNode) -> bool {
        !node.approved && node.base.as_ref().is_some_and(|base| !base.is_seen())
    }

    /// How a file is kept in step: one that is in doubt as in a backup.
    pub(super) fn mode_of(&self, node: &FileNode) -> StorageMode {
        if self.is_doubted(node) { StorageMode::Backup } else { self.mode }
    }
}
