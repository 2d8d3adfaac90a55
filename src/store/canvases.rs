//! What is stored for canvases besides their items: elements, deleted elements, generated files; and the view of all canvases for
//! programs that only read the state.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, params};
use serde_json::Value;

use super::rows::{hash, page_id, path, stamp_of};
use super::{ItemRow, ReadOnly, Store, StoreError};
use crate::model::{
    CanvasId, ContentHash, DeckId, Elements, MirrorPath, PageId, Stamp, Timestamp, elements_hash,
    elements_json,
};

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
    /// The id of its slide, if it stood on one.
    pub slide: Option<String>,
    /// The whole element.
    pub element: Value,
}

fn json(text: &str) -> Result<Value, StoreError> {
    serde_json::from_str(text).map_err(|_| StoreError::Row("JSON value"))
}

impl Store {
    /// Stores elements, once for all equal ones, and returns their hash.
    pub fn keep_elements(&mut self, elements: &[Value]) -> ContentHash {
        let hash = elements_hash(elements);
        self.write(
            "INSERT OR IGNORE INTO elements VALUES (?1, ?2)",
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
            .prepare_cached("SELECT json FROM elements WHERE hash = ?1")?
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
        let sql = "DELETE FROM elements WHERE hash NOT IN (
            SELECT unhex(remote) FROM items WHERE remote IS NOT NULL
            UNION SELECT unhex(base) FROM items WHERE base IS NOT NULL
            UNION SELECT unhex(part.value ->> 1) FROM items, json_each(items.json, '$.written') AS write,
                json_each(write.value, '$.before') AS part WHERE part.value ->> 1 IS NOT NULL
            UNION SELECT unhex(json_extract(json, '$.deed.Write.content')) FROM journal
                WHERE json_extract(json, '$.deed.Write.content') IS NOT NULL)";
        self.write(sql, []);
    }

    /// The generated files of dashboards, by path.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn drawn(&self) -> Result<BTreeMap<MirrorPath, Drawn>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT * FROM drawn")?;
        let rows = query.query_and_then([], |row| {
            let (source, hash, stamp) = (hash(row, "source")?, hash(row, "hash")?, stamp_of(row, "size")?);
            Ok((path(&row.get::<_, String>("path")?)?, Drawn { source, hash, stamp }))
        })?;
        rows.collect()
    }

    /// Stores a generated file, or deletes it.
    pub fn save_drawn(&mut self, path: &MirrorPath, drawn: Option<Drawn>) {
        let Some(Drawn { source, hash, stamp }) = drawn else {
            return self.write("DELETE FROM drawn WHERE path = ?1", [path.as_str()]);
        };
        let [device, inode, size, modified, changed, born] = stamp.into();
        self.write(
            "INSERT OR REPLACE INTO drawn VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
            params![path.as_str(), source.0, hash.0, device, inode, size, modified, changed, born],
        );
    }

    /// Stores an element before its permanent deletion, or without a path that of a canvas that is gone: it is not restored
    /// into a file, but its node in a file that comes back keeps its type and style ([`buried`](Self::buried)).
    pub fn bury(&mut self, canvas: &CanvasId, path: Option<&MirrorPath>, element: &Value, at: Timestamp) {
        let (deck, own) = (canvas.deck().map_or("", DeckId::as_str), canvas.own_id());
        let id = crate::model::id_of(element);
        // One that was deleted before its canvas can still be restored.
        let sql = match path {
            Some(_) => "INSERT OR REPLACE INTO graves VALUES (?1,?2,?3,?4,?5,?6)",
            None => "INSERT OR IGNORE INTO graves VALUES (?1,?2,?3,?4,?5,?6)",
        };
        let path = path.map_or("", MirrorPath::as_str);
        self.write(sql, params![deck, own, id, at.0, path, element.to_string()]);
    }

    /// The elements that were deleted from the canvas whose file was at `path`, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn graves(&self, path: &MirrorPath) -> Result<Vec<Grave>, StoreError> {
        let sql = "SELECT * FROM graves WHERE path = ?1 ORDER BY at DESC, element";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_and_then([path.as_str()], |row| {
            let is_slide = !row.get::<_, String>("deck")?.is_empty();
            Ok(Grave {
                at: Timestamp(row.get("at")?),
                path: path.clone(),
                slide: Some(row.get::<_, String>("own")?).filter(|_| is_slide),
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
        let sql = "SELECT at, json FROM graves WHERE element = ?1 ORDER BY at DESC LIMIT 1";
        let grave = |row: &Row<'_>| Ok((Timestamp(row.get(0)?), row.get::<_, String>(1)?));
        let found = self.db.prepare_cached(sql)?.query_row([element], grave).optional()?;
        found.map(|(at, text)| Ok((at, json(&text)?))).transpose()
    }

    /// Deletes the elements that were deleted before a time.
    pub fn drop_old_graves(&mut self, before: Timestamp) {
        self.write("DELETE FROM graves WHERE at < ?1", [before.0]);
    }

    /// The magnets of dashboard pages.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn dashboards(&self) -> Result<BTreeMap<PageId, Value>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT page, json FROM dashboards")?;
        let rows = query.query_and_then([], |row| {
            Ok((page_id(&row.get::<_, String>(0)?)?, json(&row.get::<_, String>(1)?)?))
        })?;
        rows.collect()
    }

    /// Stores a page's magnets, or that it has none.
    pub fn save_dashboard(&mut self, page: &PageId, nevera: Option<&Value>) {
        match nevera {
            Some(nevera) => self.write(
                "INSERT OR REPLACE INTO dashboards VALUES (?1, ?2)",
                params![page.as_str(), nevera.to_string()],
            ),
            None => self.write("DELETE FROM dashboards WHERE page = ?1", [page.as_str()]),
        }
    }
}

/// Counts that `status` shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BoardCounts {
    /// Whiteboards whose file and elements have a base.
    pub whiteboards: u64,
    /// Presentations whose file and slides have a base.
    pub presentations: u64,
    /// Slides whose file and elements have a base.
    pub slides: u64,
    /// Whiteboards and slides that the service lists and that are not mirrored yet.
    pub unmirrored: u64,
    /// Whiteboards, slides and new files with a pending change for the other side.
    pub pending: u64,
}

impl ReadOnly {
    /// The counts of whiteboards and presentations for `status`.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn board_counts(&self) -> Result<BoardCounts, StoreError> {
        let mut counts = BoardCounts::default();
        let down = self.down_only()?;
        let is_sent = |row: &ItemRow| {
            let top = row.path.as_deref().and_then(|path| path.split('/').next());
            !down.iter().any(|folder| Some(folder.as_str()) == top)
        };
        (counts.slides, counts.unmirrored) = self.core_slides()?;
        for row in self.canvases()? {
            let mirrored = matches!(row.state, "synced" | "changed" | "deleted" | "problem");
            match row.kind {
                "whiteboard" if row.id.is_some() => counts.whiteboards += u64::from(mirrored),
                "presentation" if row.id.is_some() => counts.presentations += u64::from(mirrored),
                _ => {}
            }
            match row.state {
                "incoming" => counts.unmirrored += 1,
                "changed" | "deleted" | "new" if is_sent(&row) => counts.pending += 1,
                _ => {}
            }
        }
        Ok(counts)
    }

    /// Elements permanently deleted from the canvas whose file is at `path`, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn graves(&self, path: &MirrorPath) -> Result<Vec<Grave>, StoreError> {
        self.store().graves(path)
    }

    /// Whether espejo generates a file: a picture, or the view of a dashboard or a presentation.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn is_drawn(&self, path: &MirrorPath) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM drawn WHERE path = ?1)
            OR EXISTS (SELECT 1 FROM items WHERE json ->> '$.picture.path' = ?1)";
        Ok(self.store().db.prepare_cached(sql)?.query_row([path.as_str()], |row| row.get(0))?)
    }

    /// All whiteboards and presentations, in no order.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn canvases(&self) -> Result<Vec<ItemRow>, StoreError> {
        let apart = self.apart()?;
        let mut rows = self.core_items()?;
        for row in &mut rows {
            if let Some(word) = row.id.as_ref().and_then(|id| apart.get(id)) {
                row.state = word;
            }
        }
        Ok(rows)
    }
}
