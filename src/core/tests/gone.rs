//! Slides and presentations that are gone, and requests about them.

use super::decks::text;
use super::world::{Answer, World, path, unreadable};
use crate::model::Hides;

const FILE: &str = "Presentations/Pitch.canvas";

fn two() -> World {
    World::with_deck(&[("s1", "one"), ("s2", "two")])
}

#[test]
fn a_slide_that_is_gone_is_not_asked_for_again() {
    let mut world = two();
    // The file goes on stating it.
    world.unreadable.push(unreadable(FILE, Hides::Its));
    world.scan_soon();
    world.deck("d1").slides.remove(0);
    world.core(|core| crate::core::request::fetch_now(core, &path("Presentations")));
    world.pass_ms(180_000);
    let count = world.requests.iter().filter(|name| *name == "get s1").count();
    assert!((1..5).contains(&count), "{:?}", world.requests);
}

#[test]
fn an_edited_slide_that_is_gone_leaves_the_limit_to_the_list_that_says_so() {
    let mut world = two();
    world.deck("d1").slides.remove(0);
    world.write(FILE, &world.text(FILE).replace("one", "uno"));
    world.only_edits = true;
    world.pass_ms(60_000);
    let count = world.requests.iter().filter(|name| *name == "get s1").count();
    assert!((1..7).contains(&count), "{:?}", world.requests);
}

#[test]
fn an_edited_presentation_that_is_trashed_while_a_request_is_in_doubt_is_kept_beside() {
    let mut world = two();
    // A list that is suddenly empty would be held.
    for (id, name) in [("d2", "B"), ("d3", "C"), ("d4", "D")] {
        world.put_deck(id, name, &[("s1", "x")]);
    }
    world.pass_ms(120_000);
    let new = text("n", 0, "new").replace("\"x\":40", "\"x\":400");
    let mut file: serde_json::Value = serde_json::from_str(&world.text(FILE)).unwrap();
    file["nodes"].as_array_mut().unwrap().push(serde_json::from_str(&new).unwrap());
    world.write(FILE, &file.to_string());
    world.answers.push(("add", Answer::Lost));
    while !world.answers.is_empty() {
        if !world.turn() {
            world.now += 500;
        }
    }
    world.deck("d1").is_trashed = true;
    world.pass_ms(180_000);
    let copy = world.names().into_iter().find(|name| name.contains(".conflict-")).map(str::to_owned);
    assert!(!world.names().contains(&FILE), "{:?}", world.names());
    assert!(copy.is_some_and(|copy| world.text(&copy).contains("new")), "{:?}", world.names());
    assert!(world.progress().is_settled, "{:?}", world.progress());
}
