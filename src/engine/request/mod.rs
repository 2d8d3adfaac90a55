//! What commands ask for.

pub(super) mod lend;
pub(super) mod pause;
pub(super) mod pull;
pub(super) mod puts;
pub(super) mod searching;
