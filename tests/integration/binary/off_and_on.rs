//! An area, or a workspace, that is off and on again: what left the folder meanwhile was not deleted.

use std::fs;

use super::bench::{Bench, paragraph, save};
use super::boards::deck;
use super::storage::{bytes, stored};
use super::unread::trashed;

const STORED: &str =
    "[storage]\nmode = \"two-way\"\n[whiteboards]\nenabled = true\n[presentations]\nenabled = true\n";
const ALL_OFF: &str =
    "[whiteboards]\nenabled = false\n[presentations]\nenabled = false\n[storage]\nenabled = false\n";

fn bench() -> Bench {
    Bench::with(STORED, |world, space| {
        for n in 0..3 {
            world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", &format!("words {n}"))]);
            world.app_create_board(space, &format!("Board {n}"));
            world.app_put_file(None, &format!("{n}.txt"), bytes(&format!("file {n}")));
        }
        for name in ["Pitch", "Talk"] {
            deck(world, name, &["one", "two"]);
        }
    })
}

#[test]
fn what_is_removed_while_its_area_is_off_is_written_anew() {
    let bench = bench();
    bench.sync();
    let gone = [
        bench.board_file("Board 0.canvas"),
        bench.board_file("Board 1.canvas"),
        stored(&bench, "0.txt"),
        bench.deck_file("Talk.canvas"),
    ];
    let pitch = bench.deck_file("Pitch.canvas");
    bench.write_config(6_000, ALL_OFF);
    bench.sync();
    gone.iter().for_each(|path| fs::remove_file(path).unwrap());
    bench.edit_canvas(&pitch, |nodes| nodes.truncate(2));
    bench.sync();
    bench.write_config(6_000, STORED);
    let daemon = bench.run_canvases();
    bench.until("all are back", || gone.iter().all(|path| path.exists()));
    let slides = || [bench.slide_texts(&pitch), bench.slide_texts(&bench.deck_file("Talk.canvas"))];
    bench.until("so are their slides", || slides().iter().all(|slides| *slides == [["one"], ["two"]]));
    bench.until_canvases_rest();
    // What is removed while it is on is deleted.
    fs::remove_file(&gone[0]).unwrap();
    bench.until("it is trashed", || trashed(&bench.world()) == "Board 0");
    daemon.stop();
    assert_eq!(trashed(&bench.world()), "Board 0");
}

#[test]
fn what_is_removed_while_its_workspace_is_not_chosen_is_written_anew() {
    let bench = bench();
    bench.sync();
    let config = bench.home().join("config.toml");
    let before = fs::read_to_string(&config).unwrap();
    let gone = [bench.page("Page 0.md"), bench.page("Page 1.md"), bench.board_file("Board 0.canvas")];
    bench.world().add_workspace("Otro", "otro");
    save(&config, &format!("workspaces = [\"otro\"]\n{before}"));
    bench.sync();
    gone.iter().for_each(|path| fs::remove_file(path).unwrap());
    bench.sync();
    save(&config, &before);
    let daemon = bench.run_canvases();
    bench.until("all are back", || gone.iter().all(|path| path.exists()));
    bench.until_canvases_rest();
    daemon.stop();
    assert_eq!(trashed(&bench.world()), "");
}

#[test]
fn what_is_removed_while_the_service_does_not_list_its_workspace_is_written_anew() {
    let bench = bench();
    let daemon = bench.run_canvases();
    bench.until_canvases_rest();
    let gone = [bench.page("Page 0.md"), bench.board_file("Board 0.canvas")];
    let space = bench.space.clone();
    bench.world().app_leave_workspace(&space);
    bench.until("it is away", || bench.attention().contains("no longer lists"));
    gone.iter().for_each(|path| fs::remove_file(path).unwrap());
    bench.look_again();
    bench.world().app_rejoin(&space);
    bench.look_again();
    bench.until("all are back", || gone.iter().all(|path| path.exists()));
    bench.until_canvases_rest();
    daemon.stop();
    assert_eq!(trashed(&bench.world()), "");
}
