//! `sync PATH`: a check now of what is named, beside a daemon and without one, and what is said of it.

use std::fs;

use espejo::emulator::{Fault, Matcher};
use espejo::model::CanvasId;
use serde_json::{Value, json};

use super::bench::{Bench, Told, append, paragraph, save, side_by_side, words};
use super::boards::kick_off;
use super::storage::{bytes, text};

const ALL: &str =
    "[whiteboards]\nenabled = true\n[presentations]\nenabled = true\n\n[storage]\nmode = \"backup\"";

/// Twelve pages, three of them beneath Page 3.
fn bench(pages: &str) -> Bench {
    Bench::with(pages, |world, space| {
        let mut above = None;
        for n in 0..9 {
            let id = world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
            above = if n == 3 { Some(id) } else { above };
        }
        for n in 0..3 {
            world.app_create(space, above.as_ref(), &format!("Sub {n}"), vec![paragraph("a", "words")]);
        }
    })
}

#[track_caller]
fn synced(bench: &Bench, paths: &[&str]) -> Told {
    let full: Vec<String> = paths.iter().map(|path| bench.root().join(path).display().to_string()).collect();
    let mut words = vec!["sync"];
    words.extend(full.iter().map(String::as_str));
    let told = bench.tell(&words);
    assert_eq!(told.code, 0, "{told:?}\n{}", bench.seen());
    told
}

/// What both kinds of run say and do.
fn check(bench: &Bench) {
    let edit = |title: &str, text: &str| {
        let id = bench.id(title);
        assert!(bench.world().app_edit(&id, vec![paragraph("a", text)]));
    };
    let gets = || bench.requests().iter().filter(|line| line.starts_with("GET /pages/")).count();
    edit("Page 1", "words and more");
    bench.forget_requests();
    let told = synced(bench, &["Equipo/Pages/Page 1.md"]);
    assert_eq!(
        told.out,
        "the app edited Equipo/Pages/Page 1.md  +2\nChecked 1 page; 1 changed.\n",
        "{}",
        bench.seen()
    );
    assert_eq!(bench.text("Page 1.md").trim_end().lines().last(), Some("words and more"));
    assert_eq!(gets(), 1, "{:?}", bench.requests());
    assert_eq!(synced(bench, &["Equipo/Pages/Page 1.md"]).out, "Checked 1 page; nothing changed.\n");
    // A folder: what is beneath it, what is new there, and what left.
    edit("Sub 0", "words");
    edit("Sub 1", "other words");
    edit("Page 2", "not asked for");
    let above = bench.id("Page 3");
    bench.world().app_create(&bench.space, Some(&above), "Sub 9", vec![paragraph("a", "new")]);
    let gone = bench.id("Sub 2");
    bench.world().app_trash(&gone);
    let told = synced(bench, &["Equipo/Pages/Page 3"]);
    for line in [
        "the app edited Equipo/Pages/Page 3/Sub 1.md  +1\n",
        "the app added Equipo/Pages/Page 3/Sub 9.md\n",
        "the app deleted Equipo/Pages/Page 3/Sub 2.md  (the file is in .espejo/trash)\n",
        "\nChecked 5 pages; 3 changed.\n",
    ] {
        assert!(told.out.contains(line), "{line}: {told:?}\n{}", bench.seen());
    }
    assert!(bench.page("Page 3/Sub 9.md").exists() && !bench.page("Page 3/Sub 2.md").exists());
    // One page that is gone, named alone; one that has another name.
    let gone = bench.id("Page 7");
    bench.world().app_trash(&gone);
    let told = synced(bench, &["Equipo/Pages/Page 7.md"]);
    assert!(told.out.starts_with("the app deleted Equipo/Pages/Page 7.md"), "{told:?}\n{}", bench.seen());
    assert!(!bench.page("Page 7.md").exists());
    let renamed = bench.id("Page 8");
    bench.world().app_rename(&renamed, "Page Eight");
    let told = synced(bench, &["Equipo/Pages/Page 8.md", "Equipo/Pages/Page 1.md"]);
    let said = "the app renamed Equipo/Pages/Page Eight.md  (was Page 8.md)\nChecked 2 pages; 1 changed.\n";
    assert_eq!(told.out, said, "{}", bench.seen());
    // Nothing of the service is there.
    let nowhere = bench.page("Nowhere.md");
    for path in [nowhere.display().to_string(), "/etc/hosts".to_owned()] {
        let told = bench.tell(&["sync", &path]);
        assert_eq!(told.code, 1, "{told:?}");
        assert!(
            told.err.contains("espejo list shows what is") || told.err.contains("not in the mirror"),
            "{told:?}"
        );
    }
}

#[test]
fn a_sync_of_a_place_without_a_daemon_checks_it_and_says_what_came() {
    let bench = bench("");
    let told = bench.tell(&["sync", "Page 1.md"]);
    assert!(told.code == 1 && told.err.contains("there is no mirror yet"), "{told:?}");
    bench.sync();
    check(&bench);
}

#[test]
fn a_sync_of_a_place_beside_a_daemon_is_made_by_it_and_edits_go_first() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    check(&bench);
    // An edit meanwhile goes out first, and is said.
    append(&bench.page("Page 5.md"), "\nmine\n");
    let told = synced(&bench, &["Equipo"]);
    assert!(told.out.contains("you edited Equipo/Pages/Page 5.md"), "{told:?}");
    assert!(words(&bench.content("Page 5")).contains("mine"));
    bench.until_in_step();
    // Two at once are told each of its own.
    std::thread::scope(|scope| {
        let one = scope.spawn(|| synced(&bench, &["Equipo/Pages/Page 1.md"]));
        let two = scope.spawn(|| synced(&bench, &["Equipo/Pages/Page 3"]));
        assert_eq!(one.join().unwrap().out, "Checked 1 page; nothing changed.\n");
        assert_eq!(two.join().unwrap().out, "Checked 4 pages; nothing changed.\n");
    });
    bench.rest(daemon);
}

#[test]
fn what_is_late_is_told_and_a_sync_checks_it() {
    let bench = bench("");
    bench.sync();
    assert!(bench.status()["freshness"]["late"]["pages"] == 0, "{}", bench.status());
    assert!(!bench.tell(&["status"]).out.contains("  late "));
    // An hour passes, as far as the checks are concerned.
    let db = rusqlite::Connection::open(bench.state().join("espejo.sqlite3")).unwrap();
    db.execute_batch("UPDATE pages SET poll_last = poll_last - 3600000").unwrap();
    drop(db);
    let late = bench.status()["freshness"]["late"].clone();
    assert!(late["pages"] == 12 && late["oldest_check_seconds"].as_i64() >= Some(3_600), "{late}");
    let row = bench.tell(&["status"]).out;
    assert!(
        row.contains("late       12 pages: the oldest check was 1 h ago, and should be within 2"),
        "{row}"
    );
    assert!(row.contains("espejo sync checks them now"), "{row}");
    bench.sync();
    assert_eq!(bench.status()["freshness"]["late"]["pages"], 0);
}

#[test]
fn a_sync_of_a_place_sends_what_is_new_and_changed_there_and_nothing_else() {
    side_by_side([false, true], |beside_daemon| {
        let bench = bench("");
        bench.sync();
        let daemon = beside_daemon.then(|| bench.run_in_step());
        let place = |path: &str| bench.page(path).display().to_string();
        save(&bench.page("Page 3/New.md"), "new words\n");
        append(&bench.page("Page 3/Sub 0.md"), "\nmine\n");
        let told = bench.tell(&["sync", &place("Page 3"), "--json"]);
        assert_eq!(told.code, 0, "{told:?}\n{}", bench.seen());
        let value: Value = serde_json::from_str(&told.out).expect("one JSON value");
        let changes = value["changes"].as_array().unwrap();
        let mine = |what: &str, path: &str| {
            changes.iter().any(|change| {
                change["who"] == "you"
                    && change["what"] == what
                    && change["path"] == format!("Equipo/Pages/Page 3/{path}")
            })
        };
        // A daemon may have sent some of it by itself, before it was asked.
        let is_told = mine("edited", "Sub 0.md") && mine("added", "New.md");
        assert!(is_told || beside_daemon, "{value}\n{}", bench.seen());
        assert!(words(&bench.content("Sub 0")).contains("mine"));
        assert_eq!(words(&bench.content("New")), "new words\n");
        // A new file alone, and one that can be no page.
        save(&bench.page("Alone.md"), "alone\n");
        let told = bench.tell(&["sync", &place("Alone.md")]);
        assert!(told.code == 0 && (told.out.starts_with("you added") || beside_daemon), "{told:?}");
        assert_eq!(words(&bench.content("Alone")), "alone\n");
        save(&bench.page("data.csv"), "1,2\n");
        let told = bench.tell(&["sync", &place("data.csv")]);
        assert!(told.code == 1 && told.err.contains("data.csv"), "{told:?}");
        drop(daemon);
    });
}

#[test]
fn canvases_presentations_and_stored_files_can_be_named() {
    let (mut board, mut ids, mut slide) = (None, Vec::new(), None);
    let mut folder = None;
    let bench = Bench::with(ALL, |world, space| {
        let (canvas, all) = kick_off(world, space);
        (board, ids) = (Some(canvas), all);
        let deck = world.app_create_deck("Pitch", 960.0, 540.0);
        let first = world.app_insert_slide(&deck, 0).unwrap();
        slide = Some(CanvasId::Slide(deck, first));
        let made = world.app_make_folder(None, "Papers");
        world.app_put_file(Some(&made), "one.txt", bytes("one"));
        folder = Some(made);
        world.app_create(space, None, "Notes", vec![paragraph("a", "words")]);
    });
    let (board, slide, folder) = (board.unwrap(), slide.unwrap(), folder.unwrap());
    let told = bench.tell(&["sync"]);
    assert!(matches!(told.code, 0 | 3), "{told:?}");
    let daemon = bench.run();
    bench.until("it runs", || bench.status()["state"] == "running");
    bench.until("nothing is to come", || {
        let status = bench.status();
        status["canvases"]["unmirrored"] == 0 && status["storage"]["to_come"]["files"] == 0
    });
    bench.world().app_edit_element(&board, &ids[0], json!({ "content": "changed" }));
    for name in ["Kick-off.canvas", "Kick-off.svg"] {
        let told = synced(&bench, &[&format!("Equipo/Whiteboards/{name}")]);
        assert!(
            told.out.ends_with(if name.ends_with("svg") {
                "Checked 1 canvas; nothing changed.\n"
            } else {
                "Checked 1 canvas; 1 changed.\n"
            }),
            "{told:?}\n{}",
            bench.seen()
        );
    }
    assert!(fs::read_to_string(bench.board_file("Kick-off.canvas")).unwrap().contains("changed"));
    bench.world().app_put_element(&slide, json!({ "type": "text", "content": "on a slide" }));
    let told = synced(&bench, &["Presentations/Pitch.canvas"]);
    assert!(told.out.contains("the app changed Presentations/Pitch.canvas"), "{told:?}\n{}", bench.seen());
    bench.world().app_put_file(Some(&folder), "two.txt", bytes("two"));
    let inner = bench.world().app_make_folder(Some(&folder), "Inner");
    bench.world().app_put_file(Some(&inner), "three.txt", bytes("three"));
    let told = synced(&bench, &["Storage/Papers"]);
    assert_eq!(text(&bench, "Papers/two.txt") + &text(&bench, "Papers/Inner/three.txt"), "twothree");
    assert!(told.out.contains("the app changed Storage/Papers/two.txt"), "{told:?}");
    assert!(
        told.out.ends_with("Checked 2 folders of the storage; 2 changed.\n"),
        "{told:?}\n{}",
        bench.seen()
    );
    let told = synced(&bench, &["Storage/Papers/one.txt"]);
    assert_eq!(told.out, "Checked 1 folder of the storage; nothing changed.\n", "{}", bench.seen());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn a_service_that_is_away_fails_a_sync_of_a_place_and_what_needs_the_user_is_told() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    // Named, it is said; not named, it is of no concern.
    save(&bench.page("Page 1.md"), "");
    bench.until("it is told", || bench.attention().contains("Page 1.md"));
    assert_eq!(synced(&bench, &["Equipo/Pages/Page 2.md"]).out, "Checked 1 page; nothing changed.\n");
    let page = bench.page("Page 1.md").display().to_string();
    let told = bench.tell(&["sync", &page]);
    assert_eq!(told.code, 3, "{told:?}");
    assert!(told.out.contains("Pages/Page 1.md\n    not sent: it is empty, but"), "{told:?}");
    bench.world().fail_randomly(Matcher::Any, Fault::LostBefore, 1_000);
    for _ in 0..2 {
        let told = bench.tell(&["sync", &page]);
        assert_eq!(told.code, 1, "{told:?}\n{}", bench.seen());
        assert!(told.err.contains("the service"), "{told:?}");
    }
    bench.world().calm();
    let told = bench.tell(&["sync", &page]);
    assert_eq!(told.code, 3, "whoever asks need not wait for the next try: {told:?}\n{}", bench.seen());
    assert_eq!(bench.tell(&["pause"]).code, 0);
    assert_eq!(daemon.stop().code(), Some(0));
    let told = bench.tell(&["sync", &page]);
    assert!(told.code == 1 && told.err.contains("espejo resume"), "{told:?}");
}
