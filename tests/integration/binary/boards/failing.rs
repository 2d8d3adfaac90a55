//! What fails each time: it is spaced, told, and holds nothing else up. And empty answers, which are not believed at once.

use std::fs;
use std::time::Duration;

use espejo::emulator::{Fault, Matcher, Window, World};
use espejo::model::CanvasId;
use serde_json::{Value, json};

use super::super::bench::{Bench, append, paragraph, save, side_by_side, words};
use super::new::node;
use super::{ON, bench, board_id, deck, group, kick_off, talk_of};

const FAILS: Fault = Fault::Status { status: 500, retry_after: None };

impl Bench {
    /// When each request of this method to this path arrived.
    fn asked_at(&self, method: &str, path: &str) -> Vec<i64> {
        let world = self.world();
        let of = world.log().entries().filter(|entry| entry.method == method && entry.path == path);
        of.map(|entry| entry.at.0).collect()
    }

    /// Each pause after a failure is twice as long as the one before, and the first is a second.
    #[track_caller]
    fn is_spaced(&self, method: &str, path: &str) {
        let at = self.asked_at(method, path);
        for (round, pair) in at.windows(2).enumerate() {
            assert!(pair[1] - pair[0] >= 1_000 << round, "{method} {path}: {at:?}\n{}", self.seen());
        }
    }
}

#[test]
fn a_canvas_edit_that_fails_each_time_is_spaced_and_told_and_holds_no_page_up() {
    let mut there = None;
    let mut world = World::new(3);
    let space = world.add_workspace("Equipo", "equipo");
    world.app_create(&space, None, "Alive", vec![paragraph("a", "words")]);
    there.replace(kick_off(&mut world, &space));
    world.set_limit(None, Window::SlidingLog);
    let bench = Bench::over(world, space, 60, ON);
    let (board, ids) = there.unwrap();
    let daemon = bench.run_canvases();
    let route = format!("/whiteboards/{}/elements/{}", board.own_id(), ids[0]);
    bench.world().fail_randomly(Matcher::Route("PATCH".to_owned(), route.clone()), FAILS, 1_000);
    bench.edit_canvas(&bench.board_file("Kick-off.canvas"), |nodes| nodes[0]["text"] = json!("edited"));
    bench.until("it is told", || bench.attention().contains("Kick-off.canvas: the service fails each time"));
    append(&bench.page("Alive.md"), "\nmore\n");
    bench.until_within(Duration::from_secs(5), "the page's edit goes", || {
        words(&bench.content("Alive")).contains("more")
    });
    assert!(bench.asked_at("PATCH", &route).len() >= 3);
    bench.is_spaced("PATCH", &route);
    bench.world().calm();
    bench.until("it goes in the end", || bench.element(&board, &ids[0])["content"] == "edited");
    bench.until("nothing is told any more", || !bench.attention().contains("fails each time"));
    drop(daemon);
}

#[test]
fn canvases_that_cannot_be_made_or_removed_are_spaced_and_told() {
    side_by_side(["board", "slide", "deck", "new board", "new slide", "new deck", "new element"], |kind| {
        let (mut board, mut talk, mut slides) = (None, None, Vec::new());
        let bench = Bench::with(&format!("{ON}allow_permanent_deletes = true\n"), |world, space| {
            board = Some(kick_off(world, space).0);
            world.app_create_board(space, "Other");
            world.app_create_board(space, "Third");
            let (id, all) = deck(world, "Pitch", &["a", "b", "c"]);
            (talk, slides) = (Some(id), all);
            deck(world, "Talk", &["x"]);
        });
        let (board, talk) = (board.unwrap(), talk.unwrap());
        let daemon = bench.run_canvases();
        let (method, path, file) = match kind {
            "board" => ("DELETE", format!("/whiteboards/{}", board.own_id()), "Kick-off.canvas"),
            "slide" => ("DELETE", format!("/presentations/{talk}/slides/{}", slides[1].own_id()), "Pitch"),
            "deck" => ("DELETE", format!("/presentations/{talk}"), "Pitch"),
            "new board" => ("POST", "/whiteboards".to_owned(), "New.canvas"),
            "new slide" => ("POST", format!("/presentations/{talk}/slides"), "Pitch"),
            "new deck" => ("POST", "/presentations".to_owned(), "New.canvas"),
            _ => ("POST", format!("/whiteboards/{}/elements", board.own_id()), "Kick-off.canvas"),
        };
        bench.world().fail_randomly(Matcher::Route(method.to_owned(), path.clone()), FAILS, 1_000);
        match kind {
            "board" => fs::remove_file(bench.board_file("Kick-off.canvas")).unwrap(),
            "slide" => bench.remove_slide(&bench.deck_file("Pitch.canvas"), &slides[1]),
            "deck" => fs::remove_file(bench.deck_file("Pitch.canvas")).unwrap(),
            "new board" => {
                save(&bench.board_file("New.canvas"), &json!({ "nodes": [node("n1", "new")] }).to_string());
            }
            "new slide" => bench.edit_canvas(&bench.deck_file("Pitch.canvas"), |nodes| {
                nodes.push(group("g", 3));
            }),
            "new deck" => save(&bench.deck_file("New.canvas"), &talk_of(&["new"])),
            _ => bench.edit_canvas(&bench.board_file("Kick-off.canvas"), |nodes| {
                nodes.push(node("n1", "new"));
            }),
        }
        let is_told = |line: &str| line.contains(file) && line.contains("espejo retries");
        bench.until_within(Duration::from_secs(120), "it is told", || bench.attention().lines().any(is_told));
        assert!(bench.asked_at(method, &path).len() >= 3, "{kind}\n{}", bench.seen());
        bench.is_spaced(method, &path);
        bench.world().calm();
        bench.sync_any();
        bench.until("it is done in the end", || match kind {
            "board" => bench.world().whiteboard(&board_id(&board)).unwrap().trashed,
            "slide" => bench.world().slides_of(&talk).len() == 2,
            "deck" => bench.world().presentation(&talk).unwrap().trashed,
            "new board" => bench.world().whiteboards().filter(|b| b.name == "New").count() == 1,
            "new slide" => bench.world().slides_of(&talk).len() == 4,
            "new deck" => bench.world().presentations().filter(|deck| deck.name == "New").count() == 1,
            _ => bench.elements(&board).iter().filter(|e| e["content"] == "new").count() == 1,
        });
        bench.until("nothing is told any more", || !bench.attention().lines().any(is_told));
        drop(daemon);
    });
}

#[test]
fn one_empty_answer_is_believed_of_no_canvas() {
    let (mut board, mut slide, mut talk) = (None, None, None);
    let bench = bench(|world, space| {
        let id = CanvasId::Board(world.app_create_board(space, "Board"));
        let (deck, slides) = deck(world, "Pitch", &["0", "b"]);
        for n in 0..20 {
            let element = json!({ "type": "text", "x": n * 300, "content": format!("w{n}") });
            world.app_put_element(&id, element.clone()).unwrap();
            world.app_put_element(&slides[0], element).unwrap();
        }
        (board, slide, talk) = (Some(id), Some(slides[0].clone()), Some(deck));
    });
    let (board, slide, talk) = (board.unwrap(), slide.unwrap(), talk.unwrap());
    let daemon = bench.run_canvases();
    let slides = format!("/presentations/{talk}/slides");
    let of = [
        (&board, bench.board_file("Board.canvas"), format!("/whiteboards/{}/elements", board.own_id()), 20),
        (&slide, bench.deck_file("Pitch.canvas"), format!("{slides}/{}/elements", slide.own_id()), 21),
    ];
    for round in 0..4 {
        for (canvas, path, route, count) in &of {
            bench.world().fail_next(Matcher::Route("GET".to_owned(), route.clone()), Fault::EmptyList);
            let said = format!("round {round}");
            let edit = |nodes: &mut Vec<Value>| {
                nodes.iter_mut().filter(|node| node["type"] == "text").nth(3).unwrap()["text"] = json!(said);
            };
            bench.edit_canvas(path, edit);
            bench.until("the edit is there", || {
                let text = fs::read_to_string(path).unwrap_or_default();
                assert!(text.matches("\"id\"").count() >= *count || text.is_empty(), "{text}");
                bench.elements(canvas).iter().any(|element| element["content"] == *said)
            });
            assert_eq!(bench.world().faults_waiting(), 0);
            assert_eq!(bench.elements(canvas).len(), *count, "{}", bench.seen());
        }
        bench.world().fail_next(Matcher::Route("GET".to_owned(), slides.clone()), Fault::EmptyList);
        bench.sync_any();
        bench.until_canvases_rest();
        assert_eq!(bench.world().faults_waiting(), 0);
        assert_eq!(bench.groups(&bench.deck_file("Pitch.canvas")).len(), 2);
    }
    let changes = bench.changes();
    assert!(changes.iter().all(|(line, _)| line.starts_with("PATCH")), "{changes:?}");
    // What is empty indeed is seen so soon.
    for element in bench.elements(&slide) {
        bench.world().app_remove_element(&slide, element["id"].as_str().unwrap());
    }
    bench.sync_any();
    bench.until("the slide is empty too", || {
        bench.slide_texts(&bench.deck_file("Pitch.canvas")) == [vec![], vec!["b"]]
    });
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn an_empty_answer_delays_an_edit_until_the_next_look_and_doubles_no_node() {
    let mut board = None;
    let bench = bench(|world, space| {
        board = Some(kick_off(world, space).0);
        deck(world, "Pitch", &["a", "b"]);
    });
    let board = board.unwrap();
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    let route = format!("/whiteboards/{}/elements", board.own_id());
    for round in 0..2 {
        bench.world().fail_next(Matcher::Route("GET".to_owned(), route.clone()), Fault::EmptyList);
        bench.forget_requests();
        let said = format!("round {round}");
        bench.edit_canvas(&path, |nodes| nodes[0]["text"] = json!(said));
        let is_sent = || bench.elements(&board).iter().any(|element| element["content"] == *said);
        bench.until("the edit is there", is_sent);
        let changes = bench.changes();
        assert!(changes.len() == 1 && changes[0].0.starts_with("PATCH"), "{changes:?}\n{}", bench.seen());
        assert_eq!(bench.elements(&board).len(), 4, "{}", bench.seen());
        let at = bench.asked_at("GET", &route);
        assert!(at[1] - at[0] >= 2_000, "{at:?}");
        assert_eq!(bench.nodes(&path).len(), 4);
    }
    drop(daemon);
    bench.canvases_rest();
}
