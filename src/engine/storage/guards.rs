//! The guards of stored files: more files leave at once than a user removes by hand, or a folder is suddenly empty.

use std::collections::{BTreeMap, BTreeSet};

use super::{Storage, Turn, local::Local};
use crate::core::guard::Missing;
use crate::engine::context::Context;
use crate::engine::removals::{self, Removals};
use crate::model::{FileId, FileNode, FolderId, Seen, StorageMode, Timestamp, Unreadable, planted};
use crate::plan::barrier::{Absent, Barrier};
use crate::plan::guard::{self, Guard, Kind};
use crate::store::{Store, StoreError};

/// Removals this recent, in milliseconds, count together with those about to happen. Storage folders are listed one
/// after the other, so removals at the service are noticed in batches that are minutes apart.
const RECENT_MS: i64 = 600_000;
/// A missing file waits so long for the upload of a new file that may be it. That file may never be sent.
const NEW_NAME_MS: i64 = 600_000;

/// What was removed lately on either side, and what the guards say of it.
#[derive(Debug)]
pub(super) struct Guarding {
    pub(super) guards: Guards,
    pub(super) guards_are_old: bool,
    /// Files that were removed from the folder, because they had left the service.
    pub(super) gone_here: Removals,
    /// The files that left the folder, and the number of mirrored ones.
    missing: (BTreeSet<FileId>, usize),
    /// Files that were trashed at the service, with the tick of the answer.
    pub(super) trashed: BTreeMap<FileId, u64>,
}

impl Guarding {
    pub(super) fn open(
        store: &mut Store,
        files: &BTreeMap<FileId, FileNode>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let is_known = |id: &str| FileId::new(id).is_ok_and(|id| files.contains_key(&id));
        Ok(Self {
            guards: Guards::default(),
            guards_are_old: true,
            gone_here: Removals::open(store, "stored_removals_here", RECENT_MS, is_known, now)?,
            missing: Default::default(),
            trashed: BTreeMap::new(),
        })
    }

    /// Whether a file left the service and another one has its place there.
    pub(super) fn is_replaced_there(&self, file: &FileId) -> bool {
        self.guards.replaced.contains(file)
    }
}

/// Records that a file is gone from the service or may be gone from now on, or that it certainly is not.
pub(super) fn note_gone_there(file: &FileId, may_be_gone: bool, cx: &mut Context) {
    cx.deletions.note(&mut cx.store, (Kind::StoredFile, [file.as_str()]), may_be_gone, cx.now);
}

/// Why files that left one side stay on the other.
#[derive(Debug, Default)]
pub(super) struct Guards {
    /// The number of files that left the service, and the number of mirrored files.
    pub(super) leaving: Option<(usize, usize)>,
    /// The files that left the service in whose place it shows another one: that is a new version and no removal.
    replaced: BTreeSet<FileId>,
    /// Folders with suddenly empty lists.
    pub(super) emptied: BTreeSet<Option<FolderId>>,
    /// Files that left the local folder.
    pub(super) missing: Option<Guard>,
}

impl Guards {
    /// Whether a guard holds anything, so that any event may release it.
    pub(super) fn hold_something(&self) -> bool {
        self.leaving.is_some() || self.missing.is_some() || !self.emptied.is_empty()
    }

    /// Whether these guards hold files that `now` does not.
    fn hold_what_is_free(&self, now: &Self) -> bool {
        self.leaving.is_some() && now.leaving.is_none()
            || self.missing.is_some() && now.missing.is_none()
            || !self.emptied.is_subset(&now.emptied)
    }
}

impl Storage {
    /// Computes the guards; called before anything is decided.
    pub(in crate::engine) fn refresh_guards(&mut self, cx: &mut Turn<'_>) {
        if !self.is_on() || !std::mem::take(&mut self.guarding.guards_are_old) {
            return;
        }
        // Files that are still listed count as about to go.
        let still_counts = |id: &str| {
            let node = FileId::new(id).ok().and_then(|id| self.files.get(&id));
            node.is_some_and(|node| node.seen == Seen::Listed && !node.approved)
        };
        let gone = self.guarding.gone_here.count(cx.now, still_counts);
        let replaced = replaced_there(&self.files, |node| self.is_leaving(node));
        let (mut mirrored, mut leaving, mut missing) = (0, 0, BTreeSet::new());
        // For each folder, the number of files that left it, and whether it still shows an item.
        let mut folders: BTreeMap<Option<&FolderId>, (usize, bool)> = BTreeMap::new();
        for node in self.tree.folders.values() {
            folders.entry(node.remote.parent.as_ref()).or_default().1 |= node.listed;
        }
        for node in self.files.values() {
            let folder = folders.entry(node.remote.folder.as_ref()).or_default();
            folder.1 |= node.seen == Seen::Listed;
            mirrored += usize::from(node.base.is_some());
            if self.is_leaving(node) && !node.approved && !replaced.contains(&node.remote.id) {
                leaving += 1;
                folder.0 += 1;
            }
            let is_missing = self.of(&node.remote.id).local.is_missing()
                && !self.is_doubted(node)
                && !self.is_elsewhere_here(&node.remote.id);
            if is_missing && node.seen == Seen::Listed && !node.approved {
                missing.insert(node.remote.id.clone());
            }
        }
        let emptied: BTreeSet<Option<FolderId>> = folders
            .into_iter()
            .filter(|(id, (left, shows))| {
                // A single file may have been the last one. For the root even that is not believed.
                self.tree.is_listed(*id) && !*shows && *left >= if id.is_some() { 2 } else { 1 }
            })
            .map(|(id, _)| id.cloned())
            .collect();
        let most = cx.settings.pages.max_deletes;
        let guards = Guards {
            leaving: guard::list_shrank(Kind::StoredFile, mirrored + gone, leaving + gone, most)
                .filter(|_| leaving > 0)
                .map(|_| (leaving, mirrored)),
            replaced,
            emptied,
            missing: cx
                .deletions
                .held()
                .filter(|_| !missing.is_empty() && !planted("stored-guard-off"))
                .cloned(),
        };
        self.guarding.missing = (missing, mirrored);
        let before = std::mem::replace(&mut self.guarding.guards, guards);
        if before.hold_what_is_free(&self.guarding.guards) {
            self.mark_all_dirty();
        }
        let Guarding { guards, gone_here, .. } = &mut self.guarding;
        let now = cx.now;
        gone_here.hold(&mut cx.store, guards.leaving.is_some(), now);
    }

    /// Whether a file with a base is no longer listed.
    pub(super) fn is_leaving(&self, node: &FileNode) -> bool {
        node.base.is_some() && node.seen != Seen::Listed && node.replaced_by.is_none()
    }

    /// Whether a guard keeps a file that left the service.
    pub(super) fn is_held_back(&self, node: &FileNode) -> bool {
        self.is_leaving(node)
            && !node.approved
            && !self.guarding.is_replaced_there(&node.remote.id)
            && (self.guarding.guards.leaving.is_some()
                || self.guarding.guards.emptied.contains(&node.remote.folder))
    }

    /// Whether a file that left its place is at another local path, which is no deletion.
    pub(super) fn is_elsewhere_here(&self, file: &FileId) -> bool {
        self.of(file).went_to.as_deref().is_some_and(|(path, _)| self.sight.files.contains_key(path))
    }

    /// Whether a file that left the local folder stays at the service: a guard holds it, or it was renamed, or saved anew
    /// under another name, and is not yet at the service under its new name.
    pub(super) fn is_kept(&self, cx: &Turn<'_>, node: &FileNode) -> bool {
        let is_recent = |since: Timestamp| cx.now.since_ms(since) < NEW_NAME_MS;
        // A file that is known to be elsewhere is no other one.
        let may_come = || {
            let id = &node.remote.id;
            matches!(self.of(id).local, Local::Missing(since) if is_recent(since))
                && !self.is_elsewhere_here(id)
                && self.uploads.may_hold(node)
        };
        let is_new_there = || self.renamed_to(node).is_some() || may_come();
        (self.guarding.guards.missing.is_some() && !node.approved)
            || !planted("renamed-trashed-early") && is_new_there()
    }

    pub(super) fn is_seen_there(&self, file: &FileId) -> bool {
        self.files.get(file).is_some_and(|node| {
            let walked = self.lists.walks.get(&node.remote.folder).map_or(0, |walk| walk.looked);
            node.seen == Seen::Listed && walked > self.of(file).acted
        })
    }
}

/// Whether a stored file has this id.
pub(in crate::engine) fn knows(storage: &Storage, id: &str) -> bool {
    FileId::new(id).is_ok_and(|id| storage.files.contains_key(&id))
}

/// Whether a file came back with an older copy of the folder, and the user has not chosen.
pub(in crate::engine) fn has_returned(storage: &Storage) -> bool {
    !storage.uploads.returned.is_empty()
}

/// The guard of deletions began or ended: the files are decided again.
pub(in crate::engine) fn guard_changed(storage: &mut Storage) {
    storage.guarding.guards_are_old = true;
}

/// The files that left the folder, for the guard. In a backup that is no deletion.
pub(in crate::engine) fn gone_here(storage: &Storage, cx: &Context) -> Missing {
    let (gone, all) = &storage.guarding.missing;
    let is_sent = storage.mode == StorageMode::TwoWay;
    let gone = gone.iter().filter(|_| is_sent).map(FileId::as_str).collect();
    removals::missing((Kind::StoredFile, gone), *all, &cx.deletions, cx.now)
}

/// The files that left the service, and whose folder there shows another file of the same name.
fn replaced_there(
    files: &BTreeMap<FileId, FileNode>,
    is_leaving: impl Fn(&FileNode) -> bool,
) -> BTreeSet<FileId> {
    let place = |node: &FileNode| (node.remote.folder.clone(), node.remote.filename.clone());
    let left: Vec<&FileNode> = files.values().filter(|node| is_leaving(node)).collect();
    if left.is_empty() {
        return BTreeSet::new();
    }
    let listed = files.values().filter(|node| node.seen == Seen::Listed);
    let listed: BTreeSet<_> = listed.map(place).collect();
    left.into_iter().filter(|node| listed.contains(&place(node))).map(|node| node.remote.id.clone()).collect()
}

/// The place that may hide a missing file, unless the user approved that the file is gone.
pub(super) fn hides<'a>(barrier: &'a Barrier, node: &FileNode) -> Option<&'a Unreadable> {
    let base = node.base.as_ref().filter(|_| !node.approved)?;
    let object = base.is_seen().then(|| base.stamp.object());
    barrier.hides(Absent { last: Some(&base.path), object })
}

impl Storage {
    /// The missing files that a place may hide, each with that place.
    pub(in crate::engine) fn hidden<'a>(
        &'a self,
        barrier: &'a Barrier,
    ) -> impl Iterator<Item = (&'a FileNode, &'a Unreadable)> {
        let missing = self.runtimes.iter().filter(|(_, runtime)| runtime.local.is_missing());
        let missing = missing.filter_map(|(id, _)| self.files.get(id));
        let listed = missing.filter(|node| node.seen == Seen::Listed);
        listed.filter_map(|node| Some((node, hides(barrier, node)?)))
    }
}

/// Whether the user's approval of this file's removal is void, because the file is back on both sides.
pub(super) fn is_approved_in_vain(node: &FileNode) -> bool {
    node.approved && node.seen == Seen::Listed
}
