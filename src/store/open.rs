//! Opening the database: pragmas, the schema, and renaming a damaged one or one of an earlier version. Not its contents.

use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::ffi::Error as Failure;
use rusqlite::{Connection, ErrorCode};

use super::{Checked, CoreTable, Opened, Store, StoreError, core_rows};
use crate::model::PageDraft;

/// "espj": distinguishes it from other SQLite files.
pub(super) const APPLICATION_ID: i64 = 0x6573_706a;

/// The tables. What changes them changes [`VERSION`]; a state of an earlier one is set aside and built anew from the files and
/// the service (docs/decisions/0008).
const SCHEMA: &str = include_str!("schema.sql");
pub(super) const VERSION: i64 = 17;

pub(super) const FILE: &str = "espejo.sqlite3";

/// Page size in bytes. SQLite writes whole pages, to the log and again to the database, and a fetch or an edit
/// changes a short row on each of several pages: a quarter of the usual page size is a quarter of the written bytes.
const PAGE_BYTES: u32 = 1_024;

/// Half of the usual size of the cache, in KiB (negative: not in pages). A turn reads a few rows, and the system's cache
/// holds the rest.
const CACHE: i64 = -1_000;

/// The same while the whole database is read: each page once, and none of them soon again.
const CACHE_WHILE_CHECKED: i64 = -100;

/// The key of the record that the log is gone, kept until the engine has begun anew.
pub(super) const LOG_IS_GONE: &str = "log_is_gone";

/// The key of the record in `meta` that a run ends without an error: the next opening does not check the history.
pub const ENDED_WELL: &str = "ended_well";
/// The key of the count in `meta` that the folder has in `.espejo/runs`.
pub const RUNS: &str = "runs";
/// The key of the count in `meta` that the folder has after the write that is under way.
pub const RUNS_MEANT: &str = "runs_meant";

pub(super) fn open(folder: &Path) -> Result<Opened, StoreError> {
    make_private(folder)?;
    let path = folder.join(FILE);
    match open_file(&path) {
        Ok(opened) => Ok(opened),
        Err(error) if is_damage(&error) || matches!(error, StoreError::Older(_)) => {
            let why = error.to_string();
            let aside = set_aside(&path)?;
            Ok(Opened { set_aside: Some((aside, why)), log_is_gone: false, ..open_file(&path)? })
        }
        Err(error) => Err(error.at_opening(folder)),
    }
}

/// Opens the database. Also returns whether its last holder was killed and its last writes are gone together with the
/// log.
fn open_file(path: &Path) -> Result<Opened, StoreError> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let log = PathBuf::from(log);
    let has_log = std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    // SQLite would make the file readable by all users; it holds private content.
    std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path).map_err(|e| {
        match e.kind() {
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly(path.parent().unwrap_or(path).to_owned())
            }
            _ => StoreError::Io(path.to_owned(), e.to_string()),
        }
    })?;
    let mut db = Connection::open(path)?;
    // WAL lets readers run beside the writer. A pending request must survive a power cut before its effect leaves, so
    // `Store::commit` syncs the log itself if there is one. Some network file systems cannot have a log; then SQLite
    // syncs everything. Only a new database takes the page size.
    db.pragma_update(None, "page_size", PAGE_BYTES)?;
    let mode: String = db.query_row("PRAGMA journal_mode = wal", [], |row| row.get(0))?;
    let is_logged = mode.eq_ignore_ascii_case("wal");
    db.pragma_update(None, "synchronous", if is_logged { "normal" } else { "full" })?;
    db.pragma_update(None, "cache_size", CACHE_WHILE_CHECKED)?;
    // Only paths and numbers are sorted, and a full folder for temporary files must not prevent it.
    db.pragma_update(None, "temp_store", "memory")?;
    if let Some(verdict) = damage(&db)? {
        return Err(unread(&verdict).unwrap_or_else(|| StoreError::Damaged(path.to_owned(), verdict)));
    }
    prepare(&mut db, path)?;
    let mut store = Store::with(db);
    store.is_held = true;
    if is_logged {
        let folder = path.parent().unwrap_or(path).to_owned();
        let log = std::fs::File::open(log).map_err(|e| StoreError::Io(folder.clone(), e.to_string()))?;
        store.log = Some((folder, log));
    }
    let noted = |store: &Store, name| store.meta(name).map(|text| text.as_deref() == Some("yes"));
    let log_is_gone = noted(&store, "held")? && !has_log || noted(&store, LOG_IS_GONE)?;
    // A row that cannot be read is damage too. It is better found now than in the middle of a turn.
    let checked = store.check();
    let checked = checked.map_err(|error| match error {
        error if is_in_the_rows(&error) => StoreError::Damaged(path.to_owned(), error.to_string()),
        other => other,
    })?;
    store.db.pragma_update(None, "cache_size", CACHE)?;
    store.set_meta("held", "yes");
    store.set_meta(ENDED_WELL, "no");
    if log_is_gone {
        // This start may fail, and the next one would find a log again.
        store.set_meta(LOG_IS_GONE, "yes");
    }
    store.commit()?;
    store.checked = checked;
    Ok(Opened { store, set_aside: None, log_is_gone })
}

/// SQLite's report of damage, if there is any. After a run that ended well the history is left out, and what belongs to no
/// table: it is most of the database, and each start would wait for it. If it is damaged, the run that needs it ends with
/// that error, and the next opening checks everything.
fn damage(db: &Connection) -> rusqlite::Result<Option<String>> {
    let verdict = |of: &str| -> rusqlite::Result<Option<String>> {
        let verdict: String = db.query_row(&format!("PRAGMA quick_check({of})"), [], |row| row.get(0))?;
        Ok(Some(verdict).filter(|verdict| verdict != "ok"))
    };
    let ended_well = "SELECT value = 'yes' FROM meta WHERE key = ?1";
    // No record, no table and no readable page are all answered by the whole check.
    if !db.query_row(ended_well, [ENDED_WELL], |row| row.get(0)).unwrap_or(false) {
        return verdict("1");
    }
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'history_*'";
    let tables: Vec<String> =
        db.prepare(tables)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    tables.iter().map(|table| verdict(table)).find_map(Result::transpose).transpose()
}

impl Store {
    /// Reads all rows that the program keeps in memory.
    fn check(&mut self) -> Result<Checked, StoreError> {
        self.creations::<PageDraft>()?;
        self.dashboards()?;
        self.drawn()?;
        self.missing_files()?;
        core_rows(self, CoreTable::Items)?;
        core_rows(self, CoreTable::Journal)?;
        self.check_bodies()?;
        Ok(Checked { trees: Some(self.load()?) })
    }
}

/// Checks that the database is espejo's and of this version; a new one gets its tables.
pub(super) fn prepare(db: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let owner: i64 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if version > VERSION && owner == APPLICATION_ID {
        return Err(StoreError::Newer(path.to_owned(), version));
    }
    if version != 0 && owner != APPLICATION_ID {
        return Err(StoreError::Damaged(path.to_owned(), "it belongs to another program".to_owned()));
    }
    match version {
        VERSION => {}
        0 => {
            // All or nothing: a command that reads meanwhile sees no tables, or all.
            let made = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            made.execute_batch(SCHEMA)?;
            made.pragma_update(None, "application_id", APPLICATION_ID)?;
            made.pragma_update(None, "user_version", VERSION)?;
            made.commit()?;
        }
        _ => return Err(StoreError::Older(path.to_owned())),
    }
    // A statement keeps its plan. Otherwise SQLite prepares statements with `LIKE` or a range again for each new
    // value, because a histogram may advise another plan; there is no histogram, because nothing runs ANALYZE.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // The cache holds all statements of the program; with the library's sixteen places they would be prepared again
    // and again.
    db.set_prepared_statement_cache_capacity(256);
    Ok(())
}

fn is_damage(error: &StoreError) -> bool {
    match error {
        StoreError::Damaged(..) => true,
        StoreError::Sqlite(rusqlite::Error::SqliteFailure(failure, _)) => is_of_the_file(*failure),
        _ => false,
    }
}

pub(super) fn is_of_the_file(failure: Failure) -> bool {
    matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
}

/// Whether the rows themselves are unreadable. A full or unmounted disk, no memory and no descriptor left say nothing
/// about the rows: a sound state must not be renamed for them.
fn is_in_the_rows(error: &StoreError) -> bool {
    match error {
        StoreError::Row(_) => true,
        // SQLite reports a missing table or column as an error of the statement.
        StoreError::Sqlite(rusqlite::Error::SqliteFailure(failure, _)) => {
            is_of_the_file(*failure) || failure.extended_code == rusqlite::ffi::SQLITE_ERROR
        }
        // The remaining errors are values of a wrong type.
        StoreError::Sqlite(_) => true,
        StoreError::Fault(_)
        | StoreError::Damaged(..)
        | StoreError::Newer(..)
        | StoreError::Older(_)
        | StoreError::Full(_)
        | StoreError::ReadOnly(_)
        | StoreError::Io(..) => false,
    }
}

/// Why SQLite could not read a page, according to the number at the end of its verdict; `None` if the page was read.
fn unread(verdict: &str) -> Option<StoreError> {
    let (_, number) = verdict.trim_end().rsplit_once("error code=")?;
    let failure = Failure::new(number.parse().ok()?);
    (!is_of_the_file(failure)).then(|| rusqlite::Error::SqliteFailure(failure, None).into())
}

/// Renames the database and its log files to the first free `espejo.damaged-N.sqlite3`.
fn set_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = |n: u32| folder.join(format!("espejo.damaged-{n}.sqlite3"));
    let aside = (1..u32::MAX).map(name).find(|candidate| !candidate.exists()).unwrap_or_else(|| name(0));
    for ending in ["", "-wal", "-shm"] {
        let from = PathBuf::from(format!("{}{ending}", path.display()));
        let to = PathBuf::from(format!("{}{ending}", aside.display()));
        match std::fs::rename(&from, &to) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(StoreError::Io(from, e.to_string())),
        }
    }
    Ok(aside)
}

fn make_private(folder: &Path) -> Result<(), StoreError> {
    let failed = |e: std::io::Error| StoreError::Io(folder.to_owned(), e.to_string());
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    builder.mode(0o700);
    builder.create(folder).map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};

    use super::*;

    #[test]
    fn a_damaged_database_is_set_aside_and_a_new_one_begun() {
        for damage in [&b"not a database at all, but long enough to look at"[..], &[0xff; 9000]] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::File::create(folder.path().join(FILE)).unwrap();
            let path = folder.path().join(FILE);
            std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), damage).unwrap();
            let opened = Store::open(folder.path()).unwrap();
            let (aside, _) = opened.set_aside.expect("it was damaged");
            assert_eq!(std::fs::read(aside).unwrap(), damage);
        }
    }

    #[test]
    fn a_folder_that_may_not_be_written_to_is_told_without_numbers() {
        // Root may write everywhere, so the test constructs the refusals: read-only (folder and file), cannot open,
        // no permission.
        for code in [1544, 8, 14, 3] {
            let failure = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
            let told = StoreError::from(failure).at_opening(Path::new("/s")).to_string();
            assert!(told.starts_with("the state folder /s may not be written to; make it "), "{told}");
        }
        // SQLite's own words say the same three times.
        for code in [13, rusqlite::ffi::SQLITE_IOERR_SHMSIZE] {
            let full =
                || StoreError::from(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None));
            let of_a_folder = full().at_opening(Path::new("/s"));
            assert_eq!(of_a_folder.to_string(), "the disk of the state folder /s is full; make room on it");
            for full in [full(), of_a_folder] {
                assert!(full.may_pass());
                let told = format!("{:#}", anyhow::Error::from(full));
                assert!(told.matches("full").count() == 1 && !told.contains("code"), "{told}");
            }
        }
        let busy = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(5), None);
        assert!(matches!(StoreError::from(busy).at_opening(Path::new("/s")), StoreError::Sqlite(_)));
    }

    #[test]
    fn a_cut_off_database_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        {
            let mut store = Store::open(folder.path()).unwrap().store;
            store.set_meta("a", &"x".repeat(20_000));
            store.commit().unwrap();
            store.db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        }
        let whole = std::fs::metadata(&path).unwrap().len();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(whole / 2).unwrap();
        assert!(Store::open(folder.path()).unwrap().set_aside.is_some());
    }

    #[test]
    fn a_damaged_history_is_found_after_a_run_that_did_not_end_well() {
        let folder = tempfile::tempdir().unwrap();
        drop(Store::open(folder.path()).unwrap());
        let path = folder.path().join(FILE);
        let root = |table: &str| -> u64 {
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
            let page = Connection::open(&path).unwrap().query_row(sql, [table], |row| row.get::<_, i64>(0));
            page.unwrap().unsigned_abs()
        };
        let spoil = |page: u64| {
            let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.seek(SeekFrom::Start((page - 1) * u64::from(PAGE_BYTES))).unwrap();
            file.write_all(&[0x5a; 100]).unwrap();
        };
        let end_well = || {
            let mut opened = Store::open(folder.path()).unwrap();
            opened.store.set_meta(ENDED_WELL, "yes");
            opened.store.commit().unwrap();
            opened.set_aside.is_some()
        };
        assert!(!end_well());
        spoil(root("history_versions"));
        assert!(!end_well());
        assert!(Store::open(folder.path()).unwrap().set_aside.is_none());
        // That one has not noted that it ended well.
        assert!(end_well());
        spoil(root("pages"));
        assert!(end_well());
    }

    #[test]
    fn a_row_that_makes_no_sense_is_damage_wherever_it_stands() {
        for sql in [
            // A missing body must not count as empty.
            "INSERT INTO writing (page, text, body) VALUES ('p', zeroblob(32), zeroblob(32))",
            "INSERT INTO missing_files VALUES ('', '../a.md', 1, 1, 1, 1, 1, 1, NULL)",
            "INSERT INTO creations VALUES ('page', 'a', '{\"path\":\"../out.md\",\"workspace\":\"w\",\"title\":\"t\"}', 1, NULL, 0)",
        ] {
            let folder = tempfile::tempdir().unwrap();
            drop(Store::open(folder.path()).unwrap());
            let db = Connection::open(folder.path().join(FILE)).unwrap();
            db.execute_batch(sql).unwrap();
            drop(db);
            assert!(Store::open(folder.path()).unwrap().set_aside.is_some(), "{sql}");
        }
    }

    #[test]
    fn what_keeps_a_sound_state_from_being_read_is_no_damage() {
        use rusqlite::ffi;
        let of = |code| StoreError::Sqlite(rusqlite::Error::SqliteFailure(Failure::new(code), None));
        for code in [
            ffi::SQLITE_FULL,
            ffi::SQLITE_IOERR_READ,
            ffi::SQLITE_IOERR_GETTEMPPATH,
            ffi::SQLITE_NOMEM,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_READONLY,
            ffi::SQLITE_PERM,
            ffi::SQLITE_BUSY,
        ] {
            assert!(!is_in_the_rows(&of(code)) && of(code).may_pass(), "{code}");
            let verdict = format!("Tree 5 page 7: unable to get the page. error code={code}");
            assert!(unread(&verdict).is_some_and(|error| error.may_pass()), "{verdict}");
        }
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_CORRUPT_INDEX, ffi::SQLITE_NOTADB] {
            assert!(is_in_the_rows(&of(code)) && !of(code).may_pass(), "{code}");
            let verdict = format!("Tree 5 page 7: unable to get the page. error code={code}");
            assert!(unread(&verdict).is_none(), "{verdict}");
        }
        assert!(unread("row 3 missing from index nodes_by_parent").is_none());
        let text =
            Connection::open_in_memory().unwrap().query_row("SELECT 'a'", [], |row| row.get::<_, i64>(0));
        assert!(is_in_the_rows(&text.unwrap_err().into()));
        let table = Connection::open_in_memory().unwrap().query_row("SELECT a FROM b", [], |_| Ok(()));
        assert!(is_in_the_rows(&table.unwrap_err().into()));
        assert!(is_in_the_rows(&StoreError::Row("stem")));
    }

    #[test]
    fn that_the_log_is_gone_is_known_until_everything_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let db = |sql: &str| Connection::open(folder.path().join(FILE)).unwrap().execute_batch(sql).unwrap();
        let open = || Store::open(folder.path()).unwrap();
        assert!(!open().log_is_gone);
        // Killed, and the log is gone.
        db("INSERT OR REPLACE INTO meta VALUES ('held', 'yes'); PRAGMA wal_checkpoint(TRUNCATE)");
        // Starts that fail, with and without an orderly end.
        for _ in 0..2 {
            assert!(open().log_is_gone);
        }
        let mut opened = open();
        opened.store.begin_anew();
        opened.store.roll_back();
        drop(opened);
        let mut opened = open();
        assert!(opened.log_is_gone);
        opened.store.begin_anew();
        opened.store.commit().unwrap();
        drop(opened);
        assert!(!open().log_is_gone);
    }

    #[test]
    fn a_database_of_an_earlier_version_is_set_aside_and_a_new_one_begun() {
        let folder = tempfile::tempdir().unwrap();
        drop(Store::open(folder.path()).unwrap());
        let version = |path: &Path| -> i64 {
            let db = Connection::open(path).unwrap();
            db.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
        };
        let path = folder.path().join(FILE);
        Connection::open(&path).unwrap().pragma_update(None, "user_version", VERSION - 1).unwrap();
        let (aside, why) =
            Store::open(folder.path()).unwrap().set_aside.expect("it is of an earlier version");
        assert!(why.contains("earlier espejo"), "{why}");
        assert_eq!((version(&aside), version(&path)), (VERSION - 1, VERSION));
        assert!(Store::open(folder.path()).unwrap().set_aside.is_none());
    }

    #[test]
    fn a_newer_database_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        drop(Store::open(folder.path()).unwrap());
        let db = Connection::open(folder.path().join(FILE)).unwrap();
        db.pragma_update(None, "user_version", 999).unwrap();
        drop(db);
        let error = Store::open(folder.path()).unwrap_err();
        assert!(matches!(error, StoreError::Newer(_, 999)), "{error}");
    }
}
