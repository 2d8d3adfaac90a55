//! `espejo demo`: the built-in service with a sample workspace, mirrored live, without an account.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use super::{control, output, session};
use crate::cli::Exit;
use crate::config::Config;
use crate::daemon::{self, Observer};
use crate::emulator::{Server, Window, sample};
use crate::engine::{Engine, Happening, Way};
use crate::model::{Settings, Timestamp};
use crate::store::StoreError;

const TOKEN: &str = "espejo-demo-token";
/// The same sample, with the same ids, every time: a demo can be taken up again in the same folder.
const SEED: u64 = 2026;
/// Three times what the real service allows, so that the first minute is not spent waiting.
const LIMIT: usize = 180;
const COLLEAGUE_EVERY: Duration = Duration::from_secs(25);

/// Runs the demo until Ctrl-C.
///
/// # Errors
/// One sentence, when the folder cannot be used or no port can be had.
pub async fn run(dir: Option<PathBuf>, out: &mut (dyn Write + Send)) -> Result<Exit> {
    let root = match dir {
        Some(dir) => std::path::absolute(dir)?,
        None => new_folder()?,
    };
    let mut world = sample::world(SEED);
    world.set_limit(Some(LIMIT), Window::SlidingLog);
    let server =
        Server::start(world, TOKEN).await.context("no loopback port can be had for the demo's service")?;
    let scratch = Scratch::new()?;
    let config_file = scratch.config(&server.base_url(), &root)?;
    let config = Config::load(Some(&config_file), &|_| None)?;
    let settings = Settings { eager: true, ..session::settings(&config) };
    let opened = session::open(&config, settings, &|_| None)?;
    let (wishes, wished) = tokio::sync::mpsc::unbounded_channel();
    let _socket = control::listen(&config.state_dir, wishes);
    writeln!(out, "A small service is running inside this program at {}", server.base_url())?;
    writeln!(out, "(token {TOKEN}; nothing leaves this machine). Its workspace is mirrored into")?;
    writeln!(out, "\n  {}\n", output::paint(output::NAME, &root.display().to_string()))?;
    out.flush()?;
    let mut show = Show { out, root: &root, config: &config_file, greeted: false, first: None, failed: None };
    let shared = server.shared();
    let colleague = async move {
        for n in 0.. {
            tokio::time::sleep(COLLEAGUE_EVERY).await;
            let mut world = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let what = sample::colleague_step(&mut world, n);
            tracing::debug!(target: "espejo::demo", "a colleague {what}");
        }
    };
    let stop = async {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            () = terminated() => {}
            () = colleague => {}
        }
    };
    let ended = opened.daemon.run(wished, stop, &mut show).await;
    let failed = show.failed.take();
    ended?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    writeln!(out, "\nThe demo is over; its files are still in {}", root.display())?;
    server.stop().await;
    Ok(Exit::Done)
}

async fn terminated() {
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

/// The first free `espejo-demo`, `espejo-demo-2` … here.
fn new_folder() -> Result<PathBuf> {
    let here = std::env::current_dir().context("the current folder cannot be used; name one with --dir")?;
    let name = |n: u32| if n == 1 { here.join("espejo-demo") } else { here.join(format!("espejo-demo-{n}")) };
    let free = (1..1_000).map(name).find(|path| !path.exists());
    free.context("there are too many demo folders here; name one with --dir")
}

/// The demo's own config, token and state, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let name: String = daemon::fresh_seed()[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        let path = std::env::temp_dir().join(format!("espejo-demo-{name}"));
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("no scratch folder at {}", path.display()))?;
        Ok(Self(path))
    }

    fn config(&self, base_url: &str, root: &Path) -> Result<PathBuf> {
        let file = |name: &str, text: &str| -> Result<PathBuf> {
            let path = self.0.join(name);
            let mut file =
                std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(text.as_bytes())?;
            Ok(path)
        };
        let token = file("token", TOKEN)?;
        let quoted = |path: &Path| toml::Value::String(path.display().to_string()).to_string();
        let text = format!(
            "base_url = {:?}\nroot = {}\nstate_dir = {}\ntoken_file = {}\n\n[limits]\nrequests_per_minute = {LIMIT}\n\n[pages]\nsettle_ms = 150\n",
            base_url,
            quoted(root),
            quoted(&self.0.join("state")),
            quoted(&token),
        );
        file("config.toml", &text)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing in it outlives the service that it belongs to.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// One line for each thing that happens.
struct Show<'a> {
    out: &'a mut (dyn Write + Send),
    root: &'a Path,
    config: &'a Path,
    greeted: bool,
    /// The page that the greeting proposes to edit.
    first: Option<String>,
    failed: Option<std::io::Error>,
}

impl Show<'_> {
    fn turn_or_fail(
        &mut self,
        engine: &Engine,
        happened: &[Happening],
        now: Timestamp,
    ) -> Result<(), Failure> {
        if !self.greeted {
            // A page to try things on: the one whose path is quickest to type.
            let ease = |path: &String| (!path.is_ascii(), path.len());
            let pages = happened.iter().map(|event| event.path.clone());
            self.first = pages.chain(self.first.take()).min_by_key(ease);
            let summary = engine.summary(now)?;
            if !summary.is_settled || summary.listed == 0 {
                return Ok(());
            }
            self.greeted = true;
            let first = self.first.take();
            self.greet(summary.mirrored, first.as_deref())?;
            return Ok(());
        }
        for event in happened {
            let (arrow, style) = match event.way {
                Way::Up => ("↑", output::GOOD),
                Way::Down => ("↓", output::NAME),
                Way::Aside => ("·", output::ODD),
            };
            let time = clock_time(now);
            writeln!(
                self.out,
                "{}  {} {}  {}",
                output::paint(output::DIM, &time),
                output::paint(style, arrow),
                event.path,
                output::paint(output::DIM, &event.what)
            )?;
        }
        self.out.flush()?;
        Ok(())
    }

    fn greet(&mut self, pages: usize, first: Option<&str>) -> Result<(), Failure> {
        let file = self.root.join(first.unwrap_or(""));
        writeln!(self.out, "{pages} pages are there. Try, in another terminal:\n")?;
        writeln!(self.out, "  echo 'A line of mine.' >> '{}'", file.display())?;
        writeln!(self.out, "  vim '{}'        (or any editor)", file.display())?;
        writeln!(self.out, "  mkdir, mv, cp and rm work too: files are pages, folders are their subpages")?;
        writeln!(self.out, "  espejo status --config '{}'\n", self.config.display())?;
        writeln!(
            self.out,
            "A colleague works in the app now and then; what they change lands in the files."
        )?;
        writeln!(self.out, "↑ went to the service, ↓ came from it. Ctrl-C ends the demo.\n")?;
        self.out.flush()?;
        Ok(())
    }
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
    fn turn(&mut self, engine: &Engine, happened: &[Happening], now: Timestamp) -> Result<bool, StoreError> {
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

fn clock_time(now: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(now.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    at.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}
