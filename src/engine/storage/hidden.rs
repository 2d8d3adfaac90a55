//! Missing files that may have a name, or be in a folder, that cannot be read. The state remembers since when they are
//! missing: a name that hides them may be younger than that, but it is older than the next run.

use std::collections::BTreeMap;

use super::local::Local;
use super::{Runtime, Storage, guards};
use crate::model::{FileId, FileNode, Seen, Timestamp, Unreadable};
use crate::plan::barrier::Barrier;
use crate::store::{Store, StoreError};

/// Key in the state: the hidden files, as identifiers and times in JSON.
const KEY: &str = "unreadable_hides_stored";

/// The hidden files as the state has them.
#[derive(Debug, Default)]
pub(super) struct Hidden {
    stored: String,
}

impl Hidden {
    /// Reads the hidden files of the last run, and since when they are missing, into `runtimes`. A time in the future,
    /// from a clock that was set back, becomes now.
    pub(super) fn open(
        store: &Store,
        files: &BTreeMap<FileId, FileNode>,
        runtimes: &mut BTreeMap<FileId, Runtime>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let stored = store.meta(KEY)?.unwrap_or_default();
        let hidden: Vec<(String, i64)> = serde_json::from_str(&stored).unwrap_or_default();
        for (id, since) in hidden {
            if let Some(id) = FileId::new(&id).ok().filter(|id| files.contains_key(id)) {
                runtimes.entry(id).or_default().local = Local::Missing(Timestamp(since).min(now));
            }
        }
        Ok(Self { stored })
    }

    /// Stores the hidden files if they changed.
    pub(super) fn keep(&mut self, store: &mut Store, hidden: String) {
        if hidden != self.stored {
            store.set_meta(KEY, &hidden);
            self.stored = hidden;
        }
    }
}

/// The hidden files as the state has them; empty if there are none.
pub(super) fn as_text<'a>(hidden: impl Iterator<Item = (&'a FileNode, Timestamp, &'a Unreadable)>) -> String {
    let hidden: Vec<(&str, i64)> =
        hidden.map(|(node, since, _)| (node.remote.id.as_str(), since.0)).collect();
    if hidden.is_empty() { String::new() } else { serde_json::json!(hidden).to_string() }
}

impl Storage {
    /// The missing files that an unreadable item may hide, each with the start of its absence and that item.
    pub(in crate::engine) fn hidden<'a>(
        &'a self,
        barrier: &'a Barrier,
    ) -> impl Iterator<Item = (&'a FileNode, Timestamp, &'a Unreadable)> {
        let missing = self.runtimes.iter().filter_map(|(id, runtime)| match runtime.local {
            Local::Missing(since) => Some((self.files.get(id)?, since)),
            _ => None,
        });
        let listed = missing.filter(|(node, _)| node.seen == Seen::Listed);
        listed.filter_map(|(node, since)| Some((node, since, guards::hides(barrier, node, since)?)))
    }
}
