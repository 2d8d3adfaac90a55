//! A change to a file that a person asked for: made by the running daemon, or here when none runs. Not what to change.

use anyhow::{Result, bail};

use super::control::{self, Ask};
use super::{run, session};
use crate::config::Config;
use crate::model::{Event, Outcome, Put, Request};

/// Makes one change and waits until it is made. Whether a daemon runs, which then goes on with it by itself.
///
/// # Errors
/// One sentence, when it was not made.
pub async fn carry_out(config: &Config, put: Put) -> Result<bool> {
    if run::is_running(&config.state_dir) {
        control::ask(&config.state_dir, &ask_for(put)).await?;
        return Ok(true);
    }
    let mut opened = session::open_disk(config)?;
    let now = (opened.clock)();
    opened.engine.handle(Event::Asked(Request::Put(Box::new(put))), now)?;
    loop {
        let mut idle = true;
        while let Some((id, effect)) = opened.engine.next_effect((opened.clock)())? {
            idle = false;
            let outcome = Outcome::Disk(opened.mirror.perform(&effect));
            opened.engine.handle(Event::Done { id, outcome }, (opened.clock)())?;
        }
        match opened.engine.take_told().pop() {
            Some(Ok(())) => return Ok(false),
            Some(Err(why)) => bail!("{why}"),
            None if idle => {
                // A file that is just being written, say.
                let now = (opened.clock)();
                let wait = opened.engine.next_wakeup(now).map_or(100, |at| at.since_ms(now)).clamp(1, 1_000);
                tokio::time::sleep(std::time::Duration::from_millis(wait.unsigned_abs())).await;
            }
            None => {}
        }
    }
}

fn ask_for(put: Put) -> Ask {
    match put {
        Put::Text { path, expect, text, body } => {
            Ask::Put { path: path.to_string(), expect: expect.map(|hash| hash.to_hex()), text, body }
        }
        Put::Away { path, expect } => Ask::Away { path: path.to_string(), expect: expect.to_hex() },
        Put::Name { from, to } => Ask::Name { from: from.to_string(), to: to.to_string() },
    }
}
