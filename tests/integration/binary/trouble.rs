//! A service that refuses, fails, or goes away: one area rests, it is told why, and everything else goes on.

use std::fs;

use espejo::emulator::{Fault, Matcher, Window};

use super::bench::{Bench, DEADLINE, append, paragraph, save, side_by_side, words};

fn bench() -> Bench {
    Bench::new(|world, space| {
        for n in 0..6 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
        }
        let other = world.add_workspace("Otra", "otra");
        world.app_create(&other, None, "Elsewhere", vec![paragraph("a", "words")]);
    })
}

#[test]
fn a_frozen_workspace_is_read_only_and_the_others_go_on() {
    side_by_side(["frozen", "viewer", "scope"], |how| {
        let bench = bench();
        let daemon = bench.run_in_step();
        let space = bench.space.clone();
        let set = |on: bool| {
            let mut world = bench.world();
            match how {
                "frozen" => drop(world.app_freeze_workspace(&space, on)),
                "viewer" => drop(world.app_set_role(&space, if on { "viewer" } else { "owner" })),
                _ => world.set_scope("pages:write", !on),
            }
        };
        set(true);
        bench.look_again();
        append(&bench.page("Page 1.md"), "\nwritten meanwhile\n");
        save(&bench.page("New.md"), "made meanwhile\n");
        fs::remove_file(bench.page("Page 2.md")).unwrap();
        let elsewhere = bench.root().join("Otra/Pages/Elsewhere.md");
        append(&elsewhere, "\nelsewhere\n");
        if how != "scope" {
            bench.until("another workspace goes on", || {
                words(&bench.content("Elsewhere")).contains("elsewhere")
            });
        }
        bench.until("it is told", || {
            let told = bench.attention();
            told.contains("Equipo") || told.contains("Page 1.md")
        });
        // Others' changes still come down.
        let page = bench.id("Page 3");
        bench.world().app_edit(&page, vec![paragraph("a", "changed by others")]);
        bench.look_again();
        bench.until("changes still come down", || bench.text("Page 3.md").contains("changed by others"));
        assert!(
            bench.titled("New").is_none() && !words(&bench.content("Page 1")).contains("meanwhile"),
            "{how}"
        );
        let tries = bench.writes().len();
        assert!(tries <= 6, "{how}: it is asked again and again: {:?}", bench.writes());
        set(false);
        // A 403 is tried again much later, or after a restart.
        assert_eq!(daemon.stop().code(), Some(0));
        let daemon = bench.run();
        bench.until("the edit goes out", || words(&bench.content("Page 1")).contains("written meanwhile"));
        bench.until("the new file goes out", || bench.titled("New").is_some());
        bench.until("the deletion goes out", || bench.is_trashed(&bench.id("Page 2")));
        bench.until_in_step();
        bench.until("nothing needs the user", || bench.attention().is_empty());
        bench.rest(daemon);
    });
}

#[test]
fn a_token_that_may_not_delete_stops_no_edit_and_is_told_once() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let forbidden = Fault::Status { status: 403, retry_after: None };
    bench.world().fail_randomly(Matcher::Method("DELETE".to_owned()), forbidden, 1_000);
    bench.forget_requests();
    for n in 2..4 {
        fs::remove_file(bench.page(&format!("Page {n}.md"))).unwrap();
    }
    bench.until("it is told", || bench.attention().contains("the service forbids removing the pages"));
    for n in 0..6 {
        let page = bench.page("Page 1.md");
        append(&page, &format!("\nline {n}\n"));
        save(&bench.page(&format!("New {n}.md")), "made meanwhile\n");
        bench.until("edits and new files go out", || {
            words(&bench.content("Page 1")).contains(&format!("line {n}"))
                && bench.titled(&format!("New {n}")).is_some()
        });
    }
    let told = bench.attention();
    assert_eq!(told.matches("read-only").count(), 1, "{told}");
    let log = bench.log();
    let lines = log.lines().filter(|line| line.contains("the service forbids removing"));
    assert_eq!(lines.count(), 1, "once and steadily: {log}");
    let tries = bench.writes().iter().filter(|write| write.starts_with("DELETE")).count();
    assert!(tries <= 4, "{:?}", bench.writes());
    // A file that is back needs no deletion.
    bench.world().calm();
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!((2..4).all(|n| bench.is_trashed(&bench.id(&format!("Page {n}")))), "{}", bench.seen());
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn what_is_forbidden_is_told_no_longer_than_it_waits() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let forbidden = Fault::Status { status: 403, retry_after: None };
    bench.world().fail_randomly(Matcher::Writes, forbidden, 1_000);
    let (before, kept) = (bench.text("Page 1.md"), bench.text("Page 2.md"));
    append(&bench.page("Page 1.md"), "\nnot allowed\n");
    fs::remove_file(bench.page("Page 2.md")).unwrap();
    bench.until("both are told", || {
        let told = bench.attention();
        told.contains("forbids writing to the pages") && told.contains("forbids removing the pages")
    });
    save(&bench.page("Page 1.md"), &before);
    save(&bench.page("Page 2.md"), &kept);
    bench.until("nothing waits, and nothing is told", || bench.attention().is_empty());
    bench.world().calm();
    bench.rest(daemon);
}

#[test]
fn a_page_that_is_forbidden_by_itself_delays_no_other() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let forbidden = Fault::Status { status: 403, retry_after: None };
    let one = format!("/pages/{}", bench.id("Page 1"));
    bench.world().fail_randomly(Matcher::Route("PATCH".to_owned(), one), forbidden, 1_000);
    append(&bench.page("Page 1.md"), "\nnot allowed\n");
    bench.until("it is told", || bench.attention().contains("forbids writing to the pages"));
    append(&bench.page("Page 2.md"), "\nallowed\n");
    bench.until_within(2 * DEADLINE, "another edit goes out", || {
        words(&bench.content("Page 2")).contains("allowed")
    });
    bench.until("it is told by itself", || {
        let told = bench.attention();
        told.contains("Page 1.md") && !told.contains("read-only")
    });
    append(&bench.page("Page 3.md"), "\nallowed\n");
    bench.until("the next one goes out at once", || words(&bench.content("Page 3")).contains("allowed"));
    bench.world().calm();
    bench.tell(&["sync"]);
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn a_bad_token_stops_everything_and_a_good_one_takes_it_up_again() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let token = bench.world().token().to_owned();
    bench.world().set_token("tok-another-one");
    append(&bench.page("Page 1.md"), "\nwritten meanwhile\n");
    bench.until("it is told", || bench.attention().contains("nothing is sent"));
    assert!(bench.attention().contains("token"), "{}", bench.attention());
    bench.forget_requests();
    append(&bench.page("Page 2.md"), "\nand this\n");
    bench.ask("\"full-pass\"");
    let told = bench.tell(&["status"]);
    assert_eq!(told.code, 3, "{told:?}");
    assert!(!told.out.contains(&token), "{told:?}");
    assert_eq!(bench.requests(), Vec::<String>::new(), "a bad token is not tried again and again");
    assert_eq!(daemon.stop().code(), Some(0));
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.err.contains("token") && told.err.lines().count() == 1, "{told:?}");
    save(&bench.outside("token"), "tok-another-one\n");
    bench.sync();
    assert!(words(&bench.content("Page 1")).contains("written meanwhile"));
    assert!(words(&bench.content("Page 2")).contains("and this"));
    assert!(!bench.log().contains("tok-"), "a token in the log");
    bench.rests();
}

#[test]
fn a_write_that_fails_each_time_is_told_once_until_it_succeeds() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let failing = Fault::Status { status: 503, retry_after: None };
    bench.world().fail_randomly(Matcher::Method("PATCH".to_owned()), failing, 1_000);
    bench.forget_requests();
    append(&bench.page("Page 1.md"), "\nmine\n");
    let tries = || bench.writes().len();
    bench.until_within(2 * DEADLINE, "it was tried six times", || tries() >= 6);
    let lines = |what: &str| bench.log().lines().filter(|line| line.contains(what)).count();
    assert_eq!((lines("[failing]"), lines("resolved: ")), (1, 0), "{}", bench.log());
    bench.world().calm();
    bench.tell(&["sync"]);
    bench.until("it is sent", || words(&bench.content("Page 1")).contains("mine"));
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn a_401_to_one_page_is_not_the_token_s() {
    let bench = bench();
    let page = bench.id("Page 1");
    let unauthorized = Fault::Status { status: 401, retry_after: None };
    let daemon = bench.run_in_step();
    bench.world().fail_randomly(Matcher::Page(page), unauthorized, 1_000);
    append(&bench.page("Page 1.md"), "\nnot allowed\n");
    bench.until("it is told with its page", || bench.attention().contains("Page 1.md"));
    append(&bench.page("Page 2.md"), "\nbeside it\n");
    bench.until("an edit beside it goes out", || words(&bench.content("Page 2")).contains("beside it"));
    assert!(!bench.attention().contains("nothing is sent"), "{}", bench.attention());
    bench.world().calm();
    bench.tell(&["sync"]);
    bench.until("the edit goes out", || words(&bench.content("Page 1")).contains("not allowed"));
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn edits_go_out_in_the_end_whatever_the_service_says_at_first() {
    let faults = [
        Fault::Status { status: 429, retry_after: Some("1".to_owned()) },
        Fault::Status { status: 500, retry_after: None },
        Fault::Page(502),
        Fault::Page(503),
        Fault::LostBefore,
        Fault::PageWith200,
        Fault::Noise,
        Fault::WrongType,
    ];
    side_by_side(faults, |fault| {
        let bench = bench();
        let daemon = bench.run_in_step();
        bench.forget_requests();
        bench.world().fail_next(Matcher::Method("PATCH".to_owned()), fault.clone());
        let page = bench.id("Page 1");
        bench.world().fail_next(Matcher::Route("GET".to_owned(), format!("/pages/{page}")), fault.clone());
        append(&bench.page("Page 1.md"), "\nsent in the end\n");
        append(&bench.page("Page 2.md"), "\nsent too\n");
        bench.until("both are sent", || {
            words(&bench.content("Page 1")) == "words\nsent in the end\n"
                && words(&bench.content("Page 2")) == "words\nsent too\n"
        });
        bench.until_in_step();
        bench.until("nothing needs the user", || bench.attention().is_empty());
        bench.rest(daemon);
    });
}

#[test]
fn a_page_that_cannot_be_read_harms_no_other() {
    let faults = [Fault::Huge(70 << 20), Fault::Deep(3_000), Fault::NoContent, Fault::Noise, Fault::Short];
    side_by_side(faults, |fault| {
        let bench = bench();
        let page = bench.id("Page 3");
        bench.world().fail_randomly(Matcher::Page(page.clone()), fault.clone(), 1000);
        let daemon = bench.run();
        bench.until("the others are mirrored", || {
            [0, 1, 2, 4, 5].iter().all(|n| bench.page(&format!("Page {n}.md")).exists())
        });
        bench.until("it is told", || bench.attention().contains("Page 3"));
        assert!(!bench.page("Page 3.md").exists(), "{fault:?}");
        append(&bench.page("Page 1.md"), "\nan edit beside it\n");
        bench.until("edits beside it go out", || words(&bench.content("Page 1")).contains("beside it"));
        bench.world().calm();
        bench.ask("\"full-pass\"");
        bench.until_in_step();
        bench.until("nothing needs the user", || bench.attention().is_empty());
        bench.rest(daemon);
    });
}

#[test]
fn a_service_that_is_away_costs_nothing_but_time() {
    let bench = bench();
    let daemon = bench.run_in_step();
    bench.world().fail_randomly(Matcher::Any, Fault::LostBefore, 1000);
    append(&bench.page("Page 1.md"), "\nwritten meanwhile\n");
    save(&bench.page("New.md"), "made meanwhile\n");
    fs::rename(bench.page("Page 2.md"), bench.page("Renamed.md")).unwrap();
    fs::remove_file(bench.page("Page 4.md")).unwrap();
    bench.until("it is told", || bench.attention().contains("edits are pending"));
    let told = bench.tell(&["status"]).out;
    assert!(told.starts_with("waiting for the service: ") && !told.contains("in sync"), "{told}");
    assert!(bench.status()["pages"]["pending"].as_u64().unwrap() >= 3, "{}", bench.status());
    bench.world().calm();
    let four = bench.id("Page 4");
    bench.until("everything goes out", || {
        words(&bench.content("Page 1")).contains("written meanwhile")
            && bench.titled("New").is_some()
            && bench.titled("Renamed").is_some()
            && bench.is_trashed(&four)
    });
    bench.until_in_step();
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn a_service_that_counts_more_strictly_is_believed() {
    let bench = bench();
    let daemon = bench.run_in_step();
    bench.world().set_limit(Some(3), Window::SlidingLog);
    bench.forget_requests();
    for n in 0..6 {
        append(&bench.page(&format!("Page {n}.md")), "\nout of turn\n");
    }
    bench.until("it is refused", || bench.world().log().answered(429) > 0);
    bench.until("it is quiet then", || {
        let world = bench.world();
        // One refusal is enough: nothing is hammered. Those under way at once may be refused together.
        world.log().answered(429) <= 6
    });
    bench.world().set_limit(None, Window::SlidingLog);
    // Several refusals at once are answered with up to a minute of silence.
    bench.until_within(2 * DEADLINE, "everything goes out", || {
        (0..6).all(|n| words(&bench.content(&format!("Page {n}"))).contains("out of turn"))
    });
    bench.rest(daemon);
}

#[test]
fn each_new_file_that_is_refused_waits_by_itself_and_equal_refusals_share_one_line_and_one_try() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Home", vec![paragraph("a", "words")]);
    });
    let daemon = bench.run_in_step();
    let refused = Fault::Status { status: 400, retry_after: None };
    bench.world().fail_randomly(Matcher::Route("POST".to_owned(), "/pages".to_owned()), refused, 1_000);
    bench.forget_requests();
    for n in 10..50 {
        save(&bench.page(&format!("New {n}.md")), &format!("words {n}\n"));
    }
    let posts = || bench.writes().iter().filter(|write| write.starts_with("POST")).count();
    bench.until("each is told", || bench.attention().matches("no page was created").count() == 40);
    assert_eq!(posts(), 40, "{}", bench.seen());
    let told = bench.tell(&["status"]).out;
    assert!(told.contains("New 10.md, and 39 more there"), "{told}");
    assert_eq!(told.matches("no page was created").count(), 1, "{told}");
    bench.forget_requests();
    bench.tell(&["sync"]);
    assert_eq!(posts(), 1, "one try for all: {}", bench.seen());
    // Each is tried in its turn.
    let title =
        || bench.world().log().writes().map(|entry| entry.json()["title"].clone()).collect::<Vec<_>>();
    let first = title();
    bench.forget_requests();
    bench.tell(&["sync"]);
    assert_eq!(posts(), 1, "{}", bench.seen());
    assert_ne!(first, title());
    bench.world().calm();
    bench.tell(&["sync"]);
    bench.until("all are there", || bench.pages() == 41);
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}
