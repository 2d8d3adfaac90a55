//! Files and folders that come, go, and change their names and places.

use std::fs;

use espejo::emulator::{Fault, Matcher};
use serde_json::json;

use super::bench::{Bench, append, paragraph, save, words};

/// A bench with `Plan` (with `Child` and `Other child` below), `Notes`, and enough others that one deletion is no part of
/// the mirror worth a guard.
pub(super) fn bench(pages: &str) -> Bench {
    Bench::with(pages, |world, space| {
        let plan = world.app_create(space, None, "Plan", vec![paragraph("a", "the plan")]);
        let child = world.app_create(space, Some(&plan), "Child", vec![paragraph("a", "the child")]);
        world.app_create(space, Some(&child), "Grandchild", vec![paragraph("a", "the grandchild")]);
        world.app_create(space, Some(&plan), "Other child", vec![paragraph("a", "the other")]);
        world.app_create(space, None, "Notes", vec![paragraph("a", "the notes")]);
        for n in 0..20 {
            world.app_create(space, None, &format!("Filler {n}"), vec![paragraph("a", "filler")]);
        }
    })
}

#[test]
fn a_new_file_is_one_post_and_one_patch_and_is_not_rewritten() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    bench.forget_requests();
    save(&bench.page("Idea.md"), "# Una idea\n\n*  the first\n*  the second\n");
    save(&bench.page("Plan/Step.md"), "a step\n");
    save(&bench.page("Notes.d.md"), "a name with a dot\n");
    let before = bench.files();
    bench.until("they have their words", || {
        [("Idea", "second"), ("Step", "a step"), ("Notes.d", "a dot")]
            .iter()
            .all(|(title, text)| bench.titled(title).is_some() && words(&bench.content(title)).contains(text))
    });
    bench.until_in_step();
    assert_eq!(bench.files(), before, "files are written under the user's hands");
    let step = bench.id("Step");
    assert_eq!(bench.record(&step).parent, Some(bench.id("Plan")));
    let mut writes = bench.writes();
    writes.sort();
    assert_eq!(writes.iter().filter(|line| *line == "POST /pages").count(), 3, "{writes:?}");
    assert_eq!(writes.len(), 6, "{writes:?}");
    for title in ["Idea", "Step", "Notes.d"] {
        let id = bench.id(title);
        assert_eq!(bench.world().log().patches_of(&id).count(), 1, "{title}");
    }
    append(&bench.page("Idea.md"), "*  the third\n");
    bench.until("an edit of it is sent", || words(&bench.content("Idea")).contains("third"));
    bench.rest(daemon);
}

#[test]
fn a_new_folder_with_files_becomes_a_page_with_subpages() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    fs::create_dir_all(bench.page("Viajes/Norte/Islas")).unwrap();
    save(&bench.page("Viajes/Norte/Lofoten.md"), "cod\n");
    save(&bench.page("Viajes/Norte/Islas/Vaer\u{f8}y.md"), "puffins\n");
    save(&bench.page("Viajes/Sur.md"), "sun\n");
    // A copy of a whole tree, made elsewhere and moved in at once.
    fs::create_dir_all(bench.outside("tree/Deep/Deeper")).unwrap();
    save(&bench.outside("tree/Deep.md"), "deep\n");
    save(&bench.outside("tree/Deep/Deeper.md"), "deeper\n");
    save(&bench.outside("tree/Deep/Deeper/Deepest.md"), "deepest\n");
    fs::rename(bench.outside("tree"), bench.page("Tree")).unwrap();
    let under = [
        ("Viajes", None),
        ("Norte", Some("Viajes")),
        ("Lofoten", Some("Norte")),
        ("Islas", Some("Norte")),
        ("Vaer\u{f8}y", Some("Islas")),
        ("Sur", Some("Viajes")),
        ("Tree", None),
        ("Deep", Some("Tree")),
        ("Deeper", Some("Deep")),
        ("Deepest", Some("Deeper")),
    ];
    bench.until("every page is there", || under.iter().all(|(title, _)| bench.titled(title).is_some()));
    bench.until_in_step();
    for (title, parent) in under {
        let id = bench.id(title);
        let parent = parent.map(|parent| bench.id(parent));
        assert_eq!(bench.record(&id).parent, parent, "{title}");
        assert_eq!(bench.count(title), 1, "{title}");
    }
    assert_eq!(words(&bench.content("Deepest")), "deepest\n");
    bench.rest(daemon);
}

#[test]
fn a_new_folder_whose_name_is_taken_is_one_page_all_the_same() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    bench.forget_requests();
    // `notes` beside `Notes.md`: other systems would have them share a name.
    fs::create_dir(bench.page("notes")).unwrap();
    save(&bench.page("notes/Inside.md"), "in a folder of its own\n");
    bench.until("the file is a page", || bench.titled("Inside").is_some());
    bench.until_in_step();
    bench.look_again();
    bench.until_in_step();
    assert_eq!(bench.count("notes"), 1, "{}", bench.seen());
    assert_eq!(bench.record(&bench.id("Inside")).parent, Some(bench.id("notes")));
    assert_eq!(words(&bench.content("Inside")), "in a folder of its own\n");
    bench.rest(daemon);
}

#[test]
fn a_renamed_file_is_a_renamed_page() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    let ids: Vec<_> =
        ["Plan", "Notes", "Filler 1", "Filler 2", "Filler 3"].iter().map(|t| bench.id(t)).collect();
    bench.forget_requests();
    fs::rename(bench.page("Plan.md"), bench.page("Plan B.md")).unwrap();
    fs::rename(bench.page("Notes.md"), bench.page("notes.md")).unwrap();
    // Two change places.
    fs::rename(bench.page("Filler 1.md"), bench.page("tmp.md")).unwrap();
    fs::rename(bench.page("Filler 2.md"), bench.page("Filler 1.md")).unwrap();
    fs::rename(bench.page("tmp.md"), bench.page("Filler 2.md")).unwrap();
    // Renamed and edited at once.
    append(&bench.page("Filler 3.md"), "\nand edited\n");
    fs::rename(bench.page("Filler 3.md"), bench.page("Cuaderno.md")).unwrap();
    let title = |n: usize| bench.record(&ids[n]).title;
    bench.until("the titles follow", || {
        (title(0), title(1), title(2), title(3), title(4))
            == ("Plan B".into(), "notes".into(), "Filler 2".into(), "Filler 1".into(), "Cuaderno".into())
    });
    bench.until("the folder of its subpages follows", || bench.page("Plan B/Child/Grandchild.md").exists());
    bench.until_in_step();
    assert!(words(&bench.content("Cuaderno")).contains("and edited"));
    assert_eq!(bench.writes().len(), 5, "{:?}", bench.writes());
    assert!(bench.writes().iter().all(|line| line.starts_with("PATCH")), "{:?}", bench.writes());
    let world = bench.world();
    for id in &ids[..4] {
        let body = world.log().patches_of(id).next().unwrap().json();
        assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["title"]);
    }
    drop(world);
    // The page with its folder, together.
    fs::rename(bench.page("Plan B.md"), bench.page("Plan C.md")).unwrap();
    fs::rename(bench.page("Plan B"), bench.page("Plan C")).unwrap();
    bench.until("the title follows again", || title(0) == "Plan C");
    bench.until_in_step();
    assert_eq!(bench.writes().len(), 6, "{:?}", bench.writes());
    bench.rest(daemon);
}

#[test]
fn a_note_made_a_moment_ago_follows_into_a_folder() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    for name in ["Fresh", "Edited", "Parent"] {
        save(&bench.page(&format!("{name}.md")), &format!("the words of {name}\n"));
    }
    let is_sent = |name: &str| {
        bench.titled(name).is_some() && words(&bench.content(name)).contains(&format!("the words of {name}"))
    };
    bench.until("they are pages", || ["Fresh", "Edited", "Parent"].iter().all(|name| is_sent(name)));
    fs::create_dir(bench.page("Parent")).unwrap();
    save(&bench.page("Parent/Child.md"), "a child\n");
    let [fresh, edited, parent] = ["Fresh", "Edited", "Parent"].map(|name| bench.id(name));
    bench.world().app_edit(&edited, vec![paragraph("a", "the words of Edited, by another")]);
    bench.look_again();
    bench.until("both came about", || {
        bench.text("Edited.md").contains("by another") && bench.titled("Child").is_some()
    });
    bench.until_in_step();
    for name in ["Fresh", "Edited", "Parent"] {
        fs::rename(bench.page(&format!("{name}.md")), bench.page(&format!("Plan/{name}.md"))).unwrap();
    }
    // What others changed, and what has subpages, is put back; the API cannot move it.
    bench.until("two are put back", || bench.page("Edited.md").exists() && bench.page("Parent.md").exists());
    bench.until("the note follows", || bench.is_trashed(&fresh));
    bench.until_in_step();
    assert_eq!(bench.record(&bench.id("Fresh")).parent, Some(bench.id("Plan")), "{}", bench.seen());
    assert!(is_sent("Fresh") && bench.count("Fresh") == 1 && bench.page("Plan/Fresh.md").exists());
    assert_eq!((bench.id("Edited"), bench.id("Parent")), (edited, parent));
    let told = bench.attention();
    assert!(!told.contains("Fresh") && told.contains("Edited.md: it was moved"), "{told}");
    // Also into a folder that is as new as the note.
    save(&bench.page("Second.md"), "the words of Second\n");
    bench.until("it is a page", || is_sent("Second"));
    bench.until_in_step();
    fs::create_dir(bench.page("Archive")).unwrap();
    fs::rename(bench.page("Second.md"), bench.page("Archive/Second.md")).unwrap();
    bench.until("it follows too", || {
        bench.titled("Archive").is_some_and(|id| bench.record(&bench.id("Second")).parent == Some(id))
    });
    bench.until_in_step();
    assert!(is_sent("Second") && bench.count("Second") == 1);
    bench.rest(daemon);
}

#[test]
fn a_copied_file_is_a_new_page() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    assert!(bench.text("Plan.md").contains("id: "), "the copy has the first one's id");
    let (plan, before) = (bench.id("Plan"), bench.content("Plan"));
    bench.forget_requests();
    fs::copy(bench.page("Plan.md"), bench.page("Plan copy.md")).unwrap();
    fs::copy(bench.page("Plan.md"), bench.page("Notes/Plan.md")).unwrap_err();
    fs::create_dir(bench.page("Notes")).unwrap();
    fs::copy(bench.page("Plan.md"), bench.page("Notes/Plan.md")).unwrap();
    bench.until("the copies are pages", || bench.titled("Plan copy").is_some() && bench.count("Plan") == 2);
    bench.until_in_step();
    assert_eq!(bench.record(&plan).title, "Plan");
    assert_eq!(bench.content("Plan copy").len(), 1);
    assert_eq!(words(&bench.content("Plan copy")), "the plan\n");
    assert_eq!(bench.record(&plan).content, before);
    assert_eq!(bench.world().log().patches_of(&plan).count(), 0);
    // Block ids are unique in the workspace's pages: the copy has its own.
    assert_ne!(bench.content("Plan copy")[0]["id"], before[0]["id"]);
    // That the copies name their own pages now is no act of anybody in the app.
    let copy = format!("id: {}", bench.id("Plan copy"));
    assert!(bench.text("Plan copy.md").contains(&copy), "{}", bench.text("Plan copy.md"));
    let log = bench.tell(&["log"]).out;
    assert!(!log.contains("the app  edited"), "{log}");
    bench.rest(daemon);
}

#[test]
fn a_deleted_file_is_a_trashed_page_after_the_grace_time() {
    let bench = bench("delete_grace_seconds = 2");
    let daemon = bench.run_in_step();
    bench.forget_requests();
    // Back within the grace time, in three ways.
    let text = bench.text("Filler 4.md");
    fs::remove_file(bench.page("Filler 4.md")).unwrap();
    fs::rename(bench.page("Filler 5.md"), bench.outside("away.md")).unwrap();
    bench.until("it is noticed", || bench.list().iter().any(|row| row["state"] == "deleted"));
    save(&bench.page("Filler 4.md"), &text);
    fs::rename(bench.outside("away.md"), bench.page("Filler 5.md")).unwrap();
    bench.until_in_step();

    fs::remove_file(bench.page("Notes.md")).unwrap();
    fs::remove_file(bench.page("Plan/Child.md")).unwrap();
    fs::remove_dir_all(bench.page("Plan/Child")).unwrap();
    let (notes, child, grandchild) = (bench.id("Notes"), bench.id("Child"), bench.id("Grandchild"));
    let trashed = |id| bench.is_trashed(id);
    bench.until("the pages are in the service's trash", || {
        trashed(&notes) && trashed(&child) && trashed(&grandchild)
    });
    bench.until_in_step();
    let mut expected = [format!("DELETE /pages/{notes}"), format!("DELETE /pages/{child}")];
    let mut writes = bench.writes();
    expected.sort();
    writes.sort();
    assert_eq!(writes, expected);
    bench.rest(daemon);
}

#[test]
fn a_deleted_file_whose_subpages_stay_comes_back() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    bench.forget_requests();
    fs::remove_file(bench.page("Plan.md")).unwrap();
    bench.until("it comes back", || bench.page("Plan.md").exists());
    bench.until_in_step();
    assert_eq!(bench.writes(), Vec::<String>::new());
    bench.until("it is told", || {
        let told = bench.attention();
        told.contains("Plan.md") && told.contains("has come back")
    });
    bench.rest(daemon);
}

#[test]
fn deletions_can_be_undone_by_the_config() {
    let bench = bench("deletes = \"restore\"");
    let daemon = bench.run_in_step();
    bench.forget_requests();
    fs::remove_file(bench.page("Notes.md")).unwrap();
    bench.until("it is noticed", || bench.list().iter().any(|row| row["state"] == "deleted"));
    bench.until("it comes back", || bench.page("Notes.md").exists());
    bench.until_in_step();
    assert_eq!(bench.writes(), Vec::<String>::new());
    bench.rest(daemon);
}

#[test]
fn a_file_moved_to_another_folder_is_put_back_and_status_says_why() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    bench.forget_requests();
    fs::create_dir(bench.page("Notes")).unwrap();
    fs::rename(bench.page("Plan/Other child.md"), bench.page("Notes/Other child.md")).unwrap();
    // With its subpages, and edited on the way.
    append(&bench.page("Plan/Child.md"), "\nedited\n");
    fs::rename(bench.page("Plan/Child.md"), bench.page("Child.md")).unwrap();
    fs::rename(bench.page("Plan/Child"), bench.page("Child")).unwrap();
    bench.until("both are put back", || {
        bench.page("Plan/Other child.md").exists() && bench.page("Plan/Child/Grandchild.md").exists()
    });
    bench.until_in_step();
    assert!(words(&bench.content("Child")).contains("edited"));
    assert_eq!(bench.writes(), [format!("PATCH /pages/{}", bench.id("Child"))]);
    let told = bench.attention();
    assert!(
        told.contains("Plan/Other child.md: it was moved to") && told.contains("cannot move pages"),
        "{told}"
    );
    assert_eq!(bench.tell(&["status"]).code, 0, "a note calls for nothing");
    // Who edits the file where it is has seen it.
    append(&bench.page("Plan/Other child.md"), "\nseen\n");
    bench.until("it is told no more", || !bench.attention().contains("Other child.md"));
    assert!(bench.attention().contains("Plan/Child.md: it was moved to"), "{}", bench.attention());
    bench.until_in_step();
    assert!(!bench.page("Child").exists() && !bench.page("Child.md").exists(), "{}", bench.seen());
    bench.rest(daemon);
}

#[test]
fn a_folder_that_is_renamed_without_its_page_goes_back() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    bench.forget_requests();
    fs::rename(bench.page("Plan"), bench.page("Plans")).unwrap();
    bench.until("the subpages are back", || bench.page("Plan/Child/Grandchild.md").exists());
    bench.until_in_step();
    assert_eq!(bench.writes(), Vec::<String>::new());
    bench.until("nothing is left behind", || !bench.page("Plans").exists());
    bench.rest(daemon);
}

#[test]
fn a_moved_file_can_be_a_new_page_by_the_config() {
    let bench = bench("moves = \"recreate\"");
    let daemon = bench.run_in_step();
    let old = bench.id("Other child");
    bench.forget_requests();
    fs::rename(bench.page("Plan/Other child.md"), bench.page("Other child.md")).unwrap();
    bench.until("the old one is in the trash", || bench.is_trashed(&old));
    bench.until_in_step();
    let new = bench.id("Other child");
    assert_ne!(new, old);
    assert_eq!(bench.record(&new).parent, None);
    assert_eq!(words(&bench.content("Other child")), "the other\n");
    // With subpages it is put back: they would stay with the old page, and that one could not go.
    bench.forget_requests();
    fs::rename(bench.page("Plan/Child.md"), bench.page("Child.md")).unwrap();
    fs::rename(bench.page("Plan/Child"), bench.page("Child")).unwrap();
    bench.until("all are put back", || {
        bench.page("Plan/Child.md").exists() && bench.page("Plan/Child/Grandchild.md").exists()
    });
    bench.until_in_step();
    assert_eq!(bench.writes(), Vec::<String>::new());
    assert!(bench.attention().contains("a page with subpages is not recreated"), "{}", bench.attention());
    bench.rest(daemon);
}

#[test]
fn what_only_the_old_page_holds_is_there_until_the_new_page_has_it() {
    let bench = bench("moves = \"recreate\"");
    let daemon = bench.run_in_step();
    save(&bench.page("Mine.md"), "my words\n");
    bench.until_in_step();
    let old = bench.id("Mine");
    let chart =
        json!({ "id": "c", "type": "database", "props": { "n": 1.5 }, "content": [], "children": [] });
    let content = [bench.content("Mine"), vec![chart.clone()]].concat();
    bench.world().app_edit(&old, content);
    bench.until("a line stands for it", || bench.text("Mine.md").contains("<!-- block: database"));
    bench.until_in_step();
    assert!(!bench.text("Mine.md").contains("id:"), "{}", bench.text("Mine.md"));
    bench.forget_requests();
    let refused = Fault::Status { status: 400, retry_after: None };
    bench.world().fail_randomly(Matcher::Method("POST".to_owned()), refused, 1000);
    fs::rename(bench.page("Mine.md"), bench.page("Plan/Mine.md")).unwrap();
    bench.until("its page is asked for", || bench.writes().iter().any(|line| line.starts_with("POST")));
    append(&bench.page("Plan/Mine.md"), "\nmore\n");
    fs::remove_file(bench.page("Notes.md")).unwrap();
    let other = bench.id("Notes");
    bench.until("what was deleted after it is in the trash", || bench.is_trashed(&other));
    assert!(!bench.is_trashed(&old), "{}", bench.seen());
    bench.world().calm();
    assert_eq!(bench.tell(&["approve", "--yes"]).code, 0);
    bench.until("the old one is in the trash", || bench.is_trashed(&old));
    bench.until_in_step();
    let made = bench.content("Mine");
    assert_eq!(words(&made), "my words\n\nmore\n");
    assert_eq!(made[1]["props"], chart["props"]);
    bench.rest(daemon);
}

/// The advice for a line of an unknown block is to remove it, which deletes the block.
#[test]
fn the_line_of_a_block_is_known_in_the_page_that_a_move_makes() {
    let chart =
        json!({ "id": "chart", "type": "database", "props": { "n": 1.5 }, "content": [], "children": [] });
    let bench = Bench::with("moves = \"recreate\"", |world, space| {
        world.app_create(space, None, "Plan", vec![paragraph("a", "the plan")]);
        world.app_create(space, None, "Old", vec![paragraph("a", "old"), chart.clone()]);
        for n in 0..20 {
            world.app_create(space, None, &format!("Filler {n}"), vec![paragraph("a", "filler")]);
        }
    });
    let daemon = bench.run_in_step();
    let old = bench.id("Old");
    fs::create_dir_all(bench.page("Plan")).unwrap();
    fs::rename(bench.page("Old.md"), bench.page("Plan/Old.md")).unwrap();
    bench.until("the old one is in the trash", || bench.is_trashed(&old));
    bench.until_in_step();
    assert_eq!(bench.content("Old")[1]["props"], chart["props"]);
    assert!(!bench.log().contains("stands for a block that does not exist"), "{}", bench.log());
    assert_eq!(bench.attention(), "");
    bench.rest(daemon);
}

#[test]
fn a_file_that_is_replaced_again_and_again_holds_no_other_up() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    let (busy, text) = (bench.page("Plan.md"), bench.text("Plan.md"));
    let mut round = 0;
    let mut replace = || {
        round += 1;
        save(&bench.page(".Plan.md.new"), &text.replace("the plan", &format!("the plan {round}")));
        fs::rename(bench.page(".Plan.md.new"), &busy).unwrap();
    };
    replace();
    save(&bench.page("Idea.md"), "an idea\n");
    append(&bench.page("Notes.md"), "\nmore\n");
    fs::rename(bench.page("Filler 1.md"), bench.page("Filler one.md")).unwrap();
    bench.until("all else is sent", || {
        replace();
        bench.titled("Filler one").is_some()
            && bench.titled("Idea").is_some()
            && words(&bench.content("Idea")) == "an idea\n"
            && words(&bench.content("Notes")).contains("more")
    });
    bench.until_in_step();
    assert_eq!(words(&bench.content("Plan")), format!("the plan {round}\n"));
    bench.rest(daemon);
}

#[test]
fn what_is_no_page_is_left_alone() {
    let bench = bench("");
    let daemon = bench.run_in_step();
    let names = [
        ".Plan.md.swp",
        "Plan.md~",
        "#Plan.md#",
        "image.png",
        "NOTES.MD",
        "Plan.txt",
        "4913",
        ".git/config.md",
        "Plan.conflict-20260101-000000.md",
        "Plan.sync-conflict-20260131-235959-ABCDEFG.md",
        "Thumbs.db",
    ];
    fs::create_dir(bench.page(".git")).unwrap();
    for name in names {
        save(&bench.page(name), "not a page\n");
    }
    std::os::unix::fs::symlink("/etc/passwd", bench.page("Link.md")).unwrap();
    std::os::unix::fs::symlink("/etc", bench.page("Linked")).unwrap();
    save(&bench.root().join("Equipo/loose.md"), "not among the pages\n");
    save(&bench.root().join("loose.md"), "not in a workspace\n");
    bench.forget_requests();
    append(&bench.page("Notes.md"), "\nlast\n");
    bench.until("an edit after it all is sent", || words(&bench.content("Notes")).contains("last"));
    bench.look_again();
    assert_eq!(bench.writes(), [format!("PATCH /pages/{}", bench.id("Notes"))]);
    for name in names {
        assert_eq!(fs::read_to_string(bench.page(name)).unwrap(), "not a page\n", "{name}");
    }
    assert_eq!(daemon.stop().code(), Some(0));
}
