//! When a page is looked at next, as a person and a program are told.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use super::bench::{Bench, append, save, words};
use super::tree::bench;

#[test]
fn status_and_list_say_when_a_page_is_looked_at_next() {
    let bench = bench("");
    let before = bench.tell(&["status", bench.page("Notes.md").to_str().unwrap()]);
    assert_ne!(before.code, 0, "nothing is mirrored yet: {before:?}");
    let daemon = bench.run_in_step();
    let why = |name: &str| -> Value {
        let told = bench.tell(&["status", bench.page(name).to_str().unwrap(), "--json"]);
        assert_eq!(told.code, 0, "{told:?}");
        let all: Value = serde_json::from_str(&told.out).expect("one JSON value");
        all[0].clone()
    };
    let notes = why("Notes.md");
    assert_eq!((&notes["kind"], &notes["reason"]), (&Value::from("page"), &Value::from("quiet")), "{notes}");
    let is_later = |row: &Value| {
        let at = |key: &str| row[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        at("next_check_at") > at("checked_at")
    };
    assert!(is_later(&notes), "{notes}");
    // What somebody works at is looked at within seconds, before what is quiet.
    append(&bench.page("Filler 6.md"), "\nmore\n");
    bench.until("it is sent", || words(&bench.content("Filler 6")) == "filler\nmore\n");
    bench.until_in_step();
    let busy = why("Filler 6.md");
    assert_eq!(busy["reason"], "hot", "{busy}");
    assert!(busy["why"].as_str().unwrap().contains("checked every"), "{busy}");
    for row in bench.list() {
        assert!(is_later(&row), "{row}");
    }
    let told = bench.tell(&["status", bench.page("Filler 6.md").to_str().unwrap()]);
    assert_eq!(told.out.lines().count(), 1, "{told:?}");
    assert!(told.out.contains("Filler 6.md: synced; checked"), "{told:?}");
    let pace = bench.status()["pace"].clone();
    assert!(pace["slowed"] == false && pace["refused_at"].is_null(), "{pace}");
    assert_eq!(daemon.stop().code(), Some(0));
    let stopped = why("Notes.md");
    assert!(stopped["next_check_at"].is_null() && stopped["reason"] == "stopped", "{stopped}");
    let nowhere = bench.tell(&["status", bench.page("Nowhere.md").to_str().unwrap()]);
    assert_ne!(nowhere.code, 0, "{nowhere:?}");
}

#[test]
fn every_command_works_at_the_least_and_the_largest_limit() {
    let bench = bench("");
    bench.sync();
    let notes = bench.page("Notes.md");
    let file = notes.to_str().unwrap();
    for per_minute in [2, 3, 60_000, 60_011, 100_000] {
        bench.write_config(per_minute, "");
        let daemon = bench.run();
        bench.until("it runs", || bench.status()["state"] == "running");
        for words in [
            &["status"][..],
            &["list"],
            &["list", "--json"],
            &["status", file],
            &["status", file, "--json"],
            &["diff"],
            &["log", file],
            &["search", "filler"],
            &["resolve"],
            &["pause"],
            &["resume"],
        ] {
            let told = bench.tell(words);
            let works = [0, 3].contains(&told.code);
            assert!(works, "{words:?} at {per_minute} requests a minute: {told:?}");
        }
        assert_eq!(daemon.stop().code(), Some(0));
    }
    for words in [&["sync"][..], &["sync", "--dry-run"], &["sync", "--deep"], &["doctor", "--json"]] {
        let told = bench.tell(words);
        assert!([0, 3].contains(&told.code), "{words:?}: {told:?}");
    }
}

#[test]
fn status_says_what_keeps_a_file_here_and_what_to_do() {
    let bench =
        Bench::with("[storage]\nmode = \"two-way\"\n[whiteboards]\nenabled = true\n", |world, space| {
            world.app_create(space, None, "Notes", vec![]);
        });
    bench.sync();
    let root = bench.root();
    fs::create_dir_all(root.join("Equipo/Pages/Notes")).unwrap();
    fs::create_dir_all(root.join("Storage/.git")).unwrap();
    fs::create_dir_all(root.join("Notas/Pages")).unwrap();
    for place in [
        "Equipo/Pages/Notes/Sketch.canvas",
        "Notas/Pages/y.md",
        "Storage/.env",
        "Storage/.git/config",
        "Storage/x.tmp",
    ] {
        save(&root.join(place), "{}");
    }
    std::os::unix::fs::symlink(bench.page("Notes.md"), root.join("Storage/link.md")).unwrap();
    save(&root.join("Storage").join(OsStr::from_bytes(b"caf\xe9.txt")), "words");
    bench.tell(&["sync"]);
    let told = bench.attention();
    assert!(told.contains("a name in it is not UTF-8: caf\\xe9.txt"), "{told}");
    assert!(told.contains("(rename it)") && !told.contains("make it readable"), "{told}");
    for (place, words) in [
        ("Equipo/Pages/Notes/Sketch.canvas", "directly in Equipo/Whiteboards; move it there"),
        ("Notas/Pages/y.md", "belongs to no workspace that is mirrored"),
        ("Storage/.env", "it is hidden"),
        ("Storage/.git/config", ".git is hidden"),
        ("Storage/x.tmp", "a temporary file or backup"),
        ("Storage/link.md", "it is a symbolic link"),
    ] {
        let told = bench.tell(&["status", root.join(place).to_str().unwrap()]);
        assert_eq!(told.code, 0, "{told:?}");
        let says = format!("{place}: not synced: ");
        assert!(told.out.contains(&says) && told.out.contains(words), "{told:?}");
    }
}
