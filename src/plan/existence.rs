//! Decides whether an item is to exist on each side. One rule for pages, whiteboards, slides and stored files. Pure.
//!
//! A side that did not change yields to the other, and an edit beats a deletion. While a side is unknown, the
//! decision waits.

/// What the service shows of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum There {
    /// No list shows it; whether it is gone is unknown.
    Unlisted,
    /// It is gone.
    Gone,
    /// It is as in the base.
    Same,
    /// It differs from the base: a deletion would lose that change.
    Changed,
}

/// What the folder shows of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// Its state is unknown, or must not count yet.
    Unclear,
    /// The file has been missing for longer than the grace time, and no unreadable item may hide it.
    Missing,
    /// The file is as in the base.
    Same,
    /// The file has an edit that the service never got.
    Changed,
}

/// The state of an item on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// Whether the item has a base.
    pub agreed: bool,
    /// What the folder shows.
    pub here: Here,
    /// What the service shows.
    pub there: There,
    /// Whether a deletion in the folder deletes at the service; if not, the item comes back.
    pub deletes: bool,
    /// Whether a guard holds the item that left the service.
    pub held_here: bool,
    /// Whether a guard holds the item that left the folder.
    pub held_there: bool,
}

impl Case {
    /// An item that has a base and that no guard holds.
    #[must_use]
    pub fn agreed(here: Here, there: There, deletes: bool) -> Self {
        Self { agreed: true, here, there, deletes, held_here: false, held_there: false }
    }
}

/// The decision about an item's existence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existence {
    /// Both sides have it: its content decides.
    Both,
    /// Nothing can be decided yet.
    Wait,
    /// The item must be fetched by its id.
    Confirm,
    /// It is gone on both sides.
    Forget,
    /// The folder never had it: it is written there.
    ComesHere,
    /// It was deleted in the folder, and the service's side wins: it is written again.
    ComesBack,
    /// It is gone at the service, and the file has no edit: the file goes to the mirror's trash.
    LeavesHere,
    /// It is gone at the service, and the file has an edit: the edit stays.
    StaysHere,
    /// It was deleted in the folder: it goes to the service's trash.
    LeavesThere,
}

/// Decides about an item's existence. Total: each case has an answer.
#[must_use]
pub fn existence(case: &Case) -> Existence {
    match (case.there, case.here) {
        (There::Unlisted, _) if case.held_here => Existence::Wait,
        (There::Unlisted, _) => Existence::Confirm,
        (There::Gone, Here::Missing) => Existence::Forget,
        (There::Gone, _) if !case.agreed => Existence::Forget,
        (There::Gone, Here::Unclear) => Existence::Wait,
        (There::Gone, Here::Changed) => Existence::StaysHere,
        (There::Gone, Here::Same) if case.held_here => Existence::Wait,
        (There::Gone, Here::Same) => Existence::LeavesHere,
        (There::Same | There::Changed, Here::Same | Here::Changed) => Existence::Both,
        (_, Here::Missing) if !case.agreed => Existence::ComesHere,
        (_, Here::Unclear) => Existence::Wait,
        (There::Changed, Here::Missing) => Existence::ComesBack,
        (There::Same, Here::Missing) if !case.deletes => Existence::ComesBack,
        (There::Same, Here::Missing) if case.held_there => Existence::Wait,
        (There::Same, Here::Missing) => Existence::LeavesThere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THERE: [There; 4] = [There::Unlisted, There::Gone, There::Same, There::Changed];
    const HERE: [Here; 4] = [Here::Unclear, Here::Missing, Here::Same, Here::Changed];

    fn all() -> impl Iterator<Item = Case> {
        let cases = THERE.into_iter().flat_map(|there| HERE.map(|here| (here, there)));
        cases.flat_map(|(here, there)| {
            (0..16).map(move |bits: u32| {
                let bit = |n: u32| bits >> n & 1 == 1;
                Case { agreed: bit(0), here, there, deletes: bit(1), held_here: bit(2), held_there: bit(3) }
            })
        })
    }

    #[test]
    fn each_case_has_its_answer() {
        let check = |here, there, expected| {
            assert_eq!(existence(&Case::agreed(here, there, true)), expected, "{here:?} {there:?}");
        };
        check(Here::Same, There::Same, Existence::Both);
        check(Here::Changed, There::Same, Existence::Both);
        check(Here::Changed, There::Changed, Existence::Both);
        check(Here::Unclear, There::Same, Existence::Wait);
        check(Here::Missing, There::Same, Existence::LeavesThere);
        check(Here::Missing, There::Changed, Existence::ComesBack);
        check(Here::Missing, There::Gone, Existence::Forget);
        check(Here::Same, There::Gone, Existence::LeavesHere);
        check(Here::Changed, There::Gone, Existence::StaysHere);
        check(Here::Unclear, There::Gone, Existence::Wait);
        check(Here::Same, There::Unlisted, Existence::Confirm);
        let missing = Case::agreed(Here::Missing, There::Same, true);
        assert_eq!(existence(&Case { deletes: false, ..missing }), Existence::ComesBack);
        assert_eq!(existence(&Case { held_there: true, ..missing }), Existence::Wait);
        assert_eq!(existence(&Case { agreed: false, ..missing }), Existence::ComesHere);
        let gone = Case::agreed(Here::Same, There::Gone, true);
        assert_eq!(existence(&Case { held_here: true, ..gone }), Existence::Wait);
    }

    #[test]
    fn nothing_leaves_either_side_without_an_agreement_or_against_an_edit() {
        for case in all() {
            let answer = existence(&case);
            match answer {
                Existence::LeavesHere => {
                    let is_due = case.there == There::Gone && case.here == Here::Same;
                    assert!(is_due && case.agreed && !case.held_here, "{case:?}");
                }
                Existence::LeavesThere => {
                    let is_due = case.here == Here::Missing && case.there == There::Same;
                    assert!(is_due && case.agreed && case.deletes && !case.held_there, "{case:?}");
                }
                Existence::Forget => assert_eq!(case.there, There::Gone, "{case:?}"),
                Existence::StaysHere => assert_eq!(case.here, Here::Changed, "{case:?}"),
                _ => {}
            }
            let is_known = case.here != Here::Unclear && !case.held_here && !case.held_there;
            assert!(answer != Existence::Wait || !is_known, "{case:?} waits for nothing");
        }
    }
}
