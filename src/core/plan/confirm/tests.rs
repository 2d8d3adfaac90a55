//! Compares [`confirm`] with the rule of creations that have no answer, in every state, and states its table.

use super::*;
use crate::plan::confirm as before;

const LOST: Timestamp = Timestamp(1_000_000);

#[test]
fn creations_without_an_answer_are_refuted_as_before() {
    let edges = [-1, 0, 1, 1_999, 2_000, 2_001, 14_999, 15_000, 15_001, 60_000];
    let mut states = 0;
    for (since, looks) in edges.into_iter().flat_map(|since| [0, 1].map(|looks| (since, looks))) {
        let doubt = Unconfirmed { since: LOST.plus_ms(since), looks };
        for asked_at in edges.into_iter().map(|after| LOST.plus_ms(since + after)) {
            let expected = match before::not_shown(doubt, asked_at) {
                Some(doubt) => Verdict::InDoubt(State::Unconfirmed(doubt)),
                None => Verdict::Refuted,
            };
            for shows in [Shows::Before, Shows::Other] {
                let found = confirm(What::Create, State::Unconfirmed(doubt), shows, asked_at);
                assert_eq!(found, expected, "{doubt:?} {shows:?} {asked_at:?}");
                states += 1;
            }
            let left = before::next_look(&doubt).since_ms(asked_at);
            let wait = if left > 0 { left } else { OVERDUE_MS[0].max(-left) };
            assert_eq!(read_again_in(State::Unconfirmed(doubt), asked_at), Some(wait));
        }
    }
    assert_eq!(states, 400);
}

#[test]
fn reads_that_tell_nothing_are_not_made_one_after_the_other() {
    let doubt = State::Unconfirmed(Unconfirmed { since: LOST, looks: 0 });
    let (mut now, mut reads) = (LOST, 0);
    while now < LOST.plus_ms(3_600_000) {
        now = now.plus_ms(read_again_in(doubt, now).unwrap());
        reads += 1;
    }
    assert!((60..75).contains(&reads), "{reads} in an hour");
}

#[test]
fn every_state_has_its_verdict() {
    let doubt = State::Unconfirmed(Unconfirmed { since: LOST, looks: 0 });
    let (new, shown) = (State::Done { at: LOST, shown: false }, State::Done { at: LOST, shown: true });
    let check = |what, state, shows, after, expected| {
        let found = confirm(what, state, shows, LOST.plus_ms(after));
        assert_eq!(found, expected, "{what:?} {state:?} {shows:?} after {after} ms");
    };
    for what in [What::Create, What::Change, What::Remove] {
        for shows in [Shows::Before, Shows::Other] {
            check(what, State::Sent, shows, 90_000, Verdict::InDoubt(State::Sent));
        }
        // Without an answer.
        let found = State::Done { at: LOST.plus_ms(5), shown: true };
        check(what, State::Sent, Shows::After, 5, Verdict::Confirmed(found));
        check(what, doubt, Shows::After, 5, Verdict::Confirmed(found));
        check(what, doubt, Shows::Before, 1_999, Verdict::InDoubt(doubt));
        // With one.
        for state in [new, shown] {
            check(what, state, Shows::After, 90_000, Verdict::Confirmed(shown));
            check(what, state, Shows::Other, 5, Verdict::Foreign);
            check(what, state, Shows::Before, 20_000, Verdict::Lags);
            check(what, state, Shows::Before, 60_001, Verdict::Foreign);
        }
        check(what, new, Shows::Before, 60_000, Verdict::Lags);
        check(what, shown, Shows::Before, 20_001, Verdict::Foreign);
    }
    let once = State::Unconfirmed(Unconfirmed { since: LOST.plus_ms(2_000), looks: 1 });
    check(What::Create, doubt, Shows::Before, 2_000, Verdict::InDoubt(once));
    check(What::Create, once, Shows::Before, 17_000, Verdict::Refuted);
    // As for elements of canvases today. A page's update was refuted by the first fetch, and for a minute a later one could
    // still show it. Now the first two seconds of doubt are waited for, and what shows later is equal on both sides.
    for (what, shows) in [What::Change, What::Remove]
        .into_iter()
        .flat_map(|what| [Shows::Before, Shows::Other].map(|shows| (what, shows)))
    {
        check(what, doubt, shows, 1_999, Verdict::InDoubt(doubt));
        check(what, doubt, shows, 2_000, Verdict::Refuted);
    }
}

#[test]
fn a_row_is_kept_and_read_again_while_reads_may_be_older() {
    let (new, shown) = (State::Done { at: LOST, shown: false }, State::Done { at: LOST, shown: true });
    let over = |state, after| is_over(state, LOST.plus_ms(after));
    assert!(!over(new, 60_000) && over(new, 60_001) && !over(shown, 20_000) && over(shown, 20_001));
    assert!(!over(State::Sent, 90_000));
    assert!(!over(State::Unconfirmed(Unconfirmed { since: LOST, looks: 1 }), 90_000));
    let again = |after| read_again_in(new, LOST.plus_ms(after));
    assert_eq!([0, 1_000, 2_999, 3_000, 29_999].map(again), [1_000, 2_000, 1, 7_000, 1].map(Some));
    assert_eq!(again(30_000), None);
    assert_eq!(read_again_in(shown, LOST), None);
}

/// A replica lags, and two of them take turns. Nobody is blamed, and what another user writes is seen at once.
#[test]
fn reads_in_any_order_end_the_same() {
    let row = |reads: &[(i64, Shows)]| {
        let mut state = State::Done { at: LOST, shown: false };
        let verdicts = reads.iter().map(|(after, shows)| {
            let verdict = confirm(What::Change, state, *shows, LOST.plus_ms(*after));
            if let Verdict::Confirmed(next) = verdict {
                state = next;
            }
            verdict
        });
        verdicts
            .map(|verdict| match verdict {
                Verdict::Confirmed(_) => 'c',
                Verdict::Lags => 'l',
                Verdict::Foreign => 'f',
                Verdict::Refuted | Verdict::InDoubt(_) => '?',
            })
            .collect::<String>()
    };
    use Shows::{After, Before, Other};
    assert_eq!(row(&[(1_000, Before), (3_000, After), (10_000, Before), (30_000, After)]), "lclc");
    assert_eq!(row(&[(1_000, Before), (3_000, Before), (30_000, Before), (61_000, Before)]), "lllf");
    assert_eq!(row(&[(1_000, After), (21_000, Before)]), "cf");
    assert_eq!(row(&[(1_000, Other), (2_000, After), (3_000, Before)]), "fcl");
}
