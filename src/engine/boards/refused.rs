//! What the service refused of whiteboards and slides, and when that is tried again.

use std::collections::BTreeMap;

use super::{Area, create};
use crate::canvas::Op;
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::retry::{Failing, Fails};
use crate::engine::trees::Trees;
use crate::model::{CanvasId, DeckId, MirrorPath, Refusal, RefusalClass, Timestamp};

/// What the service did not take, and what failed.
#[derive(Debug, Default)]
pub(in crate::engine) struct Rejected {
    /// What the service would not take, by canvas and node: asked again when it changes.
    pub(super) refused: BTreeMap<(CanvasId, String), (Op, Refusal)>,
    /// What the service did not find once: looked at first, then taken for refused.
    pub(super) not_found: BTreeMap<(CanvasId, String), Op>,
    /// New files and folders of which nothing could be made.
    pub(super) unmade: BTreeMap<MirrorPath, create::Unmade>,
    /// Presentations whose removal, or whose folder's renaming, fails, and why.
    pub(super) deck_trouble: BTreeMap<DeckId, (Failing, Fails)>,
    /// Areas that may not be written to, why, and until when.
    pub(super) forbidden: BTreeMap<Area, (String, Timestamp)>,
}

impl Rejected {
    /// Whether nothing may be written to an area at the service.
    pub(super) fn is_closed(&self, area: &Area, trees: &Trees, cx: &Context) -> bool {
        let is_read_only = match area {
            Area::Whiteboards(workspace) => trees.read_only(workspace, &cx.settings).is_some(),
            Area::Presentations => false,
        };
        is_read_only || self.forbidden.get(area).is_some_and(|(_, until)| *until > cx.now)
    }
}

impl Boards {
    /// Whether anything waits because the service refused it.
    pub(in crate::engine) fn boards_are_refused(&self) -> bool {
        let boards = self;
        !(boards.rejected.forbidden.is_empty()
            && boards.rejected.unmade.is_empty()
            && boards.rejected.refused.is_empty())
    }

    /// What was refused is tried again.
    pub(in crate::engine) fn try_boards_again(&mut self, cx: &Context) {
        self.rejected.forbidden.clear();
        let now = cx.now;
        self.rejected.refused.values_mut().for_each(|(_, refusal)| refusal.try_at(now));
        let unmade = self.rejected.unmade.values_mut().map(|unmade| &mut unmade.failing);
        self.runtimes.values_mut().for_each(|runtime| runtime.writes.try_again());
        let decks = self.rejected.deck_trouble.values_mut().map(|(failing, _)| failing);
        unmade.chain(decks).for_each(|failing| failing.until = Timestamp::default());
        self.mark_all_canvases_dirty();
    }

    /// Canvases with changes that are due to be tried again are decided on anew.
    pub(in crate::engine) fn mark_refused_dirty(&mut self, now: Timestamp) {
        let due = self.rejected.refused.iter().filter(|(_, (_, refusal))| !refusal.rests(now));
        let due =
            due.map(|((canvas, _), _)| canvas).filter(|canvas| !self.request_queue.contains_key(*canvas));
        let due: Vec<CanvasId> = due.cloned().collect();
        self.dirty.extend(due);
    }
}

impl Rejected {
    /// The service refused this change of a node.
    pub(super) fn refuse_op(
        &mut self,
        key: (CanvasId, String),
        op: Op,
        class: RefusalClass,
        said: String,
        now: Timestamp,
    ) {
        let before = self.refused.get(&key).filter(|(refused, _)| *refused == op);
        let refusal = Refusal::new(class, said, before.map(|(_, refusal)| refusal), now);
        self.refused.insert(key, (op, refusal));
    }

    /// When something that was refused is tried again next.
    pub(in crate::engine) fn next_refused_of_boards(&self) -> impl Iterator<Item = Timestamp> {
        self.refused.values().map(|(_, refusal)| refusal.retry_at)
    }
}
