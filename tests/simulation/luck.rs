//! Luck from a seed: a small generator whose whole state is one number, so that a run can be repeated exactly.

/// A stream of numbers that depends on its seed alone (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Luck(u64);

impl Luck {
    /// The stream of `seed`; `purpose` keeps streams of one seed apart.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let mut luck = Self(seed ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93));
        luck.next();
        luck
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 when there is none.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.next() % limit }
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + i64::try_from(self.below(u64::try_from(high - low + 1).unwrap_or(0))).unwrap_or(0)
    }

    /// True in `percent` of 100 cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which must not be empty.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let index = self.below(items.len() as u64);
        &items[usize::try_from(index).unwrap_or(0)]
    }

    /// 32 bytes, for the engine's own seed.
    pub(crate) fn bytes(&mut self) -> [u8; 32] {
        let mut out = [0; 32];
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes());
        }
        out
    }
}
