//! The app's acts and what it shows, without a browser; `tests/integration/app.rs` opens a real one.

use serde_json::{Value, json};

use super::super::world::World;
use super::*;

fn text(words: &str, styles: Value) -> Value {
    json!({ "type": "text", "text": words, "styles": styles })
}

#[test]
fn what_is_typed_leaves_the_styles_around_it() {
    let bold = || json!({ "bold": true });
    let runs = [text("one ", json!({})), text("two", bold()), text(" three", json!({}))];
    let check = |to: &str, expected: &[Value]| assert_eq!(runs::retyped(&runs, to), expected, "{to:?}");
    check("one two three", &runs);
    check(
        "one two and three",
        &[text("one ", json!({})), text("two", bold()), text(" and three", json!({}))],
    );
    check("one twooo three", &[text("one ", json!({})), text("twooo", bold()), text(" three", json!({}))]);
    check("three", &[text("three", json!({}))]);
    check("", &[]);
    assert_eq!(runs::retyped(&[], "new"), [text("new", json!({}))]);
    assert_eq!(runs::retyped(&[text("é", bold())], "éà"), [text("éà", bold())]);
}

fn world() -> (World, WorkspaceId, PageId) {
    let mut world = World::new(1);
    let space = world.add_workspace("Team", "team");
    let mut nested = new_block("b2", "checkListItem");
    nested["content"] = json!([text("box", json!({}))]);
    let mut block = new_block("b1", "paragraph");
    block["children"] = json!([nested]);
    let page = world.app_create(&space, None, "Plan", vec![block]);
    world.open_app("key");
    (world, space, page)
}

fn act(world: &mut World, body: Value) -> u16 {
    match world.app_act(body.to_string().as_bytes()) {
        Ok(response) => response.status,
        Err(refusal) => refusal.into_response().status,
    }
}

#[test]
fn acts_change_the_page_and_what_is_gone_is_said() {
    let (mut world, space, page) = world();
    let id = page.as_str();
    assert_eq!(act(&mut world, json!({ "act": "tick", "page": id, "block": "b2", "checked": true })), 200);
    assert_eq!(act(&mut world, json!({ "act": "text", "page": id, "block": "b2", "text": "boxes" })), 200);
    assert_eq!(act(&mut world, json!({ "act": "block", "page": id, "after": "b2", "type": "quote" })), 200);
    assert_eq!(act(&mut world, json!({ "act": "title", "page": id, "title": " Plans " })), 200);
    let content = world.page(&page).unwrap().content.clone();
    let inside = content[0]["children"].as_array().unwrap();
    assert_eq!(
        (&inside[0]["props"]["checked"], &inside[0]["content"][0]["text"]),
        (&json!(true), &json!("boxes"))
    );
    assert_eq!((&inside[1]["type"], inside.len()), (&json!("quote"), 2));
    assert_eq!(world.page(&page).unwrap().title, "Plans");
    assert_eq!(act(&mut world, json!({ "act": "remove", "page": id, "block": "b2" })), 200);
    assert_eq!(act(&mut world, json!({ "act": "text", "page": id, "block": "b2", "text": "x" })), 404);
    assert_eq!(act(&mut world, json!({ "act": "page", "workspace": space.as_str(), "parent": id })), 200);
    assert_eq!(world.app_state()["workspaces"][0]["pages"].as_array().unwrap().len(), 2);
    assert_eq!(act(&mut world, json!({ "act": "trash", "page": id })), 200);
    assert_eq!(world.app_state()["workspaces"][0]["pages"], json!([]));
    let trash = |world: &World| world.app_state()["workspaces"][0]["trash"].clone();
    assert_eq!(
        trash(&world),
        json!([{ "id": id, "title": "Plans", "icon": null }]),
        "its subpage goes with it"
    );
    assert_eq!(act(&mut world, json!({ "act": "title", "page": id, "title": "x" })), 404);
    assert_eq!(act(&mut world, json!({ "act": "restore", "page": id })), 200);
    assert_eq!(world.app_state()["workspaces"][0]["pages"].as_array().unwrap().len(), 2);
    assert_eq!((trash(&world), act(&mut world, json!({ "act": "restore", "page": id }))), (json!([]), 404));
    assert_eq!(act(&mut world, json!({ "act": "fly" })), 400);
    assert_eq!(act(&mut world, json!([])), 400);
}

#[test]
fn only_the_key_and_this_machine_open_the_app() {
    let (world, ..) = world();
    let here = Some("127.0.0.1:80");
    let ask = |method, path, host| world.app_ask(method, path, host, b"");
    assert_eq!(ask("GET", "/app/key/", here), Some(Ask::Page));
    assert_eq!(ask("GET", "/app/key/state", Some("localhost:1")), Some(Ask::State));
    assert_eq!(ask("POST", "/app/key/act", here), Some(Ask::Act(b"")));
    for (method, path, host) in [
        ("GET", "/app/other/", here),
        ("GET", "/app/key", here),
        ("GET", "/app/key/act", here),
        ("GET", "/app/key/state", Some("evil.example:80")),
        ("GET", "/app/key/state", None),
        ("GET", "/app//state", here),
    ] {
        assert_eq!(ask(method, path, host), None, "{method} {path} {host:?}");
    }
    let shut = World::new(1);
    assert_eq!(shut.app_ask("GET", "/app//", here, b""), None);
}

#[test]
fn presentations_and_stored_files_are_shown_and_what_is_in_the_trash_is_not() {
    let mut world = super::super::sample::world(1);
    let state = world.app_state();
    assert_eq!(state["decks"][0]["slides"].as_array().unwrap().len(), 3);
    assert!(state["decks"][0]["slides"][0]["elements"].as_array().unwrap().len() > 1);
    let (folders, files) = (&state["storage"]["folders"], &state["storage"]["files"]);
    let named = |all: &Value, name: &str| all.as_array().unwrap().iter().any(|one| one["name"] == name);
    assert!(named(folders, "Manuales") && named(files, "Pares de apriete.txt"));
    let folder = world.storage_folders().find(|folder| folder.name == "Manuales").unwrap().id.clone();
    world.app_change_folder(&folder, |folder| folder.trashed = true);
    let deck = world.presentations().next().unwrap().id.clone();
    world.app_trash_deck(&deck, true);
    let state = world.app_state();
    assert_eq!(state["decks"], json!([]));
    assert!(!named(&state["storage"]["folders"], "Manuales"));
    assert!(!named(&state["storage"]["files"], "Pares de apriete.txt"));
}
