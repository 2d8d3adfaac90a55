//! What was taken away a short while ago, for the guards: an accident that arrives in portions is one accident, also when
//! espejo is started anew between them.

use std::collections::BTreeMap;

use crate::model::{FileId, FileNode, Seen, Timestamp};
use crate::store::{Store, StoreError};

/// Removals this recent count together with what is about to go.
const RECENT_MS: i64 = 600_000;
/// Where they outlive the process: a time, a side and a file a line.
const KEY: &str = "stored_removals";

/// Where a file was taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// From the folder, as it had left the service.
    Here,
    /// From the service, as it had left the folder; or it may have been, and nobody has heard yet.
    There,
}

/// The recent removals.
#[derive(Debug, Default)]
pub(super) struct Removals(BTreeMap<FileId, (Timestamp, Gone)>);

impl Removals {
    /// Those that an earlier run has noted. A time from the future, of a clock that was set back, becomes now.
    pub(super) fn open(store: &Store, now: Timestamp) -> Result<Self, StoreError> {
        let text = store.meta(KEY)?.unwrap_or_default();
        let noted = text.lines().filter_map(|line| {
            let (at, rest) = line.split_once(' ')?;
            let (side, id) = rest.split_once(' ')?;
            let side = if side == "here" { Gone::Here } else { Gone::There };
            Some((FileId::new(id).ok()?, (Timestamp(at.parse().ok()?).min(now), side)))
        });
        Ok(Self(noted.collect()))
    }

    /// Forgets what was long ago.
    pub(super) fn forget_old(&mut self, now: Timestamp) {
        self.0.retain(|_, (at, _)| now.since_ms(*at) < RECENT_MS);
    }

    /// Notes that a file is gone, or may be from now on.
    pub(super) fn note(
        &mut self,
        store: &mut Store,
        file: &FileId,
        gone: Gone,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.forget_old(now);
        self.0.insert(file.clone(), (now, gone));
        self.save(store)
    }

    /// It is certainly there still.
    pub(super) fn withdraw(&mut self, store: &mut Store, file: &FileId) -> Result<(), StoreError> {
        if self.0.remove(file).is_some() { self.save(store) } else { Ok(()) }
    }

    /// How many have gone from one side, those aside that are listed still and count as about to.
    pub(super) fn count(&self, gone: Gone, files: &BTreeMap<FileId, FileNode>) -> usize {
        let is_listed = |id: &FileId| files.get(id).is_some_and(|node| node.seen == Seen::Listed);
        self.0.iter().filter(|(id, (_, side))| *side == gone && !is_listed(id)).count()
    }

    fn save(&self, store: &mut Store) -> Result<(), StoreError> {
        let line = |(id, (at, gone)): (&FileId, &(Timestamp, Gone))| {
            let side = if *gone == Gone::Here { "here" } else { "there" };
            format!("{} {side} {id}", at.0)
        };
        store.set_meta(KEY, &self.0.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}
