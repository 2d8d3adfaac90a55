//! Hints that something in the mirror may have changed. Never evidence: paths get lost (an overflowing queue, a replaced
//! root, a network disk), so the listener scans, and scans from time to time without a hint too.
//!
//! The kernel's queue is drained by notify's thread, on which we only sort and hand on; a second thread, ours, sets
//! watches and calls `on`, which may take its time: what does not fit between the two becomes one [`Event::HintAll`].
//!
//! On Linux each folder is watched by itself and by us, not by notify's recursive mode: tool folders cost no watches, a
//! folder that may not be read does not fail the whole, and a new folder is hinted at *after* its watches are set, so
//! that the scan which follows the hint sees whatever was put into it before.
//!
//! There is no hint at what the mirror itself put into a place ([`Hands`]): its answer says as much. Of a folder that the
//! mirror made, what else is in it is hinted at.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use std::{fs, thread};

use notify::event::{AccessKind, AccessMode, CreateKind, EventKind, ModifyKind, RenameMode};
use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::{Hands, is_reserved, sys};
use crate::model::is_tool_folder;
use crate::model::{Event, MirrorPath};

/// Hints between the two threads. More than this at once means that everything is to be looked at anyway.
const QUEUE: usize = 1024;
/// How long notify's thread pauses when it hears of a folder that a scan of ours opened: the kernel tells of each folder twice,
/// and would wake the thread for each. A scan opens fewer folders in this time than the kernel's queue has room for.
const BATCH: Duration = Duration::from_millis(5);

/// A watch on a whole mirror. Dropping it ends it.
#[derive(Debug)]
pub struct Watcher {
    _watches: Arc<Watches>,
    root: PathBuf,
    identity: (u64, u64),
    limited: Arc<AtomicBool>,
}

/// Why there is no watch; the mirror is then polled by scans.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The user's limit of watches is used up.
    #[error(
        "the folder cannot be watched, because the inotify limit for watched folders is used up: espejo scans it every 10 s"
    )]
    Limit,
    /// The user's limit of watching programs is used up.
    #[error(
        "the folder cannot be watched, because the inotify limit for programs is used up: espejo scans it every 10 s"
    )]
    Instances,
    /// Anything else.
    #[error("{} cannot be watched: {why}; espejo scans it every 10 s", root.display())]
    Other {
        /// The root.
        root: PathBuf,
        /// What the system said.
        why: String,
    },
}

impl WatchError {
    /// Whether it is a limit of the system.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        self.mend().is_some()
    }

    /// The command that raises the limit.
    #[must_use]
    pub fn mend(&self) -> Option<&'static str> {
        match self {
            Self::Limit => Some("sysctl fs.inotify.max_user_watches=524288"),
            Self::Instances => Some("sysctl fs.inotify.max_user_instances=512"),
            Self::Other { .. } => None,
        }
    }
}

impl Watcher {
    /// Watches everything beneath `root` (see [`super::Mirror::root`]) and calls `on` with [`Event::Hint`],
    /// [`Event::HintAll`], and [`Event::Opened`] for what is opened while `hands` rest, on a thread of its own, until the watcher is dropped.
    ///
    /// What changed before this returns is not reported: scan after it.
    ///
    /// # Errors
    /// [`WatchError`], with the mend in its words.
    pub fn start(
        root: &Path,
        hands: Arc<Hands>,
        on: impl Fn(Event) + Send + 'static,
    ) -> Result<Self, WatchError> {
        let other = |why: String| WatchError::Other { root: root.to_owned(), why };
        let refused = |error: notify::Error| match &error.kind {
            ErrorKind::MaxFilesWatch => WatchError::Limit,
            ErrorKind::Io(io) if io.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
                WatchError::Instances
            }
            _ => other(error.to_string()),
        };
        let root = root.canonicalize().map_err(|error| other(error.to_string()))?;
        let identity = identity(&root).ok_or_else(|| other("it is not there".to_owned()))?;
        let (sender, receiver) = sync_channel(QUEUE);
        let overflow = Arc::new(AtomicBool::new(false));
        let limited = Arc::new(AtomicBool::new(false));
        let sorter = Sorter {
            root: root.clone(),
            hands: Arc::clone(&hands),
            sender,
            overflow: overflow.clone(),
            limited: limited.clone(),
            paused_ms: Cell::new(0),
        };
        // Links are not followed: a link to `/` in the mirror would have the whole disk watched.
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(move |event| sorter.sort(event), config).map_err(refused)?;
        let watches = Arc::new(Watches { root: root.clone(), watcher: Mutex::new(watcher) });
        watches.add(&root, |_| {}).map_err(refused)?;
        let teller = Teller {
            root: root.clone(),
            hands,
            watches: Arc::downgrade(&watches),
            overflow,
            limited: limited.clone(),
        };
        thread::Builder::new()
            .name("espejo-hints".to_owned())
            .spawn(move || teller.run(&receiver, on))
            .map_err(|error| other(error.to_string()))?;
        Ok(Self { _watches: watches, root, identity, limited })
    }

    /// Whether it still sees everything it can: `false` once the root was removed, replaced or unmounted (the watch is on
    /// what was there before, and says nothing for ever), or when the limit of watches was met later. Cheap; to be asked
    /// with every scan. A dead watcher is to be dropped and started anew.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !self.has_met_limit() && identity(&self.root) == Some(self.identity)
    }

    /// Whether a folder that came later could not be watched, because the limit of watches is used up.
    #[must_use]
    pub fn has_met_limit(&self) -> bool {
        self.limited.load(Ordering::Relaxed)
    }
}

fn identity(root: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::symlink_metadata(root).ok()?;
    found.is_dir().then(|| (found.dev(), found.ino()))
}

#[derive(Debug)]
struct Watches {
    root: PathBuf,
    watcher: Mutex<RecommendedWatcher>,
}

impl Watches {
    fn lock(&self) -> MutexGuard<'_, RecommendedWatcher> {
        self.watcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches `top` and every folder beneath it, if it is a folder of the mirror, and tells all that is in them. Watching one
    /// twice is once.
    ///
    /// Each is watched before it is listed: what appears in between is in the listing, or in an event, or both.
    fn add(&self, top: &Path, mut found: impl FnMut(&Path)) -> notify::Result<()> {
        let mut ahead = vec![top.to_owned()];
        while let Some(folder) = ahead.pop() {
            if !fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir()) || !self.is_watched(&folder) {
                continue;
            }
            match self.lock().watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {}
                Err(error) if matches!(error.kind, ErrorKind::MaxFilesWatch) || folder == self.root => {
                    return Err(error);
                }
                // Gone again, or not ours to read: scans say which.
                Err(_) => continue,
            }
            let Ok(list) = fs::read_dir(&folder) else { continue };
            for entry in list.flatten() {
                found(&entry.path());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    ahead.push(entry.path());
                }
            }
        }
        Ok(())
    }

    fn is_watched(&self, folder: &Path) -> bool {
        match hint(&self.root, folder) {
            Some(Event::Hint(path)) => !is_tool_folder(path.name()),
            Some(_) => true,
            None => false,
        }
    }
}

/// What goes from thread to thread.
enum Sorted {
    /// Something changed.
    Changed(Event),
    /// Something appeared that may be a folder.
    Appeared(Event, PathBuf),
}

/// Runs on notify's thread: sorts, and waits for nothing but [`BATCH`].
struct Sorter {
    root: PathBuf,
    hands: Arc<Hands>,
    sender: SyncSender<Sorted>,
    overflow: Arc<AtomicBool>,
    limited: Arc<AtomicBool>,
    /// When the last pause ended, by the clock of `hands`.
    paused_ms: Cell<u64>,
}

impl Sorter {
    fn sort(&self, event: notify::Result<notify::Event>) {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                if matches!(error.kind, ErrorKind::MaxFilesWatch) {
                    self.limited.store(true, Ordering::Relaxed);
                }
                // Whatever failed, something went unseen.
                return self.send(Sorted::Changed(Event::HintAll));
            }
        };
        // Reading and listing, our own above all, is most of what comes. The end of a write is kept, and what others
        // open is told, as long as there is room.
        if let EventKind::Access(access) = event.kind
            && access != AccessKind::Close(AccessMode::Write)
        {
            if matches!(access, AccessKind::Open(_)) {
                for path in event.paths {
                    if let Some(Event::Hint(place)) = hint(&self.root, &path)
                        && self.hands.is_anothers(&place)
                    {
                        self.sender.try_send(Sorted::Changed(Event::Opened(place))).ok();
                    }
                }
            }
            self.pause();
            return;
        }
        // Comes without a path.
        if event.need_rescan() {
            return self.send(Sorted::Changed(Event::HintAll));
        }
        let may_be_new_folder = match event.kind {
            EventKind::Create(kind) => kind != CreateKind::File,
            EventKind::Modify(ModifyKind::Name(mode)) => mode == RenameMode::To,
            _ => false,
        };
        for path in event.paths {
            match hint(&self.root, &path) {
                Some(hint) if may_be_new_folder => self.send(Sorted::Appeared(hint, path)),
                Some(hint) => self.send(Sorted::Changed(hint)),
                None => {}
            }
        }
    }

    /// Lets the echo of a scan of ours gather. What gathered in the last pause is sorted within the millisecond after it.
    fn pause(&self) {
        if self.hands.are_at_work() && self.hands.now_ms() > self.paused_ms.get() {
            thread::sleep(BATCH);
            self.paused_ms.set(self.hands.now_ms());
        }
    }

    fn send(&self, sorted: Sorted) {
        if let Err(TrySendError::Full(sorted)) = self.sender.try_send(sorted) {
            self.overflow.store(true, Ordering::SeqCst);
            // If the queue was emptied just before the flag was set, nothing would come to have the flag seen.
            self.sender.try_send(sorted).ok();
        }
    }
}

/// What a changed path means; `None` when it is none of the mirror's business.
fn hint(root: &Path, path: &Path) -> Option<Event> {
    let inside = path.strip_prefix(root).ok()?;
    let mut place = MirrorPath::root();
    let mut parts = inside.components().peekable();
    while let Some(part) = parts.next() {
        // A name that is not UTF-8 has no path of its own: its folder is hinted at.
        let Some(next) = part.as_os_str().to_str().and_then(|name| place.join(name).ok()) else { break };
        let is_inside_tool = parts.peek().is_some() && is_tool_folder(next.name());
        if is_inside_tool || is_reserved(&next) {
            return None;
        }
        place = next;
    }
    Some(if place.is_root() { Event::HintAll } else { Event::Hint(place) })
}

/// Runs on our own thread: sets watches and tells, and waits as long as that takes.
struct Teller {
    root: PathBuf,
    hands: Arc<Hands>,
    watches: Weak<Watches>,
    overflow: Arc<AtomicBool>,
    limited: Arc<AtomicBool>,
}

impl Teller {
    fn run(&self, receiver: &Receiver<Sorted>, on: impl Fn(Event)) {
        while let Ok(sorted) = receiver.recv() {
            let (event, appeared) = match sorted {
                Sorted::Changed(event) => (event, None),
                Sorted::Appeared(event, path) => (event, Some(path)),
            };
            if event == Event::HintAll || self.overflow.swap(false, Ordering::SeqCst) {
                // Everything that waits is part of everything. New folders may be among what was lost.
                while receiver.try_recv().is_ok() {}
                self.watch(None, |_| {});
                on(Event::HintAll);
                continue;
            }
            let is_ours = self.is_ours(&event);
            let mut inside = Vec::new();
            if let Some(path) = appeared {
                self.watch(Some(&path), |found| {
                    inside.extend(hint(&self.root, found).filter(|event| is_ours && !self.is_ours(event)));
                });
            }
            if !is_ours {
                on(event);
            }
            inside.into_iter().for_each(&on);
        }
    }

    /// Whether a hint is about something that the mirror put there, and that is as it was then.
    fn is_ours(&self, event: &Event) -> bool {
        let Event::Hint(path) = event else { return false };
        let found = sys::look_at(rustix::fs::CWD, self.root.join(path.as_str()));
        found.is_ok_and(|found| self.hands.have_put(path, &found))
    }

    /// Sets the watches that a new folder needs, or, without one, those that anything may need; tells all that is in them.
    fn watch(&self, new: Option<&Path>, found: impl FnMut(&Path)) {
        // There is no listener once the watches are gone.
        let Some(watches) = self.watches.upgrade() else { return };
        if watches.add(new.unwrap_or(&watches.root), found).is_err() {
            self.limited.store(true, Ordering::Relaxed);
        }
    }
}
