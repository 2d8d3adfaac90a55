//! A pause: the service is left alone, across restarts, and nothing that was edited meanwhile is lost.

use std::fs;

use serde_json::Value;

use super::super::bench::{Bench, append, paragraph, save, words};

fn bench() -> Bench {
    Bench::new(|world, space| {
        for title in ["One", "Two"] {
            let blocks = vec![paragraph("a", "the first line"), paragraph("b", "the second line")];
            world.app_create(space, None, title, blocks);
        }
    })
}

fn waiting(status: &Value) -> Vec<String> {
    let items = status["waiting"].as_array().unwrap().iter();
    items
        .map(|item| format!("{}: {}", item["path"].as_str().unwrap(), item["what"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_pause_outlives_a_kill_and_what_was_edited_meanwhile_goes_out_merged() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let told = bench.tell(&["pause"]);
    assert!(told.code == 0 && told.out.starts_with("paused: no requests are sent"), "{told:?}");
    bench.until("it is paused", || bench.status()["state"] == "paused");
    // What was under way has ended: its answer is the last that comes.
    bench.until("nothing is asked any more", || {
        bench.forget_requests();
        !super::super::bench::within(std::time::Duration::from_millis(300), &mut || {
            !bench.requests().is_empty()
        })
    });
    append(&bench.page("One.md"), "\nmine\n");
    save(&bench.page("Three.md"), "a page of mine\n");
    fs::remove_file(bench.page("Two.md")).unwrap();
    let id = bench.id("One");
    let blocks = vec![paragraph("a", "the first line, theirs"), paragraph("b", "the second line")];
    assert!(bench.world().app_edit(&id, blocks));
    let expected = [
        "Equipo/Pages/One.md: an edit to send",
        "Equipo/Pages/Three.md: a new page",
        "Equipo/Pages/Two.md: its file is gone",
    ];
    let all_wait = || {
        let mut waits = waiting(&bench.status());
        waits.sort();
        waits == expected
    };
    bench.until("status names what waits", all_wait);
    daemon.kill();

    // Another run, the same pause.
    let daemon = bench.run();
    bench.until("it runs again", || bench.status()["state"] == "paused");
    bench.until("status still names what waits", all_wait);
    let status = bench.tell(&["status"]);
    assert!(status.code == 0 && status.out.starts_with("paused since 2"), "{status:?}");
    assert!(status.out.contains("3 changes pending until espejo resume"), "{status:?}");
    for command in
        [&["sync"][..], &["sync", "--dry-run"], &["sync", "--deep"], &["search", "--remote", "mine"]]
    {
        let told = bench.tell(command);
        assert!(
            told.code == 1
                && told.err.contains("has been paused since")
                && told.err.contains("espejo resume"),
            "{told:?}"
        );
    }
    let again = bench.tell(&["pause"]);
    assert!(again.code == 0 && again.out.starts_with("already paused since 2"), "{again:?}");
    assert_eq!(bench.requests(), Vec::<String>::new(), "nothing was asked or sent\n{}", bench.seen());

    assert_eq!(bench.tell(&["resume"]).out, "resumed: pending edits are sent now\n");
    bench.until("both edits are in the page", || {
        let content = words(&bench.content("One"));
        content.contains("theirs") && content.contains("mine")
    });
    bench.until("the new page is there", || bench.count("Three") == 1);
    let two = bench.id("Two");
    bench.until("the deletion went out", || bench.is_trashed(&two));
    bench.until("the file has both", || bench.text("One.md").contains("theirs"));
    assert_eq!(bench.status()["paused_since"], Value::Null);
    assert_eq!(bench.tell(&["resume"]).out, "espejo was not paused\n");
    bench.rest(daemon);
}

#[test]
fn without_a_daemon_a_pause_is_for_the_next_one() {
    let bench = bench();
    let told = bench.tell(&["pause"]);
    assert!(told.code == 1 && told.err.contains("no mirror yet"), "{told:?}");
    bench.sync();
    assert_eq!(bench.tell(&["pause"]).code, 0);
    bench.forget_requests();
    append(&bench.page("One.md"), "\nmine\n");
    let daemon = bench.run();
    bench.until("it runs, paused, and has seen the edit", || {
        let status = bench.status();
        status["state"] == "paused" && status["pages"]["pending"] == 1
    });
    assert_eq!(bench.requests(), Vec::<String>::new());
    daemon.stop();
    let status = bench.status();
    assert!(status["state"] == "stopped" && status["paused_since"].is_string(), "{status}");
    assert_eq!(
        bench.tell(&["resume"]).out,
        "resumed: the next espejo run or espejo sync sends pending edits\n"
    );
    bench.sync();
    assert!(words(&bench.content("One")).contains("mine"), "{}", bench.seen());
}

#[test]
fn a_quiet_pause_says_nothing() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Home", vec![paragraph("a", "words")]);
    });
    bench.run_in_step().stop();
    for command in ["pause", "pause", "resume", "resume"] {
        let told = bench.tell(&["-q", command]);
        assert_eq!((told.code, told.out.as_str(), told.err.as_str()), (0, "", ""), "{command}");
    }
}
