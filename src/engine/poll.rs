//! Which page is looked at next. Nothing in the API says that a page changed, so all freshness comes from here.
//!
//! Four slots in turn: the oldest look (so that every page has a guaranteed longest age), twice a page that is being
//! edited right now, and the page with the best score: how long ago it was looked at, squared, over the root of how
//! long ago it last showed life. The shape and constants come from simulations on the edit histories of public
//! handbooks, where the chance of a new session falls like age^-0.65.

use crate::model::{Node, PageId, PollState, Timestamp};

const HOT_GAP_MS: i64 = 15_000;
const HOT_GAP_MAX_MS: i64 = 600_000;
const HALF_LIFE_MS: f64 = 30.0 * 86_400_000.0;
const SESSION_MS: i64 = 3_600_000;
/// A look is not worth a request below this score, nor when the oldest look is younger than this.
const PRICE: f64 = 100.0;
const OLD_ENOUGH_MS: i64 = 600_000;

/// Which page gets slot number `slot`. `eager` spends the whole share also where little is to be gained.
pub(super) fn next<'a>(
    pages: impl Iterator<Item = &'a Node>,
    slot: u64,
    eager: bool,
    now: Timestamp,
) -> Option<PageId> {
    let mut oldest: Option<&Node> = None;
    let mut hottest: Option<(i64, &Node)> = None;
    let mut best: Option<(f64, &Node)> = None;
    for page in pages {
        if oldest.is_none_or(|node| page.poll.last < node.poll.last) {
            oldest = Some(page);
        }
        let overdue = now.since_ms(page.poll.last) - page.poll.gap_ms;
        if page.poll.gap_ms > 0 && overdue >= 0 && hottest.is_none_or(|(most, _)| overdue > most) {
            hottest = Some((overdue, page));
        }
        let score = score(&page.poll, now);
        if best.is_none_or(|(most, _)| score > most) {
            best = Some((score, page));
        }
    }
    let old = oldest.filter(|node| eager || now.since_ms(node.poll.last) >= OLD_ENOUGH_MS);
    let scored = best.filter(|(score, _)| eager || *score >= PRICE).map(|(_, node)| node);
    let hot = hottest.map(|(_, node)| node);
    match slot % 4 {
        0 => old.or(hot).or(scored),
        1 | 2 => hot.or(scored).or(old),
        _ => scored.or(hot).or(old),
    }
    .map(|node| node.id.clone())
}

/// The earliest moment at which [`next`] may have something, for a driver that sleeps: a coarse bound.
pub(super) fn next_check(now: Timestamp) -> Timestamp {
    now.plus_ms(5_000)
}

pub(super) fn score(poll: &PollState, now: Timestamp) -> f64 {
    let waited = now.since_ms(poll.last).max(0) as f64 / 1_000.0;
    let age = now.since_ms(poll.life).max(0) as f64 / 1_000.0;
    (1.0 + poll.changes) * waited * waited / (age + 600.0).sqrt()
}

/// A look found a change (or the user edited the page): it is alive.
pub(super) fn changed(poll: &mut PollState, now: Timestamp) {
    if now.since_ms(poll.life) > SESSION_MS || poll.changes_at.0 == 0 {
        let faded = (-(now.since_ms(poll.changes_at).max(0) as f64) / HALF_LIFE_MS).exp2();
        poll.changes = if poll.changes_at.0 == 0 { 1.0 } else { poll.changes * faded + 1.0 };
        poll.changes_at = now;
    }
    poll.life = now;
    poll.gap_ms = HOT_GAP_MS;
}

/// A look found nothing new.
pub(super) fn unchanged(poll: &mut PollState) {
    if poll.gap_ms > 0 {
        poll.gap_ms = poll.gap_ms * 13 / 10;
        if poll.gap_ms > HOT_GAP_MAX_MS {
            poll.gap_ms = 0;
        }
    }
}

/// A neighbour in the tree changed, or the list showed a sign of life.
pub(super) fn stirred(poll: &mut PollState, now: Timestamp) {
    poll.life = poll.life.max(now.plus_ms(-SESSION_MS));
}

/// A page first heard of: a long silence is assumed.
pub(super) fn fresh(now: Timestamp) -> PollState {
    PollState { life: now.plus_ms(-30 * 86_400_000), ..PollState::default() }
}
