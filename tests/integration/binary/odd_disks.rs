//! Disks that refuse what others can, and folders that are not what they were: FUSE and SMB, a trash that cannot be emptied, a
//! marker that `git clean` took. What a kernel here would not refuse is refused by `strace`, where it is installed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::bench::{Bench, paragraph, save};
use super::needs::{find, not_tried};
use super::sick::{SmallDisk, chmod, obedient};
use super::storage::{self, bytes};

/// What runs a program whose `calls` the kernel refuses; `None` where `strace` cannot run. The tracer is a child, so
/// that signals reach the program.
fn refusing(calls: &str, error: &str) -> Option<Vec<String>> {
    let words = |program: &str| {
        let inject = format!("inject={calls}:error={error}");
        ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", &inject, "-e", "signal=none", program]
            .map(str::to_owned)
    };
    find("strace")?;
    let tried = words("true");
    let runs = Command::new(&tried[0]).args(&tried[1..]).status().is_ok_and(|status| status.success());
    if !runs {
        not_tried("strace may not trace");
    }
    let words = words("");
    runs.then(|| words[..words.len() - 1].to_vec())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_disk_that_refuses_every_change_of_permissions_gets_every_change_of_the_app() {
    let Some(starter) = refusing("fchmod", "EPERM") else {
        return;
    };
    let starter: Vec<&str> = starter.iter().map(String::as_str).collect();
    let bench = Bench::with(storage::BACKUP, |world, space| {
        world.app_create(space, None, "Plain", vec![paragraph("a", "words")]);
        world.app_create(space, None, "Shared", vec![paragraph("a", "words")]);
        world.app_put_file(None, "a.txt", bytes("one"));
    });
    bench.sync();
    chmod(&bench.page("Plain.md"), 0o600);
    chmod(&bench.page("Shared.md"), 0o664);
    let daemon = bench.run_beneath(&starter);
    bench.until("it runs", || bench.status()["state"] == "running");
    for title in ["Plain", "Shared"] {
        let id = bench.id(title);
        bench.world().app_edit(&id, vec![paragraph("a", "changed by others")]);
    }
    bench.look_again();
    for file in ["Plain.md", "Shared.md"] {
        bench.until("the change arrives", || bench.text(file).contains("changed by others"));
        assert_eq!(mode(&bench.page(file)), 0o600, "{file}: no wider than its new file is made");
    }
    bench.until("nothing is told", || bench.attention().is_empty());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn what_cannot_leave_the_trash_is_told_once_and_the_rest_leaves() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Page", vec![paragraph("a", "words")]);
    });
    bench.sync();
    let trash = bench.root().join(".espejo/trash");
    let stuck = trash.join("2020-01-01/Equipo/Locked");
    for folder in [&stuck, &trash.join("2020-01-01/Other"), &trash.join("2020-01-02")] {
        fs::create_dir_all(folder).unwrap();
        save(&folder.join("old.md"), "old");
    }
    chmod(&stuck, 0o555);
    let daemon = bench.run_beneath(&obedient());
    bench.until("the later day leaves", || !trash.join("2020-01-02").exists());
    bench.until("what lies beside it leaves", || !trash.join("2020-01-01/Other").exists());
    bench.until("it is told", || bench.log().contains("2020-01-01/Equipo/Locked/old.md cannot be deleted"));
    assert!(stuck.join("old.md").exists());
    assert_eq!(daemon.stop().code(), Some(0));
    assert_eq!(bench.log().matches("cannot be deleted").count(), 1, "{}", bench.log());
    chmod(&stuck, 0o755);
    let daemon = bench.run();
    bench.until("all of it leaves", || !trash.join("2020-01-01").exists());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn an_export_onto_a_mounted_disk_is_refused_before_anything_is_copied() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Page", vec![paragraph("a", "words")]);
    });
    bench.sync();
    let place = bench.outside("stick");
    let Some(_disk) = SmallDisk::at(&place, 1) else { return };
    let told = bench.tell(&["export", place.to_str().unwrap()]);
    assert_eq!(told.code, 2, "{told:?}");
    let inside = place.join("espejo-export");
    for words in ["is a mount point", &format!("such as {}", inside.display())] {
        assert!(told.err.contains(words), "{told:?}");
    }
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    let told = bench.tell(&["export", inside.to_str().unwrap()]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(inside.join("SHA256SUMS").exists());
}

/// `git clean -fdx` in a repository around the mirror.
fn clean(bench: &Bench) {
    fs::remove_dir_all(bench.root().join(".espejo")).unwrap();
    bench.ask("\"full-pass\"");
    bench.until("writing stops", || bench.attention().contains("no .espejo/marker"));
}

#[test]
fn a_folder_that_lost_its_marker_is_adopted_again_by_init() {
    let bench = Bench::new(|world, space| {
        for n in 0..12 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
        }
    });
    let daemon = bench.run_in_step();
    clean(&bench);
    // A write may find it before the scan, which knows the mend.
    bench.until("its mend is named", || {
        let told = bench.attention();
        told.contains("run espejo init: it compares") && !told.contains("move the state")
    });
    let doctor = bench.tell(&["doctor"]);
    assert!(doctor.out.contains("espejo init"), "{doctor:?}");
    let told = bench.tell(&["init"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.contains("of 12 files of the mirror all are as they were"), "{told:?}");
    let id = bench.id("Page 1");
    bench.world().app_edit(&id, vec![paragraph("a", "changed by others")]);
    bench.look_again();
    bench.until("changes arrive again", || bench.text("Page 1.md").contains("changed by others"));
    bench.until("nothing is told", || bench.attention().is_empty());

    // With files of the mirror it counts as an older copy: no page goes.
    clean(&bench);
    let gone = bench.id("Page 2");
    fs::remove_file(bench.page("Page 2.md")).unwrap();
    let told = bench.tell(&["init"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.contains("11 are as they were, 0 differ and 1 are missing"), "{told:?}");
    bench.until("it is told", || bench.attention().contains("older copy"));
    bench.look_again();
    assert!(!bench.is_trashed(&gone));
    assert_eq!(daemon.stop().code(), Some(0));

    // A folder with nothing of the mirror in it is a disk that is not mounted.
    fs::rename(bench.root(), bench.outside("away")).unwrap();
    fs::create_dir(bench.root()).unwrap();
    let told = bench.tell(&["init"]);
    assert_eq!((told.code, told.err.contains("is its disk mounted?")), (2, true), "{told:?}");
    assert!(!bench.root().join(".espejo").exists());
}

#[test]
fn commands_reach_the_daemon_however_long_the_path_of_the_state_is() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Page", vec![paragraph("a", "words")]);
    });
    let long = bench.state().join("x".repeat(120)).join("y".repeat(120));
    let config = bench.outside("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    save(&config, &text.replace(&format!("{:?}", bench.state()), &format!("{long:?}")));
    let daemon = bench.run_in_step();
    let told = bench.tell(&["pause"]);
    assert_eq!(told.code, 0, "{told:?}");
    bench.until("it is paused", || !bench.status()["paused_since"].is_null());
    assert_eq!(bench.tell(&["resume"]).code, 0);
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 0, "the daemon makes it: {told:?}");
    assert!(!bench.log().contains("no control socket"), "{}", bench.log());
    assert_eq!(daemon.stop().code(), Some(0));
    assert!(long.join("espejo.sqlite3").exists() && !long.join("control").exists());
}
