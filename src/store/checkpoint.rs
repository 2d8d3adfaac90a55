//! Checkpoints of SQLite's log on a worker thread. A checkpoint is two thirds of the cost of committing thousands of
//! rows, and nothing waits for it.

use std::path::PathBuf;

use rusqlite::Connection;

use super::{Store, StoreError};

/// The length of the log in bytes from which on it is checkpointed: SQLite's own thousand pages of 4096 with their
/// headers. After a checkpoint its file is cut to this length, so a longer one shows that there are pages to
/// checkpoint.
const LOG_BYTES: u64 = 32 + 1_000 * (24 + 4_096);

/// From this many bytes in its pages on, a commit checkpoints the log itself, if no other thread has done so. It is more
/// than a first mirror writes between two checkpoints.
const BACKSTOP_BYTES: i64 = 256 << 20;

/// A log to be checkpointed.
#[derive(Debug)]
pub struct Checkpoint {
    database: PathBuf,
}

impl Store {
    /// Leaves checkpoints to the driver, which calls [`Store::due_checkpoint`] and runs the result on another thread.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn checkpoint_beside(&mut self) -> Result<(), StoreError> {
        checkpoint_from(&self.db, BACKSTOP_BYTES)
    }

    /// The checkpoint that is due, if the log is long enough. `None` for a database in memory.
    #[must_use]
    pub fn due_checkpoint(&self) -> Option<Checkpoint> {
        let database = PathBuf::from(self.db.path().filter(|path| !path.is_empty())?);
        let (_, log) = self.log.as_ref()?;
        let length = log.metadata().ok()?.len();
        (length > LOG_BYTES).then_some(Checkpoint { database })
    }
}

/// Lets a commit checkpoint a log of `backstop` bytes and more, and no other one.
fn checkpoint_from(db: &Connection, backstop: i64) -> Result<(), StoreError> {
    let page: i64 = db.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    db.pragma_update(None, "wal_autocheckpoint", backstop / page.max(1))?;
    // This pragma returns a row.
    db.query_row(&format!("PRAGMA journal_size_limit = {LOG_BYTES}"), [], |_| Ok(()))?;
    Ok(())
}

impl Checkpoint {
    /// Checkpoints the pages that no reader needs any more, in parallel to other readers and writers. Pages written
    /// meanwhile are left to the next checkpoint.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite cannot do it, for example because the disk is full: then all pages are still in the
    /// log.
    pub fn run(self) -> Result<(), StoreError> {
        let db = Connection::open(self.database)?;
        db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_bytes(folder: &std::path::Path) -> u64 {
        std::fs::metadata(folder.join("espejo.sqlite3-wal")).unwrap().len()
    }

    /// One commit of some hundred pages.
    fn write_much(store: &mut Store, round: u64) {
        for key in 0..100_u64 {
            store.set_meta(&format!("key {key}"), &round.to_string().repeat(8_000));
        }
        store.commit().unwrap();
    }

    #[test]
    fn the_log_is_brought_in_beside_the_writer_and_is_short_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path()).unwrap().store;
        store.checkpoint_beside().unwrap();
        for round in 0..40 {
            write_much(&mut store, 10 + round);
            if let Some(due) = store.due_checkpoint() {
                std::thread::spawn(|| due.run().unwrap()).join().unwrap();
            }
        }
        let most = 4 * LOG_BYTES;
        assert!(log_bytes(folder.path()) <= most, "{} bytes", log_bytes(folder.path()));
        let written = store.meta("key 7").unwrap().unwrap();
        assert_eq!(written, "49".repeat(8_000));
        store.due_checkpoint().into_iter().for_each(|due| due.run().unwrap());
        store.set_meta("little", "yes");
        store.commit().unwrap();
        assert!(store.due_checkpoint().is_none(), "{} bytes", log_bytes(folder.path()));
        // The state after a kill.
        std::mem::forget(store);
        let again = Store::open(folder.path()).unwrap();
        assert!(again.set_aside.is_none() && !again.log_is_gone);
        assert_eq!(again.store.meta("key 99").unwrap().unwrap(), written);
    }

    #[test]
    fn without_somebody_else_the_log_ends_at_its_backstop() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path()).unwrap().store;
        let backstop: u32 = 16 << 20;
        checkpoint_from(&store.db, backstop.into()).unwrap();
        for round in 0..30 {
            write_much(&mut store, 10 + round);
        }
        let most = u64::from(backstop) / 1_024 * 1_048 + 2 * LOG_BYTES;
        assert!(log_bytes(folder.path()) <= most, "{} bytes", log_bytes(folder.path()));
        assert!(store.due_checkpoint().is_some());
    }

    #[test]
    fn what_lives_in_memory_has_no_log() {
        let mut store = Store::in_memory().unwrap();
        store.checkpoint_beside().unwrap();
        write_much(&mut store, 1);
        assert!(store.due_checkpoint().is_none());
    }
}
