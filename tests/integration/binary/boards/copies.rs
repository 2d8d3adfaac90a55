//! Older copies of the state: nothing is doubled.

use std::fs;

use serde_json::json;

use super::super::bench::save;
use super::super::state::copy;
use super::new::{board_named, node};
use super::{bench, deck, kick_off};

#[test]
fn an_old_copy_of_the_state_doubles_no_canvas() {
    let bench = bench(|world, space| {
        kick_off(world, space);
        deck(world, "Pitch", &["a", "b"]);
    });
    bench.run_canvases().stop();
    let old = bench.outside("old-state");
    copy(&bench.state(), &old);
    let daemon = bench.run_canvases();
    let text = json!({ "nodes": [node("n1", "made since")] }).to_string();
    save(&bench.board_file("Ideas.canvas"), &text);
    save(&bench.deck_file("Pitch/03.canvas"), &text);
    fs::create_dir_all(bench.deck_file("Talk")).unwrap();
    save(&bench.deck_file("Talk/01.canvas"), &text);
    bench.until("all is made", || {
        let world = bench.world();
        let slides: usize = world.presentations().map(|deck| deck.slides.len()).sum();
        world.whiteboards().count() == 2 && world.presentations().count() == 2 && slides == 4
    });
    bench.until_canvases_rest();
    drop(daemon);
    fs::remove_dir_all(bench.state()).unwrap();
    fs::rename(&old, bench.state()).unwrap();
    for _ in 0..3 {
        bench.sync_any();
    }
    assert_eq!(board_named(&bench, "Ideas").len(), 1, "{}", bench.seen());
    let mut made: Vec<usize> = bench.world().presentations().map(|deck| deck.slides.len()).collect();
    made.sort();
    assert_eq!(made, [1, 3], "{}", bench.seen());
    assert_eq!(bench.elements(&board_named(&bench, "Ideas")[0]).len(), 1);
    bench.canvases_rest();
}
