//! The guard of creations: pages, whiteboards and presentations that wait to be made, with those made lately. Files copied in
//! by mistake would be new pages for everybody. One count for all kinds.

use super::attention::Needs;
use super::context::Context;
use super::removals::Removals;
use super::{Engine, create, on_core};
use crate::model::{Code, Timestamp};
use crate::plan::guard::many_creations;
use crate::store::{Store, StoreError};

/// Creations this recent count together with those that wait.
const RECENT_MS: i64 = 600_000;
/// Key in the state: `yes` while the user's approval holds, which is until nothing waits.
const APPROVED: &str = "creations_approved";
/// A creation takes as many requests: one that makes it, and one that fills it.
const REQUESTS_EACH: usize = 2;

/// What waits to be made, and what was made lately.
#[derive(Debug)]
pub(super) struct Creating {
    recent: Removals,
    approved: bool,
    /// Of the last count: what waits while the guard holds.
    held: Option<usize>,
    /// What was counted: the time of the scan, and the numbers of files without an item.
    counted: Option<(Timestamp, usize, usize)>,
}

impl Creating {
    pub(super) fn open(store: &mut Store, now: Timestamp) -> Result<Self, StoreError> {
        let recent = Removals::open(store, "creations", RECENT_MS, |_| false, now)?;
        let approved = store.meta(APPROVED)?.as_deref() == Some("yes");
        Ok(Self { recent, approved, held: None, counted: None })
    }

    /// Whether nothing is made now.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Notes an item that is about to be made, by its path.
    pub(super) fn note(&mut self, path: &str, cx: &mut Context) {
        self.recent.note(&mut cx.store, [path], true, cx.now);
        self.counted = None;
    }

    /// The user approves what is held; before the first count of a run, what that would hold.
    pub(super) fn approve(&mut self, store: &mut Store) {
        if self.is_held() || self.counted.is_none() {
            self.approve_all(store);
        }
    }

    /// The user approves whatever waits now.
    pub(super) fn approve_all(&mut self, store: &mut Store) {
        self.held = None;
        self.set_approved(true, store);
    }

    fn set_approved(&mut self, approved: bool, store: &mut Store) {
        if self.approved != approved {
            self.approved = approved;
            self.counted = None;
            store.set_meta(APPROVED, if approved { "yes" } else { "no" });
        }
    }
}

/// The user has seen which files will become new items, and agreed, before the first run.
///
/// # Errors
/// [`StoreError`] when it cannot be recorded.
pub fn approve_new_files(engine: &mut Engine) -> Result<(), StoreError> {
    engine.folder.root.creating.approve_all(&mut engine.cx.store);
    engine.cx.store.commit()
}

/// Counts what waits, if it may have changed since the last count.
pub(super) fn count(engine: &mut Engine) {
    if !engine.folder.watch.is_quiet(engine.cx.now) {
        return;
    }
    let files = (engine.pages.trees.untracked_files.len(), on_core::core_creations_wait(engine));
    let now = Some((engine.folder.watch.scanned, files.0, files.1));
    if engine.folder.root.creating.counted == now {
        return;
    }
    engine.folder.root.creating.counted = now;
    let most = engine.cx.settings.pages.max_creates;
    let creating = &engine.folder.root.creating;
    let recent = creating.recent.count(engine.cx.now, |_| false);
    let approved = creating.approved;
    // Most often there are so few files that they need not be looked at.
    let waiting = if files.0 + files.1 + recent > most || approved { waiting(engine) } else { 0 };
    let held = many_creations(waiting, recent, most) && !approved;
    let creating = &mut engine.folder.root.creating;
    creating.held = held.then_some(waiting);
    creating.recent.hold(&mut engine.cx.store, held, engine.cx.now);
    // Before the first comparison, no file is known to be new.
    let is_first = engine.folder.root.bootstrap || on_core::core_is_first(engine);
    if waiting == 0 && !is_first {
        let creating = &mut engine.folder.root.creating;
        creating.set_approved(false, &mut engine.cx.store);
    }
}

/// The number of pages, whiteboards and presentations that wait to be made.
fn waiting(engine: &Engine) -> usize {
    create::waiting(&engine.pages, &engine.folder, &engine.cx) + on_core::core_creations_wait(engine)
}

/// Reports what is held.
pub(super) fn tell(creating: &Creating, needs: &mut Needs, cx: &Context) {
    let Some(waiting) = creating.held else { return };
    let most = cx.settings.pages.max_creates;
    let minutes = (waiting * REQUESTS_EACH).div_ceil(cx.settings.requests_per_minute.max(1) as usize);
    let reason = format!(
        "new files are on hold: {waiting}, with those made in the last 10 minutes more than max_creates = {most}; to make them takes about {minutes} min"
    );
    needs.tell(Code::CreationsHeld, "", &reason, "remove the files, or run espejo approve");
}
