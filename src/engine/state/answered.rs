//! Requests that were answered with success a moment ago, and that a read may not show yet: pages that were made, titles that
//! were sent. A restart keeps them.

use std::collections::BTreeMap;

use crate::model::{PageId, Timestamp, read_json};
use crate::store::{Store, StoreError};

/// A read that shows an earlier state of the page is a lagging one for so long after espejo's request: while no read has shown
/// what was sent, and once one has, because replicas take turns.
pub(crate) const LAGS_MS: [i64; 2] = [60_000, 20_000];
/// An editor that was open in the app may write its old text so long after a request.
pub(crate) const OVERWRITE_MS: i64 = 600_000;

/// Key in the state: a time, an id and, after a rename, the title before it as JSON, a line.
const ROW: &str = "answered";

/// What was answered lately.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    made: BTreeMap<PageId, Timestamp>,
    /// The titles that pages had, each with the time at which another one was sent.
    titles: Vec<(PageId, String, Timestamp)>,
}

impl Answered {
    /// Loads what an earlier run noted. A time in the future, from a clock that was set back, becomes now.
    pub(crate) fn open(store: &Store, now: Timestamp) -> Result<Self, StoreError> {
        let mut answered = Self::default();
        for line in store.meta(ROW)?.unwrap_or_default().lines() {
            let mut parts = line.splitn(3, ' ');
            let (Some(Ok(at)), Some(Ok(id))) = (parts.next().map(str::parse), parts.next().map(PageId::new))
            else {
                continue;
            };
            let at = Timestamp(at).min(now);
            match parts.next().map(|title| read_json::<String>(title.as_bytes())) {
                Some(title) => answered.titles.extend(title.ok().map(|title| (id, title, at))),
                None => drop(answered.made.insert(id, at)),
            }
        }
        Ok(answered)
    }

    /// Notes a page that was made.
    pub(crate) fn note_made(&mut self, id: &PageId, store: &mut Store, now: Timestamp) {
        self.made.insert(id.clone(), now);
        self.save(store, now);
    }

    /// Notes the title that a page had before the one that was sent.
    pub(crate) fn note_title(&mut self, id: &PageId, before: String, store: &mut Store, now: Timestamp) {
        self.titles.push((id.clone(), before, now));
        self.save(store, now);
    }

    /// Whether a list may be older than this page.
    pub(crate) fn was_made(&self, id: &PageId, now: Timestamp) -> bool {
        self.made.get(id).is_some_and(|at| lags(*at, now))
    }

    /// Whether a title that was read may be older than the one that was sent.
    pub(crate) fn had_title(&self, id: &PageId, title: &str, now: Timestamp) -> bool {
        self.titles.iter().any(|(page, before, at)| page == id && before == title && lags(*at, now))
    }

    fn save(&mut self, store: &mut Store, now: Timestamp) {
        self.made.retain(|_, at| lags(*at, now));
        self.titles.retain(|(_, _, at)| lags(*at, now));
        let made = self.made.iter().map(|(id, at)| format!("{} {id}", at.0));
        let titles = self.titles.iter().map(|(id, title, at)| {
            let title = serde_json::Value::from(title.as_str());
            format!("{} {id} {title}", at.0)
        });
        let lines: Vec<String> = made.chain(titles).collect();
        store.set_meta(ROW, &lines.join("\n"));
    }
}

/// Whether a read may still be older than what was answered then.
fn lags(at: Timestamp, now: Timestamp) -> bool {
    now.since_ms(at) <= LAGS_MS[0]
}
