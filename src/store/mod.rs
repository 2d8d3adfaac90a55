//! Memory: the three trees, intents and the limiter's log in one SQLite database.
//!
//! The store belongs to the core: it is deterministic and transactional, and the simulation runs it in memory. The
//! engine opens a transaction with its first write of a turn and commits at the turn's end, so that what an effect
//! rests on is durable before the effect leaves.

mod board_status;
mod boards;
mod open;
mod queue;
mod rows;
mod status;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use board_status::{BoardCounts, CanvasRow};
pub use boards::{CanvasWriting, Drawn, Grave, LoadedBoards};
pub use queue::{Attention, Conflict, LogEntry, Writing};
pub use rows::Loaded;
pub use status::{PageRow, ReadOnly, StatusCounts};

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
    /// The file system's word.
    #[error("the state folder {0} cannot be used: {1}")]
    Io(PathBuf, String),
    /// A row that this version cannot read.
    #[error("the state database holds a {0} that cannot be read")]
    Row(&'static str),
}

/// The database.
#[derive(Debug)]
pub struct Store {
    db: Connection,
    in_turn: bool,
}

/// How opening went.
#[derive(Debug)]
pub struct Opened {
    /// The database.
    pub store: Store,
    /// Where a damaged one was set aside, and why, if that was needed.
    pub set_aside: Option<(PathBuf, String)>,
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
        let db = Connection::open_in_memory()?;
        let mut store = Self { db, in_turn: false };
        open::prepare(&mut store.db, Path::new(":memory:"))?;
        Ok(store)
    }

    /// Begins a transaction unless one is open. Every writing method calls it.
    fn turn(&mut self) -> Result<&Connection, StoreError> {
        if !self.in_turn {
            self.db.execute_batch("BEGIN IMMEDIATE")?;
            self.in_turn = true;
        }
        Ok(&self.db)
    }

    /// Makes everything written since the last commit durable.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses (a full disk); the writes stay pending.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        if self.in_turn {
            self.db.execute_batch("COMMIT")?;
            self.in_turn = false;
        }
        Ok(())
    }

    /// Forgets everything written since the last commit.
    pub fn roll_back(&mut self) {
        if self.in_turn {
            self.in_turn = self.db.execute_batch("ROLLBACK").is_err();
        }
    }
}
