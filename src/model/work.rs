//! Long computations without side effects, which run on worker threads.

use std::fmt;
use std::sync::Arc;

use super::BodyJson;

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
    #[must_use]
    pub fn run(&self) -> Option<Worked> {
        self.0.run()
    }
}

impl PartialEq for Job {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
