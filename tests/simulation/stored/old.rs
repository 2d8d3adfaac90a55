//! An older copy of the storage folder, put back while espejo is not running: from a backup, with its own count of runs, by
//! which espejo knows it.

use std::collections::{BTreeMap, BTreeSet};

use espejo::emulator::FileRecord;
use espejo::model::{EntryKind, MirrorPath, Outcome, RootState, Timestamp};
use espejo::store::{Store, StoreError};

use super::people::{bodies_at, is_copy_beside, root};
use crate::run::Run;

/// As many copies are kept; the oldest go.
const KEPT: usize = 6;

/// The storage folder as it was: folders, and files by their bodies.
#[derive(Debug, Clone, Default)]
struct Copy {
    things: BTreeMap<MirrorPath, Option<u32>>,
    runs: u64,
}

/// What is known of older copies.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// Whether some step of the script puts one back.
    pub(crate) are_kept: bool,
    kept: Vec<Copy>,
    /// How many runs there were, by the state and by the folder.
    runs: u64,
    noted: u64,
    /// The folder was not there when this run was counted.
    awaited: bool,
    /// Bodies that went with the newer folder, and those that came back with the older one, until a person acts on them
    /// or approves.
    pub(crate) went: BTreeSet<u32>,
    pub(crate) came: BTreeSet<u32>,
}

impl Copies {
    /// Counts a start as `espejo run` does: a folder whose count is behind is an older copy.
    pub(crate) fn start(
        &mut self,
        store: &mut Store,
        root: &RootState,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        if !self.are_kept {
            return Ok(());
        }
        self.awaited = *root != RootState::Ready;
        if self.awaited {
            return Ok(());
        }
        if self.is_behind() {
            store.folder_went_back(Timestamp(now_ms));
        }
        self.runs += 1;
        self.noted = self.runs;
        store.commit()
    }

    /// Whether a scan reads a folder that could not be read when this run was counted: espejo begins another run.
    pub(crate) fn folder_came(&self, outcome: &Outcome) -> bool {
        self.awaited && outcome.shows_folder()
    }

    /// Whether the folder is an older copy that the next start will notice.
    pub(crate) fn is_behind(&self) -> bool {
        self.noted < self.runs
    }

    /// A person did something with this body: what becomes of it is their doing.
    pub(crate) fn handled(&mut self, number: u32) {
        self.went.remove(&number);
        self.came.remove(&number);
    }
}

impl Run {
    /// Somebody makes a backup now and then.
    pub(crate) fn copy_stored(&mut self) {
        if !self.stored.copies.are_kept || self.folder.root != RootState::Ready {
            return;
        }
        let body = |path: &MirrorPath, kind: EntryKind| match kind {
            EntryKind::Folder => Some(None),
            _ => bodies_at(&self.folder, &self.stored.bodies, path).map(Some),
        };
        let things = self.folder.stored().filter(|(path, _)| !is_copy_beside(path));
        let things = things.filter_map(|(path, thing)| Some((path.clone(), body(path, thing.kind)?)));
        let copy = Copy { things: things.collect(), runs: self.stored.copies.noted };
        let kept = &mut self.stored.copies.kept;
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push(copy);
    }

    /// espejo stops, and an older copy is put in the folder's place.
    pub(crate) fn put_old_folder_back(&mut self, number: u32) {
        let count = u32::try_from(self.stored.copies.kept.len()).unwrap_or(0);
        if count == 0 || self.folder.root != RootState::Ready {
            return;
        }
        let Some(copy) = self.stored.copies.kept.get((number % count) as usize).cloned() else { return };
        self.die();
        let is_known = copy.runs < self.stored.copies.runs;
        let now: BTreeMap<MirrorPath, Option<u32>> = self
            .folder
            .stored()
            .filter(|(path, _)| !is_copy_beside(path))
            .map(|(path, thing)| (path.clone(), self.stored.bodies.known(&thing.bytes)))
            .collect();
        let mut went = BTreeSet::new();
        let mut replaced = BTreeMap::new();
        let mut came = BTreeSet::new();
        for (path, body) in now.iter().rev() {
            let same = copy.things.get(path).is_some_and(|old| old.is_none() || old == body);
            if same {
                continue;
            }
            let gone = if self.folder.is_folder(path) {
                self.folder.children(path).is_empty() && self.folder.remove_tree(path)
            } else {
                self.folder.unlink(path)
            };
            went.extend(body.filter(|_| gone));
            let other = copy.things.get(path).copied().flatten();
            replaced.extend(body.filter(|_| gone).zip(other));
        }
        for (path, body) in &copy.things {
            match body {
                None => drop(self.folder.make_folder(path)),
                Some(body) if !self.folder.things.contains_key(path) => {
                    let (bytes, size) = (self.stored.bodies.bytes(*body), self.stored.bodies.size(*body));
                    self.folder.put(path, &bytes, size);
                    // A program that copies files makes no name that cannot be read.
                    if self.folder.things.contains_key(path) {
                        came.insert(*body);
                    }
                }
                Some(_) => {}
            }
        }
        self.note(format_args!("@ an older copy of the storage folder is put back: {came:?} for {went:?}"));
        for number in &came {
            self.stored.checks.placed(*number, true, self.now_ms);
        }
        for number in &went {
            let by = replaced.get(number).copied();
            self.stored.checks.taken(*number, came.contains(number), by, self.now_ms);
            // What never left the folder went with it.
            if !self.at_service(*number) && !came.contains(number) {
                self.stored.bodies.forget(*number);
            }
        }
        if is_known {
            self.stored.copies.noted = copy.runs;
            self.stored.copies.went.extend(went.difference(&came));
            self.stored.copies.came.extend(came.difference(&went));
        }
        // What comes back may be there under another name, and so may what was uploaded under its new name and is not
        // trashed under the old one yet, or was renamed here and is not uploaded yet.
        let world = &self.service.world;
        let folder_of = |file: &FileRecord| {
            let mut all = world.storage_folders();
            all.find(|folder| Some(&folder.id) == file.folder.as_ref()).map(|folder| folder.name.clone())
        };
        let name_of = |file: &FileRecord| (folder_of(file), file.filename.clone());
        let mut shown: Vec<_> = world
            .storage_files()
            .filter(|file| world.storage_shows(&file.id))
            .filter_map(|file| Some((self.stored.bodies.known(&file.bytes())?, name_of(file))))
            .collect();
        shown.sort_unstable();
        let twice = shown.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0);
        let is_renamed = |(path, body): (&MirrorPath, &Option<u32>)| {
            let folder = path.parent().filter(|folder| *folder != root());
            let here = (folder.map(|folder| folder.name().to_owned()), path.name().to_owned());
            body.filter(|body| {
                let mut names = shown.iter().filter(|(number, _)| number == body).map(|(_, name)| name);
                names.next().is_some_and(|name| *name != here)
            })
        };
        let renamed = copy.things.iter().filter_map(is_renamed);
        let twice: Vec<u32> = came.into_iter().chain(twice).chain(renamed).collect();
        twice.into_iter().for_each(|number| self.stored.bodies.copy(number));
        self.stored.changed = true;
    }
}
