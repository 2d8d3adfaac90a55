//! Writes whose answer is lost: looked for, confirmed, and never made twice.

use std::fs;

use espejo::emulator::{Fault, Matcher};

use super::bench::{append, save, side_by_side, words};
use super::tree::bench;

#[test]
fn a_page_whose_post_is_lost_is_made_once() {
    side_by_side([Fault::LostAfter, Fault::StatusAfter(502), Fault::PageWith200, Fault::Short], |fault| {
        let bench = bench("");
        let daemon = bench.run_in_step();
        bench.forget_requests();
        bench.world().fail_next(Matcher::Method("POST".to_owned()), fault.clone());
        save(&bench.page("Once.md"), "made once\n");
        bench.until("it has its words", || {
            bench.titled("Once").is_some() && words(&bench.content("Once")) == "made once\n"
        });
        bench.until_in_step();
        assert_eq!(bench.count("Once"), 1, "{fault:?}\n{}", bench.seen());
        assert_eq!(bench.writes().iter().filter(|line| line.starts_with("POST")).count(), 1, "{fault:?}");
        bench.rest(daemon);
    });
}

#[test]
fn files_without_an_id_that_are_renamed_in_a_row_while_one_is_being_made_keep_their_pages() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    let other = bench.id("Filler 6");
    // Nothing but the file object tells whose it is.
    save(&bench.page("Filler 6.md"), "filler\n");
    bench.until_in_step();
    bench.forget_requests();
    bench.world().fail_next(Matcher::Method("POST".to_owned()), Fault::LostAfter);
    save(&bench.page("New.md"), "new words\n");
    bench.until("its page is made", || bench.titled("New").is_some());
    let made = bench.id("New");
    // A new note of an editor, which may be filled in a moment: until then nothing is told.
    save(&bench.page("Empty.md"), "");
    fs::rename(bench.page("New.md"), bench.page("Later.md")).unwrap();
    fs::rename(bench.page("Filler 6.md"), bench.page("New.md")).unwrap();
    bench.until("each page has the name of its file", || {
        bench.titled("Later") == Some(made.clone()) && bench.titled("New") == Some(other.clone())
    });
    bench.until("its words are there", || words(&bench.content("Later")) == "new words\n");
    bench.until_in_step();
    assert_eq!(words(&bench.content("New")), "filler\n");
    let count = |method| bench.writes().iter().filter(|line| line.starts_with(method)).count();
    assert_eq!((count("POST"), count("DELETE")), (2, 0), "{:?}", bench.writes());
    bench.rest(daemon);
}

#[test]
fn a_write_whose_answer_is_lost_is_not_repeated_in_vain() {
    side_by_side([Fault::LostAfter, Fault::StatusAfter(500), Fault::PageWith200, Fault::Cut], |fault| {
        let bench = bench("");
        let daemon = bench.run_in_step();
        let id = bench.id("Filler 6");
        bench.forget_requests();
        bench.world().fail_next(Matcher::Method("PATCH".to_owned()), fault.clone());
        append(&bench.page("Filler 6.md"), "\nsent once\n");
        bench.until("it is confirmed", || {
            let world = bench.world();
            let mut after = world.log().entries().skip_while(|entry| entry.method != "PATCH");
            after.any(|entry| entry.method == "GET" && entry.path.ends_with(&id.to_string()))
        });
        bench.until_in_step();
        assert_eq!(words(&bench.content("Filler 6")), "filler\nsent once\n", "{fault:?}");
        assert_eq!(bench.writes().len(), 1, "{fault:?}: {:?}", bench.writes());
        bench.forget_requests();
        let id = bench.id("Notes");
        bench.world().fail_next(Matcher::Method("DELETE".to_owned()), fault.clone());
        fs::remove_file(bench.page("Notes.md")).unwrap();
        bench.until("it is trashed", || bench.is_trashed(&id));
        bench.until_in_step();
        assert!(!bench.page("Notes.md").exists(), "{fault:?}");
        bench.rest(daemon);
    });
}
