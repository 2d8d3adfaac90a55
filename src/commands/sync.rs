//! `espejo sync`: one full pass both ways, then an end; with paths, a check of these now. Where a daemon or another sync runs
//! already, that one does it; a sync of our own answers the other commands meanwhile, as a daemon does.

mod dry_run;
mod look;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::cli::progress::{Progress, Screen};
use crate::cli::session::interrupted;
use crate::cli::waits::Waits;
use crate::cli::{self, Call, Exit, output, session};
use crate::commands::search;
use crate::config::Config;
use crate::daemon::control::{self, Ask, Following, HungUp, Listener, Step};
use crate::daemon::{self, Ended, Observer, Pass, PassState, stopped};
use crate::engine::{Activity, Engine, Summary};
use crate::model::{Event, Level, Request, Timestamp, and_others, by_cause, to_act_on};
use crate::store::StoreError;

/// How often it is looked whether another sync has let the state go, and how long that may take.
const FREE_EVERY: Duration = Duration::from_millis(50);
const FREE_TRIES: u32 = 200;

/// Sync once in both directions, then exit; with PATH, only that
///
/// Checks everything on both sides, syncs the differences and shows the progress. With PATH, only that file or folder is
/// checked and synced, including new items, and what came is listed. A daemon that runs does it; your edits never wait for
/// it. While a sync runs, the other commands work as with a daemon. The exit code is 1 if something is left that needs
/// no action of yours, and 3 if something needs attention; `espejo status` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  espejo sync --dry-run\n  espejo sync ~/Workspace/Acme/Pages/Roadmap.md\n  espejo sync --quiet && echo all is well"
)]
pub struct Args {
    /// Check and sync only these files and folders, now
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath, conflicts_with_all = ["dry_run", "deep"])]
    pub paths: Vec<PathBuf>,
    /// Show what would be done, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Read everything anew and compare: every stored file with the hash from its download, too; what is damaged goes to
    /// the mirror's trash and is fetched again
    #[arg(long, conflicts_with = "dry_run")]
    pub deep: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// One full pass, or a check of the paths.
///
/// # Errors
/// One sentence, when a session cannot be opened, the pass cannot be finished, or it is interrupted.
pub async fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let (config, screen) = (&call.config()?, call.screen());
    if args.dry_run {
        return dry_run::run(config, &cli::variable, screen, args.json, call.out).await;
    }
    let exit = if args.paths.is_empty() {
        whole(args, screen, config, call.out).await
    } else {
        look::run(config, args, screen, call.out).await
    };
    if exit.is_ok() {
        call.out.flush()?;
        search::keep_up_after_sync(config);
    }
    exit
}

/// One full pass.
async fn whole(
    args: &Args,
    screen: Screen<'_>,
    config: &Config,
    out: &mut (dyn Write + Send),
) -> Result<Exit> {
    let request = if args.deep { Request::DeepPass } else { Request::FullPass };
    let pass = pass(config, screen, request).await?;
    if args.json {
        output::json(out, &as_json(&pass))?;
        return conclude(&pass, true, &mut std::io::sink());
    }
    if args.deep && !screen.quiet && pass.summary.pass_is_over {
        output::say(out, &compared(&pass.summary))?;
    }
    conclude(&pass, screen.quiet, out)
}

/// One full pass of a kind, by the daemon that runs or by this process.
async fn pass(config: &Config, screen: Screen<'_>, request: Request) -> Result<Pass> {
    session::refuse_in_pause(config)?;
    let ask = if request == Request::DeepPass { Ask::DeepSync } else { Ask::Sync };
    let shown = || {
        let progress = Progress::new(screen.bars, screen.terminal, screen.quiet);
        (progress, Waits::new(screen.bars, screen.quiet))
    };
    let follow = async |following| follow(config, following, shown()).await;
    by_whom(config, &ask, follow, async || Box::pin(make(config, shown(), request)).await).await
}

/// Has the daemon or the sync that runs do what is asked, and follows it; where none runs, does it here.
async fn by_whom<T>(
    config: &Config,
    ask: &Ask,
    follow: impl AsyncFn(Following) -> Result<T>,
    make: impl AsyncFnOnce() -> Result<T>,
) -> Result<T> {
    loop {
        let is_beside_sync = control::listener(&config.state_dir) == Some(Ok(Listener::Sync));
        let Some(following) = Following::start(&config.state_dir, ask).await? else { return make().await };
        match follow(following).await {
            // A sync ends when it is done itself; what is left is ours.
            Err(error) if is_beside_sync && error.is::<HungUp>() => free(config).await,
            ended => return ended,
        }
    }
}

/// Waits until the sync that has ended lets the state go, for some seconds at most.
async fn free(config: &Config) {
    for _ in 0..FREE_TRIES {
        if !session::is_running(&config.state_dir) {
            return;
        }
        tokio::time::sleep(FREE_EVERY).await;
    }
}

/// A pass of our own.
async fn make(config: &Config, (progress, waits): (Progress, Waits), request: Request) -> Result<Pass> {
    let mut opened = session::open(config, session::settings(config), &cli::variable)?;
    let now = (opened.clock)();
    opened.engine.handle(Event::Asked(request), now)?;
    let (wishes, wished) = tokio::sync::mpsc::unbounded_channel();
    let _socket = control::listen(&config.state_dir, wishes, Listener::Sync);
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
    (mut progress, mut waits): (Progress, Waits),
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

/// What a pass came to, for a person; what needs them, and the exit code.
///
/// # Errors
/// One sentence, when it could not be finished.
fn conclude(pass: &Pass, quiet: bool, out: &mut dyn Write) -> Result<Exit> {
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
        let why = output::count(summary.conflicts as u64, "file holds", "files hold");
        let why = format!("{why} words that both sides changed; your versions are kept beside them");
        output::need(out, Level::Act, "", &why, "espejo resolve lists them")?;
    }
    if let Some(since) = summary.paused {
        bail!("{}", session::refusal(since));
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

/// What a deep pass has compared.
fn compared(summary: &Summary) -> String {
    let storage = &summary.storage;
    let mut words = output::count(summary.mirrored as u64, "page", "pages");
    words.push_str(" compared with the service");
    if storage.listed > 0 {
        let files = output::count(storage.files as u64, "stored file", "stored files");
        words.push_str(&format!("; {files} read, {}", output::bytes(storage.bytes)));
    }
    words
}

fn as_json(pass: &Pass) -> serde_json::Value {
    let Summary { mirrored, held, canvases, conflicts, storage, attention, pass_is_over, .. } = &pass.summary;
    serde_json::json!({
        "complete": pass_is_over,
        "sent": pass.sent,
        "received": pass.received,
        "pages": { "mirrored": mirrored, "on_hold": held },
        "canvases": { "mirrored": canvases },
        "storage": { "files": storage.files, "bytes": storage.bytes, "on_hold": storage.held },
        "conflicts": conflicts,
        "attention": attention.iter().map(output::attention_json).collect::<Vec<_>>(),
    })
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
