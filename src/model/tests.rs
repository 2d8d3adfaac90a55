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

/// The same cases at every run, so that a change is what makes a test fail; others each time as soon as
/// `ESPEJO_CASES` says how many, for a search. A failure prints its smallest case.
pub(crate) fn config() -> Config {
    let config = Config { failure_persistence: None, ..Config::default() };
    match asked() {
        Some(cases) => Config { cases, ..config },
        None => Config { rng_seed: RngSeed::Fixed(1), ..config },
    }
}
