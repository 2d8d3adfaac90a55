//! The service's search as a watch: one request shows of up to forty pages whether their text moved. A hint that must
//! earn its keep, and never evidence: what it names is looked at, what it does not name has its turn in [`super::poll`].
//!
//! Each page stands in a group with a word that is its own; the group's words, joined by OR, find just its pages. What a
//! search shows of a page (its rank and how its text begins) is its mark. Whether marks move when texts do is the
//! service's secret, so it is learned from looks that were made anyway: when one finds a change, had the mark moved?
//! Where it had not, hardly a search is spent. Arithmetic on what is handed in; words are chosen in [`words`].

pub(super) mod words;

use std::collections::{BTreeMap, VecDeque};

use crate::model::Timestamp;

/// Pages that one search asks for; ten of its fifty results are left for whoever else has one of the words.
const GROUP: usize = 40;
/// A group whose search brings strangers is halved down to this.
const GROUP_MIN: usize = 5;
/// A change is in the service's index this much later.
const INDEXED_MS: i64 = 10_000;
/// One group is not asked more often.
const AGAIN_MS: i64 = 15_000;
/// While it is not known whether marks move, a search leaves this long after the last one, longer with each vain one.
const PROBE_MS: i64 = 20_000;
const PROBE_MAX_DOUBLINGS: u32 = 12;
/// Of sixteen slots, those that are the oldest look's beside every fourth while the watch is on.
const OLDEST_TOO: [u64; 3] = [3, 7, 11];
/// A page that changed longer ago than this is not expected to change again soon.
const LATELY_MS: i64 = 600_000;
/// So many of them are remembered.
const CHANGED: usize = 30;
/// A search that failed is not made again for this long, and ever longer.
const FAILED_MS: i64 = 600_000;
/// Each sample weighs this much of the one after it.
const FADE: f64 = 0.97;
/// Fewer samples say nothing.
const SAMPLES: f64 = 3.5;
/// The watch pays when it shows at least this part of all changes, and when of its alarms at least that part is true.
const PAYS: f64 = 0.25;
const TRUE_ALARMS: f64 = 0.3;

/// What a search shows of a page: rank and beginning as bits, or that it does not find it.
pub type Mark = Option<(u64, u64)>;

/// What has been learned of the service; all that is kept across runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Belief {
    /// Changes that the mark showed, and that it did not, each sample fading with the next.
    pub seen: f64,
    /// See `seen`.
    pub unseen: f64,
    /// Alarms after which a look found a change, and found none.
    pub right: f64,
    /// See `right`.
    pub wrong: f64,
    /// How often in a row asking brought nothing.
    pub vain: u32,
}

impl Belief {
    /// Whether searches are worth their requests.
    #[must_use]
    pub fn pays(&self) -> bool {
        let samples = self.seen + self.unseen;
        samples >= SAMPLES
            && self.seen >= PAYS * (samples + 1.0)
            && self.right + 1.0 >= TRUE_ALARMS * (self.right + self.wrong + 1.0)
    }

    fn sample(&mut self, seen: bool) {
        // What moves for a page alone is no storm, and makes up for one in time.
        self.wrong *= if seen { 0.9 } else { 1.0 };
        self.seen = self.seen * FADE + f64::from(u8::from(seen));
        self.unseen = self.unseen * FADE + f64::from(u8::from(!seen));
        self.vain = if seen { self.vain / 2 } else { self.vain + 1 };
    }

    fn storm(&mut self) {
        (0..5).for_each(|_| self.alarm(false));
        self.vain += 1;
    }

    fn alarm(&mut self, right: bool) {
        self.right = self.right * FADE + f64::from(u8::from(right));
        self.wrong = self.wrong * FADE + f64::from(u8::from(!right));
    }
}

/// What a slot of the background is spent on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn<K> {
    /// The mark of this page has moved.
    Look(K),
    /// The search for this group.
    Ask(usize),
    /// Whatever [`super::poll::next`] has for this slot.
    Schedule(u64),
}

#[derive(Debug)]
struct Group<K> {
    area: String,
    pages: Vec<K>,
    asked: Timestamp,
    under_way: bool,
}

#[derive(Debug)]
struct Post {
    group: usize,
    word: String,
    /// What the last search showed, and when it was sent; `None` when the next one only sets it.
    mark: Option<(Mark, Timestamp)>,
    /// Whether the mark is of the text that is known: a look after it found nothing new.
    known: bool,
    /// The mark is of the text before the change that a look has found: the next answer is a sample.
    tests: bool,
    /// Answers to searches that left before are of no use.
    from: Timestamp,
    alarmed: bool,
}

/// The watch over pages named `K`.
#[derive(Debug)]
pub struct Watch<K> {
    belief: Belief,
    groups: Vec<Group<K>>,
    posts: BTreeMap<K, Post>,
    alarms: VecDeque<K>,
    /// Pages that looks have found changed, the latest last.
    changed: VecDeque<K>,
    /// Pages whose word does not find them.
    wordless: Vec<K>,
    size: usize,
    asked: Timestamp,
    /// Asked since the last sample.
    since_sample: u32,
    failures: u32,
    rests_until: Timestamp,
    asks: u64,
}

impl<K: Ord + Clone> Watch<K> {
    /// With what an earlier run has learned.
    #[must_use]
    pub fn new(belief: Belief) -> Self {
        Self {
            belief,
            groups: Vec::new(),
            posts: BTreeMap::new(),
            alarms: VecDeque::new(),
            changed: VecDeque::new(),
            wordless: Vec::new(),
            size: GROUP,
            asked: Timestamp::default(),
            since_sample: 0,
            failures: 0,
            rests_until: Timestamp::default(),
            asks: 0,
        }
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

    /// The word of a page that is watched.
    #[must_use]
    pub fn word(&self, page: &K) -> Option<&str> {
        self.posts.get(page).map(|post| post.word.as_str())
    }

    /// Watches a page by a word that it has for itself in its area, a workspace; a new word for one that is watched.
    pub fn enrol(&mut self, page: K, area: &str, word: String, now: Timestamp) {
        self.leave(&page);
        let room = |group: &Group<K>| group.area == area && group.pages.len() < self.size;
        let group = self.groups.iter().position(room).unwrap_or_else(|| {
            let area = area.to_owned();
            self.groups.push(Group {
                area,
                pages: Vec::new(),
                asked: Timestamp::default(),
                under_way: false,
            });
            self.groups.len() - 1
        });
        self.groups[group].pages.push(page.clone());
        let post = Post { group, word, mark: None, known: false, tests: false, from: now, alarmed: false };
        self.posts.insert(page, post);
    }

    /// No longer watches a page.
    pub fn leave(&mut self, page: &K) {
        if let Some(post) = self.posts.remove(page) {
            self.groups[post.group].pages.retain(|other| other != page);
            self.alarms.retain(|other| other != page);
        }
    }

    /// Pages whose word did not find them: they are not watched until they are enrolled with another one.
    pub fn take_wordless(&mut self) -> Vec<K> {
        std::mem::take(&mut self.wordless)
    }

    /// A look found what is `changed` or not; it was sent at `sent`.
    pub fn looked(&mut self, page: &K, changed: bool, sent: Timestamp, now: Timestamp) {
        let Some(post) = self.posts.get_mut(page) else { return };
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
        if alarmed {
            if post.known {
                self.belief.sample(true);
            }
            post.mark = None;
        } else if !(post.known && post.mark.is_some()) {
            post.mark = None;
        }
        post.tests = post.mark.is_some();
        post.known &= post.tests;
        post.from = now.plus_ms(INDEXED_MS);
        self.changed.retain(|other| other != page);
        self.changed.push_back(page.clone());
        if self.changed.len() > CHANGED {
            self.changed.pop_front();
        }
    }

    /// The text was changed by espejo itself: whatever the mark does next means nothing.
    pub fn pushed(&mut self, page: &K, now: Timestamp) {
        if let Some(post) = self.posts.get_mut(page) {
            (post.mark, post.known, post.tests, post.alarmed) = (None, false, false, false);
            post.from = now.plus_ms(INDEXED_MS);
            self.alarms.retain(|other| other != page);
        }
    }

    /// What slot number `slot` of the background is spent on. While the watch is on, five of sixteen go to searches and
    /// three more to the oldest look, at the cost of what may be new: the watch finds that sooner.
    pub fn turn(&mut self, slot: u64, now: Timestamp) -> Turn<K> {
        let is_on = self.is_on() && now >= self.rests_until;
        let is_oldest = slot.is_multiple_of(4) || (is_on && OLDEST_TOO.contains(&(slot % 16)));
        let schedule = Turn::Schedule(if is_oldest { 0 } else { slot });
        if is_oldest {
            return schedule;
        }
        if let Some(page) = self.alarms.pop_front() {
            return Turn::Look(page);
        }
        let group = if now < self.rests_until || slot % 4 == 2 {
            None
        } else if is_on {
            let due = |group: &Group<K>| {
                !group.under_way && !group.pages.is_empty() && now.since_ms(group.asked) >= AGAIN_MS
            };
            let all = self.groups.iter().enumerate().filter(|(_, group)| due(group));
            all.min_by_key(|(_, group)| group.asked).map(|(at, _)| at)
        } else {
            self.probe(now)
        };
        group.map_or(schedule, Turn::Ask)
    }

    /// The group whose search teaches most: of a page that a look has just found changed, else of one that may change.
    fn probe(&self, now: Timestamp) -> Option<usize> {
        let doublings = (self.belief.vain + self.since_sample / 4).min(PROBE_MAX_DOUBLINGS);
        if now.since_ms(self.asked) < PROBE_MS << doublings {
            return None;
        }
        let useful = |page: &&K| {
            self.posts.get(page).is_some_and(|post| {
                post.from <= now
                    && !self.groups[post.group].under_way
                    && (post.tests || (post.mark.is_none() && now.since_ms(post.from) < LATELY_MS))
            })
        };
        // The latest is the likeliest to be changed again.
        let tests = |page: &&&K| self.posts.get(page).is_some_and(|post| post.tests);
        let useful: Vec<&K> = self.changed.iter().rev().filter(useful).collect();
        let chosen = useful.iter().find(tests).or(useful.first())?;
        self.posts.get(chosen).map(|post| post.group)
    }

    /// What a group's search asks for: the area and the words. The search leaves now.
    pub fn ask(&mut self, group: usize, now: Timestamp) -> (String, String) {
        self.asked = now;
        self.since_sample += u32::from(!self.is_on());
        self.asks += 1;
        let group = &mut self.groups[group];
        group.asked = now;
        group.under_way = true;
        let words: Vec<&str> = group
            .pages
            .iter()
            .filter_map(|page| self.posts.get(page))
            .map(|post| post.word.as_str())
            .collect();
        (group.area.clone(), words.join(" OR "))
    }

    /// The pages of a group.
    #[must_use]
    pub fn pages(&self, group: usize) -> &[K] {
        self.groups.get(group).map_or(&[], |group| &group.pages)
    }

    /// How many pages wait to be looked at.
    #[must_use]
    pub fn alarms(&self) -> usize {
        self.alarms.len()
    }

    /// How many searches were made.
    #[must_use]
    pub fn asks(&self) -> u64 {
        self.asks
    }

    /// A group's search failed; `too_much`: a shorter one might not have.
    pub fn failed(&mut self, group: usize, too_much: bool, now: Timestamp) {
        self.groups[group].under_way = false;
        if too_much && self.size > GROUP_MIN {
            self.halve(group);
        }
        self.failures += 1;
        self.rests_until = now.plus_ms(FAILED_MS << (self.failures - 1).min(8));
    }

    fn halve(&mut self, group: usize) {
        let pages = &mut self.groups[group].pages;
        let half = (pages.len() / 2).max(GROUP_MIN).min(pages.len());
        let moved = pages.split_off(half);
        self.size = self.size.min(half.max(GROUP_MIN));
        let area = self.groups[group].area.clone();
        for page in &moved {
            if let Some(post) = self.posts.get_mut(page) {
                post.group = self.groups.len();
            }
        }
        for page in self.groups[group].pages.iter().chain(&moved) {
            if let Some(post) = self.posts.get_mut(page) {
                (post.mark, post.known, post.tests) = (None, false, false);
            }
        }
        self.groups.push(Group { area, pages: moved, asked: Timestamp::default(), under_way: false });
    }

    /// The answer to a group's search that left at `sent`. `full`: it may have left out pages.
    pub fn answered(&mut self, group: usize, marks: &BTreeMap<K, (u64, u64)>, full: bool, sent: Timestamp) {
        self.failures = 0;
        let Some(asked) = self.groups.get_mut(group) else { return };
        asked.under_way = false;
        let pages = asked.pages.clone();
        let shown: Vec<(K, Mark)> = pages
            .into_iter()
            .filter(|page| self.posts.get(page).is_some_and(|post| post.from <= sent))
            .map(|page| {
                let mark = marks.get(&page).copied();
                (page, mark)
            })
            .collect();
        let lost = shown.iter().filter(|(_, mark)| full && mark.is_none()).count();
        let told = |post: &Post, mark: &Mark| post.mark.filter(|_| !full || mark.is_some());
        let (mut waited, mut moved) = (0, 0);
        for (page, mark) in &shown {
            let before = self.posts.get(page).filter(|post| !post.tests).and_then(|post| told(post, mark));
            waited += usize::from(before.is_some());
            moved += usize::from(before.is_some_and(|(before, _)| before != *mark));
        }
        // A rank that an edit anywhere moves says nothing of any page.
        let storm = moved > 5.max(waited / 4);
        if storm {
            self.belief.storm();
            self.since_sample = 0;
        }
        for (page, mark) in shown {
            let Some(post) = self.posts.get_mut(&page) else { continue };
            if full && mark.is_none() {
                continue;
            }
            if mark.is_none() && post.mark.is_none_or(|(before, _)| before.is_none()) {
                self.leave(&page);
                self.wordless.push(page);
                continue;
            }
            let differs = post.mark.is_some_and(|(before, _)| before != mark);
            if differs || post.mark.is_none() {
                post.mark = Some((mark, sent));
            }
            if storm {
                (post.tests, post.known) = (false, false);
            } else if std::mem::take(&mut post.tests) {
                post.known = false;
                self.belief.sample(differs);
                self.since_sample = 0;
            } else if differs && !std::mem::replace(&mut post.alarmed, true) {
                self.alarms.push_back(page);
            }
        }
        if lost > 0 && self.groups[group].pages.len() > GROUP_MIN {
            self.halve(group);
        }
    }
}

#[cfg(test)]
mod tests;
