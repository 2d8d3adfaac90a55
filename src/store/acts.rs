//! The acts of espejo on the disk and at the service, for the log and for undo: the last acts, each with the content
//! before it.

use rusqlite::{Row, params};

use super::rows::optional_page;
use super::{Store, StoreError};
use crate::model::{Body, ContentHash, MirrorPath, PageId, Timestamp};

/// The number of acts that are kept: `log` lists them, `undo` reverts one.
const KEPT: i64 = 2_000;

/// The kind of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActKind {
    /// A page's body was sent.
    Sent,
    /// A page's title was sent; `other` is the old title.
    Retitled,
    /// A page was created for a file.
    Made,
    /// A page (with its subpages) went to the service's trash.
    TrashedThere,
    /// A file was written for a page without a file.
    Written,
    /// A change at the service was written into a file.
    Updated,
    /// A file was renamed because its page was; `other` is the old path.
    Renamed,
    /// A moved file was moved back; `other` is the path that it had been moved to.
    PutBack,
    /// A file went to the mirror's trash because its page was gone.
    TrashedHere,
    /// A conflict copy was made; `other` is its path.
    Copied,
    /// A text was written into a file at the user's request; `other` is the command, where it was not `restore`.
    Restored,
    /// A file's old name was restored at the user's request; `other` is the path before.
    NamedBack,
    /// A change of the user in the folder to a whiteboard, a slide or a stored file; `other` describes it.
    Elsewhere,
    /// A change in the app to a whiteboard, a slide or a stored file; `other` describes it.
    Came,
}

const KINDS: [ActKind; 14] = [
    ActKind::Sent,
    ActKind::Retitled,
    ActKind::Made,
    ActKind::TrashedThere,
    ActKind::Written,
    ActKind::Updated,
    ActKind::Renamed,
    ActKind::PutBack,
    ActKind::TrashedHere,
    ActKind::Copied,
    ActKind::Restored,
    ActKind::NamedBack,
    ActKind::Elsewhere,
    ActKind::Came,
];

/// One act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// Its number; later acts have higher ones.
    pub number: i64,
    /// The time.
    pub at: Timestamp,
    /// Its kind.
    pub kind: ActKind,
    /// The page.
    pub page: Option<PageId>,
    /// The path of the page's file at that time.
    pub path: MirrorPath,
    /// See [`ActKind`].
    pub other: Option<String>,
    /// The body before it.
    pub body_before: Option<ContentHash>,
    /// The body after it.
    pub body_after: Option<ContentHash>,
    /// The file's bytes before it; [`Store::content`] has them.
    pub text_before: Option<ContentHash>,
    /// The file's bytes after it; they show whether the file has changed since.
    pub text_after: Option<ContentHash>,
}

impl Store {
    /// Records an act. A text before it must have been kept; otherwise it is lost.
    pub fn add_act(&mut self, act: &Act) {
        let added = insert(self, act);
        self.keep_error(added);
    }

    /// Records an act about a whiteboard, a slide or a stored file with the next commit: `kind` is
    /// [`ActKind::Elsewhere`] or [`ActKind::Came`]. `texts`: what the file of a canvas said before and after it. What was sent
    /// of one text is one act.
    pub fn note_elsewhere(
        &mut self,
        kind: ActKind,
        path: &MirrorPath,
        what: &str,
        at: Timestamp,
        texts: (Option<ContentHash>, Option<ContentHash>),
    ) {
        self.acts_elsewhere.push(Act {
            number: 0,
            at,
            kind,
            page: None,
            path: path.clone(),
            other: Some(what.to_owned()),
            body_before: None,
            body_after: None,
            text_before: texts.0,
            text_after: texts.1,
        });
    }

    pub(super) fn add_acts_elsewhere(&mut self) -> Result<(), StoreError> {
        for act in std::mem::take(&mut self.acts_elsewhere) {
            if !add_to_last(self, &act)? {
                insert(self, &act)?;
            }
        }
        Ok(())
    }

    fn keep_body_content(&mut self, hash: Option<ContentHash>) -> Result<Option<i64>, StoreError> {
        let Some(hash) = hash else { return Ok(None) };
        if let Some(id) = self.content_id(hash)? {
            return Ok(Some(id));
        }
        let Some(blocks) = self.body(hash)? else { return Ok(None) };
        self.keep_content(Body::json(&blocks).as_bytes()).map(Some)
    }

    /// The last act other than [`ActKind::Came`].
    ///
    /// # Errors
    /// [`StoreError`] when its row cannot be read.
    pub fn last_act(&self) -> Result<Option<Act>, StoreError> {
        Ok(self.acts("kind <> ?1 ORDER BY a.number DESC LIMIT 1", params![number_of(ActKind::Came)])?.pop())
    }

    /// The number of the newest act; 0 if there is none.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn newest_act(&self) -> Result<i64, StoreError> {
        let sql = "SELECT coalesce(max(number), 0) FROM history_acts";
        Ok(self.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    /// The kept acts with a number above this one, newest first.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn acts_after(&self, number: i64) -> Result<Vec<Act>, StoreError> {
        self.acts("a.number > ?1 ORDER BY a.number DESC", params![number])
    }

    /// The act with this number, if it is kept.
    ///
    /// # Errors
    /// [`StoreError`] when its row cannot be read.
    pub fn act(&self, number: i64) -> Result<Option<Act>, StoreError> {
        Ok(self.acts("a.number = ?1", params![number])?.pop())
    }

    pub(super) fn acts(&self, filter: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<Act>, StoreError> {
        let mut query = self.db.prepare_cached(&format!("{COLUMNS} WHERE {filter}"))?;
        query.query_and_then(values, act_of)?.collect()
    }
}

/// Adds an act to the last one on its path if both are of one text: it was sent, or a command wrote it. Returns whether
/// it did.
fn add_to_last(store: &mut Store, act: &Act) -> Result<bool, StoreError> {
    let last = store.acts("a.path = ?1 ORDER BY a.number DESC LIMIT 1", params![act.path.as_str()])?.pop();
    let is_same = |last: &Act| act.kind == ActKind::Elsewhere && act.text_after == last.text_after;
    let Some(last) = last.filter(|last| act.text_after.is_some() && is_same(last)) else {
        return Ok(false);
    };
    if last.kind != ActKind::Elsewhere {
        // What a command wrote is sent.
        return Ok(last.kind == ActKind::Restored);
    }
    let both = counted(last.other.as_deref().unwrap_or_default(), act.other.as_deref().unwrap_or_default());
    store
        .turn()?
        .prepare_cached("UPDATE history_acts SET other = ?2, at = ?3 WHERE number = ?1")?
        .execute(params![last.number, both, act.at.0])?;
    Ok(true)
}

/// What was done, with one thing more: `new node ×2, node removed`.
fn counted(all: &str, what: &str) -> String {
    let mut parts: Vec<String> = all.split(", ").filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let split = |part: &str| match part.split_once(" ×") {
        Some((what, number)) => (what.to_owned(), number.parse().unwrap_or(1)),
        None => (part.to_owned(), 1_u64),
    };
    match parts.iter_mut().find(|part| split(part).0 == what) {
        Some(part) => *part = format!("{what} ×{}", split(part).1 + 1),
        None => parts.push(what.to_owned()),
    }
    parts.join(", ")
}

/// Whether a page was created for a file at or after a time, and no one else has changed it as far as the log says.
///
/// # Errors
/// [`StoreError`] when SQLite refuses.
pub fn is_made_here_alone(store: &Store, page: &PageId, since: Timestamp) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM history_acts WHERE page = ?1 AND kind = ?2 AND at >= ?3)
        AND NOT EXISTS (SELECT 1 FROM history_acts WHERE page = ?1 AND kind IN (?4, ?5, ?6))";
    let [made, others @ ..] =
        [ActKind::Made, ActKind::Written, ActKind::Updated, ActKind::Renamed].map(number_of);
    let values = params![page.as_str(), made, since.0, others[0], others[1], others[2]];
    Ok(store.db.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
}

fn insert(store: &mut Store, act: &Act) -> Result<(), StoreError> {
    let before = store.keep_body_content(act.body_before)?;
    let after = store.keep_body_content(act.body_after)?;
    let text = store.keep_or_find(None, act.text_before);
    let db = store.turn()?;
    db.prepare_cached(
        "INSERT INTO history_acts (at, kind, page, path, other, body_before, body_after,
         text_before, text_after) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
    )?
    .execute(params![
        act.at.0,
        number_of(act.kind),
        act.page.as_ref().map(PageId::as_str),
        act.path.as_str(),
        act.other,
        before,
        after,
        text,
        act.text_after.map(|hash| hash.0),
    ])?;
    let last = db.last_insert_rowid();
    let mut query = db.prepare_cached(
        "DELETE FROM history_acts WHERE number <= ?1 RETURNING body_before, body_after, text_before",
    )?;
    let gone: Vec<[Option<i64>; 3]> = query
        .query_map([last - KEPT], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?
        .collect::<Result<_, _>>()?;
    drop(query);
    store.drop_orphans(&gone.into_iter().flatten().flatten().collect::<Vec<_>>())
}

const COLUMNS: &str = "SELECT a.number, a.at, a.kind, a.page, a.path, a.other, b.hash AS body_before,
    c.hash AS body_after, t.hash AS text_before, a.text_after FROM history_acts a
    LEFT JOIN history_contents b ON b.id = a.body_before
    LEFT JOIN history_contents c ON c.id = a.body_after
    LEFT JOIN history_contents t ON t.id = a.text_before";

fn act_of(row: &Row<'_>) -> Result<Act, StoreError> {
    let damaged = || StoreError::Row("note of an act");
    let hash = |column| -> Result<Option<ContentHash>, StoreError> {
        let bytes: Option<Vec<u8>> = row.get(column)?;
        bytes.map(|bytes| ContentHash::from_slice(&bytes).ok_or_else(damaged)).transpose()
    };
    let kind = usize::try_from(row.get::<_, i64>("kind")?).ok().and_then(|at| KINDS.get(at));
    Ok(Act {
        number: row.get("number")?,
        at: Timestamp(row.get("at")?),
        kind: *kind.ok_or_else(damaged)?,
        page: optional_page(row, "page")?,
        path: MirrorPath::new(&row.get::<_, String>("path")?).map_err(|_| damaged())?,
        other: row.get("other")?,
        body_before: hash("body_before")?,
        body_after: hash("body_after")?,
        text_before: hash("text_before")?,
        text_after: hash("text_after")?,
    })
}

pub(super) fn number_of(kind: ActKind) -> i64 {
    KINDS.iter().position(|one| *one == kind).and_then(|at| i64::try_from(at).ok()).unwrap_or(0)
}
