//! Older copies of the state and of the folder, and files that went elsewhere: nothing is doubled, reverted or trashed.

use std::fs;

use serde_json::json;

use super::super::bench::save;
use super::super::state::copy;
use super::new::{board_named, node};
use super::{bench, board_id, deck, group, kick_off, on_slide, talk_of};

#[test]
fn an_old_copy_of_the_state_doubles_no_canvas() {
    let bench = bench(|world, space| {
        kick_off(world, space);
        deck(world, "Pitch", &["a", "b"]);
    });
    bench.run_canvases().stop();
    let old = bench.outside("old-state");
    copy(&bench.state(), &old);
    let daemon = bench.run_canvases();
    let text = json!({ "nodes": [node("n1", "made since")] }).to_string();
    save(&bench.board_file("Ideas.canvas"), &text);
    bench.edit_canvas(&bench.deck_file("Pitch.canvas"), |nodes| {
        nodes.extend([group("g", 2), on_slide("n1", 2, "made since")]);
    });
    save(&bench.deck_file("Talk.canvas"), &talk_of(&["made since"]));
    bench.until("all is made", || {
        let world = bench.world();
        let slides: usize = world.presentations().map(|deck| deck.slides.len()).sum();
        world.whiteboards().count() == 2 && world.presentations().count() == 2 && slides == 4
    });
    bench.until_canvases_rest();
    drop(daemon);
    fs::remove_dir_all(bench.state()).unwrap();
    fs::rename(&old, bench.state()).unwrap();
    for _ in 0..3 {
        bench.sync_any();
    }
    assert_eq!(board_named(&bench, "Ideas").len(), 1, "{}", bench.seen());
    let mut made: Vec<usize> = bench.world().presentations().map(|deck| deck.slides.len()).collect();
    made.sort();
    assert_eq!(made, [1, 3], "{}", bench.seen());
    assert_eq!(bench.elements(&board_named(&bench, "Ideas")[0]).len(), 1);
    bench.canvases_rest();
}

#[test]
fn an_old_copy_of_the_folder_reverts_and_removes_no_canvas_until_somebody_approves() {
    let mut board = None;
    let bench = bench(|world, space| {
        board = Some(kick_off(world, space).0);
        for name in ["A", "B", "C", "D"] {
            world.app_create_board(space, name);
        }
        deck(world, "Pitch", &["a", "b"]);
    });
    let board = board.unwrap();
    bench.run_canvases().stop();
    let old = bench.outside("old");
    copy(&bench.root(), &old);
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    bench.edit_canvas(&path, |nodes| nodes.push(node("n1", "made since")));
    save(&bench.board_file("Ideas.canvas"), &json!({ "nodes": [node("n1", "made since")] }).to_string());
    let has_more = || bench.elements(&board).iter().any(|element| element["content"] == "made since");
    bench.until("all is sent", || has_more() && !board_named(&bench, "Ideas").is_empty());
    bench.world().app_edit_element(&board, bench.nodes(&path).keys().next().unwrap(), json!({ "x": 77 }));
    bench.until_canvases_rest();
    drop(daemon);
    bench.sync_any();
    fs::remove_dir_all(bench.root()).unwrap();
    copy(&old, &bench.root());
    bench.forget_requests();
    for _ in 0..2 {
        bench.sync_any();
        assert_eq!(bench.changes(), [], "{}", bench.seen());
    }
    let daemon = bench.run();
    // The sync before told the same: it must be there to hear the approval.
    bench.until("it runs", || bench.status()["state"] == "running");
    bench.until("both are held", || {
        let told = bench.attention();
        let is_told = |name: &str| told.contains(&format!("{name}.canvas: the folder is an older copy"));
        is_told("Kick-off") && is_told("Ideas")
    });
    assert_eq!(bench.changes(), [], "{}", bench.seen());
    assert!(has_more() && board_named(&bench, "Ideas").len() == 1);
    let told = bench.tell(&["approve", "--yes"]);
    assert!(matches!(told.code, 0 | 3), "{told:?}");
    bench.until("the folder is taken as it is", || !has_more() && board_named(&bench, "Ideas").is_empty());
    bench.until_canvases_rest();
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn canvases_whose_folder_is_moved_elsewhere_go_back_and_none_is_deleted() {
    let (mut board, mut talk) = (None, None);
    let bench = bench(|world, space| {
        board = Some(kick_off(world, space).0);
        world.app_create_board(space, "Other");
        talk = Some(deck(world, "Pitch", &["a", "b"]).0);
        deck(world, "Talk", &["x", "y", "z"]);
    });
    let (board, talk) = (board.unwrap(), talk.unwrap());
    let daemon = bench.run_canvases();
    let pairs = [
        (bench.deck_file(""), bench.root().join("Archive/Talks"), "Pitch.canvas"),
        (bench.board_file(""), bench.root().join("Equipo/Boards"), "Kick-off.canvas"),
    ];
    fs::create_dir_all(bench.root().join("Archive")).unwrap();
    for (home, away, name) in pairs {
        let before = fs::read(home.join(name)).unwrap();
        bench.until("it is moved", || fs::rename(&home, &away).is_ok());
        let is_left = || {
            let mut entries = fs::read_dir(&away).unwrap();
            entries.any(|entry| entry.unwrap().path().extension().is_some_and(|end| end == "canvas"))
        };
        bench.until("they are back", || home.join(name).exists() && !is_left());
        // Their old pictures belong to no file any more.
        fs::remove_dir_all(&away).unwrap();
        bench.until_canvases_rest();
        assert_eq!(fs::read(home.join(name)).unwrap(), before);
        assert!(bench.attention().contains(&format!("{name}: a ")), "{}", bench.attention());
        assert_eq!(bench.changes(), [], "{}", bench.seen());
    }
    assert!(!bench.world().whiteboard(&board_id(&board)).unwrap().trashed);
    assert!(!bench.world().presentation(&talk).unwrap().trashed);
    drop(daemon);
    bench.canvases_rest();
}
