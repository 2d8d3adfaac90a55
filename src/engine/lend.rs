//! Requests of another espejo process, a doctor or a search, count in the one limiter like the engine's own.

use super::pace::{Class, WINDOW_MS};
use super::{Engine, Timestamp};
use crate::store::StoreError;

/// A borrowed request is sent and answered within this time.
pub const LENT_MS: i64 = 30_000;

impl Engine {
    /// Lends `slots` requests to be made within [`LENT_MS`]: `Ok(None)` when they may be made, else when to ask again.
    ///
    /// # Errors
    /// [`StoreError`] when the loan cannot be recorded.
    pub fn lend(&mut self, slots: u32, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.advance(now);
        let at = self.cx.pace.earliest(Class::Asked, slots, false, self.cx.now);
        if at > self.cx.now {
            return Ok(Some(at));
        }
        self.note_lent(slots, now)?;
        Ok(None)
    }

    /// Counts `slots` requests that are made elsewhere, or were made a moment ago, even if the limit has no room for
    /// them.
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be recorded.
    pub fn note_lent(&mut self, slots: u32, now: Timestamp) -> Result<(), StoreError> {
        self.advance(now);
        let back = self.cx.now.plus_ms(LENT_MS);
        for _ in 0..slots {
            self.cx.in_flight.last_effect += 1;
            self.cx.pace.sent(self.cx.in_flight.last_effect, Class::Asked, 0, self.cx.now);
            self.cx.pace.answered(self.cx.in_flight.last_effect, back);
            self.cx.store.note_request(self.cx.in_flight.last_effect, self.cx.now)?;
            self.cx.store.note_answer(
                self.cx.in_flight.last_effect,
                back,
                self.cx.now.plus_ms(-2 * WINDOW_MS),
            );
        }
        self.commit()
    }
}
