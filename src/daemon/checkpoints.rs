//! The state's log is brought into its database beside the loop, one time after the other.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::engine::Engine;

/// From one to the next. While much is written, as in a first mirror, the same pages change again and again, and each
/// checkpoint writes them once more.
const AT_LEAST: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct Checkpoints {
    last: Option<(Instant, JoinHandle<()>)>,
}

impl Checkpoints {
    pub(super) fn begin_if_due(&mut self, engine: &Engine) {
        let rests =
            |(begun, run): &(Instant, JoinHandle<()>)| !run.is_finished() || begun.elapsed() < AT_LEAST;
        if self.last.as_ref().is_some_and(rests) {
            return;
        }
        let Some(due) = engine.due_checkpoint() else { return };
        let run = tokio::task::spawn_blocking(move || {
            if let Err(error) = due.run() {
                // What is written stays in the log, and a full disk is told of by the next commit.
                tracing::debug!(%error, "the state's log is not brought into its database");
            }
        });
        self.last = Some((Instant::now(), run));
    }
}
