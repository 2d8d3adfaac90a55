//! Which file is which board's.

use super::world::{FOLDER, World, canvas, node, note, path};

fn at(name: &str) -> String {
    format!("{FOLDER}/{name}.canvas")
}

fn two() -> World {
    World::in_step(&[
        ("b1", "One", &[note("e1", "one"), note("e2", "eins")]),
        ("b2", "Two", &[note("f1", "two"), note("f2", "zwei")]),
    ])
}

#[test]
fn a_renamed_or_moved_file_goes_back_and_a_rename_in_the_app_renames_it() {
    let mut world = two();
    world.rename(&at("One"), &at("Other"));
    world.pass_ms(60_000);
    assert_eq!(world.names(), [at("One"), at("Two")]);
    assert!(world.lines.iter().any(|line| line.starts_with("put-back ")), "{:?}", world.lines);
    world.rename(&at("One"), "Acme/Elsewhere.canvas");
    world.pass_ms(60_000);
    assert_eq!(world.names(), [at("One"), at("Two")]);
    world.board("b1").name = "Uno".into();
    world.pass_ms(90_000);
    assert_eq!(world.names(), [at("Two"), at("Uno")]);
    assert!(world.files.contains_key(&format!("{FOLDER}/Uno.svg")));
    assert!(!world.files.contains_key(&format!("{FOLDER}/One.svg")));
    assert_eq!(world.listed().len(), 2);
    assert!(world.progress().is_settled);
}

#[test]
fn a_file_saved_anew_under_another_name_is_known_by_what_it_says() {
    let mut world = two();
    let text = world.text(&at("One")).replace("eins", "edited");
    world.remove(&at("One"));
    world.write(&at("Other"), &text);
    world.pass_ms(60_000);
    assert_eq!(world.names(), [at("One"), at("Two")]);
    assert_eq!(world.texts("b1"), ["one", "edited"]);
    assert_eq!(world.listed().len(), 2);
}

#[test]
fn swapped_files_keep_their_boards() {
    let mut world = two();
    let (one, two) = (world.text(&at("One")), world.text(&at("Two")));
    world.write(&at("One"), &two);
    world.write(&at("Two"), &one);
    world.pass_ms(60_000);
    assert_eq!(world.texts("b1"), ["one", "eins"]);
    assert_eq!(world.texts("b2"), ["two", "zwei"]);
    assert!(world.text(&at("One")).contains("\"eins\""));
    assert_eq!(world.names().len(), 2);
}

#[test]
fn boards_that_swap_their_names_in_the_app_swap_their_files() {
    let mut world = two();
    world.board("b1").name = "Two".into();
    world.board("b2").name = "One".into();
    world.pass_ms(90_000);
    assert!(world.text(&at("Two")).contains("\"eins\""));
    assert!(world.text(&at("One")).contains("\"zwei\""));
}

#[test]
fn after_the_state_is_lost_files_are_matched_and_what_differs_is_kept_twice() {
    let mut world = World::new(&[
        ("b1", "One", &[note("e1", "one")]),
        ("b2", "Two", &[note("f1", "two")]),
        ("b3", "Three", &[note("g1", "three")]),
    ]);
    world.write(&at("One"), &canvas(&[node("e1", "one")]));
    world.write(&at("Renamed"), &canvas(&[node("f1", "two")]));
    world.write(&at("Three"), &canvas(&[node("x", "something else")]));
    world.write(&at("Four"), &canvas(&[node("y", "new")]));
    world.pass_ms(120_000);
    let names = world.names().join(" ");
    assert!(
        names.contains("One.canvas") && names.contains("Two.canvas") && names.contains("Three.canvas"),
        "{names}"
    );
    assert!(
        names.contains("Three.conflict-") && names.contains("Four.canvas") && !names.contains("Renamed"),
        "{names}"
    );
    assert_eq!(world.listed(), ["One", "Two", "Three", "Four"]);
    assert!(world.progress().is_settled);
}

#[test]
fn a_write_at_a_kill_is_known_again() {
    let mut world = World::new(&[("b1", "One", &[note("e1", "one")])]);
    for _ in 0..200 {
        if world.names().len() == 1 {
            break;
        }
        world.turn();
        world.now += 100;
        // Each step may be the last one of the run.
        world.kill();
        world.scan_soon();
    }
    world.pass_ms(60_000);
    assert_eq!(world.names(), [at("One")]);
    assert_eq!(world.listed(), ["One"]);
    assert!(world.progress().is_settled);
}

#[test]
fn what_left_an_area_that_was_off_is_written_anew() {
    let mut world = two();
    world.area.is_live = false;
    world.pass_ms(10_000);
    world.files.remove(&at("One"));
    world.scan_soon();
    world.pass_ms(60_000);
    world.kill();
    world.area.is_live = true;
    let key = world.state.items.at(&path(&at("One"))).unwrap().key;
    world.core(|core| crate::core::request::let_go(core, key));
    world.pass_ms(60_000);
    assert_eq!(world.names(), [at("One"), at("Two")]);
    assert_eq!(world.listed().len(), 2);
}
