//! Evidence that identifies the missing files of pages: such a file is identified at another path by its file object
//! or its bytes, also after a restart.

use std::collections::BTreeMap;

use rusqlite::params;

use super::rows::{optional_hash, page_id, path, stamp_of};
use super::{Store, StoreError};
use crate::model::{ContentHash, MirrorPath, PageId, Stamp};

/// A page's file when it was last seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastSight {
    /// Its metadata.
    pub stamp: Stamp,
    /// Hash of its content, if it had been read.
    pub hash: Option<ContentHash>,
}

impl Store {
    /// Stores the evidence about `page`'s file at `at`.
    pub fn save_missing(&mut self, page: &PageId, at: &MirrorPath, last: LastSight) {
        let [device, inode, size, modified, changed, born] = last.stamp.into();
        self.write(
            "INSERT OR REPLACE INTO missing_files VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
            params![
                page.as_str(),
                at.as_str(),
                device,
                inode,
                size,
                modified,
                changed,
                born,
                last.hash.map(|hash| hash.0),
            ],
        );
    }

    /// Deletes a missing file: it is back, or nothing waits for it.
    pub fn drop_missing(&mut self, page: &PageId) {
        self.write("DELETE FROM missing_files WHERE page = ?1", [page.as_str()]);
    }

    /// All missing files, by page.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses or a row makes no sense.
    pub fn missing_files(&self) -> Result<BTreeMap<PageId, (MirrorPath, LastSight)>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT * FROM missing_files")?;
        let mut rows = query.query([])?;
        let mut all = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let last = LastSight { stamp: stamp_of(row, "size")?, hash: optional_hash(row, "hash")? };
            let at = path(&row.get::<_, String>("path")?)?;
            all.insert(page_id(&row.get::<_, String>("page")?)?, (at, last));
        }
        Ok(all)
    }
}
