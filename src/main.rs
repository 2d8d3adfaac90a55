//! The binary: reads arguments, runs one command, prints, exits.

fn main() {}
