//! Rows of the core's items and of its journal: `items` and `journal`. The core gives them their meaning.

use rusqlite::params;

use super::{Store, StoreError};

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
