//! The watch with services of every kind: their marks change with the text, some of the time, never, or for no reason.

use super::*;

const SECOND: i64 = 1_000;

/// A service with a page for each of `marks`, and users who save one of the first pages every 20 s.
struct World {
    watch: Watch<u32>,
    marks: Vec<u64>,
    stale: Vec<bool>,
    now: Timestamp,
    slot: u64,
    looks: u64,
    found: u64,
    wasted: u64,
}

/// How a service's marks change.
#[derive(Clone, Copy)]
struct Kind {
    /// One save in so many changes its page's mark; 0 for none.
    one_in: u64,
    /// A save changes every mark.
    all: bool,
}

impl World {
    fn new(pages: u32, belief: Belief) -> Self {
        let now = Timestamp(1_800_000_000_000);
        let mut watch = Watch::new(belief);
        (0..pages).for_each(|page| watch.enrol(page, "team", &format!("w{page}"), PollState::default(), now));
        let none = vec![false; pages as usize];
        Self {
            watch,
            marks: vec![0; pages as usize],
            stale: none,
            now: now.plus_ms(60 * SECOND),
            slot: 0,
            looks: 0,
            found: 0,
            wasted: 0,
        }
    }

    fn look(&mut self, page: u32) {
        let changed = std::mem::take(&mut self.stale[page as usize]);
        self.watch.fetched(&page, changed, self.now, self.now.plus_ms(100));
    }

    fn ask(&mut self, group: usize) {
        let sent = self.now;
        let (area, words) = self.watch.ask(group, sent);
        assert_eq!(area, "team");
        let page = |word: &str| word[1..].parse::<u32>().unwrap();
        let marks = words.split(" OR ").map(page).map(|page| (page, (self.marks[page as usize], 0)));
        self.watch.answered(group, &marks.collect(), false, sent, sent);
    }

    /// Runs `hours` in which the schedule fetches one page after the other, and searches and alarms have their turn
    /// between.
    fn play(&mut self, kind: Kind, hours: u64) {
        for second in 0..hours * 3_600 {
            self.now = self.now.plus_ms(SECOND);
            if second % 20 == 0 {
                let page = (second / 2_000 * 7 % self.marks.len() as u64) as usize;
                self.stale[page] = true;
                if kind.one_in > 0 && second / 20 % kind.one_in == 0 {
                    self.marks[page] += 1;
                }
                if kind.all {
                    self.marks.iter_mut().for_each(|mark| *mark += 1);
                }
            }
            self.slot += 1;
            match self.watch.turn(self.slot, false, self.now) {
                Turn::Fetch(page) => {
                    self.looks += 1;
                    *(if self.stale[page as usize] { &mut self.found } else { &mut self.wasted }) += 1;
                    self.look(page);
                }
                Turn::Ask(group) => self.ask(group),
                Turn::Schedule(slot) => {
                    // The page that was edited last is hot, as in the real schedule.
                    let hot = (second / 2_000 * 7 % self.marks.len() as u64) as u32;
                    let next = (slot / 4 % self.marks.len() as u64) as u32;
                    self.look(if slot % 4 == 2 { hot } else { next });
                }
            }
        }
    }
}

#[test]
fn it_is_used_where_marks_move_and_only_there() {
    for (one_in, all, used) in [(1, false, true), (2, false, true), (0, false, false), (0, true, false)] {
        let mut world = World::new(200, Belief::default());
        world.play(Kind { one_in, all }, 12);
        let belief = world.watch.belief();
        assert_eq!(world.watch.is_on(), used, "one in {one_in}, all {all}: {belief:?}");
        if used {
            assert!(world.found > 5 * world.wasted, "{} found, {} wasted", world.found, world.wasted);
        } else {
            assert!(world.watch.asks() < 150, "{} searches for nothing: {belief:?}", world.watch.asks());
        }
    }
}

#[test]
fn a_search_that_shows_hardly_anything_costs_hardly_anything() {
    for one_in in [0, 20] {
        let mut world = World::new(1_000, Belief::default());
        let (mut on, mut asks) = (0, 0);
        for hour in 0..30 {
            world.play(Kind { one_in, all: false }, 1);
            on += u32::from(world.watch.is_on());
            let spent = world.watch.asks() - std::mem::replace(&mut asks, world.watch.asks());
            // From the second hour on, a fiftieth of what the limit allows.
            assert!(hour == 0 || spent <= 60, "hour {hour}: {spent}, {:?}", world.watch.belief());
        }
        assert!(on <= 1, "it was used in {on} hours: {:?}", world.watch.belief());
    }
}

#[test]
fn the_first_mark_of_a_page_that_is_being_edited_is_followed_by_a_look() {
    let mut world = World::new(40, Belief::default());
    world.watch.fetched(&7, true, world.now, world.now);
    world.now = world.now.plus_ms(INDEXED_MS);
    assert_eq!(world.watch.turn(1, false, world.now), Turn::Ask(0));
    world.ask(0);
    assert_eq!(world.watch.turn(2, false, world.now), Turn::Fetch(7));
    world.now = world.now.plus_ms(SECOND);
    world.look(7);
    assert_eq!((world.watch.alarms(), world.watch.belief().right), (0, 0.0), "no alarm");
    // The next change of it is a sample.
    (world.marks[7], world.stale[7]) = (1, true);
    world.look(7);
    world.now = world.now.plus_ms(2 * PROBE_MS);
    world.ask(0);
    assert!(world.watch.belief().levels[0].seen > 0.5, "{:?}", world.watch.belief());
}

#[test]
fn it_ends_by_itself_when_the_service_changes_and_begins_again() {
    let mut world = World::new(80, Belief::default());
    let (moves, still) = (Kind { one_in: 1, all: false }, Kind { one_in: 0, all: false });
    world.play(moves, 4);
    assert!(world.watch.is_on());
    world.play(still, 12);
    assert!(!world.watch.is_on(), "{:?}", world.watch.belief());
    let asks = world.watch.asks();
    world.play(still, 12);
    assert!(world.watch.asks() - asks < 60, "{} searches in half a day", world.watch.asks() - asks);
    world.play(moves, 60);
    assert!(world.watch.is_on(), "{:?}", world.watch.belief());
}

#[test]
fn what_was_learned_outlives_a_restart_and_the_first_answers_are_no_alarms() {
    let learned = Belief::of(20.0, 1.0);
    let mut world = World::new(80, learned);
    assert!(world.watch.is_on());
    world.marks.iter_mut().for_each(|mark| *mark = 17);
    for _ in 0..12 {
        world.now = world.now.plus_ms(SECOND);
        world.slot += 1;
        if let Turn::Ask(group) = world.watch.turn(world.slot, false, world.now) {
            world.ask(group);
        }
    }
    assert_eq!(world.watch.alarms(), 0);
    assert!(world.watch.asks() >= 2);
}

#[test]
fn the_oldest_look_and_what_is_edited_keep_their_slots() {
    let learned = Belief::of(20.0, 0.0);
    let mut world = World::new(2_000, learned);
    let mut looks = BTreeMap::new();
    for _ in 0..8_000 {
        world.now = world.now.plus_ms(SECOND);
        world.slot += 1;
        // Everything changes a little, all the time: as many alarms as there can be.
        let at = (world.slot * 13 % 2_000) as usize;
        world.marks[at] += 1;
        world.stale[at] = true;
        match world.watch.turn(world.slot, false, world.now) {
            Turn::Fetch(page) => world.look(page),
            Turn::Ask(group) => world.ask(group),
            Turn::Schedule(slot) => *looks.entry(slot % 4).or_insert(0) += 1,
        }
    }
    assert!(looks[&0] >= 2_000, "every fourth look is the oldest one's: {looks:?}");
}

#[test]
fn a_mark_that_moved_before_the_look_or_by_our_own_hand_is_no_alarm() {
    let learned = Belief::of(20.0, 0.0);
    for own in [false, true] {
        let mut world = World::new(5, learned);
        world.ask(0);
        world.marks[3] += 1;
        world.stale[3] = true;
        if own {
            world.watch.pushed(&3, world.now);
        } else {
            world.look(3);
        }
        // The search left before the change was in the service's index.
        world.ask(0);
        world.now = world.now.plus_ms(2 * INDEXED_MS);
        world.ask(0);
        assert_eq!(world.watch.alarms(), 0, "own: {own}");
        world.marks[3] += 1;
        world.now = world.now.plus_ms(SECOND);
        world.ask(0);
        assert_eq!(world.watch.alarms(), 1, "own: {own}");
        assert_eq!(world.watch.turn(1, false, world.now), Turn::Fetch(3));
        assert_eq!(world.watch.alarms(), 0);
    }
}

#[test]
fn a_page_that_no_search_finds_is_let_go_and_one_that_vanishes_is_looked_at() {
    let learned = Belief::of(20.0, 0.0);
    let mut watch: Watch<u32> = Watch::new(learned);
    let now = Timestamp(1_000_000);
    (0..3).for_each(|page| watch.enrol(page, "team", &format!("w{page}"), PollState::default(), now));
    let shows = |pages: &[u32]| pages.iter().map(|page| (*page, (1, 1))).collect::<BTreeMap<_, _>>();
    assert_eq!(watch.ask(0, now), ("team".to_owned(), "w0 OR w1 OR w2".to_owned()));
    watch.answered(0, &shows(&[0, 1]), false, now, now);
    assert_eq!((watch.word(&2), watch.word(&1)), (None, Some("w1")));
    watch.answered(0, &shows(&[0]), true, now.plus_ms(1), now.plus_ms(1));
    assert_eq!(watch.alarms(), 0, "a full answer may have left it out");
    watch.answered(0, &shows(&[0]), false, now.plus_ms(2), now.plus_ms(2));
    assert_eq!(watch.alarms(), 1);
}

#[test]
fn crowded_groups_are_halved_and_failing_searches_rest() {
    let mut watch: Watch<u32> = Watch::new(Belief::of(20.0, 9.0));
    let now = Timestamp(1_000_000);
    (0..80).for_each(|page| {
        watch.enrol(page, if page < 40 { "a" } else { "b" }, &format!("w{page}"), PollState::default(), now)
    });
    watch.ask(0, now);
    watch.answered(0, &BTreeMap::new(), true, now, now);
    assert_eq!((watch.pages(0).len(), watch.pages(1).len(), watch.pages(2).len()), (20, 40, 20));
    // Fewer words first, then fewer pages.
    watch.set_common("b", ["plan", "semana"].map(str::to_owned).to_vec());
    for _ in 0..3 {
        assert!(watch.ask(1, now).1.ends_with("\"plan semana zzqqxx\""));
        watch.failed(1, Failure::TooMuch, now);
        assert_eq!(watch.pages(1).len(), 40);
        assert_eq!(watch.turn(1, false, now.plus_ms(REFUSED_MS - 1)), Turn::Schedule(1), "it rests a little");
    }
    assert!(!watch.ask(1, now).1.contains("semana"));
    assert_eq!(watch.belief().words(), 0);
    watch.failed(1, Failure::TooMuch, now);
    assert_eq!((watch.pages(1).len(), watch.pages(3).len()), (10, 10));
    assert_eq!(watch.turn(1, false, now.plus_ms(FAILED_MS - 1)), Turn::Schedule(1), "it rests");
    assert!(matches!(watch.turn(1, false, now.plus_ms(FAILED_MS)), Turn::Ask(_)));
    let asks_with = |failures: &[Failure]| {
        let mut watch: Watch<u32> = Watch::new(Belief::of(12.0, 3.0));
        watch.set_common("a", vec!["plan".to_owned()]);
        watch.enrol(1, "a", "w1", PollState::default(), now);
        for failure in failures {
            watch.ask(0, now);
            watch.failed(0, *failure, now);
        }
        watch.belief().words()
    };
    assert_eq!(asks_with(&[Failure::PerhapsTooMuch]), 300, "any search may fail once");
    assert_eq!(asks_with(&[Failure::PerhapsTooMuch, Failure::PerhapsTooMuch]), 100);
    assert_eq!(asks_with(&[Failure::PerhapsTooMuch, Failure::Other, Failure::PerhapsTooMuch]), 300);
    assert_eq!(asks_with(&[Failure::Other; 9]), 300, "an outage says nothing of the words");
    for _ in 0..40 {
        watch.failed(0, Failure::Other, now);
    }
    assert!(matches!(watch.turn(1, false, now.plus_ms(FAILED_MS << 9)), Turn::Ask(_)), "not for ever");
}

#[test]
fn a_last_branch_that_matches_after_all_does_no_harm() {
    let now = Timestamp(1_000_000);
    let mut watch: Watch<u32> = Watch::new(Belief::of(12.0, 3.0));
    watch.set_common("a", vec!["plan".to_owned()]);
    (0..40).for_each(|page| watch.enrol(page, "a", &format!("w{page}"), PollState::default(), now));
    let shows = |pages: std::ops::Range<u32>| pages.map(|page| (page, (1, 1))).collect::<BTreeMap<_, _>>();
    // One page that contains just that phrase is among the results, and means nothing.
    watch.ask(0, now);
    watch.answered(0, &shows(0..41), false, now, now);
    watch.answered(0, &shows(0..41), false, now, now);
    assert_eq!((watch.alarms(), watch.pages(0).len()), (0, 40));
    // A service that ignores the quotes answers with pages of its own choice, however few are requested.
    let strangers = shows(100..150);
    for pages in [20, 10, 5, 5] {
        watch.ask(0, now);
        watch.answered(0, &strangers, true, now, now);
        assert_eq!((watch.alarms(), watch.pages(0).len()), (0, pages));
    }
    assert_eq!(watch.belief().words(), 100, "it is the other words that are too much");
    assert!(watch.regroup(now.plus_ms(REGROUP_MS)));
    assert_eq!(watch.pages(0).len(), 40);
}

#[test]
fn the_first_search_after_a_restart_shows_what_has_changed_meanwhile() {
    let mut world = World::new(100, Belief::of(20.0, 0.0));
    (0..3).for_each(|group| world.ask(group));
    let kept = world.watch.keep(u32::to_string).unwrap();
    let mut watch: Watch<u32> = Watch::new(world.watch.belief());
    // One of them has been deleted since.
    let page = |id: &str| Some((id.parse().ok().filter(|id| *id != 17)?, PollState::default()));
    assert_eq!(watch.resume(&kept, page).len(), 99);
    let restarted = std::mem::replace(&mut world.watch, watch);
    world.marks[40] += 1;
    world.now = world.now.plus_ms(3_600_000);
    (0..3).for_each(|group| world.ask(group));
    assert_eq!(world.watch.turn(1, false, world.now), Turn::Fetch(40));
    assert_eq!((world.watch.alarms(), world.watch.word(&3)), (0, restarted.word(&3)));
    // Unreadable data are dropped.
    assert!(Watch::<u32>::new(Belief::default()).resume("{", page).is_empty());
}
