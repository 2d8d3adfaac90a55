//! What a large workspace costs: `cargo bench --bench scale [-- PAGES]`, 10,000 pages when nothing is said. Builds the
//! workspace in the emulator, mirrors it with the real binary as fast as the config allows, starts it again at 60
//! requests a minute as users do, and prints what each thing took beside its goal; then upheavals, and a workspace of
//! 1,000 pages to compare with. ESPEJO_BED=DIR keeps the mirror there, and the next run begins with it; ESPEJO_BIN=FILE
//! measures another build; ESPEJO_ONLY=WORDS;WORDS plays the upheavals with one of these in their names, and measures nothing
//! else after the first mirror. Linux only: the figures come from /proc. It ends with 1 when a goal is missed, and names those
//! that were.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a bench reads the clock and prints")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]

mod bed;
#[path = "../shared/blocks.rs"]
mod blocks;
mod content;
mod history;
mod others;
mod process;
#[path = "../shared/served.rs"]
mod served;
mod upheaval;

use std::fs;
use std::io::Write;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bed::{Bed, Size, UNHURRIED};
use espejo::mirror::{Mirror, marker};
use espejo::model::Effect;
use process::Process;
use served::{Running, stop};

const SMALL: usize = 1_000;
/// What follows the number of pages has its goal at so many, and in proportion above.
const GOALS_AT: usize = 10_000;
static MISSED: Mutex<Vec<String>> = Mutex::new(Vec::new());
const LIMIT: u32 = 60;
/// Versions that each page has in the history.
const VERSIONS: usize = 20;
/// Runs of `git status`: its CPU is told in steps of 10 ms, for all of them together.
const GIT_RUNS: u32 = 20;
/// Scans of the daemon's: what else it does in between falls into some of them.
const LOOKS: usize = 15;
const REST: Duration = Duration::from_secs(180);
/// Edits that are followed: a checkpoint or a poll falls into some of them.
const EDITS: usize = 11;
/// Changes in the app that are followed.
const CHANGES: usize = 5;
/// After so long the requests of the edits count no more.
const MINUTE: Duration = Duration::from_secs(62);
/// What is opened within half a second of an act of espejo's own is taken for its echo.
const ECHO: Duration = Duration::from_millis(600);
/// For so long after a program opened every file, opened files are not looked at first.
const FORGOTTEN: Duration = Duration::from_secs(62);
/// Whoever opened a file in vain does it again.
const REOPENED: Duration = Duration::from_secs(3);
/// From a list's arrival at the service until it is taken in.
const LIST_TAKEN: Duration = Duration::from_millis(400);
/// The index of searches is whole so long after a first mirror.
const INDEXED: Duration = Duration::from_secs(60);
/// The times of checks that a daemon has not written yet are written after this long, with the next poll.
const WRITTEN: Duration = Duration::from_secs(90);
/// From a rewritten file until the state's log has been brought into the database.
const SYNCED: Duration = Duration::from_secs(3);

fn main() -> ExitCode {
    let asked = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let pages: usize = asked.unwrap_or(10_000);
    let bed = Bed::new(Size::of(pages), std::env::var_os("ESPEJO_BED").map(Into::into));
    let Size { boards, files, .. } = bed.size;
    println!(
        "{pages} pages, {boards} whiteboards, {files} stored files: {:.1} MB",
        bed.data_bytes() as f64 / 1e6
    );
    let cpu = first_mirror(&bed);
    let (daemon, process) = start(&bed);
    if std::env::var_os("ESPEJO_ONLY").is_some() {
        upheaval::all(&bed, process);
        stop(daemon);
        return outcome();
    }
    commands(&bed);
    let idle = rest(&bed, process);
    scan(&bed, process, idle);
    std::thread::sleep(FORGOTTEN);
    let large = edits(&bed, process, idle);
    if pages > SMALL {
        upheaval::all(&bed, process);
    }
    stop(daemon);
    if pages > SMALL {
        small(cpu, large);
    }
    others::all(&bed);
    outcome()
}

/// Names the goals that were missed.
fn outcome() -> ExitCode {
    let missed = MISSED.lock().unwrap();
    match missed.is_empty() {
        true => ExitCode::SUCCESS,
        false => {
            println!("goals missed: {}", missed.join("; "));
            ExitCode::FAILURE
        }
    }
}

/// The same at 1,000 pages, beside the CPU of a page of the first mirror and what edits took of a large one.
fn small(cpu: Option<f64>, large: (f64, f64, f64)) {
    println!("the same with {SMALL} pages");
    let bed = Bed::new(Size::of(SMALL), None);
    let few = first_mirror(&bed);
    bed.set_limit(LIMIT);
    let running = bed.start();
    let process = Process(running.id());
    unspent(&bed, process);
    let small = edits(&bed, process, 0.0);
    if let (Some(many), Some(few)) = (cpu, few) {
        tell("first mirror: CPU a page, of 1,000 pages'", many / few, "times", Some(1.5));
    }
    tell("edit: wall time, of 1,000 pages'", large.0 / small.0, "times", Some(1.5));
    tell("edit: CPU, of 1,000 pages'", large.1 / small.1.max(0.1), "times", Some(1.5));
    tell("remote change: wall time, of 1,000 pages'", large.2 / small.2, "times", Some(1.5));
    stop(running);
}

fn tell(what: &str, value: f64, unit: &str, goal: Option<f64>) {
    let goal = match goal {
        Some(most) if value <= most => format!("at most {most}: met"),
        Some(most) => {
            MISSED.lock().unwrap().push(format!("{} {value:.2} {unit}", what.trim()));
            format!("at most {most}: MISSED")
        }
        None => String::new(),
    };
    println!("  {what:<44}{value:>12.2} {unit:<8} {goal}");
}

/// A goal for what follows the number of pages.
fn at_scale(bed: &Bed, goal: f64) -> Option<f64> {
    Some(goal * (bed.size.pages as f64 / GOALS_AT as f64).max(1.0))
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// CPU a page, in milliseconds; nothing where an earlier run has left a mirror.
fn first_mirror(bed: &Bed) -> Option<f64> {
    if bed.has_mirror() {
        let daemon = bed.start();
        bed.until("all is mirrored again", 500, 3_600, || bed.is_whole());
        stop(daemon);
        return None;
    }
    println!("first mirror, at {UNHURRIED} requests a minute");
    let begin = Instant::now();
    let daemon = bed.start();
    let process = Process(daemon.id());
    bed.until("all is mirrored", 500, 3_600, || bed.is_whole());
    let pages = bed.size.pages as f64;
    tell("until all is here", begin.elapsed().as_secs_f64(), "s", None);
    let cpu = process.cpu_ms() / pages;
    tell("CPU a page", cpu, "ms", None);
    let counted = |path: &str| {
        let world = bed.server.world();
        world.log().entries().filter(|entry| entry.path.starts_with(path)).count() as f64
    };
    tell("requests a page, of pages and their lists", counted("/pages") / pages, "", Some(1.02));
    tell("requests a page, of everything", bed.requests() as f64 / pages, "", None);
    process.rest();
    tell("peak of memory", process.peak_mb(), "MB", at_scale(bed, 80.0));
    tell("resident afterwards", process.resident_mb(), "MB", None);
    let written = process.written().1 as f64;
    tell("written for it", written / 1e6, "MB", None);
    tell("the same, of the service's data", written / bed.data_bytes() as f64, "times", Some(3.0));
    std::thread::sleep(INDEXED);
    process.rest();
    stop(daemon);
    tell("state", bed.state_bytes() as f64 / 1e6, "MB", None);
    history::grow(&bed.state(), &bed.pages, VERSIONS, content::WORDS);
    tell(&format!("state with {VERSIONS} versions of each page"), bed.state_bytes() as f64 / 1e6, "MB", None);
    Some(cpu)
}

/// Starts the daemon on a mirror that has everything, at the usual limit.
fn start(bed: &Bed) -> (Running, Process) {
    println!("start, at {LIMIT} requests a minute");
    bed.set_limit(LIMIT);
    let folders = folders(&bed.root());
    let begin = Instant::now();
    let daemon = bed.start();
    let process = Process(daemon.id());
    bed.until("all folders are watched", 5, 60, || process.watches() >= folders);
    tell("until all folders are watched", begin.elapsed().as_secs_f64(), "s", Some(1.0));
    process.rest();
    tell("until it rests", begin.elapsed().as_secs_f64() - 0.15, "s", None);
    tell("CPU until then", process.cpu_ms(), "ms", None);
    (daemon, process)
}

/// Folders of the mirror that are watched: all but espejo's own.
fn folders(at: &std::path::Path) -> usize {
    let entries = fs::read_dir(at).unwrap().map(Result::unwrap);
    let below =
        entries.filter(|entry| entry.file_type().unwrap().is_dir() && entry.file_name() != marker::FOLDER);
    1 + below.map(|entry| folders(&entry.path())).sum::<usize>()
}

fn commands(bed: &Bed) {
    println!("commands, as whole processes beside the daemon (median of five)");
    for word in ["status", "list", "diff"] {
        let took = (0..5).map(|_| ms(bed.command(&[word]))).collect();
        tell(&format!("espejo {word}"), median(took), "ms", at_scale(bed, 100.0));
    }
    tell("espejo search, the first", ms(bed.command(&["search", "reunión", "budget"])), "ms", Some(50.0));
    let took = (0..5).map(|_| ms(bed.command(&["search", "propuesta", "cliente"]))).collect();
    tell("espejo search, later ones", median(took), "ms", Some(50.0));
}

fn scan(bed: &Bed, process: Process, idle: f64) {
    println!("a full scan with nothing changed");
    let marker = fs::read_to_string(bed.root().join(marker::FOLDER).join(marker::FILE)).unwrap();
    let mirror = Mirror::open(&bed.root(), marker::id(&marker).unwrap(), false).unwrap();
    let scanned = (0..5).map(|_| {
        let begin = Instant::now();
        mirror.perform(&Effect::Scan).unwrap();
        ms(begin.elapsed())
    });
    let walk = median(scanned.collect());
    // A look of the daemon's own: a file that is no page has to be told from one.
    let strays = (0..LOOKS).map(|n| bed.root().join(format!("look-{n}.txt"))).collect::<Vec<_>>();
    let looks = strays.iter().map(|stray| {
        process.rest();
        let (before, begin) = (process.cpu_fine_ms(), Instant::now());
        fs::write(stray, "").unwrap();
        std::thread::sleep(Duration::from_millis(500));
        process.rest();
        process.cpu_fine_ms() - before - idle * ms(begin.elapsed())
    });
    let whole = median(looks.collect());
    strays.iter().for_each(|stray| fs::remove_file(stray).unwrap());
    process.rest();
    tell("the walk alone", walk, "ms", None);
    tell("the daemon's CPU for it", whole, "ms", None);
    let there = Command::new("git").arg("--version").output().is_ok();
    if !there {
        return println!("git: not installed");
    }
    bed.git(&["init", "-q"]).unwrap();
    bed.git(&["add", "-A"]).unwrap();
    bed.git(&["commit", "-q", "--allow-empty", "-m", "all"]).unwrap();
    bed.git(&["status", "--porcelain"]).unwrap();
    // In turns: a machine that is busy with other things slows both alike.
    let this = Process(std::process::id());
    let cpu_of = |act: &mut dyn FnMut()| {
        let before = this.children_cpu_ms();
        act();
        this.children_cpu_ms() - before
    };
    let (mut took, mut git_cpu, mut diff_cpu) = (Vec::new(), 0.0, 0.0);
    for _ in 0..GIT_RUNS {
        git_cpu += cpu_of(&mut || took.push(ms(bed.git(&["status", "--porcelain"]).unwrap())));
        diff_cpu += cpu_of(&mut || _ = bed.command(&["diff"]));
    }
    let (git_cpu, diff_cpu) = (git_cpu / f64::from(GIT_RUNS), diff_cpu / f64::from(GIT_RUNS));
    tell("git status, whole process", median(took), "ms", None);
    tell("its CPU", git_cpu, "ms", None);
    tell("the daemon's CPU, of git status' CPU", whole / git_cpu, "times", Some(1.0));
    tell("espejo diff: CPU", diff_cpu, "ms", None);
    tell("the same, of git status' CPU", diff_cpu / git_cpu, "times", Some(2.0));
}

/// Waits until nothing that was asked for before counts against the limit, and the daemon rests.
fn unspent(bed: &Bed, process: Process) {
    bed.until("the old requests count no more", 500, 300, || {
        bed.status()["requests_last_minute"].as_u64().is_some_and(|count| count <= u64::from(LIMIT))
    });
    process.rest();
}

/// Minutes in which nobody does anything but the poll schedule; CPU in it, as a share of one core.
fn rest(bed: &Bed, process: Process) -> f64 {
    // The index of searches is looked at once after each start: its writes are none of the polls'.
    std::thread::sleep(INDEXED);
    unspent(bed, process);
    // The times of the start's own checks are written with the first of the polls.
    std::thread::sleep(WRITTEN);
    println!("at rest for {} s, polling at {LIMIT} requests a minute", REST.as_secs());
    let (cpu, written, switches, asked) =
        (process.cpu_ms(), process.written(), process.switches(), bed.requests());
    let begin = Instant::now();
    let mut lists = Vec::new();
    let mut seen = asked;
    while begin.elapsed() < REST {
        let before = process.cpu_fine_ms();
        std::thread::sleep(Duration::from_millis(5));
        let listed = {
            let world = bed.server.world();
            let all = world.log().entries();
            let fresh = all.len() - std::mem::replace(&mut seen, all.len());
            world.log().entries().rev().take(fresh).any(|entry| entry.path == "/pages")
        };
        if listed {
            std::thread::sleep(LIST_TAKEN);
            lists.push(process.cpu_fine_ms() - before);
        }
    }
    let share = (process.cpu_ms() - cpu) / ms(begin.elapsed());
    let after = process.written();
    let requests = (bed.requests() - asked) as f64;
    tell("CPU", share * 100.0, "% of one", Some(0.3));
    tell("resident", process.resident_mb(), "MB", at_scale(bed, 40.0));
    tell("requests", requests, "", None);
    if !lists.is_empty() {
        tell("a list with nothing changed: CPU", median(lists) - share * ms(LIST_TAKEN), "ms", None);
    }
    tell("handed to write() (sockets too)", (after.0 - written.0) as f64 / 1e6, "MB", None);
    tell("sent to the disk", (after.1 - written.1) as f64 / 1e6, "MB", None);
    tell("the same, a request", (after.1 - written.1) as f64 / 1e3 / requests.max(1.0), "kB", None);
    let minutes = REST.as_secs_f64() / 60.0;
    // 4 KiB for each poll of a schedule that polls 17 times a minute; one that polls less often writes as often.
    let day = (after.1 - written.1) as f64 / 1e6 / minutes * 1_440.0;
    tell("the same, a day", day, "MB", Some(100.0));
    tell("wake-ups", process.switches_since(&switches) as f64 / minutes, "a minute", None);
    share
}

/// Some edits on either side: wall milliseconds and CPU milliseconds of an edit, wall milliseconds of a remote change.
fn edits(bed: &Bed, process: Process, idle: f64) -> (f64, f64, f64) {
    println!("edits at {} pages (medians of {EDITS}, and of {CHANGES} changes in the app)", bed.size.pages);
    let page = |round: usize| bed.size.pages / 2 + round * 7;
    let edit = |n: usize| {
        let patches = bed.patches_of(n);
        let begin = Instant::now();
        let mut file = fs::OpenOptions::new().append(true).open(bed.file(n)).unwrap();
        file.write_all(b"\nA line of mine.\n").unwrap();
        drop(file);
        bed.until("the edit arrives", 2, 120, || bed.patches_of(n) > patches);
        ms(begin.elapsed())
    };
    let (mut saved, mut spent, mut requests, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..EDITS {
        process.rest();
        let (begin, cpu, asked) = (Instant::now(), process.cpu_fine_ms(), bed.requests());
        let written = process.written().1;
        saved.push(edit(page(round)));
        process.rest();
        spent.push(process.cpu_fine_ms() - cpu - idle * ms(begin.elapsed()));
        requests.push((bed.requests() - asked) as f64);
        bytes.push((process.written().1 - written) as f64 / 1e3);
    }
    let syncs = process.syncs_of(|| {
        edit(page(0) + 1);
        std::thread::sleep(SYNCED);
    });
    let mut seen = Vec::new();
    std::thread::sleep(MINUTE);
    for round in 0..CHANGES {
        process.rest();
        std::thread::sleep(ECHO);
        let n = page(round) + 3;
        // In a mirror that was kept, the last run's words are there already.
        bed.edit_remotely(n, &format!("changed in the app in round {round} of {}", std::process::id()));
        let begin = Instant::now();
        let before = fs::metadata(bed.file(n)).unwrap().modified().unwrap();
        let mut opened: Option<Instant> = None;
        bed.until("the change comes down", 2, 120, || {
            // Somebody opens the file, which is a reason to look at its page at once; a hint, which can be overheard.
            if opened.is_none_or(|at| at.elapsed() > REOPENED) {
                drop(fs::read(bed.file(n)).unwrap());
                opened = Some(Instant::now());
            }
            // Asking for the date opens nothing.
            fs::metadata(bed.file(n)).is_ok_and(|now| now.modified().unwrap() != before)
        });
        seen.push(ms(begin.elapsed()));
    }
    let (saved, spent, seen) = (median(saved), median(spent), median(seen));
    tell("from a save to its PATCH", saved, "ms", None);
    tell("CPU for it, until all is quiet again", spent, "ms", None);
    tell("requests for it (polls between counted)", median(requests), "", None);
    tell("sent to the disk for it", median(bytes), "kB", Some(65.5));
    match syncs {
        Some(syncs) => tell("syncs of files and folders for one", syncs, "", Some(2.0)),
        None => println!("  strace: not installed, or it may not watch the daemon"),
    }
    tell("a change in the app, from opening the file", seen, "ms", None);
    (saved, spent, seen)
}
