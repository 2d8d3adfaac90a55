//! What is deleted here: nodes, slides, files; what comes back, and what is held.

use std::fs;

use serde_json::{Value, json};

use super::super::bench::{Bench, save};
use super::new::board_named;
use super::{ON, bench, board_id, deck, kick_off, one_board, three_boards};

#[test]
fn a_removed_sticky_is_deleted_and_kept_and_a_removed_image_comes_back() {
    let (bench, board, ids) = one_board();
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    bench.edit_canvas(&path, |nodes| {
        nodes.retain(|node| node["id"] != json!(ids[0]) && node["id"] != json!(ids[3]))
    });
    bench.until("the sticky is gone", || bench.element(&board, &ids[0]).is_null());
    bench.until("the image is back", || bench.nodes(&path).contains_key(&ids[3]));
    bench.until_canvases_rest();
    assert_eq!(bench.changes(), [(format!("DELETE {}", ids[0]), json!(null))]);
    assert!(bench.attention().contains("cannot create again"), "{}", bench.attention());
    drop(daemon);
    let store = espejo::store::Store::open(&bench.state()).unwrap().store;
    let place = espejo::model::MirrorPath::new("Equipo/Whiteboards/Kick-off.canvas").unwrap();
    let graves = store.graves(&place).unwrap();
    assert_eq!(graves.len(), 1);
    assert_eq!(graves[0].element["content"], "one");
    assert_eq!(graves[0].element["style"], json!({ "fontSize": 18 }));
    drop(store);
    // It comes back as a new node, as it was.
    let told = bench.tell(&["restore", path.to_str().unwrap()]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.starts_with("1 deleted node restored in "), "{told:?}");
    bench.sync_any();
    let all = bench.elements(&board);
    let again = all.iter().find(|element| element["content"] == "one").expect("it is back");
    assert_eq!(
        (&again["type"], &again["x"], &again["style"]),
        (&json!("sticky"), &json!(10.4), &json!({ "fontSize": 18 }))
    );
    bench.canvases_rest();
}

#[test]
fn many_nodes_gone_at_once_are_held() {
    let mut board = None;
    let bench = bench(|world, space| board = Some(kick_off(world, space).0));
    let board = board.unwrap();
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    save(&path, "{}");
    bench.until("it is held", || bench.attention().contains("elements have no trash"));
    assert_eq!(bench.elements(&board).len(), 4);
    assert_eq!(bench.changes(), []);
    let told = bench.tell(&["approve", "--yes"]);
    assert!(matches!(told.code, 0 | 3), "{told:?}");
    bench.until("they go", || bench.elements(&board).len() == 1);
    bench.until("the image comes back", || bench.nodes(&path).len() == 1);
    bench.until_canvases_rest();
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_deleted_file_is_a_trashed_whiteboard_unless_it_changed_meanwhile() {
    let (bench, board) = three_boards();
    let daemon = bench.run_canvases();
    let trashed = || bench.world().whiteboard(&board_id(&board)).unwrap().trashed;
    // Away for a moment is not gone.
    let path = bench.board_file("Kick-off.canvas");
    let aside = bench.outside("aside");
    fs::rename(&path, &aside).unwrap();
    fs::rename(&aside, &path).unwrap();
    bench.sync_any();
    assert!(!trashed());
    bench.world().app_edit_element(&board, bench.nodes(&path).keys().next().unwrap(), json!({ "x": 1 }));
    fs::remove_file(&path).unwrap();
    bench.until("it is back", || path.exists());
    bench.until_canvases_rest();
    assert!(!trashed() && bench.changes().is_empty());
    fs::remove_file(&path).unwrap();
    bench.until("it is trashed", trashed);
    bench.until("its picture is gone", || !bench.board_file("Kick-off.svg").exists());
    bench.until_canvases_rest();
    assert_eq!(bench.changes().len(), 1);
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_trashed_whiteboard_is_logged_under_the_name_that_its_file_had() {
    let (bench, _) = three_boards();
    let daemon = bench.run_canvases();
    // espejo itself would not use the colon.
    let path = bench.board_file("Obra: fase 2.canvas");
    save(
        &path,
        "{\"nodes\":[{\"id\":\"n\",\"type\":\"text\",\"text\":\"words\",\"x\":0,\"y\":0,\"width\":200,\"height\":100}],\"edges\":[]}",
    );
    bench.until("it is a whiteboard", || !board_named(&bench, "Obra: fase 2").is_empty());
    bench.until_canvases_rest();
    fs::remove_file(&path).unwrap();
    let logged = || bench.tell(&["log"]).out;
    bench.until("it is trashed", || logged().contains("whiteboard trashed"));
    let log = logged();
    let line = log.lines().find(|line| line.contains("whiteboard trashed")).unwrap();
    assert!(line.contains("Equipo/Whiteboards/Obra: fase 2.canvas"), "{log}");
    drop(daemon);
}

#[test]
fn files_that_come_back_are_their_whiteboards_again() {
    let bench = bench(|world, space| {
        kick_off(world, space);
        for name in ["A", "B", "C", "D"] {
            world.app_create_board(space, name);
        }
    });
    let mut daemon = bench.run_canvases();
    let (folder, aside) = (bench.board_file(""), bench.outside("aside"));
    for restarts in [false, true] {
        bench.until("they are moved", || fs::rename(&folder, &aside).is_ok());
        bench.until("they are missed", || bench.attention().contains("the files of"));
        if restarts {
            drop(daemon);
            fs::rename(&aside, &folder).unwrap();
            daemon = bench.run_canvases();
        } else {
            fs::rename(&aside, &folder).unwrap();
        }
        bench.until("nothing is missed", || bench.attention().is_empty());
        bench.until_canvases_rest();
        assert_eq!(bench.changes(), []);
        let files = fs::read_dir(bench.board_file("")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.filter(|name| name.ends_with(".canvas")).count(), 5);
    }
    drop(daemon);
    bench.canvases_rest();
}

/// Type, text and style of each element.
fn looks(elements: &[Value]) -> Vec<[Value; 3]> {
    let look = |element: &Value| ["type", "content", "style"].map(|key| element[key].clone());
    elements.iter().map(look).collect()
}

#[test]
fn files_that_come_back_after_the_service_trashed_their_canvases_keep_types_and_styles() {
    let mut made = None;
    let bench = bench(|world, space| {
        let (talk, slides) = deck(world, "Talk", &["x"]);
        let slide = slides[0].clone();
        world
            .app_put_element(&slide, json!({ "type": "ellipse", "content": "y", "style": { "bold": true } }));
        for name in ["A", "B"] {
            world.app_create_board(space, name);
        }
        made = Some((kick_off(world, space).0, talk, slide));
    });
    let (board, talk, slide) = made.unwrap();
    let daemon = bench.run_canvases();
    let all = [looks(&bench.elements(&board)), looks(&bench.elements(&slide))];
    let (file, deck) = (bench.board_file("Kick-off.canvas"), bench.deck_file("Talk.canvas"));
    let aside = bench.state().with_file_name("aside");
    fs::create_dir(&aside).unwrap();
    fs::rename(&file, aside.join("board")).unwrap();
    bench.until("the board is trashed", || bench.world().whiteboard(&board_id(&board)).unwrap().trashed);
    fs::rename(&deck, aside.join("deck")).unwrap();
    bench.until("the presentation is trashed", || bench.world().presentation(&talk).unwrap().trashed);
    bench.until_canvases_rest();
    fs::rename(aside.join("board"), &file).unwrap();
    fs::rename(aside.join("deck"), &deck).unwrap();
    let again = || {
        let world = bench.world();
        let board = world.whiteboards().find(|board| !board.trashed && board.name == "Kick-off")?;
        let talk = world.presentations().find(|deck| !deck.trashed && deck.name == "Talk")?;
        Some([looks(&board.elements), looks(&talk.slides[0].elements)])
    };
    // What the API cannot create stays in the file alone.
    let expected = [all[0][..3].to_vec(), all[1].clone()];
    bench.until("both are there again", || again().as_ref() == Some(&expected));
    bench.until("the image is told of", || bench.attention().contains("stay in this file only"));
    bench.until_canvases_rest();
    assert_eq!(again(), Some(expected));
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_removed_slide_comes_back_and_a_deleted_file_is_a_trashed_presentation() {
    let (mut talk, mut slides) = (None, Vec::new());
    let bench = bench(|world, _| {
        let (id, all) = deck(world, "Pitch", &["a", "b", "c"]);
        (talk, slides) = (Some(id), all);
        deck(world, "Talk", &["x"]);
    });
    let talk = talk.unwrap();
    let daemon = bench.run_canvases();
    let path = bench.deck_file("Pitch.canvas");
    let whole = bench.nodes(&path);
    bench.remove_slide(&path, &slides[1]);
    bench.until("it is back", || bench.slide_texts(&path) == [["a"], ["b"], ["c"]]);
    bench.until("it is told", || bench.attention().contains("allow_permanent_deletes"));
    bench.until_canvases_rest();
    assert_eq!(bench.nodes(&path), whole);
    assert_eq!(bench.changes(), []);
    fs::remove_file(&path).unwrap();
    bench.until("it is trashed", || bench.world().presentation(&talk).unwrap().trashed);
    bench.until("its page is gone", || !bench.deck_file("Pitch.html").exists());
    bench.until_canvases_rest();
    assert_eq!(bench.changes().len(), 1, "{:?}", bench.changes());
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn permanent_deletes_are_done_where_the_config_allows_them() {
    let (mut board, mut ids, mut talk, mut slides) = (None, Vec::new(), None, Vec::new());
    let bench = Bench::with(&format!("{ON}allow_permanent_deletes = true\n"), |world, space| {
        let (canvas, all) = kick_off(world, space);
        (board, ids) = (Some(canvas), all);
        let (id, all) = deck(world, "Pitch", &["a", "b", "c"]);
        (talk, slides) = (Some(id), all);
    });
    let (board, talk) = (board.unwrap(), talk.unwrap());
    let daemon = bench.run_canvases();
    bench.edit_canvas(&bench.board_file("Kick-off.canvas"), |nodes| {
        nodes.retain(|node| node["id"] != json!(ids[3]))
    });
    let path = bench.deck_file("Pitch.canvas");
    bench.remove_slide(&path, &slides[1]);
    bench.until("both are gone", || {
        bench.element(&board, &ids[3]).is_null() && bench.world().slides_of(&talk).len() == 2
    });
    bench.until("the rest is renumbered", || bench.groups(&path).last().unwrap()["label"] == "2");
    bench.until_canvases_rest();
    assert_eq!(bench.slide_texts(&path), [["a"], ["c"]]);
    assert_eq!(bench.slide_ids(&path), [slides[0].own_id(), slides[2].own_id()]);
    let deleted = bench.changes().into_iter().filter(|(line, _)| line.starts_with("DELETE")).count();
    assert_eq!(deleted, 2, "{:?}", bench.changes());
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn an_edit_of_a_canvas_that_vanishes_is_kept_as_a_copy() {
    let mut board = None;
    let bench = bench(|world, space| {
        board = Some(kick_off(world, space).0);
        world.app_create_board(space, "Other");
    });
    bench.sync_any();
    let path = bench.board_file("Kick-off.canvas");
    bench.edit_canvas(&path, |nodes| nodes[0]["text"] = json!("unsent words"));
    bench.world().app_trash_board(&board_id(&board.unwrap()), true);
    bench.sync_any();
    bench.sync_any();
    bench.sync_any();
    let copies: Vec<String> = bench.files().into_keys().filter(|p| p.contains("Kick-off")).collect();
    let [copy] = copies.as_slice() else { panic!("{copies:?}\n{}", bench.seen()) };
    assert!(fs::read_to_string(bench.root().join(copy)).unwrap().contains("unsent words"));
    bench.canvases_rest();
}

#[test]
fn an_edit_of_a_presentation_that_vanishes_is_kept_as_a_copy_which_is_no_new_presentation() {
    let (mut talk, mut slides) = (None, Vec::new());
    let bench = bench(|world, _| {
        let (id, all) = deck(world, "Pitch", &["a", "b"]);
        (talk, slides) = (Some(id), all);
        deck(world, "Talk", &["x"]);
    });
    bench.sync_any();
    let path = bench.deck_file("Pitch.canvas");
    bench.edit_slide(&path, &slides[1], |nodes| nodes[0]["text"] = json!("unsent words"));
    bench.world().app_trash_deck(&talk.unwrap(), true);
    for _ in 0..3 {
        bench.sync_any();
    }
    let copies: Vec<String> = bench.files().into_keys().filter(|p| p.contains("Pitch")).collect();
    let [copy] = copies.as_slice() else { panic!("{copies:?}\n{}", bench.seen()) };
    assert!(copy.starts_with("Presentations/Pitch.conflict-"), "{copy}");
    assert!(fs::read_to_string(bench.root().join(copy)).unwrap().contains("unsent words"));
    let daemon = bench.run_canvases();
    fs::remove_file(bench.root().join(copy)).unwrap();
    bench.sync_any();
    bench.until_canvases_rest();
    drop(daemon);
    assert_eq!(bench.changes(), []);
    bench.canvases_rest();
}
