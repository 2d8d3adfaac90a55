//! What a command waits for while the service is away, told once on stderr, so that nobody takes the wait for a program that hangs.

use std::io::Write;

use indicatif::MultiProgress;

use crate::cli::when;
use crate::model::{Attention, Code, Timestamp};

/// Tells it once for each outage.
#[derive(Debug)]
pub struct Waits {
    bars: MultiProgress,
    quiet: bool,
    told: bool,
}

impl Waits {
    /// Tells it above `bars`; `quiet` tells nothing.
    #[must_use]
    pub fn new(bars: &MultiProgress, quiet: bool) -> Self {
        Self { bars: bars.clone(), quiet, told: false }
    }

    /// Takes in the messages of the moment. Nothing is waited for after `until`, unless something gets further before.
    pub fn tell(&mut self, messages: &[Attention], until: Timestamp) {
        let outage = messages.iter().find(|message| message.code == Code::Outage);
        if let Some(outage) = outage.filter(|_| !self.told && !self.quiet) {
            let line = format!("{}; espejo tries again until {}", outage.reason, when::time_of_day(until));
            // There is no place for a message when stderr is closed.
            self.bars
                .suspend(|| drop(writeln!(std::io::stderr(), "espejo: {}", crate::logging::escape(&line))));
        }
        self.told = outage.is_some();
    }
}
