//! State outside the trees: unconfirmed pushes and creations, conflict copies, messages to the user, the limiter's
//! log.

use std::sync::Arc;

use rusqlite::{OptionalExtension, params};

use super::rows::{hash, page_id, path};
use super::{Store, StoreError};
use crate::model::{Attention, Code, ContentHash, MirrorPath, PageId, PendingUpdate, Timestamp};

/// A conflict copy on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The path of the copy.
    pub path: MirrorPath,
    /// The path of the page's file.
    pub page_path: MirrorPath,
    /// The time of its creation.
    pub made_at: Timestamp,
    /// One line about the conflict.
    pub summary: String,
    /// Hash of the copy's content, so that the same text is not kept twice.
    pub text: ContentHash,
}

impl Conflict {
    /// The summary for a page's file with an edit whose page was deleted in the app.
    pub const PAGE_GONE: &'static str = "the page is gone at the service";
    /// The same for a whiteboard or a slide.
    pub const CANVAS_GONE: &'static str = "it was removed in the app; your version is kept";
    /// The summary for a file that differed from its page in their first comparison.
    pub const PAGE_DIFFERED: &'static str = "file and page differ";
    /// The same for a whiteboard or a slide.
    pub const CANVAS_DIFFERED: &'static str = "both sides had a version of it when they were first compared";

    /// One sentence: the cause of the copy, and its path.
    #[must_use]
    pub fn cause(&self) -> String {
        let cause = match self.summary.as_str() {
            Self::PAGE_GONE | Self::CANVAS_GONE => {
                "it was deleted in the app while it was edited here, and its file is gone too"
            }
            Self::PAGE_DIFFERED | Self::CANVAS_DIFFERED => {
                "file and app differed when they were first compared"
            }
            _ => "both sides changed the same words",
        };
        format!("{cause}; your version is in {}", self.path.name())
    }

    /// What the user can do.
    #[must_use]
    pub fn mend(&self) -> &'static str {
        match self.summary.as_str() {
            Self::PAGE_GONE | Self::CANVAS_GONE => {
                "rename the copy to make it new in the app, or remove it; the app's trash has the old one"
            }
            _ => "espejo resolve shows it; settle it with --mine, --theirs, --both or --edit",
        }
    }
}

/// One request in the limiter's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEntry {
    /// The effect that sent it.
    pub effect: u64,
    /// The time of sending.
    pub sent: Timestamp,
    /// The time of its answer; `None` while it has none.
    pub answered: Option<Timestamp>,
}

/// A pending write of a text to a page's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingWrite {
    /// The page.
    pub page: PageId,
    /// Hash of the file's new content.
    pub text: ContentHash,
    /// Hash of the body that this content stands for.
    pub body: ContentHash,
    /// The page's icon in the new front matter.
    pub icon: Option<Arc<str>>,
}

/// A message from the columns `path`, `reason`, `action` and `code`.
fn attention_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Attention> {
    let code = Code::named(row.get_ref(3)?.as_str()?);
    Ok(Attention { path: row.get(0)?, reason: row.get(1)?, action: row.get(2)?, code })
}

impl Store {
    /// A value of the table `meta`.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        Ok(self
            .db
            .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
            .query_row([key], |row| row.get(0))
            .optional()?)
    }

    /// Sets a value of the table `meta`.
    pub fn set_meta(&mut self, key: &str, value: &str) {
        self.write_a_note("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", [key, value]);
    }

    /// All pending writes to pages' files.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn writing(&self) -> Result<Vec<PendingWrite>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT * FROM writing ORDER BY page")?;
        let rows = query.query_and_then([], |row| {
            Ok(PendingWrite {
                page: page_id(&row.get::<_, String>("page")?)?,
                text: hash(row, "text")?,
                body: hash(row, "body")?,
                icon: row.get("icon")?,
            })
        })?;
        rows.collect()
    }

    /// Stores a pending write before it is made.
    pub fn save_writing(&mut self, writing: &PendingWrite) {
        self.write(
            "INSERT OR REPLACE INTO writing VALUES (?1,?2,?3,?4)",
            params![writing.page.as_str(), writing.text.0, writing.body.0, writing.icon],
        );
    }

    /// Deletes a pending write that has ended.
    pub fn delete_writing(&mut self, page: &PageId) {
        self.write("DELETE FROM writing WHERE page = ?1", [page.as_str()]);
    }

    /// All pending updates: PATCHes whose outcome is unknown.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn sent(&self) -> Result<Vec<PendingUpdate>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT * FROM sent ORDER BY page")?;
        let rows = query.query_and_then([], |row| {
            Ok(PendingUpdate {
                page: page_id(&row.get::<_, String>("page")?)?,
                text: hash(row, "text")?,
                local: hash(row, "local")?,
                before: hash(row, "before")?,
                body: hash(row, "body")?,
                title: row.get("title")?,
            })
        })?;
        rows.collect()
    }

    /// Stores a pending update before it is sent.
    pub fn save_sent(&mut self, sent: &PendingUpdate) {
        self.write(
            "INSERT OR REPLACE INTO sent VALUES (?1,?2,?3,?4,?5,?6)",
            params![sent.page.as_str(), sent.text.0, sent.local.0, sent.before.0, sent.body.0, sent.title],
        );
    }

    /// Deletes a pending update that is settled.
    pub fn delete_sent(&mut self, page: &PageId) {
        self.write("DELETE FROM sent WHERE page = ?1", [page.as_str()]);
    }

    /// All conflict copies, by path.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn conflicts(&self) -> Result<Vec<Conflict>, StoreError> {
        let mut query = self.db.prepare_cached("SELECT * FROM conflicts ORDER BY path")?;
        let rows = query.query_and_then([], |row| {
            Ok(Conflict {
                path: path(&row.get::<_, String>("path")?)?,
                page_path: path(&row.get::<_, String>("page_path")?)?,
                made_at: Timestamp(row.get("made_at")?),
                summary: row.get("summary")?,
                text: hash(row, "text")?,
            })
        })?;
        rows.collect()
    }

    /// Stores a conflict copy.
    pub fn save_conflict(&mut self, conflict: &Conflict) {
        self.write(
            "INSERT OR REPLACE INTO conflicts VALUES (?1,?2,?3,?4,?5)",
            params![
                conflict.path.as_str(),
                conflict.page_path.as_str(),
                conflict.made_at.0,
                conflict.summary,
                conflict.text.0
            ],
        );
    }

    /// Deletes a conflict copy that the user removed.
    pub fn delete_conflict(&mut self, path: &MirrorPath) {
        self.write("DELETE FROM conflicts WHERE path = ?1", [path.as_str()]);
    }

    /// Replaces the list of messages to the user; messages that were in it before keep their time. Each run computes
    /// the list again, so a power cut may take it back.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn set_attention(&mut self, list: &[Attention], now: Timestamp) -> Result<(), StoreError> {
        let known: Vec<(Attention, i64)> = self.attention_rows()?;
        let mut stays = vec![false; known.len()];
        let db = self.turn_for_times()?;
        let mut insert = db.prepare_cached("INSERT OR IGNORE INTO attention VALUES (?1,?2,?3,?4,?5)")?;
        let mut update =
            db.prepare_cached("UPDATE attention SET action = ?3, code = ?4 WHERE path = ?1 AND reason = ?2")?;
        for item in list {
            let place = (&item.path, &item.reason);
            match known.binary_search_by(|(old, _)| (&old.path, &old.reason).cmp(&place)) {
                Ok(at) => {
                    if !stays[at] && known[at].0 != *item {
                        let code = item.code.name();
                        update.execute(params![item.path, item.reason, item.action, code])?;
                    }
                    stays[at] = true;
                }
                Err(_) => {
                    let code = item.code.name();
                    insert.execute(params![item.path, item.reason, item.action, now.0, code])?;
                }
            }
        }
        let mut delete = db.prepare_cached("DELETE FROM attention WHERE path = ?1 AND reason = ?2")?;
        for ((old, _), _) in known.iter().zip(stays).filter(|(_, stays)| !stays) {
            delete.execute([&old.path, &old.reason])?;
        }
        Ok(())
    }

    fn attention_rows(&self) -> Result<Vec<(Attention, i64)>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT path, reason, action, code, since FROM attention ORDER BY path, reason",
        )?;
        let rows = query.query_map([], |row| Ok((attention_of(row)?, row.get(4)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The messages to the user, by path.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn attention(&self) -> Result<Vec<Attention>, StoreError> {
        Ok(self.attention_rows()?.into_iter().map(|(item, _)| item).collect())
    }

    /// Adds a notice; it is shown until [`Store::drop_notices`] deletes it.
    pub fn add_notice(&mut self, notice: &Attention, at: Timestamp) {
        self.write(
            "INSERT OR REPLACE INTO notices VALUES (?1,?2,?3,?4,?5)",
            params![notice.path, notice.reason, notice.action, at.0, notice.code.name()],
        );
    }

    /// The notices that are still shown.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn notices(&self) -> Result<Vec<Attention>, StoreError> {
        let mut query =
            self.db.prepare_cached("SELECT path, reason, action, code FROM notices ORDER BY path, reason")?;
        let rows = query.query_map([], attention_of)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Deletes the notices about a path, without a write if there are none.
    pub fn drop_notices_at(&mut self, path: &str) {
        if self.finds("SELECT EXISTS (SELECT 1 FROM notices WHERE path = ?1)", [path]) {
            self.write("DELETE FROM notices WHERE path = ?1", [path]);
        }
    }

    /// Deletes one notice.
    pub fn drop_notice(&mut self, notice: &Attention) {
        self.write("DELETE FROM notices WHERE path = ?1 AND reason = ?2", [&notice.path, &notice.reason]);
    }

    /// Deletes the lasting notices about a path, which are dated after `now`; notices that age stay.
    pub fn drop_lasting_notices(&mut self, path: &str, now: Timestamp) {
        let lasts = "SELECT EXISTS (SELECT 1 FROM notices WHERE path = ?1 AND at > ?2)";
        if self.finds(lasts, params![path, now.0]) {
            self.write("DELETE FROM notices WHERE path = ?1 AND at > ?2", params![path, now.0]);
        }
    }

    /// Deletes the notices older than a time, without a write if there are none.
    pub fn drop_notices(&mut self, before: Timestamp) {
        if self.finds("SELECT EXISTS (SELECT 1 FROM notices WHERE at < ?1)", [before.0]) {
            self.write("DELETE FROM notices WHERE at < ?1", [before.0]);
        }
    }

    /// Moves the limiter's log to the clock of this run. `boot` identifies the machine's start and `zero` is its time
    /// on the wall clock: for two runs since one start, the difference is exactly the change of the clock between
    /// them.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn settle_clock(&mut self, boot: &str, zero: Timestamp) -> Result<(), StoreError> {
        let known = self.meta("clock")?;
        let before = known.as_deref().and_then(|text| text.split_once(' ')).filter(|(name, _)| *name == boot);
        if let Some(before) = before.and_then(|(_, zero)| zero.parse::<i64>().ok()) {
            let by = zero.0.saturating_sub(before);
            self.write_a_note("UPDATE requests SET sent = sent + ?1, freed = freed + ?1", [by]);
        }
        self.set_meta("clock", &format!("{boot} {}", zero.0));
        Ok(())
    }

    /// Marks requests that an earlier run left without an answer as answered at `now`.
    pub fn close_request_log(&mut self, now: Timestamp) {
        self.write("UPDATE requests SET freed = ?1 WHERE freed IS NULL", [now.0]);
    }

    /// The limiter's log, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn request_log(&self) -> Result<Vec<LogEntry>, StoreError> {
        let mut query =
            self.db.prepare_cached("SELECT effect, sent, freed FROM requests ORDER BY sent, rowid")?;
        let rows = query.query_map([], |row| {
            Ok(LogEntry {
                effect: row.get::<_, i64>(0)?.unsigned_abs(),
                sent: Timestamp(row.get(1)?),
                answered: row.get::<_, Option<i64>>(2)?.map(Timestamp),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two requests, one of them unanswered, and their log entries after the clocks of later runs.
    fn check(clocks: &[(&str, i64)], expected: i64) {
        let mut store = Store::in_memory().unwrap();
        store.settle_clock("first", Timestamp(1_000)).unwrap();
        store.note_request(1, Timestamp(5_000)).unwrap();
        store.note_request(2, Timestamp(6_000)).unwrap();
        store.note_answer(1, Timestamp(5_500), Timestamp(0));
        store.write_times().unwrap();
        for (boot, zero) in clocks {
            store.settle_clock(boot, Timestamp(*zero)).unwrap();
        }
        let at = |sent: i64, answered: Option<i64>| {
            (Timestamp(sent + expected), answered.map(|ms| Timestamp(ms + expected)))
        };
        let log: Vec<_> = store.request_log().unwrap().iter().map(|e| (e.sent, e.answered)).collect();
        assert_eq!(log, [at(5_000, Some(5_500)), at(6_000, None)], "{clocks:?}");
    }

    #[test]
    fn the_log_of_requests_moves_with_the_clock() {
        check(&[], 0);
        check(&[("first", 1_000)], 0);
        check(&[("first", 7_201_000)], 7_200_000);
        check(&[("first", -7_199_000), ("first", 1_000)], 0);
        // After a restart of the machine the earlier clock is unknown.
        check(&[("second", 7_201_000)], 0);
        check(&[("second", 7_201_000), ("second", 7_202_000)], 1_000);
    }
}
