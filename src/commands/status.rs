//! `espejo status`: is everything safe? Works beside a running daemon and without one.

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use super::list::rfc3339;
use super::{output, run};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon;
use crate::engine::polling;
use crate::model::{StorageMode, Timestamp};
use crate::store::{Attention, BoardCounts, Conflict, ReadOnly, StatusCounts, StorageCounts};

/// Shows where everything stands. Exit code 3 when something needs the user.
///
/// # Errors
/// One sentence, when the state cannot be read.
pub fn run(config: &Config, as_json: bool, out: &mut dyn Write) -> Result<Exit> {
    let now = daemon::wall_now();
    let running = run::is_running(&config.state_dir);
    let (counts, boards, storage) = match ReadOnly::open(&config.state_dir)? {
        Some(mut state) => (state.counts(now)?, state.board_counts()?, state.storage_counts()?),
        None => (StatusCounts::default(), BoardCounts::default(), StorageCounts::default()),
    };
    let (attention, conflicts) = match ReadOnly::open(&config.state_dir)? {
        Some(state) => (state.attention()?, state.conflicts()?),
        None => (Vec::new(), Vec::new()),
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
            "storage": storage_json(config, &storage),
            "queue": counts.queue + storage.uploads,
            "conflicts": conflicts.iter().map(conflict_json).collect::<Vec<_>>(),
            "attention": attention.iter().map(|item| json!({
                "path": item.path, "reason": item.reason, "action": item.action,
            })).collect::<Vec<_>>(),
            "requests_last_minute": counts.requests_last_minute,
            "pace": {
                "requests_per_minute": config.requests_per_minute,
                "refused_at": counts.refused_at.map(rfc3339),
                "slowed": slowed(&counts, now),
            },
            "history": { "versions": counts.history.versions, "bytes": counts.history.bytes, "days": config.pages.history_days },
            "freshness": {
                "oldest_check_seconds": age_seconds(counts.oldest_look, now),
                "median_check_seconds": age_seconds(counts.median_look, now),
            },
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
    } else {
        human(config, running, (&counts, boards, &storage), &attention, &conflicts, now, out)?;
    }
    Ok(if needs { Exit::NeedsUser } else { Exit::Done })
}

fn storage_json(config: &Config, storage: &StorageCounts) -> serde_json::Value {
    json!({
        "mode": match (config.storage.enabled, config.storage.mode) {
            (false, _) | (true, StorageMode::Off) => "off",
            (true, StorageMode::Backup) => "backup",
            (true, StorageMode::TwoWay) => "two-way",
        },
        "files": storage.files,
        "bytes": storage.bytes,
        "folders": storage.folders,
        "to_come": { "files": storage.missing, "bytes": storage.missing_bytes },
        "local_only": storage.local_only,
    })
}

/// `312 files, 1.2 GB; 188 to come, 2.2 GB; 3 local only`.
fn storage_words(config: &Config, storage: &StorageCounts) -> String {
    let mut words = output::count(storage.files, "file", "files");
    words.push_str(&format!(", {}", output::bytes(storage.bytes)));
    if storage.missing > 0 {
        let (files, bytes) = (output::grouped(storage.missing), output::bytes(storage.missing_bytes));
        words.push_str(&format!("; {files} to come, {bytes}"));
    }
    if storage.local_only > 0 {
        words.push_str(&format!("; {} local only", output::grouped(storage.local_only)));
    }
    if config.storage.mode == StorageMode::TwoWay {
        words.push_str("; both ways");
    }
    words
}

fn conflict_json(conflict: &Conflict) -> serde_json::Value {
    json!({
        "path": conflict.page_path.as_str(),
        "copy": conflict.path.as_str(),
        "made_at": rfc3339(conflict.made_at),
        "summary": conflict.summary,
    })
}

/// Whether background reading is slower since the service refused a request.
fn slowed(counts: &StatusCounts, now: Timestamp) -> bool {
    counts.refused_at.is_some_and(|at| now.since_ms(at) < polling::SLOWED_MS)
}

fn age_seconds(at: Option<Timestamp>, now: Timestamp) -> Option<i64> {
    at.map(|at| now.since_ms(at).max(0) / 1_000)
}

fn human(
    config: &Config,
    running: bool,
    (counts, boards, storage): (&StatusCounts, BoardCounts, &StorageCounts),
    attention: &[Attention],
    conflicts: &[Conflict],
    now: Timestamp,
    out: &mut dyn Write,
) -> Result<()> {
    let needs = attention.len() + conflicts.len();
    let verdict = match (running, needs) {
        (_, 1..) => output::paint(output::ODD, &output::needs(needs)),
        (true, 0)
            if counts.pending
                + counts.unmirrored
                + counts.queue
                + boards.pending
                + boards.unmirrored
                + storage.missing
                + storage.uploads
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
    if config.storage.enabled {
        writeln!(out, "  storage    {}", storage_words(config, storage))?;
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
    if let Some(at) = counts.refused_at.filter(|_| slowed(counts, now)) {
        let ago = output::ago(now.since_ms(at));
        writeln!(
            out,
            "  pace       slowed: the service refused a request {ago}, so others may be using this token"
        )?;
    }
    if counts.history.versions > 0 {
        let versions = output::count(counts.history.versions, "version", "versions");
        let days = output::count(u64::from(config.pages.history_days), "day", "days");
        writeln!(out, "  history    {versions} in {}, kept for {days}", output::bytes(counts.history.bytes))?;
    }
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
