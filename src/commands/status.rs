//! `espejo status`: is everything safe? Works beside a running daemon and without one.

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use super::list::rfc3339;
use super::{output, run};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon;
use crate::model::Timestamp;
use crate::store::{Attention, BoardCounts, Conflict, ReadOnly, StatusCounts};

/// Shows where everything stands. Exit code 3 when something needs the user.
///
/// # Errors
/// One sentence, when the state cannot be read.
pub fn run(config: &Config, as_json: bool, out: &mut dyn Write) -> Result<Exit> {
    let now = daemon::wall_now();
    let running = run::is_running(&config.state_dir);
    let (counts, boards, attention, conflicts) = match ReadOnly::open(&config.state_dir)? {
        Some(mut state) => {
            (state.counts(now)?, state.board_counts()?, state.attention()?, state.conflicts()?)
        }
        None => (StatusCounts::default(), BoardCounts::default(), Vec::new(), Vec::new()),
    };
    let needs = !attention.is_empty() || !conflicts.is_empty();
    let state = if running { "running" } else { "stopped" };
    if as_json {
        let value = json!({
            "state": state,
            "root": config.root.display().to_string(),
            "state_dir": config.state_dir.display().to_string(),
            "pages": { "mirrored": counts.mirrored, "unmirrored": counts.unmirrored, "pending": counts.pending },
            "whiteboards": { "mirrored": boards.whiteboards },
            "presentations": { "mirrored": boards.presentations, "slides": boards.slides },
            "canvases": { "unmirrored": boards.unmirrored, "pending": boards.pending },
            "queue": counts.queue,
            "conflicts": conflicts.iter().map(conflict_json).collect::<Vec<_>>(),
            "attention": attention.iter().map(|item| json!({
                "path": item.path, "reason": item.reason, "action": item.action,
            })).collect::<Vec<_>>(),
            "requests_last_minute": counts.requests_last_minute,
            "freshness": {
                "oldest_check_seconds": age_seconds(counts.oldest_look, now),
                "median_check_seconds": age_seconds(counts.median_look, now),
            },
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
    } else {
        human(config, running, (&counts, boards), &attention, &conflicts, now, out)?;
    }
    Ok(if needs { Exit::NeedsUser } else { Exit::Done })
}

fn conflict_json(conflict: &Conflict) -> serde_json::Value {
    json!({
        "path": conflict.page_path.as_str(),
        "copy": conflict.path.as_str(),
        "made_at": rfc3339(conflict.made_at),
        "summary": conflict.summary,
    })
}

fn age_seconds(at: Option<Timestamp>, now: Timestamp) -> Option<i64> {
    at.map(|at| now.since_ms(at).max(0) / 1_000)
}

fn human(
    config: &Config,
    running: bool,
    (counts, boards): (&StatusCounts, BoardCounts),
    attention: &[Attention],
    conflicts: &[Conflict],
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<()> {
    let needs = attention.len() + conflicts.len();
    let verdict = match (running, needs) {
        (_, 1..) => output::paint(output::ODD, &output::needs(needs)),
        (true, 0)
            if counts.pending + counts.unmirrored + counts.queue + boards.pending + boards.unmirrored
                == 0 =>
        {
            output::paint(output::GOOD, "everything is in step")
        }
        (true, 0) => output::paint(output::GOOD, "running, catching up"),
        (false, 0) => output::paint(output::ODD, "not running: start espejo run"),
    };
    writeln!(out, "{verdict}")?;
    writeln!(out, "  folder     {}", config.root.display())?;
    writeln!(out, "  daemon     {}", if running { "running" } else { "stopped" })?;
    let mut pages = format!("{} mirrored", output::grouped(counts.mirrored));
    if counts.unmirrored > 0 {
        pages.push_str(&format!(", {} to come", output::grouped(counts.unmirrored)));
    }
    writeln!(out, "  pages      {pages}")?;
    if boards.whiteboards + boards.slides + boards.unmirrored > 0 {
        let mut line = output::count(boards.whiteboards, "whiteboard", "whiteboards");
        line.push_str(&format!(", {}", output::count(boards.presentations, "presentation", "presentations")));
        line.push_str(&format!(" with {}", output::count(boards.slides, "slide", "slides")));
        if boards.unmirrored > 0 {
            line.push_str(&format!("; {} to come", output::grouped(boards.unmirrored)));
        }
        writeln!(out, "  canvases   {line}")?;
    }
    let waiting = counts.pending.max(counts.queue) + boards.pending;
    if waiting > 0 {
        writeln!(out, "  waiting    {}", output::count(waiting, "change", "changes"))?;
    }
    if let (Some(oldest), Some(median)) = (counts.oldest_look, counts.median_look) {
        let (median, oldest) = (output::ago(now.since_ms(median)), output::ago(now.since_ms(oldest)));
        writeln!(out, "  checked    the oldest {oldest}, half of them {median} or later")?;
    }
    writeln!(
        out,
        "  requests   {} of {} in the last minute",
        counts.requests_last_minute, config.requests_per_minute
    )?;
    for item in attention {
        output::need(out, &item.path, &item.reason, &item.action)?;
    }
    for conflict in conflicts {
        let why = format!("both sides changed the same words; your version is in {}", conflict.path.name());
        let mend = "espejo conflicts shows it; removing the copy settles it";
        output::need(out, conflict.page_path.as_str(), &why, mend)?;
    }
    Ok(())
}
