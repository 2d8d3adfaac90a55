//! What a scan says, and what a read says.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use proptest::prelude::*;

use super::*;
use crate::mirror::read::{SIZE_MAX, Stamps};
use crate::model::{EntryKind, Hides, Unreadable};

#[test]
fn a_scan_lists_everything_in_path_order_with_its_stamp() {
    let bed = bed();
    for path in ["b.md", "a b/x.md", "a/x.md", "a.md", "ñ/z.md", ".hidden/h.md", "a/.espejo-tmp-3.part", "Z"]
    {
        bed.put(path, path);
    }
    symlink("a.md", bed.real("link.md")).unwrap();
    assert_eq!(
        bed.listed(),
        [
            ".hidden/",
            ".hidden/h.md",
            "Z",
            "a/",
            "a b/",
            "a b/x.md",
            "a.md",
            "a/x.md",
            "b.md",
            "link.md?",
            "ñ/",
            "ñ/z.md"
        ]
    );
    let scan = bed.scan();
    let root = fs::metadata(bed.root()).unwrap();
    assert_eq!(scan.root_identity, (root.dev(), root.ino()));
    for entry in scan.entries {
        let look = fs::symlink_metadata(bed.real(entry.path.as_str())).unwrap();
        let ns = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
        assert_eq!(
            (
                entry.stamp.device,
                entry.stamp.inode,
                entry.stamp.size,
                entry.stamp.modified_ns,
                entry.stamp.changed_ns
            ),
            (
                look.dev(),
                look.ino(),
                look.size(),
                ns(look.mtime(), look.mtime_nsec()),
                ns(look.ctime(), look.ctime_nsec())
            )
        );
        let born =
            look.created().map_or(0, |at| at.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos());
        assert_eq!(i128::from(entry.stamp.born_ns), born as i128);
    }
}

#[test]
fn tool_folders_are_listed_and_not_entered() {
    let bed = bed();
    for tool in [".git", "a/.obsidian", ".STVERSIONS", ".Trash-1000", "node_modules", "a/lost+found"] {
        bed.put(&format!("{tool}/x/y.md"), "");
    }
    // A file of such a name is a file.
    bed.put(".hg", "");
    assert_eq!(
        bed.listed(),
        [
            ".STVERSIONS/",
            ".Trash-1000/",
            ".git/",
            ".hg",
            "a/",
            "a/.obsidian/",
            "a/lost+found/",
            "node_modules/"
        ]
    );
}

#[test]
fn what_cannot_be_looked_at_is_named() {
    let bed = bed();
    bed.put("a/x.md", "x");
    let nameless = |name: &'static [u8]| bed.real("a").join(OsStr::from_bytes(name));
    File::create(nameless(b"caf\xe9.md")).unwrap();
    fs::create_dir_all(nameless(b"d\xff").join("deep/er")).unwrap();
    File::create(nameless(b"d\xff").join("deep/er/y.md")).unwrap();
    let its = |path: std::path::PathBuf| {
        let look = fs::metadata(path).unwrap();
        (look.dev(), look.ino())
    };
    let named = [nameless(b"caf\xe9.md"), nameless(b"d\xff")].map(its);
    let shut = ["shut", "half"];
    for (name, mode) in shut.iter().zip([0o000, 0o444]) {
        bed.put(&format!("{name}/x.md"), "x");
        fs::set_permissions(bed.real(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    bed.put("file.md", "x");
    fs::set_permissions(bed.real("file.md"), fs::Permissions::from_mode(0o000)).unwrap();
    let scan = bed.scan();
    let read = bed.read("file.md");
    for name in shut {
        fs::set_permissions(bed.real(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut unreadable: Vec<String> =
        scan.unreadable.iter().map(|found| format!("{}: {}", found.path, found.why)).collect();
    // root reads everything; for everybody else two more places are shut.
    if !rustix::process::geteuid().is_root() {
        let denied = "Permission denied (os error 13)";
        assert_eq!(unreadable.pop().unwrap(), format!("shut: {denied}"));
        assert_eq!(unreadable.pop().unwrap(), format!("half: {denied}"));
        assert_eq!(read, Err(DiskError::Denied(at("file.md"), denied.to_owned())));
        assert_eq!(scan.entries.iter().filter(|entry| entry.path.as_str().ends_with("x.md")).count(), 1);
    }
    assert_eq!(
        unreadable,
        [r"a: a name in it is not UTF-8: caf\xe9.md", r"a: a name in it is not UTF-8: d\xff"]
    );
    // Such a name is in no list, and neither is what lies beneath it.
    let bears = |found: &&Unreadable| found.hides == Hides::Name;
    let objects = scan.unreadable.iter().filter(bears).filter_map(|found| found.object);
    assert_eq!(objects.map(|(device, inode, _)| (device, inode)).collect::<Vec<_>>(), named);
    let in_a: Vec<&str> =
        scan.entries.iter().map(|entry| entry.path.as_str()).filter(|path| path.starts_with("a/")).collect();
    assert_eq!(in_a, ["a/x.md"]);
    // The neighbours are listed all the same, and so is a file that cannot be opened.
    for path in ["a/x.md", "shut", "half", "file.md"] {
        assert!(scan.entries.iter().any(|entry| entry.path == at(path)), "{path}");
    }
}

/// A file that moves during the walk, from wherever to wherever, is seen exactly once: when folders show every change in
/// their modification time (their last one is long ago), and when they show none (a coarse clock).
#[test]
fn what_moves_during_a_walk_is_seen() {
    let mut walks = 0;
    for (step, coarse) in [(1, false), (2, false), (3, false), (1, true), (2, true), (3, true)] {
        for (from, to) in [("a", "z"), ("z", "a"), ("a/b", "z"), ("z", "a/b"), ("a", ""), ("z", "a/b/new")] {
            let bed = bed();
            for folder in ["a/b", "z"] {
                bed.put(&format!("{folder}/stays.md"), "");
            }
            bed.put(&format!("{from}/moves.md"), "");
            bed.later(if coarse { 0 } else { 10 });
            let (from, to) = (bed.real(from).join("moves.md"), bed.real(to).join("moves.md"));
            let folders = ["", "a", "a/b", "z"].map(|folder| bed.real(folder));
            let count = Arc::new(AtomicI64::new(0));
            let counted = count.clone();
            *bed.mirror.steps.hook.lock().unwrap() = Some(Box::new(move |_| {
                if counted.fetch_add(1, Ordering::Relaxed) + 1 == step {
                    let times =
                        folders.each_ref().map(|folder| fs::metadata(folder).unwrap().modified().unwrap());
                    fs::create_dir_all(to.parent().unwrap()).unwrap();
                    fs::rename(&from, &to).unwrap();
                    for (folder, time) in folders.iter().zip(times).filter(|_| coarse) {
                        File::open(folder).unwrap().set_modified(time).unwrap();
                    }
                }
                false
            }));
            let scan = bed.scan();
            let seen: Vec<_> = scan.entries.iter().filter(|entry| entry.path.name() == "moves.md").collect();
            assert_eq!((seen.len(), scan.unreadable), (1, vec![]), "step {step}, coarse {coarse}");
            walks = walks.max(count.load(Ordering::Relaxed));
        }
    }
    assert!(walks > 4, "no walk was repeated");
}

#[test]
fn a_mirror_that_never_rests_gives_no_evidence_of_absence() {
    let bed = bed();
    bed.put("a/x.md", "x");
    let (root, mut count) = (bed.root(), 0);
    *bed.mirror.steps.hook.lock().unwrap() = Some(Box::new(move |_| {
        count += 1;
        put(&root.join(format!("{count}.md")), "");
        false
    }));
    let scan = bed.scan();
    assert_eq!(scan.unreadable.len(), 1, "{scan:?}");
    assert!(scan.unreadable[0].path.is_root() && scan.entries.iter().any(|entry| entry.path == at("a/x.md")));
}

#[test]
fn a_read_is_whole_or_refused() {
    let bed = bed();
    bed.put("a/x.md", "text\r\n\0");
    assert_eq!(bed.read("a/x.md").unwrap().bytes, b"text\r\n\0");
    assert_eq!(bed.read("a/none.md"), Err(DiskError::Missing(at("a/none.md"))));
    assert_eq!(bed.read("none/x.md"), Err(DiskError::Missing(at("none/x.md"))));
    assert_eq!(bed.read("a/x.md/y.md"), Err(DiskError::Missing(at("a/x.md/y.md"))));
    assert_eq!(bed.read("a"), Err(DiskError::NotOrdinary(at("a"))));
    for (size, fits) in [(SIZE_MAX, true), (SIZE_MAX + 1, false)] {
        File::create(bed.real("big.md")).unwrap().set_len(size).unwrap();
        match bed.read("big.md") {
            Ok(look) => assert!(fits && look.bytes.len() as u64 == size),
            Err(error) => assert_eq!((fits, error), (false, DiskError::TooLarge(at("big.md"), size))),
        }
    }
    let bytes = vec![b'x'; usize::try_from(SIZE_MAX).unwrap() + 1];
    let big = Effect::WriteFile { path: at("b.md"), bytes, expect: Expect::Absent };
    assert_eq!(bed.mirror.perform(&big), Err(DiskError::TooLarge(at("b.md"), SIZE_MAX + 1)));
    assert_eq!(bed.trash("big.md", "x"), Err(DiskError::Changed(at("big.md"))));
}

#[test]
fn many_folders_are_listed_and_none_twice() {
    let bed = quick_bed();
    let mut expected = std::collections::BTreeSet::new();
    for n in 0..400 {
        let path = format!("{}/{}/{n}/a.md", n % 20, n % 7);
        bed.put(&path, "a");
        expected.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
        expected.insert(path);
    }
    let scan = bed.scan();
    let seen: Vec<&str> = scan.entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(seen, expected.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(scan.unreadable, []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_later_scan_says_what_a_first_one_would(
        // Names that begin alike, because what is in a folder comes after some of its siblings.
        acts in prop::collection::vec(("[a-]([a.-]){0,1}(/[a-]([a.-]){0,1}){0,2}", any::<bool>()), 1..40),
    ) {
        let bed = quick_bed();
        for some in acts.chunks(8) {
            for (path, is_new) in some.iter().filter_map(|(path, new)| Some((MirrorPath::new(path).ok()?, new))) {
                let real = bed.real(path.as_str());
                // Some have no place: a file is in the way.
                if *is_new {
                    _ = fs::create_dir_all(real.parent().unwrap()).and_then(|()| File::create(real));
                } else {
                    _ = fs::remove_file(&real).or_else(|_| fs::remove_dir_all(&real));
                }
            }
            let entries = bed.scan().entries;
            let fresh = open(&bed.root(), &bed.clock, false);
            let Ok(DiskReply::Scan(first)) = fresh.perform(&Effect::Scan) else { panic!("no scan") };
            prop_assert_eq!(&entries, &first.entries);
            prop_assert!(entries.is_sorted_by(|a, b| a.path < b.path));
            let again = bed.scan().entries;
            prop_assert_eq!(&again, &entries);
            prop_assert!(again.iter().zip(&entries).all(|(now, before)| now.path.is_same_text(&before.path)));
        }
    }
}

#[test]
fn a_process_that_only_looks_finds_the_stamps_of_a_scan_in_any_order() {
    let bed = quick_bed();
    for path in ["top.md", "a/x.md", "a/b/x.md", "a/b/c/x.md", "a.md", "ab/x.md", "b/x.md"] {
        bed.put(path, path);
    }
    symlink(bed.real("top.md"), bed.real("link.md")).unwrap();
    symlink(bed.real("a"), bed.real("linked")).unwrap();
    let entries = bed.scan().entries;
    let mut stamps = Stamps::open(&bed.root());
    for entry in entries.iter().chain(entries.iter().rev()) {
        let expected = (entry.kind == EntryKind::File).then_some(entry.stamp);
        assert_eq!(stamps.of(&entry.path), expected, "{}", entry.path);
    }
    for none in ["gone.md", "gone/x.md", "linked/x.md", "a/b/gone.md"] {
        assert_eq!(stamps.of(&at(none)), None, "{none}");
    }
    assert_eq!(Stamps::open(&bed.real("nowhere")).of(&at("top.md")), None);
}
