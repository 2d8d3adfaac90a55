//! How late a remote edit is seen: `cargo bench --bench polling [-- PAGES…]`. Made-up workspaces of 50, 300, 1,000 and
//! 5,000 pages are played for weeks of virtual time through the limiter and the poll schedule of the daemon, at 60
//! requests a minute, against a round robin and against one who knows every edit; and once more with the service's search
//! as a watch, for services that rank in several ways. Ends with 1 when a goal is missed. `SEEDS=3` plays three workspaces of
//! each size, `DAYS=7` a week to learn and one that is measured, `ONLY="no watch,constant"` some policies, `TEXTS=FILE` other
//! words and edits than those of the file beside it.
#![expect(clippy::print_stdout, reason = "a bench prints")]

mod play;
mod texts;
mod workspace;

use std::process::ExitCode;

use espejo::emulator::ranking::{Ranking, Weight};
use espejo::model::Timestamp;
use play::{Outcome, Policy, play};
use texts::Source;
use workspace::Workspace;

/// Pages, sessions on a weekday, days to learn and days that are measured.
const SIZES: [(usize, f64, i64, i64); 4] =
    [(50, 6.0, 14, 14), (300, 15.0, 14, 14), (1_000, 40.0, 14, 14), (5_000, 150.0, 7, 7)];
/// The last four: the same service as its search ranks as PostgreSQL does, the same rounded to four decimals, by length
/// too, or all alike.
const POLICIES: [(&str, Policy); 7] = [
    ("clairvoyant", Policy::Clairvoyant),
    ("round robin", Policy::RoundRobin),
    ("no watch", Policy::Espejo),
    ("ts_rank", Policy::Watch(SUM)),
    ("4 decimals", Policy::Watch(Ranking { decimals: Some(4), ..SUM })),
    ("by length", Policy::Watch(Ranking::BY_LENGTH)),
    ("constant", Policy::Watch(Ranking::CONSTANT)),
];
const SUM: Ranking = Ranking { constant: false, weight: Weight::D, normalization: 0, decimals: None };
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
    println!(
        "seconds from a save to the answer that has it; first: of a session's first save; shown: the part of saves that moves"
    );
    println!(
        "what a search shows, and what espejo thinks it is; words: in the branch of a query that cannot match"
    );
    println!(
        "{:>5} {:<12}{:>7}{:>7}{:>7}{:>7}{:>7}{:>8}{:>8}{:>7}{:>8}{:>7}{:>6}{:>7}{:>6}{:>6}{:>6}",
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
        "asks/h",
        "shown",
        "thought",
        "words"
    );
    let source = match Source::read() {
        Ok(source) => source,
        Err(why) => {
            println!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let source = &source;
    let only = std::env::var("ONLY").unwrap_or_default();
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
                let one = play(space, source, policy, BEGIN, warm, warm + measured);
                all.saves.extend(one.saves);
                all.starts.extend(one.starts);
                all.made.extend(one.made);
                all.oldest = all.oldest.max(one.oldest);
                all.oldest_laps = all.oldest_laps.max(one.oldest_laps);
                all.searches_an_hour += one.searches_an_hour / seeds as f64;
                all.requests_a_minute += one.requests_a_minute / seeds as f64;
                all.pages = one.pages;
                all.shown += one.shown / seeds as f64;
                (all.believed, all.words) = (one.believed, one.words);
            }
            all
        };
        let played = &played;
        std::thread::scope(|scope| {
            let wanted = POLICIES
                .into_iter()
                .filter(|(name, _)| only.is_empty() || only.split(',').any(|one| one == *name));
            let running: Vec<_> =
                wanted.map(|(name, policy)| (name, policy, scope.spawn(move || played(policy)))).collect();
            for (name, policy, one) in running {
                good &= one.join().is_ok_and(|all| tell(pages, name, policy, all));
            }
        });
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints one line; whether the goals are met.
fn tell(pages: usize, name: &str, policy: Policy, mut all: Outcome) -> bool {
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
        "{:>5} {:<12}{:>7.1}{:>7.1}{:>7.0}{:>7.0}{:>7.2}{:>8.0}{:>8.0}{:>7.1}{:>8}{:>7}{:>6.1}{:>7.1}{:>6.2}{:>6}{:>6}",
        all.pages,
        name,
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
        all.searches_an_hour,
        all.shown,
        all.believed.map_or("-".to_owned(), |part| format!("{part:.2}")),
        all.words
    );
    good(pages, name, policy, &all, average, middle, soon)
}

/// Whether the goals are met: those of a search that shows nearly all, twice that where ranks are rounded, and what the
/// schedule does by itself where nothing shows.
fn good(
    pages: usize,
    name: &str,
    policy: Policy,
    all: &Outcome,
    average: f64,
    middle: f64,
    soon: f64,
) -> bool {
    if matches!(policy, Policy::RoundRobin | Policy::Clairvoyant) {
        return true;
    }
    let first = mean(&all.starts);
    let times = if name == "4 decimals" { 2.0 } else { 1.0 };
    let by_search = match (pages, name) {
        (1_000, "ts_rank" | "4 decimals" | "by length") => {
            average <= 20.0 * times
                && middle <= 11.0 * times
                && first <= 60.0 * times
                && (times > 1.0 || soon >= 0.95)
        }
        (5_000, "ts_rank" | "4 decimals" | "by length") => {
            average <= 60.0 * times && first <= 320.0 * times && (times > 1.0 || soon >= 0.8)
        }
        (1_000, _) => middle <= 15.0 && soon >= 0.65 && average < 180.0,
        _ => true,
    };
    by_search && all.oldest_laps <= 2.5
}
