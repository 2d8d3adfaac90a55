//! Whether both sides hold the same stored files: each file of the service has its file with its bytes in its folder, and
//! where both ways are wanted the reverse, but for what the API cannot do, which must be told.

use std::collections::{BTreeMap, BTreeSet};

use espejo::emulator::FileRecord;
use espejo::model::{Attention, EntryKind, FolderId, MirrorPath};

use super::people::{is_copy_beside, root};
use crate::checks::{Failure, broken};
use crate::owner::is_odd;
use crate::run::Run;

impl Run {
    /// Whether folder and service agree. `told`: what status tells.
    pub(crate) fn stored_agree(&self, told: &[Attention]) -> Result<(), Failure> {
        if self.scene.stored == 0 {
            return Ok(());
        }
        let bodies = &self.stored.bodies;
        let places = self.places();
        let is_file = |kind: EntryKind| kind == EntryKind::File;
        let mut files: Vec<(&MirrorPath, Option<u32>)> = self
            .folder
            .stored()
            .filter(|(path, thing)| is_file(thing.kind) && !is_copy_beside(path))
            .map(|(path, thing)| (path, bodies.known(&thing.bytes)))
            .collect();
        let world = &self.service.world;
        let shown: Vec<&FileRecord> =
            world.storage_files().filter(|file| world.storage_shows(&file.id)).collect();
        let mut left = Vec::new();
        // Those that bear their name itself, before those that bear it with a number.
        for exact in [true, false] {
            let records = if exact { shown.clone() } else { std::mem::take(&mut left) };
            for record in records {
                let number = bodies.known(&record.bytes());
                let places = places.get(&record.folder).map_or(&[][..], Vec::as_slice);
                let fits = |(path, body): &(&MirrorPath, Option<u32>)| {
                    let named = path.name() == record.filename
                        || !exact && is_numbered(path.name(), &record.filename);
                    *body == number && named && path.parent().is_some_and(|up| places.contains(&up))
                };
                match files.iter().position(fits) {
                    Some(at) => drop(files.remove(at)),
                    None if exact => left.push(record),
                    None if self.is_told_elsewhere((record, number), &files, told) => {}
                    None => {
                        let what = format!(
                            "{:?} ({}, {number:?}) has no file in {places:?}",
                            record.filename, record.id
                        );
                        return broken("agreement", what);
                    }
                }
            }
        }
        for (path, number) in files {
            let (checks, is_backup) = (&self.stored.checks, self.scene.stored_mode == 0);
            let is_ours = number.is_some_and(|number| {
                checks.is_a_persons(number) || is_backup && checks.came_back.contains(&number)
            });
            let is_arriving = [".part", ".crdownload"].iter().any(|ending| path.name().ends_with(ending));
            let is_told = is_backup || is_arriving || told.iter().any(|item| item.path == path.as_str());
            // An older copy of the folder may hold a name that could not be read then. It is told, and stays.
            if (!is_ours || !is_told) && !is_odd(path) {
                return broken("agreement", format!("{path} ({number:?}) is not at the service"));
            }
        }
        Ok(())
    }

    /// Whether a person moved a file to where it cannot be sent from, or put something over it that cannot be sent, which
    /// is told, and the service keeps it as it was.
    fn is_told_elsewhere(
        &self,
        (record, number): (&FileRecord, Option<u32>),
        files: &[(&MirrorPath, Option<u32>)],
        told: &[Attention],
    ) -> bool {
        let checks = &self.stored.checks;
        let Some(number) = number.filter(|number| checks.taken.contains_key(number)) else { return false };
        let is_it = |(path, body): &(&MirrorPath, Option<u32>)| {
            let mut told = told.iter().filter(|item| item.path == path.as_str());
            told.any(|item| {
                let is_named_so =
                    path.name() == record.filename || is_numbered(path.name(), &record.filename);
                body.is_some_and(|body| body == number || checks.is_newer(body, number))
                    || checks.left.get(*path).is_some_and(|left| left.contains(&number))
                    || is_named_so
                    || item.reason.contains(&record.filename)
            })
        };
        self.scene.stored_mode == 1 && files.iter().any(is_it)
    }

    /// Whether a body stands twice on one side that nobody copied. Returns how many do as no evidence was left.
    pub(crate) fn no_body_doubled(&self) -> Result<usize, Failure> {
        let bodies = &self.stored.bodies;
        let mut in_doubt = BTreeSet::new();
        let mut seen = BTreeMap::new();
        for (path, thing) in self.folder.stored().filter(|(path, _)| !is_copy_beside(path)) {
            if let Some(number) =
                bodies.known(&thing.bytes).filter(|_| thing.kind == EntryKind::File)
                // A backup fetches what was moved away, and leaves what was moved alone.
                && !(self.scene.stored_mode == 0 && self.stored.checks.was_taken(number))
                && let Some(other) = seen.insert(number, path)
            {
                in_doubt.insert(number);
                if !bodies.may_be_twice(number) {
                    return broken("doubled", format!("s{number} is in {other} and in {path}"));
                }
            }
        }
        let mut seen = BTreeMap::new();
        let world = &self.service.world;
        for file in world.storage_files().filter(|file| world.storage_shows(&file.id)) {
            if let Some(number) = bodies.known(&file.bytes())
                && let Some(other) = seen.insert(number, &file.id)
            {
                in_doubt.insert(number);
                if !bodies.may_be_twice(number) {
                    return broken("doubled", format!("s{number} is {other} and {}", file.id));
                }
            }
        }
        Ok(in_doubt.into_iter().filter(|number| bodies.is_doubted(*number)).count())
    }

    /// Where each folder of the service may be here: its name may bear a number.
    pub(super) fn places(&self) -> BTreeMap<Option<FolderId>, Vec<MirrorPath>> {
        let mut places: BTreeMap<Option<FolderId>, Vec<MirrorPath>> = BTreeMap::from([(None, vec![root()])]);
        let mut left = vec![None];
        while let Some(parent) = left.pop() {
            let above = places.get(&parent).cloned().unwrap_or_default();
            let inner = self.service.world.storage_folders();
            for folder in inner.filter(|folder| folder.parent == parent && !folder.trashed) {
                let here = self.folder.stored().filter(|(path, thing)| {
                    thing.kind == EntryKind::Folder
                        && path.parent().is_some_and(|up| above.contains(&up))
                        && (path.name() == folder.name || is_numbered(path.name(), &folder.name))
                });
                places.insert(Some(folder.id.clone()), here.map(|(path, _)| path.clone()).collect());
                left.push(Some(folder.id.clone()));
            }
        }
        places
    }
}

/// Whether `name` is `whole` with a number before its ending.
fn is_numbered(name: &str, whole: &str) -> bool {
    let (stem, ending) =
        whole.rsplit_once('.').map_or((whole, String::new()), |(stem, ending)| (stem, format!(".{ending}")));
    name.strip_prefix(stem)
        .and_then(|rest| rest.strip_suffix(ending.as_str()))
        .and_then(|rest| rest.strip_prefix(" (")?.strip_suffix(')'))
        .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}
