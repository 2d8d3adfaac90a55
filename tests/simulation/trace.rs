//! What happened, line by line: the last lines for a person, and a number over all of them for comparing two runs.

use std::collections::VecDeque;
use std::fmt;

/// The record of a run.
#[derive(Debug)]
pub(crate) struct Trace {
    last: VecDeque<String>,
    digest: u64,
    count: u64,
    loud: bool,
}

/// As many lines as are kept.
const KEPT: usize = 90;

impl Trace {
    /// An empty record; `loud` prints each line at once.
    pub(crate) fn new(loud: bool) -> Self {
        Self { last: VecDeque::new(), digest: 0xcbf2_9ce4_8422_2325, count: 0, loud }
    }

    /// Notes a line.
    pub(crate) fn note(&mut self, since_start_ms: i64, what: fmt::Arguments<'_>) {
        let line = format!("{:>9.3} {what}", since_start_ms as f64 / 1_000.0);
        for byte in line.bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.count += 1;
        if self.loud {
            println!("{line}");
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// A line for a person only: it does not count when two runs are compared.
    pub(crate) fn aside(&mut self, what: fmt::Arguments<'_>) {
        if self.loud {
            println!("          {what}");
        }
    }

    /// A number over every line so far.
    pub(crate) fn digest(&self) -> (u64, u64) {
        (self.digest, self.count)
    }

    /// The last lines.
    pub(crate) fn tail(&self) -> Vec<String> {
        self.last.iter().cloned().collect()
    }
}
