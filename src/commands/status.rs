//! `espejo status`: is everything safe? Works beside a running daemon and without one.

mod live;
mod screen;

use std::io::Write;

use anyhow::Result;
use serde_json::json;

pub use live::watch;

use super::list::rfc3339;
use super::{control, output, run as daemon_run, terminal, unsynced};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon;
use crate::engine::polling::{self, Noticed};
use crate::model::{Attention, Code, StorageMode, Timestamp, to_act_on};
use crate::store::{
    BoardCounts, Conflict, LateCounts, ReadOnly, StatusCounts, StorageCounts, StoreError, TIMES_LATE_MS,
    Waiting,
};

/// How many of the things that wait are named.
const NAMED: usize = 5;

/// Where everything stands at a moment.
#[derive(Debug)]
struct View<'a> {
    config: &'a Config,
    now: Timestamp,
    running: bool,
    /// The unit that should run it, if systemd has one.
    unit: Option<&'a str>,
    /// Whether what runs is a sync or another command, which hears nothing, and no daemon.
    is_command: bool,
    /// Whether there is a state at all.
    begun: bool,
    /// Whether what the service has is not yet known as a whole.
    is_first_look: bool,
    paused: Option<Timestamp>,
    /// What has not been looked at for longer than the schedule means it to be.
    late: Late,
    /// How soon changes made in the app are noticed, once some were.
    noticed: Option<Noticed>,
    counts: StatusCounts,
    boards: BoardCounts,
    storage: StorageCounts,
    /// Files in places that are not synced.
    unsynced: usize,
    waiting: Vec<Waiting>,
    attention: Vec<Attention>,
    conflicts: Vec<Conflict>,
}

impl<'a> View<'a> {
    fn take(config: &'a Config, unit: Option<&'a str>) -> Result<Self> {
        let now = daemon::wall_now();
        let running = daemon_run::is_running(&config.state_dir);
        let mut view = Self {
            config,
            now,
            running,
            unit,
            is_command: running && !control::answers(&config.state_dir),
            begun: false,
            is_first_look: false,
            paused: None,
            late: Late::default(),
            noticed: None,
            counts: StatusCounts::default(),
            boards: BoardCounts::default(),
            storage: StorageCounts::default(),
            unsynced: 0,
            waiting: Vec::new(),
            attention: Vec::new(),
            conflicts: Vec::new(),
        };
        if let Some(state) = ReadOnly::open(&config.state_dir)? {
            // `init` makes a state before there is a mirror.
            view.begun = state.meta("mirror_id")?.is_some();
            view.is_first_look = state.meta("adopting")?.as_deref() == Some("yes");
            view.paused = state.paused_since()?;
            view.late = Late::of(&state, config, view.running, now)?;
            view.noticed = noticed(&state)?;
            view.counts = state.counts(now)?;
            view.boards = state.board_counts()?;
            view.storage = state.storage_counts()?;
            view.unsynced = unsynced::find(config, &state)?.len();
            view.attention = state.attention()?;
            view.conflicts = state.conflicts()?;
            if view.counts.pending > 0 {
                view.waiting = state.waiting(NAMED)?;
            }
        }
        if running && let Some(why) = control::waits_for(&config.state_dir) {
            view.attention.insert(0, state_unusable(&why));
        }
        Ok(view)
    }

    /// How many things need a person.
    fn needs(&self) -> usize {
        to_act_on(&self.attention) + self.conflicts.len()
    }

    /// Items that are not here yet.
    fn to_come(&self) -> u64 {
        self.counts.unmirrored + self.boards.unmirrored + self.storage.missing
    }

    /// Changes on their way, in either direction.
    fn on_the_way(&self) -> u64 {
        self.counts.pending.max(self.counts.queue) + self.boards.pending + self.storage.uploads
    }

    fn state(&self) -> &'static str {
        match (self.running, self.paused) {
            (true, _) if self.is_command => "busy",
            (true, Some(_)) => "paused",
            (true, None) => "running",
            (false, _) => "stopped",
        }
    }
}

/// What a daemon waits for that cannot write its state. The state itself cannot say it.
fn state_unusable(why: &str) -> Attention {
    let action = "espejo runs, and continues by itself then; edits made until then are not lost";
    Attention::new(Code::FolderUnusable, "", format!("nothing is synced: {why}"), action)
}

/// Shows where everything stands. Exit code 3 when something needs the user, or when nothing runs although systemd has a unit
/// for it.
///
/// # Errors
/// One sentence, when the state cannot be read.
pub fn run(config: &Config, as_json: bool, unit: Option<&str>, out: &mut dyn Write) -> Result<Exit> {
    let view = View::take(config, unit)?;
    if as_json {
        output::json(out, &json(&view))?;
    } else {
        for line in screen::lines(&view, terminal::size().map(|(columns, _)| columns)) {
            writeln!(out, "{line}")?;
        }
    }
    let is_down = unit.is_some() && !view.running;
    Ok(if view.needs() > 0 || is_down { Exit::NeedsUser } else { Exit::Done })
}

fn json(view: &View<'_>) -> serde_json::Value {
    let View { config, now, counts, boards, storage, .. } = view;
    json!({
        "state": view.state(),
        "paused_since": view.paused.map(rfc3339),
        "root": config.root.display().to_string(),
        "state_dir": config.state_dir.display().to_string(),
        "pages": { "mirrored": counts.mirrored, "unmirrored": counts.unmirrored, "pending": counts.pending },
        "whiteboards": { "mirrored": boards.whiteboards },
        "presentations": { "mirrored": boards.presentations, "slides": boards.slides },
        "canvases": { "unmirrored": boards.unmirrored, "pending": boards.pending },
        "storage": storage_json(config, storage),
        "unsynced": view.unsynced,
        "queue": counts.queue + storage.uploads,
        "waiting": view.waiting.iter().map(|item| json!({ "path": item.path, "what": item.what })).collect::<Vec<_>>(),
        "conflicts": view.conflicts.iter().map(conflict_json).collect::<Vec<_>>(),
        "attention": view.attention.iter().map(attention_json).collect::<Vec<_>>(),
        "requests_last_minute": counts.requests_last_minute,
        "pace": {
            "requests_per_minute": config.requests_per_minute,
            "refused_at": counts.refused_at.map(rfc3339),
            "slowed": slowed(counts, *now),
        },
        "history": { "versions": counts.history.versions, "bytes": counts.history.bytes, "days": config.pages.history_days },
        "freshness": {
            "oldest_check_seconds": age_seconds(counts.oldest_look, *now),
            "median_check_seconds": age_seconds(counts.median_look, *now),
            "late": {
                "pages": view.late.counts.pages,
                "canvases": view.late.counts.canvases,
                "folders": view.late.counts.folders,
                "oldest_check_seconds": age_seconds(view.late.counts.oldest, *now),
                "after_seconds": view.late.after_ms / 1_000,
            },
            "noticed_within_seconds": view.noticed.map(|noticed| noticed.seconds),
            "search_helps": view.noticed.map(|noticed| noticed.search_helps),
        },
    })
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

/// What concerns the user, for programs.
pub fn attention_json(item: &Attention) -> serde_json::Value {
    json!({
        "path": item.path, "reason": item.reason, "action": item.action,
        "code": item.code.name(), "level": item.level().name(),
    })
}

fn conflict_json(conflict: &Conflict) -> serde_json::Value {
    json!({
        "path": conflict.page_path.as_str(),
        "copy": conflict.path.as_str(),
        "made_at": rfc3339(conflict.made_at),
        "summary": conflict.summary,
    })
}

/// What has not been looked at for longer than the schedule means it to be: `espejo pull` looks at it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Late {
    counts: LateCounts,
    /// The longest that a look may be ago, in milliseconds.
    after_ms: i64,
}

impl Late {
    fn of(state: &ReadOnly, config: &Config, running: bool, now: Timestamp) -> Result<Self, StoreError> {
        let targets = i64::try_from(state.polled_count()?).unwrap_or(i64::MAX);
        // A daemon writes the times of its checks late.
        let unwritten_ms = if running { TIMES_LATE_MS } else { 0 };
        let after_ms = polling::late_after_ms(targets, config.requests_per_minute) + unwritten_ms;
        Ok(Self { counts: state.late(now.plus_ms(-after_ms))?, after_ms })
    }

    /// In words; `None` when nothing is late.
    fn words(&self, now: Timestamp) -> Option<String> {
        let LateCounts { pages, canvases, folders, oldest } = self.counts;
        let some = |number: u64, one, many| (number > 0).then(|| output::count(number, one, many));
        let parts = [
            some(pages, "page", "pages"),
            some(canvases, "canvas", "canvases"),
            some(folders, "folder of the storage", "folders of the storage"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let ago = output::ago(now.since_ms(oldest?));
        let within = output::duration(self.after_ms);
        Some(format!(
            "{}: the oldest check was {ago}, and should be within {within}; check now with espejo pull",
            parts.join(", ")
        ))
    }
}

/// How soon changes made in the app are noticed, as the daemon has measured it.
///
/// # Errors
/// [`StoreError`] when the state cannot be read.
pub fn noticed(state: &ReadOnly) -> Result<Option<Noticed>, StoreError> {
    let (delays, learned) = (state.meta(polling::DELAYS)?, state.meta(polling::BELIEF)?);
    Ok(polling::noticed(delays.as_deref(), learned.as_deref()))
}

/// The same in words.
pub fn noticed_words(noticed: Noticed) -> String {
    let within = output::duration(i64::from(noticed.seconds) * 1_000);
    let helps = if noticed.search_helps { "; search helps" } else { "" };
    format!("espejo usually notices changes in the app within {within}{helps}")
}

/// Whether background reading is slower since the service refused a request.
fn slowed(counts: &StatusCounts, now: Timestamp) -> bool {
    counts.refused_at.is_some_and(|at| now.since_ms(at) < polling::SLOWED_MS)
}

fn age_seconds(at: Option<Timestamp>, now: Timestamp) -> Option<i64> {
    at.map(|at| now.since_ms(at).max(0) / 1_000)
}
