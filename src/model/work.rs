//! Long computations without side effects, which run on worker threads.

use std::fmt;
use std::sync::Arc;

use super::{Blocks, BodyJson, Fault, guarded};

/// A computation that depends only on the values that it holds.
pub trait Work: fmt::Debug + Send + Sync {
    /// Computes the result; `None` if a body that it holds cannot be parsed.
    fn run(&self) -> Option<Worked>;
}

/// The result of a computation.
#[derive(Debug, Clone, PartialEq)]
pub enum Worked {
    /// The body that a text stands for.
    Body(BodyJson),
    /// A text.
    Text(String),
    /// A merge of three versions of a page.
    Merge(Box<MergedBody>),
}

/// Three versions of a page, merged. Blocks that all versions have alike may be left out of all lists.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedBody {
    /// The whole content; `None` if it means what `remote` means.
    pub content: Option<BodyJson>,
    /// Its blocks.
    pub blocks: Blocks,
    /// The blocks that both sides had in common.
    pub base: Blocks,
    /// The service's blocks.
    pub remote: Blocks,
    /// Where both sides changed the same, first of all, in one sentence.
    pub collision: Option<String>,
    /// Whether blocks were left out.
    pub is_partial: bool,
}

/// A [`Work`] to be run once, on any thread.
#[derive(Debug, Clone)]
pub struct Job(Arc<dyn Work>);

impl Job {
    /// A job for this work.
    #[must_use]
    pub fn new(work: impl Work + 'static) -> Self {
        Self(Arc::new(work))
    }

    /// Computes the result, as [`Work::run`]; a job of thousands of blocks takes some tenths of a second.
    ///
    /// # Errors
    /// [`Fault`] when the computation panics.
    pub fn run(&self) -> Result<Option<Worked>, Fault> {
        guarded(|| self.0.run())
    }
}

impl PartialEq for Job {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
