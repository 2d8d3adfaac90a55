//! `espejo run`: the daemon. SIGTERM and SIGINT end it cleanly, SIGHUP reads the config again.

mod desktop;
mod indexing;
mod systemd;
mod watcher;

use std::time::Duration;

use anyhow::Result;
use tokio::signal::unix::{Signal, SignalKind, signal};
use watcher::Watcher;

use crate::cli::progress::Progress;
use crate::cli::{self, Call, Exit, progress, session};
use crate::config::Config;
use crate::daemon::control::{self, Listener};
use crate::daemon::{self, Ended};
use crate::mirror::lock::{Lock, LockError};
use crate::model::Timestamp;
use crate::store::StoreError;

/// How long a state that cannot be written is left alone.
const PAUSE: Duration = Duration::from_secs(5);
/// How long a lock of another process is left alone.
const SHORT_PAUSE: Duration = Duration::from_millis(500);
/// Who has the lock for longer mirrors in our place.
const HELD_MOST_MS: i64 = 600_000;
/// A run this long was not stopped by what stopped the one before it.
const WELL_AFTER_MS: i64 = 60_000;

/// Run the daemon: sync until stopped
///
/// Runs in the foreground and logs to stderr, for systemd or a terminal. SIGTERM and Ctrl-C stop it cleanly; SIGHUP
/// reloads the config. Only one espejo can use a state directory at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::Args)]
#[command(after_help = "Examples:\n  espejo run --config ~/work.toml\n  espejo run --log-format json")]
pub struct Args {}

/// Runs until told to stop. SIGHUP reads the config again.
///
/// # Errors
/// One sentence, when a session cannot be opened or the state can no longer be written.
pub async fn run(call: &mut Call<'_>) -> Result<Exit> {
    let load = || call.config();
    let (named, progress::Screen { bars, terminal, quiet }) = (call.global.config.as_deref(), call.screen());
    let variable = &cli::variable;
    let mut config = load()?;
    let mut signals = Signals::new()?;
    let clock = daemon::real_clock();
    // Since when the state could not be written.
    let mut waits = false;
    let mut reopening = Reopening::default();
    // Says in the place of a session why there is none.
    let mut stand_in = None;
    loop {
        let next = reopening.config.as_ref().unwrap_or(&config);
        let mut opened = match session::open(next, session::settings(next), variable) {
            Ok(opened) => opened,
            Err(error) => {
                let why = format!("{error:#}");
                let Some(time) = reopening.after(error, waits, clock())? else { continue };
                // Another command that has the lock is done in a moment.
                let is_ours = reopening.held_since.is_none();
                let lock = is_ours.then(|| stand_in_for_run(&config, &why, &mut stand_in)).flatten();
                let woken = signals.pause(time).await;
                drop(lock);
                match woken {
                    Woken::Stopped => return Ok(Exit::Done),
                    Woken::Reloads => reopening.read(&load),
                    Woken::InTime => {}
                }
                continue;
            }
        };
        if let Some(new) = std::mem::take(&mut reopening).config {
            config = new;
            tracing::info!("config reloaded");
        }
        reopening.has_run = true;
        opened.follows_clock = true;
        let began = clock();
        let (wishes, wished) = tokio::sync::mpsc::unbounded_channel();
        drop(stand_in.take());
        let socket = control::listen(&config.state_dir, wishes, Listener::Daemon);
        let mut observer = Watcher::new(Progress::new(bars, terminal, quiet), &config, named);
        systemd::tell(&[sd_notify::NotifyState::Ready]);
        if !waits {
            tracing::info!("mirroring {} into {}", config.base_url, config.root.display());
        }
        let mut again = false;
        let stop = async {
            tokio::select! {
                _ = signals.term.recv() => {}
                _ = signals.int.recv() => {}
                _ = signals.hangup.recv() => again = true,
            }
            // At once: what is under way may take some seconds more.
            match sd_notify::NotifyState::monotonic_usec_now() {
                Ok(at) if again => systemd::tell(&[sd_notify::NotifyState::Reloading, at]),
                _ if again => {}
                _ => systemd::tell(&[sd_notify::NotifyState::Stopping]),
            }
        };
        let ended = Box::pin(opened.run(wished, stop, &mut observer)).await;
        observer.progress.finish();
        drop(socket);
        debug_assert!(!matches!(ended, Ok(Ended::Satisfied)), "a daemon is never satisfied");
        if let Err(error) = &ended
            && error.may_pass()
        {
            // One that has run for a while has been well in between.
            if !waits || clock().since_ms(began) > WELL_AFTER_MS {
                tracing::error!(
                    "the state cannot be written: {error}; espejo waits until it can, and nothing is lost"
                );
            }
            waits = true;
            let lock = stand_in_for_run(&config, &error.to_string(), &mut stand_in);
            let woken = signals.pause(PAUSE).await;
            drop(lock);
            match woken {
                Woken::Stopped => return Ok(Exit::Done),
                Woken::Reloads => reopening.read(&load),
                Woken::InTime => {}
            }
            continue;
        }
        match ended? {
            Ended::FolderCame => {
                tracing::debug!("the folder can be read now; the session is opened again");
                waits = false;
                continue;
            }
            Ended::ClockWasSet => {
                tracing::info!("the machine's clock was set: what comes is dated by it");
                waits = false;
                continue;
            }
            Ended::Stopped | Ended::Satisfied => {}
        }
        if !again {
            tracing::info!("stopped; espejo status shows whether edits are pending");
            return Ok(Exit::Done);
        }
        waits = false;
        reopening.read(&load);
    }
}

/// Takes the place of a session that could not be opened or went on no longer: the daemon is not taken for one that ended,
/// and tells all who ask what it waits for. The lock goes before the next session is opened, the socket after that.
fn stand_in_for_run(config: &Config, why: &str, stand_in: &mut Option<control::Socket>) -> Option<Lock> {
    // An act on disk of the session before may have it still.
    let lock = Lock::acquire(&config.state_dir).ok()?;
    drop(stand_in.take());
    *stand_in = control::say_why(&config.state_dir, why);
    Some(lock)
}

/// What came of a session that was ended to be opened again. A daemon that has run does not die of what a person, a full
/// disk or another command can do to it: it goes on with what it had, or waits.
#[derive(Default)]
struct Reopening {
    has_run: bool,
    /// Read, and not in force until a session has been opened with it.
    config: Option<Config>,
    /// Since when another process has the lock.
    held_since: Option<Timestamp>,
    told: String,
}

impl Reopening {
    /// Reads the config again.
    fn read(&mut self, load: &dyn Fn() -> Result<Config>) {
        match load() {
            Ok(new) => self.config = Some(new),
            Err(error) => tracing::error!("{error:#}; the old config stays in force"),
        }
    }

    /// How long to wait until it is tried again: not at all with the config that was in force. `waits`: it has been told that
    /// the state cannot be written.
    fn after(&mut self, error: anyhow::Error, waits: bool, now: Timestamp) -> Result<Option<Duration>> {
        let store = error.downcast_ref::<StoreError>();
        if !self.has_run || store.is_some_and(|error| !error.may_pass()) {
            return Err(error);
        }
        let lock = error.downcast_ref::<LockError>();
        if matches!(lock, Some(LockError::Held { .. } | LockError::Root(_))) {
            // A command that is done in a moment, or an act on disk of the run before.
            if self.held_since.is_none() {
                tracing::info!("{error}; espejo waits for it");
            }
            let since = *self.held_since.get_or_insert(now);
            return if now.since_ms(since) < HELD_MOST_MS { Ok(Some(SHORT_PAUSE)) } else { Err(error) };
        }
        self.held_since = None;
        if self.config.take().is_some() {
            tracing::error!("{error:#}; the old config stays in force");
            return Ok(None);
        }
        let is_told = waits && (store.is_some() || lock.is_some());
        let words = format!("{error:#}");
        if !is_told && words != self.told {
            tracing::error!("{words}; until then nothing is synced");
            self.told = words;
        }
        Ok(Some(PAUSE))
    }
}

struct Signals {
    term: Signal,
    int: Signal,
    hangup: Signal,
}

/// Why a pause ended.
enum Woken {
    InTime,
    Reloads,
    Stopped,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        let (term, int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { term, int, hangup: signal(SignalKind::hangup())? })
    }

    /// Lets some time go by, if no signal comes.
    async fn pause(&mut self, time: Duration) -> Woken {
        systemd::tell(&[sd_notify::NotifyState::Watchdog]);
        tokio::select! {
            _ = self.term.recv() => Woken::Stopped,
            _ = self.int.recv() => Woken::Stopped,
            _ = self.hangup.recv() => Woken::Reloads,
            () = tokio::time::sleep(time) => Woken::InTime,
        }
    }
}
