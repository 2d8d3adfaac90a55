//! What stored files want of the service, ordered by who is next, so that choosing costs the same however many wait.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::Task;
use crate::model::{FileId, FolderId, StorageFile, Timestamp};
use crate::plan::stored::Decision;

/// What is to be decided, and what is under way.
#[derive(Debug, Default)]
pub(in crate::engine) struct Queue {
    /// All files whose moment has a link, a time to wait for, or something to be hashed, and perhaps others.
    pub(super) stirring: BTreeSet<FileId>,
    /// Files whose next act is not known to be nothing.
    pub(super) dirty: BTreeSet<FileId>,
    /// Files with which nothing is done on disk before a time: few, while thousands may be active.
    pub(super) act_at: BTreeMap<FileId, Timestamp>,
    /// What files want of the service, by their last decision.
    pub(super) request_queue: RequestQueue,
    pub(super) under_way: Vec<Task>,
    /// Whose turn it is: a list's, or a link's.
    pub(super) turn: bool,
}

/// Where a file stands in the line of downloads: those of one folder together, in the service's order.
#[derive(Debug, Clone)]
struct Place {
    folder: Option<FolderId>,
    position: f64,
    file: FileId,
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        let position = || self.position.total_cmp(&other.position);
        self.folder.cmp(&other.folder).then_with(position).then_with(|| self.file.cmp(&other.file))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Place {}

/// Each file with a request to be made for it, and which.
#[derive(Debug, Default)]
pub(super) struct RequestQueue {
    /// Files to be fetched, and where each stands in the line.
    fetches: BTreeMap<FileId, Place>,
    line: BTreeSet<Place>,
    confirmations: BTreeSet<FileId>,
    trashes: BTreeSet<FileId>,
}

impl RequestQueue {
    /// What a file wants from now on: any other decision than a request is none.
    pub(super) fn set(&mut self, file: &StorageFile, decision: Decision) {
        self.remove(&file.id);
        let id = file.id.clone();
        match decision {
            Decision::Fetch => {
                let place = Place { folder: file.folder.clone(), position: file.position, file: id.clone() };
                self.line.insert(place.clone());
                self.fetches.insert(id, place);
            }
            Decision::Confirm => drop(self.confirmations.insert(id)),
            Decision::TrashThere => drop(self.trashes.insert(id)),
            _ => {}
        }
    }

    pub(super) fn remove(&mut self, id: &FileId) {
        if let Some(place) = self.fetches.remove(id) {
            self.line.remove(&place);
        }
        self.confirmations.remove(id);
        self.trashes.remove(id);
    }

    pub(super) fn wants_fetch(&self, id: &FileId) -> bool {
        self.fetches.contains_key(id)
    }

    pub(super) fn contains(&self, id: &FileId) -> bool {
        self.wants_fetch(id) || self.confirmations.contains(id) || self.trashes.contains(id)
    }

    /// Files to be fetched, the next one first.
    pub(super) fn fetches(&self) -> impl Iterator<Item = &FileId> {
        self.line.iter().map(|place| &place.file)
    }

    /// Files that left their list and are asked for by themselves.
    pub(super) fn confirmations(&self) -> impl Iterator<Item = &FileId> {
        self.confirmations.iter()
    }

    /// Files for the service's trash.
    pub(super) fn trashes(&self) -> impl Iterator<Item = &FileId> {
        self.trashes.iter()
    }

    /// How many files wait for a look.
    pub(super) fn looks(&self) -> usize {
        self.fetches.len() + self.confirmations.len()
    }
}
