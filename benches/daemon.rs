//! The real binary against the emulator at the real 60 requests a minute: `cargo bench --bench daemon [-- PART]`, where
//! PART is `idle` (1 min), `first-mirror` (3 min) or `restart` (3 min). Prints how long a save takes to its PATCH, and
//! how many requests the service ever counted in 60 seconds. Ends with 1 when a goal is missed.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench reads the clock and prints")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use espejo::daemon::wall_now;
use espejo::emulator::{Server, Window, World};
use espejo::model::{PageId, Timestamp};
use serde_json::json;

const TOKEN: &str = "bench-token";
const LIMIT: usize = 60;
/// From a save to its PATCH, with `settle_ms = 100`.
const GOAL_MS: i64 = 500;

struct Bed {
    dir: tempfile::TempDir,
    server: Server,
    _serving: tokio::sync::oneshot::Sender<()>,
    pages: Vec<PageId>,
}

impl Bed {
    fn new(count: usize) -> Self {
        let mut world = World::new(1);
        world.set_limit(Some(LIMIT), Window::SlidingLog);
        let space = world.add_workspace("Team", "team");
        let pages = (0..count)
            .map(|n| {
                let content =
                    (0..12).map(|at| paragraph(&format!("{n}-{at}"), &format!("Line {at} of page {n}.")));
                world.app_create(&space, None, &format!("Page {n:04}"), content.collect())
            })
            .collect();
        let (server, serving) = serve(world);
        let bed = Self { dir: tempfile::tempdir().unwrap(), server, _serving: serving, pages };
        let at = |name: &str| bed.dir.path().join(name);
        let config = format!(
            "base_url = {:?}\nroot = {:?}\nstate_dir = {:?}\ntoken_file = {:?}\n[pages]\nsettle_ms = 100\n",
            bed.server.base_url(),
            at("mirror"),
            at("state"),
            at("token"),
        );
        for (name, text) in [("config.toml", config.as_str()), ("token", TOKEN)] {
            let mut open = fs::OpenOptions::new();
            let mut file = open.write(true).create_new(true).mode(0o600).open(at(name)).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        bed
    }

    fn run(&self) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_espejo"));
        let log = fs::OpenOptions::new().create(true).append(true).open(self.dir.path().join("log")).unwrap();
        command.arg("--config").arg(self.dir.path().join("config.toml")).arg("run");
        Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    fn file(&self, n: usize) -> PathBuf {
        self.dir.path().join(format!("mirror/Team/Pages/Page {n:04}.md"))
    }

    fn mirrored(&self) -> usize {
        (0..self.pages.len()).filter(|n| self.file(*n).exists()).count()
    }

    fn until(&self, what: &str, seconds: u64, mut holds: impl FnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(seconds);
        while !holds() {
            let log = || fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < end, "never: {what}\n{}", log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Adds a line to a page's file; how long it took until the service had its PATCH.
    fn save(&self, n: usize, line: usize) -> i64 {
        let patched = || -> Option<(usize, Timestamp)> {
            let world = self.server.world();
            let patches: Vec<Timestamp> =
                world.log().patches_of(&self.pages[n]).map(|entry| entry.at).collect();
            Some((patches.len(), *patches.last()?))
        };
        let before = patched().map_or(0, |(count, _)| count);
        let mut file = fs::OpenOptions::new().append(true).open(self.file(n)).unwrap();
        file.write_all(format!("\nLine {line} of mine.\n").as_bytes()).unwrap();
        let saved = wall_now();
        let mut took = 0;
        self.until("the edit arrives", 60, || match patched() {
            Some((count, at)) if count > before => {
                took = at.since_ms(saved);
                true
            }
            _ => false,
        });
        took
    }

    /// The most requests in any 60 seconds, and how many were refused.
    fn counted(&self) -> (usize, usize) {
        let world = self.server.world();
        (world.log().most_in_any_minute(), world.log().answered(429))
    }
}

struct Running(Child);

impl Running {
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn serve(world: World) -> (Server, tokio::sync::oneshot::Sender<()>) {
    let (ready, server) = std::sync::mpsc::channel();
    let (serving, ended) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            ready.send(Server::start(world, TOKEN).await.unwrap()).unwrap();
            drop(ended.await);
        });
    });
    (server.recv().unwrap(), serving)
}

fn paragraph(id: &str, text: &str) -> serde_json::Value {
    let props = json!({ "backgroundColor": "default", "textColor": "default", "textAlignment": "left" });
    let run = json!({ "type": "text", "text": text, "styles": {} });
    json!({ "id": id, "type": "paragraph", "props": props, "content": [run], "children": [] })
}

/// Prints the spread of some latencies; whether the goal is met.
fn tell(name: &str, mut took: Vec<i64>) -> bool {
    took.sort_unstable();
    let (middle, worst) = (took[took.len() / 2], took[took.len() - 1]);
    let met = worst < GOAL_MS;
    println!(
        "{name}: {} saves, to their PATCH {} ms at best, {middle} ms in the middle, {worst} ms at worst: {}",
        took.len(),
        took[0],
        if met { "met" } else { "MISSED" }
    );
    met
}

fn tell_count(name: &str, (most, refused): (usize, usize)) -> bool {
    let met = most <= LIMIT && refused == 0;
    println!(
        "{name}: at most {most} requests in any 60 s, {refused} refused: {}",
        if met { "met" } else { "MISSED" }
    );
    met
}

fn idle() -> bool {
    let bed = Bed::new(20);
    let daemon = bed.run();
    bed.until("all are mirrored", 30, || bed.mirrored() == 20);
    std::thread::sleep(Duration::from_secs(2));
    let took = (0..15)
        .map(|n| {
            let took = bed.save(n, n);
            // Two requests each: 40 in a minute, beside the twenty of the first mirror.
            std::thread::sleep(Duration::from_millis(2_900));
            took
        })
        .collect();
    let counted = bed.counted();
    daemon.kill();
    tell("idle", took) & tell_count("idle", counted)
}

fn first_mirror() -> bool {
    let bed = Bed::new(1_000);
    let daemon = bed.run();
    bed.until("some are mirrored", 60, || bed.mirrored() >= 5);
    let took = (0..16)
        .map(|line| {
            std::thread::sleep(Duration::from_secs(10));
            // Fresh pages and ones that were edited before, in turn.
            let there: Vec<usize> = (0..bed.pages.len()).filter(|n| bed.file(*n).exists()).collect();
            bed.save(if line % 2 == 0 { there[there.len() - 1] } else { there[0] }, line)
        })
        .collect();
    let (counted, mirrored) = (bed.counted(), bed.mirrored());
    daemon.kill();
    println!("first mirror: {mirrored} of 1,000 pages by then");
    tell("first mirror", took) & tell_count("first mirror", counted)
}

fn restart() -> bool {
    let bed = Bed::new(400);
    let start = Instant::now();
    let at = |seconds: u64| {
        std::thread::sleep((start + Duration::from_secs(seconds)).saturating_duration_since(Instant::now()));
    };
    let daemon = bed.run();
    at(40);
    // Right in the middle of a minute that is in use: once killed, once with manners.
    daemon.kill();
    let mut daemon = bed.run();
    at(90);
    let pid = rustix::process::Pid::from_child(&daemon.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    daemon.0.wait().unwrap();
    let daemon = bed.run();
    at(180);
    let (counted, mirrored) = (bed.counted(), bed.mirrored());
    daemon.kill();
    println!("restart: {mirrored} pages mirrored in three minutes");
    tell_count("restart", counted) & (mirrored > 120)
}

/// Measures; whether every goal was met.
type Part = fn() -> bool;

fn main() -> ExitCode {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let parts: [(&str, Part); 3] = [("idle", idle), ("first-mirror", first_mirror), ("restart", restart)];
    let parts =
        parts.into_iter().filter(|(name, _)| chosen.is_empty() || chosen.iter().any(|word| word == name));
    // At once: most of it is waiting.
    let running: Vec<_> = parts.map(|(_, part)| std::thread::spawn(part)).collect();
    let met = running.into_iter().map(|part| part.join().unwrap_or(false)).fold(true, |all, met| all & met);
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
