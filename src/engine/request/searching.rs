//! Searches at the service that a user requested: one at a time, in order, under the one limiter. Their results are
//! returned and change nothing.

use crate::engine::schedule::pace::Class;
use crate::engine::state::{Engine, Purpose, Searching};
use crate::model::{Effect, Found, Search, ServiceError, ServiceReply, Timestamp};
use crate::store::StoreError;

impl Engine {
    /// The result of each search since the last call, in the order in which they were requested: what was found, or one
    /// sentence that says why there is nothing.
    pub fn take_found(&mut self) -> Vec<Result<Found, String>> {
        std::mem::take(&mut self.commands.searching.told)
    }

    /// A mark that is the same as long as a search without the service finds the same.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    pub fn searchable_mark(&self) -> Result<Option<String>, StoreError> {
        self.cx.store.meta("searchable")
    }

    /// The next search. A user waits for it, so it leaves before all other requests.
    pub(crate) fn next_search(&mut self) -> Option<(Effect, Purpose)> {
        if self.commands.searching.under_way
            || !self.service.may_ask_more(&self.cx)
            || !self.cx.pace.allows(Class::Asked, 1, false, self.cx.now)
        {
            return None;
        }
        let search = self.commands.searching.waiting.pop_front()?;
        self.commands.searching.under_way = true;
        Some((Effect::Search(Box::new(search)), Purpose::Search))
    }

    /// When the next search may leave.
    pub(crate) fn next_search_due(&self, now: Timestamp) -> Option<Timestamp> {
        let waits = !self.commands.searching.under_way && !self.commands.searching.waiting.is_empty();
        waits.then(|| self.cx.pace.earliest(Class::Asked, 1, false, now))
    }
}

impl Searching {
    pub(crate) fn search(&mut self, search: Search) {
        self.waiting.push_back(search);
    }

    pub(crate) fn searched(&mut self, result: Result<ServiceReply, ServiceError>) {
        self.under_way = false;
        let told = match result {
            Ok(ServiceReply::Found(found)) => Ok(found),
            Ok(_) => Err("the service's answer does not match the request".to_owned()),
            Err(error) => Err(sentence(&error)),
        };
        self.told.push(told);
    }
}

fn sentence(error: &ServiceError) -> String {
    let mend = match error {
        ServiceError::Forbidden(_) => "give the token the scope search:read",
        ServiceError::Unauthorized(_) => "espejo init takes a new token",
        _ => "try again later",
    };
    format!("{error}; {mend}, or omit --remote to search the mirror")
}
