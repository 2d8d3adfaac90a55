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

/// A value of any shape, with texts that look like JSON.
pub(crate) fn any_json() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
    use proptest::prelude::*;
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f32>().prop_map(|number| Value::from(f64::from(number))),
        ".*".prop_map(Value::from),
        "[\\[\\]{}\",: \\\\]*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((".*", inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}
