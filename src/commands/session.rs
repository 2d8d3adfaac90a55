//! Everything a run needs, opened in the right order from the config: lock, state, folder, token, client, engine.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};

use crate::config::Config;
use crate::daemon::{self, Clock, Daemon};
use crate::engine::Engine;
use crate::mirror::lock::Lock;
use crate::mirror::{Mirror, marker};
use crate::model::{DiskError, Settings};
use crate::service::{Client, Downloader, token};
use crate::store::{Opened, Store};

/// An open session: the daemon's parts, and the lock that keeps a second one out.
pub struct Session {
    /// The daemon, ready to run.
    pub daemon: Daemon,
    /// Held as long as the session lives.
    pub lock: Lock,
}

/// Opens a session. `variable` answers for environment variables.
///
/// # Errors
/// One sentence each: another espejo runs, the state cannot be used, the folder cannot be made, no usable token.
pub fn open(
    config: &Config,
    settings: Settings,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Session> {
    let token = token::find(variable, config.token_file.as_deref())?;
    let client = Arc::new(Client::new(&config.base_url, token)?);
    let downloader = Arc::new(Downloader::new(&config.base_url)?);
    let lock = Lock::acquire(&config.state_dir)?;
    let Opened { mut store, set_aside } = Store::open(&config.state_dir)?;
    if let Some((aside, why)) = set_aside {
        tracing::warn!(
            aside = %aside.display(),
            "the state was damaged ({why}); it is set aside and built anew from the files and the service"
        );
    }
    let clock = daemon::real_clock();
    let mirror = open_mirror(&mut store, &config.root, &clock)?;
    let (grace_ms, trash_days) = (settings.pages.delete_grace_ms, settings.pages.trash_days);
    let engine = Engine::open(store, settings, daemon::fresh_seed(), clock())?;
    let mirror = Arc::new(mirror);
    Ok(Session { daemon: Daemon { engine, client, downloader, mirror, clock, grace_ms, trash_days }, lock })
}

/// Opens the folder as this state's mirror. The first time, the folder and its marker are made; a folder that has a
/// marker already (the state was lost) is taken up again with what it holds.
fn open_mirror(store: &mut Store, root: &Path, clock: &Clock) -> Result<Mirror> {
    let known = store.meta("mirror_id")?;
    let found = || std::fs::read_to_string(root.join(marker::FOLDER).join(marker::FILE)).ok();
    let (id, first) = match known {
        Some(id) => (id, false),
        None => {
            let found = found().as_deref().and_then(marker::id).map(ToOwned::to_owned);
            (found.unwrap_or_else(fresh_id), true)
        }
    };
    let trash_clock = Arc::clone(clock);
    let mirror =
        Mirror::with_clock(root, &id, first, move || trash_clock()).map_err(|error| match error {
            DiskError::RootNotReady(why) => anyhow!("{why}; choose another folder or mend this one"),
            other => anyhow!("the folder {} cannot be used: {other}", root.display()),
        })?;
    if first {
        store.set_meta("mirror_id", &id)?;
        store.set_meta("root", &root.display().to_string())?;
        store.commit()?;
    }
    Ok(mirror)
}

fn fresh_id() -> String {
    let seed = daemon::fresh_seed();
    seed[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The engine's settings from the config, with what only this machine knows.
#[must_use]
pub fn settings(config: &Config) -> Settings {
    let now = jiff::Timestamp::from_millisecond(daemon::wall_now().0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let offset = jiff::tz::TimeZone::system().to_offset(now);
    Settings { utc_offset_seconds: offset.seconds(), ..config.settings() }
}
