//! What changes at one blow: thousands of files, the top folder, one huge page, the order of everything. For each, how long
//! the loop stood still at most (its own word in the log), and the peak of memory beside what it was at rest before.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::bed::Bed;
use crate::process::Process;
use crate::{at_scale, tell};

/// What the daemon's log says of a turn that took long.
const LONG_TURN: &str = "a turn of the loop took ";
const BLOCKS: usize = 20_000;
/// Deleted files are waited for this long.
const GRACE: Duration = Duration::from_secs(14);
/// The service's list comes every 20 s.
const LIST: Duration = Duration::from_secs(22);
const SOON: Duration = Duration::from_millis(1_500);
/// What a burst took is given back within this time.
const GIVEN_BACK: Duration = Duration::from_secs(60);

pub(crate) fn all(bed: &Bed, process: Process) {
    let pages = bed.size.pages;
    let half = || (0..pages).step_by(2);
    if bed.git(&["init", "-q"]).is_none() {
        return println!("upheavals: without git there is no way back");
    }
    bed.git(&["add", "-A"]).unwrap();
    bed.git(&["commit", "-q", "--allow-empty", "-m", "before"]).unwrap();
    let back = || {
        bed.git(&["checkout", "-q", "-f", "--", "."]).unwrap();
    };
    let only = std::env::var("ESPEJO_ONLY").unwrap_or_default();
    let watch = |what: &str, quiet: Duration, act: &dyn Fn()| {
        if only.split(';').any(|words| what.contains(words)) {
            Upheaval::begin(bed, process).watch(what, quiet, act);
        }
    };
    println!("upheavals");
    watch("half of the files rewritten", SOON, &|| {
        for n in half() {
            let mut file = fs::OpenOptions::new().append(true).open(bed.file(n)).unwrap();
            file.write_all(b"\nA line for all.\n").unwrap();
        }
    });
    watch("git checkout of them", SOON, &back);
    let top: Vec<PathBuf> = list(&bed.root().join("Team/Pages"));
    watch("rm -rf of half", GRACE, &|| {
        for path in top.iter().take(top.len() / 2) {
            if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
        }
    });
    watch("git checkout of it", SOON, &back);
    let (here, there) = (bed.root().join("Team"), bed.root().join("Elsewhere"));
    watch("the top folder renamed", GRACE, &|| fs::rename(&here, &there).unwrap());
    watch("and renamed back", SOON, &|| fs::rename(&there, &here).unwrap());
    watch("the order of everything reversed", LIST, &|| bed.reverse_order());
    let n = pages / 3;
    watch("a page of 20,000 blocks comes", SOON, &|| {
        bed.edit_remotely_at_length(n, BLOCKS);
        // Whoever opens a file more often than every other second is no person.
        bed.until("it is here", 3_000, 120, || {
            drop(fs::read(bed.file(n)).unwrap());
            fs::metadata(bed.file(n)).unwrap().len() > BLOCKS as u64 * 20
        });
    });
    watch("a line in it is edited", SOON, &|| {
        let patches = bed.patches_of(n);
        let mut file = fs::OpenOptions::new().append(true).open(bed.file(n)).unwrap();
        file.write_all(b"\nA line of mine.\n").unwrap();
        drop(file);
        bed.until("it arrives", 20, 120, || bed.patches_of(n) > patches);
    });
    tell("peak of memory with 20,000 blocks", process.peak_mb(), "MB", at_scale(bed, 80.0));
    std::thread::sleep(GIVEN_BACK);
    tell("resident a minute later", process.resident_mb(), "MB", at_scale(bed, 48.0));
    let trashed = bed.server.world().pages().filter(|page| page.trashed.is_some()).count();
    tell("pages in the service's trash after it all", trashed as f64, "", Some(0.0));
    bed.until("all is whole again", 1_000, 600, || bed.is_whole());
}

/// Wall milliseconds and CPU milliseconds of a turn that a line of the log tells of.
fn turn(line: &str) -> Option<(f64, f64)> {
    let mut words = line.split_once(LONG_TURN)?.1.split([' ', ',']).filter_map(|word| word.parse().ok());
    Some((words.next()?, words.next()?))
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

struct Upheaval<'a> {
    bed: &'a Bed,
    process: Process,
    rest_mb: f64,
    log: usize,
    cpu: f64,
}

impl<'a> Upheaval<'a> {
    fn begin(bed: &'a Bed, process: Process) -> Self {
        process.rest();
        process.forget_peak();
        let (rest_mb, log, cpu) = (process.resident_mb(), bed.log().len(), process.cpu_ms());
        Self { bed, process, rest_mb, log, cpu }
    }

    fn watch(self, what: &str, quiet: Duration, act: &dyn Fn()) {
        let begin = Instant::now();
        act();
        let acted = begin.elapsed();
        self.process.rest_for(quiet);
        let log = self.bed.log();
        let turns: Vec<(f64, f64)> = log.get(self.log..).unwrap_or("").lines().filter_map(turn).collect();
        let longest = |of: fn(&(f64, f64)) -> f64| turns.iter().map(of).fold(0.0, f64::max);
        let quiet_after = begin.elapsed().saturating_sub(acted).saturating_sub(quiet);
        println!(" {what}");
        tell("  until all is quiet", quiet_after.as_secs_f64(), "s", None);
        tell("  CPU", self.process.cpu_ms() - self.cpu, "ms", None);
        tell("  longest turn of the loop (0: under 50)", longest(|turn| turn.0), "ms", Some(100.0));
        tell("  the same as CPU", longest(|turn| turn.1), "ms", Some(100.0));
        println!("    those of 50 and more: {turns:?}");
        tell("  peak of memory, of that at rest", self.process.peak_mb() / self.rest_mb, "times", Some(2.0));
    }
}
