//! Writes to canvases that fail each time. The writes of each element have their own wait, because the success of
//! another element, or of a fetch in between, says nothing about them.

use std::collections::BTreeMap;

use super::super::pace::Class;
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::retry::Failing;
use crate::model::{CanvasId, Next, ServiceError, Timestamp};

/// The failing writes to one canvas, by node; the empty name stands for the canvas as a whole.
#[derive(Debug, Clone, Default)]
pub(super) struct Writes {
    failing: BTreeMap<String, Failing>,
    /// The end of the wait of all pending writes.
    until: Timestamp,
}

impl Writes {
    pub(super) fn succeeded(&mut self, about: &str) {
        self.failing.remove(about);
        self.until = Timestamp::default();
    }

    /// Drops failures of writes that are no longer needed.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.failing.retain(|about, _| is_wanted(about));
    }

    /// Ends the wait, because a write without a failure may be sent.
    pub(super) fn has_news(&mut self) {
        self.until = Timestamp::default();
    }

    pub(super) fn try_again(&mut self) {
        self.has_news();
        self.failing.values_mut().for_each(|failing| failing.until = Timestamp::default());
    }

    pub(super) fn is_any(&self) -> bool {
        !self.failing.is_empty()
    }

    /// Whether the user gets a message.
    pub(super) fn is_told(&self) -> bool {
        self.failing.values().any(Failing::is_told)
    }

    /// The end of the wait of a node's writes.
    pub(super) fn until(&self, about: &str) -> Timestamp {
        self.failing.get(about).map(|failing| failing.until).unwrap_or_default()
    }

    /// The end of the wait of all writes.
    pub(super) fn all_until(&self) -> Timestamp {
        self.until
    }

    /// Records that all pending writes fail: none is sent before the first of them is due.
    pub(super) fn rest<'a>(&mut self, all: impl Iterator<Item = &'a str>) {
        self.until = all.map(|about| self.until(about)).min().unwrap_or_default();
    }
}

impl Boards {
    /// Records a failed request for a canvas: the next one waits. Writes have waits of their own, because the fetch
    /// after each of them may succeed.
    pub(super) fn canvas_failed(
        &mut self,
        canvas: &CanvasId,
        written: Option<String>,
        error: &ServiceError,
        cx: &mut Context,
    ) {
        let counts = error.may_have_happened() || matches!(error, ServiceError::NotFound(_));
        if let Some(about) = written.filter(|_| counts) {
            let before = self.runtime_of(canvas).writes.failing.get(&about).copied().unwrap_or_default();
            let failing = cx.failed_again(before);
            self.runtime_of(canvas).writes.failing.insert(about, failing);
            return;
        }
        let mut failing = self.runtime_of(canvas).failing;
        match error.next() {
            Next::TryLater | Next::LookAgain => failing = cx.failed_again(failing),
            _ => failing.count += 1,
        }
        self.runtime_of(canvas).failing = failing;
    }

    /// The class of a write request: a retry leaves room for the edits of other items.
    pub(super) fn write_class(&self, canvas: &CanvasId) -> Class {
        let fails = self.runtimes.get(canvas).is_some_and(|runtime| runtime.writes.is_any());
        if fails { Class::Asked } else { Class::Edit }
    }

    /// Whether all pending writes of a canvas wait.
    pub(super) fn writes_rest(&self, canvas: &CanvasId, now: Timestamp) -> bool {
        self.runtimes.get(canvas).is_some_and(|runtime| runtime.writes.all_until() > now)
    }
}
