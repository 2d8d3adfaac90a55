//! The history: all observed versions of a page, from either side. Contents are stored once, and rows refer to them.
//! This module makes no decisions: the engine decides what a version is, and when its retention ends.

use std::collections::BTreeSet;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rusqlite::{OptionalExtension, Row, params};

use super::rows::optional_page;
use super::{ReadOnly, Store, StoreError};
use crate::model::{ContentHash, MirrorPath, PageId, Timestamp};

/// The place at which a version was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The service showed it.
    Service,
    /// It was read from the file.
    File,
    /// It was merged from both sides' changes and sent.
    Merged,
    /// A conflict copy holds it.
    Copy,
    /// It went to the mirror's trash.
    TrashHere,
    /// It went to the service's trash.
    TrashThere,
}

const SIDES: [Side; 6] =
    [Side::Service, Side::File, Side::Merged, Side::Copy, Side::TrashHere, Side::TrashThere];

/// One version of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Its number: later versions have higher ones, and no number is used twice.
    pub number: i64,
    /// The page; `None` for a file that had no page yet.
    pub page: Option<PageId>,
    /// The time at which it was seen.
    pub at: Timestamp,
    /// The place at which it was seen.
    pub side: Side,
    /// The path of the page's file at that time, if it had one.
    pub path: Option<MirrorPath>,
    /// The page's title at that time.
    pub title: String,
    /// Hash of the body's JSON; `None` if only the text is known.
    pub body: Option<ContentHash>,
    /// Hash of the file's bytes; `None` if the body has all information.
    pub text: Option<ContentHash>,
    /// Whether exactly this text has reached the service.
    pub sent: bool,
}

/// The size of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HistorySize {
    /// The number of versions.
    pub versions: u64,
    /// The compressed size of their contents in bytes.
    pub bytes: u64,
}

const COLUMNS: &str =
    "SELECT v.number, v.page, v.at, v.side, v.path, v.title, b.hash AS body, t.hash AS text, v.sent
    FROM history_versions v LEFT JOIN history_contents b ON b.id = v.body
    LEFT JOIN history_contents t ON t.id = v.text";

impl Store {
    /// Stores some bytes, once for all equal ones, and returns their id in this database.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub(super) fn keep_content(&mut self, bytes: &[u8]) -> Result<i64, StoreError> {
        let hash = ContentHash::of(bytes);
        if let Some(id) = self.content_id(hash)? {
            return Ok(id);
        }
        let packed = deflate(bytes).filter(|packed| packed.len() < bytes.len());
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let db = self.turn()?;
        db.prepare_cached(
            "INSERT INTO history_contents (hash, size, deflated, bytes) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![hash.0, size, packed.is_some(), packed.as_deref().unwrap_or(bytes)])?;
        Ok(db.last_insert_rowid())
    }

    /// Stores the bytes that an act is about to replace, for the act's record.
    pub fn keep_for_undo(&mut self, bytes: &[u8]) {
        let kept = self.keep_content(bytes);
        self.keep_error(kept);
    }

    /// The paths of versions of files that had no page when they were seen.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn pageless_paths(&self) -> Result<BTreeSet<MirrorPath>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT DISTINCT path FROM history_versions WHERE page IS NULL AND path GLOB '*.md'",
        )?;
        let rows = query.query_map([], |row| row.get::<_, String>(0))?;
        rows.filter_map(|path| match path {
            Ok(path) => MirrorPath::new(&path).ok().map(Ok),
            Err(error) => Some(Err(error.into())),
        })
        .collect()
    }

    pub(super) fn content_id(&self, hash: ContentHash) -> Result<Option<i64>, StoreError> {
        Ok(self
            .db
            .prepare_cached("SELECT id FROM history_contents WHERE hash = ?1")?
            .query_row([hash.0], |row| row.get(0))
            .optional()?)
    }

    /// The bytes with this hash, if a version holds them.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses, or when the stored bytes are damaged.
    pub fn content(&self, hash: ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        let found: Option<(bool, i64, Vec<u8>)> = self
            .db
            .prepare_cached("SELECT deflated, size, bytes FROM history_contents WHERE hash = ?1")?
            .query_row([hash.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((deflated, size, bytes)) = found else { return Ok(None) };
        let bytes = if deflated { inflate(&bytes, size.unsigned_abs()) } else { Some(bytes) };
        match bytes.filter(|bytes| ContentHash::of(bytes) == hash) {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(StoreError::Row("version in the history")),
        }
    }

    /// The version last read from the file of this page, or from a file at this path that has no page yet.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn last_text(
        &self,
        page: Option<&PageId>,
        path: &MirrorPath,
    ) -> Result<Option<ContentHash>, StoreError> {
        let (sql, key) = match page {
            Some(page) => (
                "SELECT c.hash FROM history_versions v JOIN history_contents c ON c.id = v.text
                 WHERE v.page = ?1 AND v.side = 1 ORDER BY v.number DESC LIMIT 1",
                page.as_str(),
            ),
            None => (
                "SELECT c.hash FROM history_versions v JOIN history_contents c ON c.id = v.text
                 WHERE v.path = ?1 AND v.page IS NULL ORDER BY v.number DESC LIMIT 1",
                path.as_str(),
            ),
        };
        self.one_hash(sql, key)
    }

    /// The hash of the last body of a page in the history.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn last_body(&self, page: &PageId) -> Result<Option<ContentHash>, StoreError> {
        let sql = "SELECT c.hash FROM history_versions v JOIN history_contents c ON c.id = v.body
                   WHERE v.page = ?1 ORDER BY v.number DESC LIMIT 1";
        self.one_hash(sql, page.as_str())
    }

    fn one_hash(&self, sql: &str, key: &str) -> Result<Option<ContentHash>, StoreError> {
        let hash: Option<Vec<u8>> =
            self.db.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?;
        Ok(hash.and_then(|bytes| ContentHash::from_slice(&bytes)))
    }

    /// Adds a version. The given `body` and `text` are stored; if they are absent, those that `version` refers to are
    /// used, provided that they are stored.
    pub fn add_version(&mut self, version: &Version, body: Option<&[u8]>, text: Option<&[u8]>) {
        let body = self.keep_or_find(body, version.body);
        let text = self.keep_or_find(text, version.text);
        if body.is_none() && text.is_none() {
            return;
        }
        self.write(
            "INSERT INTO history_versions (page, at, side, path, title, body, text, sent)
             VALUES (?1,?2,?3,?4,?5,?6,?7,?8)",
            params![
                version.page.as_ref().map(PageId::as_str),
                version.at.0,
                side_number(version.side),
                version.path.as_ref().map(MirrorPath::as_str),
                version.title,
                body,
                text,
                version.sent,
            ],
        );
    }

    pub(super) fn keep_or_find(&mut self, bytes: Option<&[u8]>, hash: Option<ContentHash>) -> Option<i64> {
        let id = match (bytes, hash) {
            (Some(bytes), _) => self.keep_content(bytes).map(Some),
            (None, Some(hash)) => self.content_id(hash),
            (None, None) => Ok(None),
        };
        self.keep_error(id).flatten()
    }

    /// Marks the file's version of this text as sent with this body. Returns `false` if there is no such version.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn mark_sent(&mut self, page: &PageId, text: ContentHash, json: &[u8]) -> Result<bool, StoreError> {
        let Some(text) = self.content_id(text)? else { return Ok(false) };
        let body = self.keep_content(json)?;
        let rows = self
            .turn()?
            .prepare_cached(
                "UPDATE history_versions SET sent = 1, body = ?3 WHERE number =
                 (SELECT max(number) FROM history_versions WHERE page = ?1 AND text = ?2 AND side = 1)",
            )?
            .execute(params![page.as_str(), text, body])?;
        Ok(rows > 0)
    }

    /// Records the text that was written to the file for the last version of a page with this body, by its hash.
    pub fn note_written(&mut self, page: &PageId, body: ContentHash, text: ContentHash) {
        let Some(body) = self.keep_or_find(None, Some(body)) else { return };
        self.write(
            "UPDATE history_versions SET wrote = ?3 WHERE number =
             (SELECT max(number) FROM history_versions WHERE page = ?1 AND body = ?2)",
            params![page.as_str(), body, text.0],
        );
    }

    /// The last text of a page's file that reached the service, and the body that it had there.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn last_sent(&self, page: &PageId) -> Result<Option<(ContentHash, ContentHash)>, StoreError> {
        let hashes = self
            .db
            .prepare_cached(
                "SELECT t.hash, b.hash FROM history_versions v
                 JOIN history_contents t ON t.id = v.text JOIN history_contents b ON b.id = v.body
                 WHERE v.page = ?1 AND v.side = 1 AND v.sent ORDER BY v.number DESC LIMIT 1",
            )?
            .query_row([page.as_str()], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?)))
            .optional()?;
        let Some((text, body)) = hashes else { return Ok(None) };
        Ok(ContentHash::from_slice(&text).zip(ContentHash::from_slice(&body)))
    }

    /// Whether the page's file held this text before a time, as far back as the history goes.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn has_held(&self, page: &PageId, text: ContentHash, before: Timestamp) -> Result<bool, StoreError> {
        let id = self.content_id(text)?;
        Ok(self
            .db
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM history_versions WHERE page = ?1
                 AND at < ?4 AND (text = ?2 OR wrote = ?3))",
            )?
            .query_row(params![page.as_str(), id, text.0, before.0], |row| row.get(0))?)
    }

    /// Assigns the earlier versions of a file to its new page.
    pub fn claim_versions(&mut self, path: &MirrorPath, page: &PageId) {
        let any = "SELECT EXISTS (SELECT 1 FROM history_versions WHERE path = ?1 AND page IS NULL)";
        if self.finds(any, [path.as_str()]) {
            self.write(
                "UPDATE history_versions SET page = ?2 WHERE path = ?1 AND page IS NULL",
                [path.as_str(), page.as_str()],
            );
        }
    }

    /// The versions of a page, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn versions_of(&self, page: &PageId) -> Result<Vec<Version>, StoreError> {
        self.versions("v.page = ?1", params![page.as_str()])
    }

    /// The versions of all items that were at this path, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn versions_at(&self, path: &MirrorPath) -> Result<Vec<Version>, StoreError> {
        self.versions("v.path = ?1", params![path.as_str()])
    }

    /// The newest version of each page, and of each file without a page, that is no newer than `at`; without conflict
    /// copies and canvases. It reads the whole history.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn versions_as_of(&self, at: Timestamp) -> Result<Vec<Version>, StoreError> {
        let newest = "v.number IN (SELECT max(number) FROM history_versions WHERE at <= ?1 AND side <> ?2
                      AND ifnull(path, '') NOT GLOB '*.canvas' GROUP BY coalesce(page, path))";
        self.versions(newest, params![at.0, side_number(Side::Copy)])
    }

    /// All versions that went to a trash, of either side.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn trashed_versions(&self) -> Result<Vec<Version>, StoreError> {
        let sides = params![side_number(Side::TrashHere), side_number(Side::TrashThere)];
        self.versions("v.side IN (?1, ?2)", sides)
    }

    /// Whether the history has a page beneath this folder.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn is_above_versions(&self, folder: &MirrorPath) -> Result<bool, StoreError> {
        // '0' is the character after '/'.
        let beneath =
            "SELECT EXISTS (SELECT 1 FROM history_versions WHERE path >= ?1 || '/' AND path < ?1 || '0')";
        Ok(self.db.prepare_cached(beneath)?.query_row([folder.as_str()], |row| row.get(0))?)
    }

    pub(super) fn versions(
        &self,
        filter: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<Version>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{COLUMNS} WHERE {filter} ORDER BY v.number"))?;
        let rows = query.query_and_then(values, version_of)?;
        rows.collect()
    }

    /// Stores the exact body that a text stands for, for a later read of this text from a file.
    pub fn keep_meaning(&mut self, text: ContentHash, json: &[u8], at: Timestamp) {
        let body = self.keep_or_find(Some(json), None);
        self.write(
            "INSERT OR REPLACE INTO history_meanings VALUES (?1, ?2, ?3)",
            params![text.0, body, at.0],
        );
    }

    /// The JSON of the body that was stored for a text.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn meaning_of(&self, text: ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        let hash: Option<Vec<u8>> = self
            .db
            .prepare_cached(
                "SELECT c.hash FROM history_meanings m JOIN history_contents c ON c.id = m.body
                 WHERE m.text = ?1",
            )?
            .query_row([text.0], |row| row.get(0))
            .optional()?;
        match hash.and_then(|bytes| ContentHash::from_slice(&bytes)) {
            Some(hash) => self.content(hash),
            None => Ok(None),
        }
    }

    /// Deletes versions older than a time, except the newest of each page, and at most `most` of them. Returns their
    /// number.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn purge_history(&mut self, before: Timestamp, most: usize) -> Result<usize, StoreError> {
        let over: Vec<(i64, Option<i64>, Option<i64>)> = self
            .db
            .prepare_cached(
                "SELECT number, body, text FROM history_versions v WHERE at < ?1 AND number <
                   (SELECT max(number) FROM history_versions n WHERE n.page IS v.page
                     AND (n.page IS NOT NULL OR n.path IS v.path))
                 ORDER BY number LIMIT ?2",
            )?
            .query_map(params![before.0, i64::try_from(most).unwrap_or(i64::MAX)], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<Result<_, _>>()?;
        let meanings: Vec<(Vec<u8>, i64)> = self
            .db
            .prepare_cached("SELECT text, body FROM history_meanings WHERE at < ?1")?
            .query_map([before.0], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        if over.is_empty() && meanings.is_empty() {
            return Ok(0);
        }
        let db = self.turn()?;
        let mut delete = db.prepare_cached("DELETE FROM history_versions WHERE number = ?1")?;
        for (number, ..) in &over {
            delete.execute([number])?;
        }
        drop(delete);
        let mut delete = db.prepare_cached("DELETE FROM history_meanings WHERE text = ?1")?;
        for (text, _) in &meanings {
            delete.execute([text])?;
        }
        drop(delete);
        let named = over.iter().flat_map(|(_, body, text)| [*body, *text]).flatten();
        let named: Vec<i64> = named.chain(meanings.into_iter().map(|(_, body)| body)).collect();
        self.drop_orphans(&named)?;
        Ok(over.len())
    }

    /// Deletes those of these contents that nothing refers to any more.
    pub(super) fn drop_orphans(&mut self, contents: &[i64]) -> Result<(), StoreError> {
        if contents.is_empty() {
            return Ok(());
        }
        let mut delete = self.turn()?.prepare_cached(
            "DELETE FROM history_contents WHERE id = ?1
             AND NOT EXISTS (SELECT 1 FROM history_versions WHERE body = ?1)
             AND NOT EXISTS (SELECT 1 FROM history_versions WHERE text = ?1)
             AND NOT EXISTS (SELECT 1 FROM history_meanings WHERE body = ?1)
             AND NOT EXISTS (SELECT 1 FROM history_acts WHERE ?1 IN (body_before, body_after, text_before))",
        )?;
        for id in contents {
            delete.execute([id])?;
        }
        Ok(())
    }

    /// Deletes all contents that nothing refers to, such as those stored for an act that a kill prevented.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn drop_unused_contents(&mut self) -> Result<usize, StoreError> {
        let named = "SELECT body FROM history_versions UNION SELECT text FROM history_versions
            UNION SELECT body FROM history_meanings UNION SELECT body_before FROM history_acts
            UNION SELECT body_after FROM history_acts UNION SELECT text_before FROM history_acts";
        let sql = format!(
            "SELECT id FROM history_contents WHERE id NOT IN (SELECT * FROM ({named}) WHERE body NOT NULL)"
        );
        let unused: Vec<i64> =
            self.db.prepare_cached(&sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        self.drop_orphans(&unused)?;
        Ok(unused.len())
    }

    /// The size of the history.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn history_size(&self) -> Result<HistorySize, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM history_versions),
                          (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'history_bytes')";
        Ok(self.db.prepare_cached(sql)?.query_row([], |row| {
            let number = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
            Ok(HistorySize { versions: number(0)?, bytes: number(1)? })
        })?)
    }
}

impl ReadOnly {
    /// The store, for its reading methods; it cannot be written through this reference.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.0
    }
}

fn version_of(row: &Row<'_>) -> Result<Version, StoreError> {
    let hash = |column| -> Result<Option<ContentHash>, StoreError> {
        let bytes: Option<Vec<u8>> = row.get(column)?;
        bytes
            .map(|bytes| ContentHash::from_slice(&bytes).ok_or(StoreError::Row("version in the history")))
            .transpose()
    };
    let path: Option<String> = row.get("path")?;
    let side = usize::try_from(row.get::<_, i64>("side")?).ok().and_then(|at| SIDES.get(at));
    Ok(Version {
        number: row.get("number")?,
        page: optional_page(row, "page")?,
        at: Timestamp(row.get("at")?),
        side: *side.ok_or(StoreError::Row("version in the history"))?,
        path: path.as_deref().and_then(|path| MirrorPath::new(path).ok()),
        title: row.get("title")?,
        body: hash("body")?,
        text: hash("text")?,
        sent: row.get("sent")?,
    })
}

pub(super) fn side_number(side: Side) -> i64 {
    SIDES.iter().position(|one| *one == side).and_then(|at| i64::try_from(at).ok()).unwrap_or(0)
}

fn deflate(bytes: &[u8]) -> Option<Vec<u8>> {
    // A write into memory cannot fail; if it did, the bytes would be stored uncompressed.
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::default());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

/// `None` for damaged bytes, and for bytes that are longer than the stored size.
fn inflate(packed: &[u8], size: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).min(1 << 26));
    ZlibDecoder::new(packed).take(size + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == size).then_some(bytes)
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
