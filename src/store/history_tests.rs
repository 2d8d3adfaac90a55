//! Tests of the history in the store: contents are stored once, compressed, claimed, purged, and exact.

use super::*;
use crate::store::{Act, ActKind};

fn page(name: &str) -> PageId {
    PageId::new(name).unwrap()
}

fn path(text: &str) -> MirrorPath {
    MirrorPath::new(text).unwrap()
}

fn version(of: Option<&str>, at: i64, side: Side) -> Version {
    Version {
        number: 0,
        page: of.map(page),
        at: Timestamp(at),
        side,
        path: Some(path("W/Pages/A.md")),
        title: "A".to_owned(),
        body: None,
        text: None,
        sent: false,
    }
}

fn contents(store: &Store) -> i64 {
    store.db.query_row("SELECT count(*) FROM history_contents", [], |row| row.get(0)).unwrap()
}

#[test]
fn every_content_comes_back_as_it_was_and_is_kept_once() {
    let mut store = Store::in_memory().unwrap();
    let noise: Vec<u8> = (0..5_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let cases: [&[u8]; 6] = [
        b"a",
        b"words and words and words and words",
        &[0xff, 0xfe, 0x00],
        &noise,
        &[0; 3_000_000],
        b"[1.0,{}]",
    ];
    for bytes in cases {
        for _ in 0..2 {
            store.add_version(&version(Some("p"), 1, Side::File), None, Some(bytes));
        }
        assert_eq!(store.content(ContentHash::of(bytes)).unwrap().as_deref(), Some(bytes));
    }
    assert_eq!(contents(&store), 6);
    assert_eq!(store.versions_of(&page("p")).unwrap().len(), 12);
    assert!(store.history_size().unwrap().bytes < 30_000, "{:?}", store.history_size());
    store.db.execute("UPDATE history_contents SET bytes = x'00' WHERE size = 1", []).unwrap();
    assert!(store.content(ContentHash::of(b"a")).is_err(), "a damaged version is not handed out");
}

#[test]
fn the_size_follows_every_content() {
    let mut store = Store::in_memory().unwrap();
    let check = |store: &Store, contents: i64| {
        let sql = "SELECT count(*), coalesce(sum(length(bytes)), 0) FROM history_contents";
        let sums: (i64, i64) = store.db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let told = store.history_size().unwrap().bytes;
        assert_eq!((contents, told.cast_signed()), sums);
    };
    check(&store, 0);
    for text in ["some words", "other words", "some words"] {
        store.add_version(&version(Some("p"), 1, Side::File), None, Some(text.as_bytes()));
    }
    check(&store, 2);
    store.keep_for_undo(&[7; 9_000]);
    check(&store, 3);
    assert_eq!(store.drop_unused_contents().unwrap(), 1);
    check(&store, 2);
}

#[test]
fn what_was_seen_of_a_new_file_is_its_pages_past() {
    let mut store = Store::in_memory().unwrap();
    store.add_version(&version(None, 1, Side::File), None, Some(b"first"));
    store.add_version(&version(Some("other"), 1, Side::File), None, Some(b"another's"));
    assert_eq!(store.pageless_paths().unwrap().len(), 1);
    assert_eq!(store.last_text(None, &path("W/Pages/A.md")).unwrap(), Some(ContentHash::of(b"first")));
    store.claim_versions(&path("W/Pages/A.md"), &page("p"));
    assert_eq!(store.versions_of(&page("p")).unwrap().len(), 1);
    assert_eq!(store.pageless_paths().unwrap().len(), 0);
    assert_eq!(store.versions_at(&path("W/Pages/A.md")).unwrap().len(), 2);
}

#[test]
fn a_file_that_was_sent_carries_the_body_that_it_became() {
    let mut store = Store::in_memory().unwrap();
    let text = ContentHash::of(b"text");
    assert!(!store.mark_sent(&page("p"), text, b"[]").unwrap());
    store.add_version(&version(Some("p"), 1, Side::File), None, Some(b"text"));
    assert!(store.mark_sent(&page("p"), text, b"[]").unwrap());
    let all = store.versions_of(&page("p")).unwrap();
    assert_eq!((all.len(), all[0].sent, all[0].body), (1, true, Some(ContentHash::of(b"[]"))));
    assert_eq!(store.last_body(&page("p")).unwrap(), all[0].body);
}

#[test]
fn old_versions_go_and_the_newest_of_each_page_stays() {
    let mut store = Store::in_memory().unwrap();
    for at in 0..10 {
        for of in [Some("p"), Some("q"), None] {
            let text = format!("{of:?} {}", at / 2);
            store.add_version(&version(of, at, Side::File), None, Some(text.as_bytes()));
        }
    }
    store.keep_meaning(ContentHash::of(b"x"), b"[\"meaning\"]", Timestamp(3));
    assert_eq!(contents(&store), 16);
    assert_eq!(store.purge_history(Timestamp(0), 100).unwrap(), 0);
    // In batches.
    assert_eq!(store.purge_history(Timestamp(5), 4).unwrap(), 4);
    assert_eq!(store.purge_history(Timestamp(5), 100).unwrap(), 11);
    assert_eq!(store.purge_history(Timestamp(5), 100).unwrap(), 0);
    assert_eq!(store.meaning_of(ContentHash::of(b"x")).unwrap(), None);
    // The text of 4 and 5 is one: it stays while 5 does.
    assert_eq!(contents(&store), 9);
    assert_eq!(store.purge_history(Timestamp(1_000), 100).unwrap(), 12);
    for of in ["p", "q"] {
        let left = store.versions_of(&page(of)).unwrap();
        assert_eq!(left.iter().map(|version| version.at.0).collect::<Vec<_>>(), [9]);
        assert!(store.content(left[0].text.unwrap()).unwrap().is_some());
    }
    assert_eq!(contents(&store), 3);
    assert_eq!(store.drop_unused_contents().unwrap(), 0);
    store.keep_for_undo(b"of an act that never was");
    assert_eq!(store.drop_unused_contents().unwrap(), 1);
}

#[test]
fn the_last_act_is_remembered_with_what_was_before_it() {
    let mut store = Store::in_memory().unwrap();
    assert_eq!(store.last_act().unwrap(), None);
    store.keep_for_undo(b"before");
    let mut act = Act {
        number: 0,
        at: Timestamp(5),
        kind: ActKind::Updated,
        page: Some(page("p")),
        path: path("W/Pages/A.md"),
        other: None,
        body_before: None,
        body_after: None,
        text_before: Some(ContentHash::of(b"before")),
        text_after: Some(ContentHash::of(b"after")),
    };
    store.add_act(&act);
    act.number = 1;
    assert_eq!(store.last_act().unwrap(), Some(act.clone()));
    assert_eq!(store.drop_unused_contents().unwrap(), 0, "an act holds its text");
    // Only the last acts are kept, with their texts.
    act.text_before = None;
    for _ in 0..2_000 {
        store.add_act(&act);
    }
    assert_eq!(contents(&store), 0);
    assert_eq!(store.last_act().unwrap().unwrap().number, 2_001);
    assert_eq!((store.act(1).unwrap(), store.act(2).unwrap().map(|act| act.number)), (None, Some(2)));
    // A change in the app is no act that can be undone by itself.
    act.kind = ActKind::Came;
    store.add_act(&act);
    assert_eq!(store.last_act().unwrap().unwrap().number, 2_001);
    let newest: Vec<i64> = store.acts_after(2_000).unwrap().iter().map(|act| act.number).collect();
    assert_eq!(newest, [2_002, 2_001]);
}
