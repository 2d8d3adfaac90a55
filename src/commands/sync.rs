//! `espejo sync`: one full pass both ways, then an end. Where a daemon runs already, that one makes the pass.

use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;

use anyhow::{Result, bail};
use indicatif::MultiProgress;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::control::{Ask, Following, Step};
use super::progress::Progress;
use super::waits::Waits;
use super::{output, pause, session};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon::{self, Ended, Observer, Pass, PassState, stopped};
use crate::engine::{Activity, Engine, Summary};
use crate::model::{Event, Level, Request, Timestamp, and_others, by_cause, to_act_on};
use crate::store::StoreError;

/// How a pass is shown while it goes on.
pub struct Screen<'a> {
    /// Where bars are drawn.
    pub bars: &'a MultiProgress,
    /// Whether stderr is a terminal.
    pub terminal: bool,
    /// Whether only what needs the user is said.
    pub quiet: bool,
}

/// One full pass.
///
/// # Errors
/// One sentence, when a session cannot be opened, the pass cannot be finished, or it is interrupted.
pub async fn run(
    config: &Config,
    variable: &dyn Fn(&str) -> Option<OsString>,
    screen: Screen<'_>,
    out: &mut dyn Write,
) -> Result<Exit> {
    let quiet = screen.quiet;
    let pass = pass(config, variable, screen, Request::FullPass).await?;
    conclude(&pass, quiet, out)
}

/// One full pass of a kind, by the daemon that runs or by this process.
///
/// # Errors
/// One sentence, when a session cannot be opened, the pass cannot be finished, or it is interrupted.
pub async fn pass(
    config: &Config,
    variable: &dyn Fn(&str) -> Option<OsString>,
    screen: Screen<'_>,
    request: Request,
) -> Result<Pass> {
    pause::refuse(config)?;
    let progress = Progress::new(screen.bars, screen.terminal, screen.quiet);
    let waits = Waits::new(screen.bars, screen.quiet);
    let ask = match request {
        Request::Verify { deep } => Ask::Verify(deep),
        _ => Ask::Sync,
    };
    match Following::start(&config.state_dir, &ask).await? {
        Some(following) => follow(config, following, progress, waits).await,
        None => Box::pin(make(config, variable, (progress, waits), request)).await,
    }
}

/// A pass of our own.
async fn make(
    config: &Config,
    variable: &dyn Fn(&str) -> Option<OsString>,
    (progress, waits): (Progress, Waits),
    request: Request,
) -> Result<Pass> {
    let mut opened = session::open(config, session::settings(config), variable)?;
    let now = (opened.clock)();
    opened.engine.handle(Event::Asked(request), now)?;
    let (_wishes, wished) = tokio::sync::mpsc::unbounded_channel();
    let mut watching = Watching { progress, waits, pass: Pass::new(config.pages.delete_grace_ms, now) };
    let ended = Box::pin(opened.run(wished, interrupted(), &mut watching)).await;
    watching.progress.finish();
    match ended? {
        Ended::Satisfied => {}
        Ended::Stopped => bail!("interrupted; run espejo sync again to continue"),
        Ended::FolderCame | Ended::ClockWasSet => {
            bail!("the folder appeared or was replaced meanwhile; run espejo sync again")
        }
    }
    Ok(watching.pass)
}

/// A pass of the daemon that runs.
async fn follow(
    config: &Config,
    mut following: Following,
    mut progress: Progress,
    mut waits: Waits,
) -> Result<Pass> {
    let clock = daemon::real_clock();
    let mut pass = Pass::new(config.pages.delete_grace_ms, clock());
    let steps = async {
        while following.next::<Step>().await?.tell(&mut pass) == PassState::UnderWay {
            let now = clock();
            waits.tell(&pass.summary.attention, pass.ends_at);
            if progress.is_due(now) {
                progress.show(&pass.summary, now);
            }
        }
        Ok(())
    };
    let followed = tokio::select! {
        followed = steps => followed,
        () = interrupted() => Err(anyhow::anyhow!("interrupted; the running espejo continues")),
    };
    progress.finish();
    followed.map(|()| pass)
}

/// Ready when this process is told to end. From this call on, being told does not end it by itself.
pub(super) fn interrupted() -> impl Future<Output = ()> {
    let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok());
    let heard = |signal: Option<Signal>| async move {
        match signal {
            Some(mut signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    };
    async move {
        let [interrupt, terminate] = signals.map(heard);
        tokio::select! {
            () = interrupt => {}
            () = terminate => {}
        }
    }
}

/// What a pass came to, for a person; what needs them, and the exit code.
///
/// # Errors
/// One sentence, when it could not be finished.
pub fn conclude(pass: &Pass, quiet: bool, out: &mut dyn Write) -> Result<Exit> {
    let summary = &pass.summary;
    let needs = to_act_on(&summary.attention) + summary.conflicts;
    if !quiet && summary.pass_is_over {
        let end = if needs > 0 { format!("; {}", output::needs(needs)) } else { String::new() };
        output::say(out, &format!("{}{end}", last_line(pass)))?;
    }
    for (item, others) in by_cause(&summary.attention).into_iter().filter(|_| stopped(summary).is_none()) {
        output::need(out, item.level(), &and_others(&item.path, others), &item.reason, &item.action)?;
    }
    if summary.conflicts > 0 {
        let why = output::count(summary.conflicts as u64, "page holds", "pages hold");
        let why = format!("{why} words that both sides changed; your versions are kept beside them");
        output::need(out, Level::Act, "conflicts", &why, "espejo conflicts lists them")?;
    }
    if let Some(since) = summary.paused {
        bail!("{}", pause::refusal(since));
    }
    if let Some(stopped) = stopped(summary) {
        bail!("{}; {}", stopped.reason, stopped.action);
    }
    let waits = summary.attention.iter().any(|item| item.level() == Level::Waiting);
    let is_left = !summary.pass_is_over || waits;
    if is_left && needs == 0 {
        bail!("not everything could be done: {}; run espejo sync again later", what_is_left(summary));
    }
    if !summary.pass_is_over {
        output::say(out, &format!("not everything could be done: {}", what_is_left(summary)))?;
    }
    Ok(if needs > 0 { Exit::NeedsUser } else { Exit::Done })
}

/// What a pass has not done: the first thing by its name, and how many others.
fn what_is_left(summary: &Summary) -> String {
    let left: Vec<_> = summary.attention.iter().filter(|item| item.level() != Level::Note).collect();
    let others = match left.len().saturating_sub(1) {
        0 => String::new(),
        others => format!(", and {} more", output::grouped(others as u64)),
    };
    match left.first() {
        None => "it made no progress for a minute".to_owned(),
        Some(item) if item.path.is_empty() => format!("{}{others}", item.reason),
        Some(item) => format!("{}: {}{others}", item.path, item.reason),
    }
}

fn last_line(pass: &Pass) -> String {
    let summary = &pass.summary;
    let storage = &summary.storage;
    let mut what = output::count(summary.mirrored.saturating_sub(summary.held) as u64, "page", "pages");
    if storage.listed > 0 {
        let files = output::count(storage.files as u64, "stored file", "stored files");
        what.push_str(&format!(" and {files} ({})", output::bytes(storage.bytes)));
    }
    what.push_str(" in sync");
    let held = summary.held + storage.held;
    if held > 0 {
        what.push_str(&format!(", {} on hold", output::grouped(held as u64)));
    }
    if pass.sent + pass.received == 0 {
        return if held > 0 { what } else { format!("{what}, nothing to do") };
    }
    format!(
        "{what}: {} sent, {} received",
        output::count(pass.sent, "change", "changes"),
        output::grouped(pass.received)
    )
}

struct Watching {
    progress: Progress,
    waits: Waits,
    pass: Pass,
}

impl Observer for Watching {
    fn turn(&mut self, engine: &Engine, happened: &[Activity], now: Timestamp) -> Result<bool, StoreError> {
        let state = self.pass.take_in(engine.summary(now)?, happened, now);
        if state == PassState::UnderWay {
            self.waits.tell(&self.pass.summary.attention, self.pass.ends_at);
        }
        if self.progress.is_due(now) {
            self.progress.show(&self.pass.summary, now);
        }
        Ok(state == PassState::UnderWay)
    }

    fn wakeup(&self) -> Option<Duration> {
        Some(self.progress.wakeup().unwrap_or(Duration::from_secs(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::StorageSummary;

    fn check(summary: Summary, sent: u64, told: &str) {
        let mut pass = Pass::new(0, Timestamp(0));
        (pass.summary, pass.sent) = (summary, sent);
        assert_eq!(last_line(&pass), told);
    }

    #[test]
    fn what_is_held_is_not_called_in_step() {
        let pages = |mirrored, held| Summary { mirrored, held, ..Summary::default() };
        check(pages(12, 0), 0, "12 pages in sync, nothing to do");
        check(pages(12, 0), 2, "12 pages in sync: 2 changes sent, 0 received");
        check(pages(12, 11), 0, "1 page in sync, 11 on hold");
        check(pages(12, 1), 1, "11 pages in sync, 1 on hold: 1 change sent, 0 received");
        let storage =
            StorageSummary { files: 3, bytes: 2_000, held: 4, listed: 7, ..StorageSummary::default() };
        let told = "11 pages and 3 stored files (2 kB) in sync, 5 on hold";
        check(Summary { storage, ..pages(12, 1) }, 0, told);
    }
}
