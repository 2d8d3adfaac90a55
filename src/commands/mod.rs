//! The commands: each file holds what may be typed after one, its help, and what it does. They write to what they are given;
//! only `main` prints and exits.

pub mod approve;
pub mod completions;
pub mod convert;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod export;
mod help;
pub mod init;
pub mod list;
pub mod log;
pub mod man;
pub mod pause;
pub mod resolve;
pub mod restore;
pub mod run;
pub mod search;
pub mod service;
pub mod status;
pub mod sync;
pub mod undo;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::cli::{Call, Exit, Global, VERSION, WrongUsage, usage};

/// Syncs a workspace with ordinary files on your disk, in both directions, all the time.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "espejo", version = VERSION, about, after_help = help::CLOSING, max_term_width = 100)]
#[command(help_template = help::template())]
pub struct Cli {
    /// What goes for every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do; without a command, a short status.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands. What each is for is said beside its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
#[expect(missing_docs, reason = "a comment here would take the place of the command's own help")]
pub enum Command {
    Demo(demo::Args),
    Init(init::Args),
    Run(run::Args),
    Sync(sync::Args),
    Status(status::Args),
    List(list::Args),
    Diff(diff::Args),
    Log(log::Args),
    Undo(undo::Args),
    Restore(restore::Args),
    Resolve(resolve::Args),
    Approve(approve::Args),
    Search(search::Args),
    Export(export::Args),
    Convert(convert::Args),
    Pause(pause::Pause),
    Resume(pause::Resume),
    Service(service::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    Man(man::Args),
    Index(search::Index),
}

impl Command {
    /// Whether `--quiet` leaves something to say: errors, and what needs attention.
    fn can_be_quiet(&self) -> bool {
        self.acts() || matches!(self, Self::Sync(_) | Self::Status(_) | Self::Undo(_) | Self::Approve(_))
    }

    /// Whether all that it says can be left out: it asks nothing, and what fails is an error.
    fn is_done_without_words(&self) -> bool {
        match self {
            Self::Undo(undo::Args { dry_run, json, .. }) => !dry_run && !json,
            Self::Approve(approve::Args { yes, json, .. }) => *yes && !json,
            Self::Restore(args) => !args.json,
            Self::Resolve(args) => args.way().is_some(),
            Self::Pause(_) | Self::Resume(_) | Self::Service(_) => true,
            _ => false,
        }
    }

    /// Whether it changes something, and so goes on to its end when its output is not read.
    #[must_use]
    pub fn acts(&self) -> bool {
        match self {
            Self::Sync(sync::Args { dry_run, .. })
            | Self::Undo(undo::Args { dry_run, .. })
            | Self::Approve(approve::Args { dry_run, .. }) => !dry_run,
            Self::Resolve(args) => args.way().is_some(),
            Self::Init(_)
            | Self::Run(_)
            | Self::Pause(_)
            | Self::Resume(_)
            | Self::Service(_)
            | Self::Restore(_)
            | Self::Export(_)
            | Self::Index(_) => true,
            Self::Demo(_)
            | Self::Status(_)
            | Self::Doctor(_)
            | Self::List(_)
            | Self::Diff(_)
            | Self::Log(_)
            | Self::Search(_)
            | Self::Convert(_)
            | Self::Completions(_)
            | Self::Man(_) => false,
        }
    }
}

/// Carries out one command, or shows a short status where none was named.
///
/// # Errors
/// One sentence: the thing, the cause, and what to do.
pub fn run(command: Option<&Command>, call: &mut Call<'_>) -> Result<Exit> {
    let Some(command) = command else { return status::at_a_glance(call) };
    if call.quiet() && !command.can_be_quiet() {
        let why = "--quiet leaves nothing of a command that only reports; leave it out";
        return Err(WrongUsage(why.to_owned()).into());
    }
    if call.quiet() && command.is_done_without_words() {
        return obey(command, &mut Call { global: call.global, bars: call.bars, out: &mut std::io::sink() });
    }
    obey(command, call)
}

fn obey(command: &Command, call: &mut Call<'_>) -> Result<Exit> {
    match command {
        Command::Demo(args) => wait(demo::run(args, call)),
        Command::Init(args) => wait(init::run(args, call)),
        Command::Run(_) => wait(run::run(call)),
        Command::Sync(args) => wait(sync::run(args, call)),
        Command::Status(args) => wait(status::run(args, call)),
        Command::List(args) => list::run(args, call),
        Command::Diff(args) => diff::run(args, call),
        Command::Log(args) if args.follow => wait(log::follow(args, call)),
        Command::Log(args) => log::run(args, call),
        Command::Undo(args) => wait(undo::run(args, call)),
        Command::Restore(args) => wait(restore::run(args, call)),
        Command::Resolve(args) => wait(resolve::run(args, call)),
        Command::Approve(args) => wait(approve::run(args, call)),
        Command::Search(args) => wait(search::run(args, call)),
        Command::Export(args) => export::run(args, call),
        Command::Convert(args) => convert::run(args),
        Command::Pause(_) => wait(pause::run(true, call)),
        Command::Resume(_) => wait(pause::run(false, call)),
        Command::Service(args) => service::run(args, call),
        Command::Doctor(args) => wait(doctor::run(args, call)),
        Command::Completions(args) => completions::run(args),
        Command::Man(_) => man::run(),
        Command::Index(_) => search::keep_up(&call.config()?),
    }
}

/// Runs a command on one thread; the folder's slow work has a few threads beside it.
fn wait(command: impl Future<Output = Result<Exit>>) -> Result<Exit> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(4)
        .build()?
        .block_on(command)
}

/// What was typed wrongly, as one sentence; `None` for what is no error (help, the version).
#[must_use]
pub fn misunderstood(error: &clap::Error) -> Option<String> {
    usage::sentence(error, help::SYNONYMS)
}

#[cfg(test)]
mod tests;
