//! The requests that stored files need, in the order of their turn, so that the choice costs the same with any number
//! of waiting files.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::model::{FileId, FolderId, StorageFile, Timestamp};
use crate::plan::stored::Decision;

/// What is to be decided, and what is under way.
#[derive(Debug, Default)]
pub(in crate::engine) struct Queue {
    /// All files whose runtime has a link, a wait, or a pending hash. It may hold further files.
    pub(super) stirring: BTreeSet<FileId>,
    /// Files that are to be decided.
    pub(super) dirty: BTreeSet<FileId>,
    /// Files with the time before which no disk act is due. This set is small, while thousands of files may be
    /// active.
    pub(super) act_at: BTreeMap<FileId, Timestamp>,
    /// The requests that files need, as of their last decision.
    pub(super) request_queue: RequestQueue,
    /// Alternates between lists and links.
    pub(super) turn: bool,
}

/// The place of a file in the queue of downloads: files of one folder together, in the service's order.
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

/// The files with a pending request, by kind of request.
#[derive(Debug, Default)]
pub(super) struct RequestQueue {
    /// Files to be downloaded, with the place of each in the queue.
    fetches: BTreeMap<FileId, Place>,
    line: BTreeSet<Place>,
    confirmations: BTreeSet<FileId>,
    trashes: BTreeSet<FileId>,
}

impl RequestQueue {
    /// Sets the request that a file needs; decisions without a request remove it.
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

    /// Files to be downloaded, in the order of the queue.
    pub(super) fn fetches(&self) -> impl Iterator<Item = &FileId> {
        self.line.iter().map(|place| &place.file)
    }

    /// Files that left their list and must be fetched by id.
    pub(super) fn confirmations(&self) -> impl Iterator<Item = &FileId> {
        self.confirmations.iter()
    }

    /// Files to be moved to the service's trash.
    pub(super) fn trashes(&self) -> impl Iterator<Item = &FileId> {
        self.trashes.iter()
    }

    /// The number of files that wait for a GET.
    pub(super) fn looks(&self) -> usize {
        self.fetches.len() + self.confirmations.len()
    }
}
