//! What an answer of the service means. One table for each kind of item and each request.

use super::requests;
use crate::core::content::canvas::ElementChange;
use crate::core::items::{Act, ActState, Deed, Part};
use crate::core::observe::{fetch, list};
use crate::core::state::{Core, Purpose, Rests, Verb, Want};
use crate::core::{ItemKey, Seq};
use crate::model::{BoardReply, Schedule, ServiceError, ServiceReply, Timestamp, Unconfirmed};
use crate::store::StoreError;

/// Waits of an area in which a verb was forbidden.
const FORBIDDEN: Schedule = Schedule::new(30_000, 3_600_000);

/// What an error says of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// Whether it was carried out is unknown.
    InDoubt,
    /// Nothing of it reached the service, which says nothing of the act.
    NotSent,
    /// Its verb is forbidden in its area.
    Forbidden,
    /// It is refused as it is.
    Refused,
}

/// What an error says of an act.
#[must_use]
pub fn means(error: &ServiceError) -> Means {
    match error {
        ServiceError::Lost(_) | ServiceError::Server { .. } | ServiceError::Garbled(_) => Means::InDoubt,
        ServiceError::Unreachable(_) | ServiceError::RateLimited { .. } | ServiceError::Unauthorized(_) => {
            Means::NotSent
        }
        ServiceError::Forbidden(_) => Means::Forbidden,
        ServiceError::NotFound(_) | ServiceError::Rejected { .. } => Means::Refused,
    }
}

/// Takes in the answer to a request. `as_of`: the time of the state that it shows.
///
/// # Errors
/// [`StoreError`] when an item's content cannot be read.
pub fn apply(
    core: &mut Core<'_>,
    purpose: Purpose,
    result: Result<ServiceReply, ServiceError>,
    (sent, asked_at, as_of): (Seq, Timestamp, Timestamp),
) -> Result<(), StoreError> {
    match (purpose, result) {
        (Purpose::List(space), Ok(ServiceReply::Board(BoardReply::Boards { boards, skipped }))) => {
            let listed = boards.into_iter().map(Into::into).collect();
            let kind = crate::core::plan::policy::Kind::Whiteboard;
            list::apply(core, &space, kind, listed, &skipped, (sent, asked_at));
        }
        (Purpose::List(space), result) => {
            list::apply_failure(core, &space, &error_of(result), sent);
        }
        (Purpose::Fetch(key), Ok(ServiceReply::Board(BoardReply::Elements(elements)))) => {
            fetch::apply(core, key, elements, (sent, as_of))?;
            reread(core, key);
        }
        (Purpose::Fetch(key), result) => fetch::apply_failure(core, key, &error_of(result), sent),
        (Purpose::Act(sent), result) => {
            if let Some(act) = core.state.journal.get(sent).cloned() {
                core.state.items.dirty.insert(act.item);
                apply_act(core, act, result)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn error_of(result: Result<ServiceReply, ServiceError>) -> ServiceError {
    result.err().unwrap_or_else(|| ServiceError::Garbled("it fits no question".to_owned()))
}

fn apply_act(
    core: &mut Core<'_>,
    act: Act,
    result: Result<ServiceReply, ServiceError>,
) -> Result<(), StoreError> {
    let result = match result {
        Ok(ServiceReply::Board(reply)) => Ok(reply),
        other => Err(error_of(other)),
    };
    match (&act.part, result) {
        (Part::Item, Ok(BoardReply::Board(made))) if matches!(act.deed, Deed::Create { .. }) => {
            allow(core, &act);
            let answered = core.next_seq();
            list::apply_made(core, act.sent, made.id.as_str().to_owned(), made.name, Some(answered));
        }
        (Part::Item, Ok(BoardReply::Deleted)) => {
            allow(core, &act);
            done(core, act.sent);
            requests::apply_trashed(core, act.item);
        }
        (Part::Element(_), Ok(reply @ (BoardReply::Element(_) | BoardReply::Deleted))) => {
            let element = match reply {
                BoardReply::Element(element) => Some(element),
                _ => None,
            };
            match ElementChange::answered(&act, element.as_ref()) {
                Some(outcome) => {
                    allow(core, &act);
                    apply_outcome(core, &act, &outcome, element)?;
                }
                None => failed(core, &act, &ServiceError::Garbled("it fits no question".to_owned())),
            }
        }
        (_, Ok(_)) => failed(core, &act, &ServiceError::Garbled("it fits no question".to_owned())),
        (_, Err(error)) => failed(core, &act, &error),
    }
    Ok(())
}

/// An act succeeded: its verb is allowed in its area.
fn allow(core: &mut Core<'_>, act: &Act) {
    if let Some(item) = core.state.items.get(act.item) {
        let key = (item.area.clone(), verb_of(act));
        if core.state.forbidden.remove(&key).is_some() {
            core.state.items.mark_all();
        }
    }
}

fn verb_of(act: &Act) -> Verb {
    if matches!(act.deed, Deed::Remove { .. }) { Verb::Delete } else { Verb::Write }
}

fn done(core: &mut Core<'_>, sent: Seq) {
    let now = core.now;
    core.state.journal.edit(sent, |act| {
        act.state = ActState::Done { at: now, shown: false };
        act.failing = Default::default();
    });
}

/// An operation on an element was carried out: the base and the service's side move.
fn apply_outcome(
    core: &mut Core<'_>,
    act: &Act,
    outcome: &ElementChange,
    element: Option<serde_json::Value>,
) -> Result<(), StoreError> {
    let Some(item) = core.state.items.get(act.item).cloned() else { return Ok(()) };
    fetch::move_base(core, act.item, outcome)?;
    let mut remote = core.elements(item.content())?;
    outcome.lay_over(&mut remote, element.as_ref());
    let content = core.store.keep_elements(&remote);
    let now = core.now;
    core.state.items.edit(act.item, |item| {
        if let Some(remote) = &mut item.remote {
            remote.content = Some(content);
            remote.poll.changed(now);
            remote.poll.last = now;
        }
    });
    done(core, act.sent);
    reread(core, act.item);
    core.state.journal.edit(act.sent, |act| {
        if let (Deed::Create { made, .. }, Some(element)) = (&mut act.deed, element) {
            *made = Some(element);
        }
    });
    let what = match outcome {
        ElementChange::Made { .. } => "new node",
        ElementChange::Changed { .. } => "node changed",
        ElementChange::Removed { .. } => "node removed",
    };
    if let Some(path) = item.file().map(|fact| fact.path.clone()) {
        core.tell(crate::core::state::Way::Up, &path, what);
    }
    Ok(())
}

/// An act was not carried out, or it is unknown whether it was.
fn failed(core: &mut Core<'_>, act: &Act, error: &ServiceError) {
    let now = core.now;
    let Some(item) = core.state.items.get(act.item).cloned() else { return };
    core.state.runtime(act.item).needs = core.next_seq();
    match means(error) {
        // A fetch has shown it meanwhile.
        Means::InDoubt if !act.is_in_doubt() => {}
        Means::InDoubt => {
            core.state.journal.edit(act.sent, |act| {
                act.state = ActState::Unconfirmed(Unconfirmed { since: now, looks: 0 });
                act.failing.again(error.to_string(), false, now);
            });
            if act.part == Part::Item {
                list::list_for(core, act.sent);
            }
        }
        Means::NotSent => {
            core.state.journal.edit(act.sent, |act| {
                act.state = ActState::Failed;
                if matches!(error, ServiceError::Unreachable(_)) {
                    act.failing.again(error.to_string(), false, now);
                }
            });
        }
        Means::Forbidden => {
            core.state.journal.remove(act.sent);
            let rests = core.state.forbidden.entry((item.area, verb_of(act)));
            let rests = rests.or_insert(Rests { said: String::new(), count: 0, until: now, is_tried: false });
            rests.count += 1;
            rests.said = error.to_string();
            rests.until = now.plus_ms(FORBIDDEN.wait_ms(rests.count));
            rests.is_tried = false;
            core.state.items.mark_all();
        }
        Means::Refused => {
            core.state.journal.edit(act.sent, |act| {
                act.state = ActState::Failed;
                act.failing.again(error.to_string(), true, now);
            });
            // The next list and the next fetch show whether it is still there.
            if act.part == Part::Item {
                list::list_by(core, &item.area, now);
            } else {
                core.state.wanted.insert(act.item, Want::Fetch);
            }
        }
    }
    if act.part == Part::Item {
        // An item that a list showed meanwhile may have been taken for its result.
        core.state.items.mark_all();
    }
    if let Some(act) = core.state.journal.get(act.sent) {
        let (key, at) = (act.item, act.failing.until);
        core.state.wake(key, at);
    }
    reread(core, act.item);
}

/// An item is fetched again while no read shows its acts.
pub fn reread(core: &mut Core<'_>, key: ItemKey) {
    let acts = core.state.journal.of(key).filter(|act| matches!(act.part, Part::Element(_)));
    let next = acts.filter_map(|act| act.state.read_again_in(core.now)).min();
    match next {
        Some(wait) => drop(core.state.rereads.insert(key, core.now.plus_ms(wait))),
        None => drop(core.state.rereads.remove(&key)),
    }
}
