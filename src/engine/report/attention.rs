//! The messages to the user, and the numbers that show the progress of the mirror.

use std::collections::BTreeSet;

use crate::core::content::naming::may_be_items;
use crate::core::items::Verb;
use crate::engine::act::refused::{code_of, code_of_hold, waits_for};
use crate::engine::act::{creation_guard, requests};
use crate::engine::on_core;
use crate::engine::state::page_counts::PageCounts;
use crate::engine::state::retry::FAILS;
use crate::engine::state::{AttentionList, Context, Engine, Held, Needs, Pages, Polling, Root};
use crate::model::{
    Attention, Code, Level, MirrorPath, Node, PageId, Presence, Settings, Timestamp, WorkspaceId,
};
use crate::plan::guard::Guard;
use crate::plan::names::Names;
use crate::store::{Conflict, StoreError};

/// Log target of the messages to the user.
const TARGET: &str = "espejo::attention";
/// What is told of lists and items that the service forbids.
const FORBIDDEN_WITH_ALL: [Code; 4] = [Code::Unclear, Code::Refused, Code::StorageForbidden, Code::ReadOnly];
/// How long a notice is shown.
const NOTICE_MS: i64 = 24 * 3_600_000;

/// The list is made at most this often while no event comes.
const LIST_RESTS_MS: i64 = 1_000;
/// While events come, the list is made again after one millisecond for each so many pages and files. Making it walks
/// over all of them, and the cost of a change must not grow with their number. With few of them there is no delay.
const LOOKED_OVER_A_MS: usize = 20;

/// Numbers of pages: those of [`Summary`], and the listed pages that were never fetched.
#[derive(Default)]
struct Counts {
    listed: usize,
    looked: usize,
    unseen: usize,
    mirrored: usize,
    held: usize,
}

/// The state of the mirror in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Pages whose file and body have a common base.
    pub mirrored: usize,
    /// Of these, pages that are out of step although nothing is pending: they are held, refused or must be repaired.
    pub held: usize,
    /// Pages that the service lists.
    pub listed: usize,
    /// Pages whose body has been fetched in this full pass (or ever, without one).
    pub looked: usize,
    /// Whiteboards and slides whose file and elements have a common base.
    pub canvases: usize,
    /// Whiteboards and slides that the service lists.
    pub canvases_listed: usize,
    /// Whiteboards and slides that have been fetched in this full pass (or ever, without one).
    pub canvases_looked: usize,
    /// Edits, new files and deletions that are pending.
    pub pending: usize,
    /// The messages to the user, of each level.
    pub attention: Vec<Attention>,
    /// Conflict copies.
    pub conflicts: usize,
    /// Requests sent in the last 60 s.
    pub requests_last_minute: usize,
    /// Whether nothing is left to do but to poll, and to wait for grace times and for the user.
    pub is_settled: bool,
    /// Whether the requested full pass is over and everything that it found is settled.
    pub pass_is_over: bool,
    /// Milliseconds that the pass will still take at the present rate; 0 when it is over.
    pub pass_left_ms: i64,
    /// Personal storage.
    pub storage: crate::core::report::storage::StorageSummary,
    /// Since when the user has paused espejo.
    pub paused: Option<Timestamp>,
    /// Whether the service cannot be reached, or fails everything, and is tried again from time to time.
    pub away: bool,
    /// Whether no request of this process has succeeded and the address seems not to be the API's: a pass would never end.
    pub misdirected: bool,
}

/// Logs one line for each message that began or changed its code, and one for each that is over. Notes expire, so only
/// their beginning is logged.
fn log_changes(before: &[Attention], now: &[Attention]) {
    let places = |list: &[Attention]| -> BTreeSet<(Code, String)> {
        list.iter().map(|item| (item.code, item.path.clone())).collect()
    };
    let (known, still) = (places(before), places(now));
    let is_in = |set: &BTreeSet<_>, item: &Attention| set.contains(&(item.code, item.path.clone()));
    macro_rules! line {
        ($level:expr, $item:expr, $text:expr) => {
            tracing::event!(
                target: TARGET, $level, code = $item.code.name(), path = %$item.path, action = %$item.action, "{}", $text
            )
        };
    }
    for item in now.iter().filter(|item| !is_in(&known, item)) {
        match item.level() {
            Level::Act => line!(tracing::Level::ERROR, item, item.reason),
            Level::Waiting => line!(tracing::Level::WARN, item, item.reason),
            Level::Note => line!(tracing::Level::INFO, item, item.reason),
        }
    }
    for item in before.iter().filter(|item| item.level() != Level::Note && !is_in(&still, item)) {
        tracing::info!(target: TARGET, code = item.code.name(), path = %item.path, over = true, "resolved: {}", item.reason);
    }
}

impl Engine {
    /// Stores the messages to the user if they have changed, and logs which began and which are over.
    pub(crate) fn refresh_attention(&mut self) -> Result<(), StoreError> {
        self.pages.end_bootstrap(&mut self.folder.root, &mut self.cx);
        // Time alone changes it too: grace times and approvals end.
        let rest_ms = if self.attention.stirred { self.list_rests_ms() } else { LIST_RESTS_MS };
        if self.attention.fresh.is_some_and(|at| self.cx.now.since_ms(at) < rest_ms) {
            return Ok(());
        }
        self.attention.fresh = Some(self.cx.now);
        self.note_apart();
        self.attention.stirred = false;
        self.cx.store.drop_notices(self.cx.now.plus_ms(-NOTICE_MS));
        let list = self.needs()?;
        if !self.attention.written || self.attention.shown != list {
            self.cx.store.set_attention(&list, self.cx.now)?;
            log_changes(&self.attention.shown, &list);
            self.attention.shown = list;
            self.attention.written = true;
        }
        self.attention.log_conflicts(&self.cx)
    }

    fn list_rests_ms(&self) -> i64 {
        let all = self.pages.trees.pages.len() + self.pages.trees.files.len();
        i64::try_from(all / LOOKED_OVER_A_MS).unwrap_or(LIST_RESTS_MS).min(LIST_RESTS_MS)
    }

    /// When the list will contain the latest events; `None` if it does.
    pub(crate) fn next_list_of_needs(&self) -> Option<Timestamp> {
        let due = self.attention.fresh.map_or(self.cx.now, |at| at.plus_ms(self.list_rests_ms()));
        self.attention.stirred.then_some(due)
    }

    /// All messages to the user.
    fn needs(&self) -> Result<Vec<Attention>, StoreError> {
        let mut needs = Needs(self.cx.store.notices()?);
        needs.0.retain(|notice| self.is_where_it_was(&notice.path));
        requests::tell(self, &mut needs);
        self.needs_of_barrier(&mut needs);
        creation_guard::tell(&self.folder.root.creation_guard, &mut needs, &self.cx);
        self.pages.trees.needs_of_ignoring(&mut needs);
        self.needs_of_workspaces(&mut needs);
        self.pages.needs_of_pages(&mut needs, &self.folder.root, &self.cx);
        on_core::core_needs(self, &mut needs);
        if self.service.stopped.is_some() {
            // What was asked for meanwhile was refused for the same reason.
            needs.0.retain(|item| !FORBIDDEN_WITH_ALL.contains(&item.code));
        }
        Ok(needs.list())
    }

    fn needs_of_workspaces(&self, needs: &mut Needs) {
        let named = self.cx.settings.workspaces.iter().chain(self.cx.settings.modes.keys());
        let is_unknown =
            |name: &&String| !self.pages.trees.workspaces.values().any(|node| node.is_called(name));
        for name in named.filter(is_unknown).filter(|_| self.polling.lists.workspaces_looked > 0) {
            needs.tell(
                Code::UnknownWorkspace,
                name,
                &format!("the config names the workspace {name:?}, which the service does not list"),
                "correct its name in the config, or ask for access",
            );
        }
        for workspace in self.pages.trees.workspaces.values() {
            let (id, name) = (&workspace.seen.id, workspace.seen.name.as_str());
            if !workspace.present && !self.cx.is_chosen(workspace) {
                continue;
            }
            if !workspace.present {
                needs.tell(
                    Code::WorkspaceGone,
                    &workspace.folder,
                    &format!("the service no longer lists the workspace {name}: its files stay as they are"),
                    "ask for access, or remove the folder and its workspace from the config",
                );
                continue;
            }
            if self.pages.trees.is_down(id, &self.cx.settings) {
                if crate::engine::content::downward::stays_here(&self.pages, id)
                    || on_core::core_stays_here(self, id)
                {
                    needs.tell(
                        Code::StaysHere,
                        &workspace.folder,
                        "changes made here stay here: the config has mode = \"down\" for this workspace",
                        "nothing to do; espejo diff shows the differences, and mode = \"two-way\" sends them",
                    );
                }
            } else if let Some(why) = self.pages.trees.read_only(id, &self.cx.settings) {
                let edits_wait =
                    [Verb::Write, Verb::Delete].iter().any(|verb| waits_for(&self.pages, id, *verb))
                        || on_core::core_stays_here(self, id);
                let (code, action) = match edits_wait {
                    true => (Code::ReadOnly, "edits are pending until the workspace is writable again"),
                    false => (Code::Frozen, "nothing to do: no edit is pending"),
                };
                needs.tell(code, &workspace.folder, &format!("read-only: {why}"), action);
            }
            if let Some(why) = self.pages.trees.vanishing_held(id, &self.cx.settings) {
                needs.tell(
                    Code::RemovalsHeld,
                    &workspace.folder,
                    &format!("nothing is removed: {why}"),
                    "check the app; espejo approve removes the files; if you get access again, they stay",
                );
            }
        }
        let trees = &self.pages.trees;
        let place = |id: &WorkspaceId| {
            let node = trees.workspaces.get(id).filter(|node| node.present)?;
            let is_told = trees.read_only(id, &self.cx.settings).is_none();
            is_told.then(|| (node.folder.clone(), format!("the pages of {}", node.seen.name)))
        };
        needs.0.extend(trees.forbidden.needs(place, &|at| self.cx.next_try_at(at)));
    }

    /// The present state of the mirror in numbers.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub fn summary(&self, now: Timestamp) -> Result<Summary, StoreError> {
        let Counts { listed, looked, unseen, mirrored, held } =
            self.pages.count_pages(&self.polling, &self.cx.settings);
        let waits_for_time =
            |id: &PageId| self.pages.held.contains_key(id) || self.pages.trees.is_unreadable(id, self.cx.now);
        let wanted = self.pages.request_queue.pages().filter(|id| !waits_for_time(id)).count();
        let pending = wanted
            + self.pages.pending_updates.len()
            + self.pages.creations.len()
            + usize::from(self.pages.all_dirty)
            + self.pages.dirty.union(&self.pages.waiting).filter(|id| !waits_for_time(id)).count();
        let lists_done =
            self.pages.trees.workspaces.values().all(|node| !node.present || node.listed_at.0 > 0)
                && !self.pages.trees.workspaces.is_empty();
        let is_settled = self.cx.in_flight.flights.is_empty()
            && !self.identity_batches.is_under_way()
            && self.cx.in_flight.ready.is_none()
            && pending == 0
            && unseen == 0
            && lists_done
            && self.folder.root.is_ready()
            && self.folder.watch.is_quiet(self.cx.now)
            && !self.pages.trees.ignoring.is_changing()
            && !self.pages.is_making(&|_| true, &self.folder, &self.cx);
        let storage = on_core::core_storage(self);
        let core = on_core::core_progress(self);
        let is_settled = is_settled && core.is_settled && self.dashboards.are_drawn(self.cx.now);
        let left = listed - looked + core.listed - core.fetched;
        let left = i64::try_from(left).unwrap_or(0);
        Ok(Summary {
            mirrored,
            held,
            listed,
            looked,
            pending: pending + core.pending,
            canvases: core.mirrored,
            canvases_listed: core.listed,
            canvases_looked: core.fetched,
            attention: self.attention.shown.clone(),
            conflicts: self.cx.store.conflicts()?.len(),
            requests_last_minute: self.cx.pace.sent_since(now.plus_ms(-60_000)),
            is_settled,
            // A caller that waited for the pass reads the messages next.
            pass_is_over: is_settled && self.pass_is_over() && self.next_list_of_needs().is_none(),
            storage,
            paused: self.service.paused,
            away: self.service.stopped.is_none() && self.service.down.is_some(),
            misdirected: self.service.misdirected.is_some(),
            pass_left_ms: left * 60_000 / i64::from(self.cx.settings.requests_per_minute.max(1)),
        })
    }
}

impl Pages {
    fn needs_of_pages(&self, needs: &mut Needs, root: &Root, cx: &Context) {
        // An older copy of the folder has one message.
        let held = self.removal_held(root, cx);
        if let Some(why) = held.filter(|held| *held != Guard::OlderFolder) {
            needs.tell(
                Code::DeletionsHeld,
                "",
                &format!("deletions are on hold: {why}"),
                "restore the files, or run espejo approve",
            );
        }
        if self.retention.folder_is_old.is_some() {
            needs.0.push(Attention::older_folder());
        }
        let ignoring = &self.trees.ignoring;
        for file in self.trees.page_counts.problems.iter().filter_map(|path| self.trees.files.get(path)) {
            if let Some(problem) = file.problem.as_ref().filter(|_| !ignoring.ignores_file(&file.path)) {
                needs.tell_unsent(&file.path, problem, "page");
            }
        }
        for (path, refusal) in &self.refusals {
            let write = (Verb::Write, &refusal.refusal);
            let is_told = crate::engine::act::refused::is_told(&refusal.refusal)
                && !self.trees.is_told_with_workspace(&refusal.workspace, write, &cx.settings);
            if is_told && self.trees.untracked_files.iter().any(|file| file.is_within(path)) {
                let next = cx.next_try(&refusal.refusal);
                let code = code_of(refusal.refusal.class);
                let mend = if code == Code::Failing { format!("nothing to do: {next}") } else { next };
                let reason = format!("no page was created: {}", refusal.refusal.said);
                needs.tell(code, path.as_str(), &reason, &mend);
            }
        }
        crate::engine::act::create::tell_folders_without_page(&self.trees, needs);
        let mut strays = self.trees.untracked_files.iter().filter_map(|path| self.trees.files.get(path));
        if let Some(first) = strays.find(|file| self.trees.orphan_claims_held(file, root, &cx.settings)) {
            needs.tell(
                Code::UnknownPages,
                first.path.as_str(),
                "it and many other files name pages that the service does not list",
                "run espejo approve to create new pages for them",
            );
        }
        for node in self.trees.needs_user().filter(|node| !ignoring.pages.contains(&node.id)) {
            let path = node.file.as_ref().or(node.base.as_ref().map(|base| &base.path));
            let shown = path.map_or(&*node.remote.title, |path| path.as_str());
            if let Some(parked) = &node.parked {
                if self.trees.is_hold_told_with_workspace(node, &cx.settings) {
                    continue;
                }
                let reason = parked.hold.sentence();
                let code = code_of_hold(&parked.hold);
                needs.tell(code, shown, &reason, &cx.mend_of(&parked.hold));
            } else if node.remote.presence == Presence::Hidden && node.base.is_some() {
                needs.tell(
                    Code::Unlisted,
                    shown,
                    "the service no longer lists it, but still shows it: the file stays",
                    "espejo approve removes the file",
                );
            }
        }
        crate::engine::content::stale::tell_stale_editors(self, needs);
        crate::engine::act::refused::tell_unwritten(self, needs);
        for (id, held) in &self.held {
            if let Some(node) = self.trees.pages.get(id)
                && node.parked.is_none()
                && let Some(base) = &node.base
                && self.trees.read_only(&node.workspace, &cx.settings).is_none()
                && node.remote.presence == Presence::Listed
            {
                // A page whose deletion fails has no file.
                let path = node.file.as_ref().unwrap_or(&base.path);
                match held {
                    Held::Failing => {
                        let until =
                            self.runtimes.get(id).map(|runtime| runtime.writes.until).unwrap_or_default();
                        let mend = format!("nothing to do: {}", cx.next_try_at(until));
                        needs.tell(Code::Failing, path.as_str(), FAILS, &mend);
                    }
                    Held::Disk(why) if node.file.is_some() => {
                        needs.tell(Code::NotWritten, path.as_str(), why, "espejo retries");
                    }
                    _ => {}
                }
            }
        }
    }

    /// Ends the bootstrap once everything has been compared. From then on, files without an id are new files.
    fn end_bootstrap(&mut self, root: &mut Root, cx: &mut Context) {
        let may_be_over = root.bootstrap
            && root.is_ready()
            && !self.trees.workspaces.is_empty()
            && self.trees.workspaces.values().all(|node| !node.present || node.listed_at.0 > 0);
        if !may_be_over {
            return;
        }
        let pages = &self.trees.pages;
        let is_uncompared = |node: &&Node| {
            node.base.is_none()
                && node.parked.is_none()
                && node.remote.presence == Presence::Listed
                && !self.trees.ignoring.pages.contains(&node.id)
        };
        // Asked after each event of a first mirror: the answer is where it was, or further on.
        let from_there = root.uncompared.take().into_iter().flat_map(|id| pages.range(id..));
        let uncompared = from_there.map(|(_, node)| node).chain(pages.values()).find(is_uncompared);
        root.uncompared = uncompared.map(|node| node.id.clone());
        if root.uncompared.is_none() {
            root.bootstrap = false;
            cx.store.set_meta("adopting", "no");
            self.mark_all_dirty();
        }
    }

    /// Counts the pages. This runs every few seconds, and walks over all pages only during a full pass.
    fn count_pages(&self, polling: &Polling, settings: &Settings) -> Counts {
        let page_counts = &self.trees.page_counts;
        debug_assert_eq!(
            *page_counts,
            PageCounts::anew(self.trees.pages.values(), self.trees.files.values(), page_counts.arrivals),
            "the numbers have not followed the pages and files"
        );
        debug_assert_eq!(
            self.trees.names,
            Names::anew(self.trees.pages.values(), self.trees.files.keys().chain(self.trees.occupied())),
            "the names have not followed the pages and files"
        );
        let mut counts = Counts { mirrored: page_counts.mirrored(), ..Counts::default() };
        for share in self.trees.live_workspaces().into_iter().map(|workspace| page_counts.of(workspace)) {
            counts.listed += share.shown;
            counts.looked += share.looked;
            counts.unseen += share.unseen;
        }
        // Ignored pages are not fetched, and nothing waits for them.
        let ignored = &self.trees.ignoring.pages;
        for node in ignored.iter().filter_map(|id| self.trees.pages.get(id)) {
            counts.mirrored -= usize::from(node.base.is_some());
            if !self.trees.is_live(&node.workspace) || !node.remote.presence.is_shown() {
                continue;
            }
            let is_seen = node.remote.body.is_some();
            counts.listed -= 1;
            counts.looked -= usize::from(is_seen);
            counts.unseen -= usize::from(!is_seen && node.parked.is_none());
        }
        if polling.full_pass.is_some() {
            counts.looked = counts.listed - self.pass_left(polling);
        }
        let in_trouble =
            page_counts.problems.iter().filter_map(|path| self.trees.files.get(path)?.page.as_ref());
        let is_agreed = |id: &&PageId| self.trees.pages.get(*id).is_some_and(|node| node.base.is_some());
        let waiting = in_trouble.chain(self.held.keys()).filter(is_agreed).chain(&page_counts.out_of_step);
        // A change that stays here by the user's wish is not held.
        let is_down = |id: &PageId| {
            self.trees.pages.get(id).is_some_and(|node| self.trees.is_down(&node.workspace, settings))
        };
        let waiting: BTreeSet<&PageId> =
            waiting.filter(|id| !ignored.contains(*id) && !is_down(id)).collect();
        counts.held = waiting.len();
        counts
    }
}

impl Engine {
    /// Whether a notice about a file of a page or a canvas still has that file at its path: it may have been moved
    /// since.
    fn is_where_it_was(&self, path: &str) -> bool {
        let Ok(path) = MirrorPath::new(path) else { return true };
        let trees = &self.pages.trees;
        let is_page = trees.layout().below_pages(&path).is_some() && path.page_stem().is_some();
        !(is_page || may_be_items(&path))
            || trees.files.contains_key(&path)
            || on_core::core_has_file(self, &path)
    }
}

impl Context {
    pub(crate) fn notice(&mut self, code: Code, path: &str, reason: String, action: &str) {
        self.store.add_notice(&Attention::new(code, path, reason, action), self.now);
    }

    /// Drops the notices about these paths, or all of them: the user has seen them.
    pub(crate) fn approve_notices(&mut self, named: &dyn Fn(&MirrorPath) -> bool) -> Result<(), StoreError> {
        // A difference lasts until one side has the other's version.
        for notice in self.store.notices()?.into_iter().filter(|notice| notice.code != Code::Difference) {
            if MirrorPath::new(&notice.path).map_or(named(&MirrorPath::root()), |path| named(&path)) {
                self.store.drop_notice(&notice);
            }
        }
        Ok(())
    }
}

impl AttentionList {
    fn log_conflicts(&mut self, cx: &Context) -> Result<(), StoreError> {
        let told = |conflict: Conflict| {
            Attention::new(Code::Conflict, conflict.page_path.as_str(), conflict.cause(), conflict.mend())
        };
        let conflicts: Vec<Attention> = cx.store.conflicts()?.into_iter().map(told).collect();
        if self.conflicts != conflicts {
            log_changes(&self.conflicts, &conflicts);
            self.conflicts = conflicts;
        }
        Ok(())
    }
}
