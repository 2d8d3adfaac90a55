//! `sync`: one pass that ends when both sides agree, alone or beside a daemon.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use espejo::emulator::{Fault, Matcher};

use super::bench::{Bench, append, paragraph, save, words};

fn bench(pages: &str) -> Bench {
    Bench::with(pages, |world, space| {
        for n in 0..12 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
        }
    })
}

#[test]
fn a_sync_beside_a_daemon_is_made_by_it_and_polling_goes_on() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    let (page, other) = (bench.id("Page 1"), bench.id("Page 2"));
    bench.world().app_edit(&other, vec![paragraph("a", "seen by the pass")]);
    bench.forget_requests();
    let told = bench.tell(&["sync"]);
    assert_eq!(
        (told.code, told.out.as_str()),
        (0, "12 pages in sync: 0 changes sent, 1 received\n"),
        "{told:?}"
    );
    assert!(bench.text("Page 2.md").contains("seen by the pass"));
    assert_eq!(bench.requests().len(), 14, "one look at each page, and two lists");
    // Two at once are one pass, and an edit meanwhile goes out.
    append(&bench.page("Page 1.md"), "\nmine\n");
    let told: Vec<_> = std::thread::scope(|scope| {
        let both: Vec<_> = (0..2).map(|_| scope.spawn(|| bench.tell(&["sync"]))).collect();
        both.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for told in told {
        assert_eq!(told.code, 0, "{told:?}\n{}", bench.seen());
    }
    bench.until("the edit goes out", || words(&bench.content("Page 1")).contains("mine"));
    bench.until_in_step();
    // Nothing asks for a pass now: a page that lives is looked at again by itself.
    bench.world().app_edit(&page, vec![paragraph("a", "seen by polling")]);
    bench.until("a change arrives by polling", || bench.text("Page 1.md").contains("seen by polling"));
    bench.rest(daemon);
}

#[test]
fn a_sync_beside_a_daemon_tells_what_needs_the_user() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    save(&bench.page("Page 1.md"), "");
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}");
    assert!(told.out.starts_with("11 pages in sync, 1 on hold; 1 thing needs attention\n! "), "{told:?}");
    assert!(told.out.contains("Pages/Page 1.md\n    not sent: it is empty, but"), "{told:?}");
    let away = bench.outside("away");
    fs::rename(bench.root(), &away).unwrap();
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.err.starts_with("espejo: nothing is written on either side: "), "{told:?}");
    assert_eq!(told.err.lines().count(), 1, "{told:?}");
    fs::rename(&away, bench.root()).unwrap();
    bench.until("the folder is taken up again", || bench.tell(&["sync"]).code == 3);
    // The daemon goes in the middle of a pass: that is told, and no success is claimed.
    bench.world().fail_randomly(espejo::emulator::Matcher::Any, espejo::emulator::Fault::Delay(400), 1000);
    bench.forget_requests();
    let told = std::thread::scope(|scope| {
        let told = scope.spawn(|| bench.tell(&["sync"]));
        // Only a pass asks for the workspaces more than once an hour.
        bench.until("the pass has begun", || bench.requests().contains(&"GET /workspaces".to_owned()));
        daemon.kill();
        told.join().unwrap()
    });
    assert_eq!((told.code, told.out.as_str()), (1, ""), "{told:?}");
    assert!(told.err.contains("stopped before it was done; run the same command again"), "{told:?}");
}

#[test]
fn a_sync_trashes_what_was_deleted_and_waits_its_grace_time() {
    let bench = bench("delete_grace_seconds = 2");
    bench.sync();
    let ids = ["Page 1", "Page 2"].map(|title| bench.id(title));
    bench.forget_requests();
    for n in 1..3 {
        fs::remove_file(bench.page(&format!("Page {n}.md"))).unwrap();
    }
    let told = bench.sync();
    assert_eq!(told.out, "10 pages in sync: 2 changes sent, 0 received\n");
    assert!(ids.iter().all(|id| bench.is_trashed(id)), "{}", bench.seen());
    assert_eq!(bench.disagreement(), None);
    bench.rests();
    // What comes back within the grace time was not deleted, also where no daemon runs.
    let text = bench.text("Page 3.md");
    fs::remove_file(bench.page("Page 3.md")).unwrap();
    bench.forget_requests();
    let told = std::thread::scope(|scope| {
        let told = scope.spawn(|| bench.tell(&["sync"]));
        bench.until("it is noticed", || bench.list().iter().any(|row| row["state"] == "deleted"));
        save(&bench.page("Page 3.md"), &text);
        told.join().unwrap()
    });
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(bench.writes(), Vec::<String>::new());
    bench.rests();
}

#[test]
fn a_dry_run_counts_in_the_limit_of_everybody() {
    let bench = bench("");
    let counted = || bench.status()["requests_last_minute"].as_u64().unwrap();
    assert_eq!(bench.tell(&["sync"]).code, 0, "{}", bench.seen());
    for beside_a_daemon in [false, true] {
        let daemon = beside_a_daemon.then(|| bench.run_in_step());
        let before = counted();
        bench.forget_requests();
        let told = bench.tell(&["sync", "--dry-run"]);
        assert_eq!((told.code, told.out.as_str()), (0, "nothing to do\n"), "{told:?}");
        let asked = bench.requests().len() as u64;
        assert!(asked >= 14 && counted() >= before + asked, "{before}, {asked}, {}", counted());
        // What was borrowed and not made has been given back.
        assert!(beside_a_daemon || counted() == before + asked, "{before}, {asked}, {}", counted());
        if let Some(daemon) = daemon {
            bench.rest(daemon);
        }
    }
}

#[test]
fn a_first_dry_run_is_counted_for_the_first_run() {
    let bench = bench("");
    let told = bench.tell(&["sync", "--dry-run"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.ends_with("12 changes would be made; nothing was changed\n"), "{told:?}");
    let asked = bench.requests().len() as u64;
    assert!(asked >= 14, "{asked}");
    assert_eq!(bench.status()["requests_last_minute"], asked);
    assert!(!bench.root().exists());
}

#[test]
fn a_dry_run_leaves_nothing_behind_and_shows_nobody_the_state() {
    let bench = bench("");
    bench.sync();
    let folder = bench.outside("tmp");
    fs::create_dir(&folder).unwrap();
    let inside = || fs::read_dir(&folder).unwrap().flatten().collect::<Vec<_>>();
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        bench.world().fail_next(Matcher::Any, Fault::Delay(30_000));
        bench.forget_requests();
        let mut command = bench.espejo(&["sync", "--dry-run"]);
        let mut child = command.env("TMPDIR", &folder).stderr(std::process::Stdio::null()).spawn().unwrap();
        bench.until("it asks", || !bench.requests().is_empty());
        let made = inside();
        assert_eq!(made.len(), 1);
        assert_eq!(made[0].metadata().unwrap().permissions().mode() & 0o777, 0o700);
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1));
        assert!(inside().is_empty());
    }
}

#[test]
fn no_title_turns_the_terminal_around() {
    let bench = bench("");
    bench.sync();
    save(&bench.page("New \u{202e}.md"), "words\n");
    let told = bench.tell(&["sync", "--dry-run"]);
    assert!(told.out.contains("up    create page New ") && !told.out.contains('\u{202e}'), "{told:?}");
    bench.sync();
    fs::rename(bench.page("New \u{202e}.md"), bench.page("Newer.md")).unwrap();
    bench.sync();
    let told = bench.tell(&["undo", "--dry-run"]);
    assert!(
        told.out.contains("you renamed Equipo/Pages/Newer.md (was New ") && !told.out.contains('\u{202e}'),
        "{told:?}"
    );
}

#[test]
fn no_title_turns_the_terminal_around_in_json() {
    let title = "Notes \u{9b}31m\u{202e}\u{2066}\u{200f}";
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, title, vec![paragraph("a", &format!("words {title}"))]);
    });
    bench.sync();
    let items = bench.list();
    assert_eq!(items[0]["title"], title, "{items:?}");
    let name = items[0]["path"].as_str().unwrap().to_owned();
    let file = bench.root().join(&name);
    let file = file.to_str().unwrap();
    append(&bench.root().join(&name), "\nunsent\n");
    let copy = bench.outside("copy");
    for (command, says) in [
        (&["list", "--json"][..], title),
        (&["status", file, "--json"], &name),
        (&["log", file, "--json"], ""),
        (&["status", "--json"], ""),
        (&["resolve", "--json"], ""),
        (&["doctor", "--json"], ""),
        (&["search", "words", "--json"], title),
        (&["export", copy.to_str().unwrap(), "--json"], ""),
    ] {
        let told = bench.tell(command);
        let is_safe = |c: char| !c.is_control() || c == '\n';
        assert!(
            told.out.chars().all(is_safe) && !told.out.contains(['\u{202e}', '\u{2066}', '\u{200f}']),
            "{told:?}"
        );
        let read: serde_json::Value = serde_json::from_str(&told.out).expect("one JSON value");
        assert!(says.is_empty() || says_it(&read, says), "{told:?}");
    }
}

/// Whether a string somewhere in it is just this text.
fn says_it(value: &serde_json::Value, text: &str) -> bool {
    match value {
        serde_json::Value::String(found) => found == text,
        serde_json::Value::Array(all) => all.iter().any(|value| says_it(value, text)),
        serde_json::Value::Object(all) => all.values().any(|value| says_it(value, text)),
        _ => false,
    }
}

#[test]
fn another_command_under_way_is_not_taken_for_a_daemon() {
    let bench = bench("");
    bench.sync();
    let lock = espejo::mirror::lock::Lock::acquire(&bench.state()).unwrap();
    let process = format!("(process {})", std::process::id());
    save(&bench.page("Page 1.md"), "");
    let file = bench.page("Page 1.md");
    let file = file.to_str().unwrap();
    for command in [&["pause"][..], &["restore", file, "--at", "0d"]] {
        let told = bench.tell(command);
        assert!(
            told.code == 1
                && told.err.contains("another espejo command is using")
                && told.err.contains(&process),
            "{told:?}"
        );
        assert!(told.err.contains("try again when it has ended"), "{told:?}");
    }
    assert_eq!(bench.status()["state"], "busy");
    let told = bench.tell(&["status"]);
    assert!(told.out.contains("a sync or another command is running"), "{told:?}");
    drop(lock);
    assert_eq!(bench.status()["state"], "stopped");
}
