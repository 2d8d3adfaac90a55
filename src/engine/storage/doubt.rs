//! Unconfirmed uploads, because of a lost answer or a kill. The created file is found at the service by its folder,
//! name and size, and compared byte for byte. After that it is an ordinary file, whatever happened to it on either
//! side.

use super::send::Uploads;
use super::{Storage, Turn};
use crate::model::{ContentHash, Creation, FileId, FileNode, FolderId, MirrorPath, Seen, Timestamp, Upload};
use crate::plan::filenames;

impl Storage {
    /// Takes in a list of the folder of an unconfirmed upload: files that may be its result are downloaded and
    /// compared. If the list also lacks another file, it is no evidence, until a GET of that file shows that it is
    /// gone. The second list that counts is no evidence until each folder has been listed since the first: the file
    /// may have been moved in the app by now.
    pub(super) fn confirm_uploads(
        &mut self,
        cx: &mut Turn<'_>,
        folder: Option<&FolderId>,
        asked_at: Timestamp,
    ) {
        let is_lacked =
            |node: &FileNode| node.seen == Seen::Unlisted && node.remote.folder.as_ref() == folder;
        for upload in self.uploads.creations.unconfirmed(|upload| upload.folder.as_ref() == folder) {
            let path = &upload.draft.path;
            if self.files.values().any(|node| self.may_be(node, &upload)) {
                // The file is downloaded first.
            } else if self.files.values().any(is_lacked)
                || upload.last_counted().is_some_and(|since| awaits_lists(self, cx, since))
            {
                self.lists.walk_by(folder, cx.now.plus_ms(5_000), cx.tick);
            } else if let Some(at) = self.uploads.creations.not_shown(&mut cx.store, path, asked_at) {
                self.lists.walk_by(folder, at, cx.tick);
            } else {
                // Its place is free.
                self.mark_dirty_in(folder);
            }
        }
    }

    /// Checks whether a download is the result of an unconfirmed upload.
    pub(super) fn settle_lost_upload(&mut self, cx: &mut Turn<'_>, id: &FileId, hash: ContentHash) {
        let Some(node) = self.files.get(id).cloned() else { return };
        let like = self.uploads.creations.all().filter(|upload| self.looks_like(&node, upload));
        let like: Vec<Upload> = like.map(|upload| upload.draft.clone()).collect();
        // Of two with one content it is the one of its folder and name.
        let same = like.iter().filter(|upload| upload.hash == hash);
        if let Some(upload) = same.min_by_key(|upload| !is_like(&node, upload)) {
            return self.settle_upload(cx, upload, &node.remote);
        }
        if !like.is_empty() {
            // Another program or user uploaded this file of that name and size: a list without another such file ends
            // the search.
            self.lists.walk_by(node.remote.folder.as_ref(), cx.now, cx.tick);
        }
    }

    /// Whether a file with this content is the result of an unconfirmed upload.
    pub(super) fn is_lost_upload(&self, node: &FileNode, hash: ContentHash) -> bool {
        self.uploads.creations.all().any(|upload| upload.draft.hash == hash && self.looks_like(node, upload))
    }

    /// Whether a file may be the result of an unconfirmed upload, and is not known to hold other bytes.
    fn may_be(&self, node: &FileNode, upload: &Creation<Upload>) -> bool {
        self.looks_like(node, upload) && !self.is_known_to_differ(node, &upload.draft)
    }

    /// Whether a file matches an unconfirmed upload: by folder and name; or by one of the two, if the file appeared
    /// after the request and no file matches in both. The file may have been renamed or moved in the app by now.
    fn looks_like(&self, node: &FileNode, creation: &Creation<Upload>) -> bool {
        let upload = &creation.draft;
        let is_like_in_part = || {
            let in_folder = node.remote.folder == upload.folder && upload.size > 0;
            let is_as_well = |other: &FileNode| {
                other.seen == Seen::Listed
                    && is_like(other, upload)
                    && !self.is_known_to_differ(other, upload)
            };
            // When an earlier run met it is unknown.
            let met_at = self.of(&node.remote.id).met_at;
            (met_at.0 == 0 || met_at >= creation.asked_at)
                && is_unclaimed(node, upload)
                && (in_folder || has_its_name(node, upload))
                && !self.files.values().any(is_as_well)
        };
        creation.unconfirmed.is_some()
            && node.seen == Seen::Listed
            && (is_like(node, upload) || is_like_in_part())
    }

    fn is_known_to_differ(&self, node: &FileNode, upload: &Upload) -> bool {
        self.of(&node.remote.id).fetched.as_deref().is_some_and(|fetched| {
            fetched.attachment == node.remote.attachment && fetched.hash != upload.hash
        })
    }

    /// Renames the files to be sent, and running and unconfirmed uploads, together with their folder.
    pub(super) fn uploads_follow(&mut self, cx: &mut Turn<'_>, from: &MirrorPath, to: &MirrorPath) {
        let moved = |upload: &Upload| Some(Upload { path: upload.path.rebase(from, to)?, ..upload.clone() });
        let moved = self.uploads.creations.follow(&mut cx.store, moved);
        // What was refused under the old path is not sent again under the new one.
        let candidates = std::mem::take(&mut self.uploads.candidates).into_iter();
        let followed = candidates.map(|(path, candidate)| (path.rebase(from, to).unwrap_or(path), candidate));
        self.uploads.candidates = followed.collect();
        cx.in_flight.flights.values_mut().for_each(|flight| flight.purpose.follow_uploads(&moved));
    }
}

/// Requests the lists of the folders that have not been listed since a time; returns whether there are any. A folder
/// whose lists fail again and again is not waited for.
fn awaits_lists(storage: &mut Storage, cx: &Turn<'_>, since: Timestamp) -> bool {
    let unseen = storage.lists.unseen_since(since, &storage.tree);
    unseen.iter().for_each(|folder| storage.lists.ask_for_list(folder.as_ref(), cx.now, cx.tick));
    !unseen.is_empty()
}

impl Uploads {
    /// Whether a file may be the result of a running upload, whose answer will tell.
    pub(super) fn may_be_under_way(&self, node: &FileNode) -> bool {
        self.creations.all().any(|upload| upload.unconfirmed.is_none() && is_like(node, &upload.draft))
    }

    /// Whether a file may be the result of an unconfirmed upload, also if no list shows it any more.
    pub(super) fn may_be_unconfirmed(&self, node: &FileNode) -> bool {
        self.creations.all().any(|upload| upload.unconfirmed.is_some() && is_like(node, &upload.draft))
    }
}

fn is_like(node: &FileNode, upload: &Upload) -> bool {
    is_unclaimed(node, upload) && node.remote.folder == upload.folder && has_its_name(node, upload)
}

fn has_its_name(node: &FileNode, upload: &Upload) -> bool {
    let name = &node.remote.filename;
    *name == upload.filename || *name == filenames::as_stored(&upload.filename)
}

/// Whether a file has the size of the upload, and no base.
fn is_unclaimed(node: &FileNode, upload: &Upload) -> bool {
    node.base.is_none()
        && node.replaced_by.is_none()
        && node.remote.size == upload.size
        && upload.replaces.as_ref() != Some(&node.remote.id)
}
