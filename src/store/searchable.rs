//! The items that a search covers, according to the state: all pages, canvases and stored files that have a place in
//! the mirror or will have one. Can be read while a daemon runs.

use rusqlite::{OptionalExtension, Row};

use super::core::{CANVASES, known};
use super::{ReadOnly, StoreError};

/// One item that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searchable {
    /// `page`, `whiteboard`, `presentation`, `slide` or `file`.
    pub kind: &'static str,
    /// Its id at the service, if it has one.
    pub id: Option<String>,
    /// Its title.
    pub title: String,
    /// The path of its file or folder.
    pub path: Option<String>,
    /// Its workspace's id.
    pub workspace: Option<String>,
    /// The source of its text.
    pub text: Wording,
}

/// The source of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wording {
    /// The item has no text.
    None,
    /// Blocks, by hash.
    Blocks(Vec<u8>),
    /// Elements, by hash.
    Elements(Vec<u8>),
    /// Its file, which holds an edit that was not sent yet, by the hash of its content.
    File(Vec<u8>),
}

impl ReadOnly {
    /// A mark of the result of [`ReadOnly::searchable`]: while the mark is the same, so is the result. `None` while
    /// none is stored.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn searchable_mark(&self) -> Result<Option<String>, StoreError> {
        self.meta("searchable")
    }

    /// Calls `each` with each file whose text may be read: its path, its size in bytes, and its modification time in
    /// nanoseconds since 1970, according to the last scan. The order is always the same.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn searchable_files(&self, mut each: impl FnMut(&str, u64, i64)) -> Result<(), StoreError> {
        let sql = "SELECT path, size, modified FROM files UNION ALL SELECT file, stamp ->> 2, stamp ->> 3 FROM items
            WHERE file IS NOT NULL AND kind NOT IN ('file', 'folder')";
        let mut query = self.store().db.prepare_cached(sql)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let path = row.get_ref(0)?.as_str().map_err(|_| StoreError::Row("path"))?;
            each(path, row.get::<_, i64>(1)?.unsigned_abs(), row.get(2)?);
        }
        Ok(())
    }

    /// Calls `each` with each item that can be found. Items in a trash, and items deleted in the folder, are
    /// excluded.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn searchable(&self, mut each: impl FnMut(Searchable)) -> Result<(), StoreError> {
        // Of pages without a file, only those that will get one.
        self.gather(
            "SELECT p.id, p.workspace, coalesce(f.front_title, p.remote_title), p.file, p.base_body, p.base_text, f.hash
             FROM pages p LEFT JOIN files f ON f.path = p.file
             WHERE p.file IS NOT NULL OR (p.base_body IS NULL AND p.remote_presence = 0)",
            |row| text_of(row, "page", Wording::Blocks),
            &mut each,
        )?;
        self.gather(
            "SELECT NULL, NULL, '', path, NULL, NULL, hash FROM files WHERE page IS NULL",
            |row| text_of(row, "page", Wording::Blocks),
            &mut each,
        )?;
        self.gather(
            "SELECT i.id, i.area, iif(i.kind = 'slide', '', coalesce(i.name, '')), coalesce(i.file, p.file),
                unhex(i.base), unhex(i.base_text), unhex(i.hash), i.kind
             FROM items i LEFT JOIN items p ON p.key = i.parent
             WHERE i.kind NOT IN ('file', 'folder')
                AND (coalesce(i.file, p.file) IS NOT NULL OR (i.base IS NULL AND i.presence = 'Listed'))",
            |row| text_of(row, known(&row.get::<_, String>(7)?, CANVASES), Wording::Elements),
            &mut each,
        )?;
        self.gather(
            "SELECT id, NULL, coalesce(name, ''), coalesce(file, missing) FROM items
             WHERE kind = 'file' AND presence IS NOT 'Gone' AND (id IS NOT NULL OR file IS NOT NULL)",
            |row| named(row, "file"),
            &mut each,
        )?;
        Ok(())
    }

    fn gather(
        &self,
        sql: &str,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<Searchable>,
        each: &mut impl FnMut(Searchable),
    ) -> Result<(), StoreError> {
        let mut query = self.store().db.prepare_cached(sql)?;
        let rows = query.query_map([], |row| read(row))?;
        for row in rows {
            each(row?);
        }
        Ok(())
    }

    /// The JSON of blocks or elements; `None` if they are not stored.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn wording(&self, wording: &Wording) -> Result<Option<String>, StoreError> {
        let (sql, hash) = match wording {
            Wording::Blocks(hash) => ("SELECT json FROM bodies WHERE hash = ?1", hash),
            Wording::Elements(hash) => ("SELECT json FROM elements WHERE hash = ?1", hash),
            Wording::None | Wording::File(_) => return Ok(None),
        };
        Ok(self.store().db.prepare_cached(sql)?.query_row([hash], |row| row.get(0)).optional()?)
    }

    /// Starts a snapshot: from the first read on, all reads see the same state, even if a daemon writes meanwhile.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn hold(&self) -> Result<(), StoreError> {
        Ok(self.store().db.execute_batch("BEGIN")?)
    }

    /// The folder of each workspace, by its id.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn workspace_folders(&self) -> Result<Vec<(String, String)>, StoreError> {
        let mut query = self.store().db.prepare_cached("SELECT id, folder FROM workspaces")?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The names of the workspaces, by id.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn workspace_names(&self) -> Result<std::collections::BTreeMap<String, String>, StoreError> {
        let mut query =
            self.store().db.prepare_cached("SELECT id, name FROM workspaces WHERE present ORDER BY name")?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// A page or a canvas.
fn text_of(row: &Row<'_>, kind: &'static str, base: fn(Vec<u8>) -> Wording) -> rusqlite::Result<Searchable> {
    let (agreed, agreed_text): (Option<Vec<u8>>, Option<Vec<u8>>) = (row.get(4)?, row.get(5)?);
    let held: Option<Vec<u8>> = row.get(6)?;
    let is_edited = held.is_some() && held != agreed_text;
    let text = match (agreed, held) {
        (_, Some(held)) if is_edited => Wording::File(held),
        (Some(agreed), _) => base(agreed),
        _ => Wording::None,
    };
    Ok(Searchable {
        kind,
        id: row.get(0)?,
        workspace: row.get(1)?,
        title: row.get(2)?,
        path: row.get(3)?,
        text,
    })
}

fn named(row: &Row<'_>, kind: &'static str) -> rusqlite::Result<Searchable> {
    Ok(Searchable {
        kind,
        id: row.get(0)?,
        workspace: row.get(1)?,
        title: row.get(2)?,
        path: row.get(3)?,
        text: Wording::None,
    })
}

#[cfg(test)]
mod tests {
    use rusqlite::params_from_iter;
    use rusqlite::types::Value;

    use super::*;
    use crate::store::Store;
    use crate::store::rows::upsert;

    /// One row of each table that a search covers, and a second row for tables with two ways to be found.
    const ROWS: [&str; 4] = [
        "INSERT INTO workspaces VALUES ('w', 'Team', 'team', 'ADMIN', 0, 'Team', 1, 5, 0, '', NULL)",
        "INSERT INTO pages (id, workspace, remote_title, remote_position, remote_presence, base_body, base_text, file,
            approved, first_seen, poll_last, poll_life, poll_changes, poll_changes_at, poll_gap)
            VALUES ('p', 'w', 'Plan', 1.0, 0, x'01', x'02', 'Team/Pages/Plan.md', 0, 5, 5, 5, 1.0, 5, 5)",
        "INSERT INTO files VALUES ('Team/Pages/Plan.md', 'p', 1, 2, 3, 4, 5, 6, x'02', NULL, NULL, 'Plan', NULL, 0, NULL)",
        "INSERT INTO files VALUES ('Team/Pages/New.md', NULL, 1, 7, 3, 4, 5, 6, x'03', NULL, NULL, NULL, NULL, 0, NULL)",
    ];

    fn found(state: &ReadOnly) -> (Vec<Searchable>, Vec<(String, String)>) {
        let mut all = Vec::new();
        state.searchable(|one| all.push(one)).unwrap();
        (all, state.workspace_folders().unwrap())
    }

    /// Another value that the column can have.
    fn other(value: &Value) -> Value {
        match value {
            Value::Null => Value::Text("other".to_owned()),
            Value::Integer(number) => Value::Integer(number + 2),
            Value::Real(number) => Value::Real(number + 1.0),
            Value::Text(text) => Value::Text(format!("{text}2")),
            Value::Blob(bytes) => Value::Blob([bytes.as_slice(), &[9]].concat()),
        }
    }

    #[test]
    fn the_mark_is_another_whenever_something_else_would_be_found() {
        let state = ReadOnly(Store::in_memory().unwrap());
        let db = &state.store().db;
        assert_eq!(state.searchable_mark().unwrap(), None);
        for row in ROWS {
            db.execute_batch(row).unwrap();
        }
        let mut kept = 0;
        let tables = ROWS.map(|row| row.split_whitespace().nth(2).unwrap());
        for (at, table) in tables.iter().enumerate() {
            let place = tables[..at].iter().filter(|other| *other == table).count();
            let query = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let names = query.column_names().collect::<Vec<_>>().join(" ");
            drop(query);
            let columns = names.split(' ').count();
            let slots: Vec<String> = (1..=columns).map(|at| format!("?{at}")).collect();
            let save = match *table {
                "pages" | "files" => upsert(table, &names),
                _ => format!("INSERT OR REPLACE INTO {table} VALUES ({})", slots.join(",")),
            };
            for column in 0..columns {
                let row: Vec<Value> = db
                    .query_row(&format!("SELECT * FROM {table} LIMIT 1 OFFSET {place}"), [], |row| {
                        (0..columns).map(|at| row.get(at)).collect()
                    })
                    .unwrap();
                let mut changed = row.clone();
                changed[column] = other(&row[column]);
                let (before, mark) = (found(&state), state.searchable_mark().unwrap());
                assert!(mark.is_some());
                db.execute(&save, params_from_iter(row.iter())).unwrap();
                assert_eq!(state.searchable_mark().unwrap(), mark, "{table}: saved as it is");
                db.execute(&save, params_from_iter(changed)).unwrap();
                let is_same = state.searchable_mark().unwrap() == mark;
                kept += usize::from(is_same);
                assert!(!is_same || found(&state) == before, "{table}, column {column}");
                let mark = state.searchable_mark().unwrap();
                let before = found(&state);
                db.execute(&save, params_from_iter(row)).unwrap();
                assert!(
                    state.searchable_mark().unwrap() != mark || found(&state) == before,
                    "{table}, {column}"
                );
            }
            let mark = state.searchable_mark().unwrap();
            assert!(db.execute(&format!("DELETE FROM {table}"), []).unwrap() > 0);
            assert_ne!(state.searchable_mark().unwrap(), mark, "{table}: all gone");
            for row in ROWS {
                db.execute_batch(&row.replace("INSERT", "INSERT OR IGNORE")).unwrap();
            }
        }
        // Polling, sizes, places: the values of most columns cannot be found.
        assert!(kept > 50, "{kept}");
    }
}
