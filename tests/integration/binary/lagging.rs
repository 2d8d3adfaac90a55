//! Reads that lag: the service's reads are older than espejo's own writes by a second or many, or two replicas take turns.

use std::fs;
use std::time::Duration;

use espejo::emulator::Lag;
use espejo::model::Timestamp;

use super::bench::{Bench, append, paragraph, save, side_by_side, within, words};

const LINES: usize = 12;

fn behind(ms: i64) -> Lag {
    Lag { ms, takes_turns: false, only_pages: false }
}

/// Twelve saves, one each half second: an editor that saves by itself.
fn saved_each_half_second(lag: Lag) {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "One", vec![paragraph("a", "first words")]);
    });
    let daemon = bench.run_in_step();
    bench.world().set_read_lag(Some(lag));
    let line = |n: usize| format!("line number{n}x of mine");
    for n in 0..LINES {
        append(&bench.page("One.md"), &format!("\n{}\n", line(n)));
        // The pace of an editor, not a wait for something to happen.
        std::thread::sleep(Duration::from_millis(500));
        let text = bench.text("One.md");
        assert!((0..=n).all(|n| text.matches(&line(n)).count() == 1), "{lag:?}: {text}");
    }
    bench.until("all lines are at the service once", || {
        let page = words(&bench.content("One"));
        (0..LINES).all(|n| page.matches(&line(n)).count() == 1)
    });
    bench.world().set_read_lag(None);
    bench.look_again();
    bench.until_in_step();
    let (page, text) = (words(&bench.content("One")), bench.text("One.md"));
    for n in 0..LINES {
        let counts = (page.matches(&line(n)).count(), text.matches(&line(n)).count());
        assert_eq!(counts, (1, 1), "{lag:?}, {}: {page}\n{text}", line(n));
    }
    assert_eq!(bench.attention(), "", "{lag:?}: nobody is blamed");
    bench.rest(daemon);
}

#[test]
fn quick_saves_lose_no_line_to_reads_that_lag() {
    let lags = [300, 1_000, 8_000, 20_000].map(behind);
    let turns = Lag { takes_turns: true, ..behind(1_000) };
    side_by_side(lags.into_iter().chain([turns]), saved_each_half_second);
}

#[test]
fn a_colleagues_lines_between_our_saves_stay() {
    let bench = Bench::new(|world, space| {
        world.app_create(space, None, "One", vec![paragraph("a", "first words")]);
    });
    let daemon = bench.run_in_step();
    bench.world().set_read_lag(Some(behind(1_000)));
    let id = bench.id("One");
    // The pace of two people, not waits for something to happen: a colleague writes 1.5 s after each save.
    let half_round = Duration::from_millis(1_500);
    for n in 0..5 {
        append(&bench.page("One.md"), &format!("\nmine number{n}x\n"));
        std::thread::sleep(half_round);
        let mut blocks = bench.content("One");
        blocks.push(paragraph(&format!("theirs{n}"), &format!("theirs number{n}x")));
        let mut world = bench.world();
        assert!(world.app_edit(&id, blocks));
        world.keep_state(Timestamp(jiff::Timestamp::now().as_millisecond()));
        drop(world);
        std::thread::sleep(half_round);
    }
    bench.until("all lines are at the service", || {
        let page = words(&bench.content("One"));
        (0..5).all(|n| page.contains(&format!("mine number{n}x")))
    });
    bench.world().set_read_lag(None);
    bench.look_again();
    bench.until_in_step();
    let (page, text) = (words(&bench.content("One")), bench.text("One.md"));
    for line in (0..5).flat_map(|n| [format!("mine number{n}x"), format!("theirs number{n}x")]) {
        assert_eq!(
            (page.matches(&line).count(), text.matches(&line).count()),
            (1, 1),
            "{line}: {page}\n{text}"
        );
    }
    assert_eq!(bench.attention(), "", "nobody is blamed");
    bench.rest(daemon);
}

/// A new file, a rename and a removal, with reads all the time after them: no file goes, comes back or gets its old name.
fn made_renamed_and_removed(lag: Lag) {
    let bench = Bench::new(|world, space| {
        for title in ["One", "Two", "Three"] {
            world.app_create(space, None, title, vec![paragraph("a", "some words")]);
        }
    });
    let daemon = bench.run_in_step();
    bench.world().set_read_lag(Some(lag));
    save(&bench.page("New.md"), "a new page\n");
    fs::rename(bench.page("Two.md"), bench.page("Second.md")).unwrap();
    let third = bench.id("Three");
    fs::remove_file(bench.page("Three.md")).unwrap();
    let names = |at: &str| {
        let is_there = ["New.md", "Second.md", "Two.md", "Three.md"].map(|name| bench.page(name).exists());
        assert_eq!(is_there, [true, true, false, false], "{lag:?}, {at}: {}", bench.seen());
    };
    bench.until("the service has all of it", || {
        names("while it is sent");
        bench.titled("New").is_some() && bench.titled("Second").is_some() && bench.is_trashed(&third)
    });
    let lasts = Duration::from_millis(u64::try_from(2 * lag.ms).unwrap() + 2_000);
    let mut looks = 0;
    // Looked at all the time: that no file is away for a moment is a matter of time itself.
    within(lasts, &mut || {
        names("while reads lag");
        looks += 1;
        if looks % 10 == 0 {
            bench.ask("\"full-pass\"");
            assert_eq!(bench.attention(), "", "{lag:?}: nothing is told");
        }
        false
    });
    bench.world().set_read_lag(None);
    bench.look_again();
    bench.until_in_step();
    names("in the end");
    assert_eq!((bench.count("New"), bench.count("Second"), bench.attention()), (1, 1, String::new()));
    bench.rest(daemon);
}

#[test]
fn no_file_goes_or_gets_its_old_name_while_reads_lag() {
    let turns = Lag { takes_turns: true, ..behind(1_000) };
    side_by_side([behind(1_000), behind(6_000), turns], made_renamed_and_removed);
}
