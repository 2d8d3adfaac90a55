//! What happens in the app lands in the files, and in nothing but its own lines.

use std::fs;

use serde_json::json;

use super::super::bench::save;
use super::{bench, board_id, deck, kick_off, one_board};

#[test]
fn a_remote_change_touches_its_own_nodes_only() {
    let (bench, board, ids) = one_board();
    bench.sync_any();
    let path = bench.board_file("Kick-off.canvas");
    // Somebody's own formatting, unknown keys, an edge and a group.
    let mut canvas = bench.canvas(&path);
    canvas["nodes"][0]["mine"] = json!({ "deep": [1, 2.5] });
    canvas["nodes"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "id": "g", "type": "group", "x": 0, "y": 0, "width": 9, "height": 9 }));
    canvas["edges"] = json!([
        { "id": "e1", "fromNode": ids[0], "toNode": ids[1] },
        { "id": "e2", "fromNode": ids[1], "toNode": ids[2], "label": "stays not" },
    ]);
    save(&path, &super::as_obsidian(&canvas));
    bench.sync_any();
    let before = fs::read_to_string(&path).unwrap();
    {
        let mut world = bench.world();
        world.app_edit_element(&board, &ids[1], json!({ "content": "two\nlines", "x": 301.5 }));
        world.app_remove_element(&board, &ids[2]);
        world.app_put_element(
            &board,
            json!({ "id": "11111111-1111-4111-8111-111111111111", "type": "sticky", "content": "late" }),
        );
    }
    bench.sync_any();
    let after = fs::read_to_string(&path).unwrap();
    let lines =
        |text: &str| text.lines().map(|line| line.trim_end_matches(',').to_owned()).collect::<Vec<_>>();
    let (old, new) = (lines(&before), lines(&after));
    let gone: Vec<&String> = old.iter().filter(|line| !new.contains(line)).collect();
    let come: Vec<&String> = new.iter().filter(|line| !old.contains(line)).collect();
    assert_eq!(gone.len(), 3, "{gone:?}");
    // The two nodes, and whose file it is, which the other program dropped.
    assert_eq!(come.len(), 3, "{come:?}");
    let claim = format!("\t\"espejo\":{}", json!({ "id": board.own_id() }));
    assert!(come.contains(&&claim), "{come:?}");
    assert!(after.contains("\"x\":302,") && after.contains("two\\nlines"), "{after}");
    assert!(after.contains("\"deep\":[1,2.5]"), "{after}");
    assert_eq!(bench.canvas(&path)["edges"].as_array().unwrap().len(), 1, "an edge goes with its node");
    bench.canvases_rest();
}

#[test]
fn names_and_order_follow_the_app_without_mixing_identities() {
    let (mut board, mut talk) = (None, None);
    let bench = bench(|world, space| {
        board = Some(kick_off(world, space).0);
        talk = Some(deck(world, "Pitch", &["a", "b", "c"]).0);
    });
    let (board, talk) = (board_id(&board.unwrap()), talk.unwrap());
    bench.sync_any();
    {
        let mut world = bench.world();
        assert!(world.app_rename_board(&board, "Kick-off: take/two"));
        assert!(world.app_rename_deck(&talk, "Pitch 2"));
        // c a b, with a new one between.
        assert!(world.app_move_slide(&talk, 2, 0));
        world.app_insert_slide(&talk, 1).unwrap();
    }
    bench.sync_any();
    bench.sync_any();
    assert!(bench.board_file("Kick-off： take／two.canvas").exists(), "{}", bench.seen());
    assert!(bench.board_file("Kick-off： take／two.svg").exists(), "{}", bench.seen());
    assert!(!bench.board_file("Kick-off.canvas").exists() && !bench.board_file("Kick-off.svg").exists());
    let path = bench.deck_file("Pitch 2.canvas");
    assert_eq!(bench.slide_texts(&path), [vec!["c"], vec![], vec!["a"], vec!["b"]], "{}", bench.seen());
    let order: Vec<String> =
        bench.world().slides_of(&talk).iter().map(|slide| slide.as_str().to_owned()).collect();
    assert_eq!(bench.slide_ids(&path), order);
    let groups = bench.groups(&path);
    let labels: Vec<&str> = groups.iter().map(|group| group["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["1", "2", "3", "4"]);
    let tops: Vec<i64> = groups.iter().map(|group| group["y"].as_i64().unwrap()).collect();
    assert_eq!(tops, [0, 675, 1350, 2025], "one below the other");
    let page = fs::read_to_string(bench.deck_file("Pitch 2.html")).unwrap();
    assert_eq!(page.matches("<section").count(), 4, "{page}");
    assert!(!bench.deck_file("Pitch.canvas").exists() && !bench.deck_file("Pitch.html").exists());
    assert_eq!(bench.changes(), []);
    bench.canvases_rest();
}

#[test]
fn what_vanishes_goes_to_the_trash_after_a_second_look() {
    let (mut board, mut talk) = (None, None);
    let bench = bench(|world, space| {
        board = Some(kick_off(world, space).0);
        world.app_create_board(space, "Other");
        world.app_create_board(space, "Third");
        talk = Some(deck(world, "Pitch", &["a", "b"]).0);
        deck(world, "Talk", &["x"]);
    });
    let (board, talk) = (board_id(&board.unwrap()), talk.unwrap());
    let daemon = bench.run_canvases();
    {
        let mut world = bench.world();
        world.app_trash_board(&board, true);
        let last = world.slides_of(&talk)[1].clone();
        world.app_remove_slide(&talk, &last);
    }
    bench.sync_any();
    let (path, page) = (bench.deck_file("Pitch.canvas"), bench.deck_file("Pitch.html"));
    bench.until("they are gone", || {
        !bench.board_file("Kick-off.canvas").exists()
            && !bench.board_file("Kick-off.svg").exists()
            && bench.slide_texts(&path) == [["a"]]
            && fs::read_to_string(&page).is_ok_and(|page| page.matches("<section").count() == 1)
    });
    assert!(bench.board_file("Other.canvas").exists());
    bench.world().app_trash_deck(&talk, true);
    bench.sync_any();
    bench.until("its file is gone", || !path.exists() && !page.exists());
    assert!(bench.deck_file("Talk.canvas").exists() && bench.deck_file("Talk.html").exists());
    assert_eq!(bench.changes(), []);
    drop(daemon);
    let trash = std::process::Command::new("find").arg(bench.root().join(".espejo/trash")).output().unwrap();
    let trash = String::from_utf8(trash.stdout).unwrap();
    assert!(trash.contains("Kick-off.canvas") && trash.contains("Pitch.canvas"), "{trash}");
    bench.canvases_rest();
}

#[test]
fn empty_answers_prove_nothing() {
    let mut board = None;
    let bench = bench(|world, space| board = Some(kick_off(world, space).0));
    let board = board.unwrap();
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    let before = fs::read(&path).unwrap();
    // The board is taken from sight: its elements list empty, and so does the workspace.
    bench.world().app_hide_board(&board_id(&board), true);
    bench.sync_any();
    bench.until("it is held", || bench.attention().contains("nothing is removed"));
    assert_eq!(fs::read(&path).unwrap(), before);
    bench.world().app_hide_board(&board_id(&board), false);
    bench.sync_any();
    bench.until("it is back", || !bench.attention().contains("nothing is removed"));
    assert_eq!(fs::read(&path).unwrap(), before);
    // One empty answer, and the next one says otherwise.
    let elements = format!("/whiteboards/{}/elements", board_id(&board));
    bench.world().fail_next(
        espejo::emulator::Matcher::Route("GET".to_owned(), elements),
        espejo::emulator::Fault::EmptyList,
    );
    bench.sync_any();
    bench.until_canvases_rest();
    assert_eq!(fs::read(&path).unwrap(), before);
    // Somebody really wipes it.
    let ids: Vec<String> =
        bench.elements(&board).iter().map(|element| element["id"].as_str().unwrap().to_owned()).collect();
    for id in ids {
        assert!(bench.world().app_remove_element(&board, &id));
    }
    bench.sync_any();
    bench.until("it is empty", || bench.nodes(&path).is_empty());
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_dashboard_has_its_magnets_beside_it_and_they_are_only_looked_at() {
    let mut page = None;
    let bench = bench(|world, space| {
        let id =
            world.app_create(space, None, "Tablero", vec![super::super::bench::paragraph("p", "the text")]);
        world.app_set_nevera(
            &id,
            Some(json!({
                "imanes": [{ "id": "m1", "tipo": "texto", "x": 0, "y": 0, "w": 6, "h": 2 },
                    { "id": "m2", "tipo": "reloj", "x": 6, "y": 0, "w": 3, "h": 2, "tono": "verde" }],
                "textos": { "m1": [super::super::bench::paragraph("q", "pinned <here>")] },
            })),
        );
        page = Some(id);
    });
    let page = page.unwrap();
    bench.sync_any();
    let nodes = bench.nodes(&bench.page("Tablero.canvas"));
    assert_eq!(nodes["m1"]["text"], "pinned <here>");
    assert_eq!((&nodes["m2"]["x"], &nodes["m2"]["color"]), (&json!(480), &json!("#bbf7d0")));
    let picture = fs::read_to_string(bench.page("Tablero.svg")).unwrap();
    assert!(picture.contains("pinned &lt;here&gt;"), "{picture}");
    assert!(bench.text("Tablero.md").contains("the text"));
    // An edit of it is not kept, and not lost either.
    save(&bench.page("Tablero.canvas"), "{\"nodes\":[]}");
    bench.sync_any();
    bench.sync_any();
    assert_eq!(bench.nodes(&bench.page("Tablero.canvas")).len(), 2);
    bench.world().app_rename(&page, "Cuadro");
    bench.sync_any();
    bench.sync_any();
    assert!(
        bench.page("Cuadro.canvas").exists() && !bench.page("Tablero.canvas").exists(),
        "{}",
        bench.seen()
    );
    bench.world().app_set_nevera(&page, None);
    bench.sync_any();
    bench.sync_any();
    assert!(!bench.page("Cuadro.canvas").exists() && !bench.page("Cuadro.svg").exists(), "{}", bench.seen());
    assert_eq!(bench.changes(), []);
    bench.canvases_rest();
}

#[test]
fn both_sides_merge_by_element_and_field_and_what_collides_is_kept_beside() {
    let (bench, board, ids) = one_board();
    bench.sync_any();
    let path = bench.board_file("Kick-off.canvas");
    bench.forget_requests();
    bench.edit_canvas(&path, |nodes| {
        nodes[0]["text"] = json!("mine");
        nodes[1]["text"] = json!("here");
        nodes[2]["x"] = json!(-60);
    });
    {
        let mut world = bench.world();
        world.app_edit_element(&board, &ids[0], json!({ "x": 99, "style": { "color": "#bfdbfe" } }));
        world.app_edit_element(&board, &ids[1], json!({ "content": "there" }));
        world.app_remove_element(&board, &ids[2]);
    }
    bench.sync_any();
    bench.sync_any();
    assert_eq!(bench.element(&board, &ids[0])["content"], "mine");
    assert_eq!(bench.element(&board, &ids[0])["x"], json!(99));
    assert_eq!(bench.element(&board, &ids[1])["content"], "there");
    let moved = bench.elements(&board).into_iter().find(|e| e["content"] == "three").unwrap();
    assert_eq!(
        (&moved["x"], &moved["type"], &moved["style"]),
        (&json!(-60), &json!("ellipse"), &json!({ "color": "rgb(255, 0, 0)" })),
        "an edit beats a deletion"
    );
    let nodes = bench.nodes(&path);
    assert_eq!(
        (&nodes[&ids[0]]["text"], &nodes[&ids[0]]["x"], &nodes[&ids[0]]["color"]),
        (&json!("mine"), &json!(99), &json!("#bfdbfe"))
    );
    assert_eq!(nodes[&ids[1]]["text"], "there");
    assert!(nodes.contains_key(moved["id"].as_str().unwrap()));
    let copies: Vec<String> = bench.files().into_keys().filter(|p| p.contains(".conflict-")).collect();
    let [copy] = copies.as_slice() else { panic!("{copies:?}\n{}", bench.seen()) };
    assert!(copy.starts_with("Equipo/Whiteboards/Kick-off.conflict-") && copy.ends_with(".canvas"), "{copy}");
    let text = fs::read_to_string(bench.root().join(copy)).unwrap();
    assert!(text.contains("\"here\""), "{text}");
    assert_eq!(bench.status()["conflicts"].as_array().unwrap().len(), 1);
    bench.canvases_rest();
}
