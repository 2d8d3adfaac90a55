//! Questions about pages that a worker thread answers.

use std::collections::BTreeMap;

use crate::model::{ContentHash, PageId, Worked};

/// A question about a page that a job answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Question {
    /// The content of a file's text, given its former content.
    Parsed { text: ContentHash, before: ContentHash },
    /// The text for a body.
    Printing { body: ContentHash },
    /// The text for `to`, made from a text for `from`.
    Patch { text: ContentHash, from: ContentHash, to: ContentHash },
    /// The three versions of a page, merged.
    Merge { base: ContentHash, remote: ContentHash, local: ContentHash },
}

/// The work that is offloaded to a worker thread.
#[derive(Debug, Default)]
pub(crate) struct Offload {
    /// The smallest size that is offloaded, in bytes of JSON; `None` if no driver performs jobs.
    pub(crate) from: Option<usize>,
    /// Answers that have not been used yet.
    pub(crate) found: BTreeMap<PageId, (Question, Option<Worked>)>,
}

impl Offload {
    pub(crate) fn is_long(&self, json: usize) -> bool {
        self.from.is_some_and(|from| json >= from)
    }

    /// Takes the answer to a question. `Some(None)`: the job found none, and the work is done here in any case.
    pub(crate) fn worked_out(&mut self, page: &PageId, question: &Question) -> Option<Option<Worked>> {
        let (asked, worked) = self.found.remove(page)?;
        (asked == *question).then_some(worked)
    }
}
