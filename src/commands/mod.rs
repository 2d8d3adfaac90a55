//! One file per command, a few lines each over what is below. They return or write to what they are given; only
//! `main` prints and exits.

pub mod approve;
pub mod completions;
pub mod conflicts;
pub mod control;
pub mod convert;
pub mod demo;
pub mod diff;
pub mod dry_run;
pub mod export;
pub mod history;
pub mod list;
pub mod man;
pub mod output;
pub mod past;
pub mod progress;
pub mod put;
pub mod restore;
pub mod revive;
pub mod run;
pub mod search;
pub mod session;
pub mod status;
pub mod sync;
pub mod undo;
pub mod verify;
pub mod when;
pub mod why;
