//! What the files of canvases said, for `log`, `diff`, `restore` and `undo`: the history has their texts, as it has those of
//! pages.

use crate::canvas::is_only_moved;
use crate::core::content::naming;
use crate::core::content::versions::Compared;
use crate::core::items::Item;
use crate::core::state::{Brings, Core};
use crate::model::{ContentHash, MirrorPath, PageId};
use crate::store::{Side, StoreError, Version, texts};

/// Texts that differ only in where things stand are one version if no longer a time lies between them.
const TOGETHER_MS: i64 = 600_000;

/// The name under which the history has the versions of this item; `None` before the service has it.
#[must_use]
pub fn name(item: &Item) -> Option<PageId> {
    let id = &item.remote.as_ref()?.id;
    PageId::new(&format!("{}-{id}", naming::noun(item.kind))).ok()
}

/// A text was read from an item's file.
///
/// # Errors
/// [`StoreError`] when the history cannot be read.
pub fn saw(core: &mut Core<'_>, item: &Item, compared: &Compared) -> Result<(), StoreError> {
    let Some(fact) = item.file().filter(|fact| fact.hash == Some(compared.hash)) else { return Ok(()) };
    let sent = compared.is_sent() && compared.next.is_none();
    let page = name(item);
    let last = texts::last_version(core.store, page.as_ref(), &fact.path)?;
    if let Some(last) = &last {
        if last.text == Some(compared.hash) {
            if sent && !last.sent {
                texts::note_sent(core.store, last.number);
            }
            return Ok(());
        }
        if is_only_moved_from(core, last, Side::File, &compared.text)? {
            texts::replace_text(core.store, last.number, core.now, compared.text.as_bytes(), sent);
            return Ok(());
        }
    }
    let path = fact.path.clone();
    add(core, item, page, &path, (Side::File, sent), (compared.hash, Some(compared.text.as_bytes())));
    Ok(())
}

/// Whether a text is of the same side as the last version, not much later, and differs from it only in where things stand.
fn is_only_moved_from(core: &Core<'_>, last: &Version, side: Side, text: &str) -> Result<bool, StoreError> {
    if last.side != side || core.now.since_ms(last.at) >= TOGETHER_MS {
        return Ok(false);
    }
    let before = last.text.map(|hash| core.text(hash)).transpose()?.flatten();
    Ok(before.is_some_and(|before| is_only_moved(&before, text)))
}

/// A text was written into an item's file, in the place of `before`. Its bytes have been kept.
///
/// # Errors
/// [`StoreError`] when the history cannot be read.
pub fn wrote(
    core: &mut Core<'_>,
    item: &Item,
    path: &MirrorPath,
    (before, text): (Option<ContentHash>, ContentHash),
    (brings, sent): (Brings, bool),
) -> Result<(), StoreError> {
    if item.kind.is_stored() {
        return Ok(());
    }
    let page = name(item);
    let last = texts::last_version(core.store, page.as_ref(), path)?;
    let side = if matches!(brings, Brings::New | Brings::Changes) { Side::Service } else { Side::Merged };
    if let Some(last) = last {
        if brings == Brings::Ids && last.text == before {
            // It says the same, under the ids of the service.
            texts::rename_text(core.store, path, (last.number, before), text, sent);
            return Ok(());
        }
        if let Some(new) = core.text(text)?
            && is_only_moved_from(core, &last, side, &new)?
        {
            texts::replace_text(core.store, last.number, core.now, new.as_bytes(), sent);
            return Ok(());
        }
    }
    add(core, item, page, path, (side, sent), (text, None));
    Ok(())
}

fn add(
    core: &mut Core<'_>,
    item: &Item,
    page: Option<PageId>,
    path: &MirrorPath,
    (side, sent): (Side, bool),
    (text, bytes): (ContentHash, Option<&[u8]>),
) {
    let (at, path, title) = (core.now, Some(path.clone()), item.name().to_owned());
    let version = Version { number: 0, page, at, side, path, title, body: None, text: Some(text), sent };
    core.store.add_version(&version, None, bytes);
}
