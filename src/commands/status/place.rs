//! `espejo status PATH`: the state of a file or a folder, when it is checked next, and why then; or why it is not synced.

mod kept_here;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::{noticed, noticed_words};
use crate::cli::items::Outlook;
use crate::cli::past::Past;
use crate::cli::{Exit, here, items, output, session, when};
use crate::config::Config;
use crate::core::report::view;
use crate::core::report::view::StoredView;
use crate::daemon;
use crate::mirror;
use crate::model::{Attention, ContentHash, Level, MirrorPath, Timestamp, to_act_on};
use crate::store::{ItemRow, ReadOnly, StoreError};
use kept_here::{down_only, ignored, not_mirrored, too_large};

/// What is known of one place.
struct About {
    place: MirrorPath,
    kind: Option<&'static str>,
    id: Option<String>,
    state: &'static str,
    checked_at: Option<Timestamp>,
    next_check_at: Option<Timestamp>,
    /// One word for programs.
    reason: &'static str,
    why: String,
    /// What concerns the user at it and beneath it.
    attention: Vec<Attention>,
}

impl About {
    /// Of something that the service does not have, or that is not synced.
    fn unsynced(place: MirrorPath, reason: &'static str, why: String) -> Self {
        let attention = Vec::new();
        let state = "not synced";
        let (kind, id, checked_at, next_check_at) = (None, None, None, None);
        Self { place, kind, id, state, checked_at, next_check_at, reason, why, attention }
    }
}

/// Says how each place stands. Exit code 3 when something of it needs the user.
///
/// # Errors
/// One sentence, when a path is not in the mirror, nothing is there, or the state cannot be read.
pub(super) fn run(config: &Config, paths: &[PathBuf], as_json: bool, out: &mut dyn Write) -> Result<Exit> {
    let now = daemon::wall_now();
    let mut state = ReadOnly::open(&config.state_dir)?;
    let (mut all, mut failed) = (Vec::new(), Vec::new());
    for path in paths {
        let place = session::place(config, path);
        match place.and_then(|place| about(config, state.as_mut(), place, now)) {
            Ok(mut about) => {
                if let Some(state) = &state {
                    about.attention = concerns(state, &about.place)?;
                }
                all.push(about);
            }
            Err(error) => failed.push(format!("{error:#}")),
        }
    }
    show(config, state.as_ref(), &all, as_json, out)?;
    if !failed.is_empty() {
        bail!("{}", failed.join("; "));
    }
    let needs_user = all.iter().any(|about| to_act_on(&about.attention) > 0);
    Ok(if needs_user { Exit::NeedsUser } else { Exit::Done })
}

fn show(
    config: &Config,
    state: Option<&ReadOnly>,
    all: &[About],
    as_json: bool,
    out: &mut dyn Write,
) -> Result<()> {
    let now = daemon::wall_now();
    if as_json {
        return output::json(out, &all.iter().map(as_value).collect::<Vec<_>>());
    }
    let running = session::is_running(&config.state_dir);
    let noticed = state.map(noticed).transpose()?.flatten().filter(|_| running);
    for about in all {
        let mut line =
            format!("{}: {}", crate::logging::escape(&here::shown(about.place.as_str())), about.state);
        if let Some(at) = about.checked_at {
            line.push_str(&format!("; checked {}", output::ago(now.since_ms(at))));
        }
        if let Some(at) = about.next_check_at {
            line.push_str(&format!(", next {}", output::until(at.since_ms(now))));
        }
        line.push_str(&format!(": {}", about.why));
        if let (Some(noticed), Some(_)) = (noticed, about.next_check_at) {
            line.push_str(&format!("; {}", noticed_words(noticed)));
        }
        output::say(out, &line)?;
        for need in &about.attention {
            output::need(out, need.level(), &need.path, &need.reason, &need.action)?;
        }
    }
    Ok(())
}

fn about(config: &Config, state: Option<&mut ReadOnly>, place: MirrorPath, now: Timestamp) -> Result<About> {
    let ignored = ignored(config, &place);
    let Some(state) = state else {
        return match ignored {
            Some(why) => Ok(About::unsynced(place, "ignored", why)),
            None => not_mirrored(config, place, None),
        };
    };
    let rows = items::all_rows(state)?;
    let here = rows.iter().filter(|row| row.path.as_deref() == Some(place.as_str()));
    // What is there, rather than what was.
    let row = match here.min_by_key(|row| row.state == "deleted") {
        None => stored_row(state, &place)?,
        found => found.cloned(),
    };
    let kept = match ignored {
        Some(why) => Some(("ignored", why)),
        None => too_large(config, state, &place)?.map(|why| ("too-large", why)),
    };
    if let Some((reason, why)) = kept {
        let mut about = About::unsynced(place, reason, why);
        if let Some(row) = row {
            (about.kind, about.id, about.checked_at) = (Some(row.kind), row.id, row.checked_at);
        }
        return Ok(about);
    }
    let Some(row) = row else {
        return match folder(&rows, &place) {
            Some(about) => Ok(about),
            None => not_mirrored(config, place, Some(state)),
        };
    };
    let mut outlook = None;
    if let Some(id) = &row.id {
        outlook = items::outlooks(state, config, now)?.remove(id);
    }
    let running = session::is_running(&config.state_dir);
    let (reason, why) = words(&row, outlook.as_ref(), running, now);
    let pending = state.waiting(usize::MAX)?.into_iter().find(|item| item.path == place.as_str());
    let mut pending = pending.filter(|_| row.state != "deleted").map(|item| item.what.to_owned());
    let mut shown = row.state;
    if row.state == "synced" && !running {
        shown = since_it_stopped(config, &row, &place)?;
        pending = pending.or((shown == "changed").then(|| "an edit to send".to_owned()));
        pending = pending.or((shown == "deleted").then(|| "its deletion".to_owned()));
    }
    let pending = pending.map_or_else(String::new, |what| format!("{what} is pending; "));
    Ok(About {
        kind: Some(row.kind),
        id: row.id,
        state: shown,
        checked_at: row.checked_at,
        next_check_at: outlook.and_then(|outlook| outlook.next).filter(|_| running),
        reason,
        why: pending + &why + down_only(state, &place)?,
        attention: Vec::new(),
        place,
    })
}

/// The state of an item that was synced when espejo stopped, by its file as it is now.
fn since_it_stopped(config: &Config, row: &ItemRow, place: &MirrorPath) -> Result<&'static str> {
    if config.root.join(place.as_str()).symlink_metadata().is_err() {
        return Ok("deleted");
    }
    if row.kind != "page" {
        return Ok(row.state);
    }
    let past = Past::open_differing(config)?;
    let differs = past.page_at(place).and_then(|node| node.base.as_ref()).is_some_and(|base| {
        mirror::peek(&config.root, place).is_ok_and(|bytes| base.text != Some(ContentHash::of(&bytes)))
    });
    Ok(if differs { "changed" } else { row.state })
}

/// How the items beneath a folder stand; `None` if there are none.
fn folder(rows: &[ItemRow], place: &MirrorPath) -> Option<About> {
    let is_in = |row: &&ItemRow| {
        row.path
            .as_ref()
            .and_then(|path| MirrorPath::new(path).ok())
            .is_some_and(|path| path.is_within(place))
    };
    let all: Vec<&ItemRow> = rows.iter().filter(is_in).collect();
    let mut counts: Vec<(&'static str, u64)> = Vec::new();
    for row in &all {
        match counts.iter_mut().find(|(state, _)| *state == row.state) {
            Some((_, count)) => *count += 1,
            None => counts.push((row.state, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let state = match counts.as_slice() {
        [] => return None,
        [(state, _)] => *state,
        _ => "mixed",
    };
    let parts: Vec<String> =
        counts.iter().map(|(state, count)| format!("{} {state}", output::grouped(*count))).collect();
    Some(About {
        place: place.clone(),
        kind: Some("folder"),
        id: None,
        state,
        checked_at: all.iter().filter_map(|row| row.checked_at).min(),
        next_check_at: None,
        reason: "folder",
        why: format!("{}: {}", output::count(all.len() as u64, "item", "items"), parts.join(", ")),
        attention: Vec::new(),
    })
}

/// What concerns the user at a place and beneath it, conflicts too.
fn concerns(state: &ReadOnly, place: &MirrorPath) -> Result<Vec<Attention>, StoreError> {
    let mut needs = items::concerns(state)?;
    // What holds the whole mirror holds this, too.
    needs.retain(|need| match need.path.as_str() {
        "" => need.level() == Level::Act,
        path => MirrorPath::new(path).is_ok_and(|path| path.is_within(place)),
    });
    Ok(needs)
}

fn as_value(about: &About) -> Value {
    json!({
        "path": about.place.as_str(),
        "kind": about.kind,
        "id": about.id,
        "state": about.state,
        "checked_at": about.checked_at.map(when::rfc3339),
        "next_check_at": about.next_check_at.map(when::rfc3339),
        "reason": about.reason,
        "why": about.why,
        "attention": about.attention.iter().map(output::attention_json).collect::<Vec<_>>(),
    })
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
