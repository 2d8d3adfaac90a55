//! `espejo list`: every mirrored item.

mod stored;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use anyhow::{Result, bail};
use serde::Serialize;

use crate::cli::{Call, Exit, here, items, output, session, unsynced, when};
use crate::config::Config;
use crate::core::report::view;
use crate::daemon;
use crate::model::{MirrorPath, Timestamp};
use crate::store::{IGNORED, ItemRow, ReadOnly, StoreError};

/// The columns of the state, of when it was looked at, and of when it will be, each with what parts it from the next.
const CELLS: [usize; 3] = [12, 13, 11];
/// A path is not cut to less than so many columns, and what comes after it takes at most so many.
const SHORTEST: usize = 20;
const AFTER: usize = 10;
/// Bytes that are written at once.
const BUFFER: usize = 1 << 16;

/// When each thing that is polled is looked at next, by its id.
type Outlooks = BTreeMap<String, items::Outlook>;

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

/// List all mirrored items: kind, id, path, state, checks
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
#[command(after_help = "Examples:\n  espejo list\n  espejo list ~/Workspace/Acme/Pages/Roadmap --json")]
pub struct Args {
    /// Only this file or folder, and what is beneath it
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub path: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Lists what is mirrored at the path, or everything.
///
/// # Errors
/// One sentence, when the path is not in the mirror or the state cannot be read.
pub fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let config = &call.config()?;
    let (path, as_json, out) = (args.path.as_deref(), args.json, &mut *call.out);
    let now = daemon::wall_now();
    // One write for many lines, not one for each.
    let out = &mut io::BufWriter::with_capacity(BUFFER, out);
    let place = match path {
        None => MirrorPath::root(),
        Some(path) => session::place(config, path)?,
    };
    let state = ReadOnly::open(&config.state_dir)?;
    std::thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        let rest = scope.spawn(move || beside_the_pages(config, now, &tell));
        let mut rows = state.map_or_else(|| Ok(Vec::new()), |mut state| items::all_rows(&mut state))?;
        if !place.is_root() {
            let file = place.as_str();
            let stem = file.strip_suffix(".md").unwrap_or(file);
            rows.retain(|row| {
                let rest = row.path.as_deref().and_then(|path| path.strip_prefix(stem));
                row.path.as_deref() == Some(file)
                    || rest.is_some_and(|rest| rest.starts_with('/') || rest == ".md")
            });
        }
        // Where nothing is told there is no state, or joining says why.
        let outlooks = told.recv().unwrap_or_default();
        let next_check = |row: &ItemRow| {
            row.id
                .as_ref()
                .filter(|_| row.state != IGNORED)
                .and_then(|id| outlooks.get(id))
                .and_then(|outlook| outlook.next)
        };
        let table = Table { now, columns: output::terminal_columns(), paints: output::paints() };
        // Written while the rest is still being read.
        for row in rows.iter().filter(|_| !as_json) {
            let style = match row.state {
                "synced" => output::GOOD,
                "problem" => output::BAD,
                _ => output::ODD,
            };
            let shown = row.path.as_deref().map_or_else(|| row.title.clone(), here::shown);
            table.line(out, (style, row.state), (row.checked_at, next_check(row)), (&shown, ""))?;
        }
        let mut stored = rest.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        stored.retain(|row| place.is_root() || row.is_within(&place));
        if path.is_some()
            && rows.is_empty()
            && stored.is_empty()
            && !config.root.join(place.as_str()).exists()
        {
            bail!("nothing is mirrored at {place}; espejo list shows what is");
        }
        if as_json {
            let items = rows.iter().map(|row| Item {
                kind: row.kind,
                id: row.id.as_deref(),
                workspace_id: row.workspace.as_deref(),
                path: row.path.as_deref(),
                title: &row.title,
                state: row.state,
                checked_at: row.checked_at.map(when::rfc3339),
                next_check_at: next_check(row).map(when::rfc3339),
                size_bytes: None,
                why: None,
            });
            let all: Vec<Item<'_>> = items.chain(stored.iter().map(stored::Row::item)).collect();
            output::json(out, &all)?;
        } else {
            for row in &stored {
                row.write(&table, out)?;
            }
        }
        out.flush()?;
        Ok(Exit::Done)
    })
}

/// When what is polled is looked at next, told as soon as it is known; then the stored files and folders.
fn beside_the_pages(
    config: &Config,
    now: Timestamp,
    tell: &mpsc::Sender<Arc<Outlooks>>,
) -> Result<Vec<stored::Row>, StoreError> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok(Vec::new()) };
    // Without a daemon nothing is looked at next.
    let outlooks = Arc::new(match session::is_running(&config.state_dir) {
        true => items::outlooks(&state, config, now)?,
        false => Outlooks::default(),
    });
    // There is no listener if the pages could not be read.
    drop(tell.send(Arc::clone(&outlooks)));
    let mut stored = if config.storage.enabled {
        let told = state.attention()?.into_iter().map(|item| item.path).collect();
        stored::rows(&view::stored(&state)?, &state.apart()?, &told)
    } else {
        Vec::new()
    };
    stored.iter_mut().for_each(|row| row.foretold(&outlooks));
    stored.extend(unsynced::find(config, &state)?.into_iter().map(|(path, why)| stored::unsynced(path, why)));
    Ok(stored)
}

/// What all lines have in common.
struct Table {
    now: Timestamp,
    /// The columns of the terminal, if there is one.
    columns: Option<usize>,
    /// Whether lines have colours. Where they have none, taking them out of each line makes a write of each piece.
    paints: bool,
}

impl Table {
    /// A line: the state, when it was looked at and will be, the path with what comes after it. In a terminal a path
    /// that does not fit loses its beginning; a narrow one shows no times.
    fn line(
        &self,
        out: &mut dyn Write,
        (style, state): (anstyle::Style, &str),
        (checked, next): (Option<Timestamp>, Option<Timestamp>),
        (path, after): (&str, &str),
    ) -> io::Result<()> {
        let checked = checked.map_or_else(|| "never".to_owned(), |at| output::ago(self.now.since_ms(at)));
        let next = next.map_or_else(String::new, |at| output::until(at.since_ms(self.now)));
        let path = crate::logging::escape(path);
        let [state_cell, checked_cell, next_cell] = CELLS;
        let fits = |cells: usize| self.columns.is_none_or(|columns| columns >= cells + SHORTEST + AFTER);
        let (cells, times) = if fits(state_cell + checked_cell + next_cell) {
            (state_cell + checked_cell + next_cell, format!("{checked:>11}  {next:>9}  "))
        } else if fits(state_cell + checked_cell) {
            (state_cell + checked_cell, format!("{checked:>11}  "))
        } else {
            (state_cell, String::new())
        };
        let path = match self.columns {
            Some(columns) => {
                let left = columns.saturating_sub(cells + output::columns(after));
                output::shortened(&path, left.max(SHORTEST))
            }
            None => path,
        };
        if !self.paints {
            return writeln!(out, "{state:<10}  {times}{path}{after}");
        }
        let dim = output::DIM;
        writeln!(out, "{style}{state:<10}{style:#}  {dim}{times}{dim:#}{path}{dim}{after}{dim:#}")
    }
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
            for paints in [false, true] {
                let mut out = anstream::StripStream::new(Vec::new());
                let path = "Acme/Pages/A page with a long name.md";
                let state = (output::GOOD, "synced");
                let table = Table { now, columns, paints };
                table.line(&mut out, state, (checked, next), (path, "  1.2 MB")).unwrap();
                let line = String::from_utf8(out.into_inner()).unwrap();
                assert_eq!(line.trim_end(), start);
                assert!(columns.is_none_or(|columns| output::columns(line.trim_end()) <= columns), "{line}");
            }
        }
    }
}
