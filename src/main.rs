//! The binary: reads arguments, runs one command, prints, exits. The only place that does.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use espejo::cli::{self, Call, Exit, LogFormat, WrongUsage, output};
use espejo::commands::{self, Cli, Command};
use espejo::config::ConfigError;
use espejo::logging;
use espejo::service::ClientError;
use espejo::service::token::TokenError;
use indicatif::MultiProgress;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misunderstood(&error),
    };
    let bars = MultiProgress::new();
    // The demo and one-shot commands say what happens in their own words.
    let rust_log = cli::env("RUST_LOG").filter(|text| !text.trim().is_empty());
    let quiet_log =
        !matches!(cli.command, Some(Command::Run(_))) && cli.global.verbose == 0 && rust_log.is_none();
    let (targets, odd) =
        logging::targets(cli.global.verbose, cli.global.quiet || quiet_log, rust_log.as_deref());
    let targets = match quiet_log {
        true => targets.with_target(logging::ATTENTION, tracing::level_filters::LevelFilter::OFF),
        false => targets,
    };
    let style = match cli.global.log_format {
        LogFormat::Text => logging::Style::of_stderr(&cli::env),
        LogFormat::Json => logging::Style::of_stderr(&cli::env).as_json(),
    };
    logging::start(targets, style, &bars);
    if let Some(odd) = odd {
        tracing::warn!("{odd}");
    }
    // A panic quotes what it failed on, which may be a user's text: the place in the source is told, and nothing else.
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        let sentence =
            format!("a fault of espejo at {place}; please report this line, nothing is lost by it");
        // There is no place for a message when stderr is closed.
        drop(writeln!(std::io::stderr(), "{}", last_words(style, &sentence)));
    }));
    let acts = cli.command.as_ref().is_some_and(Command::acts);
    let ended = catch_unwind(AssertUnwindSafe(|| run(&cli, acts, &bars)));
    // The hook has told it.
    let Ok(ended) = ended else { return Exit::Failed.into() };
    match ended {
        Ok(exit) => exit.into(),
        Err(error) if !acts && output::is_closed_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            // A token is part of the config: another try would not mend it.
            let is_config =
                error.is::<ConfigError>() || error.is::<TokenError>() || error.is::<ClientError>();
            let exit = if is_config || error.is::<WrongUsage>() { Exit::Usage } else { Exit::Failed };
            // There is no place for a message when stderr is closed too.
            drop(writeln!(std::io::stderr(), "{}", last_words(style, &format!("{error:#}"))));
            exit.into()
        }
    }
}

/// The sentence that ends the program; on a terminal its lines end between words, for it often ends with a command to type.
fn last_words(style: logging::Style, sentence: &str) -> String {
    let line = logging::last_words(style, sentence);
    match (style, output::columns_of(std::io::stderr())) {
        (logging::Style::Terminal { .. }, Some(columns)) => output::wrap(&line, columns).join("\n"),
        _ => line,
    }
}

/// Help and the version are told on stdout; what was typed wrongly is one sentence.
fn misunderstood(error: &clap::Error) -> ExitCode {
    match commands::misunderstood(error) {
        Some(sentence) => {
            let style = logging::Style::of_stderr(&cli::env);
            // There is no place for a message when stderr is closed too.
            drop(writeln!(std::io::stderr(), "{}", last_words(style, &sentence)));
            Exit::Usage.into()
        }
        None => {
            // The reader has seen enough, or there is none.
            drop(error.print());
            if error.exit_code() == 0 { Exit::Done.into() } else { Exit::Usage.into() }
        }
    }
}

fn run(cli: &Cli, acts: bool, bars: &MultiProgress) -> Result<Exit> {
    let mut out = anstream::stdout();
    let obey = |out: &mut (dyn Write + Send)| {
        commands::run(cli.command.as_ref(), &mut Call { global: &cli.global, bars, out })
    };
    if !acts {
        return obey(&mut out);
    }
    let mut words = output::Words::to(out);
    let ended = obey(&mut words);
    words.end(ended)
}
