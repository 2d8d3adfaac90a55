//! The poll state of each target. It belongs to no tree.

use super::rows::poll_of;
use super::{ReadOnly, StoreError};
use crate::model::{PageId, PollState, Timestamp};

/// A target of the schedule.
#[derive(Debug, Clone, Copy)]
pub enum Polled<'a> {
    /// A page.
    Page(&'a PageId),
    /// An item of the core, by its key.
    Item(u64),
}

/// The numbers of overdue targets: last fetched before a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LateCounts {
    /// Pages.
    pub pages: u64,
    /// Whiteboards and slides.
    pub canvases: u64,
    /// Folders of the storage.
    pub folders: u64,
    /// The oldest fetch of these.
    pub oldest: Option<Timestamp>,
}

/// One target of the schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct PolledRow {
    /// The id of the page, whiteboard, slide or storage folder.
    pub id: String,
    /// Whether it has been fetched at least once.
    pub is_read: bool,
    /// Its poll state.
    pub poll: PollState,
}

macro_rules! times {
    () => {
        "SET poll_last = ?1, poll_life = ?2, poll_changes = ?3, poll_changes_at = ?4, poll_gap = ?5 WHERE "
    };
}

impl Polled<'_> {
    /// The number of its table, and its id.
    pub(super) fn place(self) -> (u8, String) {
        match self {
            Self::Page(id) => (0, id.to_string()),
            Self::Item(key) => (1, key.to_string()),
        }
    }

    /// The statement that writes the poll state of a target in the table with this number.
    pub(super) fn update(kind: u8) -> &'static str {
        match kind {
            0 => concat!("UPDATE pages ", times!(), "id = ?6"),
            _ => {
                "UPDATE items SET json = json_set(json, '$.remote.poll.last', ?1, '$.remote.poll.life', ?2,
                    '$.remote.poll.changes', ?3, '$.remote.poll.changes_at', ?4, '$.remote.poll.gap_ms', ?5)
                 WHERE key = CAST(?6 AS INTEGER) AND id IS NOT NULL"
            }
        }
    }
}

const ALL: &str = "
    SELECT 0 AS kind, p.id, p.remote_body NOT NULL AS is_read, poll_last, poll_life, poll_changes, poll_changes_at, poll_gap
    FROM pages p JOIN workspaces w ON w.id = p.workspace AND w.present WHERE p.remote_presence IN (0, 2)
    UNION ALL
    SELECT iif(kind = 'folder', 2, 1), id, remote NOT NULL, poll ->> '$.last', poll ->> '$.life', poll ->> '$.changes', poll ->> '$.changes_at',
        poll ->> '$.gap_ms'
    FROM items WHERE presence = 'Listed' AND kind IN ('whiteboard', 'presentation', 'slide', 'folder')";

impl ReadOnly {
    /// All polled targets: pages first, then whiteboards and slides, then folders of the storage, each by id.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn polled(&self) -> Result<Vec<PolledRow>, StoreError> {
        let mut query = self.store().db.prepare_cached(&format!("{ALL} ORDER BY kind, id"))?;
        let mut rows = query.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(PolledRow { id: row.get("id")?, is_read: row.get("is_read")?, poll: poll_of(row)? });
        }
        Ok(all)
    }

    /// The number of targets that have been fetched at least once.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn polled_count(&self) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM ({ALL}) WHERE is_read");
        let count: i64 = self.store().db.prepare_cached(&sql)?.query_row([], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    /// The targets that have been fetched, the last time before this time.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn late(&self, before: Timestamp) -> Result<LateCounts, StoreError> {
        let sql = format!(
            "SELECT kind, count(*), min(poll_last) FROM ({ALL}) WHERE is_read AND poll_last < ?1 GROUP BY kind"
        );
        let mut query = self.store().db.prepare_cached(&sql)?;
        let mut rows = query.query([before.0])?;
        let mut late = LateCounts::default();
        while let Some(row) = rows.next()? {
            let count = row.get::<_, i64>(1)?.unsigned_abs();
            match row.get(0)? {
                0 => late.pages = count,
                1 => late.canvases = count,
                _ => late.folders = count,
            }
            let oldest = Timestamp(row.get(2)?);
            late.oldest = Some(late.oldest.map_or(oldest, |other| other.min(oldest)));
        }
        Ok(late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::model::{Node, Presence, RemotePage, WorkspaceId};
    use crate::store::{CoreTable, Store, core_rows, save_core_row};

    fn page(id: &str) -> Node {
        let remote = RemotePage {
            parent: None,
            title: "Title".into(),
            icon: None,
            position: 1.0,
            presence: Presence::Listed,
            body: None,
        };
        let (id, space) = (PageId::new(id).unwrap(), WorkspaceId::new("w").unwrap());
        Node::new(id, space, remote, Timestamp(5), PollState::default())
    }

    #[test]
    fn how_a_target_is_polled_is_written_alone_and_asks_for_no_sync() {
        let mut store = Store::in_memory().unwrap();
        let mut pages = ["p", "q"].map(page);
        let item = |poll| json!({ "remote": { "id": "s", "poll": poll } }).to_string();
        pages.iter().for_each(|node| store.save_page(node));
        for key in [1, 2] {
            save_core_row(&mut store, CoreTable::Items, key, Some(&item(PollState::default())));
        }
        assert!(store.is_unsynced);
        store.commit().unwrap();

        let changes_at = Timestamp(13);
        let poll =
            PollState { last: Timestamp(11), life: Timestamp(12), changes: 1.5, changes_at, gap_ms: 14 };
        pages[0].poll = poll;
        store.save_poll(Polled::Page(&pages[0].id), &poll);
        store.save_poll(Polled::Item(2), &poll);
        store.note_request(1, Timestamp(20)).unwrap();
        store.note_answer(1, Timestamp(21), Timestamp(0));
        store.write_times().unwrap();
        assert!(!store.is_unsynced);
        store.commit().unwrap();

        assert_eq!(store.load().unwrap().pages.into_values().collect::<Vec<_>>(), pages);
        assert_eq!(core_rows(&store, CoreTable::Items).unwrap(), [item(PollState::default()), item(poll)]);
        store.set_meta("a", "note");
        assert!(store.is_unsynced);

        // A row that is written as a whole is newer than what waits.
        store.save_poll(Polled::Item(1), &poll);
        save_core_row(&mut store, CoreTable::Items, 1, Some(&item(PollState::default())));
        store.write_times().unwrap();
        assert_eq!(core_rows(&store, CoreTable::Items).unwrap()[0], item(PollState::default()));
    }
}
