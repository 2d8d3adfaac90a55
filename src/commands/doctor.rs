//! `espejo doctor`: what is wrong with this set-up, and what mends it. It looks and changes nothing; what it asks the
//! service counts in the limiter like everything else.

mod here;
mod network;
mod readers;
mod report;
mod system;
mod there;

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use crate::cli::{self, Call, Exit, output};
use crate::commands::service;

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Ok,
    Warn,
    Fail,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    /// What was looked at.
    check: &'static str,
    level: Level,
    /// What was found, in one sentence.
    what: String,
    /// What mends it.
    mend: Option<String>,
}

/// Everything that was found, in order.
#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

/// The state, as far as other checks ask.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// Bytes of stored files that are still to be downloaded.
    to_come: u64,
    /// Whether it cannot be used as it is.
    is_damaged: bool,
}

impl Findings {
    fn ok(&mut self, check: &'static str, what: impl Into<String>) {
        self.0.push(Finding { check, level: Level::Ok, what: what.into(), mend: None });
    }

    fn warn(&mut self, check: &'static str, what: impl Into<String>, mend: impl Into<String>) {
        self.0.push(Finding { check, level: Level::Warn, what: what.into(), mend: Some(mend.into()) });
    }

    fn fail(&mut self, check: &'static str, what: impl Into<String>, mend: impl Into<String>) {
        self.0.push(Finding { check, level: Level::Fail, what: what.into(), mend: Some(mend.into()) });
    }

    fn number(&self, level: Level) -> usize {
        self.0.iter().filter(|finding| finding.level == level).count()
    }

    fn worst(&self) -> Level {
        self.0.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok)
    }
}

/// Find what is wrong with the set-up, and say how to fix it
///
/// Checks the config, the token, the service and its areas, the clock, the folder, the disk, the system's limits, the
/// state and the service unit. It changes nothing, and sends at most six requests within the limit. The exit code is 1
/// if a check fails, 3 if a check needs attention, and 0 otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  espejo doctor\n  espejo doctor --json\n  espejo doctor --report > report.md"
)]
pub struct Args {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Print what a report of a fault needs, without names, paths or the token
    #[arg(long, conflicts_with = "json")]
    pub report: bool,
}

/// Looks at everything. Ends with [`Exit::Failed`] when something fails, with [`Exit::NeedsUser`] when something is to be
/// looked at.
///
/// # Errors
/// Only when nothing can be written.
pub async fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let (named, variable) = (call.global.config.as_deref(), &cli::variable);
    let mut findings = Findings::default();
    let around = service::Around { variable, named: named.map(Path::to_owned) };
    let config = here::config(named, &cli::env, &mut findings);
    if let Some(config) = &config {
        let token = here::token(config, variable, &mut findings);
        here::folder(config, &mut findings);
        let state = here::state(config, &mut findings);
        here::daemon(config, &mut findings);
        system::room(config, state.as_ref(), &mut findings);
        network::tell(config, variable, &mut findings);
        if let Some(token) = token {
            there::look(config, token, state.is_some_and(|state| state.is_damaged), &mut findings).await;
        }
    }
    system::watches(config.as_ref(), &mut findings);
    here::unit(&around, &mut findings);
    if args.report {
        report::write(config.as_ref(), &findings, call.out)?;
    } else if args.json {
        output::json(call.out, &json(&findings))?;
    } else {
        human(&findings, call.out)?;
    }
    Ok(match findings.worst() {
        Level::Ok => Exit::Done,
        Level::Warn => Exit::NeedsUser,
        Level::Fail => Exit::Failed,
    })
}

fn json(findings: &Findings) -> serde_json::Value {
    json!({
        "version": cli::VERSION,
        "system": system::name(),
        "result": findings.worst().word(),
        "checks": findings.0.iter().map(|finding| json!({
            "check": finding.check,
            "level": finding.level.word(),
            "what": finding.what,
            "mend": finding.mend,
        })).collect::<Vec<_>>(),
    })
}

fn human(findings: &Findings, out: &mut dyn Write) -> Result<()> {
    let width = output::terminal_columns().unwrap_or(usize::MAX);
    writeln!(out, "espejo {} on {}\n", cli::VERSION, system::name())?;
    for finding in &findings.0 {
        let style = match finding.level {
            Level::Ok => output::GOOD,
            Level::Warn => output::ODD.bold(),
            Level::Fail => output::BAD,
        };
        let word = output::paint(style, &format!("{:<4}", finding.level.word()));
        let what = output::wrap(&finding.what, width.saturating_sub(20));
        for (number, line) in what.iter().enumerate() {
            let line = crate::logging::escape(line);
            if number == 0 {
                writeln!(out, "{word}  {:<12}  {line}", finding.check)?;
            } else {
                writeln!(out, "{:20}{line}", "")?;
            }
        }
        if let Some(mend) = &finding.mend {
            for (number, line) in output::wrap(mend, width.saturating_sub(22)).iter().enumerate() {
                let arrow = if number == 0 { "→" } else { " " };
                writeln!(out, "{:20}{arrow} {}", "", crate::logging::escape(line))?;
            }
        }
    }
    let (warnings, failures) = (findings.number(Level::Warn), findings.number(Level::Fail));
    let (style, words) = match (failures, warnings) {
        (0, 0) => (output::GOOD, "all is well".to_owned()),
        (0, _) => (output::ODD, format!("{} to look at", output::count(warnings as u64, "thing", "things"))),
        (_, 0) => (output::BAD, output::count(failures as u64, "thing fails", "things fail")),
        _ => (
            output::BAD,
            format!(
                "{}, {warnings} to look at",
                output::count(failures as u64, "thing fails", "things fail")
            ),
        ),
    };
    writeln!(out, "\n{}", output::paint(style.bold(), &words))?;
    Ok(())
}
