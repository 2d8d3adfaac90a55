//! Memory: the three trees, creations and the limiter's log in one SQLite database.
//!
//! The store belongs to the core: it is deterministic and transactional, and the simulation runs it in memory. The
//! engine opens a transaction with its first write of a turn and commits at the turn's end, so that what an effect
//! rests on is durable before the effect leaves.

mod acts;
mod apart;
mod board_status;
mod boards;
mod checkpoint;
mod creations;
mod history;
mod holds;
mod late;
mod left_pushes;
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
mod storage;
mod upgrade;
mod waiting;

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::model::Timestamp;

pub use acts::{Act, ActKind};
pub use apart::{APART, DOWN, IGNORED, TOO_LARGE};
pub use board_status::BoardCounts;
pub use boards::{Drawn, Grave, LoadedBoards, PendingCanvasWrite};
pub use checkpoint::Checkpoint;
pub use history::{HistorySize, Side, Version};
pub use missing::LastSight;
pub use polls::{LateCounts, Polled, PolledRow};
pub use queue::{Conflict, LogEntry, PendingWrite};
pub use rows::{Loaded, blocks_of};
pub use searchable::{Searchable, Wording};
pub use status::{ItemRow, ReadOnly, StatusCounts, StorageCounts};
pub use storage::StoredStorage;
pub use upgrade::StateCopy;
pub use waiting::Waiting;

/// Where it is noted that stored files doubt the folder.
const FOLDER_DOUBT: &str = "stored_folder_doubt";

/// Why the folder may show less, or something older, than a person made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderDoubt {
    /// The state is not the one that the folder was last mirrored with.
    Other,
    /// The folder is an older copy than the one that was mirrored last.
    Older,
}

/// What can go wrong with the database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite's own word.
    #[error("the state database failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file is not a database of ours, or is damaged.
    #[error("the state database {0} is damaged: {1}")]
    Damaged(PathBuf, String),
    /// A newer espejo wrote it.
    #[error(
        "the state database {0} was written by a newer espejo (version {1}); use that one, or move the file away"
    )]
    Newer(PathBuf, i64),
    /// An earlier version wrote it, and this one has not opened it for writing yet.
    #[error("the state database {0} is of an earlier espejo; espejo run or espejo sync upgrades it")]
    Older(PathBuf),
    /// It is of an earlier version, and no copy of it could be made first.
    #[error(
        "the state of an earlier espejo cannot be copied to {0} ({1}), and without a copy it is left as it is; make room for it \
         there and start espejo again"
    )]
    NotCopied(PathBuf, String),
    /// The folder, or the database in it, may be read but not written to.
    #[error(
        "the state folder {0} may not be written to; make it and all that is in it yours (chown, chmod -R u+rwX), or name \
         another with state_dir"
    )]
    ReadOnly(PathBuf),
    /// The file system's word.
    #[error("the state folder {0} cannot be used: {1}; mend it, or name another with state_dir")]
    Io(PathBuf, String),
    /// A row that this version cannot read.
    #[error("the state database holds a {0} that cannot be read")]
    Row(&'static str),
}

impl StoreError {
    /// In espejo's words where SQLite has a number for it: what keeps the database in `folder` from being opened.
    fn at_opening(self, folder: &Path) -> Self {
        use rusqlite::ErrorCode;
        let code = match &self {
            Self::Sqlite(error) => error.sqlite_error_code(),
            _ => None,
        };
        match code {
            // Even a reader has to make the files beside the database.
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::ReadOnly(folder.to_owned())
            }
            _ => self,
        }
    }

    /// Whether it may end by itself or by a person's tidying up: no space, no permission, a disk that is away.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        use rusqlite::ErrorCode;
        match self {
            Self::Io(..) | Self::ReadOnly(_) | Self::NotCopied(..) => true,
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
            Self::Damaged(..) | Self::Newer(..) | Self::Older(_) | Self::Row(_) => false,
        }
    }
}

/// The database.
#[derive(Debug)]
pub struct Store {
    db: Connection,
    in_turn: bool,
    /// Whether this is the one that writes, which notes its end: a kill leaves the note out.
    is_held: bool,
    /// The state's folder, and in it SQLite's log, to sync it; `None` where there is none, in memory say. Closing it frees no lock:
    /// SQLite holds its locks on other files.
    log: Option<(PathBuf, File)>,
    /// Whether something was written, if only in the open transaction, that a power cut must not take back.
    is_unsynced: bool,
    checked: Checked,
    acts_elsewhere: Vec<Act>,
    late: late::Late,
}

/// What was read at opening to see that every row can be read: the next load need not read it again. Gone with the
/// first write to anything but notes.
#[derive(Debug, Default)]
struct Checked {
    trees: Option<Loaded>,
    boards: Option<LoadedBoards>,
    storage: Option<StoredStorage>,
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.is_held {
            // What could not be committed is not written, and then the notes of its requests stay.
            if self.in_turn {
                self.roll_back();
            }
            // Without these notes the next start only looks more closely.
            drop(self.end_notes().and_then(|()| self.set_meta("held", "no")).and_then(|()| self.commit()));
        }
    }
}

/// How opening went.
#[derive(Debug)]
pub struct Opened {
    /// The database.
    pub store: Store,
    /// Where a damaged one was set aside, and why, if that was needed.
    pub set_aside: Option<(PathBuf, String)>,
    /// Whether what was written last is lost: the log beside the database was not there, although it was not closed.
    pub log_is_gone: bool,
    /// Where the state of an earlier version is kept, if it was one.
    pub copy: Option<StateCopy>,
}

impl Store {
    /// Opens, or makes, `espejo.sqlite3` in `folder` (made with mode 0700 when missing). A damaged database is set
    /// aside under another name and a new one begun.
    ///
    /// # Errors
    /// [`StoreError`] when the folder cannot be used or a newer version wrote the database.
    pub fn open(folder: &Path) -> Result<Opened, StoreError> {
        open::open(folder)
    }

    /// A database that lives in memory, for the simulation.
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
            in_turn: false,
            is_held: false,
            log: None,
            is_unsynced: false,
            checked: Checked::default(),
            acts_elsewhere: Vec::new(),
            late: late::Late::default(),
        }
    }

    /// This is an older copy of the state than the one that was in use: everything is compared once more before
    /// anything is made, and what is missing in the folder is not deleted for it.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn begin_anew(&mut self) -> Result<(), StoreError> {
        self.set_meta("adopting", "yes")?;
        self.set_meta("board_adopting", "yes")?;
        self.set_meta(open::LOG_IS_GONE, "no")?;
        self.distrust_folder()?;
        self.turn()?.execute("UPDATE workspaces SET listed_at = 0", [])?;
        Ok(())
    }

    /// What is missing in the folder may never have been deleted: it is held until a person approves.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn distrust_folder(&mut self) -> Result<(), StoreError> {
        self.set_meta(FOLDER_DOUBT, "other")?;
        self.set_meta("root_identity", "0 0")
    }

    /// The folder is an older copy than the one that was mirrored last: it is distrusted, and what differs in it may be older,
    /// too.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn folder_went_back(&mut self, now: Timestamp) -> Result<(), StoreError> {
        self.distrust_folder()?;
        self.set_meta(FOLDER_DOUBT, "older")?;
        self.set_meta("folder_is_old", &now.0.to_string())
    }

    /// Why stored files doubt the folder until its first scan.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn folder_doubt(&self) -> Result<Option<FolderDoubt>, StoreError> {
        Ok(match self.meta(FOLDER_DOUBT)?.as_deref() {
            Some("other") => Some(FolderDoubt::Other),
            Some("older") => Some(FolderDoubt::Older),
            _ => None,
        })
    }

    /// The folder was scanned, and what it is doubted for is noted.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn end_folder_doubt(&mut self) -> Result<(), StoreError> {
        self.set_meta(FOLDER_DOUBT, "no")
    }

    /// Begins a transaction unless one is open. Every writing method calls it.
    fn turn(&mut self) -> Result<&Connection, StoreError> {
        self.checked = Checked::default();
        self.turn_for_a_note()
    }

    /// As [`Store::turn`], for what is no part of the trees.
    fn turn_for_a_note(&mut self) -> Result<&Connection, StoreError> {
        self.is_unsynced = true;
        self.begin()
    }

    /// As [`Store::turn`], for times of looks and of requests and for what is worked out anew by each run: no word depends on
    /// them. What is written so outlives a kill; after a power cut it may be older.
    fn turn_for_times(&mut self) -> Result<&Connection, StoreError> {
        self.checked = Checked::default();
        self.begin()
    }

    fn begin(&mut self) -> Result<&Connection, StoreError> {
        if !self.in_turn {
            self.db.execute_batch("BEGIN IMMEDIATE")?;
            self.in_turn = true;
        }
        Ok(&self.db)
    }

    /// Makes everything written since the last commit durable; times alone may wait for the next commit of more.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses (a full disk), or the disk; the writes stay pending.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        self.commit_for_a_look()?;
        if self.is_unsynced {
            // SQLite is asked not to: it would do it for times as well, and the choice cannot be changed in a transaction.
            if let Some((folder, log)) = &self.log {
                log.sync_data().map_err(|error| StoreError::Io(folder.to_owned(), error.to_string()))?;
            }
            self.is_unsynced = false;
        }
        Ok(())
    }

    /// Makes everything written since the last commit outlive a kill. A power cut may take it back until [`Store::commit`]:
    /// that is enough before an effect that only looks.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses (a full disk); the writes stay pending.
    pub fn commit_for_a_look(&mut self) -> Result<(), StoreError> {
        self.add_acts_elsewhere()?;
        if self.in_turn {
            self.db.execute_batch("COMMIT")?;
            self.in_turn = false;
        }
        Ok(())
    }

    /// Forgets everything written since the last commit.
    pub fn roll_back(&mut self) {
        self.acts_elsewhere.clear();
        self.lose_times();
        if self.in_turn {
            self.in_turn = self.db.execute_batch("ROLLBACK").is_err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_a_look_all_is_written_and_nothing_synced() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path()).unwrap().store;
        store.set_meta("a", "note").unwrap();
        store.commit_for_a_look().unwrap();
        assert!(store.is_unsynced && !store.in_turn);
        // A kill takes nothing back.
        let beside = ReadOnly::open(folder.path()).unwrap().unwrap();
        assert_eq!(beside.meta("a").unwrap().as_deref(), Some("note"));
        // The next commit makes up for it, although it has nothing of its own.
        store.commit().unwrap();
        assert!(!store.is_unsynced);
    }
}
