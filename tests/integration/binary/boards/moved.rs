//! Canvas files that are moved and renamed at awkward moments: none is made twice, none is taken for deleted.

use std::fs;

use espejo::emulator::{Fault, Matcher};
use serde_json::json;

use super::super::bench::{Bench, save};
use super::new::{board_named, node};
use super::{bench, board_id, deck, group, kick_off, on_slide, one_board, talk_of, three_boards};

fn fail_posts(bench: &Bench, path: &str, fault: &Fault, times: usize) {
    for _ in 0..times {
        bench.world().fail_next(Matcher::Route("POST".to_owned(), path.to_owned()), fault.clone());
    }
}

fn canvas_of(text: &str) -> String {
    json!({ "nodes": [node("n1", text)] }).to_string()
}

#[test]
fn two_files_that_change_names_while_their_whiteboards_are_made_are_each_one() {
    let bench = bench(|_, _| ());
    let daemon = bench.run_canvases();
    fs::create_dir_all(bench.board_file("")).unwrap();
    fail_posts(&bench, "/whiteboards", &Fault::LostAfter, 2);
    let (a, b, aside) = (bench.board_file("A.canvas"), bench.board_file("B.canvas"), bench.outside("aside"));
    save(&a, &canvas_of("of a"));
    save(&b, &canvas_of("of b"));
    bench.until("both are made", || board_named(&bench, "A").len() + board_named(&bench, "B").len() == 2);
    fs::rename(&a, &aside).unwrap();
    fs::rename(&b, &a).unwrap();
    fs::rename(&aside, &b).unwrap();
    let words = |name: &str| -> Vec<String> {
        let boards = board_named(&bench, name);
        let all = boards.iter().flat_map(|board| bench.elements(board));
        all.map(|element| element["content"].as_str().unwrap_or_default().to_owned()).collect()
    };
    bench.until("both have their nodes", || words("A").len() + words("B").len() == 2);
    bench.until_canvases_rest();
    assert_eq!(bench.world().whiteboards().count(), 2, "{}", bench.seen());
    // Nothing but their paths tells which is which: each has one text, and none has both or is lost.
    let mut all = [words("A"), words("B")];
    all.sort();
    assert_eq!(all, [["of a"], ["of b"]], "{}", bench.seen());
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_file_that_is_renamed_while_its_presentation_is_made_is_that_presentations() {
    for fault in [Fault::LostAfter, Fault::Delay(3_000)] {
        let bench = bench(|_, _| ());
        let daemon = bench.run_canvases();
        fs::create_dir_all(bench.deck_file("")).unwrap();
        fail_posts(&bench, "/presentations", &fault, 1);
        save(&bench.deck_file("Talk.canvas"), &talk_of(&["opening"]));
        bench.until("it is made", || bench.world().presentations().any(|deck| deck.name == "Talk"));
        fs::rename(bench.deck_file("Talk.canvas"), bench.deck_file("Speech.canvas")).unwrap();
        // The lists come before a late answer.
        bench.sync_any();
        bench.until("its slide has its words", || {
            let world = bench.world();
            let mut slides = world.presentations().flat_map(|deck| &deck.slides);
            slides.any(|slide| slide.elements.iter().any(|element| element["content"] == "opening"))
        });
        bench.until("its file has its name again", || bench.deck_file("Talk.canvas").exists());
        bench.until_canvases_rest();
        assert!(!bench.deck_file("Speech.canvas").exists(), "{fault:?}\n{}", bench.seen());
        assert_eq!(bench.world().presentations().count(), 1, "{fault:?}\n{}", bench.seen());
        assert_eq!(bench.world().presentations().next().unwrap().slides.len(), 1, "{}", bench.seen());
        // And it takes more slides.
        bench.edit_canvas(&bench.deck_file("Talk.canvas"), |nodes| {
            nodes.extend([group("g1", 1), on_slide("n1", 1, "closing")]);
        });
        bench.until("there are two", || bench.world().presentations().next().unwrap().slides.len() == 2);
        bench.until_canvases_rest();
        drop(daemon);
        bench.canvases_rest();
    }
}

#[test]
fn a_file_that_is_moved_over_a_canvas_is_that_canvas() {
    let (bench, board) = three_boards();
    let daemon = bench.run_canvases();
    let (path, draft) = (bench.board_file("Kick-off.canvas"), bench.board_file("Draft.canvas"));
    let mut nodes = bench.canvas(&path);
    nodes["nodes"].as_array_mut().unwrap().push(node("n1", "drafted"));
    // No canvas while it is a draft: it is seen, and nothing is made of it.
    let text = nodes.to_string();
    save(&draft, &text[..text.len() - 1]);
    bench.until("it is told of", || bench.attention().contains("Draft.canvas"));
    fs::rename(&draft, &path).unwrap();
    bench.until("it is told of there", || bench.attention().contains("Kick-off.canvas"));
    bench.sync_any();
    assert!(!bench.world().whiteboard(&board_id(&board)).unwrap().trashed);
    save(&path, &text);
    bench.until("its words are there", || bench.elements(&board).iter().any(|e| e["content"] == "drafted"));
    bench.until_canvases_rest();
    assert_eq!(bench.world().whiteboards().filter(|board| !board.trashed).count(), 3, "{}", bench.seen());
    assert_eq!(bench.elements(&board).len(), 5);
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_canvas_that_is_moved_to_where_none_belongs_is_put_back() {
    let (mut board, mut talk) = (None, None);
    let bench = bench(|world, space| {
        board = Some(kick_off(world, space).0);
        world.app_create_board(space, "Other");
        talk = Some(deck(world, "Pitch", &["a", "b"]).0);
        deck(world, "Talk", &["x"]);
    });
    let daemon = bench.run_canvases();
    let pairs = [
        (bench.board_file("Kick-off.canvas"), bench.board_file("Old/2026/Kick-off.canvas")),
        (bench.deck_file("Pitch.canvas"), bench.deck_file("Later/Pitch.canvas")),
    ];
    for (path, deep) in &pairs {
        fs::create_dir_all(deep.parent().unwrap()).unwrap();
        fs::rename(path, deep).unwrap();
    }
    bench.until("both are back", || pairs.iter().all(|(path, deep)| path.exists() && !deep.exists()));
    bench.until_canvases_rest();
    assert_eq!(bench.changes(), []);
    assert!(!bench.world().whiteboard(&board_id(&board.unwrap())).unwrap().trashed);
    assert!(!bench.world().presentation(&talk.unwrap()).unwrap().trashed);
    // Out of sight for a scan, and somewhere else then.
    let (path, deep) = &pairs[0];
    let aside = bench.outside("aside");
    fs::rename(path, &aside).unwrap();
    bench.until("it is missed", || {
        !bench
            .list()
            .iter()
            .any(|row| row["path"] == "Equipo/Whiteboards/Kick-off.canvas" && row["state"] == "synced")
    });
    fs::rename(&aside, deep).unwrap();
    bench.until("it is back", || path.exists() && !deep.exists());
    bench.until_canvases_rest();
    assert_eq!(bench.changes(), []);
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_presentation_is_trashed_only_as_it_was_seen_since_its_file_went() {
    let (mut talk, mut slides) = (None, Vec::new());
    let bench = bench(|world, _| {
        let (id, all) = deck(world, "Pitch", &["a", "b", "c"]);
        (talk, slides) = (Some(id), all);
        deck(world, "Talk", &["x"]);
    });
    let talk = talk.unwrap();
    let daemon = bench.run_canvases();
    let id = bench.elements(&slides[1])[0]["id"].as_str().unwrap().to_owned();
    bench.world().app_edit_element(&slides[1], &id, json!({ "content": "words of the app" }));
    fs::remove_file(bench.deck_file("Pitch.canvas")).unwrap();
    bench.until("it is back", || {
        bench.slide_texts(&bench.deck_file("Pitch.canvas")) == [["a"], ["words of the app"], ["c"]]
    });
    bench.until_canvases_rest();
    assert!(!bench.world().presentation(&talk).unwrap().trashed);
    assert_eq!(bench.changes(), []);
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn an_element_edited_here_and_removed_in_the_app_is_made_once_although_the_answer_is_lost() {
    let (bench, board, ids) = one_board();
    bench.sync_any();
    let path = bench.board_file("Kick-off.canvas");
    bench.edit_canvas(&path, |nodes| {
        nodes
            .iter_mut()
            .filter(|node| node["id"] == json!(ids[0]))
            .for_each(|node| node["text"] = json!("edited"));
    });
    bench.world().app_remove_element(&board, &ids[0]);
    fail_posts(&bench, &format!("/whiteboards/{}/elements", board_id(&board)), &Fault::LostAfter, 1);
    let daemon = bench.run();
    bench.until("it is made again", || bench.elements(&board).iter().any(|e| e["content"] == "edited"));
    bench.until_canvases_rest();
    assert_eq!(bench.elements(&board).iter().filter(|e| e["content"] == "edited").count(), 1);
    drop(daemon);
    bench.canvases_rest();
    assert_eq!(bench.elements(&board).iter().filter(|e| e["content"] == "edited").count(), 1);
    assert_eq!(bench.elements(&board).len(), 4);
}
