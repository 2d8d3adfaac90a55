//! The pages whose files may hold content that the page does not: an index for `diff`, which searches no other file.

use std::collections::BTreeSet;

use super::{ReadOnly, Store, StoreError};
use crate::model::PageId;

impl Store {
    /// Records whether the text that was just read, or is about to be written, may hold more than its page.
    pub fn set_says_more(&mut self, page: &PageId, does: bool) {
        let sql = match does {
            true => "INSERT OR IGNORE INTO says_more VALUES (?1)",
            false => "DELETE FROM says_more WHERE page = ?1",
        };
        self.write(sql, [page.as_str()]);
    }
}

impl ReadOnly {
    /// The pages whose files may hold more than the page.
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be read.
    pub fn says_more(&self) -> Result<BTreeSet<PageId>, StoreError> {
        let mut query = self.0.db.prepare_cached("SELECT page FROM says_more")?;
        let rows = query.query_and_then([], |row| {
            PageId::new(&row.get::<_, String>(0)?).map_err(|_| StoreError::Row("page that says more"))
        })?;
        rows.collect()
    }
}
