//! What a file says and its page does not: it is not sent, and `status` and `diff` say so with the line.

use serde_json::json;

use super::bench::{Bench, block, paragraph, save, words};

#[test]
fn what_is_taken_for_formatting_is_told_until_file_and_page_agree() {
    let toggle = |kind: &str| vec![paragraph("a", "before"), block("b", kind, "folded", &json!({}))];
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "Toggle", toggle("toggleListItem"));
        world.app_create(
            space,
            None,
            "Blank",
            vec![paragraph("a", "one"), paragraph("e", ""), paragraph("b", "two")],
        );
    });
    let daemon = bench.run_in_step();
    bench.forget_requests();
    let is_told = |what: &str| bench.attention().contains(what);
    save(&bench.page("Toggle.md"), &bench.text("Toggle.md").replace("+ folded", "- folded"));
    save(&bench.page("Blank.md"), &bench.text("Blank.md").replace("one\n\n\ntwo", "one\n\ntwo"));
    bench.until("both are told", || {
        is_told("Toggle.md: line 7 is taken for formatting: it is still a toggle")
            && is_told("Blank.md: line 7 is taken for formatting: the service still has an empty paragraph")
    });
    let diff = bench.tell(&["diff"]);
    assert!(diff.out.contains("Toggle.md: line 7 is taken for formatting"), "{diff:?}");
    assert!(diff.out.contains("Blank.md: line 7 is taken for formatting"), "{diff:?}");
    assert_eq!(bench.writes(), Vec::<String>::new());
    // The app agrees with the one, and the other is what it was.
    let id = bench.id("Toggle");
    bench.world().app_edit(&id, toggle("bulletListItem"));
    save(&bench.page("Blank.md"), &bench.text("Blank.md").replace("one\n\ntwo", "one\n\n\ntwo"));
    bench.look_again();
    bench.until("nothing is told any more", || bench.attention().is_empty());
    assert!(bench.text("Toggle.md").contains("- folded"));
    assert_eq!(bench.tell(&["diff"]).out, "");
    assert_eq!(bench.writes(), Vec::<String>::new());
    bench.rest(daemon);
}

#[test]
fn what_stays_on_this_machine_is_not_sent_and_does_not_go() {
    let bench = Bench::new(|world, space| {
        world.app_create(
            space,
            None,
            "Plan",
            vec![paragraph("a", "first words"), paragraph("b", "second words")],
        );
    });
    let other = bench.beside();
    let (here, there) = (bench.run_in_step(), other.run_in_step());
    bench.forget_requests();
    let mine = "first words <!-- mine -->\n\n%%\nmine as well\n%%\n\nsecond words\n\n[mine]: /too\n";
    let text = bench.text("Plan.md");
    save(&bench.page("Plan.md"), &text.replace("first words\n\nsecond words\n", mine));
    bench.until_in_step();
    assert_eq!(bench.writes(), Vec::<String>::new());
    // An edit beside it goes, and a change from elsewhere leaves it.
    save(
        &bench.page("Plan.md"),
        &bench.text("Plan.md").replace("second words", "second words\n\n![a](./a.png)"),
    );
    bench.until("the edit is sent", || words(&bench.content("Plan")).contains("a.png"));
    assert!(!words(&bench.content("Plan")).contains("mine"));
    bench.until("the picture is told", || bench.attention().contains("the picture ./a.png"));
    let mut content = bench.content("Plan");
    content[0]["content"][0]["text"] = json!("the very first words");
    let id = bench.id("Plan");
    bench.world().app_edit(&id, content);
    bench.look_again();
    bench
        .until("the change arrives", || bench.text("Plan.md").contains("the very first words <!-- mine -->"));
    assert!(bench.text("Plan.md").contains("\n\n%%\nmine as well\n%%\n\nsecond words\n"));
    assert!(bench.text("Plan.md").contains("\n[mine]: /too\n"));
    other.look_again();
    other.until("it is on the other machine", || other.text("Plan.md").contains("the very first words"));
    assert!(!other.text("Plan.md").contains("mine"));
    bench.rest(here);
    other.rest(there);
}

#[test]
fn diff_names_a_folder_that_is_no_workspaces() {
    let bench = Bench::with("", |world, space| {
        world.app_create(space, None, "Page", vec![paragraph("a", "words")]);
    });
    bench.sync();
    let told = bench.tell(&["diff"]);
    assert_eq!((told.code, told.out.as_str()), (0, ""), "{told:?}");
    std::fs::create_dir_all(bench.root().join("Mine/Pages")).unwrap();
    save(&bench.root().join("Mine/Pages/New.md"), "words\n");
    let told = bench.tell(&["diff"]);
    assert!(told.out.starts_with("Mine/ belongs to no workspace, so its files are not sent"), "{told:?}");
}
