//! Everything a run needs, opened in the right order from the config: lock, state, folder, token, client, engine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::when;
use crate::config::Config;
use crate::daemon::{self, Clock, Daemon};
use crate::engine::Engine;
use crate::mirror::lock::Lock;
use crate::mirror::{Mirror, marker};
use crate::model::{Attention, Code, DiskError, MirrorPath, Settings, Timestamp};
use crate::service::{Client, Downloader, Timeouts, Way, token};
use crate::store::{Opened, RUNS, RUNS_MEANT, ReadOnly, Store};

/// Opens a session: the daemon, ready to run. `variable` answers for environment variables.
///
/// # Errors
/// One sentence each: another espejo runs, the state cannot be used, the folder cannot be made, no usable token.
pub fn open(
    config: &Config,
    settings: Settings,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Daemon> {
    let token = token::find(variable, config.token_file.as_deref())?;
    let client = Arc::new(Client::by(&way(config), &config.base_url, token, Timeouts::default())?);
    let downloader = Arc::new(Downloader::by(&way(config), &config.base_url)?);
    let (Held { mut store, clock, mut lock }, log_is_gone) = hold_as_found(config)?;
    let mirror = open_mirror(&mut store, &mut lock, &config.root, &clock)?;
    let awaits_folder = !mirror.is_ready();
    let count = compare_runs(&mut store, &mirror, log_is_gone, clock())?;
    store.checkpoint_beside()?;
    let (grace_ms, trash_days) = (settings.pages.delete_grace_ms, settings.pages.trash_days);
    let ignore = settings.ignore.clone();
    let engine = Engine::open(store, settings, daemon::fresh_seed(), clock())?;
    let (mirror, lock) = (Arc::new(mirror), Arc::new(lock));
    Ok(Daemon {
        engine,
        client,
        downloader,
        mirror,
        clock,
        grace_ms,
        trash_days,
        ignore,
        awaits_folder,
        follows_clock: false,
        count,
        lock,
    })
}

/// The state, ours alone, with a clock that its limiter's log goes by.
pub struct Held {
    /// The state.
    pub store: Store,
    /// The time.
    pub clock: Clock,
    /// Held as long as the state is used.
    pub lock: Lock,
}

impl Held {
    /// An engine on it, which goes by its clock.
    ///
    /// # Errors
    /// One sentence, when the state cannot be read.
    pub fn engine(self, config: &Config) -> Result<(Engine, Clock, Lock)> {
        let now = (self.clock)();
        let engine = Engine::open(self.store, settings(config), daemon::fresh_seed(), now)?;
        Ok((engine, self.clock, self.lock))
    }
}

/// Takes the state for a command that is no run.
///
/// # Errors
/// One sentence: another espejo runs, or the state cannot be used.
pub fn hold(config: &Config) -> Result<Held> {
    let (mut held, log_is_gone) = hold_as_found(config)?;
    if log_is_gone {
        // Only the first to open it can tell, and a run has to know.
        held.store.begin_anew();
        held.store.commit()?;
    }
    Ok(held)
}

/// As [`hold`], and whether the log of its last writes is gone, which is the caller's to act on.
fn hold_as_found(config: &Config) -> Result<(Held, bool)> {
    let lock = Lock::acquire(&config.state_dir)?;
    let Opened { mut store, set_aside, log_is_gone } = Store::open(&config.state_dir)?;
    if let Some((aside, why)) = set_aside {
        tracing::warn!(
            aside = %aside.display(),
            "the state cannot be used ({why}); it is set aside and built anew from the files and the service"
        );
    }
    let clock = daemon::real_clock();
    if let Some((boot, zero)) = daemon::machine_start(&clock) {
        store.settle_clock(&boot, zero)?;
    }
    Ok((Held { store, clock, lock }, log_is_gone))
}

/// The folder and the state, without the service.
pub struct DiskSession {
    /// The engine, which does only what it is asked.
    pub engine: Engine,
    /// The folder.
    pub mirror: Mirror,
    /// The time.
    pub clock: Clock,
    /// Held as long as the session lives.
    pub lock: Lock,
}

/// Opens a session for changes to files alone. No token is needed for it, and no network.
///
/// # Errors
/// As [`open`].
pub fn open_disk(config: &Config) -> Result<DiskSession> {
    let Held { mut store, clock, mut lock } = hold(config)?;
    let mirror = open_mirror(&mut store, &mut lock, &config.root, &clock)?;
    let mut engine = Engine::open(store, settings(config), daemon::fresh_seed(), clock())?;
    engine.do_only_what_is_asked();
    Ok(DiskSession { engine, mirror, clock, lock })
}

/// Opens the folder as this state's mirror. The first time, the folder and its marker are made; a folder that has a
/// marker already (the state was lost) is taken up again with what it holds.
fn open_mirror(store: &mut Store, lock: &mut Lock, root: &Path, clock: &Clock) -> Result<Mirror> {
    let known = store.meta("mirror_id")?;
    let found = || std::fs::read_to_string(root.join(marker::FOLDER).join(marker::FILE)).ok();
    let (id, first) = match known {
        Some(id) => (id, false),
        None => {
            let found = found().as_deref().and_then(marker::id).map(ToOwned::to_owned);
            (found.unwrap_or_else(fresh_id), true)
        }
    };
    // Files are dated by the clock that can be set, whatever ours says by then.
    let steady = Arc::clone(clock);
    let mirror = Mirror::with_steady_clock(root, &id, first, move || steady());
    let mirror = mirror.map_err(|error| match error {
        DiskError::RootNotReady(why) => anyhow!("{why}; choose another folder or fix this one"),
        other => anyhow!("the folder {} cannot be used: {other}", root.display()),
    })?;
    lock.take_root(root)?;
    if first {
        store.set_meta("mirror_id", &id);
        store.set_meta("root", &root.display().to_string());
        store.commit()?;
    }
    Ok(mirror)
}

/// Counts this run in the state and in the folder. Where their counts differ, the one that is behind is an older copy.
/// Returns the new count, if the folder has it.
fn compare_runs(
    store: &mut Store,
    mirror: &Mirror,
    log_is_gone: bool,
    now: Timestamp,
) -> Result<Option<u64>> {
    let count = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
    let (stored, meant) = (count(store.meta(RUNS)?), count(store.meta(RUNS_MEANT)?));
    let noted = mirror.runs();
    let tell = |store: &mut Store, what: Attention| {
        tracing::warn!("{}", what.reason);
        store.add_notice(&what, now);
    };
    if let (Some(stored), Some(noted)) = (stored, noted) {
        if noted > stored.max(meant.unwrap_or(0)) || log_is_gone {
            store.begin_anew();
            let reason = "the state is an older copy than the folder: espejo compares everything again, and does not delete pages whose files are missing";
            let action = "nothing to do, if you restored a backup of the state";
            tell(store, Attention::new(Code::StateOlder, "", reason, action));
        } else if noted < stored {
            store.folder_went_back(now);
            tell(store, Attention::older_folder());
        }
    } else if log_is_gone {
        store.begin_anew();
    }
    // No number is used twice, not even one that was only meant: a copy of the state may be from that moment.
    let next = stored.max(noted).max(meant).unwrap_or(0) + 1;
    // In this order, so that a kill in between is not taken for an older copy of either.
    store.set_meta(RUNS_MEANT, &next.to_string());
    store.commit()?;
    let noted = mirror.note_runs(next);
    match &noted {
        Ok(()) => store.set_meta(RUNS, &next.to_string()),
        // No root, no space, no permission: told elsewhere.
        Err(error) => tracing::debug!(%error, "the run is not noted in the folder"),
    }
    store.commit()?;
    Ok(noted.is_ok().then_some(next))
}

/// The way to the service that the config says.
#[must_use]
pub fn way(config: &Config) -> Way {
    Way { proxy: config.proxy.clone(), ca_file: config.ca_file.clone() }
}

fn fresh_id() -> String {
    daemon::fresh_tag(16)
}

/// The engine's settings from the config, with what only this machine knows.
#[must_use]
pub fn settings(config: &Config) -> Settings {
    Settings { utc_offset_seconds: daemon::utc_offset_seconds(), ..config.settings() }
}

/// Whether a daemon, or another command that holds the state, runs with this state.
#[must_use]
pub fn is_running(state_dir: &Path) -> bool {
    Lock::is_held(state_dir)
}

/// What was typed, as places in the mirror.
///
/// # Errors
/// One sentence, when one is not in the mirror.
pub fn places(config: &Config, paths: &[PathBuf]) -> Result<Vec<MirrorPath>> {
    paths.iter().map(|path| place(config, path)).collect()
}

/// The same for one.
///
/// # Errors
/// One sentence, when it is not in the mirror.
pub fn place(config: &Config, path: &Path) -> Result<MirrorPath> {
    let outside = || anyhow!("{} is not in the mirror {}", path.display(), config.root.display());
    daemon::place_in(&config.root, path).ok_or_else(outside)
}

/// Ready when this process is told to end. From this call on, being told does not end it by itself.
pub fn interrupted() -> impl Future<Output = ()> {
    let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok());
    let heard = |signal: Option<Signal>| async move {
        match signal {
            Some(mut signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    };
    async move {
        let [interrupt, terminate] = signals.map(heard);
        tokio::select! {
            () = interrupt => {}
            () = terminate => {}
        }
    }
}

/// Refuses what would ask the service in a pause.
///
/// # Errors
/// One sentence, in a pause.
pub fn refuse_in_pause(config: &Config) -> Result<()> {
    // A state that cannot be read is told of, or mended, by what opens it next.
    if let Ok(Some(state)) = ReadOnly::open(&config.state_dir)
        && let Ok(Some(since)) = state.paused_since()
    {
        bail!("{}", refusal(since));
    }
    Ok(())
}

/// Why nothing is asked or sent.
#[must_use]
pub fn refusal(since: Timestamp) -> String {
    format!("espejo has been paused since {}; run espejo resume first", when::local(since))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::Activity;
    use crate::mirror::lock::LockError;
    use crate::model::{DiskReply, Effect};
    use crate::store::StoreError;

    /// Ends its run with an error as soon as it may.
    struct Impatient(std::sync::mpsc::Receiver<()>);

    impl daemon::Observer for Impatient {
        fn turn(&mut self, _: &Engine, _: &[Activity], _: Timestamp) -> Result<bool, StoreError> {
            match self.0.try_recv() {
                Ok(()) => Err(StoreError::Row("test")),
                Err(_) => Ok(true),
            }
        }

        fn wakeup(&self) -> Option<Duration> {
            Some(Duration::from_millis(1))
        }
    }

    #[tokio::test]
    async fn nobody_begins_beside_an_act_that_outlives_its_run() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let config = Config::new("http://127.0.0.1:1".into(), dir.path().join("root"), state.clone());
        let token = |name: &str| (name == "ESPEJO_TOKEN").then(|| OsString::from("tok-0123456789"));
        let daemon = open(&config, settings(&config), &token).unwrap();
        std::fs::create_dir(config.root.join("Equipo")).unwrap();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let (go, may_go) = std::sync::mpsc::channel::<()>();
        daemon.mirror.at_each_step(move || {
            // The test may be over.
            let _sent = begun.send(());
            let _told = may_go.recv();
        });
        let (_wishes, wished) = tokio::sync::mpsc::unbounded_channel();
        let mut impatient = Impatient(has_begun);
        let ended = Box::pin(daemon.run(wished, std::future::pending(), &mut impatient)).await;
        assert!(ended.is_err(), "{ended:?}");
        // The first look at the folder is still under way.
        assert!(matches!(Lock::acquire(&state), Err(LockError::Held { .. })));
        drop(go);
        while Lock::acquire(&state).is_err() {
            tokio::task::yield_now().await;
        }
    }

    /// A machine without a clock of its own, or with a wrong one, learns the time after espejo has begun.
    #[tokio::test]
    async fn a_run_that_follows_the_clock_ends_when_it_is_set() {
        for ahead_ms in [-3_600_000, 3_600_000] {
            ends_when_it_is_set(ahead_ms).await;
        }
    }

    async fn ends_when_it_is_set(ahead_ms: i64) {
        let dir = tempfile::tempdir().unwrap();
        let config =
            Config::new("http://127.0.0.1:1".into(), dir.path().join("root"), dir.path().join("state"));
        let token = |name: &str| (name == "ESPEJO_TOKEN").then(|| OsString::from("tok-0123456789"));
        let mut daemon = open(&config, settings(&config), &token).unwrap();
        let before = Arc::clone(&daemon.clock);
        daemon.clock = Arc::new(move || before().plus_ms(ahead_ms));
        daemon.follows_clock = true;
        let (_wishes, wished) = tokio::sync::mpsc::unbounded_channel();
        let (_never, never) = std::sync::mpsc::channel();
        let mut impatient = Impatient(never);
        let too_late = tokio::time::sleep(std::time::Duration::from_secs(120));
        let ended = Box::pin(daemon.run(wished, too_late, &mut impatient)).await;
        assert_eq!(ended.unwrap(), daemon::Ended::ClockWasSet);
    }

    /// The run's own clock goes on whatever the machine's is set to, and says nothing about when a file was written.
    #[test]
    fn files_are_dated_by_the_clock_that_can_be_set() {
        let dir = tempfile::tempdir().unwrap();
        let (mut lock, root) = (Lock::acquire(&dir.path().join("state")).unwrap(), dir.path().join("root"));
        let far: Clock = Arc::new(|| Timestamp(4_102_444_800_000));
        let mirror = open_mirror(&mut Store::in_memory().unwrap(), &mut lock, &root, &far).unwrap();
        let before = daemon::wall_now();
        let Ok(DiskReply::Scan(scan)) = mirror.perform(&Effect::Scan) else { panic!("no scan") };
        assert!(scan.clock >= before && scan.clock <= daemon::wall_now(), "{:?}", scan.clock);
    }
}
