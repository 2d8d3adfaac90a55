//! Saves of programs that did not read what espejo wrote last.

use serde_json::json;

use super::decks::words;
use super::world::{FOLDER, World, note, path};
use crate::core::request;
use crate::model::Timestamp;

const DECK: &str = "Presentations/Pitch.canvas";

fn plan() -> String {
    format!("{FOLDER}/Plan.canvas")
}

fn fetch(world: &mut World, place: &str) {
    world.core(|core| request::fetch_now(core, &path(place)));
    world.pass_ms(10_000);
}

/// A whiteboard whose file got a changed text and a new note of the app; and the file's text before.
fn changed() -> (World, String) {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one"), note("e2", "two")])]);
    let old = world.text(&plan());
    world.board("b1").elements[0]["content"] = json!("their one");
    world.board("b1").elements.push(note("e3", "three"));
    fetch(&mut world, FOLDER);
    assert!(world.text(&plan()).contains("three"));
    (world, old)
}

/// A program opens the file, and time passes.
fn opened(world: &mut World, file: &str) {
    let key = world.state.items.at(&path(file)).unwrap().key;
    world.state.runtime(key).saves.opened(Timestamp(world.now));
    world.state.items.dirty.insert(key);
    world.pass_ms(2_000);
}

fn notices(world: &World) -> Vec<&String> {
    world.lines.iter().filter(|line| line.starts_with("stale-save")).collect()
}

#[test]
fn a_save_that_lacks_all_that_came_from_the_app_takes_nothing_away() {
    let (mut world, old) = changed();
    world.write(&plan(), &old.replace("two", "dos"));
    world.pass_ms(10_000);
    assert_eq!(world.texts("b1"), ["their one", "dos", "three"]);
    let text = world.text(&plan());
    assert!(["their one", "dos", "three"].iter().all(|word| text.contains(word)), "{text}");
    let told = "a program saved an older text of this file; “their one” from the app stay";
    assert_eq!(notices(&world), [&format!("stale-save {}: {told}", plan())]);
    assert!(world.progress().is_settled);
}

#[test]
fn the_same_holds_after_a_kill() {
    let (mut world, old) = changed();
    world.write(&plan(), &old);
    world.kill();
    world.pass_ms(30_000);
    assert_eq!(world.texts("b1"), ["their one", "two", "three"]);
    assert!(world.text(&plan()).contains("three"));
}

#[test]
fn a_save_that_shows_a_part_of_it_means_the_rest() {
    let (mut world, _) = changed();
    let mut file: serde_json::Value = serde_json::from_str(&world.text(&plan())).unwrap();
    file["nodes"].as_array_mut().unwrap().retain(|node| node["id"] != "e3");
    world.write(&plan(), &file.to_string());
    world.pass_ms(10_000);
    assert_eq!(world.texts("b1"), ["their one", "two"]);
    assert!(notices(&world).is_empty());
}

#[test]
fn what_the_app_removed_is_not_made_anew_by_a_save_that_lacks_its_new_words() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one"), note("e2", "two")])]);
    let old = world.text(&plan());
    world.board("b1").elements.remove(1);
    world.board("b1").elements[0]["content"] = json!("their one");
    fetch(&mut world, FOLDER);
    world.write(&plan(), &format!("{old}\n"));
    world.pass_ms(10_000);
    assert_eq!(world.texts("b1"), ["their one"]);
    assert!(!world.text(&plan()).contains("two"));
}

#[test]
fn what_was_read_and_removed_again_is_removed() {
    let (mut world, old) = changed();
    world.write(&plan(), &old);
    world.pass_ms(10_000);
    assert_eq!(world.texts("b1"), ["their one", "two", "three"]);
    opened(&mut world, &plan());
    world.write(&plan(), &format!("{old}\n"));
    world.pass_ms(10_000);
    assert_eq!(world.texts("b1"), ["one", "two"]);
    assert_eq!(notices(&world).len(), 1);
}

#[test]
fn one_and_the_same_old_text_saved_again_takes_nothing_away() {
    let (mut world, old) = changed();
    for _ in 0..3 {
        world.write(&plan(), &old);
        world.pass_ms(30_000);
        assert_eq!(world.texts("b1"), ["their one", "two", "three"]);
    }
    assert_eq!(world.needs(), [format!("stale-editor {}", plan())]);
}

#[test]
fn the_third_time_the_file_waits_for_its_program_to_read_it() {
    let (mut world, old) = changed();
    let stale = |n: usize| old.replace("two", &format!("two {n}"));
    for n in 1..3 {
        world.write(&plan(), &stale(n));
        world.pass_ms(10_000);
        assert_eq!(world.texts("b1"), ["their one", &format!("two {n}"), "three"]);
        assert!(world.text(&plan()).contains("three"));
    }
    world.write(&plan(), &stale(3));
    world.pass_ms(60_000);
    assert_eq!(world.texts("b1"), ["their one", "two 3", "three"]);
    assert_eq!(world.text(&plan()), stale(3));
    assert_eq!(world.needs(), [format!("stale-editor {}", plan())]);
    assert!(world.progress().is_settled);
    opened(&mut world, &plan());
    assert!(world.text(&plan()).contains("three"));
    assert!(world.needs().is_empty());
}

#[test]
fn no_slide_and_no_element_is_deleted_for_good_by_an_old_text_of_a_presentation() {
    let mut world = World::with_deck(&[("s1", "one"), ("s2", "two")]);
    world.settings.boards.permanent_deletes = true;
    let old = world.text(DECK);
    world.deck("d1").slides[0].1.push(words("new", "theirs"));
    world.deck("d1").slides.push(("s3".into(), vec![]));
    fetch(&mut world, "Presentations");
    assert!(world.text(DECK).contains("theirs") && world.text(DECK).contains("s3"));
    world.requests.clear();
    world.write(DECK, &old.replace("two", "dos"));
    world.pass_ms(30_000);
    assert_eq!(world.slide_texts("d1"), [vec!["one", "theirs"], vec!["dos"], vec![]]);
    assert!(world.text(DECK).contains("theirs") && world.text(DECK).contains("s3"));
    assert_eq!(notices(&world).len(), 1);
    assert!(world.progress().is_settled);
}
