//! Slides and presentations that are gone, and requests about them.

use super::world::{World, path, unreadable};
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
