//! Stored files and folders in a run, in both modes: what people and bad luck do to them, how storage's effects are carried
//! out, and what is promised of them.

pub(crate) mod agreement;
pub(crate) mod bodies;
pub(crate) mod checks;
pub(crate) mod disk;
pub(crate) mod draw;
pub(crate) mod fetch;
mod old;
pub(crate) mod people;
mod regressions;
mod verbs;

use espejo::emulator::World;
use espejo::model::{ContentHash, FolderId, StorageEffect, StorageMode};

use crate::checks::Failure;
use crate::luck::Luck;
use crate::run::Run;
use crate::script::Scene;
use crate::service::Service;
use bodies::Bodies;
use checks::StoredChecks;
use fetch::BadDownload;
use old::Copies;
pub(crate) use verbs::{AppStored, Stored, StoredFault};

/// What a run knows of stored files.
#[derive(Debug, Default)]
pub(crate) struct StoredWorld {
    pub(crate) bodies: Bodies,
    pub(crate) checks: StoredChecks,
    pub(crate) copies: Copies,
    /// Bodies are to be counted again.
    pub(crate) changed: bool,
}

/// What strikes requests about storage alone, beyond what strikes any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoredStrike {
    EmptyListing,
    ShortListing,
    TooLarge,
    LinkForbidden,
}

impl StoredWorld {
    /// The files of a scene, put there in the app.
    pub(crate) fn new(scene: &Scene, service: &mut Service) -> Self {
        let mut stored = Self::default();
        let mut luck = Luck::new(scene.seed, 22);
        let small = |luck: &mut Luck| u32::try_from(luck.below(1_000)).unwrap_or(0);
        let mut folders: Vec<FolderId> = Vec::new();
        for _ in 0..scene.stored {
            let place = |folders: &[FolderId], luck: &mut Luck| {
                if folders.is_empty() || luck.chance(50) { None } else { Some(luck.pick(folders).clone()) }
            };
            if luck.chance(30) {
                let parent = place(&folders, &mut luck);
                let name = people::folder_name(small(&mut luck));
                let id = service.world.app_make_folder(parent.as_ref(), &name);
                service.note_stored(id.as_str());
                folders.push(id);
            }
            let folder = place(&folders, &mut luck);
            let name = people::file_name(small(&mut luck));
            let number =
                if luck.chance(5) { stored.bodies.make_huge() } else { stored.bodies.make(small(&mut luck)) };
            put(&mut service.world, &stored.bodies, folder.as_ref(), &name, number);
            stored.bodies.put(number);
        }
        let ids: Vec<String> = service.world.storage_files().map(|file| file.id.to_string()).collect();
        ids.iter().for_each(|id| service.note_stored(id));
        stored
    }
}

fn put(world: &mut World, bodies: &Bodies, folder: Option<&FolderId>, name: &str, number: u32) {
    let (contents, told) = people::contents(bodies, number);
    let id = world.app_put_file(folder, name, contents);
    world.app_change_file(&id, |file| file.told_size = told);
}

/// Which way files go in a scene.
pub(crate) fn mode(scene: &Scene) -> StorageMode {
    match (scene.stored, scene.stored_mode) {
        (0, _) => StorageMode::Off,
        (_, 0) => StorageMode::Backup,
        _ => StorageMode::TwoWay,
    }
}

impl Run {
    /// Bad luck that only stored files have.
    pub(crate) fn strike_stored(&mut self, fault: StoredFault, (a, b): (u32, u32)) -> Result<(), Failure> {
        let few = 1 + b % 4;
        let strike = match fault {
            StoredFault::EmptyListing => StoredStrike::EmptyListing,
            StoredFault::ShortListing => StoredStrike::ShortListing,
            StoredFault::TooLarge => StoredStrike::TooLarge,
            StoredFault::LinkForbidden => StoredStrike::LinkForbidden,
            StoredFault::OldFolder => {
                self.put_old_folder_back(a);
                return Ok(());
            }
            StoredFault::BadDownload => {
                self.service.bad_downloads.extend(BadDownload::some(a, few));
                return Ok(());
            }
        };
        self.service.stored_strikes.extend((0..few).map(|_| strike));
        Ok(())
    }
}

/// What tells one request from another.
pub(crate) fn key_of(effect: &StorageEffect) -> String {
    match effect {
        StorageEffect::List(folder) => format!("the files in {folder:?}"),
        StorageEffect::AskLink(id) => format!("GET stored {id}"),
        StorageEffect::Upload { folder, filename, bytes, .. } => {
            // Another file of the same name is another request.
            format!("POST {filename:?} ({}) to {folder:?}", ContentHash::of(bytes).to_hex())
        }
        StorageEffect::Trash(id) => format!("DELETE stored {id}"),
        other => other.name().to_owned(),
    }
}
