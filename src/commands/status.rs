//! `espejo status`: is everything safe? Works beside a running daemon and without one.

mod live;
mod place;
mod screen;

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use crate::cli::when::rfc3339;
use crate::cli::{self, Call, Exit, output, session, terminal, unsynced};
use crate::commands::service::unit;
use crate::config::{Config, ConfigError};
use crate::daemon;
use crate::daemon::control::{self, Listener};
use crate::engine::polling::{self, Noticed};
use crate::model::{Attention, Code, StorageMode, Timestamp, to_act_on};
use crate::store::{
    BoardCounts, Conflict, LateCounts, ReadOnly, StatusCounts, StorageCounts, StoreError, TIMES_LATE_MS,
    Waiting,
};

/// Show the sync state, pending edits and what needs attention
///
/// With PATH, status says how that file or folder stands, when it is checked next and why, or why it is not synced. The
/// service does not announce changes, so espejo checks pages, at most 60 a minute: a page that changes often is checked
/// often, a page without changes seldom, and every page within a time that depends on the number of pages.
/// The exit code is 3 if something needs attention, or if nothing runs although a service is installed.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  espejo status\n  espejo status --watch\n  espejo status ~/Workspace/Acme/Pages/Roadmap.md\n  espejo status --json | jq .attention"
)]
pub struct Args {
    /// How these files and folders stand, and when they are checked next
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Refresh every second; q or Ctrl-C ends it
    #[arg(short, long, conflicts_with_all = ["json", "paths", "short"])]
    pub watch: bool,
    /// Print one short line, as for a prompt
    #[arg(short, long, conflicts_with_all = ["json", "paths"])]
    pub short: bool,
}

/// Shows where everything stands. Exit code 3 when something needs the user, or when nothing runs although systemd has a unit
/// for it.
///
/// # Errors
/// One sentence, when the state cannot be read.
pub async fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let config = &call.config()?;
    if !args.paths.is_empty() {
        return place::run(config, &args.paths, args.json, call.out);
    }
    let unit = unit::installed_for(call.global.config.as_deref(), &cli::variable);
    if args.watch {
        return live::watch(config, unit.as_deref(), call.out).await;
    }
    let view = View::take(config, unit.as_deref())?;
    if args.json {
        output::json(call.out, &json(&view))?;
    } else if call.quiet() {
        for line in screen::acts_alone(&view, terminal::size().map(|(columns, _)| columns)) {
            writeln!(call.out, "{line}")?;
        }
    } else if args.short {
        writeln!(call.out, "{}", screen::short(&view))?;
    } else {
        for line in screen::lines(&view, terminal::size().map(|(columns, _)| columns)) {
            writeln!(call.out, "{line}")?;
        }
    }
    Ok(view.exit())
}

/// A short status where a config is found; else how to begin.
///
/// # Errors
/// One sentence, when the config is wrong or the state cannot be read.
pub fn at_a_glance(call: &mut Call<'_>) -> Result<Exit> {
    let config = match call.config() {
        Ok(config) => config,
        Err(error) if error.downcast_ref::<ConfigError>().is_some_and(ConfigError::is_missing) => {
            let lines = [
                "espejo keeps a workspace on disk as ordinary files, in both directions; it is not set up yet.",
                "  espejo demo     try it with a sample workspace, without an account",
                "  espejo init     set it up",
                "  espejo --help   all commands",
            ];
            writeln!(call.out, "{}", lines.join("\n"))?;
            return Ok(Exit::Done);
        }
        Err(error) => return Err(error),
    };
    let unit = unit::installed_for(call.global.config.as_deref(), &cli::variable);
    let view = View::take(&config, unit.as_deref())?;
    for line in screen::glance(&view, terminal::size().map(|(columns, _)| columns)) {
        writeln!(call.out, "{line}")?;
    }
    Ok(view.exit())
}

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
        let running = session::is_running(&config.state_dir);
        let listener = running.then(|| control::listener(&config.state_dir)).flatten();
        let mut view = Self {
            config,
            now,
            running,
            unit,
            is_command: running && !matches!(listener, Some(Ok(Listener::Daemon) | Err(_))),
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
        if let Some(Err(why)) = &listener {
            view.attention.insert(0, state_unusable(why));
        }
        Ok(view)
    }

    /// How many things need a person.
    fn needs(&self) -> usize {
        to_act_on(&self.attention) + self.conflicts.len()
    }

    fn exit(&self) -> Exit {
        let is_down = self.unit.is_some() && !self.running;
        if self.needs() > 0 || is_down { Exit::NeedsUser } else { Exit::Done }
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
        "attention": view.attention.iter().map(output::attention_json).collect::<Vec<_>>(),
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

fn conflict_json(conflict: &Conflict) -> serde_json::Value {
    json!({
        "path": conflict.page_path.as_str(),
        "copy": conflict.path.as_str(),
        "made_at": rfc3339(conflict.made_at),
        "summary": conflict.summary,
    })
}

/// What has not been looked at for longer than the schedule means it to be: a full `espejo sync` checks it.
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
            "{}: the oldest check was {ago}, and should be within {within}; espejo sync checks them now",
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
