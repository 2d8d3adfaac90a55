//! Lists that a user waits for, and what programs find that only read the state.

use super::world::{FOLDER, World, canvas, node, note, path};
use crate::core::{request, schedule};
use crate::model::Timestamp;
use crate::store::{ReadOnly, Store};

/// The path and the state of each item, and whether the search has to look again since.
fn shown(state: &mut ReadOnly, mark: &mut Option<String>) -> (Vec<String>, bool) {
    let rows = state.canvases().unwrap().into_iter();
    let mut rows: Vec<String> =
        rows.map(|row| format!("{} {} {}", row.kind, row.path.unwrap_or(row.title), row.state)).collect();
    rows.sort();
    let now = state.searchable_mark().unwrap();
    let is_new = now != *mark;
    *mark = now;
    (rows, is_new)
}

#[test]
fn items_are_listed_searched_and_scheduled() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap().store;
    let mut world = World::with_store(store, &[("b1", "Plan", &[note("e1", "one")])]);
    world.pass_ms(30_000);
    let mut state = ReadOnly::open(folder.path()).unwrap().unwrap();
    let mut mark = None;
    let plan = format!("{FOLDER}/Plan.canvas");
    let row = |word: &str| format!("whiteboard {plan} {word}");
    assert_eq!(shown(&mut state, &mut mark), (vec![row("synced")], true));
    let polled = state.polled().unwrap();
    assert_eq!(polled.iter().map(|row| (row.id.as_str(), row.is_read)).collect::<Vec<_>>(), [("b1", true)]);
    let mut found = Vec::new();
    state.searchable(|one| found.push((one.kind, one.id, one.title, one.path))).unwrap();
    assert_eq!(found, [("whiteboard", Some("b1".to_owned()), "Plan".to_owned(), Some(plan.clone()))]);
    let mut files = Vec::new();
    state.searchable_files(|path, size, _| files.push((path.to_owned(), size))).unwrap();
    assert_eq!(files, [(plan.clone(), world.files[&plan].0.len() as u64)]);

    // A poll that finds nothing new is no reason to search again.
    world.pass_ms(300_000);
    assert_eq!(shown(&mut state, &mut mark), (vec![row("synced")], false));
    world.area.is_open = false;
    world.write(&plan, &world.text(&plan).replace("one", "two"));
    world.pass_ms(10_000);
    assert_eq!(shown(&mut state, &mut mark), (vec![row("changed")], true));
    let new = format!("{FOLDER}/New.canvas");
    world.write(&new, &canvas(&[node("n", "x")]));
    world.pass_ms(10_000);
    assert_eq!(shown(&mut state, &mut mark), (vec![format!("whiteboard {new} new"), row("changed")], true));
    world.write(&new, "{");
    world.remove(&plan);
    world.pass_ms(10_000);
    assert_eq!(
        shown(&mut state, &mut mark),
        (vec![format!("whiteboard {new} problem"), row("deleted")], true)
    );
    assert_eq!(state.board_counts().unwrap().whiteboards, 1);
}

#[test]
fn a_request_for_a_list_while_one_is_under_way_is_met_at_once() {
    let mut world = World::in_step(&[("b1", "Plan", &[note("e1", "one")])]);
    world.now += 600_000;
    let (sent, effect) = world.core(schedule::next_list).unwrap();
    let asked = world.core(|core| request::fetch_now(core, &path(FOLDER))).unwrap();
    let (answer, now) = (world.service(&effect), Timestamp(world.now));
    world.core(|core| schedule::request_done(core, sent, answer, (now, now))).unwrap();
    assert_eq!(request::fetched(&world.state, std::slice::from_ref(&asked)).lists_left, 1);
    world.pass_ms(1_000);
    assert_eq!(request::fetched(&world.state, &[asked]).lists_left, 0);
}

/// After a lost state, the list of presentations may be there before the workspaces of the whiteboards are known.
#[test]
fn the_first_match_awaits_an_area_that_may_still_come() {
    let mut world = World::new(&[]);
    world.has_decks = true;
    world.area.is_live = false;
    world.put_board("b1", "Renamed", &[note("n1", "one")]);
    world.write(&format!("{FOLDER}/Before.canvas"), &canvas(&[node("n1", "one")]));
    world.area.is_awaited = true;
    world.pass_ms(60_000);
    assert!(world.state.first_match);
    (world.area.is_awaited, world.area.is_live) = (false, true);
    world.pass_ms(60_000);
    assert_eq!(world.names(), [format!("{FOLDER}/Renamed.canvas")]);
    assert!(!world.state.first_match && world.boards.len() == 1);
}
