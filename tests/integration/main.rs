//! The edges for real: real HTTP on loopback, real disk, the real binary. One file per edge.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod binary;
mod emulator;
#[cfg(feature = "planted")]
mod faults;
mod raw;
mod replay;
mod service;
mod small;
