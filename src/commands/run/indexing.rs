//! The search index is kept up beside the daemon, so that no search has to build it. Another process does it, with the
//! least of the processor: what it takes is gone with it, and no edit waits for it.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::cli::child;
use crate::engine::{Engine, Summary};
use crate::model::Timestamp;
use crate::store::StoreError;

/// The hidden command that brings the index up to date and ends.
const COMMAND: &str = "index";
/// How soon after a start, or after the end of the last time, it may be done: a change is found within a minute.
const EVERY_MS: i64 = 30_000;
/// The same while much of the mirror is to come: each time writes much of the index anew, and a search in between brings
/// it up to date itself.
const EVERY_OF_MUCH_MS: i64 = 300_000;
/// Much is more than one in so many of the pages.
const MUCH: usize = 10;

pub(super) struct Indexing {
    config: Option<PathBuf>,
    child: Option<Child>,
    /// When it was begun or ended last, or could have been.
    since: Option<Timestamp>,
    much_comes: bool,
    /// What the state was as of when it was done last.
    as_of: Option<String>,
}

impl Indexing {
    /// `config`: the path that was given on the command line, if one was.
    pub(super) fn new(config: Option<PathBuf>) -> Self {
        Self { config, child: None, since: None, much_comes: false, as_of: None }
    }

    /// Takes note of how much of the mirror is to come.
    pub(super) fn expect(&mut self, summary: &Summary) {
        self.much_comes = summary.listed.saturating_sub(summary.mirrored) > summary.listed / MUCH;
    }

    /// Begins it when something else could be found than the last time.
    pub(super) fn turn(&mut self, engine: &Engine, now: Timestamp) -> Result<(), StoreError> {
        if let Some(child) = &mut self.child {
            match child.try_wait() {
                Ok(None) => return Ok(()),
                Ok(Some(ended)) => tracing::debug!(%ended, "the search index was updated"),
                Err(error) => tracing::debug!(%error, "the search index is updated without a progress bar"),
            }
            self.child = None;
            self.since = Some(now);
        }
        let every = if self.much_comes { EVERY_OF_MUCH_MS } else { EVERY_MS };
        if now.since_ms(*self.since.get_or_insert(now)) < every {
            return Ok(());
        }
        self.since = Some(now);
        let as_of = engine.searchable_mark()?;
        if as_of.is_some() && as_of != self.as_of {
            match self.command().and_then(|mut command| command.spawn()) {
                Ok(child) => (self.child, self.as_of) = (Some(child), as_of),
                // The first search builds it then.
                Err(error) => tracing::debug!(%error, "the search index cannot be updated"),
            }
        }
        Ok(())
    }

    fn command(&self) -> std::io::Result<Command> {
        let mut command = child::command(own_program()?);
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        command.arg0("espejo").arg(COMMAND).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }
}

/// This very program, by its own path as long as that leads to it. After an upgrade the path leads to another version or nowhere.
/// The kernel's link still leads to the version that runs, and the state and the index have its form.
fn own_program() -> std::io::Result<PathBuf> {
    let kernels = Path::new("/proc/self/exe");
    let own = std::env::current_exe();
    let file = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    match (&own, file(kernels)) {
        (Ok(path), Some(running)) if file(path) == Some(running) => own,
        (_, Some(_)) => Ok(kernels.to_owned()),
        (_, None) => own,
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
