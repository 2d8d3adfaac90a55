//! The next step of one item, as an effect on disk, as a wanted request, or as a change of the table alone.

use crate::core::act::begin::{Choice, record_write, release};
use crate::core::act::view::{Look, look};
use crate::core::act::{requests, transfer, upload};
use crate::core::content::compared::{self, FirstFile};
use crate::core::content::versions::Compared;
use crate::core::content::{bytes, history, naming, picture, service, stale};
use crate::core::guard;
use crate::core::items::{ActState, Deed, Item, Listing, Local, Part, Wait};
use crate::core::keys::{Digest, ItemKey};
use crate::core::observe::identity;
use crate::core::plan::decide::{Side, Step, decide};
use crate::core::plan::policy::Kind;
use crate::core::state::{Brings, Core, Purpose, RenameReason, Way};
use crate::core::wants::Want;
use crate::model::{Code, ContentHash, Effect, Expect, MirrorPath, StorageEffect, id_of, planted};
use crate::store::StoreError;

/// Decides about an item that has a file of its own, and makes its next effect on disk.
///
/// # Errors
/// [`StoreError`] when its content cannot be read.
pub fn next(core: &mut Core<'_>, key: ItemKey) -> Result<Choice, StoreError> {
    core.state.items.dirty.remove(&key);
    let Some(item) = core.state.items.get(key).cloned() else { return Ok(None) };
    forget_inner(core, &item)?;
    if item.kind == Kind::File {
        upload::wake(core, &item);
    }
    if item.is_ignored {
        core.state.wanted.remove(key);
        if item.base.is_some() && matches!(item.local, Local::Gone { .. }) {
            // It comes back when it is no longer ignored.
            identity::let_come_back(core, key);
            core.state.items.dirty.remove(&key);
        }
        return Ok(None);
    }
    let area = core.state.areas.get(&item.area);
    if area.is_none_or(|area| !area.is_live || area.list.taken.is_none()) {
        return Ok(None);
    }
    // The first fetch, and an unread file, come before a decision.
    let is_unseen = item.content().is_none() || item.base.is_none() && !core.state.is_fetched(key);
    let is_unseen = item.is_listed() && is_unseen;
    if is_unseen || is_waiting_for_its_text(core, &item) {
        return Ok(None);
    }
    if item.remote.is_none() {
        requests::want_creation(core, &item);
        return Ok(upload::read_outgoing(core, key));
    }
    if item.kind == Kind::File
        && item.presence() != Some(Listing::Gone)
        && guard::may_be_made(core, &item).is_some()
        && bytes::arrived(core.state, &item).is_none()
    {
        // Its bytes tell whether it is the result of an upload.
        return Ok(want(core, key, Want::Download));
    }
    let look = look(core, &item)?;
    let mut step = decide(&look.view);
    if let Some((node, id)) = look.compared.as_ref().and_then(|compared| compared.adopts.clone()) {
        adopt(core, &item, node, id);
        return Ok(None);
    }
    if let Some(compared) = look.compared.as_ref() {
        history::saw(core, &item, compared)?;
    }
    if let Some(compared) = look.compared.as_ref()
        && stale::go_back(core, &item, compared)?
    {
        core.state.items.dirty.insert(key);
        return Ok(None);
    }
    if let Some(problem) = look.problem.clone() {
        core.state.items.edit_file(key, |fact| fact.problem = Some(problem));
    }
    if item.kind == Kind::File && step != Step::Fetch {
        // Its bytes are not needed any more.
        core.state.runtime(key).unreadable = None;
    }
    let runtimes = || {
        let family = core.state.items.family(key).filter(|item| item.is_listed());
        family.filter_map(|item| core.state.runtimes.get(&item.key))
    };
    let unreadable = runtimes().find_map(|runtime| runtime.unreadable.clone());
    let disk = core.state.runtimes.get(&key).and_then(|runtime| runtime.disk.clone());
    let wait = Wait::first(look.wait.clone(), unreadable.map(Wait::Unreadable));
    let wait = Wait::first(wait, disk.map(Wait::Disk));
    let wait = Wait::first(wait, upload::wait(core, &item, step));
    // The service has what came from both; the file waits for its program to read it.
    let waits = step == Step::Write && core.state.runtime(key).saves.rests;
    let wait = Wait::first(wait, waits.then_some(Wait::StaleEditor));
    if waits {
        step = Step::Wait;
    }
    set_wait(core, key, wait);
    let is_wanted =
        matches!(step, Step::Send | Step::Recreate | Step::TrashRemote | Step::TrashSuperseded | Step::Fetch);
    let family = core.state.items.family_keys(key);
    for key in family.iter().filter(|_| !is_wanted) {
        if core.state.wanted.get(*key) != Some(Want::Fetch) {
            core.state.wanted.remove(*key);
        }
    }
    apply(core, look, step)
}

/// Forgets what left the item, once its file does not state it any more.
fn forget_inner(core: &mut Core<'_>, item: &Item) -> Result<(), StoreError> {
    let is_gone = |inner: &&Item| inner.presence() == Some(Listing::Gone);
    let gone: Vec<Item> = core.state.items.inner(item.key).filter(is_gone).cloned().collect();
    if gone.is_empty() {
        return Ok(());
    }
    let stated = core.elements(item.agreed())?;
    for inner in gone {
        let is_it = |element: &serde_json::Value| {
            inner.remote.as_ref().is_some_and(|remote| remote.id == id_of(element))
        };
        if !stated.iter().any(is_it) {
            core.state.forget(inner.key);
        }
    }
    Ok(())
}

/// From now on an element of an item that was just made stands for a node of its file.
fn adopt(core: &mut Core<'_>, item: &Item, node: String, id: String) {
    let Some((base, content)) = item.base.as_ref().zip(item.content()) else { return };
    core.state.items.agree(item.key, content, None, &base.path);
    core.state.items.edit(item.key, |item| item.aliases.insert(node, id));
}

/// Whether the item's file changed since the last scan that was identified.
fn is_waiting_for_its_text(core: &Core<'_>, item: &Item) -> bool {
    let is_open = |path: &MirrorPath| {
        core.state.snapshot.files.contains_key(path) || core.state.snapshot.unhashed.contains_key(path)
    };
    item.file().is_some_and(|fact| is_open(&fact.path))
        || item.file().is_none() && core.state.snapshot.is_open
}

fn set_wait(core: &mut Core<'_>, key: ItemKey, wait: Option<Wait>) {
    if core.state.items.get(key).is_some_and(|item| item.wait != wait) {
        core.state.items.edit(key, |item| item.wait = wait);
        core.state.items.dirty.remove(&key);
    }
}

fn apply(core: &mut Core<'_>, look: Look, step: Step) -> Result<Choice, StoreError> {
    let key = look.item.key;
    Ok(match step {
        Step::Rest => return rest(core, &look.item),
        Step::Wait => wait_for_rest(core, &look),
        Step::Fetch if look.item.kind == Kind::File => fetch_file(core, &look.item),
        Step::Fetch => fetch(core, key),
        Step::Read => read(core, &look.item),
        Step::Write if look.item.file().is_none() => return write_first(core, &look),
        Step::Write if look.item.kind.is_stored() => write_stored(core, &look),
        Step::Write => write(core, look),
        Step::Send | Step::Recreate if look.item.kind == Kind::File => {
            if look.view.sends {
                want(core, key, Want::Send);
            }
            upload::read_outgoing(core, key)
        }
        Step::Send => send(core, look),
        Step::KeepBoth | Step::SetAside => set_aside(core, &look.item),
        Step::Agree => agree(core, look),
        Step::Rename => rename(core, &look),
        Step::TrashLocal => trash_file(&look.item),
        Step::Release => release(core, key),
        Step::TrashRemote | Step::TrashSuperseded => want(core, key, Want::Trash),
        Step::Forget => forget(core, key)?,
        // No policy of canvases leads to this.
        Step::Recreate => None,
    })
}

/// A file that was moved is decided about again once it has been at its path for the grace time.
fn wait_for_rest(core: &mut Core<'_>, look: &Look) -> Choice {
    let rested = look.item.file()?.since.plus_ms(core.settings.pages.delete_grace_ms);
    if rested > core.now {
        core.state.wake(look.item.key, rested);
    }
    None
}

fn want(core: &mut Core<'_>, key: ItemKey, want: Want) -> Choice {
    if core.state.wanted.insert(key, want) != Some(want) && !matches!(want, Want::Fetch | Want::Download) {
        core.state.runtime(key).needs = core.next_seq();
    }
    None
}

/// Fetches what was not fetched yet of an item, or the item.
fn fetch(core: &mut Core<'_>, key: ItemKey) -> Choice {
    let inner = core.state.items.inner(key).filter(|inner| !core.state.is_fetched(inner.key));
    let mut missing: Vec<ItemKey> = inner.map(|inner| inner.key).collect();
    if missing.is_empty() {
        missing.push(key);
    }
    missing.into_iter().find_map(|key| want(core, key, Want::Fetch))
}

/// A stored file is downloaded, or looked for, unless it is too large.
fn fetch_file(core: &mut Core<'_>, item: &Item) -> Choice {
    let size = item.remote.as_ref().and_then(|remote| remote.bytes.as_ref()).map(|bytes| bytes.size);
    let most = core.settings.storage.max_download;
    if let Some(most) = most.filter(|most| item.is_listed() && size.is_some_and(|size| size > *most)) {
        core.state.wanted.remove(item.key);
        set_wait(core, item.key, Some(Wait::TooLarge(most)));
        return None;
    }
    want(core, item.key, Want::Download)
}

fn read(core: &mut Core<'_>, item: &Item) -> Choice {
    let path = item.file()?.path.clone();
    if item.kind.is_stored() {
        core.state.snapshot.unhashed.entry(path).or_insert(core.now);
        return None;
    }
    Some((Effect::ReadFile(path.clone()), Purpose::Read(path)))
}

/// Both sides agree and nothing is left to do but the picture.
fn rest(core: &mut Core<'_>, item: &Item) -> Result<Choice, StoreError> {
    let runtime = core.state.runtime(item.key);
    runtime.disk = None;
    let text = runtime.text.take();
    let family = core.state.items.family_keys(item.key);
    core.state.journal.retain(|act| !family.contains(&act.item) || act.state != ActState::Failed);
    if item.approved {
        core.state.items.edit(item.key, |item| item.approved = false);
    }
    picture::next(core, item, text)
}

/// Writes an item's first file.
fn write_first(core: &mut Core<'_>, look: &Look) -> Result<Choice, StoreError> {
    let item = &look.item;
    if let Local::Gone { last, .. } = &item.local {
        // It was deleted, and comes back.
        let (key, path) = (item.key, look.home.clone().unwrap_or_else(|| last.path.clone()));
        let why = match look.view.policy.trashes {
            true => "it was deleted here and changed in the app; its file comes back",
            false => "deletes = \"restore\" in the config; its file comes back",
        };
        identity::let_come_back(core, key);
        if item.kind.is_stored() {
            // The service's bytes come back, and nothing of the user's was in them.
            return Ok(None);
        }
        core.notice(Code::CameBack, &path, why, "remove it in the app");
        core.tell(Way::Aside, &path, "its file comes back");
        return Ok(None);
    }
    let Some(home) = look.home.clone() else { return Ok(None) };
    let is_matched = identity::is_certainly_without_a_file(core, item);
    if !core.state.is_quiet(core.now) || !is_matched {
        core.state.items.dirty.insert(item.key);
        return Ok(None);
    }
    let snapshot = &core.state.snapshot;
    if snapshot.entries.contains_key(&home) || snapshot.files.contains_key(&home) {
        set_wait(core, item.key, Some(Wait::InTheWay(home)));
        return Ok(None);
    }
    match item.kind {
        Kind::Folder => {
            let purpose = Purpose::MakeFolder(Some(item.key), home.clone());
            return Ok(Some((Effect::Storage(StorageEffect::MakeFolder(home)), purpose)));
        }
        Kind::File => return Ok(transfer::place(core, item, home, None)),
        _ => {}
    }
    Ok(match compared::first_file(core, item)? {
        Ok(FirstFile { text, contents }) => {
            let file = NextFile { path: home, text, contents, is_whole: true, brings: Brings::New };
            Some(write_effect(core, item.key, file, Expect::Absent))
        }
        Err(problem) => {
            set_wait(core, item.key, Some(Wait::Problem(problem)));
            None
        }
    })
}

/// Puts the service's bytes in the place of an item's file.
fn write_stored(core: &mut Core<'_>, look: &Look) -> Choice {
    let item = &look.item;
    let fact = item.file()?;
    let expected =
        if planted("placed-over-edit") { item.base.as_ref().and(Some(fact.stamp)) } else { Some(fact.stamp) };
    transfer::place(core, item, fact.path.clone(), expected)
}

/// Writes the merged version into the file, without the edits that are still to be sent.
fn write(core: &mut Core<'_>, look: Look) -> Choice {
    let item = &look.item;
    let (Some(fact), Some(compared)) = (item.file(), &look.compared) else { return read(core, item) };
    // A person who moves a file does so in several steps.
    let is_moved = [look.view.name.local, look.view.parent.local].contains(&Side::Changed);
    if is_moved && !look.view.rests {
        return wait_for_rest(core, &look);
    }
    if let Some(copy) = copy_first(core, &look) {
        return Some(copy);
    }
    report_notes(core, &look);
    let contents = agreed_contents(core, compared);
    let is_whole = compared.is_sent() && !compared.is_moving;
    let path = fact.path.clone();
    let Some(text) = compared.next.clone() else {
        // The file says all of it already.
        for (key, content) in contents {
            core.state.items.agree(key, content, is_whole.then_some(compared.hash), &path);
        }
        core.state.items.dirty.remove(&item.key);
        if is_whole {
            core.state.items.dirty.insert(item.key);
        }
        return None;
    };
    let brings = match () {
        () if compared.is_news() => Brings::Changes,
        () if compared.aliased => Brings::Ids,
        () => Brings::PutBack,
    };
    let file = NextFile { path, text, contents, is_whole, brings };
    Some(write_effect(core, item.key, file, Expect::Content(compared.hash)))
}

/// What the item's file states once it has its next text: the contents of the item, and of what lies in it.
fn agreed_contents(core: &mut Core<'_>, compared: &Compared) -> Vec<(ItemKey, Digest)> {
    let merged = compared.merged.iter();
    merged.map(|merged| (merged.item, core.store.keep_elements(&merged.agreed))).collect()
}

/// A file that is to be written.
struct NextFile {
    path: MirrorPath,
    text: String,
    /// The contents that it states, those of what lies in the item included.
    contents: Vec<(ItemKey, Digest)>,
    is_whole: bool,
    brings: Brings,
}

/// Stores a row for each item whose agreed content the write changes, the file's own item last.
fn write_effect(core: &mut Core<'_>, item: ItemKey, file: NextFile, expect: Expect) -> (Effect, Purpose) {
    let NextFile { path, text, contents, is_whole, brings } = file;
    let hash = ContentHash::of(text.as_bytes());
    core.store.keep_for_undo(text.as_bytes());
    let act = record_write(core, item, (path.clone(), hash), contents, is_whole);
    let purpose = Purpose::Write { act, path: path.clone(), brings };
    (Effect::WriteFile { path, bytes: text.into_bytes(), expect }, purpose)
}

/// The file's version of what both sides changed is kept beside it, once for each text.
fn copy_first(core: &Core<'_>, look: &Look) -> Choice {
    let (fact, compared) = (look.item.file()?, look.compared.as_ref()?);
    let is_kept = !planted("element-collision-without-copy");
    let summary = compared.collisions.first().filter(|_| is_kept)?.clone();
    let known = core.store.conflicts().unwrap_or_default();
    if known.iter().any(|conflict| conflict.text == compared.hash) {
        return None;
    }
    let copy = naming::conflict_copy(core, &fact.path)?;
    let (item, text, bytes) = (look.item.key, compared.hash, compared.text.clone().into_bytes());
    let purpose = Purpose::Copy { item, copy: copy.clone(), text, summary };
    Some((Effect::WriteFile { path: copy, bytes, expect: Expect::Absent }, purpose))
}

/// Reports once which parts of a file are put back, or stay only in it.
fn report_notes(core: &mut Core<'_>, look: &Look) {
    let (Some(fact), Some(compared)) = (look.item.file(), &look.compared) else { return };
    let runtime = core.state.runtime(look.item.key);
    if runtime.reported.replace(compared.hash) == Some(compared.hash) {
        return;
    }
    for note in &compared.notes {
        core.notice(Code::OnlyHere, &fact.path, note.clone(), "nothing to do; change it in the app");
        core.tell(Way::Aside, &fact.path, note.clone());
    }
    let (copies, strays) = (compared.copies, compared.strays);
    if copies > 0 {
        let what = format!("copies of elements that the API cannot create stay in this file only: {copies}");
        core.notice(
            Code::OnlyHere,
            &fact.path,
            what,
            "nothing to do; a node with an id of its own becomes a note",
        );
    }
    if strays > 0 && compared.is_sent() {
        let what = format!(
            "groups, links, files, edges or nodes outside of slides stay in this file only: {strays}"
        );
        core.notice(Code::OnlyHere, &fact.path, what, "nothing to do; the API cannot make them");
    }
}

fn send(core: &mut Core<'_>, look: Look) -> Choice {
    let copy = copy_first(core, &look);
    let family = core.state.items.family_keys(look.item.key);
    for key in family.into_iter().filter(|_| copy.is_none()) {
        if look.sendable.iter().any(|(of, _)| *of == key) {
            want(core, key, Want::Send);
        } else if core.state.wanted.get(key) == Some(Want::Send) {
            core.state.wanted.remove(key);
        }
    }
    copy
}

/// Records what both sides agree on.
fn agree(core: &mut Core<'_>, look: Look) -> Choice {
    let item = &look.item;
    let fact = item.file()?;
    let name = item.name().to_owned();
    let path = fact.path.clone();
    let is_first = item.base.is_none();
    if item.kind.is_stored() {
        return agree_on_bytes(core, &look);
    }
    if look.compared.is_none() && is_first {
        return read(core, item);
    }
    if let Some(compared) = &look.compared {
        report_notes(core, &look);
        for (key, content) in agreed_contents(core, compared) {
            core.state.items.agree(key, content, Some(compared.hash), &path);
        }
    }
    let family = core.state.items.family_keys(item.key);
    core.state.journal.retain(|act| !family.contains(&act.item) || act.part != Part::File);
    core.state.items.edit(item.key, |item| {
        if let Some(base) = &mut item.base {
            (base.name, base.path) = (name, path);
        }
    });
    if is_first {
        core.tell(Way::Aside, &fact.path, "found in the folder, equal to the app");
    }
    None
}

/// Records what both sides of a stored file or a folder agree on.
fn agree_on_bytes(core: &mut Core<'_>, look: &Look) -> Choice {
    let item = &look.item;
    let (fact, content) = (item.file()?.clone(), item.content()?);
    if item.base.is_none() && bytes::arrived(core.state, item).is_some() {
        // The same bytes are there already: then the download is dropped.
        return transfer::place(core, item, fact.path, None);
    }
    let name = item.name().to_owned();
    bytes::forget_arrived(core.state, item.key);
    core.state.items.agree(item.key, content, fact.hash, &fact.path);
    core.state.items.edit(item.key, |item| {
        if let Some(base) = &mut item.base {
            (base.name, base.path) = (name, fact.path);
        }
    });
    None
}

/// Moves a file to where it belongs.
fn rename(core: &mut Core<'_>, look: &Look) -> Choice {
    let (item, home) = (&look.item, look.home.clone()?);
    let from = item.file()?.path.clone();
    let is_same_there = look.view.name.remote == Side::Same && look.view.parent.remote == Side::Same;
    let is_put_back = item.base.is_some() && is_same_there;
    if is_put_back && !look.view.rests {
        return wait_for_rest(core, look);
    }
    let blocking = core.state.items.at(&home).filter(|other| other.key != item.key && other.file().is_some());
    let (to, why) = match blocking {
        None if core.state.snapshot.entries.contains_key(&home) && home != from => {
            let is_draft = core.state.snapshot.files.contains_key(&home);
            set_wait(core, item.key, (!is_draft).then_some(Wait::InTheWay(home)));
            return None;
        }
        None => (home, if is_put_back { RenameReason::PutBack } else { RenameReason::Follows }),
        Some(_) if waits_in_a_circle(core, item) => (naming::aside(core.state, &from)?, RenameReason::Aside),
        // The other file moves on, and then all are decided again.
        Some(_) => return None,
    };
    if item.kind == Kind::Folder {
        // Nothing else tells after a kill that it was this folder.
        let contents = item.content().map(|content| (item.key, content)).into_iter().collect();
        record_write(core, item.key, (to.clone(), ContentHash::of(b"")), contents, true);
    }
    let purpose = Purpose::Rename { item: item.key, from: from.clone(), to: to.clone(), why };
    Some((Effect::Rename { from, to }, purpose))
}

/// Whether files wait for each other's places in a circle.
fn waits_in_a_circle(core: &Core<'_>, item: &Item) -> bool {
    let mut at = item.clone();
    for _ in 0..core.state.items.all().count() {
        let next = naming::home(core.state, &at).and_then(|home| core.state.items.at(&home));
        match next.filter(|next| next.file().is_some()) {
            Some(next) if next.key == item.key => return at.key != item.key,
            Some(next) if next.is_listed() && next.key != at.key => at = next.clone(),
            _ => return false,
        }
    }
    false
}

fn set_aside(core: &mut Core<'_>, item: &Item) -> Choice {
    let from = item.file()?.path.clone();
    let to = naming::conflict_copy(core, &from)?;
    let purpose =
        Purpose::Rename { item: item.key, from: from.clone(), to: to.clone(), why: RenameReason::Conflict };
    Some((Effect::Rename { from, to }, purpose))
}

fn trash_file(item: &Item) -> Choice {
    let fact = item.file()?;
    let (path, expect) = (fact.path.clone(), fact.hash?);
    let effect = match item.kind {
        Kind::Folder => Effect::RemoveFolder(path.clone()),
        Kind::File => Effect::Storage(StorageEffect::Discard { path: path.clone(), expect: fact.stamp }),
        _ => Effect::TrashFile { path: path.clone(), expect },
    };
    Some((effect, Purpose::TrashFile { item: item.key, path }))
}

/// Forgets an item once the journal has no row of it. Its elements can still be found by what a file says.
fn forget(core: &mut Core<'_>, key: ItemKey) -> Result<Choice, StoreError> {
    let Some(item) = core.state.items.get(key).cloned() else { return Ok(None) };
    let is_ignored = core.state.runtimes.get(&key).is_some_and(|runtime| runtime.is_picture_ignored);
    if let Some(known) = item.picture.clone().filter(|_| !is_ignored) {
        let purpose = Purpose::Picture { item: key, path: known.path.clone(), drawn: None };
        return Ok(Some((Effect::TrashFile { path: known.path, expect: known.hash }, purpose)));
    }
    core.state.journal.retain(|act| {
        let is_removal =
            matches!(act.deed, Deed::Remove { .. }) && matches!(act.part, Part::Item | Part::File);
        act.item != key || is_removal && act.state != ActState::Failed
    });
    let holds_items = core.state.items.within(key).any(|inner| !inner.kind.is_part());
    // What lies in a folder, and is sought by its id, keeps the folder in the table: it may be back with the same id.
    if core.state.journal.of(key).next().is_some() || holds_items {
        core.state.items.release(key);
        core.state.items.dirty.remove(&key);
        // Its folder may be empty now.
        core.state.items.dirty.extend(item.parent);
        return Ok(None);
    }
    for item in core.state.items.family(key) {
        let Some(id) = service::canvas_id(&core.state.items, item) else { continue };
        for element in core.elements(item.content())? {
            core.store.bury(&id, None, &element, core.now);
        }
    }
    core.state.forget(key);
    core.state.items.mark_all();
    Ok(None)
}
