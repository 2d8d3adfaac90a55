//! Personal storage as a user has it: a backup that can be relied on.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use espejo::emulator::{Contents, Fault, Matcher, Window, World};
use espejo::model::{FileId, FolderId};

use super::bench::{Bench, side_by_side};

/// Lines for the config's `[pages]` that switch storage on.
pub(super) const BACKUP: &str = "[storage]\nmode = \"backup\"";

pub(super) fn bytes(text: &str) -> Contents {
    Contents::Bytes(text.as_bytes().to_vec())
}

pub(super) fn stored(bench: &Bench, path: &str) -> PathBuf {
    bench.root().join("Storage").join(path)
}

#[track_caller]
pub(super) fn text(bench: &Bench, path: &str) -> String {
    let path = stored(bench, path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}\n{}", path.display(), bench.seen()))
}

/// Every file beneath a folder, by its path in it, with what it holds.
pub(super) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(at) = ahead.pop() {
        let Ok(list) = fs::read_dir(&at) else { continue };
        for entry in list.map(Result::unwrap) {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                ahead.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                match fs::read(&path) {
                    Ok(bytes) => drop(found.insert(name, bytes)),
                    // It was moved since the folder was listed, and is found where it is the next time.
                    Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{name}: {error}"),
                }
            }
        }
    }
    found
}

/// What lies in the mirror's trash, by path without the day.
pub(super) fn trash(bench: &Bench) -> BTreeMap<String, Vec<u8>> {
    files(&bench.root().join(".espejo/trash"))
        .into_iter()
        .map(|(path, bytes)| (path.split_once('/').map_or(path.clone(), |(_, rest)| rest.to_owned()), bytes))
        .collect()
}

/// Links asked for, by file.
pub(super) fn links(bench: &Bench) -> usize {
    bench.requests().iter().filter(|line| line.starts_with("GET /storage/")).count()
}

pub(super) fn lists(bench: &Bench) -> usize {
    bench.requests().iter().filter(|line| **line == "GET /storage").count()
}

fn put(world: &mut World, folder: Option<&FolderId>, name: &str, text: &str) -> FileId {
    world.app_put_file(folder, name, bytes(text))
}

#[test]
fn files_and_folders_are_mirrored_and_a_second_pass_asks_once_for_each_folder() {
    let bench = Bench::with(BACKUP, |world, _| {
        let docs = world.app_make_folder(None, "Docs");
        let deep = world.app_make_folder(Some(&docs), "Deep");
        world.app_make_folder(Some(&deep), "Empty");
        put(world, None, "a.txt", "one");
        put(world, Some(&docs), "b.pdf", "two");
        put(world, Some(&deep), "c.svg", "");
    });
    bench.sync();
    let found = files(&bench.root().join("Storage"));
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(names, ["Docs/Deep/c.svg", "Docs/b.pdf", "a.txt"], "{}", bench.seen());
    assert_eq!((text(&bench, "a.txt"), text(&bench, "Docs/b.pdf")), ("one".into(), "two".into()));
    assert!(stored(&bench, "Docs/Deep/Empty").is_dir());
    assert_eq!((links(&bench), lists(&bench)), (3, 4));
    assert_eq!(bench.world().downloads_with_a_token(), 0);
    let stamps = || {
        let of = |name: &str| fs::metadata(stored(&bench, name)).unwrap().modified().unwrap();
        ["a.txt", "Docs/b.pdf", "Docs/Deep/c.svg", "Docs", "."].map(of)
    };
    let before = stamps();
    bench.forget_requests();
    bench.sync();
    assert_eq!((links(&bench), lists(&bench)), (0, 4), "{:?}", bench.requests());
    assert_eq!(before, stamps());
    assert_eq!(bench.world().downloads().entries().len(), 3);
}

#[test]
fn hostile_and_double_names_are_mirrored_inside_the_root() {
    let names = [
        "..",
        "../../etc/passwd",
        "/etc/shadow",
        "...",
        ".",
        "CON",
        "nul.txt",
        "same.txt",
        "same.txt",
        "SAME.txt",
        "a/b",
        ".env",
        "x\u{0}y",
        "tab\there",
        "trailing. ",
        "",
        "-rf",
        "node_modules",
        ".git",
        "Ω\u{202e}fdp.exe",
    ];
    let long = "n".repeat(255);
    let wide = "ñ".repeat(255);
    let bench = Bench::with(BACKUP, |world, _| {
        for (n, name) in names.iter().chain([&&*long, &&*wide]).enumerate() {
            put(world, None, name, &format!("{n}"));
            let folder = world.app_make_folder(None, name);
            put(world, Some(&folder), "inside.txt", &format!("in {n}"));
        }
    });
    bench.sync();
    let found = files(&bench.root().join("Storage"));
    let mut held: Vec<String> =
        found.values().map(|bytes| String::from_utf8(bytes.clone()).unwrap()).collect();
    held.sort();
    let mut expected: Vec<String> =
        (0..names.len() + 2).flat_map(|n| [format!("{n}"), format!("in {n}")]).collect();
    expected.sort();
    assert_eq!(held, expected, "{:?}", found.keys());
    assert!(
        found.contains_key("same.txt")
            && found.contains_key("same (2).txt")
            && found.contains_key("SAME (3).txt"),
        "{:?}",
        found.keys()
    );
    bench.forget_requests();
    bench.sync();
    assert_eq!(links(&bench), 0);
    assert_eq!(files(&bench.root().join("Storage")).len(), found.len());
}

#[test]
fn what_changes_at_the_service_is_followed_without_a_needless_download() {
    let (mut file, mut folder) = (None, None);
    let bench = Bench::with(BACKUP, |world, _| {
        let docs = world.app_make_folder(None, "Docs");
        let old = world.app_make_folder(None, "Old");
        file = Some(put(world, Some(&docs), "plan.txt", "first"));
        for n in 0..3 {
            put(world, Some(&old), &format!("{n}.txt"), "kept");
        }
        folder = Some(old);
        put(world, None, "other.txt", "x");
    });
    let (file, folder) = (file.unwrap(), folder.unwrap());
    bench.sync();
    let count = || bench.world().downloads().entries().len();
    let before = count();
    {
        let mut world = bench.world();
        world.app_change_file(&file, |file| "plan B.txt".clone_into(&mut file.filename));
        world.app_change_folder(&folder, |folder| "Older".clone_into(&mut folder.name));
    }
    bench.sync();
    assert_eq!(text(&bench, "Docs/plan B.txt"), "first");
    assert_eq!(text(&bench, "Older/1.txt"), "kept");
    assert!(!stored(&bench, "Old").exists() && !stored(&bench, "Docs/plan.txt").exists());
    {
        let mut world = bench.world();
        world.app_change_file(&file, |file| file.folder = Some(folder.clone()));
    }
    bench.sync();
    assert_eq!(text(&bench, "Older/plan B.txt"), "first");
    assert_eq!(count(), before, "nothing was downloaded again");
    bench.world().app_replace_file(&file, bytes("second, longer"));
    bench.sync();
    assert_eq!(text(&bench, "Older/plan B.txt"), "second, longer", "{}", bench.seen());
    assert_eq!(count(), before + 1);
    assert_eq!(trash(&bench).get("Storage/Older/plan B.txt").map(Vec::as_slice), Some(&b"first"[..]));
}

#[test]
fn what_leaves_the_service_goes_to_the_trash_after_a_second_look() {
    let mut file = None;
    let bench = Bench::with(BACKUP, |world, _| {
        let docs = world.app_make_folder(None, "Docs");
        file = Some(put(world, Some(&docs), "gone.txt", "bye"));
        for n in 0..9 {
            put(world, Some(&docs), &format!("{n}.txt"), "stays");
        }
    });
    let file = file.unwrap();
    bench.sync();
    bench.world().app_change_file(&file, |file| file.trashed = true);
    bench.forget_requests();
    bench.sync();
    assert!(!stored(&bench, "Docs/gone.txt").exists());
    assert_eq!(trash(&bench).get("Storage/Docs/gone.txt").map(Vec::as_slice), Some(&b"bye"[..]));
    assert_eq!(links(&bench), 1, "asked for by itself before it went");
    assert_eq!(files(&stored(&bench, "Docs")).len(), 9);
}

#[test]
fn an_empty_or_short_list_removes_nothing_stored() {
    let bench = Bench::with(BACKUP, |world, _| {
        let docs = world.app_make_folder(None, "Docs");
        for n in 0..6 {
            put(world, Some(&docs), &format!("{n}.txt"), "stays");
            put(world, None, &format!("{n}.txt"), "stays");
        }
    });
    bench.sync();
    let before = files(&bench.root().join("Storage"));
    let list = || Matcher::Route("GET".into(), "/storage".into());
    for fault in [Fault::EmptyList, Fault::ShortList] {
        for times in [1, 2, 3, 20] {
            for _ in 0..times {
                bench.world().fail_next(list(), fault.clone());
            }
            let told = bench.tell(&["sync"]);
            assert!(matches!(told.code, 0 | 3), "{told:?}");
            assert_eq!(files(&bench.root().join("Storage")), before, "{fault:?} {times}");
            bench.world().calm();
        }
    }
    bench.sync();
    assert_eq!(bench.attention(), "");
}

#[test]
fn access_lost_removes_nothing_and_it_heals() {
    let bench = Bench::with(BACKUP, |world, _| {
        let docs = world.app_make_folder(None, "Docs");
        for n in 0..4 {
            put(world, Some(&docs), &format!("{n}.txt"), "stays");
        }
        put(world, None, "top.txt", "stays");
    });
    bench.sync();
    let before = files(&bench.root().join("Storage"));
    let each = |foreign: bool| {
        let mut world = bench.world();
        let folders: Vec<FolderId> = world.storage_folders().map(|folder| folder.id.clone()).collect();
        let all: Vec<FileId> = world.storage_files().map(|file| file.id.clone()).collect();
        for id in folders {
            world.app_change_folder(&id, |folder| folder.foreign = foreign);
        }
        for id in all {
            world.app_change_file(&id, |file| file.foreign = foreign);
        }
    };
    each(true);
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert_eq!(files(&bench.root().join("Storage")), before);
    assert!(bench.attention().contains("no stored file is removed here"), "{}", bench.attention());
    each(false);
    bench.sync();
    assert_eq!(bench.attention(), "");
    // 403 is told, and rests this area alone.
    bench.world().set_scope("storage:read", false);
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert!(bench.attention().contains("the service forbids it"), "{}", bench.attention());
    bench.world().set_scope("storage:read", true);
    bench.sync();
    assert_eq!(files(&bench.root().join("Storage")), before);
    // Emptied on purpose: approved.
    each(true);
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert_eq!(bench.tell(&["approve", "--yes"]).code, 0);
    bench.tell(&["sync"]);
    assert_eq!(files(&bench.root().join("Storage")).len(), 0, "{}", bench.seen());
    assert_eq!(trash(&bench).len(), 5);
}

#[test]
fn every_broken_download_heals_and_damages_nothing() {
    let faults = [
        (Fault::Status { status: 500, retry_after: None }, 1),
        (Fault::Status { status: 403, retry_after: None }, 1),
        (Fault::Status { status: 404, retry_after: None }, 2),
        (Fault::Cut, 3),
        (Fault::Short, 1),
        (Fault::LostBefore, 1),
        (Fault::LostAfter, 2),
        (Fault::PageWith200, 1),
        (Fault::Redirect("http://example.com/elsewhere".into()), 1),
    ];
    let mut file = None;
    let bench = Bench::with(BACKUP, |world, _| {
        file = Some(world.app_put_file(None, "big.bin", Contents::Made { seed: 1, len: 3_000_001 }));
    });
    let file = file.unwrap();
    bench.sync();
    for (n, (fault, times)) in faults.into_iter().enumerate() {
        let old = fs::read(stored(&bench, "big.bin")).unwrap();
        let new = Contents::Made { seed: 2 + n as u64, len: 3_000_000 };
        let expected = new.slice(0, new.len());
        {
            let mut world = bench.world();
            world.app_replace_file(&file, new);
            for _ in 0..times {
                world.fail_next(Matcher::Downloads(None), fault.clone());
            }
        }
        let told = bench.tell(&["sync"]);
        assert_eq!(told.code, 0, "{fault:?} {told:?} {}", bench.seen());
        assert!(fs::read(stored(&bench, "big.bin")).unwrap() == expected, "{fault:?}");
        assert!(trash(&bench).values().any(|kept| *kept == old), "{fault:?}: the older version is kept");
        assert_eq!(bench.world().faults_waiting(), 0, "{fault:?}");
    }
    assert_eq!(bench.world().downloads_with_a_token(), 0);
    assert!(!bench.log().contains("signature="), "a link in the log");
}

#[test]
fn a_broken_download_is_taken_up_where_it_broke_off() {
    let bench = Bench::with(BACKUP, |world, _| {
        world.app_put_file(None, "big.bin", Contents::Made { seed: 1, len: 9_000_000 });
        world.fail_next(Matcher::Downloads(None), Fault::Cut);
    });
    bench.sync();
    let ranges: Vec<String> = {
        let world = bench.world();
        world.downloads().entries().map(|entry| String::from_utf8(entry.body.clone()).unwrap()).collect()
    };
    assert_eq!(ranges, ["", "bytes=4500000-"]);
    assert_eq!(links(&bench), 1);
    let whole = Contents::Made { seed: 1, len: 9_000_000 }.slice(0, 9_000_000);
    assert!(fs::read(stored(&bench, "big.bin")).unwrap() == whole);
    // And where the server knows no ranges, from the beginning.
    {
        let mut world = bench.world();
        world.serve_ranges(false);
        world.app_put_file(None, "other.bin", Contents::Made { seed: 2, len: 2_000_000 });
        world.fail_next(Matcher::Downloads(None), Fault::Cut);
    }
    bench.sync();
    let whole = Contents::Made { seed: 2, len: 2_000_000 }.slice(0, 2_000_000);
    assert!(fs::read(stored(&bench, "other.bin")).unwrap() == whole);
}

#[test]
fn a_size_that_no_two_transfers_agree_on_places_nothing() {
    let mut file = None;
    let bench = Bench::with(BACKUP, |world, _| {
        let id = put(world, None, "a.txt", "four");
        world.app_change_file(&id, |file| file.told_size = Some(9));
        file = Some(id);
        put(world, None, "b.txt", "fine");
        world.fail_randomly(Matcher::Downloads(file.clone()), Fault::Cut, 1000);
    });
    let daemon = bench.run();
    bench.until("the other file is there", || stored(&bench, "b.txt").exists());
    bench.until("the wrong one is told", || bench.attention().contains("it cannot be downloaded"));
    assert!(!stored(&bench, "a.txt").exists());
    bench.world().app_change_file(&file.unwrap(), |file| file.told_size = None);
    bench.world().calm();
    bench.ask("\"full-pass\"");
    bench.until("it is there", || stored(&bench, "a.txt").exists());
    assert_eq!(text(&bench, "a.txt"), "four");
    bench.until("nothing needs the user", || bench.attention().is_empty());
    drop(daemon);
}

#[test]
fn in_a_backup_local_changes_stay_and_never_go_up() {
    let bench = Bench::with(BACKUP, |world, _| {
        for name in ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"] {
            put(world, None, name, "theirs");
        }
    });
    bench.sync();
    let write = |name: &str, text: &str| {
        let mut file = fs::File::create(stored(&bench, name)).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    };
    write("a.txt", "mine!!");
    write("mine.txt", "my own");
    fs::remove_file(stored(&bench, "b.txt")).unwrap();
    bench.forget_requests();
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}");
    let found = files(&bench.root().join("Storage"));
    assert_eq!(found["a.txt"], b"theirs");
    assert_eq!(found["b.txt"], b"theirs");
    assert_eq!(found["mine.txt"], b"my own");
    let copy = found.iter().find(|(name, _)| name.starts_with("a.conflict-")).expect("a copy beside it");
    assert_eq!(copy.1, b"mine!!");
    assert_eq!(bench.writes(), Vec::<String>::new());
    assert!(bench.attention().contains(copy.0.as_str()), "{}", bench.attention());
    let listed = bench.tell(&["list", "--json"]).out;
    assert!(listed.contains("Storage/mine.txt") && listed.contains("local only"), "{listed}");
    // Nothing more happens to what was settled.
    bench.tell(&["sync"]);
    assert_eq!(files(&bench.root().join("Storage")), found);
    fs::remove_file(stored(&bench, copy.0)).unwrap();
    bench.sync();
    assert_eq!(bench.attention(), "");
}

#[test]
fn a_person_s_edit_goes_before_the_first_mirror_of_storage() {
    let mut world = World::new(7);
    world.set_limit(Some(60), Window::SlidingLog);
    let space = world.add_workspace("Equipo", "equipo");
    world.app_create(&space, None, "Plan", Vec::new());
    for n in 0..300 {
        world.app_put_file(None, &format!("{n}.txt"), bytes("x"));
    }
    let bench = Bench::over(world, space, 60, BACKUP);
    let daemon = bench.run();
    // The background has used its share of the minute.
    bench.until("many files are there", || bench.world().log().entries().len() >= 8);
    bench.forget_requests();
    fs::OpenOptions::new()
        .append(true)
        .open(bench.page("Plan.md"))
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"words\n"))
        .unwrap();
    bench.until("the edit is sent", || bench.requests().iter().any(|line| line.starts_with("PATCH")));
    assert!(links(&bench) < 10, "{:?}", bench.requests());
    assert!(bench.world().log().answered(429) == 0);
    drop(daemon);
}

#[test]
fn a_link_that_leads_into_this_computer_or_its_network_is_not_followed() {
    let places = [
        ("https://169.254.169.254", "it leads to a link-local address"),
        ("https://10.0.0.7", "it leads into a private network"),
        ("https://[::ffff:192.168.1.1]", "it leads into a private network"),
    ];
    let cases = places.into_iter().flat_map(|place| [(place, false), (place, true)]);
    side_by_side(cases, |((to, why), redirected)| {
        let mut file: Option<FileId> = None;
        let bench = Bench::with(BACKUP, |world, _| file = Some(put(world, None, "a.txt", "one")));
        let origin = bench.base_url().trim_end_matches("/api/v1").to_owned();
        if redirected {
            let file = file.unwrap();
            let attachment = bench.world().storage_file(&file).unwrap().attachment.clone();
            let route = Matcher::Route("GET".into(), format!("/signed/{file}/{attachment}"));
            for _ in 0..2 {
                bench.world().fail_next(route.clone(), Fault::Redirect(format!("{to}/x")));
            }
        } else {
            bench.world().set_link_origin(to);
        }
        assert_eq!(bench.tell(&["sync"]).code, 1, "{to} {redirected}: {}", bench.seen());
        let told = bench.attention();
        let line = format!("Storage/a.txt: it cannot be downloaded: the link cannot be followed: {why}");
        assert!(told.contains(&line) && !told.contains(to) && !told.contains("signature"), "{to}: {told}");
        assert!(!stored(&bench, "a.txt").exists());
        // The service itself is on this computer, and so may its files be.
        bench.world().set_link_origin(&origin);
        bench.sync();
        assert_eq!((text(&bench, "a.txt"), bench.attention()), ("one".into(), String::new()));
    });
}
