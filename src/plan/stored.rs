//! Decides about one stored file: a pure comparison of the service's state, the base, and the disk.

use super::existence::{Case, Existence, Here, There, existence};
use crate::model::planted;

/// The next act for one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// Both sides are as they should be.
    Rest,
    /// Nothing can be done until the state changes.
    Wait,
    /// It is gone on both sides.
    Forget,
    /// It left its list: it must be fetched by its id.
    Confirm,
    /// Its content is to be downloaded.
    Fetch,
    /// Its content is downloaded and goes to its place.
    Place,
    /// Its name or folder at the service has changed.
    Move,
    /// The local edit becomes a conflict copy, and the service's version is downloaded.
    SetAside,
    /// It left the service, or is damaged: the file goes to the mirror's trash.
    Discard,
    /// The base is no longer on disk: the base is dropped and the file downloaded again.
    LetGo,
    /// It was deleted in the folder: it goes to the service's trash.
    TrashThere,
}

/// The input of [`decide`] for one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Whether it is to exist on each side. The service's content counts as changed if it is another one than the
    /// base's.
    pub case: Case,
    /// Whether the file has the stamp of the base and other bytes.
    pub damaged: bool,
    /// Whether the file may be the result of a running upload, or its path is that of an unconfirmed upload.
    pub awaited: bool,
    /// Whether the file may be the result of an unconfirmed upload: then it is one that was moved, unless a GET shows
    /// that it is gone.
    pub sought: bool,
    /// Whether the service's content is completely downloaded.
    pub fetched: bool,
    /// Whether the file on disk may be that content: the process may have died between placing the file and recording
    /// it.
    pub perhaps_placed: bool,
    /// Whether its path on disk should be another one than the base's.
    pub displaced: bool,
    /// Whether an upload of ours replaces it; `true` once a list shows the replacement.
    pub replaced: Option<bool>,
}

/// The next act for one file. Total: each state has an answer.
#[must_use]
pub fn decide(view: &View) -> Decision {
    let mut case = view.case;
    let is_listed = matches!(case.there, There::Same | There::Changed);
    match view.replaced {
        _ if !is_listed && (view.replaced.is_some() || !case.agreed && !view.sought) => {
            return Decision::Forget;
        }
        Some(is_there) if is_there || planted("replaced-trashed-early") => return Decision::TrashThere,
        Some(_) => return Decision::Wait,
        None => {}
    }
    if !case.agreed {
        // Without a base, what is at a path is no version of this file.
        case.here = Here::Missing;
    }
    if case.here == Here::Changed && case.there == There::Gone && planted("stored-edit-discarded") {
        case.here = Here::Same;
    }
    match existence(&case) {
        Existence::Both => both_there(view),
        Existence::Wait => Decision::Wait,
        Existence::Confirm => Decision::Confirm,
        // An edit stays in its place, as a file of the user's own.
        Existence::Forget | Existence::StaysHere => Decision::Forget,
        Existence::ComesHere if view.awaited => Decision::Wait,
        Existence::ComesHere => content(view),
        Existence::ComesBack => Decision::LetGo,
        Existence::LeavesHere => Decision::Discard,
        Existence::LeavesThere => Decision::TrashThere,
    }
}

fn both_there(view: &View) -> Decision {
    let renewed = view.case.there == There::Changed;
    match view.case.here {
        Here::Same if view.damaged => Decision::Discard,
        Here::Same if renewed => content(view),
        Here::Same if view.displaced => Decision::Move,
        Here::Same => Decision::Rest,
        Here::Changed if renewed && planted("placed-over-edit") => content(view),
        Here::Changed if view.perhaps_placed => content(view),
        // A file sent from this path may be at the service by now. Then these bytes are that file's, and no edit of
        // this one.
        Here::Changed if view.awaited => Decision::Wait,
        Here::Changed if view.case.deletes && !renewed => Decision::Wait,
        Here::Changed => Decision::SetAside,
        Here::Unclear | Here::Missing => Decision::Wait,
    }
}

fn content(view: &View) -> Decision {
    if view.fetched { Decision::Place } else { Decision::Fetch }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of backup mode, the same on both sides.
    fn rest(here: Here, there: There) -> View {
        View {
            case: Case::agreed(here, there, false),
            damaged: false,
            awaited: false,
            sought: false,
            fetched: false,
            perhaps_placed: false,
            displaced: false,
            replaced: None,
        }
    }

    /// The same with sync in both directions.
    fn both(here: Here, there: There) -> View {
        View { case: Case::agreed(here, there, true), ..rest(here, there) }
    }

    fn with(mut view: View, edit: impl FnOnce(&mut Case)) -> View {
        edit(&mut view.case);
        view
    }

    #[test]
    fn every_difference_has_its_act() {
        use Here::{Changed, Missing, Same};
        let check = |view: View, expected: Decision| assert_eq!(decide(&view), expected, "{view:?}");
        let new = || with(both(Missing, There::Same), |case| case.agreed = false);
        check(rest(Same, There::Same), Decision::Rest);
        check(new(), Decision::Fetch);
        check(View { fetched: true, ..new() }, Decision::Place);
        check(View { awaited: true, ..new() }, Decision::Wait);
        check(rest(Same, There::Changed), Decision::Fetch);
        check(View { fetched: true, ..rest(Same, There::Changed) }, Decision::Place);
        check(View { displaced: true, ..rest(Same, There::Same) }, Decision::Move);
        check(rest(Missing, There::Same), Decision::LetGo);
        check(rest(Changed, There::Same), Decision::SetAside);
        check(View { perhaps_placed: true, ..rest(Changed, There::Changed) }, Decision::Fetch);
        check(both(Changed, There::Same), Decision::Wait);
        check(View { awaited: true, ..both(Changed, There::Changed) }, Decision::Wait);
        check(both(Changed, There::Changed), Decision::SetAside);
        check(both(Missing, There::Same), Decision::TrashThere);
        check(with(both(Missing, There::Same), |case| case.held_there = true), Decision::Wait);
        check(both(Missing, There::Changed), Decision::LetGo);
        check(View { damaged: true, ..both(Same, There::Same) }, Decision::Discard);
        check(rest(Same, There::Unlisted), Decision::Confirm);
        check(with(rest(Same, There::Unlisted), |case| case.agreed = false), Decision::Forget);
        check(with(rest(Same, There::Unlisted), |case| case.held_here = true), Decision::Wait);
        check(rest(Same, There::Gone), Decision::Discard);
        check(with(rest(Same, There::Gone), |case| case.held_here = true), Decision::Wait);
        check(rest(Changed, There::Gone), Decision::Forget);
        check(View { replaced: Some(false), ..new() }, Decision::Wait);
        check(View { replaced: Some(true), ..new() }, Decision::TrashThere);
        check(View { replaced: Some(true), ..rest(Same, There::Gone) }, Decision::Forget);
        let left = |there| View { sought: true, ..with(both(Missing, there), |case| case.agreed = false) };
        check(View { sought: false, ..left(There::Unlisted) }, Decision::Forget);
        check(left(There::Unlisted), Decision::Confirm);
        check(left(There::Gone), Decision::Forget);
    }

    #[test]
    fn nothing_is_taken_away_on_either_side_without_an_agreement_or_from_what_is_unclear() {
        let heres = [Here::Unclear, Here::Same, Here::Missing, Here::Changed];
        let theres = [There::Same, There::Changed, There::Unlisted, There::Gone];
        for (here, there) in heres.into_iter().flat_map(|here| theres.map(|there| (here, there))) {
            for bits in 0..1_024_usize {
                let bit = |n: usize| bits >> n & 1 == 1;
                let case = Case {
                    agreed: bit(0),
                    here,
                    there,
                    deletes: bit(1),
                    held_here: bit(2),
                    held_there: bit(3),
                };
                let view = View {
                    case,
                    damaged: bit(4) && here == Here::Same,
                    awaited: bit(5),
                    fetched: bit(6),
                    perhaps_placed: bit(7) && there == There::Changed,
                    displaced: bit(8),
                    sought: bit(9),
                    replaced: None,
                };
                let decision = decide(&view);
                let takes = matches!(decision, Decision::Discard | Decision::TrashThere);
                assert!(!takes || case.agreed && here != Here::Unclear, "{view:?}");
                assert!(decision != Decision::TrashThere || case.deletes, "{view:?}");
                assert!(decision != Decision::Discard || here == Here::Same, "{view:?}");
                let may_leave = there == There::Gone && !case.held_here || view.damaged;
                assert!(decision != Decision::Discard || may_leave, "{view:?}");
            }
        }
    }
}
