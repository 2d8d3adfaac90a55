//! What a person types every day: no command at all, one line for a prompt, paths from where they stand, few words, and other
//! commands while a sync runs.

use std::process::Stdio;

use espejo::emulator::{Fault, Matcher};

use super::bench::{Bench, TOKEN, Told, append, bare, paragraph, save, words};

fn bench() -> Bench {
    Bench::with("", |world, space| {
        for n in 0..4 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
        }
    })
}

#[test]
fn without_a_command_a_short_status_or_how_to_begin() {
    let bench = bench();
    let told = Told::of(bare(bench.home()).output().unwrap());
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.contains("espejo init") && told.out.contains("espejo demo"), "{told:?}");
    let told = bench.tell(&[]);
    assert!(told.code == 0 && told.out.starts_with("nothing is mirrored yet"), "{told:?}");
    bench.sync();
    save(&bench.page("Page 1.md"), "");
    assert_eq!(bench.tell(&["sync"]).code, 3);
    let told = bench.tell(&[]);
    assert!(told.code == 3 && told.out.starts_with("1 thing needs attention"), "{told:?}");
    assert!(told.out.contains("Pages/Page 1.md") && told.out.lines().count() < 8, "{told:?}");
    // One line, and only what needs the user.
    let told = bench.tell(&["status", "--short"]);
    assert_eq!((told.code, told.out.as_str()), (3, "1 needs attention, not running\n"), "{told:?}");
    let told = bench.tell(&["status", "-q"]);
    assert!(told.code == 3 && told.out.starts_with("! Equipo/Pages/Page 1.md\n"), "{told:?}");
    // What the user has to do stands above the numbers.
    let told = bench.tell(&["status"]).out;
    assert!(told.find("Page 1.md") < told.find("  requests "), "{told}");
    let told = bench.tell(&["list", "-q"]);
    assert!(told.code == 2 && told.err.contains("--quiet leaves nothing"), "{told:?}");
}

#[test]
fn paths_are_shown_from_where_the_user_stands_and_can_be_typed_so() {
    let bench = bench();
    bench.sync();
    let there = bench.page("");
    let run = |words: &[&str]| Told::of(bench.espejo(words).current_dir(&there).output().unwrap());
    append(&bench.page("Page 2.md"), "\nmine\n");
    let told = run(&["sync", "Page 2.md"]);
    assert!(told.out.starts_with("you edited Page 2.md  +1\n"), "{told:?}");
    assert!(run(&["list"]).out.lines().all(|line| !line.contains("Equipo/Pages")), "{:?}", run(&["list"]));
    let told = run(&["log", "-n", "1"]);
    assert!(told.out.contains("you      edited Page 2.md") && told.out.lines().count() == 1, "{told:?}");
    let told = run(&["status", "Page 2.md"]);
    assert!(told.out.starts_with("Page 2.md: synced; checked"), "{told:?}");
    let told = run(&["undo", "-q"]);
    assert_eq!((told.code, told.out.as_str()), (0, ""), "{told:?}");
    // What was done is called by its command.
    let told = run(&["log", "-n", "1"]);
    assert!(told.out.contains("you      undid a change in Page 2.md"), "{told:?}");
    bench.sync();
    assert_eq!(words(&bench.content("Page 2")), "words\n");
    // A command, or a new page, is one line.
    save(&bench.page("New.md"), "two words\n");
    bench.sync();
    let told = run(&["log", "-n", "2"]);
    let lines: Vec<&str> = told.out.lines().collect();
    assert!(lines[0].contains("you      added New.md  +2"), "{told:?}");
    assert!(lines[1].contains("you      undid a change in Page 2.md  -1"), "{told:?}");
}

#[test]
fn other_commands_work_while_a_sync_runs() {
    let bench = bench();
    bench.sync();
    append(&bench.page("Page 2.md"), "\nmine\n");
    bench.sync();
    bench.world().fail_randomly(Matcher::Any, Fault::Delay(700), 1_000);
    bench.forget_requests();
    let mut sync = bench.espejo(&["sync"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    bench.until("the sync has begun", || bench.requests().iter().any(|line| line.starts_with("GET ")));
    let told = bench.tell(&["undo", bench.page("Page 2.md").to_str().unwrap()]);
    assert!(told.code == 0 && told.out.contains("the running espejo sends"), "{told:?}");
    assert_eq!(bench.status()["state"], "busy");
    assert!(bench.tell(&["status"]).out.contains("a sync or another command is running"));
    // A second one goes on with what the first one leaves.
    let second = bench.espejo(&["sync"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    bench.world().calm();
    assert!(sync.wait().unwrap().success());
    assert!(second.unwrap().wait().unwrap().success());
    bench.sync();
    assert_eq!(words(&bench.content("Page 2")), "words\n");
}

#[test]
fn a_report_of_a_fault_names_nobody() {
    let bench = bench();
    bench.sync();
    let told = bench.tell(&["doctor", "--report"]).out;
    assert!(told.contains("pages: 4 mirrored") && told.contains("- token: "), "{told}");
    let root = bench.root().display().to_string();
    for name in [root.as_str(), TOKEN, "Equipo", "Page 1", "127.0.0.1"] {
        assert!(!told.contains(name), "{name}: {told}");
    }
}
