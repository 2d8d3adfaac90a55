//! Decides when an unconfirmed creation counts as not carried out. One rule for each kind of item. The same spacing holds
//! for answers that show an item empty that was not.

use crate::model::{Timestamp, Unconfirmed};

/// Minimum waits of the two lists that count, in milliseconds: the first from the loss of the answer to the request of
/// the first list, the second from there to the request of the second list. A slow service may still carry the request
/// out, and a service in trouble may show less for a while.
pub const WAIT_MS: [i64; 2] = [2_000, 15_000];

/// The earliest time for the next list that counts.
#[must_use]
pub fn next_look(doubt: &Unconfirmed) -> Timestamp {
    doubt.since.plus_ms(WAIT_MS[usize::from(doubt.looks > 0)])
}

/// Takes in a list that lacks the item. `asked_at` is the time of the list's request. Returns the remaining
/// unconfirmed state; `None` if the creation was not carried out.
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

    /// The number of counted lists, for lists requested at these times in milliseconds after the loss; `None` if the
    /// creation is refuted.
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
