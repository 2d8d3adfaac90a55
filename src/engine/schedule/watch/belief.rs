//! What has been learned of the service's search: whether marks change when texts do, with how many words in the branch
//! that cannot match, and how many of them the service accepts.
//!
//! A level is a number of words in that branch. More words show more saves, unless ranks are rounded, and cost bytes
//! and the service's time. Each level has samples of its own. A level without samples is assumed to be a little better
//! than the one below it, so that it is tried.

use crate::model::Timestamp;

/// Words in the branch that cannot match, by level.
pub(super) const WORDS: [usize; LEVELS] = [0, 100, 300, 900];
const LEVELS: usize = 4;
/// The level that is tried first.
const FIRST: usize = 2;

/// The weight of each sample relative to the one after it.
const FADE: f64 = 0.99;
/// Fewer samples say nothing.
const SAMPLES: f64 = 3.5;
/// The weight of a sample of a page that has given one within [`AGAIN_MS`]: the beginning of a short page is all its
/// text, and changes each time.
const AGAIN: f64 = 0.25;
pub(super) const AGAIN_MS: i64 = 3_600_000;
/// So many vain samples are added before the watch is assumed to pay: the result of few samples may be luck.
const DOUBT: f64 = 6.0;
/// The watch pays if it shows at least this part of all changes, and if at least that part of its alarms is right.
const PAYS: f64 = 0.15;
const TRUE_ALARMS: f64 = 0.3;
/// From this part on, searches get all that polling can spare.
const PAYS_WELL: f64 = 0.3;
/// The cost of a level's words, in the share of saves that it must show more: bytes of its query, and the service's
/// time.
const COST: [f64; LEVELS] = [0.0, 0.008, 0.02, 0.055];
const COST_OF_A_SECOND: f64 = 0.02;
/// A level is left for one that is better by this much.
const BETTER: f64 = 0.018;
/// A level without samples is assumed to show this much more than the one below it, or this much less than the one
/// above, unless that shows nearly all, or less than half: ranks may be rounded, and then fewer words show more.
const MORE: f64 = 0.07;
const LESS: f64 = 0.1;
const NEARLY_ALL: f64 = 0.9;
const HALF: f64 = 0.5;
/// A level is judged after so many samples, and soon if it is far worse than another.
const JUDGED: f64 = 24.0;
const FAR_WORSE: f64 = 0.3;
/// An answer that takes longer counts as a refusal.
const SLOW_MS: i64 = 6_000;
/// A refused level is tried again after a day, and later each time.
const REFUSED_MS: i64 = 86_400_000;

/// What one level has shown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Level {
    /// Changes that the mark showed, and that it did not. Each sample fades with the next.
    pub seen: f64,
    /// See `seen`.
    pub unseen: f64,
    /// How long the service takes to answer, in milliseconds; 0 if unknown.
    pub answer_ms: f64,
}

impl Level {
    fn samples(&self) -> f64 {
        self.seen + self.unseen
    }

    /// Of so many changes, at least one of which was shown, the part that was, as far as it is known: small at first.
    fn part_of(&self, changes: u32) -> f64 {
        let shows = (self.seen + 0.25) / (self.samples() + 1.0);
        let hidden = (1.0 - shows).powi(i32::try_from(changes).unwrap_or(i32::MAX));
        (shows / (1.0 - hidden)).clamp(1.0 / f64::from(changes.max(1)), 1.0)
    }

    /// The part of changes that it shows.
    fn shows(&self) -> Option<f64> {
        self.shows_at_least(1.0)
    }

    fn shows_at_least(&self, doubt: f64) -> Option<f64> {
        (self.samples() >= SAMPLES).then(|| self.seen / (self.samples() + doubt))
    }
}

/// What has been learned of the service. Only this is kept across runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Belief {
    /// By number of words, as `WORDS`.
    pub levels: [Level; LEVELS],
    /// The level of the next searches.
    pub level: usize,
    /// The highest level that the service has not refused, until when this is believed, and the number of refusals.
    pub most: usize,
    /// See `most`.
    pub most_until: Timestamp,
    /// See `most`.
    pub refusals: u32,
    /// Alarms after which a fetch found a change, and those after which it found none.
    pub right: f64,
    /// See `right`.
    pub wrong: f64,
    /// Number of consecutive vain searches.
    pub vain: u32,
}

impl Default for Belief {
    fn default() -> Self {
        Self {
            levels: [Level::default(); LEVELS],
            level: FIRST,
            most: LEVELS - 1,
            most_until: Timestamp::default(),
            refusals: 0,
            right: 0.0,
            wrong: 0.0,
            vain: 0,
        }
    }
}

impl Belief {
    /// The belief about a service that showed so many changes and hid so many.
    #[must_use]
    pub fn of(seen: f64, unseen: f64) -> Self {
        let mut belief = Self { right: seen, ..Self::default() };
        belief.levels[FIRST] = Level { seen, unseen, ..Level::default() };
        belief
    }

    /// The part of changes that searches show, once there are enough samples.
    #[must_use]
    pub fn shows(&self) -> Option<f64> {
        self.shows_at_least(1.0)
    }

    fn shows_at_least(&self, doubt: f64) -> Option<f64> {
        let shows = |level: &Level| level.shows_at_least(doubt);
        // A level on trial is used like the best of the others.
        let others = || self.levels.iter().filter_map(shows).reduce(f64::max);
        shows(&self.levels[self.level]).or_else(others)
    }

    /// Whether searches are worth their requests.
    #[must_use]
    pub fn pays(&self) -> bool {
        self.shows_at_least(DOUBT).is_some_and(|shows| shows >= PAYS)
            && self.right + 1.0 >= TRUE_ALARMS * (self.right + self.wrong + 1.0)
    }

    /// Whether searches are worth all that polling can spare.
    #[must_use]
    pub fn pays_well(&self) -> bool {
        self.shows().is_none_or(|shows| shows >= PAYS_WELL)
    }

    /// Words in the branch that cannot match.
    #[must_use]
    pub fn words(&self) -> usize {
        WORDS[self.level]
    }

    /// Records whether a mark of the text before so many changes has changed; `again`: a change of the same page was a
    /// sample shortly before.
    pub(super) fn sample(&mut self, level: usize, changes: u32, seen: bool, again: bool) {
        // A mark that changes for one page alone is no storm, and makes up for one in time.
        self.wrong *= if seen { 0.9 } else { 1.0 };
        if let Some(of) = self.levels.get_mut(level) {
            // If none was shown, each of them is a sample of that.
            let others = if seen { 0.0 } else { AGAIN * f64::from(changes.saturating_sub(1)) };
            let weight = others + if again { AGAIN } else { 1.0 };
            let moved = if seen { of.part_of(changes) } else { 0.0 };
            let fade = FADE.powf(weight);
            of.seen = of.seen * fade + weight * moved;
            of.unseen = of.unseen * fade + weight * (1.0 - moved);
        }
        self.vain = if seen { self.vain / 2 } else { self.vain + 1 };
    }

    pub(super) fn storm(&mut self) {
        (0..5).for_each(|_| self.alarm(false));
        self.vain += 1;
    }

    pub(super) fn alarm(&mut self, right: bool) {
        self.right = self.right * FADE + f64::from(u8::from(right));
        self.wrong = self.wrong * FADE + f64::from(u8::from(!right));
    }

    /// Records that an answer took so long.
    pub(super) fn answered(&mut self, level: usize, ms: i64, now: Timestamp) {
        if let Some(of) = self.levels.get_mut(level) {
            let before = if of.answer_ms > 0.0 { of.answer_ms } else { ms as f64 };
            of.answer_ms = before * 0.9 + ms.max(1) as f64 * 0.1;
            if of.answer_ms > SLOW_MS as f64 && level > 0 {
                of.answer_ms = 0.0;
                self.refused(level, now);
            }
        }
    }

    /// Records that the service refuses so many words. Returns whether fewer may be tried.
    pub(super) fn refused(&mut self, level: usize, now: Timestamp) -> bool {
        if level == 0 {
            return false;
        }
        self.refusals += 1;
        self.most = self.most.min(level - 1);
        self.most_until = now.plus_ms(REFUSED_MS << self.refusals.min(6));
        self.level = self.level.min(self.most);
        true
    }

    /// Chooses the level of the next searches.
    pub(super) fn choose(&mut self, now: Timestamp) -> usize {
        if now >= self.most_until {
            self.most = LEVELS - 1;
        }
        self.level = self.level.min(self.most);
        let samples = self.levels[self.level].samples();
        let better = match samples {
            JUDGED.. => BETTER,
            SAMPLES.. => FAR_WORSE,
            _ => return self.level,
        };
        let own = self.worth(self.level);
        let all = (0..=self.most).filter(|level| *level != self.level);
        let best = all.map(|level| (self.worth(level), level)).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, level)) = best.filter(|(worth, _)| *worth > own + better) {
            self.level = level;
        }
        self.level
    }

    /// The assumed value of searches with a level.
    fn worth(&self, level: usize) -> f64 {
        let shown = |level: usize| self.levels.get(level)?.shows();
        let below = (0..level).rev().find_map(shown);
        let below = below.map(|shows| if shows >= NEARLY_ALL { shows } else { shows + MORE });
        let above = (level + 1..LEVELS).find_map(shown).map(|shows| match shows {
            NEARLY_ALL.. => shows,
            HALF.. => shows - LESS,
            _ => shows + MORE,
        });
        let thought = || below.into_iter().chain(above).reduce(f64::max);
        let shows = shown(level).or_else(thought).unwrap_or(0.0);
        shows - COST[level] - COST_OF_A_SECOND * self.levels[level].answer_ms / 1_000.0
    }
}

/// What was learned, in one line.
pub(crate) fn write(belief: &Belief) -> String {
    let mut line = "2".to_owned();
    for Level { seen, unseen, answer_ms } in belief.levels {
        line.push_str(&format!(" {seen:.4} {unseen:.4} {answer_ms:.0}"));
    }
    let Belief { level, most, most_until, refusals, right, wrong, vain, .. } = belief;
    format!("{line} {level} {most} {} {refusals} {right:.4} {wrong:.4} {vain}", most_until.0)
}

/// Reads what [`write`] wrote. If that is not possible, nothing was learned.
pub(crate) fn read(line: &str) -> Belief {
    let mut parts = line.split(' ').map(|part| part.parse::<f64>().ok().filter(|n| (0.0..1e15).contains(n)));
    let mut next = || parts.next().flatten();
    let mut read = || -> Option<Belief> {
        if next()? != 2.0 {
            return None;
        }
        let mut belief = Belief::default();
        for level in &mut belief.levels {
            *level = Level { seen: next()?, unseen: next()?, answer_ms: next()? };
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
        {
            belief.level = (next()? as usize).min(LEVELS - 1);
            belief.most = (next()? as usize).min(LEVELS - 1);
            belief.most_until = Timestamp(next()? as i64);
            belief.refusals = next()? as u32;
            (belief.right, belief.wrong) = (next()?, next()?);
            belief.vain = next()? as u32;
        }
        Some(belief)
    };
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    /// Runs samples of a service that shows this part of changes at each level, and checks which level it ends with.
    #[track_caller]
    fn check(shows: [f64; LEVELS], answer_ms: [i64; LEVELS], expected: &[usize]) {
        let mut belief = Belief::default();
        let mut owed = [0.0; LEVELS];
        for _ in 0..600 {
            let level = belief.choose(NOW);
            owed[level] += shows[level];
            let seen = owed[level] >= 1.0;
            owed[level] -= f64::from(u8::from(seen));
            belief.sample(level, 1, seen, false);
            belief.answered(level, answer_ms[level], NOW);
        }
        assert!(expected.contains(&belief.choose(NOW)), "{belief:?}");
    }

    #[test]
    fn it_asks_with_as_many_words_as_show_more() {
        check([0.02, 0.54, 0.66, 0.72], [50, 100, 400, 1_100], &[3]);
        check([0.02, 0.54, 0.66, 0.66], [50, 100, 400, 1_100], &[2]);
        check([0.02, 0.30, 0.20, 0.05], [50; 4], &[1]);
        check([1.0, 1.0, 1.0, 1.0], [50; 4], &[0, 1]);
        check([0.02, 0.54, 0.66, 0.72], [50, 100, 400, 9_000], &[2]);
    }

    #[test]
    fn a_sample_of_many_changes_says_no_more_than_that_one_was_shown() {
        for (shows, changes, least, most) in
            [(0.05, 1, 0.03, 0.07), (0.05, 30, 0.0, 0.12), (0.65, 1, 0.6, 0.7), (0.65, 3, 0.4, 0.7)]
        {
            let mut belief = Belief::default();
            let mut owed = 0.0;
            for _ in 0..400 {
                owed += 1.0 - (1.0_f64 - shows).powi(changes);
                let seen = owed >= 1.0;
                owed -= f64::from(u8::from(seen));
                belief.sample(FIRST, changes.unsigned_abs(), seen, true);
            }
            let thought = belief.shows().unwrap();
            assert!((least..=most).contains(&thought), "{shows} of {changes}: {thought}");
            assert_eq!(belief.pays(), shows > 0.5);
        }
    }

    #[test]
    fn a_level_that_was_tried_and_shows_nothing_is_left_after_a_few_samples() {
        let mut belief = Belief::of(40.0, 0.0);
        assert_eq!(belief.choose(NOW), 0, "nearly all is shown: perhaps with fewer words, too");
        (0..4).for_each(|_| belief.sample(0, 1, false, false));
        assert_ne!(belief.choose(NOW), 0);
        assert!(belief.pays());
    }

    #[test]
    fn a_refused_level_is_left_at_once_and_tried_again_in_days() {
        let mut belief = Belief::of(50.0, 10.0);
        belief.level = 3;
        assert!(belief.refused(3, NOW));
        assert_eq!(belief.choose(NOW), 2);
        assert!(belief.refused(2, NOW) && belief.refused(1, NOW) && !belief.refused(0, NOW));
        assert_eq!((belief.choose(NOW), belief.choose(NOW.plus_ms(REFUSED_MS))), (0, 0));
        belief.choose(NOW.plus_ms(REFUSED_MS << 6));
        assert_eq!(belief.most, LEVELS - 1);
    }

    #[test]
    fn what_is_written_is_read_and_what_cannot_be_was_never_learned() {
        let mut belief = Belief::of(3.25, 1.5);
        belief.refused(3, NOW);
        assert_eq!(read(&write(&belief)), belief);
        for bad in ["", "2", "20 1 3 4 5", "2 x", "2 1 1 1 1 1 1 1 1 1 1 1 1 -1 3 0 0 0 0 0"] {
            assert_eq!(read(bad), Belief::default(), "{bad:?}");
        }
    }
}
