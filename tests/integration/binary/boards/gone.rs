//! Canvas files that are gone when a sync begins: it waits their grace time, and then acts, or holds and says so.

use std::fs;

use super::super::bench::{Bench, side_by_side};
use super::{ON, bench, deck, kick_off};

#[test]
fn a_sync_waits_the_grace_time_of_canvases() {
    side_by_side(["board", "slide", "deck"], |kind| {
        let (mut board, mut talk, mut slides) = (None, None, Vec::new());
        let config = format!("delete_grace_seconds = 3\n{ON}allow_permanent_deletes = true\n");
        let bench = Bench::with(&config, |world, space| {
            board = Some(kick_off(world, space).0);
            world.app_create_board(space, "Other");
            let (id, all) = deck(world, "Pitch", &["a", "b", "c"]);
            (talk, slides) = (Some(id), all);
            deck(world, "Talk", &["x"]);
        });
        let (board, talk) = (board.unwrap(), talk.unwrap());
        bench.sync_any();
        bench.forget_requests();
        match kind {
            "board" => fs::remove_file(bench.board_file("Kick-off.canvas")).unwrap(),
            "slide" => bench.remove_slide(&bench.deck_file("Pitch.canvas"), &slides[1]),
            _ => fs::remove_file(bench.deck_file("Pitch.canvas")).unwrap(),
        }
        let told = bench.tell(&["sync"]);
        assert!(told.out.contains("1 change sent"), "{kind}: {told:?}\n{}", bench.seen());
        let is_gone = match kind {
            "board" => bench.world().whiteboard(&super::board_id(&board)).unwrap().trashed,
            "slide" => bench.world().slides_of(&talk).len() == 2,
            _ => bench.world().presentation(&talk).unwrap().trashed,
        };
        assert!(is_gone, "{kind}: {told:?}\n{}", bench.seen());
        bench.canvases_rest();
    });
}

#[test]
fn many_canvases_that_are_gone_are_held_by_the_first_sync() {
    let bench = bench(|world, space| {
        for n in 0..20 {
            world.app_create_board(space, &format!("B{n:02}"));
        }
        for n in 0..12 {
            deck(world, &format!("D{n:02}"), &["a", "b"]);
        }
    });
    bench.sync_any();
    bench.forget_requests();
    for n in 0..15 {
        fs::remove_file(bench.board_file(&format!("B{n:02}.canvas"))).unwrap();
    }
    for _ in 0..2 {
        let told = bench.tell(&["sync"]);
        assert_eq!(told.code, 3, "{told:?}\n{}", bench.seen());
        assert_eq!(bench.changes(), [], "{}", bench.seen());
    }
    let told = bench.tell(&["approve", "--yes"]);
    assert!(matches!(told.code, 0 | 3), "{told:?}");
    bench.sync_any();
    assert_eq!(bench.changes().len(), 15, "{}", bench.seen());
    bench.canvases_rest();
}

#[test]
fn a_presentation_that_goes_with_many_whiteboards_is_held_with_them() {
    // The number of whiteboards and of presentations that go, and what of it all is held.
    side_by_side([(15, 1, 16), (9, 1, 0), (6, 5, 11), (1, 1, 0)], |(boards, decks, held)| {
        let bench = bench(|world, space| {
            for n in 0..40 {
                world.app_create_board(space, &format!("B{n:02}"));
            }
            for n in 0..30 {
                deck(world, &format!("D{n:02}"), &["a"]);
            }
        });
        bench.sync_any();
        bench.forget_requests();
        for n in 0..boards {
            fs::remove_file(bench.board_file(&format!("B{n:02}.canvas"))).unwrap();
        }
        for n in 0..decks {
            fs::remove_file(bench.deck_file(&format!("D{n:02}.canvas"))).unwrap();
        }
        bench.sync_any();
        bench.sync_any();
        let all = boards + decks;
        assert_eq!(bench.changes().len(), all - held, "{boards} and {decks}\n{}", bench.seen());
        bench.tell(&["approve", "--yes"]);
        bench.sync_any();
        assert_eq!(bench.changes().len(), all, "{boards} and {decks}\n{}", bench.seen());
    });
}

#[test]
fn held_canvases_are_one_message_and_restore_writes_them_anew() {
    let mut board = None;
    let bench = bench(|world, space| {
        board = Some(kick_off(world, space).0);
        for n in 0..20 {
            world.app_create_board(space, &format!("B{n:02}"));
        }
        deck(world, "Pitch", &["a", "b"]);
        deck(world, "Talk", &["x"]);
    });
    let board = board.unwrap();
    bench.sync_any();
    let path = bench.board_file("Kick-off.canvas");
    let nodes = bench.nodes(&path);
    bench.forget_requests();
    fs::remove_dir_all(bench.board_file("")).unwrap();
    fs::remove_file(bench.deck_file("Pitch.canvas")).unwrap();
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}\n{}", bench.seen());
    let attention = bench.attention();
    assert_eq!(attention.lines().count(), 1, "{attention}");
    assert!(attention.contains("the files of 22 whiteboards and presentations are gone"), "{attention}");
    // One of them, a presentation, and the rest.
    let restore = |path: &std::path::Path| {
        let told = bench.tell(&["restore", path.to_str().unwrap()]);
        assert!(told.code == 0 && told.out.contains("is restored"), "{told:?}");
    };
    restore(&path);
    assert_eq!(bench.nodes(&path), nodes);
    restore(&bench.deck_file("Pitch.canvas"));
    assert_eq!(bench.slide_texts(&bench.deck_file("Pitch.canvas")), [["a"], ["b"]]);
    let told = bench.tell(&["restore"]);
    assert_eq!((told.code, told.out.matches("is restored").count()), (0, 20), "{told:?}");
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 0, "{told:?}\n{}", bench.seen());
    assert_eq!(bench.changes(), [], "{}", bench.seen());
    assert_eq!(bench.attention(), "");
    assert_eq!(bench.elements(&board).len(), 4);
    bench.canvases_rest();
}
