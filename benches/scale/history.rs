//! Versions that a state has been given time to gather, put there between two runs of the daemon: each page's newest one,
//! so many times over with other words, an hour apart.

use std::path::Path;

use espejo::model::PageId;
use espejo::store::{ENDED_WELL, Store, Version};
use rusqlite::Connection;

const HOUR_MS: i64 = 3_600_000;

/// Every page has so many versions afterwards.
pub(crate) fn grow(state: &Path, pages: &[PageId], versions: usize, words: &str) {
    let mut store = Store::open(state).unwrap().store;
    let mut newest = 0;
    for page in pages {
        let seen = store.versions_of(page).unwrap();
        let last = seen.last().unwrap();
        newest = newest.max(last.number);
        let json = String::from_utf8(store.content(last.body.unwrap()).unwrap().unwrap()).unwrap();
        for (hours, _) in (1_i64..).zip(1..versions) {
            let json = json.replace(words, &format!("as it was {hours} hours before"));
            let version =
                Version { at: last.at.plus_ms(-hours * HOUR_MS), body: None, text: None, ..last.clone() };
            store.add_version(&version, Some(json.as_bytes()), None);
        }
    }
    store.set_meta(ENDED_WELL, "yes");
    store.commit().unwrap();
    drop(store);
    // They are older than what was there: their numbers come before.
    let db = Connection::open(state.join("espejo.sqlite3")).unwrap();
    db.execute("UPDATE history_versions SET number = -number WHERE number > ?1", [newest]).unwrap();
}
