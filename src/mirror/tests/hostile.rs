//! Links, pipes and reserved names: nothing outside the root is ever read or written, whatever is planted.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use super::*;

fn everything_outside(bed: &Bed) -> Vec<(PathBuf, Option<String>)> {
    let mut found = Vec::new();
    let mut ahead = vec![bed.outside()];
    while let Some(dir) = ahead.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            found.push((path.clone(), fs::read_to_string(&path).ok()));
            if path.is_dir() {
                ahead.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every effect on `path`; each must be refused with `NotOrdinary`.
fn refuse_all(bed: &Bed, path: &str) {
    let refused = |result: Result<(), DiskError>, what: &str| {
        assert!(matches!(result, Err(DiskError::NotOrdinary(_))), "{what} {path}: {result:?}");
    };
    refused(bed.read(path).map(drop), "read");
    refused(bed.replace(path, "secret", "new").map(drop), "replace");
    refused(bed.trash(path, "secret"), "trash");
    refused(bed.rename(path, "elsewhere.md"), "rename");
    refused(bed.remove(path), "remove");
}

#[test]
pub(super) fn links_are_refused_at_every_level() {
    let bed = bed();
    put(&bed.outside().join("secret"), "secret");
    put(&bed.outside().join("d/e/secret"), "secret");
    bed.put("a/b/real.md", "secret");
    bed.put("mine.md", "mine");
    let outside = bed.outside();
    for (target, link) in [
        (outside.join("secret"), "file"),
        (outside.clone(), "folder"),
        (outside.join("d"), "a/folder"),
        (outside.join("secret"), "a/b/file"),
        ("../../../outside".into(), "a/b/up"),
        // Inside, but still a link: what it leads to has a name of its own.
        ("b".into(), "a/inside"),
        ("real.md".into(), "a/b/inside.md"),
        ("/".into(), "slash"),
        ("/proc/self/root".into(), "magic"),
        ("loop".into(), "loop"),
    ] {
        symlink(target, bed.real(link)).unwrap();
    }
    let before = (everything_outside(&bed), bed.everything(), bed.listed());
    for path in [
        "file",
        "folder",
        "folder/secret",
        "folder/d/e/secret",
        "a/folder/e/secret",
        "a/folder",
        "a/b/file",
        "a/b/up/secret",
        "a/b/up",
        "a/inside/real.md",
        "a/b/inside.md",
        "slash/etc/passwd",
        "magic/etc/passwd",
        "loop",
        "loop/x",
    ] {
        refuse_all(&bed, path);
        assert!(bed.rename("mine.md", path).is_err(), "rename to {path}");
        let made = bed.write(path, "new", Expect::Absent);
        assert!(matches!(made, Err(DiskError::NotOrdinary(_) | DiskError::Exists(_))), "{path}: {made:?}");
        let made = bed.write(&format!("{path}/new/new.md"), "new", Expect::Absent);
        assert!(made.is_err(), "{path}: {made:?}");
    }
    assert_eq!((everything_outside(&bed), bed.everything(), bed.listed()), before);
    assert!(before.2.contains(&"folder?".to_owned()) && !before.2.iter().any(|path| path.contains("secret")));
    assert_eq!(bed.scan().unreadable, []);
}

#[test]
fn the_slow_way_refuses_the_same_links() {
    let bed = bed();
    put(&bed.outside().join("d/secret"), "secret");
    bed.put("a/b/real.md", "real");
    symlink(bed.outside(), bed.real("a/out")).unwrap();
    let root = File::open(bed.real("")).unwrap();
    use crate::mirror::sys::{look_of, step_by_step};
    use rustix::io::Errno;
    assert!(look_of(step_by_step(&root, "a/b").unwrap()).is_ok());
    for (path, error) in [
        ("a/out", Errno::LOOP),
        ("a/out/d", Errno::LOOP),
        ("a/none", Errno::NOENT),
        ("a/b/real.md", Errno::NOTDIR),
    ] {
        assert_eq!(step_by_step(&root, path).err(), Some(error), "{path}");
        assert_eq!(crate::mirror::sys::open_folder_beneath(&root, path).err(), Some(error), "{path}");
    }
}

#[test]
fn pipes_and_sockets_are_refused_without_waiting() {
    let bed = bed();
    let root = File::open(bed.root()).unwrap();
    use rustix::fs::{FileType, Mode};
    let pipe = rustix::fs::mknodat(&root, "pipe.md", FileType::Fifo, Mode::from_raw_mode(0o644), 0);
    let _socket = UnixListener::bind(bed.real("socket.md")).unwrap();
    pipe.unwrap();
    assert_eq!(bed.listed(), ["pipe.md?", "socket.md?"]);
    for path in ["pipe.md", "socket.md"] {
        refuse_all(&bed, path);
        assert_eq!(bed.write(path, "new", Expect::Absent), Err(DiskError::Exists(at(path))));
    }
    assert_eq!(bed.listed(), ["pipe.md?", "socket.md?"]);
}

#[test]
fn espejos_own_folder_and_the_root_are_nobodys_target() {
    let bed = bed();
    bed.put("mine.md", "mine");
    let before = bed.everything();
    for path in [
        "",
        ".espejo",
        ".espejo/marker",
        ".espejo/trash/x.md",
        ".Espejo/marker",
        ".ESPEJO",
        ".espejo-tmp-7.held",
        "a/.espejo-tmp-7.held",
        "a/.espejo-tmp-x/b.md",
    ] {
        refuse_all(&bed, path);
        let made = bed.write(path, "new", Expect::Absent);
        assert_eq!(made, Err(DiskError::NotOrdinary(at(path))), "{path}");
        assert_eq!(bed.rename("mine.md", path), Err(DiskError::NotOrdinary(at(path))), "{path}");
    }
    assert_eq!(bed.everything(), before);
    // Only at the top and only as a whole name.
    bed.write("a/.espejo/x.md", "new", Expect::Absent).unwrap();
    bed.write(".espejo.md", "new", Expect::Absent).unwrap();
}

#[test]
fn own_folders_that_were_swapped_for_links_are_refused() {
    for name in ["tmp", "trash"] {
        let bed = bed();
        bed.put("mine.md", "mine");
        symlink(bed.outside(), bed.real(".espejo").join(name)).unwrap();
        let written = bed.replace("mine.md", "mine", "new").map(drop);
        let trashed = bed.trash("mine.md", "mine");
        assert!(written.is_err() || name == "trash", "{name}: {written:?}");
        assert!(trashed.is_err(), "{name}: {trashed:?}");
        assert_eq!(everything_outside(&bed), [], "{name}");
        assert!(bed.text("mine.md").is_some(), "{name}");
        assert_eq!(bed.listed(), ["mine.md"]);
    }
}

#[test]
fn names_at_the_limits_are_written_or_refused_in_words() {
    let bed = bed();
    let long = "ñ".repeat(127);
    bed.write(&long, "one", Expect::Absent).unwrap();
    bed.replace(&long, "one", "two").unwrap();
    bed.trash(&long, "two").unwrap();
    bed.put(&long, "two");
    bed.trash(&long, "two").unwrap();
    let deep = vec!["folder"; 500].join("/");
    bed.write(&format!("{deep}/x.md"), "deep", Expect::Absent).unwrap();
    bed.replace(&format!("{deep}/x.md"), "deep", "deeper").unwrap();
    assert_eq!(bed.read(&format!("{deep}/x.md")).unwrap().bytes, b"deeper");
    let odd = "a\n\\\"'\u{1}$(x) /…";
    bed.write(odd, "odd", Expect::Absent).unwrap();
    bed.replace(odd, "odd", "odder").unwrap();
    bed.trash(odd, "odder").unwrap();
    let longer = "ñ".repeat(128);
    for result in [
        bed.write(&longer, "x", Expect::Absent).map(drop),
        bed.write(&format!("{longer}/y"), "x", Expect::Absent).map(drop),
        bed.write(&format!("fresh/er/{longer}"), "x", Expect::Absent).map(drop),
        bed.rename("folder", &format!("fresh/er/{longer}")),
        bed.rename("folder", &longer),
    ] {
        match result {
            Err(DiskError::Io(_, why)) => {
                assert_eq!(why, "a name in it is longer than this file system allows")
            }
            other => panic!("{other:?}"),
        }
    }
    let scan = bed.scan();
    assert_eq!((scan.entries.len(), scan.unreadable), (502, vec![]));
}
