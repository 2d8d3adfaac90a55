//! What the service refuses is told with its next try, and tried again: by itself, by a sync, by a restart, and when the
//! place may be written to again. A sync beside what can never be done has an end and names it.

use std::fs;
use std::time::{Duration, Instant};

use espejo::emulator::{Choices, Fault, Matcher};
use serde_json::json;

use super::bench::{Bench, append, paragraph, save, side_by_side, words};
use super::{boards, storage, storage_send};

/// The patience of a sync, its grace time, and what a busy machine takes.
const SYNC_ENDS_MS: u64 = 61_000 + 20_000;

fn bench() -> Bench {
    Bench::new(|world, space| {
        for n in 0..4 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
        }
    })
}

fn status(status: u16) -> Fault {
    Fault::Status { status, retry_after: None }
}

#[test]
fn what_a_frozen_workspace_refused_goes_out_after_the_thaw() {
    side_by_side([400, 403], |frozen_write_status| {
        let bench = bench();
        bench.world().choose(Choices { frozen_write_status, ..Choices::default() });
        let daemon = bench.run_in_step();
        let (space, two) = (bench.space.clone(), bench.id("Page 2"));
        bench.world().app_freeze_workspace(&space, true);
        append(&bench.page("Page 1.md"), "\nwritten meanwhile\n");
        save(&bench.page("New.md"), "made meanwhile\n");
        if frozen_write_status == 403 {
            fs::remove_file(bench.page("Page 2.md")).unwrap();
        }
        bench.until("it is told that it is frozen, and nothing else", || {
            let told = bench.attention();
            told.contains("the workspace Equipo is frozen") && told.lines().count() == 1
        });
        assert!(bench.titled("New").is_none());
        bench.world().app_freeze_workspace(&space, false);
        bench.until("the edit goes out", || words(&bench.content("Page 1")).contains("written meanwhile"));
        bench.until("the new file goes out", || bench.titled("New").is_some());
        if frozen_write_status == 403 {
            // One that was refused with another status waits for a sync.
            bench.until("the deletion goes out", || bench.is_trashed(&two));
        }
        bench.until_in_step();
        bench.until("nothing needs the user", || bench.attention().is_empty());
        bench.rest(daemon);
    });
}

#[test]
fn a_403_to_one_item_delays_the_others_for_a_moment_and_is_tried_again_at_a_stated_time() {
    side_by_side(["PATCH", "POST", "DELETE"], |method| {
        let bench = bench();
        let daemon = bench.run_in_step();
        let page = bench.id("Page 1");
        let route = if method == "POST" { "/pages".to_owned() } else { format!("/pages/{page}") };
        bench.world().fail_randomly(Matcher::Route(method.to_owned(), route), status(403), 1000);
        match method {
            "PATCH" => append(&bench.page("Page 1.md"), "\nmine\n"),
            "POST" => save(&bench.page("Page 1.new.md"), "mine\n"),
            _ => fs::remove_file(bench.page("Page 1.md")).unwrap(),
        }
        bench.until("it is told, with the next try", || {
            let told = bench.attention();
            told.lines()
                .any(|line| line.contains("the service forbids") && line.contains("espejo retries at "))
        });
        append(&bench.page("Page 2.md"), "\nbeside it\n");
        bench.until("an edit beside it goes out", || words(&bench.content("Page 2")).contains("beside it"));
        bench.world().calm();
        bench.until_within(Duration::from_secs(100), "it goes out", || match method {
            "PATCH" => words(&bench.content("Page 1")).contains("mine"),
            "POST" => bench.titled("Page 1.new").is_some(),
            _ => bench.is_trashed(&page),
        });
        bench.until("nothing needs the user", || bench.attention().is_empty());
        bench.rest(daemon);
    });
}

#[test]
fn a_refused_edit_and_a_refused_new_file_are_tried_again_by_a_sync_and_by_a_restart() {
    side_by_side(["sync beside a daemon", "sync", "restart"], |how| {
        let bench = bench();
        let daemon = bench.run_in_step();
        for method in ["PATCH", "POST"] {
            bench.world().fail_randomly(Matcher::Method(method.to_owned()), status(400), 1000);
        }
        append(&bench.page("Page 1.md"), "\nmine\n");
        save(&bench.page("New.md"), "made here\n");
        bench.until("both are told, with the next try", || {
            let told = bench.attention();
            let is_told = |name: &str| {
                told.lines().any(|line| {
                    line.contains(name) && line.contains("rejects it") && line.contains("espejo retries at")
                })
            };
            is_told("Page 1.md") && is_told("New.md")
        });
        bench.world().calm();
        let daemon = match how {
            "restart" => {
                assert_eq!(daemon.stop().code(), Some(0));
                bench.run()
            }
            "sync" => {
                assert_eq!(daemon.stop().code(), Some(0));
                bench.sync();
                bench.run()
            }
            _ => {
                bench.sync();
                daemon
            }
        };
        bench.until("the edit goes out", || words(&bench.content("Page 1")).contains("mine"));
        bench.until("the new file goes out", || bench.titled("New").is_some());
        bench.until("nothing needs the user", || bench.attention().is_empty());
        bench.rest(daemon);
    });
}

#[test]
fn a_refused_edit_goes_out_by_itself_within_its_time() {
    let bench = bench();
    let daemon = bench.run_in_step();
    bench.world().fail_next(Matcher::Method("PATCH".to_owned()), status(400));
    append(&bench.page("Page 1.md"), "\nmine\n");
    bench.until("it is told", || bench.attention().contains("rejects it"));
    let minutes = Duration::from_secs(100);
    bench.until_within(minutes, "it goes out", || words(&bench.content("Page 1")).contains("mine"));
    bench.until("nothing needs the user", || bench.attention().is_empty());
    bench.rest(daemon);
}

#[test]
fn a_service_that_fails_one_page_each_time_is_no_work_for_a_person() {
    side_by_side(["GET", "PATCH"], |method| {
        let bench = bench();
        let daemon = bench.run_in_step();
        let route = format!("/pages/{}", bench.id("Page 1"));
        let matcher = Matcher::Route(method.to_owned(), route);
        bench.world().fail_randomly(matcher, status(500), 1000);
        append(&bench.page("Page 1.md"), "\nmine\n");
        bench.until("it is told as the service's trouble", || {
            let told = bench.attention();
            let of_page = told.lines().find(|line| line.starts_with("Equipo/Pages/Page 1.md"));
            let is_told = of_page.is_some_and(|line| line.contains("(nothing to do: espejo retries at "));
            if !is_told {
                // Looks at other pages, without which it would be the service that fails everything. It also tries the
                // page again, which untells it and doubles its wait: so what is told is looked at first.
                bench.ask("\"full-pass\"");
            }
            is_told
        });
        assert!(!bench.attention().contains("edit the file"), "{}", bench.attention());
        bench.world().calm();
        bench.until("the edit goes out", || words(&bench.content("Page 1")).contains("mine"));
        bench.until("nothing needs the user", || bench.attention().is_empty());
        bench.rest(daemon);
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long a sync takes is what is tried")]
fn a_sync_beside_a_page_that_cannot_be_read_ends_and_names_it() {
    let faults = [
        (status(403), 3),
        (status(400), 1),
        (status(404), 1),
        (status(500), 1),
        (Fault::PageWith200, 1),
        (Fault::Page(502), 1),
        (Fault::WrongType, 1),
        (Fault::Deep(5_000), 1),
    ];
    side_by_side(faults, |(fault, code)| {
        let bench = bench();
        bench.sync();
        // One that was seen before and is not found has most likely gone: the list says so, or it comes back.
        for seen_before in [true, false].into_iter().filter(|seen| !seen || fault != status(404)) {
            let title = if seen_before { "Page 1" } else { "Unseen" };
            if !seen_before {
                let space = bench.space.clone();
                bench.world().app_create(&space, None, title, vec![paragraph("a", "words")]);
            }
            let page = bench.id(title);
            bench.world().fail_randomly(Matcher::Page(page), fault.clone(), 1000);
            append(&bench.page("Page 2.md"), "\nan edit beside it\n");
            let began = Instant::now();
            let told = bench.tell(&["sync"]);
            assert_eq!(told.code, code, "{fault:?}: {told:?}\n{}", bench.seen());
            assert!(began.elapsed() < Duration::from_millis(SYNC_ENDS_MS), "{fault:?}: {told:?}");
            assert!(told.out.contains(title), "{fault:?}: {told:?}");
            assert!(words(&bench.content("Page 2")).contains("beside it"), "{fault:?}");
            bench.world().calm();
            bench.sync();
            assert!(bench.page(&format!("{title}.md")).exists());
        }
    });
}

#[test]
fn a_content_of_null_is_empty_only_where_nothing_else_was_agreed_on() {
    let bench = bench();
    bench.sync();
    let space = bench.space.clone();
    let (seen, new) = (bench.id("Page 1"), bench.world().app_create(&space, None, "New", vec![]));
    for page in [&seen, &new] {
        bench.world().fail_randomly(Matcher::Page(page.clone()), Fault::NullContent, 1000);
    }
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.out.contains("Page 1.md") && !told.out.contains("New"), "{told:?}");
    assert!(bench.text("Page 1.md").ends_with("words\n"), "{}", bench.text("Page 1.md"));
    assert!(bench.page("New.md").exists());
    bench.world().calm();
    bench.sync();
}

#[test]
fn what_a_frozen_workspace_refused_of_whiteboards_goes_out_after_the_thaw() {
    side_by_side([400, 403], |frozen_write_status| {
        let mut there = None;
        let bench = boards::bench(|world, space| there = Some(boards::kick_off(world, space)));
        let (board, ids) = there.expect("it was made");
        bench.world().choose(Choices { frozen_write_status, ..Choices::default() });
        let daemon = bench.run_canvases();
        let path = bench.board_file("Kick-off.canvas");
        let space = bench.space.clone();
        bench.world().app_freeze_workspace(&space, true);
        bench.edit_canvas(&path, |nodes| {
            let node = boards::node_of(nodes, &ids[0]);
            node["text"] = json!("written meanwhile");
        });
        let new = json!({ "nodes": [{ "id": "n", "type": "text", "text": "new", "x": 0, "y": 0, "width": 99, "height": 99 }] });
        save(&bench.board_file("New.canvas"), &new.to_string());
        bench.until("it is told, and that edits wait", || {
            let told = bench.attention();
            told.contains("the workspace Equipo is frozen") && told.contains("edits are pending")
        });
        bench.world().app_freeze_workspace(&space, false);
        bench.until("the edit goes out", || bench.element(&board, &ids[0])["content"] == "written meanwhile");
        bench.until("the new one goes out", || {
            bench.world().log().writes().any(|entry| entry.method == "POST" && entry.json()["name"] == "New")
                && bench.attention().is_empty()
        });
        drop(daemon);
    });
}

#[test]
fn a_refused_node_is_told_with_its_next_try_and_goes_out_by_itself() {
    let mut there = None;
    let bench = boards::bench(|world, space| there = Some(boards::kick_off(world, space)));
    let (board, ids) = there.expect("it was made");
    let daemon = bench.run_canvases();
    bench.world().fail_next(Matcher::Method("PATCH".to_owned()), status(400));
    bench.edit_canvas(&bench.board_file("Kick-off.canvas"), |nodes| {
        let node = boards::node_of(nodes, &ids[0]);
        node["text"] = json!("mine");
    });
    bench.until("it is told", || {
        let told = bench.attention();
        told.contains("is refused") && told.contains("espejo retries at ")
    });
    let minutes = Duration::from_secs(100);
    bench.until_within(minutes, "it goes out", || bench.element(&board, &ids[0])["content"] == "mine");
    bench.until("nothing needs the user", || bench.attention().is_empty());
    drop(daemon);
}

#[test]
fn a_refused_deletion_of_a_stored_file_is_tried_again_by_a_sync_and_a_refused_upload_with_its_next_change() {
    let bench = Bench::with("[storage]\nmode = \"two-way\"", |world, _| {
        for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
            world.app_put_file(None, name, storage::bytes("words"));
        }
    });
    bench.sync();
    for method in ["POST", "DELETE"] {
        bench.world().fail_randomly(Matcher::Method(method.to_owned()), status(400), 1000);
    }
    save(&storage::stored(&bench, "new.txt"), "made here\n");
    fs::remove_file(storage::stored(&bench, "a.txt")).unwrap();
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 3, "{told:?}");
    let told = bench.attention();
    let of = |name: &str| told.lines().find(|line| line.contains(name)).unwrap_or_default();
    assert!(of("new.txt").contains("espejo retries at "), "{told}");
    let refused = ["it is not moved to the service's trash: ", "put the file back", "espejo retries at "];
    assert!(refused.iter().all(|part| of("a.txt").contains(part)), "{told}");
    bench.world().calm();
    let there = || storage_send::there(&bench);
    assert_eq!(bench.tell(&["sync"]).code, 3);
    assert!(!there().contains(&"a.txt: words".to_owned()) && there().len() == 3, "{:?}", there());
    save(&storage::stored(&bench, "new.txt"), "and changed\n");
    bench.sync();
    assert!(there().contains(&"new.txt: and changed\n".to_owned()), "{:?}", there());
    assert_eq!(bench.attention(), "");
}
