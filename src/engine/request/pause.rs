//! A pause that a user requested: no request leaves and no download begins until the user ends it. The folder is still
//! followed, and effects under way end. To the pages it is the same as a service that is away.

use crate::engine::state::{Context, Engine, Health};
use crate::model::Timestamp;

impl Engine {
    /// Since when espejo is paused; `None` if it is not.
    #[must_use]
    pub fn paused_since(&self) -> Option<Timestamp> {
        self.service.paused
    }
}

impl Health {
    /// Begins or ends a pause. A pause that has begun already keeps its beginning.
    pub(crate) fn pause(&mut self, on: bool, cx: &mut Context) {
        let since = on.then(|| self.paused.unwrap_or(cx.now));
        if since != self.paused {
            tracing::info!("{}", if on { "paused: no requests are sent" } else { "the pause is over" });
            self.paused = since;
            cx.store.set_paused(since);
        }
    }
}
