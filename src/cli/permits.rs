//! Requests of a command that is no session of its own (`doctor`, `init`, `sync --dry-run`): they count in the limiter that
//! the daemon uses, so that together they never make more than the config allows.

use std::time::Duration;

use anyhow::Result;

use crate::cli::{output, session};
use crate::config::Config;
use crate::daemon;
use crate::daemon::control::{self, Loan};
use crate::engine::approve_new_files;
use crate::engine::polling::Pace;
use crate::model::{Lent, Timestamp};

/// Asks for `slots` requests: the running daemon, or the log that the next one takes up.
///
/// # Errors
/// One sentence, when neither can be had.
pub async fn borrow(config: &Config, slots: u32) -> Result<Loan> {
    if session::is_running(&config.state_dir) {
        return control::borrow(&config.state_dir, slots).await;
    }
    if !has_state(config) {
        // Nothing has been asked yet that could be counted, and a command that only reads creates no state.
        return Ok(Loan::Given(None));
    }
    borrow_here(config, slots)
}

/// Gives requests back of which `made` were made: only these count from then on. What cannot be given back counts as made.
pub async fn give_back(config: &Config, loan: Option<Lent>, made: u32) {
    let Some(lent) = loan else { return };
    let given = if session::is_running(&config.state_dir) {
        control::give_back(&config.state_dir, &lent, made).await
    } else {
        give_back_here(config, &lent, made)
    };
    if let Err(error) = given {
        tracing::debug!(%error, "requests are not given back");
    }
}

fn give_back_here(config: &Config, lent: &Lent, made: u32) -> Result<()> {
    let (mut engine, clock, _lock) = session::hold(config)?.engine(config)?;
    Ok(engine.give_back(lent, made, clock())?)
}

/// Whether there is a state that requests are counted in.
#[must_use]
pub fn has_state(config: &Config) -> bool {
    config.state_dir.join("espejo.sqlite3").exists()
}

/// Writes down requests that were made before there was a state, so that the first run counts them, and the user's yes to the
/// pages that the files in the folder will be.
///
/// # Errors
/// One sentence, when the state cannot be made.
pub fn note(config: &Config, slots: u32) -> Result<()> {
    let (mut engine, clock, _lock) = session::hold(config)?.engine(config)?;
    approve_new_files(&mut engine)?;
    Ok(engine.note_made(slots, clock())?)
}

fn borrow_here(config: &Config, slots: u32) -> Result<Loan> {
    let (mut engine, clock, _lock) = session::hold(config)?.engine(config)?;
    let now = clock();
    Ok(match engine.lend(slots, now)? {
        Ok(lent) => Loan::Given(Some(lent)),
        Err(at) => Loan::Later(at.since_ms(now)),
    })
}

/// The same, waiting for them for at most `patience`; how long it would still take when that is not enough.
///
/// # Errors
/// As [`borrow`].
pub async fn wait_for(config: &Config, slots: u32, patience: Duration) -> Result<Loan> {
    let clock = daemon::real_clock();
    let end = clock().plus_ms(i64::try_from(patience.as_millis()).unwrap_or(i64::MAX));
    loop {
        let loan = borrow(config, slots).await?;
        let Loan::Later(wait) = loan else { return Ok(loan) };
        let now: Timestamp = clock();
        if now.plus_ms(wait) > end {
            return Ok(loan);
        }
        tokio::time::sleep(Duration::from_millis(wait.clamp(50, 60_000).unsigned_abs())).await;
    }
}

/// The most requests that can ever be borrowed at once.
#[must_use]
pub fn most(config: &Config) -> u32 {
    Pace::new(config.requests_per_minute, Vec::new(), daemon::wall_now()).most_asked()
}

/// So many requests are borrowed at once: enough that asking for them costs little, few enough that a person's edit finds
/// room beside them.
const AT_ONCE: u32 = 5;
/// Borrowed requests are given back unused after half a minute; a few seconds are for the way.
const GOOD_FOR_MS: i64 = 25_000;
/// What the service counts in.
const WINDOW_MS: i64 = 60_000;
/// A command that gets no request for so long always has others before it.
const PATIENCE: Duration = Duration::from_secs(600);

/// Requests that were borrowed and not made yet, for a command that makes many.
#[derive(Debug, Default)]
pub struct Purse {
    /// The last loan, and how many it was.
    loan: Option<Lent>,
    borrowed: u32,
    left: u32,
    until: Timestamp,
    made: Vec<Timestamp>,
}

impl Purse {
    /// One request may be made; waits until it may.
    ///
    /// # Errors
    /// One sentence, when none can be had.
    pub async fn take(&mut self, config: &Config) -> Result<()> {
        let clock = daemon::real_clock();
        if self.left == 0 || clock() >= self.until {
            self.close(config).await;
            let slots = AT_ONCE.min(config.requests_per_minute / 4).max(1);
            self.loan = match wait_for(config, slots, PATIENCE).await? {
                Loan::Given(lent) => lent,
                Loan::Later(wait) => anyhow::bail!(
                    "this minute's requests are in use for at least {} more; try again later",
                    output::duration(wait)
                ),
            };
            (self.borrowed, self.left) = (slots, slots);
            self.until = clock().plus_ms(GOOD_FOR_MS);
        }
        self.left -= 1;
        self.made.push(clock());
        Ok(())
    }

    /// Gives back what is left.
    pub async fn close(&mut self, config: &Config) {
        let made = self.borrowed - self.left;
        (self.borrowed, self.left) = (0, 0);
        give_back(config, self.loan.take(), made).await;
    }

    /// How many requests were made in the last minute, as far as their answers may count in it.
    #[must_use]
    pub fn made_lately(&self) -> u32 {
        let since = daemon::real_clock()().plus_ms(-WINDOW_MS - GOOD_FOR_MS);
        u32::try_from(self.made.iter().filter(|at| **at > since).count()).unwrap_or(u32::MAX)
    }
}
