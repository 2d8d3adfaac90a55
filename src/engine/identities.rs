//! Which file is which page: what vanished, what appeared and what moved, told together after a complete look.

use std::collections::BTreeMap;

use super::Engine;
use super::context::Context;
use super::folder::{Folder, UNSETTLED_MAX_MS, Watching};
use super::pages::Pages;
use super::trees::Trees;
use crate::model::{
    Body, LocalFile, MirrorPath, Node, PageDraft, PageId, Problem, Stamp, Timestamp, folder_of,
};
use crate::plan::identity::{self, KnownFile, SeenFile, Verdict, is_same_file};
use crate::store::{LastSight, StoreError};

impl Engine {
    /// Tells files and pages together, once everything that can be read has been.
    pub(super) fn identify_if_ready(&mut self) -> Result<(), StoreError> {
        if !self.folder.watch.identities_due
            || self.folder.watch.scan_stale
            || self.pages.trees.newcomers_wait(&self.folder.watch, self.cx.now)
        {
            return Ok(());
        }
        self.folder.watch.identities_due = false;
        self.pages.hold_hidden_claims(&mut self.folder, &mut self.cx)?;
        self.folder.lift_barrier(&self.pages.trees, &mut self.cx)?;
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
                // Of two places of one file that both are asked for, neither is the other.
                let counts = other.page.is_some() || !is_asked_for_itself(file);
                counts && is_same_file((other.stamp, other.hash), (file.stamp, file.hash))
            })
        };
        let mut known: Vec<KnownFile> = self
            .pages
            .trees
            .files
            .values()
            // A file without a page matters once one was asked for. Others may be places that a file passed through, and
            // one that is a page's file by its object, or one that a page was asked for, is that file, read where it has
            // come to.
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
                self.cx.store.drop_missing(&page)?;
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
            // A new file that is still being written is told apart at a later look.
            let arrived = self.folder.watch.candidates.get(path);
            let Some(file) = arrived.or_else(|| self.pages.trees.files.get(path)) else { continue };
            seen.push(self.pages.trees.seen(file, path, *stamp, &missed));
        }
        // What could not be looked at is taken to be as it was.
        for file in self.pages.trees.files.values().filter(|file| !seen_now.contains_key(&file.path)) {
            if self.folder.root.barrier.covers(&file.path) {
                seen.push(self.pages.trees.seen(file, &file.path, file.stamp, &missed));
            }
        }
        let identities = identity::identify(&known, &seen);
        for (_, file) in std::mem::take(&mut self.folder.watch.candidates) {
            if let Some(page) = &file.page {
                self.pages.runtime(&page.clone()).parsed = None;
            }
            self.pages.save_file(file)?;
        }
        self.identity_batches.begin_batches(seen, identities, seen_now, self.cx.now);
        self.apply_batch()
    }
}

impl Pages {
    /// Whether every file is the page's that it was, at its place, and no other is there: then there is nothing to tell,
    /// which is what most scans find.
    fn is_as_it_was(&self, watch: &Watching) -> bool {
        let is_the_same = |(file, (path, stamp)): (&LocalFile, (&MirrorPath, &Stamp))| {
            file.path == *path
                && file.stamp.object() == stamp.object()
                && file.page.as_ref().is_some_and(|page| {
                    let says_so = file.claims.as_ref().is_none_or(|claims| claims == page);
                    let node = self.trees.pages.get(page);
                    says_so
                        && node.is_some_and(|node| {
                            node.file.as_ref() == Some(path) && node.missing_since.is_none()
                        })
                })
        };
        let (known, seen) = (&self.trees.files, &watch.last_seen);
        watch.candidates.is_empty()
            && self.retention.pageless.is_empty()
            && known.len() == seen.len()
            && known.values().zip(seen).all(is_the_same)
    }

    /// A file that names another page, whose own file cannot be looked at: whether it is that file or a copy of it shows
    /// when it can.
    fn hold_hidden_claims(&mut self, folder: &mut Folder, cx: &mut Context) -> Result<(), StoreError> {
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
                // As if it had not been seen: or it would be told apart from a file that nobody can look at.
                self.trees.forget_file(&path, &mut folder.watch, cx)?;
            }
            self.take_in_problem(&path, Problem::HiddenClaim(hidden), folder)?;
        }
        Ok(())
    }

    /// Files and folders that shall become pages have other paths: so has what was asked for them.
    pub(super) fn follow_creations(
        &mut self,
        moved_to: impl Fn(&PageDraft, &Trees) -> Option<MirrorPath>,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let trees = &self.trees;
        let moved = |draft: &PageDraft| Some(PageDraft { path: moved_to(draft, trees)?, ..draft.clone() });
        let moved = self.creations.follow(&mut cx.store, moved)?;
        cx.in_flight.flights.values_mut().for_each(|flight| flight.purpose.follow_creations(&moved));
        Ok(())
    }

    /// As [`Engine::follow_creations`], of one file or folder.
    pub(super) fn follow_creation(
        &mut self,
        from: &MirrorPath,
        to: &MirrorPath,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        self.follow_creations(|draft, _| (draft.path == *from).then(|| to.clone()), cx)
    }

    /// A file in a folder that shall become a page was moved, and the folder is gone: it was moved with what is in it.
    pub(super) fn follow_folder_creations(
        &mut self,
        from: &MirrorPath,
        to: &MirrorPath,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        self.follow_creations(
            |draft, trees| {
                let is_gone = draft.stamp.is_none() && !trees.folders.contains(&draft.path);
                let is_in_it = is_gone && from.is_within(&draft.path);
                let inside = from.as_str().strip_prefix(draft.path.as_str()).filter(|_| is_in_it)?;
                MirrorPath::new(to.as_str().strip_suffix(inside)?).ok()
            },
            cx,
        )
    }

    /// A file that moved together with the folder of its subpages: they are where they were, in it.
    pub(super) fn follow_folder(
        &mut self,
        from: &MirrorPath,
        to: &MirrorPath,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let (Some(old), Some(new)) = (folder_of(from), folder_of(to)) else { return Ok(()) };
        if !self.trees.folders.contains(&old) && self.trees.folders.contains(&new) {
            self.follow_creation(&old, &new, cx)?;
            self.rebase_agreed(&old, &new, cx)?;
        }
        Ok(())
    }

    pub(super) fn file_vanished(
        &mut self,
        page: &PageId,
        path: &MirrorPath,
        now: Timestamp,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let tick = cx.tick;
        if let Some(file) = self.trees.files.get(path) {
            let (stamp, hash) = (file.stamp, file.hash);
            cx.store.save_missing(page, path, LastSight { stamp, hash })?;
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
        )?;
        watch.scan_by(now.plus_ms(cx.settings.pages.delete_grace_ms));
        let runtime = self.runtime(page);
        runtime.missed = tick;
        runtime.parsed = None;
        tracing::debug!(page = %page, path = %path, "file missing");
        Ok(())
    }

    /// Something was heard of the place of a missing file since it went: it may have come and gone again between two scans,
    /// and its grace time begins anew.
    pub(super) fn take_in_signs_of_life(
        &mut self,
        watch: &Watching,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let heard = |(page, file): (&PageId, &KnownFile)| {
            watch.touched.get(&file.path).map(|(_, last)| (page.clone(), *last))
        };
        for (page, last) in watch.missing.iter().filter_map(heard).collect::<Vec<_>>() {
            self.edit_page(
                &page,
                |node| node.missing_since = node.missing_since.map(|since| since.max(last)),
                cx,
            )?;
        }
        Ok(())
    }

    /// `path` is the file of `page`.
    pub(super) fn bind(
        &mut self,
        path: &MirrorPath,
        page: &PageId,
        moved: bool,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        self.bind_anew(path, page, moved, watch, cx).map(|_| ())
    }

    /// As [`Engine::bind`]. Returns whether that was anything new.
    pub(super) fn bind_anew(
        &mut self,
        path: &MirrorPath,
        page: &PageId,
        moved: bool,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> Result<bool, StoreError> {
        if !self.trees.files.contains_key(path) {
            return Ok(false);
        }
        self.retention.claim_past(path, page, cx)?;
        if self.trees.is_bound(path, page) {
            return Ok(false);
        }
        let Some(node) = self.trees.pages.get(page) else {
            return self.unbind(path, None, cx).map(|()| true);
        };
        let Some(mut file) = self.trees.files.get(path).cloned() else { return Ok(false) };
        let came_back = node.missing_since.is_some();
        if file.page.as_ref() != Some(page) {
            forgive_emptiness(&mut file);
        }
        file.page = Some(page.clone());
        if file.claims.as_ref().is_some_and(|claims| claims != page) {
            file.copied_from_page.clone_from(&file.claims);
        } else if file.copied_from_page.as_ref() == Some(page) {
            // It was a copy of this page's file, and is that file now.
            file.copied_from_page = None;
        }
        self.save_file(file)?;
        self.edit_page(
            page,
            |node| {
                node.file = Some(path.clone());
                node.missing_since = None;
                node.missing_from = None;
                node.approved = false;
            },
            cx,
        )?;
        if watch.missing.remove(page).is_some() {
            cx.store.drop_missing(page)?;
        }
        let runtime = self.runtime(page);
        runtime.parsed = None;
        runtime.moved_at = None;
        if moved || came_back {
            self.mark_all_dirty();
        }
        Ok(true)
    }

    /// A file that no known file explains. It may be a page's all the same: after the state was lost, or when a
    /// deleted file is put back much later.
    pub(super) fn new_file(
        &mut self,
        absent: &Absent,
        path: &MirrorPath,
        claims: Option<&PageId>,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let claimed = claims.filter(|id| {
            self.trees.pages.get(*id).is_some_and(|node| {
                node.file.as_ref().is_none_or(|file| !self.trees.files.contains_key(file) || file == path)
            })
        });
        if let Some(page) = claimed {
            return self.bind(path, &page.clone(), true, watch, cx);
        }
        match self.trees.missing_from(absent, path) {
            // A file that names a page nobody knows is not just any file; but the page may have been made for it.
            Some(page)
                if claims.is_none_or(|id| self.trees.pages.contains_key(id))
                    || self.trees.has_had_no_file(&page) =>
            {
                self.bind(path, &page, true, watch, cx)
            }
            _ => self.unbind(path, None, cx),
        }
    }
}

impl Trees {
    /// Whether a new path, or another object at a known path, has not been read yet: what vanished elsewhere may be
    /// there. A file that never rests is waited for no longer than [`UNSETTLED_MAX_MS`].
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
    /// Where the file is of the page that a file names, if it is another page's and cannot be looked at.
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
    /// Whether what is at a missing file's place may be that file: not another known one, nor one that is on the way to
    /// become a page of its own or names a page that nobody knows.
    fn may_be_there_again(&self, missing: &KnownFile, known: &[KnownFile]) -> bool {
        self.files.get(&missing.path).is_none_or(|file| {
            file.copied_from_page.is_none()
                && file.claims.as_ref().is_none_or(|id| self.pages.contains_key(id))
                && known.binary_search_by(|other| other.path.cmp(&missing.path)).is_err()
        })
    }

    /// What a look that found `file` at `path` says of it. Whether it is awaited matters only where its page is not one of
    /// the `missed`, in their order, which have known files.
    fn seen(&self, file: &LocalFile, path: &MirrorPath, stamp: Stamp, missed: &[PageId]) -> SeenFile {
        let claims = file.claim().cloned();
        let is_awaited = claims
            .as_ref()
            .is_some_and(|page| missed.binary_search(page).is_err() && self.layout().is_awaited(path, page));
        SeenFile { path: path.clone(), stamp, claims, is_awaited, hash: file.hash }
    }

    /// Whether `path` is the file of `page` already, and nothing is to be put right.
    fn is_bound(&self, path: &MirrorPath, page: &PageId) -> bool {
        let file = self.files.get(path);
        let node = self.pages.get(page);
        node.is_some_and(|node| node.file.as_ref() == Some(path) && node.missing_since.is_none())
            && file.is_some_and(|file| file.page.as_ref() == Some(page))
    }

    /// Whether a page was made for a file that has not been compared with it yet.
    fn has_had_no_file(&self, page: &PageId) -> bool {
        let base = self.pages.get(page).and_then(|node| node.base.as_ref());
        base.is_some_and(|base| base.text.is_none() && base.body == Body::of(Vec::new()).hash)
    }

    /// The page whose file was at `path` and is missing. A save by renaming can take a file away for a moment; what is
    /// at its place then is the page's again.
    pub(super) fn missing_from(&self, absent: &Absent, path: &MirrorPath) -> Option<PageId> {
        // A file that is being made a page of its own is its old page's no more, nor any other's.
        let copied_from_page = self.files.get(path).and_then(|file| file.copied_from_page.as_ref());
        if copied_from_page.is_some_and(|id| self.pages.get(id).is_none_or(|node| node.file.is_none())) {
            return None;
        }
        // Those that were given a file since are not missing.
        let best = |pages: &BTreeMap<MirrorPath, Vec<PageId>>| {
            let pages = pages.get(path).into_iter().flatten().filter_map(|id| self.pages.get(id));
            // A page that was deleted may have had a file there as well, before this one's.
            let best = pages
                .filter(|node| is_missing(node))
                .max_by_key(|node| (self.is_there(&node.id), node.missing_since));
            best.map(|node| node.id.clone())
        };
        best(&absent.last).or_else(|| best(&absent.agreed))
    }
}

impl Pages {
    /// Whether a page was asked for a file, or for a folder that it is in.
    fn is_asked_for(&self, path: &MirrorPath) -> bool {
        self.creations.contains(path)
            || self.creations.drafts().any(|draft| draft.stamp.is_none() && path.is_within(&draft.path))
    }

    /// `path` is no page's file.
    pub(super) fn unbind(
        &mut self,
        path: &MirrorPath,
        copy_of: Option<PageId>,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        let Some(mut file) = self.trees.files.get(path).cloned() else { return Ok(()) };
        let was = file.page.take();
        forgive_emptiness(&mut file);
        if copy_of.is_some() {
            file.copied_from_page = copy_of;
        }
        self.save_file(file)?;
        if let Some(page) = was {
            self.edit_page(
                &page,
                |node| {
                    if node.file.as_ref() == Some(path) {
                        node.file = None;
                    }
                },
                cx,
            )?;
        }
        Ok(())
    }
}

fn is_missing(node: &Node) -> bool {
    node.file.is_none() && node.missing_since.is_some()
}

/// Pages whose files are missing, by the places they had.
#[derive(Debug, Default)]
pub(super) struct Absent {
    /// By where the file was last seen.
    last: BTreeMap<MirrorPath, Vec<PageId>>,
    /// By where the file was when both sides agreed.
    agreed: BTreeMap<MirrorPath, Vec<PageId>>,
}

impl Absent {
    /// A page whose file `verdicts` found is none of them: what came to its old place is another's.
    pub(super) fn of<'a>(pages: impl Iterator<Item = &'a Node>, verdicts: &[Verdict]) -> Self {
        let mut missing: BTreeMap<&PageId, &Node> =
            pages.filter(|node| is_missing(node)).map(|node| (&node.id, node)).collect();
        for verdict in verdicts {
            if let Verdict::Same(page) | Verdict::Moved { page, .. } = verdict {
                missing.remove(page);
            }
        }
        let mut absent = Self::default();
        for node in missing.into_values() {
            // A page whose file became another page misses none.
            let (Some(base), Some(from)) = (&node.base, &node.missing_from) else { continue };
            absent.last.entry(from.clone()).or_default().push(node.id.clone());
            absent.agreed.entry(base.path.clone()).or_default().push(node.id.clone());
        }
        absent
    }
}

/// A file that has another page, or none, is not measured by what its page held: whether it may be as it is shows when
/// it is read for the page that it has.
fn forgive_emptiness(file: &mut LocalFile) {
    file.problem = file.problem.take().filter(|problem| !problem.may_be_meant());
}
