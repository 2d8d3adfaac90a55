//! What rests because the user keeps it out of the mirror, as the engine noted it for those who only read the state: neither
//! mirrored nor to come.

use std::collections::BTreeSet;

use super::{ReadOnly, StoreError};

/// The note's name among the remembered values: a list of ids, as JSON.
pub const APART: &str = "apart";

/// In a condition: the row is not noted.
pub(super) const IS_NOT_APART: &str =
    "id NOT IN (SELECT value FROM json_each(coalesce((SELECT value FROM meta WHERE key = 'apart'), '[]')))";

/// What `list` shows of them.
pub const IGNORED: &str = "ignored";

impl ReadOnly {
    /// The ids of everything that rests because it is ignored.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn apart(&self) -> Result<BTreeSet<String>, StoreError> {
        let text = self.meta(APART)?.unwrap_or_default();
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }
}
