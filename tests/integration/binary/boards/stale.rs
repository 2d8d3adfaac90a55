//! Saves of canvas files by programs that did not read what came from the app.

use std::fs;

use serde_json::json;

use super::super::bench::{Bench, save};
use super::{ON, deck, three_boards};

#[test]
fn an_old_text_saved_over_words_of_the_app_takes_none_of_them_away() {
    let (bench, board) = three_boards();
    let daemon = bench.run_canvases();
    let path = bench.board_file("Kick-off.canvas");
    let old = fs::read_to_string(&path).unwrap();
    let first = bench.elements(&board)[0]["id"].as_str().unwrap().to_owned();
    {
        let mut world = bench.world();
        world.app_edit_element(&board, &first, json!({ "content": "one of a colleague" }));
        world.app_put_element(&board, json!({ "type": "sticky", "content": "late" }));
    }
    bench.sync_any();
    bench.until("the words are in the file", || {
        fs::read_to_string(&path).is_ok_and(|text| text.contains("late") && text.contains("colleague"))
    });
    save(&path, &old.replace("\"two\"", "\"dos\""));
    let has = |word: &str| bench.elements(&board).iter().any(|element| element["content"] == word);
    bench.until("the edit is sent", || has("dos"));
    bench.until("the file has both", || {
        fs::read_to_string(&path)
            .is_ok_and(|text| ["dos", "late", "colleague"].iter().all(|word| text.contains(word)))
    });
    bench.until_canvases_rest();
    assert!(has("late") && has("one of a colleague"), "{}", bench.seen());
    assert!(bench.attention().contains("a program saved an older text of this file"), "{}", bench.seen());
    daemon.stop();
}

#[test]
fn an_old_text_of_a_presentation_deletes_no_slide_for_good() {
    let mut made = None;
    let config = format!("{ON}allow_permanent_deletes = true\n");
    let bench = Bench::with(&config, |world, _| made = Some(deck(world, "Pitch", &["one", "two"])));
    let (id, slides) = made.unwrap();
    let daemon = bench.run_canvases();
    let path = bench.deck_file("Pitch.canvas");
    let old = fs::read_to_string(&path).unwrap();
    let new = bench.world().app_insert_slide(&id, 2).unwrap();
    bench.sync_any();
    bench.until("the slide is in the file", || bench.slide_ids(&path).len() == 3);
    save(&path, &old.replace("\"two\"", "\"dos\""));
    bench.until("the edit is sent", || bench.elements(&slides[1])[0]["content"] == "dos");
    bench.until("the slide is back in the file", || bench.slide_ids(&path).len() == 3);
    assert!(bench.world().slides_of(&id).contains(&new), "{}", bench.seen());
    daemon.stop();
}
