//! Refusals of changes to whiteboards and slides by the service, and the times of the next tries.

use std::collections::BTreeMap;

use super::{Area, Purpose, create};
use crate::canvas::Op;
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::retry::{Failing, Fails};
use crate::engine::trees::Trees;
use crate::model::{
    CanvasId, CanvasItem, DeckId, MirrorPath, Refusal, RefusalClass, ServiceError, ServiceReply, Timestamp,
};

/// Refused requests, and acts that fail.
#[derive(Debug, Default)]
pub(in crate::engine) struct Rejected {
    /// Refused changes, by canvas and node: sent again when the change differs.
    pub(super) refused: BTreeMap<(CanvasId, String), (Op, Refusal)>,
    /// Changes that the service did not find once: the canvas is fetched first, and after that they count as refused.
    pub(super) not_found: BTreeMap<(CanvasId, String), Op>,
    /// New files and folders from which no item could be created.
    pub(super) unmade: BTreeMap<MirrorPath, create::Unmade>,
    /// Presentations whose removal, or the rename of whose folder, fails, and why.
    pub(super) deck_trouble: BTreeMap<DeckId, (Failing, Fails)>,
    /// Areas to which the last writes were answered with 403.
    pub(super) forbidden: BTreeMap<Area, Refusal>,
}

impl Rejected {
    /// Whether an area must not be written to at the service.
    pub(super) fn is_closed(&self, area: &Area, trees: &Trees, cx: &Context) -> bool {
        let is_read_only = match area {
            Area::Whiteboards(workspace) => trees.read_only(workspace, &cx.settings).is_some(),
            Area::Presentations => false,
        };
        is_read_only || self.forbidden.get(area).is_some_and(|refusal| refusal.rests(cx.now))
    }
}

impl Boards {
    /// Notes what the answer to a write says about its area: after a 403 the area is read-only until the next try.
    pub(super) fn note_answer(
        &mut self,
        purpose: &Purpose,
        result: &Result<ServiceReply, ServiceError>,
        cx: &Context,
    ) {
        let area = match purpose {
            Purpose::Push { canvas, .. } => self.canvases.get(canvas).map(Area::of),
            Purpose::Create { name } => match self.creations.get(name).map(|creation| &creation.draft.item) {
                Some(CanvasItem::Board(workspace, ..)) => Some(Area::Whiteboards(workspace.clone())),
                Some(CanvasItem::Deck(..) | CanvasItem::Slide(..)) => Some(Area::Presentations),
                _ => None,
            },
            _ => None,
        };
        let Some(area) = area else { return };
        match result {
            Ok(_) => drop(self.rejected.forbidden.remove(&area)),
            Err(error @ ServiceError::Forbidden(why)) => {
                let before = self.rejected.forbidden.get(&area);
                let refusal = Refusal::new(RefusalClass::of(error), why.clone(), before, cx.now);
                self.rejected.forbidden.insert(area, refusal);
                self.mark_all_canvases_dirty();
            }
            Err(_) => {}
        }
    }

    /// Whether anything waits because of a refusal.
    pub(in crate::engine) fn boards_are_refused(&self, now: Timestamp) -> bool {
        self.rejected.forbidden.values().any(|refusal| refusal.rests(now))
            || !self.rejected.unmade.is_empty()
            || !self.rejected.refused.is_empty()
    }

    /// Tries refused requests again.
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

    /// Marks canvases with a due retry dirty.
    pub(in crate::engine) fn mark_refused_dirty(&mut self, now: Timestamp) {
        let due = self.rejected.refused.iter().filter(|(_, (_, refusal))| !refusal.rests(now));
        let due =
            due.map(|((canvas, _), _)| canvas).filter(|canvas| !self.request_queue.contains_key(*canvas));
        let due: Vec<CanvasId> = due.cloned().collect();
        self.dirty.extend(due);
    }
}

impl Rejected {
    /// Records that the service refused this change of a node.
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

    /// The times of the next tries.
    pub(in crate::engine) fn next_refused(&self) -> impl Iterator<Item = Timestamp> {
        self.refused.values().map(|(_, refusal)| refusal).chain(self.forbidden.values()).map(|it| it.retry_at)
    }
}
