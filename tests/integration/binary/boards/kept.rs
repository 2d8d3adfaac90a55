//! Deletions in portions, conflicts whose folders move, and files that are saved under other names.

use std::fs;

use espejo::emulator::{Fault, Matcher};
use espejo::model::CanvasId;
use serde_json::{Value, json};

use super::super::bench::{Bench, save, words};
use super::{ON, bench, board_id, deck, kick_off};

#[test]
fn whiteboards_slides_and_presentations_that_go_in_portions_are_held() {
    let mut talk = None;
    let bench = Bench::with(&format!("{ON}allow_permanent_deletes = true\n"), |world, space| {
        for n in 0..40 {
            world.app_create_board(space, &format!("B{n:02}"));
        }
        talk = Some(deck(world, "Pitch", &["a", "b", "c", "d", "e"]).0);
    });
    let talk = talk.unwrap();
    let daemon = bench.run_canvases();
    let trashed = || bench.world().whiteboards().filter(|board| board.trashed).count();
    let remove = |names: std::ops::Range<usize>| {
        for n in names {
            fs::remove_file(bench.board_file(&format!("B{n:02}.canvas"))).unwrap();
        }
    };
    // What came of one of them is not heard.
    bench.world().fail_next(Matcher::Method("DELETE".to_owned()), Fault::LostAfter);
    remove(0..4);
    fs::remove_file(bench.deck_file("Pitch/05.canvas")).unwrap();
    bench.until("the first go", || trashed() == 4 && bench.world().slides_of(&talk).len() == 4);
    remove(4..9);
    bench.until("the others are held", || {
        bench.attention().contains("10 of 45 mirrored whiteboards and slides")
    });
    assert!(bench.attention().contains("of them just before"), "{}", bench.attention());
    bench.look_again();
    assert_eq!((trashed(), bench.world().slides_of(&talk).len()), (4, 4), "{}", bench.seen());
    // Killed and started anew it counts still.
    daemon.kill();
    let daemon = bench.run();
    bench.ask("\"full-pass\"");
    bench.sync_any();
    assert_eq!(trashed(), 4, "{}", bench.seen());
    // Nor does what is held go when the first are long ago.
    daemon.kill();
    super::super::guards::go_by(&bench, "removals");
    let daemon = bench.run();
    bench.ask("\"full-pass\"");
    bench.sync_any();
    assert_eq!(trashed(), 4, "{}", bench.seen());
    let told = bench.tell(&["approve", "--yes"]);
    assert!(matches!(told.code, 0 | 3), "{told:?}");
    bench.until("they go then", || trashed() == 9);
    drop(daemon);

    let bench = super::bench(|world, _| {
        for n in 0..12 {
            deck(world, &format!("D{n:02}"), &["a"]);
        }
    });
    let daemon = bench.run_canvases();
    let trashed = || bench.world().presentations().filter(|deck| deck.trashed).count();
    let remove = |name: &str| {
        bench.until("a folder is removed", || fs::remove_dir_all(bench.deck_file(name)).is_ok());
    };
    remove("D00");
    remove("D01");
    bench.until("the first go", || trashed() == 2);
    remove("D02");
    remove("D03");
    bench.until("the others are held", || bench.attention().contains("4 of 12 mirrored presentations"));
    bench.sync_any();
    assert_eq!(trashed(), 2, "{}", bench.seen());
    drop(daemon);
}

/// The conflicts that are listed: the file, and the copy beside it.
fn listed(bench: &Bench) -> Vec<(String, String)> {
    let told = bench.tell(&["conflicts", "--json"]);
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
fn a_conflict_stays_listed_wherever_its_folder_goes() {
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
    // A slide: its folder is renamed here, which is put back, then in the app; then the slide has another number.
    let element = bench.elements(&slides[0])[0]["id"].as_str().unwrap().to_owned();
    collide(&slides[0], &element, &bench.deck_file("Pitch/01.canvas"));
    one_conflict_of(&bench, "Presentations/Pitch/01.canvas");
    fs::rename(bench.deck_file("Pitch"), bench.deck_file("Speech")).unwrap();
    bench.sync_any();
    one_conflict_of(&bench, "Presentations/Pitch/01.canvas");
    bench.world().app_rename_deck(&talk, "Talk");
    bench.sync_any();
    one_conflict_of(&bench, "Presentations/Talk/01.canvas");
    bench.world().app_insert_slide(&talk, 0);
    bench.sync_any();
    one_conflict_of(&bench, "Presentations/Talk/02.canvas");
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
        (bench.deck_file("Pitch/02.canvas"), bench.deck_file("Pitch/Intro.canvas")),
        (bench.board_file("Kick-off.canvas"), bench.board_file("Plan.canvas")),
    ];
    for (old, new) in &pairs {
        let mut canvas = bench.canvas(old);
        canvas["nodes"][0]["text"] = json!("saved as another");
        save(new, &super::as_obsidian(&canvas));
        fs::remove_file(old).unwrap();
        bench.until("it has its name again", || old.exists() && !new.exists());
        bench.until("its edit is there", || {
            [&board, &slides[1]].iter().any(|canvas| {
                bench.elements(canvas).iter().any(|element| element["content"] == "saved as another")
            })
        });
        bench.until_canvases_rest();
    }
    assert_eq!(bench.world().slides_of(&talk), before, "{}", bench.seen());
    assert_eq!(bench.world().whiteboards().filter(|board| !board.trashed).count(), 3, "{}", bench.seen());
    assert!(!bench.world().whiteboard(&board_id(&board)).unwrap().trashed);
    let attention = bench.attention();
    assert!(attention.contains("Pitch/02.canvas: slides cannot be reordered"), "{attention}");
    assert!(attention.contains("Kick-off.canvas: a whiteboard cannot be renamed"), "{attention}");
    let changes = bench.changes();
    assert!(changes.len() == 2 && changes.iter().all(|(line, _)| line.starts_with("PATCH")), "{changes:?}");
    drop(daemon);
    bench.canvases_rest();
}
