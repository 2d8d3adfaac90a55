//! Blocks that files show as stand-ins, and the summary of the block shapes in a workspace's pages.

use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use super::{Store, StoreError};
use crate::model::{WorkspaceId, read_json};

impl Store {
    /// Stores a block that files show as a stand-in.
    pub fn keep_stand_in(&mut self, workspace: &WorkspaceId, id: &str, block: &Value) {
        self.write(
            "INSERT OR REPLACE INTO stand_ins VALUES (?1, ?2, ?3)",
            params![id, workspace.as_str(), block.to_string()],
        );
    }

    /// The block behind a stand-in, if this workspace ever showed a block with this id.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses or the row is not a block.
    pub fn stand_in(&self, workspace: &WorkspaceId, id: &str) -> Result<Option<Value>, StoreError> {
        let json: Option<String> = self
            .db
            .prepare_cached("SELECT json FROM stand_ins WHERE id = ?1 AND workspace = ?2")?
            .query_row([id, workspace.as_str()], |row| row.get(0))
            .optional()?;
        json.map(|text| read_json(text.as_bytes()).map_err(|_| StoreError::Row("stand-in"))).transpose()
    }

    /// Calls a function with each block behind a stand-in of a workspace, one at a time, because there may be tens of
    /// thousands.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses or a row is not a block.
    pub fn each_stand_in(
        &self,
        workspace: &WorkspaceId,
        mut take: impl FnMut(Value),
    ) -> Result<(), StoreError> {
        let mut query =
            self.db.prepare_cached("SELECT json FROM stand_ins WHERE workspace = ?1 ORDER BY id")?;
        let mut rows = query.query([workspace.as_str()])?;
        while let Some(row) = rows.next()? {
            let json = row.get_ref(0)?.as_str().map_err(|_| StoreError::Row("stand-in"))?;
            take(read_json(json.as_bytes()).map_err(|_| StoreError::Row("stand-in"))?);
        }
        Ok(())
    }

    /// The summary of the block shapes in a workspace's pages, if one is stored.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn learned(&self, workspace: &WorkspaceId) -> Result<Option<String>, StoreError> {
        self.meta(&learned_key(workspace))
    }

    /// Stores the summary of the block shapes in a workspace's pages.
    pub fn keep_learned(&mut self, workspace: &WorkspaceId, summary: &str) {
        self.write("INSERT OR REPLACE INTO meta VALUES (?1, ?2)", [&learned_key(workspace), summary]);
    }
}

fn learned_key(workspace: &WorkspaceId) -> String {
    format!("learned_{workspace}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stand_ins_are_handed_on_by_workspace_and_the_summary_is_kept_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|id| WorkspaceId::new(id).unwrap());
        let block = |id: &str| json!({ "id": id, "type": "table" });
        let mut store = Store::open(folder.path()).unwrap().store;
        for (workspace, id) in [(&one, "b"), (&one, "a"), (&other, "c"), (&one, "b")] {
            store.keep_stand_in(workspace, id, &block(id));
        }
        assert_eq!(store.learned(&one).unwrap(), None);
        store.keep_learned(&one, "summary");
        store.commit().unwrap();
        drop(store);
        let store = Store::open(folder.path()).unwrap().store;
        let mut all = Vec::new();
        store.each_stand_in(&one, |block| all.push(block)).unwrap();
        assert_eq!(all, [block("a"), block("b")]);
        assert_eq!(store.learned(&one).unwrap().as_deref(), Some("summary"));
        assert_eq!(store.learned(&other).unwrap(), None);
    }
}
