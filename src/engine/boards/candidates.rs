//! Which of several new files is the one of a missing canvas: all of them are read first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Boards;
use super::disk::CanvasScan;
use crate::model::{CanvasFile, CanvasId, CanvasNode, MirrorPath, Timestamp};

/// The canvas that a new file may belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) canvas: CanvasId,
    /// The number of its nodes in the file; `None` if the file has the content of the missing one.
    pub(super) nodes: Option<usize>,
}

impl Boards {
    /// The canvas of this file, unless another new file has more of its nodes, or could not be read yet. A copy that
    /// was made earlier lacks nodes that the user did not remove.
    pub(super) fn owner_of(
        &mut self,
        path: &MirrorPath,
        found: Option<Candidate>,
        now: Timestamp,
    ) -> Option<CanvasId> {
        let Some(untracked) = self.scan.untracked.get_mut(path) else {
            return found.map(|found| found.canvas);
        };
        untracked.candidate = found.clone().filter(|found| found.nodes.is_some());
        let is_same = found.as_ref().is_some_and(|found| found.nodes.is_none());
        if !is_same && self.scan.waits_for_others(path, &self.files) {
            return None;
        }
        let best = self.scan.best_candidates(&self.files, &self.canvases);
        let owner = found.map(|found| found.canvas);
        let owner =
            owner.filter(|canvas| is_same || best.get(canvas).is_none_or(|(.., best)| best.0 == *path));
        for (canvas, (_, Reverse(best))) in best {
            if owner.as_ref() != Some(&canvas) && best != *path {
                self.scan.unread.insert(best, now);
            }
        }
        owner
    }
}

impl CanvasScan {
    /// Whether another new file is still to be read.
    fn waits_for_others(&self, path: &MirrorPath, files: &BTreeMap<MirrorPath, CanvasFile>) -> bool {
        let is_read = |path: &MirrorPath| files.get(path).is_none_or(|file| file.hash.is_some());
        let mut new = self.untracked.keys().filter(|other| *other != path);
        new.any(|other| !is_read(other) && self.unread.contains_key(other))
    }

    /// The new file with the most nodes for each missing canvas; of several the first by path.
    fn best_candidates(
        &self,
        files: &BTreeMap<MirrorPath, CanvasFile>,
        canvases: &BTreeMap<CanvasId, CanvasNode>,
    ) -> BTreeMap<CanvasId, (usize, Reverse<MirrorPath>)> {
        let is_missing =
            |canvas: &CanvasId| canvases.get(canvas).is_some_and(|node| node.missing_since.is_some());
        let mut best: BTreeMap<CanvasId, (usize, Reverse<MirrorPath>)> = BTreeMap::new();
        for (path, untracked) in &self.untracked {
            let is_new = files.get(path).is_some_and(|file| file.canvas.is_none());
            if let Some(Candidate { canvas, nodes: Some(nodes) }) = &untracked.candidate
                && is_new
                && is_missing(canvas)
            {
                let this = (*nodes, Reverse(path.clone()));
                let most = best.entry(canvas.clone()).or_insert_with(|| this.clone());
                *most = this.max(most.clone());
            }
        }
        best
    }
}
