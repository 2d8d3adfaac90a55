//! Ids for new blocks, from randomness handed in.

use ring::digest::{Context, SHA256};

use crate::model::planted;

/// UUIDs in the form of version 4, from a secret seed and a counter: as unpredictable as the seed, and the same for
/// the same seed, so that the simulation repeats.
#[derive(Debug, Clone)]
pub(crate) struct Ids {
    seed: [u8; 32],
    count: u64,
}

impl Ids {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { seed, count: 0 }
    }

    /// A generator of other ids, which this one will not give.
    pub(crate) fn fork(&mut self) -> Self {
        let mut seed = [0; 32];
        seed[..16].copy_from_slice(&self.bytes());
        seed[16..].copy_from_slice(&self.bytes());
        Self::new(seed)
    }

    pub(crate) fn next(&mut self) -> String {
        let count = self.count;
        if planted("id-reused") {
            self.count = count / 2;
        }
        let bytes = self.bytes();
        self.count = count + 1;
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    /// A number below `bound`, for jitter.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let mut eight = [0; 8];
        eight.copy_from_slice(&self.bytes()[..8]);
        u64::from_le_bytes(eight) % bound.max(1)
    }

    fn bytes(&mut self) -> [u8; 16] {
        self.count += 1;
        let mut context = Context::new(&SHA256);
        context.update(&self.seed);
        context.update(&self.count.to_le_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&context.finish().as_ref()[..16]);
        bytes
    }
}
