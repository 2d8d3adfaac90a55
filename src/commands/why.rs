//! `espejo why`: when a file is looked at next, and why then. It runs the schedule of the daemon ahead on what the state
//! says, and keeps nothing.

mod unmirrored;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;

use super::list::{all_rows, rfc3339};
use super::{output, run};
use crate::cli::Exit;
use crate::config::Config;
use crate::core::report::view::{self, StoredView};
use crate::daemon::{self, place_in};
use crate::engine::polling;
use crate::model::{MirrorPath, PollState, Timestamp};
use crate::store::{ItemRow, PolledRow, ReadOnly, StoreError, TOO_LARGE};
use unmirrored::Kind;

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
    fn reason(&self, now: Timestamp) -> (&'static str, String) {
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

/// Says when `path` is looked at next, and why.
///
/// # Errors
/// One sentence, when the path is not a mirrored file or the state cannot be read.
pub fn run(config: &Config, path: &Path, as_json: bool, out: &mut dyn Write) -> Result<Exit> {
    let now = daemon::wall_now();
    let Some(place) = place_in(&config.root, path) else {
        bail!("{} is not in the mirror {}", path.display(), config.root.display());
    };
    if place.is_root() {
        bail!("{} is the mirror itself; name a file in it, as espejo list shows them", config.root.display());
    }
    let mut state = ReadOnly::open(&config.state_dir)?;
    let row = match &mut state {
        Some(state) => {
            let here = all_rows(state)?.into_iter().filter(|row| row.path.as_deref() == Some(place.as_str()));
            // What is there, rather than what was.
            match here.min_by_key(|row| row.state == "deleted") {
                None => stored_row(state, &place)?,
                found => found,
            }
        }
        None => None,
    };
    let kept = match (ignored(config, &place), &mut state) {
        (Some(why), _) => Some(("ignored", why)),
        (None, Some(state)) => too_large(config, state, &place)?.map(|why| ("too-large", why)),
        (None, None) => None,
    };
    if let Some((reason, why)) = kept {
        if as_json {
            let (kind, id) = (row.as_ref().map(|row| row.kind), row.as_ref().and_then(|row| row.id.as_ref()));
            let checked = row.as_ref().and_then(|row| row.checked_at).map(rfc3339);
            let value = json!({
                "path": place.as_str(), "kind": kind, "id": id, "checked_at": checked, "next_check_at": null,
                "reason": reason, "why": why,
            });
            output::json(out, &value)?;
        } else {
            writeln!(out, "{}: {why}", crate::logging::escape(place.as_str()))?;
        }
        return Ok(Exit::Done);
    }
    let (Some(row), Some(state)) = (row, &mut state) else {
        bail!("{}", not_mirrored(config, &place, state.as_ref())?);
    };
    let outlook =
        row.id.as_ref().and_then(|id| outlooks(state, config, now).map(|mut all| all.remove(id)).transpose());
    let outlook = outlook.transpose()?;
    let running = run::is_running(&config.state_dir);
    let next = outlook.and_then(|outlook| outlook.next).filter(|_| running);
    let (reason, why) = words(&row, outlook.as_ref(), running, now);
    let why = why + down_only(state, &place)?;
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
        output::json(out, &value)?;
        return Ok(Exit::Done);
    }
    let checked = row.checked_at.map_or_else(
        || "never checked".to_owned(),
        |at| format!("checked {}", output::ago(now.since_ms(at))),
    );
    let next = next.map_or_else(String::new, |at| format!(", next {}", output::until(at.since_ms(now))));
    let noticed = super::status::noticed(state)?.filter(|_| running);
    let noticed =
        noticed.map_or_else(String::new, |noticed| format!("; {}", super::status::noticed_words(noticed)));
    writeln!(out, "{}: {checked}{next}: {why}{noticed}", crate::logging::escape(place.as_str()))?;
    Ok(Exit::Done)
}

/// Which pattern keeps what is at `place` out of the mirror, if one does.
fn ignored(config: &Config, place: &MirrorPath) -> Option<String> {
    let is_folder = config.root.join(place.as_str()).is_dir();
    let pattern = super::ignored::rules(config).pattern_for(place, is_folder)?;
    Some(format!("it is ignored by {}: it is not sent, fetched or deleted", pattern.sentence()))
}

/// Why a stored file that belongs at `place` is not fetched, if it is not for its size.
fn too_large(
    config: &Config,
    state: &mut ReadOnly,
    place: &MirrorPath,
) -> Result<Option<String>, StoreError> {
    let apart = state.apart()?;
    let is_it = |item: &&StoredView| {
        item.id.as_ref().is_some_and(|id| apart.get(id) == Some(&TOO_LARGE))
            && item.path.as_ref() == Some(place)
    };
    Ok(view::stored(state)?.iter().find(is_it).map(|item| {
        format!(
            "it is not fetched: it has {}, more than max_download_mb = {}; raise max_download_mb in [storage] to fetch it",
            output::bytes(item.size.unwrap_or(0)),
            config.storage.max_download_mb
        )
    }))
}

/// What the config keeps here of a workspace that is mirrored down only; an empty text for anything else.
fn down_only(state: &ReadOnly, place: &MirrorPath) -> Result<&'static str, StoreError> {
    let is_in = state.down_only()?.iter().any(|folder| place.components().next() == Some(folder));
    Ok(if is_in { "; changes made here stay here, because the config has mode = \"down\"" } else { "" })
}

/// One sentence: why nothing of what is at `place` is at the service, and what changes that.
fn not_mirrored(config: &Config, place: &MirrorPath, state: Option<&ReadOnly>) -> Result<String> {
    let shown = crate::logging::escape(place.as_str());
    let kind =
        match std::fs::symlink_metadata(config.root.join(place.as_str())).map(|found| found.file_type()) {
            Err(_) => return Ok(format!("{shown} is not mirrored; espejo list shows what is")),
            Ok(kind) if kind.is_symlink() => Kind::Link,
            Ok(kind) if kind.is_dir() => Kind::Folder,
            Ok(kind) if kind.is_file() => Kind::File,
            Ok(_) => Kind::Other,
        };
    if let Some(state) = state {
        if state.is_drawn(place)? {
            return Ok(format!("{shown} is a picture that espejo draws, and is never sent"));
        }
        if let Some(need) = state.attention()?.into_iter().find(|need| need.path == place.as_str()) {
            return Ok(format!("{shown} is not mirrored: {}; {}", need.reason, need.action));
        }
    }
    if let Some(state) = state
        && !down_only(state, place)?.is_empty()
    {
        return Ok(format!("{shown} stays here: the config has mode = \"down\" for its workspace"));
    }
    let spaces = state.map(ReadOnly::workspace_folders).transpose()?.unwrap_or_default();
    let spaces: Vec<String> = spaces.into_iter().map(|(_, folder)| folder).collect();
    let why = cause(place, kind, config, &spaces);
    Ok(format!("{shown} is not mirrored: {why}"))
}

fn cause(place: &MirrorPath, kind: unmirrored::Kind, config: &Config, spaces: &[String]) -> String {
    let settings = config.settings();
    let is_chosen = !settings.workspaces.is_empty();
    let around = unmirrored::Around { storage: settings.storage.mode, spaces, is_chosen };
    unmirrored::cause(place, kind, &around)
}

/// Why a file is on this machine only, by its name and place.
#[must_use]
pub fn cause_of_file(place: &MirrorPath, config: &Config, spaces: &[String]) -> String {
    cause(place, unmirrored::Kind::File, config, spaces)
}

/// What stands at `place` in the storage; of a file, what is looked at is the list of its folder.
fn stored_row(state: &mut ReadOnly, place: &MirrorPath) -> Result<Option<ItemRow>, StoreError> {
    let stored = view::stored(state)?;
    let is_it = |item: &&StoredView| item.id.is_some() && item.was_here && item.path.as_ref() == Some(place);
    let Some(item) = stored.iter().find(is_it) else { return Ok(None) };
    let listed =
        if item.is_folder { item.id.clone() } else { item.folder.clone().or_else(|| item.id.clone()) };
    Ok(Some(ItemRow {
        kind: if item.is_folder { "folder" } else { "file" },
        id: listed,
        workspace: None,
        path: Some(place.to_string()),
        title: place.name().to_owned(),
        state: "synced",
        checked_at: item.checked_at,
    }))
}

fn words(row: &ItemRow, outlook: Option<&Outlook>, running: bool, now: Timestamp) -> (&'static str, String) {
    if row.id.is_none() {
        return ("new", "it is a new file that has not been sent yet".to_owned());
    }
    if row.state == "deleted" {
        return (
            "deleted",
            "its file is missing here, and its page still exists; espejo status shows what is pending"
                .to_owned(),
        );
    }
    if !running {
        return (
            "stopped",
            "espejo is not running; start it with espejo run, or check once with espejo sync".to_owned(),
        );
    }
    match outlook {
        Some(outlook) => outlook.reason(now),
        None if row.kind == "presentation" => {
            ("listed", "its list of slides is requested every few minutes".to_owned())
        }
        None if row.kind == "file" => ("listed", "checked whenever its folder is listed".to_owned()),
        None => ("absent", "it is not in the service's list".to_owned()),
    }
}
