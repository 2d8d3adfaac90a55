//! A workspace that is mirrored down only: what the app does comes, and what is done here stays here.

use std::fs;

use serde_json::{Value, json};

use super::bench::{Bench, append, paragraph, save, words};
use super::boards::{on_slide, three_boards};
use super::ignored::{run, settle_at};
use super::storage::{bytes, stored};
use super::tree::bench;

const DOWN: &str = "[[workspace]]\nslug = \"equipo\"\nmode = \"down\"\n";

/// Adds lines to the config's end.
fn configure(bench: &Bench, lines: &str) {
    append(&bench.outside("config.toml"), lines);
}

/// The codes of what is told.
fn codes(bench: &Bench) -> Vec<String> {
    let status = bench.status();
    let all = status["attention"].as_array().unwrap();
    all.iter().map(|item| item["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_done_in_a_workspace_that_goes_down_only_stays_here_and_what_comes_is_merged() {
    let bench = bench("");
    configure(&bench, DOWN);
    let daemon = bench.run_in_step();
    assert_eq!(codes(&bench), Vec::<String>::new());
    bench.forget_requests();
    append(&bench.page("Notes.md"), "\nmine\n");
    save(&bench.page("New.md"), "new\n");
    fs::rename(bench.page("Filler 19.md"), bench.page("Nineteen.md")).unwrap();
    // More than a guard lets go where deletions are sent.
    for n in 0..15 {
        fs::remove_file(bench.page(&format!("Filler {n}.md"))).unwrap();
    }
    let (notes, filler, gone) = (bench.id("Notes"), bench.id("Filler 16"), bench.id("Filler 3"));
    {
        let mut world = bench.world();
        world.app_edit(&notes, vec![paragraph("b", "theirs first"), paragraph("a", "the notes")]);
        world.app_edit(&filler, vec![paragraph("a", "news")]);
    }
    bench.look_again();
    bench.until("what the app wrote is beside what was written here", || {
        let text = bench.text("Notes.md");
        text.contains("theirs first") && text.contains("the notes") && text.contains("mine")
    });
    bench.until("what nobody touched here follows", || bench.text("Filler 16.md").contains("news"));
    bench.until("it is told as a note", || codes(&bench) == ["stays-here"]);
    // A second change of the app finds the edit where it is.
    bench.world().app_edit(&notes, vec![paragraph("b", "theirs again"), paragraph("a", "the notes")]);
    bench.look_again();
    bench.until("it comes", || bench.text("Notes.md").contains("theirs again"));
    assert!(bench.text("Notes.md").contains("mine"), "{}", bench.seen());
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 0, "{told:?}");
    // What was deleted here is away until its page changes.
    assert!(!bench.page("Filler 3.md").exists() && bench.page("New.md").exists(), "{}", bench.seen());
    bench.world().app_edit(&gone, vec![paragraph("a", "changed in the app")]);
    bench.look_again();
    bench.until("it comes back, and is told", || {
        bench.page("Filler 3.md").exists() && codes(&bench) == ["stays-here", "came-back"]
    });
    assert!(bench.page("Nineteen.md").exists() && !bench.page("Filler 4.md").exists(), "{}", bench.seen());
    assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
    let told = bench.tell(&["status"]);
    assert!(told.code == 0 && told.out.starts_with("everything is in sync"), "{told:?}");
    let diff = bench.tell(&["diff", bench.page("Notes.md").to_str().unwrap()]).out;
    assert!(diff.contains("+mine") && !diff.contains("+theirs") && !diff.contains("-theirs"), "{diff}");
    let why = bench.tell(&["status", bench.page("Notes.md").to_str().unwrap()]);
    assert!(why.out.contains("the config has mode = \"down\""), "{why:?}");
    // The next run knows what is here.
    assert_eq!(daemon.stop().code(), Some(0));
    bench.sync();
    assert!(bench.text("Notes.md").contains("mine"), "{}", bench.seen());
    assert_eq!(bench.writes(), Vec::<String>::new());
    // Both ways again, what was written here is sent, and nothing else.
    let path = bench.outside("config.toml");
    save(&path, &fs::read_to_string(&path).unwrap().replace("\"down\"", "\"two-way\""));
    bench.tell(&["sync"]);
    assert_eq!(words(&bench.content("Notes")), "theirs again\nthe notes\nmine\n", "{}", bench.seen());
    assert!(bench.titled("New").is_some() && bench.titled("Nineteen").is_some(), "{}", bench.seen());
    assert!(codes(&bench).contains(&"deletions-held".to_owned()), "{}", bench.seen());
}

#[test]
fn the_same_words_changed_on_both_sides_of_a_workspace_that_goes_down_only_are_kept_twice() {
    let bench = bench("");
    configure(&bench, DOWN);
    let daemon = bench.run_in_step();
    bench.forget_requests();
    let text = bench.text("Notes.md").replace("the notes", "my notes");
    save(&bench.page("Notes.md"), &text);
    let id = bench.id("Notes");
    bench.until("it is told as a note", || codes(&bench) == ["stays-here"]);
    bench.world().app_edit(&id, vec![paragraph("a", "their notes")]);
    bench.look_again();
    bench.until("theirs is in the file", || bench.text("Notes.md").contains("their notes"));
    let copies = bench.files();
    let copy = copies.iter().find(|(path, _)| path.contains("Notes.conflict-"));
    let copy = copy.map(|(_, seen)| String::from_utf8_lossy(&seen.bytes).into_owned());
    assert!(copy.is_some_and(|copy| copy.contains("my notes")), "{}", bench.seen());
    assert_eq!(bench.status()["conflicts"].as_array().map(Vec::len), Some(1));
    assert_eq!(bench.writes(), Vec::<String>::new());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn whiteboards_of_a_workspace_that_goes_down_only_stay_as_they_are_made_here() {
    let (bench, board) = three_boards();
    configure(&bench, DOWN);
    bench.sync();
    let daemon = run(&bench);
    bench.forget_requests();
    let path = bench.board_file("Kick-off.canvas");
    save(&path, &fs::read_to_string(&path).unwrap().replace("\"two\"", "\"mine\""));
    save(&bench.board_file("New.canvas"), &json!({ "nodes": [on_slide("n", 0, "mine too")] }).to_string());
    fs::remove_file(bench.board_file("Third.canvas")).unwrap();
    bench.until("it is told as a note", || codes(&bench) == ["stays-here"]);
    bench.world().app_put_element(&board, json!({ "type": "text", "content": "theirs" }));
    bench.ask("\"full-pass\"");
    bench.until("what the app made comes", || fs::read_to_string(&path).unwrap().contains("theirs"));
    assert!(fs::read_to_string(&path).unwrap().contains("mine"), "{}", bench.seen());
    assert_eq!(bench.tell(&["sync"]).code, 0);
    assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
    assert_eq!(codes(&bench), ["stays-here"]);
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn a_workspace_that_the_config_names_and_nobody_lists_is_told() {
    let bench = bench("");
    configure(&bench, "[[workspace]]\nslug = \"equipu\"\nmode = \"down\"\n");
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}");
    assert_eq!(codes(&bench), ["unknown-workspace"]);
    assert!(
        bench.attention().contains("\"equipu\", which the service does not list"),
        "{}",
        bench.attention()
    );
    // The others are mirrored both ways.
    settle_at(&bench, "Sent");
}

#[test]
fn stored_files_above_the_bound_are_listed_and_fetched_when_it_is_raised() {
    let bench = Bench::with("[storage]\nmode = \"backup\"\nmax_download_mb = 1", |world, _| {
        let docs = world.app_make_folder(None, "Docs");
        world.app_put_file(Some(&docs), "small.txt", bytes("small"));
        let large = espejo::emulator::Contents::Bytes(vec![b'x'; 1_500_000]);
        world.app_put_file(Some(&docs), "large.bin", large);
    });
    let told = bench.sync();
    assert!(told.out.contains("1 stored file"), "{told:?}");
    assert!(stored(&bench, "Docs/small.txt").exists() && !stored(&bench, "Docs/large.bin").exists());
    assert_eq!(codes(&bench), ["not-fetched"]);
    let rows = bench.list();
    let row = rows.iter().find(|row| row["title"] == "large.bin").unwrap();
    assert_eq!((&row["state"], &row["size_bytes"]), (&Value::from("too large"), &Value::from(1_500_000)));
    let told = bench.tell(&["status"]);
    assert!(told.code == 0 && told.out.contains("everything was in sync when espejo stopped"), "{told:?}");
    let why = bench.tell(&["status", stored(&bench, "Docs/large.bin").to_str().unwrap()]);
    assert!(why.out.contains("more than max_download_mb = 1"), "{why:?}");
    let path = bench.outside("config.toml");
    save(&path, &fs::read_to_string(&path).unwrap().replace("max_download_mb = 1", "max_download_mb = 2"));
    bench.sync();
    assert_eq!(fs::read(stored(&bench, "Docs/large.bin")).unwrap().len(), 1_500_000);
    assert_eq!(codes(&bench), Vec::<String>::new());
}
