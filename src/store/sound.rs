//! Checks whether the state is sound, without changing it.

use super::{ReadOnly, StoreError};

impl ReadOnly {
    /// SQLite's report of damage, if there is any; reads the whole database.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn damage(&self) -> Result<Option<String>, StoreError> {
        // A page that the disk cannot read is an error of a read, and the end of the process in a mapped file.
        drop(self.0.db.query_row("PRAGMA mmap_size = 0", [], |_| Ok(())));
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
