//! Files that nothing of the service stands for: in places that are not synced, and with names that not every disk keeps.

use std::fs;

use super::bench::{Bench, paragraph, save};

fn bench() -> Bench {
    Bench::new(|world, space| {
        world.app_create(space, None, "Notas", vec![paragraph("a", "words")]);
    })
}

#[test]
fn files_in_places_that_are_not_synced_are_counted_and_named() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let line = |bench: &Bench| {
        let told = bench.tell(&["status"]);
        told.out.lines().find(|line| line.trim_start().starts_with("not synced")).map(str::to_owned)
    };
    assert_eq!(line(&bench), None);
    let named = ["suelto.md", "Equipo/Pages/Untitled.canvas", "Equipo/Pages/Pasted image 1.png"];
    let left_out = [
        ".hidden/a.md",
        "Equipo/Pages/.obsidian/app.json",
        "node_modules/a/index.js",
        "Equipo/Pages/drafts/b.png",
        "Equipo/Pages/drafts/B.png",
        "Equipo/Pages/x.tmp",
        ".espejoignore",
    ];
    for path in named.iter().chain(&left_out) {
        let file = bench.root().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        save(&file, if *path == ".espejoignore" { "drafts/\n" } else { "words" });
    }
    let words = "3 files in places that are not synced: espejo list names them";
    bench.until("they are counted", || line(&bench).is_some_and(|line| line.contains(words)));
    assert_eq!(bench.status()["unsynced"], 3);
    assert!(!bench.attention().contains("differ in upper and lower case"), "{}", bench.attention());
    let list = bench.tell(&["list"]);
    for path in named {
        let is_it = |line: &&str| line.starts_with("not synced") && line.contains(path);
        assert_eq!(list.out.lines().filter(is_it).count(), 1, "{path}: {list:?}");
    }
    assert_eq!(list.out.matches("not synced").count(), 3, "{list:?}");
    let rows = bench.list();
    let why = |path: &str| rows.iter().find(|row| row["path"] == path).map(|row| row["why"].to_string());
    assert!(why("suelto.md").is_some_and(|why| why.contains("nothing is synced in this place")), "{rows:?}");
    // Named by its folder as everything else.
    let told = bench.tell(&["list", bench.page("").to_str().unwrap()]);
    assert!(told.out.contains("Untitled.canvas") && !told.out.contains("suelto.md"), "{told:?}");
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn names_that_differ_in_case_or_form_only_are_told() {
    let bench = bench();
    let daemon = bench.run_in_step();
    save(&bench.page("notas.md"), "mine\n");
    let told = "Equipo/Pages/Notas.md and notas.md differ in upper and lower case or Unicode form only";
    bench.until("it is told", || bench.attention().contains(told));
    bench.until("both are pages", || bench.pages() == 2);
    fs::remove_file(bench.page("notas.md")).unwrap();
    bench.until("nothing is told", || bench.attention().is_empty());
    // A name of a Mac, beside the same of another program.
    save(&bench.page("Caf\u{e9}.md"), "one\n");
    save(&bench.page("Cafe\u{301}.md"), "two\n");
    bench.until("it is told", || bench.attention().contains("Unicode form only"));
    assert_eq!(daemon.stop().code(), Some(0));
}
