//! Rows of the core's items and of its journal: `items` and `journal`. The core gives them their meaning.

use rusqlite::params;

use super::{ItemRow, ReadOnly, Store, StoreError};
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
    WHEN id IS NULL THEN 'new'
    WHEN base IS NULL THEN 'incoming'
    WHEN file IS NULL THEN 'deleted'
    WHEN hash IS NOT base_text THEN 'changed'
    WHEN remote IS NOT base THEN 'incoming'
    ELSE 'synced' END";

impl ReadOnly {
    /// The items of the core, for `status` and `list`, in no order.
    pub(super) fn core_items(&self) -> Result<Vec<ItemRow>, StoreError> {
        let sql = format!(
            "SELECT kind, id, area, coalesce(file, missing), name, {STATE}, poll ->> '$.last' FROM items
             WHERE presence IS NOT 'Gone' AND (id IS NOT NULL OR file IS NOT NULL)"
        );
        let mut query = self.store().db.prepare_cached(&sql)?;
        let rows = query.query_map([], |row| {
            let path: Option<String> = row.get(3)?;
            let stem = path.as_deref().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
            let name: Option<String> = row.get(4)?;
            Ok(ItemRow {
                kind: known(&row.get::<_, String>(0)?, &["whiteboard", "presentation", "slide", "page"]),
                id: row.get(1)?,
                workspace: row.get(2)?,
                title: name.unwrap_or_else(|| stem.trim_end_matches(".canvas").to_owned()),
                path,
                state: known(
                    &row.get::<_, String>(5)?,
                    &["problem", "new", "incoming", "deleted", "changed", "synced"],
                ),
                checked_at: row.get::<_, Option<i64>>(6)?.map(Timestamp).filter(|at| at.0 > 0),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Which of these words it is.
fn known(word: &str, words: &[&'static str]) -> &'static str {
    words.iter().find(|known| **known == word).copied().unwrap_or_default()
}
