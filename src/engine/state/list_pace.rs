//! The pace at which the service's lists are fetched.

use crate::engine::state::Engine;

pub(crate) const LIST_EVERY_MS: i64 = 20_000;

/// Page lists of several workspaces share this many requests a minute; twice as many if there are so few pages that
/// their fetches leave requests unused.
const LISTS_A_MINUTE: i64 = 6;
const FEW_PAGES: usize = 30;
/// Lists of all kinds together take at most one in so many of the requests that they may use. Otherwise, on a small
/// limit or with many workspaces, nothing would be left for the listed items.
const PART_OF_LISTS: i64 = 3;

/// How often lists are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListPace {
    /// The interval between two page lists of a workspace.
    pub(crate) pages_ms: i64,
    /// What lists of other kinds would take in a minute, and what they may take, in thousandths of a request.
    others: i64,
    room: i64,
}

impl ListPace {
    /// The pace with `most` requests a minute that lists may use, and so many other lists a minute. Page lists go
    /// first: they may take half of the part, and what the others leave of theirs.
    fn of(most: u32, workspaces: usize, pages: usize, others: i64) -> Self {
        let part = i64::from(most.max(1)) * 1_000 / PART_OF_LISTS;
        let (spaces, others) = (i64::try_from(workspaces).unwrap_or(1).max(1), others * 1_000);
        let lists = if pages <= FEW_PAGES { 2 * LISTS_A_MINUTE } else { LISTS_A_MINUTE };
        let wanted = (60_000 * spaces / LIST_EVERY_MS).min(lists) * 1_000;
        let pages = wanted.min((part / 2).max(part - others));
        let pages_ms = LIST_EVERY_MS.max(60_000 * spaces / lists).max(60_000_000 * spaces / pages.max(1));
        Self { pages_ms, others, room: (part - pages).max(1) }
    }

    /// The interval of a list of another kind that would be fetched each `every_ms`.
    pub(crate) fn other_ms(self, every_ms: i64) -> i64 {
        every_ms * self.others.max(self.room) / self.room
    }
}

/// The pace of lists for the present number of workspaces and pages.
pub(crate) fn list_pace(engine: &Engine) -> ListPace {
    let trees = &engine.pages.trees;
    let (spaces, pages) = (trees.workspaces.len(), trees.pages.len());
    // Each is fetched once a minute.
    let others = i64::try_from(core_lists(engine)).unwrap_or(i64::from(u32::MAX));
    ListPace::of(engine.cx.pace.most_lists(), spaces, pages, others)
}

/// The number of lists that the core fetches.
pub(crate) fn core_lists(engine: &Engine) -> usize {
    let on = engine.cx.settings.boards;
    let boards = if on.whiteboards { engine.pages.trees.workspaces.len() } else { 0 };
    boards + usize::from(on.presentations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_leave_two_thirds_for_what_they_name() {
        for (most, spaces, decks) in (1..=600).flat_map(|most| {
            [1, 2, 3, 7, 40, 300].into_iter().flat_map(move |spaces| [0, 2, 4].map(|n| (most, spaces, n)))
        }) {
            let count = i64::try_from(spaces).unwrap();
            for others in [0, count + 1 + decks] {
                let pace = ListPace::of(most, spaces, 31, others);
                let a_minute = 60_000.0 * count as f64 / pace.pages_ms as f64
                    + 60_000.0 * others as f64 / pace.other_ms(60_000) as f64;
                let part = f64::from(most) / 3.0;
                assert!(a_minute <= part + 0.01, "{most} {spaces} {others}: {a_minute} of {part}");
            }
        }
    }

    #[test]
    fn few_workspaces_are_listed_as_often_as_ever_where_the_limit_is_the_usual_one() {
        for spaces in 1..=6 {
            let count = i64::try_from(spaces).unwrap();
            let pace = ListPace::of(52, spaces, 31, count + 1 + 4);
            assert_eq!(pace.pages_ms, (10_000 * count).max(20_000));
            assert_eq!(pace.other_ms(60_000), 60_000);
        }
        // Few pages leave room for more lists.
        assert_eq!([1, 2, 4].map(|spaces| ListPace::of(52, spaces, 30, 0).pages_ms), [20_000; 3]);
        // With pages alone, and a third of that limit.
        assert_eq!(ListPace::of(18, 1, 31, 0).pages_ms, 20_000);
    }
}
