//! Uploads whose answer never came, as it was lost or espejo was killed: what each has made is found among what the service
//! shows, by its place, name and size, and compared byte for byte. From then on it is a file like any other, whatever became
//! of it on either side.

use super::local::is_untouched;
use super::send::Uploads;
use super::{Storage, StorageContext};
use crate::model::{
    ContentHash, Creation, FileId, FileNode, FolderId, MirrorPath, Seen, StorageFile, Timestamp, Upload,
};
use crate::plan::filenames;
use crate::store::StoreError;

impl Storage {
    /// A list of the folder that an unconfirmed upload went to: what looks like it is fetched and compared. A list that lacks
    /// anything else says nothing, until a look at that one by itself has said that it is gone.
    pub(super) fn confirm_uploads(
        &mut self,
        cx: &mut StorageContext<'_>,
        folder: Option<&FolderId>,
        asked_at: Timestamp,
    ) -> Result<(), StoreError> {
        let is_lacked =
            |node: &FileNode| node.seen == Seen::Unlisted && node.remote.folder.as_ref() == folder;
        for upload in self.uploads.creations.unconfirmed(|upload| upload.folder.as_ref() == folder) {
            let path = &upload.draft.path;
            if self.files.values().any(|node| self.may_be(node, &upload)) {
                // It is fetched first.
            } else if self.files.values().any(is_lacked) {
                self.lists.walk_by(folder, cx.now.plus_ms(5_000), cx.tick);
            } else if let Some(at) = self.uploads.creations.not_shown(cx.store, path, asked_at)? {
                self.lists.walk_by(folder, at, cx.tick);
            } else {
                // Its place is free.
                self.mark_dirty_in(folder);
            }
        }
        Ok(())
    }

    /// What was just downloaded may be what an upload without an answer sent.
    pub(super) fn settle_lost_upload(
        &mut self,
        cx: &mut StorageContext<'_>,
        id: &FileId,
        hash: ContentHash,
    ) -> Result<(), StoreError> {
        let Some(node) = self.files.get(id).cloned() else { return Ok(()) };
        let like = self.uploads.creations.all().filter(|upload| self.looks_like(&node, upload));
        let like: Vec<Upload> = like.map(|upload| upload.draft.clone()).collect();
        if let Some(upload) = like.iter().find(|upload| upload.hash == hash) {
            return self.settle_upload(cx, upload, &node.remote);
        }
        if !like.is_empty() {
            // Another program or person sent this file of that name and size: a list that shows no other one ends the search.
            self.lists.walk_by(node.remote.folder.as_ref(), cx.now, cx.tick);
        }
        Ok(())
    }

    /// Whether a file with this content is what a lost upload sent.
    pub(super) fn is_lost_upload(&self, node: &FileNode, hash: ContentHash) -> bool {
        self.uploads.creations.all().any(|upload| upload.draft.hash == hash && self.looks_like(node, upload))
    }

    /// Whether a file looks like what a lost upload sent, and is not known to hold something else.
    fn may_be(&self, node: &FileNode, upload: &Creation<Upload>) -> bool {
        self.looks_like(node, upload) && !self.is_known_to_differ(node, &upload.draft)
    }

    /// Whether a file looks like what a lost upload has made: by its folder and name, or by one of the two where it has come
    /// since and nothing has both. It may have been renamed or moved in the app by now.
    fn looks_like(&self, node: &FileNode, creation: &Creation<Upload>) -> bool {
        let upload = &creation.draft;
        let met_at =
            self.runtimes.get(&node.remote.id).map_or_else(Timestamp::default, |runtime| runtime.met_at);
        let is_like_in_part = || {
            let in_folder = node.remote.folder == upload.folder && upload.size > 0;
            let is_as_well =
                |other: &FileNode| is_like(other, upload) && !self.is_known_to_differ(other, upload);
            met_at >= creation.asked_at
                && is_unclaimed(node, upload)
                && (in_folder || has_its_name(node, upload))
                && !self.files.values().any(is_as_well)
        };
        creation.unconfirmed.is_some() && (is_like(node, upload) || is_like_in_part())
    }

    fn is_known_to_differ(&self, node: &FileNode, upload: &Upload) -> bool {
        let differs = |runtime: &super::Runtime| {
            runtime.fetched.as_deref().is_some_and(|fetched| {
                fetched.attachment == node.remote.attachment && fetched.hash != upload.hash
            })
        };
        self.runtimes.get(&node.remote.id).is_some_and(differs)
    }

    /// Where the file of an upload is: a folder around it may have been renamed since.
    pub(super) fn lies_at(&self, upload: &Upload, file: &StorageFile) -> MirrorPath {
        let place = self.tree.place_of(file.folder.as_ref());
        let moved = place.and_then(|place| place.join(upload.path.name()).ok()).filter(|to| {
            let found = self.sight.files.get(to);
            !self.sight.files.contains_key(&upload.path)
                && found.is_some_and(|stamp| is_untouched(&upload.stamp, stamp))
        });
        moved.unwrap_or_else(|| upload.path.clone())
    }
}

impl Uploads {
    /// Whether a file may be what an upload under way has made: its answer tells.
    pub(super) fn may_be_under_way(&self, node: &FileNode) -> bool {
        self.creations.all().any(|upload| upload.unconfirmed.is_none() && is_like(node, &upload.draft))
    }
}

fn is_like(node: &FileNode, upload: &Upload) -> bool {
    is_unclaimed(node, upload) && node.remote.folder == upload.folder && has_its_name(node, upload)
}

fn has_its_name(node: &FileNode, upload: &Upload) -> bool {
    let name = &node.remote.filename;
    *name == upload.filename || *name == filenames::as_stored(&upload.filename)
}

/// Whether a file is there, of the size of what was uploaded, and nothing is agreed on it.
fn is_unclaimed(node: &FileNode, upload: &Upload) -> bool {
    node.seen == Seen::Listed
        && node.base.is_none()
        && node.replaced_by.is_none()
        && node.remote.size == upload.size
        && upload.replaces.as_ref() != Some(&node.remote.id)
}
