//! A save at the path from which espejo renamed a page's file. A program that has the file open under its old name does not
//! see the rename, and makes the file anew. What it saves is an edit of the page: the page's file gets the text, and the old
//! path is free again.

use crate::engine::state::{Context, Folder, OldPathSave, Pages, Purpose, Trees, Way, named};
use crate::markdown::front_matter;
use crate::model::{Code, ContentHash, Effect, Expect, LocalFile};
use crate::plan::naming;
use crate::store::{Store, StoreError, lineage};

/// When a save is looked for again whose page has another change, which may wait for the service.
const LOOKED_FOR_AGAIN_MS: i64 = 5_000;

impl OldPathSave {
    /// The save that a new file is, if it is one; `None` for a copy: it has a text that the page's file has, or had before
    /// the rename.
    fn of(file: &LocalFile, pages: &Pages, cx: &Context) -> Result<Option<Self>, StoreError> {
        let (Some(page), Some(text), None) = (file.claim().cloned(), file.hash, &file.problem) else {
            return Ok(None);
        };
        let own = pages.trees.pages.get(&page).and_then(|node| pages.trees.file_of(node));
        let Some(own) = own.filter(|own| own.problem.is_none() && !pages.held.contains_key(&page)) else {
            return Ok(None);
        };
        let Some(renamed) = lineage::renamed_from(&cx.store, &page, &file.path)? else { return Ok(None) };
        let is_open = pages.runtimes.get(&page).is_some_and(|it| it.open_at.as_ref() == Some(&file.path));
        let is_copy =
            !is_open && (own.hash == Some(text) || cx.store.has_held(&page, text, renamed.plus_ms(1))?);
        Ok((!is_copy).then(|| Self { page, old: file.path.clone(), text, written: text }))
    }
}

/// Keeps saves at old paths from being identified as copies. The first one whose page has no other change is written into
/// the page's file; the others are found again by the next scan.
pub(crate) fn take_old_path_saves(
    pages: &mut Pages,
    folder: &mut Folder,
    cx: &mut Context,
) -> Result<(), StoreError> {
    let new = pages.trees.untracked_files.iter().filter(|path| !pages.creations.contains(path));
    let new = new.filter_map(|path| pages.trees.files.get(path));
    let saves: Vec<_> = new.filter_map(|file| OldPathSave::of(file, pages, cx).transpose()).collect();
    for save in saves {
        let save = save?;
        pages.trees.forget_file(&save.old, &mut folder.watch, cx);
        folder.watch.scan_by(cx.now.plus_ms(LOOKED_FOR_AGAIN_MS));
        let node = pages.trees.pages.get(&save.page);
        let own = node.and_then(|node| pages.trees.file_of(node));
        let is_seen = |own: &&LocalFile| folder.watch.last_seen.contains_key(&own.path);
        let waits = cx.in_flight.ready.is_some()
            || cx.in_flight.is_busy(&save.page)
            || pages.pending_updates.contains_key(&save.page);
        let Some(own) = own.filter(is_seen).filter(|_| !waits) else { continue };
        let agreed = node.and_then(|node| node.base.as_ref()?.text);
        let Some(agreed) = agreed.filter(|text| own.hash == Some(*text)) else { continue };
        let Some(bytes) = cx.store.content(save.text)? else { continue };
        let bytes = with_title_of(own, bytes, &save, (&pages.trees, &cx.store));
        let save = OldPathSave { written: ContentHash::of(&bytes), ..save };
        let effect = Effect::WriteFile { path: own.path.clone(), bytes, expect: Expect::Content(agreed) };
        cx.in_flight.ready = Some((effect, Purpose::OldPathSave(save)));
    }
    Ok(())
}

/// The saved text with the title that the page's file states. The old title in it is no edit.
fn with_title_of(own: &LocalFile, bytes: Vec<u8>, save: &OldPathSave, known: (&Trees, &Store)) -> Vec<u8> {
    let text = std::str::from_utf8(&bytes).ok();
    let front = text.and_then(|text| front_matter::split(text).ok()?.front);
    let (Some(text), Some(front), Some(old)) = (text, front, save.old.page_stem()) else { return bytes };
    let title = front.title.as_deref().filter(|title| !naming::still_says(old, title));
    let title = title.or(own.front_title.as_deref());
    let text = named::set(text, &save.page, title, front.icon.as_deref(), known);
    text.map_or_else(|_| bytes.clone(), String::into_bytes)
}

/// Frees the old path once the page's file has the text.
pub(crate) fn old_path_save_written(
    pages: &mut Pages,
    save: OldPathSave,
    folder: &mut Folder,
    cx: &mut Context,
) {
    let runtime = pages.runtime(&save.page);
    runtime.open_at = Some(save.old.clone());
    runtime.saves.saved_at_old_path(save.written);
    folder.watch.scan_by(cx.now);
    let effect = Effect::TrashFile { path: save.old.clone(), expect: save.text };
    cx.in_flight.ready = Some((effect, Purpose::OldPathSave(save)));
}

/// Tells that the old path is free.
pub(crate) fn old_path_freed(pages: &mut Pages, save: &OldPathSave, cx: &mut Context) {
    pages.retention.claim_past(&save.old, &save.page, cx);
    let Some(path) = pages.trees.pages.get(&save.page).and_then(|node| node.file.clone()) else { return };
    // A message about a file is over once no file is at its path, or another save of it was read.
    let why =
        format!("a program saved {}, which is {path} since the app changed it: that has its text", save.old);
    let mend = "nothing to do; open the file by its present name in that program";
    cx.notice(Code::StaleSave, "", why, mend);
    cx.log_activity(Way::Aside, &path, format!("has what was saved at its old path {}", save.old));
}
