//! The way up, where both ways are wanted: new and changed files are uploaded, what left here goes to the service's trash.
//!
//! The API can neither rename nor change a file. A changed file is uploaded as a new one, and the old one goes only when
//! the service shows the new one; a renamed file is a new one and one that left. What the service would not take is told before
//! it is asked for.

use std::collections::BTreeMap;

use super::local::{Local, is_untouched, may_hide};
use super::names::storage_root;
use super::reasons::Trouble;
use super::removals::Gone;
use super::{Rests, Storage, StorageContext, Task, effect};
use crate::engine::Way;
use crate::engine::creations::Creations;
use crate::engine::retry::Failing;
use crate::model::{
    ContentHash, Creation, DiskError, DiskReply, Effect, FileId, FileNode, LocalOnly, MirrorPath, Refusal,
    RefusalClass, Seen, ServiceError, ServiceReply, Stamp, StorageEffect, StorageFile, StorageMode,
    StorageReply, StoredFile, Timestamp, Unsent, Upload, WorkspaceId, WorkspaceNode, planted,
};
use crate::plan::{filenames, naming::fold, stored};
use crate::store::StoreError;

/// Local files that are no stored files yet.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    pub(super) candidates: BTreeMap<MirrorPath, Candidate>,
    pub(super) creations: Creations<Upload>,
    pub(super) local_only: BTreeMap<MirrorPath, LocalOnly>,
    /// Local files that came back with an older copy of the folder, and when each had last changed: not sent while that is so.
    pub(super) returned: BTreeMap<MirrorPath, i64>,
    pub(super) again: super::again::Again,
    /// A file here became nobody's, and is to be listed as such.
    pub(super) strays_are_old: bool,
    /// A file that was read and goes up next.
    pub(super) ready: Option<Ready>,
}

/// A local file that the service does not have as it is.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) stamp: Stamp,
    /// The file whose newer content it is.
    pub(super) replaces: Option<FileId>,
    /// Why it is not sent.
    pub(super) refused: Option<Unsent>,
    /// The service's own refusal, which stays until it is tried again.
    pub(super) by_service: Option<Refusal>,
    pub(super) failing: Failing,
    /// When a scan first showed it with this stamp.
    found_at: Timestamp,
}

/// A file that was read and goes next.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) path: MirrorPath,
    pub(super) stamp: Stamp,
    pub(super) bytes: Vec<u8>,
}

impl Candidate {
    pub(super) fn new(stamp: Stamp, replaces: Option<FileId>, found_at: Timestamp) -> Self {
        Self { stamp, replaces, refused: None, by_service: None, failing: Failing::default(), found_at }
    }
}

impl Storage {
    /// Says of each candidate why it is not sent, before anything is asked.
    pub(super) fn judge_candidates(&mut self, cx: &StorageContext<'_>) {
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
        }
    }

    /// The workspace that uploads count for.
    pub(super) fn upload_workspace(cx: &StorageContext<'_>) -> Option<WorkspaceId> {
        let chosen = cx.settings.storage.workspace.as_deref();
        let place =
            |node: &&WorkspaceNode| cx.order.iter().position(|id| *id == node.seen.id).unwrap_or(usize::MAX);
        let may = cx.workspaces.values().filter(|node| node.present && !node.seen.frozen);
        let mut all: Vec<&WorkspaceNode> = may.collect();
        all.sort_by_key(place);
        let mut all = all.into_iter();
        let found = match chosen {
            Some(name) => all.find(|node| {
                [node.seen.slug.as_str(), node.seen.name.as_str(), node.seen.id.as_str()].contains(&name)
            }),
            None => all.next(),
        };
        found.map(|node| node.seen.id.clone())
    }

    /// A candidate whose turn it is, to be read.
    pub(super) fn next_read(&mut self, cx: &StorageContext<'_>) -> Option<(Effect, Task)> {
        let may = self.mode == StorageMode::TwoWay
            && self.uploads.ready.is_none()
            && Rests::over(self.rests.sending.as_ref(), cx.now)
            && !self.queue.under_way.iter().any(|task| matches!(task, Task::Read(_) | Task::Upload(_)))
            && Self::upload_workspace(cx).is_some();
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
                    && candidate.failing.until <= cx.now
                    && self.uploads.again.due(path) <= cx.now
                    && cx.rested_ms(&candidate.stamp, candidate.found_at)
                        >= Self::quiet_ms(cx, &candidate.stamp)
                    && !self.uploads.creations.contains(path)
                    && candidate.replaces.as_ref().is_none_or(|id| self.is_as_agreed_there(id));
                due.then(|| path.clone())
            })
            .collect();
        // What the service has in the folder is looked at first.
        let path = due.into_iter().find(|path| {
            let folder = path.parent().and_then(|folder| self.tree.folder_at(&folder));
            folder.is_some_and(|folder| self.lists.is_walked(cx, folder.as_ref())) && !self.is_awaited(path)
        })?;
        Some((Effect::ReadFile(path.clone()), Task::Read(path)))
    }

    /// Whether the service still has what was agreed: only then is a local change newer.
    fn is_as_agreed_there(&self, id: &FileId) -> bool {
        self.files.get(id).is_some_and(|node| {
            let same = |base: &StoredFile| {
                base.attachment == node.remote.attachment && base.size == node.remote.size
            };
            node.seen == Seen::Listed && node.base.as_ref().is_some_and(same)
        })
    }

    /// Whether something that the service shows may turn out to be this very file: it is compared first.
    pub(super) fn is_awaited(&self, path: &MirrorPath) -> bool {
        let place = path.parent().and_then(|folder| self.tree.folder_at(&folder));
        let stamp = self.sight.files.get(path);
        self.files.values().any(|node| {
            // What was listed a moment ago has no name here yet.
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
                // A kill came between our renaming it and the note of that.
                Some(base) => {
                    base.path != *path && stamp.is_some_and(|stamp| is_untouched(&base.stamp, stamp))
                }
            };
            node.seen == Seen::Listed && may_be_it && is_its_place()
        })
    }

    pub(super) fn read_to_send(
        &mut self,
        cx: &StorageContext<'_>,
        path: &MirrorPath,
        result: Result<DiskReply, DiskError>,
    ) -> Result<(), StoreError> {
        match result {
            Ok(DiskReply::File(look)) => {
                if self.uploads.candidates.get(path).is_some_and(|candidate| candidate.stamp == look.stamp) {
                    self.uploads.ready =
                        Some(Ready { path: path.clone(), stamp: look.stamp, bytes: look.bytes });
                } else {
                    self.wants_scan = true;
                }
            }
            _ => {
                self.wants_scan = true;
                if let Some(candidate) = self.uploads.candidates.get_mut(path) {
                    candidate.failing.until = cx.now.plus_ms(2_000);
                }
            }
        }
        Ok(())
    }

    /// The upload of what was just read, right behind a list of its folder: somebody else may have put the same file there
    /// in the same seconds. It is noted before it leaves.
    pub(super) fn next_upload(
        &mut self,
        cx: &mut StorageContext<'_>,
    ) -> Result<Option<(Effect, Task)>, StoreError> {
        let place = self.uploads.ready.as_ref().and_then(|ready| ready.path.parent());
        let place = place.and_then(|folder| self.tree.folder_at(&folder));
        if let Some(folder) = &place
            && !self.lists.was_just_listed(folder.as_ref(), cx.now)
        {
            let list = Self::walk(folder.clone());
            return Ok((!self.queue.under_way.contains(&list.1)).then_some(list));
        }
        let Some(ready) = self.uploads.ready.take() else { return Ok(None) };
        let Some(workspace) = Self::upload_workspace(cx) else { return Ok(None) };
        let (Some(folder), Some(candidate)) = (place, self.uploads.candidates.get(&ready.path)) else {
            return Ok(None);
        };
        let is_current = candidate.stamp == ready.stamp
            && candidate.replaces.as_ref().is_none_or(|id| self.is_as_agreed_there(id));
        if !is_current || self.is_awaited(&ready.path) {
            return Ok(None);
        }
        let replaced = candidate.replaces.as_ref().and_then(|id| self.files.get(id));
        // What was only shown in another way on disk keeps the name that the service knows.
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
        self.uploads.creations.begin(cx.store, upload, cx.now)?;
        if planted("upload-not-noted") {
            cx.store.delete_creation::<Upload>(&ready.path)?;
        }
        let effect = effect(StorageEffect::Upload { workspace, folder, filename, bytes: ready.bytes });
        Ok(Some((effect, Task::Upload(ready.path))))
    }

    pub(super) fn uploaded(
        &mut self,
        cx: &mut StorageContext<'_>,
        path: &MirrorPath,
        result: Result<ServiceReply, ServiceError>,
    ) -> Result<(), StoreError> {
        let Some(Creation { draft: upload, .. }) = self.uploads.creations.get(path).cloned() else {
            return Ok(());
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
        // What looks like it has waited for this.
        self.mark_dirty_in(upload.folder.as_ref());
        if error.may_have_happened() {
            let at = self.uploads.creations.lose(cx.store, path, cx.now)?;
            self.lists.walk_by(upload.folder.as_ref(), at, cx.tick);
            return Ok(());
        }
        self.uploads.creations.end(cx.store, path)?;
        if let Some(candidate) = self.uploads.candidates.get_mut(path) {
            cx.fails(&mut candidate.failing, 1);
            match &error {
                ServiceError::Rejected { message, .. } => {
                    let unsent = Unsent::Refused(message.clone());
                    let before = candidate.by_service.as_ref();
                    let refusal = Refusal::new(RefusalClass::of(&error), unsent.to_string(), before, cx.now);
                    candidate.refused = Some(unsent);
                    candidate.by_service = Some(refusal);
                }
                _ if planted("upload-retried-at-once") => candidate.failing.until = cx.now,
                _ => {}
            }
        }
        if matches!(error, ServiceError::NotFound(_)) {
            // The folder is gone, or in the trash: the lists will say so.
            self.lists.walk_everything_by(cx.now, cx.tick);
        }
        self.uploads.refresh_local_only(cx)
    }

    /// The service took something else than was sent. Whatever it made of it is looked at like anything new; to send the same
    /// once more would make one more of it.
    fn upload_was_cut(
        &mut self,
        cx: &mut StorageContext<'_>,
        upload: &Upload,
        size: u64,
    ) -> Result<(), StoreError> {
        self.mark_dirty_in(upload.folder.as_ref());
        self.lists.walk_by(upload.folder.as_ref(), cx.now, cx.tick);
        self.uploads.creations.end(cx.store, &upload.path)?;
        if let Some(candidate) = self.uploads.candidates.get_mut(&upload.path) {
            candidate.failing.count += 1;
            candidate.refused = Some(Unsent::Cut { made: size, sent: upload.size });
            let refusal = Refusal::new(RefusalClass::Content, String::new(), None, cx.now);
            candidate.by_service = Some(Refusal { retry_at: Refusal::NEVER, ..refusal });
        }
        self.uploads.refresh_local_only(cx)
    }

    /// The service has what was sent: it is a file like any other from here on.
    pub(super) fn settle_upload(
        &mut self,
        cx: &mut StorageContext<'_>,
        upload: &Upload,
        file: &StorageFile,
    ) -> Result<(), StoreError> {
        let now = cx.now;
        let at = self.lies_at(upload, file);
        let is_here = self.sight.files.get(&at) == Some(&upload.stamp);
        let same_name = file.filename == upload.filename && file.folder == upload.folder;
        let node = FileNode {
            remote: file.clone(),
            seen: Seen::Listed,
            seen_at: now,
            stem: same_name.then(|| upload.path.name().to_owned()),
            base: Some(StoredFile {
                attachment: file.attachment.clone(),
                size: upload.size,
                hash: upload.hash,
                path: at.clone(),
                stamp: upload.stamp,
            }),
            replaced_by: None,
            approved: false,
        };
        cx.store.save_storage_file(&node)?;
        self.uploads.creations.end(cx.store, &upload.path)?;
        self.uploads.candidates.remove(&upload.path);
        self.uploads.again.sent(&upload.path, now);
        let replaced = upload.replaces.as_ref().filter(|old| {
            // One that has another name here is no older version: it stays until it is there under that name.
            let is_older = |node: &FileNode| self.renamed_to(node).is_none();
            self.files.get(*old).is_some_and(|node| {
                node.base.as_ref().is_some_and(|base| base.path == upload.path) && is_older(node)
            })
        });
        if let Some(old) = replaced.cloned() {
            // If somebody gave the old one new content meanwhile, that is nobody's to throw away.
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
            })?;
            self.runtime(&old).local = Local::Unknown;
            // What it had replaced itself is replaced by the newest: who is in between may be forgotten first.
            let older = self.files.values().filter(|node| node.replaced_by.as_ref() == Some(&old));
            for id in older.map(|node| node.remote.id.clone()).collect::<Vec<_>>() {
                self.edit_file(cx, &id, |node| node.replaced_by = Some(file.id.clone()))?;
            }
        }
        self.free_name(cx, &node)?;
        self.files.insert(file.id.clone(), node);
        self.queue.dirty.insert(file.id.clone());
        let tick = cx.tick;
        let runtime = self.runtime(&file.id);
        runtime.acted = tick;
        runtime.checked = tick;
        runtime.fetched = None;
        // Where it is not as it was sent, the next scan tells what became of it.
        runtime.local = if is_here { Local::Same } else { Local::Unknown };
        runtime.racy = may_hide(&upload.stamp, now);
        self.guarding.guards_are_old = true;
        self.lists.walk_by(file.folder.as_ref(), now, tick);
        self.wants_scan = true;
        let what = if upload.replaces.is_some() { "new version uploaded" } else { "uploaded" };
        cx.log_activity(Way::Up, &upload.path, what);
        self.mark_all_dirty();
        self.uploads.is_no_stray(cx, &upload.path)?;
        self.uploads.is_no_stray(cx, &at)
    }

    /// A file whose name was chosen while it was not known whose it is may be in the way of the one that has it.
    fn free_name(&mut self, cx: &mut StorageContext<'_>, node: &FileNode) -> Result<(), StoreError> {
        let Some(name) = node.stem.as_deref().map(fold) else { return Ok(()) };
        let others = self.files.values().filter(|other| {
            other.remote.id != node.remote.id
                && other.remote.folder == node.remote.folder
                && other.base.is_none()
                && other.replaced_by.is_none()
                && other.stem.as_deref().is_some_and(|stem| fold(stem) == name)
        });
        for id in others.map(|other| other.remote.id.clone()).collect::<Vec<_>>() {
            self.edit_file(cx, &id, |other| other.stem = None)?;
        }
        Ok(())
    }

    /// The next file that left here, or was replaced by an upload, for the service's trash.
    pub(super) fn next_trash(
        &mut self,
        cx: &mut StorageContext<'_>,
    ) -> Result<Option<(Effect, Task)>, StoreError> {
        if !Rests::over(self.rests.trashing.as_ref(), cx.now) {
            return Ok(None);
        }
        let ready: Vec<FileId> =
            self.queue
                .request_queue
                .trashes()
                .filter(|id| {
                    let due = self.runtimes.get(*id).is_none_or(|runtime| {
                        runtime.failing.until <= cx.now && !runtime.rests_refused(cx.now)
                    });
                    due && !self.queue.is_unsettled(id)
                })
                .cloned()
                .collect();
        let id = ready.into_iter().find(|id| {
            let folder = self.files.get(id).and_then(|node| node.remote.folder.clone());
            self.lists.is_walked(cx, folder.as_ref())
        });
        let Some((id, node)) = id.and_then(|id| Some((id.clone(), self.files.get(&id)?))) else {
            return Ok(None);
        };
        // The world may have changed since it was decided: what the service shows, too.
        if node.base.is_some() && !self.lists.was_seen_lately(node.remote.folder.as_ref(), cx.now) {
            let folder = node.remote.folder.clone();
            self.lists.ask_for_list(folder.as_ref(), cx.now, cx.tick);
            return Ok(None);
        }
        if stored::decide(&self.view(cx, node).0) != stored::Decision::TrashThere {
            self.queue.request_queue.remove(&id);
            self.queue.dirty.insert(id);
            return Ok(None);
        }
        if node.base.is_some() && !self.is_elsewhere_here(&id) {
            // Before it leaves: whether its answer is ever heard or not, it may be gone.
            self.guarding.removals.note(cx.store, &id, Gone::There, cx.now)?;
        }
        Ok(Some((effect(StorageEffect::Trash(id.clone())), Task::Trash(id))))
    }

    pub(super) fn trashed(
        &mut self,
        cx: &mut StorageContext<'_>,
        id: &FileId,
        result: Result<ServiceReply, ServiceError>,
    ) -> Result<(), StoreError> {
        let Some(node) = self.files.get(id).cloned() else { return Ok(()) };
        match result {
            Ok(_) | Err(ServiceError::NotFound(_)) => {
                if let Some(base) = &node.base {
                    cx.log_activity(Way::Up, &base.path, "moved to the service's trash");
                    if !self.is_elsewhere_here(id) {
                        self.guarding.removals.note(cx.store, id, Gone::There, cx.now)?;
                    }
                } else if let Some(new) = node.replaced_by.as_ref().and_then(|new| self.files.get(new)) {
                    let path = new.base.as_ref().map_or_else(storage_root, |base| base.path.clone());
                    cx.log_activity(Way::Up, &path, "the older version is in the service's trash");
                }
                // It may have come back meanwhile.
                self.uploads.strays_are_old |= node.base.is_some();
                // A list that was asked for before this still shows it.
                self.guarding.trashed.insert(id.clone(), cx.tick);
                self.guarding.guards_are_old = true;
                self.forget_file(cx, id)
            }
            Err(error) => {
                if !error.may_have_happened() {
                    self.guarding.removals.withdraw(cx.store, id, cx.now)?;
                } else {
                    self.lists.walk_by(node.remote.folder.as_ref(), cx.now, cx.tick);
                }
                let runtime = self.runtime(id);
                cx.fails(&mut runtime.failing, 0);
                let is_rejected = matches!(error, ServiceError::Rejected { .. });
                if is_rejected {
                    let refusal = Refusal::new(RefusalClass::of(&error), error.to_string(), None, cx.now);
                    runtime.refused = Some(Box::new(Refusal { retry_at: Refusal::NEVER, ..refusal }));
                }
                if is_rejected || runtime.failing.is_told() {
                    runtime.trouble = Some(Box::new(Trouble::NotTrashed(error)));
                }
                Ok(())
            }
        }
    }

    /// Where a file that left its place seems to have gone, while it is not at the service under its new name.
    pub(super) fn renamed_to(&self, node: &FileNode) -> Option<MirrorPath> {
        let base = node.base.as_ref()?;
        let went_to = self.runtimes.get(&node.remote.id)?.went_to.as_deref();
        let went_to = went_to.filter(|path| **path != base.path && self.sight.files.contains_key(*path));
        let Some(path) = went_to else { return self.uploads.like_elsewhere(node, base) };
        // Uploaded as another one from where it was before it moved on: that one has gone there as well. Of several such the
        // last one stays, for none of them may count on one that counts on it.
        let age = |id: &FileId, base: &StoredFile| (base.stamp.changed_ns, id.clone());
        let moved_on = |other: &FileId, theirs: &StoredFile| {
            let runtime =
                self.runtimes.get(other).filter(|_| age(other, theirs) > age(&node.remote.id, base));
            runtime.is_some_and(|runtime| runtime.went_to.as_deref() == Some(path))
        };
        let there = self.files.values().any(|other| {
            let id = &other.remote.id;
            let theirs = other.base.as_ref().filter(|base| base.path == *path || moved_on(id, base));
            theirs.is_some() && self.is_seen_there(id)
        });
        (!there).then(|| path.clone())
    }
}

impl Uploads {
    fn refresh_local_only(&mut self, cx: &mut StorageContext<'_>) -> Result<(), StoreError> {
        let mut list = self.local_only.clone();
        for (path, item) in &mut list {
            item.why = self.candidates.get(path).and_then(|candidate| candidate.refused.clone());
        }
        self.write_local_only(cx, list)
    }

    /// A local file turned out to be one of the service's.
    pub(super) fn is_no_stray(
        &mut self,
        cx: &mut StorageContext<'_>,
        path: &MirrorPath,
    ) -> Result<(), StoreError> {
        self.candidates.remove(path);
        if self.local_only.remove(path).is_some() {
            cx.store.delete_local_only(path)?;
        }
        Ok(())
    }

    /// Where a file lies that the service does not have and that has the name and size of one that left its place: it may be
    /// that one, which was saved anew in a folder that had been renamed.
    fn like_elsewhere(&self, node: &FileNode, base: &StoredFile) -> Option<MirrorPath> {
        let is_like = |(path, candidate): &(&MirrorPath, &Candidate)| {
            candidate.replaces.is_none()
                && candidate.stamp.size == base.size
                && path.name() == base.path.name()
                && **path != base.path
        };
        let found = self.candidates.iter().find(is_like).filter(|_| !node.approved);
        found.map(|(path, _)| path.clone())
    }
}
