//! `espejo approve`: lets through what a guard holds, in the running daemon or for the next run.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};

use super::control::{self, Ask};
use super::{run, session};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon::{self, place_in};
use crate::engine::Engine;
use crate::mirror::lock::Lock;
use crate::model::{Event, MirrorPath, Request};
use crate::store::Store;

/// Approves what is held at `paths`, or everything.
///
/// # Errors
/// One sentence, when a path is not in the mirror or the state cannot be used.
pub async fn run(config: &Config, paths: &[PathBuf], out: &mut dyn Write) -> Result<Exit> {
    let mut places: Vec<MirrorPath> = Vec::new();
    for path in paths {
        match place_in(&config.root, path) {
            Some(place) => places.push(place),
            None => bail!("{} is not in the mirror {}", path.display(), config.root.display()),
        }
    }
    if run::is_running(&config.state_dir) {
        control::ask(&config.state_dir, &Ask::Approve(places.iter().map(ToString::to_string).collect()))
            .await?;
        writeln!(out, "approved; the running espejo goes on with it")?;
        return Ok(Exit::Done);
    }
    if !config.state_dir.join("espejo.sqlite3").exists() {
        bail!("there is no mirror yet: run espejo sync or espejo run first");
    }
    let _lock = Lock::acquire(&config.state_dir)?;
    let store = Store::open(&config.state_dir)?.store;
    let now = daemon::wall_now();
    let mut engine = Engine::open(store, session::settings(config), daemon::fresh_seed(), now)?;
    engine.handle(Event::Asked(Request::Approve(places)), now)?;
    writeln!(out, "approved; the next espejo sync or espejo run goes on with it")?;
    Ok(Exit::Done)
}
