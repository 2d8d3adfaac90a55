//! `espejo approve`: says what it would do, with counts, and does nothing that nobody agreed to.

use std::fs;

use serde_json::{Value, json};

use super::super::bench::{Bench, paragraph, save, words};
use super::pty::Terminal;

/// Thirteen deletions that are held, a page whose list lacks it, and a file that was emptied.
fn bench() -> Bench {
    let bench = Bench::new(|world, space| {
        for n in 0..30 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
        }
    });
    bench.sync();
    for n in 0..13 {
        fs::remove_file(bench.page(&format!("Page {n}.md"))).unwrap();
    }
    save(&bench.page("Page 20.md"), "");
    assert_eq!(bench.tell(&["sync"]).code, 3);
    bench.forget_requests();
    bench
}

const LISTED: [&str; 5] = [
    "13 pages go to the service's trash, because their files are gone",
    "    Equipo/Pages/Page 0.md",
    "    … and 3 more",
    "1 page is sent as its file is now",
    "    Equipo/Pages/Page 20.md: it is empty, but its page is not",
];

#[track_caller]
fn lists(shown: &str) {
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    for line in LISTED {
        assert!(lines.contains(&line), "{line}\n{shown}");
    }
    assert_eq!(lines.iter().filter(|line| line.starts_with("    Equipo")).count(), 11, "{shown}");
}

#[test]
fn approve_lists_what_it_would_do_and_does_nothing_unasked() {
    let bench = bench();
    let told = bench.tell(&["approve", "--dry-run"]);
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{told:?}");
    lists(&told.out);
    // Without a terminal nobody can agree.
    let told = bench.tell(&["approve"]);
    let alone = "espejo: nothing was approved: add --yes to approve this without a question\n";
    assert_eq!((told.code, told.err.as_str()), (2, alone), "{told:?}");
    lists(&told.out);
    let told = bench.tell(&["approve", "--json"]);
    assert_eq!((told.code, told.err.as_str()), (2, alone), "{told:?}");
    let shown: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(shown["approved"], json!(false), "{shown}");
    let effects = shown["effects"].as_array().unwrap();
    let trashed = effects.iter().filter(|effect| effect["what"] == "trash" && effect["kind"] == "page");
    assert_eq!((effects.len(), trashed.count()), (14, 13), "{shown}");
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert_eq!(bench.writes(), Vec::<String>::new());
    // One path, and then the rest.
    let told = bench.tell(&["approve", "--yes", bench.page("Page 20.md").to_str().unwrap()]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(!told.out.contains("trash"), "{told:?}");
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert_eq!(bench.writes(), [format!("PATCH /pages/{}", bench.id("Page 20"))]);
    assert_eq!(words(&bench.content("Page 20")).trim(), "");
    let told = bench.tell(&["approve", "--yes", "--json"]);
    let shown: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((told.code, &shown["approved"]), (0, &json!(true)), "{told:?}");
    bench.sync();
    assert_eq!(bench.world().visible_pages(&bench.space).len(), 17);
    let told = bench.tell(&["approve", "--json"]);
    assert_eq!((told.code, told.out.as_str()), (0, "{\"approved\":false,\"effects\":[]}\n"), "{told:?}");
}

#[test]
fn approve_asks_on_a_terminal_and_no_is_the_default() {
    let bench = bench();
    for (keys, code) in [("\r", 1), ("n", 1), ("\x1b", 1), ("y", 0)] {
        let mut terminal = Terminal::new(bench.espejo(&["approve"]));
        terminal.until("Approve this?");
        terminal.type_in(keys);
        assert_eq!(terminal.ended(), code, "{keys:?}\n{}", terminal.shown());
        assert!(terminal.shown().contains("13 pages go to the service's trash"), "{}", terminal.shown());
        assert_eq!(bench.tell(&["sync"]).code, if code == 0 { 0 } else { 3 }, "{}", bench.seen());
        assert_eq!(bench.writes().is_empty(), code == 1, "{keys:?}");
    }
    assert_eq!(bench.world().visible_pages(&bench.space).len(), 17);
}

#[test]
fn approve_asks_again_when_more_is_held_by_then() {
    let bench = bench();
    let mut terminal = Terminal::new(bench.espejo(&["approve"]));
    terminal.until("Approve this?");
    fs::remove_file(bench.page("Page 25.md")).unwrap();
    assert_eq!(bench.tell(&["sync"]).code, 3);
    terminal.type_in("y");
    terminal.until("this has changed meanwhile:");
    terminal.until("14 pages go to the service's trash");
    terminal.until("Approve this?");
    terminal.type_in("n");
    assert_eq!(terminal.ended(), 1, "{}", terminal.shown());
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert_eq!(bench.writes(), Vec::<String>::new());
}
