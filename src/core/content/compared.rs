//! Files compared with what both sides had and have. What a comparison says is the same for each kind of item; how a file is
//! read and written is a matter of [`crate::core::content::canvas`] and [`crate::core::content::presentation`].

use std::collections::BTreeSet;

use serde_json::Value;

use crate::canvas::is_blank;
use crate::core::content::versions::Compared;
use crate::core::content::{canvas, presentation};
use crate::core::items::{Deed, Item, Items, Part};
use crate::core::keys::{Digest, ItemKey};
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, State};
use crate::model::{ContentHash, Problem, Surface, guarded, id_of};
use crate::store::{Store, StoreError};

/// Compares an item's file with its base and the service.
///
/// # Errors
/// [`StoreError`] when a version cannot be read.
pub fn compare(
    core: &Core<'_>,
    item: &Item,
    text: &str,
    hash: ContentHash,
) -> Result<Result<Compared, Problem>, StoreError> {
    let making = core.state.acts_of(item.key).any(|act| {
        act.is_in_doubt() && matches!(act.part, Part::Element(_)) && matches!(act.deed, Deed::Create { .. })
    });
    if is_blank(text) && !item.approved && (making || !names(core, item)?.is_empty()) {
        return Ok(Err(Problem::Emptied));
    }
    match item.kind.inner() {
        None => canvas::compare(core, item, text, hash),
        Some(_) => presentation::compare(core, item, text, hash),
    }
}

/// A text that states what an item's file and the service last agreed on; `None` if they never did.
///
/// # Errors
/// [`StoreError`] when a content cannot be read.
pub fn agreed_text(store: &Store, items: &Items, item: &Item) -> Result<Option<String>, StoreError> {
    let Some(agreed) = item.agreed() else { return Ok(None) };
    let elements = store.elements(agreed)?;
    match item.kind.inner() {
        None => Ok(Some(crate::canvas::render(&elements))),
        Some(_) => presentation::agreed_text(store, items, item, &elements),
    }
}

/// The text of a file with a node for a deleted element. `slide`: the one that it stood on, if its item is a presentation.
///
/// # Errors
/// One sentence: why there can be no node for it. [`StoreError`] when a content cannot be read.
pub fn revived(
    store: &Store,
    items: &Items,
    (item, slide): (Option<&Item>, Option<&str>),
    text: &str,
    element: &Value,
) -> Result<Result<String, String>, StoreError> {
    match (item, slide) {
        (Some(item), Some(slide)) => presentation::revived(store, items, (item, slide), text, element),
        _ => Ok(crate::canvas::revive(text, Surface::Board, element)),
    }
}

/// A conflict copy whose nodes can be put together with those of the item's file, one by one.
///
/// # Errors
/// One sentence: why one of them cannot be read. [`StoreError`] when a content cannot be read.
pub fn aligned(
    store: &Store,
    items: &Items,
    item: Option<&Item>,
    copy: &str,
    file: &str,
) -> Result<Result<String, String>, StoreError> {
    match item.filter(|item| item.kind.inner().is_some()) {
        Some(item) => presentation::aligned(store, items, item, copy, file),
        None => Ok(Ok(copy.to_owned())),
    }
}

/// What an item's first file is to be.
#[derive(Debug)]
pub struct FirstFile {
    /// Its text.
    pub text: String,
    /// What it states: the content of the item, and of what lies in it.
    pub contents: Vec<(ItemKey, Digest)>,
}

/// The text of an item's first file, and the contents that it states.
///
/// # Errors
/// [`StoreError`] when a content cannot be read; the problem after a fault.
pub fn first_file(core: &Core<'_>, item: &Item) -> Result<Result<FirstFile, Problem>, StoreError> {
    let text = match item.kind.inner() {
        None => canvas::first_text(item, &core.elements(item.content())?),
        Some(_) => presentation::first_text(core, item)?,
    };
    let family = core.state.items.family(item.key).filter(|item| item.is_listed());
    let contents = family.filter_map(|item| Some((item.key, item.content()?))).collect();
    Ok(text.map(|text| FirstFile { text, contents }))
}

/// Whether a new file has something that an item can be made of.
#[must_use]
pub fn has_content(kind: Kind, text: &str) -> bool {
    let has = guarded(|| match kind.inner() {
        None => canvas::has_content(text),
        Some(_) => presentation::has_content(text),
    });
    has.unwrap_or(false)
}

/// Why nothing can be made of a new file.
#[must_use]
pub fn problem(kind: Kind, text: &str) -> Option<Problem> {
    let read = guarded(|| match kind.inner() {
        None => canvas::check(text),
        Some(_) => presentation::check(text),
    });
    read.map_or(Some(Problem::Internal), |read| read.err().map(Problem::Canvas))
}

/// The item of a kind that a file claims to be by its id.
#[must_use]
pub fn claimed(state: &State, kind: Kind, text: Option<&str>) -> Option<ItemKey> {
    state.items.of_id(kind, None, &crate::canvas::claim(text?)?).map(|item| item.key)
}

/// The names of each element of an item, and of what lies in it: its id, and what the item's file has for that.
pub type Names = Vec<BTreeSet<String>>;

/// The names of the elements that a file of an item may have.
///
/// # Errors
/// [`StoreError`] when the item's content cannot be read.
pub fn names(core: &Core<'_>, item: &Item) -> Result<Names, StoreError> {
    let mut all = Names::new();
    for item in core.state.items.family(item.key) {
        let elements = core.elements(item.agreed().or_else(|| item.content()))?;
        all.extend(elements.iter().map(|element| {
            let own = id_of(element);
            let nodes = item.aliases.iter().filter(|(_, id)| *id == own).map(|(node, _)| node.clone());
            nodes.chain([own.to_owned()]).collect()
        }));
    }
    Ok(all)
}

/// The item that a file names: by its id, or by half of the elements of one of the `candidates`.
pub fn named<'a, K>(
    text: &str,
    candidates: impl Iterator<Item = (K, Option<&'a str>, &'a Names)>,
) -> Option<K> {
    let claim = crate::canvas::claim(text);
    let ids = crate::canvas::ids_in(text);
    let mut best: Option<(usize, K)> = None;
    for (key, id, elements) in candidates {
        if id.is_some() && id == claim.as_deref() {
            return Some(key);
        }
        let count = elements.iter().filter(|names| !names.is_disjoint(&ids)).count();
        let is_half = count >= elements.len().div_ceil(2).max(1);
        if is_half && best.as_ref().is_none_or(|(most, _)| count > *most) {
            best = Some((count, key));
        }
    }
    best.map(|(_, key)| key)
}
