//! Requests of another espejo process, a doctor or a dry run, count in the one limiter like the engine's own.

use crate::engine::schedule::pace::{Class, LENT_MS, WINDOW_MS};
use crate::engine::state::Engine;
use crate::model::{Lent, Timestamp};
use crate::store::StoreError;

impl Engine {
    /// Lends `slots` requests to be made within [`LENT_MS`], or says when to ask again.
    ///
    /// # Errors
    /// [`StoreError`] when the loan cannot be recorded.
    pub fn lend(&mut self, slots: u32, now: Timestamp) -> Result<Result<Lent, Timestamp>, StoreError> {
        self.advance(now);
        let at = self.cx.pace.earliest(Class::Asked, slots, false, self.cx.now);
        if at > self.cx.now {
            return Ok(Err(at));
        }
        let until = self.cx.now.plus_ms(LENT_MS);
        Ok(Ok(count_elsewhere(self, slots, until)?))
    }

    /// Takes back what was lent: the borrower has made `made` of the requests, whose answers have come, and makes no more. Only
    /// those go on counting.
    ///
    /// # Errors
    /// [`StoreError`] when that cannot be recorded.
    pub fn give_back(&mut self, lent: &Lent, made: u32, now: Timestamp) -> Result<(), StoreError> {
        self.advance(now);
        self.cx.pace.give_back(lent, made, self.cx.now);
        self.cx.store.give_back(lent, made, self.cx.now)?;
        self.commit()
    }

    /// Counts `slots` requests that were made elsewhere a moment ago, even if the limit has no room for them.
    ///
    /// # Errors
    /// [`StoreError`] when they cannot be recorded.
    pub fn note_made(&mut self, slots: u32, now: Timestamp) -> Result<(), StoreError> {
        self.advance(now);
        count_elsewhere(self, slots, self.cx.now).map(drop)
    }
}

/// The requests have numbers of their own in the log: the effects of each run count from one, and a loan outlives a run.
fn count_elsewhere(engine: &mut Engine, slots: u32, answered: Timestamp) -> Result<Lent, StoreError> {
    let now = engine.cx.now;
    let lent = Lent { first: engine.cx.pace.number_after(now.0.unsigned_abs()), slots };
    for number in lent.numbers() {
        engine.cx.pace.sent(number, Class::Asked, 0, now);
        engine.cx.pace.answered(number, answered);
        engine.cx.store.note_request(number, now)?;
        engine.cx.store.note_answer(number, answered, now.plus_ms(-2 * WINDOW_MS));
    }
    engine.commit()?;
    Ok(lent)
}
