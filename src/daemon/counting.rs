//! The count that the folder and the state have, while espejo runs: each change comes with the next count. A copy of either
//! that was made before the change has a lower count, which shows that it is older. Nothing is sent from a folder with a
//! lower count.
//!
//! The first change after a rest is counted when it begins, beside it, and not when it has happened: the process may be
//! killed while the answer is awaited. What has happened is counted as well, because a copy may have been made between the
//! two. Further changes are counted together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};

use crate::engine::{Activity, Engine};
use crate::mirror::Mirror;
use crate::mirror::lock::Lock;
use crate::model::{DiskError, Effect, ServiceError, StorageEffect, Timestamp};
use crate::store::StoreError;

/// The time from one count to the next, in milliseconds: each writes a file and commits.
const APART_MS: i64 = 15_000;
/// How long the last count of a run may take.
const LAST_WITHIN: Duration = Duration::from_secs(2);

/// The folder, and the count that it has.
pub(super) struct CountedFolder {
    mirror: Arc<Mirror>,
    /// 0 while it could not be counted.
    count: AtomicU64,
    went_back: AtomicBool,
}

impl CountedFolder {
    /// Whether an older copy was put in its place.
    pub(super) fn went_back(&self) -> bool {
        self.went_back.load(Ordering::Relaxed)
    }

    fn look(&self) {
        let count = self.count.load(Ordering::Relaxed);
        if count > 0 && self.mirror.is_behind(count) {
            self.went_back.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether a change may be sent: not if the folder is an older copy than the one that is mirrored.
pub(super) async fn may_be_sent(folder: Option<Arc<CountedFolder>>) -> Result<(), ServiceError> {
    let Some(folder) = folder else { return Ok(()) };
    let looked = Arc::clone(&folder);
    let look = tokio::task::spawn_blocking(move || looked.look()).await;
    if look.is_err() || folder.went_back() {
        return Err(ServiceError::Unreachable("nothing is sent while the folder is compared".to_owned()));
    }
    Ok(())
}

/// The counts of a run.
pub(super) struct Counting {
    folder: Arc<CountedFolder>,
    lock: Arc<Lock>,
    due: Option<Timestamp>,
    last: Option<Timestamp>,
    noting: JoinSet<(u64, Result<bool, DiskError>)>,
}

/// A count, and whether the folder has it: not if the folder went back before it.
pub(super) type Noted = Result<(u64, Result<bool, DiskError>), JoinError>;

impl Counting {
    /// Counts on from what the start of the run noted.
    pub(super) fn new(mirror: Arc<Mirror>, lock: Arc<Lock>, count: Option<u64>) -> Self {
        let (count, went_back) = (AtomicU64::new(count.unwrap_or(0)), AtomicBool::new(false));
        let folder = Arc::new(CountedFolder { mirror, count, went_back });
        Self { folder, lock, due: None, last: None, noting: JoinSet::new() }
    }

    pub(super) fn folder(&self) -> &Arc<CountedFolder> {
        &self.folder
    }

    /// Is told of each effect that begins: one that may change something is counted. Each run sweeps, and changes nothing that
    /// a copy could take back.
    pub(super) fn begins(&mut self, effect: &Effect, now: Timestamp) {
        if !effect.only_looks() && !matches!(effect, Effect::Storage(StorageEffect::Sweep(_))) {
            self.make_due(now);
        }
    }

    /// Counts beside the loop if it is time. Returns when it will be.
    pub(super) fn go_on(
        &mut self,
        happened: &[Activity],
        engine: &mut Engine,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        if !happened.is_empty() {
            self.make_due(now);
        }
        if !self.noting.is_empty() {
            // Its end wakes the loop.
            return Ok(None);
        }
        if self.due.is_some_and(|due| due <= now) {
            self.begin(engine, now)?;
        }
        Ok(self.due)
    }

    /// The next count that has ended; `None` at once if none is under way.
    pub(super) async fn next(&mut self) -> Option<Noted> {
        self.noting.join_next().await
    }

    /// Counts what happened since the last count, for a run that ends.
    pub(super) async fn end(&mut self, engine: &mut Engine, now: Timestamp) -> Result<(), StoreError> {
        self.wait(engine).await?;
        if self.due.is_some() && self.noting.is_empty() {
            self.begin(engine, now)?;
            self.wait(engine).await?;
        }
        Ok(())
    }

    async fn wait(&mut self, engine: &mut Engine) -> Result<(), StoreError> {
        while let Ok(Some(noted)) = tokio::time::timeout(LAST_WITHIN, self.next()).await {
            self.noted(noted, engine)?;
        }
        Ok(())
    }

    fn make_due(&mut self, now: Timestamp) {
        let earliest = self.last.map_or(now, |last| now.max(last.plus_ms(APART_MS)));
        self.due.get_or_insert(earliest);
    }

    fn begin(&mut self, engine: &mut Engine, now: Timestamp) -> Result<(), StoreError> {
        (self.due, self.last) = (None, Some(now));
        let (count, next) = match self.folder.count.load(Ordering::Relaxed) {
            0 => return Ok(()),
            count => (count, count + 1),
        };
        // The state knows first that the folder may have it, and last that the folder has it. So a kill in between is not
        // taken for an older copy of either.
        engine.note_count(next, false)?;
        let (mirror, lock) = (Arc::clone(&self.folder.mirror), Arc::clone(&self.lock));
        self.noting.spawn_blocking(move || {
            let noted = mirror.count_on(count, next);
            drop(lock);
            (next, noted)
        });
        Ok(())
    }

    /// Records at once that the folder has the count: until then an older copy looks like a kill before the note.
    pub(super) fn noted(&mut self, noted: Noted, engine: &mut Engine) -> Result<(), StoreError> {
        match noted {
            Ok((count, Ok(true))) => {
                self.folder.count.store(count, Ordering::Relaxed);
                engine.note_count(count, true)?;
            }
            Ok((_, Ok(false))) => self.folder.went_back.store(true, Ordering::Relaxed),
            // No root, no space, no permission: told elsewhere. The next change is counted.
            Ok((_, Err(error))) => tracing::debug!(%error, "a change is not counted in the folder"),
            Err(error) => tracing::debug!(%error, "a change is not counted in the folder"),
        }
        Ok(())
    }
}
