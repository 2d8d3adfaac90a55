//! Delays repeated uploads of one file, so that a log that is written all day is not uploaded all day. Its last
//! version is uploaded all the same.

use std::collections::BTreeMap;

use crate::model::{MirrorPath, Schedule, Timestamp};

/// Uploads of one file in a row that need no wait, because users may save twice.
const AT_ONCE: u32 = 2;
/// The wait before the next upload, and before each later one.
const SENT_AGAIN: Schedule = Schedule::new(FIRST_MS, 300_000);
const FIRST_MS: i64 = 30_000;

/// For each file, the number of uploads in a row, and the time of the last one.
#[derive(Debug, Default)]
pub(super) struct Again(BTreeMap<MirrorPath, (u32, Timestamp)>);

impl Again {
    /// Records an upload.
    pub(super) fn sent(&mut self, path: &MirrorPath, now: Timestamp) {
        // A file without uploads for a long time starts a new count.
        self.0.retain(|_, (row, at)| now.since_ms(*at) < 2 * rest_ms(*row).max(FIRST_MS));
        let (row, at) = self.0.entry(path.clone()).or_default();
        (*row, *at) = (*row + 1, now);
    }

    /// The earliest time of the next upload of a file.
    pub(super) fn due(&self, path: &MirrorPath) -> Timestamp {
        self.0.get(path).map_or_else(Timestamp::default, |(row, at)| at.plus_ms(rest_ms(*row)))
    }

    /// Drops all waits, because the user requests a full sync.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

fn rest_ms(row: u32) -> i64 {
    row.checked_sub(AT_ONCE).map_or(0, |more| SENT_AGAIN.wait_ms(more + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_all_the_time_is_sent_ever_more_seldom_and_begins_anew_after_a_rest() {
        let path = MirrorPath::new("Storage/app.log").unwrap();
        let mut again = Again::default();
        let mut now = Timestamp(1_000_000);
        assert!(again.due(&path) <= now);
        let mut waits = Vec::new();
        for _ in 0..7 {
            again.sent(&path, now);
            waits.push(again.due(&path).since_ms(now) / 1_000);
            now = again.due(&path);
        }
        assert_eq!(waits, [0, 30, 60, 120, 240, 300, 300]);
        now = now.plus_ms(600_000);
        again.sent(&path, now);
        assert_eq!(again.due(&path), now);
    }
}
