//! Deletions in portions, conflicts whose files move, and files that are saved under other names.

use std::fs;

use espejo::emulator::{Fault, Matcher};
use espejo::model::CanvasId;
use serde_json::{Value, json};

use super::super::bench::{Bench, save, words};
use super::{bench, board_id, deck, group, kick_off, on_slide, one_board};

#[test]
fn whiteboards_and_presentations_that_go_in_portions_are_held() {
    let bench = bench(|world, space| {
        for n in 0..40 {
            world.app_create_board(space, &format!("B{n:02}"));
        }
        for n in 0..5 {
            deck(world, &format!("D{n}"), &["a"]);
        }
    });
    let daemon = bench.run_canvases();
    let trashed = || {
        let world = bench.world();
        let boards = world.whiteboards().filter(|board| board.trashed).count();
        boards + world.presentations().filter(|deck| deck.trashed).count()
    };
    let remove = |names: std::ops::Range<usize>| {
        for n in names {
            fs::remove_file(bench.board_file(&format!("B{n:02}.canvas"))).unwrap();
        }
    };
    // What came of one of them is not heard.
    bench.world().fail_next(Matcher::Method("DELETE".to_owned()), Fault::LostAfter);
    remove(0..4);
    fs::remove_file(bench.deck_file("D4.canvas")).unwrap();
    bench.until("the first go", || trashed() == 5);
    remove(4..9);
    bench.until("the others are held", || bench.attention().contains("10 of 45 mirrored"));
    assert!(bench.attention().contains("of them just before"), "{}", bench.attention());
    bench.look_again();
    assert_eq!(trashed(), 5, "{}", bench.seen());
    // Killed and started anew it counts still.
    daemon.kill();
    let daemon = bench.run();
    bench.ask("\"full-pass\"");
    bench.sync_any();
    assert_eq!(trashed(), 5, "{}", bench.seen());
    // Nor does what is held go when the first are long ago.
    daemon.kill();
    removed_long_ago(&bench);
    let daemon = bench.run();
    bench.ask("\"full-pass\"");
    bench.sync_any();
    assert_eq!(trashed(), 5, "{}", bench.seen());
    let told = bench.tell(&["approve", "--yes"]);
    assert!(matches!(told.code, 0 | 3), "{told:?}");
    bench.until("they go then", || trashed() == 10);
    drop(daemon);

    let bench = self::bench(|world, _| {
        for n in 0..12 {
            deck(world, &format!("D{n:02}"), &["a"]);
        }
    });
    let daemon = bench.run_canvases();
    let trashed = || bench.world().presentations().filter(|deck| deck.trashed).count();
    let remove = |name: &str| fs::remove_file(bench.deck_file(&format!("{name}.canvas"))).unwrap();
    remove("D00");
    remove("D01");
    bench.until("the first go", || trashed() == 2);
    remove("D02");
    remove("D03");
    bench.until("the others are held", || bench.attention().contains("4 of 12 mirrored"));
    bench.sync_any();
    assert_eq!(trashed(), 2, "{}", bench.seen());
    drop(daemon);
}

/// Makes the state believe that what went a short while ago went twenty minutes before that.
fn removed_long_ago(bench: &Bench) {
    let db = rusqlite::Connection::open(bench.state().join("espejo.sqlite3")).unwrap();
    let mut query = db.prepare("SELECT key, json FROM journal").unwrap();
    let rows = query.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).unwrap();
    let mut count = 0;
    for (key, text) in rows.map(Result::unwrap).collect::<Vec<_>>() {
        let mut act: Value = serde_json::from_str(&text).unwrap();
        let at = act["state"]["Done"]["at"].as_i64();
        if let Some(at) = at.filter(|_| act["part"] == "Item" && act["deed"].get("Remove").is_some()) {
            act["state"]["Done"]["at"] = json!(at - 1_200_000);
            db.execute("UPDATE journal SET json = ?1 WHERE key = ?2", (act.to_string(), key)).unwrap();
            count += 1;
        }
    }
    assert!(count > 0, "nothing was removed");
}

/// The conflicts that are listed: the file, and the copy beside it.
fn listed(bench: &Bench) -> Vec<(String, String)> {
    let told = bench.tell(&["resolve", "--json"]);
    let all: Vec<Value> = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{told:?}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.iter().map(|conflict| (text(&conflict["path"]), text(&conflict["copy"]))).collect()
}

/// The only conflict is about `file`, and its copy is where the list says.
#[track_caller]
fn one_conflict_of(bench: &Bench, file: &str) {
    bench.until(file, || {
        let all = listed(bench);
        matches!(all.as_slice(), [(path, copy)] if path == file && bench.root().join(copy).exists())
    });
    bench.sync_any();
    assert_eq!(listed(bench).len(), 1, "{}", bench.seen());
}

#[test]
fn a_conflict_stays_listed_wherever_its_file_goes() {
    let (mut board, mut ids, mut slides, mut talk) = (None, Vec::new(), Vec::new(), None);
    let bench = bench(|world, space| {
        let (canvas, all) = kick_off(world, space);
        (board, ids) = (Some(canvas), all);
        world.app_create_board(space, "Other");
        let (id, all) = deck(world, "Pitch", &["a", "b"]);
        (talk, slides) = (Some(id), all);
        let parent = world.app_create(space, None, "Parent", Vec::new());
        world.app_create(space, Some(&parent), "Sub", vec![super::super::bench::paragraph("a", "one line")]);
    });
    let (board, talk) = (board.unwrap(), talk.unwrap());
    bench.run_canvases().stop();

    // A page: its folder is renamed here with its page, then in the app.
    let sub = bench.id("Sub");
    let text = bench.text("Parent/Sub.md");
    bench.world().app_edit(&sub, vec![super::super::bench::paragraph("a", "the app's line")]);
    save(&bench.page("Parent/Sub.md"), &text.replace("one line", "my line"));
    let daemon = bench.run_canvases();
    one_conflict_of(&bench, "Equipo/Pages/Parent/Sub.md");
    fs::rename(bench.page("Parent.md"), bench.page("Mother.md")).unwrap();
    fs::rename(bench.page("Parent"), bench.page("Mother")).unwrap();
    one_conflict_of(&bench, "Equipo/Pages/Mother/Sub.md");
    let mother = bench.id("Mother");
    bench.world().app_rename(&mother, "Elder");
    bench.sync_any();
    one_conflict_of(&bench, "Equipo/Pages/Elder/Sub.md");
    bench.world().app_rename(&sub, "Below");
    bench.sync_any();
    one_conflict_of(&bench, "Equipo/Pages/Elder/Below.md");
    daemon.stop();
    assert_eq!(words(&bench.content("Below")), "the app's line\n");
    // Where nothing runs, too.
    fs::rename(bench.page("Elder.md"), bench.page("Last.md")).unwrap();
    fs::rename(bench.page("Elder"), bench.page("Last")).unwrap();
    bench.sync_any();
    one_conflict_of(&bench, "Equipo/Pages/Last/Below.md");
    let settle = |bench: &Bench| {
        for (_, copy) in listed(bench) {
            fs::remove_file(bench.root().join(copy)).unwrap();
        }
        bench.sync_any();
        assert_eq!(listed(bench), []);
    };
    settle(&bench);

    let collide = |canvas: &CanvasId, element: &str, path: &std::path::Path| {
        bench.world().app_edit_element(canvas, element, json!({ "content": "the app's words" }));
        bench.edit_canvas(path, |nodes| {
            let mine = nodes.iter_mut().find(|node| node["id"] == element).unwrap();
            mine["text"] = json!("my words");
        });
        bench.sync_any();
    };
    // A presentation: it is renamed here, which is put back, then in the app; then the slide has another number.
    let element = bench.elements(&slides[0])[0]["id"].as_str().unwrap().to_owned();
    collide(&slides[0], &element, &bench.deck_file("Pitch.canvas"));
    one_conflict_of(&bench, "Presentations/Pitch.canvas");
    fs::rename(bench.deck_file("Pitch.canvas"), bench.deck_file("Speech.canvas")).unwrap();
    bench.sync_any();
    one_conflict_of(&bench, "Presentations/Pitch.canvas");
    bench.world().app_rename_deck(&talk, "Talk");
    bench.sync_any();
    one_conflict_of(&bench, "Presentations/Talk.canvas");
    bench.world().app_insert_slide(&talk, 0);
    bench.sync_any();
    one_conflict_of(&bench, "Presentations/Talk.canvas");
    settle(&bench);

    // A whiteboard is renamed in the app.
    collide(&board, &ids[0], &bench.board_file("Kick-off.canvas"));
    one_conflict_of(&bench, "Equipo/Whiteboards/Kick-off.canvas");
    bench.world().app_rename_board(&board_id(&board), "Start");
    bench.sync_any();
    one_conflict_of(&bench, "Equipo/Whiteboards/Start.canvas");
    settle(&bench);
}

#[test]
fn a_canvas_that_is_settled_with_ones_own_version_stays_so() {
    let (bench, board, ids) = one_board();
    bench.run_canvases().stop();
    let path = bench.board_file("Kick-off.canvas");
    bench.world().app_edit_element(&board, &ids[0], json!({ "content": "the app's words" }));
    bench.edit_canvas(&path, |nodes| super::node_of(nodes, &ids[0])["text"] = json!("my words"));
    bench.sync_any();
    one_conflict_of(&bench, "Equipo/Whiteboards/Kick-off.canvas");
    let typed = path.display().to_string();
    let told = bench.tell(&["resolve", &typed, "--mine"]);
    assert_eq!(told.code, 0, "{told:?}");
    // At once: the file is read and sent before the command ends.
    let told = bench.tell(&["sync", &typed]);
    assert_eq!(told.code, 0, "{told:?}\n{}", bench.seen());
    assert_eq!(bench.element(&board, &ids[0])["content"], "my words", "{told:?}\n{}", bench.seen());
    bench.sync_any();
    assert_eq!(listed(&bench), []);
    assert!(fs::read_to_string(&path).unwrap().contains("my words"));
}

#[test]
fn a_canvas_that_is_saved_under_another_name_is_that_canvas() {
    let (mut board, mut slides, mut talk) = (None, Vec::new(), None);
    let bench = bench(|world, space| {
        board = Some(kick_off(world, space).0);
        world.app_create_board(space, "Other");
        world.app_create_board(space, "Third");
        let (id, all) = deck(world, "Pitch", &["a", "b", "c"]);
        (talk, slides) = (Some(id), all);
    });
    let (board, talk) = (board.unwrap(), talk.unwrap());
    let daemon = bench.run_canvases();
    let before = bench.world().slides_of(&talk);
    let pairs = [
        (bench.deck_file("Pitch.canvas"), bench.deck_file("Intro.canvas")),
        (bench.board_file("Kick-off.canvas"), bench.board_file("Plan.canvas")),
    ];
    for (old, new) in &pairs {
        let mut canvas = bench.canvas(old);
        let nodes = canvas["nodes"].as_array_mut().unwrap();
        nodes.iter_mut().find(|node| node["type"] == "text").unwrap()["text"] = json!("saved as another");
        save(new, &super::as_obsidian(&canvas));
        fs::remove_file(old).unwrap();
        bench.until("it has its name again", || old.exists() && !new.exists());
        bench.until("its edit is there", || {
            [&board, &slides[0]].iter().any(|canvas| {
                bench.elements(canvas).iter().any(|element| element["content"] == "saved as another")
            })
        });
        bench.until_canvases_rest();
    }
    assert_eq!(bench.world().slides_of(&talk), before, "{}", bench.seen());
    assert_eq!(bench.world().whiteboards().filter(|board| !board.trashed).count(), 3, "{}", bench.seen());
    assert!(!bench.world().whiteboard(&board_id(&board)).unwrap().trashed);
    let attention = bench.attention();
    assert!(attention.contains("Pitch.canvas: a presentation cannot be renamed"), "{attention}");
    assert!(attention.contains("Kick-off.canvas: a whiteboard cannot be renamed"), "{attention}");
    let changes = bench.changes();
    assert!(changes.len() == 2 && changes.iter().all(|(line, _)| line.starts_with("PATCH")), "{changes:?}");
    drop(daemon);
    bench.canvases_rest();
}

#[test]
fn a_canvas_says_whose_it_is_and_is_found_by_that_where_a_program_made_all_its_nodes_anew() {
    let (mut board, mut talk) = (None, None);
    let bench = bench(|world, space| {
        let canvas = CanvasId::Board(world.app_create_board(space, "Small"));
        world.app_put_element(&canvas, json!({ "type": "sticky", "content": "old" })).unwrap();
        board = Some(canvas);
        world.app_create_board(space, "Other");
        talk = Some(deck(world, "Pitch", &["old"]).0);
        deck(world, "Talk", &["other"]);
    });
    let (board, talk) = (board.unwrap(), talk.unwrap());
    let daemon = bench.run_canvases();
    let files = [
        (bench.board_file("Small.canvas"), board.own_id(), bench.board_file("Plan.canvas")),
        (bench.deck_file("Pitch.canvas"), talk.as_str(), bench.deck_file("Plan.canvas")),
    ];
    for (path, id, away) in files {
        assert_eq!(bench.canvas(&path)["espejo"], json!({ "id": id }));
        fs::remove_file(&path).unwrap();
        // No id of an element or slide is left.
        let canvas = json!({ "espejo": { "id": id }, "nodes": [group("g", 0), on_slide("n", 0, "new")] });
        save(&away, &canvas.to_string());
        bench.until("it has its name again", || path.exists() && !away.exists());
        bench.until_canvases_rest();
    }
    let contents = |canvas: &CanvasId| -> Vec<Value> {
        bench.elements(canvas).iter().map(|element| element["content"].clone()).collect()
    };
    assert_eq!(contents(&board), ["new"]);
    let slides: Vec<CanvasId> = bench
        .world()
        .slides_of(&talk)
        .into_iter()
        .map(|slide| CanvasId::Slide(talk.clone(), slide))
        .collect();
    // A slide that is gone from the file comes back.
    assert_eq!(slides.iter().map(contents).collect::<Vec<_>>(), [["old"], ["new"]], "{}", bench.seen());
    assert!(!bench.world().whiteboard(&board_id(&board)).unwrap().trashed);
    assert!(!bench.world().presentation(&talk).unwrap().trashed);
    assert_eq!(bench.world().whiteboards().count(), 2, "{}", bench.seen());
    assert_eq!(bench.world().presentations().count(), 2);
    drop(daemon);
    bench.canvases_rest();
}
