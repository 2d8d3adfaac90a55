//! Rows of the three trees: reading all of them at start, writing one at a time. Not the other tables.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use rusqlite::{Connection, OptionalExtension, Row, RowIndex, params};

use super::{Polled, Store, StoreError, holds};
use crate::model::{
    Agreed, Blocks, Body, BodyJson, ContentHash, LastPush, LocalFile, MirrorPath, Node, PageId, Parked,
    PollState, Presence, Problem, RemotePage, Rest, Stamp, Timestamp, Workspace, WorkspaceId, WorkspaceNode,
};

/// The trees at the last commit.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Workspaces by id.
    pub workspaces: BTreeMap<WorkspaceId, WorkspaceNode>,
    /// Pages by id.
    pub pages: BTreeMap<PageId, Node>,
    /// Page files by path.
    pub files: BTreeMap<MirrorPath, LocalFile>,
}

/// The bodies that rows refer to and that must exist. The body that a push was based on is stored with them, and may
/// be missing.
const NAMED_BODIES: &str = "SELECT remote_body AS hash FROM pages WHERE remote_body IS NOT NULL
    UNION ALL SELECT base_body FROM pages WHERE base_body IS NOT NULL AND base_body IS NOT remote_body
    UNION ALL SELECT local FROM sent UNION ALL SELECT before FROM sent UNION ALL SELECT body FROM sent
    UNION ALL SELECT body FROM writing";

static SAVE_PAGE: LazyLock<String> = LazyLock::new(|| {
    upsert(
        "pages",
        "id workspace remote_parent remote_title remote_icon remote_position remote_presence remote_body \
    base_parent base_title base_icon base_body base_text base_front_title base_path base_folder_at file \
    missing_since missing_from stem approved first_seen poll_last poll_life poll_changes poll_changes_at \
    poll_gap parked_why parked_local parked_remote push_before push_after push_at push_again parked_kind \
    parked_class parked_since",
    )
});
static SAVE_FILE: LazyLock<String> = LazyLock::new(|| {
    upsert(
        "files",
        "path page device inode size modified changed born hash claims disowned front_title problem racy \
    problem_with",
    )
});

/// The statement that writes a row of this table, whose key is the first of its columns. A known row is changed in place:
/// `INSERT OR REPLACE` would move it to the table's end, and write its key's index as well.
pub(super) fn upsert(table: &str, columns: &str) -> String {
    let columns: Vec<&str> = columns.split_whitespace().collect();
    let slots: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
    let sets: Vec<String> = columns.iter().skip(1).map(|name| format!("{name} = excluded.{name}")).collect();
    let (key, all, slots, sets) = (columns[0], columns.join(","), slots.join(","), sets.join(","));
    format!("INSERT INTO {table} ({all}) VALUES ({slots}) ON CONFLICT ({key}) DO UPDATE SET {sets}")
}

impl Store {
    /// Reads all three trees.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn load(&mut self) -> Result<Loaded, StoreError> {
        if let Some(loaded) = self.checked.trees.take() {
            return Ok(loaded);
        }
        let db = &self.db;
        let mut pool = Pool::default();
        Ok(Loaded {
            workspaces: table(db, "SELECT * FROM workspaces", workspace_of, |node| node.seen.id.clone())?,
            pages: table(db, "SELECT * FROM pages", |row| page_of(row, &mut pool), |node| node.id.clone())?,
            files: table(db, "SELECT * FROM files", |row| file_of(row, &mut pool), |file| file.path.clone())?,
        })
    }

    /// Writes one workspace.
    pub fn save_workspace(&mut self, node: &WorkspaceNode) {
        self.save_no_listed_at(&node.seen.id);
        self.write(
            "INSERT OR REPLACE INTO workspaces VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)",
            params![
                node.seen.id.as_str(),
                node.seen.name,
                node.seen.slug,
                node.seen.role,
                node.seen.frozen,
                node.folder,
                node.present,
                node.listed_at.0,
                node.empty_list,
                node.known_as.join("\n"),
                node.seen.rest.text(),
            ],
        );
    }

    /// Writes one page.
    pub fn save_page(&mut self, node: &Node) {
        self.save_no_poll(Polled::Page(&node.id));
        let base = node.base.as_ref();
        let push = node.last_push.as_ref();
        let parked = node.parked.as_ref();
        let refusal = parked.and_then(|parked| parked.hold.refusal());
        self.write(
            &SAVE_PAGE,
            params![
                node.id.as_str(),
                node.workspace.as_str(),
                node.remote.parent.as_ref().map(PageId::as_str),
                node.remote.title,
                node.remote.icon,
                node.remote.position,
                presence_number(node.remote.presence),
                node.remote.body.map(|h| h.0),
                base.and_then(|b| b.parent.as_ref()).map(PageId::as_str),
                base.map(|b| &*b.title),
                base.and_then(|b| b.icon.as_deref()),
                base.map(|b| b.body.0),
                base.and_then(|b| b.text).map(|h| h.0),
                base.and_then(|b| b.front_title.as_deref()),
                base.map(|b| b.path.as_str()),
                base.and_then(|b| b.folder_at.as_ref()).map(MirrorPath::as_str),
                node.file.as_ref().map(MirrorPath::as_str),
                node.missing_since.map(|t| t.0),
                node.missing_from.as_ref().map(MirrorPath::as_str),
                node.stem,
                node.approved,
                node.first_seen.0,
                node.poll.last.0,
                node.poll.life.0,
                node.poll.changes,
                node.poll.changes_at.0,
                node.poll.gap_ms,
                parked.map(|p| holds::said_of(&p.hold)),
                parked.and_then(|p| p.local).map(|h| h.0),
                parked.and_then(|p| p.remote).map(|h| h.0),
                push.map(|p| p.before.0),
                push.map(|p| p.after.0),
                push.map(|p| p.at.0),
                push.map(|p| p.again),
                parked.map(|p| holds::kind_of(&p.hold)),
                refusal.map(|refusal| refusal.class.name()),
                refusal.map(|refusal| refusal.since.0),
            ],
        );
    }

    /// Deletes one page.
    pub fn delete_page(&mut self, id: &PageId) {
        self.write("DELETE FROM pages WHERE id = ?1", [id.as_str()]);
        self.set_says_more(id, false);
        self.drop_missing(id);
    }

    /// Writes one file.
    pub fn save_file(&mut self, file: &LocalFile) {
        let [device, inode, size, modified, changed, born] = file.stamp.into();
        let (problem, problem_with) = file.problem.as_ref().map(Problem::to_row).unzip();
        self.write(
            &SAVE_FILE,
            params![
                file.path.as_str(),
                file.page.as_ref().map(PageId::as_str),
                device,
                inode,
                size,
                modified,
                changed,
                born,
                file.hash.map(|h| h.0),
                file.claims.as_ref().map(PageId::as_str),
                file.copied_from_page.as_ref().map(PageId::as_str),
                file.front_title,
                problem,
                file.racy,
                problem_with,
            ],
        );
    }

    /// Deletes one file.
    pub fn delete_file(&mut self, path: &MirrorPath) {
        self.write("DELETE FROM files WHERE path = ?1", [path.as_str()]);
    }

    /// Stores a body, once for all equal ones.
    pub fn keep_body(&mut self, body: &Body) {
        self.keep_body_json(&BodyJson::known(body.hash, Body::json(&body.blocks)));
    }

    /// Stores a printed body.
    pub fn keep_body_json(&mut self, body: &BodyJson) {
        self.write("INSERT OR IGNORE INTO bodies VALUES (?1, ?2)", params![body.hash().0, body.as_str()]);
    }

    /// The blocks of a stored body; `None` if it is not stored.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses or the row is not an array.
    pub fn body(&self, hash: ContentHash) -> Result<Option<Blocks>, StoreError> {
        self.body_json(hash)?.map(|json| blocks_of(&BodyJson::known(hash, json))).transpose()
    }

    /// The JSON of a stored body, unchanged; `None` if it is not stored.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn body_json(&self, hash: ContentHash) -> Result<Option<String>, StoreError> {
        Ok(self
            .db
            .prepare_cached("SELECT json FROM bodies WHERE hash = ?1")?
            .query_row([hash.0], |row| row.get(0))
            .optional()?)
    }

    /// The blocks of a body that a row refers to. A missing body is an error: if it counted as empty, the page would
    /// be emptied.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses, or when the body is missing or cannot be read.
    pub fn named_body(&self, hash: ContentHash) -> Result<Blocks, StoreError> {
        blocks_of(&self.named_json(hash)?)
    }

    /// The JSON of a body that a row refers to, as [`Store::named_body`].
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses, or when the body is missing.
    pub fn named_json(&self, hash: ContentHash) -> Result<BodyJson, StoreError> {
        match self.body_json(hash)? {
            Some(json) => Ok(BodyJson::known(hash, json)),
            None if hash == Body::of(Vec::new()).hash => Ok(BodyJson::of(&[])),
            None => Err(StoreError::Row("page's body")),
        }
    }

    /// Checks that all bodies exist that must.
    pub(super) fn check_bodies(&self) -> Result<(), StoreError> {
        // Each start waits for this. Comparing two sorted lists takes a tenth of the time of one search per body,
        // because rows as long as bodies make a deep tree.
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM (SELECT hash FROM ({NAMED_BODIES}) EXCEPT SELECT hash FROM bodies)
             WHERE hash <> ?1)"
        );
        let missing: bool = self.db.query_row(&sql, [Body::of(Vec::new()).hash.0], |row| row.get(0))?;
        if missing { Err(StoreError::Row("page's body")) } else { Ok(()) }
    }

    /// Deletes bodies that no row refers to any more.
    pub fn drop_unused_bodies(&mut self) {
        let sql = format!(
            "DELETE FROM bodies WHERE hash NOT IN ({NAMED_BODIES}
             UNION ALL SELECT push_before FROM pages WHERE push_before IS NOT NULL
             UNION ALL SELECT before FROM left_pushes)"
        );
        self.write(&sql, []);
    }
}

/// A size or an effect's number as a value for SQLite.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn presence_number(presence: Presence) -> i64 {
    match presence {
        Presence::Listed => 0,
        Presence::Unlisted => 1,
        Presence::Hidden => 2,
        Presence::Gone => 3,
    }
}

pub(super) fn presence_of(number: i64) -> Result<Presence, StoreError> {
    match number {
        0 => Ok(Presence::Listed),
        1 => Ok(Presence::Unlisted),
        2 => Ok(Presence::Hidden),
        3 => Ok(Presence::Gone),
        _ => Err(StoreError::Row("presence")),
    }
}

/// The index of the column with this name; `at` is its last index. Searching the names of thirty columns for each of
/// them took half of the time of loading ten thousand pages.
pub(super) fn column(row: &Row<'_>, name: &str, at: &AtomicUsize) -> rusqlite::Result<usize> {
    let statement = row.as_ref();
    let last = at.load(Ordering::Relaxed);
    if statement.column_name(last).is_ok_and(|there| there == name) {
        return Ok(last);
    }
    let found = statement.column_index(name)?;
    at.store(found, Ordering::Relaxed);
    Ok(found)
}

/// The [`column`] with this name, for one place in the code.
macro_rules! col {
    ($row:ident, $name:literal) => {{
        static AT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        $crate::store::rows::column($row, $name, &AT)?
    }};
}
pub(super) use col;

pub(super) fn rest_of(row: &Row<'_>) -> Result<Rest, StoreError> {
    Ok(Rest::stored(row.get::<_, Option<String>>(col!(row, "rest"))?.as_deref()))
}

pub(super) fn workspace_of(row: &Row<'_>) -> Result<WorkspaceNode, StoreError> {
    Ok(WorkspaceNode {
        seen: Workspace {
            id: workspace_id(&row.get::<_, String>("id")?)?,
            name: row.get("name")?,
            slug: row.get("slug")?,
            role: row.get("role")?,
            frozen: row.get("frozen")?,
            rest: rest_of(row)?,
        },
        folder: row.get("folder")?,
        present: row.get("present")?,
        listed_at: Timestamp(row.get("listed_at")?),
        empty_list: row.get("empty_list")?,
        known_as: row.get::<_, String>("known_as")?.lines().map(str::to_owned).collect(),
    })
}

pub(super) fn page_of(row: &Row<'_>, pool: &mut Pool) -> Result<Node, StoreError> {
    let base = match optional_hash(row, col!(row, "base_body"))? {
        None => None,
        Some(body) => Some(Agreed {
            parent: pool.page(row, col!(row, "base_parent"))?,
            title: pool.text(row, col!(row, "base_title"))?.ok_or(StoreError::Row("title"))?,
            icon: pool.text(row, col!(row, "base_icon"))?,
            body,
            text: optional_hash(row, col!(row, "base_text"))?,
            front_title: pool.text(row, col!(row, "base_front_title"))?,
            path: pool.path(row, col!(row, "base_path"))?.ok_or(StoreError::Row("path"))?,
            folder_at: pool.path(row, col!(row, "base_folder_at"))?,
        }),
    };
    let last_push =
        match (optional_hash(row, col!(row, "push_before"))?, optional_hash(row, col!(row, "push_after"))?) {
            (Some(before), Some(after)) => Some(Box::new(LastPush {
                before,
                after,
                at: Timestamp(row.get(col!(row, "push_at"))?),
                again: row.get(col!(row, "push_again"))?,
            })),
            _ => None,
        };
    let parked = match row.get::<_, Option<String>>(col!(row, "parked_why"))? {
        None => None,
        Some(said) => Some(Box::new(Parked {
            hold: holds::hold_of(row, said)?,
            local: optional_hash(row, col!(row, "parked_local"))?,
            remote: optional_hash(row, col!(row, "parked_remote"))?,
        })),
    };
    Ok(Node {
        id: pool.page(row, col!(row, "id"))?.ok_or(StoreError::Row("page id"))?,
        workspace: pool.workspace(row, col!(row, "workspace"))?,
        remote: RemotePage {
            parent: pool.page(row, col!(row, "remote_parent"))?,
            title: pool.text(row, col!(row, "remote_title"))?.ok_or(StoreError::Row("title"))?,
            icon: pool.text(row, col!(row, "remote_icon"))?,
            position: row.get(col!(row, "remote_position"))?,
            presence: presence_of(row.get(col!(row, "remote_presence"))?)?,
            body: optional_hash(row, col!(row, "remote_body"))?,
        },
        base,
        file: pool.path(row, col!(row, "file"))?,
        missing_since: row.get::<_, Option<i64>>(col!(row, "missing_since"))?.map(Timestamp),
        missing_from: pool.path(row, col!(row, "missing_from"))?,
        stem: pool.text(row, col!(row, "stem"))?,
        approved: row.get(col!(row, "approved"))?,
        first_seen: Timestamp(row.get(col!(row, "first_seen"))?),
        poll: poll_of(row)?,
        parked,
        last_push,
    })
}

pub(super) fn file_of(row: &Row<'_>, pool: &mut Pool) -> Result<LocalFile, StoreError> {
    Ok(LocalFile {
        path: pool.path(row, col!(row, "path"))?.ok_or(StoreError::Row("path"))?,
        page: pool.page(row, col!(row, "page"))?,
        stamp: stamp_of(row, col!(row, "size"))?,
        hash: optional_hash(row, col!(row, "hash"))?,
        claims: pool.page(row, col!(row, "claims"))?,
        copied_from_page: pool.page(row, col!(row, "disowned"))?,
        front_title: pool.text(row, col!(row, "front_title"))?,
        problem: problem_of(row)?,
        racy: row.get(col!(row, "racy"))?,
    })
}

/// Why a file cannot be sent, from two columns.
pub(super) fn problem_of(row: &Row<'_>) -> Result<Option<Problem>, StoreError> {
    let Some(name) = row.get::<_, Option<String>>(col!(row, "problem"))? else { return Ok(None) };
    let with = row.get::<_, Option<String>>(col!(row, "problem_with"))?.unwrap_or_default();
    Problem::from_row(&name, with).map(Some).ok_or(StoreError::Row("problem"))
}

/// The stamp in a row; the name of the size column differs between tables.
pub(super) fn stamp_of(row: &Row<'_>, size: impl RowIndex) -> Result<Stamp, StoreError> {
    Ok(Stamp::from([
        row.get(col!(row, "device"))?,
        row.get(col!(row, "inode"))?,
        row.get(size)?,
        row.get(col!(row, "modified"))?,
        row.get(col!(row, "changed"))?,
        row.get(col!(row, "born"))?,
    ]))
}

pub(super) fn poll_of(row: &Row<'_>) -> Result<PollState, StoreError> {
    Ok(PollState {
        last: Timestamp(row.get(col!(row, "poll_last"))?),
        life: Timestamp(row.get(col!(row, "poll_life"))?),
        changes: row.get(col!(row, "poll_changes"))?,
        changes_at: Timestamp(row.get(col!(row, "poll_changes_at"))?),
        gap_ms: row.get(col!(row, "poll_gap"))?,
    })
}

/// A whole table, by the key of each row.
pub(super) fn table<K: Ord, T>(
    db: &Connection,
    query: &str,
    read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    key: fn(&T) -> K,
) -> Result<BTreeMap<K, T>, StoreError> {
    let mut query = db.prepare_cached(query)?;
    let rows = query.query_and_then([], read)?;
    rows.map(|row| row.map(|row| (key(&row), row))).collect()
}

/// Ids, paths and titles that were already read: each occurs in several rows, and is in memory once.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pages: BTreeSet<PageId>,
    workspaces: BTreeSet<WorkspaceId>,
    paths: BTreeSet<MirrorPath>,
    texts: BTreeSet<Arc<str>>,
}

impl Pool {
    fn page(&mut self, row: &Row<'_>, column: usize) -> Result<Option<PageId>, StoreError> {
        shared(&mut self.pages, row, column, page_id)
    }

    fn workspace(&mut self, row: &Row<'_>, column: usize) -> Result<WorkspaceId, StoreError> {
        let found = shared(&mut self.workspaces, row, column, workspace_id)?;
        found.ok_or(StoreError::Row("workspace id"))
    }

    fn path(&mut self, row: &Row<'_>, column: usize) -> Result<Option<MirrorPath>, StoreError> {
        shared(&mut self.paths, row, column, path)
    }

    fn text(&mut self, row: &Row<'_>, column: usize) -> Result<Option<Arc<str>>, StoreError> {
        shared(&mut self.texts, row, column, |text| Ok(text.into()))
    }
}

/// The value of a column that holds a text or NULL; the instance in `known`, if it is there.
pub(super) fn shared<T: Ord + Clone + Borrow<str>>(
    known: &mut BTreeSet<T>,
    row: &Row<'_>,
    column: usize,
    read: fn(&str) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let Some(text) = row.get_ref(column)?.as_str_or_null().map_err(|_| StoreError::Row("text"))? else {
        return Ok(None);
    };
    if let Some(value) = known.get(text) {
        return Ok(Some(value.clone()));
    }
    let value = read(text)?;
    known.insert(value.clone());
    Ok(Some(value))
}

pub(super) fn page_id(text: &str) -> Result<PageId, StoreError> {
    PageId::new(text).map_err(|_| StoreError::Row("page id"))
}

pub(super) fn workspace_id(text: &str) -> Result<WorkspaceId, StoreError> {
    WorkspaceId::new(text).map_err(|_| StoreError::Row("workspace id"))
}

pub(super) fn path(text: &str) -> Result<MirrorPath, StoreError> {
    MirrorPath::new(text).map_err(|_| StoreError::Row("path"))
}

/// The blocks of a content.
///
/// # Errors
/// [`StoreError::Row`] when its JSON is no array: no such content is stored.
pub fn blocks_of(body: &BodyJson) -> Result<Blocks, StoreError> {
    body.blocks().map_err(|_| StoreError::Row("body"))
}

pub(super) fn optional_page(row: &Row<'_>, column: impl RowIndex) -> Result<Option<PageId>, StoreError> {
    row.get::<_, Option<String>>(column)?.as_deref().map(page_id).transpose()
}

pub(super) fn optional_hash(row: &Row<'_>, column: impl RowIndex) -> Result<Option<ContentHash>, StoreError> {
    match row.get::<_, Option<Vec<u8>>>(column)? {
        None => Ok(None),
        Some(bytes) => ContentHash::from_slice(&bytes).map(Some).ok_or(StoreError::Row("hash")),
    }
}

pub(super) fn hash(row: &Row<'_>, column: impl RowIndex) -> Result<ContentHash, StoreError> {
    optional_hash(row, column)?.ok_or(StoreError::Row("hash"))
}
