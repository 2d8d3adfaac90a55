//! Stored files after an older copy of the folder, or of the state, was put back: nothing newer is trashed, no older version
//! goes up over a newer one, and nothing is uploaded twice.

use std::fs;

use super::bench::{Bench, append, paragraph, side_by_side, words};
use super::state::copy;
use super::storage::{bytes, files, stored, text};
use super::storage_send::{BOTH, docs_and_three, in_trash, there, uploads, write};

/// What a person does to stored files after the copy was made: eight new ones, one changed here, one changed in the app, one
/// removed, one renamed.
fn go_on(bench: &Bench) {
    for n in 0..8 {
        write(bench, &format!("new {n}.txt"), format!("newer {n}").as_bytes());
    }
    write(bench, "Docs/a.txt", b"a.txt, the newer version");
    fs::remove_file(stored(bench, "Docs/b.txt")).unwrap();
    fs::rename(stored(bench, "8.pdf"), stored(bench, "eight.pdf")).unwrap();
    let id = bench.world().storage_files().find(|file| file.filename == "0.pdf").unwrap().id.clone();
    bench.world().app_replace_file(&id, bytes("pdf, replaced in the app"));
    bench.sync();
    assert_eq!(there(bench).len(), 19, "{}", bench.seen());
    assert_eq!(text(bench, "0.pdf"), "pdf, replaced in the app");
}

#[test]
fn an_old_copy_of_the_folder_trashes_and_reverts_no_stored_file() {
    side_by_side([true, false], |keeps_times| {
        let bench = docs_and_three();
        bench.sync();
        let old = bench.outside("old");
        if keeps_times {
            let done =
                std::process::Command::new("cp").arg("-a").arg(bench.root()).arg(&old).status().unwrap();
            assert!(done.success());
        } else {
            copy(&bench.root(), &old);
        }
        go_on(&bench);
        let (newer, trashed) = (there(&bench), in_trash(&bench));
        fs::remove_dir_all(bench.root()).unwrap();
        fs::rename(&old, bench.root()).unwrap();
        bench.forget_requests();
        for _ in 0..2 {
            let told = bench.tell(&["sync"]);
            assert_eq!(told.code, 3, "{told:?}");
            assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
        }
        assert_eq!((there(&bench), in_trash(&bench)), (newer.clone(), trashed));
        // What is newer is here again, and what was older beside it.
        for n in 0..8 {
            assert_eq!(text(&bench, &format!("new {n}.txt")), format!("newer {n}"));
        }
        // What is older here waits for the user, who has not said which of them counts.
        assert_eq!((text(&bench, "Docs/a.txt"), text(&bench, "0.pdf")), ("a.txt".into(), "pdf".into()));
        assert_eq!(text(&bench, "eight.pdf"), "pdf");
        let told = bench.attention();
        for line in [
            "the folder is an older copy",
            "Storage/Docs/b.txt: not uploaded: it comes from an older copy of the folder",
            "Storage/8.pdf: not uploaded: it comes from an older copy of the folder",
        ] {
            assert!(told.contains(line), "{line}: {told}");
        }
        // An approval takes the folder as it is.
        assert!(!bench.tell(&["approve", "--yes"]).out.contains("nothing"), "{}", bench.seen());
        bench.sync();
        let shown = there(&bench);
        for line in ["a.txt: a.txt", "0.pdf: pdf", "b.txt: b.txt", "8.pdf: pdf"] {
            assert!(shown.contains(&line.into()), "{line}: {shown:?}");
        }
        assert_eq!(
            (shown.len(), uploads(&bench), in_trash(&bench)),
            (21, 4, trashed + 2),
            "{}",
            bench.seen()
        );
        assert_eq!(bench.attention(), "");
    });
}

/// The count is on both sides a moment after the change has begun, whatever is answered when.
#[test]
fn an_old_copy_of_a_run_is_noticed_after_a_kill_right_after_a_change() {
    side_by_side(
        [("folder", false), ("folder", true), ("state", false), ("none", false)],
        |(what, waits)| {
            let bench = Bench::with(BOTH, |world, space| {
                world.app_create(space, None, "Page", vec![paragraph("a", "words")]);
                world.app_put_file(None, "file.txt", bytes("older"));
            });
            bench.sync();
            // What this run finds at its start is no change.
            let daemon = bench.run();
            bench.until("it runs", || bench.status()["state"] == "running");
            let (old, count) = (bench.outside("old"), bench.root().join(".espejo/runs"));
            let real = if what == "state" { bench.state() } else { bench.root() };
            let done = std::process::Command::new("cp").arg("-a").arg(&real).arg(&old).status().unwrap();
            assert!(done.success());
            let counted = fs::read(&count).unwrap();
            append(&bench.page("Page.md"), "\nedited since\n");
            write(&bench, "file.txt", b"newer");
            bench.until("both are sent", || {
                words(&bench.content("Page")).contains("edited since") && there(&bench) == ["file.txt: newer"]
            });
            if waits {
                bench.until("it is counted", || fs::read(&count).unwrap() != counted);
            }
            bench.until("both are known to be sent", || {
                bench.list().iter().all(|row| row["state"] == "synced")
            });
            daemon.kill();
            let (newer, trashed) = (there(&bench), in_trash(&bench));
            if what != "none" {
                fs::rename(&real, bench.outside("newer")).unwrap();
                fs::rename(&old, &real).unwrap();
            }
            bench.forget_requests();
            let told = bench.tell(&["sync"]);
            assert_eq!(told.code, if what == "folder" { 3 } else { 0 }, "{what}: {told:?}\n{}", bench.seen());
            let noticed = format!("{}{}", told.err, bench.attention());
            assert_eq!(
                noticed.contains("the folder is an older copy"),
                what == "folder",
                "{what}: {noticed}"
            );
            assert_eq!(noticed.contains("the state is an older copy"), what == "state", "{what}: {noticed}");
            assert_eq!(bench.writes(), Vec::<String>::new(), "{what}: {}", bench.seen());
            assert_eq!((there(&bench), in_trash(&bench)), (newer, trashed), "{what}");
            assert!(words(&bench.content("Page")).contains("edited since"), "{what}");
        },
    );
}

#[test]
fn an_old_copy_of_the_state_trashes_no_stored_file_and_uploads_none_twice() {
    let bench = docs_and_three();
    bench.sync();
    let old = bench.outside("old state");
    copy(&bench.state(), &old);
    go_on(&bench);
    let newer = (there(&bench), in_trash(&bench));
    // Gone from the folder while only an older state knows of it.
    fs::remove_file(stored(&bench, "Docs/c.txt")).unwrap();
    fs::remove_dir_all(bench.state()).unwrap();
    fs::rename(&old, bench.state()).unwrap();
    bench.forget_requests();
    for _ in 0..2 {
        bench.tell(&["sync"]);
        assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
    }
    assert_eq!((there(&bench), in_trash(&bench)), newer);
    assert_eq!(text(&bench, "Docs/c.txt"), "c.txt");
    let names: Vec<String> = files(&bench.root().join("Storage")).into_keys().collect();
    assert_eq!(names.len(), 19, "{names:?}");
    assert!(!bench.attention().contains("Storage"), "{}", bench.attention());
    // Edits go on as before.
    write(&bench, "Docs/a.txt", b"edited");
    bench.tell(&["sync"]);
    assert!(there(&bench).contains(&"a.txt: edited".into()));
    assert_eq!((there(&bench).len(), uploads(&bench)), (19, 1));
}

#[test]
fn files_missing_in_another_folder_than_the_mirrored_one_come_back() {
    let bench = docs_and_three();
    bench.sync();
    // The folder was moved to another disk, and some of it was left behind.
    let moved = bench.outside("moved");
    copy(&bench.root(), &moved);
    fs::remove_file(moved.join("Storage/Docs/a.txt")).unwrap();
    // The former one is kept for a while, so that the new one is another object.
    fs::rename(bench.root(), bench.outside("former")).unwrap();
    copy(&moved, &bench.root());
    bench.forget_requests();
    bench.tell(&["sync"]);
    assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
    assert_eq!(text(&bench, "Docs/a.txt"), "a.txt");
    // From now on it is the folder: a deletion is one.
    fs::remove_file(stored(&bench, "Docs/a.txt")).unwrap();
    bench.sync();
    assert_eq!(in_trash(&bench), 1);
}
