//! The whole engine against a seeded world: a folder, a service, a clock, people and bad luck, none of them real.
//!
//! `docs/testing.md` says how to run many seeds, watch one, and read a failure.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test harness fails loudly and shows its trace"
)]

mod acts;
mod agreement;
mod arrive;
mod blocks;
mod brief;
#[cfg(feature = "planted")]
mod bugs;
mod canvas;
mod checks;
mod disk;
mod draws;
mod evidence;
mod fates;
mod faults;
mod fidelity;
mod folder;
mod hands;
mod ignoring;
mod life;
mod luck;
mod news;
mod opened;
mod owner;
mod pass;
mod play;
mod quiet;
mod regressions;
mod returning;
mod run;
mod script;
mod searched;
mod service;
mod shrink;
mod status;
mod stored;
mod tally;
mod text;
mod trace;
mod two;
mod users;
mod words;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use play::{Broken, Played, play};
use script::Script;
use tally::Tally;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Seeds of a plain `cargo test`,
const SEEDS: u64 = 200;
/// from this one on; `ESPEJO_FROM` for another one.
const FROM: u64 = 3_000;
/// Steps of each.
const STEPS: u64 = 60;
/// Seeds of a plain `cargo test` with long work done beside; `ESPEJO_BESIDE=1` does it with those of the other run.
const BESIDE: u64 = 40;
/// Every such seed is played twice; `ESPEJO_TWICE=1` for each of them.
const TWICE: u64 = 8;
/// At most one seed of so many may end with something kept twice as no evidence was left. This number only grows.
const DOUBT: u64 = 50;
/// As many failing seeds are shown before a run of many stops; `ESPEJO_SHOWN` for another number.
const SHOWN: u64 = 5;

/// The script of a seed; with `ESPEJO_ONLY=edit,app` only the steps of those (also `tree` and `fault`).
fn drawn(seed: u64, steps: usize) -> Script {
    drawn_with(seed, steps, number("ESPEJO_KINDS").unwrap_or(1))
}

/// As [`drawn`], with these kinds beside the pages: 0 none, 1 all, 2 canvases, 3 stored files.
fn drawn_with(seed: u64, steps: usize, kinds: u64) -> Script {
    let mut script = Script::draw(seed, steps);
    script.scene.beside = u32::from(number("ESPEJO_BESIDE") == Some(1));
    if matches!(kinds, 1 | 3) {
        stored::draw::add(&mut script);
    }
    if matches!(kinds, 1 | 2) {
        canvas::draw(&mut script.scene, &mut script.steps);
    }
    if number("ESPEJO_OWNER").map_or(seed % 4 == 2, |owner| owner == 1) {
        owner::draw(&mut script);
    }
    draws::draw_deaths(&mut script);
    draws::draw_lag(&mut script.scene);
    if number("ESPEJO_TWO").map_or(seed % 8 == 1, |two| two == 1) {
        two::draw(&mut script.scene);
    }
    if let Ok(only) = std::env::var("ESPEJO_ONLY") {
        script.steps.retain(|step| only.split(',').any(|who| step.act.who() == who));
    }
    script
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn every_seed_keeps_the_promises() {
    let steps = usize::try_from(number("ESPEJO_STEPS").unwrap_or(STEPS)).unwrap();
    if let Some(seed) = number("ESPEJO_SEED") {
        return watch(seed, steps);
    }
    let seeds = number("ESPEJO_SEEDS").unwrap_or(SEEDS);
    let twice = number("ESPEJO_TWICE").unwrap_or(TWICE).max(1);
    let next = AtomicU64::new(number("ESPEJO_FROM").unwrap_or(FROM));
    let end = next.load(Ordering::Relaxed) + seeds;
    let shown = usize::try_from(number("ESPEJO_SHOWN").unwrap_or(SHOWN)).unwrap();
    let failed: Mutex<Vec<(u64, Box<Broken>)>> = Mutex::new(Vec::new());
    let totals: Mutex<(u64, u64, i64, u64, u64)> = Mutex::default();
    let table: Mutex<Tally> = Mutex::default();
    let allowed: Mutex<canvas::Allowed> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end || failed.lock().unwrap().len() >= shown {
                        break;
                    }
                    let script = drawn(seed, steps);
                    match play(&script, false) {
                        Ok(played) => {
                            if seed.is_multiple_of(twice) {
                                assert_eq!(
                                    play(&script, false).ok().as_ref(),
                                    Some(&played),
                                    "seed {seed} is not the same twice"
                                );
                            }
                            let mut totals = totals.lock().unwrap();
                            totals.0 += u64::from(played.writes);
                            totals.1 += u64::from(played.slipped_between);
                            totals.2 = totals.2.max(played.settled_s);
                            // Whichever ends first: the sum is the same.
                            totals.3 = totals.3.wrapping_add(played.digest.0);
                            totals.4 += u64::from(played.in_doubt > 0);
                            table.lock().unwrap().add(&played.tally);
                            let mut allowed = allowed.lock().unwrap();
                            for (rule, times) in played.allowed {
                                *allowed.entry(rule).or_default() += times;
                            }
                        }
                        Err(broken) => {
                            // At once: a run of many seeds takes long.
                            println!("seed {seed}, step {}: {}", broken.step, broken.failure);
                            failed.lock().unwrap().push((seed, broken));
                        }
                    }
                }
            });
        }
    });
    let (writes, slipped, slowest, traces, in_doubt) = *totals.lock().unwrap();
    println!(
        "{seeds} seeds of {steps} steps: {writes} writes, {slipped} words slipped between look and write, settled within {slowest} s, traces {traces:016x}"
    );
    println!("kept twice as no evidence was left: {in_doubt} of {seeds} seeds");
    assert!(in_doubt <= 1 + seeds / DOUBT, "evidence was missing in {in_doubt} of {seeds} seeds");
    println!("allowed: {:?}", allowed.into_inner().unwrap());
    table.into_inner().unwrap().report(seeds, number("ESPEJO_TABLE") == Some(1));
    let mut failed = failed.into_inner().unwrap();
    failed.sort_by_key(|(seed, _)| *seed);
    let mut report = String::new();
    for (seed, broken) in &failed {
        writeln!(report, "seed {seed}, step {}: {}", broken.step, broken.failure).unwrap();
    }
    let mut told = BTreeSet::new();
    let shrinks = number("ESPEJO_SHRINK") != Some(0);
    for (seed, broken) in failed.iter().filter(|(_, broken)| shrinks && told.insert(broken.failure.check)) {
        let smallest = shrink::shrink(&drawn(*seed, steps), broken.failure.check);
        let again = play(&smallest, false).err().unwrap_or_else(|| broken.clone());
        let tail = again.tail.join("\n");
        writeln!(report, "\nseed {seed}, shrunk: {}\n\n{tail}\n\n{smallest}", again.failure).unwrap();
    }
    assert!(failed.is_empty(), "{report}");
}

/// As [`every_seed_keeps_the_promises`], where each text is worked out beside the engine and the world goes on meanwhile.
#[test]
fn what_is_worked_out_beside_keeps_the_promises() {
    for seed in FROM..FROM + BESIDE {
        let mut script = drawn(seed, 60);
        script.scene.beside = 1;
        if let Err(broken) = play(&script, false) {
            let tail = broken.tail.join("\n");
            panic!("seed {seed}, step {}: {}\n{tail}\n{script}", broken.step, broken.failure);
        }
    }
}

/// Plays one seed aloud, or a script from a file named by `ESPEJO_SCRIPT`.
fn watch(seed: u64, steps: usize) {
    let script = match std::env::var("ESPEJO_SCRIPT") {
        Ok(file) => std::fs::read_to_string(file).unwrap().parse().unwrap(),
        Err(_) => drawn(seed, steps),
    };
    println!("{script}");
    match play(&script, true) {
        Ok(Played { digest, settled_s, .. }) => {
            println!("kept every promise; {digest:?}, settled after {settled_s} s")
        }
        Err(broken) => {
            println!("{}", broken.failure);
            let smallest = shrink::shrink(&script, broken.failure.check);
            panic!("{}\n{smallest}", broken.failure);
        }
    }
}
