//! Presentations: one file for all slides, each of which is fetched, merged and sent by itself.

use serde_json::json;

use super::decks::{group, text, words};
use super::world::{Answer, World, canvas, path};

const FILE: &str = "Presentations/Pitch.canvas";

fn three() -> World {
    World::with_deck(&[("s1", "one"), ("s2", "two"), ("s3", "three")])
}

/// The ids of the file's nodes, in order.
fn ids(world: &World) -> Vec<String> {
    let file: serde_json::Value = serde_json::from_str(&world.text(FILE)).unwrap();
    let nodes = file["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect()
}

/// The file without nodes whose ids are among these.
fn without(world: &World, ids: &[&str]) -> String {
    let mut file: serde_json::Value = serde_json::from_str(&world.text(FILE)).unwrap();
    let nodes = file["nodes"].as_array_mut().unwrap();
    nodes.retain(|node| !ids.contains(&node["id"].as_str().unwrap()));
    format!("{file}\n")
}

/// The file with more nodes.
fn with(world: &World, nodes: &[String]) -> String {
    let mut file: serde_json::Value = serde_json::from_str(&world.text(FILE)).unwrap();
    let new = nodes.iter().map(|node| serde_json::from_str::<serde_json::Value>(node).unwrap());
    file["nodes"].as_array_mut().unwrap().extend(new);
    format!("{file}\n")
}

fn fetch(world: &mut World) {
    world.core(|core| crate::core::request::fetch_now(core, &path("Presentations")));
}

fn count(world: &World, begin: &str) -> usize {
    world.requests.iter().filter(|name| name.starts_with(begin)).count()
}

#[test]
fn a_presentation_gets_one_file_and_a_page_and_then_nothing_more_is_asked() {
    let mut world = three();
    assert_eq!(world.names(), [FILE]);
    assert_eq!(ids(&world), ["s1", "s1-e", "s2", "s2-e", "s3", "s3-e"]);
    assert!(world.text(FILE).contains("\"espejo\":{\"id\":\"d1\"}"));
    let page = world.text("Presentations/Pitch.html");
    assert!(page.contains("<title>Pitch</title>") && page.contains("three"), "{page}");
    assert!(world.progress().is_settled, "{:?}", world.progress());
    world.pass_ms(180_000);
    assert!(world.requests.iter().all(|name| name == "list"), "{:?}", world.requests);
}

#[test]
fn ids_of_slides_are_unique_in_their_presentation_only() {
    let mut world = three();
    world.put_deck("d2", "Other", &[("s1", "uno"), ("s2", "dos")]);
    world.pass_ms(120_000);
    let other = "Presentations/Other.canvas";
    assert!(world.text(other).contains("uno") && world.text(FILE).contains("one"));
    let text = world.text(other).replace("dos", "deux");
    world.write(other, &text);
    world.pass_ms(10_000);
    assert_eq!(world.slide_texts("d2"), [["uno"], ["deux"]]);
    assert_eq!(world.slide_texts("d1"), [["one"], ["two"], ["three"]]);
    assert!(world.progress().is_settled);
}

#[test]
fn an_edit_is_sent_after_a_fetch_of_its_slide_only_while_the_app_inserts_a_slide() {
    let mut world = three();
    world.deck("d1").slides.insert(1, ("new".into(), vec![words("n-e", "inserted")]));
    let edited = world.text(FILE).replace("three", "drei");
    world.write(FILE, &edited);
    world.pass_ms(5_000);
    assert_eq!(world.slide_texts("d1"), [["one"], ["inserted"], ["two"], ["drei"]]);
    assert_eq!(world.requests[..2], ["get s3", "change s3-e"]);
    fetch(&mut world);
    world.pass_ms(10_000);
    assert_eq!(ids(&world), ["s1", "s1-e", "new", "n-e", "s2", "s2-e", "s3", "s3-e"]);
    assert!(world.text(FILE).contains("drei"));
    assert!(world.progress().is_settled);
}

#[test]
fn unsent_edits_survive_slides_that_the_app_adds_removes_and_reorders() {
    let mut world = three();
    world.answers.push(("change", Answer::Status(400)));
    let edited = world.text(FILE).replace("three", "drei");
    world.write(FILE, &edited);
    world.pass_ms(10_000);
    assert_eq!(world.needs(), [format!("refused {FILE}")]);
    let slides = &mut world.deck("d1").slides;
    slides.remove(0);
    slides.reverse();
    slides.push(("new".into(), vec![]));
    fetch(&mut world);
    world.answers.push(("change", Answer::Status(400)));
    world.pass_ms(20_000);
    assert_eq!(ids(&world), ["s3", "s3-e", "s2", "s2-e", "new"]);
    assert!(world.text(FILE).contains("drei"), "{}", world.text(FILE));
    world.pass_ms(300_000);
    assert_eq!(world.slide_texts("d1"), [vec!["drei"], vec!["two"], vec![]]);
    assert!(world.progress().is_settled);
}

#[test]
fn edits_on_a_slide_that_the_app_removed_are_kept_beside() {
    let mut world = three();
    world.answers.push(("change", Answer::Status(400)));
    let edited = world.text(FILE).replace("two", "zwei");
    world.write(FILE, &edited);
    world.pass_ms(5_000);
    world.deck("d1").slides.remove(1);
    fetch(&mut world);
    world.pass_ms(20_000);
    assert_eq!(ids(&world), ["s1", "s1-e", "s3", "s3-e"]);
    let copy = world.names().into_iter().find(|name| name.contains(".conflict-")).unwrap().to_owned();
    assert!(world.text(&copy).contains("zwei"));
    assert!(world.progress().is_settled, "{:?}", world.progress());
}

#[test]
fn what_was_new_on_a_slide_that_the_app_removed_gets_into_no_other_slide() {
    let mut world = three();
    world.answers.push(("add", Answer::Status(400)));
    let edited = with(&world, &[text("n", 0, "new").replace("\"x\":40", "\"x\":400")]);
    world.write(FILE, &edited);
    world.pass_ms(5_000);
    world.deck("d1").slides.remove(0);
    fetch(&mut world);
    world.pass_ms(30_000);
    assert_eq!(world.slide_texts("d1"), [["two"], ["three"]]);
    assert!(ids(&world).contains(&"n".to_owned()), "{}", world.text(FILE));
    assert!(world.progress().is_settled, "{:?}", world.progress());
}

#[test]
fn a_node_moved_into_a_slide_that_the_app_removed_says_where_it_is() {
    let mut world = three();
    world.answers.push(("add", Answer::Status(400)));
    let moved =
        world.text(FILE).replacen("\"y\":40,", "\"y\":1500,", 1).replacen("\"x\":40,", "\"x\":400,", 1);
    world.write(FILE, &moved);
    world.pass_ms(5_000);
    world.deck("d1").slides.remove(2);
    fetch(&mut world);
    world.pass_ms(30_000);
    assert_eq!(world.slide_texts("d1"), [["one"], ["two"]]);
    assert!(world.progress().is_settled, "{:?}", world.progress());
    let text = world.text(FILE);
    let node = text.split("\"s1-e\"").nth(1).unwrap();
    let place = |key: &str| world.decks["d1"].slides[0].1[0][key].as_f64().unwrap();
    assert!(node.contains(&format!("\"x\":{},\"y\":{},", place("x"), place("y"))), "{text}");
}

#[test]
fn a_new_group_becomes_a_slide_once_whatever_becomes_of_the_answer() {
    for answer in [None, Some(Answer::Lost), Some(Answer::Dropped), Some(Answer::Status(500))] {
        let mut world = three();
        world.answers.extend(answer.map(|answer| ("slide ", answer)));
        let edited = with(&world, &[group("g", 4), text("n", 4, "new")]);
        world.write(FILE, &edited);
        world.pass_ms(60_000);
        assert_eq!(world.slide_texts("d1"), [["one"], ["two"], ["three"], ["new"]], "{answer:?}");
        let text = world.text(FILE);
        assert!(text.contains("slide-") && !text.contains("\"g\"") && !text.contains("\"n\""), "{text}");
        assert!(world.progress().is_settled, "{answer:?} {:?}", world.progress());
    }
}

#[test]
fn a_kill_at_any_step_doubles_no_slide_and_no_presentation() {
    for killed_at in 0..60 {
        let mut world = three();
        let edited = with(&world, &[group("g", 4), text("n", 4, "new")]).replace("one", "uno");
        world.write(FILE, &edited);
        let nodes = [group("a", 0), text("a1", 0, "first"), group("b", 1), text("b1", 1, "second")];
        world.write("Presentations/New.canvas", &canvas(&nodes));
        act(&mut world, killed_at, 90);
        world.pass_ms(180_000);
        assert_eq!(world.slide_texts("d1"), [["uno"], ["two"], ["three"], ["new"]], "killed at {killed_at}");
        assert_eq!(world.decks.len(), 2, "killed at {killed_at}");
        let id = world.decks.keys().find(|id| *id != "d1").unwrap().clone();
        assert_eq!(world.slide_texts(&id), [["first"], ["second"]], "killed at {killed_at}");
        assert_eq!(world.names(), ["Presentations/New.canvas", FILE], "killed at {killed_at}");
        assert!(world.progress().is_settled, "killed at {killed_at} {:?}", world.progress());
    }
}

/// Lets a world act until `steps` effects are done, with a kill after `killed_at` of them.
fn act(world: &mut World, killed_at: usize, steps: usize) {
    let mut done = 0;
    for _ in 0..1_000 {
        if !world.turn() {
            world.now += 500;
            continue;
        }
        done += 1;
        if done == killed_at {
            world.kill();
            world.scan_soon();
        }
        if done > steps {
            break;
        }
    }
}

#[test]
fn a_request_under_way_at_a_kill_is_found_by_a_list_or_a_fetch() {
    for which in ["slide ", "create New", "add new"] {
        let mut world = three();
        let edited = with(&world, &[group("g", 4), text("n", 4, "new")]);
        world.write(FILE, &edited);
        let nodes = [group("a", 0), text("a1", 0, "first")];
        world.write("Presentations/New.canvas", &canvas(&nodes));
        // The service carries it out, and the run ends before the answer.
        world.answers.push((which, Answer::Lost));
        for _ in 0..400 {
            if world.answers.is_empty() {
                break;
            }
            if !world.turn() {
                world.now += 500;
            }
        }
        assert!(world.answers.is_empty(), "{which}");
        world.kill();
        world.scan_soon();
        world.pass_ms(180_000);
        assert_eq!(world.slide_texts("d1"), [["one"], ["two"], ["three"], ["new"]], "{which}");
        assert_eq!(world.decks.len(), 2, "{which}");
        assert_eq!(count(&world, which), 1, "{which} {:?}", world.requests);
        assert!(world.progress().is_settled, "{which} {:?}", world.progress());
    }
}

#[test]
fn a_kill_at_any_step_doubles_no_move_and_loses_no_slide() {
    for killed_at in (0..40).step_by(2) {
        let mut world = three();
        world.settings.boards.permanent_deletes = true;
        let edited = without(&world, &["s1-e", "s2", "s2-e"]);
        world.write(FILE, &edited);
        let moved = with(&world, &[text("s1-e", 2, "one").replace("\"x\":40", "\"x\":400")]);
        world.write(FILE, &moved);
        act(&mut world, killed_at, 50);
        world.pass_ms(120_000);
        assert_eq!(world.slides("d1"), ["s1", "s3"], "killed at {killed_at}");
        assert_eq!(world.slide_texts("d1"), [vec![], vec!["three", "one"]], "killed at {killed_at}");
        assert!(world.progress().is_settled, "killed at {killed_at} {:?}", world.progress());
    }
}

#[test]
fn a_new_file_becomes_a_presentation_once_it_has_a_group_and_has_rested() {
    for answer in [None, Some(Answer::Lost), Some(Answer::Dropped)] {
        let mut world = World::new(&[]);
        world.has_decks = true;
        world.pass_ms(30_000);
        world.answers.extend(answer.map(|answer| ("create", answer)));
        world.write("Presentations/Lonely.canvas", &canvas(&[text("n", 0, "lonely")]));
        world.pass_ms(30_000);
        assert_eq!(count(&world, "create"), 0);
        let name = "Presentations/New.canvas";
        let nodes = [group("a", 0), text("a1", 0, "first"), group("b", 1), text("b1", 1, "second")];
        world.write(name, &canvas(&nodes));
        world.pass_ms(5_000);
        assert_eq!(count(&world, "create"), 0, "it has not rested");
        world.pass_ms(180_000);
        assert_eq!(world.decks.len(), 1, "{answer:?}");
        let id = world.decks.keys().next().unwrap().clone();
        assert_eq!(world.slide_texts(&id), [["first"], ["second"]], "{answer:?}");
        assert!(world.text(name).contains(&format!("\"espejo\":{{\"id\":\"{id}\"}}")));
        assert!(world.progress().is_settled, "{answer:?} {:?}", world.progress());
    }
}

#[test]
fn a_removed_group_comes_back_unless_permanent_deletes_are_allowed() {
    let mut world = three();
    let edited = without(&world, &["s2", "s2-e"]);
    world.write(FILE, &edited);
    world.pass_ms(20_000);
    assert_eq!(world.slides("d1"), ["s1", "s2", "s3"]);
    assert_eq!(ids(&world), ["s1", "s1-e", "s2", "s2-e", "s3", "s3-e"]);
    assert!(world.lines.iter().any(|line| line.starts_with("only-here ")), "{:?}", world.lines);
    let mut world = three();
    world.settings.boards.permanent_deletes = true;
    let edited = without(&world, &["s2", "s2-e"]);
    world.write(FILE, &edited);
    world.pass_ms(20_000);
    assert_eq!(world.slides("d1"), ["s1", "s3"]);
    assert_eq!(ids(&world), ["s1", "s1-e", "s3", "s3-e"]);
    assert!(world.progress().is_settled, "{:?}", world.progress());
    assert!(world.core(|core| core.store.buried("s2-e")).unwrap().is_some());
}

#[test]
fn a_removed_slide_that_the_app_changed_comes_back() {
    let mut world = three();
    world.settings.boards.permanent_deletes = true;
    world.deck("d1").slides[1].1[0]["content"] = json!("theirs");
    let edited = without(&world, &["s2", "s2-e"]);
    world.write(FILE, &edited);
    world.pass_ms(20_000);
    assert_eq!(world.slides("d1"), ["s1", "s2", "s3"]);
    assert!(world.text(FILE).contains("theirs"));
}

#[test]
fn a_node_moved_into_another_slide_is_made_there_and_then_removed_here() {
    for answer in [None, Some(Answer::Lost)] {
        let mut world = three();
        world.answers.extend(answer.map(|answer| ("add", answer)));
        let moved = without(&world, &["s1-e"]);
        world.write(FILE, &moved);
        let moved = with(&world, &[text("s1-e", 2, "one").replace("\"x\":40", "\"x\":400")]);
        world.write(FILE, &moved);
        world.pass_ms(60_000);
        assert_eq!(world.slide_texts("d1"), [vec![], vec!["two"], vec!["three", "one"]], "{answer:?}");
        let add = world.requests.iter().position(|name| name == "add one").unwrap();
        let delete = world.requests.iter().position(|name| name == "delete s1-e").unwrap();
        assert!(add < delete, "{:?}", world.requests);
        assert!(world.progress().is_settled, "{answer:?} {:?}", world.progress());
    }
}

#[test]
fn a_moved_node_whose_element_comes_back_where_it_was_is_another_node() {
    let mut world = three();
    let moved = without(&world, &["s1-e"]);
    world.write(FILE, &moved);
    let moved = with(&world, &[text("s1-e", 2, "one").replace("\"x\":40", "\"x\":400")]);
    world.write(FILE, &moved);
    world.deck("d1").slides[0].1[0]["width"] = json!(300);
    world.pass_ms(60_000);
    assert_eq!(world.slide_texts("d1"), [vec!["one"], vec!["two"], vec!["three", "one"]]);
    // The app removes it there, and the file has it changed: it is made anew once.
    world.deck("d1").slides[0].1.clear();
    let edited = world.text(FILE).replacen("one", "uno", 1);
    world.write(FILE, &edited);
    world.pass_ms(60_000);
    assert_eq!(world.slide_texts("d1"), [vec!["uno"], vec!["two"], vec!["three", "one"]]);
    assert!(world.progress().is_settled, "{:?}", world.progress());
}

#[test]
fn a_new_node_that_is_moved_into_another_slide_while_it_is_made_ends_there() {
    let mut world = three();
    let edited = with(&world, &[text("n", 0, "new").replace("\"x\":40", "\"x\":400")]);
    let moved = with(&world, &[text("n", 2, "new").replace("\"x\":40", "\"x\":400")]);
    world.write(FILE, &edited);
    while count(&world, "add new") == 0 {
        if !world.turn() {
            world.now += 100;
        }
    }
    world.write(FILE, &moved);
    world.pass_ms(60_000);
    assert_eq!(world.slide_texts("d1"), [vec!["one"], vec!["two"], vec!["three", "new"]]);
    assert_eq!(count(&world, "add new"), 2);
    assert!(world.progress().is_settled, "{:?}", world.progress());
}

#[test]
fn a_group_that_is_free_once_another_one_was_laid_out_is_a_slide() {
    let mut world = World::new(&[]);
    world.has_decks = true;
    world.pass_ms(30_000);
    // The second one covers a part of the first, and is laid out as the first slide.
    let first = group("a", 0).replace("\"y\":0", "\"y\":1000");
    let second = group("b", 1).replace("\"x\":0", "\"label\":\"2\",\"x\":0");
    let nodes = [first, text("a1", 2, "first"), second, text("b1", 1, "second")];
    world.write("Presentations/New.canvas", &canvas(&nodes));
    world.pass_ms(180_000);
    let id = world.decks.keys().next().unwrap().clone();
    let text = world.text("Presentations/New.canvas");
    assert_eq!(world.slide_texts(&id), [["second"], ["first"]], "{text}");
    assert!(world.progress().is_settled, "{:?}", world.progress());
}

#[test]
fn an_element_that_may_not_be_changed_is_told_once_for_the_presentation() {
    let mut world = three();
    world.answers.extend([("change s1-e", Answer::Status(404)), ("change s2-e", Answer::Status(404))]);
    let edited = world.text(FILE).replace("one", "uno").replace("two", "dos");
    world.write(FILE, &edited);
    world.pass_ms(20_000);
    assert_eq!(world.needs(), [format!("refused {FILE}")]);
    assert_eq!(world.text(FILE), edited, "the edits stay");
    assert_eq!(world.slide_texts("d1"), [["one"], ["two"], ["three"]]);
    world.pass_ms(300_000);
    assert_eq!(world.slide_texts("d1"), [["uno"], ["dos"], ["three"]]);
    assert_eq!(world.needs(), [""; 0]);
}

#[test]
fn a_deleted_file_takes_its_presentation_to_the_trash_after_the_grace_time() {
    let mut world = three();
    for (id, name) in [("d2", "B"), ("d3", "C"), ("d4", "D")] {
        world.put_deck(id, name, &[("s1", "x")]);
    }
    world.pass_ms(120_000);
    world.remove(FILE);
    world.pass_ms(5_000);
    assert!(!world.decks["d1"].is_trashed);
    world.pass_ms(60_000);
    assert!(world.decks["d1"].is_trashed);
    assert!(world.trash.contains(&"Presentations/Pitch.html".to_owned()), "{:?}", world.trash);
    world.pass_ms(120_000);
    assert!(world.progress().is_settled, "{:?}", world.progress());
    assert_eq!(world.state.items.all().filter(|item| item.parent.is_some()).count(), 3);
}

#[test]
fn a_presentation_is_trashed_only_after_a_look_at_each_of_its_slides() {
    let mut world = three();
    for (id, name) in [("d2", "B"), ("d3", "C"), ("d4", "D")] {
        world.put_deck(id, name, &[("s1", "x")]);
    }
    world.pass_ms(120_000);
    world.deck("d1").slides[1].1[0]["content"] = json!("theirs");
    world.remove(FILE);
    world.pass_ms(60_000);
    assert!(!world.decks["d1"].is_trashed);
    assert!(world.text(FILE).contains("theirs"));
    assert!(world.progress().is_settled, "{:?}", world.progress());
}

#[test]
fn a_presentation_that_the_app_trashed_leaves_and_an_edited_file_is_kept() {
    for is_edited in [false, true] {
        let mut world = three();
        for (id, name) in [("d2", "B"), ("d3", "C"), ("d4", "D")] {
            world.put_deck(id, name, &[("s1", "x")]);
        }
        world.pass_ms(120_000);
        if is_edited {
            world.answers.push(("change", Answer::Status(400)));
            let edited = world.text(FILE).replace("two", "zwei");
            world.write(FILE, &edited);
            world.pass_ms(5_000);
        }
        world.deck("d1").is_trashed = true;
        world.pass_ms(200_000);
        assert!(!world.names().contains(&FILE), "{:?}", world.names());
        let copy = world.names().into_iter().find(|name| name.contains(".conflict-")).map(str::to_owned);
        assert_eq!(copy.is_some(), is_edited, "{:?}", world.names());
        assert_eq!(world.trash.contains(&FILE.to_owned()), !is_edited);
        assert!(copy.is_none_or(|copy| world.text(&copy).contains("zwei")));
        assert!(world.progress().is_settled, "{:?}", world.progress());
    }
}

#[test]
fn a_slide_that_cannot_be_read_has_an_empty_group_and_keeps_no_other_away() {
    let mut world = World::with_deck(&[]);
    world.put_deck("d2", "Other", &[("a", "one"), ("b", "two"), ("c", "three")]);
    world.answers.extend(std::iter::repeat_n(("get b", Answer::Status(404)), 3));
    world.pass_ms(90_000);
    let other = "Presentations/Other.canvas";
    let text = world.text(other);
    assert!(text.contains("one") && text.contains("three") && !text.contains("two"), "{text}");
    assert!(text.contains("\"b\"") && text.contains("\"label\":\"3\""), "{text}");
    assert_eq!(world.needs(), [format!("unclear {other}")]);
    // What is written into the empty group waits, and other slides do not.
    let mut file: serde_json::Value = serde_json::from_str(&text.replace("three", "drei")).unwrap();
    let new = super::decks::text("n", 1, "new").replace("\"x\":40", "\"x\":500");
    file["nodes"].as_array_mut().unwrap().push(serde_json::from_str(&new).unwrap());
    world.write(other, &format!("{file}\n"));
    world.pass_ms(5_000);
    assert_eq!(world.slide_texts("d2")[1..], [["two"], ["drei"]]);
    world.pass_ms(300_000);
    assert!(world.text(other).contains("two"));
    assert_eq!(world.slide_texts("d2")[1], ["two", "new"]);
    assert_eq!(world.needs(), [""; 0]);
    assert!(world.progress().is_settled);
}

#[test]
fn a_fault_on_one_slide_is_told_and_the_others_go_on() {
    let mut world = three();
    let edited = world.text(FILE).replace("three", "drei");
    let mut file: serde_json::Value = serde_json::from_str(&edited).unwrap();
    file["nodes"][1]["color"] = json!("no colour");
    world.write(FILE, &format!("{file}\n"));
    world.pass_ms(20_000);
    assert_eq!(world.slide_texts("d1"), [["one"], ["two"], ["drei"]]);
    assert_eq!(world.needs(), [format!("not-sent {FILE}")]);
    file["nodes"][1]["color"] = json!("#ff0000");
    world.write(FILE, &format!("{file}\n"));
    world.pass_ms(20_000);
    assert_eq!(world.decks["d1"].slides[0].1[0]["style"]["color"], json!("#ff0000"));
    assert_eq!(world.needs(), [""; 0]);
    assert!(world.progress().is_settled);
}

#[test]
fn many_slides_that_leave_at_once_wait_for_the_user() {
    let slides = [("s1", "a"), ("s2", "b"), ("s3", "c"), ("s4", "d"), ("s5", "e"), ("s6", "f")];
    let mut world = World::with_deck(&slides);
    world.deck("d1").slides.truncate(2);
    fetch(&mut world);
    world.pass_ms(30_000);
    assert_eq!(ids(&world).len(), 12);
    assert_eq!(world.needs()[0], format!("removals-held {FILE}"));
    world.approve(&[FILE]);
    world.pass_ms(30_000);
    assert_eq!(ids(&world), ["s1", "s1-e", "s2", "s2-e"]);
    assert_eq!(world.needs(), [""; 0]);
}

#[test]
fn what_stands_only_in_the_file_is_told_and_is_in_the_page() {
    let mut world = three();
    let link = "{\"id\":\"l\",\"type\":\"link\",\"url\":\"https://example.org\",\"x\":9,\"y\":300,\"width\":400,\"height\":40}";
    let edited = with(&world, &[link.to_owned()]).replace("\"label\":\"2\"", "\"label\":\"Numbers\"");
    world.write(FILE, &edited);
    world.pass_ms(20_000);
    assert_eq!(world.text(FILE), edited);
    assert!(world.lines.iter().any(|line| line.starts_with("only-here ")), "{:?}", world.lines);
    let page = world.text("Presentations/Pitch.html");
    assert!(page.contains("example.org") && page.contains("Numbers"), "{page}");
    assert!(world.progress().is_settled && world.requests.iter().all(|name| name == "list"));
}

#[test]
fn a_list_that_lacks_a_slide_once_takes_nothing_away() {
    let mut world = three();
    let mut stale = world.decks.clone();
    stale.get_mut("d1").unwrap().slides.remove(1);
    world.stale_decks = Some((stale, world.now + 1_000));
    fetch(&mut world);
    world.pass_ms(20_000);
    assert_eq!(ids(&world), ["s1", "s1-e", "s2", "s2-e", "s3", "s3-e"]);
    assert!(world.trash.is_empty() && world.lines.iter().all(|line| !line.contains("changed in the app")));
    assert!(world.progress().is_settled);
}

#[test]
fn a_read_that_is_older_than_a_new_slide_takes_nothing_back() {
    let mut world = three();
    world.stale_decks = Some((world.decks.clone(), world.now + 20_000));
    let edited = with(&world, &[group("g", 4)]).replace("one", "uno");
    world.write(FILE, &edited);
    for _ in 0..3 {
        world.pass_ms(6_000);
        fetch(&mut world);
        assert!(world.text(FILE).contains("uno"));
    }
    world.pass_ms(120_000);
    assert_eq!(world.slides("d1").len(), 4);
    assert_eq!(ids(&world).len(), 7, "{:?}", ids(&world));
    assert!(world.progress().is_settled, "{:?}", world.progress());
}

#[test]
fn a_renamed_presentation_is_renamed_and_a_renamed_file_goes_back() {
    let mut world = three();
    world.deck("d1").name = "Plan".into();
    world.pass_ms(90_000);
    let names: Vec<&str> = world.files.keys().map(String::as_str).collect();
    assert_eq!(names, ["Presentations/Plan.canvas", "Presentations/Plan.html"]);
    world.rename("Presentations/Plan.canvas", "Presentations/Mine.canvas");
    world.pass_ms(60_000);
    assert_eq!(world.names(), ["Presentations/Plan.canvas"]);
}

#[test]
fn a_presentation_of_another_size_is_drawn_anew() {
    let mut world = three();
    world.deck("d1").size = [1080.0, 1080.0];
    world.pass_ms(120_000);
    assert!(world.text(FILE).contains("\"height\":1080"), "{}", world.text(FILE));
    assert!(world.progress().is_settled);
}

#[test]
fn an_equal_file_is_found_at_the_first_match() {
    let mut world = three();
    let text = world.text(FILE);
    let mut again = World::new(&[]);
    again.has_decks = true;
    again.put_deck("d1", "Pitch", &[("s1", "one"), ("s2", "two"), ("s3", "three")]);
    again.write(FILE, &text);
    again.pass_ms(60_000);
    assert_eq!(again.names(), [FILE]);
    assert_eq!(again.text(FILE), text);
    assert_eq!(again.slides("d1").len(), 3);
    assert!(again.progress().is_settled && world.progress().is_settled);
}
