//! The user's pause: whether espejo is paused, and the start of the pause.

use super::{ReadOnly, Store, StoreError};
use crate::model::Timestamp;

const KEY: &str = "paused";

impl Store {
    /// The start of the pause, if espejo is paused.
    ///
    /// # Errors
    /// [`StoreError`] when SQLite refuses.
    pub fn paused_since(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.meta(KEY)?.and_then(|text| text.parse().ok()).map(Timestamp))
    }

    /// Stores the start of a pause, or its end.
    pub fn set_paused(&mut self, since: Option<Timestamp>) {
        self.set_meta(KEY, &since.map(|at| at.0.to_string()).unwrap_or_default());
    }
}

impl ReadOnly {
    /// As [`Store::paused_since`].
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read.
    pub fn paused_since(&self) -> Result<Option<Timestamp>, StoreError> {
        self.0.paused_since()
    }
}
