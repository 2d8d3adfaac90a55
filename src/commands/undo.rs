//! `espejo undo`: takes back what espejo did to a file or to the service, where that can be done.

mod plan;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use plan::{Undoing, gathered, has_pages_beneath, stays, undoing};

use super::past::Past;
use super::{acts, log, output, put, restore, terminal, word_diff};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon;
use crate::logging::escape;
use crate::model::{PageId, Put};
use crate::store::{Act, ActKind};

/// What becomes of a page that is taken back.
const AWAY: &str = "its page goes to the service's trash, its file to .espejo/trash";
/// Reasons why something cannot be undone that are shown.
const REASONS: usize = 5;

/// What was asked for.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// A number of the log, or a file.
    pub what: Option<PathBuf>,
    /// Everything since this time.
    pub since: Option<String>,
    /// Only show it.
    pub dry_run: bool,
    /// Ask no question.
    pub yes: bool,
}

/// Takes acts back, or says what it would do.
///
/// # Errors
/// One sentence, when there is nothing to take back, it cannot be taken back, or it cannot be written.
pub async fn run(config: &Config, asked: &Asked, out: &mut dyn Write) -> Result<Exit> {
    let past = Past::open(config)?;
    if let Some(typed) = &asked.since {
        return since(config, &past, typed, asked, out).await;
    }
    let act = one(&past, asked)?;
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
        return Ok(Exit::Done);
    }
    let running = put::carry_out(config, undoing.put).await?;
    writeln!(out, "undid {}", what(&act))?;
    if is_away {
        writeln!(out, "  {AWAY}")?;
        return Ok(Exit::Done);
    }
    if undoing.stays {
        writeln!(out, "  words that changed again since then stay as they are")?;
    }
    writeln!(out, "  {}; a second espejo undo restores it", restore::then(running))?;
    Ok(Exit::Done)
}

/// The act that is meant: by its number, the last one of a file, or the last one.
fn one(past: &Past<'_>, asked: &Asked) -> Result<Act> {
    let Some(typed) = &asked.what else {
        let Some(act) = past.store().last_act()? else {
            bail!("espejo has done nothing yet that can be undone")
        };
        return Ok(act);
    };
    let text = typed.to_string_lossy();
    if let Ok(number) = text.strip_prefix('#').unwrap_or(&text).parse::<i64>() {
        return log::numbered(past, number);
    }
    let (place, page) = log::place(past, typed)?;
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
            let now = past.present(path)?.map(|present| acts::words_in(&present.text)).unwrap_or_default();
            word_diff::show(&word_diff::places(&now, &acts::words_in(text)), out)?;
        }
        Put::Name { from, to } => {
            writeln!(out, "    {} becomes {}", escape(from.name()), escape(to.name()))?;
        }
        Put::Away { .. } => {}
    }
    if undoing.stays {
        writeln!(out, "    words that changed again since then stay as they are")?;
    }
    Ok(())
}

/// Takes back everything since a time, after a preview and one question.
async fn since(
    config: &Config,
    past: &Past<'_>,
    typed: &str,
    asked: &Asked,
    out: &mut dyn Write,
) -> Result<Exit> {
    let filter = log::Asked { path: asked.what.clone(), since: Some(typed.to_owned()), json: false };
    let acts = log::filtered(past, &filter)?;
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
            Ok(_) if !is_gone && act.kind == ActKind::Made => cannot.push(stays(&act).to_string()),
            Ok(undoing) => can.push((act, first, undoing)),
            Err(why) => cannot.push(format!("{why:#}")),
        }
    }
    for why in cannot.iter().take(REASONS) {
        writeln!(out, "{}", escape(why))?;
    }
    if cannot.len() > REASONS {
        let more = output::count((cannot.len() - REASONS) as u64, "more change", "more changes");
        writeln!(out, "… and {more} that cannot be undone here; espejo undo NUMBER says why")?;
    }
    for (act, first, undoing) in &can {
        let name = output::paint(output::NAME, &escape(act.path.as_str()));
        match undoing.put {
            Put::Away { .. } => writeln!(out, "{name}: {AWAY}")?,
            _ => writeln!(out, "{name}: as it was before #{first}")?,
        }
        show(past, undoing, out)?;
    }
    let left = if cannot.is_empty() { Exit::Done } else { Exit::NeedsUser };
    if asked.dry_run || can.is_empty() {
        return Ok(left);
    }
    if !asked.yes {
        let changes = output::count(can.len() as u64, "change", "changes");
        let alone = format!("{changes} would be undone; add --yes to do so");
        terminal::agreed(&format!("Undo {changes}?"), &alone, "nothing was undone")?;
    }
    let (mut done, mut failed, mut running) = (0, 0, false);
    for (act, first, undoing) in can {
        match put::carry_out(config, undoing.put).await {
            Ok(by_daemon) => {
                running = by_daemon;
                done += 1;
            }
            Err(error) => {
                failed += 1;
                writeln!(
                    out,
                    "{}: not undone from #{first} on: {}",
                    act.path,
                    escape(&format!("{error:#}"))
                )?;
            }
        }
    }
    writeln!(out, "undid {}", output::count(done, "change", "changes"))?;
    if done > 0 {
        writeln!(out, "  {}", restore::then(running))?;
    }
    Ok(if failed > 0 { Exit::NeedsUser } else { left })
}
