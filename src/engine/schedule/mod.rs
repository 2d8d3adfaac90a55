//! The arithmetic of the request limit, of polling, and of the search as a watch; pure.

pub(super) mod pace;
pub(super) mod poll;
pub(super) mod watch;
