//! What changed about conflicts and is not applied yet.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::MirrorPath;

/// State of conflicts in this run only.
#[derive(Debug, Default)]
pub(crate) struct Conflicts {
    /// Moves of page and canvas files since the list last followed them, by the item's id. They are applied together,
    /// because two files may have swapped their names.
    pub(crate) moved: BTreeMap<String, (MirrorPath, MirrorPath)>,
    /// The folders in which settled conflicts had their copies.
    pub(crate) settled_in: BTreeSet<MirrorPath>,
}

impl Conflicts {
    /// Notes that the file of an item has another path.
    pub(crate) fn file_moved(&mut self, item: &str, from: &MirrorPath, to: &MirrorPath) {
        let (_, last) = self.moved.entry(item.to_owned()).or_insert((from.clone(), to.clone()));
        last.clone_from(to);
    }
}
