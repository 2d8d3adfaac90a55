//! The search as a watch, in the engine: which pages it watches and by which words, and what its answers mean for the
//! schedule. The results of a search are never believed; they only say what to fetch. `watch` has the learning.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::mem;
use std::ops::Bound;

use crate::engine::observe::targets;
use crate::engine::schedule::watch::group::hash_of;
use crate::engine::schedule::watch::words::{self, Words};
use crate::engine::schedule::watch::{Failure, Turn, Watch, belief};
use crate::engine::state::trees::is_known;
use crate::engine::state::watched::{BELIEF, DELAYS};
use crate::engine::state::{Context, Engine, Flight, Health, Pages, Purpose, Trees, Watched};
use crate::model::{
    BodyJson, Effect, Found, HITS_MAX, Node, Page, PageId, Search, ServiceError, ServiceReply, Timestamp,
    WorkspaceId, lines, one_by_one,
};
use crate::store::{StoreError, blocks_of};

/// Pages whose words are read in a second while searches show changes, and while nothing waits for the words.
const READ_SOON: usize = 16;
const READ_AT_LEISURE: usize = 4;
/// Pages whose word is checked in a second.
const CHECKED_AT_ONCE: usize = 64;
const READ_EVERY_MS: i64 = 1_000;
/// Key in the store of what the last searches showed.
const MARKS: &str = "search_marks";
/// How often the results of the last searches are stored.
const KEEP_EVERY_MS: i64 = 900_000;

impl Engine {
    /// The part of changes, from 0 to 1, that the service's search has been found to show; `None` if the watch does not
    /// pay.
    #[must_use]
    pub fn search_shows(&self) -> Option<f64> {
        let belief = self.watched.watch.belief();
        belief.shows().filter(|_| belief.pays())
    }

    /// Reads the words of some pages that are not watched yet. A word is chosen that is rare in the pages read so far.
    /// It is checked when all have been read, and again when there are twice as many; a page is read again if its word
    /// has proved common.
    pub(crate) fn tend_watch(&mut self) -> Result<(), StoreError> {
        let belief = self.watched.watch.belief();
        if belief != self.watched.kept {
            self.watched.kept = belief;
            self.cx.store.set_meta_late(BELIEF, belief::write(&belief));
        }
        if mem::take(&mut self.watched.noticed) {
            self.cx.store.set_meta(DELAYS, &self.watched.delays.write());
        }
        self.watched.keep_marks(&mut self.cx);
        if self.cx.now < self.watched.read_at {
            return Ok(());
        }
        self.watched.read_at = self.cx.now.plus_ms(READ_EVERY_MS);
        for page in self.watched.watch.take_wordless() {
            // The service does not find the page by its word. Another word is tried when the text has changed.
            tracing::debug!(%page, "a search does not find it");
        }
        let page_counts = &self.pages.trees.page_counts;
        let arrivals = page_counts.arrivals;
        if self.watched.read_all == Some(arrivals) || self.polling.full_pass.is_some() {
            return Ok(());
        }
        let looked =
            self.pages.trees.live_workspaces().into_iter().map(|workspace| page_counts.of(workspace).looked);
        if looked.sum::<usize>() < self.cx.settings.watch_from {
            return Ok(());
        }
        let at_once = if self.watched.watch.is_on() { READ_SOON } else { READ_AT_LEISURE };
        if self.watched.counted_all != Some(arrivals) {
            let unread = self.pages.trees.unread_words(&mut self.watched, at_once);
            for page in &unread {
                let said = self.pages.trees.said_by(page, &self.cx)?;
                self.watched.read(page, &said, &self.pages.trees, self.cx.now);
            }
            if !unread.is_empty() {
                return Ok(());
            }
            self.watched.counted_all = Some(arrivals);
        }
        for page in self.watched.check_words(at_once, &self.pages.trees, self.cx.now) {
            let words = words::words(&self.pages.trees.said_by(&page, &self.cx)?);
            self.watched.watch_by_one_of(&page, &words, &self.pages.trees, self.cx.now);
        }
        if self.watched.unchecked.is_empty() {
            self.watched.has_checked(arrivals);
        }
        Ok(())
    }
}

impl Watched {
    /// Counts the words of a page, and chooses one if none has been chosen.
    fn read(&mut self, page: &PageId, said: &str, trees: &Trees, now: Timestamp) {
        let words = words::words(said);
        if self.counted.insert(page.clone()) {
            self.counts.add(&words);
            if let Some(node) = trees.pages.get(page) {
                self.common.entry(node.workspace.to_string()).or_default().add(said);
            }
        }
        if !self.tried.contains(page) {
            self.watch_by_one_of(page, &words, trees, now);
        }
    }

    /// Watches pages by the words chosen for them. Returns pages whose word has proved common, at most so many.
    fn check_words(&mut self, at_most: usize, trees: &Trees, now: Timestamp) -> Vec<PageId> {
        let mut common = Vec::new();
        for _ in 0..CHECKED_AT_ONCE {
            if common.len() == at_most {
                break;
            }
            match self.unchecked.pop_last() {
                Some((page, word)) if self.counts.is_rare(&word) => self.watch_by(&page, &word, trees, now),
                Some((page, _)) => common.push(page),
                None => break,
            }
        }
        common
    }

    /// Records that all pages have a word for themselves, or none. If there are twice as many pages as the last time,
    /// words that were rare may be common, so they are checked first.
    fn has_checked(&mut self, arrivals: u64) {
        if self.counted.len() >= 2 * self.checked_at {
            self.checked_at = self.counted.len().max(1);
            let words = self.watch.words().filter(|(_, word)| !self.counts.is_rare(word));
            self.unchecked = words.map(|(page, word)| (page.clone(), word.into())).collect();
            if !self.unchecked.is_empty() {
                // The words that go stand in the queries until the groups are formed again.
                self.watch.regroup_soon();
                return;
            }
        }
        if self.read_all.replace(arrivals).is_some() {
            return;
        }
        for (area, common) in &mut self.common {
            // A query with new words is not comparable with the one before, so new pages alone do not change them.
            if !self.watch.has_common(area)
                && let Some(words) = common.take_commonest()
            {
                self.watch.set_common(area, words);
            }
        }
        // The maps have grown one by one.
        self.watch.pack();
        self.counted = mem::take(&mut self.counted).into_iter().collect();
        self.tried = mem::take(&mut self.tried).into_iter().collect();
    }
}

impl Watched {
    /// Loads the marks of an earlier run: the first searches show what has changed since.
    pub(crate) fn resume_watch(&mut self, trees: &Trees, cx: &Context) -> Result<(), StoreError> {
        let Some(kept) = cx.store.meta(MARKS)? else { return Ok(()) };
        let node =
            |id: &str| trees.pages.get(&PageId::new(id).ok()?).filter(|node| trees.may_be_watched(node));
        let page = |id: &str| node(id).map(|node| (node.id.clone(), node.poll));
        // A new watch, because `resume` fills one from the marks.
        let mut watch = Watch::new(self.kept);
        self.tried.extend(watch.resume(&kept, page));
        self.watch = watch;
        self.keep_at = cx.now.plus_ms(KEEP_EVERY_MS);
        Ok(())
    }

    fn watch_by_one_of(&mut self, page: &PageId, words: &Words, trees: &Trees, now: Timestamp) {
        self.tried.insert(page.clone());
        match self.counts.choose(words, self.watch.word(page)) {
            Some(word) if self.read_all.is_none() => {
                self.unchecked.insert(page.clone(), word.into());
            }
            Some(word) => self.watch_by(page, word, trees, now),
            None => {
                self.unchecked.remove(page);
                self.watch.leave(page);
            }
        }
    }

    fn watch_by(&mut self, page: &PageId, word: &str, trees: &Trees, now: Timestamp) {
        match trees.pages.get(page) {
            Some(node) => self.watch.enrol(page.clone(), &node.workspace.to_string(), word, node.poll, now),
            // If it comes back, it is read again.
            None => _ = self.tried.remove(page),
        }
    }

    /// Records that a fetch found another body, or the same; the fetch before it was at `last`.
    pub(crate) fn watch_fetched(
        &mut self,
        page: &PageId,
        changed: Option<&Page>,
        last: Timestamp,
        sent: Timestamp,
        trees: &Trees,
        now: Timestamp,
    ) {
        if changed.is_some() {
            let unchanged = self.watch.unmoved(page).map_or(last, |unmoved| unmoved.max(last));
            self.delays.add(now.since_ms(unchanged));
            self.noticed = true;
        }
        self.watch.fetched(page, changed.is_some(), sent, now);
        if let Some(seen) = changed.filter(|_| self.tried.contains(page)) {
            let lines = seen.lines.as_ref().map_or_else(|| lines(&seen.telling).into(), Cow::from);
            if self.watch.word(page).is_none_or(|word| !words::has(&lines, word)) {
                self.watch_by_one_of(page, &words::words(&lines), trees, now);
            }
        }
    }

    /// What this background slot is used for, or which slot of the schedule it is.
    pub(crate) fn next_watch(
        &mut self,
        slot: u64,
        hot: bool,
        pages: &Pages,
        cx: &Context,
    ) -> Result<(Effect, Purpose), u64> {
        loop {
            match self.watch.turn(slot, hot, cx.now) {
                Turn::Schedule(slot) => return Err(slot),
                Turn::Fetch(page) if pages.trees.is_watched(&page) && pages.may_be_fetched(&page, cx) => {
                    tracing::debug!(%page, "the search shows that it changed");
                    return Ok(targets::poll_of(&page));
                }
                Turn::Fetch(_) => {}
                Turn::Ask(group) => {
                    for page in self.watch.pages(group).to_vec() {
                        if !pages.trees.is_watched(&page) {
                            self.watch.leave(&page);
                            self.tried.remove(&page);
                        }
                    }
                    let (area, words) = self.watch.ask(group, cx.now);
                    let Ok(workspace) = WorkspaceId::new(&area) else { return Err(slot) };
                    if words.is_empty() {
                        self.watch.answered(group, &BTreeMap::new(), false, cx.now, cx.now);
                        continue;
                    }
                    let search = Search { workspace, words, limit: HITS_MAX };
                    return Ok((Effect::Search(Box::new(search)), Purpose::Watch { group }));
                }
            }
        }
    }

    /// Applies the answer to a search of the watch.
    pub(crate) fn watch_answered(
        &mut self,
        flight: &Flight,
        group: usize,
        result: Result<ServiceReply, ServiceError>,
        service: &Health,
        now: Timestamp,
    ) {
        match result {
            Ok(ServiceReply::Found(Found { hits, skipped })) => {
                let full = hits.len() + skipped.len() >= usize::from(HITS_MAX) || !skipped.is_empty();
                let pages = hits.iter().filter(|hit| hit.kind == "page");
                let marks = pages.filter_map(|hit| {
                    let begins = hit.snippet.as_deref().map_or(0, hash_of);
                    Some((PageId::new(&hit.id).ok()?, (hit.rank.to_bits(), begins)))
                });
                self.watch.answered(group, &marks.collect(), full, flight.sent_at, now);
            }
            Ok(_) => self.watch.failed(group, Failure::Other, now),
            Err(error) => {
                let failure = match &error {
                    ServiceError::Rejected { .. } => Failure::TooMuch,
                    ServiceError::Server { .. } | ServiceError::Lost(_) if service.failures == 0 => {
                        Failure::PerhapsTooMuch
                    }
                    _ => Failure::Other,
                };
                // The service may repeat the query, and no log may contain that.
                tracing::debug!(?failure, "a search of the watch failed");
                self.watch.failed(group, failure, now);
            }
        }
    }
}

impl Watched {
    /// Stores what the last searches showed, and forms the groups again, when it is time.
    fn keep_marks(&mut self, cx: &mut Context) {
        if self.read_all.is_some() && self.unchecked.is_empty() && self.watch.regroup(cx.now) {
            for (area, common) in &mut self.common {
                if let Some(words) = common.take_commonest() {
                    self.watch.set_common(area, words);
                }
            }
        }
        if cx.now < self.keep_at {
            return;
        }
        self.keep_at = cx.now.plus_ms(KEEP_EVERY_MS);
        if let Some(marks) = self.watch.keep(PageId::to_string) {
            cx.store.set_meta(MARKS, &marks);
        }
    }

    /// Records that espejo itself changed the page's text.
    pub(crate) fn watch_pushed(&mut self, page: &PageId, now: Timestamp) {
        self.watch.pushed(page, now);
    }

    /// Whether a page waits to be fetched because the search shows that it changed.
    pub(crate) fn watch_alarms(&self) -> bool {
        self.watch.alarms() > 0
    }
}

impl Trees {
    /// The next pages that have not been counted or tried. They are looked for behind the last ones, so that all rounds
    /// together are one walk, and from the beginning when there are none behind them.
    fn unread_words(&self, watched: &mut Watched, at_most: usize) -> Vec<PageId> {
        let Watched { counted, tried, read_to, .. } = watched;
        let is_read = |id: &PageId| counted.contains(id) && tried.contains(id);
        loop {
            let from = read_to.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
            let pages = self.pages.range::<PageId, _>((from, Bound::Unbounded));
            let unread = pages.filter(|(id, node)| !is_read(id) && self.may_be_watched(node));
            let found: Vec<PageId> = unread.map(|(id, _)| id.clone()).take(at_most).collect();
            let began_behind = mem::replace(read_to, found.last().cloned()).is_some();
            if !found.is_empty() || !began_behind {
                return found;
            }
        }
    }

    fn said_by(&self, page: &PageId, cx: &Context) -> Result<String, StoreError> {
        let Some(body) = self.pages.get(page).and_then(|node| node.remote.body) else {
            return Ok(String::new());
        };
        let json = cx.store.body_json(body)?;
        json.map_or_else(|| Ok(String::new()), |json| said_in(&BodyJson::known(body, json)))
    }

    fn is_watched(&self, page: &PageId) -> bool {
        self.pages.get(page).is_some_and(|node| self.may_be_watched(node))
    }

    fn may_be_watched(&self, node: &Node) -> bool {
        is_known(node) && self.is_live(&node.workspace)
    }
}

/// The text of a page, as far as its words are read.
fn said_in(content: &BodyJson) -> Result<String, StoreError> {
    let Some(blocks) = one_by_one(content.as_str().as_bytes()) else {
        return Ok(lines(&blocks_of(content)?));
    };
    let mut said = String::new();
    for block in blocks.flatten() {
        said.push_str(&lines(&[block]));
        if said.len() > words::READ_MAX {
            break;
        }
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{PollState, Presence, RemotePage};
    use crate::store::Store;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    /// Pages that have arrived, and a watch that reads them.
    struct World {
        watched: Watched,
        trees: Trees,
        texts: BTreeMap<PageId, String>,
    }

    fn page(number: usize) -> PageId {
        PageId::new(&format!("00000000-0000-4000-8000-{number:012}")).unwrap()
    }

    impl World {
        fn new() -> Self {
            let watched = Watched::open(&Store::in_memory().unwrap()).unwrap();
            Self { watched, trees: Trees::default(), texts: BTreeMap::new() }
        }

        /// Pages with these texts arrive and are read.
        fn read(&mut self, texts: &[&str]) {
            for text in texts {
                let id = page(self.texts.len());
                let remote = RemotePage {
                    parent: None,
                    title: "Plan".into(),
                    icon: None,
                    position: 0.0,
                    presence: Presence::Listed,
                    body: None,
                };
                let workspace = WorkspaceId::new("00000000-0000-4000-9000-000000000000").unwrap();
                self.trees.put(Node::new(id.clone(), workspace, remote, NOW, PollState::default()));
                self.watched.read(&id, text, &self.trees, NOW);
                self.texts.insert(id, (*text).to_owned());
            }
        }

        /// All pages have been read.
        fn check(&mut self) {
            loop {
                for id in self.watched.check_words(2, &self.trees, NOW) {
                    self.watched.watch_by_one_of(&id, &words::words(&self.texts[&id]), &self.trees, NOW);
                }
                if self.watched.unchecked.is_empty() {
                    self.watched.has_checked(self.trees.page_counts.arrivals);
                    if self.watched.unchecked.is_empty() {
                        return;
                    }
                }
            }
        }

        fn words(&self) -> Vec<Option<&str>> {
            (0..self.texts.len()).map(|number| self.watched.watch.word(&page(number))).collect()
        }
    }

    #[test]
    fn a_word_that_proves_common_is_replaced_before_it_is_searched_for() {
        let mut world = World::new();
        world.read(&["extraordinario tomate", "extraordinario pepino", "extraordinario"]);
        assert_eq!(world.words(), [None; 3], "not before all have been read");
        world.check();
        assert_eq!(world.words(), [Some("tomate"), Some("pepino"), None]);
    }

    #[test]
    fn words_are_checked_again_when_there_are_twice_as_many_pages() {
        let mut world = World::new();
        world.read(&["extraordinario tomate", "pepino"]);
        world.check();
        assert_eq!(world.words(), [Some("extraordinario"), Some("pepino")]);
        world.read(&["extraordinario lechuga"]);
        world.check();
        assert_eq!(world.words(), [Some("extraordinario"), Some("pepino"), Some("lechuga")]);
        world.read(&["extraordinario calabaza"]);
        world.check();
        assert_eq!(world.words(), [Some("tomate"), Some("pepino"), Some("lechuga"), Some("calabaza")]);
    }

    #[test]
    fn a_page_that_changes_or_goes_before_its_word_is_checked_is_not_watched_by_it() {
        let mut world = World::new();
        world.read(&["tomate", "pepino", "lechuga"]);
        world.watched.watch_by_one_of(&page(0), &words::words("calabaza"), &world.trees, NOW);
        let gone = world.trees.pages.remove(&page(1)).unwrap();
        assert_eq!(world.words(), [None; 3]);
        world.check();
        assert_eq!(world.words(), [Some("calabaza"), None, Some("lechuga")]);
        // It comes back.
        world.trees.put(gone);
        assert!(!world.watched.tried.contains(&page(1)));
        world.watched.read(&page(1), "pepino", &world.trees, NOW);
        assert_eq!(world.words()[1], Some("pepino"));
    }
}
