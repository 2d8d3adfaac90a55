//! A read-only view of the state for `status`, `list` and `resolve`, with or without a running daemon.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags, Row, params};

use super::apart::{IS_NOT_APART, IS_SENT_FROM};
use super::rows::optional_hash;
use super::waiting::is_pending;
use super::{Conflict, Store, StoreError};
use crate::model::{Attention, ContentHash, Timestamp};

/// The state, opened for reading.
#[derive(Debug)]
pub struct ReadOnly(pub(super) Store);

/// Counts that `status` shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusCounts {
    /// Pages whose file and body have a base.
    pub mirrored: u64,
    /// Pages that the service lists and that are not mirrored yet.
    pub unmirrored: u64,
    /// Pages (and new files) with a pending change for the other side, except files that need the user.
    pub pending: u64,
    /// Unconfirmed or waiting requests: POSTs and PATCHes that are not settled.
    pub queue: u64,
    /// Requests sent in the 60 s before `now`.
    pub requests_last_minute: u64,
    /// The oldest fetch of a mirrored page's body; `None` if nothing is mirrored.
    pub oldest_look: Option<Timestamp>,
    /// The median of the last fetches.
    pub median_look: Option<Timestamp>,
    /// The time of the last 429 answer.
    pub refused_at: Option<Timestamp>,
    /// The size of the history.
    pub history: super::HistorySize,
}

/// Counts of personal storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageCounts {
    /// Files whose content is on disk.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Files that are still to be downloaded.
    pub missing: u64,
    /// Their size in bytes.
    pub missing_bytes: u64,
    /// Folders.
    pub folders: u64,
    /// Local files that the service does not have.
    pub local_only: u64,
    /// Uploads whose outcome is unknown.
    pub uploads: u64,
}

/// One mirrored page, whiteboard, presentation or slide for `list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemRow {
    /// `page`, `whiteboard`, `presentation` or `slide`.
    pub kind: &'static str,
    /// Its id; `None` for a file that has none yet.
    pub id: Option<String>,
    /// Its workspace, if known; a presentation belongs to none.
    pub workspace: Option<String>,
    /// The path of its file or folder, or its last path, if it ever had one.
    pub path: Option<String>,
    /// Its title or name; for a slide the title of its presentation.
    pub title: String,
    /// `synced`, `changed`, `incoming`, `new`, `deleted`, `waiting`, `ignored`, `too large` or `problem`.
    pub state: &'static str,
    /// The time of the last fetch of its body or elements.
    pub checked_at: Option<Timestamp>,
}

/// The columns of a page for `list`, without reading the trees: its state depends on its text, its name and its
/// place. The join with its file is made in the program: SQLite searches for each file, which takes longer than
/// reading all of them.
const PAGE_ROWS: &str =
    "SELECT id, workspace, coalesce(file, base_path), remote_title, poll_last, parked_why IS NOT NULL, base_body IS NULL,
    base_text, file IS NOT base_path, remote_body IS NOT base_body, file IS NULL FROM pages";
const FILE_ROWS: &str = "SELECT path, hash, problem IS NOT NULL, page IS NULL FROM files ORDER BY path";

/// A row of [`FILE_ROWS`] without its path.
struct FileRow {
    hash: Option<ContentHash>,
    has_problem: bool,
    is_new: bool,
}

impl ReadOnly {
    /// Opens the state in `folder`; `None` if there is none yet, or if the first run is just creating it.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn open(folder: &Path) -> Result<Option<Self>, StoreError> {
        let opened = Self::open_unmapped(folder)?;
        if let Some(state) = &opened {
            // A command reads whole tables once, and half of its time would go into copies of their pages. SQLite maps
            // at most 2 GB, and reads what cannot be mapped.
            drop(state.0.db.query_row(&format!("PRAGMA mmap_size = {}", i64::MAX), [], |_| Ok(())));
        }
        Ok(opened)
    }

    /// As [`ReadOnly::open`], for the daemon: a page that the disk cannot read is an error of a read, and the end of the
    /// process in a mapped file.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn open_unmapped(folder: &Path) -> Result<Option<Self>, StoreError> {
        let path = folder.join("espejo.sqlite3");
        // An unreadable folder is not a folder without a state, and must not count as a safe mirror.
        if !path.try_exists().map_err(|error| StoreError::Io(path.clone(), error.to_string()))? {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&path, flags)
            .map_err(|error| StoreError::from(error).at_opening(folder))?;
        // The schema and its version are created in one transaction: without a version there are no tables yet.
        match db.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)) {
            Ok(0) => Ok(None),
            Ok(version) if version > super::open::VERSION => Err(StoreError::Newer(path, version)),
            Ok(version) if version < super::open::VERSION => Err(StoreError::Older(path)),
            Ok(_) => Ok(Some(Self(Store::with(db)))),
            Err(error) => match error.sqlite_error_code() {
                Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                    let why =
                        format!("{error}; the next espejo run or sync sets it aside and builds it anew");
                    Err(StoreError::Damaged(path, why))
                }
                _ => Err(StoreError::from(error).at_opening(folder)),
            },
        }
    }

    /// A value of the table `meta`.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.0.meta(key)
    }

    /// The limiter's log, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn request_log(&self) -> Result<Vec<super::LogEntry>, StoreError> {
        self.0.request_log()
    }

    /// All three trees.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn load(&mut self) -> Result<super::Loaded, StoreError> {
        self.0.load()
    }

    /// Copies the present state into `folder`.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read or copied.
    pub fn copy_to(&self, folder: &Path) -> Result<(), StoreError> {
        let target = folder.join("espejo.sqlite3");
        self.0.db.execute("VACUUM INTO ?1", [target.to_string_lossy()])?;
        Ok(())
    }

    /// The messages to the user.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn attention(&self) -> Result<Vec<Attention>, StoreError> {
        self.0.attention()
    }

    /// The conflict copies.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn conflicts(&self) -> Result<Vec<Conflict>, StoreError> {
        self.0.conflicts()
    }

    /// The counts for `status`.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn counts(&self, now: Timestamp) -> Result<StatusCounts, StoreError> {
        let db = &self.0.db;
        let one = |sql: &str| -> Result<u64, StoreError> {
            Ok(db.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0))?.unsigned_abs())
        };
        let mut counts = StatusCounts::default();
        let mut looks: Vec<i64> = Vec::new();
        let mut pages = db.prepare_cached(&format!(
            "SELECT base_body IS NOT NULL, file IS NOT NULL, remote_presence = 0, {IS_NOT_APART}, poll_last FROM pages"
        ))?;
        let mut rows = pages.query([])?;
        while let Some(row) = rows.next()? {
            let (is_read, has_file, is_listed): (bool, bool, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let is_kept: bool = row.get(3)?;
            counts.mirrored += u64::from(is_read && has_file && is_kept);
            counts.unmirrored += u64::from(!is_read && is_listed && is_kept);
            if is_read {
                looks.push(row.get(4)?);
            }
        }
        looks.sort_unstable();
        let requests: i64 = db
            .prepare_cached("SELECT count(*) FROM requests WHERE sent > ?1")?
            .query_row(params![now.plus_ms(-60_000).0], |row| row.get(0))?;
        Ok(StatusCounts {
            pending: one(&format!(
                "SELECT count(*) FROM pages p LEFT JOIN files f ON f.path = p.file WHERE {}",
                is_pending()
            ))? + one(&format!(
                "SELECT count(*) FROM files f WHERE page IS NULL AND problem IS NULL AND {IS_SENT_FROM}"
            ))?,
            queue: one(
                "SELECT (SELECT count(*) FROM sent) + (SELECT count(*) FROM creations WHERE kind = 'page')",
            )?,
            requests_last_minute: requests.unsigned_abs(),
            oldest_look: looks.first().copied().map(Timestamp),
            median_look: looks.get(looks.len() / 2).copied().map(Timestamp),
            refused_at: self.meta("refused")?.and_then(|text| text.parse().ok()).map(Timestamp),
            history: self.0.history_size()?,
            ..counts
        })
    }

    /// The counts of personal storage.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn storage_counts(&self) -> Result<StorageCounts, StoreError> {
        let two = |sql: String| -> Result<(u64, u64), StoreError> {
            let row = self.0.db.prepare_cached(&sql)?.query_row([], |row| {
                Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, i64>(1)?.unsigned_abs()))
            })?;
            Ok(row)
        };
        // One walk over the files: there may be many thousands.
        let files = format!(
            "SELECT count(*) FILTER (WHERE is_here), coalesce(sum(size) FILTER (WHERE is_here), 0),
                count(*) FILTER (WHERE is_missing), coalesce(sum(size) FILTER (WHERE is_missing), 0) FROM (
                SELECT file IS NOT NULL AND base IS remote AS is_here,
                    presence = 'Listed' AND NOT (file IS NOT NULL AND base IS remote) AS is_missing,
                    json ->> '$.remote.bytes.size' AS size
                FROM items WHERE kind = 'file' AND id IS NOT NULL AND {IS_NOT_APART})"
        );
        let [here, bytes, missing, missing_bytes] =
            self.0.db.prepare_cached(&files)?.query_row([], |row| {
                Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?].map(i64::unsigned_abs))
            })?;
        let (folders, local_only) =
            two("SELECT count(*) FILTER (WHERE kind = 'folder' AND presence = 'Listed'),
            count(*) FILTER (WHERE kind = 'file' AND id IS NULL AND file IS NOT NULL) FROM items"
                .to_owned())?;
        let (uploads, _) = two("SELECT count(*), 0 FROM journal j JOIN items i ON i.key = j.json ->> '$.item'
            WHERE i.kind = 'file' AND j.json ->> '$.deed.Create' IS NOT NULL AND j.json ->> '$.state.Done' IS NULL"
            .to_owned())?;
        Ok(StorageCounts { files: here, bytes, missing, missing_bytes, folders, local_only, uploads })
    }

    /// All pages, and all files that will become pages, in no order.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn pages(&self) -> Result<Vec<ItemRow>, StoreError> {
        let db = &self.0.db;
        let file = |row: &Row<'_>| -> Result<(String, FileRow), StoreError> {
            let hash = optional_hash(row, 1)?;
            Ok((row.get(0)?, FileRow { hash, has_problem: row.get(2)?, is_new: row.get(3)? }))
        };
        let files: BTreeMap<String, FileRow> =
            db.prepare_cached(FILE_ROWS)?.query_and_then([], file)?.collect::<Result<_, _>>()?;
        let apart = self.apart()?;
        let page = |row: &Row<'_>| -> Result<ItemRow, StoreError> {
            let id: String = row.get(0)?;
            let path: Option<String> = row.get(2)?;
            let is_missing: bool = row.get(10)?;
            // If a file is missing, another may have taken its path.
            let file = path.as_ref().filter(|_| !is_missing).and_then(|path| files.get(path));
            let (is_parked, is_unread): (bool, bool) = (row.get(5)?, row.get(6)?);
            let (is_elsewhere, is_stale): (bool, bool) = (row.get(8)?, row.get(9)?);
            let text = optional_hash(row, 7)?;
            let state = match file {
                _ if apart.contains_key(&id) => apart[&id],
                _ if is_parked || file.is_some_and(|file| file.has_problem) => "problem",
                _ if is_unread => "incoming",
                None => "deleted",
                Some(file) if file.hash != text || is_elsewhere => "changed",
                _ if is_stale => "incoming",
                _ => "synced",
            };
            Ok(ItemRow {
                kind: "page",
                id: Some(id),
                workspace: row.get(1)?,
                path,
                title: row.get(3)?,
                state,
                checked_at: Some(Timestamp(row.get(4)?)).filter(|at| at.0 > 0),
            })
        };
        let mut rows: Vec<ItemRow> =
            db.prepare_cached(PAGE_ROWS)?.query_and_then([], page)?.collect::<Result<_, _>>()?;
        for (path, file) in files.into_iter().filter(|(_, file)| file.is_new) {
            let title = super::rows::path(&path)?.page_stem().unwrap_or_default().to_owned();
            let state = if file.has_problem { "problem" } else { "new" };
            let path = Some(path);
            rows.push(ItemRow {
                kind: "page",
                id: None,
                workspace: None,
                path,
                title,
                state,
                checked_at: None,
            });
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `open` finds a state in a folder whose database was created by `make`.
    fn check(make: impl FnOnce(&Path), there: bool) {
        let folder = tempfile::tempdir().unwrap();
        make(&folder.path().join("espejo.sqlite3"));
        let mut state = ReadOnly::open(folder.path()).unwrap();
        assert_eq!(state.is_some(), there);
        if let Some(state) = &mut state {
            assert_eq!(state.counts(Timestamp(1)).unwrap(), StatusCounts::default());
            assert_eq!(state.pages().unwrap(), Vec::new());
        }
    }

    #[test]
    fn a_state_that_is_only_being_made_is_none_yet() {
        check(|_| {}, false);
        // The first run creates the file, then turns WAL on, then creates the tables, with a moment between the
        // steps.
        check(|path| drop(std::fs::File::create(path).unwrap()), false);
        check(
            |path| Connection::open(path).unwrap().pragma_update(None, "journal_mode", "wal").unwrap(),
            false,
        );
        // A crash in the middle of the first migration.
        check(
            |path| {
                let db = Connection::open(path).unwrap();
                db.execute_batch("BEGIN; CREATE TABLE pages (id); ROLLBACK").unwrap();
            },
            false,
        );
        check(|path| drop(Store::open(path.parent().unwrap()).unwrap()), true);
    }

    #[test]
    fn a_state_that_may_not_be_looked_at_is_not_taken_for_none() {
        let folder = tempfile::tempdir().unwrap();
        // A file at the path of the folder, because root may read each folder.
        let place = folder.path().join("state");
        std::fs::File::create(&place).unwrap();
        let told = ReadOnly::open(&place).unwrap_err().to_string();
        assert!(told.contains("state/espejo.sqlite3"), "{told}");
    }

    #[test]
    fn a_damaged_state_is_told_with_its_mend() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("espejo.sqlite3");
        let mut file = std::fs::File::create(path).unwrap();
        std::io::Write::write_all(&mut file, &[0x5a; 8_192]).unwrap();
        let told = ReadOnly::open(folder.path()).unwrap_err().to_string();
        assert!(told.contains("is damaged") && told.contains("builds it anew"), "{told}");
    }
}
