//! The sample is what it says it is, and the colleagues leave it loadable.

use std::collections::BTreeSet;

use super::*;

/// Every block of every page, with its depth of nesting.
fn walk(blocks: &[serde_json::Value], depth: usize, visit: &mut impl FnMut(&serde_json::Value, usize)) {
    for block in blocks {
        visit(block, depth);
        walk(block["children"].as_array().unwrap(), depth + 1, visit);
    }
}

/// The five fields of the API document (four where the editor stores no content), and ids that are unique.
fn check_loadable(world: &World) {
    let mut ids = BTreeSet::new();
    for page in world.pages() {
        walk(&page.content, 0, &mut |block, _| {
            let keys: BTreeSet<&str> = block.as_object().unwrap().keys().map(String::as_str).collect();
            let bare = ["divider", "database"].contains(&block["type"].as_str().unwrap());
            let expected: &[&str] = if bare {
                &["children", "id", "props", "type"]
            } else {
                &["children", "content", "id", "props", "type"]
            };
            assert_eq!(keys.into_iter().collect::<Vec<_>>(), expected, "{block}");
            assert!(ids.insert(block["id"].as_str().unwrap().to_owned()), "{block}");
            for run in block["content"].as_array().into_iter().flatten() {
                assert_eq!(run["type"], "text", "{block}");
                assert!(!run["text"].as_str().unwrap().is_empty(), "{block}");
                assert!(run["styles"].as_object().unwrap().len() <= 1, "{block}");
            }
        });
    }
}

#[test]
fn it_looks_like_a_real_teams() {
    let world = world(1);
    assert_eq!(world.workspaces().len(), 2);
    let depth = |page: &super::super::PageRecord| {
        std::iter::successors(page.parent.as_ref(), |up| world.page(up).unwrap().parent.as_ref()).count()
    };
    assert!((22..40).contains(&world.pages().count()));
    assert_eq!(world.pages().map(depth).max(), Some(2));
    assert!(world.pages().filter(|page| page.icon.is_some()).count() > 15);
    assert!(world.pages().all(|page| page.content.len() >= 4), "no page is a stub");
    assert_eq!(world.pages().filter(|page| page.nevera.is_some()).count(), 1);
    let mut kinds = BTreeSet::new();
    let mut styles = BTreeSet::new();
    let mut nested = 0;
    for page in world.pages() {
        walk(&page.content, 0, &mut |block, depth| {
            kinds.insert(block["type"].as_str().unwrap().to_owned());
            nested = nested.max(depth);
            for run in block["content"].as_array().into_iter().flatten() {
                styles.extend(run["styles"].as_object().unwrap().keys().cloned());
            }
        });
    }
    let expected = [
        "bulletListItem",
        "checkListItem",
        "codeBlock",
        "database",
        "divider",
        "heading",
        "numberedListItem",
        "paragraph",
        "quote",
        "table",
        "toggleListItem",
    ];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    let expected = ["backgroundColor", "bold", "code", "italic", "strike", "textColor", "underline"];
    assert_eq!(styles.into_iter().collect::<Vec<_>>(), expected);
    assert!(nested >= 1);
    check_loadable(&world);
}

#[test]
fn no_mark_of_the_notation_is_left_in_a_text() {
    let world = world(1);
    for page in world.pages() {
        walk(&page.content, 0, &mut |block, _| {
            if block["type"] == "codeBlock" {
                return;
            }
            for run in block["content"].as_array().into_iter().flatten() {
                let text = run["text"].as_str().unwrap();
                for mark in ["**", "__", "~~", "`", "{", "}", "[ ]", "[x]", "@", "|"] {
                    assert!(!text.contains(mark), "{}: {text}", page.title);
                }
            }
        });
    }
}

#[test]
fn colleagues_do_the_same_in_the_same_world_and_leave_it_loadable() {
    let run = || {
        let mut world = world(1);
        let told: Vec<String> = (0..500).map(|n| colleague_step(&mut world, n)).collect();
        (world, told)
    };
    let (after, told) = run();
    let (again, told_again) = run();
    assert_eq!(told, told_again);
    assert!(after.pages().eq(again.pages()));
    check_loadable(&after);
    for act in ["ticks", "writes on", "adds a paragraph", "adds a box", "renames", "makes the page"] {
        assert!(told.iter().any(|line| line.contains(act)), "nobody {act}");
    }
    assert!(told.iter().all(|line| !line.contains("coffee")));
    // Each step is one change that espejo can see, to one page of the team's workspace.
    let mut world = world(1);
    for n in 0..100 {
        let before: Vec<_> = world.pages().cloned().collect();
        let line = colleague_step(&mut world, n);
        let changed: Vec<_> = world.pages().filter(|page| !before.contains(page)).collect();
        assert_eq!(changed.len(), 1, "{n}: {line}");
        assert_eq!(changed[0].workspace, world.workspaces()[0].id, "{line}");
    }
}

#[test]
fn colleagues_cope_with_an_empty_house() {
    let mut world = World::new(1);
    assert_eq!(colleague_step(&mut world, 0), "nobody is at work");
    world.add_workspace("Taller", TEAM_SLUG);
    assert_eq!(colleague_step(&mut world, 3), "Ben has a coffee");
}
