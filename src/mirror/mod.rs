//! The disk edge: performs the disk effects of [`crate::model`] in a real folder, and decides nothing.
//!
//! What it guarantees, whatever else writes to the folder at the same time: a text that an effect did not expect is
//! never replaced and never deleted; no path outside the root is touched, whatever links are planted; nothing is
//! written unless the root is there with its marker; a kill at any instant leaves a state that the next start finishes.
//! The heads of `write`, `aside` and `recover` tell how.
//!
//! It is not: a cache, a queue, or a judge of what a change means. Everything is synchronous; the daemon calls it on a
//! thread that may block.

mod act;
mod aside;
mod beneath;
mod calls;
mod errors;
mod hands;
mod lease;
pub mod lock;
pub mod marker;
mod moves;
mod names;
pub mod part;
mod read;
mod recover;
mod root;
mod runs;
mod scan;
mod storage;
mod sys;
pub mod trash;
pub mod watch;
mod write;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use act::{Act, Bench, Steps};
pub use hands::Hands;
pub use read::{Stamps, copy_out, peek};

use root::{Place, Root};
use sys::Abilities;
pub use trash::Emptied;

use crate::model::{DiskError, DiskReply, Effect, MirrorPath, RootState, StorageEffect, Timestamp};

type Clock = dyn Fn() -> Timestamp + Send + Sync;

/// A folder that is kept in step with a workspace.
pub struct Mirror {
    place: Place,
    id: String,
    clock: Arc<Clock>,
    steady_clock: Arc<Clock>,
    can: Abilities,
    hands: Arc<Hands>,
    bench: Mutex<Bench>,
    steps: Steps,
    lengths: Mutex<part::Lengths>,
}

impl fmt::Debug for Mirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mirror").field("place", &self.place).field("id", &self.id).finish_non_exhaustive()
    }
}

/// Whether the folder at `root` has a marker, of whatever mirror.
#[must_use]
pub fn has_marker(root: &Path) -> bool {
    root.join(marker::FOLDER).join(marker::FILE).exists()
}

/// Puts the marker of the mirror `mirror_id` back into a folder that lost it; one that has it stays as it is. `is_older`: files are
/// missing or differ, so the folder is an older copy until the user says otherwise.
///
/// # Errors
/// [`DiskError::RootNotReady`] when it cannot be written, or another mirror's marker is there.
pub fn put_marker_back(root: &Path, mirror_id: &str, is_older: bool) -> Result<(), DiskError> {
    Place::new(root).put_marker_back(mirror_id, is_older)
}

impl Mirror {
    /// Opens the root for `mirror_id` (one line of text, made once per mirror and kept in the state).
    ///
    /// With `create` the root and its marker are made where they are missing: right for a mirror's first run only.
    /// Without it nothing is made and a root that is not ready is no error: scans say what is wrong, writes are refused,
    /// and both work as soon as the root is back.
    ///
    /// # Errors
    /// [`DiskError::RootNotReady`] when `create` is asked for and the root cannot be made, or belongs to another mirror.
    pub fn open(root: &Path, mirror_id: &str, create: bool) -> Result<Self, DiskError> {
        Self::with_clock(root, mirror_id, create, system_clock)
    }

    /// As [`Mirror::open`], with a clock for everything.
    ///
    /// # Errors
    /// As [`Mirror::open`].
    pub fn with_clock(
        root: &Path,
        mirror_id: &str,
        create: bool,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<Self, DiskError> {
        let clock: Arc<Clock> = Arc::new(clock);
        Self::with_both(root, mirror_id, create, Arc::clone(&clock), clock)
    }

    /// As [`Mirror::open`], with a clock that is never set: nothing in the trash is dated earlier than it says, for what the
    /// trash lets go of is reckoned by it.
    ///
    /// # Errors
    /// As [`Mirror::open`].
    pub fn with_steady_clock(
        root: &Path,
        mirror_id: &str,
        create: bool,
        steady: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Result<Self, DiskError> {
        Self::with_both(root, mirror_id, create, Arc::new(system_clock), Arc::new(steady))
    }

    fn with_both(
        root: &Path,
        mirror_id: &str,
        create: bool,
        clock: Arc<Clock>,
        steady_clock: Arc<Clock>,
    ) -> Result<Self, DiskError> {
        let place = Place::new(root);
        if create {
            place.create(mirror_id)?;
        }
        Ok(Self {
            place,
            id: mirror_id.to_owned(),
            clock,
            steady_clock,
            can: Abilities { one_disk: true, exchange: true, no_replace: true },
            hands: Arc::default(),
            bench: Mutex::new(Bench::default()),
            steps: Steps::default(),
            lengths: Mutex::new(part::Lengths::new()),
        })
    }

    /// Performs one disk effect. The root is found and checked anew each time.
    ///
    /// # Errors
    /// The [`DiskError`] that says who acts next. [`Effect::Scan`] has none: its answer says what is wrong.
    pub fn perform(&self, effect: &Effect) -> Result<DiskReply, DiskError> {
        self.hands.at(|| self.perform_now(effect))
    }

    fn perform_now(&self, effect: &Effect) -> Result<DiskReply, DiskError> {
        if matches!(effect, Effect::Scan) {
            return Ok(DiskReply::Scan(self.scan()));
        }
        if let Effect::Storage(StorageEffect::Hash(path)) = effect {
            // It may take minutes, so nothing is held: no act waits for it.
            let root = self.place.open(&self.id).map_err(|state| self.place.not_ready(&state))?;
            return storage::hash(&root, path);
        }
        let (root, mut bench) = self.ready().map_err(|state| self.place.not_ready(&state))?;
        let mut act = self.act(&root, &mut bench);
        match effect {
            Effect::ReadFile(path) => {
                drop(bench);
                self.hands.open(path);
                read::read(&root, path, (self.clock)()).map(DiskReply::File)
            }
            Effect::WriteFile { path, bytes, expect } => {
                write::write(&mut act, path, bytes, *expect).map(DiskReply::Written)
            }
            Effect::Rename { from, to } => moves::rename(&mut act, from, to).map(|()| DiskReply::Finished),
            Effect::TrashFile { path, expect } => {
                moves::trash_file(&mut act, path, *expect).map(|()| DiskReply::Finished)
            }
            Effect::RemoveFolder(path) => moves::remove_folder(&mut act, path).map(|()| DiskReply::Finished),
            Effect::Storage(effect) => self.perform_storage(&mut act, effect),
            Effect::Scan
            | Effect::ListWorkspaces
            | Effect::ListPages { .. }
            | Effect::FetchPage(_)
            | Effect::CreatePage { .. }
            | Effect::UpdatePage { .. }
            | Effect::TrashPage(_)
            | Effect::Board(_)
            | Effect::Search(_)
            | Effect::Work(_) => {
                Err(DiskError::Io(MirrorPath::root(), "this effect is not one for the disk".to_owned()))
            }
        }
    }

    /// Removes from `.espejo/trash` the days that ended before `before`.
    ///
    /// # Errors
    /// [`DiskError::RootNotReady`], or what stopped the removal.
    pub fn purge_trash(&self, before: Timestamp) -> Result<Emptied, DiskError> {
        let (root, _bench) = self.ready().map_err(|state| self.place.not_ready(&state))?;
        trash::purge(&root, before)
    }

    /// Whether the folder can be read now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready().is_ok()
    }

    /// How often this mirror has been taken up and changed, as its folder says. It waits for no act.
    #[must_use]
    pub fn runs(&self) -> Option<u64> {
        self.place.open(&self.id).ok().and_then(|root| runs::noted(&root))
    }

    /// Whether the folder is there with a lower count than this, or with none yet, as while a copy is put in its place.
    #[must_use]
    pub fn is_behind(&self, count: u64) -> bool {
        self.place.open(&self.id).is_ok_and(|root| runs::is_behind(&root, count))
    }

    /// Notes in the folder how often it has been taken up.
    ///
    /// # Errors
    /// [`DiskError::RootNotReady`], or what stopped the note.
    pub fn note_runs(&self, number: u64) -> Result<(), DiskError> {
        let (root, _bench) = self.ready().map_err(|state| self.place.not_ready(&state))?;
        runs::note(&root, number)
    }

    /// Notes `next` in the folder, but not in one that [`Mirror::is_behind`]: an older copy stays known as one. Returns
    /// whether it is noted.
    ///
    /// # Errors
    /// As [`Mirror::note_runs`].
    pub fn count_on(&self, count: u64, next: u64) -> Result<bool, DiskError> {
        let (root, _bench) = self.ready().map_err(|state| self.place.not_ready(&state))?;
        if runs::is_behind(&root, count) {
            return Ok(false);
        }
        runs::note(&root, next).map(|()| true)
    }

    /// Whether this mirror is at work, for its watcher.
    #[must_use]
    pub fn hands(&self) -> Arc<Hands> {
        Arc::clone(&self.hands)
    }

    /// The root's path, its own links resolved as far as it could be found yet. The watcher is started on this.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.place.path()
    }

    /// Has `told` called at each step of each act, on the act's thread.
    #[cfg(test)]
    pub(crate) fn at_each_step(&self, mut told: impl FnMut() + Send + 'static) {
        let hook: act::Hook = Box::new(move |_| {
            told();
            false
        });
        *self.steps.hook.lock().unwrap() = Some(hook);
    }

    fn scan(&self) -> crate::model::Scan {
        let (root, mut bench) = match self.ready() {
            Ok(ready) => ready,
            Err(state) => return scan::empty(state),
        };
        if let Err(error) = recover::sweep(&mut self.act(&root, &mut bench)) {
            tracing::warn!("tidying .espejo/{}: {error}", aside::FOLDER);
        }
        scan::scan(&self.place, &root, &self.id, (self.clock)(), &self.steps, &mut bench.names)
    }

    /// The root, checked, with whatever a killed run left in it dealt with.
    fn ready(&self) -> Result<(Root, MutexGuard<'_, Bench>), RootState> {
        // A panic in an earlier act leaves nothing half-done in the bench itself.
        let mut bench = self.bench.lock().unwrap_or_else(PoisonError::into_inner);
        let root = self.place.open(&self.id)?;
        if bench.recovered != Some(root.identity) {
            match recover::recover(&mut self.act(&root, &mut bench)) {
                Ok(()) => bench.recovered = Some(root.identity),
                // Looking goes on without; a write that needs the place fails for the same reason and says so.
                Err(error) => tracing::warn!("tidying .espejo/{}: {error}", aside::FOLDER),
            }
        }
        Ok((root, bench))
    }

    fn act<'a>(&'a self, root: &'a Root, bench: &'a mut Bench) -> Act<'a> {
        let (clock, steady_clock) = (&*self.clock, &*self.steady_clock);
        Act { root, bench, can: self.can, clock, steady_clock, hands: &self.hands, steps: &self.steps }
    }
}

/// Whether a path is espejo's own, which no effect may name. Case aside, because some file systems leave it aside.
fn is_reserved(path: &MirrorPath) -> bool {
    path.components().next().is_some_and(|first| first.eq_ignore_ascii_case(marker::FOLDER))
        || path.components().any(|name| name.starts_with(aside::TEMP_PREFIX))
}

#[expect(clippy::disallowed_methods, reason = "the one clock of this edge; tests hand in their own")]
fn system_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
