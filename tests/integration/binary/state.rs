//! The state directory: lost, damaged, shared; and how a daemon begins and ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use espejo::model::Body;
use espejo::store::{PendingWrite, Store};
use rustix::process::Signal;
use serde_json::json;

use super::agreement::is_conflict_copy;
use super::bench::{Bench, append, paragraph, save, save_bytes, side_by_side, words};

/// What is in the mirror's trash.
pub(super) fn trashed_files(bench: &Bench) -> Vec<String> {
    fn walk(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                walk(&entry.path(), found);
            } else {
                found.push(entry.path().display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    walk(&bench.root().join(".espejo/trash"), &mut found);
    found
}

fn bench() -> Bench {
    Bench::new(|world, space| {
        for n in 0..12 {
            let page = world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
            let below = world.app_create(space, Some(&page), "Below", vec![paragraph("a", "below")]);
            world.app_create(space, Some(&below), "Deep: down", Vec::new());
        }
        // Siblings of one title.
        for _ in 0..3 {
            world.app_create(space, None, "Same", vec![paragraph("a", "same")]);
        }
    })
}

/// A way to harm the state.
type Harm = fn(&Bench);

const BODILESS: &str = "sound to SQLite, and without its bodies";

const HARMS: [(&str, Harm); 7] = [
    ("deleted", |bench| fs::remove_dir_all(bench.state()).unwrap()),
    ("the database deleted, its log left", |bench| {
        fs::remove_file(bench.state().join("espejo.sqlite3")).unwrap()
    }),
    ("truncated to nothing", |bench| save_bytes(&bench.state().join("espejo.sqlite3"), b"")),
    ("cut in half", |bench| {
        let path = bench.state().join("espejo.sqlite3");
        let bytes = fs::read(&path).unwrap();
        save_bytes(&path, &bytes[..bytes.len() / 2]);
    }),
    (BODILESS, |bench| {
        let db = rusqlite::Connection::open(bench.state().join("espejo.sqlite3")).unwrap();
        db.execute("DELETE FROM bodies", []).unwrap();
    }),
    ("noise", |bench| {
        let noise: Vec<u8> = (0..40_960_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        save_bytes(&bench.state().join("espejo.sqlite3"), &noise);
    }),
    ("noise in its middle", |bench| {
        let path = bench.state().join("espejo.sqlite3");
        let mut bytes = fs::read(&path).unwrap();
        let len = bytes.len();
        for byte in &mut bytes[4_096..len.min(20_000)] {
            *byte = byte.wrapping_mul(31).wrapping_add(7);
        }
        save_bytes(&path, &bytes);
    }),
];

#[test]
fn a_state_that_is_lost_or_damaged_is_built_anew_and_nothing_is_doubled() {
    side_by_side(HARMS, |(how, harm)| {
        let bench = bench();
        let daemon = bench.run_in_step();
        // A file of the user's own, without an id in it.
        save(&bench.page("Mine.md"), "of my own\n");
        bench.until("it is a page", || bench.titled("Mine").is_some() && !bench.content("Mine").is_empty());
        bench.until_in_step();
        assert_eq!(daemon.stop().code(), Some(0));
        let (files, pages) = (bench.files(), bench.pages());
        bench.forget_requests();
        harm(&bench);
        if how == BODILESS {
            let told = bench.tell(&["sync", "--dry-run"]);
            assert!(told.code == 1 && told.err.contains(" is damaged; espejo sync "), "{told:?}");
        }
        let told = bench.tell(&["sync"]);
        assert_eq!(told.code, 0, "{how}: {told:?}\n{}", bench.seen());
        assert_eq!(bench.writes(), Vec::<String>::new(), "{how}");
        assert_eq!(bench.pages(), pages, "{how}");
        assert_eq!(bench.files(), files, "{how}");
        assert_eq!(bench.disagreement(), None, "{how}: {}", bench.seen());
        bench.rests();
    });
}

#[test]
fn what_differs_when_the_state_is_lost_is_kept_twice() {
    let bench = bench();
    bench.run_in_step().stop();
    let page = bench.id("Page 1");
    append(&bench.page("Page 2.md"), "\nonly here\n");
    bench.world().app_edit(&page, vec![paragraph("a", "only there")]);
    save(&bench.page("Page 3/New.md"), "new, and never seen\n");
    fs::remove_file(bench.page("Page 4.md")).unwrap();
    let pages = bench.pages();
    bench.forget_requests();
    fs::remove_dir_all(bench.state()).unwrap();
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}");
    bench.until("it settles", || {
        bench.tell(&["sync"]);
        bench.disagreement().is_none()
    });
    let everything: String =
        bench.files().into_values().map(|file| String::from_utf8_lossy(&file.bytes).into_owned()).collect();
    assert!(everything.contains("only here") && everything.contains("only there"), "{}", bench.seen());
    // Without a state nothing says that a file was deleted: it comes back.
    assert!(bench.page("Page 4.md").exists());
    assert_eq!(bench.pages(), pages + 1, "{}", bench.seen());
    assert_eq!(words(&bench.content("New")), "new, and never seen\n");
    assert!(bench.files().keys().any(|path| is_conflict_copy(path)), "{}", bench.seen());
}

#[test]
fn a_second_espejo_on_the_same_state_is_refused() {
    let bench = bench();
    let mut daemon = bench.run_in_step();
    let told = bench.tell(&["run"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.err.contains("is already running") && told.err.lines().count() == 1, "{told:?}");
    for command in [&["status"][..], &["list"], &["resolve"], &["sync"], &["sync", "--dry-run"]] {
        let told = bench.tell(command);
        assert_eq!(told.code, 0, "{command:?}: {told:?}");
    }
    assert!(daemon.is_running());
    assert_eq!(bench.status()["state"], "running");
    append(&bench.page("Page 1.md"), "\nstill at work\n");
    bench.until("the first goes on", || words(&bench.content("Page 1")).contains("still at work"));
    daemon.kill();
    assert_eq!(bench.status()["state"], "stopped");
    bench.sync();
}

#[test]
fn signals_end_it_cleanly_and_sighup_reads_the_config_again() {
    let bench = bench();
    for signal in [Signal::TERM, Signal::INT] {
        let daemon = bench.run_in_step();
        daemon.signal(signal);
        assert_eq!(daemon.ended().code(), Some(0), "{signal:?}");
        assert!(!bench.state().join("control").exists(), "{signal:?}");
    }
    // In the middle of a write whose answer is late.
    let daemon = bench.run_in_step();
    bench.world().fail_next(
        espejo::emulator::Matcher::Method("PATCH".to_owned()),
        espejo::emulator::Fault::Delay(1_500),
    );
    append(&bench.page("Page 1.md"), "\nin the middle\n");
    bench.until("it is on its way", || !bench.writes().is_empty());
    assert_eq!(daemon.stop().code(), Some(0));
    bench.rests();
    assert_eq!(words(&bench.content("Page 1")), "words\nin the middle\n");

    let mut daemon = bench.run_in_step();
    let page = bench.id("Page 2");
    bench.write_config(6_000, "deletes = \"restore\"");
    daemon.signal(Signal::HUP);
    bench.until("the config is read again", || bench.log().contains("config reloaded"));
    bench.forget_requests();
    fs::remove_file(bench.page("Page 2.md")).unwrap();
    bench.until("the new config holds", || bench.page("Page 2.md").exists());
    assert!(!bench.is_trashed(&page));
    // A typo does not end it.
    save(&bench.outside("config.toml"), "bse_url = 5\n");
    daemon.signal(Signal::HUP);
    bench.until("the typo is told", || bench.log().contains("the old config stays in force"));
    append(&bench.page("Page 3.md"), "\nafter the typo\n");
    bench.until("it goes on", || words(&bench.content("Page 3")).contains("after the typo"));
    assert!(daemon.is_running());
    bench.write_config(6_000, "");
    bench.rest(daemon);
}

#[test]
fn a_reload_that_cannot_be_carried_out_ends_nothing() {
    let bench = bench();
    let mut daemon = bench.run_in_step();
    let (config, token) = (bench.outside("config.toml"), bench.outside("token"));
    let mode = |mode| fs::set_permissions(&token, fs::Permissions::from_mode(mode)).unwrap();
    let told = |words: &str| bench.log().matches(words).count();
    let goes_on = |n: usize| {
        append(&bench.page(&format!("Page {n}.md")), "\nit goes on\n");
        bench.until("it goes on", || words(&bench.content(&format!("Page {n}"))).contains("it goes on"));
    };
    // A token file that is not there: the one before will do.
    let text = fs::read_to_string(&config).unwrap();
    save(&config, &text.replace("/token\"", "/none\""));
    daemon.signal(Signal::HUP);
    bench.until("it is told", || told("the old config stays in force") == 1);
    goes_on(1);
    // One that may not be used any more, whatever the config says.
    save(&config, &text);
    mode(0o644);
    daemon.signal(Signal::HUP);
    bench.until("it is told once more", || told("until then nothing is synced") == 1);
    // Meanwhile the state goes away.
    fs::rename(bench.state(), bench.outside("away")).unwrap();
    save(&bench.state(), "in its place\n");
    mode(0o600);
    daemon.signal(Signal::HUP);
    bench.until("it is told, too", || told("until then nothing is synced") == 2);
    // It is back, and a command is at work with it.
    fs::remove_file(bench.state()).unwrap();
    fs::rename(bench.outside("away"), bench.state()).unwrap();
    let lock = espejo::mirror::lock::Lock::acquire(&bench.state()).unwrap();
    daemon.signal(Signal::HUP);
    bench.until("it waits", || told("espejo waits for it") == 1);
    assert!(daemon.is_running());
    drop(lock);
    goes_on(2);
    assert!(daemon.is_running());
    bench.rest(daemon);
}

#[test]
fn the_state_is_the_users_alone_and_holds_no_token() {
    let bench = bench();
    bench.run_in_step().stop();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&bench.state()), 0o700);
    let token = fs::read(bench.outside("token")).unwrap();
    for entry in fs::read_dir(bench.state()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(token.len()).any(|part| part == token), "{}", path.display());
    }
    assert!(!bench.log().contains(std::str::from_utf8(&token).unwrap()));
}

#[test]
fn the_trash_is_kept_as_long_as_the_config_says() {
    let bench = Bench::with("trash_days = 7", |world, space| {
        world.app_create(space, None, "Page", vec![paragraph("a", "words")]);
    });
    bench.sync();
    let trash = bench.root().join(".espejo/trash");
    let day = |days: i64| {
        let at = espejo::daemon::wall_now().plus_ms(-days * 86_400_000);
        jiff::Timestamp::from_millisecond(at.0).unwrap().strftime("%Y-%m-%d").to_string()
    };
    for name in [day(0), day(6), day(9), "2020-02-30".to_owned(), "mine".to_owned()] {
        fs::create_dir_all(trash.join(&name).join("Equipo")).unwrap();
        save(&trash.join(name).join("Equipo/Gone.md"), "thrown away\n");
    }
    let daemon = bench.run_in_step();
    bench.until("what is over goes", || !trash.join(day(9)).exists());
    for name in [&day(0), &day(6), "2020-02-30", "mine"] {
        assert!(trash.join(name).join("Equipo/Gone.md").exists(), "{name}");
    }
    bench.rest(daemon);
}

#[test]
fn a_mirror_can_be_moved_elsewhere_with_its_state() {
    let bench = bench();
    bench.run_in_step().stop();
    let files = bench.files();
    // The folder is copied to another disk and back: other inodes, other times.
    fs::rename(bench.root(), bench.outside("old")).unwrap();
    copy(&bench.outside("old"), &bench.root());
    bench.forget_requests();
    bench.sync();
    assert_eq!(bench.writes(), Vec::<String>::new());
    assert_eq!(bench.files().into_keys().collect::<Vec<_>>(), files.into_keys().collect::<Vec<_>>());
    bench.rests();
}

pub(super) fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else if entry.path().is_file() {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_log_that_is_gone_and_an_old_copy_of_the_state_double_and_lose_nothing() {
    side_by_side(["log", "copy", "copy of this run"], |how| {
        let bench = bench();
        let mut daemon = bench.run_in_step();
        let (old, count) = (bench.outside("old-state"), bench.root().join(".espejo/runs"));
        if how == "copy of this run" {
            copy(&bench.state(), &old);
        } else {
            daemon.stop();
            copy(&bench.state(), &old);
            daemon = bench.run_in_step();
        }
        let counted = fs::read(&count).unwrap();
        // Everything that can happen happens, and is agreed on.
        append(&bench.page("Page 1.md"), "\nedited since\n");
        save(&bench.page("Mine.md"), "made since\n");
        save(&bench.page("Page 2/Mine.md"), "made since, below\n");
        fs::rename(bench.page("Page 3.md"), bench.page("Renamed.md")).unwrap();
        fs::remove_dir_all(bench.page("Page 4")).unwrap();
        let (five, below) = (bench.id("Page 5"), bench.id("Page 4"));
        bench.world().app_edit(&five, vec![paragraph("a", "changed by others")]);
        bench.until("all is sent", || {
            ["Mine", "Renamed"]
                .iter()
                .all(|title| bench.titled(title).is_some_and(|id| !bench.record(&id).content.is_empty()))
                && words(&bench.content("Page 1")).contains("edited since")
                && bench.pages() == 12 * 3 + 3 + 2
        });
        bench.look_again();
        bench.until("all is received", || bench.text("Page 5.md").contains("changed by others"));
        bench.until_in_step();
        assert!(!bench.is_trashed(&below));
        let (files, pages) = (bench.files(), bench.pages());
        bench.until("it is counted", || fs::read(&count).unwrap() != counted);
        daemon.kill();
        match how {
            "log" => fs::remove_file(bench.state().join("espejo.sqlite3-wal")).unwrap(),
            _ => {
                fs::remove_dir_all(bench.state()).unwrap();
                fs::rename(&old, bench.state()).unwrap();
            }
        }
        bench.forget_requests();
        let told = bench.tell(&["sync"]);
        assert!(matches!(told.code, 0 | 3), "{how}: {told:?}\n{}", bench.seen());
        bench.until("it settles", || {
            bench.tell(&["sync"]);
            bench.disagreement().is_none()
        });
        assert_eq!(bench.pages(), pages, "{how}: {}", bench.seen());
        let texts = |files: std::collections::BTreeMap<String, super::bench::Seen>| {
            files
                .into_iter()
                .map(|(path, seen)| (path, String::from_utf8(seen.bytes).unwrap()))
                .collect::<Vec<_>>()
        };
        let (before, after) = (texts(files), texts(bench.files()));
        assert_eq!(after, before, "{how}: {}", bench.seen());
        bench.rests();
    });
}

#[test]
fn an_edit_of_what_was_written_but_never_noted_doubles_nothing() {
    let bench = bench();
    bench.run_in_step().stop();
    let id = bench.id("Page 1");
    let agreed = |bench: &Bench| {
        let mut store = Store::open(&bench.state()).unwrap().store;
        let node = store.load().unwrap().pages.remove(&id).unwrap();
        (store, node)
    };
    let before = agreed(&bench).1.base.unwrap();
    let blocks = vec![paragraph("a", "words"), paragraph("b", "said in the app")];
    bench.world().app_edit(&id, blocks.clone());
    bench.sync();
    // As after a crash between the write and its record.
    let (mut store, mut node) = agreed(&bench);
    let now = node.base.replace(before).unwrap();
    assert_eq!(now.body, Body::of(blocks).hash);
    let written = PendingWrite { page: id.clone(), text: now.text.unwrap(), body: now.body, icon: None };
    store.save_writing(&written);
    store.save_page(&node);
    store.commit().unwrap();
    drop(store);
    let text = bench.text("Page 1.md");
    save(&bench.page("Page 1.md"), &text.replace("said in", "said and edited in"));
    let daemon = bench.run();
    bench.until("the edit is sent", || words(&bench.content("Page 1")).contains("edited"));
    bench.until_in_step();
    let content = bench.content("Page 1");
    assert_eq!((content.len(), &content[1]["id"]), (2, &json!("b")), "{content:?}");
    assert!(words(&content).contains("said and edited in the app"), "{content:?}");
    bench.rest(daemon);
}

#[test]
fn a_state_of_an_earlier_version_is_built_anew() {
    let bench = bench();
    bench.sync();
    let path = bench.state().join("espejo.sqlite3");
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 5).unwrap();
    let told = bench.tell(&["status"]);
    assert!(told.err.contains("of an earlier espejo; espejo run or espejo sync sets it aside"), "{told:?}");
    bench.forget_requests();
    let before = bench.text("Page 1.md");
    let told = bench.tell(&["sync", "-v"]);
    assert!(told.code == 0 && told.err.contains("it is set aside and built anew"), "{told:?}");
    assert_eq!(bench.text("Page 1.md"), before);
    assert!(bench.requests().iter().all(|request| request.starts_with("GET ")), "{:?}", bench.requests());
    assert!(bench.state().join("espejo.damaged-1.sqlite3").exists());
    assert_eq!(bench.attention(), "");
}

#[test]
fn a_newer_state_is_refused_with_a_sentence_and_left_alone() {
    let bench = bench();
    bench.sync();
    let path = bench.state().join("espejo.sqlite3");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    let before = fs::read(&path).unwrap();
    bench.forget_requests();
    for command in [&["sync"][..], &["run"], &["approve"], &["undo"], &["restore"]] {
        let told = bench.tell(command);
        assert_eq!(told.code, 1, "{command:?}: {told:?}");
        assert!(told.err.contains("newer espejo") && told.err.lines().count() == 1, "{command:?}: {told:?}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(bench.requests(), Vec::<String>::new());
}

#[test]
fn an_old_copy_of_a_folder_that_appears_after_the_start_deletes_nothing() {
    let bench = bench();
    bench.run_in_step().stop();
    let old = bench.outside("old");
    copy(&bench.root(), &old);
    let daemon = bench.run_in_step();
    save(&bench.page("Mine.md"), "made since\n");
    bench.until("the new page is there", || bench.titled("Mine").is_some());
    bench.until_in_step();
    assert_eq!(daemon.stop().code(), Some(0));
    fs::remove_dir_all(bench.root()).unwrap();
    bench.forget_requests();
    let daemon = bench.run();
    bench.until("the folder is missed", || bench.attention().contains("the folder is missing"));
    fs::rename(&old, bench.root()).unwrap();
    bench.until("the older copy is told", || bench.attention().contains("the folder is an older copy"));
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}");
    assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn an_old_copy_of_the_folder_sends_and_deletes_nothing_until_somebody_chooses() {
    side_by_side(["restore", "approve"], |choice| {
        let bench = bench();
        let mut daemon = bench.run_in_step();
        let old = bench.outside("old");
        if choice == "restore" {
            daemon.stop();
            copy(&bench.root(), &old);
            daemon = bench.run_in_step();
        } else {
            // A backup of the same run.
            copy(&bench.root(), &old);
        }
        let five = bench.id("Page 5");
        bench.world().app_edit(&five, vec![paragraph("a", "changed by others")]);
        append(&bench.page("Page 1.md"), "\nedited since\n");
        for n in 0..3 {
            save(&bench.page(&format!("Mine {n}.md")), "made since\n");
        }
        bench.look_again();
        bench.until("all is in step", || {
            bench.text("Page 5.md").contains("changed by others")
                && words(&bench.content("Page 1")).contains("edited since")
                && (0..3).all(|n| bench.titled(&format!("Mine {n}")).is_some())
        });
        bench.until_in_step();
        let files = bench.files().into_keys().collect::<Vec<_>>();
        assert_eq!(daemon.stop().code(), Some(0));
        fs::remove_dir_all(bench.root()).unwrap();
        copy(&old, &bench.root());
        bench.forget_requests();
        for _ in 0..2 {
            let told = bench.tell(&["sync"]);
            assert_eq!(told.code, 3, "{told:?}");
            assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
        }
        let told = bench.attention();
        assert_eq!(told.matches("the folder is an older copy than").count(), 1, "one hold: {told}");
        // A real edit waits with all that differs, and so does a new file.
        append(&bench.page("Page 6.md"), "\na real edit\n");
        save(&bench.page("New.md"), "made meanwhile\n");
        let told = bench.tell(&["sync"]);
        assert_eq!((told.code, bench.writes()), (3, Vec::new()), "{told:?}{}", bench.seen());
        if choice == "restore" {
            fs::remove_file(bench.page("New.md")).unwrap();
        }
        let told = bench.tell(&[choice, "--yes"]);
        assert_eq!(told.code, 0, "{told:?}");
        bench.until("it settles", || {
            bench.tell(&["sync"]);
            bench.disagreement().is_none()
        });
        let taken = choice == "approve";
        assert!(words(&bench.content("Page 6")).contains("a real edit"), "{}", bench.seen());
        assert_eq!(bench.titled("New").is_some(), taken);
        assert!(!bench.attention().contains("older copy"), "{}", bench.attention());
        assert_eq!(words(&bench.content("Page 1")).contains("edited since"), !taken, "{}", bench.seen());
        assert_eq!(words(&bench.content("Page 5")).contains("changed by others"), !taken, "{}", bench.seen());
        if !taken {
            assert_eq!(bench.files().into_keys().collect::<Vec<_>>(), files);
            assert_eq!(bench.writes().len(), 1, "{:?}", bench.writes());
        }
        bench.rests();
    });
}

#[test]
fn an_old_copy_of_the_folder_that_replaces_it_while_espejo_runs_sends_and_deletes_nothing() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let (old, count) = (bench.outside("old"), bench.root().join(".espejo/runs"));
    copy(&bench.root(), &old);
    append(&bench.page("Page 1.md"), "\nedited since\n");
    save(&bench.page("Mine.md"), "made since\n");
    bench.until("both are sent", || {
        words(&bench.content("Page 1")).contains("edited since") && bench.titled("Mine").is_some()
    });
    bench.until_in_step();
    let before = fs::read(old.join(".espejo/runs")).unwrap();
    bench.until("it is counted", || fs::read(&count).unwrap() != before);
    bench.forget_requests();
    // As programs do it that bring a backup back: path by path, and what the backup lacks is removed.
    fs::copy(old.join(".espejo/runs"), &count).unwrap();
    fs::copy(old.join("Equipo/Pages/Page 1.md"), bench.page("Page 1.md")).unwrap();
    fs::remove_file(bench.page("Mine.md")).unwrap();
    bench.until("the older copy is told", || bench.attention().contains("the folder is an older copy"));
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}");
    assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
    let told = bench.tell(&["restore"]);
    assert_eq!(told.code, 0, "{told:?}");
    bench.until("the newer ones are back", || {
        bench.text("Page 1.md").contains("edited since") && bench.page("Mine.md").exists()
    });
    // A count that is gone is noted again.
    fs::remove_file(&count).unwrap();
    append(&bench.page("Page 2.md"), "\nsent since\n");
    bench.until("it is sent", || words(&bench.content("Page 2")).contains("sent since"));
    bench.until("it is counted again", || count.exists());
    assert_eq!(daemon.stop().code(), Some(0));
}
