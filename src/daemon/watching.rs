//! The watch on the folder, started anew when it dies. Watches are set on a thread of their own, because that walks over the whole
//! tree. Where the system's limit is met, the folder is scanned instead, and the next try comes after minutes: each try takes all
//! watches that are left, and other programs get none meanwhile.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::mpsc;

use crate::mirror::Mirror;
use crate::mirror::watch::{WatchError, Watcher};
use crate::model::Event;

/// After how many checks a limit that was met is tried again: one minute, two, four, eight, and then fifteen.
const RESTS: [u32; 5] = [6, 12, 24, 48, 90];

/// What is to be told of the watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    /// The fact.
    pub(super) reason: String,
    /// The remedy.
    pub(super) action: String,
}

/// What a check found.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// A scan is the only way to see changes.
    pub(super) scans: bool,
    /// What is to be told from now on, if that is known anew.
    pub(super) told: Option<Option<Trouble>>,
}

/// A start of the watch: not ended yet, or what came of it.
type Begun = Arc<Mutex<Option<Result<Watcher, WatchError>>>>;

/// How the watch is.
enum State {
    /// Watches are being set, since so many checks.
    Begins(Begun, u32),
    Watches(Watcher),
    /// It is tried again after so many checks.
    Rests(u32),
}

pub(super) struct Watch {
    mirror: Arc<Mirror>,
    hints: mpsc::UnboundedSender<Event>,
    state: State,
    /// How often the limit was met since there was a watch.
    limits_met: usize,
    /// That there is no watch for another reason was logged.
    warned: bool,
}

impl Watch {
    pub(super) fn new(mirror: Arc<Mirror>, hints: mpsc::UnboundedSender<Event>) -> Self {
        let begun = begin(&mirror, &hints);
        Self { mirror, hints, state: State::Begins(begun, 0), limits_met: 0, warned: false }
    }

    /// Looks at the watch, and starts it anew where it died.
    pub(super) fn check(&mut self) -> Checked {
        let ended = match &mut self.state {
            State::Begins(begun, checks) => {
                let ended = begun.lock().unwrap_or_else(PoisonError::into_inner).take();
                if ended.is_none() {
                    *checks += 1;
                    // The first check comes with the start.
                    return Checked { scans: *checks > 2, told: None };
                }
                ended
            }
            State::Watches(watcher) if watcher.is_alive() => return Checked::default(),
            State::Watches(watcher) if watcher.has_met_limit() => Some(Err(WatchError::Limit)),
            State::Watches(_) | State::Rests(0) => None,
            State::Rests(checks) => {
                *checks -= 1;
                return Checked { scans: true, told: None };
            }
        };
        match ended {
            Some(Ok(watcher)) => {
                (self.limits_met, self.warned) = (0, false);
                self.state = State::Watches(watcher);
                Checked { scans: false, told: Some(None) }
            }
            Some(Err(error)) => {
                let rests = match error.is_limit() {
                    true => RESTS[self.limits_met.min(RESTS.len() - 1)],
                    // Mostly a root that is not there, which costs nothing to find.
                    false => 0,
                };
                // Also lets go of the watches that were set.
                self.state = State::Rests(rests);
                let told = trouble(&error);
                if told.is_some() {
                    self.limits_met += 1;
                } else if !std::mem::replace(&mut self.warned, true) {
                    tracing::warn!("{error}");
                }
                Checked { scans: true, told: told.map(Some) }
            }
            None => {
                self.state = State::Begins(begin(&self.mirror, &self.hints), 0);
                Checked { scans: true, told: None }
            }
        }
    }
}

/// What is to be told of a limit. Of a root that is not there the engine tells.
fn trouble(error: &WatchError) -> Option<Trouble> {
    let command = error.mend()?;
    let action = format!("{command} (in /etc/sysctl.d for good); espejo tries again within 15 minutes");
    Some(Trouble { reason: error.to_string(), action })
}

/// Sets the watches beside the loop. What changed before they were set is found by a scan after that.
fn begin(mirror: &Arc<Mirror>, hints: &mpsc::UnboundedSender<Event>) -> Begun {
    let begun = Begun::default();
    let (mirror, hints, place) = (Arc::clone(mirror), hints.clone(), Arc::clone(&begun));
    let start = move || {
        let news = hints.clone();
        // The loop may have ended; a hint is then worth nothing.
        let hand_on = move |event| drop(news.send(event));
        let started = Watcher::start(mirror.root(), mirror.hands(), hand_on);
        let is_watched = started.is_ok();
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        if is_watched {
            drop(hints.send(Event::HintAll));
        }
    };
    if let Err(error) = thread::Builder::new().name("espejo-watch".to_owned()).spawn(start) {
        let root = std::path::PathBuf::new();
        let failed = WatchError::Other { root, why: format!("no thread can be started: {error}") };
        *begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(Err(failed));
    }
    begun
}
