//! Entries of lists, and what they say of the acts that they may show.

use std::collections::BTreeSet;

use crate::core::content::listed::{ListOf, Listed};
use crate::core::content::{bytes, history, naming};
use crate::core::items::{Act, ActState, Base, Bytes, Deed, Emptied, Item, Listing, Local, Part, Remote};
use crate::core::keys::{Digest, ItemKey, Seq};
use crate::core::plan::confirm::{Shows, Verdict};
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, Way};
use crate::core::wants::Want;
use crate::model::{MirrorPath, PollState, Timestamp, WorkspaceId, elements_hash, planted};
use crate::plan::filenames;
use crate::plan::guard::Guard;

/// The time between two empty answers that are believed.
pub(crate) const EMPTY_MS: i64 = 15_000;

/// Changes what is known of an item at the service.
pub fn set_remote(core: &mut Core<'_>, key: ItemKey, change: impl FnOnce(&mut Remote)) {
    core.state.items.edit(key, |item| item.remote.as_mut().map(change));
}

/// Takes in the entries of a list. Returns their ids.
pub fn apply_entries(
    core: &mut Core<'_>,
    of: &ListOf,
    listed: Vec<Listed>,
    asked_at: Timestamp,
) -> BTreeSet<String> {
    let ids = listed.iter().map(|entry| entry.id.clone()).collect();
    listed.into_iter().for_each(|entry| apply_entry(core, of, entry, asked_at));
    ids
}

/// Takes in an entry of a list.
pub fn apply_entry(core: &mut Core<'_>, of: &ListOf, entry: Listed, asked_at: Timestamp) {
    let kind = entry.kind;
    let (parent, area) = match of {
        ListOf::Area(area) => (None, Some(area.clone())),
        ListOf::Inner(parent) => {
            (Some(*parent), core.state.items.get(*parent).map(|parent| parent.area.clone()))
        }
    };
    let Some(area) = area else { return };
    let mut known = core.state.items.of_id(kind, parent, &entry.id).cloned();
    if let Some(item) = &known
        && let Some(version) = item.superseded.iter().find(|version| version.id == entry.id)
    {
        let act = core.state.journal.of_part(item.key, &Part::Version(entry.id.clone()));
        let is_sent = act.is_some_and(|act| act.state != ActState::Failed);
        if is_sent || version.content == entry.bytes.as_ref().map(Bytes::digest) {
            return;
        }
        // The app gave the older version other bytes: it is a file of its own.
        act.map(|act| act.sent).into_iter().for_each(|sent| drop(core.state.journal.remove(sent)));
        core.state.items.edit(item.key, |item| item.superseded.retain(|version| version.id != entry.id));
        known = None;
    }
    // What was trashed here may still be listed by a replica.
    if let Some(item) = &known
        && trash_is_shown(core, item.key, Shows::Before, asked_at) == Some(Verdict::Lags)
    {
        return;
    }
    if let Some(item) = &known {
        creation_is_shown(core, item.key, asked_at);
    }
    let now = core.now;
    let key = known
        .as_ref()
        .map_or_else(|| core.state.items.add(kind, area.clone(), parent, Local::Never), |item| item.key);
    if known.as_ref().is_none_or(|item| item.name() != entry.name || item.parent != parent) {
        core.state.replaced.insert(key);
    }
    let known_is_back = known.as_ref().is_some_and(|item| item.kind.is_stored() && !item.is_listed());
    let is_resized = known.and_then(|item| item.remote).is_some_and(|remote| remote.size != entry.size);
    core.state.items.edit(key, |item| {
        let before = item.remote.take();
        let mut remote = before.clone().unwrap_or_else(|| Remote::new(entry.id.clone(), now));
        if remote.name != entry.name && before.is_some() {
            remote.poll.changed(now);
        }
        (remote.name, remote.rest, remote.size) = (entry.name.clone(), entry.rest.clone(), entry.size);
        remote.position = entry.position.or(remote.position);
        if let Some(bytes) = entry.bytes.clone() {
            remote.content = Some(bytes.digest());
            remote.bytes = Some(bytes);
        }
        if remote.presence != Listing::Listed {
            remote.presence = Listing::Listed;
            item.approved = false;
        }
        if let Some(emptied) = &mut remote.emptied {
            emptied.is_listed = true;
        }
        item.remote = Some(remote);
        (item.area, item.parent) = (area, parent);
    });
    if known_is_back {
        // What failed while no list showed it is over.
        let runtime = core.state.runtime(key);
        (runtime.unreadable, runtime.failures, runtime.not_found) = Default::default();
        runtime.bytes.is_hidden = false;
    }
    let is_emptied = core.state.items.get(key).and_then(|item| item.remote.as_ref()?.emptied).is_some();
    // The content of what was resized states the size.
    if is_emptied || is_resized {
        core.state.wanted.insert_new(key, Want::Fetch);
    }
}

/// A list shows an item that an act made.
pub(crate) fn creation_is_shown(core: &mut Core<'_>, key: ItemKey, asked_at: Timestamp) {
    let act = core.state.journal.of_part(key, &Part::Item);
    let is_made = |act: &&Act| matches!((&act.deed, act.state), (Deed::Create { .. }, ActState::Done { .. }));
    if let Some(sent) = act.filter(is_made).map(|act| act.sent) {
        core.state.journal.edit(sent, |act| {
            act.confirm(Shows::After, asked_at);
        });
    }
}

/// What a list says of the removal of an item, if there was one.
pub fn trash_is_shown(
    core: &mut Core<'_>,
    key: ItemKey,
    shows: Shows,
    asked_at: Timestamp,
) -> Option<Verdict> {
    let act = core.state.journal.of_part(key, &Part::Item)?;
    let sent = matches!(act.deed, Deed::Remove { .. }).then_some(act.sent)?;
    let mut verdict = None;
    core.state.journal.edit(sent, |act| verdict = Some(act.confirm(shows, asked_at)));
    match verdict {
        Some(Verdict::Refuted) => wake_again(core, sent),
        Some(Verdict::Foreign) if shows == Shows::Before => drop(core.state.journal.remove(sent)),
        _ => {}
    }
    verdict
}

/// Settles the creations without an answer that the list would show.
pub(crate) fn confirm_creations(
    core: &mut Core<'_>,
    space: &WorkspaceId,
    kind: Kind,
    ids: &BTreeSet<String>,
    (is_whole, asked_at): (bool, Timestamp),
) {
    let drafts = core.state.items.all().filter(|item| item.kind == kind && item.area == *space);
    let drafts: Vec<ItemKey> = drafts.filter(|item| item.remote.is_none()).map(|item| item.key).collect();
    for key in drafts {
        let Some(act) = core.state.journal.of_part(key, &Part::Item).cloned() else { continue };
        let (Deed::Create { fields, known, .. }, ActState::Unconfirmed(_)) = (&act.deed, act.state) else {
            continue;
        };
        let name = fields.get("name").and_then(serde_json::Value::as_str).unwrap_or_default();
        let is_it = |item: &Item| {
            filenames::is_same_name(name, item.name()) && item.base.is_none() && item.local == Local::Never
        };
        let new = ids.iter().filter(|id| !known.contains(*id));
        let listed = new.filter_map(|id| Some((id, core.state.items.of_id(kind, None, id)?)));
        let made =
            listed.filter(|(_, item)| is_it(item)).map(|(id, item)| (id.clone(), item.name().to_owned()));
        match made.into_iter().next() {
            Some((id, name)) => apply_made(core, act.sent, Listed::new(kind, &id, name), None),
            None => creation_is_lacked(core, act.sent, is_whole, asked_at),
        }
    }
}

/// A list that would show it lacks the result of a creation without an answer. If that was not carried out, it is sent again.
/// `is_whole`: each entry could be read.
pub fn creation_is_lacked(core: &mut Core<'_>, sent: Seq, is_whole: bool, asked_at: Timestamp) {
    let mut verdict = None;
    core.state.journal.edit(sent, |act| {
        let is_evidence =
            matches!(act.state, ActState::Unconfirmed(doubt) if doubt.heeds(is_whole, asked_at));
        verdict = is_evidence.then(|| act.confirm(Shows::Before, asked_at));
    });
    match verdict {
        Some(Verdict::Refuted) => wake_again(core, sent),
        _ => list_for(core, sent),
    }
}

/// Wakes the item of an act that was not carried out for its next try. The row stays, with the number of its failures.
pub fn wake_again(core: &mut Core<'_>, sent: Seq) {
    let Some(act) = core.state.journal.get(sent) else { return };
    let (key, at) = (act.item, act.failing.until);
    core.state.wake(key, at);
    core.state.items.dirty.insert(key);
}

/// Makes the list due that tells what became of an act on an item.
pub fn list_for(core: &mut Core<'_>, sent: Seq) {
    let Some(act) = core.state.journal.get(sent) else { return };
    let Some(wait) = act.state.read_again_in(core.now) else { return };
    let Some(of) = bytes::list_of(core.state, act) else { return };
    list_by(core, &of, core.now.plus_ms(wait));
}

/// Makes a list due at a time, unless it is due before.
pub fn list_by(core: &mut Core<'_>, of: &ListOf, at: Timestamp) {
    match of {
        ListOf::Area(space) => {
            if let Some(area) = core.state.areas.get_mut(space) {
                area.list.due = area.list.due.min(at).max(area.list.rests);
            }
        }
        ListOf::Inner(key) => {
            let needs = core.next_seq();
            let runtime = core.state.runtime(*key);
            (runtime.needs, runtime.failures.1) = (needs, runtime.failures.1.max(at));
            core.state.wanted.insert_new(*key, Want::Fetch);
        }
    }
}

/// The item of a creation is known. `answered`: the number of the answer, which counts as a fetch of an empty item; without one
/// a list showed it, and the app may have filled it since.
pub fn apply_made(core: &mut Core<'_>, sent: Seq, made: Listed, answered: Option<Seq>) {
    let Some(act) = core.state.journal.get(sent).cloned() else { return };
    let Some(draft) = core.state.items.get(act.item).cloned() else { return };
    // A list may have shown it before.
    let listed = core.state.items.of_id(draft.kind, None, &made.id).cloned();
    if let Some(listed) = &listed {
        core.state.forget(listed.key);
    }
    let holds_items = draft.kind.inner().is_some();
    let nothing = core.store.keep_elements(&[]);
    debug_assert_eq!(nothing, elements_hash(&[]));
    let now = core.now;
    let path = draft.last_file().map_or_else(MirrorPath::root, |fact| fact.path.clone());
    // A file that was moved meanwhile has left the place where the service made its item.
    let made_in = core.state.areas.get(&draft.area).and_then(naming::folder);
    let place = made_in.and_then(|folder| folder.join(path.name()).ok()).unwrap_or_else(|| path.clone());
    core.state.items.edit(act.item, |item| {
        let mut remote = listed.and_then(|listed| listed.remote).unwrap_or_else(|| Remote::new(made.id, now));
        remote.name = made.name.clone();
        remote.size = made.size.or(remote.size);
        remote.poll.changed(now);
        if holds_items {
            // The first of them is made along with it.
            remote.content = None;
        } else if answered.is_some() && remote.content.is_none() {
            remote.content = Some(nothing);
            remote.poll.last = now;
        }
        item.remote = Some(remote);
        item.base = Some(Base { name: made.name, content: nothing, text: None, path: place });
    });
    if holds_items {
        core.state.wanted.insert(act.item, Want::Fetch);
    } else if let Some(answered) = answered {
        core.state.runtime(act.item).fetched = Some((answered, now));
        core.state.runtime(act.item).answered = answered;
    }
    let shown = answered.is_none();
    core.state.journal.edit(sent, |act| {
        act.state = ActState::Done { at: now, shown };
        act.failing = Default::default();
    });
    let item = core.state.items.get(act.item);
    if let Some(name) = item.and_then(history::name) {
        core.store.claim_versions(&path, &name);
    }
    let text = draft.last_file().and_then(|fact| fact.hash);
    core.tell_change(Way::Up, &path, naming::new(draft.kind), (None, text));
}

/// The items that a list shows if they are there.
#[must_use]
pub fn items_of(core: &Core<'_>, of: &ListOf) -> Vec<Item> {
    match of {
        ListOf::Area(_) => {
            let ours = core.state.items.all().filter(|item| item.remote.is_some() && ListOf::of(item) == *of);
            ours.cloned().collect()
        }
        ListOf::Inner(key) => {
            core.state.items.within(*key).filter(|item| item.remote.is_some()).cloned().collect()
        }
    }
}

/// Those of its items that a list lacks, and that are not known to be gone.
pub fn lacked<'a>(
    core: &mut Core<'_>,
    ours: &'a [Item],
    ids: &BTreeSet<String>,
    (sent, asked_at): (Seq, Timestamp),
) -> Vec<&'a Item> {
    let is_shown = |item: &Item| item.remote.as_ref().is_some_and(|remote| ids.contains(&remote.id));
    let ours = ours.iter().filter(|item| item.presence() != Some(Listing::Gone) && !is_shown(item));
    ours.filter(|item| !lags(core, item, sent, asked_at)).collect()
}

/// Whether a list that lacks an item may be older than its creation.
pub(crate) fn lags(core: &mut Core<'_>, item: &Item, sent: Seq, asked_at: Timestamp) -> bool {
    let act = core.state.journal.of_part(item.key, &Part::Item);
    let Some(act) = act.filter(|act| matches!(act.deed, Deed::Create { .. })).cloned() else { return false };
    let mut verdict = None;
    core.state.journal.edit(act.sent, |act| verdict = Some(act.confirm(Shows::Before, asked_at)));
    let at = core.state.runtimes.get(&item.key).map(|runtime| runtime.answered).unwrap_or_default();
    verdict == Some(Verdict::Lags) || sent < at && act.state != ActState::Failed
}

pub(crate) fn note_held(core: &mut Core<'_>, of: &ListOf, held: Option<Guard>) {
    match of {
        ListOf::Area(space) => {
            if let Some(area) = core.state.areas.get_mut(space) {
                area.list.held = held;
            }
        }
        ListOf::Inner(key) => core.state.runtime(*key).held = held,
    }
}

/// An item came empty although it was not: whether that is believed. A list that shows it, and another empty answer some seconds
/// later, must confirm it.
pub fn believes_empty(core: &mut Core<'_>, item: &Item, is_empty: bool, asked_at: Timestamp) -> bool {
    let emptied = item.remote.as_ref().and_then(|remote| remote.emptied);
    let now = core.now;
    let next = match emptied {
        _ if !is_empty || planted("empty-canvas-believed") => None,
        None => Some(Emptied { since: now, is_listed: false }),
        Some(emptied) if !emptied.is_listed => Some(emptied),
        Some(emptied) => {
            let is_late = asked_at.since_ms(emptied.since) >= EMPTY_MS;
            (!is_late).then_some(emptied)
        }
    };
    set_remote(core, item.key, |remote| remote.emptied = next);
    if let Some(next) = next {
        let at = next.since.plus_ms(EMPTY_MS);
        core.state.runtime(item.key).failures.1 = at;
        if next.is_listed {
            core.state.wanted.insert(item.key, Want::Fetch);
        } else {
            // No fetch can tell more than the list.
            list_by(core, &ListOf::of(item), now);
        }
    }
    next.is_none()
}

impl Remote {
    /// What a list shows of an item for the first time.
    #[must_use]
    pub fn new(id: String, now: Timestamp) -> Self {
        Self {
            id,
            name: String::new(),
            rest: None,
            size: None,
            position: None,
            bytes: None,
            presence: Listing::Listed,
            content: None,
            poll: PollState::fresh(now),
            emptied: None,
        }
    }

    /// A read shows this content.
    pub(super) fn note_content(&mut self, content: Digest, now: Timestamp) {
        self.poll.last = now;
        if self.content.is_some_and(|before| before != content) {
            self.poll.changed(now);
        } else {
            self.poll.unchanged();
        }
        self.content = Some(content);
    }
}
