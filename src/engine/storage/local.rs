//! The scan's view of the storage folder: files as in their base, files that differ, and local-only files.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::guards::{hides, is_approved_in_vain};
use super::names::{share_paths, storage_root};
use super::reasons::Trouble;
use super::send::Candidate;
use super::{Runtime, Storage, Task, Turn, effect};
use crate::engine::beside::beside;
use crate::engine::disk::{RACY_MS, is_racy, take_in_seen};
use crate::engine::folder::{Folder, Watching};
use crate::model::{
    Code, ContentHash, DiskError, DiskReply, Effect, EntryKind, FileId, FileNode, FileObject, LocalOnly,
    MirrorPath, Scan, Stamp, StorageEffect, StorageMode, StoredFile, StoredReply, Timestamp, planted,
};
use crate::plan::existence::Here;
use crate::plan::filenames;

/// Rest time in milliseconds before a file becomes a conflict copy again within [`AGAIN_WITHIN_MS`].
const AGAIN_MS: i64 = 60_000;
const AGAIN_WITHIN_MS: i64 = 3_600_000;
/// Time stamps in multiples of this, in nanoseconds, come from coarse file systems: FAT has 2 s, exFAT 10 ms.
const COARSE_NS: i64 = 10_000_000;
/// Rest time of an empty new file, which may have just been created, in milliseconds.
pub(super) const NEW_EMPTY_MS: i64 = 2_000;

/// The storage part of the last scan.
#[derive(Debug, Default)]
pub(super) struct Sight {
    pub(super) files: BTreeMap<MirrorPath, Stamp>,
    pub(super) folders: BTreeSet<MirrorPath>,
    /// Missing files that belong to another disk than the folder above their path, with that folder.
    pub(super) away: BTreeMap<MirrorPath, MirrorPath>,
    /// Folders on another disk than the root's.
    devices: BTreeMap<MirrorPath, u64>,
    root_device: u64,
    /// Whether the user approved all missing files before a scan showed which ones are missing.
    pub(super) approved_unseen: bool,
    /// Time at which the scan was issued; 0 before the first.
    pub(super) at: Timestamp,
}

/// What the last scan found at a file's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Local {
    /// No scan yet, or the path could not be read.
    #[default]
    Unknown,
    /// The file of the base.
    Same,
    /// Nothing, since this time.
    Missing(Timestamp),
    /// Nothing, and the file was on another disk than the rest of its path: that disk is not mounted.
    Away,
    /// Another stamp and the same size: the file must be hashed.
    Suspect(Stamp),
    /// Other bytes.
    Changed(Stamp),
    /// A folder or a symbolic link.
    Odd,
}

impl Local {
    pub(super) fn is_missing(self) -> bool {
        matches!(self, Self::Missing(_))
    }
}

impl Sight {
    /// The nearest existing folder above a path, and its disk.
    fn above(&self, path: &MirrorPath) -> (MirrorPath, u64) {
        let mut above = path.parent();
        while let Some(folder) = above {
            if self.folders.contains(&folder) {
                let device = self.devices.get(&folder).copied().unwrap_or(self.root_device);
                return (folder, device);
            }
            above = folder.parent();
        }
        (MirrorPath::root(), self.root_device)
    }

    pub(super) fn moved(&mut self, from: &MirrorPath, to: &MirrorPath) {
        if let Some(stamp) = self.files.remove(from) {
            self.files.insert(to.clone(), stamp);
        }
    }

    /// Whether the existing part of a path is on another disk than `device`. An unknown disk counts as the same one.
    pub(super) fn is_elsewhere(&self, path: &MirrorPath, device: u64) -> bool {
        device != 0 && self.above(path).1 != device
    }
}

impl Runtime {
    /// Whether it has a valid link.
    pub(super) fn is_linked(&self, now: Timestamp) -> bool {
        self.link.as_ref().is_some_and(|link| link.1 > now)
    }

    /// Whether its state may change without an event about its file, or it has a message for the user.
    pub(super) fn stirs(&self, now: Timestamp) -> bool {
        self.link.is_some()
            || self.failing.waits(now)
            || matches!(self.local, Local::Suspect(_))
            || self.is_told_of()
    }
}

impl Storage {
    pub(in crate::engine) fn take_scan(&mut self, cx: &mut Turn<'_>, scan: &Scan, looked_at: Timestamp) {
        if !self.is_on() {
            return;
        }
        let root = storage_root();
        let root_device = scan.root_identity.0;
        let mut sight = Sight { at: looked_at, root_device, ..Sight::default() };
        let (mut files, mut odd) = (Vec::new(), BTreeSet::new());
        for entry in scan.entries.iter().filter(|entry| entry.path.is_within(&root)) {
            match entry.kind {
                EntryKind::File => {
                    files.push((&entry.path, entry.stamp));
                }
                EntryKind::Folder => {
                    sight.folders.insert(entry.path.clone());
                    if entry.stamp.device != root_device {
                        sight.devices.insert(entry.path.clone(), entry.stamp.device);
                    }
                }
                EntryKind::Other => {
                    odd.insert(entry.path.clone());
                }
            }
        }
        let were_elsewhere = self.seen_elsewhere();
        sight.files = std::mem::take(&mut self.sight.files);
        take_in_seen(&mut sight.files, files);
        let Sight { approved_unseen, at, .. } = std::mem::replace(&mut self.sight, sight);
        if at.0 == 0 {
            share_paths(&self.sight, &mut self.files);
        }
        self.tree.made.clear();
        self.guarding.guards_are_old = true;
        self.meet_folder(cx, scan, approved_unseen);
        self.tree.root_made = self.sight.folders.contains(&root);
        self.tree.folders_active = true;
        self.occupied.retain(|path| {
            self.sight.files.contains_key(path) || self.sight.folders.contains(path) || odd.contains(path)
        });
        let mut changed: Vec<(FileId, Local)> = Vec::new();
        // Rarely needed, and expensive: it reads all files.
        let renumbered = LazyCell::new(|| self.renumbered());
        let owners = LazyCell::new(|| self.owners());
        let mut away = BTreeMap::new();
        for ((_, node), runtime) in beside(&self.files, &self.runtimes, |(other, _), (id, _)| other.cmp(id)) {
            if node.base.is_none() {
                continue;
            }
            let before = runtime.map_or(Local::Unknown, |(_, it)| it.local);
            let mut now = self.local_now(node, (before, &owners), &odd, cx);
            if let (Local::Same, Some(base)) = (now, &node.base)
                && base.racy
                && !may_hide(&base.stamp, looked_at, &cx.folder.watch)
            {
                now = Local::Suspect(base.stamp);
            }
            if let (Local::Missing(_), false, Some(base)) = (now, before.is_missing(), &node.base) {
                let known = base.stamp.device;
                if self.sight.is_elsewhere(&base.path, known)
                    && !renumbered.contains(&known)
                    && (!node.approved || approved_unseen)
                {
                    now = Local::Away;
                    away.insert(base.path.clone(), self.sight.above(&base.path).0);
                }
            }
            if now != before || now == Local::Same && is_approved_in_vain(node) {
                changed.push((node.remote.id.clone(), now));
            }
        }
        drop((renumbered, owners));
        self.sight.away = away;
        self.mark_missing_dirty();
        self.follow_renamed(&changed);
        // Merged as maps, because a map that grows key after key keeps its nodes half empty.
        let new = changed.iter().map(|(id, _)| id).filter(|id| !self.runtimes.contains_key(*id));
        let mut new: BTreeMap<FileId, Runtime> = new.map(|id| (id.clone(), Runtime::default())).collect();
        if new.len() > self.runtimes.len() {
            self.runtimes.append(&mut new);
        }
        for (id, now) in changed {
            let before = self.of(&id).local;
            if before != now {
                let runtime = self.runtime(&id);
                runtime.local = now;
                runtime.found_at = cx.now;
                // It was about what was there before.
                runtime.trouble.take_if(|why| matches!(**why, Trouble::NotRead(_)));
                if now == Local::Same {
                    runtime.went_to = None;
                }
                if matches!(now, Local::Missing(_) | Local::Changed(_) | Local::Suspect(_)) {
                    runtime.failing.until = Timestamp::default();
                }
                self.queue.dirty.insert(id.clone());
            }
            if now == Local::Same {
                self.edit_file(cx, &id, |node| node.approved &= !is_approved_in_vain(node));
            } else if now == Local::Away {
                self.edit_file(cx, &id, |node| node.approved = false);
            }
        }
        self.take_in_strays(cx);
        // A file that left the path it had moved to counts as missing from now on.
        let are_elsewhere = self.seen_elsewhere();
        for id in were_elsewhere.difference(&are_elsewhere) {
            let runtime = self.runtime(id);
            if runtime.local.is_missing() {
                runtime.local = Local::Missing(cx.now);
            }
        }
    }

    /// What a missing file waits for may have come.
    pub(super) fn mark_missing_dirty(&mut self) {
        let missing: Vec<FileId> = self.missing().cloned().collect();
        self.queue.dirty.extend(missing);
    }

    fn missing(&self) -> impl Iterator<Item = &FileId> {
        self.runtimes.iter().filter(|(_, runtime)| runtime.local.is_missing()).map(|(id, _)| id)
    }

    /// The missing files that are at another local path.
    fn seen_elsewhere(&self) -> BTreeSet<FileId> {
        // Only for files that are nowhere by their objects: usually no file is missing.
        let sizes = LazyCell::new(|| {
            self.uploads.candidates.values().map(|new| new.stamp.size).collect::<BTreeSet<u64>>()
        });
        let is_like = |node: &FileNode| {
            node.base.as_ref().is_some_and(|base| sizes.contains(&base.size))
                && self.uploads.like_elsewhere(node).is_some()
        };
        let is_there = |id: &FileId| self.is_elsewhere_here(id) || self.files.get(id).is_some_and(is_like);
        self.missing().filter(|id| is_there(id)).cloned().collect()
    }

    /// The former device numbers of renumbered disks, for example after a restart of the machine: their files are at
    /// their paths, with equal stamps except for the device.
    pub(super) fn renumbered(&self) -> BTreeSet<u64> {
        let was = self.files.values().filter_map(|node| {
            let (base, now) = (node.base.as_ref()?, self.sight.files.get(&node.base.as_ref()?.path)?);
            let looks = |stamp: &Stamp| (stamp.inode, stamp.size, stamp.modified_ns, stamp.born_ns);
            let same = looks(now) == looks(&base.stamp);
            (same && now.device != base.stamp.device).then_some(base.stamp.device)
        });
        was.collect()
    }

    /// Records the new paths of files that left their places, by their file objects. A program that saves such a file
    /// creates another object at the new path: the file is followed as that one from then on. Another file may be in
    /// the place already.
    fn follow_renamed(&mut self, changed: &[(FileId, Local)]) {
        let agreed = |id: &FileId| Some(self.files.get(id)?.base.as_ref()?.stamp);
        let has_left = |id: &FileId, local: Local| match local {
            Local::Missing(_) => true,
            Local::Changed(stamp) | Local::Suspect(stamp) => {
                agreed(id).is_some_and(|agreed| agreed.object() != stamp.object())
            }
            _ => false,
        };
        let changed = changed.iter().filter(|(id, local)| has_left(id, *local)).map(|(id, _)| id);
        let ids: BTreeSet<FileId> = changed.chain(self.missing()).cloned().collect();
        let saved_anew = |id: &FileId| {
            let (path, stamp) = self.of(id).went_to.as_deref()?;
            Some(*self.sight.files.get(path).unwrap_or(stamp))
        };
        // Two files may have one object: one uploaded under its new name may move on before the old one is trashed.
        let mut was: BTreeMap<FileObject, Vec<(FileId, Stamp)>> = BTreeMap::new();
        for id in &ids {
            for stamp in agreed(id).into_iter().chain(saved_anew(id)) {
                was.entry(stamp.object()).or_default().push((id.clone(), stamp));
            }
        }
        if was.is_empty() {
            return;
        }
        // An editor's backup of the last version is not the file under another name.
        let found = self.sight.files.iter().filter(|(path, _)| !filenames::is_leftover(path.name()));
        let found = found.filter_map(|(path, stamp)| Some((path, stamp, was.get(&stamp.object())?)));
        // A file at the path of its base belongs to its own entry, even if it is a second hard link to the same
        // object. But one that left may have been uploaded from there, before a restart: it has the same content.
        // Rarely needed, and expensive: it reads all files.
        let owners = LazyCell::new(|| self.owners());
        let base = |id: &FileId| self.files.get(id)?.base.as_ref();
        let went_as = |id: &FileId, owner: &FileId| {
            base(id).is_some_and(|left| {
                !self.sight.files.contains_key(&left.path)
                    && base(owner).is_some_and(|it| it.hash == left.hash)
            })
        };
        let gone_to = found.flat_map(|(path, stamp, was)| {
            let may_be = |id| owners.get(path).is_none_or(|owner| went_as(id, owner));
            let is_it = was.iter().filter(|(id, was)| was.is_same_file(stamp) && may_be(id));
            is_it.map(|(id, _)| (id.clone(), (path.clone(), *stamp))).collect::<Vec<_>>()
        });
        // The better evidence comes last: a path that no stored file has, and the object of the base.
        let mut gone_to: Vec<_> = gone_to.collect();
        gone_to.sort_by_key(|(id, (path, at))| {
            let is_as_agreed = agreed(id).is_some_and(|agreed| agreed.object() == at.object());
            (!owners.contains_key(path), is_as_agreed)
        });
        for (id, went_to) in gone_to {
            self.runtime(&id).went_to = Some(Box::new(went_to));
        }
    }

    /// Accepts a missing file as moved if it is untouched at the path that the service has for it, and that path belongs
    /// to no other stored file: the user moved the file first. Returns `false` otherwise.
    pub(super) fn finds_it_moved(&mut self, cx: &mut Turn<'_>, node: &FileNode) -> bool {
        let Some(to) = self.wanted_file(node) else { return false };
        let id = &node.remote.id;
        let base = node.base.as_ref().filter(|base| base.path != to && self.of(id).local.is_missing());
        let Some(base) = base else { return false };
        let untouched = |stamp: &Stamp| base.stamp.is_untouched(stamp);
        let Some(stamp) = self.sight.files.get(&to).copied().filter(untouched) else { return false };
        if self.files.values().any(|other| other.base.as_ref().is_some_and(|theirs| theirs.path == to)) {
            return false;
        }
        self.uploads.is_no_stray(cx, &to);
        self.edit_base(cx, id, |base| (base.path, base.stamp) = (to, stamp));
        self.guarding.guards_are_old = true;
        let runtime = self.runtime(id);
        runtime.local = Local::Same;
        runtime.went_to = None;
        true
    }

    /// The time of the next scan for a missing file, or for a change that a stamp may hide; `None` if none is needed.
    pub(in crate::engine) fn next_grace_end(&self, grace_ms: i64, folder: &Folder) -> Option<Timestamp> {
        let missing = self.runtimes.values().filter_map(|runtime| match runtime.local {
            Local::Missing(since) => Some(folder.root.barrier.grace_end(since, grace_ms)),
            _ => None,
        });
        let racy = self.files.values().filter(|node| {
            let base = node.base.as_ref().filter(|base| base.racy);
            base.is_some_and(|base| may_hide(&base.stamp, self.sight.at, &folder.watch))
                && self.of(&node.remote.id).local == Local::Same
        });
        missing.chain(racy.map(|_| self.sight.at.plus_ms(RACY_MS))).filter(|end| *end > self.sight.at).min()
    }

    /// The files at their paths, by path. If two files have a base with one path, the untouched one owns it. A file
    /// that was just renamed has another change time, and is the same file.
    fn owners(&self) -> BTreeMap<&MirrorPath, &FileId> {
        let bases = || self.files.values().filter_map(|node| Some((node.base.as_ref()?, &node.remote.id)));
        let there = |base: &StoredFile| self.sight.files.get(&base.path);
        let untouched = bases().filter(|(base, _)| there(base).is_some_and(|at| base.stamp.is_untouched(at)));
        let as_agreed = bases().filter(|(base, _)| there(base) == Some(&base.stamp));
        untouched.chain(as_agreed).map(|(base, id)| (&base.path, id)).collect()
    }

    fn local_now(
        &self,
        node: &FileNode,
        (before, owners): (Local, &dyn Deref<Target = BTreeMap<&MirrorPath, &FileId>>),
        odd: &BTreeSet<MirrorPath>,
        cx: &Turn<'_>,
    ) -> Local {
        let Some(base) = &node.base else { return Local::Unknown };
        let there = self.sight.files.get(&base.path);
        let is_as_agreed = there == Some(&base.stamp);
        let is_another = |owner: &FileId| *owner != node.remote.id;
        // What comes to the path of two files belongs to the one that was there last.
        let stood_there = |other: &FileNode| {
            is_another(&other.remote.id)
                && other.base.as_ref().is_some_and(|theirs| theirs.path == base.path)
                && !self.of(&other.remote.id).local.is_missing()
        };
        let is_anothers = || {
            owners.get(&base.path).is_some_and(|owner| is_another(owner))
                || before.is_missing() && self.files.values().any(stood_there)
        };
        match there.filter(|_| is_as_agreed || !is_anothers()) {
            // Its bytes showed a change that no stamp shows.
            Some(stamp) if before == Local::Changed(*stamp) => before,
            Some(_) if is_as_agreed => Local::Same,
            Some(stamp) if stamp.size != base.size => Local::Changed(*stamp),
            Some(stamp) => Local::Suspect(*stamp),
            None if self.sight.folders.contains(&base.path) || odd.contains(&base.path) => Local::Odd,
            None if cx.folder.root.barrier.covers(&base.path) => Local::Unknown,
            None => match before {
                Local::Missing(since) => Local::Missing(since),
                _ => Local::Missing(cx.now),
            },
        }
    }

    /// The input of [`decide`](crate::plan::stored::decide) about a local file, and when time alone may change it.
    pub(super) fn here(&self, cx: &Turn<'_>, node: &FileNode) -> (Here, Option<Timestamp>) {
        let runtime = self.of(&node.remote.id);
        let from = |at: Timestamp, here| if at <= cx.now { (here, None) } else { (Here::Unclear, Some(at)) };
        match runtime.local {
            Local::Unknown | Local::Odd | Local::Away | Local::Suspect(_) => (Here::Unclear, None),
            // An edit may have left its stamp as it is: its bytes are compared first.
            Local::Same if node.base.as_ref().is_some_and(|base| base.racy) => (Here::Unclear, None),
            Local::Same => (Here::Same, None),
            Local::Missing(_) if hides(&cx.folder.root.barrier, node).is_some() => (Here::Unclear, None),
            Local::Missing(since) => {
                let grace_ms = if planted("stored-no-grace") { 0 } else { cx.settings.pages.delete_grace_ms };
                let end = cx.folder.root.barrier.grace_end(since, grace_ms);
                // It may have come back since the last scan: the scan after the grace time decides.
                if end <= self.sight.at { (Here::Missing, None) } else { from(end, Here::Unclear) }
            }
            Local::Changed(stamp) => {
                let again = runtime.set_aside_at.is_some_and(|at| cx.now.since_ms(at) < AGAIN_WITHIN_MS);
                let quiet = if again && self.mode == StorageMode::Backup {
                    AGAIN_MS
                } else {
                    cx.settings.pages.settle_ms
                };
                let left = quiet.saturating_sub(cx.rested_ms(&stamp, runtime.found_at));
                from(cx.now.plus_ms(left), Here::Changed)
            }
        }
    }

    /// Computes the local-only files: they are listed as such, and uploaded if sync goes both ways.
    pub(super) fn take_in_strays(&mut self, cx: &mut Turn<'_>) {
        self.forget_returned(cx, |_| false);
        let mut ours: Vec<(&MirrorPath, &FileNode)> =
            self.files.values().filter_map(|node| Some((&node.base.as_ref()?.path, node))).collect();
        ours.sort_by_key(|(path, _)| *path);
        let mut ours = ours.into_iter().peekable();
        let mut strays: BTreeMap<MirrorPath, (Stamp, Option<FileId>)> = BTreeMap::new();
        for (path, stamp) in &self.sight.files {
            while ours.next_if(|(other, _)| *other < path).is_some() {}
            // Of several that had this path, the file is the one that it equals, else an edit of one that did not leave.
            let mut its: Option<&FileNode> = None;
            while let Some((_, node)) = ours.next_if(|(other, _)| *other == path) {
                let likely = |node: &FileNode| match self.of(&node.remote.id).local {
                    Local::Missing(_) | Local::Away => 0,
                    Local::Changed(_) => 1,
                    Local::Unknown | Local::Same | Local::Suspect(_) | Local::Odd => 2,
                };
                its = its.filter(|its| likely(its) > likely(node)).or(Some(node));
            }
            let is_changed = |node: &FileNode| {
                self.mode_of(node) == StorageMode::TwoWay
                    && matches!(self.of(&node.remote.id).local, Local::Changed(_))
            };
            let replaces = match its {
                None => None,
                Some(node) if is_changed(node) => Some(node.remote.id.clone()),
                Some(_) => continue,
            };
            strays.insert(path.clone(), (*stamp, replaces));
        }
        let went_to = self.runtimes.values().filter_map(|runtime| runtime.went_to.as_deref());
        let went_to: BTreeSet<&MirrorPath> = went_to.map(|(path, _)| path).collect();
        let mut candidates = BTreeMap::new();
        for (path, (stamp, replaces)) in &strays {
            // The name of an editor's leftover hides only what the service does not have.
            let hidden = replaces.is_none() && filenames::is_leftover(path.name());
            if self.mode != StorageMode::TwoWay || hidden {
                continue;
            }
            let old = self
                .uploads
                .candidates
                .remove(path)
                .filter(|old| old.stamp == *stamp && old.replaces == *replaces);
            let mut candidate = old.unwrap_or_else(|| Candidate::new(*stamp, replaces.clone(), cx.now));
            candidate.has_moved = went_to.contains(path);
            candidates.insert(path.clone(), candidate);
        }
        self.uploads.candidates = candidates;
        self.judge_candidates(cx);
        let mut list = BTreeMap::new();
        for (path, (stamp, replaces)) in strays {
            let leftover = filenames::is_leftover(path.name()) && !filenames::is_conflict_copy(path.name());
            if replaces.is_none() && !leftover {
                let why = self.uploads.candidates.get(&path).and_then(|candidate| candidate.refused.clone());
                list.insert(path.clone(), LocalOnly { path, size: stamp.size, why });
            }
        }
        self.uploads.write_local_only(cx, list)
    }

    /// The next file to hash: one that may have changed, or that a deep check has not reached yet, or a local-only file that
    /// may be one that left its place.
    pub(super) fn next_hash(&mut self, cx: &Turn<'_>) -> Option<(Effect, Task)> {
        if cx.in_flight.stored().any(|task| matches!(task, Task::Hash { .. })) {
            return None;
        }
        let deep = self.lists.pass.filter(|pass| pass.deep).map(|pass| pass.since);
        let settle_ms = cx.settings.pages.settle_ms;
        let due = |(id, runtime): (&FileId, &Runtime)| {
            let due = match runtime.local {
                Local::Suspect(stamp) => cx.rested_ms(&stamp, runtime.found_at) >= settle_ms,
                Local::Same => deep.is_some_and(|since| runtime.checked <= since) && !runtime.damaged,
                _ => false,
            };
            let due = due && !self.apart.contains_key(id);
            let node = self.files.get(id).filter(|_| due && runtime.failing.until <= cx.now)?;
            (!self.queue.is_busy(id, &cx.in_flight) && node.base.is_some()).then_some(node)
        };
        let own = match deep {
            Some(_) => self.runtimes.iter().find_map(due),
            None => self.stirring().find_map(due),
        };
        let own = own.and_then(|node| Some((node.remote.id.clone(), node.base.as_ref()?.path.clone())));
        let (file, path) = own.or_else(|| self.queue.compared.pop_first())?;
        let task = Task::Hash { file, path: path.clone() };
        Some((effect(StorageEffect::Hash(path)), task))
    }

    pub(super) fn hashed(
        &mut self,
        cx: &mut Turn<'_>,
        id: &FileId,
        path: &MirrorPath,
        asked_at: Timestamp,
        result: Result<DiskReply, DiskError>,
    ) {
        let base = self.files.get(id).and_then(|node| node.base.clone());
        let Some(base) = base.filter(|base| base.path == *path) else {
            if let Some(candidate) = self.uploads.candidates.get_mut(path) {
                match result {
                    Ok(DiskReply::Storage(StoredReply::Hashed(stamp, hash))) if stamp == candidate.stamp => {
                        candidate.hash = Some(hash);
                    }
                    _ => candidate.failing.until = cx.now.plus_ms(60_000),
                }
                self.queue.dirty.insert(id.clone());
            }
            return;
        };
        let (tick, later) = (cx.tick, cx.now.plus_ms(cx.settings.pages.settle_ms.max(1_000)));
        let runtime = self.runtime(id);
        let (stamp, hash): (Stamp, ContentHash) = match result {
            Ok(DiskReply::Storage(StoredReply::Hashed(stamp, hash))) => (stamp, hash),
            Ok(_) => return,
            Err(DiskError::Changed(_) | DiskError::Missing(_)) => {
                runtime.failing.until = later;
                return;
            }
            Err(error) => {
                runtime.failing.until = cx.now.plus_ms(60_000);
                runtime.checked = tick;
                runtime.trouble = Some(Box::new(Trouble::NotRead(error)));
                return;
            }
        };
        runtime.checked = tick;
        runtime.failing.count = 0;
        runtime.trouble = None;
        if hash == base.hash {
            runtime.local = Local::Same;
            // Its path may have been another one's as well, of which the same bytes are an edit.
            self.uploads.strays_are_old |= self.uploads.candidates.contains_key(path);
            let racy = may_hide(&stamp, asked_at, &cx.folder.watch);
            self.scan_due.by_if_racy(racy, cx.now);
            return self.edit_base(cx, id, |base| (base.stamp, base.racy) = (stamp, racy));
        }
        if stamp == base.stamp && !base.racy {
            runtime.damaged = true;
            cx.notice(
                Code::Damaged,
                path.as_str(),
                "its bytes changed on the disk without a write: espejo fetches it again, and keeps the damaged file in the mirror's trash"
                    .to_owned(),
                "check the disk",
            );
            return;
        }
        runtime.local = Local::Changed(stamp);
        self.take_in_strays(cx)
    }
}

/// Whether a further change now may leave the stamp unchanged: the file system has coarse time steps, and the file
/// has just changed. Steps below [`COARSE_NS`] are shorter than the time between two writes by anybody.
pub(super) fn may_hide(stamp: &Stamp, now: Timestamp, watch: &Watching) -> bool {
    is_coarse(stamp) && is_racy(stamp, watch.file_clock(now))
}

/// Whether the file system has coarse time steps. If its bytes were read at an unknown time, a change after that may
/// have left the stamp unchanged.
pub(super) fn is_coarse(stamp: &Stamp) -> bool {
    stamp.changed_ns % COARSE_NS == 0
}
