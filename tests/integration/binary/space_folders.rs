//! The folder of a workspace that a user renames, and a workspace that is renamed in the app.

use std::fs;

use espejo::emulator::{Fault, Matcher};
use serde_json::json;

use super::bench::{Bench, append, paragraph, save, side_by_side, words};
use super::boards::kick_off;

#[test]
fn a_workspace_s_folder_that_is_renamed_here_is_followed() {
    side_by_side(["running", "stopped"], |when| {
        let mut board = None;
        let bench = Bench::with("[whiteboards]\nenabled = true\n", |world, space| {
            for n in 0..3 {
                world.app_create(space, None, &format!("Page {n}"), vec![paragraph("a", "words")]);
            }
            board = Some(kick_off(world, space).0);
        });
        let board = board.unwrap();
        let daemon = bench.run_canvases();
        bench.forget_requests();
        let mine = bench.root().join("Mi equipo");
        let rename = || fs::rename(bench.root().join("Equipo"), &mine).unwrap();
        let daemon = if when == "stopped" {
            assert_eq!(daemon.stop().code(), Some(0));
            rename();
            bench.run_canvases()
        } else {
            rename();
            daemon
        };
        append(&mine.join("Pages/Page 1.md"), "\nedited there\n");
        bench.until("an edit goes out", || words(&bench.content("Page 1")).contains("edited there"));
        bench
            .edit_canvas(&mine.join("Whiteboards/Kick-off.canvas"), |nodes| nodes[0]["text"] = json!("mine"));
        bench.until("so does that of a whiteboard", || {
            bench.elements(&board).iter().any(|element| element["content"] == "mine")
        });
        save(&mine.join("Pages/New.md"), "made there\n");
        bench.until("a new file is a page", || bench.titled("New").is_some());
        let space = bench.space.clone();
        bench.world().app_create(&space, None, "Theirs", vec![paragraph("a", "words")]);
        bench.world().app_rename_workspace(&space, "Acme");
        bench.look_again();
        bench.until("what is new at the service is written there", || mine.join("Pages/Theirs.md").exists());
        fs::remove_file(mine.join("Pages/Page 2.md")).unwrap();
        bench.until("a deletion goes out", || bench.is_trashed(&bench.id("Page 2")));
        bench.until("nothing needs the user", || bench.attention().is_empty());
        for name in ["Equipo", "Acme"] {
            assert!(!bench.root().join(name).exists(), "{}", bench.seen());
        }
        assert_eq!(bench.writes().iter().filter(|write| write.starts_with("DELETE")).count(), 1);
        bench.until_canvases_rest();
        assert_eq!(daemon.stop().code(), Some(0));
    });
}

#[test]
fn a_slug_in_the_config_goes_on_meaning_its_workspace() {
    side_by_side(["two-way", "down"], |mode| {
        let config = format!("[[workspace]]\nslug = \"otra\"\nmode = \"{mode}\"\n");
        let bench = Bench::with(&config, |world, space| {
            world.app_create(space, None, "Here", vec![paragraph("a", "words")]);
            let other = world.add_workspace("Otra", "otra");
            world.app_create(&other, None, "Elsewhere", vec![paragraph("a", "words")]);
        });
        let other = bench.world().workspaces().iter().find(|one| one.slug == "otra").unwrap().id.clone();
        let daemon = bench.run_in_step();
        bench.world().app_rename_workspace(&other, "Distinta");
        bench.world().app_set_slug(&other, "distinta");
        bench.look_again();
        bench.until("it is told", || {
            bench.attention().contains("the workspace that the config calls \"otra\"")
        });
        let page = bench.root().join("Otra/Pages/Elsewhere.md");
        append(&page, "\nafterwards\n");
        let goes = |bench: &Bench| words(&bench.content("Elsewhere")).contains("afterwards");
        match mode {
            "two-way" => bench.until("edits go on", || goes(&bench)),
            _ => bench.until("edits stay here", || bench.attention().contains("changes made here stay here")),
        }
        // The next run reads the config as this one did.
        assert_eq!(daemon.stop().code(), Some(0));
        let daemon = bench.run();
        let theirs = bench.id("Elsewhere");
        let content = [bench.content("Elsewhere"), vec![paragraph("z", "by others")]].concat();
        bench.world().app_edit(&theirs, content);
        bench.look_again();
        bench.until("changes come down", || fs::read_to_string(&page).unwrap().contains("by others"));
        assert_eq!(goes(&bench), mode == "two-way", "{}", bench.seen());
        let told = bench.attention();
        assert!(!told.contains("no longer lists") && !told.contains("does not list"), "{told}");
        assert_eq!(told.matches("the workspace that the config calls").count(), 1, "once: {told}");
        assert_eq!(daemon.stop().code(), Some(0));
    });
}

#[test]
fn a_page_in_the_lists_of_two_workspaces_stays_where_it_is_until_only_one_shows_it() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Both", vec![paragraph("a", "words")]);
        world.app_create(space, None, "Here", vec![paragraph("a", "words")]);
        let other = world.add_workspace("Otra", "otra");
        world.app_create(&other, None, "Elsewhere", vec![paragraph("a", "words")]);
    });
    let other = bench.world().workspaces().iter().find(|one| one.slug == "otra").unwrap().id.clone();
    let page = bench.id("Both");
    let daemon = bench.run_in_step();
    bench.world().app_list_also(&page, Some(&other));
    let there = bench.root().join("Otra/Pages/Both.md");
    for n in 0..4 {
        bench.look_again();
        append(&bench.page("Both.md"), &format!("\nline {n}\n"));
        bench.until("an edit goes out", || words(&bench.content("Both")).contains(&format!("line {n}")));
        assert!(!there.exists(), "{}", bench.seen());
    }
    let log = bench.log();
    assert!(!log.contains("renamed from") && !log.contains("moved"), "{log}");
    // It goes for good.
    bench.world().app_list_also(&page, None);
    bench.world().app_transfer(&page, &other);
    bench.look_again();
    bench.until("it is where only one list shows it", || there.exists() && !bench.page("Both.md").exists());
    assert!(fs::read_to_string(&there).unwrap().contains("line 3"));
    bench.until("nothing needs the user", || bench.attention().is_empty());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn a_workspace_that_the_config_names_by_its_id_is_mirrored_although_the_list_is_forbidden() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Here", vec![paragraph("a", "words")]);
        let other = world.add_workspace("Otra", "otra");
        world.app_create(&other, None, "Elsewhere", vec![paragraph("a", "words")]);
    });
    let config = bench.outside("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    save(&config, &format!("workspaces = [\"{}\"]\n{text}", bench.space.as_str()));
    let forbidden = Fault::Status { status: 403, retry_after: None };
    bench.world().fail_randomly(Matcher::Route("GET".to_owned(), "/workspaces".to_owned()), forbidden, 1_000);
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 0, "{told:?}\n{}", bench.seen());
    let page = bench.root().join(bench.space.as_str()).join("Pages/Here.md");
    append(&page, "\nmine\n");
    assert_eq!(bench.tell(&["sync"]).code, 0, "{}", bench.seen());
    assert!(words(&bench.content("Here")).contains("mine"), "{}", bench.seen());
    assert_eq!(bench.attention(), "");
    // Once the list is allowed, the folder keeps its name.
    bench.world().calm();
    assert_eq!(bench.tell(&["sync"]).code, 0, "{}", bench.seen());
    assert!(page.exists() && !bench.root().join("Equipo").exists(), "{}", bench.seen());
}
