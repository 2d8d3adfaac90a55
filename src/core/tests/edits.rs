//! New files and boards, and edits of both sides.

use serde_json::json;

use super::world::{FOLDER, World, canvas, node, note};

fn at(name: &str) -> String {
    format!("{FOLDER}/{name}.canvas")
}

#[test]
fn a_board_gets_a_file_and_a_picture_and_then_nothing_more_is_asked() {
    let mut world = World::new(&[("b1", "Plan", &[note("e1", "one")])]);
    world.pass_ms(30_000);
    assert_eq!(world.names(), [at("Plan")]);
    let text = world.text(&at("Plan"));
    assert!(text.contains("\"one\"") && text.contains("\"espejo\":{\"id\":\"b1\"}"), "{text}");
    assert!(world.files.contains_key(&format!("{FOLDER}/Plan.svg")));
    assert!(world.progress().is_settled, "{:?}", world.progress());
    world.requests.clear();
    world.pass_ms(180_000);
    assert!(world.requests.iter().all(|name| name == "list"), "{:?}", world.requests);
}

#[test]
fn an_edit_of_the_file_changes_its_element_right_after_a_fetch() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one"), note("e2", "two")])]);
    let text = world.text(&at("Plan")).replace("one", "uno");
    world.write(&at("Plan"), &text);
    world.pass_ms(5_000);
    assert_eq!(world.texts("b1"), ["uno", "two"]);
    assert_eq!(world.requests[..2], ["get b1", "change e1"]);
    assert_eq!(world.text(&at("Plan")), text, "the file is not rewritten");
    assert!(world.progress().is_settled);
}

#[test]
fn a_new_node_becomes_an_element_and_the_file_gets_its_id() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one")])]);
    world.write(&at("Plan"), &canvas(&[node("e1", "one"), node("n1", "new")]));
    world.pass_ms(5_000);
    assert_eq!(world.texts("b1"), ["one", "new"]);
    let text = world.text(&at("Plan"));
    assert!(text.contains("e-") && !text.contains("\"n1\""), "{text}");
    // An editor that did not reload saves its own id again: it is the same node.
    world.write(&at("Plan"), &canvas(&[node("e1", "one"), node("n1", "newer")]));
    world.pass_ms(5_000);
    assert_eq!(world.texts("b1"), ["one", "newer"]);
}

#[test]
fn a_change_in_the_app_is_written() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one")])]);
    world.board("b1").elements[0]["content"] = json!("changed");
    world.core(|core| crate::core::request::fetch_now(core, &super::world::path(FOLDER)));
    world.pass_ms(5_000);
    assert!(world.text(&at("Plan")).contains("changed"));
}

#[test]
fn both_sides_merge_by_field_and_what_collides_is_kept_beside() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one"), note("e2", "two")])]);
    world.board("b1").elements[0]["content"] = json!("theirs");
    world.board("b1").elements[1]["x"] = json!(50);
    let text = world.text(&at("Plan")).replace("one", "mine").replace("two", "dos");
    world.write(&at("Plan"), &text);
    world.pass_ms(10_000);
    assert_eq!(world.texts("b1"), ["theirs", "dos"]);
    assert_eq!(world.boards["b1"].elements[1]["x"], json!(50));
    let names = world.names();
    assert_eq!(names.len(), 2, "{names:?}");
    let copy = names.into_iter().find(|name| name.contains(".conflict-")).unwrap().to_owned();
    assert!(world.text(&copy).contains("mine"));
    assert!(world.text(&at("Plan")).contains("theirs"));
    assert!(world.progress().is_settled);
}

#[test]
fn a_new_file_becomes_a_board_once_it_has_a_node_and_has_rested() {
    let mut world = World::in_step(&[]);
    world.write(&at("New"), &canvas(&[]));
    world.pass_ms(30_000);
    assert!(world.listed().is_empty());
    world.write(&at("New"), &canvas(&[node("n1", "first")]));
    world.pass_ms(30_000);
    assert_eq!(world.listed(), ["New"]);
    let id = world.boards.keys().next().unwrap().clone();
    assert_eq!(world.texts(&id), ["first"]);
    assert!(world.text(&at("New")).contains(&format!("\"id\":\"{id}\"")));
    assert!(world.progress().is_settled);
}

#[test]
fn a_copy_of_a_file_becomes_a_board_of_its_own() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one"), note("e2", "two")])]);
    let text = world.text(&at("Plan"));
    world.write(&at("Copy"), &text);
    world.pass_ms(40_000);
    assert_eq!(world.listed().len(), 2);
    assert_eq!(world.texts("b1"), ["one", "two"]);
    let id = world.boards.keys().find(|id| *id != "b1").unwrap().clone();
    assert_eq!(world.texts(&id), ["one", "two"]);
    assert!(world.text(&at("Copy")).contains(&format!("\"espejo\":{{\"id\":\"{id}\"}}")));
}

#[test]
fn nodes_that_cannot_be_created_stay_in_the_file() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one")])]);
    let group = "{\"id\":\"g\",\"type\":\"group\",\"x\":0,\"y\":0,\"width\":9,\"height\":9}".to_owned();
    let text = canvas(&[node("e1", "one"), group]);
    world.write(&at("Plan"), &text);
    world.pass_ms(60_000);
    assert_eq!(world.text(&at("Plan")), text);
    assert_eq!(world.texts("b1"), ["one"]);
    assert!(world.progress().is_settled);
}

#[test]
fn an_emptied_file_and_many_missing_nodes_wait_for_the_user() {
    let notes: Vec<_> = (0..8).map(|n| note(&format!("e{n}"), &format!("t{n}"))).collect();
    let mut world = World::in_step(&[("b1", "Plan", &notes)]);
    world.write(&at("Plan"), "");
    world.pass_ms(30_000);
    assert_eq!(world.texts("b1").len(), 8);
    assert_eq!(world.needs(), [format!("not-sent {}", at("Plan"))]);
    world.write(&at("Plan"), &canvas(&[node("e0", "t0")]));
    world.pass_ms(30_000);
    assert_eq!(world.texts("b1").len(), 8);
    assert_eq!(world.needs(), [format!("deletions-held {}", at("Plan"))]);
    world.approve(&[]);
    world.pass_ms(30_000);
    assert_eq!(world.texts("b1"), ["t0"]);
    assert!(world.progress().is_settled);
}

#[test]
fn in_a_workspace_that_is_mirrored_down_changes_come_down_and_stay_here() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one"), note("e2", "two")])]);
    world.area.is_open = false;
    let text = world.text(&at("Plan")).replace("one", "mine");
    world.write(&at("Plan"), &text);
    world.pass_ms(5_000);
    world.board("b1").elements[1]["content"] = json!("theirs");
    world.core(|core| crate::core::request::fetch_now(core, &super::world::path(FOLDER)));
    world.pass_ms(10_000);
    assert_eq!(world.texts("b1"), ["one", "theirs"]);
    let text = world.text(&at("Plan"));
    assert!(text.contains("mine") && text.contains("theirs"), "{text}");
    world.area.is_open = true;
    world.pass_ms(10_000);
    assert_eq!(world.texts("b1"), ["mine", "theirs"]);
}

#[test]
fn a_changed_picture_is_drawn_again_and_a_foreign_one_stays() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one")])]);
    let svg = format!("{FOLDER}/Plan.svg");
    let drawn = world.text(&svg);
    world.now += 10_000;
    world.write(&svg, "mine");
    world.pass_ms(10_000);
    assert_eq!(world.text(&svg), drawn);
    assert_eq!(world.trash, [svg]);
    let mut world = World::new(&[("b1", "Plan", &[note("e1", "one")])]);
    let svg = format!("{FOLDER}/Plan.svg");
    world.write(&svg, "foreign");
    world.pass_ms(30_000);
    assert_eq!(world.text(&svg), "foreign");
}
