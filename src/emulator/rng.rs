//! Numbers that look random and come from a seed (SplitMix64), and ids made of them.

use serde::{Deserialize, Serialize};

/// A seeded generator. Equal seeds give equal sequences, on every machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Rng(u64);

impl Rng {
    /// A generator with this seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Whether something with this chance in a thousand happens now.
    pub(super) fn happens(&mut self, per_mille: u16) -> bool {
        self.next() % 1000 < u64::from(per_mille)
    }

    /// A UUID of version 4, in its usual written form.
    pub(super) fn uuid(&mut self) -> String {
        let bytes = (u128::from(self.next()) << 64 | u128::from(self.next())).to_be_bytes();
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }
}
