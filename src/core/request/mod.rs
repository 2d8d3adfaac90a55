//! What users ask for, and what they chose: approvals, items to be fetched now, and which areas are mirrored.

use std::collections::BTreeMap;

use super::content::naming;
use super::guard;
use super::items::{Item, Local};
use super::observe::{identity, list};
use super::state::{Area, Core, Want};
use crate::model::{MirrorPath, WorkspaceId};

/// The workspaces as they are now.
pub fn set_areas(core: &mut Core<'_>, areas: BTreeMap<WorkspaceId, Area>) {
    let is_same = |(id, area): (&WorkspaceId, &Area)| {
        let known = core.state.areas.get(id);
        known.is_some_and(|known| Area { list: known.list.clone(), ..area.clone() } == *known)
    };
    if areas.len() == core.state.areas.len() && areas.iter().all(is_same) {
        return;
    }
    let mut old = std::mem::take(&mut core.state.areas);
    for (id, mut area) in areas {
        if let Some(known) = old.remove(&id) {
            area.list = known.list;
        }
        core.state.areas.insert(id, area);
    }
    core.state.items.mark_all();
    core.state.scan_by(core.now);
}

/// Whether the guard of creations holds.
pub fn hold_creations(core: &mut Core<'_>, are_held: bool) {
    if core.state.creations_held != are_held {
        core.state.creations_held = are_held;
        core.state.items.mark_all();
    }
}

/// An item whose file disappeared while nothing was looked at there was not deleted: it gets a new one.
pub fn let_go(core: &mut Core<'_>, key: super::ItemKey) {
    identity::let_come_back(core, key);
}

/// Releases what a guard held, and files with problems that the user means: at and beneath these paths, or everywhere. The barrier
/// has the approval already; without a path, what a place may hide is not meant.
pub fn approve(core: &mut Core<'_>, paths: &[MirrorPath]) {
    let is_meant = |path: &MirrorPath| paths.iter().any(|wanted| path.is_within(wanted));
    let now = core.now;
    let items: Vec<Item> = core.state.items.all().cloned().collect();
    for item in items {
        let place =
            item.last_file().map(|fact| fact.path.clone()).or_else(|| naming::home(core.state, &item));
        if !paths.is_empty() && !place.as_ref().is_some_and(is_meant) {
            continue;
        }
        let is_gone = matches!(item.local, Local::Gone { .. });
        if paths.is_empty() && guard::hidden_by(core.barrier, &item).is_some() {
            continue;
        }
        if item.wait.is_none() && !is_gone && item.is_listed() {
            continue;
        }
        core.state.items.edit(item.key, |item| item.approved = true);
        // A problem that may be meant is one no more.
        core.state.items.edit_file(item.key, |fact| {
            if fact.problem.as_ref().is_some_and(crate::model::Problem::may_be_meant) {
                fact.problem = None;
            }
        });
    }
    let spaces: Vec<WorkspaceId> = core.state.areas.keys().cloned().collect();
    spaces.iter().for_each(|space| list::list_by(core, space, now));
    core.state.items.mark_all();
    core.state.scan_by(now);
}

/// Fetches the items at and beneath a path now, and tries again what was refused about them. Returns how many they are.
pub fn fetch_now(core: &mut Core<'_>, place: &MirrorPath) -> usize {
    let items: Vec<Item> = core.state.items.all().cloned().collect();
    let mut count = 0;
    for item in items {
        let path = item.last_file().map(|fact| fact.path.clone()).or_else(|| naming::home(core.state, &item));
        if !path.is_some_and(|path| path.is_within(place)) {
            continue;
        }
        count += 1;
        core.state.runtime(item.key).failures.1 = core.now;
        let rows: Vec<super::Seq> = core.state.journal.of(item.key).map(|act| act.sent).collect();
        for sent in rows {
            core.state.journal.edit(sent, |act| act.failing.until = act.failing.until.min(core.now));
        }
        if item.is_listed() {
            core.state.wanted.entry(item.key).or_insert(Want::Fetch);
        }
        core.state.items.dirty.insert(item.key);
    }
    count
}

/// Notes which items are ignored: those whose file, or the place where it belongs, is.
pub fn note_ignored(core: &mut Core<'_>, ignores: &dyn Fn(&MirrorPath) -> bool) {
    let items: Vec<Item> = core.state.items.all().cloned().collect();
    for item in items {
        let home = naming::home(core.state, &item);
        let is_ignored = item.last_file().map(|fact| &fact.path).into_iter().chain(&home).any(ignores);
        if is_ignored != item.is_ignored {
            core.state.items.edit(item.key, |item| item.is_ignored = is_ignored);
        }
    }
}
