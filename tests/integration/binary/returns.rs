//! What comes back into a file, and what does not: a deleted file whose page was changed meanwhile, and an undo that would
//! leave a file empty.

use std::fs;

use serde_json::json;

use super::bench::{Bench, paragraph, save, words};

fn bench() -> Bench {
    Bench::new(|world, space| {
        world.app_create(space, None, "Home", vec![paragraph("a", "words")]);
    })
}

#[test]
fn a_file_that_comes_back_is_as_its_owner_wrote_it() {
    let bench = bench();
    let daemon = bench.run_in_step();
    save(&bench.page("Mine.md"), "---\ntags: [keep]\n---\n\n* one\n* two\n");
    bench.until("it is sent", || {
        bench.titled("Mine").is_some() && words(&bench.content("Mine")).contains("two")
    });
    bench.until_in_step();
    let mut blocks = bench.content("Mine");
    blocks[1]["content"][0]["text"] = json!("two, in the app");
    fs::remove_file(bench.page("Mine.md")).unwrap();
    let id = bench.id("Mine");
    assert!(bench.world().app_edit(&id, blocks));
    bench.until("its page wins", || bench.page("Mine.md").exists());
    let text = bench.text("Mine.md");
    assert!(text.contains("tags: [keep]") && text.contains("\n* one\n* two, in the app\n"), "{text}");
    bench.until_in_step();
    assert_eq!(bench.text("Mine.md"), text);
    drop(daemon);
}

#[test]
fn undo_takes_a_new_page_back_whole_and_empties_no_file() {
    let bench = bench();
    let daemon = bench.run_in_step();
    save(&bench.page("Whole.md"), "a whole day\n");
    bench.until("it is sent", || {
        bench.titled("Whole").is_some() && words(&bench.content("Whole")).contains("day")
    });
    bench.until_in_step();
    // The page and its text are one line of the log.
    let id = bench.id("Whole");
    let told = bench.tell(&["undo"]);
    assert!(told.code == 0 && told.out.contains("you added Equipo/Pages/Whole.md"), "{told:?}");
    bench.until("it is trashed", || bench.is_trashed(&id) && !bench.page("Whole.md").exists());
    let trash = std::fs::read_dir(bench.root().join(".espejo/trash")).unwrap();
    let day = trash.flatten().next().expect("a day").path();
    assert_eq!(std::fs::read_to_string(day.join("Equipo/Pages/Whole.md")).unwrap(), "a whole day\n");
    bench.rest(daemon);
}
