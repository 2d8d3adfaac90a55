//! What every act begins with: its row in the journal, and whether a request may leave.

use crate::core::content::service;
use crate::core::items::{Act, ActState, Deed, Failing, Item, Part};
use crate::core::keys::{Digest, ItemKey, Seq};
use crate::core::state::{Core, Purpose, State};
use crate::core::wants::Want;
use crate::model::{ContentHash, Effect, MirrorPath, Timestamp};

/// How urgent a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// An edit of the user.
    Edit,
    /// Something that is waited for.
    Asked,
    /// A list.
    List,
    /// Background reading.
    Background,
}

impl Urgency {
    /// The urgency of the request that an item needs.
    #[must_use]
    pub fn of(want: Want) -> Self {
        match want {
            Want::Send | Want::Create | Want::Trash => Self::Edit,
            Want::Fetch => Self::Asked,
            Want::Download => Self::Background,
        }
    }

    /// The requests that such a one needs back to back.
    #[must_use]
    pub fn slots(self) -> u32 {
        if self == Self::Edit { 2 } else { 1 }
    }
}

/// A request that could leave now.
#[derive(Debug)]
pub struct Ready {
    /// The effect.
    pub effect: Effect,
    /// Its reason.
    pub purpose: Purpose,
}

/// A fetch of an item.
pub fn fetch(core: &mut Core<'_>, item: &Item) -> Option<Ready> {
    if core.state.wanted.get(item.key) == Some(Want::Fetch) {
        core.state.wanted.remove(item.key);
    }
    let effect = service::fetch(&core.state.items, item)?;
    Some(Ready { effect, purpose: Purpose::Fetch(item.key) })
}

/// Stores an act before it leaves. The next try of an act that failed takes its row over.
pub fn begin(core: &mut Core<'_>, item: ItemKey, part: Part, deed: Deed) -> Seq {
    let before = core.state.journal.of_part(item, &part).filter(|act| act.state == ActState::Failed).cloned();
    let failing = match &before {
        Some(act) if act.deed == deed || !act.failing.is_refused => act.failing.clone(),
        _ => Failing::default(),
    };
    before.iter().for_each(|act| drop(core.state.journal.remove(act.sent)));
    let sent = core.next_seq();
    core.state.journal.put(Act { sent, item, part, deed, state: ActState::Sent, failing });
    sent
}

/// An effect and its reason, if there is one.
pub type Choice = Option<(Effect, Purpose)>;

/// Stores the rows of a write of an item's file, which is to have this hash. Returns the number of the item's own.
pub fn record_write(
    core: &mut Core<'_>,
    item: ItemKey,
    (path, hash): (MirrorPath, ContentHash),
    mut contents: Vec<(ItemKey, Digest)>,
    is_whole: bool,
) -> Seq {
    let family = core.state.items.family_keys(item);
    core.state.journal.retain(|act| !family.contains(&act.item) || act.part != Part::File);
    let agreed = |key| core.state.items.get(key).and_then(Item::agreed);
    contents.retain(|(key, content)| *key == item || agreed(*key) != Some(*content));
    contents.sort_by_key(|(key, _)| *key == item);
    let mut act = Seq::default();
    for (item, content) in contents {
        act = core.next_seq();
        let deed = Deed::Write { path: path.clone(), text: hash, content, is_whole };
        let (part, state, failing) = (Part::File, ActState::Sent, Default::default());
        core.state.journal.put(Act { sent: act, item, part, deed, state, failing });
    }
    act
}

/// An item that is gone at the service leaves its file to the user, who has a new file then.
pub fn release(core: &mut Core<'_>, key: ItemKey) -> Choice {
    core.state.items.release(key);
    core.state.scan_by(core.now);
    None
}

/// Whether a request about an item may leave: none is under way, and the last one did not fail a moment ago.
#[must_use]
pub fn is_ready(state: &State, key: ItemKey, now: Timestamp) -> bool {
    state.runtimes.get(&key).is_none_or(|runtime| runtime.failures.1 <= now) && !state.is_busy(key)
}
