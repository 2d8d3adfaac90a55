//! Which target is fetched next. Nothing in the API says that something changed, so all freshness comes from here.
//!
//! Four slots in turn: one for the oldest fetch (so that every target has a guaranteed longest age), two for a target
//! that is being edited right now, and one for the target with the best score. The score is the square of the time
//! since the last fetch, over the root of the time since the last sign of life. The shape comes from simulations on the
//! edit histories of public handbooks, where the chance of a new session falls like age^-0.65; `benches/polling` runs
//! it.

use crate::engine::schedule::pace::QUIET_AFTER_MS;
use crate::model::{PollState, Timestamp};

const SESSION_MS: i64 = 3_600_000;
/// A fetch is not worth a request below this score, nor if the oldest fetch is younger than [`old_enough_ms`].
const PRICE: f64 = 100.0;
const OLD_ENOUGH_MS: i64 = 600_000;
/// Up to this number of targets, each is fetched at the age [`old_enough_ms`], whatever else is worth a fetch, except
/// targets being edited.
const FEW: i64 = 100;

/// The target that gets slot number `slot`. `eager` uses the whole share even if little is gained.
pub fn next<'a, T>(
    targets: impl Iterator<Item = (T, &'a PollState)>,
    slot: u64,
    eager: bool,
    now: Timestamp,
) -> Option<T>
where
    T: Copy,
{
    Survey::of(targets, now).choose(slot, eager)
}

/// The result of one walk over all targets: there may be tens of thousands, and each slot needs it.
#[derive(Debug)]
pub(crate) struct Survey<T> {
    now: Timestamp,
    oldest: Option<(Timestamp, T)>,
    hottest: Option<(i64, T)>,
    best: Option<(f64, T)>,
    count: i64,
    life: Timestamp,
}

impl<T: Copy> Survey<T> {
    pub(crate) fn of<'a>(targets: impl Iterator<Item = (T, &'a PollState)>, now: Timestamp) -> Self {
        let life = Timestamp::default();
        let mut all = Self { now, oldest: None, hottest: None, best: None, count: 0, life };
        for (target, poll) in targets {
            all.count += 1;
            all.life = all.life.max(poll.life);
            if all.oldest.is_none_or(|(last, _)| poll.last < last) {
                all.oldest = Some((poll.last, target));
            }
            if poll.gap_ms > 0 {
                let overdue = now.since_ms(poll.last) - poll.gap_ms;
                if overdue >= 0 && all.hottest.is_none_or(|(most, _)| overdue > most) {
                    all.hottest = Some((overdue, target));
                }
            }
            let score = score(poll, now);
            if all.best.is_none_or(|(most, _)| score > most) {
                all.best = Some((score, target));
            }
        }
        all
    }

    /// Counts other targets, none of which is worth a fetch now: with many targets each is fetched less often.
    pub(crate) fn among(self, others: i64) -> Self {
        Self { count: self.count + others, ..self }
    }

    /// As [`next`].
    pub(crate) fn choose(&self, slot: u64, eager: bool) -> Option<T> {
        let is_old = |last: Timestamp| self.now.since_ms(last) >= old_enough_ms(self.count);
        let old = self.oldest.filter(|(last, _)| eager || is_old(*last)).map(|(_, target)| target);
        let overdue =
            self.oldest.filter(|(last, _)| self.count <= FEW && is_old(*last)).map(|(_, target)| target);
        let scored = self.best.filter(|(score, _)| eager || *score >= PRICE).map(|(_, target)| target);
        let hot = self.hottest.map(|(_, target)| target);
        match slot % 4 {
            0 => old.or(hot).or(scored),
            1 | 2 => hot.or(overdue).or(scored).or(old),
            _ => overdue.or(scored).or(hot).or(old),
        }
    }

    /// Whether a target is being edited and due.
    pub(crate) fn has_hot(&self) -> bool {
        self.hottest.is_some()
    }

    /// As [`rests`].
    pub(crate) fn rests(&self, every_ms: i64) -> bool {
        let oldest = self.oldest.map_or(self.now, |(last, _)| last.min(self.now));
        self.now.since_ms(self.life) > QUIET_AFTER_MS
            && self.now.since_ms(oldest) < longest_ms(self.count, every_ms) / 8 * 7
    }
}

/// Whether nothing has shown life for so long that a third of the requests is enough. The guarantee for the oldest fetch stays
/// (`longest_ms`).
pub fn rests<'a>(polls: impl Iterator<Item = &'a PollState>, every_ms: i64, now: Timestamp) -> bool {
    Survey::of(polls.map(|poll| ((), poll)), now).rests(every_ms)
}

/// The earliest moment at which [`next`] may return something, for a driver that sleeps: a coarse bound.
pub(crate) fn next_check(now: Timestamp) -> Timestamp {
    now.plus_ms(5_000)
}

/// The age at which a target is due without urgency: forty fetches a minute go round all targets in this time, which is
/// at least 20 s and at most ten minutes. Slots that the limit leaves are not saved up.
pub(crate) fn old_enough_ms(targets: i64) -> i64 {
    (1_500 * targets).clamp(20_000, OLD_ENOUGH_MS)
}

/// The longest age of a fetch if one leaves every `every_ms`: one slot of four is for the oldest fetch, once that is
/// old enough.
pub(crate) fn longest_ms(targets: i64, every_ms: i64) -> i64 {
    old_enough_ms(targets).saturating_add(every_ms.saturating_mul(4).saturating_mul(targets.max(0)))
}

/// Before this moment a target in this state is not worth a fetch while there are at least `targets`, unless the schedule
/// is eager. After it [`next`] decides.
pub(crate) fn due(poll: &PollState, targets: i64) -> Timestamp {
    // Its last sign of life is at least as old as it was at the last fetch, and an older one counts for less.
    let age = poll.last.since_ms(poll.life).max(0) as f64 / 1_000.0;
    let scored = (PRICE * (age + 600.0).sqrt() / (1.0 + poll.changes)).sqrt();
    // A millisecond early, because numbers are rounded.
    let scored = (scored * 1_000.0) as i64 - 1;
    let hot = if poll.gap_ms > 0 { poll.gap_ms } else { i64::MAX };
    poll.last.plus_ms(scored.min(hot).min(old_enough_ms(targets)))
}

/// The value of a fetch of a target that was left in this state.
#[must_use]
pub fn score(poll: &PollState, now: Timestamp) -> f64 {
    let waited = now.since_ms(poll.last).max(0) as f64 / 1_000.0;
    let age = now.since_ms(poll.life).max(0) as f64 / 1_000.0;
    (1.0 + poll.changes) * waited * waited / (age + 600.0).sqrt()
}

/// Records that a fetch found a change (or the user edited the page): the target is alive.
pub fn changed(poll: &mut PollState, now: Timestamp) {
    poll.changed(now);
}

/// Records that a fetch found nothing new.
pub fn unchanged(poll: &mut PollState) {
    poll.unchanged();
}

/// Records that a neighbour in the tree changed, or that the list showed a sign of life.
pub fn stirred(poll: &mut PollState, now: Timestamp) {
    poll.life = poll.life.max(now.plus_ms(-SESSION_MS));
}

/// The state of a new target: a long silence is assumed.
#[must_use]
pub fn fresh(now: Timestamp) -> PollState {
    PollState::fresh(now)
}

/// How many children, and how many siblings on either side, are assumed to be alive when a target is.
const NEAR_CHILDREN: usize = 8;
const NEAR_SIBLINGS: usize = 4;

/// The targets that a change at `target` makes likelier to change: its parent, its first children, and the siblings
/// beside it.
pub fn neighbours<'a, T: PartialEq>(
    target: &T,
    parent: Option<&'a T>,
    children: impl Iterator<Item = &'a T>,
    siblings: impl Iterator<Item = &'a T>,
) -> Vec<&'a T> {
    let siblings: Vec<&T> = siblings.collect();
    let at = siblings.iter().position(|sibling| *sibling == target).unwrap_or(0);
    let beside = siblings[at.saturating_sub(NEAR_SIBLINGS)..].iter().take(2 * NEAR_SIBLINGS + 1);
    parent
        .into_iter()
        .chain(children.take(NEAR_CHILDREN))
        .chain(beside.copied().filter(|sibling| *sibling != target))
        .collect()
}

/// The most scores that a forecast computes, about ten milliseconds. With many targets it is exact for a while only.
const FORECAST_SCORES: u64 = 600_000;

/// When each target will be fetched if nothing changes meanwhile and a fetch leaves every `every_ms`. The schedule is
/// run ahead until each target has had its turn (or as far as the guarantee of [`next`] goes). If that takes too long,
/// the other targets get the guarantee of [`next`], by the age of their last fetch.
#[must_use]
pub fn forecast(polls: &[PollState], every_ms: i64, eager: bool, now: Timestamp) -> Vec<Option<Timestamp>> {
    let mut polls = polls.to_vec();
    let mut turns = vec![None; polls.len()];
    let (mut left, mut at) = (polls.len(), now);
    // A quarter of the slots goes to the oldest fetch, and nothing is due while all fetches are young.
    let most = 4 * polls.len() as u64 + 4 * OLD_ENOUGH_MS.unsigned_abs() / 5_000;
    let exact = most.min(FORECAST_SCORES / (polls.len() as u64).max(1) + 1);
    for slot in 0..exact {
        if left == 0 {
            break;
        }
        let Some(target) = next(polls.iter().enumerate(), slot, eager, at) else {
            at = next_check(at);
            continue;
        };
        if turns[target].is_none() {
            turns[target] = Some(at);
            left -= 1;
        }
        polls[target].last = at;
        unchanged(&mut polls[target]);
        at = at.plus_ms(every_ms.max(1));
    }
    if exact < most {
        let mut rest: Vec<usize> = (0..polls.len()).filter(|target| turns[*target].is_none()).collect();
        rest.sort_by_key(|target| polls[*target].last);
        for (before, target) in (0_i64..).zip(rest) {
            turns[target] = Some(at.plus_ms((before * 4 + 1) * every_ms));
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000_000);

    fn quiet(last_ms_ago: i64) -> PollState {
        PollState { last: NOW.plus_ms(-last_ms_ago), ..fresh(NOW) }
    }

    #[test]
    fn every_target_has_its_turn_within_four_laps_whatever_is_hot() {
        for hot in [0, 1, 20, 100] {
            let mut polls: Vec<PollState> = (0..100).map(|n| quiet(1_200 * n)).collect();
            for poll in polls.iter_mut().take(hot) {
                changed(poll, NOW);
            }
            let turns = forecast(&polls, 1_200, true, NOW);
            let worst = turns.iter().map(|at| at.map_or(i64::MAX, |at| at.since_ms(NOW))).max();
            assert!(worst <= Some(4 * 100 * 1_200), "{hot} hot: {worst:?}");
            assert!(worst <= Some(longest_ms(100, 1_200)), "what is called late is later than that");
        }
    }

    #[test]
    fn what_somebody_works_at_is_looked_at_within_seconds_and_cools_off() {
        let mut polls: Vec<PollState> = (0..1_000).map(|n| quiet(1_200 * n)).collect();
        changed(&mut polls[7], NOW);
        polls[7].last = NOW;
        let turn = forecast(&polls, 1_200, false, NOW)[7].unwrap();
        assert!(turn.since_ms(NOW) <= PollState::HOT_GAP_MS + 4 * 1_200, "{turn}");
        let mut looks = 0;
        while polls[7].gap_ms > 0 {
            unchanged(&mut polls[7]);
            looks += 1;
        }
        assert!((10..=30).contains(&looks), "{looks} looks at what is over");
    }

    #[test]
    fn nothing_is_asked_for_where_nothing_can_be_gained() {
        let polls: Vec<PollState> = (0..50).map(|_| quiet(70_000)).collect();
        assert_eq!(next(polls.iter().enumerate(), 0, false, NOW), None);
        assert!(next(polls.iter().enumerate(), 0, true, NOW).is_some());
    }

    #[test]
    fn targets_that_are_left_out_count_among_the_others() {
        let polls: Vec<PollState> = (0..40).map(|_| quiet(100_000)).collect();
        let chosen = |others| Survey::of(polls.iter().enumerate(), NOW).among(others).choose(0, false);
        assert!(chosen(0).is_some());
        assert_eq!(chosen(1_000), None);
    }

    #[test]
    fn few_targets_are_looked_at_as_often_as_the_limit_lets_them_be() {
        for (count, bound_ms) in [(1, 20_000), (12, 20_000), (50, 75_000), (100, 150_000)] {
            let mut polls: Vec<PollState> = (0..count).map(|n| quiet(1_200 * n)).collect();
            // Some are far more alive than others.
            polls
                .iter_mut()
                .step_by(3)
                .for_each(|poll| (poll.life, poll.changes) = (NOW.plus_ms(-SESSION_MS), 9.0));
            let (mut now, mut longest) = (NOW, 0);
            for slot in 0..2_000 {
                if let Some(target) = next(polls.iter().enumerate(), slot, false, now) {
                    longest = longest.max(now.since_ms(polls[target].last));
                    polls[target].last = now;
                }
                now = now.plus_ms(1_180);
            }
            assert!(longest <= bound_ms + 2_400, "{count}: {longest}");
        }
    }

    #[test]
    fn nothing_is_worth_a_fetch_before_a_target_is_due() {
        for count in [1, 13, 100, 1_000] {
            let mut polls: Vec<PollState> = (0..count).map(|n| quiet(300 * n)).collect();
            // Some are alive, and some are being edited.
            polls.iter_mut().step_by(7).for_each(|poll| poll.life = NOW.plus_ms(-SESSION_MS));
            polls.iter_mut().step_by(50).for_each(|poll| poll.gap_ms = PollState::HOT_GAP_MAX_MS);
            let first = polls.iter().map(|poll| due(poll, count)).min().unwrap();
            let chosen = |now: Timestamp| {
                (0..4).any(|slot| next(polls.iter().enumerate(), slot, false, now).is_some())
            };
            assert!(!chosen(first.plus_ms(-1)), "{count}");
            // The bound is not far from the truth either.
            assert!(chosen(first.plus_ms(2_000)), "{count}");
        }
    }

    #[test]
    fn quiet_hours_end_with_any_sign_of_life_and_never_let_a_look_grow_old() {
        let rested = |polls: &[PollState]| rests(polls.iter(), 1_200, NOW);
        let few: Vec<PollState> = (0..100).map(|n| quiet(1_200 * n)).collect();
        assert!(rested(&few), "few targets take most of the requests otherwise");
        let mut polls: Vec<PollState> = (0..200).map(|n| quiet(2_400 * n)).collect();
        assert!(rested(&polls));
        stirred(&mut polls[3], NOW);
        assert!(!rested(&polls), "something beside it changed");
        polls[3].life = NOW.plus_ms(-QUIET_AFTER_MS - 1);
        assert!(rested(&polls));
        polls[50].last = NOW.plus_ms(-longest_ms(200, 1_200));
        assert!(!rested(&polls), "one has waited for long");
    }

    #[test]
    fn neighbours_are_the_ones_beside_it() {
        let (siblings, children): (Vec<u32>, Vec<u32>) = ((0..30).collect(), (100..120).collect());
        let near = neighbours(&15, Some(&99), children.iter(), siblings.iter());
        let expected = [99, 100, 101, 102, 103, 104, 105, 106, 107, 11, 12, 13, 14, 16, 17, 18, 19];
        assert_eq!(near.into_iter().copied().collect::<Vec<u32>>(), expected);
        let near = neighbours(&0, None, [].iter(), siblings.iter());
        assert_eq!(near, [&1, &2, &3, &4, &5, &6, &7, &8]);
    }
}
