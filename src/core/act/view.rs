//! What is known of one item, as [`decide`](crate::core::plan::decide) wants to know it.

use crate::canvas::Op;
use crate::core::content::bytes::{self, is_of, upload_due};
use crate::core::content::versions::Compared;
use crate::core::content::{canvas, compared, naming};
use crate::core::guard;
use crate::core::items::{Act, ActState, Base, Fact, Item, Listing, Local, Part, Verb, Version, Wait};
use crate::core::keys::ItemKey;
use crate::core::plan::decide::{Facet, FileState, Lies, Side, View};
use crate::core::plan::policy::{Kind, Update};
use crate::core::state::Core;
use crate::model::{MirrorPath, Problem, planted};
use crate::plan::existence::{Here as LocalState, There as RemoteState};
use crate::store::StoreError;

/// The time for which an empty new file rests: it may have just been created, in milliseconds.
pub(crate) const NEW_EMPTY_MS: i64 = 2_000;

/// An item, and what its files and the service show of it.
#[derive(Debug)]
pub struct Look {
    /// The item.
    pub item: Item,
    /// What a decision rests on.
    pub view: View,
    /// Where its file belongs.
    pub home: Option<MirrorPath>,
    /// The comparison of its file with the service, if the file's text is at hand.
    pub compared: Option<Compared>,
    /// The operations that may be sent now, each with the item whose element it changes.
    pub sendable: Vec<(ItemKey, Op)>,
    /// Why it waits.
    pub wait: Option<Wait>,
    /// The problem of its file that the comparison found.
    pub problem: Option<Problem>,
}

/// Looks at an item.
///
/// # Errors
/// [`StoreError`] when its content cannot be read.
pub fn look(core: &Core<'_>, item: &Item) -> Result<Look, StoreError> {
    let runtime = core.state.runtimes.get(&item.key);
    let fact = item.file();
    let agreed = item.base.as_ref().and_then(|base| base.text);
    let (mut wait, mut problem, mut compared) = (away(core, item), None, None);
    let at_hand = runtime.and_then(|runtime| runtime.text.as_ref());
    let at_hand = at_hand.filter(|(of, _)| fact.and_then(|fact| fact.hash) == Some(*of));
    if let (Some((hash, at_hand)), true) = (at_hand, item.content().is_some()) {
        match compared::compare(core, item, at_hand, *hash)? {
            Ok(found) => compared = Some(found),
            Err(why) => problem = Some(why),
        }
    }
    let fault = compared.as_ref().and_then(|compared| compared.faults.first().cloned());
    wait = Wait::first(wait, fault.map(|why| Wait::Problem(Problem::Canvas(why))));
    let file = match fact {
        None => FileState::None,
        Some(fact) if core.barrier.covers(&fact.path) => FileState::Unreadable,
        Some(fact) if fact.problem.is_some() || problem.is_some() => {
            wait = fact.problem.clone().or_else(|| problem.clone()).map(Wait::Problem);
            FileState::Unreadable
        }
        Some(fact) if fact.hash.is_none() => FileState::Unread,
        Some(_) if runtime.is_some_and(|runtime| runtime.bytes.is_damaged) => FileState::Damaged,
        Some(fact) if fact.hash == agreed => FileState::Known,
        Some(_) if item.kind.is_stored() => FileState::Known,
        Some(_) => match &compared {
            None => FileState::Unread,
            Some(compared) if compared.is_sent() && compared.next.is_none() && item.base.is_some() => {
                FileState::Restamped
            }
            Some(_) => FileState::Known,
        },
    };
    let rows: Vec<&Act> = core.state.acts_of(item.key).collect();
    let is_of = |act: &Act, (key, op): (ItemKey, &Op)| act.item == key && canvas::is_of(act, op);
    let ops: Vec<(ItemKey, &Op)> = compared.iter().flat_map(Compared::ops).collect();
    let resting = |op: &(ItemKey, &Op)| rows.iter().find(|act| act.rests(core.now) && is_of(act, *op));
    let sendable = ops.iter().filter(|op| resting(op).is_none()).map(|(key, op)| (*key, (*op).clone()));
    let mut sendable: Vec<(ItemKey, Op)> = sendable.collect();
    let resting =
        ops.iter().find_map(resting).copied().or_else(|| bytes::refused(core.state, item, core.now));
    wait = Wait::first(wait, resting.filter(|act| act.failing.is_told()).map(refusal));
    let guarded = compared.as_ref().filter(|_| !sendable.is_empty()).and_then(|compared| {
        let deletes = sendable.iter().any(|(_, op)| matches!(op, Op::Delete { .. }));
        guard::edit(core, item, deletes, compared.missing())
    });
    let before = sendable.len();
    sendable.retain(|(_, op)| {
        let verb = if matches!(op, Op::Delete { .. }) { Verb::Delete } else { Verb::Write };
        guard::may(core.state, &item.area, verb, core.now)
    });
    wait = Wait::first(wait, (sendable.len() < before).then_some(Wait::Frozen));
    let in_doubt = guarded.is_some()
        || rows.iter().any(|act| act.part != Part::File && act.is_in_doubt() && says_something(core, act))
        || guard::may_be_made(core, item).is_some();
    let sends = !sendable.is_empty() || item.kind == Kind::File && may_upload(core, item);
    let stays = guard::stays(core.state, item).filter(|_| item.kind.is_stored());
    let held_local =
        stays.is_some() || core.state.items.within(item.key).any(|within| within.file().is_some());
    wait = Wait::first(wait, stays.map(Wait::Guard));
    wait = Wait::first(wait, guarded.map(Wait::Guard));
    let is_unlisted = item.presence() == Some(Listing::Unlisted);
    let held_remote = deletion_waits(core, item, &rows);
    wait = Wait::first(wait, held_remote.clone());
    let home = naming::home(core.state, item);
    let view = View {
        policy: core.policy(item.kind),
        agreed: item.base.is_some(),
        local: local_state(core, item, &compared),
        remote: remote_state(core, item),
        // The next list tells more than a fetch, but of a stored file.
        held_local: is_unlisted && item.kind != Kind::File || item.kind.is_stored() && held_local,
        held_remote: held_remote.is_some(),
        file,
        content: content(core, item, &compared),
        name: name(item),
        parent: parent(item, home.as_ref()),
        lies: lies(item, home.as_ref()),
        rests: rests_there(core, item),
        incomplete: item.base.is_some() && compared.as_ref().is_some_and(|compared| compared.next.is_some()),
        adorned: false,
        unrecorded: is_unrecorded(item),
        fetched: match item.kind {
            Kind::File => bytes::arrived(core.state, item).is_some(),
            _ => core.state.is_fetched(item.key),
        },
        sends,
        in_doubt,
        superseded: superseded(core, item),
    };
    let item = item.clone();
    Ok(Look { item, view, home, compared, sendable, wait, problem })
}

/// Whether a list shows the present version of a stored file, if older ones are still to be trashed.
fn superseded(core: &Core<'_>, item: &Item) -> Option<bool> {
    let made = core.state.journal.of_part(item.key, &Part::Item);
    let is_shown = made.is_none_or(|act| act.state.is_shown()) || planted("replaced-trashed-early");
    let may = guard::may(core.state, &item.area, Verb::Delete, core.now);
    let is_gone = |version: &Version| {
        let act = core.state.journal.of_part(item.key, &Part::Version(version.id.clone()));
        act.is_some_and(|act| matches!(act.state, ActState::Done { .. }))
    };
    let is_next = bytes::next_version(core.state, item, core.now).is_some();
    let is_any = item.superseded.iter().any(|version| !is_gone(version));
    is_any.then_some(is_next && is_shown && may && item.is_listed())
}

/// Why a missing file is not believed to be removed: its disk is away.
fn away(core: &Core<'_>, item: &Item) -> Option<Wait> {
    let folder = guard::disk_away(core.state, item).filter(|_| !item.approved);
    folder.filter(|_| item.base.is_some() && item.is_listed()).map(Wait::DiskAway)
}

/// Whether the outcome of an act matters: what became of an element of an item that is gone, or that lies in one, does not.
fn says_something(core: &Core<'_>, act: &Act) -> bool {
    let is_there = |item: &&Item| item.presence() != Some(Listing::Gone);
    let item = core.state.items.get(act.item).filter(is_there);
    act.part == Part::Item
        || item.and_then(|item| core.state.items.get(item.owner())).filter(is_there).is_some()
}

fn refusal(act: &Act) -> Wait {
    let failing = &act.failing;
    Wait::Refusal { said: failing.said.clone(), is_its_own: failing.is_refused, retry_at: failing.until }
}

/// Why an item whose file is gone is not removed at the service yet.
fn deletion_waits(core: &Core<'_>, item: &Item, rows: &[&Act]) -> Option<Wait> {
    if !guard::is_absent(core, item) || item.base.is_none() || !core.policy(item.kind).trashes {
        return None;
    }
    let refused = rows.iter().find(|act| act.part == Part::Item && act.rests(core.now));
    let is_planted = planted(if item.kind.is_stored() { "stored-guard-off" } else { "canvas-guard-off" });
    let held = guard::deletions(core).filter(|_| !item.approved && !is_planted).map(Wait::Guard);
    held.or_else(|| refused.map(|act| refusal(act)))
        .or_else(|| (!guard::may(core.state, &item.area, Verb::Delete, core.now)).then_some(Wait::Frozen))
}

fn local_state(core: &Core<'_>, item: &Item, compared: &Option<Compared>) -> LocalState {
    if item.kind.is_stored() && item.presence() == Some(Listing::Gone) && planted("stored-edit-discarded") {
        return if item.file().is_some() { LocalState::Same } else { LocalState::Missing };
    }
    match &item.local {
        Local::Never => LocalState::Missing,
        // What was in a folder that a user removed goes by itself. The folder comes back with something for it.
        Local::Gone { .. } if item.kind == Kind::Folder && item.is_listed() && !is_needed(core, item) => {
            LocalState::Unclear
        }
        Local::Gone { .. } if guard::is_absent(core, item) && core.state.is_quiet(core.now) => {
            LocalState::Missing
        }
        Local::Gone { .. } => LocalState::Unclear,
        Local::Here(fact) => {
            let agreed = item.base.as_ref().and_then(|base| base.text);
            match fact.hash {
                _ if fact.problem.is_some() => LocalState::Changed,
                // A change may have left its stamp as it is: its bytes are compared first.
                _ if fact.racy && item.kind.is_stored() => LocalState::Unclear,
                Some(hash) if Some(hash) == agreed => LocalState::Same,
                Some(_) if compared.is_some() || !item.is_listed() || item.kind.is_stored() => {
                    LocalState::Changed
                }
                _ => LocalState::Unclear,
            }
        }
    }
}

/// Whether a folder that is gone here has something for the folder, as a file that the app moved into it: in a backup always.
fn is_needed(core: &Core<'_>, item: &Item) -> bool {
    let place = item.last_file().map(|fact| &fact.path);
    let was_in_it = |base: &Base| base.path.parent().as_ref() == place;
    let comes = |within: &Item| within.is_listed() && !within.base.as_ref().is_some_and(was_in_it);
    core.policy(Kind::File).update == Update::Never || core.state.items.within(item.key).any(comes)
}

/// Whether the service's content is the agreed one, also of what lies in the item.
fn is_remote_same(core: &Core<'_>, item: &Item) -> bool {
    // What a folder holds is decided for each by itself.
    let is_same = |item: &Item| item.kind == Kind::Folder || item.agreed() == item.content();
    let mut inner = core.state.items.inner(item.key).filter(|item| item.presence() != Some(Listing::Gone));
    is_same(item) && inner.all(|inner| inner.content().is_none() || is_same(inner))
}

fn remote_state(core: &Core<'_>, item: &Item) -> RemoteState {
    match item.presence() {
        Some(Listing::Unlisted) => RemoteState::Unlisted,
        Some(Listing::Gone) => RemoteState::Gone,
        _ if is_remote_same(core, item) || planted("canvas-delete-beats-edit") => RemoteState::Same,
        _ => RemoteState::Changed,
    }
}

fn content(core: &Core<'_>, item: &Item, compared: &Option<Compared>) -> Facet {
    let fact = item.file();
    let agreed = item.base.as_ref().and_then(|base| base.text);
    let local = match (fact.and_then(|fact| fact.hash), compared) {
        (Some(hash), _) if Some(hash) == agreed => Side::Same,
        (Some(_), None) if item.kind.is_stored() => Side::Changed,
        (_, Some(compared)) if compared.is_sent() => Side::Same,
        (_, Some(_)) => Side::Changed,
        _ => Side::Unknown,
    };
    let remote = match item.content() {
        None => Side::Unknown,
        Some(_) if is_remote_same(core, item) => Side::Same,
        Some(_) => Side::Changed,
    };
    if item.kind.is_stored() {
        let arrived = bytes::arrived(core.state, item);
        let alike = arrived.map(|arrived| fact.and_then(|fact| fact.hash) == Some(arrived));
        return Facet { local, remote, alike: alike.or((item.kind == Kind::Folder).then_some(true)) };
    }
    let is_first = item.base.is_none();
    let alike = compared.as_ref().filter(|_| is_first);
    let alike = alike.map(|compared| compared.is_clean);
    // Elements are compared one by one, so both sides merge.
    Facet { local, remote, alike: alike.or_else(|| compared.as_ref().map(|_| false)) }
}

fn name(item: &Item) -> Facet {
    let (Some(fact), Some(base)) = (item.file(), &item.base) else { return Facet::SAME };
    let side = |is_same: bool| if is_same { Side::Same } else { Side::Changed };
    let says = |name: &str| naming::says(item.kind, &fact.path, name);
    let alike = Some(says(item.name()));
    Facet { local: side(says(&base.name)), remote: side(base.name == item.name()), alike }
}

fn parent(item: &Item, home: Option<&MirrorPath>) -> Facet {
    let (Some(fact), Some(base)) = (item.file(), &item.base) else { return Facet::SAME };
    // Where its folder is not here, as after a rename of it, the place is what both sides last agreed on.
    let (is, was, wanted) = (fact.path.parent(), base.path.parent(), home.unwrap_or(&base.path).parent());
    let side = |is_same: bool| if is_same { Side::Same } else { Side::Changed };
    Facet { local: side(is == was || is == wanted), remote: side(was == wanted), alike: Some(is == wanted) }
}

fn lies(item: &Item, home: Option<&MirrorPath>) -> Lies {
    match (item.file(), home) {
        (Some(fact), Some(home)) if fact.path == *home => Lies::AtHome,
        (Some(_), Some(_)) => Lies::Away,
        _ => Lies::Unknown,
    }
}

/// Whether a file that was moved has been at its path for the grace time: people move files in several steps. One that is
/// where both sides last agreed was not moved.
fn rests_there(core: &Core<'_>, item: &Item) -> bool {
    let grace_ms = core.settings.pages.delete_grace_ms;
    let has_rested = |fact: &Fact| !is_unrecorded(item) || core.now.since_ms(fact.since) >= grace_ms;
    item.file().is_some_and(has_rested) && core.state.is_quiet(core.now)
}

fn is_unrecorded(item: &Item) -> bool {
    let (Some(fact), Some(base)) = (item.file(), &item.base) else { return false };
    base.path != fact.path
}

/// Whether the file of an item may be uploaded now: as a new item, or as the new version of one.
#[must_use]
pub fn may_upload(core: &Core<'_>, item: &Item) -> bool {
    let Some(fact) = item.file() else { return false };
    let act = core.state.journal.of_part(item.key, &Part::Item);
    let is_held = act.is_some_and(|act| act.is_in_doubt() || act.rests(core.now) && is_of(act, fact));
    core.policy(item.kind).update == Update::NewThenTrash
        && !is_held
        && fact.problem.is_none()
        && fact.hash.is_some()
        && fact.stamp.rested_ms(core.now).max(core.now.since_ms(fact.since)) >= rest_ms(core, fact)
        && upload_due(core.state, item.key) <= core.now
        && bytes::refusal(&core.state.items, fact).is_none()
        && core.state.is_quiet(core.now)
        && core.state.doubt.is_none()
        && !core.state.stored.upload_to.is_empty()
        && guard::may(core.state, &item.area, Verb::Write, core.now)
}

/// How long a file rests before it is uploaded, in milliseconds.
pub(crate) fn rest_ms(core: &Core<'_>, fact: &Fact) -> i64 {
    let least = if fact.stamp.size == 0 { NEW_EMPTY_MS } else { 0 };
    core.settings.pages.settle_ms.max(least)
}
