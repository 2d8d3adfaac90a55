//! The client edge: turns a request the engine wants into HTTP, and the answer into a value. It decides nothing: it
//! never tries again, follows nothing, and keeps nothing.
//!
//! [`wire`] is pure and is all there is to know about the API's JSON; the simulation joins it to the emulator without
//! a socket. [`Client`] adds the socket. [`token`] finds the token. [`Downloader`] fetches signed links and never has the token.

pub mod token;
pub mod wire;

mod address;
mod boards;
mod client;
mod download;
mod entry;
mod glimpse;
mod portal;
mod reach;
mod search;
mod storage;
mod surrogates;
mod text;
mod way;

pub use client::{Client, ClientError, Timeouts};
pub use download::{Downloader, Incoming};
pub use glimpse::Glimpse;
pub use way::{Obstacle, Way};
