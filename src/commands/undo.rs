//! `espejo undo`: takes back what espejo did to a file or to the service, where that can be done.

mod plan;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use plan::{Undoing, gathered, has_pages_beneath, no_copy, stays, undoing};

use crate::cli::canvases::is_canvas;
use crate::cli::past::{Past, words_in};
use crate::cli::report::Report;
use crate::cli::{Call, Exit, WrongUsage, acts, kept, output, put, terminal, word_diff};
use crate::config::Config;
use crate::core::content::naming::is_stored;
use crate::daemon;
use crate::logging::escape;
use crate::model::{PageId, Put};
use crate::store::{Act, ActKind};

/// What becomes of a page that is taken back.
const AWAY: &str = "its page goes to the service's trash, its file to .espejo/trash";
/// Reasons why something cannot be undone that are shown.
const REASONS: usize = 5;

/// Undo the last change, a change by number, or a file's last one
///
/// undo removes an edit that was sent or received from the file, and the result is sent like any edit; later changes stay.
/// A page that you added goes to the service's trash with its file, unless the app has changed it since. In whiteboards and
/// presentations, removed elements are made anew, with new ids.
/// Before it changes anything, undo says which changes it cannot undo and what you can do instead. With --since, it lists
/// the changes and asks once. `espejo undo 45` takes change 45 of `espejo log` back; `espejo restore PATH --at 45` gives
/// the text after it.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  espejo undo --dry-run\n  espejo undo 42\n  espejo undo ~/Workspace/Acme/Pages/Roadmap.md\n  espejo undo --since 14:00"
)]
pub struct Args {
    /// A number from `espejo log`, or a file [default: the last change]
    #[arg(value_name = "NUMBER|PATH", value_hint = clap::ValueHint::FilePath)]
    pub what: Option<PathBuf>,
    /// All changes since this time: 14:30, yesterday, 2026-05-31, 2h; with PATH, only in that file or folder
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Show what would be undone, word by word, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// With --since: do not ask
    #[arg(short, long)]
    pub yes: bool,
    /// Print the result as JSON, and ask nothing
    #[arg(long)]
    pub json: bool,
}

/// Takes acts back, or says what it would do.
///
/// # Errors
/// One sentence, when there is nothing to take back, it cannot be taken back, or it cannot be written.
pub async fn run(asked: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let config = &call.config()?;
    let mut report = Report::new(call.out, asked.json);
    let exit = undo(config, asked, &mut report).await?;
    report.end()?;
    Ok(exit)
}

async fn undo(config: &Config, asked: &Args, out: &mut Report<'_>) -> Result<Exit> {
    let past = Past::open(config)?;
    if let Some(typed) = &asked.since {
        return since(config, &past, typed, asked, out).await;
    }
    let act = acts::origin(&past, one(&past, asked)?)?;
    if is_stored(&act.path) {
        return stored(config, &past, &act, asked.dry_run, out);
    }
    let undoing = undoing(&past, &act)?;
    let is_away = matches!(undoing.put, Put::Away { .. });
    if is_away && act.page.as_ref().is_some_and(|page| has_pages_beneath(&past, page, &BTreeSet::new())) {
        return Err(stays(&act));
    }
    if asked.dry_run {
        writeln!(out, "{}; espejo undo {} undoes that", what(&act), act.number)?;
        if is_away {
            writeln!(out, "    {AWAY}")?;
        }
        show(&past, &undoing, out)?;
        out.add(&act.path, "would be undone", Some(act.number), None);
        return Ok(Exit::Done);
    }
    let running = put::carry_out(config, undoing.put).await?;
    writeln!(out, "undid {}", what(&act))?;
    out.add(&act.path, "undone", Some(act.number), None);
    if is_away {
        writeln!(out, "  {AWAY}")?;
        return Ok(Exit::Done);
    }
    if undoing.stays {
        writeln!(out, "  what changed again since then stays as it is")?;
    }
    if is_canvas(&act.path) {
        writeln!(out, "  {}", acts::ANEW)?;
    }
    writeln!(out, "  {}; a second espejo undo restores it", put::then(running))?;
    Ok(Exit::Done)
}

/// A change of a stored file, taken back by the copy in the mirror's trash.
fn stored(config: &Config, past: &Past<'_>, act: &Act, is_trial: bool, out: &mut Report<'_>) -> Result<Exit> {
    let Some(copy) = kept::before(config, act) else { return Err(no_copy(act)) };
    if is_trial {
        writeln!(out, "{}; espejo undo {} puts it back {}", what(act), act.number, copy.told())?;
        out.add(&act.path, "would be undone", Some(act.number), None);
        return Ok(Exit::Done);
    }
    let then = kept::put_back(config, past, &act.path, &copy)?;
    writeln!(out, "undid {}", what(act))?;
    writeln!(out, "  the file is back {}; {then}", copy.told())?;
    out.add(&act.path, "undone", Some(act.number), None);
    Ok(Exit::Done)
}

/// The act that is meant: by its number, the last one of a file, or the last one.
fn one(past: &Past<'_>, asked: &Args) -> Result<Act> {
    let Some(typed) = &asked.what else {
        let Some(act) = past.store().last_act()? else {
            bail!("espejo has done nothing yet that can be undone")
        };
        return Ok(act);
    };
    let text = typed.to_string_lossy();
    if let Ok(number) = text.strip_prefix('#').unwrap_or(&text).parse::<i64>() {
        return acts::numbered(past, number);
    }
    let (place, page) = acts::place(past, typed)?;
    let is_its = |act: &Act| act.path == place || (page.is_some() && act.page == page);
    match past.store().acts_after(0)?.into_iter().find(is_its) {
        Some(act) => Ok(act),
        None => bail!("the log has no entry for {place}; espejo log lists the entries"),
    }
}

/// Which act it is, as people say it: `#7: you edited Acme/Pages/Roadmap.md, 2 minutes ago`.
fn what(act: &Act) -> String {
    let ago = output::ago(daemon::wall_now().since_ms(act.at));
    let number = output::paint(output::NAME, &format!("#{}", act.number));
    format!("{number}: {}, {ago}", escape(&acts::told(act).sentence(&act.path)))
}

/// What taking an act back would change.
fn show(past: &Past<'_>, undoing: &Undoing, out: &mut dyn Write) -> Result<()> {
    match &undoing.put {
        Put::Text { path, text, .. } => {
            let now =
                past.bytes(path).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
            word_diff::show(&word_diff::places(&words_in(path, &now), &words_in(path, text)), out)?;
        }
        Put::Name { from, to } => {
            writeln!(out, "    {} becomes {}", escape(from.name()), escape(to.name()))?;
        }
        Put::Away { .. } => {}
    }
    if undoing.stays {
        writeln!(out, "    what changed again since then stays as it is")?;
    }
    Ok(())
}

/// Takes back everything since a time, after a preview and one question.
async fn since(
    config: &Config,
    past: &Past<'_>,
    typed: &str,
    asked: &Args,
    out: &mut Report<'_>,
) -> Result<Exit> {
    let filter = acts::Filter::new(past, asked.what.as_deref(), Some(typed))?;
    let acts = acts::filtered(past, &filter)?;
    if acts.is_empty() {
        writeln!(out, "nothing was done since then")?;
        return Ok(Exit::Done);
    }
    let (mut can, mut cannot) = (Vec::new(), Vec::new());
    let all: Vec<_> = gathered(acts)
        .into_iter()
        .map(|(act, first)| {
            let undoing = undoing(past, &act);
            (act, first, undoing)
        })
        .collect();
    let goes = |(act, _, undoing): &(Act, i64, Result<Undoing>)| {
        act.page.clone().filter(|_| act.kind == ActKind::Made && undoing.is_ok())
    };
    let mut gone: BTreeSet<PageId> = all.iter().filter_map(goes).collect();
    // A page stays if one beneath it does.
    while let Some(page) = gone.iter().find(|page| has_pages_beneath(past, page, &gone)).cloned() {
        gone.remove(&page);
    }
    for (act, first, undoing) in all {
        let is_gone = act.page.as_ref().is_some_and(|page| gone.contains(page));
        match undoing {
            // With a page that goes, so do its changes.
            _ if is_gone && act.kind != ActKind::Made => {}
            Ok(_) if !is_gone && act.kind == ActKind::Made => {
                cannot.push((act.clone(), stays(&act).to_string()))
            }
            Ok(undoing) => can.push((act, first, undoing)),
            Err(why) => cannot.push((act, format!("{why:#}"))),
        }
    }
    for (act, why) in &cannot {
        out.add(&act.path, "not undone", Some(act.number), Some(why));
    }
    for (_, why) in cannot.iter().take(REASONS) {
        writeln!(out, "{}", escape(why))?;
    }
    if cannot.len() > REASONS {
        let more = output::count((cannot.len() - REASONS) as u64, "more change", "more changes");
        writeln!(out, "… and {more} that cannot be undone here; espejo undo NUMBER says why")?;
    }
    for (act, first, undoing) in &can {
        let name = output::name(&act.path);
        match undoing.put {
            Put::Away { .. } => writeln!(out, "{name}: {AWAY}")?,
            _ => writeln!(out, "{name}: as it was before #{first}")?,
        }
        show(past, undoing, out)?;
        if asked.dry_run {
            out.add(&act.path, "would be undone", Some(*first), None);
        }
    }
    let left = if cannot.is_empty() { Exit::Done } else { Exit::NeedsUser };
    if asked.dry_run || can.is_empty() {
        return Ok(left);
    }
    if !asked.yes {
        let changes = output::count(can.len() as u64, "change", "changes");
        let alone = format!("{changes} would be undone; add --yes to do so");
        if asked.json {
            return Err(WrongUsage(alone).into());
        }
        terminal::agreed(&format!("Undo {changes}?"), &alone, "nothing was undone")?;
    }
    let (mut done, mut failed, mut running) = (0, 0, false);
    let mut changes = put::Changes::new(config);
    for (act, first, undoing) in can {
        match changes.make(undoing.put).await {
            Ok(by_daemon) => {
                running = by_daemon;
                done += 1;
                out.add(&act.path, "undone", Some(first), None);
            }
            Err(error) => {
                failed += 1;
                let why = format!("{error:#}");
                writeln!(out, "{}: not undone from #{first} on: {}", act.path, escape(&why))?;
                out.add(&act.path, "not undone", Some(first), Some(&why));
            }
        }
    }
    writeln!(out, "undid {}", output::count(done, "change", "changes"))?;
    if done > 0 {
        writeln!(out, "  {}", put::then(running))?;
    }
    Ok(if failed > 0 { Exit::NeedsUser } else { left })
}
