//! The number of generated test cases, and their seeds.

use proptest::test_runner::{Config, RngSeed};

/// The number of cases in `ESPEJO_CASES`.
fn asked() -> Option<u32> {
    std::env::var("ESPEJO_CASES").ok()?.parse().ok()
}

/// `default`, or the number in `ESPEJO_CASES`.
pub(crate) fn cases(default: u32) -> u32 {
    asked().unwrap_or(default)
}

/// The first seed: `ESPEJO_FROM`, or 0.
pub(crate) fn first() -> u64 {
    from().unwrap_or(0)
}

fn from() -> Option<u64> {
    std::env::var("ESPEJO_FROM").ok()?.parse().ok()
}

/// By default each run has the same cases, so that only a change can make a test fail. With `ESPEJO_CASES`, for a
/// search, each run has new cases; `ESPEJO_FROM` repeats those of one run. A failure prints its smallest case.
pub(crate) fn config() -> Config {
    let config = Config { failure_persistence: None, ..Config::default() };
    let seeded = |seed| Config { rng_seed: RngSeed::Fixed(seed), ..config.clone() };
    match (asked(), from()) {
        (Some(cases), Some(seed)) => Config { cases, ..seeded(seed) },
        (Some(cases), None) => Config { cases, ..config },
        (None, seed) => seeded(seed.unwrap_or(1)),
    }
}
