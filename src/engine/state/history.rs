//! How far the history reaches, and by which clock.

use std::collections::BTreeSet;

use crate::model::{MirrorPath, Timestamp};
use crate::store::{Store, StoreError};

pub(crate) const DAY_MS: i64 = 86_400_000;
/// The clock has leapt if it moved by more than this since it was last seen.
pub(crate) const LEAP_MS: i64 = 3 * DAY_MS;
/// How often the clock is noted.
pub(crate) const NOTE_EVERY_MS: i64 = DAY_MS / 4;

/// The retention of the history.
#[derive(Debug)]
pub(crate) struct Retention {
    pub(crate) due: Timestamp,
    pub(crate) bodies_due: Timestamp,
    /// The clock, as far as it is believed.
    pub(crate) believed: Timestamp,
    /// Paths of versions that belong to no page yet.
    pub(crate) pageless: BTreeSet<MirrorPath>,
    /// Since when the folder is an older copy than the one that was mirrored last.
    pub(crate) folder_is_old: Option<Timestamp>,
}

impl Retention {
    pub(crate) fn new(store: &mut Store, now: Timestamp) -> Result<Self, StoreError> {
        let believed = believe(store, now)?;
        let folder_is_old = store.folder_is_old()?;
        Ok(Self { due: now, bodies_due: now, believed, pageless: store.pageless_paths()?, folder_is_old })
    }
}

/// How far the clock is believed for deletions by age. A clock that has leapt ahead by days since it was last seen (a
/// dead battery, a wrong date) may leap back: items that are old only by it stay for a day more.
pub(crate) fn believe(store: &mut Store, now: Timestamp) -> Result<Timestamp, StoreError> {
    let time = |text: Option<String>| text.and_then(|text| text.parse().ok()).map(Timestamp);
    let known = time(store.meta("clock_believed")?).filter(|known| *known <= now);
    let leapt = time(store.meta("clock_leapt")?).filter(|leapt| *leapt <= now);
    let since = known.map_or(i64::MAX, |known| now.since_ms(known));
    let is_leap = known.is_some() && since > LEAP_MS;
    if is_leap && leapt.is_none_or(|leapt| now.since_ms(leapt) < DAY_MS) {
        if leapt.is_none() {
            store.set_meta("clock_leapt", &now.0.to_string());
        }
        return Ok(known.unwrap_or(now));
    }
    if since >= NOTE_EVERY_MS {
        store.set_meta("clock_believed", &now.0.to_string());
        store.set_meta("clock_leapt", "");
    }
    Ok(now)
}
