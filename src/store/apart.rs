//! Items that the user excludes from the sync, as the engine recorded them for programs that only read the state: an
//! ignored item is neither mirrored nor incoming, and a change in a place that is mirrored down only is not pending.

use std::collections::BTreeMap;

use super::{ReadOnly, StoreError};

/// The key of the record in `meta`: ids with a word for each, as JSON.
pub const APART: &str = "apart";

/// SQL condition: the row is not in the record.
pub(super) const IS_NOT_APART: &str =
    "id NOT IN (SELECT key FROM json_each(coalesce((SELECT value FROM meta WHERE key = 'apart'), '{}')))";

/// The key of the record of workspaces that are mirrored down only: their ids, and their folders, as JSON.
pub const DOWN: &str = "down_only";

/// SQL condition on the workspace of a page `p`: changes in the folder are to be sent.
pub(super) const IS_SENT: &str = "p.workspace NOT IN (SELECT value FROM json_each(coalesce((SELECT value FROM meta WHERE key = 'down_only'), '{}'), '$.ids'))";

/// SQL condition on the path of a file `f`: new files at this path are to be sent.
pub(super) const IS_SENT_FROM: &str = "NOT EXISTS (SELECT 1 FROM json_each(coalesce((SELECT value FROM meta WHERE key = 'down_only'), '{}'), '$.folders')
    WHERE substr(f.path, 1, length(value) + 1) = value || '/')";

/// The word that `list` shows for ignored items.
pub const IGNORED: &str = "ignored";
/// The word that `list` shows for stored files that are not downloaded.
pub const TOO_LARGE: &str = "too large";

impl ReadOnly {
    /// The ids of all items that the user excludes from the sync, and the word that `list` shows for each.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn apart(&self) -> Result<BTreeMap<String, &'static str>, StoreError> {
        let text = self.meta(APART)?.unwrap_or_default();
        let noted: BTreeMap<String, String> = serde_json::from_str(&text).unwrap_or_default();
        let word = |word: &str| if word == TOO_LARGE { TOO_LARGE } else { IGNORED };
        Ok(noted.into_iter().map(|(id, is)| (id, word(&is))).collect())
    }

    /// The folders of workspaces that are mirrored down only.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn down_only(&self) -> Result<Vec<String>, StoreError> {
        let text = self.meta(DOWN)?.unwrap_or_default();
        let noted: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let folders = noted["folders"].as_array().into_iter().flatten();
        Ok(folders.filter_map(|folder| folder.as_str().map(str::to_owned)).collect())
    }
}
