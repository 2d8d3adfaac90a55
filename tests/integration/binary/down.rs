//! From the service to the folder: first mirrors, names, and what others do in the app.

use std::collections::BTreeSet;
use std::fs;

use espejo::model::PageId;
use serde_json::json;

use super::bench::{Bench, block, paragraph, words};

/// Small numbers from a seed; the shape of a tree must be the same in every run.
pub(super) fn draws(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |most| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % most
    }
}

#[test]
fn sixty_pages_in_a_random_tree_and_a_second_sync_that_does_nothing() {
    let bench = Bench::new(|world, space| {
        let mut draw = draws(60);
        let mut pages: Vec<PageId> = Vec::new();
        let kinds = ["paragraph", "heading", "bulletListItem", "checkListItem", "toggleListItem", "quote"];
        for n in 0..60 {
            let parent = (n > 0 && draw(4) > 0).then(|| pages[draw(pages.len())].clone());
            let content = (0..draw(9))
                .map(|at| {
                    let mut one = block(
                        &format!("b{n}-{at}"),
                        kinds[draw(kinds.len())],
                        &format!("línea {at} of page {n}"),
                        &json!({}),
                    );
                    if one["type"] == "heading" {
                        one["props"]["level"] = json!(1 + draw(6));
                    }
                    if one["type"] == "checkListItem" {
                        one["props"]["checked"] = json!(draw(2) == 0);
                    }
                    if draw(3) == 0 {
                        one["children"] = json!([paragraph(&format!("c{n}-{at}"), "nested")]);
                    }
                    one
                })
                .collect();
            // Few titles, so that siblings collide.
            let title = format!("Página {}", draw(12));
            let page = world.app_create(space, parent.as_ref(), &title, content);
            world.app_set_icon(&page, (draw(3) == 0).then_some("🚲"));
            pages.push(page);
        }
    });
    let told = bench.sync();
    assert!(told.out.contains("60 pages in sync"), "{told:?}");
    assert_eq!(bench.disagreement(), None, "{}", bench.seen());
    assert_eq!(bench.writes(), Vec::<String>::new());
    assert_eq!(bench.requests().len(), 62, "one request for each page, and two lists");
    bench.rests();
    let told = bench.sync();
    assert_eq!(told.out, "60 pages in sync, nothing to do\n");
}

#[test]
fn any_title_has_its_place_inside_the_root_and_keeps_its_name_at_the_service() {
    let long = "ñ".repeat(400);
    let titles = [
        "../../x",
        "/etc/passwd",
        "CON",
        "con.txt",
        &long,
        "   ",
        "a/b",
        "a\\b",
        ".",
        "..",
        ".hidden",
        ".espejo",
        "Case",
        "case",
        "CASE",
        "caf\u{e9}",
        "cafe\u{301}",
        "trailing.",
        "trailing ",
        "a:b*c?\"<>|",
        "tab\there",
        "line\nbreak",
        "nul\u{0}here",
        "~",
        "-rf",
        "$(touch x)",
        "x.md",
        "x.conflict-20260101-000000",
        "node_modules",
        "\u{202e}gnp.exe",
        "Equipo",
        "Pages",
        "🚲🚲🚲",
        "id: x",
        "---",
        "file~",
        "#auto#",
        "a%2fb",
        "\u{feff}bom",
    ];
    let bench = Bench::new(|world, space| {
        for title in titles {
            let page = world.app_create(space, None, title, vec![paragraph("a", "the text")]);
            world.app_create(space, Some(&page), title, vec![paragraph("a", "below")]);
        }
    });
    let outside: BTreeSet<_> =
        fs::read_dir(bench.outside("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    let told = bench.tell(&["sync"]);
    assert_eq!(told.code, 0, "{told:?}\n{}", bench.seen());
    assert_eq!(bench.disagreement(), None, "{}", bench.seen());
    bench.rests();
    let mut now: BTreeSet<_> =
        fs::read_dir(bench.outside("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    now.retain(|name| !outside.contains(name));
    assert_eq!(now.into_iter().collect::<Vec<_>>(), ["mirror", "state"]);
    for title in titles {
        assert_eq!(bench.count(title), 2, "{title:?}");
    }
    // Names stay apart on file systems that ignore case and Unicode form.
    let names: Vec<String> =
        bench.files().into_keys().map(|path| path.to_lowercase().replace('\u{301}', "")).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");

    // An edit of each reaches its page, and no page is renamed by it.
    bench.forget_requests();
    let daemon = bench.run_in_step();
    for path in bench.files().keys() {
        super::bench::append(&bench.root().join(path), "\none more line\n");
    }
    bench.until("every page has its line", || {
        let world = bench.world();
        world.pages().all(|page| words(&page.content).contains("one more line"))
    });
    bench.rest(daemon);
    for title in titles {
        assert_eq!(bench.count(title), 2, "{title:?} after an edit");
    }
}

#[test]
fn what_others_do_in_the_app_follows_on_disk() {
    let bench = Bench::new(|world, space| {
        let plan =
            world.app_create(space, None, "Plan", vec![paragraph("a", "first"), paragraph("b", "second")]);
        let child = world.app_create(space, Some(&plan), "Child", vec![paragraph("a", "child")]);
        world.app_create(space, Some(&child), "Grandchild", vec![paragraph("a", "grandchild")]);
        world.app_create(space, None, "Archive", vec![paragraph("a", "old")]);
        world.app_create(space, None, "Other", vec![paragraph("a", "other")]);
        for n in 0..8 {
            world.app_create(space, None, &format!("Filler {n}"), Vec::new());
        }
    });
    let daemon = bench.run_in_step();
    // The user's own way of writing stays around a change from elsewhere.
    super::bench::save(&bench.page("Plan.md"), "first\n\n\n<!-- mine -->\n\nsecond\n");
    // What the app does between a GET and its PATCH would be lost: that is not what is tried here.
    bench.until("the user's file is taken in", || {
        !bench.writes().is_empty() && bench.list().iter().all(|row| row["state"] == "synced")
    });
    let after = bench.content("Plan");
    let changed = after
        .iter()
        .map(|one| {
            let mut one = one.clone();
            if one["id"] == "b" {
                one["content"][0]["text"] = json!("second, changed in the app");
            }
            one
        })
        .collect();
    let plan = bench.id("Plan");
    bench.world().app_edit(&plan, changed);
    bench.look_again();
    bench.until("a change arrives", || bench.text("Plan.md").contains("second, changed in the app"));
    assert!(bench.text("Plan.md").contains("\n\n\n<!-- mine -->\n"), "{}", bench.text("Plan.md"));
    bench.until_in_step();

    bench.world().app_rename(&plan, "Plan 2026");
    bench.look_again();
    bench.until("a rename takes the folder along", || bench.page("Plan 2026/Child/Grandchild.md").exists());
    bench.until_in_step();
    bench.until("nothing is left behind", || !bench.page("Plan.md").exists() && !bench.page("Plan").exists());

    let (child, archive) = (bench.id("Child"), bench.id("Archive"));
    bench.world().app_move(&child, Some(&archive), 0.0);
    bench.look_again();
    bench.until("a move takes the folder along", || bench.page("Archive/Child/Grandchild.md").exists());
    bench.until_in_step();
    bench.until("an emptied folder goes", || !bench.page("Plan 2026").exists());

    bench.world().app_create(&bench.space, Some(&child), "New", vec![paragraph("a", "brand new")]);
    bench.look_again();
    bench.until("a new page arrives", || bench.page("Archive/Child/New.md").exists());
    bench.until_in_step();

    bench.world().app_trash(&child);
    bench.look_again();
    bench.until("a trashed page goes, with its subpages", || !bench.page("Archive/Child.md").exists());
    bench.until_in_step();
    bench.until("an emptied folder goes again", || !bench.page("Archive").exists());
    let trash = super::state::trashed_files(&bench);
    for name in ["Child.md", "Grandchild.md", "New.md"] {
        assert!(trash.iter().any(|path| path.ends_with(name)), "{name} is not in the trash: {trash:?}");
    }

    bench.world().app_restore(&child);
    bench.look_again();
    bench.until("a restored page comes back", || bench.page("Archive/Child/New.md").exists());
    bench.until_in_step();
    assert_eq!(bench.text("Archive/Child/New.md").matches("brand new").count(), 1);
    assert_eq!(bench.writes().iter().filter(|line| !line.contains(&plan.to_string())).count(), 0);
    bench.rest(daemon);
}

#[test]
fn several_workspaces_and_only_the_chosen_ones() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Ours", Vec::new());
        let other = world.add_workspace("../Otra/cosa", "otra");
        world.app_create(&other, None, "Theirs", vec![paragraph("a", "theirs")]);
        let same = world.add_workspace("equipo", "equipo-2");
        world.app_create(&same, None, "Same name", Vec::new());
    });
    bench.sync();
    assert_eq!(bench.files().len(), 3, "{}", bench.seen());
    assert_eq!(bench.disagreement(), None);
    bench.rests();
    let config = fs::read_to_string(bench.outside("config.toml")).unwrap();
    let only = config.replacen("\n\n", "\nworkspaces = [\"otra\"]\n\n", 1);
    super::bench::save(&bench.outside("config.toml"), &only);
    bench.forget_requests();
    // What is no longer chosen stays on disk as it is, and is not asked for.
    let told = bench.tell(&["sync"]);
    assert!(matches!(told.code, 0 | 3), "{told:?}");
    assert_eq!(bench.files().len(), 3, "{}", bench.seen());
    assert_eq!(bench.requests().len(), 3, "{:?}", bench.requests());
}
