//! What an answer of the service means. One table for each kind of item and each request.

use crate::core::act::{requests, upload};
use crate::core::content::canvas::ElementChange;
use crate::core::content::listed::ListOf;
use crate::core::content::service::{self, Reply};
use crate::core::content::{bytes, naming};
use crate::core::items::{Act, ActState, Deed, Item, Part, Verb};
use crate::core::keys::{ItemKey, Seq};
use crate::core::observe::{entries, fetch, list, storage, uploads};
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, Purpose};
use crate::core::wants::Want;
use crate::model::{Code, ServiceError, ServiceReply, Timestamp, Unconfirmed, planted};
use crate::store::StoreError;

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
        ServiceError::NotFound(_) | ServiceError::Rejected { .. } | ServiceError::NotEditable(_) => {
            Means::Refused
        }
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
        (Purpose::List(space), Ok(reply)) => match said(core, None, reply) {
            Some(Reply::Listed(listed, skipped)) => {
                list::apply(core, &space, listed, &skipped, (sent, asked_at));
            }
            _ => list::apply_failure(core, &space, &fits_nothing(), sent),
        },
        (Purpose::List(space), Err(error)) => list::apply_failure(core, &space, &error, sent),
        (Purpose::Fetch(key), Ok(reply)) => match said(core, Some(key), reply) {
            Some(Reply::Content(elements)) => {
                fetch::apply(core, key, elements, (sent, as_of))?;
                reread(core, key);
            }
            Some(Reply::Listed(listed, skipped)) => {
                storage::apply_folder(core, key, listed, &skipped, (sent, asked_at));
            }
            Some(Reply::Linked(shown, folder, link, good_for_ms)) => {
                storage::apply_link(core, key, shown, folder, (link, good_for_ms), (sent, asked_at));
            }
            _ => fetch::apply_failure(core, key, &fits_nothing(), sent),
        },
        (Purpose::Fetch(key), Err(error)) if storage::apply_no_link(core, key, &error, asked_at) => {}
        (Purpose::Fetch(key), Err(error)) => fetch::apply_failure(core, key, &error, sent),
        (Purpose::Act(sent), result) => {
            if let Some(act) = core.state.journal.get(sent).cloned() {
                core.state.items.dirty.insert(act.item);
                let result =
                    result.and_then(|reply| said(core, Some(act.item), reply).ok_or_else(fits_nothing));
                apply_act(core, act, result)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn fits_nothing() -> ServiceError {
    ServiceError::Garbled("it fits no question".to_owned())
}

/// What an answer about an item says.
fn said(core: &Core<'_>, key: Option<ItemKey>, reply: ServiceReply) -> Option<Reply> {
    let remote = key.and_then(|key| core.state.items.get(key)?.remote.as_ref());
    service::reply(reply, remote.and_then(|remote| remote.size))
}

fn apply_act(core: &mut Core<'_>, act: Act, result: Result<Reply, ServiceError>) -> Result<(), StoreError> {
    match (&act.part, result) {
        (Part::Item, Ok(Reply::Made(made))) if matches!(act.deed, Deed::Create { .. }) => {
            allow(core, &act);
            let answered = core.next_seq();
            if made.kind == Kind::File {
                let folder = match bytes::list_of(core.state, &act) {
                    Some(ListOf::Inner(folder)) => Some(folder),
                    _ => None,
                };
                upload::note_workspace(core, &act, true);
                uploads::apply_uploaded(core, &act, made, folder, Some(answered));
            } else {
                entries::apply_made(core, act.sent, made, Some(answered));
            }
        }
        (Part::Version(_), Ok(Reply::Removed) | Err(ServiceError::NotFound(_))) => {
            allow(core, &act);
            upload::apply_trashed_version(core, &act);
        }
        (Part::Item, Err(ServiceError::NotFound(_))) if is_removal_of_file(core, &act) => {
            done(core, act.sent);
            requests::apply_trashed(core, act.item);
        }
        (Part::Item, Ok(Reply::Removed)) => {
            allow(core, &act);
            done(core, act.sent);
            requests::apply_trashed(core, act.item);
        }
        (Part::Element(_), Ok(reply @ (Reply::Element(_) | Reply::Removed))) => {
            let element = match reply {
                Reply::Element(element) => Some(element),
                _ => None,
            };
            match ElementChange::answered(&act, element.as_ref()) {
                Some(outcome) => {
                    allow(core, &act);
                    apply_outcome(core, &act, &outcome, element)?;
                }
                None => failed(core, &act, &fits_nothing()),
            }
        }
        (Part::Element(id), Err(ServiceError::NotEditable(said))) => keep_text(core, &act, id, &said)?,
        (_, Ok(_)) => failed(core, &act, &fits_nothing()),
        (_, Err(error)) => failed(core, &act, &error),
    }
    Ok(())
}

fn is_removal_of_file(core: &Core<'_>, act: &Act) -> bool {
    let item = core.state.items.get(act.item);
    matches!(act.deed, Deed::Remove { .. }) && item.is_some_and(|item| item.kind == Kind::File)
}

/// An act succeeded: its verb is allowed in its area.
fn allow(core: &mut Core<'_>, act: &Act) {
    if let Some(item) = core.state.items.get(act.item)
        && core.state.forbidden.allow(&item.area, verb_of(act))
    {
        core.state.items.mark_all();
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
    let before = core.state.items.get(item.owner()).and_then(|owner| owner.base.as_ref()?.text);
    fetch::move_base(core, act.item, outcome)?;
    let mut remote = core.elements(item.content())?;
    outcome.lay_over(&mut remote, element.as_ref());
    list::apply_inner_act(core, &item, &remote);
    let content = core.store.keep_elements(&remote);
    let now = core.now;
    entries::set_remote(core, act.item, |remote| {
        remote.content = Some(content);
        remote.poll.changed(now);
        remote.poll.last = now;
    });
    done(core, act.sent);
    reread(core, act.item);
    core.state.journal.edit(act.sent, |act| {
        if let (Deed::Create { made, .. }, Some(element)) = (&mut act.deed, element) {
            *made = Some(element);
        }
    });
    let noun = naming::noun_of_elements(item.kind);
    let what = match outcome {
        ElementChange::Made { .. } => format!("new {noun}"),
        ElementChange::Changed { .. } => format!("{noun} changed"),
        ElementChange::Removed { .. } => format!("{noun} removed"),
    };
    let owner = core.state.items.get(item.owner());
    if let Some(fact) = owner.and_then(Item::file).cloned() {
        core.tell_change(crate::core::state::Way::Up, &fact.path, what, (before, fact.hash));
    }
    Ok(())
}

/// The service keeps the text of an element: the file gets it back, and what else was changed is sent.
fn keep_text(core: &mut Core<'_>, act: &Act, id: &str, said: &str) -> Result<(), StoreError> {
    if let Deed::Change { after, .. } = &act.deed {
        // With the base as the file has it, the service's text is the newer one.
        let fields = after.iter().filter(|(key, _)| *key == "content");
        let fields = fields.map(|(key, value)| (key.clone(), value.clone())).collect();
        fetch::move_base(core, act.item, &ElementChange::Changed { id: id.to_owned(), fields })?;
    }
    core.state.journal.remove(act.sent);
    let owner = core.state.items.get(act.item).map(Item::owner).and_then(|owner| core.state.items.get(owner));
    if let Some(path) = owner.and_then(Item::file).map(|fact| fact.path.clone()) {
        let what = format!("the text of a node is changed back: {said}");
        core.notice(Code::PutBack, &path, what, "change it in the app");
    }
    Ok(())
}

/// An act was not carried out, or it is unknown whether it was.
fn failed(core: &mut Core<'_>, act: &Act, error: &ServiceError) {
    let now = core.now;
    let Some(item) = core.state.items.get(act.item).cloned() else { return };
    core.state.runtime(act.item).needs = core.next_seq();
    if item.kind == Kind::File
        && matches!(act.deed, Deed::Create { .. })
        && refuses_workspace(core, act, error)
    {
        return;
    }
    let creates = if act.part == Part::Item { "board-post-forgotten" } else { "element-post-forgotten" };
    let is_forgotten = matches!(act.deed, Deed::Create { .. }) && planted(creates);
    match means(error) {
        Means::InDoubt if is_forgotten => drop(core.state.journal.remove(act.sent)),
        // A fetch has shown it meanwhile.
        Means::InDoubt if !act.is_in_doubt() => {}
        // Sent twice, it does no harm.
        Means::InDoubt if matches!(act.part, Part::Version(_)) => {
            core.state.journal.edit(act.sent, |act| {
                act.state = ActState::Failed;
                act.fails(error.to_string(), false, now);
            });
        }
        Means::InDoubt => {
            core.state.journal.edit(act.sent, |act| {
                act.state = ActState::Unconfirmed(Unconfirmed { since: now, looks: 0 });
                act.fails(error.to_string(), false, now);
            });
            if act.part == Part::Item {
                entries::list_for(core, act.sent);
            }
        }
        Means::NotSent => {
            core.state.journal.edit(act.sent, |act| {
                act.state = ActState::Failed;
                if matches!(error, ServiceError::Unreachable(_)) {
                    act.fails(error.to_string(), false, now);
                }
            });
        }
        Means::Forbidden => {
            core.state.journal.remove(act.sent);
            core.state.forbidden.refuse(&item.area, verb_of(act), &error.to_string(), false, now);
            core.state.items.mark_all();
        }
        Means::Refused => {
            core.state.journal.edit(act.sent, |act| {
                act.state = ActState::Failed;
                act.fails(error.to_string(), true, now);
            });
            // The next list and the next fetch show whether it is still there.
            if act.part == Part::Item {
                entries::list_by(core, &ListOf::of(&item), now);
            } else {
                core.state.wanted.insert(act.item, Want::Fetch);
            }
        }
    }
    if act.part == Part::Item {
        // An item that a list showed meanwhile may have been taken for its result.
        core.state.items.mark_all();
    }
    if item.kind == Kind::File && planted("upload-retried-at-once") {
        core.state.journal.edit(act.sent, |act| act.failing.until = now);
    }
    entries::wake_again(core, act.sent);
    reread(core, act.item);
}

/// An upload was refused, which another workspace may take: it is sent there at once. Each is tried once.
fn refuses_workspace(core: &mut Core<'_>, act: &Act, error: &ServiceError) -> bool {
    let is_refused = matches!(error, ServiceError::Forbidden(_) | ServiceError::Rejected { status: 400, .. });
    if !is_refused || !upload::note_workspace(core, act, false) {
        return false;
    }
    core.state.journal.remove(act.sent);
    core.state.items.dirty.insert(act.item);
    true
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
