//! A workbench: a folder to mirror into, a config, a token, the emulator in this process, and the binary beside it.
//! Nothing here sleeps to let something happen: every wait is for a condition, with a deadline that tells what was seen.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use espejo::emulator::{PageRecord, Server, Window, World};
use espejo::model::{Blocks, PageId, WorkspaceId};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::serve::serve;

/// A machine that compiles beside the tests is slow; one on which nothing happens for this long is stuck.
pub(super) const DEADLINE: Duration = Duration::from_secs(40);
pub(super) const TOKEN: &str = "tok-bench-0123456789";

/// The workbench.
pub(super) struct Bench {
    dir: TempDir,
    server: Arc<Server>,
    /// The emulator serves on a thread of its own until this goes.
    serving: Arc<tokio::sync::oneshot::Sender<()>>,
    /// The workspace `Equipo`.
    pub(super) space: WorkspaceId,
}

/// A running `espejo run`, killed when it is dropped.
pub(super) struct Daemon {
    child: Child,
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

impl Bench {
    /// A service with the workspace `Equipo`, without a limit; `fill` puts pages into it.
    pub(super) fn new(fill: impl FnOnce(&mut World, &WorkspaceId)) -> Self {
        Self::with("", fill)
    }

    /// The same, with lines for the config's `[pages]`.
    pub(super) fn with(pages: &str, fill: impl FnOnce(&mut World, &WorkspaceId)) -> Self {
        let mut world = World::new(7);
        world.set_limit(None, Window::SlidingLog);
        let space = world.add_workspace("Equipo", "equipo");
        fill(&mut world, &space);
        Self::over(world, space, 6_000, pages)
    }

    /// Over a world of one's own, with this many requests a minute in the config.
    pub(super) fn over(world: World, space: WorkspaceId, per_minute: u32, pages: &str) -> Self {
        let (server, serving) = serve(world);
        Self::at(Arc::new(server), Arc::new(serving), space, per_minute, pages)
    }

    /// Another machine: a folder, state and config of its own, and the same service and token.
    pub(super) fn beside(&self) -> Self {
        Self::at(Arc::clone(&self.server), Arc::clone(&self.serving), self.space.clone(), 6_000, "")
    }

    fn at(
        server: Arc<Server>,
        serving: Arc<tokio::sync::oneshot::Sender<()>>,
        space: WorkspaceId,
        per_minute: u32,
        pages: &str,
    ) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let bench = Self { dir, server, serving, space };
        bench.write_config(per_minute, pages);
        let mut token = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(bench.dir.path().join("token"))
            .expect("a token file");
        token.write_all(TOKEN.as_bytes()).expect("a token");
        bench
    }

    /// Writes the config anew.
    pub(super) fn write_config(&self, per_minute: u32, pages: &str) {
        let at = |name: &str| self.dir.path().join(name);
        let default =
            |key: &str, line: &str| if pages.contains(key) { String::new() } else { format!("{line}\n") };
        let storage = if pages.contains("[storage]") { "" } else { "\n[storage]\nenabled = false\n" };
        let text = format!(
            "base_url = {:?}\nroot = {:?}\nstate_dir = {:?}\ntoken_file = {:?}\n\n\
             [limits]\nrequests_per_minute = {per_minute}\n\n[pages]\n{}{}{pages}\n{storage}",
            self.server.base_url(),
            self.root(),
            self.state(),
            at("token"),
            default("settle_ms", "settle_ms = 50"),
            default("delete_grace_seconds", "delete_grace_seconds = 1"),
        );
        // Tests of pages count requests; who wants whiteboards says so.
        let text = if pages.contains("[whiteboards]") {
            text
        } else {
            format!("{text}\n[whiteboards]\nenabled = false\n[presentations]\nenabled = false\n")
        };
        save(&at("config.toml"), &text);
    }

    pub(super) fn root(&self) -> PathBuf {
        self.dir.path().join("mirror")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// The service's address.
    pub(super) fn base_url(&self) -> String {
        self.server.base_url()
    }

    /// The bench's own folder, which is the user's home.
    pub(super) fn home(&self) -> &Path {
        self.dir.path()
    }

    /// A place outside the mirror.
    pub(super) fn outside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A page's file, or a folder of pages: a path beneath `Equipo/Pages`.
    pub(super) fn page(&self, path: &str) -> PathBuf {
        self.root().join("Equipo/Pages").join(path)
    }

    /// What a page's file holds.
    #[track_caller]
    pub(super) fn text(&self, path: &str) -> String {
        let path = self.page(path);
        fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", path.display(), self.seen()))
    }

    /// The service: hold it briefly.
    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.server.world()
    }

    /// A page by its title, in the trash or not; the newest of several.
    pub(super) fn titled(&self, title: &str) -> Option<PageId> {
        let world = self.world();
        let pages = world.pages().filter(|page| page.title == title);
        pages.max_by_key(|page| (page.trashed.is_none(), page.serial)).map(|page| page.id.clone())
    }

    #[track_caller]
    pub(super) fn id(&self, title: &str) -> PageId {
        self.titled(title).unwrap_or_else(|| panic!("no page {title:?}\n{}", self.seen()))
    }

    /// A page as it is at the service now, in the trash or not.
    #[track_caller]
    pub(super) fn record(&self, id: &PageId) -> PageRecord {
        self.world().page(id).expect("a page").clone()
    }

    /// The content of the page of this title at the service.
    #[track_caller]
    pub(super) fn content(&self, title: &str) -> Blocks {
        let id = self.id(title);
        self.record(&id).content
    }

    /// Whether a page is in the service's trash.
    #[track_caller]
    pub(super) fn is_trashed(&self, id: &PageId) -> bool {
        self.record(id).trashed.is_some()
    }

    /// How many pages the service has, those in the trash too.
    pub(super) fn pages(&self) -> usize {
        self.world().pages().count()
    }

    /// How many pages the service lists under this title.
    pub(super) fn count(&self, title: &str) -> usize {
        self.world().visible_pages(&self.space).iter().filter(|page| page.title == title).count()
    }

    /// Method and path of every request since the log was cleared.
    pub(super) fn requests(&self) -> Vec<String> {
        self.world().log().entries().map(|entry| format!("{} {}", entry.method, entry.path)).collect()
    }

    /// The requests that asked for a change.
    pub(super) fn writes(&self) -> Vec<String> {
        self.world().log().writes().map(|entry| format!("{} {}", entry.method, entry.path)).collect()
    }

    pub(super) fn forget_requests(&self) {
        self.world().log_mut().clear();
    }

    /// The binary with this bench's config, and nothing from the environment that could matter to it.
    pub(super) fn espejo(&self, arguments: &[&str]) -> Command {
        let mut command = bare(self.dir.path());
        command.arg("--config").arg(self.dir.path().join("config.toml")).args(arguments);
        command
    }

    /// Runs a command to its end.
    pub(super) fn tell(&self, arguments: &[&str]) -> Told {
        Told::of(self.espejo(arguments).output().expect("the binary runs"))
    }

    /// One full pass that must end well.
    #[track_caller]
    pub(super) fn sync(&self) -> Told {
        let told = self.tell(&["sync"]);
        assert_eq!(told.code, 0, "{told:?}\n{}", self.seen());
        told
    }

    /// `status --json`; its exit code is 0 or 3.
    #[track_caller]
    pub(super) fn status(&self) -> Value {
        let told = self.tell(&["status", "--json"]);
        assert!(matches!(told.code, 0 | 3), "{told:?}");
        serde_json::from_str(&told.out).expect("one JSON value")
    }

    /// What `status` says needs the user, as `path: reason` lines.
    pub(super) fn attention(&self) -> String {
        let status = self.status();
        let line = |item: &Value| {
            format!(
                "{}: {} ({})\n",
                text_of(&item["path"]),
                text_of(&item["reason"]),
                text_of(&item["action"])
            )
        };
        status["attention"].as_array().expect("a list").iter().map(line).collect()
    }

    /// `list --json`.
    #[track_caller]
    pub(super) fn list(&self) -> Vec<Value> {
        let told = self.tell(&["list", "--json"]);
        assert_eq!(told.code, 0, "{told:?}");
        serde_json::from_str(&told.out).expect("one JSON array")
    }

    /// Starts the daemon; its log is added to the bench's.
    pub(super) fn run(&self) -> Daemon {
        self.run_under(&[])
    }

    /// The same, started by another program that gives its arguments on, and then becomes it.
    pub(super) fn run_beneath(&self, starter: &[&str]) -> Daemon {
        let inner = self.espejo(&["run"]);
        let Some((program, words)) = starter.split_first() else { return self.run() };
        let mut command = Command::new(program);
        command.args(words).arg(inner.get_program()).args(inner.get_args());
        command.env_clear().envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
        self.start(command)
    }

    /// The same with variables in its environment.
    pub(super) fn run_under(&self, environment: &[(&str, &str)]) -> Daemon {
        let mut command = self.espejo(&["run"]);
        command.envs(environment.iter().copied());
        self.start(command)
    }

    fn start(&self, mut command: Command) -> Daemon {
        let log =
            OpenOptions::new().create(true).append(true).open(self.dir.path().join("log")).expect("a log");
        if std::env::var_os("ESPEJO_TEST_VERBOSE").is_some() {
            command.arg("-vv");
        }
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("the binary runs");
        Daemon { child }
    }

    /// Starts the daemon and waits until both sides agree.
    #[track_caller]
    pub(super) fn run_in_step(&self) -> Daemon {
        let daemon = self.run();
        // The sides may agree since long before: it must be there to hear a signal.
        self.until("it runs", || self.status()["state"] == "running");
        self.until_in_step();
        daemon
    }

    /// Asks the running daemon to look at everything once, and waits until it has asked for every page.
    #[track_caller]
    pub(super) fn look_again(&self) {
        let before = self.world().log().entries().len();
        self.ask("\"full-pass\"");
        self.until("the daemon has looked at everything", || {
            let world = self.world();
            let since: Vec<&str> =
                world.log().entries().skip(before).map(|entry| entry.path.as_str()).collect();
            since.contains(&"/workspaces")
                && world.visible_pages(&self.space).iter().all(|page| {
                    let path = format!("/pages/{}", page.id);
                    since.iter().any(|seen| **seen == *path)
                })
        });
    }

    /// Says one line to the daemon's control socket.
    #[track_caller]
    pub(super) fn ask(&self, line: &str) {
        use std::io::Read;
        let path = self.state().join("control");
        let mut reply = String::new();
        self.until("the daemon listens", || {
            let Ok(mut stream) = std::os::unix::net::UnixStream::connect(&path) else { return false };
            reply.clear();
            stream.write_all(format!("{line}\n").as_bytes()).is_ok()
                && stream.read_to_string(&mut reply).is_ok()
        });
        assert_eq!(reply.trim(), "ok", "{line}");
    }

    /// Adds a line of the test's own to the log, so that a failed test shows what happened in which order.
    pub(super) fn note(&self, line: &str) {
        let log = OpenOptions::new().create(true).append(true).open(self.dir.path().join("log"));
        writeln!(log.expect("a log"), "== {line}").expect("a line");
    }

    /// What the daemons have logged.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Waits for a condition; when it does not come, fails with everything there is to see.
    #[track_caller]
    pub(super) fn until(&self, what: &str, holds: impl FnMut() -> bool) {
        self.until_within(DEADLINE, what, holds);
    }

    /// The same, for what may take longer by its nature.
    #[track_caller]
    pub(super) fn until_within(&self, time: Duration, what: &str, mut holds: impl FnMut() -> bool) {
        if !within(time, &mut holds) {
            panic!("never: {what}\n{}", self.seen());
        }
    }

    /// Everything there is to see, for a failed test. `ESPEJO_TEST_KEEP=DIR` keeps the whole folder there.
    pub(super) fn seen(&self) -> String {
        if let Some(keep) = std::env::var_os("ESPEJO_TEST_KEEP") {
            let _copied = Command::new("cp").arg("-a").arg(self.dir.path()).arg(keep).status();
        }
        let mut text = String::from("--- files\n");
        let mut files = Vec::new();
        walk(&self.root(), "", &mut |path, _| files.push(path.to_owned()));
        files.sort();
        text.push_str(&tail(&files, 60));
        text.push_str("--- pages\n");
        for page in self.world().pages().take(60) {
            let state = if page.trashed.is_some() { " (trashed)" } else { "" };
            text.push_str(&format!("{} {:?}{state} under {:?}\n", page.id, page.title, page.parent));
        }
        text.push_str("--- requests\n");
        let lines: Vec<String> = self
            .world()
            .log()
            .entries()
            .map(|entry| format!("{} {} {} {}", entry.at.0, entry.method, entry.path, entry.status))
            .collect();
        text.push_str(&tail(&lines, 30));
        text.push_str("--- log\n");
        let log = self.log();
        text.push_str(&tail(&log.lines().map(str::to_owned).collect::<Vec<_>>(), 80));
        let told = self.tell(&["status"]);
        text.push_str(&format!("--- status\n{}{}", told.out, told.err));
        let told = self.tell(&["list"]);
        let odd: Vec<&str> = told.out.lines().filter(|line| !line.starts_with("synced")).collect();
        text.push_str(&format!("--- list, synced ones aside\n{}\n{}", odd.join("\n"), told.err));
        text
    }

    /// Every file of the mirror outside `.espejo`, by its path from the root.
    pub(super) fn files(&self) -> std::collections::BTreeMap<String, Seen> {
        let mut found = std::collections::BTreeMap::new();
        walk(&self.root(), "", &mut |path, full| {
            let (Ok(bytes), Ok(meta)) = (fs::read(full), fs::symlink_metadata(full)) else { return };
            let modified = (meta.mtime(), meta.mtime_nsec());
            found.insert(path.to_owned(), Seen { bytes, modified, inode: meta.ino() });
        });
        found
    }
}

/// A file as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) bytes: Vec<u8>,
    pub(super) modified: (i64, i64),
    pub(super) inode: u64,
}

impl Told {
    pub(super) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("stdout is text"),
            err: String::from_utf8(output.stderr).expect("stderr is text"),
        }
    }
}

impl Daemon {
    pub(super) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it can be signalled");
    }

    /// SIGKILL.
    pub(super) fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it can be waited for");
    }

    /// SIGTERM; its exit code.
    #[track_caller]
    pub(super) fn stop(self) -> ExitStatus {
        self.signal(rustix::process::Signal::TERM);
        self.ended()
    }

    /// Waits for its end.
    #[track_caller]
    pub(super) fn ended(mut self) -> ExitStatus {
        let mut status = None;
        let ended = within(DEADLINE, &mut || {
            status = self.child.try_wait().expect("it can be waited for");
            status.is_some()
        });
        assert!(ended, "the daemon does not end");
        status.expect("it has ended")
    }

    /// The most memory it ever had, in bytes, without the pages of the program's own file: how many of those are
    /// resident depends on the build and on the page cache. They are only ever added, so this is never too much.
    pub(super) fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let kilobytes = |field: &str| -> u64 {
            let line = status.lines().find(|line| line.starts_with(field)).expect("such a line");
            line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
        };
        kilobytes("VmHWM:").saturating_sub(kilobytes("RssFile:")) * 1024
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it can be waited for").is_none()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already; nothing is left to do then.
        let _killed = self.child.kill();
        let _waited = self.child.wait();
    }
}

/// The binary without a config.
pub(super) fn bare(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_espejo"));
    command
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TZ", "UTC");
    command.stdin(Stdio::null());
    command
}

/// Whether a condition comes to hold in time.
#[expect(clippy::disallowed_methods, reason = "a deadline for what another process does")]
pub(super) fn within(time: Duration, holds: &mut dyn FnMut() -> bool) -> bool {
    let end = Instant::now() + time;
    let mut pause = Duration::from_millis(5);
    loop {
        if holds() {
            return true;
        }
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(pause);
        // Some conditions start a process: whoever waits long asks less often, and leaves the machine to the others.
        pause = (pause * 5 / 4).min(Duration::from_millis(100));
    }
}

/// Checks every case at once, each on a workbench and a thread of its own: most of their time is waiting.
pub(super) fn side_by_side<T: Send>(cases: impl IntoIterator<Item = T>, check: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        let check = &check;
        let running: Vec<_> = cases.into_iter().map(|case| scope.spawn(move || check(case))).collect();
        for one in running {
            if let Err(panic) = one.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

/// Writes a file in place: truncated, then written.
pub(super) fn save(path: &Path, text: &str) {
    save_bytes(path, text.as_bytes());
}

/// The same with any bytes.
pub(super) fn save_bytes(path: &Path, bytes: &[u8]) {
    let mut file = File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file.write_all(bytes).expect("a write");
}

/// Adds to a file's end, as `>>` does.
pub(super) fn append(path: &Path, text: &str) {
    let opened = OpenOptions::new().append(true).open(path);
    let mut file = opened.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    file.write_all(text.as_bytes()).expect("a write");
}

/// A paragraph.
pub(super) fn paragraph(id: &str, text: &str) -> Value {
    block(id, "paragraph", text, &json!({}))
}

/// A text block with these props besides the usual three.
pub(super) fn block(id: &str, kind: &str, text: &str, props: &Value) -> Value {
    let mut all = json!({ "backgroundColor": "default", "textColor": "default", "textAlignment": "left" });
    for (key, value) in props.as_object().into_iter().flatten() {
        all[key] = value.clone();
    }
    let runs =
        if text.is_empty() { json!([]) } else { json!([{ "type": "text", "text": text, "styles": {} }]) };
    json!({ "id": id, "type": kind, "props": all, "content": runs, "children": [] })
}

/// Everything that blocks say, runs joined, one line for each block.
pub(super) fn words(blocks: &[Value]) -> String {
    let mut text = String::new();
    for block in blocks {
        for run in block["content"].as_array().into_iter().flatten() {
            text.push_str(text_of(&run["text"]));
        }
        text.push('\n');
        text.push_str(&words(block["children"].as_array().map_or(&[][..], Vec::as_slice)));
    }
    text
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn tail(lines: &[String], most: usize) -> String {
    lines[lines.len().saturating_sub(most)..].join("\n") + "\n"
}

fn walk(folder: &Path, at: &str, visit: &mut dyn FnMut(&str, &Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if at.is_empty() { name } else { format!("{at}/{name}") };
        if path == ".espejo" {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let inside = entry.path();
            if fs::read_dir(&inside).is_ok_and(|mut entries| entries.next().is_none()) {
                visit(&format!("{path}/"), &inside);
            }
            walk(&inside, &path, visit);
        } else {
            visit(&path, &entry.path());
        }
    }
}
