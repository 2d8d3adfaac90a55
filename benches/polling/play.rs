//! Plays a workspace through the limiter and the schedule that the daemon uses, in virtual time, and measures how late each
//! save is seen.

use std::collections::{BTreeMap, VecDeque};

use espejo::emulator::ranking::Ranking;
use espejo::engine::polling::{self, Belief, Class, Common, Pace, Turn, Watch};
use espejo::model::{PollState, Timestamp};

use crate::texts::{Source, Texts};
use crate::workspace::{Act, DAY, Event, SECOND, Workspace};

/// Who chooses the next target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Always the oldest look.
    RoundRobin,
    /// What the daemon does without the watch.
    Espejo,
    /// What the daemon does, at a service whose search ranks like this.
    Watch(Ranking),
    /// Knows every save as it happens.
    Clairvoyant,
}

enum Choice {
    Look(usize),
    Ask(usize),
}

/// What came of it. Times in seconds.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// From each save to the answer that had it.
    pub(crate) saves: Vec<f64>,
    /// The same for the first save of each session.
    pub(crate) starts: Vec<f64>,
    /// From each page's appearance to its body.
    pub(crate) made: Vec<f64>,
    /// The longest time between two looks at one page, in laps of fifty looks a minute over the pages of that moment.
    pub(crate) oldest_laps: f64,
    pub(crate) oldest: f64,
    pub(crate) requests_a_minute: f64,
    /// Searches among them, for each hour.
    pub(crate) searches_an_hour: f64,
    pub(crate) pages: usize,
    /// Which part of all saves moves what a search shows, and which part espejo believes does.
    pub(crate) shown: f64,
    pub(crate) believed: Option<f64>,
    /// Words in the branch that cannot match, in the end.
    pub(crate) words: usize,
}

struct Play<'a> {
    space: &'a Workspace,
    policy: Policy,
    pace: Pace,
    now: Timestamp,
    measure_from: Timestamp,
    /// Of the pages that the list has shown.
    polls: Vec<PollState>,
    bodies: Vec<bool>,
    unseen: Vec<(usize, Timestamp)>,
    /// Saves that no look has had yet, for each page.
    waiting: Vec<Vec<(Timestamp, bool)>>,
    renamed: Vec<usize>,
    made: Vec<(usize, Timestamp)>,
    /// Pages with such saves, for who knows them.
    known: VecDeque<usize>,
    slot: u64,
    effects: u64,
    requests: u64,
    watch: Watch<usize>,
    texts: Texts<'a>,
    common: Common,
    /// The query that each page was last asked for by.
    queries: Vec<Option<std::rc::Rc<str>>>,
    saves: usize,
    sampled: (u32, u32),
    searches: u64,
    list_due: Timestamp,
    next_event: usize,
    outcome: Outcome,
}

/// A request's way there, and both ways.
const THERE_MS: i64 = 90;
const BOTH_WAYS_MS: i64 = 180;
/// The daemon's own.
const LIST_EVERY_MS: i64 = 20 * SECOND;
const LIMIT: u32 = 60;
const AREA: &str = "team";
/// Of so many saves one is looked at for what a search shows of it.
const SAMPLE: usize = 8;

pub(crate) fn play(
    space: &Workspace,
    source: &Source,
    policy: Policy,
    begin: Timestamp,
    warm_days: i64,
    days: i64,
) -> Outcome {
    let end = begin.plus_ms(days * DAY);
    let mut polls = vec![polling::fresh(begin); space.at_start];
    // The first mirror is over; its looks lie one lap back.
    for (page, poll) in polls.iter_mut().enumerate() {
        poll.last = begin.plus_ms(-1_200 * (space.at_start - page) as i64);
    }
    let mut play = Play {
        space,
        policy,
        pace: Pace::new(LIMIT, Vec::new(), begin),
        now: begin,
        measure_from: begin.plus_ms(warm_days * DAY),
        polls,
        bodies: vec![true; space.at_start],
        unseen: Vec::new(),
        waiting: vec![Vec::new(); space.parents.len()],
        renamed: Vec::new(),
        made: Vec::new(),
        known: VecDeque::new(),
        slot: 0,
        effects: 0,
        requests: 0,
        watch: Watch::new(Belief::default()),
        texts: Texts::new(
            source,
            if let Policy::Watch(ranking) = policy { ranking } else { Ranking::default() },
            if matches!(policy, Policy::Watch(_)) { space.parents.len() } else { 0 },
        ),
        common: Common::default(),
        queries: vec![None; space.parents.len()],
        saves: 0,
        sampled: (0, 0),
        searches: 0,
        list_due: begin,
        next_event: 0,
        outcome: Outcome::default(),
    };
    if let Policy::Watch(_) = policy {
        for page in 0..space.at_start {
            play.common.add(&play.texts.text(page));
            play.enrol(page);
        }
        play.watch.set_common(AREA, play.common.take_commonest().unwrap_or_default());
    }
    while play.now < end {
        play.step();
    }
    play.outcome.pages = play.polls.len();
    play.outcome.requests_a_minute = play.requests as f64 * 60_000.0 / end.since_ms(play.measure_from) as f64;
    play.outcome.searches_an_hour =
        play.searches as f64 * 3_600_000.0 / end.since_ms(play.measure_from) as f64;
    play.outcome.shown = f64::from(play.sampled.0) / f64::from(play.sampled.1.max(1));
    play.outcome.believed = play.watch.belief().shows().filter(|_| play.watch.is_on());
    play.outcome.words = play.watch.belief().words();
    play.outcome
}

impl Play<'_> {
    /// One request, or a wait until one may be worth it.
    fn step(&mut self) {
        if self.list_due <= self.now {
            self.now = self.pace.earliest(Class::List, 1, false, self.now);
            return self.list();
        }
        let at = self.pace.earliest(Class::Background, 1, false, self.now);
        if at > self.now {
            self.now = at.min(self.list_due.max(self.now));
            return;
        }
        self.world_until(self.now);
        match self.choose() {
            Some(Choice::Look(page)) => self.look(page),
            Some(Choice::Ask(group)) => self.ask(group),
            None => self.now = self.now.plus_ms(SECOND).min(self.list_due.max(self.now.plus_ms(1))),
        }
    }

    fn choose(&mut self) -> Option<Choice> {
        if let Some((page, _)) = self.unseen.first() {
            return Some(Choice::Look(*page));
        }
        self.slot += 1;
        if let Policy::Watch(_) = self.policy {
            self.watch.regroup(self.now);
            let now = self.now;
            let hot = self.polls.iter().any(|poll| poll.gap_ms > 0 && now.since_ms(poll.last) >= poll.gap_ms);
            for slot in self.slot..self.slot + 4 {
                let choice = match self.watch.turn(slot, hot, self.now) {
                    Turn::Fetch(page) => Some(Choice::Look(page)),
                    Turn::Ask(group) => Some(Choice::Ask(group)),
                    Turn::Schedule(slot) => self.scheduled(slot).map(Choice::Look),
                };
                if choice.is_some() {
                    self.slot = slot;
                    return choice;
                }
            }
            return None;
        }
        self.scheduled(self.slot).map(Choice::Look)
    }

    fn scheduled(&mut self, slot: u64) -> Option<usize> {
        match self.policy {
            Policy::RoundRobin => {
                let all = self.polls.iter().enumerate();
                all.min_by_key(|(_, poll)| poll.last).map(|(page, _)| page)
            }
            Policy::Clairvoyant => self.known.pop_front(),
            Policy::Espejo | Policy::Watch(_) => {
                let every_ms = self.pace.background_every_ms();
                self.pace.rest(polling::rests(self.polls.iter(), every_ms, self.now));
                polling::next(self.polls.iter().enumerate(), slot, false, self.now)
            }
        }
    }

    fn request(&mut self, class: Class) -> Timestamp {
        self.effects += 1;
        self.pace.sent(self.effects, class, 0, self.now);
        let answered = self.now.plus_ms(BOTH_WAYS_MS);
        self.pace.answered(self.effects, answered);
        self.requests += u64::from(self.now >= self.measure_from);
        answered
    }

    fn list(&mut self) {
        let answered = self.request(Class::List);
        self.world_until(self.now.plus_ms(THERE_MS));
        self.list_due = self.now.plus_ms(LIST_EVERY_MS);
        for (page, at) in std::mem::take(&mut self.made) {
            let mut poll = polling::fresh(answered);
            if matches!(self.policy, Policy::Espejo | Policy::Watch(_)) {
                polling::changed(&mut poll, answered);
            }
            self.polls.push(poll);
            self.bodies.push(false);
            self.unseen.push((page, at));
        }
        for page in std::mem::take(&mut self.renamed) {
            if let Some(poll) = self.polls.get_mut(page) {
                polling::changed(poll, answered);
            }
        }
    }

    fn look(&mut self, page: usize) {
        let (sent, answered) = (self.now, self.request(Class::Background));
        self.world_until(self.now.plus_ms(THERE_MS));
        let measured = self.now >= self.measure_from;
        let had = std::mem::take(&mut self.waiting[page]);
        if let Some(at) = self.unseen.iter().position(|(unseen, _)| *unseen == page) {
            let (_, since) = self.unseen.remove(at);
            if since >= self.measure_from {
                self.outcome.made.push(answered.since_ms(since) as f64 / 1_000.0);
            }
        } else if measured {
            let age = answered.since_ms(self.polls[page].last) as f64 / 1_000.0;
            self.outcome.oldest = self.outcome.oldest.max(age);
            let laps = age / (self.polls.len() as f64 * 1.2);
            self.outcome.oldest_laps = self.outcome.oldest_laps.max(laps);
        }
        for (at, first) in had.iter().filter(|(at, _)| *at >= self.measure_from) {
            let late = answered.since_ms(*at) as f64 / 1_000.0;
            self.outcome.saves.push(late);
            if *first {
                self.outcome.starts.push(late);
            }
        }
        self.polls[page].last = answered;
        let is_first = !std::mem::replace(&mut self.bodies[page], true);
        if is_first {
            self.enrol(page);
            return;
        }
        self.watch.fetched(&page, !had.is_empty(), sent, answered);
        let watched = matches!(self.policy, Policy::Watch(_));
        if watched && !had.is_empty() && self.watch.word(&page).is_none_or(|word| !self.texts.has(page, word))
        {
            self.enrol(page);
        }
        if had.is_empty() {
            polling::unchanged(&mut self.polls[page]);
            return;
        }
        polling::changed(&mut self.polls[page], answered);
        let parent = self.space.parents[page];
        let siblings = parent.map_or(&self.space.top, |up| &self.space.children[up]);
        let near = polling::neighbours(
            &page,
            parent.as_ref(),
            self.space.children[page].iter(),
            siblings.iter().filter(|sibling| **sibling < self.polls.len()),
        );
        for near in near {
            if let Some(poll) = self.polls.get_mut(*near) {
                polling::stirred(poll, answered);
            }
        }
    }

    fn enrol(&mut self, page: usize) {
        if !matches!(self.policy, Policy::Watch(_)) {
            return;
        }
        if let Some(word) = self.texts.own(page, self.watch.word(&page)) {
            self.watch.enrol(page, AREA, &word, self.polls[page], self.now);
        }
    }

    fn ask(&mut self, group: usize) {
        let sent = self.now;
        let (_, query) = self.watch.ask(group, sent);
        let answered = self.request(Class::Background);
        self.searches += u64::from(sent >= self.measure_from);
        self.world_until(sent.plus_ms(THERE_MS));
        let query: std::rc::Rc<str> = query.into();
        let mut marks = BTreeMap::new();
        for page in self.watch.pages(group).to_vec() {
            self.queries[page] = Some(std::rc::Rc::clone(&query));
            if let Some(mark) = self.texts.mark(page, &query) {
                marks.insert(page, mark);
            }
        }
        self.watch.answered(group, &marks, false, sent, answered);
        for page in self.watch.take_wordless() {
            self.enrol(page);
        }
    }

    fn write(&mut self, page: usize) {
        self.saves += 1;
        let query = self.queries[page]
            .clone()
            .filter(|_| self.saves.is_multiple_of(SAMPLE) && self.now >= self.measure_from);
        let before = query.as_ref().map(|query| self.texts.mark(page, query));
        self.texts.save(page, self.saves);
        if let (Some(query), Some(before)) = (query, before) {
            self.sampled.0 += u32::from(self.texts.mark(page, &query) != before);
            self.sampled.1 += 1;
        }
    }

    fn world_until(&mut self, until: Timestamp) {
        while let Some(Event { at, page, act }) =
            self.space.events.get(self.next_event).copied().filter(|event| event.at <= until)
        {
            self.next_event += 1;
            match act {
                Act::Make => self.made.push((page, at)),
                Act::Rename => self.renamed.push(page),
                Act::Save { first } => {
                    self.waiting[page].push((at, first));
                    if let Policy::Watch(_) = self.policy {
                        self.write(page);
                    }
                    if self.policy == Policy::Clairvoyant
                        && page < self.polls.len()
                        && !self.known.contains(&page)
                    {
                        self.known.push_back(page);
                    }
                }
            }
        }
    }
}
