//! The past of whiteboards and presentations: listed, compared, put back, and single changes taken back.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::bench::{Bench, Told};
use super::new::board_named;
use super::{bench, deck, kick_off, one_board, three_boards};

/// Runs a command on a file; it must end well.
#[track_caller]
fn on(bench: &Bench, command: &str, path: &Path, more: &[&str]) -> Told {
    let mut arguments = vec![command, path.to_str().unwrap()];
    arguments.extend(more);
    let told = bench.tell(&arguments);
    assert_eq!(told.code, 0, "{arguments:?}: {told:?}\n{}", bench.seen());
    told
}

/// Number, who, detail and words of each change of a file, newest first.
#[track_caller]
fn log(bench: &Bench, path: &Path) -> Vec<(i64, String)> {
    let told = on(bench, "log", path, &["--json"]).out;
    let entries: Vec<Value> = serde_json::from_str(&told).expect("one JSON array");
    let entry = |entry: &Value| {
        let number = entry["number"].as_i64()?;
        let words = match (&entry["words_added"], &entry["words_removed"]) {
            (Value::Null, _) => String::new(),
            (added, removed) => format!(" +{added} -{removed}"),
        };
        let detail = entry["detail"].as_str().unwrap_or_default();
        Some((number, format!("{} {} {detail}{words}", entry["who"].as_str()?, entry["what"].as_str()?)))
    };
    entries.iter().filter_map(entry).collect()
}

fn texts(log: &[(i64, String)]) -> Vec<&str> {
    log.iter().map(|(_, text)| text.as_str()).collect()
}

#[test]
fn one_change_of_a_whiteboard_is_taken_back_and_later_ones_stay() {
    let (bench, board, ids) = one_board();
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    bench.edit_canvas(&path, |nodes| {
        for node in nodes.iter_mut() {
            if node["id"] == json!(ids[0]) {
                node["text"] = json!("uno");
            }
            if node["id"] == json!(ids[1]) {
                node["text"] = json!("dos y tres");
            }
        }
    });
    bench.until("both are sent", || bench.element(&board, &ids[1])["content"] == "dos y tres");
    bench.until_canvases_rest();
    bench.world().app_edit_element(&board, &ids[2], json!({ "content": "by the app" }));
    bench.sync_any();
    bench.until("it came", || bench.nodes(&path)[&ids[2]]["text"] == "by the app");
    let all = log(&bench, &path);
    assert_eq!(texts(&all)[..2], ["app changed  +3 -1", "you changed 2 nodes changed +4 -2"], "{all:?}");
    let (mine, sent) = (all[1].0, bench.changes().len());
    let number = mine.to_string();
    let trial = on(&bench, "log", &path, &[]).out;
    assert!(trial.contains("2 nodes changed") && trial.contains(&format!("#{mine}")), "{trial}");
    let compared = on(&bench, "diff", &path, &["--at", &number]).out;
    assert!(compared.contains("+") && compared.contains("by the app"), "{compared}");

    let told = bench.tell(&["undo", &number]);
    assert_eq!(told.code, 0, "{told:?}");
    bench.until("the words are back", || bench.element(&board, &ids[0])["content"] == "one");
    bench.until("all of them", || bench.element(&board, &ids[1])["content"] == "two");
    bench.until_canvases_rest();
    assert_eq!(bench.element(&board, &ids[2])["content"], "by the app");
    assert_eq!(bench.changes().len(), sent + 2);
    let all = log(&bench, &path);
    assert_eq!(texts(&all)[0], format!("you undid a change in #{mine} +2 -4"), "{all:?}");

    // As it was after the user's change: without the app's, and with the words that were taken back.
    on(&bench, "restore", &path, &["--at", &number]);
    bench.until("it is there", || bench.element(&board, &ids[2])["content"] == "three");
    bench.until("all of it", || bench.element(&board, &ids[1])["content"] == "dos y tres");
    bench.until_canvases_rest();
    // And that is taken back as one.
    let told = bench.tell(&["undo", path.to_str().unwrap()]);
    assert_eq!(told.code, 0, "{told:?}");
    bench.until("it is as before", || bench.element(&board, &ids[2])["content"] == "by the app");
    bench.until("all of it", || bench.element(&board, &ids[1])["content"] == "two");
    bench.until_canvases_rest();
    drop(daemon);
    // What was not sent yet.
    bench.edit_canvas(&path, |nodes| nodes[0]["text"] = json!("pending words"));
    let pending = on(&bench, "diff", &path, &[]).out;
    let lines = |sign: char| pending.lines().filter(|line| line.starts_with(sign)).count();
    assert!(pending.contains("pending words") && lines('+') == 2 && lines('-') == 2, "{pending}");
    assert_eq!(bench.tell(&["diff"]).out, pending);
    bench.sync_any();
    assert_eq!(on(&bench, "diff", &path, &[]).out, "");
    bench.canvases_rest();
}

#[test]
fn new_and_removed_nodes_are_taken_back() {
    let (bench, board, ids) = one_board();
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    let contents = || -> Vec<String> {
        let mut all: Vec<String> = bench
            .elements(&board)
            .iter()
            .map(|element| element["content"].as_str().unwrap_or_default().to_owned())
            .collect();
        all.sort();
        all
    };
    let new = |id: &str, x: i64| json!({ "id": id, "type": "text", "text": format!("new {id}"), "x": x, "y": 900, "width": 200, "height": 100 });
    bench.edit_canvas(&path, |nodes| nodes.extend([new("n1", 0), new("n2", 400)]));
    bench.until("they are made", || contents().len() == 6);
    bench.until_canvases_rest();
    bench.until("they have their ids", || !bench.nodes(&path).contains_key("n2"));
    let all = log(&bench, &path);
    assert_eq!(texts(&all)[0], "you changed 2 new nodes +4 -0", "{all:?}");
    let added = all[0].0;
    bench.edit_canvas(&path, |nodes| nodes.retain(|node| node["id"] != json!(ids[0])));
    bench.until("it is gone", || contents().len() == 5);
    bench.until_canvases_rest();
    let told = bench.tell(&["undo", "--dry-run"]);
    assert!(told.out.contains("node removed"), "{told:?}");
    assert_eq!(bench.tell(&["undo"]).code, 0);
    bench.until("it is made anew", || contents().contains(&"one".to_owned()));
    bench.until_canvases_rest();
    let again = bench.elements(&board).into_iter().find(|element| element["content"] == "one").unwrap();
    assert_eq!((&again["type"], &again["style"]), (&json!("sticky"), &json!({ "fontSize": 18 })));
    assert_eq!(bench.tell(&["undo", &added.to_string()]).code, 0);
    bench.until("the new ones go", || contents() == ["one", "photo.png", "three", "two"]);
    bench.until_canvases_rest();
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn dragging_about_is_one_version_and_a_text_another() {
    let (bench, board) = three_boards();
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    let versions = || {
        let told = on(&bench, "log", &path, &["--json"]).out;
        let entries: Vec<Value> = serde_json::from_str(&told).unwrap();
        let mut all: Vec<String> =
            entries.iter().filter_map(|entry| Some(entry["version"]["hash"].as_str()?.to_owned())).collect();
        all.sort();
        all.dedup();
        all.len()
    };
    let moved = |to: i64| {
        bench.edit_canvas(&path, |nodes| nodes[1]["x"] = json!(to));
        bench.until("it is sent", || bench.elements(&board).iter().any(|element| element["x"] == json!(to)));
        bench.until_canvases_rest();
    };
    let first = versions();
    for to in [411, 422, 433] {
        moved(to);
    }
    assert_eq!(versions(), first + 1);
    bench.edit_canvas(&path, |nodes| nodes[1]["text"] = json!("other words"));
    bench.until_canvases_rest();
    bench.until("there is another", || versions() == first + 2);
    drop(daemon);
}

#[test]
fn a_deleted_whiteboard_and_a_deleted_presentation_come_back_as_new_ones() {
    let mut talk = None;
    let bench = bench(|world, space| {
        kick_off(world, space);
        world.app_create_board(space, "Other");
        talk = Some(deck(world, "Pitch", &["a", "b"]).0);
        deck(world, "Talk", &["x"]);
    });
    let daemon = bench.run_canvases();
    let (board, pitch) = (bench.board_file("Kick-off.canvas"), bench.deck_file("Pitch.canvas"));
    for path in [&board, &pitch] {
        fs::remove_file(path).unwrap();
    }
    bench.until("both are trashed", || {
        board_named(&bench, "Kick-off").is_empty()
            && bench.world().presentation(talk.as_ref().unwrap()).unwrap().trashed
    });
    bench.until_canvases_rest();
    for path in [&board, &pitch] {
        let told = on(&bench, "restore", path, &[]);
        assert!(told.out.contains("made anew"), "{told:?}");
    }
    bench.until("the whiteboard is made", || board_named(&bench, "Kick-off").len() == 1);
    bench.until("the presentation is whole", || bench.slide_texts(&pitch) == [["a"], ["b"]]);
    bench.until_canvases_rest();
    let texts: Vec<Value> = bench.nodes(&board).values().map(|node| node["text"].clone()).collect();
    assert!(["one", "two"].iter().all(|text| texts.contains(&json!(text))), "{texts:?}");
    drop(daemon);
}
