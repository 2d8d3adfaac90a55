//! What the user keeps out of the mirror: neither side hears of it, and nothing is deleted for it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::bench::{Bench, Daemon, append, paragraph, save, words};
use super::boards::{on_slide, talk_of, three_boards};
use super::storage::{bytes, stored};
use super::storage_send::{BOTH, there, write};
use super::tree::bench;

fn rules(bench: &Bench) -> PathBuf {
    bench.root().join(".espejoignore")
}

/// Puts patterns into the config's `ignore`.
fn configure(bench: &Bench, patterns: &[&str]) {
    let path = bench.outside("config.toml");
    let text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("ignore = "));
    let rest: Vec<&str> = lines.collect();
    save(&path, &format!("ignore = {patterns:?}\n{}\n", rest.join("\n")));
}

/// Something that is not ignored goes to the service, after all that was done before.
#[track_caller]
fn settle(bench: &Bench, name: &str) {
    fs::create_dir_all(bench.page("")).unwrap();
    save(&bench.page(&format!("{name}.md")), "sent\n");
    bench.until("what is not ignored is sent", || {
        bench.titled(name).is_some_and(|id| words(&bench.record(&id).content) == "sent\n")
    });
}

/// The same with a process that ends.
#[track_caller]
pub(super) fn settle_at(bench: &Bench, name: &str) {
    save(&bench.page(&format!("{name}.md")), "sent\n");
    bench.tell(&["sync"]);
    assert!(bench.titled(name).is_some(), "{}", bench.seen());
}

/// Starts the daemon and waits until nothing is left to do.
#[track_caller]
pub(super) fn run(bench: &Bench) -> Daemon {
    let daemon = bench.run();
    bench.until("it is in step", || {
        bench.status()["state"] == "running"
            && bench.tell(&["status"]).out.starts_with("everything is in sync")
    });
    daemon
}

#[test]
fn what_is_ignored_is_not_sent_and_not_written() {
    let bench = bench("");
    configure(&bench, &["*.private.md", "Child.md"]);
    {
        let mut world = bench.world();
        let drafts = world.app_create(&bench.space, None, "Drafts", vec![paragraph("a", "drafts")]);
        world.app_create(&bench.space, Some(&drafts), "One", vec![paragraph("a", "one")]);
        world.app_create(&bench.space, None, "Mine.private", vec![paragraph("a", "mine")]);
    }
    fs::create_dir(bench.root()).unwrap();
    save(&rules(&bench), "# what stays here\nDrafts/\n");
    let told = bench.sync();
    assert!(!bench.page("Mine.private.md").exists() && !bench.page("Drafts").exists(), "{}", bench.seen());
    assert!(!bench.page("Plan/Child.md").exists(), "{}", bench.seen());
    // Only the page itself is named by the pattern.
    assert!(bench.page("Drafts.md").exists() && bench.page("Plan/Child/Grandchild.md").exists());
    assert!(told.out.contains("25 pages in sync"), "{told:?}");
    let ignored = bench.list().iter().filter(|row| row["state"] == "ignored").count();
    assert_eq!(ignored, 3, "{}", bench.seen());
    assert!(!bench.requests().contains(&format!("GET /pages/{}", bench.id("One"))), "{}", bench.seen());
    let daemon = run(&bench);
    let before = bench.pages();
    fs::create_dir(bench.page("Drafts")).unwrap();
    save(&bench.page("Drafts/Two.md"), "two\n");
    save(&bench.page("Notes.private.md"), "notes\n");
    settle(&bench, "Open");
    assert_eq!(bench.pages(), before + 1, "{}", bench.seen());
    assert_eq!(bench.status()["attention"], json!([]));
    // Without the rules it is like any other file.
    fs::remove_file(rules(&bench)).unwrap();
    bench.until("it is sent", || bench.titled("Two").is_some() && bench.page("Drafts/One.md").exists());
    assert_eq!((bench.count("Drafts"), bench.titled("Notes.private")), (1, None), "{}", bench.seen());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn a_pattern_over_many_mirrored_pages_deletes_nothing_and_its_end_brings_everything_back() {
    let bench = Bench::new(|world, space| {
        let old = world.app_create(space, None, "Old", vec![paragraph("a", "old")]);
        for n in 0..40 {
            world.app_create(space, Some(&old), &format!("Page {n}"), vec![paragraph("a", "text")]);
        }
        world.app_create(space, None, "Notes", vec![paragraph("a", "notes")]);
    });
    let daemon = bench.run_in_step();
    bench.forget_requests();
    let before = bench.files();
    save(&rules(&bench), "Old/\n");
    settle(&bench, "First");
    let files = bench.files();
    assert!(before.iter().all(|(path, seen)| files.get(path) == Some(seen)), "{}", bench.seen());
    // An edit, a deletion and a new name stay here; what is done in the app stays there.
    append(&bench.page("Old/Page 1.md"), "\nmine\n");
    for n in 2..30 {
        fs::remove_file(bench.page(&format!("Old/Page {n}.md"))).unwrap();
    }
    fs::rename(bench.page("Old/Page 30.md"), bench.page("Old/Page thirty.md")).unwrap();
    let (edited, trashed) = (bench.id("Page 31"), bench.id("Page 32"));
    bench.world().app_edit(&edited, vec![paragraph("a", "theirs")]);
    bench.world().app_trash(&trashed);
    let open = bench.id("Notes");
    bench.world().app_edit(&open, vec![paragraph("a", "changed")]);
    bench.until("what is not ignored comes", || bench.text("Notes.md").contains("changed"));
    settle(&bench, "Second");
    bench.tell(&["sync"]);
    let (writes, of_others) = (bench.writes(), |line: &String| line.contains("DELETE"));
    assert!(!writes.iter().any(of_others) && writes.len() == 4, "{writes:?}");
    assert!(bench.text("Old/Page 31.md").contains("text") && bench.page("Old/Page 32.md").exists());
    let told = bench.tell(&["status", "--json"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(bench.tell(&["diff"]).out, "");
    // While it does not run, too.
    assert_eq!(daemon.stop().code(), Some(0));
    fs::remove_file(bench.page("Old/Page 33.md")).unwrap();
    fs::remove_file(rules(&bench)).unwrap();
    let daemon = bench.run();
    bench.until("what went comes back", || {
        (2..30).chain([33]).all(|n| bench.page(&format!("Old/Page {n}.md")).exists())
    });
    bench.until("what was written is sent", || words(&bench.content("Page 1")) == "text\nmine\n");
    bench.until("what was renamed is renamed", || bench.titled("Page thirty").is_some());
    bench.until("what was written there comes", || bench.text("Old/Page 31.md").contains("theirs"));
    bench.until("what was trashed there goes", || !bench.page("Old/Page 32.md").exists());
    let trashed = bench.world().pages().filter(|page| page.trashed.is_some()).count();
    assert_eq!((trashed, bench.pages()), (1, 44), "{}", bench.seen());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn a_pattern_that_leaves_the_config_while_nothing_runs_deletes_nothing() {
    let bench = bench("");
    bench.sync();
    configure(&bench, &["/Equipo/Pages/Notes.md"]);
    append(&bench.page("Notes.md"), "\nstays\n");
    bench.sync();
    fs::remove_file(bench.page("Notes.md")).unwrap();
    bench.sync();
    configure(&bench, &[]);
    bench.sync();
    assert!(bench.text("Notes.md").contains("the notes"), "{}", bench.seen());
    assert_eq!(bench.writes(), Vec::<String>::new());
}

#[test]
fn a_file_of_patterns_that_is_gone_for_a_moment_sends_nothing() {
    let bench = bench("delete_grace_seconds = 3");
    let daemon = bench.run_in_step();
    save(&rules(&bench), "Secret.md\n");
    settle(&bench, "First");
    save(&bench.page("Secret.md"), "secret\n");
    // As an editor saves: emptied, or renamed away, and then written.
    save(&rules(&bench), "");
    settle(&bench, "Second");
    fs::rename(rules(&bench), bench.root().join(".espejoignore~")).unwrap();
    settle(&bench, "Third");
    save(&rules(&bench), "Secret.md\nOther.md\n");
    settle(&bench, "Fourth");
    bench.sync();
    assert_eq!(bench.titled("Secret"), None, "{}", bench.seen());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn a_line_that_is_no_pattern_is_told_and_the_rules_from_before_stay() {
    let bench = bench("");
    fs::create_dir(bench.root()).unwrap();
    save(&rules(&bench), "Secret.md\n[z-a].md\n");
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}");
    let attention = bench.attention();
    assert!(attention.contains(".espejoignore: line 2 is not a pattern"), "{attention}");
    assert_eq!(bench.status()["attention"][0]["code"], "bad-pattern");
    let daemon = bench.run_in_step();
    save(&bench.page("Secret.md"), "secret\n");
    settle(&bench, "First");
    // Another line is wrong now, and the first is gone.
    save(&rules(&bench), "Other.md\nb[\n");
    bench.until("it is told", || bench.attention().contains("line 2 is not a pattern: unclosed"));
    save(&bench.page("Other.md"), "other\n");
    settle(&bench, "Second");
    assert_eq!((bench.titled("Secret"), bench.titled("Other")), (None, None), "{}", bench.seen());
    fs::remove_file(rules(&bench)).unwrap();
    fs::create_dir(rules(&bench)).unwrap();
    bench.until("it is told", || bench.attention().contains("not an ordinary file"));
    settle(&bench, "Third");
    assert_eq!((bench.titled("Secret"), bench.titled("Other")), (None, None), "{}", bench.seen());
    fs::remove_dir(rules(&bench)).unwrap();
    save(&rules(&bench), "Other.md\n");
    bench.until("nothing is wrong", || bench.attention().is_empty());
    bench.until("what is not ignored is sent", || bench.titled("Secret").is_some());
    assert_eq!(bench.titled("Other"), None);
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn ignored_canvases_are_left_alone_on_both_sides() {
    let (bench, board) = three_boards();
    let deck = {
        let mut world = bench.world();
        let deck = world.app_create_deck("Pitch", 960.0, 540.0);
        world.app_create_deck("Hidden", 960.0, 540.0);
        let other = world.app_create_deck("Talk", 960.0, 540.0);
        world.app_insert_slide(&other, 0);
        world.app_insert_slide(&deck, 0).map(|_| deck).unwrap()
    };
    fs::create_dir(bench.root()).unwrap();
    save(&rules(&bench), "Third.canvas\nHidden.canvas\n*.svg\n");
    bench.sync();
    assert!(bench.board_file("Kick-off.canvas").exists() && !bench.board_file("Kick-off.svg").exists());
    assert!(!bench.board_file("Third.canvas").exists() && !bench.deck_file("Hidden.canvas").exists());
    let daemon = run(&bench);
    save(
        &rules(&bench),
        "Third.canvas\nHidden.canvas\nKick-off.canvas\nPitch.canvas\nNew.canvas\nFresh.canvas\n*.svg\n",
    );
    bench.until("it is read", || {
        bench
            .tell(&["status", bench.deck_file("Pitch.canvas").to_str().unwrap()])
            .out
            .contains("ignored by the pattern")
    });
    settle(&bench, "First");
    bench.forget_requests();
    fs::remove_file(bench.board_file("Kick-off.canvas")).unwrap();
    fs::remove_file(bench.deck_file("Pitch.canvas")).unwrap();
    save(&bench.board_file("New.canvas"), &json!({ "nodes": [on_slide("n", 0, "mine")] }).to_string());
    save(&bench.deck_file("Fresh.canvas"), &talk_of(&["mine"]));
    bench.world().app_put_element(&board, json!({ "type": "text", "content": "theirs" }));
    settle(&bench, "Second");
    bench.sync();
    let writes: Vec<String> = bench.writes().into_iter().filter(|line| !line.contains("/pages")).collect();
    assert_eq!(writes, Vec::<String>::new(), "{}", bench.seen());
    assert!(!bench.board_file("Kick-off.canvas").exists(), "{}", bench.seen());
    fs::remove_file(rules(&bench)).unwrap();
    bench.until("all of it comes", || {
        fs::read_to_string(bench.board_file("Kick-off.canvas")).is_ok_and(|text| text.contains("theirs"))
            && bench.deck_file("Pitch.canvas").exists()
            && bench.deck_file("Hidden.canvas").exists()
            && bench.board_file("Third.canvas").exists()
            && bench.board_file("Kick-off.svg").exists()
    });
    bench.until("what is new is sent", || {
        let world = bench.world();
        world.whiteboards().any(|board| board.name == "New" && !board.elements.is_empty())
            && world.presentations().any(|deck| deck.name == "Fresh")
    });
    assert!(!bench.writes().iter().any(|line| line.starts_with("DELETE")), "{}", bench.seen());
    assert!(bench.world().presentation(&deck).is_some_and(|deck| !deck.trashed), "{}", bench.seen());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn ignored_stored_files_are_left_alone_on_both_sides() {
    let bench = Bench::with(BOTH, |world, _| {
        let docs = world.app_make_folder(None, "Docs");
        let raw = world.app_make_folder(None, "Raw");
        let inner = world.app_make_folder(Some(&raw), "Inner");
        for name in ["a.txt", "b.txt", "c.psd"] {
            world.app_put_file(Some(&docs), name, bytes(name));
        }
        world.app_put_file(Some(&raw), "raw.txt", bytes("raw"));
        world.app_put_file(Some(&inner), "inner.txt", bytes("inner"));
        for n in 0..20 {
            world.app_put_file(None, &format!("{n}.pdf"), bytes("pdf"));
        }
    });
    configure(&bench, &["*.psd", "Raw/"]);
    bench.sync();
    assert!(stored(&bench, "Docs/a.txt").exists() && !stored(&bench, "Docs/c.psd").exists());
    assert!(!stored(&bench, "Raw").exists(), "{}", bench.seen());
    assert!(!bench.requests().iter().any(|line| line.contains("raw")), "{}", bench.seen());
    configure(&bench, &["*.psd", "Raw/", "Docs/", "*.pdf"]);
    bench.forget_requests();
    let before = bench.files();
    bench.sync();
    assert_eq!(bench.files(), before);
    write(&bench, "Docs/a.txt", b"mine");
    write(&bench, "Docs/new.txt", b"new");
    write(&bench, "x.psd", b"x");
    for n in 0..20 {
        fs::remove_file(stored(&bench, &format!("{n}.pdf"))).unwrap();
    }
    let b = bench.world().storage_files().find(|file| file.filename == "b.txt").map(|file| file.id.clone());
    bench.world().app_replace_file(&b.unwrap(), bytes("theirs"));
    bench.sync();
    bench.tell(&["sync", "--deep"]);
    assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
    assert_eq!(super::storage::text(&bench, "Docs/b.txt"), "b.txt");
    assert!(!stored(&bench, "0.pdf").exists());
    assert_eq!(bench.status()["attention"], json!([]), "{}", bench.seen());
    configure(&bench, &[]);
    bench.sync();
    assert!((0..20).all(|n| stored(&bench, &format!("{n}.pdf")).exists()), "{}", bench.seen());
    assert_eq!(super::storage::text(&bench, "Docs/b.txt"), "theirs");
    assert_eq!(super::storage::text(&bench, "Raw/Inner/inner.txt"), "inner");
    let there = there(&bench);
    for line in ["a.txt: mine", "new.txt: new", "x.psd: x", "0.pdf: pdf"] {
        assert!(there.iter().any(|it| it == line), "{line} {there:?}\n{}", bench.seen());
    }
}

#[test]
fn status_names_the_pattern_and_its_line() {
    let bench = bench("");
    configure(&bench, &["*.psd"]);
    bench.sync();
    save(&rules(&bench), "# mine\n\nPlan/\n");
    let why = |path: PathBuf| bench.tell(&["status", path.to_str().unwrap()]);
    let told = why(bench.page("Plan/Child.md"));
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.contains("ignored by the pattern \"Plan/\" in .espejoignore, line 3"), "{told:?}");
    assert_eq!(told.out.lines().count(), 1, "{told:?}");
    let told = why(bench.root().join("Storage/x.psd"));
    assert!(told.out.contains("the pattern \"*.psd\" in the config's ignore"), "{told:?}");
    let told = bench.tell(&["status", bench.page("Plan/Child.md").to_str().unwrap(), "--json"]);
    let value: Value = serde_json::from_str(&told.out).unwrap();
    let value = &value[0];
    assert_eq!((&value["reason"], &value["kind"]), (&json!("ignored"), &json!("page")), "{value}");
    assert!(!why(bench.page("Plan.md")).out.contains("ignored"));
}
