//! What lasts: refusals and failures of one kind of request, workspaces that are away, approvals.

use std::fs;
use std::time::Duration;

use espejo::emulator::{Fault, Matcher};

use super::bench::{Bench, DEADLINE, append, paragraph, save, side_by_side, within, words};
use super::storage::{self, stored};

fn bench() -> Bench {
    Bench::new(|world, space| {
        for n in 0..8 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
        }
        let other = world.add_workspace("Otra", "otra");
        for name in ["Elsewhere", "There"] {
            world.app_create(&other, None, name, vec![paragraph("a", "words")]);
        }
    })
}

fn status(status: u16) -> Fault {
    Fault::Status { status, retry_after: None }
}

fn asked(bench: &Bench, method: &str) -> usize {
    bench.writes().iter().filter(|line| line.starts_with(method)).count()
}

#[test]
fn a_write_that_fails_each_time_is_spaced_and_told_and_sent_in_the_end() {
    side_by_side([500, 504], |code| {
        let bench = bench();
        let daemon = bench.run_in_step();
        bench.forget_requests();
        bench.world().fail_randomly(Matcher::Method("PATCH".to_owned()), status(code), 1000);
        append(&bench.page("Page 1.md"), "\nmine\n");
        bench.until("it is told", || bench.attention().contains("Page 1.md: the service fails each time"));
        // Looks succeed in between, and shorten nothing.
        assert_eq!(asked(&bench, "PATCH"), 3, "{code}: {:?}", bench.writes());
        bench.world().calm();
        bench.until("it is sent", || words(&bench.content("Page 1")).contains("mine"));
        bench.until("nothing needs the user", || bench.attention().is_empty());
        bench.rest(daemon);
    });
}

#[test]
fn a_creation_or_deletion_that_fails_each_time_is_spaced_and_told_whatever_its_kind() {
    side_by_side(["page", "stored file", "deletion"], |kind| {
        let mode = if kind == "stored file" { "[storage]\nmode = \"two-way\"" } else { "" };
        let bench = Bench::with(mode, |world, space| {
            world.app_create(space, None, "Page 1", vec![paragraph("a", "words")]);
            world.app_put_file(None, "a.txt", storage::bytes("words"));
        });
        bench.sync();
        let daemon = bench.run();
        let page = bench.id("Page 1");
        bench.forget_requests();
        let (method, name) = match kind {
            "page" => ("POST", "New.md"),
            "stored file" => ("POST", "new.txt"),
            _ => ("DELETE", "Page 1.md"),
        };
        bench.world().fail_randomly(Matcher::Method(method.to_owned()), status(503), 1000);
        match kind {
            "page" => save(&bench.page(name), "mine\n"),
            "stored file" => save(&stored(&bench, name), "mine\n"),
            _ => fs::remove_file(bench.page(name)).unwrap(),
        }
        bench.until_within(3 * DEADLINE, "it is told, with the next try", || {
            let told = bench.attention();
            told.lines().any(|line| line.contains(name) && line.contains("nothing to do: espejo retries at "))
        });
        assert_eq!(asked(&bench, method), 3, "{kind}: {:?}", bench.writes());
        // Longer than the lists that show that nothing was created.
        if method == "POST" {
            let is_asked = || asked(&bench, method) > 3;
            assert!(!within(Duration::from_secs(26), &mut { is_asked }), "{kind}: {:?}", bench.writes());
        }
        bench.world().calm();
        bench.until_within(2 * DEADLINE, "it is sent", || match kind {
            "page" => bench.titled("New").is_some(),
            "stored file" => bench.world().storage_files().any(|file| file.filename == name),
            _ => bench.is_trashed(&page),
        });
        bench.until("nothing needs the user", || bench.attention().is_empty());
        assert_eq!(daemon.stop().code(), Some(0));
    });
}

#[test]
fn a_deletion_that_is_refused_is_told_and_tried_again_by_a_sync_alone() {
    side_by_side([400, 409], |code| {
        let bench = bench();
        let daemon = bench.run_in_step();
        bench.forget_requests();
        bench.world().fail_randomly(Matcher::Method("DELETE".to_owned()), status(code), 1000);
        fs::remove_file(bench.page("Page 2.md")).unwrap();
        bench.until("it is told", || bench.attention().contains("the service rejects it"));
        assert!(bench.attention().contains("espejo sync retries"), "{}", bench.attention());
        for syncs in 1..3 {
            let told = bench.tell(&["sync"]);
            assert_eq!(told.code, 3, "{code}: {told:?}");
            assert_eq!(asked(&bench, "DELETE"), 1 + syncs, "{code}: {:?}", bench.writes());
        }
        bench.world().calm();
        bench.tell(&["approve", "--yes", "Equipo/Pages/Page 2.md"]);
        bench.until("it goes", || bench.is_trashed(&bench.id("Page 2")));
        bench.until("nothing needs the user", || bench.attention().is_empty());
        bench.rest(daemon);
    });
}

#[test]
fn an_edit_that_was_refused_goes_when_the_workspace_is_another_one() {
    let bench = bench();
    let space = bench.space.clone();
    bench.sync();
    bench.world().fail_next(Matcher::Method("PATCH".to_owned()), status(400));
    append(&bench.page("Page 1.md"), "\nmine\n");
    assert_eq!(bench.tell(&["sync"]).code, 3);
    bench.world().app_freeze_workspace(&space, true);
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 1, "it waits for the thaw, and nobody has to act: {told:?}");
    bench.world().app_freeze_workspace(&space, false);
    assert_eq!(bench.tell(&["sync"]).code, 0, "{}", bench.seen());
    assert!(words(&bench.content("Page 1")).contains("mine"));
}

#[test]
fn who_removes_what_is_left_of_a_workspace_that_is_away_deletes_nothing_in_it() {
    let bench = bench();
    bench.sync();
    let config = fs::read_to_string(bench.outside("config.toml")).unwrap();
    let only = config.replacen("\n\n", "\nworkspaces = [\"equipo\"]\n\n", 1);
    save(&bench.outside("config.toml"), &only);
    bench.tell(&["sync"]);
    fs::remove_dir_all(bench.root().join("Otra")).unwrap();
    bench.forget_requests();
    // Over the grace time, and with an approval of whatever is held.
    for _ in 0..2 {
        bench.tell(&["sync"]);
        bench.tell(&["approve", "--yes"]);
    }
    assert_eq!(bench.attention(), "");
    save(&bench.outside("config.toml"), &config);
    bench.until("it is there again", || {
        bench.tell(&["sync"]);
        ["Elsewhere.md", "There.md"].iter().all(|name| bench.root().join("Otra/Pages").join(name).exists())
    });
    assert_eq!(bench.writes(), Vec::<String>::new());
}

#[test]
fn an_approval_is_over_once_nothing_is_held() {
    let bench = bench();
    let daemon = bench.run_in_step();
    bench.forget_requests();
    let sound = bench.text("Page 3.md");
    save(&bench.page("Page 3.md"), "---\nid: [unclosed\n---\nwords\n");
    bench.until("it is told", || bench.attention().contains("Page 3.md"));
    bench.tell(&["approve", "--yes"]);
    save(&bench.page("Page 3.md"), &sound);
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.until_in_step();
    save(&bench.page("Page 3.md"), "");
    bench.until("it is held", || bench.attention().contains("it is empty, but"));
    assert_eq!(bench.writes(), Vec::<String>::new());
    save(&bench.page("Page 3.md"), &sound);
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn after_a_restart_the_page_that_was_being_edited_is_looked_at_first() {
    let bench = Bench::new(|world, space| {
        for n in 0..60 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
        }
    });
    let daemon = bench.run_in_step();
    let edited = bench.titled("Page 47").expect("a page");
    for words in ["first", "second"] {
        bench.world().app_edit(&edited, vec![paragraph("a", words)]);
        bench.look_again();
        bench.until("the change is here", || {
            fs::read_to_string(bench.page("Page 47.md")).unwrap().contains(words)
        });
    }
    assert_eq!(daemon.stop().code(), Some(0));
    bench.forget_requests();
    let daemon = bench.run();
    let looks = || -> Vec<String> {
        let world = bench.world();
        let paths = world.log().entries().map(|entry| entry.path.clone());
        paths.filter(|path| world.pages().any(|page| path.ends_with(page.id.as_str()))).collect()
    };
    bench.until("a page is looked at", || !looks().is_empty());
    assert!(looks()[0].ends_with(edited.as_str()), "{:?}", looks());
    bench.rest(daemon);
}
