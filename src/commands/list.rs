//! `espejo list`: every mirrored item.

mod stored;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::path::Path;

use anyhow::{Result, bail};
use serde::Serialize;

use super::{output, run, why};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon::{self, place_in};
use crate::model::Timestamp;
use crate::store::{ItemRow, ReadOnly, StoreError};

/// The columns of the state, of when it was looked at, and of when it will be, each with what parts it from the next.
const CELLS: [usize; 3] = [12, 13, 11];
/// A path is not cut to less than so many columns, and what comes after it takes at most so many.
const SHORTEST: usize = 20;
const AFTER: usize = 10;

/// An item as `--json` tells it.
#[derive(Serialize)]
struct Item<'a> {
    kind: &'static str,
    id: Option<&'a str>,
    workspace_id: Option<&'a str>,
    path: Option<&'a str>,
    title: &'a str,
    state: &'static str,
    checked_at: Option<String>,
    next_check_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

/// Lists what is mirrored at `path`, or everything.
///
/// # Errors
/// One sentence, when the path is not in the mirror or the state cannot be read.
pub fn run(config: &Config, path: Option<&Path>, as_json: bool, out: &mut dyn Write) -> Result<Exit> {
    let now = daemon::wall_now();
    // One write for all lines, not one for each.
    let out = &mut std::io::BufWriter::new(out);
    let (rows, stored, outlooks) = match ReadOnly::open(&config.state_dir)? {
        Some(mut state) => std::thread::scope(|scope| {
            let rest = scope.spawn(|| beside_the_pages(config, now));
            let rows = all_rows(&mut state)?;
            let (stored, outlooks) = rest.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            Ok::<_, StoreError>((rows, stored, outlooks))
        })?,
        None => (Vec::new(), Vec::new(), BTreeMap::new()),
    };
    let next_check =
        |row: &ItemRow| row.id.as_ref().and_then(|id| outlooks.get(id)).and_then(|outlook| outlook.next);
    let (rows, stored): (Vec<ItemRow>, Vec<stored::Row>) = match path {
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
        let items = rows.iter().map(|row| Item {
            kind: row.kind,
            id: row.id.as_deref(),
            workspace_id: row.workspace.as_deref(),
            path: row.path.as_deref(),
            title: &row.title,
            state: row.state,
            checked_at: row.checked_at.map(rfc3339),
            next_check_at: next_check(row).map(rfc3339),
            size_bytes: None,
            why: None,
        });
        let all: Vec<Item<'_>> = items.chain(stored.iter().map(stored::Row::item)).collect();
        serde_json::to_writer_pretty(&mut *out, &all)?;
        writeln!(out)?;
        out.flush()?;
        return Ok(Exit::Done);
    }
    let columns = output::terminal_columns();
    for row in &rows {
        let style = match row.state {
            "synced" => output::GOOD,
            "problem" => output::BAD,
            _ => output::ODD,
        };
        let shown = row.path.as_deref().unwrap_or(&row.title);
        write_line(out, (style, row.state), (row.checked_at, next_check(row), now), (shown, ""), columns)?;
    }
    for row in &stored {
        row.write(now, columns, out)?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Stored files and folders, and when what is polled is looked at next.
fn beside_the_pages(
    config: &Config,
    now: Timestamp,
) -> Result<(Vec<stored::Row>, BTreeMap<String, why::Outlook>), StoreError> {
    let Some(mut state) = ReadOnly::open(&config.state_dir)? else { return Ok(Default::default()) };
    // Without a daemon nothing is looked at next.
    let outlooks = match run::is_running(&config.state_dir) {
        true => why::outlooks(&state, config, now)?,
        false => BTreeMap::new(),
    };
    let mut stored = if config.storage.enabled { stored::rows(&state.storage()?) } else { Vec::new() };
    stored.iter_mut().for_each(|row| row.foretold(&outlooks));
    Ok((stored, outlooks))
}

/// A line: the state, when it was looked at and will be, the path with what comes after it. In a terminal a path that
/// does not fit loses its beginning; a narrow one shows no times.
fn write_line(
    out: &mut dyn Write,
    (style, state): (anstyle::Style, &str),
    (checked, next, now): (Option<Timestamp>, Option<Timestamp>, Timestamp),
    (path, after): (&str, &str),
    columns: Option<usize>,
) -> io::Result<()> {
    let checked = checked.map_or_else(|| "never".to_owned(), |at| output::ago(now.since_ms(at)));
    let next = next.map_or_else(String::new, |at| output::until(at.since_ms(now)));
    let path = crate::logging::escape(path);
    let [state_cell, checked_cell, next_cell] = CELLS;
    let fits = |cells: usize| columns.is_none_or(|columns| columns >= cells + SHORTEST + AFTER);
    let (cells, times) = if fits(state_cell + checked_cell + next_cell) {
        (state_cell + checked_cell + next_cell, format!("{checked:>11}  {next:>9}  "))
    } else if fits(state_cell + checked_cell) {
        (state_cell + checked_cell, format!("{checked:>11}  "))
    } else {
        (state_cell, String::new())
    };
    let path = match columns {
        Some(columns) => {
            let left = columns.saturating_sub(cells + output::columns(after));
            output::shortened(&path, left.max(SHORTEST))
        }
        None => path,
    };
    let dim = output::DIM;
    writeln!(out, "{style}{state:<10}{style:#}  {dim}{times}{dim:#}{path}{dim}{after}{dim:#}")
}

/// Pages, whiteboards, presentations and slides, by path.
pub(super) fn all_rows(state: &mut ReadOnly) -> Result<Vec<ItemRow>, StoreError> {
    let mut rows = state.pages()?;
    rows.extend(state.canvases()?);
    rows.sort_by(|a, b| (&a.path, &a.title).cmp(&(&b.path, &b.title)));
    Ok(rows)
}

/// A moment as text that sorts and that every program reads.
#[must_use]
pub fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_its_terminal() {
        let (checked, next, now) = (Some(Timestamp(1)), Some(Timestamp(9_000_000)), Timestamp(3_540_001));
        for (columns, start) in [
            (None, "synced       59 min ago     in 1 h  Acme/Pages/A page with a long name.md  1.2 MB"),
            (Some(80), "synced       59 min ago     in 1 h  …/Pages/A page with a long name.md  1.2 MB"),
            (Some(60), "synced       59 min ago  …A page with a long name.md  1.2 MB"),
            (Some(40), "synced      …with a long name.md  1.2 MB"),
        ] {
            let mut out = anstream::StripStream::new(Vec::new());
            let path = "Acme/Pages/A page with a long name.md";
            let state = (output::GOOD, "synced");
            write_line(&mut out, state, (checked, next, now), (path, "  1.2 MB"), columns).unwrap();
            let line = String::from_utf8(out.into_inner()).unwrap();
            assert_eq!(line.trim_end(), start);
            assert!(columns.is_none_or(|columns| output::columns(line.trim_end()) <= columns), "{line}");
        }
    }
}
