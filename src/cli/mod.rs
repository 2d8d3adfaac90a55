//! What the commands share: options that go for each of them, how they end, and the tools with which they read the state, ask,
//! and print. A command itself stands in [`crate::commands`].

pub mod acts;
pub mod canvases;
pub mod child;
pub mod files;
pub mod here;
pub mod ignored;
pub mod items;
pub mod kept;
pub mod output;
pub mod pager;
pub mod past;
pub mod permits;
pub mod progress;
pub mod put;
pub mod report;
pub mod session;
pub mod terminal;
pub mod unmirrored;
pub mod unsynced;
pub mod usage;
pub mod versions;
pub mod waits;
pub mod when;
pub mod word_diff;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum, ValueHint};
use indicatif::MultiProgress;

use crate::config::Config;
use crate::markdown::Allowed;
use progress::Screen;

/// How a run ends (contract section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Exit {
    /// 0: done.
    #[default]
    Done,
    /// 1: failed.
    Failed,
    /// 2: wrong usage or config. `clap` ends with the same number.
    Usage,
    /// 3: done, but something needs the user.
    NeedsUser,
}

impl Exit {
    /// The number that the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NeedsUser => 3,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// What was asked for cannot be meant; exit code 2, as for a misspelt option.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUsage(pub String);

impl WrongUsage {
    /// What a part of a command has found wrong with what was typed.
    pub fn because(why: impl std::fmt::Display) -> Self {
        Self(why.to_string())
    }
}

/// Options of every command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "For every command")]
pub struct Global {
    /// Read this config instead of ~/.config/espejo/config.toml
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Print only errors and what needs attention
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log to stderr what is done; -vv with all details
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Format of the log on stderr: text, or one JSON object per line
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text", hide_default_value = true)]
    pub log_format: LogFormat,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum LogFormat {
    /// For people; in the journal with its priorities.
    #[default]
    #[value(help = None)]
    Text,
    /// One JSON object a line: time, level, target, message, fields.
    #[value(help = None)]
    Json,
}

/// The program's version; a build for users has its commit and the day of that in it.
pub const VERSION: &str = env!("ESPEJO_VERSION");

/// An environment variable that is text.
#[must_use]
pub fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// An environment variable.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// One call of a command: its options, and where its words go.
pub struct Call<'a> {
    /// The options of every command.
    pub global: &'a Global,
    /// Where progress is drawn.
    pub bars: &'a MultiProgress,
    /// Where results go.
    pub out: &'a mut (dyn Write + Send),
}

impl<'a> Call<'a> {
    /// The config, checked. What is odd in it is told on stderr.
    ///
    /// # Errors
    /// [`crate::config::ConfigError`], one sentence.
    pub fn config(&self) -> Result<Config> {
        let config = Config::load(self.global.config.as_deref(), &env)?;
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        if let Some(what) = unknown_block(&config.pages.blocks) {
            tracing::warn!("the config: blocks in [pages] {what}");
        }
        here::stand(&config.root);
        Ok(config)
    }

    /// Whether only what needs the user is said.
    #[must_use]
    pub fn quiet(&self) -> bool {
        self.global.quiet
    }

    /// Where progress is shown. Bars are for people.
    #[must_use]
    pub fn screen(&self) -> Screen<'a> {
        let terminal = std::io::stderr().is_terminal() && self.global.log_format == LogFormat::Text;
        Screen { bars: self.bars, terminal, quiet: self.global.quiet }
    }
}

/// Of the names of block types, the first that may not be created, with what may be meant.
#[must_use]
pub fn unknown_block(blocks: &[String]) -> Option<String> {
    let (name, all) = Allowed::unknown(blocks)?;
    let likeness =
        |known: &&str| strsim::normalized_damerau_levenshtein(&name.to_lowercase(), &known.to_lowercase());
    let near = all.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    Some(match near.filter(|near| likeness(near) >= 0.6) {
        Some(near) => format!("names {name:?}, which espejo cannot create; did you mean {near:?}?"),
        None => format!("names {name:?}, which espejo cannot create; it can create {}", all.join(", ")),
    })
}
