//! How late a remote edit is seen: `cargo bench --bench polling [-- PAGES…]`. Made-up workspaces of 50, 300, 1,000 and
//! 5,000 pages are played for weeks of virtual time through the limiter and the poll schedule of the daemon, at 60
//! requests a minute, against a round robin and against one who knows every edit; and once more with the service's search
//! as a watch, for services of which it shows all, some or none of the edits. Ends with 1 when a goal is missed. `SEEDS=3`
//! plays three workspaces of each size, `DAYS=7` a week to learn and one that is measured.
#![expect(clippy::print_stdout, reason = "a bench prints")]

mod play;
mod workspace;

use std::process::ExitCode;

use espejo::model::Timestamp;
use play::{Outcome, Policy, play};
use workspace::Workspace;

/// Pages, sessions on a weekday, days to learn and days that are measured.
const SIZES: [(usize, f64, i64, i64); 4] =
    [(50, 6.0, 14, 14), (300, 15.0, 14, 14), (1_000, 40.0, 14, 14), (5_000, 150.0, 7, 7)];
/// The last four: the same service as its search's rank moves with every save, with a fifth, a twentieth and none of them.
const POLICIES: [Policy; 7] = [
    Policy::Clairvoyant,
    Policy::RoundRobin,
    Policy::Espejo,
    Policy::Watch(100),
    Policy::Watch(20),
    Policy::Watch(5),
    Policy::Watch(0),
];
/// A Monday, midnight.
const BEGIN: Timestamp = Timestamp(1_780_272_000_000);

fn quantile(sorted: &[f64], part: f64) -> f64 {
    sorted
        .get(((sorted.len() as f64 * part) as usize).min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0.0)
}

fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

fn main() -> ExitCode {
    let asked: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|word| word.parse().ok()).unwrap_or(1);
    println!("seconds from a save to the answer that has it; first: of a session's first save");
    println!(
        "{:>5} {:<12}{:>7}{:>7}{:>7}{:>7}{:>7}{:>8}{:>8}{:>7}{:>8}{:>7}{:>6}{:>7}",
        "pages",
        "policy",
        "mean",
        "p50",
        "p95",
        "p99",
        "< 60 s",
        "first50",
        "first",
        "made",
        "oldest",
        "laps",
        "/min",
        "asks/h"
    );
    let mut good = true;
    let other_days: Option<i64> = std::env::var("DAYS").ok().and_then(|word| word.parse().ok());
    for (pages, sessions, warm, measured) in SIZES {
        if !asked.is_empty() && !asked.contains(&pages) {
            continue;
        }
        let (warm, measured) = other_days.map_or((warm, measured), |days| (days, days));
        let spaces: Vec<Workspace> =
            (1..=seeds).map(|seed| Workspace::new(seed, pages, sessions, warm + measured, BEGIN)).collect();
        let played = |policy: Policy| {
            let mut all = Outcome::default();
            for space in &spaces {
                let one = play(space, policy, BEGIN, warm, warm + measured);
                all.saves.extend(one.saves);
                all.starts.extend(one.starts);
                all.made.extend(one.made);
                all.oldest = all.oldest.max(one.oldest);
                all.oldest_laps = all.oldest_laps.max(one.oldest_laps);
                all.searches_an_hour += one.searches_an_hour / seeds as f64;
                all.requests_a_minute += one.requests_a_minute / seeds as f64;
                all.pages = one.pages;
            }
            all
        };
        let played = &played;
        std::thread::scope(|scope| {
            let running = POLICIES.map(|policy| (policy, scope.spawn(move || played(policy))));
            for (policy, one) in running {
                good &= one.join().is_ok_and(|all| tell(pages, policy, all));
            }
        });
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints one line; whether the goals are met.
fn tell(pages: usize, policy: Policy, mut all: Outcome) -> bool {
    all.saves.sort_by(f64::total_cmp);
    all.starts.sort_by(f64::total_cmp);
    let soon = all.saves.iter().filter(|late| **late < 60.0).count() as f64 / all.saves.len().max(1) as f64;
    // Who knows every edit leaves the rest alone.
    let (oldest, laps) = match policy {
        Policy::Clairvoyant => ("-".to_owned(), "-".to_owned()),
        _ => (format!("{:.0}", all.oldest), format!("{:.2}", all.oldest_laps)),
    };
    let (middle, average) = (quantile(&all.saves, 0.5), mean(&all.saves));
    println!(
        "{:>5} {:<12}{:>7.1}{:>7.1}{:>7.0}{:>7.0}{:>7.2}{:>8.0}{:>8.0}{:>7.1}{:>8}{:>7}{:>6.1}{:>7.1}",
        all.pages,
        format!("{policy:?}"),
        average,
        middle,
        quantile(&all.saves, 0.95),
        quantile(&all.saves, 0.99),
        soon,
        quantile(&all.starts, 0.5),
        mean(&all.starts),
        mean(&all.made),
        oldest,
        laps,
        all.requests_a_minute,
        all.searches_an_hour
    );
    // What hardly shows is learned in days; what is guaranteed holds at once.
    let is_held_to_all = matches!(policy, Policy::Espejo | Policy::Watch(20..));
    let guaranteed = matches!(policy, Policy::RoundRobin | Policy::Clairvoyant) || all.oldest_laps <= 2.5;
    pages != 1_000 || (guaranteed && (!is_held_to_all || (middle <= 15.0 && soon >= 0.7 && average < 160.0)))
}
