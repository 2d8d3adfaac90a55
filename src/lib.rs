//! espejo keeps a workspace on disk as ordinary files, both ways, all the time.
//!
//! The crate in reading order: [`model`] holds the words that everyone shares;
//! [`markdown`] turns blocks into text and back, [`canvas`] elements; [`plan`] decides, and [`core`] for
//! every kind of item alike; [`store`] remembers;
//! [`engine`] is the state machine that is told events and the time and answers with effects;
//! [`mirror`] (the folder) and [`service`] (the API) are the edges that perform them; [`daemon`]
//! joins the three. [`emulator`] is the service in a box, for the demo and the tests.
//! `docs/architecture.md` is the map, and `tests/tidy.rs` holds it to the truth.

pub mod canvas;
pub mod cli;
pub mod commands;
pub mod config;
pub mod core;
pub mod daemon;
pub mod emulator;
pub mod engine;
pub mod logging;
pub mod markdown;
pub mod mirror;
pub mod model;
pub mod plan;
pub mod search;
pub mod service;
pub mod store;
