//! What `run` does beside the loop: systemd's watchdog and status, the desktop, the log.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::desktop::Desktop;
use super::indexing::Indexing;
use super::systemd;
use crate::cli::output;
use crate::cli::progress::Progress;
use crate::config::Config;
use crate::daemon::Observer;
use crate::engine::{Activity, Engine, Summary};
use crate::model::{Timestamp, to_act_on};
use crate::store::{ReadOnly, StoreError};

/// An effect that was not heard of for this long will not end any more. Requests give up long before; what remains is a
/// disk that does not answer, or a task that failed.
const HANGS_AFTER: Duration = Duration::from_secs(30 * 60);

/// Shows the first mirror's progress, tells systemd, and feeds its watchdog: from the loop's own turns, and only while
/// what the loop has begun also ends.
pub(super) struct Watcher {
    pub(super) progress: Progress,
    watchdog: Option<Duration>,
    hangs: bool,
    fed_at: Timestamp,
    status_at: Timestamp,
    told: String,
    desktop: Option<(Desktop, PathBuf)>,
    /// When the summary is wanted again, if something happened since the last one.
    look_again: Option<Duration>,
    indexing: Indexing,
}

/// How often `systemctl status` is brought up to date.
const STATUS_EVERY_MS: i64 = 5_000;

impl Watcher {
    pub(super) fn new(progress: Progress, config: &Config, named: Option<&Path>) -> Self {
        let desktop =
            config.notify.is_any().then(|| (Desktop::new(config.notify.clone()), config.state_dir.clone()));
        Self {
            progress,
            watchdog: sd_notify::watchdog_enabled().map(|whole| whole / 2),
            hangs: false,
            fed_at: Timestamp::default(),
            status_at: Timestamp::default(),
            told: String::new(),
            desktop,
            look_again: None,
            indexing: Indexing::new(named.map(Path::to_owned)),
        }
    }

    /// Whether the watchdog is due. A loop that waits in vain for something is not alive.
    fn feeds(&mut self, now: Timestamp) -> bool {
        let due = self.watchdog.is_some_and(|every| {
            now.since_ms(self.fed_at) >= i64::try_from(every.as_millis()).unwrap_or(i64::MAX)
        });
        if due && !self.hangs {
            self.fed_at = now;
        }
        due && !self.hangs
    }

    fn status(&mut self, summary: &Summary) {
        let left = match summary.pass_left_ms {
            // It would change with each look at a page, without end.
            left if left > 0 && summary.mirrored < summary.listed => {
                format!(", {} left", output::duration(left))
            }
            _ => String::new(),
        };
        let words = format!(
            "{} of {} pages mirrored{left}, {} pending, {} need attention",
            summary.mirrored,
            summary.listed,
            summary.pending,
            to_act_on(&summary.attention) + summary.conflicts
        );
        if words != self.told {
            systemd::tell(&[sd_notify::NotifyState::Status(&words)]);
            self.told = words;
        }
    }
}

impl Observer for Watcher {
    fn turn(&mut self, engine: &Engine, _: &[Activity], now: Timestamp) -> Result<bool, StoreError> {
        if self.feeds(now) {
            systemd::tell(&[sd_notify::NotifyState::Watchdog]);
        }
        self.indexing.turn(engine, now)?;
        let shows = self.progress.is_on() && self.progress.is_due(now);
        if shows || now.since_ms(self.status_at) >= STATUS_EVERY_MS {
            let summary = engine.summary(now)?;
            self.status_at = now;
            self.look_again = None;
            self.status(&summary);
            self.indexing.expect(&summary);
            if let Some((desktop, state_dir)) = &mut self.desktop {
                let conflicts = match summary.conflicts {
                    0 => Ok(Vec::new()),
                    _ => ReadOnly::open_unmapped(state_dir)
                        .and_then(|state| state.map_or(Ok(Vec::new()), |state| state.conflicts())),
                };
                match conflicts {
                    Ok(conflicts) => desktop.tell(&summary.attention, &conflicts, now),
                    // A message is not worth a stop; the next look tries again.
                    Err(error) => tracing::debug!(%error, "the conflicts cannot be read for the desktop"),
                }
            }
            if shows {
                self.progress.show(&summary, now);
                if summary.is_settled && summary.listed > 0 {
                    self.progress.finish();
                    let stored = match summary.storage.files {
                        0 => String::new(),
                        files => {
                            format!(" and {}", output::count(files as u64, "stored file", "stored files"))
                        }
                    };
                    let pages = output::count(summary.mirrored as u64, "page", "pages");
                    let left = match summary.listed.saturating_sub(summary.mirrored) {
                        0 => String::new(),
                        left => format!(
                            ", {} to come (espejo status says why)",
                            output::count(left as u64, "page is", "pages are")
                        ),
                    };
                    tracing::info!("{pages}{stored} mirrored{left}; espejo now follows changes");
                }
            }
        }
        if self.status_at != now && self.desktop.is_some() {
            // What this turn brought is looked at when it is time.
            let left = STATUS_EVERY_MS - now.since_ms(self.status_at);
            self.look_again = Some(Duration::from_millis(left.max(1).unsigned_abs()));
        }
        Ok(true)
    }

    fn silence(&mut self, longest: Duration) {
        let hangs = longest >= HANGS_AFTER;
        if hangs && !self.hangs {
            tracing::error!(
                "an operation has not ended for half an hour; systemd restarts espejo, without systemd restart it yourself"
            );
        }
        self.hangs = hangs;
    }

    fn wakeup(&self) -> Option<Duration> {
        [self.progress.wakeup(), self.watchdog, self.look_again].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_is_fed_only_while_what_was_begun_ends() {
        let config = Config::new("https://h".into(), "/w".into(), "/s".into());
        let mut watcher =
            Watcher::new(Progress::new(&indicatif::MultiProgress::new(), false, true), &config, None);
        watcher.watchdog = Some(Duration::from_secs(60));
        let minutes = |n: u64| Duration::from_secs(60 * n);
        for (second, silence, fed) in [
            (100, minutes(0), true),
            (130, minutes(0), false),
            (160, minutes(29), true),
            (220, minutes(30), false),
            (900, minutes(41), false),
            // The disk answers after all.
            (901, minutes(0), true),
        ] {
            watcher.silence(silence);
            assert_eq!(watcher.feeds(Timestamp(second * 1_000)), fed, "{second}");
        }
    }
}
