//! The part of personal storage that the user wants listed now, and the progress of that.

use std::collections::BTreeSet;

use super::names::FolderTree;
use super::request_queue::Queue;
use super::walk::{Lists, needs_user};
use super::{Direction, FOLDER, Storage};
use crate::engine::flight::InFlight;
use crate::model::{FileId, FolderId, MirrorPath, Timestamp};
use crate::plan::stored::Decision;

/// Whether a path is in the storage folder.
pub(in crate::engine) fn is_in(path: &str) -> bool {
    path.strip_prefix(FOLDER).is_some_and(|rest| rest.starts_with('/'))
}

impl Storage {
    /// The listed folders, with the time of each last list.
    pub(in crate::engine) fn listed(&self) -> impl Iterator<Item = (&Option<FolderId>, Timestamp)> {
        let on = self.is_on();
        let all =
            self.lists.walks.iter().filter(move |(folder, walk)| {
                on && self.tree.is_listed(folder.as_ref()) && walk.poll.last.0 > 0
            });
        all.map(|(folder, walk)| (folder, walk.poll.last))
    }

    /// The folders whose lists cover a place, and whether new folders in them are included, which is not so if the
    /// place is a file.
    pub(in crate::engine) fn folders_at(&self, place: &MirrorPath) -> (BTreeSet<Option<FolderId>>, bool) {
        let mut found = BTreeSet::new();
        if !self.is_on() {
            return (found, false);
        }
        let is_root = MirrorPath::new(FOLDER).is_ok_and(|root| root.is_within(place));
        if is_root {
            found.insert(None);
        }
        let beneath = self.tree.folders.values().filter(|node| {
            node.listed && (is_root || node.at.as_ref().is_some_and(|at| at.is_within(place)))
        });
        found.extend(beneath.map(|node| Some(node.remote.id.clone())));
        if !found.is_empty() {
            return (found, true);
        }
        let file =
            self.files.values().find(|node| node.base.as_ref().is_some_and(|base| base.path == *place));
        found.extend(file.map(|node| node.remote.folder.clone()));
        (found, false)
    }

    /// Whether a folder still needs a list that is issued after the tick `since`.
    pub(in crate::engine) fn is_wanted(&self, folder: &Option<FolderId>, since: u64) -> bool {
        self.tree.is_listed(folder.as_ref())
            && self.lists.walks.get(folder).is_some_and(|walk| walk.looked <= since && !needs_user(walk))
    }

    /// Whether the files of these folders, except `others`, are as in the last list, or cannot be.
    pub(in crate::engine) fn follows(
        &self,
        folders: &BTreeSet<Option<FolderId>>,
        others: &BTreeSet<FileId>,
        in_flight: &InFlight,
    ) -> bool {
        let waits = [Direction::Disk, Direction::Reading].iter().any(|one| self.rests.0.contains_key(one));
        self.files
            .values()
            .filter(|node| folders.contains(&node.remote.folder) && !others.contains(&node.remote.id))
            .all(|node| {
                let id = &node.remote.id;
                let is_asked = self.queue.requests.get(id).is_some_and(|asked| asked != Decision::TrashThere);
                self.is_troubled(node) || !self.queue.is_unsettled(id, in_flight) && (!is_asked || waits)
            })
    }
}

impl FolderTree {
    /// Folders in these that were never listed.
    pub(in crate::engine) fn new_folders_in(
        &self,
        folders: &BTreeSet<Option<FolderId>>,
    ) -> Vec<Option<FolderId>> {
        if folders.is_empty() {
            return Vec::new();
        }
        let new = self
            .folders
            .values()
            .filter(|node| node.listed && node.poll.last.0 == 0 && folders.contains(&node.remote.parent));
        new.map(|node| Some(node.remote.id.clone())).filter(|folder| !folders.contains(folder)).collect()
    }
}

impl Lists {
    /// Requests lists of these folders now, issued after `tick`.
    pub(in crate::engine) fn walk_now(
        &mut self,
        folders: &BTreeSet<Option<FolderId>>,
        now: Timestamp,
        tick: u64,
    ) {
        for folder in folders {
            if let Some(walk) = self.walks.get_mut(folder) {
                walk.hurry();
            }
            self.walk_by(folder.as_ref(), now, tick);
        }
    }
}

impl Queue {
    /// Files whose content is still to be downloaded.
    pub(in crate::engine) fn behind(&self) -> BTreeSet<FileId> {
        self.requests.of(Decision::Fetch).cloned().collect()
    }
}
