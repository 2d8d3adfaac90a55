//! What the user is told of stored files, and how far they are.

use std::collections::BTreeMap;

use crate::core::content::{bytes, naming};
use crate::core::items::{Act, Item, Verb, Wait};
use crate::core::plan::policy::Kind;
use crate::core::report::{Says, path_of};
use crate::core::state::{Core, Purpose, State};
use crate::core::wants::Want;
use crate::model::{
    Attention, Code, DiskError, MirrorPath, Settings, StorageMode, Timestamp, Unsent, WorkspaceId,
};
use crate::plan::filenames;
use crate::plan::guard::Guard;

/// The progress of stored files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StorageSummary {
    /// Files whose content is on disk.
    pub files: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// Files that left one side and stay on the other.
    pub held: usize,
    /// Files that the service lists.
    pub listed: usize,
    /// Their size in bytes.
    pub listed_bytes: u64,
    /// Bytes of running downloads.
    pub arriving: u64,
    /// Folders still to be listed.
    pub folders_left: usize,
    /// Files that wait for their upload, or for their move to the service's trash.
    pub sending: usize,
    /// Files whose bytes were compared in the running deep check.
    pub checked: usize,
}

/// How far stored files are.
#[must_use]
pub fn summary(state: &State, settings: &Settings) -> StorageSummary {
    let mut all = StorageSummary::default();
    let space = WorkspaceId::of_storage();
    let Some(area) = state.areas.get(&space).filter(|area| area.is_live) else { return all };
    let is_two_way = settings.storage.mode == StorageMode::TwoWay;
    all.folders_left = usize::from(area.list.taken.is_none());
    for item in state.items.all().filter(|item| item.kind.is_stored() && !item.is_ignored) {
        let runtime = state.runtimes.get(&item.key);
        if item.kind == Kind::Folder {
            let is_left = item.is_listed() && item.content().is_none();
            all.folders_left +=
                usize::from(is_left && runtime.is_none_or(|runtime| runtime.unreadable.is_none()));
            continue;
        }
        all.arriving += runtime.map_or(0, |runtime| runtime.bytes.got);
        all.sending += usize::from(is_two_way && is_sending(state, item));
        let size =
            item.remote.as_ref().and_then(|remote| remote.bytes.as_ref()).map_or(0, |bytes| bytes.size);
        if item.is_listed() && !matches!(item.wait, Some(Wait::TooLarge(_))) {
            all.listed += 1;
            all.listed_bytes += size;
        }
        if let Some(base) = &item.base {
            all.held += usize::from(!item.is_listed() || item.file().is_none());
            if item.is_listed() && item.file().is_some() && item.content() == Some(base.content) {
                all.files += 1;
                all.bytes += size;
                all.checked +=
                    usize::from(state.stored.deep.as_ref().is_some_and(|left| !left.contains(&base.path)));
            }
        }
    }
    all
}

/// Whether the file of an item is to be uploaded, or its item to be trashed. What the service refuses is told by itself.
fn is_sending(state: &State, item: &Item) -> bool {
    let is_wanted = matches!(state.wanted.get(item.key), Some(Want::Create | Want::Send | Want::Trash));
    let new =
        || item.file().filter(|fact| item.remote.is_none() && bytes::refusal(&state.items, fact).is_none());
    let is_refused = || bytes::last_upload(state, item).is_some_and(|act| act.failing.is_refused);
    is_wanted || !item.superseded.is_empty() || new().is_some() && !is_refused()
}

/// Whether stored files have nothing left to do but what waits for the user, for the service or for time.
#[must_use]
pub fn is_settled(core: &State, settings: &Settings, now: Timestamp) -> bool {
    let is_of_storage = |(_, purpose): &(crate::core::keys::Seq, Purpose)| {
        matches!(purpose, Purpose::Hash(_) | Purpose::Download(..))
    };
    let waits = |item: &Item| item.wait.is_some() || item.is_ignored || core.stored.disk.is_some();
    let is_left = |key: &crate::core::keys::ItemKey| {
        let item = core.items.get(*key).filter(|item| item.kind.is_stored());
        item.is_some_and(|item| !waits(item))
    };
    let is_two_way = settings.storage.mode == StorageMode::TwoWay;
    let is_draft_left = |item: &Item| {
        item.kind == Kind::File
            && item.remote.is_none()
            && item.file().is_some_and(|fact| bytes::refusal(&core.items, fact).is_none())
            && bytes::refused(core, item, now).is_none()
            && bytes::upload_due(core, item.key) <= now
            && !item.is_ignored
    };
    let may_send = is_two_way
        && !core.stored.upload_to.is_empty()
        && core.doubt.is_none()
        && crate::core::guard::may(core, &WorkspaceId::of_storage(), Verb::Write, now);
    let is_checking = core.stored.deep.as_ref().is_some_and(|left| !left.is_empty());
    let is_at_work = core.under_way.iter().any(is_of_storage) || !core.snapshot.unhashed.is_empty();
    let is_any_left = core.items.dirty.iter().chain(core.wanted.keys()).any(is_left);
    !is_at_work && !is_checking && !is_any_left && (!may_send || !core.items.all().any(is_draft_left))
}

/// The messages about stored files.
pub(super) fn needs(state: &State, settings: &Settings, next_try: Says<'_>, all: &mut Vec<Attention>) {
    let space = WorkspaceId::of_storage();
    let Some(area) = state.areas.get(&space).filter(|area| area.is_live) else { return };
    let is_two_way = settings.storage.mode == StorageMode::TwoWay;
    let mut forbidden: Vec<(&str, &str, String)> = Vec::new();
    if let Some(why) = area.list.trouble.as_deref().filter(|_| area.list.is_forbidden) {
        forbidden.push((
            "stored files are not checked: the service forbids it",
            why,
            next_try(area.list.due),
        ));
    }
    for (verb, what) in [
        (Verb::Write, "stored files are not uploaded: the service forbids it"),
        (Verb::Delete, "stored files are not moved to the service's trash: it forbids it"),
    ] {
        if let Some((said, until)) = state.forbidden.said(&space, verb) {
            forbidden.push((what, said, next_try(until)));
        }
    }
    for (what, said, next) in forbidden {
        let mend = format!("check the plan and the token's scopes; {next}");
        all.push(Attention::new(Code::StorageForbidden, naming::STORAGE, format!("{what}: {said}"), mend));
    }
    if let Some((error, _)) = &state.stored.disk {
        let (code, mend) = match error {
            DiskError::Full(..) => (Code::DiskFull, "free some space; downloads then continue"),
            _ => (Code::NotWritten, "espejo retries"),
        };
        all.push(Attention::new(code, naming::STORAGE, format!("downloads wait: {error}"), mend));
    }
    needs_of_large(state, all);
    needs_of_disks(state, all);
    if let Some(guard) = &area.list.held {
        let reason = format!("no stored file is removed here: {guard}");
        let mend = "check the app; espejo approve removes them; if you get access again, they stay";
        all.push(Attention::new(Code::RemovalsHeld, naming::STORAGE, reason, mend));
    }
    let mut gone = state.items.gone().filter(|item| item.kind == Kind::File);
    let held = gone.find_map(|item| match &item.wait {
        Some(Wait::Guard(guard)) => Some(guard),
        _ => None,
    });
    if let Some(guard) = held {
        let reason = format!("nothing is moved to the service's trash: {guard}");
        let mend = "put the files back, from a copy or from the app, or run espejo approve";
        all.push(Attention::new(Code::DeletionsHeld, naming::STORAGE, reason, mend));
    }
    let mut has_new = false;
    for item in state.items.all().filter(|item| item.kind.is_stored() && !item.is_ignored) {
        let runtime = state.runtimes.get(&item.key);
        if let Some(why) = runtime.and_then(|runtime| runtime.trouble.as_ref()) {
            let mend = "nothing is removed; tell the service's operator if this continues";
            let reason = format!("not all of it can be listed: {why}");
            all.push(Attention::new(Code::Unclear, path_of(state, item), reason, mend));
        }
        if runtime.is_some_and(|runtime| runtime.bytes.is_hidden) && item.base.is_some() && !item.is_listed()
        {
            let reason = "the service no longer lists it, but still shows it: the file stays";
            all.push(Attention::new(
                Code::Unlisted,
                path_of(state, item),
                reason,
                "espejo approve removes the file",
            ));
        }
        let Some(fact) = item.file().filter(|_| is_two_way && item.kind == Kind::File) else { continue };
        let is_new = item.remote.is_none();
        let is_older = (state.doubt == Some(Guard::OlderFolder)).then_some(Unsent::Returned);
        if is_new && let Some(why) = is_older.or_else(|| bytes::refusal(&state.items, fact)) {
            all.push(unsent(fact.path.as_str(), &why, None, None));
        } else if let Some(act) = bytes::last_upload(state, item).filter(|act| act.failing.is_told()) {
            all.push(failed(fact.path.as_str(), act, next_try));
        } else {
            has_new |= is_new;
        }
        if let (Some(Wait::Unsent(why)), Some(base)) = (&item.wait, &item.base) {
            all.push(unsent(fact.path.as_str(), why, Some(&base.path), None));
        }
    }
    if is_two_way && has_new && state.stored.upload_to.is_empty() {
        all.push(Attention::new(
            Code::NoWorkspace,
            naming::STORAGE,
            "nothing is uploaded: there is no workspace to count uploads for",
            "name a workspace that is not frozen as workspace in [storage]",
        ));
    }
    let copies = state.snapshot.entries.iter().filter(|(path, (is_folder, _))| {
        !is_folder && naming::is_stored(path) && filenames::is_conflict_copy(path.name())
    });
    for (path, _) in copies {
        all.push(Attention::new(
            Code::KeptBeside,
            path.as_str(),
            "your version of a stored file, kept beside the service's one and not sent",
            "copy what you need from it, then delete it (with mode = \"two-way\" you can also rename it, and it is uploaded)",
        ));
    }
}

fn unsent(path: &str, why: &Unsent, kept_as: Option<&MirrorPath>, next: Option<String>) -> Attention {
    let mut reason = format!("not uploaded: {why}");
    let mut mend = why.mend().to_owned();
    if let Some(kept_as) = kept_as {
        let below = kept_as.as_str().split_once('/').map_or(kept_as.as_str(), |(_, rest)| rest);
        reason = format!("{reason}; the service keeps it as {below}");
        mend.push_str("; or put it back");
    }
    if let Some(next) = next {
        mend = format!("{mend}; {next}");
    }
    let code = if *why == Unsent::Returned { Code::WentBack } else { Code::NotUploaded };
    Attention::new(code, path, reason, mend)
}

/// The message about an upload that the service refused, or that fails each time.
fn failed(path: &str, act: &Act, next_try: Says<'_>) -> Attention {
    let failing = &act.failing;
    let is_final = failing.until == bytes::NEVER;
    if failing.is_refused {
        let why = Unsent::Refused(failing.said.clone());
        let next = (!is_final).then(|| next_try(failing.until));
        return match is_final {
            true => Attention::new(
                Code::NotUploaded,
                path,
                format!("not uploaded: {}", failing.said),
                Unsent::Cut { made: 0, sent: 0 }.mend(),
            ),
            false => unsent(path, &why, None, next),
        };
    }
    let mend = format!("nothing to do: {}", next_try(failing.until));
    Attention::new(Code::Failing, path, format!("not uploaded: {}", failing.said), mend)
}

fn needs_of_large(state: &State, all: &mut Vec<Attention>) {
    let large = state.items.all().filter_map(|item| match item.wait {
        Some(Wait::TooLarge(most)) => Some((item.remote.as_ref()?.bytes.as_ref()?.size, most)),
        _ => None,
    });
    let large: Vec<(u64, u64)> = large.collect();
    let Some((_, most)) = large.first() else { return };
    let files = if large.len() == 1 { "1 stored file is" } else { "some stored files are" };
    let megabytes = large.iter().map(|(size, _)| size).sum::<u64>() as f64 / 1_000_000.0;
    let most = most / 1_000_000;
    all.push(Attention::new(
        Code::NotFetched,
        naming::STORAGE,
        format!("{files} not fetched, of {megabytes:.1} MB in all: larger than max_download_mb = {most}"),
        "nothing to do; espejo list shows them as too large, and a higher max_download_mb in [storage] fetches them",
    ));
}

fn needs_of_disks(state: &State, all: &mut Vec<Attention>) {
    let mut folders: BTreeMap<&MirrorPath, usize> = BTreeMap::new();
    for item in state.items.gone() {
        if let Some(Wait::DiskAway(folder)) = &item.wait {
            *folders.entry(folder).or_default() += 1;
        }
    }
    for (folder, count) in folders {
        let (files, their) = if count == 1 { ("stored file", "its") } else { ("stored files", "their") };
        let reason = format!("{count} {files} that belong here cannot be read: {their} disk is not mounted");
        let mend = "mount it; if they are lost for good, run espejo approve with this folder";
        all.push(Attention::new(Code::DiskAway, folder.as_str(), reason, mend));
    }
}

/// Begins a deep check: each stored file here is hashed and compared.
pub fn begin_deep(core: &mut Core<'_>) {
    let is_there = |item: &&Item| item.kind == Kind::File && item.base.is_some();
    let paths = core.state.items.all().filter(is_there).filter_map(|item| Some(item.file()?.path.clone()));
    let paths: std::collections::BTreeSet<MirrorPath> = paths.collect();
    for path in &paths {
        core.state.snapshot.unhashed.entry(path.clone()).or_insert(core.now);
    }
    core.state.stored.deep = Some(paths);
}
