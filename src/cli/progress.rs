//! How far the first mirror, or a full pass, is: a bar on a terminal, a line now and then elsewhere.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::output;
use crate::engine::{StorageSummary, Summary};
use crate::model::Timestamp;

/// How often a summary is made: it walks all pages.
const EVERY_MS: i64 = 250;
/// How often a line is written where there is no terminal.
const LINE_EVERY_MS: i64 = 15_000;
/// Words have the room that they need in a terminal of 80 columns, and the bar what is left: a line that wraps is drawn twice.
const PAGES: &str = "{wide_bar:.green/dim} {pos}/{len} pages  {msg}";
const DOWNLOADS: &str = "{wide_bar:.green/dim} {msg}";

/// How a command is shown while it goes on.
#[derive(Debug, Clone, Copy)]
pub struct Screen<'a> {
    /// Where bars are drawn.
    pub bars: &'a MultiProgress,
    /// Whether stderr is a terminal.
    pub terminal: bool,
    /// Whether only what needs the user is said.
    pub quiet: bool,
}

/// Shows progress until everything has been looked at.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    shown_at: Timestamp,
    line_at: Timestamp,
    started: Option<Timestamp>,
    last: Option<(usize, usize)>,
    /// When downloads were first shown, and how many files and bytes were there then.
    arrived: Option<(Timestamp, u64, u64)>,
}

impl Progress {
    /// Progress on stderr among `bars`; a bar when `terminal`, else lines. `quiet` shows nothing.
    #[must_use]
    pub fn new(bars: &MultiProgress, terminal: bool, quiet: bool) -> Self {
        let bar = (terminal && !quiet).then(|| {
            let bar = bars.add(ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()));
            if let Ok(style) = ProgressStyle::with_template(PAGES) {
                bar.set_style(style);
            }
            bar
        });
        Self {
            bar,
            lines: !terminal && !quiet,
            shown_at: Timestamp::default(),
            line_at: Timestamp::default(),
            started: None,
            last: None,
            arrived: None,
        }
    }

    /// Whether a new summary is due.
    pub fn is_due(&mut self, now: Timestamp) -> bool {
        let due = now.since_ms(self.shown_at) >= EVERY_MS;
        if due {
            self.shown_at = now;
        }
        due
    }

    /// Shows a summary.
    pub fn show(&mut self, summary: &Summary, now: Timestamp) {
        let started = *self.started.get_or_insert(now);
        if summary.looked >= summary.listed && is_downloading(&summary.storage) {
            return self.show_downloads(&summary.storage, now);
        }
        self.arrived = None;
        if summary.listed == 0 {
            return;
        }
        let spent = now.since_ms(started);
        let left = match u64::try_from(summary.looked) {
            // The rate is real once a few pages are there; before, the limit is the better guess.
            Ok(looked) if looked >= 5 && spent > 2_000 => {
                spent.saturating_mul(i64::try_from(summary.listed - summary.looked).unwrap_or(0))
                    / i64::try_from(looked).unwrap_or(1)
            }
            _ => summary.pass_left_ms,
        };
        let words = format!(
            "{} in the last minute, {}",
            output::count(summary.requests_last_minute as u64, "request", "requests"),
            if summary.looked >= summary.listed {
                "settling".to_owned()
            } else {
                format!("{} left", output::duration(left))
            }
        );
        if let Some(bar) = &self.bar {
            bar.set_length(summary.listed as u64);
            bar.set_position(summary.looked as u64);
            bar.set_message(words);
        } else if self.lines && now.since_ms(self.line_at) >= LINE_EVERY_MS {
            let at = (summary.looked, summary.listed);
            if self.last != Some(at) && self.line_at.0 > 0 {
                tracing::info!("{} of {} pages, {words}", summary.looked, summary.listed);
            }
            self.last = Some(at);
            self.line_at = now;
        }
    }

    /// Bytes of stored files and the time left, once the pages are there.
    fn show_downloads(&mut self, storage: &StorageSummary, now: Timestamp) {
        let (files, here) = (storage.files as u64, storage.bytes + storage.arriving);
        let (since, files_first, first) = *self.arrived.get_or_insert((now, files, here));
        let spent = u64::try_from(now.since_ms(since)).unwrap_or(0);
        // Small files take requests, large ones take bytes: what is slower tells.
        let files = (files.saturating_sub(files_first), (storage.listed as u64).saturating_sub(files));
        let bytes = (here.saturating_sub(first), storage.listed_bytes.saturating_sub(here));
        let left = match (time_left(spent, files), time_left(spent, bytes)) {
            (Some(by_files), Some(by_bytes)) => Some(by_files.max(by_bytes)),
            // The first of a few large ones is on its way.
            (None, by_bytes) if storage.arriving > 0 => by_bytes,
            _ => None,
        };
        let time =
            left.map(|left| format!(", {} left", output::duration(left.max(1_000)))).unwrap_or_default();
        let more = if storage.folders_left > 0 { "at least " } else { "" };
        let words = format!(
            "stored files: {} of {more}{}, {} of {more}{}{time}",
            output::grouped(storage.files as u64),
            output::grouped(storage.listed as u64),
            output::bytes(here),
            output::bytes(storage.listed_bytes),
        );
        if let Some(bar) = &self.bar {
            if let Ok(style) = ProgressStyle::with_template(DOWNLOADS) {
                bar.set_style(style);
            }
            bar.set_length(storage.listed_bytes.max(1));
            bar.set_position(here);
            bar.set_message(words);
        } else if self.lines && now.since_ms(self.line_at) >= LINE_EVERY_MS {
            if self.line_at.0 > 0 {
                tracing::info!("{words}");
            }
            self.line_at = now;
        }
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        self.lines = false;
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Whether it still shows anything.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.bar.is_some() || self.lines
    }

    /// How soon it wants to be shown again.
    #[must_use]
    pub fn wakeup(&self) -> Option<Duration> {
        self.is_on().then(|| Duration::from_millis(EVERY_MS.unsigned_abs()))
    }
}

/// How long it takes until what is left has come, at the pace of what came in `spent` milliseconds; `None` as long as
/// there is no pace.
fn time_left(spent: u64, (came, left): (u64, u64)) -> Option<i64> {
    match (came, spent) {
        _ if left == 0 => Some(0),
        (1.., 2_000..) => {
            let ms = u128::from(left) * u128::from(spent) / u128::from(came);
            Some(i64::try_from(ms).unwrap_or(i64::MAX))
        }
        _ => None,
    }
}

fn is_downloading(storage: &StorageSummary) -> bool {
    storage.files < storage.listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_the_pace_once_there_is_one() {
        for (spent, came, left, expected) in [
            (0, 0, 0, Some(0)),
            (1_999, 5, 5, None),
            (60_000, 0, 5, None),
            (2_000, 1, 5, Some(10_000)),
            (60_000, 4_700_000, 940, Some(12)),
            (u64::MAX, 1, u64::MAX, Some(i64::MAX)),
        ] {
            assert_eq!(time_left(spent, (came, left)), expected, "{spent} {came} {left}");
        }
    }
}
