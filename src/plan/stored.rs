//! Decides about one stored file: a pure comparison of the service's state, the base, and the disk.

use super::existence::{self, Case, Existence, There, existence};
use crate::model::{Seen, StorageMode, planted};

/// The next act for one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// What is at a file's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// Unknown, or about to become known.
    Unclear,
    /// The file of the base.
    Same,
    /// Nothing, for longer than the grace time.
    Missing,
    /// Another file, at rest.
    Changed,
    /// A file with the stamp of the base and other bytes.
    Damaged,
}

/// The input of [`decide`] for one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Direction of the sync.
    pub mode: StorageMode,
    /// What the service showed last.
    pub seen: Seen,
    /// Whether the file has a base.
    pub agreed: bool,
    /// What is at its path.
    pub here: Here,
    /// Whether the service's content is another one than the base's.
    pub renewed: bool,
    /// Whether the file may be the result of a running upload, or its path is that of an unconfirmed upload.
    pub awaited: bool,
    /// Whether the service's content is completely downloaded.
    pub fetched: bool,
    /// Whether the file on disk may be that content: the process may have died between placing the file and recording
    /// it.
    pub perhaps_placed: bool,
    /// Whether its path on disk should be another one than the base's.
    pub displaced: bool,
    /// Whether a guard holds the file that left the service.
    pub held: bool,
    /// Whether a guard holds the file that left the folder, or the file may have been renamed.
    pub kept: bool,
    /// Whether an upload of ours replaces it; `true` once a list shows the replacement.
    pub replaced: Option<bool>,
}

/// The next act for one file. Total: each state has an answer.
#[must_use]
pub fn decide(view: &View) -> Decision {
    if let Some(replacement_is_there) = view.replaced {
        return match (view.seen, replacement_is_there) {
            (Seen::Gone | Seen::Unlisted, _) => Decision::Forget,
            (Seen::Listed, true) => Decision::TrashThere,
            (Seen::Listed, false) if planted("replaced-trashed-early") => Decision::TrashThere,
            (Seen::Listed, false) => Decision::Wait,
        };
    }
    if view.seen != Seen::Listed && !view.agreed {
        return Decision::Forget;
    }
    match existence(&case(view)) {
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

/// The input of `existence` for a stored file.
fn case(view: &View) -> Case {
    let here = match view.here {
        _ if !view.agreed => existence::Here::Missing,
        Here::Unclear => existence::Here::Unclear,
        Here::Missing => existence::Here::Missing,
        Here::Changed if view.seen == Seen::Gone && planted("stored-edit-discarded") => existence::Here::Same,
        Here::Changed => existence::Here::Changed,
        Here::Same | Here::Damaged => existence::Here::Same,
    };
    let there = match view.seen {
        Seen::Unlisted => There::Unlisted,
        Seen::Gone => There::Gone,
        Seen::Listed if view.renewed => There::Changed,
        Seen::Listed => There::Same,
    };
    let deletes = view.mode == StorageMode::TwoWay;
    Case { agreed: view.agreed, here, there, deletes, held_here: view.held, held_there: view.kept }
}

fn both_there(view: &View) -> Decision {
    match view.here {
        Here::Same if view.renewed => content(view),
        Here::Same if view.displaced => Decision::Move,
        Here::Same => Decision::Rest,
        Here::Damaged => Decision::Discard,
        Here::Changed if view.renewed && planted("placed-over-edit") => content(view),
        Here::Changed if view.perhaps_placed => content(view),
        // A file sent from this path may be at the service by now. Then these bytes are that file's, and no edit of
        // this one.
        Here::Changed if view.awaited => Decision::Wait,
        Here::Changed if view.mode == StorageMode::TwoWay && !view.renewed => Decision::Wait,
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

    const REST: View = View {
        mode: StorageMode::Backup,
        seen: Seen::Listed,
        agreed: true,
        here: Here::Same,
        renewed: false,
        awaited: false,
        fetched: false,
        perhaps_placed: false,
        displaced: false,
        held: false,
        kept: false,
        replaced: None,
    };
    const BOTH: View = View { mode: StorageMode::TwoWay, ..REST };

    #[test]
    fn every_difference_has_its_act() {
        let check = |view: View, expected: Decision| assert_eq!(decide(&view), expected, "{view:?}");
        check(REST, Decision::Rest);
        check(View { agreed: false, ..REST }, Decision::Fetch);
        check(View { agreed: false, fetched: true, ..REST }, Decision::Place);
        check(View { agreed: false, awaited: true, ..BOTH }, Decision::Wait);
        check(View { renewed: true, ..REST }, Decision::Fetch);
        check(View { renewed: true, fetched: true, ..REST }, Decision::Place);
        check(View { displaced: true, ..REST }, Decision::Move);
        check(View { here: Here::Missing, ..REST }, Decision::LetGo);
        check(View { here: Here::Changed, ..REST }, Decision::SetAside);
        check(View { here: Here::Changed, renewed: true, perhaps_placed: true, ..REST }, Decision::Fetch);
        check(View { here: Here::Changed, ..BOTH }, Decision::Wait);
        check(View { here: Here::Changed, renewed: true, awaited: true, ..BOTH }, Decision::Wait);
        check(View { here: Here::Changed, renewed: true, ..BOTH }, Decision::SetAside);
        check(View { here: Here::Missing, ..BOTH }, Decision::TrashThere);
        check(View { here: Here::Missing, kept: true, ..BOTH }, Decision::Wait);
        check(View { here: Here::Missing, renewed: true, ..BOTH }, Decision::LetGo);
        check(View { here: Here::Damaged, ..BOTH }, Decision::Discard);
        check(View { seen: Seen::Unlisted, ..REST }, Decision::Confirm);
        check(View { seen: Seen::Unlisted, held: true, ..REST }, Decision::Wait);
        check(View { seen: Seen::Gone, ..REST }, Decision::Discard);
        check(View { seen: Seen::Gone, held: true, ..REST }, Decision::Wait);
        check(View { seen: Seen::Gone, here: Here::Changed, ..REST }, Decision::Forget);
        check(View { replaced: Some(false), agreed: false, ..BOTH }, Decision::Wait);
        check(View { replaced: Some(true), agreed: false, ..BOTH }, Decision::TrashThere);
    }

    #[test]
    fn nothing_is_taken_away_on_either_side_without_an_agreement_or_from_what_is_unclear() {
        let bools = [false, true];
        for mode in [StorageMode::Backup, StorageMode::TwoWay] {
            for seen in [Seen::Listed, Seen::Unlisted, Seen::Gone] {
                for here in [Here::Unclear, Here::Same, Here::Missing, Here::Changed, Here::Damaged] {
                    for bits in 0..64_usize {
                        let bit = |n: usize| bools[bits >> n & 1];
                        let view = View {
                            mode,
                            seen,
                            here,
                            agreed: bit(0),
                            renewed: bit(1),
                            awaited: !bit(0) && bit(1),
                            fetched: bit(2),
                            perhaps_placed: bit(1) && bit(3),
                            displaced: bit(3),
                            held: bit(4),
                            kept: bit(5),
                            replaced: None,
                        };
                        let decision = decide(&view);
                        let takes = matches!(decision, Decision::Discard | Decision::TrashThere);
                        assert!(!takes || view.agreed && here != Here::Unclear, "{view:?}");
                        assert!(decision != Decision::TrashThere || mode == StorageMode::TwoWay, "{view:?}");
                        assert!(decision != Decision::Discard || here != Here::Changed, "{view:?}");
                        assert!(
                            decision != Decision::Discard
                                || seen == Seen::Gone && !view.held
                                || here == Here::Damaged,
                            "{view:?}"
                        );
                    }
                }
            }
        }
    }
}
