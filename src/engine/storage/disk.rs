//! Disk acts: creates, moves and removes folders; places, moves and trashes files, and makes conflict copies.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::local::is_coarse;
use super::names::{ADOPTING, storage_root};
use super::reasons::Trouble;
use super::{Direction, Fetched, Storage, Task, Turn, effect, local::Local};
use crate::engine::Way;
use crate::engine::place::wall_time;
use crate::engine::retry::{self, Failing};
use crate::model::{
    DiskError, DiskReply, Effect, FileId, FileNode, FolderId, MirrorPath, Part, Seen, Stamp, StorageEffect,
    StorageMode, StoredFile, StoredReply, Timestamp, planted,
};
use crate::plan::existence::{Case, Here, There};
use crate::plan::stored::{Decision, View, decide};
use crate::plan::{filenames, naming::fold};
use crate::store::StoredRow;

type Choice = Option<(Effect, Task)>;

impl Storage {
    /// The next act for a folder at a wrong path, if there is one; upper folders come first.
    pub(super) fn next_act_on_folders(&mut self, cx: &mut Turn<'_>) -> Choice {
        if !self.tree.folders_active || self.sight.at.0 == 0 || self.tree.folders_failing.waits(cx.now) {
            return None;
        }
        if !self.tree.root_made {
            if self.lists.walks.get(&None).is_none_or(|walk| walk.looked == 0) {
                return None;
            }
            let path = storage_root();
            let task = Task::MakeFolder { folder: None, path: path.clone() };
            return Some((effect(StorageEffect::MakeFolder(path)), task));
        }
        if !self.lists.swept && self.lists.all_walked_since(0, &self.tree) {
            self.lists.swept = true;
            let keep = self
                .files
                .values()
                .map(|node| Part::of(&node.remote.id, &node.remote.attachment, node.remote.size));
            return Some((effect(StorageEffect::Sweep(keep.collect())), Task::Sweep));
        }
        let folders = self.tree.folders.values().filter(|node| node.listed && node.stem.is_none());
        let mut parents: BTreeSet<Option<FolderId>> =
            folders.map(|node| node.remote.parent.clone()).collect();
        if self.tree.adopting {
            // All at once, before a file of theirs is taken for a new one.
            let files = self.files.values().filter(|node| node.seen == Seen::Listed && node.stem.is_none());
            parents.extend(files.map(|node| node.remote.folder.clone()));
        }
        for parent in parents {
            self.choose_names(cx, parent.as_ref());
        }
        for id in self.tree.folders.keys().cloned().collect::<Vec<_>>() {
            if let Some(choice) = self.act_on_folder(cx, &id) {
                return Some(choice);
            }
        }
        if self.tree.adopting && self.lists.all_walked_since(0, &self.tree) {
            self.tree.adopting = false;
            cx.store.set_meta(ADOPTING, "no");
        }
        self.tree.folders_active = false;
        self.tree.folders_failing = Failing::default();
        self.tree.folders_trouble = None;
        None
    }

    fn act_on_folder(&mut self, cx: &mut Turn<'_>, id: &FolderId) -> Choice {
        let node = self.tree.folders.get(id).cloned()?;
        if node.at.as_ref().is_some_and(|at| cx.trees.ignoring.ignores(at, true)) {
            return None;
        }
        if !node.listed {
            let empty = !self.files.values().any(|file| file.remote.folder.as_ref() == Some(id))
                && !self.tree.folders.values().any(|inner| inner.remote.parent.as_ref() == Some(id));
            let parent = node.remote.parent.as_ref();
            let parent_is_gone =
                parent.is_some_and(|up| self.tree.folders.get(up).is_none_or(|up| !up.listed));
            let looked = self.lists.walks.get(&node.remote.parent).map_or(0, |walk| walk.looked);
            let again = parent_is_gone || looked > self.tree.folders_missed.get(id).copied().unwrap_or(0);
            if !empty || !again {
                return None;
            }
            let Some(path) = node.at else {
                self.forget_folder(cx, id);
                return None;
            };
            let task = Task::RemoveFolder { folder: id.clone(), path: path.clone() };
            return Some((Effect::RemoveFolder(path), task));
        }
        let wanted = self.wanted_folder(&node)?;
        if cx.trees.ignoring.ignores(&wanted, true) {
            return None;
        }
        // A folder that has this path still moves away first: one directory is never the path of two folders.
        let is_free =
            |path: &MirrorPath| self.tree.folders.values().all(|other| other.at.as_ref() != Some(path));
        let make = || {
            let is_mine = node.at.as_ref() == Some(&wanted);
            let task = Task::MakeFolder { folder: Some(id.clone()), path: wanted.clone() };
            (is_mine || is_free(&wanted)).then(|| (effect(StorageEffect::MakeFolder(wanted.clone())), task))
        };
        match &node.at {
            Some(at) if *at == wanted => {
                // In backup mode, a folder that the user removed is created again with its files. If sync goes both
                // ways, its files are deleted at the service.
                let gone = !self.sight.folders.contains(at) && !self.tree.made.contains(at);
                // A new folder would only hide the files of a disk that is not mounted.
                let away = || self.sight.away.keys().any(|path| path.is_within(at));
                if gone && self.mode == StorageMode::Backup && !away() { make() } else { None }
            }
            Some(at) if self.sight.folders.contains(at) || self.tree.made.contains(at) => {
                let task = Task::RenameFolder { folder: id.clone(), from: at.clone(), to: wanted.clone() };
                Some((Effect::Rename { from: at.clone(), to: wanted.clone() }, task))
            }
            _ => make(),
        }
    }

    fn forget_folder(&mut self, cx: &mut Turn<'_>, id: &FolderId) {
        self.tree.folders.remove(id);
        self.lists.walks.remove(&Some(id.clone()));
        self.tree.folders_missed.remove(id);
        // Uploads into this folder are gone with it.
        let gone = self.uploads.creations.drafts().filter(|upload| upload.folder.as_ref() == Some(id));
        for path in gone.map(|upload| upload.path.clone()).collect::<Vec<_>>() {
            self.uploads.creations.end(&mut cx.store, &path);
        }
        cx.store.delete_stored(StoredRow::Folder(id));
    }

    /// The next file with a possible disk act. Also queues the requests that files need.
    pub(super) fn next_act_on_files(&mut self, cx: &mut Turn<'_>) -> Choice {
        if self.sight.at.0 == 0 {
            return None;
        }
        let mut next = self.queue.dirty.first().cloned();
        while let Some(id) = next {
            let waits = self.queue.is_busy(&id, &cx.in_flight)
                || self.queue.act_at.get(&id).is_some_and(|at| *at > cx.now);
            if !waits && let Some(choice) = self.act_on_file(cx, &id) {
                return Some(choice);
            }
            next = self.queue.dirty.range((Bound::Excluded(id), Bound::Unbounded)).next().cloned();
        }
        None
    }

    fn act_on_file(&mut self, cx: &mut Turn<'_>, id: &FileId) -> Choice {
        let Some(mut node) = self.files.get(id).cloned() else {
            self.queue.rests(id);
            return None;
        };
        if node.stem.is_none() && node.seen == Seen::Listed {
            self.choose_names(cx, node.remote.folder.as_ref());
            node = self.files.get(id).cloned().unwrap_or(node);
        }
        if self.stays_apart(cx, &node) {
            self.queue.rests(id);
            return None;
        }
        if self.finds_it_moved(cx, &node) {
            node = self.files.get(id).cloned().unwrap_or(node);
        }
        let (view, again_at) = self.view(cx, &node);
        let decision = decide(&view);
        tracing::trace!(file = %id, ?decision, "decided");
        self.queue.requests.remove(id);
        if let Some(runtime) = self.runtimes.get_mut(id) {
            if decision != Decision::Fetch {
                // A file that is not downloaded needs no link, and a kept link would count as one in use.
                runtime.link = None;
            }
            runtime.trouble.take_if(|why| why.is_over(decision));
        }
        match decision {
            Decision::Rest | Decision::Wait => {
                if self.of(id).local.is_missing()
                    && !self.is_elsewhere_here(id)
                    && let Some(path) = self.uploads.unread_like(&node, cx.now)
                {
                    self.queue.compared.insert(id.clone(), path.clone());
                }
                match again_at {
                    Some(at) => drop(self.queue.act_at.insert(id.clone(), at)),
                    None => drop(self.queue.dirty.remove(id)),
                }
                None
            }
            Decision::Confirm | Decision::Fetch | Decision::TrashThere => {
                self.queue.requests.set(&node.remote, decision);
                self.queue.dirty.remove(id);
                None
            }
            Decision::Forget => {
                self.uploads.strays_are_old |= node.base.is_some();
                self.forget_file(cx, id);
                self.mark_dirty_in(node.remote.folder.as_ref());
                None
            }
            Decision::LetGo => {
                self.let_go(cx, id);
                None
            }
            Decision::Place => {
                let choice = self.place(&node)?;
                self.record_placement(cx, choice)
            }
            Decision::Move => self.move_file(&node),
            Decision::SetAside => self.set_aside(cx, &node),
            Decision::Discard => node.base.map(|base| {
                let task = Task::Discard { file: id.clone(), path: base.path.clone() };
                let expect = self.planted_stamp(id, &base);
                // Recorded before it happens: after a kill, the absence of this file is no act of the user's, if the app's
                // user puts it back.
                self.edit_base(cx, id, |base| base.stamp = Stamp::default());
                (effect(StorageEffect::Discard { path: base.path, expect }), task)
            }),
        }
    }

    /// The input of the decision for a file, and the time at which it may change without an event.
    pub(super) fn view(&self, cx: &Turn<'_>, node: &FileNode) -> (View, Option<Timestamp>) {
        let (base, runtime, renewed) = (node.base.as_ref(), self.of(&node.remote.id), node.is_renewed());
        let (here, again_at) = if base.is_some() { self.here(cx, node) } else { (Here::Missing, None) };
        let is_current = |fetched: &&Fetched| {
            fetched.attachment == node.remote.attachment && fetched.size == node.remote.size
        };
        let fetched = runtime.fetched.as_deref().filter(is_current);
        let fetched = fetched.is_some_and(|fetched| !self.is_lost_upload(node, fetched.hash));
        let wanted = self.wanted_file(node);
        let is_sent = |path: &MirrorPath| self.uploads.creations.contains(path);
        let mode = self.mode_of(node);
        let case = Case {
            agreed: base.is_some(),
            here,
            there: match node.seen {
                Seen::Unlisted => There::Unlisted,
                Seen::Gone => There::Gone,
                Seen::Listed if renewed => There::Changed,
                Seen::Listed => There::Same,
            },
            deletes: mode == StorageMode::TwoWay,
            held_here: self.is_held_back(node),
            // Computed only if it matters, because it compares with all local files.
            held_there: self.mode == StorageMode::TwoWay
                && base.is_some()
                && here == Here::Missing
                && self.is_kept(cx, node),
        };
        let view = View {
            case,
            damaged: here == Here::Same && runtime.damaged,
            perhaps_placed: renewed
                && matches!(runtime.local, Local::Changed(stamp) if stamp.size == node.remote.size)
                && runtime.compared.as_ref() != Some(&node.remote.attachment),
            awaited: self.uploads.may_be_under_way(node)
                || base.is_some_and(|base| is_sent(&base.path))
                || fetched && wanted.as_ref().is_some_and(is_sent),
            sought: self.uploads.may_be_unconfirmed(node),
            fetched,
            displaced: base.is_some_and(|base| wanted.is_some_and(|wanted| wanted != base.path)),
            // A replacement that was there and that espejo moved to the trash counts as seen.
            replaced: (node.replaced_by.as_ref())
                .map(|new| self.is_seen_there(new) || self.guarding.trashed.contains_key(new)),
        };
        (view, again_at)
    }

    /// The stamp that an act on a file expects: that of the base, unless a planted bug takes the present one.
    fn planted_stamp(&self, id: &FileId, base: &StoredFile) -> Stamp {
        match self.of(id).local {
            Local::Changed(stamp) if planted("placed-over-edit") || planted("stored-edit-discarded") => stamp,
            _ => base.stamp,
        }
    }

    fn place(&mut self, node: &FileNode) -> Choice {
        let id = &node.remote.id;
        let to = match &node.base {
            Some(base) => base.path.clone(),
            None => match self.wanted_file(node) {
                Some(wanted) => wanted,
                // Its folder must be created first, or its name must become free.
                None => {
                    self.queue.dirty.remove(id);
                    return None;
                }
            },
        };
        let content = self.runtimes.get(id)?.fetched.as_deref()?.clone();
        let part = Part::of(id, &content.attachment, content.size);
        let instead_of = node.base.as_ref().map(|base| self.planted_stamp(id, base));
        let place = StorageEffect::Place { part, hash: content.hash, to: to.clone(), instead_of };
        Some((effect(place), Task::Place { file: id.clone(), to, content, replaces: instead_of.is_some() }))
    }

    /// Records the target of a placement before it happens, as a base that was not seen yet: a kill between the
    /// placement and the record of its end leaves no file of unknown origin. A first placement then waits for the commit
    /// of its record. What may be at its target is no new file meanwhile: it may have the same content.
    fn record_placement(&mut self, cx: &mut Turn<'_>, choice: (Effect, Task)) -> Choice {
        let Task::Place { file, to, content, replaces: false } = &choice.1 else { return Some(choice) };
        let (file, path) = (file.clone(), to.clone());
        self.uploads.is_no_stray(cx, &path);
        let Fetched { attachment, size, hash } = content.clone();
        let base = StoredFile { attachment, size, hash, path, stamp: Stamp::default(), racy: false };
        self.edit_file(cx, &file, |node| node.base = Some(base));
        self.queue.recorded.insert(file, choice);
        None
    }

    fn move_file(&self, node: &FileNode) -> Choice {
        let (from, to) = (node.base.as_ref()?.path.clone(), self.wanted_file(node)?);
        let task = Task::Rename { file: node.remote.id.clone(), from: from.clone(), to: to.clone() };
        Some((Effect::Rename { from, to }, task))
    }

    fn set_aside(&self, cx: &Turn<'_>, node: &FileNode) -> Choice {
        let from = node.base.as_ref()?.path.clone();
        let folder = from.parent()?;
        let there = |key: &str| {
            let in_folder = |path: &&MirrorPath| path.parent().as_ref() == Some(&folder);
            self.sight
                .files
                .keys()
                .chain(&self.occupied)
                .filter(in_folder)
                .any(|path| fold(path.name()) == key)
        };
        let when = wall_time(cx.now, cx.settings.utc_offset_seconds);
        let to = folder.join(&filenames::conflict_copy(from.name(), when, &there)).ok()?;
        let task = Task::SetAside { file: node.remote.id.clone(), from: from.clone(), to: to.clone() };
        Some((Effect::Rename { from, to }, task))
    }

    pub(super) fn act_done(&mut self, cx: &mut Turn<'_>, task: Task, reply: DiskReply) {
        match task.file().cloned() {
            Some(file) => self.gets_on(&file),
            None => {
                self.tree.folders_failing = Failing::default();
                self.tree.folders_trouble = None;
            }
        }
        match (task, reply) {
            (Task::MakeFolder { folder: None, .. }, _) => {
                self.tree.root_made = true;
                self.mark_all_dirty();
            }
            (Task::MakeFolder { folder: Some(folder), path }, _) => {
                self.tree.made.insert(path.clone());
                self.edit_folder(cx, &folder, |node| node.at = Some(path));
                self.mark_dirty_in(Some(&folder));
            }
            (Task::RemoveFolder { folder, .. }, _) => {
                self.tree.folders_active = true;
                self.forget_folder(cx, &folder);
            }
            (Task::RenameFolder { folder, from, to }, _) => self.folder_moved(cx, &folder, &from, &to),
            (Task::Rename { file, from, to }, _) => {
                cx.log_activity(Way::Down, &to, format!("moved from {from}"));
                self.sight.moved(&from, &to);
                self.edit_base(cx, &file, |base| base.path = to);
                let folder = self.files.get(&file).and_then(|node| node.remote.folder.clone());
                self.mark_dirty_in(folder.as_ref());
            }
            (Task::SetAside { file, from, to }, _) => {
                cx.log_activity(Way::Aside, &from, format!("your version is kept as {}", to.name()));
                self.sight.moved(&from, &to);
                self.edit_file(cx, &file, |node| node.base = None);
                self.uploads.strays_are_old = true;
                let now = cx.now;
                let runtime = self.runtime(&file);
                runtime.local = Local::Unknown;
                runtime.set_aside_at = Some(now);
            }
            (Task::Place { file, to, content, replaces }, DiskReply::Storage(StoredReply::Placed(stamp))) => {
                self.rests.0.remove(&Direction::Disk);
                let what = if replaces { "new version" } else { "downloaded" };
                cx.log_activity(Way::Down, &to, what);
                self.occupied.remove(&to);
                self.sight.files.insert(to.clone(), stamp);
                self.uploads.is_no_stray(cx, &to);
                let Fetched { attachment, size, hash } = content;
                let racy = is_coarse(&stamp);
                self.scan_due.by_if_racy(racy, cx.now);
                let base = StoredFile { attachment, size, hash, path: to, stamp, racy };
                self.edit_file(cx, &file, |node| node.base = Some(base));
                let tick = cx.tick;
                let runtime = self.runtime(&file);
                runtime.local = Local::Same;
                runtime.fetched = None;
                runtime.damaged = false;
                runtime.checked = tick;
                runtime.got = 0;
            }
            (Task::Discard { file, path }, _) => {
                self.sight.files.remove(&path);
                let damaged = self.runtimes.get(&file).is_some_and(|runtime| runtime.damaged);
                if damaged {
                    self.runtime(&file).damaged = false;
                    self.runtime(&file).local = Local::Unknown;
                    return self.edit_file(cx, &file, |node| node.base = None);
                }
                cx.log_activity(Way::Down, &path, "left the service: moved to the mirror's trash");
                let now = cx.now;
                if !self.guarding.is_replaced_there(&file) {
                    self.guarding.gone_here.note(&mut cx.store, [file.as_str()], true, now);
                }
                let folder = self.files.get(&file).and_then(|node| node.remote.folder.clone());
                self.forget_file(cx, &file);
                self.mark_dirty_in(folder.as_ref());
            }
            _ => {}
        }
    }

    /// Clears the failures of a file after a success; otherwise the file would never count as done.
    pub(super) fn gets_on(&mut self, file: &FileId) {
        let runtime = self.runtime(file);
        runtime.failing.count = 0;
        runtime.trouble = None;
    }

    fn folder_moved(&mut self, cx: &mut Turn<'_>, folder: &FolderId, from: &MirrorPath, to: &MirrorPath) {
        let moved = |path: &MirrorPath| path.rebase(from, to).unwrap_or_else(|| path.clone());
        cx.log_activity(Way::Down, to, format!("folder moved from {from}"));
        self.tree.made.insert(to.clone());
        self.edit_folder(cx, folder, |node| node.at = Some(to.clone()));
        for id in self.tree.folders.keys().cloned().collect::<Vec<_>>() {
            self.edit_folder(cx, &id, |node| {
                node.at = node.at.as_ref().map(moved);
            });
        }
        // A missing file did not move with the folder: if an unreadable name hides it, it comes back at its old path.
        let moves = |id: &&FileId| !self.of(id).local.is_missing();
        for id in self.files.keys().filter(moves).cloned().collect::<Vec<_>>() {
            self.edit_base(cx, &id, |base| base.path = moved(&base.path));
        }
        for runtime in self.runtimes.values_mut() {
            if let Some((path, _)) = runtime.went_to.as_deref_mut() {
                *path = moved(path);
            }
        }
        self.uploads_follow(cx, from, to);
        let files = std::mem::take(&mut self.sight.files).into_iter();
        self.sight.files = files.map(|(path, stamp)| (moved(&path), stamp)).collect();
        self.sight.folders = self.sight.folders.iter().map(moved).collect();
        self.mark_all_dirty();
    }

    pub(super) fn act_failed(&mut self, cx: &mut Turn<'_>, task: &Task, error: &DiskError) {
        tracing::debug!(?task, %error, "an act on disk was refused");
        if let Task::Place { file, replaces: false, .. } = task {
            self.edit_file(cx, file, |node| node.base = None);
            // What is there was taken for this file.
            self.uploads.strays_are_old = true;
        }
        match (task, error) {
            (
                Task::MakeFolder { folder: Some(folder), path: to } | Task::RenameFolder { folder, to, .. },
                DiskError::Exists(at),
            ) if at == to => {
                self.occupied.insert(to.clone());
                self.edit_folder(cx, folder, |node| node.stem = None);
            }
            (
                Task::Place { file, to, replaces: false, .. } | Task::Rename { file, to, .. },
                DiskError::Exists(_),
            ) => {
                self.occupied.insert(to.clone());
                self.edit_file(cx, file, |node| node.stem = None);
            }
            (Task::Place { file, content, replaces: true, .. }, DiskError::Changed(_)) => {
                self.runtime(file).compared = Some(content.attachment.clone());
            }
            (Task::Place { file, .. }, DiskError::Missing(_)) => {
                // The temporary file is gone, because the user or a program removed it. It is downloaded again.
                self.runtime(file).fetched = None;
            }
            _ => {}
        }
        if matches!(error, DiskError::Changed(_) | DiskError::Missing(_)) {
            self.scan_due.by(cx.now);
        }
        match task.file().cloned() {
            Some(file) => {
                let runtime = self.runtime(&file);
                runtime.failing.count += 1;
                let quick = retry::met_another_state(error);
                let act_at = if quick && !runtime.failing.is_told() {
                    cx.now.plus_ms(100)
                } else {
                    cx.now.plus_ms(cx.backoff(runtime.failing.count))
                };
                if !quick || runtime.failing.is_told() {
                    runtime.trouble = Some(Box::new(Trouble::NotPlaced(error.clone())));
                }
                self.queue.act_at.insert(file, act_at);
            }
            None => {
                let failing = &mut self.tree.folders_failing;
                cx.fails(failing, 0);
                if !failing.is_told() {
                    failing.until = cx.now;
                }
                self.tree.folders_trouble = failing.is_told().then(|| error.clone());
            }
        }
    }
}
