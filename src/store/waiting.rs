//! Pending changes, item by item, for `status`.

use super::apart::{IS_NOT_APART, IS_SENT, IS_SENT_FROM};
use super::{ReadOnly, StoreError};

/// A page, or a new file, with a pending change for the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The path of its file, or its title if it has none yet.
    pub path: String,
    /// The pending change.
    pub what: &'static str,
}

/// SQL condition on a page `p` and its file `f`: it has a pending change for the other side.
pub(super) fn is_pending() -> String {
    format!(
        "p.base_body IS NOT NULL AND p.{IS_NOT_APART} AND f.problem IS NULL
         AND ((f.path IS NULL OR f.hash IS NULL OR f.hash IS NOT p.base_text) AND {IS_SENT}
              OR p.remote_body IS NOT p.base_body OR p.remote_title <> p.base_title
              OR p.remote_parent IS NOT p.base_parent)"
    )
}

impl ReadOnly {
    /// At most `most` of the pages with a pending change: the user's edits first, then changes of the service.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn waiting(&self, most: usize) -> Result<Vec<Waiting>, StoreError> {
        let pending = is_pending();
        let mut query = self.0.db.prepare_cached(&format!(
            "SELECT path, what FROM (
                SELECT path, 0 AS what FROM files f WHERE page IS NULL AND problem IS NULL AND {IS_SENT_FROM}
                UNION ALL
                SELECT coalesce(p.file, p.base_path, p.remote_title) AS path,
                       CASE WHEN f.path IS NULL THEN 1 WHEN f.hash IS NULL OR f.hash IS NOT p.base_text THEN 2 ELSE 3 END
                  FROM pages p LEFT JOIN files f ON f.path = p.file WHERE {pending})
             ORDER BY what = 3, path LIMIT ?1"
        ))?;
        let rows = query.query_and_then([i64::try_from(most).unwrap_or(i64::MAX)], |row| {
            let what = match row.get(1)? {
                0 => "a new page",
                1 => "its file is gone",
                2 => "an edit to send",
                _ => "a change to fetch",
            };
            Ok(Waiting { path: row.get(0)?, what })
        })?;
        rows.collect()
    }
}
