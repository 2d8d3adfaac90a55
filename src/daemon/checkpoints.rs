//! The state's log is brought into its database beside the loop, one time after the other.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::engine::Engine;

/// From one to the next, unless the log gets long. While much is written, as in a first mirror, the same pages change
/// again and again, and each checkpoint writes them once more.
const AT_LEAST: Duration = Duration::from_secs(10);
/// The same in bytes, well below the length at which a commit checkpoints the log itself.
const LONG_BYTES: u64 = 32 << 20;

#[derive(Default)]
pub(super) struct Checkpoints {
    last: Option<(Instant, JoinHandle<()>)>,
}

impl Checkpoints {
    pub(super) fn begin_if_due(&mut self, engine: &Engine) {
        if self.last.as_ref().is_some_and(|(_, run)| !run.is_finished()) {
            return;
        }
        let is_recent = self.last.as_ref().is_some_and(|(begun, _)| begun.elapsed() < AT_LEAST);
        let Some(due) = engine.due_checkpoint(if is_recent { LONG_BYTES } else { 0 }) else { return };
        let run = tokio::task::spawn_blocking(move || {
            if let Err(error) = due.run() {
                // What is written stays in the log, and a full disk is told of by the next commit.
                tracing::debug!(%error, "the state's log is not brought into its database");
            }
        });
        self.last = Some((Instant::now(), run));
    }
}
