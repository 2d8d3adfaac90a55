//! The service's search as a watch: one request shows for up to some fifty pages whether their text changed. It is a
//! hint that must prove useful, and never evidence: pages that it names are fetched, the others have their turn in
//! [`crate::engine::schedule::poll`].
//!
//! Each page is in a group, with a word of its own; the group's words, joined by OR, find just its pages. The mark of a
//! page is what a search shows of it: its rank and how its text begins. If a rank is the sum over all words of a query,
//! one more branch makes nearly every save change the rank: a phrase of the workspace's most common words and a word
//! that occurs nowhere. It finds no page, and each of its words counts in each page's rank.
//!
//! Whether marks change with texts is not known in advance, so it is learned ([`belief`]) from fetches that happen
//! anyway: if one finds a change, had the mark changed? If marks do not change, hardly any search is made. Marks of
//! different queries are not compared: a group keeps its query while it can. The module is arithmetic on its arguments;
//! words are chosen in [`words`] and counted in [`common`].

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;

use crate::engine::schedule::poll;
use crate::model::{PollState, Timestamp};

mod answer;
pub(crate) mod belief;
pub(crate) mod common;
pub(crate) mod group;
mod kept;
pub(crate) mod noticed;

pub(crate) mod words;

pub(crate) use belief::Belief;

/// Pages in one search. Some of its fifty results are left for other pages that have one of the words.
const GROUP: usize = 46;
/// The smallest size of a group. Groups become smaller if their searches find other pages.
const GROUP_MIN: usize = 5;
/// The delay after which a change is in the service's index.
const INDEXED_MS: i64 = 10_000;
/// The shortest interval between two searches for a group; the longer one if there are few groups, so that fetches keep
/// their share.
const AGAIN_MS: i64 = 8_000;
const AGAIN_FEW_MS: i64 = 15_000;
const FEW_GROUPS: usize = 3;
/// While it is unknown whether marks change, a search leaves this long after the last one, and later after each vain
/// one.
const PROBE_MS: i64 = 20_000;
const PROBE_MAX_DOUBLINGS: u32 = 12;
/// Slots of sixteen that go to the oldest fetch while the watch is on, besides every fourth one. No fetch is then older
/// than two laps and a half.
const OLDEST_TOO: [u64; 3] = [3, 7, 11];
/// Slots of sixteen that searches have while the watch shows little.
const FEW_ASKS: [u64; 5] = [1, 5, 9, 13, 15];
/// A page that changed longer ago than this is not expected to change again soon.
const LATELY_MS: i64 = 600_000;
/// The most changed pages that are remembered.
const CHANGED: usize = 30;
/// The pause after a failed search; it grows with each one.
const FAILED_MS: i64 = 600_000;
/// The pause after a search was refused for what it asks, before a smaller one.
const REFUSED_MS: i64 = 60_000;
/// How often groups are formed again, so that active pages are together.
const REGROUP_MS: i64 = 6 * 3_600_000;

/// What a search shows of a page: rank and beginning as bits; `None` if it does not find the page.
pub type Mark = Option<(u64, u64)>;

/// Why a search failed, as far as the next one depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The service refuses the query.
    TooMuch,
    /// It failed or took too long, while the service answers other requests. Twice in a row, this counts as too much.
    PerhapsTooMuch,
    /// A shorter search would have failed too.
    Other,
}

/// What a background slot is used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn<K> {
    /// A fetch of this page, because its mark has changed.
    Fetch(K),
    /// The search for this group.
    Ask(usize),
    /// The choice of [`crate::engine::schedule::poll::next`] for this slot.
    Schedule(u64),
}

#[derive(Debug)]
struct Post {
    group: usize,
    /// Also in the group's query.
    word: Arc<str>,
    /// What the last search showed, and when it was sent; `None` if the next one only sets it.
    mark: Option<(Mark, Timestamp)>,
    /// Whether the mark belongs to the known text: a fetch after it found nothing new.
    known: bool,
    /// Number of changes that fetches have found since the text of the mark: the next answer is a sample of them.
    tests: u32,
    /// Answers to searches that left before this time are of no use.
    from: Timestamp,
    alarmed: bool,
    /// When the last search left that showed its mark unchanged.
    unmoved: Timestamp,
    /// When its last change was a sample of what searches show.
    sampled: Timestamp,
    /// Its activity, as in the schedule.
    poll: PollState,
}

impl Post {
    /// Records that a change of this page is a sample. Returns whether another one was shortly before.
    fn samples_again(&mut self, now: Timestamp) -> bool {
        now.since_ms(std::mem::replace(&mut self.sampled, now)) < belief::AGAIN_MS
    }
}

/// The watch over pages named `K`.
#[derive(Debug)]
pub struct Watch<K> {
    belief: Belief,
    groups: Vec<Group<K>>,
    posts: BTreeMap<K, Post>,
    /// The most common words of each area, and a word that occurs nowhere.
    common: BTreeMap<String, Vec<String>>,
    nowhere: String,
    alarms: VecDeque<K>,
    /// Pages that fetches have found changed, the latest last.
    changed: VecDeque<K>,
    /// Pages whose word does not find them.
    wordless: Vec<K>,
    size: usize,
    asked: Timestamp,
    /// Searches since the last sample.
    since_sample: u32,
    failures: u32,
    /// Whether the last search failed and was perhaps too much.
    doubted: bool,
    rests_until: Timestamp,
    regrouped: Timestamp,
    asks: u64,
}

impl<K: Ord + Clone> Watch<K> {
    /// A watch with what an earlier run has learned.
    #[must_use]
    pub fn new(belief: Belief) -> Self {
        Self {
            belief,
            groups: Vec::new(),
            posts: BTreeMap::new(),
            common: BTreeMap::new(),
            nowhere: "zzqqxx".to_owned(),
            alarms: VecDeque::new(),
            changed: VecDeque::new(),
            wordless: Vec::new(),
            size: GROUP,
            asked: Timestamp::default(),
            since_sample: 0,
            failures: 0,
            doubted: false,
            rests_until: Timestamp::default(),
            regrouped: Timestamp::default(),
            asks: 0,
        }
    }

    /// The watched pages, each with its word.
    pub fn words(&self) -> impl Iterator<Item = (&K, &str)> {
        self.posts.iter().map(|(page, post)| (page, &*post.word))
    }

    /// Builds the map of pages anew, with full nodes.
    pub fn pack(&mut self) {
        packed(&mut self.posts);
    }

    /// What has been learned so far.
    #[must_use]
    pub fn belief(&self) -> Belief {
        self.belief
    }

    /// Whether searches are used for more than learning.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.belief.pays()
    }

    /// The word of a watched page.
    #[must_use]
    pub fn word(&self, page: &K) -> Option<&str> {
        self.posts.get(page).map(|post| &*post.word)
    }

    /// Sets the most common words of an area, for the branch that cannot match.
    pub fn set_common(&mut self, area: &str, words: Vec<String>) {
        self.common.insert(area.to_owned(), words);
    }

    /// Whether the most common words of an area are known.
    #[must_use]
    pub fn has_common(&self, area: &str) -> bool {
        self.common.contains_key(area)
    }

    /// Watches a page by a word that it has for itself in its area, a workspace. A watched page gets the new word.
    pub fn enrol(&mut self, page: K, area: &str, word: &str, poll: PollState, now: Timestamp) {
        self.leave(&page);
        let group = self.room_for(area, None);
        let word = self.groups[group].take(page.clone(), &Arc::from(word));
        let post = Post {
            group,
            word,
            mark: None,
            known: false,
            tests: 0,
            from: now,
            alarmed: false,
            unmoved: Timestamp::default(),
            sampled: Timestamp::default(),
            poll,
        };
        self.posts.insert(page, post);
    }

    /// Stops watching a page. Its word stays in its group's query until the query must change, for the sake of the
    /// others.
    pub fn leave(&mut self, page: &K) {
        if let Some(post) = self.posts.remove(page) {
            self.groups[post.group].pages.retain(|other| other != page);
            self.alarms.retain(|other| other != page);
        }
    }

    /// Takes the pages whose word did not find them. They are not watched until they are enrolled with another one.
    pub fn take_wordless(&mut self) -> Vec<K> {
        std::mem::take(&mut self.wordless)
    }

    /// When a search last showed a page unchanged, if another one has since shown it changed.
    #[must_use]
    pub fn unmoved(&self, page: &K) -> Option<Timestamp> {
        self.posts.get(page).filter(|post| post.alarmed).map(|post| post.unmoved)
    }

    /// Records that a fetch, sent at `sent`, found the page `changed` or not.
    pub fn fetched(&mut self, page: &K, changed: bool, sent: Timestamp, now: Timestamp) {
        let Some(post) = self.posts.get_mut(page) else { return };
        let level = self.groups[post.group].level;
        let alarmed = std::mem::replace(&mut post.alarmed, false);
        if alarmed {
            self.alarms.retain(|other| other != page);
            self.belief.alarm(changed);
            self.since_sample = 0;
        }
        if !changed {
            post.known |= post.mark.is_some_and(|(_, at)| at < sent);
            return;
        }
        poll::changed(&mut post.poll, now);
        if alarmed {
            self.belief.sample(level, 1, true, post.samples_again(now));
            // The mark is of this text or of one shortly before: a new one is worth a fetch again.
            (post.known, post.tests, post.from) = (true, 0, now);
        } else {
            if !(post.known && post.mark.is_some()) {
                post.mark = None;
            }
            post.tests = if post.mark.is_some() { post.tests + 1 } else { 0 };
            post.known &= post.tests > 0;
            post.from = now.plus_ms(INDEXED_MS);
        }
        let group = post.group;
        self.groups[group].weighed = Timestamp::default();
        self.changed.retain(|other| other != page);
        self.changed.push_back(page.clone());
        if self.changed.len() > CHANGED {
            self.changed.pop_front();
        }
    }

    /// Records that espejo itself changed the text: the next change of the mark means nothing.
    pub fn pushed(&mut self, page: &K, now: Timestamp) {
        if let Some(post) = self.posts.get_mut(page) {
            (post.mark, post.known, post.tests, post.alarmed) = (None, false, 0, false);
            post.from = now.plus_ms(INDEXED_MS);
            self.alarms.retain(|other| other != page);
        }
    }

    /// What background slot number `slot` is used for; `hot`: a target is being edited and due. While the watch is on,
    /// seven of sixteen go to the oldest fetch, and the others to pages that are alarmed, hot, or may be shown by a
    /// search. They are taken from probable changes, which the watch finds sooner.
    pub fn turn(&mut self, slot: u64, hot: bool, now: Timestamp) -> Turn<K> {
        let is_on = self.is_on() && now >= self.rests_until;
        let is_oldest = slot.is_multiple_of(4) || (is_on && OLDEST_TOO.contains(&(slot % 16)));
        let schedule = Turn::Schedule(if is_oldest { 0 } else { slot });
        if is_oldest {
            return schedule;
        }
        if let Some(page) = self.alarms.pop_front() {
            return Turn::Fetch(page);
        }
        if now < self.rests_until {
            return schedule;
        }
        let is_hots = slot % 4 == 2;
        let group = if !is_on {
            if is_hots { None } else { self.probe(now) }
        } else if is_hots && hot || !(self.belief.pays_well() || FEW_ASKS.contains(&(slot % 16))) {
            None
        } else {
            self.worth_asking(now)
        };
        group.map_or(schedule, Turn::Ask)
    }

    /// The group whose search teaches most: of a page that a fetch has just found changed, else of one that may change.
    fn probe(&self, now: Timestamp) -> Option<usize> {
        let doublings = (self.belief.vain + self.since_sample / 4).min(PROBE_MAX_DOUBLINGS);
        if now.since_ms(self.asked) < PROBE_MS << doublings {
            return None;
        }
        let useful = |page: &&K| {
            self.posts.get(page).is_some_and(|post| {
                post.from <= now
                    && !self.groups[post.group].under_way
                    && (post.tests > 0 || (post.mark.is_none() && now.since_ms(post.from) < LATELY_MS))
            })
        };
        // The latest is the likeliest to change again.
        let tests = |page: &&&K| self.posts.get(page).is_some_and(|post| post.tests > 0);
        let useful: Vec<&K> = self.changed.iter().rev().filter(useful).collect();
        let chosen = useful.iter().find(tests).or(useful.first())?;
        self.posts.get(chosen).map(|post| post.group)
    }

    /// The pages of a group.
    #[must_use]
    pub fn pages(&self, group: usize) -> &[K] {
        self.groups.get(group).map_or(&[], |group| &group.pages)
    }

    /// Number of pages that wait to be fetched.
    #[must_use]
    pub fn alarms(&self) -> usize {
        self.alarms.len()
    }

    /// Number of searches made.
    #[must_use]
    pub fn asks(&self) -> u64 {
        self.asks
    }

    /// Records that a group's search failed.
    pub fn failed(&mut self, group: usize, failure: Failure, now: Timestamp) {
        let Some(asked) = self.groups.get_mut(group) else { return };
        asked.under_way = false;
        let again = std::mem::replace(&mut self.doubted, failure == Failure::PerhapsTooMuch);
        if failure == Failure::PerhapsTooMuch && !again {
            self.rests_until = now.plus_ms(REFUSED_MS);
            return;
        }
        let too_much = failure != Failure::Other;
        if too_much && self.belief.refused(asked.level, now) {
            self.rests_until = now.plus_ms(REFUSED_MS);
            return;
        }
        if too_much {
            self.shrink(group, self.size / 2, &[]);
        }
        self.failures += 1;
        self.rests_until = now.plus_ms(FAILED_MS << (self.failures - 1).min(8));
    }
}

#[cfg(test)]
mod tests;

/// What is in order becomes a map of full nodes.
pub(crate) fn packed<K: Ord, V>(map: &mut BTreeMap<K, V>) {
    *map = mem::take(map).into_iter().collect();
}

#[derive(Debug)]
pub(super) struct Group<K> {
    pub(super) area: String,
    pub(super) pages: Vec<K>,
    pub(super) asked: Timestamp,
    /// When the search before that left.
    pub(super) before: Timestamp,
    pub(super) under_way: bool,
    /// The words of its query, also those of pages that have left it: marks of another query are not comparable.
    pub(super) words: Vec<Arc<str>>,
    /// The hash of the last query, and its number of words in the branch that cannot match, as a level.
    pub(super) query: u64,
    pub(super) level: usize,
    /// The activity of its pages, and when it was computed.
    pub(super) weight: f64,
    pub(super) weighed: Timestamp,
}

impl<K> Group<K> {
    pub(super) fn new(area: String) -> Self {
        Self {
            area,
            pages: Vec::new(),
            asked: Timestamp::default(),
            before: Timestamp::default(),
            under_way: false,
            words: Vec::new(),
            query: 0,
            level: 0,
            weight: 0.0,
            weighed: Timestamp::default(),
        }
    }
}
