//! `espejo why`: when a page is looked at next, and why then. It runs the schedule of the daemon ahead on what the state
//! says, and keeps nothing.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;

use super::list::{all_rows, rfc3339};
use super::{output, run};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon::{self, place_in};
use crate::engine::polling;
use crate::model::{Node, PollState, Presence, Timestamp};
use crate::store::{CanvasRow, ReadOnly, StoreError};

/// A page counts as being worked at, or beside such a one, this long after the last sign of life.
const LATELY_MS: i64 = 2 * 3_600_000;

/// What the schedule has in mind for one page.
#[derive(Debug, Clone, Copy)]
pub struct Outlook {
    poll: PollState,
    /// When it is looked at next, if a daemon runs and nothing changes before.
    pub next: Option<Timestamp>,
    /// How many pages have never been read and come before it.
    unread_before: usize,
}

/// The outlook of every page that is polled, by its id.
///
/// # Errors
/// [`StoreError`] when the state cannot be read.
pub fn outlooks(
    state: &mut ReadOnly,
    config: &Config,
    now: Timestamp,
) -> Result<BTreeMap<String, Outlook>, StoreError> {
    let loaded = state.load()?;
    let is_polled = |node: &&Node| {
        matches!(node.remote.presence, Presence::Listed | Presence::Hidden)
            && loaded.workspaces.get(&node.workspace).is_some_and(|space| space.present)
    };
    let settings = config.settings();
    let pace = polling::Pace::new(settings.requests_per_minute, Vec::new(), now);
    let every_ms = pace.background_every_ms();
    let (read, unread): (Vec<&Node>, Vec<&Node>) =
        loaded.pages.values().filter(is_polled).partition(|node| node.remote.body.is_some());
    let polls: Vec<PollState> = read.iter().map(|node| node.poll).collect();
    // What has never been read goes first, all of it.
    let first = now.plus_ms(every_ms * i64::try_from(unread.len()).unwrap_or(i64::MAX / every_ms));
    let turns = polling::forecast(&polls, every_ms, settings.eager, first);
    let known = read.iter().zip(turns).map(|(node, next)| {
        (node.id.to_string(), Outlook { poll: node.poll, next, unread_before: unread.len() })
    });
    let new = unread.iter().enumerate().map(|(before, node)| {
        let next = Some(now.plus_ms(every_ms * i64::try_from(before).unwrap_or(0)));
        (node.id.to_string(), Outlook { poll: node.poll, next, unread_before: before })
    });
    Ok(known.chain(new).collect())
}

impl Outlook {
    /// One word for programs, and why for a person.
    fn reason(&self, now: Timestamp) -> (&'static str, String) {
        let poll = &self.poll;
        let lived = output::ago(now.since_ms(poll.life));
        if poll.last.0 == 0 {
            let others = match self.unread_before {
                0 => String::new(),
                before => format!(
                    "; {} before it",
                    output::count(before as u64, "other page is", "other pages are")
                ),
            };
            return ("unread", format!("it has never been read{others}"));
        }
        if poll.gap_ms > 0 {
            let every = format!("every {} s", poll.gap_ms / 1_000);
            return (
                "hot",
                format!("it changed {lived}; looked at {every}, more rarely while nothing more comes"),
            );
        }
        if now.since_ms(poll.life) < LATELY_MS {
            return ("stirred", format!("it or a page beside it changed {lived}"));
        }
        if poll.changes_at.0 == 0 {
            return ("quiet", "no change has been seen at it yet".to_owned());
        }
        ("quiet", format!("it changed last {}", output::ago(now.since_ms(poll.changes_at.max(poll.life)))))
    }
}

/// Says when `path` is looked at next, and why.
///
/// # Errors
/// One sentence, when the path is not a mirrored file or the state cannot be read.
pub fn run(config: &Config, path: &Path, as_json: bool, out: &mut dyn Write) -> Result<Exit> {
    let now = daemon::wall_now();
    let Some(place) = place_in(&config.root, path) else {
        bail!("{} is not in the mirror {}", path.display(), config.root.display());
    };
    let mut state = ReadOnly::open(&config.state_dir)?;
    let row = match &mut state {
        Some(state) => all_rows(state)?.into_iter().find(|row| row.path.as_deref() == Some(place.as_str())),
        None => None,
    };
    let (Some(row), Some(state)) = (row, &mut state) else {
        bail!("{place} is no mirrored page, whiteboard or slide; espejo list shows what is");
    };
    let outlook =
        row.id.as_ref().and_then(|id| outlooks(state, config, now).map(|mut all| all.remove(id)).transpose());
    let outlook = outlook.transpose()?;
    let running = run::is_running(&config.state_dir);
    let next = outlook.and_then(|outlook| outlook.next).filter(|_| running);
    let (reason, why) = words(&row, outlook.as_ref(), running, now);
    if as_json {
        let value = json!({
            "path": place.as_str(),
            "kind": row.kind,
            "id": row.id,
            "checked_at": row.checked_at.map(rfc3339),
            "next_check_at": next.map(rfc3339),
            "reason": reason,
            "why": why,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        return Ok(Exit::Done);
    }
    let checked = row.checked_at.map_or_else(
        || "never checked".to_owned(),
        |at| format!("checked {}", output::ago(now.since_ms(at))),
    );
    let next = next.map_or_else(String::new, |at| format!(", next {}", output::until(at.since_ms(now))));
    writeln!(out, "{}: {checked}{next}: {why}", crate::logging::escape(place.as_str()))?;
    Ok(Exit::Done)
}

fn words(
    row: &CanvasRow,
    outlook: Option<&Outlook>,
    running: bool,
    now: Timestamp,
) -> (&'static str, String) {
    if row.id.is_none() {
        return ("new", "it is a new file that is not at the service yet".to_owned());
    }
    if !running {
        return ("stopped", "espejo is not running; espejo run or espejo sync looks at it".to_owned());
    }
    match outlook {
        Some(outlook) => outlook.reason(now),
        None if row.kind == "page" => ("absent", "its page is not in the service's list".to_owned()),
        None => (
            "in turn",
            "whiteboards and slides take turns with the pages, the ones being worked at first".to_owned(),
        ),
    }
}
