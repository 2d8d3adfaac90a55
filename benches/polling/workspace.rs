//! A made-up workspace and everything people do in it for some weeks, from a seed: when which page is saved, made or
//! renamed. Sessions, not single edits; a few pages get most of them; people work by day and on weekdays, come back to
//! what they touched last, and go on in the pages beside it.

use espejo::model::Timestamp;

pub(crate) const SECOND: i64 = 1_000;
pub(crate) const MINUTE: i64 = 60 * SECOND;
pub(crate) const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;

/// Sessions in each hour of a weekday, in thousandths of a day's: four in five from 8:00 to 18:00.
const HOURS: [f64; 24] = [
    4.0, 3.0, 2.0, 2.0, 2.0, 4.0, 12.0, 31.0, 75.0, 95.0, 100.0, 90.0, 60.0, 75.0, 90.0, 90.0, 80.0, 55.0,
    35.0, 27.0, 25.0, 21.0, 14.0, 8.0,
];
/// A day of the weekend has this share of a weekday's sessions.
const WEEKEND: f64 = 0.104;

/// What somebody does to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// The page appears in the list.
    Make,
    /// An autosave; the first of its session or not.
    Save { first: bool },
    /// The list shows another title.
    Rename,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) at: Timestamp,
    pub(crate) page: usize,
    pub(crate) act: Act,
}

pub(crate) struct Workspace {
    /// Each page's parent; pages that are made later come last, in order.
    pub(crate) parents: Vec<Option<usize>>,
    pub(crate) children: Vec<Vec<usize>>,
    pub(crate) top: Vec<usize>,
    pub(crate) at_start: usize,
    /// By time.
    pub(crate) events: Vec<Event>,
}

/// Numbers that only the seed decides.
pub(crate) struct Luck(u64);

impl Luck {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to 1.
    pub(crate) fn part(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        ((self.part() * count as f64) as usize).min(count.saturating_sub(1))
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.part().max(1e-12).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.part()).cos()
    }

    /// Milliseconds until the next of what happens `a_day` times a day.
    fn wait(&mut self, a_day: f64) -> i64 {
        (-self.part().max(1e-12).ln() / a_day * DAY as f64) as i64
    }

    /// With this median, and e^`sigma` between it and one sixth of all.
    pub(crate) fn around(&mut self, median: f64, sigma: f64) -> f64 {
        median * (sigma * self.normal()).exp()
    }
}

struct Writer {
    luck: Luck,
    space: Workspace,
    popularity: Vec<f64>,
    /// Which part of the tree each page belongs to, and how much that part is worked on this week.
    parts: Vec<usize>,
    mood: Vec<f64>,
    weights: Vec<f64>,
    /// Pages by their last session, oldest first.
    recent: Vec<usize>,
}

impl Workspace {
    /// `pages` pages and `days` of `sessions` sessions on each weekday, from `begin` (a Monday, midnight) on.
    pub(crate) fn new(seed: u64, pages: usize, sessions: f64, days: i64, begin: Timestamp) -> Self {
        let mut writer = Writer {
            luck: Luck::new(seed),
            space: Self {
                parents: Vec::new(),
                children: Vec::new(),
                top: Vec::new(),
                at_start: pages,
                events: Vec::new(),
            },
            popularity: Vec::new(),
            parts: Vec::new(),
            mood: vec![1.0; 12],
            weights: Vec::new(),
            recent: Vec::new(),
        };
        for page in 0..pages {
            let parent = (page >= 12.min(pages / 4 + 1)).then(|| writer.luck.below(page));
            writer.grow(parent);
        }
        // Somebody has been here before: a random past order.
        for page in 0..pages {
            let at = writer.luck.below(page + 1);
            writer.recent.insert(at, page);
        }
        let end = begin.plus_ms(days * DAY);
        let most = sessions * 0.7 * HOURS.iter().copied().fold(0.0, f64::max) / 1_000.0 * 24.0;
        let (mut now, mut week) = (begin, -1);
        loop {
            now = now.plus_ms(writer.luck.wait(most));
            if now >= end {
                break;
            }
            let day = now.since_ms(begin) / DAY;
            if day / 7 != week {
                week = day / 7;
                writer.new_week();
            }
            let hour = HOURS[(now.since_ms(begin) / HOUR % 24) as usize] / 1_000.0 * 24.0;
            let rate = sessions * 0.7 * hour * if day % 7 >= 5 { WEEKEND } else { 1.0 };
            if writer.luck.part() < rate / most {
                writer.sitting(now);
            }
        }
        writer.space.events.retain(|event| event.at < end);
        writer.space.events.sort_by_key(|event| event.at);
        writer.space
    }
}

impl Writer {
    fn grow(&mut self, parent: Option<usize>) -> usize {
        let page = self.space.parents.len();
        self.space.parents.push(parent);
        self.space.children.push(Vec::new());
        match parent {
            Some(parent) => self.space.children[parent].push(page),
            None => self.space.top.push(page),
        }
        let popularity = self.luck.around(1.0, 2.0);
        self.popularity.push(popularity);
        self.parts.push(parent.map_or(page % 12, |parent| self.parts[parent]));
        self.weights.push(popularity * self.mood[self.parts[page]]);
        page
    }

    fn new_week(&mut self) {
        for mood in 0..self.mood.len() {
            self.mood[mood] = self.luck.around(1.0, 1.0);
        }
        for page in 0..self.weights.len() {
            self.weights[page] = self.popularity[page] * self.mood[self.parts[page]];
        }
    }

    /// One session, and the ones that the same person goes on with.
    fn sitting(&mut self, mut now: Timestamp) {
        let draw = self.luck.part();
        let mut page = if draw < 0.07 {
            let parent = self.pick();
            self.make(Some(parent), now)
        } else if draw < 0.37 {
            let back = (self.recent.len() as f64).powf(self.luck.part()) as usize;
            self.recent[self.recent.len() - back.clamp(1, self.recent.len())]
        } else {
            self.pick()
        };
        loop {
            now = self.session(page, now);
            if self.luck.part() >= 0.3 {
                return;
            }
            now = now.plus_ms(self.luck.around(60.0, 1.0) as i64 * SECOND);
            page = if self.luck.part() < 0.75 { self.beside(page) } else { self.pick() };
        }
    }

    fn pick(&mut self) -> usize {
        let mut left = self.luck.part() * self.weights.iter().sum::<f64>();
        for (page, weight) in self.weights.iter().enumerate() {
            left -= weight;
            if left <= 0.0 {
                return page;
            }
        }
        self.weights.len() - 1
    }

    fn beside(&mut self, page: usize) -> usize {
        let mut near: Vec<usize> = self.space.parents[page].into_iter().collect();
        near.extend(self.space.children[page].iter().take(8));
        let all = self.space.parents[page].map_or(&self.space.top, |up| &self.space.children[up]);
        let at = all.iter().position(|sibling| *sibling == page).unwrap_or(0);
        near.extend(all[at.saturating_sub(4)..].iter().take(9).filter(|sibling| **sibling != page));
        if near.is_empty() { self.pick() } else { near[self.luck.below(near.len())] }
    }

    fn make(&mut self, parent: Option<usize>, at: Timestamp) -> usize {
        let page = self.grow(parent);
        self.recent.push(page);
        self.space.events.push(Event { at, page, act: Act::Make });
        page
    }

    /// Autosaves of one session; answers when it ends.
    fn session(&mut self, page: usize, begin: Timestamp) -> Timestamp {
        self.recent.retain(|other| *other != page);
        self.recent.push(page);
        let single = self.luck.part() < 0.15;
        let long = if single { 0.0 } else { self.luck.around(600.0, 0.9) };
        let end = begin.plus_ms(long as i64 * SECOND);
        let (mut now, mut first) = (begin, true);
        while now <= end {
            self.space.events.push(Event { at: now, page, act: Act::Save { first } });
            first = false;
            let pause = if self.luck.part() < 0.08 {
                60.0 + 240.0 * self.luck.part()
            } else {
                self.luck.around(20.0, 0.6).clamp(5.0, 90.0)
            };
            now = now.plus_ms((pause * SECOND as f64) as i64);
        }
        if self.luck.part() < 0.06 {
            let at = begin.plus_ms((self.luck.part() * long) as i64 * SECOND);
            self.space.events.push(Event { at, page, act: Act::Rename });
        }
        end
    }
}
