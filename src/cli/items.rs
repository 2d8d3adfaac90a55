//! What is mirrored, and when each item is checked next: the schedule of the daemon, run ahead on what the state says.

use std::collections::BTreeMap;

use crate::cli::output;
use crate::config::Config;
use crate::engine::polling;
use crate::model::{Attention, Code, PollState, Timestamp};
use crate::store::{ItemRow, PolledRow, ReadOnly, StoreError};

/// Pages, whiteboards, presentations and slides, by path.
///
/// # Errors
/// [`StoreError`] when the state cannot be read.
pub fn all_rows(state: &mut ReadOnly) -> Result<Vec<ItemRow>, StoreError> {
    let mut rows = state.pages()?;
    rows.extend(state.canvases()?);
    rows.sort_by(|a, b| (&a.path, &a.title).cmp(&(&b.path, &b.title)));
    Ok(rows)
}

/// What concerns the user: the messages, and the conflicts as messages about their files.
///
/// # Errors
/// [`StoreError`] when the state cannot be read.
pub fn concerns(state: &ReadOnly) -> Result<Vec<Attention>, StoreError> {
    let mut all = state.attention()?;
    all.extend(state.conflicts()?.into_iter().map(|conflict| {
        Attention::new(Code::Conflict, conflict.page_path.as_str(), conflict.cause(), conflict.mend())
    }));
    Ok(all)
}

/// A page counts as being worked at, or beside such a one, this long after the last sign of life.
const LATELY_MS: i64 = 2 * 3_600_000;

/// What the schedule has in mind for one target.
#[derive(Debug, Clone, Copy)]
pub struct Outlook {
    poll: PollState,
    /// When it is looked at next, if a daemon runs and nothing changes before.
    pub next: Option<Timestamp>,
    /// How many targets have never been read and come before it.
    unread_before: usize,
}

/// The outlook of everything that is polled, by its id.
///
/// # Errors
/// [`StoreError`] when the state cannot be read.
pub fn outlooks(
    state: &ReadOnly,
    config: &Config,
    now: Timestamp,
) -> Result<BTreeMap<String, Outlook>, StoreError> {
    let (read, unread): (Vec<PolledRow>, Vec<PolledRow>) =
        state.polled()?.into_iter().partition(|row| row.is_read);
    let settings = config.settings();
    let pace = polling::Pace::new(settings.requests_per_minute, Vec::new(), now);
    let every_ms = pace.background_every_ms();
    let polls: Vec<PollState> = read.iter().map(|row| row.poll).collect();
    // What has never been read goes first, all of it.
    let first = now.plus_ms(every_ms * i64::try_from(unread.len()).unwrap_or(i64::MAX / every_ms));
    let turns = polling::forecast(&polls, every_ms, settings.eager, first);
    let left = unread.len();
    let known = read
        .into_iter()
        .zip(turns)
        .map(|(row, next)| (row.id, Outlook { poll: row.poll, next, unread_before: left }));
    let new = unread.into_iter().enumerate().map(|(before, row)| {
        let next = Some(now.plus_ms(every_ms * i64::try_from(before).unwrap_or(0)));
        (row.id, Outlook { poll: row.poll, next, unread_before: before })
    });
    Ok(known.chain(new).collect())
}

impl Outlook {
    /// One word for programs, and why for a person.
    #[must_use]
    pub fn reason(&self, now: Timestamp) -> (&'static str, String) {
        let poll = &self.poll;
        let lived = output::ago(now.since_ms(poll.life));
        if poll.last.0 == 0 {
            let others = match self.unread_before {
                0 => String::new(),
                before => format!("; {} before it", output::count(before as u64, "other is", "others are")),
            };
            return ("unread", format!("it has never been read{others}"));
        }
        if poll.gap_ms > 0 {
            let every = format!("every {} s", poll.gap_ms / 1_000);
            return (
                "hot",
                format!("it changed {lived}; checked {every}, less often while it does not change"),
            );
        }
        if now.since_ms(poll.life) < LATELY_MS {
            return ("stirred", format!("it or a page beside it changed {lived}"));
        }
        if poll.changes_at.0 == 0 {
            return ("quiet", "espejo has seen no change of it yet".to_owned());
        }
        (
            "quiet",
            format!("its last change was {}", output::ago(now.since_ms(poll.changes_at.max(poll.life)))),
        )
    }
}
