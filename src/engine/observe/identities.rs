//! Which file is which page: vanished, new and moved files are identified together after a complete scan.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::core::plan::identify::is_same_file;
use crate::core::plan::page_files::{self, KnownFile, SeenFile};
use crate::engine::observe::old_paths::take_old_path_saves;
use crate::engine::state::folder::UNSETTLED_MAX_MS;
use crate::engine::state::identity_batches::is_missing;
use crate::engine::state::{Absent, Context, Engine, Folder, Pages, Trees, Watching, named};
use crate::model::{
    Body, FileObject, LocalFile, MirrorPath, Node, PageDraft, PageId, Problem, Stamp, Timestamp, folder_of,
};
use crate::store::{LastSight, StoreError};

impl Engine {
    /// Identifies the files once everything that can be read has been read.
    pub(crate) fn identify_if_ready(&mut self) -> Result<(), StoreError> {
        if !self.folder.watch.identities_due
            || self.folder.watch.scan_stale
            || self.pages.trees.newcomers_wait(&self.folder.watch, self.cx.now)
        {
            return Ok(());
        }
        self.folder.watch.identities_due = false;
        self.pages.hold_hidden_claims(&mut self.folder, &mut self.cx);
        take_old_path_saves(&mut self.pages, &mut self.folder, &mut self.cx)?;
        self.folder.lift_barrier(&self.pages.trees, &mut self.cx);
        if self.pages.is_as_it_was(&self.folder.watch) {
            return Ok(());
        }
        let seen_now = std::mem::take(&mut self.folder.watch.last_seen);
        let is_asked_for_itself =
            |file: &LocalFile| file.page.is_none() && self.pages.creations.contains(&file.path);
        let mut objects: BTreeMap<(u64, u64, i64), Vec<&LocalFile>> = BTreeMap::new();
        for file in
            self.pages.trees.files.values().filter(|file| file.page.is_some() || is_asked_for_itself(file))
        {
            objects.entry(file.stamp.object()).or_default().push(file);
        }
        let is_one_of_them = |file: &LocalFile| {
            let mut kin = objects.get(&file.stamp.object()).into_iter().flatten();
            kin.any(|other| {
                // If a page was requested for both of two paths of one file, neither is the other.
                let counts = other.page.is_some() || !is_asked_for_itself(file);
                counts && is_same_file((other.stamp, other.hash), (file.stamp, file.hash))
            })
        };
        let mut known: Vec<KnownFile> = self
            .pages
            .trees
            .files
            .values()
            // A file without a page matters only if a page was requested for it. Other files may be paths that a file
            // passed through. If a file is a page's by its object, or a page was requested for it, it is that file,
            // read at its new path.
            .filter(|file| {
                file.page.is_some() || self.pages.is_asked_for(&file.path) && !is_one_of_them(file)
            })
            .map(|file| KnownFile {
                path: file.path.clone(),
                page: file.page.clone(),
                stamp: file.stamp,
                hash: file.hash,
            })
            .collect();
        let is_missing = |node: &Node| node.file.is_none() && node.missing_since.is_some();
        for page in self.folder.watch.missing.keys().cloned().collect::<Vec<_>>() {
            if !self.pages.trees.pages.get(&page).is_some_and(is_missing) {
                self.folder.watch.missing.remove(&page);
                self.cx.store.drop_missing(&page);
            }
        }
        let missing: Vec<KnownFile> = self
            .folder
            .watch
            .missing
            .values()
            .filter(|file| self.pages.trees.may_be_there_again(file, &known))
            .cloned()
            .collect();
        let missed: Vec<PageId> = missing.iter().filter_map(|file| file.page.clone()).collect();
        known.extend(missing);
        let mut seen = Vec::new();
        for (path, stamp) in &seen_now {
            // A new file that is still being written is identified after a later scan.
            let arrived = self.folder.watch.candidates.get(path);
            let Some(file) = arrived.or_else(|| self.pages.trees.files.get(path)) else { continue };
            seen.push(self.pages.trees.seen(file, path, *stamp, &missed));
        }
        // Files that could not be read are assumed to be unchanged, but for those that are seen elsewhere.
        let objects =
            LazyCell::new(|| seen_now.values().map(Stamp::object).collect::<BTreeSet<FileObject>>());
        for file in self.pages.trees.files.values().filter(|file| !seen_now.contains_key(&file.path)) {
            let is_elsewhere = || file.stamp.has_birth() && objects.contains(&file.stamp.object());
            if self.folder.root.barrier.covers(&file.path) && !is_elsewhere() {
                seen.push(self.pages.trees.seen(file, &file.path, file.stamp, &missed));
            }
        }
        let identities = page_files::identify(&known, &seen);
        for (_, file) in std::mem::take(&mut self.folder.watch.candidates) {
            if let Some(page) = &file.page {
                self.pages.runtime(&page.clone()).parsed = None;
            }
            self.pages.save_file(file);
        }
        self.identity_batches.begin_batches(seen, identities, seen_now, self.cx.now);
        self.apply_batch()
    }
}

/// Whether every file is the file of its page. It is compared once after a change, because a search for each page takes
/// longer than the rest of a scan in which nothing changed.
fn are_all_at_home(trees: &mut Trees) -> bool {
    let is_at_home = |file: &LocalFile| {
        file.page.as_ref().is_some_and(|page| {
            let says_so = named::page_in(file, trees).is_none_or(|claims| claims == page);
            let node = trees.pages.get(page);
            says_so
                && node.is_some_and(|node| {
                    node.file.as_ref() == Some(&file.path) && node.missing_since.is_none()
                })
        })
    };
    let are_at_home = || trees.files.values().all(is_at_home);
    debug_assert!(!trees.are_homes_checked || are_at_home(), "a file left its page, unnoticed");
    trees.are_homes_checked = trees.are_homes_checked || are_at_home();
    trees.are_homes_checked
}

impl Pages {
    /// Whether every file belongs to its known page at its known path, and there is no other file. Then nothing is to
    /// be identified, as after most scans.
    fn is_as_it_was(&mut self, watch: &Watching) -> bool {
        let is_the_same = |(file, (path, stamp)): (&LocalFile, (&MirrorPath, &Stamp))| {
            file.path == *path && file.stamp.object() == stamp.object()
        };
        let (known, seen) = (&self.trees.files, &watch.last_seen);
        watch.candidates.is_empty()
            && self.retention.pageless.is_empty()
            && known.len() == seen.len()
            && known.values().zip(seen).all(is_the_same)
            && are_all_at_home(&mut self.trees)
    }

    /// Holds each file that names another page whose own file cannot be read. Once it can be read, it shows whether the
    /// held file is that file or a copy of it.
    fn hold_hidden_claims(&mut self, folder: &mut Folder, cx: &mut Context) {
        let untracked_files = self.trees.untracked_files.iter().filter_map(|path| self.trees.files.get(path));
        let held: Vec<(MirrorPath, MirrorPath)> = folder
            .watch
            .candidates
            .values()
            .chain(untracked_files)
            .filter_map(|file| Some((file.path.clone(), folder.hidden_claim(file, &self.trees)?)))
            .collect();
        for (path, hidden) in held {
            folder.watch.candidates.remove(&path);
            if self.trees.untracked_files.contains(&path) {
                // Forgotten as if it had not been seen; otherwise it would be identified against a file that cannot be
                // read.
                self.trees.forget_file(&path, &mut folder.watch, cx);
            }
            self.take_in_problem(&path, Problem::HiddenClaim(hidden), folder);
        }
    }

    /// Changes the paths of creations whose files and folders were moved.
    pub(crate) fn follow_creations(
        &mut self,
        moved_to: impl Fn(&PageDraft, &Trees) -> Option<MirrorPath>,
        cx: &mut Context,
    ) {
        let trees = &self.trees;
        let moved = |draft: &PageDraft| Some(PageDraft { path: moved_to(draft, trees)?, ..draft.clone() });
        let moved = self.creations.follow(&mut cx.store, moved);
        cx.in_flight.flights.values_mut().for_each(|flight| flight.purpose.follow_creations(&moved));
    }

    /// As [`Pages::follow_creations`], for one file or folder.
    pub(crate) fn follow_creation(&mut self, from: &MirrorPath, to: &MirrorPath, cx: &mut Context) {
        self.follow_creations(|draft, _| (draft.path == *from).then(|| to.clone()), cx);
    }

    /// Follows a folder for which a page was requested: a file in it was moved and the folder is gone, so the folder
    /// was moved with its files.
    pub(crate) fn follow_folder_creations(&mut self, from: &MirrorPath, to: &MirrorPath, cx: &mut Context) {
        self.follow_creations(
            |draft, trees| {
                let is_gone = draft.stamp.is_none() && !trees.folders.contains(&draft.path);
                let is_in_it = is_gone && from.is_within(&draft.path);
                let inside = from.as_str().strip_prefix(draft.path.as_str()).filter(|_| is_in_it)?;
                MirrorPath::new(to.as_str().strip_suffix(inside)?).ok()
            },
            cx,
        );
    }

    /// Follows a file that moved together with the folder of its subpages. They keep their places in that folder.
    pub(crate) fn follow_folder(&mut self, from: &MirrorPath, to: &MirrorPath, cx: &mut Context) {
        let (Some(old), Some(new)) = (folder_of(from), folder_of(to)) else { return };
        if !self.trees.folders.contains(&old) && self.trees.folders.contains(&new) {
            self.follow_creation(&old, &new, cx);
            self.rebase_agreed(&old, &new, cx);
        }
    }

    pub(crate) fn file_vanished(
        &mut self,
        page: &PageId,
        path: &MirrorPath,
        now: Timestamp,
        watch: &mut Watching,
        cx: &mut Context,
    ) {
        let tick = cx.tick;
        if let Some(file) = self.trees.files.get(path) {
            let (stamp, hash) = (file.stamp, file.hash);
            cx.store.save_missing(page, path, LastSight { stamp, hash });
            let known = KnownFile { path: path.clone(), page: Some(page.clone()), stamp, hash };
            watch.missing.insert(page.clone(), known);
        }
        self.edit_page(
            page,
            |node| {
                if node.file.as_ref() == Some(path) {
                    node.file = None;
                    node.missing_since.get_or_insert(now);
                    node.missing_from = Some(path.clone());
                }
            },
            cx,
        );
        watch.scan_by(now.plus_ms(cx.settings.pages.delete_grace_ms));
        let runtime = self.runtime(page);
        runtime.missed = tick;
        runtime.parsed = None;
        tracing::debug!(page = %page, path = %path, "file missing");
    }

    /// Restarts the grace time of each missing file with a hint at its path since it went: the file may have come and
    /// gone again between two scans.
    pub(crate) fn take_in_signs_of_life(&mut self, watch: &Watching) {
        for (page, file) in &watch.missing {
            let Some((_, last)) = watch.touched.get(&file.path) else { continue };
            // Changed in place, because all files may be missing at once: no index depends on the time.
            let since = self.trees.pages.get_mut(page).and_then(|node| node.missing_since.as_mut());
            if let Some(since) = since.filter(|since| **since < *last) {
                *since = *last;
                self.trees.changes += 1;
                self.trees.unsaved.pages.insert(page.clone());
                self.dirty.insert(page.clone());
            }
        }
    }

    /// Makes `path` the file of `page`.
    pub(crate) fn bind(
        &mut self,
        path: &MirrorPath,
        page: &PageId,
        moved: bool,
        watch: &mut Watching,
        cx: &mut Context,
    ) {
        self.bind_anew(path, page, moved, watch, cx);
    }

    /// As [`Pages::bind`]. Returns whether that changed anything.
    pub(crate) fn bind_anew(
        &mut self,
        path: &MirrorPath,
        page: &PageId,
        moved: bool,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> bool {
        if !self.trees.files.contains_key(path) {
            return false;
        }
        self.retention.claim_past(path, page, cx);
        if self.trees.is_bound(path, page) {
            return false;
        }
        let Some(node) = self.trees.pages.get(page) else {
            self.unbind(path, None, cx);
            return true;
        };
        let Some(mut file) = self.trees.files.get(path).cloned() else { return false };
        let came_back = node.missing_since.is_some();
        if file.page.as_ref() != Some(page) {
            forgive_emptiness(&mut file);
            if file.problem.as_ref().is_some_and(Problem::may_be_meant) {
                // Its page may have the same: it is read once more, and measured by that.
                file.hash = None;
                watch.read_by(path, cx.now);
            }
        }
        file.page = Some(page.clone());
        if named::page_in(&file, &self.trees).is_some_and(|claims| claims != page) {
            file.copied_from_page.clone_from(&file.claims);
        } else if file.copied_from_page.as_ref() == Some(page) {
            // It was a copy of this page's file, and is that file now.
            file.copied_from_page = None;
        }
        self.save_file(file);
        self.edit_page(
            page,
            |node| {
                node.file = Some(path.clone());
                node.missing_since = None;
                node.missing_from = None;
                node.approved = false;
            },
            cx,
        );
        if watch.missing.remove(page).is_some() {
            cx.store.drop_missing(page);
        }
        let runtime = self.runtime(page);
        runtime.parsed = None;
        runtime.moved_at = None;
        if moved || came_back {
            self.mark_all_dirty();
        }
        true
    }

    /// Handles a file that no known file explains. It may be a page's all the same: after the state was lost, or when a
    /// deleted file is put back much later.
    pub(crate) fn new_file(
        &mut self,
        absent: &Absent,
        path: &MirrorPath,
        claims: Option<&PageId>,
        watch: &mut Watching,
        cx: &mut Context,
    ) {
        let claimed = claims.filter(|id| {
            self.trees.pages.get(*id).is_some_and(|node| {
                node.file.as_ref().is_none_or(|file| !self.trees.files.contains_key(file) || file == path)
            })
        });
        if let Some(page) = claimed {
            self.bind(path, &page.clone(), true, watch, cx);
            return;
        }
        match self.trees.missing_from(absent, path) {
            // A file that names an unknown page is not bound to the page that is missing here, unless that page was
            // made for it.
            Some(page)
                if claims.is_none_or(|id| self.trees.pages.contains_key(id))
                    || self.trees.is_new_and_empty(&page) =>
            {
                self.bind(path, &page, true, watch, cx);
            }
            _ => self.unbind(path, None, cx),
        }
    }
}

impl Trees {
    /// Whether a new path, or another object at a known path, has not been read yet: it may be a file that vanished
    /// elsewhere. A file that never settles is waited for no longer than [`UNSETTLED_MAX_MS`].
    fn newcomers_wait(&self, watch: &Watching, now: Timestamp) -> bool {
        let is_newcomer = |path: &MirrorPath| {
            let known = self.files.get(path).map(|file| &file.stamp);
            let seen = watch.last_seen.get(path);
            known.is_none_or(|known| seen.is_some_and(|seen| known.object() != seen.object()))
        };
        watch.unread.iter().any(|(path, due)| {
            let first = watch.touched.get(path).map_or(*due, |(first, _)| *first);
            *due <= now || is_newcomer(path) && now.since_ms(first) <= UNSETTLED_MAX_MS
        })
    }
}

impl Folder {
    /// The path of the file of the page that `file` names, if that is another page and its file cannot be read.
    fn hidden_claim(&self, file: &LocalFile, trees: &Trees) -> Option<MirrorPath> {
        let claims = file.claims.as_ref().filter(|id| Some(*id) != file.page.as_ref())?;
        let path = trees.pages.get(claims)?.file.clone()?;
        let unread = !self.watch.candidates.contains_key(&path)
            && trees.files.get(&path).is_some_and(|known| known.hash.is_none());
        let hidden = unread || self.root.barrier.covers(&path);
        (hidden && file.copied_from_page.is_none() && path != file.path).then_some(path)
    }
}

impl Trees {
    /// Whether the file at a missing file's path may be that file. It is not if it is another known file, if it is to
    /// become a page of its own, or if it names an unknown page.
    fn may_be_there_again(&self, missing: &KnownFile, known: &[KnownFile]) -> bool {
        self.files.get(&missing.path).is_none_or(|file| {
            file.copied_from_page.is_none()
                && named::page_in(file, self).is_none_or(|id| self.pages.contains_key(id))
                && known.binary_search_by(|other| other.path.cmp(&missing.path)).is_err()
        })
    }

    /// The observation of `file` at `path` by a scan. `is_awaited` matters only if the named page is not one of the
    /// `missed`, which have known files. `missed` is sorted.
    fn seen(&self, file: &LocalFile, path: &MirrorPath, stamp: Stamp, missed: &[PageId]) -> SeenFile {
        let claims = file.claim().filter(|id| named::is_pages(id.as_str(), self)).cloned();
        let is_awaited = claims
            .as_ref()
            .is_some_and(|page| missed.binary_search(page).is_err() && self.layout().is_awaited(path, page));
        SeenFile { path: path.clone(), stamp, claims, is_awaited, hash: file.hash }
    }

    /// Whether `path` is the file of `page` already, and nothing is to be corrected.
    fn is_bound(&self, path: &MirrorPath, page: &PageId) -> bool {
        let file = self.files.get(path);
        let node = self.pages.get(page);
        node.is_some_and(|node| node.file.as_ref() == Some(path) && node.missing_since.is_none())
            && file.is_some_and(|file| file.page.as_ref() == Some(page))
    }

    /// Whether a page was created for a file that has not been compared with it yet.
    pub(crate) fn is_new_and_empty(&self, page: &PageId) -> bool {
        let base = self.pages.get(page).and_then(|node| node.base.as_ref());
        base.is_some_and(|base| base.text.is_none() && base.body == Body::of(Vec::new()).hash)
    }

    /// The page whose file was at `path` and is missing. A save by renaming can remove a file for a moment; the file at
    /// its path then is the page's again.
    pub(crate) fn missing_from(&self, absent: &Absent, path: &MirrorPath) -> Option<PageId> {
        // A file that becomes a page of its own belongs neither to its old page nor to another.
        let copied_from_page = self.files.get(path).and_then(|file| file.copied_from_page.as_ref());
        if copied_from_page.is_some_and(|id| self.pages.get(id).is_none_or(|node| node.file.is_none())) {
            return None;
        }
        // Pages that were given a file since are not missing.
        let best = |pages: &BTreeMap<MirrorPath, Vec<PageId>>| {
            let pages = pages.get(path).into_iter().flatten().filter_map(|id| self.pages.get(id));
            // A deleted page may have had a file at this path too, before this page.
            let best = pages
                .filter(|node| is_missing(node))
                .max_by_key(|node| (self.is_there(&node.id), node.missing_since));
            best.map(|node| node.id.clone())
        };
        best(&absent.last).or_else(|| best(&absent.agreed))
    }
}

impl Pages {
    /// Whether a page was requested for a file, or for a folder that contains it.
    fn is_asked_for(&self, path: &MirrorPath) -> bool {
        self.creations.contains(path)
            || self.creations.drafts().any(|draft| draft.stamp.is_none() && path.is_within(&draft.path))
    }

    /// Makes `path` a file without a page.
    pub(crate) fn unbind(&mut self, path: &MirrorPath, copy_of: Option<PageId>, cx: &mut Context) {
        let Some(mut file) = self.trees.files.get(path).cloned() else { return };
        let was = file.page.take();
        forgive_emptiness(&mut file);
        if copy_of.is_some() {
            file.copied_from_page = copy_of;
        }
        self.save_file(file);
        if let Some(page) = was {
            self.edit_page(
                &page,
                |node| {
                    if node.file.as_ref() == Some(path) {
                        node.file = None;
                    }
                },
                cx,
            );
        }
    }
}

/// Drops a problem that was measured by the former page's content. Whether the file may be as it is shows when it is
/// read for its present page.
fn forgive_emptiness(file: &mut LocalFile) {
    file.problem = file.problem.take().filter(|problem| !problem.is_measured_by_its_page());
}
