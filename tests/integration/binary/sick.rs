//! Machines that are not well: no space, no permission, no watches, a queue that overflows. Each is told once, the rest goes
//! on, nothing is lost, and it heals by itself. What needs a right that the test's user does not have (mounting a small disk,
//! a name space with a low limit) is left out where it cannot be had.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use espejo::emulator::{Fault, Matcher, World};
use rustix::process::Signal;
use serde_json::json;

use super::bench::{Bench, append, paragraph, save, words};
use super::boards;
use super::needs::{find, not_tried};
use super::storage;

fn bench() -> Bench {
    Bench::new(|world, space| {
        let folder = world.app_create(space, None, "Folder", vec![paragraph("a", "words")]);
        for n in 0..6 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
            world.app_create(space, Some(&folder), &format!("Below {n}"), vec![paragraph("a", "words")]);
        }
    })
}

/// What runs a program as somebody whom permissions concern: root is asked to obey them.
pub(super) fn obedient() -> Vec<&'static str> {
    if rustix::process::geteuid().is_root() {
        vec!["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"]
    } else {
        Vec::new()
    }
}

pub(super) fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn edit_in_the_app(bench: &Bench, title: &str, text: &str) {
    let id = bench.id(title);
    assert!(bench.world().app_edit(&id, vec![paragraph("a", text)]));
}

#[test]
fn a_folder_that_may_not_be_written_to_is_told_and_the_rest_goes_on() {
    let bench = bench();
    let daemon = bench.run_beneath(&obedient());
    bench.until_in_step();
    chmod(&bench.page("Folder"), 0o555);
    edit_in_the_app(&bench, "Below 1", "changed by others");
    edit_in_the_app(&bench, "Page 1", "changed by others");
    bench.look_again();
    bench.until("the rest goes on", || bench.text("Page 1.md").contains("changed by others"));
    bench.until("it is told", || bench.attention().contains("Below 1.md: no permission"));
    // An edit in place needs no right to the folder.
    append(&bench.page("Folder/Below 2.md"), "\nmine\n");
    bench.until("edits in it go out", || words(&bench.content("Below 2")).contains("mine"));
    assert!(bench.text("Folder/Below 1.md").contains("words"));
    chmod(&bench.page("Folder"), 0o755);
    bench.until("it heals", || bench.text("Folder/Below 1.md").contains("changed by others"));
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn a_file_that_may_not_be_read_is_told_and_the_rest_goes_on() {
    let bench = bench();
    let daemon = bench.run_beneath(&obedient());
    bench.until_in_step();
    bench.forget_requests();
    let id = bench.id("Page 1");
    append(&bench.page("Page 1.md"), "\nnot to be seen yet\n");
    chmod(&bench.page("Page 1.md"), 0o000);
    edit_in_the_app(&bench, "Page 2", "changed by others");
    edit_in_the_app(&bench, "Page 1", "words of others");
    bench.look_again();
    bench.until("the rest goes on", || bench.text("Page 2.md").contains("changed by others"));
    bench.until("it is told", || bench.attention().contains("Page 1.md: not sent: no permission"));
    append(&bench.page("Page 3.md"), "\nmine\n");
    bench.until("edits go out", || words(&bench.content("Page 3")).contains("mine"));
    assert!(!bench.is_trashed(&id));
    chmod(&bench.page("Page 1.md"), 0o644);
    bench.until("both live", || {
        let there = words(&bench.content("Page 1"));
        there.contains("not to be seen yet") && there.contains("words of others")
    });
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

/// A small disk, as long as this lives; `None` where none may be mounted.
pub(super) struct SmallDisk(PathBuf);

impl SmallDisk {
    pub(super) fn at(place: &Path, megabytes: u32) -> Option<Self> {
        fs::create_dir_all(place).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m,mode=0700"), "espejo"])
            .arg(place)
            .output();
        let is_mounted = mounted.is_ok_and(|told| told.status.success());
        if !is_mounted {
            not_tried("a small disk cannot be mounted");
        }
        is_mounted.then(|| Self(place.to_owned()))
    }

    /// Leaves no room.
    fn fill(&self) {
        let mut filler = fs::File::create(self.0.join(".filler~")).unwrap();
        while std::io::Write::write_all(&mut filler, &[b'x'; 512]).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.0.join(".filler~")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: whoever still has it open goes first.
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

#[test]
fn a_full_disk_loses_nothing_and_heals() {
    let bench = bench();
    let Some(disk) = SmallDisk::at(&bench.root(), 1) else { return };
    let daemon = bench.run_in_step();
    disk.fill();
    let long = "changed by others, at length, ".repeat(300);
    edit_in_the_app(&bench, "Page 1", &long);
    bench.look_again();
    bench.until("it is told", || bench.attention().contains("no space left"));
    assert!(bench.text("Page 1.md").ends_with("words\n"), "{}", bench.text("Page 1.md"));
    // What needs no room goes on.
    let id = bench.id("Page 2");
    fs::remove_file(bench.page("Page 2.md")).unwrap();
    bench.until("a deletion goes out", || bench.is_trashed(&id));
    disk.free();
    bench.until("it heals", || bench.text("Page 1.md").contains("at length"));
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn a_first_mirror_without_room_says_what_is_to_come_and_why() {
    let bench = bench();
    let Some(disk) = SmallDisk::at(&bench.root(), 1) else { return };
    // No page comes before the disk is full, however long this thread waits for its turn.
    let unavailable = Fault::Status { status: 503, retry_after: None };
    bench.world().fail_randomly(Matcher::Route("GET".to_owned(), "/pages".to_owned()), unavailable, 1_000);
    let daemon = bench.run();
    bench.until("the folder is the mirror", || bench.root().join(".espejo/marker").exists());
    disk.fill();
    bench.world().calm();
    bench.until("it is told once for all of them", || {
        let told = bench.attention();
        told.contains("pages are not here yet: no space left") && told.matches("not here yet").count() == 1
    });
    disk.free();
    bench.until("they come", || bench.status()["pages"]["mirrored"] == 13);
    bench.until("nothing needs the user", || bench.attention().is_empty());
    drop(daemon);
}

#[test]
fn a_canvas_waits_for_room_and_says_so() {
    let mut there = None;
    let bench = boards::bench(|world, space| there = Some(boards::kick_off(world, space)));
    let (board, ids) = there.expect("it was made");
    let Some(disk) = SmallDisk::at(&bench.root(), 1) else { return };
    let daemon = bench.run();
    let path = bench.board_file("Kick-off.canvas");
    bench.until("it is mirrored", || path.exists());
    disk.fill();
    let long = "at length ".repeat(900);
    bench.world().app_edit_element(&board, &ids[0], json!({ "content": long }));
    // A pass ends although this cannot be settled.
    bench.tell(&["sync"]);
    bench.until("it is told, with what ends it", || {
        bench
            .attention()
            .lines()
            .any(|line| line.contains("no space left") && line.ends_with("(espejo retries)"))
    });
    disk.free();
    bench.until("it heals", || {
        std::fs::read_to_string(&path).unwrap().contains("at length") && bench.attention().is_empty()
    });
    drop(daemon);
}

#[test]
fn a_disk_within_the_storage_folder_is_mirrored_like_the_rest_and_away_it_is_waited_for() {
    let ids = std::cell::RefCell::new(Vec::new());
    let bench = Bench::with(storage::BACKUP, |world, _| {
        let big = world.app_make_folder(None, "Big");
        let put = |world: &mut World, name| world.app_put_file(Some(&big), name, storage::bytes("one"));
        ids.borrow_mut().extend(["a.txt", "b.txt", "c.txt"].map(|name| put(world, name)));
    });
    let place = storage::stored(&bench, "Big");
    let Some(disk) = SmallDisk::at(&place, 1) else { return };
    bench.sync();
    assert_eq!(storage::text(&bench, "Big/a.txt"), "one");
    // What is replaced and what leaves goes to the trash, on another disk.
    chmod(&storage::stored(&bench, "Big/a.txt"), 0o600);
    let (a, b) = (ids.borrow()[0].clone(), ids.borrow()[1].clone());
    bench.world().app_replace_file(&a, storage::bytes("another"));
    bench.world().app_change_file(&b, |file| file.trashed = true);
    bench.sync();
    assert_eq!(storage::text(&bench, "Big/a.txt"), "another");
    let mode = fs::metadata(storage::stored(&bench, "Big/a.txt")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    bench.until("it left", || {
        bench.sync();
        !storage::stored(&bench, "Big/b.txt").exists()
    });
    let trash: Vec<String> = storage::trash(&bench).into_keys().collect();
    assert_eq!(trash, ["Storage/Big/a.txt", "Storage/Big/b.txt"]);
    let there: Vec<String> = storage::files(&place).into_keys().collect();
    assert_eq!(there, ["a.txt", "c.txt"]);
    // Not mounted, it is told of, and nothing is fetched to what is left of its place.
    drop(disk);
    bench.forget_requests();
    for _ in 0..2 {
        bench.tell(&["sync"]);
    }
    assert!(bench.attention().contains("2 stored files that belong here cannot be read"), "{}", bench.seen());
    assert_eq!((storage::links(&bench), storage::files(&place).len()), (0, 0), "{}", bench.seen());
}

#[test]
fn a_state_that_cannot_be_written_stops_all_acts_until_it_can() {
    let bench = bench();
    let Some(disk) = SmallDisk::at(&bench.state(), 6) else { return };
    let mut daemon = bench.run_in_step();
    disk.fill();
    bench.forget_requests();
    for n in 0..6 {
        save(
            &bench.page(&format!("Page {n}.md")),
            &format!("{n} was rewritten, {}\n", "at length ".repeat(4_000)),
        );
    }
    bench.until("it is told", || bench.log().contains("the state cannot be written"));
    assert!(daemon.is_running());
    bench.until("status says that it runs, and what it waits for", || {
        let told = bench.tell(&["status"]);
        let says = ["daemon     running\n", "nothing is synced: the disk", "is full; make room on it"];
        told.code == 3 && says.iter().all(|part| told.out.contains(part))
    });
    bench.until("commands are told, too", || bench.tell(&["sync"]).err.contains("is full; make room on it"));
    disk.free();
    bench.until("it heals", || {
        (0..6).all(|n| words(&bench.content(&format!("Page {n}"))).contains("rewritten"))
    });
    bench.until_in_step();
    assert_eq!(bench.log().matches("the state cannot be written").count(), 1, "{}", bench.log());
    assert_eq!(bench.pages(), 13);
    bench.rest(daemon);
}

/// What runs a program in a name space of its own where this limit is in force; `None` where that is not allowed.
pub(super) fn limited(limit: &str) -> Option<Vec<String>> {
    let script = format!("echo {limit} && exec \"$@\"");
    let words = ["unshare", "--user", "--map-root-user", "--", "sh", "-c", &script, "sh"];
    let tried = Command::new(words[0]).args(&words[1..]).arg("true").output();
    let is_allowed = tried.is_ok_and(|told| told.status.success());
    if !is_allowed {
        not_tried("unshare may not make a name space");
    }
    is_allowed.then(|| words.iter().map(|word| (*word).to_owned()).collect())
}

#[test]
fn without_watches_changes_are_found_by_looking() {
    super::bench::side_by_side(
        ["3 > /proc/sys/user/max_inotify_watches", "0 > /proc/sys/user/max_inotify_instances"],
        |limit| {
            let bench = bench();
            let Some(beneath) = limited(limit) else { return };
            let daemon = bench.run_beneath(&beneath.iter().map(String::as_str).collect::<Vec<_>>());
            bench.until_in_step();
            bench.until("it is told with its mend", || bench.attention().contains("sysctl fs.inotify"));
            append(&bench.page("Folder/Below 3.md"), "\nfound\n");
            save(&bench.page("Folder/New.md"), "found too\n");
            bench.until("it is found all the same", || {
                words(&bench.content("Below 3")).contains("found") && bench.titled("New").is_some()
            });
            bench.until_in_step();
            assert_eq!(bench.log().matches("sysctl fs.inotify").count(), 1, "{}", bench.log());
            bench.rest(daemon);
        },
    );
}

/// Each try takes all watches that are left, for as long as it walks, and other programs get none meanwhile.
#[test]
fn a_limit_of_watches_that_was_met_is_left_alone_for_minutes() {
    let bench = bench();
    let Some(mut beneath) = limited("3 > /proc/sys/user/max_inotify_watches") else { return };
    let calls = bench.outside("calls");
    let tracer = ["strace", "-D", "-f", "-qq", "-e", "trace=inotify_init1", "-e", "signal=none", "-o"];
    beneath.extend(tracer.map(str::to_owned));
    beneath.push(calls.display().to_string());
    if find("strace").is_none() {
        return;
    }
    let daemon = bench.run_beneath(&beneath.iter().map(String::as_str).collect::<Vec<_>>());
    bench.until_in_step();
    // Each is found by a scan of its own, ten seconds after the last.
    for n in 0..3 {
        append(&bench.page(&format!("Page {n}.md")), "\nfound\n");
        bench.until("it is found", || words(&bench.content(&format!("Page {n}"))).contains("found"));
    }
    let tries = fs::read_to_string(&calls).unwrap();
    assert_eq!(tries.matches("inotify_init1(").count(), 1, "{tries}");
    drop(daemon);
}

#[test]
fn an_edit_whose_event_was_lost_is_found() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let most: usize =
        fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    daemon.signal(Signal::STOP);
    // Three events each, of files that are none of espejo's; then what nobody is told of any more.
    let noise = bench.page(".noise.swp");
    for _ in 0..most.min(60_000) / 2 {
        drop(fs::File::create(&noise).unwrap());
        fs::remove_file(&noise).unwrap();
    }
    append(&bench.page("Page 1.md"), "\nlost in the noise\n");
    fs::create_dir(bench.page("Page 2")).unwrap();
    save(&bench.page("Page 2/New.md"), "lost too\n");
    daemon.signal(Signal::CONT);
    bench.until("they are found", || {
        words(&bench.content("Page 1")).contains("lost in the noise") && bench.titled("New").is_some()
    });
    bench.until_in_step();
    bench.rest(daemon);
}
