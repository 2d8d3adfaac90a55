//! `resolve` of lines that were taken for formatting: beside a daemon and without one.

use serde_json::{Value, json};

use super::bench::{Bench, append, paragraph, save};

fn item(kind: &str, id: &str, text: &str) -> Value {
    let mut block = paragraph(id, text);
    block["type"] = json!(kind);
    block
}

fn bench() -> Bench {
    Bench::with("", |world, space| {
        for title in ["Sent", "Taken", "Counted"] {
            let counted = title == "Counted";
            let mut list = vec![
                paragraph("p", "Before"),
                item(if counted { "numberedListItem" } else { "toggleListItem" }, "t", "fold"),
                paragraph("q", "After __it__"),
            ];
            if counted {
                list.insert(2, item("numberedListItem", "u", "unfold"));
            }
            world.app_create(space, None, title, list);
        }
        let folder = world.app_create(space, None, "Folder", vec![]);
        world.app_create(space, Some(&folder), "Inner", vec![paragraph("a", "words")]);
        world.app_create(space, None, "Moved", vec![paragraph("a", "words")]);
    })
}

/// What is told, as codes and paths in `Equipo/Pages`.
fn told(bench: &Bench) -> Vec<String> {
    let status = bench.status();
    let text = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
    let line = |item: &Value| {
        format!("{} {}", text(item, "code"), text(item, "path").trim_start_matches("Equipo/Pages/"))
    };
    let mut all: Vec<String> = status["attention"].as_array().unwrap().iter().map(line).collect();
    all.sort();
    all
}

fn kinds(bench: &Bench, title: &str) -> Vec<String> {
    bench.content(title).iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect()
}

/// What both kinds of run do. `goes_on` lets what was decided happen where no daemon runs.
fn check(bench: &Bench, goes_on: &dyn Fn()) {
    let path = |name: &str| bench.page(name).display().to_string();
    let run = |code: i32, words: &[&str]| {
        let told = bench.tell(words);
        assert_eq!(told.code, code, "{words:?}: {told:?}\n{}", bench.seen());
        told.out + &told.err
    };
    assert_eq!(run(0, &["resolve"]), "nothing collided, and nothing differs\n");
    for name in ["Sent.md", "Taken.md", "Counted.md"] {
        // A comment, which only the file has, stays.
        let text = bench.text(name).replace("+ fold", "- fold").replace("1. fold\n2. ", "4. fold\n5. ");
        save(&bench.page(name), &text.replace("Before\n", "Before <!-- mine -->\n"));
    }
    goes_on();
    let all = ["difference Counted.md", "difference Sent.md", "difference Taken.md"];
    bench.until("it is told", || told(bench) == all);
    let said = run(0, &["resolve"]);
    assert!(said.contains("Taken.md\n") && said.contains("espejo resolve FILE --mine sends"), "{said}");
    let list: Value = serde_json::from_str(&run(0, &["resolve", "--json"])).unwrap();
    assert_eq!(list.as_array().map(Vec::len), Some(3), "{list}");
    assert_eq!(list[0]["kind"], "difference", "{list}");
    let said = run(2, &["resolve", &path("Taken.md"), "--both"]);
    assert!(said.contains("--mine sends the file's line or --theirs takes the service's"), "{said}");
    bench.forget_requests();
    // The service's version.
    let before = bench.text("Taken.md");
    let said = run(0, &["resolve", &path("Taken.md"), "--theirs"]);
    assert!(said.contains("has the service's version now\n  its old text is kept"), "{said}");
    assert_eq!(bench.text("Taken.md"), before.replace("- fold", "+ fold"));
    assert_eq!(told(bench), ["difference Counted.md", "difference Sent.md"]);
    // The same bytes at once again, before anybody has read what was put into the file.
    save(&bench.page("Taken.md"), &before);
    goes_on();
    bench.until("it is told again", || told(bench).len() == 3);
    run(0, &["resolve", &path("Taken.md"), "--theirs"]);
    goes_on();
    assert_eq!(told(bench), ["difference Counted.md", "difference Sent.md"]);
    assert_eq!(bench.writes(), Vec::<String>::new(), "the page is as it was");
    // The file's version; the page's name will do.
    let said = run(0, &["resolve", "--mine", path("Sent.md").trim_end_matches(".md")]);
    assert!(said.contains("Sent.md is sent as it is"), "{said}");
    goes_on();
    bench.until("it is sent", || kinds(bench, "Sent") == ["paragraph", "bulletListItem", "paragraph"]);
    bench.until("it is told no more", || told(bench) == ["difference Counted.md"]);
    assert_eq!(bench.content("Sent")[1]["id"], "t", "it is the same block");
    assert!(
        bench.text("Sent.md").contains("- fold") && bench.text("Sent.md").contains("Before <!-- mine -->")
    );
    // What cannot be sent; then it is settled as well.
    let said = run(1, &["resolve", "--mine", &path("Counted.md")]);
    assert!(said.contains("cannot be sent") && said.contains("--theirs writes"), "{said}");
    run(0, &["resolve", "--theirs", &path("Counted.md")]);
    assert!(bench.text("Counted.md").contains("\n1. fold\n2. unfold\n"), "{}", bench.text("Counted.md"));
    goes_on();
    assert_eq!(told(bench), Vec::<String>::new());
    // What was taken away can be had back.
    let said = run(0, &["undo", &path("Taken.md")]);
    assert!(bench.text("Taken.md").contains("- fold"), "{said}");
    goes_on();
    bench.until("it differs again", || told(bench) == ["difference Taken.md"]);
    // Where nothing differs.
    for place in ["Folder/Inner.md", "Folder.md"] {
        let said = run(1, &["resolve", "--mine", &path(place)]);
        assert!(said.contains("nothing collided or differs at Equipo/Pages/Folder"), "{said}");
    }
    assert!(run(1, &["resolve", "/etc"]).contains("is not in the mirror"));
    // A conflict is listed with them.
    let id = bench.id("Moved");
    bench.world().app_edit(&id, vec![paragraph("a", "theirs")]);
    save(&bench.page("Moved.md"), &bench.text("Moved.md").replace("words", "mine"));
    goes_on();
    bench.until("it collides", || bench.status()["conflicts"].as_array().is_some_and(|all| !all.is_empty()));
    let said = run(3, &["resolve"]);
    assert!(said.contains("Moved.md") && said.contains("Taken.md"), "{said}");
}

#[test]
fn differences_are_settled_without_a_daemon() {
    let bench = bench();
    bench.sync();
    check(&bench, &|| {
        let told = bench.tell(&["sync"]);
        assert!(matches!(told.code, 0 | 3), "{told:?}\n{}", bench.seen());
    });
}

#[test]
fn differences_are_settled_beside_a_daemon() {
    let bench = bench();
    let daemon = bench.run_in_step();
    check(&bench, &|| bench.look_again());
    assert_eq!(daemon.stop().code(), Some(0));
}

#[test]
fn an_edit_that_is_not_sent_is_not_lost_to_a_difference() {
    let bench = bench();
    bench.sync();
    save(&bench.page("Taken.md"), &bench.text("Taken.md").replace("+ fold", "- fold"));
    bench.sync();
    append(&bench.page("Taken.md"), "\nmine\n");
    let path = bench.page("Taken.md").display().to_string();
    for command in [&["resolve", "--theirs", &*path][..], &["resolve", "--mine", &path]] {
        let told = bench.tell(command);
        assert_eq!(told.code, 1, "{told:?}");
        assert!(told.err.contains("has an edit that has not been sent yet"), "{told:?}");
    }
    assert!(bench.text("Taken.md").contains("- fold") && bench.text("Taken.md").contains("mine"));
}
