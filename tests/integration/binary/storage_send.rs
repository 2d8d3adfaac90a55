//! Personal storage both ways: what a person does to local files, and what of it the API can do.

use std::fs::{self, File};
use std::io::Write;

use espejo::emulator::{Fault, FileRecord, Matcher, World};
use espejo::model::FileId;
use serde_json::Value;

use super::bench::Bench;
use super::storage::{bytes, files, stored, text};

/// More files than may be deleted at once.
const RENAMED: usize = 14;
pub(super) const BOTH: &str = "[storage]\nmode = \"two-way\"";

pub(super) fn write(bench: &Bench, path: &str, text: &[u8]) {
    let path = stored(bench, path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    File::create(path).unwrap().write_all(text).unwrap();
}

/// What the service shows, as `name: content`, sorted.
pub(super) fn there(bench: &Bench) -> Vec<String> {
    let world = bench.world();
    let shown = |file: &&FileRecord| world.storage_shows(&file.id);
    let line = |file: &FileRecord| format!("{}: {}", file.filename, String::from_utf8_lossy(&file.bytes()));
    let mut all: Vec<String> = world.storage_files().filter(shown).map(line).collect();
    all.sort();
    all
}

pub(super) fn in_trash(bench: &Bench) -> usize {
    bench.world().storage_files().filter(|file| file.trashed).count()
}

pub(super) fn uploads(bench: &Bench) -> usize {
    bench.writes().iter().filter(|line| **line == "POST /storage").count()
}

pub(super) fn docs_and_three() -> Bench {
    Bench::with(BOTH, |world, _| {
        let docs = world.app_make_folder(None, "Docs");
        for name in ["a.txt", "b.txt", "c.txt"] {
            world.app_put_file(Some(&docs), name, bytes(name));
        }
        for n in 0..9 {
            world.app_put_file(None, &format!("{n}.pdf"), bytes("pdf"));
        }
    })
}

#[test]
fn a_file_that_is_written_all_the_time_is_sent_now_and_then_and_in_its_last_version() {
    let bench = docs_and_three();
    bench.sync();
    let _daemon = bench.run();
    write(&bench, "app.log", b"0");
    bench.until("it is there", || there(&bench).contains(&"app.log: 0".into()));
    for n in 0..20 {
        write(&bench, "app.log", format!("line {n}").as_bytes());
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    assert!(uploads(&bench) <= 3, "{}", bench.seen());
    bench.until("the last version is there", || there(&bench).contains(&"app.log: line 19".into()));
    assert!(uploads(&bench) <= 3, "{}", bench.seen());
}

#[test]
fn a_file_that_somebody_else_put_there_in_the_same_seconds_is_not_uploaded_again() {
    let bench = docs_and_three();
    bench.sync();
    let _daemon = bench.run();
    write(&bench, "first.txt", b"it runs");
    bench.until("it is there", || there(&bench).contains(&"first.txt: it runs".into()));
    std::thread::sleep(std::time::Duration::from_secs(6));
    bench.forget_requests();
    bench.world().app_put_file(None, "twin.txt", bytes("the same words"));
    write(&bench, "twin.txt", b"the same words");
    bench.until("it is in step", || bench.status()["storage"]["local_only"].as_u64() == Some(0));
    bench.sync();
    assert_eq!(uploads(&bench), 0, "{}", bench.seen());
    assert_eq!(there(&bench).iter().filter(|line| line.starts_with("twin")).count(), 1);
}

#[test]
fn a_new_file_is_uploaded_once_and_a_second_sync_sends_nothing() {
    let bench = docs_and_three();
    bench.sync();
    assert_eq!(bench.writes(), Vec::<String>::new(), "what came down does not go up");
    write(&bench, "Docs/new.txt", b"words");
    write(&bench, "empty.txt", b"");
    write(&bench, "~draft.tmp", b"an editor's own");
    bench.sync();
    let shown = there(&bench);
    assert!(shown.contains(&"new.txt: words".into()) && shown.contains(&"empty.txt: ".into()), "{shown:?}");
    assert_eq!((uploads(&bench), bench.writes().len()), (2, 2));
    bench.forget_requests();
    let before = files(&bench.root().join("Storage"));
    bench.sync();
    assert_eq!(bench.writes(), Vec::<String>::new());
    assert_eq!(bench.world().downloads().entries().len(), 12, "nothing that went up comes down");
    assert_eq!(files(&bench.root().join("Storage")), before);
}

#[test]
fn a_changed_file_is_uploaded_and_the_old_one_trashed_after_the_new_one_is_seen() {
    let bench = docs_and_three();
    bench.sync();
    write(&bench, "Docs/a.txt", b"a.txt, longer");
    bench.sync();
    let shown = there(&bench);
    assert!(
        shown.contains(&"a.txt: a.txt, longer".into()) && !shown.contains(&"a.txt: a.txt".into()),
        "{shown:?}"
    );
    assert_eq!((shown.len(), in_trash(&bench)), (12, 1));
    let log = bench.requests();
    let at = |what: &str| log.iter().position(|line| line.starts_with(what)).unwrap();
    let seen =
        log.iter().enumerate().any(|(n, line)| n > at("POST") && n < at("DELETE") && line == "GET /storage");
    assert!(seen, "{log:?}");
    assert_eq!(files(&stored(&bench, "Docs")).len(), 3);
    assert_eq!(text(&bench, "Docs/a.txt"), "a.txt, longer");
    // A touch, and a save of the same bytes, send nothing.
    bench.forget_requests();
    write(&bench, "Docs/a.txt", b"a.txt, longer");
    bench.sync();
    assert_eq!(bench.writes(), Vec::<String>::new());
}

#[test]
fn a_file_of_the_service_is_sent_after_a_change_though_its_name_is_that_of_an_editors_backup() {
    let bench = docs_and_three();
    bench.world().app_put_file(None, "accounts.bak", bytes("of 2025"));
    bench.sync();
    write(&bench, "accounts.bak", b"of 2025, corrected");
    write(&bench, "a.txt.bak", b"an editor's own");
    bench.sync();
    let shown = there(&bench);
    assert!(shown.contains(&"accounts.bak: of 2025, corrected".into()), "{shown:?}");
    assert_eq!((uploads(&bench), in_trash(&bench)), (1, 1), "{}", bench.seen());
    // A version that cannot be sent is not in step.
    write(&bench, "accounts.bak", &vec![7; 3 * 1024 * 1024 + 1]);
    assert_eq!(bench.tell(&["sync"]).code, 3);
    let list: Value = serde_json::from_str(&bench.tell(&["list", "--json"]).out).unwrap();
    let state = |path: &str| list.as_array()?.iter().find(|row| row["path"] == path)?["state"].as_str();
    assert_eq!(state("Storage/accounts.bak"), Some("problem"), "{list}");
    assert_eq!(state("Storage/Docs/a.txt"), Some("synced"));
}

#[test]
fn a_deleted_file_is_trashed_and_many_wait_for_approval() {
    let bench = docs_and_three();
    bench.sync();
    fs::remove_file(stored(&bench, "Docs/b.txt")).unwrap();
    bench.sync();
    assert_eq!((there(&bench).len(), in_trash(&bench)), (11, 1));
    assert!(!stored(&bench, "Docs/b.txt").exists());
    let told = |command: &str, path: &str| bench.tell(&[command, stored(&bench, path).to_str().unwrap()]).err;
    let says = told("restore", "Docs/b.txt");
    assert!(says.contains("in the service's trash") && says.contains("restore it in the app"), "{says}");
    let says = told("restore", "Docs/a.txt");
    assert!(says.contains("only pages have versions"), "{says}");
    fs::remove_dir_all(stored(&bench, "Docs")).unwrap();
    for n in 0..5 {
        fs::remove_file(stored(&bench, &format!("{n}.pdf"))).unwrap();
    }
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert_eq!(in_trash(&bench), 1, "{}", bench.seen());
    assert!(bench.attention().contains("nothing is moved to the service's trash"), "{}", bench.attention());
    assert!(bench.attention().contains("from a copy or from the app"), "{}", bench.attention());
    let says = told("restore", "3.pdf");
    assert!(
        says.contains("3.pdf is still at the service") && says.contains("from a copy or from the app"),
        "{says}"
    );
    assert_eq!(bench.tell(&["approve", "--yes"]).code, 0);
    bench.tell(&["sync"]);
    assert_eq!((there(&bench).len(), in_trash(&bench)), (4, 8), "{}", bench.seen());
}

#[test]
fn a_stored_file_that_is_held_for_earlier_deletions_does_not_go_when_those_are_long_ago() {
    let bench = docs_and_three();
    bench.sync();
    for n in 0..3 {
        fs::remove_file(stored(&bench, &format!("{n}.pdf"))).unwrap();
    }
    bench.sync();
    assert_eq!(in_trash(&bench), 3);
    fs::remove_file(stored(&bench, "3.pdf")).unwrap();
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert!(bench.attention().contains("3 of them just before"), "{}", bench.attention());
    let db = rusqlite::Connection::open(bench.state().join("espejo.sqlite3")).unwrap();
    let sql =
        "UPDATE journal SET json = json_set(json, '$.state.Done.at', (json ->> '$.state.Done.at') - 1200000)
        WHERE json ->> '$.deed.Remove' IS NOT NULL AND json ->> '$.state.Done.at' IS NOT NULL";
    assert_eq!(db.execute(sql, []).unwrap(), 3);
    drop(db);
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert_eq!(in_trash(&bench), 3, "{}", bench.seen());
    assert_eq!(bench.tell(&["approve", "--yes"]).code, 0);
    bench.tell(&["sync"]);
    assert_eq!(in_trash(&bench), 4, "{}", bench.seen());
}

#[test]
fn a_renamed_file_is_a_new_one_and_the_old_one_goes_after_it() {
    let bench = docs_and_three();
    bench.sync();
    fs::rename(stored(&bench, "Docs/a.txt"), stored(&bench, "Docs/z.txt")).unwrap();
    bench.sync();
    let shown = there(&bench);
    assert!(shown.contains(&"z.txt: a.txt".into()) && !shown.contains(&"a.txt: a.txt".into()), "{shown:?}");
    assert_eq!((shown.len(), in_trash(&bench), uploads(&bench)), (12, 1, 1));
    // What cannot be uploaded again is not trashed under its old name.
    fs::rename(stored(&bench, "Docs/b.txt"), stored(&bench, "Docs/b.html")).unwrap();
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}");
    assert_eq!(in_trash(&bench), 1);
    let told = bench.attention();
    assert!(
        told.contains("Docs/b.html: not uploaded: ") && told.contains("keeps it as Docs/b.txt"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1, "one sentence for one file: {told}");
    fs::rename(stored(&bench, "Docs/b.html"), stored(&bench, "Docs/b.txt")).unwrap();
    bench.sync();
    assert_eq!(bench.attention(), "");
}

#[test]
fn new_versions_from_another_machine_are_no_removals() {
    for mode in ["backup", "two-way"] {
        let names = |world: &World| world.storage_files().map(|file| file.id.clone()).collect::<Vec<_>>();
        let bench = Bench::with(&format!("[storage]\nmode = \"{mode}\""), |world, _| {
            for n in 0..RENAMED {
                world.app_put_file(None, &format!("{n}.txt"), bytes("older"));
            }
        });
        bench.sync();
        {
            // The API changes no file: a new one takes its place, and the old one is trashed.
            let mut world = bench.world();
            for id in names(&world) {
                world.app_change_file(&id, |file| file.trashed = true);
            }
            for n in 0..RENAMED {
                world.app_put_file(None, &format!("{n}.txt"), bytes("newer"));
            }
        }
        bench.sync();
        assert_eq!(bench.attention(), "", "{mode}");
        let here = files(&bench.root().join("Storage"));
        let texts = (0..RENAMED).map(|n| text(&bench, &format!("{n}.txt"))).collect::<Vec<_>>();
        assert_eq!((here.len(), texts), (RENAMED, vec!["newer".to_owned(); RENAMED]), "{mode}");
        assert_eq!((bench.writes(), there(&bench).len()), (Vec::<String>::new(), RENAMED), "{mode}");
    }
}

#[test]
fn renamed_stored_files_that_are_uploaded_do_not_count_as_deletions_after_a_restart() {
    let bench = Bench::with(BOTH, |world, _| {
        let docs = world.app_make_folder(None, "Docs");
        for n in 0..RENAMED {
            world.app_put_file(Some(&docs), &format!("old {n}.txt"), bytes(&format!("words {n}")));
        }
    });
    bench.sync();
    let daemon = bench.run();
    let failing = Fault::Status { status: 500, retry_after: None };
    bench.world().fail_randomly(Matcher::Method("DELETE".to_owned()), failing, 1000);
    for n in 0..RENAMED {
        fs::rename(
            stored(&bench, &format!("Docs/old {n}.txt")),
            stored(&bench, &format!("Docs/new {n}.txt")),
        )
        .unwrap();
    }
    let names = |bench: &Bench, name: &str| there(bench).iter().filter(|line| line.starts_with(name)).count();
    bench.until("the new ones are there", || names(&bench, "new ") == RENAMED);
    daemon.kill();
    bench.world().calm();
    let daemon = bench.run();
    bench.until("the old ones are in the trash", || names(&bench, "old ") == 0);
    assert_eq!(bench.attention(), "");
    assert_eq!((names(&bench, "new "), daemon.stop().code()), (RENAMED, Some(0)));
}

#[test]
fn a_file_that_the_app_changes_while_it_is_renamed_here_is_there_twice() {
    let mut old: Option<FileId> = None;
    let bench = Bench::with(BOTH, |world, _| {
        let docs = world.app_make_folder(None, "Docs");
        old = Some(world.app_put_file(Some(&docs), "old.txt", bytes("words")));
    });
    let old = old.unwrap();
    bench.sync();
    let daemon = bench.run();
    let failing = Fault::Status { status: 500, retry_after: None };
    bench.world().fail_randomly(Matcher::Method("DELETE".to_owned()), failing, 1000);
    fs::rename(stored(&bench, "Docs/old.txt"), stored(&bench, "Docs/new.txt")).unwrap();
    let is_there = |name: &str| there(&bench).iter().any(|line| line.starts_with(name));
    bench.until("the new one is there", || is_there("new.txt"));
    assert!(bench.world().app_replace_file(&old, bytes("words of the app")));
    bench.until("the app's version is a file", || stored(&bench, "Docs/old.txt").exists());
    bench.world().calm();
    assert!(daemon.stop().success());
    bench.sync();
    assert_eq!(
        (text(&bench, "Docs/old.txt"), text(&bench, "Docs/new.txt")),
        ("words of the app".to_owned(), "words".to_owned())
    );
    assert!(is_there("old.txt") && is_there("new.txt"), "{}", bench.seen());
}

#[test]
fn what_the_service_would_not_take_is_told_before_it_is_asked() {
    let bench = docs_and_three();
    bench.sync();
    write(&bench, "page.html", b"<p>");
    write(&bench, "tool.sh", b"#!/bin/sh");
    write(&bench, "drawing.svg", b"<svg/>");
    write(&bench, "large.dat", &vec![7; 3 * 1024 * 1024 + 1]);
    write(&bench, "fits.dat", &vec![7; 3 * 1024 * 1024]);
    write(&bench, "Mine/inside.txt", b"waits");
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}");
    assert_eq!(uploads(&bench), 1, "{:?}", bench.writes());
    let attention = bench.attention();
    for (place, why) in [
        ("page.html", ".html"),
        ("tool.sh", ".sh"),
        ("drawing.svg", ".svg"),
        ("large.dat", "the service accepts files up to 3 MB"),
        ("Mine/inside.txt", "the API cannot create folders"),
    ] {
        let line = attention.lines().find(|line| line.starts_with(&format!("Storage/{place}:")));
        assert!(line.is_some_and(|line| line.contains(why)), "{place} {why}: {attention}");
    }
    // Each goes as soon as it can: the folder was made in the app, the large file cut, the page packed.
    bench.world().app_make_folder(None, "Mine");
    write(&bench, "large.dat", b"small now");
    fs::rename(stored(&bench, "page.html"), stored(&bench, "page.txt")).unwrap();
    fs::remove_file(stored(&bench, "tool.sh")).unwrap();
    fs::remove_file(stored(&bench, "drawing.svg")).unwrap();
    bench.sync();
    let shown = there(&bench);
    for line in ["inside.txt: waits", "large.dat: small now", "page.txt: <p>"] {
        assert!(shown.contains(&line.into()), "{line}: {shown:?}");
    }
    assert!(stored(&bench, "Mine/inside.txt").exists() && !stored(&bench, "Mine (2)").exists());
}

#[test]
fn an_upload_whose_answer_is_lost_is_made_once() {
    let faults = [
        (Fault::LostAfter, 1),
        (Fault::StatusAfter(500), 1),
        (Fault::Cut, 1),
        (Fault::LostBefore, 2),
        (Fault::Status { status: 503, retry_after: None }, 2),
    ];
    for (fault, posts) in faults {
        let bench = docs_and_three();
        bench.sync();
        write(&bench, "Docs/new.txt", b"words");
        write(&bench, "Docs/a.txt", b"a.txt, longer");
        bench.world().fail_next(Matcher::Route("POST".into(), "/storage".into()), fault.clone());
        bench.sync();
        let shown = there(&bench);
        assert_eq!(shown.len(), 13, "{fault:?}: {shown:?}");
        assert!(
            shown.contains(&"new.txt: words".into()) && shown.contains(&"a.txt: a.txt, longer".into()),
            "{shown:?}"
        );
        assert_eq!(uploads(&bench), posts + 1, "{fault:?}");
        assert_eq!(files(&stored(&bench, "Docs")).len(), 4, "{}", bench.seen());
        bench.forget_requests();
        bench.sync();
        assert_eq!(bench.writes(), Vec::<String>::new(), "{fault:?}");
    }
}

#[test]
fn a_kill_between_an_upload_and_its_answer_makes_no_second_file() {
    let bench = docs_and_three();
    bench.sync();
    write(&bench, "Docs/new.txt", b"words");
    bench.world().fail_next(Matcher::Route("POST".into(), "/storage".into()), Fault::Delay(60_000));
    let daemon = bench.run();
    bench.until("the file is there", || there(&bench).contains(&"new.txt: words".into()));
    daemon.kill();
    bench.sync();
    assert_eq!((there(&bench).len(), uploads(&bench)), (13, 1));
}

#[test]
fn a_lost_state_uploads_nothing_twice_and_keeps_what_differs() {
    let bench = docs_and_three();
    bench.sync();
    write(&bench, "Docs/a.txt", b"changed while nobody looked");
    fs::remove_dir_all(bench.state()).unwrap();
    bench.forget_requests();
    bench.tell(&["sync"]);
    let shown = there(&bench);
    assert!(shown.contains(&"a.txt: a.txt".into()), "{shown:?}");
    assert!(shown.contains(&"a.txt: changed while nobody looked".into()), "{shown:?}");
    assert_eq!((shown.len(), in_trash(&bench), uploads(&bench)), (13, 0, 1));
    let found = files(&stored(&bench, "Docs"));
    assert_eq!(found.len(), 4, "{:?}", found.keys());
}

#[test]
fn both_sides_changed_keeps_both() {
    let bench = docs_and_three();
    bench.sync();
    let id = bench.world().storage_files().find(|file| file.filename == "a.txt").unwrap().id.clone();
    bench.world().app_replace_file(&id, bytes("theirs, new"));
    write(&bench, "Docs/a.txt", b"mine, new");
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert_eq!(text(&bench, "Docs/a.txt"), "theirs, new");
    let found = files(&stored(&bench, "Docs"));
    assert!(
        found.iter().any(|(name, held)| name.starts_with("a.conflict-") && held == b"mine, new"),
        "{found:?}"
    );
    assert_eq!(uploads(&bench), 0);
    // Gone here, renewed there: the new one comes.
    fs::remove_file(stored(&bench, "Docs/b.txt")).unwrap();
    let id = bench.world().storage_files().find(|file| file.filename == "b.txt").unwrap().id.clone();
    bench.world().app_replace_file(&id, bytes("renewed"));
    bench.tell(&["sync"]);
    assert_eq!(text(&bench, "Docs/b.txt"), "renewed");
    assert_eq!(in_trash(&bench), 0);
}

#[test]
fn a_refusal_rests_its_own_direction_only() {
    let bench = docs_and_three();
    bench.sync();
    bench.world().set_scope("storage:write", false);
    write(&bench, "Docs/new.txt", b"words");
    fs::remove_file(stored(&bench, "Docs/b.txt")).unwrap();
    let id = bench.world().storage_files().find(|file| file.filename == "a.txt").unwrap().id.clone();
    bench.world().app_replace_file(&id, bytes("newer"));
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert!(
        bench.attention().contains("stored files are not uploaded: the service forbids it"),
        "{}",
        bench.attention()
    );
    assert_eq!(text(&bench, "Docs/a.txt"), "newer");
    assert_eq!(in_trash(&bench), 1);
    bench.world().set_scope("storage:write", true);
    bench.world().set_storage_room(Some(0));
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert!(bench.attention().contains("does not fit the plan's storage"), "{}", bench.attention());
    bench.world().set_storage_room(None);
    write(&bench, "Docs/new.txt", b"fewer");
    bench.sync();
    assert!(there(&bench).contains(&"new.txt: fewer".into()));
}

#[test]
fn a_first_start_without_the_service_says_nothing_of_workspaces() {
    let bench = docs_and_three();
    bench.world().fail_randomly(Matcher::Any, Fault::LostBefore, 1_000);
    fs::create_dir_all(bench.root().join("Storage")).unwrap();
    write(&bench, "new.txt", b"words");
    let daemon = bench.run();
    bench.until("the outage is told of", || bench.attention().contains("cannot be reached"));
    let told = bench.tell(&["status"]);
    assert!(told.code == 0 && !told.out.contains("no workspace"), "{told:?}");
    bench.world().calm();
    bench.until("it is uploaded", || there(&bench).contains(&"new.txt: words".into()));
    drop(daemon);
}

#[test]
fn uploads_count_for_the_chosen_workspace() {
    for (line, expected) in [("", "equipo"), ("\nworkspace = \"otro\"", "otro")] {
        let mut spaces = Vec::new();
        let bench = Bench::with(&format!("{BOTH}{line}"), |world, first| {
            spaces.push(("equipo", first.clone()));
            for (name, slug) in [("Aaa", "aaa"), ("Otro", "otro"), ("Zzz", "zzz")] {
                spaces.push((slug, world.add_workspace(name, slug)));
            }
        });
        write(&bench, "new.txt", b"words");
        bench.tell(&["sync"]);
        let body: Value = bench.world().log().writes().next().expect("an upload").json();
        let name = spaces.iter().find(|(_, id)| body["workspace_id"] == id.as_str()).map(|(name, _)| *name);
        assert_eq!(name, Some(expected), "{line:?}");
    }
}

#[test]
fn a_renamed_file_that_cannot_be_sent_keeps_the_old_one_at_the_service() {
    let bench = docs_and_three();
    bench.sync();
    let _daemon = bench.run();
    let refused = stored(&bench, "Docs/New folder");
    fs::create_dir_all(&refused).unwrap();
    fs::rename(stored(&bench, "Docs/a.txt"), refused.join("a.txt")).unwrap();
    bench.until("it is told of", || bench.attention().contains("New folder/a.txt"));
    // The same file with another size, and then another file in its place. What is deleted later is in the trash earlier.
    write(&bench, "Docs/New folder/a.txt", b"more words");
    fs::remove_file(stored(&bench, "Docs/b.txt")).unwrap();
    bench.until("the deleted one is in the trash", || in_trash(&bench) == 1);
    write(&bench, "Docs/New folder/a.tmp", b"and yet more words");
    fs::rename(refused.join("a.tmp"), refused.join("a.txt")).unwrap();
    fs::remove_file(stored(&bench, "Docs/c.txt")).unwrap();
    bench.until("the next one is, too", || in_trash(&bench) == 2);
    assert!(there(&bench).contains(&"a.txt: a.txt".into()));
}

#[test]
fn a_file_that_the_app_replaced_is_not_trashed_for_its_deletion_here() {
    let bench = docs_and_three();
    bench.sync();
    let _daemon = bench.run();
    write(&bench, "first.txt", b"it runs");
    bench.until("it runs", || there(&bench).contains(&"first.txt: it runs".into()));
    let id = bench.world().storage_files().find(|file| file.filename == "a.txt").unwrap().id.clone();
    bench.world().app_replace_file(&id, bytes("words of the app"));
    fs::remove_file(stored(&bench, "Docs/a.txt")).unwrap();
    bench.until("it is back", || {
        fs::read_to_string(stored(&bench, "Docs/a.txt")).is_ok_and(|text| text == "words of the app")
    });
    assert_eq!(in_trash(&bench), 0, "{}", bench.seen());
}

#[test]
fn a_file_with_a_time_in_the_future_is_sent() {
    let bench = docs_and_three();
    bench.sync();
    let _daemon = bench.run();
    write(&bench, "later.txt", b"from a camera");
    let file = File::options().append(true).open(stored(&bench, "later.txt")).unwrap();
    let now = file.metadata().unwrap().modified().unwrap();
    file.set_modified(now + std::time::Duration::from_secs(86_400 * 400)).unwrap();
    bench.until("it is there", || there(&bench).contains(&"later.txt: from a camera".into()));
}

#[test]
fn a_file_that_is_listed_before_its_upload_is_answered_is_that_upload() {
    let bench = docs_and_three();
    bench.sync();
    let _daemon = bench.run();
    bench.world().fail_next(Matcher::Route("POST".to_owned(), "/storage".to_owned()), Fault::Delay(4_000));
    write(&bench, "slow.txt", b"slowly");
    bench.until("it is there", || there(&bench).contains(&"slow.txt: slowly".into()));
    bench.sync_any();
    bench.until("it is in step", || {
        bench.list().iter().any(|row| row["path"] == "Storage/slow.txt" && row["state"] == "synced")
    });
    assert_eq!(uploads(&bench), 1, "{}", bench.seen());
    assert!(!stored(&bench, "slow (2).txt").exists(), "{}", bench.seen());
}
