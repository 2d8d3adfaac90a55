//! Lost answers, kills, lagging reads and refusals.

use serde_json::json;

use super::world::{Answer, FOLDER, World, canvas, node, note};
use crate::core::content::listed::ListOf;
use crate::core::observe::entries;

fn at(name: &str) -> String {
    format!("{FOLDER}/{name}.canvas")
}

#[test]
fn nothing_is_made_twice_by_a_lost_answer() {
    for answer in [Answer::Lost, Answer::Dropped, Answer::Status(500)] {
        for which in ["create", "add"] {
            let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one")])]);
            world.answers.push((which, answer));
            world.write(&at("New"), &canvas(&[node("n1", "first"), node("n2", "second")]));
            world.pass_ms(180_000);
            assert_eq!(world.listed(), ["Plan", "New"], "{which} {answer:?}");
            let id = world.boards.keys().find(|id| *id != "b1").unwrap().clone();
            assert_eq!(world.texts(&id), ["first", "second"], "{which} {answer:?}");
            assert!(world.progress().is_settled, "{which} {answer:?} {:?}", world.progress());
        }
    }
}

#[test]
fn nothing_is_made_twice_by_a_kill_at_any_step() {
    for killed_at in 0..40 {
        let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one")])]);
        let text = world.text(&at("Plan")).replace("one", "uno");
        world.write(&at("Plan"), &text);
        world.write(&at("New"), &canvas(&[node("n1", "first"), node("n2", "second")]));
        let mut steps = 0;
        for _ in 0..2_000 {
            if !world.turn() {
                world.now += 500;
                continue;
            }
            steps += 1;
            if steps == killed_at {
                world.kill();
                world.scan_soon();
            }
            if steps > 60 {
                break;
            }
        }
        world.pass_ms(180_000);
        assert_eq!(world.listed(), ["Plan", "New"], "killed at {killed_at}");
        let id = world.boards.keys().find(|id| *id != "b1").unwrap().clone();
        assert_eq!(world.texts(&id), ["first", "second"], "killed at {killed_at}");
        assert_eq!(world.texts("b1"), ["uno"], "killed at {killed_at}");
        assert_eq!(world.names(), [at("New"), at("Plan")], "killed at {killed_at}");
        assert!(world.progress().is_settled, "killed at {killed_at}");
    }
}

#[test]
fn a_request_under_way_at_a_kill_is_found_by_a_read() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one")])]);
    world.write(&at("Plan"), &canvas(&[node("e1", "uno"), node("n1", "new")]));
    // The service carries both out, and the run ends before the answers.
    for which in ["change", "add"] {
        world.answers.push((which, Answer::Lost));
        for _ in 0..200 {
            if world.answers.is_empty() {
                break;
            }
            if !world.turn() {
                world.now += 500;
            }
        }
        world.kill();
        world.scan_soon();
    }
    world.pass_ms(120_000);
    assert_eq!(world.texts("b1"), ["uno", "new"]);
    assert_eq!(world.requests.iter().filter(|name| name.starts_with("add")).count(), 1);
    assert!(world.progress().is_settled);
}

#[test]
fn a_read_that_is_older_than_our_own_write_takes_nothing_back() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one"), note("e2", "two")])]);
    world.stale = Some((world.boards.clone(), world.now + 40_000));
    let text = canvas(&[node("e1", "uno"), node("n1", "new")]);
    world.write(&at("Plan"), &text);
    world.write(&at("New"), &canvas(&[node("n1", "first")]));
    for _ in 0..4 {
        world.pass_ms(8_000);
        world.core(|core| crate::core::request::fetch_now(core, &super::world::path(FOLDER)));
        assert!(world.text(&at("Plan")).contains("uno"), "{}", world.text(&at("Plan")));
        assert!(!world.text(&at("Plan")).contains("two"), "{}", world.text(&at("Plan")));
    }
    world.pass_ms(120_000);
    assert_eq!(world.texts("b1"), ["uno", "new"]);
    assert_eq!(world.listed(), ["Plan", "New"]);
    assert_eq!(world.names(), [at("New"), at("Plan")]);
    assert!(
        world.lines.iter().all(|line| !line.contains("put back") && !line.contains("conflict")),
        "{:?}",
        world.lines
    );
    assert!(world.progress().is_settled);
}

#[test]
fn a_trashed_board_that_a_replica_still_lists_stays_gone() {
    let mut world =
        World::in_step(&[("b1", "Plan", &[note("e1", "one")]), ("b2", "B", &[]), ("b3", "C", &[])]);
    world.stale = Some((world.boards.clone(), world.now + 50_000));
    world.remove(&at("Plan"));
    world.pass_ms(200_000);
    assert!(world.boards["b1"].is_trashed);
    assert_eq!(world.names(), [at("B"), at("C")]);
    assert!(world.progress().is_settled);
}

#[test]
fn a_forbidden_verb_rests_in_its_area_and_other_verbs_go_on() {
    let mut world = World::in_step(&[
        ("b1", "A", &[note("e1", "one")]),
        ("b2", "B", &[note("f1", "two")]),
        ("b3", "C", &[]),
        ("b4", "D", &[]),
    ]);
    world.answers.push(("change", Answer::Status(403)));
    for (name, from) in [("A", "one"), ("B", "two")] {
        let text = world.text(&at(name)).replace(from, "changed");
        world.write(&at(name), &text);
    }
    world.pass_ms(5_000);
    assert_eq!(world.needs(), [format!("read-only {FOLDER}")]);
    assert_eq!(world.requests.iter().filter(|name| name.starts_with("change")).count(), 1);
    world.remove(&at("C"));
    world.pass_ms(20_000);
    assert!(world.boards["b3"].is_trashed);
    world.pass_ms(30_000);
    assert_eq!(world.texts("b1"), ["changed"]);
    assert_eq!(world.texts("b2"), ["changed"]);
    assert_eq!(world.needs(), [""; 0]);
}

#[test]
fn a_refused_change_is_told_and_sent_again_when_it_differs() {
    let mut world = World::in_step(&[("b1", "A", &[note("e1", "one"), note("e2", "two")])]);
    world.answers.push(("change e1", Answer::Status(400)));
    let text = world.text(&at("A")).replace("one", "bad").replace("two", "good");
    world.write(&at("A"), &text);
    world.pass_ms(20_000);
    assert_eq!(world.texts("b1"), ["one", "good"], "other elements go on");
    assert_eq!(world.needs(), [format!("refused {}", at("A"))]);
    // A change of the app comes down although the edit waits.
    world.board("b1").elements[1]["content"] = json!("theirs");
    let text = world.text(&at("A")).replace("bad", "better");
    world.write(&at("A"), &text);
    world.pass_ms(20_000);
    assert_eq!(world.texts("b1")[0], "better");
    assert_eq!(world.needs(), [""; 0]);
    // A refused creation is told too.
    world.answers.push(("create", Answer::Status(400)));
    world.write(&at("New"), &canvas(&[node("n", "x")]));
    world.pass_ms(20_000);
    assert_eq!(world.needs(), [format!("refused {}", at("New"))]);
    world.pass_ms(120_000);
    assert_eq!(world.listed(), ["A", "New"]);
}

#[test]
fn an_item_that_cannot_be_fetched_keeps_its_file_and_its_edits_wait() {
    let mut world = World::in_step(&[("b1", "A", &[note("e1", "one")])]);
    world.answers.extend([("get", Answer::Status(404)), ("get", Answer::Status(404))]);
    let text = world.text(&at("A")).replace("one", "mine");
    world.write(&at("A"), &text);
    world.pass_ms(5_000);
    assert_eq!(world.needs(), [format!("unclear {}", at("A"))]);
    assert_eq!(world.text(&at("A")), text);
    world.pass_ms(300_000);
    assert_eq!(world.texts("b1"), ["mine"]);
    assert_eq!(world.needs(), [""; 0]);
}

#[test]
fn many_new_files_wait_for_the_user() {
    let mut world = World::in_step(&[]);
    world.settings.pages.max_creates = 2;
    for name in ["A", "B", "C"] {
        world.write(&at(name), &canvas(&[node("n", name)]));
    }
    world.pass_ms(60_000);
    assert!(world.listed().is_empty());
    world.settings.pages.max_creates = 3;
    world.pass_ms(60_000);
    assert_eq!(world.listed().len(), 3);
}

#[test]
fn a_clock_that_was_set_back_makes_no_wait_longer() {
    let mut world = World::in_step(&[]);
    world.now += 86_400_000;
    world.write(&at("New"), &canvas(&[node("n", "x")]));
    world.pass_ms(2_000);
    world.now -= 86_400_000;
    world.kill();
    world.pass_ms(60_000);
    assert_eq!(world.listed(), ["New"]);
}

#[test]
fn a_list_that_failed_rests_whatever_makes_it_due() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one")])]);
    let lists = |world: &World| world.requests.iter().filter(|name| *name == "list").count();
    let ask = |world: &mut World| {
        world.core(|core| {
            let areas: Vec<_> = core.state.areas.keys().cloned().collect();
            areas.into_iter().for_each(|area| entries::list_by(core, &ListOf::Area(area), core.now));
        });
        world.pass_ms(1_000);
    };
    world.answers.push(("list", Answer::Status(500)));
    ask(&mut world);
    ask(&mut world);
    assert_eq!(lists(&world), 1);
    world.pass_ms(15_000);
    assert_eq!(lists(&world), 2);
    ask(&mut world);
    assert_eq!(lists(&world), 3);
}
