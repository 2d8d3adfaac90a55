//! The binary: reads arguments, runs one command, prints, exits. The only place that does.

use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use espejo::cli::{self, Cli, Command, Exit, LogFormat};
use espejo::commands;
use espejo::config::{Config, ConfigError};
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
    let env = |name: &str| std::env::var(name).ok();
    // The demo and one-shot commands say what happens in their own words.
    let rust_log = env("RUST_LOG").filter(|text| !text.trim().is_empty());
    let quiet_log = !matches!(cli.command, Command::Run) && cli.global.verbose == 0 && rust_log.is_none();
    let (targets, odd) =
        logging::targets(cli.global.verbose, cli.global.quiet || quiet_log, rust_log.as_deref());
    let targets = match quiet_log {
        true => targets.with_target(logging::ATTENTION, tracing::level_filters::LevelFilter::OFF),
        false => targets,
    };
    let style = match cli.global.log_format {
        LogFormat::Text => logging::Style::of_stderr(&env),
        LogFormat::Json => logging::Style::of_stderr(&env).as_json(),
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
    let ended = catch_unwind(AssertUnwindSafe(|| run(&cli, &bars)));
    // The hook has told it.
    let Ok(ended) = ended else { return Exit::Failed.into() };
    match ended {
        Ok(exit) => exit.into(),
        Err(error) if !cli.command.acts() && commands::output::is_closed_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            // A token is part of the config: another try would not mend it.
            let is_config =
                error.is::<ConfigError>() || error.is::<TokenError>() || error.is::<ClientError>();
            let is_usage = error.is::<commands::WrongUsage>();
            let exit = if is_config || is_usage { Exit::Usage } else { Exit::Failed };
            // There is no place for a message when stderr is closed too.
            drop(writeln!(std::io::stderr(), "{}", last_words(style, &format!("{error:#}"))));
            exit.into()
        }
    }
}

/// The sentence that ends the program; on a terminal its lines end between words, for it often ends with a command to type.
fn last_words(style: logging::Style, sentence: &str) -> String {
    let line = logging::last_words(style, sentence);
    match (style, commands::output::columns_of(std::io::stderr())) {
        (logging::Style::Terminal { .. }, Some(columns)) => commands::output::wrap(&line, columns).join("\n"),
        _ => line,
    }
}

/// Help and the version are told on stdout; what was typed wrongly is one sentence.
fn misunderstood(error: &clap::Error) -> ExitCode {
    let env = |name: &str| std::env::var(name).ok();
    match cli::sentence(error) {
        Some(sentence) => {
            let style = logging::Style::of_stderr(&env);
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

fn run(cli: &Cli, bars: &MultiProgress) -> Result<Exit> {
    let mut out = anstream::stdout();
    if !cli.command.acts() {
        return obey(cli, bars, &mut out);
    }
    let mut words = commands::output::Words::to(out);
    let ended = obey(cli, bars, &mut words);
    words.end(ended)
}

fn obey(cli: &Cli, bars: &MultiProgress, out: &mut (dyn Write + Send)) -> Result<Exit> {
    let env = |name: &str| std::env::var(name).ok();
    let variable = |name: &str| std::env::var_os(name);
    // Bars are for people.
    let terminal = std::io::stderr().is_terminal() && cli.global.log_format == LogFormat::Text;
    let quiet = cli.global.quiet;
    let load = || -> Result<Config> {
        let config = Config::load(cli.global.config.as_deref(), &env)?;
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        if let Some(what) = commands::convert::unknown_block(&config.pages.blocks) {
            tracing::warn!("the config: blocks in [pages] {what}");
        }
        Ok(config)
    };
    let unit = || commands::service::unit::installed_for(cli.global.config.as_deref(), &variable);
    match &cli.command {
        Command::Demo { dir } => wait(commands::demo::run(dir.clone(), out)),
        Command::Run => {
            let named = cli.global.config.as_deref();
            wait(commands::run::run(&load, named, &variable, bars, terminal, quiet))
        }
        Command::Index => commands::search::keep_up(&load()?),
        Command::Sync { dry_run } => {
            let screen = commands::sync::Screen { bars, terminal, quiet };
            match dry_run {
                true => wait(commands::dry_run::run(&load()?, &variable, screen, out)),
                false => wait(commands::sync::run(&load()?, &variable, screen, out)),
            }
        }
        Command::Pull { paths, json } => {
            let screen = commands::sync::Screen { bars, terminal, quiet };
            let asked = commands::pull::Asked { paths: paths.clone(), json: *json };
            wait(commands::pull::run(&load()?, &asked, &variable, screen, out))
        }
        Command::Verify { deep } => {
            let screen = commands::sync::Screen { bars, terminal, quiet };
            wait(commands::verify::run(&load()?, &variable, screen, *deep, out))
        }
        Command::Search { words, remote, limit, kind, files, json } => {
            let asked = commands::search::Asked {
                words: words.clone(),
                remote: *remote,
                limit: usize::from(*limit),
                kinds: kind.iter().map(|kind| kind.name().to_owned()).collect(),
                json: *json,
                files: *files,
            };
            let terminal = std::io::stdout().is_terminal();
            let mut aside = std::io::stderr();
            wait(commands::search::run(&load()?, &asked, &variable, terminal, out, &mut aside))
        }
        Command::Export { dir, json } => {
            let screen = commands::sync::Screen { bars, terminal, quiet };
            commands::export::run(&load()?, dir, *json, &screen, out)
        }
        Command::Status { json, watch: false } => {
            commands::status::run(&load()?, *json, unit().as_deref(), out)
        }
        Command::Status { watch: true, .. } => {
            wait(commands::status::watch(&load()?, unit().as_deref(), out))
        }
        Command::Pause | Command::Resume => {
            let mut nowhere = std::io::sink();
            let out: &mut dyn Write = if quiet { &mut nowhere } else { out };
            wait(commands::pause::run(&load()?, cli.command == Command::Pause, out))
        }
        Command::Why { path, json } => commands::why::run(&load()?, path, *json, out),
        Command::List { path, json } => commands::list::run(&load()?, path.as_deref(), *json, out),
        Command::Approve { paths, yes, dry_run, json } => {
            let asked =
                commands::approve::Asked { paths: paths.clone(), yes: *yes, dry_run: *dry_run, json: *json };
            wait(commands::approve::run(&load()?, &asked, out))
        }
        Command::Dismiss { paths } => wait(commands::dismiss::run(&load()?, paths, out)),
        Command::Conflicts { json } => commands::conflicts::run(&load()?, *json, out),
        Command::Resolve { path, mine, theirs, both, edit: _ } => {
            let way = commands::resolve::Way::of(*mine, *theirs, *both);
            let editor = env("VISUAL").or_else(|| env("EDITOR")).filter(|editor| !editor.trim().is_empty());
            wait(commands::resolve::run(&load()?, path, way, editor.as_deref(), out))
        }
        Command::Diff { path, at } => {
            let terminal = std::io::stdout().is_terminal();
            commands::diff::run(&load()?, path.as_deref(), at.as_deref(), terminal, out)
        }
        Command::History { path, json } => commands::history::run(&load()?, path, *json, out),
        Command::Restore { paths, at, yes } => {
            wait(commands::restore::run(&load()?, paths, at.as_deref(), *yes, out))
        }
        Command::Log { path, since, json, follow } => {
            let asked = commands::log::Asked { path: path.clone(), since: since.clone(), json: *json };
            match follow {
                true => wait(commands::log::follow(&load()?, &asked, out)),
                false => commands::log::run(&load()?, &asked, out),
            }
        }
        Command::Undo { what, since, dry_run, yes } => {
            let asked = commands::undo::Asked {
                what: what.clone(),
                since: since.clone(),
                dry_run: *dry_run,
                yes: *yes,
            };
            wait(commands::undo::run(&load()?, &asked, out))
        }
        Command::Convert { way } => {
            commands::convert::run(way, &mut std::io::stdin().lock(), &mut std::io::stdout().lock())?;
            Ok(Exit::Done)
        }
        Command::Completions { shell } => {
            commands::completions::write(*shell, &mut std::io::stdout().lock())?;
            Ok(Exit::Done)
        }
        Command::Service { what } => {
            let around = commands::service::Around { variable: &variable, named: cli.global.config.clone() };
            commands::service::run(*what, &load, &around, out)
        }
        Command::Doctor { json } => {
            wait(commands::doctor::run(cli.global.config.as_deref(), &env, &variable, *json, out))
        }
        Command::Init(said) => {
            let around = commands::init::Around {
                named: cli.global.config.as_deref(),
                env: &env,
                variable: &variable,
                terminal: terminal && std::io::stdin().is_terminal(),
                stdin: &mut std::io::stdin(),
            };
            wait(commands::init::run(said, around, out))
        }
        Command::Man => {
            commands::man::write(&mut std::io::stdout().lock())?;
            Ok(Exit::Done)
        }
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
