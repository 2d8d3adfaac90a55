//! The core driven by events, for whiteboards: each promise of the contract for them, with lost answers, kills and lagging reads.

mod answers;
mod deletions;
mod edits;
mod identity;
mod listing;
mod world;
