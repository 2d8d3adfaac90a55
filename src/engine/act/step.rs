//! Turns decisions into effects on the folder. Requests are in `push`, `create`, `remove`; answers in `answers`.

use std::ops::Bound;

use crate::core::items::Verb;
use crate::engine::act::refused::tend_forbidden;
use crate::engine::content::faults::{has_fault, or_hold};
use crate::engine::content::text::front_is_stale;
use crate::engine::on_core;
use crate::engine::state::pages::Batch;
use crate::engine::state::{Choice, Context, Engine, Folder, Held, Pages, Purpose, Trees, Watching, Way};
use crate::model::{Agreed, ContentHash, Effect, LocalFile, Moves, Node, PageId, Side, planted};
use crate::plan::{self, Decision, View, place};
use crate::store::{StoreError, is_made_here_alone};

/// A page whose state keeps changing without an effect is a fault of the planner. It must not hang the loop.
const TURNS_MAX: usize = 12;

/// Pages decided in one turn of the loop, which takes some milliseconds. When every page is dirty, a turn for all of
/// them would delay a user's edit. Few in debug builds, so that tests of small folders have several batches.
const DECIDED_AT_ONCE: usize = if cfg!(debug_assertions) { 7 } else { 500 };

/// A note that was made here is young for this long: a move of its file is part of its making.
const YOUNG_MS: i64 = 600_000;

impl Engine {
    /// The next disk effect.
    pub(crate) fn next_disk_effect(&mut self) -> Result<Choice, StoreError> {
        // Requests depend on the dirty pages too, whether the disk is free or not.
        tend_forbidden(&mut self.pages, &self.cx);
        self.pages.mark_all_if_due();
        let is_quiet = self.folder.watch.is_quiet(self.cx.now);
        if !std::mem::replace(&mut self.pages.was_quiet, is_quiet) && is_quiet {
            self.pages.mark_waiting_dirty();
        }
        if self.cx.in_flight.is_at_the_disk() {
            return Ok(None);
        }
        if let Some(choice) = self.cx.in_flight.ready.take() {
            return Ok(Some(choice));
        }
        if let Some(look) = self.folder.next_scan_or_read(self.cx.now) {
            return Ok(Some(look));
        }
        if let Some(asked) = self.next_asked() {
            return Ok(Some(asked));
        }
        if !self.folder.root.is_ready() || self.commands.asked.is_all() {
            // Dirty pages stay dirty. The next walk starts at the first one.
            self.pages.batch = Batch::default();
            return Ok(None);
        }
        // The set is not copied: it can hold every page, and this runs after each event. After a batch, the events that
        // came meanwhile are handled. Nothing else begins before the walk is over.
        let mut after = self.pages.batch.left_at.take();
        let mut left = DECIDED_AT_ONCE;
        loop {
            let Some(page) = self.pages.dirty_after(after.as_ref()) else {
                // Pages that the walk has passed may have been marked dirty by later ones, or while it was interrupted.
                let again = std::mem::take(&mut self.pages.batch.again);
                if after.is_none() || !self.pages.mark_all_if_due() && !again {
                    break;
                }
                after = None;
                continue;
            };
            if left == 0 {
                self.pages.batch.left_at = after;
                return Ok(None);
            }
            left -= 1;
            after = Some(page.clone());
            if self.cx.in_flight.is_busy(&page)
                || self.pages.runtimes.get(&page).is_some_and(|m| m.failing.waits(self.cx.now))
            {
                continue;
            }
            if let Some(choice) = self.pages.settle_page(&page, &mut self.folder, &mut self.cx)? {
                return Ok(Some(choice));
            }
        }
        if let Some(choice) = on_core::next_core_disk_effect(self)? {
            return Ok(Some(choice));
        }
        if let Some(choice) = self.dashboards.next(&self.pages.trees, &self.folder.watch, &mut self.cx) {
            return Ok(Some(choice));
        }
        // The decisions may have made a scan or a read due.
        Ok(self.folder.next_scan_or_read(self.cx.now))
    }
}

impl Pages {
    /// Decides one page repeatedly, until nothing more can be done for it at once or an effect is needed.
    fn settle_page(
        &mut self,
        page: &PageId,
        folder: &mut Folder,
        cx: &mut Context,
    ) -> Result<Choice, StoreError> {
        for _ in 0..TURNS_MAX {
            let Some(node) = self.trees.pages.get(page).cloned() else {
                self.dirty.remove(page);
                return Ok(None);
            };
            // The outcome of a pending update is fetched all the same.
            let is_ignored = self.trees.is_page_ignored(&node) && !self.pending_updates.contains_key(page);
            let awaits_reader = self.runtimes.get(page).is_some_and(|runtime| runtime.saves.rests);
            let rests = is_ignored || !self.trees.is_live(&node.workspace) || has_fault(&self.trees, &node);
            let decision = if rests { Decision::Wait } else { self.decide(&node, folder, cx)? };
            tracing::trace!(page = %page, ?decision, "decided");
            // The page has the words of both; its file waits for its program to read it.
            let waits = awaits_reader && decision == Decision::Splice;
            let decision = if waits { Decision::Wait } else { decision };
            self.request_queue.remove(page);
            if !matches!(decision, Decision::Push { .. } | Decision::Recreate) {
                self.drop_reservation(page, cx);
            }
            match decision {
                Decision::Rest | Decision::Wait => {
                    if decision == Decision::Rest {
                        self.held.remove(page);
                        self.end_refusal(&node, cx);
                        self.end_approval(&node, cx);
                    }
                    if is_ignored {
                        self.held.remove(page);
                    }
                    if node.missing_since.is_some() && node.base.is_some() {
                        if is_ignored
                            || self.trees.is_away(&node.workspace) && folder.grace_is_over(&node, cx)
                        {
                            // If a user removes the remaining files of a workspace that is absent, or not chosen any
                            // more, nothing is deleted: they come back with the workspace. Ignored items come back when
                            // they are not ignored any more.
                            self.bring_back(page, cx);
                        } else {
                            let is_hidden = folder.hides_page(&node).is_some();
                            self.hold(page, is_hidden.then_some(Held::Hidden));
                            self.waiting.insert(page.clone());
                        }
                    }
                    self.dirty.remove(page);
                    return Ok(None);
                }
                Decision::Settle => {
                    let now = cx.now;
                    let since = *self.runtime(page).moved_at.get_or_insert(now);
                    folder.watch.scan_by(since.plus_ms(cx.settings.pages.delete_grace_ms));
                    self.dirty.remove(page);
                    self.waiting.insert(page.clone());
                    return Ok(None);
                }
                Decision::Fetch | Decision::Push { .. } | Decision::TrashPage => {
                    let tick = cx.tick;
                    let runtime = self.runtime(page);
                    if runtime.wanted == 0 {
                        runtime.wanted = tick;
                    }
                    let is_first_fetch = self.is_first_fetch(&node, &decision);
                    self.request_queue.insert(page.clone(), decision, is_first_fetch);
                    self.dirty.remove(page);
                    return Ok(None);
                }
                Decision::Adopt => self.adopt(&node, cx),
                Decision::AcceptBytes => self.accept_bytes(&node, cx),
                Decision::AgreeOnPlace => self.agree_on_place(&node, cx),
                Decision::Restore => self.restore(&node, cx),
                Decision::Forget => self.forget_page(page, cx),
                Decision::Unbind => self.let_go(&node, cx),
                Decision::Recreate => {
                    if !self.fetched_since_wanted(page, cx) {
                        self.request_queue.insert(page.clone(), Decision::Fetch, false);
                        self.dirty.remove(page);
                        return Ok(None);
                    }
                    self.recreate(&node, &mut folder.watch, cx);
                }
                Decision::Read => {
                    let Some(path) = node.file.clone() else { return Ok(None) };
                    folder.watch.read_by(&path, cx.now);
                    self.dirty.remove(page);
                    return Ok(folder.next_scan_or_read(cx.now));
                }
                Decision::Materialise if self.fresh.contains(page) => {
                    self.dirty.remove(page);
                    return Ok(None);
                }
                Decision::Materialise => {
                    let text = self.materialise(&node, folder, cx);
                    return or_hold(self, page, Side::Service, text, cx);
                }
                Decision::KeepBoth => return Ok(self.trees.keep_both(&node, cx)),
                Decision::Splice => {
                    let Some(path) = node.file.clone() else { return Ok(None) };
                    return Ok(Some((
                        Effect::ReadFile(path.clone()),
                        Purpose::ReadToSplice { page: page.clone(), path },
                    )));
                }
                Decision::Relocate { reverts_move } => {
                    return Ok(self.relocate(&node, reverts_move, cx));
                }
                Decision::MoveFolder if planted("folder-left-behind") => return Ok(None),
                // The files just seen in the folder have not been identified against the files known at its
                // destination.
                Decision::MoveFolder if !folder.watch.is_told() => return Ok(None),
                Decision::MoveFolder => match self.move_folder(&node, cx) {
                    Some(choice) => return Ok(Some(choice)),
                    None => continue,
                },
                Decision::TrashFile | Decision::SetAside => {
                    return Ok(self.file_follows(&node, decision, cx));
                }
            }
        }
        tracing::warn!(page = %page, "no end to deciding; it is looked at again later");
        let later = cx.now.plus_ms(5_000);
        self.put_off(page, later);
        Ok(None)
    }

    /// The page of a file is gone and they had no common base: the file is a new one.
    fn let_go(&mut self, node: &Node, cx: &mut Context) {
        if let Some(path) = &node.file {
            self.unbind(path, Some(node.id.clone()), cx);
        }
        self.forget_page(&node.id, cx);
    }

    fn decide(&self, node: &Node, folder: &Folder, cx: &Context) -> Result<Decision, StoreError> {
        let file = self.trees.file_of(node);
        let unread = file.is_some_and(|file| folder.watch.is_unread(&file.path));
        if unread {
            return Ok(Decision::Wait);
        }
        if self.trees.is_there(&node.id) && self.pending_updates.contains_key(&node.id) {
            // The outcome of the last write must be known before anything rests on either side.
            return Ok(Decision::Fetch);
        }
        let both = node.base.is_some() && file.is_some();
        let local_parent =
            file.map_or(plan::Place::Elsewhere, |file| match self.trees.layout().workspace_at(&file.path) {
                Some(workspace) if workspace == node.workspace => self.trees.layout().place_of(&file.path),
                _ => plan::Place::Elsewhere,
            });
        let local_title = file.map(|file| place::title_said(node, file)).unwrap_or_default();
        let belongs = if both { self.trees.layout().belongs(node) } else { None };
        let front_is_stale = match (file, &belongs) {
            (Some(file), Some(path)) => front_is_stale(file, path, node, &self.trees),
            _ => false,
        };
        let moves = self.trees.moves_of(node, file, cx)?;
        Ok(plan::decide(&View {
            node,
            file,
            local_parent: &local_parent,
            local_title: &local_title,
            parsed: file.and_then(|file| self.parsed_hash(node, file)),
            belongs: belongs.as_ref(),
            front_is_stale,
            rests: self.rests(node, &folder.watch, cx),
            grace_is_over: folder.grace_is_over(node, cx) && folder.watch.is_quiet(cx.now),
            sends: self.trees.may(node, Verb::Write, cx),
            deletes: cx.settings.pages.deletes,
            moves,
        }))
    }

    /// Makes the file a new page where it is now. The old page is treated as one whose file was deleted.
    fn recreate(&mut self, node: &Node, watch: &mut Watching, cx: &mut Context) {
        let Some(path) = node.file.clone() else { return };
        self.unbind(&path, Some(node.id.clone()), cx);
        let (now, tick) = (cx.now, cx.tick);
        self.edit_page(
            &node.id,
            |page| {
                page.file = None;
                page.missing_since.get_or_insert(now);
            },
            cx,
        );
        self.runtime(&node.id).missed = tick;
        watch.scan_by(now.plus_ms(cx.settings.pages.delete_grace_ms));
    }
}

impl Pages {
    fn dirty_after(&self, page: Option<&PageId>) -> Option<PageId> {
        let from = page.map_or(Bound::Unbounded, Bound::Excluded);
        self.dirty.range::<PageId, _>((from, Bound::Unbounded)).next().cloned()
    }

    fn parsed_hash(&self, node: &Node, file: &LocalFile) -> Option<ContentHash> {
        if let Some(base) = &node.base
            && base.text.is_some()
            && base.text == file.hash
        {
            return Some(base.body);
        }
        self.parsed(&node.id, file).map(|parsed| parsed.content.hash())
    }

    fn adopt(&mut self, node: &Node, cx: &mut Context) {
        let Some(file) = self.trees.file_of(node).cloned() else { return };
        let Some(body) = node.remote.body else { return };
        let title = node.remote.title.clone();
        let waited = self.trees.layout().waited_folder(node, &file.path);
        self.edit_page(
            &node.id.clone(),
            |page| {
                page.stem = file.path.page_stem().map(Into::into);
                page.base = Some(Agreed {
                    parent: page.remote.parent.clone(),
                    title,
                    icon: page.remote.icon.clone(),
                    body,
                    text: file.hash,
                    front_title: file.front_title.clone(),
                    path: file.path.clone(),
                    folder_at: waited,
                });
            },
            cx,
        );
        cx.log_activity(Way::Aside, &file.path, "found in the folder, equal to its page");
        self.mark_all_dirty();
    }

    fn accept_bytes(&mut self, node: &Node, cx: &mut Context) {
        let Some(file) = self.trees.file_of(node).cloned() else { return };
        self.edit_page(
            &node.id.clone(),
            |page| {
                if let Some(base) = &mut page.base {
                    base.text = file.hash;
                }
            },
            cx,
        );
    }

    /// Whether the page was fetched since it first needed a request. Notes the need.
    fn fetched_since_wanted(&mut self, page: &PageId, cx: &Context) -> bool {
        let tick = cx.tick;
        let runtime = self.runtime(page);
        if runtime.wanted == 0 {
            runtime.wanted = tick;
        }
        runtime.seen > runtime.wanted
    }
}

impl Trees {
    /// What a move of a page's file means. A note that was made here a moment ago follows its file. A page with subpages is
    /// put back whatever the config says. If it were created again, its subpages would stay with the old page, which
    /// then could not be deleted.
    fn moves_of(&self, node: &Node, file: Option<&LocalFile>, cx: &Context) -> Result<Moves, StoreError> {
        let since = cx.now.plus_ms(-YOUNG_MS - cx.settings.pages.delete_grace_ms);
        let has_moved = node.base.as_ref().zip(file).is_some_and(|(base, file)| base.path != file.path);
        let is_young = || match has_moved && node.first_seen >= since {
            true => is_made_here_alone(&cx.store, &node.id, since),
            false => Ok(false),
        };
        let recreates = cx.settings.pages.moves == Moves::Recreate || is_young()?;
        let has_subpages = || self.children(&node.workspace, Some(&node.id)).next().is_some();
        Ok(if recreates && !has_subpages() { Moves::Recreate } else { Moves::PutBack })
    }

    fn keep_both(&self, node: &Node, cx: &Context) -> Choice {
        let from = node.file.clone()?;
        let to = self.conflict_path(&from, cx)?;
        let effect = Effect::Rename { from: from.clone(), to: to.clone() };
        Some((effect, Purpose::SetAside { page: node.id.clone(), from, to, then_gone: false }))
    }
}
