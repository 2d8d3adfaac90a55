//! A lost state, and items whose files have other names than espejo would choose today.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use espejo::emulator::World;
use espejo::model::{CanvasId, DeckId};
use serde_json::json;

use super::bench::{Bench, paragraph, save_bytes, side_by_side};
use super::boards::{bench as canvases, deck, talk_of};
use super::storage::bytes;
use super::storage_send::{BOTH, there, write};

/// Everything is in step.
fn settle(bench: &Bench) {
    bench.until("everything is in step", || {
        bench.sync_any();
        bench.list().iter().all(|row| row["state"] == "synced")
    });
}

/// Loses the state: nothing is sent afterwards, and each file is as it was.
#[track_caller]
fn nothing_is_doubled(bench: &Bench) {
    settle(bench);
    let texts = || -> BTreeMap<String, String> {
        let files = bench.files().into_iter();
        files.map(|(path, seen)| (path, String::from_utf8_lossy(&seen.bytes).into_owned())).collect()
    };
    let before = texts();
    fs::remove_dir_all(bench.state()).unwrap();
    bench.forget_requests();
    bench.sync_any();
    settle(bench);
    assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
    assert_eq!(texts(), before, "{}", bench.seen());
    assert!(bench.attention().is_empty(), "{}", bench.attention());
}

fn save(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    save_bytes(path, text.as_bytes());
}

fn board(text: &str) -> String {
    json!({ "nodes": [{ "id": "n1", "type": "text", "x": 0, "y": 0, "width": 200, "height": 100, "text": text }] })
        .to_string()
}

#[test]
fn a_lost_state_doubles_no_whiteboard_that_has_another_name_than_espejo_would_choose() {
    let mut twins = Vec::new();
    let bench = canvases(|world, space| {
        for text in ["one", "two", "three"] {
            let name = if text == "three" { "Gemelo" } else { text };
            let board = world.app_create_board(space, name);
            twins.push(board.clone());
            let element = json!({ "type": "sticky", "content": text });
            world.app_put_element(&CanvasId::Board(board), element).unwrap();
        }
        world.app_create_board(space, "Vacía");
        world.app_create_board(space, "Vacía");
    });
    let names = ["Plan 10:30", "Reunio\u{301}n", "NUL", "con punto.", "back\\slash", "final "];
    settle(&bench);
    // The twins get their names one after the other: the order of their files is not that of the service.
    twins.sort();
    for board in twins.iter().rev() {
        bench.world().app_rename_board(board, "Gemelo");
        settle(&bench);
    }
    for name in names {
        save(&bench.board_file(&format!("{name}.canvas")), &board(name));
    }
    bench.until("they are whiteboards", || {
        bench.sync_any();
        bench.world().whiteboards().count() == 5 + names.len()
    });
    nothing_is_doubled(&bench);
}

#[test]
fn a_lost_state_finds_a_whiteboard_by_its_nodes_though_it_was_renamed() {
    let mut board = None;
    let bench = canvases(|world, space| {
        board = Some(world.app_create_board(space, "Antes"));
        let canvas = CanvasId::Board(board.clone().unwrap());
        world.app_put_element(&canvas, json!({ "type": "sticky", "content": "one" })).unwrap();
        world.app_create_board(space, "Otra");
    });
    settle(&bench);
    fs::remove_dir_all(bench.state()).unwrap();
    bench.forget_requests();
    bench.world().app_rename_board(&board.unwrap(), "Después");
    settle(&bench);
    assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
    let found: Vec<String> = bench.files().into_keys().filter(|path| path.ends_with(".canvas")).collect();
    assert_eq!(found, ["Equipo/Whiteboards/Después.canvas", "Equipo/Whiteboards/Otra.canvas"]);
}

#[test]
fn a_lost_state_doubles_and_swaps_no_presentation() {
    let mut decks: Vec<DeckId> = Vec::new();
    let bench = canvases(|world, _| {
        decks = ["A", "B", "C"].map(|name| deck(world, name, &[name, "second"]).0).to_vec();
    });
    settle(&bench);
    decks.sort();
    for deck in decks.iter().rev() {
        bench.world().app_rename_deck(deck, "P");
        settle(&bench);
    }
    save(&bench.deck_file("Charla 10:30.canvas"), &talk_of(&["a talk"]));
    bench.until("it is a presentation", || {
        bench.sync_any();
        bench.list().iter().any(|row| row["path"] == "Presentations/Charla 10:30.canvas")
    });
    nothing_is_doubled(&bench);
}

#[test]
fn a_lost_state_finds_a_presentation_by_its_slides_though_it_and_their_order_changed() {
    let mut decks: Vec<DeckId> = Vec::new();
    let bench = canvases(|world, _| {
        decks = ["A", "B"].map(|name| deck(world, name, &["one", "two"]).0).to_vec();
    });
    settle(&bench);
    fs::remove_dir_all(bench.state()).unwrap();
    bench.forget_requests();
    let change =
        |world: &mut World| world.app_rename_deck(&decks[0], "Z") && world.app_move_slide(&decks[0], 0, 1);
    assert!(change(&mut bench.world()));
    settle(&bench);
    assert_eq!(bench.writes(), Vec::<String>::new(), "{}", bench.seen());
    let found: Vec<String> = bench.files().into_keys().filter(|path| path.ends_with(".canvas")).collect();
    assert_eq!(found, ["Presentations/B.canvas", "Presentations/Z.canvas"], "{}", bench.seen());
    assert_eq!(bench.slide_texts(&bench.deck_file("Z.canvas")), [["two"], ["one"]]);
    assert_eq!(bench.slide_texts(&bench.deck_file("B.canvas")), [["one"], ["two"]]);
}

#[test]
fn a_lost_state_doubles_no_page_that_has_another_name_than_espejo_would_choose() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Other", vec![paragraph("a", "words")]);
    });
    settle(&bench);
    let names = ["Reunión 10:30", "man\u{303}ana", "NUL", "con punto.", "back\\slash", "final ", "fine"];
    for name in names {
        save(&bench.page(&format!("{name}.md")), &format!("{name}, of my own\n"));
        save(&bench.page(&format!("{name}/Sub: uno.md")), &format!("below {name}\n"));
    }
    save(&bench.page("file.md"), "---\ntitle: Another title\n---\nwords\n");
    save(&bench.page("file/below.md"), "below\n");
    bench.until("they are pages", || {
        bench.sync_any();
        bench.pages() == 1 + 2 * names.len() + 2
    });
    nothing_is_doubled(&bench);
}

#[test]
fn a_lost_state_doubles_no_stored_file_that_has_another_name_than_espejo_would_choose() {
    side_by_side([true, false], |in_folder| {
        let mut twins = Vec::new();
        let bench = Bench::with(BOTH, |world, _| {
            let folder = in_folder.then(|| world.app_make_folder(None, "Fotos 10:30"));
            for text in ["a twin", "a longer twin", "the longest twin"] {
                twins.push(world.app_put_file(folder.as_ref(), "x.pdf", bytes(text)));
            }
            for n in 0..9 {
                world.app_put_file(None, &format!("{n}.pdf"), bytes("pdf"));
            }
        });
        settle(&bench);
        let folder = if in_folder { "Fotos 10：30/" } else { "" };
        let names = ["foto 10:30", "man\u{303}ana", "NUL", "con punto.", "back\\slash", " lead", "trail "];
        for name in names {
            write(&bench, &format!("{folder}{name}.txt"), name.as_bytes());
        }
        bench.until("they are stored", || {
            bench.sync_any();
            there(&bench).len() == 12 + names.len()
        });
        // The first of the twins is gone: the others keep the names that they have.
        bench.world().app_change_file(&twins[0], |file| file.trashed = true);
        nothing_is_doubled(&bench);
    });
}
