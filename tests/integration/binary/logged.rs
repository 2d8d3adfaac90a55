//! `espejo log`, and `espejo undo` of what it lists: by number, by file, and since a time.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use espejo::model::Blocks;
use serde_json::{Value, json};

use super::bench::{Bench, Told, paragraph, save, words};

fn bench() -> Bench {
    Bench::new(|world, space| {
        for name in ["One", "Two"] {
            world.app_create(space, None, name, vec![paragraph("a", "first"), paragraph("b", "second")]);
        }
    })
}

fn log(bench: &Bench, arguments: &[&str]) -> Vec<Value> {
    let told = bench.tell(&[&["log", "--json"], arguments].concat());
    assert_eq!(told.code, 0, "{told:?}");
    serde_json::from_str(&told.out).unwrap()
}

/// The newest entry about a file, as `who what +added -removed`.
fn last(bench: &Bench, path: &str) -> String {
    let all = log(bench, &[bench.page(path).to_str().unwrap()]);
    let Some(entry) = all.first() else { return String::new() };
    let word = |key: &str| entry[key].as_str().unwrap().to_owned();
    let number = |key: &str| entry[key].as_u64().map_or("?".to_owned(), |number| number.to_string());
    format!("{} {} +{} -{}", word("who"), word("what"), number("words_added"), number("words_removed"))
}

fn edit_on_disk(bench: &Bench, name: &str, from: &str, to: &str) {
    let file = format!("{name}.md");
    save(&bench.page(&file), &bench.text(&file).replace(from, to));
    bench.until("it is sent", || words(&bench.content(name)).contains(to));
    bench.until_in_step();
}

fn edit_in_the_app(bench: &Bench, name: &str, from: &str, to: &str) {
    let text = json!(bench.content(name)).to_string().replace(from, to);
    let content: Blocks = serde_json::from_str(&text).unwrap();
    let id = bench.id(name);
    assert!(bench.world().app_edit(&id, content));
    bench.look_again();
    bench.until("it comes down", || bench.text(&format!("{name}.md")).contains(to));
    bench.until_in_step();
}

fn number_of(bench: &Bench, who: &str, what: &str, path: &str) -> String {
    let all = log(bench, &[]);
    let found =
        all.iter().find(|entry| entry["who"] == who && entry["what"] == what && entry["path"] == path);
    found.unwrap_or_else(|| panic!("{all:?}"))["number"].to_string()
}

#[test]
fn the_log_says_who_did_what_and_a_number_of_it_is_undone() {
    let bench = bench();
    let daemon = bench.run_in_step();
    assert_eq!(last(&bench, "One.md"), "app added +2 -0");
    edit_on_disk(&bench, "One", "second", "2nd part");
    assert_eq!(last(&bench, "One.md"), "you edited +2 -1");
    let mine = number_of(&bench, "you", "edited", "Equipo/Pages/One.md");
    edit_in_the_app(&bench, "One", "first", "1st");
    assert_eq!(last(&bench, "One.md"), "app edited +1 -1");
    edit_on_disk(&bench, "Two", "first", "FIRST");
    let told = bench.tell(&["log"]);
    let lines: Vec<&str> = told.out.lines().collect();
    assert!(lines[0].contains("you      edited Equipo/Pages/Two.md  +1 -1"), "{told:?}");
    assert!(lines[1].contains("the app  edited Equipo/Pages/One.md  +1 -1"), "{told:?}");
    assert_eq!(log(&bench, &["--since", "2h"]).len(), lines.len());
    assert_eq!(log(&bench, &["--since", "2999-01-01"]).len(), 0);
    // An older one, by its number: what was done since stays.
    let would = bench.tell(&["undo", &mine, "--dry-run"]);
    assert!(would.code == 0 && would.out.contains("[-2nd part-] {+second+}"), "{would:?}");
    assert!(bench.text("One.md").contains("2nd"));
    let told = bench.tell(&["undo", &format!("#{mine}")]);
    assert!(told.code == 0 && told.out.contains(&format!("undid #{mine}: you edited")), "{told:?}");
    bench.until("it is taken back", || words(&bench.content("One")) == "1st\nsecond\n");
    bench.until_in_step();
    // The last one of a file.
    let told = bench.tell(&["undo", bench.page("Two.md").to_str().unwrap()]);
    assert_eq!(told.code, 0, "{told:?}");
    bench.until("it is taken back", || words(&bench.content("Two")) == "first\nsecond\n");
    // Numbers stay, and what is no entry is said.
    assert_eq!(number_of(&bench, "app", "added", "Equipo/Pages/One.md"), {
        let all = log(&bench, &[bench.page("One.md").to_str().unwrap()]);
        all.last().unwrap()["number"].to_string()
    });
    let told = bench.tell(&["undo", "99999"]);
    assert!(told.code == 1 && told.err.contains("the log has no entry #99999"), "{told:?}");
    let told = bench.tell(&["log", "--since", "soon"]);
    assert!(told.code == 2 && told.err.contains("--since cannot be"), "{told:?}");
    bench.until_in_step();
    bench.rest(daemon);
}

#[test]
fn everything_since_a_time_is_undone_and_what_cannot_be_is_said_first() {
    let bench = bench();
    bench.run_in_step().stop();
    // What the first mirror did is older than the time.
    let daemon = bench.run_in_step();
    let newest = log(&bench, &[])[0]["at"].as_str().unwrap().to_owned();
    let since = || -> Vec<Value> {
        log(&bench, &["--since", &newest])
            .into_iter()
            .filter(|e| e["at"].as_str() > Some(newest.as_str()))
            .collect()
    };
    edit_on_disk(&bench, "One", "second", "2nd");
    edit_on_disk(&bench, "One", "2nd", "third");
    edit_in_the_app(&bench, "Two", "first", "1st");
    save(&bench.page("New.md"), "new words\n");
    bench.until("it is a page", || {
        bench.titled("New").is_some_and(|id| !bench.record(&id).content.is_empty())
    });
    bench.until_in_step();
    edit_in_the_app(&bench, "New", "new", "newer");
    let from = since().last().unwrap()["at"].as_str().unwrap().to_owned();
    let would = bench.tell(&["undo", "--since", &from, "--dry-run"]);
    assert_eq!(would.code, 3, "{would:?}");
    let (first, rest) = would.out.split_once("Equipo/Pages/Two.md: as it was before").expect(&would.out);
    assert!(first.contains("cannot be undone here (you added Equipo/Pages/New.md)"), "{would:?}");
    assert!(
        rest.contains("Equipo/Pages/One.md: as it was before") && rest.contains("[-third-] {+second+}"),
        "{would:?}"
    );
    let refused = bench.tell(&["undo", "--since", &from]);
    assert!(refused.code == 1 && refused.err.contains("2 changes would be undone; add --yes"), "{refused:?}");
    assert!(bench.text("One.md").contains("third"));
    let told = bench.tell(&["undo", "--since", &from, "--yes"]);
    assert!(told.code == 3 && told.out.contains("undid 2 changes"), "{told:?}");
    bench.until("both are taken back", || {
        words(&bench.content("One")) == "first\nsecond\n" && words(&bench.content("Two")) == "first\nsecond\n"
    });
    assert_eq!(words(&bench.content("New")), "newer words\n");
    bench.until_in_step();
    bench.rest(daemon);
}

#[test]
fn a_log_that_is_followed_shows_what_comes() {
    let bench = bench();
    let daemon = bench.run_in_step();
    let mut command = bench.espejo(&["log", "--follow"]);
    let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // What is there already, then what comes.
    for _ in 0..log(&bench, &[]).len().min(10) {
        assert!(lines.next().unwrap().unwrap().contains("the app  added"));
    }
    save(&bench.page("New.md"), "new words\n");
    assert!(lines.next().unwrap().unwrap().contains("you      added Equipo/Pages/New.md"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(Told::of(bench.espejo(&["log", "-f", "--json"]).output().unwrap()).code, 2);
    bench.until_in_step();
    bench.rest(daemon);
}

#[test]
fn a_deleted_tree_is_one_line_that_says_how_many_pages_it_had() {
    let bench = Bench::new(|world, space| {
        let plan = world.app_create(space, None, "Plan", vec![paragraph("a", "words")]);
        for name in ["Child", "Other"] {
            world.app_create(space, Some(&plan), name, vec![paragraph("a", "words")]);
        }
        world.app_create(space, None, "Stays", vec![paragraph("a", "words")]);
    });
    bench.sync();
    let _daemon = bench.run();
    std::fs::remove_dir_all(bench.page("Plan")).unwrap();
    std::fs::remove_file(bench.page("Plan.md")).unwrap();
    let logged = || bench.tell(&["log"]).out;
    bench.until("it is logged", || logged().contains("deleted"));
    let told = logged();
    let deletions: Vec<&str> = told.lines().filter(|line| line.contains("you      deleted")).collect();
    assert_eq!(deletions.len(), 1, "{told}");
    assert!(deletions[0].contains("Plan.md") && deletions[0].contains("(with 2 pages beneath it)"), "{told}");
}
