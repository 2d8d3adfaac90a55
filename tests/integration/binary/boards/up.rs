//! Edits of canvas files: just the requests they should make, with just the fields that changed.

use std::fs;

use serde_json::{Value, json};

use super::super::bench::save;
use super::{bench, kick_off, one_board};

/// Words of `status`, and the edit that they answer.
type Case = (&'static str, fn(&mut Vec<Value>));

#[test]
fn an_edit_of_nodes_is_a_patch_of_each_with_the_changed_fields_only() {
    let (bench, board, ids) = one_board();
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    let before = bench.elements(&board);
    bench.edit_canvas(&path, |nodes| {
        for node in nodes.iter_mut() {
            match node["text"].as_str().unwrap() {
                "one" => node["text"] = json!("one more"),
                "two" => {
                    node["x"] = json!(333);
                    node["height"] = json!(90);
                }
                "three" => node["color"] = json!("4"),
                _ => node["y"] = json!(7),
            }
        }
    });
    bench.until("four patches", || bench.changes().len() >= 4);
    bench.until_canvases_rest();
    let mut expected = vec![
        (format!("PATCH {}", ids[0]), json!({ "content": "one more" })),
        (format!("PATCH {}", ids[1]), json!({ "x": 333, "height": 90 })),
        (format!("PATCH {}", ids[2]), json!({ "style": { "color": "#bbf7d0" } })),
        (format!("PATCH {}", ids[3]), json!({ "y": 7 })),
    ];
    let mut changes = bench.changes();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    changes.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(changes, expected, "{}", bench.seen());
    let first = bench.requests().into_iter().find(|line| line.contains("/elements")).unwrap();
    assert!(first.starts_with("GET "), "a look comes first: {first}");
    let after = bench.element(&board, &ids[1]);
    assert_eq!(after["y"], before[1]["y"]);
    assert_eq!(bench.element(&board, &ids[0])["x"], json!(10.4), "a rounded place is no move");
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn what_means_nothing_new_sends_nothing() {
    let bench = bench(|world, space| drop(kick_off(world, space)));
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    let canvas = bench.canvas(&path);
    for text in [
        super::as_obsidian(&canvas),
        serde_json::to_string_pretty(&canvas).unwrap(),
        serde_json::to_string(&canvas).unwrap() + "\n\n",
        super::as_obsidian(&canvas).replace("\"x\":10,", "\"x\":10.0,").replace("#fde68a", "#FDE68A"),
        super::as_obsidian(&canvas).replace("#fde68a", "3"),
        format!("\u{feff}{}", super::as_obsidian(&canvas)),
    ] {
        save(&path, &text);
        bench.until_canvases_rest();
        bench.sync_any();
        assert_eq!(bench.changes(), [], "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "the file stays as it was saved");
    }
    drop(daemon);
}

#[test]
fn new_nodes_are_posted_and_get_their_ids_without_disturbing_the_others() {
    let mut board = None;
    let bench = bench(|world, space| board = Some(kick_off(world, space).0));
    let board = board.unwrap();
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    let mut canvas = bench.canvas(&path);
    let one = canvas["nodes"][0]["id"].clone();
    canvas["nodes"].as_array_mut().unwrap().push(json!({
        "id": "0123456789abcdef", "x": -3, "y": 4, "width": 250, "height": 60, "type": "text", "text": "brand new",
    }));
    canvas["nodes"].as_array_mut().unwrap().push(json!({
        "id": "fedcba9876543210", "x": 5, "y": 6, "width": 100, "height": 100, "color": "#123456", "type": "text",
        "text": "", "espejo": { "type": "ellipse", "style": { "opacity": 0.50 } }, "other": [1, 2],
    }));
    canvas["nodes"].as_array_mut().unwrap().push(json!({
        "id": "aaaaaaaaaaaaaaaa", "x": 0, "y": 0, "width": 900, "height": 900, "type": "group", "label": "mine",
    }));
    canvas["edges"] =
        json!([{ "id": "e1", "fromNode": "0123456789abcdef", "fromSide": "right", "toNode": one }]);
    let text = super::as_obsidian(&canvas);
    save(&path, &text);
    bench.until("both are made", || bench.elements(&board).len() == 6);
    bench.until_canvases_rest();
    let mut changes = bench.changes();
    changes.sort_by_key(|(_, body)| body["content"].as_str().map(str::len));
    assert_eq!(
        changes,
        [
            (
                "POST elements".to_owned(),
                json!({ "type": "ellipse", "x": 5, "y": 6, "width": 100, "height": 100,
            "content": "", "style": { "opacity": 0.50, "color": "#123456" } })
            ),
            (
                "POST elements".to_owned(),
                json!({ "type": "sticky", "x": -3, "y": 4, "width": 250, "height": 60,
            "content": "brand new" })
            ),
        ]
    );
    let made = |text: &str| {
        let all = bench.elements(&board);
        all.iter().find(|e| e["content"] == text).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let (new, round) = (made("brand new"), made(""));
    let expected = text.replace("0123456789abcdef", &new).replace("fedcba9876543210", &round);
    let mut got: Vec<String> =
        fs::read_to_string(&path).unwrap().lines().map(|l| l.trim_end_matches(',').to_owned()).collect();
    let mut want: Vec<String> = expected.lines().map(|l| l.trim_end_matches(',').to_owned()).collect();
    // New elements of a whiteboard lie at the back, so their lines may have moved; no other byte has.
    // And it says again whose it is.
    want.push(format!("\t\"espejo\":{}", json!({ "id": board.own_id() })));
    got.sort();
    want.sort();
    assert_eq!(got, want);
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn what_the_service_would_refuse_is_told_before_any_request() {
    let mut board = None;
    let bench = bench(|world, space| board = Some(kick_off(world, space).0));
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    let whole = fs::read_to_string(&path).unwrap();
    let cases: [Case; 9] = [
        ("100001", |nodes| nodes[0]["x"] = json!(100_001)),
        ("width 0", |nodes| nodes[0]["width"] = json!(0)),
        ("height -5", |nodes| nodes[1]["height"] = json!(-5)),
        ("shadow", |nodes| nodes[0]["espejo"] = json!({ "style": { "shadow": 1 } })),
        ("100 characters", |nodes| {
            nodes[0]["espejo"] = json!({ "style": { "fontFamily": "x".repeat(101) } })
        }),
        ("colour", |nodes| nodes[0]["color"] = json!("9")),
        ("its x", |nodes| nodes[0]["x"] = json!("ten")),
        ("no id", |nodes| drop(nodes[0].as_object_mut().unwrap().remove("id"))),
        ("cannot become", |nodes| {
            nodes.push(
                json!({ "id": "n", "type": "text", "text": "", "x": 0, "y": 0, "width": 1, "height": 1,
                "espejo": { "type": "media" } }),
            );
        }),
    ];
    for (words, spoil) in cases {
        bench.edit_canvas(&path, |nodes| {
            nodes[1]["text"] = json!("changed as well");
            spoil(nodes);
        });
        bench.until(words, || bench.attention().contains(words));
        assert_eq!(bench.changes(), [], "{words}");
        save(&path, &whole);
        bench.until("it is mended", || !bench.attention().contains("not sent"));
    }
    for text in ["", "{", "[]", "nonsense", "{\"nodes\":{}}", "{\"nodes\":[1]}"] {
        save(&path, text);
        bench.until(text, || bench.attention().contains("not sent"));
        // What is no canvas is not made one by an approval.
        assert_eq!(bench.attention().contains("espejo approve"), text.is_empty(), "{text}");
        assert_eq!(bench.changes(), [], "{text}");
        save(&path, &whole);
        bench.until("it is mended", || !bench.attention().contains("not sent"));
    }
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_style_key_in_a_node_restyles_and_an_unknown_program_may_drop_it() {
    let (bench, board, ids) = one_board();
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    bench.edit_canvas(&path, |nodes| {
        nodes[0]["espejo"] = json!({ "style": { "fontSize": 40, "bold": true } })
    });
    bench.until("it is restyled", || bench.element(&board, &ids[0])["style"]["fontSize"] == json!(40));
    bench.until_canvases_rest();
    assert_eq!(
        bench.changes(),
        [(format!("PATCH {}", ids[0]), json!({ "style": { "fontSize": 40, "bold": true } }))]
    );
    bench.world().app_edit_element(&board, &ids[0], json!({ "style": { "fontSize": 50 } }));
    bench.sync_any();
    assert_eq!(bench.nodes(&path)[&ids[0]]["espejo"]["style"], json!({ "fontSize": 50, "bold": true }));
    bench.forget_requests();
    bench.edit_canvas(&path, |nodes| drop(nodes[0].as_object_mut().unwrap().remove("espejo")));
    bench.until_canvases_rest();
    bench.sync_any();
    assert_eq!(bench.changes(), []);
    assert_eq!(bench.element(&board, &ids[0])["style"], json!({ "fontSize": 50, "bold": true }));
    drop(daemon);
}

#[test]
fn what_the_api_cannot_do_is_put_back_and_told() {
    let (mut board, mut ids) = (None, Vec::new());
    let bench = bench(|world, space| {
        let (canvas, all) = kick_off(world, space);
        (board, ids) = (Some(canvas), all);
    });
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    let whole = bench.canvas(&path);
    let cases: [Case; 4] = [
        ("whose text the API cannot change", |nodes| nodes[3]["text"] = json!("mine")),
        ("the order is changed back", |nodes| nodes.swap(0, 2)),
        ("must stay a text node", |nodes| {
            nodes[1]["type"] = json!("link");
            nodes[1]["url"] = json!("https://example.com");
        }),
        ("which the API cannot remove", |nodes| drop(nodes[2].as_object_mut().unwrap().remove("color"))),
    ];
    for (words, edit) in cases {
        bench.edit_canvas(&path, edit);
        bench.until(words, || bench.attention().contains(words));
        bench.until_canvases_rest();
        let now = bench.nodes(&path);
        for node in whole["nodes"].as_array().unwrap() {
            for key in ["type", "text", "x", "y", "width", "height", "color"] {
                assert_eq!(now[node["id"].as_str().unwrap()].get(key), node.get(key), "{words}: {key}");
            }
        }
        assert_eq!(bench.changes(), [], "{words}");
    }
    let away = bench.board_file("Renamed.canvas");
    fs::rename(&path, &away).unwrap();
    bench.until("it is put back", || path.exists() && !away.exists());
    bench.until_canvases_rest();
    assert!(bench.attention().contains("cannot be renamed"), "{}", bench.attention());
    assert_eq!(bench.changes(), []);
    drop(daemon);
    bench.canvases_rest();
}
