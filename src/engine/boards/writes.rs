//! Writes to canvases that fail each time: each element's are spaced by themselves, for another element that is taken, or a
//! look that succeeds in between, says nothing of it.

use std::collections::BTreeMap;

use super::super::pace::Class;
use crate::engine::boards::Boards;
use crate::engine::context::Context;
use crate::engine::retry::Failing;
use crate::model::{CanvasId, Next, ServiceError, Timestamp};

/// The writes to one canvas that fail, by the node that each is about; the empty name stands for the canvas as a whole.
#[derive(Debug, Clone, Default)]
pub(super) struct Writes {
    failing: BTreeMap<String, Failing>,
    /// All that is to be sent waits until then.
    until: Timestamp,
}

impl Writes {
    pub(super) fn succeeded(&mut self, about: &str) {
        self.failing.remove(about);
        self.until = Timestamp::default();
    }

    /// What else fails is no longer wanted.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.failing.retain(|about, _| is_wanted(about));
    }

    /// Something that has not failed may be sent.
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

    /// Whether a person is told.
    pub(super) fn is_told(&self) -> bool {
        self.failing.values().any(Failing::is_told)
    }

    /// Until when what is about a node waits.
    pub(super) fn until(&self, about: &str) -> Timestamp {
        self.failing.get(about).map(|failing| failing.until).unwrap_or_default()
    }

    /// Until when everything waits.
    pub(super) fn all_until(&self) -> Timestamp {
        self.until
    }

    /// Everything that is to be sent fails: nothing is before the first of it is due.
    pub(super) fn rest<'a>(&mut self, all: impl Iterator<Item = &'a str>) {
        self.until = all.map(|about| self.until(about)).min().unwrap_or_default();
    }
}

impl Boards {
    /// A request for a canvas failed: the next one waits. Writes are spaced by themselves, for a look behind each of them
    /// may succeed.
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

    /// Who asks when a write is sent: one that is only tried again leaves room for the edits of others.
    pub(super) fn write_class(&self, canvas: &CanvasId) -> Class {
        let fails = self.runtimes.get(canvas).is_some_and(|runtime| runtime.writes.is_any());
        if fails { Class::Asked } else { Class::Edit }
    }

    /// Whether all that a canvas wants to send waits.
    pub(super) fn writes_rest(&self, canvas: &CanvasId, now: Timestamp) -> bool {
        self.runtimes.get(canvas).is_some_and(|runtime| runtime.writes.all_until() > now)
    }
}
