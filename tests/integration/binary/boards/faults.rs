//! Refusals and kills in the middle of an edit: what succeeded is recorded, the rest is told, nothing is done twice.

use std::fs;
use std::time::Duration;

use espejo::emulator::{Fault, Matcher};
use espejo::model::CanvasId;
use serde_json::{Value, json};

use super::super::bench::{Bench, save};
use super::{bench, kick_off};

fn six(bench_of: &mut Option<(CanvasId, Vec<String>)>) -> Bench {
    bench(|world, space| {
        let board = CanvasId::Board(world.app_create_board(space, "Board"));
        let ids = (0..6)
            .map(|n| {
                world
                    .app_put_element(
                        &board,
                        json!({ "type": "sticky", "x": n * 300, "content": format!("w{n}") }),
                    )
                    .unwrap()
            })
            .collect();
        *bench_of = Some((board, ids));
    })
}

fn route(board: &CanvasId, element: &str) -> String {
    format!("/whiteboards/{}/elements/{element}", board.own_id())
}

#[test]
fn what_a_403_refused_of_canvases_and_files_is_tried_again_at_a_stated_time() {
    let mut board = None;
    let bench =
        Bench::with("[whiteboards]\nenabled = true\n[storage]\nmode = \"two-way\"\n", |world, space| {
            board = Some(kick_off(world, space).0);
            world.app_create_board(space, "Other");
        });
    let board = board.unwrap();
    let daemon = bench.run_canvases();
    for matcher in
        [Matcher::Method("PATCH".to_owned()), Matcher::Route("POST".to_owned(), "/storage".to_owned())]
    {
        let fault = Fault::Status { status: 403, retry_after: None };
        bench.world().fail_randomly(matcher, fault, 1000);
    }
    bench.edit_canvas(&bench.board_file("Kick-off.canvas"), |nodes| nodes[0]["text"] = json!("mine"));
    save(&bench.root().join("Storage/mine.txt"), "mine");
    bench.until("both are told, each with its next try", || {
        let told = bench.attention();
        let is_told =
            |why: &str| told.lines().any(|line| line.contains(why) && line.contains("espejo retries at "));
        is_told("forbids writing to the whiteboards") && is_told("stored files are not uploaded")
    });
    bench.world().calm();
    let has = |text: &str| bench.elements(&board).iter().any(|element| element["content"] == text);
    bench.until_within(Duration::from_secs(100), "the edit goes out", || has("mine"));
    bench.until_within(Duration::from_secs(100), "the file goes out", || {
        bench.world().storage_files().any(|file| file.filename == "mine.txt")
    });
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.until_canvases_rest();
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn a_refusal_in_the_middle_leaves_what_succeeded_and_tells_the_rest() {
    let status = |status| Fault::Status { status, retry_after: None };
    for (fault, words) in [
        (status(400), "is refused"),
        (status(404), "is refused"),
        (status(403), "read-only: "),
        (status(500), ""),
    ] {
        let mut there = None;
        let bench = six(&mut there);
        let (board, ids) = there.unwrap();
        let daemon = bench.run_canvases();
        bench.world().fail_next(Matcher::Route("PATCH".to_owned(), route(&board, &ids[3])), fault.clone());
        let path = bench.board_file("Board.canvas");
        bench.edit_canvas(&path, |nodes| {
            for node in nodes.iter_mut() {
                node["text"] = json!(format!("{}!", node["text"].as_str().unwrap()));
            }
        });
        bench.until("the fault struck", || bench.world().faults_waiting() == 0);
        if words.is_empty() {
            bench.until_canvases_rest();
        } else {
            bench.until(words, || bench.attention().contains(words));
        }
        if words == "is refused" {
            bench.until("the others went", || {
                bench
                    .elements(&board)
                    .iter()
                    .filter(|e| e["content"].as_str().unwrap().ends_with('!'))
                    .count()
                    == 5
            });
            // A change in the app still arrives.
            bench.world().app_edit_element(&board, &ids[0], json!({ "x": 77 }));
            bench.until("it arrives", || {
                bench.tell(&["sync"]);
                bench.nodes(&path)[&ids[0]]["x"] == json!(77)
            });
        }
        // A pass asks once more.
        bench.until("all went in the end", || {
            bench.tell(&["sync"]);
            bench.elements(&board).iter().all(|e| e["content"].as_str().unwrap().ends_with('!'))
        });
        bench.until_canvases_rest();
        let applied: Vec<Value> =
            bench.world().log().writes().filter(|e| e.applied).map(|e| e.json()).collect();
        assert_eq!(applied.len(), 6, "{fault:?}: nothing is done twice: {applied:?}");
        drop(daemon);
        bench.canvases_rest();
    }
}

#[test]
fn killed_in_the_middle_of_edits_nothing_is_lost_and_nothing_doubled() {
    let mut there = None;
    let bench = six(&mut there);
    let (board, _) = there.unwrap();
    bench.sync_any();
    let path = bench.board_file("Board.canvas");
    for round in 0..6 {
        bench.edit_canvas(&path, |nodes| {
            for node in nodes.iter_mut().take(4) {
                node["text"] = json!(format!("{} r{round}", node["text"].as_str().unwrap()));
            }
            nodes.push(json!({ "id": format!("new{round}"), "type": "text", "x": 0, "y": round, "width": 50, "height": 50, "text": format!("n{round}") }));
        });
        let before = bench.world().log().entries().len();
        let daemon = bench.run();
        bench.until("it is at work", || {
            bench.world().log().writes().count() > round
                && bench.world().log().entries().len() > before + 2 + round
        });
        daemon.kill();
        bench.sync_any();
        assert_eq!(bench.elements(&board).len(), 7 + round, "round {round}\n{}", bench.seen());
    }
    bench.canvases_rest();
    let nodes = bench.nodes(&path);
    for element in bench.elements(&board) {
        assert_eq!(nodes[element["id"].as_str().unwrap()]["text"], element["content"]);
    }
    assert_eq!(nodes.len(), 12);
}

#[test]
fn a_lost_state_takes_files_up_again_and_keeps_what_differs_twice() {
    let mut board = None;
    let bench = bench(|world, space| {
        board = Some(kick_off(world, space).0);
        let other = CanvasId::Board(world.app_create_board(space, "Other"));
        world.app_put_element(&other, json!({ "type": "sticky", "content": "there" }));
        super::deck(world, "Pitch", &["a", "b"]);
    });
    bench.sync_any();
    let files = bench.files();
    fs::remove_dir_all(bench.state()).unwrap();
    bench.edit_canvas(&bench.board_file("Other.canvas"), |nodes| nodes[0]["text"] = json!("here"));
    bench.forget_requests();
    bench.sync_any();
    assert_eq!(bench.changes(), [], "{}", bench.seen());
    let now = bench.files();
    for (path, seen) in files.iter().filter(|(path, _)| !path.contains("Other")) {
        assert_eq!(now.get(path).map(|now| &now.bytes), Some(&seen.bytes), "{path}\n{}", bench.seen());
    }
    assert!(bench.nodes(&bench.board_file("Other.canvas")).values().any(|node| node["text"] == "there"));
    let copy = now.keys().find(|path| path.contains("Other.conflict-")).expect("a copy");
    assert!(fs::read_to_string(bench.root().join(copy)).unwrap().contains("here"));
    bench.canvases_rest();
}
