//! What lists of folders leave in the state.

use super::*;

#[test]
fn a_list_that_says_nothing_new_writes_no_row_for_each_file() {
    let mut play = Play::new(StorageMode::Backup, AS_AGREED);
    let id = play.lists_docs(&[shown("a", "one"), shown("b", "one")]);
    let inside = StorageFile { folder: Some(id.clone()), ..shown("c", "two") };
    let list = |play: &mut Play, inside: &StorageFile| {
        play.cx.now = play.cx.now.plus_ms(60_000);
        let asked = play.ask(Task::Walk(Some(id.clone())));
        play.end(asked, listing(std::slice::from_ref(inside)));
    };
    list(&mut play, &inside);
    let first = play.cx.now;
    // As the row says it: what is known of the folder does not add to it.
    play.cx.store.delete_stored(StoredRow::Folder(&id));
    let kept = |play: &mut Play| {
        let node = play.cx.store.load_storage().unwrap().files.remove(&file("c")).unwrap();
        (node.seen_at, node.remote.size)
    };
    assert_eq!(kept(&mut play), (first, 5));
    list(&mut play, &inside);
    assert_eq!(kept(&mut play), (first, 5), "written for the time alone");
    assert_eq!(play.storage.files[&file("c")].seen_at, play.cx.now);
    list(&mut play, &StorageFile { size: 6, ..inside });
    assert_eq!(kept(&mut play).1, 6, "what is new is written");
}

#[test]
fn what_a_list_shows_again_waits_for_no_look_by_itself() {
    let mut play = Play::new(StorageMode::TwoWay, AS_AGREED);
    let both = [shown("a", "one"), shown("b", "one")];
    let there = [("Storage/a.txt", AS_AGREED), ("Storage/b.txt", AS_AGREED)];
    play.lists(&both);
    play.scan(&there);
    play.scan(&there[1..]);
    play.cx.now = play.cx.now.plus_ms(play.cx.settings.pages.delete_grace_ms);
    play.lists(&both[1..]);
    let asked = play.ask(Task::Link(file("a")));
    let link = StorageReply::Link {
        file: both[0].clone(),
        link: Link::new("https://a".to_owned()),
        good_for_ms: 60_000,
    };
    play.end(asked, service(link));
    play.cx.now = play.cx.now.plus_ms(1_000);
    play.scan(&there[1..]);
    play.lists(&both);
    play.is_settled();
    let next = play.with(|storage, cx| storage.next_trash(cx));
    assert_eq!(next.map(|(_, task)| task), Some(Task::Trash(file("a"))));
}

#[test]
fn a_file_that_moved_into_a_folder_that_goes_before_any_list_shows_it_is_forgotten() {
    let mut play = Play::new(StorageMode::Backup, AS_AGREED);
    play.lists(&[shown("a", "one"), shown("b", "one"), shown("c", "two")]);
    let asked = play.ask(Task::Link(file("c")));
    let moved = StorageFile { folder: Some(FolderId::new("docs").unwrap()), ..shown("c", "two") };
    let link =
        StorageReply::Link { file: moved, link: Link::new("https://c".to_owned()), good_for_ms: 60_000 };
    play.end(asked, service(link));
    play.lists(&[shown("a", "one"), shown("b", "one")]);
    let asked = play.ask(Task::Link(file("c")));
    play.end(asked, Outcome::Service(Err(ServiceError::NotFound("no such file".to_owned()))));
    play.is_settled();
    let seen = play.storage.files.get(&file("c")).map(|node| node.seen);
    assert!(seen.is_none_or(|seen| seen == Seen::Gone), "{seen:?}");
}
