//! A change to a file that a person asked for: made by the running daemon, or here when none runs. Not what to change.

use anyhow::{Result, bail};

use crate::cli::session::{self, DiskSession};
use crate::config::Config;
use crate::daemon::control::{self, Ask};
use crate::model::{Event, Outcome, Put, Request};

/// Makes one change and waits until it is made. Whether a daemon runs, which then goes on with it by itself.
///
/// # Errors
/// One sentence, when it was not made.
pub async fn carry_out(config: &Config, put: Put) -> Result<bool> {
    Changes::new(config).make(put).await
}

/// Changes that are made one after the other; without a daemon the state is opened once for all of them.
pub struct Changes<'a> {
    config: &'a Config,
    here: Option<DiskSession>,
}

impl<'a> Changes<'a> {
    /// None is made yet.
    #[must_use]
    pub fn new(config: &'a Config) -> Self {
        Self { config, here: None }
    }

    /// Makes one, as [`carry_out`] does.
    ///
    /// # Errors
    /// One sentence, when it was not made.
    pub async fn make(&mut self, put: Put) -> Result<bool> {
        let here = match &mut self.here {
            Some(here) => here,
            None if session::is_running(&self.config.state_dir) => {
                control::ask(&self.config.state_dir, &ask_for(put)).await?;
                return Ok(true);
            }
            none => none.insert(session::open_disk(self.config)?),
        };
        let now = (here.clock)();
        here.engine.handle(Event::Asked(Request::Put(Box::new(put))), now)?;
        loop {
            let mut idle = true;
            while let Some((id, effect)) = here.engine.next_effect((here.clock)())? {
                idle = false;
                let outcome = Outcome::Disk(here.mirror.perform(&effect));
                here.engine.handle(Event::Done { id, outcome }, (here.clock)())?;
            }
            match here.engine.take_told().pop() {
                Some(Ok(())) => return Ok(false),
                Some(Err(why)) => bail!("{why}"),
                None if idle => {
                    // A file that is just being written, say.
                    let now = (here.clock)();
                    let wait =
                        here.engine.next_wakeup(now).map_or(100, |at| at.since_ms(now)).clamp(1, 1_000);
                    tokio::time::sleep(std::time::Duration::from_millis(wait.unsigned_abs())).await;
                }
                None => {}
            }
        }
    }
}

fn ask_for(put: Put) -> Ask {
    match put {
        Put::Text { path, expect, text, body, why } => {
            Ask::Put { path: path.to_string(), expect: expect.map(|hash| hash.to_hex()), text, body, why }
        }
        Put::Away { path, expect } => Ask::Away { path: path.to_string(), expect: expect.to_hex() },
        Put::Name { from, to } => Ask::Name { from: from.to_string(), to: to.to_string() },
    }
}

/// What becomes of a change to a file. `running`: whether a daemon runs.
#[must_use]
pub fn then(running: bool) -> &'static str {
    if running {
        "the running espejo sends the change like any edit"
    } else {
        "the next espejo sync or espejo run sends the change like any edit"
    }
}
