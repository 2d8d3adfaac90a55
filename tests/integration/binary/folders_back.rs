//! Folders put back: as they were at a time, and as they were before they were deleted.

use std::fs;

use super::bench::{Bench, append, paragraph, words};

/// A page with three subpages, each with one of its own, among others.
fn bench() -> Bench {
    Bench::new(|world, space| {
        for n in 0..30 {
            world.app_create(space, None, &format!("Other {n}"), vec![paragraph("a", "other words")]);
        }
        let plan = world.app_create(space, None, "Plan", vec![paragraph("a", "the plan")]);
        for n in 0..3 {
            let part = world.app_create(
                space,
                Some(&plan),
                &format!("Part {n}"),
                vec![paragraph("a", &format!("part {n}"))],
            );
            let detail = vec![paragraph("a", &format!("detail of {n}"))];
            world.app_create(space, Some(&part), &format!("Detail {n}"), detail);
        }
    })
}

/// The title of the page above a page.
fn above(bench: &Bench, title: &str) -> Option<String> {
    let id = bench.titled(title)?;
    let world = bench.world();
    let parent = world.page(&id)?.parent.clone()?;
    world.page(&parent).map(|page| page.title.clone())
}

#[test]
fn a_folder_that_was_deleted_comes_back_with_all_its_pages() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let all: Vec<String> = std::iter::once("Plan".to_owned())
        .chain((0..3).flat_map(|n| [format!("Part {n}"), format!("Detail {n}")]))
        .collect();
    let before: Vec<_> = all.iter().map(|title| bench.id(title)).collect();
    fs::remove_dir_all(bench.page("Plan")).unwrap();
    fs::remove_file(bench.page("Plan.md")).unwrap();
    bench.until("all are in the trash", || before.iter().all(|id| bench.is_trashed(id)));
    bench.until_in_step();
    let folder = bench.page("Plan");
    let told = bench.tell(&["restore", folder.to_str().unwrap()]);
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(told.out.matches("is restored as a new page").count(), 7, "{told:?}");
    assert!(told.out.contains("7 pages restored"), "{told:?}");
    bench.until("all are there again", || all.iter().all(|title| bench.titled(title).is_some()));
    bench.until_in_step();
    assert_eq!(words(&bench.content("Plan")), "the plan\n");
    for n in 0..3 {
        assert_eq!(words(&bench.content(&format!("Detail {n}"))), format!("detail of {n}\n"));
        assert_eq!(above(&bench, &format!("Part {n}")).as_deref(), Some("Plan"));
        assert_eq!(above(&bench, &format!("Detail {n}")), Some(format!("Part {n}")));
    }
    assert!(before.iter().all(|id| bench.is_trashed(id)), "they are new pages");
    // Once is enough.
    let told = bench.tell(&["restore", folder.to_str().unwrap()]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.err.contains("nothing is on hold at"), "{told:?}");
    bench.rest(daemon);
}

#[test]
fn a_folder_is_put_back_as_it_was_at_a_time() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let then = jiff::Timestamp::now().to_string();
    append(&bench.page("Plan/Part 0.md"), "\nadded later\n");
    let gone = bench.id("Detail 1");
    fs::remove_file(bench.page("Plan/Part 1/Detail 1.md")).unwrap();
    bench.until("both are sent", || {
        words(&bench.content("Part 0")).contains("later") && bench.is_trashed(&gone)
    });
    bench.until_in_step();
    let folder = bench.page("Plan");
    let at = |more: &[&str]| {
        let mut line = vec!["restore", folder.to_str().unwrap(), "--at", &then];
        line.extend(more);
        bench.tell(&line)
    };
    let told = at(&[]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.contains("Plan/Part 0.md is restored"), "{told:?}");
    assert!(told.out.contains("Plan/Part 1/Detail 1.md is restored as a new page"), "{told:?}");
    assert!(told.out.contains("2 pages restored, 5 unchanged"), "{told:?}");
    bench.until("both are back", || {
        !words(&bench.content("Part 0")).contains("later") && bench.titled("Detail 1").is_some()
    });
    bench.until_in_step();
    assert_eq!(above(&bench, "Detail 1").as_deref(), Some("Part 1"));
    let told = at(&[]);
    assert!(told.code == 0 && told.out.contains("0 pages restored"), "{told:?}");
    // Before there was anything.
    let told = bench.tell(&["restore", folder.to_str().unwrap(), "--at", "2001-01-01"]);
    assert!(told.code == 1 && told.err.contains("the history has no page in"), "{told:?}");

    // Many are put back only where that was said.
    for n in 0..12 {
        append(&bench.page(&format!("Other {n}.md")), "\nadded later\n");
    }
    bench.until("all are sent", || {
        (0..12).all(|n| words(&bench.content(&format!("Other {n}"))).contains("later"))
    });
    bench.until_in_step();
    let pages = bench.page("");
    let line = ["restore", pages.to_str().unwrap().trim_end_matches('/'), "--at", &then];
    let told = bench.tell(&line);
    assert!(told.code == 1 && told.err.contains("add --yes"), "{told:?}");
    assert!(words(&bench.content("Other 3")).contains("later"));
    let told = bench.tell(&[&line[..], &["--yes"]].concat());
    assert_eq!(told.code, 0, "{told:?}");
    bench.until("all are back", || {
        (0..12).all(|n| !words(&bench.content(&format!("Other {n}"))).contains("later"))
    });
    bench.rest(daemon);
}
