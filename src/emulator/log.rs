//! Every request the service has seen, so that a test can count them and look into them. Bounded: the oldest entries
//! go when there are more than [`RequestLog::CAPACITY`].

use std::collections::VecDeque;

use serde_json::Value;

use super::http::{Delivery, HttpRequest};
use crate::model::{PageId, Timestamp};

/// One request, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// When it arrived.
    pub at: Timestamp,
    /// Its method.
    pub method: String,
    /// Its path beneath the base URL.
    pub path: String,
    /// Its query, still encoded.
    pub query: String,
    /// Its body.
    pub body: Vec<u8>,
    /// The status it was answered with; 0 when it got lost on its way to the service.
    pub status: u16,
    /// Whether the service did what was asked, whatever became of the answer.
    pub applied: bool,
    /// How the answer was sent.
    pub delivery: Delivery,
}

impl LogEntry {
    /// Whether it asked for a change.
    #[must_use]
    pub fn is_write(&self) -> bool {
        self.method != "GET"
    }

    /// Whether it reached the service, and so counts against its limit.
    #[must_use]
    pub fn arrived(&self) -> bool {
        self.status != 0
    }

    /// The body as JSON; `Null` when it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        crate::model::read_json(&self.body).unwrap_or(Value::Null)
    }
}

/// The log.
#[derive(Debug, Clone, Default)]
pub struct RequestLog {
    entries: VecDeque<LogEntry>,
}

impl RequestLog {
    /// How many entries are kept.
    pub const CAPACITY: usize = 100_000;

    pub(super) fn push(&mut self, entry: LogEntry) {
        if self.entries.len() == Self::CAPACITY {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// Every entry, oldest first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &LogEntry> + ExactSizeIterator {
        self.entries.iter()
    }

    /// Forgets everything, so that a test can count from here.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Requests that asked for a change.
    pub fn writes(&self) -> impl DoubleEndedIterator<Item = &LogEntry> {
        self.entries.iter().filter(|entry| entry.is_write())
    }

    /// The PATCH requests for one page.
    pub fn patches_of<'a>(&'a self, page: &'a PageId) -> impl DoubleEndedIterator<Item = &'a LogEntry> {
        self.writes().filter(move |entry| {
            entry.method == "PATCH" && entry.path.strip_prefix("/pages/") == Some(page.as_str())
        })
    }

    /// How many requests were answered with this status.
    #[must_use]
    pub fn answered(&self, status: u16) -> usize {
        self.entries.iter().filter(|entry| entry.status == status).count()
    }

    /// The most requests that arrived in any 60 seconds (a window without its end: 60.000 s apart is two windows).
    #[must_use]
    pub fn most_in_any_minute(&self) -> usize {
        let mut times: Vec<Timestamp> =
            self.entries.iter().filter(|entry| entry.arrived()).map(|entry| entry.at).collect();
        times.sort_unstable();
        let mut first = 0;
        let mut most = 0;
        for (last, at) in times.iter().enumerate() {
            while at.since_ms(times[first]) >= 60_000 {
                first += 1;
            }
            most = most.max(last + 1 - first);
        }
        most
    }
}

impl LogEntry {
    pub(super) fn new(request: &HttpRequest, at: Timestamp) -> Self {
        Self {
            at,
            method: request.method.clone(),
            path: request.path.clone(),
            query: request.query.clone(),
            body: request.body.clone(),
            status: 0,
            applied: false,
            delivery: Delivery::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_minute_is_found_wherever_it_starts() {
        #[track_caller]
        fn check(seconds: &[i64], expected: usize) {
            let mut log = RequestLog::default();
            for second in seconds {
                let mut entry = LogEntry::new(&HttpRequest::default(), Timestamp(second * 1000));
                entry.status = 200;
                log.push(entry);
            }
            assert_eq!(log.most_in_any_minute(), expected, "{seconds:?}");
        }
        check(&[], 0);
        check(&[5], 1);
        check(&[0, 60], 1);
        check(&[0, 59, 60], 2);
        check(&[0, 30, 59, 61, 62, 89], 5);
        check(&[89, 0, 61, 30, 62, 59], 5);
    }

    #[test]
    fn what_never_arrived_is_not_counted() {
        let mut log = RequestLog::default();
        log.push(LogEntry::new(&HttpRequest::default(), Timestamp(0)));
        assert_eq!((log.entries().len(), log.most_in_any_minute()), (1, 0));
    }
}
