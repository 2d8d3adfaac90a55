//! `pull`: a look now at what is named, beside a daemon and without one, and what is said of it.

use std::fs;

use espejo::emulator::{Fault, Matcher};
use espejo::model::CanvasId;
use serde_json::{Value, json};

use super::bench::{Bench, Told, append, paragraph, save, words};
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
fn pull(bench: &Bench, paths: &[&str]) -> Told {
    let full: Vec<String> = paths.iter().map(|path| bench.root().join(path).display().to_string()).collect();
    let mut words = vec!["pull"];
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
    let told = pull(bench, &["Equipo/Pages/Page 1.md"]);
    assert_eq!(
        told.out,
        "the app edited Equipo/Pages/Page 1.md  +2\nChecked 1 page; 1 changed.\n",
        "{}",
        bench.seen()
    );
    assert_eq!(bench.text("Page 1.md").trim_end().lines().last(), Some("words and more"));
    assert_eq!(gets(), 1, "{:?}", bench.requests());
    assert_eq!(pull(bench, &["Equipo/Pages/Page 1.md"]).out, "Checked 1 page; nothing changed.\n");
    // A folder: what is beneath it, what is new there, and what left.
    edit("Sub 0", "words");
    edit("Sub 1", "other words");
    edit("Page 2", "not asked for");
    let above = bench.id("Page 3");
    bench.world().app_create(&bench.space, Some(&above), "Sub 9", vec![paragraph("a", "new")]);
    let gone = bench.id("Sub 2");
    bench.world().app_trash(&gone);
    let told = pull(bench, &["Equipo/Pages/Page 3"]);
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
    let told = pull(bench, &["Equipo/Pages/Page 7.md"]);
    assert!(told.out.starts_with("the app deleted Equipo/Pages/Page 7.md"), "{told:?}\n{}", bench.seen());
    assert!(!bench.page("Page 7.md").exists());
    let renamed = bench.id("Page 8");
    bench.world().app_rename(&renamed, "Page Eight");
    let told = pull(bench, &["Equipo/Pages/Page 8.md", "Equipo/Pages/Page 1.md"]);
    let said = "the app renamed Equipo/Pages/Page Eight.md  (was Page 8.md)\nChecked 2 pages; 1 changed.\n";
    assert_eq!(told.out, said, "{}", bench.seen());
    // Nothing of the service is there.
    let nowhere = bench.page("Nowhere.md");
    for path in [nowhere.display().to_string(), "/etc/hosts".to_owned()] {
        let told = bench.tell(&["pull", &path]);
        assert_eq!(told.code, 1, "{told:?}");
        assert!(
            told.err.contains("espejo list shows what is") || told.err.contains("not in the mirror"),
            "{told:?}"
        );
    }
}

#[test]
fn a_pull_without_a_daemon_looks_at_what_is_named_and_says_what_came() {
    let bench = bench("");
    let told = bench.tell(&["pull", "Page 1.md"]);
    assert!(told.code == 1 && told.err.contains("there is no mirror yet"), "{told:?}");
    bench.sync();
    check(&bench);
}

#[test]
fn a_pull_beside_a_daemon_is_made_by_it_and_edits_go_first() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    check(&bench);
    // An edit meanwhile goes out, and comes back by no line of the pull.
    append(&bench.page("Page 5.md"), "\nmine\n");
    let told = pull(&bench, &["Equipo"]);
    assert!(!told.out.contains("Page 5.md"), "{told:?}");
    bench.until("the edit goes out", || words(&bench.content("Page 5")).contains("mine"));
    bench.until_in_step();
    // Two at once are told each of its own.
    std::thread::scope(|scope| {
        let one = scope.spawn(|| pull(&bench, &["Equipo/Pages/Page 1.md"]));
        let two = scope.spawn(|| pull(&bench, &["Equipo/Pages/Page 3"]));
        assert_eq!(one.join().unwrap().out, "Checked 1 page; nothing changed.\n");
        assert_eq!(two.join().unwrap().out, "Checked 4 pages; nothing changed.\n");
    });
    bench.rest(daemon);
}

#[test]
fn without_a_path_the_lists_and_what_is_late_are_looked_at() {
    let bench = bench("");
    let first = bench.tell(&["pull"]);
    assert_eq!(first.code, 0, "{first:?}\n{}", bench.seen());
    let said = "\nChecked 2 lists and 12 pages; no check was overdue; 12 changed.\n";
    assert!(first.out.ends_with(said), "a first mirror: {first:?}");
    assert!(bench.status()["freshness"]["late"]["pages"] == 0, "{}", bench.status());
    assert!(!bench.tell(&["status"]).out.contains("  late "));
    let (edited, id) = ("Page 4", bench.id("Page 4"));
    bench.world().app_edit(&id, vec![paragraph("a", "words of late")]);
    bench.world().app_create(&bench.space, None, "Newest", vec![]);
    // Nothing is late yet, and lists show what is new.
    bench.forget_requests();
    let told = pull(&bench, &[]);
    let said = "the app added Equipo/Pages/Newest.md\nChecked 2 lists and 1 page; no check was overdue; 1 changed.\n";
    assert_eq!(told.out, said, "{}", bench.seen());
    // An hour passes, as far as the looks are concerned.
    let db = rusqlite::Connection::open(bench.state().join("espejo.sqlite3")).unwrap();
    db.execute_batch("UPDATE pages SET poll_last = poll_last - 3600000").unwrap();
    drop(db);
    let late = bench.status()["freshness"]["late"].clone();
    assert!(late["pages"] == 13 && late["oldest_check_seconds"].as_i64() >= Some(3_600), "{late}");
    let row = bench.tell(&["status"]).out;
    assert!(
        row.contains("late       13 pages: the oldest check was 1 h ago, and should be within 2"),
        "{row}"
    );
    assert!(row.contains("check now with espejo pull"), "{row}");
    let told = bench.tell(&["pull", "--json"]);
    let value: Value = serde_json::from_str(&told.out).unwrap_or_else(|error| panic!("{error}: {told:?}"));
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(
        (&value["late"], &value["changed"], &value["left"]),
        (&json!(13), &json!(1), &json!(0)),
        "{value}"
    );
    assert_eq!(value["checked"]["pages"], 13, "{value}");
    let change = &value["changes"][0];
    assert_eq!((&change["who"], &change["what"]), (&json!("app"), &json!("edited")), "{value}");
    assert_eq!(change["path"], format!("Equipo/Pages/{edited}.md"), "{value}");
    assert_eq!(bench.status()["freshness"]["late"]["pages"], 0);
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
        let told = pull(&bench, &[&format!("Equipo/Whiteboards/{name}")]);
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
    let told = pull(&bench, &["Presentations/Pitch.canvas"]);
    assert!(told.out.contains("the app changed Presentations/Pitch.canvas"), "{told:?}\n{}", bench.seen());
    bench.world().app_put_file(Some(&folder), "two.txt", bytes("two"));
    let inner = bench.world().app_make_folder(Some(&folder), "Inner");
    bench.world().app_put_file(Some(&inner), "three.txt", bytes("three"));
    let told = pull(&bench, &["Storage/Papers"]);
    assert_eq!(text(&bench, "Papers/two.txt") + &text(&bench, "Papers/Inner/three.txt"), "twothree");
    assert!(told.out.contains("the app changed Storage/Papers/two.txt"), "{told:?}");
    assert!(
        told.out.ends_with("Checked 2 folders of the storage; 2 changed.\n"),
        "{told:?}\n{}",
        bench.seen()
    );
    let told = pull(&bench, &["Storage/Papers/one.txt"]);
    assert_eq!(told.out, "Checked 1 folder of the storage; nothing changed.\n", "{}", bench.seen());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn a_service_that_is_away_fails_a_pull_and_what_needs_the_user_is_told() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    // Named, it is said; not named, it is of no concern.
    save(&bench.page("Page 1.md"), "");
    bench.until("it is told", || bench.attention().contains("Page 1.md"));
    assert_eq!(pull(&bench, &["Equipo/Pages/Page 2.md"]).out, "Checked 1 page; nothing changed.\n");
    let page = bench.page("Page 1.md").display().to_string();
    let told = bench.tell(&["pull", &page]);
    assert_eq!(told.code, 3, "{told:?}");
    assert!(told.out.contains("Pages/Page 1.md\n    not sent: it is empty, but"), "{told:?}");
    bench.world().fail_randomly(Matcher::Any, Fault::LostBefore, 1_000);
    for _ in 0..2 {
        let told = bench.tell(&["pull", &page]);
        assert_eq!(told.code, 1, "{told:?}\n{}", bench.seen());
        assert!(told.err.contains("the service"), "{told:?}");
    }
    bench.world().calm();
    let told = bench.tell(&["pull", &page]);
    assert_eq!(told.code, 3, "whoever asks need not wait for the next try: {told:?}\n{}", bench.seen());
    assert_eq!(bench.tell(&["pause"]).code, 0);
    let told = bench.tell(&["pull"]);
    assert!(told.code == 1 && told.err.contains("espejo resume"), "{told:?}");
    assert_eq!(daemon.stop().code(), Some(0));
    let told = bench.tell(&["pull", &page]);
    assert!(told.code == 1 && told.err.contains("espejo resume"), "{told:?}");
}
