//! Long computations without side effects, which run beside the engine.

use std::fmt;
use std::sync::Arc;

use super::BodyJson;

/// Something to be worked out of what it holds and nothing else.
pub trait Work: fmt::Debug + Send + Sync {
    /// Works it out; `None` when a body that it holds cannot be read.
    fn run(&self) -> Option<Worked>;
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Worked {
    /// What a text stands for.
    Body(BodyJson),
    /// A text.
    Text(String),
}

/// A [`Work`] to be carried out once, on any thread.
#[derive(Debug, Clone)]
pub struct Job(Arc<dyn Work>);

impl Job {
    /// This work.
    #[must_use]
    pub fn new(work: impl Work + 'static) -> Self {
        Self(Arc::new(work))
    }

    /// Works it out, as [`Work::run`]; a job of thousands of blocks takes some tenths of a second.
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
