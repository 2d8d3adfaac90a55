//! The versions of a content that are compared, and what their comparison says.

use crate::canvas::{Op, Origins};
use crate::core::items::{Deed, Item, Part};
use crate::core::keys::ItemKey;
use crate::core::state::Core;
use crate::model::{ContentHash, Elements, id_of};
use crate::store::StoreError;

/// A file, merged with the service.
#[derive(Debug)]
pub struct Compared {
    /// The file's text.
    pub text: String,
    /// Its hash.
    pub hash: ContentHash,
    /// The text that the file is to have, if that is another one.
    pub next: Option<String>,
    /// The item, and what lies in it.
    pub merged: Vec<MergedItem>,
    /// What both sides changed differently, one line each.
    pub collisions: Vec<String>,
    /// What comes back or stays although the file says otherwise, each a sentence.
    pub notes: Vec<String>,
    /// Why parts of the file cannot be sent as they are, each a sentence.
    pub faults: Vec<String>,
    /// The number of copies of elements that the API cannot create.
    pub copies: usize,
    /// The number of other nodes and edges that stay in the file only.
    pub strays: usize,
    /// Whether the file says nothing of its own.
    pub is_clean: bool,
    /// Whether ids in the file wait to be replaced by the elements' own.
    pub aliased: bool,
    /// Whether the next text says something that neither this one nor the service does.
    pub is_moving: bool,
    /// The element that is to stand for a new node from now on: the node's id, and its own.
    pub adopts: Option<(String, String)>,
}

/// What a comparison says of one item.
#[derive(Debug)]
pub struct MergedItem {
    /// The item.
    pub item: ItemKey,
    /// The base, with what the last write brought if its end is unknown.
    pub base: Elements,
    /// The service's elements.
    pub remote: Elements,
    /// The elements that the file has, as it says them; `None` if the item is not in the file.
    pub said: Option<Elements>,
    /// The number of elements that the file lacks.
    pub gone: usize,
    /// What the service lacks.
    pub ops: Vec<Op>,
    /// The base once the file has its next text.
    pub agreed: Elements,
}

impl Compared {
    /// All operations.
    pub fn ops(&self) -> impl Iterator<Item = (ItemKey, &Op)> {
        self.merged.iter().flat_map(|merged| merged.ops.iter().map(|op| (merged.item, op)))
    }

    /// What it says of an item.
    #[must_use]
    pub fn of(&self, item: ItemKey) -> Option<&MergedItem> {
        self.merged.iter().find(|merged| merged.item == item)
    }

    /// Whether nothing of the file is left to be sent.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.faults.is_empty() && self.ops().next().is_none()
    }

    /// Whether the service has what the base lacks, or the other way round.
    #[must_use]
    pub fn is_news(&self) -> bool {
        self.merged.iter().any(|MergedItem { base, remote, .. }| {
            remote.len() < base.len() || remote.iter().any(|element| !base.contains(element))
        })
    }

    /// The number of elements that the file lacks, and of those that it had.
    #[must_use]
    pub fn missing(&self) -> (usize, usize) {
        let count = |(gone, all), merged: &MergedItem| (gone + merged.gone, all + merged.base.len());
        self.merged.iter().fold((0, 0), count)
    }
}

/// What is known of an item's content, to be compared with its file.
#[derive(Debug)]
pub struct Versions {
    /// The base; `None` if the file never stated the item.
    pub base: Option<Elements>,
    /// The service's elements.
    pub remote: Elements,
    /// The elements that the file may have although the base lacks them: those of a write whose end is unknown, and the
    /// service's.
    pub shown: Elements,
}

/// The versions of an item's content. `is_first`: both sides are compared as they are.
///
/// # Errors
/// [`StoreError`] when one cannot be read.
pub fn versions(core: &Core<'_>, item: &Item, is_first: bool) -> Result<Versions, StoreError> {
    let remote = core.elements(item.content())?;
    let agreed = item.agreed().or_else(|| item.content().filter(|_| is_first));
    let base = agreed.map(|agreed| core.store.elements(agreed)).transpose()?;
    let writing = core.state.journal.of_part(item.key, &Part::File);
    let written = writing.and_then(|act| match act.deed {
        Deed::Write { content, .. } => Some(content),
        _ => None,
    });
    let shown = core.elements(written)?.into_iter().chain(remote.iter().cloned()).collect();
    Ok(Versions { base, remote, shown })
}

/// The elements of other items whose ids the nodes of a file have: what these are copies of.
///
/// # Errors
/// [`StoreError`] when an item's content cannot be read.
pub fn origins(
    core: &Core<'_>,
    item: &Item,
    ids: std::collections::BTreeSet<String>,
) -> Result<Origins, StoreError> {
    let mut found = Origins::new();
    if ids.is_empty() {
        return Ok(found);
    }
    for other in core.state.items.all().filter(|other| other.owner() != item.key) {
        let agreed = other.agreed();
        for content in [agreed, other.content().filter(|seen| Some(*seen) != agreed)].into_iter().flatten() {
            let theirs = core.store.elements(content)?.into_iter();
            let theirs = theirs.map(|element| (id_of(&element).to_owned(), element));
            found.extend(theirs.filter(|(id, _)| ids.contains(id)));
        }
    }
    for id in ids {
        // The element of a node that was cut out of another file, or of a file that comes back, is gone already.
        if !found.contains_key(&id)
            && let Some((_, element)) = core.store.buried(&id)?
        {
            found.insert(id, element);
        }
    }
    Ok(found)
}
