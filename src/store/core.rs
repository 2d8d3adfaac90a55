//! Rows of the core's items and of its journal: `items` and `journal`. The core gives them their meaning.

use rusqlite::params;

use super::{ItemRow, Polled, ReadOnly, Store, StoreError};
use crate::model::Timestamp;

/// A table of the core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoreTable {
    /// One row for each item.
    Items,
    /// One row for each act that is not known to be done.
    Journal,
}

impl CoreTable {
    fn name(self) -> &'static str {
        match self {
            Self::Items => "items",
            Self::Journal => "journal",
        }
    }
}

/// All rows of a table, in the order of their keys, as JSON.
///
/// # Errors
/// [`StoreError`] when SQLite refuses.
pub fn core_rows(store: &Store, table: CoreTable) -> Result<Vec<String>, StoreError> {
    let mut query = store.db.prepare_cached(&format!("SELECT json FROM {} ORDER BY key", table.name()))?;
    let rows = query.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Writes one row, or deletes it.
pub fn save_core_row(store: &mut Store, table: CoreTable, key: u64, row: Option<&str>) {
    if table == CoreTable::Items {
        store.save_no_poll(Polled::Item(key));
    }
    let (key, name) = (key.cast_signed(), table.name());
    match row {
        Some(row) => {
            store.write(&format!("INSERT OR REPLACE INTO {name} VALUES (?1, ?2)"), params![key, row]);
        }
        None => store.write(&format!("DELETE FROM {name} WHERE key = ?1"), [key]),
    }
}

/// The state of an item, in one word.
const STATE: &str = "CASE
    WHEN problem IS NOT NULL THEN 'problem'
    WHEN id IS NULL AND json ->> '$.local.Here.is_blank' THEN 'not synced'
    WHEN id IS NULL THEN 'new'
    WHEN base IS NULL THEN 'incoming'
    WHEN file IS NULL THEN 'deleted'
    WHEN hash IS NOT base_text THEN 'changed'
    WHEN remote IS NOT base THEN 'incoming'
    ELSE 'synced' END";

impl ReadOnly {
    /// The number of slides with a base, and of those without one.
    pub(super) fn core_slides(&self) -> Result<(u64, u64), StoreError> {
        let sql = "SELECT count(base), count(*) - count(base) FROM items WHERE kind = 'slide' AND presence = 'Listed'";
        let count = |row: &rusqlite::Row<'_>, at| row.get::<_, i64>(at).map(i64::unsigned_abs);
        let mut query = self.store().db.prepare_cached(sql)?;
        Ok(query.query_row([], |row| Ok((count(row, 0)?, count(row, 1)?)))?)
    }

    /// The items of the core that have files, for `status` and `list`, in no order.
    pub(super) fn core_items(&self) -> Result<Vec<ItemRow>, StoreError> {
        let sql = format!(
            "SELECT kind, id, iif(kind = 'presentation', NULL, area), coalesce(file, missing), name, {STATE},
                poll ->> '$.last'
             FROM items WHERE kind IN ('whiteboard', 'presentation') AND presence IS NOT 'Gone' AND (id IS NOT NULL OR file IS NOT NULL)"
        );
        let mut query = self.store().db.prepare_cached(&sql)?;
        let rows = query.query_map([], |row| {
            let path: Option<String> = row.get(3)?;
            let stem = path.as_deref().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
            let name: Option<String> = row.get(4)?;
            Ok(ItemRow {
                kind: known(&row.get::<_, String>(0)?, CANVASES),
                id: row.get(1)?,
                workspace: row.get(2)?,
                title: name.unwrap_or_else(|| stem.trim_end_matches(".canvas").to_owned()),
                path,
                state: known(
                    &row.get::<_, String>(5)?,
                    &["problem", "not synced", "new", "incoming", "deleted", "changed", "synced"],
                ),
                checked_at: row.get::<_, Option<i64>>(6)?.map(Timestamp).filter(|at| at.0 > 0),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// The kinds that canvas files state.
pub(super) const CANVASES: &[&str] = &["whiteboard", "presentation", "slide"];

/// Which of these words it is.
pub(super) fn known(word: &str, words: &[&'static str]) -> &'static str {
    words.iter().find(|known| **known == word).copied().unwrap_or_default()
}
