//! How many cases the tests try that make up their own, and from which numbers.

use proptest::test_runner::{Config, RngSeed};

/// How many cases were asked for with `ESPEJO_CASES`.
fn asked() -> Option<u32> {
    std::env::var("ESPEJO_CASES").ok()?.parse().ok()
}

/// `default`, or what was asked for.
pub(crate) fn cases(default: u32) -> u32 {
    asked().unwrap_or(default)
}

/// The number that the cases begin at: `ESPEJO_FROM`, or 0.
pub(crate) fn first() -> u64 {
    from().unwrap_or(0)
}

fn from() -> Option<u64> {
    std::env::var("ESPEJO_FROM").ok()?.parse().ok()
}

/// The same cases at every run, so that a change is what makes a test fail; others each time as soon as
/// `ESPEJO_CASES` says how many, for a search, and those of `ESPEJO_FROM` again. A failure prints its smallest case.
pub(crate) fn config() -> Config {
    let config = Config { failure_persistence: None, ..Config::default() };
    let seeded = |seed| Config { rng_seed: RngSeed::Fixed(seed), ..config.clone() };
    match (asked(), from()) {
        (Some(cases), Some(seed)) => Config { cases, ..seeded(seed) },
        (Some(cases), None) => Config { cases, ..config },
        (None, seed) => seeded(seed.unwrap_or(1)),
    }
}
