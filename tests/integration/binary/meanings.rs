//! What an answer of the service means: an outage of whatever kind is one, a refusal is told once and in the same words for every
//! kind, and names and numbers that the service keeps otherwise than they were sent double nothing.

use espejo::emulator::{Choices, Fault, Matcher};
use espejo::model::CanvasId;
use serde_json::json;

use super::bench::{Bench, DEADLINE, append, paragraph, save, side_by_side, words};
use super::boards;
use super::storage::{bytes, stored, text};
use super::storage_send::{BOTH, docs_and_three, there, uploads, write};

const ALL: &str =
    "[whiteboards]\nenabled = true\n[presentations]\nenabled = true\n[storage]\nmode = \"two-way\"";

fn status(status: u16) -> Fault {
    Fault::Status { status, retry_after: None }
}

fn all_kinds() -> Bench {
    Bench::with(ALL, |world, space| {
        for n in 0..4 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
        }
        boards::kick_off(world, space);
        world.app_put_file(None, "a.txt", bytes("words"));
    })
}

fn route(method: &str, path: &str) -> Matcher {
    Matcher::Route(method.to_owned(), path.to_owned())
}

fn node(text: &str) -> serde_json::Value {
    json!({ "id": "n", "type": "text", "text": text, "x": 10.4, "y": 20.5, "width": 99.6, "height": 99.3 })
}

fn nodes(text: &str) -> String {
    json!({ "nodes": [node(text)] }).to_string()
}

/// How many whiteboards or pages the service ever made with a name that begins so.
fn made(bench: &Bench, name: &str) -> usize {
    let world = bench.world();
    let boards = world.whiteboards().filter(|board| board.name.starts_with(name)).count();
    boards + world.pages().filter(|page| page.title.starts_with(name)).count()
}

#[test]
fn a_service_that_finds_nothing_is_one_outage_and_all_goes_out_when_it_is_over() {
    side_by_side([404, 500], |code| {
        let bench = all_kinds();
        let daemon = bench.run_canvases();
        bench.world().fail_randomly(Matcher::Any, status(code), 1000);
        append(&bench.page("Page 1.md"), "\nmine\n");
        save(&bench.page("New.md"), "made here\n");
        save(&bench.board_file("Ideas.canvas"), &nodes("mine"));
        write(&bench, "new.txt", b"mine");
        bench.until("it is told, once", || bench.attention().lines().count() == 1);
        let before = bench.world().log().entries().len();
        bench.until("several requests failed", || bench.world().log().entries().len() >= before + 2);
        let told = bench.attention();
        assert_eq!(told.lines().count(), 1, "{code}: {told}");
        bench.world().calm();
        bench.until("the page has its words", || words(&bench.content("Page 1")).contains("mine"));
        bench.until("all are made", || {
            bench.titled("New").is_some()
                && made(&bench, "Ideas") == 1
                && there(&bench).contains(&"new.txt: mine".to_owned())
        });
        bench.until("nothing needs the user", || bench.attention().is_empty());
        drop(daemon);
    });
}

#[test]
fn an_upload_goes_to_a_workspace_that_takes_it() {
    let mut other = None;
    let bench = Bench::with(BOTH, |world, space| {
        world.app_set_role(space, "viewer");
        other = Some(world.add_workspace("Otro", "otro"));
    });
    bench.sync();
    for n in 0..3 {
        write(&bench, &format!("{n}.txt"), b"words");
    }
    bench.sync();
    assert_eq!(there(&bench).len(), 3);
    // One that refuses is tried once for each file, and the one that took the last file is remembered.
    let sent = uploads(&bench);
    assert!(sent <= 6, "{:?}", bench.writes());
    for name in ["later.txt", "after a restart.txt"] {
        write(&bench, name, b"words");
        bench.sync();
    }
    assert_eq!(uploads(&bench), sent + 2, "{:?}", bench.writes());
    let daemon = bench.run();
    write(&bench, "beside a daemon.txt", b"words");
    bench.until("it is there", || there(&bench).len() == 6);
    assert_eq!(uploads(&bench), sent + 3, "{:?}", bench.writes());
    drop(daemon);
}

#[test]
fn a_sync_again_and_again_does_not_send_a_refused_upload_again() {
    for (name, held) in [("large.dat", vec![7; 2 << 20]), ("empty.dat", Vec::new())] {
        let bench = docs_and_three();
        bench.sync();
        bench.world().fail_randomly(route("POST", "/storage"), status(400), 1000);
        write(&bench, name, &held);
        for _ in 0..4 {
            assert_eq!(bench.tell(&["sync"]).code, 3);
        }
        assert_eq!(uploads(&bench), 1, "{name}");
        bench.world().calm();
        let path = format!("Storage/{name}");
        let daemon = bench.run();
        bench.until("it can be asked", || bench.tell(&["sync", &path]).code != 1);
        bench.until("it is sent", || uploads(&bench) == 2 && bench.attention().is_empty());
        drop(daemon);
    }
}

#[test]
fn what_is_refused_is_told_once_and_in_the_same_words_for_every_kind() {
    let bench = all_kinds();
    let daemon = bench.run_canvases();
    bench.world().fail_randomly(Matcher::Method("POST".to_owned()), status(400), 1000);
    save(&bench.page("New.md"), "made here\n");
    save(&bench.board_file("Ideas.canvas"), &nodes("mine"));
    std::fs::create_dir_all(bench.deck_file("x").parent().unwrap()).unwrap();
    save(&bench.deck_file("Talk.canvas"), &boards::talk_of(&["one"]));
    write(&bench, "new.txt", b"mine");
    let all = ["New.md", "Ideas.canvas", "Talk.canvas", "new.txt"];
    bench.until("all are told", || all.iter().all(|name| bench.attention().contains(name)));
    let status = bench.status();
    let told = status["attention"].as_array().unwrap().clone();
    for name in all {
        let of: Vec<_> = told.iter().filter(|one| one["path"].as_str().unwrap().ends_with(name)).collect();
        assert_eq!(of.len(), 1, "{name}: {told:#?}");
        assert_eq!(of[0]["level"], "act", "{name}: {told:#?}");
    }
    drop(daemon);
}

#[test]
fn a_refused_new_slide_is_told_once_as_what_a_person_can_act_on() {
    let bench = boards::bench(|world, _| drop(world.app_create_deck("Talk", 960.0, 540.0)));
    let daemon = bench.run_canvases();
    bench.world().fail_randomly(Matcher::Method("POST".to_owned()), status(400), 1000);
    bench.edit_canvas(&bench.deck_file("Talk.canvas"), |nodes| {
        nodes.extend([boards::group("g", 1), boards::on_slide("n", 1, "mine")]);
    });
    bench.until("it is told", || !bench.attention().is_empty());
    let status = bench.status();
    let told = status["attention"].as_array().unwrap();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0]["level"], "act", "{told:#?}");
    bench.world().calm();
    assert_eq!(bench.tell(&["sync"]).code, 0, "{}", bench.attention());
    assert_eq!(bench.slide_texts(&bench.deck_file("Talk.canvas")).concat(), ["mine"]);
    drop(daemon);
}

#[test]
fn a_removed_node_that_may_not_be_deleted_delays_no_edit_and_is_told_steadily() {
    let mut there = None;
    let bench = boards::bench(|world, space| there = Some(boards::kick_off(world, space)));
    let (board, ids) = there.expect("it was made");
    let daemon = bench.run_canvases();
    bench.world().fail_randomly(Matcher::Method("DELETE".to_owned()), status(403), 1000);
    let path = bench.board_file("Kick-off.canvas");
    bench.edit_canvas(&path, |nodes| nodes.retain(|node| node["id"] != ids[2].as_str()));
    bench.until("it is told", || bench.attention().contains("the service forbids removing"));
    for n in 0..5 {
        let words = format!("edit {n}");
        bench.edit_canvas(&path, |nodes| {
            let node = boards::node_of(nodes, &ids[0]);
            node["text"] = json!(words);
        });
        bench.until("the edit goes out", || bench.element(&board, &ids[0])["content"] == words);
        assert!(bench.attention().contains("the service forbids removing"), "{}", bench.attention());
    }
    let tries = || bench.writes().iter().filter(|write| write.starts_with("DELETE")).count();
    assert!(tries() <= 3, "{:?}", bench.writes());
    // A pass is a try. It is told no second time, and the wait for the next one is longer.
    for n in 1..3 {
        let before = tries();
        bench.ask("\"full-pass\"");
        bench.until("it is tried", || tries() > before);
        bench.until("it is decided", || bench.attention().contains("the service forbids removing"));
        let log = bench.log();
        let told = log.lines().filter(|line| line.contains("the service forbids removing"));
        assert_eq!(told.count(), 1, "{n}: {log}");
    }
    bench.world().calm();
    assert_eq!(bench.tell(&["sync"]).code, 0, "{}", bench.seen());
    assert!(!bench.elements(&board).iter().any(|element| element["id"] == ids[2].as_str()));
    bench.until("nothing needs the user", || bench.attention().is_empty());
    drop(daemon);
}

#[test]
fn a_refused_edit_of_a_slide_is_told_once() {
    let mut talk = None;
    let bench = boards::bench(|world, _| {
        let deck = world.app_create_deck("Talk", 900.0, 500.0);
        let slide = world.slides_of(&deck)[0].clone();
        let slide = CanvasId::Slide(deck, slide);
        let id = world.app_put_element(&slide, json!({ "type": "text", "x": 10, "y": 10, "content": "one" }));
        talk = Some((slide, id.unwrap()));
    });
    let (slide, id) = talk.unwrap();
    let daemon = bench.run_canvases();
    bench.world().fail_randomly(Matcher::Method("PATCH".to_owned()), status(400), 1000);
    bench.edit_slide(&bench.deck_file("Talk.canvas"), &slide, |nodes| {
        let node = boards::node_of(nodes, &id);
        node["text"] = json!("mine");
    });
    bench.until("it is told", || !bench.attention().is_empty());
    let status = bench.status();
    let told = status["attention"].as_array().unwrap();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0]["level"], "act", "{told:#?}");
    drop(daemon);
}

#[test]
fn a_viewer_s_edits_are_refused_and_the_page_is_not_said_to_be_missing() {
    let bench = all_kinds();
    let daemon = bench.run_canvases();
    let space = bench.space.clone();
    bench.world().app_set_role(&space, "viewer");
    append(&bench.page("Page 1.md"), "\nmine\n");
    bench.until("it is told", || bench.attention().contains("Page 1.md"));
    let status = bench.status();
    let told = status["attention"].as_array().unwrap().clone();
    let of: Vec<_> = told.iter().filter(|one| one["path"].as_str().unwrap().ends_with("Page 1.md")).collect();
    assert_eq!(of.len(), 1, "{told:#?}");
    assert_eq!(of[0]["level"], "act", "{told:#?}");
    assert!(!of[0]["reason"].as_str().unwrap().contains("does not show"), "{told:#?}");
    drop(daemon);
}

#[test]
fn a_text_that_is_not_editable_goes_back_and_the_rest_of_the_edit_is_sent() {
    let mut there = None;
    let bench = boards::bench(|world, space| there = Some(boards::kick_off(world, space)));
    let (board, ids) = there.expect("it was made");
    let daemon = bench.run_canvases();
    let refusal = json!({ "error": "This element has no editable text", "code": "content_not_editable" });
    bench.world().fail_next(Matcher::Method("PATCH".to_owned()), Fault::Answer(400, refusal));
    let path = bench.board_file("Kick-off.canvas");
    bench.edit_canvas(&path, |nodes| {
        let node = boards::node_of(nodes, &ids[0]);
        node["text"] = json!("mine");
        node["x"] = json!(777);
    });
    bench.until("it is moved", || bench.element(&board, &ids[0])["x"] == 777);
    assert_eq!(bench.element(&board, &ids[0])["content"], "one");
    bench.until("its text is put back", || bench.nodes(&path)[&ids[0]]["text"] == "one");
    assert!(bench.log().contains("the text of a node is changed back"), "{}", bench.log());
    drop(daemon);
}

#[test]
fn a_stored_file_whose_size_is_told_wrong_is_kept_and_noted() {
    for told in [3, 100] {
        let bench = Bench::with(BOTH, |world, _| {
            let id = world.app_put_file(None, "odd.txt", bytes("what it holds"));
            world.app_change_file(&id, |file| file.told_size = Some(told));
            world.app_put_file(None, "even.txt", bytes("words"));
        });
        let daemon = bench.run();
        bench.until("it is here", || stored(&bench, "odd.txt").exists());
        assert_eq!(text(&bench, "odd.txt"), "what it holds");
        bench.until("it is noted", || bench.attention().contains("odd.txt"));
        assert_eq!(daemon.stop().code(), Some(0));
        bench.forget_requests();
        let downloads = bench.world().downloads().entries().len();
        assert_eq!(bench.tell(&["sync"]).code, 0, "{}", bench.attention());
        assert_eq!(bench.world().downloads().entries().len(), downloads);
        assert_eq!(bench.writes(), Vec::<String>::new());
    }
}

#[test]
fn what_the_service_keeps_otherwise_than_sent_is_made_once_although_the_answer_is_lost() {
    let bench = all_kinds();
    bench.world().choose(Choices { tidies: true, ..Choices::default() });
    let daemon = bench.run_canvases();
    for path in ["/pages", "/whiteboards", "/storage"] {
        bench.world().fail_next(route("POST", path), Fault::LostAfter);
    }
    save(&bench.page("Spaced  cafe\u{301} page.md"), "made here\n");
    save(&bench.board_file("Spaced  cafe\u{301} board.canvas"), &nodes("mine"));
    write(&bench, "Spaced  cafe\u{301} file.txt", b"mine");
    bench.until("all are made", || {
        made(&bench, "Spaced caf\u{e9}") == 2
            && there(&bench).iter().any(|file| file.starts_with("Spaced caf\u{e9}"))
    });
    let id = bench.world().whiteboards().find(|board| board.name.starts_with("Spaced")).unwrap().id.clone();
    let board = CanvasId::Board(id.clone());
    bench.until("it has its node", || bench.elements(&board).len() == 1);
    bench
        .world()
        .fail_next(route("POST", &format!("/whiteboards/{}/elements", id.as_str())), Fault::LostAfter);
    let file = std::fs::read_dir(bench.board_file("x").parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| {
            path.extension().is_some_and(|end| end == "canvas") && path.to_string_lossy().contains("Spaced")
        })
        .expect("its file");
    bench.edit_canvas(&file, |nodes| {
        let mut second = node("second");
        second["id"] = json!("m");
        second["x"] = json!(500.7);
        nodes.push(second);
    });
    bench.until("it is there", || bench.elements(&board).len() >= 2);
    bench.until_canvases_rest();
    assert_eq!(bench.elements(&board).len(), 2);
    assert_eq!(made(&bench, "Spaced"), 2);
    assert_eq!(
        there(&bench).iter().filter(|file| file.starts_with("Spaced")).count(),
        1,
        "{:?}",
        there(&bench)
    );
    bench.until("nothing needs the user", || bench.attention().is_empty());
    drop(daemon);
}

#[test]
fn a_list_with_an_entry_that_cannot_be_read_is_no_proof_that_nothing_was_made() {
    let bench = Bench::with(ALL, |world, space| {
        world.app_create(space, None, "First", vec![paragraph("a", "words")]);
        boards::kick_off(world, space);
        world.app_put_file(None, "a.txt", bytes("words"));
    });
    let daemon = bench.run_canvases();
    for path in ["/pages", "/whiteboards", "/storage"] {
        bench.world().fail_next(route("POST", path), Fault::LostAfter);
        // The new item is the second of its list.
        bench.world().fail_randomly(route("GET", path), Fault::SpoiltEntry, 1000);
    }
    save(&bench.page("New.md"), "made here\n");
    save(&bench.board_file("New.canvas"), &nodes("mine"));
    write(&bench, "new.txt", b"mine");
    let all_made = || made(&bench, "New") == 2 && there(&bench).len() == 2;
    bench.until("all are made", all_made);
    let made_at = bench.world().log().writes().last().expect("the last one").at;
    // Two lists, the second one seventeen seconds after the answer was lost, would speak against a creation.
    bench.until_within(DEADLINE * 2, "each list was looked at", || {
        bench.ask("\"full-pass\"");
        let world = bench.world();
        let late = |path: &str| {
            let mut all = world.log().entries().filter(|entry| entry.method == "GET");
            all.any(|entry| entry.path == path && entry.at.since_ms(made_at) > 22_000)
        };
        ["/pages", "/whiteboards", "/storage"].into_iter().all(late)
    });
    assert!(all_made(), "{}", bench.seen());
    bench.world().calm();
    bench.until_canvases_rest();
    bench.until("all is well", || bench.attention().is_empty());
    assert!(all_made(), "{}", bench.seen());
    assert!(words(&bench.content("New")).contains("made here"));
    drop(daemon);
}
