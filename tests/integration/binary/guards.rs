//! Accidents on either side: nothing is removed until somebody says so.

use std::fs;

use espejo::emulator::{Fault, Matcher};

use super::bench::{Bench, append, paragraph, save, words};
use super::state::trashed_files;

const APPROVED: &str = "approved; the next espejo sync or espejo run carries it out";

fn bench(pages: &str) -> Bench {
    Bench::with(pages, |world, space| {
        for n in 0..30 {
            let page = world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
            if n % 3 == 0 {
                world.app_create(space, Some(&page), "Below", vec![paragraph("a", "below")]);
            }
        }
    })
}

#[test]
fn an_empty_or_short_list_removes_nothing() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    let files = bench.files();
    bench.forget_requests();
    for fault in [Fault::EmptyList, Fault::ShortList, Fault::SpoiltEntry, Fault::Page(200), Fault::WrongType]
    {
        for path in ["/pages", "/workspaces"] {
            bench.world().fail_next(Matcher::Route("GET".to_owned(), path.to_owned()), fault.clone());
            let waiting = || bench.world().faults_waiting();
            bench.ask("\"full-pass\"");
            bench.until("the wrong list is taken in", || waiting() == 0);
            bench.look_again();
            assert_eq!(bench.files(), files, "{fault:?} {path}");
        }
    }
    assert_eq!(bench.writes(), Vec::<String>::new());
    assert_eq!(trashed_files(&bench), Vec::<String>::new());
    bench.until("all is well again", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn pages_that_all_leave_the_list_stay_until_approved() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    let all: Vec<_> = bench.world().visible_pages(&bench.space).iter().map(|page| page.id.clone()).collect();
    let files = bench.files();
    for id in &all {
        bench.world().app_hide(id, true);
    }
    bench.ask("\"full-pass\"");
    bench.until("it is told", || bench.attention().contains("suddenly empty"));
    // Every page has been asked for and was answered with 404: that is still no reason.
    bench.until("each page is looked for", || bench.world().log().answered(404) >= all.len());
    assert_eq!(bench.files(), files);
    assert_eq!(bench.tell(&["status"]).code, 3);
    // Access comes back: everything is as it was.
    for id in &all {
        bench.world().app_hide(id, false);
    }
    bench.look_again();
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.until_in_step();
    assert_eq!(bench.files(), files);
    // Gone again, and approved: into the mirror's trash.
    for id in &all {
        bench.world().app_trash(id);
    }
    bench.ask("\"full-pass\"");
    bench.until("it is told again", || bench.attention().contains("suddenly empty"));
    let told = bench.tell(&["approve", "--yes"]);
    assert_eq!(told.code, 0, "{told:?}");
    // Each is out of its folder a moment before it is in the trash.
    bench.until("the files go to the mirror's trash", || {
        bench.files().is_empty() && trashed_files(&bench).len() == files.len()
    });
    bench.until_in_step();
    bench.rest(daemon);
}

#[test]
fn a_workspace_that_disappears_keeps_its_files() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    let files = bench.files();
    let space = bench.space.clone();
    bench.world().app_leave_workspace(&space);
    bench.forget_requests();
    bench.ask("\"full-pass\"");
    bench.until("it is told", || bench.attention().contains("no longer lists the workspace"));
    append(&bench.page("Page 1.md"), "\nwritten meanwhile\n");
    bench.ask("\"full-pass\"");
    bench.until("it is asked again", || {
        bench.requests().iter().filter(|line| *line == "GET /workspaces").count() >= 2
    });
    assert_eq!(bench.files().len(), files.len());
    assert_eq!(bench.writes(), Vec::<String>::new());
    bench.world().app_rejoin(&space);
    bench.look_again();
    bench.until("the edit goes out", || words(&bench.content("Page 1")).contains("written meanwhile"));
    bench.until_in_step();
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn a_refusal_in_the_middle_of_a_pass_costs_nothing() {
    let bench = bench("");
    assert_eq!(bench.tell(&["sync"]).code, 0);
    let edited = bench.id("Page 20");
    let workspaces = Matcher::Route("GET".to_owned(), "/workspaces".to_owned());
    let middles =
        [workspaces, Matcher::Lists, Matcher::Page(bench.id("Page 7")), Matcher::Page(edited.clone())];
    for (status, middle) in [401, 403].into_iter().flat_map(|status| middles.clone().map(|at| (status, at))) {
        let what = format!("{status} at {middle:?}");
        append(&bench.page("Page 20.md"), &format!("\nwritten before the {what}\n"));
        let files = bench.files();
        bench.forget_requests();
        bench.world().fail_next(middle, Fault::Status { status, retry_after: None });
        let told = bench.tell(&["sync"]);
        assert_eq!(bench.world().faults_waiting(), 0, "{what}: {told:?}");
        assert_eq!(bench.files(), files, "{what}");
        let told = bench.tell(&["sync"]);
        assert_eq!(told.code, 0, "{what}: {told:?}");
        assert_eq!(bench.files(), files, "{what}");
        assert_eq!(bench.writes(), [format!("PATCH /pages/{edited}")], "{what}");
    }
    assert_eq!(bench.text("Page 20.md").matches("written before the").count(), 8);
    assert_eq!(words(&bench.content("Page 20")).matches("written before the").count(), 8);
    assert_eq!(trashed_files(&bench), Vec::<String>::new());
}

#[test]
fn deleting_everything_in_the_tree_waits_for_approval() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    bench.forget_requests();
    fs::remove_dir_all(bench.page("")).unwrap();
    bench.until("it is told", || bench.attention().contains("deletions are on hold"));
    bench.look_again();
    assert_eq!(bench.writes(), Vec::<String>::new());
    assert_eq!(bench.tell(&["status"]).code, 3);
    // Also not by another run, nor by one that starts with it.
    daemon.stop();
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}");
    assert!(told.out.starts_with("0 pages in sync, 40 on hold; 1 thing needs attention\n"), "{told:?}");
    assert_eq!(bench.writes(), Vec::<String>::new());
    // Each is still called by the name that its file had.
    let page = "Equipo/Pages/Page 0/Below.md";
    assert!(bench.list().iter().any(|row| row["path"] == page && row["state"] == "deleted"));
    let told = bench.tell(&["status", bench.page("Page 0/Below.md").to_str().unwrap()]);
    assert!(
        told.code == 3
            && told.out.contains("its file is missing here, and its page still exists")
            && told.out.contains("deletions are on hold"),
        "{told:?}"
    );
    let told = bench.tell(&["approve", "--yes"]);
    assert_eq!(
        (told.code, told.out.lines().next()),
        (0, Some("40 pages go to the service's trash, because their files are gone")),
        "{told:?}"
    );
    assert_eq!(told.out.lines().last(), Some(APPROVED), "{told:?}");
    let daemon = bench.run();
    bench.until("the pages are trashed", || bench.world().visible_pages(&bench.space).is_empty());
    bench.until_in_step();
    bench.rest(daemon);
}

#[test]
fn eleven_deletions_wait_and_come_back_or_are_approved_one_by_one() {
    let bench = bench("max_deletes = 5");
    let daemon = bench.run_in_step();
    bench.forget_requests();
    let text = |n: usize| bench.text(&format!("Page {n}.md"));
    let kept: Vec<(usize, String)> = (1..30).filter(|n| n % 3 > 0).take(11).map(|n| (n, text(n))).collect();
    for (n, _) in &kept {
        fs::remove_file(bench.page(&format!("Page {n}.md"))).unwrap();
    }
    bench.until("it is told", || bench.attention().contains("max_deletes = 5"));
    bench.look_again();
    assert_eq!(bench.writes(), Vec::<String>::new());
    // Not what is held here, although the rest is.
    let told = bench.tell(&["approve", "--yes", bench.page("Page 0.md").to_str().unwrap()]);
    let nothing = "espejo: nothing is on hold at Equipo/Pages/Page 0.md; espejo status shows what is\n";
    assert_eq!((told.code, told.err.as_str()), (1, nothing), "{told:?}");
    let (first, _) = kept[0];
    // Its ending may be left out.
    let path = bench.page(&format!("Page {first}"));
    let told = bench.tell(&["approve", "--yes", path.to_str().unwrap()]);
    assert_eq!(
        (told.code, told.out.as_str()),
        (
            0,
            &*format!(
                "1 page goes to the service's trash, because its file is gone\n    Equipo/Pages/Page {first}.md\n\
                 approved; the running espejo carries it out now\n"
            )
        ),
        "{told:?}"
    );
    let id = bench.id(&format!("Page {first}"));
    bench.until("the approved one is trashed", || bench.is_trashed(&id));
    for (n, text) in &kept[1..] {
        super::bench::save(&bench.page(&format!("Page {n}.md")), text);
    }
    bench.until_in_step();
    bench.until("nothing needs the user", || bench.attention().is_empty());
    assert_eq!(bench.writes(), [format!("DELETE /pages/{id}")]);
    bench.rest(daemon);
}

/// Makes the state believe that what went a short while ago went twenty minutes before that.
pub(super) fn go_by(bench: &Bench, row: &str) {
    let db = rusqlite::Connection::open(bench.state().join("espejo.sqlite3")).unwrap();
    let text: String =
        db.query_row("SELECT value FROM meta WHERE key = ?1", [row], |row| row.get(0)).unwrap();
    let lines = text.lines().map(|line| match line.split_once(' ') {
        Some((at, id)) => format!("{} {id}", at.parse::<i64>().unwrap() - 1_200_000),
        None => line.to_owned(),
    });
    let text: Vec<String> = lines.collect();
    assert!(text.len() > 1, "{text:?}");
    db.execute("UPDATE meta SET value = ?1 WHERE key = ?2", [text.join("\n"), row.to_owned()]).unwrap();
}

#[test]
fn what_is_held_for_earlier_deletions_does_not_go_when_those_are_long_ago() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    let trashed = || bench.writes().iter().filter(|line| line.starts_with("DELETE")).count();
    let remove = |numbers: &[usize]| {
        for n in numbers {
            fs::remove_file(bench.page(&format!("Page {n}.md"))).unwrap();
        }
    };
    bench.forget_requests();
    remove(&[1, 2, 4, 5, 7, 8]);
    bench.until("the first go", || trashed() == 6);
    remove(&[10, 11, 13]);
    bench.until("the others are held", || bench.attention().contains("6 of them just before"));
    assert!(daemon.stop().success());
    go_by(&bench, "removals");
    let daemon = bench.run();
    bench.ask("\"full-pass\"");
    bench.sync_any();
    assert!(bench.attention().contains("9 of 40 mirrored pages are gone"), "{}", bench.attention());
    assert_eq!(trashed(), 6, "{}", bench.seen());
    let told = bench.tell(&["approve", "--yes"]);
    assert!(matches!(told.code, 0 | 3), "{told:?}");
    bench.until("they go then", || trashed() == 9);
    // What was held and has gone holds nothing back later.
    assert!(daemon.stop().success());
    go_by(&bench, "removals");
    let daemon = bench.run_in_step();
    remove(&[14]);
    bench.until("one more goes", || trashed() == 10);
    bench.rest(daemon);
}

#[test]
fn a_root_that_goes_or_is_another_stops_all_writing() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    bench.forget_requests();
    let away = bench.outside("away");
    for replace in [false, true] {
        fs::rename(bench.root(), &away).unwrap();
        if replace {
            // An empty folder is mounted over it.
            fs::create_dir(bench.root()).unwrap();
        }
        bench.ask("\"full-pass\"");
        bench.until("it is told", || bench.attention().contains("nothing is written on either side"));
        let page = bench.id("Page 1");
        bench.world().app_edit(&page, vec![paragraph("a", &format!("changed meanwhile, {replace}"))]);
        bench.ask("\"full-pass\"");
        bench.until("it is asked for", || {
            bench.requests().iter().filter(|line| line.ends_with(&page.to_string())).count() >= 1
        });
        if replace {
            assert_eq!(
                fs::read_dir(bench.root()).unwrap().count(),
                0,
                "something was written into a strange folder"
            );
            fs::remove_dir(bench.root()).unwrap();
        } else {
            assert!(!bench.root().exists());
        }
        fs::rename(&away, bench.root()).unwrap();
        bench.until("the folder is taken up again", || {
            fs::read_to_string(bench.page("Page 1.md"))
                .unwrap()
                .contains(&format!("changed meanwhile, {replace}"))
        });
        bench.until_in_step();
    }
    assert_eq!(bench.writes(), Vec::<String>::new());
    // Removed for good, while espejo runs and while it does not.
    fs::remove_dir_all(bench.root()).unwrap();
    bench.ask("\"full-pass\"");
    bench.until("it is told at last", || bench.attention().contains("nothing is written on either side"));
    assert_eq!(daemon.stop().code(), Some(0));
    for _ in 0..2 {
        let told = bench.tell(&["sync"]);
        assert_ne!(told.code, 0, "{told:?}");
        assert!(!bench.root().exists(), "a root that was lost is not made again: {told:?}");
    }
    assert_eq!(bench.writes(), Vec::<String>::new());
}

#[test]
fn the_root_emptied_and_its_marker_gone_stops_all_writing() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    bench.forget_requests();
    for entry in fs::read_dir(bench.root()).unwrap() {
        let path = entry.unwrap().path();
        fs::remove_dir_all(path).unwrap();
    }
    bench.until("it is told", || bench.attention().contains("nothing is written on either side"));
    bench.look_again();
    assert_eq!(bench.writes(), Vec::<String>::new());
    assert_eq!(fs::read_dir(bench.root()).unwrap().count(), 0);
    drop(daemon);
}

#[test]
fn what_is_approved_while_nothing_runs_is_done_by_the_next_run() {
    let bench = bench("");
    bench.sync();
    bench.forget_requests();
    save(&bench.page("Page 1.md"), "");
    bench.tell(&["sync"]);
    assert_eq!(bench.writes(), Vec::<String>::new());
    let told = bench.tell(&["approve", "--yes", bench.page("Page 1.md").to_str().unwrap()]);
    assert!(told.code == 0 && told.out.ends_with(&format!("{APPROVED}\n")), "{told:?}");
    bench.tell(&["sync"]);
    assert_eq!(words(&bench.content("Page 1")).trim(), "");
    assert_eq!(bench.writes(), [format!("PATCH /pages/{}", bench.id("Page 1"))]);
    assert_eq!(bench.attention(), "");
}
