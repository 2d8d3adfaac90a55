//! Decisions: pure functions from what was seen to what shall be done.

pub mod guard;
pub mod identity;
pub mod ignore;
pub mod merge;
pub mod naming;
