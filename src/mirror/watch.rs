//! Hints that something in the mirror may have changed. Never evidence: paths get lost (a tree that is copied in, an
//! overflowing queue, a replaced root), so whoever listens scans, and scans from time to time without a hint too.
//!
//! The kernel's queue is drained by a thread that only sorts and hands on; `on` runs on a second thread and may take its
//! time: what does not fit between the two becomes one [`Event::HintAll`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::{is_reserved, is_tool_folder};
use crate::model::{Event, MirrorPath};

/// Hints between the two threads. More than this at once means that everything is to be looked at anyway.
const QUEUE: usize = 1024;

/// A watch on a whole mirror. Dropping it ends it.
#[derive(Debug)]
pub struct Watcher {
    _watcher: RecommendedWatcher,
    root: PathBuf,
    identity: (u64, u64),
    limited: Arc<AtomicBool>,
}

/// Why there is no watch; the mirror is then polled by scans.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The user's limit of watches is used up.
    #[error(
        "the system's limit of watched folders is used up, so changes are found by polling; \
         raise it with: sysctl fs.inotify.max_user_watches=524288"
    )]
    Limit,
    /// The user's limit of watching programs is used up.
    #[error(
        "the system's limit of watching programs is used up, so changes are found by polling; \
         raise it with: sysctl fs.inotify.max_user_instances=512"
    )]
    Instances,
    /// Anything else.
    #[error("{} cannot be watched, so changes are found by polling: {why}", root.display())]
    Other {
        /// The root.
        root: PathBuf,
        /// What the system said.
        why: String,
    },
}

impl Watcher {
    /// Watches everything beneath `root` (see [`super::Mirror::root`]) and calls `on` with [`Event::Hint`] and
    /// [`Event::HintAll`], on a thread of its own, until the watcher is dropped.
    ///
    /// What changed before this returns is not reported: scan after it.
    ///
    /// # Errors
    /// [`WatchError`], with the mend in its words.
    pub fn start(root: &Path, on: impl Fn(Event) + Send + 'static) -> Result<Self, WatchError> {
        let other = |why: String| WatchError::Other { root: root.to_owned(), why };
        let root = root.canonicalize().map_err(|error| other(error.to_string()))?;
        let identity = identity(&root).ok_or_else(|| other("it is not there".to_owned()))?;
        let limited = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = sync_channel(QUEUE);
        let overflow = Arc::new(AtomicBool::new(false));
        let sorter =
            Sorter { root: root.clone(), sender, overflow: overflow.clone(), limited: limited.clone() };
        thread::Builder::new()
            .name("espejo-hints".to_owned())
            .spawn(move || hand_on(&receiver, &overflow, on))
            .map_err(|error| other(error.to_string()))?;
        // Links are not followed: a link to `/` in the mirror would have the whole disk watched.
        let config = Config::default().with_follow_symlinks(false);
        let watch = || {
            let sorter = sorter.clone();
            let mut watcher = RecommendedWatcher::new(move |event| sorter.sort(event), config)?;
            watcher.watch(&root, RecursiveMode::Recursive)?;
            Ok::<_, notify::Error>(watcher)
        };
        // A folder that vanishes while the watches are being set makes the whole call fail.
        let mut watcher = watch();
        for _ in 0..3 {
            match &watcher {
                Err(error) if matches!(error.kind, ErrorKind::PathNotFound) => watcher = watch(),
                _ => break,
            }
        }
        let watcher = watcher.map_err(|error| match &error.kind {
            ErrorKind::MaxFilesWatch => WatchError::Limit,
            ErrorKind::Io(io) if io.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
                WatchError::Instances
            }
            _ => other(error.to_string()),
        })?;
        Ok(Self { _watcher: watcher, root, identity, limited })
    }

    /// Whether it still sees everything it can: `false` once the root was removed, replaced or unmounted (the watch is on
    /// what was there before, and says nothing for ever), or when the limit of watches was met later. Cheap; to be asked
    /// with every scan. A dead watcher is to be dropped and started anew.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !self.limited.load(Ordering::Relaxed) && identity(&self.root) == Some(self.identity)
    }
}

fn identity(root: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::symlink_metadata(root).ok()?;
    found.is_dir().then(|| (found.dev(), found.ino()))
}

/// Runs on notify's thread: sorts, never waits.
#[derive(Clone)]
struct Sorter {
    root: PathBuf,
    sender: SyncSender<Event>,
    overflow: Arc<AtomicBool>,
    limited: Arc<AtomicBool>,
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
                return self.send(Event::HintAll);
            }
        };
        // Reading and listing, our own above all, is most of what comes. The end of a write is kept.
        if let EventKind::Access(access) = event.kind
            && access != AccessKind::Close(AccessMode::Write)
        {
            return;
        }
        // Comes without a path.
        if event.need_rescan() {
            return self.send(Event::HintAll);
        }
        for path in &event.paths {
            if let Some(hint) = hint(&self.root, path) {
                self.send(hint);
            }
        }
    }

    fn send(&self, event: Event) {
        if let Err(TrySendError::Full(event)) = self.sender.try_send(event) {
            self.overflow.store(true, Ordering::SeqCst);
            // If the queue was emptied just before the flag was set, nothing would come to have the flag seen.
            self.sender.try_send(event).ok();
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
        if is_reserved(&next) {
            return None;
        }
        let is_inside_tool = parts.peek().is_some() && is_tool_folder(next.name());
        place = next;
        if is_inside_tool {
            return None;
        }
    }
    Some(if place.is_root() { Event::HintAll } else { Event::Hint(place) })
}

/// Runs on our own thread: hands on, waits as long as it takes.
fn hand_on(receiver: &Receiver<Event>, overflow: &AtomicBool, on: impl Fn(Event)) {
    while let Ok(event) = receiver.recv() {
        if event == Event::HintAll || overflow.swap(false, Ordering::SeqCst) {
            // Everything that waits is part of everything.
            while receiver.try_recv().is_ok() {}
            on(Event::HintAll);
        } else {
            on(event);
        }
    }
}
