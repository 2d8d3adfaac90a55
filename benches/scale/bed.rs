//! A workspace of any size in the emulator, and the real binary on it. It measures nothing.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use espejo::emulator::{Contents, Server, Window, World};
use espejo::model::{CanvasId, PageId};
use serde_json::{Value, json};

use crate::blocks::paragraph;
use crate::content::{self, Luck};
use crate::served::{Running, TOKEN, private, serve};

/// How users run it.
const UNIT: &str = include_str!("../../packaging/systemd/espejo.service");
/// The largest that the config allows.
pub(crate) const UNHURRIED: u32 = 100_000;
const ELEMENTS: usize = 5;
/// So many pages lie under others, at most, one beneath the other.
const DEEPEST: usize = 6;
const FILES_IN_A_FOLDER: usize = 50;

/// How much of everything.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) pages: usize,
    pub(crate) boards: usize,
    pub(crate) files: usize,
}

impl Size {
    pub(crate) fn of(pages: usize) -> Self {
        Self { pages, boards: pages / 33, files: pages / 2 }
    }
}

pub(crate) struct Bed {
    dir: PathBuf,
    _temporary: Option<tempfile::TempDir>,
    pub(crate) server: Server,
    _serving: tokio::sync::oneshot::Sender<()>,
    pub(crate) size: Size,
    pub(crate) pages: Vec<PageId>,
    /// Where each page's file belongs, below the root.
    paths: Vec<PathBuf>,
}

impl Bed {
    /// In `kept`, where an earlier run may have left a mirror, or in a folder that goes with it.
    pub(crate) fn new(size: Size, kept: Option<PathBuf>) -> Self {
        let mut world = World::new(1);
        world.set_limit(None, Window::SlidingLog);
        let space = world.add_workspace("Team", "team");
        let (mut pages, mut paths): (Vec<PageId>, Vec<PathBuf>) = (Vec::new(), Vec::new());
        for (n, up) in parents(size.pages).into_iter().enumerate() {
            let title = content::title(n);
            let folder = up.map_or_else(|| PathBuf::from("Team/Pages"), |up| paths[up].with_extension(""));
            pages.push(world.app_create(&space, up.map(|up| &pages[up]), &title, content::page(n)));
            paths.push(folder.join(format!("{title}.md")));
        }
        for n in 0..size.boards {
            let board = world.app_create_board(&space, &format!("Pizarra {n:04}"));
            for at in 0..ELEMENTS {
                let place = at * 250;
                let note = json!({ "type": "sticky", "x": place, "y": 0, "content": content::note(n, at) });
                world.app_put_element(&CanvasId::Board(board.clone()), note).unwrap();
            }
        }
        let shelves: Vec<_> = (0..size.files.div_ceil(FILES_IN_A_FOLDER))
            .map(|n| world.app_make_folder(None, &format!("Carpeta {n:04}")))
            .collect();
        for n in 0..size.files {
            let made = Contents::Made { seed: n as u64, len: content::file_bytes(n) };
            world.app_put_file(Some(&shelves[n / FILES_IN_A_FOLDER]), &content::file_name(n), made);
        }
        let (server, serving) = serve(world);
        let temporary = kept.is_none().then(|| tempfile::tempdir().unwrap());
        let dir = kept.or_else(|| temporary.as_ref().map(|dir| dir.path().to_owned())).unwrap();
        fs::create_dir_all(&dir).unwrap();
        let bed = Self { dir, _temporary: temporary, server, _serving: serving, size, pages, paths };
        private(&bed.at("token"), TOKEN);
        bed.set_limit(UNHURRIED);
        bed
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Whether an earlier run has mirrored into it.
    pub(crate) fn has_mirror(&self) -> bool {
        self.state().join("espejo.sqlite3").exists()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.at("log")).unwrap_or_default()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.at("state")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.at("mirror")
    }

    pub(crate) fn file(&self, n: usize) -> PathBuf {
        self.root().join(&self.paths[n])
    }

    /// From the next start on.
    pub(crate) fn set_limit(&self, requests_per_minute: u32) {
        let text = format!(
            "base_url = {:?}\nroot = {:?}\nstate_dir = {:?}\ntoken_file = {:?}\n[limits]\n\
             requests_per_minute = {requests_per_minute}\n[pages]\nsettle_ms = 100\n",
            self.server.base_url(),
            self.root(),
            self.state(),
            self.at("token"),
        );
        private(&self.at("config.toml"), &text);
    }

    /// Starts the daemon with the environment that its service unit gives it.
    pub(crate) fn start(&self) -> Running {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.at("log")).unwrap();
        let mut command = self.espejo(&["run"]);
        command.env("RUST_LOG", "info,espejo::daemon=debug");
        let lines = UNIT.lines().filter_map(|line| line.strip_prefix("Environment="));
        command.envs(lines.flat_map(str::split_whitespace).filter_map(|set| set.split_once('=')));
        Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    fn espejo(&self, words: &[&str]) -> Command {
        let built = std::env::var_os("ESPEJO_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_espejo").into());
        let mut command = Command::new(built);
        command.arg("--config").arg(self.at("config.toml")).args(words);
        command
    }

    /// Another command of espejo's, as a whole process; how long it took.
    pub(crate) fn command(&self, words: &[&str]) -> Duration {
        let begin = Instant::now();
        let output: Output = self.espejo(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        begin.elapsed()
    }

    pub(crate) fn status(&self) -> Value {
        let output = self.espejo(&["status", "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    }

    /// Whether everything is here, by espejo's own word.
    pub(crate) fn is_whole(&self) -> bool {
        let status = self.status();
        let is = |pointer: &str, count: usize| {
            status.pointer(pointer).and_then(Value::as_u64) == Some(count as u64)
        };
        is("/pages/mirrored", self.size.pages)
            && is("/pages/pending", 0)
            && is("/whiteboards/mirrored", self.size.boards)
            && is("/storage/files", self.size.files)
    }

    pub(crate) fn requests(&self) -> usize {
        self.server.world().log().entries().len()
    }

    /// Bytes of what the service has: blocks as their JSON, and stored files.
    pub(crate) fn data_bytes(&self) -> u64 {
        let world = self.server.world();
        let json = |id| world.page(id).map_or(0, |page| json!(page.content).to_string().len() as u64);
        let pages: u64 = self.pages.iter().map(json).sum();
        pages + (0..self.size.files).map(content::file_bytes).sum::<u64>()
    }

    pub(crate) fn state_bytes(&self) -> u64 {
        let all = fs::read_dir(self.state()).unwrap();
        all.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
    }

    /// `git` over the mirror, with its own folder outside of it.
    pub(crate) fn git(&self, words: &[&str]) -> Option<Duration> {
        let begin = Instant::now();
        let mut git = Command::new("git");
        git.arg(format!("--git-dir={}", self.at("git").display()));
        git.arg(format!("--work-tree={}", self.root().display()));
        git.args(["-c", "user.name=bench", "-c", "user.email=bench@example.com"]).args(words);
        let output = git.output().ok()?;
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        Some(begin.elapsed())
    }

    /// A user changes the first block of this page in the app.
    pub(crate) fn edit_remotely(&self, n: usize, words: &str) {
        let mut content = content::page(n);
        content[0] = line(n, 0, words);
        assert!(self.server.world().app_edit(&self.pages[n], content));
    }

    /// A user replaces a page by one of so many blocks.
    pub(crate) fn edit_remotely_at_length(&self, n: usize, blocks: usize) {
        let content = (0..blocks).map(|at| line(n, at, "one of many")).collect();
        assert!(self.server.world().app_edit(&self.pages[n], content));
    }

    /// A user turns the order of all siblings around.
    pub(crate) fn reverse_order(&self) {
        let mut world = self.server.world();
        for page in &self.pages {
            let Some((parent, position)) = world.page(page).map(|page| (page.parent.clone(), page.position))
            else {
                continue;
            };
            assert!(world.app_move(page, parent.as_ref(), -position));
        }
    }

    pub(crate) fn patches_of(&self, n: usize) -> usize {
        self.server.world().log().patches_of(&self.pages[n]).count()
    }

    pub(crate) fn until(&self, what: &str, every_ms: u64, seconds: u64, mut holds: impl FnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(seconds);
        while !holds() {
            if Instant::now() >= end {
                let log = self.log();
                let tail: Vec<&str> = log.lines().rev().take(20).collect();
                panic!("never: {what}\n{tail:#?}\n{:#}", self.status());
            }
            std::thread::sleep(Duration::from_millis(every_ms));
        }
    }
}

/// Above each page: a quarter of the pages lies at the top; of the others, some have many below them and most none.
fn parents(pages: usize) -> Vec<Option<usize>> {
    let mut above: Vec<Option<usize>> = Vec::new();
    let mut depths: Vec<usize> = Vec::new();
    for n in 0..pages {
        let mut luck = Luck::of(7, n);
        let most = luck.below(1 + n / 5);
        let mut up = (n % 4 > 0).then(|| luck.below(1 + most));
        while let Some(high) = up.filter(|high| depths[*high] + 1 >= DEEPEST) {
            up = above[high];
        }
        depths.push(up.map_or(0, |up| depths[up] + 1));
        above.push(up);
    }
    above
}

fn line(page: usize, at: usize, words: &str) -> Value {
    let text = format!("Line {at} of page {page}, {words}: some forty letters more, as lines have.");
    paragraph(&format!("{page}-{at}"), &text)
}
