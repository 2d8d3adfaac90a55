//! Downloads that are placed for the first time.

use super::*;

/// Lists new files, downloads them, and lets them be decided.
fn downloaded(play: &mut Play, new: &[&str]) {
    let new: Vec<StorageFile> = new.iter().map(|id| shown(id, "new")).collect();
    let all = [shown("a", "one"), shown("b", "one")].into_iter().chain(new.iter().cloned());
    play.lists(&all.collect::<Vec<_>>());
    play.is_settled();
    for StorageFile { id, attachment, size, .. } in new {
        assert_eq!(play.request_queue(id.as_str()), Some(stored::Decision::Fetch));
        let download = play.ask(Task::Download { file: id, attachment, size });
        let hash = ContentHash::of(b"third");
        play.end(download, Outcome::Download(Ok(crate::model::Downloaded { hash })));
    }
    assert_eq!(
        play.with(|storage, cx| storage.next_disk(cx)),
        None,
        "it leaves before its record is committed"
    );
}

#[test]
fn first_placements_leave_together_after_the_commit_of_their_records() {
    let mut play = Play::new(StorageMode::Backup, AS_AGREED);
    downloaded(&mut play, &["c", "d"]);
    let files = play.cx.store.load_storage().unwrap().files;
    let recorded = |id: &str| files[&file(id)].base.as_ref().map(|base| base.path.to_string());
    assert_eq!(["c", "d"].map(recorded), ["Storage/c.txt", "Storage/d.txt"].map(|at| Some(at.to_owned())));

    play.storage.queue.committed();
    for (id, inode) in [("c", 11), ("d", 12)] {
        let (_, task) = play.with(|storage, cx| storage.next_disk(cx)).unwrap();
        assert!(task.is_first_write() && task.file() == Some(&file(id)), "{task:?}");
        let place = play.ask(task);
        let stamp = Stamp { inode, ..AS_AGREED };
        play.end(place, Outcome::Disk(Ok(DiskReply::Storage(StoredReply::Placed(stamp)))));
        assert!(!play.storage.queue.awaits_commit(), "{id}");
    }
    assert!(play.is_settled());
}

#[test]
fn what_is_at_the_target_of_a_placement_is_not_sent_meanwhile() {
    let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
    let own = Stamp { inode: 9, ..AS_AGREED };
    let there = [("Storage/a.txt", AS_AGREED), ("Storage/b.txt", AS_AGREED), ("Storage/c.txt", own)];
    play.scan(&there);
    let is_new = |play: &Play| play.storage.uploads.candidates.contains_key(&path("Storage/c.txt"));
    assert!(is_new(&play));
    downloaded(&mut play, &["c"]);
    assert!(!is_new(&play), "it is sent");
    play.scan(&there);
    assert!(!is_new(&play), "it is sent after a scan");

    play.storage.queue.committed();
    let (_, task) = play.with(|storage, cx| storage.next_disk(cx)).unwrap();
    let place = play.ask(task);
    play.end(place, Outcome::Disk(Err(DiskError::Exists(path("Storage/c.txt")))));
    play.with(|storage, cx| storage.next_disk(cx));
    assert!(is_new(&play), "it is forgotten");
}
