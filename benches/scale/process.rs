//! What the system tells of a running process: `/proc/PID` (proc(5)), Linux only. Figures of a process that ended are 0.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::served::{Running, stop};

/// A tick of `utime` and `stime`: `USER_HZ` is 100 wherever Linux runs today.
const TICK_MS: f64 = 10.0;

#[derive(Clone, Copy)]
pub(crate) struct Process(pub(crate) u32);

impl Process {
    fn text(self, name: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{name}", self.0)).unwrap_or_default()
    }

    fn field(self, file: &str, key: &str) -> u64 {
        let text = self.text(file);
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }

    /// Of all threads that ever were, in steps of 10 ms.
    pub(crate) fn cpu_ms(self) -> f64 {
        // utime and stime are the 14th and 15th field of the whole line.
        self.ticks_ms(14)
    }

    /// Of all its children that ended and were waited for, in steps of 10 ms.
    pub(crate) fn children_cpu_ms(self) -> f64 {
        self.ticks_ms(16)
    }

    fn ticks_ms(self, field: usize) -> f64 {
        let stat = self.text("stat");
        // The name in parentheses may hold anything; what follows is the third field.
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        let both = after.split_whitespace().skip(field - 3).take(2);
        both.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * TICK_MS
    }

    /// Of the threads that live, to the nanosecond.
    pub(crate) fn cpu_fine_ms(self) -> f64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0)).into_iter().flatten().flatten();
        let spent = |path: std::path::PathBuf| {
            let text = fs::read_to_string(path.join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<f64>().ok()
        };
        tasks.filter_map(|task| spent(task.path())).sum::<f64>() / 1e6
    }

    /// Resident now or swapped out, in MB.
    pub(crate) fn resident_mb(self) -> f64 {
        (self.field("status", "VmRSS") + self.field("status", "VmSwap")) as f64 / 1_024.0
    }

    /// The most that ever was resident, in MB.
    pub(crate) fn peak_mb(self) -> f64 {
        self.field("status", "VmHWM") as f64 / 1_024.0
    }

    /// The most is counted anew from here on (proc(5), `clear_refs`).
    pub(crate) fn forget_peak(self) {
        fs::write(format!("/proc/{}/clear_refs", self.0), "5").ok();
    }

    /// Bytes that were written to files and sockets alike, and bytes that went to a disk.
    pub(crate) fn written(self) -> (u64, u64) {
        (self.field("io", "wchar"), self.field("io", "write_bytes"))
    }

    /// How often it synced a file or a folder meanwhile; nothing where it cannot be watched.
    pub(crate) fn syncs_of(self, act: impl FnOnce()) -> Option<f64> {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-e", "trace=fsync,fdatasync,syncfs", "-p", &self.0.to_string()]);
        let mut strace = Running(strace.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().ok()?);
        let mut told = BufReader::new(strace.stderr.take()?).lines().map_while(Result::ok);
        // It says when it is there, or why not.
        told.next().filter(|line| line.contains("attached"))?;
        act();
        stop(strace);
        Some(told.filter(|line| line.contains("sync(")).count() as f64)
    }

    /// How often each thread that lives went to sleep and was woken.
    pub(crate) fn switches(self) -> BTreeMap<OsString, u64> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0)).into_iter().flatten().flatten();
        let of = |task: fs::DirEntry| {
            let text = fs::read_to_string(task.path().join("status")).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            Some((task.file_name(), line.trim().parse().ok()?))
        };
        tasks.filter_map(of).collect()
    }

    /// How often that happened since then to the threads that live now.
    pub(crate) fn switches_since(self, before: &BTreeMap<OsString, u64>) -> u64 {
        let now = self.switches().into_iter();
        now.map(|(thread, count)| count - before.get(&thread).copied().unwrap_or(0)).sum()
    }

    /// How many folders it watches with inotify.
    pub(crate) fn watches(self) -> usize {
        let all = fs::read_dir(format!("/proc/{}/fdinfo", self.0)).into_iter().flatten().flatten();
        let texts = all.filter_map(|entry| fs::read_to_string(entry.path()).ok());
        texts.map(|text| text.lines().filter(|line| line.starts_with("inotify wd:")).count()).sum()
    }

    /// Waits until it has used less than an eighth of a core for so long: what it reads at leisure goes on.
    pub(crate) fn rest_for(self, quiet: Duration) {
        let end = Instant::now() + Duration::from_secs(300);
        let step = Duration::from_millis(250);
        let mut calm = Duration::ZERO;
        while calm < quiet && Instant::now() < end {
            let before = self.cpu_fine_ms();
            std::thread::sleep(step);
            let spent = self.cpu_fine_ms() - before;
            calm = if spent < 31.0 { calm + step } else { Duration::ZERO };
        }
    }

    /// Waits until it has used less than 2 ms in 150 ms.
    pub(crate) fn rest(self) {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let before = self.cpu_fine_ms();
            std::thread::sleep(Duration::from_millis(150));
            if self.cpu_fine_ms() - before < 2.0 || Instant::now() > end {
                return;
            }
        }
    }
}
