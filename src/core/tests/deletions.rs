//! Deletions on both sides, and what holds them.

use serde_json::json;

use super::world::{Answer, FOLDER, World, canvas, node, note, unreadable};
use crate::model::{Deletes, Hides};

fn at(name: &str) -> String {
    format!("{FOLDER}/{name}.canvas")
}

fn three() -> World {
    let boards = ["b1", "b2", "b3", "b4", "b5"];
    let notes: Vec<_> = boards.iter().map(|id| [note(&format!("{id}-e"), id)]).collect();
    let all: Vec<_> = boards.iter().zip(&notes).map(|(id, note)| (*id, *id, note.as_slice())).collect();
    World::in_step(&all)
}

#[test]
fn a_deleted_file_takes_its_board_to_the_trash_after_the_grace_time_and_a_fresh_fetch() {
    let mut world = three();
    world.remove(&at("b1"));
    world.pass_ms(5_000);
    assert!(!world.boards["b1"].is_trashed, "it may come back");
    assert!(!world.progress().is_settled);
    world.pass_ms(20_000);
    assert!(world.boards["b1"].is_trashed);
    let trash = world.requests.iter().position(|name| name == "trash b1").unwrap();
    assert_eq!(world.requests[trash - 1], "get b1");
    world.pass_ms(120_000);
    assert!(world.progress().is_settled && world.state.items.all().count() == 4);
    // A new file of that name is a new board.
    world.write(&at("b1"), &canvas(&[node("n", "again")]));
    world.pass_ms(30_000);
    assert_eq!(world.listed().len(), 5);
    assert_eq!(world.names().len(), 5);
}

#[test]
fn a_file_that_comes_back_in_time_is_the_same() {
    let mut world = three();
    let file = world.files.remove(&at("b1")).unwrap();
    world.scan_soon();
    world.pass_ms(5_000);
    world.files.insert(at("b1"), file);
    world.scan_soon();
    world.pass_ms(60_000);
    assert_eq!(world.listed().len(), 5);
    assert!(world.requests.iter().all(|name| name == "list"), "{:?}", world.requests);
}

#[test]
fn a_board_that_changed_meanwhile_comes_back() {
    let mut world = three();
    world.remove(&at("b1"));
    world.board("b1").elements[0]["content"] = json!("changed");
    world.pass_ms(30_000);
    assert!(!world.boards["b1"].is_trashed);
    assert!(world.text(&at("b1")).contains("changed"));
    assert!(world.lines.iter().any(|line| line.starts_with("came-back ")));
    let mut world = three();
    world.settings.pages.deletes = Deletes::Restore;
    world.remove(&at("b1"));
    world.pass_ms(30_000);
    assert!(!world.boards["b1"].is_trashed && world.files.contains_key(&at("b1")));
}

#[test]
fn many_deletions_wait_for_the_user() {
    let mut world = three();
    for name in ["b1", "b2", "b3", "b4", "b5"] {
        world.remove(&at(name));
    }
    world.pass_ms(60_000);
    assert_eq!(world.listed().len(), 5);
    assert_eq!(world.needs(), [format!("deletions-held {FOLDER}")]);
    assert!(world.progress().is_settled, "the user acts next");
    world.kill();
    world.pass_ms(60_000);
    assert_eq!(world.listed().len(), 5);
    world.approve(&[]);
    world.pass_ms(60_000);
    assert!(world.listed().is_empty());
}

#[test]
fn deletions_by_and_by_count_together() {
    let mut world = three();
    for name in ["b1", "b2", "b3"] {
        world.remove(&at(name));
    }
    world.pass_ms(15_000);
    assert_eq!(world.listed().len(), 2);
    world.kill();
    for name in ["b4", "b5"] {
        world.remove(&at(name));
    }
    world.pass_ms(300_000);
    assert_eq!(world.listed().len(), 2, "all that was mirrored is gone");
    assert_eq!(world.needs().len(), 1);
}

#[test]
fn an_unreadable_place_hides_what_is_missing() {
    let mut world = three();
    world.unreadable = vec![unreadable("Acme/Pages/x", Hides::Anything)];
    world.remove(&at("b1"));
    world.pass_ms(60_000);
    assert!(!world.boards["b1"].is_trashed);
    world.unreadable.clear();
    world.scan_soon();
    world.pass_ms(30_000);
    assert!(world.boards["b1"].is_trashed);
    // What stands at its own place is the item, unreadable.
    let mut world = three();
    world.files.remove(&at("b1"));
    world.unreadable = vec![unreadable(&at("b1"), Hides::Beneath)];
    world.scan_soon();
    world.pass_ms(60_000);
    assert!(!world.boards["b1"].is_trashed);
    world.approve(&[&at("b1")]);
    world.pass_ms(60_000);
    assert!(world.boards["b1"].is_trashed);
}

#[test]
fn a_board_that_left_the_app_takes_its_file_to_the_trash_after_two_lists() {
    let mut world = three();
    world.board("b1").is_trashed = true;
    world.pass_ms(90_000);
    assert_eq!(world.trash, [at("b1"), format!("{FOLDER}/b1.svg")]);
    assert_eq!(world.names().len(), 4);
    assert!(world.progress().is_settled);
    // An edited one becomes a conflict copy.
    let text = world.text(&at("b2")).replace("\"b2\"", "\"mine\"");
    world.area.is_open = false;
    world.write(&at("b2"), &text);
    world.pass_ms(5_000);
    world.board("b2").is_trashed = true;
    world.pass_ms(90_000);
    let copy = world.names().into_iter().find(|name| name.contains("b2.conflict-")).unwrap().to_owned();
    assert!(world.text(&copy).contains("mine") && !world.files.contains_key(&at("b2")));
}

#[test]
fn a_list_that_is_suddenly_empty_is_held() {
    let mut world = three();
    for board in world.boards.values_mut() {
        board.is_trashed = true;
    }
    world.pass_ms(300_000);
    assert_eq!(world.names().len(), 5);
    assert_eq!(world.needs(), [format!("removals-held {FOLDER}")]);
    for board in world.boards.values_mut() {
        board.is_trashed = false;
    }
    world.pass_ms(120_000);
    assert_eq!(world.needs(), [""; 0]);
    assert_eq!(world.names().len(), 5);
}

#[test]
fn one_empty_answer_is_not_believed() {
    let mut world = three();
    let elements = std::mem::take(&mut world.board("b1").elements);
    world.core(|core| crate::core::request::fetch_now(core, &super::world::path(&at("b1"))));
    world.pass_ms(5_000);
    assert!(world.text(&at("b1")).contains("\"b1\""));
    world.board("b1").elements = elements;
    world.pass_ms(60_000);
    assert!(world.text(&at("b1")).contains("\"b1-e\""));
    world.board("b1").elements.clear();
    world.core(|core| crate::core::request::fetch_now(core, &super::world::path(&at("b1"))));
    world.pass_ms(60_000);
    assert!(!world.text(&at("b1")).contains("\"b1-e\""));
}

#[test]
fn a_deletion_whose_answer_is_lost_is_made_once() {
    for answer in [Answer::Lost, Answer::Dropped] {
        let mut world = three();
        world.answers.push(("trash", answer));
        world.remove(&at("b1"));
        world.pass_ms(180_000);
        assert!(world.boards["b1"].is_trashed, "{answer:?}");
        assert_eq!(world.names().len(), 4);
        assert!(world.progress().is_settled, "{:?}", world.progress());
    }
}

#[test]
fn a_removed_node_is_deleted_and_one_changed_in_the_app_comes_back() {
    let mut world =
        World::in_step(&[("b1", "Plan", &[note("e1", "one"), note("e2", "two"), note("e3", "3")])]);
    world.board("b1").elements[1]["content"] = json!("theirs");
    world.write(&at("Plan"), &canvas(&[node("e3", "3")]));
    world.pass_ms(30_000);
    assert_eq!(world.texts("b1"), ["theirs", "3"]);
    assert!(world.text(&at("Plan")).contains("theirs"));
}

#[test]
fn a_board_trashed_right_after_it_was_made_costs_few_requests() {
    let mut world = three();
    world.write(&at("New"), &canvas(&[node("n", "x")]));
    world.pass_ms(15_000);
    let id = world.boards.keys().find(|id| id.starts_with("made-")).unwrap().clone();
    world.board(&id).is_trashed = true;
    world.write(&at("New"), &canvas(&[node("n", "edited")]));
    world.requests.clear();
    world.pass_ms(200_000);
    assert!(world.requests.len() < 30, "{:?}", world.requests);
    assert!(!world.files.contains_key(&at("New")) && world.progress().is_settled);
}
