//! Laws of [`decide`], checked for all pages that differ in a fact that a decision can depend on: changes on both
//! sides, changes on one side, and sequences of acts until nothing is left to do.

use super::*;
use crate::model::{Agreed, PollState, RemotePage, Stamp, Timestamp, WorkspaceId};

/// A value of one side, as a number; equal numbers are equal values.
pub(crate) type Value = u8;

/// One page, reduced to the facts that a decision can depend on. `title`, `parent` and `body` hold base, local,
/// remote.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Page {
    agreed: bool,
    presence: Presence,
    has_file: bool,
    title: [Value; 3],
    parent: [Value; 3],
    body: [Value; 3],
    /// Whether the service's body is known.
    is_fetched: bool,
    /// Whether the file's bytes are those of the base.
    same_bytes: bool,
    /// Whether the file was read since it changed, and whether its text was parsed.
    is_read: bool,
    is_parsed: bool,
    /// Whether the file lies in another folder than in the base, and whether its path is the one where it belongs.
    moved: bool,
    at_home: bool,
    /// Whether it is known where the file belongs.
    has_place: bool,
    stale_front: bool,
    has_problem: bool,
    /// Whether the grace time is over: for a missing file, and for one in another place.
    rests: bool,
    sends: bool,
    deletes: Deletes,
    moves: Moves,
}

const BASE: usize = 0;
const LOCAL: usize = 1;
const REMOTE: usize = 2;

impl Page {
    /// A page on which both sides agree.
    const CALM: Self = Self {
        agreed: true,
        presence: Presence::Listed,
        has_file: true,
        title: [0; 3],
        parent: [0; 3],
        body: [0; 3],
        is_fetched: true,
        same_bytes: true,
        is_read: true,
        is_parsed: true,
        moved: false,
        at_home: true,
        has_place: true,
        stale_front: false,
        has_problem: false,
        rests: true,
        sends: true,
        deletes: Deletes::Trash,
        moves: Moves::PutBack,
    };

    fn decide(&self) -> Decision {
        self.with_view(decide)
    }

    /// Calls `look` with the view of this page.
    pub(crate) fn with_view<T>(&self, look: impl FnOnce(&View<'_>) -> T) -> T {
        let hash = |value: Value| ContentHash([value; 32]);
        let title = |value: Value| format!("T{value}");
        let parent = |value: Value| (value > 0).then(|| PageId::new(&format!("p{value}")).unwrap());
        let path = |text: &str| MirrorPath::new(text).unwrap();
        let (home, away) = (path("S/Pages/T.md"), path("S/Pages/Other/T.md"));
        let here = if self.moved { &away } else { &home };
        let base = Agreed {
            parent: parent(self.parent[BASE]),
            title: title(self.title[BASE]).into(),
            icon: None,
            body: hash(self.body[BASE]),
            text: Some(hash(100)),
            front_title: None,
            path: home.clone(),
            folder_at: None,
        };
        let remote = RemotePage {
            parent: parent(self.parent[REMOTE]),
            title: title(self.title[REMOTE]).into(),
            icon: None,
            position: 0.0,
            presence: self.presence,
            body: self.is_fetched.then(|| hash(self.body[REMOTE])),
        };
        let (id, space) = (PageId::new("a").unwrap(), WorkspaceId::new("w").unwrap());
        let mut node = Node::new(id, space, remote, Timestamp(0), PollState::default());
        node.base = self.agreed.then_some(base);
        node.file = self.has_file.then(|| here.clone());
        let file = LocalFile {
            path: here.clone(),
            page: Some(node.id.clone()),
            stamp: Stamp::default(),
            hash: self.is_read.then(|| hash(if self.same_bytes { 100 } else { 101 })),
            claims: None,
            copied_from_page: None,
            front_title: None,
            problem: self.has_problem.then_some(crate::model::Problem::NotText),
            racy: false,
        };
        let elsewhere = path("S/Pages/Elsewhere.md");
        look(&View {
            node: &node,
            file: self.has_file.then_some(&file),
            local_parent: &Place::Under(parent(self.parent[LOCAL])),
            local_title: &title(self.title[LOCAL]),
            parsed: (self.is_read && self.is_parsed).then(|| hash(self.body[LOCAL])),
            belongs: self.has_place.then_some(if self.at_home { here } else { &elsewhere }),
            front_is_stale: self.stale_front,
            grace_is_over: self.rests,
            rests: self.rests,
            sends: self.sends,
            deletes: self.deletes,
            moves: self.moves,
        })
    }

    fn is_there(&self) -> bool {
        matches!(self.presence, Presence::Listed | Presence::Hidden)
    }

    /// Whether the service changed the body since the base.
    fn has_news(&self) -> bool {
        self.is_fetched && self.body[REMOTE] != self.body[BASE]
    }

    /// Whether the text of the file has an edit that the service never got.
    fn is_edited(&self) -> bool {
        !self.same_bytes && self.body[LOCAL] != self.body[BASE]
    }

    fn is_retitled(&self) -> bool {
        self.title[LOCAL] != self.title[BASE]
            && self.title[REMOTE] == self.title[BASE]
            && self.title[LOCAL] != self.title[REMOTE]
    }
}

/// Base, local and remote: all equal, changed here, changed there, changed alike, changed on both sides.
const CHANGES: [[Value; 3]; 5] = [[0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 1, 2]];

/// Calls `check` with each page.
pub(crate) fn every_page(mut check: impl FnMut(&Page)) {
    let presences = [Presence::Listed, Presence::Unlisted, Presence::Gone];
    let values = CHANGES.iter().flat_map(|title| CHANGES.iter().map(move |parent| (*title, *parent)));
    let values = values.flat_map(|(title, parent)| CHANGES.map(|body| (title, parent, body)));
    for (title, parent, body) in values {
        for presence in presences {
            for bits in 0_u32..1 << 13 {
                let bit = |n: u32| bits >> n & 1 == 1;
                let page = Page {
                    agreed: bit(0),
                    presence,
                    has_file: bit(1),
                    title,
                    parent,
                    body,
                    is_fetched: bit(2),
                    same_bytes: bit(3),
                    is_read: bit(4),
                    is_parsed: bit(4) && bit(5),
                    moved: bit(6),
                    at_home: bit(7),
                    has_place: true,
                    stale_front: false,
                    has_problem: bit(8),
                    rests: bit(9),
                    sends: bit(10),
                    deletes: if bit(11) { Deletes::Trash } else { Deletes::Restore },
                    moves: if bit(12) { Moves::PutBack } else { Moves::Recreate },
                };
                // The base's bytes stand for the base's body.
                if !page.same_bytes || page.body[LOCAL] == page.body[BASE] {
                    check(&page);
                }
            }
        }
    }
}

#[test]
fn nothing_is_taken_away_that_the_other_side_does_not_have() {
    every_page(|page| {
        let decision = page.decide();
        let is_sound = match &decision {
            // The page is gone, and the file holds the base or the last fetched body of the page.
            Decision::TrashFile => {
                let is_mirror = !page.agreed && page.is_parsed && page.body[LOCAL] == page.body[REMOTE];
                page.presence == Presence::Gone
                    && page.is_read
                    && (page.agreed && page.same_bytes || is_mirror)
            }
            // The file is gone for the whole grace time, and the service changed nothing since.
            Decision::TrashPage => {
                let is_unchanged = !page.has_news()
                    && page.title[REMOTE] == page.title[BASE]
                    && page.parent[REMOTE] == page.parent[BASE];
                page.agreed
                    && page.is_there()
                    && !page.has_file
                    && page.rests
                    && page.deletes == Deletes::Trash
                    && is_unchanged
            }
            Decision::Forget => !page.has_file && page.presence == Presence::Gone,
            Decision::Unbind => page.has_file && page.presence == Presence::Gone && !page.agreed,
            // An edit is merged into the service's change only while the edit may not be sent.
            Decision::Splice => !page.is_edited() || !page.sends && page.has_news(),
            Decision::Adopt => !page.agreed && page.body[LOCAL] == page.body[REMOTE],
            Decision::AcceptBytes => page.agreed && !page.is_edited(),
            _ => true,
        };
        assert!(is_sound, "{decision:?} for {page:?}");
    });
}

#[test]
fn nothing_is_written_on_either_side_without_a_reason() {
    every_page(|page| {
        let decision = page.decide();
        let has_reason = match &decision {
            Decision::Push { title } => {
                let retitled = title.as_deref() == Some(format!("T{}", page.title[LOCAL]).as_str());
                let is_sendable = page.sends || !page.has_news();
                let readable = !page.has_problem && page.is_read;
                let title_is_sound = title.is_none() || retitled && page.is_retitled();
                is_sendable
                    && readable
                    && page.is_there()
                    && title_is_sound
                    && (page.is_edited() || title.is_some())
            }
            Decision::Splice => page.has_news() && page.is_there() && !page.has_problem,
            Decision::Relocate { reverts_move: true } => {
                page.moves == Moves::PutBack
                    && page.moved
                    && page.rests
                    && page.parent[LOCAL] != page.parent[BASE]
            }
            Decision::Relocate { reverts_move: false } => {
                !page.at_home && !page.is_edited() && !page.is_retitled()
            }
            Decision::Recreate => {
                let is_calm = !page.is_edited() && !page.has_news() && !page.is_retitled();
                page.moves == Moves::Recreate && page.moved && page.rests && is_calm
            }
            Decision::Restore => !page.has_file && page.agreed && page.is_there() && page.rests,
            Decision::Materialise => !page.has_file && !page.agreed && page.is_there() && page.is_fetched,
            Decision::KeepBoth => page.has_file && !page.agreed && page.body[LOCAL] != page.body[REMOTE],
            Decision::SetAside => {
                page.presence == Presence::Gone && page.agreed && !(page.is_read && page.same_bytes)
            }
            Decision::Rest => {
                page.has_file && page.agreed && page.same_bytes && page.at_home && !page.has_news()
            }
            _ => true,
        };
        assert!(has_reason, "{decision:?} for {page:?}");
        if page.presence == Presence::Unlisted {
            assert_eq!(decision, Decision::Fetch, "what no list shows is asked for by itself: {page:?}");
        }
        if page.has_problem && page.has_file && page.agreed && page.is_there() {
            assert_eq!(decision, Decision::Wait, "{page:?}");
        }
    });
    assert_eq!(Page::CALM.decide(), Decision::Rest);
    assert_eq!(Page { stale_front: true, ..Page::CALM }.decide(), Decision::Splice);
    assert_eq!(Page { has_place: false, ..Page::CALM }.decide(), Decision::Wait);
}

/// The page after an act that succeeded; `None` if it is no longer a page with a file.
fn after(page: &Page, decision: &Decision) -> Option<Page> {
    let merge = |[base, local, remote]: [Value; 3]| match (local == base, remote == base) {
        (true, _) => remote,
        (false, true) => local,
        // Different changes on both sides are merged into a new value.
        (false, false) if local != remote => 9,
        _ => local,
    };
    let mut next = *page;
    match decision {
        Decision::Read => (next.is_read, next.is_parsed) = (true, true),
        Decision::Fetch => next.is_fetched = true,
        Decision::AcceptBytes => next.same_bytes = true,
        Decision::Adopt => (next.agreed, next.same_bytes, next.body[BASE]) = (true, true, page.body[LOCAL]),
        Decision::Push { title } => {
            let body = merge(page.body);
            // The service has the merged body, and the file still has its own: the difference is the next act.
            (next.body[REMOTE], next.body[BASE]) = (body, page.body[LOCAL]);
            next.same_bytes = true;
            if title.is_some() {
                (next.title[REMOTE], next.title[BASE]) = (page.title[LOCAL], page.title[LOCAL]);
            }
        }
        Decision::Splice => {
            next.body = [page.body[REMOTE]; 3];
            (next.same_bytes, next.stale_front) = (true, false);
        }
        Decision::Relocate { .. } => {
            (next.at_home, next.moved, next.parent[LOCAL]) = (true, false, page.parent[REMOTE]);
            next.title[LOCAL] = page.title[REMOTE];
        }
        Decision::AgreeOnPlace => {
            (next.title[BASE], next.parent[BASE]) = (page.title[REMOTE], page.parent[REMOTE]);
            next.moved = false;
        }
        Decision::Settle => next.rests = true,
        _ => return None,
    }
    Some(next)
}

#[test]
fn every_difference_is_settled_and_both_sides_are_then_the_same() {
    every_page(|page| {
        let is_sendable = page.sends && !page.has_problem && page.rests && page.is_fetched;
        if !page.has_file || !page.agreed || !page.is_there() || !is_sendable {
            return;
        }
        let mut at = *page;
        for _ in 0..12 {
            let decision = at.decide();
            if decision == Decision::Rest {
                let [base, local, remote] = at.body;
                assert!(base == local && local == remote, "{page:?} rests as {at:?}");
                let was_edited = page.is_edited() && page.body[LOCAL] != page.body[REMOTE];
                assert!(
                    !was_edited || remote == page.body[LOCAL] || remote == 9,
                    "{page:?} loses its edit: {at:?}"
                );
                assert_eq!(
                    (at.title[BASE], at.parent[BASE]),
                    (at.title[REMOTE], at.parent[REMOTE]),
                    "{page:?}"
                );
                return;
            }
            // A file that the user moved becomes a page of its own.
            let Some(next) = after(&at, &decision) else {
                assert!(
                    decision == Decision::Recreate && at.moves == Moves::Recreate,
                    "{page:?}: {decision:?}"
                );
                return;
            };
            assert_ne!(next, at, "{decision:?} changes nothing for {page:?}");
            at = next;
        }
        panic!("{page:?} is never settled: {at:?}");
    });
}
