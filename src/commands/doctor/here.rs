//! The doctor's looks at what is on this machine: config, token, folder, state, daemon, unit.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::Access;
use secrecy::SecretString;

use super::{Findings, State, readers, system};
use crate::cli::{output, session, when};
use crate::commands::service::{self, Around, unit};
use crate::config::{Config, ConfigError};
use crate::daemon::control::{self, Listener};
use crate::mirror::lock::Lock;
use crate::mirror::marker;
use crate::service::token;
use crate::store::{ReadOnly, StoreError};

/// The config, when it can be used.
pub(super) fn config(
    named: Option<&Path>,
    env: &dyn Fn(&str) -> Option<String>,
    findings: &mut Findings,
) -> Option<Config> {
    let place = Config::find(named, env);
    match place.and_then(|place| Config::load(Some(&place), env).map(|config| (place, config))) {
        Ok((place, config)) => {
            findings.ok("config", format!("{} is valid", place.display()));
            for warning in &config.warnings {
                findings.warn("config", warning, "fix that line");
            }
            Some(config)
        }
        Err(error @ ConfigError::Missing { .. }) => {
            findings.fail("config", error.to_string(), "run espejo init");
            None
        }
        Err(error) => {
            findings.fail("config", error.to_string(), "fix it; checks that need the config were skipped");
            None
        }
    }
}

pub(super) fn token(
    config: &Config,
    variable: &dyn Fn(&str) -> Option<OsString>,
    findings: &mut Findings,
) -> Option<SecretString> {
    let in_shell = variable("ESPEJO_TOKEN").is_some();
    match token::find(variable, config.token_file.as_deref()) {
        Ok(token) => {
            match &config.token_file {
                _ if in_shell => findings.warn(
                    "token",
                    "it comes from ESPEJO_TOKEN, which overrides token_file and is not visible to a service",
                    "put it into a token_file (espejo init does) and unset ESPEJO_TOKEN",
                ),
                Some(file) => {
                    findings
                        .ok("token", format!("it comes from {}, which only you can read", file.display()));
                }
                None => findings.ok("token", "it comes from the systemd credential espejo-token"),
            }
            Some(token)
        }
        Err(error) => {
            findings.fail("token", error.to_string(), "espejo init asks for it and stores it");
            None
        }
    }
}

/// The mirror's root.
pub(super) fn folder(config: &Config, findings: &mut Findings) {
    let root = config.root.display();
    match std::fs::metadata(&config.root) {
        Ok(meta) if !meta.is_dir() => {
            findings.fail("folder", format!("{root} is not a folder"), "choose another root in the config");
        }
        Ok(_) => {
            let rights = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
            if rustix::fs::access(&config.root, rights).is_err() {
                let mend = format!("chown -R \"$USER\" {root}, or choose another root");
                findings.fail("folder", format!("you may not read and write {root}"), mend);
            } else {
                marker_fits(config, findings);
                readers::tell(&config.root, findings);
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let begun = ReadOnly::open(&config.state_dir).ok().flatten();
            match begun.and_then(|state| state.meta("mirror_id").ok().flatten()) {
                Some(_) => findings.fail(
                    "folder",
                    format!("{root} is missing, so nothing is written on either side"),
                    "restore it (is its disk mounted?); to start again, move the state folder away",
                ),
                None => findings.ok("folder", format!("{root} does not exist yet; the first run creates it")),
            }
        }
        Err(error) => {
            findings.fail("folder", format!("{root} cannot be read: {error}"), "fix its permissions");
        }
    }
    system::kind(config, findings);
}

/// Whether the folder is the mirror that the state knows.
fn marker_fits(config: &Config, findings: &mut Findings) {
    let root = config.root.display();
    let known = ReadOnly::open(&config.state_dir).ok().flatten();
    let known = known.and_then(|state| state.meta("mirror_id").ok().flatten());
    let text =
        std::fs::read_to_string(config.root.join(marker::FOLDER).join(marker::FILE)).unwrap_or_default();
    match (known, marker::id(&text)) {
        (Some(known), Some(found)) if known != found => findings.fail(
            "folder",
            format!("{root} belongs to another mirror than this state, so nothing is written"),
            "correct root or state_dir in the config",
        ),
        (Some(_), None) => findings.fail(
            "folder",
            format!("{root} has lost its marker .espejo/marker, so nothing is written"),
            "is its disk mounted? If it is, run espejo init: it compares the files and puts the marker back",
        ),
        (None, None) => {
            let empty = std::fs::read_dir(&config.root).is_ok_and(|mut entries| entries.next().is_none());
            let what =
                if empty { "is empty" } else { "contains files, which the first run compares and keeps" };
            findings.ok("folder", format!("{root} {what}; nothing is mirrored yet"));
        }
        _ => findings.ok("folder", format!("{root} exists, belongs to this mirror, and is writable")),
    }
}

/// The state: its folder, its soundness, and what it says of the pace.
pub(super) fn state(config: &Config, findings: &mut Findings) -> Option<State> {
    let folder = &config.state_dir;
    let place = folder.display();
    match std::fs::metadata(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            findings.ok("state", format!("{place} does not exist yet; the first run creates it"));
            return None;
        }
        Err(error) => {
            findings.fail("state", format!("{place} cannot be read: {error}"), "fix its permissions");
            return None;
        }
        Ok(meta) if meta.mode() & 0o077 != 0 => findings.warn(
            "state",
            format!("other users of this machine can read {place}, which contains your pages"),
            format!("chmod 700 {place}"),
        ),
        Ok(_) => {}
    }
    if rustix::fs::access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_err() {
        let mend = format!("chown -R \"$USER\" {place}");
        findings.fail("state", format!("you may not read and write {place}"), mend);
        return None;
    }
    let aside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let aside = aside.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("espejo.damaged-") && name.ends_with(".sqlite3")
    });
    let aside = aside.count();
    if aside > 0 {
        findings.warn(
            "state",
            format!("{} in {place}", output::count(aside as u64, "damaged state is", "damaged states are")),
            "look at the disk's health; remove espejo.damaged-* once everything is in sync",
        );
    }
    match sound(config) {
        Ok(None) => {
            findings.ok("state", "nothing is mirrored yet");
            None
        }
        Ok(Some((version, state, told))) => {
            match told {
                Some(why) => findings.fail(
                    "state",
                    format!("it is damaged: {why}"),
                    "restart espejo: it sets the state aside and rebuilds it; files and pages stay",
                ),
                None => findings.ok("state", format!("{place} is intact, version {version}")),
            }
            pace(config, findings);
            Some(state)
        }
        Err(error) => {
            let mend = match &error {
                StoreError::Older(_) => "espejo run or espejo sync sets it aside and builds it anew",
                StoreError::Newer(..) => "use the newer espejo again, or another state_dir",
                _ => "files and pages are safe: the next run rebuilds it",
            };
            findings.fail("state", error.to_string(), mend);
            Some(State { is_damaged: true, ..State::default() })
        }
    }
}

type Sound = (i64, State, Option<String>);

fn sound(config: &Config) -> Result<Option<Sound>, StoreError> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok(None) };
    let told = state.damage()?;
    let to_come = if told.is_none() { state.storage_counts()?.missing_bytes } else { 0 };
    Ok(Some((state.version()?, State { to_come, is_damaged: told.is_some() }, told)))
}

/// Whether others spend what the token may ask.
fn pace(config: &Config, findings: &mut Findings) {
    let now = crate::daemon::wall_now();
    let Ok(Some(state)) = ReadOnly::open(&config.state_dir) else { return };
    let Ok(counts) = state.counts(now) else { return };
    let own = format!(
        "{} of {} requests in the last minute",
        counts.requests_last_minute, config.requests_per_minute
    );
    match counts.refused_at.map(|at| now.since_ms(at)) {
        Some(ago) if ago < crate::engine::polling::SLOWED_MS => findings.warn(
            "rate",
            format!("espejo sent {own}, but the service refused one {}: other programs use this token", output::ago(ago)),
            "nothing to do if you intend this; otherwise lower requests_per_minute on each machine, so that the sum is 60",
        ),
        Some(ago) => findings.ok("rate", format!("{own}; the service last refused one {}", output::ago(ago))),
        None => findings.ok("rate", format!("{own}; the service has never refused one")),
    }
}

/// Whether espejo runs, and hears.
pub(super) fn daemon(config: &Config, findings: &mut Findings) {
    let state = ReadOnly::open(&config.state_dir).ok().flatten();
    let paused = state.and_then(|state| state.paused_since().ok().flatten());
    if let Some(since) = paused {
        let what = format!("espejo has been paused since {}: it sends no requests", when::local(since));
        findings.warn("daemon", what, "continue with espejo resume");
    }
    if !session::is_running(&config.state_dir) {
        findings.ok("daemon", "espejo is not running; there is no stale lock");
        return;
    }
    let process = Lock::holder(&config.state_dir).map_or_else(String::new, |pid| format!(", process {pid}"));
    let listener = control::listener(&config.state_dir);
    if let Some(Err(why)) = &listener {
        let what = format!("espejo runs{process}, but syncs nothing: {why}");
        findings.warn("daemon", what, "espejo continues by itself then");
    } else if listener == Some(Ok(Listener::Daemon)) {
        findings.ok("daemon", format!("espejo runs{process}"));
    } else if listener == Some(Ok(Listener::Sync)) {
        findings.ok("daemon", format!("a sync runs{process}"));
    } else {
        findings.warn(
            "daemon",
            format!("espejo is using the state{process}, but accepts no commands: it is another command, or a daemon without its socket"),
            "wait for it to end, or restart the daemon",
        );
    }
}

/// The service unit.
pub(super) fn unit(around: &Around<'_>, findings: &mut Findings) {
    let name = unit::name(around.named.as_deref());
    let Ok(path) = unit::place(&name, around.variable) else { return };
    let place = path.display();
    match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let remedy = match service::is_installed() {
                true => "espejo service install runs espejo at login",
                false => "without systemd, start espejo run with your session",
            };
            findings.ok("unit", format!("no user unit is installed; {remedy}"));
        }
        Err(error) => {
            findings.fail("unit", format!("{place} cannot be read: {error}"), "fix its permissions")
        }
        Ok(text) => match unit::program_of(&text) {
            Some(program) if !program.exists() => findings.fail(
                "unit",
                format!("{place} starts {}, which does not exist", program.display()),
                "espejo service install writes it again",
            ),
            _ if !service::is("is-enabled", &name) => findings.warn(
                "unit",
                format!("{place} exists, but is not enabled"),
                "espejo service install enables and starts it",
            ),
            _ if !service::is("is-active", &name) => findings.warn(
                "unit",
                format!("{place} is enabled, but does not run"),
                format!("journalctl --user -u {name} says why; then systemctl --user start {name}"),
            ),
            _ if service::lingers(around) == Some(false) => {
                findings.ok(
                    "unit",
                    format!(
                        "{place} runs while you are logged in (to run it always: loginctl enable-linger)"
                    ),
                );
            }
            _ => findings.ok("unit", format!("{place} runs")),
        },
    }
}
