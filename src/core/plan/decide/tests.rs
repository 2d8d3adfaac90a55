//! Compares [`decide`] with the decisions about pages in every state. Each state has the same answer, or is
//! one of a named difference; the numbers of both are pinned.

use std::collections::BTreeMap;

use super::*;
use crate::core::plan::policy::{Choices, Kind, policy};
use crate::model::{Deletes, Moves};
use crate::plan::tests::every_page;
use crate::plan::{self, Decision, Place};

/// An edited file and the service have the same new content. There is nothing to send or to merge: the base takes it.
const ALIKE: &str = "both sides changed it alike";
/// The base was dropped first, and the next decision fetched and wrote. One step says the same, and needs no item that has
/// neither a base nor a file in between.
const COMES_BACK: &str = "it comes back in one step";
/// The request was decided on and held elsewhere. The decision knows that it may not be sent, so it says that it waits; and
/// what only the service has is written meanwhile.
const MAY_NOT_BE_SENT: &str = "what may not be sent waits";

/// How many states have the same answer, and how many belong to each named difference.
#[derive(Default)]
struct Tally {
    states: usize,
    same: usize,
    named: BTreeMap<&'static str, usize>,
}

impl Tally {
    /// Counts one state. `name` is that of the difference, if there is one.
    fn count(&mut self, is_same: bool, name: Option<&'static str>, state: &dyn std::fmt::Debug) {
        self.states += 1;
        match name {
            _ if is_same => self.same += 1,
            Some(name) => *self.named.entry(name).or_default() += 1,
            None => panic!("a difference without a name: {state:?}"),
        }
    }

    fn check(&self, states: usize, same: usize, named: &[(&'static str, usize)]) {
        let found = (self.states, self.same, self.named.clone());
        assert_eq!(found, (states, same, named.iter().copied().collect()));
    }
}

fn side(is_changed: bool) -> Side {
    if is_changed { Side::Changed } else { Side::Same }
}

/// An item of this policy on which both sides agree.
fn calm(policy: Policy) -> View {
    View {
        policy,
        agreed: true,
        local: LocalState::Same,
        remote: RemoteState::Same,
        held_local: false,
        held_remote: false,
        file: FileState::Known,
        content: Facet::SAME,
        name: Facet::SAME,
        parent: Facet::SAME,
        lies: Lies::AtHome,
        rests: true,
        incomplete: false,
        adorned: false,
        unrecorded: false,
        fetched: true,
        sends: true,
        in_doubt: false,
        superseded: None,
    }
}

/// What the core sees of a page.
fn view_of_page(old: &plan::View<'_>) -> View {
    let (case, remote) = (plan::case(old), &old.node.remote);
    let choices = Choices { deletes: old.deletes, moves: old.moves, storage_is_two_way: true };
    let unmatched = View {
        policy: policy(Kind::Page, choices),
        agreed: case.agreed,
        local: case.here,
        remote: case.there,
        held_local: case.held_here,
        held_remote: case.held_there,
        file: match old.file {
            None => FileState::None,
            Some(file) if file.problem.is_some() => FileState::Unreadable,
            Some(file) if file.hash.is_none() => FileState::Unread,
            Some(_) => FileState::Known,
        },
        content: Facet {
            local: Side::Unknown,
            remote: Side::Unknown,
            alike: old.parsed.zip(remote.body).map(|(local, remote)| local == remote),
        },
        lies: match (old.belongs, old.file) {
            (Some(path), Some(file)) if *path == file.path => Lies::AtHome,
            (Some(_), _) => Lies::Away,
            (None, _) => Lies::Unknown,
        },
        rests: old.rests,
        incomplete: old.front_is_stale,
        fetched: remote.body.is_some(),
        sends: old.sends,
        ..calm(policy(Kind::Page, choices))
    };
    let Some(base) = &old.node.base else { return unmatched };
    let hash = old.file.and_then(|file| file.hash);
    let is_as_written = hash.is_some() && base.text == hash;
    let is_restamped = hash.is_some() && !is_as_written && old.parsed == Some(base.body);
    let has_moved = old.file.is_some_and(|file| base.path.parent() != file.path.parent());
    View {
        file: match unmatched.file {
            FileState::Known if is_restamped => FileState::Restamped,
            file => file,
        },
        content: Facet {
            local: match old.parsed {
                _ if is_as_written => Side::Same,
                None => Side::Unknown,
                Some(parsed) => side(parsed != base.body),
            },
            remote: remote.body.map_or(Side::Unknown, |body| side(body != base.body)),
            ..unmatched.content
        },
        name: Facet {
            local: side(*old.local_title != *base.title),
            remote: side(remote.title != base.title),
            alike: Some(*old.local_title == *remote.title),
        },
        parent: Facet {
            local: side(has_moved && *old.local_parent != Place::Under(base.parent.clone())),
            remote: side(remote.parent != base.parent),
            alike: Some(*old.local_parent == Place::Under(remote.parent.clone())),
        },
        adorned: remote.icon != base.icon,
        unrecorded: old.file.is_some_and(|file| file.path != base.path),
        ..unmatched
    }
}

/// The step that is the same act.
fn step_of_page(decision: &Decision) -> Step {
    match decision {
        Decision::Rest => Step::Rest,
        Decision::Wait | Decision::Settle => Step::Wait,
        Decision::Fetch => Step::Fetch,
        Decision::Read => Step::Read,
        Decision::Materialise | Decision::Splice | Decision::Restore => Step::Write,
        Decision::Adopt | Decision::AcceptBytes | Decision::AgreeOnPlace => Step::Agree,
        Decision::KeepBoth => Step::KeepBoth,
        Decision::Push { .. } => Step::Send,
        Decision::Relocate { .. } | Decision::MoveFolder => Step::Rename,
        Decision::Recreate => Step::Recreate,
        Decision::TrashFile => Step::TrashLocal,
        Decision::SetAside => Step::SetAside,
        Decision::TrashPage => Step::TrashRemote,
        Decision::Forget => Step::Forget,
        Decision::Unbind => Step::Release,
    }
}

fn count_page(tally: &mut Tally, old: &plan::View<'_>) {
    let (before, view) = (plan::decide(old), view_of_page(old));
    let step = decide(&view);
    let name = match (&before, step) {
        (Decision::Restore, Step::Fetch | Step::Write) => Some(COMES_BACK),
        (Decision::Push { .. } | Decision::Splice, Step::Agree) if view.content.alike == Some(true) => {
            Some(ALIKE)
        }
        (Decision::Push { .. }, Step::Wait | Step::Write) if !view.sends => Some(MAY_NOT_BE_SENT),
        _ => None,
    };
    let is_same = step == step_of_page(&before) && before != Decision::Restore;
    tally.count(is_same, name, &(before, step, view));
}

#[test]
fn pages_have_the_same_answers() {
    let (mut tally, mut open) = (Tally::default(), Tally::default());
    every_page(|page| {
        page.with_view(|old| {
            count_page(&mut tally, old);
            // What the pages of that test do not have: an unknown place, stale front matter, a new icon.
            if old.file.is_none() || old.node.base.is_none() || !old.node.remote.presence.is_shown() {
                return;
            }
            let mut with_icon = old.node.clone();
            with_icon.remote.icon = Some("icon".into());
            count_page(&mut open, &plan::View { belongs: None, ..*old });
            count_page(&mut open, &plan::View { front_is_stale: true, ..*old });
            count_page(&mut open, &plan::View { node: &with_icon, ..*old });
        });
    });
    tally.check(2_150_400, 2_060_448, &[(ALIKE, 1_520), (COMES_BACK, 84_480), (MAY_NOT_BE_SENT, 3_952)]);
    open.check(537_600, 521_184, &[(ALIKE, 4_560), (MAY_NOT_BE_SENT, 11_856)]);
}

/// What happened, what it makes of an item at rest, and the next step.
type Case = (&'static str, fn(View) -> View, Step);

/// Items of this kind have these steps; the config is the default one, with storage in both directions.
fn check(kind: Kind, cases: &[Case]) {
    let choices = Choices { deletes: Deletes::Trash, moves: Moves::PutBack, storage_is_two_way: true };
    for (story, edit, expected) in cases {
        assert_eq!(decide(&edit(calm(policy(kind, choices)))), *expected, "{kind:?}: {story}");
    }
}

const UP: Facet = Facet { local: Side::Changed, remote: Side::Same, alike: Some(false) };
const DOWN: Facet = Facet { local: Side::Same, remote: Side::Changed, alike: Some(false) };
const BOTH: Facet = Facet { local: Side::Changed, remote: Side::Changed, alike: Some(false) };
const EQUAL: Facet = Facet { alike: Some(true), ..BOTH };

#[test]
fn canvases_have_the_answers_of_their_table() {
    for kind in [Kind::Whiteboard, Kind::Presentation] {
        check(
            kind,
            &[
                ("both sides agree", |view| view, Step::Rest),
                ("edited", |view| View { content: UP, ..view }, Step::Send),
                ("changed in the app", |view| View { content: DOWN, ..view }, Step::Write),
                ("changed on both sides: by elements", |view| View { content: BOTH, ..view }, Step::Send),
                ("changed alike", |view| View { content: EQUAL, ..view }, Step::Agree),
                ("its area rests", |view| View { content: UP, sends: false, ..view }, Step::Wait),
                ("and the app changed it", |view| View { content: BOTH, sends: false, ..view }, Step::Write),
                ("an element in doubt", |view| View { content: UP, in_doubt: true, ..view }, Step::Wait),
                ("renamed here", |view| View { name: UP, lies: Lies::Away, ..view }, Step::Rename),
                (
                    "renamed here and edited: it is put back first",
                    |view| View { name: UP, lies: Lies::Away, content: UP, ..view },
                    Step::Rename,
                ),
                (
                    "renamed here just now",
                    |view| View { name: UP, lies: Lies::Away, rests: false, ..view },
                    Step::Wait,
                ),
                ("moved here", |view| View { parent: UP, lies: Lies::Away, ..view }, Step::Rename),
                ("renamed in the app", |view| View { name: DOWN, lies: Lies::Away, ..view }, Step::Rename),
                ("and the file as well", |view| View { name: EQUAL, ..view }, Step::Agree),
                (
                    "removed here",
                    |view| View { local: LocalState::Missing, file: FileState::None, ..view },
                    Step::TrashRemote,
                ),
                (
                    "removed here, changed in the app",
                    |view| View {
                        local: LocalState::Missing,
                        file: FileState::None,
                        remote: RemoteState::Changed,
                        ..view
                    },
                    Step::Write,
                ),
                ("removed in the app", |view| View { remote: RemoteState::Gone, ..view }, Step::TrashLocal),
                (
                    "removed in the app and edited",
                    |view| View { remote: RemoteState::Gone, local: LocalState::Changed, ..view },
                    Step::SetAside,
                ),
                ("emptied", |view| View { file: FileState::Unreadable, ..view }, Step::Wait),
                (
                    "found beside an equal one after the state was lost",
                    |view| View { agreed: false, ..view },
                    Step::Agree,
                ),
                (
                    "found beside another one after the state was lost",
                    |view| View { agreed: false, content: BOTH, ..view },
                    Step::KeepBoth,
                ),
            ],
        );
    }
}

#[test]
fn stored_files_and_folders_have_the_answers_of_their_table() {
    check(
        Kind::File,
        &[
            ("moved", |view| View { parent: UP, lies: Lies::Away, ..view }, Step::Recreate),
            ("renamed", |view| View { name: UP, lies: Lies::Away, ..view }, Step::Recreate),
            ("renamed just now", |view| View { name: UP, rests: false, ..view }, Step::Wait),
            ("renamed and edited", |view| View { name: UP, content: UP, ..view }, Step::Send),
            ("edited on both sides", |view| View { content: BOTH, ..view }, Step::KeepBoth),
            ("edited alike", |view| View { content: EQUAL, ..view }, Step::Agree),
            ("edited, refused", |view| View { content: UP, sends: false, ..view }, Step::Wait),
            ("uploaded anew, not listed yet", |view| View { superseded: Some(false), ..view }, Step::Wait),
            (
                "uploaded anew and listed",
                |view| View { superseded: Some(true), ..view },
                Step::TrashSuperseded,
            ),
            (
                "uploaded anew, and removed here before the old one is in the trash",
                |view| View { superseded: Some(false), local: LocalState::Missing, ..view },
                Step::Wait,
            ),
            (
                "removed in the app and edited",
                |view| View { remote: RemoteState::Gone, local: LocalState::Changed, ..view },
                Step::Release,
            ),
        ],
    );
    check(
        Kind::Folder,
        &[
            ("renamed", |view| View { name: UP, lies: Lies::Away, ..view }, Step::Rename),
            ("removed", |view| View { local: LocalState::Missing, ..view }, Step::Write),
            ("removed in the app", |view| View { remote: RemoteState::Gone, ..view }, Step::TrashLocal),
        ],
    );
}

/// Calls `check` with the views of all kinds whose place is agreed on.
fn every_view(mut check: impl FnMut(&View)) {
    let locals = [LocalState::Unclear, LocalState::Missing, LocalState::Same, LocalState::Changed];
    let remotes = [RemoteState::Unlisted, RemoteState::Gone, RemoteState::Same, RemoteState::Changed];
    let files = [
        FileState::None,
        FileState::Unreadable,
        FileState::Unread,
        FileState::Known,
        FileState::Restamped,
        FileState::Damaged,
    ];
    let sides = [Side::Same, Side::Changed, Side::Unknown];
    let contents = sides.into_iter().flat_map(|local| sides.map(|remote| (local, remote)));
    let contents: Vec<Facet> = contents
        .flat_map(|(local, remote)| {
            [None, Some(false), Some(true)].map(|alike| Facet { local, remote, alike })
        })
        // What one side changed is not equal.
        .filter(|it| it.alike != Some(true) || it.local == it.remote)
        .collect();
    let choices = Choices { deletes: Deletes::Trash, moves: Moves::PutBack, storage_is_two_way: true };
    for kind in [Kind::Page, Kind::Whiteboard, Kind::Folder, Kind::File] {
        for (local, remote) in locals.into_iter().flat_map(|local| remotes.map(|remote| (local, remote))) {
            for (file, content) in
                files.into_iter().flat_map(|file| contents.iter().map(move |it| (file, *it)))
            {
                for bits in 0..64_u32 {
                    let bit = |n: u32| bits >> n & 1 == 1;
                    for superseded in [None, Some(false), Some(true)] {
                        check(&View {
                            agreed: bit(0),
                            local,
                            remote,
                            held_local: bit(1),
                            held_remote: bit(2),
                            file,
                            content,
                            fetched: bit(3),
                            sends: bit(4),
                            in_doubt: bit(5),
                            superseded,
                            ..calm(policy(kind, choices))
                        });
                    }
                }
            }
        }
    }
}

#[test]
fn nothing_is_taken_away_or_overwritten_without_its_reason() {
    every_view(|view| {
        let step = decide(view);
        let (policy, content) = (view.policy, view.content);
        let is_listed = matches!(view.remote, RemoteState::Same | RemoteState::Changed);
        let is_edited = view.agreed && is_listed && content.local == Side::Changed;
        let is_sound = match step {
            Step::TrashRemote => {
                let is_removed = view.local == LocalState::Missing && view.remote == RemoteState::Same;
                view.agreed && is_removed && policy.trashes && !view.held_remote && view.superseded.is_none()
            }
            Step::TrashLocal if is_listed => view.agreed && view.file == FileState::Damaged,
            Step::TrashLocal if view.agreed => {
                view.remote == RemoteState::Gone && view.local == LocalState::Same && !view.held_local
            }
            Step::TrashLocal => view.remote == RemoteState::Gone && content.alike == Some(true),
            Step::TrashSuperseded => view.superseded == Some(true),
            Step::Forget => view.remote == RemoteState::Gone && view.local == LocalState::Missing,
            Step::Release | Step::SetAside => view.remote == RemoteState::Gone,
            Step::Send => is_edited && view.sends && policy.update != Update::Never,
            Step::Write => {
                view.fetched && (!is_edited || policy.update.merges() || view.local == LocalState::Missing)
            }
            Step::KeepBoth => is_listed && content.alike != Some(true),
            Step::Agree | Step::Rest => is_listed && view.local != LocalState::Missing,
            Step::Wait | Step::Fetch | Step::Read | Step::Rename | Step::Recreate => true,
        };
        assert!(is_sound, "{step:?} for {view:?}");
        let may_be = matches!(step, Step::Wait | Step::Fetch | Step::Read);
        assert!(!view.in_doubt || may_be, "{step:?} for {view:?}");
    });
}
