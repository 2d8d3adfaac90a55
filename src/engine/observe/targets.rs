//! The one schedule of everything that is polled: pages, canvases and folders of the storage, all of which have been
//! fetched before. [`poll`] says when each has its turn. Lists with a fixed time, and first fetches, are elsewhere.

use std::collections::BTreeSet;

use crate::core::ItemKey;
use crate::engine::on_core;
use crate::engine::schedule::pace::Class;
use crate::engine::schedule::poll::{self, Survey};
use crate::engine::state::{Context, Engine, Pages, Purpose};
use crate::model::{Effect, Node, PageId, PollState, Timestamp};

/// An item that is polled.
#[derive(Clone, Copy)]
enum Target<'a> {
    Page(&'a PageId),
    Item(ItemKey),
}

impl Target<'_> {
    fn look(self) -> (Effect, Purpose) {
        match self {
            Self::Page(page) => {
                let purpose = Purpose::Fetch { page: page.clone(), class: Class::Background, reserve: 0 };
                (Effect::FetchPage(page.clone()), purpose)
            }
            Self::Item(key) => on_core::core_fetch(key, Class::Background),
        }
    }
}

impl Engine {
    /// The next poll, if one may leave now and something is worth it.
    pub(crate) fn next_poll(&mut self) -> Option<(Effect, Purpose)> {
        // A pass must end: polling goes on after it.
        if self.polling.full_pass.is_some() || !self.cx.pace.allows(Class::Background, 1, false, self.cx.now)
        {
            return None;
        }
        let (eager, every_ms) = (self.cx.settings.eager, self.cx.pace.background_every_ms());
        // This runs after each event, mostly when no page is worth a fetch.
        let targets = self.targets_at_least();
        let trees = &self.pages.trees;
        let any_page = eager || self.cx.now >= trees.due || targets < trees.due_among;
        // One walk says what each of the slots would get, and whether few fetches are enough because nothing has
        // changed for an hour.
        let survey =
            Survey::of(self.targets(any_page), self.cx.now).among(if any_page { 0 } else { targets });
        debug_assert!(
            any_page
                || (0..4).all(|slot| poll::next(self.targets(true), slot, false, self.cx.now).is_none()
                    || survey.choose(slot, false).is_some()),
            "a page was due"
        );
        let hot = survey.has_hot();
        let is_quiet = any_page.then(|| !eager && survey.rests(every_ms));
        let by_slot = [0, 1, 2, 3].map(|slot| survey.choose(slot, eager).map(Target::look));
        if any_page && by_slot.iter().all(Option::is_none) {
            // A few effects more under way change nothing.
            self.pages.trees.find_due(targets * 3 / 4);
        }
        let choice = self.next_slot(by_slot, hot)?;
        let is_quiet =
            is_quiet.unwrap_or_else(|| Survey::of(self.targets(true), self.cx.now).rests(every_ms));
        self.cx.pace.rest(is_quiet);
        Some(choice)
    }

    /// The request for the next slot. If the schedule has nothing, a slot for the watch still comes.
    fn next_slot(
        &mut self,
        mut by_slot: [Option<(Effect, Purpose)>; 4],
        hot: bool,
    ) -> Option<(Effect, Purpose)> {
        let mut scheduled = true;
        for slot in self.polling.poll_slot + 1..=self.polling.poll_slot + 4 {
            let next = match self.watched.next_watch(slot, hot, &self.pages, &self.cx) {
                Ok(choice) => Some(choice),
                Err(slot) if scheduled => {
                    usize::try_from(slot % 4).ok().and_then(|slot| by_slot.get_mut(slot)?.take())
                }
                Err(_) => None,
            };
            if next.is_some() {
                self.polling.poll_slot = slot;
                return next;
            }
            scheduled = false;
        }
        None
    }

    /// At most the number of pages that may be fetched now, without a walk.
    fn targets_at_least(&self) -> i64 {
        if self.pages.retries_until > self.cx.now {
            return 0;
        }
        let trees = &self.pages.trees;
        let shown = trees.live_workspaces().into_iter().map(|id| trees.page_counts.of(id).shown);
        let busy = self.cx.in_flight.flights.len() + self.cx.in_flight.ready.iter().count();
        let fewest = shown.sum::<usize>().saturating_sub(trees.ignoring.pages.len() + busy);
        i64::try_from(fewest).unwrap_or(0)
    }

    /// All that may be fetched now, or all but the pages.
    fn targets(&self, with_pages: bool) -> impl Iterator<Item = (Target<'_>, &PollState)> {
        // The few pages that may not be fetched, once for all pages: as in `may_be_fetched`.
        let busy = self.cx.in_flight.flights.values().filter_map(|flight| flight.purpose.page());
        let ready = self.cx.in_flight.ready.iter().filter_map(|(_, purpose)| purpose.page());
        let waits = self.pages.retries_until > self.cx.now;
        let runtimes = waits.then_some(&self.pages.runtimes).into_iter().flatten();
        let put_off = runtimes.filter(|(_, runtime)| runtime.failing.until > self.cx.now);
        let away: BTreeSet<&PageId> = busy.chain(ready).chain(put_off.map(|(id, _)| id)).collect();
        let pages = with_pages.then(|| self.pages.trees.polled()).into_iter().flatten();
        // Both are in the order of ids: one comparison for each page instead of a search.
        let mut away = away.into_iter().peekable();
        let is_there = move |node: &&Node| {
            while away.next_if(|id| **id < node.id).is_some() {}
            away.peek().is_none_or(|id| **id != node.id)
        };
        pages
            .filter(is_there)
            .map(|node| (Target::Page(&node.id), &node.poll))
            .chain(on_core::core_targets(self).map(|(key, poll)| (Target::Item(key), poll)))
    }

    /// When the background may have a request.
    pub(crate) fn next_poll_due(&self, now: Timestamp) -> Timestamp {
        let class = if self.polling.full_pass.is_some() { Class::Asked } else { Class::Background };
        let at = self.cx.pace.earliest(class, 1, false, now);
        let work = self.pages.any_unseen(self.cx.now)
            || self.polling.full_pass.is_some()
                && self.pages.trees.polled().any(|node| {
                    self.pages.pass_wants(&node.id, &self.polling)
                        && !self.pages.is_put_off(&node.id, self.cx.now)
                });
        if work || self.cx.settings.eager || self.watched.watch_alarms() {
            return at;
        }
        // Pages have a time before which none is worth a fetch. Canvases, folders and the watch must be checked.
        at.max(self.pages.trees.due.min(poll::next_check(now)))
    }
}

impl Pages {
    /// Whether a fetch of this page is neither under way nor deferred after one that failed.
    pub(crate) fn may_be_fetched(&self, page: &PageId, cx: &Context) -> bool {
        !cx.in_flight.is_busy(page)
            && self.runtimes.get(page).is_none_or(|runtime| runtime.failing.until <= cx.now)
    }
}

pub(crate) fn poll_of(page: &PageId) -> (Effect, Purpose) {
    Target::Page(page).look()
}
