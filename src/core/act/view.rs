//! What is known of one item, as [`decide`](crate::core::plan::decide) wants to know it.

use crate::canvas::Op;
use crate::core::content::canvas::{self, Compared};
use crate::core::content::naming;
use crate::core::guard;
use crate::core::items::{Act, Item, Listing, Local, Part, Wait};
use crate::core::plan::decide::{Facet, FileState, Lies, Side, View};
use crate::core::state::{Core, Verb};
use crate::model::{MirrorPath, Problem};
use crate::plan::existence::{Here as LocalState, There as RemoteState};
use crate::store::StoreError;

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
    /// The text that its file is to have, if that is another one.
    pub text: Option<String>,
    /// The operations that may be sent now.
    pub sendable: Vec<Op>,
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
    let (mut wait, mut problem, mut compared, mut text) = (None, None, None, None);
    let at_hand = runtime.and_then(|runtime| runtime.text.as_ref());
    let at_hand = at_hand.filter(|(of, _)| fact.and_then(|fact| fact.hash) == Some(*of));
    if let (Some((hash, at_hand)), true) = (at_hand, item.content().is_some()) {
        match canvas::compare(core, item, at_hand, *hash)? {
            Ok(found) => match canvas::next_text(item, &found) {
                Ok(next) => (compared, text) = (Some(found), next),
                Err(why) => problem = Some(why),
            },
            Err(why) => problem = Some(why),
        }
    }
    let file = match fact {
        None => FileState::None,
        Some(fact) if core.barrier.covers(&fact.path) => FileState::Unreadable,
        Some(fact) if fact.problem.is_some() || problem.is_some() => {
            wait = fact.problem.clone().or_else(|| problem.clone()).map(Wait::Problem);
            FileState::Unreadable
        }
        Some(fact) if fact.hash.is_none() => FileState::Unread,
        Some(fact) if fact.hash == agreed => FileState::Known,
        Some(_) => match &compared {
            None => FileState::Unread,
            Some(compared) if compared.merged.ops.is_empty() && text.is_none() && item.base.is_some() => {
                FileState::Restamped
            }
            Some(_) => FileState::Known,
        },
    };
    let rows: Vec<&Act> = core.state.journal.of(item.key).collect();
    let ops = compared.as_ref().map(|compared| compared.merged.ops.as_slice()).unwrap_or_default();
    let rests = |op: &Op| rows.iter().any(|act| act.rests(core.now) && canvas::is_of(act, op));
    let mut sendable: Vec<Op> = ops.iter().filter(|op| !rests(op)).cloned().collect();
    if let Some(act) =
        rows.iter().find(|act| act.rests(core.now) && ops.iter().any(|op| canvas::is_of(act, op)))
    {
        wait = Wait::first(wait, refusal(act));
    }
    let guarded = compared.as_ref().filter(|_| !sendable.is_empty()).and_then(|compared| {
        let deletes = sendable.iter().any(|op| matches!(op, Op::Delete { .. }));
        guard::edit(core, item, deletes, (compared.local.gone.len(), compared.base.len()))
    });
    let is_open = guard::may(core.state, &item.area, Verb::Write, core.now);
    if !sendable.is_empty() && !is_open {
        wait = Wait::first(wait, Some(Wait::Frozen));
        sendable.clear();
    }
    let in_doubt = guarded.is_some()
        || rows.iter().any(|act| act.part != Part::File && act.is_in_doubt() && says_something(item, act))
        || guard::may_be_made(core, item).is_some();
    wait = Wait::first(wait, guarded.map(Wait::Guard));
    let is_unlisted = item.presence() == Some(Listing::Unlisted);
    let held_remote = deletion_waits(core, item, &rows);
    wait = Wait::first(wait, held_remote.clone());
    let home = naming::home(core.state, item);
    let view = View {
        policy: core.policy(item.kind),
        agreed: item.base.is_some(),
        local: local_state(core, item, &compared),
        remote: remote_state(item),
        // The next list tells more than a fetch.
        held_local: is_unlisted,
        held_remote: held_remote.is_some(),
        file,
        content: content(item, &compared),
        name: name(item),
        parent: parent(item, home.as_ref()),
        lies: lies(item, home.as_ref()),
        rests: rests_there(core, item),
        incomplete: text.is_some() && item.base.is_some(),
        adorned: false,
        unrecorded: is_unrecorded(item),
        fetched: item.content().is_some(),
        sends: !sendable.is_empty(),
        in_doubt,
        superseded: None,
    };
    let item = item.clone();
    Ok(Look { item, view, home, compared, text, sendable, wait, problem })
}

/// Whether the outcome of an act matters: what became of an element of an item that is gone does not.
fn says_something(item: &Item, act: &Act) -> bool {
    act.part == Part::Item || item.presence() != Some(Listing::Gone)
}

fn refusal(act: &Act) -> Option<Wait> {
    let failing = &act.failing;
    let (said, is_its_own, retry_at) = (failing.said.clone(), failing.is_refused, failing.until);
    failing.is_told().then_some(Wait::Refusal { said, is_its_own, retry_at })
}

/// Why an item whose file is gone is not removed at the service yet.
fn deletion_waits(core: &Core<'_>, item: &Item, rows: &[&Act]) -> Option<Wait> {
    if !guard::is_absent(core, item) || item.base.is_none() {
        return None;
    }
    let refused = rows.iter().find(|act| act.part == Part::Item && act.rests(core.now));
    let held = guard::deletions(core).filter(|_| !item.approved).map(Wait::Guard);
    held.or_else(|| {
        let rests = |act: &&Act| {
            let failing = &act.failing;
            let (said, is_its_own, retry_at) = (failing.said.clone(), failing.is_refused, failing.until);
            Wait::Refusal { said, is_its_own, retry_at }
        };
        refused.map(rests)
    })
    .or_else(|| (!guard::may(core.state, &item.area, Verb::Delete, core.now)).then_some(Wait::Frozen))
}

fn local_state(core: &Core<'_>, item: &Item, compared: &Option<Compared>) -> LocalState {
    match &item.local {
        Local::Never => LocalState::Missing,
        Local::Gone { .. } if guard::is_absent(core, item) && core.state.is_quiet(core.now) => {
            LocalState::Missing
        }
        Local::Gone { .. } => LocalState::Unclear,
        Local::Here(fact) => {
            let agreed = item.base.as_ref().and_then(|base| base.text);
            match fact.hash {
                _ if fact.problem.is_some() => LocalState::Changed,
                Some(hash) if Some(hash) == agreed => LocalState::Same,
                Some(_) if compared.is_some() || !item.is_listed() => LocalState::Changed,
                _ => LocalState::Unclear,
            }
        }
    }
}

fn remote_state(item: &Item) -> RemoteState {
    match item.presence() {
        Some(Listing::Unlisted) => RemoteState::Unlisted,
        Some(Listing::Gone) => RemoteState::Gone,
        _ if item.is_remote_same() => RemoteState::Same,
        _ => RemoteState::Changed,
    }
}

fn content(item: &Item, compared: &Option<Compared>) -> Facet {
    let fact = item.file();
    let agreed = item.base.as_ref().and_then(|base| base.text);
    let local = match (fact.and_then(|fact| fact.hash), compared) {
        (Some(hash), _) if Some(hash) == agreed => Side::Same,
        (_, Some(compared)) if compared.merged.ops.is_empty() => Side::Same,
        (_, Some(_)) => Side::Changed,
        _ => Side::Unknown,
    };
    let remote = match item.content() {
        None => Side::Unknown,
        Some(_) if item.is_remote_same() => Side::Same,
        Some(_) => Side::Changed,
    };
    let is_first = item.base.is_none();
    let alike = compared.as_ref().filter(|_| is_first);
    let alike = alike.map(|compared| compared.local.is_clean() && compared.local.gone.is_empty());
    // Elements are compared one by one, so both sides merge.
    Facet { local, remote, alike: alike.or_else(|| compared.as_ref().map(|_| false)) }
}

fn name(item: &Item) -> Facet {
    let (Some(fact), Some(base)) = (item.file(), &item.base) else { return Facet::SAME };
    let side = |is_same: bool| if is_same { Side::Same } else { Side::Changed };
    let alike = Some(naming::says(&fact.path, item.name()));
    Facet { local: side(naming::says(&fact.path, &base.name)), remote: side(base.name == item.name()), alike }
}

fn parent(item: &Item, home: Option<&MirrorPath>) -> Facet {
    let (Some(fact), Some(base), Some(home)) = (item.file(), &item.base, home) else { return Facet::SAME };
    let (is, was, wanted) = (fact.path.parent(), base.path.parent(), home.parent());
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

/// Whether a file that was moved has been at its path for the grace time: people move files in several steps.
fn rests_there(core: &Core<'_>, item: &Item) -> bool {
    let grace_ms = core.settings.pages.delete_grace_ms;
    item.file().is_some_and(|fact| core.now.since_ms(fact.since) >= grace_ms) && core.state.is_quiet(core.now)
}

fn is_unrecorded(item: &Item) -> bool {
    let (Some(fact), Some(base)) = (item.file(), &item.base) else { return false };
    base.path != fact.path
}
