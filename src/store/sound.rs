//! Whether the state is sound, looked at without changing it.

use super::{ReadOnly, StoreError};

impl ReadOnly {
    /// What SQLite finds wrong, if anything; reads the whole database.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn damage(&self) -> Result<Option<String>, StoreError> {
        let verdict: String = self.0.db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        Ok((verdict != "ok").then_some(verdict))
    }

    /// The version of its tables.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn version(&self) -> Result<i64, StoreError> {
        Ok(self.0.db.query_row("PRAGMA user_version", [], |row| row.get(0))?)
    }
}
