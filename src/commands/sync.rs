//! `espejo sync`: one full pass both ways, then an end.

use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

use anyhow::{Result, bail};
use indicatif::MultiProgress;

use super::progress::Progress;
use super::{output, session};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon::{Ended, Observer};
use crate::engine::{Engine, Happening, Summary, Way};
use crate::model::{Event, Request, Timestamp};
use crate::store::StoreError;

/// A pass that cannot go on (no network, a bad token) is given up after this long without progress.
const STUCK_MS: i64 = 60_000;

/// One full pass.
///
/// # Errors
/// One sentence, when a session cannot be opened, the pass cannot be finished, or it is interrupted.
pub async fn run(
    config: &Config,
    variable: &dyn Fn(&str) -> Option<OsString>,
    bars: &MultiProgress,
    terminal: bool,
    quiet: bool,
    out: &mut dyn Write,
) -> Result<Exit> {
    let mut opened = session::open(config, session::settings(config), variable)?;
    opened.daemon.watches = false;
    let now = (opened.daemon.clock)();
    opened.daemon.engine.handle(Event::Asked(Request::FullPass), now)?;
    let (_wishes, wished) = tokio::sync::mpsc::unbounded_channel();
    let mut pass = Pass::new(Progress::new(bars, terminal, quiet), now);
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let ended = opened.daemon.run(wished, interrupted, &mut pass).await;
    pass.progress.finish();
    if ended? == Ended::Stopped {
        bail!("interrupted; run espejo sync again and it goes on from here");
    }
    let summary = pass.summary;
    if !quiet && summary.pass_is_over {
        writeln!(out, "{}", last_line(&summary, &pass.happened))?;
    }
    for item in summary.attention.iter().filter(|_| session::stopped(&summary).is_none()) {
        let place = if item.path.is_empty() { "espejo" } else { &item.path };
        writeln!(out, "{} {place}: {} ({})", output::paint(output::ODD, "!"), item.reason, item.action)?;
    }
    if summary.conflicts > 0 {
        let conflicts = output::count(summary.conflicts as u64, "conflict", "conflicts");
        writeln!(out, "{} {conflicts}: espejo conflicts", output::paint(output::ODD, "!"))?;
    }
    if let Some(stopped) = session::stopped(&summary) {
        bail!("{}; {}", stopped.reason, stopped.action);
    }
    if !summary.pass_is_over {
        let why =
            summary.attention.first().map_or("it made no progress for a minute", |item| item.reason.as_str());
        bail!("not everything could be looked at: {why}; run espejo sync again later");
    }
    let needs = !summary.attention.is_empty() || summary.conflicts > 0;
    Ok(if needs { Exit::NeedsUser } else { Exit::Done })
}

fn last_line(summary: &Summary, happened: &[Happening]) -> String {
    let count = |way| happened.iter().filter(|h| h.way == way).count() as u64;
    let (up, down) = (count(Way::Up), count(Way::Down));
    let pages = output::count(summary.mirrored as u64, "page", "pages");
    if up + down == 0 {
        return format!("{pages} in step, nothing to do");
    }
    format!(
        "{pages} in step: {} sent, {} received",
        output::count(up, "change", "changes"),
        output::grouped(down)
    )
}

struct Pass {
    progress: Progress,
    summary: Summary,
    happened: Vec<Happening>,
    moved_at: Timestamp,
}

impl Pass {
    fn new(progress: Progress, now: Timestamp) -> Self {
        Self { progress, summary: Summary::default(), happened: Vec::new(), moved_at: now }
    }
}

impl Observer for Pass {
    fn turn(&mut self, engine: &mut Engine, now: Timestamp) -> Result<bool, StoreError> {
        self.happened.extend(engine.take_happenings());
        let summary = engine.summary(now)?;
        let mark = |s: &Summary| (s.looked, s.mirrored, s.pending, s.requests_last_minute, s.listed);
        if mark(&summary) != mark(&self.summary) {
            self.moved_at = now;
        }
        if self.progress.is_due(now) {
            self.progress.show(&summary, now);
        }
        let over = summary.pass_is_over || session::stopped(&summary).is_some();
        self.summary = summary;
        Ok(!over && now.since_ms(self.moved_at) < STUCK_MS)
    }

    fn wakeup(&self) -> Option<Duration> {
        Some(self.progress.wakeup().unwrap_or(Duration::from_secs(1)))
    }
}
