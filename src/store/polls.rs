//! What the poll schedule keeps of each target, for `list` and `why`: no tree, only where each stands.

use super::rows::poll_of;
use super::{ReadOnly, StoreError};
use crate::model::PollState;

/// One target of the schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct PolledRow {
    /// The id of the page, whiteboard, slide or storage folder.
    pub id: String,
    /// Whether it has been read at least once.
    pub is_read: bool,
    /// How it stands.
    pub poll: PollState,
}

const ALL: &str = "
    SELECT p.id, p.remote_body NOT NULL AS is_read, poll_last, poll_life, poll_changes, poll_changes_at, poll_gap
    FROM pages p JOIN workspaces w ON w.id = p.workspace AND w.present WHERE p.remote_presence IN (0, 2)
    UNION ALL
    SELECT own, remote NOT NULL, poll_last, poll_life, poll_changes, poll_changes_at, poll_gap
    FROM board_canvases WHERE presence = 0
    UNION ALL
    SELECT id, poll_last > 0, poll_last, poll_life, poll_changes, poll_changes_at, poll_gap
    FROM storage_folders WHERE listed";

impl ReadOnly {
    /// Everything that is polled: pages first, then whiteboards and slides, then folders of the storage.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn polled(&self) -> Result<Vec<PolledRow>, StoreError> {
        let mut query = self.store().db.prepare_cached(ALL)?;
        let mut rows = query.query([])?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(PolledRow { id: row.get("id")?, is_read: row.get("is_read")?, poll: poll_of(row)? });
        }
        Ok(all)
    }
}
