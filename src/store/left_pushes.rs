//! The last push to each page that left the trees, for as long as it matters: the page may be restored from the
//! trash, and an editor that was open before the push may then write its old text.

use rusqlite::params;

use super::rows::hash;
use super::{Store, StoreError};
use crate::model::{LastPush, PageId, Timestamp};

impl Store {
    /// Stores the push of a page that is about to leave the trees, and deletes pushes older than `since`.
    pub fn keep_left_push(&mut self, page: &PageId, push: &LastPush, since: Timestamp) {
        self.write("DELETE FROM left_pushes WHERE at < ?1", [since.0]);
        self.write(
            "INSERT OR REPLACE INTO left_pushes VALUES (?1,?2,?3,?4,?5)",
            params![page.as_str(), push.before.0, push.after.0, push.at.0, push.again],
        );
    }

    /// The stored push of a page that is back.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn left_push(&self, page: &PageId) -> Result<Option<LastPush>, StoreError> {
        let mut query =
            self.db.prepare_cached("SELECT before, after, at, again FROM left_pushes WHERE page = ?1")?;
        let mut rows = query.query([page.as_str()])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let (before, after) = (hash(row, 0)?, hash(row, 1)?);
        Ok(Some(LastPush { before, after, at: Timestamp(row.get(2)?), again: row.get(3)? }))
    }
}
