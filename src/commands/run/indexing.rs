//! The search index is kept up beside the daemon, so that no search has to build it. Another process does it, with the
//! least of the processor: what it takes is gone with it, and no edit waits for it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::engine::Engine;
use crate::model::Timestamp;
use crate::store::StoreError;

/// The hidden command that brings the index up to date and ends.
const COMMAND: &str = "index";
/// How soon after a start, or after the end of the last time, it may be done: a change is found within a minute.
const EVERY_MS: i64 = 30_000;
/// How soon the end of it is looked for.
const LOOK_MS: i64 = 1_000;

pub(super) struct Indexing {
    config: Option<PathBuf>,
    child: Option<Child>,
    next: Option<Timestamp>,
    /// What the state was as of when it was done last.
    as_of: Option<String>,
}

impl Indexing {
    /// `config`: the path that was given on the command line, if one was.
    pub(super) fn new(config: Option<PathBuf>) -> Self {
        Self { config, child: None, next: None, as_of: None }
    }

    /// Begins it when something else could be found than the last time.
    pub(super) fn turn(&mut self, engine: &Engine, now: Timestamp) -> Result<(), StoreError> {
        if now < *self.next.get_or_insert(now.plus_ms(EVERY_MS)) {
            return Ok(());
        }
        if let Some(child) = &mut self.child {
            match child.try_wait() {
                Ok(None) => {
                    self.next = Some(now.plus_ms(LOOK_MS));
                    return Ok(());
                }
                Ok(Some(ended)) => tracing::debug!(%ended, "the search index was updated"),
                Err(error) => tracing::debug!(%error, "the search index is updated without a progress bar"),
            }
            self.child = None;
            self.next = Some(now.plus_ms(EVERY_MS));
            return Ok(());
        }
        self.next = Some(now.plus_ms(EVERY_MS));
        let as_of = engine.searchable_mark()?;
        if as_of.is_some() && as_of != self.as_of {
            match self.command().and_then(|mut command| command.spawn()) {
                Ok(child) => {
                    (self.child, self.as_of) = (Some(child), as_of);
                    self.next = Some(now.plus_ms(LOOK_MS));
                }
                // The first search builds it then.
                Err(error) => tracing::debug!(%error, "the search index cannot be updated"),
            }
        }
        Ok(())
    }

    fn command(&self) -> std::io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        command.arg(COMMAND).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }
}

impl Drop for Indexing {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended; half an index is none, as it is written in one turn.
            drop(child.kill());
            drop(child.wait());
        }
    }
}
