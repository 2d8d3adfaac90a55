//! When a creation whose answer was lost counts as not carried out: the same for every kind.

use crate::model::{Timestamp, Unconfirmed};

/// Two lists count: one asked for at least so long after the answer was lost, and one so long after the first. A slow service
/// may still be carrying the request out, and one in trouble may show less for a while.
pub const WAIT_MS: [i64; 2] = [2_000, 15_000];

/// The earliest time for the next list that counts.
#[must_use]
pub fn next_look(doubt: &Unconfirmed) -> Timestamp {
    doubt.since.plus_ms(WAIT_MS[usize::from(doubt.looks > 0)])
}

/// Takes in that a list lacks the item. `asked_at` is when the list was asked for. The answer is what is known of the creation
/// now; `None` when it was not carried out.
#[must_use]
pub fn not_shown(doubt: Unconfirmed, asked_at: Timestamp) -> Option<Unconfirmed> {
    if asked_at < next_look(&doubt) {
        return Some(doubt);
    }
    let looks = doubt.looks + 1;
    ((looks as usize) < WAIT_MS.len()).then_some(Unconfirmed { since: asked_at, looks })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many lists asked for at these times, in milliseconds after the loss, have counted; `None` when the creation is
    /// refuted.
    fn after(lists: &[i64]) -> Option<u32> {
        let lost_at = Timestamp(1_000_000);
        let doubt = Unconfirmed { since: lost_at, looks: 0 };
        let all = lists.iter().try_fold(doubt, |doubt, at| not_shown(doubt, lost_at.plus_ms(*at)));
        all.map(|doubt| doubt.looks)
    }

    #[test]
    fn two_lists_that_lack_it_refute_a_creation_and_only_those_that_are_late_enough() {
        assert_eq!(after(&[]), Some(0));
        assert_eq!(after(&[0, 500, 1_999]), Some(0), "the service may still be carrying it out");
        assert_eq!(after(&[2_000, 2_001, 16_999]), Some(1), "lists in a row are one");
        assert_eq!(after(&[2_000, 17_000]), None);
        assert_eq!(after(&[60_000, 74_999]), Some(1), "however late they are");
        assert_eq!(after(&[60_000, 75_000]), None);
    }
}
