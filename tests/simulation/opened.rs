//! What somebody opens is looked at at once, in the real engine on a clock of its own; what is not, in its turn.

use espejo::model::{Event, MirrorPath, PageId};

use crate::run::Run;
use crate::script::Script;

/// A mirror that has come to rest long ago, and one of its files: where it is, what it says, and its page.
fn at_rest() -> (Run, MirrorPath, String, PageId) {
    let mut scene = Script::draw(11, 0).scene;
    (scene.pages, scene.budget, scene.hints_lost, scene.rest_ms) = (40, 60, 0, 0);
    let mut run = Run::new(scene, false).unwrap();
    run.pump().unwrap();
    // Long enough for all to have been read; then, a quarter of an hour at which nobody is at work.
    run.pass_until(run.now_ms + 900_000).unwrap();
    let (path, thing) = run.folder.things.iter().find(|(_, thing)| !thing.bytes.is_empty()).unwrap();
    let (path, text) = (path.clone(), String::from_utf8(thing.bytes.clone()).unwrap());
    let id = PageId::new(text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap()).unwrap();
    (run, path, text, id)
}

/// How many times the page was asked for within three seconds.
fn looks_soon(opens: usize) -> usize {
    let (mut run, path, _, id) = at_rest();
    let asked = |run: &Run| {
        run.service.world.log().entries().filter(|entry| entry.path == format!("/pages/{id}")).count()
    };
    // Not in the moment when it has its turn anyway: that comes once a minute.
    let first = asked(&run);
    while asked(&run) == first {
        run.pass_until(run.now_ms + 1_000).unwrap();
    }
    run.pass_until(run.now_ms + 30_000).unwrap();
    let before = asked(&run);
    for _ in 0..opens {
        run.tell(Event::Opened(path.clone())).unwrap();
    }
    run.pump().unwrap();
    run.pass_until(run.now_ms + 3_000).unwrap();
    asked(&run) - before
}

#[test]
fn what_is_opened_is_looked_at_once_and_what_everything_is_opened_by_is_no_person() {
    assert_eq!(looks_soon(0), 0, "in its turn");
    assert_eq!(looks_soon(1), 1, "at once");
    assert_eq!(looks_soon(5), 1, "not for each time");
    assert_eq!(looks_soon(100), 0, "a program that opens everything");
}

/// How long a save takes to its PATCH when its page is asked for in the same moment, because the file was opened.
#[test]
fn a_save_does_not_wait_for_the_look_at_what_was_opened() {
    let (mut run, path, text, id) = at_rest();
    // No script wrote it, and it counts as a person's all the same.
    run.checks.hands.put_back(&id);
    let patches = |run: &Run| run.service.world.log().writes().count();
    let before = patches(&run);
    run.folder.write(&path, format!("{text}\nAnd more.\n").as_bytes());
    run.tell(Event::Opened(path)).unwrap();
    run.pump().unwrap();
    run.spread_hints();
    // Settled, scanned, read, and a look and a PATCH of at most 120 ms each way.
    run.pass_until(run.now_ms + 1_000).unwrap();
    assert_eq!(patches(&run), before + 1);
}
