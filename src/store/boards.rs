//! Rows of whiteboards, presentations and slides: the `board_*` tables. The engine gives them their meaning.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, params};
use serde_json::Value;

use super::rows::{
    hash, optional_hash, path, poll_of, presence_number, presence_of, problem_of, rest_of, stamp_of, table,
    workspace_id,
};
use super::{Polled, Store, StoreError};
use crate::model::{
    BoardId, CanvasAgreed, CanvasFile, CanvasId, CanvasNode, ContentHash, Deck, DeckId, DeckNode, Elements,
    MirrorPath, PageId, Problem, SlideId, Stamp, Timestamp, elements_hash, elements_json,
};

/// The stored state of all canvases.
#[derive(Debug, Default)]
pub struct LoadedBoards {
    /// Presentations by id.
    pub decks: BTreeMap<DeckId, DeckNode>,
    /// Whiteboards and slides by id.
    pub canvases: BTreeMap<CanvasId, CanvasNode>,
    /// Canvas files by path.
    pub files: BTreeMap<MirrorPath, CanvasFile>,
    /// For each canvas, the element that a node id of its file stands for.
    pub names: BTreeMap<CanvasId, BTreeMap<String, String>>,
    /// Pending writes to canvas files.
    pub writing: BTreeMap<CanvasId, PendingCanvasWrite>,
    /// Generated files by path.
    pub drawn: BTreeMap<MirrorPath, Drawn>,
    /// Magnets by page.
    pub dashboards: BTreeMap<PageId, Value>,
}

/// A pending write of a text to a canvas file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingCanvasWrite {
    /// Hash of the file's new content.
    pub text: ContentHash,
    /// Hash of the elements of the new base.
    pub elements: ContentHash,
    /// Whether the text states exactly these elements, without edits that are still to be sent.
    pub whole: bool,
}

/// A generated file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// Hash of the source.
    pub source: ContentHash,
    /// Hash of the written bytes.
    pub hash: ContentHash,
    /// Its metadata after the write.
    pub stamp: Stamp,
}

/// An element as it was before its permanent deletion.
#[derive(Debug, Clone, PartialEq)]
pub struct Grave {
    /// The time.
    pub at: Timestamp,
    /// The path of the canvas file.
    pub path: MirrorPath,
    /// The whole element.
    pub element: Value,
}

pub(super) fn keys(canvas: &CanvasId) -> (&str, &str) {
    (canvas.deck().map_or("", DeckId::as_str), canvas.own_id())
}

fn canvas_id(deck: &str, own: &str) -> Result<CanvasId, StoreError> {
    let bad = |_| StoreError::Row("canvas id");
    if deck.is_empty() {
        return BoardId::new(own).map(CanvasId::Board).map_err(bad);
    }
    Ok(CanvasId::Slide(DeckId::new(deck).map_err(bad)?, SlideId::new(own).map_err(bad)?))
}

fn canvas_of(row: &Row<'_>) -> Result<CanvasId, StoreError> {
    canvas_id(&row.get::<_, String>("deck")?, &row.get::<_, String>("own")?)
}

fn json(text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::Row("JSON value"))
}

impl Store {
    /// Reads the state of all canvases.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn load_boards(&mut self) -> Result<LoadedBoards, StoreError> {
        if let Some(loaded) = self.checked.boards.take() {
            return Ok(loaded);
        }
        let db = &self.db;
        let mut all = LoadedBoards {
            decks: table(db, "SELECT * FROM board_decks", deck_of, |node| node.seen.id.clone())?,
            canvases: table(db, "SELECT * FROM board_canvases", node_of, |node| node.id.clone())?,
            files: table(db, "SELECT * FROM board_files", file_of, |file| file.path.clone())?,
            ..LoadedBoards::default()
        };
        let mut query = self.db.prepare_cached("SELECT * FROM board_names")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            all.names.entry(canvas_of(row)?).or_default().insert(row.get("node")?, row.get("element")?);
        }
        let mut query = self.db.prepare_cached("SELECT * FROM board_writing")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (text, elements) = (hash(row, "text")?, hash(row, "elements")?);
            let writing = PendingCanvasWrite { text, elements, whole: row.get("whole")? };
            all.writing.insert(canvas_of(row)?, writing);
        }
        let mut query = self.db.prepare_cached("SELECT * FROM board_drawn")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let drawn = Drawn {
                source: hash(row, "source")?,
                hash: hash(row, "hash")?,
                stamp: stamp_of(row, "size")?,
            };
            all.drawn.insert(path(&row.get::<_, String>("path")?)?, drawn);
        }
        let mut query = self.db.prepare_cached("SELECT * FROM board_dashboards")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let page = super::rows::page_id(&row.get::<_, String>("page")?)?;
            all.dashboards.insert(page, json(&row.get::<_, String>("json")?)?);
        }
        Ok(all)
    }

    /// Writes one presentation.
    pub fn save_deck(&mut self, node: &DeckNode) {
        self.write(
            "INSERT OR REPLACE INTO board_decks VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)",
            params![
                node.seen.id.as_str(),
                node.seen.name,
                node.seen.width,
                node.seen.height,
                presence_number(node.presence),
                node.folder,
                node.named,
                node.listed_at.0,
                node.missing_since.map(|at| at.0),
                node.blank,
                node.approved,
                node.seen.rest.text(),
            ],
        );
    }

    /// Deletes one presentation.
    pub fn delete_deck(&mut self, id: &DeckId) {
        self.write("DELETE FROM board_decks WHERE id = ?1", [id.as_str()]);
    }

    /// Writes one canvas.
    pub fn save_canvas(&mut self, node: &CanvasNode) {
        self.save_no_poll(Polled::Canvas(&node.id));
        let (deck, own) = keys(&node.id);
        let base = node.base.as_ref();
        self.write(
            "INSERT OR REPLACE INTO board_canvases VALUES \
                 (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21)",
            params![
                deck,
                own,
                node.workspace.as_ref().map(|id| id.as_str()),
                node.name,
                i64::try_from(node.order).unwrap_or(i64::MAX),
                node.background.to_string(),
                presence_number(node.presence),
                node.remote.map(|h| h.0),
                base.map(|base| base.elements.0),
                base.and_then(|base| base.text).map(|h| h.0),
                base.map(|base| base.name.as_str()),
                node.file.as_ref().map(MirrorPath::as_str),
                node.missing_since.map(|at| at.0),
                node.approved,
                node.poll.last.0,
                node.poll.life.0,
                node.poll.changes,
                node.poll.changes_at.0,
                node.poll.gap_ms,
                node.rest.text(),
                node.missing_from.as_ref().map(MirrorPath::as_str),
            ],
        );
    }

    /// Deletes one canvas and its dependent rows; its deleted elements stay, so that they can be restored.
    pub fn delete_canvas(&mut self, id: &CanvasId) {
        let (deck, own) = keys(id);
        for table in ["board_canvases", "board_names", "board_writing"] {
            self.write(&format!("DELETE FROM {table} WHERE deck = ?1 AND own = ?2"), [deck, own]);
        }
    }

    /// Writes one canvas file.
    pub fn save_canvas_file(&mut self, file: &CanvasFile) {
        let (deck, own) = file.canvas.as_ref().map(keys).unzip();
        let (problem, problem_with) = file.problem.as_ref().map(Problem::to_row).unzip();
        let [device, inode, size, modified, changed, born] = file.stamp.into();
        self.write(
            "INSERT OR REPLACE INTO board_files VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)",
            params![
                file.path.as_str(),
                deck,
                own,
                device,
                inode,
                size,
                modified,
                changed,
                born,
                file.hash.map(|h| h.0),
                problem,
                file.racy,
                problem_with,
            ],
        );
    }

    /// Deletes one canvas file.
    pub fn delete_canvas_file(&mut self, path: &MirrorPath) {
        self.write("DELETE FROM board_files WHERE path = ?1", [path.as_str()]);
    }

    /// Stores elements, once for all equal ones, and returns their hash.
    pub fn keep_elements(&mut self, elements: &[Value]) -> ContentHash {
        let hash = elements_hash(elements);
        self.write(
            "INSERT OR IGNORE INTO board_elements VALUES (?1, ?2)",
            params![hash.0, elements_json(elements)],
        );
        hash
    }

    /// The stored elements with this hash; empty if they are not stored.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses or the row is no list.
    pub fn elements(&self, hash: ContentHash) -> Result<Elements, StoreError> {
        let text: Option<String> = self
            .db
            .prepare_cached("SELECT json FROM board_elements WHERE hash = ?1")?
            .query_row([hash.0], |row| row.get(0))
            .optional()?;
        match text.as_deref().map(json).transpose()? {
            None => Ok(Elements::new()),
            Some(Value::Array(elements)) => Ok(elements),
            Some(_) => Err(StoreError::Row("list of elements")),
        }
    }

    /// Deletes elements that no row refers to any more.
    pub fn drop_unused_elements(&mut self) {
        let sql = "DELETE FROM board_elements WHERE hash NOT IN (
            SELECT remote FROM board_canvases WHERE remote IS NOT NULL
            UNION SELECT base_elements FROM board_canvases WHERE base_elements IS NOT NULL
            UNION SELECT elements FROM board_writing
            UNION SELECT unhex(remote) FROM items WHERE remote IS NOT NULL
            UNION SELECT unhex(base) FROM items WHERE base IS NOT NULL
            UNION SELECT unhex(json_extract(json, '$.deed.Write.content')) FROM journal
                WHERE json_extract(json, '$.deed.Write.content') IS NOT NULL)";
        self.write(sql, []);
    }

    /// Stores the element that a node id of a canvas's file stands for.
    pub fn save_name(&mut self, canvas: &CanvasId, node: &str, element: &str) {
        let (deck, own) = keys(canvas);
        self.write("INSERT OR REPLACE INTO board_names VALUES (?1,?2,?3,?4)", [deck, own, node, element]);
    }

    /// Stores a pending write to a canvas file before it is made, or deletes it.
    pub fn save_canvas_writing(&mut self, canvas: &CanvasId, writing: Option<PendingCanvasWrite>) {
        let (deck, own) = keys(canvas);
        match writing {
            Some(PendingCanvasWrite { text, elements, whole }) => self.write(
                "INSERT OR REPLACE INTO board_writing VALUES (?1,?2,?3,?4,?5)",
                params![deck, own, text.0, elements.0, whole],
            ),
            None => self.write("DELETE FROM board_writing WHERE deck = ?1 AND own = ?2", [deck, own]),
        }
    }

    /// Stores a generated file, or deletes it.
    pub fn save_drawn(&mut self, path: &MirrorPath, drawn: Option<Drawn>) {
        let Some(Drawn { source, hash, stamp }) = drawn else {
            return self.write("DELETE FROM board_drawn WHERE path = ?1", [path.as_str()]);
        };
        let [device, inode, size, modified, changed, born] = stamp.into();
        self.write(
            "INSERT OR REPLACE INTO board_drawn VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
            params![path.as_str(), source.0, hash.0, device, inode, size, modified, changed, born],
        );
    }

    /// Stores an element before its permanent deletion, or without a path that of a canvas that is gone: it is not restored
    /// into a file, but its node in a file that comes back keeps its type and style ([`buried`](Self::buried)).
    pub fn bury(&mut self, canvas: &CanvasId, path: Option<&MirrorPath>, element: &Value, at: Timestamp) {
        let (deck, own) = keys(canvas);
        let id = crate::model::id_of(element);
        // One that was deleted before its canvas can still be restored.
        let sql = match path {
            Some(_) => "INSERT OR REPLACE INTO board_graves VALUES (?1,?2,?3,?4,?5,?6)",
            None => "INSERT OR IGNORE INTO board_graves VALUES (?1,?2,?3,?4,?5,?6)",
        };
        let path = path.map_or("", MirrorPath::as_str);
        self.write(sql, params![deck, own, id, at.0, path, element.to_string()]);
    }

    /// The elements that were deleted from the canvas whose file was at `path`, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn graves(&self, path: &MirrorPath) -> Result<Vec<Grave>, StoreError> {
        let sql = "SELECT * FROM board_graves WHERE path = ?1 ORDER BY at DESC, element";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_and_then([path.as_str()], |row| {
            Ok(Grave {
                at: Timestamp(row.get("at")?),
                path: path.clone(),
                element: json(&row.get::<_, String>("json")?)?,
            })
        })?;
        rows.collect()
    }

    /// The permanently deleted element with this id, if there is one, and when its deletion was requested last.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn buried(&self, element: &str) -> Result<Option<(Timestamp, Value)>, StoreError> {
        let sql = "SELECT at, json FROM board_graves WHERE element = ?1 ORDER BY at DESC LIMIT 1";
        let grave = |row: &Row<'_>| Ok((Timestamp(row.get(0)?), row.get::<_, String>(1)?));
        let found = self.db.prepare_cached(sql)?.query_row([element], grave).optional()?;
        found.map(|(at, text)| Ok((at, json(&text)?))).transpose()
    }

    /// Deletes the elements that were deleted before a time.
    pub fn drop_old_graves(&mut self, before: Timestamp) {
        self.write("DELETE FROM board_graves WHERE at < ?1", [before.0]);
    }

    /// Stores a page's magnets, or that it has none.
    pub fn save_dashboard(&mut self, page: &PageId, nevera: Option<&Value>) {
        match nevera {
            Some(nevera) => self.write(
                "INSERT OR REPLACE INTO board_dashboards VALUES (?1, ?2)",
                params![page.as_str(), nevera.to_string()],
            ),
            None => self.write("DELETE FROM board_dashboards WHERE page = ?1", [page.as_str()]),
        }
    }
}

fn deck_of(row: &Row<'_>) -> Result<DeckNode, StoreError> {
    let id = DeckId::new(&row.get::<_, String>("id")?).map_err(|_| StoreError::Row("presentation id"))?;
    Ok(DeckNode {
        seen: Deck {
            id,
            name: row.get("name")?,
            width: row.get("width")?,
            height: row.get("height")?,
            rest: rest_of(row)?,
        },
        presence: presence_of(row.get("presence")?)?,
        folder: row.get("folder")?,
        named: row.get("named")?,
        listed_at: Timestamp(row.get("listed_at")?),
        missing_since: row.get::<_, Option<i64>>("missing_since")?.map(Timestamp),
        blank: row.get("blank")?,
        approved: row.get("approved")?,
    })
}

fn node_of(row: &Row<'_>) -> Result<CanvasNode, StoreError> {
    let base = match optional_hash(row, "base_elements")? {
        None => None,
        Some(elements) => Some(CanvasAgreed {
            elements,
            text: optional_hash(row, "base_text")?,
            name: row.get::<_, Option<String>>("base_name")?.unwrap_or_default(),
        }),
    };
    Ok(CanvasNode {
        id: canvas_of(row)?,
        workspace: row.get::<_, Option<String>>("workspace")?.as_deref().map(workspace_id).transpose()?,
        name: row.get("name")?,
        rest: rest_of(row)?,
        order: usize::try_from(row.get::<_, i64>("place")?).unwrap_or(0),
        background: json(&row.get::<_, String>("background")?)?,
        presence: presence_of(row.get("presence")?)?,
        remote: optional_hash(row, "remote")?,
        base,
        file: row.get::<_, Option<String>>("file")?.as_deref().map(path).transpose()?,
        missing_since: row.get::<_, Option<i64>>("missing_since")?.map(Timestamp),
        missing_from: row.get::<_, Option<String>>("missing_from")?.as_deref().map(path).transpose()?,
        approved: row.get("approved")?,
        poll: poll_of(row)?,
    })
}

fn file_of(row: &Row<'_>) -> Result<CanvasFile, StoreError> {
    let own: Option<String> = row.get("own")?;
    let deck: Option<String> = row.get("deck")?;
    Ok(CanvasFile {
        path: path(&row.get::<_, String>("path")?)?,
        canvas: own.map(|own| canvas_id(deck.as_deref().unwrap_or_default(), &own)).transpose()?,
        stamp: stamp_of(row, "size")?,
        hash: optional_hash(row, "hash")?,
        problem: problem_of(row)?,
        racy: row.get("racy")?,
    })
}
