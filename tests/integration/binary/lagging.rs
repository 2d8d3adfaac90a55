//! Reads that lag: the service's reads are older than espejo's own writes by a second or many, or two replicas take turns.

use std::time::Duration;

use espejo::emulator::Lag;

use super::bench::{Bench, append, paragraph, side_by_side, words};

const LINES: usize = 12;

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
    let lags = [300, 1_000, 8_000].map(|ms| Lag { ms, takes_turns: false });
    let turns = Lag { ms: 1_000, takes_turns: true };
    side_by_side(lags.into_iter().chain([turns]), saved_each_half_second);
}
