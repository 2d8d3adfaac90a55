//! Saves that did not see what was written last, and text that comes back.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use serde_json::{Value, json};

use super::bench::{Bench, block, paragraph, save, words};

const OURS: &str = "una línea propia de este ordenador";
const THEIRS: &str = "la frase nueva de una colega";

fn bench() -> Bench {
    Bench::new(|world, space| {
        world.app_create(
            space,
            None,
            "One",
            vec![paragraph("a", "first words"), paragraph("b", "second words")],
        );
    })
}

/// The app adds a line, and the file gets it. Nothing opens the file.
fn theirs_comes(bench: &Bench, line: &str) {
    let before = fs::metadata(bench.page("One.md")).unwrap().ino();
    let mut page = bench.content("One");
    page.push(paragraph(&format!("c {line}"), line));
    let one = bench.id("One");
    bench.world().app_edit(&one, page);
    bench.look_again();
    bench.until("the line is in the file", || is_rewritten(bench, before));
}

/// Whether espejo has replaced the file, told without opening it.
fn is_rewritten(bench: &Bench, before: u64) -> bool {
    fs::metadata(bench.page("One.md")).is_ok_and(|file| file.ino() != before)
}

fn has(bench: &Bench, word: &str) -> bool {
    words(&bench.content("One")).contains(word)
}

#[test]
fn a_save_of_a_program_that_never_read_again_takes_no_words_away() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let old = bench.text("One.md");
    theirs_comes(&bench, THEIRS);
    let stale = |n: usize| format!("{}\n{OURS} {n}\n", old.trim_end());
    for n in 1..3 {
        let before = fs::metadata(bench.page("One.md")).unwrap().ino();
        save(&bench.page("One.md"), &stale(n));
        bench.until("both are at the service", || has(&bench, &format!("{OURS} {n}")) && has(&bench, THEIRS));
        bench.until("and in the file", || is_rewritten(&bench, before));
        assert!(
            bench.attention().contains("“la frase nueva de una colega” from the app stay"),
            "{}",
            bench.attention()
        );
    }
    // The third time the file is left as its program wants it.
    save(&bench.page("One.md"), &stale(3));
    bench.until("both are at the service", || has(&bench, &format!("{OURS} 3")) && has(&bench, THEIRS));
    bench.until("it is told", || bench.attention().contains("reload the file in that program"));
    bench.look_again();
    assert_eq!(fs::metadata(bench.page("One.md")).unwrap().len(), stale(3).len() as u64);
    // Its program reads it.
    bench.until("the file has both", || bench.text("One.md").contains(THEIRS));
    bench
        .until("nothing is told any more", || !bench.attention().contains("reload the file in that program"));
    assert_eq!(words(&bench.content("One")).matches(THEIRS).count(), 1);
    daemon.stop();
}

#[test]
fn an_editor_with_the_text_that_was_put_aside_takes_no_words_away() {
    let bench = bench();
    let daemon = bench.run_in_step();
    daemon.stop();
    // The state is lost, and both sides go on.
    fs::remove_dir_all(bench.state()).unwrap();
    let mine = format!("{}\n\n{OURS}\n", bench.text("One.md").trim_end());
    save(&bench.page("One.md"), &mine);
    let mut page = bench.content("One");
    page.push(paragraph("c", THEIRS));
    let one = bench.id("One");
    bench.world().app_edit(&one, page);
    let daemon = bench.run_in_step();
    // There is no base: the text is put aside, and the page's file is where it was.
    assert_eq!(bench.status()["conflicts"].as_array().map(Vec::len), Some(1), "{}", bench.status());
    assert!(fs::exists(bench.page("One.md")).unwrap());
    // The editor that had the file open does not read it again.
    save(&bench.page("One.md"), &format!("{}\n\nnoch eine Zeile\n", mine.trim_end()));
    bench.until("the new line is at the service", || has(&bench, "noch eine Zeile"));
    bench.until_in_step();
    assert!(has(&bench, THEIRS), "{}", bench.seen());
    assert!(bench.text("One.md").contains(THEIRS));
    daemon.stop();
}

#[test]
fn words_that_were_read_and_removed_again_are_removed() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let old = bench.text("One.md");
    theirs_comes(&bench, THEIRS);
    let before = fs::metadata(bench.page("One.md")).unwrap().ino();
    save(&bench.page("One.md"), &old);
    bench.until("they are put back once", || is_rewritten(&bench, before));
    assert!(bench.text("One.md").contains(THEIRS));
    // The save itself may open the file: only what was opened a second before it counts.
    std::thread::sleep(Duration::from_millis(1_200));
    save(&bench.page("One.md"), &old);
    bench.until("they are removed", || !has(&bench, THEIRS));
    bench.until_in_step();
    assert_eq!(bench.text("One.md"), old);
    daemon.stop();
}

#[test]
fn a_line_that_reads_like_one_from_the_app_is_a_line_of_its_own() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let old = bench.text("One.md");
    theirs_comes(&bench, "Line from the app");
    // A program that indexes files opens it long before the save: somebody may have read the line.
    assert!(bench.text("One.md").contains("Line from the app"));
    std::thread::sleep(Duration::from_millis(1_200));
    save(&bench.page("One.md"), &format!("{}\n\nLine from the agent\n", old.trim_end()));
    bench.until("both are at the service", || {
        has(&bench, "Line from the agent") && has(&bench, "Line from the app")
    });
    bench.until_in_step();
    daemon.stop();
}

#[test]
fn an_editor_in_the_app_that_writes_old_text_twice_leaves_a_conflict_copy() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let one = bench.id("One");
    let mut open = bench.content("One");
    save(&bench.page("One.md"), &format!("{}\n{OURS}\n", bench.text("One.md").trim_end()));
    bench.until("it is sent", || has(&bench, OURS));
    bench.until_in_step();
    for typed in ["typed", "typed more"] {
        open[1]["content"][0]["text"] = json!(format!("second words {typed}"));
        bench.world().app_edit(&one, open.clone());
        bench.look_again();
        if typed == "typed" {
            bench.until("it is merged once", || has(&bench, OURS) && has(&bench, typed));
            bench.until_in_step();
        }
    }
    bench.until("it is kept beside the page", || {
        let copies = bench.files().into_keys().filter(|path| path.contains(".conflict-"));
        let mut texts = copies.map(|path| fs::read_to_string(bench.root().join(path)).unwrap());
        texts.any(|text| text.contains(OURS))
    });
    bench.until("the file has what the app has", || {
        let text = bench.text("One.md");
        text.contains("typed more") && !text.contains(OURS)
    });
    // Other edits go on.
    save(&bench.page("One.md"), &format!("{}\notra cosa\n", bench.text("One.md").trim_end()));
    bench.until("it is sent", || has(&bench, "otra cosa") && has(&bench, "typed more"));
    assert!(!has(&bench, OURS));
    daemon.stop();
}

fn rich() -> Vec<Value> {
    let red = json!({ "textColor": "red" });
    vec![
        paragraph("a", "the first words of this page"),
        block("r", "paragraph", "three red words here", &red),
        block("h", "heading", "A short heading", &json!({ "level": 2, "textColor": "blue" })),
        paragraph("z", "the last words of this page"),
    ]
}

#[test]
fn what_is_cut_in_one_save_and_pasted_in_the_next_is_itself_again() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "One", rich());
    });
    let daemon = bench.run_in_step();
    let text = bench.text("One.md");
    let (front, body) = text.rsplit_once("---\n").unwrap();
    let parts: Vec<&str> = body.trim().split("\n\n").collect();
    let page = |order: &[usize]| {
        let blocks: Vec<&str> = order.iter().map(|at| parts[*at]).collect();
        format!("{front}---\n{}\n", blocks.join("\n\n"))
    };
    save(&bench.page("One.md"), &page(&[0, 3]));
    bench.until("the cut is sent", || bench.content("One").len() == 2);
    bench.until_in_step();
    save(&bench.page("One.md"), &page(&[0, 3, 1, 2]));
    bench.until("the paste is sent", || bench.content("One").len() == 4);
    bench.until_in_step();
    let all = rich();
    let moved: Vec<Value> = [0, 3, 1, 2].map(|at| all[at].clone()).to_vec();
    assert_eq!(bench.content("One"), moved);
    // Undone: the very text of before.
    save(&bench.page("One.md"), &text);
    bench.until("it is as it was", || bench.content("One") == all);
    // Another text in between, and the whole text again.
    save(&bench.page("One.md"), "something else altogether, for a moment\n");
    bench.until("it is sent", || bench.content("One").len() == 1);
    bench.until_in_step();
    save(&bench.page("One.md"), &text);
    bench.until("it is as it was", || bench.content("One") == all);
    daemon.stop();
}

/// The app renames the page, and its file follows. Nothing opens the file.
fn renamed(bench: &Bench, old: &str, new: &str) {
    let id = bench.id(old);
    bench.world().app_rename(&id, new);
    bench.look_again();
    let there = bench.page(&format!("{new}.md"));
    bench.until("the file is renamed", || fs::exists(&there).unwrap());
}

#[test]
fn a_save_at_the_old_path_of_a_renamed_page_is_an_edit_of_it() {
    let bench = bench();
    let mut daemon = bench.run_in_step();
    let old = bench.text("One.md");
    renamed(&bench, "One", "Two");
    // A colleague goes on, and espejo is restarted: the editor saw neither.
    let mut page = bench.content("Two");
    page.push(paragraph("c", THEIRS));
    let two = bench.id("Two");
    bench.world().app_edit(&two, page);
    bench.look_again();
    bench.until("the line is in the file", || bench.text("Two.md").contains(THEIRS));
    daemon.stop();
    daemon = bench.run_in_step();
    for n in 1..3 {
        // The editor saves at the path that it knows.
        save(&bench.page("One.md"), &format!("{}\n{OURS} {n}\n", old.trim_end()));
        let is_there = |word: &str| words(&bench.content("Two")).contains(word);
        bench.until("both are at the service", || is_there(&format!("{OURS} {n}")) && is_there(THEIRS));
        bench.until_in_step();
        assert!(!fs::exists(bench.page("One.md")).unwrap(), "{}", bench.seen());
        let text = bench.text("Two.md");
        assert!(text.contains(THEIRS) && text.contains(&format!("{OURS} {n}")), "{text}");
        bench.until("it is told", || bench.attention().contains("Two.md since the app changed it"));
    }
    assert_eq!((bench.pages(), bench.count("Two")), (1, 1), "{}", bench.seen());
    daemon.stop();
}

#[test]
fn a_save_at_an_old_path_takes_no_title_back() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Why: 1", vec![paragraph("a", "first words")]);
    });
    let daemon = bench.run_in_step();
    let old = fs::read_dir(bench.page("")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&old).unwrap();
    assert!(text.contains("title: "), "{text}");
    let id = bench.id("Why: 1");
    bench.world().app_rename(&id, "Why: 2");
    bench.look_again();
    bench.until("the file is renamed", || !fs::exists(&old).unwrap());
    save(&old, &format!("{}\n\n{OURS}\n", text.trim_end()));
    bench.until("the line is at the service", || words(&bench.content("Why: 2")).contains(OURS));
    bench.until_in_step();
    assert_eq!(bench.pages(), 1, "{}", bench.seen());
    assert!(!fs::exists(&old).unwrap());
    daemon.stop();
}

#[test]
fn a_copy_at_the_old_path_of_a_renamed_page_is_a_page() {
    let bench = bench();
    let daemon = bench.run_in_step();
    renamed(&bench, "One", "One 1");
    // The next one is made of the last one.
    fs::copy(bench.page("One 1.md"), bench.page("One.md")).unwrap();
    bench.until("it is a page", || bench.count("One") == 1 && bench.count("One 1") == 1);
    bench.until_in_step();
    save(&bench.page("One.md"), &bench.text("One.md").replace("first", "other"));
    bench.until("its edit is its own", || words(&bench.content("One")).contains("other words"));
    assert!(!words(&bench.content("One 1")).contains("other words"));
    assert!(fs::exists(bench.page("One 1.md")).unwrap());
    daemon.stop();
}
