//! Plays a workspace through the limiter and the schedule that the daemon uses, in virtual time, and measures how late each
//! save is seen.

use espejo::engine::polling::{self, Class, Pace};
use espejo::model::{PollState, Timestamp};

use crate::workspace::{Act, DAY, Event, SECOND, Workspace};

/// Who chooses the next target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Always the oldest look.
    RoundRobin,
    /// What the daemon does.
    Espejo,
    /// Knows every save as it happens.
    Clairvoyant,
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
    pub(crate) pages: usize,
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
    known: std::collections::VecDeque<usize>,
    slot: u64,
    effects: u64,
    requests: u64,
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

pub(crate) fn play(
    space: &Workspace,
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
        known: std::collections::VecDeque::new(),
        slot: 0,
        effects: 0,
        requests: 0,
        list_due: begin,
        next_event: 0,
        outcome: Outcome::default(),
    };
    while play.now < end {
        play.step();
    }
    play.outcome.pages = play.polls.len();
    play.outcome.requests_a_minute = play.requests as f64 * 60_000.0 / end.since_ms(play.measure_from) as f64;
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
            Some(page) => self.look(page),
            None => self.now = self.now.plus_ms(SECOND).min(self.list_due.max(self.now.plus_ms(1))),
        }
    }

    fn choose(&mut self) -> Option<usize> {
        if let Some((page, _)) = self.unseen.first() {
            return Some(*page);
        }
        self.slot += 1;
        match self.policy {
            Policy::RoundRobin => {
                let all = self.polls.iter().enumerate();
                all.min_by_key(|(_, poll)| poll.last).map(|(page, _)| page)
            }
            Policy::Clairvoyant => self.known.pop_front(),
            Policy::Espejo => {
                let every_ms = self.pace.background_every_ms();
                self.pace.rest(polling::rests(self.polls.iter(), every_ms, self.now));
                polling::next(self.polls.iter().enumerate(), self.slot, false, self.now)
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
            if self.policy == Policy::Espejo {
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
        let answered = self.request(Class::Background);
        let there = self.now.plus_ms(THERE_MS);
        self.world_until(there);
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
        let poll = &mut self.polls[page];
        poll.last = answered;
        let is_first = !std::mem::replace(&mut self.bodies[page], true);
        if is_first {
            return;
        }
        if had.is_empty() {
            polling::unchanged(poll);
            return;
        }
        polling::changed(poll, answered);
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
