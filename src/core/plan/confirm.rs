//! What an observation (a list, a fetch) says of an act that was sent. One rule for each kind of item, and for existence,
//! name, content and elements.
//!
//! A read may be older than the act, because replicas and caches lag. So an act that was answered with success counts until a
//! read shows it, for a while; and an act without an answer is refuted only by reads that were requested late enough. All times
//! of reads are those of their requests.

use crate::model::{Timestamp, Unconfirmed};

/// A read that shows the state before an act is older than the act for so long after it, in milliseconds: while no read has
/// shown the act, and once one has, because replicas take turns.
pub const LAGS_MS: [i64; 2] = [60_000, 20_000];
/// When an item is fetched after an act that a read does not show, in milliseconds after the act.
const FETCHED_AGAIN_MS: [i64; 4] = [1_000, 3_000, 10_000, 30_000];
/// Minimum waits of the reads that count against an act without an answer, in milliseconds: the first from the loss of the
/// answer, the second from the first. A slow service may still carry the request out, and a service in trouble may show less
/// for a while.
const WAIT_MS: [i64; 2] = [2_000, 15_000];
/// The least and the longest wait for another read once the one that would count is overdue, in milliseconds.
const OVERDUE_MS: [i64; 2] = [500, 60_000];

/// What an act does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It makes something. Sent twice, it makes two.
    Create,
    /// It changes something. Sent twice, it does no harm.
    Change,
    /// It removes something. Sent twice, it does no harm.
    Remove,
}

/// What is known of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has left, and its answer may still come.
    Sent,
    /// Its answer is lost.
    Unconfirmed(Unconfirmed),
    /// It was carried out.
    Done {
        /// The time of the answer; without one, of the read that showed it.
        at: Timestamp,
        /// Whether a read has shown it.
        shown: bool,
    },
}

/// What a read that may show an act shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// Exactly the state before it, or an earlier one that the item had: not listed yet, or listed still.
    Before,
    /// The state after it, or one in which its changes show.
    After,
    /// Another state.
    Other,
}

/// What follows from a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The act was carried out: the base moves. The row is kept in this state until it [`is_over`].
    Confirmed(State),
    /// The act was not carried out, or nothing of it is left: the row goes, and the work is derived again.
    Refuted,
    /// Whether it was carried out is unknown. The row is kept in this state.
    InDoubt(State),
    /// The read is older than the act, and is ignored.
    Lags,
    /// Another user or program made this state after the act. The row is kept until it [`is_over`].
    Foreign,
}

/// What a read that was requested at `asked_at` says of an act. The read must have been requested after the act: an earlier one
/// says nothing of it.
#[must_use]
pub fn confirm(what: What, state: State, shows: Shows, asked_at: Timestamp) -> Verdict {
    match (state, shows) {
        (State::Sent | State::Unconfirmed(_), Shows::After) => {
            Verdict::Confirmed(State::Done { at: asked_at, shown: true })
        }
        // The answer tells more.
        (State::Sent, _) => Verdict::InDoubt(state),
        (State::Unconfirmed(doubt), _) => match not_shown(what, doubt, asked_at) {
            Some(doubt) => Verdict::InDoubt(State::Unconfirmed(doubt)),
            None => Verdict::Refuted,
        },
        (State::Done { at, .. }, Shows::After) => Verdict::Confirmed(State::Done { at, shown: true }),
        (State::Done { at, shown }, Shows::Before) if lags(at, shown, asked_at) => Verdict::Lags,
        (State::Done { .. }, Shows::Before | Shows::Other) => Verdict::Foreign,
    }
}

/// Whether a read that shows the state before an act may be older than it.
fn lags(at: Timestamp, shown: bool, asked_at: Timestamp) -> bool {
    asked_at.since_ms(at) <= LAGS_MS[usize::from(shown)]
}

/// Whether the row of an act says nothing any more.
#[must_use]
pub fn is_over(state: State, now: Timestamp) -> bool {
    matches!(state, State::Done { at, shown } if !lags(at, shown, now))
}

/// When the item is to be read for this act, in milliseconds from now; `None` if nothing depends on it.
#[must_use]
pub fn read_again_in(state: State, now: Timestamp) -> Option<i64> {
    match state {
        State::Sent | State::Done { shown: true, .. } => None,
        State::Unconfirmed(doubt) => {
            // What a read has told nothing of, although it was late enough, is read ever more seldom.
            let left = next_read(doubt).since_ms(now);
            Some(if left > 0 { left } else { left.saturating_neg().clamp(OVERDUE_MS[0], OVERDUE_MS[1]) })
        }
        State::Done { at, shown: false } => {
            let age = now.since_ms(at);
            FETCHED_AGAIN_MS.iter().find(|after| **after > age).map(|after| after - age)
        }
    }
}

/// The earliest time of the next read that counts against an act.
fn next_read(doubt: Unconfirmed) -> Timestamp {
    doubt.since.plus_ms(WAIT_MS[usize::from(doubt.looks > 0)])
}

/// Takes in a read that lacks an act. Returns the remaining doubt; `None` if the act was not carried out. What may be sent twice
/// needs one such read, and a creation two.
fn not_shown(what: What, doubt: Unconfirmed, asked_at: Timestamp) -> Option<Unconfirmed> {
    let needed = if what == What::Create { WAIT_MS.len() } else { 1 };
    if asked_at < next_read(doubt) {
        return Some(doubt);
    }
    let looks = doubt.looks + 1;
    ((looks as usize) < needed).then_some(Unconfirmed { since: asked_at, looks })
}

#[cfg(test)]
mod tests;
