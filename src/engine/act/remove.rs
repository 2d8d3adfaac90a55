//! Deletions in both directions, with their guards. Absence is not deletion, and an edit beats a deletion.

use std::collections::BTreeSet;

use crate::core::guard::Missing;
use crate::core::items::Verb;
use crate::engine::observe::barrier;
use crate::engine::on_core::{self, core_missing};
use crate::engine::schedule::pace::Class;
use crate::engine::state::page_counts::{Share, is_gone_here};
use crate::engine::state::removals::may_be_gone;
use crate::engine::state::{Context, Engine, Folder, Held, Pages, Purpose, Root, Trees, Watching, Way};
use crate::model::{
    Code, ContentHash, Effect, Hold, LocalFile, MirrorPath, Node, PageId, Presence, Problem, Refusal,
    ServiceError, ServiceReply, Settings, Timestamp, WorkspaceId, planted,
};
use crate::plan::guard::{self, Guard, Kind};
use crate::plan::saves::Saves;
use crate::plan::{self, Decision};
use crate::store::{Conflict, Side, StoreError};

/// A page is trashed on fetches no older than this, and this much older for each page that goes with it: the deletion
/// may have waited for approval for days.
const LOOK_MS: i64 = 60_000;
const LOOK_EACH_MS: i64 = 10_000;

/// A page takes those beneath it to the trash, and a fetch of the page does not show them. The list that shows them was
/// answered no longer ago than this.
const LISTED_MS: i64 = 3_000;

const DELETE_AGAIN: &str = "delete it again if you intend this";

type Choice = Option<(Effect, Purpose)>;

impl Engine {
    /// The next step in trashing a page whose file is gone: guards, fresh fetches, then the DELETE. `guarded`: whether
    /// the guard of deletions holds, `to_be_made` what [`Trees::to_be_made`] returns.
    pub(crate) fn trash_request(
        &mut self,
        page: &PageId,
        guarded: bool,
        to_be_made: &BTreeSet<PageId>,
    ) -> Choice {
        let node = self.pages.trees.pages.get(page)?;
        let held = match () {
            () if !self.pages.trees.may(node, Verb::Delete, &self.cx) => Some(Held::ReadOnly),
            () if self.cx.is_deletion_held(node) => Some(Held::Refused),
            () => (guarded && !node.approved).then_some(Held::Guarded),
        };
        let waits = held.is_some();
        let node = if waits { None } else { Some(node.clone()) };
        self.pages.hold(page, held);
        let node = node?;
        let topmost = node
            .remote
            .parent
            .as_ref()
            .and_then(|parent| self.pages.trees.pages.get(parent))
            .is_none_or(|parent| !self.folder.is_deleted_here(parent, &self.cx));
        if !topmost {
            // Its parent takes it along, or comes back, and then the page goes alone.
            return None;
        }
        let subtree = self.pages.trees.subtree(page);
        if subtree.iter().any(|id| to_be_made.contains(id)) {
            // Its words are in a file that has no page yet. Until that has one, this is their only copy at the service.
            self.pages.hold(page, Some(Held::Copied));
            return None;
        }
        let missed =
            subtree.iter().filter_map(|id| self.pages.runtimes.get(id)).map(|m| m.missed).max().unwrap_or(0);
        if self.polling.lists.list_looked(&node.workspace) <= missed {
            // A subpage that is not known yet would go to the trash with it.
            self.polling.lists.list_by(&node.workspace.clone(), self.cx.now);
            return None;
        }
        for id in &subtree {
            let Some(part) = self.pages.trees.pages.get(id).cloned() else { continue };
            if part.file.is_some() || part.base.is_none() || plan::changed_at_the_service(&part) {
                return self.pages.page_wins(&node, &part, &mut self.cx);
            }
            if !self.folder.is_deleted_here(&part, &self.cx) {
                return None;
            }
        }
        let parts = i64::try_from(subtree.len()).unwrap_or(i64::MAX / LOOK_EACH_MS / 2);
        for id in &subtree {
            if planted("deletes-unseen") {
                break;
            }
            let oldest = self.cx.now.plus_ms(-(LOOK_MS + LOOK_EACH_MS * parts));
            let now = self.cx.now;
            let runtime = self.pages.runtime(id);
            let retry_at = runtime.failing.until;
            if runtime.seen <= runtime.missed || runtime.seen <= runtime.acted || runtime.seen_at < oldest {
                let waits = self.cx.in_flight.is_busy(id) || retry_at > now;
                return if waits { None } else { self.pages.ask_for(id, Class::Edit, 0, &self.cx) };
            }
        }
        if self.pages.runtime(page).undeletable > 0 {
            self.pages.runtime(page).undeletable = 0;
            self.cx.notice_restored(&node, "the service does not let you delete it", DELETE_AGAIN);
            for id in subtree {
                self.pages.bring_back(&id, &mut self.cx);
            }
            return None;
        }
        let is_listed =
            self.polling.lists.is_listed_within(&node.workspace, LISTED_MS, &self.pages.trees, self.cx.now);
        // With a slot for the DELETE that follows: if the list used the last slot, it would be old again before the
        // DELETE.
        if !self.cx.pace.allows(Class::Edit, if is_listed { 1 } else { 2 }, false, self.cx.now) {
            return None;
        }
        if !is_listed {
            return self.polling.lists.list_for_edit(&node.workspace, &self.pages.trees, &self.cx);
        }
        // Before it leaves: whether its answer comes or not, these may be gone.
        note_removals(&subtree, true, &mut self.cx);
        self.pages.request_queue.remove(page);
        Some((Effect::TrashPage(page.clone()), Purpose::TrashPage { page: page.clone() }))
    }

    pub(crate) fn trashed(
        &mut self,
        page: &PageId,
        result: Result<ServiceReply, ServiceError>,
    ) -> Result<(), StoreError> {
        let tick = self.cx.tick;
        self.pages.runtime(page).acted = tick;
        let subtree = self.pages.trees.subtree(page);
        note_removals(&subtree, may_be_gone(&result), &mut self.cx);
        match result {
            Ok(_) => {
                let path = self
                    .pages
                    .trees
                    .pages
                    .get(page)
                    .and_then(|n| n.base.as_ref())
                    .map(|base| base.path.clone());
                for id in &subtree {
                    self.pages.trees.trashed_was(id, Side::TrashThere, id == page, &mut self.cx)?;
                    self.pages.forget_page(id, &mut self.cx);
                }
                if let Some(path) = path {
                    let with = if subtree.len() > 1 {
                        format!(", with {} subpages", subtree.len() - 1)
                    } else {
                        String::new()
                    };
                    self.cx.log_activity(
                        Way::Up,
                        &path,
                        format!("deleted: its page is in the service's trash{with}"),
                    );
                }
            }
            Err(ServiceError::NotFound(_)) => {
                // Either it is gone already or we may not delete it: a fetch decides.
                self.pages.runtime(page).undeletable += 1;
            }
            Err(error @ ServiceError::Forbidden(_)) => {
                self.write_refused(page, &error, Verb::Delete, Hold::Deletion);
            }
            Err(error @ ServiceError::Rejected { .. }) => {
                let only_asked = |refusal| Hold::Deletion(Refusal { retry_at: Refusal::NEVER, ..refusal });
                self.write_refused(page, &error, Verb::Delete, only_asked);
            }
            Err(error) => {
                if error.may_have_happened() {
                    self.pages.note_lost(page, &mut self.cx);
                }
            }
        }
        Ok(())
    }

    /// Approves what guards hold, because the user does: for these files and what is beneath them, or for everything.
    /// A place that could not be read is approved by its path only; then it hides nothing any more.
    pub(crate) fn approve(&mut self, paths: &[MirrorPath]) -> Result<(), StoreError> {
        let named = |path: &MirrorPath| {
            paths.is_empty() || paths.iter().any(|asked| path.is_within(asked) || covers(asked, path))
        };
        let meant = |place: &MirrorPath| !paths.is_empty() && named(place);
        if self.folder.root.barrier.approve(paths, meant, self.cx.now) {
            barrier::keep(self.folder.root.barrier.approved(), &mut self.cx.store);
        }
        if paths.is_empty() {
            self.folder.root.creation_guard.approve(&mut self.cx.store);
        }
        self.folder.watch.scan_by(self.cx.now);
        on_core::approve_core(self, paths)?;
        self.cx.approve_notices(&named)?;
        let is_old = self.pages.retention.folder_is_old.is_some();
        let waiting: Vec<PageId> = self
            .pages
            .trees
            .pages
            .values()
            .filter(|node| {
                let parked = node.parked.is_some();
                let has_problem = self.pages.trees.file_of(node).is_some_and(|file| file.problem.is_some());
                let missing = node.missing_since.is_some();
                node.remote.presence != Presence::Listed || missing || parked || has_problem || is_old
            })
            .filter(|node| node.file.as_ref().or(node.base.as_ref().map(|b| &b.path)).is_some_and(named))
            .filter(|node| !paths.is_empty() || self.folder.hides_page(node).is_none())
            .map(|node| node.id.clone())
            .collect();
        for id in waiting {
            // An empty file counts as intended from now on. One that cannot be parsed is no clearer than before.
            let file = self.pages.trees.pages.get(&id).and_then(|node| self.pages.trees.file_of(node));
            let unclear = file.filter(|file| file.problem.is_some()).map(|file| file.path.clone());
            let is_meant = file.and_then(|file| file.problem.as_ref()).is_some_and(Problem::may_be_meant);
            if let Some(path) = &unclear {
                self.folder.watch.read_by(path, self.cx.now);
                // Without a daemon, the next run has to read the file: a stamp that no file has ensures this.
                if let Some(mut file) = self.pages.trees.files.get(path).cloned() {
                    file.stamp.changed_ns = 0;
                    self.pages.save_file(file);
                }
            }
            self.pages.edit_page(
                &id,
                |node| {
                    let gone = node.missing_since.is_some() || node.remote.presence != Presence::Listed;
                    node.approved = gone || is_meant || is_old;
                    node.parked = None;
                    if node.remote.presence == Presence::Hidden {
                        node.remote.presence = Presence::Gone;
                    }
                },
                &mut self.cx,
            );
        }
        // New files whose content the user intends are no trouble from now on.
        let new = self.pages.trees.untracked_files.iter().filter_map(|path| self.pages.trees.files.get(path));
        let is_meant = |file: &&LocalFile| file.problem.as_ref().is_some_and(Problem::may_be_meant);
        for file in new.filter(|file| named(&file.path)).filter(is_meant).cloned().collect::<Vec<_>>() {
            self.pages.save_file(LocalFile { problem: None, ..file });
        }
        self.pages.trees.forbidden.try_again(self.cx.now);
        self.pages.refusals.clear();
        if paths.is_empty() {
            self.folder.root.accept(&mut self.cx);
            if self.pages.retention.folder_is_old.is_some() {
                // What an older file lacks is not kept beside it: the user takes it as it is.
                let files = self
                    .pages
                    .trees
                    .pages
                    .values()
                    .filter_map(|node| Some((node.id.clone(), self.pages.trees.file_of(node)?.hash?)));
                for (page, text) in files.collect::<Vec<_>>() {
                    self.pages.runtime(&page).saves = Saves::chosen(text);
                }
            }
            self.pages.retention.take_folder_as_it_is(&mut self.cx);
            self.folder.root.orphans_approved = true;
            self.cx.store.drop_notices(self.cx.now.plus_ms(1));
        }
        self.pages.mark_all_dirty();
        Ok(())
    }
}

impl Pages {
    pub(crate) fn file_trashed(
        &mut self,
        page: &PageId,
        path: &MirrorPath,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        self.trees.trashed_was(page, Side::TrashHere, true, cx)?;
        self.trees.forget_file(path, watch, cx);
        self.forget_page(page, cx);
        cx.log_activity(Way::Down, path, "its page is gone: moved to .espejo/trash");
        self.trees.tidy_after(path, cx);
        self.mark_all_dirty();
        Ok(())
    }

    /// Records that a file became a conflict copy.
    pub(crate) fn set_aside(
        &mut self,
        page: &PageId,
        from: &MirrorPath,
        to: &MirrorPath,
        then_gone: bool,
        watch: &mut Watching,
        cx: &mut Context,
    ) -> Result<(), StoreError> {
        // The page's file comes where this one was, whatever name was promised to the page before it had a file.
        let node = self.trees.pages.get(page);
        let is_home = node.is_some_and(|node| self.trees.layout().belongs(node).as_ref() == Some(from));
        let stem = from.page_stem().filter(|_| is_home);
        let text = self.trees.forget_file(from, watch, cx).and_then(|file| file.hash);
        let text = text.unwrap_or(ContentHash([0; 32]));
        self.trees.copied_was(page, to, text, cx);
        let why = if then_gone { Conflict::PAGE_GONE } else { Conflict::PAGE_DIFFERED };
        self.trees.record_conflict(to, from, text, why.to_owned(), cx)?;
        if then_gone {
            self.forget_page(page, cx);
        } else {
            let named = |node: &mut Node| {
                node.file = None;
                node.stem = stem.map(Into::into).or(node.stem.take());
            };
            self.edit_page(page, named, cx);
        }
        self.mark_all_dirty();
        Ok(())
    }

    /// Whether a file that moved has been where it is for the grace time, and a scan since has found it there. Until
    /// the files of that scan are identified, it may have found the file elsewhere.
    pub(crate) fn rests(&self, node: &Node, watch: &Watching, cx: &Context) -> bool {
        let moved_at = self.runtimes.get(&node.id).and_then(|runtime| runtime.moved_at);
        watch.is_told() && watch.is_over(moved_at.map(|at| at.plus_ms(cx.settings.pages.delete_grace_ms)), cx)
    }

    /// Why pages whose files are gone stay at the service; `None` if they may go to its trash, or if there are none.
    pub(crate) fn removal_held(&self, root: &Root, cx: &Context) -> Option<Guard> {
        let Missing { gone, .. } = self.missing(cx);
        let older = self.retention.folder_is_old.map(|_| Guard::OlderFolder);
        let changed = root.changed.then_some(Guard::OtherFolder(Some(gone)));
        older.or(changed).or_else(|| cx.deletions.held().cloned()).filter(|_| gone > 0)
    }

    /// The pages whose files are gone, for the guard.
    pub(crate) fn missing(&self, cx: &Context) -> Missing {
        // In a workspace from which nothing is sent, a missing file is no deletion.
        let spaces = self.trees.workspaces.keys().filter(|id| !self.trees.is_down(id, &cx.settings));
        let shares = spaces.map(|id| self.trees.page_counts.of(id));
        let (gone, all) = shares.fold((0, 0), |(gone, all), share| (gone + share.gone, all + share.mirrored));
        let still_counts = |id: &str| {
            let page = PageId::new(id).ok().and_then(|id| self.trees.pages.get(&id));
            page.is_some_and(is_gone_here)
        };
        Missing { gone, recent: cx.deletions.recent(still_counts, cx.now), all }
    }

    /// When the next grace time ends, and missing and moved files must be looked for by another scan.
    pub(crate) fn next_grace_end(&self, folder: &Folder, cx: &Context) -> Timestamp {
        let missing = self.trees.pages.values().filter_map(|node| folder.absence_end(node, cx));
        let moved = self.runtimes.values().filter_map(|runtime| runtime.moved_at);
        missing
            .chain(moved.map(|at| at.plus_ms(cx.settings.pages.delete_grace_ms)))
            .filter(|end| *end > folder.watch.scanned)
            .fold(cx.now.plus_ms(3_600_000), Timestamp::min)
    }
}

fn note_removals(pages: &[PageId], may_be_gone: bool, cx: &mut Context) {
    let ids = pages.iter().map(PageId::as_str);
    cx.deletions.note(&mut cx.store, ids, may_be_gone, cx.now);
}

impl Trees {
    pub(crate) fn tidy_after(&self, path: &MirrorPath, cx: &mut Context) {
        let folders = [path.parent(), crate::model::folder_of(path)];
        for folder in folders.into_iter().flatten() {
            if self.folders.contains(&folder) {
                self.tidy_folder(&folder, cx);
            }
        }
    }
}

impl Pages {
    /// Ends an approval once nothing is held any more: it was for what was held then.
    pub(crate) fn end_approval(&mut self, node: &Node, cx: &mut Context) {
        let is_read = self.trees.file_of(node).is_none_or(|file| file.problem.is_none());
        if node.approved
            && is_read
            && node.remote.presence == Presence::Listed
            && node.missing_since.is_none()
        {
            self.edit_page(&node.id, |node| node.approved = false, cx);
        }
    }

    /// Deleting `node` would take `part` along, which is still needed: restores the deleted file.
    fn page_wins(&mut self, node: &Node, part: &Node, cx: &mut Context) -> Choice {
        if part.id == node.id {
            self.restore(node, cx);
            return None;
        }
        let why = format!("deleting it would delete its subpage {} too", part.remote.title);
        cx.notice_restored(node, &why, "delete the files of its subpages too, if you intend this");
        self.bring_back(&node.id, cx);
        None
    }

    /// Restores the deleted file. If the config restores each deleted file, the user is not told.
    pub(crate) fn restore(&mut self, node: &Node, cx: &mut Context) {
        if plan::changed_at_the_service(node) {
            cx.notice_restored(node, "its page was changed in the app meanwhile", DELETE_AGAIN);
        }
        self.bring_back(&node.id, cx);
    }

    pub(crate) fn bring_back(&mut self, page: &PageId, cx: &mut Context) {
        self.request_queue.remove(page);
        self.edit_page(
            page,
            |node| {
                if node.file.is_none() {
                    node.base = None;
                    node.missing_since = None;
                    node.missing_from = None;
                    node.approved = false;
                }
            },
            cx,
        );
        self.mark_all_dirty();
    }

    /// Handles a page that is gone at the service (confirmed): its file goes to the mirror's trash, or becomes a
    /// conflict copy if it has words that the service never got.
    pub(crate) fn file_follows(&mut self, node: &Node, decision: Decision, cx: &Context) -> Choice {
        let waits = self.trees.vanishing_held(&node.workspace, &cx.settings).is_some() && !node.approved;
        self.hold(&node.id, waits.then_some(Held::Guarded));
        let (Some(path), false) = (node.file.clone(), waits) else {
            self.dirty.remove(&node.id);
            return None;
        };
        let hash = self.trees.files.get(&path).and_then(|file| file.hash);
        match (decision, hash) {
            (Decision::TrashFile, Some(expect)) => {
                let purpose = Purpose::TrashFile { page: node.id.clone(), path: path.clone() };
                Some((Effect::TrashFile { path, expect }, purpose))
            }
            _ => {
                let to = self.trees.conflict_path(&path, cx)?;
                let effect = Effect::Rename { from: path.clone(), to: to.clone() };
                Some((effect, Purpose::SetAside { page: node.id.clone(), from: path, to, then_gone: true }))
            }
        }
    }
}

impl Trees {
    /// The pages whose words are at the service nowhere else yet: their files, copies of them, or files with their text are
    /// files without a page, or of a new page that has no text yet.
    pub(crate) fn to_be_made(&self) -> BTreeSet<PageId> {
        let is_unsent = |file: &&LocalFile| file.page.as_ref().is_none_or(|page| self.is_new_and_empty(page));
        let unsent = || self.files.values().filter(is_unsent);
        let copied = unsent().filter_map(|file| file.copied_from_page.clone());
        let texts: BTreeSet<ContentHash> = unsent().filter_map(|file| file.hash).collect();
        let has_text = |node: &&Node| {
            let text = node.base.as_ref().and_then(|base| base.text);
            node.file.is_none() && text.is_some_and(|text| texts.contains(&text))
        };
        copied.chain(self.pages.values().filter(has_text).map(|node| node.id.clone())).collect()
    }

    /// Whether the file of a mirrored page is missing in a workspace where this may be a deletion.
    pub(crate) fn is_page_missing(&self, settings: &Settings) -> bool {
        let mut pages = self.pages.values();
        pages.any(|node| {
            node.base.is_some() && node.file.is_none() && !self.is_down(&node.workspace, settings)
        })
    }

    /// Why pages that left a workspace's list stay on disk; `None` if they do not.
    pub(crate) fn vanishing_held(&self, workspace: &WorkspaceId, settings: &Settings) -> Option<Guard> {
        if planted("empty-list-not-held") {
            return None;
        }
        let Share { mirrored: before, left: missing, .. } = self.page_counts.of(workspace);
        let emptied = self.workspaces.get(workspace).filter(|node| missing > 0 && node.empty_list);
        if let Some(node) = emptied {
            return Some(Guard::EmptyList(node.seen.name.clone()));
        }
        guard::list_shrank(Kind::Page, before, missing, settings.pages.max_deletes)
    }
}

impl Context {
    fn notice_restored(&mut self, node: &Node, why: &str, mend: &str) {
        let Some(path) = node.base.as_ref().map(|base| base.path.clone()) else { return };
        self.log_activity(Way::Aside, &path, format!("the deleted file comes back: {why}"));
        self.notice(
            Code::CameBack,
            path.as_str(),
            format!("the file was deleted and has come back: {why}"),
            mend,
        );
    }
}

impl Folder {
    /// Whether the user deleted this page's file, beyond the grace time.
    fn is_deleted_here(&self, node: &Node, cx: &Context) -> bool {
        node.base.is_some()
            && node.file.is_none()
            && node.remote.presence == Presence::Listed
            && self.grace_is_over(node, cx)
    }

    /// Whether a file has been missing for the whole grace time, and a scan since has not found it: a hint at its
    /// return may have been lost. A file that could not be read may be the missing one under another name.
    pub(crate) fn grace_is_over(&self, node: &Node, cx: &Context) -> bool {
        self.watch.is_over(self.absence_end(node, cx), cx)
    }

    /// The time from which a scan ends the grace time of a missing file; `None` while something may hide the file.
    fn absence_end(&self, node: &Node, cx: &Context) -> Option<Timestamp> {
        let since = node.missing_since.filter(|_| self.hides_page(node).is_none())?;
        Some(self.root.barrier.grace_end(since, cx.settings.pages.delete_grace_ms))
    }
}

impl Watching {
    /// Whether a grace time has ended at `end`, and the folder has been scanned after that.
    fn is_over(&self, end: Option<Timestamp>, cx: &Context) -> bool {
        if planted("no-grace") {
            return end.is_some();
        }
        end.is_some_and(|end| end <= cx.now && end <= self.scanned)
    }
}

/// Whether `asked` is a page's file and `path` lies in the folder of its subpages.
fn covers(asked: &MirrorPath, path: &MirrorPath) -> bool {
    crate::model::folder_of(asked).is_some_and(|folder| path.is_within(&folder))
}

/// Counts what is gone from the folder, of all kinds, before anything is decided. Before the first scan of a run nothing is known
/// to be gone, and a hold of an earlier run stays.
pub(crate) fn count(engine: &mut Engine) {
    if engine.folder.root.state.is_none() {
        return;
    }
    let (pages, cx) = (&engine.pages, &engine.cx);
    let mut found = vec![(Kind::Page, pages.missing(cx))];
    found.push((Kind::Canvas, core_missing(engine, false)));
    found.push((Kind::StoredFile, core_missing(engine, true)));
    let most = cx.settings.pages.max_deletes;
    engine.cx.deletions.count(&found, most);
}
