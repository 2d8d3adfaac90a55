//! The root itself: made, missing, replaced, another's, a link.

use std::os::unix::fs::symlink;

use super::*;
use crate::model::RootState;

#[test]
fn only_a_first_run_makes_a_root() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("a/root");
    let clock = Arc::new(AtomicI64::new(MARCH));
    let mirror = open(&root, &clock, false);
    let scan = |mirror: &Mirror| match mirror.perform(&Effect::Scan).unwrap() {
        DiskReply::Scan(scan) => scan,
        other => panic!("{other:?}"),
    };
    let write = Effect::WriteFile { path: at("x.md"), bytes: b"x".to_vec(), expect: Expect::Absent };
    assert_eq!(scan(&mirror).root, RootState::Missing);
    let refused = mirror.perform(&write).unwrap_err();
    assert_eq!(refused, DiskError::RootNotReady(format!("{} does not exist", root.display())));
    assert!(!root.exists());

    fs::create_dir_all(&root).unwrap();
    put(&root.join("mine.md"), "mine");
    assert_eq!(scan(&mirror).root, RootState::NoMarker);
    assert_eq!(scan(&mirror).entries, []);
    assert!(matches!(mirror.perform(&write), Err(DiskError::RootNotReady(_))));
    assert!(!root.join(".espejo").exists());

    // The same mirror finds its root as soon as it exists.
    open(&root, &clock, true);
    assert_eq!(scan(&mirror).root, RootState::Ready);
    assert_eq!(scan(&mirror).entries.len(), 1);
    mirror.perform(&write).unwrap();

    // Making it again changes nothing; another mirror may neither write nor make it its own.
    let marker = fs::read(root.join(".espejo/marker")).unwrap();
    open(&root, &clock, true);
    let other = Mirror::open(&root, "m2", false).unwrap();
    assert_eq!(scan(&other).root, RootState::OtherMirror);
    assert!(matches!(other.perform(&write), Err(DiskError::RootNotReady(_))));
    assert!(matches!(Mirror::open(&root, "m2", true), Err(DiskError::RootNotReady(_))));
    assert_eq!(fs::read(root.join(".espejo/marker")).unwrap(), marker);
    for bad in ["", "two\nlines"] {
        assert!(Mirror::open(&dir.path().join("b"), bad, true).is_err());
    }
}

/// What is done to a good root, and what scans say of it then.
#[test]
fn every_wrong_root_stops_all_writing_until_it_is_right_again() {
    type Harm = fn(&Bed);
    let cases: [(&str, Harm, Option<RootState>); 8] = [
        (
            "moved away",
            |bed| fs::rename(bed.root(), bed.dir.path().join("away")).unwrap(),
            Some(RootState::Missing),
        ),
        (
            "replaced by an empty folder",
            |bed| {
                fs::rename(bed.root(), bed.dir.path().join("away")).unwrap();
                fs::create_dir(bed.root()).unwrap();
            },
            Some(RootState::NoMarker),
        ),
        (
            "replaced by a file",
            |bed| {
                fs::rename(bed.root(), bed.dir.path().join("away")).unwrap();
                put(&bed.root(), "");
            },
            Some(RootState::Missing),
        ),
        (
            "without its marker",
            |bed| fs::remove_file(bed.real(".espejo/marker")).unwrap(),
            Some(RootState::NoMarker),
        ),
        (
            "another's",
            |bed| put(&bed.real(".espejo/marker"), &crate::mirror::marker::text("m9")),
            Some(RootState::OtherMirror),
        ),
        ("with half a marker", |bed| put(&bed.real(".espejo/marker"), "esp"), None),
        (
            "with a link for .espejo",
            |bed| {
                fs::rename(bed.real(".espejo"), bed.outside().join("own")).unwrap();
                symlink(bed.outside().join("own"), bed.real(".espejo")).unwrap();
            },
            None,
        ),
        (
            "with a link for a marker",
            |bed| {
                fs::rename(bed.real(".espejo/marker"), bed.outside().join("marker")).unwrap();
                symlink(bed.outside().join("marker"), bed.real(".espejo/marker")).unwrap();
            },
            None,
        ),
    ];
    for (what, harm, expected) in cases {
        let bed = bed();
        bed.put("a/x.md", "x");
        let good = bed.scan();
        assert_eq!(good.root, RootState::Ready);
        harm(&bed);
        let scan = bed.scan();
        match expected {
            Some(expected) => assert_eq!(scan.root, expected, "{what}"),
            None => assert!(matches!(scan.root, RootState::Unreadable(_)), "{what}: {:?}", scan.root),
        }
        assert_eq!((scan.entries, scan.unreadable), (vec![], vec![]), "{what}");
        for result in [
            bed.write("new/n.md", "new", Expect::Absent).map(drop),
            bed.replace("a/x.md", "x", "new").map(drop),
            bed.trash("a/x.md", "x"),
            bed.rename("a/x.md", "y.md"),
            bed.remove("a"),
            bed.read("a/x.md").map(drop),
        ] {
            assert!(matches!(result, Err(DiskError::RootNotReady(_))), "{what}: {result:?}");
        }
        assert!(!bed.real("new").exists(), "{what}");
    }

    // Back again, as after an unmount and a mount: no restart is needed.
    let bed = bed();
    bed.put("a/x.md", "x");
    let good = bed.scan();
    fs::rename(bed.root(), bed.dir.path().join("away")).unwrap();
    fs::create_dir(bed.root()).unwrap();
    assert_eq!(bed.scan().root, RootState::NoMarker);
    fs::remove_dir(bed.root()).unwrap();
    fs::rename(bed.dir.path().join("away"), bed.root()).unwrap();
    assert_eq!(bed.scan(), good);
    bed.replace("a/x.md", "x", "y").unwrap();
}

#[test]
fn a_root_that_is_a_link_is_resolved_once() {
    let dir = tempfile::tempdir().unwrap();
    let (real, other, link) = (dir.path().join("real"), dir.path().join("other"), dir.path().join("link"));
    fs::create_dir(&real).unwrap();
    fs::create_dir(&other).unwrap();
    symlink(&real, &link).unwrap();
    let clock = Arc::new(AtomicI64::new(MARCH));
    let mirror = open(&link, &clock, true);
    let write = |name: &str| {
        mirror.perform(&Effect::WriteFile { path: at(name), bytes: b"x".to_vec(), expect: Expect::Absent })
    };
    write("one.md").unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    write("two.md").unwrap();
    assert!(real.join("two.md").exists() && fs::read_dir(&other).unwrap().next().is_none());
    assert_eq!(mirror.root(), real.canonicalize().unwrap());
}

#[test]
fn a_root_that_goes_during_a_walk_is_not_an_empty_mirror() {
    for replaced in [false, true] {
        let bed = bed();
        for name in ["a", "b", "c"] {
            bed.put(&format!("{name}/x.md"), "x");
        }
        let (root, away) = (bed.root(), bed.dir.path().join("away"));
        let mut done = false;
        *bed.mirror.steps.hook.lock().unwrap() = Some(Box::new(move |_| {
            if !done {
                fs::rename(&root, &away).unwrap();
                if replaced {
                    open(&root, &Arc::new(AtomicI64::new(MARCH)), true);
                }
            }
            done = true;
            false
        }));
        let scan = bed.scan();
        assert_eq!(scan.entries, [], "{scan:?}");
        assert_eq!(scan.root == RootState::Missing, !replaced, "{scan:?}");
        assert_ne!(scan.root, RootState::Ready, "{scan:?}");
    }
}

/// Otherwise a checkout in a repository of the user's puts an earlier count back, and the folder passes for an older
/// copy.
#[test]
fn git_passes_over_what_the_folder_is_counted_by() {
    let bed = bed();
    let pattern = bed.real(".espejo/.gitignore");
    assert!(!pattern.exists());
    bed.mirror.note_runs(1).unwrap();
    assert_eq!(fs::read_to_string(&pattern).unwrap(), "*\n");
    // A kill left it empty.
    put(&pattern, "");
    bed.mirror.note_runs(1).unwrap();
    assert_eq!(fs::read_to_string(&pattern).unwrap(), "*\n");
    // The user may say otherwise.
    put(&pattern, "trash/\n");
    bed.mirror.note_runs(2).unwrap();
    assert_eq!(fs::read_to_string(&pattern).unwrap(), "trash/\n");
    assert_eq!(bed.mirror.runs(), Some(2));
}
