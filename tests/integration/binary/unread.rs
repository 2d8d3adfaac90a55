//! A part of the folder that cannot be read: it holds back what may be in it, of every kind, and nothing else.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use espejo::emulator::World;

use super::bench::{Bench, Daemon, append, paragraph, save, words};
use super::boards::deck;
use super::sick::{chmod, obedient};
use super::storage::{bytes, stored};

const ALL: &str =
    "[storage]\nmode = \"two-way\"\n[whiteboards]\nenabled = true\n[presentations]\nenabled = true\n";

fn bench() -> Bench {
    Bench::with(ALL, |world, space| {
        let folder = world.app_create(space, None, "Folder", vec![paragraph("a", "words")]);
        for n in 0..8 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", &format!("words {n}"))]);
            world.app_create_board(space, &format!("Board {n}"));
            world.app_put_file(None, &format!("{n}.txt"), bytes(&format!("file {n}")));
        }
        world.app_create(space, Some(&folder), "Below", vec![paragraph("a", "words")]);
        let big = world.app_make_folder(None, "Big");
        world.app_put_file(Some(&big), "in.txt", bytes("in it"));
        for name in ["Pitch", "Talk", "Third"] {
            deck(world, name, &["one", "two"]);
        }
    })
}

/// What of everything is in the service's trash, by name and sorted.
pub(super) fn trashed(world: &World) -> String {
    let pages = world.pages().filter(|page| page.trashed.is_some()).map(|page| page.title.clone());
    let boards = world.whiteboards().filter(|board| board.trashed).map(|board| board.name.clone());
    let decks = world.presentations().filter(|deck| deck.trashed).map(|deck| deck.name.clone());
    let files = world.storage_files().filter(|file| file.trashed).map(|file| file.filename.clone());
    let mut all: Vec<String> = pages.chain(boards).chain(decks).chain(files).collect();
    all.sort();
    all.join(", ")
}

#[track_caller]
fn until_trashed(bench: &Bench, expected: &str) {
    bench.until(&format!("these are trashed: {expected}"), || trashed(&bench.world()) == expected);
}

fn running(bench: &Bench, beneath: &[&str]) -> Daemon {
    let daemon = bench.run_beneath(beneath);
    bench.until("it runs", || bench.status()["state"] == "running");
    daemon
}

/// The same place under a name that is not UTF-8.
fn spoilt(path: &Path) -> PathBuf {
    let name = [path.file_name().unwrap().as_bytes(), b"\xe9"].concat();
    path.with_file_name(OsStr::from_bytes(&name))
}

/// Pages are made, renamed, edited; something of each kind is deleted and follows.
fn the_rest_goes_on(bench: &Bench, n: usize) {
    let (name, new) = (format!("Page {n}"), format!("New {n}"));
    save(&bench.page(&format!("{new}.md")), "new words\n");
    append(&bench.page(&format!("{name}.md")), "\nmore\n");
    bench.until("a page is made", || bench.titled(&new).is_some());
    bench.until("an edit goes out", || words(&bench.content(&name)).contains("more"));
    fs::rename(bench.page(&format!("{name}.md")), bench.page(&format!("{name} again.md"))).unwrap();
    bench.until("a page is renamed", || bench.titled(&format!("{name} again")).is_some());
}

/// Deletes something of each kind.
fn delete_some(bench: &Bench) {
    for path in [bench.page("Page 3.md"), bench.board_file("Board 3.canvas"), stored(bench, "3.txt")] {
        fs::remove_file(path).unwrap();
    }
}

/// Waits until a message names each of these as waiting for a place.
fn until_waiting(bench: &Bench, place: &str, names: &[&str]) {
    bench.until("it is told what waits", || {
        let waits = |line: &str| {
            line.starts_with(place)
                && line.contains("so they stay at the service")
                && names.iter().all(|name| line.contains(name))
                && line.contains("espejo approve")
        };
        bench.attention().lines().any(waits)
    });
}

#[test]
fn while_a_name_cannot_be_read_no_deletion_leaves() {
    let bench = bench();
    bench.sync();
    let daemon = bench.run_canvases();
    let moved = [
        bench.page("Page 1.md"),
        bench.board_file("Board 1.canvas"),
        stored(&bench, "1.txt"),
        stored(&bench, "Big"),
        bench.deck_file("Talk.canvas"),
    ];
    for path in &moved {
        fs::rename(path, spoilt(path)).unwrap();
    }
    save(&spoilt(&bench.page("strange")), "of no page\n");
    until_waiting(&bench, "Equipo/Pages: ", &["is not UTF-8", "rename it"]);
    the_rest_goes_on(&bench, 2);
    delete_some(&bench);
    the_rest_goes_on(&bench, 4);
    assert_eq!(trashed(&bench.world()), "");
    // Nor does the next run believe it.
    assert_eq!(daemon.stop().code(), Some(0));
    let daemon = running(&bench, &[]);
    until_waiting(&bench, "Equipo/Pages: ", &["is not UTF-8"]);
    the_rest_goes_on(&bench, 5);
    assert_eq!(trashed(&bench.world()), "");
    // Mended, all is as it was.
    for path in &moved {
        fs::rename(spoilt(path), path).unwrap();
    }
    fs::remove_file(spoilt(&bench.page("strange"))).unwrap();
    until_trashed(&bench, "3.txt, Board 3, Page 3");
    bench.until("nothing needs the user", || bench.attention().is_empty());
    append(&bench.page("Page 1.md"), "\nstill its own\n");
    bench.until("it is its page's", || words(&bench.content("Page 1")).contains("still its own"));
    until_trashed(&bench, "3.txt, Board 3, Page 3");
    drop(daemon);
}

#[test]
fn while_a_folder_cannot_be_listed_no_deletion_leaves_until_it_is_approved() {
    let bench = bench();
    bench.sync();
    let daemon = running(&bench, &obedient());
    bench.until_canvases_rest();
    let shut = [bench.page("Folder"), stored(&bench, "Big"), bench.deck_file("")];
    shut.iter().for_each(|path| chmod(path, 0o000));
    let told = |name: &str| {
        bench.attention().lines().any(|line| line.starts_with(name) && line.contains("cannot be read"))
    };
    bench.until("each is told", || {
        ["Equipo/Pages/Folder:", "Storage/Big:", "Presentations:"].iter().all(|name| told(name))
    });
    the_rest_goes_on(&bench, 2);
    delete_some(&bench);
    until_waiting(&bench, "Equipo/Pages/Folder: ", &["Page 3.md", "Board 3.canvas", "3.txt"]);
    the_rest_goes_on(&bench, 4);
    assert_eq!(daemon.stop().code(), Some(0));
    let daemon = running(&bench, &obedient());
    the_rest_goes_on(&bench, 5);
    bench.until("the next run tells it too", || bench.attention().contains("Page 3.md"));
    assert_eq!(trashed(&bench.world()), "");
    // One is named.
    let told = bench.tell(&["approve", "--yes", bench.page("Page 3.md").to_str().unwrap()]);
    assert_eq!(told.code, 0, "{told:?}");
    until_trashed(&bench, "Page 3");
    // All are: what the folders hold is there all the same.
    let asked = bench.tell(&["approve", "--dry-run"]);
    for name in ["Board 3.canvas", "3.txt", "Equipo/Pages/Folder", "Storage/Big", "Presentations"] {
        assert!(asked.out.contains(name), "{asked:?}");
    }
    assert_eq!(bench.tell(&["approve", "--yes"]).code, 0);
    until_trashed(&bench, "3.txt, Board 3, Page 3");
    // The next run knows it.
    assert_eq!(daemon.stop().code(), Some(0));
    let daemon = running(&bench, &obedient());
    fs::remove_file(bench.page("Page 6.md")).unwrap();
    until_trashed(&bench, "3.txt, Board 3, Page 3, Page 6");
    shut.iter().for_each(|path| chmod(path, 0o755));
    bench.until("nothing needs the user", || bench.attention().is_empty());
    until_trashed(&bench, "3.txt, Board 3, Page 3, Page 6");
    drop(daemon);
}

#[test]
fn what_stands_in_the_way_of_an_item_is_that_item() {
    let bench = bench();
    bench.sync();
    let daemon = bench.run_canvases();
    let away = bench.outside("away");
    fs::create_dir(&away).unwrap();
    let moved = [
        bench.page("Page 1.md"),
        bench.page("Folder"),
        bench.board_file("Board 1.canvas"),
        stored(&bench, "1.txt"),
        stored(&bench, "Big"),
        bench.deck_file("Talk.canvas"),
    ];
    let new = |path: &Path| away.join(path.file_name().unwrap());
    for path in &moved {
        fs::rename(path, new(path)).unwrap();
        std::os::unix::fs::symlink(new(path), path).unwrap();
    }
    // A pipe, and a folder.
    let (pipe, folder) = (bench.page("Page 2.md"), bench.page("Page 3.md"));
    for path in [&pipe, &folder] {
        fs::rename(path, new(path)).unwrap();
    }
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    fs::create_dir(&folder).unwrap();
    let told = |name: &str| {
        bench.attention().lines().any(|line| line.starts_with(name) && line.contains("stands in its place"))
    };
    bench.until("each is told", || {
        let pages =
            ["Page 1.md", "Folder", "Page 2.md", "Page 3.md"].map(|name| format!("Equipo/Pages/{name}: "));
        let others = [
            "Storage/1.txt: ",
            "Storage/Big: ",
            "Equipo/Whiteboards/Board 1.canvas: ",
            "Presentations/Talk.canvas: ",
        ];
        pages.iter().all(|name| told(name)) && others.iter().all(|name| told(name))
    });
    // Nothing else waits, in the next run too.
    fs::remove_file(bench.page("Page 4.md")).unwrap();
    until_trashed(&bench, "Page 4");
    assert_eq!(daemon.stop().code(), Some(0));
    let daemon = running(&bench, &[]);
    fs::remove_file(bench.page("Page 5.md")).unwrap();
    until_trashed(&bench, "Page 4, Page 5");
    // One is meant.
    let told = bench.tell(&["approve", "--yes", bench.page("Page 1.md").to_str().unwrap()]);
    assert_eq!(told.code, 0, "{told:?}");
    until_trashed(&bench, "Page 1, Page 4, Page 5");
    // The others are put back.
    for path in &moved[1..] {
        fs::remove_file(path).unwrap();
        fs::rename(new(path), path).unwrap();
    }
    fs::remove_file(&pipe).unwrap();
    fs::remove_dir(&folder).unwrap();
    for path in [&pipe, &folder] {
        fs::rename(new(path), path).unwrap();
    }
    bench.until("nothing needs the user", || bench.attention().is_empty());
    append(&bench.page("Page 2.md"), "\nstill its own\n");
    bench.until("it is its page's", || words(&bench.content("Page 2")).contains("still its own"));
    until_trashed(&bench, "Page 1, Page 4, Page 5");
    drop(daemon);
}
