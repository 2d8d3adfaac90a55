//! When a stored file that is missing counts as gone: after its grace time, and not while it may be where espejo cannot look.

use super::*;
use crate::model::{Hides, Unreadable};

#[test]
fn only_a_scan_after_the_grace_time_says_that_a_file_is_gone() {
    let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
    play.lists(&[shown("a", "one"), shown("b", "one")]);
    play.scan(&[("Storage/b.txt", AS_AGREED)]);
    let (since, grace) = (play.cx.now, play.cx.settings.pages.delete_grace_ms);
    let end = since.plus_ms(grace);
    for late in [grace - 1, grace, 2 * grace] {
        play.cx.now = since.plus_ms(late);
        play.is_settled();
        assert_eq!(play.request_queue("a"), None, "{late} ms after it went");
        assert_eq!(play.storage.next_grace_end(grace, &play.folder), Some(end));
    }
    // It may be back, and no hint have told of it.
    play.scan(&[("Storage/a.txt", AS_AGREED), ("Storage/b.txt", AS_AGREED)]);
    play.is_settled();
    assert_eq!((play.request_queue("a"), play.storage.next_grace_end(grace, &play.folder)), (None, None));
    // Or not.
    play.scan(&[("Storage/b.txt", AS_AGREED)]);
    play.cx.now = play.cx.now.plus_ms(grace);
    play.scan(&[("Storage/b.txt", AS_AGREED)]);
    play.is_settled();
    assert_eq!(play.request_queue("a"), Some(stored::Decision::TrashThere));
    assert_eq!(play.storage.next_grace_end(grace, &play.folder), None);
}

#[test]
fn a_file_that_may_be_where_nobody_can_look_is_not_gone() {
    let there = [("Storage/b.txt", AS_AGREED)];
    let (its, other) = (AS_AGREED.object(), (1, 8, 10));
    for (hides, object, expected) in [
        (Hides::Anything, other, None),
        (Hides::Name, other, None),
        (Hides::Its, its, None),
        (Hides::Its, other, Some(stored::Decision::TrashThere)),
        (Hides::Beneath, its, Some(stored::Decision::TrashThere)),
    ] {
        let shut = |at, object| Unreadable { path: path(at), why: "shut".to_owned(), hides, object };
        let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
        play.lists(&[shown("a", "one"), shown("b", "one")]);
        play.folder.root.barrier.take_in(&Scan::default(), play.cx.now);
        let scan = Scan { unreadable: vec![shut("Elsewhere", Some(object))], ..Scan::default() };
        play.folder.root.barrier.take_in(&scan, play.cx.now);
        for _ in 0..2 {
            play.scan(&there);
            play.cx.now = play.cx.now.plus_ms(play.cx.settings.pages.delete_grace_ms);
        }
        play.is_settled();
        assert_eq!(play.request_queue("a"), expected, "{hides:?}");
        assert_eq!(
            play.storage.hidden(&play.folder.root.barrier).count(),
            usize::from(expected.is_none()),
            "{hides:?}"
        );
        // Once everything can be read, its grace time begins anew.
        play.folder.root.barrier.take_in(&Scan::default(), play.cx.now);
        play.scan(&there);
        play.is_settled();
        assert_eq!(play.request_queue("a"), None, "{hides:?}");
        play.cx.now = play.cx.now.plus_ms(play.cx.settings.pages.delete_grace_ms);
        play.scan(&there);
        play.is_settled();
        assert_eq!(play.request_queue("a"), Some(stored::Decision::TrashThere), "{hides:?}");
    }
}

#[test]
fn a_file_that_goes_from_where_it_was_moved_has_a_grace_time_of_its_own() {
    let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
    let b = ("Storage/b.txt", AS_AGREED);
    play.lists(&[shown("a", "one"), shown("b", "one")]);
    let grace = play.cx.settings.pages.delete_grace_ms;
    let mut wants_after = |files: &[(&str, Stamp)], ms| {
        play.cx.now = play.cx.now.plus_ms(ms);
        play.scan(files);
        play.lists(&[shown("a", "one"), shown("b", "one")]);
        play.is_settled();
        play.request_queue("a")
    };
    let moved = [("Storage/Local/a.txt", AS_AGREED), b];
    wants_after(&moved, 0);
    assert_eq!(wants_after(&moved, grace), None, "it is there");
    assert_eq!(wants_after(&[b], 1), None, "a program may be saving it");
    assert_eq!(wants_after(&[b], grace - 1), None);
    assert_eq!(wants_after(&[b], 1), Some(stored::Decision::TrashThere));
}

#[test]
fn of_two_versions_of_one_file_that_moved_where_nothing_is_sent_one_stays() {
    let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
    play.lists(&[shown("a", "one"), shown("b", "one")]);
    // One object in both places in turn: uploaded again when it was renamed, and then moved into a folder that the service
    // does not have.
    let moved = [("Storage/Local/b.txt", AS_AGREED)];
    play.scan(&moved);
    play.cx.now = play.cx.now.plus_ms(play.cx.settings.pages.delete_grace_ms);
    play.scan(&moved);
    play.lists(&[shown("a", "one"), shown("b", "one")]);
    play.is_settled();
    assert_eq!(
        (play.request_queue("a"), play.request_queue("b")),
        (Some(stored::Decision::TrashThere), None)
    );
}

#[test]
fn a_file_that_was_never_seen_in_the_folder_is_neither_deleted_nor_on_a_disk_that_is_away() {
    let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
    play.lists(&[shown("a", "one"), shown("b", "one")]);
    for node in play.storage.files.values_mut() {
        node.base.as_mut().unwrap().stamp = Stamp::default();
    }
    for _ in 0..3 {
        play.scan(&[("Storage/b.txt", Stamp { size: 9, ..AS_AGREED })]);
        play.cx.now = play.cx.now.plus_ms(play.cx.settings.pages.delete_grace_ms);
    }
    play.is_settled();
    play.is_settled();
    assert_eq!(
        (play.request_queue("a"), play.request_queue("b")),
        (Some(stored::Decision::Fetch), Some(stored::Decision::Fetch))
    );
    let told = play.told().iter().filter(|item| item.reason.contains("disk")).count();
    assert_eq!((told, play.storage.uploads.candidates.len()), (0, 0));
}
