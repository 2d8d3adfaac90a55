//! What a search looks through, as the state knows it: every page, canvas and stored file that has a place in the mirror or
//! will have one. Read beside a running daemon.

use rusqlite::{OptionalExtension, Row};

use super::{ReadOnly, StoreError};

/// One thing that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searchable {
    /// `page`, `whiteboard`, `presentation`, `slide` or `file`.
    pub kind: &'static str,
    /// Its id at the service, where it has one.
    pub id: Option<String>,
    /// Its title.
    pub title: String,
    /// Its file or folder.
    pub path: Option<String>,
    /// Its workspace's id.
    pub workspace: Option<String>,
    /// What its text is read from.
    pub text: Wording,
    /// Its file's size and time of change when it was last looked at.
    pub stamp: Option<(u64, i64)>,
}

/// What a text is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wording {
    /// It has none.
    None,
    /// Blocks, by their hash.
    Blocks(Vec<u8>),
    /// Elements, by their hash.
    Elements(Vec<u8>),
    /// Its file, which holds what was not sent yet: by the hash of what it holds.
    File(Vec<u8>),
}

impl ReadOnly {
    /// Gives everything that can be found to `each`. What is in a trash, or was deleted here, is not among it.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn searchable(&self, mut each: impl FnMut(Searchable)) -> Result<(), StoreError> {
        // Of pages without a file only those that are still to come.
        self.gather(
            "SELECT p.id, p.workspace, coalesce(f.front_title, p.remote_title), p.file, p.base_body, p.base_text,
                    f.hash, f.size, f.modified
             FROM pages p LEFT JOIN files f ON f.path = p.file
             WHERE p.file IS NOT NULL OR (p.base_body IS NULL AND p.remote_presence = 0)",
            |row| page_of(row, Wording::Blocks),
            &mut each,
        )?;
        self.gather(
            "SELECT NULL, NULL, '', path, NULL, NULL, hash, size, modified FROM files WHERE page IS NULL",
            |row| page_of(row, Wording::Blocks),
            &mut each,
        )?;
        self.gather(
            "SELECT c.own, c.workspace, iif(c.deck = '', c.name, ''), c.file, c.base_elements, c.base_text, f.hash,
                    f.size, f.modified
             FROM board_canvases c LEFT JOIN board_files f ON f.path = c.file
             WHERE c.file IS NOT NULL OR (c.base_elements IS NULL AND c.presence = 0 AND c.deck = '')",
            |row| page_of(row, Wording::Elements),
            &mut each,
        )?;
        self.gather(
            "SELECT NULL, NULL, '', path, NULL, NULL, hash, size, modified FROM board_files WHERE own IS NULL",
            |row| page_of(row, Wording::Elements),
            &mut each,
        )?;
        self.gather(
            "SELECT id, NULL, name, 'Presentations/' || folder FROM board_decks WHERE presence <> 3",
            |row| named(row, "presentation"),
            &mut each,
        )?;
        self.gather(
            "SELECT id, NULL, filename, base_path FROM storage_files WHERE replaced_by IS NULL AND seen <> 2
             UNION ALL SELECT NULL, NULL, '', path FROM storage_local",
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

    /// The JSON of blocks or elements; `None` where they are not kept.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn wording(&self, wording: &Wording) -> Result<Option<String>, StoreError> {
        let (sql, hash) = match wording {
            Wording::Blocks(hash) => ("SELECT json FROM bodies WHERE hash = ?1", hash),
            Wording::Elements(hash) => ("SELECT json FROM board_elements WHERE hash = ?1", hash),
            Wording::None | Wording::File(_) => return Ok(None),
        };
        Ok(self.store().db.prepare_cached(sql)?.query_row([hash], |row| row.get(0)).optional()?)
    }

    /// From here on every read sees the state as it is at the first of them, whatever a daemon writes meanwhile.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn hold(&self) -> Result<(), StoreError> {
        Ok(self.store().db.execute_batch("BEGIN")?)
    }

    /// The magnets of dashboard pages as they are kept, by the page's id.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn dashboards(&self) -> Result<std::collections::BTreeMap<String, String>, StoreError> {
        let mut query = self.store().db.prepare_cached("SELECT page, json FROM board_dashboards")?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Everything remembered of canvases.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn boards(&mut self) -> Result<super::LoadedBoards, StoreError> {
        self.store_mut().load_boards()
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
fn page_of(row: &Row<'_>, base: fn(Vec<u8>) -> Wording) -> rusqlite::Result<Searchable> {
    let path: Option<String> = row.get(3)?;
    let (agreed, agreed_text): (Option<Vec<u8>>, Option<Vec<u8>>) = (row.get(4)?, row.get(5)?);
    let held: Option<Vec<u8>> = row.get(6)?;
    let is_edited = held.is_some() && held != agreed_text;
    let text = match (agreed, held) {
        (_, Some(held)) if is_edited => Wording::File(held),
        (Some(agreed), _) => base(agreed),
        _ => Wording::None,
    };
    let size: Option<i64> = row.get(7)?;
    let is_canvas = base(Vec::new()) != Wording::Blocks(Vec::new());
    let in_deck = path.as_deref().is_some_and(|path| path.starts_with("Presentations/"));
    Ok(Searchable {
        kind: match (is_canvas, in_deck) {
            (false, _) => "page",
            (true, true) => "slide",
            (true, false) => "whiteboard",
        },
        id: row.get(0)?,
        title: row.get(2)?,
        path,
        workspace: row.get(1)?,
        text,
        stamp: size.map(i64::unsigned_abs).zip(row.get(8)?),
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
        stamp: None,
    })
}
