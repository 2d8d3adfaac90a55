//! Which file is which item's: the evidence of a complete scan is gathered, and what [`identify`] says is taken into the table.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::content::compared::{self, Names};
use crate::core::content::{bytes, naming, stale};
use crate::core::guard;
use crate::core::items::{Act, ActState, Deed, Fact, Item, Listing, Local, Part};
use crate::core::keys::ItemKey;
use crate::core::observe::storage;
use crate::core::plan::identify::{Known, Seen, Verdict, identify, is_same_file};
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, Unidentified};
use crate::model::{Code, MirrorPath, Stamp, WorkspaceId};
use crate::store::StoreError;

/// Takes in the last scan if each of its files has been read.
///
/// # Errors
/// [`StoreError`] when an item's content cannot be read.
pub fn apply_if_read(core: &mut Core<'_>) -> Result<(), StoreError> {
    if !core.state.snapshot.is_open || !core.state.snapshot.unread.is_empty() {
        return Ok(());
    }
    // Most scans change nothing of stored files, and there may be many.
    let is_any_stored = core.state.snapshot.files.keys().any(naming::is_stored) || is_stored_missing(core);
    let is_meant = |item: &&Item| is_looked_for(core, item) && (is_any_stored || !item.kind.is_stored());
    let items: Vec<Item> = core.state.items.all().filter(is_meant).cloned().collect();
    let files = std::mem::take(&mut core.state.snapshot.files);
    let seen = gather(core, &items, &files)?;
    let known: Vec<Known> = items.iter().filter_map(|item| known_of(core, item)).collect();
    let verdicts = identify(&known, &seen);
    let mut found = BTreeSet::new();
    let mut new = Vec::new();
    for (file, verdict) in seen.iter().zip(verdicts) {
        match (verdict, files.get(&file.path)) {
            (Verdict::Is(key), Some(unknown)) if is_draft_elsewhere(core, key, file) => {
                new.push((file, unknown))
            }
            (Verdict::Is(key), _) if !found.insert(key) => {}
            (Verdict::Is(key), changed) => apply_file(core, key, file, changed),
            (Verdict::New | Verdict::CopyOf(_), Some(unknown)) => new.push((file, unknown)),
            (Verdict::New | Verdict::CopyOf(_), None) => {}
        }
    }
    core.state.snapshot.is_open = false;
    let lost = items.iter().filter(|item| item.file().is_some() && !found.contains(&item.key));
    for item in lost {
        miss(core, item);
    }
    for (file, unknown) in new {
        apply_new(core, file, unknown);
    }
    let spaces: BTreeSet<WorkspaceId> = core.state.areas.keys().cloned().collect();
    for space in &spaces {
        let is_its = |item: &&Item| item.area == *space && !item.kind.is_part() && item.is_listed();
        let first = core.state.items.all().find(is_its).map(|item| item.key);
        if let Some(key) = first {
            match_first(core, key)?;
        }
    }
    storage::match_new(core, None);
    // What waited for a quiet folder, or for a free path, is decided again.
    let is_settled = |item: &Item| {
        let is_at_rest = item.wait.is_none() && item.superseded.is_empty() && item.is_listed();
        item.kind.is_stored() && !is_any_stored && is_at_rest && item.file().is_some() && item.base.is_some()
    };
    let waiting = core.state.items.all().filter(|item| !is_settled(item)).map(|item| item.key);
    let waiting: Vec<ItemKey> = waiting.collect();
    core.state.items.dirty.extend(waiting);
    schedule_scan(core);
    Ok(())
}

/// Takes in the bytes of a stored file by their hash. A new file may be one that is missing.
///
/// # Errors
/// [`StoreError`] when what is known of the files cannot be read.
pub fn apply_hash(core: &mut Core<'_>, path: &MirrorPath, now: Unidentified) -> Result<(), StoreError> {
    // Until the last scan is taken in, the file at an item's path may be another one.
    let item = core.state.items.at(path).filter(|it| it.file().is_some() && !core.state.snapshot.is_open);
    let was_tried = |key| core.state.journal.of(key).any(|act| bytes::has_bytes(act, now.hash));
    let is_new =
        |item: &Item| item.remote.is_none() && !is_being_made(core, item.key) && !was_tried(item.key);
    let known = item.map(|item| (item.key, is_new(item)));
    match known {
        Some((key, true)) if core.state.items.gone().any(|item| item.kind == Kind::File) => {
            core.state.forget(key)
        }
        Some((key, _)) => {
            let seen = Seen { path: path.clone(), stamp: now.stamp, hash: now.hash, says: None };
            apply_file(core, key, &seen, Some(&now));
            core.state.items.dirty.insert(key);
            return Ok(());
        }
        None => {}
    }
    core.state.snapshot.files.insert(path.clone(), now);
    core.state.snapshot.is_open = true;
    apply_if_read(core)
}

/// Whether a stored file is not where it was when it was last seen, or is back there.
fn is_stored_missing(core: &Core<'_>) -> bool {
    let snapshot = &core.state.snapshot;
    let is_there = |path: &MirrorPath| snapshot.entries.contains_key(path) || core.barrier.covers(path);
    core.state.items.all().any(|item| match &item.local {
        _ if item.kind != Kind::File => false,
        Local::Here(fact) => !is_there(&fact.path),
        Local::Gone { .. } => true,
        Local::Never => core.state.journal.of_part(item.key, &Part::File).is_some(),
    })
}

/// A missing item is decided about after a scan at the end of its grace time; a file that is yet to be verified after one once
/// its stamp proves something.
fn schedule_scan(core: &mut Core<'_>) {
    let grace_ms = core.settings.pages.delete_grace_ms;
    let barrier = &core.barrier;
    let scanned = core.state.snapshot.scanned;
    let ends = core.state.items.gone().filter_map(|item| match &item.local {
        Local::Gone { at, .. } => Some(barrier.grace_end(*at, grace_ms)),
        _ => None,
    });
    if let Some(end) = ends.filter(|end| *end > scanned).min() {
        core.state.scan_by(end);
    }
}

/// Whether an item takes part: those of areas that are off stay as they are.
fn is_looked_for(core: &Core<'_>, item: &Item) -> bool {
    let is_over = item.presence() == Some(Listing::Gone) && item.local == Local::Never;
    !is_over
        && !item.kind.is_part()
        && item.kind != Kind::Folder
        && core.state.areas.get(&item.area).is_some_and(|area| area.is_live)
}

fn known_of(core: &Core<'_>, item: &Item) -> Option<Known> {
    if let Some(last) = item.last_file() {
        // A file that may be at a place that cannot be read has perhaps been copied: its bytes are no evidence.
        let hash = last.hash.filter(|_| guard::hides(core.barrier, last).is_none());
        return Some(Known { key: item.key, path: last.path.clone(), file: Some((last.stamp, hash)) });
    }
    // A first file whose write was not recorded, because the process was killed, may have been written, and edited since.
    let written = core.state.journal.of_part(item.key, &Part::File).map(|act| &act.deed);
    if let Some(Deed::Write { path, text, .. }) = written {
        return Some(Known {
            key: item.key,
            path: path.clone(),
            file: Some((Stamp::default(), Some(*text))),
        });
    }
    // A stored file without one is found by its name, not here.
    let home = if item.kind.is_stored() { None } else { naming::home(core.state, item) };
    Some(Known { key: item.key, path: home?, file: None })
}

/// All files of the scan, with what they say. Files that the scan could not reach are there, unchanged.
fn gather(
    core: &Core<'_>,
    items: &[Item],
    files: &BTreeMap<MirrorPath, Unidentified>,
) -> Result<Vec<Seen>, StoreError> {
    let snapshot = &core.state.snapshot;
    let mut seen = Vec::new();
    let mut without: Vec<(ItemKey, Option<String>, Names)> = Vec::new();
    for item in items {
        let fact = item.file();
        let is_changed = fact.is_some_and(|fact| files.contains_key(&fact.path));
        let is_there = |fact: &&Fact| {
            snapshot.entries.get(&fact.path).is_some_and(|(is_folder, _)| !is_folder)
                || core.barrier.covers(&fact.path)
        };
        match fact.filter(|_| !is_changed).filter(is_there) {
            Some(fact) => {
                seen.push(Seen { path: fact.path.clone(), stamp: fact.stamp, hash: fact.hash, says: None })
            }
            None => {
                let id = item.remote.as_ref().map(|remote| remote.id.clone());
                if item.kind.is_stored() {
                    continue;
                }
                let names = if files.is_empty() { Names::new() } else { compared::names(core, item)? };
                without.push((item.key, id, names));
            }
        }
    }
    for (path, file) in files {
        let candidates = without
            .iter()
            .filter(|(_, id, _)| id.is_some())
            .map(|(key, id, names)| (*key, id.as_deref(), names));
        let says = file.text.as_ref().and_then(|text| compared::named(text, candidates));
        seen.push(Seen { path: path.clone(), stamp: file.stamp, hash: file.hash, says });
    }
    // At another item's path a file is an edit of that item, unless that one's file is elsewhere. A new file that said the same
    // before is a copy, also where the original is removed and the copy renamed since.
    let said: BTreeSet<ItemKey> = seen.iter().filter_map(|file| file.says).collect();
    let drafts: Vec<&Fact> =
        items.iter().filter(|item| item.remote.is_none()).filter_map(Item::file).collect();
    for file in seen.iter_mut().filter(|file| file.says.is_some()) {
        let owner = core.state.items.at(&file.path).filter(|owner| owner.file().is_some());
        let is_edit = owner.is_some_and(|owner| owner.remote.is_some() && !said.contains(&owner.key));
        let is_it = |draft: &&&Fact| {
            draft.path == file.path || is_same_file((draft.stamp, draft.hash), (file.stamp, file.hash))
        };
        if is_edit || drafts.iter().filter(is_it).any(|draft| draft.says == file.says) {
            file.says = None;
        }
    }
    seen.sort_by(|a, b| a.path.cmp(&b.path));
    seen.dedup_by(|a, b| a.path == b.path);
    Ok(seen)
}

/// Whether a new file that is to become an item left the place that says of which kind, and of which workspace.
fn is_draft_elsewhere(core: &Core<'_>, key: ItemKey, file: &Seen) -> bool {
    let item = core.state.items.get(key).filter(|item| item.remote.is_none() && !is_being_made(core, key));
    item.is_some_and(|item| naming::spot(core.state, &file.path) != Some((item.kind, item.area.clone())))
}

/// A creation that failed has made nothing.
fn is_being_made(core: &Core<'_>, key: ItemKey) -> bool {
    core.state.journal.of(key).any(|act| act.part == Part::Item && act.state != ActState::Failed)
}

/// A file is an item's.
fn apply_file(core: &mut Core<'_>, key: ItemKey, file: &Seen, changed: Option<&Unidentified>) {
    let Some(item) = core.state.items.get(key).cloned() else { return };
    let before = item.last_file();
    let Some(changed) = changed else {
        let Some(fact) = before.cloned() else { return };
        core.state.items.edit(key, |item| item.local = Local::Here(fact));
        return;
    };
    if item.kind == Kind::File && is_damaged(&item, changed) {
        core.state.runtime(key).bytes.is_damaged = true;
        core.state.items.dirty.insert(key);
        let what = "its bytes changed on the disk without a write: espejo fetches it again, and keeps the damaged file in the mirror's trash";
        core.notice(Code::Damaged, &file.path, what, "check the disk");
        return;
    }
    let since = before.filter(|fact| fact.path == file.path && item.file().is_some()).map(|fact| fact.since);
    let is_same_text = before.is_some_and(|fact| fact.hash.is_some() && fact.hash == changed.hash);
    let problem = changed.problem.clone();
    let is_draft = item.remote.is_none();
    let problem =
        problem.or_else(|| compared::problem(item.kind, changed.text.as_deref().filter(|_| is_draft)?));
    let fact = Fact {
        path: file.path.clone(),
        since: since.unwrap_or(core.now),
        stamp: changed.stamp,
        hash: changed.hash,
        says: compared::claimed(core.state, item.kind, changed.text.as_deref()),
        problem: if is_same_text {
            before.and_then(|fact| fact.problem.clone()).or(problem)
        } else {
            problem
        },
        racy: changed.racy,
        is_blank: is_draft && is_blank(item.kind, changed),
    };
    let agreed = item.base.as_ref().and_then(|base| base.text);
    if !is_same_text && changed.hash.is_some() && changed.hash != agreed {
        core.store.drop_notices_at(file.path.as_str());
    }
    if since.is_none() {
        core.state.replaced.insert(key);
    }
    core.state.items.edit(key, |item| item.local = Local::Here(fact));
    if let (Some(hash), Some(text)) = (changed.hash, &changed.text) {
        core.state.runtime(key).text = Some((hash, text.clone()));
    }
    confirm_write(core, &item, file, changed.text.as_deref());
}

/// Whether a file has the stamp that it had, which proves something, and other bytes.
fn is_damaged(item: &Item, now: &Unidentified) -> bool {
    let agreed = item.base.as_ref().and_then(|base| base.text);
    item.file().is_some_and(|fact| {
        // A file that could not be read before has no hash, and nothing is known of its bytes.
        let is_agreed = agreed.is_some() && fact.hash == agreed;
        let is_untouched = fact.stamp == now.stamp && !fact.racy && is_agreed;
        is_untouched && now.hash.is_some() && now.hash != agreed
    })
}

/// A write whose end is unknown was made if the file has its text. If the file has another text that names the item, or none, and
/// the item has no other base, a user changed what was written.
fn confirm_write(core: &mut Core<'_>, item: &Item, file: &Seen, now: Option<&str>) {
    let was = item.base.as_ref().and_then(|base| base.text);
    let is_edited = || file.says == Some(item.key) || now.is_some_and(crate::canvas::is_blank);
    let acts =
        core.state.acts_of(item.key).filter(|act| act.part == Part::File && act.state != ActState::Sent);
    let acts: Vec<Act> = acts.cloned().collect();
    if let Some(hash) = file.hash {
        let is_it = |act: &&Act| matches!(act.deed, Deed::Write { text, .. } if text == hash);
        let made: Vec<Act> = acts.iter().filter(is_it).cloned().collect();
        stale::note_write(core, item.key, hash, &made);
    }
    for act in acts {
        let Deed::Write { text, content, is_whole, .. } = act.deed else { continue };
        let is_it = file.hash == Some(text);
        if is_it || item.base.is_none() && is_edited() {
            let text = (is_it && is_whole).then_some(text);
            core.state.items.agree(act.item, content, text, &file.path);
        }
        if is_it || file.hash.is_some() && was == file.hash {
            core.state.journal.remove(act.sent);
        }
    }
}

/// An item's file is at none of the paths that the scan saw. A file that was no item yet is forgotten, unless its item is being
/// made.
fn miss(core: &mut Core<'_>, item: &Item) {
    let Some(fact) = item.file().cloned() else { return };
    if item.remote.is_none() && !is_being_made(core, item.key) {
        core.state.forget(item.key);
        return;
    }
    let (since, at) = (core.state.snapshot.scan, core.now);
    core.state.items.edit(item.key, |item| item.local = Local::Gone { since, at, last: fact });
}

fn is_blank(kind: Kind, file: &Unidentified) -> bool {
    file.text.as_deref().is_some_and(|text| !compared::has_content(kind, text))
}

/// A file is no item's. At a place for items it is to become one; during the first match it is the item's whose file belongs there.
fn apply_new(core: &mut Core<'_>, file: &Seen, unknown: &Unidentified) {
    let Some((kind, area)) = naming::spot(core.state, &file.path) else {
        // It is read again only if it changes.
        core.state.snapshot.files.insert(file.path.clone(), unknown.clone());
        return;
    };
    let fact = Fact {
        path: file.path.clone(),
        since: core.now,
        stamp: unknown.stamp,
        hash: unknown.hash,
        says: compared::claimed(core.state, kind, unknown.text.as_deref()),
        problem: unknown.problem.clone().or_else(|| compared::problem(kind, unknown.text.as_deref()?)),
        racy: unknown.racy,
        is_blank: is_blank(kind, unknown),
    };
    let text = unknown.hash.zip(unknown.text.clone());
    let key = core.state.items.add(kind, area, None, Local::Here(fact));
    core.state.replaced.insert(key);
    core.state.runtime(key).text = text;
}

/// Whether none of the files that are there can be an item's. During the first match a file may be any item's until all of them
/// have been fetched.
#[must_use]
pub fn is_certainly_without_a_file(core: &Core<'_>, item: &Item) -> bool {
    let is_draft =
        |other: &Item| other.area == item.area && other.kind == item.kind && other.remote.is_none();
    !core.state.first_match
        || item.kind.is_stored()
        || !core.state.items.all().any(is_draft)
        || is_area_fetched(core, item)
}

/// Whether all items of an area were fetched, as far as that is possible.
fn is_area_fetched(core: &Core<'_>, item: &Item) -> bool {
    let mut others = core.state.items.all().filter(|other| other.area == item.area && other.is_listed());
    others.all(|other| core.state.is_fetched(other.key))
}

/// During the first match, files without an item are matched to listed items without a file once all of an area were fetched: by
/// what the files say, and then by their names. What neither tells is kept twice.
pub fn match_first(core: &mut Core<'_>, key: ItemKey) -> Result<(), StoreError> {
    let Some(item) = core.state.items.get(key).cloned() else { return Ok(()) };
    if item.kind.is_stored() || !core.state.first_match || !is_area_fetched(core, &item) {
        return Ok(());
    }
    let is_its = |other: &&Item| other.kind == item.kind && other.area == item.area;
    let items = core
        .state
        .items
        .all()
        .filter(is_its)
        .filter(|other| other.is_listed() && other.local == Local::Never);
    let items: Vec<Item> = items.cloned().collect();
    let mut contents = Vec::new();
    for item in &items {
        contents.push((item, compared::names(core, item)?));
    }
    let drafts = core.state.items.all().filter(is_its).filter(|draft| draft.remote.is_none());
    let drafts: Vec<Item> =
        drafts.filter(|draft| core.state.journal.of(draft.key).next().is_none()).cloned().collect();
    let mut pairs: BTreeMap<ItemKey, ItemKey> = BTreeMap::new();
    for draft in &drafts {
        let text = core.state.runtimes.get(&draft.key).and_then(|runtime| runtime.text.as_ref());
        let free = contents.iter().filter(|(item, _)| !pairs.contains_key(&item.key));
        let candidates = free.map(|(item, names)| {
            let id = item.remote.as_ref().map(|remote| remote.id.as_str());
            (item.key, id, names)
        });
        if let Some(key) = text.and_then(|(_, text)| compared::named(text, candidates)) {
            pairs.insert(key, draft.key);
        }
    }
    for item in &items {
        let says =
            |draft: &&Item| draft.file().is_some_and(|fact| naming::says(item.kind, &fact.path, item.name()));
        let is_free = |draft: &&Item| !pairs.values().any(|taken| *taken == draft.key);
        let mut named = drafts.iter().filter(says).filter(is_free);
        // Of several, the one with the plain name.
        let is_exact = |draft: &&Item| {
            draft.file().is_some_and(|fact| naming::said(item.kind, &fact.path) == item.name())
        };
        let found = named.clone().find(is_exact).or_else(|| named.next()).map(|draft| draft.key);
        if let Some(draft) = found.filter(|_| !pairs.contains_key(&item.key)) {
            pairs.insert(item.key, draft);
        }
    }
    for (key, draft) in pairs {
        let Some(draft) = core.state.items.get(draft).cloned() else { continue };
        let runtime = core.state.runtimes.remove(&draft.key);
        core.state.forget(draft.key);
        core.state.items.edit(key, |item| item.local = draft.local);
        if let Some(runtime) = runtime {
            core.state.runtime(key).text = runtime.text;
        }
    }
    Ok(())
}

/// An item without a file, or whose file is to be written anew, begins again without a base.
pub fn let_come_back(core: &mut Core<'_>, key: ItemKey) {
    let family = core.state.items.family_keys(key);
    let is_kept =
        |act: &Act| act.is_in_doubt() && act.part != Part::File || matches!(act.part, Part::Version(_));
    core.state.journal.retain(|act| !family.contains(&act.item) || is_kept(act));
    for key in &family {
        core.state.wanted.remove(*key);
    }
    core.state.runtime(key).text = None;
    core.state.items.release(key);
}
