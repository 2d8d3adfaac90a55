//! Changes sent to the service, if sync goes both ways: new and changed files are uploaded, and files that left the
//! folder go to the service's trash.
//!
//! The API can neither rename nor change a file. A changed file is uploaded as a new one, and the old one is trashed
//! only after a list shows the new one; a renamed file is a new one and a deleted one. Files that the service would
//! not accept are reported without a request.

use std::collections::BTreeMap;

use super::guards::note_gone_there;
use super::local::{Local, is_coarse};
use super::names::storage_root;
use super::reasons::Trouble;
use super::{Direction, Storage, Task, Turn, effect};
use crate::engine::Way;
use crate::engine::activity::FILE_TRASHED;
use crate::engine::creations::Creations;
use crate::engine::refused::is_told;
use crate::engine::retry::Failing;
use crate::model::{
    ContentHash, Creation, DiskError, DiskReply, Effect, FileId, FileNode, LocalOnly, MirrorPath, Refusal,
    RefusalClass, Seen, ServiceError, ServiceReply, Stamp, StorageEffect, StorageFile, StorageMode,
    StorageReply, StoredFile, Timestamp, Unsent, Upload, planted,
};
use crate::plan::{filenames, naming::fold, stored};
use crate::store::StoredRow;

/// Local files that are no stored files yet.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    pub(super) candidates: BTreeMap<MirrorPath, Candidate>,
    pub(super) creations: Creations<Upload>,
    pub(super) local_only: BTreeMap<MirrorPath, LocalOnly>,
    /// Local files that came back with an older copy of the folder, with the change time of each in nanoseconds. They
    /// are not sent while that time is unchanged.
    pub(super) returned: BTreeMap<MirrorPath, i64>,
    pub(super) again: super::again::Again,
    /// Whether a local file may have lost its entry, so that the list of local files must be computed again.
    pub(super) strays_are_old: bool,
    /// A file that was read and is uploaded next.
    pub(super) ready: Option<Ready>,
}

/// A local file that the service does not have in this version.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) stamp: Stamp,
    /// The stored file that it replaces with newer content.
    pub(super) replaces: Option<FileId>,
    /// Whether it is known as the file of a stored file that left its place: no other one is it.
    pub(super) has_moved: bool,
    /// Why it is not sent.
    pub(super) refused: Option<Unsent>,
    /// The service's own refusal, kept until the next try.
    pub(super) by_service: Option<Refusal>,
    pub(super) failing: Failing,
    /// Its hash, once it was sent in vain or compared with a file that left its place.
    pub(super) hash: Option<ContentHash>,
    /// Time of the scan that first showed it with this stamp.
    found_at: Timestamp,
}

/// A file that was read and is sent next.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) path: MirrorPath,
    pub(super) stamp: Stamp,
    pub(super) bytes: Vec<u8>,
}

impl Candidate {
    pub(super) fn new(stamp: Stamp, replaces: Option<FileId>, found_at: Timestamp) -> Self {
        let failing = Failing::default();
        Self {
            stamp,
            replaces,
            has_moved: false,
            refused: None,
            by_service: None,
            failing,
            hash: None,
            found_at,
        }
    }

    /// Whether its next try is not due.
    pub(super) fn rests(&self, now: Timestamp) -> bool {
        self.failing.waits(now) || self.by_service.as_ref().is_some_and(|refusal| refusal.rests(now))
    }

    /// Records that the service refused its upload, or failed.
    fn refuse(&mut self, error: &ServiceError, said: String, now: Timestamp) {
        let before = self.by_service.as_ref();
        self.by_service = Some(Refusal::new(RefusalClass::of(error), said, before, now));
    }

    /// The failures of its upload of which the user is told.
    pub(super) fn told_trouble(&self) -> Option<&Refusal> {
        let refusal = self.by_service.as_ref().filter(|it| it.class == RefusalClass::Transient);
        refusal.filter(|refusal| self.refused.is_none() && is_told(refusal))
    }
}

impl Storage {
    /// Determines for each candidate why it is not sent, before any request.
    pub(super) fn judge_candidates(&mut self, cx: &Turn<'_>) {
        for path in self.uploads.candidates.keys().cloned().collect::<Vec<_>>() {
            let place = path.parent().and_then(|folder| self.tree.folder_at(&folder));
            let Some(candidate) = self.uploads.candidates.get_mut(&path) else { continue };
            if candidate.by_service.as_ref().is_some_and(|refusal| refusal.rests(cx.now)) {
                continue;
            }
            let is_returned = candidate.replaces.is_none()
                && self.uploads.returned.get(&path) == Some(&candidate.stamp.changed_ns);
            candidate.refused = match place {
                _ if is_returned => Some(Unsent::Returned),
                None => Some(Unsent::NoFolder),
                Some(_) => filenames::refusal(path.name(), candidate.stamp.size).map(Unsent::Unsendable),
            };
            if candidate.refused.is_some() {
                // It is not sent, so what the service said of an earlier try is over.
                candidate.by_service = None;
            }
        }
    }

    /// The next candidate, to be read.
    pub(super) fn next_read(&mut self, cx: &Turn<'_>) -> Option<(Effect, Task)> {
        let may = self.mode == StorageMode::TwoWay
            && self.uploads.ready.is_none()
            && self.rests.is_over(Direction::Sending, cx.now)
            && !cx.in_flight.stored().any(|task| matches!(task, Task::Read(_) | Task::Upload(_)))
            && cx.upload_workspace().is_some();
        if !may {
            return None;
        }
        self.judge_candidates(cx);
        let due: Vec<MirrorPath> = self
            .uploads
            .candidates
            .iter()
            .filter_map(|(path, candidate)| {
                let due = candidate.refused.is_none()
                    && !candidate.rests(cx.now)
                    && self.uploads.again.due(path) <= cx.now
                    && cx.rested_ms(&candidate.stamp, candidate.found_at) >= cx.quiet_ms(&candidate.stamp)
                    && !self.uploads.is_sent(path, &candidate.stamp)
                    && candidate.replaces.as_ref().is_none_or(|id| self.is_as_agreed_there(id));
                due.then(|| path.clone())
            })
            .collect();
        // The service's list of the folder comes first.
        let path = due.into_iter().find(|path| {
            let folder = path.parent().and_then(|folder| self.tree.folder_at(&folder));
            folder.is_some_and(|folder| self.lists.is_walked(cx, folder.as_ref())) && !self.is_awaited(path)
        })?;
        Some((Effect::ReadFile(path.clone()), Task::Read(path)))
    }

    /// Whether the service still has the base: only then is a local change newer.
    fn is_as_agreed_there(&self, id: &FileId) -> bool {
        self.files
            .get(id)
            .is_some_and(|node| node.seen == Seen::Listed && node.base.is_some() && !node.is_renewed())
    }

    /// Whether a file at the service may turn out to be this local file: they are compared first.
    pub(super) fn is_awaited(&self, path: &MirrorPath) -> bool {
        let place = path.parent().and_then(|folder| self.tree.folder_at(&folder));
        let stamp = self.sight.files.get(path);
        self.files.values().any(|node| {
            // A file that was just listed has no local name yet.
            let is_its_name = || {
                place.as_ref() == Some(&node.remote.folder)
                    && node.remote.filename == filenames::as_stored(path.name())
            };
            let is_its_place = || match &node.stem {
                Some(_) => self.wanted_file(node).as_ref() == Some(path),
                None => is_its_name(),
            };
            let may_be_it = match &node.base {
                None => node.replaced_by.is_none(),
                // The user moved it where the service has it.
                Some(base) => base.path != *path && stamp.is_some_and(|stamp| base.stamp.is_untouched(stamp)),
            };
            node.seen == Seen::Listed && may_be_it && is_its_place()
        })
    }

    pub(super) fn read_to_send(
        &mut self,
        cx: &Turn<'_>,
        path: &MirrorPath,
        result: Result<DiskReply, DiskError>,
    ) {
        match result {
            Ok(DiskReply::File(look)) => {
                if self.uploads.candidates.get(path).is_some_and(|candidate| candidate.stamp == look.stamp) {
                    self.uploads.ready =
                        Some(Ready { path: path.clone(), stamp: look.stamp, bytes: look.bytes });
                } else {
                    self.scan_due.by(cx.now);
                }
            }
            _ => {
                self.scan_due.by(cx.now);
                if let Some(candidate) = self.uploads.candidates.get_mut(path) {
                    candidate.failing.until = cx.now.plus_ms(2_000);
                }
            }
        }
    }

    /// The upload of the file that was just read, directly after a list of its folder, because another client may
    /// have uploaded the same file in the same seconds. It is stored before it is sent.
    pub(super) fn next_upload(&mut self, cx: &mut Turn<'_>) -> Option<(Effect, Task)> {
        let place = self.uploads.ready.as_ref().and_then(|ready| ready.path.parent());
        let place = place.and_then(|folder| self.tree.folder_at(&folder));
        if let Some(folder) = &place
            && !self.lists.was_just_listed(folder.as_ref(), cx.now)
        {
            let list = Task::list(folder.clone());
            return (!cx.in_flight.stored().any(|task| *task == list.1)).then_some(list);
        }
        let ready = self.uploads.ready.take()?;
        let workspace = cx.upload_workspace()?;
        let (Some(folder), Some(candidate)) = (place, self.uploads.candidates.get(&ready.path)) else {
            return None;
        };
        let is_current = candidate.stamp == ready.stamp
            && candidate.replaces.as_ref().is_none_or(|id| self.is_as_agreed_there(id));
        if !is_current || self.is_awaited(&ready.path) {
            return None;
        }
        let replaced = candidate.replaces.as_ref().and_then(|id| self.files.get(id));
        // If the local name is only the replacement for a name that the disk cannot have, the upload keeps the
        // service's name.
        let filename = match replaced.filter(|node| node.stem.as_deref() == Some(ready.path.name())) {
            Some(node) => node.remote.filename.clone(),
            None => ready.path.name().to_owned(),
        };
        let upload = Upload {
            path: ready.path.clone(),
            folder: folder.clone(),
            filename: filename.clone(),
            size: ready.bytes.len() as u64,
            hash: ContentHash::of(&ready.bytes),
            stamp: ready.stamp,
            replaces: candidate.replaces.clone(),
        };
        let now = cx.now;
        self.uploads.creations.begin(&mut cx.store, upload, now);
        if planted("upload-not-noted") {
            cx.store.delete_creation::<Upload>(&ready.path);
        }
        let effect = effect(StorageEffect::Upload { workspace, folder, filename, bytes: ready.bytes });
        Some((effect, Task::Upload(ready.path)))
    }

    pub(super) fn uploaded(
        &mut self,
        cx: &mut Turn<'_>,
        path: &MirrorPath,
        result: Result<ServiceReply, ServiceError>,
    ) {
        let Some(Creation { draft: upload, .. }) = self.uploads.creations.get(path).cloned() else {
            return;
        };
        let error = match result {
            Ok(ServiceReply::Storage(StorageReply::Uploaded(file))) if file.size == upload.size => {
                return self.settle_upload(cx, &upload, &file);
            }
            Ok(ServiceReply::Storage(StorageReply::Uploaded(file))) => {
                return self.upload_was_cut(cx, &upload, file.size);
            }
            Ok(_) => ServiceError::Garbled("an answer that fits no upload".to_owned()),
            Err(error) => error,
        };
        // Files that may be its result waited for this answer.
        self.mark_dirty_in(upload.folder.as_ref());
        if error.may_have_happened() {
            let now = cx.now;
            let at = self.uploads.creations.lose(&mut cx.store, path, now);
            self.lists.walk_by(upload.folder.as_ref(), at, cx.tick);
            let candidate = self.uploads.candidates.get_mut(path);
            if let Some(candidate) = candidate.filter(|candidate| candidate.stamp == upload.stamp) {
                // It is sent again only after lists have refuted it and the wait is over.
                candidate.refuse(&error, error.to_string(), now);
            }
            return;
        }
        self.uploads.creations.end(&mut cx.store, path);
        if let Some(candidate) = self.uploads.candidates.get_mut(path) {
            candidate.hash = Some(upload.hash).filter(|_| candidate.stamp == upload.stamp);
            cx.fails(&mut candidate.failing, 1);
            match &error {
                _ if planted("upload-retried-at-once") => candidate.failing.until = cx.now,
                ServiceError::Rejected { message, .. } => {
                    let unsent = Unsent::Refused(message.clone());
                    candidate.refuse(&error, unsent.to_string(), cx.now);
                    candidate.refused = Some(unsent);
                }
                _ => {}
            }
        }
        if matches!(error, ServiceError::NotFound(_)) {
            // The folder is gone, or in the trash: the lists will show it.
            self.lists.walk_everything_by(cx.now, cx.tick);
        }
        self.uploads.refresh_local_only(cx)
    }

    /// Handles an upload of which the service stored a part. The created file is handled like any new file; another
    /// try would create one more.
    fn upload_was_cut(&mut self, cx: &mut Turn<'_>, upload: &Upload, size: u64) {
        self.mark_dirty_in(upload.folder.as_ref());
        self.lists.walk_by(upload.folder.as_ref(), cx.now, cx.tick);
        self.uploads.creations.end(&mut cx.store, &upload.path);
        if let Some(candidate) = self.uploads.candidates.get_mut(&upload.path) {
            candidate.failing.count += 1;
            candidate.refused = Some(Unsent::Cut { made: size, sent: upload.size });
            let refusal = Refusal::new(RefusalClass::Content, String::new(), None, cx.now);
            candidate.by_service = Some(Refusal { retry_at: Refusal::NEVER, ..refusal });
        }
        self.uploads.refresh_local_only(cx)
    }

    /// Records a successful upload: from here on it is an ordinary file.
    pub(super) fn settle_upload(&mut self, cx: &mut Turn<'_>, upload: &Upload, file: &StorageFile) {
        let now = cx.now;
        let at = &upload.path;
        let is_here = self.sight.files.get(at) == Some(&upload.stamp);
        let same_name = file.filename == upload.filename && file.folder == upload.folder;
        let base = StoredFile {
            attachment: file.attachment.clone(),
            size: upload.size,
            hash: upload.hash,
            path: at.clone(),
            stamp: upload.stamp,
            racy: is_coarse(&upload.stamp),
        };
        let stem = same_name.then(|| upload.path.name().to_owned());
        let node = FileNode { stem, base: Some(base), ..FileNode::listed(file.clone(), now) };
        cx.store.save_storage_file(&node);
        self.uploads.creations.end(&mut cx.store, &upload.path);
        self.uploads.candidates.remove(&upload.path);
        self.uploads.again.sent(&upload.path, now);
        let replaced = upload.replaces.as_ref().filter(|old| {
            // A file with another local name is no older version: it stays until it is at the service under that
            // name.
            let is_older = |node: &FileNode| self.renamed_to(node).is_none();
            self.files.get(*old).is_some_and(|node| {
                node.base.as_ref().is_some_and(|base| base.path == upload.path) && is_older(node)
            })
        });
        if let Some(old) = replaced.cloned() {
            // If another client gave the old file new content meanwhile, that content must not be discarded.
            let untouched = self.files.get(&old).is_some_and(|node| {
                node.base.as_ref().is_some_and(|base| base.attachment == node.remote.attachment)
            });
            self.edit_file(cx, &old, |node| {
                node.base = None;
                if untouched {
                    node.replaced_by = Some(file.id.clone());
                } else {
                    node.stem = None;
                }
            });
            self.runtime(&old).local = Local::Unknown;
            // A file that the old one had replaced is now replaced by the newest, because the one in between may be
            // forgotten first.
            let is_older = |node: &FileNode| node.replaced_by.as_ref() == Some(&old);
            self.edit_files(cx, is_older, |node| node.replaced_by = Some(file.id.clone()));
        }
        self.free_name(cx, &node);
        self.files.insert(file.id.clone(), node);
        self.queue.dirty.insert(file.id.clone());
        let tick = cx.tick;
        let runtime = self.runtime(&file.id);
        runtime.acted = tick;
        runtime.checked = tick;
        runtime.fetched = None;
        // If the local file is not as it was sent, the next scan determines its state.
        runtime.local = if is_here { Local::Same } else { Local::Unknown };
        self.guarding.guards_are_old = true;
        self.lists.walk_by(file.folder.as_ref(), now, tick);
        self.scan_due.by(cx.now);
        let what = if upload.replaces.is_some() { "new version uploaded" } else { "uploaded" };
        cx.log_activity(Way::Up, &upload.path, what);
        self.mark_all_dirty();
        self.uploads.is_no_stray(cx, &upload.path)
    }

    /// Frees a name that was chosen for a file before the owner of the name was known.
    fn free_name(&mut self, cx: &mut Turn<'_>, node: &FileNode) {
        let Some(name) = node.stem.as_deref().map(fold) else { return };
        let here = node.base.as_ref().map(|base| &base.path);
        let is_here = |other: &FileNode| other.base.as_ref().is_some_and(|base| Some(&base.path) == here);
        let is_other = |other: &FileNode| {
            other.remote.id != node.remote.id
                && other.remote.folder == node.remote.folder
                && other.replaced_by.is_none()
                && !is_here(other)
                && other.stem.as_deref().is_some_and(|stem| fold(stem) == name)
        };
        self.edit_files(cx, is_other, |other| other.stem = None);
    }

    /// The next file for the service's trash: one that left the folder, or that an upload replaced.
    pub(super) fn next_trash(&mut self, cx: &mut Turn<'_>) -> Option<(Effect, Task)> {
        if !self.rests.is_over(Direction::Trashing, cx.now) {
            return None;
        }
        let trashes = self.queue.requests.of(stored::Decision::TrashThere);
        let ready = trashes.filter(|id| !self.of(id).rests_refused(cx.now) && self.is_ready(cx, id));
        let ready: Vec<&FileNode> = ready.filter_map(|id| self.files.get(id)).collect();
        let node = ready.into_iter().find(|node| self.lists.is_walked(cx, node.remote.folder.as_ref()))?;
        let id = node.remote.id.clone();
        // The service's state may have changed since the decision.
        if !self.lists.was_seen_lately(node.remote.folder.as_ref(), cx.now) {
            self.lists.ask_for_list(node.remote.folder.as_ref(), cx.now, cx.tick);
            return None;
        }
        if stored::decide(&self.view(cx, node).0) != stored::Decision::TrashThere {
            self.queue.requests.remove(&id);
            self.queue.dirty.insert(id);
            return None;
        }
        if node.base.is_some() && !self.is_elsewhere_here(&id) {
            // Recorded before it is sent: with or without an answer, the file may be gone.
            note_gone_there(&id, true, cx);
        }
        Some((effect(StorageEffect::Trash(id.clone())), Task::Trash(id)))
    }

    pub(super) fn trashed(
        &mut self,
        cx: &mut Turn<'_>,
        id: &FileId,
        result: Result<ServiceReply, ServiceError>,
    ) {
        let Some(node) = self.files.get(id).cloned() else { return };
        match result {
            Ok(_) | Err(ServiceError::NotFound(_)) => {
                if let Some(base) = &node.base {
                    cx.log_activity(Way::Up, &base.path, FILE_TRASHED);
                    if !self.is_elsewhere_here(id) {
                        note_gone_there(id, true, cx);
                    }
                } else if let Some(new) = node.replaced_by.as_ref().and_then(|new| self.files.get(new)) {
                    let path = new.base.as_ref().map_or_else(storage_root, |base| base.path.clone());
                    cx.log_activity(Way::Up, &path, "the older version is in the service's trash");
                }
                // The file may have come back meanwhile.
                self.uploads.strays_are_old |= node.base.is_some();
                // A list that was issued before this still shows it.
                self.guarding.trashed.insert(id.clone(), cx.tick);
                self.guarding.guards_are_old = true;
                self.forget_file(cx, id)
            }
            Err(error) => {
                if !error.may_have_happened() {
                    note_gone_there(id, false, cx);
                } else {
                    self.lists.walk_by(node.remote.folder.as_ref(), cx.now, cx.tick);
                }
                let is_rejected = matches!(error, ServiceError::Rejected { .. });
                if is_rejected {
                    let refusal = Refusal::new(RefusalClass::of(&error), error.to_string(), None, cx.now);
                    let refusal = Refusal { retry_at: Refusal::NEVER, ..refusal };
                    self.runtime(id).refused = Some(Box::new(refusal));
                }
                self.file_fails(cx, id, 0, is_rejected, Trouble::NotTrashed(error));
            }
        }
    }

    /// The new path of a file that left its place, while the file is not at the service under its new name.
    pub(super) fn renamed_to(&self, node: &FileNode) -> Option<MirrorPath> {
        let base = node.base.as_ref()?;
        // A file that was uploaded in this run, that no list shows yet, and that may be this one.
        let is_unseen = |other: &FileId| *other != node.remote.id && !self.is_seen_there(other);
        let uploaded = || {
            let all = self.runtimes.iter().filter(|(other, runtime)| runtime.acted > 0 && is_unseen(other));
            let mut theirs = all.filter_map(|(other, _)| self.files.get(other)?.base.as_ref());
            theirs.find(|new| new.size == base.size && is_alike(&new.path, Some(new.hash), base))
        };
        let path = self.now_at(node).or_else(|| Some(uploaded()?.path.clone()))?;
        // A file uploaded from this path before it moved on has gone to `path` as well. Of several such files the
        // last one stays, so that no two of them depend on each other.
        let age = |id: &FileId, base: &StoredFile| (base.stamp.changed_ns, id.clone());
        let moved_on = |other: &FileNode, theirs: &StoredFile| {
            let id = &other.remote.id;
            self.of(id).local.is_missing()
                && age(id, theirs) > age(&node.remote.id, base)
                && self.now_at(other).as_ref() == Some(&path)
        };
        // What was at `path` before is there, and this file has taken its place.
        let is_replaced = |id: &FileId| {
            matches!(self.of(id).local, Local::Changed(_) | Local::Suspect(_) | Local::Missing(_))
        };
        let is_at = |other: &FileNode, theirs: &StoredFile| {
            theirs.path == path && !is_replaced(&other.remote.id) || moved_on(other, theirs)
        };
        let there = self.files.values().any(|other| {
            let theirs = other.base.as_ref().filter(|base| is_at(other, base));
            theirs.is_some() && self.is_seen_there(&other.remote.id)
        });
        (!there).then_some(path)
    }

    /// The path of a file that left its place, known by its object, or by its size and its name or content.
    fn now_at(&self, node: &FileNode) -> Option<MirrorPath> {
        let is_there = |path: &MirrorPath| {
            let stays = node.base.as_ref().is_some_and(|base| base.path == *path);
            !stays && self.sight.files.contains_key(path)
        };
        let went_to = self.of(&node.remote.id).went_to.as_deref().map(|(path, _)| path.clone());
        went_to.filter(is_there).or_else(|| self.uploads.like_elsewhere(node))
    }
}

impl Uploads {
    /// Whether an upload of the file at this path is running or unconfirmed. The file may have got another name, or its
    /// folder, since.
    fn is_sent(&self, path: &MirrorPath, stamp: &Stamp) -> bool {
        self.creations.drafts().any(|upload| upload.path == *path || upload.stamp.is_untouched(stamp))
    }

    fn refresh_local_only(&mut self, cx: &mut Turn<'_>) {
        let mut list = self.local_only.clone();
        for (path, item) in &mut list {
            item.why = self.candidates.get(path).and_then(|candidate| candidate.refused.clone());
        }
        self.write_local_only(cx, list)
    }

    pub(super) fn write_local_only(&mut self, cx: &mut Turn<'_>, list: BTreeMap<MirrorPath, LocalOnly>) {
        for path in self.local_only.keys().filter(|path| !list.contains_key(*path)) {
            cx.store.delete_stored(StoredRow::LocalOnly(path));
        }
        for (path, item) in &list {
            if self.local_only.get(path) != Some(item) {
                cx.store.save_local_only(item);
            }
        }
        self.local_only = list;
    }

    /// Removes a path from the local-only files, because it belongs to one of the service's files.
    pub(super) fn is_no_stray(&mut self, cx: &mut Turn<'_>, path: &MirrorPath) {
        self.candidates.remove(path);
        if self.local_only.remove(path).is_some() {
            cx.store.delete_stored(StoredRow::LocalOnly(path));
        }
    }

    /// Whether a local-only file that has not been read may be a file that left its place, saved anew under another name:
    /// it has the same size. Of those that were read the content tells ([`Self::like_elsewhere`]).
    pub(super) fn may_hold(&self, node: &FileNode) -> bool {
        self.like(node).any(|(_, new, _)| new.hash.is_none())
    }

    /// A local-only file that is not read to be sent, and that may be a file that left its place: their content is
    /// compared.
    pub(super) fn unread_like<'a>(&'a self, node: &'a FileNode, now: Timestamp) -> Option<&'a MirrorPath> {
        let is_unread =
            |new: &Candidate| new.refused.is_some() && new.hash.is_none() && new.failing.until <= now;
        self.like(node).find(|(_, new, _)| is_unread(new)).map(|(path, ..)| path)
    }

    /// A local-only file with the name and size of a file that left its place, or with its content: it may be that file,
    /// saved anew in a renamed folder or under another name.
    pub(super) fn like_elsewhere(&self, node: &FileNode) -> Option<MirrorPath> {
        let is_like =
            |(path, new, base): &(&MirrorPath, &Candidate, &StoredFile)| is_alike(path, new.hash, base);
        self.like(node).find(is_like).map(|(path, ..)| path.clone())
    }

    /// The local-only files with the size of a file, unless the user approved its removal; each with the file's base.
    fn like<'a>(
        &'a self,
        node: &'a FileNode,
    ) -> impl Iterator<Item = (&'a MirrorPath, &'a Candidate, &'a StoredFile)> {
        let base = node.base.as_ref().filter(|_| !node.approved);
        let like = |base: &'a StoredFile| {
            self.candidates.iter().filter_map(move |(path, new)| {
                let is_new = new.replaces.is_none() && !new.has_moved && *path != base.path;
                (is_new && new.stamp.size == base.size).then_some((path, new, base))
            })
        };
        base.into_iter().flat_map(like)
    }
}

/// Whether a file of the same size may be the file of this base: it has its name, or its content.
fn is_alike(path: &MirrorPath, hash: Option<ContentHash>, base: &StoredFile) -> bool {
    path.name() == base.path.name() || hash == Some(base.hash)
}
