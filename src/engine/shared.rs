//! The border between pages and personal storage: whose request leaves next, and whose an answer is.

use super::flight::{Choice, Flight, Purpose};
use super::folder::Folder;
use super::storage::Task;
use super::{Engine, pace, storage_turn};
use crate::model::{DiskError, Effect, EffectId, FolderId, Outcome, PollState, StorageEvent, Timestamp};

fn purpose((effect, task): (Effect, Task)) -> (Effect, Purpose) {
    (effect, Purpose::Storage(task))
}

impl Engine {
    pub(super) fn next_storage_act(&mut self) -> Choice {
        self.storage.next_disk(&mut storage_turn!(self)).map(purpose)
    }

    pub(super) fn next_beside(&mut self) -> Choice {
        if !self.folder.root.is_ready() || self.commands.asked.is_all() || self.service.paused.is_some() {
            return None;
        }
        self.storage.next_beside(&storage_turn!(self)).map(purpose)
    }

    pub(super) fn next_storage_change(&mut self) -> Choice {
        self.storage.next_change(&mut storage_turn!(self)).map(purpose)
    }

    pub(super) fn next_storage_fetch(&mut self) -> Choice {
        if !self.folder.root.is_ready() {
            return None;
        }
        let look = self.storage.next_look(&storage_turn!(self))?;
        self.cx.pace.rest(false);
        Some(purpose(look))
    }

    /// The folders of the storage that are polled.
    pub(super) fn storage_targets(&self) -> impl Iterator<Item = (Option<&FolderId>, &PollState)> {
        self.storage.polls(&self.cx).filter(|_| self.folder.root.is_ready())
    }

    pub(super) fn next_storage_fetch_due(&self, now: Timestamp) -> Timestamp {
        if self.folder.root.is_ready() && self.storage.wants_look(now) {
            // Four downloads at once may be what it waits for: they tell when they end.
            self.cx.pace.earliest(self.storage.lists.look_class(), 1, false, now).max(now.plus_ms(50))
        } else {
            self.storage.next_due(now)
        }
    }

    pub(super) fn storage_done(&mut self, flight: &Flight, id: EffectId, task: Task, outcome: Outcome) {
        match &outcome {
            Outcome::Service(result) => {
                self.cx.pace.answered(id.0, self.cx.now);
                self.cx.store.note_answer(id.0, self.cx.now, self.cx.now.plus_ms(-2 * pace::WINDOW_MS));
                match result {
                    Ok(_) => self.service_answers(),
                    Err(error) => self.service_fails(flight, error),
                }
            }
            Outcome::Disk(Err(DiskError::RootNotReady(why))) => self.folder.root_is_lost(why, self.cx.now),
            _ => {}
        }
        let was_refused = self.storage.is_refused();
        self.storage.done(&mut storage_turn!(self), task, (flight.tick, flight.sent_at), outcome);
        if !was_refused && self.storage.is_refused() {
            self.polling.lists.ask_for_workspaces_soon(self.cx.now, true);
        }
        if let Some(at) = self.storage.scan_due.take() {
            self.folder.watch.scan_by(at);
        }
    }

    pub(super) fn storage_event(&mut self, event: &StorageEvent) {
        let StorageEvent::Progress { id, .. } = event;
        let task = self.cx.in_flight.flights.get(id).and_then(|flight| match &flight.purpose {
            Purpose::Storage(task) => Some(task),
            _ => None,
        });
        self.storage.happened(task, event);
    }
}

impl Folder {
    fn root_is_lost(&mut self, why: &str, now: Timestamp) {
        self.root.state = Some(Err(why.to_owned()));
        self.watch.scan_by(now.plus_ms(10_000));
    }
}

/// The list of a folder of the storage.
pub(super) fn storage_list(folder: Option<FolderId>) -> (Effect, Purpose) {
    purpose(Task::list(folder))
}
