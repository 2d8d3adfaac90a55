//! Whether an absence is believed, and whether what is missing may be removed at the service. One count over all kinds.

use crate::core::ItemKey;
use crate::core::act::forbidden::Verb;
use crate::core::items::{Act, ActState, Deed, Item, Local, Part};
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, State};
use crate::model::{Timestamp, Unreadable, WorkspaceId, planted};
use crate::plan::barrier::{Absent, Barrier};
use crate::plan::guard::{self, Guard, Kind as Counted};

/// Removals this recent count together with those that are about to happen.
pub const RECENT_MS: i64 = 60_000;

/// Whether an item's file counts as deleted: a scan after the grace time lacks it, and nothing unreadable may hide it.
#[must_use]
pub fn is_absent(core: &Core<'_>, item: &Item) -> bool {
    let Local::Gone { since, at, .. } = &item.local else { return false };
    let snapshot = &core.state.snapshot;
    let grace_ms = core.settings.pages.delete_grace_ms;
    let is_over = core.barrier.grace_end(*at, grace_ms) <= snapshot.scanned || planted("canvas-no-grace");
    snapshot.scan > *since && is_over && (item.approved || hidden_by(core.barrier, item).is_none())
}

/// The place that may hide an item's missing file.
#[must_use]
pub fn hidden_by<'a>(barrier: &'a Barrier, item: &Item) -> Option<&'a Unreadable> {
    let Local::Gone { last, .. } = &item.local else { return None };
    barrier.hides(Absent { last: Some(&last.path), object: Some(last.stamp.object()) })
}

/// The kind in messages.
#[must_use]
pub fn kind_in_messages(kind: Kind) -> Counted {
    match kind {
        Kind::Page => Counted::Page,
        Kind::Whiteboard => Counted::Whiteboard,
        Kind::Presentation => Counted::Presentation,
        Kind::Slide => Counted::Slide,
        Kind::Folder | Kind::File => Counted::StoredFile,
    }
}

/// Why nothing that is missing in the folder is removed at the service.
#[must_use]
pub fn deletions(core: &Core<'_>) -> Option<Guard> {
    let state = &core.state;
    let held = state.doubt.as_ref().or(state.deletions_held.as_ref()).cloned();
    held.or_else(|| {
        if planted("canvas-guard-off") {
            return None;
        }
        let Missing { gone, recent, all } = missing(state);
        let first = state.items.all().find(|item| is_counted(item))?;
        let most = core.settings.pages.max_deletes;
        guard::mass_deletion(kind_in_messages(first.kind), gone, recent, all, most)
    })
}

/// What is gone from the folder of an area whose changes are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missing {
    /// The number of items that are missing and not approved.
    pub gone: usize,
    /// The number of items removed shortly before.
    pub recent: usize,
    /// The number of mirrored items, those that are gone included.
    pub all: usize,
}

/// Counts what is gone from the folder.
#[must_use]
pub fn missing(state: &State) -> Missing {
    let is_open = |item: &Item| state.areas.get(&item.area).is_some_and(|area| area.is_open);
    let live = || {
        state
            .items
            .all()
            .filter(|item| item.parent.is_none() && item.base.is_some() && item.is_listed() && is_open(item))
    };
    let recent = state.journal.all().filter(|act| {
        is_removal_of_item(&act.part, &act.deed)
            && act.state != ActState::Failed
            && state.items.get(act.item).is_none_or(|item| !is_counted(item))
    });
    let gone = live().filter(|item| is_counted(item)).count();
    Missing { gone, recent: recent.count(), all: live().count() }
}

fn is_counted(item: &Item) -> bool {
    let is_gone = matches!(item.local, Local::Gone { .. });
    is_gone && !item.approved && item.base.is_some() && item.is_listed()
}

fn is_removal_of_item(part: &Part, deed: &Deed) -> bool {
    *part == Part::Item && matches!(deed, Deed::Remove { .. })
}

/// Whether something may be sent to an area: it is synced both ways, not frozen, and the last such request was not forbidden.
#[must_use]
pub fn may(state: &State, area: &WorkspaceId, verb: Verb, now: Timestamp) -> bool {
    let is_open = state.areas.get(area).is_some_and(|area| area.is_open);
    is_open && state.forbidden.may(area, verb, false, now)
}

/// Removes the rows of the journal that say nothing any more. A removal counts for the guard for a while, and while the guard
/// holds.
pub fn drop_old_rows(core: &mut Core<'_>) {
    let now = core.now;
    let is_any = core.state.journal.all().any(|act| is_removal_of_item(&act.part, &act.deed));
    let is_held = is_any && deletions(core).is_some();
    let is_over = |act: &&Act| match act.state {
        ActState::Done { at, .. } if is_removal_of_item(&act.part, &act.deed) => {
            !is_held && now.since_ms(at) >= RECENT_MS
        }
        ActState::Done { .. } => act.state.is_over(now),
        _ => false,
    };
    let over = core.state.journal.all().filter(is_over).map(|act| (act.sent, act.item));
    for (sent, item) in over.collect::<Vec<_>>() {
        core.state.journal.remove(sent);
        core.state.items.dirty.insert(item);
    }
}

/// Why an edit of a file must wait for the user: many nodes are gone from it, and elements have no trash; or the folder is in
/// doubt.
#[must_use]
pub fn edit(core: &Core<'_>, item: &Item, deletes: bool, (gone, all): (usize, usize)) -> Option<Guard> {
    if item.approved {
        return None;
    }
    let many = gone > core.settings.pages.max_deletes || gone == all && all > 2 || gone > 5 && gone > all / 2;
    core.state.doubt.clone().or_else(|| (deletes && many).then_some(Guard::Nodes(gone, all)))
}

/// Whether an item may be the result of a creation whose outcome is unknown.
#[must_use]
pub fn may_be_made(core: &Core<'_>, item: &Item) -> Option<ItemKey> {
    if item.base.is_some() || item.local != Local::Never {
        return None;
    }
    let made = core.state.journal.all().find(|act| {
        let Deed::Create { fields, .. } = &act.deed else { return false };
        let draft = core.state.items.get(act.item);
        act.part == Part::Item
            && act.is_in_doubt()
            && draft.is_some_and(|draft| draft.area == item.area && draft.kind == item.kind)
            && fields.get("name").and_then(serde_json::Value::as_str) == Some(item.name())
    });
    made.map(|act| act.item)
}
