//! A fault of espejo in a pure step about one page holds that page; the others go on.
//!
//! A hold ends when the file or the service's body changes, and at a start, which may be that of a mended program. A step that
//! fails leaves nothing half-changed: only reading, printing, merging and comparing are guarded, never the engine itself.

use crate::engine::state::{Context, Pages, Question, Trees};
use crate::model::{Hold, LocalFile, Node, PageId, Problem, Side};
use crate::store::StoreError;

/// Holds a page if a step about it failed by a fault.
pub(crate) fn or_hold<T: Default>(
    pages: &mut Pages,
    page: &PageId,
    side: Side,
    result: Result<T, StoreError>,
    cx: &mut Context,
) -> Result<T, StoreError> {
    match result {
        Err(StoreError::Fault(_)) => {
            pages.park(page, Hold::Internal(side), cx);
            pages.runtime(page).parsed = None;
            pages.dirty.remove(page);
            Ok(T::default())
        }
        result => result,
    }
}

/// Holds a page whose job failed by a fault, unless the page has changed since it was asked.
pub(crate) fn hold_failed_job(pages: &mut Pages, page: &PageId, question: &Question, cx: &mut Context) {
    let Some(node) = pages.trees.pages.get(page) else { return };
    let text = pages.trees.file_of(node).and_then(|file| file.hash);
    let (side, is_present) = match question {
        Question::Parsed { text: asked, .. } => (Side::File, text == Some(*asked)),
        Question::Printing { body } => (Side::Service, node.remote.body == Some(*body)),
        Question::Patch { to, .. } => (Side::Service, node.remote.body == Some(*to)),
        Question::Merge { remote, .. } => (Side::Service, node.remote.body == Some(*remote)),
    };
    if is_present {
        pages.park(page, Hold::Internal(side), cx);
    }
    pages.mark_dirty(page);
}

/// Whether a fault holds a page, given its present file and body. A page whose body cannot be read is not absent: the deletion
/// of its file waits too, until it is approved.
pub(crate) fn has_fault(trees: &Trees, node: &Node) -> bool {
    node.parked.as_deref().is_some_and(|parked| {
        let Hold::Internal(side) = parked.hold else { return false };
        let (local, remote) = trees.both_contents(node);
        let is_gone = local.is_none() && node.file.is_none() && side == Side::Service && !node.approved;
        parked.remote == remote && (parked.local == local || is_gone)
    })
}

/// Ends the holds of an earlier run.
pub(crate) fn retry_faults<'a>(
    pages: impl Iterator<Item = &'a mut Node>,
    files: impl Iterator<Item = &'a mut LocalFile>,
) {
    for node in pages {
        node.parked = node.parked.take().filter(|parked| !matches!(parked.hold, Hold::Internal(_)));
    }
    for file in files.filter(|file| file.problem == Some(Problem::Internal)) {
        (file.hash, file.problem) = (None, None);
    }
}
