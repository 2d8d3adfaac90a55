//! The watcher: it hints at what happens, and keeps quiet about what does not matter. Tests wait for a hint that must
//! come (after an act that is made last), never for time to pass.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::*;
use crate::mirror::watch::{WatchError, Watcher};
use crate::model::{Event, StorageEffect};

fn watch(bed: &Bed) -> (Watcher, Receiver<Event>) {
    let (sender, receiver) = channel();
    let watcher =
        Watcher::start(bed.mirror.root(), bed.mirror.hands(), move |event| drop(sender.send(event))).unwrap();
    (watcher, receiver)
}

#[test]
fn what_others_open_is_told_and_what_espejo_opens_is_not() {
    let bed = bed();
    bed.put("a/x.md", "x");
    bed.put("a/y.md", "y");
    let (_watcher, receiver) = watch(&bed);
    bed.read("a/y.md").unwrap();
    // Open until it is told: right after the read, it might have been the mirror.
    let opened = std::iter::from_fn(|| {
        fs::File::open(bed.real("a/x.md")).unwrap();
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(Event::Opened(path)) => Some(Some(path)),
            Ok(_) | Err(RecvTimeoutError::Timeout) => Some(None),
            Err(error) => panic!("{error}"),
        }
    });
    assert_eq!(opened.take(400).flatten().next(), Some(at("a/x.md")));
}

/// Every hint up to the one at a file that is made for this.
fn hints(bed: &Bed, receiver: &Receiver<Event>, end: &str) -> Vec<String> {
    bed.put(end, "");
    let mut found = Vec::new();
    loop {
        match receiver.recv_timeout(Duration::from_secs(20)) {
            Ok(Event::Hint(path)) if path == at(end) => return found,
            Ok(Event::Hint(path)) => found.push(path.to_string()),
            Ok(Event::HintAll) => found.push("*".to_owned()),
            Ok(Event::Opened(_)) => {}
            Ok(other) => panic!("{other:?}"),
            Err(RecvTimeoutError::Timeout) => panic!("no hint at {end}: {found:?}"),
            Err(error) => panic!("{error}: {found:?}"),
        }
    }
}

fn distinct(mut hints: Vec<String>) -> Vec<String> {
    hints.sort();
    hints.dedup();
    hints
}

#[test]
fn changes_are_hinted_at_and_looks_are_not() {
    let bed = bed();
    bed.put("a/x.md", "x");
    bed.put("a/y.md", "y");
    bed.put(".git/config", "");
    let (watcher, receiver) = watch(&bed);

    bed.scan();
    bed.read("a/x.md").unwrap();
    assert_eq!(hints(&bed, &receiver, "1"), [""; 0], "looks");

    bed.put("a/x.md", "xx");
    assert_eq!(distinct(hints(&bed, &receiver, "2")), ["1", "a/x.md"]);
    fs::rename(bed.real("a"), bed.real("b")).unwrap();
    fs::remove_file(bed.real("b/y.md")).unwrap();
    let moved = distinct(hints(&bed, &receiver, "3"));
    assert!(moved.contains(&"a".to_owned()) && moved.contains(&"b".to_owned()), "{moved:?}");

    bed.put(".espejo/trash/t.md", "");
    bed.put(".git/config", "changed");
    bed.put(".git/objects/aa", "");
    bed.put(".espejo-tmp-1.part", "");
    assert_eq!(distinct(hints(&bed, &receiver, "4")), ["3"]);

    assert!(watcher.is_alive());
}

#[test]
fn what_espejo_puts_somewhere_is_hinted_at_once_it_is_changed() {
    use std::os::unix::fs::PermissionsExt;
    let bed = bed();
    bed.put("x.md", "x");
    let (_watcher, receiver) = watch(&bed);
    bed.replace("x.md", "x", "xx").unwrap();
    bed.write("a/b/y.md", "y", Expect::Absent).unwrap();
    bed.put_stored("a/c/z.bin", "z");
    bed.finish(&Effect::Storage(StorageEffect::MakeFolder(at("a/d")))).unwrap();
    assert_eq!(hints(&bed, &receiver, "1"), [""; 0]);

    // The same size, and only the permissions.
    bed.put("x.md", "yy");
    fs::set_permissions(bed.real("a/b/y.md"), fs::Permissions::from_mode(0o600)).unwrap();
    bed.put("a/c/z.bin", "");
    bed.put("a/d/new.md", "");
    fs::remove_dir_all(bed.real("a/c")).unwrap();
    let changed = distinct(hints(&bed, &receiver, "2"));
    assert_eq!(changed, ["1", "a/b/y.md", "a/c", "a/c/z.bin", "a/d/new.md", "x.md"]);
}

#[test]
fn what_somebody_puts_into_a_new_folder_of_ours_is_hinted_at() {
    let bed = bed();
    let (sender, receiver) = channel();
    let (open, gate) = channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let _watcher = Watcher::start(bed.mirror.root(), bed.mirror.hands(), move |event| {
        gate.lock().unwrap().recv().ok();
        sender.send(event).ok();
    });
    // While the listener has its hands full, the new folders are not watched.
    bed.put("0", "");
    bed.write("a/b/y.md", "y", Expect::Absent).unwrap();
    bed.put("a/b/theirs.md", "");
    drop(open);
    let found = distinct(hints(&bed, &receiver, "1"));
    assert_eq!(found, ["0", "a/b/theirs.md"]);
}

#[test]
fn a_listener_that_cannot_keep_up_is_told_to_look_at_everything() {
    let bed = bed();
    let (sender, receiver) = channel();
    let (open, gate) = channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let watcher = Watcher::start(bed.mirror.root(), bed.mirror.hands(), move |event| {
        // Shut until the test lets it go on; open for good when the other end is gone.
        gate.lock().unwrap().recv().ok();
        sender.send(event).ok();
    });
    let watcher = watcher.unwrap();
    for count in 0..3000 {
        bed.put(&format!("{count}.md"), "");
    }
    drop(open);
    let mut got = 0;
    loop {
        match receiver.recv_timeout(Duration::from_secs(20)) {
            Ok(Event::HintAll) => break,
            Ok(_) => got += 1,
            Err(error) => panic!("{error} after {got}"),
        }
    }
    assert!(got < 3000, "{got}");
    drop(watcher);
}

#[test]
fn a_root_that_was_replaced_is_noticed() {
    let bed = bed();
    let (watcher, _receiver) = watch(&bed);
    assert!(watcher.is_alive());
    fs::rename(bed.root(), bed.dir.path().join("away")).unwrap();
    assert!(!watcher.is_alive());
    fs::create_dir(bed.root()).unwrap();
    assert!(!watcher.is_alive());
    drop(watcher);
    let (watcher, receiver) = watch(&bed);
    bed.put("x.md", "");
    hints(&bed, &receiver, "1");
    assert!(watcher.is_alive());
    let missing = Watcher::start(&bed.real("none"), bed.mirror.hands(), |_| {});
    assert!(matches!(missing, Err(WatchError::Other { .. })));
}

#[test]
fn links_are_not_followed() {
    let bed = bed();
    put(&bed.outside().join("d/x.md"), "");
    std::os::unix::fs::symlink(bed.outside(), bed.real("link")).unwrap();
    let (_watcher, receiver) = watch(&bed);
    put(&bed.outside().join("d/x.md"), "changed");
    put(&bed.outside().join("y.md"), "new");
    assert_eq!(hints(&bed, &receiver, "1"), [""; 0]);
}

#[test]
fn a_tree_that_was_hinted_at_is_watched_to_its_leaves() {
    let bed = bed();
    // Without permission to read it there is no watch on it, but on the rest.
    bed.put("shut/x.md", "");
    fs::set_permissions(bed.real("shut"), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let (watcher, receiver) = watch(&bed);
    for round in 0..20 {
        let tree = format!("tree{round}");
        put(&bed.outside().join(&tree).join("a/b/c/old.md"), "");
        fs::rename(bed.outside().join(&tree), bed.real(&tree)).unwrap();
        while receiver.recv_timeout(Duration::from_secs(20)).unwrap() != Event::Hint(at(&tree)) {}
        hints(&bed, &receiver, &format!("{tree}/a/b/c/new.md"));
        // Under its new name too.
        let moved = format!("moved{round}");
        fs::rename(bed.real(&tree), bed.real(&moved)).unwrap();
        while receiver.recv_timeout(Duration::from_secs(20)).unwrap() != Event::Hint(at(&moved)) {}
        hints(&bed, &receiver, &format!("{moved}/a/b/c/newer.md"));
    }
    assert!(watcher.is_alive());
    fs::set_permissions(bed.real("shut"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}
