//! Waits after failures in a row. One rule for requests, refusals and acts on disk.

/// Waits that double from the first up to the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    first_ms: i64,
    longest_ms: i64,
}

impl Schedule {
    /// Waits from `first_ms` to `longest_ms`, in milliseconds.
    #[must_use]
    pub const fn new(first_ms: i64, longest_ms: i64) -> Self {
        Self { first_ms, longest_ms }
    }

    /// The wait after this many failures, in milliseconds; zero failures count as one.
    #[must_use]
    pub const fn wait_ms(self, failures: u32) -> i64 {
        let doublings = failures.saturating_sub(1);
        // With more doublings than this, even a wait of a millisecond is longer than a day.
        let wait = self.first_ms << if doublings > 27 { 27 } else { doublings };
        if wait > self.longest_ms { self.longest_ms } else { wait }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wait_is_twice_the_one_before_up_to_the_longest() {
        let waits =
            |failures: &[u32]| failures.iter().map(|n| Schedule::new(1_000, 300_000).wait_ms(*n)).collect();
        let of: Vec<i64> = waits(&[0, 1, 2, 3, 9, 10, u32::MAX]);
        assert_eq!(of, [1_000, 1_000, 2_000, 4_000, 256_000, 300_000, 300_000]);
    }
}
