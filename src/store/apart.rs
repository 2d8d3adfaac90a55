//! What rests because the user wants it so, as the engine noted it for those who only read the state: what is ignored is neither
//! mirrored nor to come, and what was changed where nothing is sent from is not on its way.

use std::collections::BTreeMap;

use super::{ReadOnly, StoreError};

/// The note's name among the remembered values: ids with a word for each, as JSON.
pub const APART: &str = "apart";

/// In a condition: the row is not noted.
pub(super) const IS_NOT_APART: &str =
    "id NOT IN (SELECT key FROM json_each(coalesce((SELECT value FROM meta WHERE key = 'apart'), '{}')))";

/// The name of the note of workspaces that are mirrored down only: their ids, and their folders, as JSON.
pub const DOWN: &str = "down_only";

/// In a condition on the workspace of a page `p`: what was changed here is to be sent.
pub(super) const IS_SENT: &str = "p.workspace NOT IN (SELECT value FROM json_each(coalesce((SELECT value FROM meta WHERE key = 'down_only'), '{}'), '$.ids'))";

/// In a condition on the path of a file `f`: it lies where what is new is to be sent.
pub(super) const IS_SENT_FROM: &str = "NOT EXISTS (SELECT 1 FROM json_each(coalesce((SELECT value FROM meta WHERE key = 'down_only'), '{}'), '$.folders')
    WHERE substr(f.path, 1, length(value) + 1) = value || '/')";

/// What `list` shows of what is ignored.
pub const IGNORED: &str = "ignored";
/// What `list` shows of stored files that are not fetched.
pub const TOO_LARGE: &str = "too large";

impl ReadOnly {
    /// The ids of everything that rests because the user wants it so, and what `list` shows of each.
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
