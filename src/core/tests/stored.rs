//! Stored files, one step after the other: the folder of them, links, folders that the app renames, and files that change while
//! they are read.

use std::collections::BTreeMap;

use super::world::{World, path};
use crate::core::content::listed::Listed;
use crate::core::items::{Bytes, Local};
use crate::core::keys::{ItemKey, Seq};
use crate::core::observe::{list, scan, storage};
use crate::core::plan::policy::Kind;
use crate::core::state::Area;
use crate::core::wants::Want;
use crate::core::{request, schedule};
use crate::model::{
    ContentHash, DiskError, DiskReply, Effect, FileRead, Link, MirrorPath, StorageEffect, StorageMode,
    StoredReply, Timestamp, WorkspaceId,
};

/// A world with a folder of stored files, which hold this.
fn world(files: &[&str]) -> World {
    let mut world = World::new(&[]);
    world.settings.storage.mode = StorageMode::TwoWay;
    files.iter().for_each(|name| world.write(name, "bytes of a stored file, so many that they tell"));
    let area = Area { kind: Kind::File, is_live: true, is_open: true, ..Area::default() };
    world.core(|core| request::set_areas(core, BTreeMap::from([(WorkspaceId::of_storage(), area)])));
    look(&mut world);
    world
}

fn look(world: &mut World) {
    let (scan, now) = (world.scan(), Timestamp(world.now));
    world.core(|core| {
        let sent = core.next_seq();
        scan::apply(core, &scan, sent, now).unwrap();
    });
}

fn folder(id: &str, name: &str) -> Listed {
    Listed::new(Kind::Folder, id, name.to_owned())
}

fn file(id: &str, name: &str, attachment: &str) -> Listed {
    let bytes = Some(Bytes { attachment: attachment.to_owned(), size: 46 });
    Listed { bytes, ..Listed::new(Kind::File, id, name.to_owned()) }
}

/// The list of the root shows this.
fn list(world: &mut World, entries: &[Listed]) {
    let (entries, now) = (entries.to_vec(), Timestamp(world.now));
    world.core(|core| {
        let sent = core.next_seq();
        list::apply(core, &WorkspaceId::of_storage(), entries, &[], (sent, now));
    });
}

/// The list of a folder shows this.
fn list_inner(world: &mut World, id: &str, entries: &[Listed]) {
    let (key, entries, now) = (key(world, Kind::Folder, id), entries.to_vec(), Timestamp(world.now));
    world.core(|core| {
        let sent = core.next_seq();
        storage::apply_folder(core, key, entries, &[], (sent, now));
    });
}

fn key(world: &World, kind: Kind, id: &str) -> ItemKey {
    world.state.items.of_id(kind, None, id).unwrap().key
}

fn place(world: &World, key: ItemKey) -> Option<MirrorPath> {
    world.state.items.get(key).and_then(|item| item.file()).map(|fact| fact.path.clone())
}

/// The next act on disk.
fn next(world: &mut World) -> Option<(Seq, Effect)> {
    world.core(schedule::next_disk).unwrap()
}

fn done(world: &mut World, sent: Seq, result: Result<DiskReply, DiskError>) {
    world.core(|core| schedule::disk_done(core, sent, result)).unwrap();
}

/// Lets all acts on disk succeed. Returns them.
fn settle(world: &mut World) -> Vec<Effect> {
    let mut acts = Vec::new();
    while let Some((sent, effect)) = next(world) {
        match &effect {
            Effect::Rename { from, to } => {
                let within = |name: &String| path(name).is_within(from);
                let names: Vec<String> = world.files.keys().filter(|name| within(name)).cloned().collect();
                for name in names {
                    let moved = path(&name).rebase(from, to).unwrap();
                    world.rename(&name, moved.as_str());
                }
            }
            Effect::Storage(_) => {}
            other => panic!("{other:?}"),
        }
        acts.push(effect);
        assert!(acts.len() < 50, "it never rests: {acts:?}");
        done(world, sent, Ok(DiskReply::Finished));
    }
    acts
}

/// The hashes of stored files that are to be read.
fn hash(world: &mut World) {
    while let Some((sent, Effect::Storage(StorageEffect::Hash(path)))) = world.core(schedule::next_beside) {
        let (bytes, stamp) = world.files[path.as_str()].clone();
        let reply = StoredReply::Hashed(stamp, ContentHash::of(&bytes));
        done(world, sent, Ok(DiskReply::Storage(reply)));
    }
}

#[test]
fn a_folder_of_stored_files_that_cannot_be_made_rests() {
    let mut world = world(&[]);
    list(&mut world, &[]);
    let make = Effect::Storage(StorageEffect::MakeFolder(path("Storage")));
    let denied = DiskError::Denied(path("Storage"), "read-only".to_owned());
    for _ in 0..3 {
        let (sent, effect) = next(&mut world).unwrap();
        assert_eq!(effect, make);
        done(&mut world, sent, Err(denied.clone()));
        assert!(settle(&mut world).iter().all(|effect| *effect != make));
        assert_eq!(world.needs(), ["not-written Storage"]);
        world.now += 31_000;
    }
    assert_eq!(settle(&mut world)[0], make);
    assert!(world.needs().is_empty(), "{:?}", world.needs());
}

#[test]
fn a_link_serves_only_for_the_bytes_that_it_was_asked_for() {
    let mut world = world(&["Storage/other.txt"]);
    list(&mut world, &[file("f1", "photo.jpg", "a1")]);
    settle(&mut world);
    let key = key(&world, Kind::File, "f1");
    let now = Timestamp(world.now);
    let link = (Link::new("https://files/a1".to_owned()), 3_600_000);
    world.core(|core| {
        let sent = core.next_seq();
        storage::apply_link(core, key, file("f1", "photo.jpg", "a1"), None, link, (sent, now));
    });
    settle(&mut world);
    // Its bytes change in the app before the download begins.
    list(&mut world, &[file("f1", "photo.jpg", "a2")]);
    settle(&mut world);
    assert_eq!(world.state.wanted.get(key), Some(Want::Download));
    let next = |world: &mut World| loop {
        match world.core(schedule::next_beside) {
            Some((sent, Effect::Storage(StorageEffect::Hash(_)))) => {
                done(world, sent, Err(DiskError::Changed(path("Storage/other.txt"))));
            }
            next => return next,
        }
    };
    assert!(next(&mut world).is_none());
    let link = (Link::new("https://files/a2".to_owned()), 3_600_000);
    world.core(|core| {
        let sent = core.next_seq();
        storage::apply_link(core, key, file("f1", "photo.jpg", "a2"), None, link, (sent, now));
    });
    settle(&mut world);
    let (_, effect) = next(&mut world).unwrap();
    assert!(
        matches!(&effect, Effect::Storage(StorageEffect::Download { link, .. }) if link.expose().ends_with("a2")),
        "{effect:?}"
    );
}

/// A world with the folder `d1`, which is `Storage/Old`.
fn with_folder() -> (World, ItemKey) {
    let mut world = world(&["Storage/Old/notes.txt"]);
    list(&mut world, &[folder("d1", "Old")]);
    list_inner(&mut world, "d1", &[]);
    let key = key(&world, Kind::Folder, "d1");
    assert_eq!(place(&world, key), Some(path("Storage/Old")));
    settle(&mut world);
    (world, key)
}

#[test]
fn a_folder_that_was_renamed_before_a_kill_is_the_same_though_the_app_renames_it_again() {
    let (mut world, key) = with_folder();
    list(&mut world, &[folder("d1", "New")]);
    let (_, effect) = next(&mut world).unwrap();
    assert_eq!(effect, Effect::Rename { from: path("Storage/Old"), to: path("Storage/New") });
    world.rename("Storage/Old/notes.txt", "Storage/New/notes.txt");
    world.kill();
    let area = Area { kind: Kind::File, is_live: true, is_open: true, ..Area::default() };
    world.core(|core| request::set_areas(core, BTreeMap::from([(WorkspaceId::of_storage(), area)])));
    look(&mut world);
    assert_eq!(place(&world, key), Some(path("Storage/New")));
    list(&mut world, &[folder("d1", "Newer")]);
    look(&mut world);
    settle(&mut world);
    assert_eq!(place(&world, key), Some(path("Storage/Newer")));
    assert!(world.files.contains_key("Storage/Newer/notes.txt"), "{:?}", world.files.keys());
    assert_eq!(world.state.journal.all().count(), 0);
}

#[test]
fn a_rename_of_a_folder_that_failed_leaves_no_doubt() {
    let (mut world, key) = with_folder();
    list(&mut world, &[folder("d1", "New")]);
    let (sent, _) = next(&mut world).unwrap();
    done(&mut world, sent, Err(DiskError::Denied(path("Storage/Old"), "no permission".to_owned())));
    assert_eq!(world.state.journal.all().count(), 0);
    assert_eq!(place(&world, key), Some(path("Storage/Old")));
}

#[test]
fn a_removed_folder_comes_back_for_a_file_that_the_app_moves_into_it() {
    let mut world = world(&["Storage/Old/notes.txt", "Storage/photo.jpg"]);
    world.now += 60_000;
    hash(&mut world);
    list(&mut world, &[folder("d1", "Old"), file("f1", "photo.jpg", "a1")]);
    list_inner(&mut world, "d1", &[]);
    let (folder_key, key) = (key(&world, Kind::Folder, "d1"), key(&world, Kind::File, "f1"));
    let hash = ContentHash::of(&world.files["Storage/photo.jpg"].0);
    world.core(|core| {
        let content = core.state.items.get(key).unwrap().content().unwrap();
        core.state.items.agree(key, content, Some(hash), &path("Storage/photo.jpg"));
    });
    world.remove("Storage/Old/notes.txt");
    look(&mut world);
    settle(&mut world);
    assert!(matches!(world.state.items.get(folder_key).unwrap().local, Local::Gone { .. }));
    list(&mut world, &[folder("d1", "Old")]);
    list_inner(&mut world, "d1", &[file("f1", "photo.jpg", "a1")]);
    world.now += 60_000;
    look(&mut world);
    // It begins anew, and is decided about in the next turn.
    settle(&mut world);
    let acts = settle(&mut world);
    let make = Effect::Storage(StorageEffect::MakeFolder(path("Storage/Old")));
    assert!(acts.contains(&make), "{acts:?}");
    assert_eq!(place(&world, key), Some(path("Storage/Old/photo.jpg")));
}

#[test]
fn a_stored_file_that_changes_before_it_is_read_is_no_text() {
    let mut world = world(&["Storage/photo.jpg"]);
    list(&mut world, &[]);
    world.now += 60_000;
    look(&mut world);
    hash(&mut world);
    world.state.stored.upload_to = vec![WorkspaceId::new("w1").unwrap()];
    let (sent, effect) = next_read(&mut world);
    assert_eq!(effect, Effect::ReadFile(path("Storage/photo.jpg")));
    // A scan shows other bytes before the answer.
    world.write("Storage/photo.jpg", "other bytes, which are no JSON");
    look(&mut world);
    let (bytes, stamp) = world.files["Storage/photo.jpg"].clone();
    let clock = Timestamp(world.now);
    let read = FileRead { path: path("Storage/photo.jpg"), stamp, bytes, clock, is_open: false };
    done(&mut world, sent, Ok(DiskReply::File(read)));
    // Until its bytes are identified, it is not read again.
    assert!(next(&mut world).is_none());
    world.now += 60_000;
    hash(&mut world);
    settle_reads(&mut world);
    assert!(world.needs().is_empty(), "{:?}", world.needs());
}

#[test]
fn a_stored_file_that_could_not_be_read_at_first_is_not_damaged_when_it_can() {
    let mut world = world(&["Storage/photo.jpg"]);
    list(&mut world, &[]);
    world.now += 60_000;
    look(&mut world);
    hash(&mut world);
    world.write("Storage/photo.jpg", "other bytes, which cannot be read");
    world.now += 60_000;
    look(&mut world);
    let denied = DiskError::Denied(path("Storage/photo.jpg"), "permission denied".to_owned());
    let (sent, effect) = world.core(schedule::next_beside).unwrap();
    assert_eq!(effect, Effect::Storage(StorageEffect::Hash(path("Storage/photo.jpg"))));
    done(&mut world, sent, Err(denied));
    let known = world.state.items.at(&path("Storage/photo.jpg")).and_then(|item| item.file()).cloned();
    assert!(known.is_some_and(|fact| fact.hash.is_none() && !fact.racy));
    world.now += 60_000;
    // The scan before it waits for the text of another file.
    world.state.snapshot.unhashed.insert(path("Storage/photo.jpg"), Timestamp(world.now));
    hash(&mut world);
    let item = world.state.items.at(&path("Storage/photo.jpg")).unwrap();
    assert!(item.file().is_some_and(|fact| fact.hash.is_some()), "{item:?}");
    assert!(!world.state.runtimes.get(&item.key).is_some_and(|runtime| runtime.bytes.is_damaged));
}

/// The read of a file that is to be uploaded.
fn next_read(world: &mut World) -> (Seq, Effect) {
    loop {
        let (sent, effect) = next(world).unwrap();
        if matches!(effect, Effect::ReadFile(_)) {
            return (sent, effect);
        }
        done(world, sent, Ok(DiskReply::Finished));
    }
}

fn settle_reads(world: &mut World) {
    for _ in 0..10 {
        let Some((sent, effect)) = next(world) else { return };
        let Effect::ReadFile(path) = effect else { panic!("{effect:?}") };
        let (bytes, stamp) = world.files[path.as_str()].clone();
        let clock = Timestamp(world.now);
        done(world, sent, Ok(DiskReply::File(FileRead { path, stamp, bytes, clock, is_open: false })));
    }
    panic!("it never rests");
}
