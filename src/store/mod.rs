//! The state: the three trees, creations and the limiter's log in one SQLite database.
//!
//! The store belongs to the core: it is deterministic and transactional, and the simulation runs it in memory. The
//! engine opens a transaction with its first write of a turn and commits at the turn's end, so that the state that an
//! effect depends on is durable before the effect leaves.

mod acts;
mod apart;
mod canvases;
mod checkpoint;
mod core;
mod creations;
pub mod differing;
mod history;
mod holds;
mod late;
mod left_pushes;
pub mod lineage;
mod missing;
mod open;
mod pause;
mod polls;
mod queue;
mod rows;
mod says_more;
mod searchable;
mod sound;
mod stand_ins;
mod status;
pub mod texts;
mod waiting;

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Params};

use crate::model::{Fault, Timestamp};

pub use acts::{Act, ActKind, is_made_here_alone};
pub use apart::{APART, DOWN, IGNORED, TOO_LARGE};
pub use canvases::{BoardCounts, Drawn, Grave};
pub use checkpoint::Checkpoint;
pub use core::{CoreTable, core_rows, save_core_row};
pub use history::{HistorySize, Side, Version};
pub use late::TIMES_LATE_MS;
pub use missing::LastSight;
pub use open::{ENDED_WELL, RUNS, RUNS_MEANT};
pub use polls::{LateCounts, Polled, PolledRow};
pub use queue::{Conflict, LogEntry, PendingWrite};
pub use rows::{Loaded, blocks_of};
pub use searchable::{Searchable, Wording};
pub use status::{ItemRow, ReadOnly, StatusCounts, StorageCounts};
pub use waiting::Waiting;

/// Errors of the database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite's own error.
    #[error("{}", words_of(.0))]
    Sqlite(rusqlite::Error),
    /// There was no room on its disk when it was opened.
    #[error("the disk of the state folder {0} is full; make room on it")]
    Full(PathBuf),
    /// The file is not an espejo database, or it is damaged.
    #[error("the state database {0} is damaged: {1}")]
    Damaged(PathBuf, String),
    /// A newer espejo wrote it.
    #[error(
        "the state database {0} was written by a newer espejo (version {1}); use that one, or move the file away"
    )]
    Newer(PathBuf, i64),
    /// An earlier version wrote it, and this version has not opened it for writing yet.
    #[error(
        "the state database {0} is of an earlier espejo; espejo run or espejo sync sets it aside and builds it anew"
    )]
    Older(PathBuf),
    /// The folder, or the database in it, can be read but not written.
    #[error(
        "the state folder {0} may not be written to; make it and all that is in it yours (chown, chmod -R u+rwX), or name \
         another with state_dir"
    )]
    ReadOnly(PathBuf),
    /// The file system's error.
    #[error("the state folder {0} cannot be used: {1}; mend it, or name another with state_dir")]
    Io(PathBuf, String),
    /// A pure step about what the state holds failed. The engine holds the item that it is about.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A row that this version cannot read.
    #[error("the state database holds a {0} that cannot be read")]
    Row(&'static str),
}

impl From<rusqlite::Error> for StoreError {
    // Without it as a source: SQLite says the same three times.
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn words_of(error: &rusqlite::Error) -> String {
    if is_want_of_room(error) {
        return "the disk that holds the state is full; make room on it".to_owned();
    }
    format!("the state database failed: {error}")
}

/// Whether the disk is full. SQLite has a code of its own for the file that its processes share.
fn is_want_of_room(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        error.code == rusqlite::ErrorCode::DiskFull
            || error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
    })
}

impl StoreError {
    /// The error of an attempt to open the database in `folder`, in espejo's words if SQLite has a number for it.
    fn at_opening(self, folder: &Path) -> Self {
        use rusqlite::ErrorCode;
        let code = match &self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            _ => None,
        };
        match code {
            // Even a reader has to create the files beside the database.
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::ReadOnly(folder.to_owned())
            }
            _ if matches!(&self, Self::Sqlite(error) if is_want_of_room(error)) => {
                Self::Full(folder.to_owned())
            }
            _ => self,
        }
    }

    /// Whether it may end by itself or after the user cleans up: no space, no permission, a disk that is not mounted.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        use rusqlite::ErrorCode;
        match self {
            Self::Io(..) | Self::Full(_) | Self::ReadOnly(_) => true,
            Self::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::DiskFull
                        | ErrorCode::OutOfMemory
                        | ErrorCode::SystemIoFailure
                        | ErrorCode::ReadOnly
                        | ErrorCode::CannotOpen
                        | ErrorCode::PermissionDenied
                        | ErrorCode::DatabaseBusy
                )
            ),
            Self::Damaged(..) | Self::Newer(..) | Self::Older(_) | Self::Row(_) | Self::Fault(_) => false,
        }
    }
}

/// The database.
#[derive(Debug)]
pub struct Store {
    db: Connection,
    /// Whether this is the writing instance, which records its orderly end: after a kill the record is absent.
    is_held: bool,
    /// The state's folder, and SQLite's log in it, for syncing; `None` without a log, for example in memory. Closing
    /// this file frees no lock, because SQLite holds its locks on other files.
    log: Option<(PathBuf, File)>,
    /// Whether a write, even in the open transaction, is not yet safe from a power cut and must be.
    is_unsynced: bool,
    checked: Checked,
    acts_elsewhere: Vec<Act>,
    late: late::Late,
    /// The first error of a write that returned none. The next commit returns it, or a write before that returns errors.
    failed: Option<StoreError>,
}

/// The trees that were read at opening to verify that each row can be read, so that the next load need not read them
/// again. Dropped with the first write of anything but records in `meta`.
#[derive(Debug, Default)]
struct Checked {
    trees: Option<Loaded>,
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.is_held {
            // Uncommitted writes are dropped, and then the advance records of requests stay.
            if !self.db.is_autocommit() {
                self.roll_back();
            }
            // Without these records the next start only checks more.
            let ended = self.end_notes();
            self.keep_error(ended);
            self.set_meta("held", "no");
            drop(self.commit());
        }
    }
}

/// The result of opening.
#[derive(Debug)]
pub struct Opened {
    /// The database.
    pub store: Store,
    /// The new path of a database that is damaged or of an earlier version, and what was wrong with it, if there was one.
    pub set_aside: Option<(PathBuf, String)>,
    /// Whether the last writes are lost: the log beside the database was missing, although the database had not been
    /// closed.
    pub log_is_gone: bool,
}

impl Store {
    /// Opens, or creates, `espejo.sqlite3` in `folder` (created with mode 0700 if missing). A damaged database is
    /// renamed and a new one begun.
    ///
    /// # Errors
    /// [`StoreError`] when the folder cannot be used or a newer version wrote the database.
    pub fn open(folder: &Path) -> Result<Opened, StoreError> {
        open::open(folder)
    }

    /// A database in memory, for the simulation.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn in_memory() -> Result<Self, StoreError> {
        let mut store = Self::with(Connection::open_in_memory()?);
        open::prepare(&mut store.db, Path::new(":memory:"))?;
        Ok(store)
    }

    fn with(db: Connection) -> Self {
        Self {
            db,
            is_held: false,
            log: None,
            is_unsynced: false,
            checked: Checked::default(),
            acts_elsewhere: Vec::new(),
            late: late::Late::default(),
            failed: None,
        }
    }

    /// Handles an older copy of the state than the one that was in use: everything is compared again before any item
    /// is created, and no file is deleted because it is missing in the folder.
    pub fn begin_anew(&mut self) {
        self.set_meta("adopting", "yes");
        self.set_meta("core_first_match", "yes");
        self.set_meta(open::LOG_IS_GONE, "no");
        self.distrust_folder();
        self.write("UPDATE workspaces SET listed_at = 0", []);
    }

    /// Holds all deletions until the user approves, because files that are missing in the folder may never have been
    /// deleted.
    pub fn distrust_folder(&mut self) {
        self.set_meta("root_identity", "0 0");
    }

    /// Handles a folder that is an older copy of the one mirrored last: it is distrusted, and its differences may be
    /// older, too.
    pub fn folder_went_back(&mut self, now: Timestamp) {
        self.distrust_folder();
        self.set_meta("folder_is_old", &now.0.to_string());
    }

    /// Since when the folder is an older copy of the one mirrored last, while the user has not chosen.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn folder_is_old(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.meta("folder_is_old")?.and_then(|at| at.parse().ok()).map(Timestamp))
    }

    /// Begins a transaction unless one is open. Each writing method calls it.
    fn turn(&mut self) -> Result<&Connection, StoreError> {
        self.checked = Checked::default();
        self.is_unsynced = true;
        self.begin()
    }

    /// As [`Store::turn`], for times of fetches and of requests, and for values that each run computes again: no
    /// content depends on them. These writes survive a kill; after a power cut they may be older.
    fn turn_for_times(&mut self) -> Result<&Connection, StoreError> {
        self.checked = Checked::default();
        self.begin()
    }

    /// After a refused write nothing is written any more: SQLite may have ended the transaction, and each later write
    /// would be durable by itself.
    fn begin(&mut self) -> Result<&Connection, StoreError> {
        if let Some(error) = self.failed.take() {
            self.roll_back();
            return Err(error);
        }
        if self.db.is_autocommit() {
            self.db.execute_batch("BEGIN IMMEDIATE")?;
        }
        Ok(&self.db)
    }

    /// Executes a statement whose error the next commit returns: no effect leaves before a commit that rests on it.
    fn write(&mut self, sql: &str, params: impl Params) {
        self.checked = Checked::default();
        self.write_a_note(sql, params);
    }

    /// As [`Store::write`], for values outside the trees.
    fn write_a_note(&mut self, sql: &str, params: impl Params) {
        self.is_unsynced = true;
        let write = |db: &Connection| Ok::<_, StoreError>(db.prepare_cached(sql)?.execute(params)?);
        let done = self.begin().and_then(write);
        self.keep_error(done);
    }

    /// Whether a query that decides on a write alone finds a row. Its error is kept as the write's would be.
    fn finds(&mut self, sql: &str, params: impl Params) -> bool {
        let found =
            self.db.prepare_cached(sql).and_then(|mut query| query.query_row(params, |row| row.get(0)));
        self.keep_error(found.map_err(StoreError::from)).unwrap_or(false)
    }

    /// Keeps the error of a write for the next commit, which then fails and takes back all writes since the last one.
    pub fn keep_error<T>(&mut self, done: Result<T, StoreError>) -> Option<T> {
        done.map_err(|error| self.failed.get_or_insert(error)).ok()
    }

    /// Makes all writes since the last commit durable; times alone may wait for the next commit of other values.
    ///
    /// # Errors
    /// [`StoreError`] of the first write that was refused, and all writes are taken back; or when SQLite refuses (a
    /// full disk), or the disk, and the writes stay pending.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        self.commit_for_a_look()?;
        if self.is_unsynced {
            // SQLite is configured not to sync: it would sync for times as well, and this setting cannot be changed
            // in a transaction.
            if let Some((folder, log)) = &self.log {
                log.sync_data().map_err(|error| StoreError::Io(folder.to_owned(), error.to_string()))?;
            }
            self.is_unsynced = false;
        }
        Ok(())
    }

    /// Makes all writes since the last commit survive a kill. A power cut may take them back until [`Store::commit`]:
    /// this is enough before an effect that only reads.
    ///
    /// # Errors
    /// [`StoreError`] as [`Store::commit`].
    pub fn commit_for_a_look(&mut self) -> Result<(), StoreError> {
        if let Some(error) = self.failed.take() {
            self.roll_back();
            return Err(error);
        }
        self.add_acts_elsewhere()?;
        if !self.db.is_autocommit() {
            self.db.execute_batch("COMMIT")?;
        }
        Ok(())
    }

    /// The error that ends a turn. After a refused write it is the error of this write, and all writes are taken back: a
    /// later read may have failed only because its row is missing.
    pub fn first_error(&mut self, error: StoreError) -> StoreError {
        let Some(first) = self.failed.take() else { return error };
        self.roll_back();
        first
    }

    /// Drops all writes since the last commit.
    pub fn roll_back(&mut self) {
        self.acts_elsewhere.clear();
        self.failed = None;
        self.lose_times();
        // An error only says that no transaction is open.
        drop(self.db.execute_batch("ROLLBACK"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_fails_the_next_step_and_takes_back_what_is_not_committed() {
        // With the second, SQLite ends the transaction, as it may on a full disk.
        let refused = ["INSERT INTO nowhere VALUES (1)", "INSERT OR ROLLBACK INTO meta VALUES ('a', '')"];
        let steps = [Store::commit, |store: &mut Store| store.note_request(1, Timestamp(1)).map(drop)];
        for (refused, step) in refused.into_iter().flat_map(|refused| steps.map(|step| (refused, step))) {
            let mut store = Store::in_memory().unwrap();
            store.set_meta("a", "before");
            store.commit().unwrap();
            store.set_meta("a", "after");
            store.write(refused, []);
            store.set_meta("b", "later");
            assert!(matches!(step(&mut store), Err(StoreError::Sqlite(_))));
            assert_eq!(
                (store.meta("a").unwrap().as_deref(), store.meta("b").unwrap()),
                (Some("before"), None)
            );
            store.commit().unwrap();
        }
    }

    #[test]
    fn a_read_that_misses_a_refused_row_tells_of_the_refusal() {
        let mut store = Store::in_memory().unwrap();
        store.set_meta("a", "with it");
        store.write("INSERT INTO nowhere VALUES (1)", []);
        assert!(matches!(store.first_error(StoreError::Row("page's body")), StoreError::Sqlite(_)));
        assert!(matches!(store.first_error(StoreError::Row("page's body")), StoreError::Row(_)));
        store.commit().unwrap();
        assert_eq!(store.meta("a").unwrap(), None);
    }

    #[test]
    fn before_a_look_all_is_written_and_nothing_synced() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path()).unwrap().store;
        store.set_meta("a", "note");
        store.commit_for_a_look().unwrap();
        assert!(store.is_unsynced && store.db.is_autocommit());
        // A kill takes nothing back.
        let beside = ReadOnly::open(folder.path()).unwrap().unwrap();
        assert_eq!(beside.meta("a").unwrap().as_deref(), Some("note"));
        // The next commit syncs it, although it has no write of its own.
        store.commit().unwrap();
        assert!(!store.is_unsynced);
    }
}
