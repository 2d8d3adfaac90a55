//! Requests that create an item, of each kind, in one table.

use rusqlite::params;

use super::{Store, StoreError};
use crate::model::{Creation, Draft, Timestamp, Unconfirmed, read_json};

impl Store {
    /// The creations of one kind whose outcome is unknown, by key.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn creations<D: Draft>(&self) -> Result<Vec<Creation<D>>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT draft, asked_at, lost_at, looks FROM creations WHERE kind = ?1 ORDER BY name",
        )?;
        let rows = query.query_and_then([D::KIND], |row| {
            let draft: String = row.get(0)?;
            let looks = row.get(3)?;
            let unconfirmed = row.get::<_, Option<i64>>(2)?;
            Ok(Creation {
                draft: read_json(draft.as_bytes()).map_err(|_| StoreError::Row("creation"))?,
                asked_at: Timestamp(row.get(1)?),
                unconfirmed: unconfirmed.map(|since| Unconfirmed { since: Timestamp(since), looks }),
            })
        })?;
        rows.collect()
    }

    /// Stores a creation before it is sent.
    pub fn save_creation<D: Draft>(&mut self, creation: &Creation<D>) {
        let draft = serde_json::to_string(&creation.draft).map_err(|_| StoreError::Row("creation"));
        let Some(draft) = self.keep_error(draft) else { return };
        self.write(
            "INSERT OR REPLACE INTO creations VALUES (?1,?2,?3,?4,?5,?6)",
            params![
                D::KIND,
                creation.draft.key().to_string(),
                draft,
                creation.asked_at.0,
                creation.unconfirmed.map(|doubt| doubt.since.0),
                creation.unconfirmed.map_or(0, |doubt| doubt.looks),
            ],
        );
    }

    /// Deletes a creation whose outcome is known.
    pub fn delete_creation<D: Draft>(&mut self, key: &D::Key) {
        self.write("DELETE FROM creations WHERE kind = ?1 AND name = ?2", [D::KIND, &key.to_string()]);
    }
}
