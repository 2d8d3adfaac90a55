//! What the limiter promises, on schedules that nobody would think of: kills, takeovers, clocks that are set, answers that
//! come late or never, refusals. `ESPEJO_CASES=1000000` tries a million.

use super::*;
use crate::engine::schedule::poll;
use crate::model::tests::cases;

/// Numbers that only the seed decides.
struct Luck(u64);

impl Luck {
    fn below(&mut self, most: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % most.max(1).unsigned_abs()) as i64
    }

    fn one_in(&mut self, count: i64) -> bool {
        self.below(count) == 0
    }
}

/// A request under way, in the true time.
struct PendingUpdate {
    effect: u64,
    arrives: i64,
    answers: i64,
    /// Whether its answer lets a PATCH go that a slot is kept for.
    then_patch: bool,
}

/// One schedule: several runs of espejo on one log, one after the other, and a service that writes down what arrives.
struct Schedule {
    luck: Luck,
    pace: Pace,
    limit: u32,
    /// The true time, and what the present run's clock is ahead of it. A run's own clock never steps.
    now: i64,
    ahead: i64,
    up_ms: i64,
    down_ms: i64,
    late: bool,
    effects: u64,
    under_way: Vec<PendingUpdate>,
    arrivals: Vec<i64>,
    patches_late: usize,
}

const CLASSES: [Class; 4] = [Class::Edit, Class::Asked, Class::List, Class::Background];
const BEGIN: i64 = 1_000_000_000;

impl Schedule {
    fn new(seed: u64, rough: bool, least: u32) -> Self {
        let mut luck = Luck(seed);
        let limit = if luck.one_in(3) { 60 } else { least + luck.below(i64::from(61 - least)) as u32 };
        let (up_ms, down_ms) =
            ([40, 300, 1_000][luck.below(3) as usize], [40, 300, 1_000][luck.below(3) as usize]);
        Self {
            pace: Pace::new(limit, Vec::new(), Timestamp(BEGIN)),
            limit,
            now: BEGIN,
            ahead: 0,
            up_ms,
            down_ms,
            late: rough && luck.one_in(2),
            effects: 0,
            under_way: Vec::new(),
            arrivals: Vec::new(),
            patches_late: 0,
            luck,
        }
    }

    fn clock(&self) -> Timestamp {
        Timestamp(self.now + self.ahead)
    }

    fn send(&mut self, class: Class, reserve: u32) {
        self.effects += 1;
        self.pace.sent(self.effects, class, reserve, self.clock());
        let slow = if self.late && self.luck.one_in(50) { 1 + self.luck.below(30_000) } else { 1 };
        let arrives = self.now + self.luck.below(self.up_ms) + self.luck.below(slow);
        let answers = arrives + self.luck.below(self.down_ms) + self.luck.below(slow);
        self.under_way.push(PendingUpdate {
            effect: self.effects,
            arrives,
            answers,
            then_patch: reserve > 0,
        });
    }

    fn answers(&mut self) {
        let (due, rest) =
            std::mem::take(&mut self.under_way).into_iter().partition(|sent| sent.answers <= self.now);
        self.under_way = rest;
        let due: Vec<PendingUpdate> = due;
        for sent in due {
            self.arrivals.push(sent.arrives);
            self.pace.answered(sent.effect, self.clock());
            if sent.then_patch {
                self.pace.release();
                if self.pace.allows(Class::Edit, 1, false, self.clock()) {
                    self.send(Class::Edit, 0);
                } else {
                    self.patches_late += 1;
                }
            }
        }
    }

    /// The run is killed, and another takes the log over, on a clock that may have been set.
    fn kill(&mut self) {
        for sent in std::mem::take(&mut self.under_way) {
            // What has left may still arrive a moment later, and what has not never does.
            if sent.arrives <= self.now || self.luck.one_in(2) {
                self.arrivals.push(sent.arrives.min(self.now + STRAY_MS - 10));
            }
        }
        let down = if self.luck.one_in(2) { 0 } else { self.luck.below(20_000) };
        let stray_from = self.now;
        self.now += down;
        let mut log: Vec<LogEntry> = self.pace.log.iter().copied().collect();
        let step = if self.luck.one_in(3) { self.luck.below(14_400_000) - 7_200_000 } else { 0 };
        // The log moves with the clock (`Store::settle_clock`) unless the machine was started anew; then a clock that went
        // back still forgets nothing.
        let known = step >= 0 || self.luck.one_in(2);
        for entry in log.iter_mut().filter(|_| known) {
            entry.sent = entry.sent.plus_ms(step);
            entry.answered = entry.answered.map(|at| at.plus_ms(step));
        }
        self.ahead += step;
        debug_assert!(stray_from <= self.now);
        self.pace = Pace::new(self.limit, log, self.clock());
    }

    /// Sends what may be sent now; answers when that may change.
    fn work(&mut self, request_queue: &[bool; 4], burst: bool) -> i64 {
        let mut next = i64::MAX;
        for (class, _) in CLASSES.into_iter().zip(request_queue).filter(|(_, request_queue)| **request_queue)
        {
            loop {
                let slots = if class == Class::Edit && self.luck.one_in(2) { 2 } else { 1 };
                let at = self.pace.earliest(class, slots, burst, self.clock());
                if at > self.clock() {
                    next = next.min(at.0 - self.ahead);
                    break;
                }
                self.send(class, slots - 1);
            }
        }
        self.under_way.iter().map(|sent| sent.answers).fold(next, i64::min).max(self.now + 1)
    }

    fn run(&mut self, minutes: i64, kills: i64, refusals: i64, request_queue: Option<[bool; 4]>) {
        let end = BEGIN + minutes * 60_000;
        let mut upsets: Vec<(i64, bool)> =
            (0..kills + refusals).map(|at| (BEGIN + self.luck.below(minutes * 60_000), at < kills)).collect();
        upsets.sort_unstable();
        let mut upsets = upsets.into_iter().peekable();
        while self.now < end {
            self.answers();
            while let Some((_, kill)) = upsets.next_if(|(at, _)| *at <= self.now) {
                if kill {
                    self.kill();
                } else {
                    self.pace.refused(None, self.clock(), self.clock());
                }
            }
            let burst = self.luck.one_in(2);
            let wanted = request_queue.unwrap_or_else(|| [(); 4].map(|()| self.luck.one_in(2)));
            let mut next = self.work(&wanted, burst);
            if request_queue.is_none() {
                next = next.min(self.now + 1 + self.luck.below(8_000));
            }
            self.now = upsets.peek().map_or(next, |(at, _)| next.min(*at)).max(self.now + 1);
        }
        self.arrivals.extend(self.under_way.iter().map(|sent| sent.arrives));
        self.arrivals.sort_unstable();
    }

    /// The most that a service counts: in any 60 s, and in the minutes of a clock.
    fn worst(&mut self) -> (usize, usize) {
        let (mut first, mut sliding) = (0, 0);
        for (at, arrival) in self.arrivals.iter().enumerate() {
            while self.arrivals[first] + 60_000 <= *arrival {
                first += 1;
            }
            sliding = sliding.max(at + 1 - first);
        }
        let phase = self.luck.below(60_000);
        let minute = |at: &i64| (at + phase).div_euclid(60_000);
        let fixed = self.arrivals.chunk_by(|a, b| minute(a) == minute(b)).map(<[i64]>::len).max();
        (sliding, fixed.unwrap_or(0))
    }
}

#[test]
fn more_than_a_class_may_ever_have_is_put_off_and_never_granted() {
    let now = Timestamp(BEGIN);
    for limit in 0..=60 {
        let mut pace = Pace::new(limit, Vec::new(), now);
        let most = pace.most_asked();
        assert!(most >= 1 && pace.allows(Class::Asked, most, false, now), "{limit}");
        for taken in 0..2 {
            for class in CLASSES {
                for slots in [most + 1, 61, 1_000] {
                    let at = pace.earliest(class, slots, false, now);
                    assert!(
                        at > now || (class == Class::Edit && slots <= limit.max(2)),
                        "{limit} {class:?} {slots}"
                    );
                }
            }
            pace.sent(taken, Class::Asked, 0, now);
        }
    }
}

#[test]
fn whatever_happens_the_service_never_counts_more_than_the_limit() {
    for seed in 0..u64::from(cases(3_000)) {
        let mut schedule = Schedule::new(seed, true, 2);
        let (kills, refusals) = (schedule.luck.below(7), schedule.luck.below(3) * schedule.luck.below(2));
        let request_queue = schedule.luck.one_in(3).then_some([true; 4]);
        schedule.run(4, kills, refusals, request_queue);
        let limit = schedule.limit as usize;
        let (sliding, fixed) = schedule.worst();
        assert!(sliding <= limit, "seed {seed}: {sliding} of {limit} in 60 s");
        assert!(fixed <= limit, "seed {seed}: {fixed} of {limit} in a minute of the clock");
        assert!(refusals > 0 || schedule.patches_late == 0, "seed {seed}: a slot that was kept is not there");
    }
}

/// Somebody else sends `foreign` requests a minute with the same token, to a service that counts 60 in any 60 s. Answers
/// our refusals and how late the latest edit was, in milliseconds (in the first two minutes, and later), and how many
/// of theirs were refused later.
fn shared(seed: u64, foreign: i64, counts_refused: bool) -> ([usize; 2], [i64; 2], usize) {
    let mut luck = Luck(seed);
    let mut pace = Pace::new(60, Vec::new(), Timestamp(BEGIN));
    let mut counted: VecDeque<i64> = VecDeque::new();
    let mut admits = |at: i64| {
        while counted.front().is_some_and(|first| first + 60_000 <= at) {
            counted.pop_front();
        }
        let admitted = counted.len() < 60;
        if admitted || counts_refused {
            counted.push_back(at);
        }
        admitted
    };
    let (mut refused, mut latest, mut theirs) = ([0; 2], [0; 2], 0);
    let (mut their_next, mut edit_next) = (BEGIN, BEGIN + 20_000);
    // An edit that waits: since when, and how many of its two requests have been taken.
    let mut edit: Option<(i64, u32)> = None;
    let end = BEGIN + 3_600_000;
    let mut effect = 0;
    for now in (BEGIN..end).step_by(100) {
        let clock = Timestamp(now);
        if now >= their_next {
            their_next = now + 30_000 / foreign + luck.below(60_000 / foreign);
            theirs += usize::from(!admits(now) && now > BEGIN + 120_000);
        }
        if now >= edit_next {
            edit_next = now + 20_000 + luck.below(40_000);
            edit = edit.or(Some((now, 0)));
        }
        let class = if edit.is_some() { Class::Edit } else { Class::Background };
        let slots = edit.map_or(1, |(_, taken)| 2 - taken);
        if !pace.allows(class, slots, false, clock) {
            continue;
        }
        effect += 1;
        pace.sent(effect, class, 0, clock);
        pace.answered(effect, clock);
        if admits(now) {
            pace.accepted();
            edit = edit.map(|(since, taken)| (since, taken + 1));
            if let Some((since, _)) = edit.take_if(|(_, taken)| *taken == 2) {
                let when = usize::from(since > BEGIN + 120_000);
                latest[when] = latest[when].max(now - since);
            }
        } else {
            pace.refused(None, clock, clock);
            refused[usize::from(now > BEGIN + 120_000)] += 1;
        }
    }
    (refused, latest, theirs)
}

/// What another process was lent keeps its slot until the loan is over and a window more, across a restart too.
#[test]
fn a_loan_outlives_a_restart() {
    let lent = |answered| LogEntry { effect: 1, sent: Timestamp(BEGIN), answered: Some(Timestamp(answered)) };
    let check = |answered: i64, free_ms: i64| {
        let begin = Timestamp(BEGIN);
        let pace = Pace::new(2, vec![lent(answered), lent(answered)], begin);
        assert_eq!(pace.earliest(Class::Asked, 1, false, begin).since_ms(begin), free_ms);
    };
    check(BEGIN + 30_000, 30_000 + WINDOW_MS);
    // A clock that went back leaves times that no loan has.
    check(BEGIN + 7_200_000, 30_000 + WINDOW_MS);
}

#[test]
fn somebody_else_on_the_same_token_is_given_room() {
    for seed in 0..40 {
        for counts_refused in [false, true] {
            let (refused, latest, theirs) = shared(seed, 20, counts_refused);
            let told =
                format!("seed {seed}: refused {refused:?}, {theirs} of theirs, edits {latest:?} ms late");
            assert!(refused[0] <= 4 && refused[1] <= 6, "{told}");
            assert!(theirs <= 6, "{told}");
            // When the other is first met the window is full of our own looks, and a minute passes before they leave.
            assert!(latest[0] <= 25_000 && latest[1] <= 10_000, "{told}");
        }
    }
}

/// One of several machines on a token, each with work without end and an edit now and then.
struct Machine {
    pace: Pace,
    luck: Luck,
    edit_next: i64,
    /// Since when an edit waits, and how many of its two requests have been taken.
    edit: Option<(i64, u32)>,
    effect: u64,
    taken: usize,
    refused: usize,
    latest: i64,
}

/// Several machines with these limits share a token for an hour; what each had of the second half of it.
fn machines(seed: u64, limits: &[u32], counts_refused: bool) -> Vec<Machine> {
    let mut all: Vec<Machine> = limits
        .iter()
        .zip(seed * 7..)
        .map(|(limit, seed)| Machine {
            pace: Pace::new(*limit, Vec::new(), Timestamp(BEGIN)),
            luck: Luck(seed),
            edit_next: BEGIN + 30_000,
            edit: None,
            effect: 0,
            taken: 0,
            refused: 0,
            latest: 0,
        })
        .collect();
    let mut counted: VecDeque<i64> = VecDeque::new();
    for now in (BEGIN..BEGIN + 3_600_000).step_by(100) {
        let (clock, counts) = (Timestamp(now), now > BEGIN + 1_800_000);
        let first = (now / 100) as usize % all.len();
        all.rotate_left(first);
        for machine in &mut all {
            if now >= machine.edit_next {
                machine.edit_next = now + 30_000 + machine.luck.below(60_000);
                machine.edit = machine.edit.or(Some((now, 0)));
            }
            let class = if machine.edit.is_some() { Class::Edit } else { Class::Background };
            let slots = machine.edit.map_or(1, |(_, taken)| 2 - taken);
            if !machine.pace.allows(class, slots, false, clock) {
                continue;
            }
            machine.effect += 1;
            machine.pace.sent(machine.effect, class, 0, clock);
            machine.pace.answered(machine.effect, clock);
            while counted.front().is_some_and(|first| first + 60_000 <= now) {
                counted.pop_front();
            }
            let admitted = counted.len() < 60;
            if admitted || counts_refused {
                counted.push_back(now);
            }
            if admitted {
                machine.pace.accepted();
                machine.taken += usize::from(counts);
                machine.edit = machine.edit.map(|(since, taken)| (since, taken + 1));
                if let Some((since, _)) = machine.edit.take_if(|(_, taken)| *taken == 2)
                    && counts
                {
                    machine.latest = machine.latest.max(now - since);
                }
            } else {
                machine.pace.refused(None, clock, clock);
                machine.refused += usize::from(counts);
            }
        }
        all.rotate_right(first);
    }
    all
}

#[test]
fn two_machines_on_one_token_share_it() {
    for seed in 0..4 {
        for counts_refused in [false, true] {
            // Each may think that it is alone, or the config gives each its share.
            for (limits, most_refused) in [([60, 60], 30), ([30, 30], 0), ([40, 20], 0)] {
                let all = machines(seed, &limits, counts_refused);
                let sum: usize = all.iter().map(|machine| machine.taken).sum();
                for (machine, limit) in all.iter().zip(limits) {
                    let told = format!(
                        "seed {seed} {limits:?} {counts_refused}: {} of {sum} taken, {} refused, edits {} ms late",
                        machine.taken, machine.refused, machine.latest
                    );
                    assert!(machine.refused <= most_refused, "{told}");
                    assert!(machine.latest <= 15_000, "{told}");
                    let fair = sum as f64 * f64::from(limit) / f64::from(limits[0] + limits[1]);
                    assert!(machine.taken as f64 >= 0.6 * fair, "{told}");
                    assert!(sum >= 30 * 36, "{told}");
                }
            }
        }
    }
}

#[test]
fn with_work_for_every_class_nothing_of_the_limit_is_left_lying() {
    for seed in 0..u64::from(cases(3_000) / 10) {
        let mut schedule = Schedule::new(seed, false, 20);
        schedule.run(20, 0, 0, Some([true; 4]));
        let (sliding, _) = schedule.worst();
        let (limit, taken) = (schedule.limit as usize, schedule.arrivals.len());
        assert!(sliding <= limit, "seed {seed}: {sliding}");
        assert!(taken as f64 >= 0.95 * 20.0 * limit as f64, "seed {seed}: {taken} of {limit} a minute");
        assert_eq!(schedule.patches_late, 0, "seed {seed}: a slot that was kept is not there");
    }
}

/// Runs every class greedily with late answers and restarts; the service must never count more than the limit.
fn run(limit: u32, seed: u64, restart_every: usize) -> (usize, usize) {
    let mut state = seed;
    let mut draw = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut pace = Pace::new(limit, Vec::new(), Timestamp(1));
    let (mut now, mut arrivals, mut under_way) = (Timestamp(1_000_000), Vec::new(), Vec::<(u64, i64)>::new());
    for step in 0..4_000_u64 {
        now = now.plus_ms(draw(400) as i64);
        under_way.retain(|(effect, due)| {
            let done = *due <= now.0;
            if done {
                pace.answered(*effect, now);
            }
            !done
        });
        let class = [Class::Edit, Class::Asked, Class::List, Class::Background][draw(4) as usize];
        if pace.allows(class, 1, draw(2) == 0, now) {
            pace.sent(step, class, 0, now);
            let up = draw(1_500) as i64;
            arrivals.push(now.0 + up);
            under_way.push((step, now.0 + up + draw(1_500) as i64));
        }
        if restart_every > 0 && (step as usize).is_multiple_of(restart_every) {
            pace = Pace::new(limit, pace.log.into_iter().collect(), now);
            // A restart loses what was under way: the answers never come.
            under_way.clear();
        }
    }
    arrivals.sort_unstable();
    let worst = (0..arrivals.len())
        .map(|i| arrivals[i..].iter().take_while(|t| **t < arrivals[i] + 60_000).count())
        .max()
        .unwrap_or(0);
    (worst, arrivals.len())
}

#[test]
fn never_more_than_the_limit_in_any_minute_as_the_service_counts() {
    for seed in 0..40 {
        for limit in [5, 20, 60] {
            let (worst, all) = run(limit, seed, 0);
            assert!(worst <= limit as usize, "limit {limit} seed {seed}: {worst}");
            assert!(all > 20, "the test must use the budget");
        }
    }
}

#[test]
fn the_log_carries_the_limit_across_restarts() {
    for seed in 0..40 {
        let (worst, _) = run(20, seed, 200);
        assert!(worst <= 20, "seed {seed}: {worst}");
    }
}

#[test]
fn background_leaves_room_for_edits_and_is_paced() {
    let mut pace = Pace::new(60, Vec::new(), Timestamp(0));
    let mut now = Timestamp(0);
    let mut sent = 0;
    for step in 0..120_000_u64 {
        now = Timestamp(step as i64);
        if pace.allows(Class::Background, 1, false, now) {
            pace.sent(step, Class::Background, 0, now);
            pace.answered(step, now);
            sent += 1;
        }
        assert!(pace.allows(Class::Edit, 2, false, now), "an edit must always find room at {now}");
    }
    assert!((100..=105).contains(&sent), "{sent} in two minutes");
    for _ in 0..6 {
        pace.refused(None, now, now);
    }
    assert!(!pace.allows(Class::Edit, 1, false, now.plus_ms(3_999)));
    assert!(pace.allows(Class::Edit, 1, false, now.plus_ms(4_001)));
    assert!(!pace.allows(Class::Background, 1, false, now.plus_ms(59_000)));
}

/// Somebody begins to write while the background takes all it may: each saved edit leaves at once, though edits come for
/// a minute as fast as the window can bear.
#[test]
fn whoever_begins_to_write_does_not_wait_for_what_the_background_took() {
    for begin_ms in [0, 7_000, 61_000, 100_000] {
        let mut pace = Pace::new(60, Vec::new(), Timestamp(BEGIN));
        let mut effect = 0;
        let mut send = |pace: &mut Pace, class, now| {
            effect += 1;
            pace.sent(effect, class, 0, now);
            pace.answered(effect, now);
        };
        for ms in (0..begin_ms + 60_000).step_by(100) {
            let now = Timestamp(BEGIN + ms);
            if ms >= begin_ms && (ms - begin_ms) % 2_900 == 0 {
                assert!(pace.allows(Class::Edit, 2, false, now), "{ms} ms, begun at {begin_ms} ms");
                send(&mut pace, Class::Edit, now);
                send(&mut pace, Class::Edit, now);
            }
            if pace.allows(Class::Background, 1, false, now) {
                send(&mut pace, Class::Background, now);
            }
        }
    }
}

#[test]
fn the_pace_of_the_background_is_a_divisor_at_every_limit_that_is_allowed() {
    for limit in 2..=100_000 {
        let every_ms = Pace::new(limit, Vec::new(), Timestamp(BEGIN)).background_every_ms();
        assert!((1..=60_000).contains(&every_ms), "{every_ms} ms at {limit} requests a minute");
    }
}

#[test]
fn where_nothing_changed_for_an_hour_looks_take_a_third_of_the_requests() {
    for (targets, list_every_ms) in [(12, 20_000), (100, 10_000), (1_000, 20_000)] {
        let mut pace = Pace::new(60, Vec::new(), Timestamp(BEGIN));
        let mut polls: Vec<_> = (0..targets).map(|_| poll::fresh(Timestamp(BEGIN))).collect();
        let (mut effect, mut looks, mut slot) = (0, Vec::new(), 0);
        let hours = 3 * 3_600_000;
        for ms in (0..hours).step_by(100) {
            let now = Timestamp(BEGIN + ms);
            let mut send = |pace: &mut Pace, class| {
                effect += 1;
                pace.sent(effect, class, 0, now);
                pace.answered(effect, now);
                looks.push(ms);
            };
            if ms % list_every_ms == 0 {
                send(&mut pace, Class::List);
            }
            if pace.allows(Class::Background, 1, false, now)
                && let Some(target) = poll::next(polls.iter().enumerate(), slot, false, now)
            {
                pace.rest(poll::rests(polls.iter(), pace.background_every_ms(), now));
                send(&mut pace, Class::Background);
                polls[target].last = now;
                slot += 1;
            }
        }
        let most = |from: i64, to: i64| {
            let within = |begin: i64| looks.iter().filter(|at| (begin..begin + 60_000).contains(*at)).count();
            (from..to - 60_000).step_by(1_000).map(within).max().unwrap_or(0)
        };
        assert!(most(0, 3_600_000) > 30, "{targets}: {}", most(0, 3_600_000));
        let quiet = most(3_660_000, hours);
        assert!((10..=20).contains(&quiet), "{targets}: {quiet}");
    }
}
