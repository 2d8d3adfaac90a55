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
fn trashed(world: &World) -> String {
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

#[test]
fn a_name_that_cannot_be_read_holds_back_what_bears_it_and_nothing_else() {
    let bench = bench();
    bench.sync();
    let daemon = bench.run_canvases();
    let moved = [
        bench.page("Page 1.md"),
        bench.board_file("Board 1.canvas"),
        stored(&bench, "1.txt"),
        stored(&bench, "Big"),
        bench.deck_file("Talk"),
    ];
    for path in &moved {
        fs::rename(path, spoilt(path)).unwrap();
    }
    save(&spoilt(&bench.page("strange")), "of no page\n");
    bench.until("each is told with what bears it", || {
        let told = bench.attention();
        ["Page 1.md", "Board 1.canvas", "1.txt", "Big/in.txt", "Talk/01.canvas"].iter().all(|name| {
            let is_it = |line: &str| {
                line.contains("is not UTF-8")
                    && line.contains(&format!("{name} "))
                    && line.contains("(rename it")
            };
            told.lines().any(is_it)
        })
    });
    assert!(!bench.attention().lines().any(|line| line.contains("strange") && line.contains("missing")));
    the_rest_goes_on(&bench, 2);
    for path in [bench.page("Page 3.md"), bench.board_file("Board 3.canvas"), stored(&bench, "3.txt")] {
        fs::remove_file(path).unwrap();
    }
    bench.until("a folder is removed", || fs::remove_dir_all(bench.deck_file("Pitch")).is_ok());
    until_trashed(&bench, "3.txt, Board 3, Page 3, Pitch");
    // Nor does the next run believe it.
    assert_eq!(daemon.stop().code(), Some(0));
    let daemon = running(&bench, &[]);
    fs::remove_file(bench.page("Page 4.md")).unwrap();
    until_trashed(&bench, "3.txt, Board 3, Page 3, Page 4, Pitch");
    bench.until("it is told again", || bench.attention().contains("Page 1.md"));
    // Mended, all is as it was.
    for path in &moved {
        fs::rename(spoilt(path), path).unwrap();
    }
    fs::remove_file(spoilt(&bench.page("strange"))).unwrap();
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.until_canvases_rest();
    append(&bench.page("Page 1.md"), "\nstill its own\n");
    bench.until("it is its page's", || words(&bench.content("Page 1")).contains("still its own"));
    until_trashed(&bench, "3.txt, Board 3, Page 3, Page 4, Pitch");
    drop(daemon);
}

#[test]
fn a_folder_that_cannot_be_read_holds_back_what_may_be_in_it_and_nothing_else() {
    let bench = bench();
    bench.sync();
    let daemon = running(&bench, &obedient());
    bench.until_canvases_rest();
    let shut = [bench.page("Folder"), stored(&bench, "Big"), bench.deck_file("Talk")];
    shut.iter().for_each(|path| chmod(path, 0o000));
    let told = |name: &str| {
        bench.attention().lines().any(|line| line.starts_with(name) && line.contains("cannot be read"))
    };
    bench.until("each is told", || {
        ["Equipo/Pages/Folder:", "Storage/Big:", "Presentations/Talk:"].iter().all(|name| told(name))
    });
    the_rest_goes_on(&bench, 2);
    // What goes missing now may be in one of them.
    let gone = [bench.page("Page 3.md"), bench.board_file("Board 3.canvas"), stored(&bench, "3.txt")];
    for path in &gone {
        fs::remove_file(path).unwrap();
    }
    bench.until("it is told what waits", || {
        let told = bench.attention();
        let waits = |line: &str| {
            line.starts_with("Equipo/Pages/Folder: ")
                && ["Page 3.md", "Board 3.canvas", "3.txt"].iter().all(|name| line.contains(name))
                && line.contains("espejo approve")
        };
        told.lines().any(waits)
    });
    the_rest_goes_on(&bench, 4);
    assert_eq!(daemon.stop().code(), Some(0));
    let daemon = running(&bench, &obedient());
    the_rest_goes_on(&bench, 5);
    bench.until("the next run tells it too", || bench.attention().contains("Page 3.md"));
    assert_eq!(trashed(&bench.world()), "");
    // What a person says is gone is gone, if they name it.
    let told = bench.tell(&["approve", "--yes"]);
    assert!(told.out.starts_with("what may be where espejo cannot read stays"), "{told:?}");
    the_rest_goes_on(&bench, 6);
    assert_eq!(trashed(&bench.world()), "");
    let told = bench.tell(&["approve", "--yes", gone[0].to_str().unwrap()]);
    assert_eq!(told.code, 0, "{told:?}");
    until_trashed(&bench, "Page 3");
    shut.iter().for_each(|path| chmod(path, 0o755));
    until_trashed(&bench, "3.txt, Board 3, Page 3");
    bench.until("nothing needs the user", || bench.attention().is_empty());
    drop(daemon);
}
