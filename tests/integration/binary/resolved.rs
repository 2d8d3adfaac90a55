//! `espejo resolve`: a conflict of a page or a canvas, settled in each of the four ways.

use std::fs;

use espejo::model::Blocks;
use serde_json::json;

use super::agreement::is_conflict_copy;
use super::bench::{Bench, paragraph, save, words};
use super::boards::three_boards;

/// A page whose second line collided; both sides changed another line as well.
fn collided() -> (Bench, String) {
    let bench = Bench::new(|world, space| {
        let lines = vec![
            paragraph("a", "the first line"),
            paragraph("b", "the second line"),
            paragraph("c", "the third line"),
        ];
        world.app_create(space, None, "One", lines.clone());
        world.app_create(space, None, "Two", lines);
    });
    bench.run_in_step().stop();
    let text = json!(bench.content("One")).to_string();
    let theirs: Blocks =
        serde_json::from_str(&text.replace("second", "app's").replace("first", "FIRST")).unwrap();
    let id = bench.id("One");
    assert!(bench.world().app_edit(&id, theirs));
    let text = bench.text("One.md");
    save(&bench.page("One.md"), &text.replace("second", "user's").replace("third", "THIRD"));
    bench.run_in_step().stop();
    let copy = bench.files().into_keys().find(|path| is_conflict_copy(path)).expect("a copy");
    (bench, copy)
}

fn is_settled(bench: &Bench, copy: &str) {
    assert!(!bench.root().join(copy).exists());
    assert_eq!(bench.tell(&["resolve"]).out, "nothing collided, and nothing differs\n");
    let name = copy.rsplit('/').next().unwrap();
    let day = fs::read_dir(bench.root().join(".espejo/trash")).unwrap().next().unwrap().unwrap().path();
    assert!(day.join("Equipo/Pages").join(name).exists(), "the copy is in the trash");
}

#[test]
fn a_conflict_is_settled_with_either_version_or_both() {
    for (way, said) in [
        ("--mine", "the FIRST line\nthe user's line\nthe THIRD line\n"),
        ("--theirs", "the FIRST line\nthe app's line\nthe THIRD line\n"),
        ("--both", "the FIRST line\nthe app's line\nthe first line\nthe user's line\nthe THIRD line\n"),
    ] {
        let (bench, copy) = collided();
        let told = bench.tell(&["resolve", bench.page("One.md").to_str().unwrap(), way]);
        assert_eq!(told.code, 0, "{told:?}");
        is_settled(&bench, &copy);
        let daemon = bench.run_in_step();
        let sent = words(&bench.content("One"));
        match way {
            // Which of two blocks in a row comes first is the differ's.
            "--both" => {
                let sorted = |text: &str| {
                    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                    lines.sort();
                    lines
                };
                assert_eq!(sorted(&sent), sorted(said), "{way}: {sent}");
            }
            _ => assert_eq!(sent, said, "{way}"),
        }
        assert_eq!(bench.tell(&["status"]).code, 0);
        bench.rest(daemon);
    }
}

#[test]
fn a_conflict_is_settled_beside_a_running_espejo_by_the_name_of_its_copy() {
    let (bench, copy) = collided();
    let daemon = bench.run_in_step();
    let told = bench.tell(&["resolve", bench.root().join(&copy).to_str().unwrap(), "--mine"]);
    assert_eq!(told.code, 0, "{told:?}");
    bench.until("it is sent", || words(&bench.content("One")).contains("user's"));
    is_settled(&bench, &copy);
    // What was replaced is one command away.
    let told = bench.tell(&["undo"]);
    assert_eq!(told.code, 0, "{told:?}");
    bench.until("it is taken back", || words(&bench.content("One")).contains("app's"));
    let told = bench.tell(&["resolve", bench.page("One.md").to_str().unwrap(), "--mine"]);
    assert_eq!((told.code, told.err.contains("nothing collided or differs")), (1, true), "{told:?}");
    bench.rest(daemon);
}

#[test]
fn a_conflict_is_settled_in_an_editor_and_what_is_typed_is_kept() {
    let (bench, copy) = collided();
    let page = bench.page("One.md");
    let before = bench.text("One.md");
    let edit = |editor: &str| {
        let mut command = bench.espejo(&["resolve", page.to_str().unwrap(), "--edit"]);
        command.env_remove("VISUAL").env("EDITOR", editor).env("ESPEJO_TOKEN", super::bench::TOKEN);
        super::bench::Told::of(command.output().unwrap())
    };
    for (editor, told) in [
        ("", "no editor is set"),
        ("sh -c 'env > $HOME/seen; exit 1'", "the editor failed"),
        ("sed -i 's/app/APP/'", "is still a marker"),
    ] {
        let refused = edit(editor);
        assert_eq!((refused.code, refused.err.contains(told)), (1, true), "{refused:?}");
        assert_eq!(bench.text("One.md"), before);
        assert!(bench.root().join(&copy).exists());
    }
    let seen = std::fs::read_to_string(bench.outside("seen")).unwrap();
    assert!(seen.contains("HOME=") && !seen.contains("ESPEJO_TOKEN"), "no editor is given the token: {seen}");
    // The same file is opened again, with what was typed.
    let done = edit("sed -i -e '/^<<<<<<< /d' -e '/^=======/d' -e '/^>>>>>>> /d' -e '/first/d' -e '/user/d'");
    assert_eq!(done.code, 0, "{done:?}");
    is_settled(&bench, &copy);
    let daemon = bench.run_in_step();
    assert_eq!(words(&bench.content("One")), "the FIRST line\nthe APP's line\nthe THIRD line\n");
    bench.rest(daemon);
}

#[test]
fn a_conflict_of_a_canvas_is_settled_without_losing_a_node() {
    for (way, said) in
        [("--mine", vec!["here"]), ("--theirs", vec!["there"]), ("--both", vec!["here", "there"])]
    {
        let (bench, board) = three_boards();
        bench.sync_any();
        let path = bench.board_file("Kick-off.canvas");
        let id = bench.elements(&board).into_iter().find(|element| element["content"] == "two").unwrap();
        let id = id["id"].as_str().unwrap().to_owned();
        bench.world().app_edit_element(&board, &id, json!({ "content": "there" }));
        bench
            .world()
            .app_put_element(&board, json!({ "type": "text", "x": 0, "y": 900, "content": "new there" }));
        bench.edit_canvas(&path, |nodes| {
            for node in nodes.iter_mut().filter(|node| node["text"] == "two") {
                node["text"] = json!("here");
            }
        });
        bench.sync_any();
        let told = bench.tell(&["resolve", path.to_str().unwrap(), way]);
        assert_eq!(told.code, 0, "{told:?}\n{}", bench.seen());
        assert_eq!(bench.tell(&["resolve"]).out, "nothing collided, and nothing differs\n");
        bench.sync_any();
        let mut texts: Vec<String> = bench
            .elements(&board)
            .iter()
            .filter_map(|element| element["content"].as_str().map(str::to_owned))
            .collect();
        texts.sort();
        assert!(texts.contains(&"new there".to_owned()) && texts.contains(&"one".to_owned()), "{texts:?}");
        texts.retain(|text| ["here", "there"].contains(&text.as_str()));
        assert_eq!(texts, said, "{way}\n{}", bench.seen());
        bench.canvases_rest();
    }
}
