//! The guard of creations: pages, whiteboards and presentations that wait to be made, with those made lately. Files copied in
//! by mistake would be new pages for everybody. One count for all kinds.

use crate::engine::act::create;
use crate::engine::on_core;
use crate::engine::state::{Context, CreationGuard, Engine, Needs};
use crate::model::Code;
use crate::plan::guard::many_creations;
use crate::store::StoreError;

/// A creation takes as many requests: one that makes it, and one that fills it.
const REQUESTS_EACH: usize = 2;

/// The user has seen which files will become new items, and agreed, before the first run.
///
/// # Errors
/// [`StoreError`] when it cannot be recorded.
pub fn approve_new_files(engine: &mut Engine) -> Result<(), StoreError> {
    engine.folder.root.creation_guard.approve_all(&mut engine.cx.store);
    engine.cx.store.commit()
}

/// Counts what waits, if it may have changed since the last count.
pub(crate) fn count(engine: &mut Engine) {
    if !engine.folder.watch.is_quiet(engine.cx.now) {
        return;
    }
    let files = (engine.pages.trees.untracked_files.len(), on_core::core_creations_wait(engine));
    let now = Some((engine.folder.watch.scanned, files.0, files.1));
    if engine.folder.root.creation_guard.counted == now {
        return;
    }
    engine.folder.root.creation_guard.counted = now;
    let most = engine.cx.settings.pages.max_creates;
    let guard = &engine.folder.root.creation_guard;
    let recent = guard.recent.count(engine.cx.now, |_| false);
    let approved = guard.approved;
    // Most often there are so few files that they need not be looked at.
    let waiting = if files.0 + files.1 + recent > most || approved { waiting(engine) } else { 0 };
    let held = many_creations(waiting, recent, most) && !approved;
    let guard = &mut engine.folder.root.creation_guard;
    guard.held = held.then_some(waiting);
    guard.recent.hold(&mut engine.cx.store, held, engine.cx.now);
    // Before the first comparison, no file is known to be new.
    let is_first = engine.folder.root.bootstrap || on_core::core_is_first(engine);
    if waiting == 0 && !is_first {
        let guard = &mut engine.folder.root.creation_guard;
        guard.set_approved(false, &mut engine.cx.store);
    }
}

/// The number of pages, whiteboards and presentations that wait to be made.
fn waiting(engine: &Engine) -> usize {
    create::waiting(&engine.pages, &engine.folder, &engine.cx) + on_core::core_creations_wait(engine)
}

/// Reports what is held.
pub(crate) fn tell(guard: &CreationGuard, needs: &mut Needs, cx: &Context) {
    let Some(waiting) = guard.held else { return };
    let most = cx.settings.pages.max_creates;
    let minutes = (waiting * REQUESTS_EACH).div_ceil(cx.settings.requests_per_minute.max(1) as usize);
    let reason = format!(
        "new files are on hold: {waiting}, with those made in the last 10 minutes more than max_creates = {most}; to make them takes about {minutes} min"
    );
    needs.tell(Code::CreationsHeld, "", &reason, "remove the files, or run espejo approve");
}
