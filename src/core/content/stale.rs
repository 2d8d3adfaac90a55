//! Saves that did not see what espejo wrote last: a program saves the text that it read before espejo wrote into the file.
//!
//! Such a save has an ancestor of its own ([`evidence`]): the base goes back to what the file stated before those writes, and
//! the merge that follows anyway keeps what came from the app and takes what the user changed.

use serde_json::{Value, json};

use crate::canvas::place_of;
use crate::core::content::versions::Compared;
use crate::core::items::{Act, Deed, Item, Written};
use crate::core::keys::{Digest, ItemKey};
use crate::core::state::{Core, Way};
use crate::model::{Code, ContentHash, Elements, MirrorPath, guarded, id_of};
use crate::plan::evidence::{self, Ids};
use crate::plan::saves::{Times, words_of_change};
use crate::store::StoreError;

/// The most writes that are remembered of a file.
const MOST: usize = 8;

/// Records that a text was written into an item's file, before the rows of its write move the bases.
pub fn note_write(core: &mut Core<'_>, key: ItemKey, text: ContentHash, rows: &[Act]) {
    let is_read = |item: &&Item| item.base.is_some() && !item.kind.is_stored() && !rows.is_empty();
    let Some(item) = core.state.items.get(key).filter(is_read) else {
        return;
    };
    let before = rows.iter().filter_map(|row| {
        let Deed::Write { content, .. } = row.deed else { return None };
        let before = core.state.items.get(row.item).and_then(Item::agreed);
        (before != Some(content)).then_some((row.item, before))
    });
    let before: Vec<(ItemKey, Option<Digest>)> = before.collect();
    let (at, mut written) = (core.now, item.written.clone());
    match written.last_mut().filter(|_| before.is_empty()) {
        Some(last) => last.text = text,
        None if before.is_empty() => {}
        None => written.push(Written { at, text, before }),
    }
    if written.len() > MOST {
        written.remove(0);
    }
    core.state.items.edit(key, |item| item.written = written);
    core.state.runtime(key).saves.wrote(at);
}

/// A command of the user wrote the file from what it stated then: its author has seen every write.
pub fn saw_all(core: &mut Core<'_>, path: &MirrorPath) {
    let Some(key) = core.state.items.at(path).map(|item| item.key) else { return };
    core.state.items.edit(key, |item| item.written.clear());
    core.state.runtime(key).saves.saw_all();
}

/// Goes back to what the file stated when the author of its text read it, if that was before espejo's writes. Returns whether
/// the base has changed: then the file is to be compared with it.
///
/// # Errors
/// [`StoreError`] when a version cannot be read.
pub fn go_back(core: &mut Core<'_>, item: &Item, compared: &Compared) -> Result<bool, StoreError> {
    let (Some(last), Some(fact)) = (item.written.last(), item.file()) else { return Ok(false) };
    if last.text == compared.hash || !compared.faults.is_empty() {
        return Ok(false);
    }
    // What a user approved or chose is meant, and so is an older copy of the folder.
    let is_new = core.state.runtime(item.key).saves.is_new(compared.hash);
    let is_meant = item.approved || core.state.doubt.is_some() || !is_new;
    let unseen = if is_meant { None } else { unseen_from(core, item, compared)? };
    core.state.items.edit(item.key, |item| item.written.clear());
    let now = core.now;
    let saves = &mut core.state.runtime(item.key).saves;
    let Some((first, words)) = unseen else {
        saves.saw_all();
        return Ok(false);
    };
    let times = Times { written: item.written[first].at, saved: fact.stamp.written_at(now), now };
    if !saves.is_stale(times, &words, false) {
        return Ok(false);
    }
    for part in parts(item, compared) {
        match stated(core, item, first, part) {
            Some(content) => core.state.items.agree(part, content, None, &fact.path),
            None => drop(core.state.items.edit(part, |item| item.base = None)),
        }
    }
    if let Some(agreed) = item.agreed().filter(|_| item.kind.inner().is_some()) {
        core.state.items.agree(item.key, agreed, None, &fact.path);
    }
    let what = format!("a program saved an older text of this file; {words} from the app stay");
    core.notice(Code::StaleSave, &fact.path, what, "nothing to do; what you removed, remove again");
    core.tell(Way::Aside, &fact.path, "saved from an older text: merged with what came since");
    Ok(true)
}

/// The items whose elements the file states: the item, or what lies in it.
fn parts<'a>(item: &'a Item, compared: &'a Compared) -> impl Iterator<Item = ItemKey> + use<'a> {
    let is_part = move |key: &ItemKey| *key != item.key || item.kind.inner().is_none();
    compared.merged.iter().map(|merged| merged.item).filter(is_part)
}

/// What the file stated of a part of an item before the write with this index.
fn stated(core: &Core<'_>, item: &Item, write: usize, part: ItemKey) -> Option<Digest> {
    let since = item.written.iter().skip(write).flat_map(|write| &write.before);
    match since.into_iter().find(|(key, _)| *key == part) {
        Some((_, before)) => *before,
        None => core.state.items.get(part)?.agreed(),
    }
}

/// The first of the writes that the author of the file's text did not see, and some words that came since.
fn unseen_from(
    core: &Core<'_>,
    item: &Item,
    compared: &Compared,
) -> Result<Option<(usize, String)>, StoreError> {
    let mut versions = Vec::new();
    for write in 0..=item.written.len() {
        let mut version = Elements::new();
        for part in parts(item, compared) {
            let content = stated(core, item, write, part);
            let elements = content.map(|content| core.store.elements(content)).transpose()?;
            version.extend(pieces(part, elements.as_deref()));
        }
        versions.push(version);
    }
    let said = parts(item, compared).filter_map(|part| compared.of(part));
    let said: Elements = said.flat_map(|merged| pieces(merged.item, merged.said.as_deref())).collect();
    let first = guarded(|| evidence::ancestor(&versions, &said, |_| Ids::Kept)).unwrap_or(None);
    Ok(first.map(|first| (first, words_of_change(&versions[first], &versions[item.written.len()]))))
}

/// What a version says of a part, for [`evidence`]: the part, and each element with its place and its text.
fn pieces(part: ItemKey, elements: Option<&[Value]>) -> Elements {
    let Some(elements) = elements else { return Elements::new() };
    let piece = |element: &Value| {
        let ([x, y, width, height], text) = (place_of(element), element.get("content"));
        let own = json!({ "node": id_of(element), "x": x, "y": y, "width": width, "height": height });
        let text = json!({ "text": text.and_then(Value::as_str).unwrap_or_default() });
        json!({ "id": format!("{}/{}", part.0, id_of(element)), "content": [text, own] })
    };
    let own = json!({ "id": part.0.to_string(), "content": [{ "part": part.0 }] });
    std::iter::once(own).chain(elements.iter().map(piece)).collect()
}
