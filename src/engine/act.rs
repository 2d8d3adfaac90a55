//! From decisions to effects on the folder. Requests are in `push`, `create`, `remove`; answers in `answers`.

use std::ops::Bound;

use super::context::Context;
use super::flight::Purpose;
use super::pages::Pages;
use super::refused::Held;
use super::text::front_is_stale;
use super::trees::Trees;
use super::{Engine, Way};
use crate::model::{Agreed, ContentHash, Effect, LocalFile, Moves, Node, PageId, Settings, planted};
use crate::plan::{self, Decision, View, place};
use crate::store::StoreError;

/// A page whose state keeps changing without an effect would be a fault of the planner; it must not hang the loop.
const TURNS_MAX: usize = 12;

/// So many pages are decided on in one turn of the loop, which takes some milliseconds. When every page was woken, a turn
/// for all of them would keep a person's edit waiting. Few in debug builds, so that tests of small folders see portions.
const DECIDED_AT_ONCE: usize = if cfg!(debug_assertions) { 7 } else { 500 };

/// A walk over the pages that wait for a decision, in portions.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// The page that the last portion ended with; `None` when the round is over.
    left_at: Option<PageId>,
    /// Something happened since the round began.
    again: bool,
}

impl Rounds {
    /// Something happened that may have woken a page.
    pub(super) fn stir(&mut self) {
        self.again = self.left_at.is_some();
    }

    pub(super) fn is_over(&self) -> bool {
        self.left_at.is_none()
    }
}

type Choice = Option<(Effect, Purpose)>;

impl Engine {
    /// The next thing to do on disk.
    pub(super) fn next_disk_effect(&mut self) -> Result<Choice, StoreError> {
        // Requests go by who is awake too, whether the disk is free or not.
        self.pages.wake_who_must();
        let is_quiet = self.folder.watch.is_quiet(self.cx.now);
        if !std::mem::replace(&mut self.pages.was_quiet, is_quiet) && is_quiet {
            self.pages.wake_settling();
        }
        if self.cx.in_flight.is_at_the_disk() {
            return Ok(None);
        }
        if let Some(choice) = self.cx.in_flight.ready.take() {
            return Ok(Some(choice));
        }
        if let Some(look) = self.folder.next_look_at_disk(self.cx.now) {
            return Ok(Some(look));
        }
        if let Some(asked) = self.next_asked() {
            return Ok(Some(asked));
        }
        if !self.folder.root.is_ready() || self.commands.asked.is_all() {
            // Whoever is awake stays so, and is asked from the first on when pages are decided on again.
            self.pages.rounds = Rounds::default();
            return Ok(None);
        }
        // Not a copy of the set: it can hold every page, and this is asked after each event. So many are decided on at
        // once, then whatever came meanwhile has its turn; nothing else is begun before the round is over.
        let mut after = self.pages.rounds.left_at.take();
        let mut left = DECIDED_AT_ONCE;
        loop {
            let Some(page) = self.pages.active_after(after.as_ref()) else {
                // Pages that the round had passed may have been woken by others in it, or while it was interrupted.
                let again = std::mem::take(&mut self.pages.rounds.again);
                if after.is_none() || !self.pages.wake_who_must() && !again {
                    break;
                }
                after = None;
                continue;
            };
            if left == 0 {
                self.pages.rounds.left_at = after;
                return Ok(None);
            }
            left -= 1;
            after = Some(page.clone());
            if self.cx.in_flight.is_busy(&page)
                || self.pages.moments.get(&page).is_some_and(|m| m.failing.waits(self.cx.now))
            {
                continue;
            }
            if let Some(choice) = self.settle_page(&page)? {
                return Ok(Some(choice));
            }
        }
        if let Some(choice) = self.next_board_disk_effect()? {
            return Ok(Some(choice));
        }
        // What was decided may have made a look due.
        if let Some(look) = self.folder.next_look_at_disk(self.cx.now) {
            return Ok(Some(look));
        }
        self.next_storage_act()
    }

    /// Decides on one page until nothing more can be done for it at once, or an effect is needed.
    fn settle_page(&mut self, page: &PageId) -> Result<Choice, StoreError> {
        for _ in 0..TURNS_MAX {
            let Some(node) = self.pages.trees.pages.get(page).cloned() else {
                self.pages.active.remove(page);
                return Ok(None);
            };
            // What came of a write that was sent is asked for all the same.
            let is_ignored = self.pages.trees.is_page_ignored(&node) && !self.pages.sent.contains_key(page);
            let rests = is_ignored || !self.pages.trees.is_live(&node.workspace);
            let decision = if rests { Decision::Wait } else { self.decide(&node) };
            tracing::trace!(page = %page, ?decision, "decided");
            self.pages.wants.remove(page);
            if !matches!(decision, Decision::Push { .. } | Decision::Recreate) {
                self.drop_reservation(page);
            }
            match decision {
                Decision::Rest | Decision::Wait => {
                    if decision == Decision::Rest {
                        self.pages.held.remove(page);
                        self.pages.end_refusal(&node, &mut self.cx)?;
                        self.pages.end_approval(&node, &mut self.cx)?;
                    }
                    if is_ignored {
                        self.pages.held.remove(page);
                    }
                    if node.missing_since.is_some() && node.base.is_some() {
                        if is_ignored
                            || self.pages.trees.is_away(&node.workspace)
                                && self.folder.grace_is_over(&node, &self.cx)
                        {
                            // Whoever removes what is left of a workspace that is away, or not chosen any more, deletes nothing
                            // in it: it comes back with its workspace. So does what is ignored when it is not any more.
                            self.pages.bring_back(page, &mut self.cx)?;
                        } else {
                            let is_hidden = self.folder.hides_page(&node).is_some();
                            self.pages.hold(page, is_hidden.then_some(Held::Hidden));
                            self.pages.settling.insert(page.clone());
                        }
                    }
                    self.pages.active.remove(page);
                    return Ok(None);
                }
                Decision::Settle => {
                    let now = self.cx.now;
                    let since = *self.pages.moment(page).moved_at.get_or_insert(now);
                    self.folder.watch.scan_by(since.plus_ms(self.cx.settings.pages.delete_grace_ms));
                    self.pages.active.remove(page);
                    self.pages.settling.insert(page.clone());
                    return Ok(None);
                }
                Decision::Look | Decision::Push { .. } | Decision::TrashPage => {
                    let tick = self.cx.tick;
                    let moment = self.pages.moment(page);
                    if moment.wanted == 0 {
                        moment.wanted = tick;
                    }
                    let is_first_look = self.pages.is_first_look(&node, &decision);
                    self.pages.wants.insert(page.clone(), decision, is_first_look);
                    self.pages.active.remove(page);
                    return Ok(None);
                }
                Decision::Adopt => self.pages.adopt(&node, &mut self.cx)?,
                Decision::AcceptBytes => self.pages.accept_bytes(&node, &mut self.cx)?,
                Decision::AgreeOnPlace => self.pages.agree_on_place(&node, &mut self.cx)?,
                Decision::Restore => self.pages.restore(&node, &mut self.cx)?,
                Decision::Forget => self.forget_page(page)?,
                Decision::Unbind => self.let_go(&node)?,
                Decision::Recreate => {
                    if !self.pages.looked_since_wanted(page, &self.cx) {
                        self.pages.wants.insert(page.clone(), Decision::Look, false);
                        self.pages.active.remove(page);
                        return Ok(None);
                    }
                    self.recreate(&node)?;
                }
                Decision::Read => {
                    let Some(path) = node.file.clone() else { return Ok(None) };
                    self.folder.watch.read_by(&path, self.cx.now);
                    self.pages.active.remove(page);
                    return Ok(self.folder.next_look_at_disk(self.cx.now));
                }
                Decision::Materialise => return self.materialise(&node),
                Decision::KeepBoth => return self.pages.trees.keep_both(&node, &self.cx),
                Decision::Splice => {
                    let Some(path) = node.file.clone() else { return Ok(None) };
                    return Ok(Some((
                        Effect::ReadFile(path.clone()),
                        Purpose::ReadToSplice { page: page.clone(), path },
                    )));
                }
                Decision::Relocate { puts_back } => {
                    return self.pages.relocate(&node, puts_back, &mut self.cx);
                }
                Decision::MoveFolder if planted("folder-left-behind") => return Ok(None),
                // What has just been seen in it has not been told from what was known where it goes.
                Decision::MoveFolder if !self.folder.watch.is_told() => return Ok(None),
                Decision::MoveFolder => match self.pages.move_folder(&node, &mut self.cx)? {
                    Some(choice) => return Ok(Some(choice)),
                    None => continue,
                },
                Decision::TrashFile | Decision::SetAside => {
                    return self.pages.file_follows(&node, decision, &self.cx);
                }
            }
        }
        tracing::warn!(page = %page, "no end to deciding; it is looked at again later");
        let later = self.cx.now.plus_ms(5_000);
        self.pages.put_off(page, later);
        Ok(None)
    }

    fn decide(&self, node: &Node) -> Decision {
        let file = self.pages.trees.file_of(node);
        let unread = file.is_some_and(|file| self.folder.watch.is_unread(&file.path));
        if unread {
            return Decision::Wait;
        }
        if self.pages.trees.is_there(&node.id) && self.pages.sent.contains_key(&node.id) {
            // What came of the last write must be known before anything rests on either side.
            return Decision::Look;
        }
        let both = node.base.is_some() && file.is_some();
        let local_parent = file.map_or(plan::Place::Elsewhere, |file| {
            match self.pages.trees.layout().workspace_at(&file.path) {
                Some(workspace) if workspace == node.workspace => {
                    self.pages.trees.layout().place_of(&file.path)
                }
                _ => plan::Place::Elsewhere,
            }
        });
        let local_title = file.map(|file| place::title_said(node, file)).unwrap_or_default();
        let belongs = if both { self.pages.trees.layout().belongs(node) } else { None };
        let front_is_stale = match (file, &belongs) {
            (Some(file), Some(path)) => front_is_stale(file, path, node),
            _ => false,
        };
        plan::decide(&View {
            node,
            file,
            local_parent: &local_parent,
            local_title: &local_title,
            meaning: file.and_then(|file| self.pages.meaning_hash(node, file)),
            belongs: belongs.as_ref(),
            front_is_stale,
            rests: self.rests(node),
            grace_is_over: self.folder.grace_is_over(node, &self.cx)
                && self.folder.watch.is_quiet(self.cx.now),
            sends: self.pages.trees.sends(node, &self.cx.settings),
            deletes: self.cx.settings.pages.deletes,
            moves: self.pages.trees.moves_of(node, &self.cx.settings),
        })
    }

    /// The page of a file is gone and they were never agreed on: the file is a new one.
    fn let_go(&mut self, node: &Node) -> Result<(), StoreError> {
        if let Some(path) = &node.file {
            self.pages.unbind(path, Some(node.id.clone()), &mut self.cx)?;
        }
        self.forget_page(&node.id)
    }

    /// The file becomes a new page where it is now; the old page is treated as one whose file was deleted.
    fn recreate(&mut self, node: &Node) -> Result<(), StoreError> {
        let Some(path) = node.file.clone() else { return Ok(()) };
        self.pages.unbind(&path, Some(node.id.clone()), &mut self.cx)?;
        let (now, tick) = (self.cx.now, self.cx.tick);
        self.pages.edit_page(
            &node.id,
            |page| {
                page.file = None;
                page.missing_since.get_or_insert(now);
            },
            &mut self.cx,
        )?;
        self.pages.moment(&node.id).missed = tick;
        self.folder.watch.scan_by(now.plus_ms(self.cx.settings.pages.delete_grace_ms));
        Ok(())
    }
}

impl Pages {
    fn active_after(&self, page: Option<&PageId>) -> Option<PageId> {
        let from = page.map_or(Bound::Unbounded, Bound::Excluded);
        self.active.range::<PageId, _>((from, Bound::Unbounded)).next().cloned()
    }

    fn meaning_hash(&self, node: &Node, file: &LocalFile) -> Option<ContentHash> {
        if let Some(base) = &node.base
            && base.text.is_some()
            && base.text == file.hash
        {
            return Some(base.body);
        }
        self.meaning(&node.id, file).map(|reading| reading.content.hash())
    }

    fn adopt(&mut self, node: &Node, cx: &mut Context) -> Result<(), StoreError> {
        let Some(file) = self.trees.file_of(node).cloned() else { return Ok(()) };
        let Some(body) = node.remote.body else { return Ok(()) };
        let title = node.remote.title.clone();
        let waited = self.trees.layout().waited_folder(node, &file.path);
        self.edit_page(
            &node.id.clone(),
            |page| {
                page.stem = file.path.page_stem().map(ToOwned::to_owned);
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
        )?;
        cx.say(Way::Aside, &file.path, "found in the folder, equal to its page");
        self.wake_all();
        Ok(())
    }

    fn accept_bytes(&mut self, node: &Node, cx: &mut Context) -> Result<(), StoreError> {
        let Some(file) = self.trees.file_of(node).cloned() else { return Ok(()) };
        self.edit_page(
            &node.id.clone(),
            |page| {
                if let Some(base) = &mut page.base {
                    base.text = file.hash;
                }
            },
            cx,
        )
    }

    /// Whether the page was looked at since it first wanted something; notes the wish.
    fn looked_since_wanted(&mut self, page: &PageId, cx: &Context) -> bool {
        let tick = cx.tick;
        let moment = self.moment(page);
        if moment.wanted == 0 {
            moment.wanted = tick;
        }
        moment.seen > moment.wanted
    }
}

impl Trees {
    /// A page with subpages is put back whatever the config says: made anew, it would leave them with the old one, which then
    /// could not go.
    fn moves_of(&self, node: &Node, settings: &Settings) -> Moves {
        let has_subpages = || self.children(&node.workspace, Some(&node.id)).next().is_some();
        if settings.pages.moves == Moves::Recreate && has_subpages() {
            return Moves::PutBack;
        }
        settings.pages.moves
    }

    fn keep_both(&mut self, node: &Node, cx: &Context) -> Result<Choice, StoreError> {
        let Some(from) = node.file.clone() else { return Ok(None) };
        let Some(to) = self.conflict_path(&from, cx) else { return Ok(None) };
        let effect = Effect::Rename { from: from.clone(), to: to.clone() };
        Ok(Some((effect, Purpose::SetAside { page: node.id.clone(), from, to, then_gone: false })))
    }
}
