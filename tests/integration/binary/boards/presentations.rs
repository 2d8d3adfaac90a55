//! A presentation is one canvas whose slides are groups: what people do to groups and to what stands in them.

use std::fs;
use std::path::Path;

use espejo::emulator::{Fault, Matcher};
use espejo::model::{CanvasId, DeckId};
use serde_json::{Value, json};

use super::super::bench::{Bench, save};
use super::{Daemon, STEP, bench, deck, group, on_slide};

/// A presentation `Pitch` of three slides, mirrored by a daemon, and its slides.
fn pitch() -> (Bench, Daemon, DeckId, Vec<CanvasId>) {
    let mut made = None;
    let bench = bench(|world, _| made = Some(deck(world, "Pitch", &["first", "second", "third"])));
    let (talk, slides) = made.unwrap();
    let daemon = bench.run_canvases();
    (bench, daemon, talk, slides)
}

/// The texts of each slide at the service.
fn texts(bench: &Bench, talk: &DeckId) -> Vec<Vec<String>> {
    let world = bench.world();
    let slides = world.presentation(talk).map(|deck| deck.slides.clone()).unwrap_or_default();
    let text = |element: &Value| element["content"].as_str().unwrap_or_default().to_owned();
    slides.iter().map(|slide| slide.elements.iter().map(text).collect()).collect()
}

/// Moves a group, and what stands in it.
fn move_group(bench: &Bench, slide: &CanvasId, [right, down]: [i64; 2]) {
    let path = bench.deck_file("Pitch.canvas");
    let inside = bench.slide_nodes(&path, slide.own_id());
    bench.edit_canvas(&path, |nodes| {
        for node in nodes {
            if node["id"] == slide.own_id() || inside.iter().any(|one| one["id"] == node["id"]) {
                node["x"] = json!(node["x"].as_i64().unwrap() + right);
                node["y"] = json!(node["y"].as_i64().unwrap() + down);
            }
        }
    });
}

#[test]
fn an_edit_of_a_slide_is_a_patch_after_a_look_at_that_slide() {
    let (bench, daemon, talk, slides) = pitch();
    let path = bench.deck_file("Pitch.canvas");
    let element = bench.elements(&slides[1])[0]["id"].as_str().unwrap().to_owned();
    bench.edit_slide(&path, &slides[1], |nodes| {
        nodes[0]["text"] = json!("second, mended");
        nodes[0]["x"] = json!(33);
    });
    bench.until("it is sent", || bench.elements(&slides[1])[0]["content"] == "second, mended");
    bench.until_canvases_rest();
    assert_eq!(
        bench.changes(),
        [(format!("PATCH {element}"), json!({ "content": "second, mended", "x": 33 }))],
        "{}",
        bench.seen()
    );
    let route = format!("/presentations/{talk}/slides/{}/elements", slides[1].own_id());
    let of_slide: Vec<String> = bench.requests().into_iter().filter(|line| line.contains(&route)).collect();
    let patch = of_slide.iter().position(|line| *line == format!("PATCH {route}/{element}")).unwrap();
    assert_eq!(of_slide[patch - 1], format!("GET {route}"), "{of_slide:?}");
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_moved_group_is_no_edit_and_stays_where_its_user_put_it() {
    let (bench, daemon, _, slides) = pitch();
    let path = bench.deck_file("Pitch.canvas");
    move_group(&bench, &slides[1], [2000, -300]);
    let moved = fs::read(&path).unwrap();
    bench.until_canvases_rest();
    bench.sync_any();
    assert_eq!(bench.changes(), []);
    assert_eq!(fs::read(&path).unwrap(), moved, "the file stays as it was saved");
    // What comes from the app stands in the group where it is now.
    let element = bench.elements(&slides[1])[0]["id"].as_str().unwrap().to_owned();
    let others = bench.slide_nodes(&path, slides[2].own_id());
    bench.world().app_edit_element(&slides[1], &element, json!({ "x": 5, "y": 6 }));
    bench.sync_any();
    let node = bench.nodes(&path)[&element].clone();
    assert_eq!((&node["x"], &node["y"]), (&json!(2005), &json!(STEP - 300 + 6)), "{}", bench.seen());
    assert_eq!(bench.slide_nodes(&path, slides[2].own_id()), others);
    // And what is edited in it is an edit at its place on the slide.
    bench.edit_slide(&path, &slides[1], |nodes| nodes[0]["x"] = json!(7));
    bench.until("it is sent", || bench.element(&slides[1], &element)["x"] == json!(7));
    bench.until_canvases_rest();
    assert_eq!(bench.changes(), [(format!("PATCH {element}"), json!({ "x": 7 }))]);
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn groups_that_change_places_or_lines_are_no_other_order_of_slides() {
    let (bench, daemon, talk, slides) = pitch();
    let path = bench.deck_file("Pitch.canvas");
    let before = texts(&bench, &talk);
    // Two slides at each other's places, and the file's lines from back to front.
    move_group(&bench, &slides[0], [0, 2 * STEP + 5000]);
    move_group(&bench, &slides[2], [0, -2 * STEP]);
    move_group(&bench, &slides[0], [0, -5000]);
    bench.edit_canvas(&path, |nodes| nodes.reverse());
    bench.until_canvases_rest();
    bench.sync_any();
    assert_eq!(bench.changes(), [], "{}", bench.seen());
    assert_eq!(texts(&bench, &talk), before);
    assert_eq!(bench.slide_nodes(&path, slides[0].own_id())[0]["text"], "first");
    assert_eq!(bench.nodes(&path)[slides[0].own_id()]["y"], json!(2 * STEP), "its place is the user's");
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_group_that_was_resized_or_ungrouped_comes_back() {
    let (bench, daemon, talk, slides) = pitch();
    let path = bench.deck_file("Pitch.canvas");
    let whole = bench.nodes(&path);
    let comes_back = |what: &str| {
        bench.until(what, || {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let canvas: Value = serde_json::from_str(&text).unwrap_or_default();
            let nodes = canvas["nodes"].as_array().cloned().unwrap_or_default();
            nodes.len() == whole.len() && nodes.iter().all(|node| whole.values().any(|was| was == node))
        });
        bench.until_canvases_rest();
        assert_eq!(bench.changes(), [], "{what}");
    };
    bench.edit_canvas(&path, |nodes| {
        let group = nodes.iter_mut().find(|node| node["id"] == slides[1].own_id()).unwrap();
        group["width"] = json!(700);
    });
    comes_back("it has its size again");
    let told = bench.attention();
    assert!(told.contains("slide 2 has the size of its presentation"), "{told}");
    bench.edit_canvas(&path, |nodes| nodes.retain(|node| node["id"] != slides[1].own_id()));
    comes_back("it is there again");
    assert!(bench.attention().contains("the group of slide 2 was removed"), "{}", bench.attention());
    assert_eq!(bench.world().slides_of(&talk).len(), 3);
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_name_of_a_group_stays_and_is_the_name_of_its_slide_in_the_page() {
    let (bench, daemon, talk, slides) = pitch();
    let path = bench.deck_file("Pitch.canvas");
    let label = |slide: &CanvasId| bench.nodes(&path)[slide.own_id()]["label"].clone();
    bench.edit_canvas(&path, |nodes| {
        nodes.iter_mut().find(|node| node["id"] == slides[1].own_id()).unwrap()["label"] = json!("Costs");
    });
    bench.until("its page has the name", || {
        fs::read_to_string(bench.deck_file("Pitch.html")).is_ok_and(|page| page.contains("Costs"))
    });
    bench.until_canvases_rest();
    // A slide comes before all: the names stay, and the numbers go on.
    bench.world().app_insert_slide(&talk, 0).unwrap();
    bench.sync_any();
    assert_eq!(bench.slide_texts(&path).len(), 4, "{}", bench.seen());
    assert_eq!([&slides[0], &slides[1], &slides[2]].map(label), ["2", "Costs", "4"]);
    assert_eq!(bench.changes(), []);
    drop(daemon);
    bench.canvases_rest();
}

/// Adds a node to a file: it is told, nothing is sent, and the file stays as it is.
#[track_caller]
fn stays_here_and_is_told(bench: &Bench, path: &Path, node: Value) {
    bench.edit_canvas(path, |nodes| nodes.push(node));
    let saved = fs::read(path).unwrap();
    bench.until("it is told", || bench.attention().contains("stay in this file only"));
    bench.until_canvases_rest();
    assert_eq!(bench.changes(), []);
    assert_eq!(fs::read(path).unwrap(), saved);
}

#[test]
fn a_group_around_cards_of_a_slide_stays_in_the_file_and_is_told() {
    let (bench, daemon, talk, slides) = pitch();
    let path = bench.deck_file("Pitch.canvas");
    let around = json!({ "id": "around", "type": "group", "x": 0, "y": 0, "width": 300, "height": 300 });
    stays_here_and_is_told(&bench, &path, around);
    // It lives through what comes from the app.
    bench.world().app_insert_slide(&talk, 0).unwrap();
    bench.sync_any();
    let group = bench.nodes(&path)["around"].clone();
    let slide = bench.nodes(&path)[slides[0].own_id()].clone();
    assert_eq!((&group["x"], &group["y"]), (&slide["x"], &slide["y"]), "it goes along with its slide");
    assert_eq!(bench.world().slides_of(&talk).len(), 4);
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_new_group_beside_the_others_is_one_new_slide_with_what_lies_in_it() {
    for fault in [None, Some(Fault::LostAfter), Some(Fault::LostBefore), Some(Fault::StatusAfter(502))] {
        let (bench, daemon, talk, slides) = pitch();
        let path = bench.deck_file("Pitch.canvas");
        if let Some(fault) = &fault {
            let route = format!("/presentations/{talk}/slides");
            bench.world().fail_next(Matcher::Route("POST".to_owned(), route), fault.clone());
        }
        bench.edit_canvas(&path, |nodes| {
            nodes.extend([group("g", 3), on_slide("n1", 3, "new one"), on_slide("n2", 3, "new two")]);
        });
        bench.until("it is made", || texts(&bench, &talk).get(3).is_some_and(|slide| slide.len() == 2));
        bench.until_canvases_rest();
        let all = texts(&bench, &talk);
        assert_eq!(all.len(), 4, "{fault:?}\n{}", bench.seen());
        assert_eq!(all[3], ["new one", "new two"]);
        let order: Vec<String> =
            bench.world().slides_of(&talk).iter().map(|slide| slide.as_str().to_owned()).collect();
        bench.until("the file has the slide's own id", || bench.slide_ids(&path) == order);
        assert_eq!(bench.slide_texts(&path)[3], ["new one", "new two"]);
        assert_eq!(bench.slide_nodes(&path, &order[3])[0]["x"], json!(40));
        let posts = bench.changes().iter().filter(|(line, _)| line == "POST slides").count();
        assert_eq!(posts, if matches!(fault, Some(Fault::LostBefore)) { 2 } else { 1 }, "{fault:?}");
        assert_eq!(bench.elements(&slides[0]).len(), 1);
        drop(daemon);
        bench.canvases_rest();
    }
}

#[test]
fn a_node_that_was_dragged_into_another_slide_is_made_there_and_then_removed_here() {
    for fault in [None, Some(("POST", Fault::LostAfter)), Some(("DELETE", Fault::LostAfter))] {
        let (bench, daemon, talk, slides) = pitch();
        let path = bench.deck_file("Pitch.canvas");
        let element = bench.elements(&slides[0])[0].clone();
        let id = element["id"].as_str().unwrap();
        if let Some((method, fault)) = &fault {
            bench.world().fail_next(Matcher::Method((*method).to_owned()), fault.clone());
        }
        bench.edit_canvas(&path, |nodes| {
            let node = nodes.iter_mut().find(|node| node["id"] == id).unwrap();
            node["x"] = json!(300);
            node["y"] = json!(2 * STEP + 100);
        });
        bench.until("it is there, and not here", || {
            texts(&bench, &talk) == [vec![], vec!["second"], vec!["third", "first"]]
        });
        bench.until_canvases_rest();
        let moved = bench.elements(&slides[2]).into_iter().find(|one| one["content"] == "first").unwrap();
        assert_eq!((&moved["x"], &moved["y"]), (&json!(300), &json!(100)));
        assert_eq!((&moved["type"], &moved["style"]), (&element["type"], &element["style"]));
        let lines: Vec<String> = bench.changes().into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines.first().map(String::as_str), Some("POST elements"), "{lines:?}");
        assert_eq!(bench.elements(&slides[2]).len(), 2, "{fault:?}\n{}", bench.seen());
        assert_eq!(bench.slide_texts(&path), [vec![], vec!["second"], vec!["third", "first"]]);
        drop(daemon);
        bench.canvases_rest();
    }
}

#[test]
fn an_image_that_was_dragged_into_another_slide_goes_back_and_is_told() {
    let (bench, daemon, _, slides) = pitch();
    let path = bench.deck_file("Pitch.canvas");
    let image =
        json!({ "type": "media", "x": 500, "y": 100, "content": "photo.png", "style": { "src": "x" } });
    let id = bench.world().app_put_element(&slides[0], image).unwrap();
    bench.sync_any();
    let place = bench.nodes(&path)[&id].clone();
    bench.edit_canvas(&path, |nodes| {
        let node = nodes.iter_mut().find(|node| node["id"] == *id).unwrap();
        node["y"] = json!(STEP + 100);
    });
    bench.until("it is back", || {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let canvas: Value = serde_json::from_str(&text).unwrap_or_default();
        canvas["nodes"].as_array().into_iter().flatten().any(|node| *node == place)
    });
    bench.until_canvases_rest();
    assert!(bench.attention().contains("cannot be moved into another slide"), "{}", bench.attention());
    assert_eq!(bench.changes(), []);
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_node_outside_of_every_slide_stays_in_the_file_and_is_told() {
    let (bench, daemon, talk, _) = pitch();
    let path = bench.deck_file("Pitch.canvas");
    let mut note = on_slide("note", 1, "for me alone");
    note["x"] = json!(5000);
    stays_here_and_is_told(&bench, &path, note);
    bench.world().app_insert_slide(&talk, 0).unwrap();
    bench.sync_any();
    assert_eq!(bench.nodes(&path)["note"]["text"], "for me alone");
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn an_element_that_sticks_out_of_its_slide_is_its_slides() {
    let (bench, daemon, _, slides) = pitch();
    let path = bench.deck_file("Pitch.canvas");
    let wide = json!({ "type": "text", "x": 100, "y": 600, "width": 300, "height": 200, "content": "below" });
    let id = bench.world().app_put_element(&slides[0], wide).unwrap();
    bench.sync_any();
    assert!(bench.nodes(&path).contains_key(&id), "{}", bench.seen());
    // Its middle lies in the second slide.
    bench.edit_canvas(&path, |nodes| {
        nodes.iter_mut().find(|node| node["id"] == *id).unwrap()["text"] = json!("still below");
    });
    bench.until("it is sent", || bench.element(&slides[0], &id)["content"] == "still below");
    bench.until_canvases_rest();
    assert_eq!(bench.changes(), [(format!("PATCH {id}"), json!({ "content": "still below" }))]);
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn an_edit_of_a_slide_survives_slides_that_come_go_and_move_in_the_app() {
    let (bench, daemon, talk, slides) = pitch();
    let path = bench.deck_file("Pitch.canvas");
    drop(daemon);
    bench.edit_slide(&path, &slides[1], |nodes| nodes[0]["text"] = json!("my words"));
    {
        let mut world = bench.world();
        world.app_insert_slide(&talk, 0).unwrap();
        let last = world.slides_of(&talk)[3].clone();
        assert!(world.app_remove_slide(&talk, &last));
        assert!(world.app_move_slide(&talk, 2, 1));
    }
    bench.sync_any();
    bench.sync_any();
    assert_eq!(texts(&bench, &talk), [vec![], vec!["my words"], vec!["first"]], "{}", bench.seen());
    assert_eq!(bench.slide_texts(&path), [vec![], vec!["my words"], vec!["first"]]);
    assert_eq!(bench.changes().len(), 1, "{:?}", bench.changes());
    assert!(!bench.files().keys().any(|path| path.contains(".conflict-")), "{}", bench.seen());
    bench.canvases_rest();
}

#[test]
fn both_sides_merge_on_a_slide_and_what_collides_is_kept_beside() {
    let (bench, daemon, _, slides) = pitch();
    drop(daemon);
    let path = bench.deck_file("Pitch.canvas");
    let element = bench.elements(&slides[1])[0]["id"].as_str().unwrap().to_owned();
    bench.edit_slide(&path, &slides[1], |nodes| {
        nodes[0]["text"] = json!("here");
        nodes[0]["y"] = json!(77);
    });
    bench.edit_slide(&path, &slides[2], |nodes| nodes[0]["text"] = json!("third, mine"));
    bench.world().app_edit_element(&slides[1], &element, json!({ "content": "there" }));
    bench.sync_any();
    bench.sync_any();
    let now = bench.element(&slides[1], &element);
    assert_eq!((&now["content"], &now["y"]), (&json!("there"), &json!(77)), "{}", bench.seen());
    assert_eq!(bench.elements(&slides[2])[0]["content"], "third, mine");
    assert_eq!(bench.slide_texts(&path), [["first"], ["there"], ["third, mine"]]);
    let copies: Vec<String> = bench.files().into_keys().filter(|p| p.contains(".conflict-")).collect();
    let [copy] = copies.as_slice() else { panic!("{copies:?}\n{}", bench.seen()) };
    assert!(copy.starts_with("Presentations/Pitch.conflict-") && copy.ends_with(".canvas"), "{copy}");
    assert!(fs::read_to_string(bench.root().join(copy)).unwrap().contains("\"here\""));
    bench.canvases_rest();
}

#[test]
fn a_presentation_that_one_may_only_look_at_is_one_refusal_and_still_follows_the_app() {
    let (bench, daemon, talk, slides) = pitch();
    let path = bench.deck_file("Pitch.canvas");
    assert!(bench.world().app_share_deck(&talk, true));
    bench.edit_slide(&path, &slides[0], |nodes| nodes[0]["text"] = json!("mine"));
    bench.edit_slide(&path, &slides[1], |nodes| nodes[0]["text"] = json!("mine too"));
    bench.until("it is refused", || bench.attention().contains("Pitch.canvas: a change of it is refused"));
    assert_eq!(bench.attention().matches("Pitch.canvas").count(), 1, "{}", bench.attention());
    let third = bench.elements(&slides[2])[0]["id"].as_str().unwrap().to_owned();
    bench.world().app_edit_element(&slides[2], &third, json!({ "content": "of the app" }));
    bench.until("the app's words arrive", || {
        bench.tell(&["sync"]);
        bench.slide_texts(&path) == [["mine"], ["mine too"], ["of the app"]]
    });
    assert!(bench.world().app_share_deck(&talk, false));
    bench.until("all goes in the end", || {
        bench.tell(&["sync"]);
        texts(&bench, &talk) == [["mine"], ["mine too"], ["of the app"]]
    });
    bench.until("nothing is refused", || !bench.attention().contains("refused"));
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_presentation_that_is_renamed_here_or_changes_names_with_another_goes_back() {
    let bench = bench(|world, _| {
        deck(world, "Pitch", &["first", "second"]);
        deck(world, "Talk", &["other"]);
    });
    let daemon = bench.run_canvases();
    let (pitch, talk) = (bench.deck_file("Pitch.canvas"), bench.deck_file("Talk.canvas"));
    let deep = bench.deck_file("Old/2026/Pitch.canvas");
    fs::create_dir_all(deep.parent().unwrap()).unwrap();
    for away in [bench.deck_file("Speech.canvas"), deep] {
        fs::rename(&pitch, &away).unwrap();
        bench.until("it is put back", || pitch.exists() && !away.exists());
        bench.until_canvases_rest();
    }
    assert!(
        bench.attention().contains("Pitch.canvas: a presentation cannot be renamed"),
        "{}",
        bench.attention()
    );
    let aside = bench.outside("aside");
    for (from, to) in [(&pitch, &aside), (&talk, &pitch), (&aside, &talk)] {
        fs::rename(from, to).unwrap();
    }
    bench.until("they are put back", || {
        bench.slide_texts(&pitch) == [["first"], ["second"]] && bench.slide_texts(&talk) == [["other"]]
    });
    bench.until_canvases_rest();
    assert!(!bench.attention().contains("(moving)"), "{}", bench.attention());
    assert_eq!(bench.changes(), [], "{}", bench.seen());
    drop(daemon);
}

#[test]
fn a_file_is_no_presentation_before_it_has_a_group() {
    let (bench, daemon, _, _) = pitch();
    let path = bench.deck_file("Talk.canvas");
    save(&path, "{}");
    bench.sync_any();
    save(&path, &json!({ "nodes": [on_slide("n", 0, "outside")] }).to_string());
    bench.sync_any();
    let state = || bench.list().iter().find(|row| row["title"] == "Talk").map(|row| row["state"].clone());
    bench.until("it is listed as what it is", || state() == Some(json!("not synced")));
    bench.until("nothing is pending", || bench.tell(&["status"]).out.starts_with("everything is in sync"));
    assert_eq!(bench.changes(), [], "{}", bench.seen());
    save(&path, &super::talk_of(&["opening", "closing"]));
    bench.until("it is made", || {
        let world = bench.world();
        world.presentations().any(|deck| deck.name == "Talk" && deck.slides.len() == 2)
    });
    bench.until_canvases_rest();
    let made = bench.world().presentations().find(|deck| deck.name == "Talk").unwrap().id.clone();
    assert_eq!(texts(&bench, &made), [["opening"], ["closing"]]);
    drop(daemon);
    bench.canvases_rest();
}
