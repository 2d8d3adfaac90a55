//! Whether the folder is the one in which stored files were last seen. In another one (a copy, a restored backup, a
//! state older than the folder) the user's acts are unknown: a missing file was not deleted, and in an older copy a
//! difference is no edit. The first scan records this for each file, so that later acts of the user count as usual.

use std::collections::BTreeSet;

use super::{Storage, Turn, local::Local};
use crate::model::{FileId, FileNode, MirrorPath, Scan, Stamp, StorageMode, Upload};
use crate::store::{FolderDoubt, Store, StoreError, StoredRow};

/// The key of the folder's identity in `meta`: its device and inode.
const KEY: &str = "stored_folder";

/// The folder of the last scan.
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
    /// Compares the folder of a scan with the previous one, and doubts the files that the scan does not show as in
    /// their base.
    pub(super) fn meet_folder(&mut self, cx: &mut Turn<'_>, scan: &Scan, approved_unseen: bool) {
        let (device, inode) = scan.root_identity;
        let present = Known { identity: Some((device, inode)), doubt: None };
        let before = std::mem::replace(&mut self.folder, present);
        if before == present {
            return;
        }
        cx.store.set_meta(KEY, &format!("{device} {inode}"));
        cx.store.end_folder_doubt();
        // Device numbers may change with a restart of the machine.
        let is_same =
            before.identity.is_none_or(|(was, same)| same == inode && self.renumbered().contains(&was));
        if before.doubt.is_none() && is_same || approved_unseen {
            return;
        }
        // The runtime state of the files was observed in another folder.
        for runtime in self.runtimes.values_mut() {
            runtime.local = Local::Unknown;
            runtime.went_to = None;
        }
        let is_older = before.doubt == Some(FolderDoubt::Older);
        for id in self.unlike_agreed(is_older, before.identity.map(|(device, _)| device)) {
            self.edit_base(cx, &id, |base| base.stamp = Stamp::default());
        }
        // So are those that become files of the service's later, as uploads of an earlier run.
        let sight = &self.sight;
        let unseen = |upload: &Upload| {
            let is_there = sight.files.get(&upload.path) == Some(&upload.stamp);
            (!is_there).then(|| Upload { stamp: Stamp::default(), ..upload.clone() })
        };
        self.uploads.creations.follow(&mut cx.store, unseen);
        if is_older {
            self.note_returned(cx);
        }
    }

    /// Files that are not at their paths. With `changed`, also those that differ from their base. Files that may be
    /// on a disk that is not mounted are excluded, except for the root's disk.
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

    /// Records local files of an older copy that belong to no stored file, because they may have been removed or
    /// renamed since the copy was made.
    fn note_returned(&mut self, cx: &mut Turn<'_>) {
        let ours: BTreeSet<&MirrorPath> =
            self.files.values().filter_map(|node| Some(&node.base.as_ref()?.path)).collect();
        for (path, stamp) in self.sight.files.iter().filter(|(path, _)| !ours.contains(path)) {
            cx.store.save_returned(path, stamp.changed_ns);
            self.uploads.returned.insert(path.clone(), stamp.changed_ns);
        }
    }

    /// Removes the mark of local files that came back with an older copy, if they changed since, or if `approved`
    /// selects them.
    pub(super) fn forget_returned(&mut self, cx: &mut Turn<'_>, approved: impl Fn(&MirrorPath) -> bool) {
        let (sight, barrier) = (&self.sight, &cx.folder.root.barrier);
        let is_over = |(path, changed): (&MirrorPath, &i64)| {
            let is_as_then = match sight.files.get(path) {
                Some(stamp) => stamp.changed_ns == *changed,
                None => sight.at.0 == 0 || barrier.covers(path),
            };
            (!is_as_then || approved(path)).then(|| path.clone())
        };
        for path in self.uploads.returned.iter().filter_map(is_over).collect::<Vec<_>>() {
            self.uploads.returned.remove(&path);
            cx.store.delete_stored(StoredRow::Returned(&path));
        }
    }

    /// Whether a file was not yet seen in the present folder, so that its absence or its bytes do not show what the
    /// user wants.
    pub(super) fn is_doubted(&self, node: &FileNode) -> bool {
        !node.approved && node.base.as_ref().is_some_and(|base| !base.is_seen())
    }

    /// The direction of sync for a file: a doubted one is treated as in backup mode.
    pub(super) fn mode_of(&self, node: &FileNode) -> StorageMode {
        if self.is_doubted(node) { StorageMode::Backup } else { self.mode }
    }
}
