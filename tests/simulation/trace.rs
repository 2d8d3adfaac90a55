//! What happened, line by line: the last lines for a person, and a number over all of them for comparing two runs.

use std::collections::VecDeque;
use std::fmt;

use espejo::model::{DiskReply, Outcome, ServiceReply};

use crate::blocks::all_words;
use crate::canvas::brief_reply;
use crate::run::listed;
use crate::stored;
use crate::words::words_in;

/// The record of a run.
#[derive(Debug)]
pub(crate) struct Trace {
    /// The last lines that tell of a change, each with its number.
    deeds: VecDeque<(u64, String)>,
    /// The last lines of any kind.
    last: VecDeque<(u64, String)>,
    digest: u64,
    count: u64,
    loud: bool,
}

/// As many lines are kept of those that tell of a change,
const DEEDS: usize = 110;
/// and of all.
const LAST: usize = 12;
/// How lines begin that only look, and do so again and again while nothing happens.
const LOOKS: [&str; 6] = ["> list", "> get", "> scan", "  lists", "  shows", "  scans"];

impl Trace {
    /// An empty record; `loud` prints each line at once.
    pub(crate) fn new(loud: bool) -> Self {
        Self { deeds: VecDeque::new(), last: VecDeque::new(), digest: 0xcbf2_9ce4_8422_2325, count: 0, loud }
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
        let text = line.get(10..).unwrap_or("");
        if !LOOKS.iter().any(|look| text.starts_with(look)) {
            keep(&mut self.deeds, (self.count, line.clone()), DEEDS);
        }
        keep(&mut self.last, (self.count, line), LAST);
    }

    /// A line for a person only: it does not count when two runs are compared.
    pub(crate) fn aside(&mut self, what: fmt::Arguments<'_>) {
        if self.loud {
            println!("          {what}");
        }
    }

    /// Shows the text of a file to a person, when `ESPEJO_TEXTS` asks for that.
    pub(crate) fn text(&self, bytes: &[u8]) {
        if self.loud && std::env::var_os("ESPEJO_TEXTS").is_some() {
            for line in String::from_utf8_lossy(bytes).split_inclusive('\n') {
                println!("            | {line:?}");
            }
        }
    }

    /// A number over every line so far.
    pub(crate) fn digest(&self) -> (u64, u64) {
        (self.digest, self.count)
    }

    /// The last lines, without looks that led to nothing unless they are the very last.
    pub(crate) fn tail(&self) -> Vec<String> {
        let from = self.last.front().map_or(0, |(number, _)| *number);
        let before = self.deeds.iter().filter(|(number, _)| *number < from);
        before.chain(&self.last).map(|(_, line)| line.clone()).collect()
    }
}

fn keep(lines: &mut VecDeque<(u64, String)>, line: (u64, String), most: usize) {
    if lines.len() == most {
        lines.pop_front();
    }
    lines.push_back(line);
}

/// An outcome in a few words.
pub(crate) fn brief_outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Service(Ok(ServiceReply::Pages { pages, skipped, .. })) => {
            format!("lists {} pages, {} skipped", pages.len(), skipped.len())
        }
        Outcome::Service(Ok(ServiceReply::PagesAsKnown)) => "lists what it listed before".to_owned(),
        Outcome::Service(Ok(ServiceReply::Page(page))) => {
            format!("shows {:?} [{}]", page.meta.title, listed(&all_words(&page.telling)))
        }
        Outcome::Service(Ok(ServiceReply::Meta(meta))) => format!("gives {:?} {}", meta.title, meta.id),
        Outcome::Service(Ok(ServiceReply::Workspaces(all))) => format!("lists {} workspaces", all.len()),
        Outcome::Service(Ok(ServiceReply::Trashed)) => "trashed".to_owned(),
        Outcome::Service(Ok(ServiceReply::Board(reply))) => brief_reply(reply),
        Outcome::Service(Ok(ServiceReply::Found(found))) => format!("finds {}", found.hits.len()),
        Outcome::Service(Err(error)) => format!("fails: {error}"),
        Outcome::Disk(Ok(DiskReply::Scan(scan))) => {
            format!(
                "scans {:?}: {} entries, {} unreadable",
                scan.root,
                scan.entries.len(),
                scan.unreadable.len()
            )
        }
        Outcome::Disk(Ok(DiskReply::File(look))) => {
            format!("reads {} [{}]", look.path, listed(&words_in(&look.bytes)))
        }
        Outcome::Disk(Ok(DiskReply::Written(_))) => "written".to_owned(),
        Outcome::Disk(Ok(DiskReply::Finished)) => "finished".to_owned(),
        Outcome::Disk(Err(error)) => format!("fails: {error}"),
        Outcome::Service(Ok(ServiceReply::Storage(_)))
        | Outcome::Disk(Ok(DiskReply::Storage(_)))
        | Outcome::Download(_) => stored::fetch::brief(outcome).unwrap_or_default(),
        Outcome::Work(_) => "worked out".to_owned(),
    }
}
