//! One file per command, a few lines each over what is below. They return or write to what they are given; only
//! `main` prints and exits.

pub mod acts;
pub mod approve;
pub mod child;
pub mod completions;
pub mod conflicts;
pub mod control;
pub mod convert;
pub mod demo;
pub mod desktop;
pub mod diff;
pub mod dismiss;
pub mod doctor;
pub mod dry_run;
pub mod export;
pub mod files;
pub mod history;
pub mod ignored;
pub mod init;
pub mod list;
pub mod log;
pub mod man;
pub mod output;
pub mod past;
pub mod pause;
pub mod permits;
pub mod progress;
pub mod pull;
pub mod put;
pub mod resolve;
pub mod restore;
pub mod revive;
pub mod run;
pub mod search;
pub mod service;
pub mod session;
pub mod status;
pub mod sync;
pub mod systemd;
pub mod terminal;
pub mod undo;
pub mod unsynced;
pub mod verify;
pub mod waits;
pub mod when;
pub mod why;
pub mod word_diff;

/// What was asked for cannot be meant; exit code 2, as for a misspelt option.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUsage(pub String);

impl WrongUsage {
    /// What a part of a command has found wrong with what was typed.
    fn because(why: impl std::fmt::Display) -> Self {
        Self(why.to_string())
    }
}
