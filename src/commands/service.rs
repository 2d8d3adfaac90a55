//! `espejo service`: the systemd user unit for this program. It writes one file, and has systemctl do the rest.

pub mod unit;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use anyhow::{Context, Result, bail};

use crate::cli::files::Readers;
use crate::cli::{self, Call, Exit, child, files, session};
use crate::config::Config;
use crate::daemon::control;
use crate::service::token;
use unit::Found;

/// What the surroundings say.
pub struct Around<'a> {
    /// Environment variables.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The config that `--config` named.
    pub named: Option<PathBuf>,
}

/// Run espejo as a systemd user service, starting at login
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub what: What,
}

/// What `service` can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Subcommand)]
pub enum What {
    /// Write the systemd user unit for this program and start it
    #[command(after_help = "Example:  espejo service install")]
    Install {
        /// Replace an edited unit; the old one is kept beside it
        #[arg(long)]
        force: bool,
    },
    /// Stop the service and remove its unit
    #[command(after_help = "Example:  espejo service uninstall")]
    Uninstall {
        /// Remove an edited unit; it is kept under another name
        #[arg(long)]
        force: bool,
    },
}

/// Installs or removes the unit.
///
/// # Errors
/// One sentence, when there is no systemd to speak to, the unit was edited, or it does not start.
pub fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let around = Around { variable: &cli::variable, named: call.global.config.clone() };
    match args.what {
        What::Install { force } => install(&call.config()?, &around, force, call.out),
        What::Uninstall { force } => uninstall(&around, force, call.out),
    }
}

/// Writes the unit, and starts it.
///
/// # Errors
/// As [`run()`].
pub fn install(config: &Config, around: &Around<'_>, force: bool, out: &mut dyn Write) -> Result<Exit> {
    let name = unit::name(around.named.as_deref());
    let path = unit::place(&name, around.variable)?;
    refuse_anothers(&path, around)?;
    // The unit does not see this shell's variables.
    let outside = |name: &str| (around.variable)(name).filter(|_| name != token::VARIABLE);
    token::find(&outside, config.token_file.as_deref()).context(
        "the service would find no token, because it does not see this shell's ESPEJO_TOKEN (espejo init creates a token_file)",
    )?;
    reload()?;
    if session::is_running(&config.state_dir) && !is("is-active", &name) {
        if !control::is_daemon(&config.state_dir) {
            bail!("a sync or another espejo command is running: run this again when it has ended");
        }
        bail!(
            "espejo is already running outside the service: stop it (Ctrl-C in its terminal), then run this again"
        );
    }
    let text = unit::text(&unit::program()?, around);
    match Found::at(&path)? {
        Found::Edited if !force => bail!(
            "{} was edited and is not replaced; --force replaces it and keeps the old unit beside it (for changes that should survive this, use `systemctl --user edit {name}`)",
            path.display()
        ),
        Found::Edited => {
            let aside = unit::set_aside(&path)?;
            writeln!(out, "the edited unit is kept as {}", aside.display())?;
        }
        Found::Ours | Found::None => {}
    }
    files::write(&path, &text, Readers::AsBefore)?;
    reload()?;
    let service = format!("{name}.service");
    let started = systemctl(&["enable", "--now", &service])?;
    // One that ran before goes on with the old unit until it is started anew.
    let started = if started.status.success() { systemctl(&["restart", &service])? } else { started };
    if !started.status.success() {
        bail!(
            "the unit is at {}, but it does not start: {}; `journalctl --user -u {name}` says why",
            path.display(),
            words(&started)
        );
    }
    writeln!(out, "installed and started: {}", path.display())?;
    writeln!(out, "  espejo status --watch          what it does")?;
    writeln!(out, "  {:<30} its log", format!("journalctl --user -fu {name}"))?;
    for name in unit::not_carried(around) {
        writeln!(
            out,
            "{name} holds a password and is not put into the unit, which others can read; set proxy in the config, and run chmod 600 on it"
        )?;
    }
    if lingers(around) == Some(false) {
        writeln!(out, "It runs while you are logged in; to run it always:  loginctl enable-linger")?;
    }
    Ok(Exit::Done)
}

/// Two configs of one name, in two folders, have one unit between them.
fn refuse_anothers(path: &Path, around: &Around<'_>) -> Result<()> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    if unit::runs_with(&text, around.named.as_deref()) != Some(false) {
        return Ok(());
    }
    bail!(
        "{} runs espejo with another config; name this config otherwise, such as work.toml, and give it with --config: its unit is then espejo-work.service",
        path.display()
    )
}

fn uninstall(around: &Around<'_>, force: bool, out: &mut dyn Write) -> Result<Exit> {
    let name = unit::name(around.named.as_deref());
    let path = unit::place(&name, around.variable)?;
    refuse_anothers(&path, around)?;
    let found = Found::at(&path)?;
    match found {
        Found::None => {
            writeln!(out, "no unit is installed at {}", path.display())?;
            return Ok(Exit::Done);
        }
        Found::Edited if !force => bail!(
            "{} was edited; --force stops it and keeps the edited unit under another name",
            path.display()
        ),
        Found::Edited | Found::Ours => {}
    }
    // Without systemd nothing runs, and the file is all there is.
    let service = format!("{name}.service");
    let stopped = systemctl(&["disable", "--now", &service]);
    if found == Found::Edited {
        let aside = unit::set_aside(&path)?;
        writeln!(out, "the edited unit is kept as {}", aside.display())?;
    } else {
        std::fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
    }
    // `disable` removes this as a rule.
    drop(std::fs::remove_file(path.with_file_name("default.target.wants").join(&service)));
    match stopped {
        Ok(stopped) if stopped.status.success() => {
            reload()?;
            writeln!(out, "stopped and removed; the mirror, the config and the token are kept")?;
        }
        Ok(stopped) => writeln!(
            out,
            "removed; systemd does not answer ({}), so a running service continues until logout",
            words(&stopped)
        )?,
        Err(error) => writeln!(out, "removed; {error:#}")?,
    }
    Ok(Exit::Done)
}

/// Whether there is a user's systemd to speak to.
#[must_use]
pub fn is_available() -> bool {
    systemctl(&["show", "--property=Version"]).is_ok_and(|told| told.status.success())
}

/// Whether there is a systemd at all, with or without a session of this user.
#[must_use]
pub fn is_installed() -> bool {
    systemctl(&["--version"]).is_ok()
}

/// Whether systemd says this of the unit of this name, as in `is-active`.
#[must_use]
pub fn is(what: &str, name: &str) -> bool {
    systemctl(&["--quiet", what, &format!("{name}.service")]).is_ok_and(|told| told.status.success())
}

/// Whether the user's services outlive the login; `None` if systemd does not say.
#[must_use]
pub fn lingers(around: &Around<'_>) -> Option<bool> {
    let user = (around.variable)("USER")?;
    let told = child::command("loginctl")
        .args(["show-user", "--property=Linger"])
        .arg(user)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    match String::from_utf8_lossy(&told.stdout).trim() {
        "Linger=yes" => Some(true),
        "Linger=no" => Some(false),
        _ => None,
    }
}

/// Has the user's systemd read its units, which is also how to see whether there is one.
fn reload() -> Result<()> {
    let told = systemctl(&["daemon-reload"])?;
    if told.status.success() {
        return Ok(());
    }
    bail!(
        "your systemd does not answer ({}); log in as this user (not with su or sudo) and run this again, or start `espejo run` in another way",
        words(&told)
    )
}

fn systemctl(words: &[&str]) -> Result<Output> {
    let ran = child::command("systemctl").arg("--user").args(words).stdin(Stdio::null()).output();
    ran.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => anyhow::anyhow!(
            "systemd is not installed (no systemctl); start `espejo run` with your session, or `espejo sync` from cron"
        ),
        _ => anyhow::anyhow!("systemctl cannot be run: {error}"),
    })
}

/// What a program said in its last line, in one line.
fn words(told: &Output) -> String {
    let text = String::from_utf8_lossy(&told.stderr);
    match text.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => crate::logging::escape(line.trim()).to_string(),
        None => format!("systemctl: {}", told.status),
    }
}
