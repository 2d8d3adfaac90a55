//! Fetches of an item. The acts of the journal are laid over what a fetch shows, and a base moves when the fetch confirms one.

use crate::core::content::canvas::{self, ElementChange};
use crate::core::content::listed;
use crate::core::items::{Act, Part, Wait};
use crate::core::keys::{ItemKey, Seq};
use crate::core::observe::{entries, identity, list};
use crate::core::plan::policy::Kind;
use crate::core::state::Core;
use crate::core::wants::Want;
use crate::model::{Elements, Next, Problem, Schedule, ServiceError, Timestamp};
use crate::store::StoreError;

/// Waits for the list that says whether an item is gone. They grow, because the list comes after edits and the fetches for them.
const LISTED_BY_THEN: Schedule = Schedule::new(2_000, 300_000);
/// Waits after an item could not be fetched.
const UNREADABLE: Schedule = Schedule::new(30_000, 3_600_000);

/// Takes in the elements of an item, as they were at `asked_at`.
///
/// # Errors
/// [`StoreError`] when its content cannot be read.
pub fn apply(
    core: &mut Core<'_>,
    key: ItemKey,
    mut read: Elements,
    (sent, asked_at): (Seq, Timestamp),
) -> Result<(), StoreError> {
    let Some(item) = core.state.items.get(key).cloned() else { return Ok(()) };
    let runtime = core.state.runtime(key);
    (runtime.unreadable, runtime.not_found, runtime.failures) = (None, None, Default::default());
    let mut moved = Vec::new();
    let acts: Vec<Act> = core.state.journal.of(key).cloned().collect();
    let is_empty = read.is_empty() && !core.elements(item.content())?.is_empty();
    // An answer without elements says nothing of acts until it is believed.
    if !entries::believes_empty(core, &item, is_empty, asked_at) {
        return Ok(());
    }
    for mut act in acts.into_iter().filter(|act| matches!(act.part, Part::Element(_))) {
        let before = act.clone();
        let outcome = canvas::confirm(&mut act, &mut read, &item.aliases, asked_at);
        if act != before {
            core.state.journal.put(act);
        }
        moved.extend(outcome);
    }
    list::apply_inner(core, &item, &mut read, (sent, asked_at))?;
    let content = core.store.keep_elements(&read);
    let now = core.now;
    let is_news = item.content().is_some_and(|before| before != content);
    core.state.items.edit(key, |item| {
        if item.kind.is_part() {
            item.wait = None;
        }
        if let Some(remote) = &mut item.remote {
            remote.note_content(content, now);
        }
        if let crate::core::items::Local::Here(fact) = &mut item.local
            && is_news
            && fact.problem == Some(Problem::Internal)
        {
            // What failed with the former elements may succeed with these.
            fact.problem = None;
        }
    });
    let runtime = core.state.runtime(key);
    (runtime.fetched, runtime.answered) = (Some((sent, asked_at)), sent);
    for outcome in &moved {
        move_base(core, key, outcome)?;
    }
    core.state.items.dirty.insert(key);
    identity::match_first(core, item.owner())
}

/// Moves the base of an item by what an act made. The file states it now, and perhaps more.
///
/// # Errors
/// [`StoreError`] when its content cannot be read.
pub fn move_base(core: &mut Core<'_>, key: ItemKey, outcome: &ElementChange) -> Result<(), StoreError> {
    let Some(item) = core.state.items.get(key).cloned() else { return Ok(()) };
    let owner = core.state.items.get(item.owner()).and_then(|owner| owner.base.clone());
    let Some(owner) = owner else { return Ok(()) };
    // A slide that was just made of a group has no base yet.
    let mut elements = core.elements(item.agreed())?;
    outcome.move_base(&mut elements);
    let content = core.store.keep_elements(&elements);
    core.state.items.agree(item.owner(), owner.content, None, &owner.path);
    core.state.items.agree(key, content, None, &owner.path);
    core.state.items.edit(key, |item| {
        if let ElementChange::Made { node, made, .. } = outcome {
            item.aliases.insert(node.clone(), crate::model::id_of(made).to_owned());
        }
    });
    Ok(())
}

/// The service does not show an item. It is unreadable only if a list that was made afterwards still shows it.
fn not_found(core: &mut Core<'_>, key: ItemKey, error: &ServiceError, sent: Seq) {
    let Some(item) = core.state.items.get(key).cloned() else { return };
    let now = core.now;
    let taken = match listed::ListOf::of(&item) {
        listed::ListOf::Inner(folder) if item.kind.is_stored() => {
            core.state.runtimes.get(&folder).and_then(|runtime| runtime.fetched).map(|(sent, _)| sent)
        }
        _ => core.state.areas.get(&item.area).and_then(|area| area.list.taken),
    };
    let runtime = core.state.runtime(key);
    runtime.answered = sent;
    let first = *runtime.not_found.get_or_insert(sent);
    let is_listed_since = taken.is_some_and(|taken| taken > first);
    if is_listed_since {
        runtime.unreadable = Some(error.to_string());
    }
    let waits = if is_listed_since { UNREADABLE } else { LISTED_BY_THEN };
    runtime.failures.1 = now.plus_ms(waits.wait_ms(runtime.failures.0));
    // It may have left the item that it lay in, or that went too.
    if item.parent.is_some() {
        entries::list_by(core, &listed::ListOf::of(&item), now);
    }
    if !is_listed_since {
        entries::list_by(core, &listed::ListOf::Area(item.area), now);
    }
}

/// Takes in that an item could not be fetched.
pub fn apply_failure(core: &mut Core<'_>, key: ItemKey, error: &ServiceError, sent: Seq) {
    let now = core.now;
    let runtime = core.state.runtime(key);
    runtime.failures.0 += 1;
    match error.next() {
        Next::Park | Next::Stop => {
            runtime.answered = sent;
            runtime.unreadable = Some(error.to_string());
            runtime.failures.1 = now.plus_ms(UNREADABLE.wait_ms(runtime.failures.0));
        }
        Next::LookAgain if matches!(error, ServiceError::NotFound(_)) => not_found(core, key, error, sent),
        Next::TryLater | Next::LookAgain => {
            runtime.failures.1 = now.plus_ms(Schedule::new(1_000, 300_000).wait_ms(runtime.failures.0));
            if runtime.failures.0 >= 3 {
                // It failed too often for a command to wait for another one.
                runtime.answered = sent;
                runtime.unreadable = Some(error.to_string());
            }
        }
    }
    let is_file = core.state.items.get(key).is_some_and(|item| item.kind == Kind::File);
    core.state.wanted.insert_new(key, if is_file { Want::Download } else { Want::Fetch });
    let unreadable = core.state.runtime(key).unreadable.clone().map(Wait::Unreadable);
    core.state.items.edit(key, |item| {
        item.wait = Wait::first(item.wait.take(), unreadable);
        if let Some(remote) = &mut item.remote {
            remote.poll.last = now;
        }
    });
    core.state.items.dirty.insert(key);
}
