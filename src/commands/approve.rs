//! `espejo approve`: lets through what a guard holds, in the running daemon or for the next run.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};

use super::control::{self, Ask};
use super::{run, session};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon::place_in;
use crate::model::{Event, MirrorPath, Request};

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
    let (mut engine, clock, _lock) = session::hold(config)?.engine(config)?;
    engine.handle(Event::Asked(Request::Approve(places)), clock())?;
    writeln!(out, "approved; the next espejo sync or espejo run goes on with it")?;
    Ok(Exit::Done)
}
