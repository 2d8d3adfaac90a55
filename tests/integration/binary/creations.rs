//! Many new files at once wait for an approval.

use std::fs;

use super::bench::{Bench, Told, bare, paragraph, save};
use super::unread::trashed;

fn bench() -> Bench {
    Bench::new(|world, space| {
        world.app_create(space, None, "Home", vec![paragraph("a", "words")]);
    })
}

fn copy_in(bench: &Bench) {
    fs::create_dir(bench.page("Copied")).unwrap();
    for n in 0..150 {
        save(&bench.page(&format!("{n}.md")), &format!("words {n}\n"));
        save(&bench.page(&format!("Copied/{n}.md")), &format!("words {n}\n"));
    }
}

#[test]
fn three_hundred_files_copied_in_make_nothing_until_that_is_approved() {
    let bench = bench();
    bench.sync();
    let daemon = bench.run_in_step();
    save(&bench.page("One.md"), "one word\n");
    bench.until("one is made", || bench.titled("One").is_some());
    bench.until_in_step();
    // A person stops the daemon meanwhile: nothing of it is made bit by bit.
    daemon.stop();
    copy_in(&bench);
    let before = bench.pages();
    let told = bench.tell(&["sync"]);
    assert_eq!((told.code, bench.pages()), (3, before), "{told:?}");
    assert!(bench.attention().contains(
        "new files are on hold: 300, with those made in the last 10 minutes more than max_creates = 100; to make them takes about 1 min"
    ), "{}", bench.attention());
    // Other things go on.
    let daemon = bench.run();
    save(&bench.page("One.md"), "one word more\n");
    bench.until("an edit is sent", || super::bench::words(&bench.content("One")).contains("more"));
    assert_eq!(bench.pages(), before);
    let told = bench.tell(&["approve", "--dry-run"]);
    for line in [
        "the new files in 2 folders become",
        "Equipo/Pages: 150 new files",
        "Equipo/Pages/Copied: 150 new files",
    ] {
        assert!(told.out.contains(line), "{told:?}");
    }
    assert_eq!(bench.tell(&["approve", "--yes"]).code, 0);
    bench.until("all are made", || bench.pages() == before + 301);
    bench.until_in_step();
    assert_eq!(bench.attention(), "");
    daemon.stop();
    // The approval is over.
    for n in 0..101 {
        save(&bench.page(&format!("Again {n}.md")), "words\n");
    }
    assert_eq!(bench.tell(&["sync"]).code, 3);
    // They are removed.
    for n in 0..101 {
        fs::remove_file(bench.page(&format!("Again {n}.md"))).unwrap();
    }
    bench.sync();
    assert_eq!(trashed(&bench.world()), "");
}

#[test]
fn what_was_copied_in_by_mistake_is_undone_at_once_and_no_guard_holds_it() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let there = || bench.world().visible_pages(&bench.space).len();
    fs::create_dir(bench.page("Copied")).unwrap();
    for n in 0..40 {
        save(&bench.page(&format!("{n}.md")), &format!("words {n}\n"));
        save(&bench.page(&format!("Copied/c{n}.md")), &format!("words {n}\n"));
    }
    bench.until("all are made", || there() == 82);
    bench.until_in_step();
    // Somebody in the app has worked on one since: it stays.
    let page = bench.id("7");
    bench.world().app_edit(&page, vec![paragraph("a", "theirs")]);
    // And has put a page beneath another one: that stays too.
    let (space, above) = (bench.space.clone(), bench.id("3"));
    bench.world().app_create(&space, Some(&above), "Beneath", vec![paragraph("a", "theirs")]);
    bench.look_again();
    bench.until("it comes down", || bench.text("7.md").contains("theirs"));
    bench.until("the other comes too", || bench.page("3/Beneath.md").exists());
    bench.until_in_step();
    let would = bench.tell(&["undo", "--since", "1h", "--dry-run"]);
    assert!(
        would.out.contains("its page goes to the service's trash, its file to .espejo/trash"),
        "{would:?}"
    );
    assert_eq!(there(), 83);
    let told = bench.tell(&["undo", "--since", "1h", "--yes"]);
    assert!(told.code == 3 && told.out.contains("the page has changed or has subpages"), "{told:?}");
    bench.until("they go", || there() == 4);
    bench.until_in_step();
    assert!(!bench.attention().contains("approve"), "{}", bench.attention());
    let left: Vec<_> =
        fs::read_dir(bench.page("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
    bench.rest(daemon);
}

#[test]
fn the_yes_of_init_is_for_the_files_that_it_counted() {
    let bench = bench();
    for name in ["config.toml", "token"] {
        fs::rename(bench.outside(name), bench.outside(&format!("bench-{name}"))).unwrap();
    }
    fs::create_dir_all(bench.page("Copied")).unwrap();
    copy_in_existing(&bench);
    let url = bench.base_url();
    let root = bench.root().display().to_string();
    let token = bench.outside("bench-token").display().to_string();
    let mut init = bare(bench.home());
    init.args(["init", "--base-url", &url, "--token-file", &token, "--root", &root, "--yes"]);
    let told = Told::of(init.output().unwrap());
    assert_eq!(told.code, 0, "{told:?}");
    assert!(
        told.out.contains("150 Markdown files in Pages folders become new pages where they equal none"),
        "{told:?}"
    );
    assert!(told.out.contains("up to 5 minutes"), "{told:?}");
    let config = bench.home().join(".config/espejo/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    save(&config, &text.replacen("[limits]", "[limits]\nrequests_per_minute = 6000", 1));
    let told = Told::of(bare(bench.home()).args(["sync", "--quiet"]).output().unwrap());
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(bench.pages(), 152);
}

fn copy_in_existing(bench: &Bench) {
    for n in 0..150 {
        save(&bench.page(&format!("Copied/{n}.md")), &format!("words {n}\n"));
    }
}
