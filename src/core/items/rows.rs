//! The items and the journal in the store: one row each, as JSON, written when it changed.

use serde::de::DeserializeOwned;

use crate::core::items::item::{Item, Local};
use crate::core::items::journal::Journal;
use crate::core::items::table::Items;
use crate::model::Timestamp;
use crate::store::{CoreTable, Polled, Store, StoreError, core_rows, save_core_row};

/// Reads all items and the journal.
///
/// # Errors
/// [`StoreError`] when a row cannot be read.
pub fn load(store: &Store, now: Timestamp) -> Result<(Items, Journal), StoreError> {
    let mut items: Vec<Item> = read(store, CoreTable::Items)?;
    for item in &mut items {
        // A clock that was set back makes no wait longer.
        match &mut item.local {
            Local::Here(fact) => fact.since = fact.since.min(now),
            Local::Gone { at, last, .. } => (*at, last.since) = ((*at).min(now), last.since.min(now)),
            Local::Never => {}
        }
        if let Some(emptied) = item.remote.as_mut().and_then(|remote| remote.emptied.as_mut()) {
            emptied.since = emptied.since.min(now);
        }
        if let Some(poll) = item.remote.as_mut().map(|remote| &mut remote.poll) {
            (poll.last, poll.life) = (poll.last.min(now), poll.life.min(now));
        }
    }
    Ok((Items::loaded(items), Journal::loaded(read(store, CoreTable::Journal)?, now)))
}

/// All items, for programs that only read the state.
///
/// # Errors
/// [`StoreError`] when a row cannot be read.
pub fn items(store: &Store) -> Result<Items, StoreError> {
    Ok(Items::loaded(read(store, CoreTable::Items)?))
}

fn read<T: DeserializeOwned>(store: &Store, table: CoreTable) -> Result<Vec<T>, StoreError> {
    let rows = core_rows(store, table)?;
    let parse = |row: String| serde_json::from_str(&row).map_err(|_| StoreError::Row("row of an item"));
    rows.into_iter().map(parse).collect()
}

/// Writes the rows that changed. The caller commits.
pub fn save(items: &mut Items, journal: &mut Journal, store: &mut Store) {
    for key in std::mem::take(&mut items.unsaved) {
        let row = items.get(key).and_then(|item| serde_json::to_string(item).ok());
        items.polled.remove(&key);
        save_core_row(store, CoreTable::Items, u64::from(key.0), row.as_deref());
    }
    for key in std::mem::take(&mut items.polled) {
        if let Some(remote) = items.get(key).and_then(|item| item.remote.as_ref()) {
            store.save_poll(Polled::Item(u64::from(key.0)), &remote.poll);
        }
    }
    for sent in std::mem::take(&mut journal.unsaved) {
        let row = journal.get(sent).and_then(|act| serde_json::to_string(act).ok());
        save_core_row(store, CoreTable::Journal, sent.0, row.as_deref());
    }
}
