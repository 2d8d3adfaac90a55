//! The edges for real: real HTTP on loopback, real disk, the real binary. One file per edge.

mod binary;
mod emulator;
mod raw;
mod service;
