//! Parts of the mirror that were off: an area that the config switches off, and a workspace that is not chosen or that the
//! service does not list. What leaves the folder meanwhile was not deleted: it is written anew when the part is on again.

use crate::core::content::naming::{PRESENTATIONS, STORAGE, WHITEBOARDS};
use crate::engine::on_core::let_go_core_items;
use crate::engine::state::Engine;
use crate::engine::state::folder::Off;
use crate::model::{MirrorPath, PageId, Scan, StorageMode};
use crate::store::StoreError;

/// Key in the state: the parts that were off at the last scan, as JSON.
const KEY: &str = "off";

/// Applies a scan to the parts that are on again since the scan before it, which may be of an earlier run.
pub(crate) fn take_scan(engine: &mut Engine, scan: &Scan) -> Result<(), StoreError> {
    let now = off_now(engine);
    let before = match engine.folder.root.off.take() {
        Some(before) => before,
        None => {
            let text = engine.cx.store.meta(KEY)?.unwrap_or_default();
            serde_json::from_str(&text).unwrap_or_default()
        }
    };
    let returning: Off = before.difference(&now).cloned().collect();
    if !returning.is_empty() {
        let returns = |path: &MirrorPath| is_in(path, &returning) && !is_in(path, &now);
        engine.let_go_unseen(scan, &returns);
        let_go_missing(engine, &returns);
        // What an area brings when it is switched on was meant.
        engine.folder.root.creation_guard.approve_all(&mut engine.cx.store);
    }
    if before != now {
        engine.cx.store.set_meta(KEY, &serde_json::json!(now).to_string());
    }
    engine.folder.root.off = Some(now);
    Ok(())
}

fn off_now(engine: &Engine) -> Off {
    let settings = &engine.cx.settings;
    let areas = [
        (WHITEBOARDS, settings.boards.whiteboards),
        (PRESENTATIONS, settings.boards.presentations),
        (STORAGE, settings.storage.mode != StorageMode::Off),
    ];
    let areas = areas.into_iter().filter(|(_, is_on)| !is_on).map(|(name, _)| name.to_owned());
    let trees = &engine.pages.trees;
    let away = trees.workspaces.values().filter(|node| trees.is_away(&node.seen.id));
    areas.chain(away.map(|node| node.folder.clone())).collect()
}

/// Whether a path lies in one of these parts.
fn is_in(path: &MirrorPath, parts: &Off) -> bool {
    let mut names = path.components();
    let (first, second) = (names.next(), names.next());
    match first {
        Some(top @ (PRESENTATIONS | STORAGE)) => parts.contains(top),
        Some(workspace) => {
            parts.contains(workspace)
                || second.is_some_and(|area| area == WHITEBOARDS && parts.contains(area))
        }
        None => false,
    }
}

/// Releases what counted as missing already.
fn let_go_missing(engine: &mut Engine, returns: &dyn Fn(&MirrorPath) -> bool) {
    let is_back = |path: Option<&MirrorPath>| path.is_some_and(returns);
    let pages = engine.pages.trees.pages.values();
    let pages = pages.filter(|node| node.missing_since.is_some() && is_back(node.missing_from.as_ref()));
    for page in pages.map(|node| node.id.clone()).collect::<Vec<PageId>>() {
        engine.pages.bring_back(&page, &mut engine.cx);
    }
    let_go_core_items(engine, returns);
}
