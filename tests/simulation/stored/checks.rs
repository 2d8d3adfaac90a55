//! What espejo promises of stored files, as code.

use std::collections::{BTreeMap, BTreeSet};

use espejo::emulator::FileRecord;
use espejo::model::{
    AttachmentId, FileId, FolderId, MirrorPath, PageSettings, Part, ServiceReply, Stamp, StorageEffect,
    StorageReply,
};

use super::bodies::EMPTY;
use super::key_of;
use super::people::{bodies_at, is_copy_beside, root};
use crate::checks::{Failure, broken};
use crate::run::Run;

/// A DELETE of what left here rests on a list this old at most: five seconds when it was decided, and a little.
const LIST_TO_DELETE_MS: i64 = 6_000;
/// Deletions within this time are one deletion.
const TOGETHER_MS: i64 = 60_000;
/// What failed is not asked again sooner.
const PATIENCE_MS: i64 = 400;
/// A scan and a list take their time; what came back longer ago has been seen.
const SEEN_BY_THEN_MS: i64 = 30_000;

/// How a body left its place by a person's hand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    at_ms: i64,
    /// The removal before that, if the body was back for less than a second, or no scan began while it was.
    since_ms: i64,
    /// The one that was written over it.
    pub(super) overwritten_by: Option<u32>,
    /// It was put there anew since.
    is_back: bool,
}

/// What these checks remember.
#[derive(Debug, Default)]
pub(crate) struct StoredChecks {
    /// The bodies that a person took from each place.
    pub(super) left: BTreeMap<MirrorPath, BTreeSet<u32>>,
    /// When a person last put a body somewhere in the folder.
    placed: BTreeMap<u32, i64>,
    /// The bodies whose files got their names back. In a backup nothing tells whether they are files that are gone, once their
    /// items are.
    pub(crate) came_back: BTreeSet<u32>,
    pub(super) taken: BTreeMap<u32, Taken>,
    /// Files that somebody in the app renamed, moved or gave new content.
    pub(crate) worked_on: BTreeSet<FileId>,
    /// Files that the app's user put into the trash.
    pub(crate) trashed_in_app: BTreeSet<FileId>,
    /// Files that were in a trash at some time, and those that are shown.
    was_gone: BTreeSet<FileId>,
    shown: BTreeSet<FileId>,
    /// What the engine was told of a file last.
    told: BTreeMap<FileId, AttachmentId>,
    /// When it was told of all that is in a folder.
    listed: BTreeMap<Option<FolderId>, i64>,
    /// Files that a list has shown, or the answer to a question about that one: neither shows one in the trash.
    confirmed: BTreeSet<FileId>,
    /// The body behind each attachment that was ever shown.
    attachments: BTreeMap<AttachmentId, u32>,
    /// The bodies that each file was ever shown with.
    bodies_of: BTreeMap<FileId, BTreeSet<u32>>,
    deleted: Vec<i64>,
    failed: BTreeMap<Part, i64>,
    /// When the last scan began.
    pub(crate) scan_ms: i64,
    /// Somebody in the app renamed or moved a folder.
    pub(crate) folders_changed: bool,
    /// How often something happened at the service between a list and the DELETE that rested on it.
    pub(crate) slipped_between: u32,
}

impl StoredChecks {
    /// A person put a body somewhere in the folder; perhaps by moving it there.
    pub(crate) fn placed(&mut self, number: u32, by_writing: bool, now_ms: i64) {
        self.placed.insert(number, now_ms);
        if let Some(taken) = self.taken.get_mut(&number) {
            taken.is_back |= by_writing;
        }
    }

    /// A person took a body from its place: it is elsewhere now (`stays`), or another one is written over it.
    pub(crate) fn taken(&mut self, number: u32, stays: bool, overwritten_by: Option<u32>, now_ms: i64) {
        if stays && overwritten_by.is_some() {
            return;
        }
        // What is moved again and again left its first place when it left that.
        let before = self.taken.get(&number);
        let at_ms = before.filter(|taken| !taken.is_back).map_or(now_ms, |taken| taken.at_ms);
        // What was made anew and renamed before it was seen is a new file under another name.
        let is_new = self.placed.get(&number).is_some_and(|at| now_ms - at < SEEN_BY_THEN_MS);
        let is_back = stays && is_new && before.is_some_and(|taken| taken.is_back);
        let was_back = |taken: &&Taken| {
            self.placed.get(&number).is_none_or(|at| now_ms - at < 1_000 || self.scan_ms < *at)
                || !taken.is_back
        };
        let since_ms = before.filter(was_back).map_or(now_ms, |taken| taken.since_ms);
        self.taken.insert(number, Taken { at_ms, since_ms, overwritten_by, is_back });
    }

    /// The app's new version of a file takes its place: where a person moved the file, it is moved with it.
    fn goes_where(&mut self, there: u32, comes: u32) {
        if let Some(at) = self.placed.get(&there).copied() {
            self.placed.entry(comes).or_insert(at);
        }
        if let Some(taken) = self.taken.get(&there).copied() {
            self.taken.entry(comes).or_insert(taken);
        }
    }

    /// Whether a person put it into the folder.
    pub(crate) fn is_a_persons(&self, number: u32) -> bool {
        number == EMPTY || self.placed.contains_key(&number)
    }

    /// Whether a person moved or removed it in the folder.
    pub(crate) fn was_taken(&self, number: u32) -> bool {
        self.taken.contains_key(&number)
    }

    /// Whether one body was written over another one, or over what was written over that.
    pub(super) fn is_newer(&self, number: u32, than: u32) -> bool {
        let mut seen = BTreeSet::new();
        let mut at = than;
        while let Some(by) = self.taken.get(&at).and_then(|taken| taken.overwritten_by) {
            if by == number {
                return true;
            }
            if !seen.insert(by) {
                break;
            }
            at = by;
        }
        false
    }

    /// A download broke off.
    pub(crate) fn download_failed(&mut self, part: &Part, now_ms: i64) {
        self.failed.insert(part.clone(), now_ms);
    }

    /// A new process remembers no failures.
    pub(crate) fn forget_failures(&mut self) {
        self.failed.clear();
    }
}

/// Whether an effect of storage stays within its fences, and on which paths it acts.
pub(crate) fn fences(effect: &StorageEffect) -> Result<Vec<&MirrorPath>, Failure> {
    let paths = match effect {
        StorageEffect::MakeFolder(path) | StorageEffect::Discard { path, .. } => vec![path],
        StorageEffect::Place { to, .. } => vec![to],
        _ => Vec::new(),
    };
    for path in &paths {
        if !path.is_within(&root()) || is_copy_beside(path) {
            return broken("fences", format!("{path} is none of its business: {}", effect.name()));
        }
    }
    Ok(paths)
}

impl Run {
    /// The engine asks for an effect of storage.
    pub(crate) fn stored_asked(&mut self, effect: &StorageEffect) -> Result<(), Failure> {
        match effect {
            StorageEffect::Download { part, .. } => {
                let failed = self.stored.checks.failed.get(part);
                if let Some(at) = failed.filter(|at| self.now_ms - **at < PATIENCE_MS) {
                    let ms = self.now_ms - at;
                    return broken("calm", format!("a download asked again {ms} ms after it broke off"));
                }
            }
            StorageEffect::Discard { path, expect } => {
                self.takes_no_edit(path, *expect)?;
                let there = self.folder.file(path).filter(|thing| thing.stamp == *expect);
                let number = there.and_then(|thing| self.stored.bodies.known(&thing.bytes));
                if let Some(number) = number.filter(|number| !self.stored.bodies.may_be_twice(*number))
                    && !self.checks.fates.is_approved()
                    && let Some(id) = self.active_with(number)
                    && !self.was_gone_with(number)
                {
                    return broken("absence", format!("{path} is taken away, and {id} was never gone"));
                }
            }
            StorageEffect::Place { part, to, instead_of: Some(expect), .. } => {
                self.takes_no_edit(to, *expect)?;
                let bodies = &self.stored.bodies;
                let there = self.folder.file(to).and_then(|thing| bodies.known(&thing.bytes));
                let comes = self.folder.parts.get(part).and_then(|part| bodies.known(&part.bytes));
                if let (Some(there), Some(comes)) = (there, comes) {
                    self.stored.checks.goes_where(there, comes);
                }
            }
            StorageEffect::Upload { .. } | StorageEffect::Trash(_) if self.scene.stored_mode == 0 => {
                return broken("fences", format!("a backup sends: {}", effect.name()));
            }
            _ => {}
        }
        Ok(())
    }

    /// What is taken away or replaced here must have been at the service: a person's edit was not yet, and stays.
    fn takes_no_edit(&self, path: &MirrorPath, expect: Stamp) -> Result<(), Failure> {
        let there = self.folder.file(path).filter(|thing| thing.stamp == expect);
        let Some(number) = there.and_then(|thing| self.stored.bodies.known(&thing.bytes)) else {
            return Ok(());
        };
        let was_there = self.stored.checks.attachments.values().any(|known| *known == number);
        if was_there || number == EMPTY {
            return Ok(());
        }
        broken("overwritten", format!("{path} is taken away with s{number}, which the service never had"))
    }

    /// Whether a file that holds this left the service once: one that was moved here is there twice for a while.
    fn was_gone_with(&self, number: u32) -> bool {
        // One that got other content in the app before it went is known here by what it held before.
        let held =
            |id: &FileId| self.stored.checks.bodies_of.get(id).is_some_and(|held| held.contains(&number));
        let is_held = |id: &FileId| {
            let record = self.service.world.storage_file(id);
            record.and_then(|record| self.stored.bodies.known(&record.bytes())) == Some(number)
        };
        self.stored.checks.was_gone.iter().any(|id| held(id) || is_held(id))
    }

    /// The service's files that hold this.
    pub(crate) fn files_with(&self, number: u32) -> impl Iterator<Item = &FileRecord> {
        let files = self.service.world.storage_files();
        files.filter(move |file| self.stored.bodies.known(&file.bytes()) == Some(number))
    }

    /// A file that is shown and holds this.
    fn active_with(&self, number: u32) -> Option<FileId> {
        let mut files = self.files_with(number);
        files.find(|file| self.service.world.storage_shows(&file.id)).map(|file| file.id.clone())
    }

    /// A DELETE arrives: may it be?
    pub(crate) fn before_stored_deletion(&mut self, id: &FileId, asked_ms: i64) -> Result<(), Failure> {
        if !self.service.world.storage_shows(id) {
            return Ok(());
        }
        let Some(record) = self.service.world.storage_file(id) else { return Ok(()) };
        let checks = &self.stored.checks;
        let Some(seen) = checks.told.get(id) else {
            return broken("guard", format!("a DELETE of {id} without a look at it"));
        };
        let Some(number) = checks.attachments.get(seen).copied() else { return Ok(()) };
        let Some(taken) = checks.taken.get(&number).copied() else {
            // A person said that what cannot be read is gone, or wrote beside an empty one that cannot be read.
            if self.checks.fates.is_approved() || number == EMPTY {
                return Ok(());
            }
            let what = format!("{:?} is deleted, and no person removed or replaced it", record.filename);
            return broken(
                if record.attachment == seen.as_str() { "invented" } else { "edit beats deletion" },
                what,
            );
        };
        if self.stored.copies.went.contains(&number) && !self.checks.fates.is_approved() {
            return broken("guard", format!("a DELETE of {id}, which an older copy of the folder lacks"));
        }
        if record.attachment != seen.as_str() {
            // Nobody can prevent this: the service has no precondition on deletions.
            let new = self.stored.bodies.known(&record.bytes());
            new.into_iter().for_each(|number| self.stored.bodies.forget(number));
            self.stored.checks.slipped_between += 1;
            return Ok(());
        }
        if self.clock_jumped || self.stored.bodies.may_be_twice(number) {
            return Ok(());
        }
        let folder = record.folder.clone();
        let is_elsewhere = || {
            let world = &self.service.world;
            // One that the app's user has put into the trash was elsewhere, and its file here goes with it.
            let is_there = |file: &&FileRecord| {
                world.storage_shows(&file.id) || checks.trashed_in_app.contains(&file.id)
            };
            self.files_with(number).filter(is_there).any(|file| file.id != *id)
        };
        let placed_ms = checks.placed.get(&number).copied().unwrap_or(0).max(taken.at_ms);
        let here = self.folder.stored();
        let mut here = here.filter(|(path, thing)| {
            // What was removed, and made anew under another name, is another file. Under its own name it may be, once a person
            // approves that the old one goes.
            let is_anew =
                taken.is_back && (path.name() != record.filename || self.checks.fates.is_approved());
            !(is_copy_beside(path) || is_anew)
                && bodies_at(&self.folder, &self.stored.bodies, path) == Some(number)
                && thing.stamp.size == self.stored.bodies.size(number)
        });
        if asked_ms - placed_ms > SEEN_BY_THEN_MS
            && self.scene.hints_lost == 0
            && !self.checks.fates.is_approved_by_path
            && let Some((path, _)) = here.next()
            && !is_elsewhere()
        {
            return broken(
                "guard",
                format!("a DELETE of {id}, which {path} holds and nothing else at the service"),
            );
        }
        // Another one took its place: written over it, or after it was moved away. What the app put there is no newer one.
        let world = &self.service.world;
        let is_named_so = |other: &&FileRecord| {
            other.id != *id
                && other.uploaded.is_some()
                && other.folder == record.folder
                && other.filename == record.filename
                && world.storage_shows(&other.id)
        };
        // Of those with its name the newer version was written over this one. If a person removed it, too, both go.
        let newer = |file: &FileRecord| {
            self.stored.bodies.known(&file.bytes()).filter(|holds| checks.is_newer(*holds, number))
        };
        let is_newest = |file: &FileRecord| newer(file).is_some_and(|holds| !checks.was_taken(holds));
        // The app may have renamed the newer version since. While it is written in place, a file is empty.
        let mut shown = world.storage_files().filter(|file| checks.confirmed.contains(&file.id));
        let is_confirmed =
            shown.any(|file| is_named_so(&file) || newer(file).is_some() || file.bytes().is_empty());
        // If the app moved this one beside the other, a person wrote over it elsewhere, and the other is a file of its own.
        let is_beside_it = !checks.worked_on.contains(id);
        if is_beside_it && world.storage_files().filter(is_named_so).any(is_newest) && !is_confirmed {
            return broken("guard", format!("a DELETE of {id} before anything showed its newer version"));
        }
        if taken.overwritten_by.is_some() || is_confirmed {
            return Ok(());
        }
        let grace_ms = i64::from(self.scene.grace_ms);
        if asked_ms - taken.at_ms < grace_ms && !is_elsewhere() {
            let ms = asked_ms - taken.at_ms;
            if asked_ms - taken.since_ms >= grace_ms {
                self.checks.canvas.allow("removed again within a second");
                return Ok(());
            }
            return broken("guard", format!("a DELETE of {id}, {ms} ms after its file was removed"));
        }
        let listed_ms = checks.listed.get(&folder).copied().unwrap_or(0);
        if asked_ms - listed_ms > LIST_TO_DELETE_MS && !checks.worked_on.contains(id) {
            let ms = asked_ms - listed_ms;
            return broken("guard", format!("a DELETE of {id}, {ms} ms after a list of its folder"));
        }
        let now_ms = self.now_ms;
        let deleted = &mut self.stored.checks.deleted;
        deleted.retain(|at| now_ms - at < TOGETHER_MS);
        deleted.push(now_ms);
        let (most, sum) = (PageSettings::default().max_deletes, deleted.len());
        if sum > most && !self.checks.fates.is_approved() {
            return broken(
                "guard",
                format!("{sum} stored files deleted within a minute, and nobody approved it"),
            );
        }
        Ok(())
    }

    /// A request about storage was carried out, and this is what will be answered.
    pub(crate) fn stored_arrived(
        &mut self,
        effect: &StorageEffect,
        result: Option<&ServiceReply>,
        applied: bool,
    ) -> Result<(), Failure> {
        if let Some(ServiceReply::Storage(reply)) = result {
            let files = match reply {
                StorageReply::Listing(listing) => listing.files.as_slice(),
                StorageReply::Link { file, .. } | StorageReply::Uploaded(file) => std::slice::from_ref(file),
                StorageReply::Trashed => &[],
            };
            for file in files {
                let record = self.service.world.storage_file(&file.id);
                if let Some(number) = record.and_then(|record| self.stored.bodies.known(&record.bytes())) {
                    self.stored.checks.attachments.insert(file.attachment.clone(), number);
                    self.stored.checks.bodies_of.entry(file.id.clone()).or_default().insert(number);
                }
                // New content is asked for at once, whatever failed for the old one.
                if self.stored.checks.told.get(&file.id).is_some_and(|told| *told != file.attachment) {
                    self.checks.fates.forget_failure(&key_of(&StorageEffect::AskLink(file.id.clone())));
                }
            }
        }
        if !applied {
            return Ok(());
        }
        if let StorageEffect::Upload { .. } = effect {
            self.stored.changed = true;
            let world = &mut self.service.world;
            let newest = world.storage_files().max_by_key(|file| file.uploaded).map(|file| file.id.clone());
            if let Some(id) = newest {
                self.service.note_stored(id.as_str());
                self.uploaded(&id)?;
            }
        }
        if let StorageEffect::Trash(_) = effect {
            self.stored.changed = true;
        }
        self.note_gone_and_back();
        Ok(())
    }

    /// An upload was carried out: was it asked for by what a person did, and the first of it?
    fn uploaded(&mut self, id: &FileId) -> Result<(), Failure> {
        let world = &self.service.world;
        let Some(record) = world.storage_file(id) else { return Ok(()) };
        let Some(number) = self.stored.bodies.known(&record.bytes()) else {
            return broken(
                "lost",
                format!("{:?} was uploaded with other bytes than a person wrote", record.filename),
            );
        };
        if !self.stored.checks.placed.contains_key(&number) {
            if self.stored.bodies.may_be_twice(number) {
                self.stored.checks.placed(number, false, self.now_ms);
                return Ok(());
            }
            return broken(
                "invented",
                format!("{:?} was uploaded, and no person put it there", record.filename),
            );
        }
        if self.stored.copies.came.contains(&number) && !self.checks.fates.is_approved() {
            let what =
                format!("{:?} went back to s{number} with an older copy and was sent", record.filename);
            return broken("invented", what);
        }
        if self.stored.bodies.may_be_twice(number) {
            return Ok(());
        }
        let is_same = |other: &&FileRecord| {
            other.id != *id
                && other.folder == record.folder
                && other.filename == record.filename
                && world.storage_shows(&other.id)
                && self.stored.bodies.known(&other.bytes()) == Some(number)
        };
        match world.storage_files().find(is_same) {
            Some(other) if other.uploaded.is_some() => {
                broken("once", format!("{:?} was uploaded twice: {} and {id}", record.filename, other.id))
            }
            Some(other) => broken(
                "calm",
                format!("{:?} was uploaded, and the same is there as {}", record.filename, other.id),
            ),
            None => Ok(()),
        }
    }

    /// That answer reached the engine.
    pub(crate) fn stored_told(&mut self, effect: &StorageEffect, reply: &ServiceReply) {
        let ServiceReply::Storage(reply) = reply else { return };
        let checks = &mut self.stored.checks;
        let files = match reply {
            StorageReply::Listing(listing) => listing.files.as_slice(),
            StorageReply::Link { file, .. } | StorageReply::Uploaded(file) => std::slice::from_ref(file),
            StorageReply::Trashed => &[],
        };
        for file in files {
            checks.told.insert(file.id.clone(), file.attachment.clone());
        }
        if !matches!(effect, StorageEffect::Upload { .. }) {
            checks.confirmed.extend(files.iter().map(|file| file.id.clone()));
        }
        if let StorageEffect::List(folder) = effect {
            checks.listed.insert(folder.clone(), self.now_ms);
            let world = &self.service.world;
            let is_lacking = |file: &&FileRecord| {
                file.folder == *folder
                    && world.storage_shows(&file.id)
                    && !files.iter().any(|shown| shown.id == file.id)
            };
            // What a list lacks, perhaps because it is cut short, is forgotten, its failed download too.
            for file in world.storage_files().filter(is_lacking) {
                let attachment = AttachmentId::new(&file.attachment).ok();
                let part = attachment.map(|attachment| Part::of(&file.id, &attachment, file.size()));
                part.and_then(|part| checks.failed.remove(&part));
            }
        }
    }

    /// Notes what left the service and what came back: that may have been uploaded anew meanwhile.
    pub(crate) fn note_gone_and_back(&mut self) {
        let world = &self.service.world;
        let shown: BTreeSet<FileId> = world
            .storage_files()
            .map(|file| &file.id)
            .filter(|id| world.storage_shows(id))
            .cloned()
            .collect();
        let checks = &mut self.stored.checks;
        checks.was_gone.extend(checks.shown.difference(&shown).cloned());
        for id in shown.difference(&checks.shown).filter(|id| checks.was_gone.contains(*id)) {
            if let Some(file) = world.storage_file(id)
                && let Some(number) = self.stored.bodies.known(&file.bytes())
            {
                self.stored.bodies.copy(number);
            }
        }
        checks.shown = shown;
    }

    /// Whether every body that a person made and did not take away is somewhere.
    pub(crate) fn no_body_lost(&self) -> Result<(), Failure> {
        let bodies = &self.stored.bodies;
        let beneath = self.folder.stored().map(|(_, thing)| thing);
        let trashed = self.folder.trash.iter().map(|(_, thing)| thing);
        let here = beneath.chain(trashed).filter_map(|thing| bodies.known(&thing.bytes));
        let on_other = self.texts_of_other().filter_map(|bytes| bodies.known(bytes));
        let in_hand = self.stored_in_hand().chain(self.other.iter().flat_map(|other| other.stored_in_hand()));
        let there = self.service.world.storage_files().filter_map(|file| bodies.known(&file.bytes()));
        let found: BTreeSet<u32> = here.chain(there).chain(on_other).chain(in_hand).collect();
        let missing: Vec<String> = bodies
            .owed()
            .filter(|number| !found.contains(number))
            .map(|number| format!("s{number}"))
            .collect();
        if missing.is_empty() { Ok(()) } else { broken("lost", missing.join(" ")) }
    }
}
