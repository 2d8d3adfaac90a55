//! The requests that stored files need, in the order of their turn, so that the choice costs the same with any number
//! of waiting files; and the placements that wait for a commit.

use std::collections::{BTreeMap, BTreeSet};

use super::Task;
use crate::engine::flight::InFlight;
use crate::model::{Effect, FileId, FolderId, MirrorPath, StorageFile, Timestamp};
use crate::plan::stored::Decision;

/// So many placements wait for one commit.
const TOGETHER: usize = 4;

/// What is to be decided, and what is to be requested.
#[derive(Debug, Default)]
pub(in crate::engine) struct Queue {
    /// All files whose runtime has a link, a wait, or a pending hash. It may hold further files.
    pub(super) stirring: BTreeSet<FileId>,
    /// Files that are to be decided.
    pub(super) dirty: BTreeSet<FileId>,
    /// Files with the time before which no disk act is due. This set is small, while thousands of files may be
    /// active.
    pub(super) act_at: BTreeMap<FileId, Timestamp>,
    /// Files that left their places, each with the local-only file whose content is compared with it.
    pub(super) compared: BTreeMap<FileId, MirrorPath>,
    /// The requests that files need, as of their last decision.
    pub(super) requests: RequestQueue,
    /// First placements that are recorded. They leave after the commit of their records, which they share.
    pub(super) recorded: BTreeMap<FileId, (Effect, Task)>,
    /// Those whose record is committed.
    pub(super) placements: BTreeMap<FileId, (Effect, Task)>,
    /// Alternates between lists and links.
    pub(super) turn: bool,
}

impl Queue {
    /// Whether an effect of this file is running, or waits for its turn.
    pub(super) fn is_busy(&self, file: &FileId, in_flight: &InFlight) -> bool {
        in_flight.is_file_busy(file) || self.recorded.contains_key(file) || self.placements.contains_key(file)
    }

    /// Whether an effect of this file is running, or the file is to be decided or compared.
    pub(super) fn is_unsettled(&self, file: &FileId, in_flight: &InFlight) -> bool {
        self.dirty.contains(file) || self.compared.contains_key(file) || in_flight.is_file_busy(file)
    }

    /// Whether placements wait for a commit.
    pub(in crate::engine) fn awaits_commit(&self) -> bool {
        !self.recorded.is_empty()
    }

    /// Whether no more placements wait with those that do: after a kill, the links of all of them are asked for again.
    pub(in crate::engine) fn is_full(&self) -> bool {
        self.recorded.len() >= TOGETHER
    }

    /// Lets the recorded placements leave, after a commit.
    pub(in crate::engine) fn committed(&mut self) {
        self.placements.append(&mut self.recorded);
    }

    /// Drops the placements whose targets are meant.
    pub(in crate::engine) fn withdraw(&mut self, is_meant: impl Fn(&MirrorPath) -> bool) {
        let stays = |task: &Task| !matches!(task, Task::Place { to, .. } if is_meant(to));
        self.recorded.retain(|_, (_, task)| stays(task));
        self.placements.retain(|_, (_, task)| stays(task));
    }

    /// Removes a file that needs nothing before its next event.
    pub(super) fn rests(&mut self, file: &FileId) {
        self.dirty.remove(file);
        self.requests.remove(file);
    }
}

/// The place of a file in its line: the folder and the position, which is only set for downloads.
type Place = (Option<FolderId>, i64, FileId);

/// The files with a pending request, by the decision that needs it. Downloads are in the service's order, those of one
/// folder together.
#[derive(Debug, Default)]
pub(super) struct RequestQueue {
    places: BTreeMap<FileId, (Decision, Place)>,
    lines: BTreeMap<Decision, BTreeSet<Place>>,
}

impl RequestQueue {
    /// Sets the request that a file needs.
    pub(super) fn set(&mut self, file: &StorageFile, decision: Decision) {
        self.remove(&file.id);
        let place = match decision {
            Decision::Fetch => (file.folder.clone(), in_order(file.position), file.id.clone()),
            _ => (None, 0, file.id.clone()),
        };
        self.lines.entry(decision).or_default().insert(place.clone());
        self.places.insert(file.id.clone(), (decision, place));
    }

    pub(super) fn remove(&mut self, id: &FileId) {
        if let Some((decision, place)) = self.places.remove(id) {
            self.lines.entry(decision).or_default().remove(&place);
        }
    }

    /// The decision about a file that needs a request.
    pub(super) fn get(&self, id: &FileId) -> Option<Decision> {
        self.places.get(id).map(|(decision, _)| *decision)
    }

    /// The files with this decision, in the order of their turn.
    pub(super) fn of(&self, decision: Decision) -> impl Iterator<Item = &FileId> {
        self.lines.get(&decision).into_iter().flatten().map(|(_, _, file)| file)
    }

    /// The files that wait for a GET.
    pub(super) fn looks(&self) -> impl Iterator<Item = &FileId> {
        self.of(Decision::Fetch).chain(self.of(Decision::Confirm))
    }

    /// The number of files that wait for a GET.
    pub(super) fn looks_left(&self) -> usize {
        self.places.len() - self.lines.get(&Decision::TrashThere).map_or(0, BTreeSet::len)
    }
}

/// A number with the order that [`f64::total_cmp`] gives positions.
fn in_order(position: f64) -> i64 {
    let bits = position.to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_have_their_order() {
        let positions = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 1e-300, 1.0, 1.5, f64::INFINITY, f64::NAN];
        assert!(positions.windows(2).all(|pair| in_order(pair[0]) < in_order(pair[1])));
    }
}
