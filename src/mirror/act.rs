//! What every writing act has at hand, and the numbering of acts.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

use super::aside::Aside;
use super::beneath::Made;
use super::names::Names;
use super::root::Root;
use super::sys::{self, Abilities};
use super::{Hands, beneath, errors, is_reserved};
use crate::model::{DiskError, MirrorPath, Timestamp, planted};

/// What lasts from act to act. The holder (of the mirror's mutex) is the only writer.
#[derive(Debug, Default)]
pub(super) struct Bench {
    /// The next act's number.
    pub(super) next: u64,
    /// The root whose left-overs have been dealt with.
    pub(super) recovered: Option<(u64, u64)>,
    /// The paths of the last scan.
    pub(super) names: Names,
}

/// One writing act.
pub(super) struct Act<'a> {
    pub(super) root: &'a Root,
    pub(super) bench: &'a mut Bench,
    pub(super) can: Abilities,
    /// Dates files, and can be set.
    pub(super) clock: &'a super::Clock,
    pub(super) steady_clock: &'a super::Clock,
    pub(super) hands: &'a Hands,
    pub(super) steps: &'a Steps,
}

impl Act<'_> {
    /// Splits a path that an act may be about into its folder and its name.
    pub(super) fn place(path: &MirrorPath) -> Result<(MirrorPath, &str), DiskError> {
        match path.parent() {
            Some(parent) if !is_reserved(path) => Ok((parent, path.name())),
            _ => Err(DiskError::NotOrdinary(path.clone())),
        }
    }

    /// Opens what is in a place for reading.
    pub(super) fn open(&self, spot: &Spot<'_>) -> Result<OwnedFd, Errno> {
        self.hands.open(spot.path);
        sys::open_file(spot.dir, spot.name)
    }

    /// Opens a folder of the mirror, making what is missing of it, durably.
    pub(super) fn make(&self, folder: &MirrorPath) -> Result<Made, DiskError> {
        beneath::make(self.root.dir.as_fd(), folder, Some(self.hands))
    }

    /// Names for one act on something in `folder`.
    pub(super) fn aside(&mut self, folder: &OwnedFd, beside: bool) -> Result<Aside, DiskError> {
        self.bench.next += 1;
        let beside = if beside {
            let again = sys::open_folder(folder, ".");
            Some(again.map_err(|error| errors::failed(&MirrorPath::root(), error))?)
        } else {
            None
        };
        Aside::new(self.root, self.bench.next, beside)
    }

    /// Runs `attempt` with names in `.espejo/tmp`, and once more with names beside the target when that turns out to lie
    /// on another file system (which a device number does not always tell).
    pub(super) fn try_both<T>(
        &mut self,
        spot: Spot<'_>,
        mut attempt: impl FnMut(&mut Self, &Aside) -> Result<T, Stopped>,
    ) -> Result<T, DiskError> {
        if self.can.one_disk {
            let aside = self.aside(spot.dir, false)?;
            match attempt(self, &aside) {
                Ok(done) => return Ok(done),
                Err(Stopped::Failed(error)) => return Err(error),
                Err(Stopped::OtherDisk) => {}
            }
        }
        let aside = self.aside(spot.dir, true)?;
        attempt(self, &aside).map_err(|stopped| match stopped {
            Stopped::Failed(error) => error,
            Stopped::OtherDisk => DiskError::Io(spot.path.clone(), errors::words(Errno::XDEV)),
        })
    }

    /// Something that needs finishing was left in `.espejo/tmp`: the next effect looks there first.
    pub(super) fn left_over(&mut self) {
        self.bench.recovered = None;
    }

    pub(super) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// What the trash is dated by: the later of both clocks. One that was set back must not make old what has only just been
    /// thrown away; one that is ahead only keeps it longer.
    pub(super) fn trashed_at(&self) -> Timestamp {
        (self.clock)().max((self.steady_clock)())
    }
}

/// Why an attempt ended without its result.
#[derive(Debug)]
pub(super) enum Stopped {
    /// It failed.
    Failed(DiskError),
    /// `.espejo/tmp` is on another file system than the target; everything is as before.
    OtherDisk,
}

impl Stopped {
    pub(super) fn at(spot: Spot<'_>, error: Errno) -> Self {
        if error == Errno::XDEV { Self::OtherDisk } else { Self::Failed(spot.failed(error)) }
    }
}

impl From<DiskError> for Stopped {
    fn from(error: DiskError) -> Self {
        Self::Failed(error)
    }
}

/// A place in the mirror, its folder open.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) dir: &'a OwnedFd,
    pub(super) name: &'a str,
    /// The whole path, for answers, notes and the trash.
    pub(super) path: &'a MirrorPath,
}

impl<'a> Spot<'a> {
    pub(super) fn at(&self) -> (BorrowedFd<'a>, &'a str) {
        (self.dir.as_fd(), self.name)
    }

    pub(super) fn failed(&self, error: Errno) -> DiskError {
        errors::failed(self.path, error)
    }

    pub(super) fn changed(&self) -> DiskError {
        DiskError::Changed(self.path.clone())
    }

    /// Makes what happened to the name durable.
    pub(super) fn sync(&self) -> Result<(), DiskError> {
        if planted("rename-not-synced") {
            return Ok(());
        }
        sys::sync_folder(self.dir).map_err(|error| self.failed(error))
    }
}

/// A folder and a name in it.
pub(super) fn at<'a>(dir: &'a impl AsFd, name: &'a str) -> (BorrowedFd<'a>, &'a str) {
    (dir.as_fd(), name)
}

/// The moments inside an act at which a kill or another program's write is most telling. Outside tests this is nothing.
#[derive(Default)]
pub(super) struct Steps {
    #[cfg(test)]
    pub(super) hook: std::sync::Mutex<Option<Hook>>,
}

/// Told each step's name; `true` stops the act there as a kill would.
#[cfg(test)]
pub(super) type Hook = Box<dyn FnMut(&'static str) -> bool + Send>;

/// What a test's kill looks like from inside.
#[cfg(test)]
pub(super) const KILLED: &str = "killed by the test";

impl Steps {
    #[cfg(test)]
    pub(super) fn reach(&self, step: &'static str) -> Result<(), DiskError> {
        let mut hook = self.hook.lock().unwrap();
        if hook.as_mut().is_some_and(|hook| hook(step)) {
            return Err(DiskError::Io(MirrorPath::root(), KILLED.to_owned()));
        }
        Ok(())
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the tests' version uses both")]
    pub(super) fn reach(&self, _step: &'static str) -> Result<(), DiskError> {
        Ok(())
    }
}
