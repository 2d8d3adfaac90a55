//! People and their stored files: one at the folder, one in the app. A plan is made from what can be seen at its beginning,
//! and carried out deed by deed.

use std::collections::BTreeSet;

use espejo::emulator::{Contents, World};
use espejo::model::{EntryKind, FileId, FolderId, MirrorPath};

use super::{AppStored, Stored};
use crate::checks::Failure;
use crate::folder::Folder;
use crate::news::News;
use crate::run::Run;
use crate::service::Service;
use crate::stored::bodies::{Bodies, EMPTY};
use crate::users::{Deed, Plan};

/// One thing that happens at once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StoredDeed {
    /// In place; bodies by their numbers.
    Write(MirrorPath, u32),
    /// Another file renamed over it.
    Replace(MirrorPath, u32),
    Rename(MirrorPath, MirrorPath),
    Unlink(MirrorPath),
    RemoveTree(MirrorPath),
    MakeFolder(MirrorPath),

    Put(Option<FolderId>, String, u32),
    ReplaceContent(FileId, u32),
    NameFile(FileId, String),
    MoveFile(FileId, Option<FolderId>),
    TrashFile(FileId, bool),
    NewFolder(Option<FolderId>, String),
    NameFolder(FolderId, String),
    MoveFolder(FolderId, Option<FolderId>),
    TrashFolder(FolderId, bool),
    Room(Option<u64>),
}

impl StoredDeed {
    /// Whether it is done to the folder, and not in the app.
    pub(crate) fn is_on_disk(&self) -> bool {
        matches!(
            self,
            Self::Write(..)
                | Self::Replace(..)
                | Self::Rename(..)
                | Self::Unlink(_)
                | Self::RemoveTree(_)
                | Self::MakeFolder(_)
        )
    }

    /// The body that the person holds in hand until this happens.
    pub(crate) fn held(&self) -> Option<u32> {
        match self {
            Self::Write(_, number) | Self::Replace(_, number) => Some(*number),
            _ => None,
        }
    }
}

/// The storage folder.
pub(crate) fn root() -> MirrorPath {
    MirrorPath::new("Storage").unwrap()
}

/// Whether espejo put it there beside another.
pub(crate) fn is_copy_beside(path: &MirrorPath) -> bool {
    path.name().contains(".conflict-")
}

/// Files in the storage folder, espejo's conflict copies aside.
pub(crate) fn files(folder: &Folder) -> Vec<MirrorPath> {
    folder
        .stored()
        .filter(|(path, thing)| thing.kind == EntryKind::File && !is_copy_beside(path))
        .map(|(path, _)| path.clone())
        .collect()
}

/// Folders in the storage folder, and itself.
fn folders(folder: &Folder) -> Vec<MirrorPath> {
    folder
        .stored()
        .filter(|(_, thing)| thing.kind == EntryKind::Folder)
        .map(|(path, _)| path.clone())
        .collect()
}

fn nth<T: Clone>(items: &[T], number: u32) -> Option<T> {
    let count = u32::try_from(items.len()).ok().filter(|count| *count > 0)?;
    items.get(usize::try_from(number % count).ok()?).cloned()
}

/// A name of a file; some are taken already.
pub(crate) fn file_name(number: u32) -> String {
    let stem = ["Budget", "scan", "notas", "photo", "Übersicht"][usize::try_from(number % 5).unwrap_or(0)];
    let ending = ["xlsx", "pdf", "txt", "jpg", "odt"][usize::try_from(number / 5 % 5).unwrap_or(0)];
    match number / 25 % 3 {
        0 => format!("{stem}.{ending}"),
        _ => format!("{stem} {}.{ending}", number / 75),
    }
}

pub(crate) fn folder_name(number: u32) -> String {
    format!("{} {}", ["Facturas", "Fotos", "Old"][usize::try_from(number % 3).unwrap_or(0)], number / 3 % 40)
}

fn single(deed: StoredDeed) -> Plan {
    vec![(0, Deed::Stored(deed))]
}

/// What a person does in the folder; `None` where there is no place for it.
pub(crate) fn on_disk(
    verb: Stored,
    (a, b): (u32, u32),
    folder: &Folder,
    bodies: &mut Bodies,
) -> Option<Plan> {
    let (files, folders) = (files(folder), folders(folder));
    let file = || nth(&files, a);
    let place = |number: u32| nth(&folders, number);
    let inner = || nth(&folders.iter().filter(|path| **path != root()).cloned().collect::<Vec<_>>(), a);
    let free = |path: MirrorPath| (!folder.things.contains_key(&path)).then_some(path);
    let new = |number: u32| place(a)?.join(&file_name(number)).ok().and_then(free);
    let number_at = |path: &MirrorPath| bodies_at(folder, bodies, path);
    let deed = |pause: i64, deed: StoredDeed| (pause, Deed::Stored(deed));
    let pause = [20, 400, 1_500, 4_000, 9_000][usize::try_from(b % 5).unwrap_or(0)];
    Some(match verb {
        Stored::NewFile => single(StoredDeed::Write(new(b)?, bodies.make(b))),
        Stored::Overwrite => single(StoredDeed::Write(file()?, bodies.make(b))),
        Stored::Replace => single(StoredDeed::Replace(file()?, bodies.make(b))),
        Stored::Truncate => {
            let path = file()?;
            let number = bodies.make(b);
            vec![
                deed(0, StoredDeed::Write(path.clone(), EMPTY)),
                deed(pause, StoredDeed::Write(path, number)),
            ]
        }
        Stored::Resave => {
            let path = file()?;
            let number = number_at(&path)?;
            single(if b % 2 == 0 {
                StoredDeed::Write(path, number)
            } else {
                StoredDeed::Replace(path, number)
            })
        }
        Stored::Copy => {
            let number = number_at(&file()?)?;
            bodies.copy(number);
            single(StoredDeed::Write(place(b)?.join(&file_name(b)).ok().and_then(free)?, number))
        }
        Stored::Rename => {
            let path = file()?;
            let to = path.parent()?.join(&file_name(b)).ok().and_then(free)?;
            single(StoredDeed::Rename(path, to))
        }
        Stored::MoveFile => {
            let path = file()?;
            let to = place(b)?.join(path.name()).ok().and_then(free)?;
            single(StoredDeed::Rename(path, to))
        }
        Stored::RenameFolder => {
            let path = inner()?;
            let to = path.parent()?.join(&folder_name(b)).ok().and_then(free)?;
            single(StoredDeed::Rename(path, to))
        }
        Stored::NewFolder => {
            let path = place(a)?.join(&folder_name(b)).ok().and_then(free)?;
            let file = path.join(&file_name(b)).ok()?;
            vec![deed(0, StoredDeed::MakeFolder(path)), deed(200, StoredDeed::Write(file, bodies.make(b)))]
        }
        Stored::Delete => single(StoredDeed::Unlink(file()?)),
        Stored::DeleteAndReturn => {
            let path = file()?;
            let number = number_at(&path)?;
            vec![
                deed(0, StoredDeed::Unlink(path.clone())),
                deed(pause.min(1_500), StoredDeed::Write(path, number)),
            ]
        }
        Stored::DeleteFolder => single(StoredDeed::RemoveTree(inner()?)),
        Stored::DeleteMany => {
            let few = usize::try_from(1 + b % 4).unwrap_or(1);
            let gone = files.iter().skip(usize::try_from(a % 3).unwrap_or(0)).enumerate();
            let pause = 3_000 * i64::from(1 + b / 4 % 6);
            gone.map(|(at, path)| {
                let waits = if at > 0 && at % few == 0 { pause } else { 0 };
                deed(waits, StoredDeed::Unlink(path.clone()))
            })
            .collect()
        }
        Stored::WriteTwice => {
            let path = file()?;
            let (first, second) = (bodies.make(b), bodies.make(b));
            vec![
                deed(0, StoredDeed::Write(path.clone(), first)),
                deed(pause, StoredDeed::Replace(path, second)),
            ]
        }
        Stored::Huge => single(StoredDeed::Write(new(b).or_else(file)?, bodies.make_huge())),
        Stored::RefusedType => {
            let name = ["page.html", "setup.exe", "run.sh"][usize::try_from(b % 3).unwrap_or(0)];
            single(StoredDeed::Write(place(a)?.join(name).ok()?, bodies.make(b)))
        }
        Stored::Empty => single(StoredDeed::Write(new(b).or_else(file)?, EMPTY)),
        Stored::Arriving => {
            let path = new(b)?;
            let half = path.parent()?.join(&format!("{}.part", path.name())).ok()?;
            let number = bodies.make(b);
            vec![
                deed(0, StoredDeed::Write(half.clone(), number)),
                deed(pause, StoredDeed::Rename(half, path)),
            ]
        }
    })
}

/// Which body a file holds.
pub(crate) fn bodies_at(folder: &Folder, bodies: &Bodies, path: &MirrorPath) -> Option<u32> {
    bodies.known(&folder.file(path)?.bytes)
}

/// What a person does in the app; `None` where there is no place for it.
pub(crate) fn in_app(
    verb: AppStored,
    (a, b): (u32, u32),
    service: &Service,
    bodies: &mut Bodies,
) -> Option<Plan> {
    let world = &service.world;
    let shown: Vec<FileId> = {
        let mut files: Vec<_> = world.storage_files().filter(|file| world.storage_shows(&file.id)).collect();
        files.sort_by_key(|file| service.stored_order(file.id.as_str()));
        files.into_iter().map(|file| file.id.clone()).collect()
    };
    let folders = |trashed: bool| -> Vec<FolderId> {
        let mut folders: Vec<_> =
            world.storage_folders().filter(|folder| folder.trashed == trashed).collect();
        folders.sort_by_key(|folder| service.stored_order(folder.id.as_str()));
        folders.into_iter().map(|folder| folder.id.clone()).collect()
    };
    let file = || nth(&shown, a);
    // The root as often as a folder.
    let place = |number: u32| if number.is_multiple_of(2) { None } else { nth(&folders(false), number / 2) };
    Some(single(match verb {
        AppStored::Put => StoredDeed::Put(place(a), file_name(b), bodies.make(b)),
        AppStored::ReplaceContent => StoredDeed::ReplaceContent(file()?, bodies.make(b)),
        AppStored::Rename => StoredDeed::NameFile(file()?, file_name(b)),
        AppStored::Move => StoredDeed::MoveFile(file()?, place(b)),
        AppStored::Trash => StoredDeed::TrashFile(file()?, true),
        AppStored::Restore => {
            let mut gone: Vec<_> = world.storage_files().filter(|file| file.trashed).collect();
            gone.sort_by_key(|file| service.stored_order(file.id.as_str()));
            StoredDeed::TrashFile(nth(&gone, a)?.id.clone(), false)
        }
        AppStored::Huge => StoredDeed::Put(place(a), file_name(b), bodies.make_huge()),
        AppStored::Empty => StoredDeed::Put(place(a), file_name(b), EMPTY),
        AppStored::SameName => {
            let record = world.storage_file(&file()?)?;
            StoredDeed::Put(record.folder.clone(), record.filename.clone(), bodies.make(b))
        }
        AppStored::NewFolder => StoredDeed::NewFolder(place(a), folder_name(b)),
        AppStored::RenameFolder => StoredDeed::NameFolder(nth(&folders(false), a)?, folder_name(b)),
        AppStored::MoveFolder => StoredDeed::MoveFolder(nth(&folders(false), a)?, place(b)),
        AppStored::TrashFolder => StoredDeed::TrashFolder(nth(&folders(false), a)?, true),
        AppStored::RestoreFolder => StoredDeed::TrashFolder(nth(&folders(true), a)?, false),
        AppStored::PlanFull => {
            let used = world.storage_files().map(|file| file.size()).sum::<u64>();
            return Some(vec![
                (0, Deed::Stored(StoredDeed::Room(Some(used)))),
                (i64::from(1_000 * (1 + b)), Deed::Stored(StoredDeed::Room(None))),
            ]);
        }
    }))
}

/// What the service keeps of a body: a huge one is told to be large.
pub(crate) fn contents(bodies: &Bodies, number: u32) -> (Contents, Option<u64>) {
    let bytes = bodies.bytes(number);
    let told = (bytes.len() as u64 != bodies.size(number)).then(|| bodies.size(number));
    (Contents::Bytes(bytes), told)
}

impl Run {
    /// A person does one thing with stored files.
    pub(crate) fn carry_out_stored(&mut self, deed: StoredDeed) -> Result<(), Failure> {
        self.stored.changed = true;
        let line = if deed.is_on_disk() { self.stored_on_disk(deed) } else { self.stored_in_app(deed) };
        self.note(format_args!("{line}"));
        self.spread_hints();
        Ok(())
    }

    fn stored_on_disk(&mut self, deed: StoredDeed) -> String {
        let (touched, held) = match &deed {
            StoredDeed::Rename(from, to) => (vec![from.clone(), to.clone()], None),
            StoredDeed::Write(path, number) | StoredDeed::Replace(path, number) => {
                (vec![path.clone()], Some(*number))
            }
            StoredDeed::Unlink(path) | StoredDeed::RemoveTree(path) | StoredDeed::MakeFolder(path) => {
                (vec![path.clone()], None)
            }
            _ => (Vec::new(), None),
        };
        let at_paths = |run: &Self| -> Vec<u32> {
            let within = touched.iter().flat_map(|path| run.folder.within(path));
            within.filter_map(|path| bodies_at(&run.folder, &run.stored.bodies, &path)).collect()
        };
        let taken = at_paths(self);
        if let Some(number) = held.filter(|number| !taken.contains(number) && self.is_in_folder(*number)) {
            // What comes back to its place while it is elsewhere is there twice.
            self.stored.bodies.copy(number);
        }
        let line = format!("@ {deed:?}");
        let done = match deed {
            // Whoever works in a folder that is gone from under him does not make the whole way anew.
            StoredDeed::Write(path, _) | StoredDeed::Replace(path, _) if !self.folder.has_parent(&path) => {
                false
            }
            StoredDeed::Write(path, number) => {
                let (bytes, size) = (self.stored.bodies.bytes(number), self.stored.bodies.size(number));
                self.folder.write(&path, &bytes) && self.folder.resize(&path, size)
            }
            StoredDeed::Replace(path, number) => {
                let (bytes, size) = (self.stored.bodies.bytes(number), self.stored.bodies.size(number));
                self.folder.replace(&path, &bytes) && self.folder.resize(&path, size)
            }
            StoredDeed::Rename(from, to) => {
                self.folder.has_parent(&to)
                    && !self.folder.things.contains_key(&to)
                    && self.folder.rename(&from, &to)
            }
            StoredDeed::Unlink(path) => self.folder.unlink(&path),
            StoredDeed::RemoveTree(path) => self.folder.remove_tree(&path),
            StoredDeed::MakeFolder(path) => self.folder.has_parent(&path) && self.folder.make_folder(&path),
            _ => false,
        };
        if !done {
            // What a person could not write anywhere is their own loss.
            if let Some(number) = held.filter(|number| !self.is_left(*number)) {
                self.stored.bodies.forget(number);
            }
            return format!("{line}: refused");
        }
        let placed = at_paths(self);
        for number in taken {
            self.stored.copies.handled(number);
            if self.other.as_deref().is_some_and(|other| other.stored.checks.was_taken(number)) {
                // Two machines give one file two names: it is kept under both.
                self.stored.bodies.copy(number);
            }
            self.stored.checks.taken(number, placed.contains(&number), held, self.now_ms);
            if let Some(path) = touched.first() {
                self.stored.checks.left.entry(path.clone()).or_default().insert(number);
            }
            if !self.is_left(number) {
                self.stored.bodies.forget(number);
            }
        }
        for number in placed {
            self.stored.copies.handled(number);
            self.stored.bodies.put(number);
            self.stored.checks.placed(number, held.is_some(), self.now_ms);
        }
        line
    }

    /// Whether a body is in some file here, or in a person's hand.
    fn is_left(&self, number: u32) -> bool {
        self.stored_in_hand().any(|held| held == number) || self.is_in_folder(number)
    }

    fn is_in_folder(&self, number: u32) -> bool {
        self.folder.stored().any(|(_, thing)| self.stored.bodies.known(&thing.bytes) == Some(number))
    }

    /// Bodies that people hold in hand.
    pub(crate) fn stored_in_hand(&self) -> impl Iterator<Item = u32> {
        self.deeds_to_come().filter_map(|deed| match deed {
            Deed::Stored(deed) => deed.held(),
            _ => None,
        })
    }

    fn stored_in_app(&mut self, deed: StoredDeed) -> String {
        let line = format!("# {deed:?}");
        let world = &mut self.service.world;
        let bodies = &mut self.stored.bodies;
        let is_active = |world: &espejo::emulator::World, folder: &Option<FolderId>| {
            folder.as_ref().is_none_or(|id| world.storage_folders().any(|it| it.id == *id && !it.trashed))
        };
        match deed {
            StoredDeed::Put(folder, name, number) => {
                let folder = folder.filter(|id| is_active(world, &Some(id.clone())));
                let (contents, told) = contents(bodies, number);
                let id = world.app_put_file(folder.as_ref(), &name, contents);
                world.app_change_file(&id, |file| file.told_size = told);
                bodies.put(number);
                self.service.note_stored(id.as_str());
            }
            StoredDeed::ReplaceContent(id, number) => {
                let old = world.storage_file(&id).and_then(|file| bodies.known(&file.bytes()));
                let (contents, told) = contents(bodies, number);
                if !world.app_replace_file(&id, contents) {
                    return format!("{line}: refused");
                }
                world.app_change_file(&id, |file| file.told_size = told);
                bodies.put(number);
                self.stored.checks.worked_on.insert(id.clone());
                self.tell_other(News::StoredChanged(id));
                match old {
                    // It is there under the old name too, which is about to go.
                    Some(old) if self.at_service(old) => self.stored.bodies.copy(old),
                    Some(old) if !self.is_left(old) => self.stored.bodies.forget(old),
                    _ => {}
                }
            }
            StoredDeed::NameFile(id, name) => {
                world.app_change_file(&id, |file| file.filename = name);
                self.stored.checks.worked_on.insert(id.clone());
                self.tell_other(News::StoredChanged(id));
            }
            StoredDeed::MoveFile(id, folder) if is_active(world, &folder) => {
                world.app_change_file(&id, |file| file.folder = folder);
                self.stored.checks.worked_on.insert(id.clone());
                self.tell_other(News::StoredChanged(id));
            }
            StoredDeed::TrashFile(id, trashed) => {
                world.app_change_file(&id, |file| file.trashed = trashed);
                self.stored.checks.trashed_in_app.insert(id.clone());
                self.tell_other(News::StoredTrashed(id));
            }
            StoredDeed::NewFolder(parent, name) => {
                let parent = parent.filter(|id| is_active(world, &Some(id.clone())));
                let id = world.app_make_folder(parent.as_ref(), &name);
                self.service.note_stored(id.as_str());
            }
            StoredDeed::NameFolder(id, name) => {
                world.app_change_folder(&id, |folder| folder.name = name);
                self.stored.checks.folders_changed = true;
                self.tell_other(News::FoldersChanged);
            }
            StoredDeed::MoveFolder(id, to) => {
                if to.as_ref().is_some_and(|to| is_beneath(world, to, &id)) || !is_active(world, &to) {
                    return format!("{line}: refused");
                }
                world.app_change_folder(&id, |folder| folder.parent = to);
                self.stored.checks.folders_changed = true;
                self.tell_other(News::FoldersChanged);
            }
            StoredDeed::TrashFolder(id, trashed) => {
                let shown = |world: &World| -> BTreeSet<FileId> {
                    let files = world.storage_files().filter(|file| world.storage_shows(&file.id));
                    files.map(|file| file.id.clone()).collect()
                };
                let before = shown(world);
                world.app_change_folder(&id, |folder| folder.trashed = trashed);
                let gone = before.difference(&shown(world)).cloned().collect::<Vec<_>>();
                self.stored.checks.trashed_in_app.extend(gone);
            }
            StoredDeed::Room(room) => world.set_storage_room(room),
            _ => return format!("{line}: refused"),
        }
        self.note_gone_and_back();
        line
    }

    /// Whether a body is at the service, in the trash or not.
    pub(crate) fn at_service(&self, number: u32) -> bool {
        self.files_with(number).next().is_some()
    }
}

/// Whether a folder is `above` or beneath it.
fn is_beneath(world: &espejo::emulator::World, folder: &FolderId, above: &FolderId) -> bool {
    let mut at = Some(folder.clone());
    for _ in 0..50 {
        match at {
            Some(id) if id == *above => return true,
            Some(id) => {
                at = world.storage_folders().find(|it| it.id == id).and_then(|it| it.parent.clone());
            }
            None => return false,
        }
    }
    true
}
