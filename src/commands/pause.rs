//! `espejo pause` and `espejo resume`: the service is left alone until told otherwise, also across restarts; the folder
//! is followed all the while.

use anyhow::{Result, bail};

use crate::cli::{Call, Exit, session, when};
use crate::daemon;
use crate::daemon::control::{self, Ask};
use crate::store::ReadOnly;

/// Stop all requests to the service until `espejo resume`
///
/// espejo still follows the folder. Edits made during the pause are merged and sent after `espejo resume`. A pause
/// survives restarts. `espejo status` shows when it began and which edits are pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::Args)]
#[command(after_help = "Example:  espejo pause")]
pub struct Pause {}

/// Continue after `espejo pause`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::Args)]
#[command(after_help = "Example:  espejo resume")]
pub struct Resume {}

/// Begins (`on`) or ends a pause, in the running daemon or in the state alone.
///
/// # Errors
/// One sentence, when there is no mirror yet or the state cannot be used.
pub async fn run(on: bool, call: &mut Call<'_>) -> Result<Exit> {
    let config = &call.config()?;
    let out = &mut *call.out;
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
    let running = session::is_running(&config.state_dir);
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
