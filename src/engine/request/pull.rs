//! Fetches that a user requested now. They leave before the background's, within the limit and after any edit, and do
//! not change how their results are handled.

use crate::engine::on_core;
use crate::engine::schedule::pace::Class;
use crate::engine::state::activity::Activity;
use crate::engine::state::{Context, Engine, Lists, Pages, Pull, Purpose, Trees};
use crate::model::{Attention, Effect, Hold, MirrorPath, Node, PageId, Presence, WorkspaceId};

/// Numbers of fetched items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checked {
    /// Pages.
    pub pages: usize,
    /// Whiteboards and slides.
    pub canvases: usize,
    /// Folders of the storage.
    pub folders: usize,
    /// Lists of workspaces, pages, whiteboards, presentations and slides.
    pub lists: usize,
}

impl Checked {
    /// The sum of all.
    #[must_use]
    pub fn all(&self) -> usize {
        self.pages + self.canvases + self.folders + self.lists
    }
}

/// The progress of a pull.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pulled {
    /// What has been fetched.
    pub checked: Checked,
    /// Fetches that are still to be made.
    pub left: usize,
    /// Stored files that came or went, and the result for each.
    pub stored: Vec<(String, String)>,
    /// A place where the service has nothing.
    pub unknown: Option<MirrorPath>,
    /// Why nothing more is fetched; `None` if the pull goes on.
    pub failed: Option<String>,
    /// Whether everything was fetched, and the folder follows it.
    pub is_over: bool,
}

impl Engine {
    /// Fetches what is at these places now, and syncs it.
    pub(crate) fn pull(&mut self, places: &[MirrorPath]) {
        self.commands.pulling.last += 1;
        let (number, since, asked_at) = (self.commands.pulling.last, self.cx.tick, self.cx.now);
        let mut pull = Pull { number, since, asked_at, places: places.to_vec(), ..Pull::default() };
        for place in places {
            if !self.name_place(&mut pull, place) {
                pull.unmet.push(place.clone());
            }
        }
        // A scan that is under way left too early to show what is there now.
        self.folder.watch.asked = self.cx.now;
        self.folder.watch.scan_by(self.cx.now);
        if self.service.down.is_some() {
            // The user may know that the service is back.
            self.service.quiet_until = self.cx.now;
        }
        self.commands.pulling.all.push(pull);
    }

    /// The number of the last pull.
    #[must_use]
    pub fn last_pull(&self) -> u64 {
        self.commands.pulling.last
    }

    /// The progress of a pull; `None` after its end.
    #[must_use]
    pub fn pulled(&self, number: u64) -> Option<Pulled> {
        self.commands.pulling.all.iter().find(|pull| pull.number == number).map(|pull| self.progress(pull))
    }

    /// Ends a pull: the caller has got the result, or does not wait any more.
    pub fn end_pull(&mut self, number: u64) {
        self.commands.pulling.all.retain(|pull| pull.number != number);
    }

    /// Adds the items at `place`, or at the file that is drawn there. Returns whether there are any.
    fn name_place(&mut self, pull: &mut Pull, place: &MirrorPath) -> bool {
        named_at(place).iter().any(|place| {
            let asked = on_core::core_fetches_now(self, place);
            let is_any = asked.is_some();
            pull.on_core.extend(asked);
            self.name_exactly(pull, place) || is_any
        })
    }

    fn name_exactly(&self, pull: &mut Pull, place: &MirrorPath) -> bool {
        let before = (pull.pages.len(), pull.page_lists.len());
        let of = |node: &Node| {
            let base = node.base.as_ref().map(|base| &base.path);
            node.file.as_ref().or(base).is_some_and(|path| {
                // A page may be named without its ending, like its folder.
                path.is_within(place) || path.as_str().strip_suffix(".md") == Some(place.as_str())
            })
        };
        pull.pages.extend(self.pages.trees.polled().filter(|node| of(node)).map(|node| node.id.clone()));
        let is_file = self.pages.trees.files.contains_key(place);
        for space in
            self.pages.trees.workspaces.values().filter(|space| self.pages.trees.is_live(&space.seen.id))
        {
            let Some(pages) = self.pages.trees.layout().pages_root(&space.seen.id) else { continue };
            if pages.is_within(place) {
                pull.whole.insert(space.seen.id.clone());
                pull.page_lists.insert(space.seen.id.clone());
            } else if place.is_within(&pages) && !is_file && pull.pages.len() > before.0 {
                pull.page_lists.insert(space.seen.id.clone());
            }
        }
        before != (pull.pages.len(), pull.page_lists.len())
    }

    /// The next fetch that a user waits for.
    pub(crate) fn next_pulled(&mut self) -> Option<(Effect, Purpose)> {
        if !self.commands.pulling.is_any() || !self.cx.pace.allows(Class::Asked, 1, false, self.cx.now) {
            return None;
        }
        let mut all = std::mem::take(&mut self.commands.pulling.all);
        let next = all.iter_mut().filter(|pull| pull.failed.is_none()).find_map(|pull| {
            self.name_new(pull);
            self.next_of(pull)
        });
        self.commands.pulling.all = all;
        next
    }

    fn next_of(&mut self, pull: &Pull) -> Option<(Effect, Purpose)> {
        if let Some(space) = pull
            .page_lists
            .iter()
            .find(|space| self.polling.lists.page_list_is_wanted(space, pull.since, &self.pages.trees))
            && let Some(list) = self.polling.lists.list_for_edit(space, &self.pages.trees, &self.cx)
        {
            return Some(list);
        }
        let page = pull.pages.iter().find(|page| {
            self.pages.is_second_look(page, &self.polling.lists)
                || self.pages.page_is_wanted(page, pull.since) && !self.pages.is_put_off(page, self.cx.now)
        });
        if let Some(page) = page.filter(|page| !self.cx.in_flight.is_busy(page)).cloned() {
            if self.pages.is_second_look(&page, &self.polling.lists) {
                // The list has decided meanwhile: there is nothing to wait for.
                self.pages.put_off(&page, self.cx.now);
            }
            let purpose = Purpose::Fetch { page: page.clone(), class: Class::Asked, reserve: 0 };
            return Some((Effect::FetchPage(page), purpose));
        }
        None
    }

    /// Adds what the lists brought.
    fn name_new(&self, pull: &mut Pull) {
        let is_beneath = |node: &Node| {
            let mut at = node.remote.parent.as_ref();
            // Deeper than any page is, so that a cycle ends.
            for _ in 0..100 {
                match at {
                    Some(parent) if pull.pages.contains(parent) => return true,
                    Some(parent) => {
                        at = self.pages.trees.pages.get(parent).and_then(|node| node.remote.parent.as_ref());
                    }
                    None => return false,
                }
            }
            false
        };
        let has_unseen = |space: &&WorkspaceId| {
            let share = self.pages.trees.page_counts.of(space);
            share.shown != share.looked
        };
        let spaces: Vec<&WorkspaceId> = pull.page_lists.iter().filter(has_unseen).collect();
        if !spaces.is_empty() {
            let new = self.pages.trees.polled().filter(|node| {
                node.remote.body.is_none()
                    && spaces.contains(&&node.workspace)
                    && (pull.whole.contains(&node.workspace) || is_beneath(node))
            });
            let new: Vec<PageId> = new.map(|node| node.id.clone()).collect();
            pull.pages.extend(new);
        }
    }

    fn progress(&self, pull: &Pull) -> Pulled {
        let may_come = may_come(self, pull);
        let unknown = if may_come { None } else { unknown(self, pull) };
        let mut pull = pull.clone();
        // An answer that came since may have brought more.
        self.name_new(&mut pull);
        let since = pull.since;
        let is_wanted =
            |space: &&WorkspaceId| self.polling.lists.page_list_is_wanted(space, since, &self.pages.trees);
        let left_of_lists = pull.page_lists.iter().filter(is_wanted).count();
        let core = on_core::core_fetched(self, &pull.on_core);
        let left = Checked {
            pages: pull.pages.iter().filter(|page| self.pages.page_is_wanted(page, since)).count(),
            canvases: core.items_left,
            folders: core.folders_left,
            lists: left_of_lists + core.lists_left,
        };
        let lists = pull.page_lists.len() + core.lists;
        let stopped = match (&self.service.stopped, &self.folder.root.state, self.service.paused) {
            (_, _, Some(_)) => Some("espejo is paused; continue with espejo resume".to_owned()),
            (Some(why), _, _) => Some(format!("no requests are sent: {why}")),
            (None, Some(Err(why)), _) => Some(format!("nothing is written on either side: {why}")),
            _ => None,
        };
        let failed = pull.failed.or(stopped);
        let is_over = failed.is_none()
            && !may_come
            && unknown.is_none()
            && left.all() == 0
            && !self.identity_batches.is_under_way()
            && self.pages.batch.is_over()
            && !self.pages.all_dirty
            && pull.pages.iter().all(|page| self.pages.page_rests(page, &self.polling.lists, &self.cx))
            && core.is_in_step;
        Pulled {
            checked: Checked {
                pages: pull.pages.len() - left.pages,
                canvases: core.items - left.canvases,
                folders: core.folders - left.folders,
                lists: lists - left.lists,
            },
            left: left.all(),
            stored: pull.stored,
            unknown,
            failed,
            is_over,
        }
    }
}

/// Whether what was asked for may still become known: the folder was not scanned since, or a file there is being read, sent
/// or made an item.
fn may_come(engine: &Engine, pull: &Pull) -> bool {
    let is_here = |path: &MirrorPath| pull.places.iter().any(|place| covers(place, path));
    let watch = &engine.folder.watch;
    watch.scanned < pull.asked_at
        || !watch.is_told()
        || watch.touched.keys().chain(watch.unread.keys()).chain(watch.candidates.keys()).any(is_here)
        || engine.pages.creations.drafts().any(|draft| is_here(&draft.path))
        || engine.pages.is_making(&is_here, &engine.folder, &engine.cx)
        || on_core::core_is_making(engine, &is_here)
}

/// The first place at which neither the service nor the folder has anything that is synced.
fn unknown(engine: &Engine, pull: &Pull) -> Option<MirrorPath> {
    let is_known = |place: &MirrorPath| {
        let mut named = Pull::default();
        engine.name_exactly(&mut named, place) || on_core::core_knows(engine, place)
    };
    let is_waiting = |place: &MirrorPath| {
        let is_at = |need: &Attention| MirrorPath::new(&need.path).is_ok_and(|path| covers(place, &path));
        engine.attention.is_any(&is_at)
    };
    pull.unmet.iter().find(|place| !named_at(place).iter().any(is_known) && !is_waiting(place)).cloned()
}

/// Whether `path` is at a place, beneath it, or the page of the folder there.
fn covers(place: &MirrorPath, path: &MirrorPath) -> bool {
    path.is_within(place) || path.as_str().strip_suffix(".md") == Some(place.as_str())
}

/// The places that a person may mean: what the file there is drawn from comes first, as a list names the place of a picture too.
fn named_at(place: &MirrorPath) -> Vec<MirrorPath> {
    let beside = |ending: &str| {
        let stem = place.name().rsplit_once('.').map_or(place.name(), |(stem, _)| stem);
        place.parent().and_then(|up| up.join(&format!("{stem}{ending}")).ok())
    };
    let drawn = [".svg", ".html", ".canvas"].iter().any(|ending| place.name().ends_with(ending));
    let others = [beside(".canvas"), beside(".md")].into_iter().flatten().filter(|_| drawn);
    others.chain([place.clone()]).collect()
}

impl Lists {
    fn page_list_is_wanted(&self, space: &WorkspaceId, since: u64, trees: &Trees) -> bool {
        trees.workspaces.get(space).is_some_and(|node| node.present) && self.list_looked(space) <= since
    }
}

impl Pages {
    /// Whether a page that a fetch did not find, and the next list lacks, is to be fetched once more.
    fn is_second_look(&self, page: &PageId, lists: &Lists) -> bool {
        let runtime = self.runtimes.get(page);
        self.trees.pages.get(page).is_some_and(|node| {
            node.remote.presence == Presence::Unlisted
                && runtime.is_some_and(|runtime| runtime.looked <= lists.list_looked(&node.workspace))
        })
    }

    /// Whether the folder follows what the last fetch of a page showed, or cannot.
    fn page_rests(&self, page: &PageId, lists: &Lists, cx: &Context) -> bool {
        let Some(node) = self.trees.pages.get(page) else { return true };
        if cx.in_flight.is_busy(page) {
            return false;
        }
        let waits = self.held.contains_key(page) || self.trees.is_unreadable(page, cx.now);
        let is_wanted = self.request_queue.pressing().contains_key(page) || self.dirty.contains(page);
        let runtime = self.runtimes.get(page);
        // A fetch did not find it, and the list has not been requested since.
        let in_doubt = node.remote.presence == Presence::Listed
            && !matches!(node.hold(), Some(Hold::Fetch(_)))
            && runtime.is_some_and(|runtime| {
                runtime.looked > runtime.seen && runtime.looked >= lists.list_looked(&node.workspace)
            });
        waits || !is_wanted && !in_doubt
    }
}

impl Pages {
    fn page_is_wanted(&self, page: &PageId, since: u64) -> bool {
        let is_polled = self.trees.pages.get(page).is_some_and(|node| self.trees.is_polled(node));
        is_polled && self.runtimes.get(page).is_none_or(|runtime| runtime.looked <= since)
    }
}

impl Engine {
    /// Activity since the last call, for the user.
    pub fn take_activities(&mut self) -> Vec<Activity> {
        let happened = std::mem::take(&mut self.cx.activities);
        self.commands.pulling.hear(&happened);
        happened
    }
}
