//! Migration of an earlier version's state to this version: a copy first, then all steps or none.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::open::{APPLICATION_ID, is_of_the_file};
use super::{Store, StoreError};

/// One script for each step, never edited once released.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
    include_str!("migrations/0007.sql"),
    include_str!("migrations/0008.sql"),
    include_str!("migrations/0009.sql"),
    include_str!("migrations/0010.sql"),
    include_str!("migrations/0011.sql"),
    include_str!("migrations/0012.sql"),
];

/// The version that this espejo writes.
pub(super) const NEWEST: i64 = MIGRATIONS.len() as i64;

/// The beginning and the end of a copy's name; the version of its tables is between them.
const COPY: (&str, &str) = ("espejo.version-", ".sqlite3");

/// A copy of an earlier version's state: the older program can use it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateCopy {
    /// The version of its tables.
    pub version: i64,
    /// Its path.
    pub path: PathBuf,
}

/// Migrates the tables to this version. The earlier state is copied first, unless there was none; without that copy
/// nothing is changed.
pub(super) fn upgrade(
    db: &mut Connection,
    path: &Path,
    version: i64,
) -> Result<Option<StateCopy>, StoreError> {
    let copy = (version > 0).then(|| keep_copy(db, path, version)).transpose()?;
    // All steps or none: a command that reads meanwhile sees the tables of this version or of an earlier one.
    let steps = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for sql in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0)) {
        steps.execute_batch(sql).map_err(without_sql)?;
    }
    steps.pragma_update(None, "application_id", APPLICATION_ID)?;
    steps.pragma_update(None, "user_version", NEWEST)?;
    steps.commit()?;
    Ok(copy)
}

/// The error without its SQL statements, because the user sees one sentence.
fn without_sql(error: rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqlInputError { error, msg, .. } => rusqlite::Error::SqliteFailure(error, Some(msg)),
        other => other,
    }
}

/// Copies the database: the copy is complete under its name, or does not exist. An existing copy of the same version
/// is replaced, because this state is newer.
fn keep_copy(db: &Connection, path: &Path, version: i64) -> Result<StateCopy, StoreError> {
    let (begin, end) = COPY;
    let copy = path.with_file_name(format!("{begin}{version}{end}"));
    let unfinished = path.with_file_name(format!("{begin}{version}{end}.unfinished"));
    match write_copy(db, &unfinished, &copy) {
        Ok(()) => Ok(StateCopy { version, path: copy }),
        Err(error) => {
            // The rest of it only takes space; the next try removes it as well.
            drop(fs::remove_file(&unfinished));
            Err(match error {
                StoreError::Sqlite(rusqlite::Error::SqliteFailure(failure, _)) if is_of_the_file(failure) => {
                    error
                }
                other => StoreError::NotCopied(copy, other.to_string()),
            })
        }
    }
}

fn write_copy(db: &Connection, unfinished: &Path, copy: &Path) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| StoreError::Io(copy.to_owned(), error.to_string());
    match fs::remove_file(unfinished) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    // SQLite would make the file readable by all users; it holds private content.
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(unfinished).map_err(failed)?;
    db.execute("VACUUM INTO ?1", [unfinished.to_string_lossy()])?;
    file.sync_all().map_err(failed)?;
    fs::rename(unfinished, copy).map_err(failed)?;
    let folder = copy.parent().unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

impl Store {
    /// The copies of earlier versions' states in `folder`, oldest version first.
    #[must_use]
    pub fn copies(folder: &Path) -> Vec<StateCopy> {
        let (begin, end) = COPY;
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut copies: Vec<StateCopy> = entries
            .filter_map(|entry| {
                let name = entry.file_name();
                let version = name.to_str()?.strip_prefix(begin)?.strip_suffix(end)?.parse().ok()?;
                Some(StateCopy { version, path: entry.path() })
            })
            .collect();
        copies.sort();
        copies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{MirrorPath, Problem};
    use crate::store::open::FILE;

    /// A state as a program of this version left it.
    fn state_of(version: usize) -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let db = Connection::open(folder.path().join(FILE)).unwrap();
        MIGRATIONS[..version].iter().for_each(|sql| db.execute_batch(sql).unwrap());
        db.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        db.pragma_update(None, "user_version", version as i64).unwrap();
        (folder, db)
    }

    fn version_of(path: &Path) -> i64 {
        let db = Connection::open(path).unwrap();
        db.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn an_older_state_is_copied_before_it_is_brought_up_to_this_version() {
        for version in 1..MIGRATIONS.len() {
            let (folder, db) = state_of(version);
            db.execute_batch("INSERT INTO meta VALUES ('paused', '7')").unwrap();
            drop(db);
            // Half of a copy, as a kill leaves it.
            fs::File::create(folder.path().join(format!("espejo.version-{version}.sqlite3.unfinished")))
                .unwrap();
            let opened = Store::open(folder.path()).unwrap();
            assert_eq!(opened.store.paused_since().unwrap(), Some(crate::model::Timestamp(7)));
            let copy = opened.copy.clone().unwrap();
            drop(opened);
            assert_eq!(version_of(&folder.path().join(FILE)), NEWEST);
            assert_eq!((copy.version, version_of(&copy.path)), (version as i64, version as i64));
            assert_eq!(Store::copies(folder.path()).first(), Some(&copy));
            let old = Connection::open(&copy.path).unwrap();
            let kept: String =
                old.query_row("SELECT value FROM meta WHERE key = 'paused'", [], |row| row.get(0)).unwrap();
            let owner: i64 = old.query_row("PRAGMA application_id", [], |row| row.get(0)).unwrap();
            assert_eq!((kept.as_str(), owner), ("7", APPLICATION_ID));
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                assert_eq!(fs::metadata(&copy.path).unwrap().permissions().mode() & 0o777, 0o600);
            }
            // After the copy is put back, it is opened again; a state of this version is not copied.
            assert!(Store::open(folder.path()).unwrap().copy.is_none());
            fs::copy(&copy.path, folder.path().join(FILE)).unwrap();
            assert_eq!(Store::open(folder.path()).unwrap().copy, Some(copy));
        }
    }

    #[test]
    fn tables_that_are_made_anew_keep_each_value_of_each_row() {
        let (folder, mut db) = state_of(9);
        let tables = ["pages", "files", "storage_files"];
        let rows = |db: &Connection, table: &str| -> Vec<Vec<String>> {
            let mut query = db.prepare(&format!("SELECT * FROM {table} ORDER BY 1")).unwrap();
            let names: Vec<String> = query.column_names().map(str::to_owned).collect();
            let value = |row: &rusqlite::Row<'_>, at: usize| format!("{:?}", row.get_ref(at).unwrap());
            let row = |row: &rusqlite::Row<'_>| Ok((0..names.len()).map(|at| value(row, at)).collect());
            let values: Vec<_> = query.query_map([], row).unwrap().map(Result::unwrap).collect();
            std::iter::once(names).chain(values).collect()
        };
        for table in tables {
            let columns = db.prepare(&format!("SELECT * FROM {table}")).unwrap().column_count();
            let values: String = (1..columns).map(|at| format!(", {at}")).collect();
            for key in ["b", "a"] {
                db.execute(&format!("INSERT INTO {table} VALUES ('{key}'{values})"), []).unwrap();
            }
        }
        let before = tables.map(|table| rows(&db, table));
        upgrade(&mut db, &folder.path().join(FILE), 9).unwrap();
        assert_eq!(tables.map(|table| rows(&db, table)), before);
        assert!(before.iter().all(|rows| rows.len() == 3));
    }

    #[test]
    fn a_state_that_cannot_be_copied_is_not_changed() {
        let (folder, db) = state_of(5);
        drop(db);
        let in_the_way = folder.path().join("espejo.version-5.sqlite3");
        fs::create_dir_all(in_the_way.join("full")).unwrap();
        let told = Store::open(folder.path()).unwrap_err();
        assert!(matches!(&told, StoreError::NotCopied(path, _) if *path == in_the_way), "{told}");
        assert!(told.may_pass() && told.to_string().lines().count() == 1, "{told}");
        assert_eq!(version_of(&folder.path().join(FILE)), 5);
        assert!(!folder.path().join("espejo.version-5.sqlite3.unfinished").exists());
        fs::remove_dir_all(&in_the_way).unwrap();
        assert!(Store::open(folder.path()).unwrap().copy.is_some());
    }

    /// The sentence in the words of the versions that kept sentences.
    fn said(problem: &Problem, of: &str) -> String {
        match problem {
            Problem::Emptied => format!("it is empty now, and its {of} is not"),
            Problem::Unclosed { what, line } => {
                format!("the {what} in line {line} is never closed, and all that follows is inside it")
            }
            Problem::OthersNodes(path) => {
                let whose = path.as_ref().map_or("another canvas", MirrorPath::as_str);
                format!("it holds the nodes of {whose} and none of its own; give each its own file back")
            }
            other => other.sentence(of),
        }
    }

    #[test]
    fn sentences_of_an_older_state_become_the_problems_that_they_told() {
        let (folder, db) = state_of(5);
        let mut expected = Problem::each();
        expected.retain(|problem| {
            !matches!(
                problem,
                Problem::Unread(_)
                    | Problem::MergeMarks { .. }
                    | Problem::UnknownItem { .. }
                    | Problem::Nul
                    | Problem::Internal
            )
        });
        let add = |table: &str, values: &str, at: usize, problem: &Problem, of: &str| {
            let sql = format!("INSERT INTO {table} VALUES (?1, {values}, ?2, 0)");
            db.execute(&sql, [format!("S/Pages/{at}.md"), said(problem, of)]).unwrap();
        };
        for (at, problem) in expected.iter().enumerate() {
            match problem {
                Problem::OthersNodes(_) | Problem::Canvas(_) => {
                    add("board_files", "NULL, NULL, 1, 2, 3, 4, 5, 6, NULL", at, problem, "canvas");
                }
                _ => add("files", "NULL, 1, 2, 3, 4, 5, 6, NULL, NULL, NULL, NULL", at, problem, "page"),
            }
        }
        db.execute(
            "INSERT INTO board_files VALUES ('S/E.canvas', NULL, NULL, 1, 2, 3, 4, 5, 6, NULL,
                'it is empty now, and its canvas is not', 0), ('S/F.canvas', NULL, NULL, 1, 2, 3, 4, 5, 6, NULL, NULL, 0)",
            [],
        )
        .unwrap();
        drop(db);
        let mut store = Store::open(folder.path()).unwrap().store;
        let (pages, boards) = (store.load().unwrap().files, store.load_boards().unwrap().files);
        let boards = |name: &str| boards.values().find(|file| file.path.name() == name);
        let found = |at: usize| {
            let name = format!("{at}.md");
            let page = pages.values().find(|file| file.path.name() == name);
            page.map_or_else(|| boards(&name)?.problem.clone(), |file| file.problem.clone())
        };
        for (at, problem) in expected.into_iter().enumerate() {
            assert_eq!(found(at), Some(problem));
        }
        assert_eq!(boards("E.canvas").unwrap().problem, Some(Problem::Emptied));
        assert_eq!(boards("F.canvas").unwrap().problem, None);
    }

    #[test]
    fn why_a_local_file_is_not_sent_is_kept_in_the_words_of_an_older_state() {
        let (folder, db) = state_of(7);
        db.execute_batch(
            r#"INSERT INTO storage_local VALUES ('Storage/a', 1, ''), ('Storage/b', 2, 'it has 4.0 MB, "but"')"#,
        )
        .unwrap();
        drop(db);
        let mut store = Store::open(folder.path()).unwrap().store;
        let why: Vec<_> =
            store.load_storage().unwrap().local_only.into_values().map(|item| item.why).collect();
        assert_eq!(why, [None, Some(crate::model::Unsent::Legacy(r#"it has 4.0 MB, "but""#.to_owned()))]);
    }

    #[test]
    fn creations_of_an_older_state_are_the_same_in_one_table() {
        use crate::model::{
            BoardId, CanvasDraft, CanvasId, CanvasItem, ContentHash, Creation, DeckId, FileId, FolderId,
            PageDraft, PageId, SlideId, Stamp, Timestamp, Unconfirmed, Upload, WorkspaceId,
        };
        let (folder, db) = state_of(7);
        let hash = ContentHash::of(b"a");
        db.execute_batch(&format!(
            r#"INSERT INTO intents VALUES ('S/Pages/A "b".md', 'w', 'p', 'Ça', 100, 200, 1, -1, 2, 3, 4, 5, 6);
            INSERT INTO intents (path, workspace, title, asked_at, looks) VALUES ('S/Pages/F', 'w', '', 100, 0);
            INSERT INTO board_intents (name, kind, workspace, path, before, asked_at)
                VALUES ('board S/W/Plan.canvas', 'board', 'w', 'S/W/Plan.canvas', '["x"]', 7);
            INSERT INTO board_intents (name, kind, path, before, asked_at, lost)
                VALUES ('deck P/Talk', 'deck', 'P/Talk', '[]', 7, 1);
            INSERT INTO board_intents (name, kind, path, node, before, asked_at, lost)
                VALUES ('deck P/Was', 'deck', 'P/Was', 'Named', '[]', 7, 0);
            INSERT INTO board_intents (name, kind, deck, own, node, fields, before, asked_at, lost)
                VALUES ('element  b n', 'element', '', 'b', 'n', '{{"x":1.50}}', '[]', 7, 0),
                    ('element d s n', 'element', 'd', 's', 'n', '{{}}', '[]', 7, 0);
            INSERT INTO board_intents (name, kind, deck, path, before, asked_at, lost)
                VALUES ('slide d', 'slide', 'd', 'P/Talk/a.canvas', '[]', 7, 0);
            INSERT INTO storage_uploads VALUES
                ('Storage/a.txt', 'f', 'a.txt', 5, x'{}', 'old', 100, 300, 1, 2, 3, 4, 5, 6);"#,
            hash.to_hex()
        ))
        .unwrap();
        drop(db);
        let store = Store::open(folder.path()).unwrap().store;
        let path = |text: &str| MirrorPath::new(text).unwrap();
        let space = WorkspaceId::new("w").unwrap();
        let at = Timestamp;
        let stamp = |device| Stamp { device, inode: 2, size: 3, modified_ns: 4, changed_ns: 5, born_ns: 6 };
        let page = |name: &str, parent: Option<&str>, title: &str, stamp| PageDraft {
            path: path(name),
            workspace: space.clone(),
            parent: parent.map(|id| PageId::new(id).unwrap()),
            title: title.to_owned(),
            stamp,
        };
        let doubt = |since, looks| Some(Unconfirmed { since: at(since), looks });
        let pages: Vec<Creation<PageDraft>> = store.creations().unwrap();
        let first = page("S/Pages/A \"b\".md", Some("p"), "Ça", Some(stamp(u64::MAX)));
        let second = page("S/Pages/F", None, "", None);
        assert_eq!(
            pages,
            [
                Creation { draft: first, asked_at: at(100), unconfirmed: doubt(200, 1) },
                Creation { draft: second, asked_at: at(100), unconfirmed: None },
            ]
        );
        let (deck, fields) = (DeckId::new("d").unwrap(), serde_json::from_str(r#"{"x":1.50}"#).unwrap());
        let board = CanvasId::Board(BoardId::new("b").unwrap());
        let slide = CanvasId::Slide(deck.clone(), SlideId::new("s").unwrap());
        let canvases: Vec<Creation<CanvasDraft>> = store.creations().unwrap();
        let expected = [
            (CanvasItem::Board(space.clone(), path("S/W/Plan.canvas"), "Plan".to_owned()), None),
            (CanvasItem::Deck(path("P/Talk"), "Talk".to_owned()), doubt(7, 1)),
            (CanvasItem::Deck(path("P/Was"), "Named".to_owned()), doubt(7, 0)),
            (CanvasItem::Element(board, "n".to_owned(), fields), doubt(7, 0)),
            (CanvasItem::Element(slide, "n".to_owned(), serde_json::Map::new()), doubt(7, 0)),
            (CanvasItem::Slide(deck, path("P/Talk/a.canvas")), doubt(7, 0)),
        ];
        let expected = expected.map(|(item, unconfirmed)| {
            let before = if unconfirmed.is_none() { vec!["x".to_owned()] } else { Vec::new() };
            Creation { draft: CanvasDraft { item, before }, asked_at: at(7), unconfirmed }
        });
        assert_eq!(canvases, expected);
        let files: Vec<Creation<Upload>> = store.creations().unwrap();
        let upload = Upload {
            path: path("Storage/a.txt"),
            folder: Some(FolderId::new("f").unwrap()),
            filename: "a.txt".to_owned(),
            size: 5,
            hash,
            stamp: stamp(1),
            replaces: Some(FileId::new("old").unwrap()),
        };
        assert_eq!(files, [Creation { draft: upload, asked_at: at(100), unconfirmed: doubt(300, 0) }]);
    }
}
