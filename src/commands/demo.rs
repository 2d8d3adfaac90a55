//! `espejo demo`: the built-in service with a sample workspace, mirrored live, without an account.

mod folder;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::signal::unix::SignalKind;

use crate::cli::{Call, Exit, output, session};
use crate::config::Config;
use crate::daemon::control::{self, Listener};
use crate::daemon::{self, Ended, Observer};
use crate::emulator::{Server, Window, sample};
use crate::engine::{Activity, Engine, Way};
use crate::model::{Settings, Timestamp};
use crate::store::StoreError;
use folder::Folder;

/// More than can be guessed, for the token and for the app's address.
const TOKEN_LENGTH: usize = 24;
/// Three times what the real service allows, so that the first minute is not spent waiting.
const LIMIT: usize = 180;
/// What the demo's service allows: a curious user's own requests have room beside espejo's.
const SERVICE_LIMIT: usize = 300;
const COLLEAGUE_EVERY: Duration = Duration::from_secs(25);
/// What a path keeps in the narrowest terminal.
const SHORTEST: usize = 16;

/// Try espejo with a sample workspace, without an account
///
/// Starts a small service inside this program with a sample workspace, mirrors it into a folder, shows it in your
/// browser too, and suggests what to try. No data leaves this machine. Ctrl-C ends the demo.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Args)]
#[command(after_help = "Example:  espejo demo --dir ~/espejo-demo")]
pub struct Args {
    /// Folder of the demo; a second demo in it goes on where the first ended [default: a new temporary folder]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}

/// Runs the demo until Ctrl-C.
///
/// # Errors
/// One sentence, when the folder cannot be used or no port can be had.
pub async fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let out = &mut *call.out;
    let folder = Folder::open(args.dir.as_deref())?;
    let service = folder.service()?;
    let is_new = service.is_new;
    let (mut world, keeper) = service.into_parts();
    world.set_limit(Some(SERVICE_LIMIT), Window::SlidingLog);
    // Other users of this machine reach the port too.
    let token = daemon::fresh_tag(TOKEN_LENGTH);
    let server =
        Server::start(world, &token).await.context("the demo's service cannot open a loopback port")?;
    let keeper = keeper(server.shared());
    // Before the first file: what the state knows must be at the service, too.
    keeper.save()?;
    let app = server.open_app(&daemon::fresh_tag(TOKEN_LENGTH));
    let root = folder.mirror();
    let config_file = folder.config(&server.base_url(), &token, LIMIT)?;
    let config = Config::load(Some(&config_file), &|_| None)?;
    let settings = Settings { eager: true, ..session::settings(&config) };
    let mut opened = session::open(&config, settings.clone(), &|_| None)?;
    writeln!(out, "A small service runs inside this program (no data leaves this machine), and")?;
    writeln!(out, "its sample workspace is synced in both directions with")?;
    writeln!(out, "\n  {}\n", output::paint(output::NAME, &root.display().to_string()))?;
    if !is_new {
        writeln!(out, "Both sides go on where the last demo in this folder ended.\n")?;
    }
    writeln!(out, "The app, the other side of the mirror, is at")?;
    writeln!(out, "\n  {}\n", output::paint(output::NAME, &app))?;
    out.flush()?;
    let (told, overheard) = std::sync::mpsc::channel();
    let status = status_command(&config_file);
    let mut show = Show { out, root: &root, status, overheard, greeted: false, failed: None };
    let shared = server.shared();
    let colleague = async {
        loop {
            tokio::time::sleep(COLLEAGUE_EVERY).await;
            let mut world = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let what = sample::colleague_step(&mut world, keeper.steps.get());
            keeper.steps.set(keeper.steps.get() + 1);
            // The demo may be ending.
            drop(told.send(what));
        }
    };
    let stop = async {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            () = terminated() => {}
            () = colleague => {}
            () = keeper.keep() => {}
        }
    };
    tokio::pin!(stop);
    let ended = loop {
        let (wishes, wished) = tokio::sync::mpsc::unbounded_channel();
        let _socket = control::listen(&config.state_dir, wishes, Listener::Daemon);
        match Box::pin(opened.run(wished, stop.as_mut(), &mut show)).await {
            // An older copy was put in the folder's place, for one.
            Ok(Ended::FolderCame) => opened = session::open(&config, settings.clone(), &|_| None)?,
            ended => break ended,
        }
    };
    let failed = show.failed.take();
    keeper.save()?;
    ended?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    writeln!(out, "\nThe demo is over. Its files are still in {}", root.display())?;
    let dir = output::shell_word(&folder.dir.display().to_string());
    writeln!(out, "To go on with them: {} demo --dir {dir}", program())?;
    server.stop().await;
    Ok(Exit::Done)
}

/// SIGTERM, or SIGHUP: the terminal's window was closed.
async fn terminated() {
    let signal = |kind| async move {
        match tokio::signal::unix::signal(kind) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = signal(SignalKind::terminate()) => {}
        () = signal(SignalKind::hangup()) => {}
    }
}

/// What a person types to see the demo's status.
fn status_command(config: &Path) -> String {
    format!("{} status --config {}", program(), output::shell_word(&config.display().to_string()))
}

/// This program as the shell finds it.
fn program() -> String {
    let own = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    let in_path = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).map(|dir| dir.join("espejo")).find(|file| file.is_file())
    });
    let found = in_path.and_then(|file| file.canonicalize().ok());
    match own {
        Some(own) if found.as_ref() != Some(&own) => output::shell_word(&own.display().to_string()),
        _ => "espejo".to_owned(),
    }
}

/// One line for each thing that happens.
struct Show<'a> {
    out: &'a mut (dyn Write + Send),
    root: &'a Path,
    status: String,
    /// What the colleague says of their work.
    overheard: std::sync::mpsc::Receiver<String>,
    greeted: bool,
    failed: Option<std::io::Error>,
}

impl Show<'_> {
    fn turn_or_fail(
        &mut self,
        engine: &Engine,
        happened: &[Activity],
        now: Timestamp,
    ) -> Result<(), Failure> {
        if !self.greeted {
            let summary = engine.summary(now)?;
            if !summary.is_settled || summary.listed == 0 {
                return Ok(());
            }
            self.greeted = true;
            self.greet(summary.mirrored, summary.storage.files)?;
            return Ok(());
        }
        while let Ok(what) = self.overheard.try_recv() {
            self.line(now, " ", output::DIM, "", &format!("in the app, {what}"))?;
        }
        for event in happened {
            let (arrow, style) = match event.way {
                Way::Up => ("↑", output::GOOD),
                Way::Down => ("↓", output::NAME),
                Way::Aside => ("·", output::ODD),
            };
            self.line(now, arrow, style, &event.path, &event.what)?;
        }
        self.out.flush()?;
        Ok(())
    }

    /// `12:03:59  ↑ Casa/Pages/Recetas.md  edit sent`, on one line of the terminal where that is possible.
    fn line(
        &mut self,
        now: Timestamp,
        arrow: &str,
        style: anstyle::Style,
        path: &str,
        what: &str,
    ) -> std::io::Result<()> {
        let time = crate::cli::when::time_of_day(now);
        let rest = output::columns(&time) + output::columns(what) + 6;
        let path = match output::terminal_columns() {
            Some(columns) => output::shortened(path, columns.saturating_sub(rest).max(SHORTEST)),
            None => path.to_owned(),
        };
        let gap = if path.is_empty() { "" } else { "  " };
        let (time, what) = (output::paint(output::DIM, &time), output::paint(output::DIM, what));
        let path = crate::logging::escape(&path);
        writeln!(self.out, "{time}  {} {path}{gap}{what}", output::paint(style, arrow))
    }

    fn greet(&mut self, pages: usize, files: usize) -> Result<(), Failure> {
        let proposed = proposed(self.root);
        let file = self.root.join(&proposed);
        let folder = output::shell_word(&file.parent().unwrap_or(self.root).display().to_string());
        let name = output::shell_word(&file.file_name().unwrap_or_default().to_string_lossy());
        writeln!(
            self.out,
            "{pages} pages and {files} personal files are there. Open another terminal and try:\n"
        )?;
        // From the folder that the first line goes to: a whole path would not fit into a narrow terminal.
        let hour = format!("{}Storage/Hora.txt", "../".repeat(proposed.matches('/').count()));
        let lines = [
            (format!("cd {folder}"), ""),
            (format!("echo '- [ ] Try espejo' >> {name}"), "one more box in the app"),
            (format!("vim {name}"), "use any editor"),
            ("echo 'A new page.' > Idea.md".to_owned(), "mkdir, cp, mv and rm work too"),
            (format!("date > {}", output::shell_word(&hour)), "personal files, in both directions"),
        ];
        let widest =
            lines.iter().filter(|(_, why)| !why.is_empty()).map(|(line, _)| output::columns(line)).max();
        for (line, why) in &lines {
            let gap = widest.unwrap_or(0).saturating_sub(output::columns(line));
            let why = if why.is_empty() { String::new() } else { format!("{:gap$}   # {why}", "") };
            writeln!(self.out, "  {line}{}", output::paint(output::DIM, &why))?;
        }
        writeln!(self.out, "  {}\n", self.status)?;
        writeln!(self.out, "Colleagues work in the app now and then; their changes appear in the files.")?;
        writeln!(
            self.out,
            "The demo sends up to {LIMIT} requests a minute. A real service often allows 60, so"
        )?;
        writeln!(self.out, "changes in the app take longer to arrive there.")?;
        let (up, down) = (output::paint(output::GOOD, "↑"), output::paint(output::NAME, "↓"));
        writeln!(self.out, "{up} went to the service, {down} came from it. Ctrl-C ends the demo.\n")?;
        self.out.flush()?;
        Ok(())
    }
}

/// The page to try things on: one with a few lines of text, as easy to type as may be. Colleagues rename only notes of their
/// own, and the name of a note has a space.
fn proposed(root: &Path) -> String {
    let mut paths = Vec::new();
    for space in names(root).into_iter().filter(|name| !name.starts_with('.')) {
        pages_in(root, &format!("{space}/Pages"), &mut paths);
    }
    let lines = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        let body = text.rsplit("\n---\n").next().unwrap_or_default().to_owned();
        body.lines().filter(|line| line.chars().any(char::is_alphabetic)).count()
    };
    let ease = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or_default();
        let needs_quotes = output::shell_word(name).len() > name.len();
        let has_subpages = root.join(path.trim_end_matches(".md")).is_dir();
        (lines(path) < 3, has_subpages, !name.is_ascii(), needs_quotes, path.matches('/').count(), path.len())
    };
    paths.into_iter().min_by_key(ease).unwrap_or_default()
}

/// The pages' files beneath a folder of the mirror, but no conflict copies.
fn pages_in(root: &Path, folder: &str, paths: &mut Vec<String>) {
    for name in names(&root.join(folder)) {
        let path = format!("{folder}/{name}");
        // A link may lead in circles.
        if std::fs::symlink_metadata(root.join(&path)).is_ok_and(|found| found.is_dir()) {
            pages_in(root, &path, paths);
        } else if name.ends_with(".md") && !name.contains(".conflict-") {
            paths.push(path);
        }
    }
}

/// What a folder holds, in the order of names; nothing where it cannot be read.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Either side of a turn that can fail.
enum Failure {
    Store(StoreError),
    Out(std::io::Error),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Out(error)
    }
}

impl Observer for Show<'_> {
    fn turn(&mut self, engine: &Engine, happened: &[Activity], now: Timestamp) -> Result<bool, StoreError> {
        match self.turn_or_fail(engine, happened, now) {
            Ok(()) => Ok(true),
            Err(Failure::Store(error)) => Err(error),
            Err(Failure::Out(error)) => {
                self.failed = Some(error);
                Ok(false)
            }
        }
    }

    fn wakeup(&self) -> Option<Duration> {
        (!self.greeted).then(|| Duration::from_millis(50))
    }
}
