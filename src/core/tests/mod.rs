//! The core driven by events, for whiteboards, presentations and stored files: promises of the contract for them, with lost
//! answers, kills and lagging reads.

mod answers;
mod decks;
mod deletions;
mod edits;
mod gone;
mod identity;
mod listing;
mod presentations;
mod stale;
mod stored;
mod world;
