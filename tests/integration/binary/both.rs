//! Both sides changed: what merges merges, and what collides is kept twice and told.

use std::fs;

use espejo::model::Blocks;
use serde_json::json;

use super::agreement::is_conflict_copy;
use super::bench::{Bench, append, paragraph, save, words};
use super::down::draws;

fn bench() -> Bench {
    Bench::new(|world, space| {
        let content = || {
            vec![
                paragraph("a", "the first line"),
                paragraph("b", "the second line"),
                paragraph("c", "the third line"),
            ]
        };
        for name in ["One", "Two", "Three"] {
            world.app_create(space, None, name, content());
        }
        for n in 0..8 {
            world.app_create(space, None, &format!("Filler {n}"), content());
        }
    })
}

/// The app's editor replaces words of a page.
fn in_the_app(bench: &Bench, title: &str, from: &str, to: &str) {
    let text = json!(bench.content(title)).to_string();
    assert!(text.contains(from), "{text}");
    let content: Blocks = serde_json::from_str(&text.replace(from, to)).unwrap();
    let id = bench.id(title);
    assert!(bench.world().app_edit(&id, content));
}

fn on_disk(bench: &Bench, title: &str, from: &str, to: &str) {
    let path = bench.page(&format!("{title}.md"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    save(&path, &text.replace(from, to));
}

fn copies(bench: &Bench) -> Vec<String> {
    bench.files().into_keys().filter(|path| is_conflict_copy(path)).collect()
}

#[test]
fn edits_of_both_sides_meet_in_one_page() {
    let bench = bench();
    bench.run_in_step().stop();
    // While espejo is away: different blocks of one page, different words of one block of another, one end each.
    in_the_app(&bench, "One", "first", "FIRST");
    on_disk(&bench, "One", "third", "THIRD");
    in_the_app(&bench, "Two", "the second", "our second");
    on_disk(&bench, "Two", "second line", "second verse");
    in_the_app(&bench, "Three", "the first line", "the first line, with more");
    append(&bench.page("Three.md"), "\na fourth line\n");
    let daemon = bench.run_in_step();
    assert_eq!(words(&bench.content("One")), "the FIRST line\nthe second line\nthe THIRD line\n");
    assert_eq!(words(&bench.content("Two")), "the first line\nour second verse\nthe third line\n");
    assert_eq!(
        words(&bench.content("Three")),
        "the first line, with more\nthe second line\nthe third line\na fourth line\n"
    );
    assert_eq!(copies(&bench), Vec::<String>::new());
    // While it runs: the app's change is not known yet when the file is saved.
    in_the_app(&bench, "One", "second", "SECOND");
    append(&bench.page("One.md"), "\nlast\n");
    bench.until("both are in", || {
        words(&bench.content("One")) == "the FIRST line\nthe SECOND line\nthe THIRD line\nlast\n"
    });
    bench.until_in_step();
    assert!(bench.text("One.md").contains("SECOND"));
    bench.rest(daemon);
}

#[test]
fn the_same_words_are_kept_twice_and_told_until_the_copy_is_removed() {
    let bench = bench();
    let daemon = bench.run_in_step();
    in_the_app(&bench, "One", "second", "app's");
    on_disk(&bench, "One", "second", "user's");
    bench.until("the local version is kept beside", || copies(&bench).len() == 1);
    bench.until_in_step();
    assert_eq!(words(&bench.content("One")), "the first line\nthe app's line\nthe third line\n");
    let copy = copies(&bench).remove(0);
    assert!(copy.starts_with("Equipo/Pages/One.conflict-"), "{copy}");
    assert!(fs::read_to_string(bench.root().join(&copy)).unwrap().contains("user's"));
    let told = bench.tell(&["resolve"]);
    assert_eq!(told.code, 3, "{told:?}");
    assert!(told.out.contains(&copy) && told.out.contains("Pages/One.md"), "{told:?}");
    let status = bench.status();
    assert_eq!(status["conflicts"].as_array().unwrap().len(), 1, "{status}");
    assert_eq!(status["conflicts"][0]["path"], "Equipo/Pages/One.md", "{status}");
    // The copy is never synced, whatever is done to it.
    bench.forget_requests();
    append(&bench.root().join(&copy), "\nscribbled on\n");
    bench.look_again();
    assert_eq!(bench.writes(), Vec::<String>::new());
    fs::remove_file(bench.root().join(&copy)).unwrap();
    bench
        .until("it is settled", || bench.tell(&["resolve"]).out == "nothing collided, and nothing differs\n");
    assert_eq!(bench.tell(&["status"]).code, 0);
    bench.rest(daemon);
}

#[test]
fn one_text_that_collides_again_and_again_is_one_copy_and_resolve_says_what_it_has() {
    let bench = bench();
    let daemon = bench.run_in_step();
    for round in 0..3 {
        // The same words on this side each time, and others on that one.
        let text = bench.text("One.md");
        let line = text
            .lines()
            .find(|line| line.ends_with("line") && !line.contains("first") && !line.contains("third"));
        let mine = text.replace(line.unwrap(), "the user's line");
        let (id, theirs) = (bench.id("One"), format!("the app's {round} line"));
        let blocks =
            vec![paragraph("a", "the first line"), paragraph("b", &theirs), paragraph("c", "the third line")];
        assert!(bench.world().app_edit(&id, blocks));
        save(&bench.page("One.md"), &mine);
        bench.until("the app's words stand", || bench.text("One.md").contains(&format!("app's {round}")));
        bench.until_in_step();
        assert_eq!(copies(&bench).len(), 1, "{round}: {}", bench.seen());
    }
    let told = bench.tell(&["resolve"]);
    assert!(
        told.code == 3 && told.out.contains("first line the [-app's 2-] {+user's+} line the"),
        "{told:?}"
    );
    let told = bench.tell(&["resolve", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(all[0]["differences"][0]["copy"], "user's", "{told:?}");
    // Taken over into the page: nothing is left to take.
    let text = bench.text("One.md");
    save(&bench.page("One.md"), &text.replace("app's 2", "app's 2 user's"));
    let told = bench.tell(&["resolve"]);
    assert!(told.out.contains("the page has all that the copy has"), "{told:?}");
    drop(daemon);
}

#[test]
fn an_edit_beats_a_deletion_on_either_side() {
    let bench = bench();
    let daemon = bench.run_in_step();
    // Deleted here, edited there, before anyone has seen the other.
    let (one, two) = (bench.id("One"), bench.id("Two"));
    daemon.stop();
    in_the_app(&bench, "One", "second", "edited");
    fs::remove_file(bench.page("One.md")).unwrap();
    on_disk(&bench, "Two", "second", "unsent");
    bench.world().app_trash(&two);
    bench.forget_requests();
    let daemon = bench.run();
    bench.until("the page wins", || bench.page("One.md").exists());
    bench.until("the unsent words are kept beside", || copies(&bench).len() == 1);
    bench.until_in_step();
    assert!(!bench.is_trashed(&one));
    assert!(bench.text("One.md").contains("edited"));
    assert!(fs::read_to_string(bench.root().join(copies(&bench).remove(0))).unwrap().contains("unsent"));
    assert!(!bench.page("Two.md").exists());
    assert_eq!(bench.writes(), Vec::<String>::new());
    // It is said why the file is there again, also where nothing was asked of the service for it.
    let why = "One.md: the file was deleted and has come back: its page was changed in the app meanwhile (delete it again";
    assert!(bench.attention().contains(why), "{}", bench.attention());
    bench.rest(daemon);
}

#[test]
fn titles_of_both_sides_and_an_edit_beside_a_rename() {
    let bench = bench();
    bench.run_in_step().stop();
    let (one, two, three) = (bench.id("One"), bench.id("Two"), bench.id("Three"));
    bench.world().app_rename(&one, "One by the app");
    fs::rename(bench.page("One.md"), bench.page("One by the user.md")).unwrap();
    bench.world().app_rename(&two, "Two renamed");
    on_disk(&bench, "Two", "second", "edited");
    in_the_app(&bench, "Three", "second", "edited");
    fs::rename(bench.page("Three.md"), bench.page("Three renamed.md")).unwrap();
    let daemon = bench.run_in_step();
    let title = bench.record(&one).title;
    assert_eq!(title, "One by the app", "{}", bench.seen());
    assert_eq!(bench.record(&two).title, "Two renamed");
    assert!(words(&bench.record(&two).content).contains("edited"));
    assert_eq!(bench.record(&three).title, "Three renamed");
    assert!(bench.text("Three renamed.md").contains("edited"));
    assert!(bench.page("One by the app.md").exists() && !bench.page("One by the user.md").exists());
    bench.rest(daemon);
}

#[test]
fn an_open_editor_that_puts_old_text_back_is_noticed() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let (one, old) = (bench.id("One"), bench.content("One"));
    on_disk(&bench, "One", "second", "mine");
    bench.until("it is sent", || words(&bench.content("One")).contains("mine"));
    bench.until_in_step();
    // Exactly the old text within a minute may be an older read.
    let typed = [old, vec![paragraph("typed", "typed meanwhile")]].concat();
    bench.world().app_edit(&one, typed);
    bench.look_again();
    bench.until("it is sent once more", || words(&bench.content("One")).contains("mine"));
    bench.until_in_step();
    assert!(bench.attention().contains("overwrote your edit with old text"), "{}", bench.attention());
    bench.rest(daemon);
}

#[test]
fn what_was_typed_in_an_editor_that_never_saw_your_edit_is_merged_with_it() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let one = bench.id("One");
    for n in 0..5 {
        let (ours, theirs) = (format!("disk{n}x"), format!("app{n}x"));
        let mut open = bench.content("One");
        on_disk(&bench, "One", "second", &format!("{ours} second"));
        bench.until("it is sent", || words(&bench.content("One")).contains(&ours));
        bench.until_in_step();
        // In the block that was changed on disk, and in another.
        let typed = &mut open[n % 2]["content"][0]["text"];
        *typed = json!(format!("{} {theirs}", typed.as_str().unwrap()));
        bench.world().app_edit(&one, open);
        bench.look_again();
        bench.until("both are on both sides", || {
            let (page, file) = (words(&bench.content("One")), bench.text("One.md"));
            [&ours, &theirs].iter().all(|word| {
                page.matches(word.as_str()).count() == 1 && file.matches(word.as_str()).count() == 1
            })
        });
        bench.until_in_step();
    }
    assert!(bench.attention().contains("overwrote your edit with old text"), "{}", bench.attention());
    bench.rest(daemon);
}

#[test]
fn a_page_edited_on_both_sides_at_once_fifty_times_has_every_edit() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let one = bench.id("One");
    let file = bench.page("One.md");
    let mut draw = draws(50);
    // Somebody in the app changes the page as it is at this moment.
    let in_the_app = |change: &dyn Fn(&mut Blocks)| {
        let mut world = bench.world();
        let mut content = world.page(&one).unwrap().content.clone();
        change(&mut content);
        assert!(world.app_edit(&one, content));
    };
    let mut all = Vec::new();
    for n in 0..50 {
        let (ours, theirs) = (format!("disk{n}x"), format!("app{n}x"));
        match draw(4) {
            // The app first: another block of the page.
            0 => {
                in_the_app(&|content| {
                    let text = content[1]["content"][0]["text"].as_str().unwrap().to_owned();
                    content[1]["content"][0]["text"] = json!(format!("{text} {theirs}"));
                });
                append(&file, &format!("\n{ours}\n"));
            }
            // The disk first: both ends of one block.
            1 => {
                let text = fs::read_to_string(&file).unwrap();
                save(&file, &text.replace("first line", &format!("first line {ours}")));
                in_the_app(&|content| {
                    let text = content[0]["content"][0]["text"].as_str().unwrap().to_owned();
                    content[0]["content"][0]["text"] = json!(format!("{theirs} {text}"));
                });
            }
            // Both put a block in at one place.
            2 => {
                append(&file, &format!("\n{ours}\n"));
                in_the_app(&|content| content.push(paragraph(&theirs, &theirs)));
            }
            // The app once more while the answer to our PATCH is on its way.
            _ => {
                bench.forget_requests();
                append(&file, &format!("\n{ours}\n"));
                bench.until("it is sent", || bench.writes().iter().any(|line| line.starts_with("PATCH")));
                in_the_app(&|content| content.insert(0, paragraph(&theirs, &theirs)));
                in_the_app(&|content| content.swap(0, 1));
            }
        }
        all.extend([ours, theirs]);
        bench.ask("\"full-pass\"");
        bench.until("every edit is on both sides", || {
            let (page, file) = (words(&bench.record(&one).content), bench.text("One.md"));
            all.iter().all(|word| {
                page.matches(word.as_str()).count() == 1 && file.matches(word.as_str()).count() == 1
            })
        });
    }
    bench.until_in_step();
    assert_eq!(copies(&bench), Vec::<String>::new());
    bench.rest(daemon);
}

#[test]
fn an_edit_of_a_page_that_was_deleted_in_the_app_says_so() {
    let bench = Bench::new(|world, space| {
        for n in 0..8 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "the words")]);
        }
    });
    bench.sync();
    append(&bench.page("Page 1.md"), "\nmine\n");
    let id = bench.id("Page 1");
    bench.world().app_trash(&id);
    bench.until("it is kept beside", || {
        bench.tell(&["sync"]);
        bench.status()["conflicts"].as_array().is_some_and(|all| all.len() == 1)
    });
    let told = bench.tell(&["status"]);
    assert!(told.out.contains("it was deleted in the app while it was edited here"), "{told:?}");
    assert!(told.out.contains("rename the copy to make it new in the app"), "{told:?}");
    assert!(!told.out.contains("same words"), "{told:?}");
}
