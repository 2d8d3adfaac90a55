//! Each effect by itself, in a folder that no other program writes to.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

#[test]
fn a_new_file_appears_with_its_folders_and_never_over_anything() {
    let bed = bed();
    let stamp = bed.write("W/Pages/Plan.md", "one\n", Expect::Absent).unwrap();
    assert_eq!(bed.text("W/Pages/Plan.md").unwrap(), "one\n");
    assert_eq!(bed.read("W/Pages/Plan.md").unwrap().stamp, stamp);
    assert_eq!(bed.listed(), ["W/", "W/Pages/", "W/Pages/Plan.md"]);
    // The same again is the same write whose answer was lost.
    assert_eq!(bed.write("W/Pages/Plan.md", "one\n", Expect::Absent).unwrap(), stamp);
    for taken in ["W/Pages/Plan.md", "W/Pages"] {
        assert_eq!(bed.write(taken, "two\n", Expect::Absent), Err(DiskError::Exists(at(taken))));
    }
    // A file where a folder should be is named itself, and no folder is left behind.
    assert_eq!(
        bed.write("W/Pages/Plan.md/x/y.md", "two\n", Expect::Absent),
        Err(DiskError::Exists(at("W/Pages/Plan.md")))
    );
    assert_eq!(bed.listed().len(), 3);
    assert_eq!(bed.aside(), [""; 0]);
}

#[test]
fn a_replaced_file_is_the_new_one_everywhere() {
    let bed = bed();
    bed.put("a/Plan.md", "one\n");
    let stamp = bed.replace("a/Plan.md", "one\n", "two\n").unwrap();
    assert_eq!(bed.text("a/Plan.md").unwrap(), "two\n");
    assert_eq!(bed.read("a/Plan.md").unwrap().stamp, stamp);
    assert_eq!(bed.scan().entries[1].stamp, stamp);
    assert_eq!(bed.replace("a/Plan.md", "one\n", "three\n"), Err(DiskError::Changed(at("a/Plan.md"))));
    assert_eq!(bed.replace("a/None.md", "one\n", "three\n"), Err(DiskError::Missing(at("a/None.md"))));
    assert_eq!(bed.replace("b/None.md", "one\n", "three\n"), Err(DiskError::Missing(at("b/None.md"))));
    assert_eq!(bed.replace("a", "one\n", "three\n"), Err(DiskError::NotOrdinary(at("a"))));
    assert_eq!(bed.listed(), ["a/", "a/Plan.md"]);
    // What was replaced stays for ten minutes, then goes.
    assert_eq!(bed.aside(), ["1.done", "1.note"]);
    bed.later(9);
    bed.scan();
    assert_eq!(bed.aside(), ["1.done", "1.note"]);
    bed.later(11);
    bed.scan();
    assert_eq!(bed.aside(), [""; 0]);
}

#[test]
fn equal_bytes_are_not_written() {
    let bed = bed();
    bed.put("Plan.md", "one\n");
    let before = bed.read("Plan.md").unwrap().stamp;
    for expect in [Expect::Absent, Expect::Content(hash("one\n")), Expect::Content(hash("other"))] {
        assert_eq!(bed.write("Plan.md", "one\n", expect).unwrap(), before, "{expect:?}");
    }
    assert_eq!(bed.read("Plan.md").unwrap().stamp, before);
}

#[test]
fn permissions_and_tags_of_a_file_stay_with_it() {
    let bed = bed();
    for mode in [0o644, 0o664, 0o600, 0o755, 0o444] {
        let name = format!("{mode:o}.md");
        bed.put(&name, "one");
        fs::set_permissions(bed.real(&name), fs::Permissions::from_mode(mode)).unwrap();
        let file = File::open(bed.real(&name)).unwrap();
        let tag = rustix::fs::fsetxattr(&file, "user.xdg.tags", b"home", rustix::fs::XattrFlags::empty());
        bed.replace(&name, "one", "two").unwrap();
        let now = File::open(bed.real(&name)).unwrap();
        assert_eq!(now.metadata().unwrap().mode() & 0o7777, mode, "{mode:o}");
        if tag.is_ok() {
            let mut value = [0; 16];
            assert_eq!(rustix::fs::fgetxattr(&now, "user.xdg.tags", &mut value), Ok(4), "{mode:o}");
            assert_eq!(&value[..4], b"home");
        }
    }
    bed.write("new.md", "x", Expect::Absent).unwrap();
    let mode = fs::metadata(bed.real("new.md")).unwrap().mode() & 0o777;
    put(&bed.outside().join("like"), "");
    let usual = fs::metadata(bed.outside().join("like")).unwrap().mode() & 0o777;
    assert_eq!(mode, usual & 0o644);
}

#[test]
fn a_conflict_copy_is_read_by_nobody_who_may_not_read_its_file() {
    let bed = bed();
    for mode in [0o600, 0o640, 0o644] {
        bed.put("a/Plan.md", "one");
        fs::set_permissions(bed.real("a/Plan.md"), fs::Permissions::from_mode(mode)).unwrap();
        for copy in ["a/Plan.conflict-20260301-000000.md", "a/Plan.conflict-20260301-000000-2.md"] {
            bed.write(copy, "two", Expect::AbsentHere).unwrap();
            assert_eq!(fs::metadata(bed.real(copy)).unwrap().mode() & 0o777, mode, "{copy} {mode:o}");
            fs::remove_file(bed.real(copy)).unwrap();
        }
    }
}

#[test]
fn renames_move_files_and_folders_and_replace_nothing() {
    let bed = bed();
    bed.put("a/Plan.md", "one");
    bed.put("a/Plan/Sub.md", "sub");
    bed.put("b.md", "taken");
    bed.rename("a/Plan.md", "c/d/Plan.md").unwrap();
    bed.rename("a/Plan", "c/d/Plan").unwrap();
    assert_eq!(bed.text("c/d/Plan.md").unwrap(), "one");
    assert_eq!(bed.text("c/d/Plan/Sub.md").unwrap(), "sub");
    bed.rename("c/d/Plan.md", "c/d/plan.md").unwrap();
    bed.rename("c/d/Plan", "c/d/PLAN").unwrap();
    bed.rename("b.md", "b.md").unwrap();
    let before = bed.everything();
    for (from, to, error) in [
        ("c/d/plan.md", "b.md", DiskError::Exists(at("b.md"))),
        ("c", "b.md", DiskError::Exists(at("b.md"))),
        ("b.md", "a", DiskError::Exists(at("a"))),
        ("c/d/PLAN", "a", DiskError::Exists(at("a"))),
        ("none", "x/y", DiskError::Missing(at("none"))),
        ("no/ne", "x/y", DiskError::Missing(at("no/ne"))),
        ("c/d/plan.md", "b.md/x", DiskError::Exists(at("b.md"))),
        ("c", "c/d/x", DiskError::Io(at("c"), "it cannot be moved into itself (c/d/x)".to_owned())),
    ] {
        assert_eq!(bed.rename(from, to), Err(error), "{from} -> {to}");
    }
    assert_eq!(bed.everything(), before);
    assert_eq!(bed.listed(), ["a/", "b.md", "c/", "c/d/", "c/d/PLAN/", "c/d/PLAN/Sub.md", "c/d/plan.md"]);
}

#[test]
pub(super) fn the_trash_keeps_everything_by_day_and_path() {
    let bed = bed();
    for text in ["one", "two", "three"] {
        bed.put("a/Plan.md", text);
        bed.trash("a/Plan.md", text).unwrap();
    }
    // A folder where the trash has a file, and the reverse.
    bed.put("a/Plan.md/deep.md", "four");
    bed.trash("a/Plan.md/deep.md", "four").unwrap();
    bed.remove("a/Plan.md").unwrap();
    bed.remove("a").unwrap();
    bed.put("a", "five");
    bed.trash("a", "five").unwrap();
    let mut found = bed.everything();
    found.remove(".espejo/marker");
    let expected = [
        (".espejo/trash/2026-03-01.2/a/Plan.md/deep.md", "four"),
        (".espejo/trash/2026-03-01/a (2)", "five"),
        (".espejo/trash/2026-03-01/a/Plan (2).md", "two"),
        (".espejo/trash/2026-03-01/a/Plan (3).md", "three"),
        (".espejo/trash/2026-03-01/a/Plan.md", "one"),
    ];
    assert_eq!(found, expected.map(|(path, text)| (path.to_owned(), text.to_owned())).into());

    bed.put("Plan.md", "one");
    assert_eq!(bed.trash("Plan.md", "two"), Err(DiskError::Changed(at("Plan.md"))));
    assert_eq!(bed.trash("None.md", "two"), Err(DiskError::Missing(at("None.md"))));
    assert_eq!(bed.trash("no/ne.md", "two"), Err(DiskError::Missing(at("no/ne.md"))));
    assert_eq!(bed.text("Plan.md").unwrap(), "one");
    assert_eq!(bed.aside(), [""; 0]);
}

#[test]
fn a_clock_that_is_set_back_makes_nothing_in_the_trash_old() {
    let bed = bed();
    let day = 24 * 3_600_000;
    // Only the clock of the files is set: what the trash lets go of is reckoned by the other.
    for (files, steady) in [(MARCH, MARCH), (0, MARCH), (MARCH + 2 * day, MARCH), (MARCH, 0)] {
        let (files, steady) = (move || Timestamp(files), move || Timestamp(steady));
        let mirror = Mirror::with_both(&bed.root(), "m1", false, Arc::new(files), Arc::new(steady)).unwrap();
        bed.put("Plan.md", "one");
        mirror.perform(&Effect::TrashFile { path: at("Plan.md"), expect: hash("one") }).unwrap();
        assert_eq!(mirror.purge_trash(Timestamp(MARCH)).unwrap().days, 0);
    }
    for path in
        ["2026-03-01/Plan.md", "2026-03-01/Plan (2).md", "2026-03-01/Plan (3).md", "2026-03-03/Plan.md"]
    {
        assert!(bed.real(".espejo/trash").join(path).exists(), "{path}");
    }
}

#[test]
fn only_whole_days_before_the_limit_leave_the_trash() {
    let bed = bed();
    let day = 24 * 3_600_000;
    for (age, name) in [(40, "old.md"), (31, "edge.md"), (30, "kept.md"), (0, "new.md")] {
        bed.clock.store(MARCH - age * day, Ordering::Relaxed);
        bed.put(&format!("deep/er/{name}"), name);
        bed.trash(&format!("deep/er/{name}"), name).unwrap();
    }
    put(&bed.real(".espejo/trash/mine/x"), "a person's own");
    std::os::unix::fs::symlink(bed.outside(), bed.real(".espejo/trash/2026-01-20/link")).unwrap();
    put(&bed.outside().join("precious"), "x");
    assert_eq!(bed.mirror.purge_trash(Timestamp(MARCH - 30 * day + 5)).unwrap().days, 2);
    let left: Vec<String> = bed.everything().into_keys().filter(|path| path.contains("trash")).collect();
    assert_eq!(
        left,
        [
            ".espejo/trash/2026-01-30/deep/er/kept.md",
            ".espejo/trash/2026-03-01/deep/er/new.md",
            ".espejo/trash/mine/x"
        ]
    );
    assert!(bed.outside().join("precious").exists());
}

#[test]
fn only_empty_folders_are_removed() {
    let bed = bed();
    bed.put("a/b/x.md", "x");
    fs::create_dir(bed.real("a/c")).unwrap();
    for path in ["a/b", "a", "none", "no/ne", "a/c"] {
        bed.remove(path).unwrap();
    }
    assert_eq!(bed.listed(), ["a/", "a/b/", "a/b/x.md"]);
    assert_eq!(bed.remove("a/b/x.md"), Err(DiskError::NotOrdinary(at("a/b/x.md"))));
    assert_eq!(bed.remove(""), Err(DiskError::NotOrdinary(at(""))));
}
