//! New files become whiteboards and presentations, each once.

use std::fs;

use espejo::emulator::{Fault, Matcher};
use espejo::model::CanvasId;
use serde_json::{Value, json};

use super::super::bench::{Bench, save};
use super::{bench, deck, group, kick_off, talk_of};

pub(super) fn node(id: &str, text: &str) -> serde_json::Value {
    json!({ "id": id, "type": "text", "x": 0, "y": 0, "width": 250, "height": 60, "text": text })
}

pub(super) fn board_named(bench: &Bench, name: &str) -> Vec<CanvasId> {
    let world = bench.world();
    world
        .whiteboards()
        .filter(|board| board.name == name && !board.trashed)
        .map(|board| CanvasId::Board(board.id.clone()))
        .collect()
}

#[test]
fn a_new_canvas_is_a_whiteboard_with_its_nodes() {
    for fault in [None, Some(Fault::LostAfter), Some(Fault::LostBefore), Some(Fault::StatusAfter(502))] {
        let bench = bench(|_, _| ());
        let daemon = bench.run_canvases();
        fs::create_dir_all(bench.board_file("")).unwrap();
        if let Some(fault) = &fault {
            let route = Matcher::Route("POST".to_owned(), "/whiteboards".to_owned());
            bench.world().fail_next(route, fault.clone());
        }
        save(
            &bench.board_file("Ideas.canvas"),
            &json!({ "nodes": [node("n1", "a"), node("n2", "b")] }).to_string(),
        );
        bench.until("its nodes are there", || {
            board_named(&bench, "Ideas").first().is_some_and(|board| bench.elements(board).len() == 2)
        });
        bench.until_canvases_rest();
        assert_eq!(board_named(&bench, "Ideas").len(), 1, "{fault:?}");
        let board = board_named(&bench, "Ideas").remove(0);
        assert_eq!(bench.elements(&board).len(), 2, "{fault:?}");
        assert!(bench.elements(&board).iter().all(|e| e["type"] == "sticky"));
        bench.until("its picture is there", || bench.board_file("Ideas.svg").exists());
        // Obsidian's new canvas is an empty object, or nothing at all: it is a board once it has a node.
        let empty = [("Empty", "{}"), ("Nothing", ""), ("Neither", "{\"nodes\":[],\"edges\":[]}")];
        for (name, text) in empty {
            save(&bench.board_file(&format!("{name}.canvas")), text);
        }
        bench.forget_requests();
        bench.sync_any();
        bench.sync_any();
        assert_eq!(bench.changes(), [], "{fault:?}\n{}", bench.seen());
        assert_eq!(bench.attention(), "");
        for (name, text) in empty {
            let path = bench.board_file(&format!("{name}.canvas"));
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            save(&path, &json!({ "nodes": [node("n1", name)] }).to_string());
        }
        bench.until("all are boards", || empty.iter().all(|(name, _)| !board_named(&bench, name).is_empty()));
        bench.until_canvases_rest();
        for (name, _) in empty {
            assert_eq!(board_named(&bench, name).len(), 1, "{name}");
        }
        drop(daemon);
        bench.canvases_rest();
    }
}

#[test]
fn a_file_that_is_renamed_while_its_whiteboard_is_made_is_that_whiteboards() {
    let bench = bench(|_, _| ());
    let daemon = bench.run_canvases();
    fs::create_dir_all(bench.board_file("")).unwrap();
    let route = Matcher::Route("POST".to_owned(), "/whiteboards".to_owned());
    bench.world().fail_next(route, Fault::LostAfter);
    save(&bench.board_file("Untitled.canvas"), &json!({ "nodes": [node("n1", "a")] }).to_string());
    bench.until("its whiteboard is made", || !board_named(&bench, "Untitled").is_empty());
    let made = board_named(&bench, "Untitled");
    fs::rename(bench.board_file("Untitled.canvas"), bench.board_file("Intro.canvas")).unwrap();
    bench.until("it has its node", || bench.elements(&made[0]).len() == 1);
    bench.until("its file has its name again", || bench.board_file("Untitled.canvas").exists());
    bench.until_canvases_rest();
    assert!(!bench.board_file("Intro.canvas").exists());
    assert_eq!(bench.world().whiteboards().count(), 1);
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn copies_are_of_the_kinds_and_styles_that_they_were_copied_from() {
    let mut board = None;
    let bench = bench(|world, space| board = Some(kick_off(world, space).0));
    let (board, daemon) = (board.unwrap(), bench.run_canvases());
    let path = bench.board_file("Kick-off.canvas");
    fs::copy(&path, bench.board_file("Again.canvas")).unwrap();
    bench.until("the copy has its elements", || {
        board_named(&bench, "Again").first().is_some_and(|copy| bench.elements(copy).len() == 3)
    });
    let what = |element: &Value| {
        let keys = ["type", "x", "y", "width", "height", "content", "style"];
        keys.map(|key| element[key].clone())
    };
    let first: Vec<_> = bench.elements(&board).iter().filter(|e| e["type"] != "media").map(what).collect();
    let copy = board_named(&bench, "Again").remove(0);
    assert_eq!(bench.elements(&copy).iter().map(what).collect::<Vec<_>>(), first);
    bench.until("the image is told of", || {
        bench
            .attention()
            .lines()
            .any(|line| line.contains("Again.canvas") && line.contains("stay in this file only"))
    });
    bench.edit_canvas(&path, |nodes| nodes.extend(nodes.clone()));
    bench.until("each that can be made is there twice", || bench.elements(&board).len() == 7);
    let kinds: Vec<_> = bench.elements(&board).iter().map(|e| e["type"].clone()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "media").count(), 1, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| *kind == "ellipse").count(), 2, "{kinds:?}");
    bench.until_canvases_rest();
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn an_element_whose_answer_is_lost_is_made_once() {
    for fault in [Fault::LostAfter, Fault::LostBefore, Fault::StatusAfter(500), Fault::Cut] {
        let mut board = None;
        let bench = bench(|world, space| {
            let id = CanvasId::Board(world.app_create_board(space, "Board"));
            // One just like it is there already: it must not be taken for the new one.
            world.app_put_element(
                &id,
                json!({ "type": "sticky", "width": 250, "height": 60, "content": "twin" }),
            );
            board = Some(id);
        });
        let board = board.unwrap();
        let daemon = bench.run_canvases();
        let crate_route = match &board {
            CanvasId::Board(id) => format!("/whiteboards/{id}/elements"),
            CanvasId::Slide(..) => String::new(),
        };
        bench.world().fail_next(Matcher::Route("POST".to_owned(), crate_route), fault.clone());
        bench.edit_canvas(&bench.board_file("Board.canvas"), |nodes| nodes.push(node("aaaa", "twin")));
        bench.until("there are two", || bench.elements(&board).len() >= 2);
        bench.until_canvases_rest();
        assert_eq!(bench.elements(&board).len(), 2, "{fault:?}\n{}", bench.seen());
        drop(daemon);
        bench.canvases_rest();
        assert_eq!(bench.elements(&board).len(), 2, "{fault:?}");
    }
}

#[test]
fn a_new_file_with_groups_is_a_presentation_whose_first_slide_is_the_blank_one() {
    for fault in [None, Some(Fault::LostAfter), Some(Fault::LostBefore), Some(Fault::StatusAfter(502))] {
        let bench = bench(|world, _| drop(deck(world, "Pitch", &["a", "b"])));
        let daemon = bench.run_canvases();
        if let Some(fault) = &fault {
            let route = Matcher::Route("POST".to_owned(), "/presentations".to_owned());
            bench.world().fail_next(route, fault.clone());
        }
        save(&bench.deck_file("Talk.canvas"), &talk_of(&["opening", "closing"]));
        save(&bench.deck_file("Bare.canvas"), &json!({ "nodes": [group("g", 0)] }).to_string());
        let slides = |name: &str| -> Vec<Vec<String>> {
            let world = bench.world();
            let Some(deck) = world.presentations().find(|deck| deck.name == name) else {
                return Vec::new();
            };
            let text = |element: &Value| element["content"].as_str().unwrap().to_owned();
            deck.slides.iter().map(|slide| slide.elements.iter().map(text).collect()).collect()
        };
        bench.until("all is there", || {
            slides("Talk").iter().flatten().count() == 2 && slides("Bare").len() == 1
        });
        bench.until_canvases_rest();
        assert_eq!(slides("Pitch"), [["a"], ["b"]]);
        assert_eq!(slides("Talk"), [["opening"], ["closing"]], "{fault:?}\n{}", bench.seen());
        assert_eq!(slides("Bare"), [Vec::<String>::new()], "{fault:?}");
        assert_eq!(bench.world().presentations().count(), 3, "{fault:?}\n{}", bench.seen());
        for name in ["Talk", "Bare"] {
            let ids: Vec<String> = {
                let world = bench.world();
                let deck = world.presentations().find(|deck| deck.name == name).unwrap();
                deck.slides.iter().map(|slide| slide.id.to_string()).collect()
            };
            let path = bench.deck_file(&format!("{name}.canvas"));
            bench.until("the groups have the slides' own ids", || bench.slide_ids(&path) == ids);
            bench.until("a page that shows them", || bench.deck_file(&format!("{name}.html")).exists());
        }
        drop(daemon);
        bench.canvases_rest();
    }
}

#[test]
fn a_copy_of_a_presentation_is_a_new_one_and_the_first_keeps_its_own() {
    let mut made = None;
    let bench = bench(|world, _| {
        let (talk, slides) = deck(world, "Pitch", &["a", "b"]);
        let ellipse = json!({ "type": "ellipse", "x": 300, "content": "round", "style": { "bold": true } });
        world.app_put_element(&slides[1], ellipse).unwrap();
        made = Some((talk, slides));
    });
    let (talk, slides) = made.unwrap();
    let daemon = bench.run_canvases();
    let all_elements = || slides.iter().map(|slide| bench.elements(slide)).collect::<Vec<_>>();
    let before = all_elements();
    fs::copy(bench.deck_file("Pitch.canvas"), bench.deck_file("Copy.canvas")).unwrap();
    let look = |element: &Value| ["type", "x", "y", "content", "style"].map(|key| element[key].clone());
    let of = |name: &str| -> Vec<Vec<[Value; 5]>> {
        let world = bench.world();
        let deck = world.presentations().find(|deck| deck.name == name);
        let slides = deck.map(|deck| deck.slides.clone()).unwrap_or_default();
        slides.iter().map(|slide| slide.elements.iter().map(look).collect()).collect()
    };
    bench.until("it is a presentation of the same slides", || of("Copy") == of("Pitch"));
    bench.until_canvases_rest();
    assert_eq!(all_elements(), before);
    assert_eq!(bench.world().slides_of(&talk).len(), 2);
    assert_eq!(bench.world().presentations().count(), 2, "{}", bench.seen());
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_copy_is_a_new_whiteboard_and_the_first_keeps_its_own() {
    let mut board = None;
    let bench = bench(|world, space| board = Some(super::kick_off(world, space).0));
    let board = board.unwrap();
    let daemon = bench.run_canvases();
    let before = bench.elements(&board);
    fs::copy(bench.board_file("Kick-off.canvas"), bench.board_file("Copy.canvas")).unwrap();
    bench.until("it is a board", || board_named(&bench, "Copy").len() == 1);
    bench.until_canvases_rest();
    let copy = board_named(&bench, "Copy").remove(0);
    let words: Vec<String> =
        bench.elements(&copy).iter().map(|e| e["content"].as_str().unwrap().to_owned()).collect();
    assert_eq!(words, ["one", "two", "three"], "nothing else is made of the image");
    assert_eq!(bench.elements(&board), before);
    drop(daemon);
    bench.canvases_rest();
}
