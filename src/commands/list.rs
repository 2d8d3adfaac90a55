//! `espejo list`: every mirrored item.

mod stored;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;

use super::{output, run, why};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon::{self, place_in};
use crate::model::Timestamp;
use crate::store::{CanvasRow, PageRow, ReadOnly, StoreError};

/// Lists what is mirrored at `path`, or everything.
///
/// # Errors
/// One sentence, when the path is not in the mirror or the state cannot be read.
pub fn run(config: &Config, path: Option<&Path>, as_json: bool, out: &mut dyn Write) -> Result<Exit> {
    let now = daemon::wall_now();
    // One write for all lines, not one for each.
    let out = &mut std::io::BufWriter::new(out);
    let (rows, stored, outlooks) = match ReadOnly::open(&config.state_dir)? {
        Some(mut state) => {
            // Without a daemon nothing is looked at next.
            let outlooks = match run::is_running(&config.state_dir) {
                true => why::outlooks(&state, config, now)?,
                false => BTreeMap::new(),
            };
            (all_rows(&mut state)?, stored::rows(&state.storage()?), outlooks)
        }
        None => (Vec::new(), Vec::new(), BTreeMap::new()),
    };
    let next_check =
        |row: &CanvasRow| row.id.as_ref().and_then(|id| outlooks.get(id)).and_then(|outlook| outlook.next);
    let mut stored = if config.storage.enabled { stored } else { Vec::new() };
    stored.iter_mut().for_each(|row| row.foretold(&outlooks));
    let (rows, stored): (Vec<CanvasRow>, Vec<stored::Row>) = match path {
        None => (rows, stored),
        Some(path) => {
            let Some(place) = place_in(&config.root, path) else {
                bail!("{} is not in the mirror {}", path.display(), config.root.display());
            };
            let folder = place.as_str().strip_suffix(".md").unwrap_or(place.as_str()).to_owned();
            let within = |row: &str| {
                row == place.as_str()
                    || row.strip_prefix(&folder).is_some_and(|rest| rest.starts_with('/') || rest == ".md")
            };
            let rows: Vec<_> = rows
                .into_iter()
                .filter(|row| folder.is_empty() || row.path.as_deref().is_some_and(within))
                .collect();
            let stored: Vec<_> =
                stored.into_iter().filter(|row| folder.is_empty() || row.is_within(&place)).collect();
            if rows.is_empty() && stored.is_empty() && !config.root.join(place.as_str()).exists() {
                bail!("nothing is mirrored at {place}; espejo list shows what is");
            }
            (rows, stored)
        }
    };
    if as_json {
        let mut all: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "kind": row.kind,
                    "id": row.id,
                    "workspace_id": row.workspace,
                    "path": row.path,
                    "title": row.title,
                    "state": row.state,
                    "checked_at": row.checked_at.map(rfc3339),
                    "next_check_at": next_check(row).map(rfc3339),
                })
            })
            .collect();
        all.extend(stored.iter().map(stored::Row::to_json));
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    for row in &rows {
        let style = match row.state {
            "synced" => output::GOOD,
            "problem" => output::BAD,
            _ => output::ODD,
        };
        let checked = row.checked_at.map_or_else(|| "never".to_owned(), |at| output::ago(now.since_ms(at)));
        let next = next_check(row).map_or_else(String::new, |at| output::until(at.since_ms(now)));
        writeln!(
            out,
            "{}  {}  {}  {}",
            output::paint(style, &format!("{:<10}", row.state)),
            output::paint(output::DIM, &format!("{checked:>14}")),
            output::paint(output::DIM, &format!("{next:>9}")),
            row.path.as_deref().unwrap_or(&row.title)
        )?;
    }
    for row in &stored {
        row.write(now, out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Pages, whiteboards, presentations and slides, by path.
pub(super) fn all_rows(state: &mut ReadOnly) -> Result<Vec<CanvasRow>, StoreError> {
    let page = |row: PageRow| CanvasRow {
        kind: "page",
        id: row.id.map(|id| id.to_string()),
        workspace: row.workspace.map(|id| id.to_string()),
        path: row.path,
        title: row.title,
        state: row.state,
        checked_at: row.checked_at,
    };
    let mut rows: Vec<CanvasRow> = state.pages()?.into_iter().map(page).collect();
    rows.extend(state.canvases()?);
    rows.sort_by(|a, b| (&a.path, &a.title).cmp(&(&b.path, &b.title)));
    Ok(rows)
}

/// A moment as text that sorts and that every program reads.
#[must_use]
pub fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}
