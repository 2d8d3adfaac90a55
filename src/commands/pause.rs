//! `espejo pause` and `espejo resume`: the service is left alone until told otherwise, also across restarts; the folder
//! is followed all the while.

use std::io::Write;

use anyhow::{Result, bail};

use super::control::{self, Ask};
use super::{run, session, when};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon;
use crate::model::Timestamp;
use crate::store::ReadOnly;

/// Begins (`on`) or ends a pause, in the running daemon or in the state alone.
///
/// # Errors
/// One sentence, when there is no mirror yet or the state cannot be used.
pub async fn run(config: &Config, on: bool, out: &mut dyn Write) -> Result<Exit> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else {
        bail!("there is no mirror yet, so there is nothing to pause: run espejo sync or espejo run first");
    };
    let before = state.paused_since()?;
    drop(state);
    match (on, before) {
        (true, Some(since)) => {
            writeln!(out, "already paused since {}; continue with espejo resume", when::local(since))?;
            return Ok(Exit::Done);
        }
        (false, None) => {
            writeln!(out, "espejo was not paused")?;
            return Ok(Exit::Done);
        }
        _ => {}
    }
    let running = run::is_running(&config.state_dir);
    if running {
        control::ask(&config.state_dir, if on { &Ask::Pause } else { &Ask::Resume }).await?;
    } else {
        let mut held = session::hold(config)?;
        held.store.set_paused(on.then(daemon::wall_now));
        held.store.commit()?;
    }
    let words = match (on, running) {
        (true, _) => "paused: no requests are sent; edits are sent after espejo resume",
        (false, true) => "resumed: pending edits are sent now",
        (false, false) => "resumed: the next espejo run or espejo sync sends pending edits",
    };
    writeln!(out, "{words}")?;
    Ok(Exit::Done)
}

/// Refuses what would ask the service in a pause.
///
/// # Errors
/// One sentence, in a pause.
pub fn refuse(config: &Config) -> Result<()> {
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
