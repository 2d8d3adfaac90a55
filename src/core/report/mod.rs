//! What the user is told, and how far everything is.

use crate::core::act::requests;
use crate::core::content::listed::ListOf;
use crate::core::content::{bytes, naming};
use crate::core::guard;
use crate::core::items::{Act, ActState, Item, Local, Verb, Wait};
use crate::core::plan::policy::Kind;
use crate::core::state::State;
use crate::model::{Attention, Code, MirrorPath, Settings, Timestamp, Unreadable, WorkspaceId};
use crate::plan::barrier::Barrier;
use crate::plan::guard::Guard;

mod lines;
pub mod storage;
pub mod view;

/// How far everything is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// The items that lists show.
    pub listed: usize,
    /// Those of them that were fetched.
    pub fetched: usize,
    /// Those with a base.
    pub mirrored: usize,
    /// What is still to be done.
    pub pending: usize,
    /// Whether all that is left to do waits for the user or for the service.
    pub is_settled: bool,
}

/// How far everything is.
#[must_use]
pub fn progress(state: &State, settings: &Settings, barrier: &Barrier, now: Timestamp) -> Progress {
    let is_live =
        |item: &&Item| state.areas.get(&item.area).is_some_and(|area| area.is_live) && !item.is_ignored;
    let live = || state.items.all().filter(is_live);
    let canvases = || live().filter(|item| !item.kind.is_stored());
    let listed = canvases().filter(|item| item.is_listed()).count();
    let unreadable = |item: &Item| matches!(item.wait, Some(Wait::Unreadable(_)));
    let unseen = live().filter(|item| item.is_listed() && item.content().is_none());
    let unseen = unseen.filter(|item| !unreadable(item)).count();
    let waits = |item: &Item| item.wait.is_some();
    let wanted = state.wanted.keys().filter_map(|key| state.items.get(*key));
    let wanted = wanted.filter(|item| !waits(item) && !item.kind.is_stored()).count();
    let dirty = state.items.dirty.iter().filter_map(|key| state.items.get(*key));
    let dirty = dirty.filter(|item| is_live(item) && !waits(item) && !item.kind.is_stored()).count();
    let is_in_grace = |item: &&Item| {
        matches!(item.local, Local::Gone { .. })
            && item.kind != Kind::Folder
            && item.is_listed()
            && !waits(item)
            && barrier.found().is_empty()
    };
    let grace = live().filter(is_in_grace).count();
    // A file that was moved goes back once it has rested.
    let is_moved = |item: &&Item| {
        let home = || naming::home(state, item);
        item.base.is_some()
            && item.is_listed()
            && !waits(item)
            && item.file().is_some_and(|file| home().is_some_and(|home| home != file.path))
    };
    let moved = live().filter(is_moved).count();
    let is_draft = |item: &&Item| item.remote.is_none() && !item.kind.is_stored();
    let drafts = live().filter(is_draft).filter(|item| can_be_made(state, item, now)).count();
    // What was uploaded into a folder that has left the service waits for the folder.
    let is_told_by = |act: &&Act| match bytes::list_of(state, act) {
        Some(ListOf::Inner(parent)) => state.items.get(parent).is_some_and(Item::is_listed),
        of => of.is_some(),
    };
    let doubts = state.journal.all().filter(|act| act.is_in_doubt() && !act.failing.is_told());
    let doubts = doubts.filter(is_told_by).count();
    let pending = wanted + dirty + grace + moved + drafts + doubts + state.snapshot.unread.len();
    let areas = || state.areas.values().filter(|area| area.is_live);
    Progress {
        listed,
        fetched: listed - unseen.min(listed),
        mirrored: canvases().filter(|item| item.base.is_some()).count(),
        pending,
        is_settled: pending + unseen == 0
            && storage::is_settled(state, settings, now)
            && state.under_way.is_empty()
            && !state.snapshot.is_open
            && state.snapshot.scan > crate::core::keys::Seq(0)
            && areas().all(|area| area.list.taken.is_some()),
    }
}

/// Whether a new file is to be made into an item as soon as it has rested.
fn can_be_made(state: &State, item: &Item, now: Timestamp) -> bool {
    let text = state.runtimes.get(&item.key).and_then(|runtime| runtime.text.as_ref());
    let has_content =
        text.is_none_or(|(_, text)| crate::core::content::compared::has_content(item.kind, text));
    let refused = state.journal.of(item.key).any(|act| act.rests(now));
    requests::is_new(state, item)
        && has_content
        && !refused
        && !state.creations_held
        && state.doubt.is_none()
        && guard::may(state, &item.area, Verb::Write, now)
}

/// Whether the service refuses something.
#[must_use]
pub fn is_refused(state: &State) -> bool {
    let is_refused = |act: &Act| act.state == ActState::Failed && act.failing.is_refused;
    state.forbidden.is_any() || state.journal.all().any(is_refused)
}

/// Whether changes of files of an area are not sent because the area does not take any.
#[must_use]
pub fn stays_here(state: &State, area: &WorkspaceId) -> bool {
    let its = || state.items.all().filter(|item| item.area == *area);
    its().any(|item| item.wait == Some(Wait::Frozen) || item.remote.is_none() && item.file().is_some())
}

/// The number of new files that wait to be made into items, for the guard of creations.
#[must_use]
pub fn waiting_creations(state: &State, now: Timestamp) -> usize {
    let new = state.items.unknown().filter(|item| !item.kind.is_stored() && requests::is_new(state, item));
    new.filter(|item| guard::may(state, &item.area, Verb::Write, now)).count()
}

/// Says when something is tried again.
type Says<'a> = &'a dyn Fn(Timestamp) -> String;

/// The messages to the user. `next_try` says when something is tried again.
#[must_use]
pub fn needs(state: &State, settings: &Settings, next_try: Says<'_>) -> Vec<Attention> {
    let mut all = Vec::new();
    storage::needs(state, settings, next_try, &mut all);
    needs_of_areas(state, next_try, &mut all);
    let mut held: Vec<(&Guard, Vec<&Item>)> = Vec::new();
    for item in state.items.all().filter(|item| !item.is_ignored && !item.kind.is_part()) {
        let runtime = state.runtimes.get(&item.key);
        if let Some(guard) = runtime.and_then(|runtime| runtime.held.as_ref()) {
            all.push(removals_held(path_of(state, item), guard));
        }
        match &item.wait {
            Some(Wait::Guard(_)) if item.kind.is_stored() => {}
            Some(Wait::Guard(guard)) if matches!(item.local, Local::Gone { .. }) => {
                match held.iter_mut().find(|(other, _)| *other == guard) {
                    Some((_, items)) => items.push(item),
                    None => held.push((guard, vec![item])),
                }
            }
            Some(wait) => all.extend(told(state, item, wait, next_try)),
            None if item.kind.is_stored() => {}
            None => all.extend(draft_needs(state, item, next_try)),
        }
        if let Some(stamp) = runtime.and_then(|runtime| runtime.foreign_picture)
            && let Some(path) = item.file().and_then(|fact| naming::picture(item.kind, &fact.path))
            && state.snapshot.entries.get(&path).is_some_and(|(_, now)| *now == stamp)
        {
            let why = "no picture is drawn: a file that does not belong to espejo is in its place";
            all.push(Attention::new(Code::NoPicture, path.as_str(), why, "rename the file"));
        }
    }
    for (guard, items) in held {
        let path = match items.as_slice() {
            [only] => path_of(state, only),
            _ => {
                let areas = items.iter().map(|item| &item.area);
                let areas: std::collections::BTreeSet<_> = areas.collect();
                let only = areas.first().filter(|_| areas.len() == 1);
                let folder = only.and_then(|area| naming::folder(state.areas.get(*area)?));
                folder.map_or_else(String::new, |folder| folder.to_string())
            }
        };
        let mend = "restore the missing files, or run espejo approve";
        all.push(Attention::new(Code::DeletionsHeld, path, guard.to_string(), mend));
    }
    all
}

fn needs_of_areas(state: &State, next_try: Says<'_>, all: &mut Vec<Attention>) {
    for area in state.areas.values().filter(|area| area.is_live) {
        let path = naming::folder(area).map_or_else(String::new, |path| path.to_string());
        if let Some(why) =
            area.list.trouble.as_ref().filter(|_| !area.list.is_forbidden || !area.kind.is_stored())
        {
            let mend = "nothing is lost; tell the service's operator if this continues";
            all.push(Attention::new(Code::Unclear, path.clone(), why.clone(), mend));
        }
        if let Some(guard) = area.list.held.as_ref().filter(|_| !area.kind.is_stored()) {
            all.push(removals_held(path, guard));
        }
    }
    let place = |area: &WorkspaceId| {
        let area = state.areas.get(area).filter(|area| !area.kind.is_stored())?;
        let path = naming::folder(area).map_or_else(String::new, |path| path.to_string());
        Some((path, format!("the {}s of {}", naming::noun(area.kind), area.name)))
    };
    all.extend(state.forbidden.needs(place, next_try));
}

fn removals_held(path: String, guard: &Guard) -> Attention {
    let reason = format!("nothing is removed: {guard}");
    let mend = "check the app; espejo approve removes the files; if you get access again, they stay";
    Attention::new(Code::RemovalsHeld, path, reason, mend)
}

fn path_of(state: &State, item: &Item) -> String {
    let place = item.last_file().map(|fact| fact.path.clone()).or_else(|| naming::home(state, item));
    place.map_or_else(|| item.name().to_owned(), |path| path.to_string())
}

/// The message about a new file that cannot be made into an item.
fn draft_needs(state: &State, item: &Item, next_try: Says<'_>) -> Option<Attention> {
    let fact = item.file().filter(|_| item.remote.is_none())?;
    if let Some(problem) = &fact.problem {
        return told(state, item, &Wait::Problem(problem.clone()), next_try);
    }
    let act = state.journal.of(item.key).find(|act| act.failing.is_told())?;
    let reason = format!("it was not created: {}", act.failing.said);
    let (next, path) = (next_try(act.failing.until), fact.path.as_str());
    Some(match act.failing.is_refused {
        true => Attention::new(Code::Refused, path, reason, format!("change the file; {next}")),
        false => Attention::new(Code::Failing, path, reason, format!("nothing to do: {next}")),
    })
}

fn told(state: &State, item: &Item, wait: &Wait, next_try: Says<'_>) -> Option<Attention> {
    let path = path_of(state, item);
    Some(match wait {
        Wait::Problem(problem) => problem.attention(&path, "canvas"),
        Wait::InTheWay(place) => Attention::new(
            Code::InTheWay,
            path,
            format!("something else is at {place}"),
            "move it away; espejo then continues",
        ),
        Wait::Disk(why) => Attention::new(Code::NotWritten, path, why.clone(), "espejo retries"),
        // These are told with all stored files.
        Wait::Unsent(_) | Wait::TooLarge(_) | Wait::DiskAway(_) => return None,
        Wait::Refusal { .. } if item.kind == Kind::File && item.file().is_some() => return None,
        Wait::Unreadable(why) if item.kind == Kind::File => {
            Attention::new(Code::Failing, path, why.clone(), "espejo retries")
        }
        Wait::Unreadable(why) => {
            let mend = "nothing to do: espejo retries";
            Attention::new(Code::Unclear, path, format!("it cannot be read: {why}"), mend)
        }
        Wait::Guard(guard) => {
            let reason = guard.to_string();
            Attention::new(
                Code::DeletionsHeld,
                path,
                reason,
                "restore the missing files, or run espejo approve",
            )
        }
        Wait::Refusal { said, is_its_own: true, retry_at } if matches!(item.local, Local::Gone { .. }) => {
            let reason = format!("it is not moved to the service's trash: {said}");
            let mend = format!("put the file back, or remove it in the app; {}", next_try(*retry_at));
            Attention::new(Code::Refused, path, reason, mend)
        }
        Wait::Refusal { said, is_its_own: true, retry_at } => Attention::new(
            Code::Refused,
            path,
            format!("a change of it is refused: {said}"),
            format!("change it again, or undo the change; {}", next_try(*retry_at)),
        ),
        Wait::Refusal { .. } => Attention::new(
            Code::Failing,
            path,
            "the service fails each time espejo sends it; espejo retries",
            "nothing to do: espejo retries",
        ),
        Wait::StaleEditor => Attention::new(
            Code::StaleEditor,
            path,
            "a program saved its old text over newer words from the app three times; the app has both",
            "reload the file in that program; espejo then writes what the app has",
        ),
        // The area has the message.
        Wait::Frozen => return None,
    })
}

/// The missing files of items that a place may hide, each with that place.
pub fn hidden<'a>(
    state: &'a State,
    barrier: &'a Barrier,
) -> impl Iterator<Item = (&'a MirrorPath, &'a Unreadable)> {
    let waiting = state.items.all().filter(|item| !item.approved && item.is_listed());
    waiting.filter_map(|item| Some((&item.last_file()?.path, guard::hidden_by(barrier, item)?)))
}
