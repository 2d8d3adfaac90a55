//! The generated picture beside a canvas, or the page that shows a presentation: drawn once its item is in step. A changed one is moved to the trash before it is
//! drawn again, and a file that is not espejo's is left alone.

use crate::canvas;
use crate::core::content::{naming, presentation};
use crate::core::items::{Item, Picture};
use crate::core::keys::ItemKey;
use crate::core::state::{Core, Purpose, Way};
use crate::model::{ContentHash, DiskError, DiskReply, Effect, Expect, MirrorPath, guarded};
use crate::store::StoreError;

/// The version of the drawing style: a new version draws all pictures again.
const STYLE: &str = "1";
/// The wait after a picture that could not be written.
const AGAIN_MS: i64 = 10_000;
/// The mark in each generated file.
pub const MARK: &str = "drawn by espejo";
/// What is said of a generated file that the user changed.
pub const CHANGED: &str =
    "its picture was changed here; espejo draws it again, and your version is in .espejo/trash";

/// A drawing or a page with the mark, as it is written.
#[must_use]
pub fn marked(drawn: &str) -> String {
    format!("{}\n<!-- {MARK}; changes to this file are not kept -->\n", drawn.trim_end())
}

/// Whether a file bears the mark.
#[must_use]
pub fn is_marked(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).contains(MARK)
}

/// The next act on the picture of an item that is in step, or that is to have none. `text`: its file's, if that is at hand.
///
/// # Errors
/// [`StoreError`] when its content cannot be read.
pub fn next(
    core: &mut Core<'_>,
    item: &Item,
    text: Option<(ContentHash, String)>,
) -> Result<Option<(Effect, Purpose)>, StoreError> {
    if core.state.runtimes.get(&item.key).is_some_and(|runtime| runtime.is_picture_ignored) {
        return Ok(None);
    }
    let wanted =
        item.file().filter(|_| item.base.is_some()).and_then(|fact| naming::picture(item.kind, &fact.path));
    if let Some(known) = item.picture.as_ref().filter(|known| Some(&known.path) != wanted.as_ref()) {
        return Ok(Some(trash(item, known)));
    }
    let Some(path) = wanted else { return Ok(None) };
    let there = core.state.snapshot.entries.get(&path).map(|(_, stamp)| *stamp);
    match (&item.picture, there) {
        (Some(_), None) => {
            core.state.items.edit(item.key, |item| item.picture = None);
            return Ok(None);
        }
        (Some(known), Some(stamp)) if known.stamp != stamp => return Ok(Some(look(item.key, &path))),
        (None, Some(stamp)) => {
            let foreign = core.state.runtime(item.key).foreign_picture;
            return Ok((foreign != Some(stamp)).then(|| look(item.key, &path)));
        }
        _ => {}
    }
    let contents: Vec<_> = core.state.items.family(item.key).map(Item::content).collect();
    // What stands only in the file is in a page, too.
    let file = item.file().and_then(|fact| fact.hash).filter(|_| item.kind.inner().is_some());
    let source = ContentHash::of(format!("{STYLE} {} {contents:?} {file:?}", item.name()).as_bytes());
    if item.picture.as_ref().is_some_and(|known| known.source == source) {
        return Ok(None);
    }
    if let Some(known) = item.picture.as_ref().filter(|known| known.source == ContentHash::of(b"")) {
        return Ok(Some(trash(item, known)));
    }
    let drawn = match item.kind.inner() {
        None => {
            let elements = core.elements(item.content())?;
            guarded(|| canvas::board(&elements)).ok()
        }
        Some(_) => match text {
            Some((hash, text)) if Some(hash) == file => presentation::page(core, item, &text)?,
            _ => return Ok(item.file().map(|fact| read(&fact.path))),
        },
    };
    let Some(drawn) = drawn else { return Ok(None) };
    let text = marked(&drawn);
    let hash = ContentHash::of(text.as_bytes());
    let expect = item.picture.as_ref().map_or(Expect::AbsentHere, |known| Expect::Content(known.hash));
    let purpose = Purpose::Picture { item: item.key, path: path.clone(), drawn: Some((source, hash)) };
    Ok(Some((Effect::WriteFile { path, bytes: text.into_bytes(), expect }, purpose)))
}

fn trash(item: &Item, known: &Picture) -> (Effect, Purpose) {
    let path = known.path.clone();
    let purpose = Purpose::Picture { item: item.key, path: path.clone(), drawn: None };
    (Effect::TrashFile { path, expect: known.hash }, purpose)
}

/// Reads the item's file, after which its picture is next again.
fn read(path: &MirrorPath) -> (Effect, Purpose) {
    (Effect::ReadFile(path.clone()), Purpose::Read(path.clone()))
}

fn look(item: ItemKey, path: &MirrorPath) -> (Effect, Purpose) {
    let purpose = Purpose::Picture { item, path: path.clone(), drawn: None };
    (Effect::ReadFile(path.clone()), purpose)
}

/// Takes in the answer to an act on a picture.
pub fn apply(
    core: &mut Core<'_>,
    key: ItemKey,
    path: &MirrorPath,
    drawn: Option<(ContentHash, ContentHash)>,
    result: Result<DiskReply, DiskError>,
) {
    let Some(known) = core.state.items.get(key).map(|item| item.picture.clone()) else { return };
    let path = path.clone();
    let picture = match (result, drawn) {
        (Ok(DiskReply::Written(stamp)), Some((source, hash))) => {
            core.state.snapshot.entries.insert(path.clone(), (false, stamp));
            Some(Picture { path, source, hash, stamp })
        }
        (Ok(DiskReply::File(read)), _) => {
            let hash = ContentHash::of(&read.bytes);
            core.state.snapshot.entries.insert(path.clone(), (false, read.stamp));
            let is_ours = known.is_some() || is_marked(&read.bytes);
            match known.filter(|known| known.hash == hash) {
                Some(known) => Some(Picture { stamp: read.stamp, ..known }),
                None if is_ours => {
                    core.tell(Way::Aside, &path, CHANGED);
                    Some(Picture { path, source: ContentHash::of(b""), hash, stamp: read.stamp })
                }
                None => {
                    core.state.runtime(key).foreign_picture = Some(read.stamp);
                    None
                }
            }
        }
        // The user has changed it since: it is the user's file now.
        (Ok(_) | Err(DiskError::Missing(_) | DiskError::NotOrdinary(_)), _) => {
            core.state.snapshot.entries.remove(&path);
            None
        }
        (Err(DiskError::Changed(_) | DiskError::Exists(_)), _) => {
            core.state.scan_by(core.now);
            None
        }
        (Err(_), _) => {
            let until = core.now.plus_ms(AGAIN_MS);
            let failures = &mut core.state.runtime(key).disk_failures;
            *failures = (failures.0 + 1, until);
            core.state.wake(key, until);
            known
        }
    };
    core.state.items.edit(key, |item| item.picture = picture);
    core.state.items.dirty.insert(key);
}
