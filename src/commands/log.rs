//! `espejo log`: what espejo did, newest first, a line each, with the number by which `espejo undo` takes it back.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;

use super::acts::{self, Told};
use super::list::rfc3339;
use super::past::{Past, is_of};
use super::{WrongUsage, output, when};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon;
use crate::logging::escape;
use crate::model::{MirrorPath, PageId, Timestamp};
use crate::store::{Act, ReadOnly};

/// Lines that are shown where no time was asked for.
const SHOWN: usize = 50;
/// Lines that stand above what is followed.
const SHOWN_BEFORE: usize = 10;
/// How often a log that is followed is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What was asked for.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Only this file or folder, and what is beneath it.
    pub path: Option<PathBuf>,
    /// Only what was done since this time.
    pub since: Option<String>,
    /// As JSON.
    pub json: bool,
}

/// Which acts are shown.
struct Filter {
    place: Option<(MirrorPath, Option<PageId>)>,
    since: Option<Timestamp>,
}

impl Filter {
    fn new(past: &Past<'_>, asked: &Asked) -> Result<Self> {
        let since = asked.since.as_deref().map(since).transpose()?;
        let place = asked.path.as_deref().map(|path| place(past, path)).transpose()?;
        Ok(Self { place, since })
    }

    fn takes(&self, act: &Act) -> bool {
        let is_here = self
            .place
            .as_ref()
            .is_none_or(|(place, page)| is_of(place, &act.path) || (page.is_some() && *page == act.page));
        is_here && self.since.is_none_or(|since| act.at >= since)
    }
}

/// The moment that `--since` means.
///
/// # Errors
/// [`WrongUsage`], when it is no time.
pub(super) fn since(typed: &str) -> Result<Timestamp> {
    when::parse_since(typed, daemon::wall_now()).ok_or_else(|| {
        WrongUsage(format!("--since cannot be {typed:?}; a time is like 14:30, 2026-05-31 or 2h")).into()
    })
}

/// The place that was typed, with the page that has, or had, its file there.
pub(super) fn place(past: &Past<'_>, typed: &Path) -> Result<(MirrorPath, Option<PageId>)> {
    let place = past.place(typed)?;
    let page = past.page_at(&place).map(|node| node.id.clone());
    Ok((place, page))
}

/// The acts that were asked for, newest first.
///
/// # Errors
/// One sentence, when the state cannot be read.
pub(super) fn filtered(past: &Past<'_>, asked: &Asked) -> Result<Vec<Act>> {
    let filter = Filter::new(past, asked)?;
    let mut all = past.store().acts_after(0)?;
    all.retain(|act| filter.takes(act));
    Ok(all)
}

/// Shows the log once.
///
/// # Errors
/// One sentence, when the state cannot be read.
pub fn run(config: &Config, asked: &Asked, out: &mut dyn Write) -> Result<Exit> {
    let past = Past::open(config)?;
    let all = filtered(&past, asked)?;
    if asked.json {
        let rows = all.iter().map(|act| as_json(&past, act)).collect::<Result<Vec<_>>>()?;
        output::json(out, &rows)?;
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        writeln!(
            out,
            "nothing was done{}",
            if asked.since.is_some() { " since then" } else { " there yet" }
        )?;
        return Ok(Exit::Done);
    }
    let shown = if asked.since.is_some() { all.len() } else { SHOWN };
    let width = width_of(&all);
    for act in all.iter().take(shown) {
        line(&past, act, width, out)?;
    }
    if all.len() > shown {
        let more = output::count((all.len() - shown) as u64, "older entry", "older entries");
        writeln!(out, "{more}; espejo log --since 2d shows those of two days")?;
    }
    Ok(Exit::Done)
}

/// Shows the last lines, oldest first, and then each new one, until Ctrl-C.
///
/// # Errors
/// One sentence, when the state cannot be read.
pub async fn follow(config: &Config, asked: &Asked, out: &mut dyn Write) -> Result<Exit> {
    let mut last = 0;
    let mut is_first = true;
    loop {
        // All pages are read for a new entry only.
        if is_first || has_newer(config, last)? {
            let past = Past::open(config)?;
            let filter = Filter::new(&past, asked)?;
            let mut new = past.store().acts_after(last)?;
            last = new.first().map_or(last, |act| act.number);
            new.retain(|act| filter.takes(act));
            if is_first && asked.since.is_none() {
                new.truncate(SHOWN_BEFORE);
            }
            let width = width_of(&new);
            for act in new.iter().rev() {
                line(&past, act, width, out)?;
            }
        }
        is_first = false;
        out.flush()?;
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Done),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// Whether anything was done after the act of this number.
fn has_newer(config: &Config, number: i64) -> Result<bool> {
    // Where the state is gone, reading it says so.
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok(true) };
    Ok(!state.store().acts_after(number)?.is_empty())
}

fn width_of(acts: &[Act]) -> usize {
    acts.iter().map(|act| act.number.to_string().len() + 1).max().unwrap_or(2).max(3)
}

fn line(past: &Past<'_>, act: &Act, width: usize, out: &mut dyn Write) -> Result<()> {
    let Told { who, verb, detail } = acts::told(act);
    let number = format!("{:>width$}", format!("#{}", act.number));
    let mut rest = String::new();
    if let Some((added, removed)) = acts::word_counts(past, act)? {
        rest.push_str(&format!("  {}", counts(added, removed)));
    }
    if let Some(detail) = detail {
        rest.push_str(&output::paint(output::DIM, &format!("  ({})", escape(&detail))));
    }
    writeln!(
        out,
        "{}  {}  {:<7}  {verb} {}{rest}",
        output::paint(output::NAME, &number),
        output::paint(output::DIM, &when::local(act.at)),
        who.name(),
        escape(act.path.as_str()),
    )?;
    Ok(())
}

/// Words that came and went, as `+2 -1`.
pub(super) fn counts(added: usize, removed: usize) -> String {
    let some = |number: usize, sign: char, style| {
        (number > 0).then(|| output::paint(style, &format!("{sign}{}", output::grouped(number as u64))))
    };
    let both = [some(added, '+', output::GOOD), some(removed, '-', output::BAD)];
    let both: Vec<String> = both.into_iter().flatten().collect();
    if both.is_empty() { output::paint(output::DIM, "same words") } else { both.join(" ") }
}

pub(super) fn as_json(past: &Past<'_>, act: &Act) -> Result<serde_json::Value> {
    let Told { who, verb, detail } = acts::told(act);
    let words = acts::word_counts(past, act)?;
    Ok(json!({
        "number": act.number,
        "at": rfc3339(act.at),
        "who": who.key(),
        "what": verb,
        "detail": detail,
        "path": act.path.as_str(),
        "page": act.page.as_ref().map(PageId::as_str),
        "words_added": words.map(|(added, _)| added),
        "words_removed": words.map(|(_, removed)| removed),
    }))
}

/// The act of a number that was typed, with or without `#`.
///
/// # Errors
/// One sentence, when there is none.
pub(super) fn numbered(past: &Past<'_>, number: i64) -> Result<Act> {
    match past.store().act(number)? {
        Some(act) => Ok(act),
        None => bail!("the log has no entry #{number}; espejo log lists the entries"),
    }
}
